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

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from fractions import Fraction
from itertools import count
from typing import Any, ClassVar, Generic, Self, TypeVar, cast

from .algebra import (
    ONE,
    ZERO,
    Interned,
    Number,
    Poly,
    Ratio,
    Rejected,
    Sort,
    Symbol,
    digest,
    ratio,
    register,
)

_fresh = count()


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


class Term(metaclass=Interned):
    """A frozen, interned record; free variables and depth come from its fields."""

    is_variable: ClassVar[bool] = False
    shown: ClassVar[str] = ""
    parts: tuple[object, ...]
    free: frozenset[object]
    depth: int
    key: bytes

    def __post_init__(self) -> None:
        """Collect what the fields contain."""
        parts = tuple(vars(self).values())
        inner: frozenset[object] = frozenset().union(
            *(part.free for part in parts if hasattr(part, "free"))
        )
        free = self._free(inner)
        depth = max((part.depth for part in parts if hasattr(part, "depth")), default=0)
        object.__setattr__(self, "parts", parts)
        object.__setattr__(self, "free", free)
        object.__setattr__(self, "depth", self._depth(depth))
        object.__setattr__(
            self, "key", digest(type(self).__name__.encode(), *map(_key, parts))
        )
        if isinstance(self, Symbol):
            object.__setattr__(self, "serial", register(self))

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner | {self} if self.is_variable else inner

    def _depth(self, inner: int) -> int:
        return inner

    def __str__(self) -> str:
        return self.shown.format_map(vars(self))


def _key(part: object) -> bytes:
    if isinstance(part, Term | Poly | Ratio | Combination):
        return part.key
    if isinstance(part, Enum):
        return str(part.value).encode()
    return repr(part).encode()


# Variables -------------------------------------------------------------------------


class Mark(Named):
    """No variable: in `free` it says that a `Draw` or an `Expected` occurs."""

    DRAW = "draw"
    EXPECTED = "expected"


CHANCE, CONDITIONAL = Mark


@dataclass(frozen=True, eq=False)
class Client(Term):
    """A client, any of the N."""

    name: str
    is_variable = True
    shown = "{name}"


@dataclass(frozen=True, eq=False)
class BoundClient(Term):
    """The client that the sum of this level ranges over."""

    level: int
    is_variable = True
    shown = "n{level}"


@dataclass(frozen=True, eq=False)
class Var(Term, Symbol):
    """A parameter: a number of its sort."""

    name: str
    sort: Sort
    is_variable = True

    shown = "{name}"


@dataclass(frozen=True, eq=False)
class BoundNat(Term, Symbol):
    """The step or round that the binder of this level ranges over."""

    level: int
    is_variable = True

    sort = Sort.NATURAL
    shown = "i{level}"


@dataclass(frozen=True, eq=False)
class RoundArgument(Term, Symbol):
    """The argument of a `Rate`; it occurs nowhere else."""

    is_variable = True

    sort = Sort.NATURAL
    shown = "round"


@dataclass(frozen=True, eq=False)
class ClientFamily(Term):
    """A parameter for each client."""

    name: str
    sort: Sort
    is_variable = True
    shown = "{name}"


@dataclass(frozen=True, eq=False)
class RoundFamily(Term):
    """A real parameter for each round; a `Rate` may replace it.

    Never a whole one: so no round or step is a family's value, and in an index a bound
    step occurs as a variable of the polynomial only, in which it grows.
    """

    name: str
    sort: Sort
    is_variable = True
    shown = "{name}"

    def __post_init__(self) -> None:
        """Refuse natural numbers for each round.

        Raises:
            Rejected: the sort is whole.
        """
        if self.sort.whole:
            raise Rejected("a family over rounds has no whole sort")
        super().__post_init__()


@dataclass(frozen=True, eq=False)
class NamedFunction(Term):
    """A function from R^d to R."""

    name: str
    is_variable = True
    shown = "{name}"


