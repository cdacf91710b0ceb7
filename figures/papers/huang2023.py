"""Figures 2-14 of ``huang2023`` (main text and supplement).

Setup (supplement): E = 5, batch 32, learning rate 0.01 for every algorithm, ResNet-18
or the 4-layer CNN, non-IID ratios r, T = 60 as the figures' axes show. Where the
extracted text does not name the ratio of a panel, the ratios of Sec. VI are used in
their order.
"""

from __future__ import annotations

from figures.figure import Curve, Departure, Figure, Options, Panel

SETUP: Options = {
    "model": "resnet18",
    "width": 1.0,
    "dataset": "cifar10",
    "clients": 10,
    "rounds": 60,
    "epochs": 5,
    "batch_size": 32,
    "lr": 0.01,
    "momentum": 0.0,
    "algorithm": "minibatch-sfl",
    "cut": 2,
}
RATIOS = (0.0, 0.5, 0.8, 0.9, 0.95)
CUTS = tuple(Curve(f"$L_c={c}$", {"cut": c}) for c in (1, 2, 3, 4))
CNN_CUTS = CUTS[:2]
METHODS = tuple(
    Curve(label, {"algorithm": name})
    for label, name in (
        ("MiniBatch-SFL", "minibatch-sfl"),
        ("FL", "fedavg"),
        ("SFL-V2", "sfl-v2"),
        ("CL", "centralized"),
    )
)
NONE_NAMED = "the text names none"
READINGS = (
    Departure(("rounds",), "as the axes of Figs. 12-13 show"),
    *(
        Departure((name,), NONE_NAMED)
        for name in ("momentum", "weight_decay", "augmentation")
    ),
)
HIGHEST = Departure((), "(f)-(h) have the three highest ratios, the text names none")
FIG_3 = Departure(("partition",), "which the text calls highly non-IID")
THREE = Departure((), "r = 0 and 0.5 beside 0.9, the only one that can be read")
FMNIST: Options = {"dataset": "fashion-mnist"}


def _ratio(r: float) -> Options:
    return {"partition": f"blocks:{r:g}"}


def _panels(
    ratios: tuple[float, ...],
    curves: tuple[Curve, ...],
    quantity: str = "test_accuracy",
    more: Options | None = None,
    first: str = "a",
    shows: tuple[str, ...] = ("partition",),
) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            chr(ord(first) + k),
            shows,
            {**_ratio(r), **(more or {})},
            curves,
            quantity,
        )
        for k, r in enumerate(ratios)
    )


def _figure(
    number: int,
    title: str,
    panels: tuple[Panel, ...],
    more: Options | None = None,
    *readings: Departure,
    shows: tuple[str, ...] = (),
) -> Figure:
    options = {**SETUP, **(more or {})}
    departures = (*READINGS, *readings)
    key = f"huang2023/fig-{number}"
    return Figure(key, title, options, panels, "figure", departures, None, shows)


DATA = ("dataset", "partition")
LARGE: Options = {"clients": 100, "cut": 4}
CNN: Options = {"model": "cnn", "cut": 1}
HIGH = (0.0, 0.5, 0.9)
COMPARED = "Comparison of methods"
COMPARED_FURTHER = f"{COMPARED} on further data"
N = ("clients",)

FIGURES = (
    _figure(
        2,
        "Impact of cut layer under different non-IID ratios",
        (
            *_panels(RATIOS, CUTS, shows=DATA),
            *_panels((0.8, 0.9, 0.95), CUTS, more=FMNIST, first="f", shows=DATA),
        ),
        None,
        HIGHEST,
    ),
    _figure(
        3,
        "Impact of cut layer on average gradient variance",
        (
            *_panels((0.95,), CUTS, "variance_at_client", None, "a", DATA),
            *_panels((0.95,), CUTS, "variance_across_clients", None, "b", DATA),
            *_panels((0.95,), CUTS, "variance_at_client", FMNIST, "c", DATA),
            *_panels((0.95,), CUTS, "variance_across_clients", FMNIST, "d", DATA),
        ),
        None,
        FIG_3,
    ),
    _figure(4, f"{COMPARED}, accuracy", _panels(RATIOS, METHODS), shows=N),
    _figure(5, f"{COMPARED}, accuracy", _panels(RATIOS, METHODS), LARGE, shows=N),
    _figure(6, "4-layer CNN, test loss", _panels(RATIOS, CNN_CUTS, "test_loss"), CNN),
    _figure(7, "4-layer CNN, accuracy", _panels(RATIOS, CNN_CUTS), CNN),
    _figure(8, "Impact of cut layer, test loss", _panels(RATIOS, CUTS, "test_loss")),
    _figure(
        9, f"{COMPARED}, test loss", _panels(RATIOS, METHODS, "test_loss"), shows=N
    ),
    _figure(
        10,
        f"{COMPARED}, test loss",
        _panels(RATIOS, METHODS, "test_loss"),
        LARGE,
        shows=N,
    ),
    _figure(
        11,
        "Impact of cut layer on further data",
        (
            *_panels((0.0,), CUTS, "test_loss", first="a"),
            *_panels((0.0,), CUTS, first="b"),
            *_panels((0.5,), CUTS, "test_loss", first="c"),
            *_panels((0.5,), CUTS, first="d"),
        ),
        FMNIST,
    ),
    _figure(
        12,
        f"{COMPARED_FURTHER}, test loss",
        _panels(HIGH, METHODS, "test_loss"),
        FMNIST,
        THREE,
        shows=N,
    ),
    _figure(
        13,
        f"{COMPARED_FURTHER}, accuracy",
        _panels(HIGH, METHODS),
        FMNIST,
        THREE,
        shows=N,
    ),
    _figure(
        14,
        f"{COMPARED_FURTHER}, test loss and accuracy",
        (
            *_panels(HIGH, METHODS, "test_loss"),
            *_panels(HIGH, METHODS, first="d"),
        ),
        {**FMNIST, **LARGE},
        THREE,
        shows=N,
    ),
)
