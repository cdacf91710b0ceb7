r"""Convergence analysis: Propositions 1 and 2, Theorem 1."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import (
    Kind,
    Model,
    Part,
    Repair,
    Severity,
    broken,
    proved,
    says,
)
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Sort
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.federation import coin, federation, parabola, quadratic
from sfl_theory.models.functions import Bowl, Piece, Separable
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number, Run, Vector
from sfl_theory.papers.huang2023 import linear_speedup as speedup
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.setting import R2, E, F, M, S, T, away, best, gamma, mu
from sfl_theory.proofs import minibatch, minibatch_speedup, minibatch_steps
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.local_steps import both_parts
from sfl_theory.proofs.notation import combine

CLIENT, SERVER = Side.CLIENT, Side.SERVER
r = s.run(s.printed_rate)
ONE_STEP = "E = M = 1, so that iterations are rounds and TEM = T"
# Runs that break the propositions: the same data for kernel, pictures and trainer -----

ZERO, ONE = Fraction(0), Fraction(1)
BOWL = Separable((Piece(), Piece()))


def half_of_the_data(clients: int = 12) -> FederatedRun:
    r"""Return :math:`f_n=\frac12\|w\|^2`, client 1 noisy and with p = 1/2, one step."""
    rest = Fraction(1, 2 * clients - 2)
    rate = Rate(Fraction(2), Fraction(7), ONE)
    return FederatedRun(
        theorem="huang2023/prop-1",
        case="strongly_convex",
        algorithm="minibatch-sfl",
        clients=(Separable(BOWL.pieces, (ZERO, ONE)), *(BOWL,) * (clients - 1)),
        weights=(Fraction(1, 2), *(rest,) * (clients - 1)),
        start=(ZERO, ZERO),
        rounds=1,
        client_rate=rate,
        server_rate=rate,
        per_step=True,
        box=((ZERO, ZERO), (-ONE, ONE)),
    )


def pulled(number: int, kappa: int, rounds: int) -> FederatedRun:
    r"""Return one client without noise, where one block pulls the other away.

    :math:`F=w_c^2-w_cw_s+w_s^2+\frac\kappa2z^2`; the block that the proposition speaks
    of starts at its optimum, the other one at 1.
    """
    rows = (2, -1, 0), (-1, 2, 0), (0, 0, kappa)
    bowl = Bowl(
        tuple(tuple(map(Fraction, row)) for row in rows),
        (ZERO,) * 3,
        (ONE, Fraction(kappa)),
    )
    rate = Rate(Fraction(2), Fraction(8 * kappa - 1), ONE)
    return FederatedRun(
        theorem=f"huang2023/prop-{number}",
        case="strongly_convex",
        algorithm="minibatch-sfl",
        clients=(bowl,),
        weights=(ONE,),
        start=(ONE, ZERO, ZERO) if number == 1 else (ZERO, ONE, ZERO),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
        per_step=True,
        box=((ZERO, ONE), (ZERO, ONE), (ZERO, ZERO)),
    )


# Propositions 1 and 2 --------------------------------------------------------------


def server_bound(of: Run, steps: Number) -> Form:
    """Return the right side of (9)."""
    first = w.form(8 * R2) + mu**2 * s.N**2 * (gamma + 1) * away(of.x(0), SERVER)
    return first / (mu**2 * s.N**2 * (gamma + steps))


def client_bound(of: Run, steps: Number, local: Number | int = 1) -> Form:
    """Return the right side of (10)."""
    first = w.form(4 * constant_h(local)) + mu**2 * (gamma + 1) * away(of.x(0), CLIENT)
    return first / (mu**2 * (gamma + steps))


def constant_h(local: Number | int = 1) -> Number:
    """Return H for a number EM of local steps."""
    if local == 1:
        return 6 * R2 + 12 * s.delta2 + 6 * S * s.Gamma + s.noise()
    return 6 * E * M * R2 + 12 * E**2 * M**2 * s.delta2 + 6 * S * s.Gamma + s.noise()


def values(kappa: int, squares: int) -> dict[k.Var, Fraction]:
    """Return the paper's constants for S/mu and R^2 and functions that agree."""
    found = {s.above_7: 8 * kappa - 8, R2: squares, s.delta2: 0, s.Gamma: 0}
    return {w.variable(name): Fraction(value) for name, value in found.items()}


