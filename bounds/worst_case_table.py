"""``bounds.worst_case --table``: how far the theorems' bounds are from worst cases."""

from __future__ import annotations

import argparse
import json
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from itertools import groupby, product

import numpy as np

from bounds.worst_case import outward, placed
from bounds.worst_case_options import exact_sides
from sfl_theory import Constants, theorem
from sfl_theory.best import proved_versions
from sfl_theory.bound import Bound
from sfl_theory.command import CommandError
from sfl_theory.schedules import Schedule
from sfl_theory.statement import Case
from sfl_theory.worst_case.setting import ONE, ZERO, Setting

THEOREMS, DRAWN = ("3.6", "3.7"), ("3.8", "3.9")
CHANCE, FEW_ROUNDS = Fraction(1, 2), 2
"""Of a client to take part, and rounds of which all outcomes are gone through."""
PERIODS, KAPPAS, CLIENTS = (1, 2, 4), (2, 10, 100), 2
STEPS, MOST = 20, 100
FAR = 3
"""A bound that is more than this often the certified value has its term named."""
READINGS: Mapping[str, dict[str, str]] = {
    "objective_gap": {"metric": "gap", "reading": "last"},
    "weighted_gap": {"metric": "gap", "reading": "mean"},
    "weighted_gradient": {"metric": "gradient", "reading": "average"},
}
SETTING = (
    "S = 1, no noise, equal weights; strongly convex: mu = 1/kappa, G = 1 and the "
    "start that it allows, |x0 - x*| <= G/mu; general convex: G = 1, |x0 - x*| <= 1; "
    "non-convex: eps = 1, f(x0) - f* <= 1; Theorems 3.8 and 3.9: two clients that take "
    "part with probability 1/2, all outcomes of one or two rounds. A number is bound / "
    "certified, for bounds of this run and this left side; the largest term is that of "
    "the best bound."
)
COLUMNS = "tau   T kappa    N  certified  printed repaired     best  largest term"


@dataclass(frozen=True)
class Asked:
    """A run of a case, and what is measured of it.

    Attributes:
        case: of a theorem.
        rates: whose learning rates it has, "printed" or "repaired".
        left: key of the metric.
        tau: both periods.
        rounds: T.
        kappa: S/mu; None where it is not strongly convex.
        constants: of the assumptions, the largest start among them.
        schedule: the learning rates.
        setting: the same in fractions.
    """

    case: Case
    rates: str
    left: str
    tau: int
    rounds: int
    kappa: int | None
    constants: Constants
    schedule: Schedule
    setting: Setting

    @property
    def words(self) -> str:
        """The case, the rates and the left side in a line."""
        number = self.case.theorem.rpartition("-")[2]
        kind = self.case.name.replace("_", " ")
        known = [self.case.bound(version).metric for version in self.case.versions]
        left = next(metric.words for metric in known if metric.key == self.left)
        return f"{number} {kind}, {self.rates} rates: {left}"


@dataclass(frozen=True)
class Row:
    """Bounds of a run over its certified worst case.

    Attributes:
        theorem: its identifier.
        case: its case.
        rates: whose learning rates the run has, "printed" or "repaired".
        left: key of the metric.
        tau: both periods.
        rounds: T.
        kappa: S/mu, or None.
        clients: N, or None: all N.
        value: the worst case in float64.
        certified: the exact bound, rounded outwards, or None where there is none.
        printed: the printed bound over it; None: it does not speak of this.
        repaired: the same of the repaired bound.
        best: the same of the smallest proved bound.
        version: which bound that is.
        largest: its largest term, where it is far from the certified value.
    """

    theorem: str
    case: str
    rates: str
    left: str
    tau: int
    rounds: int
    kappa: int | None
    clients: int | None
    value: float
    certified: float | None
    printed: float | None
    repaired: float | None
    best: float | None
    version: str | None
    largest: str | None

    @property
    def line(self) -> str:
        """What is printed."""
        cells = [
            "-" if one is None else f"{one:.3g}"
            for one in (self.printed, self.repaired, self.best)
        ]
        bound = "-" if self.certified is None else f"{self.certified:.4g}"
        kappa, N = self.kappa or "-", self.clients or "all"
        return (
            f"{self.tau:3d} {self.rounds:3d} {kappa:>5} {N:>4} {bound:>10} "
            f"{cells[0]:>8} {cells[1]:>8} {cells[2]:>8}  {self.largest or ''}"
        ).rstrip()


