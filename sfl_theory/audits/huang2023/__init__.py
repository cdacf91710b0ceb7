"""The audit of huang2023, one module per idea; ``claims`` holds the entries."""
