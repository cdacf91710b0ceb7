"""Certificates become proofs of the kernel, and corrupted ones do not."""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from pathlib import Path

import pytest
import small_settings
from hypothesis import given, settings
from hypothesis import strategies as st
from small_settings import (
    BOUNDED,
    HALF,
    NON_CONVEX,
    ONE,
    SLOW,
    SMALL,
    UNEQUAL,
    asked,
)

import sfl_theory
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.moments import evaluated
from sfl_theory.kernel.replay import Claim, replay
from sfl_theory.kernel.terms import (
    ROUND,
    Kind,
    Pace,
    Participants,
    Rate,
    Split,
    constant,
    iterate,
    natural,
    norm2,
    number_at,
)
from sfl_theory.proofs.always import Absent
from sfl_theory.proofs.by_number import Numbers
from sfl_theory.proofs.export import ModelData, model_of
from sfl_theory.worst_case.by_chain import ByChain
from sfl_theory.worst_case.certificate import STAR, Certificate, Inequality, Point
from sfl_theory.worst_case.proof import Proved, prove, refuse
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.setting import Visits
from sfl_theory.worst_case.solve import chained, worst_case
from sfl_theory.worst_case.stated import through

CASES = int(os.environ.get("SFL_CERTIFICATES", "150"))
CHECK = Path(str(sfl_theory.__file__)).parent / "kernel" / "check.py"
SETTINGS = {**small_settings.SETTINGS}
DRAWN: dict[str, object] = {"clients": 2, "participation": (HALF, HALF)}
UNLIKE: dict[str, object] = {**UNEQUAL, "participation": (HALF, Q(1, 3))}
VISITED: dict[str, object] = {**DRAWN, "algorithm": "sfl-v2"}
DRAWN_SETTINGS = {
    "drawn": asked(ONE, algorithm="fedavg", tau=1, metric="distance", **DRAWN),
    "drawn, gap": asked(ONE, **DRAWN),
    "drawn, unlike": asked(ONE, **UNLIKE),
    "drawn, one always": asked(ONE, clients=2, participation=(HALF, Q(1))),
    "drawn, two paces": asked(ONE, (Q(1, 3),), tau_server=3, **DRAWN),
    "drawn, bounded": asked(ONE, **BOUNDED, **{**DRAWN, "tau": 1}),
    "drawn, dissimilarity": asked(ONE, zeta2=None, eps2=Q(1), **DRAWN),
    "drawn, start by gap": asked(ONE, start="gap", **DRAWN),
    "drawn, the same minimiser": asked(ONE, **DRAWN | {"zeta2": Q(0)}),
    "drawn, three": asked(ONE, tau=1, clients=3, participation=(HALF,) * 3),
    "drawn twice": asked(2 * ONE, tau=1, metric="distance", **DRAWN),
    "drawn twice, gap": asked(2 * ONE, **DRAWN),
    "drawn twice, unlike": asked((HALF, Q(1, 3)), tau=1, **UNLIKE),
    "drawn twice, bounded": asked(2 * ONE, **BOUNDED, **{**DRAWN, "tau": 1}),
    "drawn twice, average": asked(2 * ONE, tau=1, mu=Q(0), reading="average", **DRAWN),
    "drawn twice, mean": asked(2 * ONE, tau=1, mu=Q(0), reading="mean", **DRAWN),
    "drawn twice, non-convex": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **{**DRAWN, "tau": 1}
    ),
    "drawn twice, least": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", **{**DRAWN, "tau": 1}
    ),
    "drawn, visits": asked(ONE, SLOW, tau=1, **VISITED),
    "drawn, longer visits": asked(ONE, SLOW, **VISITED),
    "drawn, visits in turns": asked(ONE, SLOW, order="interleaved", **VISITED),
    "drawn, weighted visits": asked(
        ONE, SLOW, **{**UNLIKE, "algorithm": "sfl-v2"}, server_moves="weighted"
    ),
    "drawn, visits, bounded": asked(ONE, SLOW, **BOUNDED, **{**VISITED, "tau": 1}),
    "drawn, visits, non-convex": asked(
        SLOW, SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **VISITED
    ),
    "drawn twice, visits": asked(2 * ONE, 2 * SLOW, tau=1, **VISITED),
}
BATCH: dict[str, object] = {**DRAWN, "algorithm": "minibatch-sfl"}
NOISY: dict[str, object] = {**DRAWN, "sigma2": Q(1)}
DRAWN_SETTINGS |= {
    "drawn, minibatch": asked(ONE, SLOW, tau=1, **BATCH),
    "drawn, longer minibatch": asked(ONE, SLOW, metric="distance", **BATCH),
    "drawn, minibatch, unlike": asked(
        ONE, SLOW, **{**UNLIKE, "algorithm": "minibatch-sfl"}
    ),
    "drawn, minibatch, one always": asked(
        ONE, SLOW, **{**BATCH, "participation": (HALF, Q(1))}
    ),
    "drawn, minibatch, bounded": asked(ONE, SLOW, **BOUNDED, **{**BATCH, "tau": 1}),
    "drawn, minibatch, non-convex": asked(
        SLOW, SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **BATCH
    ),
    "drawn, minibatch, three": asked(
        ONE, SLOW, tau=1, **{**BATCH, "clients": 3, "participation": (HALF,) * 3}
    ),
    "drawn twice, minibatch": asked(2 * ONE, 2 * SLOW, tau=1, **BATCH),
    "drawn, noise": asked(ONE, tau=1, **NOISY),
    "drawn, longer noise": asked(ONE, metric="distance", **NOISY),
    "drawn, noise, gap": asked(ONE, **NOISY),
    "drawn, noise, unlike": asked(ONE, **UNLIKE, sigma2=Q(1)),
    "drawn, noise, two paces": asked(ONE, (Q(1, 3),), tau_server=3, **NOISY),
    "drawn, noise, bounded": asked(ONE, **BOUNDED, **{**NOISY, "tau": 1}),
    "drawn, noise, dissimilarity": asked(ONE, zeta2=None, eps2=Q(1), **NOISY),
    "drawn, noise, the same minimiser": asked(ONE, **NOISY | {"zeta2": Q(0)}),
    "drawn, noise, one client": asked(
        ONE, clients=1, participation=(HALF,), sigma2=Q(1)
    ),
    "drawn, noise, three": asked(
        ONE, **{**NOISY, "tau": 1, "clients": 3, "participation": (HALF,) * 3}
    ),
    "drawn, noise, three unlike": asked(
        ONE,
        SLOW,
        tau=1,
        clients=3,
        weights=(Q(1, 4), Q(1, 4), HALF),
        participation=(HALF, Q(1, 3), Q(1)),
        sigma2=Q(1),
    ),
    "drawn, noise, least": asked(
        SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", **NOISY
    ),
}
UNLIKE_NOISY: dict[str, object] = {**UNLIKE, "sigma2": Q(1)}
CHAINED_SETTINGS = {
    "drawn twice, noise": asked(2 * ONE, tau=1, metric="distance", **NOISY),
    "drawn twice, noise, gap": asked(2 * ONE, tau=1, **NOISY),
    "drawn twice, noise, longer": asked(2 * ONE, metric="distance", **NOISY),
    "drawn twice, noise, unlike": asked((HALF, Q(1, 3)), tau=1, **UNLIKE_NOISY),
    "drawn twice, noise, average": asked(
        2 * ONE, tau=1, mu=Q(0), reading="average", **NOISY
    ),
    "drawn twice, noise, mean": asked(2 * ONE, tau=1, mu=Q(0), reading="mean", **NOISY),
    "drawn twice, noise, non-convex": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **{**NOISY, "tau": 1}
    ),
    "drawn twice, noise, dissimilarity": asked(
        2 * ONE, tau=1, zeta2=None, eps2=Q(1), **NOISY
    ),
    "drawn twice, noise, two rates": asked(
        2 * ONE, 2 * (Q(1, 3),), tau=1, metric="distance", **NOISY
    ),
    "drawn twice, noise, least": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", **{**NOISY, "tau": 1}
    ),
    "drawn twice, noise, bounded": asked(2 * ONE, **BOUNDED, **{**NOISY, "tau": 1}),
    "drawn twice, noise, the same minimiser": asked(
        2 * ONE, tau=1, **NOISY | {"zeta2": Q(0)}
    ),
    "drawn twice, noise, three": asked(
        2 * ONE,
        **{**NOISY, "tau": 1, "clients": 3, "participation": (HALF,) * 3},
        metric="distance",
    ),
    "drawn three times, noise, one client": asked(
        3 * ONE, tau=1, clients=1, participation=(HALF,), sigma2=Q(1)
    ),
}
NOISY_BATCH: dict[str, object] = {**NOISY, "algorithm": "minibatch-sfl"}
NOISY_VISITS: dict[str, object] = {**NOISY, "algorithm": "sfl-v2"}
ALWAYS: dict[str, object] = {**NOISY, "tau": 1, "participation": (HALF, Q(1))}
CHAINED_SETTINGS |= {
    "drawn twice, noise, one always": asked(2 * ONE, metric="distance", **ALWAYS),
    "drawn twice, noise, one always, gap": asked(
        2 * ONE, **ALWAYS, weights=(Q(1, 3), Q(2, 3))
    ),
    "drawn twice, noise, one always, longer": asked(
        2 * ONE, **{**ALWAYS, "tau": 2, "participation": (Q(1), HALF)}
    ),
    "drawn twice, noise, one always, two paces": asked(
        2 * ONE, 2 * (Q(1, 3),), tau_server=2, metric="distance", **ALWAYS
    ),
    "drawn twice, noise, one always, average": asked(
        2 * ONE, mu=Q(0), reading="average", **ALWAYS
    ),
    "drawn twice, noise, one always, non-convex": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **ALWAYS
    ),
    "drawn twice, noise, one always, least": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", **ALWAYS
    ),
    "drawn twice, noise, one always, bounded": asked(2 * ONE, **BOUNDED, **ALWAYS),
    "drawn twice, noise, one always, the same minimiser": asked(
        2 * ONE, **ALWAYS | {"zeta2": Q(0)}
    ),
    "drawn twice, noise, two of three always": asked(
        2 * ONE,
        **ALWAYS | {"clients": 3, "participation": (Q(1), HALF, Q(1))},
        metric="distance",
    ),
    "drawn, minibatch, noise": asked(
        ONE, SLOW, tau=1, metric="distance", **NOISY_BATCH
    ),
    "drawn, minibatch, noise, gap": asked(ONE, SLOW, tau=1, **NOISY_BATCH),
    "drawn, longer minibatch, noise": asked(ONE, SLOW, **NOISY_BATCH),
    "drawn, minibatch, noise, unlike": asked(
        ONE, SLOW, **UNLIKE_NOISY | {"algorithm": "minibatch-sfl"}
    ),
    "drawn, minibatch, noise, one always": asked(
        ONE, SLOW, **NOISY_BATCH | {"participation": (HALF, Q(1))}
    ),
    "drawn, minibatch, noise, bounded": asked(
        ONE, SLOW, **BOUNDED, **NOISY_BATCH, tau=1
    ),
    "drawn, minibatch, noise, non-convex": asked(
        SLOW, SLOW, **NON_CONVEX, eps2=Q(1), reading="average", **NOISY_BATCH
    ),
    "drawn, minibatch, noise, the same minimiser": asked(
        ONE, SLOW, **NOISY_BATCH | {"zeta2": Q(0)}
    ),
    "drawn, minibatch, noise, three": asked(
        ONE,
        SLOW,
        tau=1,
        **NOISY_BATCH | {"clients": 3, "participation": (HALF,) * 3},
    ),
    "drawn twice, minibatch, noise": asked(2 * ONE, 2 * SLOW, tau=1, **NOISY_BATCH),
    "drawn twice, minibatch, noise, one always": asked(
        2 * ONE, 2 * SLOW, tau=1, **NOISY_BATCH | {"participation": (HALF, Q(1))}
    ),
    "drawn twice, minibatch, noise, least": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", tau=1, **NOISY_BATCH
    ),
    "drawn, visits, noise": asked(ONE, SLOW, tau=1, **NOISY_VISITS),
    "drawn, longer visits, noise": asked(ONE, SLOW, **NOISY_VISITS),
    "drawn, visits in turns, noise": asked(
        ONE, SLOW, order="interleaved", **NOISY_VISITS
    ),
    "drawn, weighted visits, noise": asked(
        ONE,
        SLOW,
        **UNLIKE_NOISY | {"algorithm": "sfl-v2"},
        server_moves="weighted",
    ),
    "drawn, visits, noise, bounded": asked(ONE, SLOW, **BOUNDED, **NOISY_VISITS, tau=1),
    "drawn, visits, noise, one always": asked(
        ONE, SLOW, **NOISY_VISITS | {"participation": (HALF, Q(1))}
    ),
    "drawn, visits, noise, three": asked(
        ONE,
        SLOW,
        tau=1,
        **NOISY_VISITS | {"clients": 3, "participation": (HALF,) * 3},
    ),
    "drawn twice, visits, noise": asked(
        2 * ONE, 2 * SLOW, tau=1, metric="distance", **NOISY_VISITS
    ),
    "drawn three times, noise, one always": asked(3 * ONE, metric="distance", **ALWAYS),
}
DRAWN_SETTINGS |= CHAINED_SETTINGS
SETTINGS |= DRAWN_SETTINGS
FEW = ["drawn", "drawn, visits", "drawn twice", "drawn, minibatch", "drawn, noise"]
FEW += ["one step", "bounded gradients", "two paces", "noise, N given", "minibatch"]
FEW += ["visits", "visits in turns, noise", "weights", "noisy steps, N given"]
FEW += ["noise, weights", "noise, three weights", "noise, weights, minibatch"]
FEW += ["noise, two of three alike", "drawn twice, noise"]
FEW += ["drawn twice, noise, one always", "drawn, minibatch, noise"]
FEW += ["drawn, visits, noise"]