all_steps = s.falling()
ANY_STEPS = (
    "the rate falls at every step, i = EM t + j: the run's local steps have rate 1, "
    "its stochastic gradients are eta^i times those of the paper"
)
JOINT_LEVEL = R2 + (E * M - 1) * (R2 + 2 * E * M * s.delta2)


def joint_bound() -> Form:
    """Return the right side of the distance of both blocks."""
    first = w.form(4 * JOINT_LEVEL / (3 * mu**2)) + gamma * away(all_steps.x(0))
    return first / (gamma + T * E * M)


def joint_distance() -> Theorem:
    """Return the distance of both blocks after T rounds of E M steps."""
    return speedup.with_steps(minibatch_steps.rounds())


def one_round() -> ModelData:
    """Return two clients that differ, one round of one step, at rate 1 = eta^0."""
    return federation(
        [parabola("2/7", (0, "1/2")), parabola("2/7", (0, "-1/2"))],
        ("1/2", "1/2"),
        noise=[coin(0, "1/2")] * 2,
        rounds=1,
        numbers={
            mu: "2/7",
            S: "2/7",
            R2: 1,
            s.delta2: "1/49",
            s.above_7: 0,
            E: 1,
            M: 1,
            T: 1,
        },
        best={F: (0, 0)},
    )


def joint_repair(side: Side, change: str) -> Repair:
    """Return the joint bound on the distance of one block."""
    other = SERVER if side is CLIENT else CLIENT
    x = all_steps.x(T) - best

    def proof() -> Theorem:
        return combine(
            joint_distance(), both_parts(x.value), (w.part(other, x).value, 1)
        )

    return evidence.repaired(
        change,
        proved(
            says(
                away(all_steps.x(T), side),
                joint_bound(),
                *s.falling_assumptions(all_steps),
            ),
            proof,
            JOINT,
            ANY_STEPS,
            model=one_round,
        ),
    )


JOINT = (
    r"With $\Delta=E\|\bar w^i-w^*\|^2$, $D=\sum_np_nE\|w_n^i-\bar w^i\|^2$, K = EM, "
    r"$B=R^2+2K\delta^2$, $x=\gamma+i$: "
    r"$\Delta^{i+1}\le(1-\frac4x)\Delta^i+\eta SD^i+\eta^2R^2$ and, within a round, "
    r"$D^{i+1}\le(1-\frac4x+\frac1{2K})D^i+\eta^2B$ by strong convexity between $w_n$ "
    r"and $\bar w$ and Young with $\frac1{2K}$; $D=0$ where a round starts. With "
    r"$c(x)=(x-1)(x-2)(x-3)(x-4)$, $c(x+1)(1-\frac4x)=c(x)$, and "
    r"$P(x)=x^3-10x^2+35x-50\le c(x)/x$, $V=R^2+(K-1)B$, the number "
    r"$c\Delta+\frac{4S}\mu(K-j)(x-1)(x-2)(x-3)D-P\frac{4V}{3\mu^2}$ does not grow."
)
NOISY_HALF = Model(
    run=half_of_the_data,
    numbers=values(1, 2),
    words=r"$f_n=\frac12\|w\|^2$, 12 clients; client 1 has half of the data and noise "
    r"$\zeta=\pm1$ in $w_s$. One step of $\eta=\frac27$ from $w^*=0$ gives "
    r"$\frac{\eta^2}4=\frac1{49}$, the bound is $\frac{16}{8N^2}=\frac1{72}$.",
)
PULLED_CLIENT = Model(
    run=lambda: pulled(2, 500, 620),
    numbers=values(500, 5),
    words=r"$F=w_c^2-w_cw_s+w_s^2+\frac S2z^2$, S = 500, from $(0,1,0)$: the "
    r"client block starts at its optimum and is pulled away by the server "
    r"block; after 620 steps it is farther away than the bound says.",
)
SERVER_SIDE = says(
    away(r.x(T), SERVER), server_bound(r, T), *s.assumptions(r), *s.gamma_printed()
)
SERVER_REPAIR = joint_repair(
    SERVER, "initial distance of both blocks, R^2 without 1/N^2, the clients' drift"
)
PROP_1 = Kind.PROPOSITION(
    "huang2023/prop-1",
    "Proposition 1, (9)",
    "The distance of the server block.",
    Part(
        SERVER_SIDE,
        NOISY_HALF,
        reading=ONE_STEP,
    ),
    severity=Severity.THEOREM,
    scope="with noise, here for unequal weights; for equal ones without noise as well: "
    "for six clients that differ (text/server-non-iid), for one (prop-1/coupling)",
    cause="The bound is of order 1/N^2, the variance of a mean of N gradients 1/N.",
    uses="eq-18 cond-eta",
    first_failure="eq-12/weights",
    repair=SERVER_REPAIR,
)
PROP_1_COUPLING = Kind.PROPOSITION(
    "huang2023/prop-1/coupling",
    "Proposition 1, (9)",
    "Proposition 1 for one client without noise.",
    broken(
        SERVER_SIDE,
        words=r"$F=w_c^2-w_cw_s+w_s^2+\frac S2z^2$, S = 200, from $(1,0,0)$: the "
        r"server block starts at its optimum and is pulled away by the client block, "
        r"whose initial distance the bound does not contain; after 505 steps it is "
        r"farther away than the bound says. z only makes S large.",
        reading=ONE_STEP,
        run=lambda: pulled(1, 200, 505),
        numbers=values(200, 5),
    ),
    severity=Severity.THEOREM,
    scope="already for one client without noise, S/mu = 200",
    cause="The bound lacks the initial distance of the client block.",
    uses="eq-18 cond-eta",
    first_failure="eq-15/sign",
    repair=SERVER_REPAIR,
)
PROP_2 = Kind.PROPOSITION(
    "huang2023/prop-2",
    "Proposition 2, (10)",
    "The distance of the client block.",
    Part(
        says(
            away(r.x(T), CLIENT),
            client_bound(r, T),
            *s.assumptions(r),
            s.assumption_5(),
            *s.gamma_printed(),
            *s.one_optimum(),
        ),
        PULLED_CLIENT,
        reading=f"{ONE_STEP}; {s.NO_GAMMA}",
    ),
    severity=Severity.THEOREM,
    scope="already for one client without noise, S/mu = 500",
    cause="The bound lacks the initial distance of the server block.",
    uses="eq-25 cond-eta",
    first_failure="eq-33/1",
    repair=joint_repair(CLIENT, "initial distance of both blocks"),
)


