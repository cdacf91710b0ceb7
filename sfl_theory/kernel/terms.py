"""What statements speak of: clients, functions, runs, vectors and expected numbers.

A model interprets a term (`docs/trusted-base.md`): there are N >= 1 clients; parameters
are numbers; every function is differentiable with a Lipschitz gradient; every vector is
a square-integrable random vector of two blocks, the client's and the server's. No free
name has a meaning: what is special (weights, draws, minimisers) is a class.
"""

# ruff: noqa: F403, F405 - the terms and what they share are one module for others

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from functools import lru_cache, partial
from typing import Any, cast

from .algebra import Built, Number, Ratio, Sort, Symbol, ratio, require
from .binders import *

number_at: Callable[[Ratio, Substitution], Ratio] = at
vec_at: Callable[[Vec, Substitution], Vec] = at
lin_at: Callable[[Lin, Substitution], Lin] = at
symbol: Callable[[Symbol], Ratio] = lifted
vec: Callable[[VecAtom], Vec] = lifted


class Named(Enum):
    """An enumeration that prints as its values."""

    def __str__(self) -> str:
        return str(self.value)


class Side(Named):
    """The block of a vector: what the clients hold, or the server."""

    CLIENT = "client"
    SERVER = "server"


class Kind(Named):
    """The versions of split federated learning, see `Split`."""

    V1 = "v1"
    V2 = "v2"
    V2_WEIGHTED = "v2-weighted"
    MINIBATCH = "minibatch"
    COUNTED = "counted"

    @property
    def shared(self) -> bool:
        """Whether the clients' steps of a round move one server model."""
        return self not in (Kind.V1, Kind.COUNTED)

    @property
    def visits(self) -> bool:
        """Whether the clients' steps of a round happen one after another (SFL-V2)."""
        return self in (Kind.V2, Kind.V2_WEIGHTED)


class Participants(Named):
    """Who takes part in a round, and what those who do send; see `Split`."""

    EVERYONE = "everyone"
    UPDATES = "updates"
    MODELS = "models"
    MEAN = "updates, the server's mean of those present, weighted by a/q"


class Point(Variable, VecAtom, becomes=Vec):
    """Any square-integrable random vector."""

    name: str


def constant(value: Number) -> Lin:
    """Return a number as a form."""
    return Lin({UNIT: ratio(value)})


class Numbered(ClientIndex, shown="#{number}"):
    """The client of this number, counted from 0; beyond the last one, the last one."""

    number: int

    def _check(self) -> None:
        require(type(self.number) is int and self.number >= 0, "no number of a client")


class Function(Term):
    """A function from R^d to R."""


class NamedFunction(Variable, Function, becomes=Function):
    """Any function."""

    name: str


class Local(Function, shown="F[{client}]"):
    """``F_n``, the function of a client."""

    client: ClientIndex


class Mean(Function, shown="f"):
    """``f = sum_n a_n F_n``."""


class Argument(Variable, Symbol, sort=Sort.NATURAL, becomes=Ratio):
    """The argument of a `Rate`; it occurs nowhere else, and no file can name it."""

    name: str


MEAN, ROUND, STEP = Mean(), Argument("round"), Argument("step")


class Rate(Term, shown="{body}"):
    """A number for each round: a closed function of its argument, `ROUND`."""

    body: Ratio

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        require(CHANCE not in inner, "a rate is not random")
        return inner - {ROUND}

    def at(self, t: Ratio) -> Ratio:
        """Return the rate of round t."""
        return number_at(self.body, {ROUND: t})


class Family(Variable):
    """A parameter for each client or round."""

    name: str
    sort: Sort


class ClientFamily(Family):
    """A parameter for each client."""


class RoundFamily(Family, becomes=Rate):
    """A real parameter for each round; a `Rate` may replace it.

    Never a whole one, so no index has it, and an index grows with each bound step.
    """

    def _check(self) -> None:
        require(not self.sort.whole, "a family over rounds has no whole sort")


