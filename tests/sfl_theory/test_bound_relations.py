"""Relations that every right bound has; where a printed one fails, that is the fact.

The relations are computed for every bound and compared with the bound's ``findings``
in both directions: a failing relation that is not stated fails the test, and so does a
stated one that holds. ``show`` and the pictures print the findings.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory import Bound, Constants, rate_table, theorem, theorems
from sfl_theory.bound import total
from sfl_theory.schedules import Schedule

positive = st.floats(0.1, 10)
ROUNDS = np.array([1, 2, 10, 1000])


@st.composite
def constants(draw: Callable[..., float]) -> Constants:
    clients = draw(st.integers(1, 4))
    raw = np.array([draw(positive) for _ in range(clients)])
    S = draw(positive)
    return Constants(
        S=S,
        mu=S * draw(st.floats(0.01, 1)),
        sigma2=tuple(draw(positive) for _ in range(clients)),
        G2=draw(positive),
        eps2=draw(positive),
        weights=tuple(raw / raw.sum()),
        participation=tuple(draw(st.floats(0.1, 0.9)) for _ in range(clients)),
        tau=draw(st.integers(1, 6)),
        tau_server=draw(st.integers(1, 6)),
        initial_distance2=draw(positive),
        initial_gap=draw(positive),
        Gamma=draw(positive),
        R2=draw(positive),
        initial_distance2_client=draw(positive),
        initial_distance2_server=draw(positive),
        distance2_client=draw(positive),
        distance2_server=draw(positive),
        sigma_star2=draw(positive),
        eps_star2=draw(positive),
    )


ALL = [
    pytest.param(case.bound(), id=f"{item.key}/{name}")
    for item in theorems()
    for name, case in item.cases.items()
]
TABLE_ROWS = [
    pytest.param(row, id=f"table-{k}-{i}-{row.method}-{row.case}")
    for k in (1, 2, 3)
    for i, row in enumerate(rate_table(k))
]

GRADIENT2 = ("sigma2", "G2", "eps2", "R2", "sigma_star2", "eps_star2")
DISTANCE2 = (
    "initial_distance2",
    "initial_distance2_client",
    "initial_distance2_server",
    "distance2_client",
    "distance2_server",
)
# F -> c F multiplies S, mu, gaps by c and squared gradients by c^2;
# x -> k x (F as a function of x/k) multiplies S, mu, squared gradients by k^-2 and
# squared distances by k^2.
LOSS = {"S": 1, "mu": 1, "initial_gap": 1, "Gamma": 1} | dict.fromkeys(GRADIENT2, 2)
PARAMETER = (
    {"S": -2, "mu": -2} | dict.fromkeys(GRADIENT2, -2) | dict.fromkeys(DISTANCE2, 2)
)
# power of (c, k) by which the metric itself scales; eta scales with c^-1 k^2
METRIC = {
    "objective_gap": (1, 0),
    "weighted_gradient": (1, 0),
    "client_distance": (0, 2),
    "server_distance": (0, 2),
}


def rescaled(values: Constants, powers: dict[str, int], factor: float) -> Constants:
    changed = {}
    for name, power in powers.items():
        old = getattr(values, name)
        scale = factor**power
        changed[name] = (
            tuple(scale * v for v in old) if isinstance(old, tuple) else scale * old
        )
    return values.with_values(**changed)


def value(
    bound: Bound, values: Constants, schedule: Schedule | None = None
) -> np.ndarray:
    """Return the formula's value: relations hold of it inside the hypotheses or not."""
    return total(bound.formula(values, ROUNDS, schedule))


def stated(bound: Bound) -> set[str]:
    return {finding.relation for finding in bound.findings}


def scales(
    evaluate: Callable[[Constants], np.ndarray],
    values: Constants,
    powers: dict[str, int],
    power: int,
) -> bool:
    factor = 3.0
    return np.allclose(
        evaluate(rescaled(values, powers, factor)),
        factor**power * evaluate(values),
        rtol=1e-9,
    )


@pytest.mark.parametrize("bound", ALL)
@given(values=constants())
@settings(max_examples=15, deadline=None)
def test_homogeneous_or_stated(bound: Bound, values: Constants) -> None:
    """Bounds scale like their metric under rescaling of loss and parameters."""

    def evaluate(c: Constants) -> np.ndarray:
        return value(bound, c)

    loss, parameter = METRIC[bound.metric.key]
    assert scales(evaluate, values, LOSS, loss) == ("loss_scale" not in stated(bound))
    assert scales(evaluate, values, PARAMETER, parameter) == (
        "parameter_scale" not in stated(bound)
    )


@pytest.mark.parametrize("row", TABLE_ROWS)
@given(values=constants())
@settings(max_examples=10, deadline=None)
def test_table_rows_homogeneous_or_stated(row, values: Constants) -> None:
    """Dropping absolute constants does not excuse dropping units; lost ones stated."""

    def evaluate(c: Constants) -> np.ndarray:
        return row.evaluate(c, ROUNDS)

    assert scales(evaluate, values, LOSS, 1) == ("loss_scale" not in stated(row))
    assert scales(evaluate, values, PARAMETER, 0) == (
        "parameter_scale" not in stated(row)
    )


