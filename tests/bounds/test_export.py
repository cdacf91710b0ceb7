"""An exported folder replays alone, and what was tampered with is rejected."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import bounds.export
import bounds.mutate
from bounds.audit import main
from bounds.export import MANIFEST, export
from bounds.journal import Journal
from sfl_theory.benchmark import check as checker
from sfl_theory.benchmark.records import claim_record, sources
from sfl_theory.ledger import Entry, ledger
from sfl_theory.mutation import Judged

PROVED, REFUTED = "han2024/lemma-C.3", "dachille2024/eq-12"
CONTRARY, UNSTATED = "han2024/assumption-C.2/strongly_convex", ""
Record = dict[str, Any]


def entries() -> list[Entry]:
    claims = ledger().claims()
    bare = next(claim.id for claim in claims if not claim.parts)
    undecided = next(c.id for c in claims if any(p.by is None for p in c.parts))
    names = (PROVED, REFUTED, CONTRARY, bare, undecided)
    return [ledger().entry(name) for name in names]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("export") / "labels"
    assert export(folder, entries(), True) == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(made, tmp_path / "copy"))


def check(folder: Path, *options: str, script: Path | None = None) -> tuple[int, str]:
    """Run the checker with nothing of the repository in reach."""
    path = script or folder / "check.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(path), str(folder), "--jobs", "1", *options],
        capture_output=True,
        text=True,
        cwd="/",
        env={"PATH": os.defpath},
    )
    assert done.stderr == ""
    return done.returncode, done.stdout


@pytest.fixture(scope="module", autouse=True)
def kernel() -> None:
    """The checker's kernel in this process, for what is asked of one record."""
    checker.KERNEL.update(checker.loaded())


def refuses(record: Record) -> bool:
    """Return whether the checker rejects one record."""
    return checker.replayed(json.dumps(record))[2] is not None


def records(folder: Path, file: str = "claims.jsonl") -> list[Record]:
    return [json.loads(line) for line in (folder / file).read_text().splitlines()]


def sealed(folder: Path, file: str, changed: list[Record]) -> None:
    """Write records and make the digests again, as a forger would."""
    data = "".join(json.dumps(one) + "\n" for one in changed).encode()
    (folder / file).write_bytes(data)
    manifest = json.loads((folder / MANIFEST).read_text())
    manifest["files"][file] = sha256(data).hexdigest()
    (folder / MANIFEST).write_text(json.dumps(manifest))


def test_every_label_is_replayed_from_the_folder_alone(folder: Path) -> None:
    code, told = check(folder)
    assert code == 0, told
    claims, mutants = records(folder), records(folder, "mutants.jsonl")
    for file, among in (("claims", claims), ("mutants", mutants)):
        labels = [one["label"] for one in among]
        proved, refuted = labels.count("proved"), labels.count("refuted")
        assert (
            f"{file}.jsonl: {len(among)} records, {proved} proved, {refuted} r" in told
        )
        assert set(labels) == {"proved", "refuted", "open"}
    assert "every label was replayed" in told


def test_the_repository_checks_a_folder_with_its_own_kernel(folder: Path) -> None:
    own = Path(checker.__file__)
    (folder / "kernel" / "rules.py").write_text("raise SystemExit(0)")
    code, told = check(folder, script=own)
    assert code == 1
    assert "kernel/rules.py: changed since it was exported" in told
    assert "1 rejected" in told


def test_labels_are_those_of_the_ledger(made: Path) -> None:
    found = records(made)
    for entry in entries():
        own = [one for one in found if one["claim"] == entry.claim.id]
        printed = [one for one in own if one["role"] == "printed"]
        assert all(one["claim_status"] == entry.outcome.status for one in printed)
        assert len(printed) == max(1, len(entry.claim.parts))
        if entry.claim.id == CONTRARY:
            assert {(one["label"], one["contrary"]) for one in printed} == {
                ("refuted", True)
            }
        if entry.claim.id == PROVED:
            assert {one["label"] for one in printed} == {"proved"}
    assert {one["severity"] for one in found if one["label"] != "refuted"} == {None}


