r"""Appendix D: SFL-V1, full participation.

Where a statement has two parts, the client's side makes more steps in the first one,
the server's side in the second.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Kind, Says, Severity, broken, proved, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import coin, federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import (
    block_rates,
    induction,
    one_round_steps,
    superposition,
)
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.blocks import SIDES, Blocks
from sfl_theory.papers.han2024.contraction import Contraction
from sfl_theory.papers.han2024.general_convex import Merged, claims
from sfl_theory.papers.han2024.one_round import Block
from sfl_theory.papers.han2024.setting import N, S, a, eps2, f, n, t, tau, tau_server
from sfl_theory.papers.han2024.two_periods import LONGER, Steps, TwoPeriods
from sfl_theory.proofs import block_steps
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.non_convex import TwoPaces

SERVER = Contraction(
    Block(Version.V1, Side.SERVER, tau_server, tau), "D.1.1", "lemma-D.1"
)
CLIENT = Contraction(
    Block(Version.V1, Side.CLIENT, tau_server, tau), "D.1.2", "lemma-D.1"
)

# Appendix D.2: SFL-V1, full participation, general convex ----------------------------

PARALLEL = Merged(
    Block(Version.V1, Side.SERVER, tau_server, tau), "D.2.3", 76, (74, 75)
)

# Appendix D.3: the non-convex case of Theorem 3.6, SFL-V1 with full participation ----

SECTION = TwoPeriods("3.6")
PRINTED = SECTION.printed()
squares = SECTION.shares


STEPS = Steps(SECTION, "App. D.3", 78, 87)
D_SERVER, D_CLIENT = SIDES


# Both blocks, one round ------------------------------------------------------------


def both_blocks(b: Blocks) -> Form:
    """Return the right side of Proposition C.4."""
    client, server = (
        b.pull(side) + S / 2 * w.norm2(b.move(side)) for side in (D_CLIENT, D_SERVER)
    )
    return client + server


def superposed(longer: Side) -> Says:
    """Return the second inequality of (86)."""
    b, low = SECTION.ordered(longer), SECTION.descent(longer).period
    client, server, high = b.steps[D_CLIENT], b.steps[D_SERVER], SECTION.most(longer)
    cubes, e, S2 = client**3 + server**3, s.eta(), S**2
    late = w.over_clients(n, a() ** 2 * (high + 8 * high**3 * e**2 * S2))

    def noise(steps: Number) -> Number:
        bracket = (steps + 8 * steps**3 * e**2 * S2) * (2 * eps2 + s.sigma2())
        return S * N * e**2 * steps / 2 * w.over_clients(n, a() ** 2 * bracket)

    right = (-(e * low / 2) + 8 * N * e**3 * high**3 * S2 * squares) * b.slope()
    right = right + 8 * N * e * S2 * cubes * w.over_clients(
        n, e**2 * a() ** 2 * (s.sigma2() + eps2)
    )
    right = right + S * N * e**2 * high / 2 * late * (2 * b.slope())
    right = right + w.form(noise(client) + noise(server))
    rate = w.at_most(8 * (S * e * high) ** 2, 1).called("those of Lemmas C.6, C.7")
    return says(both_blocks(b), right, *b.assumed, rate)


DECOMPOSED = proved(
    says(
        f(PRINTED.run.x(t + 1)) - f(PRINTED.run.x(t)),
        both_blocks(PRINTED),
        s.assumption_31(),
    ),
    lambda: block_steps.decomposition(Round(PRINTED.run.split)),
    "Smoothness from x^t to x^{t+1}, block by block (Proposition C.4).",
)
EQ_86 = Kind.EQUATION(
    "han2024/eq-86",
    "App. D.3.3, (86)",
    "The change of f in a round, by both blocks.",
    DECOMPOSED,
    *(
        proved(
            superposed(longer),
            partial(block_steps.superposition, TwoPaces(longer)),
            r"Not by adding (80), (83), (84), (85), which are false. Polarisation "
            r"leaves $-\frac{\eta}{2\tau_b}\|M_b\|^2$, which pays for $\frac "
            r"S2\|x_b^{t+1}-x_b^t\|^2$ (Young with $c=1/(2S\eta\tau_b)$, so the noise "
            r"keeps its constant); one drift serves both blocks.",
            LONGER[longer],
        )
        for longer in Side
    ),
    scope="for 8 (S eta tau_max)^2 <= 1, which implies both lemmas' learning rates",
    uses="prop-C.4 eq-80 eq-83 eq-84 eq-85",
)


def _lines() -> Says:
    """Return that the second line of (87) is at most the third."""
    low, high = s.tau_min, s.tau_max
    e, S2, S3 = s.eta(), S**2, S**3
    of_sigma = w.over_clients(n, a() ** 2 * s.sigma2())
    both = w.over_clients(n, a() ** 2 * (2 * eps2 + s.sigma2()))
    half = w.number(1) / 2 * S * N * e**2

    def second(steps: Number) -> Number:
        return half * steps * (steps + 8 * steps**3 * e**2 * S2) * both

    def third(steps: Number) -> Number:
        """Return a group; its third term has the server's steps in both."""
        return (
            8 * N * e**3 * S2 * steps**3 * of_sigma
            + 8 * N * e**3 * S2 * steps**3 * eps2 * squares
            + S * N * e**2 * steps**2 * eps2 * squares
            + half * tau_server**2 * of_sigma
            + 8 * N * S3 * e**4 * steps**4 * eps2 * squares
            + 4 * N * S3 * e**4 * steps**4 * of_sigma
        )

    slope, first = PRINTED.slope(), -(e * low / 2)
    left = first + 8 * N * e**3 * S2 * high**3 * squares
    left = left + S * N * e**2 * high * squares * (high + 8 * high**3 * e**2 * S2)
    right = first + S * N * e**2 * high**2 * squares
    right = right + 8 * N * e**3 * S2 * high**3 * squares
    right = right + 8 * S3 * N * e**4 * high**4 * squares
    rest = w.over_clients(n, a() ** 2 * e**2 * (s.sigma2() + eps2))
    noise = 8 * N * e * S2 * (tau**3 + tau_server**3) * rest
    order = [w.at_most(low, one) for one in (tau, tau_server)]
    order += [w.at_most(one, high) for one in (tau, tau_server)]
    return says(
        left * slope + w.form(noise + second(tau) + second(tau_server)),
        right * slope + w.form(third(tau) + third(tau_server)),
        *PRINTED.assumed,
        *PRINTED.rates,
        *order,
    )


