"""The papers: a package each, with ``THEOREMS`` (bounds) and ``SECTIONS`` (claims)."""

PAPERS = ("han2024", "huang2023", "dachille2024", "li2020")
"""Packages in this folder; a new paper changes this line, and nothing else outside."""
