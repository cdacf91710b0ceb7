"""What the experiment on the server's optimizer found: its words and its files."""

from __future__ import annotations

import csv
import io
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from figures.paired import Interval, interval, slopes
from figures.server_optimizer import design
from figures.server_optimizer.picture import picture
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.models.named import build
from sfl_train.files import replace_file

Accuracies = Mapping[str, NDArray[np.float64]]

NAME = "server_optimizer"
BEGIN, END = f"<!-- {NAME} -->\n", f"<!-- /{NAME} -->\n"
METADATA = {"Software": None}


def effects(found: Accuracies) -> dict[str, Interval]:
    """Return the slope of the accuracy in the cut by arm, and paired differences.

    Args:
        found: final accuracies by arm, shape (seeds, cuts).

    Returns:
        Slopes under the arms' names; under "step - run" and so on the differences of
        slopes of the same seed.

    Raises:
        ValueError: if all seeds of an arm have the same slope and it is not zero, as
            copies of one run have.
    """
    each = {arm: slopes(design.CUTS, values) for arm, values in found.items()}
    for arm, values in each.items():
        if values.any() and np.ptp(values) == 0.0:
            raise ValueError(f"{arm}: all seeds have the slope {values[0]}: copies?")
    found_slopes = {arm: interval(values) for arm, values in each.items()}
    differences = {
        f"step - {arm}": interval(each["step"] - values)
        for arm, values in each.items()
        if arm != "step"
    }
    return found_slopes | differences


def conclusion(effect: Mapping[str, Interval]) -> str:
    """Say in words what the intervals show, whatever it is.

    Args:
        effect: what `effects` returned.

    Returns:
        A paragraph.
    """
    step, run, scaled = (effect[arm] for arm in ("step", "run", "step-scaled"))
    words = [
        f"With the server's optimizer rebuilt at every mini-batch the accuracy "
        f"{_change(step)}.",
        "Kept within a round, as the clients keep theirs, it does not depend on the "
        "cut at all: the models at the four cuts are the same to the last bit.",
        f"Never rebuilt, the accuracy {_change(run)}.",
    ]
    if step.sign <= 0:
        words.append("So the rise with Lc was not reproduced in this setting.")
    else:
        words.append(
            "So the rise with Lc vanishes when the server keeps its optimizer for a "
            "round, as the clients do, and "
            + {
                1: "remains when only the server keeps it for the run.",
                0: "also when only the server keeps it for the run.",
                -1: "turns into a fall when only the server keeps it for the run.",
            }[run.sign]
        )
    words.append(
        "Rebuilt, but with ten times the server's rate, which is what momentum 0.9 "
        f"comes to in the long run, the accuracy {_change(scaled)}."
    )
    if step.sign > 0 >= scaled.sign:
        words.append(
            "Here the trend follows the length of the server's steps beside the "
            "clients', not the cut itself."
        )
    return " ".join(words)


def _change(slope: Interval) -> str:
    verb = {1: "rises", -1: "falls", 0: "shows no trend"}[slope.sign]
    return f"{verb} with the cut, {_points(slope)} per stage"


def _points(slope: Interval) -> str:
    """Return an interval in percentage points."""
    mean, low, high = (
        f"{100 * value + 0.0:+.2f}" for value in (slope.mean, slope.low, slope.high)
    )
    return f"{mean} points [{low}, {high}]"


def write(found: Accuracies, seconds: Sequence[float], out: Path) -> str:
    """Write ``server_optimizer.csv``, ``.png``, ``.pdf`` and the part of README.md.

    Args:
        found: final accuracies by arm, shape (seeds, cuts).
        seconds: of every run, in the order of `cells`.
        out: folder of the files.

    Returns:
        The conclusion.
    """
    out.mkdir(parents=True, exist_ok=True)
    replace_file(out / f"{NAME}.csv", _rows(found, seconds).encode())
    draw(found, out)
    readme = out / "README.md"
    before = readme.read_text() if readme.exists() else "# Figures\n\n"
    head, marker, tail = before.partition(BEGIN)
    if marker:
        tail = tail.partition(END)[2]
    text = head + BEGIN + _section(found, sum(seconds)) + END + tail
    replace_file(readme, text.encode())
    return conclusion(effects(found))


def draw(found: Accuracies, out: Path) -> None:
    """Write ``server_optimizer.png`` and ``.pdf``.

    Args:
        found: final accuracies by arm, shape (seeds, cuts).
        out: folder of the files.
    """
    drawn = picture(found)
    for kind, metadata in (("png", METADATA), ("pdf", {"CreationDate": None})):
        buffer = io.BytesIO()
        drawn.savefig(buffer, format=kind, dpi=150, metadata=metadata)
        replace_file(out / f"{NAME}.{kind}", buffer.getvalue())


def read(path: Path) -> dict[str, NDArray[np.float64]]:
    """Return the accuracies that were written, to draw them again without the runs.

    Args:
        path: of ``server_optimizer.csv``.

    Returns:
        Final accuracies by arm, shape (seeds, cuts).
    """
    with path.open(newline="") as file:
        rows = {
            (row["arm"], int(row["cut"]), int(row["seed"])): float(row["accuracy"])
            for row in csv.DictReader(file)
        }
    return {
        arm: np.array([
            [
                rows[arm, cut if (arm, cut, seed) in rows else design.CUTS[0], seed]
                for cut in design.CUTS
            ]
            for seed in design.SEEDS
        ])
        for arm in design.ARMS
    }


