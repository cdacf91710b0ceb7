r"""Which proved statements say exactly what a bound of the library says.

A `Bound` is a formula in sympy, a claim's part is a term of the kernel. A part backs a
bound if, symbol by symbol (`sfl_theory.reading`),

- its run is the theorem's algorithm: kind, participants, numbers of steps;
- its left side is the bound's metric along that run, its right side the formula;
- its learning rates are the bound's rule, or it admits all that the rule admits;
- every one of its hypotheses is among the bound's conditions.

So the standing of a bound is never more than what the kernel proved. A bound for any
periods needs parts for either order of the two.
"""

from __future__ import annotations

from functools import cache

from sfl_theory import conditions as c
from sfl_theory.bound import Bound
from sfl_theory.claims import Part, Proof, decide, parts_of
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.terms import subterms
from sfl_theory.ledger import ledger
from sfl_theory.reading import Reading, Unread
from sfl_theory.registry import theorem
from sfl_theory.statement import Theorem

KINDS = {
    "sfl-v1": (k.Kind.V1,),
    "fedavg": (k.Kind.V1,),
    "sfl-v2": (k.Kind.V2, k.Kind.V2_WEIGHTED),
    "minibatch-sfl": (k.Kind.MINIBATCH,),
}
"""Algorithm of a theorem -> what runs it."""


def backing(item: Theorem, bound: Bound) -> tuple[tuple[str, Part], ...]:
    """Return the proofs that say what a bound says, with their names.

    Args:
        item: the theorem that the bound belongs to.
        bound: one of its versions.

    Returns:
        One part, or two by which side makes more steps; empty where nothing backs it.
    """
    return _backing(item.key, item.algorithm, bound)


@cache
def _backing(key: str, algorithm: str, bound: Bound) -> tuple[tuple[str, Part], ...]:
    paper = key.split("/")[0]
    for case in theorem(key).cases.values():
        stated = case.stated().get(bound.version)
        if stated is not None and case.bound(bound.version) == bound:
            return tuple(
                (name, part)
                for name, part in _proofs(paper)
                if any(part is one for one in stated)
            )
    found: dict[str, tuple[str, Part]] = {}
    one = algorithm != "sfl-v1" or bound.assumes(c.EqualPeriods)
    for name, part in sorted(_proofs(paper), key=lambda p: not p[0].startswith(key)):
        order = _order(part, algorithm, bound)
        found.setdefault(order, (name, part))
        for enough in (("any",), ("equal",) if one else ("client", "server")):
            if all(order in found for order in enough):
                return tuple(found[order] for order in enough)
    return ()


def proved(item: Theorem, bound: Bound) -> bool:
    """Return whether the kernel proves, now, what a bound says."""
    return _proved(item.key, item.algorithm, bound)


@cache
def _proved(key: str, algorithm: str, bound: Bound) -> bool:
    parts = _backing(key, algorithm, bound)
    return bool(parts) and all(_decided(name, part) for name, part in parts)


@cache
def _decided(name: str, part: Part) -> bool:
    return decide(part, name).status == "proved"


@cache
def _proofs(paper: str) -> tuple[tuple[str, Part], ...]:
    return tuple(
        (name, part)
        for claim in ledger().claims(paper)
        for name, part in parts_of(claim)
        if isinstance(part.by, Proof) and not part.says.equal and not part.by.vacuous
    )


def _order(part: Part, algorithm: str, bound: Bound) -> str:
    """Return for which order of the periods a part backs a bound; "" for none."""
    runs = {one for one in subterms(part.says.left.value) if isinstance(one, k.Split)}
    if len(runs) != 1:
        return ""
    (split,) = runs
    if not _same_algorithm(split, algorithm, bound):
        return ""
    try:
        reading = Reading.of(part, split, bound)
        fits = (
            reading.same_left()
            and reading.same_right()
            and reading.same_rates()
            and all(map(reading.states, part.says.hypotheses))
        )
    except (Unread, Rejected):
        return ""
    if not fits:
        return ""
    more = ratio(split.client.steps) - ratio(split.server.steps)
    if not more:
        return "equal"
    if more.nonnegative():
        return "client"
    return "server" if (-more).nonnegative() else "any"


def _same_algorithm(split: k.Split, algorithm: str, bound: Bound) -> bool:
    if split.kind not in KINDS.get(algorithm, ()):
        return False
    if split.kind is k.Kind.V2_WEIGHTED and not bound.assumes(c.WeightedServer):
        return False
    if split.kind is k.Kind.V2 and bound.assumes(c.WeightedServer):
        return False
    if split.participants is k.Participants.EVERYONE:
        return bound.assumes(c.EveryoneTakesPart)
    return split.participants is k.Participants.UPDATES and bound.assumes(
        c.UpdatesAggregated
    )
