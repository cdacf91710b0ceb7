"""``python -m figures make``: make the runs that are missing, then draw."""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from figures import selection
from figures.engines.engine import Engine, Outcome, distinct
from figures.figure import Figure
from figures.scale import Preset
from sfl_theory.command import CommandError, Parser
from sfl_train.deep.config import Config

GENERATED = ("synthetic", "digits")
"""Beginnings of the names of data sets that need no files."""


def add_arguments(parser: Parser) -> None:
    """Add the options of ``make``.

    Args:
        parser: of the sub-command.
    """
    selection.add_keys(parser)
    selection.add_preset(parser)
    parser.add_argument(
        "--out",
        type=Path,
        default=Path("drawn"),
        metavar="DIR",
        help="folder of pictures and tables, one subfolder per preset (default: drawn)",
    )
    parser.add_argument(
        "--engine",
        choices=("local", "ray"),
        default="local",
        help="who makes the runs: processes of this machine (default) or a Ray cluster",
    )
    parser.add_argument(
        "--jobs",
        type=_positive,
        metavar="N",
        help="processes of the local engine (default: the number of cores, one with "
        "--device cuda)",
    )
    parser.add_argument(
        "--address",
        metavar="HOST:PORT",
        help="of the Ray cluster's head (default: a cluster on this machine)",
    )
    parser.add_argument(
        "--data-root",
        default="data",
        metavar="DIR",
        help="folder of the data sets that the preset paper needs (default: data)",
    )
    parser.add_argument(
        "--device", default="cpu", help="cpu (default), cuda, cuda:0 ..."
    )
    parser.add_argument(
        "--draw-only", action="store_true", help="make no runs; draw what is there"
    )
    parser.add_argument("--quiet", action="store_true", help="no live progress")


def work(options: argparse.Namespace) -> int:
    """Make and draw.

    Args:
        options: parsed.

    Returns:
        0; 1 if a run failed; 130 after an interruption.

    Raises:
        CommandError: for a mistake, before any run is made if it can be known.
    """
    from sfl_train.files import check_writable

    figures = selection.chosen(options)
    preset = selection.preset(options)
    status = 0
    try:
        check_writable("--out", options.out, folder=True)
        check_writable("--runs", options.runs, folder=True)
        if not options.draw_only:
            status = _make(figures, preset, options)
        if status != 130:
            for figure in figures:
                _draw(figure, preset, options.runs, options.out)
    except (ValueError, OSError) as error:
        raise CommandError(str(error)) from error
    return status


def missing(
    figures: Iterable[Figure], preset: Preset, root: Path
) -> list[Config]:  # fmt: skip
    """Return the runs behind figures that have not ended.

    Args:
        figures: which.
        preset: the sizes.
        root: folder of all runs.

    Returns:
        Each run once, in the order of the figures.
    """
    from figures.series import standing

    wanted = distinct(c for figure in figures for c in figure.configs(preset))
    return [
        config
        for config in wanted
        if standing(config, root) in {"missing", "unfinished"}
    ]


def _make(
    figures: Sequence[Figure], preset: Preset, options: argparse.Namespace
) -> int:  # fmt: skip
    from figures.progress import Display

    configs = [
        replace(config, data_root=options.data_root, device=options.device)
        for config in missing(figures, preset, options.runs)
    ]
    if not configs:
        return 0
    engine = _engine(options)
    if options.engine == "local":  # A cluster may have what this machine lacks.
        _check_device(options.device)
    _check_data(configs)
    names = _names(figures, preset)
    for line in _design(figures, preset, configs, options):
        print(line, file=sys.stderr)
    display = Display(configs, names, options.quiet)
    try:
        with display:
            ends = engine.run(configs, options.runs, display.told)
    except KeyboardInterrupt:
        print(
            f"stopped: {display.ended} of {len(configs)} missing runs made; the same "
            "command goes on from there",
            file=sys.stderr,
        )
        return 130
    _tell(configs, ends, names)
    return int(any(end.state == "failed" for end in ends.values()))


