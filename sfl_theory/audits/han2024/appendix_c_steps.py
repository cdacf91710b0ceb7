r"""Appendix C, inside the proofs: Prop. 3.5, and one local step in Lemmas C.5 and C.6.

(38) and (43) split one local step $x^i=x^{i-1}-\eta(v_1+\dots+v_p)$ into parts: p = 3
(noise, move of the gradient, gradient of $F_n$) and p = 4 (the last one in two:
divergence, gradient of f). Both end in $A_i\le(1+2/\tau)A_{i-1}+B$ under
$2pS^2\tau^2\eta^2\le1$. All vectors are random; inner products are expectations.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sfl_theory.audits.han2024.appendix_c import (
    BOUNDED,
    G2,
    HETEROGENEOUS,
    LIPSCHITZ,
    NOISE,
    SMOOTH,
    S,
    eps2,
    eta,
    gradient2,
    sigma2,
    tau,
)
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.kernel import KERNEL, smooth_upper, value, young
from sfl_theory.evidence.local_sgd import unbiased

(S2,) = positive("S2")
NAMED = "gradient2 stands for ||gradf(x^t)||^2"
U, XI, DELTA, GRADIENT, DIVERGENCE, MEAN, XI_0 = vectors(
    "x^{i-1}-x^t xi^{i-1} gradF(x^{i-1})-gradF(x^t) gradF(x^t) gradF(x^t)-gradf(x^t) "
    "gradf(x^t) xi^0"
)
CONSTANT = 1 + 2 / tau


@dataclass(frozen=True)
class LocalStep:
    """What differs between (38)-(39) and (43)-(44).

    Attributes:
        parts: the vectors that add up to the stochastic gradient.
        split: factor of the parts' squares after the first inequality.
    """

    parts: tuple[Vector, ...]
    split: Any

    @property
    def factor(self) -> Any:
        r"""The factor of the parts' squares in the recursion, $2p\tau$."""
        return 2 * len(self.parts) * tau

    @property
    def move(self) -> Vector:
        """The stochastic gradient."""
        return sum(self.parts[1:], self.parts[0])

    def domain(self) -> Domain:
        r"""Return the domain with $2pS^2\tau^2\eta^2\le1$; S2 stands for $S^2$."""
        k, h, v, G, e, g = free("k h v G e g")
        (y,) = positive("y")
        largest = 1 / (2 * len(self.parts) * y**2 * (1 + k) ** 2)
        values = {tau: 1 + k, eta: y, S2: largest / (1 + h)}
        values |= {sigma2: v, G2: G, eps2: e, gradient2: g}
        words = f"tau >= 1, {2 * len(self.parts)} S^2 tau^2 eta^2 <= 1"
        return Domain(words, values, (k, h, v, G, e, g, y))


FIRST = LocalStep((XI, DELTA, GRADIENT), 3 * (1 + tau))
SECOND = LocalStep((XI, DELTA, DIVERGENCE, MEAN), 8 * tau)


def global_smoothness(claim: str) -> Certificate:
    r"""Return (33): smoothness of f from x* to $x^T$, where the gradient vanishes."""
    step, slope = vectors("x^T-x* gradf(x*)")
    (s,) = positive("s")
    upper = smooth_upper("f", "x*", "x^T", step, slope, S, SMOOTH)
    optimal = Fact("gradf(x*) = 0", -inner(slope, step), "x* minimises f", False, True)
    return Certificate(
        claim,
        value("f", "x^T") - value("f", "x*"),
        S / 2 * norm2(step),
        (SMOOTH, "x* minimises f"),
        Domain("S > 0", {S: s}, (s,)),
        uses=((upper, 1), (optimal, 1)),
        statement="E f(x^T) - f(x*) <= S/2 E||x^T - x*||^2",
    )


def blocks_add_up(claim: str) -> tuple[Certificate, Certificate]:
    """Return (34) in both directions: a norm is the sum over orthogonal blocks."""
    client, server = vectors("x_c^T-x_c* x_s^T-x_s*")
    blocks = Fact("blocks", -inner(client, server), "definition of x = [x_c; x_s]")
    blocks = Fact(blocks.name, blocks.expr, blocks.hypothesis, equality=True)
    whole, parts = norm2(client + server), norm2(client) + norm2(server)
    empty = Domain("no parameters", {}, ())
    words = "E||x^T - x*||^2 = E||x_c^T - x_c*||^2 + E||x_s^T - x_s*||^2"
    known = (blocks.hypothesis,)
    return (
        Certificate(claim, whole, parts, known, empty, ((blocks, 2),), (), words),
        Certificate(claim, parts, whole, known, empty, ((blocks, -2),), (), words),
    )


def _bounded_by(step: LocalStep, constant: Any, factor: Any) -> Any:
    r"""Return $c\,E\|u\|^2+m\eta^2(\dots)$ with the assumptions put in."""
    rest = norm2(GRADIENT) if step is FIRST else eps2 + norm2(MEAN)
    return constant * norm2(U) + factor * eta**2 * (sigma2 + rest)


def _spread(step: LocalStep, factor: Any) -> tuple[tuple[Vector, Any], ...]:
    """Return the squares by which m sum ||v||^2 exceeds (1 + tau) ||sum v||^2."""
    parts, p = step.parts, len(step.parts)
    pairs = [
        (u - v, (1 + tau) * eta**2) for i, u in enumerate(parts) for v in parts[:i]
    ]
    spare = (factor - p * (1 + tau)) * eta**2
    return (*pairs, *((part, spare) for part in parts))


