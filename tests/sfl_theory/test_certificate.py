"""The checker accepts right certificates and rejects every planted fault."""

from __future__ import annotations

from dataclasses import replace

import pytest
import sympy as sp
from hypothesis import given
from hypothesis import strategies as st

from sfl_theory.audits.han2024 import appendix_c, convex
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Rejected,
    Vector,
    atom,
    check,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.claim import Claim, Open, Proof, Refutation
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.evidence.ledger import Ledger, decide

L = positive("L")[0]
s = positive("s")[0]


HALF = sp.Rational(1, 2)


def descent(claim: str = "descent", constant: sp.Expr = HALF) -> Certificate:
    """f(x - g/L) <= f(x) - constant/L ||g||^2 for L-smooth f."""
    g, fx, fy = vectors("g fx fy")
    del fx, fy
    from sfl_theory.evidence.kernel import smooth_upper, value

    upper = smooth_upper("f", "x", "y", g * (-1 / L), g, L, "smooth")
    return Certificate(
        claim,
        value("f", "y"),
        value("f", "x") - constant / L * norm2(g),
        ("smooth",),
        Domain("L > 0", {L: s}, (s,)),
        uses=((upper, 1),),
    )


def test_a_right_certificate_passes_and_says_what_it_used() -> None:
    replay = check(descent(), "descent")
    assert replay.unused == ()
    assert "identity" in replay.lines[-2]


def faults() -> list[tuple[str, Certificate, str]]:
    right = convex.lemma_c3("c3")
    smooth, multiplier = right.uses[0]
    square, weight = right.squares[0]
    return [
        ("flipped sign", replace(right, left=right.right, right=right.left),
         "identity"),
        ("negative multiplier", replace(right, uses=((smooth, -1), *right.uses[1:])),
         "multiplier"),
        ("dropped fact", replace(right, uses=right.uses[1:]), "identity"),
        ("doubled multiplier", replace(right, uses=((smooth, 2 * multiplier),
         *right.uses[1:])), "identity"),
        ("dropped square", replace(right, squares=()), "identity"),
        ("negative square", replace(right, squares=((square, -weight),)), "square"),
        ("wrong constant", descent(constant=sp.Integer(1)), "identity"),
        ("missing hypothesis", replace(right, hypotheses=right.hypotheses[1:]),
         "does not assume"),
        ("another domain", replace(right, domain=Domain("mu >= S >= 0",
         {convex.S: free("m")[0], convex.mu: free("m")[0] + free("q")[0]},
         (*free("m"), *free("q")))), "not shown non-negative"),
    ]  # fmt: skip


@pytest.mark.parametrize(("name", "bad", "reason"), faults(), ids=lambda v: str(v)[:20])
def test_planted_faults_are_rejected(name: str, bad: Certificate, reason: str) -> None:
    with pytest.raises(Rejected, match=reason):
        check(bad, bad.claim)


def test_a_certificate_for_another_claim_is_rejected() -> None:
    with pytest.raises(Rejected, match="not for"):
        check(descent("descent"), "lemma-7")


def test_a_slightly_indefinite_matrix_is_rejected() -> None:
    """x^2 + y^2 - (2 + 10^-9) xy is no sum of squares with these weights."""
    x, y = vectors("x y")
    tiny = sp.Rational(1, 10**9)

    def certificate(cross: sp.Expr) -> Certificate:
        # (x - y)^2 has weight 1; what is missing of ||y||^2 must have weight >= 0.
        return Certificate(
            "psd",
            cross * inner(x, y),
            norm2(x) + norm2(y),
            (),
            Domain("no parameters", {}, ()),
            squares=((x - cross / 2 * y, 1), (y, 1 - cross**2 / 4)),
        )

    check(certificate(sp.Integer(2)), "psd")
    with pytest.raises(Rejected, match="weight"):
        check(certificate(2 + tiny), "psd")


def test_negative_slack_is_rejected() -> None:
    D = appendix_c.lemma_c5("c5")
    check(D, "c5")
    too_small = replace(D, right=D.right / 100)
    with pytest.raises(Rejected, match="left over"):
        check(too_small, "c5")


def test_floating_point_is_rejected() -> None:
    right = descent()
    with pytest.raises(Rejected, match="floating-point"):
        check(replace(right, right=right.right + 0.5), "descent")


def test_products_of_atoms_are_rejected() -> None:
    x, y = vectors("x y")
    bad = Certificate(
        "product", norm2(x) * norm2(y), norm2(x) * norm2(y) + norm2(x), (),
        Domain("none", {}, ()),
    )  # fmt: skip
    with pytest.raises(Rejected, match="linear"):
        check(
            replace(bad, squares=((x, 1),), right=bad.right + norm2(x) ** 2), "product"
        )


@given(st.integers(-6, 6), st.integers(-6, 6), st.integers(-6, 6))
def test_signs_are_sound(a: int, b: int, c: int) -> None:
    """What is called non-negative on a domain is so at sampled points of it."""
    x, y = positive("X Y")
    u, v = free("u v")
    domain = Domain("Y >= X >= 1", {x: 1 + u, y: x + v}, (u, v))
    expr = (a * x**2 + b * x * y + c * y) / (x + y)
    if domain.nonnegative(expr):
        for at in ((1, 1), (1, 5), (3, 3), (2, 100), (50, 51)):
            assert expr.subs({x: at[0], y: at[1]}) >= 0


