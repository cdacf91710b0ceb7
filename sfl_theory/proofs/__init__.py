"""Untrusted: tactics and lemmas that call the kernel's rules; proofs as data."""
