r"""Section 4 and what Algorithm 1 leaves open: entries of the audit.

What the observations are said to show, as far as arithmetic decides it.
"""

from __future__ import annotations

from functools import partial

from sfl_theory.evidence import Kind, Severity, broken, equal, proved, repaired, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import bare, federation, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Run
from sfl_theory.papers.huang2023 import setting as s
from sfl_theory.papers.huang2023.setting import F, S, eta, f, mean, mixed, n, p, run, t
from sfl_theory.proofs.notation import combine, equal_paces, sum_over

RESULTS = "Sec. Performance evaluation"

# Observation 1: the cut -------------------------------------------------------------

here = w.point("w")
APART = f().gradient(here) - F.gradient(here)


def of_blocks() -> rules.Theorem:
    """Return that the divergence is the sum of those of the blocks."""
    one = combine((rules.blocks(APART.value, APART.value), -1))
    return sum_over(one, k.CLIENTS, n, p().value)


def of_client() -> rules.Theorem:
    """Return that the client's divergence is at most that of the whole."""
    one = combine(rules.blocks(APART.value, APART.value), (w.server(APART).value, 1))
    return sum_over(one, k.CLIENTS, n, p().value)


BOTH = mean(w.norm2(w.client(APART)) + w.norm2(w.server(APART)))
NO_CUT = Kind.TEXT(
    "huang2023/observation-1/no-cut",
    f"{RESULTS}, Observation 1, against (9)-(11)",
    "(entry of the audit) Observation 1 has no counterpart in Theorem 1: (9)-(11) "
    "contain L_c through no constant, and what drifts, the client's block, only grows "
    "with it.",
    proved(
        equal(mean(w.norm2(APART)), BOTH),
        of_blocks,
        "A vector is the sum of its two orthogonal blocks.",
        "for every cut: what delta^2 bounds does not know it; S, mu, R, sigma_n "
        "belong to whole gradients as well",
    ),
    proved(
        says(mean(w.norm2(w.client(APART))), mean(w.norm2(APART))),
        of_client,
        "The other block's square is left out.",
        "the right side is the client's block at L_c = L, the left side that at "
        "any other cut; a larger L_c lets it grow",
    ),
    words="The accuracies rest on figures. Whatever makes them grow with L_c is not in "
    "the analysis, which is worse, not better, where more of the model drifts.",
    uses="thm-1 assumption-5",
)

# Observation 2: variances divided by L_c --------------------------------------------

layers = w.count("layers", "L_c")
total = w.nonnegative("total", "v")
next_layer = w.nonnegative("next", "v'")
AVERAGE, AFTER = total / layers, (total + next_layer) / (layers + 1)


def averages() -> rules.Theorem:
    """Return that the average falls where the next layer is below it."""
    known = rules.assume((w.form(total - layers * next_layer)).value)
    factor = 1 / (layers * (layers + 1)).value
    target = w.as_form(AVERAGE - AFTER).value
    return combine((known, factor), target=target)


DIVIDED = Kind.TEXT(
    "huang2023/observation-2/implies",
    f"{RESULTS}, Observation 2 and after it, Fig. 3",
    "That the gradient variance divided by L_c falls implies that the model of each "
    "client varies less when L_c is larger.",
    broken(
        says(total + next_layer, total, w.at_most(AFTER, AVERAGE)),
        lambda: bare(1, {layers: 1, total: 2, next_layer: 1}),
        "Variances 2 and 1 of two layers: the average falls from 2 to 3/2, the "
        "variance grows from 2 to 3.",
        "v is the gradient variance of L_c layers, v' that of the next one",
    ),
    severity=Severity.PROOF,
    scope="where how a model varies is the variance of all of it, whenever the next "
    "layer has a positive variance below the average so far; at one model the variance "
    "itself never falls with L_c",
    cause="The metric is divided by L_c, so it falls for every profile whose next "
    "layer lies below the average, the variance growing all the same.",
    uses="observation-2",
    repair=repaired(
        "it says only that later layers vary less than the average of those before",
        proved(
            says(AFTER, AVERAGE, w.at_most(layers * next_layer, total)),
            averages,
            r"$L_cv'\le v$.",
            "what the figure shows: the next layer is below the average",
            model=lambda: bare(1, {layers: 1, total: 2, next_layer: 1}),
        ),
    ),
)

# Observation 5: the baselines -------------------------------------------------------

V2 = Run(equal_paces(k.Kind.V2, w.number(1).value, w.rate(eta)), "SFL-V2", "w")


def moved(of: Run) -> Form:
    """Return how far a round is from one step along the mean gradient."""
    step = of.x(t + 1) - of.x(t) + eta(t) * F.gradient(of.x(t))
    return w.norm2(w.server(step))


def quiet(of: Run) -> tuple[w.Assumed, ...]:
    """Return smoothness, and no noise."""
    silent = w.every_client(n, w.variance(of, n, w.number(0))).called("no noise")
    return s.assumption_1(), silent