@dataclass(frozen=True, eq=False)
class Point(Term):
    """Any square-integrable random vector."""

    name: str
    is_variable = True
    shown = "{name}"


ROUND = RoundArgument()
ClientIndex = Client | BoundClient
CLIENT_INDICES = (Client, BoundClient)
NatVariable = Var | BoundNat | RoundArgument
Variable = (
    Client
    | BoundClient
    | Var
    | BoundNat
    | RoundArgument
    | ClientFamily
    | RoundFamily
    | NamedFunction
    | Point
)


# Symbols that are made of variables ------------------------------------------------


@dataclass(frozen=True, eq=False)
class Weight(Term, Symbol):
    """``a_n``: at least 0, their sum is 1."""

    client: ClientIndex

    sort = Sort.NONNEGATIVE
    shown = "a[{client}]"


@dataclass(frozen=True, eq=False)
class Odds(Term, Symbol):
    """``1/q_n - 1 >= 0`` for the probability q_n that client n takes part."""

    client: ClientIndex

    sort = Sort.NONNEGATIVE
    shown = "(1/q[{client}]-1)"


@dataclass(frozen=True, eq=False)
class Draw(Term, Symbol):
    """``J_n(t) = I_n(t)/q_n``: 1/q_n if client n takes part in round t, else 0.

    The one number that is random; `CHANCE` in `free` marks what contains it.
    """

    run: Split
    client: ClientIndex
    round: Poly

    sort = Sort.NONNEGATIVE
    shown = "J({client},{round})"

    def __post_init__(self) -> None:
        """Refuse a run that draws nobody.

        Raises:
            Rejected: everybody takes part in this run.
        """
        if not self.run.drawn:
            raise Rejected("only a run with partial participation has draws")
        super().__post_init__()

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner | {CHANCE}


@dataclass(frozen=True, eq=False)
class Before(Term, Symbol):
    """1 if the visit of step (m, j) comes before that of (n, i) in round t, else 0."""

    earlier: ClientIndex
    earlier_step: Poly
    later: ClientIndex
    later_step: Poly
    round: Poly

    sort = Sort.NONNEGATIVE

    def __str__(self) -> str:
        return (
            f"before({self.earlier},{self.earlier_step};{self.later},{self.later_step};"
            f"{self.round})"
        )


@dataclass(frozen=True, eq=False)
class PerClient(Term, Symbol):
    """The member of a client family."""

    family: ClientFamily
    client: ClientIndex

    def __post_init__(self) -> None:
        """Take the family's sort."""
        super().__post_init__()
        object.__setattr__(self, "sort", self.family.sort)

    shown = "{family}[{client}]"


@dataclass(frozen=True, eq=False)
class PerRound(Term, Symbol):
    """The member of a round family."""

    family: RoundFamily
    round: Poly

    def __post_init__(self) -> None:
        """Take the family's sort."""
        super().__post_init__()
        object.__setattr__(self, "sort", self.family.sort)

    shown = "{family}({round})"


# Binders ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Clients(Term):
    """Ranges over all clients."""

    shown = "clients"


@dataclass(frozen=True, eq=False)
class Steps(Term):
    """Ranges over the naturals below ``upper``."""

    upper: Poly

    def __post_init__(self) -> None:
        """Refuse an upper limit that is not a natural number.

        Raises:
            Rejected: the limit is not natural by its sorts.
        """
        if not self.upper.natural():
            raise Rejected(f"{self.upper} is not a natural number by its sorts")
        super().__post_init__()

    shown = " < {upper}"


@dataclass(frozen=True, eq=False)
class Naturals(Term):
    """Ranges over all naturals; binds hypotheses only, there is no such sum."""

    shown = "naturals"


CLIENTS, NATURALS = Clients(), Naturals()
Binder = Clients | Steps
Quantifier = Clients | Steps | Naturals


