"""What is proved in place of ``huang2023``'s statements is what the bounds say."""

from __future__ import annotations

import pytest
import sympy as sp

from sfl_theory import theorem
from sfl_theory.audits import LEDGER
from sfl_theory.audits.huang2023.joint import V
from sfl_theory.audits.huang2023.notation import R2, delta2, v, x
from sfl_theory.symbols import I_err, R, T, epsilon, gamma, mu, tau


@pytest.mark.parametrize(
    ("name", "version"),
    [("prop-1", "repaired"), ("prop-2", "repaired"), ("thm-1", "sharper")],
)
def test_bound_is_the_right_side_of_the_certificate(name: str, version: str) -> None:
    """Symbol by symbol, with v and x = gamma + T tau written out."""
    entry = LEDGER.entry(f"huang2023/{name}")
    assert entry.repair.status == "proved"
    proved = entry.claim.repair.evidence.certificates[-1]().right
    written = proved.xreplace({v: 4 * V / (3 * mu**2) + gamma * I_err}).xreplace({
        x: gamma + T * tau,
        R2: R**2,
        delta2: epsilon**2,
    })
    bound = theorem(f"huang2023/{name}").case().bound(version)
    assert sp.simplify(written - bound.expr) == 0
    assert sp.simplify(written - 2 * bound.expr) != 0
