"""Models that meet the hypotheses of proved statements, which so are not vacuous."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.proofs.export import ModelData, Statement

ONE, ZERO, HALF = Fraction(1), Fraction(0), Fraction(1, 2)
IDENTITY = ((ONE, ZERO), (ZERO, ONE))
PARAMETERS = {
    "S": ONE,
    "mu": ONE,
    "s": ZERO,
    "T": ONE,
    "t": ONE,
    "i": ZERO,
    "j": ZERO,
    "tau": ONE,
    "tau_server": ONE,
    "tau_min": ONE,
    "tau_max": ONE,
    "d": ONE,
    "eps2": Fraction(1, 4),
    "G2": Fraction(4),
    "G2_c": Fraction(4),
    "G2_s": Fraction(4),
    "eta": Fraction(1, 4),
    "sigma2": Fraction(1, 4),
    "I_err": ONE,
    "F_err": ONE,
    "r2": Fraction(1, 10),
    "r3": Fraction(1, 10),
    "c2": Fraction(100),
    "c3": Fraction(100),
    "decay": HALF,
    "late": ONE,
    "root": ONE,
    "eta0": ONE,
    "alpha": Fraction(1, 64),
    "rate": Fraction(1, 200),
    "third": ONE,
    "squares": ONE,
    "more": ONE,
    "grown": Fraction(2),
    "star_noise": ONE,
    "star_apart": ONE,
    "R2": Fraction(4),
    "delta2": Fraction(1, 4),
    "Gamma": ZERO,
    "g": ZERO,
    "gamma": ONE,
    "epochs": ONE,
    "batches": ONE,
}


def witness(
    statement: Statement,
    changed: Mapping[str, int | Fraction] | None = None,
    noise: Fraction = HALF,
    rates: Mapping[str, k.Rate] | None = None,
) -> ModelData:
    """Return two clients with ``||x||^2/2 -+ x_s/2`` and noise in x_s.

    One round (and the t before it, if t is free), small steps; client 1 takes part with
    probability 1/2 where clients are drawn. The box contains every model, for gradients
    and noise pull to points inside.

    Args:
        statement: what is assumed is to be met.
        changed: parameters that are not as in `PARAMETERS`, by name.
        noise: plus or minus this.
        rates: learning rates that are not 1/200, by name.

    Returns:
        The model.
    """
    inside = k.subterms(statement.left, statement.right, *statement.hypotheses)
    free = {v for h in statement.hypotheses for v in h.free}
    free |= statement.left.free | statement.right.free
    asked = {one.function for one in inside if isinstance(one, k.Star | Minimiser)}
    visited = any(isinstance(one, k.Split) and one.kind.visits for one in inside)
    up, down = (ZERO, HALF), (ZERO, -HALF)
    law = ((HALF, (ZERO, noise), (ZERO, noise)), (HALF, (ZERO, -noise), (ZERO, -noise)))
    shapes = tuple((IDENTITY, b, ()) for b in (down, up))
    names = {str(v) for v in free}
    values = {**PARAMETERS, **(changed or {})}
    steps = int(values["tau"]) + ("d" in names)
    usual = k.Rate(ratio(Fraction(1, 200)))
    return ModelData(
        start=(HALF, HALF),
        functions=shapes,
        weights=(HALF, HALF),
        participation=(ONE, HALF),
        noise=(law, law),
        order=tuple((n, i) for i in range(steps * visited) for n in (1, 0)),
        rounds=1 + int(values["t"]) * ("t" in names),
        numbers={v: Fraction(values[v.name]) for v in free if isinstance(v, k.Var)},
        families={
            v: (noise**2 if v.name == "sigma2" else Fraction(1, 4),) * 2
            for v in free
            if isinstance(v, k.ClientFamily)
        },
        rates={
            v: (rates or {}).get(v.name, usual)
            for v in free
            if isinstance(v, k.RoundFamily)
        },
        named={v: shapes[0] for v in free if isinstance(v, k.NamedFunction)},
        points={v: ((ONE, HALF),) for v in free if isinstance(v, k.Point)},
        stars={f: (ZERO, ZERO) if f is k.MEAN else up for f in asked},
        box=((-ONE, ONE), (-ONE, ONE)),
    )
