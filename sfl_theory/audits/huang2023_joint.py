r"""``huang2023``: a proof of Theorem 1 that needs neither of its propositions.

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

from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.huang2023_certificates import (
    A1,
    A2,
    A4,
    A5,
    R2,
    STEP,
    UPDATE,
    Build,
    decomposition,
    delta2,
    eta,
    eta_0,
    j,
    v,
    x,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.papers import huang2023
from sfl_theory.symbols import N, R, S, T, gamma, mu, tau

B = 2 * tau * delta2 + R2
V = R2 + sp.Rational(16, 7) * (tau - 1) * B


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
