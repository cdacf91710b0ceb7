"""Trainer for split federated learning: problems, algorithms, measurement, runs."""
