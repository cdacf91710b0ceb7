"""A third independent reading: each attack has to be rejected.

The rules on draws, `Expected`, averaged hypotheses and stepwise rates were found sound.
Found: a long model that reads a named function by its diagonal, and so refutes a true
statement; printed statements that say something else than what was decided; small
files that never end.
"""

from __future__ import annotations

import resource
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction as Q
from pathlib import Path

import pytest
from calls import ETA, EVERYONE, ONE, F, Kind, i, n, now, s2
from test_attacks import NOTHING, ONE_FORM, claimed, modelled, small_model
from test_attacks_second_reading import KERNEL, SLOPE

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Star,
    Var,
    constant,
    gradient,
    iterate,
    natural,
    norm2,
    summed,
    symbol,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs import derived
from sfl_theory.proofs.export import ModelData, Statement, document
from sfl_theory.proofs.notation import nat, of, point

pytestmark = pytest.mark.fast

ATTACKS: list[tuple[str, Callable[[], object]]] = []


def attack(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def add(function: Callable[[], object]) -> Callable[[], object]:
        ATTACKS.append((name, function))
        return function

    return add


def plain(steps_: Ratio = ONE, kind: Kind = Kind.V1) -> k.Split:
    """Return a run at rate 1/2."""
    pace = k.Pace(natural(steps_), k.Rate(ratio(Q(1, 2))))
    return k.Split(kind, EVERYONE, pace, pace)


# 1. Long models: true statements refuted ----------------------------------------------

BEST = value_of(F, vec(Star(F)))
MIXED = (((Q(1), Q(9, 10)), (Q(9, 10), Q(1))), (Q(1), Q(1)), ())
HUBER = (((Q(0),),), (Q(0),), ((Q(1), (Q(1),), Q(1), Q(1)),))


@attack("long 1: phi(phi*) <= phi(x(0)), phi's Hessian read without what is mixed")
def _() -> None:
    model = ModelData(
        start=(Q(-1), Q(-1)),
        numbers={},
        named={F: MIXED},
        stars={F: (Q(-10, 19), Q(-10, 19))},
        long=True,
    )
    modelled(BEST, value_of(F, iterate(plain(), 0)), {h.Minimiser(F)}, model)


@attack("long 2: a Huber function is read as 0: phi(3) >= phi* + 1/2 is refuted")
def _() -> None:
    thm = derived.lowest(F, iterate(plain(), 0))
    away = BEST - value_of(F, iterate(plain(), 0)) + constant(Q(1, 2))
    model = small_model(start=(Q(3),), named={F: HUBER}, stars={F: (Q(1),)}, long=True)
    assert thm.hypotheses == {h.Minimiser(F)}
    modelled(away, NOTHING, thm.hypotheses, model)


@attack("long 3: 1 <= ||grad phi(x(0))||^2 is refuted under itself as hypothesis")
def _() -> None:
    slope = norm2(gradient(F, iterate(plain(), 0)))
    model = small_model(start=(Q(3),), named={F: HUBER}, long=True)
    modelled(ONE_FORM, slope, {h.Holds(slope - ONE_FORM)}, model)


# 2. F* that is no minimiser ------------------------------------------------------


@attack("minimisers 4: phi* minimises phi for all i < T, which says nothing for T = 0")
def _() -> None:
    T = nat("T")
    never = h.every(k.Steps(natural(of(T))), i, h.Minimiser(F))
    model = small_model(
        numbers={T: Q(0)},
        named={F: SLOPE},
        points={k.Point("y"): ((Q(0),),)},
        stars={F: (Q(1),)},
    )
    modelled(BEST, value_of(F, point("y")), {never}, model)


@attack("minimisers 5: the same of every client's function")
def _() -> None:
    own = k.Local(n)
    each = h.every(CLIENTS, n, h.Minimiser(own))
    never = h.every(k.Steps(natural(of(nat("T")))), i, each)
    lower = summed(CLIENTS, n, value_of(own, vec(Star(own))) * weight(n))
    thm = R.assume(value_of(MEAN, point("y")) - lower)
    claimed(thm, lower, value_of(MEAN, point("y")), never, *thm.hypotheses)


@pytest.mark.parametrize(
    "place", range(len(ATTACKS)), ids=[name for name, _ in ATTACKS]
)
def test_the_attack_is_rejected(place: int) -> None:
    with pytest.raises(Rejected):
        ATTACKS[place][1]()


# 3. Printed statements that say something else ---------------------------------------


def test_a_rate_that_counts_steps_is_not_printed_as_one_of_the_round() -> None:
    """As printed, both steps of round 0 have rate eta(0); proved is eta(0), eta(1)."""
    by_round, by_step = (kind(natural(2), ETA) for kind in (k.Pace, k.Stepwise))
    assert "eta(round)" in str(by_round)
    assert "round" not in str(by_step)
    assert "eta(step)" in str(by_step)


def test_the_argument_of_such_a_rate_is_no_parameters_name() -> None:
    step = symbol(Var("step", Sort.POSITIVE))
    thm = R.assume(constant(step))
    with pytest.raises(Rejected, match="meaning of its own"):
        claimed(thm, NOTHING, constant(step), *thm.hypotheses)


def test_a_second_moment_is_not_printed_as_a_variance() -> None:
    """Proved without `Unbiased`: E||xi||^2 <= s2. Noise always 1 has variance 0."""
    run = plain()
    thm = derived.variance(run, s2, n, now, ratio(0))
    (assumed,) = thm.hypotheses
    (claim,) = claimed(thm, constant(s2) - thm.form, constant(s2), assumed)  # type: ignore
    assert h.Unbiased(run) not in claim.hypotheses
    assert "variance" not in str(claim)
    assert "||xi" in str(assumed)


def test_enclosures_are_not_printed_as_values() -> None:
    """x(2) = 1/9 of a long run is no multiple of 2^-128."""
    pace = k.Pace(natural(1), k.Rate(ratio(Q(2, 3))))
    x = iterate(k.Split(Kind.V1, EVERYONE, pace, pace), 2)
    statement = Statement("attack", frozenset(), ONE_FORM, norm2(x))
    (claim,) = replay(document([], [(statement, small_model(long=True))]))
    assert "at least 1 > at most" in str(claim)


# 4. Files of a few hundred bytes that never end --------------------------------------

HUGE = ratio(10**300)
NOISY = (((Q(1, 2), (Q(1),), (Q(1),)), (Q(1, 2), (Q(-1),), (Q(-1),))),)
ENDLESS = {
    "a long run of 10^300 rounds": (plain(), HUGE, {"long": True}),
    "a round of 10^300 steps": (plain(HUGE), ONE, {}),
    "a round of 10^300 noisy steps": (plain(HUGE), ONE, {"noise": NOISY, "rounds": 1}),
    "a long run with 10^5 steps a round": (plain(ratio(10**5)), ONE, {"long": True}),
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_small_file_is_decided_in_seconds(name: str, tmp_path: Path) -> None:
    run, t, changes = ENDLESS[name]
    statement = Statement("attack", frozenset(), ONE_FORM, norm2(iterate(run, t)))
    file = tmp_path / "proofs.json"
    file.write_text(document([], [(statement, small_model(**changes))]))

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    done = subprocess.run(
        [sys.executable, "-I", "-S", str(KERNEL / "check.py"), str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode == 1, done.returncode
    assert "MemoryError" not in done.stdout
    assert "REJECTED" in done.stdout
