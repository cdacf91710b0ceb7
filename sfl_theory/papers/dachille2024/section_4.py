"""Sections 3 and 4: the assumptions, Proposition 1, SFL-V1 as FedAvg."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import (
    Kind,
    Part,
    Says,
    Severity,
    broken,
    equal,
    repaired,
    says,
)
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.kernel.terms import Pace, Participants, Split
from sfl_theory.models.federation import (
    coin,
    federation,
    parabola,
    peaked,
    plus,
    quadratic,
    tilt,
)
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number, Run
from sfl_theory.papers.dachille2024 import setting
from sfl_theory.papers.dachille2024.setting import F, K, S, T, eta, f, i, k, t, tau, v1
from sfl_theory.proofs import equal_steps
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

# Assumptions -----------------------------------------------------------------------

y, z = w.point("y"), w.point("z")
below_tangent = w.every_client(
    k, w.at_most(F(z) - F(y) - w.inner(F.gradient(y), z - y), Fraction(-1, 2))
).called("Assumption 1, below a tangent, from y to z")


def saddles() -> ModelData:
    """Return two clients with ``(c^2 - s^2)/2 -+ s/2`` and noise +-1/2 in s."""
    return federation(
        [quadratic([[1, 0], [0, -1]], [0, b]) for b in ("-1/2", "1/2")],
        [1, 1],
        noise=[coin(0, "1/2")] * 2,
        numbers={S: 1, setting.eps2: "1/4", tau: 2},
        families={"sigma2": ["1/4", "1/4"]},
        rates={"eta": "1/32"},
        points={y: [[0, 0]], z: [[0, 1]]},
    )


def assumption(number: int, where: str, title: str, words: str) -> evidence.Claim:
    """Return that an assumption does not exclude the other three."""
    return Kind.ASSUMPTION(
        f"dachille2024/assumption-{number}",
        where,
        f"Assumption {number}, {title}, can hold together with the others.",
        Part(
            evidence.consistent(below_tangent, *setting.assumptions()),
            evidence.Model(saddles, "Two saddles, each of one slope; coin noise."),
            reading="does not exclude the others: all four hold in one federation",
        ),
        words=words,
    )


ASSUMPTIONS = (
    assumption(
        1,
        "Assumption 1",
        "every F_k is non-convex",
        "No step of the proof uses it; Proposition 1 holds for convex F_k too. It is "
        "read as 'not assumed convex': models that refute other entries are convex. "
        "One bump, the same for all clients and where no model comes, makes them "
        "non-convex and changes neither side.",
    ),
    assumption(
        2,
        "(2)",
        "every F_k is S-smooth",
        "Printed is the one-sided (2); the proof uses S-Lipschitz gradients.",
    ),
    assumption(
        3,
        "(3), (4)",
        "stochastic gradients are unbiased with variance at most sigma_k^2",
        "That mini-batches are fresh is not said but used; clients' may depend on each "
        "other.",
    ),
    assumption(
        4,
        "(5)",
        "local gradients differ from that of f by at most eps",
        "For every client and at every point, so not a mean over clients.",
    ),
)

# Proposition 1 ---------------------------------------------------------------------


def mean_gradient(r: Run = v1) -> Form:
    """Return the left side of (6)."""
    return 1 / T * w.below(t, T, eta() * w.norm2(f.gradient(r.x(t))))


def bound(r: Run = v1, steps: Number = tau) -> Form:
    """Return the right side of (6)."""
    noise = w.over_clients(
        k, setting.alpha**2 * (setting.sigma2 + setting.eps2)
    ) * w.below(t, T, eta() ** 2)
    return 4 / (T * steps) * f.gap(r.x(0)) + 16 * K * S * steps / T * noise


PRINTED = says(
    mean_gradient(),
    bound(),
    *setting.assumptions(),
    *setting.all_rounds(setting.rates()),
    setting.minimum(),
)
OWN = (
    r"One round: smoothness of f along the whole vector, "
    r"$-\langle\nabla f,G\rangle=\frac{1}{2\tau}(\|\tau\nabla f-G\|^2"
    r"-\tau^2\|\nabla f\|^2-\|G\|^2)$, drift $D\le2u^2D+\frac43\eta^2\tau^3"
    r"\|\nabla F_k\|^2+\eta^2\tau^2\sigma_k^2$ with $u=S\eta\tau\le\frac1{16}$. "
    "Lemma 2 is not used. Then the sum over rounds telescopes."
)
ONE_TAU = (
    "for one tau for all clients and Lipschitz gradients; clients' samples may depend "
    "on each other; false for tau that depends on the client, as its definition says "
    "(prop-1/unequal-steps), and under (2) by the letter, from above only "
    "(prop-1/one-sided)"
)


def average(
    name: str, where: str, kind: Kind, uses: str, first: str = ""
) -> evidence.Claim:
    """Return an entry for (6), which is (28) too."""
    return kind(
        f"dachille2024/{name}",
        where,
        "The weighted mean of squared gradients of f, for any cut layer.",
        setting.proved(
            PRINTED,
            equal_steps.proposition_1,
            OWN,
            "one tau for all clients; the split into blocks is arbitrary",
        ),
        scope=ONE_TAU,
        uses=uses,
        first_failure=first,
    )


PROP_1 = average("prop-1", "Proposition 1, (6)", Kind.PROPOSITION, "eq-6", "eq-12")
EQ_6 = average("eq-6", "(6)", Kind.EQUATION, "eq-28 cond-eta")


def sharper() -> Says:
    """Return less than (6), under its first condition on the rate alone."""
    gap, two, het, noise = map(setting.decimal, equal_steps.CONSTANTS)
    own = w.over_clients(k, setting.alpha**2 * setting.sigma2)
    mean = w.over_clients(k, setting.alpha * setting.sigma2)
    squares, cubes = (w.below(t, T, eta() ** power) for power in (2, 3))
    return says(
        mean_gradient(),
        {
            "initial gap": gap / (T * tau) * f.gap(v1.x(0)),
            "gradient noise": w.form(two * S / T * own * squares),
            "client drift": w.form(
                S**2 / T * (het * tau**2 * setting.eps2 + noise * tau * mean) * cubes
            ),
        },
        *setting.assumptions(),
        setting.INDEPENDENT,
        *setting.all_rounds(setting.rates()[:1]),
        setting.minimum(),
    )


LINEAR_SPEEDUP = sharper()
SHARPER = Kind.PROPOSITION(
    "dachille2024/prop-1/sharper",
    "not in the paper",
    "More than Proposition 1 says: noise falls with the clients, heterogeneity and "
    "drift enter with the cube of the rate.",
    setting.proved(
        LINEAR_SPEEDUP,
        equal_steps.sharper,
        "As Proposition 1, but Jensen with the weights themselves, and the mean of "
        r"$\|\nabla F_k\|^2$ is $\|\nabla f\|^2$ plus that of the deviations: as "
        "han2024/thm-3.6/non_convex/linear-speedup, at half of its rates.",
    ),
    scope="for one tau for all clients, whose samples are independent; the second "
    "condition on the rate is not needed",
    uses="assumption-2 assumption-3 assumption-4",
)

COND_ETA = Kind.CONDITION(
    "dachille2024/cond-eta",
    "Proposition 1, Lemmas 1 and 2",
    "The rate of Proposition 1 is small enough for Lemmas 1 and 2.",
    setting.proved(
        says(eta(), 1 / (2 * S * tau), setting.rates()[0]), equal_steps.half_rate
    ),
    setting.proved(
        says(8 * S**2 * tau**2 * eta() ** 2, 1, setting.rates()[0]),
        equal_steps.eighth_rate,
        reading=r"eta <= 1/(sqrt(8) S tau), squared",
    ),
    scope="for all S, tau and rates",
)

# Unequal numbers of steps ------------------------------------------------------------

more = w.of_client("more", k, "b_{{n}}")
rate = w.positive("rate", r"\eta")
rest = w.Written(w.point("theta").value, r"\theta")
pushed = F.gradient(rest) + more * F.gradient(rest - rate * F.gradient(rest))
UNEQUAL = says(
    rate * w.norm2(f.gradient(rest)),
    4 / T * f.gap(rest) + 32 * K * S * rate**2 * setting.squares() * setting.eps2,
    setting.assumption_2(),
    setting.assumption_4(),
    setting.minimum(),
    w.every_client(k, w.at_most(more, more**2)),
    w.every_client(k, w.at_most(more**2, more)).called("tau_k = 1 + b_k is 1 or 2"),
    w.at_most(w.norm2(w.over_clients(k, setting.alpha * pushed)), 0).called(
        "a round of 1 + b_k steps without noise does not move the model"
    ),
    w.at_most(rate, 1 / (32 * S)).called("Proposition 1, tau = 2"),
    w.at_most(16 * S * K * setting.squares() * rate, 1).called(
        "Proposition 1, tau = 2"
    ),
)


def unequal_steps() -> ModelData:
    """Return two bowls with weights 1/3, 2/3 that make 1, 2 steps and stay at rest."""
    eta_ = Fraction(1, 2400)
    return federation(
        [parabola(1, [0, 0]), parabola(1, [1, 0])],
        [0, 0],
        weights=["1/3", "2/3"],
        numbers={S: 1, T: 8000, rate: eta_, setting.eps2: "4/9"},
        families={"more": [0, 1]},
        points={rest: [[(4 - 2 * eta_) / (5 - 2 * eta_), 0]]},
        best={f: ["2/3", 0]},
    )


PROP_1_UNEQUAL = Kind.PROPOSITION(
    "dachille2024/prop-1/unequal-steps",
    "Proposition 1, definition of tau",
    r"(6) with $\tau=\lceil ED_k/B_k\rceil$, which depends on the client.",
    broken(
        UNEQUAL,
        unequal_steps,
        "Two bowls with minima 0 and 1, D = (B, 2B), E = 1: weights 1/3, 2/3 "
        "and 1, 2 steps. FedAvg rests near 4/5, where the weights would be "
        r"$\alpha_k\tau_k$; f is least at 2/3.",
        "clients with one or two steps, without noise, from a model that a "
        "round does not move, so all T summands are equal; the bound has tau = 1 "
        "where tau divides and tau = 2 where it multiplies, so it is above (6) for "
        "every tau in between",
    ),
    severity=Severity.THEOREM,
    scope="for unequal tau_k, where the bias stays however small the rate is; true for "
    "tau_k = tau; what holds of the function that is lowered instead: prop-1/own-steps",
    cause="a client's pull is proportional to alpha_k tau_k, so another function than "
    "f is minimised",
    uses="prop-1",
    repair=repaired(
        "the same number of updates for all clients, as in the proof", *PROP_1.parts
    ),
)

# Smooth from above only --------------------------------------------------------------


def peak() -> ModelData:
    """Return two clients on either side of a peak of f, after six steps each."""
    return federation(
        [plus(peaked(), tilt(2, 0)), plus(peaked(), tilt(-3, 0))],
        ["1/2", 0],
        weights=["3/5", "2/5"],
        numbers={S: "1/1800", setting.eps2: 9, tau: 6, T: 1300},
        families={"sigma2": [0, 0]},
        rates={"eta": 1},
        best={f: [1825, 0]},
    )


PROP_1_ONE_SIDED = Kind.PROPOSITION(
    "dachille2024/prop-1/one-sided",
    "Proposition 1, Assumption 2",
    "(6) with (2) as it is printed, from above only.",
    broken(
        replace(PRINTED, stated=(setting.assumption_2_printed(), *PRINTED.stated[1:])),
        peak,
        "As for (13) of han2024: f has a peak, which (2) lets be as sharp as one "
        r"likes, and slope $-1$ to its right. From $\frac12$ one client goes over the "
        "peak, the other does not; after six steps their mean is where it was.",
        "one tau for all clients",
    ),
    severity=Severity.SLIP,
    scope="for (2) taken by the letter; true for Lipschitz gradients, which 'S-smooth' "
    "commonly means and the proof uses: assumption-2/lipschitz",
    cause="where gradients may jump downhill, two models next to each other part",
    uses="prop-1",
    repair=repaired("assume Lipschitz gradients", *PROP_1.parts),
)

# One notation for tau ----------------------------------------------------------------

D, B, E = w.count("D"), w.count("B"), w.count("epochs", "E")
batches, updates = w.count("m"), w.count("u", r"\tau")


def ceiling(value: Number, of: Number, by: Number) -> tuple[Assumed, Assumed]:
    """Return that a natural number is ``of/by`` rounded up."""
    upper, lower = w.at_most(of, value * by), w.at_most((value - 1) * by + 1, of)
    return upper, lower


def whole_batches() -> ModelData:
    """Return two epochs of three batches."""
    numbers: dict[str | Number, int | Fraction | str] = {E: 2, batches: 3}
    return federation([parabola(1, [0])], [0], numbers=numbers)


STEPS = Kind.TEXT(
    "dachille2024/text/updates-of-a-round",
    "Proposition 1",
    r"$\tau=\lceil ED/B\rceil$ is the number of updates of E epochs of "
    r"$m=\lceil D/B\rceil$ mini-batches.",
    broken(
        equal(
            updates,
            E * batches,
            *ceiling(batches, D, B),
            *ceiling(updates, E * D, B),
        ),
        lambda: federation(
            [parabola(1, [0])],
            [0],
            numbers={D: 65, B: 64, E: 5, batches: 2, updates: 6},
        ),
        "65 samples in batches of 64, five epochs: 6 against 10.",
        "an epoch ends with a smaller batch",
    ),
    severity=Severity.SLIP,
    scope="for several epochs whose last batches are small; true where the batch size "
    "divides the number of samples, and for one epoch",
    cause="the last batch of each epoch is smaller",
    repair=repaired(
        "B divides D: D = m B",
        Part(
            equal(E * (batches * B) / B, E * batches),
            evidence.Proof(combine, "D = m B.", whole_batches),
        ),
    ),
)

# SFL-V1 as FedAvg --------------------------------------------------------------------

made = w.at_most(i + 1, tau), w.at_most(i, tau)
ends = w.over_clients(k, setting.alpha * setting.local(tau))


def fedavg_step(r: Run) -> Says:
    """Return that every local step is one of FedAvg at the client's rate."""
    apart = r.p(k, t, i + 1) - (r.p(k, t, i) - eta() * r.g(k, t, i))
    return says(w.over_clients(k, setting.CHOSEN * w.norm2(apart)), 0, *made)


