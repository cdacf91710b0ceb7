r"""How ``huang2023`` is read, and the makers of its entries.

The same everywhere: Assumption 4 (and 5) "for all w" on a convex set that
contains every iterate, their means and $w^*$, for with Assumption 2 it cannot hold on
$\mathbb R^d$; mini-batches independent between clients and steps, as (12) and Lemma 3
use; $\Gamma=F(w^*)-\sum_np_n\min f_n\ge0$; $v_{c,n}^i$ in gradients as $w_{c,n}^i$,
where the algorithm takes them.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.audits.huang2023 import joint, sharper
from sfl_theory.evidence.claim import Open, Paper, Refutation, Repair
from sfl_theory.evidence.instance import Finding

READING = (
    "Assumptions 4 and 5 on a convex set with all iterates, their means and w*; "
    "independent mini-batches; Gamma = F* - sum p_n min f_n; gradients at w_{c,n}"
)


JOINT = (
    "E||w^TEM - w*||^2 <= [4V/(3 mu^2) + gamma ||w^0 - w*||^2]/(gamma + TEM) with "
    "V = R^2 + (16/7)(EM - 1)(R^2 + 2 EM delta^2), for both blocks together"
)


JOINT_WORDS = (
    "Drift within a round, one joint step of the mean model (smoothness from w_n to "
    "the "
    "mean, strong convexity from w_n to w*), induction over i."
)


PAPER = Paper("huang2023", READING)


claim, proof = PAPER.claim, PAPER.proof


def broken(instance: Callable[[], Finding], words: str, scope: str = "") -> Refutation:
    """Return the refutation by one instance."""
    return Refutation(instance, words, scope=scope)


def joint_repair(key: str, change: str) -> Repair:
    """Return the repair by the joint recursion, proved under the id of ``key``."""
    more = sharper.drift_within_a_round
    return Repair(
        JOINT,
        proof(key, joint.distance, JOINT_WORDS, suffix="#repair", sharper=more),
        change,
    )


ASSUMED = Open(
    "An assumption: nothing to decide by itself. Which claims use it is in depends_on."
)
