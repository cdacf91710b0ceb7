r"""One round of a block in the convex cases: what Appendices D to G write alike.

Every section follows :math:`\Delta_t=\mathbb E\|x_b^t-x_b^*\|^2` for one block b, the
client's or the server's. `Block` says which, of which algorithm; its methods write the
lines that the sections share. ``side=None`` is the whole vector: the repairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypedDict

from sfl_theory.evidence import Model, Part, Says, meeting, proved, says
from sfl_theory.kernel.algebra import Number as Exact
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Kind, Participants, Rate, Side, Split, Vec
from sfl_theory.models.federation import federation, huber, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run, Vector, Written
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, N, S, a, best, eta, f, n, t, tau
from sfl_theory.proofs import derived
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs.export import ModelData, Shape
from sfl_theory.proofs.notation import combine

mu = w.nonnegative("mu", r"\mu")
"""Assumption C.2's modulus where Lemma D.1 uses it; 0 in the general convex case."""
READ_33 = (
    "Assumption 3.3 is read along the run: on the whole space no strongly convex "
    "function has it."
)
JOINT = "both blocks together, the same number of steps on both sides"
JOINT_WEIGHTED = f"{JOINT}; server steps weighted by a_n"
AWAY = (
    "Lemma C.3 needs the whole vector: a block that is at its minimiser earns none of "
    "the gap that the other block has."
)


