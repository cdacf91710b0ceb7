r"""``huang2023``: certificates, among them a proof of Theorem 1 that needs no Prop. 1.

Joint recursion. With $\tau=EM$, $\bar w=(\bar w_c,w_s)$, $w_n=(w_{c,n},w_s)$,
$\Delta^i=E\|\bar w^i-w^*\|^2$, $D=\sum_np_nE\|w_n-\bar w\|^2$, $x=\gamma+i$,
$\eta=2/(\mu x)$ and a round that starts at $x_0$ with $\eta_0$:

1. drift: $D_{j+1}\le(1+\frac1{2\tau})D_j+\eta_0^2B$, $B=2\tau\delta^2+R^2$,
   from $D_0=0$;
2. so $D_j(1-\frac j{2\tau})\le j\eta_0^2B$, and $D_j\le8(\tau-1)\eta^2B$ as
   $\eta_0\le2\eta$;
3. $\Delta^{i+1}\le(1-2\mu\eta)\Delta^i+\eta SD+\eta^2R^2\le(1-2\mu\eta)\Delta^i
   +\eta^2V$, $V=R^2+\frac{16}7(\tau-1)B$, as $\eta S\le\frac27$;
4. $\Delta^i\le v/(\gamma+i)$ with $v=\frac{4V}{3\mu^2}+\gamma\Delta^0$, by induction;
5. Lemma 1 at $i=T\tau$.

Used of the assumptions: inequalities at iterates, their means and $w^*$ only, so
"for all w" may be read as "on a convex set that contains these".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy as sp

from sfl_theory import symbols
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
from sfl_theory.papers import huang2023
from sfl_theory.symbols import N, R, S, T, gamma, mu, tau

A1, A2, A3, A4, A5 = (f"Assumption {k}" for k in range(1, 6))
OPTIMUM = "w* minimises F"
UPDATE = "update (3)-(5)"
BLOCKS = "w = [w_c; w_s]"
STEP = "previous certificate"
Build = Callable[[], Certificate]

eta, eta_0, delta2, R2, v, x, j = sp.symbols("eta eta_0 delta2 R2 v x j", positive=True)
B = 2 * tau * delta2 + R2
V = R2 + sp.Rational(16, 7) * (tau - 1) * B

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


def drift(claim: str) -> tuple[Build, ...]:
    """Return the certificates of Steps 1 and 2 of the module's proof."""
    now, after = atom("D_j"), atom("D_(j+1)")
    monotone, diverge, variance = atom("P"), atom("Q"), atom("G_c")
    k, h = free("k_ h_")
    one, two, three, four = positive("d_ R_ m_ e_")
    base = {delta2: one, R2: two, mu: three}
    names = (k, h, one, two, three, four)
    rates = {tau: 1 + k, eta: four, eta_0: four + h}
    domain = Domain("tau >= 1, 0 < eta <= eta_0", base | rates, names)
    expanded = Fact(
        "u_n' = u_n - eta (g_{c,n} - mean): square, mean of u_n is 0",
        now - 2 * eta * (monotone + diverge) + eta**2 * variance - after,
        UPDATE,
    )
    convex = Fact(
        "P = sum p E<w_n - wbar, grad f_n(w_n) - grad f_n(wbar)> >= mu D",
        monotone - mu * now,
        A2,
    )
    # -2 eta <u_n, grad f_n(wbar) - grad F(wbar)> <= ||u_n||^2/(2 tau) + 2 tau eta^2
    # delta^2
    young = Fact(
        "Q = sum p E<w_n - wbar, grad f_n(wbar) - grad F(wbar)>, Young with 1/(2 tau)",
        now / (2 * tau) + 2 * tau * eta**2 * delta2 + 2 * eta * diverge,
        A5,
    )
    norm = Fact("sum p E||g_{c,n} - mean||^2 <= R^2", R2 - variance, A4)
    known = Fact("D_j >= 0", now, "square")

    def one_step() -> Certificate:
        return Certificate(
            claim,
            after,
            (1 + 1 / (2 * tau)) * now + eta_0**2 * B,
            (UPDATE, A2, A4, A5, "square"),
            domain,
            uses=(
                (expanded, 1),
                (convex, 2 * eta),
                (young, 1),
                (norm, eta**2),
                (known, 2 * eta * mu),
            ),
            statement="D_{j+1} <= (1 + 1/(2 tau)) D_j + eta_0^2 (2 tau delta^2 + R^2)",
        )

    m, i = free("m_j i_")
    steps = Domain(
        "0 <= j < tau, eta_0 > 0",
        {**base, eta_0: four, j: i, tau: 1 + i + m},
        (i, m, one, two, three, four),
    )
    unit = B * eta_0**2
    step = Fact("step", (1 + 1 / (2 * tau)) * now + unit - after, STEP)
    assumed = Fact("induction", j * unit - (1 - j / (2 * tau)) * now, STEP)
    factor = 1 - (j + 1) / (2 * tau)

    def multiplied() -> Certificate:
        first = factor * (1 + 1 / (2 * tau)) / (1 - j / (2 * tau))
        return Certificate(
            claim,
            factor * after,
            (j + 1) * unit,
            (STEP,),
            steps,
            uses=((step, factor), (assumed, first)),
            statement="(1 - (j+1)/(2 tau)) D_{j+1} <= (j+1) eta_0^2 B; base D_0 = 0",
        )

    (begin,) = free("b_")
    end = Domain(
        "1 <= tau, j <= tau - 1, x = x_0 + j, x_0 = gamma + i_0 >= tau",
        {
            **base,
            j: i,
            tau: 1 + i + m,
            x: 1 + i + m + begin + i,
            eta: 2 / (mu * x),
            eta_0: 2 / (mu * (x - j)),
        },
        (i, m, begin, one, two, three),
    )

    def ended() -> Certificate:
        return Certificate(
            claim,
            now,
            8 * (tau - 1) * eta**2 * B,
            (STEP,),
            end,
            uses=((assumed, 1 / (1 - j / (2 * tau))),),
            statement="sum p E||w_{c,n} - wbar_c||^2 <= 8 (tau - 1) eta^2 "
            "(R^2 + 2 tau delta^2) for gamma >= tau",
        )

    return one_step, multiplied, ended


