"""Constant learning rates: what the bounds and the run itself do with them."""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.evidence import Kind, Part, Severity, broken, proved, repaired, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Participants, Split
from sfl_theory.models.federation import coin, federation, parabola, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run
from sfl_theory.papers.han2024 import conditions
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.conditions import numbers_only, squares
from sfl_theory.papers.han2024.setting import G2, N, S, T, a, eps2, f, i, mu, n, t, tau
from sfl_theory.proofs import any_step
from sfl_theory.proofs.export import ModelData

F_err = w.nonnegative("F_err", "F_{err}")
flat = w.positive("rate", r"\eta")
THOUSAND = 1000


def bound_at(rounds: Number, period: Number, shape: Number) -> Number:
    """Return a non-convex bound at a constant rate."""
    total = w.below(t, rounds, flat**2)
    return 4 / (rounds * period) * F_err + shape / rounds * total


def shapes() -> tuple[tuple[str, Number, Number, tuple[Assumed, ...]], ...]:
    """Return name, period, factor of sum eta^2 and conditions of the four bounds."""
    noise = s.sigma2() + eps2
    two = 8 * N * S * (tau**2 + s.tau_server**2) / s.tau_min
    one = 8 * N * S * tau
    paces = (
        w.at_most(16 * S * s.tau_max * flat, 1),
        *(w.at_most(s.tau_min, side) for side in (tau, s.tau_server)),
        *(w.at_most(side, s.tau_max) for side in (tau, s.tau_server)),
    )
    single = (w.at_most(16 * S * tau * flat, 1),)
    v1, v2 = 8 * S * N * s.tau_max**2 / s.tau_min * flat, 8 * S * N**2 * tau * flat

    def over(factor: Number) -> Number:
        return w.over_clients(n, factor * noise)

    inverse = w.inverse_chance(n)
    return (
        ("(13)", s.tau_min, two * over(a() ** 2), (*paces, w.at_most(v1 * squares, 1))),
        ("(16)", tau, one * over(a() ** 2 + 1), (*single, w.at_most(v2, 1))),
        (
            "(19)",
            s.tau_min,
            two * over(a() ** 2 * inverse),
            (*paces, w.at_most(v1 * conditions.drawn_squares, 1)),
        ),
        (
            "(22)",
            tau,
            one * over((a() ** 2 + 1) * inverse),
            (*single, w.at_most(v2 * conditions.drawn_squares, 1)),
        ),
    )


def not_fast(
    name: str, period: Number, shape: Number, assumed: tuple[Assumed, ...]
) -> Part:
    """Return that a bound is O(1/T) at a constant rate, up to a factor 1000."""
    numbers: dict[Number, int | str] = {F_err: 1, S: 1, eps2: 1, tau: 1, T: 10**6}
    numbers |= {flat: "1/64"}
    if period is s.tau_min:
        numbers |= {s.tau_server: 1, s.tau_min: 1, s.tau_max: 1}
    return broken(
        says(
            bound_at(T, period, shape),
            w.number(THOUSAND) / T * bound_at(w.number(1), period, shape),
            *assumed,
        ),
        numbers_only(numbers, ("3/4", "1/4"), ("1", "1/2"), {"sigma2": (1, 1)}),
        r"$\eta = 1/64$, $T = 10^6$: the second term does not fall with T.",
        f"{name}: at most 1000/T times its value for T = 1",
    )


ANY_RATE = Kind.CONDITION(
    "han2024/cond/non_convex/any-rate",
    "Sec. 3.3, with the conditions of (13), (16), (19), (22)",
    "The non-convex bounds (13), (16), (19), (22) are O(1/T) at every admitted "
    "learning rate, constant ones included.",
    *tuple(not_fast(*one) for one in shapes()),
    severity=Severity.SLIP,
    cause="At a constant rate the second term does not fall with T.",
    scope="with 'O' read up to a factor 1000; the ratio grows like T, so no factor "
    "helps.",
    uses="text/rate/non_convex",
)

_PACE = w.pace(1, w.rate(flat))
NOISY = Run(Split(Version.V1, Participants.EVERYONE, _PACE, _PACE), "SFL-v1")
v = w.positive("v")
FLOOR = mu / 4 * flat**2 * v * squares
LOUD = w.every_client(
    n, w.every_round(i, w.number(1), w.at_most(v, w.norm2(NOISY.xi(n, t, i))))
).called("noise that does not vanish")
RUN = (
    s.assumption_31(),
    *s.assumption_32(NOISY),
    s.assumption_33(NOISY),
    s.assumption_C2(),
    s.minimum(),
    LOUD,
    w.at_most(2 * S * flat, 1),
)


def restless(rounds: int) -> Callable[[], ModelData]:
    """Return two quadratics with fair coins, started in the minimum."""
    one, law = parabola(1, (0, 0)), coin(0, 1)
    return lambda: federation(
        (plus(one, tilt(0, "1/4")), plus(one, tilt(0, "-1/4"))),
        (0, 0),
        noise=(law, law),
        rounds=rounds + 1,
        numbers={S: 1, mu: 1, G2: 12, v: 1, flat: "1/2", t: rounds},
        families={"sigma2": (1, 1)},
        best={f: (0, 0)},
        box=(("-2", "2"), ("-2", "2")),
    )


CONSTANT_RATE = Kind.CONDITION(
    "han2024/cond/general_convex/constant-rate",
    "Sec. 3.3, with the conditions of (12) and (13)",
    "At an admitted constant learning rate, the same for all T, the gap tends to 0 for "
    "SFL-V1 itself.",
    broken(
        says(f.gap(NOISY.x(t + 1)), FLOOR / 2, *RUN),
        restless(2),
        r"Quadratics with fair coins, $\eta = 1/2$, $t = 2$: the run starts in the "
        "minimum and leaves it.",
        "a gap that tends to 0 is below any level from some t on; this level is half "
        "of what the repair shows to be a lower bound at every t",
    ),
    severity=Severity.THEOREM,
    cause="Noise keeps the gap above a multiple of eta^2, for every eta.",
    scope="of the run, where the paper speaks of its bounds; one local step, strongly "
    "convex F_n; a constant rate chosen for T takes the mean gap to 0, see "
    "thm-3.6/general_convex/tuned-rate",
    uses="text/learning-rate/constant",
    repair=repaired(
        r"a constant rate leaves the gap at $\frac{\mu}{4}\eta^2v\sum_n a_n^2$ or "
        "above",
        proved(
            says(FLOOR, f.gap(NOISY.x(t + 1)), *RUN),
            lambda: any_step.floor(NOISY.split, S.value, mu.value, v.value),
            r"$f(x) - f^* \ge \frac{\mu}{2}\|x - x^*\|^2$, and the round's noise "
            r"$\eta\sum_n a_n\xi_n$ is orthogonal to what $x^t$ determines.",
            "at every t",
            model=restless(1),
        ),
    ),
)

CLAIMS = (ANY_RATE, CONSTANT_RATE)
