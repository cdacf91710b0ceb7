r"""(12), (15), (18), (21) repaired: the mean gap at the best constant rate.

The printed bounds name no rate, and their cube root has the wrong power. At a constant
rate the mean gap of the models before rounds 0 to T, and by convexity the gap of the
mean model, is at most :math:`\frac{\|x^0-x^*\|^2}{2\alpha(T+1)}+\frac\alpha2c_1G^2
+\frac{c_d}2S\alpha^2G^2`, :math:`\alpha=\eta\tau`. At :math:`\alpha=r/v` the first two
terms are equal, and the third one needs no rate of its own, so no cube root.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Claim, Kind, Part, Proof, meeting, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import strongly_convex_repairs as strong
from sfl_theory.papers.han2024.setting import G2, N, S, T, a, f, m, n, t, tau
from sfl_theory.papers.han2024.strongly_convex_repairs import Algorithm, times
from sfl_theory.proofs import weighted_rounds
from sfl_theory.proofs.notation import combine, sum_over

rate = w.positive("rate", r"\eta")
level, way = w.positive("level", "v"), w.positive("way", "r")
NOISE = N * w.over_clients(n, a() ** 2 * w.bracket(2 * s.sigma2() + G2))
r""":math:`N\sum_na_n^2(2\sigma_n^2+G^2)`, of (12)."""


def mean_gap(number: str, second: Number) -> Part:
    """Return the part with `second` at most v^2.

    Args:
        number: of the theorem.
        second: at least c_1 G^2.

    Returns:
        The part.
    """
    one = Algorithm(number)
    r = one.run(lambda _: w.rate(rate))
    half = Fraction(1, 2) * strong.SHARP_DRIFT[number]
    what = says(
        w.below(t, T + 1, f.gap(r.x(t))) / (T + 1),
        w.as_form(level * way + half * S * way**2),
        *one.assumed(r, S, 0),
        w.at_most(second, level**2).called("v is at least the root of it"),
        w.at_most(w.norm2(r.x(0) - f.best) / (T + 1), way**2).called(
            "r is at least the root of it"
        ),
        *(each.called("the rate") for each in w.equals(rate * tau * level, way)),
    )
    model = meeting(what, rate=Fraction(1, 10), level=10, way=1)
    return Part(what, Proof(partial(theorem, one, second), WORDS, model), one.reading)


def theorem(one: Algorithm, second: Number) -> Theorem:
    """Return the proof of `mean_gap`."""
    known = rules.assume(k.constant(level.value**2 - second.value))
    own = strong.SHARP_SECOND[one.number].value * G2.value
    if second is NOISE:
        apart = rules.square(k.weight(n) - k.weight(m))
        both = sum_over(sum_over(apart, k.CLIENTS, m), k.CLIENTS, n)
        known = combine(known, (both, G2.value / 2))
    enough = combine(known, target=k.constant(level.value**2 - own))
    return weighted_rounds.tuned_gap(one.weighted, enough)


WORDS = (
    r"$\|x^{t+1}-x^*\|^2\le\|x^t-x^*\|^2-2\alpha(f(x^t)-f^*)+c_1\alpha^2G^2+Sc_d"
    r"\alpha^3G^2$, summed over rounds 0 to T; $\alpha v=r$ makes $\frac{r^2}{2\alpha}"
    r"=\frac{rv}2$ and $\alpha^2G^2\le\alpha^2v^2=r^2$."
)


SCOPE = (
    "for a constant rate chosen from G, which bounds round T too, the first distance "
    "and T; no cube root is needed"
)
LEVEL_OF_12 = (
    ". The second part has the level of (12), N sum a_n^2 (2 sigma_n^2 + G^2): v r is "
    "sqrt 2 times its half root"
)


def claim(number: str) -> Claim:
    """Return the claim of a theorem."""
    own = times(G2, strong.SHARP_SECOND[number])
    parts, scope = [mean_gap(number, own)], SCOPE
    if number == "3.6":
        parts.append(mean_gap(number, NOISE))
        scope += LEVEL_OF_12
    return Kind.THEOREM(
        f"han2024/thm-{number}/general_convex/tuned-rate",
        "not in the paper",
        "The mean gap of x^0 to x^T at the best constant rate.",
        *parts,
        scope=scope,
    )


CLAIMS = tuple(map(claim, printed.NUMBERS))
