"""Neighbours of proved statements: proved, refuted, neither, or (a defect) both."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from sfl_theory.evidence import Part, Proof, evidence
from sfl_theory.kernel import replay as kernel
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.models import Model
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.changes import Neighbour, neighbours
from sfl_theory.mutation.proving import Conditions, derived
from sfl_theory.mutation.reading import many_rounds
from sfl_theory.mutation.search import TURNS, broken
from sfl_theory.mutation.units import with_units
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.threads import one_thread

VERDICTS = ("proved", "refuted", "undecided", "no model", "wrongly proved")
SUBJECTS = ("T rounds", "one round", "functions and vectors", "numbers")

PATIENCE = dict(zip(SUBJECTS, (2, 4, 4, 3), strict=True))
"""After how many turns in vain a search ends: long runs take long."""
LATEST = dict(zip(SUBJECTS, (4, TURNS, TURNS, TURNS), strict=True))
"""After how many turns it ends at the latest: later ones of long runs find little."""
OTHERS = 3
"""From how many other theorems a neighbour may follow."""
Named = tuple[str, Part]


@dataclass(frozen=True)
class Effort:
    """How long models are searched, and from which seed.

    Attributes:
        turns: how often each neighbour is searched at most.
        patience: factor of ``PATIENCE`` and ``LATEST``.
        seed: of the search.
    """

    turns: int = TURNS
    patience: int = 1
    seed: int = 0


@dataclass(frozen=True)
class Shown:
    """A neighbour, and what proves or breaks it."""

    neighbour: Neighbour
    theorem: Theorem | None
    model: ModelData | None


@dataclass(frozen=True)
class Judged:
    """What proof and search say of a neighbour.

    Attributes:
        claim: the kernel's name of the statement that it is a neighbour of.
        operator: the kind of change.
        change: what was changed.
        verdict: one of ``VERDICTS``.
        subject: one of ``SUBJECTS``: what the statement speaks of.
        shown: the neighbour and its evidence; they stay in the process that judged.
    """

    claim: str
    operator: str
    change: str
    verdict: str
    subject: str
    shown: Shown | None = field(default=None, compare=False, repr=False)


def subject(statement: Statement) -> str:
    """Return what a statement speaks of; T rounds: it bounds what many rounds reach."""
    inside = subterms(statement.left, statement.right, *statement.hypotheses)
    if any(isinstance(one, k.Split | k.Descent) for one in inside):
        return "T rounds" if many_rounds(statement, inside) else "one round"
    vectors = any(isinstance(one, k.Inner | k.Value | k.LinSum) for one in inside)
    return "functions and vectors" if vectors else "numbers"


def groups(parts: Iterable[Named]) -> list[list[str]]:
    """Return the names of the proved statements, those with one left side together.

    What is proved of a left side may prove a neighbour of another statement on it, so
    they are judged by one process.
    """
    found: dict[k.Lin, list[str]] = defaultdict(list)
    for name, part in parts:
        if isinstance(part.by, Proof) and not part.by.vacuous:
            found[part.says.left.value].append(name)
    return list(found.values())


def judge(
    together: Sequence[Named],
    effort: Effort | None = None,
    wanted: Collection[str] | None = None,
) -> list[Judged]:
    """Judge the neighbours of proved statements with one left side.

    A neighbour is proved if the kernel derives it from one of their theorems. It is
    refuted by a model that the search found: the kernel finds every hypothesis of the
    neighbour true in it, and its left side larger.

    Args:
        together: the statements and their names.
        effort: of the search.
        wanted: names of those that are judged; None: all. The others only help.

    Returns:
        A verdict on every neighbour.
    """
    own = {
        name: part.by
        for name, part in together
        if isinstance(part.by, Proof) and not part.by.vacuous
    }
    out: list[Judged] = []
    for name, part in together:
        if name in own and (wanted is None or name in wanted):
            known = [own[other].theorem() for other in _nearest(name, [*own])]
            with one_thread():
                out += _judged(name, part, known, effort or Effort())
    return out


def _nearest(name: str, names: Sequence[str]) -> list[str]:
    """Return a statement and those that stand next to it in the ledger."""
    place = names.index(name)
    near = sorted(range(len(names)), key=lambda other: abs(other - place))
    return [names[other] for other in near[: 1 + OTHERS]]


def _judged(
    name: str, part: Part, known: Sequence[Theorem], effort: Effort
) -> Iterator[Judged]:
    around = list(neighbours(part.says, name))
    _, witness = evidence(part, name)
    about = subject(part.says.statement(name))
    units = with_units(around)
    proved: dict[int, Theorem] = {}
    dropped: dict[object, bool] = {}
    seen: Conditions = {}
    for place, one in enumerate(around):
        if place in units and not dropped.get(one.summand, True):
            continue
        theorem = _proof(one, known, seen)
        if theorem is not None:
            proved[place] = theorem
        if one.factor == 0:
            dropped[one.summand] = theorem is not None
    silent = {p for p, one in enumerate(around) if one.silent} - proved.keys()
    searched = set(range(len(around))) - silent
    refuted = broken(
        around,
        searched - proved.keys(),
        set(proved),
        refutes,
        f"{effort.seed} {name}",
        min(effort.turns, effort.patience * LATEST[about]),
        effort.patience * PATIENCE[about],
        () if witness is None else (witness,),
        units,
    )
    for place, one in enumerate(around):
        verdict = "no model" if place in silent else "undecided"
        if place in refuted:
            verdict = "wrongly proved" if place in proved else "refuted"
        elif place in proved:
            verdict = "proved"
        shown = Shown(one, proved.get(place), refuted.get(place))
        yield Judged(name, one.operator, one.change, verdict, about, shown)


def _proof(
    one: Neighbour, known: Sequence[Theorem], seen: Conditions
) -> Theorem | None:
    """Return what the kernel derives the neighbour with from a known theorem."""
    theorem = derived(one, known, seen)
    return theorem if theorem is not None and _decided(one, theorem, None) else None


def refutes(one: Neighbour, model: Model) -> bool:
    """Return whether the kernel finds a neighbour broken in a model."""
    return _decided(one, None, model)


def _decided(one: Neighbour, theorem: Theorem | None, model: Model | None) -> bool:
    said = one.statement
    try:
        kernel.decide(
            said.id, said.hypotheses, said.left, said.right, said.equal, theorem, model
        )
    except Rejected:
        return False
    return True
