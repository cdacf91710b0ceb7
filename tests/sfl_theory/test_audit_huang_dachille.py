"""The ledgers of huang2023 and dachille2024: statuses rest on their evidence."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace
from fractions import Fraction

import pytest
import sympy as sp

from sfl_theory.audits.dachille2024 import certificates as dachille2024_certificates
from sfl_theory.audits.dachille2024 import claims as dachille2024
from sfl_theory.audits.dachille2024 import tables as dachille2024_tables
from sfl_theory.audits.huang2023 import claims as huang2023
from sfl_theory.audits.huang2023 import expansions, lemmas
from sfl_theory.audits.huang2023 import joint as huang2023_joint
from sfl_theory.audits.huang2023 import refuted_propositions as huang2023_instances
from sfl_theory.evidence.certificate import Rejected, check
from sfl_theory.evidence.claim import Open, Proof, Refutation
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.ledger import Ledger
from sfl_theory.papers import huang2023 as paper

LEDGER = Ledger((*huang2023.CLAIMS, *dachille2024.CLAIMS))
EXPECTED = {Proof: "proved", Refutation: "refuted", Open: "unproved"}


@pytest.mark.parametrize("claim", LEDGER.claims(), ids=lambda claim: claim.id)
def test_replay_earns_the_status_that_the_evidence_claims(claim):
    entry = LEDGER.entry(claim.id)
    assert entry.outcome.status == EXPECTED[type(claim.evidence)], entry.outcome.lines
    if claim.repair is not None:
        assert entry.repair.status == EXPECTED[type(claim.repair.evidence)]


@pytest.mark.parametrize(
    "key, status",
    [
        ("huang2023/prop-1", "refuted"),
        ("huang2023/prop-2", "refuted"),
        ("huang2023/thm-1", "proved"),
        ("huang2023/lemma-4", "proved"),
        ("dachille2024/prop-1", "proved"),
        ("dachille2024/lemma-2", "refuted"),
    ],
)
def test_main_statements_keep_their_status(key, status):
    assert LEDGER.entry(key).outcome.status == status


def test_no_violation_where_the_paper_is_generous():
    """With N = 36 clients the one-step noise instance no longer breaks Prop. 1."""
    N = 36
    right = huang2023_instances.printed(
        paper.PROPOSITION_1,
        N,
        1,
        1,
        Fraction(1),
        Fraction(3),
        1,
        Fraction(0),
        Fraction(0),
    )
    found = replace(
        huang2023_instances.server_noise(),
        left=right.of(huang2023_instances.noise_variance(N, 1, 1)),
        right=right,
    )
    with pytest.raises(Rejected, match="no violation"):
        replay(found)


def test_theorem_1_survives_the_instances_that_break_its_propositions():
    """A proved bound must hold where L_s or L_c alone fails."""
    one, zero = Fraction(1), Fraction(0)
    noise = huang2023_instances.noise_variance(37, 1, 1) / 2
    bound = huang2023_instances.printed(
        paper.THEOREM_1, 37, 1, 1, one, Fraction(3), 1, zero, zero
    )
    assert noise < bound.low
    a, b, kappa = Fraction(1, 2), Fraction(-1, 2), 50
    for i in range(160):
        eta = Fraction(2, 8 * kappa - 1 + i)
        a, b = a * (1 - eta), b * (1 - 3 * eta)
    bound = huang2023_instances.printed(
        paper.THEOREM_1, 1, 1, 160, Fraction(kappa), Fraction(5), 0, one, zero
    )
    assert a**2 + 3 * b**2 < bound.low


@pytest.mark.parametrize("seed", range(6))
def test_theorem_1_and_drift_hold_on_random_quadratics(seed):
    """Joint distance and drift of the proved recursion, exact, heterogeneous
    clients."""
    rng = random.Random(seed)
    N, tau, rounds = 3, rng.randint(1, 9), 4
    # f_n = (w_c^2 + w_s^2)/2 * h + b_n w_c w_s - c_n w_c - e_n w_s, mean of b, c, e is
    # 0
    draw = [[Fraction(rng.randint(-3, 3), 8) for _ in range(N)] for _ in range(3)]
    b, c, e = ([x - sum(row, Fraction(0)) / N for x in row] for row in draw)
    spread = max(abs(x) for x in b)
    mu, S = 1 - spread, 1 + spread
    gamma = max(8 * S / mu - 1, Fraction(tau))
    clients = [Fraction(rng.randint(-2, 2))] * N
    server = Fraction(rng.randint(-2, 2))
    start = clients[0] ** 2 + server**2
    history, gradients2, divergence2 = [], [Fraction(0)], [Fraction(0)]
    for i in range(rounds * tau):
        eta = 2 / (mu * (gamma + i))
        mean = sum(clients) / N
        drift = sum((x - mean) ** 2 for x in clients) / N
        history.append((i, eta, mean**2 + server**2, drift))
        along = [
            (clients[n] + b[n] * server - c[n], server + b[n] * clients[n] - e[n])
            for n in range(N)
        ]
        gradients2 += [x**2 + y**2 for x, y in along]
        divergence2 += [
            (b[n] * server - c[n]) ** 2 + (b[n] * mean - e[n]) ** 2 for n in range(N)
        ]
        clients = [clients[n] - eta * along[n][0] for n in range(N)]
        server -= eta * sum(y for _, y in along) / N
        if (i + 1) % tau == 0:
            clients = [sum(clients) / N] * N
        clients = [Fraction(round(x * 2**40), 2**40) for x in clients]
        server = Fraction(round(server * 2**40), 2**40)
    R2, delta2 = max(gradients2), max(divergence2)
    B = R2 + 2 * tau * delta2
    V = R2 + Fraction(16, 7) * (tau - 1) * B
    limit = 4 * V / (3 * mu**2) + gamma * start
    for i, eta, distance, drift in history:
        assert distance <= limit / (gamma + i) + Fraction(1, 10**9)
        assert drift <= 8 * (tau - 1) * eta**2 * B + Fraction(1, 10**9)


def _last_fails(build, change):
    certificate = build()
    with pytest.raises(Rejected):
        check(replace(certificate, **change(certificate)), certificate.claim)


@pytest.mark.parametrize(
    "builds",
    [
        lemmas.decomposition,
        expansions.young_two,
        expansions.young_rate,
        lemmas.exclusion,
    ],
)
def test_certificates_do_not_prove_half_of_the_right_side(builds):
    (build,) = builds("x")
    _last_fails(build, lambda c: {"right": c.right / 2})


def test_joint_recursion_needs_its_facts_and_constants():
    builds = huang2023_joint.distance("x")
    for build in builds:
        certificate = build()
        for k in range(len(certificate.uses)):
            fewer = certificate.uses[:k] + certificate.uses[k + 1 :]
            with pytest.raises(Rejected):
                check(replace(certificate, uses=fewer), "x")
        if certificate.right != 0:
            _last_fails(build, lambda c: {"right": c.right / 2})


def test_dachille_certificates_reject_a_smaller_noise_term():
    name = dachille2024_certificates
    for build in (*name.drift("x"), *name.drift_step("x")):
        _last_fails(build, lambda c: {"right": c.right / 8})
    last = name.average("x")[-1]
    _last_fails(last, lambda c: {"right": c.right * sp.Rational(99, 100)})


def test_tables_are_complete_and_numbers_of_the_text_follow():
    columns = (*dachille2024_tables.IID.values(), *dachille2024_tables.NON_IID.values())
    assert Counter(len(column) for column in columns) == {9: 7}
    false = dachille2024_tables.arithmetic("x", ((Fraction(2), Fraction(1)),), "no")
    with pytest.raises(Rejected):
        check(false[0](), "x")
    with pytest.raises(Rejected, match="no violation"):
        replay(dachille2024_tables.gap_shrinks("CIFAR100"))
