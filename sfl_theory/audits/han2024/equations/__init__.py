"""Numbered equations inside the proofs of ``han2024``, one entry each."""
