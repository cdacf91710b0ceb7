"""A second independent reading: each attack has to be rejected.

No rule was found to be unsound. What was found: models of dimension 0, in which every
condition on a function holds; statements whose printed text says something else than
what was decided; files that never end.
"""

from __future__ import annotations

import json
import re
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import pytest
import refutations
from calls import (
    ETA,
    EVERYONE,
    ONE,
    UPDATES,
    ZERO,
    F,
    Kind,
    eps2,
    i,
    m,
    n,
    now,
    run_of,
    s2,
    t,
    x,
)
from test_attacks import NOTHING, ONE_FORM, claimed, modelled, small_model

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort
from sfl_theory.kernel.replay import replay
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    ClientFamily,
    NamedFunction,
    PerClient,
    PerRound,
    RoundFamily,
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
from sfl_theory.proofs.notation import combine, nat, of, per_client, point, steps

pytestmark = pytest.mark.fast

KERNEL = Path(__file__).parents[3] / "sfl_theory" / "kernel"
SLOPE = (((Q(0),),), (Q(1),), ())
FLAT = (((Q(0),),), (Q(0),), ())
ATTACKS: list[tuple[str, Callable[[], object]]] = []


def attack(name: str) -> Callable[[Callable[[], object]], Callable[[], object]]:
    def add(function: Callable[[], object]) -> Callable[[], object]:
        ATTACKS.append((name, function))
        return function

    return add


# 0. A model of dimension 0: every condition on a function holds ----------------------

NOWHERE = ((), (), ())
POINTS = {k.Point("x"): ((),), k.Point("y"): ((),)}


def nowhere(**changes: object) -> ModelData:
    """Return one client and one function phi on R^0, where S-smooth is any convex."""
    plain = ModelData(start=(), numbers={}, client_size=0, functions=(NOWHERE,))
    return replace(plain, named={F: NOWHERE}, **changes)  # type: ignore[arg-type]


@attack("dimension 0: 2-convex and 1-smooth: 1 <= 0 is refuted under contradictions")
def _() -> None:
    both = {h.Majorised(F, ONE), h.Convex(F, ONE * 2)}
    modelled(ONE_FORM, NOTHING, both, nowhere())


@attack("dimension 0: mu <= S, true of a convex and smooth function, is refuted")
def _() -> None:
    mu, S = Var("mu", Sort.NONNEGATIVE), Var("S", Sort.NONNEGATIVE)
    both = {h.Smooth(F, symbol(S)), h.Convex(F, symbol(mu))}
    model = nowhere(numbers={mu: Q(2), S: Q(1)})
    modelled(constant(symbol(mu)), constant(symbol(S)), both, model)


@attack("dimension 0: ||x - y||^2 <= 0 is proved, its contradictory hypotheses are met")
def _() -> None:
    y = point("y")
    up, down = derived.majorant(F, ONE, x, y), derived.convex(F, ONE * 2, x, y)
    thm = combine((up, 2), (down, 2))
    statement = Statement("attack", thm.hypotheses, -thm.form, NOTHING)
    replay(document([(statement, thm)], (), {"attack": nowhere(points=POINTS)}))


# 1. One printed run that stands for many ---------------------------------------------


def moved(run: k.Run, rate: Ratio) -> R.Theorem:
    """Return ||x(1) - x(0) + rate grad F(x(0))||^2 = 0 for gradient descent."""
    away = iterate(run, 1) - iterate(run, 0) + gradient(F, iterate(run, 0)) * rate
    return R.descend(run, ZERO, away)


@attack("runs 1: sum_{i < 2} ||x(1) - x(0) + i grad F(x(0))||^2 <= 0 for one x")
def _() -> None:
    step = moved(k.Descent(F, k.Rate(of(i))), of(i))
    both = R.sum_over(step, steps(2), i, ONE, ())
    claimed(combine((both, -1)), both.form, NOTHING)


@attack("runs 2: the run of a bound client, whose x reads as one x")
def _() -> None:
    own = symbol(PerClient(ClientFamily("c", Sort.POSITIVE), n))
    step = moved(k.Descent(F, k.Rate(own)), own)
    all_of_them = R.sum_over(step, CLIENTS, n, weight(n), ())
    claimed(combine((all_of_them, -1)), all_of_them.form, NOTHING)


