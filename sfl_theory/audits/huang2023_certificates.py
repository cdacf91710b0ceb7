r"""``huang2023``: certificates of single steps and lemmas, as the paper uses them.

Used of the assumptions: inequalities at iterates, their means and $w^*$ only, so
"for all w" may be read as "on a convex set that contains these".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value
from sfl_theory.symbols import S, gamma, mu

A1, A2, A3, A4, A5 = (f"Assumption {k}" for k in range(1, 6))
OPTIMUM = "w* minimises F"
UPDATE = "update (3)-(5)"
BLOCKS = "w = [w_c; w_s]"
STEP = "previous certificate"
Build = Callable[[], Certificate]

eta, eta_0, delta2, R2, v, x, j = sp.symbols("eta eta_0 delta2 R2 v x j", positive=True)

_e, _s, _m = positive("e s m")
ANY = Domain("eta, S, mu > 0", {eta: _e, S: _s, mu: _m}, (_e, _s, _m))


def _both(
    claim: str, one: Any, two: Any, uses: tuple[Fact, ...] = (), statement: str = ""
) -> tuple[Build, Build]:
    """Return certificates of ``one <= two`` and ``two <= one`` from equalities."""
    names = tuple(fact.hypothesis for fact in uses)

    def build(left: Any, right: Any, sign: int) -> Build:
        return lambda: Certificate(
            claim,
            left,
            right,
            names,
            ANY,
            uses=tuple((fact, sign) for fact in uses),
            statement=statement,
        )

    return build(one, two, 1), build(two, one, -1)


def decomposition(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Lemma 1, (6) and (7): smoothness at w*, where the gradient is 0.
    """
    dc, ds, g = vectors("d_c d_s grad")
    smooth = smooth_upper("F", "w*", "w", dc + ds, g, S, A1)
    still = Fact("grad F(w*) = 0", inner(g, dc + ds), OPTIMUM, equality=True)
    blocks = Fact("<d_c, d_s> = 0", inner(dc, ds), BLOCKS, equality=True)
    return (
        lambda: Certificate(
            claim,
            value("F", "w") - value("F", "w*"),
            S / 2 * (norm2(dc) + norm2(ds)),
            (A1, OPTIMUM, BLOCKS),
            ANY,
            uses=((smooth, 1), (still, -1), (blocks, -S)),
            statement="F(w) - F(w*) <= S/2 (||w_s - w_s*||^2 + ||w_c - w_c*||^2); F is "
            "S-smooth as a mean of the f_n; take expectations",
        ),
    )


