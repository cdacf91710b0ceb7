"""Neighbours that follow from a proved statement: by the kernel's rules, or not at all.

A neighbour may be true: where the original is not sharp, where a sharper statement of
the same left side is proved elsewhere in the ledger, where the change made it weaker.
What is added to a proved form has to be a square, a value above the least one, or a
number that is >= 0 by sorts or by the neighbour's own conditions; hypotheses that the
neighbour has relaxed are derived from those that it has.
"""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as r
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, ratio
from sfl_theory.mutation.changes import Neighbour

Theorem = r.Theorem


def derived(one: Neighbour, known: Iterable[Theorem]) -> Theorem | None:
    """Return a theorem that is the neighbour, made from one of those known, or None."""
    numbers = [x for x in one.hypotheses if isinstance(x, h.Holds)]
    signs = tuple(r.assume(x.form) for x in numbers if not x.form.expects)
    target = one.right - one.left
    for theorem in known:
        try:
            start = _under(theorem, one, signs)
            if start is None:
                continue
            if not target - start.form:
                return start
            if one.whole.equal:
                continue
            return _with_more(start, target, signs, one)
        except Rejected:
            continue
    return None


def _under(
    theorem: Theorem, one: Neighbour, signs: tuple[Theorem, ...]
) -> Theorem | None:
    """Return the theorem under the neighbour's hypotheses, if they imply its own."""
    missing = [
        x if isinstance(x, h.Holds) and not x.form.expects else None
        for x in theorem.hypotheses - one.hypotheses
    ]
    if None in missing:
        return None
    for assumed in filter(None, missing):
        lemma = _lemma(assumed.form, signs)
        if lemma is None:
            return None
        theorem = r.cut(theorem, lemma)
    return theorem


def _lemma(form: k.Lin, signs: tuple[Theorem, ...]) -> Theorem | None:
    """Return that a number is >= 0: a multiple of a sign, and more."""
    tries: list[tuple[tuple[Theorem, Ratio], ...]] = [()]
    wanted = k.number_of(form)
    for sign in signs:
        had = k.number_of(sign.form)
        factors = {Fraction(1)}
        below = dict(had.numerator.coefficients)
        if wanted.denominator == had.denominator:
            for monomial, value in wanted.numerator.coefficients.items():
                had_value = Fraction(below.get(monomial, 0))
                if had_value and value / had_value > 0:
                    factors.add(value / had_value)
        tries += [((sign, ratio(factor)),) for factor in sorted(factors)]
    for uses in tries:
        try:
            return r.combine(uses, (), form, ())
        except Rejected:
            continue
    return None


def _with_more(
    theorem: Theorem, target: k.Lin, signs: tuple[Theorem, ...], one: Neighbour
) -> Theorem | None:
    """Return target >= 0 from a theorem, by adding what is not negative."""
    rest = dict((target - theorem.form).coefficients)
    rest.pop(k.UNIT, None)
    uses = [(theorem, ratio(1))]
    squares: list[tuple[k.Vec, Ratio]] = []
    for atom, c in list(rest.items()):
        if isinstance(atom, k.Value) and not _best(atom):
            best = k.Value(atom.function, k.vec(k.Star(atom.function)))
            if h.Minimiser(atom.function) in one.hypotheses and best in rest:
                uses.append((r.lowest(atom.function, atom.at), c))
                continue
        if isinstance(atom, k.Value):
            continue
        if isinstance(atom, k.Inner) and atom.left is atom.right:
            squares.append((k.vec(atom.left), c))
            continue
        uses.append((_square(atom), c))
    return r.combine(tuple(uses), tuple(squares), target, signs)


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
    v, inside = atom.opened()
    ((body, of),) = inside.coefficients.items()
    return r.sum_over(_square(body), atom.binder, v, of, ())