def bound(binder: Quantifier, level: int) -> BoundClient | BoundNat:
    """Return the variable that a binder of this level binds."""
    return BoundClient(level) if isinstance(binder, Clients) else BoundNat(level)


class Closed(Term):
    """A term with ``binder``, ``level`` and a body in which that level is bound."""

    binder: Quantifier
    level: int

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {bound(self.binder, self.level)}

    def _depth(self, inner: int) -> int:
        return max(inner, self.level)

    def index(self) -> str:
        """Return the bound variable and its range, for people."""
        head = bound(self.binder, self.level)
        if isinstance(self.binder, Naturals):
            return f"natural {head}"
        return f"{head}" if isinstance(self.binder, Clients) else f"{head}{self.binder}"


@dataclass(frozen=True, eq=False)
class Total(Closed, Symbol):
    """``sum weight`` over a binder; the weight is a product of powers of symbols."""

    binder: Binder
    level: int
    weight: Poly

    @property
    def sort(self) -> Sort:  # type: ignore[override]
        """N >= 1; positive terms over clients have a positive sum; else >= 0."""
        if isinstance(self.binder, Clients):
            if self.weight == ONE:
                return Sort.COUNT
            if all(
                s.sort in (Sort.POSITIVE, Sort.COUNT) for s in self.weight.symbols()
            ):
                return Sort.POSITIVE
        return Sort.NONNEGATIVE

    def __str__(self) -> str:
        if isinstance(self.binder, Clients) and self.weight == ONE:
            return "N"
        return f"sum_{{{self.index()}}}[{self.weight}]"


# Functions and runs of algorithms --------------------------------------------------


@dataclass(frozen=True, eq=False)
class Local(Term):
    """``F_n``, the function of a client."""

    client: ClientIndex
    shown = "F[{client}]"


@dataclass(frozen=True, eq=False)
class Mean(Term):
    """``f = sum_n a_n F_n``."""

    shown = "f"


MEAN = Mean()
Function = NamedFunction | Local | Mean
FUNCTIONS = (NamedFunction, Local, Mean)


@dataclass(frozen=True, eq=False)
class Rate(Term):
    """A number for each round: a closed function of its argument, `ROUND`."""

    body: Ratio

    def __post_init__(self) -> None:
        """Refuse a rate that depends on draws.

        Raises:
            Rejected: a draw occurs.
        """
        super().__post_init__()
        if CHANCE in self.free:
            raise Rejected("a rate is not random")

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {ROUND}

    def at(self, t: Ratio) -> Ratio:
        """Return the rate of round t."""
        return number_at(self.body, {ROUND: t})

    shown = "{body}"


@dataclass(frozen=True, eq=False)
class Descent(Term):
    """Gradient descent: ``x(t+1) = x(t) - rate(t) grad F(x(t))``; x(0) is fixed."""

    function: Function
    rate: Rate
    shown = "GD({function}; rate {rate})"


@dataclass(frozen=True, eq=False)
class Pace(Term):
    """How many local steps one side makes in a round, and its learning rate."""

    steps: Poly
    rate: Rate

    def __post_init__(self) -> None:
        """Refuse a number of steps that is not natural.

        Raises:
            Rejected: the number is not natural by its sorts.
        """
        if not self.steps.natural():
            raise Rejected(f"{self.steps} is not a natural number by its sorts")
        super().__post_init__()

    shown = "{steps} steps at {rate}"


@dataclass(frozen=True, eq=False)
class Split(Term):
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
    client: Pace
    server: Pace

    def __post_init__(self) -> None:
        """Refuse two periods where the server's steps are all clients'.

        Raises:
            Rejected: the sides make different numbers of steps.
        """
        if self.kind.shared and self.client.steps != self.server.steps:
            raise Rejected("a shared server makes the clients' number of steps")
        super().__post_init__()

    @property
    def drawn(self) -> bool:
        """Whether clients are drawn."""
        return self.participants is not Participants.EVERYONE

    def pace(self, side: Side) -> Pace:
        """Return the pace of a side."""
        return self.client if side is Side.CLIENT else self.server

    shown = "SFL-{kind}({participants}; client: {client}; server: {server})"


