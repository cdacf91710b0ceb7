"""From a frame and genes, the structure and the numbers of models, to a crowd.

A `Frame` fixes what makes two models different in kind: clients, steps, rounds, who has
noise, whether functions are parabolas or bend, which hypothesis may fail. Genes are the
numbers: curvatures, centres, weights, rates. What a statement calls S, mu, sigma2,
eps2, G2 or bounds by a hypothesis is *tied*: it gets the value that the functions need,
so that a bound is met with equality.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort, ratio
from sfl_theory.models.federation import coin, still
from sfl_theory.mutation.crowd import Array, Crowd, Shape, paired
from sfl_theory.mutation.far import Far
from sfl_theory.mutation.many import Many
from sfl_theory.mutation.reading import Read
from sfl_theory.mutation.ties import tie
from sfl_theory.proofs import export
from sfl_theory.proofs.export import ModelData

Tie = tuple[tuple[h.Hypothesis, ...], k.Var | k.ClientFamily, bool]
"""Hypotheses, what they decide, and whether they may fail."""
SIGNED, POSITIVE, RAISED = "signed", "positive", "raised"


@dataclass(frozen=True)
class Frame:
    """The structure of a crowd.

    Attributes:
        shape: "bowl" (parabolas), "box" (parabolas with bounded gradients on a box) or
            "bent" (linear functions and Huber functions).
        noise: of each client: "still", "coin" or "biased".
        drawn: whether a client is drawn with a probability below 1.
        same: whether all clients have the same Hessian.
        level: the block in which the mean's gradient vanishes where the run starts; 2:
            both.
        turned: whether the Hessians mix both blocks.
        signed: whether curvatures may be negative.
        paces: the families that are learning rates.
        powers: rates are ``a (1 + g t)^power``, one for each family.
        solved: families that a condition decides, as functions of its index.
        ties: in their order.
        rest: whether a third coordinate, at rest, has a curvature of its own.
        far: the run is followed by its moments, not outcome by outcome.
        strong: all curvatures have to be above 0.
        posed: of a family, not drawn; its box is as small as may be.
        copies: how many clients are like each of these; 1 unless all is numbers.
    """

    clients: int
    wholes: tuple[tuple[k.Var, int], ...]
    order: tuple[tuple[int, int], ...]
    rounds: int
    shape: str
    noise: tuple[str, ...]
    drawn: tuple[bool, ...]
    same: bool
    level: int | None
    turned: bool
    signed: bool
    powers: tuple[tuple[k.RoundFamily, int], ...]
    paces: tuple[k.RoundFamily, ...]
    solved: tuple[tuple[k.RoundFamily, k.BoundNat | k.Argument, Ratio], ...]
    ties: tuple[Tie, ...]
    pushed: tuple[h.Hypothesis, ...]
    loose: tuple[k.Var | k.RoundFamily, ...]
    steps: int
    rest: bool = False
    far: bool = False
    strong: bool = False
    posed: bool = False
    copies: int = 1
    genes: dict[str, str] = field(default_factory=dict)

    @property
    def long(self) -> bool:
        """Whether the kernel follows moments; else fractions, as of mixed blocks."""
        return self.far and not self.turned

    @property
    def near(self) -> bool:
        """Whether a block is at rest where the run starts, or nearly so."""
        return self.turned and self.level in (0, 1)

    def size(self, v: k.Var | None) -> int:
        """Return a natural number, or how many clients are alike."""
        return self.copies if v is None else dict(self.wholes)[v]


def genes_of(frame: Frame, read: Read) -> dict[str, str]:
    """Return the names of the genes and their kinds."""
    out: dict[str, str] = {}
    own = SIGNED if frame.signed else RAISED
    for n in range(frame.clients):
        out[f"w{n}"] = POSITIVE
        if frame.drawn[n]:
            out[f"q{n}"] = POSITIVE
        for p in (0, 1):
            if n == 0 or not frame.same:
                out[f"h{n}{p}"] = POSITIVE if frame.strong else own
            out[f"c{n}{p}"] = SIGNED
        if frame.turned and (n == 0 or not frame.same):
            out[f"m{n}"] = SIGNED
        for p in (0, 1):
            out[f"l{n}{p}"] = SIGNED
            if frame.noise[n] != "still":
                out[f"z{n}{p}"] = SIGNED
    if frame.rest:
        out["o."] = POSITIVE
    if frame.near:
        out["y."] = RAISED
    for p in (0, 1):
        out[f"x{p}"] = out[f"e{p}"] = SIGNED
        out[f"r{p}"] = POSITIVE
        out |= {f"{v}.h{p}": own for v in read.named}
        out |= {f"{v}.c{p}": SIGNED for v in read.named}
        out |= {f"{v}.{p}": SIGNED for v in read.points}
    for v in read.reals:
        out[f"v.{v}"] = POSITIVE if v.sort is Sort.POSITIVE else RAISED
    for f in read.families:
        kind = POSITIVE if f.sort is Sort.POSITIVE else RAISED
        out |= {f"f.{f}.{n}": kind for n in range(frame.clients)}
    for r in read.rounds:
        out[f"a.{r}"] = POSITIVE
        out[f"g.{r}"] = RAISED
    out |= {f"k{i}": RAISED for i in range(len(frame.ties))}
    out |= {f"u{i}": POSITIVE for i, (_, _, fails) in enumerate(frame.ties) if fails}
    return out


def build(
    frame: Frame, read: Read, genes: dict[str, Array], exact: bool
) -> tuple[Crowd, Many]:
    """Return a crowd with its tied constants, ready to be evaluated.

    Raises:
        NotEvaluatedError: no crowd has what ties a constant, or outcomes are too many.
    """
    one: Any = Fraction(1) if exact else 1.0
    zero = 0 * genes["w0"]
    clients = range(frame.clients)

    def pair(name: str) -> Array:
        return paired(genes[f"{name}0"][:, 0], genes[f"{name}1"][:, 0])

    total = sum((genes[f"w{n}"] for n in clients), zero)
    weights = [genes[f"w{n}"] / total / frame.copies for n in clients]
    bent = frame.shape == "bent"
    curves = [pair(f"h{0 if frame.same else n}") for n in clients]
    centres = [pair(f"c{n}") for n in clients]
    flat, still_ = 0 * curves[0], [zero for _ in clients]
    mixed = still_
    if frame.turned:
        curves = [paired(c[:, 0], c[:, 0]) for c in curves]
        mixed = [
            c[:, :1] * k_ / (1 + np.abs(k_))
            for n, c in enumerate(curves)
            for k_ in [genes[f"m{0 if frame.same else n}"]]
        ]
    middle, width = pair("e"), pair("r")
    star = k.MEAN in read.stars
    if bent:
        tilts = [pair(f"l{n}") for n in clients]
        if star:
            others = zip(weights[:-1], tilts[:-1], strict=True)
            tilts[-1] = -sum((a * b for a, b in others), flat) / weights[-1]
        shapes = [
            Shape(flat, b, np.abs(c), middle, width, zero, zero)
            for b, c in zip(tilts, curves, strict=True)
        ]
        best = middle
    else:
        tilt = 0 if star or frame.shape == "box" else one
        if frame.shape == "box" and frame.turned:
            centres = [middle for _ in clients]
        pulls = [
            c * z + m * z[:, ::-1]
            for c, m, z in zip(curves, mixed, centres, strict=True)
        ]
        rests = [c[:, :1] for c in curves]
        if frame.rest:
            rests = [np.max(curves[0], axis=1, keepdims=True) * genes["o."]] * len(
                rests
            )
        shapes = [
            Shape(
                c,
                tilt * pair(f"l{n}") - pulls[n],
                flat,
                flat,
                flat + one,
                mixed[n],
                rests[n],
            )
            for n, c in enumerate(curves)
        ]
        whole = sum((a * c for a, c in zip(weights, curves, strict=True)), flat)
        cross = sum((a * m for a, m in zip(weights, mixed, strict=True)), zero)
        pull = sum((a * z for a, z in zip(weights, pulls, strict=True)), flat)
        lean = [tilt * a * pair(f"l{n}") for n, a in enumerate(weights)]
        pull = pull - sum(lean, flat)
        det = whole * whole[:, ::-1] - cross**2
        top = whole[:, ::-1] * pull - cross * pull[:, ::-1]
        best = np.where(det > 0, top / np.where(det > 0, det, one), 0 * pull)
        if not frame.turned:
            alone = pull / np.where(whole > 0, whole, one)
            best = np.where(whole > 0, alone, 0 * pull)
    noise = [
        None if frame.noise[n] == "still" else (pair(f"z{n}"), frame.noise[n] == "coin")
        for n in clients
    ]
    start, box = pair("x"), None
    if frame.level == 2:
        start = best
    elif frame.level is not None and not bent:
        p, q = frame.level, 1 - frame.level
        rest = whole[:, p : p + 1]
        slope = cross / np.where(rest > 0, rest, one)
        if frame.near:
            slope = slope * (one - genes["y."])
        here = best[:, p : p + 1] - slope * (start - best)[:, q : q + 1]
        start = np.concatenate(
            [here, start[:, 1:]] if p == 0 else [start[:, :1], here], axis=1
        )
    if frame.shape == "box":
        reach = [
            np.abs(law[0]) / np.where(c > 0, c, one) if law is not None else flat
            for law, c in zip(noise, curves, strict=True)
        ]
        low, high = start, start
        if frame.posed and frame.turned:
            low, high = _kept_box(start, middle, list(zip(shapes, reach, strict=True)))
            reach = []
        elif frame.turned:
            far = np.max(np.abs(start - middle), axis=-1, keepdims=True)
            for law, F in zip(noise, shapes, strict=True):
                if law is not None:
                    z = np.max(np.abs(law[0]), axis=-1, keepdims=True)
                    room = F.lowest
                    far = np.maximum(far, z / np.where(room > 0, room, one))
            low, high = middle - far, middle + far
            reach = []
        for z, r in zip(centres, reach, strict=False):
            low, high = np.minimum(low, z - r), np.maximum(high, z + r)
        box = (low, high)
    crowd = Crowd(
        functions=shapes,
        weights=weights,
        participation=[
            1 / (1 + genes[f"q{n}"]) if frame.drawn[n] else None for n in clients
        ],
        noise=noise,
        start=np.asfortranarray(start),
        order=frame.order,
        rounds=frame.rounds,
        wholes=dict(frame.wholes),
        numbers={v: genes[f"v.{v}"] for v in read.reals},
        families={f: [genes[f"f.{f}.{n}"] for n in clients] for f in read.families},
        rates={
            r: _rate(genes[f"a.{r}"], genes[f"g.{r}"], power)
            for r, power in frame.powers
        },
        named={
            v: Shape(
                pair(f"{v}.h"),
                -pair(f"{v}.h") * pair(f"{v}.c"),
                flat,
                flat,
                flat + one,
                zero,
                pair(f"{v}.h")[:, :1],
            )
            for v in read.named
        },
        points={v: pair(f"{v}.")[:, None] for v in read.points},
        stars={
            f: np.asfortranarray(best if f is k.MEAN else pair(f"{f}.c"))[:, None]
            for f in read.stars
            if f is k.MEAN or isinstance(f, k.NamedFunction)
        },
        box=box,
        exact=exact,
        copies=frame.copies,
    )
    many = Far(crowd) if frame.far else Many(crowd)
    for family, index, number in frame.solved:
        crowd.rates[family] = _decided(many, index, number)
    many.prepare(frame.steps, any(frame.drawn))
    for place, (assumed, v, fails) in enumerate(frame.ties):
        off = one + zero if len(assumed) > 1 else 1 + genes[f"k{place}"]
        tie(many, assumed, v, off * genes[f"u{place}"] if fails else off)
    return crowd, many


def _kept_box(
    start: Array, middle: Array, parts: list[tuple[Shape, Array]]
) -> tuple[Array, Array]:
    """Return a small box with the start in it that no small step leaves.

    At its end in one coordinate the slope points inwards wherever the other one is:
    ``up_p >= r_p + |m|/h times how far q goes to the side to which it pulls``.

    Args:
        start: of the run.
        middle: the minimiser of all clients' functions.
        parts: these, all with equal curvatures in both coordinates, and noise divided
            by curvature.
    """
    zero = 0 * start
    up, down = np.maximum(start - middle, zero), np.maximum(middle - start, zero)
    away, along, noise = zero[:, :1], zero[:, :1], zero
    for F, reach in parts:
        h = F.curvature[:, :1]
        pull = F.mixed / np.where(h > 0, h, 1 + 0 * h)
        away, along = np.maximum(away, pull), np.maximum(along, -pull)
        noise = np.maximum(noise, reach)
    for _ in range(2):  # what comes back after two is smaller
        u, d = up[:, ::-1], down[:, ::-1]
        more = np.maximum(away * d, along * u), np.maximum(away * u, along * d)
        up, down = np.maximum(up, more[0]), np.maximum(down, more[1])
    most = np.maximum(away, along)
    room = (noise + most * noise[:, ::-1]) / (1 - most * most)
    return middle - down - room, middle + up + room


def _decided(
    e: Many, index: k.BoundNat | k.Argument, number: Ratio
) -> Callable[[int], Array]:
    def rate(t: int) -> Array:
        outer, e.at = e.at, {index: t}
        value = e.number(number)
        e.at = outer
        return value

    return rate


def _rate(a: Array, g: Array, power: int) -> Callable[[int], Array]:
    if power < 0:
        return lambda t: a / (1 + g * t) ** -power
    return lambda t: a * (1 + g * t) ** power


# one model of a crowd, for the kernel


def exact_model(frame: Frame, read: Read, row: dict[str, float]) -> ModelData:
    """Return one model of a crowd, in fractions."""
    genes = {
        name: np.array([[Fraction(value)]], dtype=object) for name, value in row.items()
    }
    crowd, _ = build(frame, read, genes, exact=True)

    def one(x: Array) -> Fraction:
        return Fraction(x.reshape(-1)[0])

    third, copies = (Fraction(0),) * frame.rest, frame.copies

    def two(x: Array) -> export.Vector:
        a, b = x.reshape(-1)
        return (Fraction(a), Fraction(b), *third)

    drawn = any(law is not None and law[1] for law in crowd.noise)
    drawn = drawn or any(q is not None for q in crowd.participation)
    data = ModelData(
        start=two(crowd.start),
        numbers={v: one(a) for v, a in crowd.numbers.items()}
        | {v: Fraction(a) for v, a in frame.wholes},
        functions=tuple(_shape(F, two, third) for F in crowd.functions),
        weights=tuple(map(one, crowd.weights)) * copies,
        participation=tuple(
            Fraction(1) if q is None else one(q) for q in crowd.participation
        )
        * copies,
        noise=tuple(
            still(2 + frame.rest)
            if law is None
            else coin(*two(law[0]))
            if law[1]
            else ((Fraction(1), two(law[0]), two(law[0])),)
            for law in crowd.noise
        ),
        order=frame.order,
        rounds=frame.rounds if drawn and not frame.long else 0,
        families={f: tuple(map(one, a)) * copies for f, a in crowd.families.items()},
        rates={r: k.Rate(_term(row, r, power)) for r, power in frame.powers}
        | {r: k.Rate(_closed(crowd, i, number)) for r, i, number in frame.solved},
        named={v: _shape(F, two, third) for v, F in crowd.named.items()},
        points={v: (two(x),) for v, x in crowd.points.items()},
        stars={f: two(x) for f, x in crowd.stars.items()},
        box=()
        if crowd.box is None
        else tuple(zip(two(crowd.box[0]), two(crowd.box[1]), strict=True)),
        long=frame.long,
    )
    plain = replace(data, start=(Fraction(0),), functions=(), noise=())
    return plain if read.numbers else data


def _shape(
    F: Shape, two: Callable[[Array], export.Vector], third: export.Vector
) -> export.Shape:
    a, b, *_ = two(F.curvature)
    zero = Fraction(0)
    sides = ((Fraction(1), zero, *third), (zero, Fraction(1), *third))
    bends = tuple(
        (w, sides[p], two(F.centre)[p], two(F.width)[p])
        for p, w in enumerate(two(F.bend))
        if w
    )
    m = Fraction(F.mixed.reshape(-1)[0])
    rows: tuple[export.Vector, ...] = ((a, m, *third), (m, b, *third))
    if third:
        rows = (*rows, (zero, zero, Fraction(F.rest.reshape(-1)[0])))
    return rows, two(F.linear), bends


def _term(row: dict[str, float], r: k.RoundFamily, power: int) -> Ratio:
    base = 1 + ratio(Fraction(row[f"g.{r}"])) * k.symbol(k.ROUND)
    a = ratio(Fraction(row[f"a.{r}"]))
    return a / base**-power if power < 0 else a * base**power


def _closed(crowd: Crowd, index: k.BoundNat | k.Argument, number: Ratio) -> Ratio:
    """Return a rate that a condition decides, as a function of the round."""
    by: dict[Any, Any] = {index: k.symbol(k.ROUND)}
    by |= {v: ratio(value) for v, value in crowd.wholes.items()}
    by |= {v: ratio(Fraction(a[0, 0])) for v, a in crowd.numbers.items()}
    return k.number_at(number, by)