def pythagoras(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (8): both directions."""
    dc, ds = vectors("d_c d_s")
    blocks = Fact("<d_c, d_s> = 0", inner(dc, ds), BLOCKS, equality=True)
    whole, parts = norm2(dc + ds), norm2(dc) + norm2(ds)
    return (
        lambda: Certificate(claim, whole, parts, (BLOCKS,), ANY, uses=((blocks, -2),)),
        lambda: Certificate(claim, parts, whole, (BLOCKS,), ANY, uses=((blocks, 2),)),
    )


def exclusion(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    Assumptions 2 and 4 confine w: $\mu^2\|w-w_n^*\|^2\le R^2$.
    """
    d, g, xi = vectors("w-w_n* grad xi")
    to = convex_lower("f", "w*", "w", d, Vector({}), mu, A2)
    back = convex_lower("f", "w", "w*", d * -1, g, mu, A2)
    norm = Fact("bounded square norm", R2 - norm2(g + xi), A4)
    fair = Fact("E<grad, xi> = 0", inner(g, xi), "unbiased", equality=True)
    domain = Domain("mu, R^2 > 0", {mu: _m, R2: _s}, (_m, _s))
    return (
        lambda: Certificate(
            claim,
            mu**2 * norm2(d),
            R2,
            (A2, A4, "unbiased"),
            domain,
            uses=((norm, 1), (fair, 2), (to, 2 * mu), (back, 2 * mu)),
            squares=((xi, 1), (g - mu * d, 1)),
            statement="mu^2 ||w - w_n*||^2 <= R^2 wherever Assumption 4 holds",
        ),
    )


def block_convexity(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (12), the inequality, and (31): strong convexity along one block.
    """
    d, g = vectors("d grad")
    back = convex_lower("F", "w", "w with block at optimum", d * -1, g, mu, A2)
    gap = value("F", "w") - value("F", "w with block at optimum")
    return (
        lambda: Certificate(
            claim,
            -2 * eta * inner(g, d),
            -mu * eta * norm2(d) - 2 * eta * gap,
            (A2,),
            ANY,
            uses=((back, 2 * eta),),
            statement="-2 eta <grad, d> <= -mu eta ||d||^2 - 2 eta (F(w) - F(w with "
            "this "
            "block at its optimum)), d within the block",
        ),
    )


def young_two(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (13), first inequality."""
    a, b = vectors("a b")
    return (
        lambda: Certificate(
            claim,
            norm2(a + b),
            2 * norm2(a) + 2 * norm2(b),
            (),
            ANY,
            squares=((a - b, 1),),
            statement="||a + b||^2 <= 2||a||^2 + 2||b||^2",
        ),
    )


def jensen_mean(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (13), second inequality: $\sum_n\frac1N\|v_n-\bar v\|^2\ge0$.
    """
    (mean,) = vectors("vbar")
    squares, cross = atom("1/N sum ||v_n||^2"), atom("1/N sum <v_n, vbar>")
    spread = Fact(
        "1/N sum ||v_n - vbar||^2 >= 0", squares - 2 * cross + norm2(mean), "squares"
    )
    same = Fact("vbar is the mean", cross - norm2(mean), "definition", equality=True)
    return (
        lambda: Certificate(
            claim,
            norm2(mean),
            squares,
            ("squares", "definition"),
            ANY,
            uses=((spread, 1), (same, 2)),
        ),
    )


def later_rates(claim: str) -> tuple[Build, ...]:
    """Return certificates: the learning-rate condition holds from i = 1 on."""
    m, k, g, i = free("mu_ s_ g_ i_")
    (one,) = positive("one_")
    domain = Domain(
        "S >= mu > 0, gamma >= 8S/mu - 1, i >= 1",
        {mu: one, S: one + k, gamma: 8 * (one + k) / one - 1 + g, x: gamma + 1 + i},
        (m, k, g, i, one),
    )
    return (
        lambda: Certificate(
            claim,
            2 / (mu * x),
            1 / (4 * S),
            (),
            domain,
            statement="2/(mu (gamma + i)) <= 1/(4S)",
        ),
    )


def induction(claim: str, noise: str) -> tuple[Build, ...]:
    r"""(16) and (23).

    $\Delta\le v/x$, $v\ge4B/\mu^2$ give the next one, $x=\gamma+i\ge2$.

    Args:
        claim: identifier.
        noise: the constant of the recursion, B or H.

    Returns:
        Base case and step.
    """
    now, after, bound, start = atom("D^i"), atom("D^(i+1)"), atom("v"), atom("D^0")
    constant = atom(noise)
    (k,) = free("k_")
    (one,) = positive("one_")
    domain = Domain("mu > 0, x = gamma + i >= 2", {mu: one, x: 2 + k}, (k, one))
    rate = 2 / (mu * x)
    recursion = Fact(
        "recursion", (1 - mu * rate) * now + rate**2 * constant - after, "recursion"
    )
    large = Fact(
        "v >= 4 constant/mu^2", bound - 4 * constant / mu**2, "definition of v"
    )
    hypothesis = Fact("D^i <= v/x", bound / x - now, "hypothesis of the induction")
    initial = Fact("v >= (gamma + 1) D^0", bound - (x + 1) * start, "definition of v")
    # v >= 0: from v >= (gamma+1) D^0 and D^0 >= 0
    sign = Fact("v >= 0", bound, "definition of v")
    left_over = 1 / (x + 1) - (x - 1) / x**2
    return (
        lambda: Certificate(
            claim,
            start,
            bound / x,
            ("definition of v",),
            domain,
            uses=((initial, 1 / (x + 1)), (sign, 1 / x - 1 / (x + 1))),
            statement="base: D^0 <= v/gamma (x = gamma)",
        ),
        lambda: Certificate(
            claim,
            after,
            bound / (x + 1),
            ("recursion", "definition of v", "hypothesis of the induction"),
            domain,
            uses=(
                (recursion, 1),
                (hypothesis, 1 - mu * rate),
                (large, 1 / x**2),
                (sign, left_over),
            ),
            statement="step: D^(i+1) <= v/(x + 1)",
        ),
    )


def independent_noise(claim: str) -> tuple[Build, ...]:
    """Return the certificates of Lemma 3, clients independent of each other."""
    whole, parts = atom("E||sum p_n xi_n||^2"), atom("sum p_n^2 E||xi_n||^2")
    bound = atom("sum p_n^2 sigma_n^2")
    apart = Fact(
        "cross terms are 0", parts - whole, "independent clients", equality=True
    )
    return (
        lambda: Certificate(
            claim,
            whole,
            bound,
            ("independent clients", A3),
            ANY,
            uses=((apart, 1), (Fact("variance, times p_n^2", bound - parts, A3), 1)),
        ),
    )


def step_identities(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (26): expansion of the squared distance after the step.
    """
    d, mean, noise = vectors("d gbar gbar-g")
    here = d - eta * mean
    expanded = norm2(here) + 2 * eta * inner(here, noise) + eta**2 * norm2(noise)
    return _both(claim, norm2(here + eta * noise), expanded)


def gradient_identity(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (27): expansion of A_1."""
    d, mean = vectors("d gbar")
    expanded = norm2(d) - 2 * eta * inner(d, mean) + eta**2 * norm2(mean)
    return _both(claim, norm2(d - eta * mean), expanded)


def split_identity(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (29), for one client; the sum has weights p_n."""
    u, d, g = vectors("wbar-w_n w_n-w* grad_n")
    return _both(
        claim, -2 * eta * inner(u + d, g), -2 * eta * (inner(u, g) + inner(d, g))
    )


def self_bounding(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (28): Jensen, then $\|\nabla f_n\|^2\le2S(f_n-f_n^*)$ by a step of $1/S$.
    """
    (g,) = vectors("grad")
    smooth = smooth_upper("f", "w", "w - g/S", g * (-1 / S), g, S, A1)
    least = Fact(
        "f* is the minimum", value("f", "w - g/S") - value("f", "*"), "definition of f*"
    )
    gap = value("f", "w") - value("f", "*")
    return (
        *jensen_mean(claim),
        lambda: Certificate(
            claim,
            norm2(g),
            2 * S * gap,
            (A1, "definition of f*"),
            ANY,
            uses=((smooth, 2 * S), (least, 2 * S)),
            statement="||grad f||^2 <= 2S (f(w) - f*)",
        ),
    )


def young_rate(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (30)."""
    u, g = vectors("u g")
    return (
        lambda: Certificate(
            claim,
            -2 * inner(u, g),
            norm2(u) / eta + eta * norm2(g),
            (),
            ANY,
            squares=((u + eta * g, 1 / eta),),
        ),
    )


def sum_of_steps(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (32) from (28)-(31) and $\sum_np_n\|w_n-w^*\|^2\ge\|\bar w-w^*\|^2$.
    """
    d, mean = vectors("wbar-w* gbar")
    cross, far = atom("sum p <wbar-w_n, g_n>"), atom("sum p <w_n-w*, g_n>")
    apart, away = atom("sum p ||wbar-w_n||^2"), atom("sum p ||w_n-w*||^2")
    size, gap = atom("sum p ||g_n||^2"), atom("sum p (f_n-f_n*)")
    other = atom("sum p (f_n-f_n(w_c*,w_s))")
    facts = (
        (Fact("(28) Jensen", size - norm2(mean), "(28)"), eta**2),
        (Fact("(28) self-bounding", 2 * S * gap - size, "(28)"), 2 * eta**2),
        (Fact("(29)", inner(d, mean) - cross - far, "(29)", equality=True), 2 * eta),
        (Fact("(30)", apart / eta + eta * size + 2 * cross, "(30)"), eta),
        (Fact("(31)", far - other - mu / 2 * away, "(31)"), 2 * eta),
        (Fact("Jensen", away - norm2(d), "kernel"), mu * eta),
    )
    return (
        lambda: Certificate(
            claim,
            norm2(d - eta * mean),
            (1 - mu * eta) * norm2(d) + apart + 4 * S * eta**2 * gap - 2 * eta * other,
            ("(28)", "(29)", "(30)", "(31)", "kernel"),
            ANY,
            uses=facts,
        ),
    )
