"""The terms of a statement: parameters, clients, functions, runs, vectors and forms.

A model interprets a term (`docs/trusted-base.md`): there are N >= 1 clients with
weights ``a_n >= 0, sum a_n = 1``; parameters are numbers; every function is
differentiable with a Lipschitz gradient; every vector is a square-integrable random
vector of two blocks, the client's and the server's. A `Vec` is a linear combination of
vectors, a `Lin` one of the numbers ``<u, v>``, ``F(u)`` and 1 whose value is its
expectation; a coefficient may be random by `Draw` and is inside that expectation. No
free name has a meaning: what is special (weights, draws, minimisers) is a class.

Binders are closed canonically: the level of a sum exceeds the levels inside, so closed
terms that differ in the names of bound variables are the same object.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from enum import Enum
from fractions import Fraction
from functools import cached_property, partial
from itertools import count
from typing import Any, ClassVar, Self, TypeVar, cast, dataclass_transform
from weakref import WeakValueDictionary

from . import algebra
from .algebra import Built, Number, Poly, Ratio, Sort, Symbol, ratio, require

_TERMS: WeakValueDictionary[tuple[object, ...], Any] = WeakValueDictionary()
_ages, _names = count(), count()
Index = Poly
"""The type of a field that is a natural number by its sorts."""


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

    @property
    def shared(self) -> bool:
        """Whether the clients' steps of a round move one server model."""
        return self is not Kind.V1

    @property
    def visits(self) -> bool:
        """Whether the clients' steps of a round happen one after another (SFL-V2)."""
        return self in (Kind.V2, Kind.V2_WEIGHTED)


class Participants(Named):
    """Who takes part in a round, and what those who do send; see `Split`."""

    EVERYONE = "everyone"
    UPDATES = "updates"
    MODELS = "models"


class Mark(Named):
    """No variable: in `free` it says that a `Draw` or an `Expected` occurs."""

    DRAW = "draw"
    EXPECTED = "expected"


CHANCE, CONDITIONAL = Mark


class Interned(type):
    """Hash-consing: equal arguments give the same object, so equality is identity."""

    def __call__(cls, *args: Any) -> Any:
        """Return the one object with these arguments."""
        args = cast(type[Term], cls).normal(args)
        found = _TERMS.get((cls, *args))
        if found is None:
            found = _TERMS[cls, *args] = type.__call__(cls, *args)
        return found


