"""Neighbours that follow from a proved statement: by the kernel's rules, or not at all.

A neighbour may be true: where the original is not sharp, where a sharper statement of
the same left side is proved elsewhere in the ledger, where the change made it weaker.
What is added to a proved form has to be squares, values above the least one and numbers
that are >= 0 by sorts or by the neighbour's own conditions (`positivity`); hypotheses
that the neighbour has relaxed are derived from those that it has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cached_property, lru_cache
from typing import Any, cast

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, ratio
from sfl_theory.mutation import positivity
from sfl_theory.mutation.changes import Neighbour

Theorem = r.Theorem
Rest = dict[k.LinAtom, Ratio]
SUMS = 12
"""Sums of a number about which something is known beside the conditions."""
SHORT = 12
"""Terms of a number of which the kernel is asked even if nothing shows it."""
LONG = 400
"""Terms of a number from which on it is rounded as the derivation says."""
CARRIES = ("cut", "sum_over", "instantiate")
"""Rules whose first argument is a theorem, that may as well be a sharper one."""


class Known:
    """What some conditions say about numbers; what was shown is kept."""

    def __init__(self, hypotheses: frozenset[h.Hypothesis]) -> None:
        self.hypotheses = hypotheses
        numbers = (x for x in hypotheses if isinstance(x, h.Holds))
        self.signs = [r.assume(x.form) for x in numbers if not x.form.expects]
        self._kept: dict[Ratio, Theorem | None] = {}

    @cached_property
    def with_products(self) -> list[Theorem]:
        """Conditions and their products."""
        return positivity.with_products(self.signs)

    def shown(self, c: Ratio) -> Theorem | None:
        """Return that a number is >= 0 under the conditions, or None."""
        if c not in self._kept:
            self._kept[c] = self._shown(c)
        return self._kept[c]

    def _shown(self, c: Ratio) -> Theorem | None:
        """Return that c >= 0; of short numbers the kernel is asked in any case."""
        sums, found = list(self._on_sums(c)), None
        if not positivity.negative(c, [*self.signs, *sums]):
            found = positivity.shown(c, [*self.with_products, *sums])
        short = len(c.numerator.coefficients) <= SHORT
        return self._by_one(c) if found is None and short else found

    def _by_one(self, c: Ratio) -> Theorem | None:
        """Return what the kernel says of c by one condition alone, or None."""
        try:
            return r.combine((), (), k.constant(c), tuple(self.signs))
        except Rejected:
            return None

    def _on_sums(self, c: Ratio) -> Iterator[Theorem]:
        """Yield inequalities between the sums in a number, by the conditions."""
        totals = [s for s in c.numerator.parts if isinstance(s, k.Total)]
        every = [x for x in self.hypotheses if isinstance(x, h.Every)]
        for total in sorted(totals, key=str)[:SUMS]:
            if total.binder is k.CLIENTS:
                yield from _below_one(total)
            for one in every:
                if one.binder == total.binder:
                    yield from _summed(one, total)


Conditions = dict[frozenset[h.Hypothesis], Known]
"""What conditions say: most neighbours of a statement have the same ones."""


class Wanted:
    """A neighbour, and what its conditions say about numbers."""

    def __init__(self, one: Neighbour, seen: Conditions) -> None:
        self.neighbour = one
        self.hypotheses = one.hypotheses
        if one.hypotheses not in seen:
            seen[one.hypotheses] = Known(one.hypotheses)
        self.shown = seen[one.hypotheses].shown

    def beyond(self, form: k.Lin) -> k.Lin:
        """Return the neighbour's right minus left side, minus a form.

        Long terms that all neighbours have are subtracted once for all of them.
        """
        one = self.neighbour
        return _beyond(one.whole.left, one.whole.right, form) + one.more


@lru_cache(maxsize=64)
def _beyond(left: k.Lin, right: k.Lin, form: k.Lin) -> k.Lin:
    return right - left - form


def opened(closed: k.Closed, hint: str) -> tuple[Any, Any]:
    """Return a variable with a name, so that a file can tell it, and the inside."""
    used = {getattr(v, "name", None) for v in closed.free}
    while hint in used:
        hint += "_"
    old, inside = closed.opened()
    if isinstance(old, k.Client):
        return k.Client(hint), k.at(inside, {old: k.Client(hint)})
    v = k.Var(hint, old.sort)
    return v, k.at(inside, {old: k.symbol(v)})


def _opened(total: k.Total) -> tuple[Any, Ratio]:
    v, inside = opened(total, "v")
    return v, k.number_of(inside) if isinstance(inside, k.Lin) else ratio(inside)


@lru_cache(maxsize=10_000)
def _below_one(total: k.Total) -> tuple[Theorem, ...]:
    """Return that a sum over clients is at most that with a weight a_n less."""
    n, inside = _opened(total)
    less = inside.numerator.divided(k.weight(n).numerator)
    if less is None or inside.denominator:
        return ()
    return (r.sum_over(r.weight_below_one(n), k.CLIENTS, n, ratio(less), ()),)


@lru_cache(maxsize=10_000)
def _summed(every: h.Every, total: k.Total) -> tuple[Theorem, ...]:
    """Return what a condition on every step says of a sum, times its summands."""
    (v, weight), (own, body) = _opened(total), opened(every, "w")
    if not isinstance(v, k.Var) or not isinstance(body, h.Holds) or body.form.expects:
        return ()
    sign = r.instantiate(r.assume(body.form), ((own, k.symbol(v)),), ())
    rates = (s for s in weight.numerator.parts if isinstance(s, k.PerRound))
    own_rates = [s for s in map(k.symbol, rates) if weight.numerator.divided(s.poly())]
    out = []
    for factor in (ratio(1), *own_rates):
        try:
            out.append(r.sum_over(sign, total.binder, v, weight / factor, ()))
        except Rejected:
            continue
    return tuple(out)


def derived(
    one: Neighbour, known: Iterable[Theorem], seen: Conditions | None = None
) -> Theorem | None:
    """Return a theorem that is the neighbour, made from one of those known, or None.

    Args:
        one: the neighbour.
        known: what is proved.
        seen: what conditions say, kept from neighbour to neighbour.
    """
    wanted = Wanted(one, {} if seen is None else seen)
    for theorem in known:
        found = _made(wanted, theorem)
        if found is not None:
            return found
    return None


def _made(wanted: Wanted, theorem: Theorem) -> Theorem | None:
    one = wanted.neighbour
    try:
        start = _under(theorem, wanted)
        if start is None:
            return None
        if not wanted.beyond(start.form):
            return start
        if one.whole.equal:
            return None
        start = _under(sharpened(theorem), wanted) or start
        return _with_more(start, wanted)
    except Rejected:
        return None


def _under(theorem: Theorem, wanted: Wanted) -> Theorem | None:
    """Return the theorem under the neighbour's hypotheses, if they imply its own."""
    missing = [
        x if isinstance(x, h.Holds) and not x.form.expects else None
        for x in theorem.hypotheses - wanted.hypotheses
    ]
    if None in missing:
        return None
    for assumed in filter(None, missing):
        lemma = wanted.shown(k.number_of(assumed.form))
        if lemma is None:
            return None
        theorem = r.cut(theorem, lemma)
    return theorem


