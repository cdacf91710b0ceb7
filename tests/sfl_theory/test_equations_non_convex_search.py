"""(78)-(89) of han2024 and their counterparts on federations drawn at random.

Every statement is written out again here and compared in every outcome of noise and
participation; nothing is shared with the certificates.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from sampled_rounds import Federation, expectation, federations, run, subsets

from sfl_theory.audits.han2024.equations.non_convex_refuted_blocks import block_fails


def worst(violations):
    """Return the largest (left - right) relative to the terms."""
    return max((left - right) / scale for left, right, scale in violations)


def round_of_v1(problem, x, eta, steps):
    """Return E f(x') - f(x), and the blocks' sum of Prop. C.4."""
    g = problem.full_gradient(x)
    mean = expectation(
        problem, x, eta, steps, lambda r, _: problem.value(x + r.move).mean()
    )
    together = expectation(
        problem, x, eta, steps,
        lambda r, _: (r.move @ g + problem.S / 2 * (r.move**2).sum(1)).mean(),
    )  # fmt: skip
    return mean - problem.value(x), together, g @ g


# Searches for violations of what is proved


def test_search_86():
    found = []
    for problem, steps, x, _ in federations(1, 400, participation=False):
        N, S, tau, server = problem.N, problem.S, *steps
        most, least = max(steps), min(steps)
        eta = 1 / (np.sqrt(8) * S * most)
        change, together, g2 = round_of_v1(problem, x, eta, steps)
        a2, both = (problem.a**2).sum(), problem.sigma2 + problem.eps2
        twice = problem.sigma2 + 2 * problem.eps2
        right = (-eta * least / 2 + 8 * N * eta**3 * most**3 * S**2 * a2) * g2
        right += (
            8 * N * eta * S**2 * (tau**3 + server**3) * eta**2 * (problem.a**2 @ both)
        )
        right += (
            S * N * eta**2 * most / 2 * a2
            * (most + 8 * most**3 * eta**2 * S**2) * 2 * g2
        )  # fmt: skip
        for p in (tau, server):
            right += (
                S * N * eta**2 * p / 2
                * (p + 8 * p**3 * eta**2 * S**2) * (problem.a**2 @ twice)
            )  # fmt: skip
        scale = eta * g2 + abs(right) + 1e-9
        found += [(change, together, scale), (together, right, scale)]
    assert -1 < worst(found) < 1e-9


@pytest.mark.parametrize("is_partial", [False, True])
def test_search_one_round_of_v1(is_partial):
    """(87), (153) and, rearranged, (88), (154) at the largest admitted rate."""
    found = []
    for problem, steps, x, rng in federations(2, 400, participation=is_partial):
        N, S, most, least = problem.N, problem.S, max(steps), min(steps)
        weight = problem.a**2 / problem.q
        limit = min(1 / (16 * S * most), least / (8 * S * N * most**2 * weight.sum()))
        eta = limit * rng.choice([1, 0.3])
        change, _, g2 = round_of_v1(problem, x, eta, steps)
        noise = weight @ (problem.sigma2 + problem.eps2)
        squares = steps[0] ** 2 + steps[1] ** 2
        right = -eta * least / 4 * g2 + 2 * N * S * eta**2 * squares * noise
        scale = eta * g2 + abs(right) + 1e-9
        found.append((change, right, scale))
        rest = 8 * N * S * eta**2 * squares / least * noise
        found.append((eta * g2, -4 / least * change + rest, scale))
    assert -3 < worst(found) < 1e-9


@pytest.mark.parametrize("is_partial", [False, True])
def test_search_averaged(is_partial):
    """(89), (155) over two rounds, convex quadratics, where f* is known exactly."""
    found = []
    for problem, steps, x, rng in federations(3, 200, participation=is_partial):
        if problem.N == 3 or max(steps) > 2:
            continue
        H = problem.H @ problem.H / 4 + 0.05 * np.eye(2)
        problem = replace(problem, H=H, c=0 * problem.c)
        N, S, most, least = problem.N, problem.S, max(steps), min(steps)
        weight = problem.a**2 / problem.q
        limit = min(1 / (16 * S * most), least / (8 * S * N * most**2 * weight.sum()))
        rates = limit * np.array([1, rng.uniform(0.1, 1)])
        states = [(1.0, x)]
        left = 0.0
        for eta in rates:
            for chance, point in states:
                g = problem.full_gradient(point)
                left += chance * eta * (g @ g)
            states = [
                (chance * part / len(one.move), point + move)
                for chance, point in states
                for present, part in subsets(problem.q)
                for one in (run(problem, point, eta, steps, present),)
                for move in one.move
            ]
        best = problem.value(np.linalg.solve(H, problem.a @ problem.b))
        right = 4 / (2 * least) * (problem.value(x) - best)
        right += (
            8 * N * S * (steps[0] ** 2 + steps[1] ** 2) / (least * 2)
            * (weight @ (problem.sigma2 + problem.eps2)) * (rates**2).sum()
        )  # fmt: skip
        found.append((left / 2, right, right + 1e-9))
    assert len(found) > 20
    assert -1 < worst(found) < 1e-9


def block_bounds(kind, problem, x, eta, p):
    """Return left and right of every repaired statement, both blocks together."""
    N, S, a, q = problem.N, problem.S, problem.a, problem.q
    weighted = {"v1": None, "v2": lambda n: eta * a[n] / q[n]}[kind[:2]]
    g = problem.full_gradient(x)
    w, kappa = (N * a**2 / q, (N * a**2 / q).sum()) if kind == "v1" else (a, 1.0)
    sigma, spread, total, m = w @ problem.sigma2, kappa, 1.0, 2 * kappa
    growth, factor = 1.0, 2 if kind == "v1" else 5
    if kind != "v1":
        m = 2.0
    if kind == "v2-partial":
        kappa = (a / q).sum()
        sigma = a @ problem.sigma2 + 2 * kappa * (a**2 / q) @ problem.sigma2
        spread, total, growth, factor = kappa**2, kappa, kappa**2, 2

    def drift(one, present):
        weight = w if kind == "v1" else a / q * present
        return sum(
            weight[n] * ((one.points[n][:, :p] - x) ** 2).sum((1, 2)).mean()
            for n in range(N)
            if weight[n] > 0
        )

    steps = (p, p)
    D = expectation(problem, x, eta, steps, drift, weighted)
    mean = expectation(problem, x, eta, steps, lambda r, _: r.move.mean(0), weighted)
    square = expectation(
        problem, x, eta, steps, lambda r, _: (r.move**2).mean(0), weighted
    )
    G = g @ g + problem.eps2
    yield D, 16 * p**3 * eta**2 * spread * G + factor * eta**2 * p**2 * sigma
    for b in range(2):
        kept = -eta * p / 2 * g[b] ** 2
        yield g[b] * mean[b], kept + eta * S**2 / 2 * D
        end = 8 * eta**3 * S**2 * p**3 * (spread * G + sigma)
        yield g[b] * mean[b], kept + end
        bracket = p + 8 * p**3 * eta**2 * S**2 * growth
        right = 2 * S * eta**2 * total * p * bracket * (m * G + sigma)
        yield S / 2 * square[b], right


@pytest.mark.parametrize("kind", ["v1", "v2", "v2-partial"])
def test_search_repaired_blocks(kind):
    found = []
    for problem, steps, x, _ in federations(4, 250, participation=kind != "v2"):
        p = steps[0]
        kappa = (problem.a / problem.q).sum()
        slow = {"v1": np.sqrt(8), "v2": 4, "v2-partial": 4 * kappa}[kind]
        eta = 1 / (problem.S * p * slow)
        for left, right in block_bounds(kind, problem, x, eta, p):
            found.append((left, right, abs(left) + abs(right) + 1e-12))
    assert -1 < worst(found) < 1e-9


def squares_of_blocks(problem, x, eta, p, sequential, sample):
    """Return S/2 E||move||^2 by block, and the printed (81), (118), (148), (178)."""
    N, a, q = problem.N, problem.a, problem.q
    server = (lambda n: eta / q[n]) if sequential else None
    square = expectation(
        problem, x, eta, (p, p), lambda r, _: (r.move**2).mean(0), server
    )
    at_x = [problem.gradient(n, x) + sample * problem.v[n] for n in range(N)]

    def changes(one, present):
        found = np.zeros((N, 2))
        for n in range(N):
            if one.gradients[n] is not None and present[n]:
                change = one.gradients[n] - at_x[n]
                found[n] = (change**2).mean(0).sum(0) / q[n]
        return found

    change = expectation(problem, x, eta, (p, p), changes, server)
    for b in range(2):
        alone = sequential and b == 1
        c = (np.ones(N) if alone else a**2) / q
        slope = np.array([problem.gradient(n, x)[b] ** 2 for n in range(N)])
        inside = c @ (change[:, b] + p * (slope + problem.sigma2))
        yield problem.S / 2 * square[b], problem.S * N * eta**2 * p / 2 * inside


@pytest.mark.parametrize("sequential", [False, True])
def test_search_youngs_factor(sequential):
    """Twice the printed right side holds; once does not, and the search finds it."""
    once, twice = [], []
    for problem, steps, x, _ in federations(5, 150, noise=False):
        eta = 1 / (2 * problem.S * steps[0])
        for left, right in squares_of_blocks(problem, x, eta, steps[0], sequential, 0):
            once.append((left, right, right + 1e-12))
            twice.append((left, 2 * right, right + 1e-12))
    assert worst(twice) < 1e-9
    assert worst(once) > 1e-3


def test_search_finds_what_is_refuted():
    """The same search breaks (80) and (83), whose true forms it does not break."""
    inner, square = [], []
    for problem, steps, x, _ in federations(6, 200, participation=False):
        N, S, p = problem.N, problem.S, steps[0]
        a2 = problem.a**2
        eta = min(1 / (16 * S * p), 1 / (8 * S * N * p * a2.sum()))
        g = problem.full_gradient(x)
        mean = expectation(problem, x, eta, (p, p), lambda r, _: r.move.mean(0))
        second = expectation(problem, x, eta, (p, p), lambda r, _: (r.move**2).mean(0))
        noise = a2 @ (problem.sigma2 + problem.eps2)
        twice = a2 @ (2 * problem.eps2 + problem.sigma2)
        for b in range(2):
            kept = -eta * p / 2 + 8 * N * eta**3 * p**3 * S**2 * a2.sum()
            right = kept * g[b] ** 2 + 8 * N * eta**3 * S**2 * p**3 * noise
            inner.append((g[b] * mean[b], right, abs(right) + 1e-12))
            bracket = p + 8 * p**3 * eta**2 * S**2
            right = S * N * eta**2 * p / 2 * bracket
            right *= 2 * a2.sum() * g[b] ** 2 + twice
            square.append((S / 2 * second[b], right, right + 1e-12))
    assert worst(inner) > 1e-3
    assert worst(square) > 1e-3


# Instances against the loop above


@pytest.mark.parametrize("letter", "DEFG")
@pytest.mark.parametrize("step", ["inner_end", "square_end"])
@pytest.mark.parametrize("block", ["server", "client"])
def test_instances_by_the_other_simulator(letter, step, block):
    N, p = 5, 4
    finding = block_fails(letter, step, block, clients=N, tau=p)
    start = finding.setup.split("x^t = (")[1].split(")")[0].split(", ")
    x = np.array([float(Fraction(part)) for part in start])
    eta = float(Fraction(finding.setup.split("eta = ")[1]))
    one = np.ones(N)
    H = np.array([[2.0, 1.0], [1.0, 2.0]]) / 3
    problem = Federation(
        H, np.zeros((N, 2)), 0 * one, np.zeros(2), np.zeros((N, 2)), one / N, one
    )
    server = (lambda n: eta) if letter in "EG" else None
    move = run(problem, x, eta, (p, p), one > 0, server).move[0]
    b = ("client", "server").index(block)
    left = {
        "inner_end": problem.full_gradient(x)[b] * move[b],
        "square_end": move[b] ** 2 / 2,
    }[step]
    assert float(finding.left.low) == pytest.approx(left, rel=1e-6)
