"""han2024, App. D.1-G.1: the lines of one round, convex cases.

What is proved is searched for violations on random federations, all draws enumerated;
what is refuted is run again by the same plain simulation; bent certificates and weaker
instances are rejected.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from one_round_runs import Federation, expectations, huber, outcomes, play

from sfl_theory.audits.han2024.equations import (
    one_round_moments,
    one_round_refuted_blocks,
    one_round_refuted_steps,
    one_round_repairs,
)
from sfl_theory.audits.han2024.equations.one_round_claims import CLAIMS
from sfl_theory.evidence.certificate import Rejected, check
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.ledger import decide

PROVED = {55, 56, 58, 59, 92, 93, 96, 132}
REFUTED = {54, 57, 60, 61, 70, 71, 91, 94, 95, 97, 98, 107, 108, 126, 128, 129, 131}
REFUTED |= {133, 134, 156, 157, 158, 159, 161, 162, 163, 164}
REPAIRED = {f"han2024/eq-{k}" for k in (54, 57, 91, 94, 95, 157, 162)}
STATUS = {f"han2024/eq-{k}": "proved" for k in PROVED}
STATUS |= {f"han2024/eq-{k}": "refuted" for k in REFUTED}

# Statuses


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_earns_the_status(claim) -> None:
    """Entries without a number of their own are all refuted."""
    outcome = decide(claim.id, claim.evidence)
    assert outcome.status == STATUS.get(claim.id, "refuted"), outcome.lines
    assert (claim.repair is not None) == (claim.id in REPAIRED)
    if claim.repair is not None:
        repaired = decide(f"{claim.id}#repair", claim.repair.evidence)
        assert repaired.status == "proved", repaired.lines


def test_every_numbered_equation_is_entered_once() -> None:
    """(53), (90) and (127) are Lemmas D.1, E.1 and an entry of their own."""
    ids = [claim.id for claim in CLAIMS]
    wanted = {*range(54, 62), 70, 71, *range(91, 99), 107, 108, 126, 128, 129}
    wanted |= {*range(131, 135), *range(156, 160), *range(161, 165)}
    assert len(ids) == len(set(ids))
    assert wanted == PROVED | REFUTED
    assert set(STATUS) <= set(ids)


# Proved: searched for violations


def below(left: float, right: float) -> bool:
    return left <= right + 1e-9 * (1 + abs(left) + abs(right))


@pytest.mark.parametrize("sequential", [False, True], ids=["D", "E"])
@pytest.mark.parametrize("seed", range(60))
def test_lines_of_one_round_hold(seed: int, sequential: bool) -> None:
    """Both sides of what is proved in D.1.1 and E.1.1, repairs included."""
    fed = Federation(seed)
    N, tau, eta, S, mu = fed.N, fed.tau, fed.eta, fed.S, fed.mu
    w = np.ones(N) if sequential else fed.a
    u, whole = fed.x[1] - fed.star[1], fed.x - fed.star
    e = expectations(fed, sequential)
    G2, W, w2s = e["G2"], w.sum(), (w**2 * fed.sigma2).sum()
    factor = eta**2 * tau * N
    right = u**2 + factor * e["v2"] - 2 * eta * e["cross"]
    assert below(e["first"], right), "(55), (92)"
    assert below(factor * e["v2"], factor * (e["xi2"] + e["g2"])), "(56), (93)"
    last = factor * tau * (w2s + (w**2).sum() * G2)
    assert below(factor * (e["xi2"] + e["g2"]), last), "(56), (93)"
    assert below(e["Z2"], tau * e["steps"]), "(59), (96)"
    assert below(tau * e["steps"], N * w2s * tau**2), "(59), (96)"
    repaired = e["first"] + eta**2 * e["M2"] + 2 * eta**2 * e["Z2"]
    assert below(e["next"], repaired), "(54), (91) repaired"
    bracket = e["gap"] + tau * W * mu / 4 * whole @ whole - S * e["D"]
    assert below(-2 * eta * e["P"], -2 * eta * bracket), "(57), (94) repaired"
    if sequential:
        assert below(e["drift"], eta**2 * N**3 * tau**3 * G2 / 3), "(95) repaired"
    else:
        moment = (w * (2 * fed.sigma2 + G2)).sum()
        assert below(e["drift"], 12 * tau**3 * eta**2 * moment), "(58)"


@pytest.mark.parametrize("sequential", [False, True], ids=["D", "E"])
def test_the_search_finds_what_is_false(sequential: bool) -> None:
    """(54) and (57) as printed, (55) without N, (57) repaired with S/10."""
    found = dict.fromkeys((54, 57, 55, 570), 0)
    for seed in range(60):
        fed = Federation(seed)
        N, tau, eta = fed.N, fed.tau, fed.eta
        e, w = expectations(fed, sequential), np.ones(N) if sequential else fed.a
        u, whole = fed.x[1] - fed.star[1], fed.x - fed.star
        found[54] += not below(e["next"], e["first"] + eta**2 * e["Z2"])
        curve = tau * w.sum() * fed.mu / 4
        block = e["gap"] + curve * u**2 - fed.S * e["drift"]
        found[57] += not below(-e["cross"], -block)
        right = u**2 + eta**2 * tau * e["v2"] - 2 * eta * e["cross"]
        found[55] += not below(e["first"], right)
        flat = e["gap"] + curve * whole @ whole - fed.S / 10 * e["D"]
        found[570] += not below(-e["P"], -flat)
    assert min(found.values()) > 0, found


@pytest.mark.parametrize("sequential", [False, True], ids=["F", "G"])
@pytest.mark.parametrize("seed", range(40))
def test_distance_to_full_participation(seed: int, sequential: bool) -> None:
    """(132), and the repairs of (157) and (162)."""
    fed = Federation(seed, clients=1 + seed % 2)
    distance, seen = np.zeros(2), 0.0
    for p, _, full, part in fed.rounds(sequential, some=True):
        distance += p * (part.after - full.after) ** 2
        for n, _, v, _ in (*full.visits, *part.visits):
            seen = max(seen, v @ v + fed.sigma2[n])
    scale = fed.N * fed.tau**2 * fed.eta**2 * seen
    if not sequential:
        assert below(distance[0], scale * (fed.a**2 / fed.q).sum())
        return
    for k, w in ((0, fed.a), (1, np.ones(fed.N))):
        assert below(distance[k], 2 * scale * (w**2 * (1 + 1 / fed.q)).sum())


# Refuted: run again by the simulation


def bowl(x) -> np.ndarray:
    """h((x_c+x_s)/sqrt 2) + h((x_c-x_s)/sqrt 2)/3, derivative."""
    u, v = huber((x[0] + x[1]) / np.sqrt(2)), huber((x[0] - x[1]) / np.sqrt(2)) / 3
    return np.array([u + v, u - v]) / np.sqrt(2)


def ends(found) -> tuple[float, float]:
    return float(found.left.low), float(found.right.high)


@pytest.mark.parametrize("letter", "DEFG")
@pytest.mark.parametrize("block", ["server", "client"])
def test_driven_block_as_simulated(letter: str, block: str) -> None:
    partially, eta = letter in "FG", 1 / 200
    place = 1 if block == "server" else 0
    q = np.array([0.5 if partially else 1.0])
    x = np.full(2, -0.75)
    x[place] = 0.25
    left = 0.0
    for present in (0, 1):
        chance = q[0] if present else 1 - q[0]
        after = play(
            [bowl], np.zeros((1, 2)), x, eta, 1, np.ones(1), [(1,)],
            sequential=letter in "EG", q=q, present=(present,),
        ).after  # fmt: skip
        left += chance * after[place] ** 2
    G2 = 1 + 1 / 9
    right = 1 / 16 + eta**2 * G2 + 24 * eta**3 * G2 + partially * eta**2 * G2 / q[0]
    found = one_round_refuted_blocks.driven(letter, block, Fraction(q[0]))
    assert ends(found) == pytest.approx((left, right), rel=1e-12)
    curved = one_round_refuted_blocks.driven(
        letter, block, Fraction(q[0]), Fraction(1, 3)
    )
    assert ends(curved) == pytest.approx((left, right - eta / 96), rel=1e-12)


def test_dependent_noise_as_simulated() -> None:
    eta, zeta = 1 / 8, np.array([[-24.0, 7.0]]) / 25
    left = without = noise = 0.0
    for signs in outcomes(1, 2):
        one = play(
            [bowl], zeta, np.zeros(2), eta, 2, np.ones(1), signs, sequential=False
        )
        left += one.after[1] ** 2 / 4
        without += sum(eta * v[1] for _, _, v, _ in one.visits) ** 2 / 4
        noise += sum(xi[1] for *_, xi in one.visits) ** 2 / 4
    found = one_round_refuted_steps.dependent_noise()
    right = without + eta**2 * noise
    assert ends(found) == pytest.approx((left, right), rel=1e-12)
    # 2 eta^2 E<M, Z> with E<M, Z> = 14 eta/375
    assert left - right == pytest.approx(2 * eta**3 * 14 / 375)


@pytest.mark.parametrize(("N", "tau"), [(7, 1), (10, 10)])
def test_shared_server_drift_as_simulated(N: int, tau: int) -> None:
    eta, start = 1 / (3 * tau), np.array([0.0, N * tau + 1.0])
    client = lambda x: np.array([0.0, huber(x[1])])  # noqa: E731
    signs = [(1,) * tau] * N
    one = play(
        [client] * N, np.zeros((N, 2)), start, eta, tau, np.ones(N) / N, signs,
        sequential=True,
    )  # fmt: skip
    drift = sum((point[1] - start[1]) ** 2 for _, point, _, _ in one.visits)
    found = one_round_refuted_steps.shared_server_drift(N, tau)
    assert ends(found) == pytest.approx((drift, 12 * N * tau**3 * eta**2))


@pytest.mark.parametrize("block", ["server", "client"])
def test_overshooting_server_as_simulated(block: str) -> None:
    eta, q, x = 0.25, np.array([1 / 15]), np.array([1.0, 0.0])
    ridge = lambda x: huber(x.sum() / np.sqrt(2)) * np.ones(2) / np.sqrt(2)  # noqa: E731
    known = ([ridge], np.zeros((1, 2)), x, eta, 2, np.ones(1), [(1, 1)])
    full = play(*known, sequential=True).after
    place, left, right = int(block == "server"), 0.0, 0.0
    for present in (0, 1):
        chance = q[0] if present else 1 - q[0]
        after = play(*known, sequential=True, q=q, present=(present,)).after
        left += chance * (after - full)[place] ** 2
        right += chance * (after - x)[place] ** 2
    found = one_round_refuted_steps.overshooting_server(block)
    assert ends(found) == pytest.approx((left, right), rel=1e-9, abs=1e-12)


def helpful_noise(monkeypatch):
    """Noise after which the server's gradient has the other sign."""
    along = (Fraction(24, 25), Fraction(7, 25))
    monkeypatch.setattr(one_round_refuted_steps, "NOISE", along)
    return one_round_refuted_steps.dependent_noise()