def _rows(found: Accuracies, seconds: Sequence[float]) -> str:
    stream = io.StringIO()
    table = csv.writer(stream, lineterminator="\n")
    table.writerow(("arm", "cut", "seed", "run", "accuracy", "seconds"))
    for (arm, cut, seed), spent in zip(design.cells(), seconds, strict=True):
        value = found[arm][design.SEEDS.index(seed), design.CUTS.index(cut)]
        name = design.config(arm, cut, seed).hash[:16]
        table.writerow((arm, cut, seed, name, f"{value:.6f}", f"{spent:.2f}"))
    return stream.getvalue()


def _section(found: Accuracies, seconds: float) -> str:
    effect, runs = effects(found), len(design.cells())
    lines = [
        '## Does "accuracy rises with Lc" vanish when the server keeps its optimizer?',
        "",
        _wrapped(conclusion(effect)),
        "",
        f"![Accuracy by cut and server optimizer]({NAME}.png)",
        "",
        _wrapped(
            "SFL-V1 at the four cuts; everything but the server's optimizer is the "
            "preset `paper` with"
        ),
        "",
        "```",
        *(
            f"{name.replace('_', '-')} = {value!r}"
            for name, value in design.SETTING.items()
        ),
        "```",
        "",
        _wrapped(
            f"{len(design.SEEDS)} seeds; a seed fixes partition, initial model and all "
            "draws for all arms and cuts. Final accuracy: mean of the last "
            f"{design.LAST} evaluations, of the aggregated model on all test images. "
            "In brackets: Student's 95 % intervals over seeds, each by itself. "
            "Accuracies in %:"
        ),
        "",
        "| server's optimizer | "
        + " | ".join(f"Lc = {cut}" for cut in design.CUTS)
        + " |",
        "|---|" + "---|" * len(design.CUTS),
    ]
    for arm in design.ARMS:
        each = [interval(column) for column in found[arm].T]
        entries = [
            f"{100 * one.mean:.1f} [{100 * one.low:.1f}, {100 * one.high:.1f}]"
            for one in each
        ]
        lines.append(f"| {design.LABELS[arm]} | " + " | ".join(entries) + " |")
    entries = [f"{100 * share:.1f}" for share in client_shares()]
    lines += [
        "| share of the parameters at the client | " + " | ".join(entries) + " |",
        "",
        _wrapped(
            "Effect: least-squares slope of the accuracy in Lc, per seed, then over "
            "seeds; differences are taken within a seed:"
        ),
        "",
        "| | percentage points per stage |",
        "|---|---|",
    ]
    lines += [
        f"| {_named(arm)} | "
        + (_points(one) if arm != "round" else "0, by the invariance")
        + " |"
        for arm, one in effect.items()
    ]
    lines += [
        "",
        _wrapped(
            "The slope of the arm that keeps the optimizer within the round is not "
            "measured: SFL-V1 is then FedAvg at every cut, and the command compares "
            f"the models of seed {design.SEEDS[0]} at all cuts byte by byte and "
            "refuses to report otherwise; the other seeds are trained at one cut."
        ),
        "",
        _wrapped(
            "What this does not say: the network is small, the images are synthetic "
            "and training is short. A client has a hundred images on average, about "
            "four steps per round: memory that ends with the round hardly builds up, "
            "and the levels of the arms compare step lengths as much as anything; "
            "their slopes are the result. Learning rate (0.01, 0.03 or 0.1), epochs (1 "
            "or 2) and partition (Dirichlet 0.1 or 0.3) were settled with five runs of "
            "the arm that keeps the optimizer within the round, with a seed that is "
            "not used here, so that it would end neither near chance nor near 1; no "
            "other arm had been run by then."
        ),
        "",
        _wrapped(
            f"`python -m figures.{NAME}` makes the {runs} runs (or finds them in "
            "`runs/`) and writes this part; their rounds took "
            f"{seconds:.0f} s of wall clock. Single runs: [{NAME}.csv]({NAME}.csv)."
        ),
        "",
    ]
    return "\n".join(lines)


def _wrapped(text: str) -> str:
    return textwrap.fill(text, 88, break_long_words=False, break_on_hyphens=False)


def _named(arm: str) -> str:
    """Return the label of an arm or of a difference of two."""
    first, minus, second = arm.partition(" - ")
    return (
        f"{design.LABELS[first]}, minus {design.LABELS[second]}"
        if minus
        else design.LABELS[first]
    )


def client_shares() -> list[float]:
    """Return the client side's share of the parameters at every cut."""
    network = build(
        design.SETTING["model"],
        3,
        10,
        16,
        width=design.SETTING["width"],
        blocks=design.SETTING["depth"],
    )
    model = FlatModel(network.blocks)
    return [model.offsets[network.cut(cut)] / model.dimension for cut in design.CUTS]