Run = Descent | Split


# Vectors ---------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Star(Term):
    """A minimiser of a function; fixed, and meaningful under `Minimiser`."""

    function: Function
    shown = "{function}*"


@dataclass(frozen=True, eq=False)
class Gradient(Term):
    """The gradient of a function at a point."""

    function: Function
    at: Vec
    shown = "grad {function}({at})"


@dataclass(frozen=True, eq=False)
class Iterate(Term):
    """``x(t)`` of a run."""

    run: Run
    round: Poly
    shown = "x({round})"


@dataclass(frozen=True, eq=False)
class LocalPoint(Term):
    """``p(n, t, i)`` of a run."""

    run: Split
    client: ClientIndex
    round: Poly
    step: Poly
    shown = "p({client},{round},{step})"


@dataclass(frozen=True, eq=False)
class Noise(Term):
    """``xi(n, t, i)`` of a run."""

    run: Split
    client: ClientIndex
    round: Poly
    step: Poly
    shown = "xi({client},{round},{step})"


@dataclass(frozen=True, eq=False)
class Part(Term):
    """The block of a vector, the other block set to 0."""

    side: Side
    vector: VecAtom

    def __str__(self) -> str:
        return f"[{self.vector}]_{self.side.value[0]}"


@dataclass(frozen=True, eq=False)
class Expected(Term):
    """``E[u | draws and noises of the run's rounds before t]``; `tower` says so.

    Like an iterate it hides draws, so that they do not mark it; its own mark is that
    it depends on the law of the draws.
    """

    run: Split
    round: Poly
    vector: Vec
    shown = "E[{vector} | {round}]"

    def _free(self, inner: frozenset[object]) -> frozenset[object]:
        return inner - {CHANCE} | {CONDITIONAL}


@dataclass(frozen=True, eq=False)
class VecSum(Closed):
    """``sum weight * vector`` over a binder, the vector depending on its variable."""

    binder: Binder
    level: int
    weight: Poly
    body: VecAtom

    def __str__(self) -> str:
        weight = "" if self.weight == ONE else f"{self.weight}*"
        return f"sum_{{{self.index()}}} {weight}{self.body}"


VecAtom = (
    Point | Star | Gradient | Iterate | LocalPoint | Noise | Part | Expected | VecSum
)


# Expected numbers ------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Unit(Term):
    """The number 1."""

    shown = "1"


@dataclass(frozen=True, eq=False)
class Inner(Term):
    """``E<u, v>``, the pair in canonical order."""

    left: VecAtom
    right: VecAtom

    def __post_init__(self) -> None:
        """Refuse a pair that `inner` would order otherwise.

        Raises:
            Rejected: the pair is not in order.
        """
        if self.left.key > self.right.key:
            raise Rejected("an inner product out of order")
        super().__post_init__()

    def __str__(self) -> str:
        if self.left is self.right:
            return f"||{self.left}||^2"
        return f"<{self.left}, {self.right}>"


@dataclass(frozen=True, eq=False)
class Value(Term):
    """``E F(p)``."""

    function: Function
    at: Vec
    shown = "{function}({at})"


@dataclass(frozen=True, eq=False)
class LinSum(Closed):
    """``sum weight * number`` over a binder, the number depending on its variable."""

    binder: Binder
    level: int
    weight: Poly
    body: LinAtom

    def __str__(self) -> str:
        weight = "" if self.weight == ONE else f"{self.weight}*"
        return f"sum_{{{self.index()}}} {weight}{self.body}"


UNIT = Unit()
LinAtom = Unit | Inner | Value | LinSum


