"""A paper that only its own folder names is compared like the others."""

from pathlib import Path

from bounds.compare import main


def test_the_bound_is_compared_with_a_run(tmp_path: Path) -> None:
    """The command trains FedAvg with rates of steps; nothing else names the paper."""
    options = ["--rounds", "3", "--seeds", "2", "--clients", "2", "--quiet"]
    options += ["--version", "both"]  # the others are in test_story.py
    out = ["--out", str(tmp_path / "out")]
    assert main(["--theorem", "li2020/thm-1", *options, *out]) == 0
