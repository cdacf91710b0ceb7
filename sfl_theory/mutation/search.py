"""A search over models: which neighbours of a statement does one of them break?

Crowds of models are evaluated in float64; for each neighbour the models in which its
left side comes closest to exceeding its right side have children. What seems to break a
neighbour is made a model in fractions, and only the kernel's verdict on it counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.models import Model
from sfl_theory.kernel.terms import subterms
from sfl_theory.mutation.building import Frame, Read, Subject, build, exact_model
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.crowd import Array, NotEvaluatedError
from sfl_theory.mutation.frames import BITS, drawn_frame, other_size
from sfl_theory.mutation.genes import Genes, children, first_genes, pushed
from sfl_theory.mutation.holding import holds
from sfl_theory.mutation.many import Many
from sfl_theory.proofs.export import ModelData, model_of

CROWD = 96
FEW, SOME = 32, 20
"""So many models are in a crowd with more rounds, or with many draws."""
GENERATIONS = 3
PARENTS = 6
FRAMES = 90
LOOKS = 4
"""Kinds of models that are made for what is proved."""
MARGIN = 1e-6
"""By how much, relative to the terms, float64 has to see a neighbour broken."""

HOPE = -0.5
"""Models have children where the left side is a third of the right one at least."""
NOISE = 1e-10
"""Sides that are so small, relative to their terms, are rounding errors."""

Decide = Callable[[Neighbour, Model], bool]


@dataclass
class Good:
    """The best models for a neighbour so far: their frame, genes and scores."""

    score: float
    frame: Frame
    genes: Genes


@dataclass
class Search:
    """What is known while a statement's neighbours are searched.

    Attributes:
        around: the neighbours.
        read: the statement's variables.
        open: places of the neighbours that nothing has broken.
        watched: of those that are proved: no model is made for them, but what breaks
            them, a defect, would be seen.
        decide: asks the kernel.
        good: for each place and shape of functions the best models.
        failed: how often the kernel refused models of this frame, for each place.
        asked: how often the kernel was asked.
        found: the models that break neighbours.
    """

    around: Sequence[Neighbour]
    read: Read
    open: set[int]
    watched: set[int]
    decide: Decide
    rng: random.Random
    dice: np.random.Generator
    good: dict[tuple[int, str], Good] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    asked: int = 0
    crowds: int = 0
    found: dict[int, ModelData] = field(default_factory=dict)

    def run(self, frames: int, patience: int) -> None:
        """Search until nothing is open or nothing new was broken for a while.

        Models in which all hypotheses of the original hold serve most neighbours at
        once; one with another hypothesis needs models of its own. So both take turns.
        """
        idle, turns = 0, list[int]()
        for _ in range(frames):
            turns = [place for place in turns if place in self.open]
            if not turns:
                if not self.open or idle >= patience:
                    return
                special = self._special()
                common = sorted(self.open - set(special))
                some = min(len(common), 2 + len(common) // 3)
                turns = special + self.rng.sample(common, some)
                self.rng.shuffle(turns)
                idle += 1
            before = len(self.open)
            self._frame(turns.pop())
            if len(self.open) < before:
                idle = 0

    def _special(self) -> list[int]:
        """Return the open neighbours with hypotheses of their own."""
        return [
            place
            for place in sorted(self.open)
            if self.around[place].hypotheses != self.around[place].whole.hypotheses
        ]

    def look(self, frames: int) -> None:
        """Try a few models on what is proved alone."""
        for _ in range(frames):
            if self.watched:
                self._frame(self.rng.choice(sorted(self.watched)))

    def _frame(self, place: int) -> None:
        target = self.around[place]
        kinds = [kind for at, kind in self.good if at == place]
        if kinds and self.rng.random() < 0.4:
            again = self.good[place, self.rng.choice(kinds)]
            frame, genes = again.frame, again.genes
            if self.rng.random() < 0.5:
                other = other_size(frame, self.read, target.hypotheses, self.rng)
                frame = other or frame
            self._generations(frame, children(genes, frame, self.dice, CROWD))
            return
        tries = (
            drawn_frame(self.read, target.hypotheses, target.dropped, self.rng)
            for _ in range(20)
        )
        frame_ = next((one for one in tries if one is not None), None)
        if frame_ is None:
            return
        genes = first_genes(frame_, CROWD, self.dice)
        for v in self.rng.sample(frame_.loose, min(1, len(frame_.loose))):
            near = pushed(frame_, self.read, genes, v)
            keep = self.dice.random((CROWD, 1)) < 0.25
            genes = {name: np.where(keep, genes[name], near[name]) for name in genes}
        self._generations(frame_, genes)

    def _generations(self, frame: Frame, genes: Genes) -> None:
        self.failed = {}
        far = frame.rounds > SOME or sum(frame.drawn) * frame.rounds > BITS
        if far:
            genes = {name: a[:FEW] for name, a in genes.items()}
        for _ in range(2 if far else GENERATIONS):
            found = self._evaluated(frame, genes)
            if found is None:
                return
            scores, rows = found
            parents = self._chosen(frame, genes, scores, rows)
            if parents is None:
                return
            genes = children(parents, frame, self.dice, FEW if far else CROWD)

    def _chosen(
        self,
        frame: Frame,
        genes: Genes,
        scores: dict[int, Array],
        rows: dict[int, Array],
    ) -> Genes | None:
        """Ask the kernel about what seems broken.

        Returns:
            The best models for what is still open; None if there are none.
        """
        best: list[int] = []
        hopeful = False
        for place, order in rows.items():
            score = scores[place]
            for row in order[:2] if self.failed.get(place, 0) < 2 else ():
                if score[row] > MARGIN:
                    if self._confirmed(place, frame, genes, row):
                        self.open.discard(place)
                        self.watched.discard(place)
                        break
                    self.failed[place] = self.failed.get(place, 0) + 1
            if place in self.open and np.isfinite(score[order[0]]):
                top = float(score[order[0]])
                kept = {name: a[order] for name, a in genes.items()}
                own = place, frame.shape
                better = own not in self.good or top > self.good[own].score
                if better:
                    self.good[own] = Good(top, frame, kept)
                hopeful |= better or top > HOPE
                best += [int(row) for row in order if np.isfinite(score[row])]
        if not best or not hopeful:
            return None
        chosen = sorted(set(best))
        return {name: a[chosen] for name, a in genes.items()}

    def _confirmed(self, place: int, frame: Frame, genes: Genes, row: int) -> bool:
        self.asked += 1
        values = {name: float(a[row, 0]) for name, a in genes.items()}
        try:
            data = _mentioned(exact_model(frame, self.read, values), self.around[place])
            model = model_of(data)
        except (Rejected, NotEvaluatedError, ZeroDivisionError):
            return False
        if not self.decide(self.around[place], model):
            return False
        self.found[place] = data
        return True

    def _evaluated(
        self, frame: Frame, genes: Genes
    ) -> tuple[dict[int, Array], dict[int, Array]] | None:
        """Return for each open neighbour the models' scores and the best of them.

        A score is left minus right side, relative to their sizes; where these are lost
        in the rounding of the terms, it is -1.
        """
        self.crowds += 1
        try:
            _, e = build(frame, self.read, genes, exact=False)
            return self._scored(e)
        except NotEvaluatedError:
            return None

    def _scored(self, e: Many) -> tuple[dict[int, Array], dict[int, Array]]:
        whole = self.around[0].whole
        sides: tuple[tuple[Array, Array], tuple[Array, Array]] | None = None
        true: dict[h.Hypothesis, Array] = {}
        scores, rows = {}, {}
        for place in sorted(self.open | self.watched):
            one = self.around[place]
            ok = np.ones(e.ones.shape, dtype=bool)
            for assumed in one.hypotheses:
                if assumed not in true:
                    true[assumed] = holds(e, assumed)
                ok &= true[assumed]
                if not ok.any():
                    break
            if not ok.any():
                continue
            try:
                sides = sides or (e.form(whole.left), e.form(whole.right))
                low, high = self._sides(e, one, *sides)
            except NotEvaluatedError:
                continue
            gap, size = low[0] - high[0], np.abs(low[0]) + np.abs(high[0])
            gap = np.abs(gap) if whole.equal else gap
            seen = size > NOISE * (low[1] + high[1])
            score = np.where(seen, gap / np.where(seen, size, 1), -1)
            score = np.where(ok & np.isfinite(score), score, -np.inf)[:, 0]
            scores[place] = score
            rows[place] = np.argsort(-score)[:PARENTS]
        return scores, rows

    def _sides(
        self,
        e: Many,
        one: Neighbour,
        left: tuple[Array, Array],
        right: tuple[Array, Array],
    ) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Return value and size of both sides of a neighbour."""
        if one.left is not one.whole.left:
            left = e.form(one.left)
        if one.summand is not None and one.factor is not None:
            summand, factor = e.form(one.summand), e.number(one.factor) - 1
            more = summand[0] * factor
            right = right[0] + more, right[1] + np.abs(more)
        elif one.right_side is not None and one.right_side is not one.whole.right:
            right = e.form(one.right_side)
        return left, right


