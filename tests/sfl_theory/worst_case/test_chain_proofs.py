"""Bounds round by round as theorems: what is proved, what is not, what is forged."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import pytest
from _pytest.mark import ParameterSet

from sfl_theory.kernel import check
from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Rejected, Sort, ratio
from sfl_theory.kernel.moments import evaluated
from sfl_theory.kernel.replay import Claim, replay
from sfl_theory.proofs import interleaved
from sfl_theory.proofs.export import ModelData, model_of
from sfl_theory.proofs.unrolled import n, now
from sfl_theory.worst_case.certificate import Square
from sfl_theory.worst_case.chain_proof import prove, size, used
from sfl_theory.worst_case.proof import Proved
from sfl_theory.worst_case.round_by_round import (
    Followed,
    averaged,
    descended,
    follow,
)
from sfl_theory.worst_case.round_proof import refuse
from sfl_theory.worst_case.setting import Setting, Visits

ETA, S, MU, NOISE = (
    Fraction(1, 4),
    Fraction(1),
    Fraction(1, 10),
    Fraction(1, 4),
)
ROUNDS = 4
FALLING = [ETA / (1 + Fraction(t, 12)) for t in range(ROUNDS)]
SILENT = Setting("sfl-v1", 2, (ETA,), (ETA,), S, MU, G2=Fraction(4), start="gap")
NOISY = replace(
    SILENT, eps2=Fraction(1), sigma2=NOISE, mean_noise=NOISE / 4,
    server_steps=(ETA / 2,),
)  # fmt: skip


def visits(clients: int) -> Visits:
    known = Visits.of((Fraction(1, clients),) * clients, "printed")
    return replace(known, lag=known.lag + Fraction(1, 2**30))


VISITED = replace(
    NOISY, algorithm="sfl-v2", server_steps=(ETA / 3,), mean_noise=NOISE / 3,
    order="interleaved", visits=visits(3),
)  # fmt: skip
SETTINGS = {
    "fedavg": replace(SILENT, algorithm="fedavg"),
    "sfl-v1": SILENT,
    "sfl-v1, noise": replace(SILENT, sigma2=NOISE, mean_noise=NOISE / 4),
    "sfl-v1, two step sizes, noise": NOISY,
    "minibatch-sfl, noise": replace(NOISY, algorithm="minibatch-sfl"),
    "sfl-v2": replace(VISITED, sigma2=Fraction(0), mean_noise=None),
    "sfl-v2, noise": VISITED,
}


def gradients(one: Setting) -> Followed:
    smooth = replace(
        one, mu=None, metric="gradient", reading="average", start="decrease"
    )
    return descended(smooth, ROUNDS, Fraction(1))


def gaps(one: Setting, gap: int = 1, distance: int = 1) -> Followed:
    far = Fraction(distance)
    mean = replace(
        one, mu=Fraction(0), reading="mean", start="decrease", initial_distance=far
    )
    return averaged(mean, ROUNDS, far, Fraction(gap))


KINDS: dict[str, Callable[[Setting], Followed]] = {
    "last, constant steps": lambda one: follow(one, [ETA] * ROUNDS),
    "last, falling steps": lambda one: follow(one, FALLING),
    "mean of gradients": gradients,
    "mean of gaps, nearing": gaps,
    "mean of gaps, rising": lambda one: gaps(one, distance=100),
}


@cache
def chain(setting: str, kind: str) -> Followed:
    return KINDS[kind](SETTINGS[setting])


@cache
def proof(setting: str, kind: str) -> Proved:
    return prove(chain(setting, kind), "chain")


@cache
def read(setting: str, kind: str) -> Claim:
    """Return what the kernel replays from the file of a proof."""
    (claim,) = replay(proof(setting, kind).document())
    return claim


def cases(known: set[tuple[str, str]]) -> list[ParameterSet]:
    """Return all settings and kinds; but the known ones are run by hand."""
    pairs = [(setting, kind) for setting in SETTINGS for kind in KINDS]
    marks = {pair: () if pair in known else (pytest.mark.long,) for pair in pairs}
    return [pytest.param(*pair, marks=marks[pair]) for pair in pairs]


SHOWN = {
    *(("sfl-v1", kind) for kind in KINDS),
    ("sfl-v1, two step sizes, noise", "mean of gradients"),
    ("minibatch-sfl, noise", "mean of gradients"),
    ("sfl-v2, noise", "last, falling steps"),
    ("sfl-v2", "mean of gaps, nearing"),
}


@pytest.mark.parametrize(("setting", "kind"), cases(SHOWN))
def test_a_chain_is_a_theorem_of_the_kernel(setting: str, kind: str) -> None:
    """Replayed from its file, with the chain's bound, run and assumptions."""
    followed, claim = chain(setting, kind), read(setting, kind)
    one = followed.setting
    assert claim.proved
    assert not claim.right - k.constant(followed.values[-1])
    run = next(iter(k.runs_of(claim.left, *claim.hypotheses)))
    assert isinstance(run, k.Split)
    assert run.kind.visits is (one.algorithm == "sfl-v2")
    for t, step in enumerate(followed.steps):
        client, server = (run.pace(side).rate.at(ratio(t)) for side in k.Side)
        wanted = one.server_steps[0] / one.client_steps[0]
        assert server - client * wanted == ratio(0)
        if client - step != ratio(0):
            for apart in (client - step, step - client):
                assert h.Holds(k.constant(apart)) in claim.hypotheses
    assert h.BoundedGradients(run, ratio(4)) in claim.hypotheses
    assert any(isinstance(one, h.Minimiser) for one in claim.hypotheses)


