"""The constants of the theory, measured at the aggregated model of a deep network."""
