"""Noise in positions: its past is found for it, is short, and is never the future."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from small_settings import BOUNDED, ONE, SLOW, V2, asked

from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.replay import replay
from sfl_theory.worst_case import noisy, noisy_visits, past
from sfl_theory.worst_case.certificate import Certificate
from sfl_theory.worst_case.past import Step
from sfl_theory.worst_case.proof import prove
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import fewest, worst_case
from sfl_theory.worst_case.sparse import cancelled

NOISE: dict[str, object] = {**BOUNDED, "sigma2": Q(1)}
ALIKE: dict[str, object] = {**NOISE, "clients": 2, "symmetric": True}
SHORT = {
    "alike": asked(2 * ONE, **ALIKE),
    "all N": asked(ONE, **NOISE),
    "visits": asked(ONE, SLOW, **NOISE, **V2),
}


@cache
def certified(setting: Setting) -> Certificate:
    known = worst_case(setting, below=False).certificate
    assert known is not None
    return known


# Short ------------------------------------------------------------------------------


@cache
def few(rounds: int) -> Certificate:
    known = fewest(worst_case(asked(rounds * ONE, **ALIKE), below=False)).certificate
    assert known is not None
    return known


def steps(text: str) -> list[list[object]]:
    found: list[list[object]] = json.loads(text)["steps"]
    return found


def test_a_longer_proof_grows_with_the_number_of_steps() -> None:
    """In gradients twice as long a run has four times as many orthogonalities."""
    sizes = []
    for rounds in (2, 4):
        text = prove(few(rounds), sparse=True).document()
        (claim,) = replay(text)
        assert claim.proved
        noises = sum(step[0] == "unbiased" for step in steps(text))
        assert noises == 2 * rounds, "one orthogonality for each step's noise"
        pairs = sum(says.kind == "interpolation" for says, _ in few(rounds).uses)
        sizes.append((pairs, len(steps(text)), len(text)))
    assert all(more < 2.2 * less for less, more in zip(*sizes, strict=True))


@pytest.mark.parametrize("name", SHORT)
def test_orthogonalities_of_a_certificate_are_not_looked_at(name: str) -> None:
    known = certified(SHORT[name])
    kept = tuple(use for use in known.uses if use[0].kind != "unbiased")
    assert len(kept) < len(known.uses)
    whole, rest = (
        prove(replace(known, uses=uses, squares=()), sparse=True).document()
        for uses in (known.uses, kept)
    )
    assert whole == rest


# Never the future -------------------------------------------------------------------


@pytest.mark.parametrize("name", SHORT)
def test_an_orthogonality_to_what_comes_later_is_refused(name: str) -> None:
    """The noise of every step in a file is said to be drawn in the first one."""
    reasons = []
    text = prove(certified(SHORT[name]), sparse=True).document()
    whole = json.loads(text)
    drawn = [step for step in whole["steps"] if step[0] == "unbiased"]
    places = {json.dumps(step[3:5]) for step in drawn}
    assert len(places) > 1
    for step in drawn:
        kept = step[3:5]
        if kept == drawn[0][3:5]:
            continue
        step[3:5] = drawn[0][3:5]
        with pytest.raises(Rejected) as refused:
            replay(json.dumps(whole))
        reasons.append(str(refused.value))
        step[3:5] = kept
    assert any("not fixed before the noise" in reason for reason in reasons)


PLANTED: dict[str, Callable[[Step, Step], bool]] = {
    "the next point itself": lambda one, now: False,
    "only the step's own end": lambda one, now: one is now,
}


@pytest.mark.parametrize(
    ("name", "fault"),
    [("alike", "the next point itself"), ("visits", "only the step's own end")],
)
def test_a_point_that_a_noise_moves_is_not_of_its_past(
    name: str, fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = past.settled
    for module in (noisy, noisy_visits):
        monkeypatch.setattr(
            module, "settled", lambda *known: real(*known[:3], PLANTED[fault])
        )
    with pytest.raises(Rejected):
        replay(prove(certified(SHORT[name]), sparse=True).document())


# Forms ------------------------------------------------------------------------------

SMALL = st.integers(-6, 6)
NAMES = ["late", "noise", "early", "first"]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(SMALL, min_size=4, max_size=4), max_size=4),
    st.lists(SMALL, min_size=2, max_size=2),
)
def test_a_form_is_squares_and_what_stands_beside_a_noise(
    rows: list[list[int]], free: list[int]
) -> None:
    """What stands beside a noise may be anything: for some values it is definite."""
    form = Quadratic[str]()
    for k, name in enumerate(NAMES):
        form.add(name, name, Q(1))
        for other in NAMES[: k + 1]:
            c = sum(row[k] * row[NAMES.index(other)] for row in rows)
            form.add(name, other, Q(c * (1 if name == other else 2), 3))
    for name, c in zip(NAMES[2:], free, strict=True):
        form.add("noise", name, Q(10 * c))
    squares, beside = cancelled(form, NAMES, {"noise"})
    assert all(weight > 0 for _, weight in squares)
    assert beside.keys() <= {"noise"} and beside["noise"].keys() <= {*NAMES[2:]}
    rest = Quadratic[str]()
    for a, b, c in form.items():
        rest.add(a, b, c)
    for name, c in beside["noise"].items():
        rest.add("noise", name, -c)
    for row, weight in squares:
        for a, x in row.items():
            for b, y in row.items():
                rest.add(a, b, -weight * x * y)
    for name in NAMES:
        row = rest.rows.get(name, {})
        beside_it = sum(abs(c) for b, c in row.items() if b != name)
        assert 2 * row.get(name, Q(0)) >= beside_it, "what remains is dominant"


def test_what_comes_later_is_not_free_beside_a_noise() -> None:
    form = Quadratic[str]()
    for name in NAMES:
        form.add(name, name, Q(1))
    form.add("noise", "late", Q(3))
    with pytest.raises(ValueError, match="not positive"):
        cancelled(form, NAMES, {"noise"})
    squares, beside = cancelled(form, NAMES[1:] + NAMES[:1], {"noise"})
    assert beside == {"noise": {"late": Q(3)}}
    assert all(len(row) == 1 for row, _ in squares)
