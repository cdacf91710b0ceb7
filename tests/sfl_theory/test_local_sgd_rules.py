"""Every rule of the kernel holds on small federations, expectations enumerated.

Two clients with random quadratics in one client and one server coordinate, noise of
finite support, a few local steps: all outcomes of noise (and participation) are run
through, so every expectation in a rule is exact up to rounding, and the rule's
expression must not be negative. A rule with a constant lowered must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import product

import numpy as np
import pytest
import sympy as sp

from sfl_theory import Constants, numeric
from sfl_theory.evidence import kernel, local_sgd
from sfl_theory.evidence.certificate import (
    Fact,
    Vector,
    atom,
    coefficients,
    inner,
    vectors,
)
from sfl_theory.papers.repaired import SETTINGS

H = "assumed"
N = 2


@dataclass
class Outcome:
    """One outcome of all draws: probability, and what every client did."""

    probability: float
    present: np.ndarray
    points: np.ndarray  # (N, steps, 2)
    exact: np.ndarray  # gradients at the points
    noise: np.ndarray


@dataclass
class Federation:
    """Random quadratics F_n(x) = x'A_n x/2 - b_n'x and how a round is run."""

    rng: np.random.Generator
    tau: int = 2
    tau_server: int = 2
    convex: bool = False
    shared_server: bool = False
    q: tuple[float, float] = (1.0, 1.0)
    eta: float = 0.3
    A: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        rng = self.rng
        roots = rng.normal(size=(N, 2, 2))
        self.A = roots @ roots.transpose(0, 2, 1)
        if not self.convex:
            self.A -= rng.uniform(0, 2, size=(N, 1, 1)) * np.eye(2)
        self.b = rng.normal(size=(N, 2))
        self.a = rng.dirichlet([1.0, 1.0])
        self.x = rng.normal(size=2)
        self.scale = rng.uniform(0, 1.5, size=N)
        self.S = float(np.abs(np.linalg.eigvalsh(self.A)).max())

    @property
    def steps(self) -> int:
        return max(self.tau, self.tau_server)

    def gradient(self, n: int, x: np.ndarray) -> np.ndarray:
        return self.A[n] @ x - self.b[n]

    def outcomes(self) -> Iterator[Outcome]:
        """Run through noise (a sign times a fixed direction) and participation."""
        directions = [np.array([0.6, 0.8]), np.array([1.0, 0.0])]
        chances = [((1, q), (0, 1 - q)) if q < 1 else ((1, 1.0),) for q in self.q]
        for who in product(*chances):
            present = np.array([w[0] for w in who])
            chance = float(np.prod([w[1] for w in who]))
            for signs in product((-1, 1), repeat=N * self.steps):
                xi = np.array(signs).reshape(N, self.steps, 1) * np.stack([
                    self.scale[n] * directions[n] for n in range(N)
                ]).reshape(N, 1, 2)
                yield self.run(present, xi, chance / 2 ** (N * self.steps))

    def run(self, present: np.ndarray, xi: np.ndarray, chance: float) -> Outcome:
        points = np.zeros((N, self.steps, 2))
        exact = np.zeros((N, self.steps, 2))
        local = np.tile(self.x, (N, 1))
        server = self.x[1]
        for i in range(self.steps):
            for n in range(N):
                if self.shared_server:
                    local[n, 1] = server
                points[n, i] = local[n]
                exact[n, i] = self.gradient(n, local[n])
                g = exact[n, i] + xi[n, i]
                if i < self.tau:
                    local[n, 0] -= self.eta * g[0]
                if self.shared_server:
                    weight = self.a[n] * present[n] / self.q[n]
                    server -= self.eta * weight * g[1]
                elif i < self.tau_server:
                    local[n, 1] -= self.eta * g[1]
        return Outcome(chance, present, points, exact, xi)

    def mean(self, quantity: Callable[[Outcome], np.ndarray | float]) -> np.ndarray:
        return sum(o.probability * np.asarray(quantity(o)) for o in self.outcomes())


def masked(fed: Federation, values: np.ndarray) -> np.ndarray:
    """Sum over steps, each block over its own number of steps."""
    return np.stack(
        [values[:, : fed.tau, 0].sum(1), values[:, : fed.tau_server, 1].sum(1)], axis=-1
    )


def worth(fact: Fact, atoms: dict[str, float]) -> float:
    """Return the value of a fact's expression."""
    found = coefficients(fact.expr)
    return float(found.pop("1")) + sum(float(c) * atoms[k] for k, c in found.items())


