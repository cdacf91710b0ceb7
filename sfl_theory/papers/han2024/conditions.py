r"""Step sizes: what the theorems' conditions give to the lemmas that they use.

Conditions with roots are squared; :math:`S = \mu + (S - \mu)` where S >= mu is
used. In the strongly convex case tau_server = tau; with two periods the printed rates
are swapped.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

from sfl_theory.evidence import (
    Claim,
    Kind,
    Model,
    Part,
    Severity,
    proved,
    repaired,
    says,
)
from sfl_theory.kernel.rules import Theorem
from sfl_theory.models.federation import federation, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number
from sfl_theory.papers.han2024 import defects
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_c5 import DRIFT, TWO, V1, link
from sfl_theory.papers.han2024.setting import (
    N,
    S,
    a,
    excess,
    mu,
    n,
    steep,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs import any_step, local_recursion
from sfl_theory.proofs.export import ModelData

later = w.count("t")
rate = w.positive("rate", r"\eta^t")
chances = w.over_clients(n, w.inverse_chance(n))
squares = w.over_clients(n, a() ** 2)
drawn_squares = w.over_clients(n, a() ** 2 * w.inverse_chance(n))


def numbers_only(
    numbers: dict[Number, int | str],
    weights: tuple[str, ...] = (),
    chances_: tuple[str, ...] = (),
    families: dict[str, tuple[int, ...]] | None = None,
) -> Callable[[], ModelData]:
    """Return a model of numbers, with clients that do nothing."""
    count = max(len(weights), 1)
    return lambda: federation(
        [tilt(0)] * count,
        (0,),
        weights=weights,
        participation=chances_,
        numbers=dict(numbers.items()),
        families=families,
    )


# Strongly convex -------------------------------------------------------------------


def printed(period: Number, at: Number) -> Number:
    r"""Return :math:`\frac{4}{\mu\tau(\gamma + t)}`, gamma = 8S/mu - 1."""
    return 4 / (mu * period * (8 * steep / mu - 1 + at))


def first_condition(rates: Number, period: Number) -> tuple[Number, Number]:
    r"""Return both sides of :math:`\eta^t \le 1/(2S\tau)`."""
    return rates, 1 / (2 * steep * period)


def squared(rates: Number, period: Number, S_: Number, k: int) -> Number:
    r"""Return :math:`k S^2\tau^2(\eta^t)^2`, at most 1 in a lemma's condition."""
    return k * S_**2 * period**2 * rates**2


def by_sorts(left: Number, right: Number) -> Callable[[], Theorem]:
    """Return a proof that needs nothing but signs."""
    return lambda: any_step.at_most(left.value, right.value)


FAR = w.at_most(1 + 2 * steep / mu, later)
LATE = printed(tau, later)
IN_ROUND_1: dict[Number, int | str] = {mu: 1, excess: 1, tau: 1}


def late_enough(period: Number, rates: Number) -> Part:
    """Return ``eta <= 1/(2 S tau)`` from round 1 on."""
    left, right = first_condition(rates, period)
    return proved(
        says(left, right), by_sorts(left, right), r"$\gamma + t \ge 8S/\mu$.", "t >= 1"
    )


def _name(lemma: str) -> str:
    return lemma.replace("lemma-", "Lemma ")


