r"""Appendix H.1, Table 1 and the builders of rows; H.3, overheads, Table 4.

"Absolute constants omitted" is read as: up to a factor of K = 1000. There is one
standard for all rows: each is tested as an upper bound of the theorem's right side (the
caption), and, where it is one, as its rate for equal weights (``/tight``).
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from sfl_theory import evidence
from sfl_theory.evidence import Claim, Kind, Part, Says, Severity, equal, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.hypotheses import Holds
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import Numbers, bare, federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Exact, Form, Number
from sfl_theory.papers.han2024 import comparing as rows
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import EQUAL, SIGMA2, SMOOTHER, K, compared
from sfl_theory.papers.han2024.printed import CASES, Data, F_err, I_err, partial, shared
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses, combine

PACES: tuple[Number, ...] = (s.tau, s.tau_server, printed.tau_min)
HALF = Fraction(1, 2)
READING = {
    1: "performance upper bound (caption), for all weights; sigma_n = sigma",
    2: "performance upper bound (caption); a_n = 1/N, sigma_n = sigma (App. H.2)",
    3: "performance upper bound (caption); a_n = 1/N, sigma_n = sigma (App. H.2)",
}


def one_period(d: Data) -> Data:
    r"""Return the data for :math:`\tilde\tau=\tau`."""
    return replace(d, tau_server=d.tau, tau_min=d.tau, tau_max=d.tau)


def of_table(table: int) -> Data:
    """Return what a table supposes of clients."""
    return rows.ONE_SIGMA if table == 1 else EQUAL


def weighed(
    number: str, d: Data, weights: Number, chances: Number
) -> list[tuple[Theorem, Ratio]]:
    """Return sum a^2 <= 1 and sum a^2/q <= Q with factors; none for equal weights."""
    if d.a is EQUAL.a:
        return []
    uses = [(numbers.squared_weights(), weights.value)]
    if partial(number):
        uses.append((numbers.inverse_chances(), chances.value))
    return [(theorem, factor) for theorem, factor in uses if factor]


def noise(d: Data) -> Number:
    r"""Return :math:`2\sigma^2+G^2`."""
    return 2 * d.sigma2(n) + d.G2


def claim(
    table: int,
    number: str,
    case: str,
    part: Part,
    cause: str = "",
    scope: str = "",
    words: str = "",
    repair: evidence.Repair | None = None,
) -> Claim:
    """Return the claim that a row is an upper bound; refuted if there is a cause."""
    return Kind.TABLE(
        f"han2024/table-{table}/{number}/{case}",
        f"App. H, Table {table}",
        f"The row of Theorem {number} bounds its right side up to a constant.",
        part,
        severity=Severity.THEOREM if cause else None,
        scope=scope,
        cause=cause,
        words=words,
        uses=f"thm-{number}/{case}",
        repair=repair,
    )


# Strongly convex rows --------------------------------------------------------------


def strongly_convex(table: int, number: str) -> Claim:
    """Return that the row is an upper bound of (11), (14), (17) or (20)."""

    def uses(d: Data, _: Statement) -> Uses:
        factor = 8 * d.S * N / (d.mu**2 * (d.gamma + d.T))
        return weighed(number, d, factor * noise(d), factor * d.G2)

    def build(d: Data) -> Says:
        row = rows.strongly_convex(number, d).right
        return says(printed.strongly_convex(number, d).right, K * row, SMOOTHER)

    words = (
        r"$\sum a_n^2\le1$, $\sum a_n^2/q_n\le Q$ and "
        r"$\frac{S}{\mu}+T\le\gamma+T$; then every term has a sign."
    )
    part = compared(build, of_table(table), uses, words, READING[table])
    given = (
        ""
        if number == "3.7"
        else "For a_n = 1/N it gives away a factor, see "
        f"table-1/{number}/strongly_convex/tight."
    )
    return claim(table, number, "strongly_convex", part, words=given)


CLIENTS = {"3.6": 13_100, "3.8": 200, "3.9": 1_600}
GIVEN_AWAY = {
    "3.6": "N: N sum a_n^2 is 1 for equal weights, the row has N",
    "3.8": "N in the noise and N^2 in the term with Q",
    "3.9": "N in the term with Q",
}


def tight(number: str) -> Claim:
    """Return that the row is the theorem's rate for equal weights."""

    def build(d: Data) -> Says:
        row = rows.strongly_convex(number, d).right
        return says(row, K * printed.strongly_convex(number, d).right, SMOOTHER)

    def data() -> ModelData:
        size = CLIENTS[number]
        some = [HALF] * size if partial(number) else ()
        values: Numbers = {
            s.mu: 1,
            s.S: 10**4,
            s.T: 1,
            SIGMA2: 0,
            s.G2: 10**6,
            I_err: 1,
        }
        return bare(size, values, participation=some)

    reading = "a_n = 1/N, sigma_n = sigma; the row is at most K times the right side"
    given = GIVEN_AWAY.get(number, "")
    part = (
        rows.broken(
            build(EQUAL), data, "Many clients: the ratio grows with N.", reading
        )
        if given
        else compared(build, EQUAL, reading=reading)
    )
    return Kind.TABLE(
        f"han2024/table-1/{number}/strongly_convex/tight",
        "App. H, Tables 1-3" if not partial(number) else "App. H, Table 1",
        "The row is the theorem's rate for equal weights, not only larger than it.",
        part,
        severity=Severity.CONSTANT if given else None,
        cause=f"The row gives away {given}." if given else "",
        scope="for a_n = 1/N" if given else "",
        words="The caption speaks of upper bounds, which the rows are: "
        f"table-1/{number}/strongly_convex."
        + " Those of SFL-V2 are relaxed (Table 2)."
        * shared(number),
        uses=f"thm-{number}/strongly_convex",
        repair=repaired("without the factors of N", *_rate(number)) if given else None,
    )


