"""The papers: a package each, with ``bounds.THEOREMS`` and ``SECTIONS`` of claims."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module

PAPERS = ("han2024", "huang2023", "dachille2024", "li2020")
"""Packages in this folder; a new paper changes this line, and nothing else outside."""


@dataclass(frozen=True)
class Paper:
    """A paper and the version of it that is meant; a package's ``PAPER``.

    Attributes:
        title: as printed.
        authors: as printed.
        version: where it appeared.
        address: where it is to be found; "": unknown.
        lacks: sentences on what of it is not entered, or without a verdict, besides
            what `sfl_theory.ledger.coverage` says of all papers.
    """

    title: str
    authors: tuple[str, ...]
    version: str
    address: str = ""
    lacks: str = ""


def about(key: str) -> Paper | None:
    """Return the paper of a key; None where a user's file made the key up."""
    if key not in PAPERS:
        return None
    paper: Paper = import_module(f"sfl_theory.papers.{key}").PAPER
    return paper
