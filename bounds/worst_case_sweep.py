"""``bounds.worst_case --sweep eta-server=0.01:1:30``: worst cases over step sizes."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from pathlib import Path

from bounds.worst_case import METRICS, described, outward, placed, shown, worst
from sfl_theory.worst_case.setting import Setting


@dataclass(frozen=True)
class Sampled:
    """A worst case at a step size.

    Attributes:
        eta: the step size that varies.
        value: the worst case in float64.
        upper: the certified bound, rounded up, if there is one.
        contracts: whether the certified bound is below the start's value, if it says
            the same metric; None: undecided.
    """

    eta: Fraction
    value: float
    upper: float | None
    contracts: bool | None


def sweep(
    options: argparse.Namespace,
    asked: Setting,
    name: str,
    values: Sequence[Fraction],
    show: Callable[[str], None],
) -> int:
    """Compute, print and draw the worst cases over a range of step sizes.

    Args:
        options: of the command.
        asked: the setting with its other step sizes.
        name: "eta", "eta-client" or "eta-server".
        values: of the step size that varies.
        show: shows progress.

    Returns:
        The exit status.
    """
    found = []
    for k, eta in enumerate(values, 1):
        place = f"{name} {float(eta):.3g} ({k} of {len(values)}): "
        found.append(
            sampled(
                options,
                at(asked, name, eta),
                eta,
                lambda text, place=place: show(place + text),
            )
        )
    best = min(found, key=lambda one: one.value)
    print(described(at(asked, name, best.eta)))
    print(f"worst {METRICS[asked.metric, asked.reading]} over {name}:")
    for one in found:
        proof = ""
        if one.upper is not None:
            proof = f"  certified <= {shown(Fraction(one.upper), up=True, digits=8)}"
        mark = "  <- best" if one is best else ""
        print(f"  {float(one.eta):<10.4g} {one.value:<14.8g}{proof}{mark}")
    if asked.metric == asked.start == "distance":
        print(_regions(name, found))
    if options.json:
        record = {
            "sweep": name,
            "best": float(best.eta),
            "points": [
                {
                    "eta": float(one.eta),
                    "value": one.value,
                    "upper": one.upper,
                    "contracts": one.contracts,
                }
                for one in found
            ],
        }
        placed(options.json).write_text(json.dumps(record, indent=2) + "\n")
    if options.out:
        draw(placed(options.out), asked, name, found, best)
    return 1 if options.certify and any(one.upper is None for one in found) else 0


def at(asked: Setting, name: str, eta: Fraction) -> Setting:
    """Return the setting with one side's or both sides' constant step size.

    Args:
        asked: the setting.
        name: "eta", "eta-client" or "eta-server".
        eta: the step size.

    Returns:
        The setting.
    """
    rates = (eta,) * asked.rounds
    sides = {
        "eta": {"client_steps": rates, "server_steps": rates},
        "eta-client": {"client_steps": rates},
        "eta-server": {"server_steps": rates},
    }
    return replace(asked, **sides[name])


def sampled(
    options: argparse.Namespace,
    asked: Setting,
    eta: Fraction,
    show: Callable[[str], None],
) -> Sampled:
    """Return the worst case at a step size.

    Args:
        options: of the command.
        asked: the setting.
        eta: its step size.
        show: shows progress.

    Returns:
        The sample; with a start and a metric of distances it says whether a run
        contracts: certified below the start, or reached above it by an instance.
    """
    found = worst(options, asked, show)
    contracts = None
    if asked.metric == asked.start == "distance":
        if found.upper is not None and found.upper < asked.initial:
            contracts = True
        elif found.lower is not None and found.lower >= asked.initial:
            contracts = False
    upper = None if found.upper is None else outward(found.upper, up=True)
    return Sampled(eta, found.value, upper, contracts)


def _regions(name: str, found: Sequence[Sampled]) -> str:
    words = {True: "contracts", False: "does not", None: "undecided"}
    parts = []
    for verdict, text in words.items():
        here = [f"{float(one.eta):.3g}" for one in found if one.contracts is verdict]
        if here:
            parts.append(f"{text} at {name} = {', '.join(here)}")
    return "; ".join(parts)


def draw(
    path: Path, asked: Setting, name: str, found: Sequence[Sampled], best: Sampled
) -> None:
    """Draw the curve.

    Args:
        path: of the picture.
        asked: the setting.
        name: what varies.
        found: the samples.
        best: the least of them.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(figsize=(6, 4), layout="constrained")
    axes.loglog(
        [float(one.eta) for one in found], [one.value for one in found], marker="."
    )
    axes.plot(
        [float(best.eta)], [best.value], "o", label=f"best: {float(best.eta):.3g}"
    )
    axes.set_xlabel(name)
    axes.set_ylabel("worst " + METRICS[asked.metric, asked.reading])
    axes.set_title(described(asked).replace("; ", "\n"), fontsize=7)
    axes.legend()
    axes.grid(True, which="both", alpha=0.3)
    figure.savefig(path)
    plt.close(figure)
