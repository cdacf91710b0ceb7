"""What the assumptions imply: about each other, about f, and about gradients."""

from __future__ import annotations

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.foundations import monotone
from sfl_theory.proofs.local_steps import Round, now
from sfl_theory.proofs.notation import combine, nat, of, per_client, point, sum_over

n, m = k.Client("n"), k.Client("m")


def bounded_and_convex(function: k.Function, mu: Ratio, G2: Ratio) -> Theorem:
    """Return ``||x - y||^2 <= 4 G2/mu^2`` where ||grad F||^2 <= G2 at both points."""
    x, y = point("x"), point("y")
    at_x, at_y = k.gradient(function, x), k.gradient(function, y)
    short = [rules.assume(k.constant(G2) - k.norm2(g)) for g in (at_x, at_y)]
    return combine(
        (monotone(function, mu, x, y), 2 / mu),
        (short[0], 2 / mu**2),
        (short[1], 2 / mu**2),
        ((at_x - at_y) * (1 / mu) - (x - y), 1),
        (at_x + at_y, 1 / mu**2),
        target=k.constant(4 * G2 / mu**2) - k.norm2(x - y),
    )


def nowhere_far(function: k.Function, mu: Ratio, G2: Ratio) -> Theorem:
    """Return that two points with ||x - y||^2 >= 4 G2/mu^2 + 1 are a contradiction."""
    x, y = point("x"), point("y")
    far = rules.assume(k.norm2(x - y) - k.constant(4 * G2 / mu**2 + 1))
    near = bounded_and_convex(function, mu, G2)
    return combine(near, far, target=k.constant(-1))


def variance_of_bounded(r: Round, G2: Ratio) -> Theorem:
    """Return ``E||xi(n,t,j)||^2 <= G2`` for unbiased gradients; sum of b_n times it."""
    j = of(nat("j"))
    gp, xi = r.local_gradient(j), r.noise(j)
    fair = derived.unbiased(r.run, n, now, j, gp)
    bound = derived.bounded_gradient(r.run, G2, n, now, j)
    target = k.constant(G2) - k.norm2(xi)
    one = combine(bound, (fair, 2), (gp, 1), target=target)
    return sum_over(one, k.CLIENTS, n, per_client("b", n))


def divergence_of_bounded(x: k.Vec, G2: Ratio) -> Theorem:
    """Return ``||grad F_n(x) - grad f(x)||^2 <= 4 G2`` if all gradients are so short.

    Summed with weights b_n.
    """
    each = rules.assume(k.constant(G2) - k.norm2(k.gradient(k.Local(n), x)))
    own, whole = k.gradient(k.Local(n), x), k.gradient(k.MEAN, x)
    mean = k.summed(k.CLIENTS, m, k.gradient(k.Local(m), x) * k.weight(m))
    jensen = rules.jensen(k.CLIENTS, m, k.weight(m), k.gradient(k.Local(m), x))
    b = per_client("b", n)
    several = rules.instantiate(each, ((n, m),), ())
    size = combine(
        jensen,
        sum_over(several, k.CLIENTS, m, k.weight(m)),
        (rules.mean_gradient(x, whole), -1),
        (rules.mean_gradient(x, mean), -1),
    )
    one = combine(
        (each, 2),
        (size, 2),
        (own + whole, 1),
        target=k.constant(4 * G2) - k.norm2(own - whole),
    )
    return sum_over(one, k.CLIENTS, n, b)


def lipschitz_mean(S: Ratio, x: k.Vec, y: k.Vec) -> Theorem:
    """Return that grad f is S-Lipschitz if the gradients of the F_n are."""
    own = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), y)
    d = k.gradient(k.MEAN, x) - k.gradient(k.MEAN, y)
    mean = k.summed(k.CLIENTS, n, own * k.weight(n))
    near = derived.lipschitz(k.Local(n), S, x, y)
    exact = [
        (rules.mean_gradient(p, w), sign)
        for w in (d, mean)
        for p, sign in ((x, -1), (y, 1))
    ]
    return combine(
        rules.jensen(k.CLIENTS, n, k.weight(n), own),
        sum_over(near, k.CLIENTS, n, k.weight(n)),
        *exact,
        target=k.norm2(x - y) * S**2 - k.norm2(d),
    )
