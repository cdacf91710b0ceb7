"""Which interpolation inequalities matter: those nearby first, then what is broken."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from sfl_theory.worst_case import interior
from sfl_theory.worst_case.certificate import STAR, Inequality, Point
from sfl_theory.worst_case.interior import Progress, Solution
from sfl_theory.worst_case.program import Constraint, Node, Program

Pair = tuple[int, int]
Place = tuple[int | None, Point | None]

ALL_AT_ONCE, ALL_OUTCOMES = 400, 1000
"""So many inequalities are taken at once, where chance is enumerated."""
TURNS = 20
MOST_NEW = 2
"""So many inequalities per node enter at once."""
MANY, LITTLE = 5000, 10
"""A search among more pairs is settled where a turn lowers the value by no more than
so many tolerances: what was met then is solved to the end, and that is all."""
IDLE = 1e-1
"""Inequalities whose multiplier is so far below their slack are dropped, once each."""
FIRST, DEEPER = 1e-2, 3
"""Nothing enters before this accuracy, in later turns a finer one."""
FEW = 5
"""A rough point is left for no fewer than this share of inequalities per residual."""
SHARES, LEAST = tuple(0.2 * 0.75**k for k in range(19)), 0.02
"""Inequalities with less than such a share are left out, if these are not too few."""
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
    given = [one for one in program.given if not _shifted(program, one.inequality)]
    every = np.array(program.pairs, dtype=int).reshape(-1, 2)
    known, dropped, kept = set(chosen), set[Pair](), set[Pair]()
    many, lowest = len(program.pairs) > MANY, np.inf

    def missing(found: Solution, accuracy: float) -> tuple[list[Pair], float]:
        units = program.units
        value = units.x * units.g * max(abs(found.upper) / units.objective, 1e-300)
        broken = _broken(program, found, every) / value
        new = [
            (int(every[k][0]), int(every[k][1]))
            for k in np.argsort(-broken)
            if broken[k] > accuracy and tuple(every[k]) not in known
        ]
        return new, float(broken.max(initial=0.0))

    def pause(level: float, found: Solution) -> bool:
        if found.residual > level:
            return False
        new, _ = missing(found, 0.1 * found.residual)
        return len(new) > FEW * found.residual * (len(given) + len(chosen))

    state, settled = None, False
    for turn in range(TURNS):
        constraints = [*given, *(program.interpolation(*p) for p in chosen)]
        told = progress and _prefixed(progress, f"{len(constraints)} inequalities, ")
        wait = None if settled else partial(pause, FIRST / DEEPER**turn)
        solution = solve(
            program, constraints, tolerance, told, floor, wait, start=state
        )
        if state and solution.status != "paused" and solution.residual > ROUGH:
            solution = solve(program, constraints, tolerance, told, floor, wait)
        state = solution.state
        new, worst = missing(solution, max(tolerance, 0.1 * solution.residual))
        reached = solution.upper <= floor * (1 + 10 * tolerance)
        idle = many and solution.upper > lowest * (1 - LITTLE * tolerance)
        reached |= idle and solution.status != "paused"
        lowest = min(lowest, solution.upper)
        if reached or not (new or solution.status == "paused"):
            break
        settled = not new or idle
        kept |= dropped.intersection(new)
        needed = kept.union(_needed(program, solution, chosen))
        dropped |= known - needed
        chosen = [*filter(needed.__contains__, chosen)]
        chosen += new[: MOST_NEW * len(program.nodes)]
        known = set(chosen)
    return Found(tuple(constraints), solution, worst)


def limited(program: Program, span: int, tolerance: float) -> Found:
    """Solve a program with the inequalities between points that are near each other.

    Args:
        program: the program.
        span: so many steps of the run at most are between two points, if none is x*.
        tolerance: of the float solver.

    Returns:
        The solution; how much it breaks other inequalities is not looked at.
    """
    steps = max(program.setting.tau, program.setting.late)

    def near(p: Point, q: Point) -> bool:
        return STAR in {p, q} or abs((p.t - q.t) * steps + p.i - q.i) <= span

    points = [node.point for node in program.nodes]
    chosen = [pair for pair in program.pairs if near(*(points[k] for k in pair))]
    given = [one for one in program.given if not _shifted(program, one.inequality)]
    constraints = [*given, *(program.interpolation(*pair) for pair in chosen)]
    solution = interior.solved(program, constraints, tolerance)
    return Found(tuple(constraints), solution, math.inf)


def thinned(
    program: Program, found: Found, enough: float, tolerance: float
) -> list[Found]:
    """Leave out inequalities that matter little, as long as the bound allows it.

    A multiplier counts by its share of the largest one at either of its two points: so
    what falls from round to round is compared with what is near it.

    Args:
        program: the program.
        found: a solution.
        enough: the bound that still has to be proved.
        tolerance: of the float solver.

    Returns:
        Solutions for fewer and fewer inequalities, the given one first.
    """
    kept = [found]
    for share in SHARES:
        while len(kept) <= TURNS:
            known = kept[-1].constraints
            constraints = _large(program, kept[-1], share)
            pairs = sum(one.inequality.kind == "interpolation" for one in known)
            if len(known) - len(constraints) < LEAST * pairs:
                return kept
            solution = interior.solved(program, constraints, tolerance)
            if solution.upper > enough:
                break
            kept.append(Found(constraints, solution, math.inf))
    return kept


def _large(program: Program, found: Found, share: float) -> tuple[Constraint, ...]:
    """Return the constraints but for interpolation inequalities of small multipliers.

    A multiplier counts by its share of the largest one at either of its two points.
    """
    index: dict[Place, int] = {
        (node.client, node.point): k for k, node in enumerate(program.nodes)
    }
    star = [k for k, node in enumerate(program.nodes) if node.point == STAR]
    top = dict.fromkeys(range(len(program.nodes)), 0.0)
    pairs = [*zip(found.constraints, found.solution.multipliers, strict=True)]
    between = [
        (a, by, _ends(a, index))
        for a, by in pairs
        if a.inequality.kind == "interpolation"
    ]
    for _, by, ends in between:
        for k in ends:
            top[k] = max(top[k], by)
    top |= dict.fromkeys(star, math.inf)
    return (
        *(a for a in found.constraints if a.inequality.kind != "interpolation"),
        *(a for a, by, ends in between if by > share * min(top[k] for k in ends)),
    )


def _ends(one: Constraint, index: Mapping[Place, int]) -> tuple[int, int]:
    """Return the nodes between which an interpolation inequality is."""
    who, ends = one.inequality.client, (one.inequality.at, one.inequality.other)
    p, q = (index[who, at] for at in ends)
    return p, q


def _shifted(program: Program, says: Inequality) -> bool:
    """Return whether an orthogonality is of an atom that is taken to be 0."""
    return says.space is not None and says.vector in program.shifts.get(says.space, {})


def _broken(
    program: Program, found: Solution, pairs: NDArray[np.int_]
) -> NDArray[np.float64]:
    return violations(program, program.products(found.grams), found.values, pairs)


def _needed(program: Program, solution: Solution, chosen: list[Pair]) -> list[Pair]:
    """Return the pairs whose inequality is not far from being met as an equality.

    Near the central path multiplier and slack have one product, so what is idle has a
    multiplier far below its slack.
    """
    units = program.units
    value = units.x * units.g
    slack = -_broken(program, solution, np.array(chosen, dtype=int).reshape(-1, 2))
    weights = solution.multipliers[len(solution.multipliers) - len(chosen) :]
    idle = weights * value / units.objective < IDLE * slack / value
    return [pair for pair, out in zip(chosen, idle, strict=True) if not out]


def violations(
    program: Program,
    products: NDArray[np.float64],
    values: NDArray[np.float64],
    pairs: NDArray[np.int_],
) -> NDArray[np.float64]:
    """Return by how much float numbers break interpolation inequalities.

    Args:
        program: the program.
        products: inner products of its vectors.
        values: function values.
        pairs: of nodes, shape (m, 2).

    Returns:
        Left sides, shape (m,); positive where broken.
    """
    if not len(pairs):
        return np.zeros(0)
    x = np.array([node.x for node in program.nodes])
    g = np.array([node.gradient for node in program.nodes])
    f = np.array([
        0.0 if node.value is None else values[node.value] for node in program.nodes
    ])
    p, q = pairs[:, 0], pairs[:, 1]
    ids = (x[p], x[q], g[p], g[q])
    total = f[q] - f[p]
    for a, b, amount in program.interpolating:
        total = total + float(amount) * products[ids[a], ids[b]]
    return np.asarray(total)


def _first(program: Program) -> list[Pair]:
    """Return all pairs of a small program, else those of neighbouring rounds."""
    most = ALL_OUTCOMES if program.setting.enumerated else ALL_AT_ONCE
    if len(program.pairs) <= most:
        return list(program.pairs)
    return [
        (i, j)
        for i, j in program.pairs
        if _near(program, program.nodes[i], program.nodes[j])
    ]


def _near(program: Program, p: Node, q: Node) -> bool:
    """Return whether one is x*, or they are rounds or, in one, steps 2^k apart.

    Of several scenarios without convexity, where there is no x*, also whether one is
    x(0): it ties them together, else gradients are not bounded.
    """
    if STAR in {p.point, q.point}:
        return True
    tied = program.setting.enumerated and program.setting.mu is None
    if tied and not all(program.vectors[one.x].forms for one in (p, q)):
        return True
    past = min(len(p.point.past), len(q.point.past))
    if p.point.past[:past] != q.point.past[:past]:
        return False
    apart = abs(p.point.t - q.point.t)
    steps = max(program.setting.tau, program.setting.late)
    after = abs((p.point.t - q.point.t) * steps + p.point.i - q.point.i)
    doubled = p.point.i == q.point.i and not apart & (apart - 1)
    return doubled or after == 1 or (not apart and not after & (after - 1))


def _prefixed(progress: Progress, words: str) -> Progress:
    return lambda text: progress(words + text)
