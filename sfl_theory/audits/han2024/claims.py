r"""The entries of ``han2024``: claims, how they are read, and what decides them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from sfl_theory.audits.han2024 import appendix_c, convex, repairs
from sfl_theory.audits.han2024.assumption_clash import bounded_diameter
from sfl_theory.audits.han2024.readings import BALL, LIPSCHITZ, PAPER, UPDATES
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.evidence.claim import Claim, Open, Proof, Refutation, Repair
from sfl_theory.papers.repaired import SETTINGS
from sfl_theory.registry import theorem

FALSE = {
    "thm-3.6/strongly_convex": (
        "The printed step sizes have tau and tau_server swapped: for tau > "
        "8 tau_server the server contracts slower than 1/T."
    ),
    "thm-3.7/strongly_convex": (
        "SFL-V2's server steps carry no a_n: for unequal weights x_s tends to the "
        "minimiser of sum_n F_n, the gap to a constant, the bound to 0."
    ),
    "thm-3.6/general_convex": (
        "The bound contains no learning rate but is claimed for every admitted one, "
        "for the last iterate: at x^0 = x* noise makes the gap positive and the bound "
        "is 0; a tiny rate stalls; at the largest rate a noise floor stays."
    ),
    "thm-3.7/non_convex": (
        "SFL-V2's server follows sum_n grad F_n: for unequal weights grad f does not "
        "vanish, while the noise term of the bound is of order eta^2."
    ),
}
FALSE |= {
    "thm-3.8/strongly_convex": FALSE["thm-3.6/strongly_convex"],
    "thm-3.9/strongly_convex": FALSE["thm-3.7/strongly_convex"],
    "thm-3.7/general_convex": FALSE["thm-3.6/general_convex"],
    "thm-3.8/general_convex": FALSE["thm-3.6/general_convex"],
    "thm-3.9/general_convex": FALSE["thm-3.6/general_convex"],
    "thm-3.9/non_convex": FALSE["thm-3.7/non_convex"],
}
PROOF_USES = {
    "3.6": {
        "strongly_convex": ("lemma-D.1", "prop-3.5", "eq-67", "app-D.1/first-rate"),
        "general_convex": ("lemma-D.1",),
        "non_convex": ("eq-78", "lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.7": {
        "strongly_convex": ("lemma-E.1", "lemma-D.1", "prop-3.5", "app-E.1/first-rate"),
        "general_convex": ("lemma-E.1", "lemma-D.1"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.8": {
        "strongly_convex": ("lemma-D.1", "prop-3.5", "eq-127"),
        "general_convex": ("lemma-D.1", "eq-127"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4"),
    },
    "3.9": {
        "strongly_convex": ("lemma-E.1", "lemma-D.1", "prop-3.5"),
        "general_convex": ("lemma-E.1", "lemma-D.1"),
        "non_convex": ("lemma-C.6", "lemma-C.7", "prop-C.4", "step-3.9/non_convex"),
    },
}


def _id(name: str) -> str:
    return f"{PAPER}/{name}"


def _refuted(name: str, words: str) -> Refutation:
    first, *further = REFUTATIONS[_id(name)]
    # Instances on another reading of the algorithm (models aggregated as in (3)) are
    # tested, but do not speak of this claim.
    same = [run for run in further if _called(run) != "aggregation_of_models"]
    return Refutation(first, words, tuple(same))


def _called(instance: Callable[[], Any]) -> str:
    inner = instance.func if isinstance(instance, partial) else instance
    return str(getattr(inner, "__name__", ""))


def _proved(name: str, words: str, *builders: Callable[[str], Any]) -> Proof:
    return Proof(tuple(partial(build, _id(name)) for build in builders), words)


def _repair(number: str, case: str) -> Repair | None:
    """Return the repair of a theorem's case, where it is not proved as printed."""
    key = f"{_id(f'thm-{number}/{case}')}#repair"
    setting = next(s for s in SETTINGS if s.number == number)
    bound = theorem(number).case(case).repaired
    if case == "non_convex" and number in {"3.6", "3.8"}:
        return None
    if bound is None:
        return Repair(
            "server steps eta a_n/q_n instead of eta/q_n",
            Open(
                "The second moment of the update under participation, with local "
                "points that depend on who takes part, was not carried through; "
                "Theorem 3.7's repair is the case q = 1."
            ),
            "the server's step carries the weight a_n",
        )
    statement = f"{bound.metric.words} <= {bound.expr}"
    conditions = "; ".join(setting.conditions)
    if case == "strongly_convex":
        builders = list(repairs.strongly_convex(key, setting))
        words = (
            "One joint recursion for both blocks (the block-wise Lemmas D.1 and E.1 "
            "are false), an induction with its own step at t = 0, Prop. 3.5."
        )
        if number == "3.6":
            builders.append(partial(repairs.printed_follows, key))
            words += " With tau_server = tau the printed (11) itself holds: ours is "
            words += "at most that."
        return Repair(statement, Proof(tuple(builders), words), conditions)
    if case == "general_convex":
        words = "The joint recursion with mu = 0, summed over the rounds."
        return Repair(
            statement,
            Proof(repairs.general_convex(key), words),
            f"weighted mean of the gaps instead of the last iterate, the learning rate "
            f"kept in the bound; {conditions}",
        )
    words = "Descent lemma, drift and noise by the kernel's rules, summed over rounds."
    return Repair(
        statement, Proof(repairs.non_convex_v2_certificates(key), words), conditions
    )


