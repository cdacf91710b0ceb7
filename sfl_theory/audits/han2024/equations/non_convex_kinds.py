r"""What bounds of D.3-G.3's blocks differ in: the weights of clients and the drift."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.non_convex_v1 import S, eps2, eta, kappa
from sfl_theory.evidence.domain import Domain, free, positive

p = positive("p")[0]
sigma, sigma_a, sigma_q = free("sigma sigma_a sigma_q")

SMOOTH = "Assumption C.1 (24), gradients S-Lipschitz"
NOISE = "Assumption 3.2, participation independent of the samples"
HETEROGENEOUS = "Assumption 3.4"


@dataclass(frozen=True)
class Kind:
    r"""One of the three kinds of weights.

    Attributes:
        name: "v1", "v2" or "v2-partial".
        update: the update analysed.
        least: $1/(S\eta p)$, divided by $\kappa$ for partial SFL-V2, is at least this.
        rate: the same in words.
        noise: factor of $\sigma$ in the bound of the drift.
    """

    name: str
    update: str
    least: Any
    rate: str
    noise: int

    @property
    def hypotheses(self) -> tuple[str, ...]:
        """What its certificates may assume."""
        return (SMOOTH, NOISE, HETEROGENEOUS, self.update)

    @property
    def total(self) -> Any:
        r"""The largest $\sum_nw_n$ by which Jensen's inequality multiplies; 1 in V1."""
        return kappa if self.name == "v2-partial" else sp.Integer(1)

    @property
    def spread(self) -> Any:
        r"""Factor of $\|\nabla f\|^2+\epsilon^2$ in D: $\kappa$, 1 or $\kappa^2$."""
        return {"v1": kappa, "v2": sp.Integer(1), "v2-partial": kappa**2}[self.name]

    def variance(self) -> Any:
        r"""Return $\sigma$."""
        if self.name == "v2-partial":
            return sigma_a + 2 * kappa * sigma_q
        return sigma

    def domain(self) -> Domain:
        """Return the parameters."""
        k, h, x = free("k h x")
        (s,) = positive("s")
        values = {p: 1 + k, S: s, eta: 1 / (s * (1 + k) * (self.least + h))}
        variables: tuple[Any, ...] = (k, h, s, eps2)
        if self.name == "v1":
            return Domain(f"p >= 1, {self.rate}", values, (*variables, kappa, sigma))
        if self.name == "v2":
            return Domain(f"p >= 1, {self.rate}", values, (*variables, sigma))
        values |= {kappa: 1 + x, eta: values[eta] / (1 + x)}
        words = f"p >= 1, kappa >= 1, {self.rate}"
        return Domain(words, values, (*variables, x, sigma_a, sigma_q))

    def drift_bound(self, gradient2: Any) -> Any:
        r"""Return what D is shown to be at most.

        Args:
            gradient2: $\|\nabla f(x)\|^2$.

        Returns:
            The bound.
        """
        return (
            16 * p**3 * eta**2 * self.spread * (gradient2 + eps2)
            + self.noise * eta**2 * p**2 * self.variance()
        )


KINDS = {
    "v1": Kind(
        "v1",
        "App. C.2 update of SFL-V1, noise as in Assumption 3.2",
        sp.Rational(14, 5),
        "eta <= 5/(14 S p), which is more than 1/(sqrt(8) S p)",
        2,
    ),
    "v2": Kind(
        "v2",
        "SFL-V2 with server steps eta a_n g, noise as in Assumption 3.2",
        sp.Integer(4),
        "eta <= 1/(4 S p)",
        5,
    ),
    "v2-partial": Kind(
        "v2-partial",
        "SFL-V2 with server steps eta a_n/q_n g, noise as in Assumption 3.2",
        sp.Integer(4),
        "eta <= 1/(4 S p kappa)",
        2,
    ),
}
