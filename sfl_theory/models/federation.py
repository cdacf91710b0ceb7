"""Small federations with exact numbers, as the kernel reads them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.models import Evaluation
from sfl_theory.proofs.export import ModelData, Shape, Vector, model_of
from sfl_theory.written import Form, Function, Number, variable
from sfl_theory.written import Vector as WrittenVector

Exact = int | Fraction | str
Numbers = dict[str | Number, Exact]
Law = tuple[tuple[Fraction, Vector, Vector], ...]


def vector(*entries: Exact) -> Vector:
    """Return a vector of exact numbers, "1/3" among them."""
    return tuple(Fraction(entry) for entry in entries)


def quadratic(hessian: Sequence[Sequence[Exact]], linear: Sequence[Exact]) -> Shape:
    """Return ``x.Hx/2 + b.x``."""
    return tuple(vector(*row) for row in hessian), vector(*linear), ()


def parabola(curvature: Exact, centre: Sequence[Exact]) -> Shape:
    """Return ``c/2 ||x - centre||^2`` up to a constant."""
    size, c = range(len(centre)), Fraction(curvature)
    rows = tuple(tuple(c if p == q else Fraction(0) for q in size) for p in size)
    return rows, tuple(-c * Fraction(z) for z in centre), ()


def huber(
    slope: Sequence[Exact], shift: Exact, width: Exact, scale: Exact = 1
) -> Shape:
    """Return a multiple of the Huber function of ``slope . x - shift``."""
    zero = (Fraction(0),) * len(slope)
    bend = (Fraction(scale), vector(*slope), Fraction(shift), Fraction(width))
    return (zero,) * len(slope), zero, (bend,)


def plus(*shapes: Shape) -> Shape:
    """Return a sum of functions."""
    rows, linear, bends = shapes[0]
    for hessian, b, more in shapes[1:]:
        rows = tuple(map(_added, rows, hessian))
        linear, bends = _added(linear, b), bends + more
    return rows, linear, bends


def _added(u: Vector, v: Vector) -> Vector:
    return tuple(a + b for a, b in zip(u, v, strict=True))


def tilt(*entries: Exact) -> Shape:
    """Return a linear function."""
    return quadratic([[0] * len(entries)] * len(entries), entries)


def still(size: int) -> Law:
    """Return noise that is always zero."""
    zero = (Fraction(0),) * size
    return ((Fraction(1), zero, zero),)


def coin(*entries: Exact) -> Law:
    """Return noise that is plus or minus a vector, each with probability 1/2."""
    up = vector(*entries)
    down, half = tuple(-z for z in up), Fraction(1, 2)
    return ((half, up, up), (half, down, down))


def federation(
    functions: Sequence[Shape],
    start: Sequence[Exact],
    *,
    weights: Sequence[Exact] = (),
    client_size: int = 1,
    noise: Sequence[Law] = (),
    participation: Sequence[Exact] = (),
    order: Sequence[tuple[int, int]] = (),
    rounds: int = 0,
    numbers: Mapping[str | Number, Exact] | None = None,
    families: Mapping[str, Sequence[Exact]] | None = None,
    rates: Mapping[str, Exact | k.Rate] | None = None,
    sequences: Mapping[str, Exact | k.Rate] | None = None,
    named: Mapping[Function, Shape] | None = None,
    points: Mapping[WrittenVector, Sequence[Sequence[Exact]]] | None = None,
    best: Mapping[Function, Sequence[Exact]] | None = None,
    box: Sequence[tuple[Exact, Exact]] = (),
) -> ModelData:
    """Return a model; what is left out is a client alone, without noise, in no round.

    Args:
        functions: F_n, in the clients' order.
        start: x(0).
        weights: a_n; equal ones if left out.
        client_size: how many coordinates the client's block has.
        noise: the law of each client's noise (`coin`, `still`).
        participation: q_n; 1 if left out.
        order: visits (client, step) of a round of SFL-V2.
        rounds: how many rounds have random draws (noise, participation).
        numbers: parameters of the statement, as they were written.
        families: parameters of clients by name.
        rates: learning rates by name, constants or functions of the round.
        sequences: other numbers >= 0 of each round, likewise.
        named: functions that are no client's.
        points: arbitrary vectors, their values in turn.
        best: minimisers.
        box: an interval for each coordinate that no run leaves, for bounded gradients.

    Returns:
        The model.
    """
    clients = len(functions)
    return ModelData(
        start=vector(*start),
        numbers={_variable(v): Fraction(c) for v, c in (numbers or {}).items()},
        client_size=client_size,
        functions=tuple(functions),
        weights=vector(*weights) or (Fraction(1, clients),) * clients,
        participation=vector(*participation),
        noise=tuple(noise),
        order=tuple(order),
        rounds=rounds,
        families={
            k.ClientFamily(name, Sort.NONNEGATIVE): vector(*values)
            for name, values in (families or {}).items()
        },
        rates={
            k.RoundFamily(name, sort): (
                c if isinstance(c, k.Rate) else k.Rate(ratio(Fraction(c)))
            )
            for sort, given in (
                (Sort.POSITIVE, rates),
                (Sort.NONNEGATIVE, sequences),
            )
            for name, c in (given or {}).items()
        },
        named={
            function.value: shape
            for function, shape in (named or {}).items()
            if isinstance(function.value, k.NamedFunction)
        },
        points={
            atom: tuple(vector(*value) for value in values)
            for point, values in (points or {}).items()
            for atom in point.value.coefficients
            if isinstance(atom, k.Point)
        },
        stars={function.value: vector(*x) for function, x in (best or {}).items()},
        box=tuple((Fraction(low), Fraction(high)) for low, high in box),
    )


def bare(
    clients: int,
    numbers: Mapping[str | Number, Exact],
    *,
    weights: Sequence[Exact] = (),
    participation: Sequence[Exact] = (),
    families: Mapping[str, Sequence[Exact]] | None = None,
    rates: Mapping[str, Exact | k.Rate] | None = None,
) -> ModelData:
    """Return a model for statements on numbers: clients with F_n = 0 and no run."""
    return federation(
        [quadratic([[0]], [0])] * clients,
        [0],
        weights=weights,
        participation=participation,
        numbers=numbers,
        families=families,
        rates=rates,
    )


def with_roots(
    data: ModelData,
    below: Iterable[tuple[Number, int, Form]] = (),
    above: Iterable[tuple[Number, int, Form]] = (),
) -> ModelData:
    """Return the model with parameters that are nearly roots of numbers in it.

    Args:
        data: gives everything that the radicands contain.
        below: parameter, degree and radicand of those that are to be at most the root.
        above: of those that are to be at least the root.

    Returns:
        The model; roots are right to 20 digits or so.
    """
    numbers, e = dict(data.numbers), Evaluation(model_of(data))
    for up, roots in ((0, below), (1, above)):
        for parameter, degree, radicand in roots:
            x = e.form(radicand.value)
            places = 10 ** (20 + len(str(x.denominator)) // degree)
            root = Fraction(_root(int(x * places**degree), degree) + up, places)
            numbers[variable(parameter)] = root
    return replace(data, numbers=numbers)


def _root(x: int, degree: int) -> int:
    """Return the largest integer whose power is at most x."""
    low, high = 0, 1 << (x.bit_length() // degree + 1)
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= x else (low, middle)
    return low


def _variable(name: str | Number) -> k.Var:
    return k.Var(name, Sort.POSITIVE) if isinstance(name, str) else variable(name)
