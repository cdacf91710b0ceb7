r"""The dual program in float64, solved by Clarabel: untrusted, it only proposes.

.. math:: \min_y\;b^\top y\quad\text{s.t.}\quad\sum_ky_kc_k=c,\;y_k\ge0,\;
          \sum_ky_kA_k-C\succeq\varepsilon I,

one multiplier per constraint, one linear matrix inequality per space.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from sfl_theory.worst_case.certificate import Space
from sfl_theory.worst_case.interior import Progress, Solution
from sfl_theory.worst_case.program import Constraint, Program

Array = NDArray[np.float64]


def matrix(program: Program, constraint: Constraint, space: Space) -> Array | None:
    """Return a constraint's symmetric matrix in a space, None if it has none."""
    if constraint.spaces and space not in constraint.spaces:
        return None
    table = program.tables[space]
    if not constraint.terms:
        return None
    left = table[[a for a, _, _ in constraint.terms]]
    right = table[[b for _, b, _ in constraint.terms]]
    factors = np.array([float(c) for _, _, c in constraint.terms])
    product = (left * factors[:, None]).T @ right
    return np.asarray((product + product.T) / 2)


def solved(
    program: Program,
    constraints: Sequence[Constraint],
    tolerance: float = 1e-8,
    progress: Progress | None = None,
    slack: float = 0.0,
) -> Solution:
    r"""Solve the dual for some of the constraints.

    Args:
        program: the program.
        constraints: those that get a multiplier.
        tolerance: of the solver.
        progress: told once.
        slack: $\varepsilon$.

    Returns:
        What Clarabel found.

    Raises:
        ValueError: if Clarabel is not installed.
    """
    try:
        import clarabel
    except ImportError:
        raise ValueError(
            "solving needs Clarabel: pip install 'sfl-verify[worst-case]'"
        ) from None
    m = len(constraints)
    balance = sparse.lil_array((program.values, m))
    for k, one in enumerate(constraints):
        for row, amount in one.values:
            balance[row, k] += float(amount)
    goal = np.zeros(program.values)
    for row, amount in program.objective.values:
        goal[row] += float(amount)
    signed = [k for k, one in enumerate(constraints) if not one.equality]
    nonnegative = sparse.csc_array(
        (-np.ones(len(signed)), (range(len(signed)), signed)), shape=(len(signed), m)
    )
    rows = [sparse.csc_array(balance), nonnegative]
    right = [goal, np.zeros(len(signed))]
    cones = [
        clarabel.ZeroConeT(program.values),
        clarabel.NonnegativeConeT(len(signed)),
    ]
    for space in program.spaces:
        size = program.tables[space].shape[1]
        columns = np.zeros((size * (size + 1) // 2, m))
        for k, one in enumerate(constraints):
            found = matrix(program, one, space)
            if found is not None:
                columns[:, k] = _packed(found)
        offset = matrix(program, program.objective, space)
        wanted = slack * np.eye(size) + (0 if offset is None else offset)
        rows.append(sparse.csc_array(-columns))
        right.append(-_packed(wanted))
        cones.append(clarabel.PSDTriangleConeT(size))
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = tolerance
    if progress:
        progress("solving with Clarabel")
    cost = np.array([float(one.bound) for one in constraints])
    found = clarabel.DefaultSolver(
        sparse.csc_matrix((m, m)),
        cost,
        sparse.csc_matrix(sparse.vstack(rows)),
        np.concatenate(right),
        cones,
        settings,
    ).solve()
    dual = np.array(found.z)
    start = program.values + len(signed)
    grams = {}
    for space in program.spaces:
        size = program.tables[space].shape[1]
        length = size * (size + 1) // 2
        grams[space] = _unpacked(dual[start : start + length], size)
        start += length
    return Solution(
        np.array(found.x),
        grams,
        -dual[: program.values],
        found.obj_val,
        found.obj_val_dual,
        float(max(found.r_prim, found.r_dual)),
        str(found.status).lower(),
    )


def _packed(symmetric: Array) -> Array:
    """Return the upper triangle column by column, off-diagonals times sqrt 2."""
    size = len(symmetric)
    rows, columns = _triangle(size)
    factor = np.where(rows == columns, 1.0, np.sqrt(2))
    return np.asarray(symmetric[rows, columns] * factor)


def _unpacked(packed: Array, size: int) -> Array:
    rows, columns = _triangle(size)
    found = np.zeros((size, size))
    found[rows, columns] = packed / np.where(rows == columns, 1.0, np.sqrt(2))
    return found + np.triu(found, 1).T


def _triangle(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    columns, rows = np.tril_indices(size)
    return rows, columns