# Linear combinations ---------------------------------------------------------------

A = TypeVar("A", bound=Term)


class Combination(Generic[A]):
    """A linear combination of atoms with ratios as coefficients."""

    __slots__ = ("_hash", "_key", "coefficients")

    def __init__(self, coefficients: Mapping[A, Ratio]) -> None:
        self.coefficients = {atom: c for atom, c in coefficients.items() if c}
        self._hash: int | None = None
        self._key: bytes | None = None

    def __hash__(self) -> int:
        if self._hash is None:
            self._hash = hash((type(self), frozenset(self.coefficients.items())))
        return self._hash

    def __eq__(self, other: object) -> bool:
        """Return whether the structure is the same; equal values have difference 0."""
        return (
            type(other) is type(self)
            and isinstance(other, Combination)
            and self.coefficients == other.coefficients
        )

    def __bool__(self) -> bool:
        return bool(self.coefficients)

    def __add__(self, other: Self) -> Self:
        if type(other) is not type(self):
            raise Rejected("a vector and a number cannot be added")
        out = dict(self.coefficients)
        for atom, c in other.coefficients.items():
            out[atom] = out[atom] + c if atom in out else c
        return type(self)(out)

    def __neg__(self) -> Self:
        return self * -1

    def __sub__(self, other: Self) -> Self:
        return self + (-other)

    def __mul__(self, factor: Number) -> Self:
        by = ratio(factor)
        return type(self)({atom: c * by for atom, c in self.coefficients.items()})

    __rmul__ = __mul__

    @property
    def free(self) -> frozenset[object]:
        """The free variables that occur."""
        parts: Iterable[frozenset[object]] = (
            atom.free | c.free for atom, c in self.coefficients.items()
        )
        return frozenset().union(*parts)

    @property
    def depth(self) -> int:
        """The highest level of a binder inside."""
        levels = (max(a.depth, c.depth) for a, c in self.coefficients.items())
        return max(levels, default=0)

    @property
    def key(self) -> bytes:
        """A digest of the structure, the same in every process."""
        if self._key is None:
            parts = sorted(a.key + c.key for a, c in self.coefficients.items())
            self._key = digest(type(self).__name__.encode(), *parts)
        return self._key

    def __str__(self) -> str:
        shown = []
        for atom, c in self.coefficients.items():
            text = str(c)
            minus = text[0] == "-" and len(c.numerator.terms) == 1
            text = text[1:] if minus else text
            if len(c.numerator.terms) > 1 and not c.denominator:
                text = f"({text})"
            name = "" if atom is UNIT else str(atom)
            text = name if text == "1" and name else f"{text}*{name}" if name else text
            shown.append((" - " if minus else " + ", text))
        shown.sort(key=lambda part: (part[0] == " - ", part[1]))
        text = "".join(sign + part for sign, part in shown)
        return (text[3:] if text[:3] == " + " else text.replace(" - ", "-", 1)) or "0"


class Vec(Combination[VecAtom]):
    """A linear combination of vectors."""

    __slots__ = ()


class Lin(Combination[LinAtom]):
    """A linear combination of expected numbers."""

    __slots__ = ()


# Constructors that keep the normal form --------------------------------------------


def natural(value: Number) -> Poly:
    """Return a number as an index.

    Raises:
        Rejected: it is not a natural number by its sorts.
    """
    poly = ratio(value).poly()
    if not poly.natural():
        raise Rejected(f"{poly} is not a natural number by its sorts")
    return poly


def symbol(value: Symbol) -> Ratio:
    """Return a symbol as a number."""
    return Ratio(Poly.product(Fraction(1), {value: 1}))


def weight(client: ClientIndex) -> Ratio:
    """Return ``a_n``."""
    return symbol(Weight(client))


