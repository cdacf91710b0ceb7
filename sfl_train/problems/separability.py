r"""Does an unregularised classifier have a minimiser? A linear program decides.

The logistic or softmax risk has no minimiser exactly when some direction lowers no
sample's margin and raises at least one (complete or quasi-complete separation; Albert
and Anderson, Biometrika 1984): along it the loss falls for ever.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.optimize import linprog


def separable(X: NDArray[np.float64], y: NDArray[np.int64], classes: int) -> bool:
    r"""Tell whether a linear classifier separates the classes, if only weakly.

    The margins of a direction $W$ are $m_{j,c}=v_j^\top(w_{y_j}-w_c)$ for
    $c\ne y_j$ (two classes: $m_j=\pm v_j^\top w$). A class that one vector separates
    from all others settles it: put that vector in the class's column, zero elsewhere.
    So every class is tried against the rest before the program for all margins.

    Args:
        X: samples with the bias column the classifier uses, shape (D, F).
        y: class indices, shape (D,).
        classes: number of classes.

    Returns:
        True if the unregularised risk has no minimiser.
    """
    X = X[:, np.abs(X).max(0) > 0]
    if any(_raises(_against_the_rest(X, y == c)) for c in range(1, classes)):
        return True
    return classes > 2 and _raises(_against_each_other(X, y, classes))


def _raises(margins: sparse.csr_array) -> bool:
    r"""Tell whether some direction makes all margins >= 0 and one positive.

    The program is $\max\sum m$ over $m=Mw$, $0\le m\le1$. Its feasible set may be
    scaled up until the largest margin is 1, so its value is 0 if there is no such
    direction and at least 1 if there is: there is no tolerance to choose.

    Args:
        margins: the matrix M that maps a direction to margins.

    Returns:
        Whether the value is positive.

    Raises:
        RuntimeError: if the linear program is not solved.
    """
    rows, columns = margins.shape
    result = linprog(
        np.concatenate([np.zeros(columns), -np.ones(rows)]),
        A_eq=sparse.hstack([margins, -sparse.eye_array(rows)], format="csc"),
        b_eq=np.zeros(rows),
        bounds=[(None, None)] * columns + [(0.0, 1.0)] * rows,
        method="highs",
    )
    if result.status != 0:
        raise RuntimeError(f"the separability program was not solved: {result.message}")
    return bool(-result.fun > 0.5)


def _against_the_rest(
    X: NDArray[np.float64], inside: NDArray[np.bool_]
) -> sparse.csr_array:
    return sparse.csr_array(np.where(inside, 1.0, -1.0)[:, None] * X)


def _against_each_other(
    X: NDArray[np.float64], y: NDArray[np.int64], classes: int
) -> sparse.csr_array:
    """Return all margins; class 0 has no column: a common shift changes none."""
    blocks = []
    for own in range(classes):
        mine = sparse.csr_array(X[y == own])
        for other in range(classes):
            if other == own:
                continue
            row = [sparse.csr_array(mine.shape) for _ in range(classes)]
            row[own], row[other] = mine, -mine
            blocks.append(sparse.hstack(row[1:]))
    return sparse.csr_array(sparse.vstack(blocks))