def gram(names: list[str], moments: np.ndarray) -> dict[str, float]:
    """Return the atoms <u,v> of named vectors from their matrix of inner products."""
    return {
        str(inner(Vector({u: sp.S(1)}), Vector({v: sp.S(1)}))): moments[j, k]
        for j, u in enumerate(names)
        for k, v in enumerate(names)
    }


def smooth_cases() -> Iterator[tuple[str, Federation, np.ndarray]]:
    for seed in range(12):
        rng = np.random.default_rng(seed)
        tau, tau_server = [(2, 2), (2, 1), (1, 2), (3, 2)][seed % 4]
        q = (0.5, 0.8) if seed % 3 == 0 else (1.0, 1.0)
        fed = Federation(rng, tau, tau_server, q=q, eta=rng.uniform(0.05, 1))
        yield f"v1-{seed}", fed, N * fed.a**2 / np.array(q)
    for seed in range(6):
        rng = np.random.default_rng(100 + seed)
        fed = Federation(rng, 2, 2, shared_server=True, eta=rng.uniform(0.05, 1))
        yield f"v2-{seed}", fed, fed.a


def quantities(fed: Federation, b: np.ndarray) -> dict[str, float]:
    moved = fed.mean(lambda o: ((o.points - fed.x) ** 2).sum((1, 2)))
    local = fed.mean(lambda o: (o.exact**2).sum((1, 2)))
    h = fed.mean(lambda o: (masked(fed, o.exact + o.noise) ** 2).sum(1))
    at_x = np.stack([fed.gradient(n, fed.x) for n in range(N)])
    mean = fed.a @ at_x
    q = np.array(fed.q)

    def update(o: Outcome) -> float:
        w = fed.a * o.present / q
        return float(((w @ masked(fed, o.exact + o.noise)) ** 2).sum())

    def everyone(o: Outcome) -> float:
        return float(((fed.a @ masked(fed, o.exact + o.noise)) ** 2).sum())

    return {
        "D": float(b @ moved),
        "Gamma": float(b @ local),
        "F": float(b @ (at_x**2).sum(1)),
        "H": float(b @ h),
        "P": float(fed.mean(update) - fed.mean(everyone)),
        "gradient2": float((mean**2).sum()),
        "eps2": float(((at_x - mean) ** 2).sum(1).max()),
        "sigma_w": float(b @ fed.scale**2),
        "kappa": float(b.sum()),
    }


def facts(fed: Federation, b: np.ndarray, shrink: float = 1.0) -> dict[str, float]:
    """Return the worth of every non-convex rule; ``shrink`` lowers its upper side."""
    z = quantities(fed, b)
    D, Gamma, F, Hs, P = (atom(k) for k in ("D", "Gamma", "F", "H", "P"))
    atoms = {k: z[k] for k in ("D", "Gamma", "F", "H", "P")}
    names = ["gc", "gs", "Mc", "Ms", "Zc", "Zs"]
    at_x = np.stack([fed.gradient(n, fed.x) for n in range(N)])
    mean = fed.a @ at_x

    def moments(o: Outcome) -> np.ndarray:
        M, Z = fed.a @ masked(fed, o.exact), fed.a @ masked(fed, o.noise)
        v = np.array([mean[0], mean[1], M[0], M[1], Z[0], Z[1]])
        return np.outer(v, v)

    atoms |= gram(names, fed.mean(moments))
    gc, gs, Mc, Ms, Zc, Zs = vectors(" ".join(names))
    steps, c = fed.steps, sp.Rational(1, 4)
    theta = fed.eta**2 * steps * (steps - 1)
    m, eps2, gradient2 = 2, z["eps2"], sp.Float(z["gradient2"])
    if fed.shared_server:
        theta, m = 3 * fed.eta**2 * steps**2, 1
        eps2 = float(fed.a @ ((at_x - mean) ** 2).sum(1))
    noise = steps * float(fed.a**2 @ fed.scale**2)
    sides = ((gc, Mc, fed.tau), (gs, Ms, fed.tau_server))
    r = shrink
    rules = {
        "deviation": local_sgd.deviation(D, sides, r * fed.S, H),
        "noise": local_sgd.orthogonal_noise((Zc, Zs), r * noise, H),
        "drift": local_sgd.noisy_drift(D, r * theta, Gamma, z["sigma_w"], H),
        "local": local_sgd.local_gradients(Gamma, F, D, r * steps, r * fed.S, c, H),
        "heterogeneity": local_sgd.heterogeneity(
            F, gradient2, eps2, r * z["kappa"], m, H
        ),
    }
    if not fed.shared_server:
        rules["participation"] = local_sgd.participation(P, Hs, N / r, H)
        rules["sums"] = local_sgd.stochastic_sums(
            Hs, Gamma, z["sigma_w"], r * steps, c, H
        )
    values = {name: worth(fact, atoms) for name, fact in rules.items()}
    for g, Z in ((gc, Zc), (gs, Zs)):
        assert worth(local_sgd.unbiased(g, Z, H), atoms) == pytest.approx(0, abs=1e-9)
    return values


