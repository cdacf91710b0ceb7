"""The ledger: statuses are earned now, and what is proved survives a search."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from test_local_sgd_rules import Federation, N, masked

from bounds.audit import main
from sfl_theory import theorems
from sfl_theory.audits import LEDGER
from sfl_theory.evidence.claim import Proof, Refutation, Terms
from sfl_theory.evidence.ledger import decide
from sfl_theory.evidence.standing import standing

EXPECTED = {
    "proved": [
        "han2024/prop-3.5",
        "han2024/lemma-C.3",
        "han2024/lemma-C.5",
        "han2024/lemma-C.6",
        "han2024/thm-3.6/non_convex",
        "han2024/thm-3.8/non_convex",
        "dachille2024/prop-1",
    ],
    "refuted": [
        "han2024/lemma-C.7",
        "han2024/lemma-D.1",
        "han2024/lemma-E.1",
        *(
            f"han2024/thm-{number}/{case}"
            for number in ("3.6", "3.7", "3.8", "3.9")
            for case in ("strongly_convex", "general_convex")
        ),
        "han2024/thm-3.7/non_convex",
        "han2024/thm-3.9/non_convex",
        "huang2023/prop-1",
    ],
}
CLAIMS = LEDGER.claims()


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_earns_what_it_is_entered_for(claim) -> None:
    """A proof that is rejected or an instance that fails would show here."""
    wanted = {Proof: "proved", Refutation: "refuted"}
    for identifier, evidence in (
        (claim.id, claim.evidence),
        (f"{claim.id}#repair", claim.repair.evidence if claim.repair else None),
    ):
        if evidence is not None:
            outcome = decide(identifier, evidence)
            declared = wanted.get(type(evidence), "unproved")
            if isinstance(evidence, Terms):
                declared = evidence.declared
            assert outcome.status == declared, outcome.lines


@pytest.mark.parametrize("status", EXPECTED)
def test_known_statuses(status: str) -> None:
    for identifier in EXPECTED[status]:
        assert LEDGER.entry(identifier).outcome.status == status, identifier


def test_every_theorem_case_has_an_entry() -> None:
    """Each bound of the library is decided or honestly open in the ledger."""
    ids = {claim.id for claim in CLAIMS}
    for item in theorems():
        for case in item.cases:
            assert {item.key, f"{item.key}/{case}"} & ids, item.key


def test_repaired_bounds_of_the_library_are_proved_in_the_ledger() -> None:
    """``bound("repaired")`` exists only where the ledger proves the repair."""
    for item in theorems():
        for name, case in item.cases.items():
            if case.repaired is not None:
                entry = LEDGER.entry(standing(item.key, name).claim)
                assert entry.repair is not None
                assert entry.repair.status == "proved", entry.repair.lines


@pytest.mark.parametrize("seed", range(24))
def test_no_violation_of_the_proved_round_of_v1(seed: int) -> None:
    """One round of (13) and (19) on random federations, expectations enumerated."""
    rng = np.random.default_rng(seed)
    tau, tau_server = [(2, 2), (2, 1), (1, 2), (3, 1)][seed % 4]
    q = (0.5, 0.8) if seed % 2 else (1.0, 1.0)
    fed = Federation(rng, tau, tau_server, q=q)
    b = N * fed.a**2 / np.array(q)
    most, least, kappa = fed.steps, min(tau, tau_server), float(b.sum())
    limit = min(1 / (16 * fed.S * most), least / (8 * fed.S * most**2 * kappa))
    fed.eta = limit * (1.0 if seed % 3 else rng.uniform(0.1, 1))
    A, c = np.tensordot(fed.a, fed.A, 1), fed.a @ fed.b

    def value(x: np.ndarray) -> float:
        return float(x @ A @ x / 2 - c @ x)

    def after(o) -> float:
        w = fed.a * o.present / np.array(q)
        return value(fed.x - fed.eta * (w @ masked(fed, o.exact + o.noise)))

    at_x = np.stack([fed.gradient(n, fed.x) for n in range(N)])
    mean = fed.a @ at_x
    eps2 = float(((at_x - mean) ** 2).sum(1).max())
    left = fed.eta * least / 4 * float(mean @ mean)
    right = value(fed.x) - float(fed.mean(after))
    right += (
        2 * fed.S * (tau**2 + tau_server**2) * fed.eta**2
        * float(b @ (fed.scale**2 + eps2))
    )  # fmt: skip
    assert left <= right + 1e-12


def test_command_prints_every_entry(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "250")
    assert main(["--paper", "dachille2024"]) == 0
    out = capsys.readouterr().out
    assert all(
        claim.id.removeprefix("dachille2024/") in out
        for claim in LEDGER.claims("dachille2024")
    )


def test_command_shows_one_entry_and_writes_json(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "entries.json"
    name = "han2024/lemma-C.7"
    assert main(["--claim", name, "--json", str(path)]) == 0
    out = capsys.readouterr().out
    assert "margin" in out
    (entry,) = json.loads(path.read_text())
    assert entry["id"] == name
    assert entry["status"] == "refuted"
    assert entry["repair"]["status"] == "proved"
    assert set(entry) >= {
        "id", "location", "kind", "statement", "status", "method", "evidence",
        "reproduce", "depends_on", "repair",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("line", "word"),
    [
        (["--claim", "han2024/lemma-Z.9"], "--claim"),
        (["--paper", "nobody2020"], "--paper"),
        (["--claim", "han2024/prop-3.5", "--json", "/proc/no/x.json"], "--json"),
    ],
)
def test_mistakes_are_one_line_and_status_2(
    line: list[str], word: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as stop:
        main(line)
    err = capsys.readouterr().err
    assert stop.value.code == 2
    assert err.count("\n") == 1
    assert word in err
