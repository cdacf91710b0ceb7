"""What is true of the strongly convex cases of Theorems 3.6 and 3.7, (11) and (14)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, Proof, Repair, Says, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import coin, federation, parabola
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_e import EQUAL
from sfl_theory.papers.han2024.setting import G2, T, a, excess, f, mu, n, sigma2
from sfl_theory.papers.han2024.two_periods import LONGER, PRINTED_STEPS, d, named
from sfl_theory.proofs import drawn_convex, strongly_convex, two_rates, visits_convex
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import t
from sfl_theory.proofs.two_rates import OwnRates
from sfl_theory.written import Assumed, Number, Run

DATA = printed.Data(S=mu + excess)
S, GAMMA = named(DATA.S, "S"), DATA.gamma


def run(
    kind: k.Kind,
    client: Number,
    server: Number,
    who: k.Participants = k.Participants.EVERYONE,
) -> Run:
    """Return a run in which each side's rate is divided by its own number of steps."""

    def pace(steps: Number) -> k.AnyPace:
        return w.pace(steps, w.rate(lambda at: 4 / (mu * steps * (GAMMA + at))))

    paces = [pace(client), pace(server)]
    split = k.Split(kind, who, *paces)
    return Run(split, f"SFL-{kind}")


def assumed(r: Run) -> list[Assumed]:
    """Return the assumptions of the strongly convex case."""
    own = [s.assumption_31(DATA.S), *s.assumption_32(r), s.assumption_33(r)]
    draws = [w.participation(r)] if r.split.drawn else []
    return [*own, s.assumption_C2(mu), s.minimum(), *draws]


