"""Protects pictures: every number is in the CSV, nobody takes them for the paper's."""

from __future__ import annotations

import csv
import io

import pytest
from planted_runs import TINY, accuracies, end, plant, shrink, small

from figures import drawing
from figures.papers import BY_KEY
from figures.scale import CPU, PAPER


@pytest.fixture
def figure(monkeypatch):
    shrink(monkeypatch)
    return small()


def fill(figure, root, values) -> None:
    """Plant all runs; ``values(panel, cut, seed)`` are their accuracies."""
    for panel in figure.panels:
        for curve in panel.curves:
            for seed in TINY.seeds:
                found = values(panel.letter, curve.options["cut"], seed)
                config = figure.config(panel, curve, TINY, seed)
                plant(config, root, accuracies(found), diverged=False)


def words(picture) -> str:
    """All text of a picture."""
    texts = [*picture.texts]
    for axes in picture.axes:
        texts += [*axes.texts, axes.title, axes.xaxis.label, axes.yaxis.label]
    return " ".join(" ".join(text.get_text().split()) for text in texts)


def invariant(panel: str, cut: int, seed: int) -> list[float]:
    """V1 does not depend on the cut, V2 does."""
    return [0.1, 0.4, 0.5 + 0.1 * seed, 0.8 + 0.01 * cut * (panel == "b")]


def test_the_csv_holds_what_is_drawn(figure, tmp_path) -> None:
    fill(figure, tmp_path, invariant)
    panels = drawing.read(figure, TINY, tmp_path)
    rows = list(csv.DictReader(io.StringIO(drawing.numbers(panels))))
    assert len(rows) == 2 * 2 * 4
    row = next(
        r for r in rows if (r["panel"], r["curve"], r["round"]) == (
            "(b) SFL-V2", "L_c=2", "2"
        )
    )  # fmt: skip
    assert (row["mean"], row["seed 0"], row["seed 1"]) == ("55", "50", "60")
    picture = drawing.picture(figure, TINY, panels)

    def drawn(mean: bool, part) -> list:
        return [
            (x, y)
            for axes in part
            for line in axes.lines
            if (line.get_marker() != "None") == mean
            for x, y in zip(line.get_xdata(), line.get_ydata(), strict=True)
        ]

    expected = [(int(row["round"]), float(row["mean"])) for row in rows]
    assert drawn(True, picture.axes) == [pytest.approx(point) for point in expected]
    # Every seed of every curve is there; those of curves that coincide, once.
    second = [row for row in rows if row["panel"] == "(b) SFL-V2"]
    each = [
        (int(row["round"]), float(row[f"seed {s}"])) for row in second for s in (0, 1)
    ]
    found = drawn(False, picture.axes[1:])
    assert sorted(found) == [pytest.approx(point) for point in sorted(each)]
    assert len(drawn(False, picture.axes[:1])) == 2 * 4


def test_curves_that_coincide_are_named_and_all_seen(figure, tmp_path) -> None:
    fill(figure, tmp_path, invariant)
    picture = drawing.picture(figure, TINY, drawing.read(figure, TINY, tmp_path))
    first, second = picture.axes
    assert [t.get_text() for t in first.texts] == ["all curves coincide exactly"]
    assert not second.texts
    places = [
        set(range(len(line.get_xdata()))[line.get_markevery()[0] :: every])
        for line in first.lines
        if line.get_marker() != "None"
        for every in [line.get_markevery()[1]]
    ]
    assert not places[0] & places[1]


def test_a_last_bit_tells_curves_apart(figure, tmp_path) -> None:
    fill(figure, tmp_path, lambda panel, cut, seed: [0.1, 0.2, 0.3, 0.5 + cut * 1e-15])
    picture = drawing.picture(figure, TINY, drawing.read(figure, TINY, tmp_path))
    assert not any(axes.texts for axes in picture.axes)


def test_the_picture_says_its_size_its_seeds_and_what_stands_in(
    figure, tmp_path
) -> None:
    fill(figure, tmp_path, invariant)
    picture = drawing.picture(figure, TINY, drawing.read(figure, TINY, tmp_path))
    said = words(picture)
    assert TINY.caption in said
    assert "mean over 2 seeds" in said and "thin: every seed" in said
    stand_in = "synthetic 1×8×8 (2 classes, 40 images) for CIFAR-10"
    assert all(stand_in in axes.get_title().replace("\n", " ") for axes in picture.axes)
    assert said.count(stand_in) == len(picture.axes) + 1  # and in the caption
    assert "NOT DRAWN" not in said
    assert "Training round" in said and "Test accuracy in %" in said
    assert all(axes.get_ylim() == (0, 100) for axes in picture.axes)