def _rate(number: str) -> tuple[Part, ...]:
    def above(d: Data) -> Says:
        bound = printed.strongly_convex(number, d).right
        return says(bound, K * rows.rate(number, d), SMOOTHER)

    def below(d: Data) -> Says:
        bound = printed.strongly_convex(number, d).right
        return says(rows.rate(number, d), K * bound, SMOOTHER)

    return compared(above, EQUAL), compared(below, EQUAL)


# General convex rows ---------------------------------------------------------------

FAR = 10**12


def general_convex(table: int, number: str) -> Claim:
    """Return that the row bounds (12), (15), (18) or (21): I_err is missing."""
    d = of_table(table)
    bound, row = (
        rows.smaller(number, "general_convex", d),
        rows.row(number, CASES[1], d),
    )
    paces = () if shared(number) else w.minimum(d.tau_min, d.tau, d.tau_server)

    def data() -> ModelData:
        values: Numbers = {
            s.S: 1, s.T: 10**18, SIGMA2: HALF, s.G2: HALF, I_err: FAR,
        }  # fmt: skip
        if not shared(number):
            values.update(dict.fromkeys(PACES, 1))
        return bare(2, values)

    part = rows.broken(
        says(bound.right, K * row.right, *bound.below, *row.above, *paces),
        data,
        r"$I_{err}=10^{12}$, $T=10^{18}$, two equal clients: the cube root of the "
        r"theorem has $I_{err}$, that of the row has not; the ratio grows like "
        r"$I_{err}^{1/3}$.",
        f"{READING[table]}; r_2, r_3 are any numbers below the roots of the theorem, "
        "c_2, c_3 any above those of the row",
        bound,
        row,
    )
    return claim(
        table, number, "general_convex", part,
        "The row drops I_err from the roots (and S from the cube root).",
        "for large I_err: the ratio grows like I_err^(1/3)",
        repair=repaired("I_err and S stay under the roots, for "
        "tau_server = tau where there are two (else (tau^2 + tau_server^2)/tau_min^2 "
        "is no constant)", _scaled(number, d)),
    )  # fmt: skip


def _scaled(number: str, d: Data) -> Part:
    c2, c3 = (w.positive(f"c{k}", f"c_{k}") for k in (2, 3))

    def build(d: Data) -> Says:
        bound = rows.smaller(number, "general_convex", d)
        row = rows.scaled(number, d, c2, c3)
        return says(bound.right, K * row.right, *bound.below, *row.above)

    def uses(d: Data, statement: Statement) -> Uses:
        factor = (1 if shared(number) else 2) * N * I_err / (d.T + 1)
        second = weighed(number, d, factor * noise(d), factor * d.G2)
        bound = rows.smaller(number, "general_convex", d)
        row = rows.scaled(number, d, c2, c3)
        found = rows.roots_of(statement, bound, row, (2, 5), (second, ()))
        return [(one, HALF) for one in found]

    words = (
        r"$r_2\le2c_2$, $r_3\le5c_3$: the radicands compare up to $4$ and $96\le5^3$."
    )
    return compared(build, one_period(d), uses, words)


