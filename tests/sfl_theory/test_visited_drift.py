"""Drift counted visit by visit: its rules, and what follows from them.

Small federations with all outcomes of noise and participation run through (see
``test_partial_v2``). A rule with its upper side lowered must fail somewhere.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
import sympy as sp
from test_local_sgd_rules import worth
from test_partial_v2 import Visited, federations

from sfl_theory.audits.dachille2024 import sharper
from sfl_theory.audits.han2024 import appendix_c, appendix_c_sharper, partial_v2_sharper
from sfl_theory.audits.han2024.equations import non_convex_visits as blocks
from sfl_theory.evidence import participation
from sfl_theory.evidence.certificate import Certificate, Rejected, atom, check

H = "assumed"
CLAIM = "any"


def everyone_and_some() -> Iterator[Visited]:
    for seed, fed in enumerate(federations(12)):
        if seed % 3 == 2:
            fed.q = (1.0, 1.0)
        yield fed


def facts(fed: Visited, r: float = 1.0) -> dict[str, float]:
    """Return the worth of the rules; ``r`` lowers their upper sides."""
    runs, s, tau = list(fed.outcomes()), fed.sums, fed.tau
    chances = np.array([o.probability for o in runs])

    def mean(change: bool) -> float:
        values = [
            fed.weights(o)
            @ ((o.exact - fed.at_x[:, None] if change else o.points - fed.x) ** 2).sum((
                1,
                2,
            ))
            for o in runs
        ]
        return float(chances @ np.array(values))

    atoms = {"D": mean(False), "Delta": mean(True)}
    atoms["F"] = float(fed.a @ (fed.at_x**2).sum(1))
    D, F, Delta = (atom(name) for name in ("D", "F", "Delta"))
    eta, some = np.sqrt(r) * fed.eta, s["sigma_a"] + 2 * s["kappa"] * s["sigma_q"]
    found = {
        "deviation": participation.local_deviation(Delta, D, np.sqrt(r) * fed.S, H)
    }
    for c in (sp.Rational(1, 10), sp.Rational(1, 3), sp.Integer(2)):
        found[f"some, c = {c}"] = participation.visited_drift(
            D, F, Delta, eta, tau, s["kappa"], some, c, H
        )
        if s["kappa"] == pytest.approx(1):
            found[f"all, c = {c}"] = participation.visited_drift(
                D, F, Delta, eta, tau, 1, s["sigma_a"], c, H
            )
    return {name: worth(fact, atoms) for name, fact in found.items()}


@pytest.mark.parametrize("fed", list(everyone_and_some()))
def test_rules_hold(fed: Visited) -> None:
    for name, value in facts(fed).items():
        assert value >= -1e-9, name


def test_rules_are_not_vacuous() -> None:
    broken: set[str] = set()
    for fed in everyone_and_some():
        broken |= {k for k, v in facts(fed, r=0.1).items() if v < -1e-9}
    assert broken >= {"deviation", "some, c = 1/3", "all, c = 1/3"}


SHARPER = (
    *(
        partial(build, CLAIM, kind, times)
        for build in (blocks.drift, blocks.inner_product_end, blocks.square)
        for kind in ("v2", "v2-partial")
        for times in (1, 2)
    ),
    *(partial(blocks.square_in_parts, CLAIM, kind) for kind in ("v2", "v2-partial")),
    *partial_v2_sharper.certificates(CLAIM),
    *(
        partial(build, CLAIM)
        for several in appendix_c_sharper.RECURSIONS.values()
        for build in several
    ),
    *sharper.local_steps(CLAIM),
    partial(appendix_c.lemma_c7_sharper, CLAIM),
)


@pytest.mark.parametrize("build", SHARPER)
def test_sharper_statements_are_proved_and_no_more(
    build: partial[Certificate],
) -> None:
    """With a fifth of its right side no certificate passes."""
    certificate = build()
    check(certificate, CLAIM)
    smaller = replace(certificate, right=certificate.right / 5)
    with pytest.raises(Rejected):
        check(smaller, CLAIM)