def test_both_bounds_of_a_mean_of_gaps_are_shown() -> None:
    """Otherwise one of the two derivations would never be run."""
    for kind, convex in (("nearing", True), ("rising", False)):
        followed = chain("sfl-v1", f"mean of gaps, {kind}")
        (one,) = used(followed)
        assert (one.certificate.setting.mu is not None) is convex


def test_the_checker_replays_it_alone(tmp_path: Path) -> None:
    file = tmp_path / "chain.json"
    file.write_text(proof("sfl-v2, noise", "last, falling steps").document(), "utf-8")
    done = subprocess.run(
        [sys.executable, "-I", "-S", check.__file__, str(file)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 proved, 0 refuted" in done.stdout


# What is forged -----------------------------------------------------------------------


def _certificate(followed: Followed, **changes: object) -> Followed:
    """Return the chain with another certificate in place of the last."""
    *others, last = followed.rounds
    other = replace(last.certificate, **changes)  # type: ignore[arg-type]
    return replace(followed, rounds=(*others, replace(last, certificate=other)))


def _smaller_bound(followed: Followed) -> Followed:
    *others, last = followed.values
    return replace(followed, values=(*others, last - Fraction(1, 10**6)))


def _smaller_start(followed: Followed) -> Followed:
    far = followed.setting.initial_distance
    near = replace(followed.setting, initial_distance=far / 2 if far else None)
    first, *others = followed.values
    forged = (first / 2, *others[:-1], others[-1] / 2)
    return replace(followed, values=forged, setting=near)


def _larger_steps(followed: Followed) -> Followed:
    factor = Fraction(101, 100)
    one = followed.setting
    steps = tuple(eta * factor for eta in followed.steps)
    return replace(
        followed,
        steps=steps,
        setting=replace(
            one,
            client_steps=steps[:1],
            server_steps=(one.server_steps[0] * factor,),
        ),
    )


def _without(followed: Followed, kind: str) -> Followed:
    uses = followed.rounds[-1].certificate.uses
    at = next(i for i, (says, _) in enumerate(uses) if says.kind == kind)
    return _certificate(followed, uses=(*uses[:at], *uses[at + 1 :]))


def _larger_multiplier(followed: Followed) -> Followed:
    (says, by), *others = followed.rounds[-1].certificate.uses
    return _certificate(followed, uses=((says, by + Fraction(1, 10**6)), *others))


def _negative_multiplier(followed: Followed) -> Followed:
    uses = followed.rounds[-1].certificate.uses
    forged = tuple((s, -c if s.kind == "interpolation" else c) for s, c in uses)
    return _certificate(followed, uses=forged)


def _other_square(followed: Followed) -> Followed:
    first, *others = followed.rounds[-1].certificate.squares
    other = Square(first.space, first.weight * 2, first.form)
    return _certificate(followed, squares=(other, *others))


def _smoother(followed: Followed) -> Followed:
    return replace(followed, setting=replace(followed.setting, S=S * 2))


def _wilder(followed: Followed) -> Followed:
    return replace(followed, setting=replace(followed.setting, G2=Fraction(5)))


FORGERIES: dict[str, Callable[[Followed], Followed]] = {
    "a smaller bound": _smaller_bound,
    "a smaller start": _smaller_start,
    "larger steps": _larger_steps,
    "no bounded gradient": lambda one: _without(one, "bounded-gradient"),
    "no interpolation": lambda one: _without(one, "interpolation"),
    "another multiplier": _larger_multiplier,
    "a negative multiplier": _negative_multiplier,
    "another square": _other_square,
    "functions less smooth": _smoother,
    "larger gradients": _wilder,
}


@pytest.mark.parametrize("forged", FORGERIES)
@pytest.mark.parametrize(
    ("setting", "kind"),
    [
        ("sfl-v1", "last, falling steps"),
        ("sfl-v1", "mean of gaps, nearing"),
        ("sfl-v2, noise", "mean of gaps, nearing"),
        pytest.param("sfl-v2, noise", "last, falling steps", marks=pytest.mark.long),
    ],
)
def test_a_corrupted_chain_is_no_theorem(setting: str, forged: str, kind: str) -> None:
    """The kernel refuses a step, or the last one, which compares with the claim."""
    honest = chain(setting, kind)
    other = FORGERIES[forged](honest)
    assert other != honest
    with pytest.raises((ValueError, Rejected)):
        replay(prove(other).document())


@pytest.mark.parametrize("kind", ["lag", "variance", "unbiased"])
def test_noise_and_lags_are_needed(kind: str) -> None:
    honest = chain("sfl-v2, noise", "mean of gradients")
    with pytest.raises((ValueError, Rejected)):
        prove(_without(honest, kind))


def test_a_file_with_another_bound_is_rejected() -> None:
    found = proof("sfl-v1", "last, constant steps")
    file = json.loads(found.document())
    (claim,) = file["claims"]
    terms = file["terms"]
    name, place = terms[claim["right"]]
    assert name == "constant"
    name, value = terms[place]
    assert name == "fraction"
    forged = str(Fraction(value) * Fraction(99, 100))
    claim["right"] = len(terms) + 1
    terms += [["fraction", forged], ["constant", len(terms)]]
    with pytest.raises(Rejected, match="is not the theorem"):
        replay(json.dumps(file))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"order": "client-sequential"}, "where they are interleaved"),
        (
            {"visits": replace(visits(3), lag=Fraction(33, 100))},
            "a lag that is smaller",
        ),
        ({"visits": replace(visits(3), uneven=Fraction(1, 100))}, "for equal weights"),
        ({"visits": Visits(1, Fraction(1, 3))}, "for equal weights"),
        ({"mean_noise": None}, "the mean of the noise"),
        ({"zeta2": Fraction(1)}, "heterogeneity at x"),
    ],
)
def test_what_has_no_derivation_is_refused_in_words(
    change: dict[str, object], words: str
) -> None:
    refuse(VISITED)
    with pytest.raises(ValueError, match=words):
        refuse(replace(VISITED, **change))  # type: ignore[arg-type]


