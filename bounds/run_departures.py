"""How a finished deep run differs from what a theorem analyses, in named lines.

Every line is ``NAME: words``. Where the constants are those met along the run, a step
size above the theorem's condition is certainly too large, and one below it may be.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from bounds.finished_run import FinishedRun
from sfl_theory import Bound, Theorem
from sfl_theory.conditions import EqualPeriods, EqualWeights, WeightedServer
from sfl_train.deep.config import MODELS

SAME_ITERATES = {"sfl-v1": ("sfl-v1", "fedavg")}
"""With one period FedAvg is SFL-V1, to the last bit."""

ROUNDING = 1e-12


def departures(
    item: Theorem, bound: Bound, runs: Sequence[FinishedRun]
) -> tuple[str, ...]:
    """Compare runs with the hypotheses of a theorem.

    Args:
        item: the theorem.
        bound: the version of its bound under test.
        runs: of one configuration, one per seed.

    Returns:
        One line per mismatch.
    """
    return (
        *_algorithm(item, runs[0]),
        *_participation(item, runs),
        *_periods(bound, runs),
        *_weights(bound, runs),
        *_optimizers(runs[0]),
        *_rates(bound, runs),
        *_gradients(runs),
        *_network(runs[0]),
    )


def _algorithm(item: Theorem, run: FinishedRun) -> Iterator[str]:
    config, wanted = run.config, item.algorithm
    if config.algorithm not in SAME_ITERATES.get(wanted, (wanted,)):
        yield f"algorithm: {config.algorithm}; {item.key} is on {wanted}"
    if config.algorithm == "sfl-v2" and config.order != "interleaved":
        yield f"order: {config.order}; the theorem analyses Algorithm 2's interleaved"
    if config.server_waits:
        yield "server: waits until every client was seen; Algorithm 1 does not"


def _participation(item: Theorem, runs: Sequence[FinishedRun]) -> Iterator[str]:
    config = runs[0].config
    if all(run.full for run in runs):
        return
    if item.participation == "full":
        q = runs[0].constants.per_client("participation")[0]
        yield f"participation: q = {q:.4g}; {item.key} is on full participation"
        return
    if config.participation_draw == "fixed":
        yield (
            "participation: a fixed number of clients is drawn; the theorem draws "
            "every client independently"
        )
    if config.aggregation != "updates":
        yield (
            f"aggregation: {config.aggregation}; the proof analyses App. C.2's updates"
        )


def _periods(bound: Bound, runs: Sequence[FinishedRun]) -> Iterator[str]:
    steps = [n for run in runs for n in run.steps]
    if min(steps) < max(steps):
        yield (
            f"periods: {min(steps)} to {max(steps)} local steps, by the clients' data; "
            "the theorem has one tau for all (the bound is drawn with the largest)"
        )
    constants = runs[0].constants
    if bound.assumes(EqualPeriods) and constants.tau != constants.tau_server:
        yield (
            f"periods: tau_server {constants.tau_server} differs from tau "
            f"{constants.tau}; the bound is on equal periods"
        )


def _weights(bound: Bound, runs: Sequence[FinishedRun]) -> Iterator[str]:
    every = [run.constants.per_client("weights") for run in runs]
    assumed = bound.assumes(EqualWeights) or bound.assumes(WeightedServer)
    if assumed and not all(np.allclose(a, 1 / a.size) for a in every):
        yield "weights: unequal; the bound is on a_n = 1/N"


def _optimizers(run: FinishedRun) -> Iterator[str]:
    config = run.config
    sides = {"client": _optimizer(config, config.optimizer, config.lifetime)}
    if config.split:
        name = config.server_optimizer or config.optimizer
        sides["server"] = _optimizer(config, name, config.server_lifetime)
    for words in dict.fromkeys(filter(None, sides.values())):
        who = [side for side, has in sides.items() if has == words]
        where = f" on the {who[0]} side only" if len(who) < len(sides) else ""
        yield f"optimizer: {words}{where}; the theorem's is plain SGD"
    if config.weight_decay:
        yield (
            f"weight decay: {config.weight_decay:g} times the weights in every step; "
            "the measured f has no such term"
        )


def _optimizer(config: Any, name: str, lifetime: str) -> str | None:
    if name == "adam":
        return "adam"
    # A memory that starts anew at every step holds the present gradient alone.
    remembers = config.momentum > 0 and lifetime != "step"
    return f"momentum {config.momentum:g}" if remembers else None


def _rates(bound: Bound, runs: Sequence[FinishedRun]) -> Iterator[str]:
    rule = bound.step_size
    if rule is None:
        return
    wanted = rule.ratio(runs[0].constants)
    ratios = np.concatenate([
        (high_or_low / run.rates[0]).ravel()
        for run in runs
        for high_or_low in server_rates(run)
    ])
    if wanted is not None and not np.allclose(ratios, wanted, rtol=1e-9, atol=0):
        low, high = ratios.min(), ratios.max()
        found = f"{low:.4g}" if np.isclose(low, high) else f"{low:.4g} to {high:.4g}"
        yield (
            f"server rate: {found} times the client's; the bound is on {wanted:.4g} "
            "times"
        )
    broken = [worst for run in runs if (worst := excess(bound, run)) is not None]
    if broken:
        _, given, largest, side = max(broken)
        where = "" if len(broken) == len(runs) else f" in {len(broken)} of {len(runs)}"
        yield (
            f"step size: the step-size condition is not met{where} ({side}eta "
            f"{given:.4g} > {largest:.4g}): the theorem does not speak about this run"
        )


def server_rates(
    run: FinishedRun,
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the smallest and largest rate of a server step over the clients.

    Args:
        run: a finished run; SFL-V2's server steps may carry $a_n$.

    Returns:
        Shape (T,) each; the factor 1/q_n of the algorithm is not in them.
    """
    rate = run.rates[1]
    if run.config.algorithm != "sfl-v2" or run.config.server_weights == "none":
        return rate, rate
    weights = run.constants.per_client("weights")
    return rate * weights.min(), rate * weights.max()


