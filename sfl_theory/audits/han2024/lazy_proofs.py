"""Proofs of ``han2024`` whose certificates are built when they are replayed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.evidence.certificate import Certificate, Rejected
from sfl_theory.evidence.claim import Proof


@dataclass(frozen=True)
class Several:
    """A function that returns a fixed number of certificates.

    Attributes:
        build: from the identifier of the claim.
        count: how many; another number is rejected when one is asked for.
    """

    build: Callable[[str], tuple[Certificate, ...]]
    count: int


@cache
def _built(several: Several, claim: str) -> tuple[Certificate, ...]:
    found = several.build(claim)
    if len(found) != several.count:
        raise Rejected(f"{len(found)} certificates, {several.count} were entered")
    return found


def _nth(several: Several, claim: str, k: int) -> Certificate:
    return _built(several, claim)[k]


def proof(
    name: str,
    words: str,
    *builders: Callable[[str], Any] | Several,
    suffix: str = "",
    sharper: tuple[Callable[[str], Certificate], ...] = (),
) -> Proof:
    """Return a proof of a claim of the paper.

    Args:
        name: id of the claim within the paper.
        words: how the certificates fit together.
        builders: functions of the full identifier.
        suffix: "#repair" where a repair is proved.
        sharper: functions of the full identifier, for ``Proof.sharper``.

    Returns:
        The proof.
    """
    claim = f"{PAPER}/{name}{suffix}"
    made: list[Callable[[], Certificate]] = []
    for build in builders:
        if isinstance(build, Several):
            made += [partial(_nth, build, claim, k) for k in range(build.count)]
        else:
            made.append(partial(build, claim))
    return Proof(tuple(made), words, tuple(partial(build, claim) for build in sharper))
