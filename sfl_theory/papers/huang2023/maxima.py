r"""The ends of both proofs, (17)-(18) and (24)-(25): the maximum v and the sum."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Severity, equal, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.huang2023.recursions import v
from sfl_theory.papers.huang2023.section_3_rates import ONE_STEP, joint_repair, r
from sfl_theory.papers.huang2023.setting import T, away, gamma, maximum
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Assumed, Form, Number

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
    model: Callable[[], ModelData]
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
            *maximum(v, self.noise, (gamma + 1) * START),
            *w.equals(START, self.start),
        )

    @property
    def total(self) -> Form:
        """The sum of the two terms over gamma + T."""
        end = gamma + T
        return w.form(self.noise / end) + (gamma + 1) * self.start / end

    def broken(self) -> ModelData:
        """Return the model of the proposition, with v."""
        data = self.model()
        more = {w.variable(START): Fraction(0), w.variable(v): self.largest}
        return replace(data, numbers={**data.numbers, **more})

    def at_most_v(self) -> Part:
        """Return the first equation at T."""
        left, right = away(r.x(T), self.side), v / (gamma + T)
        words = f"The instance of prop-{self.proposition}."
        return Part(
            says(left, right, *self.assumed, *self.definition),
            Model(self.broken, words),
            reading=ONE_STEP,
        )

    def below_total(self) -> Theorem:
        """Return that the maximum is at most the sum: (a + b - v) v >= 0."""
        other = (gamma + 1) * START
        product = w.form(-(v - self.noise) * (v - other)).value
        larger = combine(
            [(rules.assume(product), 1 / v.value)],
            target=w.form(self.noise + other - v).value,
        )
        start = rules.assume((self.start - w.form(START)).value)
        end = gamma + T
        return combine([(larger, 1 / end.value), (start, ((gamma + 1) / end).value)])

    def claims(self) -> tuple[Claim, Claim]:
        """Return the two equations."""
        name, source = "huang2023/eq-{}", f"Proof of Proposition {self.proposition}"
        repair = joint_repair(self.side, f"as for prop-{self.proposition}")
        scope = f"as prop-{self.proposition}"
        return (
            Claim(
                name.format(self.first),
                f"{source}, ({self.first})",
                Kind.EQUATION,
                f"The {self.side} block's distance at every step.",
                (self.at_most_v(),),
                severity=Severity.PROOF,
                scope=scope,
                cause=f"At most the right side of Proposition {self.proposition}, "
                "which fails.",
                uses=self.uses,
                repair=repair,
            ),
            Claim(
                name.format(self.first + 1),
                f"{source}, ({self.first + 1})",
                Kind.EQUATION,
                "The same at the last step, and the maximum at most the sum.",
                (
                    self.at_most_v(),
                    Part(
                        says(v / (gamma + T), self.total, *self.definition),
                        Proof(
                            self.below_total,
                            r"$(a+b-v)v=ab-(v-a)(v-b)\ge0$.",
                            self.example,
                        ),
                    ),
                    Part(
                        equal(self.total, self.right), Proof(combine, "One fraction.")
                    ),
                ),
                severity=Severity.PROOF,
                scope=scope,
                cause=f"The same right side as in Proposition {self.proposition}.",
                uses=f"eq-{self.first}",
                repair=repair,
            ),
        )
