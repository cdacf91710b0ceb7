"""Gronwall's sum over rounds: accepted where it is true, rejected where it is not."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy as sp

from sfl_theory.evidence.certificate import Certificate, Fact, Rejected, atom, check
from sfl_theory.evidence.derivation import Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.growing_sum import GrowingSum, exponential
from sfl_theory.evidence.round_sum import rate_sum, summed

RATE, GROWTH, SCALE = positive("eta^t B c")
SIGNS, RECURSION = "gaps and distances are non-negative", "a recursion"


def one_step(growth: sp.Expr = GROWTH * RATE**2, gain: int = 2) -> Certificate:
    """Return the recursion d' <= (1 + growth) d - gain eta g + c eta^2."""
    now, then, gap = atom("d"), atom("d'"), atom("g")
    right = (1 + growth) * now - gain * RATE * gap + SCALE * RATE**2
    (eta,) = positive("eta_0")
    b, c = free("b c_0")
    return Certificate(
        "x",
        then,
        right,
        (RECURSION,),
        Domain("eta > 0", {RATE: eta, GROWTH: b, SCALE: c}, (eta, b, c)),
        uses=((Fact("round", right - then, RECURSION), 1),),
        statement="one step",
    )


def gronwall(
    step: Certificate | None = None,
    exponent: sp.Expr | None = None,
    signs: dict[str, str] | None = None,
    growth: sp.Expr | None = None,
    gain: int = 2,
) -> Certificate:
    squares = rate_sum(RATE, 2)
    grown = GROWTH * squares if exponent is None else exponent
    factor = exponential(grown) if growth is None else growth
    weighted = summed(RATE, 1, "g")
    right = factor * (atom("d^0") + SCALE * squares)
    at = {"eta_0": RATE, "b": GROWTH, "c_0": SCALE}
    link = GrowingSum(
        Use(one_step() if step is None else step, at),
        RATE,
        ("d", "d'", "d^0"),
        {"g": SIGNS, "d'": SIGNS} if signs is None else signs,
        grown,
    )
    fact = Fact("sum", right - gain * weighted, "", derived=link)
    return Certificate(
        "x",
        gain * weighted,
        right,
        (RECURSION, SIGNS),
        Domain("any", {}, (GROWTH, SCALE, squares, exponential(grown))),
        uses=((fact, 1),),
    )


def test_gronwall_sum_is_accepted_and_true() -> None:
    check(gronwall(), "x")
    rng = np.random.default_rng(0)
    for _ in range(50):
        B, c, d = rng.uniform(0, 2, size=3)
        rates, start, total = rng.uniform(0, 1, size=8), d, 0.0
        for eta in rates:
            most = (1 + B * eta**2) * d + c * eta**2
            gap = rng.uniform(0, most / (2 * eta))
            total += 2 * eta * gap
            d = max(0.0, most - 2 * eta * gap - rng.uniform(0, 0.1))
        e2 = float((rates**2).sum())
        assert total <= np.exp(B * e2) * (start + c * e2) + 1e-12


REJECTED = {
    "smaller growth": (
        partial(gronwall, exponent=GROWTH * rate_sum(RATE, 2) / 2),
        "does not grow",
    ),
    "no growth": (partial(gronwall, growth=sp.Integer(1)), "not what the earlier"),
    "sign of the gap": (partial(gronwall, signs={"d'": SIGNS}), "'g' must be"),
    "sign of the distance": (partial(gronwall, signs={"g": SIGNS}), "\"*d'.* must be"),
    "sign by nobody": (
        partial(gronwall, signs={"g": "hope", "d'": SIGNS}),
        "'g' must be",
    ),
    "larger gain": (partial(gronwall, gain=3), "not what the earlier"),
    "an earlier step that fails": (
        lambda: gronwall(step=replace(one_step(), right=sp.Integer(0))),
        "the earlier step",
    ),
    "an assumption that the claim lacks": (
        lambda: replace(gronwall(), hypotheses=(SIGNS,)),
        "assumes 'a recursion'",
    ),
    "constant growth": (
        lambda: gronwall(step=one_step(growth=GROWTH)),
        "positive power",
    ),
    "gain of the wrong sign": (
        lambda: gronwall(step=one_step(gain=-2), gain=-2),
        "non-negative",
    ),
}


@pytest.mark.parametrize("name", REJECTED)
def test_gronwall_rejects(name: str) -> None:
    build, words = REJECTED[name]
    with pytest.raises(Rejected, match=words):
        check(build(), "x")


def test_gronwall_refuses_a_known_exponential() -> None:
    proof = gronwall()
    growth = exponential(GROWTH * rate_sum(RATE, 2))
    known = Domain("any", {growth: SCALE}, (GROWTH, SCALE, rate_sum(RATE, 2)))
    with pytest.raises(Rejected, match=r"of its own|free variable"):
        check(replace(proof, domain=known), "x")
