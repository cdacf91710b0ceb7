"""The worst case of a setting: bounded from above and reached from below."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeVar

from sfl_theory.threads import one_thread
from sfl_theory.worst_case import interior
from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.certificate import Certificate
from sfl_theory.worst_case.chains import Chained, meeting, noise_after_draws
from sfl_theory.worst_case.columns import Found, limited, searched, thinned
from sfl_theory.worst_case.exact import check
from sfl_theory.worst_case.instance import Instance, mended, parabola
from sfl_theory.worst_case.interior import Progress
from sfl_theory.worst_case.program import Adrift, Program
from sfl_theory.worst_case.rounding import NotRoundedError, certified
from sfl_theory.worst_case.scenarios import MOST_SCENARIOS, count
from sfl_theory.worst_case.setting import Setting

T = TypeVar("T")
FINEST = 1e-7
TOLERANCES = ((1500, FINEST), (10**9, 2e-5))
"""Of the float solver, by how many interpolation inequalities there are."""
NEAR = 1e-5
"""So near an instance is looked for, or twice the tolerance."""
SLACKS = (0, 1, 10)
LOST = ((1500, Fraction(1, 10**6)), (10**9, Fraction(3, 10**4)))
"""By so much, relative, a bound of fewer inequalities may be larger, by how many there
are: where they are many the float solver's bound is larger than it could be, too."""
LOST_WITH_NOISE = ((200, Fraction(1, 10**6)), (10**9, Fraction(3, 10**4)))
"""The like with noise, where a bound is a relaxation's, and what is far matters."""
FEW_SCENARIOS = 8
MOST_ATOMS = 320
MOST_NODES = 420


@dataclass(frozen=True)
class WorstCase:
    """What was found.

    Attributes:
        setting: of what.
        program: the semidefinite program.
        found: the float solution.
        certificate: an exact bound from above, if rounding succeeded.
        instance: an exact problem from below, if one was found.
        failed: what did not succeed, in words; empty if all did.
        seconds: it took.
        orders: of how many orders of SFL-V2's visits it is the worst.
    """

    setting: Setting
    program: Program
    found: Found
    certificate: Certificate | None
    instance: Instance | None
    failed: tuple[str, ...]
    seconds: float
    orders: int = 1

    @property
    def upper(self) -> Fraction | None:
        """The certified bound."""
        return self.certificate.bound if self.certificate else None

    @property
    def relaxed(self) -> bool:
        """Whether inequalities between points of different pasts are left out."""
        return isinstance(self.program, Chained)

    @property
    def lower(self) -> Fraction | None:
        """The metric of the instance."""
        return self.instance.value if self.instance else None

    @property
    def value(self) -> float:
        """The worst case in float64, no less than what is reached."""
        upper = self.found.solution.upper
        return (
            upper if self.instance is None else max(upper, float(self.instance.value))
        )


def worst_case(
    setting: Setting,
    tolerance: float | None = None,
    below: bool = True,
    progress: Progress | None = None,
) -> WorstCase:
    """Compute a worst case, certify it and reach it.

    The matrices are small: one thread is faster than several that wait.

    Args:
        setting: of what.
        tolerance: relative, of the float solver; None: by size.
        below: whether an instance is looked for.
        progress: told what happens.

    Returns:
        The worst case, with what could be shown exactly.

    Raises:
        ValueError: if the program is too large.
    """
    with one_thread():
        return _worst_case(setting, tolerance, below, progress)


def _worst_case(
    setting: Setting, tolerance: float | None, below: bool, progress: Progress | None
) -> WorstCase:
    started = time.perf_counter()
    refuse_large(setting)
    program = formulated(setting)
    atoms = max(len(program.basis[space]) for space in program.spaces)
    if atoms > MOST_ATOMS:
        raise ValueError(_large("Gram matrix", atoms, MOST_ATOMS))
    if tolerance is None:
        tolerance = _by_size(TOLERANCES, program)
    explicit = _explicit(program)
    floor = float(explicit.value) if explicit else -math.inf
    found = searched(program, tolerance, progress, floor)
    failed: list[str] = []
    certificate, instance = None, None
    if below:
        tried = reaching(program, found, explicit, tolerance)
        tried = _two_point(setting, tried, progress)
        if isinstance(tried, Instance):
            instance = tried
        else:
            failed.append(f"from below: {tried}")
    if setting.adrift:
        program = Adrift.of(program)
        found = searched(program, tolerance, progress, floor)
    try:
        certificate = _certified(program, found, tolerance)
    except NotRoundedError as error:
        failed.append(f"from above: {error}")
    return WorstCase(
        setting,
        program,
        found,
        certificate,
        instance,
        tuple(failed),
        time.perf_counter() - started,
    )


def fewest(found: WorstCase) -> WorstCase:
    """Return a worst case whose certificate may be of fewer inequalities.

    Each costs its part of a proof. Those between points that are near each other in the
    run are often enough, and of these, or of the certificate's, `columns.thinned` keeps
    the ones that matter.

    Args:
        found: with a certificate.

    Returns:
        With another one, if that proves as much up to `LOST`, which is by size, with
        noise up to `LOST_WITH_NOISE`.
    """
    setting, known = found.setting, found.certificate
    if known is None or not setting.stepwise:
        return found
    program, steps, tolerance = found.program, max(setting.tau, setting.late), FINEST
    lost = LOST_WITH_NOISE if setting.sigma2 else LOST
    enough = known.bound * (1 + _by_size(lost, program))
    with one_thread():
        for span in (steps, 2 * steps, 4 * steps, None):
            begun = limited(program, span, tolerance) if span else found.found
            if span and begun.solution.upper > float(enough):
                continue
            for one in reversed(thinned(program, begun, float(enough), tolerance)):
                with suppress(NotRoundedError):
                    other = _certified(program, one, tolerance)
                    if other.bound <= enough:
                        return replace(found, certificate=other)
    return found


