"""Runs as data: their constants, their moments, and the evidence made of them."""

from dataclasses import replace
from fractions import Fraction
from functools import cache
from itertools import permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sfl_theory.evidence import Model, decide, parts_of
from sfl_theory.kernel.models import Evaluation
from sfl_theory.ledger import Finding, ledger
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.functions import (
    Bowl,
    Piece,
    Separable,
    dot,
    semidefinite,
    shifted,
    solved,
)
from sfl_theory.models.moments import course, crossing, expected, one_round, right_side
from sfl_theory.proofs.export import model_of

F = Fraction
ZERO, HALF, ONE = F(0), F(1, 2), F(1)
unit = st.fractions(0, 1, max_denominator=6)
some_q = st.sampled_from([ONE, HALF, F(3, 4)])


EACH = [
    pytest.param(claim, name, part, id=name)
    for claim in ledger().claims()
    for name, part in parts_of(claim)
    if isinstance(part.by, Model) and part.by.run is not None
]
"""Every part of the ledger that a run refutes."""


def plain(**given_):
    """Return a small run on x_c = 0 and a server coordinate pulled to 0 and 1."""
    choices = {
        "theorem": "han2024/thm-3.9",
        "case": "strongly_convex",
        "algorithm": "sfl-v2",
        "clients": (
            Separable((Piece(), Piece())),
            Separable((Piece(), Piece(centre=ONE))),
        ),
        "weights": (F(3, 4), F(1, 4)),
        "start": (ZERO, HALF),
        "rounds": 3,
        "client_rate": Rate(F(1, 4)),
        "server_rate": Rate(F(1, 4)),
    }
    return FederatedRun(**{**choices, **given_})


def outcomes(run, j, x, eta):
    """Return every value of coordinate j after a round, with its probability."""
    N, own = len(run.clients), j < run.cut
    steps = run.tau_server if run.algorithm == "sfl-v1" and not own else run.tau
    moved: dict[F, F] = {}
    visits = run.algorithm == "sfl-v2" and not own
    orders = [*permutations(range(N))] if visits else [tuple(range(N))]
    per_step = [*product(orders, repeat=steps if run.order == "interleaved" else 1)]
    signs = [s for s in product((-1, 1), repeat=N * steps)]
    for present in product((0, 1), repeat=N):
        chance = ONE
        for here, q in zip(present, run.q, strict=True):
            chance *= q if here else 1 - q
        for chosen, sign in product(per_step, signs) if chance else ():
            y = after(run, j, x, eta, present, chosen, sign, steps)
            share = chance / len(per_step) / len(signs)
            moved[y] = moved.get(y, ZERO) + share
    return moved


def after(run, j, x, eta, present, orders, sign, steps):
    def gradient(n, y, i):
        return (
            run.clients[n].pieces[j].slope(y)
            + sign[n * steps + i] * (run.clients[n].zeta[j])
        )

    own, N = j < run.cut, len(run.clients)
    if run.algorithm == "sfl-v2" and not own:
        if run.order == "interleaved":
            turns = [(n, i) for i, order in enumerate(orders) for n in order]
        else:
            turns = [(n, i) for n in orders[0] for i in range(steps)]
        for n, i in turns:
            x -= eta / run.q[n] * present[n] * gradient(n, x, i)
        return x
    if run.algorithm == "minibatch-sfl" and not own:
        for i in range(steps):
            x -= eta * sum(run.weights[n] * gradient(n, x, i) for n in range(N))
        return x
    total = x
    for n in range(N):
        y = x
        for i in range(steps):
            y -= eta * gradient(n, y, i)
        total += present[n] * run.weights[n] / run.q[n] * (y - x)
    return total


