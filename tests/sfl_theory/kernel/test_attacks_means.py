"""The mean over those present: what a share is, and what would follow from a wrong one.

A share P_n is made of all draws of its round. Whoever takes it for a draw has E P_n = 1
or takes it out of an expectation; a run that has none must not have one.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction as Q
from itertools import product

import pytest
from calls import MEAN_BATCH, MINIBATCH, ONE, V1, S, m, n, now, x
from hypothesis import given
from hypothesis import strategies as st

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.kernel.models import Evaluation, dot
from sfl_theory.proofs.export import ModelData, model_of

FIRST, SECOND = k.Numbered(0), k.Numbered(1)
PACE = k.Pace(k.natural(2), k.Rate(ratio(Q(1, 4))))
RUN = k.Split(k.Kind.MINIBATCH, k.Participants.MEAN, PACE, PACE)


def share(client: k.ClientIndex, t: object = now) -> k.Ratio:
    return k.share_of(MEAN_BATCH, client, t)


ATTACKS: dict[str, Callable[[], object]] = {
    "a share beside the mean of a draw": lambda: rules.expect(
        MEAN_BATCH, n, now, k.constant(share(n)), ()
    ),
    "another client's share": lambda: rules.expect(
        MEAN_BATCH, FIRST, now, k.norm2(k.iterate(MEAN_BATCH, now)) * share(SECOND), ()
    ),
    "a share of a later round": lambda: rules.expect(
        MEAN_BATCH, FIRST, now, k.constant(share(SECOND, now + 1)), ()
    ),
    "a point that shares have moved": lambda: rules.expect(
        MEAN_BATCH, n, now, k.norm2(k.local_point(MEAN_BATCH, m, now, 1)), ()
    ),
    "a sum of shares": lambda: rules.expect(
        MEAN_BATCH, n, now, k.summed(k.CLIENTS, m, k.constant(share(m))), ()
    ),
    "a parameter that is a share": lambda: rules.instantiate(
        rules.assume(k.constant(S)), ((next(iter(S.free)), share(n)),), ()
    ),
    "a share in a hypothesis": lambda: rules.assume(k.constant(share(n) - 1)),
    "an average times a share": lambda: rules.combine(
        ((rules.assume(k.constant(S) - k.norm2(x)), share(n)),), (), None, ()
    ),
    "a share where all take part": lambda: rules.shared(
        MINIBATCH, n, now, k.constant(ONE), False
    ),
    "a bound of a share by 1 from nothing": lambda: rules.combine(
        (), (), k.constant(1 - share(n)), ()
    ),
}


@pytest.mark.parametrize("name", ATTACKS)
def test_it_is_refused(name: str) -> None:
    with pytest.raises(Rejected):
        ATTACKS[name]()


@pytest.mark.parametrize("kind", [one for one in k.Kind if one is not k.Kind.MINIBATCH])
def test_only_one_server_step_is_a_mean(kind: k.Kind) -> None:
    with pytest.raises(Rejected):
        k.Split(kind, k.Participants.MEAN, PACE, PACE)


def test_the_draws_of_another_run_make_other_shares() -> None:
    known = rules.shared(MEAN_BATCH, n, now, k.constant(1), False)
    other = rules.shared(RUN, n, now, k.constant(1), False)
    assert known.form - other.form


def test_no_statement_has_a_share() -> None:
    with pytest.raises(Rejected):
        h.Holds(k.constant(share(n)))
    assert k.CHANCE in share(n).free and k.CHANCE not in k.weight(n).free
    assert V1.kind is k.Kind.V1


CHANCES = st.sampled_from([Q(1), Q(1, 2), Q(1, 3)])


@given(st.lists(CHANCES, min_size=2, max_size=2), st.integers(0, 4), st.integers(1, 3))
def test_a_model_plays_the_mean_of_those_present(
    q: list[Q], first: int, curve: int
) -> None:
    """Two steps of two coordinates, against the definition of the trainer."""
    a = (Q(first, 4), 1 - Q(first, 4))
    H = [((Q(1), Q(1, 2)), (Q(1, 2), Q(curve))), ((Q(2), Q(0)), (Q(0), Q(1, 3)))]
    b, eta = [(Q(1), Q(-1)), (Q(0), Q(2))], Q(1, 4)
    start = (Q(1), Q(2))
    model = model_of(
        ModelData(
            start, {}, client_size=1, weights=a, participation=tuple(q), rounds=1,
            functions=tuple((H[p], b[p], ()) for p in (0, 1)),
        )
    )  # fmt: skip
    e = Evaluation(model)
    e.prepare(2, True)
    total = Q(0)
    for here in product(*((True, False) if one < 1 else (True,) for one in q)):
        present = [p for p in (0, 1) if here[p]]
        chance = Q(1)
        for p in (0, 1):
            chance *= q[p] if here[p] else 1 - q[p]
        parts = {p: a[p] / q[p] for p in present}
        whole, server = sum(parts.values(), Q(0)), start[1]
        own = {p: start[0] for p in present}
        for _ in range(2):
            at = {p: (own[p], server) for p in present}
            g = {p: [dot(H[p][i], at[p]) + b[p][i] for i in (0, 1)] for p in present}
            own = {p: own[p] - eta * g[p][0] for p in present}
            if whole:
                mean = sum((parts[p] * g[p][1] for p in present), Q(0)) / whole
                server -= eta * mean
        client = start[0] + sum((parts[p] * (own[p] - start[0]) for p in present), Q(0))
        total += chance * (client**2 + server**2)
    assert e.form(k.norm2(k.iterate(RUN, 1))) == total
