r"""One round of the non-convex case, block by block: App. D.3, E.3, F.3 and G.3 alike.

The four sections print the same steps. What differs is in `Blocks`: the algorithm, its
numbers of steps, by what :math:`c_n` a side's sums over clients are weighted, and which
learning rates are admitted.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Repair, Says, Severity, broken, says
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run, Vector
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import N, S, T, eps2, eta, f, i, n, sigma2, t
from sfl_theory.proofs.export import ModelData

SIDES = (Side.SERVER, Side.CLIENT)
"""In the order of the paper's sections."""
weighting = w.of_client("v", n, "v_{{n}}")


def assumed(run: Run, more: tuple[Assumed, ...] = ()) -> tuple[Assumed, ...]:
    """Return Assumptions 3.1, 3.2, 3.4, and more."""
    return (s.assumption_31(), *s.assumption_32(run), s.assumption_34(), *more)


@dataclass(frozen=True)
class Blocks:
    """What the steps of a section speak of.

    Attributes:
        run: the algorithm.
        steps: the numbers of local steps of the two sides, as written.
        spread: c_n of each side; None is 1 and not written.
        rates: what the theorem of the section says of the learning rate of round t.
        more: what else is assumed.
    """

    run: Run
    steps: Mapping[Side, Number]
    spread: Mapping[Side, Number | None]
    rates: tuple[Assumed, ...] = ()
    more: tuple[Assumed, ...] = ()

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        """Assumptions 3.1, 3.2, 3.4, and more."""
        return assumed(self.run, self.more)

    def move(self, side: Side) -> Vector:
        """Return by what a block moves in a round."""
        return w.part(side, self.run.x(t + 1)) - w.part(side, self.run.x(t))

    def pull(self, side: Side) -> Form:
        """Return the product of the block of the gradient with its move."""
        return w.inner(f.gradient(self.run.x(t), side), self.move(side))

    def slope(self, side: Side | None = None) -> Form:
        """Return the squared gradient of f at x(t), or of a block of it."""
        return w.norm2(f.gradient(self.run.x(t), side))

    def away(self, side: Side | None = None) -> Form:
        """Return how far a local point, or a block of it, is from x(t)."""
        p, x = self.run.p(n, t, i), self.run.x(t)
        return w.norm2(p - x if side is None else w.part(side, p) - w.part(side, x))

    def over(self, side: Side, body: Form | Number) -> Form:
        """Return the sum over clients with the side's c_n."""
        c = self.spread[side]
        return w.over_clients(n, w.as_form(body) if c is None else c * w.as_form(body))

    def all_clients(self, side: Side) -> Number:
        """Return ``N sum c_n``, N^2 where c_n = 1."""
        c = self.spread[side]
        return N**2 if c is None else N * w.over_clients(n, c)

    def gradient(self, side: Side) -> Vector:
        """Return the block of g_n^{t,i}."""
        return w.part(side, self.run.g(n, t, i))

    def first_gradient(self, side: Side) -> Vector:
        """Return the block of g_n^t, at x(t) with the noise of the first step."""
        local = w.local(n).gradient(self.run.x(t))
        name = w.Name("g", n.name, t.tex)
        value = local.value + self.run.xi(n, t, 0).value
        return w.part(side, w.Written(value, str(name), w.ATOM, name))


def first_order(b: Blocks, side: Side, whole: bool = False) -> Says:
    """Return (78); `whole`: with the move of the whole vector."""
    steps = b.steps[side]
    moves = b.over(side, w.below(i, steps, b.away(None if whole else side)))
    right = -(eta() * steps / 2) * b.slope(side) + N * eta() * S**2 / 2 * moves
    return says(b.pull(side), right, *b.assumed, *(() if whole else b.rates))


def each_client(body: Form) -> Form:
    """Return a sum with arbitrary weights: an inequality for every client."""
    return w.over_clients(n, weighting * body)


