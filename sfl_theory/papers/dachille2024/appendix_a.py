"""Appendix A: the boxes of Algorithms 1 and 2 against what Appendix B analyses."""

from __future__ import annotations

from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Repair, Severity, equal, says
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.dachille2024.setting import (
    alpha,
    eta,
    k,
    proved,
    run,
    t,
    tau,
    v1,
)
from sfl_theory.proofs import federated_averaging
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Form, Number, Run


def off_the_box(r: Run, side: Side, length: Number) -> Form:
    """Return how far an analysed round is from the box's round, in a block.

    The box draws one mini-batch, so one gradient, and moves by `length` times it.
    """
    gradient = w.over_clients(k, alpha * w.part(side, r.g(k, t, 0)))
    moved = w.part(side, r.x(t + 1) - r.x(t))
    return w.norm2(moved + length * gradient)


def bowls() -> ModelData:
    """Return two round bowls, a round of two steps from (1, 1)."""
    return federation(
        [parabola(1, [0, 0])] * 2,
        [1, 1],
        numbers={t: 0, tau: 2},
        rates={"eta": "1/48"},
    )


def box(side: Side, length: Number, words: str, reading: str) -> Part:
    """Return that a block of the box is what is analysed."""
    return Part(equal(off_the_box(v1, side, length), 0), Model(bowls, words), reading)


single = run(steps=w.number(1))

ALG_1 = Claim(
    "dachille2024/alg-1",
    "Algorithm 1",
    Kind.ALGORITHM,
    r"A round of the box is $\tau$ steps of both halves, as analysed.",
    (
        box(
            Side.SERVER,
            eta(),
            "Two steps go farther than one.",
            "line 23, the server's half: one step, for one batch per round",
        ),
        box(
            Side.CLIENT,
            eta() * tau,
            "The gradient shrinks after the first step; the box uses it again.",
            "lines 28-31, the client's half: E steps along one gradient; D = B, so "
            "tau = E",
        ),
    ),
    severity=Severity.PROOF,
    scope="refuted for tau >= 2; true for one step per round (E = 1, one mini-batch)",
    cause="the box draws one mini-batch and makes one server step per round; only the "
    "client's update stands in the loop over epochs, with a gradient that is never "
    "recomputed",
    repair=Repair(
        tuple(
            proved(
                says(off_the_box(single, side, eta()), 0),
                partial(federated_averaging.single_step, side),
                "A round of one step, by definition.",
            )
            for side in Side
        ),
        "one update in a round, E = 1 and B = D (or the loop over epochs and batches "
        "around the whole exchange)",
    ),
)

ALG_2 = Claim(
    "dachille2024/alg-2",
    "Algorithm 2",
    Kind.ALGORITHM,
    "SFL-V2 as described in Sec. 3.",
    words="Open: 'This process repeats for E local epochs' in Sec. 3 can mean the "
    "client's update alone: then the box, whose loop over epochs stands around that "
    "update only, agrees by reading. It can mean the whole exchange with the server: "
    "then the box makes one server step where Sec. 3 makes several, as in alg-1. The "
    "paper analyses no SFL-V2, so nothing else tells which. That the shared server's "
    "steps carry no weights is text/v2-objective.",
)

CLAIMS = (ALG_1, ALG_2)
