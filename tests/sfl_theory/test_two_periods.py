"""The convex repairs of SFL-V1 for any periods: rules, rounds and bounds.

Small federations with all outcomes of noise and participation run through (see
``test_local_sgd_rules``), the client side with rate theta/tau, the server side with
theta/tau_server. A rule with its upper side lowered must fail somewhere.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
import sympy as sp
from test_local_sgd_rules import Federation, N, Outcome, gram, worth

from sfl_theory import Bound, Constants
from sfl_theory.audits.han2024 import two_periods, two_periods_round
from sfl_theory.evidence import two_periods as rules
from sfl_theory.evidence.certificate import Certificate, Rejected, atom, check, vectors
from sfl_theory.papers import repaired

H = "assumed"
PERIODS = ((2, 1), (1, 2), (3, 2), (2, 3), (3, 1), (1, 3), (2, 2))


@dataclass
class TwoRates(Federation):
    """SFL-V1; ``eta`` is theta, which both sides divide by their own period."""

    convex: bool = True

    def run(self, present: np.ndarray, xi: np.ndarray, chance: float) -> Outcome:
        points, exact = (np.zeros((N, self.steps, 2)) for _ in range(2))
        local = np.tile(self.x, (N, 1))
        for i in range(self.steps):
            for n in range(N):
                points[n, i] = local[n]
                exact[n, i] = self.gradient(n, local[n])
                g = exact[n, i] + xi[n, i]
                for side, period in enumerate((self.tau, self.tau_server)):
                    if i < period:
                        local[n, side] -= self.eta / period * g[side]
        return Outcome(chance, present, points, exact, xi)

    def directions(self, o: Outcome) -> np.ndarray:
        g = o.exact + o.noise
        return np.stack(
            [g[:, : self.tau, 0].mean(1), g[:, : self.tau_server, 1].mean(1)], axis=-1
        )

    def weights(self, o: Outcome) -> np.ndarray:
        return self.a * o.present / np.array(self.q)

    def paired(self, o: Outcome) -> np.ndarray:
        """Return r_n(s) on a grid of s that both periods divide, shape (N, K, 2)."""
        grid = math.lcm(self.tau, self.tau_server)
        client = [k * self.tau // grid for k in range(grid)]
        server = [k * self.tau_server // grid for k in range(grid)]
        return np.stack([o.points[:, client, 0], o.points[:, server, 1]], axis=-1)

    @property
    def mean_problem(self) -> tuple[np.ndarray, np.ndarray]:
        return np.tensordot(self.a, self.A, 1), self.a @ self.b

    @property
    def optimum(self) -> np.ndarray:
        return np.linalg.solve(*self.mean_problem)

    def gap(self, x: np.ndarray) -> float:
        y = x - self.optimum
        return float(y @ self.mean_problem[0] @ y / 2)

    @property
    def mu(self) -> float:
        return float(np.linalg.eigvalsh(self.A).min())

    @property
    def G2(self) -> float:
        return max(
            float((o.exact[n, i] ** 2).sum() + self.scale[n] ** 2)
            for o in self.outcomes()
            for n in range(N)
            for i in range(self.steps)
        )

    @property
    def ratio(self) -> sp.Rational:
        return sp.Rational(min(self.tau, self.tau_server), self.steps)

    @property
    def rho(self) -> float:
        q = np.array(self.q)
        return float(self.a**2 @ ((1 - q) / q))


def federations(count: int = 21) -> Iterator[TwoRates]:
    for seed in range(count):
        rng = np.random.default_rng(700 + seed)
        tau, tau_server = PERIODS[seed % len(PERIODS)]
        q = (0.5, 0.75) if seed % 2 and tau + tau_server < 5 else (1.0, 1.0)
        yield TwoRates(rng, tau, tau_server, q=q, eta=rng.uniform(0.05, 0.6))


def facts(fed: TwoRates, r: float = 1.0) -> dict[str, float]:
    """Return the worth of every rule; ``r`` lowers its upper side."""
    y = fed.x - fed.optimum

    def cost(o: Outcome) -> np.ndarray:
        at = np.einsum("nij,nkj->nki", fed.A, fed.paired(o)) - fed.b[:, None]
        met = np.stack(
            [
                o.exact[:, : fed.tau, 0].mean(1),
                o.exact[:, : fed.tau_server, 1].mean(1),
            ],
            axis=-1,
        )
        return fed.a @ (met - at.mean(1))

    share = float(1 - fed.ratio)
    runs = list(fed.outcomes())
    costs = [cost(o) for o in runs]
    if share == 0:
        assert np.allclose(costs, 0)
    scaled = np.stack(costs) / (share or 1)
    chances = np.array([o.probability for o in runs])
    family = [np.tile(y, (len(runs), 1)), scaled]
    moments = np.array([[chances @ (u * v).sum(1) for u in family] for v in family])
    total = np.stack([fed.weights(o) @ fed.directions(o) for o in runs])
    drifts = [((fed.paired(o) - fed.x) ** 2).sum(2).mean(1) @ fed.a for o in runs]
    atoms = gram(["y", "e"], moments) | {
        "P": float(chances @ (total @ y)),
        "Q": float(chances @ (total**2).sum(1)),
        "D": float(chances @ np.array(drifts)),
        "gap": fed.gap(fed.x),
    }
    P, Q, D, gap = (atom(k) for k in ("P", "Q", "D", "gap"))
    vy, ve = vectors("y e")
    G2 = r * fed.G2
    return {
        "convexity": worth(
            rules.paired_convexity(P, gap, vy, ve * share, D, fed.mu, fed.S, H), atoms
        ),
        "unpaired": worth(rules.unpaired(ve, fed.S, fed.eta, G2, H), atoms),
        "drift": worth(rules.paired_drift(D, fed.eta, G2, H), atoms),
        "second": worth(rules.mean_directions(Q, fed.ratio, fed.rho, G2, H), atoms),
    }


@pytest.mark.parametrize(
    "fed", [pytest.param(f, id=f"{f.tau}-{f.tau_server}") for f in federations()]
)
def test_rules_hold(fed: TwoRates) -> None:
    for name, value in facts(fed).items():
        assert value >= -1e-9, name


def test_rules_are_not_vacuous() -> None:
    broken: set[str] = set()
    for fed in federations():
        broken |= {k for k, v in facts(fed, r=0.01).items() if v < -1e-9}
    assert broken >= {"unpaired", "drift", "second"}


@pytest.mark.parametrize(("tau", "tau_server"), (*PERIODS, (7, 3), (3, 8), (5, 4)))
def test_mean_lag_is_the_one_of_the_proof(tau: int, tau_server: int) -> None:
    """The integrals in the proof of ``unpaired``, in exact arithmetic."""
    more, less = max(tau, tau_server), min(tau, tau_server)
    grid = math.lcm(more, less)
    pairs = [(k * more // grid, k * less // grid) for k in range(grid)]
    faster = sum(sp.Rational(min(i, less) - j, less) for i, j in pairs) / grid
    slower = sum(sp.Rational(i - j, more) for i, j in pairs) / grid
    share = 1 - sp.Rational(less, more)
    assert all(i >= j for i, j in pairs)
    assert faster == share / 2 * (1 + sp.Rational(1, less))
    assert slower == share / 2
    assert faster**2 + slower**2 <= sp.Rational(5, 4) * share**2


def test_cost_of_unequal_periods_is_tight() -> None:
    """Curvature S/2 across the blocks, gradients of the server alone: 1/4 of 5/16."""
    fed = TwoRates(np.random.default_rng(0), 2, 1, eta=1e-6)
    fed.A[:] = np.ones((2, 2)) / 2 + 1e-9 * np.eye(2)
    fed.b[:], fed.x, fed.S = np.array([0.0, 1.0]), np.zeros(2), 1.0
    fed.scale[:] = 0
    assert facts(fed)["unpaired"] > 0
    assert facts(fed, r=0.79)["unpaired"] < 0


def test_second_moment_is_tight() -> None:
    """Constant gradients and equal periods: G^2 (1 + rho) is met."""
    fed = TwoRates(np.random.default_rng(0), 2, 2, q=(0.5, 0.25), eta=1e-9)
    fed.A[:], fed.b[:] = np.eye(2), np.array([0.0, 1.0])
    fed.x, fed.scale[:] = np.zeros(2), 0
    assert facts(fed)["second"] >= -1e-9
    assert facts(fed, r=0.99)["second"] < 0


def test_unequal_periods_exceed_the_second_moment_of_one_gradient() -> None:
    """The server's step turns its gradient into the client's: ||d||^2 = 5/4 G^2."""
    fed = TwoRates(np.random.default_rng(0), 2, 1, eta=2.0)
    fed.A[:] = np.ones((2, 2)) / 2 + 1e-9 * np.eye(2)
    fed.b[:], fed.x, fed.S = np.array([0.0, -1.0]), np.zeros(2), 1.0
    fed.scale[:] = 0
    assert facts(fed)["second"] >= 0
    assert facts(fed, r=0.83)["second"] < 0  # 5/4 of 3/2


def recursion(fed: TwoRates, strongly: bool) -> float:
    """Return right minus left of one round."""
    y = fed.x - fed.optimum
    move = fed.mean(
        lambda o: (
            (y - fed.eta * fed.weights(o) @ fed.directions(o))
            @ (y - fed.eta * fed.weights(o) @ fed.directions(o))
        )
    )
    proof = (
        two_periods_round.one_round("x")
        if strongly
        else two_periods_round.one_round_without_mu("x")
    )
    names = two_periods_round
    values = {
        names.mu: fed.mu,
        names.S: fed.S,
        names.G2: fed.G2,
        names.rho: fed.rho,
        names.theta: fed.eta,
        names.ratio: fed.ratio,
        atom("gap_t"): fed.gap(fed.x),
        atom("<x-x*,x-x*>"): float(y @ y),
    }
    return float(proof.right.subs(values)) - float(move)


@pytest.mark.parametrize("strongly", [True, False])
def test_no_round_breaks_the_recursion(strongly: bool) -> None:
    for seed, fed in enumerate(federations(42)):
        if seed % 3 == 0:
            fed.scale[:] = 0
        if seed % 4 == 1:
            fed.x = fed.optimum
        fed.eta *= (1.0, 0.01, 5.0)[seed % 3]
        assert recursion(fed, strongly) >= -1e-9


def trajectory(fed: TwoRates, rates: list[float]) -> tuple[list[np.ndarray], float]:
    """Return x^0, x^1, ... with exact gradients and everyone, and G^2 met."""
    fed.scale[:] = 0
    points, largest = [fed.x], 0.0
    for rate in rates:
        fed.eta = rate
        run = fed.run(np.ones(N), np.zeros((N, fed.steps, 2)), 1.0)
        largest = max(largest, float((run.exact**2).sum(2).max()))
        fed.x = fed.x - rate * fed.weights(run) @ fed.directions(run)
        points.append(fed.x)
    return points, largest


def constants(fed: TwoRates, G2: float, start: np.ndarray) -> Constants:
    return Constants(
        S=fed.S,
        mu=fed.mu,
        G2=G2,
        weights=tuple(fed.a),
        participation=1.0,
        tau=fed.tau,
        tau_server=fed.tau_server,
        initial_distance2=float(((start - fed.optimum) ** 2).sum()),
    )


@pytest.mark.parametrize("setting", repaired.TWO_PERIODS)
@pytest.mark.parametrize("seed", range(14))
def test_strongly_convex_bound_holds(setting: repaired.Setting, seed: int) -> None:
    rng = np.random.default_rng(900 + seed)
    fed = TwoRates(rng, *PERIODS[seed % len(PERIODS)])
    fed.S, start = float(np.linalg.eigvalsh(fed.A).max()), fed.x
    bound = repaired.strongly_convex(setting)
    schedule = bound.step_size.schedule(constants(fed, 1.0, start))
    at = np.arange(6, dtype=float)
    theta = schedule.client(at) * fed.tau
    assert np.allclose(schedule.server(at) * fed.tau_server, theta)
    gamma = 8 * fed.S / fed.mu - 1
    assert np.allclose(theta, 4 / (fed.mu * (gamma + at)))
    points, G2 = trajectory(fed, list(theta))
    values = constants(fed, G2, start)
    for T, x in enumerate(points):
        assert fed.gap(x) <= bound.evaluate(values, [T])[0]


@pytest.mark.parametrize("setting", repaired.TWO_PERIODS)
@pytest.mark.parametrize("seed", range(14))
def test_general_convex_bound_holds(setting: repaired.Setting, seed: int) -> None:
    rng = np.random.default_rng(950 + seed)
    fed = TwoRates(rng, *PERIODS[seed % len(PERIODS)])
    start = fed.x
    bound = repaired.general_convex_two_periods(setting)
    schedule = bound.step_size.schedule(constants(fed, 1.0, start))
    rate = float(schedule.client(np.zeros(1))[0])
    assert schedule.server(np.zeros(1))[0] * fed.tau_server == pytest.approx(
        rate * fed.tau
    )
    points, G2 = trajectory(fed, [rate * fed.tau] * 5)
    values = constants(fed, G2, start)
    weighted = 0.0
    for T, x in enumerate(points[:-1], start=1):
        weighted += rate * fed.gap(x)
        assert weighted / T <= bound.evaluate(values, [T])[0]


@pytest.mark.parametrize("place", [0, 1])
def test_equal_periods_give_the_bound_for_one_period(place: int) -> None:
    """General convex: nothing is lost where the periods are equal."""
    setting, usual = repaired.TWO_PERIODS[place], repaired.SETTINGS[2 * place]
    assert setting.number == usual.number
    mine = repaired.general_convex_two_periods(setting)
    other = repaired.general_convex(usual)
    values = Constants(
        S=2, G2=3, weights=(0.3, 0.7), participation=(0.5, 0.8), tau=3, tau_server=3,
        initial_distance2=1,
    )  # fmt: skip
    rounds = np.array([1, 5, 40])
    assert np.allclose(mine.evaluate(values, rounds), other.evaluate(values, rounds))


BUILDERS = [
    build
    for setting in repaired.TWO_PERIODS
    for build in (
        *two_periods.strongly_convex("x", setting),
        *two_periods.general_convex("x", setting),
    )
]


@pytest.mark.parametrize("build", BUILDERS)
def test_certificates_replay(build: partial[Certificate]) -> None:
    check(build(), "x")


def test_partial_participation_leaves_its_sum_free() -> None:
    """The bounds of 3.8 are proved for every rho, those of 3.6 for rho = 0."""
    for setting, value in zip(repaired.TWO_PERIODS, (False, True), strict=True):
        for end in (two_periods.strongly_convex_end, two_periods.general_convex_end):
            domain = end("x", setting).domain
            assert (domain.values[two_periods.rho] in domain.free) == value


@pytest.mark.parametrize("place", range(5))
@pytest.mark.parametrize("name", ["one_round", "one_round_without_mu"])
def test_every_fact_is_needed(name: str, place: int) -> None:
    proof = getattr(two_periods_round, name)("x")
    rest = proof.uses[:place] + proof.uses[place + 1 :]
    with pytest.raises(Rejected):
        check(replace(proof, uses=rest), "x")


def test_smaller_bounds_are_rejected(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sums end in the words of the bounds and in nothing smaller."""
    setting = repaired.TWO_PERIODS[1]
    for name, end in (
        ("strongly_convex", two_periods.strongly_convex_end),
        ("general_convex_two_periods", two_periods.general_convex_end),
    ):
        whole: Bound = getattr(repaired, name)(setting)
        for part, formula in whole.parts.items():
            lower = {**whole.parts, part: formula * sp.Rational(9, 10)}
            less = replace(whole, parts=lower)
            with monkeypatch.context() as patch:
                patch.setattr(repaired, name, lambda _, less=less: less)
                with pytest.raises(Rejected):
                    check(end("x", setting), "x")
