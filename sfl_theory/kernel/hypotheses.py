"""What a theorem may assume; each hypothesis is a term with one meaning.

Substitution acts on hypotheses as on conclusions, so no hypothesis loses its object.
"""

from __future__ import annotations

from typing import Any, ClassVar

from . import terms as k
from .algebra import Ratio, require


class Hypothesis(k.Term):
    """A condition on a model; `averaged` ones are on means over draws or their law."""

    averaged: ClassVar[bool] = False

    def _check(self) -> None:
        require(k.CHANCE not in self.free, "a hypothesis speaks of no draw's value")


class Holds(Hypothesis, shown="{form} >= 0"):
    """``form >= 0``; a restriction of the parameters where the form has no atoms."""

    form: k.Lin

    def _check(self) -> None:
        super()._check()
        vars(self)["averaged"] = self.form.expects


class OfFunction(Hypothesis):
    """A condition on a function."""

    function: k.Function


class Smooth(OfFunction, shown="grad {function} is ({constant})-Lipschitz"):
    """``||grad F(x) - grad F(y)|| <= S ||x - y||`` for all x, y, and S >= 0."""

    constant: Ratio


class Majorised(OfFunction, shown="{function} is ({constant})-smooth from above"):
    """``F(y) <= F(x) + <grad F(x), y - x> + S/2 ||y - x||^2`` for all x, y."""

    constant: Ratio


class Convex(OfFunction, shown="{function} is ({modulus})-strongly convex"):
    """``F(y) >= F(x) + <grad F(x), y - x> + mu/2 ||y - x||^2`` for all x, y."""

    modulus: Ratio


class Minimiser(OfFunction, shown="{function}* minimises {function}"):
    """``F(F*) <= F(x)`` for all x: the `Star` of the function minimises it."""


class Heterogeneity(
    Hypothesis, shown="at every client n and point: ||grad F[n] - grad f||^2 <= {bound}"
):
    """``||grad F_n(x) - grad f(x)||^2 <= eps2`` for every client n and all x."""

    bound: Ratio


class OfRun(Hypothesis):
    """A condition on a run."""

    run: k.Split


class Unbiased(OfRun, shown="stochastic gradients are unbiased"):
    """Noise has conditional mean 0 given all draws and what came before it.

    Before xi(n,t,i) come the rounds before t and of round t the client's own steps
    j < i; for SFL-V2 all visits before (n, i); for MINIBATCH all clients' steps j < i.
    """


class Independent(OfRun, shown="samples are independent across clients"):
    """Given all draws and the past, the clients' noises are independent.

    The past: the rounds before t for the noises of round t; for MINIBATCH, where they
    meet at every step, also the steps before i for the noises of step i.
    """


class Variance(
    OfRun,
    shown="||xi({client}, round, step)||^2 <= {bound} in every round and step made",
):
    """``E||xi(n,t,i)||^2 <= bound`` given the draws: this client, every round, step."""

    client: k.ClientIndex
    bound: Ratio


class BoundedGradients(
    OfRun,
    shown="stochastic gradients have second moment <= {bound} at the local points of "
    "every client, round and step made",
):
    """``E||g(n,t,i)||^2 <= bound`` given the draws: every client, round, step made."""

    bound: Ratio


class BoundedBlock(
    BoundedGradients, shown="the {side} blocks of stochastic gradients have second "
    "moment <= {bound} at the local points of every client, round and step made",
):  # fmt: skip
    """``E||[g(n,t,i)]_b||^2 <= bound`` given the draws: every client, round, step."""

    side: k.Side


class Participation(
    OfRun, shown="clients take part independently, n with probability q[n]"
):
    """The draws of the run are honest.

    ``I_n(t) ~ Bernoulli(q_n)`` with 0 < q_n <= 1, independent over clients and rounds
    and of all samples; the order of visits does not depend on them.
    """

    averaged: ClassVar[bool] = True


class Every(k.Closed, Hypothesis):
    """The body for every value of the bound variable."""

    body: Hypothesis

    def _check(self) -> None:
        super()._check()
        vars(self)["averaged"] = self.body.averaged

    def again(self, binder: Any, v: k.Bindable, inside: Any) -> Hypothesis:
        """Return `every`."""
        return every(binder, v, inside)

    def __str__(self) -> str:
        return f"for all {self.index()}: {self.body}"


def every(binder: k.Quantifier, v: k.Bindable, body: Hypothesis) -> Every:
    """Return the hypothesis that the body holds for every v."""
    k.bindable(binder, v)
    return Every(*k.bind(binder, v, body))
