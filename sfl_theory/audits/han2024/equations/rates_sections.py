r"""What Appendices D-G of ``han2024`` differ in, for the convex cases.

Written once for a section (D: SFL-V1, E: SFL-V2, F and G: the same with partial
participation) and a block of the model: one round is bounded with the sums

$$A=N\sum_nc_n(2\sigma_n^2+G^2)\;\bigl[+NG^2\sum_n\tfrac{c_n}{q_n}\bigr],\qquad
B=\sum_nb_n(2\sigma_n^2+G^2),$$

with $c_n=a_n^2,b_n=a_n$, but $c_n=b_n=1$ for SFL-V2's server, whose contraction carries
a factor N. The paper's $B_1$ is 4A and its $B_2$ is 192SB.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.audits.han2024.printed import Setting

BLOCKS = ("server", "client")


@dataclass(frozen=True)
class Section:
    """One of the four appendices.

    Attributes:
        letter: of the appendix.
        theorem: that it proves.
        sequential: SFL-V2, whose server visits the clients one after the other.
        partial: clients take part with probability q_n.
    """

    letter: str
    theorem: str
    sequential: bool
    partial: bool

    def speed(self, block: str, clients: int) -> int:
        """Return the factor N in the contraction of SFL-V2's server, else 1."""
        return clients if self.sequential and block == "server" else 1

    def offset(self, block: str, setting: Setting) -> Fraction:
        r"""Return $\gamma$: $\frac{8S}\mu-1$, or $\frac{8S}{N\mu}-1$."""
        speed = self.speed(block, len(setting.weights))
        return 8 * setting.S / (speed * setting.mu) - 1

    def rate(self, block: str, setting: Setting, t: int) -> Fraction:
        r"""Return the section's $\eta^t=\frac{2\beta}{\tau(\gamma+t)}$, $\beta=2/\mu$.

        With $\tilde\tau$ for SFL-V1's server and $N\tau$ for SFL-V2's.

        Args:
            block: "server" or "client".
            setting: the constants.
            t: the round.

        Returns:
            The learning rate of that block.
        """
        own = block == "server" and not self.sequential
        steps = setting.tau_server if own else setting.tau
        steps *= self.speed(block, len(setting.weights))
        return 4 / (setting.mu * steps * (self.offset(block, setting) + t))

    def noise(self, block: str, setting: Setting) -> tuple[Fraction, Fraction]:
        """Return A and B."""
        N, one = len(setting.weights), self.sequential and block == "server"
        moment = 2 * setting.sigma**2 + setting.G2
        second = [Fraction(1) if one else a**2 for a in setting.weights]
        first = [Fraction(1) if one else a for a in setting.weights]
        zero = Fraction(0)
        A = N * moment * sum(second, zero)
        if self.partial:
            A += N * setting.G2 * sum(second, zero) / setting.q
        return A, moment * sum(first, zero)

    def level(self, block: str, setting: Setting, distance: Fraction) -> Fraction:
        r"""Return the number v of the induction.

        $v=\max\{\frac{4B_1}{\mu^2}+\frac{8B_2}{\mu^3(\gamma+1)},
        (\gamma+1)\Delta_0\}$.

        Args:
            block: "server" or "client".
            setting: the constants.
            distance: $\Delta_0$ of the block.

        Returns:
            v.
        """
        A, B = self.noise(block, setting)
        S, mu, start = setting.S, setting.mu, self.offset(block, setting) + 1
        return max(16 * A / mu**2 + 1536 * S * B / (mu**3 * start), start * distance)

    def distance_bound(
        self, block: str, setting: Setting, distance: Fraction, t: int
    ) -> Fraction:
        """Return the right side of (69), (72) and their counterparts."""
        A, B = self.noise(block, setting)
        S, mu, gamma = setting.S, setting.mu, self.offset(block, setting)
        parts = 16 * A / mu**2 + 1536 * S * B / (mu**3 * (gamma + 1))
        return (parts + (gamma + 1) * distance) / (gamma + t)

    def one_round(
        self, block: str, setting: Setting, distance: Fraction, t: int
    ) -> Fraction:
        r"""Return (62), (99): the round without the gap, at the section's rate.

        $(1-\frac{\eta\tau\mu}2)\Delta_t+(\eta\tau)^2A+24S(\eta\tau)^3B$, with N in the
        contraction of SFL-V2's server.

        Args:
            block: "server" or "client".
            setting: the constants.
            distance: $\Delta_t$ of the block.
            t: the round.

        Returns:
            The right side.
        """
        A, B = self.noise(block, setting)
        own = block == "server" and not self.sequential
        step = self.rate(block, setting, t)
        step *= setting.tau_server if own else setting.tau
        speed = self.speed(block, len(setting.weights))
        kept = (1 - speed * step * setting.mu / 2) * distance
        return kept + step**2 * A + 24 * setting.S * step**3 * B

    def descent_bound(
        self,
        block: str,
        setting: Setting,
        distance: Fraction,
        gap: Fraction,
        eta: Fraction,
    ) -> Fraction:
        r"""Return (74), (75), (139), ...: one round of one block at $\mu=0$.

        $\Delta_t-2\eta\tau\,\mathbb E[f(x^t)-f^*]+(\eta\tau)^2A+24S(\eta\tau)^3B$.

        Args:
            block: "server" or "client".
            setting: the constants.
            distance: $\Delta_t$ of the block.
            gap: $f(x^t)-f^*$.
            eta: the learning rate.

        Returns:
            The right side.
        """
        A, B = self.noise(block, setting)
        own = block == "server" and not self.sequential
        step = eta * (setting.tau_server if own else setting.tau)
        return distance - 2 * step * gap + step**2 * A + 24 * setting.S * step**3 * B


SECTIONS = {
    "D": Section("D", "3.6", sequential=False, partial=False),
    "E": Section("E", "3.7", sequential=True, partial=False),
    "F": Section("F", "3.8", sequential=False, partial=True),
    "G": Section("G", "3.9", sequential=True, partial=True),
}
