"""The default comparison tells the whole story: terminal, JSON, table, picture."""

from __future__ import annotations

import csv
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from small_problems import quadratic_file

from bounds import Experiment, plot
from bounds.audited import Audited, audited
from bounds.compare import main
from bounds.comparison import Comparison, against
from bounds.measurement import Measurement, measured
from bounds.sharpest import KNOWN, sharpest
from bounds.training import train, trainings
from bounds.versions import versions
from sfl_theory import theorem, theorems
from sfl_theory.ledger import STATUSES, replayed, standing
from sfl_theory.lower import lower_bound
from sfl_theory.statement import Case

SHORT = ["--rounds", "8", "--seeds", "3", "--tau", "2", "--quiet"]
WIDTH = 80
CHAINS = ("certified", "proved")


@pytest.fixture(scope="module")
def problem(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("q")
    return f"quadratic:{quadratic_file(folder / 'q.npz')}"


@pytest.fixture(scope="module")
def told(
    problem: str, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[str, list[dict], Path]]:
    """Text, JSON and folder of the default command for some theorems."""
    found = {}
    for key in ("3.7", "huang2023/thm-1", "3.5"):
        out = tmp_path_factory.mktemp("story") / "out"
        with pytest.MonkeyPatch.context() as patch:
            lines: list[str] = []
            patch.setattr("rich.console.Console.print", _recorder(lines))
            line = ["--theorem", key, "--problem", problem, *SHORT, "--out", str(out)]
            line += ["--csv", str(out / "table.csv"), "--weights", "0.5,0.3,0.2"]
            assert main(line) == 0
        records = json.loads((out / "compare.json").read_text())
        found[key] = "\n".join(lines), records, out
    return found


def _recorder(lines: list[str]):
    def record(self: object, text: object, **_: object) -> None:
        lines.append(str(text))

    return record


def test_every_version_that_a_case_has_is_shown(told: dict) -> None:
    """Printed, repaired, and the smallest that is proved, case by case.

    For unequal weights nothing proved speaks of SFL-V2 with unweighted server steps.
    """
    for key, (_, records, _) in told.items():
        item = theorem(key)
        expected = [
            (case.name, name)
            for case in item.cases.values()
            for name in ("printed", "repaired", "best")
            if name in case.versions or (name == "best" and key == "huang2023/thm-1")
        ]
        shown = [(r["case"], r["version"]) for r in records]
        assert [pair for pair in shown if pair[1] not in CHAINS] == expected


def test_every_case_is_bounded_round_by_round(told: dict) -> None:
    """Above the curve; and what cannot be certified says why."""
    for key, (text, records, _) in told.items():
        flat = re.sub(r"\s+", " ", text)
        for case in theorem(key).cases if key != "3.5" else ():
            ours = [r for r in records if r["case"] == case]
            chains = [r for r in ours if r["version"] in CHAINS]
            assert chains or "no certificates of single rounds" in flat
            for chain in chains:
                assert chain is ours[-1]
                assert chain["certificates"]
                assert chain["verdict"] != "violated"


@pytest.mark.long
def test_no_bound_that_is_proved_lies_below_the_instance(
    problem: str, tmp_path: Path
) -> None:
    """Beside one run: the instance keeps to what each of its bounds assumes."""
    line = ["--theorem", "3.7", "--problem", problem, *SHORT, "--quiet"]
    assert main([*line, "--out", str(tmp_path / "out")]) == 0
    records = json.loads((tmp_path / "out" / "compare.json").read_text())
    compared = set()
    for best in (r for r in records if r["version"] == "best" and r["lower"]):
        same = [r for r in records if all(r[k] == best[k] for k in ("case", "config"))]
        for other in same:
            if other["version"] != "printed":
                pairs = zip(best["lower"], other["bound"], strict=True)
                assert all(low <= high * (1 + 1e-9) for low, high in pairs)
                compared.add((other["case"], other["version"] in CHAINS))
    assert {case for case, chain in compared if chain} >= {
        "general_convex", "non_convex",
    }  # fmt: skip


def test_what_the_audit_says_is_what_it_earns_now(told: dict) -> None:
    """Status, scope, cause and claim of every case, in JSON and in the terminal."""
    for key, (text, records, _) in told.items():
        flat = re.sub(r"\s+", " ", text)
        for record in records:
            audit = record["audit"]
            if record["version"] in CHAINS:
                assert (audit is None) is (record["proof"] is None)
                assert (audit is None) is (record["version"] == "certified")
                continue
            assert audit["status"] in STATUSES
            assert f"--claim {audit['claim']}" in text
            if record["version"] == "printed":
                now = replayed(theorem(key).key, record["case"])
                assert now is not None
                assert audit["status"] == now.status
                assert audit["scope"] == now.scope
                assert audit["cause"] == now.cause
                assert f"{audit['status'].upper()} {audit['scope']}" in flat
                assert audit["cause"] in flat
            else:
                assert audit["status"] == "proved"


def test_the_verdict_is_on_the_curve_and_says_so(told: dict) -> None:
    """No "holds" anywhere in the terminal that could be read as one on the theorem."""
    for text, records, _ in told.values():
        assert "holds" not in text
        assert text.count("curve: ") >= len(records)
        assert {r["verdict"] for r in records} <= {"holds", "violated", "inconclusive"}


def test_the_terminal_is_readable_at_80_columns(told: dict) -> None:
    """No line is longer, but for a command to paste; nothing is cut with dots."""
    for text, records, _ in told.values():
        assert "…" not in text
        for line in text.splitlines():
            assert len(line) <= WIDTH or "python -m" in line or "in /" in line, line
        for record in records:
            last = record["bound"][-1] / record["unit"][-1]
            assert f"{last:.3g}" in text
            if record["informative_from"] is not None:
                assert str(record["informative_from"])[0] in text


def test_no_run_is_trained_twice(problem: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One training per distinct weights and rates, whatever the bounds measure."""
    item, experiment = theorem("3.6"), Experiment(problem=problem, rounds=4, seeds=2)
    asked, _ = versions(item, [*item.cases.values()], "story")
    for case, count in (
        ("strongly_convex", 1),
        ("general_convex", 1),  # last iterate and weighted mean from one run
        ("non_convex", 1),
    ):
        runs = trainings(item, case, asked[case], experiment)
        assert len(runs) == count, case
        assert [b for run in runs for b in run.bounds] == asked[case]
    item = theorem("3.7")
    asked, _ = versions(item, [item.case("strongly_convex")], "story")
    weights = Experiment(problem=problem, rounds=4, seeds=2, weights=(0.5, 0.3, 0.2))
    runs = trainings(item, "strongly_convex", asked["strongly_convex"], weights)
    served = [tuple(bound.version for bound in run.bounds) for run in runs]
    assert served == [("printed",), ("repaired", "sharper")]


def beside_repaired(
    problem: str, name: str
) -> tuple[Case, Audited, Measurement, Comparison]:
    """Return a case of 3.7, its audit, and six rounds beside its repaired bound."""
    item = theorem("3.7")
    case, audit = item.case(name), audited(item, name)
    assert audit is not None
    experiment = Experiment(problem=problem, rounds=6, seeds=2, tau=2)
    (run,) = trainings(item, name, [case.bound("repaired")], experiment)
    (found,) = measured(run, train(run))
    return case, audit, found, against(item, name, case.bound("repaired"), found)


def test_the_sharpest_line_is_the_smallest_proved_bound(problem: str) -> None:
    """Round by round on the repaired bound's run; terms add up; JSON names versions."""
    case, audit, found, beside = beside_repaired(problem, "strongly_convex")
    best = sharpest(beside, audit)
    assert best is not None
    proved = case.best(found.constants, found.rounds, found.schedule)
    assert best.values.tolist() == proved.values.tolist()
    assert (best.values < beside.values).all()
    assert sum(best.terms.values()).tolist() == best.values.tolist()
    record = best.as_dict()
    assert (record["version"], record["versions"]) == ("best", [*proved.versions])
    assert record["audit"]["status"] == "proved"
    assert record["departures"] == []
    unproved = replace(audit, proved=dict.fromkeys(audit.proved, False))
    assert sharpest(beside, unproved) is None


def test_the_instance_is_followed_at_the_runs_learning_rates(problem: str) -> None:
    """Not at those of the best bound's own rule; then no bound lies below it."""
    case, audit, found, beside = beside_repaired(problem, "non_convex")
    best = sharpest(beside, audit)
    assert best is not None
    assert best.lower is not None
    bound = case.bound(best.versions[-1])
    own, here = (
        lower_bound(
            case, found.constants, found.rounds, bound, schedule, also=KNOWN
        ).values
        for schedule in (None, found.schedule)
    )
    assert best.lower.tolist() == here.tolist()
    assert (own > 1.5 * here).all()
    assert (here <= best.values).all()


def test_progress_is_the_share_of_the_gap_that_the_run_closed(problem: str) -> None:
    """By hand from the objective gap that the same run measures."""
    item = theorem("3.7")
    experiment = Experiment(problem=problem, rounds=6, seeds=4, tau=2)
    bounds = [item.case("strongly_convex").printed]
    (run,) = trainings(item, "strongly_convex", bounds, experiment)
    (found,) = measured(run, train(run))
    compared = against(item, "strongly_convex", bounds[0], found)
    gap = compared.band.mean[-1] / found.constants.initial_gap
    assert compared.progress == pytest.approx(1 - gap, rel=1e-12)
    assert 0 < compared.progress < 1


def test_the_table_holds_what_the_json_holds(told: dict) -> None:
    for _, records, out in told.values():
        rows = [*csv.DictReader((out / "table.csv").open(newline=""))]
        assert len(rows) == sum(len(record["rounds"]) for record in records)
        at = 0
        for record in records:
            part = rows[at : at + len(record["rounds"])]
            at += len(part)
            assert {(r["case"], r["version"]) for r in part} == {
                (record["case"], record["version"])
            }
            assert [int(r["round"]) for r in part] == record["rounds"]
            assert [float(r["bound"]) for r in part] == record["bound"]
            mean = [float(r["measured_mean"]) for r in part]
            assert mean == record["measured"]["mean"]
            if record["floor"] is not None:
                assert float(part[-1]["floor"]) == pytest.approx(record["floor"])


def test_a_proved_bound_is_its_own_repair_and_the_note_says_why() -> None:
    item = theorem("3.6")
    asked, notes = versions(item, [item.case("non_convex")], "repaired")
    assert asked["non_convex"] == [item.case("non_convex").printed]
    assert "proved as printed" in notes[0]
    assert "nothing is repaired" in notes[0]
    with pytest.raises(ValueError, match=r"has no version.*strongly_convex: printed"):
        versions(theorem("3.7"), [theorem("3.7").case("non_convex")], "sharper")


def test_unequal_periods_get_the_bounds_that_speak_of_them() -> None:
    """A bound on equal periods gives way to the one on any periods."""
    item = theorem("3.6")
    asked, _ = versions(item, [*item.cases.values()], "story", one_period=False)
    names = {case: [b.version for b in bounds] for case, bounds in asked.items()}
    assert names == {
        "strongly_convex": ["printed", "repaired", "any_periods"],
        "general_convex": ["printed", "any_periods"],
        "non_convex": ["printed"],
    }


def drawn(key: str, problem: str, *cases: str) -> tuple[
    Figure, list[Comparison], dict[str, Audited]
]:  # fmt: skip
    item = theorem(key)
    experiment = Experiment(
        problem=problem, rounds=8, seeds=3, tau=2, weights=(0.5, 0.3, 0.2)
    )
    asked, _ = versions(item, [item.case(c) for c in cases or item.cases], "story")
    comparisons = []
    for case, bounds in asked.items():
        for run in trainings(item, case, bounds, experiment):
            found = measured(run, train(run))
            comparisons += [
                against(item, case, bound, one)
                for bound, one in zip(run.bounds, found, strict=True)
            ]
    audits = {
        case: audited(item, case, [bound.version for bound in bounds])
        for case, bounds in asked.items()
    }
    known = {case: audit for case, audit in audits.items() if audit is not None}
    return plot.picture(comparisons, known), comparisons, known


def texts(figure: Figure) -> str:
    found = [text.get_text() for panel in figure.axes for text in panel.texts]
    found += [panel.get_title(loc="left") for panel in figure.axes]
    return re.sub(r"\s+", " ", " ".join(found))


@pytest.fixture(scope="module")
def picture(problem: str) -> tuple[Figure, list[Comparison], dict[str, Audited]]:
    return drawn("3.7", problem)


def test_the_picture_says_what_decides(picture: tuple) -> None:
    """Stamp, scope, ratio, floor, instance and the whole setting stand in it."""
    figure, comparisons, audits = picture
    assert len(figure.axes) == 2 * len(audits)
    words = texts(figure)
    for one in comparisons:
        assert f"{plot.times(one.verdict.tightness)} × measured" in words
        assert one.informative.words in words
    for audit in audits.values():
        stamp = f"{audit.printed.status.upper()} {audit.printed.scope}"
        assert f"printed bound {stamp}" in words
        assert audit.printed.claim in words
        assert f"violated from T = {audit.course.crossing:,}" in words
    for part in (
        "Theorem 3.7", "SFL-V2", "N = 3", "weights (0.5, 0.3, 0.2)", "all take part",
        "tau = 2", "eta = ", "seeds 0..2", "cut 2 of 4", "known without a bound",
    ):  # fmt: skip
        assert part in words, part
    for part in ("dirichlet", "batch"):  # a quadratic file has neither
        assert part not in words, part


def test_lines_are_told_apart_without_colour(picture: tuple) -> None:
    """Every bound of a panel has a dash and a marker of its own."""
    figure, _, _ = picture
    for panel in figure.axes[::2]:
        lines = [line for line in panel.lines if line.get_marker() not in {"None", ""}]
        kinds = [(str(line._dash_pattern), line.get_marker()) for line in lines]
        assert len(set(kinds)) == len(kinds) >= 2


def test_bounds_that_coincide_are_one_line_with_both_names(problem: str) -> None:
    """3.6 with equal periods: only the step sizes were repaired, and they agree."""
    figure, _, _ = drawn("3.6", problem, "strongly_convex")
    first = figure.axes[0]
    named = [text.get_text() for text in first.texts]
    assert any("printed =\nrepaired" in text for text in named)
    marked = [line for line in first.lines if line.get_marker() not in {"None", ""}]
    assert len(marked) == 2  # printed = repaired, and sharper


def test_names_end_before_the_next_panel(problem: str) -> None:
    """Names of curves do not run into the axis of the instance beside them.

    The best bound gets the longest name that there is.
    """
    case, audit, _, beside = beside_repaired(problem, "strongly_convex")
    best = sharpest(beside, audit)
    assert best is not None
    longest = replace(best, bound=replace(best.bound, version=plot.PROVED))
    figure = plot.picture([beside, longest], {case.name: audit})
    assert "round by round, proved is" in texts(figure)
    figure.canvas.draw()
    for panel, other in zip(figure.axes[::2], figure.axes[1::2], strict=True):
        start = other.get_tightbbox().x0
        for text in panel.texts:
            assert text.get_window_extent().x1 < start, text.get_text()


def test_no_title_is_cut_off(problem: str) -> None:
    """Above a stamp of four lines."""
    figure, _, _ = drawn("dachille2024/prop-1", problem)
    figure.canvas.draw()
    title = figure.axes[0]._left_title
    assert title.get_window_extent().y1 <= figure.bbox.y1


def test_the_best_bound_that_is_the_printed_one_is_named_once(problem: str) -> None:
    _, (printed, *_), audits = drawn("li2020/thm-1", problem)
    names = printed.theorem.case(printed.case).versions
    told = {name: name == "printed" for name in names}
    alone = replace(audits[printed.case], proved=told)
    best = sharpest(printed, alone)
    assert best is not None
    figure = plot.picture([printed, best], audits)
    named = [text.get_text() for text in figure.axes[0].texts]
    assert any("printed =\nbest" in text for text in named), named
    assert not any("best:" in text for text in named)


@pytest.mark.parametrize("key", ["3.6", "3.7", "3.8", "3.9"])
def test_the_instance_is_drawn_on_to_ten_times_the_crossing(key: str) -> None:
    """Below the bound before the crossing, above it right after and at the end."""
    for case in theorem(key).cases:
        if standing(theorem(key).key, case).status != "refuted":
            continue
        course = audited(theorem(key), case, versions=()).course
        assert course.rounds[-1] >= 10 * course.crossing
        above = course.left > course.right
        assert not above[course.rounds < course.crossing].any()
        assert above[course.rounds >= 1.2 * course.crossing].all()


def test_every_bound_belongs_to_a_claim() -> None:
    """Nothing that can be compared is without a word of the audit."""
    for item in theorems():
        for name in item.cases:
            assert standing(item.key, name) is not None, (item.key, name)