def test_what_confirms_a_paper_is_not_counted_as_its_error(made: Path) -> None:
    (row,) = re.findall(
        r"\| no error: `contrary` \|.*", (made / "README.md").read_text()
    )
    count = sum(one["contrary"] for one in records(made))
    assert row.split("|")[-2].strip() == str(count) != "0"


def test_statements_of_no_paper_say_so() -> None:
    name = "li2020/thm-1/linear-speedup"
    (source,) = sources([ledger().entry(name)])
    assert claim_record(source)["role"] == "added"


def test_mutants_name_their_statement(made: Path) -> None:
    names = {one["id"] for one in records(made)}
    for mutant in records(made, "mutants.jsonl"):
        assert mutant["of"] in names
        assert mutant["latex"]["statement"]
        assert (mutant["evidence"] is None) is (mutant["label"] == "open")


def flipped(one: Record) -> None:
    one["label"] = "refuted" if one["label"] == "proved" else "proved"


def exchanged(one: Record) -> None:
    said, reads = one["statement"], one["reads"]
    said["left"], said["right"] = said["right"], said["left"]
    reads["left"], reads["right"] = reads["right"], reads["left"]


def without_hypothesis(one: Record) -> None:
    """Take the first one away, in the words, too: the proof needs it."""
    one["statement"]["hypotheses"].pop(0)
    one["reads"]["assuming"].pop(0)


def without_reading(one: Record) -> None:
    one["statement"]["hypotheses"].pop(0)


def other_relation(one: Record) -> None:
    one["statement"]["equal"] = not one["statement"]["equal"]
    one["reads"]["relation"] = "=" if one["statement"]["equal"] else "<="


def bare(one: Record) -> None:
    one["evidence"] = None


def opened(one: Record) -> None:
    one["label"] = "open"


def unknown(one: Record) -> None:
    one["label"] = "true"


def cut_short(one: Record) -> None:
    one["evidence"]["steps"] = one["evidence"]["steps"][:-1]


def more_evidence(one: Record) -> None:
    one["evidence"]["claims"] = []


def other_words(one: Record) -> None:
    one["reads"]["right"] += " + sigma2"


def lacking(one: Record) -> None:
    del one["reads"]


@pytest.mark.parametrize(
    "change",
    [
        *(flipped, exchanged, without_hypothesis, without_reading, other_relation),
        *(bare, opened, unknown, cut_short, more_evidence, other_words, lacking),
    ],
)
def test_a_forged_proof_is_rejected(
    made: Path, change: Callable[[Record], None]
) -> None:
    one = next(one for one in records(made) if one["id"].startswith(PROVED))
    assert not refuses(one)
    change(one)
    assert refuses(one)


@pytest.mark.parametrize(
    "change", [flipped, exchanged, bare, opened, other_words, more_evidence]
)
def test_a_forged_refutation_is_rejected(
    made: Path, change: Callable[[Record], None]
) -> None:
    found = records(made, "mutants.jsonl")
    one = next(one for one in found if one["label"] == "refuted")
    assert not refuses(one)
    change(one)
    assert refuses(one)


def test_evidence_of_another_statement_is_rejected(made: Path) -> None:
    """A proof of any other one; a model of one that is no neighbour.

    A model may break several neighbours of one statement.
    """
    found = [*records(made, "mutants.jsonl"), *records(made)]
    for label in ("proved", "refuted"):
        own = [one for one in found if one["label"] == label]
        assert len({origin(one) for one in own}) > 1
        for one, after in zip(own, own[1:] + own[:1], strict=True):
            far = next(other for other in own if origin(other) != origin(one))
            for other in (after, far) if label == "proved" else (far,):
                assert other["evidence"] != one["evidence"]
                assert refuses({**one, "evidence": other["evidence"]})


def origin(one: Record) -> str:
    """Return the claim that a record is of, or of whose neighbour."""
    return str(one["id"]).split("--")[0]


