r"""One counter of steps at a constant rate: all steps of T rounds.

Stochastic gradients are bounded, so D is at most :math:`(j\eta G)^2` before step j of a
round and F at most :math:`\frac{(K-1)(2K-1)}6\eta^2G^2n`, n = KT.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Lin, Vec, constant
from sfl_theory.proofs import derived
from sfl_theory.proofs import minibatch_stepwise as st
from sfl_theory.proofs.counted_steps import apart, counted, distance_ends, value_ends
from sfl_theory.proofs.foundations import smooth_mean
from sfl_theory.proofs.mean_steps import Averaged, distance, eta
from sfl_theory.proofs.minibatch_stepwise import J, K, T, now
from sfl_theory.proofs.notation import combine, steps, sum_over


class Rounds(Averaged):
    """T rounds of K steps."""

    walk = counted(k.Pace(k.natural(K), k.Rate(eta)))
    made = K * T
    last = k.iterate(walk.run, T)

    def whole(
        self, gained: Theorem, form: Callable[[Vec], Lin], apart: Ratio
    ) -> Theorem:
        """Return the sum of what all steps gain; a round's ends raise no form."""
        walk, x = self.walk, k.iterate(self.walk.run, now)
        near = distance_ends(walk)
        ends = near if form is distance else value_ends(walk, smooth_mean)
        round_ = combine(
            sum_over(combine(gained, (self.drift(), apart)), steps(K), st.j),
            derived.telescope(st.j, form(walk.middle(J)), K),
            *ends,
        )
        return combine(
            sum_over(round_, steps(T), st.t), derived.telescope(st.t, form(x), T)
        )

    def drift(self) -> Theorem:
        """Return ``D <= (J eta G)^2``."""
        return apart(self.walk, eta, eta, combine(target=constant(0)))
