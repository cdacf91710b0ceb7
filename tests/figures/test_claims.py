"""Verdicts on planted data: true, false, undecidable; families; missing runs."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from planted_figures import claim_named, plant
from planted_runs import end

from figures.__main__ import main
from figures.claims import Claim, Exceeds, Within
from figures.effects import Curves, Place, along, average, level, slope, spread
from figures.grid import folder
from figures.invariance import is_zero
from figures.judging import (
    ALPHA,
    Judgement,
    Untested,
    families,
    judge,
    measure,
    plan,
    resolved,
    results,
)
from figures.observing import Observer
from figures.papers import BY_KEY
from figures.papers.claims import CLAIMS
from figures.scale import CPU, PRESETS
from figures.summaries import Observed, early, final
from sfl_theory.ledger import ledger

FIG2, FIG5 = "han2024/fig-2", "han2024/fig-5"
ROUNDS = np.arange(1.0, 11.0)


def flat(levels: np.ndarray) -> Observed:
    """Return constant curves, one per seed."""
    return Observed(ROUNDS, np.repeat(levels[:, None], ROUNDS.size, axis=1))


def places(figure: str, panel: int, count: int) -> list[Place]:
    return [Place(figure, panel, k) for k in range(count)]


def verdict(name: str, root: Path) -> Judgement:
    (found,) = results([claim_named(name)], CPU, root)
    assert isinstance(found, Judgement)
    return found


def judged(claim: Claim, curves: Curves, family: int) -> Judgement:
    """Return the verdict on a claim in a family of a size, the others untested."""
    found = judge([claim], {claim.id: measure(claim, curves, CPU)}, family)[claim.id]
    assert isinstance(found, Judgement)
    return found


def test_catalogue_is_sound() -> None:
    """Ids are unique, curves exist, every audit link leads to an entry."""
    assert len({claim.id for claim in CLAIMS}) == len(CLAIMS)
    entries = {claim.id for claim in ledger().claims()}
    for claim in CLAIMS:
        assert set(claim.audit) <= entries
        assert claim.quote and claim.location and claim.reading
        for place in claim.places:
            assert place.declared
    spoken_of = {key for claim in CLAIMS for key in claim.figures}
    assert {key for key, figure in BY_KEY.items() if figure.panels} == spoken_of


def test_contrasts_are_what_they_say() -> None:
    """Slope per step, difference, interaction and average, against plain numbers."""
    a, b, c, d = places(FIG5, 0, 4)
    curves = {
        place: flat(np.array([x, x + 1.0]))
        for place, x in zip((a, b, c, d), (1.0, 3.0, 5.0, 7.0), strict=True)
    }
    assert along(FIG5, 0).per_seed(curves) == pytest.approx([2.0, 2.0])
    gap = level(FIG5, 0, "SFL-V2") - level(FIG5, 0, "SFL-V1")
    assert gap.per_seed(curves) == pytest.approx([2.0, 2.0])
    assert slope([gap, gap * 3.0]).per_seed(curves) == pytest.approx([4.0, 4.0])
    assert average([gap, -gap]).per_seed(curves) == pytest.approx([0.0, 0.0])
    with pytest.raises(ValueError, match="expected one of"):
        level(FIG5, 0, "FedProx")


def test_spread_has_no_bonus_for_noise() -> None:
    """Equal levels with noise: the mean range is near zero, not near the noise."""
    draws = np.random.default_rng(1)
    levels = [level(FIG5, 0, k) for k in range(4)]
    found = []
    for _ in range(400):
        curves = {p: flat(draws.normal(50, 5, 3)) for p in places(FIG5, 0, 4)}
        found.append(spread(levels).per_seed(curves).mean())
    assert abs(np.mean(found)) < 1.0


def test_true_false_and_undecidable(tmp_path: Path) -> None:
    """The sentence "accuracy increases in Lc" for SFL-V2 on three planted worlds."""
    worlds = {
        "reproduced": lambda c, r: 0.4 + 0.1 * c.cut + r.normal(0, 1e-3),
        "not reproduced": lambda c, r: 0.9 - 0.1 * c.cut + r.normal(0, 1e-3),
        "undecided": lambda c, r: 0.5 + 0.01 * c.cut + r.normal(0, 0.05),
    }
    for expected, world in worlds.items():
        root = tmp_path / expected
        plant(FIG2, root, world)
        found = verdict(f"{FIG2}/cut-v2", root)
        assert found.verdict == expected
        assert found.part.unit == "points"
    assert found.part.seeds_to_decide is None or found.part.seeds_to_decide > 3


def test_coinciding_curves_have_no_effect(tmp_path: Path) -> None:
    """Curves that agree in every round do not increase, and they are stable."""
    table = "dachille2024/table-3"
    same = {seed: 0.5 + 0.1 * seed for seed in CPU.seeds}
    plant(FIG2, tmp_path, lambda c, r: same[c.seed])
    plant(table, tmp_path, lambda c, r: same[c.seed])
    increases = verdict(f"{FIG2}/cut-v1", tmp_path)
    assert increases.verdict == "not reproduced"
    assert increases.part.exact and increases.part.known
    stable = verdict(f"{table}/v1-stable", tmp_path)
    assert stable.verdict == "reproduced"


def test_agreement_by_rounding_is_no_certainty() -> None:
    """Accuracies in coarse steps that agree in all seeds leave the claim open."""
    claim = Claim(
        "x/y", "q", "l", "r",
        {"d": level(FIG5, 0, 1) - level(FIG5, 0, 0)},
    )  # fmt: skip
    first, second = places(FIG5, 0, 2)
    low = Observed(ROUNDS, np.tile(np.where(ROUNDS < 5, 48.0, 50.0), (3, 1)))
    high = Observed(ROUNDS, np.tile(np.where(ROUNDS < 5, 48.0, 52.0), (3, 1)))
    assert judged(claim, {first: low, second: high}, 58).verdict == "undecided"


def test_accuracies_of_a_guess_agree_by_chance(tmp_path: Path) -> None:
    """Two methods that only guess have one accuracy throughout, and other losses."""
    claim = Claim(
        "x/y", "q", "l", "r", {"d": level(FIG5, 0, 1) - level(FIG5, 0, 0)}, Within()
    )
    first, second = places(FIG5, 0, 2)
    guess = np.full((3, ROUNDS.size), 10.0)
    low, high = Observed(ROUNDS, guess, guess / 5), Observed(ROUNDS, guess, guess / 4)
    found = judged(claim, {first: low, second: high}, 58)
    assert found.verdict == "undecided" and not found.part.exact
    assert judged(claim, {first: low, second: low}, 58).verdict == "reproduced"
    plant(FIG5, tmp_path, lambda c, r: 0.5)
    curve = Observer(CPU, tmp_path).curve(first)
    assert curve.losses == pytest.approx(2 - curve.values / 100)


def two_panels(second: float, size: float, seeds: int = 5) -> dict[Place, Observed]:
    """Return curves of Fig. 2 (b), which rise in Lc, and (d), which do so by second."""
    noise = 0.01 * np.resize([0.0, 1.0, -1.0], seeds)
    return {
        Place(FIG2, panel, k): flat(50 + by * k + scale * noise * (k + 1))
        for panel, by, scale in ((1, 5.0, 1.0), (3, second, size))
        for k in range(4)
    }


def test_a_conjunction_is_split() -> None:
    """Every statement has its verdict; the sentence says all of them."""
    claim = Claim(
        "x/y", "q", "l", "r", {"a": along(FIG2, 1), "b": along(FIG2, 3)}, Exceeds()
    )
    both = judged(claim, two_panels(5, 1), 58)
    assert both.verdict == "reproduced"
    refuted = judged(claim, two_panels(-5, 1), 58)
    assert refuted.verdict == "not reproduced"
    assert [part.verdict for part in refuted.parts] == ["reproduced", "not reproduced"]
    assert refuted.part.words == "b"
    half_open = judged(claim, two_panels(0.01, 50), 58)
    assert half_open.verdict == "undecided" and half_open.part.words == "b"
    assert [part.verdict for part in half_open.parts] == ["reproduced", "undecided"]


def test_a_large_effect_is_not_hidden_by_a_zero(tmp_path: Path) -> None:
    """Fig. 13 of han2024: SFL-V2 is ahead of FL, and FL is SFL-V1."""
    key = "han2024/fig-13"
    base = {seed: 0.3 + 0.01 * seed for seed in CPU.seeds}
    ahead = {"sfl-v2": 0.4}
    plant(
        key, tmp_path,
        lambda c, r: base[c.seed] + ahead.get(c.algorithm, 0) * (1 + c.seed / 100),
    )  # fmt: skip
    found = verdict(f"{key}/order", tmp_path)
    assert [part.verdict for part in found.parts] == ["reproduced", "not reproduced"]
    assert found.verdict == "not reproduced"
    assert [part.known for part in found.parts] == [False, True]
    assert found.parts[1].level == 1.0  # in no family, at no level of Holm's


def test_interval_and_verdict_agree() -> None:
    """Whatever the data: the printed interval lies where the verdict says."""
    draws = np.random.default_rng(4)
    gap = level(FIG5, 0, 1) - level(FIG5, 0, 0)
    first, second = places(FIG5, 0, 2)
    seen = set()
    for test in (Exceeds(), Within()):
        for k in range(300):
            claim = Claim("x/y", "q", "l", "r", {"d": gap}, test)
            size, shift = 10 ** draws.uniform(-2, 1), draws.normal(0, 2)
            values = {
                first: flat(np.full(5, 50.0)),
                second: flat(50 + shift + size * draws.normal(size=5)),
            }
            family = 1 + k % 40
            found = judged(claim, values, family)
            part = found.part
            seen.add((test.sides, part.verdict))
            inside, outside = test.holds(part.found), test.fails(part.found)
            expected = {
                "reproduced": (True, False),
                "not reproduced": (False, True),
                "undecided": (False, False),
            }
            assert (inside, outside) == expected[part.verdict]
            # It is the first that Holm's method compares; the others are not tested.
            sides = 1 if part.verdict == "reproduced" else test.sides
            assert part.level == pytest.approx(1 - 2 * ALPHA / family / sides)
    assert len(seen) == 6


def test_families_are_papers_without_what_is_known() -> None:
    """Zeros by the invariance are counted nowhere; the count does not need runs."""
    statements = [(claim, effect) for claim in CLAIMS for effect in
                  claim.effects.values() if claim.applies("cpu")]  # fmt: skip
    known = [claim.id for claim, effect in statements if is_zero(effect, CPU)]
    assert set(known) >= {f"{FIG2}/cut-v1", "dachille2024/table-3/v1-stable"}
    assert f"{FIG2}/cut-v2" not in known
    # What is measured on one side of the cut depends on the cut.
    assert "han2024/fig-12/v1" not in known
    counts = families(CPU)
    assert sum(counts.values()) == len(statements) - len(known)
    assert set(counts) == {claim.paper for claim in CLAIMS}
    assert sum(families(PRESETS["paper"]).values()) > sum(counts.values())


def test_known_zeros_are_those_that_runs_show(tmp_path: Path) -> None:
    """A run that breaks the invariance keeps the claim from being tested."""
    rise = {"sfl-v1": 0.01}
    plant(FIG2, tmp_path, lambda c, r: 0.5 + rise.get(c.algorithm, 0.0) * c.cut)
    (found,) = results([claim_named(f"{FIG2}/cut-v1")], CPU, tmp_path)
    assert isinstance(found, Untested) and "invariance" in found.why


def test_a_verdict_does_not_depend_on_which_claims_are_asked_for(
    tmp_path: Path,
) -> None:
    plant(FIG2, tmp_path, lambda c, r: 0.4 + 0.1 * c.cut + r.normal(0, 1e-3))
    plant("han2024/fig-3", tmp_path, lambda c, r: 0.5)
    alone = verdict(f"{FIG2}/cut-v2", tmp_path)
    (among, *_) = (
        one for one in results(CLAIMS, CPU, tmp_path)
        if one.claim.id == f"{FIG2}/cut-v2"
    )  # fmt: skip
    assert alone == among and alone.family == families(CPU)["han2024"]


def test_the_design_says_what_it_resolves_before_any_run() -> None:
    """Half-widths in standard deviations; an effect beyond the first is decided."""
    first, last = resolved(1, 5)
    assert first == last == pytest.approx(2.776 / 5**0.5, abs=1e-3)
    first, _ = resolved(30, 5)
    assert first > resolved(30, 9)[0] and resolved(59, 3)[0] > 15 > 5 > first
    line = next(line for line in plan(["han2024"], CPU) if "han2024" in line)
    assert f"{families(CPU)['han2024']} statements, 5 seeds" in line
    claim = Claim("x/y", "q", "l", "r", {"d": level(FIG5, 0, 1) - level(FIG5, 0, 0)})
    one, two = places(FIG5, 0, 2)
    noise = np.array([-1.0, 1.0, 0.0, -1.0, 1.0])
    for factor, expected in ((1.1, "reproduced"), (0.9, "undecided")):
        size = factor * first * noise.std(ddof=1)
        curves = {one: flat(np.full(5, 50.0)), two: flat(50 + size + noise)}
        assert judged(claim, curves, 30).verdict == expected


def test_curves_are_read_from_the_first_round_on(tmp_path: Path) -> None:
    """The untrained model counts in no summary; accuracies are in percent."""
    plant(FIG2, tmp_path, lambda c, r: 0.5)
    curve = Observer(CPU, tmp_path).curve(Place(FIG2, 1, 0))
    assert curve.rounds.tolist() == list(range(1, 11))
    seeds = len(CPU.seeds)
    assert curve.values[:, 0] == pytest.approx([10.0] * seeds)
    assert early(curve) == pytest.approx([30.0] * seeds)
    assert final(curve) == pytest.approx([50.0] * seeds)


def test_margin_of_similarity() -> None:
    """Within one point, beyond it, and too noisy to say."""
    claim = Claim(
        "x/y", "q", "l", "r", {"d": level(FIG5, 0, 1) - level(FIG5, 0, 0)}, Within()
    )
    first, second = places(FIG5, 0, 2)

    def found(gap: float, noise: float) -> str:
        other = 50 + gap + noise * np.array([0.0, 1.0, -1.0])
        curves = {first: flat(np.array([50.0, 50.0, 50.0])), second: flat(other)}
        return judged(claim, curves, 58).verdict

    assert found(0.2, 1e-3) == "reproduced"
    assert found(5.0, 1e-3) == "not reproduced"
    assert found(0.2, 2.0) == "undecided"


@pytest.mark.parametrize("steps", [None, pytest.param(5.0, marks=pytest.mark.long)])
def test_verdicts_are_rarely_wrong(steps: float | None) -> None:
    """20 statements, half without any effect: a wrong verdict in < 5 % of worlds.

    So too where all accuracies are multiples of a coarse step. Uncorrected intervals
    of continuous values are wrong in most of the worlds.
    """
    draws = np.random.default_rng(2)
    claims = [
        Claim(f"x/{k}", "q", "l", "r", {"slope": along(FIG2, 1)}) for k in range(20)
    ]
    worlds, wrong, naive = 100, 0, 0
    for _ in range(worlds):
        measured = {}
        for k, claim in enumerate(claims):
            curves = {}
            for cut, place in enumerate(places(FIG2, 1, 4)):
                values = draws.normal(50 + 10 * cut * (k % 2), 3, (5, 10))
                if steps is not None:
                    values = np.round(values / steps) * steps
                curves[place] = Observed(ROUNDS, values)
            measured[claim.id] = measure(claim, curves, CPU)
        found = judge(claims, measured, len(claims))
        for k, claim in enumerate(claims):
            assert k % 2 == 0 or found[claim.id].verdict == "reproduced"
        null = [found[claim.id].part for claim in claims[::2]]
        wrong += any(part.verdict != "undecided" for part in null)
        naive += any(part.uncorrected.sign != 0 for part in null)
    # At 5 % more than 11 of 100 worlds come in less than 1 of 100 samples.
    assert wrong <= 11
    assert steps is not None or naive > worlds / 4


def test_missing_runs_are_said_and_not_counted(tmp_path: Path) -> None:
    """A claim without its runs names how many lack and the command that makes them."""
    plant(FIG2, tmp_path, lambda c, r: 0.5 + 0.1 * c.cut)
    claim = claim_named(f"{FIG2}/cut-v2")
    figure, panel, curve = claim.places[0].declared
    gone = folder(figure.config(panel, curve, CPU, 0), tmp_path)
    (gone / "done").unlink()
    (found,) = results([claim], CPU, tmp_path)
    assert isinstance(found, Untested) and found.missing == 1
    assert f"python -m figures make {FIG2} --preset cpu" in found.why
    end(figure.config(panel, curve, CPU, 0), gone, diverged=True)
    (found,) = results([claim], CPU, tmp_path)
    assert isinstance(found, Untested) and "diverged" in found.why


def test_a_value_that_is_not_finite_is_no_verdict(tmp_path: Path) -> None:
    """One overflow in a run keeps its claims from being tested, not the others."""
    plant(FIG2, tmp_path, lambda c, r: 0.5 + 0.1 * c.cut * (c.algorithm == "sfl-v2"))
    claim = claim_named(f"{FIG2}/cut-v2")
    figure, panel, curve = claim.places[0].declared
    config = figure.config(panel, curve, CPU, 0)
    path = folder(config, tmp_path) / "metrics.jsonl"
    text = path.read_text()
    path.write_text(text.replace('"test_accuracy": 0.6', '"test_accuracy": NaN'))
    assert path.read_text() != text
    end(config, path.parent, diverged=False)
    found = results([claim, claim_named(f"{FIG2}/cut-v1")], CPU, tmp_path)
    assert isinstance(found[0], Untested) and "not finite" in found[0].why
    assert isinstance(found[1], Judgement)


def test_not_reproduced_says_at_which_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    plant(FIG2, tmp_path, lambda c, r: 0.9 - 0.1 * c.cut * (c.algorithm == "sfl-v2"))
    for words in ([FIG2], ["--claim", f"{FIG2}/cut-v2"]):
        assert main(["check", *words, "--runs", str(tmp_path)]) == 0
        said = capsys.readouterr().out
        assert "not reproduced (cpu size)" in said
        assert said.count("not reproduced") >= said.count("not reproduced (cpu size)")


def test_printed_numbers_need_the_papers_sizes(tmp_path: Path) -> None:
    """A number of the paper's is no claim about the small preset."""
    claim = claim_named("dachille2024/table-3/v2-gain-cifar10")
    (found,) = results([claim], PRESETS["cpu"], tmp_path)
    assert isinstance(found, Untested) and not found.missing
    (effect,) = claim.effects.values()
    assert effect.printed() == pytest.approx(7.05)
    # The table prints the best over the rounds.
    first = next(iter(claim.places))
    rising = {place: flat(np.array([50.0])) for place in claim.places}
    assert effect.per_seed(rising) == pytest.approx([0.0])
    rising[first].values[0, 4] = 57.0
    assert effect.per_seed(rising) == pytest.approx([7.0])


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Table and JSON for a figure, a claim in full, and mistakes in one line."""
    runs, file = tmp_path / "runs", tmp_path / "found.json"
    plant(FIG2, runs, lambda c, r: 0.4 + 0.1 * c.cut + r.normal(0, 1e-3))
    options = ["--runs", str(runs)]
    assert main(["check", FIG2, *options, "--json", str(file)]) == 0
    assert f"{FIG2}/cut-v2" in capsys.readouterr().out
    content = json.loads(file.read_text())
    assert content["verdicts"]["reproduced"] == 1  # SFL-V1 is not tested, see above
    assert content["families"] == families(CPU)
    effect = content["results"][1]["effects"][0]
    assert len(effect["values"]) == 5
    assert effect["found"]["low"] < effect["uncorrected"]["low"]
    assert main(["check", "--claim", f"{FIG2}/cut-v2", *options]) == 0
    said = capsys.readouterr().out
    assert "reproduced (cpu size)" in said and CPU.caption in " ".join(said.split())
    assert "Holm's among" in said
    for wrong in (["check"], ["check", "--claim", "x"], ["check", "han2024/fig-99"]):
        with pytest.raises(SystemExit) as stop:
            main([*wrong, *options])
        assert stop.value.code == 2
        assert len(capsys.readouterr().err.splitlines()) == 1