@cache
def certificate(name: str) -> Certificate:
    found = chained(worst_case(SETTINGS[name], below=False)).certificate
    assert found is not None
    return found


@cache
def proof(name: str) -> Proved:
    return prove(certificate(name))


@cache
def read(name: str) -> Claim:
    """Return what the kernel replays from the file of a proof."""
    (claim,) = replay(proof(name).document())
    return claim


def cases() -> list[object]:
    long = pytest.mark.long
    return [pytest.param(name, marks=() if name in FEW else long) for name in SETTINGS]


@pytest.mark.parametrize("name", cases())
def test_a_certificate_is_a_proof(name: str) -> None:
    found, proved, claim = certificate(name), proof(name), read(name)
    assert claim.proved
    assert claim.left == proved.statement.left
    assert claim.right == constant(found.bound)
    assert claim.used <= claim.hypotheses == proved.statement.hypotheses
    if name in DRAWN_SETTINGS:  # chances that contradict each other prove anything
        assert claim.sides is not None and claim.sides[0] <= claim.sides[1]


@pytest.mark.parametrize("name", [one for one in FEW if one.startswith("visits")])
def test_the_assumed_order_is_that_of_a_run(name: str) -> None:
    """A contradictory order would prove anything: a model meets what is assumed."""
    assert proof(name).model is not None
    claim = read(name)
    assert claim.sides is not None and claim.sides[0] <= claim.sides[1]


