r"""From one round to T rounds: the sum over t, ending in the words of the bound."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.bound import Bound
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import Cases, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.round_sum import RoundSum, rate_sum, summed

(rate,) = positive("eta^t")
squares = rate_sum(rate, 2)
MINIMUM = "x* minimises f"
START = "F_err = f(x^0) - f*"


@dataclass(frozen=True)
class Parameters:
    """The parameters of a bound over T rounds, without those that every bound has.

    Attributes:
        words: the domain.
        values: parameter -> expression in free variables.
        free: the free variables.
        meaning: sum over clients in the bound -> expression in the parameters.
    """

    words: str
    values: Mapping[Any, Any]
    free: tuple[Any, ...]
    meaning: Mapping[Any, Any]


def sum_of_rounds(
    claim: str, bound: Bound, one_round: Use | Cases, parameters: Parameters
) -> Certificate:
    r"""Return the sum of $\frac{\eta^tp}4g_t\le f_t-f_{t+1}+(\eta^t)^2r$ over $t<T$.

    With $f_T\ge f^*$: $\frac1T\sum_t\eta^tg_t\le\frac4{pT}(f_0-f^*)+\frac{4r}{pT}
    \sum_t(\eta^t)^2$, and that is at most the bound, formula by formula; p and r are
    read off the bound. The rates are those that its step-size rule admits.

    Args:
        claim: identifier of the claim.
        bound: printed or repaired; its sum over $(\eta^t)^2$ becomes ``squares``.
        one_round: the certificates of one round with the rate ``rate``, whose atoms are
            f(x), f(x') and the squares of the blocks grad_c, grad_s.
        parameters: of the bound.

    Returns:
        The certificate.

    Raises:
        ValueError: if the bound has no step-size rule of the form <=.
    """
    (T,), (S,), (gap,) = free("T_"), positive("S_"), free("F_")
    rule = bound.step_size
    if rule is None or rule.relation != "<=":
        raise ValueError(f"{bound.source}: a rule 'eta <= ...' is needed")
    domain = Domain(
        f"S > 0, T >= 1, {parameters.words}",
        {
            symbols.S: S,
            symbols.T: 1 + T,
            symbols.F_err: gap,
            **parameters.values,
        },
        (S, T, gap, squares, *parameters.free),
    )
    replaced = {
        **parameters.meaning,
        symbols.over_rounds(symbols.eta(symbols.t) ** 2): squares,
    }
    right = sum(part.xreplace(replaced) for part in bound.parts.values())
    factor = sp.sympify(right).coeff(symbols.F_err)
    least = rule.client.xreplace(parameters.meaning)
    largest = least.args if isinstance(least, sp.Min) else (least,)
    words = f"eta^t <= {rule.client} for every t < T"
    first, last, lowest = atom("f(x^0)"), atom("f(x^T)"), atom("f*")
    weighted = sum(
        summed(rate, 1, f"<grad_{block},grad_{block}>") for block in ("c", "s")
    )
    noise = right - factor * symbols.F_err
    total = Fact(
        "sum of one round over t < T",
        first - last + noise / factor - weighted / (factor * symbols.T),
        words,
        derived=RoundSum(
            one_round,
            rate,
            telescopes={"f(x)": ("f(x')", "f(x^0)", "f(x^T)")},
            condition=tuple(bound - rate for bound in largest),
            words=words,
        ),
    )
    start = Fact(START, symbols.F_err - first + lowest, START, equality=True)
    floor = Fact("f(x^T) >= f*", last - lowest, MINIMUM)
    assumed = dict.fromkeys(
        h for use in _uses(one_round) for h in use.source.hypotheses
    )
    return Certificate(
        claim,
        weighted / symbols.T,
        right,
        (*assumed, words, START, MINIMUM),
        domain,
        uses=((total, factor), (start, factor), (floor, factor)),
        statement="(1/T) sum_t eta^t E||grad f(x^t)||^2 <= the bound of "
        f"{bound.source} ({parameters.words})",
    )


def _uses(earlier: Use | Cases) -> tuple[Use, ...]:
    if isinstance(earlier, Use):
        return (earlier,)
    return (*_uses(earlier.above), *_uses(earlier.below))
