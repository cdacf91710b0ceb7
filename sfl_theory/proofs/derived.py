"""Lemmas like rules: what hypotheses say, telescoping sums, order, means, noises."""

from __future__ import annotations

from functools import cache
from math import prod
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly, Ratio, Symbol, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.notation import (
    Use,
    combine,
    inverse_q,
    mean,
    nat,
    of,
    steps,
    sum_over,
)

ONE = ratio(1)


def settled(theorem: Theorem) -> Theorem:
    """Return a theorem without hypotheses that numbers >= 0 are >= 0."""
    forms = [one.form for one in theorem.hypotheses if isinstance(one, h.Holds)]
    for form in forms:
        if not form.expects and k.number_of(form).nonnegative():
            theorem = rules.cut(theorem, combine(target=form))
    return theorem


def majorant(F: k.Function, S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``F(q) <= F(p) + <grad F(p), q - p> + S/2 ||q - p||^2``, F majorised."""
    return rules.given(h.Majorised(F, S), (p, q))


def lipschitz(F: k.Function, S: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``||grad F(p) - grad F(q)||^2 <= S^2 ||p - q||^2``, F smooth."""
    return rules.given(h.Smooth(F, S), (p, q))


def convex(F: k.Function, mu: Ratio, p: k.Vec, q: k.Vec) -> Theorem:
    """Return ``F(q) >= F(p) + <grad F(p), q - p> + mu/2 ||q - p||^2``, F convex."""
    return rules.given(h.Convex(F, mu), (p, q))


def lowest(F: k.Function, p: k.Vec) -> Theorem:
    """Return ``F(p) >= F(F*)``."""
    return rules.given(h.Minimiser(F), (p,))


def heterogeneity(eps2: Ratio, n: k.Client, p: k.Vec) -> Theorem:
    """Return ``||grad F_n(p) - grad f(p)||^2 <= eps2``."""
    return rules.given(h.Heterogeneity(eps2), (n, p))


def bounded_gradient(
    run: k.Split, G2: Ratio, n: k.Client, t: Ratio, i: Ratio
) -> Theorem:
    """Return ``||g(n,t,i)||^2 <= G2`` for a step that is made."""
    return rules.given(h.BoundedGradients(run, G2), (n, t, i))


def variance(run: k.Split, bound: Ratio, n: k.Client, t: Ratio, i: Ratio) -> Theorem:
    """Return ``||xi(n,t,i)||^2 <= bound`` for a step that is made."""
    return rules.given(h.Variance(run, n, bound), (t, i))


def local_update(
    run: k.Split, n: k.Client, t: Ratio, i: Ratio, side: k.Side, w: k.Vec
) -> Theorem:
    """Return what a side has moved at step i, while it steps."""
    return rules.local_update(run, n, t, i, side, False, w)


def resting(
    run: k.Split, n: k.Client, t: Ratio, i: Ratio, side: k.Side, w: k.Vec
) -> Theorem:
    """Return what a side has moved at step i, when it has made its steps."""
    return rules.local_update(run, n, t, i, side, True, w)


def unbiased(run: k.Split, n: k.Client, t: Ratio, i: Ratio, u: k.Vec) -> Theorem:
    """Return ``<xi(n,t,i), u> = 0`` for u fixed by what comes before the noise."""
    return rules.unbiased(run, n, t, i, u, ())


def unbiased_after(
    run: k.Split, n: k.Client, t: Ratio, i: Ratio, m: k.Client, j: Ratio, u: k.Vec
) -> Theorem:
    """Return ``Before <xi(n,t,i), u> = 0`` for u fixed by the visits up to (m, j)."""
    return rules.unbiased(run, n, t, i, u, ((m, j),))


@cache
def telescope(v: k.Var, form: k.Lin, upper: Ratio) -> Theorem:
    """Return ``sum_{v<u} (e(v + 1) - e(v)) = e(u) - e(0)``.

    The sum of e over v <= u is split after its first term and before its last.
    """
    first, last = (
        rules.split(v, form, *parts) for parts in ((ONE, upper), (upper, ONE))
    )
    return combine((first, -1), last)


def before_or_not(m: k.Client, j: Ratio, n: k.Client, i: Ratio, t: Ratio) -> Theorem:
    """Return ``b - b^2 = 0`` for ``b = Before(m,j;n,i)``."""
    return rules.ordered(m, j, n, i, t, ratio(0))


@cache
def not_both(m: k.Client, j: Ratio, n: k.Client, i: Ratio, t: Ratio) -> Theorem:
    """Return ``1 - s >= 0`` for ``s = Before(m,j;n,i) + Before(n,i;m,j)``.

    ``1 - s = (1 - s)^2 + s - s^2``, and s is 0 or 1 as both orders exclude each other.
    """
    one, other = rules.ordered(m, j, n, i, t, ONE), rules.ordered(n, i, m, j, t, ONE)
    s = k.before(m, j, n, i, t) + k.before(n, i, m, j, t)
    return combine(one, other, rules.square(1 - s), target=k.constant(1 - s))


def expect(run: k.Split, t: Ratio, form: k.Lin) -> Theorem:
    """Return ``form = the same form, averaged over the draws J_n(t) of round t``.

    ``J_n^k`` becomes ``(1/q_n)^(k-1)``, and a product of two sums over clients with
    draws the product of their means + ``sum_n c_n u_n v_n`` with ``c_n = E J_n^(k+l) -
    E J_n^k E J_n^l``; likewise more than two sums of numbers.

    Raises:
        ValueError: draws are left: of other rounds, of two clients, of three sums of
            which one is of vectors.
    """
    uses: list[Use] = []
    for atom, c in form.coefficients.items():
        for value, powers in c.numerator.products:
            random = {s: power for s, power in powers.items() if k.CHANCE in s.free}
            other = {s: power for s, power in powers.items() if s not in random}
            if random or k.CHANCE in atom.free:
                number = Ratio(Poly.product(value, other), c.denominator)
                uses.append((_mean(run, t, random, atom), number))
    found = combine(*uses)
    if k.CHANCE in (form - found.form).free:
        raise ValueError(f"no mean of {form}")
    return found


def _mean(run: k.Split, t: Ratio, random: dict[Symbol, int], atom: Any) -> Theorem:
    """Return a product of powers of random symbols and an atom, minus its mean, = 0."""
    n, m = (k.Client(_new(name, run, t, atom, *random)) for name in ("n", "m"))
    if not random and isinstance(atom, k.LinSum) and k.CHANCE not in atom.weight.free:
        v = n if atom.binder is k.CLIENTS else nat(_new("i", run, t, atom))
        inside = k.renamed(atom.inside(), atom.variable, v)
        ((body, of),) = inside.coefficients.items()
        return sum_over(_mean(run, t, {}, body), atom.binder, v, of)
    sums: list[Any] = [s for s, times in random.items() for _ in range(times)]
    if isinstance(sums[0] if sums else None, k.Draw):
        return _one(run, sums[0].client, t, len(sums), k.lifted(atom))
    if isinstance(atom, k.Inner) and not sums:
        return _inner(run, t, atom, n, m)
    sums += [atom] if k.CHANCE in atom.free else []
    if len(sums) > 2 and k.CHANCE not in atom.free:
        return _several(run, t, sums, k.lifted(atom))
    rest, power, body = _of_client(run, t, sums[-1], n)
    e = k.lifted(body if k.CHANCE in atom.free else atom)
    if len(sums) == 1:
        return sum_over(_one(run, n, t, power, e), k.CLIENTS, n, rest)
    own, times, _ = _of_client(run, t, sums[0], m)
    return sum_over(_two(run, m, times, n, power, t, e * rest), k.CLIENTS, m, own)


def _inner(run: k.Split, t: Ratio, atom: k.Inner, n: k.Client, m: k.Client) -> Theorem:
    """Return ``<u, v>`` of one or two sums over clients with draws, minus its mean."""
    left, right = atom.left, atom.right
    if k.CHANCE not in left.free:
        left, right = right, left
    a, power, u = _of_client(run, t, left, n)
    J, q = k.draw(run, n, t), inverse_q(n)
    had, has, one = a * J**power, a * q ** (power - 1), k.vec(u)

    def apart(whole: k.Vec, factor: Ratio) -> Theorem:
        return rules.linear(k.CLIENTS, n, one * factor, whole)

    if k.CHANCE not in right.free:
        whole = k.vec(right)
        mean = sum_over(_one(run, n, t, power, k.inner(one, whole)), k.CLIENTS, n, a)
        return combine(apart(whole, had), mean, (apart(whole, has), -1))
    b, times, v = _of_client(run, t, right, m)
    other = k.vec(v)
    fixed = other * (b * inverse_q(m) ** (times - 1))
    drawn = other * (b * k.draw(run, m, t) ** times)
    e = k.inner(one, other) * b
    mean = sum_over(_two(run, n, power, m, times, t, e), k.CLIENTS, n, a)
    uses: list[Use] = [mean]
    for each, factor, sign in ((drawn, had, 1), (fixed, has, -1)):
        inside = rules.linear(k.CLIENTS, m, each, one)
        uses += [
            (apart(k.summed(k.CLIENTS, m, each), factor), sign),
            (sum_over(inside, k.CLIENTS, n, factor), sign),
        ]
    return combine(*uses)


def _of_client(
    run: k.Split, t: Ratio, one: object, v: k.Client
) -> tuple[Ratio, int, Any]:
    """Return client v's factor without draws, J's power, and what is summed.

    Raises:
        ValueError: it is no sum over clients.
    """
    if not isinstance(one, k.WeightedSum):
        raise ValueError(f"{one} is no sum over clients")
    inside = k.renamed(one.inside(), one.variable, v)
    ((atom, weight),) = inside.coefficients.items()
    ((value, powers),) = weight.poly().products
    J = k.Draw(run, v, k.natural(t))
    rest = {s: power for s, power in powers.items() if s is not J}
    return ratio(Poly.product(value, rest)), powers[J], atom


def _new(name: str, *terms: Any) -> str:
    """Return the name with as many underscores as make it new among some terms."""
    used = {getattr(v, "name", None) for one in terms for v in one.free}
    while name in used:
        name += "_"
    return name


def _one(run: k.Split, n: k.Client, t: Ratio, power: int, e: k.Lin) -> Theorem:
    """Return ``J_n^k e = (1/q_n)^(k-1) e``."""
    last = (rules.expect(run, n, t, e, ()), inverse_q(n) ** (power - 1))
    return combine(last, *_lowered(run, n, t, power, e))


def _lowered(
    run: k.Split, n: k.Client, t: Ratio, power: int, e: k.Lin
) -> list[tuple[Theorem, Ratio]]:
    """Return what adds up to ``J_n^k e - (1/q_n)^(k-1) J_n e = 0``."""
    J, q = k.draw(run, n, t), inverse_q(n)
    return [
        (rules.drawn(run, n, t, e * J ** (power - 2 - s)), -(q**s))
        for s in range(power - 1)
    ]


def _two(
    run: k.Split, n: k.Client, power: int, m: k.Client, times: int, t: Ratio, e: k.Lin
) -> Theorem:
    """Return the mean of ``J_n^k sum_m J_m^l e(m)``, subtracted, = 0."""
    J, K = k.draw(run, n, t), k.draw(run, m, t)
    plain = e * inverse_q(m) ** (times - 1)
    own, c = k.lin_at(plain, {m: n}), inverse_q(n) ** (power - 1)
    uses: list[Use] = [
        (rules.expect(run, n, t, plain, (m,)), c),
        (rules.drawn(run, n, t, own), -c),
        (rules.expect(run, n, t, own, ()), c * inverse_q(n)),
    ]
    for one, by in _lowered(run, n, t, power, plain * K):
        uses.append((sum_over(one, k.CLIENTS, m), by))
    for one, by in _lowered(run, m, t, times, e):
        uses.append((sum_over(one, k.CLIENTS, m, by * J**power), 1))
    return combine(*uses)


def _several(run: k.Split, t: Ratio, sums: list[Any], e: k.Lin) -> Theorem:
    """Return a product of sums over clients and e, minus its mean, = 0.

    Over different clients the mean of a product of draws is 1; where clients are equal,
    fewer sums are left.
    """
    names = (_new(f"n{place}", run, t, e, *sums) for place in range(len(sums)))
    clients, factors = [k.Client(name) for name in names], list[Ratio]()
    left, uses = [k.symbol(one) for one in sums], list[Use]()
    for place, (one, v) in enumerate(zip(sums, clients, strict=True)):
        own, power, _ = _of_client(run, t, one, v)
        others = prod(left[:place] + left[place + 1 :], start=ONE)
        for lower, c in _lowered(run, v, t, power, e):
            uses.append((sum_over(lower, k.CLIENTS, v, own * c), others))
        factors.append(own * inverse_q(v) ** (power - 1))
        left[place] = mean(v, factors[-1] * k.draw(run, v, t))
    first, *rest = clients
    body = e * prod(factors[1:], start=ONE)
    apart = rules.expect(run, first, t, body, tuple(rest))
    each = sum_over(apart, k.CLIENTS, first, factors[0])
    fewer = expect(run, t, e * prod(left, start=ONE) - each.form)
    return combine(*uses, each, fewer)


# Sums of noises have the sum of their squares -----------------------------------------

j, m = nat("earlier"), k.Client("other")


def _noise(run: k.Split, n: k.Client, t: Ratio, i: Ratio, side: k.Side | None) -> k.Vec:
    xi = k.noise(run, n, t, i)
    return xi if side is None else k.part(side, xi)


@cache
def _one_step(
    run: k.Split, n: k.Client, i: k.Var, factor: Ratio, t: Ratio, side: k.Side | None
) -> Theorem:
    """Return what step i adds to ``sum w^2 ||xi||^2 - ||sum w xi||^2``: 0."""
    own = _noise(run, n, t, of(i), side) * factor
    each = k.vec_at(own, {i: of(j)})
    after, before = (k.summed(steps(end), j, each) for end in (of(i) + 1, of(i)))
    both = after + before + own
    return combine(
        (rules.linear(steps(of(i) + 1), j, each, both), -1),
        rules.linear(steps(of(i)), j, each, both),
        (rules.split(j, k.inner(each, both), of(i), ratio(1)), -1),
        (unbiased(run, n, t, of(i), before), -2 * factor),
    )


@cache
def _one_client(
    run: k.Split,
    n: k.Client,
    i: k.Var,
    factor: Ratio,
    t: Ratio,
    upper: Ratio,
    side: k.Side | None,
) -> Theorem:
    """Return ``sum_{i<u} w^2 ||xi||^2 - ||sum_{i<u} w xi||^2 = 0``."""
    own = _noise(run, n, t, of(j), side) * k.number_at(factor, {i: of(j)})
    before = k.summed(steps(of(i)), j, own)
    return combine(
        sum_over(_one_step(run, n, i, factor, t, side), steps(upper), i),
        telescope(i, k.norm2(before), upper),
    )


def martingale(
    run: k.Split, n: k.Client, t: Ratio, upper: Ratio, side: k.Side | None
) -> Theorem:
    """Return ``||sum_{i<u} xi(n,t,i)||^2 = sum_{i<u} ||xi(n,t,i)||^2``, or a block."""
    return _one_client(run, n, nat("step"), ratio(1), t, upper, side)


@cache
def independent(
    run: k.Split,
    n: k.Client,
    i: k.Var,
    factor: Ratio,
    t: Ratio,
    upper: Ratio,
    side: k.Side | None,
) -> Theorem:
    """Return ``sum_n sum_{i<u} w^2 ||xi||^2 - ||sum_n sum_{i<u} w xi||^2 = 0``."""
    own = _noise(run, n, t, of(i), side) * factor
    mine = k.summed(steps(upper), i, own)
    whole = k.summed(k.CLIENTS, n, mine)
    away = rules.unbiased_across(run, n, t, of(i), m, k.vec_at(mine, {n: m}))
    apart = combine(
        sum_over(away, steps(upper), i, factor),
        rules.linear(steps(upper), i, own, whole - mine),
    )
    one = _one_client(run, n, i, factor, t, upper, side)
    return combine(
        sum_over(one, k.CLIENTS, n),
        (sum_over(apart, k.CLIENTS, n), -1),
        (rules.linear(k.CLIENTS, n, mine, whole), -1),
    )


def of_steps(
    run: k.Split,
    n: k.Client,
    t: Ratio,
    last: Ratio,
    first: Ratio,
    side: k.Side | None = None,
) -> Theorem:
    """Return ``<sum_n a_n xi(n,t,last), sum_n a_n xi(n,t,first)> = 0``, or a block.

    Of one and the same step it is ``sum_n a_n^2 ||xi(n,t,last)||^2``.
    """
    one, other = (_noise(run, n, t, at, side) for at in (last, first))
    whole = k.summed(k.CLIENTS, n, other * k.weight(n))
    each = k.vec_at(other, {n: m}) * k.weight(m)
    away = rules.unbiased_across(run, n, t, last, m, each)
    if first != last:
        fixed = unbiased(run, n, t, last, other)
        away = combine(away, (fixed, k.weight(n)))
    return combine(
        sum_over(away, k.CLIENTS, n, k.weight(n)),
        rules.linear(k.CLIENTS, n, one * k.weight(n), whole),
    )