def distance(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    Steps 1-4: $E\|w^{i}-w^*\|^2\le v/(\gamma+i)$, both blocks together.
    """
    here, after, start = atom("Delta^i"), atom("Delta^(i+1)"), atom("Delta^0")
    spread, cross, size = atom("D"), atom("C"), atom("E||g||^2")
    local, near, gap_n = atom("L"), atom("sum p ||w_n-w*||^2"), atom("f_n - F*")
    gap = atom("F(wbar) - F*")
    k, c, g, i = free("k_ c_ g_ i_")
    one, two, three = positive("d_ R_ m_")
    domain = Domain(
        "tau >= 1, S >= mu > 0, x = gamma + i, gamma >= 8S/mu - 1",
        {
            tau: 1 + k,
            mu: three,
            S: three * (1 + c),
            x: 8 * (1 + c) - 1 + g + i,
            eta: 2 / (three * (8 * (1 + c) - 1 + g + i)),
            delta2: one,
            R2: two,
        },
        (k, c, g, i, one, two, three),
    )
    # C = sum p E<wbar - w_n, grad f_n(w_n)>, L = sum p E<w_n - w*, grad f_n(w_n)>
    facts = (
        (
            Fact(
                "wbar' = wbar - eta g, unbiased",
                here - 2 * eta * (cross + local) + eta**2 * size - after,
                UPDATE,
            ),
            1,
        ),
        (Fact("Jensen, E||g||^2 <= R^2", R2 - size, A4), eta**2),
        (
            Fact("f_n smooth, w_n -> wbar", gap_n + cross + S / 2 * spread - gap, A1),
            2 * eta,
        ),
        (Fact("f_n convex, w_n -> w*", local - gap_n - mu / 2 * near, A2), 2 * eta),
        (Fact("F convex at w*", gap - mu / 2 * here, A2), 2 * eta),
        (Fact("mean of squares", near - here, "kernel"), mu * eta),
        (Fact("drift", 8 * (tau - 1) * eta**2 * B - spread, STEP), eta * S),
    )

    def recursion() -> Certificate:
        return Certificate(
            claim,
            after,
            (1 - 2 * mu * eta) * here + eta**2 * V,
            (UPDATE, A1, A2, A4, "kernel", STEP),
            domain,
            uses=facts,
            statement="Delta^{i+1} <= (1 - 2 mu eta) Delta^i + eta^2 [R^2 + 16/7 (tau "
            "- 1)"
            " (R^2 + 2 tau delta^2)]",
        )

    known = Fact("recursion", (1 - 2 * mu * eta) * here + eta**2 * V - after, STEP)
    assumed = Fact("induction", v / x - here, STEP)
    (q,) = free("q_")
    total = {**domain.values, v: 4 * V / (3 * mu**2) + q}
    wide = Domain(domain.words + ", v >= 4V/(3 mu^2)", total, (*domain.free, q))

    def next_one() -> Certificate:
        return Certificate(
            claim,
            after,
            v / (x + 1),
            (STEP,),
            wide,
            uses=((known, 1), (assumed, 1 - 2 * mu * eta)),
            statement="Delta^i <= v/(gamma + i) implies the same for i + 1",
        )

    first = Domain(
        domain.words + ", i = 0",
        {**domain.values, x: domain.values[x] - i},
        domain.free,
    )

    def base() -> Certificate:
        return Certificate(
            claim,
            start,
            (4 * V / (3 * mu**2) + x * start) / x,
            (),
            first,
            statement="base: Delta^0 <= v/gamma, v = 4V/(3 mu^2) + gamma Delta^0",
        )

    return (*drift(claim), recursion, next_one, base)


def theorem_1(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Theorem 1 as printed: the joint recursion, Lemma 1, then the printed formula.
    """
    k, c, g, n, rounds = free("k_ c_ g_ n_ t_")
    one, two, three = positive("d_ R_ m_")
    noise, Gamma, start_c, start_s = free("W_ Gamma_ I_c_ I_s_")
    bound = huang2023.THEOREM_1.case("strongly_convex").bound("printed")
    printed: Any = sum(bound.parts.values())
    summed = symbols.over_clients(
        symbols.a[symbols.n] ** 2 * symbols.sigma[symbols.n] ** 2
    )
    printed = printed.xreplace({summed: noise, R: sp.sqrt(R2)})
    printed = printed.xreplace({symbols.epsilon: sp.sqrt(delta2)})
    domain = Domain(
        "N, T, tau >= 1, S >= mu > 0, gamma >= 8S/mu - 1, Gamma >= 0",
        {
            tau: 1 + k,
            N: 1 + n,
            T: 1 + rounds,
            mu: three,
            S: three * (1 + c),
            gamma: 8 * (1 + c) - 1 + g,
            delta2: one,
            R2: two,
            symbols.Gamma: Gamma,
            symbols.I_err: start_c + start_s,
        },
        (k, c, g, n, rounds, noise, Gamma, start_c, start_s, one, two, three),
    )
    gap, apart = atom("E F(w^TEM) - F*"), atom("Delta^TEM")
    limit = (4 * V / (3 * mu**2) + gamma * symbols.I_err) / (gamma + T * tau)

    def end() -> Certificate:
        return Certificate(
            claim,
            gap,
            printed,
            ("Lemma 1", STEP),
            domain,
            uses=(
                (Fact("Lemma 1", S / 2 * apart - gap, "Lemma 1"), 1),
                (Fact("joint recursion at TEM", limit - apart, STEP), S / 2),
            ),
            statement="E F(w^TEM) - F* <= S (L_s + L_c)/2 as printed, Gamma >= 0",
        )

    # Lemma 1 inside the chain, under this claim's name
    return (*distance(claim), *decomposition(claim), end)
