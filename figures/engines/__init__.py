"""Who makes the runs: this machine's processes, or a Ray cluster."""
