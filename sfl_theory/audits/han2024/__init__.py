"""The audit of han2024, one module per idea; ``claims`` holds the entries."""
