r"""Appendix D.3: the non-convex case of Theorem 3.6, SFL-V1 with full participation.

Where a repair has two parts, the first is for the side of the block making at most as
many steps as the other one (:math:`d\ge0` fewer), the second for the longer side.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import (
    Claim,
    Kind,
    Model,
    Part,
    Proof,
    Repair,
    Says,
    Severity,
    says,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Side
from sfl_theory.papers.han2024 import blocks
from sfl_theory.papers.han2024.blocks import SIDES, Blocks, Coupled
from sfl_theory.papers.han2024.setting import (
    N,
    S,
    a,
    eta,
    n,
    run,
    tau,
    tau_server,
)
from sfl_theory.proofs import block_steps
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.non_convex import TwoPaces
from sfl_theory.written import Assumed, Number

d = w.natural("d")
squares = w.over_clients(n, a() ** 2)
SPREAD = dict.fromkeys(Side, a() ** 2)


def _rates() -> tuple[Assumed, ...]:
    r"""Return the theorem's learning rates, min and max written out."""
    both = (tau, tau_server)
    first = [w.at_most(16 * S * eta() * one, 1) for one in both]
    second = [
        w.at_most(8 * S * N * one**2 * eta() * squares, other)
        for one in both
        for other in both
    ]
    name = "the learning rate of Theorem 3.6"
    return tuple(one.called(name) for one in (*first, *second))


PRINTED = Blocks(
    run(Version.V1, tau_server),
    {Side.CLIENT: tau, Side.SERVER: tau_server},
    SPREAD,
    _rates(),
)


def ordered(longer: Side) -> Blocks:
    """Return the same where one side makes d >= 0 steps more."""
    steps = dict(PRINTED.steps)
    low = steps[Side.CLIENT if longer is Side.SERVER else Side.SERVER]
    steps[longer] = replace(low + d, tex=steps[longer].tex, binding=w.ATOM)
    client, server = steps[Side.CLIENT], steps[Side.SERVER]
    return Blocks(run(Version.V1, server, None, client), steps, SPREAD)


LONGER = {
    Side.CLIENT: r"$\tau=\tilde\tau+d$ with $d\ge0$",
    Side.SERVER: r"$\tilde\tau=\tau+d$ with $d\ge0$",
}


def by_order(
    statement: Callable[[Blocks], Says],
    theorem: Callable[[TwoPaces], Theorem],
    words: str,
    reading: str = "",
) -> tuple[Part, ...]:
    """Return two parts: the client's side makes more steps, or the server's."""
    return tuple(
        Part(
            statement(ordered(longer)),
            Proof(partial(theorem, TwoPaces(longer)), words),
            "; ".join(filter(None, (LONGER[longer], reading))),
        )
        for longer in Side
    )


# Steps of one block ----------------------------------------------------------------


def first_order(side: Side) -> Repair:
    """Return the repair of (78)."""
    return two_orders(
        side,
        blocks.first_order,
        lambda p, side: block_steps.first_order(p.round, side),
        r"$-\langle\nabla_bf,M\rangle$ by polarisation, $M=\sum_na_n\sum_i\nabla_b"
        r"F_n(x_n^{t,i})$; Cauchy-Schwarz over clients and steps; Lipschitz gradients.",
        "the move of the whole vector on the right",
    )


def two_orders(
    side: Side,
    statement: Callable[..., Says],
    theorem: Callable[[TwoPaces, Side], Theorem],
    words: str,
    change: str,
    reading: str = "",
) -> Repair:
    """Return a repair for either order of the numbers of steps."""
    return Repair(
        by_order(
            lambda b: statement(b, side, whole=True),
            lambda p: theorem(p, side),
            words,
            reading,
        ),
        change,
    )


def first_order_closed(side: Side) -> Repair:
    """Return the repair of (80) and (84)."""
    return two_orders(
        side,
        blocks.first_order_closed,
        block_steps.first_order_closed,
        "The repaired (78), the drift by the repaired (79).",
        "the gradient of the whole vector behind eta^3",
    )


def second_order_closed(side: Side) -> Repair:
    """Return the repair of (83) and (85)."""
    return two_orders(
        side,
        blocks.second_order_closed,
        block_steps.second_order_closed,
        r"Young with 2/3 between gradients and noise, with 1/2 between gradients at "
        r"$x_n^{t,i}$ and at $x^t$; the drift as in the repaired (79).",
        "5/2 times the right side, the whole gradient in its second-order term",
    )


