"""Ratios of printed, best, candidate and lower bounds over a grid of constants.

    python tests/benchmarks/sharpness.py

Candidates are formulas derived by hand before anything was certified; they are written
out here. ``best`` below one of them is a bound that the kernel proves and that says
more. Both are clipped at what the assumptions give without a bound.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
from numpy.typing import NDArray

from sfl_theory import Constants, schedules, theorem
from sfl_theory.best import proved_versions
from sfl_theory.bound import total
from sfl_theory.conditions import Algorithm
from sfl_theory.lower import LONGEST, lower_bound, trivial
from sfl_theory.statement import Case

ROUNDS = np.array([1, 10, 100, 10**3, 10**4, 10**5, 10**6])
GRID = {
    "N": (2, 10, 100),
    "tau": (1, 5, 50),
    "kappa": (1, 10, 100, 1000),
    "noise": (0.0, 0.1, 1.0),
    "weights": ("equal", "unequal"),
}
CHANCES = (1.0, 0.5, 0.1)
WEIGHTED = Algorithm(weighted_server=True)
Values = NDArray[np.float64]


def settings(partial: bool) -> Iterator[Constants]:
    """Yield the grid, G = 1 and mu = 1, started as far out as G allows.

    Args:
        partial: whether clients are drawn.

    Yields:
        Constants.
    """
    chances = CHANCES if partial else (1.0,)
    for N, tau, kappa, noise, kind, q in product(*GRID.values(), chances):
        raw = np.ones(N) if kind == "equal" else np.arange(1.0, N + 1)
        yield Constants(
            S=kappa, mu=1, sigma2=noise, G2=1, R2=1, eps2=1, Gamma=1 / 2,
            weights=tuple(raw / raw.sum()), tau=tau, tau_server=tau, participation=q,
            initial_distance2=1, initial_gap=0.5, initial_distance2_client=0.5,
            initial_distance2_server=0.5,
        )  # fmt: skip


def sums(c: Constants) -> tuple[float, float, float, float]:
    """Return sum a^2 sigma^2, sum a sigma^2, Q' = sum a^2 r and Om, r = 1/q - 1."""
    a, s2 = c.per_client("weights"), c.per_client("sigma2")
    r = 1 / c.per_client("participation") - 1
    Q = float((a**2 * r).sum())
    return (
        float((a**2 * s2).sum()),
        float((a * s2).sum()),
        Q,
        1 + 3 * Q + float((a**3 * r**2).sum()),
    )


def strongly_convex(number: str) -> Callable[[Constants], Values]:
    """Return R1, or R1 for drawn clients."""

    def value(c: Constants) -> Values:
        s2, _, Q, om = sums(c)
        g = 8 * c.S / c.mu - 1
        late, S, mu, G2, tau = g + ROUNDS, c.S, c.mu, c.G2, c.tau
        first = (g / late) ** 4 * c.initial_gap
        if number == "3.9":
            drawn = 8 / 3 * S * G2 * (1 + Q) / (mu**2 * late)
            return first + drawn + 16 * S**2 * G2 * om / (mu**3 * late**2)
        noise = 56 / 9 * S * s2 / (tau * mu**2 * late)
        drawn = 8 / 3 * Q * S * G2 / (mu**2 * late)
        return first + noise + drawn + 16 / 3 * S**2 * G2 / (mu**3 * late**2)

    return value


def general_convex(number: str) -> Callable[[Constants], Values]:
    """Return R2 (a) or (d), mean iterate, at its best constant step."""

    def value(c: Constants) -> Values:
        _, _, Q, om = sums(c)
        level = {"3.6": 7 / 6, "3.7": 7 / 6, "3.8": 7 / 6 + Q, "3.9": 1 + Q + om / 2}
        second, far = level[number] * c.G2, c.initial_distance2
        alpha = np.minimum(1 / (2 * c.S), np.sqrt(far / (second * ROUNDS)))
        return far / (2 * alpha * ROUNDS) + alpha * second / 2

    return value


def non_convex(number: str) -> Callable[[Constants], Values]:
    """Return R3 at its best constant step, mean of squared gradients."""

    def value(c: Constants) -> Values:
        s2, mean, Q, om = sums(c)
        S, tau, F0, G2 = c.S, c.tau, c.initial_gap, c.G2
        q = c.per_client("participation")
        a = c.per_client("weights")
        spread = mean / tau + c.eps2
        largest = 1 / (8 * S)
        if number in ("3.6", "3.7"):
            A, B, C = 15 / 7 * F0, 15 / 7 * S * s2 / tau, 32 / 7 * S**2 * spread
        elif number == "3.8":
            rho = float((a * (1 / q - 1)).max())
            drawn = (a**2 / q * c.per_client("sigma2")).sum() / tau + 2 * rho * c.eps2
            A, B, C = 2.8 * F0, 2.8 * S * drawn, 2.8 * 0.86 * S**2 * spread
            largest = min(largest, 1 / (16 * S * rho) if rho else np.inf)
        else:
            A, B, C = 2 * F0, S * G2 * (1 + Q), S**2 * G2 * om
        alphas = largest * np.geomspace(1e-7, 1, 2000)[:, None]
        return (A / (alphas * ROUNDS) + B * alphas + C * alphas**2).min(axis=0)

    return value


