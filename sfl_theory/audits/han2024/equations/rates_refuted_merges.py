r"""Instances that break inductions, step sizes and merges of Appendices D-G.

Numbers of one line of a derivation ((100), (101), (104), the merges) are compared at
constants that a federation has: $F_n=\frac12\|x\|^2$ for every client, $x^0=(1,0)$ in
the order (client, server), no noise, $G^2=1$ on the unit ball, where every run stays.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory.audits.han2024.both_sides import (
    common_checks,
    gap_finding,
    shown_rounds,
)
from sfl_theory.audits.han2024.equations.rates_sections import (
    BLOCKS,
    SECTIONS,
    Section,
)
from sfl_theory.audits.han2024.printed import Setting, right_side
from sfl_theory.audits.han2024.refuted_conditions import first_rate
from sfl_theory.audits.han2024.refuted_strongly_convex import APART
from sfl_theory.evidence.enclosed_run import enclosed
from sfl_theory.evidence.federated import FederatedRun, Rate
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.registry import theorem

ONE = Fraction(1)
HALF = Fraction(1, 2)
ZERO = Fraction(0)


def negative_factor() -> Finding:
    r"""Break (99) <= (100): it multiplies $\Delta_t\le v/u$ by $1-2/u$, negative here.

    N = 5, t = 1, where $\eta^t\le\frac1{2S\tau}$ holds: $u=\gamma_s+1=\frac85$ and
    $1-2/u=-\frac14$, while $\Delta_1=0$.

    Returns:
        Both sides.
    """
    setting, t = _flat(5), 1
    u, level, noise, _ = _terms(setting, t)
    return _line(
        setting,
        noise,
        noise + (1 - 2 / u) * level / u,
        t,
        at_most("induction hypothesis Delta_1 = 0 <= v/u", 0, level / u),
        _small_rate(setting, t),
    )


def lost_factor() -> Finding:
    r"""Break (100) = (101), where the square of N and its cube are lost.

    $\frac{(\eta\tau)^2}4=\frac{\beta^2}{N^2u^2}$, not $\frac{\beta^2}{u^2}$. The two
    are claimed to be equal; (101) is the larger one for N = 2.

    Returns:
        Left (101), right (100), at t = 1.
    """
    setting, t = _flat(2), 1
    u, level, noise, shown = _terms(setting, t)
    common = (1 - 2 / u) * level / u
    return _line(setting, common + shown, common + noise, t, _small_rate(setting, t))


def noise_at_zero(clients: int) -> Finding:
    r"""Break (103) <= (104) at t = 0, where $u=\gamma_s<\gamma_s+1$, as in (67).

    Args:
        clients: N, at most 7.

    Returns:
        Both sides.
    """
    setting = _flat(clients)
    u, level, _, shown = _terms(setting, 0)
    kept = (u - 1) / u**2 * level
    return _line(setting, kept + shown - level / u**2, kept, 0)


def merge(letter: str, clients: int = 1) -> Finding:
    r"""Break "$\frac S2$ times the two block bounds is at most the merged bound".

    D, F: each block has the noise terms in full, so their sum times $\frac S2$ has 16SN
    and 1536S^2, the merged bound 8SN and 768S^2. E, G: the server's bound has
    $\gamma_s=\frac{8S}{N\mu}-1$, the merged one $\gamma$.

    Args:
        letter: the appendix.
        clients: N.

    Returns:
        Both sides at T = 1.
    """
    setting, section = _flat(clients), SECTIONS[letter]
    both = [
        section.distance_bound(block, setting, start, 1)
        for block, start in zip(BLOCKS, (ZERO, setting.I_err), strict=True)
    ]
    right = right_side(section.theorem, "strongly_convex", setting, 1)
    finding = _line(setting, setting.S / 2 * sum(both, ZERO), ZERO, 1)
    return replace(finding, right=right)


def first_client_rate() -> Finding:
    r"""Break "$\eta^t\le\frac1{2S\tau}$ for all t" for the client side.

    The numbers are those of the server side.

    Returns:
        Both sides at t = 0.
    """
    return replace(first_rate(), setup="S = mu = 1, tau = 1, beta = 2/mu, t = 0")


def merged_rate(letter: str) -> Finding:
    r"""Break "the rates chosen meet $\eta^t\le\frac1{2S\max\{\tau,\tilde\tau\}}$".

    Args:
        letter: "D" or "F".

    Returns:
        The server's rate at t = 1, tau = 4, tau_server = 1, and the limit.
    """
    setting = replace(_flat(1), tau=4)
    rate = SECTIONS[letter].rate("server", setting, 1)
    limit = Fraction(1, 2 * max(setting.tau, setting.tau_server))
    return replace(_line(setting, rate, limit, 1), at="t = 1, server side")


def unweighted_server(letter: str, rounds: int, q: Fraction = ONE) -> Finding:
    r"""Break (110), (166) with the rates of their own appendix.

    Two clients, weights (1, 0), $F_n=(x_c^2+(x_s-b_n)^2)/2$, b = (0, 1), $\tau=1$, no
    noise, $x^0=(0,\frac12)$. The server's steps carry no $a_n$; its mean obeys
    $m\leftarrow(1-\eta)^2m+(1-(1-\eta)^2)/2$ and stays at 1/2, while $x^*=0$. By Jensen
    the gap stays at 1/8 at least, the bound falls like 1/T. (166) prints
    $\mathbb E\|x_c^0-x_c^*\|^2$, here 0, for $I_{err}$.

    Args:
        letter: "E" or "G".
        rounds: T.
        q: probability of taking part.

    Returns:
        Both sides at T.
    """
    section = SECTIONS[letter]
    start = ZERO if section.partial else HALF**2
    setting = Setting((ONE, ZERO), G2=ONE, I_err=start, q=q)

    rate = _falling(section, "server", setting)
    run = FederatedRun(
        theorem=theorem(section.theorem).key,
        case="strongly_convex",
        algorithm="sfl-v2",
        clients=APART,
        weights=setting.weights,
        participation=(q, q),
        start=(ZERO, HALF),
        rounds=rounds,
        client_rate=_falling(section, "client", setting),
        server_rate=rate,
        rule="as in the proof",
    )
    return gap_finding(
        run.words,
        section.theorem,
        "strongly_convex",
        setting,
        (
            *_curvature_one(setting),
            at_most("3.3 where 0 <= x_s <= 1, x_c = 0: (x_s - b_n)^2", 1, setting.G2),
            at_most(
                "every visit ends between x_s and b_n: eta^0/q <= 1", rate(0) / q, 1
            ),
            at_most("rates fall: eta^T <= eta^0", rate(rounds), rate(0)),
            at_most("rates are positive: 0 <= eta^T", 0, rate(rounds)),
            equal("gamma_s = 8 S/(N mu) - 1", section.offset("server", setting), 3),
        ),
        enclosed(run, shown_rounds(rounds)),
    )


def _falling(section: Section, side: str, setting: Setting) -> Rate:
    """Return the rate of a side, of the form c/(a + t)."""
    start, later = (1 / section.rate(side, setting, t) for t in (0, 1))
    return Rate(ONE, start, later - start)


def _flat(clients: int) -> Setting:
    """Return the constants of the federation in the module's first lines."""
    weights = (Fraction(1, clients),) * clients
    return Setting(weights, G2=ONE, I_err=ONE)