def table(
    options: argparse.Namespace, plain: argparse.Namespace, show: Callable[[str], None]
) -> int:
    """Compute and print the table, group by group.

    Args:
        options: of the command.
        plain: the same without any argument.
        show: shows progress.

    Returns:
        The exit status.
    """
    begun = time.perf_counter()
    runs, known = asked(options, plain)
    rows: list[Row] = []
    for words, group in groupby(runs, key=lambda one: one.words):
        some = []
        for run in group:
            place = f"{len(rows) + len(some) + 1} of {len(runs)}: {words}"
            show(f"{place}, tau = {run.tau}, T = {run.rounds}")
            some.append(row(run, known[run.case.theorem, run.case.name], options))
        print("\n".join([words, COLUMNS, *(one.line for one in some), ""]), flush=True)
        rows += some
    print(textwrap.fill(SETTING, 80))
    if options.json:
        record = {
            "table": [asdict(one) for one in rows],
            "setting": SETTING,
            "steps": options.table,
            "seconds": round(time.perf_counter() - begun, 1),
        }
        placed(options.json).write_text(json.dumps(record, indent=2) + "\n")
    return 1 if options.certify and any(one.certified is None for one in rows) else 0


Proved = Mapping[str, Bound]


def asked(
    options: argparse.Namespace, plain: argparse.Namespace
) -> tuple[list[Asked], dict[tuple[str, str], Proved]]:
    """Return the runs of the table, and the proved bounds of every case.

    Args:
        options: of the command; ``--theorem`` and ``--case`` choose rows.
        plain: the same without any argument.

    Returns:
        Runs that at least one bound speaks of; (theorem, case) -> version -> bound.

    Raises:
        CommandError: for options that the table fixes, and for other theorems.
    """
    free = {"table", "theorem", "case", "json", "quiet", "certify", "tolerance"}
    given, usual = vars(options), vars(plain)
    for name in given.keys() - free:
        if given[name] != usual[name]:
            flag = name.replace("_", "-")
            raise CommandError(f"--{flag}: --table has its own; it takes none")
    if not 1 <= options.table <= MOST:
        raise CommandError(f"--table: between 1 and {MOST} steps, got {options.table}")
    items = [theorem(number) for number in THEOREMS]
    if options.theorem is not None:
        items += [theorem(number) for number in DRAWN]
        items = [one for one in items if options.theorem in {one.number, one.key}]
        if not items:
            raise CommandError(
                f"--theorem: --table is of {', '.join(THEOREMS + DRAWN)}"
            )
    names = [options.case] if options.case else [*items[0].cases]
    if not {*names} <= items[0].cases.keys():
        valid = ", ".join(items[0].cases)
        raise CommandError(f"--case: one of {valid}, got '{options.case}'")
    runs, known = [], {}
    for item, name in product(items, names):
        case = item.case(name)
        known[item.key, name] = proved_versions(case)
        drawn = item.number in DRAWN
        proved = known[item.key, name]
        every = [*_runs(case, proved, item.algorithm, options.table, drawn)]
        runs += sorted(every, key=lambda one: (one.rates, one.left))
    return runs, known


def _runs(
    case: Case, proved: Proved, algorithm: str, steps: int, drawn: bool
) -> Iterator[Asked]:
    sequential = algorithm == "sfl-v2"
    limit = steps // CLIENTS if sequential else steps
    kappas = KAPPAS if case.name == "strongly_convex" else (None,)
    rules = [("printed", case.printed), ("repaired", case.repaired or case.printed)]
    bounds = [*proved.values(), *(bound for _, bound in rules)]
    for tau, power, kappa in product(PERIODS, range(limit.bit_length()), kappas):
        rounds = 2**power
        if tau * rounds > limit or (drawn and rounds > FEW_ROUNDS):
            continue
        constants = _constants(case.name, tau, kappa, CHANCE if drawn else ONE)
        seen = []
        for rates, bound in rules:
            if bound.step_size is None:
                continue
            schedule = bound.step_size.schedule(constants)
            sides = exact_sides(schedule, rounds)
            if sides in seen:
                continue
            seen.append(sides)
            for left in READINGS:
                of_left = [one for one in bounds if one.metric.key == left]
                if any(terms(one, constants, rounds, schedule) for one in of_left):
                    setting = Setting(
                        algorithm,
                        tau,
                        *sides,
                        ONE,
                        clients=CLIENTS if sequential or drawn else None,
                        participation=(CHANCE,) * CLIENTS if drawn else (),
                        **_class(case.name, kappa),
                        **READINGS[left],
                    )
                    found = (tau, rounds, kappa, constants, schedule, setting)
                    yield Asked(case, rates, left, *found)


