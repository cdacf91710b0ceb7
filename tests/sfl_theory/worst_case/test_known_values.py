"""Worst cases that are known in closed form, or by another encoding."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q

import pytest

from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import WorstCase, worst_case

TIGHT = Q(1, 10**4)


def made(
    algorithm: str = "fedavg",
    tau: int = 1,
    rounds: int = 1,
    eta: Q = Q(1, 2),
    mu: Q | None = Q(1, 10),
    server: Q | None = None,
    **more: object,
) -> Setting:
    steps = ((eta,) * rounds, (server or eta,) * rounds)
    return Setting(algorithm, tau, *steps, Q(1), mu, **more)


def closed(setting: Setting) -> WorstCase:
    """Bounded and reached exactly, within the tolerance; checked once more."""
    found = worst_case(setting)
    assert found.certificate is not None, found.failed
    assert found.instance is not None, found.failed
    assert check(found.certificate) is None
    assert 0 <= found.upper - found.lower <= TIGHT * found.upper
    return found


def test_a_gradient_step_contracts() -> None:
    found = closed(made(clients=2, zeta2=Q(1), metric="distance"))
    assert found.lower == Q("0.9025")
    assert float(found.upper) == pytest.approx(0.9025, rel=1e-6)


@pytest.mark.parametrize("rounds", [1, 2, 5])
@pytest.mark.parametrize("alpha", [Q(1, 2), Q(1)])
def test_gradient_descent_on_convex_functions(rounds: int, alpha: Q) -> None:
    """Last iterate: ``S |x0 - x*|^2 / (4 alpha T + 2)`` (Drori, Teboulle 2014)."""
    found = closed(made(rounds=rounds, eta=alpha, mu=Q(0), clients=1))
    assert found.value == pytest.approx(float(1 / (4 * alpha * rounds + 2)), rel=1e-5)


def test_one_client_steps_on_as_often_as_it_likes() -> None:
    """Local steps of one client are rounds of one step."""
    local = closed(made(tau=3, rounds=1, mu=Q(0), clients=1))
    rounds = closed(made(tau=1, rounds=3, mu=Q(0), clients=1))
    assert local.value == pytest.approx(rounds.value, rel=1e-5)


@pytest.mark.parametrize("algorithm", ["fedavg", "sfl-v1", "minibatch-sfl"])
def test_one_local_step_is_gradient_descent(algorithm: str) -> None:
    found = closed(made(algorithm, rounds=2, mu=Q(0), zeta2=Q(1), clients=2))
    assert found.value == pytest.approx(1 / 6, rel=1e-5)


def test_bounded_gradients_are_worst_on_a_parabola() -> None:
    r"""$\frac{G^2}{2\mu}\prod_t(1-\mu\eta_t)^{2\tau}$, reached on every client."""
    etas = tuple(Q(4) / (40 + 2 * t) for t in range(5))
    setting = Setting(
        "sfl-v1", 2, etas, etas, Q(1), Q(1, 10), G2=Q(1), start="gradients"
    )
    expected = Q(5)
    for eta in etas:
        expected *= (1 - eta / 10) ** 4
    found = closed(setting)
    assert found.lower == expected
    assert float(found.upper) == pytest.approx(float(expected), rel=1e-6)


def test_drift_enters_where_steps_are_long_for_the_condition() -> None:
    """At kappa = 2 the parabola is not the worst: the closed form stops there."""
    setting = made(tau=2, rounds=5, mu=Q(1, 2), G2=Q(1), start="gradients")
    found = closed(setting)
    assert found.lower > (1 - Q(1, 4)) ** 20


@pytest.mark.parametrize("clients", [pytest.param(2, marks=pytest.mark.long), 3])
@pytest.mark.parametrize(
    "more",
    [
        {"zeta2": Q(1)},
        {"G2": Q(1), "start": "gradients"},
        {"eps2": Q(1), "start": "gap"},
        {"eps2": Q(1), "start": "gap", "mu": None, "metric": "gradient",
         "reading": "average"},
        {"zeta2": Q(1), "mu": Q(0), "reading": "average"},
        {"eps2": Q(1), "mu": Q(0), "metric": "gradient", "reading": "minimum"},
    ],
)  # fmt: skip
def test_all_n_at_once_is_every_n(clients: int, more: dict[str, object]) -> None:
    one = closed(made(tau=2, rounds=2, clients=clients, **more))
    every = closed(made(tau=2, rounds=2, clients=None, **more))
    assert one.value == pytest.approx(every.value, rel=1e-5)


@pytest.mark.parametrize("algorithm", ["sfl-v1", "minibatch-sfl"])
def test_all_n_at_once_with_two_sides(algorithm: str) -> None:
    late = 1 if algorithm == "sfl-v1" else 2
    more = {"tau": 2, "rounds": 2, "server": Q(1, 4), "tau_server": late}
    one = closed(made(algorithm, clients=3, zeta2=Q(1), **more))
    every = closed(made(algorithm, clients=None, zeta2=Q(1), **more))
    assert one.value == pytest.approx(every.value, rel=1e-5)


def test_two_sides_that_move_alike_are_one() -> None:
    """The blocks of SFL-V1 with equal periods and steps: FedAvg's single one."""
    steps = {"tau": 2, "rounds": 2, "zeta2": Q(1), "clients": 2}
    alike = closed(made("fedavg", **steps))
    near = closed(made("sfl-v1", server=Q(1, 2) + Q(1, 10**9), **steps))
    assert len(alike.program.spaces) == 1
    assert len(near.program.spaces) == 2
    assert near.value == pytest.approx(alike.value, rel=1e-5)