@given(
    centres=st.tuples(unit, unit),
    curvatures=st.tuples(*[st.sampled_from([ONE, F(1, 3)])] * 2),
    zeta=st.tuples(unit, unit),
    q=st.tuples(some_q, some_q),
    tau=st.sampled_from([(1, 1), (1, 2), (2, 1), (2, 2)]),
    eta=st.sampled_from([F(1, 5), F(2, 3)]),
    kind=st.sampled_from([
        ("sfl-v1", "interleaved"),
        ("sfl-v2", "interleaved"),
        ("sfl-v2", "client-sequential"),
        ("minibatch-sfl", "interleaved"),
    ]),
    j=st.sampled_from([0, 1]),
)
@settings(max_examples=60, deadline=None)
def test_a_round_is_that_of_all_outcomes(
    centres, curvatures, zeta, q, tau, eta, kind, j
):
    algorithm, order = kind
    run = plain(
        algorithm=algorithm,
        order=order,
        participation=(ONE, ONE) if algorithm == "minibatch-sfl" else q,
        tau=tau[0],
        tau_server=tau[1],
        start=(HALF, HALF),
        clients=tuple(
            Separable((Piece(c, k), Piece(c, k)), (z, z))
            for c, k, z in zip(centres, curvatures, zeta, strict=True)
        ),
    )
    star, x = run.minimiser[j], run.start[j]
    steps = tau[1] if algorithm == "sfl-v1" and j else tau[0]
    moved = one_round(run, j, [float(eta)] * steps)
    m, s = x - star, (x - star) ** 2
    exact = outcomes(run, j, x, eta)
    assert sum(exact.values()) == 1
    mean = sum(p * (y - star) for y, p in exact.items())
    square = sum(p * (y - star) ** 2 for y, p in exact.items())
    (p0, p1), (r0, r1, r2) = moved.mean, moved.square
    m, s = float(m), float(s)
    assert p0 + p1 * m == pytest.approx(float(mean), rel=1e-12, abs=1e-15)
    assert r0 + r1 * m + r2 * s == pytest.approx(float(square), rel=1e-12, abs=1e-15)


@pytest.mark.parametrize(("claim", "name", "part"), EACH)
def test_kernel_pictures_and_bounds_speak_of_one_run(claim, name, part):
    """Both sides in the kernel are those of the float curve and of the ``Bound``."""
    run, statement = part.by.run(), part.says.statement(name)
    assert min(run.weights) > 0
    e = Evaluation(model_of(part.by.build(statement)))
    right = float(e.form(statement.right))
    ours = right_side(run, [run.rounds])[0]
    # roots are parameters, a little too large: what is broken is more than printed
    assert ours * (1 - 1e-8) <= right <= ours * 1.02 + 1e-5


@pytest.mark.parametrize(("claim", "name", "part"), EACH)
def test_the_kernels_finding_is_the_curves_end(claim, name, part):
    (found,) = (f for f in findings(claim.id) if f.run == part.by.run())
    run = found.run
    left = expected(run, [run.rounds])[0]
    # the kernel's clients are visited in turn, a picture's in a random order
    visited = run.algorithm == "sfl-v2" and len(run.clients) > 1
    assert left == pytest.approx(float(found.left), rel=0.02 if visited else 1e-10)
    assert right_side(run, [run.rounds])[0] < left
    first = crossing(run)
    assert expected(run, [first])[0] > right_side(run, [first])[0]
    if first > 1:
        assert expected(run, [first - 1])[0] <= right_side(run, [first - 1])[0]


@cache
def findings(claim: str) -> tuple[Finding, ...]:
    entry = ledger().entry(claim)
    repair = () if entry.repair is None else entry.repair.findings
    return entry.outcome.findings + repair


def test_every_refuted_case_of_a_theorem_is_a_run():
    cases = {f"han2024/thm-3.{k}/{kind}_convex" for k in range(6, 10)
             for kind in ("strongly", "general")}  # fmt: skip
    cases |= {f"han2024/thm-3.{k}/non_convex" for k in (7, 9)}
    cases |= {"huang2023/prop-1", "huang2023/prop-2"}
    assert cases <= {param.values[0].id for param in EACH}


def test_the_course_goes_on_to_ten_times_the_crossing():
    (finding,) = findings("han2024/thm-3.7/strongly_convex")
    run = finding.run
    rounds, left, right = course(run)
    assert run.weights == (F(19, 20), F(1, 20))
    assert rounds[0] == 1 and rounds[-1] == 10 * crossing(run)
    violated = left > right
    assert violated[rounds >= crossing(run)].all()
    assert not violated[rounds < crossing(run)].any()
    assert left[-1] == pytest.approx(0.10125, rel=1e-6)


