"""App. C.4, Lemmas C.6 and C.7: local steps and gradients in a round, (46)-(52).

Fresh samples keep two stochastic gradients apart by their variance, however small the
learning rate is; the printed recursion loses it.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory.evidence import Kind, Model, Part, Severity, proved, repaired, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import appendix_c5 as c5
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.appendix_c5 import BASE, ONCE, A, B, i, last, rate2, slow
from sfl_theory.papers.han2024.setting import EACH, S, each, eta, f, n, sigma2, t, tau
from sfl_theory.papers.han2024.setting import i as any_step
from sfl_theory.proofs import local_recursion as local
from sfl_theory.proofs import numbers
from sfl_theory.proofs.notation import combine

f_x = f.gradient(c5.x)
eight = 8 * tau
B_6 = (
    w.as_form(eight * rate2 * sigma2())
    + eight * rate2 * s.eps2
    + eight * rate2 * w.norm2(f_x)
)
MEMBERS_43 = [
    A(i),
    w.norm2(c5.MOVED),
    w.norm2(
        c5.BEFORE
        - eta() * (c5.g_last - c5.F_last + c5.F_last - c5.F_x + c5.F_x - f_x + f_x)
    ),
    ONCE * A(last)
    + eight * w.norm2(eta() * (c5.g_last - c5.F_last))
    + eight * w.norm2(eta() * (c5.F_last - c5.F_x))
    + eight * w.norm2(eta() * (c5.F_x - f_x))
    + eight * w.norm2(eta() * f_x),
    ONCE * A(last)
    + eight * rate2 * sigma2()
    + eight * rate2 * S**2 * A(last)
    + eight * rate2 * s.eps2
    + eight * rate2 * w.norm2(f_x),
    (1 + 1 / tau + eight * rate2 * S**2) * A(last) + B_6,
    c5.GROWN * A(last) + B_6,
]

EQ_43 = Kind.EQUATION(
    "han2024/eq-43",
    "App. C.4, (43)",
    "From one local step to the next with heterogeneity, inequality by inequality.",
    *c5.chain(
        MEMBERS_43,
        [
            (local.one_step, "One step."),
            (combine, "The same vector."),
            (
                lambda: local.spread(
                    [local.xi, local.gp - local.gx, local.gx - local.gf, local.gf],
                    eight.value,
                ),
                r"Young with $1/\tau$, four terms, $4(1 + \tau) \le 8\tau$.",
            ),
            (
                c5.noisy(eight * rate2, local.near, local.far),
                "Variance, (24), (29).",
            ),
            (combine, "Terms collected."),
            (lambda: local.absorb(8), r"$8\tau^2\eta^2S^2 \le 1$."),
        ],
        8,
    ),
)

EQ_44 = Kind.EQUATION(
    "han2024/eq-44",
    "App. C.4, (44)",
    "The recursion of the squared distances with heterogeneity, from end to end.",
    c5.link(
        A(i),
        c5.GROWN * A(last) + B_6,
        local.heterogeneous_recursion,
        "The chain of (43).",
        *c5.STEP,
        slow(8),
    ),
    uses="eq-43",
)

EQ_45 = Kind.EQUATION(
    "han2024/eq-45",
    "App. C.4, (45)",
    "The distances summed over the local steps, the recursion (44) unrolled.",
    c5.not_equal(c5.DRIFT, B_6, slow(8)),
    proved(
        says(B * c5.SUMS, 2 * tau**2 * B, *c5.ALL_POWERS),
        lambda: combine(
            numbers.partial_sums(B.value, True),
            numbers.sum_of_closed(B.value, True),
            numbers.closed_at_most(B.value),
        ),
        "As (40) and (41).",
        model=c5.powers_only(B=1),
    ),
    severity=Severity.SLIP,
    scope="in its first '='; the other relations hold",
    cause="The first '=' is wrong: (44) is an inequality, so its unrolled form is one.",
    uses="eq-44",
    repair=repaired(
        c5.UNROLLED,
        proved(
            says(
                each(c5.DRIFT),
                each(c5.SUMS * B_6),
                *BASE,
                slow(8),
                *c5.ALL_POWERS,
            ),
            lambda: local.each(local.lemma_c6_by_sums()),
            r"$\sum_i A_i \le \frac{4}{3}\eta^2(2\sum_i i^2\|\nabla F_n\|^2 + "
            r"4\sum_i i\sigma_n^2)$, by Young with $1/3$ and 2, and "
            r"$C^\tau \ge 3 + (\tau - 1)/\tau$.",
            EACH,
            model=c5.two_clients("c"),
        ),
    ),
)

LEMMA_C6 = Kind.LEMMA(
    "han2024/lemma-C.6",
    "Lemma C.6, (42)",
    "The local models' squared distances from x^t in a round, heterogeneity bounded.",
    c5.link(
        c5.DRIFT,
        2 * tau**2 * B_6,
        local.lemma_c6,
        r"$\sum_i A_i$ bounded by itself, $\sigma_n^2$ and "
        r"$\|\nabla F_n(x^t)\|^2 \le 2\epsilon^2 + 2\|\nabla f(x^t)\|^2$.",
        *BASE,
        slow(8),
        reading="for the whole vector, tau_server = tau; " + EACH,
    ),
    words="The gradient at x^t is averaged here; (42)-(45) print it without E, given "
    "x^t, which is the same at t = 0, where x^0 is fixed.",
    uses="eq-45",
)

# App. C.4, Lemma C.7: stochastic gradients of one round against its first, (46)-(52)

HYPOTHESES = (*c5.STEP, slow(4))
g_now = c5.V1.g(n, t, i)
CAUSE = (
    "Stochastic gradients of different steps have different samples; smoothness of F_n "
    "does not make g_n Lipschitz."
)
FRESH = (
    r"Huber functions and fair coins $\pm 1$, $\tau = 2$, $\eta = 1/8$: two gradients "
    r"differ by two coins, 2 at least, and the right side has $\eta^2$."
)


def D(at: Number) -> Form:
    """Return ``A^{t,i}`` of (48)."""
    return w.norm2(c5.V1.g(n, t, at) - c5.g_first)


MADE = w.norm2(c5.V1.p(n, t, i) - c5.V1.p(n, t, last))
CHANGE = w.norm2(g_now - c5.g_last)
LARGE = 2 * (1 + tau)
MEMBERS_47 = [
    D(i),
    (1 + tau) * CHANGE + ONCE * D(last),
    (1 + tau) * S**2 * MADE + ONCE * D(last),
    (1 + tau) * rate2 * S**2 * w.norm2(c5.g_last) + ONCE * D(last),
    LARGE * rate2 * S**2 * D(last)
    + LARGE * rate2 * S**2 * w.norm2(c5.g_first)
    + ONCE * D(last),
    c5.GROWN * D(last) + LARGE * rate2 * S**2 * w.norm2(c5.g_first),
]
WORDS_47 = (
    r"$\|u + v\|^2 \le (1 + \tau)\|u\|^2 + (1 + 1/\tau)\|v\|^2$.",
    "",
    "One step.",
    r"$\|u + v\|^2 \le 2\|u\|^2 + 2\|v\|^2$.",
    r"$2(1 + \tau)\eta^2S^2 \le 4\tau\eta^2S^2 \le 1/\tau$.",
)


def broken(left: Form, right: Form, reading: str = c5.OVER) -> Part:
    """Return a link that fresh samples break."""
    one = says(each(left), each(right), *HYPOTHESES)
    return Part(one, Model(c5.two_clients("i"), FRESH), reading)


END_TO_END = broken(MEMBERS_47[0], MEMBERS_47[-1], "end to end, " + c5.OVER)
LINKS: tuple[Callable[[], Theorem] | None, ...] = (
    local.changed,
    None,
    local.moved_by,
    local.doubled,
    local.absorbed_change,
)

DIRECT = repaired(
    r"bounded directly, without a recursion; the variance enters without $\eta^2$",
    proved(
        says(
            each(D(i)),
            each(2 * S**2 * A(i) + 3 * sigma2()),
            *BASE,
            w.at_most(i + 1, tau),
        ),
        lambda: local.each(local.deviation(i.value)),
        r"$\xi_n^{t,i}$ is independent of what came before: "
        r"$\|\nabla F_n^{t,i} - \nabla F_n - \xi_n^{t,0}\|^2$ + noise, "
        "then Young and (24).",
        c5.OVER,
        model=c5.two_clients("i"),
    ),
)

EQ_47 = Kind.EQUATION(
    "han2024/eq-47",
    "App. C.4, (47)",
    "From one stochastic gradient to the next, inequality by inequality.",
    *(
        broken(left, right)
        if theorem is None
        else c5.link(left, right, theorem, words, *HYPOTHESES)
        for left, right, theorem, words in zip(
            MEMBERS_47[:-1], MEMBERS_47[1:], LINKS, WORDS_47, strict=True
        )
    ),
    END_TO_END,
    severity=Severity.PROOF,
    cause=CAUSE,
    scope="in its second link; the others hold, noise or not",
    repair=DIRECT,
)

EQ_51 = Kind.EQUATION(
    "han2024/eq-51",
    "App. C.4, (51)",
    "The recursion of the stochastic gradients' distances, from end to end.",
    END_TO_END,
    severity=Severity.PROOF,
    cause=CAUSE,
    scope="with noise; without it the links of (47) give it",
    uses="eq-47",
    repair=DIRECT,
)

TOTAL = c5.up_to(D(any_step))
B_7 = LARGE * rate2 * S**2 * w.norm2(c5.g_first)
FACTOR = 8 * tau**3 * rate2 * S**2
END_52 = FACTOR * (w.norm2(c5.F_x) + sigma2())

WITH_VARIANCE = repaired(
    r"$4\tau\sigma_n^2$ more: the variance of fresh samples, without $\eta^2$",
    proved(
        says(each(TOTAL), each(END_52 + 4 * tau * sigma2()), *BASE, slow(4)),
        lambda: local.each(local.lemma_c7()),
        r"Each difference is that of the means and of two noises: "
        r"$2S^2\sum_i A_i + 4\tau\sigma_n^2$; and $\sum_i A_i \le "
        r"4\tau^3\eta^2(\|\nabla F_n\|^2 + \sigma_n^2)$.",
        EACH,
        model=c5.two_clients(),
    ),
)

EQ_52 = Kind.EQUATION(
    "han2024/eq-52",
    "App. C.4, (52)",
    "The stochastic gradients' distances summed over the local steps, unrolled.",
    c5.not_equal(TOTAL, B_7, slow(4)),
    *c5.GEOMETRIC,
    c5.TWO_TAU2,
    c5.link(
        4 * tau**2 * (1 + tau) * rate2 * S**2 * w.norm2(c5.g_first),
        FACTOR * w.norm2(c5.g_first),
        local.wider,
        r"$1 + \tau \le 2\tau$.",
        *BASE,
        reading=EACH,
    ),
    c5.link(
        FACTOR * w.norm2(c5.g_first),
        END_52,
        local.first_moment,
        "Unbiased, with variance (27).",
        *BASE,
        reading=EACH,
    ),
    Part(
        says(each(TOTAL), each(END_52), *BASE, slow(4)),
        Model(c5.two_clients(), FRESH),
        reading="end to end; " + EACH,
    ),
    severity=Severity.PROOF,
    cause=CAUSE,
    scope="with noise in its first '=', as '<=' too, and so from end to end; the "
    "relations between hold",
    uses="eq-51",
    repair=WITH_VARIANCE,
)

LEMMA_C7 = Kind.LEMMA(
    "han2024/lemma-C.7",
    "Lemma C.7, (46)",
    "The stochastic gradients of a round against its first one.",
    Part(
        says(each(TOTAL), each(END_52), *BASE, slow(4)),
        Model(c5.two_clients(), FRESH),
        reading="g_n^t is the gradient of step 0 at x^t; " + EACH,
    ),
    severity=Severity.THEOREM,
    cause=CAUSE,
    words="The gradient at x^t is averaged here; (46) and (52) print it without E.",
    uses="eq-52",
    scope="with noise: the left side is tau sigma_n^2 or more in the model, whatever "
    "the rate; the non-convex theorems that use it are decided by themselves",
    repair=WITH_VARIANCE,
)

CLAIMS = (EQ_43, EQ_44, EQ_45, LEMMA_C6, EQ_47, EQ_51, EQ_52, LEMMA_C7)