def before(m: ClientIndex, j: Number, n: ClientIndex, i: Number, t: Number) -> Ratio:
    """Return 1 if visit (m, j) comes before visit (n, i) in round t, else 0."""
    return symbol(Before(m, natural(j), n, natural(i), natural(t)))


def vec(atom: VecAtom) -> Vec:
    """Return an atom as a vector."""
    return Vec({atom: ratio(1)})


def constant(value: Number) -> Lin:
    """Return a number as a form."""
    return Lin({UNIT: ratio(value)})


def value_of(function: Function, at: Vec) -> Lin:
    """Return ``E F(p)``."""
    return Lin({Value(function, at): ratio(1)})


def gradient(function: Function, at: Vec) -> Vec:
    """Return ``grad F(p)``."""
    return vec(Gradient(function, at))


def iterate(run: Run, t: Number) -> Vec:
    """Return ``x(t)``."""
    return vec(Iterate(run, natural(t)))


def local_point(run: Split, n: ClientIndex, t: Number, i: Number) -> Vec:
    """Return ``p(n, t, i)``."""
    return vec(LocalPoint(run, n, natural(t), natural(i)))


def noise(run: Split, n: ClientIndex, t: Number, i: Number) -> Vec:
    """Return ``xi(n, t, i)``."""
    return vec(Noise(run, n, natural(t), natural(i)))


def draw(run: Split, n: ClientIndex, t: Number) -> Ratio:
    """Return ``J_n(t)``."""
    return symbol(Draw(run, n, natural(t)))


def expected(run: Split, t: Number, u: Vec) -> Vec:
    """Return ``E[u | draws and noises of the rounds before t]``."""
    return vec(Expected(run, natural(t), u))


def side_of(atom: VecAtom) -> Side | None:
    """Return the block in which a vector lies, if it is known to lie in one."""
    if isinstance(atom, Part):
        return atom.side
    return side_of(atom.body) if isinstance(atom, VecSum) else None


def part(side: Side, u: Vec) -> Vec:
    """Return the block of a vector: linear, and taken inside sums."""
    out = Vec({})
    for atom, c in u.coefficients.items():
        if isinstance(atom, Part):
            out = out + (Vec({atom: c}) if atom.side is side else Vec({}))
        elif isinstance(atom, VecSum):
            v, of, body = opened_vector(atom)
            out = out + summed(atom.binder, v, part(side, vec(body)) * of) * c
        else:
            out = out + Vec({Part(side, atom): c})
    return out


def inner(u: Vec, v: Vec) -> Lin:
    """Return ``E<u, v>``, bilinear; different blocks are orthogonal."""
    out: dict[LinAtom, Ratio] = {}
    rest = Lin({})
    for a, b in u.coefficients.items():
        for x, y in v.coefficients.items():
            one, two = side_of(a), side_of(x)
            if one is two:
                pair = _pair(a, x)
                out[pair] = out[pair] + b * y if pair in out else b * y
            elif one is None:
                rest = rest + inner(part(cast(Side, two), vec(a)), vec(x)) * (b * y)
            elif two is None:
                rest = rest + inner(vec(a), part(one, vec(x))) * (b * y)
    return Lin(out) + rest


def _pair(a: VecAtom, b: VecAtom) -> Inner:
    return Inner(a, b) if a.key <= b.key else Inner(b, a)


def norm2(u: Vec) -> Lin:
    """Return ``E||u||^2``."""
    return inner(u, u)


# Sums ------------------------------------------------------------------------------


def fresh(binder: Quantifier) -> Client | Var:
    """Return a variable of the binder's kind that no one else can name."""
    name = f"${next(_fresh)}"
    return Client(name) if isinstance(binder, Clients) else Var(name, Sort.NATURAL)


def bindable(binder: Quantifier, v: Client | Var) -> None:
    """Check that a variable can be bound.

    Raises:
        Rejected: its kind is not the binder's, or the upper limit depends on it.
    """
    if isinstance(binder, Clients):
        fits = isinstance(v, Client)
    else:
        fits = isinstance(v, Var) and v.sort is Sort.NATURAL
    if not fits or v in binder.free:
        raise Rejected(f"{v} cannot range over {binder}")