@given(st.integers(1, 3), st.integers(1, 3), st.booleans(), st.randoms())
@settings(max_examples=15, deadline=None)
def test_any_assumed_order_is_that_of_a_run(
    N: int, tau: int, turns: bool, rng: random.Random
) -> None:
    """The order's hypotheses hold in the order that is meant, and in no other one."""
    places = [rng.sample(range(N), N) for _ in range(tau if turns else 1)]
    order = [(p, i) for i, place in enumerate(places) for p in place]
    if not turns:
        order = [(p, i) for p in places[0] for i in range(tau)]
    pace = Pace(natural(tau), Rate(ratio(HALF)))
    run = Split(Kind.V2, Participants.EVERYONE, pace, pace)
    orders = (tuple(map(tuple, places if turns else places * tau)),)
    says = Numbers(run, (Q(1, N),) * N, 1, turns, orders).assumed
    x = norm2(iterate(run, 0))
    model = ModelData((Q(0),), {}, weights=(Q(1, N),) * N, order=tuple(order), rounds=1)
    assert evaluated(model_of(model), says, x, x)
    swaps = [
        place
        for place in range(1, len(order))
        if order[place][0] != order[place - 1][0]
    ]
    for place in swaps:
        other = [*order]
        other[place - 1 : place + 1] = order[place], order[place - 1]
        with pytest.raises(Rejected):
            evaluated(model_of(replace(model, order=tuple(other))), says, x, x)


