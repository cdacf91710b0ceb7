"""The claims of a user's own file."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from types import NoneType

from sfl_theory.evidence import Claim, Kind, Model, Part, Proof, Repair, Says
from sfl_theory.user_files import run

CLAIMS = "CLAIMS"
"""Name of the sequence of claims in the file."""


def load_claims(path: Path) -> tuple[Claim, ...]:
    """Run a Python file (`sfl_theory.user_files`) and return the claims in it.

    Args:
        path: of the file.

    Returns:
        Its ``CLAIMS``.

    Raises:
        ValueError: in one line, if the file cannot be read, is no Python, raises, or
            holds no claim.
    """
    return _checked(getattr(run(path, "_audited_file"), CLAIMS, None), path)


def _checked(found: object, path: Path) -> tuple[Claim, ...]:
    """Return the claims if that is what they are.

    Raises:
        ValueError: if not.
    """
    if found is None or not isinstance(found, Sequence) or not found:
        raise ValueError(
            f"{path} holds no claim: let it end with {CLAIMS} = (...), a sequence of "
            "sfl_theory.evidence.Claim"
        )
    for claim in found:
        if not isinstance(claim, Claim):
            raise ValueError(
                f"{path}: {CLAIMS} must hold sfl_theory.evidence.Claim, got a "
                f"{type(claim).__name__}"
            )
        if not isinstance(claim.id, str) or not claim.id:
            raise ValueError(f"{path}: a claim's id must be a text, got {claim.id!r}")
        for what, value, kinds in _typed(claim):
            if not isinstance(value, kinds):
                names = " or ".join(kind.__name__ for kind in kinds)
                raise ValueError(
                    f"{path}: {what} of {claim.id} must be a {names}, got a "
                    f"{type(value).__name__}"
                )
    return tuple(found)


def _typed(claim: Claim) -> Iterator[tuple[str, object, tuple[type, ...]]]:
    """Yield what a claim holds with the types that it must have."""
    yield "the kind", claim.kind, (Kind,)
    yield "the parts", claim.parts, (tuple,)
    yield "the repair", claim.repair, (Repair, NoneType)
    parts = claim.parts + (claim.repair.parts if claim.repair else ())
    for part in parts:
        yield "a part", part, (Part,)
        yield "the statement of a part", part.says, (Says,)
        yield "what decides a part", part.by, (Proof, Model, NoneType)
    for name in ("location", "title", "scope", "cause", "words", "uses"):
        yield f"the {name}", getattr(claim, name), (str,)