FEDAVG = Kind.TEXT(
    "dachille2024/text/fedavg",
    "Sec. 4",
    "SFL-V1 with any cut layer makes the updates of FedAvg.",
    setting.proved(
        fedavg_step(v1),
        equal_steps.step,
        "Split back-propagation gives the blocks of the same gradient; blocks are "
        "put together.",
        f"every local step, {setting.CLIENT_BY_CLIENT}; i <= tau is implied",
    ),
    setting.proved(
        equal(w.norm2(setting.following - ends), 0),
        equal_steps.aggregation,
        "Both blocks are averaged with the same weights.",
        "and their mean is the next model",
    ),
    scope="as analysed in App. B: tau steps of both halves at one rate, plain gradient "
    "steps (or any optimiser that acts coordinate by coordinate); other rates or "
    "numbers of steps of the halves break it, as does clipping each half's gradient "
    "by its own norm: see text/fedavg/conditions. Table 2 trains SFL-V1 with Adam and "
    "FedAvg with SGD, so the tables do not test it.",
)

server_steps = w.count("tau_server", r"\tilde{\tau}")
TWO_RATES = w.pace(tau, w.rate(eta)), w.pace(tau, w.rate(lambda s: 2 * eta(s)))
TWO_NUMBERS = w.pace(tau, w.rate(eta)), w.pace(server_steps, w.rate(eta))