def test_the_label_of_other_evidence_is_rejected(made: Path) -> None:
    found = records(made)
    one, other = (
        next(r for r in found if r["id"].startswith(name)) for name in (PROVED, REFUTED)
    )
    for key, of in ((one, other), (other, one)):
        assert refuses({**key, "evidence": of["evidence"], "label": of["label"]})


def test_a_forged_record_is_rejected_in_a_folder_sealed_again(folder: Path) -> None:
    found = records(folder)
    exchanged(found[0])
    sealed(folder, "claims.jsonl", [*found, found[1]])
    code, told = check(folder)
    assert code == 1
    assert f"claims.jsonl 1 {PROVED}" in told
    assert "two records have this id" in told
    assert "2 rejected" in told


def test_a_changed_file_is_rejected(folder: Path) -> None:
    """LaTeX is not replayed, but a file is the one that was exported, or none."""
    path, manifest = folder / "claims.jsonl", folder / MANIFEST
    whole = path.read_text()
    for damage in (whole.replace("mathbb", "mathbf", 1), whole + "\n", ""):
        path.write_text(damage)
        assert [*checker.sealed(folder)] == [
            "claims.jsonl: changed since it was exported"
        ]
    path.unlink()
    assert [*checker.sealed(folder)] == ["claims.jsonl: missing"]
    path.write_text(whole)
    assert [*checker.sealed(folder)] == []
    for broken in ("", "[]", "{}", '{"files": {}}'):
        manifest.write_text(broken)
        assert [*checker.sealed(folder)]
    code, told = check(folder)
    assert code == 1
    assert "REJECTED manifest.json" in told


@pytest.mark.parametrize("name", ["han2024/eq-62", "huang2023/eq-16"])
def test_what_was_read_before_does_not_matter(name: str) -> None:
    """How the kernel arranges denominators depends on it; the label does not."""
    (source,) = sources([ledger().entry(name)])[:1]
    record = json.loads(json.dumps(claim_record(source)))
    assert not refuses(record)
    record["reads"]["assuming"].append("f is nice")
    assert refuses(record)


def test_one_record_is_shown_as_the_kernel_reads_it(folder: Path) -> None:
    code, told = check(folder, "--id", PROVED)
    assert code == 0
    assert f"{PROVED}: proved" in told
    assert check(folder, "--id", "nobody")[0] == 1
    assert check(folder, "--what")[0] == 2


def test_the_card_counts_what_the_files_hold(made: Path) -> None:
    card = (made / "README.md").read_text()
    assert card.startswith("---\npretty_name: ")
    found = records(made, "mutants.jsonl")
    labels = [one["label"] for one in found]
    counts = [labels.count(label) for label in ("proved", "refuted", "open")]
    assert f"| **all** | {' | '.join(map(str, (*counts, len(found))))} |" in card
    for one in (*records(made)[:1], *found[:1]):
        assert all(f"`{key}`" in card for key in one)


# What users do wrong ------------------------------------------------------------------


