"""What a mutation run keeps goes on; what is the user's or damaged is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from bounds.journal import Journal
from sfl_theory.mutation import Judged


def test_a_journal_of_other_code_or_cut_off_is_not_mixed_in(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / "run.part"
    journal = Journal(path)
    one = Judged("a", "constant halved", "x", "refuted", "numbers")
    journal.add("a", [one], [])
    journal.add("b", [one], [])
    path.write_bytes(path.read_bytes()[:-5])
    assert Journal(path).verdicts == {"a": [one]}
    monkeypatch.setattr("bounds.journal._code", lambda: "other")
    assert Journal(path).verdicts == {}
    assert "begun anew" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"half of a film", "no journal"),
        (b'{"a":' * 5000, "no journal"),
        (None, "link"),
    ],
)
def test_a_file_of_the_user_is_no_journal(content, words, tmp_path) -> None:
    """It was removed, as one that had been begun with other code."""
    path = tmp_path / "run.part"
    if content is None:
        (tmp_path / "thesis").write_bytes(b"mine")
        path.symlink_to("thesis")
    else:
        path.write_bytes(content)
    kept = path.read_bytes()
    with pytest.raises(ValueError, match=words):
        Journal(path)
    assert path.read_bytes() == kept


@pytest.mark.parametrize("line", ["{}", "[]", '{"statement":"a","verdicts":[{}]}', "["])
def test_a_damaged_journal_is_named(line, tmp_path) -> None:
    path = tmp_path / "run.part"
    Journal(path).add("a", [], [])
    with path.open("a") as stream:
        stream.write(line + "\n")
    with pytest.raises(ValueError, match="damaged"):
        Journal(path)
