"""App. C.4, Lemma C.6: one client's local steps in a round, heterogeneity bounded."""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Part, Proof, Repair, Severity, says
from sfl_theory.papers.han2024.appendix_c5 import (
    ALL_POWERS,
    BASE,
    BEFORE,
    DRIFT,
    GROWN,
    MOVED,
    ONCE,
    STEP,
    SUMS,
    UNROLLED,
    A,
    B,
    F_last,
    F_x,
    chain,
    g_last,
    i,
    last,
    link,
    noisy,
    not_equal,
    powers_only,
    rate2,
    slow,
    two_clients,
    x,
)
from sfl_theory.papers.han2024.setting import (
    EACH,
    S,
    each,
    eps2,
    eta,
    f,
    sigma2,
    tau,
)
from sfl_theory.proofs import local_recursion as local
from sfl_theory.proofs import powers
from sfl_theory.proofs.notation import combine

f_x = f.gradient(x)
eight = 8 * tau
B_6 = (
    w.as_form(eight * rate2 * sigma2())
    + eight * rate2 * eps2
    + eight * rate2 * w.norm2(f_x)
)
MEMBERS_43 = [
    A(i),
    w.norm2(MOVED),
    w.norm2(
        BEFORE - eta() * (g_last - F_last + F_last - F_x + F_x - f_x + f_x),
    ),
    ONCE * A(last)
    + eight * w.norm2(eta() * (g_last - F_last))
    + eight * w.norm2(eta() * (F_last - F_x))
    + eight * w.norm2(eta() * (F_x - f_x))
    + eight * w.norm2(eta() * f_x),
    ONCE * A(last)
    + eight * rate2 * sigma2()
    + eight * rate2 * S**2 * A(last)
    + eight * rate2 * eps2
    + eight * rate2 * w.norm2(f_x),
    (1 + 1 / tau + eight * rate2 * S**2) * A(last) + B_6,
    GROWN * A(last) + B_6,
]

EQ_43 = Claim(
    "han2024/eq-43",
    "App. C.4, (43)",
    Kind.EQUATION,
    "From one local step to the next with heterogeneity, inequality by inequality.",
    chain(
        MEMBERS_43,
        [
            (local.one_step, "One step."),
            (combine, "The same vector."),
            (
                lambda: local.spread(
                    [
                        local.xi,
                        local.gp - local.gx,
                        local.gx - local.gf,
                        local.gf,
                    ],
                    eight.value,
                ),
                r"Young with $1/\tau$, four terms, $4(1 + \tau) \le 8\tau$.",
            ),
            (noisy(eight * rate2, local.near, local.far), "Variance, (24), (29)."),
            (combine, "Terms collected."),
            (lambda: local.absorb(8), r"$8\tau^2\eta^2S^2 \le 1$."),
        ],
        8,
    ),
)

EQ_44 = Claim(
    "han2024/eq-44",
    "App. C.4, (44)",
    Kind.EQUATION,
    "The recursion of the squared distances with heterogeneity, from end to end.",
    (
        link(
            A(i),
            GROWN * A(last) + B_6,
            local.heterogeneous_recursion,
            "The chain of (43).",
            *STEP,
            slow(8),
        ),
    ),
    uses="eq-43",
)

EQ_45 = Claim(
    "han2024/eq-45",
    "App. C.4, (45)",
    Kind.EQUATION,
    "The distances summed over the local steps, the recursion (44) unrolled.",
    (
        not_equal(DRIFT, B_6, slow(8)),
        Part(
            says(B * SUMS, 2 * tau**2 * B, *ALL_POWERS),
            Proof(
                lambda: combine([
                    (powers.partial_sums(B.value, True), 1),
                    (powers.sum_of_closed(B.value, True), 1),
                    (powers.closed_at_most(B.value), 1),
                ]),
                "As (40) and (41).",
                powers_only(B=1),
            ),
        ),
    ),
    severity=Severity.SLIP,
    cause="The first '=' is wrong: (44) is an inequality, so its unrolled form is one.",
    uses="eq-44",
    repair=Repair(
        (
            Part(
                says(
                    each(DRIFT),
                    each(SUMS * B_6),
                    *BASE,
                    slow(8),
                    *ALL_POWERS,
                ),
                Proof(
                    lambda: local.each(local.lemma_c6_by_sums()),
                    r"$\sum_i A_i \le \frac{4}{3}\eta^2(2\sum_i i^2\|\nabla F_n\|^2 + "
                    r"4\sum_i i\sigma_n^2)$, by Young with $1/3$ and 2, and "
                    r"$C^\tau \ge 3 + (\tau - 1)/\tau$.",
                    two_clients("c"),
                ),
                reading=EACH,
            ),
        ),
        UNROLLED,
    ),
)

LEMMA_C6 = Claim(
    "han2024/lemma-C.6",
    "Lemma C.6, (42)",
    Kind.LEMMA,
    "The local models' squared distances from x^t in a round, heterogeneity bounded.",
    (
        link(
            DRIFT,
            2 * tau**2 * B_6,
            local.lemma_c6,
            r"$\sum_i A_i$ bounded by itself, $\sigma_n^2$ and "
            r"$\|\nabla F_n(x^t)\|^2 \le 2\epsilon^2 + 2\|\nabla f(x^t)\|^2$.",
            *BASE,
            slow(8),
            reading="for the whole vector, tau_server = tau; " + EACH,
        ),
    ),
    words="The gradient at x^t is averaged here; (42)-(45) print it without E, given "
    "x^t, which is the same at t = 0, where x^0 is fixed.",
    uses="eq-45",
)

CLAIMS = (EQ_43, EQ_44, EQ_45, LEMMA_C6)
