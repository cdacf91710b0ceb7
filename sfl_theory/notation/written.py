r"""Statements as papers write them: symbols, sums, functions, runs and hypotheses.

Each makes the kernel's term and LaTeX at once (`formulas`):
``S / 2 * norm2(x(T) - best)`` is the term and
:math:`\frac{S}{2} \mathbb{E}\|x^T - x^*\|^2`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.notation.formulas import ATOM as ATOM
from sfl_theory.notation.formulas import PRODUCT as PRODUCT
from sfl_theory.notation.formulas import SUM as SUM
from sfl_theory.notation.formulas import Exact as Exact
from sfl_theory.notation.formulas import Form as Form
from sfl_theory.notation.formulas import Later
from sfl_theory.notation.formulas import Name as Name
from sfl_theory.notation.formulas import Number as Number
from sfl_theory.notation.formulas import Side as Side
from sfl_theory.notation.formulas import Terms as Terms
from sfl_theory.notation.formulas import Value as Value
from sfl_theory.notation.formulas import Vector as Vector
from sfl_theory.notation.formulas import Written as Written
from sfl_theory.notation.formulas import as_form as as_form
from sfl_theory.notation.formulas import called as called
from sfl_theory.notation.formulas import definitions as definitions
from sfl_theory.notation.formulas import form as form
from sfl_theory.notation.formulas import number as number

# Numbers ---------------------------------------------------------------------------

PARAMETERS: dict[k.Var | k.Family, str] = {}
"""How parameters were written first: the notation for terms that a rule makes."""


def parameter(name: str, sort: Sort, tex: str = "") -> Number:
    """Return a parameter; its name and its LaTeX are of the claim's paper."""
    variable_ = k.Var(name, sort)
    PARAMETERS.setdefault(variable_, tex or name)
    return Written(k.symbol(variable_), tex or name)


def natural(name: str, tex: str = "") -> Number:
    """Return a natural number (0 included)."""
    return parameter(name, Sort.NATURAL, tex)


def count(name: str, tex: str = "") -> Number:
    """Return a natural number that is at least 1."""
    return parameter(name, Sort.COUNT, tex)


def nonnegative(name: str, tex: str = "") -> Number:
    """Return a number >= 0."""
    return parameter(name, Sort.NONNEGATIVE, tex)


def positive(name: str, tex: str = "") -> Number:
    """Return a number > 0."""
    return parameter(name, Sort.POSITIVE, tex)


def variable(value: Number) -> k.Var:
    """Return the parameter that a number is.

    Raises:
        TypeError: it is none.
    """
    (symbol,) = value.value.numerator.parts
    if not isinstance(symbol, k.Var):
        raise TypeError(f"{value.tex} is no parameter")
    return symbol


def of_client(
    name: str, n: k.Client, tex: str, sort: Sort = Sort.NONNEGATIVE
) -> Number:
    """Return a parameter of a client; write its LaTeX with ``{n}`` for the client."""
    symbol = k.PerClient(k.ClientFamily(name, sort), n)
    PARAMETERS.setdefault(symbol.family, tex)
    return Written(k.symbol(symbol), tex.replace("{n}", n.name))


def of_round(name: str, t: Number, tex: str, sort: Sort = Sort.POSITIVE) -> Number:
    """Return a parameter of a round; write its LaTeX with ``{t}`` for the round."""
    symbol = k.PerRound(k.RoundFamily(name, sort), k.natural(t.value))
    PARAMETERS.setdefault(symbol.family, tex)
    return Written(k.symbol(symbol), tex.replace("{t}", t.tex))


def weight(n: k.Client) -> Number:
    """Return ``a_n``."""
    return Written(k.weight(n), f"a_{{{n.name}}}")


def inverse_chance(n: k.Client) -> Number:
    """Return ``1/q_n``."""
    value = 1 + k.symbol(k.Odds(n))
    return Written(value, rf"\frac{{1}}{{q_{{{n.name}}}}}", PRODUCT)


def clients() -> Number:
    """Return ``N``."""
    n = k.Client("n")
    value = k.summed(k.CLIENTS, n, k.constant(1)).coefficients[k.UNIT]
    return Written(value, "N")


# Sums ------------------------------------------------------------------------------


def over(
    binder: k.Binder, v: k.Client | k.Var, range_: str, body: Written[Value]
) -> Written[Value]:
    """Return a sum over a binder, its range as LaTeX."""
    tex = rf"\sum_{{{range_}}} {body.inside(PRODUCT)}"

    def whole() -> Any:
        what: Any = body.value
        if isinstance(what, Ratio):
            return k.number_of(k.summed(binder, v, k.constant(what)))
        return k.summed(binder, v, what)

    made = over, (binder, body)
    return Written(Later(body.kind, whole), tex, PRODUCT, made=made)


