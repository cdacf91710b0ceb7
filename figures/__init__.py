"""Figures and tables of the papers, declared as grids of runs."""
