r"""Proof of (73) and (136): SFL-V1's strongly convex rate for any two periods.

The paper merges two recursions, one per block, which are false (Lemma D.1). With the
rates of App. D.1.1 and D.1.2 (each side its own rate),
$\alpha=\eta_c\tau=\eta_s\tilde\tau=\frac4{\mu(\gamma+t)}$, the function value itself
contracts, whatever $\tau,\tilde\tau$. With $\bar M_b$ the mean of the true local
gradients of block b over its steps and $M_b$ that block's update divided by $-\alpha$,

$$\mathbb Ef(x^{t+1})\le f(x^t)-\tfrac\alpha2\|\nabla f\|^2+\tfrac\alpha2
\sum_b\mathbb E\|\nabla_bf-\bar M_b\|^2+\tfrac{S\alpha^2}2\sum_b\mathbb E\|M_b\|^2,$$

$\|\nabla f\|^2\ge2\mu(f-f^*)$, and bounded gradients bound the rest:

$$e_{t+1}\le(1-\alpha\mu)e_t+Sc_1\alpha^2G^2+2S^2\alpha^3G^2,\qquad
e_t=\mathbb Ef(x^t)-f^*.$$
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.han2024.convex import (
    BOUNDED,
    CONVEX,
    G2,
    MINIMUM,
    PROP_35,
    SMOOTH,
    START,
    S,
    decomposition,
    delta0,
    gamma,
    mu,
    t,
)
from sfl_theory.audits.han2024.equations.rates_descent_rules import (
    alpha,
    averaged_deviation,
    c1,
    drift_of_both_sides,
    second_moment_of_blocks,
)
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.kernel import convex_lower, value
from sfl_theory.evidence.local_sgd import unbiased
from sfl_theory.registry import theorem

(w,) = positive("w")

UNBIASED = "Assumption 3.2"
BLOCKS = "grad f = [grad_c f; grad_s f]"
ASSUMED = (SMOOTH, CONVEX, UNBIASED, BOUNDED, BLOCKS)
GRADIENT = "E||grad f||^2"


def gradient_domination(claim: str, convex: str = CONVEX) -> Certificate:
    r"""Return $2\mu(f(x)-f^*)\le\|\nabla f(x)\|^2$.

    Args:
        claim: identifier of the claim.
        convex: hypothesis that f is strongly convex.
    """
    d, g = vectors("x*-x grad_f(x)")
    (m,) = positive("m")
    return Certificate(
        claim,
        2 * mu * (value("f", "x") - value("f", "x*")),
        norm2(g),
        (convex,),
        Domain("mu > 0", {mu: m}, (m,)),
        uses=((convex_lower("f", "x", "x*", d, g, mu, convex), 2 * mu),),
        squares=((g + mu * d, 1),),
        statement="2 mu (f(x) - f*) <= ||grad f(x)||^2",
    )


def one_round(claim: str) -> Certificate:
    """Return the recursion of one round for the function value."""
    now, then = atom("e_t"), atom("e_t+1")
    gc, gs, mc, ms, zc, zs = vectors("g_c g_s M_c M_s Z_c Z_s")
    drift = atom("D")
    gradient, mean, noise = (gc, gs), (mc, ms), (zc, zs)
    update = (mc + zc, ms + zs)
    (m,) = positive("m")
    s, e, G, x = free("s e G x")
    domain = Domain(
        "S >= mu > 0, alpha >= 0, G^2 >= 0, c_1 >= 1",
        {mu: m, S: m + s, alpha: e, G2: G, c1: 1 + x},
        (m, s, e, G, x),
    )
    pairs = tuple(zip(gradient, update, strict=True))
    smooth = Fact(
        "f smooth, x^t -> x^t+1 = x^t - alpha M",
        now
        - then
        - alpha * sum(inner(g, u) for g, u in pairs)
        + S / 2 * alpha**2 * sum(norm2(u) for u in update),
        SMOOTH,
    )
    length = atom(GRADIENT)
    domination = Use(
        gradient_domination(claim),
        at={"m": mu},
        atoms={
            "f(x)": now,
            "f(x*)": sp.Integer(0),
            "<grad_f(x),grad_f(x)>": length,
        },
        family="the draws before round t",
    )
    dominated = Fact(
        "2 mu e_t <= E||grad f||^2",
        length - 2 * mu * now,
        "",
        derived=Instance(domination),
    )
    blocks = sum(norm2(g) for g in gradient) - length
    return Certificate(
        claim,
        then,
        (1 - alpha * mu) * now + S * c1 * alpha**2 * G2 + 2 * S**2 * alpha**3 * G2,
        ASSUMED,
        domain,
        uses=(
            (smooth, 1),
            *((unbiased(g, z, UNBIASED), alpha)
              for g, z in zip(gradient, noise, strict=True)),
            (dominated, alpha / 2),
            (Fact("both blocks", blocks, BLOCKS, equality=True), alpha / 2),
            (averaged_deviation(gradient, mean, drift), alpha / 2),
            (drift_of_both_sides(drift), alpha * S**2 / 2),
            (second_moment_of_blocks(update), S * alpha**2 / 2),
        ),
        squares=tuple((m_, alpha / 2) for m_ in mean),
        statement="e_t+1 <= (1 - alpha mu) e_t + S c_1 alpha^2 G^2 + "
        "2 S^2 alpha^3 G^2, e_t = E f(x^t) - f*",
    )  # fmt: skip


def _least() -> Any:
    r"""Return the number w of the induction.

    $w=\frac{8Sc_1G^2}{\mu^2}+\frac{768S^2G^2}{\mu^3(\gamma+1)}
    +\frac S2(\gamma+1)I_{err}$.
    """
    noise = 8 * S * c1 * G2 / mu**2 + 768 * S**2 * G2 / (mu**3 * (gamma + 1))
    return noise + S * (gamma + 1) / 2 * delta0


def _domain(words: str) -> Domain:
    s, k, G, x, d = free("s k G x d")
    (m,) = positive("m")
    return Domain(
        f"S >= mu > 0, c_1 >= 1, {words}",
        {
            mu: m, S: m + s, gamma: 8 * S / mu - 1, t: 0 + k, G2: G, c1: 1 + x,
            delta0: d, w: _least(),
        },
        (m, s, k, G, x, d),
    )  # fmt: skip


def base(claim: str) -> Certificate:
    r"""Return $e_0\le w/\gamma$, from Prop. 3.5."""
    gap = atom("e_0")
    client, server = atom("||x_c^0-x_c*||^2"), atom("||x_s^0-x_s*||^2")
    blocks = Use(
        decomposition(PROP_35),
        at={"s": S},
        atoms={
            "f(x^T)": gap,
            "f(x*)": sp.Integer(0),
            "<x_c-x_c*,x_c-x_c*>": client,
            "<x_s-x_s*,x_s-x_s*>": server,
        },
    )
    proposition = Fact(
        "Prop. 3.5", S / 2 * (client + server) - gap, "", derived=Instance(blocks)
    )
    start = Fact("I_err", delta0 - client - server, START, equality=True)
    return Certificate(
        claim,
        gap,
        w / gamma,
        (SMOOTH, MINIMUM, START),
        _domain("the start"),
        uses=((proposition, 1), (start, S / 2)),
        statement="e_0 <= w/gamma",
    )


def induction(claim: str) -> Certificate:
    r"""Return the step of $e_t\le w/(\gamma+t)$ for every $t\ge0$."""
    now, then = atom("e_t"), atom("e_t+1")
    u = gamma + t
    recursion = (1 - 4 / u) * now - then
    recursion += 16 * S * c1 * G2 / (mu * u) ** 2 + 128 * S**2 * G2 / (mu * u) ** 3
    at = {"m": mu, "s": S - mu, "e": 4 / (mu * u), "G": G2, "x": c1 - 1}
    earlier = Instance(Use(one_round(claim), at))
    name = "one round at alpha = 4/(mu(gamma+t))"
    return Certificate(
        claim,
        then,
        w / (u + 1),
        (*ASSUMED, INDUCTION),
        _domain("t >= 0"),
        uses=(
            (Fact(name, recursion, "", derived=earlier), 1),
            (Fact("e_t <= w/(gamma+t)", w / u - now, INDUCTION), 1 - 4 / u),
        ),
        statement="e_t <= w/(gamma+t) implies e_t+1 <= w/(gamma+t+1)",
    )


def _chain(claim: str, top: Any) -> Induction:
    r"""Return the induction: $e_t\le w/(\gamma+t)$ for every t."""
    (index,) = free("t'")
    at = {"m": mu, "s": S - mu, "G": G2, "x": c1 - 1, "d": delta0}
    return Induction(
        claim=w / (gamma + index) - atom("e_t"),
        index=index,
        end=top,
        base=Use(base(claim), {**at, "k": sp.Integer(0)}),
        steps=(Use(induction(claim), {**at, "k": index}),),
        moves={"e_t": ("e_0", "e_t+1", "e_T")},
    )


def end(claim: str, number: str) -> Certificate:
    r"""Return $w/(\gamma+T)\le$ the printed right side of (73) or (136).

    With $\Sigma=\sum_na_n^2$ and $\Sigma_q=\sum_na_n^2/q_n\ge\Sigma$:
    $c_1=1+\Sigma_q-\Sigma$, $N\Sigma\ge1$ (Cauchy-Schwarz), and the noise terms that w
    does not need are non-negative.

    Args:
        claim: identifier of the claim.
        number: "3.6" for (73), "3.8" for (136).

    Returns:
        The certificate.
    """
    partially = number == "3.8"
    gap = atom("e_T")
    square, inverse, noise2, noise1, top = positive("A2 Aq noise2 noise1 T")
    s, k, G, d, j, x, y, z, p = free("s k G d j x y z p")
    (m,) = positive("m")
    N = symbols.N
    domain = Domain(
        "S >= mu > 0, T >= 0, N >= 1, N sum a_n^2 >= 1, q_n <= 1",
        {
            mu: m, S: m + s, gamma: 8 * S / mu - 1, top: 0 + k, G2: G, delta0: d,
            N: 1 + j, square: (1 + x) / N, inverse: square + p, noise2: y, noise1: z,
            c1: 1 + inverse - square if partially else sp.Integer(1), w: _least(),
        },
        (m, s, k, G, d, j, x, y, z, p),
    )  # fmt: skip
    right = _printed(number, square, inverse, noise2, noise1, top)
    name = "e_T <= w/(gamma+T)"
    bound = Fact(name, w / (gamma + top) - gap, "", derived=_chain(claim, top))
    return Certificate(
        claim,
        gap,
        right,
        (*ASSUMED, MINIMUM, START),
        domain,
        uses=((bound, 1),),
        statement=f"E f(x^T) - f* <= the right side printed in Theorem {number}",
    )


def _printed(
    number: str, square: Any, inverse: Any, noise2: Any, noise1: Any, top: Any
) -> Any:
    r"""Return the printed right side, its sums over clients named.

    noise2 $=2\sum_na_n^2\sigma_n^2$ and noise1 $=2\sum_na_n\sigma_n^2$.
    """
    n, G = symbols.n, symbols.G
    a, q, moment = symbols.a[n], symbols.q[n], 2 * symbols.sigma[n] ** 2 + G**2
    over = symbols.over_clients
    names = {
        over(a**2 * moment): noise2 + G2 * square,
        over(a**2 * (moment + G**2 / q)): noise2 + G2 * (square + inverse),
        over(a * moment): noise1 + G2,
        symbols.I_err: delta0,
        symbols.T: top,
    }
    bound = theorem(number).case("strongly_convex").bound("printed")
    return sum(part.xreplace(names) for part in bound.parts.values())


def certificates(claim: str, number: str) -> tuple[Callable[[], Certificate], ...]:
    """Return the whole proof of (73) or (136).

    Args:
        claim: identifier of the claim.
        number: "3.6" or "3.8".

    Returns:
        Builders: domination, round, start, step, end.
    """
    return (
        partial(gradient_domination, claim),
        partial(one_round, claim),
        partial(base, claim),
        partial(induction, claim),
        partial(end, claim, number),
    )