@pytest.mark.parametrize("bound", ALL)
@given(values=constants(), name=st.sampled_from(["sigma2", "G2", "eps2", "R2"]))
@settings(max_examples=15, deadline=None)
def test_monotone_in_noise_and_heterogeneity(
    bound: Bound, values: Constants, name: str
) -> None:
    """A bound never falls when variance, gradient norm or divergence grows."""
    values = values.with_values(tau=values.tau + 1)  # (tau - 1) G^2 is a term
    larger = rescaled(values, {name: 1}, 2.0)
    before, after = value(bound, values), value(bound, larger)
    assert np.all(after >= before)
    assert (name in bound.needs) == bool(np.all(after > before))


@pytest.mark.parametrize("bound", ALL)
@given(values=constants())
@settings(max_examples=15, deadline=None)
def test_monotone_in_rounds_and_participation(bound: Bound, values: Constants) -> None:
    """A bound never grows with T, nor with q_n at a fixed learning rate."""
    every = np.arange(max(1, bound.metric.first_round), 50)
    over_rounds = total(bound.formula(values, every))
    assert np.all(np.diff(over_rounds) <= 1e-12 * over_rounds[:-1])
    if "participation" not in bound.needs:
        return
    schedule = bound.step_size.schedule(values)
    fuller = values.with_values(participation=1.0)
    assert np.all(value(bound, fuller, schedule) < value(bound, values, schedule))


@pytest.mark.parametrize(("partial", "full"), [("3.8", "3.6"), ("3.9", "3.7")])
@pytest.mark.parametrize("name", ["strongly_convex", "general_convex", "non_convex"])
@given(values=constants())
@settings(max_examples=15, deadline=None)
def test_full_participation_limit_or_stated(
    partial: str, full: str, name: str, values: Constants
) -> None:
    """At q = 1 a bound for partial participation is the one for full participation."""
    everyone = values.with_values(participation=1.0)
    bound, other = theorem(partial).case(name).bound(), theorem(full).case(name).bound()
    schedule = other.step_size.schedule(everyone)
    same = np.allclose(
        value(bound, everyone, schedule),
        value(other, everyone, schedule),
        rtol=1e-12,
    )
    assert same == ("full_participation" not in stated(bound))


@pytest.mark.parametrize(("partial", "full"), [("3.8", "3.6"), ("3.9", "3.7")])
@pytest.mark.parametrize("name", ["strongly_convex", "general_convex", "non_convex"])
def test_full_participation_step_or_stated(partial: str, full: str, name: str) -> None:
    """At q = 1 the step-size rules agree too (six clients, one tau)."""
    values = Constants(
        S=3,
        mu=1,
        tau=4,
        tau_server=4,
        weights=(0.3, 0.3, 0.1, 0.1, 0.1, 0.1),
        participation=1.0,
    )
    bound, other = theorem(partial).case(name).bound(), theorem(full).case(name).bound()
    at = np.arange(5.0)
    ours, theirs = (b.step_size.schedule(values) for b in (bound, other))
    same = np.allclose(ours.client(at), theirs.client(at), rtol=1e-12) and np.allclose(
        ours.server(at), theirs.server(at), rtol=1e-12
    )
    assert same == ("full_participation_step" not in stated(bound))


@given(values=constants())
@settings(max_examples=25, deadline=None)
def test_dachille_is_theorem_3_6_with_one_period(values: Constants) -> None:
    """dachille2024 Prop. 1 is Theorem 3.6, non-convex, at tau = tau_server."""
    one = values.with_values(tau_server=values.tau)
    printed = theorem("dachille2024/prop-1").case().bound()
    other = theorem("3.6").case("non_convex").bound()
    assert value(printed, one) == pytest.approx(value(other, one), rel=1e-12)


@given(values=constants())
@settings(max_examples=25, deadline=None)
def test_huang_theorem_is_its_decomposition(values: Constants) -> None:
    """Theorem 1 is S/2 times the sum of Propositions 1 and 2 (Lemma 1)."""
    both = values.initial_distance2_client + values.initial_distance2_server
    values = values.with_values(initial_distance2=both)
    parts = sum(
        value(theorem(f"huang2023/prop-{k}").case().bound(), values) for k in (1, 2)
    )
    whole = value(theorem("huang2023/thm-1").case().bound(), values)
    assert whole == pytest.approx(values.S / 2 * parts, rel=1e-12)


@pytest.mark.parametrize(
    ("key", "name", "order"),
    [
        ("3.6", "strongly_convex", -1),
        ("3.9", "strongly_convex", -1),
        ("3.7", "general_convex", -1 / 3),
        ("3.7", "non_convex", 0),
        ("huang2023/thm-1", "strongly_convex", -1),
        ("dachille2024/prop-1", "non_convex", 0),
    ],
)
def test_order_in_rounds(key: str, name: str, order: float) -> None:
    """Orders follow from the formulas; at a constant rate (16) does not vanish."""
    assert float(theorem(key).case(name).bound().exponent()) == pytest.approx(order)
