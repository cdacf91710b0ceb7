"""Protects captions: they say the runs' own configuration, and nothing else."""

from __future__ import annotations

from dataclasses import fields, replace
from functools import cache

import pytest

from figures.caption import UNSAID, configuration, readings
from figures.figure import Figure
from figures.papers import BY_KEY, FIGURES
from figures.scale import CPU, PAPER, PRESETS
from figures.tables import sheet
from figures.wording import named, value
from sfl_train.deep.config import Config

DRAWN = tuple(figure for figure in FIGURES if figure.panels)
KEYS = tuple(
    item.name for item in fields(Config)
    if item.metadata["matters"] and item.name not in UNSAID
)  # fmt: skip
OTHER = {
    "algorithm": "fedavg", "model": "mlp", "width": 0.3, "depth": 7, "norm": "group",
    "classes": 77, "dataset": "digits", "partition": "blocks:0.7", "clients": 77,
    "weights": "uniform", "participation": 0.7, "participation_draw": "fixed",
    "cut": 3, "rounds": 77, "tau": 7, "epochs": 7, "tau_server": 7, "batch_size": 77,
    "sampling": "replacement", "augmentation": "crop-flip", "optimizer": "adam",
    "lr": 0.7, "lr_server": 0.7, "momentum": 0.7, "weight_decay": 0.7,
    "lifetime": "run", "server_optimizer": "adam", "server_lifetime": "run",
    "schedule": "cosine", "aggregation": "models", "counters": "average",
    "order": "client-sequential", "server_weights": "size", "server_waits": True,
    "evaluation": "in-loop", "evaluate_every": 7, "proximal": 0.7, "fedopt": "yogi",
    "fedopt_lr": 0.7, "measure": "every=7", "precision": "bf16", "threads": 7,
    "compile": True, "clients_at_once": 7,
}  # fmt: skip
"""A value that no declared run has in all its curves."""
NAMED = (
    "model", "width", "depth", "dataset", "augmentation", "momentum", "clients",
)  # fmt: skip
"""Stand-ins that every title has to name."""


def said(figure: Figure, preset) -> str:
    return " ".join(configuration(figure, preset))


@cache
def as_declared() -> dict[str, str]:
    """Captions of all figures, as the runs are declared."""
    return {figure.key: said(figure, CPU) for figure in DRAWN}


def changed(monkeypatch, name: str, found: object) -> None:
    """Give an option of all runs but the papers' another value."""
    declared = Figure.config

    def other(self, panel, curve, preset, seed):
        config = declared(self, panel, curve, preset, seed)
        if preset is PAPER:
            return config
        with_it = object.__new__(Config)  # options that exclude each other, too
        for item in fields(Config):
            same = getattr(config, item.name)
            object.__setattr__(with_it, item.name, found if item.name == name else same)
        return with_it

    monkeypatch.setattr(Figure, "config", other)


@pytest.mark.parametrize("preset", PRESETS.values(), ids=PRESETS)
@pytest.mark.parametrize("figure", DRAWN, ids=lambda figure: figure.key)
def test_every_option_is_said_as_the_runs_have_it(figure, preset) -> None:
    """Each value of each run; whatever is not said is the trainer's default."""
    text = said(figure, preset)
    options = text.split(": ", 1)[1].rstrip(".").split("; ")
    runs = list(figure.configs(replace(preset, seeds=(0,))))
    papers = list(figure.configs(replace(PAPER, seeds=(0,))))
    for name in KEYS:
        found = list(dict.fromkeys(getattr(run, name) for run in runs))
        first = named(name, found[0])
        mine = [
            one for one in options
            if one == first or one.startswith((f"{first} for ", f"{first}, "))
        ]  # fmt: skip
        printed = {getattr(run, name) for run in papers}
        if name in NAMED or set(found) | printed != {getattr(Config(), name)}:
            assert mine, (name, text)
            assert all(value(name, one) in mine[0] for one in found), (name, mine)
            replaced = any(
                getattr(a, name) != getattr(b, name)
                for a, b in zip(runs, papers, strict=True)
            )
            assert (" for " in mine[0]) == replaced, (name, mine)


