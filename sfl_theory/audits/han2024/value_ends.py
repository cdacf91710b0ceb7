r"""Convex cases: the ends of the inductions over the function value.

$e_T\le w/(\gamma+T)$ on the domain of a bound that it is sharper than.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.convex import G2, S, delta0, gamma, mu
from sfl_theory.audits.han2024.value_induction import (
    Recursion,
    by_distance,
    by_gradient,
    early,
    late,
    shared,
    step,
)
from sfl_theory.audits.han2024.value_recursion import NOW
from sfl_theory.evidence.certificate import Certificate, Fact
from sfl_theory.evidence.derivation import INDUCTION, Cases, Use
from sfl_theory.evidence.domain import free
from sfl_theory.evidence.induction import Induction


@dataclass(frozen=True)
class End:
    """Where an induction ends.

    Attributes:
        original: the certificate of the statement, its left side and domain.
        top: T in its parameters.
        at: parameters of the recursion that its domain does not name.
    """

    original: Certificate
    top: Any
    at: Mapping[Any, Any]

    def _written(self, expr: Any) -> Any:
        return (sp.Integer(0) + expr).xreplace(dict(self.at))

    def _names(self, round_: Recursion) -> dict[str, Any]:
        known = round_.names.items()
        return {**shared(), **{k: self._written(v) for k, v in known}}

    def by_steps(
        self, claim: str, round_: Recursion, bound: Any, from_distance: bool
    ) -> Certificate:
        r"""Return $e_T\le w/(\gamma+T)$ by one kind of step.

        Args:
            claim: identifier of the claim.
            round_: the recursion.
            bound: w in the user's parameters.
            from_distance: the start, else from the gradient there.

        Returns:
            The certificate.
        """
        (index,) = free("t'")
        least = self._written(round_.least)
        if from_distance:
            start = Use(by_distance(claim), {
                **shared(), "d": delta0, "u": bound - gamma * S / 2 * delta0,
            })  # fmt: skip
        else:
            start = self._by_gradient(claim, round_, bound)
        then = Use(
            step(claim, round_),
            {**self._names(round_), "k": index, "u": bound - least},
        )
        return self._certificate(claim, bound, start, then)

    def in_two_phases(self, claim: str, round_: Recursion) -> Certificate:
        r"""Return $e_T\le w/(\gamma+T)$ by both phases, w at the recursion's level.

        Args:
            claim: identifier of the claim.
            round_: the recursion.

        Returns:
            The certificate.
        """
        (index,) = free("t'")
        height = self._written(round_.level)
        bound = height * S * G2 / mu**2
        left_over = 2 * height * S / mu - gamma - index - 1
        first = Use(early(claim, round_), {**shared(), "k": index, "j": height})
        then = Use(late(claim, round_), {**self._names(round_), "k": -left_over})
        start = self._by_gradient(claim, round_, bound)
        return self._certificate(claim, bound, start, Cases(left_over, first, then))

    def _by_gradient(self, claim: str, round_: Recursion, bound: Any) -> Use:
        extra = bound - gamma * G2 / (2 * mu)
        return Use(by_gradient(claim, round_), {**shared(), "u": extra})

    def _certificate(
        self, claim: str, bound: Any, start: Use, then: Use | Cases
    ) -> Certificate:
        (index,) = free("t'")
        left = self.original.left
        chain = Induction(
            claim=bound / (gamma + index) - NOW,
            index=index,
            end=self.top,
            base=start,
            steps=(then,),
            moves={"e_t": ("e_0", "e_t+1", str(left))},
        )
        right = bound / (gamma + self.top)
        sources = [start.source]
        for part in (then.above, then.below) if isinstance(then, Cases) else (then,):
            sources += [use.source for use in (part,) if isinstance(use, Use)]
        assumed = dict.fromkeys(h for one in sources for h in one.hypotheses)
        assumed.pop(INDUCTION)
        return Certificate(
            claim,
            left,
            right,
            tuple(assumed),
            self.original.domain,
            uses=((Fact("e_T <= w/(gamma+T)", right - left, "", derived=chain), 1),),
            statement=f"sharper: E f(x^T) - f* <= {right}",
        )
