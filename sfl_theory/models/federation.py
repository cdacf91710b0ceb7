"""Small federations as data, and runs of algorithms as the kernel's models."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.kernel.models import Evaluation
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.functions import ONE, ZERO, Bowl, Client, Separable
from sfl_theory.notation.written import Form, Function, Number, variable
from sfl_theory.notation.written import Vector as WrittenVector
from sfl_theory.proofs.export import ModelData, Shape, Statement, Vector, model_of

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


def peaked() -> Shape:
    """Return a function with a sharp peak between two wells, of curvature 1/1800.

    Even in x_c, where its slope is -10 x_c up to 1/10, then -1, and from 25 on
    -1 + (x_c - 25)/1800, so that it is least at 1825; beside that x_s^2/3600.
    """
    curvature = Fraction(1, 1800)
    wells = plus(parabola(curvature, (0, 0)), huber((1, 0), 0, 25, -curvature))
    return plus(wells, huber((1, 0), 0, Fraction(1, 10), -10))


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
            for sort, given in ((Sort.POSITIVE, rates), (Sort.NONNEGATIVE, sequences))
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


# Federated runs as models: one instance for the kernel, pictures and trainer ---------

LONG = 40
"""Rounds from which on separable quadratics are followed by their moments."""


def as_model(
    run: FederatedRun, statement: Statement, more: Mapping[k.Var, Fraction]
) -> ModelData:
    """Return the model that a run is for a statement.

    Parameters get what the run has under their names: S, mu, ``s`` = S - mu, tau,
    tau_server, G2, eps2, T and t (the run's rounds), ``sigma2`` of the clients, rates
    ``eta``; SFL-V2 visits the clients in turn, step by step.

    Args:
        run: everything that an instance fixes.
        statement: whose parameters are asked for.
        more: other parameters, and T or t where the run's own rounds are not meant.

    Returns:
        The model.

    Raises:
        ValueError: the statement has a parameter that neither has.
    """
    sides = (statement.left, statement.right)
    parts = (*sides, *statement.hypotheses)
    inside = k.subterms(*parts)
    free = {v for side in sides for v in side.free}
    free |= {v for one in statement.hypotheses for v in one.free}
    asked = {one.function for one in inside if isinstance(one, k.Star | Minimiser)}
    shared = any(isinstance(one, k.Split) and one.kind.visits for one in inside)
    size, clients = len(run.start), range(len(run.clients))
    known = {
        "S": run.S,
        "mu": run.mu,
        "s": run.S - run.mu,
        "tau": Fraction(run.tau),
        "tau_server": Fraction(run.tau_server),
        "T": Fraction(run.rounds),
        "t": Fraction(run.rounds),
        "eps2": run.eps2,
        "G2": run.G2 if run.everywhere or run.case != "non_convex" else None,
    }
    numbers = dict(more)
    for v in free:
        if isinstance(v, k.Var) and v not in numbers:
            value = known.get(v.name)
            if value is None:
                raise ValueError(f"the run has no {v}")
            numbers[v] = value
    stars: dict[k.Function, Vector] = {f: run.minimiser for f in asked if f is k.MEAN}
    drawn = any(run.sigma2) or any(q != 1 for q in run.q)
    curved = not any(p.kink for column in run.columns for p in column)
    long = bool(run.separable) and curved and run.rounds > LONG
    return ModelData(
        start=run.start,
        numbers={v: value for v, value in numbers.items() if v in free},
        client_size=run.cut,
        functions=tuple(map(_shape, run.clients)),
        weights=run.weights,
        participation=run.q,
        noise=tuple(_law(client, size) for client in run.clients),
        order=tuple((n, i) for i in range(run.tau) for n in clients) if shared else (),
        rounds=run.rounds if drawn and not long else 0,
        long=long,
        families={
            v: run.sigma2
            for v in free
            if isinstance(v, k.ClientFamily) and v.name == "sigma2"
        },
        rates={v: _rate(run.client_rate) for v in free if isinstance(v, k.RoundFamily)},
        stars=stars,
        box=() if run.everywhere or run.case == "non_convex" else run.domain,
    )


def _rate(rate: Rate) -> k.Rate:
    t = k.symbol(k.ROUND)
    return k.Rate(ratio(rate.scale) / (ratio(rate.offset) + t * rate.growth))


def _law(client: Client, size: int) -> Law:
    return coin(*client.zeta) if any(client.zeta) else still(size)


def _shape(client: Client) -> Shape:
    if isinstance(client, Bowl):
        return client.H, tuple(-b for b in client.b), ()
    return _separable(client)


def _separable(client: Separable) -> Shape:
    size = range(len(client.pieces))
    bends = tuple(
        (
            piece.curvature,
            tuple(ONE if p == place else ZERO for p in size),
            piece.centre,
            piece.kink,
        )
        for place, piece in enumerate(client.pieces)
        if piece.kink is not None
    )
    curved = [p.curvature if p.kink is None else ZERO for p in client.pieces]
    hessian = tuple(tuple(curved[p] if p == q else ZERO for q in size) for p in size)
    linear = tuple(
        -c * piece.centre for c, piece in zip(curved, client.pieces, strict=True)
    )
    return hessian, linear, bends