def test_the_size_of_a_proof_is_that_of_the_certificates_it_needs() -> None:
    every = [len(one.certificate.squares) for one in chain(*LAST).rounds]
    assert size(chain(*LAST)) == sum(every)
    mean = chain("sfl-v1", "mean of gradients")
    assert size(mean) in {len(one.certificate.squares) for one in mean.rounds}


LAST = ("sfl-v1", "last, falling steps")

# What the hypotheses mean -------------------------------------------------------------


Order = tuple[tuple[int, int], ...]


def federation(order: Order, weights: tuple[Fraction, ...], falling: bool) -> ModelData:
    """Return clients with parabolas of other minima, one of them noisy."""
    zero, up = (Fraction(0),) * 2, (Fraction(1, 4), Fraction(1, 8))
    down = tuple(-z for z in up)
    curved = ((S, Fraction(0)), (Fraction(0), S))
    shifts = (up, down, *(zero,) * (len(weights) - 2))
    half = Fraction(1, 2)
    law = ((half, up, up), (half, down, down))
    silent = ((Fraction(1), zero, zero),)
    return ModelData(
        (half / 4, half / 4),
        {},
        functions=tuple((curved, b, ()) for b in shifts),
        weights=weights,
        noise=(law, *(silent,) * (len(weights) - 1)),
        order=order,
        rounds=ROUNDS,
        families={SIGMA2: (NOISE, *(Fraction(0),) * (len(weights) - 1))},
        rates={RATE: k.Rate(1 / (4 + k.symbol(k.ROUND) / 3))} if falling else {},
        stars={k.MEAN: zero},
        box=((-half, half),) * 2,
    )


