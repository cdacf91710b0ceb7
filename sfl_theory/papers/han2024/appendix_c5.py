r"""App. C.4, Lemma C.5: one client's local steps in a round, (37)-(41).

The whole local model of SFL-V1, both sides stepping together. Powers of
:math:`C = 1 + 2/\tau` are a sequence with :math:`C^0 = 1, C^{j+1} = C \cdot C^j`, for a
term has no symbol as exponent; conditions with roots are squared.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import Kind, Part, Severity, broken, equal, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import coin, federation, huber, plus, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Vector
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import EACH, G2, S, each, eta, j, n, run, t, tau
from sfl_theory.papers.han2024.setting import i as any_step
from sfl_theory.proofs import local_recursion as local
from sfl_theory.proofs import numbers as powers
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

V1 = run(Version.V1)
x = V1.x(t)
i = w.count("i")
last = i - 1
C = w.Written((1 + 2 / tau).value, "C")
"""1 + 2/tau."""
BASE = s.assumption_C1(V1)
STEP = (*BASE, w.at_most(i, tau))
B = w.nonnegative("B")
e2 = w.positive("e2", "e^2")

F_x = w.local(n).gradient(x)
g_first: Vector = w.Written(
    (F_x + V1.xi(n, t, 0)).value, "g_n^{t}", name=w.Name("g", "n", "t")
)
"""The round's first stochastic gradient, at x^t."""
g_last, F_last = V1.g(n, t, last), w.local(n).gradient(V1.p(n, t, last))
OVER = "per client and step i >= 1; for the whole vector, tau_server = tau; " + EACH


def slow(k: int) -> Assumed:
    r"""Return :math:`\eta^t \le 1/(\sqrt{k} S \tau)`, squared."""
    return w.at_most(k * S**2 * tau**2 * eta() ** 2, 1)


def A(at: Number) -> Form:
    """Return ``A^{t,i}``, the squared distance from x^t."""
    return w.norm2(V1.p(n, t, at) - x)


def power(at: Number) -> Number:
    """Return ``C^at``."""
    return w.of_round("c", at, "C^{{t}}")


def up_to(form: Form) -> Form:
    """Return the sum over the local steps ``i < tau``."""
    return w.below(any_step, tau, form)


DRIFT = up_to(A(any_step))
START = w.equals(power(w.number(0)), w.number(1))
GROWS = w.equals(power(j + 1), C * power(j))
POWERS = (*START, *(w.every_round(j, tau, one) for one in GROWS))
ALL_POWERS = (
    *POWERS,
    *(w.every_round(any_step, tau, w.every_round(j, any_step, one)) for one in GROWS),
)


SUMS = w.below(any_step, tau, w.below(j, any_step, power(j)))
"""``sum_{i<tau} sum_{j<i} C^j``."""
TWICE = 2 / tau
CLOSED = 1 / TWICE * ((power(tau) - 1) / TWICE - tau)
r""":math:`\frac{1}{2/\tau}(\frac{(1 + 2/\tau)^\tau - 1}{2/\tau} - \tau)`."""


def two_clients(*extra: str) -> Callable[[], ModelData]:
    """Return a model: Huber functions, noise in x_s, two local steps of 1/8.

    Args:
        extra: which of i and c the statement mentions too.
    """
    one = plus(huber((1, 0), 0, 1), huber((0, 1), 0, 1))
    law = coin(0, 1)
    doubled = w.rate(lambda at: 1 + at / 2 + at**2 / 2)
    return lambda: federation(
        (plus(one, tilt(0, "1/8")), plus(one, tilt(0, "-1/8"))),
        ("1/2", "1/4"),
        noise=(law, law),
        rounds=1,
        numbers={
            S: 1,
            G2: 4,
            s.eps2: "1/16",
            tau: 2,
            t: 0,
            **({i: 1} if "i" in extra else {}),
        },
        families={"sigma2": (1, 1), "b": (1, 1)},
        rates={"eta": "1/8", **({"c": doubled} if "c" in extra else {})},
    )


def powers_only(**numbers: int) -> Callable[[], ModelData]:
    """Return a model of powers of 2, tau = 2, and of some numbers."""
    doubled = w.rate(lambda at: 1 + at / 2 + at**2 / 2)
    names = {"B": B, "e2": e2}
    return lambda: federation(
        (tilt(0),),
        (0,),
        numbers={tau: 2, **{names[name]: value for name, value in numbers.items()}},
        rates={"c": doubled},
    )


def link(
    left: Form,
    right: Form,
    theorem: Callable[[], Theorem],
    words: str,
    *assumed: Assumed,
    reading: str = OVER,
) -> Part:
    """Return a proved inequality of a chain, per client."""
    one = says(each(left), each(right), *assumed)
    model = two_clients("i") if reading == OVER else two_clients()
    return proved(one, lambda: local.each(theorem()), words, reading, model=model)


def chain(
    members: list[Form], steps: list[tuple[Callable[[], Theorem], str]], k: int
) -> tuple[Part, ...]:
    """Return every inequality of a printed chain under the lemma's assumptions."""
    return tuple(
        link(left, right, theorem, words, *STEP, slow(k))
        for left, right, (theorem, words) in zip(
            members[:-1], members[1:], steps, strict=True
        )
    )


