"""Which interpolation inequalities matter: those nearby first, then what is broken."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case import interior
from sfl_theory.worst_case.certificate import STAR
from sfl_theory.worst_case.interior import Progress, Solution
from sfl_theory.worst_case.program import Constraint, Node, Program

Pair = tuple[int, int]

ALL_AT_ONCE = 400
TURNS = 14
MOST_NEW = 6
DROPPING, IDLE = 2, 1e-2
"""So many turns drop inequalities whose multiplier is so far below their slack."""
FEW = 5
"""A rough point is left for no fewer than this share of inequalities per residual."""
ROUGH = 1e-4
"""A warm start that gets no nearer than this is followed by a cold one."""


@dataclass(frozen=True)
class Found:
    """A float solution with the constraints that it was found for.

    Attributes:
        constraints: those that have multipliers.
        solution: of the solver.
        broken: the largest violation of any inequality, relative to the value.
    """

    constraints: tuple[Constraint, ...]
    solution: Solution
    broken: float


def searched(
    program: Program,
    tolerance: float,
    progress: Progress | None = None,
    floor: float = -np.inf,
    solve: Callable[..., Solution] = interior.solved,
) -> Found:
    """Solve a program by column generation.

    Args:
        program: the program.
        tolerance: relative, of the gap and of what is left out.
        progress: told what happens.
        floor: a value that is known to be reached.
        solve: the float solver.

    Returns:
        The solution for the last set of inequalities.
    """
    chosen = _first(program)
    given, spare = _split(program)
    every = np.array(program.pairs, dtype=int).reshape(-1, 2)
    known = set(chosen)

    def missing(found: Solution, accuracy: float) -> tuple[list[Pair], set[int], float]:
        units = program.units
        value = units.x * units.g * max(abs(found.upper) / units.objective, 1e-300)
        broken = violations(program, found, every) / value
        new = [
            (int(every[k][0]), int(every[k][1]))
            for k in np.argsort(-broken)[: MOST_NEW * len(program.nodes)]
            if broken[k] > accuracy and tuple(every[k]) not in known
        ]
        missed = _missed(program, found, spare, 100 * accuracy)
        return new, missed, float(broken.max(initial=0.0))

    def pause(found: Solution) -> bool:
        new, missed, _ = missing(found, 0.1 * found.residual)
        few = FEW * found.residual * (len(given) + len(chosen))
        return len(new) + len(missed) > few

    state = None
    for turn in range(TURNS):
        constraints = [*given, *(program.interpolation(*p) for p in chosen)]
        told = progress and _prefixed(progress, f"{len(constraints)} inequalities, ")
        solution = solve(
            program, constraints, tolerance, told, floor, pause, start=state
        )
        if state and solution.status != "paused" and solution.residual > ROUGH:
            solution = solve(program, constraints, tolerance, told, floor, pause)
        state = solution.state
        accuracy = max(tolerance, 0.1 * solution.residual)
        new, missed, worst = missing(solution, accuracy)
        if not (new or missed) or solution.upper <= floor * (1 + 10 * tolerance):
            break
        if turn < DROPPING:
            chosen = _needed(program, solution, chosen)
        chosen += new
        known = set(chosen)
        if missed:
            state = None
        given += [spare[k] for k in missed]
        spare = [one for k, one in enumerate(spare) if k not in missed]
    return Found(tuple(constraints), solution, worst)


def _needed(program: Program, solution: Solution, chosen: list[Pair]) -> list[Pair]:
    """Return the pairs whose inequality is not far from being met as an equality.

    Near the central path multiplier and slack have one product, so what is idle has a
    multiplier far below its slack.
    """
    units = program.units
    value = units.x * units.g
    slack = -violations(program, solution, np.array(chosen, dtype=int).reshape(-1, 2))
    weights = solution.multipliers[len(solution.multipliers) - len(chosen) :]
    idle = weights * value / units.objective < IDLE * slack / value
    return [pair for pair, out in zip(chosen, idle, strict=True) if not out]


def violations(
    program: Program, solution: Solution, pairs: NDArray[np.int_]
) -> NDArray[np.float64]:
    """Return by how much a float solution breaks interpolation inequalities.

    Args:
        program: the program.
        solution: Gram matrices and values.
        pairs: of nodes, shape (m, 2).

    Returns:
        Left sides, shape (m,); positive where broken.
    """
    if not len(pairs):
        return np.zeros(0)
    tables, grams = program.tables, solution.grams
    gram = np.sum([tables[s] @ grams[s] @ tables[s].T for s in program.spaces], axis=0)
    x = np.array([node.x for node in program.nodes])
    g = np.array([node.gradient for node in program.nodes])
    f = np.array([
        0.0 if node.value is None else solution.values[node.value]
        for node in program.nodes
    ])
    p, q = pairs[:, 0], pairs[:, 1]
    ids = (x[p], x[q], g[p], g[q])
    total = f[q] - f[p]
    for a, b, amount in program.interpolating:
        total = total + float(amount) * gram[ids[a], ids[b]]
    return np.asarray(total)


def _first(program: Program) -> list[Pair]:
    """Return all pairs of a small program, else those of neighbouring rounds."""
    if len(program.pairs) <= ALL_AT_ONCE:
        return list(program.pairs)
    return [
        (i, j)
        for i, j in program.pairs
        if _near(program, program.nodes[i], program.nodes[j])
    ]


def _split(program: Program) -> tuple[list[Constraint], list[Constraint]]:
    """Return the constraints to start with, and orthogonalities between far rounds."""
    given, spare = [], []
    for one in program.given:
        says = one.inequality
        at, other = says.at, says.vector.point if says.vector else None
        if says.space and says.vector in program.shifts.get(says.space, {}):
            continue
        if says.kind != "unbiased" or at is None or other in {None, STAR}:
            given.append(one)
        elif len(program.given) > ALL_AT_ONCE and abs(at.t - other.t) > 1:
            spare.append(one)
        else:
            given.append(one)
    return given, spare


def _missed(
    program: Program, solution: Solution, spare: list[Constraint], limit: float
) -> set[int]:
    """Return the orthogonalities that fail most, as correlations above a limit."""
    found = []
    for k, one in enumerate(spare):
        (space,), ((a, b, _),) = one.spaces, one.terms
        gram, table = solution.grams[space], program.tables[space]
        u, v = table[a] @ gram, table[b]
        size = np.sqrt((u @ table[a]) * (v @ gram @ v))
        found.append((abs(float(u @ v)) / max(float(size), 1e-300), k))
    found.sort(reverse=True)
    return {k for amount, k in found[: 4 * len(program.nodes)] if amount > limit}


def _near(program: Program, p: Node, q: Node) -> bool:
    if STAR in {p.point, q.point} or _start(p, q):
        return True
    past = min(len(p.point.past), len(q.point.past))
    if p.point.past[:past] != q.point.past[:past]:
        return False
    apart = abs(p.point.t - q.point.t)
    return apart <= 1 or (p.point.i == q.point.i and apart & (apart - 1) == 0)


def _start(p: Node, q: Node) -> bool:
    return any(node.point.t == node.point.i == 0 for node in (p, q))


def _prefixed(progress: Progress, words: str) -> Progress:
    return lambda text: progress(words + text)