def largest_rates(
    bound: Bound, run: FinishedRun
) -> tuple[NDArray[np.float64], NDArray[np.float64]] | None:
    """Return the largest rates that a bound's condition admits.

    Args:
        bound: with a condition of the form "at most".
        run: its constants enter.

    Returns:
        Client side and server side, shape (T,) each; None without such a condition.
    """
    if bound.step_size is None or bound.step_size.relation != "<=":
        return None
    rule = bound.step_size.schedule(run.constants)
    at = np.arange(run.config.rounds, dtype=np.float64)
    return np.asarray(rule.client(at)), np.asarray(rule.server(at))


def excess(bound: Bound, run: FinishedRun) -> tuple[float, float, float, str] | None:
    """Return by how much a run breaks the step-size condition of a bound.

    Args:
        bound: with a condition of the form "at most".
        run: its constants enter.

    Returns:
        Rate over admitted rate, both, and the side in words; None where the condition
        holds or there is none.
    """
    largest = largest_rates(bound, run)
    if largest is None:
        return None
    given = run.rates[0], server_rates(run)[1]
    # The client's rate is the theorem's eta, so it is named where both are too large.
    for side, rates, most in zip(("", "server-side "), given, largest, strict=True):
        t = int(np.argmax(rates / most))
        if rates[t] > most[t] * (1 + ROUNDING):
            return rates[t] / most[t], rates[t], most[t], side
    return None


def _gradients(runs: Sequence[FinishedRun]) -> Iterator[str]:
    config = runs[0].config
    drawn = [run for run in runs if not run.whole_batches]
    if config.sampling == "reshuffle" and any(max(run.steps) > 1 for run in drawn):
        yield (
            "sampling: batches walk through permutations, so the gradients of a "
            "round's later steps are not unbiased given the earlier ones"
        )
    if config.augmentation != "none":
        yield (
            f"augmentation: {config.augmentation}; the measured f is the loss without "
            "it, of which the gradients are not unbiased"
        )
    if config.precision == "bf16":
        yield "precision: bf16 products in training; the measured gradients have none"


def _network(run: FinishedRun) -> Iterator[str]:
    config = run.config
    if config.model not in MODELS:
        yield (
            f"network: {config.model} is your own: whether it has kinks, as ReLU has, "
            "or BatchNorm, of which the theory speaks neither, is not looked at"
        )
        return
    default = "batch" if config.model.startswith("resnet") else "none"
    if (config.norm or default) == "batch":
        yield (
            "BatchNorm: training normalises with the mini-batch, the measured F_n with "
            "frozen statistics; the gradients are not unbiased for it"
        )
    yield (
        f"smoothness: the {config.model} has ReLU units, so its gradients jump and no "
        "S of Assumption 3.1 exists; the bound takes the largest S met"
    )