@dataclass(frozen=True)
class Block:
    """A block in a section: ``x_b`` of a run, with tau_b steps a round.

    Attributes:
        kind: the algorithm.
        side: the block; None is the whole vector, both sides making tau steps.
        server_steps: tau_server, or tau where there is one number of steps.
        client_steps: tau.
        rates: the client's and the server's; eta(t) for both if left out.
        rated: eta^t as a number of its own, for lines without a run.
        smoothness: S.
        more: what else its statements assume, of the rates' parameters.
        who: who takes part; if not everyone, (53) has G^2/q_n in addition.
        full: whether the next model is the one that full participation would make of
            the same round of SFL-V1, without that addition.
    """

    kind: Kind
    side: Side | None
    server_steps: Number = tau
    client_steps: Number = tau
    rates: tuple[Rate, Rate] | None = None
    rated: Number | None = None
    smoothness: Number = S
    who: Participants = Participants.EVERYONE
    more: tuple[Assumed, ...] = ()
    full: bool = False

    @property
    def run(self) -> Run:
        """The run."""
        client, server = self.rates or (w.rate(eta), w.rate(eta))
        split = Split(
            self.kind,
            self.who,
            w.pace(self.client_steps, client),
            w.pace(self.server_steps, server),
        )
        return Run(split, f"SFL-{self.kind}")

    @property
    def steps(self) -> Number:
        """How many steps the block's side makes in a round."""
        server = self.side is Side.SERVER
        return self.server_steps if server else self.client_steps

    @property
    def eta(self) -> Number:
        r"""The block's :math:`\eta^t`, by its value where the section chooses it."""
        if self.rated is not None or self.rates is None:
            return self.rated or eta()
        rate = self.rates[self.side is Side.SERVER]
        return w.called(Written(rate.at(t.value), ""), eta().tex)

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn."""
        return self.who is not Participants.EVERYONE

    @property
    def visited(self) -> bool:
        """Whether it is SFL-V2's server, whose steps have no weights."""
        return self.kind is Kind.V2 and self.side is Side.SERVER

    @property
    def together(self) -> Block:
        """The whole vector, for the repairs; SFL-V2's server with weights."""
        kind = Kind.V2_WEIGHTED if self.kind is Kind.V2 else self.kind
        return replace(self, kind=kind, side=None, server_steps=tau, client_steps=tau)

    @property
    def after(self) -> Form:
        r""":math:`\Delta_{t+1}`."""
        if not self.full:
            return self.distance(t + 1)
        everyone = w.over_clients(n, a() * self.run.p(n, t, self.steps))
        tex = rf"\bar{{x}}^{{{(t + 1).tex}}}"
        named = w.Name(r"\bar{x}", above=(t + 1).tex)
        return w.norm2(
            self.of(Written(everyone.value, tex, w.ATOM, named)) - self.of(best)
        )

    def of(self, u: Vector) -> Vector:
        """Return the block of a vector."""
        return u if self.side is None else w.part(self.side, u)

    def distance(self, at: Number | int) -> Form:
        r"""Return :math:`\Delta_t`."""
        return w.norm2(self.of(self.run.x(at)) - self.of(best))

    @property
    def gap(self) -> Form:
        """``f(x^t) - f(x*)``."""
        return w.bracket(f(self.run.x(t)) - f(best))

    def over(self, body: Number, power: int = 1) -> Number:
        """Return ``sum_n a_n^power body``, without the weight for SFL-V2's server."""
        return w.over_clients(n, self.weighted(body, power))

    def weighted(self, body: Written[w.Value], power: int = 1) -> Written[w.Value]:
        """Return ``a_n^power body``."""
        if self.visited:
            return body
        return (a() if power == 1 else a() ** power) * body

    def noise(self, first: bool) -> Number:
        r"""Return ``sum_n a_n^2 (2 sigma_n^2 + G^2)``, or with a_n: the second one."""
        second = 2 * s.sigma2() + G2
        if first and self.drawn and not self.full:
            second = second + G2 * w.inverse_chance(n)
        return self.over(second, 2 if first else 1)

    def recursion(self, modulus: Number, earned: bool = True) -> Form:
        """Return the right side of (53): ``1 - eta tau mu/2``, gap, noise, drift.

        Args:
            modulus: mu; 0 leaves the contraction out.
            earned: whether the gap is subtracted.
        """
        e, b, D, S = self.eta, self.steps, self.distance(t), self.smoothness
        out = (1 - self.contracted(modulus) / 2) * D if modulus.value else D
        if earned:
            out = out - 2 * e * b * self.gap
        noise = e**2 * b**2 * N * self.noise(True)
        return out + noise_and_drift(noise, 24 * S * b**3 * e**3 * self.noise(False))

    @property
    def B1(self) -> Number:
        """Return the first number of (61)."""
        return w.called(4 * N * self.noise(True), "B_1")

    @property
    def B2(self) -> Number:
        """Return the second number of (61)."""
        return w.called(192 * self.smoothness * self.noise(False), "B_2")

    def rewritten(self, modulus: Number, now: Form | Number | None = None) -> Form:
        """Return the right side of (61), in B_1 and B_2, at the distance `now`."""
        e, b = self.eta, self.steps
        D = self.distance(t) if now is None else w.as_form(now)
        out = (1 - self.contracted(modulus) / 2) * D
        noise, drift = e**2 * b**2 / 4 * self.B1, e**3 * b**3 / 8 * self.B2
        return out + noise_and_drift(noise, drift)

    def contracted(self, modulus: Number) -> Number:
        """Return ``eta tau mu``, times N for SFL-V2's server."""
        product = self.eta * self.steps * modulus
        return N * product if self.visited else product

    def small(self) -> Assumed:
        """Return ``eta^t <= 1/(2 S tau_b)``."""
        return w.at_most(self.eta, 1 / (2 * self.smoothness * self.steps))

    def assumed(
        self, modulus: Number | int = mu, small: bool = True
    ) -> tuple[Assumed, ...]:
        """Return the assumptions of the convex cases, at most the rate's one."""
        return w.assumptions(
            s.assumption_31(self.smoothness),
            s.assumption_32(self.run),
            s.assumption_33(self.run),
            s.assumption_C2(modulus),
            s.minimum(),
            [self.small()] if small else [],
            [w.participation(self.run).called("App. C.2")] if self.drawn else [],
            self.more,
        )

    def one_round(self, modulus: Number = mu, earned: bool = True) -> Says:
        """Return (53), (60), (70), (74), ...: one round of the block."""
        right = self.recursion(modulus, earned)
        return says(self.after, right, *self.assumed(modulus))

    def theorem(self, modulus: Number) -> Theorem:
        """Return the recursion of the whole vector, the kernel's."""
        if self.full:
            return joint.full_round(modulus.value)
        return joint.one_round(self.kind, modulus.value, self.who)

    @property
    def c(self) -> Number:
        """The drift's factor in it."""
        own = w.number(Fraction(1) if self.kind.visits else Fraction(1, 3))
        if not (self.drawn and self.kind.visits):
            return own
        kappa = w.over_clients(n, a() * w.inverse_chance(n))
        return Fraction(1, 3) + kappa * self.spread

    @property
    def spread(self) -> Number:
        """``1 + rho``, by which draws enlarge the squared move."""
        if not self.drawn or self.full:
            return w.number(1)
        return 1 + w.over_clients(n, a() ** 2 * (w.inverse_chance(n) - 1))