@pytest.mark.parametrize(
    "finding",
    [
        helpful_noise,
        lambda _: one_round_refuted_steps.shared_server_drift(6),
        lambda _: one_round_refuted_steps.shared_server_drift(6, 10),
        lambda _: one_round_refuted_blocks.driven("F", "server", Fraction(1, 50)),
    ],
    ids=["noise along", "six clients", "six clients, ten steps", "rare participation"],
)
def test_weaker_instances_refute_nothing(finding, monkeypatch) -> None:
    with pytest.raises(Rejected, match="no violation"):
        replay(finding(monkeypatch))


# Bent certificates are rejected

M, R = one_round_moments, one_round_repairs


@pytest.mark.parametrize(
    ("build", "bend"),
    [
        (M.first_part, lambda right: right.subs(M.N, M.N - 1)),
        (M.first_part, lambda right: right.subs(M.tau, 1)),
        (M.moment_split, lambda right: right * 99 / 100),
        (M.moment_bound, lambda right: right.subs(M.noise2, 0)),
        (M.moment_bound, lambda right: right / M.tau),
        (M.block_drift, lambda right: right / 37),
        (M.noise_over_steps, lambda right: right / M.tau),
        (M.noise_over_clients, lambda right: right.subs(M.N, 1)),
        (R.dependent_noise, lambda right: right - R.eta**2 * _square("M")),
        (R.whole_vector, lambda right: right.subs(R.mu, 2 * R.mu)),
        (R.whole_vector, lambda right: right.subs(R.S, R.S / 2)),
        (R.shared_server_drift, lambda right: right.subs(R.N, 1)),
        (R.shared_server_drift, lambda right: right / 2),
        (R.participation_distance, lambda right: right / 2),
        (R.participation_distance, lambda right: right.subs(R.W2, 0)),
    ],
)
def test_bent_certificates_are_rejected(build, bend) -> None:
    certificate = build("x")
    check(certificate, "x")
    with pytest.raises(Rejected):
        check(replace(certificate, right=bend(certificate.right)), "x")


def _square(name: str):
    return one_round_repairs.norm2(one_round_repairs.vectors(name)[0])


def test_lemma_for_a_block_is_not_provable() -> None:
    """Without the linked Lemma C.3 the fact (57) of the repair proves nothing."""
    certificate = one_round_repairs.whole_vector("x")
    ((fact, multiplier),) = certificate.uses
    bare = replace(certificate, uses=((replace(fact, derived=None), multiplier),))
    with pytest.raises(Rejected, match="which the claim does not assume"):
        check(bare, "x")


def test_noise_that_is_not_fresh_is_not_assumed() -> None:
    """The repair of (54) uses that Z is orthogonal to x^t - x*, not to M."""
    certificate = one_round_repairs.dependent_noise("x")
    with pytest.raises(Rejected, match="identity fails"):
        check(replace(certificate, uses=()), "x")
