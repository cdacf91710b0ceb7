"""``bounds.worst_case --table``: bounds over certified values, each of its own run."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bounds.worst_case import _parser, main
from bounds.worst_case_table import FAR, asked, terms
from sfl_theory.worst_case import solve
from sfl_theory.worst_case.rounding import NotRoundedError


def rows(tmp_path: Path, told: str) -> list[dict[str, object]]:
    path = tmp_path / "table.json"
    assert main([*told.split(), "--certify", "--quiet", "--json", str(path)]) == 0
    return json.loads(path.read_text())["table"]


def test_the_strongly_convex_numbers_are_those_of_the_formulas(tmp_path: Path) -> None:
    r"""At kappa = 10 the worst case is $\frac{G^2}{2\mu}\prod_t(1-\mu\eta_t)^{2\tau}$.

    (11) without noise is $\frac{8SG^2}{\mu^2(\gamma+T)}
    +\frac{768S^2G^2}{\mu^3(\gamma+T)(\gamma+1)}+\frac{S(\gamma+1)G^2}{2\mu^2(\gamma+T)}$.
    """
    found = rows(tmp_path, "--table 4 --theorem 3.6 --case strongly_convex")
    (one,) = (r for r in found if (r["tau"], r["rounds"], r["kappa"]) == (2, 2, 10))
    mu, gamma, T = 0.1, 79, 2
    exact = 1 / (2 * mu)
    for t in range(T):
        exact *= (1 - 4 / (2 * (gamma + t))) ** 4
    assert one["certified"] == pytest.approx(exact, rel=1e-6)
    noise = 8 / (mu**2 * (gamma + T))
    drift = 768 / (mu**3 * (gamma + T) * (gamma + 1))
    start = (gamma + 1) / (2 * mu**2 * (gamma + T))
    printed = (noise + drift + start) / exact
    assert one["printed"] == pytest.approx(printed, rel=1e-6)
    assert one["best"] == pytest.approx(noise / 2 / exact, rel=1e-6)
    assert (one["version"], one["clients"]) == ("sharper", None)


def test_a_proved_bound_is_above_what_it_bounds(tmp_path: Path) -> None:
    found = rows(tmp_path, "--table 2")
    assert {r["theorem"] for r in found} == {"han2024/thm-3.6", "han2024/thm-3.7"}
    cases = {r["case"] for r in found}
    assert cases == {"strongly_convex", "general_convex", "non_convex"}
    for r in found:
        for name in ("repaired", "best"):
            assert r[name] is None or r[name] >= 1 - 1e-6
        far = r["best"] is not None and r["best"] > FAR
        assert (r["largest"] is not None) is far
    assert any(r["largest"] for r in found)


def test_a_bound_is_compared_with_a_run_at_its_own_rates(tmp_path: Path) -> None:
    """SFL-V2's nearest true bounds stand for a server that steps 1/N as far."""
    found = rows(tmp_path, "--table 2 --theorem 3.7")
    assert {r["rates"] for r in found} == {"printed", "repaired"}
    for r in found:
        assert r["printed" if r["rates"] == "repaired" else "repaired"] is None
        equal = r["case"] != "general_convex"
        if r["rates"] == "printed":
            assert r["version"] == ("equal_weights" if equal else None)


def test_a_bound_is_compared_with_its_own_left_side(tmp_path: Path) -> None:
    found = rows(tmp_path, "--table 1 --theorem 3.6 --case general_convex")
    left = {r["left"]: r for r in found}
    last, mean = left["objective_gap"], left["weighted_gap"]
    assert last["printed"]
    assert last["repaired"] is None
    assert mean["printed"] is None
    assert mean["repaired"]
    assert mean["certified"] == pytest.approx(0.5 * 0.5, rel=1e-6)


def test_for_all_clients_the_bounds_know_no_number_of_them() -> None:
    plain = _parser().parse_args([])
    options = _parser().parse_args(["--table", "2", "--theorem", "3.6"])
    runs, known = asked(options, plain)
    for run in runs:
        five = run.constants.with_values(weights=(1 / 5,) * 5)
        bounds = known[run.case.theorem, run.case.name].values()
        for bound in (run.case.printed, *bounds):
            here, there = (
                terms(bound, one, run.rounds, run.schedule)
                for one in (run.constants, five)
            )
            assert here == (there and pytest.approx(there, rel=1e-12))


def test_without_a_certificate_nothing_is_divided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise NotRoundedError("planted")

    monkeypatch.setattr(solve, "_certified", fail)
    path = tmp_path / "table.json"
    told = ["--table", "1", "--case", "non_convex", "--certify", "--quiet"]
    assert main([*told, "--json", str(path)]) == 1
    for r in json.loads(path.read_text())["table"]:
        names = ("certified", "printed", "repaired", "best", "largest")
        assert [r[name] for name in names] == [None] * 5


def test_lines_fit_a_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--table", "1", "--quiet"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80


@pytest.mark.parametrize("number", ["3.8", pytest.param("3.9", marks=pytest.mark.long)])
def test_theorems_with_participation_have_rows_of_all_outcomes(
    number: str, tmp_path: Path
) -> None:
    """Two clients that take part with probability 1/2, beside what is proved of it."""
    found = rows(tmp_path, f"--table 4 --theorem {number} --case general_convex")
    assert {row["theorem"] for row in found} == {f"han2024/thm-{number}"}
    assert {row["clients"] for row in found} == {2}
    assert {row["rounds"] for row in found} == {1, 2}
    proved = [float(str(row["best"])) for row in found if row["best"] is not None]
    assert len(proved) > 3
    assert min(proved) >= 1
