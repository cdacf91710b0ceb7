"""The repaired convex cases: what their algorithms share, strongly convex repairs.

The algorithms, their constants c_1 (of a move) and c_d (of the drift), and models.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Kind, Part, Says, meeting, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_e import EQUAL
from sfl_theory.papers.han2024.setting import G2, T, a, f, mu, n, sigma2, tau
from sfl_theory.papers.han2024.two_periods import LONGER, PRINTED_STEPS, d
from sfl_theory.proofs import (
    mean_way,
    sharp_rates,
    strongly_convex,
    value_recursion,
    visits_convex,
)
from sfl_theory.proofs.convex_paces import Paces
from sfl_theory.proofs.export import ModelData, Vector
from sfl_theory.proofs.local_steps import t
from sfl_theory.proofs.value_recursion import OwnRates
from sfl_theory.proofs.weighted_rounds import Weighted
from sfl_theory.proofs.witness import IDENTITY

S_REPAIRED = s.steep
gamma = printed.Data(S=S_REPAIRED).gamma
third = Fraction(1, 3)
inverse = w.inverse_chance(n)
more = w.over_clients(n, a() ** 2 * (inverse - 1))
mean_inverse = w.over_clients(n, a() * inverse)
mean_square = w.over_clients(n, a() ** 2 * inverse**2)
SECOND = {
    "3.6": w.number(1),
    "3.7": w.number(1),
    "3.8": 1 + more,
    "3.9": mean_inverse + mean_square / 7,
}
"""c_1: of the second moment of a round's move."""
DRIFT = {
    "3.6": w.number(third),
    "3.7": w.number(Fraction(1, 2)),
    "3.8": w.number(third),
    "3.9": third + mean_inverse + mean_square,
}
"""c_d: of the drift."""
SHARP_SECOND = SECOND | {"3.9": 1 + more}
skew = w.over_clients(n, a() ** 3 * (inverse - 1) ** 2)
SHARP_DRIFT = DRIFT | {"3.9": 1 + Fraction(3, 2) * more + skew / 2}
"""The same, drawn visits by their whole weight."""
WEIGHTED_RUNS = (
    "server steps weighted by a_n: for a_n = 1/N the printed algorithm with the "
    "server's rate divided by N"
)
EQUAL_STEPS = "equal numbers of steps"


def times(number: Number | int, constant: Number) -> Number:
    """Return a product; a constant that is 1 is not written."""
    one = w.number(number)
    return one if not constant.value - 1 else one * constant


@dataclass(frozen=True)
class Algorithm:
    """What a repair is about.

    Attributes:
        number: of the theorem.
        longer: the side of SFL-V1 that makes d steps more; None: equal numbers.
    """

    number: str
    longer: Side | None = None

    @property
    def paces(self) -> Paces:
        """SFL-V1 in the proofs' terms."""
        return Paces(self.longer or Side.SERVER, printed.partial(self.number))

    @property
    def weighted(self) -> Weighted:
        """Equal numbers of steps in the proofs' terms."""
        kind = k.Kind.V2_WEIGHTED if printed.shared(self.number) else k.Kind.V1
        return Weighted(kind, printed.partial(self.number))

    def steps(self, side: Side) -> Number:
        """Return a side's number of steps."""
        if self.longer is None:
            return tau
        low, tex = (
            (tau, r"\tilde{\tau}")
            if self.longer is Side.SERVER
            else (s.tau_server, r"\tau")
        )
        return w.called(low + d, tex) if side is self.longer else low

    @property
    def unequal(self) -> Number:
        """1 - tau_min/tau_max."""
        if self.longer is None:
            return w.number(0)
        short = Side.CLIENT if self.longer is Side.SERVER else Side.SERVER
        return 1 - self.steps(short) / self.steps(self.longer)

    def run(self, rate: Callable[[Side], k.Rate]) -> Run:
        """Return the run at these rates."""
        partial_ = printed.partial(self.number)
        who = k.Participants.UPDATES if partial_ else k.Participants.EVERYONE
        client, server = (
            w.pace(self.steps(side), rate(side)) for side in (Side.CLIENT, Side.SERVER)
        )
        kind = self.weighted.kind
        return Run(k.Split(kind, who, client, server), f"SFL-{kind}")

    def assumed(
        self, r: Run, smooth: Number, modulus: Number | int
    ) -> tuple[Assumed, ...]:
        """Return what is assumed."""
        drawn = [w.participation(r)] if printed.partial(self.number) else []
        return (
            s.assumption_31(smooth),
            w.unbiased(r).called("Assumption 3.2, (5)"),
            s.assumption_33(r),
            s.assumption_C2(modulus),
            s.minimum(),
            *drawn,
        )

    @property
    def reading(self) -> str:
        """How the algorithm is read."""
        if printed.shared(self.number):
            return WEIGHTED_RUNS
        return EQUAL_STEPS if self.longer is None else LONGER[self.longer]