def _with_more(theorem: Theorem, wanted: Wanted) -> Theorem | None:
    """Return target >= 0 from a theorem, by adding what is not negative."""
    rest: Rest = dict(wanted.beyond(theorem.form).coefficients)
    number = rest.pop(k.UNIT, ratio(0))
    uses = [(theorem, ratio(1))]
    squares: list[tuple[k.Vec, Ratio]] = []
    signs: list[Theorem] = []

    def not_negative(c: Ratio) -> bool:
        if not positivity.negative(c, ()) and positivity.nonnegative(c):
            return True
        sign = wanted.shown(c)
        signs.extend([sign] if sign is not None else [])
        return sign is not None

    if not not_negative(number):
        return None
    for value in [x for x in rest if isinstance(x, k.Value) and not _best(x)]:
        c = rest.pop(value)
        best = k.Value(value.function, k.vec(k.Star(value.function)))
        if h.Minimiser(value.function) not in wanted.hypotheses or not not_negative(c):
            return None
        lowest = r.given(h.Minimiser(value.function), (value.at,))
        uses.append((lowest, c))
        rest[best] = rest.get(best, ratio(0)) + c
    squares += _mixed(rest, not_negative)
    for atom, c in rest.items():
        if not c:
            continue
        if not not_negative(c):
            return None
        if isinstance(atom, k.Inner):
            squares.append((k.vec(atom.left), c))
        else:
            uses.append((_square(atom), c))
    target = wanted.neighbour.right - wanted.neighbour.left
    return r.combine(tuple(uses), tuple(squares), target, tuple(signs))


def _mixed(
    rest: Rest, not_negative: Callable[[Ratio], bool]
) -> list[tuple[k.Vec, Ratio]]:
    """Take inner products of two vectors out of a form, as squares of u + v or u - v.

    Returns:
        The squares and their factors; what they bring with them is in the form.

    Raises:
        Rejected: the sign of a factor is not known.
    """
    out = []
    for atom in [x for x in rest if isinstance(x, k.Inner) and x.left is not x.right]:
        half = rest.pop(atom) / 2
        signs = (sign for sign in (1, -1) if not_negative(half * sign))
        sign = next(signs, None)
        if sign is None:
            raise Rejected(f"{half} has no sign")
        out.append((k.vec(atom.left) + k.vec(atom.right) * sign, half * sign))
        for u in (atom.left, atom.right):
            own = k.Inner(u, u)
            rest[own] = rest.get(own, ratio(0)) - half * sign
    return out


def _best(atom: k.Value) -> bool:
    return atom.at == k.vec(k.Star(atom.function))


def _square(atom: k.LinAtom) -> Theorem:
    """Return that a sum of squares is not negative.

    Raises:
        Rejected: it is none.
    """
    if isinstance(atom, k.Inner) and atom.left is atom.right:
        return r.combine((), ((k.vec(atom.left), ratio(1)),), None, ())
    if not isinstance(atom, k.LinSum):
        raise Rejected(f"{atom} may be negative")
    v, inside = opened(atom, "v")
    ((body, of),) = inside.coefficients.items()
    return r.sum_over(_square(body), atom.binder, v, of, ())


@lru_cache(maxsize=20_000)
def sharpened(theorem: Theorem) -> Theorem:
    """Return a theorem without what its derivation gives away to round numbers up.

    `combine` may name a target that is larger than what was added up, by a number.
    Without targets the same calls prove more; a neighbour may fit in between.

    Args:
        theorem: any.

    Returns:
        What its derivation proves without targets; the same theorem where that is all.
    """
    name, args = theorem.call or ("", ())
    if theorem.equal:
        return theorem
    try:
        if name == "combine":
            uses, squares, _, signs = cast(Any, args)
            uses = tuple((sharpened(one), factor) for one, factor in uses)
            made = r.combine(uses, squares, None, signs)
        elif name in CARRIES:
            first, *rest = args
            made = r.RULES[name].apply(sharpened(first), *rest)
        else:
            return theorem
    except Rejected:
        return theorem
    given = k.number_of(theorem.form - made.form)
    short = len(given.numerator.coefficients) <= LONG
    return made if short and given else theorem