SIGMA2 = k.ClientFamily("sigma2", Sort.NONNEGATIVE)
RATE = k.RoundFamily("eta", Sort.POSITIVE)
THIRDS = (Fraction(1, 3),) * 3
ONE_BY_ONE = tuple((n, i) for i in range(2) for n in (2, 0, 1))
IN_A_ROW = tuple((n, i) for n in (2, 0, 1) for i in range(2))


@pytest.mark.parametrize("kind", ["last, falling steps", "mean of gradients"])
def test_interleaved_runs_meet_the_hypotheses_and_others_do_not(kind: str) -> None:
    found, falls = proof("sfl-v2, noise", kind), "falling" in kind
    quarters = (Fraction(1, 4), Fraction(1, 4), Fraction(1, 2))

    def sides(order: Order, weights: tuple[Fraction, ...]) -> tuple[Fraction, Fraction]:
        model, one = federation(order, weights, falls), found.statement
        return evaluated(model_of(model), one.hypotheses, one.left, one.right)

    low, high = sides(ONE_BY_ONE, THIRDS)
    assert 0 < low <= high
    with pytest.raises(Rejected, match=r"does not meet.*before"):
        sides(IN_A_ROW, THIRDS)
    with pytest.raises(Rejected, match=r"does not meet.*1/3"):
        sides(ONE_BY_ONE, quarters)


@pytest.mark.parametrize("kind", ["last, falling steps", "mean of gradients"])
def test_of_the_order_only_that_visits_are_interleaved_is_assumed(kind: str) -> None:
    """How many of them come before others is derived of any order."""
    claim = read("sfl-v2, noise", kind)
    (order,) = [str(one) for one in claim.hypotheses if "before" in str(one)]
    assert order.count("for all n") == 2


@pytest.mark.parametrize("clients", [2, 3, 7])
def test_of_two_clients_one_is_first(
    clients: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No more than N (N - 1)/2 pairs, for equal weights alone; less is refused."""
    few = interleaved.few_pairs.__wrapped__
    found = few(clients, 0)
    weights = interleaved.equal_weights(clients)
    own = {one for side in weights for one in side.hypotheses}
    assert found.hypotheses == {h.every(k.CLIENTS, n, one) for one in own}
    count = Fraction(clients * (clients - 1), 2)
    assert found.form == k.constant(count - interleaved.pairs(0, now))
    monkeypatch.setattr(interleaved, "half", lambda _: count - Fraction(1, 2**40))
    with pytest.raises(Rejected):
        few(clients, 0)
