r"""What D.3, E.3, F.3 and G.3 of ``han2024`` differ in; the right sides they print.

Every section bounds, for a block b with p steps, $\mathbb E\langle\nabla_bf,
x_b^{t+1}-x_b^t\rangle$ and $\frac S2\mathbb E\|x_b^{t+1}-x_b^t\|^2$ with weights
$c_n=a_n^2$ (full participation) or $a_n^2/q_n$ (partial), but 1 or $1/q_n$ for SFL-V2's
server, merges both blocks into one round, and sums the rounds. $S=1$ in the formulas
with numbers, as in all instances.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.audits.han2024.printed import Setting, largest_rate
from sfl_theory.evidence.instance import Check, at_most

BLOCKS = ("client", "server")
BLOCK_STEPS = (
    "inner",
    "drift",
    "inner_end",
    "square",
    "gradient_drift",
    "square_end",
    "client_inner_end",
    "client_square_end",
)
"""The numbered steps of one round in the order in which every section prints them."""
ROUND_STEPS = ("descent", "rearranged", "averaged")
"""The last three numbered steps of every section."""


@dataclass(frozen=True)
class Section:
    """One of the four sections.

    Attributes:
        letter: of the appendix.
        theorem: that it proves.
        first: number of its first equation.
        last: number of its last equation.
        sequential: SFL-V2, whose server visits the clients one after the other.
        partial: clients take part with probability q_n.
    """

    letter: str
    theorem: str
    first: int
    last: int
    sequential: bool
    partial: bool

    def number(self, step: str) -> int:
        """Return the number of the equation that a step has here."""
        if step in BLOCK_STEPS:
            return self.first + BLOCK_STEPS.index(step)
        return self.last + 1 + ROUND_STEPS.index(step) - len(ROUND_STEPS)

    def unweighted(self, block: str) -> bool:
        """Return whether the block's update has no weights a_n."""
        return self.sequential and block == "server"

    def total(self, block: str, setting: Setting) -> Fraction:
        r"""Return $\sum_nc_n$."""
        if self.unweighted(block):
            return Fraction(len(setting.weights)) / setting.q
        return sum((a**2 for a in setting.weights), Fraction(0)) / setting.q

    def weights_of_round(self, setting: Setting) -> Fraction:
        r"""Return $\sum_na_n^2$, or $\sum_n(a_n^2+1)$ for SFL-V2, over $q_n$."""
        found = sum((a**2 for a in setting.weights), Fraction(0)) / setting.q
        return found + self.total("server", setting) if self.sequential else found

    def largest_rate(self, setting: Setting) -> Fraction:
        """Return the largest rate that the theorem and the section's proof admit."""
        rates = [largest_rate(self.theorem, "non_convex", setting)]
        if self.letter == "G":
            N = len(setting.weights)
            rates.append(setting.q / (8 * setting.S * N**3 * setting.tau))
        return min(rates)

    def admits(self, setting: Setting, eta: Fraction) -> Check:
        """Return the check of every condition on the learning rate."""
        limit = self.largest_rate(setting)
        what = f"learning rate of Theorem {self.theorem} and App. {self.letter}.3"
        return at_most(what, eta, limit)


SECTIONS = {
    "D": Section("D", "3.6", 78, 89, sequential=False, partial=False),
    "E": Section("E", "3.7", 115, 125, sequential=True, partial=False),
    "F": Section("F", "3.8", 145, 155, sequential=False, partial=True),
    "G": Section("G", "3.9", 175, 185, sequential=True, partial=True),
}


@dataclass(frozen=True)
class BlockBounds:
    r"""The printed right sides for one block at numbers, $S=1$, $\sigma=\epsilon=0$.

    Attributes:
        N: number of clients.
        eta: learning rate.
        steps: p, of the block.
        total: $\sum_nc_n$.
        gradient2: $\|\nabla_bf(x^t)\|^2=\|\nabla_bF_n(x^t)\|^2$, clients being alike.
    """

    N: int
    eta: Fraction
    steps: int
    total: Fraction
    gradient2: Fraction

    def inner(self, drifts: Fraction) -> Fraction:
        r"""Return (78): $-\frac{\eta p}2\|\nabla_bf\|^2+\frac{N\eta}2\sum_nc_nd_n$.

        Args:
            drifts: $\sum_nc_n\sum_{i<p}\mathbb E\|x_{b,n}^{t,i}-x_b^t\|^2$.

        Returns:
            The right side.
        """
        kept = -self.eta * self.steps / 2 * self.gradient2
        return kept + self.N * self.eta / 2 * drifts

    def drift(self) -> Fraction:
        r"""Return (79): $16p^3\eta^2\|\nabla_bf\|^2$."""
        return 16 * self.steps**3 * self.eta**2 * self.gradient2

    def inner_end(self) -> Fraction:
        r"""Return (80): $(-\frac{\eta p}2+8N\eta^3p^3\sum_nc_n)\|\nabla_bf\|^2$."""
        cubic = 8 * self.N * self.eta**3 * self.steps**3 * self.total
        return (-self.eta * self.steps / 2 + cubic) * self.gradient2

    def square(self, changes: Fraction) -> Fraction:
        r"""Return (81): $\frac{N\eta^2p}2(\sum_nc_nd_n+p\sum_nc_n\|\nabla_bF_n\|^2)$.

        Args:
            changes: $\sum_nc_n\sum_{i<p}\mathbb E\|g_{b,n}^{t,i}-g_{b,n}^t\|^2$.

        Returns:
            The right side.
        """
        both = changes + self.steps * self.total * self.gradient2
        return self.N * self.eta**2 * self.steps / 2 * both

    def gradient_drift(self) -> Fraction:
        r"""Return (82): $8p^3\eta^2\|\nabla_bF_n\|^2$."""
        return 8 * self.steps**3 * self.eta**2 * self.gradient2

    def square_end(self) -> Fraction:
        r"""Return (83): $\frac{N\eta^2p}2\sum_nc_n(p+8p^3\eta^2)2\|\nabla_bf\|^2$."""
        p = self.steps
        factor = (p + 8 * p**3 * self.eta**2) * 2 * self.gradient2
        return self.N * self.eta**2 * p / 2 * self.total * factor


def descent_bound(
    section: Section, setting: Setting, eta: Fraction, gradient2: Fraction
) -> Fraction:
    r"""Return the right side of (123), (183), the bound of $\mathbb Ef(x')-f(x)$.

    $-\frac{\eta\tau}4\|\nabla f\|^2+2NS\eta^2\tau^2\sum_n\frac{a_n^2+1}{q_n}
    (\sigma_n^2+\epsilon^2)$.

    Args:
        section: E or G.
        setting: the constants.
        eta: learning rate.
        gradient2: $\|\nabla f(x^t)\|^2$.

    Returns:
        The right side.
    """
    spread = setting.sigma**2 + setting.epsilon2
    noise = 2 * len(setting.weights) * setting.S * eta**2 * setting.tau**2
    noise *= section.weights_of_round(setting) * spread
    return -eta * setting.tau / 4 * gradient2 + noise
