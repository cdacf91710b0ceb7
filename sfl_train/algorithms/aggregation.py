r"""The fed server: one model from the clients' models.

With $I_n^t=1$ for the participants of round t and $w_n=I_n^ta_n/q_n$, the two rules are

- ``updates`` (han2024, App. C.2): $x^{t+1}=x^t+\sum_nw_n(x_n-x^t)$, computed as
  $\sum_nw_nx_n+(1-\sum_nw_n)x^t$;
- ``models`` (han2024, eq. (3)): $x^{t+1}=\sum_nw_nx_n$, and $x^{t+1}=x^t$ in a round
  without participants.

If every $q_n=1$ then $\sum_nw_n=1$ and both are $\sum_na_nx_n$, the term in $x^t$ being
dropped, not rounded away: they agree to the last bit, and one client alone is
aggregated to itself. All coordinates are summed over clients by one product with the
whole stack of models, so the order of summation does not depend on the cut.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sfl_train.algorithms.algorithm import Aggregation
from sfl_train.federation import Federation


def aggregate(
    models: Tensor,
    x: Tensor,
    federation: Federation,
    present: Tensor | None,
    rule: Aggregation,
) -> Tensor:
    r"""Return $x^{t+1}$ from the local models and $x^t$.

    Args:
        models: $x_n$, shape (N, d, R), or the same block of coordinates of each.
        x: $x^t$, shape (d, R).
        federation: holds $a_n$ and $q_n$.
        present: $I_n^t$, shape (N, R); None: everyone.
        rule: "updates" or "models".

    Returns:
        A new tensor of shape (d, R).
    """
    w = shares(federation, present)
    total = weighted_sum(models, w)
    if present is None:
        return total
    if rule == "updates":
        return total.add_((1.0 - w.sum(0)) * x)
    return torch.where(present.any(0), total, x)


def shares(federation: Federation, present: Tensor | None) -> Tensor:
    """Return $w_n=I_n^ta_n/q_n$.

    Args:
        federation: holds $a_n$ and $q_n$.
        present: $I_n^t$, shape (N, R); None: everyone.

    Returns:
        Shape (N, R), or (N,) if everyone takes part, where it is $a_n$.
    """
    a = torch.tensor(federation.weights, dtype=torch.float64)
    if present is None:
        return a
    q = torch.tensor(federation.participation, dtype=torch.float64)
    return present * (a / q).unsqueeze(1)


def weighted_sum(stack: Tensor, w: Tensor) -> Tensor:
    r"""Return $\sum_nw_nv_n$.

    Args:
        stack: $v_n$, shape (N, d, R).
        w: weights of shape (N,), or (N, R) where they differ between replicas.

    Returns:
        Shape (d, R).
    """
    if w.ndim == 1:
        flat = stack.reshape(len(w), -1)
        return torch.mv(flat.T, w).view(stack.shape[1:])
    return (stack * w.unsqueeze(1)).sum(0)
