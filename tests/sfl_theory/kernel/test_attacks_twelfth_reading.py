"""Attacks of a twelfth reading: copies of terms, and files that never end.

A copy of a symbol has the symbol's number but is another variable; a term that names
its parts often is short in a file and endless when it is walked through.
"""

from __future__ import annotations

import copy
import json
import pickle
import resource
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction as Q
from functools import partial
from pathlib import Path

import pytest
from calls import S, i, j, n, t, x
from test_attacks_second_reading import STILL

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import models
from sfl_theory.kernel import rules as R
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, ratio
from sfl_theory.proofs.notation import of, steps

KERNEL = Path(R.__file__).parent
ZERO, ONE = ratio(0), ratio(1)

# Copies -------------------------------------------------------------------------------


@pytest.mark.parametrize("made", [copy.copy, copy.deepcopy, pickle.dumps])
@pytest.mark.parametrize(
    "one", [t, n, S, k.norm2(x), x, h.Holds(k.constant(S)), R.square(S)], ids=str
)
def test_what_is_built_is_not_copied(
    one: object, made: Callable[[object], object]
) -> None:
    with pytest.raises(Rejected):
        made(one)


def test_a_copy_of_a_variable_does_not_escape_its_quantifier() -> None:
    """1 - q >= 0 |- 1 - v >= 0, and so 1 <= 0: the copy was bound, not q."""
    form = k.constant(1 - of(j) - of(i))
    with pytest.raises(Rejected):
        bound = R.divided(
            R.assume(form), copy.copy(j), i, ONE, t, k.constant(1 - of(t))
        )
        R.instantiate(bound, ((j, ZERO), (t, ratio(2))), ())


# Files of a few kilobytes that never end ----------------------------------------------

Entries = list[list[object]]
VECTOR: Entries = [["point", "x"], ["fraction", "1"], ["function", "phi"]]


def doubled(depth: int, moved: bool) -> str:
    """Return a file that claims F(p) >= 0 as it assumes it, p = q + grad F(q), ..."""
    terms = [*VECTOR, ["vector", [[0, 1]]]]
    for at in range(3, 3 + 2 * depth, 2):
        terms += [["gradient", 2, at], ["vector", [[at, 1], [at + 1, 1]]]]
    form = len(terms)
    terms += [["value", 2, form - 1], ["holds", form], ["number", [], []]]
    terms += [["constant", form + 2], ["point", "y"], ["vector", [[form + 4, 1]]]]
    instance: Entries = [["instantiate", 0, [[0, form + 5]], []]] if moved else []
    claim = {"id": "c", "hypotheses": [form + 1], "left": form + 3, "right": form}
    claims = [claim | {"theorem": 0}]
    steps_made = [["assume", form], *instance]
    return json.dumps({"terms": terms, "steps": steps_made, "claims": claims})


def nested(size: int) -> str:
    """Return a file that claims 1 for the sum of F((a + b + v) F*) below a size."""
    terms: Entries = [["var", name, "natural"] for name in "abv"]
    added = [["1", [[place, 1]]] for place in range(3)]
    terms += [["function", "phi"], ["star", 3], ["fraction", str(size)], ["steps", 5]]
    terms += [["number", added, []], ["vector", [[4, 7]]], ["value", 3, 8]]
    terms += [["form_sum", 6, place, 9 + place] for place in range(3)]
    terms += [["fraction", "1"], ["constant", 13], ["minimiser", 3]]
    model = {**STILL, "named": [[3, [[["1"]], ["0"], []]]], "stars": [[3, ["0"]]]}
    claim = {"id": "c", "hypotheses": [15], "left": 14, "right": 12, "model": model}
    return json.dumps({"terms": terms, "steps": [], "claims": [claim]})


def checked(text: str, file: Path) -> str:
    file.write_text(text, encoding="utf-8")

    def limited() -> None:
        resource.setrlimit(resource.RLIMIT_CPU, (5, 5))
        resource.setrlimit(resource.RLIMIT_AS, (2**30, 2**30))

    done = subprocess.run(
        [sys.executable, "-I", "-S", str(KERNEL / "check.py"), str(file)],
        capture_output=True,
        text=True,
        check=False,
        preexec_fn=limited,
    )
    assert done.returncode in (0, 1), done.returncode
    return done.stdout


@pytest.mark.parametrize(
    ("of_size", "small", "large"),
    [
        (partial(doubled, moved=False), 8, 60),
        (partial(doubled, moved=True), 8, 60),
        (nested, 4, 100_000),
    ],
    ids=["a term that is printed", "a term with another point", "nested sums"],
)
def test_a_small_file_ends(
    of_size: Callable[[int], str], small: int, large: int, tmp_path: Path
) -> None:
    assert "REJECTED" not in checked(of_size(small), tmp_path / "small.json")
    assert "REJECTED" in checked(of_size(large), tmp_path / "large.json")


def test_all_sums_of_a_statement_count_together(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three terms, for each of them two: so nine, and not three and two."""
    law = models.NoiseLaw(((Q(1), (Q(0),), (Q(0),)),))
    flat = models.Shape(((Q(0),),), (Q(0),))
    held: tuple[dict[object, object], ...] = ({},) * 6
    model = models.Model(0, (flat,), (Q(1),), (Q(1),), (law,), (Q(0),), (), 0, *held)  # type: ignore[arg-type]
    once = k.value_of(k.MEAN, k.vec(k.Star(k.MEAN)) * (of(i) + of(j)))
    twice = k.summed(steps(3), i, k.summed(steps(2), j, once))
    model = replace(model, stars={k.MEAN: (Q(0),)})
    for most, fits in ((9, True), (8, False)):
        monkeypatch.setattr(models, "MAX_RANGE", most)
        try:
            models.Evaluation(model).form(twice)
        except Rejected:
            assert not fits
        else:
            assert fits
