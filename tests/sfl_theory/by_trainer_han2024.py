"""Runs of the ordinary trainer behind the refutations of ``han2024``."""

from __future__ import annotations

from functools import cache, partial

import numpy as np
import torch
from members import Rate, Signs, Smooth, all_outcomes, train
from trained import Run, Trained, alone, bowls, gaps, hubers, printed

from sfl_train.algorithms import SFLV1, SFLV2
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.quadratic import Quadratic

ONE_CLIENT, NEARLY_ONE = (1.0, 0.0), (0.95, 0.05)
FOUR_TO_ONE, THREE_TO_ONE = (0.8, 0.2), (0.75, 0.25)

# Strongly convex cases


def swapped(number: str, tau: int, rounds: int, q=1.0, replicas=1) -> Trained:
    problem = bowls([[0.0, 0.0]], start=(0.0, 1.0))
    fed = Federation(problem, [1.0], q, seeds=range(replicas))
    rate = printed(number, weights=(1.0,), tau=tau, tau_server=1)
    x = train(fed, SFLV1(tau, 1, 1), rate, rounds)
    return Trained(gaps(fed, x[-1], (0, 0)))


def unweighted(number: str, weights, rounds: int, q=1.0, replicas=48) -> Trained:
    problem = bowls([[0.0, 0.0], [0.0, 1.0]], start=(0.0, 0.5))
    fed = Federation(problem, weights, q, seeds=range(replicas))
    rate = printed(number, weights=weights, tau=1, tau_server=1)
    x = train(fed, SFLV2(1, 1), rate, rounds)
    return Trained(gaps(fed, x[-1], (0, weights[1])))


# General convex cases


def one_step(sequential: bool):
    return SFLV2(1, 1) if sequential else SFLV1(1, 1, 1)


@cache
def start_at_minimiser(sequential: bool) -> Trained:
    problem = hubers([[0, 0]], (0.0, 0.0), noise=[[0.0, 1.0]])
    fed = all_outcomes(problem, [1.0], 1.0, 1, 1)
    x = train(fed, one_step(sequential), ConstantRate(0.5), 1)
    return Trained(gaps(fed, x[-1], (0, 0)), fed.probability)


@cache
def small_step(sequential: bool, rounds=250, q=1.0) -> Trained:
    problem = hubers([[0, 0]], (0.0, 1.0), kind=Signs)
    fed = Federation(problem, [1.0], q, seeds=range(1 if q == 1 else 32))
    x = train(fed, one_step(sequential), ConstantRate(1e-6), rounds)
    return Trained(gaps(fed, x[-1], (0, 0)))


def noise_floor(sequential: bool, rounds: int, q=1.0) -> Trained:
    """SFL-V2 with one client is SFL-V1, shown on few rounds, used for many."""
    if sequential:
        (one, _), (other, _) = (_noise_floor(kind, 40, q) for kind in (True, False))
        torch.testing.assert_close(one, other, rtol=0, atol=1e-14 if q < 1 else 0)
    x, fed = _noise_floor(False, rounds, q)
    return Trained(gaps(fed, x, (0, 0)))


@cache
def _noise_floor(
    sequential: bool, rounds: int, q: float
) -> tuple[torch.Tensor, Federation]:
    problem = hubers([[0, 0]], (0.0, 0.5), noise=[[0.0, 1.0]], kind=Signs)
    problem.seen = _Forgetful()
    fed = Federation(problem, [1.0], q, seeds=range(700))
    return train(fed, one_step(sequential), ConstantRate(0.5), rounds)[-1], fed


class _Forgetful(list):
    def append(self, item) -> None:
        """Keep nothing of a long run."""


def _general_convex(sequential: bool, partial_participation=False):
    floor = (200, 0.5) if partial_participation else (4000,)
    runs = (
        partial(noise_floor, sequential, *floor),
        partial(start_at_minimiser, sequential),
        partial(small_step, sequential),
    )
    some = (partial(small_step, sequential, 300, 0.5),)
    return runs + (some if partial_participation else ())


# Non-convex cases


def biased(weights, eta: float, rounds: int, q=1.0, replicas=256) -> Trained:
    problem = bowls([[0.0, 0.0], [0.0, 1.0]], start=(0.0, weights[1]))
    fed = Federation(problem, weights, q, seeds=range(replicas))
    x = train(fed, SFLV2(1, 1), ConstantRate(eta), rounds - 1)
    return Trained(eta * ((x[:, 1] - weights[1]) ** 2).mean(0).numpy())


def models_aggregated() -> Trained:
    """A client of weight 0 that always takes part keeps the sum of (3) non-empty."""
    H = np.stack([np.eye(2)] * 2)
    problem = Smooth(H, np.zeros((2, 2)), (0.0, 1.0), 1)
    fed = all_outcomes(problem, ONE_CLIENT, (0.5, 1.0), 5, 1)
    x = train(fed, SFLV1(1, 1, 1, aggregation="models"), ConstantRate(1 / 16), 5)
    return Trained((x**2).sum(1).mean(0).numpy() / 16, fed.probability)