@dataclass_transform(eq_default=False, frozen_default=True)
class Term(Built, metaclass=Interned):
    """A frozen, interned record of the fields that its class declares.

    For a field of type `Index` any number may be given that is one.
    """

    fields: ClassVar[tuple[str, ...]]
    indices: ClassVar[tuple[int, ...]]
    shown: ClassVar[str] = ""

    def __init_subclass__(cls, **constants: object) -> None:
        for name, value in constants.items():
            setattr(cls, name, value)
        kinds = fields(cast(Any, dataclass(frozen=True, eq=False)(cls)))
        cls.fields = tuple(field.name for field in kinds)
        cls.indices = tuple(i for i, f in enumerate(kinds) if f.type == "Index")

    @classmethod
    def normal(cls, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the arguments that stand for these."""
        if any(type(args[i]) is not Poly for i in cls.indices):
            new = {i: ratio(args[i]).poly() for i in cls.indices}
            args = tuple(new.get(i, arg) for i, arg in enumerate(args))
        return args

    def __post_init__(self) -> None:
        own = vars(self)
        own["parts"] = tuple(own[name] for name in self.fields)
        for i in self.indices:
            natural(cast(Poly, self.parts[i]))
        built = [part for part in self.parts if isinstance(part, Built)]
        own["free"] = self._free(frozenset().union(*(part.free for part in built)))
        own["depth"] = self._depth(max((part.depth for part in built), default=0))
        self._check()
        own["age"] = next(_ages)
        if isinstance(self, Symbol):
            own["serial"] = algebra.register(self)

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner

    def _depth(self, inner: int) -> int:
        return inner

    def _check(self) -> None:
        """Refuse what is no term of this class; set what its fields decide."""

    def __str__(self) -> str:
        return self.shown.format_map(vars(self))


class Variable(Term, shown="{name}"):
    """What a theorem speaks of in general, or a binder ranges over."""

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner | {self}


class VecAtom(Term):
    """A vector that is no combination of others."""


class LinAtom(Term):
    """A number of which the expectation is meant."""


# Variables -------------------------------------------------------------------------


class Client(Variable):
    """A client, any of the N."""

    name: str


class BoundClient(Variable, shown="n{level}"):
    """The client that the sum of this level ranges over."""

    level: int


ClientIndex = Client | BoundClient


class Var(Variable, Symbol):
    """A parameter: a number of its sort."""

    name: str
    sort: Sort


class BoundNat(Variable, Symbol, shown="i{level}", sort=Sort.NATURAL):
    """The step or round that the binder of this level ranges over."""

    level: int


class RoundArgument(Variable, Symbol, shown="round", sort=Sort.NATURAL):
    """The argument of a `Rate`; it occurs nowhere else."""


class ClientFamily(Variable):
    """A parameter for each client."""

    name: str
    sort: Sort


class RoundFamily(Variable):
    """A real parameter for each round; a `Rate` may replace it.

    Never a whole one: so no round or step is a family's value, and in an index a bound
    step occurs as a variable of the polynomial only, in which it grows.
    """

    name: str
    sort: Sort

    def _check(self) -> None:
        require(not self.sort.whole, "a family over rounds has no whole sort")


class NamedFunction(Variable):
    """A function from R^d to R."""

    name: str


class Point(Variable, VecAtom):
    """Any square-integrable random vector."""

    name: str


ROUND = RoundArgument()


# Symbols that are made of variables ------------------------------------------------


class Weight(Term, Symbol, shown="a[{client}]", sort=Sort.NONNEGATIVE):
    """``a_n``: at least 0, their sum is 1."""

    client: ClientIndex


class Odds(Term, Symbol, shown="(1/q[{client}]-1)", sort=Sort.NONNEGATIVE):
    """``1/q_n - 1 >= 0`` for the probability q_n that client n takes part."""

    client: ClientIndex


class Draw(Term, Symbol, shown="J({client},{round})", sort=Sort.NONNEGATIVE):
    """``J_n(t) = I_n(t)/q_n``: 1/q_n if client n takes part in round t, else 0.

    The one number that is random; `CHANCE` in `free` marks what contains it.
    """

    run: Split
    client: ClientIndex
    round: Index

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner | {CHANCE}

    def _check(self) -> None:
        require(self.run.drawn, "only a run with partial participation has draws")


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


class PerClient(Term, Symbol, shown="{family}[{client}]"):
    """The member of a client family."""

    family: ClientFamily
    client: ClientIndex

    def _check(self) -> None:
        vars(self)["sort"] = self.family.sort


class PerRound(Term, Symbol, shown="{family}({round})"):
    """The member of a round family."""

    family: RoundFamily
    round: Index

    def _check(self) -> None:
        vars(self)["sort"] = self.family.sort


# Binders ---------------------------------------------------------------------------


class Clients(Term, shown="clients"):
    """Ranges over all clients."""


class Steps(Term, shown=" < {upper}"):
    """Ranges over the naturals below ``upper``."""

    upper: Index


class Naturals(Term, shown="naturals"):
    """Ranges over all naturals; binds hypotheses only, there is no such sum."""


CLIENTS, NATURALS = Clients(), Naturals()
Binder = Clients | Steps
Quantifier = Clients | Steps | Naturals


def bound(binder: Quantifier, level: int) -> BoundClient | BoundNat:
    """Return the variable that a binder of this level binds."""
    return BoundClient(level) if isinstance(binder, Clients) else BoundNat(level)


class Closed(Term):
    """A term in which the variable of its binder and level is bound."""

    binder: Quantifier
    level: int

    @property
    def variable(self) -> BoundClient | BoundNat:
        """The variable that is bound."""
        return bound(self.binder, self.level)

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {self.variable}

    def _depth(self, inner: int) -> int:
        return max(inner, self.level)

    def index(self) -> str:
        """Return the bound variable and its range, for people."""
        if isinstance(self.binder, Naturals):
            return f"natural {self.variable}"
        upper = self.binder if isinstance(self.binder, Steps) else ""
        return f"{self.variable}{upper}"

    def inside(self) -> Any:
        """Return what stands after the binder, with the bound variable."""
        raise NotImplementedError

    def again(self, binder: Any, v: Any, inside: Any) -> Any:
        """Return the like of this term, in normal form."""
        return summed(binder, v, inside)

    def opened(self) -> tuple[Any, Any]:
        """Return a fresh variable, and the inside with it."""
        v = fresh(self.binder)
        return v, renamed(self.inside(), self.variable, v)


class WeightedSum(Closed):
    """``sum weight * body``; the weight is a product of powers of symbols."""

    binder: Binder
    weight: Poly
    body: ClassVar[Any]

    def inside(self) -> Any:
        """Return the summand, a combination."""
        return lifted(self.body) * ratio(self.weight)

    def __str__(self) -> str:
        weight = "" if self.weight == algebra.ONE else f"{self.weight}*"
        return f"sum_{{{self.index()}}}[{weight}{self.body}]"


class VecSum(WeightedSum, VecAtom):
    """A sum of vectors that depend on the bound variable."""

    body: VecAtom  # type: ignore[misc]


class LinSum(WeightedSum, LinAtom):
    """A sum of expected numbers that depend on the bound variable."""

    body: LinAtom  # type: ignore[misc]


class Unit(LinAtom, shown="1"):
    """The number 1."""


UNIT = Unit()


class Total(WeightedSum, Symbol, body=UNIT):
    """A sum of weights, as a number."""

    def _check(self) -> None:
        """N >= 1; positive terms over clients have a positive sum; else >= 0."""
        sort, over_clients = Sort.NONNEGATIVE, self.binder is CLIENTS
        if over_clients and self.weight == algebra.ONE:
            sort = Sort.COUNT
        elif over_clients and all(
            s.sort in (Sort.POSITIVE, Sort.COUNT) for s in self.weight.symbols()
        ):
            sort = Sort.POSITIVE
        vars(self)["sort"] = sort

    def again(self, binder: Any, v: Any, inside: Any) -> Any:
        """Return the sum as a number."""
        return number_of(summed(binder, v, inside))

    def __str__(self) -> str:
        text = f"sum_{{{self.index()}}}[{self.weight}]"
        return "N" if self.sort is Sort.COUNT else text


# Functions and runs of algorithms --------------------------------------------------


class Local(Term, shown="F[{client}]"):
    """``F_n``, the function of a client."""

    client: ClientIndex


class Mean(Term, shown="f"):
    """``f = sum_n a_n F_n``."""


MEAN = Mean()
Function = NamedFunction | Local | Mean


class Rate(Term, shown="{body}"):
    """A number for each round: a closed function of its argument, `ROUND`."""

    body: Ratio

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        require(CHANCE not in inner, "a rate is not random")
        return inner - {ROUND}

    def at(self, t: Ratio) -> Ratio:
        """Return the rate of round t."""
        return number_at(self.body, {ROUND: t})


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
        return self.rate.at(t)

    def inside(self, t: Ratio, i: Ratio) -> Ratio:
        """Return what else multiplies step i of round t."""
        return ratio(1)


class Stepwise(Pace, shown="{steps} steps, each at {rate}"):
    """A pace whose rate counts steps, not rounds: step i of round t is step t*steps+i.

    The argument of the rate is called round there too.
    """

    def outside(self, t: Ratio) -> Ratio:
        """Return 1: every step has its own rate."""
        return ratio(1)

    def inside(self, t: Ratio, i: Ratio) -> Ratio:
        """Return the rate of step i of round t."""
        return self.rate.at(ratio(self.steps) * t + i)


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
      ``-rate_s sum_n a_n J_n g_s(n,t,i)``.

    What is one for all becomes that block of x(t+1); the other blocks become
    ``x(t) + sum a_n J_n (p(n,t,end) - x(t))`` (EVERYONE, UPDATES) or
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

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn."""
        return self.participants is not Participants.EVERYONE

    def pace(self, side: Side) -> AnyPace:
        """Return the pace of a side."""
        return self.client if side is Side.CLIENT else self.server


Run = Descent | Split


# Vectors and expected numbers ------------------------------------------------------


class Star(VecAtom, shown="{function}*"):
    """A minimiser of a function; fixed, and meaningful under `Minimiser`."""

    function: Function


class Gradient(VecAtom, shown="grad {function}({at})"):
    """The gradient of a function at a point."""

    function: Function
    at: Vec


class Iterate(VecAtom, shown="x({round})"):
    """``x(t)`` of a run."""

    run: Run
    round: Index


class LocalPoint(VecAtom, shown="p({client},{round},{step})"):
    """``p(n, t, i)`` of a run."""

    run: Split
    client: ClientIndex
    round: Index
    step: Index


class Noise(VecAtom, shown="xi({client},{round},{step})"):
    """``xi(n, t, i)`` of a run."""

    run: Split
    client: ClientIndex
    round: Index
    step: Index


class Part(VecAtom, shown="[{vector}]_{side.value[0]}"):
    """The block of a vector, the other block set to 0."""

    side: Side
    vector: VecAtom


class Expected(VecAtom, shown="E[{vector} | {round}]"):
    """``E[u | draws and noises of the run's rounds before t]``; `tower` says so.

    Like an iterate it hides draws, so that they do not mark it; its own mark is that
    it depends on the law of the draws.
    """

    run: Split
    round: Index
    vector: Vec

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {CHANCE} | {CONDITIONAL}


class Inner(LinAtom):
    """``E<u, v>``; the pair has an order, so that ``<v, u>`` is the same."""

    left: VecAtom
    right: VecAtom

    @classmethod
    def normal(cls, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the pair in order."""
        return tuple(sorted(args, key=lambda vector: vector.age))

    def __str__(self) -> str:
        if self.left is self.right:
            return f"||{self.left}||^2"
        return "<{}, {}>".format(*sorted(map(str, self.parts)))


class Value(LinAtom, shown="{function}({at})"):
    """``E F(p)``."""

    function: Function
    at: Vec


# Linear combinations ---------------------------------------------------------------

A = TypeVar("A", bound=Term)


class Combination(algebra.Sum[A, Ratio]):
    """A linear combination of atoms with ratios as coefficients."""

    def __mul__(self, factor: Number) -> Self:
        return self.scaled(ratio(factor))

    __rmul__ = __mul__

    @cached_property
    def parts(self) -> tuple[object, ...]:
        """The atoms and their coefficients."""
        return (*self.coefficients, *self.coefficients.values())

    def __str__(self) -> str:
        shown = []
        for atom, c in self.coefficients.items():
            text, several = str(c), len(c.numerator.coefficients) > 1
            minus = not several and text[0] == "-"
            text = f"({text})" if several and not c.denominator else text[minus:]
            name = "" if atom is UNIT else str(atom)
            factor = "" if name and text == "1" else f"{text}*" if name else text
            shown.append((minus, factor + name))
        return algebra.signed(shown)


class Vec(Combination[VecAtom]):
    """A linear combination of vectors."""


class Lin(Combination[LinAtom]):
    """A linear combination of expected numbers."""

    @property
    def expects(self) -> bool:
        """Whether it is more than a number: expected values occur."""
        return bool(self.coefficients.keys() - {UNIT})


# Constructors that keep the normal form --------------------------------------------


def natural(value: Number | Poly) -> Poly:
    """Return a number as an index."""
    poly = ratio(value).poly()
    require(poly.natural(), "%s is not a natural number by its sorts", poly)
    return poly


def symbol(value: Symbol) -> Ratio:
    """Return a symbol as a number."""
    return Ratio(Poly.product(Fraction(1), {value: 1}))


def vec(atom: VecAtom) -> Vec:
    """Return an atom as a vector."""
    return Vec({atom: ratio(1)})


def constant(value: Number) -> Lin:
    """Return a number as a form."""
    return Lin({UNIT: ratio(value)})


def number_of(form: Lin) -> Ratio:
    """Return the number that a form without expected values is."""
    require(not form.expects, "%s is no number: it has expected values", form)
    return form.coefficients.get(UNIT, ratio(0))


def lifted(term: Any) -> Any:
    """Return a symbol as a number, a vector or an expected number as a combination."""
    if isinstance(term, Symbol):
        return symbol(term)
    if isinstance(term, VecAtom):
        return vec(term)
    return Lin({term: ratio(1)}) if isinstance(term, LinAtom) else term


def made(kind: type[Term], *parts: Any) -> Any:
    """Return the term of a kind with these parts in normal form, lifted."""
    if kind is Part:
        return part(*parts)
    return inner(*parts) if kind is Inner else lifted(kind(*parts))


weight: Callable[[ClientIndex], Ratio] = partial(made, Weight)
draw: Callable[[Split, ClientIndex, Number], Ratio] = partial(made, Draw)
before: Callable[[ClientIndex, Number, ClientIndex, Number, Number], Ratio]
before = partial(made, Before)
value_of: Callable[[Function, Vec], Lin] = partial(made, Value)
gradient: Callable[[Function, Vec], Vec] = partial(made, Gradient)
iterate: Callable[[Run, Number], Vec] = partial(made, Iterate)
local_point: Callable[[Split, ClientIndex, Number, Number], Vec]
local_point = partial(made, LocalPoint)
noise: Callable[[Split, ClientIndex, Number, Number], Vec] = partial(made, Noise)
expected: Callable[[Split, Number, Vec], Vec] = partial(made, Expected)


def side_of(atom: VecAtom) -> Side | None:
    """Return the block in which a vector lies, if it is known to lie in one."""
    if isinstance(atom, Part):
        return atom.side
    return side_of(atom.body) if isinstance(atom, VecSum) else None


def part(side: Side, u: Vec) -> Vec:
    """Return the block of a vector: linear, and taken inside sums."""
    out = Vec({})
    for atom, c in u.coefficients.items():
        if side_of(atom) not in (side, None):
            continue
        if isinstance(atom, VecSum):
            v, inside = atom.opened()
            out = out + summed(atom.binder, v, part(side, inside)) * c
        else:
            out = out + Vec({atom if isinstance(atom, Part) else Part(side, atom): c})
    return out


def inner(u: Vec, v: Vec) -> Lin:
    """Return ``E<u, v>``, bilinear; different blocks are orthogonal."""
    out: dict[LinAtom, Ratio] = {}
    rest = Lin({})
    for a, b in u.coefficients.items():
        for x, y in v.coefficients.items():
            one, two, c = side_of(a), side_of(x), b * y
            if one is two:
                pair = Inner(a, x)
                out[pair] = out[pair] + c if pair in out else c
            elif one is None or two is None:
                side = cast(Side, one or two)
                rest = rest + inner(part(side, vec(a)), part(side, vec(x))) * c
    return Lin(out) + rest


def norm2(u: Vec) -> Lin:
    """Return ``E||u||^2``."""
    return inner(u, u)


# Sums ------------------------------------------------------------------------------


def fresh(binder: Quantifier) -> Any:
    """Return a variable of the binder's kind that no one else can name."""
    name = f"${next(_names)}"
    return Client(name) if isinstance(binder, Clients) else Var(name, Sort.NATURAL)


def bindable(binder: Quantifier, v: Client | Var) -> None:
    """Check that a variable is of the binder's kind and not in its upper limit."""
    if isinstance(binder, Clients):
        fits = isinstance(v, Client)
    else:
        fits = isinstance(v, Var) and v.sort is Sort.NATURAL
    require(fits and v not in binder.free, "%s cannot range over %s", v, binder)


C = TypeVar("C", Vec, Lin)


def summed(binder: Binder, v: Client | Var, form: C) -> C:
    """Return ``sum_v form(v)``, in normal form.

    What a coefficient has that does not depend on v goes before the sum; an atom
    without v is multiplied by the total of its weight, which `total` computes. No
    denominator may depend on v.
    """
    bindable(binder, v)
    out = type(form)({})
    make: Any = VecSum if isinstance(form, Vec) else LinSum
    for atom, c in form.coefficients.items():
        fits = all(v not in factor.free for factor, _ in c.denominator)
        require(fits, "a denominator depends on %s", v)
        below = Ratio(algebra.ONE, c.denominator)
        for value, powers in c.numerator.products():
            own = {s: power for s, power in powers.items() if v in s.free}
            other = {s: power for s, power in powers.items() if v not in s.free}
            inside = Poly.product(Fraction(1), own)
            outside = ratio(Poly.product(value, other)) * below
            if v not in atom.free:
                out = out + type(form)({atom: outside * total(binder, v, inside)})
                continue
            level = max(inside.depth, atom.depth) + 1
            to = bound(binder, level)
            closed = make(binder, level, renamed(inside, v, to), renamed(atom, v, to))
            out = out + type(form)({closed: outside})
    return out


def total(binder: Binder, v: Client | Var, product: Poly) -> Ratio:
    """Return ``sum_v product``: 1 for weights, Faulhaber for steps, or a `Total`.

    ``sum 1 = u``, ``sum i = u(u-1)/2``, ``sum i^2 = u(u-1)(2u-1)/6``,
    ``sum i^3 = u^2(u-1)^2/4`` for 0 <= i < u.
    """
    ((_, powers),) = product.products()
    if isinstance(binder, Clients):
        if powers == {Weight(cast(Client, v)): 1}:
            return ratio(1)
    elif not powers or powers.keys() == {v}:
        u, power = ratio(binder.upper), powers.get(cast(Var, v), 0)
        if power < 4:
            return (
                u,
                u * (u - 1) / 2,
                u * (u - 1) * (2 * u - 1) / 6,
                u**2 * (u - 1) ** 2 / 4,
            )[power]
    level = product.depth + 1
    return symbol(Total(binder, level, renamed(product, v, bound(binder, level))))


# Renaming and substitution ---------------------------------------------------------

T = TypeVar("T")
Replacement = Ratio | ClientIndex | Function | Vec | Rate
Substitution = Mapping[Variable, Replacement]
BECOMES: dict[type[Variable], Any] = {
    Var: Ratio,
    BoundNat: Ratio,
    RoundArgument: Ratio,
    Client: ClientIndex,
    BoundClient: ClientIndex,
    NamedFunction: Function,
    Point: Vec,
    RoundFamily: Rate,
}


def renamed(term: T, old: Variable, new: Variable) -> T:
    """Return the term with a variable renamed to one that does not occur."""
    return cast(T, _renamed(term, old, new))


def _renamed(term: object, old: Variable, new: Variable) -> object:
    if term is old or not isinstance(term, Built) or old not in term.free:
        return new if term is old else term
    if isinstance(term, Poly):
        out = algebra.ZERO
        for value, powers in term.products():
            changed = {renamed(s, old, new): power for s, power in powers.items()}
            out = out + Poly.product(value, changed)
        return out
    if isinstance(term, Ratio):
        below = [(renamed(f, old, new), power) for f, power in term.denominator]
        return Ratio(renamed(term.numerator, old, new), below)
    if isinstance(term, Combination):
        pairs = term.coefficients.items()
        return type(term)({
            renamed(a, old, new): renamed(c, old, new) for a, c in pairs
        })
    return type(term)(*(_renamed(p, old, new) for p in term.parts))


def at(term: Any, by: Substitution) -> Any:
    """Return anything with variables replaced, without capture, in normal form."""
    if not isinstance(term, Built) or term.free.isdisjoint(by):
        return ratio(term) if isinstance(term, Poly) else lifted(term)
    if isinstance(term, Poly):
        out = ratio(0)
        for value, powers in term.products():
            piece = ratio(value)
            for s, power in powers.items():
                piece = piece * at(s, by) ** power
            out = out + piece
        return out
    if isinstance(term, Ratio):
        out = at(term.numerator, by)
        for factor, power in term.denominator:
            out = out / at(factor, by) ** power
        return out
    if isinstance(term, Combination):
        new = (at(atom, by) * at(c, by) for atom, c in term.coefficients.items())
        return sum(new, type(term)({}))
    if isinstance(term, Variable):
        fits = isinstance(by[term], BECOMES.get(type(term), ()))
        require(fits, "%s cannot become %s", term, by[term])
        return by[term]
    if isinstance(term, PerRound) and term.family in by:
        return at(term.family, by).at(ratio(natural(at(term.round, by))))
    if isinstance(term, Closed):
        v, inside = term.opened()
        return term.again(at(term.binder, by), v, at(inside, by))
    return made(cast(Any, type(term)), *(at(p, by) for p in term.parts))


number_at: Callable[[Ratio, Substitution], Ratio] = at
vec_at: Callable[[Vec, Substitution], Vec] = at
lin_at: Callable[[Lin, Substitution], Lin] = at