@attack("runs 3: tau[n1] local steps of everybody read as each client's own")
def _() -> None:
    own = natural(symbol(PerClient(ClientFamily("tau", Sort.COUNT), n)))
    run = k.Split(Kind.V1, EVERYONE, k.Pace(own, ETA), k.Pace(own, ETA))
    first = derived.variance(run, s2, n, now, ZERO)
    every = R.sum_over(first, CLIENTS, n, weight(n), ())
    right = every.form + norm2_of_noise(run)
    claimed(every, right - every.form, right, *every.hypotheses)


def norm2_of_noise(run: k.Split) -> k.Lin:
    return summed(CLIENTS, n, norm2(k.noise(run, n, now, ZERO)) * weight(n))


@attack("runs 4: a hypothesis for every t about the run with rate 1/(t + 1)")
def _() -> None:
    run = k.Descent(F, k.Rate(1 / (of(t) + 1)))
    low = R.assume(constant(1) - norm2(iterate(run, of(t))))
    both = R.sum_over(low, steps(2), t, ONE, ())
    claimed(both, constant(2) - both.form, constant(2), *both.hypotheses)


# 2. Hypotheses that read as weaker than they are ------------------------------------


@attack("bounds 1: ||grad F_n - grad f||^2 <= eps2[n] bounds client m by eps2[n]")
def _() -> None:
    thm = derived.heterogeneity(per_client("eps2", n), m, x)
    right = constant(per_client("eps2", n))
    claimed(thm, right - thm.form, right, *thm.hypotheses)


@attack("bounds 2: the same for every client, n bound: the least eps2 bounds all")
def _() -> None:
    thm = derived.heterogeneity(per_client("eps2", n), m, x)
    least = R.sum_over(thm, CLIENTS, n, weight(n), ())
    right = summed(CLIENTS, n, constant(per_client("eps2", n) * weight(n)))
    claimed(least, right - least.form, right, *least.hypotheses)


@attack("bounds 3: second moment <= G2[n], used for client m")
def _() -> None:
    run = run_of(Kind.V1)
    thm = derived.bounded_gradient(run, per_client("G2", n), m, now, ZERO)
    right = constant(per_client("G2", n))
    claimed(thm, right - thm.form, right, *thm.hypotheses)


@attack("bounds 4: second moment <= G(t), used in round s")
def _() -> None:
    bound = symbol(PerRound(RoundFamily("G", Sort.NONNEGATIVE), natural(now)))
    thm = derived.bounded_gradient(run_of(Kind.V1), bound, n, of(nat("s")), ZERO)
    claimed(thm, constant(bound) - thm.form, constant(bound), *thm.hypotheses)


@attack("bounds 5: variance of client n <= v(t), used in round s")
def _() -> None:
    bound = symbol(PerRound(RoundFamily("v", Sort.NONNEGATIVE), natural(now)))
    thm = derived.variance(run_of(Kind.V1), bound, n, of(nat("s")), ZERO)
    claimed(thm, constant(bound) - thm.form, constant(bound), *thm.hypotheses)


# 3. True as printed, and refuted ----------------------------------------------------


@attack("names 1: a function F_n, and ||grad F_n - grad f||^2 <= eps2 assumed")
def _() -> None:
    named = NamedFunction("F_n")
    apart = norm2(gradient(named, x) - gradient(MEAN, x))
    (eps,) = eps2.numerator.parts
    model = small_model(
        numbers={eps: Q(0)},
        functions=(FLAT,),
        named={named: SLOPE},
        points={k.Point("x"): ((Q(0),),)},
    )
    modelled(apart, constant(eps2), {h.Heterogeneity(eps2)}, model)


@attack("names 2: a parameter q_n beside 'with probabilities q_n'")
def _() -> None:
    q = Var("q_n", Sort.POSITIVE)
    odds = summed(CLIENTS, n, constant(symbol(k.Odds(n)) * weight(n)))
    drawn = h.Participation(run_of(Kind.V1, UPDATES))
    claim = (odds * symbol(q) + constant(symbol(q)), ONE_FORM)
    families = {
        RoundFamily(name, Sort.POSITIVE): k.Rate(ONE) for name in ("eta", "rate")
    }
    tau = Var("tau", Sort.COUNT)
    model = small_model(
        numbers={q: Q(1), tau: Q(1)}, participation=(Q(1, 2),), rates=families
    )
    modelled(*claim, {drawn}, model)


@attack("names 3: a point x beside x(0) of a run")
def _() -> None:
    run = k.Descent(F, k.Rate(ONE))
    model = small_model(named={F: FLAT}, points={k.Point("x"): ((Q(2),),)})
    modelled(norm2(x), norm2(iterate(run, 0)), (), model)