def _theorem_case(number: str, case: str) -> Claim:
    """Return the entry of one case of Theorems 3.6-3.9.

    Raises:
        ValueError: if the bound has no step size.
    """
    item = theorem(number)
    bound = item.case(case).printed
    name = f"thm-{number}/{case}"
    evidence: Proof | Refutation
    reading = BALL if case == "strongly_convex" else ""
    if name in FALSE:
        evidence = _refuted(name, FALSE[name])
    else:
        partially = number == "3.8"
        evidence = Proof(
            repairs.non_convex_v1_certificates(_id(name), bound, partially),
            "A proof of its own (the paper's rests on the false Lemma C.7 and a false "
            "step in (78)): one round by the kernel's rules on four pieces of the "
            "parameter domain, then the sum over rounds.",
        )
        reading = f"{LIPSCHITZ}; {UPDATES}" if partially else LIPSCHITZ
    rule = bound.step_size
    if rule is None:
        raise ValueError(f"{bound.source} has no step size")
    step = f"eta^t {rule.relation} {rule.client}"
    if not rule.same:
        step += f" (client side), {rule.server} (server side)"
    return Claim(
        _id(name),
        f"{bound.source.statement}, {bound.source.equation}",
        "theorem",
        f"{item.title}; {'; '.join(bound.conditions)}; {step}: "
        f"{bound.metric.words} <= {bound.expr}",
        evidence,
        tuple(_id(used) for used in PROOF_USES[number][case]),
        reading,
        _repair(number, case),
    )


ASSUMPTIONS = (
    Claim(
        _id("assumption-3.3/strongly_convex"),
        "Sec. 3.1 and App. C.3",
        "assumption",
        "Where Assumption 3.3 and strong convexity (C.2, mu > 0) hold together, any "
        "two points are at most 2G/mu apart, so they cannot both hold on R^d.",
        _proved(
            "assumption-3.3/strongly_convex",
            "Both directions of strong convexity, the gradient bound at both points.",
            bounded_diameter,
        ),
        reading="the strongly convex theorems are vacuous on R^d; they are read on a "
        "set that contains every iterate",
    ),
    Claim(
        _id("app-C.3/smoothness"),
        "Sec. 3.1 (4), App. C.1 (24)-(25)",
        "assumption",
        "(4) for all x, y implies (24): gradients are S-Lipschitz.",
        _refuted(
            "app-C.3/smoothness",
            "(4) bounds curvature from above only; a concave function meets it with "
            "any S. The non-convex proofs use (24).",
        ),
    ),
)

