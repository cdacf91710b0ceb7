"""Section 3, and the boxes of Appendix A against what Appendix B analyses."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import (
    Kind,
    Part,
    Says,
    Severity,
    broken,
    equal,
    repaired,
    says,
)
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Run
from sfl_theory.papers.dachille2024 import setting as s
from sfl_theory.papers.dachille2024.section_4 import bound, mean_gradient
from sfl_theory.papers.dachille2024.setting import S, T, alpha, eta, f, k, run, t, tau
from sfl_theory.proofs import equal_steps, sharp_rounds
from sfl_theory.proofs.export import ModelData


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
        [parabola(1, [0, 0])] * 2, [1, 1], numbers={t: 0, tau: 2}, rates={"eta": "1/48"}
    )


def box(side: Side, length: Number, words: str, reading: str) -> Part:
    """Return that a block of the box is what is analysed."""
    return broken(equal(off_the_box(s.v1, side, length), 0), bowls, words, reading)


single = run(steps=w.number(1))

ALG_1 = Kind.ALGORITHM(
    "dachille2024/alg-1",
    "Algorithm 1",
    r"A round of the box is $\tau$ steps of both halves, as analysed.",
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
        "lines 28-31, the client's half: E steps along one gradient; D = B, so tau = E",
    ),
    severity=Severity.PROOF,
    scope="refuted for tau >= 2; true for one step per round (E = 1, one mini-batch)",
    cause="the box draws one mini-batch and makes one server step per round; only the "
    "client's update stands in the loop over epochs, with a gradient that is never "
    "recomputed",
    repair=repaired(
        "one update in a round, E = 1 and B = D (or the loop over epochs and batches "
        "around the whole exchange)",
        *tuple(
            s.proved(
                says(off_the_box(single, side, eta()), 0),
                partial(equal_steps.single_step, side),
                "A round of one step, by definition.",
            )
            for side in Side
        ),
    ),
)

ALG_2 = Kind.ALGORITHM(
    "dachille2024/alg-2",
    "Algorithm 2",
    "SFL-V2 as described in Sec. 3.",
    words="Open: 'This process repeats for E local epochs' in Sec. 3 can mean the "
    "client's update alone: then the box, whose loop over epochs stands around that "
    "update only, agrees by reading. It can mean the whole exchange with the server: "
    "then the box makes one server step where Sec. 3 makes several, as in alg-1. The "
    "paper analyses no SFL-V2, so nothing else tells which. That the shared server's "
    "steps carry no weights is text/v2-objective.",
)

# Section 3: what SFL is said to minimise, (1) ----------------------------------------

v2, v2_weighted = run(Version.V2), run(Version.V2_WEIGHTED)


def weighted() -> Says:
    """Return the bound for SFL-V2 whose server's steps are weighted."""
    r, rate_squares = v2_weighted, w.below(t, T, eta() ** 2)
    noise = 4 * w.over_clients(k, alpha**2 * s.sigma2)
    noise = noise + w.over_clients(k, alpha * s.sigma2) / 2 + tau * s.eps2 / 2
    right = 4 / (T * tau) * f.gap(r.x(0)) + S / T * rate_squares * noise
    first = w.every_round(t, T, w.at_most(16 * S * eta() * tau, 1))
    return says(mean_gradient(r), right, *s.assumptions(r), first, s.minimum())


def leaving_server() -> ModelData:
    """Return two bowls, weights 7/8, 1/8, from the minimiser of f."""
    short = federation(
        [parabola(1, [0, 0]), parabola(1, [0, 1])],
        [0, "1/8"],
        weights=["7/8", "1/8"],
        order=[(1, 0), (0, 0)],
        numbers={S: 1, T: 390, s.eps2: "49/64", tau: 1},
        families={"sigma2": [0, 0]},
        rates={"eta": Fraction(1, 256)},
        best={f: [0, "1/8"]},
    )
    return replace(short, long=True)


def v2_objective(r: Run) -> Says:
    """Return (6) for SFL-V2."""
    conditions = s.all_rounds(s.rates())
    return says(mean_gradient(r), bound(r), *s.assumptions(r), *conditions, s.minimum())


V2_OBJECTIVE = Kind.TEXT(
    "dachille2024/text/v2-objective",
    "Sec. 3, (1)",
    "(entry of the audit) SFL, in both versions, minimises the weighted f: its "
    "gradient gets as small in SFL-V2 as Proposition 1 says.",
    broken(
        v2_objective(v2),
        leaving_server,
        "Weights 7/8, 1/8, bowls with minima 0 and 1 on the server: its steps "
        "carry no weights, so it leaves 1/8, where f is least, for 1/2; 390 rounds. "
        "The second client is first in each round; the other order takes it farther, "
        "so this holds for random orders as well.",
        "(6) read for SFL-V2, for which the paper gives no bound",
    ),
    severity=Severity.PROOF,
    scope="refuted for unequal weights; for equal ones the shared server moves K times "
    "as far as the clients' half",
    cause="Sec. 3 and Algorithm 2 add every client's server step without alpha_k",
    repair=repaired(
        r"server steps $\eta\alpha_kg_k$, in any order of the clients",
        s.proved(
            weighted(),
            sharp_rounds.rounds_of_visits,
            "As Proposition 1; the drift of the server's half is bounded over the "
            "visits before.",
        ),
    ),
)

CLAIMS = (ALG_1, ALG_2, V2_OBJECTIVE)
