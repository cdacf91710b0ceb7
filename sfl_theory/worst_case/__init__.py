"""Exact worst cases of federated runs, by performance estimation."""
