"""The papers, one module each, statements as printed."""
