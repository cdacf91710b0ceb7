r"""Statements of (54)-(59) and (91)-(96): one round of the server's block.

D.1.1 weights the clients by a_n, E.1.1 has SFL-V2's sums without weights; otherwise the
lines are the same. ``M`` is the sum of the local gradients at each client's own local
points, which the paper writes :math:`\sum_i\nabla_sf(x_c^{t,i},x_s^{t,i})`.
"""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory import written as w
from sfl_theory.claims import Says, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024.one_round import Block, mu
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    S,
    best,
    eta,
    i,
    n,
    sigma2,
    t,
    tau,
    tau_server,
)
from sfl_theory.written import Form, Value, Vector, Written

SERVER = Side.SERVER

CLOCKS = (
    r"$\tau=\tilde\tau+d$ for a natural d",
    r"$\tilde\tau=\tau+d$ for a natural d",
)
"""The two orders of the numbers of steps; a proved line has a part for each."""


@dataclass(frozen=True)
class Lines:
    """Statements of the six lines for a block of a section.

    Attributes:
        blocks: the block, once for each order of the numbers of steps.
        free: the block with both numbers free, where nothing depends on their order.
    """

    blocks: tuple[Block, ...]
    free: Block

    def gradient(self, block: Block) -> Vector:
        """Return the block of the local gradient."""
        return w.local(n).gradient(block.run.p(n, t, i), block.side)

    def stochastic(self, block: Block) -> Vector:
        """Return the block of the stochastic gradient."""
        return block.of(block.run.g(n, t, i))

    def summed(
        self, block: Block, each: Written[Value], power: int = 1
    ) -> Written[Value]:
        """Return ``sum_n a_n^power sum_i each``."""
        inside = w.below(i, block.steps, each)
        return w.over_clients(n, block.weighted(inside, power))

    def away(self, block: Block, at: w.Number) -> Vector:
        """Return ``x_b - x_b*``."""
        return block.of(block.run.x(at)) - block.of(best)

    def mean(self, block: Block) -> Vector:
        """Return M."""
        return self.summed(block, self.gradient(block))

    def noise(self, block: Block) -> Vector:
        """Return ``Z = sum_n a_n sum_i (g - grad F)``."""
        apart = self.stochastic(block) - self.gradient(block)
        return self.summed(block, apart)

    def square(self, block: Block) -> Says:
        """Return (54)."""
        right = w.norm2(self.away(block, t) - eta() * self.mean(block))
        right = right + eta() ** 2 * w.norm2(self.noise(block))
        return says(w.norm2(self.away(block, t + 1)), right, *block.assumed())

    def square_kept(self, block: Block) -> Says:
        """Return (54) with the cross term."""
        M, Z = self.mean(block), self.noise(block)
        right = w.norm2(self.away(block, t) - eta() * M)
        right = right + eta() ** 2 * w.norm2(M) + 2 * eta() ** 2 * w.norm2(Z)
        left = w.norm2(self.away(block, t + 1))
        return says(left, right, *block.assumed(small=False))

    def inner(self, block: Block) -> Form:
        """Return ``-2 eta sum_n sum_i a_n <x_b - x_b*, grad F>``."""
        product = w.inner(self.away(block, t), self.gradient(block))
        return -(2 * eta() * self.summed(block, product))

    def sizes(self, block: Block, each: Form) -> Form:
        """Return ``eta^2 tau N sum_n sum_i a_n^2 each``."""
        return eta() ** 2 * block.steps * N * self.summed(block, each, 2)

    def first(self, block: Block) -> Says:
        """Return (55)."""
        left = w.norm2(self.away(block, t) - eta() * self.mean(block))
        own = self.sizes(block, w.norm2(self.gradient(block)))
        right = block.distance(t) + own + self.inner(block)
        return says(left, right, *block.assumed())

    def moments(self, block: Block) -> tuple[Form, Form, Form]:
        """Return the three sides of (56)."""
        g, grad = self.stochastic(block), self.gradient(block)
        left = self.sizes(block, w.norm2(grad))
        middle = self.sizes(block, w.norm2(grad - g) + w.norm2(g))
        last = block.over(sigma2() + G2, 2)
        return left, middle, w.as_form(eta() ** 2 * block.steps**2 * N * last)

    def progress(self, block: Block, whole: bool = False) -> Says:
        """Return (57), Lemma C.3 at the local points; `whole`: for both blocks."""
        x, p, local = block.run.x(t), block.run.p(n, t, i), w.local(n)

        def of(u: Vector) -> Vector:
            return u if whole else block.of(u)

        gradient = local.gradient(p) if whole else self.gradient(block)
        each = local(x) - local(best) + mu / 4 * w.norm2(of(x) - of(best))
        each = each - S * w.norm2(of(p) - of(x))
        right = -(2 * eta() * self.summed(block, w.bracket(each)))
        left = -(2 * eta() * self.summed(block, w.inner(of(x) - of(best), gradient)))
        return says(left, right, *block.assumed(small=not whole))

    def drift(self, block: Block) -> Form:
        """Return the left side of (58)."""
        p, x = block.run.p(n, t, i), block.run.x(t)
        return self.summed(block, w.norm2(block.of(p) - block.of(x)))

    def moved(self, block: Block) -> Says:
        """Return (58)."""
        each = block.steps**3 * eta() ** 2 * (2 * sigma2() + G2)
        right = 12 * w.over_clients(n, block.weighted(each))
        return says(self.drift(block), right, *block.assumed())

    def spread(self, block: Block) -> tuple[Form, Form, Form]:
        """Return the three sides of (59); Z's double sum in the other order."""
        apart = self.stochastic(block) - self.gradient(block)
        each = w.over_clients(n, block.weighted(apart))
        Z = w.below(i, block.steps, each)
        middle = block.steps * w.below(i, block.steps, w.norm2(each))
        last = N * block.over(sigma2(), 2) * block.steps**2
        return w.norm2(Z), middle, w.as_form(last)


d = w.natural("d")
LONG = w.called(tau_server + d, tau.tex)
LONG_SERVER = w.called(tau + d, tau_server.tex)
D1 = Lines(
    (
        Block(Version.V1, Side.SERVER, tau_server, LONG),
        Block(Version.V1, Side.SERVER, LONG_SERVER, tau),
    ),
    Block(Version.V1, Side.SERVER, tau_server, tau),
)
E1 = Lines((Block(Version.V2, Side.SERVER),), Block(Version.V2, Side.SERVER))
