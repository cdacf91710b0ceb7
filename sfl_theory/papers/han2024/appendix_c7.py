"""App. C.4, Lemma C.7: stochastic gradients of one round against its first, (46)-(52).

Fresh samples keep two stochastic gradients apart by their variance, however small the
learning rate is; the printed recursion loses it.
"""

from __future__ import annotations

from collections.abc import Callable

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Proof, Repair, Severity, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.papers.han2024.appendix_c5 import (
    BASE,
    GEOMETRIC,
    GROWN,
    ONCE,
    OVER,
    STEP,
    TWO_TAU2,
    V1,
    A,
    F_x,
    g_first,
    g_last,
    i,
    last,
    link,
    not_equal,
    rate2,
    slow,
    two_clients,
    up_to,
)
from sfl_theory.papers.han2024.setting import EACH, S, each, n, sigma2, t, tau
from sfl_theory.papers.han2024.setting import i as any_step
from sfl_theory.proofs import local_recursion as local
from sfl_theory.written import Form, Number

HYPOTHESES = (*STEP, slow(4))
g_now = V1.g(n, t, i)
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
    return w.norm2(V1.g(n, t, at) - g_first)


MADE = w.norm2(V1.p(n, t, i) - V1.p(n, t, last))
CHANGE = w.norm2(g_now - g_last)
LARGE = 2 * (1 + tau)
MEMBERS_47 = [
    D(i),
    (1 + tau) * CHANGE + ONCE * D(last),
    (1 + tau) * S**2 * MADE + ONCE * D(last),
    (1 + tau) * rate2 * S**2 * w.norm2(g_last) + ONCE * D(last),
    LARGE * rate2 * S**2 * D(last)
    + LARGE * rate2 * S**2 * w.norm2(g_first)
    + ONCE * D(last),
    GROWN * D(last) + LARGE * rate2 * S**2 * w.norm2(g_first),
]
WORDS_47 = (
    r"$\|u + v\|^2 \le (1 + \tau)\|u\|^2 + (1 + 1/\tau)\|v\|^2$.",
    "",
    "One step.",
    r"$\|u + v\|^2 \le 2\|u\|^2 + 2\|v\|^2$.",
    r"$2(1 + \tau)\eta^2S^2 \le 4\tau\eta^2S^2 \le 1/\tau$.",
)


def broken(left: Form, right: Form, reading: str = OVER) -> Part:
    """Return a link that fresh samples break."""
    one = says(each(left), each(right), *HYPOTHESES)
    return Part(one, Model(two_clients("i"), FRESH), reading)


END_TO_END = broken(MEMBERS_47[0], MEMBERS_47[-1], "end to end, " + OVER)
LINKS: tuple[Callable[[], Theorem] | None, ...] = (
    local.changed,
    None,
    local.moved_by,
    local.doubled,
    local.absorbed_change,
)

DIRECT = Repair(
    (
        Part(
            says(
                each(D(i)),
                each(2 * S**2 * A(i) + 3 * sigma2()),
                *BASE,
                w.at_most(i + 1, tau),
            ),
            Proof(
                lambda: local.each(local.deviation(i.value)),
                r"$\xi_n^{t,i}$ is independent of what came before: "
                r"$\|\nabla F_n^{t,i} - \nabla F_n - \xi_n^{t,0}\|^2$ + noise, "
                "then Young and (24).",
                two_clients("i"),
            ),
            reading=OVER,
        ),
    ),
    r"bounded directly, without a recursion; the variance enters without $\eta^2$",
)

EQ_47 = Claim(
    "han2024/eq-47",
    "App. C.4, (47)",
    Kind.EQUATION,
    "From one stochastic gradient to the next, inequality by inequality.",
    (
        *(
            broken(left, right)
            if theorem is None
            else link(left, right, theorem, words, *HYPOTHESES)
            for left, right, theorem, words in zip(
                MEMBERS_47[:-1], MEMBERS_47[1:], LINKS, WORDS_47, strict=True
            )
        ),
        END_TO_END,
    ),
    severity=Severity.PROOF,
    cause=CAUSE,
    scope="The second link fails; the others hold, noise or not.",
    repair=DIRECT,
)

EQ_51 = Claim(
    "han2024/eq-51",
    "App. C.4, (51)",
    Kind.EQUATION,
    "The recursion of the stochastic gradients' distances, from end to end.",
    (END_TO_END,),
    severity=Severity.PROOF,
    cause=CAUSE,
    uses="eq-47",
    repair=DIRECT,
)

TOTAL = up_to(D(any_step))
B_7 = LARGE * rate2 * S**2 * w.norm2(g_first)
FACTOR = 8 * tau**3 * rate2 * S**2
END_52 = FACTOR * (w.norm2(F_x) + sigma2())

WITH_VARIANCE = Repair(
    (
        Part(
            says(
                each(TOTAL),
                each(END_52 + 4 * tau * sigma2()),
                *BASE,
                slow(4),
            ),
            Proof(
                lambda: local.each(local.lemma_c7()),
                r"Each difference is that of the means and of two noises: "
                r"$2S^2\sum_i A_i + 4\tau\sigma_n^2$; and $\sum_i A_i \le "
                r"4\tau^3\eta^2(\|\nabla F_n\|^2 + \sigma_n^2)$.",
                two_clients(),
            ),
            reading=EACH,
        ),
    ),
    r"$4\tau\sigma_n^2$ more: the variance of fresh samples, without $\eta^2$",
)

EQ_52 = Claim(
    "han2024/eq-52",
    "App. C.4, (52)",
    Kind.EQUATION,
    "The stochastic gradients' distances summed over the local steps, unrolled.",
    (
        not_equal(TOTAL, B_7, slow(4)),
        *GEOMETRIC,
        TWO_TAU2,
        link(
            4 * tau**2 * (1 + tau) * rate2 * S**2 * w.norm2(g_first),
            FACTOR * w.norm2(g_first),
            local.wider,
            r"$1 + \tau \le 2\tau$.",
            *BASE,
            reading=EACH,
        ),
        link(
            FACTOR * w.norm2(g_first),
            END_52,
            local.first_moment,
            "Unbiased, with variance (27).",
            *BASE,
            reading=EACH,
        ),
        Part(
            says(each(TOTAL), each(END_52), *BASE, slow(4)),
            Model(two_clients(), FRESH),
            reading="end to end; " + EACH,
        ),
    ),
    severity=Severity.PROOF,
    cause=CAUSE,
    uses="eq-51",
    repair=WITH_VARIANCE,
)

LEMMA_C7 = Claim(
    "han2024/lemma-C.7",
    "Lemma C.7, (46)",
    Kind.LEMMA,
    "The stochastic gradients of a round against its first one.",
    (
        Part(
            says(each(TOTAL), each(END_52), *BASE, slow(4)),
            Model(two_clients(), FRESH),
            reading="g_n^t is the gradient of step 0 at x^t; " + EACH,
        ),
    ),
    severity=Severity.THEOREM,
    cause=CAUSE,
    words="The gradient at x^t is averaged here; (46) and (52) print it without E.",
    uses="eq-52",
    scope="A lemma of its own, false as stated; the non-convex theorems that use it "
    "are decided by themselves. The left side is tau sigma_n^2 or more in the model, "
    "whatever the rate.",
    repair=WITH_VARIANCE,
)

CLAIMS = (EQ_47, EQ_51, EQ_52, LEMMA_C7)
