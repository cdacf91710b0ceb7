"""A file of a worst case's proof in which something was changed proves nothing new."""

from __future__ import annotations

import json
import os
import random
from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction as Q
from functools import cache
from typing import Any

import pytest
import small_settings

from sfl_theory.kernel.algebra import Rejected
from sfl_theory.kernel.replay import Claim, replay
from sfl_theory.kernel.terms import number_of
from sfl_theory.worst_case.proof import prove
from sfl_theory.worst_case.solve import worst_case

CASES = int(os.environ.get("SFL_CERTIFICATES", "150"))
NAMES = [
    "one step", "bounded gradients", "two paces", "non-convex", "least", "visits",
    "visits in turns", "three visitors", "noise", "visits, noise", "weights",
    "minibatch",
]  # fmt: skip
OTHER = {
    "client": "server", "server": "client", "v1": "v2", "v2": "v1", "minibatch": "v1",
    "everyone": "updates", "natural": "nonnegative", "nonnegative": "natural",
}  # fmt: skip
ASSUMED = {"holds", "every", "smooth", "convex", "minimiser", "variance", "unbiased"}
RUN = ASSUMED | {
    "pace", "rate", "split", "steps", "iterate", "local_point", "noise", "numbered",
    "heterogeneity", "bounded_gradients", "var", "before", "gradient", "star", "weight",
}  # fmt: skip
Place = tuple[list[Any] | dict[str, Any], int | str]


@cache
def known(name: str) -> tuple[str, Claim]:
    found = worst_case(small_settings.SETTINGS[name], below=False).certificate
    assert found is not None
    text = prove(found, sparse=found.setting.stepwise).document()
    (claim,) = replay(text)
    return text, claim


def amount(rng: random.Random, value: Q) -> Q:
    small = value + Q(rng.choice([-1, 1]), 2 ** rng.randrange(60))
    return rng.choice([Q(0), -value, 2 * value, value / 3, value + 1, small])


def leaves(inside: Any) -> Iterator[Place]:
    """Yield where numbers and words of a term, a step or a model stand."""
    pairs = inside.items() if isinstance(inside, dict) else enumerate(inside)
    for key, one in pairs:
        if isinstance(one, list | dict):
            yield from leaves(one)
        else:
            yield inside, key


def changed(rng: random.Random, entry: Any, many: int) -> None:
    """Change a reference, a number or a word of an entry."""
    inside, key = rng.choice([place for place in leaves(entry) if place[0] is not entry
                              or place[1] != 0] or [(entry, 0)])  # fmt: skip
    old = inside[key]  # type: ignore[call-overload,index]
    if isinstance(old, int):
        new: Any = rng.choice([old + 1, max(0, old - 1), rng.randrange(many)])
    elif old in OTHER:
        new = OTHER[old]
    elif isinstance(old, str) and old.strip("-")[:1].isdigit():
        new = str(amount(rng, Q(old)))
    else:
        new = "m"
    inside[key] = new  # type: ignore[call-overload,index]


def corrupted(rng: random.Random, text: str) -> str:
    """Return the file with a coefficient, a reference, a step or a claim changed."""
    file = json.loads(text)
    terms, steps, (claim,) = file["terms"], file["steps"], file["claims"]
    assumed = [k for k, one in enumerate(terms) if one[0] in ASSUMED]
    kind = rng.choice(["number", "step", "run", "order", "assumed", "right", "model"])
    if kind == "number":
        one = rng.choice([one for one in terms if one[0] == "fraction"])
        one[1] = str(amount(rng, Q(one[1])))
    elif kind == "step":
        changed(rng, rng.choice(steps), len(terms))
    elif kind == "run":
        changed(rng, rng.choice([one for one in terms if one[0] in RUN]), len(terms))
    elif kind == "order":
        k, other = rng.randrange(len(steps)), rng.randrange(len(steps))
        steps[k] = rng.choice([steps[other], [steps[other][0], *steps[k][1:]]])
    elif kind == "assumed":
        place = rng.randrange(len(claim["hypotheses"]))
        claim["hypotheses"][place : place + 1] = rng.choice([[], [rng.choice(assumed)]])
    elif kind == "right":
        bound = Q(terms[terms[claim["right"]][1]][1])
        less = bound - abs(bound) / 2 ** rng.randrange(1, 80)
        new = rng.choice([less, bound / 2, -bound, 2 * bound])
        terms += [["fraction", str(new)], ["constant", len(terms)]]
        claim["right"] = len(terms) - 1
    else:
        changed(rng, claim.get("model", claim), len(terms))
    return json.dumps(file)


def verdict(seed: int, name: str) -> str:
    """Return rejected, same, weaker (a larger bound, more assumed) or wrong."""
    text, claim = known(name)
    try:
        (new,) = replay(corrupted(random.Random(seed), text))
        more = number_of(new.right - claim.right)
    except Rejected:
        return "rejected"
    implied = new.proved and not new.left - claim.left and more.nonnegative()
    if not implied or not new.hypotheses >= claim.used:
        return "wrong"
    return "weaker" if more or new.hypotheses != claim.hypotheses else "same"


@pytest.mark.parametrize("seed", range(24))
def test_a_corrupted_file_proves_no_more(seed: int) -> None:
    assert verdict(seed, NAMES[seed % 4]) != "wrong"


@pytest.mark.long
def test_corrupted_files_prove_no_more() -> None:
    """See `worst-case-proofs.md` for how many were tried once."""
    tried = [verdict(seed, NAMES[seed % len(NAMES)]) for seed in range(CASES)]
    assert tried.count("wrong") == 0
    assert tried.count("rejected") >= CASES * 4 // 5


def test_a_statement_without_a_hypothesis_that_is_used_would_be_wrong(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """That the verdict can be wrong: if it were accepted it would be seen."""
    _, claim = known("one step")
    fewer = claim.hypotheses - {min(claim.used, key=str)}
    less = replace(claim, hypotheses=fewer)
    monkeypatch.setattr(f"{__name__}.replay", lambda _: [less])
    assert verdict(0, "one step") == "wrong"