LEMMAS = (
    Claim(
        _id("prop-3.5"),
        "Proposition 3.5, (9)",
        "proposition",
        "E f(x^T) - f* <= S/2 (E||x_s^T - x_s*||^2 + E||x_c^T - x_c*||^2)",
        _proved("prop-3.5", "Smoothness at the minimiser.", convex.decomposition),
    ),
    Claim(
        _id("lemma-C.3"),
        "Lemma C.3, (31)",
        "lemma",
        "<grad h(x), z-y> >= h(z) - h(y) + mu/4 ||y-z||^2 - S ||z-x||^2",
        _proved(
            "lemma-C.3",
            "Smoothness x to z, strong convexity x to y, Young.",
            convex.lemma_c3,
        ),
    ),
    Claim(
        _id("prop-C.4"),
        "Proposition C.4, (35)-(36)",
        "proposition",
        "E f(x^t+1) - f(x^t) splits into the two blocks' inner products and squares.",
        _proved("prop-C.4", "Smoothness by blocks.", appendix_c.proposition_c4),
    ),
    Claim(
        _id("lemma-C.5"),
        "Lemma C.5, (37)",
        "lemma",
        "eta <= 1/(sqrt(6) S tau) implies sum_i E||x_n^t,i - x^t||^2 <= "
        "12 tau^3 eta^2 (2 sigma_n^2 + G^2)",
        _proved(
            "lemma-C.5",
            "Bounded gradients bound the drift directly; no step-size condition.",
            appendix_c.lemma_c5,
        ),
    ),
    Claim(
        _id("lemma-C.6"),
        "Lemma C.6, (42)",
        "lemma",
        "eta <= 1/(sqrt(8) S tau) implies sum_i E||x_n^t,i - x^t||^2 <= "
        "16 tau^3 eta^2 (sigma_n^2 + eps^2 + ||grad f(x^t)||^2)",
        _proved(
            "lemma-C.6",
            "Drift, Young and heterogeneity for one client.",
            appendix_c.lemma_c6,
        ),
        reading="for the whole vector x_n and local steps on both blocks",
    ),
    Claim(
        _id("lemma-C.7"),
        "Lemma C.7, (46)",
        "lemma",
        "eta <= 1/(2 S tau) implies sum_i E||g_n^t,i - g_n^t||^2 <= "
        "8 tau^3 eta^2 S^2 (||grad F_n(x^t)||^2 + sigma_n^2)",
        _refuted(
            "lemma-C.7",
            "Stochastic gradients of different steps have different samples; "
            "smoothness of F_n does not make g_n Lipschitz.",
        ),
        repair=Repair(
            "E||g_n^i - g_n^0||^2 <= 2 S^2 E||x_n^i - x^t||^2 + 4 sigma_n^2",
            Proof(
                (partial(appendix_c.lemma_c7_repaired, f"{_id('lemma-C.7')}#repair"),),
                "Young, orthogonality of different samples, Lipschitz gradients.",
            ),
            "the variance enters without the factor eta^2",
        ),
    ),
    *(
        Claim(
            _id(name),
            where,
            "lemma",
            "The distance of the server block alone contracts and earns the gap: "
            f"E||x_s^t+1 - x_s*||^2 <= {first} - 2 eta {steps} E[f(x^t) - f*] + ...",
            _refuted(
                name,
                "A lemma for the whole vector applied to a block: where x_s = x_s* "
                "already, the right side is negative for small eta.",
            ),
            (_id("lemma-C.3"), _id("lemma-C.5")),
            repair=Repair(
                "Delta_t+1 <= (1 - eta tau mu/2) Delta_t - 2 eta tau (E f(x^t) - f*) + "
                "c_1 eta^2 tau^2 G^2 + 2 S c_d eta^3 tau^3 G^2 for the whole vector, "
                f"tau_server = tau; {constants}",
                Proof(
                    (partial(convex.one_round, f"{_id(name)}#repair"),),
                    "Square of the update, Lemma C.3 summed, second moment, drift.",
                ),
                "both blocks together, any learning rate",
            ),
        )
        for name, where, first, steps, constants in (
            (
                "lemma-D.1",
                "Lemma D.1, (53)",
                "(1 - eta tau_server mu/2) E||x_s^t - x_s*||^2",
                "tau_server",
                "c_1 = 1, c_d = 1/3",
            ),
            (
                "lemma-E.1",
                "Lemma E.1, (90)",
                "(1 - N eta tau mu/2) E||x_s^t - x_s*||^2",
                "tau",
                "server steps eta a_n g; c_1 = 1, c_d = 4/3",
            ),
        )
    ),
)

