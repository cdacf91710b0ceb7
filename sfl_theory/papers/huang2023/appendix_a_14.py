r"""The induction of both propositions, (16) and (23), its ends, and (14)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import evidence as entered
from sfl_theory.evidence import Claim, Kind, Model, Part, Severity, broken, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number
from sfl_theory.papers.huang2023 import appendix_a_13, section_3_rates
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.appendix_a_13 import (
    GAP,
    NOISY,
    PROOF,
    STEP,
    after,
    at,
    one,
    point,
    spread_noise,
)
from sfl_theory.papers.huang2023.section_3_rates import NOISY_HALF, ONE_STEP, SERVER, r
from sfl_theory.papers.huang2023.setting import R2, F, N, S, T, away, eta, gamma, i, mu
from sfl_theory.proofs import derived, minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.notation import combine, steps, sum_over

v, level = w.positive("v"), w.nonnegative("B")


def delta(at: Number) -> Number:
    r"""Return :math:`\Delta^i`, any sequence of numbers >= 0."""
    return w.of_round("Delta", at, r"\Delta^{{t}}", Sort.NONNEGATIVE)


def recursion(noise: Number) -> Assumed:
    """Return (15), (22) as hypotheses on a sequence."""
    right = (1 - mu * s.printed_rate()) * delta(i) + s.printed_rate() ** 2 * noise
    return w.every_round(i, T, w.at_most(delta(i + 1), right))


def unrolled() -> Theorem:
    r"""Return :math:`\Delta^T\le v/(\gamma+T)`.

    :math:`y^i=(x-1)(x-2)\Delta^i` with :math:`x=\gamma+i` grows by at most
    :math:`4B/\mu^2` in a step.
    """
    x, most = (gamma + i).value, 4 * level.value / mu.value**2

    def grown(at: Number) -> Form:
        return (gamma + at - 1) * (gamma + at - 2) * w.form(delta(at))

    right = (1 - mu * s.printed_rate()) * delta(i) + s.printed_rate() ** 2 * level
    step = rules.assume(w.form(right - delta(i + 1)).value)
    growth = w.form(w.Written(most, "")) + grown(i) - grown(i + 1)
    one = combine((step, x * (x - 1)), target=growth.value)
    whole = combine(
        sum_over(one, steps(T.value), w.variable(i)),
        derived.telescope(w.variable(i), grown(i).value, T.value),
    )
    low, end = gamma.value, (gamma + T).value
    share = 1 / ((end - 1) * (end - 2))
    start = w.form(v - (gamma + 1) * delta(w.number(0))).value
    large = w.form(v).value - w.form(w.Written(most, "")).value
    return combine(
        (whole, share),
        (rules.assume(large), T.value * share),
        (rules.assume(start), (low - 1) * (low - 2) / (low + 1) * share),
        target=w.form(v / (gamma + T) - delta(T)).value,
    )


def induction(number: int, source: str, letter: str, premise: int) -> Claim:
    """Return (16) or (23): what follows if a recursion holds for all i.

    Args:
        number: of the equation.
        source: the proof in which it stands.
        letter: of the constant, B or H.
        premise: the number of the recursion.

    Returns:
        The claim.
    """
    noise = w.Written(level.value, letter)
    return Kind.EQUATION(
        f"huang2023/eq-{number}",
        f"{source}, ({number})",
        f"If ({premise}) holds for all i, the sequence falls like 1/(gamma + i).",
        proved(
            says(
                delta(T),
                v / (gamma + T),
                recursion(noise).called(f"({premise}) for the steps before"),
                w.at_most(4 * noise / mu**2, v),
                w.at_most((gamma + 1) * delta(w.number(0)), v),
            ),
            unrolled,
            r"With $x=\gamma+i$ the recursion is $x(x-1)"
            r"\Delta^{i+1}\le(x-1)(x-2)\Delta^i+\frac{4(x-1)}{\mu^2x}"
            rf"{letter}$; summed over i, and $v\ge4{letter}/\mu^2$, "
            r"$v\ge(\gamma+1)\Delta^0$. "
            r"(The printed induction is right as well.)",
            "T = i + 1 >= 1; v any number that is at least both terms of "
            "the maximum; at i = -1 the claim is Delta^0 <= v/gamma, which holds",
            model=lambda: federation(
                [parabola(1, (0, 0))],
                (0, 0),
                numbers={mu: 1, s.above_7: 0, T: 1, v: 16, level: 4},
                sequences={"Delta": 1},
            ),
        ),
        words="The induction itself is right; its hypothesis is not.",
    )


# The ends of both proofs, (17)-(18) and (24)-(25): the maximum v and the sum ---------

START = w.nonnegative("Delta0", r"\Delta^0")


@dataclass(frozen=True)
class End:
    """The end of the proof of a proposition.

    Attributes:
        proposition: its number.
        first: the number of its first equation.
        uses: what that rests on.
        side: whose block it is about.
        noise: the first term of the maximum.
        right: the right side of the proposition.
        assumed: its assumptions.
        model: breaks it.
        largest: v in that model.
        example: meets the definition of v.
    """

    proposition: int
    first: int
    uses: str
    side: Side
    noise: Number
    right: Form
    assumed: tuple[Assumed, ...]
    model: Model
    largest: Fraction
    example: Callable[[], ModelData]

    @property
    def start(self) -> Form:
        """The squared distance of the block at the start."""
        return away(r.x(0), self.side)

    @property
    def definition(self) -> tuple[Assumed, ...]:
        """That v is the maximum."""
        return (
            *s.maximum(v, self.noise, (gamma + 1) * START),
            *w.equals(START, self.start),
        )

    @property
    def total(self) -> Form:
        """The sum of the two terms over gamma + T."""
        end = gamma + T
        return w.form(self.noise / end) + (gamma + 1) * self.start / end

    def at_most_v(self) -> Part:
        """Return the first equation at T."""
        left, right = away(r.x(T), self.side), v / (gamma + T)
        words = f"The instance of prop-{self.proposition}."
        more = {w.variable(START): Fraction(0), w.variable(v): self.largest}
        numbers = {**self.model.numbers, **more}
        return Part(
            says(left, right, *self.assumed, *self.definition),
            replace(self.model, words=words, numbers=numbers),
            reading=ONE_STEP,
        )

    def below_total(self) -> Theorem:
        """Return that the maximum is at most the sum: (a + b - v) v >= 0."""
        other = (gamma + 1) * START
        product = w.form(-(v - self.noise) * (v - other)).value
        larger = combine(
            (rules.assume(product), 1 / v.value),
            target=w.form(self.noise + other - v).value,
        )
        start = rules.assume((self.start - w.form(START)).value)
        end = gamma + T
        return combine((larger, 1 / end.value), (start, ((gamma + 1) / end).value))

    def claims(self) -> tuple[Claim, Claim]:
        """Return the two equations."""
        name, source = "huang2023/eq-{}", f"Proof of Proposition {self.proposition}"
        repair = section_3_rates.joint_repair(
            self.side, f"as for prop-{self.proposition}"
        )
        scope = f"as prop-{self.proposition}"
        return (
            Kind.EQUATION(
                name.format(self.first),
                f"{source}, ({self.first})",
                f"The {self.side} block's distance at every step.",
                self.at_most_v(),
                severity=Severity.PROOF,
                scope=scope,
                cause=f"At most the right side of Proposition {self.proposition}, "
                "which fails.",
                uses=self.uses,
                repair=repair,
            ),
            Kind.EQUATION(
                name.format(self.first + 1),
                f"{source}, ({self.first + 1})",
                "The same at the last step, and the maximum at most the sum.",
                self.at_most_v(),
                proved(
                    says(v / (gamma + T), self.total, *self.definition, s.minimum()),
                    self.below_total,
                    r"$(a+b-v)v=ab-(v-a)(v-b)\ge0$.",
                    model=self.example,
                ),
                proved(
                    entered.equal(self.total, self.right, s.minimum()),
                    combine,
                    "One fraction.",
                ),
                severity=Severity.PROOF,
                scope=scope,
                cause=f"The same right side as in Proposition {self.proposition}.",
                uses=f"eq-{self.first}",
                repair=repair,
            ),
        )


# Proof of Proposition 1, (14)-(18): the server block ---------------------------------

SMALL = w.at_most(eta(), 1 / (4 * S))
SHRUNK = (1 - mu * eta()) * away(at, SERVER)
SQUARED = w.form(2 * eta() ** 2 * R2 / N**2)


def joint_recursion() -> Part:
    """Return the recursion of both blocks together."""
    return proved(
        says(
            away(after),
            (1 - mu * eta()) * away(at) + w.form(eta() ** 2 * R2),
            *s.assumptions(one),
        ),
        lambda: minibatch.iteration(Round(one.split)),
        r"$E\|G\|^2\le R^2$ and $E\langle G,w^i-w^*\rangle\ge F(w^i)-F^*\ge"
        r"\frac\mu2\|w^i-w^*\|^2$.",
        STEP,
    )


EQ_14 = Kind.EQUATION(
    "huang2023/eq-14",
    f"{PROOF}, (14)",
    "One step of the server block.",
    broken(
        says(
            away(after, SERVER),
            SHRUNK - eta() * GAP + SQUARED,
            *s.assumptions(one),
            SMALL,
        ),
        lambda: spread_noise(5),
        f"{NOISY}, N = 5, one step from w*: "
        r"$\frac{\eta^2}5>\frac{4\eta^2}{25}$.",
        f"{STEP}; L is S",
    ),
    severity=Severity.PROOF,
    scope="for five equal clients with noise",
    cause="One step from w*: the variance is of order 1/N, not 1/N^2.",
    uses="eq-12 eq-13",
    repair=entered.repaired(
        "both blocks together, R^2 for 2R^2/N^2, no gap", joint_recursion()
    ),
)
EQ_15_SIGN = Kind.EQUATION(
    "huang2023/eq-15/sign",
    f"{PROOF}, (15) 2nd inequality",
    "The server block's optimum is lowest for every client block.",
    broken(
        says(
            -(eta() * (F(point) - F(appendix_a_13.swapped))),
            0,
            s.assumption_1(),
            s.assumption_2(),
            s.minimum(),
            SMALL,
        ),
        lambda: federation(
            [appendix_a_13.COUPLED],
            (0, 0),
            numbers={mu: "1/2", S: "3/2", i: 0},
            rates={"eta": "1/6"},
            points={point: [(1, "-1/4")]},
            best={F: (0, 0)},
        ),
        r"$F=\frac12(w_c^2+w_s^2+w_cw_s)$, w = (1, -1/4): $F(w)<F(w_c,0)$.",
    ),
    severity=Severity.PROOF,
    scope="for blocks that interact, away from w_c*; the last line of (14) uses it too",
    cause="w_s* minimises F(w_c*, .), not F(w_c, .).",
    repair=entered.repaired(
        "w_c* for w_c",
        proved(
            says(-(eta() * (F(s.mixed(s.best, point)) - F(s.best))), 0, s.minimum()),
            lambda: combine((
                derived.lowest(F.value, s.mixed(s.best, point).value),
                eta().value,
            )),
            r"$w^*$ minimises F.",
        ),
    ),
)
EQ_15 = Kind.EQUATION(
    "huang2023/eq-15",
    f"{PROOF}, (15); '(26)' there means (14)",
    "The recursion of the server block.",
    broken(
        says(away(after, SERVER), SHRUNK + SQUARED, *s.assumptions(one), SMALL),
        lambda: spread_noise(5),
        f"{NOISY}, N = 5, one step from w*: "
        r"$\frac{\eta^2}5>\frac{4\eta^2}{25}$.",
        STEP,
    ),
    severity=Severity.PROOF,
    scope="for five equal clients with noise",
    cause="One step from w*: the variance is of order 1/N, not 1/N^2.",
    uses="eq-14 eq-15/sign",
    repair=entered.repaired(
        "both blocks together, R^2 for 2R^2/N^2", joint_recursion()
    ),
)
END = End(
    1,
    17,
    "eq-15 eq-16",
    SERVER,
    8 * R2 / (mu**2 * N**2),
    section_3_rates.server_bound(r, T),
    (*s.assumptions(r), *s.gamma_printed()),
    NOISY_HALF,
    Fraction(1, 9),
    lambda: federation(
        [parabola(1, (0, 0))],
        (0, 1),
        numbers={mu: 1, s.above_7: 0, R2: 1, T: 1, START: 1, v: 8},
        best={F: (0, 0)},
    ),
)

CLAIMS = (
    EQ_14,
    EQ_15_SIGN,
    EQ_15,
    induction(16, PROOF, "B", 15),
    *END.claims(),
)