def _mentioned(data: ModelData, one: Neighbour) -> ModelData:
    """Return a model without the variables that only the other neighbours mention."""
    sides = (one.left, one.right, *one.hypotheses)
    free = {v for part in sides for v in part.free}
    inside = subterms(*sides)
    stars = {s.function for s in inside if isinstance(s, k.Star | h.Minimiser)}
    return replace(
        data,
        numbers={v: x for v, x in data.numbers.items() if v in free},
        families={v: x for v, x in data.families.items() if v in free},
        rates={v: x for v, x in data.rates.items() if v in free},
        named={v: x for v, x in data.named.items() if v in free},
        points={v: x for v, x in data.points.items() if v in free},
        stars={v: x for v, x in data.stars.items() if v in stars},
    )


def broken(
    around: Sequence[Neighbour],
    places: set[int],
    proved: set[int],
    decide: Decide,
    seed: str,
    frames: int = FRAMES,
    patience: int = 1,
) -> dict[int, ModelData]:
    """Return models that were found to break neighbours, by their places.

    Args:
        around: all neighbours of one statement.
        places: of those that are searched.
        proved: of those that are tried in the same models, and in a few of their own.
        decide: asks the kernel whether a model refutes a neighbour.
        seed: of the search.
        frames: how many kinds of models are tried at most.
        patience: after how many rounds of turns in vain the search ends.
    """
    if not places | proved:
        return {}
    whole = around[0].whole
    extra: set[Any] = {one for other in around for one in other.hypotheses}
    extra |= {other.left for other in around}
    extra |= {one.right_side for one in around if one.right_side is not None}
    extra -= {*whole.hypotheses, whole.left, whole.right}
    read = Read.of(Subject(whole, tuple(sorted(extra, key=str))))
    rng = random.Random(seed)
    dice = np.random.default_rng(rng.getrandbits(64))
    search = Search(around, read, set(places), set(proved), decide, rng, dice)
    with np.errstate(all="ignore"):
        search.look(LOOKS)
        search.run(frames, patience)
    return search.found