SERVER, CLIENT = SIDES
THIRTY_SECOND = Fraction(1, 32)

EQ_78 = blocks.FIRST_ORDER.claim(
    PRINTED,
    SERVER,
    ("eq-78", "App. D.3.1, (78)"),
    Coupled((-126, 255), 2, THIRTY_SECOND),
    first_order(SERVER),
)
EQ_79 = blocks.DRIFT.claim(
    PRINTED,
    SERVER,
    ("eq-79", "App. D.3.1, (79)"),
    Coupled((-1, 2), 3, Fraction(1, 48)),
    two_orders(
        SERVER,
        blocks.drift,
        block_steps.drift,
        r"$\mathbb E\|x_n^{t,i}-x^t\|^2\le2\eta^2(i\sum_{j<i}\|\nabla F_n(x_n^{t,j})\|^2"
        r"+i\sigma_n^2)$ (noises of different steps are orthogonal), summed over i; "
        r"$\|\nabla F_n(x_n^{t,j})\|^2\le2\|\nabla F_n(x^t)\|^2+2S^2\|x_n^{t,j}-x^t\|^2$;"
        " the drift on the right has a factor at most 1/4.",
        "the move and the gradient of the whole vector",
        blocks.EACH,
    ),
    uses="lemma-C.6",
)
EQ_80 = blocks.FIRST_ORDER_CLOSED.claim(
    PRINTED,
    SERVER,
    ("eq-80", "App. D.3.1, (80)"),
    Coupled((-254, 511), 2, THIRTY_SECOND),
    first_order_closed(SERVER),
    uses="eq-78 eq-79",
)
EQ_81 = blocks.SECOND_ORDER.claim(
    PRINTED,
    SERVER,
    ("eq-81", "App. D.3.1, (81)"),
    Coupled((98, -193), 2, THIRTY_SECOND),
    Repair(
        (
            Part(
                blocks.second_order(PRINTED, SERVER, times=2),
                Proof(
                    lambda: block_steps.second_order(
                        Round(PRINTED.run.split), Side.SERVER
                    ),
                    "Cauchy-Schwarz over clients and steps, Young with factor 2, "
                    "variance.",
                ),
                blocks.SECOND_ORDER.reading,
            ),
        ),
        "twice the right side",
    ),
)
EQ_82 = blocks.CHANGE.claim(
    PRINTED,
    SERVER,
    ("eq-82", "App. D.3.1, (82)"),
    Coupled((-1, 2), 2, THIRTY_SECOND),
    two_orders(
        SERVER,
        blocks.change,
        block_steps.change_closed,
        r"For $i\ge1$ the noise of step i is orthogonal to what came before, so "
        r"$\mathbb E\|g_n^{t,i}-g_n^t\|^2\le2S^2\mathbb E\|x_n^{t,i}-x^t\|^2"
        r"+3\sigma_n^2$; then the drift.",
        "the whole gradient of F_n, and the variance of the samples without eta^2",
        blocks.CHANGE.reading,
    ),
    uses="lemma-C.7",
)
EQ_83 = blocks.SECOND_ORDER_CLOSED.claim(
    PRINTED,
    SERVER,
    ("eq-83", "App. D.3.1, (83)"),
    Coupled((-1, 2), 2, THIRTY_SECOND),
    second_order_closed(SERVER),
    uses="eq-81 eq-82",
)
EQ_84 = blocks.FIRST_ORDER_CLOSED.claim(
    PRINTED,
    CLIENT,
    ("eq-84", "App. D.3.2, (84)"),
    Coupled((-254, 511), 2, THIRTY_SECOND),
    first_order_closed(CLIENT),
    uses="eq-78 lemma-C.6",
)
EQ_85 = blocks.SECOND_ORDER_CLOSED.claim(
    PRINTED,
    CLIENT,
    ("eq-85", "App. D.3.2, (85)"),
    Coupled((-1, 2), 2, THIRTY_SECOND),
    second_order_closed(CLIENT),
    uses="eq-81 lemma-C.7",
)

CLAIMS = (EQ_78, EQ_79, EQ_80, EQ_81, EQ_82, EQ_83, EQ_84, EQ_85)
