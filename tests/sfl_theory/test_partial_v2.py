"""The repaired Theorem 3.9, non-convex: its rules, its rounds and its bound.

Small federations with all outcomes of noise and participation run through (see
``test_local_sgd_rules``), in three visiting orders, one of which depends on who takes
part. A rule with its upper side lowered must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
import sympy as sp
from test_local_sgd_rules import Federation, N, Outcome, gram, worth

from sfl_theory import Constants, schedules, theorem
from sfl_theory.audits.han2024 import partial_v2
from sfl_theory.evidence import local_sgd, participation
from sfl_theory.evidence.certificate import Rejected, atom, check, norm2, vectors
from sfl_theory.papers import repaired_non_convex

H = "assumed"
NAMES = ("g", "B", "L", "V", "Z")


@dataclass
class Visited(Federation):
    """SFL-V2 with weighted server steps; the order of the visits is a choice."""

    order: str = "interleaved"
    shared_server: bool = True

    def visits(self, present: np.ndarray) -> list[tuple[int, int]]:
        steps = list(product(range(self.tau), range(N)))
        if self.order == "sequential":
            return sorted(steps, key=lambda visit: visit[::-1])
        if self.order == "by participants" and present[0]:
            return [(i, N - 1 - n) for i, n in steps]
        return steps

    def run(self, present: np.ndarray, xi: np.ndarray, chance: float) -> Outcome:
        points, exact = np.zeros((N, self.tau, 2)), np.zeros((N, self.tau, 2))
        weights = self.a * present / np.array(self.q)
        client, server = np.full(N, self.x[0]), self.x[1]
        for i, n in self.visits(present):
            points[n, i] = client[n], server
            exact[n, i] = self.gradient(n, points[n, i])
            g = exact[n, i] + xi[n, i]
            client[n] -= self.eta * g[0]
            server -= self.eta * weights[n] * g[1]
        return Outcome(chance, present, points, exact, xi)

    @property
    def steps(self) -> int:
        return self.tau

    def weights(self, o: Outcome) -> np.ndarray:
        return self.a * o.present / np.array(self.q)

    def after(self, o: Outcome) -> np.ndarray:
        moved = np.tensordot(self.weights(o), (o.exact + o.noise).sum(1), 1)
        return self.x - self.eta * moved

    def value(self, x: np.ndarray) -> float:
        A, b = np.tensordot(self.a, self.A, 1), self.a @ self.b
        return float(x @ A @ x / 2 - b @ x)

    @property
    def sums(self) -> dict[str, float]:
        a, q, variance = self.a, np.array(self.q), self.scale**2
        return {
            "kappa": float(a @ (1 / q)),
            "rho": float(a**2 @ ((1 - q) / q)),
            "sigma_a": float(a @ variance),
            "sigma_q": float(a**2 / q @ variance),
        }

    @property
    def at_x(self) -> np.ndarray:
        return np.stack([self.gradient(n, self.x) for n in range(N)])

    @property
    def eps2(self) -> float:
        return float(((self.at_x - self.a @ self.at_x) ** 2).sum(1).max())


def federations(count: int = 18) -> Iterator[Visited]:
    orders = ("interleaved", "sequential", "by participants")
    for seed in range(count):
        rng = np.random.default_rng(300 + seed)
        q = tuple(float(v) for v in rng.choice([0.2, 0.5, 0.9, 1.0], size=N))
        fed = Visited(
            rng,
            2 if seed % 4 else 1,
            2,
            q=(q[0], q[1]),
            eta=rng.uniform(0.02, 0.7),
            order=orders[seed % 3],
        )
        yield fed


def facts(fed: Visited, r: float = 1.0) -> dict[str, float]:
    """Return the worth of every rule; ``r`` lowers its upper side."""
    runs, tau, g = list(fed.outcomes()), fed.tau, fed.a @ fed.at_x
    chances = np.array([o.probability for o in runs])
    weights = [fed.weights(o) for o in runs]
    L = np.stack([tau * (w - fed.a) @ fed.at_x for w in weights])
    moved = np.stack([
        w @ (o.exact - fed.at_x[:, None]).sum(1)
        for w, o in zip(weights, runs, strict=True)
    ])
    Z = np.stack([w @ o.noise.sum(1) for w, o in zip(weights, runs, strict=True)])
    B = chances @ moved
    fixed = np.ones((len(runs), 1))
    family = [fixed * g, fixed * B, L, moved - B, Z]
    moments = np.array([[chances @ (u * v).sum(1) for u in family] for v in family])

    def mean(values: list[float]) -> float:
        return float(chances @ np.array(values))

    atoms = gram(list(NAMES), moments) | {
        "D": mean([
            float(w @ ((o.points - fed.x) ** 2).sum((1, 2)))
            for w, o in zip(weights, runs, strict=True)
        ]),
        "Gamma": mean([
            float(w @ (o.exact**2).sum((1, 2)))
            for w, o in zip(weights, runs, strict=True)
        ]),
        "F": float(fed.a @ (fed.at_x**2).sum(1)),
    }
    D, Gamma, F = atom("D"), atom("Gamma"), atom("F")
    vg, vB, vL, vV, vZ = vectors(" ".join(NAMES))
    s, eta, S = fed.sums, fed.eta, fed.S
    found = {
        "gradients": participation.participating_gradients(
            vL, norm2(vg), fed.eps2, tau, r * s["rho"], H
        ),
        "noise": participation.participating_noise(vZ, tau, r * s["sigma_q"], H),
        "mean": participation.mean_deviation(vB, r * D, tau, S, H),
        "variance": participation.deviation_variance(
            vB, vV, D, tau, r * s["kappa"], S, H
        ),
        "drift": participation.participating_drift(
            D, Gamma, np.sqrt(r) * eta, tau, s["kappa"], s["sigma_a"], s["sigma_q"], H
        ),
        "local": local_sgd.local_gradients(
            Gamma, F, D, tau, np.sqrt(r) * S, sp.Rational(1, 4), H
        ),
    }
    if r == 1:
        for fact in participation.centred((vg, vB), vL, vV, vZ, H):
            assert worth(fact, atoms) == pytest.approx(0, abs=1e-9)
        whole = norm2(tau * vg + vB + vL + vV + vZ)
        move = chances @ np.stack([((fed.after(o) - fed.x) ** 2).sum() for o in runs])
        split = participation.Fact("update", eta**2 * whole, H)
        assert worth(split, atoms) == pytest.approx(float(move))
    return {name: worth(fact, atoms) for name, fact in found.items()}


@pytest.mark.parametrize("fed", [pytest.param(f, id=f.order) for f in federations()])
def test_rules_hold(fed: Visited) -> None:
    for name, value in facts(fed).items():
        assert value >= -1e-9, name


def test_rules_are_not_vacuous() -> None:
    broken: set[str] = set()
    for fed in federations():
        broken |= {k for k, v in facts(fed, r=0.05).items() if v < -1e-9}
    assert broken >= {"gradients", "noise", "mean", "variance", "drift"}


def test_noise_of_the_server_moves_the_others() -> None:
    """Flat functions and a rare heavy client: its noise on the server is the drift."""
    fed = Visited(np.random.default_rng(0), 2, 2, q=(0.1, 1.0), eta=0.1)
    fed.A[:], fed.b[:] = 1e-9 * np.eye(2), 0
    fed.a, fed.x = np.array([0.95, 0.05]), np.zeros(2)
    fed.scale, fed.S = np.array([1.0, 0.0]), 1e-9
    noise = (fed.eta * fed.tau) ** 2 * 2 * fed.sums["kappa"] * fed.sums["sigma_q"]
    # without that noise term the rule would be false
    assert 0 <= facts(fed)["drift"] < noise


def test_noise_of_the_client_moves_its_own_side() -> None:
    """A light client with noise on its own side only: the other term is too small."""
    fed = Visited(np.random.default_rng(0), 2, 2, q=(1.0, 1.0), eta=0.1)
    fed.A[:], fed.b[:] = 1e-9 * np.eye(2), 0
    fed.a, fed.x = np.array([0.95, 0.05]), np.zeros(2)
    fed.scale, fed.S = np.array([0.0, 1.0]), 1e-9
    noise = (fed.eta * fed.tau) ** 2 * fed.sums["sigma_a"]
    assert 0 <= facts(fed)["drift"] < noise


def margins(fed: Visited, share: float = 1.0, gain: float | None = None) -> list[float]:
    """Return right minus left of one round, in sharp and in quadratic form."""
    if gain is None:
        gain = fed.value(fed.x) - float(fed.mean(lambda o: fed.value(fed.after(o))))
    s = fed.sums
    values = {
        partial_v2.S: fed.S,
        partial_v2.eta: fed.eta,
        partial_v2.tau: fed.tau,
        partial_v2.eps2: fed.eps2,
        **{getattr(partial_v2, name): number for name, number in s.items()},
    }
    g = fed.a @ fed.at_x
    left = fed.eta * fed.tau / 4 * float(g @ g)
    return [
        gain + share * float(form.subs(values)) - left
        for form in (partial_v2.SHARP, partial_v2.QUADRATIC)
    ]


def largest_rates(count: int) -> Iterator[Visited]:
    """Federations at the largest rate, half of them at the stationary point of f."""
    for seed, fed in enumerate(federations(count)):
        fed.eta = 1 / (8 * fed.S * fed.tau * fed.sums["kappa"])
        if seed % 2:
            A = np.tensordot(fed.a, fed.A, 1)
            fed.x = np.linalg.solve(A, fed.a @ fed.b)
        yield fed


def test_no_round_breaks_the_certified_inequality() -> None:
    for fed in largest_rates(120):
        assert min(margins(fed)) >= -1e-12


def test_a_round_breaks_it_with_smaller_constants() -> None:
    """At x* with curvature S along the noise, 1/2 of 5/8 is needed."""
    fed = Visited(np.random.default_rng(0), 1, 1, q=(0.5, 0.5))
    fed.A[:] = np.eye(2)
    fed.b[:] = fed.x = np.zeros(2)
    fed.S, fed.eta = 1.0, 1e-3
    assert margins(fed)[0] > 0
    assert margins(fed, share=0.75)[0] < 0


def test_unweighted_server_steps_break_it() -> None:
    """What the repair changes matters: sum_n grad F_n = 0 where grad f is not."""
    fed = Visited(np.random.default_rng(1), 1, 1, q=(1.0, 1.0), eta=1e-3)
    fed.A[:] = np.eye(2)
    fed.a = np.array([0.9, 0.1])
    fed.b = np.array([[0.0, 1.0], [0.0, -1.0]])
    fed.x, fed.scale, fed.S = np.zeros(2), np.zeros(N), 1.0
    assert min(margins(fed)) > 0
    step = np.array([(fed.a @ fed.at_x)[0], fed.at_x[:, 1].sum()])
    gain = fed.value(fed.x) - fed.value(fed.x - fed.eta * step)
    assert max(margins(fed, gain=gain)) < 0


@pytest.mark.parametrize("seed", range(12))
def test_bound_holds_over_rounds(seed: int) -> None:
    """Every outcome of participation over three rounds, exact gradients."""
    rng = np.random.default_rng(500 + seed)
    fed = Visited(rng, 2, 2, q=(0.4, 0.7), convex=True)
    fed.A[1] = fed.A[0]
    fed.S = float(np.linalg.eigvalsh(fed.A[0]).max())
    fed.scale[:] = 0
    rounds = 3
    best = fed.value(np.linalg.solve(fed.A[0], fed.a @ fed.b))
    values = Constants(
        S=fed.S,
        sigma2=0.0,
        eps2=fed.eps2,
        weights=tuple(fed.a),
        participation=fed.q,
        tau=2,
        initial_gap=fed.value(fed.x) - best,
    )
    fed.eta = 1 / (8 * fed.S * fed.tau * fed.sums["kappa"])
    measured, paths = 0.0, [(1.0, fed.x)]
    for _ in range(rounds):
        following = []
        for chance, x in paths:
            fed.x = x
            g = fed.a @ fed.at_x
            measured += chance * fed.eta * float(g @ g) / rounds
            for present in product((0, 1), repeat=N):
                here = np.prod([
                    q if p else 1 - q for p, q in zip(present, fed.q, strict=True)
                ])
                run = fed.run(np.array(present), np.zeros((N, 2, 2)), 1.0)
                following.append((chance * float(here), fed.after(run)))
        paths = following
    rate = schedules.constant(fed.eta)
    for bound in (
        repaired_non_convex.non_convex_v2_partial(),
        repaired_non_convex.non_convex_v2_sharp(),
    ):
        assert measured <= bound.evaluate(values, [rounds], rate)[0]


def test_repaired_bound_is_offered_at_its_largest_rate() -> None:
    bound = theorem("3.9").case("non_convex").bound("repaired")
    assert bound.expr == repaired_non_convex.non_convex_v2_partial().expr
    values = Constants(
        S=2, weights=(0.5, 0.5), participation=0.5, tau=3, sigma2=1, eps2=1,
        initial_gap=1,
    )  # fmt: skip
    rate = bound.step_size.schedule(values)
    assert rate.client(np.zeros(1))[0] == pytest.approx(1 / (8 * 2 * 3 * 2))
    # 4 F/(T tau) + [S/(2T) (7 sigma_q + sigma_a)
    #               + 5 S tau eps2/(4T) (4 rho + kappa)] E2
    expected = 4 / 6 + (2 / 4 * (7 * 1 + 1) + 5 * 2 * 3 / 8 * (4 * 0.5 + 2)) * 2 / 96**2
    assert bound.evaluate(values, [2])[0] == pytest.approx(expected)


PRINTED = theorem("3.9").case("non_convex").printed


def test_certificates_replay() -> None:
    for build in partial_v2.certificates("x", PRINTED):
        check(build(), "x")


@pytest.mark.parametrize("place", range(len(partial_v2.one_round("x").uses)))
def test_every_fact_is_needed(place: int) -> None:
    """Without any one of the facts the certificate of one round is rejected."""
    proof = partial_v2.one_round("x")
    rest = proof.uses[:place] + proof.uses[place + 1 :]
    with pytest.raises(Rejected):
        check(replace(proof, uses=rest), "x")


def test_larger_rates_are_rejected() -> None:
    proof = partial_v2.one_round("x")
    eta = partial_v2.eta
    wider = replace(
        proof.domain, values={**proof.domain.values, eta: 4 * proof.domain.values[eta]}
    )
    with pytest.raises(ValueError, match="not shown"):
        check(replace(proof, domain=wider), "x")


def test_a_smaller_bound_is_rejected() -> None:
    """The sum over rounds ends in the words of the bound and in nothing smaller."""
    bound = repaired_non_convex.non_convex_v2_partial()
    for name, part in bound.parts.items():
        lower = replace(bound, parts={**bound.parts, name: part * sp.Rational(9, 10)})
        with pytest.raises(Rejected):
            check(partial_v2.summed_rounds("x", lower, False), "x")
    less = {name: part / 20 for name, part in PRINTED.parts.items()}
    with pytest.raises(Rejected):
        check(partial_v2.printed_follows("x", replace(PRINTED, parts=less)), "x")
