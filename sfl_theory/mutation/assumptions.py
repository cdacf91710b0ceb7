"""What the hypotheses of the audits demand of a witness, and checks of each demand.

A hypothesis is written out as topics; a witness carries a check of every topic that it
has something to say about. A hypothesis that is not listed here is met by no witness.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence.instance import Check

Number = int | Fraction

SMOOTH, CONVEX, BOUNDED = "smooth", "convex", "bounded gradients"
UNBIASED, VARIANCE, SPREAD = "unbiased", "variance", "heterogeneity"
UPDATE, SCALED = "update", "update with scaled rates"
V1, V2, V2_PARTIAL = "update of SFL-V1", "update of SFL-V2", "update of partial SFL-V2"
JOINT = "update (3)-(5)"
UPDATES = (UPDATE, SCALED, V1, V2, V2_PARTIAL, JOINT)
"""One client that always takes part, the same steps on both sides: all the same."""
PRESENT, APART, INDEPENDENT = "participation", "participation apart", "independence"
EVERYONE = "everyone takes part"
DISTANCE = "distances"
MINIMISER, BLOCKS, START, RATE = "minimiser", "blocks", "start", "learning rates"
INDUCTION, MEAN, BEST, NAMED = "induction", "mean", "best value", "names"
SUMS, AVERAGED = "sums", "averaged models"
ROOT, BALL = "square root", "ball"

NOISE = (UNBIASED, VARIANCE)

_FIXED: dict[str, tuple[str, ...]] = {
    "Assumption 1": (SMOOTH,),
    "Assumption 2": (CONVEX,),
    "Assumption 3": NOISE,
    "Assumption 4": (BOUNDED,),
    "Assumption 5": (SPREAD,),
    "unbiased": (UNBIASED,),
    "Assumption 3.1": (SMOOTH,),
    "Assumption 3.1, gradients S-Lipschitz (24)": (SMOOTH,),
    "Assumption C.1 (24)": (SMOOTH,),
    "Assumption C.1 (24), gradients S-Lipschitz": (SMOOTH,),
    "Assumption C.1 (25)": (SMOOTH,),
    "Assumption C.2": (CONVEX,),
    "Assumptions 3.1 and C.2": (SMOOTH, CONVEX),
    "Assumption 3.2": NOISE,
    "Assumption 3.2, unbiased gradients": (UNBIASED,),
    "Assumption 3.2, variance": NOISE,
    "Assumption 3.2 (5)": (UNBIASED,),
    "Assumption 3.2, participation independent of the samples": (*NOISE, PRESENT),
    "Assumption 3.3": (BOUNDED,),
    "Assumption 3.4": (SPREAD,),
    "Assumption C.1 (26)-(27)": NOISE,
    "Assumption C.1 (28)": (BOUNDED,),
    "Assumption C.1 (29)": (SPREAD,),
    "App. C.2 update of SFL-V1": (V1, PRESENT),
    "every client takes part": (EVERYONE,),
    "App. C.2 update of SFL-V1, noise as in Assumption 3.2": (V1, PRESENT, *NOISE),
    "SFL-V2 with server steps eta a_n g": (V2,),
    "SFL-V2 with server steps eta a_n g, noise as in Assumption 3.2": (V2, *NOISE),
    "SFL-V2 with server steps eta a_n/q_n g, noise as in Assumption 3.2": (
        V2_PARTIAL, PRESENT, *NOISE,
    ),
    "the algorithm's update, tau = tau_server": (UPDATE,),
    "the algorithm's update with unbiased gradients, each side's rate divided by "
    "its own period": (SCALED,),
    "update (3)-(5)": (JOINT,),
    "independent participation": (APART,),
    "independent clients": (INDEPENDENT,),
    "x* minimises f": (MINIMISER,),
    "w* minimises F": (MINIMISER,),
    "definition of f*": (BEST,),
    "w = [w_c; w_s]": (BLOCKS,),
    "x = [x_c; x_s]": (BLOCKS,),
    "definition of x = [x_c; x_s]": (BLOCKS,),
    "grad f = [grad_c f; grad_s f]": (BLOCKS,),
    "definition": (MEAN,),
    "gbar = sum p_n g_n, wbar = sum p_n w_n": (MEAN, AVERAGED),
    "gradient2 stands for ||gradf(x^t)||^2": (NAMED,),
    "Delta_t = E||x^t - x*||^2": (DISTANCE,),
    "induction hypothesis": (INDUCTION,),
    "x_n^t,0 = x^t": (SUMS,),
    "C^0 = 1, C^{i+1} = C C^i": (SUMS,),
    "definition of the sum over i": (SUMS,),
    "(1)": (MEAN,),
    "the federation phi + <b_n, .>": (ROOT,),
    "the federation S/2 ||.||^2 - <b_n, .>": (BALL,),
    "definition of grad_s f at the local points": (MEAN,),
    "I_n ~ Bernoulli(q_n), independent of the samples": (PRESENT,),
    "E I_n = q_n > 0, I_n independent of the local model (SFL-V1)": (PRESENT, APART),
    "SFL-V2's update, both runs with the same samples in the same order, eta <= 2/S; "
    "Assumptions 3.1, C.2 and 3.2; I_n ~ Bernoulli(q_n), independent of the order and "
    "the samples": (V2_PARTIAL, RATE, SMOOTH, CONVEX, *NOISE, PRESENT),
    "definition of K_v, every client is visited tau times": (SUMS,),
}  # fmt: skip

_DACHILLE = {
    "Assumption 2": (SMOOTH,), "Assumption 3": NOISE, "Assumption 4": (SPREAD,),
}  # fmt: skip
"""Where the same number means something else."""

_BEGINS = {"I_err = ": (START,), "F_err = ": (START,), "eta^t <= ": (RATE,)}


def topics(hypothesis: str, paper: str = "") -> tuple[str, ...] | None:
    """Return what a hypothesis demands of a witness, None where that is not known.

    Args:
        hypothesis: in the words of the audits.
        paper: whose audit.

    Returns:
        The topics.
    """
    found = _FIXED.get(hypothesis)
    if paper == "dachille2024":
        found = _DACHILLE.get(hypothesis, found)
    for start, what in _BEGINS.items():
        if hypothesis.startswith(start):
            found = what
    return found


def at_most(name: str, value: Number, limit: Number) -> Check:
    """Return the check ``value <= limit``, exact, long numbers shown shortened."""
    return Check(name, value <= limit, f"{_shown(value)} <= {_shown(limit)}")


def equal(name: str, value: Number, other: Number) -> Check:
    """Return the check ``value = other``, exact, long numbers shown shortened."""
    return Check(name, value == other, f"{_shown(value)} = {_shown(other)}")


def _shown(value: Number) -> str:
    exact = Fraction(value)
    bits = max(exact.numerator.bit_length(), exact.denominator.bit_length())
    return str(exact) if bits < 64 else f"{float(exact):.6g}"


def smooth(curvature: Fraction, S: Fraction) -> Check:
    """Return the check that a quadratic's gradient is S-Lipschitz."""
    return at_most("S-smooth: |curvature| <= S", abs(curvature), S)


def convex(curvature: Fraction, mu: Fraction) -> Check:
    """Return the check that a quadratic is mu-strongly convex."""
    return at_most("mu-strongly convex: mu <= curvature", mu, curvature)


def bounded(square: Fraction, G2: Fraction) -> Check:
    """Return the check of the largest mean square of a stochastic gradient."""
    return at_most("gradients bounded: E||g||^2 <= G^2 at all points met", square, G2)


def noise(
    variance: Fraction, sigma2: Fraction, mean: Fraction = Fraction(0)
) -> dict[str, Check]:
    """Return the checks of unbiased gradients and of their variance."""
    return {
        UNBIASED: equal("unbiased: mean of the noise", mean, 0),
        VARIANCE: at_most("variance of the noise <= sigma^2", variance, sigma2),
    }


def spread(square: Fraction, bound: Fraction) -> Check:
    """Return the check of bounded heterogeneity."""
    return at_most("heterogeneity: ||grad F_n - grad f||^2 <= bound", square, bound)


def unit_interval(q: Fraction) -> Check:
    """Return the check that a probability of participation lies in (0, 1]."""
    return Check("0 < q <= 1", 0 < q <= 1, f"q = {q}")