def as_printed(number: str, r: Run, *more: Assumed) -> Says:
    """Return (11) or (14) for a run."""
    data = replace(DATA, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(number, "strongly_convex", data).right
    return says(f.gap(r.x(T)), right, *assumed(r), *more)


def sharper(
    r: Run, per_step: Number, late: Fraction, draws: Number | None = None
) -> Says:
    """Return the rate in which every term is smaller; `per_step` divides the noise."""
    gap = (GAMMA / (GAMMA + T)) ** 4 * f.gap(r.x(0))
    noise = w.number(Fraction(56, 9)) * S * per_step / (mu**2 * (GAMMA + T))
    noise = noise * w.over_clients(n, a() ** 2 * sigma2())
    far = w.number(late) * S**2 * G2 / (mu**3 * (GAMMA + T) ** 2)
    if draws is not None:
        noise = (
            noise + w.number(Fraction(8, 3)) * S * G2 / (mu**2 * (GAMMA + T)) * draws
        )
    return says(f.gap(r.x(T)), gap + noise + far, *assumed(r))


def after(theorem: Theorem) -> Theorem:
    """Return a theorem on every round for the last one."""
    return rules.instantiate(theorem, ((t, T.value),), ())


TAU = PRINTED_STEPS[k.Side.CLIENT]
EQUAL_PERIODS = run(k.Kind.V1, TAU, TAU)
WEIGHTED = run(k.Kind.V2_WEIGHTED, TAU, TAU)
RECURSION = (
    r"With $u=1/(\gamma+t)$ and $\phi_t=\mathbb Ef(x^t)-f^*$: "
    r"$\phi_{t+1}\le(1-4u)\phi_t+Au^2+Bu^3$ by smoothness, polarisation, Young with "
    r"3/4, $2\mu\phi\le\|\nabla f\|^2$; by induction "
    r"$\phi_T\le(\frac\gamma{\gamma+T})^4\phi_0+\frac A{3(\gamma+T)}"
    r"+\frac B{2(\gamma+T)^2}$."
)
IMPLIED = f"{RECURSION} Every term of (11) is larger."


def own_rates(longer: k.Side) -> tuple[Part, Part]:
    """Return (11), then the sharper rate, for any periods and each side's own rate."""
    steps = dict(PRINTED_STEPS)
    (low,) = (number for side, number in steps.items() if side is not longer)
    steps[longer] = named(low + d, steps[longer].tex)
    client, server = steps[k.Side.CLIENT], steps[k.Side.SERVER]
    r, p = run(k.Kind.V1, client, server), OwnRates(longer)
    both = 1 / client + 1 / server
    return (
        Part(
            as_printed("3.6", r),
            Proof(partial(two_rates.printed, p), IMPLIED),
            LONGER[longer],
        ),
        Part(
            sharper(r, both, Fraction(32)),
            Proof(partial(two_rates.last, p), RECURSION),
            LONGER[longer],
        ),
    )


(CLIENT_PRINTED, CLIENT_SHARPER), (SERVER_PRINTED, SERVER_SHARPER) = map(
    own_rates, (k.Side.CLIENT, k.Side.SERVER)
)
THEOREM_36 = Repair(
    (
        Part(
            as_printed("3.6", EQUAL_PERIODS),
            Proof(lambda: after(strongly_convex.printed()), IMPLIED),
            r"$\tau=\tilde\tau$, where the printed rates are each side's own",
        ),
        CLIENT_PRINTED,
        SERVER_PRINTED,
        Part(
            sharper(EQUAL_PERIODS, 1 / TAU, Fraction(16, 3)),
            Proof(lambda: after(strongly_convex.rate()), RECURSION),
            r"$\tau=\tilde\tau$",
        ),
        CLIENT_SHARPER,
        SERVER_SHARPER,
    ),
    "equal periods; or, for any, each side's rate divided by its own number of steps",
)
THEOREM_37 = Repair(
    (
        Part(
            as_printed("3.7", run(k.Kind.V2, TAU, TAU), *EQUAL),
            Proof(
                visits_convex.printed,
                r"$\phi_t\le X/(\gamma+t)$ by induction, X the two first terms. While "
                r"$\gamma+t\le8N\kappa+1$ the server's rate is too large for descent, "
                r"but $2\mu\phi_t\le\|\nabla f(x^t)\|^2\le(1+S\eta N\tau)^2G^2$, for "
                r"every client's first step is near $x^t$. From then on $\phi_{t+1}\le"
                r"(1-4u)\phi_t+Au^2+Bu^3$ with the drift of all visits.",
            ),
        ),
        Part(
            sharper(WEIGHTED, 1 / TAU, Fraction(16)),
            Proof(lambda: after(strongly_convex.rate(k.Kind.V2_WEIGHTED)), RECURSION),
        ),
    ),
    "equal weights; or, for any weights and sharper, weighted server steps",
)


def drawn_model(order: tuple[tuple[int, int], ...] = ()) -> ModelData:
    """Return two clients, one drawn three times out of four, that stay in a box."""
    law = coin(0, "1/2")
    return federation(
        [parabola(1, (0, "1/2")), parabola(1, (0, "-1/2"))],
        ("1/2", "1/2"),
        noise=(law, law),
        participation=(1, "3/4"),
        order=order,
        rounds=1,
        numbers={mu: 1, excess: 0, s.tau: 1, T: 1, G2: 4},
        families={"sigma2": ("1/4", "1/4")},
        best={f: (0, 0)},
        box=((-1, 1), (-1, 1)),
    )


UPDATES = k.Participants.UPDATES
DRAWN = run(k.Kind.V1, TAU, TAU, UPDATES)
THEOREM_38 = Repair(
    (
        Part(
            as_printed("3.8", DRAWN),
            Proof(
                lambda: after(strongly_convex.printed(UPDATES)),
                f"{IMPLIED} The draws add at most "
                r"$\frac S2(\eta\tau)^2\sum_na_n^2(\frac1{q_n}-1)G^2$ to a round.",
                drawn_model,
            ),
            r"$\tau=\tilde\tau$, updates aggregated",
        ),
        Part(
            sharper(
                DRAWN,
                1 / TAU,
                Fraction(16, 3),
                w.over_clients(n, a() ** 2 * (w.inverse_chance(n) - 1)),
            ),
            Proof(
                lambda: after(strongly_convex.rate(k.Kind.V1, UPDATES)),
                RECURSION,
                drawn_model,
            ),
            r"$\tau=\tilde\tau$, updates aggregated",
        ),
    ),
    "equal periods",
)
THEOREM_39 = Repair(
    (
        Part(
            as_printed("3.9", run(k.Kind.V2, TAU, TAU, UPDATES), *EQUAL),
            Proof(
                drawn_convex.printed,
                r"As for (14), given the draws. With $J_n=I_n/q_n$ a round moves $x_s$ "
                r"by at most $(\eta\tau)^2G^2\,\mathbb E(\sum J_n)^2$ in mean square, "
                r"so the recursion needs no small rate; it is used from "
                r"$\gamma+t\ge4\kappa\sum1/q_n$ on.",
                lambda: drawn_model(((0, 0), (1, 0))),
            ),
            "updates aggregated",
        ),
    ),
    "equal weights",
)
REPAIRS = {
    "3.6": THEOREM_36,
    "3.7": THEOREM_37,
    "3.8": THEOREM_38,
    "3.9": THEOREM_39,
}
