"""Printed statements that a model breaks: the statement and the model, as data."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.kernel.algebra import Number, Ratio, Sort, ratio
from sfl_theory.kernel.hypotheses import (
    BoundedGradients,
    Convex,
    Hypothesis,
    Minimiser,
    Smooth,
    Unbiased,
    Variance,
    every,
)
from sfl_theory.kernel.terms import (
    CLIENTS,
    MEAN,
    Client,
    ClientFamily,
    Descent,
    Kind,
    Lin,
    Local,
    Rate,
    Side,
    Star,
    Var,
    constant,
    iterate,
    norm2,
    part,
    value_of,
    vec,
    weight,
)
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.foundations import F
from sfl_theory.proofs.local_steps import G2, sigma2
from sfl_theory.proofs.notation import (
    count,
    equal_paces,
    mean,
    nat,
    nonnegative,
    number_of_clients,
    of,
    of_round,
    positive,
)

n, t = Client("n"), nat("t")


def flat(size: int) -> tuple[tuple[Fraction, ...], ...]:
    """Return the zero matrix."""
    return ((Fraction(0),) * size,) * size


def too_fast_descent() -> tuple[Statement, ModelData]:
    """Return README's example with 8T for 2T: a Huber function breaks it at T = 1.

    F is the Huber function of width 1/3 from x = 1: one step of length 1 leaves
    F = 1/18 + ... above the bound 1/8.
    """
    S, T = positive("S"), count("T")
    run, best = Descent(F, Rate(1 / S)), vec(Star(F))
    left = value_of(F, iterate(run, T)) - value_of(F, best)
    right = norm2(iterate(run, 0) - best) * (S / (8 * T))
    assumed = frozenset({Smooth(F, S), Convex(F, ratio(0)), Minimiser(F)})
    statement = Statement("readme/gradient-descent/8T", assumed, left, right)
    one, zero = Fraction(1), Fraction(0)
    huber = (flat(1), (zero,), ((one, (one,), zero, Fraction(1, 3)),))
    model = ModelData(
        start=(one,),
        numbers={_var(S): one, _var(T): one},
        named={F: huber},
        stars={F: (zero,)},
    )
    return statement, model


def _var(number: Ratio) -> Var:
    (one,) = number.free
    if not isinstance(one, Var):
        raise ValueError(f"{number} is no parameter")
    return one


def printed_v2_strongly_convex(client_weight: Fraction) -> tuple[Statement, ModelData]:
    """Return (14) as printed, and a federation that breaks it.

    SFL-V2's server steps carry no a_n: for unequal weights x_s tends to the minimiser
    of ``sum_n F_n``, the gap to a constant and the bound to 0.
    """
    mu, s, tau = positive("mu"), nonnegative("s"), count("tau")
    S, N = mu + s, number_of_clients()
    gamma, T = 8 * S / mu - 1, of(t)
    rate = Rate(4 / (mu * tau * (gamma + of_round())))
    run, best = equal_paces(Kind.V2, tau, rate), vec(Star(MEAN))
    second = 2 * sigma2(n) + G2
    A = mean(n, (weight(n) ** 2 + 1) * second)
    B = mean(n, (weight(n) + 1) * second)
    left = value_of(MEAN, iterate(run, T)) - value_of(MEAN, best)
    right = constant(
        8 * S * N * A / (mu**2 * (gamma + T))
        + 768 * S**2 * B / (mu**3 * (gamma + T) * (gamma + 1))
    ) + norm2(iterate(run, 0) - best) * (S * (gamma + 1) / (2 * (gamma + T)))
    assumed: frozenset[Hypothesis] = frozenset({
        every(CLIENTS, n, Smooth(Local(n), S)),
        every(CLIENTS, n, Convex(Local(n), mu)),
        every(CLIENTS, n, Variance(run, n, sigma2(n))),
        BoundedGradients(run, G2),
        Unbiased(run),
        Minimiser(MEAN),
    })
    label = f"{client_weight.numerator}-{client_weight.denominator}"
    name = f"han2024/thm-3.7/strongly_convex/weights-{label}"
    one, zero, a = Fraction(1), Fraction(0), client_weight
    identity = ((one, zero), (zero, one))
    model = ModelData(
        functions=((identity, (zero, zero), ()), (identity, (zero, -one), ())),
        weights=(a, 1 - a),
        start=(zero, Fraction(1, 2)),
        client_size=1,
        order=((0, 0), (1, 0)),
        numbers={
            _var(mu): one,
            _var(s): zero,
            _var(tau): one,
            _var(G2): one,
            t: Fraction(3400),
        },
        families={ClientFamily("sigma2", Sort.NONNEGATIVE): (zero, zero)},
        stars={MEAN: (zero, 1 - a)},
        box=((zero, zero), (zero, one)),
    )
    return Statement(name, assumed, left, right), model


def one_client_without_noise() -> tuple[Statement, ModelData]:
    """Return (9) of huang2023 for one local step per epoch, and what breaks it.

    The server block starts at its optimum and is pulled away by the client block, whose
    initial distance the bound does not contain. Along the third coordinate the function
    is only steep, which makes kappa and gamma large.
    """
    mu, s, T = positive("mu"), nonnegative("s"), of(t)
    S, N, R2 = mu + s, number_of_clients(), G2
    gamma = 8 * S / mu - 1
    run = equal_paces(Kind.V1, 1, Rate(2 / (mu * (gamma + of_round()))))
    best = vec(Star(MEAN))

    def away(at: Number) -> Lin:
        return norm2(part(Side.SERVER, iterate(run, at) - best))

    start = away(0) * (mu**2 * N**2 * (gamma + 1))
    right = (constant(8 * R2) + start) * (1 / (mu**2 * N**2 * (gamma + T)))
    assumed: frozenset[Hypothesis] = frozenset({
        every(CLIENTS, n, Smooth(Local(n), S)),
        every(CLIENTS, n, Convex(Local(n), mu)),
        every(CLIENTS, n, Variance(run, n, ratio(0))),
        BoundedGradients(run, R2),
        Unbiased(run),
        Minimiser(MEAN),
    })
    one, zero = Fraction(1), Fraction(0)
    hessian = ((2 * one, -one, zero), (-one, 2 * one, zero), (zero, zero, 200 * one))
    model = ModelData(
        functions=((hessian, (zero, zero, zero), ()),),
        start=(one, zero, zero),
        numbers={
            _var(mu): one,
            _var(s): Fraction(199),
            _var(R2): Fraction(5),
            t: Fraction(505),
        },
        stars={MEAN: (zero, zero, zero)},
        box=((zero, one), (zero, one), (zero, zero)),
    )
    return Statement("huang2023/prop-1/coupling", assumed, away(T), right), model
