r"""What the noise of a run's steps is orthogonal to, found from a quadratic form.

The noise $\xi$ of a step from p to p' is orthogonal to all that was there before it: to
earlier points and noises, and to $p-\eta\nabla F(p)=p'+\eta\xi$, the next point without
this noise. In these vectors, the last ones eliminated first, all that is left beside a
noise is its past, and what inequalities leave over there is one vector u with
$\langle\xi,u\rangle=0$ (`sparse.cancelled`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from operator import is_

from sfl_theory.worst_case.assembly import ONE, ZERO, Name, Row
from sfl_theory.worst_case.quadratic import Quadratic
from sfl_theory.worst_case.sparse import Squares, cancelled

Time = tuple[int, int, int]
FIRST: Time = (-1, 0, 0)


@dataclass(frozen=True)
class Settled:
    """A form as squares, and as inner products of noises with their past.

    Attributes:
        form: without these products; its ends of steps are without noise.
        squares: of which the sum is this form but for a diagonally dominant one.
        made: what such an end is, in points and noises.
        past: for each step what its noise stands beside.
    """

    form: Quadratic[Name]
    squares: Squares[Name]
    made: dict[Name, Row]
    past: list[tuple[Step, Row]]


@dataclass(frozen=True)
class Step:
    """A step of a block, or of its means.

    Attributes:
        time: its round and its place in it.
        noise: its noise.
        slope: its gradient.
        before: the point where it starts, as far as it is measured.
        after: the point where it ends; None if the form is not written in it.
        eta: how far it goes.
    """

    time: tuple[int, int]
    noise: Name
    slope: Name
    before: Row
    after: Name | None
    eta: Fraction


def settled(
    form: Quadratic[Name],
    steps: Iterable[Step],
    times: Mapping[Name, Time],
    fresh: Callable[[Step, Step], bool] = is_,
) -> Settled:
    """Return a form as squares and inner products of noises with their past.

    Args:
        form: in points, noises and what no step is made of; it is changed.
        steps: of the run.
        times: of other vectors, when they come to be; not named: last.
        fresh: whether the end of a step is too new to be named beside another's noise.

    Returns:
        Both.
    """
    steps, when = [*steps], dict(times)
    ends: dict[Name, tuple[Step, Name]] = {}
    for step in steps:
        when |= {step.slope: (*step.time, 1), step.noise: (*step.time, 2)}
        if step.after is not None:
            end = f"{step.after} without noise"
            ends[end], when[end] = (step, step.after), (*step.time, 1)
            form.eliminate(step.after, {end: ONE, step.noise: -step.eta})

    made: dict[Name, Row] = {
        end: {after: ONE, step.noise: step.eta} for end, (step, after) in ends.items()
    }

    def named(row: Mapping[Name, Fraction], now: Step) -> Row:
        found: Row = {}
        for name, c in row.items():
            parts = made.get(name, {name: ONE})
            if name in ends and fresh(step := ends[name][0], now):
                parts = step.before | {step.slope: -step.eta}
            for part, share in parts.items():
                found[part] = found.get(part, ZERO) + c * share
        return {name: c for name, c in found.items() if c}

    last = (max(when.values(), default=FIRST)[0] + 1, 0, 0)
    order = sorted(form.rows, key=lambda name: when.get(name, last), reverse=True)
    squares, beside = cancelled(form, order, {step.noise for step in steps})
    for xi, row in beside.items():
        for b, c in row.items():
            form.add(xi, b, -c)
    past = [(step, named(beside.get(step.noise, {}), step)) for step in steps]
    return Settled(form, squares, made, past)
