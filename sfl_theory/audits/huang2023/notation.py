"""``huang2023``: the names that its certificates share."""

from __future__ import annotations

from collections.abc import Callable

import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.domain import Domain, positive
from sfl_theory.symbols import S, mu

A1, A2, A3, A4, A5 = (f"Assumption {k}" for k in range(1, 6))
OPTIMUM = "w* minimises F"
UPDATE = "update (3)-(5)"
BLOCKS = "w = [w_c; w_s]"
Build = Callable[[], Certificate]

eta, eta_0, delta2, R2, v, x, j = sp.symbols("eta eta_0 delta2 R2 v x j", positive=True)

_e, _s, _m = positive("e s m")
ANY = Domain("eta, S, mu > 0", {eta: _e, S: _s, mu: _m}, (_e, _s, _m))
