"""PEPit, an independent toolbox, has the same worst cases for small runs.

PEPit (0.5.1 was seen) brings solvers of its own (extra ``worst-case``): the tests are
skipped where it is absent. Encodings are written from the algorithms' definitions, in
points and functions of PEPit; nothing of the package but ``worst_case`` is used.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction as Q
from itertools import product

import pytest

from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import worst_case

pytest.importorskip("PEPit")
from PEPit import PEP, Point
from PEPit.functions import SmoothFunction, SmoothStronglyConvexFunction

pytestmark = pytest.mark.long


@dataclass
class Case:
    """A run in floats, for PEPit; ``setting`` is the same for the package."""

    algorithm: str
    clients: int = 2
    tau: int = 1
    late: int | None = None
    rounds: int = 1
    eta_c: Q = Q(1, 2)
    eta_s: Q | None = None
    mu: Q | None = Q(1, 10)
    weights: tuple[Q, ...] = ()
    q: tuple[Q, ...] = ()
    zeta2: Q | None = Q(1)
    eps2: Q | None = None
    G2: Q | None = None
    metric: str = "gap"
    reading: str = "last"
    order: str = "client-sequential"
    more: dict[str, object] = field(default_factory=dict)

    @property
    def server(self) -> Q:
        return self.eta_c if self.eta_s is None else self.eta_s

    @property
    def setting(self) -> Setting:
        steps = ((self.eta_c,) * self.rounds, (self.server,) * self.rounds)
        return Setting(
            self.algorithm, self.tau, *steps, Q(1), self.mu, clients=self.clients,
            weights=self.weights, tau_server=self.late, zeta2=self.zeta2,
            eps2=self.eps2, G2=self.G2, metric=self.metric, reading=self.reading,
            order=self.order, participation=self.q,
            **self.more,
        )  # fmt: skip


class Encoded:
    """The run as a performance estimation problem of PEPit."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.problem = PEP()
        N = case.clients
        self.a = [float(a) for a in case.weights] or [1 / N] * N
        self.q = [float(q) for q in case.q] or [1.0] * N
        if case.mu is None:
            declared = [
                self.problem.declare_function(SmoothFunction, L=1.0) for _ in range(N)
            ]
        else:
            declared = [
                self.problem.declare_function(
                    SmoothStronglyConvexFunction, mu=float(case.mu), L=1.0
                )
                for _ in range(N)
            ]
        self.F = declared
        self.f = sum(
            (a * F for a, F in zip(self.a, declared, strict=True)), 0 * declared[0]
        )
        self.blocks = None
        alike = case.eta_c == case.server and case.late in {None, case.tau}
        if case.algorithm not in {"fedavg", "sfl-v1"} or not alike:
            self.blocks = self.problem.declare_block_partition(d=2)

    def part(self, v: Point, side: int) -> Point:
        return self.blocks.get_block(v, side)

    def scaled(self, v: Point, client: float, server: float) -> Point:
        if self.blocks is None:
            return client * v
        return client * self.part(v, 0) + server * self.part(v, 1)

    def gradient(self, n: int, x: Point) -> Point:
        g = self.F[n].gradient(x)
        if self.case.G2 is not None:
            self.problem.add_constraint(g**2 <= float(self.case.G2))
        return g

    def round(self, x: Point, present: list[int]) -> Point:
        case = self.case
        eta_c, eta_s = float(case.eta_c), float(case.server)
        local = dict.fromkeys(present, x)
        late = case.tau if case.late is None else case.late
        if case.algorithm in {"fedavg", "sfl-v1"}:
            for n in present:
                for i in range(max(case.tau, late)):
                    g = self.gradient(n, local[n])
                    on = (eta_c * (i < case.tau), eta_s * (i < late))
                    local[n] = local[n] - self.scaled(g, *on)
        elif case.algorithm == "minibatch-sfl":
            for _ in range(case.tau if present else 0):
                g = {n: self.gradient(n, local[n]) for n in present}
                p = {n: self.a[n] / self.q[n] for n in present}
                mean = sum((p[n] * g[n] for n in present), 0 * x) / sum(p.values())
                server = eta_s * self.part(mean, 1)
                for n in present:
                    local[n] = local[n] - eta_c * self.part(g[n], 0) - server
        else:
            visits = [(n, i) for n in present for i in range(case.tau)]
            if case.order == "interleaved":
                visits.sort(key=lambda visit: visit[1])
            client = {n: 0 * x for n in present}
            server = 0 * x
            for n, _ in visits:
                g = self.gradient(n, x + client[n] + server)
                client[n] = client[n] - eta_c * self.part(g, 0)
                server = server - eta_s / self.q[n] * self.part(g, 1)
            means = sum((self.a[n] / self.q[n] * client[n] for n in present), 0 * x)
            return x + means + server
        moves = (self.a[n] / self.q[n] * (local[n] - x) for n in present)
        new = x + sum(moves, 0 * x)
        if case.algorithm == "minibatch-sfl" and present:
            shared = local[present[0]]
            return x + self.part(new - x, 0) + self.part(shared - x, 1)
        return new

    def outcomes(self) -> list[tuple[float, list[int]]]:
        some = [(True,) if q == 1 else (True, False) for q in self.q]
        found = []
        for here in product(*some):
            chance = 1.0
            for h, q in zip(here, self.q, strict=True):
                chance *= q if h else 1 - q
            found.append((chance, [n for n, h in enumerate(here) if h]))
        return found

    def value(self) -> float:
        case, problem = self.case, self.problem
        start = problem.set_initial_point()
        star = None
        if case.mu is not None:
            star = self.f.stationary_point()
            problem.set_initial_condition((start - star) ** 2 <= 1)
            if case.zeta2 is not None:
                squares = (
                    a * F.gradient(star) ** 2
                    for a, F in zip(self.a, self.F, strict=True)
                )
                problem.add_constraint(sum(squares) <= float(case.zeta2))
        worlds, several = [[(1.0, start)]], self.outcomes()
        for _ in range(case.rounds):
            worlds.append([
                (p * chance, self.round(x, present))
                for p, x in worlds[-1]
                for chance, present in several
            ])
        if case.eps2 is not None:
            for x in [x for level in worlds[:-1] for _, x in level]:
                mean = self.f.gradient(x)
                for F in self.F:
                    away = (F.gradient(x) - mean) ** 2
                    problem.add_constraint(away <= float(case.eps2))
        if case.mu is None:
            self.without_convexity(worlds)
        elif case.metric == "distance":
            problem.set_performance_metric(
                sum(p * (x - star) ** 2 for p, x in worlds[-1])
            )
        else:
            gaps = (p * (self.f(x) - self.f(star)) for p, x in worlds[-1])
            problem.set_performance_metric(sum(gaps))
        return float(problem.solve(verbose=0, solver="CLARABEL"))

    def without_convexity(self, worlds: list[list[tuple[float, Point]]]) -> None:
        """f* is a number below f at a point: f* + |grad f|^2 / (2 S) <= f."""
        best = self.problem.set_initial_point()
        f_best, problem = self.f(best), self.problem
        problem.add_constraint(self.f.gradient(best) ** 2 == 0)
        (first,) = worlds[0]
        problem.set_initial_condition(self.f(first[1]) - f_best <= 1)
        for x in {id(x): x for level in worlds for _, x in level}.values():
            lower = self.f.gradient(x) ** 2 / 2
            problem.add_constraint(lower <= self.f(x) - f_best)
        T = self.case.rounds
        squares = (
            p / T * self.f.gradient(x) ** 2 for level in worlds[:-1] for p, x in level
        )
        problem.set_performance_metric(sum(squares))