def chained(found: WorstCase, progress: Progress | None = None) -> WorstCase:
    """Return the worst case without inequalities between points of different pasts.

    Its value is no smaller. Where noise is drawn in several rounds and only some take
    part, it is what a proof can say.

    Args:
        found: the worst case of all inequalities.
        progress: told what happens.

    Returns:
        Another one of such a run; what was found of any other.
    """
    if not noise_after_draws(found.setting):
        return found
    program = Chained.of(found.program)
    with one_thread():
        other = searched(program, TOLERANCES[0][1], progress)
        try:
            certificate = _certified(program, other, TOLERANCES[0][1])
        except NotRoundedError as error:
            failed = (*found.failed, f"from above: {error}")
            return replace(found, certificate=None, failed=failed)
    return replace(found, program=program, found=other, certificate=certificate)


def _by_size(amounts: Iterable[tuple[int, T]], program: Program) -> T:
    """Return the amount for so many interpolation inequalities."""
    return next(amount for most, amount in amounts if len(program.pairs) <= most)


def _certified(program: Program, found: Found, tolerance: float) -> Certificate:
    """Return a checked certificate; where the slack is too thin, solve for more.

    Raises:
        NotRoundedError: if no slack that was tried is enough.
    """
    solution = found.solution
    for share in SLACKS:
        if share:
            slack = share * tolerance * found.solution.spread
            solution = interior.solved(
                program, found.constraints, tolerance, slack=slack
            )
        try:
            multipliers = [float(y) for y in solution.multipliers]
            certificate = certified(program, found.constraints, multipliers)
        except NotRoundedError:
            if share == SLACKS[-1]:
                raise
            continue
        relaxed = isinstance(program, Chained)
        wrong = check(certificate, relaxed and meeting(program.setting))
        if wrong is None:
            return certificate
        raise NotRoundedError(wrong)
    raise NotRoundedError("nothing was tried")


def reaching(
    program: Program,
    found: Found,
    explicit: Instance | None,
    tolerance: float,
) -> Instance | str:
    """Return an explicit function that reaches the value, else one near the points.

    With noise Gram matrices are those of a relaxation, so explicit ones alone are left.

    Args:
        program: the program.
        found: its float solution.
        explicit: the best explicit function.
        tolerance: of the solver.

    Returns:
        The instance, or why there is none.
    """
    near = Fraction(found.solution.upper) * (1 - Fraction(20 * tolerance))
    noisy = bool(program.setting.sigma2) and not program.setting.two_point
    if explicit is not None and (explicit.value >= near or noisy):
        return explicit
    if noisy:
        return "a relaxation of noise gives no problem"
    enough = found.solution.upper * (1 - max(NEAR, 2 * tolerance))
    return mended(program, found, enough)


def _two_point(
    setting: Setting, known: Instance | str, progress: Progress | None
) -> Instance | str:
    """Return an instance with noise of two values, where it is worse than a known one.

    Args:
        setting: of a run.
        known: an instance, or why there is none.
        progress: told what happens.

    Returns:
        The worse one; what is known, if all outcomes are too many.
    """
    noisy = setting.sigma2 and not setting.two_point and setting.mean_noise is None
    if not noisy or setting.visits or setting.start == "decrease":
        return known
    for N in (1, 2) if setting.clients is None else (setting.clients,):
        tree = replace(setting, clients=N, symmetric=False, two_point=True)
        if count(tree) <= FEW_SCENARIOS:
            one = _worst_case(tree, None, below=True, progress=progress).instance
            if one and (isinstance(known, str) or one.value > known.value):
                known = replace(one, words=f"{one.words}, noise of two values")
    return known


def _explicit(program: Program) -> Instance | None:
    """Return the best of the explicit functions that are admissible."""
    setting = program.setting
    if setting.visits or setting.start == "decrease":
        return None
    tried = [
        parabola(program, curvature)
        for curvature in ((setting.mu, setting.S) if setting.mu else ())
    ]
    fits = [one for one in tried if isinstance(one, Instance)]
    return max(fits, key=lambda one: one.value, default=None)


def refuse_large(setting: Setting) -> None:
    """Refuse a run with too many points before it is written out.

    Args:
        setting: the run.

    Raises:
        ValueError: with its size and the limit.
    """
    points = len(setting.shares) * max(setting.tau, setting.late) * setting.rounds
    scenarios = count(setting)
    if scenarios > MOST_SCENARIOS:
        raise ValueError(_large("number of scenarios", scenarios, MOST_SCENARIOS))
    if points > MOST_NODES:
        raise ValueError(_large("number of evaluations", points, MOST_NODES))


def _large(what: str, size: int, limit: int) -> str:
    return (
        f"too large: the {what} is {size}, the limit is {limit}; "
        "use fewer rounds, local steps or clients"
    )
