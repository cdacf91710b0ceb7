"""Seconds, sizes and gaps of the worst cases that issue "Exact worst cases" names.

Run ``python tests/benchmarks/worst_case.py [NAME ...]``; two cores, one thread.
"""

from __future__ import annotations

import sys
import time
from fractions import Fraction as Q

from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import worst_case


def steps(eta: Q, rounds: int) -> tuple[tuple[Q, ...], tuple[Q, ...]]:
    return (eta,) * rounds, (eta,) * rounds


def v1(
    rounds: int,
    mu: Q | None = Q(1, 10),
    eta: Q = Q(1, 2),
    tau: int = 2,
    **more: object,
) -> Setting:
    return Setting("sfl-v1", tau, *steps(eta, rounds), Q(1), mu, **more)


def v2(clients: int, rounds: int, **more: object) -> Setting:
    sides = steps(Q(1, 2 * clients), rounds)
    return Setting("sfl-v2", 2, *sides, Q(1), Q(1, 10), clients=clients, **more)


BOUNDED = {"G2": Q(1), "start": "gradients"}
NON_CONVEX = {
    "mu": None, "eps2": Q(1), "start": "gap", "metric": "gradient",
    "reading": "average", "eta": Q(1, 8),
}  # fmt: skip
CASES = {
    "bounded-20": v1(10, **BOUNDED),
    "bounded-100": v1(50, **BOUNDED),
    "bounded-10-10": v1(10, tau=10, **BOUNDED),
    "bounded-10-10-far": v1(10, tau=10, metric="distance", **BOUNDED),
    "bounded-5-20": v1(20, tau=5, **BOUNDED),
    "bounded-kappa-2": v1(10, mu=Q(1, 2), **BOUNDED),
    "noise-10": v1(5, sigma2=Q(1, 10), **BOUNDED),
    "noise-30": v1(15, sigma2=Q(1, 10), **BOUNDED),
    "zeta-40": v1(20, zeta2=Q(1)),
    "convex-40": v1(20, mu=Q(0), zeta2=Q(1), eta=Q(1, 4)),
    "non-convex-40": v1(20, **NON_CONVEX),
    "v2-2-64": v2(2, 16, **BOUNDED),
    "v2-4-64": v2(4, 8, **BOUNDED),
    "v2-2-20-noise": v2(2, 5, sigma2=Q(1, 10), **BOUNDED),
}


def main() -> None:
    for name in sys.argv[1:] or CASES:
        wall, busy = time.perf_counter(), time.process_time()
        found = worst_case(CASES[name])
        wall, busy = time.perf_counter() - wall, time.process_time() - busy
        begun = time.process_time()
        sound = found.certificate is not None and check(found.certificate) is None
        checked = time.process_time() - begun
        gap = None
        if found.upper is not None and found.lower is not None:
            gap = float(found.upper / found.lower - 1)
        print(
            f"{name:16} value {found.value:.6g}  certified {sound}  "
            f"upper / lower - 1 = {gap if gap is None else format(gap, '.1e')}  "
            f"{wall:.1f} s, {busy:.1f} s busy, check {checked:.2f} s  "
            f"{len(found.found.constraints)} inequalities  {'; '.join(found.failed)}",
            flush=True,
        )


if __name__ == "__main__":
    main()
