"""Tables 3 and 4 of ``dachille2024``, with the numbers that the paper prints.

Setup (Tables 1, 2): E = 5, batch 64; SFL with Adam at 0.001, FedAvg with SGD at 0.01;
ResNet-18 for HAM10000 and CIFAR-10, ResNet-50 for the others. Printed are mean and
standard deviation of three runs of the best test accuracy over the rounds, which the
released code takes; ours is the last round's.
"""

from __future__ import annotations

from figures.figure import Curve, Departure, Figure, Options, Panel

Numbers = tuple[tuple[float, float], ...]
SETUP: Options = {"width": 1.0, "epochs": 5, "batch_size": 64, "momentum": 0.0}
FEDAVG: Options = {"algorithm": "fedavg", "optimizer": "sgd", "lr": 0.01}
SFL: Options = {"optimizer": "adam", "lr": 0.001}
ROWS = (
    ("FedAvg", FEDAVG),
    *((f"SFL-V1 ($L_c={c}$)", {**SFL, "algorithm": "sfl-v1", "cut": c})
      for c in (1, 2, 3, 4)),
    *((f"SFL-V2 ($L_c={c}$)", {**SFL, "algorithm": "sfl-v2", "cut": c})
      for c in (1, 2, 3, 4)),
)  # fmt: skip
SETTINGS: dict[str, Options] = {
    "HAM10000": {
        "dataset": "ham10000", "model": "resnet18", "clients": 100, "rounds": 100,
    },
    "CIFAR10": {
        "dataset": "cifar10", "model": "resnet18", "clients": 100, "rounds": 200,
    },
    "CIFAR100": {
        "dataset": "cifar100", "model": "resnet50", "clients": 100, "rounds": 300,
    },
    "TinyImageNet": {
        "dataset": "tiny-imagenet", "model": "resnet50", "clients": 10, "rounds": 300,
    },
}  # fmt: skip
IID: dict[str, Numbers] = {
    "CIFAR10": (
        (85.25, 0.07), (86.34, 0.37), (86.12, 0.46), (85.94, 0.36), (86.01, 0.45),
        (92.30, 0.15), (89.56, 0.15), (87.57, 0.34), (86.11, 0.36),
    ),
    "CIFAR100": (
        (48.48, 0.38), (49.56, 0.18), (50.28, 0.76), (49.29, 0.11), (46.59, 1.42),
        (56.00, 0.69), (45.93, 0.21), (41.29, 0.26), (45.98, 0.24),
    ),
    "TinyImageNet": (
        (47.49, 0.07), (48.73, 0.43), (49.26, 0.78), (49.11, 0.70), (48.11, 0.27),
        (54.77, 0.22), (50.86, 0.05), (44.15, 0.11), (43.85, 0.25),
    ),
}  # fmt: skip
NON_IID: dict[str, Numbers] = {
    "HAM10000": (
        (77.37, 0.35), (77.88, 0.13), (78.18, 0.67), (78.40, 0.66), (78.10, 0.83),
        (80.58, 0.35), (79.56, 0.88), (79.26, 0.54), (78.27, 0.65),
    ),
    "CIFAR10": (
        (67.59, 2.52), (66.38, 2.22), (65.64, 1.49), (65.36, 1.09), (64.51, 1.84),
        (67.58, 6.28), (59.98, 11.99), (61.73, 4.04), (69.45, 0.64),
    ),
    "CIFAR100": (
        (42.60, 1.18), (39.96, 0.84), (39.82, 0.63), (40.32, 0.88), (41.24, 1.18),
        (52.38, 0.97), (45.90, 1.08), (42.42, 0.99), (43.31, 1.17),
    ),
    "TinyImageNet": (
        (28.33, 0.28), (12.84, 0.73), (13.42, 0.60), (13.66, 0.97), (13.89, 1.00),
        (30.14, 8.58), (22.55, 2.28), (27.08, 1.48), (26.42, 1.52),
    ),
}  # fmt: skip

SKEWED = Departure(
    ("dataset", "partition"), "skewed by itself", {"dataset": "ham10000"}
)


def _table(number: int, title: str, printed: dict[str, Numbers], iid: bool) -> Figure:
    panels = []
    for name, numbers in printed.items():
        # HAM10000 is skewed by itself and not partitioned further.
        skewed = "iid" if name == "HAM10000" else "dirichlet:0.1"
        partition = "iid" if iid else skewed
        curves = tuple(
            Curve(label, options, number)
            for (label, options), number in zip(ROWS, numbers, strict=True)
        )
        options = {**SETTINGS[name], "partition": partition}
        panels.append(Panel("", ("dataset",), options, curves))
    return Figure(
        f"dachille2024/table-{number}",
        title,
        SETUP,
        tuple(panels),
        "table",
        (
            Departure((), "the paper's number is the best over the rounds"),
            Departure(("momentum",), "the paper names none", {"algorithm": "fedavg"}),
            Departure(("augmentation",), "the paper names none"),
            *(() if iid else (SKEWED,)),
        ),
    )


FIGURES = (
    _table(3, "Test accuracy on IID data", IID, iid=True),
    _table(4, "Test accuracy on non-IID data", NON_IID, iid=False),
)
