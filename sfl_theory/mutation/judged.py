"""Neighbours of proved statements: proved, refuted, neither, or (a defect) both."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.claims import Part, Proof
from sfl_theory.kernel import replay as kernel
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.conditions import holds, prepared
from sfl_theory.kernel.hypotheses import Hypothesis
from sfl_theory.kernel.models import Evaluation, Model
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.changes import Neighbour, neighbours
from sfl_theory.mutation.sampling import Sampler
from sfl_theory.proofs.export import Statement

VERDICTS = ("proved", "refuted", "undecided", "wrongly proved")
SUBJECTS = ("rounds and runs", "functions and vectors", "numbers")
MODELS = 150
"""Models for a statement; the search ends early when nothing is left to refute."""


@dataclass(frozen=True)
class Judged:
    """What proof and search say of a neighbour.

    Attributes:
        claim: the kernel's name of the statement that it is a neighbour of.
        operator: the kind of change.
        change: what was changed.
        verdict: one of ``VERDICTS``.
        subject: one of ``SUBJECTS``: what the statement speaks of.
    """

    claim: str
    operator: str
    change: str
    verdict: str
    subject: str


def subject(statement: Statement) -> str:
    """Return what a statement speaks of."""
    inside = subterms(statement.left, statement.right, *statement.hypotheses)
    if any(isinstance(one, k.Split | k.Descent) for one in inside):
        return "rounds and runs"
    vectors = any(isinstance(one, k.Inner | k.Value | k.LinSum) for one in inside)
    return "functions and vectors" if vectors else "numbers"


def judge(part: Part, name: str, models: int = MODELS, seed: int = 0) -> list[Judged]:
    """Judge the neighbours of one proved statement.

    A neighbour is proved if the original theorem is one of it, too: a hypothesis that
    no rule used, say. It is refuted by a sampled model, in which the kernel finds every
    hypothesis of the neighbour true and its left side larger.

    Args:
        part: a statement with its proof.
        name: of the statement.
        models: how many models are sampled at most.
        seed: of the sampling.

    Returns:
        A verdict on every neighbour.
    """
    if not isinstance(part.by, Proof) or part.by.vacuous:
        return []
    theorem, whole = part.by.theorem(), part.says.statement(name)
    found = [
        (one, _proved(one.statement, theorem)) for one in neighbours(part.says, name)
    ]
    about = subject(whole)
    broken = _broken(whole, [one for one, _ in found], models, seed)
    words = {
        (True, False): "proved",
        (False, True): "refuted",
        (False, False): "undecided",
        (True, True): "wrongly proved",
    }
    return [
        Judged(name, one.operator, one.change, words[proved, place in broken], about)
        for place, (one, proved) in enumerate(found)
    ]


def _decided(one: Statement, theorem: Theorem | None, model: Model | None) -> bool:
    try:
        kernel.decide(
            one.id, one.hypotheses, one.left, one.right, one.equal, theorem, model
        )
    except Rejected:
        return False
    return True


def _proved(one: Statement, theorem: Theorem) -> bool:
    """Return whether a theorem is this statement, too."""
    return _decided(one, theorem, None)


def _broken(
    whole: Statement, around: list[Neighbour], models: int, seed: int
) -> set[int]:
    """Return the places of the neighbours that a sampled model breaks."""
    broken: set[int] = set()
    every = whole.hypotheses.union(*(one.statement.hypotheses for one in around))
    inside = subterms(whole.left, whole.right, *whole.hypotheses)
    for model in _sampled(whole, models, seed):
        left = [p for p in range(len(around)) if p not in broken]
        if not left:
            break
        try:
            e = prepared(model, inside)
            true = {assumed for assumed in every if _holds(e, assumed)}
            gap = e.form(whole.left) - e.form(whole.right)
        except Rejected:
            continue
        for place in left:
            one = around[place]
            if not one.statement.hypotheses <= true or not _violated(e, gap, one):
                continue
            if _decided(one.statement, None, model):
                broken.add(place)
    return broken


def _violated(e: Evaluation, gap: Fraction, one: Neighbour) -> bool:
    try:
        now = gap - e.form(one.more)
    except Rejected:
        return False
    return bool(now) if one.statement.equal else now > 0


def _holds(e: Evaluation, assumed: Hypothesis) -> bool:
    try:
        return holds(e, assumed)
    except Rejected:
        return False


def _sampled(whole: Statement, models: int, seed: int) -> Iterator[Model]:
    sampler = Sampler(whole, random.Random(f"{seed} {whole.id}"))
    for _ in range(models):
        model = sampler.model()
        if model is not None:
            yield model
