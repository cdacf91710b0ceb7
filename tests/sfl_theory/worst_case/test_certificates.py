"""A certificate that was changed is rejected; what is left out only raises a value."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction as Q
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.certificate import Certificate
from sfl_theory.worst_case.columns import searched
from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.instance import Instance, mended, reached
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import worst_case

STEPS = ((Q(1, 4),) * 2,) * 2
SETTINGS = (
    Setting("fedavg", 2, *STEPS, Q(1), Q(1, 10), zeta2=Q(1)),
    Setting("sfl-v2", 2, *STEPS, Q(1), Q(1, 10), clients=2, zeta2=Q(1)),
    Setting("sfl-v1", 2, *STEPS, Q(1), Q(0), zeta2=Q(1), sigma2=Q(1)),
    Setting(
        "fedavg", 2, *STEPS, Q(1), None, clients=2, eps2=Q(1), start="gap",
        metric="gradient", reading="minimum",
    ),
    Setting(
        "sfl-v2", 1, *STEPS, Q(1), Q(1, 10), clients=2, zeta2=Q(1),
        participation=(Q(1, 2), Q(1)),
    ),
)  # fmt: skip


@cache
def certificate(k: int) -> Certificate:
    found = worst_case(SETTINGS[k], below=False)
    assert found.certificate is not None
    return found.certificate


@settings(max_examples=40, deadline=None)
@given(st.data())
def test_a_corrupted_certificate_is_rejected(data: st.DataObject) -> None:
    good = certificate(data.draw(st.integers(0, len(SETTINGS) - 1)))
    what = data.draw(
        st.sampled_from(["bound", "use", "drop", "square", "gone", "sign"])
    )
    change = Q(data.draw(st.sampled_from([1, -1])), 2 ** data.draw(st.integers(1, 60)))
    uses, squares = list(good.uses), list(good.squares)
    k = data.draw(st.integers(0, len(uses) - 1))
    j = data.draw(st.integers(0, len(squares) - 1))
    if what == "bound":
        bad = replace(good, bound=good.bound + change)
    elif what == "use":
        uses[k] = (uses[k][0], uses[k][1] + change)
    elif what == "drop":
        del uses[k]
    elif what == "square":
        squares[j] = replace(squares[j], weight=squares[j].weight + change)
    elif what == "gone":
        del squares[j]
    else:
        squares[j] = replace(squares[j], weight=-squares[j].weight)
    if what != "bound":
        bad = replace(good, uses=tuple(uses), squares=tuple(squares))
    assert check(good) is None
    assert check(bad) is not None


def test_a_certificate_is_of_its_setting_only() -> None:
    good = certificate(0)
    for other in (
        replace(good.setting, S=Q(2)),
        replace(good.setting, mu=Q(1, 5)),
        replace(good.setting, zeta2=Q(2)),
        replace(good.setting, client_steps=(Q(1, 3),) * 2, server_steps=(Q(1, 3),) * 2),
        replace(good.setting, clients=2),
    ):
        assert check(replace(good, setting=other)) is not None


def test_a_negative_multiplier_is_rejected_where_all_else_fits() -> None:
    """Twice the reverse of an inequality, minus itself, changes no identity."""
    good = certificate(0)
    uses = list(good.uses)
    uses += [(uses[0][0], Q(-1)), (uses[0][0], Q(1))]
    assert "negative" in (check(replace(good, uses=tuple(uses))) or "")


@pytest.mark.parametrize(
    "more",
    [{"G2": Q(2)}, {"eps2": Q(1, 4)}, {"zeta2": Q(1, 2)}, {"mu": Q(1, 5)}],
)
def test_a_further_assumption_never_raises_the_value(more: dict[str, Q]) -> None:
    first = worst_case(SETTINGS[0], below=False).value
    second = worst_case(replace(SETTINGS[0], **more), below=False).value
    assert second <= first * (1 + 1e-6)


@settings(max_examples=40, deadline=None)
@given(
    st.integers(0, 2**32 - 1),
    st.sampled_from(["fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl"]),
)
def test_random_admissible_problems_never_exceed_the_value(
    seed: int, algorithm: str
) -> None:
    """Quadratics with random curvature, played step by step outside the package."""
    random = np.random.default_rng(seed)
    setting = replace(SETTINGS[0], algorithm=algorithm, clients=2)
    value = worst_of(setting)
    N, d, cut, tau, eta, mu = 2, 4, 2, 2, 0.25, 0.1
    H = []
    for _ in range(N):
        turn, _ = np.linalg.qr(random.normal(size=(d, d)))
        H.append(turn @ np.diag(random.choice([mu, 1.0], d)) @ turn.T)
    slopes = random.normal(size=(N, d))
    slopes -= slopes.mean(axis=0)
    slopes /= np.sqrt(np.mean(np.sum(slopes**2, axis=1)))
    x = random.normal(size=d)
    x /= np.linalg.norm(x)

    def g(n: int, at: np.ndarray) -> np.ndarray:
        return H[n] @ at + slopes[n]

    for _ in range(2):
        local, server = [x.copy() for _ in range(N)], x[cut:].copy()
        if algorithm == "sfl-v2":
            for n in range(N):
                for _ in range(tau):
                    local[n][cut:] = server
                    step = g(n, local[n])
                    local[n] -= eta * step
                    server = server - eta * step[cut:]
        else:
            for _ in range(tau):
                steps = [g(n, local[n]) for n in range(N)]
                local = [p - eta * step for p, step in zip(local, steps, strict=True)]
                if algorithm == "minibatch-sfl":
                    server = server - eta * np.mean(steps, axis=0)[cut:]
                    for p in local:
                        p[cut:] = server
        x = np.mean(local, axis=0)
        if algorithm == "sfl-v2":
            x[cut:] = server
    gap = 0.5 * x @ np.mean(H, axis=0) @ x
    assert gap <= value * (1 + 1e-9)


@cache
def worst_of(setting: Setting) -> float:
    found = worst_case(setting, below=False)
    assert found.upper is not None
    return float(found.upper)


def test_an_instance_that_breaks_an_assumption_is_none() -> None:
    found = searched(formulated(SETTINGS[0]), 1e-7)
    enough = found.solution.upper * (1 - 1e-6)
    mine = mended(formulated(SETTINGS[0]), found, enough)
    assert isinstance(mine, Instance)
    for change in ({"zeta2": Q(1, 2)}, {"initial": Q(9, 10)}, {"mu": Q(1, 5)}):
        other = formulated(replace(SETTINGS[0], **change))
        data = (mine.factors, mine.weights, mine.values)
        assert isinstance(reached(other, "of a wider class", *data), str)
        moved = mended(other, found, enough)
        assert isinstance(moved, str) or moved.value < mine.value


def test_noise_in_cliques_is_noise_in_one_matrix() -> None:
    noisy = Setting(
        "sfl-v2", 2, *STEPS, Q(1), Q(1, 10), clients=2, zeta2=Q(1), sigma2=Q(1, 4)
    )
    program = formulated(noisy)
    assert program.apart
    whole = formulated(noisy)
    whole.__dict__["cliques"] = {
        space: (tuple(range(len(whole.kept(space)))),) for space in whole.spaces
    }
    assert not whole.apart
    split, one = (searched(of, 1e-7).solution for of in (program, whole))
    assert split.upper == pytest.approx(one.upper, rel=1e-6)
    found = worst_case(noisy)
    assert found.certificate is not None
    assert check(found.certificate) is None
    cut = replace(
        found.certificate,
        uses=tuple(u for u in found.certificate.uses if u[0] not in program.apart),
    )
    assert check(cut) is not None
