"""Searches against the proved statements of ``dachille2024``: SFL-V1, one tau."""

from __future__ import annotations

from functools import partial

import numpy as np
from members import all_outcomes, count_outcomes, train
from random_members import smooth, weights
from search import Random, Search, Sides
from search_han2024_foundations import federated
from search_han2024_lemmas import lemma_c6, norm2
from search_han2024_theorems import non_convex

from sfl_theory.papers import dachille2024
from sfl_train.algorithms import SFLV1
from sfl_train.engine import ConstantRate

Pair = list[Sides]
MANY = 2048


def one_round(r: Random, solved: bool) -> Pair:
    """(26), or (27) where it is solved for the squared gradient."""
    K, tau = r.of(1, 2, 3), r.of(1, 2, 4)
    f = smooth(r, K, 2, 1, noisy=r.of(0, 1, K))
    a = weights(r, K)
    while count_outcomes(f, 1.0, 1, tau) > MANY:
        tau -= 1
    fed = all_outcomes(f, a, 1.0, 1, tau)
    top = min(1 / 16, 1 / (8 * K * float(a @ a))) / (f.S * tau)
    eta = top * r.of(1.0, 0.3, 0.01)
    x = train(fed, SFLV1(tau, tau, 1), ConstantRate(eta), 1)[-1].numpy()
    after = fed.mean([a @ f.values(x[:, k]) for k in range(x.shape[1])])
    g = f.at(f.x0)
    mean = a @ g
    eps2 = max(norm2(g[k] - mean) for k in range(K))
    noise = f.S * K * eta**2 * tau * float(a**2 @ (f.sigma2 + eps2))
    descent = a @ f.values(f.x0) - after
    if solved:
        return [Sides(eta * norm2(mean), 4 / tau * descent + 16 * noise)]
    return [Sides(eta * tau / 4 * norm2(mean), descent + 2 * tau * noise)]


def local_step(r: Random) -> Pair:
    """(8): A_i from A_(i-1), every i of a round of one client of two."""
    both = smooth(r, 2, 2, 1)
    tau, k = r.of(1, 2, 4), r.of(0, 1)
    zeta = r.vector(2, r.of(0.0, 1.0, 3.0))
    a = weights(r, 2)
    g = both.at(both.x0)
    mean = a @ g
    eps2 = max(norm2(g[n] - mean) for n in range(2))
    eta = r.of(0.1, 1.0) / (8**0.5 * both.S * tau)
    # The states after i steps: all outcomes of the signs.
    states, previous = both.x0[:, None], 0.0
    found = []
    for _ in range(tau):
        exact = np.stack([both.at(x)[k] for x in states.T], axis=1)
        states = np.concatenate([
            states - eta * (exact + sign * zeta[:, None]) for sign in (-1, 1)
        ], axis=1)  # fmt: skip
        now = float(((states - both.x0[:, None]) ** 2).sum(0).mean())
        constant = 8 * tau * eta**2 * (norm2(zeta) + eps2 + norm2(mean))
        found.append(Sides(now, (1 + 2 / tau) * previous + constant))
        previous = now
    return found


def step_condition(r: Random) -> Pair:
    S, tau = 10 ** r.rng.uniform(-3, 3), r.of(1, 2, 50)
    eta = r.of(1.0, 0.1) / (16 * S * tau)
    return [Sides(eta, 1 / (2 * S * tau)), Sides(eta, 1 / (8**0.5 * S * tau))]


AVERAGE = Search(
    partial(
        non_convex,
        bound=dachille2024.PROPOSITION_1.case("non_convex").bound("printed"),
        one=True,
    ),
    12,
)

DACHILLE2024 = {
    f"dachille2024/{name}": search
    for name, search in {
        "prop-1": AVERAGE,
        "eq-6": AVERAGE,
        "eq-28": AVERAGE,
        "text/fedavg": Search(federated, 1.001),
        "cond-eta": Search(step_condition, 6),
        "lemma-1": Search(lemma_c6, 60),
        "eq-10": Search(lemma_c6, 60),
        "eq-8": Search(local_step, 12),
        "eq-26": Search(partial(one_round, solved=False), 5),
        "eq-27": Search(partial(one_round, solved=True), 5),
    }.items()
}