# Lemmas and equations of han2024


def block_stays(algorithm, steps: int) -> Trained:
    fed = alone(hubers([[0, 0]], (1.0, 0.0)))
    x = train(fed, algorithm, ConstantRate(1 / (100 * steps)), 1)
    return Trained(x[-1, 1].numpy() ** 2)


def accumulated_gradients(flat: bool, tau: int, eta: float) -> Trained:
    """Stochastic gradients are differences of iterates: one client, one step each."""
    centre = np.zeros((1, 2))
    problem = hubers(centre, (0.0, 0.0), noise=[[0.0, 1.0]])
    if flat:
        zero = np.zeros((1, 2, 2))
        problem = Smooth(zero, centre, (0.0, 0.0), 1, noise=[[0.0, 1.0]])
    fed = all_outcomes(problem, [1.0], 1.0, tau, 1)
    x = train(fed, SFLV1(1, 1, 1), ConstantRate(eta), tau).numpy()
    g = (x[:-1] - x[1:]) / eta
    return Trained(((g - g[0]) ** 2).sum((0, 1)), fed.probability)


def aggregations() -> Trained:
    """E|x(3) - x(C.2)|^2, a client of weight 0 keeping the sum of (3) non-empty."""
    zero = np.zeros((2, 2, 2)), np.zeros((2, 2))
    fed = all_outcomes(Smooth(*zero, (1.0, 0.0), 1), ONE_CLIENT, (0.5, 1.0), 1, 1)
    models, updates = (
        train(fed, SFLV1(1, 1, 1, aggregation=rule), ConstantRate(0.25), 1)[-1, 0]
        for rule in ("models", "updates")
    )
    return Trained((models - updates).numpy() ** 2, fed.probability)


def one_gradient_more() -> Trained:
    fed = alone(hubers([[0, 0]], (1.0, 0.0)))
    one, two = (
        train(fed, SFLV1(tau, tau, 1), ConstantRate(0.25), 1)[-1, 0] for tau in (1, 2)
    )
    return Trained((one - two).numpy() ** 2)


def coupled(start, last_step: bool) -> Trained:
    """F = (x_c^2 + x_c x_s + x_s^2)/3, two local steps of length 1/32."""
    H = np.array([[[2.0, 1.0], [1.0, 2.0]]]) / 3
    problem, eta = Quadratic(H, np.zeros((1, 2)), start, 1), 1 / 32
    fed = alone(problem)
    g = H[0, 1] @ np.array(start)
    if last_step:
        x = train(fed, SFLV1(1, 1, 1), ConstantRate(eta), 1)[-1, :, 0].numpy()
        return Trained(np.array([eta / 4 * (H[0, 1] @ x - g) ** 2]))
    x = train(fed, SFLV1(2, 2, 1), ConstantRate(eta), 1)[-1, :, 0].numpy()
    return Trained(np.array([g * (x[1] - start[1])]))


def by_symmetry(L: int, tau: int, start: int, rounds: range, x) -> tuple:
    """Client 1 alone: x = (c, s) at the last round; client 2 returns the same."""
    c, s = x
    for t in rounds:
        server = 4 / (start + t)
        rate = server / tau
        A = L * (c + s)
        c, w, s = c - rate * (A + c), -rate * (A + 1), s - server * (A + s)
        for _ in range(tau - 1):
            A = L * (c + s + w)
            c, w = c - rate * (A + c), w - rate * (A + w + 1)
    return c, s


@cache
def unequal_periods(L: int, tau: int, start: int, rounds: int, clip: float) -> Trained:
    """S/2 times the squared distance of both blocks, tau_server = 1.

    The trainer makes the first and the last rounds, a recursion typed here those
    between. F_n is divided by clip^2/L, and the rates are multiplied by it, so that
    the Huber function's slopes are at most 1.
    """
    few, unit = 100, clip**2 / L
    slopes = L / clip * np.array([[[1.0, 1.0, 1.0]], [[1.0, -1.0, 1.0]]])
    problem = Smooth(
        np.stack([np.eye(3) / unit] * 2), [[0, -1 / unit, 0], [0, 1 / unit, 0]],
        (0.0, 0.0, 0.0), 2, directions=slopes, offsets=np.zeros((2, 1)),
    )  # fmt: skip
    late = lambda t: 4 * unit / (start + t)  # noqa: E731
    rate = Rate((lambda t: late(t) / tau, late))
    trainer = Trainer(alone(problem, (0.5, 0.5)), SFLV1(tau, 1, 2), rate)
    *_, (_, x) = trainer.rounds(few)
    middle = by_symmetry(L, tau, start, range(few), (0.0, 0.0))
    np.testing.assert_allclose(x[[0, 2], 0], middle, rtol=1e-9)
    middle = by_symmetry(L, tau, start, range(few, rounds - few), middle)
    x = torch.tensor([middle[0], 0.0, middle[1]], dtype=torch.float64).view(3, 1)
    *_, (_, x) = trainer.rounds(rounds, rounds - few, x)
    points = torch.stack([point for point, _, _ in problem.seen])
    assert len(points) == 2 * few * tau
    # resting at its own model is resting at the mean
    assert torch.allclose(points[:, 0, 2], points[:, 1, 2], rtol=1e-12, atol=0)
    along = points[..., 0] @ torch.from_numpy(slopes[:, 0]).T
    assert float(along.diagonal(dim1=1, dim2=2).abs().max()) < 1  # not clipped
    return Trained((3 * L + 1) / 2 * (x**2).sum(0).numpy())