# Theorem 1 -------------------------------------------------------------------------


def theorem_1(of: Run, local: Number | int) -> Form:
    """Return the right side of (11)."""
    total = T if local == 1 else T * E * M
    return S * (server_bound(of, total) + client_bound(of, total, local)) / 2


def variance_bound() -> Form:
    """Return the right side of the distance without Assumption 4."""
    spread = w.over_clients(s.n, s.p() * s.sigma2()) + (2 * E * M + 1) * s.delta2
    H = s.noise() + Fraction(44, 49) * (E * M - 1) * spread
    first = w.form(4 * H / mu**2) + gamma * away(speedup.run.x(0))
    return first / (gamma + T * E * M)


def gap_from(distance: Theorem, last: Vector) -> Theorem:
    """Return S/2 times a bound on the distance of both blocks, K = EM."""
    rounds = speedup.with_steps(distance)
    return combine(value_gap(S.value, last.value), (rounds, S.value / 2))


def without_4() -> Part:
    """Return the gap without Assumption 4, the noise divided by N."""
    last = speedup.run.x(T)
    said = says(F(last) - F(best), S / 2 * variance_bound(), *speedup.ASSUMED)
    return proved(
        said,
        lambda: gap_from(minibatch_speedup.simple(), last),
        r"Every term of thm-1/linear-speedup is smaller: $8S/\mu\le\gamma+1$.",
        speedup.WITHOUT_4,
        model=speedup.example(said),
    )


def from_distance(of: Run, local: Number | int, rounds: Theorem) -> Theorem:
    """Return (11) from a bound on the distance: every term of it is larger."""
    start, last = (of.x(0) - best).value, of.x(T)
    end = (gamma + T * local).value
    share = S.value / (2 * end)
    return combine(
        value_gap(S.value, last.value),
        (rounds, S.value / 2),
        (both_parts(start), -share * (gamma + 1).value),
        (start, share),
        target=(theorem_1(of, local) - (F(last) - F(best))).value,
    )