class Odds(Term, Symbol, shown="(1/q[{client}]-1)", sort=Sort.NONNEGATIVE):
    """``1/q_n - 1 >= 0`` for the probability q_n that client n takes part."""

    client: ClientIndex


class OfDraws(Term):
    """A number that draws decide: random, as `CHANCE` in `free` marks what has it."""

    run: Split
    client: ClientIndex
    round: Index

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        require(self.run.drawn, "only a run with partial participation has draws")
        return inner | {CHANCE}


class Draw(OfDraws, Symbol, shown="J({client},{round})", sort=Sort.NONNEGATIVE):
    """``J_n(t) = I_n(t)/q_n``: 1/q_n if client n takes part in round t, else 0."""


class Share(OfDraws, Symbol, shown="P({client},{round})", sort=Sort.NONNEGATIVE):
    """``P_n(t) = a_n J_n(t) / sum_m a_m J_m(t)``, 0 where that sum is 0."""


class Before(
    Term,
    Symbol,
    shown="before({earlier},{earlier_step};{later},{later_step};{round})",
    sort=Sort.NONNEGATIVE,
):
    """1 if the visit of step (m, j) comes before that of (n, i) in round t, else 0."""

    earlier: ClientIndex
    earlier_step: Index
    later: ClientIndex
    later_step: Index
    round: Index


class Member(Term, Symbol):
    """A member of a family."""

    family: Family

    def _check(self) -> None:
        vars(self)["sort"] = self.family.sort


class PerClient(Member, shown="{family}[{client}]"):
    """The member of a client family."""

    family: ClientFamily
    client: ClientIndex


class PerRound(Member, shown="{family}({round})"):
    """The member of a round family."""

    family: RoundFamily
    round: Index

    def replaced(self, by: Substitution) -> Any:
        """Return the rate of the round where a rate replaces the family."""
        round, family = natural(at(self.round, by)), at(self.family, by)
        if isinstance(family, Rate):
            return family.at(ratio(round))
        return made(PerRound, family, round)


class Descent(Term, shown="GD({function}; rate {rate})"):
    """Gradient descent: ``x(t+1) = x(t) - rate(t) grad F(x(t))``; x(0) is fixed."""

    function: Function
    rate: Rate


class Pace(Term, shown="{steps} steps at {rate}"):
    """How many local steps one side makes in a round, and its learning rate of t."""

    steps: Index
    rate: Rate

    def outside(self, t: Ratio) -> Ratio:
        """Return what multiplies all steps of round t."""
        return ratio(1) if isinstance(self, Stepwise) else self.rate.at(t)

    def inside(self, t: Ratio, i: Ratio) -> Ratio:
        """Return what else multiplies step i of round t."""
        stepwise = isinstance(self, Stepwise)
        return self.rate.at(ratio(self.steps) * t + i) if stepwise else ratio(1)


class Stepwise(
    Pace, shown="{steps} steps, each at {counted}, step counted over the whole run"
):
    """A pace whose rate counts steps: step i of round t is step t * steps + i."""

    def _check(self) -> None:
        vars(self)["counted"] = renamed(self.rate.body, ROUND, STEP)


AnyPace = Pace | Stepwise