def _design(
    figures: Sequence[Figure],
    preset: Preset,
    configs: Sequence[Config],
    options: argparse.Namespace,
) -> list[str]:
    """Return what the runs will cost and what they can decide, before they are made."""
    from figures.estimate import in_words
    from figures.judging import plan

    cost = in_words(configs, preset.name, options.jobs)
    return [
        f"{len(configs)} runs to make, {cost}",
        *plan((figure.paper for figure in figures), preset),
    ]


def _engine(options: argparse.Namespace) -> Engine:
    if options.engine == "ray":
        if options.jobs is not None:
            raise CommandError("--jobs: is of --engine local; a Ray cluster has nodes")
        from figures.engines.ray import RayEngine
        from figures.engines.ray_connection import check

        check(options.address)
        return RayEngine(options.address)
    if options.address is not None:
        raise CommandError("--address: is of --engine ray")
    from figures.engines.local import LocalEngine

    # Processes would share the GPU's memory; who has room for several says so.
    return LocalEngine(options.jobs or (1 if options.device != "cpu" else None))


def _check_device(device: str) -> None:
    if device == "cpu":
        return
    import torch

    if not device.startswith("cuda") or not torch.cuda.is_available():
        raise CommandError(f"--device: {device!r} is not there; use cpu or cuda")


def _check_data(configs: Iterable[Config]) -> None:
    """See that all data can be read, before the first run.

    Args:
        configs: of the runs.

    Raises:
        CommandError: if files are missing or damaged; it names all of them.
    """
    from sfl_train.deep.data.named import load

    lacking = []
    for name, root in dict.fromkeys((c.dataset, c.data_root) for c in configs):
        if not name.startswith(GENERATED):
            try:
                load(name, Path(root))
            except ValueError as error:
                lacking.append(str(error))
    if lacking:
        raise CommandError("; ".join(lacking))


def _names(figures: Iterable[Figure], preset: Preset) -> dict[str, str]:
    """Return what to call a run: where it is drawn first."""
    names: dict[str, str] = {}
    for figure in figures:
        for panel in figure.panels:
            for curve in panel.curves:
                for seed in preset.seeds:
                    config = figure.config(panel, curve, preset, seed)
                    words = f"{figure.key} {panel.letter} {curve.label}, seed {seed}"
                    names.setdefault(config.hash, words.replace("$", ""))
    return names


def _tell(
    configs: Sequence[Config], ends: dict[str, Outcome], names: dict[str, str]
) -> None:
    """Say how the runs ended: one line, and one per run that did not finish."""
    from figures.grid import DIGITS

    count = Counter(end.state for end in ends.values())
    words = ", ".join(f"{number} {state}" for state, number in sorted(count.items()))
    print(f"{len(configs)} runs made: {words}", file=sys.stderr)
    for config in configs:
        end = ends[config.hash]
        if end.state != "finished":
            where = f"{config.hash[:DIGITS]} ({names[config.hash]})"
            print(f"{end.state}: {where}: {end.words}", file=sys.stderr)


def _draw(figure: Figure, preset: Preset, root: Path, out: Path) -> None:
    """Write the files of a figure and say where they are."""
    from figures import drawing, tables
    from figures.output import place
    from sfl_train.files import replace_file

    files = (
        drawing.files(figure, preset, root)
        if figure.kind == "figure"
        else tables.files(figure, preset, root)
    )
    paths = {suffix: place(figure, preset, out, suffix) for suffix in files}
    for suffix, content in files.items():
        paths[suffix].parent.mkdir(parents=True, exist_ok=True)
        replace_file(paths[suffix], content)
    suffixes = f"{{{','.join(files)}}}"
    print(f"{figure.key}: {place(figure, preset, out, suffixes)}")


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"expected a positive integer, got {text!r}")
    return int(text)