def halves(paces: tuple[Pace, Pace]) -> Run:
    """Return SFL-V1 whose halves have paces of their own."""
    split = Split(Version.V1, Participants.EVERYONE, *paces)
    return Run(split, "SFL-v1", r"\theta")


def bowls(step: int, other_server: bool = False) -> ModelData:
    """Return two round bowls, from (1, 1), in a local step of round 0."""
    more: dict[str | Number, int | Fraction | str] = {}
    if other_server:
        more[server_steps] = 1
    return federation(
        [parabola(1, [0, 0])] * 2,
        [1, 1],
        numbers={t: 0, i: step, tau: 2, **more},
        families={"c": [1, 1]},
        rates={"eta": "1/48"},
    )


def refuted_halves(
    paces: tuple[Pace, Pace], data: Callable[[], ModelData], words: str, reading: str
) -> Part:
    """Return that such halves do not make FedAvg's steps."""
    return broken(fedavg_step(halves(paces)), data, words, reading)


CONDITIONS = Kind.TEXT(
    "dachille2024/text/fedavg/conditions",
    "Sec. 4",
    "(entry of the audit) The same whatever rates and numbers of steps the two halves "
    "have.",
    refuted_halves(
        TWO_RATES,
        partial(bowls, 0),
        "The server's half moves twice as far.",
        "the server steps at twice the rate, FedAvg at the client's",
    ),
    refuted_halves(
        TWO_NUMBERS,
        partial(bowls, 1, other_server=True),
        "In the second step the server's half rests.",
        "the server makes another number of steps",
    ),
    severity=Severity.SLIP,
    scope="for plain gradient steps; the sentence names no optimiser, and per-part "
    "clipping, which has no term here, breaks it too",
    cause="the two halves have to take the same steps",
    uses="text/fedavg",
    repair=repaired("one rate and one number of steps for both halves", *FEDAVG.parts),
)

CLAIMS = (
    *ASSUMPTIONS,
    PROP_1,
    EQ_6,
    COND_ETA,
    SHARPER,
    PROP_1_UNEQUAL,
    PROP_1_ONE_SIDED,
    STEPS,
    FEDAVG,
    CONDITIONS,
)