# Non-convex rows -------------------------------------------------------------------


def non_convex(table: int, number: str) -> Claim:
    """Return that the row bounds (13), (16), (19) or (22): the rate is missing."""
    d = of_table(table)
    row = rows.non_convex(number, d).right
    rate = s.eta(s.t)
    conditions = [
        w.every_round(s.t, d.T, one)
        for one in printed.admitted(number, "non_convex", d, rate)
    ]
    if not shared(number):
        conditions += w.minimum(d.tau_min, d.tau, d.tau_server)
        conditions += w.maximum(d.tau_max, d.tau, d.tau_server)

    def data() -> ModelData:
        values: Numbers = {
            s.S: Fraction(1, 100), s.T: 200, SIGMA2: 1, s.eps2: 1, F_err: 1, s.tau: 1,
        }  # fmt: skip
        if not shared(number):
            values.update(dict.fromkeys((*PACES, printed.tau_max), 1))
        some = [HALF, HALF] if partial(number) else ()
        step = Fraction(25, 8) if shared(number) else Fraction(25, 4)
        return bare(2, values, participation=some, rates={"eta": step})

    part = rows.broken(
        says(printed.non_convex(number, d).right, K * row, *conditions),
        data,
        "Two equal clients, a constant rate: the second term of the theorem does not "
        "fall with T, the row does; the ratio grows like T.",
        f"{READING[table]}; for all admitted rates, constant ones among them",
    )
    return claim(
        table, number, "non_convex", part,
        "The row drops the learning rate: the theorem's second term does not fall with "
        "T.",
        "for constant rates: the ratio grows like T",
        repair=repaired("sum_t (eta^t)^2 and tau stay, for "
        "tau_server = tau where there are two", _with_rates(number, d)),
    )  # fmt: skip


def _with_rates(number: str, d: Data) -> Part:
    def build(d: Data) -> Says:
        right: Form = K * rows.with_rates(number, d)
        return says(printed.non_convex(number, d).right, right)

    def uses(d: Data, _: Statement) -> Uses:
        period = d.tau if shared(number) else 2 * d.tau
        factor = 8 * N * d.S * period / d.T * (d.sigma2(n) + d.eps2) * d.squares
        if d.a is EQUAL.a:
            return ()
        known = numbers.inverse_chances() if partial(number) else None
        return [(known or numbers.squared_weights(), factor.value)]

    words = r"$\sum a_n^2\le1$ or $\sum a_n^2/q_n\le Q$; then signs."
    return compared(build, one_period(d), uses, words)


def theorems(table: int, case: str, of: tuple[str, ...]) -> tuple[Claim, ...]:
    """Return the claims on a table's rows of some theorems, one case."""
    build = dict(zip(CASES, (strongly_convex, general_convex, non_convex), strict=True))
    return tuple(build[case](table, number) for number in of)


TABLE_1 = tuple(
    one
    for of in (printed.NUMBERS[:2], printed.NUMBERS[2:])
    for case in CASES
    for one in theorems(1, case, of)
)

# Appendix H.3: overheads, Table 4 ----------------------------------------------------

K_TWO, D, tau, b = w.count("K"), w.count("D"), w.count("tau", r"\tau"), w.count("b")
v, W = w.positive("v"), w.positive("W", "|W|")
r, R = w.positive("r"), w.positive("R")
T_fb = w.positive("T_fb", "T_{fb}")
T_fedavg = w.positive("T_fedavg", "T_{fedavg}")


@dataclass(frozen=True)
class Row:
    """A row as printed; `serial` where clients exchange one after another.

    Attributes:
        method: "FL", "SL", "SFL-V1" or "SFL-V2".
        per_client: communication of a client in a round.
        total: that of all clients.
        time: time of a round.
        aggregation: its last part.
        serial: whether the clients exchange one after another.
    """

    method: str
    per_client: Number
    total: Number
    time: Number
    aggregation: Number | Exact
    serial: bool = False


def split_row(method: str, samples: Number, model: Number, last: Number | None) -> Row:
    """Return a row of split learning, from two terms of its time."""
    time = T_fb + samples + model
    return Row(
        method,
        2 * D / K_TWO * v + 2 * r * W,
        2 * D * v + 2 * r * K_TWO * W,
        time if last is None else time + last,
        last if last is not None else 0,
        serial=last is None,
    )