@dataclass(frozen=True)
class Line:
    """A proved line: the algorithm, its run, and the part of the repair."""

    algorithm: Algorithm
    run: Run
    part: Part


Named = dict[str, tuple[Line, ...]]


def orders(number: str) -> tuple[Algorithm, ...]:
    """Return SFL-V1 by which side makes more steps."""
    return tuple(Algorithm(number, side) for side in Side)


def example(one: Algorithm, what: Says) -> ModelData:
    """Return the standard witness; with S = 4 mu where S >= mu: rates are smaller.

    Drawn clients stay in its box; with a side that makes more steps than one, that
    side's block rests and the other one moves.
    """
    model = meeting(what, s=3)()
    if one.longer is None or not printed.partial(one.number):
        return model

    def along(moves: Fraction, rests: Fraction = Fraction(0)) -> Vector:
        return (moves, rests) if one.longer is Side.SERVER else (rests, moves)

    half, wide = Fraction(1, 2), (-Fraction(1), Fraction(1))
    still = (Fraction(0), Fraction(0))
    law = tuple((half, along(z), along(z)) for z in (half, -half))
    return replace(
        model,
        start=along(half),
        functions=tuple((IDENTITY, along(z), ()) for z in (-half, half)),
        noise=(law, law),
        box=(wide, still) if one.longer is Side.SERVER else (still, wide),
    )


# What is true of the strongly convex cases of Theorems 3.6 and 3.7, (11) and (14) ----

S, GAMMA = s.steep, printed.Data(S=s.steep).gamma


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
    own = [s.assumption_31(S), *s.assumption_32(r), s.assumption_33(r)]
    draws = [w.participation(r)] if r.split.drawn else []
    return [*own, s.assumption_C2(mu), s.minimum(), *draws]


def as_printed(number: str, r: Run, *more: Assumed) -> Says:
    """Return (11) or (14) for a run."""
    data = printed.Data(S=S, I_err=w.norm2(r.x(0) - f.best))
    right = printed.bound(number, "strongly_convex", data).named
    return says(f.gap(r.x(T)), right, *assumed(r), *more)


def sharper(
    r: Run, per_step: Number, late: Fraction, draws: Number | None = None
) -> Says:
    """Return the rate in which every term is smaller; `per_step` divides the noise."""
    gap = (GAMMA / (GAMMA + T)) ** 4 * f.gap(r.x(0))
    noise = w.number(Fraction(56, 9)) * S * per_step / (mu**2 * (GAMMA + T))
    noise = noise * w.over_clients(n, a() ** 2 * sigma2())
    far = w.number(late) * S**2 * G2 / (mu**3 * (GAMMA + T) ** 2)
    right: dict[str, w.Side] = {"initial gap": gap, "gradient noise": noise}
    if draws is not None:
        drawn = w.number(Fraction(8, 3)) * S * G2 / (mu**2 * (GAMMA + T)) * draws
        right["participation"] = drawn
    return says(f.gap(r.x(T)), right | {"client drift": far}, *assumed(r))


def of_visits(r: Run) -> Says:
    """Return the rate for visits in any order."""
    late, lost = GAMMA + T, (1 - mu / S) * (1 - 1 / TAU) * (2 - 1 / TAU) / 20
    kept = falling(GAMMA) / falling(late)

    def since(power: int) -> Number:
        """Return ``1/s^p`` less what is left of it since round 0."""
        return 1 / late**power - kept / GAMMA**power

    noise = w.number(Fraction(56, 9)) * S / (mu**2 * TAU)
    noise = noise * w.over_clients(n, a() ** 2 * sigma2()) * since(1)
    far = 4 * S**2 * G2 / mu**3
    far = far * ((1 + lost) * since(2) + 4 * S / mu * (4 - 3 * lost) * since(3))
    right: dict[str, w.Side] = {
        "initial gap": kept * f.gap(r.x(0)),
        "gradient noise": noise,
        "client drift": w.as_form(far),
    }
    return says(f.gap(r.x(T)), right, *assumed(r))


