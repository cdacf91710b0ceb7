"""All printed bounds at a million rounds, beside one numpy formula of the same size.

Run ``python tests/benchmarks/theory_speed.py``. The first pass includes taking the
formulas apart; the second shows evaluation alone.
"""

from __future__ import annotations

import time

import numpy as np

from sfl_theory import Constants, theorems

ROUNDS = np.arange(1, 10**6 + 1)
CONSTANTS = Constants(
    S=2.0,
    mu=0.1,
    sigma2=1.0,
    G2=3.0,
    eps2=0.5,
    weights=(0.1,) * 10,
    participation=0.5,
    tau=5,
    tau_server=3,
    initial_distance2=2.0,
    initial_gap=1.0,
    Gamma=0.1,
    R2=3.0,
    initial_distance2_client=1.0,
    initial_distance2_server=1.0,
    distance2_client=0.5,
    distance2_server=0.3,
)


def evaluate_all() -> int:
    """Evaluate every printed bound and return how many there are."""
    bounds = [case.bound() for item in theorems() for case in item.cases.values()]
    for bound in bounds:
        bound.evaluate(CONSTANTS, ROUNDS)
    return len(bounds)


def by_hand() -> np.ndarray:
    """Return a bound of three terms in T written out in numpy."""
    T = ROUNDS.astype(float)
    return 3.0 / (7.0 + T) + 5.0 / (7.0 + T) + 2.0 / (7.0 + T)


def seconds(work) -> tuple[float, object]:
    """Return the time of one call and what it returned."""
    start = time.perf_counter()
    result = work()
    return time.perf_counter() - start, result


def main() -> None:
    """Print the times and the ratio per bound to the formula by hand."""
    first, count = seconds(evaluate_all)
    again = min(seconds(evaluate_all)[0] for _ in range(5))
    plain = min(seconds(by_hand)[0] for _ in range(5))
    print(f"{count} bounds at 10^6 rounds, first time: {first:.3f} s")
    print(f"{count} bounds at 10^6 rounds, again:      {again:.3f} s")
    print(f"one bound by hand in numpy:          {plain:.4f} s")
    print(f"ratio per bound, first time: {first / count / plain:.2f}")
    print(f"ratio per bound, again:      {again / count / plain:.2f}")


if __name__ == "__main__":
    main()
