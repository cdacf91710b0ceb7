"""Frames of crowds, drawn for a statement: all but the numbers."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from math import log2

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Rejected, Sort, ratio
from sfl_theory.mutation import building
from sfl_theory.mutation.building import Frame, Tie
from sfl_theory.mutation.deciding import BOUNDED, numeric, ties_of
from sfl_theory.mutation.following import FARTHEST, followed, limit, short_enough
from sfl_theory.mutation.reading import Read, opened
from sfl_theory.mutation.recurring import recurring

DRAWS = (5, 5, 5, 7)
"""Draws of a model, and of a few models."""
LARGEST = 10**6
"""A number of rounds where no round is played and nothing is summed over them."""
LONG_RUNS = 0.5
"""How often a run is long where moments may be followed, or nothing is played."""
RESTS = 0.4
"""How often a third coordinate rests."""
CROWDED = 0.25
"""How often clients are many that are alike, in statements about numbers."""
CLIENTS = 30_000
"""Clients at most: the kernel's sums over them have 200 000 terms together."""
DRAWN_CLIENTS = 2**18
"""Numbers that are drawn are less; above `CLIENTS` it is that one."""
MANY = 3
"""With more clients one of them has noise."""
Card = tuple[str, bool, tuple[int | None, ...]]
"""Bent or not, turned or not, and where the run may start (`Frame.level`)."""
DECK: tuple[Card, ...] = (
    ("bent", False, (None,)),
    ("bent", False, (None,)),
    ("bowl", False, (None,)),
    ("bowl", False, (0, 1, 2, 2)),
    ("bowl", True, (None, None, 2)),
    ("bowl", True, (0,)),
    ("bowl", True, (1,)),
)
"""Kinds of functions and starts; each is drawn before one is drawn again."""


