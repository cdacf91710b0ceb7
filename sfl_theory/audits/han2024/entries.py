"""How entries of this audit are made: identifiers, proofs, refutations."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.evidence.claim import Proof, Refutation


def identifier(name: str) -> str:
    """Return the full identifier of an entry of this paper."""
    return f"{PAPER}/{name}"


def refuted(name: str, words: str, scope: str = "") -> Refutation:
    """Return the refutation by the instances registered for an entry.

    Args:
        name: of the entry within the paper.
        words: what goes wrong; the first sentence is the cause in one line.
        scope: for which hypotheses it fails.

    Returns:
        The refutation.
    """
    first, *further = REFUTATIONS[identifier(name)]
    # Instances on another reading of the algorithm (models aggregated as in (3)) are
    # tested, but do not speak of this claim.
    same = [run for run in further if _called(run) != "aggregation_of_models"]
    return Refutation(first, words, tuple(same), scope)


def _called(instance: Callable[[], Any]) -> str:
    inner = instance.func if isinstance(instance, partial) else instance
    return str(getattr(inner, "__name__", ""))


def proved(
    name: str, words: str, *builders: Callable[[str], Any], scope: str = ""
) -> Proof:
    """Return the proof by certificates made for an entry.

    Args:
        name: of the entry within the paper.
        words: how they fit together.
        *builders: make a certificate from the full identifier.
        scope: on which reading or hypotheses it is proved.

    Returns:
        The proof.
    """
    made = tuple(partial(build, identifier(name)) for build in builders)
    return Proof(made, words, scope=scope)
