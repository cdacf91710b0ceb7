"""A search over models: which neighbours of a statement does one of them break?

Crowds of models are evaluated in float64; for each neighbour the models in which its
left side comes closest to exceeding its right side have children. What seems to break a
neighbour is made a model in fractions, and only the kernel's verdict on it counts.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle
from typing import Any

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel.algebra import Rejected, Sort
from sfl_theory.kernel.models import Model
from sfl_theory.mutation.asking import DIGITS, digits, in_units, mentioned
from sfl_theory.mutation.building import Frame, build, exact_model
from sfl_theory.mutation.changes import Neighbour
from sfl_theory.mutation.crowd import Array, NotEvaluatedError
from sfl_theory.mutation.families import FAMILIES, Family, posed, simple_genes
from sfl_theory.mutation.frames import (
    DECK,
    Card,
    drawn_frame,
    far_of,
    other_size,
    resized,
)
from sfl_theory.mutation.genes import (
    Genes,
    children,
    crowd_size,
    first_genes,
    nearby,
    pushed,
    slower,
)
from sfl_theory.mutation.holding import holds
from sfl_theory.mutation.many import Many
from sfl_theory.mutation.reading import Read, Subject
from sfl_theory.mutation.rounding import error
from sfl_theory.mutation.scores import HOPE, Side, scored, sides_of
from sfl_theory.mutation.seeds import planted
from sfl_theory.mutation.units import Scales
from sfl_theory.proofs.export import ModelData, model_of

SOME = 20
"""Rounds from which on a crowd takes long."""
CLIMB = 8
"""Generations of a climb towards one neighbour."""
AGAIN = 0.5
"""How often a turn is a climb from the best models so far."""
TIRED = 2
"""After how many climbs in vain there is no other one from the same models."""
FAR_OFF = -0.7
"""Scores from which few climbs lead up, where a side is changed: left a sixth of it."""
SHORT = 0.1
"""Steps of a climb, in powers of two, below which it ends."""
GENERATIONS = 3
PARENTS = 6
TURNS = 12
"""How often each neighbour is searched at most."""
LOOKS = 4
"""Kinds of models that are made for what is proved."""
MARGIN = 1e-6
"""By how much, relative to the terms, float64 has to see a neighbour broken."""


Decide = Callable[[Neighbour, Model], bool]


@dataclass
class Good:
    """The best models for a neighbour so far: their frame, genes and best score.

    `tired` counts the climbs from them that led nowhere.
    """

    score: float
    frame: Frame
    genes: Genes
    tired: int = 0


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
        units: for each place where a summand is multiplied by a number with a unit, the
            change of units that makes it small: such a neighbour is broken if the
            summand may be left out, or is negative.
        good: for each place and shape of functions the best models.
        aim: the hypotheses for which models are made now; None: around known models.
        failed: how often the kernel refused models of this frame, for each place.
        decks: the kinds of functions that are not drawn yet, by hypotheses.
        asked: how often the kernel was asked.
        found: the models that break neighbours.
        families: those that are posed next.
        posing: a search with dice of its own for these.
    """

    around: Sequence[Neighbour]
    read: Read
    open: set[int]
    watched: set[int]
    decide: Decide
    units: dict[int, Scales]
    rng: random.Random
    dice: np.random.Generator
    good: dict[tuple[int, str], Good] = field(default_factory=dict)
    failed: dict[int, int] = field(default_factory=dict)
    aim: frozenset[h.Hypothesis] | None = None
    decks: dict[frozenset[h.Hypothesis], list[Card]] = field(default_factory=dict)
    asked: int = 0
    crowds: int = 0
    found: dict[int, ModelData] = field(default_factory=dict)
    families: Iterator[Family] = field(default_factory=lambda: cycle(FAMILIES))
    posing: Search | None = None

    def run(self, turns: int, patience: int) -> None:
        """Search until nothing is open or nothing new was broken for a while.

        Models in which all hypotheses of the original hold serve most neighbours at
        once; one with another hypothesis needs models of its own. So in each turn each
        of these is searched, and some of the others.
        """
        idle = 0
        for _ in range(turns):
            if not self.open or idle >= patience:
                return
            before = len(self.open)
            special = self._special()
            common = self._common(special)
            some = min(len(common), 2 + len(common) // 3)
            places = special + self.rng.sample(common, some)
            self.rng.shuffle(places)
            for place in places:
                if place in self.open:
                    self._frame(place)
            if self.posing is not None:
                self.posing.pose(special + common)
            idle = 0 if len(self.open) < before else idle + 1

    def pose(self, places: Sequence[int]) -> None:
        """Try the next kind of long simple runs, and climb from the best one."""
        family = next(self.families)
        some = [place for place in places if place in self.open]
        if not some:
            return
        target = self.around[self.rng.choice(some)]
        assumed, gone = target.hypotheses, target.dropped
        frame = posed(self.read, assumed, gone, family, self.rng)
        if frame is None:
            return
        self.aim, kind = assumed, _kind(frame)
        self._generations(frame, simple_genes(frame, crowd_size(frame), self.dice))
        near = [p for p in sorted(self.open) if self._worth(p, kind)]
        if near:
            self._climb(max(near, key=lambda p: self.good[p, kind].score), kind)

    def _worth(self, place: int, kind: str) -> bool:
        """Return whether a climb from the best models of a kind may lead somewhere."""
        lowest = FAR_OFF if self.around[place].changed else -np.inf
        good = self.good.get((place, kind))
        return good is not None and good.tired < TIRED and good.score > lowest

    def _special(self) -> list[int]:
        """Return the open neighbours with hypotheses of their own.

        What breaks one with a relaxed condition breaks the one without the condition,
        so that comes first.
        """
        own = {
            place: self.around[place].hypotheses
            for place in sorted(self.open)
            if self.around[place].hypotheses != self.around[place].whole.hypotheses
        }
        return [p for p, some in own.items() if not any(x < some for x in own.values())]

    def _common(self, special: Sequence[int]) -> list[int]:
        """Return the other open neighbours, of those broken by the same models one."""
        found: dict[object, int] = {}
        for place in sorted(self.open - set(special)):
            one = self.around[place]
            whole = place in self.units or one.factor == 0
            found.setdefault(one.summand if whole else place, place)
        return [*found.values()]

    def look(self, frames: int) -> None:
        """Try a few models on what is proved alone."""
        for _ in range(frames):
            if self.watched:
                self._frame(self.rng.choice(sorted(self.watched)))

    def plant(self, seeds: Sequence[ModelData]) -> None:
        """Begin with known models and their children."""
        whole = self.around[0].whole
        for data in seeds:
            for frame, one in planted(data, self.read, whole.hypotheses, self.rng):
                near = nearby(one, frame, self.dice, crowd_size(frame), 1)
                crowd = {name: np.concatenate([one[name], near[name]]) for name in one}
                self.aim = None
                self._generations(frame, crowd)

    def _frame(self, place: int) -> None:
        target = self.around[place]
        self.aim = target.hypotheses
        kinds = [at[1] for at in self.good if at[0] == place and self._worth(*at)]
        if kinds and self.rng.random() < AGAIN:
            best = max(kinds, key=lambda kind: self.good[place, kind].score)
            other = self.rng.choice(kinds)
            self._climb(place, best if self.rng.random() < 0.6 else other)
            return
        card = self._card(target.hypotheses)
        tries = (
            drawn_frame(self.read, target.hypotheses, target.dropped, self.rng, card)
            for _ in range(20)
        )
        frame_ = next((one for one in tries if one is not None), None)
        if frame_ is None:
            return
        size = crowd_size(frame_)
        genes = first_genes(frame_, size, self.dice)
        for v in self.rng.sample(frame_.loose, min(1, len(frame_.loose))):
            near = pushed(frame_, self.read, genes, v)
            keep = self.dice.random((size, 1)) < 0.25
            genes = {name: np.where(keep, genes[name], near[name]) for name in genes}
        self._generations(frame_, genes)

    def _card(self, hypotheses: frozenset[h.Hypothesis]) -> Card:
        """Return the next kind of functions for these hypotheses."""
        deck = self.decks.setdefault(hypotheses, [])
        if not deck:
            deck += self.rng.sample(DECK, len(DECK))
        return deck.pop()

    def _generations(self, frame: Frame, genes: Genes) -> None:
        self.failed = {}
        for _ in range(2 if frame.rounds > SOME else GENERATIONS):
            found = self._evaluated(frame, genes)
            if found is None:
                return
            scores, rows = found
            parents = self._chosen(frame, genes, scores, rows)
            if parents is None:
                return
            genes = children(parents, frame, self.dice, crowd_size(frame))

    def _climb(self, place: int, kind: str) -> None:
        """Look for better models for one neighbour near its best ones.

        Steps become shorter where they lead nowhere; now and then the run gets more or
        fewer rounds or steps.
        """
        good, target = self.good[place, kind], self.around[place]
        frame, genes, score = good.frame, good.genes, good.score
        scale, refused = 1.0, 0
        fewer = frame.rounds > SOME and not frame.far
        for turn in range(CLIMB // 2 if fewer else CLIMB):
            tried = frame
            if turn % 3 == 2:
                other = other_size(frame, self.read, target.hypotheses, self.rng)
                tried = other or frame
            near = nearby(genes, tried, self.dice, crowd_size(tried) // 2, scale)
            other_pace = slower(genes, tried, frame.rounds / max(tried.rounds, 1))
            crowd = {
                name: np.concatenate([genes[name], near[name], other_pace[name]])
                for name in genes
            }
            found = self._evaluated(tried, crowd, (place,))
            if found is None or place not in found[0]:
                continue
            scores, order = found[0][place], found[1][place]
            top = float(scores[order[0]])
            for row in order[:2]:
                if scores[row] > MARGIN and place in self.open:
                    if self._confirmed(place, tried, crowd, row):
                        self._settle(place)
                    else:
                        refused += 1
            if tried is not frame and top <= score:
                continue
            enough = top - score >= 0.02 * min(1, max(-score, 0.05))
            frame, score = tried, max(score, top)
            genes = {name: a[order] for name, a in crowd.items()}
            if place not in self.open or refused > 3:
                break
            if not enough:
                scale /= 2
                if scale < SHORT:
                    break
        slow = score - good.score < 0.02 * max(-score, 0.01)
        self.good[place, kind] = Good(score, frame, genes, good.tired + slow)
        found = self._evaluated(frame, genes)
        if found is not None:
            self.failed = {}
            self._chosen(frame, genes, *found)

    def _settle(self, place: int) -> None:
        self.open.discard(place)
        self.watched.discard(place)

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
                        self._settle(place)
                        break
                    self.failed[place] = self.failed.get(place, 0) + 1
            one = self.around[place]
            own = self.aim in (None, one.hypotheses)
            own |= one.hypotheses == one.whole.hypotheses
            if place in self.open and own and np.isfinite(score[order[0]]):
                top = float(score[order[0]])
                key = place, _kind(frame) if self.aim else "known"
                better = key not in self.good or top > self.good[key].score
                if better:
                    kept = {name: a[order] for name, a in genes.items()}
                    self.good[key] = Good(top, frame, kept)
                hopeful |= better or top > HOPE
                best += [int(row) for row in order if np.isfinite(score[row])]
        if not best or not hopeful:
            return None
        chosen = sorted(set(best))
        return {name: a[chosen] for name, a in genes.items()}

    def _confirmed(self, place: int, frame: Frame, genes: Genes, row: int) -> bool:
        self.asked += 1
        one = self.around[place]
        alone = {name: a[row : row + 1] for name, a in genes.items()}
        values = {name: float(a[0, 0]) for name, a in alone.items()}
        frame = self._shortened(place, frame, alone)
        try:
            data = mentioned(exact_model(frame, self.read, values), one)
            if place in self.units:
                _, e = build(frame, self.read, alone, exact=False)
                data = in_units(data, e, one, self.units[place])
            model = model_of(data)
            if frame.far and frame.turned and digits(model, one, frame.rounds) > DIGITS:
                return False
        except (Rejected, NotEvaluatedError, ArithmeticError):
            return False
        if not self.decide(one, model):
            return False
        self.found[place] = data
        return True

    def _shortened(self, place: int, frame: Frame, genes: Genes) -> Frame:
        """Return a run at most twice as long as one in which a neighbour is broken.

        The kernel follows it round by round, and sums over clients one by one.
        """
        hypotheses = self.around[place].hypotheses
        for v in (*(far_of(self.read) if frame.rounds > SOME else ()), None):
            while n := frame.size(v) // 2:
                other = resized(frame, self.read, hypotheses, v, n, self.rng)
                found = other and self._evaluated(other, genes, (place,))
                if not (other and found and found[0].get(place, [-1])[0] > MARGIN):
                    break
                frame = other
        return frame

    def _evaluated(
        self, frame: Frame, genes: Genes, places: Sequence[int] | None = None
    ) -> tuple[dict[int, Array], dict[int, Array]] | None:
        """Return for each neighbour, by default the open ones, scores and best models.

        For the scores see `scored`.
        """
        self.crowds += 1
        try:
            _, e = build(frame, self.read, genes, exact=False)
            return self._scored(e, sorted(places or self.open | self.watched))
        except NotEvaluatedError:
            return None

    def _scored(
        self, e: Many, places: Sequence[int]
    ) -> tuple[dict[int, Array], dict[int, Array]]:
        whole = self.around[0].whole
        sides: tuple[Side, Side] | None = None
        moved: Array | None = None
        true: dict[h.Hypothesis, Array] = {}
        scores, rows = {}, {}
        for place in places:
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
                if sides is None:
                    sides = e.form(whole.left), e.form(whole.right)
                low, high = sides_of(e, one, place in self.units, *sides)
            except NotEvaluatedError:
                continue
            if not one.changed and moved is None:
                moved = self._moved(e, sides)
            score, gap = scored(whole, one.changed, low, high, sides, moved)
            score = np.where(ok & np.isfinite(score), score, -np.inf)
            if (score > MARGIN).any():
                rounded = error(e, one.left) + error(e, one.right)
                score = np.where((score > 0) & (gap <= rounded), -1, score)
            score = score[:, 0]
            scores[place] = score
            rows[place] = np.argsort(-score)[:PARENTS]
        return scores, rows

    def _moved(self, e: Many, sides: tuple[Side, Side]) -> Array:
        """Return how far both sides are from what they are at half the rounds."""
        whole, size = self.around[0].whole, e.crowd.wholes
        half = {v: max(size[v] // 2, v.sort is Sort.COUNT) for v in far_of(self.read)}
        if any(v in run.free for v in half for run in self.read.splits):
            return 0 * e.ones
        before = e.at_sizes({**size, **half})
        pairs = zip(sides, (whole.left, whole.right), strict=True)
        return sum((np.abs(s[0] - before.form(w)[0]) for s, w in pairs), 0 * e.ones)


def _kind(frame: Frame) -> str:
    """Return which models are compared with which: functions and start."""
    return f"{frame.shape} {frame.turned} {frame.level}"


def broken(
    around: Sequence[Neighbour],
    places: set[int],
    proved: set[int],
    decide: Decide,
    seed: str,
    turns: int = TURNS,
    patience: int = 1,
    seeds: Sequence[ModelData] = (),
    units: dict[int, Scales] | None = None,
) -> dict[int, ModelData]:
    """Return models that were found to break neighbours, by their places.

    Args:
        around: all neighbours of one statement.
        places: of those that are searched.
        proved: of those that are tried in the same models, and in a few of their own.
        decide: asks the kernel whether a model refutes a neighbour.
        seed: of the search.
        turns: how often each neighbour is searched at most.
        patience: after how many turns of all in vain the search ends.
        seeds: models that meet the statement's hypotheses.
        units: see `Search`.
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
    known = units or {}
    search = Search(around, read, set(places), set(proved), decide, known, rng, dice)
    rng = random.Random(f"{seed} posed")
    dice = np.random.default_rng(rng.getrandbits(64))
    search.posing = replace(search, rng=rng, dice=dice, good={})
    with np.errstate(all="ignore"):
        search.plant(seeds)
        search.look(LOOKS)
        search.run(turns, patience)
    return search.found
