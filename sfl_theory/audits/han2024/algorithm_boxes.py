r"""Where Algorithms 1 and 2 and (2), (3) are the updates that App. C.2 analyses.

What agrees is proved for any number of clients and steps; the instances of what does
not are in ``refuted_boxes``.
"""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.han2024.appendix_c import eta
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import INDUCTION, Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.kernel import KERNEL, Family, jensen

WEIGHTS = "sum of a_n is 1"
SAME = "the same samples, so equal gradients at equal points"
TAKES_PART = "I_n ~ Bernoulli(q_n), independent of the samples"
PARTICIPATION = "E I_n = q_n > 0, I_n independent of the local model (SFL-V1)"

DOWNLOAD = "both start a round from the global model"
IN_PLACE = "line 12 in place: x_s <- x_s - (eta/q_n) g_s; r_0 = 0"

q = positive("q_n")[0]
INDEX, TAU, COUNT = free("i tau K")


def _rate() -> Domain:
    return Domain("eta > 0", {eta: positive("y")[0]}, positive("y"))


def aggregated_models(claim: str) -> Certificate:
    r"""Return (2): $\sum_na_nx_n^\tau=x-\eta\sum_na_n\sum_{i<\tau}g_n^i$.

    With $x_n^\tau=x-\eta\sum_{i<\tau}g_n^i$ the left side is $wx-\eta h$,
    $w=\sum_na_n$, $h=\sum_na_n\sum_ig_n^i$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    total, y = sp.Symbol("w", positive=True), positive("y")[0]
    x, h = vectors("x^t h")
    # The weights enter through the value of w on the domain.
    domain = Domain("sum of a_n is 1, eta > 0", {eta: y, total: sp.Integer(1)}, (y,))
    return Certificate(
        claim,
        norm2(x * total - h * eta - (x - h * eta)),
        sp.Integer(0),
        (),
        domain,
        statement="||sum_n a_n x_n^tau - (x^t - eta sum_n a_n sum_{i<tau} g_n^i)||^2 "
        "<= 0",
    )


def same_as_federated(claim: str) -> tuple[Certificate, ...]:
    r"""Return "SFL-V1 with $\tilde\tau=\tau$ is FedAvg", by induction over local steps.

    Blocks of one step: $(x_c,x_s)-\eta(g_c,g_s)=x-\eta g$, so the difference d of the
    two models changes by $-\eta$ times that of their gradients, which are equal at
    equal points. Aggregation of both blocks with the same weights is aggregation of the
    whole.

    Args:
        claim: identifier of the claim.

    Returns:
        Equality of the local models and of their aggregates.
    """
    d, dg = vectors("d dg")
    two, zero, (y,) = sp.Integer(2), sp.Integer(0), positive("y")
    before, after, start, end = (atom(f"||d^{i}||^2") for i in ("i", "i+1", "0", "tau"))
    base = _nothing(claim, start, DOWNLOAD)
    step = Certificate(
        claim, norm2(d - dg * eta), zero, (SAME, INDUCTION), _rate(),
        ((Fact("equal so far", -norm2(d), INDUCTION), two),
         (Fact("equal gradients", -norm2(dg), SAME), two * eta**2)),
        ((d + dg * eta, sp.Integer(1)),), "equal after one more step",
    )  # fmt: skip
    # d' = d - eta dg
    moved = {"dg": Vector({"d": 1 / eta, "d'": -1 / eta})}
    chain = Induction(
        -before, INDEX, TAU, Use(base, {"y": y}),
        (Use(step, {"y": y}, {"<d,d>": before, "<d',d'>": after}, moved),),
        {str(before): (str(start), str(after), str(end))},
    )  # fmt: skip
    domain = _rate().extended(free=(TAU,))
    equal = Fact("after tau steps", -end, "", derived=chain)
    local = Certificate(
        claim, end, zero, (DOWNLOAD, SAME), domain, ((equal, 1),),
        statement="||[x_c,n; x_s,n] - x_n||^2 <= 0 after tau local steps",
    )  # fmt: skip
    models = Family("[x_c,n; x_s,n] - x_n; weights a_n", sp.Integer(1))
    same = {"y": y, str(TAU): TAU}
    each = Use(local, same, {str(end): models.sum_of_norm2}, family="clients n")
    all_equal = Fact("every client", -models.sum_of_norm2, "", derived=Instance(each))
    return (
        local,
        Certificate(
            claim, models.norm2_of_sum, zero, (KERNEL, DOWNLOAD, SAME), domain,
            ((jensen(models), 1), (all_equal, 1)),
            statement="equal after aggregation",
        ),
    )  # fmt: skip


def _nothing(claim: str, difference: Any, hypothesis: str) -> Certificate:
    """Return that a difference vanishes by definition."""
    known = Fact("equal at the start", difference, hypothesis, equality=True)
    return Certificate(
        claim, difference, sp.Integer(0), (hypothesis,), _rate(), ((known, -1),),
        statement="equal at the start",
    )  # fmt: skip


def visits_add_up(claim: str) -> Certificate:
    r"""Return $x_s^{(K)}=x_s^t-\eta\,h_K$, $h_K=\sum g_{s,n}/q_n$ over K visits.

    By induction over visits, in any order; $r_k=x_s^{(k)}-x_s^t+\eta h_k$, and line 12
    in place makes $r_{k+1}=r_k-\frac\eta{q_n}g+\eta\frac g{q_n}$.

    Args:
        claim: identifier of the claim.

    Returns:
        The certificate.
    """
    r, new, g = vectors("r r' g_s")
    y, p = positive("y p")
    domain = Domain("eta > 0, q_n > 0", {eta: y, q: p}, (y, p))
    two, zero = sp.Integer(2), sp.Integer(0)
    before, after, start, end = (atom(f"||r_{k}||^2") for k in ("k", "k+1", "0", "K"))
    moved = r - g * (eta / q) + g * (1 / q) * eta
    step = Certificate(
        claim, norm2(new), zero, (IN_PLACE, INDUCTION), domain,
        ((Fact("k visits", -norm2(r), INDUCTION), two),
         (Fact("one more", -norm2(new - moved), IN_PLACE), two)),
        ((r * two - new, sp.Integer(1)),), "after one more visit",
    )  # fmt: skip
    at = {"y": y, "p": p}
    chain = Induction(
        -before, INDEX, COUNT, Use(_nothing(claim, start, IN_PLACE), {"y": y}),
        (Use(step, at, {"<r,r>": before, "<r',r'>": after}),),
        {str(before): (str(start), str(after), str(end))},
    )  # fmt: skip
    equal = Fact("after all visits", -end, "", derived=chain)
    return Certificate(
        claim, end, zero, (IN_PLACE,), domain.extended(free=(COUNT,)), ((equal, 1),),
        statement="||x_s^(K) - (x_s^t - eta h_K)||^2 <= 0",
    )  # fmt: skip


def offsets_bias(claim: str) -> tuple[Certificate, Certificate]:
    r"""Return that $\mathbb E\frac{I_n}{q_n}x_n=\mathbb Ex_n$.

    As inner products with any vector z, so that (3) has the mean of (2).

    Args:
        claim: identifier of the claim.

    Returns:
        Both directions.
    """
    taken, local = atom("E I_n <x_n,z>"), atom("E <x_n,z>")
    p = positive("p")[0]
    domain = Domain("q_n > 0", {q: p}, (p,))
    mean = Fact("independence", q * local - taken, PARTICIPATION, equality=True)

    def direction(left: Any, right: Any, sign: int) -> Certificate:
        return Certificate(
            claim, left, right, (PARTICIPATION,), domain, ((mean, sign / q),),
            statement="E (I_n/q_n) <x_n, z> = E <x_n, z>",
        )  # fmt: skip

    return direction(taken / q, local, 1), direction(local, taken / q, -1)


def offsets_weights(claim: str) -> tuple[Certificate, Certificate]:
    r"""Return that $\mathbb Ea_n\frac{I_n}{q_n}=a_n$, so that the sums are equal.

    Args:
        claim: identifier of the claim.

    Returns:
        Both directions, for every client.
    """
    taken = atom("E I_n")
    (weight,), (h,) = positive("a_n"), free("h")
    domain = Domain("0 < q_n <= 1", {q: 1 / (1 + h)}, (weight, h))
    mean = Fact("E I_n = q_n", q - taken, TAKES_PART, equality=True)
    # an equality; that both sides are non-negative tells what else is true
    sign_known = Fact("E I_n >= 0", taken, TAKES_PART), sp.Integer(0)

    def direction(left: Any, right: Any, sign: int) -> Certificate:
        return Certificate(
            claim, left, right, (TAKES_PART,), domain,
            ((mean, sign * weight / q), sign_known),
            statement="E a_n I_n/q_n = a_n",
        )  # fmt: skip

    return direction(weight * taken / q, weight, 1), direction(
        weight, weight * taken / q, -1
    )
