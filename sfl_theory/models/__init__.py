"""Functions, federations and runs as data: what breaks a claim, or meets its terms."""