parallel = 2 * D * v / (R * K_TWO), 2 * r * W / R
TABLE = (
    Row("FL", 2 * W, 2 * K_TWO * W, T_fb + 2 * W / R + T_fedavg, T_fedavg),
    split_row("SL", 2 * D * v / R, 2 * r * W * K_TWO / R, None),
    split_row("SFL-V1", *parallel, T_fedavg),
    split_row("SFL-V2", *parallel, T_fedavg / 2),
)
"""Table 4."""
_, _, V1, V2 = TABLE


VALUES: dict[str | Number, Exact | str] = {
    K_TWO: 2, D: 12, tau: 3, b: 2, v: 5, W: 7, r: "1/3", R: 4, T_fb: 1, T_fedavg: "1/2",
}  # fmt: skip
"""An example: 12 samples of two clients."""


def proved(one: Says, reading: str = "", factor: Number | Exact = 0) -> Part:
    """Return what follows by arithmetic, with `factor` times the first assumption."""
    room = one.right.value - one.left.value

    def theorem() -> Theorem:
        forms = [h.value.form for h in one.assumed if isinstance(h.value, Holds)]
        uses = [(rules.assume(form), w.number(factor).value) for form in forms[:1]]
        return combine(*uses, target=room)

    def model() -> ModelData:
        free = one.left.value.free | one.right.value.free
        free = free.union(*(h.value.free for h in one.assumed))
        numbers: dict[str | Number, Exact | str] = {
            name: c
            for name, c in VALUES.items()
            if not isinstance(name, str) and w.variable(name) in free
        }
        return federation([parabola(1, [0, 0])], [0, 0], numbers=numbers)

    return Part(one, evidence.Proof(theorem, "", model), reading)


TOTAL = Kind.TABLE(
    "han2024/table-4/total",
    "App. H.3, Table 4",
    "Total communication is K times that of a client.",
    *tuple(
        proved(equal(row.total, K_TWO * row.per_client), row.method) for row in TABLE
    ),
    scope="for every row",
)


def expected(row: Row) -> Number:
    """Return the time that follows from communication at rate R."""
    sent = row.total if row.serial else row.per_client
    return T_fb + sent / R + row.aggregation


TIME = Kind.TABLE(
    "han2024/table-4/time",
    "App. H.3, Table 4",
    "Times are computation, communication at rate R and aggregation.",
    *tuple(proved(equal(row.time, expected(row)), row.method) for row in TABLE),
    scope="for clients in parallel; in SL one after another and without aggregation",
    uses="table-4/total",
)

ORDER = Kind.TEXT(
    "han2024/table-4/order",
    "App. H.3",
    "SFL-V2's time is less than SFL-V1's.",
    proved(says(V2.time + T_fedavg / 2, V1.time), "less by half an aggregation"),
    scope="for every K; 'as K escalates, the cost tends to rise' ranks methods: the "
    "SFL rows themselves do not rise with K at fixed D",
)

exchanged = 2 * tau * b * v + 2 * r * W
one_pass = w.equals(D, K_TWO * tau * b)
COMMUNICATION = Kind.TABLE(
    "han2024/table-4/communication",
    "App. H.3, Table 4, against Algorithms 1 and 2",
    "Communication per client is what a client exchanges in a round that makes one "
    "pass over its data.",
    proved(
        says(exchanged, V1.per_client, *reversed(one_pass)),
        "tau iterations of b samples, activations and their gradients, the "
        "client's model down and up",
        2 * v / K_TWO,
    ),
    proved(says(V1.per_client, exchanged, *one_pass), "and not less", 2 * v / K_TWO),
    scope="for one pass; with the E = 5 passes of Sec. 4.1 the first term is E times "
    "as large",
)

AGGREGATION = Kind.TABLE(
    "han2024/table-4/aggregation",
    "App. H.3, Table 4",
    "SFL-V2's aggregation, of the client's share r |W| only, takes T_fedavg/2.",
    words="Open: it depends on the cost model, which the paper does not state: with "
    "time proportional to the size it takes r T_fedavg, at most the entry if and only "
    "if r <= 1/2.",
)

CLAIMS = (
    *TABLE_1,
    *map(tight, printed.NUMBERS),
    TOTAL,
    TIME,
    ORDER,
    COMMUNICATION,
    AGGREGATION,
)
