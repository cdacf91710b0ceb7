"""Attacks on the mean over those present, and on what became faster beside it.

Runs are played here once more, one outcome after another, from the definition of
`Split`; what is kept or asked once in the kernel is compared with asking each time.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction as Q

import pytest
from calls import (
    DRAWN_BATCH,
    MEAN_BATCH,
    ONE,
    RUNS,
    i,
    j,
    m,
    n,
    now,
    t,
    tau,
    third,
    x,
    z,
)
from random_models import verdict
from test_attacks import NOTHING, modelled, small_model

from sfl_theory.kernel import conditions, models, moments
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.models import Evaluation, Model, NoiseLaw, Shape, Vector
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import CLIENTS, Participants, Side, constant, norm2
from sfl_theory.proofs.export import Statement, document
from sfl_theory.proofs.notation import combine, of, steps

HALF, NUMBERED = Q(1, 2), tuple(map(k.Numbered, range(4)))
FIRST, SECOND = NUMBERED[:2]
FASTER = k.Pace(k.natural(tau), k.Rate(ratio(Q(1, 7))))
FASTER_RUN = k.Split(k.Kind.MINIBATCH, Participants.MEAN, MEAN_BATCH.client, FASTER)


def share(
    client: k.ClientIndex = n, at: object = now, run: k.Split = MEAN_BATCH
) -> k.Ratio:
    return k.share_of(run, client, at)


def server(at: object = now) -> k.Lin:
    return norm2(k.iterate(MEAN_BATCH, at))


def over(v: k.Client | k.Var, number: k.Ratio, upper: object = None) -> k.Ratio:
    binder = CLIENTS if isinstance(v, k.Client) else steps(upper)
    return k.number_of(k.summed(binder, v, constant(number)))


def mean_of(client: k.ClientIndex, form: k.Lin, run: k.Split = MEAN_BATCH) -> object:
    return R.expect(run, client, now, form, ())


ATTACKS: dict[str, Callable[[], object]] = {
    "in a denominator": lambda: mean_of(FIRST, server() * (1 / (1 + share(SECOND)))),
    "in a sum over clients": lambda: mean_of(FIRST, server() * over(m, share(m))),
    "in a sum over rounds up to this": lambda: mean_of(
        n, server() * over(j, share(m, of(j)), now + 1)
    ),
    "in a sum of sums": lambda: mean_of(
        n, server() * over(j, over(m, share(m, of(j))), now + 1)
    ),
    "of an earlier round of a run with another rate": lambda: R.expect(
        MEAN_BATCH, n, now + 1, server() * share(n, now, FASTER_RUN), ()
    ),
    "of a run without a mean, of this round": lambda: R.expect(
        DRAWN_BATCH, FIRST, now, constant(share(SECOND, now, DRAWN_BATCH)), ()
    ),
    "hidden by a mean of later": lambda: mean_of(
        n, norm2(k.expected(MEAN_BATCH, now + 1, x * share()))
    ),
    "inside a gradient": lambda: mean_of(
        n, norm2(k.gradient(k.MEAN, k.iterate(MEAN_BATCH, now) * share(m)))
    ),
    "beside two clients": lambda: R.expect(
        MEAN_BATCH, n, now, server() * share(third), (m,)
    ),
    "the next round, which it decides": lambda: mean_of(n, server(now + 1)),
    "outside a mean given the past": lambda: R.tower(
        MEAN_BATCH, now, x, k.iterate(MEAN_BATCH, now) * share()
    ),
    "outside it, of an earlier round": lambda: R.tower(
        MEAN_BATCH, now + 1, x, k.iterate(MEAN_BATCH, now) * share()
    ),
    "a claim of an induction": lambda: R.induct(
        combine(target=constant(share(n, 0))),
        combine(target=constant(share(n, of(t) + 1))),
        t,
        constant(share(n, of(t))),
    ),
    "a mean that is 0, times a share": lambda: combine(
        (R.vanish(R.assume(-norm2(x)), x, z), share())
    ),
    "a mean over draws, summed with shares": lambda: R.sum_over(
        mean_of(n, server()), CLIENTS, n, share(), ()
    ),
    "a sign that a draw has on average": lambda: combine(
        target=constant((k.draw(MEAN_BATCH, n, now) - 1) * share()),
        signs=[mean_of(n, constant(ONE))],
    ),
    "in a rate": lambda: k.Rate(share()),
    "in the rate that a family becomes": lambda: k.Rate(share(n, k.symbol(k.ROUND))),
    "as an index": lambda: k.iterate(MEAN_BATCH, share()),
    "as a number of steps": lambda: k.Steps(k.natural(share())),
    "its converse": lambda: 1 / share(),
    "1 in the place of true": lambda: R.shared(
        MEAN_BATCH, n, now, constant(ONE), 1
    ),
    "of a bound client": lambda: R.shared(
        MEAN_BATCH, k.BoundClient(1), now, constant(ONE), False
    ),
    "of a number, not a client": lambda: R.shared(
        MEAN_BATCH, FIRST, now, constant(ONE), False
    ),
    "of half a round": lambda: R.shared(MEAN_BATCH, n, now / 2, constant(ONE), False),
    "a side of a claim": lambda: modelled(
        constant(share()), NOTHING, (), small_model()
    ),
    "a side, hidden by a mean": lambda: modelled(
        norm2(k.expected(MEAN_BATCH, 1, x * share(n, 0))), NOTHING, (), small_model()
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ATTACKS)
def test_a_share_is_a_number_of_all_draws_of_its_round(name: str) -> None:
    with pytest.raises(Rejected):
        ATTACKS[name]()


def run_of(who: Participants, made: int = 1, rate: Q = HALF) -> k.Split:
    pace = k.Pace(k.natural(made), k.Rate(ratio(rate)))
    return k.Split(k.Kind.MINIBATCH, who, pace, pace)


@pytest.mark.parametrize("kind", k.Kind)
def test_a_file_has_a_mean_of_those_present_in_one_version_only(kind: k.Kind) -> None:
    """The claim ||x(1)||^2 <= ||x(1)||^2 with a derivation about shares."""
    run = run_of(Participants.MEAN)
    at = norm2(k.iterate(run, 1))
    P = share(n, 0, run)
    one, two = (R.shared(run, n, ratio(0), at * c, False) for c in (ONE, P))
    known = combine((one, -P), (two, 1))
    data = json.loads(document([(Statement("present", frozenset(), at, at), known)]))
    assert [entry[0] for entry in data["steps"]].count("shared") == 2
    for entry in data["terms"]:
        if entry[0] == "split":
            entry[1] = kind.value
    if kind is k.Kind.MINIBATCH:
        assert replay(json.dumps(data))
    else:
        with pytest.raises(Rejected, match="by a mean"):
            replay(json.dumps(data))


# What a round is ----------------------------------------------------------------------


def slope(F: Shape, u: Sequence[Q]) -> list[Q]:
    rows = zip(F.hessian, F.linear, strict=True)
    return [sum((a * b for a, b in zip(row, u, strict=True)), c) for row, c in rows]


def factors(who: Participants, weights: Vector, J: Sequence[Q]) -> list[Q]:
    """Return by what the gradients of each client move the server."""
    own = [a * z for a, z in zip(weights, J, strict=True)]
    whole = sum(own, Q(0))
    if who is not Participants.MEAN:
        return own
    return [part / whole if whole else Q(0) for part in own]


def after(
    who: Participants, model: Model, x: Vector, J: Sequence[Q], noise: Sequence[Vector]
) -> tuple[Vector, list[Vector]]:
    """Return where two steps at rate 1/2 lead in one outcome, and the points before.

    A client's noise is the same in both steps.
    """
    size, clients = model.client_size, range(len(model.weights))
    rest, own = list(x[size:]), [list(x[:size]) for _ in clients]
    seen, by = list[Vector](), factors(who, model.weights, J)
    for _ in range(2):
        here = [(*own[p], *rest) for p in clients]
        seen += here
        for p in clients:
            slopes = slope(model.functions[p], here[p])
            g = [a + b for a, b in zip(slopes, noise[p], strict=True)]
            own[p] = [a - HALF * b for a, b in zip(own[p], g, strict=False)]
            rest = [a - HALF * by[p] * b for a, b in zip(rest, g[size:], strict=True)]
    kept = 0 if who is Participants.MODELS else 1
    out = list[Q]()
    for place in range(size):
        moved = Q(0)
        for a, drawn, end in zip(model.weights, J, own, strict=True):
            moved += a * drawn * (end[place] - kept * x[place])
        out.append(kept * x[place] + moved)
    return (*out, *rest), seen


def number(rng: random.Random) -> Q:
    return Q(rng.randint(-2, 2), rng.choice([1, 2]))


def random_model(rng: random.Random, size: int, mixed: bool, **more: object) -> Model:
    clients = rng.choice([1, 2, 2, 3])
    raw = [rng.randint(0, 2) for _ in range(clients)]
    raw[0] += not any(raw)
    shapes = []
    for _ in range(clients):
        H = [[abs(number(rng)) * (p == q) for q in range(size)] for p in range(size)]
        if mixed:
            H[0][-1] = H[-1][0] = number(rng)
        b = tuple(number(rng) for _ in range(size))
        shapes.append(Shape(tuple(map(tuple, H)), b))
    weights = tuple(Q(w, sum(raw)) for w in raw)
    q = tuple(rng.choice([Q(1), HALF, Q(2, 3)]) for _ in raw)
    silent = NoiseLaw(((Q(1), (Q(0),) * size, (Q(0),) * size),))
    start = tuple(number(rng) for _ in range(size))
    plain = Model(
        rng.randint(0, size), tuple(shapes), weights, q, (silent,) * clients, start,
        (), 2 if clients < 3 else 1, {}, {}, {}, {}, {}, {},
    )  # fmt: skip
    return replace(plain, **more)  # type: ignore[arg-type]


def asked_each_time(
    function: Callable[..., object], *columns: Sequence[object]
) -> list:  # type: ignore[type-arg]
    return [function(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize("who", Participants)
def test_a_round_is_played_in_every_outcome(
    who: Participants, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, nobody = run_of(who, 2), 0
    for seed in range(25):
        model = random_model(random.Random(seed), 2, True)
        e = Evaluation(model)
        e.prepare(2, run.drawn)
        ends, total = e.iterate(run, model.rounds), Q(0)
        for place, outcome in enumerate(e._outcomes):
            at = model.start
            for t_now in range(model.rounds):
                J = [Q(1)] * len(model.weights)
                for p, q in enumerate(model.participation):
                    if run.drawn and q < 1:
                        J[p] = Q(0) if outcome[e._draws[p, t_now, -1]] else 1 / q
                nobody += not any(factors(who, model.weights, J))
                at, seen = after(who, model, at, J, [(Q(0), Q(0))] * len(J))
                played = e.played(run, t_now).points
                found = [path[step][place] for step in (0, 1) for path in played]
                assert found == seen
            assert tuple(ends[place]) == at
            total += e._chances[place] * sum(a * a for a in at)
        assert e.form(norm2(k.iterate(run, model.rounds))) == total
        with monkeypatch.context() as slow:
            slow.setattr(models, "each", asked_each_time)
            again = Evaluation(model)
            again.prepare(2, run.drawn)
            assert again.iterate(run, model.rounds) == ends
    assert bool(nobody) is run.drawn


def test_what_is_asked_once_is_asked_of_the_same_things() -> None:
    """Values made and dropped on the way, whose places in memory are used again."""

    class Dropped(Sequence[object]):
        def __len__(self) -> int:
            return 500

        def __getitem__(self, at: object) -> object:
            if isinstance(at, int) and at < 500:
                return (Q(at), Q(1, at + 1))
            raise IndexError

    found = models.each(lambda u, c: u[0] * c, Dropped(), [Q(2)] * 500)
    assert found == [Q(2 * place) for place in range(500)]


def test_enclosures_hold_means_over_those_present() -> None:
    run = run_of(Participants.MEAN, 2)
    for seed in range(20):
        model = random_model(random.Random(seed), 2, False)
        e = Evaluation(model)
        e.prepare(2, True)
        at = k.iterate(run, model.rounds)
        form = norm2(at) + k.value_of(k.MEAN, at) * 3
        low, high = moments.Enclosure(e, run).enclosed(form)
        assert low <= e.form(form) * moments.UNIT <= high
        assert high - low < 2**40


def test_no_step_by_a_mean_leaves_a_box_that_is_found_invariant() -> None:
    run, seen = run_of(Participants.MEAN, rate=Q(3, 4)), Counter[bool]()
    for seed in range(150):
        rng = random.Random(seed)
        b = Q(rng.choice([1, 2, 4]))
        model = random_model(rng, 2, False, box=((-b, b),) * 2)
        e = Evaluation(model)
        e.prepare(1, True)
        seen[fits := conditions._invariant(e, run)] += 1
        ends = [e.iterate(run, t_now) for t_now in range(model.rounds + 1)]
        inside = (-b <= y <= b for end in ends for point in end for y in point)
        assert not fits or all(inside)
    assert min(seen[True], seen[False]) > 5, seen


# What the rule says -------------------------------------------------------------------

DRAWN_RUNS = [MEAN_BATCH] * 3 + [run for run in RUNS if run.drawn] + [FASTER_RUN]


def factor(rng: random.Random, run: k.Split, depth: int = 2) -> k.Ratio:
    """Return a number with shares, draws and sums of them."""
    client = rng.choice((n, m, third, *NUMBERED))
    at = rng.choice((now, now, now + 1, ratio(0), of(j)))
    plain = (
        share(client, at, rng.choice((run, run, MEAN_BATCH))),
        share(client, at, run),
        k.draw(run, client, at),
        k.weight(client),
    )
    if not depth or rng.random() < 0.4:
        return rng.choice(plain)
    a, b = (factor(rng, run, depth - 1) for _ in "ab")
    more: list[Callable[[], k.Ratio]] = [
        lambda: a * b,
        lambda: a - b,
        lambda: a / (1 + b * b),
        lambda: over(rng.choice((n, m, third)), a),
        lambda: over(j, a, now + 1),
    ]
    return rng.choice(more)()


def a_theorem(rng: random.Random) -> R.Theorem:
    run, client = rng.choice(DRAWN_RUNS), rng.choice((n, m))
    u = k.iterate(run, rng.choice((now, now + 1, 0))) * factor(rng, run, 1)
    u = u + k.noise(run, rng.choice((n, m)), now, rng.choice((0, of(i))))
    form = rng.choice((norm2(u), constant(factor(rng, run)), k.inner(u, x)))
    at = rng.choice((now, now + 1, ratio(0)))
    found = R.shared(run, client, at, form, rng.random() < 0.5)
    then = rng.randrange(4)
    if then == 1:
        return combine((found, factor(rng, run)))
    if then == 2:
        return R.sum_over(found, CLIENTS, client, factor(rng, run), ())
    if then == 3:
        other = rng.choice((n, third, *NUMBERED))
        return R.instantiate(found, ((client, other), (t, of(t) + 1)), ())
    return found


@pytest.mark.parametrize("cases", [20, pytest.param(40, marks=pytest.mark.long)])
def test_what_shares_say_is_true_in_every_random_model(cases: int) -> None:
    rng, seen = random.Random(8), Counter[str]()
    for case in range(cases):
        found = a_theorem(rng)
        assert found.equal
        assert not found.hypotheses
        seen.update(verdict(found, 10 * case + seed) for seed in range(3))
    assert not seen["false"], seen
    assert seen["true"] > cases, seen


EARLIER: dict[str, Callable[[], R.Theorem]] = {
    "one": lambda: R.expect(MEAN_BATCH, n, now + 1, server() * share(m), ()),
    "beside other clients": lambda: R.expect(
        MEAN_BATCH, n, now + 1, server(now + 1) * share(m) * share(third, 0), (m,)
    ),
    "in a mean of earlier": lambda: R.expect(
        MEAN_BATCH, n, now + 1, norm2(k.expected(MEAN_BATCH, now, x * share(m))), ()
    ),
    "a noise times a share": lambda: R.unbiased(
        MEAN_BATCH, n, now, ratio(0), share(m) * k.iterate(MEAN_BATCH, now), ()
    ),
    "a step by shares": lambda: R.update(
        MEAN_BATCH, Side.SERVER, now, k.iterate(MEAN_BATCH, now + 1) * share(m)
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", EARLIER)
def test_what_is_true_of_shares_is_true_of_equal_clients(name: str) -> None:
    found, seen = EARLIER[name](), Counter[str]()
    for by in ((), ((n, m),), ((n, FIRST), (m, SECOND)), ((m, NUMBERED[3]),)):
        theorem = R.instantiate(found, by, ())
        seen.update(verdict(theorem, seed) for seed in range(12))
    assert not seen["false"], seen
    assert seen["true"], seen


# What became faster -------------------------------------------------------------------


def test_two_symbols_do_not_become_one() -> None:
    a, b = (k.Var(name, k.Sort.NATURAL) for name in "ab")
    both = (k.symbol(a) - k.symbol(b)).poly()
    with pytest.raises(Rejected, match="become one"):
        both.renamed({a: b, b: b})
    assert both.renamed({a: b, b: a}) == -both
    with pytest.raises(Rejected):
        k.renamed(both, a, b)


def test_a_square_is_the_product_with_an_equal_vector() -> None:
    rng = random.Random(5)
    for _ in range(30):
        run = rng.choice(DRAWN_RUNS)
        u = k.iterate(run, now) * factor(rng, run, 1)
        u = u + x * factor(rng, run) + k.part(rng.choice(list(Side)), u + x) * 2
        u = u - k.summed(CLIENTS, m, k.part(Side.SERVER, x + z) * k.weight(m))
        copy = k.Vec(dict(u.coefficients))
        assert copy is not u
        assert norm2(u) == norm2(copy)
        assert not norm2(u) - k.inner(u, copy)


def test_ends_are_not_all_of_a_division() -> None:
    """Both ends are multiples of the divisor's, the number is not."""
    a, b = (k.symbol(k.Var(name, k.Sort.POSITIVE)) for name in "ab")
    pairs = (a**2 + b + 1, a + 1), (a * b + 1, a + b + 1), (a**2 + a, 2 * a + 1)
    for top, by in pairs:
        assert top.poly().divided(by.poly()) is None
        assert (top * by).poly().divided(by.poly()) == top.poly()
    half = (a**2 - a**2 + b).poly().divided((b * 2).poly())
    assert half == ratio(HALF).poly()