def strongly_convex(theorem: str, lemma: str) -> Claim:
    """Return that the strongly convex rates meet the lemmas' conditions."""
    early = printed(tau, t)
    left, right = first_condition(early, tau)
    broken = "the printed rate is {} at t = {}."
    return Kind.CONDITION(
        f"han2024/cond-{theorem}/strongly_convex",
        f"Theorem {theorem}, strongly convex",
        "For tau_server = tau the printed rates meet the conditions of "
        f"{_name(lemma)} and of Lemma C.5 for all t >= 0, on both sides.",
        Part(
            says(left, right),
            Model(
                numbers_only({**IN_ROUND_1, t: 0}),
                r"$\mu = 1$, $S = 2$, $\tau = 1$: " + broken.format("4/15 > 1/4", 0),
            ),
            reading=f"the condition of {lemma}",
        ),
        Part(
            says(squared(early, tau, steep, 6), 1),
            Model(
                numbers_only({mu: 1, excess: 1, t: 1}),
                r"$\mu = 1$, $S = 2$, $\tau = 1$: "
                + broken.format(r"$1/4 > 1/(2\sqrt6)$", 1),
            ),
            reading="the condition of lemma-C.5, squared",
        ),
        severity=Severity.PROOF,
        cause="At t = 0 the rate is 4/(tau (8S - mu)) > 1/(2 S tau).",
        scope="in the first rounds; both hold in later ones, see the repair, and Lemma "
        "C.5 at every rate",
        uses=f"{lemma} lemma-C.5",
        repair=repaired(
            r"later rounds only: $t \ge 1$, and $t \ge 1 + 2S/\mu$ for Lemma C.5",
            late_enough(tau, LATE),
            proved(
                says(squared(LATE, tau, steep, 6), 1, FAR),
                lambda: any_step.late(
                    LATE.value,
                    steep.value,
                    tau.value,
                    (later - 1 - 2 * steep / mu).value,
                    (mu * (8 * steep / mu - 1 + later)).value,
                    mu.value,
                ),
                r"$\mu(\gamma + t) \ge 10S$, and $96 \le 100$.",
                "squared",
                model=numbers_only({mu: 1, excess: 1, later: 6}),
            ),
        ),
    )


def swapped(theorem: str, side: str, own: Number, other: Number) -> Claim:
    """Return that a side's printed rate, with the other side's period, is small."""
    left, right = first_condition(printed(other, later), own)
    where = {"client": (4, 1), "server": (1, 4)}[side]
    larger = "tau > tau_server" if side == "client" else "tau_server > tau"
    return Kind.CONDITION(
        f"han2024/step-{theorem}/{side}",
        f"Theorem {theorem}, strongly convex",
        f"The printed {side} step size meets the condition of Lemma D.1.",
        Part(
            says(left, right),
            Model(
                numbers_only({
                    **IN_ROUND_1,
                    tau: where[0],
                    tau_server: where[1],
                    later: 1,
                }),
                r"$\mu = 1$, $S = 2$, $(\tau, \tilde\tau) = "
                + f"{where}$: $1/4 > 1/16$ in round 1.",
            ),
            reading="t >= 1, where it holds for equal periods",
        ),
        severity=Severity.SLIP,
        cause="tau and tau_server are swapped.",
        root=defects.SWAPPED,
        scope=f"for {larger}; the other way round it is met from t = 1 on, but smaller "
        "than the proof needs. The proof (App. D.1) uses both the right way.",
        repair=repaired(
            r"$\tau$ in the client's rate, $\tilde\tau$ in the server's",
            late_enough(own, printed(own, later)),
        ),
    )


# General convex and non-convex -----------------------------------------------------

SIDES = (("client side", tau), ("server side", tau_server))


def slow(c: int, largest: Number) -> Assumed:
    r"""Return :math:`\eta^t \le 1/(cS\tau_{max})`."""
    return w.at_most(rate, 1 / (c * S * largest)).called("the printed condition")


def below(own: Number, largest: Number) -> tuple[Assumed, ...]:
    """Return that a side's period is at most the largest, if that is another one."""
    return () if own is largest else (w.at_most(own, largest),)


def implied(
    own: Number, largest: Number, c: int, k: int, *more: Assumed, reading: str = ""
) -> Part:
    r"""Return :math:`\eta \le 1/(\sqrt k S\tau_b)` from 1/(c S tau_max)."""
    condition = (slow(c, largest), *below(own, largest), *more)
    values = (rate.value, S.value, own.value, largest.value, c)

    def theorem() -> Theorem:
        found = any_step.smaller(*values)
        return any_step.square_condition(found, c, k, w.number(1).value)

    numbers: dict[Number, int | str] = {rate: "1/64", S: 1, own: 2, largest: 2}
    return proved(
        says(squared(rate, own, S, k), 1, *condition),
        theorem,
        r"$S\tau_b\eta \le 1/" + f"{c}$.",
        f"eta <= 1/(sqrt({k}) S tau), squared; {reading}",
        model=numbers_only(numbers),
    )


