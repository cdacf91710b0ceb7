"""Section 3: assumptions and the decomposition of the gap, Proposition 3.5."""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Proof, says
from sfl_theory.papers.han2024.setting import S, best, f, minimum, n
from sfl_theory.proofs import foundations

x = w.point("x")

PROP_35 = Claim(
    "han2024/prop-3.5",
    "Proposition 3.5, (9)",
    Kind.PROPOSITION,
    "The gap splits into the distances of the two blocks.",
    (
        Part(
            says(
                f.gap(x),
                S
                / 2
                * (
                    w.norm2(w.server(x) - w.server(best))
                    + w.norm2(w.client(x) - w.client(best))
                ),
                w.every_client(n, w.majorised(w.local(n), S)).called("Assumption 3.1"),
                minimum(),
            ),
            Proof(
                foundations.prop_35,
                r"Smoothness from $x^*$, where $\nabla f$ vanishes, block by block.",
            ),
            reading="for every random x, x^T among them",
        ),
    ),
    scope="as printed: for every random point, under the one-sided (4)",
    uses="eq-33 eq-34",
)

CLAIMS = (PROP_35,)