def drift(b: Blocks, side: Side, whole: bool = False) -> Says:
    """Return (79); `whole`: with the move and the gradient of the whole vector."""
    steps, of_block = b.steps[side], None if whole else side
    each = 8 * steps * eta() ** 2
    bracket = w.form(each * sigma2()) + each * eps2 + each * b.slope(of_block)
    left = each_client(w.below(i, steps, b.away(of_block)))
    rates = (at_most_root(b, side, 8),) if whole else b.rates
    return says(left, each_client(2 * steps**2 * bracket), *b.assumed, *rates)


def at_most_root(b: Blocks, side: Side, k: int) -> Assumed:
    """Return ``eta <= 1/(sqrt(k) S tau_b)``, squared."""
    lemma = {8: "Lemma C.6's learning rate", 4: "Lemma C.7's learning rate"}
    return w.at_most(k * (S * eta() * b.steps[side]) ** 2, 1).called(lemma[k])


def first_order_closed(b: Blocks, side: Side, whole: bool = False) -> Says:
    """Return (80); `whole`: with the gradient of the whole vector behind eta^3."""
    steps = b.steps[side]
    first, third = eta() * steps / 2, 8 * N * eta() ** 3 * steps**3 * S**2
    if whole:
        bracket = w.form(sigma2() + eps2) + b.slope()
        right = -first * b.slope(side) + third * b.over(side, bracket)
        return says(b.pull(side), right, *b.assumed, at_most_root(b, side, 8))
    c = 8 * eta() ** 3 * steps**3 * S**2 * b.all_clients(side)
    noise = b.over(side, eta() ** 2 * (sigma2() + eps2))
    right = (-first + c) * b.slope(side) + 8 * N * eta() * S**2 * steps**3 * noise
    return says(b.pull(side), right, *b.assumed, *b.rates)


def second_order(b: Blocks, side: Side, times: int = 1) -> Says:
    """Return (81), its right side `times` as much."""
    steps, block = b.steps[side], w.part(side, w.local(n).gradient(b.run.x(t)))
    far = w.norm2(b.gradient(side) - b.first_gradient(side))
    each = w.below(i, steps, far + w.norm2(block) + sigma2())
    c = S * N * eta() ** 2 * steps / 2
    right = c * b.over(side, each)
    rates = b.rates if times == 1 else ()
    left = S / 2 * w.norm2(b.move(side))
    return says(left, right if times == 1 else times * right, *b.assumed, *rates)


def change(b: Blocks, side: Side, whole: bool = False) -> Says:
    """Return (82); `whole`: with the whole gradient and the variance of two samples."""
    steps, local = b.steps[side], w.local(n).gradient(b.run.x(t))
    far = w.norm2(b.gradient(side) - b.first_gradient(side))
    block = local if whole else w.part(side, local)
    most = 8 * steps**3 * eta() ** 2 * S**2 * (w.norm2(block) + sigma2())
    left = each_client(w.below(i, steps, far))
    if whole:
        right = each_client(most + 3 * steps * sigma2())
        return says(left, right, *b.assumed, at_most_root(b, side, 4))
    return says(left, each_client(most), *b.assumed, *b.rates)


def second_order_closed(b: Blocks, side: Side, whole: bool = False) -> Says:
    """Return (83); `whole`: 5/2 times, the whole gradient behind eta^4."""
    steps = b.steps[side]
    c, late = S * N * eta() ** 2 * steps / 2, 8 * steps**3 * eta() ** 2 * S**2

    def bracket(of_block: Side | None) -> Form:
        return 2 * b.slope(of_block) + 2 * eps2 + sigma2()

    left = S / 2 * w.norm2(b.move(side))
    if whole:
        both = steps * bracket(side) + late * bracket(None)
        right = w.number(Fraction(5, 2)) * c * b.over(side, both)
        return says(left, right, *b.assumed, at_most_root(b, side, 8))
    right = c * b.over(side, (steps + late) * bracket(side))
    return says(left, right, *b.assumed, *b.rates)


# One round and all rounds ----------------------------------------------------------