def test_seeds_beyond_the_axes_are_said_to_be_cut_off(monkeypatch, tmp_path) -> None:
    """Of a loss, whose axis ends above the means; accuracies cannot."""
    shrink(monkeypatch)
    figure = small(quantity="test_loss")
    fill(figure, tmp_path, lambda panel, cut, seed: [0.1, 0.4, 0.5, 0.6])
    whole = drawing.read(figure, TINY, tmp_path)
    assert not any(panel.cut_off for panel in whole)
    assert "cut off" not in words(drawing.picture(figure, TINY, whole))
    wide = tmp_path / "wide"
    fill(figure, wide, lambda panel, cut, seed: [0.1, 0.4, 0.5, 0.5 - 4 * seed])
    cut = drawing.read(figure, TINY, wide)
    assert all(panel.cut_off for panel in cut)
    assert "in all curves, cut off at the axes" in words(
        drawing.picture(figure, TINY, cut)
    )


def test_a_run_that_is_not_there_is_said_to_be_missing(figure, tmp_path) -> None:
    fill(figure, tmp_path, invariant)
    panel = figure.panels[0]
    for curve, seeds in zip(panel.curves, ((0,), (0, 1)), strict=True):
        for seed in seeds:
            path = drawing_folder(figure, panel, curve, seed, tmp_path)
            end(figure.config(panel, curve, TINY, seed), path, diverged=True)
    picture = drawing.picture(figure, TINY, drawing.read(figure, TINY, tmp_path))
    said = words(picture)
    assert "NOT DRAWN: 3 diverged" in said
    assert "$L_c=2$: no finished run" in said
    assert "mean over 0 to 2 seeds" in said


def drawing_folder(figure, panel, curve, seed, root):
    from figures.grid import folder

    return folder(figure.config(panel, curve, TINY, seed), root)


def test_files_do_not_depend_on_the_time(figure, tmp_path, monkeypatch) -> None:
    fill(figure, tmp_path, invariant)
    first = drawing.files(figure, TINY, tmp_path)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1")
    assert drawing.files(figure, TINY, tmp_path) == first
    assert first["pdf"].startswith(b"%PDF") and first["png"].startswith(b"\x89PNG")
    for word in (b"CreationDate", b"Software", b"Date"):
        assert word not in first["png"][:500] and b"CreationDate" not in first["pdf"]


def test_curves_are_told_apart_without_colour() -> None:
    in_grey = {(marker, str(dashes)) for _, marker, dashes in drawing.STYLES}
    assert len(in_grey) == len(drawing.STYLES)
    assert len({marker for _, marker in in_grey}) <= len(drawing.STYLES)
    most = max(
        len({f.legend(p, c, CPU) for p in f.panels for c in p.curves})
        for f in BY_KEY.values()
        if f.kind == "figure"
    )
    assert most <= len(drawing.STYLES)


def test_nothing_in_a_picture_overlaps_or_is_cut_off(tmp_path) -> None:
    """Most panels, a spare place, one panel, and the longest titles."""
    for key, preset in (
        ("huang2023/fig-2", PAPER),
        ("huang2023/fig-3", CPU),
        ("han2024/fig-2", CPU),
        ("huang2023/fig-4", CPU),
        ("han2024/fig-13", CPU),
    ):
        figure = BY_KEY[key]
        picture = drawing.picture(
            figure, preset, drawing.read(figure, preset, tmp_path)
        )
        picture.canvas.draw()
        render = picture.canvas.get_renderer()
        size = picture.bbox
        for axes in picture.axes:  # with labels beside them, axes are narrower
            title = axes.title.get_window_extent(render)
            assert title.width < 0.97 * axes.get_window_extent(render).width, key
        boxes = [text.get_window_extent(render) for text in picture.texts]
        boxes += [legend.get_window_extent(render) for legend in picture.legends]
        boxes += [axes.get_tightbbox(render) for axes in picture.axes if axes.axison]
        for k, box in enumerate(boxes):
            assert box.x0 >= size.x0 and box.x1 <= size.x1, (key, k)
            assert box.y0 >= size.y0 and box.y1 <= size.y1, (key, k)
            for other in boxes[k + 1 :]:
                assert not overlap(box, other), (key, k)


def overlap(a, b) -> bool:
    """Whether two boxes share more than a pixel."""
    wide = min(a.x1, b.x1) - max(a.x0, b.x0)
    high = min(a.y1, b.y1) - max(a.y0, b.y0)
    return wide > 1 and high > 1