def falling(at: Number) -> Number:
    """Return what 1 - 4/s divides a product by, from s to s + 1."""
    return (at - 1) * (at - 2) * (at - 3) * (at - 4)


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
ALONG_MEAN_WAY = (
    r"A gradient changes along $y=p-x^t$ by $\frac{S+\mu}2y$ and at most "
    r"$\frac{S-\mu}2\|y\|$ else, so the squared mean of the changes is at most "
    r"$\frac{S(S+\mu)}2$ times that of their mean and $\frac{S(S-\mu)}2$ times the "
    r"mean of $\|y\|^2$. Less half the round's way, the mean of y and the server's y "
    r"weigh every gradient by at most "
    r"$\frac12$ in any order, so of $(\eta\tau)^2G^2$ drift has $\frac14+\frac{1-\mu/S}"
    r"{80}(1-\frac1\tau)(2-\frac1\tau)$, seen from $x^t$ instead $\frac12$. The share "
    r"$1-\frac{7S}{\mu(\gamma+t)}$ of the former leaves noise its $\frac{56}9$. Then "
    r"$\phi_{t+1}\le(1-4u)\phi_t+Au^2+Bu^3+Cu^4$, $u=1/(\gamma+t)$."
)
IMPLIED = f"{RECURSION} Every term of (11) is larger."


def own_rates(longer: k.Side) -> Line:
    """Return the sharper rate for any periods and each side's own rate."""
    steps = dict(PRINTED_STEPS)
    (low,) = (number for side, number in steps.items() if side is not longer)
    steps[longer] = w.called(low + d, steps[longer].tex)
    client, server = steps[k.Side.CLIENT], steps[k.Side.SERVER]
    r = run(k.Kind.V1, client, server)
    return Line(
        Algorithm("3.6", longer),
        r,
        proved(
            sharper(r, 1 / client + 1 / server, Fraction(32)),
            partial(value_recursion.last, OwnRates(longer)),
            RECURSION,
            LONGER[longer],
        ),
    )


CLIENT_SHARPER, SERVER_SHARPER = map(own_rates, (k.Side.CLIENT, k.Side.SERVER))


UPDATES = k.Participants.UPDATES
DRAWN = run(k.Kind.V1, TAU, TAU, UPDATES)
SHARPER_DRAWN = sharper(DRAWN, 1 / TAU, Fraction(16, 3), more)
PRINTED_DRAWN = as_printed("3.8", DRAWN)
PRINTED_VISITS = as_printed("3.9", run(k.Kind.V2, TAU, TAU, UPDATES), *EQUAL)
LAST_MODEL: dict[str, dict[str, Line]] = {
    "3.6": {
        "last_model": Line(
            Algorithm("3.6"),
            EQUAL_PERIODS,
            proved(
                sharper(EQUAL_PERIODS, 1 / TAU, Fraction(16, 3)),
                lambda: after(strongly_convex.rate()),
                RECURSION,
                r"$\tau=\tilde\tau$",
            ),
        ),
    },
    "3.7": {
        "last_model": Line(
            Algorithm("3.7"),
            WEIGHTED,
            proved(of_visits(WEIGHTED), lambda: after(mean_way.rate()), ALONG_MEAN_WAY),
        )
    },
    "3.8": {
        "last_model": Line(
            Algorithm("3.8"),
            DRAWN,
            proved(
                SHARPER_DRAWN,
                lambda: after(strongly_convex.rate(k.Kind.V1, UPDATES)),
                RECURSION,
                r"$\tau=\tilde\tau$, updates aggregated",
                model=meeting(SHARPER_DRAWN, s=3),
            ),
        )
    },
}
"""Theorem -> the name of a bound -> the rate in which every term is smaller."""
THEOREM_36 = repaired(
    "equal periods; or, for any, each side's rate divided by its own number of steps",
    proved(
        as_printed("3.6", EQUAL_PERIODS),
        lambda: after(strongly_convex.printed()),
        IMPLIED,
        r"$\tau=\tilde\tau$, where the printed rates are each side's own",
    ),
    LAST_MODEL["3.6"]["last_model"].part,
    CLIENT_SHARPER.part,
    SERVER_SHARPER.part,
)
THEOREM_37 = repaired(
    "equal weights; or, for any weights and sharper, weighted server steps",
    proved(
        as_printed("3.7", run(k.Kind.V2, TAU, TAU), *EQUAL),
        partial(visits_convex.printed, k.Participants.EVERYONE),
        r"$\phi_t\le X/(\gamma+t)$ by induction, X the two first terms. While "
        r"$\gamma+t\le4N\kappa+1$ the server's rate is too large for descent, "
        r"but $2\mu\phi_t\le\|\nabla f(x^t)\|^2\le2(1+(S\eta N\tau)^2)G^2$, "
        r"for every client's first step is near $x^t$. From then on "
        r"$\phi_{t+1}\le(1-4u)\phi_t+Au^2+Bu^3$ with the drift of all visits.",
    ),
    LAST_MODEL["3.7"]["last_model"].part,
)