def noise_and_drift(noise: Number, drift: Number) -> Form:
    """Return the last two terms of a recursion."""
    return w.as_form(noise + drift)


def shown(
    what: Says,
    uses: Callable[[], Iterable[tuple[Theorem, Exact]]],
    words: str,
    reading: str = "",
    squares: Callable[[], Iterable[tuple[Vec, Exact]]] = tuple,
    signs: Callable[[], Iterable[Theorem]] = tuple,
    model: Callable[[], ModelData] | None = None,
) -> Part:
    """Return a part that a combination of theorems proves.

    Args:
        what: the statement.
        uses: theorems and what they are multiplied by.
        words: the idea.
        reading: how the printed words became the term.
        squares: vectors whose squared lengths are added, and factors.
        signs: why a remainder is not negative.
        model: what meets the assumptions; the standard witness if left out.

    Returns:
        The part.
    """

    def theorem() -> Theorem:
        target = what.right.value - what.left.value
        return combine(*uses(), *squares(), target=target, signs=signs())

    return proved(what, theorem, words, reading, model=model or meeting(what, t=0))


def asked(what: Says, data: ModelData) -> ModelData:
    """Return a model without the parameters that a statement does not mention."""
    one = what.statement("")
    free = one.left.free.union(one.right.free, *(h.free for h in one.hypotheses))
    return replace(
        data,
        numbers={key: c for key, c in data.numbers.items() if key in free},
        families={key: c for key, c in data.families.items() if key in free},
    )


TOGETHER = (
    r"$\|x^{t+1}-x^*\|^2=\|x^t-x^*\|^2-2\eta\langle G,x^t-x^*\rangle+\eta^2\|G\|^2$, "
    r"$G=\sum_na_n\sum_ig_n^{t,i}$. Noise has mean 0, so $G$'s inner product is that "
    r"of the local gradients: Lemma C.3 at each. Jensen: $\|G\|^2\le\tau^2G^2$; "
    r"the drift $\sum_na_n\sum_i\|x_n^{t,i}-x^t\|^2$ is at most $c\,\eta^2\tau^3G^2$, "
    r"$c=\frac13$ (SFL-V1) or 1 (weighted server steps, any order of visits)."
)


DRAWN = (
    r" Draws: $\mathbb E J_n=1$ with $J_n=I_n/q_n$, and $\mathbb E\|\sum_na_nJ_nV_n\|^2"
    r"\le(1+\rho)\tau^2G^2$, $\rho=\sum_na_n^2(1/q_n-1)$; in SFL-V2 given the draws, "
    r"where a point has moved by at most $W=\sum_na_nJ_n\le\sum_na_n/q_n$ times more."
)


def sharp(block: Block, modulus: Number = mu) -> Part:
    """Return the strongest proved recursion of the whole vector, any rate."""
    one, e = block.together, eta()
    right = (1 - e * tau * modulus / 2) * one.distance(t) if modulus.value else None
    out = (right or one.distance(t)) - 2 * e * tau * one.gap
    noise, drift = e**2 * tau**2 * G2, 2 * one.c * S * e**3 * tau**3 * G2
    if one.spread.value - 1:
        noise = one.spread * noise
    out = out + noise_and_drift(noise, drift)
    what = says(one.after, out, *one.assumed(modulus, small=False))
    words = TOGETHER + DRAWN * one.drawn
    return shown(what, lambda: [(one.theorem(modulus), 1)], words)


def merged(block: Block, modulus: Number = mu, earned: bool = True) -> Part:
    """Return the printed recursion, its blocks replaced by the whole vector.

    Where SFL-V2's clients are drawn its drift has a larger factor: see `sharp`.
    """
    one = block.together
    if one.drawn and one.kind.visits:
        return sharp(block, modulus)
    words = TOGETHER + DRAWN * one.drawn + r" And $N\sum_na_n^2\ge1$."
    what = one.one_round(modulus, earned)
    return shown(what, lambda: recursion_of(one, modulus, earned), words)


