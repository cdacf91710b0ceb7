"""What a certificate takes from an earlier one is what that one proved, or rejected."""

from __future__ import annotations

import random
from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Rejected,
    Vector,
    atom,
    check,
    inner,
    norm2,
    once,
    proved_before,
    vectors,
)
from sfl_theory.evidence.claim import Proof
from sfl_theory.evidence.derivation import INDUCTION, Cases, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.ledger import decide
from sfl_theory.evidence.round_sum import RoundSum, rate_sum, summed

L, eta, p, rate = positive("L eta p rate")
a, b, c = (atom(name) for name in "abc")


def step(factor: Any = 1) -> Certificate:
    """b <= a + factor L eta^2 c for 0 < eta <= 1/L, from b <= a + L^2 eta^3 c."""
    s, h = *positive("s"), *free("h")
    domain = Domain("0 < eta <= 1/L", {L: s, eta: 1 / (s * (1 + h))}, (s, h))
    given = Fact("given", a + L**2 * eta**3 * c - b, "update")
    sign = Fact("c >= 0", c, "square")
    return Certificate(
        "x", b, a + factor * L * eta**2 * c, ("update", "square"), domain,
        uses=((given, 1), (sign, factor * L * eta**2 - L**2 * eta**3)),
        statement="one step",
    )  # fmt: skip


def user(**changes: Any) -> Certificate:
    """b <= a + c/(4 L) by the step at eta = 1/(2L)."""
    (s,) = positive("s")
    kept = {
        "link": Instance(Use(step(), {"s": L, "h": sp.Integer(1)})),
        "expr": a + c / (4 * L) - b,
        "hypotheses": ("update", "square"),
        "domain": Domain("L > 0", {L: s}, (s,)),
    }
    kept |= changes
    fact = Fact("the step", kept["expr"], "", derived=kept["link"])
    return Certificate(
        "x", b, b + kept["expr"], kept["hypotheses"], kept["domain"], uses=((fact, 1),)
    )


def test_an_instance_of_a_proved_step_is_accepted_and_named() -> None:
    replay = check(user(), "x", [step()])
    assert any("proved by step 1 of this proof" in line for line in replay.lines)
    assert any("'one step'" in line for line in check(user(), "x").lines)
    lines = decide("x", Proof((step, user), "w")).lines
    assert any("proved by step 1 of this proof" in line for line in lines)
    other = replace(step(), claim="paper/lemma-1")
    link = Instance(Use(other, {"s": L, "h": sp.Integer(1)}))
    assert any("paper/lemma-1" in line for line in check(user(link=link), "x").lines)
    assert replay.unused == ()


def at(**values: Any) -> Instance:
    return Instance(Use(step(), values))