def over_clients(n: k.Client, body: Written[Value]) -> Written[Value]:
    """Return the sum over all clients."""
    return over(k.CLIENTS, n, n.name, body)


def below(v: Number, upper: Number | int, body: Written[Value]) -> Written[Value]:
    """Return the sum over a natural ``0 <= v < upper``."""
    limit = number(upper)
    last = f"{limit.inside(PRODUCT)} - 1"
    binder = k.Steps(k.natural(limit.value))
    return over(binder, variable(v), f"{v.tex}=0}}^{{{last}", body)


# Functions, vectors and expected numbers -------------------------------------------


@dataclass(frozen=True)
class Function:
    """A function as written."""

    value: k.Function
    tex: str

    def __call__(self, at: Vector) -> Form:
        """Return its expected value at a point."""
        value = Later(k.Lin, lambda: k.value_of(self.value, at.value))
        tex = rf"\mathbb{{E}}{self.tex}({at.tex})"
        return Written(value, tex, made=(self, (at,)))

    def gradient(self, at: Vector, side: k.Side | None = None) -> Vector:
        r"""Return its gradient, or a block :math:`\nabla_c`, :math:`\nabla_s` of it."""
        below_ = "" if side is None else f"_{side.value[0]}"

        def value() -> k.Vec:
            whole = k.gradient(self.value, at.value)
            return whole if side is None else k.part(side, whole)

        tex = rf"\nabla{below_} {self.tex}({at.tex})"
        return Written(Later(k.Vec, value), tex, made=(self.gradient, (at,)))

    @property
    def best(self) -> Vector:
        """Its minimiser."""
        named = Name("x", self.tex if self.tex != "f" else "", "*")
        return Written(k.vec(k.Star(self.value)), str(named), ATOM, named)

    def gap(self, at: Vector) -> Form:
        """Return what its value lies above the least one."""
        here, least = self(at), self(self.best)
        value = Later(k.Lin, lambda: here.value - least.value)
        made = self.gap, (at,)
        return Written(value, f"{here.tex} - {self.tex}^*", SUM, made=made)


def local(n: k.Client) -> Function:
    """Return ``F_n``."""
    return Function(k.Local(n), f"F_{{{n.name}}}")


f = Function(k.MEAN, "f")


def named(name: str) -> Function:
    """Return a function of its own."""
    return Function(k.NamedFunction(name), name)


def point(name: str) -> Vector:
    """Return an arbitrary vector."""
    return Written(k.vec(k.Point(name)), name, ATOM, Name(name))


def part(side: k.Side, u: Vector) -> Vector:
    """Return the client's or the server's block of a vector."""
    value = Later(k.Vec, lambda: k.part(side, u.value))
    if u.name is not None:
        below_ = ",".join(filter(None, (side.value[0], u.name.below)))
        name = replace(u.name, below=below_)
        return Written(value, str(name), ATOM, name)
    tex = rf"\left[{u.tex}\right]_{side.value[0]}"
    return Written(value, tex, made=(part, (u,)))


def client(u: Vector) -> Vector:
    """Return the client's block."""
    return part(k.Side.CLIENT, u)


def server(u: Vector) -> Vector:
    """Return the server's block."""
    return part(k.Side.SERVER, u)


def norm2(u: Vector) -> Form:
    """Return the expected squared length."""
    value = Later(k.Lin, lambda: k.norm2(u.value))
    tex = rf"\mathbb{{E}}\left\|{u.tex}\right\|^2"
    return Written(value, tex, PRODUCT, made=(norm2, (u,)))


def inner(u: Vector, v: Vector) -> Form:
    """Return the expected inner product."""
    tex = rf"\mathbb{{E}}\left\langle {u.tex}, {v.tex}\right\rangle"
    value = Later(k.Lin, lambda: k.inner(u.value, v.value))
    return Written(value, tex, PRODUCT, made=(inner, (u, v)))


def bracket(value: Written[Value]) -> Written[Value]:
    """Return it in brackets, one factor."""
    return replace(value, tex=rf"\left[{value.tex}\right]", binding=ATOM, terms=())


