r"""Convergence analysis: Propositions 1 and 2, Theorem 1."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import (
    Claim,
    Kind,
    Model,
    Part,
    Proof,
    Repair,
    Severity,
    says,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import (
    coin,
    federation,
    parabola,
    quadratic,
    still,
)
from sfl_theory.papers.huang2023.setting import (
    R2,
    F,
    Gamma,
    N,
    S,
    T,
    above_7,
    assumption_5,
    assumptions,
    away,
    best,
    delta2,
    gamma,
    gamma_printed,
    mu,
    noise,
    one_optimum,
    printed_rate,
    run,
)
from sfl_theory.proofs import minibatch
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.foundations import value_gap
from sfl_theory.proofs.joint import both_parts
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Form, Number, Run

CLIENT, SERVER = Side.CLIENT, Side.SERVER
r = run(printed_rate)
ONE_STEP = "E = M = 1, so that iterations are rounds and TEM = T"
# Propositions 1 and 2 --------------------------------------------------------------


def server_bound(of: Run, steps: Number) -> Form:
    """Return the right side of (9)."""
    first = w.form(8 * R2) + mu**2 * N**2 * (gamma + 1) * away(of.x(0), SERVER)
    return first / (mu**2 * N**2 * (gamma + steps))


def client_bound(of: Run, steps: Number) -> Form:
    """Return the right side of (10), one local step in a round."""
    first = w.form(4 * constant_h()) + mu**2 * (gamma + 1) * away(of.x(0), CLIENT)
    return first / (mu**2 * (gamma + steps))


def constant_h() -> Number:
    """Return H for E = M = 1."""
    return 6 * R2 + 12 * delta2 + 6 * S * Gamma + noise()


def half_of_the_data(clients: int = 12) -> ModelData:
    r"""Return :math:`f_n=\frac12\|w\|^2`, client 1 noisy and with p = 1/2."""
    rest = Fraction(1, 2 * clients - 2)
    return federation(
        [parabola(1, (0, 0))] * clients,
        (0, 0),
        weights=("1/2", *(rest,) * (clients - 1)),
        noise=[coin(0, 1)] + [still(2)] * (clients - 1),
        rounds=1,
        numbers={mu: 1, S: 1, above_7: 0, R2: 2, T: 1},
        families={"sigma2": (1, *(0,) * (clients - 1))},
        best={F: (0, 0)},
        box=((0, 0), (-1, 1)),
    )


def pulled(kappa: int, rounds: int, start: tuple[int, int]) -> ModelData:
    """Return one client, no noise, where one block pulls the other away."""
    return federation(
        [quadratic(((2, -1, 0), (-1, 2, 0), (0, 0, kappa)), (0, 0, 0))],
        (*start, 0),
        numbers={mu: 1, S: kappa, above_7: 8 * kappa - 8, R2: 5, T: rounds},
        families={"sigma2": (0,)},
        best={F: (0, 0, 0)},
        box=((0, 1), (0, 1), (0, 0)),
    )


def joint_repair(side: Side, change: str) -> Repair:
    """Return the joint bound on the distance of one block."""
    other = SERVER if side is CLIENT else CLIENT
    right = (w.form(4 * R2 / mu**2) + gamma * away(r.x(0))) / (gamma + T)

    def proof() -> Theorem:
        x = (r.x(T) - best).value
        return combine(
            [(minibatch.last(minibatch.rate()), 1), (both_parts(x), 1)],
            [(w.part(other, r.x(T) - best).value, 1)],
        )

    return Repair(
        (
            Part(
                says(away(r.x(T), side), right, *assumptions(r)),
                Proof(proof, JOINT),
                reading=ONE_STEP,
            ),
        ),
        change,
    )


JOINT = (
    r"$\|w^{i+1}-w^*\|^2=\|w^i-w^*-\eta G\|^2$ with $E\|G\|^2\le R^2$ and "
    r"$E\langle G,w^i-w^*\rangle\ge F(w^i)-F^*\ge\frac\mu2\|w^i-w^*\|^2$, both blocks "
    r"together: $\Delta^{i+1}\le(1-\mu\eta)\Delta^i+\eta^2R^2$. With "
    r"$\eta=\frac2{\mu(\gamma+i)}$ induction gives "
    r"$\Delta^i\le\frac{4R^2/\mu^2+\gamma\Delta^0}{\gamma+i}$."
)
PROP_1 = Claim(
    "huang2023/prop-1",
    "Proposition 1, (9)",
    Kind.PROPOSITION,
    "The distance of the server block.",
    (
        Part(
            says(
                away(r.x(T), SERVER),
                server_bound(r, T),
                *assumptions(r),
                *gamma_printed(),
            ),
            Model(
                half_of_the_data,
                r"$f_n=\frac12\|w\|^2$, 12 clients; client 1 has half of the data and "
                r"noise $\zeta=\pm1$ in $w_s$. One step of $\eta=\frac27$ from $w^*=0$ "
                r"gives $\frac{\eta^2}4=\frac1{49}$, the bound is "
                r"$\frac{16}{8N^2}=\frac1{72}$.",
            ),
            reading=ONE_STEP,
        ),
    ),
    severity=Severity.THEOREM,
    scope="with noise, here for unequal weights; for equal ones the first step breaks "
    "it from N = 13 on at S = mu, R = sigma (2^13 outcomes; steps (13)-(15) break at N = "
    "3 and 5); without noise for N = 1 (prop-1/coupling)",
    cause="The bound is of order 1/N^2, the variance of a mean of N gradients 1/N.",
    uses="eq-18 cond-eta",
    first_failure="eq-12/weights",
    repair=joint_repair(
        SERVER, "initial distance of both blocks, R^2 without 1/N^2 (E = M = 1)"
    ),
)
PROP_1_COUPLING = Claim(
    "huang2023/prop-1/coupling",
    "Proposition 1, (9)",
    Kind.PROPOSITION,
    "Proposition 1 for one client without noise.",
    (
        Part(
            says(
                away(r.x(T), SERVER),
                server_bound(r, T),
                *assumptions(r),
                *gamma_printed(),
            ),
            Model(
                lambda: pulled(200, 505, (1, 0)),
                r"$F=w_c^2-w_cw_s+w_s^2+\frac S2z^2$, S = 200, from $(1,0,0)$: the "
                r"server block starts at its optimum and is pulled away by the client "
                r"block, whose initial distance the bound does not contain; after 505 "
                r"steps it is farther away than the bound says. z only makes S large.",
            ),
            reading=ONE_STEP,
        ),
    ),
    severity=Severity.THEOREM,
    scope="already for one client without noise, S/mu = 200",
    cause="The bound lacks the initial distance of the client block.",
    uses="eq-18 cond-eta",
    first_failure="eq-15/sign",
    repair=joint_repair(
        SERVER, "initial distance of both blocks, R^2 without 1/N^2 (E = M = 1)"
    ),
)
PROP_2 = Claim(
    "huang2023/prop-2",
    "Proposition 2, (10)",
    Kind.PROPOSITION,
    "The distance of the client block.",
    (
        Part(
            says(
                away(r.x(T), CLIENT),
                client_bound(r, T),
                *assumptions(r),
                assumption_5(),
                *gamma_printed(),
                *one_optimum(),
            ),
            Model(
                lambda: pulled_client(),
                r"$F=w_c^2-w_cw_s+w_s^2+\frac S2z^2$, S = 500, from $(0,1,0)$: the "
                r"client block starts at its optimum and is pulled away by the server "
                r"block; after 1264 steps it is farther away than the bound says.",
            ),
            reading=f"{ONE_STEP}; Gamma = 0 in all readings: w* minimises every f_n",
        ),
    ),
    severity=Severity.THEOREM,
    scope="already for one client without noise, S/mu = 500",
    cause="The bound lacks the initial distance of the server block.",
    uses="eq-25 cond-eta",
    first_failure="eq-33/1",
    repair=joint_repair(CLIENT, "initial distance of both blocks (E = M = 1)"),
)


def pulled_client(rounds: int = 1264) -> ModelData:
    """Return the model of Proposition 2."""
    data = pulled(500, rounds, (0, 1))
    data.numbers.update({
        w.variable(delta2): Fraction(0),
        w.variable(Gamma): Fraction(0),
    })
    return data


# Theorem 1 -------------------------------------------------------------------------

L_s, L_c = server_bound(r, T), client_bound(r, T)


def theorem_1() -> Theorem:
    """Return (11) from the joint distance: every term of it is larger."""
    start = (r.x(0) - best).value
    target = (S * (L_s + L_c) / 2 - (F(r.x(T)) - F(best))).value
    spare = S.value / (2 * (gamma + T).value)
    return combine(
        [
            (value_gap(S.value, r.x(T).value), 1),
            (minibatch.last(minibatch.rate()), S.value / 2),
            (both_parts(start), -S.value / 2 * ((gamma + 1) / (gamma + T)).value),
        ],
        [(start, spare)],
        target=target,
    )


def sharper() -> Theorem:
    """Return S/2 times the joint distance."""
    return combine([
        (value_gap(S.value, r.x(T).value), 1),
        (minibatch.last(minibatch.rate()), S.value / 2),
    ])


THM_1 = Claim(
    "huang2023/thm-1",
    "Theorem 1, (11)",
    Kind.THEOREM,
    "The gap is at most S (L_s + L_c)/2, the right sides of (9) and (10).",
    (
        Part(
            says(
                F(r.x(T)) - F(best),
                S * (L_s + L_c) / 2,
                *assumptions(r),
                assumption_5(),
                *gamma_printed(),
            ),
            Proof(
                theorem_1,
                f"{JOINT} Lemma 1 makes a gap of it, and $L_s+L_c$ contains both "
                r"initial distances and $24R^2/\mu^2$.",
            ),
            reading=f"{ONE_STEP}; Gamma any number >= 0",
        ),
    ),
    scope="for Gamma >= 0",
    uses="lemma-1 prop-1 prop-2",
    first_failure="eq-12/weights",
    repair=Repair(
        (
            Part(
                says(
                    F(r.x(T)) - F(best),
                    S
                    / 2
                    * (w.form(4 * R2 / mu**2) + gamma * away(r.x(0)))
                    / (gamma + T),
                    *assumptions(r),
                ),
                Proof(sharper, JOINT),
                reading=ONE_STEP,
            ),
        ),
        "sharper: no Gamma, no sigma_n, no delta, smaller constants (E = M = 1)",
    ),
)

CLAIMS = (PROP_1, PROP_1_COUPLING, PROP_2, THM_1)
