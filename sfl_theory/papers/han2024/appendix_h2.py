r"""Appendix H.2: Tables 2 and 3, and the two sentences below them.

All clients are equal, a_n = 1/N and sigma_n = sigma. Rows of other papers' methods
bound what these methods do; the tables do not repeat their assumptions and steps.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Model, Part, Says, Severity, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import Numbers, bare, coin, federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run
from sfl_theory.papers.han2024 import comparing as rows
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_h import theorems
from sfl_theory.papers.han2024.comparing import EQUAL, SIGMA2, SMOOTHER, K, compared
from sfl_theory.papers.han2024.printed import Data, F_err, I_err
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import any_step, derived, numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.notation import Uses, combine

STRONG, GENERAL, NON = "strongly_convex", "general_convex", "non_convex"
eta = w.positive("eta", r"\eta")
FUNCTION = k.NamedFunction("phi")
PHI = w.Function(FUNCTION, r"\phi")
OTHERS = (
    "The row is attributed to a theorem of another paper, whose assumptions and step "
    "sizes the table does not repeat. "
)
LATE = (
    OTHERS + "Read without any condition on T it fails: f = (S x_1^2 + S/2 x_2^2 + "
    "mu x_3^2)/2, x^0 = (1, 1, 0), N = tau = T = 1, no noise: the gap is at least S "
    "I_err/36 for every step (it is S I_err/4 times (1-u)^2 + (1-u/2)^2/2 >= 1/9, u = "
    "eta S), the row at most mu I_err. So some T >= S/mu, up to constants, must be "
    "meant; whether local steps with noise and heterogeneity then meet the row was "
    "neither proved nor refuted."
)


def open_row(table: int, name: str, title: str, words: str) -> Claim:
    """Return the claim on another paper's method, which nothing decides."""
    return Kind.TABLE(
        f"han2024/table-{table}/{name}",
        f"App. H, Table {table}",
        f"The row '{title}' is an upper bound of that method.",
        words=words,
    )


MINI_BATCH = open_row(
    2,
    "mini-batch-sgd",
    "Mini-Batch SGD [33]",
    OTHERS
    + "Without noise it holds for every T (steps 1/S). With noise a schedule has "
    "to reach both terms: sigma_* bounds the noise at x* only, so every sample's loss "
    "must be smooth and convex, and a round at 1/S contracts by 1 - mu/S, for N tau = "
    "1 no more (S x^2/2 with chance mu/S, else 0): exp(-mu T/S) needs all T rounds at "
    "that step, sigma_*^2/(mu N tau T) needs decreasing ones.",
)
FL_10 = open_row(2, "fl-10", "FL [10]", LATE)
SL_17 = open_row(2, "sl", "SL [17]", LATE)
SGD_STRONG = open_row(
    3,
    "sgd/strongly_convex",
    "Distributed SGD [12]",
    OTHERS
    + "Without noise it holds for every T (steps 1/S). With noise neither proved "
    "nor refuted: a schedule has to reach both terms. By hand it comes out for a "
    "weighted mean of the iterates: T/2 rounds at 1/S contract the squared distance by "
    "(1 - mu/S)^T, T/2 rounds at 2/(mu (4S/mu + t)) average the rest, and for "
    "T < S/(62 mu) a constant step does; a case distinction in T, an exponential and a "
    "step with a root stand between this and the rules.",
)


# FL [16] ---------------------------------------------------------------------------


def fl_16() -> Claim:
    """Return that the row "FL [16]" bounds FedAvg's gap."""
    r = s.run(k.Kind.V1, rates=w.rate(eta))
    d = replace(EQUAL, I_err=w.norm2(r.x(0) - s.best))
    own = w.every_client(n, w.variance(r, n, SIGMA2)).called("(6)")
    assumed = w.assumptions(
        s.assumption_31(), w.unbiased(r), own, w.independent(r), s.assumption_33(r),
        s.assumption_C2(), w.heterogeneity(w.number(0)).called("Gamma = 0"),
        s.minimum(), w.at_most(s.S * eta, 1), equal_weights(),
    )  # fmt: skip
    same = w.Written(w.number(0).value, r"\Gamma")
    row = rows.federated_16(d, same)

    def data() -> ModelData:
        c = Fraction(1, 10**6)
        values: Numbers = {
            s.S: 4 * c, s.mu: c, s.tau: 1, s.T: 1, SIGMA2: 0, s.G2: c**2,
            eta: 1 / (4 * c),
        }  # fmt: skip
        return federation(
            [parabola(c, [0, 0])] * 2,
            [1, 0],
            numbers=values,
            best={s.f: [0, 0]},
            box=[(0, 1), (0, 0)],
        )

    part = Part(
        says(s.f.gap(r.x(s.T)), K * row, *assumed),
        Model(
            data,
            r"Two clients with $F=\frac c2\|x\|^2$, $c=10^{-6}$, no noise, one round "
            r"at rate $1/S$: the gap is of order c, the row of order $c^2$.",
        ),
        "FedAvg is SFL-V1 at one number of steps; for every step 0 < eta <= 1/S; "
        "clients that differ in nothing, so Gamma = f* - sum F_n*/N = 0",
    )
    return Kind.TABLE(
        "han2024/table-2/fl-16",
        "App. H, Table 2",
        "The row 'FL [16]' bounds FedAvg's gap.",
        part,
        severity=Severity.SLIP,
        cause="mu tau + T adds a curvature to a number; S/(mu (tau + T)) was meant.",
        scope="at every step 0 < eta <= 1/S: table-2/fl-16/every-step",
    )