@pytest.mark.parametrize(
    ("fed", "b"), [pytest.param(f, b, id=name) for name, f, b in smooth_cases()]
)
def test_smooth_rules_hold(fed: Federation, b: np.ndarray) -> None:
    for name, value in facts(fed, b).items():
        assert value >= -1e-9, name


def test_smooth_rules_are_not_vacuous() -> None:
    """With the upper side at a twentieth every rule fails on some federation."""
    broken: set[str] = set()
    for _, fed, b in smooth_cases():
        broken |= {k for k, v in facts(fed, b, shrink=0.05).items() if v < -1e-9}
    assert broken >= {
        "deviation", "noise", "drift", "local", "heterogeneity", "participation",
        "sums",
    }  # fmt: skip


def convex_cases() -> Iterator[tuple[str, Federation]]:
    for seed in range(16):
        rng = np.random.default_rng(200 + seed)
        kind = ("v1", "v1-partial", "v2", "v2-partial")[seed % 4]
        yield (
            f"{kind}-{seed}",
            Federation(
                rng,
                2,
                2,
                convex=True,
                shared_server=kind.startswith("v2"),
                q=(0.5, 0.75) if kind.endswith("partial") else (1.0, 1.0),
                eta=rng.uniform(0.05, 0.5),
            ),
        )


def constants_of(fed: Federation) -> tuple[float, float]:
    """Return c_1 and c_d as the docstrings of the rules give them."""
    a, q = fed.a, np.array(fed.q)
    if not fed.shared_server:
        return 1 + float(a**2 @ ((1 - q) / q)), 1 / 3
    if fed.q == (1.0, 1.0):
        return 1.0, 4 / 3
    inverse, square = float(a @ (1 / q)), float(a**2 @ (1 / q**2))
    return inverse, 1 / 3 + inverse + square


