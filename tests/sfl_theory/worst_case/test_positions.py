"""Proofs in positions: as true as the others, shorter, and of nothing else."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache

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
    TURNS,
    UNEQUAL,
    V2,
    asked,
)

from sfl_theory.kernel import terms
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import constant
from sfl_theory.worst_case import exact, solve
from sfl_theory.worst_case.assembly import Name
from sfl_theory.worst_case.certificate import STAR, Certificate, Inequality, Point
from sfl_theory.worst_case.columns import thinned
from sfl_theory.worst_case.deviations import squared
from sfl_theory.worst_case.proof import prove
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.rounding import certified
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.solve import FINEST, LOST, WorstCase, fewest, worst_case
from sfl_theory.worst_case.sparse import factored

THIRD = Q(1, 3)
ALIKE: dict[str, object] = {"clients": 3, "symmetric": True}
SHARED = (
    "one step", "gap", "gap of the average", "mean of gaps", "start by gap",
    "bounded gradients", "dissimilarity", "two rates", "two paces", "decaying",
    "rates of their own", "non-convex", "least", "visits", "visits in turns",
    "visits, gap", "visits, weighted", "visits, average", "visits, bounded",
    "visits, dissimilarity", "visits, the same minimiser", "visits, least",
    "three visitors", "noise", "noise, two rates", "noise, bounded", "noise, N given",
    "noisy steps, N given", "noisy steps, two paces, N given", "visits, noise",
    "visits in turns, noise",
)  # fmt: skip
SETTINGS = {name: small_settings.SETTINGS[name] for name in SHARED} | {
    "late clients": asked((THIRD,), ONE, tau=3, tau_server=1),
    "visits, noise, weights": asked(
        2 * ONE, 2 * SLOW, tau=1, server_moves="weighted", sigma2=Q(1), **V2 | UNEQUAL
    ),
    "visits in turns, noise, three": asked(
        ONE, SLOW, sigma2=Q(1), **TURNS | {"clients": 3}
    ),
    "noise, late clients": asked((THIRD,), ONE, tau=3, tau_server=1, sigma2=Q(1)),
    "noise, average": asked(2 * ONE, mu=Q(0), reading="average", sigma2=Q(1)),
    "noise, decaying": asked((HALF, THIRD), tau=3, sigma2=Q(1), **ALIKE),
    "noise, non-convex": asked(
        2 * SLOW, **NON_CONVEX, eps2=Q(1), reading="minimum", sigma2=Q(1), **ALIKE
    ),
    "visits in one other order": asked(ONE, SLOW, turns=((1, 0),), **V2),
    "visits, weights": asked(ONE, SLOW, **V2 | UNEQUAL),
}
FEW = [
    "one step",
    "bounded gradients",
    "two paces",
    "least",
    "visits",
    "three visitors",
    "noise, bounded",
    "noise, late clients",
    "noisy steps, N given",
    "visits, noise",
]


@cache
def found(name: str) -> WorstCase:
    return worst_case(SETTINGS[name], below=False)


def certificate(name: str) -> Certificate:
    known = found(name).certificate
    assert known is not None
    return known


def cases() -> list[object]:
    long = pytest.mark.long
    return [pytest.param(name, marks=() if name in FEW else long) for name in SETTINGS]


@pytest.mark.parametrize("name", cases())
def test_a_certificate_is_a_proof_in_positions(name: str) -> None:
    known = certificate(name)
    assert known.setting.stepwise
    proved = prove(replace(known, squares=()), sparse=True)
    (claim,) = replay(proved.document())
    assert claim.proved
    assert claim.left == proved.statement.left
    assert claim.right == constant(known.bound)
    assert claim.used <= claim.hypotheses == proved.statement.hypotheses
    if proved.model is not None:  # assumptions that exclude each other prove anything
        assert claim.sides is not None and claim.sides[0] <= claim.sides[1]


@pytest.mark.parametrize(
    "other",
    [
        asked(sigma2=Q(1), zeta2=Q(0)),
        asked(sigma2=Q(1), algorithm="minibatch-sfl"),
        asked(zeta2=Q(0)),
        asked(tau=1, zeta2=None),
        asked(algorithm="minibatch-sfl"),
        asked(2 * ONE, 2 * SLOW, turns=((1, 0), (0, 1)), **V2),
        asked((HALF, THIRD), 2 * SLOW, **V2),
        asked((HALF, THIRD), 2 * SLOW, sigma2=Q(1), **V2),
        asked(ONE, (Q(0),), **V2),
        asked(ONE, clients=2, participation=(HALF, HALF)),
    ],
    ids=str,
)
def test_other_runs_are_proved_in_gradients(other: Setting) -> None:
    assert not other.stepwise


@cache
def long_run(name: str) -> WorstCase:
    return worst_case(LONG[name], below=False)


LONG = {
    "bounded gradients": asked(5 * ONE, **BOUNDED),
    "convex": asked(6 * ONE, mu=Q(0)),
    "drift": asked(6 * ONE, mu=HALF, **BOUNDED),
    "visits": asked(3 * ONE, 3 * SLOW, **V2),
}


EACH = pytest.mark.parametrize(
    "name",
    [
        pytest.param(one, marks=pytest.mark.long if one in {"drift", "visits"} else ())
        for one in LONG
    ],
)


@EACH
def test_few_inequalities_lose_little_and_make_a_short_proof(name: str) -> None:
    known = long_run(name)
    few = fewest(known)
    assert known.certificate is not None and few.certificate is not None
    assert few.certificate.bound <= known.certificate.bound * (1 + LOST[0][1])
    assert 5 * len(few.certificate.uses) < 4 * len(known.certificate.uses)
    text = prove(few.certificate, sparse=True).document()
    (claim,) = replay(text)
    assert claim.right == constant(few.certificate.bound)
    assert len(text) < len(prove(known.certificate).document())


def test_where_inequalities_are_many_a_bound_may_lose_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """By how many there are: with one less than that, the loss is the larger one."""
    known = long_run("convex")
    assert known.certificate is not None
    size, much = len(known.program.pairs), Q(1, 100)
    uses = []
    for most, lost in ((size, LOST[0][1]), (size - 1, much)):
        monkeypatch.setattr(solve, "LOST", ((most, LOST[0][1]), (10**9, much)))
        few = fewest(known).certificate
        assert few is not None
        assert few.bound <= known.certificate.bound * (1 + lost)
        uses.append(len(few.uses))
    assert uses[1] < uses[0]
    assert few.bound > known.certificate.bound * (1 + LOST[0][1])


@EACH
def test_thinning_stops_at_the_bound_that_has_to_be_proved(name: str) -> None:
    known = long_run(name)
    tight = float(known.found.solution.upper)
    for enough in (tight * (1 + 1e-5), tight * 1.1):
        kept = thinned(known.program, known.found, enough, FINEST)
        sizes = [len(one.constraints) for one in kept]
        assert sizes == sorted(sizes, reverse=True) and len(sizes) > 1
        assert all(one.solution.upper <= enough for one in kept[1:])
    assert thinned(known.program, known.found, tight / 2, FINEST) == [known.found]


def test_rounded_values_are_balanced_by_inequalities_that_are_there() -> None:
    known = long_run("bounded gradients")
    *_, few = thinned(known.program, known.found, 1.01 * known.value, FINEST)
    multipliers = [float(by) for by in few.solution.multipliers]
    made = certified(known.program, few.constraints, multipliers)
    assert exact.check(made) is None
    asked_for = {one.inequality for one in few.constraints}
    assert {says for says, _ in made.uses} <= asked_for
    worse = [by * (1 + 1e-7 * place) for place, by in enumerate(multipliers)]
    assert exact.check(certified(known.program, few.constraints, worse)) is None


# What has to be rejected ------------------------------------------------------------

POINTS = [STAR, Point("round", 1), Point("local", 0, 0), Point("local", 0, 1)]
Use = tuple[Inequality, Q]
Change = Callable[[random.Random, Certificate, int], Certificate]


def multiplier(rng: random.Random, known: Certificate, place: int) -> Certificate:
    says, by = known.uses[place]
    small = by - abs(by) / 2 ** rng.randrange(1, 40)
    new = rng.choice([(), (says, small), (says, -by), (says, by / 3)])
    rest = known.uses[:place] + known.uses[place + 1 :]
    return replace(known, uses=(*rest, new) if new else rest)


def inequality(rng: random.Random, known: Certificate, place: int) -> Certificate:
    says, by = known.uses[place]
    field = rng.choice(["at", "other", "kind", "client"])
    kinds = ["interpolation", "heterogeneity", "start-distance", "variance"]
    choices = {"kind": kinds, "client": [0, 1, None, 7]}
    visited = [one.at for one, _ in known.uses if one.at]
    new = replace(says, **{field: rng.choice(choices.get(field, POINTS + visited))})  # type: ignore[arg-type]
    rest = known.uses[:place] + known.uses[place + 1 :]
    return replace(known, uses=(*rest, (new, by)))


def bound(rng: random.Random, known: Certificate, _: int) -> Certificate:
    less = known.bound - known.bound / 2 ** rng.randrange(1, 80)
    return replace(known, bound=rng.choice([less, known.bound / 2, -known.bound]))


def accepted(seed: int, name: str) -> str:
    """Return what becomes of a corruption: refused, unchanged, weaker or a wrong one.

    Less of an inequality, or another one, may leave over what is still a sum of
    squares if it was idle. Then the theorem is one, and of the bound that was known.
    """
    rng, known = random.Random(seed), certificate(name)
    change: Change = rng.choice([multiplier, inequality, bound])
    corrupted = change(rng, known, rng.randrange(len(known.uses)))
    if sorted(corrupted.uses, key=str) == sorted(known.uses, key=str) and (
        corrupted.bound == known.bound
    ):
        return "unchanged"
    try:
        proved = prove(corrupted, sparse=True)
    except ValueError:
        return "refused"
    (claim,) = replay(proved.document())
    weaker = claim.right == constant(corrupted.bound) and corrupted.bound >= known.bound
    return "weaker" if weaker else "wrong"


CORRUPTED = [
    "one step", "bounded gradients", "three visitors", "noise, bounded", "visits, noise"
]  # fmt: skip


@pytest.mark.parametrize("seed", range(25))
def test_a_corrupted_certificate_proves_no_smaller_bound(seed: int) -> None:
    name = CORRUPTED[seed % len(CORRUPTED)]
    assert accepted(seed, name) != "wrong"


@pytest.mark.long
def test_corrupted_certificates_prove_no_smaller_bounds() -> None:
    names = ["two paces", "least", "visits"] + 7 * ["one step"]
    tried = [accepted(seed, names[seed % 10]) for seed in range(150)]
    assert tried.count("wrong") == 0
    assert tried.count("refused") >= 110


@pytest.mark.long
def test_corrupted_certificates_of_noise_prove_no_smaller_bounds() -> None:
    names = ["noise, N given", "noisy steps, N given", "visits, noise"]
    tried = [accepted(seed, names[seed % 3]) for seed in range(60)]
    assert tried.count("wrong") == 0
    assert tried.count("refused") >= 40


# Sparse squares ----------------------------------------------------------------------

Row = dict[str, Q]


def total(squares: list[tuple[dict[str, int], Q]]) -> dict[tuple[str, str], Q]:
    form = Quadratic[str]()
    for row, weight in squares:
        for a, x in row.items():
            for b, y in row.items():
                form.add(a, b, weight * x * y)
    return {(min(a, b), max(a, b)): c for a, b, c in form.items()}


NAMES = "abcde"
SMALL = st.integers(-6, 6)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(SMALL, min_size=5, max_size=5), max_size=5), st.integers(0, 60)
)
def test_a_positive_definite_form_is_its_squares_and_a_dominant_rest(
    rows: list[list[int]], thin: int
) -> None:
    form = Quadratic[str]()
    for k, name in enumerate(NAMES):
        form.add(name, name, Q(1, 2**thin))
        for other in NAMES[: k + 1]:
            c = sum(row[k] * row[NAMES.index(other)] for row in rows)
            form.add(name, other, Q(c * (1 if name == other else 2), 3))
    squares = factored(form)
    assert all(weight > 0 for _, weight in squares)
    rest = {(min(a, b), max(a, b)): c for a, b, c in form.items()}
    for pair, c in total(squares).items():
        rest[pair] = rest.get(pair, Q(0)) - c
    for one in NAMES:
        beside = sum(abs(c) for (a, b), c in rest.items() if a != b and one in (a, b))
        assert 2 * rest.get((one, one), Q(0)) >= beside


@pytest.mark.parametrize("less", [1, 8, 40, 100])
def test_a_form_in_unlike_vectors_is_seen_not_to_be_negative(less: int) -> None:
    """The kernel sees a dominant rest where all vectors are about equally large."""
    form, small = Quadratic[Name](), Q(1, 2**less)
    names: list[Name] = ["a", "b", "c", "d"]
    sizes = dict(zip(names, (Q(1), Q(3), small, 7 * small / 3), strict=True))
    for k, name in enumerate(names):
        form.add(name, name, sizes[name] ** 2)
        for other in names[:k]:
            form.add(name, other, sizes[name] * sizes[other] / Q(3 + k))
    vectors = {name: terms.vec(terms.Point(f"x{name}")) for name in names}
    ((theorem, by),) = squared(factored(form), vectors, form)
    says = terms.Lin({
        terms.Inner(terms.Point(f"x{a}"), terms.Point(f"x{b}")): ratio(c)
        for a, b, c in form.items()
    })
    assert by == 1
    assert theorem.form == says
    assert not theorem.hypotheses


@pytest.mark.parametrize("off", [Q(2), Q(-2), Q(5, 2)])
def test_a_form_that_is_not_positive_definite_is_refused(off: Q) -> None:
    form = Quadratic[str]()
    form.add("a", "a", Q(1))
    form.add("b", "b", Q(1))
    form.add("a", "b", off)
    with pytest.raises(ValueError, match="not positive"):
        factored(form)


def test_an_arrow_stays_sparse() -> None:
    form = Quadratic[str]()
    names = [f"v{k}" for k in range(30)]
    for name in names:
        form.add(name, name, Q(1))
        form.add("star", name, Q(1, 10))
    form.add("star", "star", Q(1))
    assert sum(len(row) for row, _ in factored(form)) < 6 * len(names)