def _terms(setting: Setting, t: int) -> tuple[Fraction, Fraction, Fraction, Fraction]:
    r"""Return $u=\gamma_s+t$, v, the noise as in (100) and as in (101)."""
    section = SECTIONS["E"]
    u = section.offset("server", setting) + t
    A, B = section.noise("server", setting)
    beta = 2 / setting.mu
    shown = beta**2 * 4 * A / u**2 + beta**3 * 192 * setting.S * B / u**3
    noise = section.one_round("server", setting, ZERO, t)
    return u, section.level("server", setting, ZERO), noise, shown


def _small_rate(setting: Setting, t: int) -> Check:
    rate = SECTIONS["E"].rate("server", setting, t)
    limit = 1 / (2 * setting.S * setting.tau)
    return at_most(f"eta^{t} <= 1/(2 S tau)", rate, limit)


def _line(
    setting: Setting, left: Fraction, right: Fraction, t: int, *checks: Check
) -> Finding:
    return Finding(
        f"N = {len(setting.weights)}, a_n = 1/N, F_n = ||x||^2/2, x^0 = (x_c, x_s) = "
        f"(1, 0), Delta_t of the server = 0, tau = {setting.tau}, tau_server = "
        f"{setting.tau_server}, sigma = 0",
        (
            *common_checks(setting),
            *_curvature_one(setting),
            at_most("3.3 on the unit ball: ||x||^2", setting.I_err, setting.G2),
            *checks,
        ),
        Interval.of(left),
        Interval.of(right),
        f"t = {t}",
    )


def _curvature_one(setting: Setting) -> tuple[Check, ...]:
    return (
        at_most("3.1: curvature 1 of every F_n", 1, setting.S),
        at_most("3.2: noise 0", 0, setting.sigma),
        equal("C.2: curvature 1 of every F_n, mu", setting.mu, 1),
    )