@pytest.mark.parametrize(
    "fed", [pytest.param(f, id=name) for name, f in convex_cases()]
)
@pytest.mark.parametrize("lowered", [False, True])
def test_convex_rules_hold_and_fail_when_lowered(
    fed: Federation, lowered: bool
) -> None:
    """G^2 is the largest E||g||^2 met, given the past, so the rules apply."""
    A, b = np.tensordot(fed.a, fed.A, 1), fed.a @ fed.b
    optimum = np.linalg.solve(A, b)
    mu = float(np.linalg.eigvalsh(fed.A).min())
    tau, q = fed.tau, np.array(fed.q)

    def weights(o: Outcome) -> np.ndarray:
        return fed.a * o.present / q

    def drift(o: Outcome) -> float:
        return float(weights(o) @ ((o.points - fed.x) ** 2).sum((1, 2)))

    def inner_product(o: Outcome) -> float:
        total = weights(o) @ masked(fed, o.exact + o.noise)
        return float(total @ (fed.x - optimum))

    def second(o: Outcome) -> float:
        return float(((weights(o) @ masked(fed, o.exact + o.noise)) ** 2).sum())

    G2 = max(
        float((o.exact[n, i] ** 2).sum() + fed.scale[n] ** 2)
        for o in fed.outcomes()
        for n in range(N)
        for i in range(tau)
    )

    def value(x: np.ndarray) -> float:
        return float(x @ A @ x / 2 - b @ x)

    atoms = {
        "P": float(fed.mean(inner_product)),
        "Q": float(fed.mean(second)),
        "D": float(fed.mean(drift)),
        "gap": value(fed.x) - value(optimum),
        "delta": float(((fed.x - optimum) ** 2).sum()),
    }
    P, Q, D, gap, delta = (atom(k) for k in ("P", "Q", "D", "gap", "delta"))
    c1, cd = constants_of(fed)
    r = 1e-4 if lowered else 1.0
    found = {
        "lemma": worth(
            local_sgd.summed_lemma(P, gap, delta, D, tau, mu, fed.S, H), atoms
        ),
        "second": worth(local_sgd.second_moment(Q, r * c1, tau, G2, H), atoms),
        "drift": worth(local_sgd.bounded_drift(D, r * cd, fed.eta, tau, G2, H), atoms),
    }
    assert found["lemma"] >= -1e-9
    if lowered:
        assert found["second"] < 0
        assert found["drift"] < 0
    else:
        assert found["second"] >= -1e-9
        assert found["drift"] >= -1e-9


@pytest.mark.parametrize("seed", range(5))
def test_general_rules_hold_on_random_vectors(seed: int) -> None:
    """Jensen, partial sums, Young, Cauchy-Schwarz for weights: random families."""
    rng = np.random.default_rng(seed)
    tau, w = 4, rng.uniform(0, 1, size=4)
    v = rng.normal(size=(4, 3))
    family = kernel.Family("v", sp.Float(w.sum()))
    atoms = {
        str(family.norm2_of_sum): float(((w @ v) ** 2).sum()),
        str(family.sum_of_norm2): float(w @ (v**2).sum(1)),
    }
    assert worth(kernel.jensen(family), atoms) >= -1e-9
    bound = float((v**2).sum(1).max())
    assert worth(kernel.bounded(family, bound, H), atoms) >= -1e-9
    partial = np.cumsum(np.vstack([np.zeros(3), v]), axis=0)[:tau]
    plain = kernel.Family("u", sp.Integer(tau))
    drift = atom("drift")
    atoms |= {
        "drift": float((partial**2).sum()),
        str(plain.sum_of_norm2): float((v**2).sum()),
    }
    assert worth(kernel.partial_sums(drift, plain, 1, tau), atoms) >= -1e-9
    fact = kernel.bounded_partial_sums(drift, 1, 1, tau, bound, H)
    assert worth(fact, atoms) >= -1e-9
    a = w / w.sum()
    assert worth(kernel.cauchy_schwarz_weights(float(a @ a), 4), {}) >= -1e-12
    x, y = vectors("x y")
    moments = gram(["x", "y"], v[:2] @ v[:2].T)
    c = sp.Rational(int(rng.integers(1, 9)), 4)
    assert worth(kernel.young(x, y, c), moments) >= -1e-9


@pytest.mark.parametrize(
    ("number", "shared_server", "q"),
    [
        ("3.6", False, (1.0, 1.0)),
        ("3.7", True, (1.0, 1.0)),
        ("3.8", False, (0.5, 0.75)),
        ("3.9", True, (0.5, 0.75)),
    ],
)
def test_repaired_bounds_use_the_constants_of_the_rules(
    number: str, shared_server: bool, q: tuple[float, float]
) -> None:
    """c_1 and c_d of a repaired bound are at least those that the rules prove."""
    setting = next(s for s in SETTINGS if s.number == number)
    fed = Federation(
        np.random.default_rng(7), convex=True, shared_server=shared_server, q=q
    )
    values = Constants(weights=tuple(fed.a), participation=q)
    rounds = np.array([1])
    found = [
        float(numeric.evaluate(sp.Integer(0) + c, {}, values, rounds, None)[0])
        for c in (setting.c1, setting.cd)
    ]
    for mine, proved in zip(found, constants_of(fed), strict=True):
        assert proved - 1e-12 <= mine <= 1.5 * proved