def equal_weights() -> tuple[Assumed, ...]:
    """Return a_n = 1/N."""
    return tuple(w.every_client(n, one) for one in w.equals(s.a(), 1 / N))


def fl_16_every_step() -> Claim:
    """Return that the row is too small at every step."""
    F, mu = PHI, s.mu
    r = Run(k.Descent(FUNCTION, w.rate(eta)), "GD")
    first, away = F.gradient(r.x(0)), r.x(0) - F.best
    d = Data(
        T=w.number(1), S=4 * mu, tau=w.number(1), sigma2=lambda _: w.number(0),
        I_err=w.norm2(away),
    )  # fmt: skip
    left = K * rows.federated_16(d, w.number(0))
    largest = w.at_most(4 * mu * eta, 1).called("eta <= 1/S")
    curved = w.at_most(80 * K * mu, 1)
    assumed = (
        w.smooth(F, mu), w.convex(F, mu), w.minimiser(F), largest, curved,
        w.at_most(s.G2, w.norm2(first)).called("G^2 is no larger than it has to be"),
    )  # fmt: skip
    statement = says(left, F.gap(r.x(1)), *assumed)

    def theorem() -> Theorem:
        m, u = mu.value, away.value
        grown = K * 4 * m / (1 + m)
        flat, g = F.gradient(F.best).value, first.value
        uses: Uses = [
            (any_step.short_step(FUNCTION, m, eta.value), 1),
            (rules.assume((w.norm2(first) - w.as_form(s.G2)).value), grown / m),
            (derived.lipschitz(FUNCTION, m, r.x(0).value,
                                     F.best.value), grown / m),
            (rules.stationary(FUNCTION, g), -2 * grown / m),
            (rules.stationary(FUNCTION, flat), grown / m),
        ]  # fmt: skip
        sign = rules.assume(k.constant(1 - 80 * K * m))
        rest = m / 4 - grown * 5 * m
        target = (F.gap(r.x(1)) - left).value
        least = combine((sign, m / (4 * (1 + m))), target=k.constant(rest))
        return combine(*uses, (u, rest), target=target, signs=[least])

    return Kind.TABLE(
        "han2024/table-2/fl-16/every-step",
        "App. H, Table 2",
        "At small curvature no step 0 < eta <= 1/S lets FedAvg meet K times the row "
        "'FL [16]'.",
        proved(
            statement,
            theorem,
            r"With Hessian $\mu=S/4$ a step at most $1/S$ leaves "
            r"$\frac34$ of the way: the gap stays $\ge\frac\mu4\|x^0-x^*\|^2$, the "
            r"row is at most $20\mu^2\|x^0-x^*\|^2$.",
            "one client, no noise, tau = T = 1: FedAvg is gradient descent; S = 4 mu",
            model=small_curvature,
        ),
    )


def small_curvature() -> ModelData:
    """Return a parabola of curvature 10^-5."""
    c = Fraction(1, 10**5)
    values: Numbers = {s.mu: c, eta: Fraction(1, 4) / c, s.G2: c**2}
    return federation(
        [parabola(0, [0, 0])],
        [1, 0],
        numbers=values,
        named={PHI: parabola(c, [0, 0])},
        best={PHI: [0, 0]},
    )


# The order in T --------------------------------------------------------------------

DECAYS = w.at_most(rows.decay * s.mu * s.T, s.S).called("u exp(-u) <= 1")
Row = Callable[[Data], Form]


def at_one(d: Data) -> Data:
    """Return the data at T = 1."""
    return replace(d, T=w.number(1))


def like_a_fraction(row: Row, grown: Callable[[Data], Number]) -> tuple[Part, Part]:
    """Return that T times a row grows from T = 1 on, by a factor at most."""

    def upper(d: Data) -> Says:
        return says(s.T * row(d), grown(d) * row(at_one(d)), SMOOTHER)

    def lower(d: Data) -> Says:
        return says(row(at_one(d)), s.T * row(d), SMOOTHER)

    return compared(upper, EQUAL), compared(lower, EQUAL)


