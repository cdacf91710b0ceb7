"""Federated runs as models: one instance for the kernel, pictures and trainer."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort, ratio
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.kernel.terms import subterms
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.federation import Law, coin, still
from sfl_theory.models.functions import ONE, ZERO, Bowl, Client, Separable
from sfl_theory.proofs.export import ModelData, Shape, Statement, Vector

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
    inside = subterms(*parts)
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


def at(**values: tuple[Sort, Fraction | int]) -> dict[k.Var, Fraction]:
    """Return parameters by name, with their sorts, for `as_model`."""
    return {
        k.Var(name, sort): Fraction(value) for name, (sort, value) in values.items()
    }