def recursion_of(
    one: Block, modulus: Number, earned: bool
) -> list[tuple[Theorem, Exact]]:
    """Return what the printed recursion of the whole vector follows from."""
    e = eta().value
    lowest = derived.lowest(MEAN, one.run.x(t).value)
    return [
        (one.theorem(modulus), 1),
        (joint.weights_spread(), (e * tau.value) ** 2 * G2.value),
        *([] if earned else [(lowest, 2 * e * tau.value)]),
    ]


# Models ----------------------------------------------------------------------------


def bent(*shapes: Shape) -> Shape:
    """Return the sum of functions that have only bends."""
    hessian, linear, _ = shapes[0]
    return hessian, linear, tuple(bend for shape in shapes for bend in shape[2])


def ordered(block: Block, clients: int = 1, made: int = 1) -> list[tuple[int, int]]:
    """Return an order of the visits, if the server makes visits."""
    if not block.kind.visits:
        return []
    return [(client, step) for client in range(clients) for step in range(made)]


class Half(TypedDict, total=False):
    """What a model with one client says of its chance."""

    participation: tuple[Fraction]
    rounds: int


def half(block: Block, rounds: int = 1) -> Half:
    """Return that the client takes part half of the time, if clients are drawn."""
    if not block.drawn:
        return {}
    return {"participation": (Fraction(1, 2),), "rounds": rounds}


def placed(block: Block, own: w.Exact, other: w.Exact) -> tuple[Fraction, Fraction]:
    """Return a point by the value of the block and that of the other one."""
    server = block.side is Side.SERVER
    pair = (other, own) if server else (own, other)
    return Fraction(pair[0]), Fraction(pair[1])


def at_minimiser(block: Block, modulus: Number = mu) -> Model:
    r"""Return a block that is at its minimiser, while the other one is not."""
    start = placed(block, 0, 1)
    curved = bool(modulus.value)
    numbers: dict[str | Number, w.Exact] = {S: 1, block.client_steps: 1, t: 0}
    numbers[block.server_steps] = 1
    if curved:
        F, numbers[G2], numbers[modulus] = parabola(1, (0, 0)), 1, 1
    else:
        F, numbers[G2] = bent(huber((1, 0), 0, 1), huber((0, 1), 0, 1)), 2
    words = "$F=\\frac12\\|x\\|^2$" if curved else "$F=h(x_c)+h(x_s)$, h Huber"

    def data() -> ModelData:
        return federation(
            [F],
            start,
            order=ordered(block),
            numbers=numbers,
            families={"sigma2": (0,)},
            rates={"eta": Fraction(1, 100)},
            best={f: (0, 0)},
            box=[(Fraction(0), z) for z in start] if curved else (),
            **half(block),
        )

    return Model(
        data,
        f"One client, no noise, {words}, one step at $\\eta=\\frac1{{100}}$. The block "
        "stays at 0, where it is best; the other block is at 1. The left side is 0, "
        r"the right side $-2\eta\cdot\frac12+O(\eta^2)<0$.",
    )


def driven(block: Block) -> Model:
    """Return a block that the other one drives away, while f falls."""

    def data() -> ModelData:
        return federation(
            [quadratic([(2, 1), (1, 2)], (0, 0))],
            placed(block, Fraction(1, 4), -1),
            order=ordered(block),
            numbers={
                S: 3,
                block.client_steps: 1,
                block.server_steps: 1,
                t: 0,
                G2: 18,
                mu: 1,
            },
            families={"sigma2": (0,)},
            rates={"eta": Fraction(1, 1000)},
            best={f: (0, 0)},
            box=[(-1, 1), (-1, 1)],
            **half(block),
        )

    return Model(
        data,
        r"One client, $F=x_c^2+x_cx_s+x_s^2$, the block at $\frac14$ and the other at "
        r"$-1$: the block's gradient is $-\frac12$, it moves outward at first order in "
        r"$\eta$; the right side allows growth of second order only.",
    )