def like_a_decay(
    row: Callable[[Data, Number], Form], noise: Number, factor: Number
) -> tuple[Part, Part]:
    """Return that T times a row is at most its value at T = 1, S/mu for the decay.

    It is at least its term with 1/T.
    """

    def upper(d: Data) -> Says:
        return says(s.T * row(d, rows.decay), row(at_one(d), d.S / d.mu), DECAYS)

    def lower(d: Data) -> Says:
        return says(noise / (d.mu * N * d.tau), s.T * row(d, rows.decay))

    def uses(_: Data, statement: Statement) -> Uses:
        (known,) = numbers.on(statement, rows.decay.value)
        return [(known, factor.value)]

    words = r"$\frac{\mu T}{S}e^{-\mu T/S}\le1$; then signs."
    reading = "for every number 0 <= decay <= S/(mu T), exp(-mu T/S) among them"
    return (
        compared(upper, EQUAL, uses, words, reading),
        compared(lower, EQUAL, reading=reading),
    )


def sfl_rows(number: str) -> tuple[Part, Part]:
    """Return the two inequalities for a row of SFL."""
    return like_a_fraction(
        lambda d: rows.strongly_convex(number, d).right, lambda d: (d.S + d.mu) / d.mu
    )


ORDER = Kind.TEXT(
    "han2024/text/app-H.2/order",
    "Sec. 3.3 and App. H.2, below Table 2",
    "The rates of Table 2 match in the order of T: T times a row lies between two "
    "constants, positive for sigma, sigma_* > 0.",
    *like_a_decay(rows.mini_batch_sgd, rows.star_noise, s.S * F_err / s.mu**2),
    *like_a_fraction(rows.federated_16, lambda d: d.mu * d.tau + 1),
    *like_a_decay(rows.federated_10, SIGMA2, I_err),
    *like_a_decay(rows.split_17, SIGMA2, I_err),
    *sfl_rows("3.6"),
    *sfl_rows("3.7"),
    uses="table-2/3.6/strongly_convex table-2/3.7/strongly_convex",
)


# Distributed SGD -------------------------------------------------------------------

DROPPED = (
    "sigma^2/(N T^2): a number of iterations sigma^2/(N e^2) inverted wrongly (1/T^2 "
    "for 1/sqrt(T))."
)


def sgd_run() -> Run:
    """Return distributed SGD: SFL-V1 with one local step at a constant rate."""
    pace = w.pace(1, w.rate(eta))
    return Run(k.Split(k.Kind.V1, k.Participants.EVERYONE, pace, pace), "SGD")


def mean_metric(r: Run, case: str) -> Form:
    """Return the mean over the rounds of the gap or of the squared gradient."""
    x = r.x(s.t)
    each = s.f.gap(x) if case == GENERAL else w.norm2(s.f.gradient(x))
    return 1 / s.T * w.below(s.t, s.T, each)


def sgd_data(r: Run) -> Data:
    """Return the data of the row, I_err and F_err of the run."""
    start = r.x(0)
    return replace(EQUAL, I_err=w.norm2(start - s.best), F_err=s.f.gap(start))


def sgd(case: str) -> Claim:
    """Return that the row of Distributed SGD bounds its mean over the rounds."""
    r = sgd_run()
    curved = (s.assumption_C2(0),) if case == GENERAL else ()
    own = w.every_client(n, w.variance(r, n, SIGMA2)).called("(6)")
    assumed = w.assumptions(
        s.assumption_31(), *curved, w.unbiased(r), own, w.independent(r),
        w.heterogeneity(w.number(0)).called("no heterogeneity"), s.minimum(),
        w.at_most(s.S * eta, 1), equal_weights(),
    )  # fmt: skip

    def data() -> ModelData:
        return federation(
            [parabola(1, [0, 0])],
            [Fraction(1, 100), 0],
            noise=[coin(0, 1)],
            rounds=1,
            numbers={s.S: 1, s.T: 2, SIGMA2: 1, eta: 1},
            best={s.f: [0, 0]},
        )

    part = Part(
        says(mean_metric(r, case), K * rows.sgd(case, sgd_data(r)), *assumed),
        Model(data, r"$F=\frac12\|x\|^2$ near its minimum, noise $\pm1$, one step."),
        "for every constant step 0 < eta <= 1/S; p = 1 and zeta = 0 (App. H.2)",
    )
    return Kind.TABLE(
        f"han2024/table-3/sgd/{case}",
        "App. H, Table 3",
        "The row 'Distributed SGD' bounds the mean over the rounds.",
        part,
        severity=Severity.THEOREM,
        cause=DROPPED,
        scope=f"at every constant step: table-3/sgd/{case}/every-step",
    )


