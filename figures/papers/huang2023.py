"""Figures 2-14 of ``huang2023`` (main text and supplement).

Setup (supplement): E = 5, batch 32, learning rate 0.01 for every algorithm, ResNet-18
or the 4-layer CNN, non-IID ratios r, T = 60 as the figures' axes show. Where the
extracted text does not name the ratio of a panel, the ratios of Sec. VI are used in
their order.
"""

from __future__ import annotations

from figures.figure import Curve, Figure, Options, Panel

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
READINGS = (
    "60 rounds, as the axes of Figs. 12-13 show, where the text has no number",
    "no momentum, weight decay or augmentation, as the text names none",
)
HIGHEST = "(f)-(h) the three highest ratios, which the text does not name"
FIG_3 = "r = 0.95, which the text calls highly non-IID"
THREE = "r = 0 and 0.5 beside 0.9, the only one that can be read"
FMNIST: Options = {"dataset": "fashion-mnist"}


def _ratio(r: float) -> Options:
    return {"partition": f"blocks:{r:g}"}


def _panels(
    ratios: tuple[float, ...],
    curves: tuple[Curve, ...],
    quantity: str = "test_accuracy",
    more: Options | None = None,
    first: str = "a",
    where: str = "",
) -> tuple[Panel, ...]:
    return tuple(
        Panel(
            f"({chr(ord(first) + k)}) {where}$r={r:g}$",
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
    *readings: str,
) -> Figure:
    options = {**SETUP, **(more or {})}
    departures = (*READINGS, *readings)
    return Figure(
        f"huang2023/fig-{number}", title, options, panels, "figure", departures
    )


LARGE: Options = {"clients": 100, "cut": 4}
CNN: Options = {"model": "cnn", "cut": 1}
HIGH = (0.0, 0.5, 0.9)

FIGURES = (
    _figure(
        2,
        "Impact of cut layer under different non-IID ratios",
        (
            *_panels(RATIOS, CUTS, where="CIFAR-10, "),
            *_panels((0.8, 0.9, 0.95), CUTS, more=FMNIST, first="f", where="FMNIST, "),
        ),
        None,
        HIGHEST,
    ),
    _figure(
        3,
        "Impact of cut layer on average gradient variance",
        (
            *_panels((0.95,), CUTS, "variance_at_client", None, "a", "CIFAR-10, "),
            *_panels((0.95,), CUTS, "variance_across_clients", None, "b", "CIFAR-10, "),
            *_panels((0.95,), CUTS, "variance_at_client", FMNIST, "c", "FMNIST, "),
            *_panels((0.95,), CUTS, "variance_across_clients", FMNIST, "d", "FMNIST, "),
        ),
        None,
        FIG_3,
    ),
    _figure(4, "Comparison with N = 10 on CIFAR-10", _panels(RATIOS, METHODS)),
    _figure(5, "Comparison with N = 100 on CIFAR-10", _panels(RATIOS, METHODS), LARGE),
    _figure(6, "4-layer CNN, test loss", _panels(RATIOS, CNN_CUTS, "test_loss"), CNN),
    _figure(7, "4-layer CNN, accuracy", _panels(RATIOS, CNN_CUTS), CNN),
    _figure(8, "Impact of cut layer, test loss", _panels(RATIOS, CUTS, "test_loss")),
    _figure(9, "Comparison, N = 10, test loss", _panels(RATIOS, METHODS, "test_loss")),
    _figure(
        10,
        "Comparison, N = 100, test loss",
        _panels(RATIOS, METHODS, "test_loss"),
        LARGE,
    ),
    _figure(
        11,
        "Impact of cut layer, FMNIST, N = 10",
        (
            *_panels((0.0,), CUTS, "test_loss", first="a", where="loss, "),
            *_panels((0.0,), CUTS, first="b", where="accuracy, "),
            *_panels((0.5,), CUTS, "test_loss", first="c", where="loss, "),
            *_panels((0.5,), CUTS, first="d", where="accuracy, "),
        ),
        FMNIST,
    ),
    _figure(
        12,
        "Comparison, N = 10, FMNIST, test loss",
        _panels(HIGH, METHODS, "test_loss"),
        FMNIST,
        THREE,
    ),
    _figure(13, "Comparison, N = 10, FMNIST", _panels(HIGH, METHODS), FMNIST, THREE),
    _figure(
        14,
        "Comparison, N = 100, FMNIST",
        (
            *_panels(HIGH, METHODS, "test_loss", where="loss, "),
            *_panels(HIGH, METHODS, first="d", where="accuracy, "),
        ),
        {**FMNIST, **LARGE},
        THREE,
    ),
)
