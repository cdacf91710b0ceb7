"""From the options of ``python -m bounds.worst_case`` to a setting, in fractions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING

from sfl_theory.command import CommandError, Parser
from sfl_theory.worst_case.setting import Order, Setting

if TYPE_CHECKING:
    from sfl_theory.schedules import Schedule

STARTS = ("distance", "gap", "gradients")
LONGEST = 10_000
"""Rounds for which step sizes are written out; no program is that large."""
OPTIONS = {
    "rounds": "--rounds",
    "both sides": "--eta-server",
    "step sizes": "--eta-client",
    "tau": "--tau",
    "S must": "--S",
    "mu": "--mu",
    "clients": "--clients",
    "sfl-v2 needs": "--clients",
    "weights": "--weights",
    "fedavg has": "--algorithm",
    "minibatch-sfl has": "--tau-server",
    "sfl-v2 has": "--tau-server",
    "a start by": "--start",
    "the initial": "--initial",
    "without convexity": "--non-convex",
    "zeta": "--heterogeneity",
    "algorithm must": "--algorithm",
    "metric must": "--metric",
    "reading must": "--reading",
    "start must": "--start",
    "order must": "--order",
    "server_moves must": "--server-moves",
    "the minimum": "--reading",
    "the metric": "--reading",
    "several clients need": "--heterogeneity",
    "noise must": "--noise",
    "dissimilarity": "--dissimilarity",
    "gradients that": "--bounded-gradients",
    "a mean over": "--eta-client",
    "participation": "--participation",
    "two-point noise": "--two-point",
    "an order of visits": "--order",
}


def add_setting(parser: Parser) -> None:
    """Add the options that describe a setting.

    Args:
        parser: of the command.
    """
    add = parser.add_argument
    add("--algorithm", default="fedavg", help="fedavg (default), sfl-v1, sfl-v2, ...")
    add("--clients", default=None, help="N, or all (default; SFL-V2: 2)")
    add("--weights", help="uniform (default), or a list 1/4,3/4")
    add("--tau", type=int, default=1, help="local steps (default 1)")
    add("--tau-server", type=int, help="server-side local steps of SFL-V1")
    add("--rounds", type=int, default=1, help="T (default 1)")
    add("--S", default="1", help="smoothness (default 1)")
    add("--mu", help="strong convexity; 0: convex (default S/10)")
    add("--non-convex", action="store_true", help="smooth functions only")
    add("--eta", help="both sides: ETA, SCALE/(OFFSET+t) or ETA0,ETA1,... (1/2S)")
    add("--eta-client", help="client side's step sizes")
    add("--eta-server", help="server side's step sizes")
    add("--theorem", help="step sizes as printed in a theorem: 3.6, huang2023/thm-1")
    add("--case", help="its case (default: the one of the class of problems)")
    add("--heterogeneity", metavar="ZETA", help="sum a_n |grad F_n(x*)|^2 <= ZETA^2")
    add("--dissimilarity", metavar="EPS", help="|grad F_n - grad f| <= EPS at models")
    add("--bounded-gradients", metavar="G", help="E|g|^2 <= G^2 at every local step")
    add("--noise", default="0", metavar="SIGMA2", help="variance of every gradient")
    add("--start", help="distance, gap, or gradients: what bounded ones give")
    add("--initial", help="|x0 - x*|^2 or f(x0) - f* (default 1)")
    add("--metric", help="distance, gap (default), gradient (of non-convex runs)")
    add("--reading", help="last, average, mean or minimum, over rounds")
    add(
        "--order",
        metavar="ORDER",
        help="of SFL-V2's visits: client-sequential (default), interleaved, worst (of "
        "all), or clients from 1: 2,1 in every round; 1,2;2,1 in each; "
        "interleaved:2,1;1,2;... in each local step",
    )
    add(
        "--participation",
        metavar="Q",
        help="a client takes part in a round with probability Q, or Q1,Q2,...: all "
        "outcomes are enumerated (default 1)",
    )
    add(
        "--two-point",
        action="store_true",
        help="noise takes two values of equal probability: all outcomes are enumerated",
    )
    add(
        "--server-moves",
        help="server steps of SFL-V2: printed (default), or weighted by a_n",
    )


def setting(options: argparse.Namespace) -> Setting:
    """Return the setting that the options describe.

    Args:
        options: parsed ones.

    Returns:
        The setting; for the worst order, that with SFL-V2's first order.

    Raises:
        CommandError: in one line that names the option.
    """
    T = options.rounds
    if not 1 <= T <= LONGEST:
        raise CommandError(f"--rounds: between 1 and {LONGEST}, got {T}")
    S = number("--S", options.S)
    mu = None if options.non_convex else S / 10
    if options.mu is not None:
        if options.non_convex:
            raise CommandError("--mu: problems of --non-convex have none")
        mu = number("--mu", options.mu)
    bounds = {
        name: None if text is None else number(f"--{name}", text)
        for name, text in (
            ("heterogeneity", options.heterogeneity),
            ("dissimilarity", options.dissimilarity),
            ("bounded-gradients", options.bounded_gradients),
        )
    }
    for name, bound in bounds.items():
        if bound is not None and bound < 0:
            raise CommandError(f"--{name}: must not be negative, got {bound}")
    zeta, eps, G = bounds.values()
    clients, weights = _clients(options)
    participation = _participation(options, clients)
    order, turns = _order(options.order or "client-sequential")
    for name in ("order", "server_moves"):
        if getattr(options, name) is not None and options.algorithm != "sfl-v2":
            flag = name.replace("_", "-")
            raise CommandError(
                f"--{flag}: of the visits of sfl-v2, which alone has any"
            )
    if options.case is not None and options.theorem is None:
        raise CommandError("--case: of a --theorem, which is not given")
    metric = options.metric or ("gradient" if mu is None else "gap")
    reading = options.reading or ("average" if metric == "gradient" else "last")
    start = options.start or ("gap" if mu is None else "distance")
    if start not in STARTS:
        raise CommandError(f"--start: one of {', '.join(STARTS)}, got '{start}'")
    if options.start is None and mu and G is not None and zeta is None:
        start = "gradients"
    if start == "gradients" and options.initial is not None:
        raise CommandError(
            "--initial: bounded gradients leave a start of their own; give --start"
        )
    try:
        made = Setting(
            options.algorithm,
            options.tau,
            (Fraction(1),) * T,
            (Fraction(1),) * T,
            S,
            mu,
            clients,
            weights,
            options.tau_server,
            None if zeta is None else zeta**2,
            None if eps is None else eps**2,
            None if G is None else G**2,
            number("--noise", options.noise),
            start,
            number("--initial", options.initial or "1"),
            metric,
            reading,
            order,
            options.server_moves or "printed",
            participation=participation,
            two_point=options.two_point,
            turns=turns,
        )
        client, server = _steps(options, made)
        N = made.clients or 1
        alike = not weights and made.algorithm != "sfl-v2" and N > 1
        alike = alike and not made.enumerated
        return replace(
            made,
            client_steps=client,
            server_steps=server,
            symmetric=alike,
        )
    except ValueError as error:
        raise CommandError(named(str(error))) from error


def named(message: str) -> str:
    """Put the option in front of a message that begins with what it sets.

    Args:
        message: of a setting.

    Returns:
        The message, with an option where one is known.
    """
    for start, option in OPTIONS.items():
        if message.startswith(start):
            return f"{option}: {message}"
    return message


def number(option: str, text: str) -> Fraction:
    """Read a decimal or a fraction exactly.

    Args:
        option: where it was given.
        text: such as 0.1, 1e-3, 2/7.

    Returns:
        Its exact value.

    Raises:
        CommandError: if it is none.
    """
    short = len(text) <= 40 and not re.search(r"[eE][+-]?\d{3}", text)
    with suppress(ValueError, ZeroDivisionError):
        if short:
            return Fraction(text.strip())
    size = "" if short else ", of at most 40 characters and between 1e-99 and 1e99"
    raise CommandError(f"{option}: a number is needed{size}, got '{text:.60}'")


def _clients(options: argparse.Namespace) -> tuple[int | None, tuple[Fraction, ...]]:
    weights: tuple[Fraction, ...] = ()
    if options.weights not in {None, "uniform"}:
        parts = options.weights.split(",")
        weights = tuple(number("--weights", part) for part in parts)
    text = options.clients
    if text is None:
        default = 2 if options.algorithm == "sfl-v2" else None
        each = (options.participation or "").count(",") + 1
        return (len(weights) or (each if each > 1 else default)), weights
    if text == "all":
        if weights:
            raise CommandError("--clients: all needs equal weights")
        return None, ()
    if not re.fullmatch(r"\d{1,4}", text):
        raise CommandError(
            f"--clients: a number up to 9999, or all, is needed, got '{text:.60}'"
        )
    return int(text), weights


def _participation(
    options: argparse.Namespace, clients: int | None
) -> tuple[Fraction, ...]:
    if options.participation is None:
        return ()
    parts = options.participation.split(",")
    found = tuple(number("--participation", part) for part in parts)
    return found * (clients or 1) if len(found) == 1 else found


def _order(text: str) -> tuple[Order, tuple[tuple[int, ...], ...]]:
    """Return what kind of order is meant, and the orders that are given.

    Raises:
        CommandError: if it is none.
    """
    kind, _, given = text.rpartition(":") if text[-1:].isdigit() else (text, "", "")
    kinds: dict[str, Order] = {
        "": "client-sequential",
        "worst": "client-sequential",
        "client-sequential": "client-sequential",
        "interleaved": "interleaved",
    }
    if kind not in kinds or (kind == "worst" and given):
        raise CommandError(
            "--order: client-sequential, interleaved, worst, or clients such as 2,1 or "
            f"1,2;2,1 are needed, got '{text}'"
        )
    if not re.fullmatch(r"(\d{1,4}(,\d{1,4})*(;\d{1,4}(,\d{1,4})*)*)?", given):
        raise CommandError(f"--order: clients such as 2,1;1,2 are needed, got '{text}'")
    several = given.split(";") if given else []
    return kinds[kind], tuple(
        tuple(int(n) - 1 for n in one.split(",")) for one in several
    )


def _steps(
    options: argparse.Namespace, made: Setting
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the step sizes of both sides.

    Raises:
        CommandError: if they are given twice.
    """
    given = (options.eta, options.eta_client, options.eta_server)
    if options.theorem is not None:
        if any(text is not None for text in given):
            raise CommandError("--theorem: it fixes the step sizes, so give none")
        return _printed(options, made)
    both, client, server = given
    client = client or both or server or f"{1 / (2 * made.S)}"
    server = server or both or client
    return (
        rates("--eta-client", client, made.rounds),
        rates("--eta-server", server, made.rounds),
    )


