"""What the assumptions imply: about each other, about f, and about gradients."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    Function,
    Local,
    Vec,
    constant,
    gradient,
    norm2,
    summed,
    weight,
)
from sfl_theory.proofs.local_steps import Round, now
from sfl_theory.proofs.notation import combine, nat, of, per_client, point, sum_over

n, m = Client("n"), Client("m")


def monotone(function: Function, mu: Ratio, x: Vec, y: Vec) -> Theorem:
    """Return ``<grad F(x) - grad F(y), x - y> >= mu ||x - y||^2``."""
    return combine([
        (rules.convex(function, mu, x, y), 1),
        (rules.convex(function, mu, y, x), 1),
    ])


def bounded_and_convex(function: Function, mu: Ratio, G2: Ratio) -> Theorem:
    """Return ``||x - y||^2 <= 4 G2/mu^2`` where ||grad F||^2 <= G2 at both points."""
    x, y = point("x"), point("y")
    at_x, at_y = gradient(function, x), gradient(function, y)
    short = [rules.assume(constant(G2) - norm2(g)) for g in (at_x, at_y)]
    return combine(
        [
            (monotone(function, mu, x, y), 2 / mu),
            (short[0], 2 / mu**2),
            (short[1], 2 / mu**2),
        ],
        [((at_x - at_y) * (1 / mu) - (x - y), 1), (at_x + at_y, 1 / mu**2)],
        target=constant(4 * G2 / mu**2) - norm2(x - y),
    )


def nowhere_far(function: Function, mu: Ratio, G2: Ratio) -> Theorem:
    """Return that two points with ||x - y||^2 >= 4 G2/mu^2 + 1 are a contradiction."""
    x, y = point("x"), point("y")
    far = rules.assume(norm2(x - y) - constant(4 * G2 / mu**2 + 1))
    near = bounded_and_convex(function, mu, G2)
    return combine([(near, 1), (far, 1)], target=constant(-1))


def variance_of_bounded(r: Round, G2: Ratio) -> Theorem:
    """Return ``E||xi(n,t,j)||^2 <= G2`` for unbiased gradients; sum of b_n times it."""
    j = of(nat("j"))
    gp, xi = r.local_gradient(j), r.noise(j)
    fair = rules.unbiased(r.run, n, now, j, gp)
    bound = rules.bounded_gradient(r.run, G2, n, now, j)
    target = constant(G2) - norm2(xi)
    one = combine([(bound, 1), (fair, 2)], [(gp, 1)], target=target)
    return sum_over(one, CLIENTS, n, per_client("b", n))


def divergence_of_bounded(x: Vec, G2: Ratio) -> Theorem:
    """Return ``||grad F_n(x) - grad f(x)||^2 <= 4 G2`` if all gradients are so short.

    Summed with weights b_n.
    """
    each = rules.assume(constant(G2) - norm2(gradient(Local(n), x)))
    own, whole = gradient(Local(n), x), gradient(MEAN, x)
    mean = summed(CLIENTS, m, gradient(Local(m), x) * weight(m))
    jensen = rules.jensen(CLIENTS, m, weight(m), gradient(Local(m), x))
    b = per_client("b", n)
    several = rules.instantiate(each, ((n, m),), ())
    size = combine([
        (jensen, 1),
        (sum_over(several, CLIENTS, m, weight(m)), 1),
        (rules.mean_gradient(x, whole), -1),
        (rules.mean_gradient(x, mean), -1),
    ])
    one = combine(
        [(each, 2), (size, 2)],
        [(own + whole, 1)],
        target=constant(4 * G2) - norm2(own - whole),
    )
    return sum_over(one, CLIENTS, n, b)


def cocoercive(function: Function, S: Ratio, x: Vec, y: Vec) -> Theorem:
    """Return ``||grad F(x) - grad F(y)||^2 <= S^2 ||x - y||^2``, F convex, majorised.

    The majorant from y at z = y - (grad F(y) - grad F(x))/S lies above the tangent at
    x; the same with x and y exchanged; then ``<d, x - y> >= ||d||^2/S``.
    """
    d = gradient(function, x) - gradient(function, y)

    def one(p: Vec, q: Vec, apart: Vec) -> Theorem:
        z = q + apart * (1 / S)
        above = rules.majorant(function, S, q, z)
        return combine([(above, 1), (rules.convex(function, ratio(0), p, z), 1)])

    return combine(
        [(one(x, y, d), 2 * S), (one(y, x, -d), 2 * S)],
        [((x - y) * S - d, 1)],
        target=norm2(x - y) * S**2 - norm2(d),
    )


def lipschitz_mean(S: Ratio, x: Vec, y: Vec) -> Theorem:
    """Return that grad f is S-Lipschitz if the gradients of the F_n are."""
    own = gradient(Local(n), x) - gradient(Local(n), y)
    d = gradient(MEAN, x) - gradient(MEAN, y)
    mean = summed(CLIENTS, n, own * weight(n))
    near = rules.lipschitz(Local(n), S, x, y)
    exact = [
        (rules.mean_gradient(p, w), sign)
        for w in (d, mean)
        for p, sign in ((x, -1), (y, 1))
    ]
    return combine(
        [
            (rules.jensen(CLIENTS, n, weight(n), own), 1),
            (sum_over(near, CLIENTS, n, weight(n)), 1),
            *exact,
        ],
        target=norm2(x - y) * S**2 - norm2(d),
    )