@dataclass(frozen=True)
class Descent:
    """What a section concludes from its blocks.

    Attributes:
        run: the algorithm.
        period: tau_min.
        squares: the sum of the squared numbers of steps.
        per_step: the same over tau_min.
        noise: the sum over clients, weighted, of sigma_n^2 + eps2.
        rates: what the theorem says of the learning rate of round t.
        more: what else is assumed.
    """

    run: Run
    period: Number
    squares: Number
    per_step: Number
    noise: Number
    rates: tuple[Assumed, ...]
    more: tuple[Assumed, ...] = ()

    @property
    def assumed(self) -> tuple[Assumed, ...]:
        """Assumptions 3.1, 3.2, 3.4, and more; clients' samples may depend."""
        printed = s.assumption_32(self.run)[:2]
        return (s.assumption_31(), *printed, s.assumption_34(), *self.more)

    @property
    def slope(self) -> Form:
        """The squared gradient of f at x(t)."""
        return w.norm2(f.gradient(self.run.x(t)))

    def one_round(self) -> Says:
        """Return (87), end to end."""
        x, after = self.run.x(t), self.run.x(t + 1)
        noise = 2 * N * S * eta() ** 2 * self.squares * self.noise
        right = -(eta() * self.period / 4) * self.slope + noise
        return says(f(after) - f(x), right, *self.assumed, *self.rates)

    def rearranged(self) -> Says:
        """Return (88)."""
        x, after = self.run.x(t), self.run.x(t + 1)
        noise = 8 * N * S * eta() ** 2 * self.per_step * self.noise
        right = w.number(4) / self.period * (f(x) - f(after)) + noise
        return says(eta() * self.slope, right, *self.assumed, *self.rates)

    def all_rounds(self) -> Says:
        """Return (89), which is the theorem's bound."""
        gap = f.gap(self.run.x(0))
        noise = 8 * N * S * self.per_step / T * self.noise
        left = w.number(1) / T * w.below(t, T, eta() * self.slope)
        right = w.number(4) / (T * self.period) * gap
        right = right + noise * w.below(t, T, eta() ** 2)
        rates = [w.every_round(t, T, one) for one in self.rates]
        return says(left, right, *self.assumed, s.minimum(), *rates)


# Models ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Coupled:
    r"""Two equal clients with :math:`F_n=(x_c^2+x_cx_s+x_s^2)/3`, curvatures 1/3 and 1.

    Without noise and heterogeneity. Where a block of the gradient vanishes it is moved
    all the same, once the other block has moved.

    Attributes:
        ahead: x^t, the block in question first.
        steps: numbers of local steps.
        rate: the learning rate.
        chance: q_n.
    """

    ahead: tuple[int, int]
    steps: int
    rate: Fraction
    chance: Fraction = Fraction(1)

    def model(self, b: Blocks, side: Side, each: bool) -> ModelData:
        """Return the model; `each`: the statement is for each client."""
        third, (own, other) = Fraction(1, 3), self.ahead
        shape = (((2 * third, third), (third, 2 * third)), (Fraction(0),) * 2, ())
        numbers: dict[str | Number, int | Fraction | str] = {t: 0, S: 1, eps2: 0}
        numbers |= {one: self.steps for one in b.steps.values()}
        visited = b.run.split.kind.visits
        families: dict[str, tuple[int, int]] = {"sigma2": (0, 0)}
        return federation(
            [shape, shape],
            (own, other) if side is Side.CLIENT else (other, own),
            participation=(self.chance, self.chance),
            rounds=int(self.chance != 1),
            order=[(m, step) for step in range(self.steps) for m in range(2)] * visited,
            numbers=numbers,
            families=families | ({"v": (1, 1)} if each else {}),
            rates={"eta": self.rate},
        )


# Claims ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Step:
    """A step that the four sections print for each block.

    Attributes:
        title: what it says.
        says: its statement.
        cause: why it fails.
        where: what happens in the model that breaks it.
        reading: how its words became the term.
        each: it is for each client.
    """

    title: str
    says: Callable[[Blocks, Side], Says]
    cause: str
    where: str
    reading: str = ""
    each: bool = False


