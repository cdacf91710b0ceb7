"""Appendix A: the three lemmas of one step, and what the rates have to do for them."""

from __future__ import annotations

from sfl_theory.evidence import Kind, says
from sfl_theory.notation import written as w
from sfl_theory.papers.li2020 import rounds
from sfl_theory.papers.li2020 import setting as s
from sfl_theory.papers.li2020.setting import FAIR, E, L, best, d, eta, i, j, proved, v

rate = eta(s.step())
MADE = w.at_most(i + 1, E)
POINTS = "F_k^* is any number below F_k at the points that the proof meets"

LEMMA_1 = Kind.LEMMA(
    "li2020/lemma-1",
    "App. A.2",
    "One step: for eta_s <= 1/(4L) the mean of the models comes nearer to w^*, but for "
    "noise, heterogeneity and the spread of the models.",
    proved(
        says(
            w.norm2(s.model(i + 1) - best),
            (1 - rate * s.mu) * w.norm2(s.model() - best)
            + rate**2 * w.norm2(s.noise())
            + 6 * L * rate**2 * s.Gamma
            + 2 * s.spread(),
            s.SMOOTH,
            s.CONVEX,
            *FAIR,
            *s.above_least(),
            s.LEAST,
            s.MINIMUM,
            MADE,
            w.at_most(rate, 1 / (4 * L)).called("eta_s <= 1/(4L)"),
        ),
        rounds.lemma_1,
        r"The paper's steps. $-2\langle\bar w - w_k, \nabla F_k(w_k)\rangle \le "
        r"\frac{1}{\eta}\|\bar w - w_k\|^2 + \eta\|\nabla F_k(w_k)\|^2$, strong "
        r"convexity at $w_k$, $\|\nabla F_k\|^2 \le 2L(F_k - F_k^*)$; then "
        r"$F_k(w_k) \ge F_k(\bar w) + \langle\nabla F_k(\bar w), w_k - \bar "
        r"w\rangle$ with the weight $\gamma_s = 2\eta(1 - 2L\eta)$.",
        POINTS,
    ),
    uses="assumption-1 assumption-2",
)

LEMMA_2 = Kind.LEMMA(
    "li2020/lemma-2",
    "App. A.2",
    "The variance of the mean gradient of a step.",
    proved(
        says(
            w.norm2(s.noise()),
            w.over_clients(s.k, s.p() ** 2 * s.sigma2()),
            s.VARIANCE,
            *FAIR,
            MADE,
        ),
        rounds.lemma_2,
        r"$\mathbb{E}\|\sum_k p_k \xi_k\|^2 = \sum_k p_k^2 \mathbb{E}\|\xi_k\|^2$ "
        "for independent samples.",
    ),
    uses="assumption-3",
)


def falls() -> w.Assumed:
    """Return that the rates do not increase."""
    one = w.at_most(eta(v + 2), eta(v + 1))
    return w.every_natural(v, one).called("eta_s non-increasing")


def slowly() -> w.Assumed:
    """Return that a rate is at most twice the one E = d + e steps later."""
    one = w.at_most(eta(v + 1), 2 * eta(v + 1 + d + s.e))
    return w.every_natural(v, one).called("eta_s <= 2 eta_{s+E}, E = d + e")


SINCE = w.every_round(j, i, w.at_most(eta(s.step(j)), 2 * rate)).called(
    "the rates since the last averaging are at most 2 eta_s"
)

LEMMA_3 = Kind.LEMMA(
    "li2020/lemma-3",
    "App. A.2",
    "If rates do not increase and eta_s <= 2 eta_{s+E}, the models of the clients stay "
    "together.",
    proved(
        says(eta(v + 1), 2 * eta(v + 1 + d), falls(), slowly()),
        rounds.slow_enough,
        r"$\eta_s \le 2\eta_{s+E} \le 2\eta_{s+d}$ for $d \le E$, by induction.",
        "the rates' part: for every s = v + 1 and d <= E, written E = d + e",
    ),
    proved(
        says(s.spread(), 4 * rate**2 * (E - 1) ** 2 * s.G2, SINCE, s.BOUNDED, MADE),
        rounds.lemma_3,
        r"$\sum_k p_k\|\bar w - w_k\|^2 \le \sum_k p_k\|w_k - w^t\|^2$, and $w_k$ "
        r"has made $i \le E - 1$ steps from $w^t$: Cauchy-Schwarz, "
        r"$\eta_{s'} \le 2\eta_s$ and $\mathbb{E}\|g\|^2 \le G^2$.",
        "the lemma, from what the first part says of the steps of its round; "
        r"$E\|g\|^2 \le G^2$ along the run",
    ),
    uses="assumption-4",
)

RATES = Kind.CONDITION(
    "li2020/thm-1/rates",
    "App. A.1, proof of Theorem 1",
    "eta_s = 2/(mu (gamma + s)) with gamma = max{8 kappa, E} meets the conditions of "
    "Lemmas 1 and 3.",
    proved(
        says(eta(v + 1), 1 / (4 * L), *s.rate_rule(), *s.GAMMA),
        rounds.rate_is_small,
        r"$4L\eta_s = 8\kappa/(\gamma + s) \le 1$.",
    ),
    proved(
        says(eta(v + 2), eta(v + 1), *s.rate_rule()),
        rounds.rate_falls,
        r"$\gamma + s$ grows.",
    ),
    proved(
        says(eta(v + 1), 2 * eta(v + 1 + E), *s.rate_rule(), *s.GAMMA),
        rounds.rate_falls_slowly,
        r"$\gamma + s + E \le 2(\gamma + s)$.",
    ),
    words="rate_rule is the rule times mu (gamma + s), for every s >= 1.",
)

CLAIMS = (LEMMA_1, LEMMA_2, LEMMA_3, RATES)