def test_two_equal_weights_are_no_weights() -> None:
    same = made(tau=2, rounds=2, clients=2, weights=(Q(1, 2),) * 2, zeta2=Q(1))
    other = made(tau=2, rounds=2, clients=2, zeta2=Q(1))
    assert closed(same).value == pytest.approx(closed(other).value, rel=1e-6)


@pytest.mark.parametrize("algorithm", ["fedavg", "minibatch-sfl"])
@pytest.mark.parametrize(
    "more",
    [
        {"zeta2": Q(1)},
        {"G2": Q(5), "mu": Q(0), "metric": "gradient", "reading": "average"},
    ],
)
def test_noise_of_clients_that_are_alike(
    algorithm: str, more: dict[str, object]
) -> None:
    """Means and deviations of N clients say what N clients say.

    With the second bounds it matters that the clients' noises are orthogonal.
    """
    known = {"tau": 2, "rounds": 2, "clients": 2, "sigma2": Q(1), **more}
    apart = worst_case(made(algorithm, **known), below=False)
    alike = worst_case(made(algorithm, symmetric=True, **known), below=False)
    assert alike.certificate is not None
    assert apart.value == pytest.approx(alike.value, rel=1e-5)


@pytest.mark.parametrize(
    "more",
    [
        {"clients": 1, "tau": 2},
        {"clients": 2, "weights": (Q(1, 3), Q(2, 3)), "tau": 2, "zeta2": Q(1)},
        {"clients": None, "eta": Q(2)},
        {"clients": 1, "rounds": 2},
    ],
)
def test_a_start_by_gap_may_be_anywhere(more: dict[str, object]) -> None:
    """Convex functions may be nearly flat: nothing holds x(0) near x*."""
    setting = made(**{"rounds": 3, "mu": Q(0), "start": "gap", **more})
    found = worst_case(setting)
    assert found.certificate is not None, found.failed
    assert check(found.certificate) is None
    assert float(found.upper) == pytest.approx(found.value, rel=1e-6)
    if setting.clients != 2:
        assert found.lower >= found.upper * (1 - Q(1, 10**5))
        assert found.value == pytest.approx(1, rel=1e-6)
    with pytest.raises(ValueError, match="infinite"):
        replace(setting, metric="distance")


def test_noise_of_one_client_is_additive_on_a_parabola() -> None:
    r"""$\|x^T-x^*\|^2$: $(1-\mu\eta)^{2T}+\eta^2\sigma^2\sum_{t<T}(1-\mu\eta)^{2t}$."""
    found = closed(made(rounds=3, clients=1, sigma2=Q(1), metric="distance"))
    rho = Q(19, 20) ** 2
    assert found.lower == rho**3 + Q(1, 4) * (1 + rho + rho**2)


@pytest.mark.parametrize("S", [Q(1, 100), Q(10**4)])
@pytest.mark.parametrize("far", [Q(1, 10**4), Q(10**6)])
def test_values_scale_with_units(S: Q, far: Q) -> None:
    """S and the start are units: steps 1/S, gradients S sqrt(initial)."""
    plain = {"tau": 2, "rounds": 2, "clients": None}
    one = closed(made(zeta2=Q(1), **plain))
    steps = ((Q(1, 2) / S,) * 2,) * 2
    other = Setting(
        "fedavg", 2, *steps, S, S / 10, zeta2=S**2 * far, initial=far, clients=None
    )
    assert closed(other).value == pytest.approx(float(S * far) * one.value, rel=1e-5)


@pytest.mark.parametrize("weights", [(), (Q(1, 3), Q(2, 3)), (Q(1, 4),) * 4])
@pytest.mark.parametrize("sigma2", [Q(0), Q(1)])
def test_clients_that_nothing_bounds_take_one_step_together(
    weights: tuple[Q, ...], sigma2: Q
) -> None:
    """With tau = 1 the mean alone moves: one client with the mean's noise."""
    N = len(weights) or None
    shares = weights or (Q(1),)
    more = {"rounds": 2, "sigma2": sigma2, "metric": "distance"}
    several = worst_case(made(clients=N, weights=weights, **more))
    assert several.certificate is not None, several.failed
    assert check(several.certificate) is None
    more["sigma2"] = sigma2 * sum(a * a for a in shares)
    alone = worst_case(made(clients=1, **more), below=False)
    assert several.value == pytest.approx(alone.value, rel=1e-5)


def test_a_run_without_convexity_is_reached() -> None:
    closed(
        made(
            "sfl-v2", tau=2, rounds=2, eta=Q(1, 8), mu=None, clients=2, eps2=Q(1),
            start="gap", metric="gradient", reading="average",
        )
    )  # fmt: skip


def test_all_n_at_once_bound_every_n_with_noise() -> None:
    more = {"tau": 2, "rounds": 2, "zeta2": Q(1), "sigma2": Q(1)}
    bound = worst_case(made(clients=None, **more), below=False).value
    for clients in (2, 5, 50):
        one = worst_case(made(clients=clients, symmetric=True, **more), below=False)
        assert one.value <= bound * (1 + 1e-6)
