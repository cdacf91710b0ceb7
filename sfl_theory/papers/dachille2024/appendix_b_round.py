"""Appendix B: what a round does to a block and to the model, (18)-(28).

(24) and (25) are (20) and (23) for the client's block, by the same builders.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Severity, broken, repaired, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form
from sfl_theory.papers.dachille2024 import appendix_b
from sfl_theory.papers.dachille2024 import setting as s
from sfl_theory.papers.dachille2024.appendix_b import drift_bound, own, steps
from sfl_theory.papers.dachille2024.section_4 import OWN, average
from sfl_theory.papers.dachille2024.setting import F, K, S, eps2, eta, f, i, tau, theta
from sfl_theory.proofs import equal_steps
from sfl_theory.proofs.export import ModelData

BLOCK = "the other block moves and changes this block's gradient"
u2 = 8 * tau**3 * eta() ** 2 * S**2


def coupled(
    along: int, across: int, made: int, side: Side, **of_each: list[int]
) -> ModelData:
    """Return two clients with ``(c^2 + s^2 + c s)/2``, S = 3/2, without noise.

    Args:
        along: the gradient of the block that is asked for, at the start.
        across: that of the other block.
        made: tau.
        side: the block.
        of_each: other parameters of the clients.

    Returns:
        The model, in round 0; eta is 1/72.
    """
    other = (across - Fraction(along, 2)) / Fraction(3, 4)
    this = along - other / 2
    start = (this, other) if side is Side.CLIENT else (other, this)
    return federation(
        [quadratic([[1, "1/2"], ["1/2", 1]], [0, 0])] * 2,
        start,
        numbers={S: Fraction(3, 2), eps2: 0, s.t: 0, tau: made},
        families={"sigma2": [0, 0], **of_each},
        rates={"eta": Fraction(1, 72)},
    )


def of_block(
    name: str,
    title: str,
    side: Side,
    printed: tuple[Form, Form],
    start: tuple[int, int, int],
    true: tuple[Form, Form],
    theorem: Callable[[Side], Theorem],
    conditions: tuple[Assumed, ...],
    words: str,
    change: str,
    uses: str,
    cause: str = BLOCK,
    otherwise: str = "true where the blocks do not interact",
) -> Claim:
    """Return an equation of one block: refuted, and with whole vectors proved."""
    one_by_one = name == "19"
    each, reading = (s.of_clients, s.CLIENT_BY_CLIENT) if one_by_one else (says, "")
    of_each = {"c": [1, 1]} if one_by_one else {}
    along, across, made = start
    return Kind.EQUATION(
        f"dachille2024/eq-{name}",
        f"App. B, ({name})",
        title,
        broken(
            each(*printed, *s.assumptions(), *s.rates()),
            partial(coupled, along, across, made, side, **of_each),
            f"Gradient {along} of this block, {across} of the other; coupled by c s/2.",
            reading,
        ),
        severity=Severity.PROOF,
        scope=f"refuted under the rates of Proposition 1; {otherwise}",
        cause=cause,
        uses=uses,
        repair=repaired(
            change,
            s.proved(
                each(*true, *s.assumptions(), *conditions),
                partial(theorem, side),
                words,
                reading,
            ),
        ),
    )


def turn(side: Side) -> Form:
    """Return how much the move of a block agrees with the gradient of f."""
    return w.inner(f.gradient(theta, side), w.part(side, s.following - theta))


def size(side: Side) -> Form:
    """Return ``S/2`` times the squared move of a block."""
    return S / 2 * w.norm2(w.part(side, s.following - theta))


def slope(side: Side | None = None) -> Form:
    """Return the squared gradient of f, or of a block."""
    return w.norm2(f.gradient(theta, side))


def eq_18(side: Side) -> Claim:
    """Return (18)."""

    def right(block: Side | None) -> Form:
        away = s.local(i) - theta
        moved = away if block is None else w.part(block, away)
        drift = own(steps(w.norm2(moved)))
        return -(eta() * tau / 2 * slope(side)) + K * eta() * S**2 / 2 * drift

    return of_block(
        "18",
        "How a block's move agrees with its gradient, by its drift.",
        side,
        (turn(side), right(side)),
        (1, 200, 2),
        (turn(side), right(None)),
        equal_steps.eq_18,
        (),
        r"$-\langle g,M\rangle\le\frac{1}{2\tau}\|\tau g-M\|^2-\frac\tau2\|g\|^2$, "
        "the noise is centred; Jensen, Lipschitz continuity of the whole gradient.",
        "the drift of the whole vector",
        "",
        f"{BLOCK}: Lipschitz continuity gives the whole displacement, not the block's; "
        "a line before prints f for its gradient",
    )


def eq_19(side: Side) -> Claim:
    """Return (19)."""
    left = steps(w.norm2(w.part(side, s.local(i) - theta)))
    return of_block(
        "19",
        "Lemma 1 for a block.",
        side,
        (left, drift_bound(slope(side))),
        (0, 100, 3),
        (left, drift_bound(slope())),
        equal_steps.eq_19,
        (appendix_b.LEMMA_1_RATE,),
        "A block is not longer than its vector; Lemma 1.",
        "the whole gradient of f",
        "lemma-1",
        "Lemma 1 is on the whole vector: a block moves even if its gradient is 0 at "
        "first, for the other block changes it",
    )


def eq_20(side: Side, name: str) -> Claim:
    """Return (20) and (24)."""
    cubic = 8 * K * eta() ** 3 * tau**3 * S**2
    noise = (
        8
        * K
        * eta()
        * S**2
        * tau**3
        * w.over_clients(s.k, s.alpha**2 * eta() ** 2 * (s.sigma2 + eps2))
    )
    half = eta() * tau / 2
    return of_block(
        name,
        "How a block's move agrees with its gradient.",
        side,
        (turn(side), (-half + cubic * s.squares()) * slope(side) + noise),
        (1, 200, 2),
        (turn(side), -(half * slope(side)) + cubic * s.squares() * slope() + noise),
        equal_steps.eq_20,
        (appendix_b.LEMMA_1_RATE,),
        "(18) with whole displacements, and Lemma 1.",
        "the whole gradient of f in the second term",
        "eq-18 eq-19",
    )


def eq_21(side: Side) -> Claim:
    """Return (21)."""
    change = w.norm2(s.stochastic(i, side) - s.stochastic(0, side))
    scale = S * K * eta() ** 2 * tau
    printed = own(steps(change + w.norm2(F.gradient(theta, side)) + s.sigma2))
    true = own(steps(change + w.norm2(F.gradient(s.local(0), side)) + s.sigma2))
    return of_block(
        "21",
        "How far a block moves, by the change of its gradients.",
        side,
        (size(side), scale / 2 * printed),
        (1, -10, 2),
        (size(side), scale * true),
        equal_steps.eq_21,
        (),
        "Jensen over clients and steps, Young; the first noise is centred.",
        r"the factor 2 (and $\theta_k^{t,0}$, which is $\theta^t$)",
        "",
        "||a + b||^2 <= ||a||^2 + ||b||^2 without the factor 2; its first '=' should "
        "be '<=' as well",
        "false already for one block, if it is concave: for F = -x^2/2 and two steps "
        "(2 + eta)^2 against 4 + 2 eta^2",
    )


def eq_23(side: Side, name: str) -> Claim:
    """Return (23) and (25)."""
    scale = S * K * eta() ** 2 * tau / 2

    def right(factor: int, block: Side | None) -> Form:
        inside = factor * slope(block) + factor * eps2 + s.sigma2
        return scale * own((tau + u2) * inside)

    return of_block(
        name,
        "How far a block moves.",
        side,
        (size(side), right(2, side)),
        (0, 100, 2),
        (size(side), right(4, None)),
        equal_steps.eq_23,
        (appendix_b.LEMMA_2_RATE,),
        "Jensen over clients and steps; the noise is centred; local gradients by "
        "those at theta, drift. Lemma 2 is not used.",
        "4 for 2 and the whole gradient of f",
        "eq-21 eq-22",
    )


# Both blocks -------------------------------------------------------------------------

noise = 2 * K * S * eta() ** 2 * tau**2 * own(w.form(s.sigma2 + eps2))
EQ_26 = Kind.EQUATION(
    "dachille2024/eq-26",
    "App. B, (26)",
    "What one round does to f.",
    s.proved(
        says(
            f(s.following) - f(theta),
            -(eta() * tau / 4 * slope()) + noise,
            *s.assumptions(),
            *s.rates(),
        ),
        equal_steps.one_round,
        OWN,
        "end to end, its last line",
    ),
    scope="by a proof of its own, although (20) and (23)-(25), from which it is taken, "
    "are false",
    uses="eq-20 eq-23 eq-24 eq-25 cond-eta",
)
doubled = 8 * K * S * eta() ** 2 * (2 * tau**2 / tau) * own(w.form(s.sigma2 + eps2))
EQ_27 = Kind.EQUATION(
    "dachille2024/eq-27",
    "App. B, (27)",
    "The gradient of f in one round.",
    s.proved(
        says(
            eta() * slope(),
            4 / tau * (f(theta) - f(s.following)) + doubled,
            *s.assumptions(),
            *s.rates(),
        ),
        equal_steps.eq_27,
        r"(26) times $4/\tau$.",
        r"$\theta_s^{t+1}$ there means $\theta^{t+1}$",
    ),
    scope="with the last term of (26) doubled, which Proposition 1 keeps",
    uses="eq-26",
)

AT_BLOCK = r"$\theta_s^t$ is printed for $\theta^t$ in the gradient of f."
LEFT_OVER = (
    r"$N$, $n$, $a_n$, $\sigma_n$, $\tilde\tau$ of han2024 are printed for $K$, $k$, "
    r"$\alpha_k$, $\sigma_k$, $\tau$."
)

CLAIMS = (
    eq_18(Side.SERVER),
    replace(eq_19(Side.SERVER), words=AT_BLOCK),
    replace(eq_20(Side.SERVER, "20"), words=f"{LEFT_OVER} {AT_BLOCK}"),
    eq_21(Side.SERVER),
    appendix_b.accumulation(
        "eq-22", "App. B, (22)", Kind.EQUATION, "lemma-2", Side.SERVER
    ),
    eq_23(Side.SERVER, "23"),
    eq_20(Side.CLIENT, "24"),
    eq_23(Side.CLIENT, "25"),
    EQ_26,
    EQ_27,
    average("eq-28", "App. B, (28)", Kind.EQUATION, "eq-27"),
)
