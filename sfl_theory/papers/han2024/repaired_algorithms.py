"""What the repaired convex cases of Theorems 3.6 to 3.9 have in common.

The algorithms, their constants c_1 (of a move) and c_d (of the drift), and models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Part, Says
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import (
    a,
    excess,
    mu,
    n,
    tau,
    tau_server,
)
from sfl_theory.papers.han2024.two_periods import LONGER, d, named
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.export import ModelData, Vector
from sfl_theory.proofs.weighted_rounds import Weighted
from sfl_theory.proofs.witnesses import IDENTITY, witness
from sfl_theory.written import Assumed, Number, Run

S = mu + excess
"""S = mu + s, so that S >= mu."""
gamma = printed.Data(S=S).gamma
third = Fraction(1, 3)
inverse = w.inverse_chance(n)
more = w.over_clients(n, a() ** 2 * (inverse - 1))
mean_inverse = w.over_clients(n, a() * inverse)
mean_square = w.over_clients(n, a() ** 2 * inverse**2)
SECOND = {
    "3.6": w.number(1),
    "3.7": w.number(1),
    "3.8": 1 + more,
    "3.9": mean_inverse + mean_square / 7,
}
"""c_1: of the second moment of a round's move."""
DRIFT = {
    "3.6": w.number(third),
    "3.7": w.number(Fraction(4, 3)),
    "3.8": w.number(third),
    "3.9": third + mean_inverse + mean_square,
}
"""c_d: of the drift."""
WEIGHTED = (
    "server steps weighted by a_n: for a_n = 1/N the printed algorithm with the "
    "server's rate divided by N"
)
EQUAL = "equal numbers of steps"


def times(number: Number | int, constant: Number) -> Number:
    """Return a product; a constant that is 1 is not written."""
    one = w.number(number)
    return one if not constant.value - 1 else one * constant


@dataclass(frozen=True)
class Algorithm:
    """What a repair is about.

    Attributes:
        number: of the theorem.
        longer: the side of SFL-V1 that makes d steps more; None: equal numbers.
    """

    number: str
    longer: Side | None = None

    @property
    def paces(self) -> Paces:
        """SFL-V1 in the proofs' terms."""
        return Paces(self.longer or Side.SERVER, printed.partial(self.number))

    @property
    def weighted(self) -> Weighted:
        """Equal numbers of steps in the proofs' terms."""
        kind = k.Kind.V2_WEIGHTED if printed.shared(self.number) else k.Kind.V1
        return Weighted(kind, printed.partial(self.number))

    def steps(self, side: Side) -> Number:
        """Return a side's number of steps."""
        if self.longer is None:
            return tau
        low, tex = (
            (tau, r"\tilde{\tau}")
            if self.longer is Side.SERVER
            else (tau_server, r"\tau")
        )
        return named(low + d, tex) if side is self.longer else low

    @property
    def unequal(self) -> Number:
        """1 - tau_min/tau_max."""
        if self.longer is None:
            return w.number(0)
        short = Side.CLIENT if self.longer is Side.SERVER else Side.SERVER
        return 1 - self.steps(short) / self.steps(self.longer)

    def run(self, rate: Callable[[Side], k.Rate]) -> Run:
        """Return the run at these rates."""
        partial_ = printed.partial(self.number)
        who = k.Participants.UPDATES if partial_ else k.Participants.EVERYONE
        client, server = (
            w.pace(self.steps(side), rate(side)) for side in (Side.CLIENT, Side.SERVER)
        )
        kind = self.weighted.kind
        return Run(k.Split(kind, who, client, server), f"SFL-{kind}")

    def assumed(
        self, r: Run, smooth: Number, modulus: Number | int
    ) -> tuple[Assumed, ...]:
        """Return what is assumed."""
        drawn = [w.participation(r)] if printed.partial(self.number) else []
        return (
            s.assumption_31(smooth),
            w.unbiased(r).called("Assumption 3.2, (5)"),
            s.assumption_33(r),
            s.assumption_C2(modulus),
            s.minimum(),
            *drawn,
        )

    @property
    def reading(self) -> str:
        """How the algorithm is read."""
        if printed.shared(self.number):
            return WEIGHTED
        return EQUAL if self.longer is None else LONGER[self.longer]


@dataclass(frozen=True)
class Line:
    """A proved line: the algorithm, its run, and the part of the repair."""

    algorithm: Algorithm
    run: Run
    part: Part


Named = dict[str, tuple[Line, ...]]


def orders(number: str) -> tuple[Algorithm, ...]:
    """Return SFL-V1 by which side makes more steps."""
    return tuple(Algorithm(number, side) for side in Side)


def example(one: Algorithm, what: Says) -> ModelData:
    """Return the standard witness; with S = 4 mu where S = mu + s: rates are smaller.

    Drawn clients stay in its box; with a side that makes more steps than one, that
    side's block rests and the other one moves.
    """
    model = witness(what.statement("witness"))
    if (s_ := w.variable(excess)) in model.numbers:
        model = replace(model, numbers=model.numbers | {s_: Fraction(3)})
    if one.longer is None or not printed.partial(one.number):
        return model

    def along(moves: Fraction, rests: Fraction = Fraction(0)) -> Vector:
        return (moves, rests) if one.longer is Side.SERVER else (rests, moves)

    half, wide = Fraction(1, 2), (-Fraction(1), Fraction(1))
    still = (Fraction(0), Fraction(0))
    law = tuple((half, along(z), along(z)) for z in (half, -half))
    return replace(
        model,
        start=along(half),
        functions=tuple((IDENTITY, along(z), ()) for z in (-half, half)),
        noise=(law, law),
        box=(wide, still) if one.longer is Side.SERVER else (still, wide),
    )