class Split(
    Term, shown="SFL-{kind}({participants}; client: {client}; server: {server})"
):
    """A run of split federated learning, ``x(t)`` its model before round t.

    In round t client n has local points p(n,t,i), all from x(t), and draws noise
    xi(n,t,i), so that ``g(n,t,i) = grad F_n(p(n,t,i)) + xi(n,t,i)``. Side b steps while
    i < steps_b and then keeps its value until the round ends (App. C.2's clock). J_n is
    1 where everyone takes part, else `Draw`. The client block of p(n,t,i) is that of
    ``x(t) - rate_c sum_{j<min(i,steps_c)} g(n,t,j)`` for every client, drawn or not;
    the server block is

    - V1: the client's own, made in the same way;
    - V2: one for all. Visits (n, i) happen one after another, in any order in which a
      client's own steps keep theirs; each adds ``-rate_s J_n g_s(n,t,i)``;
    - V2_WEIGHTED: V2, each visit adds ``-rate_s a_n J_n g_s(n,t,i)``;
    - MINIBATCH: one for all; step i of all clients together adds
      ``-rate_s sum_n a_n J_n g_s(n,t,i)``, with MEAN ``-rate_s sum_n P_n g_s(n,t,i)``
      for the part P_n (`Share`) that client n has in the sum of all ``a_m J_m``.

    In COUNTED, SFL-V1 on one counter of iterations, t is an iteration: every client
    makes one step, step 0, at its own p(n,t,0), and x(t) = sum a_n p(n,t,0). Block b of
    p(n,t+1,0) is that of ``p(n,t,0) - rate_b(t) g(n,t,0)``; where t + 1 is a multiple
    of steps_b >= 1, side b's period, it is the mean of these, weighted by a_n.

    What is one for all becomes that block of x(t+1); the other blocks become
    ``x(t) + sum a_n J_n (p(n,t,end) - x(t))`` (EVERYONE, UPDATES, MEAN) or
    ``sum a_n J_n p(n,t,end)`` (MODELS). Noise beyond the steps that are made is 0;
    otherwise samples and what came before (see `Unbiased`) determine it.
    """

    kind: Kind
    participants: Participants
    client: AnyPace
    server: AnyPace

    def _check(self) -> None:
        fits = not self.kind.shared or self.client.steps == self.server.steps
        require(fits, "a shared server makes the clients' number of steps")
        fits = self.participants is not Participants.MEAN or self.kind is Kind.MINIBATCH
        require(fits, "no server steps by a mean")
        for pace in (self.client, self.server) if self.kind is Kind.COUNTED else ():
            fits = type(pace) is Pace and not self.drawn
            require(fits, "everyone takes part, rates are those of iterations")
            natural(ratio(pace.steps) - 1)

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn."""
        return self.participants is not Participants.EVERYONE

    def pace(self, side: Side) -> AnyPace:
        """Return the pace of a side."""
        return self.client if side is Side.CLIENT else self.server

    def steps(self, side: Side) -> Index:
        """Return how many steps a side makes in a round."""
        return natural(1) if self.kind is Kind.COUNTED else self.pace(side).steps


Run = Descent | Split
Replacement = Ratio | ClientIndex | Function | Vec | Rate


class Star(VecAtom, shown="{function}*"):
    """A minimiser of a function; fixed, and meaningful under `Minimiser`."""

    function: Function


class Gradient(VecAtom, shown="grad {function}({at})"):
    """The gradient of a function at a point."""

    function: Function
    at: Vec


class Value(LinAtom, shown="{function}({at})"):
    """``E F(p)``."""

    function: Function
    at: Vec


class Iterate(VecAtom, shown="x({round})"):
    """``x(t)`` of a run."""

    run: Run
    round: Index


class OfStep(VecAtom):
    """What a client has at a step of a round."""

    run: Split
    client: ClientIndex
    round: Index
    step: Index


class LocalPoint(OfStep, shown="p({client},{round},{step})"):
    """``p(n, t, i)`` of a run."""


class Noise(OfStep, shown="xi({client},{round},{step})"):
    """``xi(n, t, i)`` of a run."""


class Expected(VecAtom, shown="E[{vector} | {round}]"):
    """``E[u | draws and noises of the run's rounds before t]``; `tower` says so.

    Like an iterate it hides draws; its own mark is that it depends on their law.
    """

    run: Split
    round: Index
    vector: Vec

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {CHANCE} | {CONDITIONAL}


def side_of(atom: VecAtom) -> Side | None:
    """Return the block in which a vector lies, if it is known to lie in one."""
    if isinstance(atom, Part):
        return atom.side
    return side_of(atom.body) if isinstance(atom, VecSum) else None


def part(side: Side, u: Vec) -> Vec:
    """Return the block of a vector: linear, and taken inside sums."""
    items = u.coefficients.items()
    return Vec.weighted(
        (_part(side, atom), c) for atom, c in items if side_of(atom) in (side, None)
    )


@lru_cache(maxsize=4096)
def _part(side: Side, atom: VecAtom) -> Vec:
    if not isinstance(atom, VecSum):
        return vec(atom if isinstance(atom, Part) else Part(side, atom))
    v, inside = atom.opened()
    return summed(atom.binder, v, part(side, inside))


class Part(VecAtom, shown="[{vector}]_{side.value[0]}", made=staticmethod(part)):
    """The block of a vector, the other block set to 0."""

    side: Side
    vector: VecAtom


def inner(u: Vec, v: Vec) -> Lin:
    """Return ``E<u, v>``, bilinear, blocks orthogonal; pairs of ``<u, u>`` doubled."""
    out = dict[LinAtom, list[tuple[Ratio, Ratio]]]()
    rest = list[tuple[Lin, Ratio]]()
    for place, (a, b) in enumerate(u.coefficients.items()):
        one, twice = side_of(a), b * 2 if u is v else b
        for x, y in [*v.coefficients.items()][place if u is v else 0 :]:
            two, c = side_of(x), b if a is x else twice
            if one is two:
                out.setdefault(Inner(a, x), []).append((y, c))
            elif one is None or two is None:
                side = cast(Side, one or two)
                parts = inner(part(side, vec(a)), part(side, vec(x)))
                rest.append((parts, y * c))
    found = Lin({pair: products(parts) for pair, parts in out.items()})
    return Lin.weighted([(found, ratio(1)), *rest]) if rest else found


class Inner(LinAtom, made=staticmethod(inner)):
    """``E<u, v>``; the pair has an order, so that ``<v, u>`` is the same."""

    left: VecAtom
    right: VecAtom

    @classmethod
    def normal(cls, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the pair in order."""
        return args if args[0].age <= args[1].age else args[::-1]

    def __str__(self) -> str:
        if self.left is self.right:
            return f"||{self.left}||^2"
        return "<{}, {}>".format(*sorted(map(str, self.parts)))


def norm2(u: Vec) -> Lin:
    """Return ``E||u||^2``."""
    return inner(u, u)


weight: Callable[[ClientIndex], Ratio] = partial(made, Weight)
draw: Callable[[Split, ClientIndex, Number], Ratio] = partial(made, Draw)
share_of: Callable[[Split, ClientIndex, Number], Ratio] = partial(made, Share)
before: Callable[[ClientIndex, Number, ClientIndex, Number, Number], Ratio]
before = partial(made, Before)
value_of: Callable[[Function, Vec], Lin] = partial(made, Value)
gradient: Callable[[Function, Vec], Vec] = partial(made, Gradient)
iterate: Callable[[Run, Number], Vec] = partial(made, Iterate)
local_point: Callable[[Split, ClientIndex, Number, Number], Vec]
local_point = partial(made, LocalPoint)
noise: Callable[[Split, ClientIndex, Number, Number], Vec] = partial(made, Noise)
expected: Callable[[Split, Number, Vec], Vec] = partial(made, Expected)


def subterms(*parts: object) -> set[Term]:
    """Return all terms that occur in some, coefficients and exponents' bases too."""
    seen: set[Built] = set()
    left: list[object] = list(parts)
    while left:
        one = left.pop()
        if isinstance(one, Built) and one not in seen:
            seen.add(one)
            left += one.parts
    return {one for one in seen if isinstance(one, Term)}


def runs_of(*parts: object) -> set[Run]:
    """Return the runs of algorithms in some terms."""
    return {one for one in subterms(*parts) if isinstance(one, Descent | Split)}
