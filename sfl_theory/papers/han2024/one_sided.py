r"""Theorem 3.6, non-convex, with smoothness as Sec. 3.1 prints it: one-sided, (4).

The instance has :math:`F_1=f+2x`, :math:`F_2=f-3x` in one coordinate, f with a sharp
peak, which (4) allows, and two flat slopes down to wells of curvature S.
"""

from __future__ import annotations

from dataclasses import replace

from sfl_theory import claims
from sfl_theory import written as w
from sfl_theory.claims import Kind, Says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.blocks import Descent
from sfl_theory.papers.han2024.setting import S, a, eps2, eta, n, tau


def majorised() -> Says:
    """Return (13) for tau_server = tau under (4)."""
    noise = w.over_clients(n, a() ** 2 * (s.sigma2() + eps2))
    one = printed.Data(tau_min=tau, tau_max=tau)
    rates = printed.admitted("3.6", "non_convex", one, eta())
    run = s.run(Version.V1)
    says = Descent(run, tau, 2 * tau**2, 2 * tau, noise, rates).all_rounds()
    above = w.every_client(n, w.majorised(w.local(n), S)).called("Assumption 3.1, (4)")
    return replace(says, stated=(above, *says.stated[1:]))


CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.6/non_convex/one-sided",
        "Theorem 3.6, (13), with Assumption 3.1 as Sec. 3.1 prints it",
        "The same under (4) alone, without (24): curvature bounded from above only.",
        claims.Part(majorised(), None, "tau_server = tau"),
        words="Open for the kernel, none of whose functions has a concave bend, and "
        r"false by hand, in exact fractions: $a=(\frac35,\frac25)$, $F_1=f+2x$, "
        r"$F_2=f-3x$; for $x\ge0$ $f'=-10x$ up to $\frac1{10}$, $f'=-1$ up to 25, then "
        r"$f'=-1+\frac{x-25}{1800}$, and f is even; $S=\frac1{1800}$, no noise, "
        r"$\epsilon=3$, $\tau=6$, $\eta=1$, T = 1300. From $x^0=\frac12$ client 1 "
        "crosses the peak of f in its first step; after six the clients are at "
        r"$-\frac{31}2$ and $\frac{49}2$, whose mean is $\frac12$ again. So the left "
        "side is 1, the right one 0.9733. (19) at $q_n=1$ is the same.",
        uses="app-C.3/smoothness",
    ),
)
