"""The proofs and refutations replay from their file; every step is true in models."""

from __future__ import annotations

import json
import random
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from fractions import Fraction as Q
from pathlib import Path

import pytest
import refutations
from proved import PROOFS, many
from random_models import premises, verdict

from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.hypotheses import Minimiser
from sfl_theory.kernel.replay import replay
from sfl_theory.proofs import non_convex
from sfl_theory.proofs.export import Encoder, document
from sfl_theory.proofs.witness import witness

ROOT = Path(__file__).parents[3]
EXPECTED = {
    "readme/gradient-descent",
    "han2024/lemma-C.3",
    "han2024/prop-3.5",
    "han2024/thm-3.6/non_convex/longer-client",
    "han2024/thm-3.6/non_convex/longer-server",
    "han2024/thm-3.8/non_convex/longer-client",
    "han2024/thm-3.8/non_convex/longer-server",
    "han2024/thm-3.6/strongly_convex/sharper",
    "han2024/thm-3.6/strongly_convex/equal-paces",
    "han2024/thm-3.7/non_convex/weighted-server",
    "han2024/thm-3.9/non_convex/weighted-server",
    "han2024/thm-3.6/general_convex/mean-gap",
}
SMALL = (
    "han2024/prop-3.5",
    "han2024/thm-3.6/strongly_convex/sharper",
    "han2024/thm-3.7/non_convex/weighted-server",
    "readme/gradient-descent",
)


def test_the_standalone_checker_proves_every_statement(tmp_path: Path) -> None:
    """It runs without site-packages and without the rest of this repository."""
    file = tmp_path / "proofs.json"
    file.write_text(document(PROOFS.values()), encoding="utf-8")
    check = ROOT / "sfl_theory" / "kernel" / "check.py"
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(check), str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    proved = {
        line[: -len(": proved")]
        for line in done.stdout.splitlines()
        if line.endswith(": proved")
    }
    assert done.returncode == 0, done.stdout + done.stderr
    assert proved == EXPECTED
    small = document([PROOFS["readme/gradient-descent"]])
    assert '"1/2"' in small
    file.write_text(small.replace('"1/2"', '"1/3"', 1), encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", str(check), str(file)],
        capture_output=True,
        text=True,
        check=False,
        cwd=tmp_path,
    )
    assert done.returncode == 1
    assert "REJECTED" in done.stdout


def test_what_two_encoders_wrote_is_one_file() -> None:
    """Joined from pieces in any order, statements and derivations are the same."""
    encoders, pieces = (Encoder(), Encoder()), ([], [])
    for place, name in enumerate(SMALL):
        own = encoders[place % 2]
        pieces[place % 2].append(own.piece([own.claim(*PROOFS[name])]))
    whole = Encoder()
    claims = [claim for sent in pieces for claim in whole.joined(sent[::-1]).values()]
    found = {claim.id: str(claim) for claim in replay(whole.document(claims))}
    alone = replay(document(PROOFS[name] for name in SMALL))
    assert found == {claim.id: str(claim) for claim in alone}


def test_the_kernel_imports_nothing_but_the_standard_library() -> None:
    code = (
        "import sys; sys.path.append('sfl_theory'); import kernel.replay;"
        "print([m for m in sys.modules if m.split('.')[0] in "
        "('sympy', 'numpy', 'scipy', 'torch', 'sfl_theory')])"
    )
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code],
        capture_output=True,
        text=True,
        check=True,
        cwd=ROOT,
    )
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_no_hypothesis_is_idle_and_none_can_be_dropped(name: str) -> None:
    statement, theorem = PROOFS[name]
    idle = statement.hypotheses - theorem.hypotheses
    assert theorem.hypotheses <= statement.hypotheses
    assert all(isinstance(one, Minimiser) for one in idle), "it says what a star is"
    if name not in SMALL:
        return
    assumed = min(theorem.hypotheses, key=str)
    less = replace(statement, hypotheses=statement.hypotheses - {assumed})
    with pytest.raises(Rejected):
        replay(document([(less, theorem)]))


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_a_model_meets_the_hypotheses(name: str) -> None:
    """So the statement is not vacuous; the model is checked with the proof."""
    statement, theorem = PROOFS[name]
    text = document([(statement, theorem)], (), {name: witness(statement)})
    (claim,) = replay(text)
    assert claim.proved
    assert claim.sides is not None


