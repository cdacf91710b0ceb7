r"""Tables 1-4 of ``han2024`` (App. H): rates and overheads, which need no training.

Table 4 is beside what the trainer counts for ResNet-18 on CIFAR-10, in bytes.
"""

from __future__ import annotations

from functools import cache, partial
from typing import TYPE_CHECKING, Any

import sympy as sp

from figures.figure import Figure
from figures.sheet import Row, Sheet
from sfl_theory.papers.baselines import TABLE_4, T_fedavg, W, rate_table
from sfl_theory.symbols import latex

if TYPE_CHECKING:
    from sfl_train.deep.algorithms.run import Report
    from sfl_train.deep.costs import Costs
    from sfl_train.deep.flat import FlatModel
    from sfl_train.deep.models.network import Network

CLIENTS, SAMPLES = 10, 50_000
"""K and D of Table 4's numbers: the setup of Sec. 4.1 on CIFAR-10."""
SHAPE = (3, 32, 32)
CUTS = (1, 2, 3, 4)
CASES = {
    "strongly_convex": "strongly convex",
    "general_convex": "general convex",
    "non_convex": "non-convex",
}
NAMES = {W: r"\lvert W\rvert", T_fedavg: r"T_{\mathrm{fedavg}}"}
OMITTED = (
    r"rates as printed, with $Q=\sum_n1/q_n$; absolute constants and logarithms are "
    "omitted"
)
TITLES = {
    1: "Upper bounds for different objectives",
    2: "Upper bounds for strongly convex objectives, full participation",
    3: "Upper bounds beside distributed SGD, full participation",
    4: "Communication and computation of FL, SL and SFL",
}


def rates(number: int) -> Sheet:
    """Return Table 1, 2 or 3.

    Args:
        number: of the table.

    Returns:
        The rates as printed; what fails a check of units is a note.
    """
    rows: list[Row] = []
    wrong: dict[str, list[str]] = {}
    for row in rate_table(number):
        for finding in row.findings:
            methods = wrong.setdefault(f"{CASES[row.case]}: {finding.words}", [])
            if row.method not in methods:
                methods.append(row.method)
        rows.append((
            row.method + (" (see notes)" if row.findings else ""),
            CASES[row.case],
            row.participation,
            f"${latex(row.written)}$",
        ))
    return Sheet(
        f"han2024, Table {number}. {TITLES[number]}",
        ("method", "case", "participation", "bound"),
        tuple(rows),
        notes=(
            OMITTED,
            *(f"{' and '.join(names)}, {words}" for words, names in wrong.items()),
        ),
    )


def overheads() -> Sheet:
    """Return Table 4 with the bytes of an epoch as it counts them and as we do.

    Returns:
        Formulas, and per cut the bytes of all clients in an epoch.
    """
    rows: list[Row] = []
    records = []
    for row in TABLE_4:
        cells = []
        for cut in CUTS:
            values, counted = _bytes(row.method, cut)
            printed = row.evaluate(values | {"R": 1.0, "T_fb": 0.0, "T_fedavg": 0.0})
            cells.append(f"{printed['total'] / 1e9:.2f} / {counted / 1e9:.2f}")
            records.append({
                "method": row.method,
                "cut": cut,
                "v_bytes": values["v"],
                "W_bytes": values["W"],
                "r": f"{values['r']:.6f}",
                "printed_per_client_bytes": round(printed["per_client"]),
                "printed_total_bytes": round(printed["total"]),
                "counted_total_bytes": counted,
            })
        formulas = (row.per_client, row.total, row.time)
        rows.append((row.method, *(f"${_formula(part)}$" for part in formulas), *cells))
    return Sheet(
        f"han2024, Table 4. {TITLES[4]}",
        (
            "method", "per client", "all clients", "time of a round",
            *(f"$L_c={cut}$" for cut in CUTS),
        ),
        tuple(rows),
        (("printed formula", 3), ("printed / counted by the trainer, GB", len(CUTS))),
        (
            f"numbers: ResNet-18 on CIFAR-10, K = {CLIENTS} clients with D = {SAMPLES} "
            "samples in all, one epoch, float32; both directions together",
            r"$\lvert W\rvert$ and v are those of the trainer's network; labels and "
            "BatchNorm's buffers, which the table leaves out, are not counted",
        ),
        tuple(records),
    )  # fmt: skip


def _formula(expr: Any) -> str:
    """Return LaTeX whose bars end no cell of a Markdown table."""
    return str(sp.latex(expr, symbol_names=NAMES))


def _bytes(method: str, cut: int) -> tuple[dict[str, Any], int]:
    """Return the symbols of Table 4 at a cut and the bytes that the trainer counts.

    Args:
        method: of a row.
        cut: $L_c$.

    Returns:
        Values of K, D, v, W and r, and bytes up and down of all clients.
    """
    whole, split = _costs(None), _costs(cut)
    values = {
        "K": CLIENTS,
        "D": SAMPLES,
        "v": split.features,
        "W": whole.model,
        "r": split.model / whole.model,
    }
    counted = (whole if method == "FL" else split).round(_epoch())
    return values, counted["bytes_up"] + counted["bytes_down"]


def _epoch() -> Report:
    # PyTorch takes seconds, which only who wants this table waits for.
    import torch

    from sfl_train.deep.algorithms.run import Contribution, Report

    share = SAMPLES // CLIENTS
    return Report(
        torch.zeros(()), tuple(Contribution(n, 0, share) for n in range(CLIENTS))
    )


@cache
def _costs(cut: int | None) -> Costs:
    from sfl_train.deep.costs import costs

    network, model = _resnet18()
    return costs(model, None if cut is None else network.cut(cut), SHAPE)


@cache
def _resnet18() -> tuple[Network, FlatModel]:
    from sfl_train.deep.flat import FlatModel
    from sfl_train.deep.models.named import build

    network = build("resnet18", SHAPE[0], 10, SHAPE[1])
    return network, FlatModel(network.blocks)


FIGURES = (
    *(
        Figure(
            f"han2024/table-{number}",
            TITLES[number],
            {},
            (),
            "table",
            theory=partial(rates, number),
        )
        for number in (1, 2, 3)
    ),
    Figure("han2024/table-4", TITLES[4], {}, (), "table", theory=overheads),
)
