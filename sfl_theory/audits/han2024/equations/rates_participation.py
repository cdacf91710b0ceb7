r"""Full against partial participation in SFL-V2, the server's side: (168).

In SFL-V2 the points at which gradients are taken depend on who takes part, so the model
$\bar x$ of full participation is not the mean of x over participation and the paper's
$\mathbb E\|X-\mathbb EX\|^2\le\mathbb E\|X\|^2$ does not apply. For convex functions
the two runs can be compared visit by visit instead (``rates_coupling``). With $A_v$ the
expected squared distance of their states after v visits, $\kappa_j=\frac1{q_n}-1$ for
the client of visit j and $K_v=\sum_{j\le v}\kappa_j$,

$$A_1\le\kappa_1\eta^2G^2,\qquad A_v\le v(K_v+v)\eta^2G^2\quad(v\ge2),$$

by induction, and $K_V+V=\tau\sum_n\frac1{q_n}$ for all $V=N\tau$ visits, in every
order. The third visit is the tight one: noise may cost $4\eta^2G^2$, and there is room
for 3; but then no gradient pushes the runs apart.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.convex import BOUNDED, G2, eta, tau
from sfl_theory.audits.han2024.equations.rates_coupling import (
    COUPLED,
    UNIT,
    any_visit,
    first_visit,
    frequent_visit,
    kappa,
    nonexpansive,
    rare_visit,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import INDUCTION, Cases, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction

SUMS = "definition of K_v, every client is visited tau times"
ASSUMED = (COUPLED, BOUNDED, SUMS)

N, inverse, v = positive("N inverse v")


def _bound(count: Any, total: Any) -> Any:
    return count * (total + count) * UNIT


def two_visits(claim: str) -> Certificate:
    r"""Return the base $A_2\le2(K_2+2)\eta^2G^2$."""
    e, G, k, other = free("e G k k_1")
    (before,) = positive("kappa_1")
    one, two, total = atom("A_1"), atom("A_2"), atom("K_2")
    use = Use(
        any_visit(claim),
        {"e": e, "G": G, "k": k, "share": sp.Integer(1)},
        {"A_v": one, "A_v+1": two},
    )
    second = Fact(
        "second visit, lambda = 1",
        2 * one + (2 * kappa + 4) * UNIT - two,
        "",
        derived=Instance(use),
    )
    added = Fact("K_2", total - before - kappa, SUMS, equality=True)
    return Certificate(
        claim,
        two,
        _bound(2, total),
        ASSUMED,
        Domain(
            "0 < q <= 1 at both visits",
            {eta: e, G2: G, kappa: k, before: other},
            (e, G, k, other),
        ),
        uses=((second, 1), (first_visit(one, before), 2), (added, 2 * UNIT)),
        statement="A_2 <= 2 (K_2 + 2) eta^2 G^2",
    )


def _step(
    claim: str, count: Any, growth: Any, part: Any, use: Use, domain: Domain
) -> Certificate:
    """Return P(v) -> P(v + 1) from one visit.

    Args:
        claim: identifier of the claim.
        count: v.
        growth: what the visit adds, in eta^2 G^2.
        part: lambda.
        use: the visit.
        domain: of v and kappa.
    """
    now, then, total, next_total = (atom(x) for x in ("A_v", "A_v+1", "K_v", "K_v+1"))
    one = Fact(
        "one visit",
        (1 + part) * now + growth * UNIT - then,
        "",
        derived=Instance(use),
    )
    before = Fact("P(v)", _bound(count, total) - now, INDUCTION)
    added = Fact("K_v+1 = K_v + kappa", next_total - total - kappa, SUMS, equality=True)
    unused = sp.cancel((count + 1) - (1 + part) * count)
    sums = ((Fact("K_v >= 0", total, SUMS), unused * UNIT),) if unused else ()
    return Certificate(
        claim,
        then,
        _bound(count + 1, next_total),
        (*ASSUMED, INDUCTION),
        domain,
        uses=(
            (one, 1),
            (before, 1 + part),
            (added, (count + 1) * UNIT),
            *sums,
        ),
        statement=f"A_v <= v (K_v + v) eta^2 G^2 implies the same for v + 1, "
        f"{domain.words}",
    )


def third_visit(claim: str, rare: bool) -> Certificate:
    """Return the step from v = 2, for q at most or at least 2/3.

    Args:
        claim: identifier of the claim.
        rare: q is at most 2/3.
    """
    visited = rare_visit(claim) if rare else frequent_visit(claim)
    same = {str(variable): variable for variable in visited.domain.free}
    part = sp.Rational(1, 2) if rare else sp.Rational(1, 4)
    growth = 3 * kappa + (3 if rare else 4)
    own = visited.domain
    domain = Domain(f"v = 2, {own.words}", own.values, own.free, own.given)
    return _step(claim, sp.Integer(2), growth, part, Use(visited, same), domain)


def later_visit(claim: str) -> Certificate:
    """Return the step from v >= 3, with lambda = 1/v."""
    e, G, k, i = free("e G k i")
    part = 1 / v
    same = {"e": e, "G": G, "k": k, "share": 1 / (3 + i)}
    domain = Domain(
        "v >= 3, 0 < q <= 1", {eta: e, G2: G, kappa: k, v: 3 + i}, (e, G, k, i)
    )
    growth = (1 + 1 / part) * kappa + 4
    return _step(claim, v, growth, part, Use(any_visit(claim), same), domain)


def all_visits(claim: str) -> Certificate:
    r"""Return (168) for at least two visits."""
    apart = atom("E||xbar_s-x_s||^2")
    visits, total = atom("A_V"), atom("K_V")
    e, G, n, k, w, t = free("e G n k w t")
    some, first, second = free("kappa_v kappa_1 kappa_2")
    count = N * tau
    domain = Domain(
        "eta <= 2/S, tau, N >= 1, N tau >= 2, sum_n 1/q_n >= N",
        {eta: e, G2: G, tau: 1 + k, N: 1 + n, inverse: N + w},
        (e, G, n, k, w, first, second),
        (count - 2,),
    )
    known = {"e": e, "G": G}
    half = sp.Rational(1, 2)
    chain = Induction(
        claim=_bound(t + 2, atom("K_v")) - atom("A_v"),
        index=t,
        end=count - 2,
        base=Use(two_visits(claim), {**known, "k": second, "k_1": first}),
        steps=(
            Cases(
                2 * some - 1,
                Use(third_visit(claim, rare=True), {**known, "k": some - half}),
                Use(third_visit(claim, rare=False), {**known, "k": some}),
            ),
            Use(later_visit(claim), {**known, "k": some, "i": t - 1}),
        ),
        moves={"A_v": ("A_2", "A_v+1", "A_V"), "K_v": ("K_2", "K_v+1", "K_V")},
        chosen=(some,),
        words="kappa_v = 1/q_n - 1 for the client of visit v + 1",
    )
    uses = (
        (Fact("a block is a part", visits - apart, COUPLED), 1),
        (
            Fact("V = N tau visits", _bound(count, total) - visits, "", derived=chain),
            1,
        ),
        (
            Fact(
                "K_V + V = tau sum_n 1/q_n",
                tau * inverse - count - total,
                SUMS,
                equality=True,
            ),
            count * UNIT,
        ),
    )
    return Certificate(
        claim,
        apart,
        N * tau**2 * eta**2 * G2 * inverse,
        ASSUMED,
        domain,
        uses=uses,
        statement="E||xbar_s - x_s||^2 <= N tau^2 eta^2 G^2 sum_n 1/q_n, N tau >= 2",
    )


def one_visit_only(claim: str) -> Certificate:
    r"""Return (168) for $N=\tau=1$."""
    apart, visits = atom("E||xbar_s-x_s||^2"), atom("A_1")
    e, G, k = free("e G k")
    domain = Domain(
        "N = tau = 1, 0 < q <= 1",
        {
            eta: e, G2: G, kappa: k, inverse: 1 + k, N: sp.Integer(1),
            tau: sp.Integer(1),
        },
        (e, G, k),
    )  # fmt: skip
    return Certificate(
        claim,
        apart,
        N * tau**2 * eta**2 * G2 * inverse,
        (COUPLED,),
        domain,
        uses=(
            (Fact("a block is a part", visits - apart, COUPLED), 1),
            (first_visit(visits, kappa), 1),
        ),
        statement="E||xbar_s - x_s||^2 <= N tau^2 eta^2 G^2 sum_n 1/q_n, N tau = 1",
    )


def certificates(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return builders: the map of a visit, one visit, the induction, its end."""
    return (
        partial(nonexpansive, claim),
        partial(any_visit, claim),
        partial(rare_visit, claim),
        partial(frequent_visit, claim),
        partial(two_visits, claim),
        partial(third_visit, claim, rare=True),
        partial(third_visit, claim, rare=False),
        partial(later_visit, claim),
        partial(all_visits, claim),
        partial(one_visit_only, claim),
    )
