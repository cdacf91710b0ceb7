r"""(39)-(41) and (44)-(45): the recursion $A_i\le CA_{i-1}+B$ unrolled, $C=1+2/\tau$.

Two inductions over local steps, whose steps rest on (39) or (44) as proved:
$A_j\le\frac B{C-1}(C^j-1)$, and
$\sum_{i<\tau}A_i\le\frac B{C-1}(\frac{C^\tau-1}{C-1}-\tau)$.
"""

from __future__ import annotations

from typing import Any

from sfl_theory.audits.han2024.appendix_c import G2, eps2, eta, gradient2, sigma2, tau
from sfl_theory.audits.han2024.appendix_c_steps import (
    CONSTANT,
    FIRST,
    XI,
    LocalStep,
    U,
    constant,
    recursion,
)
from sfl_theory.evidence.certificate import Certificate, Fact, Vector, atom
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.kernel import KERNEL

START = "x_n^t,0 = x^t"
POWERS = "C^0 = 1, C^{i+1} = C C^i"
SUMS = "definition of the sum over i"

(B,) = positive("B")
i, j = free("i j")
EXCESS = CONSTANT - 1
A = {at: atom(f"A_{at}") for at in ("0", "i", "i+1", "j")}
POWER = {at: atom(f"C^{at}") for at in ("0", "i", "i+1", "j", "tau")}
TOTAL = {at: atom(f"sum of {at} A") for at in ("0", "i", "i+1", "tau")}


def _single(step: LocalStep, power: Any) -> Any:
    return constant(step) / EXCESS * (power - 1)


def _summed(step: LocalStep, power: Any, count: Any) -> Any:
    return constant(step) / EXCESS * ((power - 1) / EXCESS - count)


def _same(domain: Domain, **more: Any) -> dict[str, Any]:
    """Return a use at the same parameters, and at further ones."""
    return {**{str(v): v for v in domain.free}, **more}


FIRST_POWER = Fact("C^0 = 1", POWER["0"] - 1, POWERS, equality=True)
NEXT_POWER = Fact(
    "C^{i+1} = C C^i", CONSTANT * POWER["i"] - POWER["i+1"], POWERS, equality=True
)


def _next(claim: str, step: LocalStep) -> Fact:
    r"""Return (39) or (44) as proved, $u'=u-\eta g$ written for $x^{i+1}-x^t$."""
    rate, after = 1 / eta, "x^{i+1}-x^t"
    source = recursion(claim, step)
    (noise,), (before,) = XI.parts, U.parts
    parts: dict[str, Any] = {before: rate, after: -rate}
    for part in step.parts[1:]:
        parts |= {name: -c for name, c in part.parts.items()}
    use = Use(
        source,
        _same(source.domain),
        {f"<{before},{before}>": A["i"], f"<{after},{after}>": A["i+1"]},
        {noise: Vector(parts)},
    )
    grown = CONSTANT * A["i"] + constant(step) - A["i+1"]
    return Fact("the recursion", grown, "", derived=Instance(use))


def _assumed(claim: str, step: LocalStep) -> tuple[str, ...]:
    return (*recursion(claim, step).hypotheses, START, POWERS)


def single(claim: str, step: LocalStep) -> Certificate:
    r"""Return $A_j\le\frac B{C-1}(C^j-1)$ for every j."""
    domain = step.domain()
    assumed = _assumed(claim, step)
    start = Fact("A_0 = 0", A["0"], START, equality=True)
    scale = constant(step) / EXCESS
    base = Certificate(
        claim,
        A["0"],
        _single(step, POWER["0"]),
        assumed,
        domain,
        ((start, -1), (FIRST_POWER, scale)),
        statement="A_0 <= B (C^0 - 1)/(C - 1)",
    )
    before = Fact("A_i", _single(step, POWER["i"]) - A["i"], INDUCTION)
    after = Certificate(
        claim,
        A["i+1"],
        _single(step, POWER["i+1"]),
        (*assumed, INDUCTION),
        domain,
        ((_next(claim, step), 1), (before, CONSTANT), (NEXT_POWER, -scale)),
        statement="A_{i+1} <= B (C^{i+1} - 1)/(C - 1)",
    )
    chain = Induction(
        _single(step, POWER["i"]) - A["i"],
        i,
        j,
        Use(base, _same(domain)),
        (Use(after, _same(domain)),),
        {"A_i": ("A_0", "A_i+1", "A_j"), "C^i": ("C^0", "C^i+1", "C^j")},
    )
    right = _single(step, POWER["j"])
    bound = Fact("every j", right - A["j"], "", derived=chain)
    return Certificate(
        claim,
        A["j"],
        right,
        assumed,
        domain.extended(free=(j,)),
        ((bound, 1),),
        statement="A_j <= B (C^j - 1)/(C - 1)",
    )