C = TypeVar("C", Vec, Lin)


def summed(binder: Binder, v: Client | Var, form: C) -> C:
    """Return ``sum_v form(v)``, in normal form.

    What a coefficient has that does not depend on v goes before the sum; an atom
    without v is multiplied by the total of its weight, which `total` computes.

    Raises:
        Rejected: a denominator depends on v.
    """
    bindable(binder, v)
    out = type(form)({})
    make: Callable[..., Any] = VecSum if isinstance(form, Vec) else LinSum
    for atom, c in form.coefficients.items():
        if any(v in factor.free for factor, _ in c.denominator):
            raise Rejected(f"a denominator depends on {v}")
        for value, powers in c.numerator.products():
            own = {s: power for s, power in powers.items() if v in s.free}
            other = {s: power for s, power in powers.items() if v not in s.free}
            inside = Poly.product(Fraction(1), own)
            outside = ratio(Poly.product(value, other)) * Ratio(ONE, c.denominator)
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


def opened_vector(atom: VecSum) -> tuple[Client | Var, Ratio, VecAtom]:
    """Return a fresh variable, and weight and vector of the sum with it."""
    v, old = fresh(atom.binder), bound(atom.binder, atom.level)
    return v, ratio(renamed(atom.weight, old, v)), renamed(atom.body, old, v)


def opened_number(atom: LinSum) -> tuple[Client | Var, Ratio, LinAtom]:
    """Return a fresh variable, and weight and number of the sum with it."""
    v, old = fresh(atom.binder), bound(atom.binder, atom.level)
    return v, ratio(renamed(atom.weight, old, v)), renamed(atom.body, old, v)


# Renaming and substitution ---------------------------------------------------------

T = TypeVar("T")
R = TypeVar("R", bound=Term)


def renamed(term: T, old: Variable, new: Variable) -> T:
    """Return the term with a variable renamed to one that does not occur."""
    return cast(T, _renamed(term, old, new))


def _renamed(term: object, old: Variable, new: Variable) -> object:
    if term is old:
        return new
    if not isinstance(term, Term | Poly | Ratio | Combination) or old not in term.free:
        return term
    if isinstance(term, Poly):
        out = ZERO
        for value, powers in term.products():
            changed = {renamed(s, old, new): power for s, power in powers.items()}
            out = out + Poly.product(value, changed)
        return out
    if isinstance(term, Ratio):
        below = [(renamed(f, old, new), power) for f, power in term.denominator]
        return Ratio(renamed(term.numerator, old, new), below)
    if isinstance(term, Combination):
        return type(term)({
            renamed(atom, old, new): renamed(c, old, new)
            for atom, c in term.coefficients.items()
        })
    if isinstance(term, Inner):
        return _pair(renamed(term.left, old, new), renamed(term.right, old, new))
    return type(term)(*(_renamed(p, old, new) for p in term.parts))


Replacement = Ratio | ClientIndex | Function | Vec | Rate
Substitution = Mapping[Variable, Replacement]


def number_at(term: Ratio, by: Substitution) -> Ratio:
    """Return the number with variables replaced."""
    if term.free.isdisjoint(by):
        return term
    out = _poly_at(term.numerator, by)
    for factor, power in term.denominator:
        out = out / _poly_at(factor, by) ** power
    return out


def vec_at(term: Vec, by: Substitution) -> Vec:
    """Return the vector with variables replaced, without capture."""
    out = Vec({})
    for atom, c in term.coefficients.items():
        out = out + _vector_at(atom, by) * number_at(c, by)
    return out


def lin_at(term: Lin, by: Substitution) -> Lin:
    """Return the form with variables replaced, without capture."""
    out = Lin({})
    for atom, c in term.coefficients.items():
        out = out + _number_atom_at(atom, by) * number_at(c, by)
    return out