def test_the_standalone_checker_replays_it(tmp_path: Path) -> None:
    path = tmp_path / "proof.json"
    path.write_text(proof("one step").document(), encoding="utf-8")
    command = [sys.executable, "-I", "-S", str(CHECK), str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0
    assert "worst-case/fedavg/distance: proved" in done.stdout
    assert f"<= {certificate('one step').bound}" in done.stdout
    assert (
        "where x, p, xi are of SFL-v1(everyone; client: 1 steps at 1/2" in done.stdout
    )
    for assumed in (
        "f* minimises f",
        "for all n1: F[n1] is (1/10)-strongly convex",
        "for all n1: grad F[n1] is (1)-Lipschitz",
        "1 - sum_{n1}[a[n1]*||grad F[n1](f*)||^2] >= 0",
        "1 + 2*<f*, x(0)> - ||f*||^2 - ||x(0)||^2 >= 0",
    ):
        assert f"assumes {assumed}\n" in done.stdout


def test_the_file_shows_that_the_bound_is_reached() -> None:
    claim = read("bounded gradients")
    assert claim.sides is not None
    low, high = claim.sides
    assert low <= high <= low * (1 + Q(1, 10**6))


def test_noise_adds_its_variance() -> None:
    """One step: ``(1 - mu eta)^2 + eta^2 sigma^2`` for N = 1, so for all N at once."""
    setting = replace(SMALL, sigma2=Q(1))
    found = worst_case(setting, below=False).certificate
    assert found is not None
    (claim,) = replay(prove(found).document())
    assert float(found.bound) == pytest.approx(0.95**2 + 0.25, rel=1e-6)
    assert claim.proved


# What has to be rejected ------------------------------------------------------------

POINTS = [STAR, Point("round", 1), Point("local", 0, 0), Point("local", 0, 1)]
Change = Callable[[random.Random, Certificate], Certificate]


def amount(rng: random.Random, value: Q) -> Q:
    small = value + Q(rng.choice([-1, 1]), 2 ** rng.randrange(60))
    return rng.choice([Q(0), -value, 2 * value, value / 3, small])


def one_of(rng: random.Random, entries: tuple, change: Callable) -> tuple:  # type: ignore[type-arg]
    k = rng.randrange(len(entries))
    return (*entries[:k], *change(entries[k]), *entries[k + 1 :])


def multiplier(rng: random.Random, found: Certificate) -> Certificate:
    def change(use: tuple[Inequality, Q]) -> list[tuple[Inequality, Q]]:
        says, by = use
        return rng.choice([[], [use, use], [(says, amount(rng, by))]])

    return replace(found, uses=one_of(rng, found.uses, change))


def inequality(rng: random.Random, found: Certificate) -> Certificate:
    def change(use: tuple[Inequality, Q]) -> list[tuple[Inequality, Q]]:
        says, by = use
        field = rng.choice(["at", "other", "kind", "client"])
        kinds = ["interpolation", "heterogeneity", "start-distance", "variance"]
        choices = {"kind": kinds, "client": [0, 1, None, 7]}
        visited = [one.at for one, _ in found.uses if one.at]
        new = rng.choice(choices.get(field, POINTS + visited))
        return [(replace(says, **{field: new}), by)]  # type: ignore[arg-type]

    return replace(found, uses=one_of(rng, found.uses, change))


def square(rng: random.Random, found: Certificate) -> Certificate:
    def change(one: object) -> list[object]:
        form = one.form  # type: ignore[attr-defined]
        entry = rng.randrange(len(form))
        atom, c = form[entry]
        other = rng.choice([a for s in found.squares for a, _ in s.form])
        new = rng.choice([(atom, amount(rng, c)), (other, c)])
        forms = (*form[:entry], new, *form[entry + 1 :])
        weight = amount(rng, one.weight)  # type: ignore[attr-defined]
        spaces = [s.space for s in found.squares]
        return rng.choice([
            [],
            [one, one],
            [replace(one, weight=weight)],  # type: ignore[type-var]
            [replace(one, form=forms)],  # type: ignore[type-var]
            [replace(one, space=rng.choice(spaces))],  # type: ignore[type-var]
        ])

    return replace(found, squares=one_of(rng, found.squares, change))


def bound(rng: random.Random, found: Certificate) -> Certificate:
    less = found.bound - Q(1, 2 ** rng.randrange(1, 80))
    return replace(found, bound=rng.choice([less, found.bound / 2, -found.bound]))


def used(found: Certificate) -> dict[Inequality, Q]:
    """Return the multiplier of every inequality."""
    uses: dict[Inequality, Q] = {}
    for says, by in found.uses:
        uses[says] = uses.get(says, Q(0)) + by
    return {says: by for says, by in uses.items() if by}


def fewer(found: Certificate, corrupted: Certificate) -> bool:
    """Return whether squares lack only what is a sum of squares, by elimination."""
    left: dict[object, dict[object, Q]] = {}
    for sign, squares in ((1, found.squares), (-1, corrupted.squares)):
        for one in squares:
            for a, x in one.form:
                row = left.setdefault((one.space, a), {})
                for b, y in one.form:
                    key = (one.space, b)
                    row[key] = row.get(key, Q(0)) + sign * one.weight * x * y
    while left:
        a, row = left.popitem()
        pivot = row.pop(a)
        beside = {b: c for b, c in row.items() if c and b in left}
        if pivot < 0 or (beside and not pivot):
            return False
        for b, x in beside.items():
            for c, y in beside.items():
                left[b][c] = left[b].get(c, Q(0)) - x * y / pivot
    return True


def rejected(seed: int, name: str) -> bool | None:
    """Return whether a corruption is rejected, None if it is none.

    Nothing was changed, or what is left still proves the same bound, from the same
    inequalities with squares of which none is new: the checker adds what is diagonally
    dominant.
    """
    rng, found = random.Random(seed), certificate(name)
    change: Change = rng.choice([multiplier, inequality, square, bound])
    corrupted = change(rng, found)
    same = corrupted.bound == found.bound and used(corrupted) == used(found)
    still = same and fewer(found, corrupted)
    if still and fewer(corrupted, found):
        return None
    try:
        (claim,) = replay(prove(corrupted).document())
    except ValueError:
        return True
    return None if still and claim.right == constant(found.bound) else False


def test_squares_are_fewer_if_their_difference_is_positive() -> None:
    """The tests of corrupted certificates rest on it."""
    found = certificate("one step")
    for k, one in enumerate(found.squares):
        without = replace(found, squares=found.squares[:k] + found.squares[k + 1 :])
        assert fewer(found, without)
        assert not fewer(without, found)
        assert not fewer(found, replace(found, squares=(*found.squares, one)))
        assert fewer(found, replace(without, squares=(*without.squares, one)))
    one = next(one for one in found.squares if len(one.form) > 1)
    (first, x), *others = one.form
    turned = replace(one, form=((first, -x), *others))
    assert not fewer(replace(found, squares=(one,)), replace(found, squares=(turned,)))


@pytest.mark.parametrize("seed", range(30))
def test_a_corrupted_certificate_is_rejected(seed: int) -> None:
    names = ["one step", "one visit each", "drawn", "drawn, minibatch", "drawn, noise"]
    names += ["drawn three times, noise, one client"]
    name = names[seed % 6]
    assert rejected(seed, name) is not False


@pytest.mark.long
def test_corrupted_certificates_of_given_clients_are_rejected() -> None:
    """See `CASES` for how many were tried once."""
    names = ["visits in turns, noise", "noisy steps, N given", "weights"]
    names += ["visits", "visits, noise", "noise, weights", "noise, three weights"]
    names += ["noise, two of three alike", "noise, two of three alike, minibatch"]
    names += 10 * ["one visit each"]
    tried = [rejected(seed, names[seed % len(names)]) for seed in range(CASES)]
    assert tried.count(False) == 0
    assert tried.count(True) >= CASES * 4 // 5


@pytest.mark.long
def test_corrupted_certificates_of_outcomes_are_rejected() -> None:
    """See `worst-case-proofs.md` for how many were tried once."""
    names = ["drawn, unlike", "drawn, visits", "drawn twice"] + 7 * ["drawn"]
    tried = [rejected(seed, names[seed % len(names)]) for seed in range(CASES)]
    assert tried.count(False) == 0
    assert tried.count(True) >= CASES * 4 // 5


@pytest.mark.long
def test_corrupted_certificates_of_chains_are_rejected() -> None:
    """See `worst-case-proofs.md` for how many were tried once."""
    names = ["drawn twice, noise", "drawn twice, noise, one always"]
    names += ["drawn three times, noise, one client", "drawn, minibatch, noise"]
    names += ["drawn, visits, noise"]
    tried = [rejected(seed, names[seed % 5]) for seed in range(CASES)]
    assert tried.count(False) == 0
    assert tried.count(True) >= CASES * 4 // 5


@pytest.mark.long
def test_a_certificate_that_compares_two_pasts_is_no_proof() -> None:
    """What all inequalities give, which is less, is not what can be said."""
    setting = SETTINGS["drawn twice, noise, unlike"]
    whole = worst_case(setting, below=False)
    assert whole.certificate is not None
    assert whole.upper <= certificate("drawn twice, noise, unlike").bound
    with pytest.raises(ValueError, match="two pasts"):
        prove(whole.certificate)


@pytest.mark.long
@pytest.mark.parametrize("kind", ["minibatch", "noise"])
def test_corrupted_certificates_of_means_and_noises_are_rejected(kind: str) -> None:
    """See `worst-case-proofs.md` for how many were tried once."""
    names = [f"drawn, longer {kind}"] + 9 * [f"drawn, {kind}"]
    names[1:3] = ["drawn, noise, three"] * 2 if kind == "noise" else names[1:3]
    tried = [rejected(seed, names[seed % 10]) for seed in range(CASES)]
    assert tried.count(False) == 0
    assert tried.count(True) >= CASES * 4 // 5


@pytest.mark.long
def test_corrupted_certificates_are_rejected() -> None:
    """See `rejected` for the others."""
    names = ["gap", "two rates", "noise"] + 7 * ["one step"]
    tried = [rejected(seed, names[seed % 10]) for seed in range(150)]
    assert tried.count(False) == 0
    assert tried.count(True) >= 120


@pytest.mark.parametrize(
    "other",
    [
        {"participation": (Q(1, 3), Q(1, 3))},
        {"participation": (HALF, Q(2, 5))},
        {"weights": (Q(1, 3), Q(2, 3))},
        {"client_steps": (Q(2, 3),), "server_steps": (Q(2, 3),)},
        {"mu": Q(1, 20)},
        {"algorithm": "sfl-v2"},
    ],
    ids=str,
)
def test_a_certificate_over_outcomes_is_of_its_run(other: dict[str, object]) -> None:
    found = certificate("drawn")
    setting = replace(found.setting, **other)  # type: ignore[arg-type]
    with pytest.raises(ValueError):
        prove(replace(found, setting=setting))


def test_a_certificate_over_outcomes_proves_its_bound_where_more_take_part() -> None:
    """What is left over are squares, which may be added: the bound is larger there."""
    found = certificate("drawn")
    setting = replace(found.setting, participation=(HALF, Q(2, 3)))
    (claim,) = replay(prove(replace(found, setting=setting)).document())
    assert claim.right == constant(found.bound)
    value = worst_case(setting).value
    assert value is not None
    assert value < 0.97 * float(found.bound)


def test_who_always_takes_part_is_no_other_client() -> None:
    """A chance below 1, be it near, and the one who may be absent."""
    found = certificate("drawn twice, noise, one always")
    for chances in ((HALF, 1 - Q(1, 10**9)), (Q(1), HALF)):
        setting = replace(found.setting, participation=chances)
        with pytest.raises(ValueError):
            prove(replace(found, setting=setting))


def test_nothing_vanishes_where_somebody_is_absent_who_may_be() -> None:
    places = ByChain(SETTINGS["drawn twice, noise, one always"]).places
    assert places.always == [1]
    assert Absent(places, 1, 0).model(2)
    with pytest.raises(Rejected):
        Absent(places, 0, 0).model(0)


def test_a_file_with_a_smaller_bound_is_rejected() -> None:
    found = certificate("one step")
    text = proof("one step").document()
    assert replay(text)
    terms = json.loads(text)["terms"]
    smaller = str(found.bound - Q(1, 10**12))
    changed = [json.dumps(one).replace(str(found.bound), smaller) for one in terms]
    assert changed != [json.dumps(one) for one in terms]
    document = json.loads(text) | {"terms": [json.loads(one) for one in changed]}
    with pytest.raises(Rejected):
        replay(json.dumps(document))


@pytest.mark.parametrize("algorithm", ["fedavg", "minibatch-sfl"])
def test_noise_beside_another_clients_later_step_is_needed(algorithm: str) -> None:
    """Both where clients meet within a round and where they do not."""
    found = certificate(
        "noise, three weights" + ", minibatch" * (algorithm != "fedavg")
    )
    apart = [
        k
        for k, (says, _) in enumerate(found.uses)
        if says.kind == "unbiased" and says.vector and says.client != says.vector.client
        and says.vector.kind != "start"
    ]  # fmt: skip
    for k in apart[:2] + apart[-2:]:
        with pytest.raises((ValueError, Rejected)):
            replay(
                prove(
                    replace(found, uses=found.uses[:k] + found.uses[k + 1 :])
                ).document()
            )


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"algorithm": "sfl-v2", "visits": Visits(1, Q(0))}, "for all N at once"),
        ({"clients": 2, "sigma2": Q(1), "two_point": True}, "one by one"),
        ({**DRAWN, "steps": 4 * ONE}, "more than 64 outcomes"),
    ],
)
def test_what_is_not_derived_is_refused(known: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        refuse(asked(**known))


# The parts --------------------------------------------------------------------------

FRACTIONS = st.fractions(0, 3, max_denominator=20)


@given(st.lists(FRACTIONS, min_size=1, max_size=6))
def test_step_sizes_are_those_given(rates: list[Q]) -> None:
    rate = through(tuple(rates))
    for t, eta in enumerate(rates):
        assert number_at(rate, {ROUND: ratio(t)}) == ratio(eta)


def value(form: Quadratic[str], vectors: dict[str, list[Q]]) -> Q:
    return sum((c * dot(vectors[a], vectors[b]) for a, b, c in form.items()), Q(0))


def dot(u: list[Q], v: list[Q]) -> Q:
    return sum((x * y for x, y in zip(u, v, strict=True)), Q(0))


def mixed(row: dict[str, Q], vectors: dict[str, list[Q]]) -> list[Q]:
    return [sum((c * vectors[a][i] for a, c in row.items()), Q(0)) for i in (0, 1)]


@settings(max_examples=50)
@given(st.data())
def test_elimination_is_what_its_test_vector_says(data: st.DataObject) -> None:
    names = "abcd"
    numbers = st.integers(-8, 8).map(lambda quarters: Q(quarters, 4))
    form = Quadratic[str]()
    for one in names:
        for other in names[names.index(one) :]:
            form.add(one, other, data.draw(numbers))
    vectors = {name: [data.draw(numbers), data.draw(numbers)] for name in names}
    by = {name: data.draw(numbers) for name in "bc"}
    before = value(form, vectors)
    w = form.eliminate("a", by)
    away = [x - y for x, y in zip(vectors["a"], mixed(by, vectors), strict=True)]
    assert "a" not in {name for pair in form.items() for name in pair[:2]}
    assert value(form, vectors) == before - dot(away, mixed(w, vectors))
