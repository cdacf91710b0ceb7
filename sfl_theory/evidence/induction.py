"""An induction whose base and steps are certificates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Link,
    Rejected,
    coefficients,
)
from sfl_theory.evidence.derivation import (
    INDUCTION,
    Cases,
    Conclusion,
    Use,
    accept,
    instance,
    leaves,
    same,
    shown,
    translated,
)
from sfl_theory.evidence.domain import Domain


@dataclass(frozen=True)
class Induction(Link):
    r"""$P(0)$, and $P(t)\Rightarrow P(t+1)$ for all $0\le t<T$, give $P(T)$.

    $P(t)$ is an inequality $\sum_jc_j(t)A_j^t+c_0(t)\ge0$ in the objects of round t.
    The certificate of a step proves $P(t+1)$ from facts of which those under the
    ``INDUCTION`` hypothesis are $P(t)$, symbol by symbol, and from nothing else that
    its user does not assume. Proof: by induction over t; at $t$ the step for that index
    is used at the parameters of the user and at t.

    Attributes:
        claim: P(t), what is non-negative, in ``index`` and the user's parameters.
        index: t, a non-negative symbol that is no parameter of the user.
        end: T in the user's parameters, a natural number by what it stands for.
        base: proves P(0).
        steps: the j-th proves P(j + 1) from P(j), the last one all that follow, too.
        moves: name of an atom at t -> its names at 0, at t + 1 and at T; other atoms
            belong to no index.
        chosen: further non-negative symbols, values of which exist at every index ...
        given: ... such that these expressions are non-negative.
        words: what they are.
    """

    claim: Any
    index: Any
    end: Any
    base: Use
    steps: tuple[Use | Cases, ...]
    moves: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    chosen: tuple[Any, ...] = ()
    given: tuple[Any, ...] = ()
    words: str = ""

    def verify(
        self, fact: Fact, user: Certificate, trail: tuple[Certificate, ...]
    ) -> tuple[str, tuple[Certificate, ...]]:
        """Replay base and steps and compare them with P.

        Args:
            fact: what must follow.
            user: the certificate that uses it.
            trail: the certificates being replayed.

        Returns:
            The rule in words, and the earlier certificates.

        Raises:
            Rejected: if the fact does not follow.
        """
        domain = user.domain
        names = [name for entry in self.moves.items() for name in (entry[0], *entry[1])]
        names += [key for key in coefficients(self.claim) if key not in self.moves]
        if len(names) != len(set(names)):
            raise Rejected("an atom needs a name of its own at t, 0, t + 1 and T each")
        if not self.steps:
            raise Rejected(f"'{fact.name}': an induction needs a step")
        if not domain.nonnegative(self.end):
            raise Rejected(f"the last index {self.end} is not shown non-negative")
        last = self._at(self.end, 2)
        same(coefficients(fact.expr), last, domain, fact.name)
        accept(self.base.source, user.hypotheses, trail)
        zero = domain.extended(values={self.index: sp.Integer(0)})
        same(self._at(0, 0), instance(self.base, zero), zero, f"{fact.name}, base")
        sources = [self.base.source]
        for k, step in enumerate(self.steps):
            for use, part in leaves(step, self._indices(k, domain)):
                accept(use.source, user.hypotheses, trail, but=INDUCTION)
                self._step(use, part, fact.name)
                sources.append(use.source)
        words = f"induction over {self.index} up to {self.end}{shown(self.base)}"
        words += "".join(f"; step{shown(u)}" for u in self.steps if isinstance(u, Use))
        if self.words:
            words += f"; {self.words}"
        return words, tuple(sources)

    def _indices(self, k: int, domain: Domain) -> Domain:
        """Return the user's domain with the indices that the k-th step serves."""
        if k < len(self.steps) - 1:
            given = (self.end - 1 - k, *self.given)
            values = {self.index: sp.Integer(k)}
            return domain.extended(values=values, free=self.chosen, given=given)
        given = (self.end - 1 - self.index, self.index - k, *self.given)
        return domain.extended(free=(self.index, *self.chosen), given=given)

    def _step(self, use: Use, domain: Domain, name: str) -> None:
        """Compare a step with P(t) and P(t + 1).

        Raises:
            Rejected: if it assumes or proves something else.
        """
        assumed = [f for f, _ in use.source.uses if f.hypothesis == INDUCTION]
        here = self._at(self.index, None)
        for known in assumed:
            if known.equality or known.derived is not None:
                raise Rejected(f"the {INDUCTION} of '{name}' is P(t) >= 0, no more")
            found = translated(use, known.expr, domain)
            same(here, found, domain, f"{name}, {INDUCTION}")
        following = self._at(self.index + 1, 1)
        same(following, instance(use, domain), domain, f"{name}, step")

    def _at(self, index: Any, place: int | None) -> Conclusion:
        """Return P at an index, its atoms under their names there."""
        found: Conclusion = {"1": sp.Integer(0)}
        for key, value in coefficients(self.claim).items():
            name = key
            if place is not None and key in self.moves:
                name = self.moves[key][place]
            there = (sp.Integer(0) + value).xreplace({self.index: sp.S(index)})
            found[name] = found.get(name, sp.Integer(0)) + there
        return found