def refused(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(list(arguments))
    assert stopped.value.code == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert told.err.count("\n") == 1
    assert "Traceback" not in told.err
    return told.err


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_a_folder_with_files_of_others_is_left_alone(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "claims.jsonl").write_text("mine")
    told = refused(capsys, "--export", str(tmp_path), "--claim", PROVED)
    assert "no export" in told
    assert contents(tmp_path) == {"claims.jsonl": b"mine"}


def edit(folder: Path) -> None:
    (folder / "README.md").write_text("my notes")


def link(folder: Path) -> None:
    target = folder.parent / "elsewhere"
    (folder / "claims.jsonl").rename(target)
    (folder / "claims.jsonl").symlink_to(target)


def add(folder: Path) -> None:
    manifest = json.loads((folder / MANIFEST).read_text())
    del manifest["files"]["check.py"]
    (folder / MANIFEST).write_text(json.dumps(manifest))


@pytest.mark.parametrize("found", ["refuted", "wrongly proved"])
def test_a_defect_of_the_kernel_is_told(
    found: str,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A mutant that is proved and refuted is named, and the status is 1."""
    one = Judged(PROVED, "term dropped", "without 1", found, "numbers", None)
    monkeypatch.setattr("bounds.export.mutate", lambda *_, **__: [one])
    wrong = found == "wrongly proved"
    assert export(tmp_path / "labels", [ledger().entry(PROVED)], True) == wrong
    line = f"WRONGLY PROVED {PROVED}: without 1" if wrong else "no mutant is wrongly"
    assert line in capsys.readouterr().out


@pytest.mark.parametrize("change", [edit, link, add])
def test_what_another_hand_changed_is_left_alone(
    folder: Path, capsys: pytest.CaptureFixture[str], change: Callable[[Path], None]
) -> None:
    change(folder)
    before = contents(folder)
    told = refused(capsys, "--export", str(folder), "--claim", PROVED, "--mutate")
    assert "changed by another hand" in told
    assert contents(folder) == before


def test_mutants_are_not_lost(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = contents(folder)
    told = refused(capsys, "--export", str(folder), "--claim", PROVED)
    assert "add --mutate" in told
    assert contents(folder) == before


def test_a_file_in_the_place_of_the_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")
    assert "is a file" in refused(capsys, "--export", str(tmp_path / "file"))
    assert "not a folder" in refused(capsys, "--export", str(tmp_path / "file" / "x"))


def test_an_export_is_replaced_by_the_next_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "labels"
    assert main(["--export", str(out), "--claim", PROVED]) == 0
    (out / "my-own.txt").write_text("mine")
    assert main(["--export", str(out), "--claim", REFUTED]) == 0
    assert {one["claim"] for one in records(out)} == {REFUTED}
    assert (out / "my-own.txt").read_text() == "mine"
    assert check(out)[0] == 0
    assert "records" in capsys.readouterr().out


# Stopped and gone on with -------------------------------------------------------------


@pytest.fixture
def stops(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Let the user stop a run after its second statement; return what was judged."""
    judged: list[str] = []
    real = bounds.mutate.judge

    def judge(*given: Any, **wanted: Any) -> list[Judged]:
        if len(judged) == 2:
            judged.append("stopped")
            raise KeyboardInterrupt
        judged.extend(wanted["wanted"])
        return real(*given, **wanted)

    monkeypatch.setattr("bounds.mutate.judge", judge)
    here = partial(bounds.mutate.mutate, jobs=1)
    monkeypatch.setattr("bounds.export.mutate", here)
    return judged


def some() -> list[Entry]:
    names = ("han2024/eq-2", "han2024/prop-3.5", PROVED)
    return [ledger().entry(name) for name in names]


def test_a_stopped_export_goes_on(
    tmp_path: Path, stops: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "labels"
    assert export(out, some(), True) == 0
    assert "interrupted" in (out / "README.md").read_text()
    part = records(out, "mutants.jsonl")
    assert check(out)[0] == 0
    bounds.export.check_folder(out)
    first = list(stops)
    assert export(out, some(), True) == 0
    assert len(stops) == len(set(stops))  # nothing is judged twice
    assert first[:2] == stops[:2]
    whole = records(out, "mutants.jsonl")
    assert len(whole) > len(part)
    assert all(one in whole for one in part)
    assert not (out / bounds.export.JOURNAL).exists()
    assert "interrupted" not in (out / "README.md").read_text()
    assert check(out)[0] == 0


def test_a_stopped_mutation_run_goes_on(tmp_path: Path, stops: list[str]) -> None:
    journal = Journal(tmp_path / "run.part")
    claims = [entry.claim for entry in some()]
    part = bounds.mutate.mutate(claims, 1, journal)
    again = Journal(tmp_path / "run.part")
    whole = bounds.mutate.mutate(claims, 1, again)
    assert again.done == again.total > journal.done > 0
    assert [one for one in whole if one in part] == part
    assert whole == bounds.mutate.mutate(claims, 1)


@pytest.mark.whole
def test_the_whole_ledger_is_exported_and_replayed(tmp_path: Path) -> None:
    everything = [ledger().entry(claim.id) for claim in ledger().claims()]
    assert export(tmp_path / "labels", everything, False) == 0
    code, told = check(tmp_path / "labels")
    assert code == 0, told