TWO = 2 * s.sigma2() + G2
B_5 = 6 * tau * eta() ** 2 * TWO
BEFORE = V1.p(n, t, last) - x
MOVED = V1.p(n, t, last) - eta() * g_last - x
ONCE = 1 + 1 / tau
GROWN = 1 + 2 / tau
rate2 = eta() ** 2
three = 3 * (1 + tau)
MEMBERS_38 = [
    A(i),
    w.norm2(MOVED),
    w.norm2(BEFORE - eta() * (g_last - F_last + F_last - F_x + F_x)),
    ONCE * A(last)
    + three * w.norm2(eta() * (g_last - F_last))
    + three * w.norm2(eta() * (F_last - F_x))
    + three * w.norm2(eta() * F_x),
    ONCE * A(last)
    + three * rate2 * s.sigma2()
    + three * rate2 * S**2 * A(last)
    + three * rate2 * w.norm2(F_x),
    (1 + 1 / tau + 6 * tau * rate2 * S**2) * A(last)
    + 6 * tau * rate2 * s.sigma2()
    + 6 * tau * rate2 * w.norm2(F_x),
    GROWN * A(last) + 6 * tau * rate2 * s.sigma2() + 6 * tau * rate2 * w.norm2(F_x),
    GROWN * A(last)
    + 6 * tau * rate2 * s.sigma2()
    + 6 * tau * rate2 * (w.norm2(F_x - g_first) + w.norm2(g_first)),
]
END_38 = GROWN * A(last) + 6 * tau * rate2 * TWO
FIRST_BOUNDED = w.every_client(n, w.at_most(w.norm2(g_first), G2)).called(
    "Assumption C.1, (28), at x^t"
)


def noisy(factor: Number, *others: Callable[[], Theorem]) -> Callable[[], Theorem]:
    """Return noise and other squares replaced by their bounds, times a number."""
    return lambda: combine(
        (local.noise_bound(last.value), factor.value),
        *((one(), factor.value) for one in others),
    )


def widened() -> Theorem:
    """Return ``3 (1 + tau) <= 6 tau`` used three times."""
    room = (6 * tau - three).value * rate2.value
    found = combine(
        (local.before, room * S.value**2),
        (local.gx, room),
        target=(MEMBERS_38[5].value - MEMBERS_38[4].value),
    )
    return found


def first_bounded() -> Theorem:
    """Return what (28) and the variance say of the first stochastic gradient."""
    short = rules.assume((w.as_form(G2) - w.norm2(g_first)).value)
    factor = (6 * tau * rate2).value
    return combine((local.noise_bound(ratio(0)), factor), (short, factor))


EQ_38 = Kind.EQUATION(
    "han2024/eq-38",
    "App. C.4, (38)",
    "From one local step to the next, inequality by inequality.",
    *chain(
        MEMBERS_38,
        [
            (local.one_step, "One step."),
            (combine, "The same vector."),
            (
                lambda: local.spread(
                    [local.xi, local.gp - local.gx, local.gx], three.value
                ),
                r"$\|u + v\|^2 \le (1 + 1/\tau)\|u\|^2 + (1 + \tau)\|v\|^2$ and "
                r"$\|v_1 + v_2 + v_3\|^2 \le 3\sum\|v_k\|^2$.",
            ),
            (noisy(three * rate2, local.near), "Variance and (24)."),
            (widened, r"$3(1 + \tau) \le 6\tau$."),
            (lambda: local.absorb(6), r"$6\tau^2\eta^2S^2 \le 1$."),
            (
                lambda: combine((local.first_gradient(), (6 * tau * rate2).value)),
                r"$g_n^t$ is unbiased; printed as $\nabla_x g_n^t$.",
            ),
        ],
        6,
    ),
    link(
        MEMBERS_38[-1],
        END_38,
        first_bounded,
        "(27) and (28) at the round's first point.",
        *STEP,
        slow(6),
        FIRST_BOUNDED,
    ),
)

EQ_39 = Kind.EQUATION(
    "han2024/eq-39",
    "App. C.4, (39)",
    "The recursion of the squared distances, from end to end.",
    link(
        A(i),
        GROWN * A(last) + B_5,
        local.bounded_recursion,
        r"Young with $1/\tau$, and (28) for the step's gradient.",
        *STEP,
        slow(6),
    ),
    uses="eq-38",
    scope="at every rate",
)


def both_ways(
    left: Number,
    right: Number,
    theorem: Callable[[bool], Theorem],
    words: str,
    *assumed: Assumed,
) -> tuple[Part, ...]:
    """Return an equality of numbers as two inequalities."""
    return tuple(
        proved(
            says(*((left, right) if most else (right, left)), *assumed),
            partial(theorem, most),
            words,
            "one of the two inequalities that the equality is",
            model=powers_only(B=1),
        )
        for most in (True, False)
    )


