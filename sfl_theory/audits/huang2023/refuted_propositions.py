r"""``huang2023``: the two runs that break Propositions 1 and 2, in exact arithmetic.

*Noise*: $f_n(w;\zeta)=\frac12\|w\|^2+\zeta w_s$,
$\zeta=\pm1$, N clients, one step: the variance is of order 1/N, the bound of order
$1/N^2$. *Coupling*: one client, no noise, one block starts at its optimum and is pulled
away by the other. Both have the form (2): $u=(w_c,\zeta)$, h the rest.

Reading of Assumption 4 (impossible on $\mathbb R^d$ with Assumption 2): on a convex set
that contains every iterate and $w^*$, named in each check.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.evidence.federated import (
    Bowl,
    FederatedRun,
    Piece,
    Point,
    Rate,
    Separable,
)
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval, evaluate
from sfl_theory.papers import huang2023
from sfl_theory.statement import Theorem

ONE = Fraction(1)


HALF = Fraction(1, 2)


R2 = sp.Symbol("R2", positive=True)


def printed(
    theorem: Theorem,
    clients: int,
    steps: int,
    rounds: int,
    S: Fraction,
    R2_value: Fraction,
    sigma: int,
    server: Fraction,
    client: Fraction,
) -> Interval:
    """Evaluate a printed bound at $mu = 1$, $delta = Gamma = 0$, equal weights.

    Args:
        theorem: Proposition 1 or 2, or Theorem 1.
        clients: N.
        steps: E M.
        rounds: T.
        S: smoothness.
        R2_value: $R^2$.
        sigma: $sigma_n$ of every client.
        server: squared initial distance of the server block.
        client: squared initial distance of the client block.

    Returns:
        An enclosure of the right-hand side.
    """
    bound = theorem.case("strongly_convex").bound("printed")
    expr: Any = sum(bound.parts.values())
    expr = expr.xreplace(dict(bound.definitions)).xreplace({symbols.R: sp.sqrt(R2)})
    values: dict[Any, int | Fraction | Interval] = {
        symbols.N: clients,
        symbols.tau: steps,
        symbols.T: rounds,
        symbols.S: S,
        symbols.mu: 1,
        R2: R2_value,
        symbols.epsilon: 0,
        symbols.Gamma: 0,
        symbols.I_s: server,
        symbols.I_c: client,
        symbols.I_err: server + client,
    }
    columns: dict[Any, tuple[int | Fraction, ...]] = {
        symbols.a: (Fraction(1, clients),) * clients,
        symbols.sigma: (sigma,) * clients,
    }
    return evaluate(expr, values, columns)


def noise_variance(clients: int, steps: int, rounds: int) -> Fraction:
    r"""Return $E\|w_s^{TEM}\|^2$ of the noise instance, samples drawn independently.

    $w^{i+1}=(1-\eta_i)w^i-\eta_i\bar\zeta$ from 0, so
    $E|w^{i+1}|^2=(1-\eta_i)^2E|w^i|^2+\eta_i^2/N$, $\eta_i=2/(\gamma+i)$.

    Args:
        clients: N.
        steps: E M.
        rounds: T.

    Returns:
        The exact value.
    """
    gamma, moment = max(7, steps), Fraction(0)
    for i in range(rounds * steps):
        eta = Fraction(2, gamma + i)
        moment = (1 - eta) ** 2 * moment + eta**2 / clients
    return moment


def partitioned_variance(clients: int) -> Fraction:
    r"""Return $E\|w_s^4\|^2$ if each client deals its four samples $\pm1,\pm1$ out.

    One epoch, M = 4 mini-batches, T = 1: every order of the four samples has the same
    chance, clients are independent with mean 0, so the value of one client
    divided by N.

    Args:
        clients: N.

    Returns:
        The exact value.
    """
    total, count = Fraction(0), 0
    for order in permutations((1, 1, -1, -1)):
        w = Fraction(0)
        for i, zeta in enumerate(order):
            eta = Fraction(2, 7 + i)
            w = (1 - eta) * w - eta * zeta
        total, count = total + w**2, count + 1
    return total / count / clients


def noise_checks() -> tuple[Check, ...]:
    """Return the assumptions of the noise instance."""
    return (
        equal("Assumptions 1 and 2, S = mu = 1: the Hessian is the identity", 1, 1),
        equal(
            "Assumption 3, sigma_n = 1: mean and variance of +-1",
            Fraction((1 - 1) ** 2 + 1 + 1, 2),
            1,
        ),
        at_most(
            "iterates stay in |w_s| <= 1: convex steps, largest eta", Fraction(2, 7), 1
        ),
        equal("iterates stay in |w_c| <= 1: gradient w_c at w_c = 0", 0, 0),
        at_most(
            "Assumption 4 on the box [-1, 1]^2, R^2 = 3: w_c^2 + w_s^2 + 1",
            1 + 1 + 1,
            3,
        ),
        equal("Assumption 5, delta = 0: all f_n are the same", 0, 0),
    )


def _run(theorem: Theorem, gamma: int, **given: Any) -> FederatedRun:
    """Return a run of one round, E = M = 1, with the printed rate 2/(gamma + i)."""
    rate = Rate(Fraction(2), Fraction(gamma), ONE)
    return FederatedRun(
        theorem=theorem.key,
        case="strongly_convex",
        algorithm=theorem.algorithm,
        client_rate=rate,
        server_rate=rate,
        per_step=True,
        **given,
    )


def _noisy(clients: int, rounds: int) -> FederatedRun:
    """Return the noise instance as a run."""
    side = (-ONE, ONE)
    return _run(
        huang2023.PROPOSITION_1,
        7,
        clients=(Separable((Piece(), Piece()), (Fraction(0), ONE)),) * clients,
        weights=(Fraction(1, clients),) * clients,
        start=(Fraction(0), Fraction(0)),
        rounds=rounds,
        box=(side, side),
    )


def _pulled(theorem: Theorem, kappa: int, rounds: int, start: Point) -> FederatedRun:
    """Return the coupling instance as a run; coordinates (w_c, w_s, z)."""
    rows = (2, -1, 0), (-1, 2, 0), (0, 0, kappa)
    unit, zero = (Fraction(0), ONE), Fraction(0)
    return _run(
        theorem,
        8 * kappa - 1,
        clients=(
            Bowl(
                tuple(tuple(map(Fraction, row)) for row in rows),
                (zero,) * 3,
                (ONE, Fraction(kappa)),
            ),
        ),
        weights=(ONE,),
        start=(*start, zero),
        rounds=rounds,
        box=(unit, unit, (zero, zero)),
    )


def server_noise(N: int = 37) -> Finding:
    """Return both sides on the instance.

    Proposition 1 against the noise instance: order 1/N against 1/N^2.

    Args:
        N: number of clients; 37 is the smallest that breaks it in one step.
    """

    def right(clients: int, steps: int, rounds: int) -> Interval:
        return printed(
            huang2023.PROPOSITION_1,
            clients,
            steps,
            rounds,
            ONE,
            Fraction(3),
            1,
            Fraction(0),
            Fraction(0),
        )

    large = noise_variance(100, 5, 20), right(100, 5, 20)
    dealt = partitioned_variance(1000), right(1000, 4, 1)
    return Finding(
        setup="f_n(w;z) = (w_c^2 + w_s^2)/2 + z w_s, z = +-1 independent, "
        f"N = {N} equal "
        "weights, w^0 = w* = 0, E = M = T = 1, gamma = 7, eta = 2/7",
        checks=(
            *noise_checks(),
            Check(
                "also for N = 100, E M = 5, T = 20",
                large[0] > large[1].high,
                f"{float(large[0]):.6g} > {large[1]}",
            ),
            Check(
                "also if an epoch deals out the data, N = 1000, M = 4, E = T = 1",
                dealt[0] > dealt[1].high,
                f"{float(dealt[0]):.6g} > {dealt[1]}",
            ),
        ),
        left=Interval.of(noise_variance(N, 1, 1)),
        right=right(N, 1, 1),
        at="after one step",
        run=_noisy(N, 1),
        curve=tuple(
            (T, float(noise_variance(N, 1, T)), float(right(N, 1, T).high))
            for T in (1, 2, 5, 10, 20, 50)
        ),
    )


def one_step_noise(eta: Fraction) -> Finding:
    r"""Return both sides on the instance.

    One step from $w=w^*=0$: $\eta^2/N$ against $2\eta^2R^2/N^2$; (14), (15).
    """
    N = 37
    return Finding(
        setup=f"the noise instance of Proposition 1, N = {N}, one step of {eta} from "
        f"w*; "
        "F(w) - F(w_c, w_s*) = 0",
        checks=(*noise_checks(), at_most("eta <= 1/(4S)", eta, Fraction(1, 4))),
        left=Interval.of(eta**2 / N),
        right=Interval.of(2 * eta**2 * 3 / Fraction(N) ** 2),
        at="one step",
    )


def mean_gradient(whole: bool) -> Finding:
    r"""Return both sides on the instance.

    Mean of N gradients at $w^*$: 1/N against $R^2/N^2$, or (13) as a whole.
    """
    N = 37
    factor = 2 if whole else 1
    return Finding(
        setup=f"the noise instance of Proposition 1, N = {N}, at w = w* = 0",
        checks=noise_checks(),
        left=Interval.of(Fraction(1, N)),
        right=Interval.of(factor * Fraction(3, N * N)),
    )


def _coupled_run(kappa: int, rounds: int) -> tuple[Interval, list[Interval], bool]:
    """Return the moved coordinate squared, its course, and whether it stays inside."""
    gamma = 8 * kappa - 1
    slow, fast = Interval.of(HALF), Interval.of(-HALF)
    course, inside = [], True
    for i in range(rounds):
        eta = Fraction(2, gamma + i)
        slow = (slow * (1 - eta)).rounded()
        fast = (fast * (1 - 3 * eta)).rounded()
        gradient2 = 2 * slow.squared() + 18 * fast.squared()
        inside = inside and gradient2.high <= 5
        course.append((slow + fast).squared())
    return course[-1], course, inside


def coupling(server: bool) -> Finding:
    r"""Propositions 1 and 2: a block at its optimum is pulled away by the other.

    $f=\frac12(2w_c^2-2w_cw_s+2w_s^2+Sz^2)$: eigenvalues 1 (direction (1, 1)), 3
    ((1, -1)) and S (z, at 0 throughout). From (0, 1) the iterate is
    $(p+q,\,p-q)$ with $p^+=(1-\eta)p$, $q^+=(1-3\eta)q$.

    Args:
        server: the server block starts at its optimum (Prop. 1), else the client block.

    Returns:
        Both sides.
    """
    kappa, rounds = (200, 505) if server else (500, 1264)
    theorem = huang2023.PROPOSITION_1 if server else huang2023.PROPOSITION_2
    initial = (Fraction(0), ONE) if server else (ONE, Fraction(0))
    left, course, inside = _coupled_run(kappa, rounds)

    def right(T: int) -> Interval:
        return printed(
            theorem, 1, 1, T, Fraction(kappa), Fraction(5), 0, initial[0], initial[1]
        )

    names = ("server", "client") if server else ("client", "server")
    return Finding(
        setup="N = 1, E = M = 1, no noise, f = w_c^2 - w_c w_s + w_s^2 + S z^2/2 with "
        f"S = {kappa}, z = 0 a further coordinate; the {names[0]} block starts at its "
        f"optimum 0, the {names[1]} block at 1; gamma = 8S - 1",
        checks=(
            equal("eigenvector (1, 1) of [[2, -1], [-1, 2]]: mu = 1", 2 - 1, 1),
            equal("eigenvector (1, -1): 3", 2 + 1, 3),
            at_most("Assumption 1: 3 <= S", 3, kappa),
            equal("Assumptions 3 and 5, sigma = delta = 0: one client, no noise", 0, 0),
            Check(
                "Assumption 4 on {||grad f||^2 <= 5}, R^2 = 5: gradient (-1, 2) at the "
                "start, smaller at every later iterate",
                inside and 1 + 4 == 5,
                "checked at every step",
            ),
            equal("Gamma = f* - min f = 0 with one client", 0, 0),
        ),
        left=left,
        right=right(rounds),
        at=f"after {rounds} steps",
        curve=tuple(
            (T, float(course[T - 1].low), float(right(T).high))
            for T in range(rounds // 8, rounds + 1, rounds // 8)
        ),
        run=_pulled(theorem, kappa, rounds, initial[::-1]),
    )
