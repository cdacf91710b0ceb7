r"""The sum of one round's inequality over the rounds $t<T$, each with its own rate."""

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
    atom,
    coefficients,
)
from sfl_theory.evidence.derivation import (
    Cases,
    Conclusion,
    Use,
    accept,
    instance,
    leaves,
    same,
    shown,
)
from sfl_theory.evidence.domain import Domain


@dataclass(frozen=True)
class RoundSum(Link):
    r"""$\sum_{t<T}$ of an earlier certificate, with the rate $\eta^t$ of each round.

    The certificate shows, for every rate that meets ``condition`` and the objects of
    any round, $\sum_jc_j(\theta,\eta)A_j+c_0(\theta,\eta)\ge0$ with
    $c_j=\sum_pc_{jp}(\theta)\eta^p$; the other parameters $\theta$ are those of all
    rounds. Proof: use it at $\eta=\eta^t$ and the objects $A_j^t$ of round t, for
    $t=0,\dots,T-1$ (where the certificate speaks of an expectation given $x^t$, take
    expectations, which keeps the inequality, as $\theta$ and $\eta^t$ are not random),
    and add:

    $$\sum_j\sum_pc_{jp}(\theta)\sum_{t<T}(\eta^t)^pA_j^t
    +\sum_pc_{0p}(\theta)\sum_{t<T}(\eta^t)^p\ge0.$$

    The sums of atoms are new atoms (``summed``), the sums of powers are parameters
    (``rate_sum``) of which nothing but the sign is known, and $\sum_t(\eta^t)^0=T$.
    Where $A_k^t=A_j^{t+1}$, $c_k=-c_j$ and $c_j$ does not depend on $\eta$, the sum
    telescopes: $\sum_{t<T}c_j(A_j^t-A_j^{t+1})=c_j(A_j^0-A_j^T)$.

    Attributes:
        earlier: the certificate of one round, or several that cover the rates.
        rate: $\eta$, a positive symbol that is no parameter of the user.
        telescopes: name of an atom at t -> its names at t + 1, at 0 and at T.
        condition: expressions that are non-negative at every $\eta^t$.
        words: the hypothesis that says so; needed where there is a condition.
        rounds: T, where a term without the rate and without atoms is summed.
    """

    earlier: Use | Cases
    rate: Any
    telescopes: Mapping[str, tuple[str, str, str]] = field(default_factory=dict)
    condition: tuple[Any, ...] = ()
    words: str = ""
    rounds: Any = None

    def verify(
        self, fact: Fact, user: Certificate, trail: tuple[Certificate, ...]
    ) -> tuple[str, tuple[Certificate, ...]]:
        """Replay the certificate of one round, sum it and compare.

        Args:
            fact: what must follow.
            user: the certificate that uses it.
            trail: the certificates being replayed.

        Returns:
            The rule in words, and the earlier certificates.

        Raises:
            Rejected: if the fact is not the sum.
        """
        if not self.rate.is_positive:
            raise Rejected(f"the rate {self.rate} is not declared positive")
        if self.condition and self.words not in user.hypotheses:
            raise Rejected(
                f"'{self.words}' restricts the rates, and the claim does not assume it"
            )
        claimed = coefficients(fact.expr)
        one_round = user.domain.extended(free=(self.rate,), given=self.condition)
        uses = list(leaves(self.earlier, one_round))
        for use, domain in uses:
            accept(use.source, user.hypotheses, trail)
            total = self._total(instance(use, domain), domain)
            self._refuse_known_sums(total, user.domain)
            same(claimed, total, user.domain, fact.name)
        condition = f", {self.words}" if self.words else ""
        words = f"the sum over t < T of one round{shown(uses[0][0])}{condition}"
        return words, tuple(use.source for use, _ in uses)

    def _total(self, one: Conclusion, domain: Domain) -> Conclusion:
        """Return the sum over the rounds.

        Raises:
            Rejected: if terms do not telescope as stated.
        """
        found: Conclusion = {"1": sp.Integer(0)}
        names = [
            name for entry in self.telescopes.items() for name in (entry[0], *entry[1])
        ]
        if len(names) != len(set(names)):
            raise Rejected("what telescopes has one name at t, t + 1, 0 and T each")
        later = {after for after, _, _ in self.telescopes.values()}
        for key, value in one.items():
            if key in later:
                continue
            powers = self._powers(value, domain)
            if key in self.telescopes:
                after, first, last = self.telescopes[key]
                opposite = one.get(after, sp.Integer(0))
                if set(powers) - {0} or not domain.zero(value + opposite):
                    raise Rejected(f"'{key}' and '{after}' do not telescope")
                _add(found, first, powers.get(0, sp.Integer(0)))
                _add(found, last, -powers.get(0, sp.Integer(0)))
                continue
            for power, factor in powers.items():
                if key != "1":
                    _add(found, str(summed(self.rate, power, key)), factor)
                elif power:
                    _add(found, "1", factor * rate_sum(self.rate, power))
                elif self.rounds is None:
                    raise Rejected("a constant is summed over T rounds: say what T is")
                else:
                    _add(found, "1", factor * self.rounds)
        for after in later:
            if after in one and not any(
                self.telescopes[key][0] == after
                for key in one
                if key in self.telescopes
            ):
                raise Rejected(f"'{after}' has nothing to telescope with")
        return found

    def _powers(self, value: Any, domain: Domain) -> dict[int, Any]:
        """Return the coefficients of the powers of the rate.

        Raises:
            Rejected: if it is not a sum of powers.
        """
        above, below = sp.fraction(domain.substitute(value))
        divisor = sp.Poly(below, self.rate)
        if len(divisor.terms()) != 1:
            raise Rejected(f"'{value}' is no sum of powers of {self.rate}")
        (((lowest,), factor),) = divisor.terms()
        return {
            power - lowest: coefficient / factor
            for (power,), coefficient in sp.Poly(above, self.rate).terms()
            if coefficient != 0
        }

    def _refuse_known_sums(self, total: Conclusion, domain: Domain) -> None:
        """Refuse a domain that knows more of the sums of powers than their sign.

        Raises:
            Rejected: if it does.
        """
        held = {s for v in domain.values.values() for s in sp.S(v).free_symbols}
        held |= {s for v in domain.given for s in sp.S(v).free_symbols}
        for symbol in total["1"].free_symbols:
            if isinstance(symbol, RateSum) and (
                symbol not in domain.free or symbol in held
            ):
                raise Rejected(f"{symbol} must be a free variable of its own")


class RateSum(sp.Symbol):  # type: ignore[misc]
    """A sum of powers of the rates; its own class, as its name is its sense."""

    def __new__(cls, name: str) -> Any:
        """Return the symbol of that name."""
        return super().__new__(cls, name, nonnegative=True)


def rate_sum(rate: Any, power: int) -> Any:
    r"""Return the parameter $\sum_{t<T}(\eta^t)^p$, which is non-negative.

    Args:
        rate: $\eta$.
        power: p, not 0.

    Returns:
        The parameter.

    Raises:
        ValueError: if p = 0, where the sum is T.
    """
    if power == 0:
        raise ValueError("the sum of eta^0 over T rounds is T")
    return RateSum(f"sum_t<T {rate}^{power}")


def summed(rate: Any, power: int, name: str) -> Any:
    r"""Return the atom $\sum_{t<T}(\eta^t)^pA^t$.

    Args:
        rate: $\eta$.
        power: p.
        name: of the atom A in the certificate of one round.

    Returns:
        The atom.
    """
    return atom(f"sum_t<T {rate}^{power} ({name})")


def _add(found: Conclusion, key: str, value: Any) -> None:
    found[key] = found.get(key, sp.Integer(0)) + value
