r"""Sentences of Sec. 3 and 4 of ``han2024`` that its own theorems contradict."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import symbols
from sfl_theory.audits.han2024.both_sides import admitted, common_checks
from sfl_theory.audits.han2024.printed import Setting, largest_rate, right_side
from sfl_theory.audits.han2024.refuted_tables import K
from sfl_theory.evidence.instance import Finding, at_most, equal
from sfl_theory.evidence.interval import Interval, evaluate
from sfl_theory.registry import theorem

ONE = Fraction(1)
HALF = Fraction(1, 2)
TINY = Fraction(1, 10**9)
UNIFORM = (HALF, HALF)


def non_convex_rate(number: str, rounds: int = 10**6) -> Finding:
    r"""Break "the bounds achieve $O(1/T)$ on non-convex objectives".

    At a constant admitted rate the second term of (13), (16), (19), (22) is
    $B\eta^2$, whatever T.

    Args:
        number: "3.6" to "3.9".
        rounds: T.

    Returns:
        Left the bound at T, right K/T times the bound at 1.
    """
    setting = Setting((ONE,), F_err=ONE, epsilon2=ONE, sigma=ONE)
    eta = Fraction(1, 16)
    first = right_side(number, "non_convex", setting, 1, eta)
    return Finding(
        f"N = 1, S = sigma = epsilon = F_err = 1, tau = 1, eta = {eta}, K = {K}",
        (*common_checks(setting), admitted(number, "non_convex", setting, eta)),
        right_side(number, "non_convex", setting, rounds, eta),
        first * Fraction(K, rounds),
        f"T = {rounds}; the ratio grows like T",
    )


def heterogeneity_without_effect(number: str, case: str) -> Finding:
    r"""Break "the bounds increase as the level of heterogeneity increases".

    The strongly convex and general convex bounds do not hold $\epsilon^2$ at all.

    Args:
        number: "3.6" to "3.9".
        case: "strongly_convex" or "general_convex".

    Returns:
        Left the bound at $\epsilon^2=0$ plus $10^{-9}$, right at $\epsilon^2=10^9$.
    """
    little, much = (
        right_side(
            number,
            case,
            Setting(UNIFORM, G2=ONE, I_err=ONE, sigma=ONE, epsilon2=Fraction(e)),
            10,
        )
        for e in (0, 10**9)
    )
    return Finding(
        f"N = 2, a = (1/2, 1/2), S = mu = sigma = G = I_err = 1, tau = 1, {case}",
        common_checks(Setting(UNIFORM)),
        little + TINY,
        much,
        "T = 10, an increase of at least 10^-9",
    )


def larger_rate(number: str) -> Finding:
    r"""Break "one should use a smaller learning rate when $\tau$ increases".

    For $\tau<\tilde\tau$ the non-convex condition of SFL-V1 holds $\tau_{min}=\tau$ in
    its numerator: its largest rate grows with $\tau$.

    Args:
        number: "3.6" or "3.8".

    Returns:
        Left the largest rate at tau = 2, right at tau = 1, tau_server = 4.
    """
    few, more = (
        largest_rate(number, "non_convex", Setting(UNIFORM, tau=tau, tau_server=4))
        for tau in (1, 2)
    )
    return Finding(
        "N = 2, a = (1/2, 1/2), q = 1, S = 1, tau_server = 4, tau = 1 and 2",
        common_checks(Setting(UNIFORM)),
        Interval.of(more),
        Interval.of(few),
        "largest rate at tau = 2 <= largest rate at tau = 1",
    )


def constant_rate_stalls(eta: Fraction = Fraction(1, 16)) -> Finding:
    r"""Break "a proper choice of constant learning rate suffices for convergence".

    $F=h(x_s)$, h Huber, $x^0=0$, noise $\pm1$: $x^{t+1}=(1-\eta)x^t\mp\eta$ stays in
    $[-1,1]$, where h is quadratic, and
    $\mathbb E(x^{t+1})^2\ge\eta^2$, so the gap is at least $\eta^2/2$ for every
    $t\ge1$ and every $\eta\in(0,1]$: it has no limit 0. A rate that depends on T is
    another matter.

    Args:
        eta: the rate; every one that is admitted does.

    Returns:
        Left the least gap over all t >= 1, right its claimed limit 0.
    """
    setting = Setting((ONE,), G2=Fraction(2), sigma=ONE)
    return Finding(
        f"N = 1, F = h(x_s), h Huber, S = 1, x^0 = 0, noise +-1, tau = 1, eta = {eta}",
        (
            *common_checks(setting),
            at_most("3.1: slope of h' at most S", 1, 1),
            equal("3.2: variance sigma^2", (ONE + ONE) / 2, 1),
            at_most("3.3 everywhere with G^2 = 2: |h'|^2 + sigma^2", 1 + ONE, 2),
            at_most("3.4: N = 1, divergence 0", 0, 0),
            admitted("3.6", "general_convex", setting, eta),
            admitted("3.6", "non_convex", setting, eta),
            at_most("|(1 - eta) x| + eta <= 1 on [-1, 1]", (1 - eta) + eta, 1),
        ),
        Interval.of(eta**2 / 2),
        Interval.of(0),
        "every t >= 1; E f(x^t) - f* -> 0",
    )


def not_only_weights() -> Finding:
    r"""Break "the results differ only by $a_n^2+1$ for $a_n^2$", non-convex.

    At $\tau=\tilde\tau$ the second term of (13) has $\tau^2+\tilde\tau^2=2\tau^2$,
    that of (16) $\tau^2$.

    Returns:
        Left (13) with the weights replaced, right (16).
    """
    setting = Setting(UNIFORM, epsilon2=ONE, sigma=ONE)
    eta, rounds = Fraction(1, 64), 1
    a = symbols.a[symbols.n]
    bound = theorem("3.6").case("non_convex").bound("printed")
    squares = symbols.over_rounds(symbols.eta(symbols.t) ** 2)
    scalars = {**setting.scalars(), symbols.T: rounds, squares: eta**2}
    replaced = [
        part.xreplace({a**2: a**2 + 1}).xreplace(dict(bound.definitions))
        for part in bound.parts.values()
    ]
    values = [evaluate(part, scalars, setting.clients()) for part in replaced]
    return Finding(
        "N = 2, a = (1/2, 1/2), S = sigma = epsilon = 1, F_err = 0, tau = tau_server "
        f"= 1, eta = {eta}",
        (*common_checks(setting), admitted("3.6", "non_convex", setting, eta),
         admitted("3.7", "non_convex", setting, eta)),
        sum(values, start=Interval.of(0)),
        right_side("3.7", "non_convex", setting, rounds, eta),
        "T = 1",
    )  # fmt: skip


def cut_without_effect() -> Finding:
    r"""Break "SFL-V1's performance increases in $L_c$" at $\tau=\tilde\tau$ (Sec. 4.1).

    With equal periods SFL-V1 is FedAvg at every cut (Sec. 2.2), so its loss cannot
    depend on the cut. $F_n=\sum_jh(x_j-b_{n,j})$ in three coordinates, two clients, cut
    after the first or second coordinate.

    Returns:
        Left the loss at the larger cut plus $10^{-9}$, right that at the smaller.
    """
    centres = ((HALF, Fraction(0), -HALF), (Fraction(0), HALF, HALF))
    small, large = (_loss_after_a_round(centres, cut) for cut in (1, 2))
    return Finding(
        "N = 2, a = (1/2, 1/2), F_n = sum_j h(x_j - b_nj), d = 3, x^0 = 0, sigma = 0, "
        "tau = tau_server = 2, eta = 1/64, cut after coordinate 1 or 2",
        (
            at_most("3.1: slope of h' at most S", 1, 1),
            at_most("3.2: noise 0", 0, 0),
            at_most("3.3 everywhere: |h'| <= 1 per coordinate", 3, 3),
            at_most("3.4 everywhere with epsilon^2 = 3", 3, 3),
            at_most("eta <= 1/(16 S tau_max)", Fraction(1, 64), Fraction(1, 32)),
        ),
        Interval.of(large + TINY),
        Interval.of(small),
        "one round, a decrease of at least 10^-9",
    )


def _loss_after_a_round(
    centres: tuple[tuple[Fraction, ...], ...], cut: int
) -> Fraction:
    """Return the loss after a round; each block has its own aggregation."""
    eta, steps, weight = Fraction(1, 64), 2, HALF
    blocks = []
    for coordinates in (range(cut), range(cut, len(centres[0]))):
        models = []
        for b in centres:
            x = {j: Fraction(0) for j in coordinates}
            for _ in range(steps):
                x = {j: v - eta * (v - b[j]) for j, v in x.items()}
            models.append(x)
        blocks.append({j: sum((weight * x[j] for x in models), Fraction(0))
                       for j in coordinates})  # fmt: skip
    x = {**blocks[0], **blocks[1]}
    return sum(
        (weight * (x[j] - b[j]) ** 2 / 2 for b in centres for j in x), Fraction(0)
    )
