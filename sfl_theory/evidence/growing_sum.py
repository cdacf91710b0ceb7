"""The sum over rounds of a recursion whose distance may grow: Gronwall's inequality."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Link,
    Rejected,
    coefficients,
)
from sfl_theory.evidence.derivation import Use, accept, instance, same, shown
from sfl_theory.evidence.domain import Domain
from sfl_theory.evidence.round_sum import rate_sum, summed


@dataclass(frozen=True)
class GrowingSum(Link):
    r"""$\sum_t\sum_jc_jg_j^t\le e^{\sum_t\beta}(\Delta_0+\sum_tr)$ over $t<T$.

    The certificate shows, for every rate $\eta>0$ and the objects of any round,
    $\Delta'\le(1+\beta(\eta))\Delta-\sum_jc_j(\eta)g_j+r(\eta)$, where $\beta$, $c_j$
    and r are sums of positive powers of $\eta$ with non-negative coefficients, the
    $g_j\ge0$ and $\Delta'\ge0$. Proof: use it at $\eta=\eta^t$, $\Delta=\Delta_t$,
    $\Delta'=\Delta_{t+1}$ for $t<T$ (taking expectations where it speaks of one given
    $x^t$), divide by $P_{t+1}=\prod_{k\le t}(1+\beta(\eta^k))$, $P_0=1$, and add:
    $\sum_t\sum_jc_jg_j^t/P_{t+1}\le\Delta_0+\sum_tr(\eta^t)/P_{t+1}-\Delta_T/P_T$. As
    $1\le P_{t+1}\le P_T\le e^{\sum_t\beta(\eta^t)}$, the left side is at least
    $e^{-\sum_t\beta(\eta^t)}\sum_t\sum_jc_jg_j^t$ and the right side at most
    $\Delta_0+\sum_tr(\eta^t)$.

    Attributes:
        earlier: the certificate of one round.
        rate: $\eta$, a positive symbol that is no parameter of the user.
        distance: names of $\Delta$ at t, at t + 1 and at 0.
        signs: every other atom of the round, and $\Delta_{t+1}$ -> the hypothesis that
            says it is non-negative.
        exponent: $\sum_t\beta(\eta^t)$ in the user's parameters.
    """

    earlier: Use
    rate: Any
    distance: tuple[str, str, str]
    signs: Mapping[str, str]
    exponent: Any

    def verify(
        self, fact: Fact, user: Certificate, trail: tuple[Certificate, ...]
    ) -> tuple[str, tuple[Certificate, ...]]:
        """Replay the certificate of one round, sum it and compare.

        Args:
            fact: what must follow.
            user: the certificate that uses it.
            trail: the certificates being replayed.

        Returns:
            The rule in words, and the earlier certificate.

        Raises:
            Rejected: if the fact is not the sum.
        """
        if not self.rate.is_positive:
            raise Rejected(f"the rate {self.rate} is not declared positive")
        domain = user.domain.extended(free=(self.rate,))
        accept(self.earlier.source, user.hypotheses, trail)
        one = instance(self.earlier, domain)
        now, later, first = self.distance
        if len({now, later, first}) != 3:
            raise Rejected("the distance needs a name at t, t + 1 and 0 each")
        if not domain.zero(one.pop(later, sp.S.Zero) + 1):
            raise Rejected(f"'{later}' must stand alone on the left")
        self._nonnegative(later, user)
        beta = self._powers(one.pop(now, sp.S.Zero) - 1, domain)
        added = sum(c * rate_sum(self.rate, p) for p, c in beta.items())
        if not user.domain.zero(self.exponent - added):
            raise Rejected(f"the distance does not grow by exp({self.exponent})")
        growth = exponential(self.exponent)
        self._refuse_known(growth, user.domain)
        rest = self._powers(one.pop("1"), domain)
        noise = sum(c * rate_sum(self.rate, p) for p, c in rest.items())
        found = {first: growth, "1": growth * noise}
        for key, value in one.items():
            self._nonnegative(key, user)
            for power, factor in self._powers(-value, domain).items():
                name = str(summed(self.rate, power, key))
                found[name] = found.get(name, sp.S.Zero) - factor
        same(coefficients(fact.expr), found, user.domain, fact.name)
        words = f"Gronwall's sum over t < T of one round{shown(self.earlier)}"
        return words, (self.earlier.source,)

    def _nonnegative(self, name: str, user: Certificate) -> None:
        """Demand that the user assumes an atom's sign.

        Raises:
            Rejected: if it does not.
        """
        if self.signs.get(name) not in user.hypotheses:
            raise Rejected(f"'{name}' must be non-negative by an assumption")

    def _powers(self, value: Any, domain: Domain) -> dict[int, Any]:
        """Return the coefficients of the powers of the rate, all non-negative.

        Raises:
            Rejected: if they are not, or the power is 0.
        """
        above, below = sp.fraction(domain.substitute(value))
        if self.rate in below.free_symbols:
            raise Rejected(f"'{value}' is no sum of powers of {self.rate}")
        found = {
            power: coefficient / below
            for (power,), coefficient in sp.Poly(above, self.rate).terms()
            if coefficient != 0
        }
        for power, coefficient in found.items():
            if power == 0 or not domain.nonnegative(coefficient):
                raise Rejected(
                    f"{coefficient} {self.rate}^{power} is not shown to be a "
                    "non-negative multiple of a positive power"
                )
        return found

    def _refuse_known(self, growth: Any, domain: Domain) -> None:
        """Refuse a domain that knows more of the growth or the sums than their sign.

        Raises:
            Rejected: if it does.
        """
        held = {s for v in domain.values.values() for s in sp.S(v).free_symbols}
        held |= {s for v in domain.given for s in sp.S(v).free_symbols}
        for symbol in (growth, *(rate_sum(self.rate, p) for p in range(1, 10))):
            if symbol in held:
                raise Rejected(f"{symbol} must be a free variable of its own")
        if growth not in domain.free:
            raise Rejected(f"{growth} must be a free variable")


def exponential(exponent: Any) -> Any:
    r"""Return the parameter $e^{\text{exponent}}$, of which only the sign is known.

    Args:
        exponent: in the user's parameters.

    Returns:
        The parameter.
    """
    return Exponential(f"exp({sp.factor(exponent)})")


class Exponential(sp.Symbol):  # type: ignore[misc]
    """An exponential; its own class, as its name is its sense."""

    def __new__(cls, name: str) -> Any:
        """Return the symbol of that name."""
        return super().__new__(cls, name, nonnegative=True)
