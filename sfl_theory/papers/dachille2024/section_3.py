"""Section 3: what SFL is said to minimise, (1)."""

from __future__ import annotations

from fractions import Fraction

from sfl_theory import written as w
from sfl_theory.claims import Claim, Kind, Model, Part, Repair, Says, Severity, says
from sfl_theory.kernel.terms import Kind as Version
from sfl_theory.models.federation import federation, parabola
from sfl_theory.papers.dachille2024.section_4 import bound, mean_gradient
from sfl_theory.papers.dachille2024.setting import (
    S,
    T,
    all_rounds,
    alpha,
    assumption_2,
    assumption_3,
    assumption_4,
    assumptions,
    eps2,
    eta,
    f,
    k,
    minimum,
    proved,
    rates,
    run,
    sigma2,
    t,
    tau,
)
from sfl_theory.proofs import visits
from sfl_theory.proofs.export import ModelData
from sfl_theory.written import Run

v2, v2_weighted = run(Version.V2), run(Version.V2_WEIGHTED)


def weighted() -> Says:
    """Return the bound for SFL-V2 whose server's steps are weighted."""
    r, rate_squares = v2_weighted, w.below(t, T, eta() ** 2)
    noise = 4 * w.over_clients(k, alpha**2 * sigma2)
    noise = noise + w.over_clients(k, alpha * sigma2) / 2 + tau * eps2 / 2
    right = 4 / (T * tau) * f.gap(r.x(0)) + S / T * rate_squares * noise
    first = w.every_round(t, T, w.at_most(16 * S * eta() * tau, 1))
    unbiased, moments, _ = assumption_3(r)
    assumed = assumption_2(), unbiased, moments, assumption_4(), first, minimum()
    return says(mean_gradient(r), right, *assumed)


def resting_server() -> ModelData:
    """Return two bowls on the server with weights 7/8, 1/8, at rest near 1/2."""
    step = Fraction(1, 288)
    return federation(
        [parabola(1, [0]), parabola(1, [1])],
        [1 / (2 - step)],
        weights=["7/8", "1/8"],
        client_size=0,
        order=[(0, 0), (1, 0)],
        numbers={S: 1, T: 1152, eps2: "49/64", tau: 1},
        families={"sigma2": [0, 0]},
        rates={"eta": step},
        best={f: ["1/8"]},
    )


def v2_objective(r: Run) -> Says:
    """Return (6) for SFL-V2."""
    conditions = all_rounds(rates())
    return says(mean_gradient(r), bound(r), *assumptions(r), *conditions, minimum())


V2_OBJECTIVE = Claim(
    "dachille2024/text/v2-objective",
    "Sec. 3, (1)",
    Kind.TEXT,
    r"SFL, in both versions, minimises the weighted f: the gradient of f gets as small "
    "in SFL-V2 as Proposition 1 says.",
    (
        Part(
            v2_objective(v2),
            Model(
                resting_server,
                "Weights 7/8, 1/8, bowls with minima 0 and 1 on the server: its steps "
                "carry no weights, so it rests near 1/2, while f is least at 1/8.",
            ),
            reading="(6) read for SFL-V2, for which the paper gives no bound",
        ),
    ),
    severity=Severity.PROOF,
    scope="refuted for unequal weights; for equal ones the shared server moves K times "
    "as far as the clients' half",
    cause="Sec. 3 and Algorithm 2 add every client's server step without alpha_k",
    repair=Repair(
        (
            proved(
                weighted(),
                visits.theorem,
                "As Proposition 1; the drift of the server's half is bounded over the "
                "visits before.",
            ),
        ),
        r"server steps $\eta\alpha_kg_k$, in any order of the clients",
    ),
)

CLAIMS = (V2_OBJECTIVE,)
