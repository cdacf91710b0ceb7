"""Attacks on runs on one counter, means over different clients, and what vanishes."""

from __future__ import annotations

from fractions import Fraction as Q

import pytest
from calls import COUNTED, ETA, EVERYONE, RATE, j, n, tau, x
from random_models import verdict
from test_attacks import NOTHING, ONE_FORM, modelled, small_model

from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.models import MAX_STEPS
from sfl_theory.kernel.terms import Kind, Pace, Side, natural, norm2
from sfl_theory.proofs.notation import of

ONE, ZERO = ratio(1), ratio(0)
ZEROTH = k.Numbered(0)


def counted(client: object, server: object, rate: k.Rate = ETA) -> k.Split:
    return k.Split(
        Kind.COUNTED, EVERYONE, Pace(natural(client), rate), Pace(natural(server), RATE)
    )


# Quotients that are no natural numbers ------------------------------------------------

HALVES = {
    "1/2": (counted(2, 4), ratio(Q(1, 2))),
    "3/2": (counted(2, 4), ratio(Q(3, 2))),
    "j/2": (counted(2, 4), of(j) / 2),
    "j/tau": (COUNTED, of(j) / tau),
    "j + 1/tau": (COUNTED, of(j) + 1 / tau),
    "-1, and the remainder makes it up": (counted(2, 4), ratio(-1)),
}


@pytest.mark.parametrize("name", HALVES)
@pytest.mark.parametrize("i", [ZERO, ONE, of(j)])
def test_a_mean_is_taken_at_whole_multiples_of_a_period(name: str, i: k.Ratio) -> None:
    """With q = 1/2 and period 2, all clients' points of iteration 1 were one."""
    run, q = HALVES[name]
    with pytest.raises(Rejected):
        R.counted_update(run, n, q, i, Side.CLIENT, x)