def minibatch(halved: bool) -> Callable[[Constants], Values]:
    """Return the smaller of A1 and A2, or S/2 times it: the gap."""

    def value(c: Constants) -> Values:
        a, s2 = c.per_client("weights"), c.per_client("sigma2")
        noise, K, far = sums(c)[0], c.tau, c.initial_distance2
        drift = (K - 1) * (K * c.eps2 + float((a * (1 - a) * s2).sum()))
        g, n = max(8 * c.S / c.mu - 1, K), ROUNDS * K
        once = max(4 * (noise + 99 / 98 * drift) / c.mu**2, (g + 1) * far) / (g + n)
        late = 198 / 7 * c.S / c.mu**3 * drift * np.log((g + n - 1) / (g - 1))
        twice = (g - 1) * (g - 2) * far + 4 * n / c.mu**2 * noise + late
        least = np.minimum(once, twice / ((g + n - 1) * (g + n - 2)))
        return c.S / 2 * least if halved else least

    return value


def cut_layer(c: Constants) -> Values:
    """Return B1 at its best constant step."""
    s2, mean, _, _ = sums(c)
    A, B = 2.02 * c.initial_gap, 2.02 * c.S * s2 / c.tau
    C = c.S**2 * (1.36 * c.eps2 + 1.02 * mean / c.tau)
    alphas = 1 / (16 * c.S) * np.geomspace(1e-7, 1, 2000)[:, None]
    return (A / (alphas * ROUNDS) + B * alphas + C * alphas**2).min(axis=0)


def nothing(c: Constants) -> Values:
    """Return that there was no candidate."""
    del c
    return np.full(ROUNDS.shape, np.nan)


HAN = {
    "strongly_convex": strongly_convex,
    "general_convex": general_convex,
    "non_convex": non_convex,
}
CANDIDATES: dict[tuple[str, str], Callable[[Constants], Values]] = {
    (number, name): candidate(number)
    for number in ("3.6", "3.7", "3.8", "3.9")
    for name, candidate in HAN.items()
} | {
    ("huang2023/prop-1", "strongly_convex"): minibatch(halved=False),
    ("huang2023/prop-2", "strongly_convex"): minibatch(halved=False),
    ("huang2023/thm-1", "strongly_convex"): minibatch(halved=True),
    ("dachille2024/prop-1", "non_convex"): cut_layer,
    ("li2020/thm-1", "strongly_convex"): nothing,
}
"""Theorem and case -> its candidate."""


def best_values(case: Case, c: Constants) -> Values | None:
    """Return the smallest proved bound, means tuned at every T, or None.

    Args:
        case: of a theorem.
        c: constants.

    Returns:
        Shape of ``ROUNDS``.
    """
    rows = []
    known = proved_versions(case)
    weighted = case.name != "strongly_convex"
    for bound in known.values():
        if bound.unmet(c, algorithm=WEIGHTED) or bound.metric.weighted != weighted:
            continue
        if weighted:
            rows.append([bound.tuned(c, int(T), WEIGHTED).value for T in ROUNDS])
        else:
            rows.append(bound.evaluate(c, ROUNDS, algorithm=WEIGHTED).tolist())
    return np.min(rows, axis=0) if rows else None


def clip(case: Case, c: Constants) -> float:
    """Return what the assumptions give: G^2/(2 mu), G^2, or the first gap's S I/2."""
    if case.printed.metric.quantity in ("client", "server"):
        return c.G2 / c.mu**2
    return {
        "strongly_convex": c.G2 / (2 * c.mu),
        "general_convex": c.S * c.initial_distance2 / 2,
        "non_convex": c.G2,
    }[case.name]


def printed(case: Case, c: Constants) -> Values:
    """Return the printed bound, divided by the rate where it is weighted by it."""
    bound = case.printed
    if not bound.metric.weighted:
        return total(bound.formula(c, ROUNDS))
    eta = bound.step_size.schedule(c).value
    return total(bound.formula(c, ROUNDS, schedules.constant(eta))) / eta


def lower(case: Case, c: Constants) -> tuple[Values, Values] | None:
    """Return best and lower bound up to T = 10^4, equal weights only."""
    early = ROUNDS[ROUNDS <= LONGEST]
    try:
        best = case.best(c, early, algorithm=WEIGHTED)
    except ValueError:
        return None
    least = []
    for T, version in zip(early, best.versions, strict=True):
        bound = case.bound(version)
        value = lower_bound(case, c, [T], bound).values[0]
        known = trivial(bound, c, int(T))
        own = float(bound.evaluate(c, [int(T)], algorithm=WEIGHTED)[0])
        least.append((min(own, known), value))
    pairs = np.array(least)
    return pairs[:, 0], pairs[:, 1]


def main() -> None:
    """Print a line per case: median and largest ratio over the grid."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--thin", type=int, default=1, help="every k-th setting")
    parser.add_argument("--thin-lower", type=int, default=24)
    parser.add_argument("--only", default="", help="theorems whose name contains this")
    options = parser.parse_args()
    header = "printed/best median max | best/candidate median max | best/lower median"
    print(f"{'case':36} {header} max")
    for (key, name), candidate in CANDIDATES.items():
        if options.only not in key:
            continue
        case = theorem(key).case(name)
        above, against, opened = [], [], []
        grid = [*settings(key in ("3.8", "3.9"))]
        for k, c in enumerate(grid[:: options.thin]):
            best = best_values(case, c)
            if best is None:
                continue
            known = clip(case, c)
            ours = np.minimum(best, known)
            above.append(printed(case, c) / ours)
            against.append(ours / np.minimum(candidate(c), known))
            equal = len(set(c.weights)) == 1
            if equal and len(c.weights) <= 10 and k % options.thin_lower == 0:
                pair = lower(case, c)
                if pair is not None:
                    opened.append(pair[0] / np.maximum(pair[1], 1e-300))
        words = [f"{key:19} {name:16}"]
        for ratios in (above, against, opened):
            flat = np.concatenate(ratios) if ratios else np.array([np.nan])
            words.append(f"{np.median(flat):9.3g} {flat.max():9.3g}")
        print(" | ".join(words), flush=True)


if __name__ == "__main__":
    main()
