"""Appendix H.3: overheads, Table 4."""

from __future__ import annotations

from dataclasses import dataclass

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Proof, Says, equal, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.hypotheses import Holds
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import federation, parabola
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Exact, Number

K, D, tau, b = w.count("K"), w.count("D"), w.count("tau", r"\tau"), w.count("b")
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
        2 * D / K * v + 2 * r * W,
        2 * D * v + 2 * r * K * W,
        time if last is None else time + last,
        last if last is not None else 0,
        serial=last is None,
    )


parallel = 2 * D * v / (R * K), 2 * r * W / R
TABLE = (
    Row("FL", 2 * W, 2 * K * W, T_fb + 2 * W / R + T_fedavg, T_fedavg),
    split_row("SL", 2 * D * v / R, 2 * r * W * K / R, None),
    split_row("SFL-V1", *parallel, T_fedavg),
    split_row("SFL-V2", *parallel, T_fedavg / 2),
)
"""Table 4."""
_, _, V1, V2 = TABLE


VALUES: dict[str | Number, Exact | str] = {
    K: 2, D: 12, tau: 3, b: 2, v: 5, W: 7, r: "1/3", R: 4, T_fb: 1, T_fedavg: "1/2",
}  # fmt: skip
"""An example: 12 samples of two clients."""


def proved(one: Says, reading: str = "", factor: Number | Exact = 0) -> Part:
    """Return what follows by arithmetic, with `factor` times the first assumption."""
    room = one.right.value - one.left.value

    def theorem() -> Theorem:
        forms = [h.value.form for h in one.assumed if isinstance(h.value, Holds)]
        uses = [(rules.assume(form), w.number(factor).value) for form in forms[:1]]
        return combine(uses, target=room)

    def model() -> ModelData:
        free = one.left.value.free | one.right.value.free
        free = free.union(*(h.value.free for h in one.assumed))
        numbers: dict[str | Number, Exact | str] = {
            name: c
            for name, c in VALUES.items()
            if not isinstance(name, str) and w.variable(name) in free
        }
        return federation([parabola(1, [0, 0])], [0, 0], numbers=numbers)

    return Part(one, Proof(theorem, "", model), reading)


TOTAL = Claim(
    "han2024/table-4/total",
    "App. H.3, Table 4",
    Kind.TABLE,
    "Total communication is K times that of a client.",
    tuple(proved(equal(row.total, K * row.per_client), row.method) for row in TABLE),
    scope="every row",
)


def expected(row: Row) -> Number:
    """Return the time that follows from communication at rate R."""
    sent = row.total if row.serial else row.per_client
    return T_fb + sent / R + row.aggregation


TIME = Claim(
    "han2024/table-4/time",
    "App. H.3, Table 4",
    Kind.TABLE,
    "Times are computation, communication at rate R and aggregation.",
    tuple(proved(equal(row.time, expected(row)), row.method) for row in TABLE),
    scope="clients in parallel; in SL one after another and without aggregation",
    uses="table-4/total",
)

ORDER = Claim(
    "han2024/table-4/order",
    "App. H.3",
    Kind.TEXT,
    "SFL-V2's time is less than SFL-V1's.",
    (proved(says(V2.time + T_fedavg / 2, V1.time), "less by half an aggregation"),),
    scope="for every K; 'as K escalates, the cost tends to rise' ranks methods: the "
    "SFL rows themselves do not rise with K at fixed D",
)

exchanged = 2 * tau * b * v + 2 * r * W
one_pass = w.equals(D, K * tau * b)
COMMUNICATION = Claim(
    "han2024/table-4/communication",
    "App. H.3, Table 4, against Algorithms 1 and 2",
    Kind.TABLE,
    "Communication per client is what a client exchanges in a round that makes one "
    "pass over its data.",
    (
        proved(
            says(exchanged, V1.per_client, *reversed(one_pass)),
            "tau iterations of b samples, activations and their gradients, the "
            "client's model down and up",
            2 * v / K,
        ),
        proved(says(V1.per_client, exchanged, *one_pass), "and not less", 2 * v / K),
    ),
    scope="with the E = 5 passes of Sec. 4.1 the first term is E times as large",
)

AGGREGATION = Claim(
    "han2024/table-4/aggregation",
    "App. H.3, Table 4",
    Kind.TABLE,
    "SFL-V2's aggregation, of the client's share r |W| only, takes T_fedavg/2.",
    words="Open: it depends on the cost model, which the paper does not state: with "
    "time proportional to the size it takes r T_fedavg, at most the entry if and only "
    "if r <= 1/2.",
)

CLAIMS = (TOTAL, TIME, ORDER, COMMUNICATION, AGGREGATION)
