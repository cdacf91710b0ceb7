"""Figures 2-13 of ``han2024`` (Sec. 4 and App. I).

Setup (Sec. 4.1): ResNet-18, T = 200, learning rate 0.01, batch 128, and unless stated
otherwise N = 10, beta = 0.1, E = 5, tau = tau_server, Lc = 4. Momentum 0.9, weight
decay 5e-4 and augmentation are the released code's; the paper does not state them.
Algorithms are those of Algorithms 1 and 2, not of the released code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from figures.figure import Curve, Departure, Figure, Options, Panel

SETUP: Options = {
    "model": "resnet18",
    "width": 1.0,
    "partition": "dirichlet:0.1",
    "clients": 10,
    "rounds": 200,
    "epochs": 5,
    "batch_size": 128,
    "lr": 0.01,
    "momentum": 0.9,
    "weight_decay": 5e-4,
    "augmentation": "crop-flip",
    "cut": 4,
}
DEPARTURES = tuple(
    Departure((name,), "as in the released code, the paper names none")
    for name in ("momentum", "weight_decay", "augmentation")
)
VARIANTS = ("sfl-v1", "sfl-v2")
DATASETS = ("cifar10", "cifar100")
ALL = ("SFL-V1", "SFL-V2", "FL", "SL")
ALGORITHMS = {
    "SFL-V1": "sfl-v1",
    "SFL-V2": "sfl-v2",
    "FL": "fedavg",
    "SL": "sl",
    "FedProx": "fedprox",
    "FedOpt": "fedopt",
}


def _beta(beta: float) -> str:
    return "iid" if beta == float("inf") else f"dirichlet:{beta:g}"


def _four(curves: tuple[Curve, ...], quantity: str) -> tuple[Panel, ...]:
    """Return the panels (a)-(d): both variants on both data sets."""
    return tuple(
        Panel(
            letter,
            ("algorithm", "dataset"),
            {"algorithm": algorithm, "dataset": dataset},
            curves,
            quantity,
        )
        for letter, (algorithm, dataset) in zip(
            "abcd", [(v, d) for d in DATASETS for v in VARIANTS], strict=True
        )
    )


def _each(
    label: Callable[[object], str], option: str, values: Iterable[object]
) -> tuple[Curve, ...]:
    return tuple(Curve(label(value), {option: value}) for value in values)


CUTS = _each(lambda c: f"$L_c={c}$", "cut", (1, 2, 3, 4))
BETAS = tuple(
    Curve(rf"$\beta={'∞' if b == float('inf') else f'{b:g}'}$", {"partition": _beta(b)})
    for b in (0.1, 0.5, 1.0, float("inf"))
)
RATES = _each(lambda q: f"$q={q:g}$", "participation", (0.2, 0.5, 1.0))
EPOCHS = _each(lambda e: f"$E={e}$", "epochs", (2, 5, 10))


def _methods(names: Iterable[str]) -> tuple[Curve, ...]:
    return tuple(Curve(name, {"algorithm": ALGORITHMS[name]}) for name in names)


def _compared(letter: str, beta: float, clients: int, names: Iterable[str]) -> Panel:
    return Panel(
        letter,
        ("partition", "clients"),
        {"dataset": "cifar10", "partition": _beta(beta), "clients": clients},
        _methods(names),
    )


def _figure(
    number: int, title: str, panels: tuple[Panel, ...], *readings: Departure
) -> Figure:
    departures = (*DEPARTURES, *readings)
    return Figure(f"han2024/fig-{number}", title, SETUP, panels, "figure", departures)


FIGURES = (
    _figure(2, "Impact of the choice of cut layer", _four(CUTS, "test_accuracy")),
    _figure(3, "Impact of data heterogeneity", _four(BETAS, "test_accuracy")),
    _figure(4, "Impact of client participation", _four(RATES, "test_accuracy")),
    _figure(
        5,
        "Performance comparison",
        (
            _compared("a", 0.5, 10, ALL),
            _compared("b", 0.1, 10, ALL),
            _compared("c", 0.1, 50, ALL),
            _compared("d", 0.1, 100, ALL),
        ),
    ),
    _figure(
        6,
        "Comparison with FedProx and FedOpt",
        (
            _compared("a", 0.1, 10, ALGORITHMS),
            _compared("b", 0.1, 100, ALGORITHMS),
        ),
        *(
            Departure((name,), "the paper names none", {"algorithm": algorithm})
            for algorithm, name in (
                ("fedprox", "proximal"),
                ("fedopt", "fedopt"),
                ("fedopt", "fedopt_lr"),
            )
        ),
    ),
    _figure(7, "Impact of local iteration", _four(EPOCHS, "test_accuracy")),
    _figure(8, "Impact of the cut layer, training loss", _four(CUTS, "train_loss")),
    _figure(9, "Impact of the cut layer, test loss", _four(CUTS, "test_loss")),
    _figure(10, "Impact of heterogeneity, training loss", _four(BETAS, "train_loss")),
    _figure(
        11,
        "Impact of participation, training loss",
        _four(RATES, "train_loss"),
        Departure(
            (), "a round without participants keeps the training loss of the one before"
        ),
    ),
    _figure(
        12,
        "Gradient divergence by cut layer",
        tuple(
            Panel(
                letter,
                ("algorithm",),
                {"algorithm": algorithm, "dataset": "cifar10"},
                CUTS,
                "epsilon2",
            )
            for letter, algorithm in zip("ab", VARIANTS, strict=True)
        ),
        Departure(
            (), "epsilon² of Assumption 3.4 on the client side, as no scale is named"
        ),
        Departure(("dataset",), "the text names none"),
    ),
    Figure(
        "han2024/fig-13",
        "SFL-V1, SFL-V2 and FL on a further data set",
        {**SETUP, "dataset": "femnist", "partition": "natural", "rounds": 500},
        (
            Panel(
                "",
                ("dataset", "partition", "clients"),
                {"clients": 100},
                _methods(("SFL-V1", "SFL-V2", "FL")),
            ),
        ),
        "figure",
        (
            *DEPARTURES,
            Departure(("partition", "clients"), "the first writers of LEAF's files"),
        ),
    ),
)