@attack("minimisers 1: phi(phi*) <= phi(x) is refuted, phi* being any vector")
def _() -> None:
    best = value_of(F, vec(Star(F)))
    model = small_model(
        named={F: SLOPE}, points={k.Point("y"): ((Q(0),),)}, stars={F: (Q(1),)}
    )
    modelled(best, value_of(F, point("y")), (), model)


@attack("minimisers 2: README's 8T is refuted without a minimiser")
def _() -> None:
    statement, model = refutations.too_fast_descent()
    weaker = replace(statement, hypotheses=statement.hypotheses - {h.Minimiser(F)})
    replay(document([], [(weaker, model)]))


@attack("minimisers 4: phi* minimises phi for all i < 0, that is not at all")
def _() -> None:
    best, never = value_of(F, vec(Star(F))), k.Steps(k.natural(0))
    assumed = h.every(never, k.Var("j", Sort.NATURAL), h.Minimiser(F))
    model = small_model(
        named={F: SLOPE}, points={k.Point("y"): ((Q(0),),)}, stars={F: (Q(1),)}
    )
    modelled(best, value_of(F, point("y")), (assumed,), model)


@attack("minimisers 3: hypotheses that exclude each other as printed are met")
def _() -> None:
    lower = value_of(F, point("y")) + ONE_FORM
    thm = R.assume(value_of(F, vec(Star(F))) - lower)
    model = small_model(
        named={F: SLOPE}, points={k.Point("y"): ((Q(0),),)}, stars={F: (Q(1),)}
    )
    right = value_of(F, vec(Star(F)))
    statement = Statement("attack", thm.hypotheses, lower, right)
    replay(document([(statement, thm)], (), {"attack": model}))


@pytest.mark.parametrize(
    "place", range(len(ATTACKS)), ids=[name for name, _ in ATTACKS]
)
def test_the_attack_is_rejected(place: int) -> None:
    with pytest.raises(Rejected):
        ATTACKS[place][1]()


# 4. Where a sum ends ------------------------------------------------------------------


def test_a_printed_sum_shows_where_it_ends() -> None:
    """sum_i A_i - B reads as sum_i (A_i - B), which is another number."""
    family = RoundFamily("w", Sort.POSITIVE)
    each = norm2(gradient(F, point("y") * symbol(PerRound(family, natural(of(i))))))
    total = summed(steps(3), i, each)
    for text in (str(total - ONE_FORM), str(summed(steps(3), i, x_of(family)))):
        assert not re.search(r"sum_\{[^}]*\} [^\[(]", text), text


def x_of(family: RoundFamily) -> k.Vec:
    return gradient(F, point("y") * symbol(PerRound(family, natural(of(i)))))


# 5. Files of a few hundred bytes that never end ---------------------------------------

HUGE = "1" + "0" * 300
STILL: dict[str, object] = {
    "client_size": 0,
    "functions": [[[["0"]], ["0"], []]],
    "weights": ["1"],
    "participation": ["1"],
    "noise": [[["1", ["0"], ["0"]]]],
    "start": ["1"],
    "order": [],
    "rounds": 0,
    "numbers": [],
    "families": [],
    "rates": [],
    "named": [],
    "points": [],
    "stars": [],
    "box": [],
    "long": False,
}
ENDLESS: dict[str, list[object]] = {
    "the model's run of 10^300 rounds": [
        ["number", [], []],
        ["constant", 0],
        ["number", [["1", []]], []],
        ["mean"],
        ["var", "t", "natural"],
        ["rate", 4, 2],
        ["descent", 3, 5],
        ["number", [[HUGE, []]], []],
        ["iterate", 6, 7],
        ["inner", 8, 8],
    ],
    "the sum of 10^300 numbers": [
        ["number", [], []],
        ["constant", 0],
        ["var", "v", "natural"],
        ["number", [[HUGE, []]], []],
        ["steps", 3],
        ["number", [["1", [[2, 4]]]], []],
        ["total", 4, 2, 5],
        ["constant", 6],
    ],
}


@pytest.mark.parametrize("name", ENDLESS)
def test_a_small_file_is_decided_in_seconds(name: str, tmp_path: Path) -> None:
    terms = ENDLESS[name]
    claim = {"id": "c", "hypotheses": [], "model": STILL}
    claim |= {"left": len(terms) - 1, "right": 1}
    file = tmp_path / "proofs.json"
    file.write_text(json.dumps({"terms": terms, "steps": [], "claims": [claim]}))

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
    assert "REJECTED" in done.stdout