def term_at(term: T, by: Substitution) -> T:
    """Return a client, function, run, rate or binder with variables replaced.

    Raises:
        Rejected: the replacement is of another kind.
    """
    if not isinstance(term, Term) or term.free.isdisjoint(by):
        return term
    if isinstance(term, Client | BoundClient | NamedFunction):
        new = by[term]
        named = isinstance(term, NamedFunction)
        if not isinstance(new, FUNCTIONS if named else CLIENT_INDICES):
            raise Rejected(f"{term} cannot become {new}")
        return cast(T, new)
    return rebuilt(term, by)


def rebuilt(term: R, by: Substitution) -> R:
    """Return a term that binds nothing, its parts with variables replaced."""
    build = cast(Callable[..., R], type(term))
    return build(*(_part_at(p, by) for p in term.parts))


def _part_at(part: object, by: Substitution) -> object:
    if isinstance(part, Poly):
        return natural(_poly_at(part, by))
    if isinstance(part, Ratio):
        return number_at(part, by)
    if isinstance(part, Lin):
        return lin_at(part, by)
    return vec_at(part, by) if isinstance(part, Vec) else term_at(part, by)


def _poly_at(term: Poly, by: Substitution) -> Ratio:
    if term.free.isdisjoint(by):
        return ratio(term)
    out = ratio(0)
    for value, powers in term.products():
        piece = ratio(value)
        for s, power in powers.items():
            piece = piece * _symbol_at(s, by) ** power
        out = out + piece
    return out


def _symbol_at(s: Symbol, by: Substitution) -> Ratio:
    if s.free.isdisjoint(by):
        return symbol(s)
    if isinstance(s, Var | BoundNat | RoundArgument):
        return _as(Ratio, by[s])
    if isinstance(s, PerRound):
        index = natural(_poly_at(s.round, by))
        if s.family in by:
            return _as(Rate, by[s.family]).at(ratio(index))
        return symbol(PerRound(s.family, index))
    if isinstance(s, PerClient) and s.family in by:
        raise Rejected(f"{s.family} cannot be replaced")
    if isinstance(s, Total):
        v, level_weight = fresh(s.binder), bound(s.binder, s.level)
        body = number_at(ratio(renamed(s.weight, level_weight, v)), by)
        form = summed(term_at(s.binder, by), v, constant(body))
        return form.coefficients.get(UNIT, ratio(0))
    return symbol(rebuilt(cast(Any, s), by))


def _vector_at(atom: VecAtom, by: Substitution) -> Vec:
    if atom.free.isdisjoint(by):
        return vec(atom)
    if isinstance(atom, Point):
        return _as(Vec, by[atom])
    if isinstance(atom, Part):
        return part(atom.side, _vector_at(atom.vector, by))
    if isinstance(atom, VecSum):
        v, of, body = opened_vector(atom)
        inside = _vector_at(body, by) * number_at(of, by)
        return summed(term_at(atom.binder, by), v, inside)
    return vec(rebuilt(atom, by))


def _number_atom_at(atom: LinAtom, by: Substitution) -> Lin:
    if atom.free.isdisjoint(by):
        return Lin({atom: ratio(1)})
    if isinstance(atom, Inner):
        return inner(_vector_at(atom.left, by), _vector_at(atom.right, by))
    if isinstance(atom, Value):
        return value_of(term_at(atom.function, by), vec_at(atom.at, by))
    if isinstance(atom, LinSum):
        v, of, body = opened_number(atom)
        inside = _number_atom_at(body, by) * number_at(of, by)
        return summed(term_at(atom.binder, by), v, inside)
    return constant(1)


def _as(kind: type[T], new: object) -> T:
    if type(new) is not kind:
        raise Rejected(f"{new} is no {kind.__name__}")
    return new