STEPS = (
    Claim(
        _id("thm-3.8/non_convex/eq-3"),
        "Theorem 3.8, (19), with Sec. 2.3 (3) and Algorithm 1",
        "theorem",
        "(19) for SFL-V1 whose servers aggregate models as in (3).",
        _refuted(
            "thm-3.8/non_convex/eq-3",
            "(3) multiplies the model by a random factor of mean square 1/q; without "
            "noise and heterogeneity it still diverges.",
        ),
        (_id("eq-3"),),
        reading="an empty round gives the empty sum 0; the nearest true statement is "
        "thm-3.8/non_convex, the aggregation of updates",
    ),
    Claim(
        _id("eq-67"),
        "App. D.1, (65)-(67)",
        "equation",
        "The induction step (65) <= (67) for every t >= 0.",
        _refuted(
            "eq-67",
            "At t = 0 it needs 8B_2/(mu^3 (gamma+1)) >= 8B_2/(mu^3 gamma). The "
            "conclusion survives by slack (see the repair).",
        ),
        repair=Repair(
            "Delta_0 <= v/gamma implies Delta_1 <= v/(gamma+1)",
            Proof(
                (partial(convex.induction, f"{_id('eq-67')}#repair", True),),
                "The step at t = 0 uses gamma >= 7.",
            ),
            "the step at t = 0 by itself",
        ),
    ),
    Claim(
        _id("app-D.1/first-rate"),
        "App. D.1.1, below (61)",
        "condition",
        "eta^t = 4/(mu tau_server (gamma+t)) <= 1/(2 S tau_server) for all t >= 0.",
        _refuted("app-D.1/first-rate", "False at t = 0: 4/(8S - mu) > 1/(2S)."),
    ),
    Claim(
        _id("app-E.1/first-rate"),
        "App. E.1.1, below (98)",
        "condition",
        "eta^t = 4/(N mu tau (gamma_s+t)) <= 1/(2 S tau), gamma_s = 8S/(N mu) - 1.",
        _refuted(
            "app-E.1/first-rate",
            "For large N gamma_s falls below 0; the rate explodes or is negative.",
        ),
    ),
    Claim(
        _id("eq-78"),
        "App. D.3.1, (78)",
        "equation",
        "E<grad_s f, x_s^t+1 - x_s^t> <= -eta tau_server/2 ||grad_s f||^2 + "
        "N eta S^2/2 sum_n a_n^2 sum_i E||x_s,n^t,i - x_s^t||^2",
        _refuted(
            "eq-78",
            "The server's gradient changes when the client block moves; smoothness "
            "bounds it by the move of the whole vector.",
        ),
    ),
    Claim(
        _id("eq-127"),
        "App. F.1.1, (127)",
        "equation",
        "SFL-V1: E||xbar_s - x_s||^2 <= N tau_server^2 eta^2 G^2 sum_n a_n^2/q_n",
        _proved(
            "eq-127",
            "Bias and variance over participation, Cauchy-Schwarz over clients.",
            convex.participation_distance,
        ),
    ),
    *(
        Claim(
            _id(f"step-{number}/{side}"),
            f"Theorem {number}, strongly convex",
            "condition",
            f"The printed {side} step size meets the condition of Lemma D.1.",
            _refuted(f"step-{number}/{side}", "tau and tau_server are swapped."),
        )
        for number in ("3.6", "3.8")
        for side in ("client", "server")
    ),
    Claim(
        _id("step-3.9/non_convex"),
        "Theorem 3.9, non-convex, and App. G.3 (183)",
        "condition",
        "The printed condition (sum_n a_n^2/q_n) implies the one that (183) uses "
        "(sum_n 1/q_n).",
        _refuted("step-3.9/non_convex", "It admits steps that are too large."),
    ),
    Claim(
        _id("eq-3"),
        "Sec. 2.3 (3), Algorithms 1 and 2, App. C.2",
        "algorithm",
        "Aggregating models (3) is the update analysed in App. C.2.",
        _refuted(
            "eq-3",
            "sum of a_n/q_n over the participants is not 1: (3) scales the model even "
            "where gradients vanish.",
        ),
    ),
    Claim(
        _id("app-C.2/client-sum"),
        "App. C.2 against Algorithms 1 and 2",
        "algorithm",
        "The client sums of App. C.2, i = 0..tau, are the algorithms' local steps.",
        _refuted("app-C.2/client-sum", "They have one gradient more."),
    ),
)

TABLES = tuple(
    Claim(
        key,
        "App. H, Table 1",
        "table",
        {
            "non_convex": "The row bounds the theorem's right side up to a constant.",
            "general_convex": "The row bounds the theorem's right side up to a "
            "constant.",
            "strongly_convex": "The row is the theorem's rate with a_n = 1/N.",
        }[key.split("/")[-1]]
        + f" (Theorem {key.split('/')[-2]}; up to a factor of 1000)",
        Refutation(
            instances[0],
            {
                "non_convex": "The row drops the learning rate: the theorem's second "
                "term does not fall with T.",
                "general_convex": "The row drops I_err from the roots.",
                "strongly_convex": "A factor N (or N^2) too many: N sum a_n^2 = 1.",
            }[key.split("/")[-1]],
        ),
    )
    for key, instances in REFUTATIONS.items()
    if "/table-1/" in key
)

THEOREMS = tuple(
    _theorem_case(number, case)
    for number in ("3.6", "3.7", "3.8", "3.9")
    for case in ("strongly_convex", "general_convex", "non_convex")
)

CLAIMS = (*THEOREMS, *ASSUMPTIONS, *LEMMAS, *STEPS, *TABLES)
