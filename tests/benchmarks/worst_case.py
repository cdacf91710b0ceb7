"""Seconds, sizes and gaps of the worst cases that issue "Exact worst cases" names.

Run ``python tests/benchmarks/worst_case.py [NAME ...]``; two cores, one thread. Each
case is solved, certified, reached from below, written as a proof of the kernel, and
that is replayed by the standalone checker from its file.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from fractions import Fraction as Q
from pathlib import Path
from typing import TypeVar

from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.proof import prove
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import chained, fewest, worst_case

CHECKER = Path(__file__).parents[2] / "sfl_theory" / "kernel" / "check.py"
T = TypeVar("T")


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


def v2(clients: int, rounds: int, tau: int = 2, **more: object) -> Setting:
    sides = steps(Q(1, 2 * clients), rounds)
    return Setting("sfl-v2", tau, *sides, Q(1), Q(1, 10), clients=clients, **more)


BOUNDED = {"G2": Q(1), "start": "gradients"}
ZETA = {"zeta2": Q(1), "metric": "distance"}
NON_CONVEX = {
    "mu": None, "eps2": Q(1), "start": "gap", "metric": "gradient",
    "reading": "average", "eta": Q(1, 8),
}  # fmt: skip
NOISE = {"sigma2": Q(1, 10)}
CASES = {
    "bounded-20": v1(10, **BOUNDED),
    "bounded-100": v1(50, **BOUNDED),
    "bounded-100-far": v1(50, metric="distance", **BOUNDED),
    "bounded-10-10": v1(10, tau=10, **BOUNDED),
    "bounded-10-10-far": v1(10, tau=10, metric="distance", **BOUNDED),
    "bounded-5-20": v1(20, tau=5, **BOUNDED),
    "bounded-kappa-2": v1(10, mu=Q(1, 2), **BOUNDED),
    "noise-10": v1(5, **NOISE, **BOUNDED),
    "noise-30": v1(15, **NOISE, **BOUNDED),
    "noise-30-zeta": v1(15, **NOISE, **ZETA),
    "zeta-40": v1(20, zeta2=Q(1)),
    "zeta-40-far": v1(20, **ZETA),
    "convex-40": v1(20, mu=Q(0), zeta2=Q(1), eta=Q(1, 4)),
    "non-convex-40": v1(20, **NON_CONVEX),
    "v2-2-64": v2(2, 16, **BOUNDED),
    "v2-3-63": v2(3, 7, tau=3, **BOUNDED),
    "v2-4-64": v2(4, 8, **BOUNDED),
    "v2-2-64-zeta": v2(2, 16, **ZETA),
    "v2-2-20-noise": v2(2, 5, **NOISE, **BOUNDED),
    "v2-2-20-noise-zeta": v2(2, 5, **NOISE, **ZETA),
}


def main() -> None:
    for name in sys.argv[1:] or CASES:
        found, wall, busy = timed(lambda name=name: worst_case(CASES[name]))
        sound, _, checked = timed(
            lambda found=found: found.certificate and check(found.certificate) is None
        )
        gap = None
        if found.upper is not None and found.lower is not None:
            gap = float(found.upper / found.lower - 1)
        print(
            f"{name:18} value {found.value:.6g}  certified {bool(sound)}  "
            f"upper / lower - 1 = {gap if gap is None else format(gap, '.1e')}  "
            f"{wall:.1f} s, {busy:.1f} s busy, check {checked:.2f} s  "
            f"{len(found.found.constraints)} inequalities  {'; '.join(found.failed)}",
            flush=True,
        )
        if sound:
            thin, _, thinned = timed(lambda found=found: chained(fewest(found)))
            file, _, derived = timed(
                lambda thin=thin: prove(thin.certificate, sparse=True).document()
            )
            print(
                f"{'':18} proof: {thinned:.1f} s thinned, {derived:.1f} s derived, "
                f"{len(file) / 1e3:.0f} kB, bound grows by "
                f"{float(thin.upper / found.upper - 1):.1e}, "
                f"{len(thin.certificate.uses)} inequalities, "
                f"replayed in {replayed(file):.2f} s",
                flush=True,
            )


def timed(once: Callable[[], T]) -> tuple[T, float, float]:
    """Return what a call gives, its seconds on the clock and of the processor."""
    wall, busy = time.perf_counter(), time.process_time()
    out = once()
    return out, time.perf_counter() - wall, time.process_time() - busy


def replayed(file: str) -> float:
    """Return the processor time of the standalone checker, the less of three runs."""
    seconds = []
    with tempfile.NamedTemporaryFile("w", suffix=".json") as proof:
        proof.write(file)
        proof.flush()
        for _ in range(3):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            command = [sys.executable, "-I", "-S", str(CHECKER), proof.name]
            said = subprocess.run(command, capture_output=True, text=True, check=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            assert said.stdout.endswith(": 1 proved, 0 refuted\n"), said.stdout[-200:]
            seconds.append(
                after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            )
    return min(seconds)


if __name__ == "__main__":
    main()