def _constants(case: str, tau: int, kappa: int | None, chance: Fraction) -> Constants:
    """Return the constants of ``SETTING``; without noise N cancels for equal weights.

    Args:
        case: of a theorem.
        tau: both periods.
        kappa: S/mu, or None.
        chance: of every client to take part.

    Returns:
        The constants, for two clients.
    """
    first = {
        "strongly_convex": {"G2": 1.0},
        "general_convex": {"mu": 0.0, "G2": 1.0, "initial_distance2": 1.0},
        "non_convex": {"eps2": 1.0, "initial_gap": 1.0},
    }[case]
    if kappa is not None:
        starts = {"initial_distance2": float(kappa**2), "initial_gap": kappa / 2}
        first = {"mu": 1 / kappa, **first, **starts}
    return Constants(
        S=1.0,
        sigma2=0.0,
        weights=(1 / CLIENTS,) * CLIENTS,
        participation=float(chance),
        tau=tau,
        tau_server=tau,
        **first,
    )


def _class(case: str, kappa: int | None) -> dict[str, object]:
    """Return the same constants as a setting has them."""
    if case == "non_convex":
        return {"mu": None, "eps2": ONE, "start": "gap"}
    if kappa is None:
        return {"mu": ZERO, "G2": ONE}
    return {"mu": Fraction(1, kappa), "G2": ONE, "start": "gradients"}


def terms(
    bound: Bound | None, constants: Constants, rounds: int, schedule: Schedule
) -> dict[str, float] | None:
    """Return the terms of a bound for a run, or None where it does not speak of it.

    Args:
        bound: the bound, if there is one.
        constants: of the run.
        rounds: T.
        schedule: its learning rates; the server's over the client's must be the
            bound's own ratio.

    Returns:
        Term name -> value.
    """
    if bound is None or bound.step_size is None:
        return None
    own = bound.step_size.ratio(constants)
    if own is None or not np.isclose(own, schedule.ratio, rtol=1e-12, atol=0):
        return None
    try:
        found = bound.terms(constants, [rounds], schedule)
    except ValueError:
        return None
    return {name: float(value[0]) for name, value in found.items()}


def row(run: Asked, proved: Proved, options: argparse.Namespace) -> Row:
    """Certify a run, and divide what bounds it by that.

    Args:
        run: what is asked.
        proved: the proved bounds of its case, by name.
        options: of the command.

    Returns:
        The row.
    """
    from sfl_theory.worst_case.solve import worst_case

    found = worst_case(run.setting, options.tolerance, below=False)
    rates = run.setting.client_steps
    scale = ONE if run.left == "objective_gap" else sum(rates, ZERO) / len(rates)
    upper = found.upper
    certified = None if upper is None else outward(upper * scale, up=True)

    def spoken(bound: Bound | None) -> dict[str, float] | None:
        if bound is None or bound.metric.key != run.left:
            return None
        return terms(bound, run.constants, run.rounds, run.schedule)

    def over(parts: dict[str, float] | None) -> float | None:
        return sum(parts.values()) / certified if parts and certified else None

    names = {version: spoken(bound) for version, bound in proved.items()}
    there = {version: parts for version, parts in names.items() if parts}
    version = min(there, key=lambda one: sum(there[one].values()), default=None)
    best = over(there[version]) if version else None
    largest = None
    if version and best is not None and best > FAR:
        largest = max(there[version], key=there[version].__getitem__)
    return Row(
        run.case.theorem,
        run.case.name,
        run.rates,
        run.left,
        run.tau,
        run.rounds,
        run.kappa,
        run.setting.clients,
        found.value * float(scale),
        certified,
        over(spoken(run.case.printed)),
        over(spoken(run.case.repaired)),
        best,
        version,
        largest,
    )