def drawn_frame(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    dropped: frozenset[h.Hypothesis],
    rng: random.Random,
    card: Card | None = None,
) -> Frame | None:
    """Return a frame for a neighbour, or None where the dice fell badly.

    Args:
        read: what the statement speaks of.
        assumed: what has to hold.
        dropped: what may fail.
        rng: decides.
        card: what functions and start are like; None: drawn, too.
    """
    look, turn, levels = card or rng.choice(DECK)
    strong = any(
        isinstance(body, h.Convex) and bool(body.modulus.numerator.parts)
        for body in map(opened, assumed)
    )
    if strong and look == "bent":
        look, turn, levels = "bowl", True, (None,)
    kinds = {type(opened(one)) for one in assumed}
    gone = {type(opened(one)) for one in dropped}
    clients = rng.choice(
        [1, 1, 1, 2, 2, 2, 3, 3, 12] if h.Heterogeneity not in gone else [2, 3]
    )
    copies = 1
    if read.numbers and rng.random() < CROWDED:
        drawn_size = int(2 ** rng.uniform(1, log2(DRAWN_CLIENTS)))
        copies = max(min(drawn_size, CLIENTS) // clients, 1)
    wholes = _wholes(read, assumed, clients * copies, rng)
    if wholes is None:
        return None
    level = rng.choice(levels)
    if level is not None:
        wholes = _at_rest(read, assumed, wholes, clients, rng)
    solved = solved_of(read, assumed, wholes)
    if solved is None:
        return None
    made, rounds = length(read, wholes, clients)
    alone = not read.splits and any(isinstance(one, k.Odds) for one in read.inside)
    random_ = alone or any(run.drawn for run in read.splits)
    drawn = [random_ and n < 2 and rng.random() < 0.7 for n in range(clients)]
    many = rng.choice(DRAWS)
    if sum(drawn) * rounds > many and not limit(read, assumed):
        drawn = [False] * clients
    law = "coin" if h.Unbiased not in gone or rng.random() < 0.2 else "biased"
    needed = bool(gone & {h.Variance, h.Unbiased})
    noisy = bool(read.splits) and (needed or rng.random() < 0.7)
    noise = [law if noisy and rng.random() < 0.8 else "still" for _ in range(clients)]
    if clients > MANY:
        noise[1:] = ["still"] * (clients - 1)
    far = followed(read, assumed, rounds, made, noise, drawn)
    if far is None and rounds > 2:
        noise[1:] = ["still" for _ in noise[1:]]
        far = followed(read, assumed, rounds, made, noise, drawn)
    if far is None:
        if needed:
            return None
        noise = ["still" if one == "coin" else one for one in noise]
        drawn = [one and rounds * clients <= many for one in drawn]
        far = followed(read, assumed, rounds, made, noise, drawn)
    quiet = "coin" not in noise and not any(drawn)
    shape = _shape(kinds, look, strong or (bool(far) and not quiet), rng)
    convex = h.Convex in kinds or h.Minimiser in kinds
    turned = shape != "bent" and turn and (quiet or not far)
    ties = ties_of(read, assumed, dropped, rng)
    pushed, loose = pushed_of(read, assumed, ties)
    frame = Frame(
        clients=clients,
        wholes=tuple(wholes.items()),
        order=order_of(read, made, clients, rng),
        rounds=rounds,
        shape=shape,
        noise=tuple(noise),
        drawn=tuple(drawn),
        same=h.Heterogeneity in kinds or rng.random() < 0.4,
        level=level,
        turned=turned,
        signed=shape == "bowl" and not convex and rng.random() < 0.5,
        powers=tuple((v, rng.choice([0, 0, 0, -1, -2, 1, 8])) for v in read.rounds),
        paces=tuple(v for v in read.rounds if any(v in x.free for x in read.splits)),
        solved=solved,
        ties=ties,
        pushed=pushed,
        loose=loose,
        steps=made,
        rest=shape != "bent" and rng.random() < RESTS,
        far=bool(far) and shape != "bent",
        strong=strong,
        copies=copies,
    )
    return named(frame, read) if short_enough(frame) else None


def named(frame: Frame, read: Read) -> Frame:
    """Return a frame that names its genes."""
    return replace(frame, genes=building.genes_of(frame, read))


def pushed_of(
    read: Read, assumed: frozenset[h.Hypothesis], ties: tuple[Tie, ...]
) -> tuple[tuple[h.Hypothesis, ...], tuple[k.Var | k.RoundFamily, ...]]:
    """Return the conditions on parameters, and which of these may be pushed to them."""
    tied = {v for _, v, _ in ties}
    pushed = tuple(one for one in sorted(assumed, key=str) if numeric(one))
    loose = {
        v
        for one in pushed
        for v in one.free
        if isinstance(v, k.RoundFamily) or (v in read.reals and v not in tied)
    }
    return pushed, tuple(sorted(loose, key=str))


def other_size(
    frame: Frame,
    read: Read,
    assumed: frozenset[h.Hypothesis],
    rng: random.Random,
) -> Frame | None:
    """Return a frame with more or fewer rounds, steps or clients, or None."""
    sizes: list[k.Var | None] = [*(far_of(read) or dict(frame.wholes))]
    sizes += [None] * (frame.copies > 1)
    if not sizes:
        return None
    v = rng.choice(sizes)
    n = frame.size(v)
    size = rng.choice([2 * n, 4 * n, n + 1, n // 2])
    return resized(frame, read, assumed, v, size, rng)


def resized(
    frame: Frame,
    read: Read,
    assumed: frozenset[h.Hypothesis],
    v: k.Var | None,
    size: int,
    rng: random.Random,
) -> Frame | None:
    """Return a frame with another number of rounds or steps, the same genes, or None.

    Of these `v` is what is changed, None: how many clients are alike. Visits are
    ordered anew if there are others.
    """
    wholes, copies = dict(frame.wholes), frame.copies
    if v is None:
        copies = min(max(size, 1), CLIENTS // frame.clients)
    else:
        wholes[v] = max(size, int(v.sort is Sort.COUNT))
    clients = frame.clients * copies
    alone = alone_of(read, assumed)
    solved = solved_of(read, assumed, wholes)
    if solved is None or any(most_of(x, read, wholes, clients) < 0 for x in alone):
        return None
    made, rounds = length(read, wholes, frame.clients)
    far = followed(read, assumed, rounds, made, frame.noise, frame.drawn)
    quiet = "coin" not in frame.noise and not any(frame.drawn)
    if far is None or (far and not quiet and (frame.turned or frame.shape == "bent")):
        return None
    other = replace(
        frame,
        wholes=tuple(wholes.items()),
        copies=copies,
        order=frame.order
        if made == frame.steps
        else order_of(read, made, frame.clients, rng),
        rounds=rounds,
        steps=made,
        solved=solved,
        far=far and frame.shape != "bent",
    )
    return other if short_enough(other) else None


def length(read: Read, wholes: dict[k.Var, int], clients: int) -> tuple[int, int]:
    """Return the local steps of a round, and the rounds that a statement needs."""
    steps = [
        most_of(run.steps(side), read, wholes, clients)
        for run in read.splits
        for side in k.Side
    ]
    rounds = max((_last(one, read, wholes, clients) for one in read.inside), default=0)
    return max(steps, default=0), rounds


def order_of(
    read: Read, made: int, clients: int, rng: random.Random
) -> tuple[tuple[int, int], ...]:
    """Return an order of SFL-V2's visits, each client's steps one after another."""
    if not any(run.kind.visits for run in read.splits):
        return ()
    places = [n for n in range(clients) for _ in range(made)]
    rng.shuffle(places)
    return tuple((n, places[:at].count(n)) for at, n in enumerate(places))


def solved_of(
    read: Read, assumed: frozenset[h.Hypothesis], wholes: dict[k.Var, int]
) -> tuple[tuple[k.RoundFamily, k.BoundNat | k.Argument, Ratio], ...] | None:
    """Return the families that conditions in both directions decide, as functions.

    Of ``r + s u(i) = 0`` for all i < T the rate is ``-r/s``, a function of i; for those
    that are said step by step see `recurring`. None if a condition asks for another
    function.
    """
    decided = _decided(assumed)
    found: dict[
        k.RoundFamily, tuple[k.RoundFamily, k.BoundNat | k.Argument, Ratio]
    ] = {}
    for symbol, index, number in decided:
        places = [_index(symbol.round, wholes, index, t) for t in (0, 1, 2)]
        if number is not None and places == [0, 1, 2]:
            found.setdefault(symbol.family, (symbol.family, index, number))
    asked = {symbol.family for symbol, _, _ in decided}
    for family, body in recurring(assumed, wholes).items():
        found.setdefault(family, (family, k.ROUND, body))
    asked |= found.keys()
    return tuple(found.values()) if len(found) == len(asked) else None


@lru_cache(maxsize=256)
def _decided(
    assumed: frozenset[h.Hypothesis],
) -> tuple[tuple[k.PerRound, k.BoundNat, Ratio | None], ...]:
    """Return rates that conditions decide, their indices, and what they are."""
    numbers: set[tuple[k.BoundNat, Ratio]] = set()
    for one in assumed:
        index, body = None, one
        while isinstance(body, h.Every):
            index, body = body.variable, body.body
        if isinstance(index, k.BoundNat) and isinstance(body, h.Holds):
            numbers |= {(index, k.number_of(body.form))} if numeric(body) else set()
    found: list[tuple[k.PerRound, k.BoundNat, Ratio | None]] = []
    for index, number in sorted(numbers, key=str):
        own = [s for s in number.numerator.parts if isinstance(s, k.PerRound)]
        if (index, -number) not in numbers or len(own) != 1:
            continue
        (symbol,) = own
        with_, without = ratio(0), ratio(0)
        for c, powers in number.numerator.products:
            term = ratio(c)
            for s, power in powers.items():
                if s is not symbol:
                    term = term * k.symbol(s) ** power
            if powers.get(symbol, 0) > 1:
                break
            if symbol in powers:
                with_ = with_ + term
            else:
                without = without + term
        rate = None
        if with_:
            with suppress(Rejected):
                rate = -without / with_
        found.append((symbol, index, rate))
    return tuple(found)


def _index(value: Poly, wholes: dict[k.Var, int], index: object, t: int) -> int | None:
    out = Fraction(0)
    for c, powers in value.products:
        for s, power in powers.items():
            if s is not index and s not in wholes:
                return None
            c *= (t if s is index else wholes[s]) ** power  # type: ignore[index]
        out += c
    return int(out)


def _shape(
    kinds: set[type[h.Hypothesis]], look: str, plain: bool, rng: random.Random
) -> str:
    if kinds & BOUNDED:
        return "box" if plain or rng.random() < 0.5 else "bent"
    return "bowl" if plain else look


def _wholes(
    read: Read, assumed: frozenset[h.Hypothesis], clients: int, rng: random.Random
) -> dict[k.Var, int] | None:
    """Return naturals that meet the conditions on them alone."""
    alone = alone_of(read, assumed)
    most = limit(read, assumed) if read.many else 0
    played = any(isinstance(one, k.Split | k.Descent) for one in read.inside)
    long = rng.random() < (LONG_RUNS if most or read.numbers else 0.12)
    some = [0, 0, 1, 1, 2] if played else [0, 0, 1, 2, 5, 20]
    for _ in range(20):
        out = {
            v: rng.choice(some) + (1 if v.sort is Sort.COUNT else rng.choice([0, 1]))
            for v in read.wholes
        }
        far = far_of(read) if played else list(out)
        out |= {v: rng.choice([1, 1, 2, 2, 3, 4, 5]) for v in far if played}
        near = [v for v in read.wholes if v not in far and v.sort is Sort.COUNT]
        if played and near and rng.random() < 0.15:
            out[rng.choice(near)] = rng.choice([4, 8, 32] if most else [4, 8])
        if long and far:
            summed = any(isinstance(one, k.Steps) for one in read.inside)
            if played or summed:
                more = [60, 100] if played else [300]
                out[rng.choice(far)] = rng.choice([4, 10, 30, *more])
            else:
                out[rng.choice(far)] = int(2 ** rng.uniform(4, log2(LARGEST)))
            if most:
                out[rng.choice(far)] = int(2 ** rng.uniform(4, log2(FARTHEST)))
        if all(most_of(one, read, out, clients) >= 0 for one in alone):
            return out
    return None


def _at_rest(
    read: Read,
    assumed: frozenset[h.Hypothesis],
    wholes: dict[k.Var, int],
    clients: int,
    rng: random.Random,
) -> dict[k.Var, int]:
    """Return naturals for a run that starts at rest in a block, if they may be these.

    The round is 0, for of later ones the start says little, and often there is a second
    step, for the first one leaves the block where it is.
    """
    places = {v for one in read.inside if isinstance(one, k.Iterate) for v in one.free}
    places = set() if read.many else places
    first = {v: 0 for v in wholes if v in places and v.sort is not Sort.COUNT}
    steps = {v for run in read.splits for side in k.Side for v in run.pace(side).free}
    more = {
        v: max(n, 2) for v, n in wholes.items() if v in steps and rng.random() < 0.7
    }
    alone = alone_of(read, assumed)
    for other in (wholes | first | more, wholes | first):
        if all(most_of(x, read, other, clients) >= 0 for x in alone):
            return other
    return wholes


def alone_of(read: Read, assumed: frozenset[h.Hypothesis]) -> list[Poly]:
    """Return the conditions on naturals alone."""
    return [
        one.form.coefficients[k.UNIT].numerator
        for one in assumed
        if isinstance(one, h.Holds)
        and not one.form.expects
        and one.free <= {*read.wholes}
        and k.UNIT in one.form.coefficients
    ]


def far_of(read: Read) -> list[k.Var]:
    """Return the numbers of all rounds, which may be large."""
    paces = {v for run in read.splits for side in k.Side for v in run.pace(side).free}
    places: list[k.Term] = [one for one in read.inside if isinstance(one, k.Iterate)]
    if any(isinstance(v, k.BoundNat) for one in places for v in one.free):
        places += [one for one in read.inside if isinstance(one, k.Steps)]
    rounds = {v for one in places for v in one.free}
    far = [v for v in read.wholes if v in rounds and v not in paces]
    return [v for v in far if v.sort is Sort.COUNT] or (far if read.many else [])


def most_of(value: Poly, read: Read, wholes: dict[k.Var, int], clients: int) -> int:
    """Return an index, where bound steps have their largest values."""
    out = Fraction(0)
    for c, powers in value.products:
        for s, power in powers.items():
            one = 0
            if isinstance(s, k.Var):
                one = wholes.get(s, 0)
            elif isinstance(s, k.Total):
                one = clients
            elif isinstance(s, k.BoundNat):
                uppers = (
                    most_of(b.binder.upper, read, wholes, clients) - 1
                    for b in read.inside
                    if isinstance(b, k.Closed)
                    and isinstance(b.binder, k.Steps)
                    and b.level == s.level
                )
                one = max(uppers, default=0)
            c *= one**power
        out += c
    return int(out)


def _last(one: k.Term, read: Read, wholes: dict[k.Var, int], clients: int) -> int:
    """Return how many rounds a term needs."""
    if isinstance(one, k.Iterate) and isinstance(one.run, k.Split):
        return most_of(one.round, read, wholes, clients)
    if isinstance(one, k.LocalPoint | k.Noise | k.Draw | k.Expected):
        return most_of(one.round, read, wholes, clients) + 1
    return 0