THEOREM_38 = repaired(
    "equal periods",
    proved(
        PRINTED_DRAWN,
        lambda: after(strongly_convex.printed(UPDATES)),
        f"{IMPLIED} The draws add at most "
        r"$\frac S2(\eta\tau)^2\sum_na_n^2(\frac1{q_n}-1)G^2$ to a round.",
        r"$\tau=\tilde\tau$, updates aggregated",
        model=meeting(PRINTED_DRAWN, s=3),
    ),
    LAST_MODEL["3.8"]["last_model"].part,
)
THEOREM_39 = repaired(
    "equal weights",
    proved(
        PRINTED_VISITS,
        partial(visits_convex.printed, UPDATES),
        r"As for (14), given the draws. With $J_n=I_n/q_n$ a round moves $x_s$ "
        r"by at most $(\eta\tau)^2G^2\,\mathbb E(\sum J_n)^2$ in mean square, "
        r"so the recursion needs no small rate; it is used from "
        r"$\gamma+t\ge4\kappa\sum1/q_n$ on.",
        "updates aggregated",
        model=meeting(PRINTED_VISITS, s=3),
    ),
)
REPAIRS = {"3.6": THEOREM_36, "3.7": THEOREM_37, "3.8": THEOREM_38, "3.9": THEOREM_39}

# Theorem 3.9: the last model where clients of SFL-V2 are drawn ------------------------
# With server steps weighted by a_n and bounded gradients: what draws add to a round's
# squared move is rho = sum_n a_n^2 (1/q_n - 1), as in (17); drift falls like 1/T^2.

VISITS, VISITED = run(k.Kind.V2_WEIGHTED, TAU, TAU, UPDATES), Algorithm("3.9")


def of_drawn_visits() -> Says:
    """Return the bound on the last model's gap."""
    late = GAMMA + T
    draws = w.number(Fraction(8, 3)) * S * G2 * (1 + more) / (mu**2 * late)
    far = 16 * S**2 * G2 / (mu**3 * late**2) * SHARP_DRIFT["3.9"]
    right: w.Terms = {
        "initial gap": (GAMMA / late) ** 4 * f.gap(VISITS.x(0)),
        "participation": w.as_form(draws),
        "client drift": w.as_form(far),
    }
    return says(f.gap(VISITS.x(T)), right, *VISITED.assumed(VISITS, S, mu))


BY_DRAWS = (
    f"{RECURSION} With $J_n=I_n/q_n$ and $W=\\sum a_nJ_n$ a round's squared move is at "
    r"most $(\eta\tau)^2G^2\,\mathbb EW^2=(\eta\tau)^2G^2(1+\rho)$, and its drift "
    r"has $\frac12(\mathbb EW+\mathbb EW^3)$, $\mathbb EW^3=1+3\rho+\sum a_n^3"
    r"(\frac1{q_n}-1)(\frac1{q_n}-2)$."
)
DRAWN_VISITS = of_drawn_visits()
LAST_DRAWN = Line(
    VISITED,
    VISITS,
    proved(
        DRAWN_VISITS,
        lambda: after(sharp_rates.bounded_strongly_convex()),
        BY_DRAWS,
        f"{VISITED.reading}; updates aggregated",
        model=meeting(DRAWN_VISITS, s=3),
    ),
)
LAST_MODEL["3.9"] = {"last_model": LAST_DRAWN}
CLAIMS = (
    Kind.THEOREM(
        "han2024/thm-3.9/strongly_convex/last-model",
        "not in the paper",
        "The gap of the last model, drift like 1/T^2.",
        LAST_DRAWN.part,
        scope="for weighted server steps, updates aggregated",
    ),
)