@pytest.mark.parametrize("name", SMALL)
def test_a_smaller_bound_is_not_what_was_proved(name: str) -> None:
    statement, theorem = PROOFS[name]
    wrong = replace(statement, right=statement.right * Q(99, 100))
    with pytest.raises(Rejected):
        replay(document([(wrong, theorem)]))


def test_equal_numbers_of_steps_are_an_instance() -> None:
    one, two = (
        non_convex.equal_paces(PROOFS[f"han2024/thm-3.6/non_convex/longer-{side}"][1])
        for side in ("client", "server")
    )
    assert not (one.form - two.form)
    assert one.hypotheses == two.hypotheses


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_steps_of_the_proof_are_true_in_random_models(name: str) -> None:
    rng = random.Random(name)
    steps = premises(PROOFS[name][1])
    chosen = rng.sample(steps, min(8, len(steps)))
    seen = Counter(verdict(one, rng.randrange(10**6)) for one in chosen)
    assert not seen["false"]
    assert seen["true"] >= 1, seen


@pytest.mark.long
@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_every_step_of_the_proof_is_true_in_random_models(name: str) -> None:
    seen = Counter(
        verdict(step, 7 * place + seed)
        for place, step in enumerate(premises(PROOFS[name][1]))
        for seed in range(min(6, many(1)))
    )
    print(name, dict(seen))
    assert not seen["false"]


REFUTED = {
    "8T": refutations.too_fast_descent,
    "weights": lambda: refutations.printed_v2_strongly_convex(Q(19, 20)),
    "one client": refutations.one_client_without_noise,
}


@pytest.mark.parametrize("name", REFUTED)
def test_a_model_refutes_what_is_printed(name: str) -> None:
    statement, model = REFUTED[name]()
    (claim,) = replay(document([], [(statement, model)]))
    assert not claim.proved
    assert claim.sides[0] > claim.sides[1]


def broken(name: str, **changes: object) -> None:
    statement, model = REFUTED[name]()
    with pytest.raises(Rejected):
        replay(document([], [(statement, replace(model, **changes))]))


def test_a_model_that_misses_a_hypothesis_refutes_nothing() -> None:
    _, model = refutations.too_fast_descent()
    (shape,) = model.named.values()
    steeper = (shape[0], shape[1], ((Q(2), *shape[2][0][1:]),))
    broken("8T", named={refutations.F: steeper})
    broken("8T", stars={})
    concave = ((Q(-1),),)
    broken("8T", named={refutations.F: (concave, shape[1], shape[2])})
    _, coupled = refutations.one_client_without_noise()
    small = {v: Q(4) if str(v) == "G2" else c for v, c in coupled.numbers.items()}
    broken("one client", numbers=small)
    broken("one client", box=())
    broken("one client", box=((Q(0), Q(1)), (Q(0), Q(1, 100)), (Q(0), Q(0))))
    broken("one client", start=(Q(2), Q(0), Q(0)))
    noise = (((Q(1), (Q(0), Q(0), Q(1)), (Q(0), Q(0), Q(1))),),)
    broken("one client", noise=noise)
    soon = {v: Q(3) if str(v) == "t" else c for v, c in coupled.numbers.items()}
    broken("one client", numbers=soon)
    broken("one client", weights=(Q(1, 2),))
    broken("one client", participation=(Q(0),))


def test_a_model_cannot_refute_what_is_proved() -> None:
    """README's bound holds where the false one fails."""
    _, model = refutations.too_fast_descent()
    honest = PROOFS["readme/gradient-descent"][0]
    with pytest.raises(Rejected):
        replay(document([], [(honest, model)]))


def test_the_file_is_small() -> None:
    text = document(PROOFS.values())
    assert len(text) < 150_000
    assert len(json.loads(text)["steps"]) < 120 * len(PROOFS)
