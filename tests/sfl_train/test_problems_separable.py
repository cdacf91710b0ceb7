"""Parabolas, Huber functions and noise on two points."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_train.algorithms import SFLV1
from sfl_train.engine import ConstantRate, Trainer
from sfl_train.federation import Federation
from sfl_train.problems.problem import Sampling
from sfl_train.problems.separable import Separable
from sfl_train.streams import Purpose, keys

CENTRES = np.array([[0.0, 1.0, -2.0], [0.5, -1.0, 0.0]])
CURVATURES = np.array([[1.0, 2.0, 0.5], [3.0, 1.0, 1.0]])
KINKS = np.array([[1.0, np.inf, 0.5], [np.inf, 2.0, 1.0]])
ZETA = np.array([[0.0, 1.0, -0.5], [0.0, 0.0, 0.0]])


def family(**given_) -> Separable:
    return Separable(CENTRES, [0.0, 0.0, 0.0], CURVATURES, KINKS, ZETA, **given_)


def test_the_gradient_is_that_of_the_loss():
    problem = family()
    drawn = np.random.default_rng(0).normal(0, 4, (2, 3, 50))
    x = torch.from_numpy(drawn).requires_grad_()
    problem.loss(x).sum().backward()
    torch.testing.assert_close(problem.gradient(x.detach()), x.grad)
    alone = problem.gradient(x.detach()[1:], clients=torch.tensor([1]))
    torch.testing.assert_close(alone, x.grad[1:])


def test_a_huber_function_by_hand():
    problem = Separable([[0.0, 0.0]], [0.0, 0.0], 2.0, [[1.0, np.inf]])
    x = torch.tensor([[[0.5, 3.0, -3.0], [0.5, 3.0, -3.0]]], dtype=torch.float64)
    assert problem.gradient(x)[0].tolist() == [[1.0, 2.0, -2.0], [1.0, 6.0, -6.0]]
    assert problem.loss(x)[0].tolist() == [0.25 + 0.25, 5.0 + 9.0, 5.0 + 9.0]


@given(seed=st.integers(0, 2**31))
@settings(max_examples=40, deadline=None)
def test_gradients_are_smooth_and_bounded(seed):
    """Slopes differ by at most S times the distance, and by curvature before a kink."""
    problem, rng = family(), np.random.default_rng(seed)
    x, y = torch.from_numpy(rng.normal(0, 3, (2, 2, 3, 8)))
    difference = problem.gradient(x) - problem.gradient(y)
    along = (difference * (x - y)).sum(1)
    assert problem.S == 3.0 and problem.mu == 0.0
    assert problem.convexity == "general_convex"
    assert (difference.square().sum(1) <= problem.S * along * (1 + 1e-12)).all()
    slopes = torch.from_numpy(np.where(np.isinf(KINKS), np.inf, CURVATURES * KINKS))
    assert (problem.gradient(x).abs() <= slopes.unsqueeze(2) + 1e-15).all()


def test_parabolas_are_strongly_convex():
    problem = Separable(CENTRES, [0.0] * 3, CURVATURES)
    assert problem.convexity == "strongly_convex"
    assert (problem.mu, problem.S) == (0.5, 3.0)


def test_noise_lies_on_two_points_with_equal_chances():
    problem = family()
    at = keys(np.arange(20000), Purpose.MINIBATCH, 3, np.arange(2)[:, None], 0)
    drawn = problem.draw(Sampling(), at).numpy()
    signs = drawn[0, 1]
    assert drawn.shape == (2, 3, 20000)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    np.testing.assert_array_equal(drawn[0], ZETA[0][:, None] * signs)
    assert not drawn[1].any()
    assert abs(signs.mean()) < 4 / np.sqrt(signs.size)
    np.testing.assert_array_equal(problem.noise, [1.25, 0.0])
    x = torch.zeros(2, 3, 1, dtype=torch.float64)
    np.testing.assert_array_equal(problem.variance(x, Sampling())[..., 0], ZETA**2)
    again = problem.draw(Sampling(), at[1:], np.array([1]))
    np.testing.assert_array_equal(again.numpy(), drawn[1:])
    assert Separable(CENTRES, [0.0] * 3).draw(Sampling(), at) is None


def test_constants_on_a_ball_bound_what_is_met():
    problem, rng, a = family(), np.random.default_rng(0), np.array([0.25, 0.75])
    ball = problem.on_ball(np.ones(3), 2.0, Sampling(), a)
    steps = rng.normal(size=(3, 4000))
    x = 1 + 2 * steps / np.linalg.norm(steps, axis=0)
    g = problem.full_gradients(torch.from_numpy(x)).numpy()
    met = (g**2).sum(1) + problem.noise[:, None]
    assert met.max() <= ball.G2
    apart = ((g - np.tensordot(a, g, 1)) ** 2).sum(1)
    assert apart.max() <= ball.eps2
    np.testing.assert_array_equal(ball.sigma2, problem.noise)


def test_the_seeds_that_run_beside_it_change_no_replica():
    few, many = (
        [
            x.clone()
            for _, x in Trainer(
                Federation(family(), [0.5, 0.5], 0.5, seeds=range(count)),
                SFLV1(2, 1, 1),
                ConstantRate(0.1),
            ).rounds(4)
        ][-1]
        for count in (3, 20)
    )
    assert torch.equal(few, many[:, :3])


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"centres": [[0.0]]}, "centres"),
        ({"centres": [[0.0, np.nan]]}, "finite"),
        ({"x0": [0.0]}, "x0"),
        ({"curvatures": 0.0}, "positive"),
        ({"kinks": -1.0}, "positive"),
        ({"kinks": np.nan}, "positive"),
        ({"zeta": np.inf}, "finite"),
        ({"cut": 2}, "cut"),
    ],
)
def test_impossible_problems_are_refused(change, words):
    arguments = {"centres": [[0.0, 0.0]], "x0": [0.0, 0.0]}
    with pytest.raises(ValueError, match=words):
        Separable(**{**arguments, **change})