CASES = {
    "descent": Case("fedavg", 1, rounds=3, mu=Q(0)),
    "one-step": Case("fedavg", metric="distance"),
    "fedavg": Case("fedavg", tau=2, rounds=2, eta_c=Q(1, 4)),
    "three-clients": Case("fedavg", 3, tau=2, eta_c=Q(1, 4)),
    "weights": Case("fedavg", tau=2, eta_c=Q(1, 4), weights=(Q(1, 4), Q(3, 4))),
    "bounded-gradients": Case("fedavg", tau=2, zeta2=None, G2=Q(1, 4)),
    "two-sides": Case("sfl-v1", tau=2, late=1, eta_c=Q(1, 4), eta_s=Q(1, 2)),
    "visits": Case("sfl-v2", tau=2, eta_c=Q(1, 4)),
    "interleaved": Case("sfl-v2", tau=2, eta_c=Q(1, 4), order="interleaved"),
    "minibatch": Case("minibatch-sfl", tau=2, eta_c=Q(1, 4)),
    "participation": Case("fedavg", rounds=2, q=(Q(1, 2), Q(1, 2)), eta_c=Q(1, 4)),
    "two-steps-each": Case("fedavg", tau=2, q=(Q(1, 2), Q(1, 3)), eta_c=Q(1, 4)),
    "visits-of-some": Case("sfl-v2", tau=2, q=(Q(1, 2), Q(1)), eta_c=Q(1, 4)),
    "minibatch-of-some": Case("minibatch-sfl", tau=2, q=(Q(1, 2),) * 2, eta_c=Q(1, 4)),
    "non-convex": Case(
        "fedavg", tau=2, rounds=2, eta_c=Q(1, 4), mu=None, zeta2=None, eps2=Q(1),
        metric="gradient", reading="average", more={"start": "gap"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_pepit_agrees(name: str) -> None:
    case = CASES[name]
    own, theirs = worst_case(case.setting, below=False).value, Encoded(case).value()
    assert theirs == pytest.approx(own, rel=1e-4)


def main() -> None:
    """Print the values of both."""
    for name, case in CASES.items():
        own, theirs = worst_case(case.setting, below=False).value, Encoded(case).value()
        print(f"{name:20} {own:.8f} {theirs:.8f} {theirs / own - 1:+.1e}", flush=True)


if __name__ == "__main__":
    main()