def sides(version: str) -> tuple[tuple[str, Number, Number], ...]:
    """Return name, period and largest period of the sides of a version."""
    if version == "V2":
        return (("both sides", tau, tau),)
    return tuple((name, period, s.tau_max) for name, period in SIDES)


def general_convex(theorem: str, version: str, lemma: str) -> Claim:
    """Return that the general convex condition implies the lemmas' conditions."""
    both = sides(version)
    name, own, largest = both[0]
    numbers: dict[Number, int | str] = {rate: "1/4", S: 1, own: 2, largest: 2}
    holds = tuple(
        implied(period, most, 2, 4, reading=f"{side}, the condition of {lemma}")
        for side, period, most in both
    )
    return Kind.CONDITION(
        f"han2024/cond-{theorem}/general_convex",
        f"Theorem {theorem}, general convex",
        f"The printed condition implies those of {_name(lemma)} and of Lemma C.5 on "
        "each side.",
        *holds,
        Part(
            says(squared(rate, own, S, 6), 1, slow(2, largest), *below(own, largest)),
            Model(numbers_only(numbers), r"The largest rate: $6/4 > 1$."),
            reading=f"{name}, the condition of lemma-C.5, squared",
        ),
        severity=Severity.PROOF,
        scope="for rates above 1/(sqrt(6) S tau), the condition of Lemma C.5; the "
        "other is implied",
        cause="1/2 > 1/sqrt(6); harmless, as Lemma C.5 holds at every rate.",
        uses=f"{lemma} lemma-C.5",
        repair=repaired(
            "Lemma C.5 without its condition",
            *holds,
            link(
                DRIFT,
                w.as_form(12 * tau**3 * s.eta() ** 2 * TWO),
                local_recursion.lemma_c5,
                "Lemma C.5, whose proof does not use its condition.",
                *s.assumption_C1(V1),
                reading="Lemma C.5 at every rate; " + s.EACH,
            ),
        ),
    )


def lemmas_of_C(version: str) -> tuple[Part, ...]:
    """Return the conditions of Lemmas C.6 and C.7 from 1/(16 S tau_max)."""
    return tuple(
        implied(period, most, 16, k, reading=f"{side}, the condition of {lemma}")
        for side, period, most in sides(version)
        for k, lemma in ((8, "lemma-C.6"), (4, "lemma-C.7"))
    )


def non_convex(theorem: str, version: str) -> Claim:
    """Return that the non-convex condition implies the lemmas' conditions."""
    return Kind.CONDITION(
        f"han2024/cond-{theorem}/non_convex",
        f"Theorem {theorem}, non-convex",
        "The printed condition implies those of Lemmas C.6 and C.7 on each side.",
        *lemmas_of_C(version),
        scope="by its first term alone, 1/(16 S tau)"
        if version == "V2"
        else "by its first term alone, 1/(16 S tau_max)",
        uses="lemma-C.6 lemma-C.7",
    )


