r"""Assumption 3.3 and strong convexity together: only on sets of bounded diameter.

If $\|\nabla F\|\le G$ on a convex set where F is $\mu$-strongly convex, $\mu>0$, then
$\|x-y\|\le2G/\mu$ for all x, y in it. So the two cannot hold together on
$\mathbb R^d$, as Theorems 3.6-3.9 ask in the strongly convex case.
"""

from __future__ import annotations

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.domain import Domain, positive
from sfl_theory.evidence.kernel import convex_lower

CLAIM = "han2024/assumption-3.3/strongly_convex"
BOUNDED = "Assumption 3.3"
CONVEX = "Assumption C.2"


def bounded_diameter(claim: str = CLAIM) -> Certificate:
    r"""Prove $\|x-y\|^2\le4G^2/\mu^2$ from (7) at x and y and (30) between them.

    With $d=x-y$, $u=\nabla F(x)$, $v=\nabla F(y)$, the two directions of (30) add up to
    $\langle u-v,d\rangle\ge\mu\|d\|^2$, and
    $\frac4{\mu^2}G^2-\|d\|^2=\frac2{\mu^2}(G^2-\|u\|^2)+\frac2{\mu^2}(G^2-\|v\|^2)
    +\frac2\mu(\langle u-v,d\rangle-\mu\|d\|^2)+\|\frac{u-v}\mu-d\|^2
    +\frac1{\mu^2}\|u+v\|^2$. (7) bounds $\|\nabla F\|^2\le\mathbb E\|g\|^2\le G^2$ by
    Jensen's inequality.

    Args:
        claim: identifier under which it is used.

    Returns:
        The certificate.
    """
    mu, G2 = positive("mu G2")
    domain = Domain("mu > 0, G^2 > 0", {}, (mu, G2))
    d, u, v = vectors("x-y grad_F(x) grad_F(y)")
    two = sp.Integer(2)
    return Certificate(
        claim=claim,
        left=norm2(d),
        right=4 * G2 / mu**2,
        hypotheses=(BOUNDED, CONVEX),
        domain=domain,
        uses=(
            (Fact("(7) at x", G2 - inner(u, u), BOUNDED), two / mu**2),
            (Fact("(7) at y", G2 - inner(v, v), BOUNDED), two / mu**2),
            (convex_lower("F", "x", "y", d * -1, u, mu, CONVEX), two / mu),
            (convex_lower("F", "y", "x", d, v, mu, CONVEX), two / mu),
        ),
        squares=(((u - v) * (1 / mu) - d, sp.Integer(1)), (u + v, 1 / mu**2)),
        statement="||x - y||^2 <= 4 G^2/mu^2 wherever both assumptions hold",
    )
