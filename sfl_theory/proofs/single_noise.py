"""The noise of one local step, averaged over the clients: what it is orthogonal to."""

from __future__ import annotations

from functools import cache

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs.noises import of_steps
from sfl_theory.proofs.notation import combine, sum_over
from sfl_theory.proofs.unrolled import n, now


def centred(run: k.Split, n: k.Client, t: Ratio, i: Ratio, u: k.Vec) -> Theorem:
    """Return ``<xi(n,t,i), u> = 0`` for u fixed before step i of every client.

    In SFL-V1 u may have sums of what each client has seen alone: the others' terms are
    independent of the noise, and n's own one is fixed.
    """
    m, each, rest = k.Client("m"), k.Vec({}), k.Vec({})
    for atom, c in u.coefficients.items():
        over = isinstance(atom, k.VecSum) and atom.binder is k.CLIENTS
        if run.kind is k.Kind.V1 and isinstance(atom, k.VecSum) and over:
            v, inside = atom.opened()
            each = each + k.renamed(inside, v, m) * c
        else:
            rest = rest + k.vec(atom) * c
    own = rules.unbiased(run, n, t, i, rest + k.vec_at(each, {m: n}))
    return combine(own, rules.unbiased_across(run, n, t, i, m, each)) if each else own


@cache
def small_mean(run: k.Split, sigma2: Ratio, i: int) -> Theorem:
    """Return ``||mean xi_i||^2 <= sigma^2 sum_n a_n^2``."""
    each = rules.variance(run, sigma2, n, now, ratio(i))
    own = sum_over(each, k.CLIENTS, n, k.weight(n) ** 2)
    return combine((of_steps(run, n, now, ratio(i), ratio(i)), -1), own)


@cache
def small_deviation(run: k.Split, sigma2: Ratio, i: int) -> Theorem:
    """Return ``sum_n a_n ||xi_i||^2 - ||mean xi_i||^2 <= sigma^2 (1 - sum a_n^2)``."""
    each = rules.variance(run, sigma2, n, now, ratio(i))
    factor, below = k.weight(n) * (1 - k.weight(n)), rules.weight_below_one(n)
    own = sum_over(each, k.CLIENTS, n, factor, [below])
    return combine(of_steps(run, n, now, ratio(i), ratio(i)), own)
