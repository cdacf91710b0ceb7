"""A fifth independent reading: clients by number, quantifiers given a value.

By files no hole was found. Python callers could build terms whose fields are not of the
declared types, and a model could name one client's minimiser twice; each of these
attacks gave a false theorem, or one statement both verdicts, on the code before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q

import pytest
from calls import V1

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Rejected, Sort, ratio
from sfl_theory.kernel.models import Model, NoiseLaw, Shape
from sfl_theory.proofs import derived

N, V = k.Client("n"), k.Var("v", Sort.NATURAL)
Y, PHI = k.Point("y"), k.NamedFunction("phi")
XI = k.noise(V1, N, ratio(0), ratio(0))
ABOVE = h.Holds(k.constant(2 - k.symbol(V)))


class Odd:
    """Looks like a sort, and is none."""

    whole, positive, value = True, False, "odd"


FORBIDDEN: dict[str, Callable[[], object]] = {
    "the class in the place of a sort": lambda: k.Var("v", Sort),  # type: ignore[arg-type]
    "something like a sort": lambda: k.Var("v", Odd()),  # type: ignore[arg-type]
    "a family of no sort": lambda: k.ClientFamily("s", Sort),  # type: ignore[arg-type]
    "for all v of a function": lambda: h.every(k.MEAN, V, ABOVE),  # type: ignore[arg-type]
    "for all v of a rate": lambda: h.every(k.Rate(ratio(1)), V, ABOVE),  # type: ignore[arg-type]
    "for all v of a client": lambda: h.every(k.Numbered(0), V, ABOVE),  # type: ignore[arg-type]
    "the gradient at a number": lambda: k.Gradient(PHI, k.inner(XI, k.vec(Y))),  # type: ignore[arg-type]
    "a block of no side": lambda: k.Part(k.Kind.V1, Y),  # type: ignore[arg-type]
    "a function of no client": lambda: k.Local(V),  # type: ignore[arg-type]
    "a star of a point": lambda: k.Star(Y),  # type: ignore[arg-type]
}


@pytest.mark.parametrize("attack", FORBIDDEN.values(), ids=FORBIDDEN)
def test_terms_with_fields_of_other_types_are_refused(attack) -> None:
    with pytest.raises((Rejected, AttributeError, TypeError)):
        attack()


@pytest.mark.parametrize("kind", [k.Var, k.Numbered, k.Vec, Ratio, k.Mean, h.Holds])
def test_a_class_from_elsewhere_passes_as_none_of_the_kernels(kind: type) -> None:
    """Else its own `nonnegative`, `free` or sort would decide."""
    with pytest.raises(Rejected, match="no class of the kernel"):
        type("Own", (kind,), {"__module__": __name__})


def test_fields_of_the_declared_types_are_taken() -> None:
    assert k.Var("v", Sort.NATURAL) is V
    assert k.Part(k.Side.CLIENT, Y) is k.Part(k.Side.CLIENT, Y)
    assert k.Local(k.Numbered(0)) is k.Local(k.Numbered(0))
    assert h.every(k.NATURALS, V, ABOVE) == h.every(k.NATURALS, V, ABOVE)


def test_a_model_names_the_minimiser_of_a_client_once() -> None:
    every = h.every(k.CLIENTS, N, h.Minimiser(k.Local(N)))
    first = k.Local(k.Numbered(0))
    proved = R.specialise(derived.lowest(first, k.vec(Y)), every, k.Numbered(0))
    assert every in proved.hypotheses
    parabola = Shape(((Q(1),),), (Q(0),), ())
    once = Model(
        client_size=1, functions=(parabola,), weights=(Q(1),), participation=(Q(1),),
        noise=(NoiseLaw(((Q(1), (Q(0),), (Q(0),)),)),), start=(Q(0),), order=(),
        rounds=1, numbers={}, families={}, rates={}, named={}, points={},
        stars={first: (Q(0),)},
    )  # fmt: skip
    bound = k.Local(every.variable)
    with pytest.raises(Rejected, match="a star of a bound client"):
        replace(once, stars={bound: (Q(0),), first: (Q(5),)})
