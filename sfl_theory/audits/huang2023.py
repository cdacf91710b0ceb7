r"""``huang2023``: its claims and what decides them.

Readings, the same everywhere: Assumption 4 (and 5) "for all w" on a convex set that
contains every iterate, their means and $w^*$, for with Assumption 2 it cannot hold on
$\mathbb R^d$; mini-batches independent between clients and steps, as (12) and Lemma 3
use; $\Gamma=F(w^*)-\sum_np_n\min f_n\ge0$; $v_{c,n}^i$ in gradients as $w_{c,n}^i$,
where the algorithm takes them.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from sfl_theory.audits import huang2023_certificates as shown
from sfl_theory.audits import huang2023_instances as found
from sfl_theory.audits import huang2023_joint as joint
from sfl_theory.evidence.claim import (
    Claim,
    Open,
    Paper,
    Proof,
    Refutation,
    Repair,
)
from sfl_theory.evidence.instance import Finding

Evidence = Proof | Refutation | Open
READING = (
    "Assumptions 4 and 5 on a convex set with all iterates, their means and w*; "
    "independent mini-batches; Gamma = F* - sum p_n min f_n; gradients at w_{c,n}"
)
JOINT = (
    "E||w^TEM - w*||^2 <= [4V/(3 mu^2) + gamma ||w^0 - w*||^2]/(gamma + TEM) with "
    "V = R^2 + (16/7)(EM - 1)(R^2 + 2 EM delta^2), for both blocks together"
)
JOINT_WORDS = (
    "Drift within a round, one joint step of the mean model (smoothness from w_n to "
    "the "
    "mean, strong convexity from w_n to w*), induction over i."
)


_PAPER = Paper("huang2023", READING)
_claim, _proof = _PAPER.claim, _PAPER.proof


def _broken(instance: Callable[[], Finding], words: str) -> Refutation:
    return Refutation(instance, words)


def _joint_repair(key: str, change: str) -> Repair:
    return Repair(
        JOINT, _proof(key, joint.distance, JOINT_WORDS, suffix="#repair"), change
    )


_QUARTER = Fraction(1, 4)
_A = "Sec. Convergence analysis"
_P1 = "Proof of Proposition 1"
_P2 = "Proof of Proposition 2"
_L2 = "Deferred proof of Lemma 2"
_ASSUMED = Open(
    "An assumption: nothing to decide by itself. Which claims use it is in depends_on."
)

ASSUMPTIONS = (
    _claim("assumption-1", _A, "assumption", "every f_n is S-smooth", _ASSUMED),
    _claim(
        "assumption-2", _A, "assumption", "every f_n is mu-strongly convex", _ASSUMED
    ),
    _claim("assumption-3", _A, "assumption", "variance at most sigma_n^2", _ASSUMED),
    _claim("assumption-4", _A, "assumption", "E||grad f_n(w; z)||^2 <= R^2", _ASSUMED),
    _claim(
        "assumption-5", _A, "assumption", "||grad f_n - grad F||^2 <= delta^2", _ASSUMED
    ),
    _claim(
        "assumptions-2-4",
        f"{_A}, Assumptions 2 and 4",
        "assumption",
        "(entry of the audit) Assumptions 2 and 4 hold together only where "
        "||w - w_n*||^2 <= R^2/mu^2, so never on all of R^d",
        _proof(
            "assumptions-2-4",
            shown.exclusion,
            "Strong convexity makes gradients grow; the assumptions exclude each other "
            "on R^d and are read on a set that contains what is visited.",
        ),
        "assumption-2 assumption-4",
    ),
)

STATEMENTS = (
    _claim(
        "lemma-1",
        "(6)",
        "lemma",
        "E F(w^TEM) - F* <= S/2 (E||w_s - w_s*||^2 + E||w_c - w_c*||^2)",
        _proof("lemma-1", shown.decomposition, "Smoothness of F at w*."),
        "eq-7 eq-8",
    ),
    _claim(
        "eq-7",
        "(7)",
        "equation",
        "E F(w^TEM) - F* <= S/2 E||w^TEM - w*||^2",
        _proof("eq-7", shown.decomposition, "Smoothness of F at w*, gradient 0 there."),
        "assumption-1",
    ),
    _claim(
        "eq-8",
        "(8)",
        "equation",
        "||w - w*||^2 = ||w_c - w_c*||^2 + ||w_s - w_s*||^2",
        _proof("eq-8", shown.pythagoras, "Blocks are orthogonal; both directions."),
    ),
    _claim(
        "cond-eta",
        "Props. 1-2, proofs",
        "condition",
        "2/(mu (gamma + i)) <= 1/(4S) for all i >= 0, gamma = max(8S/mu - 1, EM)",
        _broken(
            found.largest_rate,
            "At i = 0 and gamma = 8S/mu - 1 the rate is 2/(8S - mu) > 1/(4S).",
        ),
        repair=Repair(
            "holds for i >= 1, or for all i with gamma = max(8S/mu, EM)",
            _proof("cond-eta", shown.later_rates, "gamma + i >= 8S/mu.", "#repair"),
            "gamma = max(8S/mu, EM) for max(8S/mu - 1, EM)",
        ),
    ),
    _claim(
        "prop-1",
        "(9)",
        "proposition",
        "E||w_s^TEM - w_s*||^2 <= [8R^2 + mu^2 N^2 (gamma+1)||w_s^0 - w_s*||^2]/"
        "[mu^2 N^2 (gamma + TEM)]",
        _broken(
            found.server_noise,
            "The bound is of order 1/N^2, the variance of the mean of N independent "
            "gradients of order 1/N. (It also fails without noise for N = 1: "
            "prop-1/coupling.)",
        ),
        "eq-18 cond-eta",
        _joint_repair("prop-1", "joint distance of both blocks, R^2 without 1/N^2"),
    ),
    _claim(
        "prop-1/coupling",
        "(9)",
        "proposition",
        "Proposition 1 for one client without noise",
        _broken(
            partial(found.coupling, True),
            "The server block starts at its optimum and is pulled away by the client "
            "block, whose initial distance the bound does not contain.",
        ),
        "eq-18 cond-eta",
        _joint_repair("prop-1/coupling", "initial distance of both blocks"),
    ),
    _claim(
        "prop-2",
        "(10)",
        "proposition",
        "E||w_c^TEM - w_c*||^2 <= [4H + mu^2 (gamma+1) E||w_c^0 - w_c*||^2]/"
        "[mu^2 (gamma + TEM)], H = 6EMR^2 + 12E^2M^2 delta^2 + 6S Gamma + "
        "sum p_n^2 sigma_n^2",
        _broken(
            partial(found.coupling, False),
            "The client block starts at its optimum and is pulled away by the server "
            "block; with S/mu = 500 the bound falls before the blocks come back.",
        ),
        "eq-25 cond-eta",
        _joint_repair("prop-2", "initial distance of both blocks"),
    ),
    _claim(
        "thm-1",
        "(11)",
        "theorem",
        "E F(w^TEM) - F* <= S (L_s + L_c)/2, the right sides of (9) and (10)",
        _proof(
            "thm-1",
            joint.theorem_1,
            "The printed bound holds although Propositions 1 and 2, from which the "
            "paper "
            f"derives it, are false. {JOINT_WORDS} The sum L_s + L_c contains both "
            "initial distances and 24 EM R^2 + 48 E^2M^2 delta^2, more than 4V/3. "
            "Needs "
            "Gamma >= 0 and gamma >= EM; Assumption 3 is not used.",
        ),
        "lemma-1 prop-1 prop-2",
        Repair(
            f"E F(w^TEM) - F* <= S/2 times: {JOINT}",
            _proof(
                "thm-1",
                lambda claim: (*joint.distance(claim), *shown.decomposition(claim)),
                JOINT_WORDS,
                "#repair",
            ),
            "sharper: no Gamma, no sigma_n, smaller constants",
        ),
    ),
)

SERVER = (
    _claim(
        "eq-12/weights",
        f"{_P1}, (12) line 1",
        "equation",
        "the update (3) is w_s - eta (1/N) sum_n grad f_n",
        _broken(found.weights, "(3) has p_n; equal only for p_n = 1/N."),
    ),
    _claim(
        "eq-12/local",
        f"{_P1}, (12) line 2",
        "equation",
        "the mean server gradient is grad_s F(w_c, w_s) in expectation",
        _broken(
            found.local_models,
            "Client n's gradient is taken at w_{c,n}; between synchronisations these "
            "differ from w_c.",
        ),
    ),
    _claim(
        "eq-12",
        f"{_P1}, (12) inequality",
        "equation",
        "-2 eta <grad_s F(w), w_s - w_s*> <= -mu eta ||w_s - w_s*||^2 - "
        "2 eta [F(w) - F(w_c, w_s*)]",
        _proof(
            "eq-12", shown.block_convexity, "Strong convexity from w to (w_c, w_s*)."
        ),
        "assumption-2 eq-12/weights eq-12/local",
    ),
    _claim(
        "eq-13/1",
        f"{_P1}, (13) 1st inequality",
        "equation",
        "||a + b||^2 <= 2||a||^2 + 2||b||^2",
        _proof("eq-13/1", shown.young_two, "Young."),
    ),
    _claim(
        "eq-13/2",
        f"{_P1}, (13) 2nd inequality",
        "equation",
        "||1/N sum a_n||^2 <= 1/N sum ||a_n||^2",
        _proof("eq-13/2", shown.jensen_mean, "Spread about the mean."),
    ),
    _claim(
        "eq-13/3",
        f"{_P1}, (13) 3rd inequality",
        "equation",
        "E||1/N sum_n grad_s f_n(w*; z_n)||^2 <= R^2/N^2",
        _broken(
            partial(found.mean_gradient, False),
            "Assumption 4 bounds every term by R^2, so the mean by R^2; independent "
            "terms of mean 0 by R^2/N; never by R^2/N^2.",
        ),
        "assumption-4",
        Repair(
            "E||1/N sum_n grad_s f_n(w*; z_n)||^2 <= 1/N sum_n E||grad f_n||^2 (<= "
            "R^2)",
            _proof("eq-13/3", shown.jensen_mean, "Jensen.", "#repair"),
            "R^2 for R^2/N^2",
        ),
    ),
    _claim(
        "eq-13/4",
        f"{_P1}, (13) 4th inequality",
        "equation",
        "E||grad_s f_n(w;z) - grad_s f_n(w*;z)||^2 <= 2S E[f_n(w;z) - f_n(w*;z) - "
        "<grad f_n(w*;z), w - w*>]",
        _broken(
            found.sample_cocoercivity,
            "Co-coercivity of f_n(.; z) needs each sample's loss convex and S-smooth; "
            "Assumptions 1-2 speak of the mean.",
        ),
        "assumption-1 assumption-2",
    ),
    _claim(
        "eq-13/5",
        f"{_P1}, (13) last equality",
        "equation",
        "the mean of f_n(w) - f_n(w*) - <...> is F(w_c, w_s) - F(w_c, w_s*)",
        _broken(found.other_gap, "It is F(w) - F(w*): w_c* is replaced by w_c."),
    ),
    _claim(
        "eq-13",
        f"{_P1}, (13)",
        "equation",
        "E||1/N sum grad_s f_n||^2 <= 4S E[F(w_c, w_s) - F(w_c, w_s*)] + 2R^2/N^2",
        _broken(partial(found.mean_gradient, True), "At w*: 1/N against 2R^2/N^2."),
        "eq-13/1 eq-13/2 eq-13/3 eq-13/4 eq-13/5",
    ),
    _claim(
        "eq-14",
        f"{_P1}, (14)",
        "equation",
        "E||w_s^i - w_s*||^2 <= (1 - mu eta) E||w_s^{i-1} - w_s*||^2 - eta E[F(w) - "
        "F(w_c, w_s*)] + 2 eta^2 R^2/N^2 (L read as S)",
        _broken(partial(found.one_step_noise, _QUARTER), "One step from w*."),
        "eq-12 eq-13",
    ),
    _claim(
        "eq-15/sign",
        f"{_P1}, (15) 2nd inequality",
        "equation",
        "-eta [F(w_c, w_s) - F(w_c, w_s*)] <= 0",
        _broken(found.block_gap, "w_s* minimises F(w_c*, .), not F(w_c, .)."),
    ),
    _claim(
        "eq-15",
        f"{_P1}, (15); '(26)' there means (14)",
        "equation",
        "Delta^{i+1} <= (1 - mu eta) Delta^i + 2 eta^2 R^2/N^2",
        _broken(partial(found.one_step_noise, _QUARTER), "One step from w*."),
        "eq-14 eq-15/sign",
    ),
    _claim(
        "eq-16",
        f"{_P1}, (16)",
        "equation",
        "if (15) holds for all i, then Delta^{i+1} <= v/(gamma + i + 1)",
        _proof(
            "eq-16",
            partial(shown.induction, noise="B"),
            "The induction itself is right; its hypothesis (15) is not. The base case "
            "(i = -1, Delta^0 <= v/gamma) holds.",
        ),
    ),
    _claim(
        "eq-17",
        f"{_P1}, (17)",
        "equation",
        "Delta^i <= max{8R^2/(mu^2 N^2), (gamma+1) Delta^0}/(gamma + i)",
        _broken(found.server_noise, "At most (9), which fails."),
        "eq-15 eq-16",
    ),
    _claim(
        "eq-18",
        f"{_P1}, (18)",
        "equation",
        "(17) at i = TEM",
        _broken(found.server_noise, "The same right side as (9)."),
        "eq-17",
    ),
    _claim(
        "text/server-non-iid",
        "Introduction, Sec. Convergence analysis",
        "text",
        "server-side updates do not depend on the non-IID degree of the clients' data",
        _broken(
            found.heterogeneous_server,
            "Server gradients are taken at local client models, which drift apart: the "
            "same F spread differently over clients moves the server elsewhere.",
        ),
        "eq-12/local",
    ),
)

CLIENT = (
    _claim(
        "gradient-point",
        f"{_P2}, preliminaries",
        "equation",
        "the algorithm's mean gradient is sum p_n grad f_n(v_{c,n}^i, w_s^i)",
        _broken(
            found.gradient_point,
            "After a synchronisation the algorithm takes it at w_{c,n}^i; elsewhere v "
            "= "
            "w. Read as w below.",
        ),
    ),
    _claim(
        "lemma-2",
        "(19)",
        "lemma",
        "E||v_c^{i+1} - w_c*||^2 <= (1 - mu eta) E||w_c^i - w_c*||^2 + 2 sum p_n "
        "E||w_c^i - w_{c,n}^i||^2 + 6S eta^2 Gamma + eta^2 E||noise||^2",
        _broken(
            partial(found.block_step, "step"),
            "A step of the client block is not zero at w_c = w_c* when w_s != w_s*: "
            "the "
            "lemma of Li et al. for the whole vector is applied to a block.",
        ),
        "eq-26 eq-34",
    ),
    _claim(
        "lemma-3",
        "(20)",
        "lemma",
        "E||mean gradient - mean stochastic gradient||^2 <= sum p_n^2 sigma_n^2",
        _proof("lemma-3", shown.independent_noise, "Independent clients."),
        "assumption-3",
    ),
    _claim(
        "lemma-4",
        "(21)",
        "lemma",
        "sum p_n E||w_{c,n} - mean||^2 <= 3EM R^2 eta^2 + 6E^2M^2 eta^2 delta^2 for "
        "eta = 2/(mu (gamma + i)) and any gamma > 0",
        Open(
            "The lemma it cites (Woodworth et al.) has a constant or slowly decreasing "
            "step; for 'any gamma > 0' the rates of one round differ without limit and "
            "no step of that proof carries over. Tried: slow contraction, opposite "
            "linear terms and noise with small gamma; R^2 grows with the drift each "
            "time and no violation came out. For gamma >= EM a calculation by hand "
            "with "
            "sums over the rates gives 2 EM eta^2 R^2 (1 + 1/2) + 1.93 (1 + 2) "
            "E^2M^2 eta^2 delta^2, below the printed one, but it needs a logarithm and "
            "is no certificate yet."
        ),
        "assumption-2 assumption-4 assumption-5",
        Repair(
            "for gamma >= EM: sum p_n E||w_{c,n} - mean||^2 <= 8 (EM - 1) eta^2 "
            "(R^2 + 2 EM delta^2)",
            _proof(
                "lemma-4",
                joint.drift,
                "Strong monotonicity along local models, Young with 1/(2 EM), "
                "induction over the steps of a round.",
                "#repair",
            ),
            "gamma >= EM, constants 8 and 16 for 3 and 6",
        ),
    ),
    _claim(
        "eq-22",
        f"{_P2}, (22); 'Lemmas 1-3' there means 2-4",
        "equation",
        "Delta_c^{i+1} <= (1 - mu eta) Delta_c^i + eta^2 H",
        _broken(
            found.client_recursion,
            "With w_s off its optimum the client gradient can lead away from w_c*, to "
            "first order in eta.",
        ),
        "lemma-2 lemma-3 lemma-4",
    ),
    _claim(
        "eq-23",
        f"{_P2}, (23)",
        "equation",
        "if (22) holds for all i, then Delta^{i+1} <= v/(gamma + i + 1)",
        _proof(
            "eq-23",
            partial(shown.induction, noise="H"),
            "The induction is right (eta_s there means eta_c); its hypothesis is not.",
        ),
    ),
    _claim(
        "eq-24",
        f"{_P2}, (24)",
        "equation",
        "Delta_c^i <= max{4H/mu^2, (gamma+1) Delta_c^0}/(gamma + i)",
        _broken(partial(found.coupling, False), "At most (10), which fails."),
        "eq-22 eq-23",
    ),
    _claim(
        "eq-25",
        f"{_P2}, (25)",
        "equation",
        "(24) at i = TEM",
        _broken(partial(found.coupling, False), "The same right side as (10)."),
        "eq-24",
    ),
    _claim(
        "eq-26",
        f"{_L2}, (26)",
        "equation",
        "||v_c^{i+1} - w_c*||^2 = A_1 + A_2 + eta^2 ||noise||^2",
        _proof("eq-26", shown.step_identities, "Expansion, both directions."),
    ),
    _claim(
        "eq-27",
        f"{_L2}, (27)",
        "equation",
        "A_1 = ||w_c - w_c*||^2 + B_1 + B_2",
        _proof("eq-27", shown.gradient_identity, "Expansion, both directions."),
    ),
    _claim(
        "eq-28",
        f"{_L2}, (28)",
        "equation",
        "||sum p_n grad f_n||^2 <= sum p_n ||grad f_n||^2 <= 2S sum p_n (f_n - f_n*)",
        _proof(
            "eq-28",
            shown.self_bounding,
            "Jensen (weights read as a probability), then a step of 1/S. f_n* is the "
            "minimum of f_n over both blocks.",
        ),
        "assumption-1",
    ),
    _claim(
        "eq-29",
        f"{_L2}, (29)",
        "equation",
        "B_1 split at w_{c,n}",
        _proof("eq-29", shown.split_identity, "Bilinear, both directions."),
    ),
    _claim(
        "eq-30",
        f"{_L2}, (30)",
        "equation",
        "-2<wbar - w_n, grad f_n> <= ||wbar - w_n||^2/eta + eta ||grad f_n||^2",
        _proof("eq-30", shown.young_rate, "One square."),
    ),
    _claim(
        "eq-31",
        f"{_L2}, (31)",
        "equation",
        "-<w_{c,n} - w_c*, grad f_n> <= -(f_n - f_n(w_c*, w_s)) - mu/2 ||w_{c,n} - "
        "w_c*||^2",
        _proof("eq-31", shown.block_convexity, "Strong convexity, times 2 eta."),
        "assumption-2 gradient-point",
    ),
    _claim(
        "eq-32",
        f"{_L2}, (32)",
        "equation",
        "A_1 <= (1 - mu eta)||wbar_c - w_c*||^2 + sum p_n ||wbar_c - w_{c,n}||^2 + C",
        _proof(
            "eq-32", shown.sum_of_steps, "(28)-(31), Jensen in the right direction."
        ),
        "eq-27 eq-28 eq-29 eq-30 eq-31",
    ),
    _claim(
        "eq-33/1",
        f"{_L2}, (33) 1st inequality",
        "equation",
        "C <= -gamma_c sum p_n (f_n - F*) + (2 eta - gamma_c) Gamma",
        _broken(found.first_bound_of_C, "Uses F(w_c*, w_s) <= F*."),
    ),
    _claim(
        "eq-33",
        f"{_L2}, (33)",
        "equation",
        "C <= 6S eta^2 Gamma + sum p_n ||w_{c,n} - w_c*||^2",
        _broken(
            partial(found.block_step, "C"),
            "At w_c = w_c*, Gamma = 0 the right side is 0, C is not. ((34) has "
            "||wbar_c - w_{c,n}||^2 in its place: a misprint in one of them.)",
        ),
        "eq-33/1 cond-eta",
    ),
    _claim(
        "eq-34",
        f"{_L2}, (34)",
        "equation",
        "A_1 <= (1 - mu eta)||wbar_c - w_c*||^2 + 2 sum p_n ||wbar_c - w_{c,n}||^2 + "
        "6S eta^2 Gamma",
        _broken(partial(found.block_step, "step"), "At w_c = w_c*, w_s != w_s*."),
        "eq-32 eq-33",
    ),
)

OTHERS = (
    _claim(
        "alg-1",
        "Algorithm 1",
        "algorithm",
        "the box is (3)-(5) with mini-batches of a random partition",
        Open(
            "The box samples a mini-batch per step, the text deals out each epoch; the "
            "analysis needs independent ones. Box and (3)-(5) agree otherwise by "
            "reading; no certificate is defined for that."
        ),
    ),
    *(
        _claim(
            f"observation-{k}",
            f"Observation {k}",
            "text",
            statement,
            Open("Rests on figures without printed numbers; nothing to compute."),
        )
        for k, statement in enumerate(
            (
                "accuracy generally increases in L_c",
                "gradient variances generally decrease in L_c",
                "accuracies decrease in the non-IID ratio",
                "accuracies decrease in the number of clients",
                "MiniBatch-SFL outperforms FL and SFL-V2, by up to 17.1 % and 24.1 % "
                "(Sec. 4.3 of the supplement reports FL ahead on FMNIST with N = 10)",
            ),
            1,
        )
    ),
)

CLAIMS: tuple[Claim, ...] = (*ASSUMPTIONS, *STATEMENTS, *SERVER, *CLIENT, *OTHERS)