NOTHING = Domain("L > 0, q >= 0", {L: positive("s")[0]}, (*positive("s"), *free("q")))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"expr": a + c / (8 * L) - b}, "is not what the earlier step proves: at 'c'"),
        ({"expr": a + c / (4 * L) - 2 * b}, "at 'b'"),
        ({"expr": a + c / (4 * L) - b + 1}, "at '1'"),
        ({"hypotheses": ("update",)}, "assumes 'square', which the claim does not"),
        ({"link": at(s=L, h=sp.Integer(-1) / 2), "expr": a + 4 * c / L - b}, "outside"),
        ({"link": at(s=L, h=free("q")[0] - 1), "domain": NOTHING}, "outside"),
        ({"link": at(s=free("q")[0], h=sp.Integer(0)), "domain": NOTHING},
         "not shown positive"),
        ({"link": at(s=L)}, "has the free variables"),
        ({"link": at(s=L, h=sp.Integer(1), k=sp.Integer(1))}, "free variables"),
        ({"link": Instance(Use(step(sp.Rational(1, 2)), {"s": L, "h": sp.Integer(1)})),
          "expr": a + c / (8 * L) - b}, "the earlier step 'one step' fails"),
        ({"expr": a + 0.25 * c / L - b}, "floating-point"),
    ],
)  # fmt: skip
def test_forged_links_are_rejected(changes: Mapping[str, Any], reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        check(user(**changes), "x")


def test_an_altered_source_is_replayed_and_rejected() -> None:
    bad = replace(step(), uses=step().uses[:1])
    link = Instance(Use(bad, {"s": L, "h": sp.Integer(1)}))
    with pytest.raises(Rejected, match="the earlier step 'one step' fails: identity"):
        check(user(link=link), "x", [bad])


def test_within_a_claim_only_an_equal_step_is_not_replayed_again() -> None:
    bad = replace(step(), uses=step().uses[:1])
    forged = Instance(Use(bad, {"s": L, "h": sp.Integer(1)}))
    with once():
        check(step(), "x")
        assert proved_before(step())
        assert not proved_before(bad)
        check(user(), "x")
        with pytest.raises(Rejected, match="the earlier step 'one step' fails"):
            check(user(link=forged), "x")
        assert not proved_before(bad)
        assert not proved_before(replace(step(), hypotheses=("update",)))
    assert not proved_before(step())


def test_the_ledger_replays_what_is_said_to_be_sharper() -> None:
    sharp = replace(step(), statement="as sharp")
    bad = replace(step(), right=step().right / 2, statement="too sharp")
    kept = decide("x", Proof((step,), "w", (lambda: sharp,)))
    assert kept.status == "proved"
    assert any("as sharp" in line for line in kept.lines)
    assert decide("x", Proof((step,), "w", (lambda: bad,))).status == "unproved"


def test_circular_proofs_are_rejected() -> None:
    one = user()
    fact = one.uses[0][0]
    object.__setattr__(fact, "derived", Instance(Use(one, {"s": L})))
    with pytest.raises(Rejected, match="circular"):
        check(one, "x")


def test_a_derived_fact_is_an_inequality_and_needs_a_link() -> None:
    fact = user().uses[0][0]
    with pytest.raises(Rejected, match="inequality"):
        check(replace(user(), uses=((replace(fact, equality=True), -1),)), "x")
    with pytest.raises(Rejected, match="rests on ''"):
        check(replace(user(), uses=((replace(fact, derived=None), 1),)), "x")


def square() -> Certificate:
    u, v = vectors("u v")
    return Certificate(
        "x", 2 * inner(u, v), norm2(u) + norm2(v), (), Domain("any", {}, ()),
        squares=((u - v, 1),), statement="Young",
    )  # fmt: skip


def renamed(expr: Any, **how: Any) -> Certificate:
    fact = Fact("renamed", expr, "", derived=Instance(Use(square(), {}, **how)))
    return Certificate(
        "x", sp.Integer(0), expr, (), Domain("p > 0", {}, (p,)), uses=((fact, 1),)
    )


def test_vectors_are_replaced_linearly_and_products_renamed() -> None:
    x, y = vectors("x y")
    young = norm2(x + y) + norm2(y) - 2 * inner(x + y, y)
    check(renamed(young, vectors={"u": x + y, "v": y}), "x")
    names = {"<u,u>": p * a, "<v,v>": b, "<u,v>": -c}
    check(renamed(p * a + b + 2 * c, atoms=names), "x")
    check(renamed(a, atoms={"<u,u>": a}, vectors={"v": Vector({})}), "x")


@pytest.mark.parametrize(
    ("names", "expr", "reason"),
    [
        ({"<u,u>": -a}, norm2(vectors("v")[0]), "the square <u,u>"),
        ({"<u,u>": a - b}, a - b, "one atom"),
        ({"<u,u>": sp.Integer(0)}, a, "one atom"),
        ({"<u,u>": a, "<u,v>": a}, a, "two inner products"),
        ({"<u,v>": atom("<u,u>")}, a, "by replacing vectors"),
        ({"<u,u>": a + 1}, a, "holds no atom alone"),
    ],
)
def test_names_cannot_lose_a_square(names: Any, expr: Any, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        check(renamed(expr, atoms=names), "x")


def test_a_constant_is_not_summed_over_a_family() -> None:
    bounded = Certificate(
        "x", a, sp.Integer(1), ("H",), Domain("any", {}, ()),
        uses=((Fact("a <= 1", 1 - a, "H"), 1),),
    )  # fmt: skip
    fact = Fact(
        "sum", 1 - b, "", derived=Instance(Use(bounded, {}, {"a": b}, family="clients"))
    )
    with pytest.raises(Rejected, match="constant"):
        check(
            Certificate("x", b, sp.Integer(1), ("H",), Domain("any", {}, ()),
                        uses=((fact, 1),)), "x",
        )  # fmt: skip


def piece(above: bool) -> Certificate:
    """a <= b for p >= 1 (above) or p <= 1."""
    h = free("h")[0]
    value = 1 + h if above else 1 / (1 + h)
    return Certificate(
        "x", a, b, ("H",), Domain("p", {p: value}, (h,)),
        uses=((Fact("p a <= p b", p * (b - a), "H"), 1 / p),),
    )  # fmt: skip


def split(sign: Any) -> Certificate:
    cases = Cases(
        sign, Use(piece(True), {"h": p - 1}), Use(piece(False), {"h": 1 / p - 1})
    )
    fact = Fact("both", b - a, "", derived=Instance(cases))
    return Certificate("x", a, b, ("H",), Domain("p > 0", {}, (p,)), uses=((fact, 1),))


def test_cases_must_cover_the_domain() -> None:
    check(split(p - 1), "x")
    for gap in (p - 2, p - sp.Rational(1, 2), 1 - p):
        with pytest.raises(Rejected, match="outside the domain"):
            check(split(gap), "x")


def test_a_multiple_of_what_is_given_has_no_pole() -> None:
    """x (y-1) >= 0 says nothing of y-1 where x = 0."""
    x, y = free("x y")
    (z,) = positive("z")
    assert not Domain("x may be 0", {}, (x, y), (x * (y - 1),)).nonnegative(y - 1)
    assert Domain("z > 0", {}, (z, y), (z * (y - 1),)).nonnegative(y - 1)


def test_what_is_given_restricts_the_domain_and_is_used_exactly() -> None:
    u, v = free("u v")
    domain = Domain("u >= v", {}, (u, v), given=(u - v,))
    assert domain.nonnegative(2 * u - 2 * v)
    assert domain.nonnegative((u - v) / (1 + u))
    assert domain.nonnegative(u - v + 3)
    assert not domain.nonnegative(u - 2 * v)
    assert not domain.nonnegative(v - u)
    assert not domain.positive(u - v)
    empty = Domain("nowhere", {}, (u,), given=(-1 - u,))
    nothing = Certificate("x", sp.Integer(1), sp.Integer(0), (), empty)
    with pytest.raises(Rejected, match="no point of the domain"):
        check(nothing, "x")


SQUARES = rate_sum(rate, 2)


def one_round() -> Certificate:
    """D' <= (1 + p) D - p D'' ...: D_t - D_t+1 - 2 eta g + p eta^2 c + 3 eta^2 >= 0."""
    now, then, gap = atom("D_t"), atom("D_t+1"), atom("g")
    s, h = *positive("s"), *free("h")
    expr = now - then - 2 * eta * gap + p * eta**2 * c + 3 * eta**2
    domain = Domain("p > 0, 0 < eta <= 1", {p: s, eta: 1 / (1 + h)}, (s, h))
    return Certificate(
        "x", then, then + expr, ("update",), domain,
        uses=((Fact("round", expr, "update"), 1),), statement="one round",
    )  # fmt: skip


SUM = (
    atom("D_0") - atom("D_T") - 2 * summed(rate, 1, "g")
    + p * summed(rate, 2, "c") + 3 * SQUARES
)  # fmt: skip
TELESCOPE = {"D_t": ("D_t+1", "D_0", "D_T")}


def total(expr: Any = SUM, **changes: Any) -> Certificate:
    known = {"telescopes": TELESCOPE, "condition": (1 - rate,), "words": "eta <= 1"}
    hypotheses = changes.pop("hypotheses", ("update", "eta <= 1"))
    domain = changes.pop("domain", Domain("p > 0", {}, (p, SQUARES)))
    use = changes.pop("use", Use(one_round(), {"s": p, "h": 1 / rate - 1}))
    link = RoundSum(use, rate, **{**known, **changes})
    fact = Fact("sum", expr, "", derived=link)
    return Certificate("x", sp.Integer(0), expr, hypotheses, domain, uses=((fact, 1),))


def test_the_sum_over_rounds_is_the_sum_of_the_rounds() -> None:
    """For T = 1..4 and random values the accepted fact equals the sum, term by term."""
    check(total(), "x")
    rng = random.Random(0)

    def draw() -> sp.Rational:
        return sp.Rational(Fraction(rng.randint(-30, 30), rng.randint(1, 9)))

    for T in (1, 2, 3, 4):
        rates = [abs(draw()) + 1 for _ in range(T)]
        D = [draw() for _ in range(T + 1)]
        g, size, weight = [draw() for _ in rates], [draw() for _ in rates], draw()
        rounds = sum(
            one_round().conclusion.subs({
                atom("D_t"): D[t], atom("D_t+1"): D[t + 1], atom("g"): g[t],
                c: size[t], eta: rates[t], p: weight,
            })
            for t in range(T)
        )  # fmt: skip
        whole = SUM.subs({
            atom("D_0"): D[0], atom("D_T"): D[T], p: weight,
            summed(rate, 1, "g"): sum(x * y for x, y in zip(rates, g, strict=True)),
            summed(rate, 2, "c"):
                sum(x**2 * y for x, y in zip(rates, size, strict=True)),
            SQUARES: sum(x**2 for x in rates),
        })  # fmt: skip
        assert sp.expand(rounds - whole) == 0


@pytest.mark.parametrize(
    ("expr", "changes", "reason"),
    [
        (SUM - 2 * summed(rate, 1, "g"), {}, "is not what the earlier step proves"),
        (SUM.subs(SQUARES, rate_sum(rate, 3)), {}, "is not a rational expression"),
        (SUM - SQUARES, {}, "at '1'"),
        (SUM, {"telescopes": {}}, "is not what"),
        (SUM, {"telescopes": {"D_t": ("D_t+1", "D_0", "D_0")}}, "one name at t"),
        (SUM, {"telescopes": {"g": ("D_t+1", "D_0", "D_T")}}, "do not telescope"),
        (SUM, {"telescopes": {**TELESCOPE, "z": ("c", "c_0", "c_T")}}, "nothing to"),
        (SUM, {"condition": (2 - rate,)}, "outside the domain"),
        (SUM, {"condition": ()}, "outside the domain"),
        (SUM, {"hypotheses": ("update",)}, "restricts the rates"),
        (SUM, {"hypotheses": ("eta <= 1",)}, "assumes 'update'"),
        (SUM.subs(SQUARES, p), {"domain": Domain("p > 0", {}, (p,))}, "free variable"),
        (SUM, {"domain": Domain("p", {SQUARES: sp.Integer(0)}, (p,))}, "of its own"),
        (SUM, {"domain": Domain("p", {L: SQUARES}, (p, SQUARES))}, "of its own"),
    ],
)
def test_forged_sums_are_rejected(expr: Any, changes: Any, reason: str) -> None:
    with pytest.raises(ValueError, match=reason):
        check(total(expr, **changes), "x")


@pytest.mark.parametrize("factor", [sp.Integer(2), eta])
def test_what_does_not_cancel_does_not_telescope(factor: Any) -> None:
    """2 D_t - D_t+1, or eta (D_t - D_t+1), is no difference of neighbours."""
    now, then = atom("D_t"), atom("D_t+1")
    one = replace(one_round(), left=(1 if factor == 2 else eta) * then, uses=())
    one = replace(one, right=factor * now)
    fact = Fact("round", one.conclusion, "update")
    one = replace(one, uses=((fact, 1),))
    use = Use(one, {"s": p, "h": 1 / rate - 1})
    for last in (atom("D_T"), 2 * atom("D_T")):
        with pytest.raises(Rejected, match="do not telescope"):
            check(total(factor.subs(eta, 1) * atom("D_0") - last, use=use), "x")


def test_negative_powers_of_the_rate_are_summed() -> None:
    plain = Certificate(
        "x", a, (p + 3 * eta) / eta**2, ("update",),
        Domain("p, eta > 0", {}, (p, eta)),
        uses=((Fact("round", (p + 3 * eta) / eta**2 - a, "update"), 1),),
    )  # fmt: skip
    parts = [rate_sum(rate, power) for power in (-2, -1, 2)]
    expr = p * parts[0] + 3 * parts[1] - summed(rate, 0, "a")
    known = {
        "telescopes": {}, "condition": (), "words": "",
        "use": Use(plain, {"p": p, "eta": rate}),
        "domain": Domain("p > 0", {}, (p, *parts)),
    }  # fmt: skip
    check(total(expr, **known), "x")
    with pytest.raises(Rejected, match="at '1'"):
        check(total(expr.subs(parts[0], parts[2]), **known), "x")


def test_a_constant_per_round_is_summed_to_T_times_it() -> None:
    plain = Certificate(
        "x", a, p, ("H",), Domain("p > 0", {}, (p,)),
        uses=((Fact("a <= p", p - a, "H"), 1),),
    )  # fmt: skip
    T = positive("T")[0]
    expr = T * p - summed(rate, 0, "a")
    known = {
        "telescopes": {}, "condition": (), "words": "", "use": Use(plain, {"p": p}),
        "hypotheses": ("H",), "domain": Domain("p > 0, T >= 1", {}, (p, T)),
    }  # fmt: skip
    check(total(expr, rounds=T, **known), "x")
    with pytest.raises(Rejected, match="say what T is"):
        check(total(expr, **known), "x")
    with pytest.raises(Rejected, match="at '1'"):
        check(total(expr + p, rounds=T, **known), "x")


k = free("k")[0]
index = free("i")[0]


def start(right: Any = p) -> Certificate:
    return Certificate(
        "x", atom("D_0"), right, ("start",), Domain("p > 0", {}, (p,)),
        uses=((Fact("D_0 <= p", p - atom("D_0"), "start"), 1),), statement="base",
    )  # fmt: skip


def next_one(first: int = 0, known: Any = None, equality: bool = False) -> Certificate:
    """D_t <= p (t + 1) gives D_t+1 <= p (t + 2), for t >= first."""
    now, then = atom("D_t"), atom("D_t+1")
    t = first + k
    before = (p * (t + 1) - now) if known is None else known
    return Certificate(
        "x", then, p * (t + 2), ("update", INDUCTION), Domain("t", {}, (p, k)),
        uses=(
            (Fact("step", now + p - then, "update"), 1),
            (Fact("before", before, INDUCTION, equality=equality), 1),
        ), statement="step",
    )  # fmt: skip


MOVES = {"D_t": ("D_0", "D_t+1", "D_n")}


def every(**changes: Any) -> Certificate:
    n = free("n")[0]
    kept = {
        "claim": p * (index + 1) - atom("D_t"),
        "index": index,
        "end": n,
        "base": Use(start(), {"p": p}),
        "steps": (Use(next_one(), {"p": p, "k": index}),),
        "moves": MOVES,
    }
    expr = changes.pop("expr", p * (n + 1) - atom("D_n"))
    hypotheses = changes.pop("hypotheses", ("start", "update"))
    fact = Fact("all", expr, "", derived=Induction(**{**kept, **changes}))
    return Certificate(
        "x", sp.Integer(0), expr, hypotheses, Domain("n >= 0", {}, (p, n)),
        uses=((fact, 1),),
    )  # fmt: skip


def test_an_induction_is_accepted_with_one_step_or_a_first_one_of_its_own() -> None:
    check(every(), "x")
    own = Use(next_one(), {"p": p, "k": sp.Integer(0)})
    later = Use(next_one(1), {"p": p, "k": index - 1})
    check(every(steps=(own, later)), "x")


def idle() -> Certificate:
    """A step that proves again what it assumes."""
    before = Fact("before", p * (k + 1) - atom("D_t"), INDUCTION)
    return Certificate(
        "x", atom("D_t"), p * (k + 1), (INDUCTION,), Domain("t", {}, (p, k)),
        uses=((before, 1),),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"expr": p * free("n")[0] - atom("D_n")}, "is not what the earlier step"),
        ({"expr": p * (free("n")[0] + 1) - atom("D_m")}, "is not what"),
        ({"base": Use(start(p / 2), {"p": p})}, "the earlier step 'base' fails"),
        ({"base": Use(start(), {"p": 2 * p})}, "all, base"),
        ({"steps": ()}, "needs a step"),
        ({"steps": (Use(next_one(1), {"p": p, "k": index - 1}),)}, "outside"),
        ({"steps": (Use(next_one(), {"p": p, "k": index + 1}),)}, INDUCTION),
        ({"steps": (Use(next_one(known=p * (k + 1) - atom("D_t"), equality=True),
                        {"p": p, "k": index}),)}, "no more"),
        ({"steps": (Use(next_one(known=p * (k + 1) - atom("D_t") - atom("D_t+1")),
                        {"p": p, "k": index}),)}, "fails: identity"),
        ({"steps": (Use(idle(), {"p": p, "k": index}),),
          "moves": {"D_t": ("D_0", "D_t", "D_n")}}, "a name of its own"),
        ({"steps": (Use(idle(), {"p": p, "k": index}),)}, "all, step"),
        ({"moves": {"D_t": ("D_t", "D_t+1", "D_n")}}, "a name of its own"),
        ({"hypotheses": ("start",)}, "assumes 'update'"),
        ({"hypotheses": ("update",)}, "assumes 'start'"),
        ({"end": free("n")[0] - 1}, "not shown non-negative"),
    ],
)  # fmt: skip
def test_forged_inductions_are_rejected(
    changes: Mapping[str, Any], reason: str
) -> None:
    with pytest.raises(Rejected, match=reason):
        check(every(**changes), "x")


def test_a_step_without_its_induction_proves_nothing_further() -> None:
    n = free("n")[0]
    fact = Fact(
        "after", p * (n + 2) - atom("D_t+1"), "",
        derived=Instance(Use(next_one(), {"p": p, "k": n})),
    )  # fmt: skip
    for hypotheses in (("update",), ("update", INDUCTION)):
        with pytest.raises(Rejected, match="proved under an induction hypothesis only"):
            check(
                Certificate("x", sp.Integer(0), fact.expr, hypotheses,
                            Domain("n", {}, (p, n)), uses=((fact, 1),)), "x",
            )  # fmt: skip


def test_an_index_with_a_chosen_value_needs_its_bounds() -> None:
    """A step that needs 0 <= j <= t can be used with a j that is said to exist."""
    (j,) = free("j")
    limited = replace(
        next_one(), domain=Domain("0 <= j <= t", {}, (p, k, j), given=(k - j,))
    )
    step_at = Use(limited, {"p": p, "k": index, "j": j})
    check(every(steps=(step_at,), chosen=(j,), given=(index - j,), words="j"), "x")
    with pytest.raises(Rejected, match="outside the domain"):
        check(every(steps=(step_at,), chosen=(j,), words="j"), "x")