THM_1 = Kind.THEOREM(
    "huang2023/thm-1",
    "Theorem 1, (11)",
    "The gap is at most S (L_s + L_c)/2, the right sides of (9) and (10).",
    proved(
        says(
            F(all_steps.x(T)) - F(best),
            theorem_1(all_steps, E * M),
            *s.falling_assumptions(all_steps),
        ),
        lambda: from_distance(all_steps, E * M, joint_distance()),
        f"{JOINT} Lemma 1 makes a gap of it; $L_s+L_c$ contains both initial "
        r"distances and $24KR^2+48K^2\delta^2$ over $\mu^2$, which is more.",
        f"{ANY_STEPS}; Gamma any number >= 0",
        model=lambda: with_gamma(one_round()),
    ),
    proved(
        says(
            F(r.x(T)) - F(best),
            theorem_1(r, 1),
            *s.assumptions(r),
            s.assumption_5(),
            *s.gamma_printed(),
        ),
        lambda: from_distance(r, 1, minibatch.last(minibatch.rate())),
        "The same for one local step, where D = 0.",
        f"{ONE_STEP}, with the run's own rates; Gamma any number >= 0",
    ),
    scope="for Gamma >= 0, as it is for f_n* = min f_n; where Gamma is read with the "
    "initial w_s it can be negative, even make the right side negative",
    uses="lemma-1 prop-1 prop-2",
    first_failure="eq-12/weights",
    repair=evidence.repaired(
        "sharper: no Gamma, no sigma_n, smaller constants; or without Assumption 4 and "
        "with the noise divided by N",
        proved(
            says(
                F(all_steps.x(T)) - F(best),
                S / 2 * joint_bound(),
                *s.falling_assumptions(all_steps),
            ),
            lambda: gap_from(minibatch_steps.rounds(), all_steps.x(T)),
            JOINT,
            ANY_STEPS,
            model=one_round,
        ),
        without_4(),
    ),
)


def initial_gamma() -> Form:
    """Return the right side of (11) with Gamma read at the initial server block."""
    start = s.mixed(best, r.x(0))
    known = F(best) - w.over_clients(s.n, s.p() * s.f()(start))
    H = w.form(6 * R2 + 12 * s.delta2) + 6 * S * known + w.form(s.noise())
    first = 4 * H + mu**2 * (gamma + 1) * away(r.x(0), CLIENT)
    return S * (server_bound(r, T) + first / (mu**2 * (gamma + T))) / 2


THM_1_GAMMA = Kind.THEOREM(
    "huang2023/thm-1/initial-server",
    "Theorem 1, (11)",
    "(entry of the audit) Theorem 1 with Gamma read at the initial server block.",
    broken(
        says(
            F(r.x(T)) - F(best),
            initial_gamma(),
            *s.assumptions(r),
            s.assumption_5(),
            *s.gamma_printed(),
        ),
        lambda: federation(
            [quadratic(((1, 0, 0), (0, 1, 0), (0, 0, 10)), (0, 0, 0))],
            (0, 1, 0),
            numbers={mu: 1, S: 10, s.above_7: 72, R2: 1, s.delta2: 0, T: 1},
            families={"sigma2": (0,)},
            best={F: (0, 0, 0)},
            box=((0, 0), (0, 1), (0, 0)),
        ),
        r"$F=\frac12(w_c^2+w_s^2+10z^2)$ from (0, 1, 0): $\Gamma=-\frac12$ and "
        r"the right side is negative.",
        f"{ONE_STEP}; w_s in Gamma is w_s^0, w_{{c,n}}* is w_c*, which "
        "minimises f_n for it in the model",
    ),
    severity=Severity.SLIP,
    scope="for N = 1, no noise, S/mu = 10; true for Gamma >= 0 (thm-1)",
    cause="Gamma = F* - sum p_n f_n(w_{c,n}*, w_s) does not say which w_s is meant; at "
    "the initial one it can be negative.",
    uses="thm-1",
)


def with_gamma(data: ModelData) -> ModelData:
    """Return the model with Gamma = 1 and sigma_n^2 = 1/4."""
    more = {w.variable(s.Gamma): Fraction(1)}
    quarter = Fraction(1, 4)
    families = {k.ClientFamily("sigma2", Sort.NONNEGATIVE): (quarter, quarter)}
    return replace(data, numbers={**data.numbers, **more}, families={**families})


CLAIMS = (PROP_1, PROP_1_COUPLING, PROP_2, THM_1, THM_1_GAMMA)
