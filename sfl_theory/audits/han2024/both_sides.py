"""Putting the left side of a run beside the printed bound."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from fractions import Fraction

from sfl_theory.audits.han2024.printed import (
    Setting,
    largest_rate,
    printed_rates,
    right_side,
)
from sfl_theory.evidence.enclosed_run import enclosed
from sfl_theory.evidence.federated import FederatedRun
from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval
from sfl_theory.evidence.moments import curved, pull, resting
from sfl_theory.registry import theorem


def refuting(run: FederatedRun) -> Finding:
    """Return both sides on a run: its assumptions checked, its left side enclosed.

    Args:
        run: of separable clients.

    Returns:
        The finding at the run's T, with a curve over the rounds before.
    """
    setting = Setting.of(run)
    found = gap_finding(
        run.words,
        run.theorem,
        run.case,
        setting,
        (*_assumptions(run, setting), *_step_sizes(run, setting)),
        enclosed(run, shown_rounds(run.rounds)),
        run.client_rate(0) if run.client_rate.constant else None,
    )
    return replace(found, run=run)


def _assumptions(run: FederatedRun, setting: Setting) -> Iterator[Check]:
    """Yield the checks on functions and noise, on the reading of the case."""
    yield at_most("3.1: largest curvature of every F_n", run.S, setting.S)
    what = "3.2: noise +-zeta_n with equal chances, ||zeta_n||^2"
    yield at_most(what, max(run.sigma2), setting.sigma**2)
    if run.case == "non_convex":
        what = "3.4 everywhere: largest ||grad F_n - grad f||^2"
        if run.eps2 is None:
            yield Check(what, False, "not known")
        else:
            yield at_most(what, run.eps2, setting.epsilon2)
        return
    if run.case == "strongly_convex":
        yield at_most("C.2: mu is at most every curvature", setting.mu, run.mu)
        yield Check("C.2 with mu > 0", setting.mu > 0, f"mu = {setting.mu}")
    else:
        yield equal("C.2: convex, mu", setting.mu, 0)
    what = f"3.3 on {run.domain_words}: largest ||grad F_n||^2 + sigma_n^2"
    yield at_most(what, run.G2, setting.G2)
    # Each step ends between its start and what it pulls towards, so the box that is
    # spanned by start and targets holds the run; learning rates do not grow.
    for j, name in enumerate(run.coordinates):
        if not resting(run, j):
            yield at_most(f"iterates stay in the box: pull on {name}", pull(run, j), 1)
    yield Check("every F_n is quadratic on the box", curved(run), run.box_words)


def _step_sizes(run: FederatedRun, setting: Setting) -> Iterator[Check]:
    """Yield the checks on the learning rates."""
    step = theorem(run.theorem).case(run.case).bound("printed").step_size
    if step is not None and step.relation == "=":
        sides = "client", "server"
        used = run.client_rate, run.server_rate
        rates = printed_rates(run.theorem, setting)
        for side, rate, wanted in zip(sides, used, rates, strict=True):
            words = f"{rate} = {wanted}"
            yield Check(f"step size as printed, {side} side", rate == wanted, words)
        return
    for rate in {run.client_rate, run.server_rate}:
        yield admitted(run.theorem, run.case, setting, rate(0))


def gap_finding(
    setup: str,
    number: str,
    case: str,
    setting: Setting,
    checks: tuple[Check, ...],
    left: Mapping[int, Interval],
    eta: Fraction | None = None,
) -> Finding:
    """Return both sides at the last round given, and a curve over the others.

    Args:
        setup: the instance in words.
        number: the theorem.
        case: its case.
        setting: constants of the instance.
        checks: assumptions beyond weights and participation.
        left: round -> left side, at least one round.
        eta: constant learning rate, for bounds that sum over it.

    Returns:
        The finding.
    """
    last = max(left)
    right = {t: right_side(number, case, setting, t, eta) for t in left}
    return Finding(
        setup,
        (*common_checks(setting), *checks),
        left[last],
        right[last],
        f"T = {last}",
        tuple((t, float(left[t].low), float(right[t].high)) for t in sorted(left)),
    )


def common_checks(setting: Setting) -> tuple[Check, ...]:
    """Return the checks on weights and participation."""
    return (
        equal("weights: sum of a_n is 1", sum(setting.weights, Fraction(0)), 1),
        at_most("weights: a_n >= 0", 0, min(setting.weights)),
        Check("participation: 0 < q_n <= 1", 0 < setting.q <= 1, f"q = {setting.q}"),
    )


def admitted(number: str, case: str, setting: Setting, eta: Fraction) -> Check:
    """Return the check that a rate is positive and meets the printed condition."""
    limit = largest_rate(number, case, setting)
    name = "printed learning-rate condition"
    return Check(name, 0 < eta <= limit, f"0 < {eta} <= {limit}")


def shown_rounds(last: int, count: int = 24) -> tuple[int, ...]:
    """Return about ``count`` rounds from 1 to the last, evenly in the logarithm."""
    found = {1, last}
    for k in range(1, count):
        found.add(max(1, round(float(last) ** (k / count))))
    return tuple(sorted(found))