EQ_87_LINES = Kind.EQUATION(
    "han2024/eq-87/lines",
    "App. D.3.3, second and third line of (87)",
    "The second line of (87) is at most the third.",
    broken(
        _lines(),
        lambda: federation(
            [parabola(1, (0, 0))] * 2,
            (0, 0),
            noise=[coin(0, 1)] * 2,
            numbers={
                t: 0,
                S: 1,
                eps2: 0,
                tau: 2,
                tau_server: 1,
                s.tau_min: 1,
                s.tau_max: 2,
            },
            families={"sigma2": (1, 1)},
            rates={"eta": Fraction(1, 64)},
        ),
        r"$\nabla f(x^t)=0$, $\epsilon=0$, $\sigma_n=1$: only noise is left, "
        r"and $\tau=2$ has become $\tilde\tau=1$.",
        "the v in the third line is a misprint and left out",
    ),
    severity=Severity.SLIP,
    cause="tau_server^2 is printed for tau^2 in the first group; the next lines have "
    "tau^2 again.",
    scope="for tau > tau_server; for tau <= tau_server the line is true",
    words="The fourth line prints 8 S eta tau for 8 S eta tau_max, S L^3 for S^3, and "
    "in its last group tau^2 for tau_server^2.",
    uses="eq-86",
)


EQ_87, EQ_88, EQ_89 = STEPS.of_rounds("eq-86 cond-D.3")

CLAIMS = (
    SERVER.the_lemma(53, "lemma-C.3 lemma-C.5 eq-60", "eq-54"),
    *one_round_steps.D.claims(),
    SERVER.joined(60, "eq-54 eq-55 eq-56 eq-57 eq-58 eq-59"),
    SERVER.without_gap(61, "eq-60"),
    induction.D_SERVER.first_rate("app-D.1"),
    block_rates.D_SERVER.in_a_round(62, "lemma-D.1 app-D.1/first-rate eq-61"),
    *induction.D_SERVER.claims(),
    block_rates.D_SERVER.in_every_round(
        69, "eq-62 eq-63 eq-64 eq-65 eq-66 eq-67 eq-68 app-D.1/first-rate"
    ),
    CLIENT.quoted(70),
    CLIENT.without_gap(71, "eq-70"),
    induction.D_CLIENT.first_rate("app-D.1.2"),
    block_rates.D_CLIENT.in_every_round(
        72, "lemma-D.1 eq-67 app-D.1.2/first-rate eq-71"
    ),
    block_rates.merged_rate(),
    superposition.D.merge(),
    superposition.parallel_bound(),
    superposition.middle(),
    *claims(PARALLEL, "3.6", "lemma-D.1", "eq-60"),
    *STEPS.of_blocks(),
    *(EQ_86, EQ_87_LINES, EQ_87, EQ_88, EQ_89),
)