def _assumed(step: LocalStep, m: Any) -> tuple[tuple[Fact, Any], ...]:
    """Return the assumptions on the parts, each with the multiplier m."""
    facts = [
        Fact("variance of xi^{i-1}", sigma2 - norm2(XI), NOISE),
        Fact("Lipschitz", S2 * norm2(U) - norm2(DELTA), LIPSCHITZ),
    ]
    if step is SECOND:
        facts.append(Fact("(29)", eps2 - norm2(DIVERGENCE), HETEROGENEOUS))
    return tuple((fact, m) for fact in facts)


def _hypotheses(uses: tuple[tuple[Fact, Any], ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(fact.hypothesis for fact, _ in uses))


def split(claim: str, step: LocalStep) -> Certificate:
    """Return the first inequality: Young, then p parts at the cost of a factor p."""
    squares = sum(norm2(part) for part in step.parts)
    return Certificate(
        claim,
        norm2(U - step.move * eta),
        (1 + 1 / tau) * norm2(U) + step.split * eta**2 * squares,
        (KERNEL,),
        step.domain(),
        uses=((young(U, step.move * -eta, 1 / tau), 1),),
        squares=_spread(step, step.split),
        statement=f"first inequality, factor {step.split}",
    )


def assumptions_put_in(claim: str, step: LocalStep) -> Certificate:
    """Return the second inequality: variance, Lipschitz gradients, divergence."""
    m = step.split * eta**2
    uses = _assumed(step, m)
    left = (1 + 1 / tau) * norm2(U) + m * sum(norm2(part) for part in step.parts)
    return Certificate(
        claim,
        left,
        _bounded_by(step, 1 + 1 / tau + m * S2, step.split),
        _hypotheses(uses),
        step.domain(),
        uses=uses,
        statement="second inequality",
    )


def collected(claim: str) -> Certificate:
    r"""Return the third inequality of (38), $3(1+\tau)\le6\tau$."""
    gap = (FIRST.factor - FIRST.split) * eta**2
    left, right = (
        _bounded_by(FIRST, 1 + 1 / tau + m * eta**2 * S2, m)
        for m in (FIRST.split, FIRST.factor)
    )
    # The variance has the larger factor too; what is left over is a constant.
    return Certificate(
        claim,
        left,
        right,
        (),
        FIRST.domain(),
        squares=((U, gap * S2), (GRADIENT, gap)),
        statement="third inequality",
    )


def condition_used(claim: str, step: LocalStep) -> Certificate:
    r"""Return the inequality that needs $2pS^2\tau^2\eta^2\le1$."""
    grown = 1 + 1 / tau + step.factor * eta**2 * S2
    return Certificate(
        claim,
        _bounded_by(step, grown, step.factor),
        _bounded_by(step, CONSTANT, step.factor),
        (),
        step.domain(),
        squares=((U, CONSTANT - grown),),
        statement="the learning rate's condition turns the factor into 1 + 2/tau",
    )


def _moments(m: Any) -> tuple[tuple[Fact, Any], ...]:
    """Return unbiasedness, variance and second moment of the gradient at x^t."""
    return (
        (unbiased(GRADIENT, XI_0, NOISE), 2 * m),
        (Fact("variance of xi^0", sigma2 - norm2(XI_0), NOISE), m),
        (Fact("(28)", G2 - norm2(GRADIENT + XI_0), BOUNDED), m),
    )


def second_moments(claim: str) -> tuple[Certificate, Certificate]:
    r"""Return the last two of (38): $\|\nabla F\|^2$ by variance and second moment."""
    m = 6 * tau * eta**2
    bias, *bounds = _moments(m)
    split_up = m * (norm2(XI_0) + norm2(GRADIENT + XI_0))
    first = Certificate(
        claim,
        m * norm2(GRADIENT),
        split_up,
        (NOISE,),
        FIRST.domain(),
        uses=(bias,),
        squares=((XI_0, 2 * m),),
        statement="||gradF||^2 <= E||gradF - g||^2 + E||g||^2",
    )
    second = Certificate(
        claim,
        m * sigma2 + split_up,
        m * (2 * sigma2 + G2),
        (NOISE, BOUNDED),
        FIRST.domain(),
        uses=tuple(bounds),
        statement="<= sigma^2 + G^2",
    )
    return first, second


def constant(step: LocalStep) -> Any:
    """Return B of (39) or (44)."""
    inside = 2 * sigma2 + G2 if step is FIRST else sigma2 + eps2 + gradient2
    return step.factor * eta**2 * inside


def recursion(claim: str, step: LocalStep) -> Certificate:
    r"""Return (39) or (44) from end to end: $A_i\le(1+2/\tau)A_{i-1}+B$."""
    m = step.factor * eta**2
    uses = ((young(U, step.move * -eta, 1 / tau), 1), *_assumed(step, m))
    squares = (*_spread(step, step.factor), (U, 1 / tau - m * S2))
    if step is FIRST:
        uses = (*uses, *_moments(m))
        squares = (*squares, (XI_0, 2 * m))
    else:
        named = Fact("gradient2 = ||gradf(x^t)||^2", gradient2 - norm2(MEAN),
                     NAMED, equality=True)  # fmt: skip
        uses = (*uses, (named, m))
    return Certificate(
        claim,
        norm2(U - step.move * eta),
        CONSTANT * norm2(U) + constant(step),
        _hypotheses(uses),
        step.domain(),
        uses=uses,
        squares=squares,
        statement="A_i <= (1 + 2/tau) A_{i-1} + B",
    )
