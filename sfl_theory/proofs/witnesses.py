"""Models that meet the hypotheses of proved statements, which so are not vacuous."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.kernel.terms import (
    MEAN,
    ClientFamily,
    NamedFunction,
    Point,
    Rate,
    RoundFamily,
    Split,
    Star,
    Var,
    subterms,
)
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


def witness(statement: Statement) -> ModelData:
    """Return two clients with ``||x||^2/2 -+ x_s/2`` and noise +-1/2 in x_s.

    One round (two, if t is free), small steps; client 1 takes part with probability 1/2
    where clients are drawn. The box contains every model, for gradients and noise pull
    to points inside.
    """
    inside = subterms(statement.left, statement.right, *statement.hypotheses)
    free = {v for h in statement.hypotheses for v in h.free}
    free |= statement.left.free | statement.right.free
    asked = {one.function for one in inside if isinstance(one, Star | Minimiser)}
    visited = any(isinstance(one, Split) and one.kind.visits for one in inside)
    up, down = (ZERO, HALF), (ZERO, -HALF)
    law = ((HALF, up, up), (HALF, down, down))
    shapes = tuple((IDENTITY, b, ()) for b in (down, up))
    names = {str(v) for v in free}
    steps = 2 if "d" in names else 1
    return ModelData(
        start=(HALF, HALF),
        functions=shapes,
        weights=(HALF, HALF),
        participation=(ONE, HALF),
        noise=(law, law),
        order=tuple((n, i) for i in range(steps * visited) for n in (1, 0)),
        rounds=2 if "t" in names else 1,
        numbers={v: PARAMETERS[v.name] for v in free if isinstance(v, Var)},
        families={
            v: (Fraction(1, 4),) * 2 for v in free if isinstance(v, ClientFamily)
        },
        rates={
            v: Rate(ratio(Fraction(1, 200))) for v in free if isinstance(v, RoundFamily)
        },
        named={v: shapes[0] for v in free if isinstance(v, NamedFunction)},
        points={v: ((ONE, HALF),) for v in free if isinstance(v, Point)},
        stars={f: (ZERO, ZERO) if f is MEAN else up for f in asked},
        box=((-ONE, ONE), (-ONE, ONE)),
    )