EACH = "for each client: the weights v_n >= 0 are arbitrary"
AT_REST = (
    r"$\nabla_bf(x^t)=0$, so the right side is 0; after the first step of the other "
    r"block the gradient of this one is not 0, and its second step moves it."
)
FIRST_ORDER = Step(
    "The product of the block's gradient with its move, by the block's drift.",
    first_order,
    "The block's gradient changes when the other block moves; smoothness bounds it by "
    "the move of the whole vector.",
    "The other block's gradient is far larger; within two steps its move turns this "
    "block's gradient round, while this block itself hardly drifts.",
)
DRIFT = Step(
    "The drift of a block by the block's gradient (Lemma C.6 for a block).",
    drift,
    "Lemma C.6 is on the whole vector: with grad_b f = 0 the block moves as soon as "
    "the other one has moved.",
    AT_REST,
    EACH,
    each=True,
)
FIRST_ORDER_CLOSED = Step(
    "The product of the block's gradient with its move, by the block's gradient.",
    first_order_closed,
    "The other block's move turns the block's gradient round within the round, "
    "whatever that block's own gradient was.",
    "The other block's gradient is far larger; its first step turns this block's "
    "gradient round, so the product is positive.",
)
SECOND_ORDER = Step(
    "The squared move of a block, by changes of its gradient.",
    second_order,
    "E||u + v||^2 <= E||u||^2 + E||v||^2 without Young's factor: it fails where the "
    "block's gradient grows during the round.",
    "The second gradient of the block is about twice the first: the square of a sum "
    "of two equal vectors is twice the sum of their squares.",
    r"$g_n^t$ is $\nabla F_n(x^t)+\xi_n^{t,0}$, the sample of the first step at x^t",
)
CHANGE = Step(
    "The change of the block's stochastic gradient (Lemma C.7 for a block).",
    change,
    "Lemma C.7, false in itself, applied to a block: with grad_b F_n = 0 its gradient "
    "changes when the other block moves, even without noise.",
    AT_REST,
    f"{EACH}; {SECOND_ORDER.reading}",
    each=True,
)
SECOND_ORDER_CLOSED = Step(
    "The squared move of a block, by the block's gradient.",
    second_order_closed,
    "With grad_b f = 0, no noise and no heterogeneity the right side is 0, but the "
    "block moves once the other one has moved.",
    AT_REST,
)
STEPS = (
    *((one, Side.SERVER) for one in (FIRST_ORDER, DRIFT, FIRST_ORDER_CLOSED)),
    *((one, Side.SERVER) for one in (SECOND_ORDER, CHANGE, SECOND_ORDER_CLOSED)),
    *((one, Side.CLIENT) for one in (FIRST_ORDER_CLOSED, SECOND_ORDER_CLOSED)),
)
"""The steps on blocks in the order in which every section prints them."""


@dataclass(frozen=True)
class Section:
    """Where a section prints the steps on blocks.

    Attributes:
        place: of the section.
        first: the number of its first equation.
        printed: what its steps speak of.
        slow: the models' learning rate is 1/slow, divided by their steps.
        chance: q_n in the models.
    """

    place: str
    first: int
    printed: Blocks
    slow: int
    chance: Fraction = Fraction(1)

    def claim(
        self,
        number: int,
        ahead: tuple[int, int],
        repair: Repair,
        uses: str = "",
        made: int = 2,
    ) -> Claim:
        """Return the refuted claim on a step.

        Args:
            number: of the equation.
            ahead: x^t of the model, the block in question first.
            repair: the nearest true statement.
            uses: what the printed proof rests on.
            made: how many local steps the model makes.

        Returns:
            The claim.
        """
        step, side = STEPS[number - self.first]
        at = Coupled(ahead, made, Fraction(1, self.slow * made), self.chance)
        return Kind.EQUATION(
            f"han2024/eq-{number}",
            f"{self.place}.{1 + SIDES.index(side)}, ({number})",
            step.title,
            broken(
                step.says(self.printed, side),
                partial(at.model, self.printed, side, step.each),
                step.where,
                step.reading,
            ),
            severity=Severity.PROOF,
            cause=step.cause,
            scope="within the theorem's learning rates, weights 1/2, no noise"
            + (f", q_n = {self.chance}" if self.chance != 1 else ""),
            uses=uses,
            repair=repair,
        )