def sgd_every_step(case: str) -> Claim:
    """Return that no constant step meets the row: it is too small by T/25."""
    r = sgd_run()
    Z = w.over_clients(n, s.a() * below_one(r))
    away = w.norm2(r.x(0) - s.best)
    exactly = (w.at_most(w.norm2(Z), 4 * s.T), w.at_most(4 * s.T, w.norm2(Z)))
    far = (w.at_most(away, 1), w.at_most(1, away))
    one = w.number(1)
    d = replace(sgd_data(r), S=one, sigma2=lambda _: 4 * s.T * N)
    assumed = w.assumptions(
        s.assumption_31(one), s.assumption_C2(one), w.unbiased(r), s.minimum(),
        (w.every_round(s.t, s.T, each) for each in exactly), far,
        w.at_most(eta, 2), w.at_most(2, s.T),
    )  # fmt: skip
    statement = says(s.T * rows.sgd(case, d), 25 * mean_metric(r, case), *assumed)

    def theorem() -> Theorem:
        row = statement.left.value
        return any_step.mean_metric(Round(r.split), s.T.value, row, case == NON)

    def data() -> ModelData:
        return federation(
            [parabola(1, [0, 0])],
            ["3/5", "4/5"],
            noise=[coin(2, 2)],
            rounds=2,
            numbers={s.T: 2, eta: "1/2"},
            best={s.f: [0, 0]},
        )

    words = (
        r"$v_{t+1}=(1-\eta)^2v_t+\eta^2\zeta$ for $v_t=\mathbb E\|x^t-x^*\|^2$, "
        r"$\zeta=4T$. Summed over t it gives $2\eta\sum v_t\ge v_0-v_T+T\eta^2\zeta$, "
        r"with weights t $\sum v_t\ge Tv_T-\frac{T(T+1)}2\eta^2\zeta$. Without $v_T$: "
        r"$\frac1T\sum v_t\ge\frac{1+2\eta^2T(T-1)}{1+2\eta T}\ge\frac25$."
    )
    return Kind.TABLE(
        f"han2024/table-3/sgd/{case}/every-step",
        "App. H, Table 3",
        "At every constant step 0 < eta <= 2/S the row 'Distributed SGD' is too small "
        "by a factor T/25.",
        proved(
            statement,
            theorem,
            words,
            "S = mu = 1, I_err = 1, sigma^2 = 4 T N: the mean of independent noises "
            "has second moment 4 T. Beyond 2/S one step alone leaves eta^2 4 T.",
            model=data,
        ),
    )


def below_one(r: Run) -> w.Vector:
    """Return the sum over the one local step of the noise."""
    return w.below(s.i, 1, r.xi(n, s.t, s.i))


SGD_ROWS = {case: (sgd(case), sgd_every_step(case)) for case in (GENERAL, NON)}


def same_rate() -> Claim:
    """Return that SFL's general convex rows are at most a constant times SGD's."""
    parts = []
    for number in ("3.6", "3.7"):
        r2, r3 = (w.nonnegative(f"r{j}", f"r_{j}") for j in (2, 3))
        row = rows.general_convex(number, EQUAL, r2, r3)
        right = K * rows.sgd(GENERAL, EQUAL)

        def data() -> ModelData:
            values: Numbers = {s.S: 1, s.T: 10**6, SIGMA2: 1, s.G2: 2, I_err: 1}
            return bare(2, values)

        words = r"$T^{-1/3}$ against $T^{-1}$: the ratio grows like $T^{2/3}$."
        reading = "r_2, r_3: any numbers below the roots of the row of SFL"
        claim = says(row.right, right, *row.below)
        parts.append(rows.broken(claim, data, words, reading, row))
    return Kind.TEXT(
        "han2024/text/app-H.2/same-rate",
        "App. H.2, below Table 3",
        "SFL shows the same convergence rate as distributed SGD: in Table 3 SFL's "
        "general convex rows are at most a constant times that of SGD.",
        *tuple(parts),
        severity=Severity.THEOREM,
        scope="for large T: the ratio grows like T^(2/3); in the other two cases the "
        "rows fall like 1/T on both sides",
        cause="The table's own rows: T^(-1/3) against T^(-1).",
        uses="table-3/sgd/general_convex",
    )


def of_sfl(case: str) -> tuple[Claim, ...]:
    """Return the two rows of SFL in Table 3."""
    return theorems(3, case, ("3.6", "3.7"))


CLAIMS = (
    MINI_BATCH,
    fl_16(),
    fl_16_every_step(),
    FL_10,
    SL_17,
    *theorems(2, STRONG, ("3.6", "3.7")),
    ORDER,
    SGD_STRONG,
    *of_sfl(STRONG),
    *SGD_ROWS[GENERAL],
    *of_sfl(GENERAL),
    *SGD_ROWS[NON],
    *of_sfl(NON),
    same_rate(),
)