@pytest.mark.parametrize("name", KEYS)
def test_another_value_is_another_caption(name, monkeypatch) -> None:
    """Of any option, in any figure: captions are made of the configuration."""
    before = as_declared()
    changed(monkeypatch, name, OTHER[name])
    for figure in DRAWN:
        after = said(figure, CPU)
        assert after != before[figure.key]
        assert named(name, OTHER[name]) in after


@pytest.mark.parametrize("figure", DRAWN, ids=lambda figure: figure.key)
def test_every_stand_in_is_in_the_panels_title(figure) -> None:
    for preset in (CPU, PAPER):
        for panel in figure.panels:
            title = "; ".join(figure.panel_title(panel, preset))
            for curve in panel.curves:
                ours, theirs = (
                    figure.config(panel, curve, one, 0) for one in (preset, PAPER)
                )
                for name in NAMED:
                    mine, printed = getattr(ours, name), getattr(theirs, name)
                    if mine != printed:
                        words = f"{named(name, mine)} for {value(name, printed)}"
                        assert words in title
            if preset is PAPER:
                assert "synthetic" not in title and " for " not in title


@pytest.mark.parametrize("preset", [CPU, PAPER], ids=lambda preset: preset.name)
def test_headings_tell_figures_apart(preset) -> None:
    headings = [figure.heading(preset) for figure in FIGURES]
    assert len({*headings}) == len(headings)


def test_a_changed_stand_in_changes_the_titles(monkeypatch) -> None:
    figure = BY_KEY["han2024/fig-2"]
    for name in NAMED:
        with pytest.MonkeyPatch.context() as patch:
            changed(patch, name, OTHER[name])
            if name == "augmentation":
                changed(patch, name, "none")
            title = "; ".join(figure.panel_title(figure.panels[0], CPU))
            expected = "none" if name == "augmentation" else OTHER[name]
            assert f"{named(name, expected)} for " in title


def test_a_departure_that_a_size_changes_is_not_printed_for_it() -> None:
    """The captions that were false: augmentation and writers that are not there."""
    for figure in DRAWN:
        text = " ".join(readings(figure, CPU))
        assert "crop-flip" not in text and "writers" not in text
        for departure in figure.departures:
            if "augmentation" in departure.options and "han2024" in figure.key:
                assert "augmentation" not in text
    natural = BY_KEY["han2024/fig-13"]
    text = said(natural, CPU)
    for words in (
        "augmentation none for crop-flip",
        "N = 20 for 100",
        "$\\beta=0.3$ for natural groups",
        "synthetic 1×12×12 (20 classes, 500 images, 35 % noise) for FEMNIST",
        "learning rate 0.06 for 0.01",
    ):
        assert words in text
    paper = " ".join(readings(natural, PAPER))
    assert "augmentation crop-flip: as in the released code" in paper
    assert "the first writers of LEAF's files" in paper
    assert "natural groups, N = 100:" in paper
    table = BY_KEY["dachille2024/table-4"]
    assert "skewed by itself" in " ".join(readings(table, PAPER))
    assert "skewed by itself" not in " ".join(readings(table, CPU))


def test_headings_and_legends_are_true_at_both_sizes() -> None:
    for figure in DRAWN:
        for name in ("CIFAR", "FMNIST", "FEMNIST", "HAM10000", "N = "):
            assert name not in figure.title
    assert "N = 20 for 100" in BY_KEY["huang2023/fig-5"].heading(CPU)
    assert BY_KEY["huang2023/fig-5"].heading(PAPER).endswith("N = 100")
    epochs = BY_KEY["han2024/fig-7"]
    panel = epochs.panels[0]
    legend = [epochs.legend(panel, curve, CPU) for curve in panel.curves]
    assert legend == ["$E=2$ (here 1)", "$E=5$ (here 2)", "$E=10$ (here 4)"]
    assert epochs.legend(panel, panel.curves[0], PAPER) == "$E=2$"


def test_tables_say_it_too(tmp_path) -> None:
    found = sheet(BY_KEY["dachille2024/table-4"], CPU, tmp_path)
    notes = " ".join(found.notes)
    assert "Configuration of every run" in notes and "skewed" not in notes
    assert all("synthetic" in head for head, _ in found.groups)