def test_poles_on_the_domain_are_rejected() -> None:
    """mu b >= 0 gives b >= 0 only where mu is not 0; p = q is in the domain too."""
    (mu,) = positive("mu")
    p, q = positive("p q")
    b = atom("b")
    fact = Fact("mu b >= 0", mu * b, "given")

    def certificate(m: sp.Symbol) -> Certificate:
        return Certificate(
            "pole", sp.Integer(0), b, ("given",), Domain("mu", {mu: m}, (m,)),
            uses=((fact, 1 / mu),),
        )  # fmt: skip

    check(certificate(positive("m")[0]), "pole")
    with pytest.raises(ValueError, match="different from 0"):
        check(certificate(free("m")[0]), "pole")
    zero = Fact("b/(p-q) = 0", b / (p - q), "given", equality=True)
    changing = Certificate(
        "sign", sp.Integer(0), b, ("given",), Domain("p, q > 0", {}, (p, q)),
        uses=((zero, p - q),),
    )  # fmt: skip
    with pytest.raises(ValueError, match="different from 0"):
        check(changing, "sign")


def test_atoms_have_no_sign_and_squares_are_real() -> None:
    p = positive("p")[0]
    a = atom("A")
    one = Fact("1 >= 0", sp.Integer(1), "given")
    weighed = Certificate(
        "sign", sp.Integer(0), a, ("given",), Domain("p > 0", {}, (p,)),
        uses=((one, a),),
    )  # fmt: skip
    with pytest.raises(Rejected, match="sign is not known"):
        check(weighed, "sign")
    (u,) = vectors("u")
    imaginary = Certificate(
        "real", norm2(u), sp.Integer(0), (), Domain("p > 0", {}, (p,)),
        squares=((sp.I * u, 1),),
    )  # fmt: skip
    with pytest.raises(ValueError, match="not a rational expression"):
        check(imaginary, "real")


def test_names_cannot_be_confused() -> None:
    with pytest.raises(ValueError, match="constant term"):
        atom("1")
    with pytest.raises(ValueError, match="no vector"):
        inner(Vector({"a,b": 1}), Vector({"c": 1}))


def test_free_variables_are_free_and_nonnegative() -> None:
    p = positive("p")[0]
    with pytest.raises(ValueError, match="both free and defined"):
        Domain("p = -1", {p: sp.Integer(-1)}, (p,))
    with pytest.raises(ValueError, match="not declared non-negative"):
        Domain("r real", {}, (sp.Symbol("r", real=True),))


def test_unknown_parameters_and_circles_are_errors() -> None:
    x, y = positive("X Y")
    with pytest.raises(ValueError, match="not a rational expression"):
        Domain("none", {}, ()).nonnegative(x)
    with pytest.raises(ValueError, match="by itself"):
        Domain("circle", {x: y, y: x}, ()).nonnegative(x)


def finding(**changes: object) -> Finding:
    values = {
        "setup": "1 <= 0",
        "checks": (at_most("A", 1, 2), equal("B", 3, 3)),
        "left": Interval.of(1),
        "right": Interval.of(0),
    }
    return Finding(**{**values, **changes})


def test_an_instance_refutes_only_if_it_meets_every_assumption() -> None:
    assert decide("x", Refutation(finding, "w")).status == "refuted"
    for changes in (
        {"checks": ()},
        {"checks": (Check("A", False, "3 <= 2"),)},
        {"left": Interval.of(0)},
        {"left": Interval(-1, 2)},
        {"right": Interval(0, 1)},
    ):
        outcome = decide("x", Refutation(lambda c=changes: finding(**c), "w"))
        assert outcome.status == "unproved"
        assert "rejected" in outcome.lines[0]


def test_a_rejected_certificate_earns_unproved() -> None:
    assert decide("descent", Proof((descent,), "w")).status == "proved"
    assert decide("other", Proof((descent,), "w")).status == "unproved"
    assert decide("descent", Proof((), "w")).status == "unproved"
    assert decide("descent", Open("w")).status == "unproved"


def claim(identifier: str, *needs: str) -> Claim:
    return Claim(identifier, "here", "lemma", "says", Open("tried"), needs)


def test_ledgers_refuse_circles_doubles_and_strangers() -> None:
    Ledger([claim("p/a", "p/b"), claim("p/b")])
    with pytest.raises(ValueError, match="depend on each other"):
        Ledger([claim("p/a", "p/b"), claim("p/b", "p/a")])
    with pytest.raises(ValueError, match="unknown p/c"):
        Ledger([claim("p/a", "p/c")])
    with pytest.raises(ValueError, match="two claims"):
        Ledger([claim("p/a"), claim("p/a")])


@given(
    st.fractions(-5, 5), st.fractions(-5, 5), st.fractions(-5, 5), st.fractions(0, 1)
)
def test_intervals_enclose(a, b, c, w) -> None:
    """Arithmetic on intervals contains the arithmetic on their points."""
    x, y = Interval(min(a, b), max(a, b)), Interval.of(c).rounded(8)
    point = a + w * (b - a)
    for value, interval in (
        (point + c, x + y),
        (point - c, x - y),
        (point * c, x * y),
        (point**2, x.squared()),
        (point**3, x.power(3)),
    ):
        assert interval.low <= value <= interval.high
    square = Interval.of(point**2).root(2)
    assert square.low <= abs(point) <= square.high