@given(
    rows=st.lists(st.lists(st.integers(-2, 2), min_size=3, max_size=3), min_size=1,
                  max_size=4),
    shift=st.sampled_from([ZERO, F(-1), F(1, 2)]),
)  # fmt: skip
@settings(max_examples=200, deadline=None)
def test_semidefinite_and_solved_agree_with_floats(rows, shift):
    """Gram matrices, singular ones among them, moved by a multiple of the identity."""
    gram = tuple(
        tuple(F(sum(row[p] * row[q] for row in rows)) for q in range(3))
        for p in range(3)
    )
    moved = shifted(gram, ONE, shift)
    least = np.linalg.eigvalsh(np.array(moved, dtype=float))[0]
    if abs(least) > 1e-9 or shift == 0:
        assert semidefinite(moved) == (least > -1e-9)
    definite = shifted(gram, ONE, ONE)
    x = solved(definite, (ONE, F(2), F(-1)))
    assert [dot(row, x) for row in definite] == [1, 2, -1]


def test_constants_are_attained_on_the_box():
    run = plain(
        clients=(
            Separable((Piece(), Piece(F(1, 5), F(2), kink=ONE)), (ZERO, HALF)),
            Separable((Piece(), Piece(ONE, F(2), kink=ONE)), (ZERO, F(1, 3))),
        )
    )
    assert run.S == 2 and run.mu == 0 and run.sigma2 == (F(1, 4), F(1, 9))
    sides = [np.linspace(float(low), float(high), 41) for low, high in run.domain]
    largest = max(
        sum(g**2 for g in client.gradient((F(c), F(s)))) + sigma2
        for client, sigma2 in zip(run.clients, run.sigma2, strict=True)
        for c, s in product(*sides)
    )
    assert float(run.G2) == pytest.approx(float(largest), rel=1e-12)
    assert run.eps2 is None
    assert plain().eps2 == F(9, 16)
    assert plain().gap == F(1, 32)


def test_what_a_huber_function_everywhere_says_of_its_gradients():
    piece = Piece(ONE, F(3), kink=F(2))
    run = plain(clients=(Separable((piece, piece), (ZERO, ONE)),), weights=(ONE,))
    assert run.everywhere and run.G2 == 36 + 36 + 1
    assert piece.slope(F(100)) == 6 and piece.slope(F(-100)) == -6
    assert piece.value(F(3)) == 6 and piece.value(F(5)) == 18
    assert piece.value(F(-3)) == 18


def refused(run, words):
    """The kernel refuses a run as a model for (14)."""
    claim = ledger().claim("han2024/thm-3.7/strongly_convex")
    (part,) = claim.parts
    broken = replace(part, by=Model(run=lambda: run))
    found = decide(broken, claim.id)
    assert found.status == "unproved"
    assert words in " ".join(found.lines)


def test_a_step_that_leaves_the_box_is_no_refutation():
    """Where a visit overshoots, G^2 on the box says nothing of the iterates."""
    (good,) = (f.run for f in findings("han2024/thm-3.7/strongly_convex"))
    narrow = tuple((x, x) for x in good.start)
    refused(replace(good, box=narrow), "second moment <= G2")


def test_runs_that_leave_the_parabola_have_no_moments():
    huber = Separable((Piece(kink=ONE), Piece(kink=ONE)))
    run = plain(clients=(huber,), weights=(ONE,), start=(ZERO, F(2)))
    with pytest.raises(ValueError, match="parabola"):
        expected(run, [1])


@pytest.mark.parametrize(
    ("build", "words"),
    [
        (lambda: Rate(ZERO), "scale > 0"),
        (lambda: Rate(ONE, ONE, F(-1)), "growth >= 0"),
        (lambda: Bowl(((ONE, ONE), (ZERO, ONE)), (ZERO, ZERO), (ZERO, F(3))), "symm"),
        (lambda: Bowl(((ONE, ZERO), (ZERO, F(4))), (ZERO,) * 2, (ONE, F(3))), "eigen"),
        (lambda: plain(algorithm="sfl"), "algorithm"),
        (lambda: plain(weights=(ONE,)), "entries"),
        (lambda: plain(cut=2), "cut"),
        (lambda: plain(start=(ZERO,) * 3), "coordinates"),
        (lambda: crossing(plain()), "holds up to"),
        (lambda: expected(plain(aggregation="models"), [1]), "aggregation of models"),
    ],
)
def test_impossible_runs_are_refused(build, words):
    with pytest.raises(ValueError, match=words):
        build()