def turned_gradients(movers: int, q: float, weight: float) -> Trained:
    """|xbar_c - x_c|^2: two federations with the same orders, lengths in sqrt(602).

    What is slope +-1 all the way along these runs is a linear term here.
    """
    clients, unit = 2 * movers, 602**0.5
    b, ridges = np.zeros((clients, 2)), np.zeros((clients, 1, 2))
    b[:movers, 1], b[movers:, 1] = 26 / unit, -5 / unit
    ridges[movers:, 0] = 24 / unit, 5 / unit
    problem = Signs(
        np.zeros((clients, 2, 2)), b, (0.0, 0.0), 1,
        directions=ridges, offsets=np.ones((clients, 1)),
    )  # fmt: skip
    weights = np.repeat([weight, (1 - movers * weight) / movers], movers)
    some, full = (
        train(fed, SFLV2(1, 1), ConstantRate(0.5), 1)[-1, 0].numpy()
        for fed in (
            Federation(problem, weights, chance, seeds=range(400))
            for chance in (np.repeat([q, 1.0], movers), 1.0)
        )
    )
    return Trained(602 * (full - some) ** 2)


MIDDLE = (
    partial(unequal_periods, 7500, 16, 8 * 22501 - 1, 97500, 0.136),
    partial(unequal_periods, 7500, 16, 8 * 22501, 97500, 0.136),
    partial(unequal_periods, 50000, 3, 24 * 150001, 3 * 10**6, 0.037),
)

HAN2024: dict[str, tuple[Run, ...]] = {
    "thm-3.6/strongly_convex": (
        partial(swapped, "3.6", 32, 720),
        partial(swapped, "3.6", 20, 2300),
        partial(swapped, "3.6", 64, 350),
    ),
    "thm-3.8/strongly_convex": (
        partial(swapped, "3.8", 32, 1000, 0.5, 200),
        partial(swapped, "3.8", 64, 380),
    ),
    "thm-3.7/strongly_convex": (
        partial(unweighted, "3.7", NEARLY_ONE, 3400),
        partial(unweighted, "3.7", FOUR_TO_ONE, 7500),
    ),
    "thm-3.9/strongly_convex": (
        partial(unweighted, "3.9", NEARLY_ONE, 4200, 15 / 16),
        partial(unweighted, "3.9", NEARLY_ONE, 4200, 3 / 4),
    ),
    "thm-3.6/general_convex": _general_convex(False),
    "thm-3.7/general_convex": _general_convex(True),
    "thm-3.8/general_convex": _general_convex(False, True),
    "thm-3.9/general_convex": _general_convex(True, True),
    "thm-3.7/non_convex": (partial(biased, THREE_TO_ONE, 1 / 850, 1050),),
    "thm-3.9/non_convex": (
        partial(biased, THREE_TO_ONE, 1 / 2000, 2200, 0.5),
        partial(biased, THREE_TO_ONE, 1 / 850, 1050),
    ),
    "thm-3.8/non_convex/eq-3": (models_aggregated,),
    "lemma-C.7": (
        partial(accumulated_gradients, True, 2, 1 / 8),
        partial(accumulated_gradients, False, 10, 1 / 40),
    ),
    "lemma-D.1": (
        partial(block_stays, SFLV1(1, 1, 1), 1),
        partial(block_stays, SFLV1(10, 10, 1), 10),
    ),
    "lemma-E.1": (
        partial(block_stays, SFLV2(1, 1), 1),
        partial(block_stays, SFLV2(10, 1), 10),
    ),
    "eq-3": (aggregations,),
    "eq-78": (
        partial(coupled, (255.0, -126.0), False),
        partial(coupled, (2.0, -1.0), True),
    ),
    "app-C.2/client-sum": (one_gradient_more,),
    "eq-73/middle": MIDDLE,
    "eq-136/middle": MIDDLE,
    "eq-171": (
        partial(turned_gradients, 90, 1e-4, 1e-5),
        partial(turned_gradients, 200, 1e-3, 1e-5),
    ),
}