def rates(option: str, text: str, rounds: int) -> tuple[Fraction, ...]:
    """Read ETA, SCALE/(OFFSET+t), or one step size per round.

    Args:
        option: where it was given.
        text: what was given.
        rounds: how many are needed.

    Returns:
        A step size per round.

    Raises:
        CommandError: if it is none of these.
    """
    inverse = re.fullmatch(r"(.+)/\((.+)\+t\)", text.replace(" ", ""))
    if inverse:
        scale, offset = (number(option, part) for part in inverse.groups())
        if offset <= 0:
            raise CommandError(f"{option}: the offset must be positive")
        return tuple(scale / (offset + t) for t in range(rounds))
    found = [number(option, part) for part in text.split(",")]
    if len(found) not in {1, rounds}:
        raise CommandError(f"{option}: one step size or {rounds}, got {len(found)}")
    return tuple(found * rounds if len(found) == 1 else found)


def _printed(
    options: argparse.Namespace, made: Setting
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return the printed step sizes of a theorem, rational up to rounding.

    Raises:
        CommandError: if the theorem has none for this setting.
    """
    from sfl_theory import Constants, theorem

    try:
        item = theorem(options.theorem)
        convex = "strongly_convex" if made.mu else "general_convex"
        case = options.case or (convex if made.mu is not None else "non_convex")
        if options.case is None and len(item.cases) == 1:
            (case,) = item.cases
        rule = item.case(case).bound("printed").step_size
        if rule is None:
            raise CommandError(f"--theorem: {item.key} ({case}) names no step sizes")
        if rule.per_step and made.tau > 1:
            raise CommandError(
                f"--theorem: {item.key} counts steps, not rounds: give step sizes"
            )
        count = len(made.shares)
        known = Constants(
            S=float(made.S),
            mu=None if made.mu is None else float(made.mu),
            weights=tuple(float(a) for a in made.shares),
            participation=tuple(map(float, made.participation)) or 1.0,
            sigma2=float(made.sigma2),
            G2=None if made.G2 is None else float(made.G2),
            eps2=None if made.eps2 is None else float(made.eps2),
            tau=made.tau,
            tau_server=made.late,
        )
        if made.clients is None and count == 1 and "N" in str(rule.client):
            raise CommandError("--theorem: its step sizes depend on N: give --clients")
        return exact_sides(rule.schedule(known), made.rounds)
    except CommandError:
        raise
    except ValueError as error:
        raise CommandError(f"--theorem: {error}") from error


def exact_sides(
    schedule: Schedule, rounds: int
) -> tuple[tuple[Fraction, ...], tuple[Fraction, ...]]:
    """Return both sides' learning rates, rational up to rounding.

    Args:
        schedule: of rounds.
        rounds: how many are needed.

    Returns:
        A step size per round, for the client and for the server.
    """
    import numpy as np

    at = np.arange(rounds, dtype=np.float64)
    client, server = (
        tuple(simplest(float(x)) for x in np.broadcast_to(side(at), at.shape))
        for side in (schedule.client, schedule.server)
    )
    return client, server


def simplest(value: float) -> Fraction:
    """Return a fraction of small denominator that a value is up to rounding.

    Args:
        value: a float.

    Returns:
        The fraction.
    """
    exact = Fraction(value)
    tried = (exact.limit_denominator(10**digits) for digits in range(1, 17))
    near = abs(exact) / 2**50
    return next((one for one in tried if abs(one - exact) <= near), exact)


def swept(text: str) -> tuple[str, Sequence[Fraction]]:
    """Read ``eta-server=FROM:TO:COUNT``.

    Args:
        text: of ``--sweep``.

    Returns:
        The option that varies, and its values, evenly spaced on a logarithmic scale.

    Raises:
        CommandError: if it is not of this form.
    """
    form = re.fullmatch(r"(eta|eta-client|eta-server)=([^:]+):([^:]+):(\d{1,3})", text)
    if form is None:
        raise CommandError(
            "--sweep: eta, eta-client or eta-server=FROM:TO:COUNT is needed, with a "
            f"COUNT up to 999, got '{text:.60}'"
        )
    low, high = number("--sweep", form[2]), number("--sweep", form[3])
    count = int(form[4])
    if not 0 < low < high or count < 2:
        raise CommandError("--sweep: needs 0 < FROM < TO and at least two values")
    ratio = float(high / low)
    values = [float(low) * ratio ** (k / (count - 1)) for k in range(count)]
    return form[1], [low, *(Fraction(f"{v:.4g}") for v in values[1:-1]), high]