@dataclass(frozen=True)
class Run:
    """A run of an algorithm; `model` and `noise` are the letters of its vectors."""

    value: k.Run
    tex: str
    model: str = "x"
    noise_: str = r"\xi"

    @property
    def split(self) -> k.Split:
        """The run of split federated learning.

        Raises:
            TypeError: it is none.
        """
        if not isinstance(self.value, k.Split):
            raise TypeError(f"{self.tex} has no local steps")
        return self.value

    def x(self, t: Number | int) -> Vector:
        """Return the model before round t."""
        at = number(t)
        name = Name(self.model, above=at.tex)
        value = Later(k.Vec, lambda: k.iterate(self.value, at.value))
        return Written(value, str(name), ATOM, name)

    def p(self, n: k.Client, t: Number | int, i: Number | int) -> Vector:
        """Return the local point of client n in round t before step i."""
        at, step = number(t), number(i)
        name = Name(self.model, n.name, f"{at.tex},{step.tex}")
        run = self.split
        value = Later(k.Vec, lambda: k.local_point(run, n, at.value, step.value))
        return Written(value, str(name), ATOM, name)

    def xi(self, n: k.Client, t: Number | int, i: Number | int) -> Vector:
        """Return the noise of that step's stochastic gradient."""
        at, step = number(t), number(i)
        name = Name(self.noise_, n.name, f"{at.tex},{step.tex}")
        run = self.split
        value = Later(k.Vec, lambda: k.noise(run, n, at.value, step.value))
        return Written(value, str(name), ATOM, name)

    def g(self, n: k.Client, t: Number | int, i: Number | int) -> Vector:
        """Return the stochastic gradient of that step."""
        name = Name("g", n.name, f"{number(t).tex},{number(i).tex}")
        gradient, noise = local(n).gradient(self.p(n, t, i)), self.xi(n, t, i)
        value = Later(k.Vec, lambda: gradient.value + noise.value)
        return Written(value, str(name), ATOM, name)


RATES: dict[k.Rate, Number] = {}
"""How learning rates were written first, in the round t."""


def rate(body: Callable[[Number], Number] | Number | Exact) -> k.Rate:
    """Return learning rates, from a function of the round or as one constant."""
    now: Number = Written(k.symbol(k.ROUND), "t")
    written = number(body(now) if callable(body) else body)
    out = k.Rate(written.value)
    RATES.setdefault(out, written)
    return out


def pace(steps: Number | int, rates: k.Rate, stepwise: bool = False) -> k.AnyPace:
    """Return how many steps a side makes in a round, and rates of rounds or steps."""
    each = k.natural(number(steps).value)
    return k.Stepwise(each, rates) if stepwise else k.Pace(each, rates)


# Hypotheses ------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Assumed:
    """A hypothesis as written, or how to make it.

    `source`: the paper's assumption; `of`: the numbers and forms in it.
    """

    given: h.Hypothesis | Callable[[], h.Hypothesis]
    tex: str
    source: str = ""
    of: tuple[Written[Any], ...] = ()

    @cached_property
    def value(self) -> h.Hypothesis:
        """The kernel's hypothesis, made when it is first asked for."""
        return self.given if isinstance(self.given, h.Hypothesis) else self.given()

    def __eq__(self, other: object) -> bool:
        """Return whether hypothesis, LaTeX and source are the same."""
        return isinstance(other, Assumed) and (
            (self.tex, self.source) == (other.tex, other.source)
            and self.value is other.value
        )

    def __hash__(self) -> int:
        return hash((self.tex, self.source))

    def called(self, source: str) -> Assumed:
        """Return the hypothesis under the paper's name."""
        return replace(self, source=source)


def every_client(n: k.Client, one: Assumed) -> Assumed:
    """Return the hypothesis for each client."""
    tex = one.tex + rf"\ \text{{for every }} {n.name}"
    return replace(one, given=lambda: h.every(k.CLIENTS, n, one.value), tex=tex)


def every_round(t: Number, upper: Number, one: Assumed) -> Assumed:
    """Return the hypothesis for each round below a limit."""
    tex = one.tex + rf"\ \text{{for }} {t.tex} < {upper.tex}"

    def value() -> h.Hypothesis:
        binder = k.Steps(k.natural(upper.value))
        return h.every(binder, variable(t), one.value)

    return replace(one, given=value, tex=tex)


def every_natural(t: Number, one: Assumed) -> Assumed:
    """Return the hypothesis for each natural number."""
    tex = one.tex + rf"\ \text{{for every }} {t.tex}"
    return replace(
        one, given=lambda: h.every(k.NATURALS, variable(t), one.value), tex=tex
    )


def at_most(left: Side, right: Side) -> Assumed:
    """Return ``left <= right``."""
    one, two = as_form(left), as_form(right)
    tex = rf"{one.tex} \le {two.tex}"
    return Assumed(lambda: h.Holds(two.value - one.value), tex, of=(one, two))


def equals(left: Side, right: Side) -> tuple[Assumed, Assumed]:
    """Return two hypotheses that make two numbers or forms equal."""
    return at_most(left, right), at_most(right, left)


def maximum(value: Number, one: Number, two: Number) -> tuple[Assumed, ...]:
    """Return that a number is the larger one of two: no less, and one of them."""
    return _one_of(value, one, two, "max", 1)