def proof_condition(
    section: str, equation: int, version: str, product: Number
) -> Claim:
    """Return what App. D.3 to G.3 take from their conditions."""
    most = sides(version)[0][-1]
    known = slow(16, most)
    u = S * rate * most
    values = (rate.value, S.value, most.value, most.value, 16)
    numbers: dict[Number, int | str] = {rate: "1/4096", S: 1, most: 2}
    second = w.at_most(2 * product, 1).called("the second condition")
    inside: dict[Number, int | str] = {rate: "1/4096", S: 1}
    inside |= {tau: 2} if version == "V2" else {s.tau_max: 2, s.tau_min: 1}
    half, small = w.number(Fraction(1, 2)), w.number(Fraction(1, 32))
    return Kind.CONDITION(
        f"han2024/cond-{section}",
        f"App. {section}.3, below ({equation})",
        "The two conditions imply those of Lemmas C.6 and C.7 on each side and the "
        "three inequalities that the last step uses.",
        *lemmas_of_C(version),
        proved(
            says(8 * u, half, known),
            lambda: any_step.linear_condition(any_step.smaller(*values), 8, half.value),
            rf"$16u \le 1$ for $u = S\eta{most.tex}$.",
            model=numbers_only(numbers),
        ),
        proved(
            says(8 * u**2, small, known),
            lambda: any_step.square_condition(
                any_step.smaller(*values), 16, 8, small.value
            ),
            r"$(16u)^2 \le 1$.",
            model=numbers_only(numbers),
        ),
        proved(
            says(half, 1 - product, second),
            lambda: any_step.half_left((2 * product).value),
            "Half of the second condition.",
            "the second condition times its positive denominator",
            model=numbers_only(inside, ("3/4", "1/4"), ("1", "1/2")),
        ),
    )


PER_CLIENT = 4 * N**2 * S * rate * tau
TWO_PACES = 4 * N * S * rate * s.tau_max**2 / s.tau_min
SECOND = w.at_most(2 * PER_CLIENT * drawn_squares, 1).called(
    "the printed second condition"
)
EQUAL = numbers_only({rate: "1/24", S: 1, tau: 1}, ("1/2", "1/2"), ("1", "1/2"))

STEP_39 = Kind.CONDITION(
    "han2024/step-3.9/non_convex",
    "Theorem 3.9, non-convex, and App. G.3 (183)",
    "The printed condition (sum_n a_n^2/q_n) implies the one that (183) uses "
    "(sum_n 1/q_n).",
    Part(
        says(2 * PER_CLIENT * chances, 1, slow(16, tau), SECOND),
        Model(
            EQUAL,
            r"$a = (1/2, 1/2)$, $q = (1, 1/2)$, $\eta = 1/24$: $96/24 = 4 > 1$.",
        ),
        reading="the condition that (183) uses, times its denominator",
    ),
    Part(
        says(
            w.number(Fraction(1, 2)),
            1 - PER_CLIENT * chances,
            slow(16, tau),
            SECOND,
        ),
        Model(EQUAL, "The same: the coefficient of the squared gradient is -1."),
        reading="what (183) uses it for",
    ),
    severity=Severity.PROOF,
    cause="It admits steps that are too large for the proof.",
    scope="as a step of the proof; the bound itself is thm-3.9/non_convex",
    repair=repaired(
        r"$\sum_n 1/q_n$ in the condition",
        proved(
            says(
                w.number(Fraction(1, 2)),
                1 - PER_CLIENT * chances,
                w.at_most(2 * PER_CLIENT * chances, 1),
            ),
            lambda: any_step.half_left((2 * PER_CLIENT * chances).value),
            "Half of the condition.",
            model=numbers_only(
                {rate: "1/96", S: 1, tau: 1}, ("1/2", "1/2"), ("1", "1/2")
            ),
        ),
    ),
)

CLAIMS = (
    *(
        claim
        for theorem, version, lemma in (
            ("3.6", "V1", "lemma-D.1"),
            ("3.7", "V2", "lemma-E.1"),
            ("3.8", "V1", "lemma-D.1"),
            ("3.9", "V2", "lemma-E.1"),
        )
        for claim in (
            strongly_convex(theorem, lemma),
            general_convex(theorem, version, lemma),
            non_convex(theorem, version),
        )
    ),
    *(
        swapped(theorem, side, own, other)
        for theorem in ("3.6", "3.8")
        for side, own, other in (
            ("client", tau, tau_server),
            ("server", tau_server, tau),
        )
    ),
    STEP_39,
    *(
        proof_condition(*one)
        for one in (
            ("D.3", 87, "V1", TWO_PACES * squares),
            ("E.3", 123, "V2", PER_CLIENT),
            ("F.3", 153, "V1", TWO_PACES * drawn_squares),
            ("G.3", 183, "V2", PER_CLIENT * chances),
        )
    ),
)
