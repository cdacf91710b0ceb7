"""The entries of ``dachille2024``: its claims and what decides them.

Readings: S-smooth as "gradients S-Lipschitz" ((24) of ``han2024``); Assumption 1 as
"need not be convex"; one tau for all clients; independent mini-batches.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from sfl_theory.audits.dachille2024 import certificates, instances, sharper, tables
from sfl_theory.audits.han2024 import non_convex_v1
from sfl_theory.audits.han2024.algorithm_boxes import same_as_federated
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Open, Paper, Refutation
from sfl_theory.evidence.instance import Finding

READING = (
    "gradients S-Lipschitz; F_k need not be convex; one tau for all clients; "
    "independent mini-batches"
)
_B = "App. B"
_OWN = (
    "One round by a proof of its own (sum of stochastic gradients, drift, Young), "
    "which "
    "does not use Lemma 2"
)
_BLOCK = "The other block moves and changes this block's gradient"


_PAPER = Paper("dachille2024", READING)
_claim, _proof = _PAPER.claim, _PAPER.proof


def _block(
    key: str, statement: str, equation: str, depends_on: str, words: str = _BLOCK
) -> Claim:
    instance: Callable[[], Finding] = partial(instances.coupled_block, equation)
    return _claim(
        f"eq-{key}",
        f"{_B}, ({key})",
        "equation",
        statement,
        Refutation(instance, f"{words}."),
        depends_on,
    )


def _both_halves(claim: str) -> tuple[Callable[[], Certificate], ...]:
    """Return the equality of the local models and of their aggregates."""
    return tuple(lambda k=k: same_as_federated(claim)[k] for k in (0, 1))


_AVERAGE = (
    "1/T sum eta E||grad f||^2 <= 4/(T tau) (f(theta(0)) - f*) + 16KS tau/T sum "
    "alpha_k^2 "
    "(sigma_k^2 + eps^2) sum eta^2"
)
_DRIFT = (
    "sum_i E||theta^i - theta||^2 <= 16 tau^3 eta^2 (sigma^2 + eps^2 + ||grad f||^2)"
)
_ACCUMULATED = "sum_i E||g^i - g||^2 <= 8 tau^3 eta^2 S^2 (||grad F_k||^2 + sigma_k^2)"
_SAMPLES = (
    "g^{t,i} and g^t belong to different samples: their difference keeps the noise, "
    "however small eta is."
)
_ASSUMED = Open("An assumption: nothing to decide by itself.")

THEORY = (
    _claim(
        "assumption-1",
        "Assumption 1",
        "assumption",
        "every F_k is non-convex",
        Open("Used by no step of the proof; Proposition 1 holds for convex F_k too."),
    ),
    _claim("assumption-2", "(2)", "assumption", "every F_k is S-smooth", _ASSUMED),
    _claim(
        "assumption-3",
        "(3), (4)",
        "assumption",
        "unbiased, variance sigma_k^2",
        _ASSUMED,
    ),
    _claim(
        "assumption-4", "(5)", "assumption", "||grad F_k - grad f|| <= eps", _ASSUMED
    ),
    _claim(
        "prop-1",
        "(6)",
        "proposition",
        _AVERAGE,
        _proof(
            "prop-1",
            certificates.average,
            f"{_OWN}; then the sum over rounds, as printed.",
            sharper=certificates.average_sharper,
            scope="for one common tau, gradients read as S-Lipschitz",
        ),
        "eq-6",
    ),
    _claim(
        "eq-6",
        "(6)",
        "equation",
        _AVERAGE,
        _proof(
            "eq-6",
            certificates.average,
            f"{_OWN}; then the sum over rounds, as printed.",
        ),
        "eq-28 cond-eta",
    ),
    _claim(
        "cond-eta",
        "Prop. 1, Lemmas 1-2",
        "condition",
        "eta <= 1/(16 S tau) implies eta <= 1/(2 S tau) and eta <= 1/(sqrt(8) S tau)",
        _proof("cond-eta", certificates.conditions, "The second one squared."),
    ),
    _claim(
        "lemma-1",
        f"{_B}, (7)",
        "lemma",
        _DRIFT,
        _proof("lemma-1", certificates.drift, "Sum of the steps; no recursion needed."),
        "eq-10",
    ),
    _claim(
        "eq-8",
        f"{_B}, (8), (9)",
        "equation",
        "A_i <= (1 + 2/tau) A_{i-1} + 8 tau eta^2 (sigma^2 + eps^2 + ||grad f||^2)",
        _proof(
            "eq-8",
            certificates.drift_step,
            "Young with 1/tau and four squares.",
            sharper=sharper.local_steps,
        ),
        "assumption-2 assumption-3 assumption-4",
    ),
    _claim(
        "eq-10",
        f"{_B}, (10)",
        "equation",
        _DRIFT,
        _proof(
            "eq-10",
            certificates.drift,
            "Its last line; the first '=' should be '<='. Its route, sum_i sum_{j<i} "
            "(1 + 2/tau)^j <= 2 tau^2 by (1 + 2/tau)^tau <= e^2, is not replayed.",
        ),
        "eq-8",
    ),
    _claim(
        "lemma-2",
        f"{_B}, (11)",
        "lemma",
        _ACCUMULATED,
        Refutation(partial(instances.fresh_samples, False), _SAMPLES),
        "eq-17",
    ),
    _claim(
        "eq-12",
        f"{_B}, (12) 3rd inequality",
        "equation",
        "E||g^i - g^{i-1}||^2 <= S^2 E||theta^i - theta^{i-1}||^2",
        Refutation(partial(instances.fresh_samples, True), _SAMPLES),
    ),
    _claim(
        "eq-17",
        f"{_B}, (17)",
        "equation",
        _ACCUMULATED,
        Refutation(partial(instances.fresh_samples, False), _SAMPLES),
        "eq-12",
    ),
    _block(
        "18",
        "<grad_s f, theta_s' - theta_s> <= -eta tau/2 ||grad_s f||^2 + K eta S^2/2 "
        "sum alpha^2 sum_i E||theta_s^i - theta_s||^2 (in expectation)",
        "18",
        "",
        f"{_BLOCK}: grad_s F_k differs by S||theta^i - theta||, not by S times the "
        f"server "
        "block alone; 'f' for 'grad f' in an earlier line is a misprint",
    ),
    _block(
        "19",
        "sum_i E||theta_s^i - theta_s||^2 <= 16 tau^3 eta^2 (sigma^2 + eps^2 + "
        "||grad_s f||^2)",
        "19",
        "lemma-1",
        "Lemma 1 for the whole vector is applied to a block: the server block moves "
        "even "
        "if grad_s f = 0 at first",
    ),
    _block(
        "20",
        "<grad_s f, theta_s' - theta_s> <= (-eta tau/2 + 8K eta^3 tau^3 S^2 sum "
        "alpha^2)"
        "||grad_s f||^2 + 8K eta^3 S^2 tau^3 sum alpha^2 (sigma^2 + eps^2)",
        "20",
        "eq-18 eq-19",
    ),
    _block(
        "21",
        "S/2 E||theta_s' - theta_s||^2 <= SK eta^2 tau/2 sum alpha^2 sum_i (E||g^i - "
        "g||^2"
        " + ||grad_s F_k||^2 + sigma^2)",
        "21",
        "",
        "||a + b||^2 <= ||a||^2 + ||b||^2 without the factor 2; its first '=' should "
        "be "
        "'<=' as well",
    ),
    _claim(
        "eq-22",
        f"{_B}, (22)",
        "equation",
        "Lemma 2 for the server block",
        Refutation(partial(instances.fresh_samples, False), _SAMPLES),
        "lemma-2",
    ),
    _block(
        "23",
        "S/2 E||theta_s' - theta_s||^2 <= SK eta^2 tau/2 sum alpha^2 (tau + 8 tau^3 "
        "eta^2 "
        "S^2)(2||grad_s f||^2 + 2 eps^2 + sigma^2)",
        "23",
        "eq-21 eq-22",
    ),
    _block(
        "24",
        "(20) for the client block",
        "20",
        "eq-18 eq-19",
        f"{_BLOCK}; the instance is symmetric in c and s, read it with the names "
        f"exchanged",
    ),
    _block(
        "25",
        "(23) for the client block",
        "23",
        "eq-21 eq-22",
        f"{_BLOCK}; the instance is symmetric in c and s, read it with the names "
        f"exchanged",
    ),
    _claim(
        "eq-26",
        f"{_B}, (26) last line",
        "equation",
        "E f(theta') - f(theta) <= -eta tau/4 ||grad f||^2 + 2KS eta^2 tau^2 sum "
        "alpha^2 "
        "(sigma^2 + eps^2)",
        _proof(
            "eq-26", certificates.one_round, f"{_OWN}; true although (20)-(25) are not."
        ),
        "eq-20 eq-23 eq-24 eq-25 cond-eta",
    ),
    _claim(
        "eq-27",
        f"{_B}, (27)",
        "equation",
        "eta ||grad f||^2 <= 4/tau (f - E f') + 16KS eta^2 tau sum alpha^2 (sigma^2 + "
        "eps^2)"
        " (theta_s there means theta)",
        _proof(
            "eq-27",
            lambda claim: non_convex_v1.certificates(claim, False),
            f"{_OWN}, times 4/tau. The paper doubles the last term of (26) here.",
        ),
        "eq-26",
    ),
    _claim(
        "eq-28",
        f"{_B}, (28)",
        "equation",
        _AVERAGE,
        _proof(
            "eq-28",
            certificates.average,
            f"{_OWN}; then the sum over rounds, as printed.",
        ),
        "eq-27",
    ),
    _claim(
        "alg-1",
        "Algorithm 1",
        "algorithm",
        "a round of the box is tau steps of both halves, as analysed",
        Refutation(
            instances.box_steps,
            "The box draws one mini-batch and makes one server step per round; only "
            "the "
            "client's update stands in the loop over epochs, with a gradient that is "
            "never "
            "recomputed.",
        ),
    ),
    _claim(
        "alg-2",
        "Algorithm 2",
        "algorithm",
        "SFL-V2 as described in Sec. 3",
        Open(
            "'This process repeats for E local epochs' in Sec. 3 can mean the client's "
            "update alone: then the box, whose loop over epochs stands around that "
            "update only, agrees by reading. It can mean the whole exchange with the "
            "server: then the box makes one server step where Sec. 3 makes several, as "
            "in alg-1. The paper analyses no SFL-V2, so nothing else tells which."
        ),
    ),
    _claim(
        "text/fedavg",
        "Sec. 4",
        "text",
        "SFL-V1 with any cut layer makes the updates of FedAvg (as analysed in App. B: "
        "tau steps of both halves; the box does something else, see alg-1)",
        _proof(
            "text/fedavg",
            _both_halves,
            "Split back-propagation computes the blocks of the same gradient; "
            "induction over local steps, then aggregation with the same weights. "
            "(Table 2 trains SFL-V1 with Adam and FedAvg with SGD, so the tables do "
            "not test it.)",
        ),
    ),
)

CLAIMS: tuple[Claim, ...] = (*THEORY, *tables.CLAIMS)