def minimum(value: Number, one: Number, two: Number) -> tuple[Assumed, ...]:
    """Return that a number is the smaller one of two."""
    return _one_of(value, one, two, "min", -1)


def _one_of(
    value: Number, one: Number, two: Number, which: str, sign: int
) -> tuple[Assumed, ...]:
    tex = rf"{value.tex} = \{which}\{{{one.tex}, {two.tex}\}}"
    first, second = (value.value - other.value for other in (one, two))
    forms = map(k.constant, (first * sign, second * sign, -first * second))
    return tuple(Assumed(h.Holds(form), tex, "", (value, one, two)) for form in forms)


def smooth(function: Function, S: Number) -> Assumed:
    """Return that gradients are S-Lipschitz (24)."""
    tex = (
        rf"\|\nabla {function.tex}(x) - \nabla {function.tex}(y)\| \le "
        rf"{S.inside(PRODUCT)} \|x - y\|"
    )
    return Assumed(lambda: h.Smooth(function.value, S.value), tex)


def majorised(function: Function, S: Number) -> Assumed:
    """Return one-sided smoothness (4)."""
    F = function.tex
    tex = (
        rf"{F}(y) \le {F}(x) + \langle \nabla {F}(x), y - x\rangle + "
        rf"\frac{{{S.tex}}}{{2}} \|y - x\|^2"
    )
    return Assumed(lambda: h.Majorised(function.value, S.value), tex)


def convex(function: Function, mu: Number | int) -> Assumed:
    """Return strong convexity; mu = 0 is convexity."""
    F, modulus = function.tex, number(mu)
    tex = rf"{F}(y) \ge {F}(x) + \langle \nabla {F}(x), y - x\rangle"
    if modulus.value:
        tex += rf" + \frac{{{modulus.tex}}}{{2}} \|y - x\|^2"
    return Assumed(lambda: h.Convex(function.value, modulus.value), tex)


def minimiser(function: Function) -> Assumed:
    """Return that a minimiser exists and is called so."""
    tex = rf"{function.best.tex} \text{{ minimises }} {function.tex}"
    return Assumed(h.Minimiser(function.value), tex)


def heterogeneity(eps2: Number) -> Assumed:
    """Return that local gradients differ from that of f by a bounded length."""
    tex = rf"\|\nabla F_n(x) - \nabla f(x)\|^2 \le {eps2.tex}"
    return Assumed(lambda: h.Heterogeneity(eps2.value), tex)


def unbiased(run: Run) -> Assumed:
    """Return that stochastic gradients are unbiased given what came before."""
    tex = rf"\mathbb{{E}}[{run.noise_}_n^{{t,i}} \mid \text{{past}}] = 0"
    return Assumed(h.Unbiased(run.split), tex)


def independent(run: Run) -> Assumed:
    """Return that the clients' samples of a round are independent."""
    tex = r"\text{samples independent across clients}"
    return Assumed(h.Independent(run.split), tex)


def variance(run: Run, n: k.Client, sigma2: Number) -> Assumed:
    """Return that a client's noise has a bounded second moment."""
    tex = rf"\mathbb{{E}}\|{run.noise_}_{{{n.name}}}^{{t,i}}\|^2 \le {sigma2.tex}"
    return Assumed(lambda: h.Variance(run.split, n, sigma2.value), tex)


def bounded_gradients(run: Run, G2: Number) -> Assumed:
    """Return that stochastic gradients along the run have bounded second moments."""
    tex = rf"\mathbb{{E}}\|g_n^{{t,i}}\|^2 \le {G2.tex}"
    return Assumed(lambda: h.BoundedGradients(run.split, G2.value), tex)


def bounded_block(run: Run, G2: Number, side: k.Side) -> Assumed:
    """Return that one side's blocks of stochastic gradients are bounded."""
    name = "c" if side is k.Side.CLIENT else "s"
    tex = rf"\mathbb{{E}}\|[g_n^{{t,i}}]_{name}\|^2 \le {G2.tex}"
    return Assumed(lambda: h.BoundedBlock(run.split, G2.value, side), tex)


def participation(run: Run) -> Assumed:
    """Return that clients take part independently of each other and of the samples."""
    tex = r"I_n^t \sim \text{Bernoulli}(q_n) \text{ independently}"
    return Assumed(h.Participation(run.split), tex)


def assumptions(*groups: Assumed | Iterable[Assumed]) -> tuple[Assumed, ...]:
    """Return hypotheses in one tuple."""
    out: list[Assumed] = []
    for group in groups:
        out += [group] if isinstance(group, Assumed) else list(group)
    return tuple(out)
