"""Chance enumerated: who takes part, and which of two values noise takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case import columns
from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.runs import play
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import WorstCase, worst_case

MU, HALF = Q(1, 10), Q(1, 2)


def made(
    algorithm: str = "fedavg",
    rounds: int = 1,
    eta: Q = HALF,
    mu: Q | None = MU,
    tau: int = 1,
    **more: object,
) -> Setting:
    steps = (eta,) * rounds
    return Setting(algorithm, tau, steps, steps, Q(1), mu, **more)


@cache
def solved(setting: Setting) -> WorstCase:
    found = worst_case(setting)
    assert found.certificate is not None, found.failed
    assert check(found.certificate) is None
    return found


@settings(max_examples=15, deadline=None)
@given(
    st.fractions(Q(1, 5), 1, max_denominator=20),
    st.fractions(Q(1, 10), 2, max_denominator=20),
)
def test_a_client_that_sits_out_makes_longer_steps(q: Q, eta: Q) -> None:
    r"""One round of one client: $1-q+q\max\{1-\mu\eta/q,S\eta/q-1\}^2$."""
    found = solved(made(eta=eta, clients=1, participation=(q,), metric="distance"))
    exact = 1 - q + q * max(1 - MU * eta / q, eta / q - 1) ** 2
    assert float(found.upper) == pytest.approx(float(exact), rel=1e-5)
    assert found.lower is not None
    assert found.lower <= exact <= found.upper


@pytest.mark.parametrize("algorithm", ["fedavg", "sfl-v2", "minibatch-sfl"])
def test_who_surely_takes_part_is_there(algorithm: str) -> None:
    more = {"tau": 2, "clients": 2, "zeta2": Q(1), "rounds": 2, "eta": Q(1, 4)}
    plain, sure = (
        solved(made(algorithm, participation=q, **more)) for q in ((), (Q(1),) * 2)
    )
    assert sure.value == pytest.approx(plain.value, rel=1e-6)


@pytest.mark.parametrize(
    "more",
    [
        {},
        {"tau": 2, "rounds": 1},
        {"algorithm": "sfl-v1", "tau": 1, "tau_server": 2, "rounds": 1},
        {"reading": "average"},
        {"metric": "gradient", "reading": "minimum"},
        {"mu": None, "eps2": Q(1), "start": "gap", "metric": "gradient",
         "reading": "average", "zeta2": None},
        {"weights": (Q(1, 3), Q(2, 3)), "participation": (HALF, Q(1))},
        {"algorithm": "sfl-v2", "server_moves": "weighted", "rounds": 1},
        {"algorithm": "minibatch-sfl", "rounds": 1, "tau": 2},
        {"sigma2": Q(1, 4), "rounds": 1, "two_point": True},
    ],
)  # fmt: skip
def test_what_is_enumerated_is_reached(more: dict[str, object]) -> None:
    """Certified from above and, in exact numbers, reached from below."""
    plain = {"zeta2": Q(1), "clients": 2, "participation": (HALF,) * 2, "rounds": 2}
    found = solved(made(**{**plain, "eta": Q(1, 4), **more}))
    assert found.lower is not None, found.failed
    assert 0 <= found.upper - found.lower <= Q(1, 10**4) * found.upper


@given(
    st.sampled_from(["fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl"]),
    st.lists(st.sampled_from([Q(1), HALF, Q(1, 3)]), min_size=2, max_size=2),
    st.integers(1, 2),
)
@settings(max_examples=20, deadline=None)
def test_chances_sum_to_one(algorithm: str, q: list[Q], rounds: int) -> None:
    run = play(made(algorithm, rounds, clients=2, zeta2=Q(1), participation=tuple(q)))
    assert all(sum(one.chance for one in worlds) == 1 for worlds in run.worlds)
    assert len({one.x.key for one in run.worlds[-1]}) == len(run.worlds[-1])


def test_two_points_of_noise_are_no_worse_than_any() -> None:
    """The relaxation is an upper bound, and tight to 1 % on these."""
    for one in (
        made(rounds=3, clients=1, sigma2=Q(1)),
        made(tau=2, clients=1, sigma2=Q(1), metric="distance"),
        made(clients=2, sigma2=Q(1), zeta2=Q(1), algorithm="sfl-v2", eta=Q(1, 4)),
    ):
        loose, exact = solved(one).value, solved(replace(one, two_point=True)).value
        assert exact <= loose * (1 + 1e-6)
        assert exact == pytest.approx(loose, rel=1e-2)


def test_noise_and_participation_together() -> None:
    one = made(
        clients=2, zeta2=Q(1), sigma2=Q(1, 2), participation=(HALF, Q(1)), rounds=1
    )
    loose, exact = solved(one).value, solved(replace(one, two_point=True)).value
    quiet = solved(replace(one, sigma2=Q(0))).value
    assert quiet < exact <= loose * (1 + 1e-6)
    assert exact == pytest.approx(loose, rel=1e-2)


def test_a_certificate_is_of_its_participation_only() -> None:
    one = made(clients=2, zeta2=Q(1), participation=(HALF,) * 2, rounds=2)
    good = solved(one).certificate
    for q in ((), (Q(1), HALF), (Q(1, 3), HALF)):
        assert check(replace(good, setting=replace(one, participation=q))) is not None


N, D, CUT, ETA = 2, 4, 2, 0.25


def outcomes(q: np.ndarray) -> Iterator[tuple[float, list[int]]]:
    for here in product([True, False], repeat=N):
        chance = np.prod([a if h else 1 - a for a, h in zip(q, here, strict=True)])
        yield float(chance), [n for n in range(N) if here[n]]


def moved(
    algorithm: str, x: np.ndarray, present: list[int], g: object, a: object, q: object
) -> np.ndarray:
    """One round of two local steps as the papers print it, in coordinates."""
    local, server = {n: x.copy() for n in present}, x[CUT:].copy()
    if algorithm == "sfl-v2":
        for n in present:
            for _ in range(2):
                local[n][CUT:] = server
                step = g(n, local[n])
                local[n] -= ETA * step
                server = server - ETA / q[n] * step[CUT:]
    else:
        for _ in range(2):
            steps = {n: g(n, local[n]) for n in present}
            for n in present:
                local[n] -= ETA * steps[n]
            if algorithm == "minibatch-sfl" and present:
                p = {n: a[n] / q[n] for n in present}
                total = sum(p[n] * steps[n] for n in present) / sum(p.values())
                server = server - ETA * total[CUT:]
                for n in present:
                    local[n][CUT:] = server
    new = x + sum(a[n] / q[n] * (local[n] - x) for n in present)
    if algorithm in {"sfl-v2", "minibatch-sfl"}:
        new[CUT:] = server
    return new


@settings(max_examples=60, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl"]),
    st.sampled_from([(HALF, HALF), (Q(1, 3), Q(1))]),
)
def test_random_problems_never_exceed_the_value(
    seed: int, algorithm: str, q: tuple[Q, Q]
) -> None:
    """Random quadratics, all outcomes of a round played outside the package."""
    shares = (Q(1, 4), Q(3, 4))
    bound = float(
        solved(
            made(
                algorithm, 1, Q(1, 4), tau=2, clients=N, weights=shares, zeta2=Q(1),
                participation=q,
            )
        ).upper
    )  # fmt: skip
    draw = np.random.default_rng(seed)
    a, chance = np.array(shares, float), np.array(q, float)
    H = []
    for _ in range(N):
        turn, _ = np.linalg.qr(draw.normal(size=(D, D)))
        H.append(turn @ np.diag(draw.choice([0.1, 1.0], D)) @ turn.T)
    slopes = draw.normal(size=(N, D))
    slopes -= a @ slopes
    slopes /= np.sqrt(a @ np.sum(slopes**2, axis=1))
    x = draw.normal(size=D)
    x /= np.linalg.norm(x)

    def g(n: int, at: np.ndarray) -> np.ndarray:
        return H[n] @ at + slopes[n]

    mean = sum(a[n] * H[n] for n in range(N))
    gap = 0.0
    for p, present in outcomes(chance):
        end = moved(algorithm, x, present, g, a, chance)
        gap += p * 0.5 * float(end @ mean @ end)
    assert gap <= bound * (1 + 1e-9)


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ({"clients": None, "participation": (HALF,)}, "a number of clients is needed"),
        ({"clients": 2, "participation": (HALF,)}, "one probability"),
        ({"clients": 2, "participation": (HALF, Q(0))}, "one probability"),
        ({"clients": 2, "participation": (HALF,) * 2, "zeta2": None}, "need a bound"),
        ({"clients": 1, "two_point": True}, "needs a variance"),
        ({"clients": None, "two_point": True, "sigma2": Q(1)}, "number of clients"),
    ],
)
def test_what_has_no_scenarios_is_refused(more: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        made(**{"zeta2": Q(1), **more})


def test_too_many_scenarios_are_refused_at_once() -> None:
    one = made(clients=4, zeta2=Q(1), participation=(HALF,) * 4, rounds=9)
    with pytest.raises(ValueError, match="number of scenarios is 68719476736"):
        worst_case(one)


def test_scenarios_without_convexity_are_tied_together_at_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """No x* ties them: with neighbours alone gradients are not bounded."""
    setting = made(
        "sfl-v2",
        rounds=2,
        eta=Q(1, 8),
        mu=None,
        clients=2,
        participation=(HALF, HALF),
        eps2=Q(1),
        start="gap",
        metric="gradient",
        reading="average",
    )
    whole = solved(setting)
    assert whole.lower is not None
    assert float(whole.lower) == pytest.approx(float(whole.upper or 0), rel=1e-5)
    monkeypatch.setattr(columns, "ALL_OUTCOMES", 0)
    some = worst_case(setting, below=False)
    assert len(some.found.constraints) < len(whole.found.constraints) * 3 // 4
    assert some.certificate is not None and check(some.certificate) is None
    assert float(some.upper or 0) == pytest.approx(float(whole.upper or 0), rel=1e-5)
