r"""Theorem 3.6, non-convex, with smoothness as Sec. 3.1 prints it: one-sided, (4).

The instance has :math:`F_1=f+2x`, :math:`F_2=f-3x` in one coordinate, f with a sharp
peak, which (4) allows, and two flat slopes down to wells of curvature S.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import Kind, Says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import federation, peaked, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.blocks import Descent
from sfl_theory.papers.han2024.setting import S, T, a, eps2, eta, n, tau
from sfl_theory.proofs.export import ModelData


def majorised() -> Says:
    """Return (13) for tau_server = tau under (4)."""
    noise = w.over_clients(n, a() ** 2 * (s.sigma2() + eps2))
    one = printed.Data(tau_min=tau, tau_max=tau)
    rates = printed.admitted("3.6", "non_convex", one, eta())
    run = s.run(Version.V1)
    says = Descent(run, tau, 2 * tau**2, 2 * tau, noise, rates).all_rounds()
    above = w.every_client(n, w.majorised(w.local(n), S)).called("Assumption 3.1, (4)")
    return replace(says, stated=(above, *says.stated[1:]))


def peak() -> ModelData:
    """Return both clients, f in the client's block; the server's stays at its best."""
    return federation(
        [plus(peaked(), tilt(2, 0)), plus(peaked(), tilt(-3, 0))],
        (Fraction(1, 2), 0),
        weights=("3/5", "2/5"),
        numbers={S: "1/1800", eps2: 9, tau: 6, T: 1300},
        families={"sigma2": (0, 0)},
        rates={"eta": 1},
        best={s.f: (1825, 0)},
    )


CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.6/non_convex/one-sided",
        "Theorem 3.6, (13), with Assumption 3.1 as Sec. 3.1 prints it",
        "The same under (4) alone, without (24): curvature bounded from above only.",
        evidence.broken(
            majorised(),
            peak,
            r"$a=(\frac35,\frac25)$, $F_1=f+2x_c$, $F_2=f-3x_c$; in $x=x_c\ge0$ "
            r"$f'=-10x$ up to $\frac1{10}$, $-1$ up to 25, then "
            r"$-1+\frac{x-25}{1800}$, and f is even. From $x=\frac12$ client 1 crosses "
            r"the peak of f in its first step; after six the clients are at "
            r"$-\frac{31}2$ and $\frac{49}2$, whose mean is $\frac12$ again.",
            "tau_server = tau",
        ),
        severity=evidence.Severity.SLIP,
        scope="for (4) taken by the letter; with (24), which App. C.3 states as well "
        "and 'S-smooth' commonly means, (13) is proved: thm-3.6/non_convex. (19) at "
        "q_n = 1 is the same",
        cause="(4) bounds curvature from above only: local models on either side of a "
        "sharp peak leave their mean on a slope.",
        uses="app-C.3/smoothness",
    ),
)
