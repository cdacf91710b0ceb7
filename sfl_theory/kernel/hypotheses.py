"""What a theorem may assume; each hypothesis is a term with one meaning.

Substitution acts on hypotheses as on conclusions, so no hypothesis loses its object.
"""

from __future__ import annotations

from dataclasses import dataclass

from .algebra import Ratio, require
from .terms import (
    CHANCE,
    UNIT,
    Client,
    ClientIndex,
    Closed,
    Function,
    Lin,
    Quantifier,
    Split,
    Substitution,
    Term,
    Var,
    bindable,
    bound,
    fresh,
    rebuilt,
    renamed,
    term_at,
)


class Hypothesis(Term):
    """A condition on the model in which a theorem is read.

    All but the averaged ones hold given the draws too: if a model meets them, so does
    its law given the values of all draws of all runs, again a model.
    """

    def __post_init__(self) -> None:
        """Refuse a condition on the value of a draw.

        Raises:
            Rejected: a draw occurs.
        """
        super().__post_init__()
        require(CHANCE not in self.free, "a hypothesis speaks of no draw's value")

    @property
    def averaged(self) -> bool:
        """Whether the condition is on means over the draws, or on their law."""
        return False


@dataclass(frozen=True, eq=False)
class Holds(Hypothesis):
    """``form >= 0``; a restriction of the parameters where the form has no atoms."""

    form: Lin
    shown = "{form} >= 0"

    @property
    def averaged(self) -> bool:
        """Whether the form has expected values: they are means over draws too."""
        return bool(self.form.coefficients.keys() - {UNIT})


@dataclass(frozen=True, eq=False)
class Smooth(Hypothesis):
    """``||grad F(x) - grad F(y)|| <= S ||x - y||`` for all x, y, and S >= 0."""

    function: Function
    constant: Ratio
    shown = "grad {function} is ({constant})-Lipschitz"


@dataclass(frozen=True, eq=False)
class Majorised(Hypothesis):
    """``F(y) <= F(x) + <grad F(x), y - x> + S/2 ||y - x||^2`` for all x, y."""

    function: Function
    constant: Ratio
    shown = "{function} is ({constant})-smooth from above"


@dataclass(frozen=True, eq=False)
class Convex(Hypothesis):
    """``F(y) >= F(x) + <grad F(x), y - x> + mu/2 ||y - x||^2`` for all x, y."""

    function: Function
    modulus: Ratio
    shown = "{function} is ({modulus})-strongly convex"


@dataclass(frozen=True, eq=False)
class Minimiser(Hypothesis):
    """``F(F*) <= F(x)`` for all x: the `Star` of the function minimises it."""

    function: Function
    shown = "{function}* minimises {function}"


@dataclass(frozen=True, eq=False)
class Heterogeneity(Hypothesis):
    """``||grad F_n(x) - grad f(x)||^2 <= eps2`` for every client n and all x."""

    bound: Ratio
    shown = "||grad F_n - grad f||^2 <= {bound}"


@dataclass(frozen=True, eq=False)
class Unbiased(Hypothesis):
    """Noise has conditional mean 0 given all draws and what came before it.

    Before xi(n,t,i) come the rounds before t and of round t the client's own steps
    j < i; for SFL-V2 all visits before (n, i); for MINIBATCH all clients' steps j < i.
    """

    run: Split
    shown = "stochastic gradients are unbiased"


@dataclass(frozen=True, eq=False)
class Independent(Hypothesis):
    """Given all draws and the past, the clients' noises are independent.

    The past: the rounds before t for the noises of round t; for MINIBATCH, where they
    meet at every step, also the steps before i for the noises of step i.
    """

    run: Split
    shown = "samples are independent across clients"


@dataclass(frozen=True, eq=False)
class Variance(Hypothesis):
    """``E||xi(n,t,i)||^2 <= bound`` given the draws: this client, every round, step."""

    run: Split
    client: ClientIndex
    bound: Ratio
    shown = "variance of client {client} <= {bound}"


@dataclass(frozen=True, eq=False)
class BoundedGradients(Hypothesis):
    """``E||g(n,t,i)||^2 <= bound`` given the draws: every client, round, step made."""

    run: Split
    bound: Ratio
    shown = "stochastic gradients have second moment <= {bound}"


@dataclass(frozen=True, eq=False)
class Participation(Hypothesis):
    """The draws of the run are honest.

    ``I_n(t) ~ Bernoulli(q_n)`` with 0 < q_n <= 1, independent over clients and rounds
    and of all samples; the order of visits does not depend on them.
    """

    run: Split
    shown = "clients take part independently with probabilities q_n"

    @property
    def averaged(self) -> bool:
        """It says how the draws are distributed."""
        return True


@dataclass(frozen=True, eq=False)
class Every(Hypothesis, Closed):
    """The body for every value of the bound variable."""

    binder: Quantifier
    level: int
    body: Hypothesis

    @property
    def averaged(self) -> bool:
        """As the body."""
        return self.body.averaged

    def __str__(self) -> str:
        return f"for all {self.index()}: {self.body}"


def every(binder: Quantifier, v: Client | Var, body: Hypothesis) -> Hypothesis:
    """Return the hypothesis that the body holds for every v."""
    bindable(binder, v)
    level = body.depth + 1
    return Every(binder, level, renamed(body, v, bound(binder, level)))


def opened_hypothesis(closed: Every) -> tuple[Client | Var, Hypothesis]:
    """Return a fresh variable and the body with it."""
    v = fresh(closed.binder)
    return v, renamed(closed.body, bound(closed.binder, closed.level), v)


def hypothesis_at(h: Hypothesis, by: Substitution) -> Hypothesis:
    """Return the hypothesis with variables replaced, without capture."""
    if h.free.isdisjoint(by):
        return h
    if isinstance(h, Every):
        v, body = opened_hypothesis(h)
        return every(term_at(h.binder, by), v, hypothesis_at(body, by))
    return rebuilt(h, by)