def unrolled(claim: str, step: LocalStep) -> Certificate:
    r"""Return $\sum_{i<\tau}A_i\le\frac B{C-1}(\frac{C^\tau-1}{C-1}-\tau)$."""
    domain, scale = step.domain(), constant(step) / EXCESS**2
    assumed = (*_assumed(claim, step), SUMS)
    empty = Fact("empty sum", TOTAL["0"], SUMS, equality=True)
    base = Certificate(
        claim,
        TOTAL["0"],
        _summed(step, POWER["0"], 0),
        assumed,
        domain,
        ((empty, -1), (FIRST_POWER, scale)),
        statement="the empty sum",
    )
    before = Fact("sum so far", _summed(step, POWER["i"], i) - TOTAL["i"], INDUCTION)
    longer = Fact(
        "one summand more", TOTAL["i"] + A["i"] - TOTAL["i+1"], SUMS, equality=True
    )
    every = Use(
        single(claim, step), _same(domain, j=i), {"A_j": A["i"], "C^j": POWER["i"]}
    )
    summand = Fact(
        "A_i", _single(step, POWER["i"]) - A["i"], "", derived=Instance(every)
    )
    after = Certificate(
        claim,
        TOTAL["i+1"],
        _summed(step, POWER["i+1"], i + 1),
        (*assumed, INDUCTION),
        domain.extended(free=(i,)),
        ((before, 1), (summand, 1), (longer, 1), (NEXT_POWER, -scale)),
        statement="the sum with one summand more",
    )
    names = {at: str(total) for at, total in TOTAL.items()}
    chain = Induction(
        _summed(step, POWER["i"], i) - TOTAL["i"],
        i,
        tau,
        Use(base, _same(domain)),
        (Use(after, _same(domain, i=i)),),
        {
            names["i"]: (names["0"], names["i+1"], names["tau"]),
            "C^i": ("C^0", "C^i+1", "C^tau"),
        },
    )
    right = _summed(step, POWER["tau"], tau)
    bound = Fact("all summands", right - TOTAL["tau"], "", derived=chain)
    return Certificate(
        claim,
        TOTAL["tau"],
        right,
        assumed,
        domain,
        ((bound, 1),),
        statement="sum_{i<tau} A_i <= B/(C-1) ((C^tau - 1)/(C-1) - tau)",
    )


def _any_constant() -> Domain:
    k, v, G, e, g = free("k v G e g")
    b, y = positive("b y")
    values = {tau: 1 + k, eta: y, B: b}
    values |= {sigma2: v, G2: G, eps2: e, gradient2: g}
    return Domain("tau >= 1, B > 0", values, (k, v, G, e, g, b, y))


def exponential(power: Any, square: Any) -> tuple[Fact, Fact]:
    r"""$(1+\frac2\tau)^\tau\le e^2\le9$.

    Proof: $1+u\le e^u$ (tangent of a convex function at 0) with $u=2/\tau$, raised to
    the power $\tau$; $e=\sum_k1/k!\le1+\sum_{k\ge0}2^{-k}=3$.

    Args:
        power: the atom $(1+2/\tau)^\tau$.
        square: the atom $e^2$.

    Returns:
        The two facts.
    """
    return (
        Fact("(1 + 2/tau)^tau <= e^2", square - power, KERNEL),
        Fact("e^2 <= 9", 9 - square, KERNEL),
    )


def closed(claim: str, step: LocalStep) -> tuple[Certificate, ...]:
    r"""Return (41) and the end of (45), inequality by inequality.

    $\frac{B\tau}2(\frac{(C^\tau-1)\tau}2-\tau)\le\frac{\tau^2B}2(\frac{e^2-1}2-1)\le
    2\tau^2B=2\tau^2\cdot2p\tau\eta^2(\dots)$.

    Args:
        claim: identifier of the claim.
        step: which lemma's B.

    Returns:
        The certificates.
    """
    power, square = atom("(1+2/tau)^tau"), atom("e^2")
    first, second = exponential(power, square)
    domain = _any_constant()
    in_full = constant(step)
    unrolled_sum = B * tau / 2 * ((power - 1) * tau / 2 - tau)
    middle = tau**2 * B / 2 * ((square - 1) / 2 - 1)
    if step is FIRST:
        printed = 12 * tau**3 * eta**2 * (2 * sigma2 + G2)
    else:
        eta2 = 8 * tau * eta**2
        printed = 2 * tau**2 * (eta2 * sigma2 + eta2 * eps2 + eta2 * gradient2)
    return (
        Certificate(
            claim, unrolled_sum, middle, (KERNEL,), domain,
            ((first, B * tau**2 / 4),), statement="first inequality",
        ),
        Certificate(
            claim, middle, 2 * tau**2 * B, (KERNEL,), domain,
            ((second, B * tau**2 / 4),), statement="second inequality",
        ),
        Certificate(claim, 2 * tau**2 * in_full, printed, (), domain,
                    statement="with B written out"),
    )  # fmt: skip