PARTIAL = B * w.below(any_step, tau, (power(any_step) - 1) / (C - 1))
GEOMETRIC = (
    *both_ways(
        B * SUMS,
        PARTIAL,
        lambda most: powers.partial_sums(B.value, most),
        r"$(C - 1)\sum_{j<i} C^j = C^i - 1$, telescoped.",
        *ALL_POWERS,
    ),
    *both_ways(
        PARTIAL,
        B * CLOSED,
        lambda most: powers.sum_of_closed(B.value, most),
        r"The same identity with $\tau$ for $i$.",
        *POWERS,
    ),
)


def not_equal(left: Form, bound: Form | Number, *assumed: Assumed) -> Part:
    """Return the first equality of (40), (45), (52), which a model breaks."""
    return broken(
        equal(each(left), each(w.as_form(SUMS * bound)), *BASE, *assumed, *POWERS),
        two_clients("c"),
        r"Huber functions and fair coins, $\tau = 2$, $\eta = 1/8$.",
        EACH,
    )


UNROLLED = "an inequality, unrolled, is an inequality: '<=' for the first '='"

EQ_40 = Kind.EQUATION(
    "han2024/eq-40",
    "App. C.4, (40)",
    "The distances summed over the local steps, the recursion unrolled.",
    not_equal(DRIFT, B_5, slow(6)),
    *GEOMETRIC,
    severity=Severity.SLIP,
    scope="in its first '='; the other relations hold",
    cause="The first '=' is wrong: (39) is an inequality, so its unrolled form is one.",
    uses="eq-39",
    repair=evidence.repaired(
        UNROLLED,
        proved(
            says(
                each(DRIFT),
                each(w.as_form(SUMS * B_5)),
                *BASE,
                slow(6),
                *ALL_POWERS,
            ),
            lambda: local.each(
                combine(
                    local.lemma_c5_by_powers(),
                    (powers.sums_at_least(), B_5.value),
                )
            ),
            r"$\sum_i A_i \le \eta^2G^2\sum_i i^2$ by (28), and "
            r"$C^\tau \ge 3 + (\tau - 1)/\tau$ makes the right side larger.",
            EACH,
            model=two_clients("c"),
        ),
        proved(
            says(each(DRIFT), each(w.as_form(B_5 * CLOSED)), *BASE, *POWERS),
            lambda: local.each(local.lemma_c5_by_powers()),
            "The same, with the sums evaluated.",
            EACH,
            model=two_clients("c"),
        ),
    ),
)

WITH_E = tau**2 * B / 2 * ((e2 - 1) / 2 - 1)
BELOW_E = w.at_most(power(tau), e2).called(r"(1 + n/x)^x <= e^n")
E_BELOW_3 = w.at_most(e2, 9).called("e <= 3")
TWO_TAU2 = proved(
    says(B * CLOSED, 2 * tau**2 * B, *POWERS),
    lambda: powers.closed_at_most(B.value),
    r"$C^\tau \le 9$: the numbers $C^jH(\tau - j)$ do not grow for "
    r"$H(r) = 1 + 2s + 2s^2 + 4s^3$, $s = r/\tau$, and $H(\tau) = 9$.",
    "end to end, without e",
    model=powers_only(B=1),
)

EQ_41 = Kind.EQUATION(
    "han2024/eq-41",
    "App. C.4, (41)",
    "The closed form is at most 2 tau^2 B.",
    proved(
        says(B * CLOSED, WITH_E, BELOW_E),
        lambda: combine((
            rules.assume((w.as_form(e2 - power(tau))).value),
            (B * tau**2 / 4).value,
        )),
        r"$(1 + 2/\tau)^\tau \le e^2$.",
        "e^2 is any number with the cited inequality",
        model=powers_only(B=1, e2=8),
    ),
    proved(
        says(WITH_E, 2 * tau**2 * B, E_BELOW_3),
        lambda: combine(
            (rules.assume(w.as_form(9 - e2).value), (B * tau**2 / 4).value),
            target=w.as_form(2 * tau**2 * B - WITH_E).value,
        ),
        r"$e^2 \le 9$.",
        model=lambda: federation((tilt(0),), (0,), numbers={tau: 2, B: 1, e2: 8}),
    ),
    TWO_TAU2,
    proved(
        says(
            each(w.as_form(2 * tau**2 * B_5)),
            each(w.as_form(12 * tau**3 * rate2 * TWO)),
        ),
        combine,
        "B written out; both sides are the same.",
        EACH,
    ),
    uses="eq-40",
)

LEMMA_C5 = Kind.LEMMA(
    "han2024/lemma-C.5",
    "Lemma C.5, (37)",
    "The local models' squared distances from x^t in a round, gradients bounded.",
    link(
        DRIFT,
        w.as_form(12 * tau**3 * rate2 * TWO),
        local.lemma_c5,
        r"$\|x_n^{t,i} - x^t\|^2 \le \eta^2 i\sum_{j<i}\|g_n^{t,j}\|^2$ and (28).",
        *BASE,
        slow(6),
        reading="for the whole vector, tau_server = tau; " + EACH,
    ),
    uses="eq-41",
    scope="at every rate: the proof does not use the condition",
)

CLAIMS = (EQ_38, EQ_39, EQ_40, EQ_41, LEMMA_C5)