STEPS = Kind.TEXT(
    "huang2023/text/baseline-steps",
    f"{RESULTS}, and the supplement's hyper-parameters",
    "(entry of the audit) At the same learning rate, as all benchmarks have, SFL-V2's "
    "server moves in a local step as that of MiniBatch-SFL does.",
    broken(
        says(moved(V2), 0, *quiet(V2)),
        lambda: federation(
            [parabola(1, (0, 0))] * 2,
            (0, 1),
            order=((0, 0), (1, 0)),
            numbers={S: 1, t: 0},
            rates={"eta": "1/4"},
        ),
        r"Two equal clients, $\eta=\frac14$: SFL-V2's server goes from 1 to "
        r"$\frac9{16}$, that of MiniBatch-SFL to $\frac34$.",
        "a round of one local step without noise, against w - eta grad F(w), which "
        "MiniBatch-SFL makes",
    ),
    severity=Severity.PROOF,
    scope="for N >= 2; SFL-V2's server makes N steps where MiniBatch-SFL's makes one",
    cause="The learning rate 0.01 is common to all methods, the number of server steps "
    "is not: Observation 5 compares different total step sizes.",
    words="What MiniBatch-SFL does is the repair; a baseline with its rate divided by "
    "N would be comparable to first order.",
    uses="observation-5",
)

RESNET_18, CLASSIFIER = 11_173_962, 5_130
FEW = says(w.number(2000 * CLASSIFIER), w.number(RESNET_18))
CUT_4 = Kind.TEXT(
    "huang2023/text/classifier-only",
    f"{RESULTS}, Fig. 5 (N = 100, L_c = 4), and the supplement's splitting",
    "(entry of the audit) At L_c = 4, where N = 100 is compared, the server trains the "
    "classifier alone: less than 1/2000 of ResNet-18.",
    proved(
        FEW,
        partial(combine, target=(FEW.right - FEW.left).value),
        reading="512*10 + 10 = 5 130 of 11 173 962 parameters, counted by hand for 3x3 "
        "stem, 10 classes and four stages; the paper gives no numbers",
    ),
    scope="with 'the fourth residual block' read as the fourth stage of two blocks, as "
    "four cuts suggest; of its eight blocks the fourth would be the middle",
    words="Observation 4 compares it with N = 10 at L_c = 2, so two things change at "
    "once; what MiniBatch-SFL does differently from FL is then 5 130 parameters.",
    uses="observation-4",
)

# Algorithm 1 ------------------------------------------------------------------------


def each(form: Form) -> Form:
    """Return a sum over clients with arbitrary weights."""
    return w.over_clients(n, w.of_client("b", n, "b_{{n}}") * form)


EACH = "for every n: a sum with arbitrary b_n >= 0 says the same"
OWN = f().gradient(here)

SMASHED = Kind.ALGORITHM(
    "huang2023/alg-1/smashed-gradient",
    "Algorithm 1, lines 8-14, against (3) and (4)",
    "(entry of the audit) Backpropagation through the averaged loss of (3) sends the "
    "clients the gradients that (4) asks for.",
    broken(
        says(each(w.norm2(w.client(p() * OWN - OWN))), 0, s.assumption_1()),
        lambda: federation(
            [parabola(1, (0, 0))] * 2,
            (0, 0),
            numbers={S: 1},
            families={"b": (1, 1)},
            points={here: [(1, 0)]},
        ),
        r"$p_n=\frac12$: half of the gradient.",
        f"the derivative of sum p_n h(w_s; z_n) along z_n is p_n times that of h; "
        f"{EACH}",
    ),
    severity=Severity.SLIP,
    scope="for N >= 2; (4) itself writes the gradient of h without p_n, and is right",
    cause="The averaged loss has p_n in front: client n would step with p_n eta_c.",
    words="One of three traps of the box. The second is alg-1/order. The third has no "
    "term: with BatchNorm 'one giant mini-batch' and the mean of the clients' "
    "gradients are not the same, for the statistics are those of all samples.",
    uses="alg-1",
)

BATCH = run()
CLIENT_NEXT = f().gradient(mixed(BATCH.x(t), BATCH.x(t + 1)))
LATER = w.client(CLIENT_NEXT - f().gradient(BATCH.x(t)))
ORDER = Kind.ALGORITHM(
    "huang2023/alg-1/order",
    "Algorithm 1, lines 9 and 10, against (4)",
    "(entry of the audit) Gradients of the smashed data that the server computes after "
    "its update, where the box sends them, are those of (4).",
    broken(
        says(each(w.norm2(LATER)), 0, *quiet(BATCH)),
        lambda: federation(
            [quadratic(((1, "1/2"), ("1/2", 1)), (0, 0))],
            (0, 1),
            numbers={S: 2, t: 0},
            families={"b": (1,)},
            rates={"eta": "1/4"},
        ),
        r"$f=\frac12(w_c^2+w_cw_s+w_s^2)$ from (0, 1): the client's slope is "
        r"$\frac12$ before the server's step, $\frac38$ after it.",
        f"one local step, gradients at (w_c^i, w_s^{{i+1}}) against w^i; {EACH}",
    ),
    severity=Severity.SLIP,
    scope="already for one client without noise; (4) takes both at step i - 1",
    cause="Line 9 updates w_s before line 10 sends the gradients; the box does not say "
    "at which model they are taken.",
    uses="alg-1",
)

CLAIMS = (SMASHED, ORDER, NO_CUT, DIVIDED, STEPS, CUT_4)
