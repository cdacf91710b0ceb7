"""``bounds.audit --mutate``: figures, JSON, and exit status 1 for a broken checker."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import bounds.mutate
import bounds.mutation_figures as figures
from bounds.audit import main
from sfl_theory.ledger import ledger
from sfl_theory.mutation import SUBJECTS, Judged

CLAIM, MORE = "han2024/lemma-C.3", "han2024/app-C.4/smooth-mean"
SOME = (
    "han2024/eq-57", "han2024/eq-103", "huang2023/eq-15", "li2020/lemma-3",
    "dachille2024/table-4/v2-range-cifar100",
)  # fmt: skip


def test_figures_and_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "mutants.json"
    assert main(["--mutate", "--claim", CLAIM, "--json", str(out)]) == 0
    printed = capsys.readouterr().out
    found = json.loads(out.read_text())
    total = found["total"]
    assert sum(total.values()) == len(found["mutants"]) > 0
    assert total["wrongly proved"] == 0
    assert total["refuted"] > 0
    assert f"{len(found['mutants'])} mutants" in printed
    assert found["headline"] == total  # this claim is about functions
    assert found["refuted_of_not_proved"] == total["refuted"] / (
        total["refuted"] + total["undecided"]
    )
    for mutant in found["mutants"]:
        assert mutant["claim"].startswith(CLAIM)
        assert mutant["change"]


def test_a_checker_that_accepts_everything_gives_exit_status_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "sfl_theory.mutation.judged._proof", lambda one, known, seen: known[0]
    )
    assert main(["--mutate", "--claim", CLAIM]) == 1
    assert "WRONGLY PROVED" in capsys.readouterr().out


def test_figures_that_are_no_instances_are_counted_apart() -> None:
    def of(subject: str) -> Judged:
        return Judged("", "constant halved", "", "refuted", subject)

    found = json.loads(figures.as_json([of(one) for one in SUBJECTS]))
    assert found["headline"]["refuted"] == len(SUBJECTS) - 1
    assert found["total"]["refuted"] == len(SUBJECTS)
    assert found["kind"]["numbers"]["refuted"] == 1
    assert found["operator"]["constant halved"]["refuted"] == len(SUBJECTS) - 1


def test_no_mutant_is_wrongly_proved() -> None:
    """A claim or two of each paper; larger samples under `long`."""
    some = bounds.mutate.mutate([ledger().claim(name) for name in SOME], 1)
    assert figures.exit_status(some) == 0
    assert {"proved", "refuted"} <= {one.verdict for one in some}


@pytest.mark.long
def test_no_mutant_of_the_ledger_is_wrongly_proved() -> None:
    """Every fortieth claim and four more; the whole takes half an hour by hand."""
    claims = ledger().claims()
    found = bounds.mutate.mutate(claims[::40] + claims[7::150])
    assert figures.exit_status(found) == 0
    assert figures.counted(found)["refuted"] > len(found) / 4


def test_processes_do_not_change_the_verdicts() -> None:
    claims = [ledger().claim(CLAIM), ledger().claim("han2024/prop-3.5")]
    assert bounds.mutate.mutate(claims, 1) == bounds.mutate.mutate(claims, 2)


def test_what_is_judged_before_an_interruption_is_shown(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stopped(*given: object, **wanted: object) -> list[Judged]:
        raise KeyboardInterrupt

    monkeypatch.setattr("bounds.mutate.judge", stopped)
    assert bounds.mutate.mutate([ledger().claim(CLAIM)], 1) == []
    assert "interrupted: 1 statements are not judged" in capsys.readouterr().err


@pytest.mark.parametrize(
    "given",
    [
        ["--minutes", "4"],
        ["--mutate", "--minutes", "0"],
        ["--mutate", "--minutes", "-1"],
        ["--mutate", "--minutes", "nan"],
        ["--mutate", "--minutes", "inf"],
        ["--mutate", "--minutes", "soon"],
        ["--mutate", "--minutes"],
    ],
)
def test_a_wrong_time_is_told_in_a_line(
    given: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--claim", CLAIM, *given])
    assert stopped.value.code == 2
    told = capsys.readouterr().err
    assert told.count("\n") == 1
    assert "--minutes" in told


def test_a_part_is_judged_in_time_and_gone_on_with(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A statement in a blink, the next by the same command, then nothing is left."""
    out = tmp_path / "mutants.json"
    command = ["--mutate", "--claim", MORE, "--json", str(out)]
    claim = ledger().claim(MORE)
    every = bounds.mutate.subjects(bounds.mutate.statements([claim]))
    assert len(every) > 1
    for done in range(1, len(every) + 1):
        assert main([*command, "--minutes", "1e-9"]) == 0
        told = capsys.readouterr()
        found = json.loads(out.read_text())
        assert f"{len(every) - done + 1} statements, about" in told.err
        assert len({one["claim"] for one in found["mutants"]}) == done
        part = f"{done} of {len(every)} statements, in a random order"
        if done < len(every):
            assert part in " ".join(told.out.split())
            assert found["statements_judged_of"]["functions and vectors"] == [
                done,
                len(every),
            ]
            low, high = found["refuted_of_not_proved_within"]
            assert low <= found["refuted_of_not_proved"] <= high
        else:
            assert part not in " ".join(told.out.split())
            assert "statements_judged_of" not in found
    assert not out.with_name("mutants.json.part").exists()
    whole = bounds.mutate.mutate([claim], 1)
    assert found["total"] == figures.counted(whole)


def test_what_a_process_raises_is_raised_here(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*given: object, **wanted: object) -> list[Judged]:
        raise ArithmeticError("as planned")

    monkeypatch.setattr("bounds.mutate.judge", fails)
    with pytest.raises(ArithmeticError, match="as planned"):
        bounds.mutate.mutate([ledger().claim("han2024/prop-3.5")], 2)


def test_a_page_and_mutants_exclude_each_other(tmp_path: Path) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--mutate", "--html", str(tmp_path / "page.html")])
    assert stopped.value.code == 2
