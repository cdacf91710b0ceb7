"""The audit of dachille2024, one module per idea; ``claims`` holds the entries."""
