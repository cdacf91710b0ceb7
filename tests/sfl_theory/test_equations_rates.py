"""han2024, App. D-G, convex cases: inductions, rates and merges.

What is refuted is run again by a plain simulation, what is proved is searched for
violations on random members of the class, and certificates that are bent are rejected.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from sfl_theory.audits.han2024.equations import (
    rates_descent,
    rates_induction,
    rates_refuted_blocks,
    rates_refuted_merges,
)
from sfl_theory.audits.han2024.equations.rates_claims import CLAIMS
from sfl_theory.audits.han2024.equations.rates_sections import SECTIONS
from sfl_theory.evidence.certificate import Fact, Rejected, atom, check
from sfl_theory.evidence.instance import replay
from sfl_theory.evidence.ledger import decide

PROVED = "63 64 65 66 68 73 102 103 105 136 138 141 168"
REFUTED = (
    "62 69 72 74 75 76 77 99 100 101 104 106 109 110 111 112 113 114 130 135 137 139 "
    "140 142 143 144 160 165 166 167 169 170 171 172 173 174 73/middle 136/middle"
)
STATUS = {
    f"han2024/eq-{number}": status
    for status, numbers in (
        ("proved", PROVED),
        ("refuted", REFUTED),
    )
    for number in numbers.split()
}
BY_ID = {claim.id: claim for claim in CLAIMS}


@pytest.mark.parametrize("claim", CLAIMS, ids=lambda claim: claim.id)
def test_evidence_earns_the_status(claim) -> None:
    """Conditions and merges without a number are all refuted."""
    outcome = decide(claim.id, claim.evidence)
    assert outcome.status == STATUS.get(claim.id, "refuted"), outcome.lines
    if claim.repair is not None:
        repaired = decide(f"{claim.id}#repair", claim.repair.evidence)
        assert repaired.status == "proved", repaired.lines


def test_every_numbered_equation_is_entered_once() -> None:
    assert len(BY_ID) == len(CLAIMS)
    assert set(STATUS) <= set(BY_ID)
    wanted = {62, 63, 64, 65, 66, 68, 69, *range(72, 78), *range(99, 107)}
    wanted |= {*range(109, 115), 130, *range(135, 145), 160, *range(165, 175)}
    numbers = {key.split("-")[1].partition("/")[0] for key in STATUS}
    assert {int(number) for number in numbers} == wanted


# Refuted: run again


def descend(x: np.ndarray, rate, rounds: int) -> np.ndarray:
    """Gradient descent on x_c^2 + x_c x_s + x_s^2, one step a round."""
    H = np.array([[2.0, 1.0], [1.0, 2.0]])
    for t in range(rounds):
        x = x - rate(t) * (H @ x)
    return x


@pytest.mark.parametrize("letter", "DEFG")
@pytest.mark.parametrize("block", ["server", "client"])
def test_driven_block_as_simulated(letter: str, block: str) -> None:
    """Both sides of (69), (72), ...: the run in floats, the bound typed again."""
    S, rounds = 8000, 4500
    found = rates_refuted_blocks.distance(letter, block)
    x = descend(np.array([1.0, 0.0]), lambda t: 4 / (8 * S - 1 + t), rounds)
    assert float(found.left.low) == pytest.approx(x[1] ** 2, rel=1e-9)
    terms = 16 * 5 + (16 * 5 if letter in "FG" else 0) + 192 * 5
    assert float(found.right.high) == pytest.approx(terms / (8 * S - 1 + rounds))


def test_driven_block_with_participation_as_simulated() -> None:
    """The mean over runs lies in the enclosure of the left side."""
    S, rounds, runs = 8000, 4500, 400
    rng = np.random.default_rng(0)
    x = np.tile([1.0, 0.0], (runs, 1))
    for t in range(rounds):
        present = rng.random((runs, 1)) < 0.5
        g = x @ np.array([[2.0, 1.0], [1.0, 2.0]])
        x = x - 4 / (8 * S - 1 + t) / 0.5 * present * g
    found = rates_refuted_blocks.distance("F", "server", Fraction(1, 2))
    mean = float((x[:, 1] ** 2).mean())
    assert float(found.left.low) <= mean * 1.01 <= float(found.left.high)
    assert mean > float(found.right.high)


def test_one_round_of_the_driven_block_as_simulated() -> None:
    S = 1000
    found = rates_refuted_blocks.one_round("D", "server")
    rate = lambda t: 4 / (8 * S - 1 + t)  # noqa: E731
    x = descend(np.array([1.0, -0.25]), rate, 1)
    then = descend(np.array([1.0, -0.25]), rate, 2)
    G2 = 1.75**2 + 0.5**2
    step = rate(1)
    right = (1 - step / 2) * x[1] ** 2 + step**2 * G2 + 24 * S * step**3 * G2
    assert float(found.left.low) == pytest.approx(then[1] ** 2)
    assert float(found.right.high) == pytest.approx(right)


@pytest.mark.parametrize(
    "finding",
    [
        lambda: rates_refuted_blocks.distance("D", "server", rounds=40),
        lambda: rates_refuted_blocks.distance("D", "server", S=40, rounds=400),
        lambda: rates_refuted_blocks.one_round("D", "server", S=20),
        lambda: rates_refuted_merges.merge("E", 1),
        lambda: rates_refuted_merges.unweighted_server("E", 40),
    ],
    ids=["too early", "too flat", "too steep", "one client", "few rounds"],
)
def test_weaker_instances_refute_nothing(finding) -> None:
    with pytest.raises(Rejected, match="no violation"):
        replay(finding())


@pytest.mark.parametrize("clients", [1, 2, 5])
def test_rates_are_the_derivation_s(clients: int) -> None:
    """E.1.1: eta^t = 2 beta/(N tau (gamma_s+t)) with beta = 2/mu."""
    setting = replace(rates_refuted_merges._flat(clients), tau=3, S=Fraction(7))
    gamma = Fraction(8 * 7, clients) - 1
    rate = SECTIONS["E"].rate("server", setting, 4)
    assert rate == Fraction(4, clients * 3) / (gamma + 4)


# Proved: searched for violations


@pytest.mark.parametrize("seed", range(40))
def test_lines_of_the_induction(seed: int) -> None:
    """(62)-(68) and (99)-(105) in floats, typed from the paper."""
    rng = np.random.default_rng(seed)
    mu, tau, t = rng.uniform(0.1, 2), rng.integers(1, 5), int(rng.integers(0, 6))
    S = mu * (1 + rng.exponential(3))
    clients = 1 if seed % 2 else int(rng.integers(1, 30))
    B1, B2, start = rng.exponential(3, size=3)
    gamma, beta = 8 * S / (clients * mu) - 1, 2 / mu
    u = gamma + t
    eta = 2 * beta / (clients * tau * u)
    v = max(4 * B1 / mu**2 + 8 * B2 / (mu**3 * (gamma + 1)), (gamma + 1) * start)
    now = v / u * rng.uniform(-1 if u < 0 else 0, 1)
    noise = (eta * tau) ** 2 / 4 * B1 + (eta * tau) ** 3 / 8 * B2
    one = (1 - mu * clients * eta * tau / 2) * now + noise
    two = (1 - mu * beta / u) * v / u + noise
    shown = beta**2 * B1 / u**2 + beta**3 * B2 / u**3
    three = (u - 1) / u**2 * v + shown - (beta * mu - 1) / u**2 * v
    below = beta * mu - 1
    again = max(
        beta**2 * B1 / below + beta**3 * B2 / (below * (gamma + 1)),
        (gamma + 1) * start,
    )
    last = (u - 1) / u**2 * v
    scale = 1e-9 * (abs(one) + abs(two) + abs(three) + 1)
    if u >= 2:
        assert one <= two + scale
    if clients == 1:
        assert two == pytest.approx(three)
    elif u > 0:
        assert two <= three + scale
    assert v == pytest.approx(again)
    if t >= 1:
        assert three <= last + scale
        assert eta <= 1 / (2 * S * tau) * (1 + 1e-12)
    assert last <= v / (u + 1) + scale


# Bent certificates are rejected


def halved(fact: Fact) -> Fact:
    return replace(fact, expr=fact.expr.subs(rates_descent.w, rates_descent.w / 2))


def bent() -> dict[str, object]:
    d, i = rates_descent, rates_induction
    one, step, last = d.one_round("x"), d.induction("x"), d.end("x", "3.8")
    (recursion, _), hypothesis = step.uses
    less = replace(recursion, expr=recursion.expr.subs(d.G2, d.G2 / 2))
    used, line = i.hypothesis_used("x"), i.last_line("x", False)[0]()
    domain = used.domain
    low = {**domain.values, i.u: domain.values[i.u] - 1}
    early = i.noise_absorbed("x")
    at_zero = {**early.domain.values, i.start: early.domain.values[i.start] + 1}
    first = i.rate_from_first_round("x", False)
    zero = {**first.domain.values, i.u: first.domain.values[i.u] - 1}
    equal = i.maximum_inserted("x", False)[0]()
    return {
        "faster contraction": replace(
            one, right=one.right - one.right.coeff(atom("e_t")) * atom("e_t") / 9
        ),
        "no noise": replace(one, right=one.right.subs(d.c1, 0)),
        "no drift": replace(one, uses=one.uses[:-2] + one.uses[-1:]),
        "no second moment": replace(one, uses=one.uses[:-1]),
        "no square": replace(one, squares=()),
        "w without the noise": replace(step, right=step.right / 40),
        "less noise than the round has": replace(step, uses=((less, 1), hypothesis)),
        "half an induction hypothesis": replace(
            last, right=last.right, uses=((halved(last.uses[0][0]), 1),)
        ),
        "hypothesis with a negative factor": replace(
            used, domain=replace(domain, values=low)
        ),
        "printed bound a hundredth": replace(last, right=last.right / 100),
        "v/(u+3)": replace(line, right=i.v / (i.u + 3)),
        "noise absorbed before t = 1": replace(
            early, domain=replace(early.domain, values=at_zero)
        ),
        "first rate at t = 0": replace(
            first, domain=replace(first.domain, values=zero)
        ),
        "maximum without its definition": replace(equal, uses=()),
        "(100) >= (101)": replace(
            i.rate_inserted_sequential("x"),
            left=i.rate_inserted_sequential("x").right,
            right=i.rate_inserted_sequential("x").left,
        ),
    }


@pytest.mark.parametrize("name", bent())
def test_bent_certificates_are_rejected(name: str) -> None:
    with pytest.raises(Rejected):
        check(bent()[name], "x")
