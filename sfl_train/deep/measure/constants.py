r"""The theory's constants of a finished run: the largest values met at measured models.

Each is a lower estimate of the assumption's constant, which holds for all x; they carry
the provenance ``trajectory``. The initial gap $f(x^0)-f^*$ is at most $f(x^0)$, since
cross-entropy is not negative; it is ``assumed`` to be that.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from sfl_train.deep.assembly import Assembly

PROVENANCE = {
    "S": "trajectory",
    "sigma2": "trajectory",
    "G2": "trajectory",
    "eps2": "trajectory",
    "initial_gap": "assumed",
}


def constants(
    assembly: Assembly, records: Iterable[Mapping[str, Any]]
) -> dict[str, Any]:
    """Return the constants of a run, for `sfl_theory.Constants`.

    Args:
        assembly: the run.
        records: of its metrics file.

    Returns:
        The JSON keys of `Constants`, the provenance, the measured rounds, and what the
        federation says about weights, participation and local steps. tau is missing
        where local work is counted in epochs and differs between clients.
    """
    measured = [(r["round"], r["measured"]) for r in records if "measured" in r]
    federation, config = assembly.federation, assembly.config
    steps = {federation.work.steps(len(part)) for part in federation.parts}
    found: dict[str, Any] = {
        "S": max(max(m["smoothness"], m["secant"] or 0.0) for _, m in measured),
        "sigma2": np.max([m["sigma2"] for _, m in measured], axis=0).tolist(),
        "G2": max(m["G2"] for _, m in measured),
        "eps2": max(m["epsilon2"] for _, m in measured),
        "weights": np.asarray(federation.weights).tolist(),
        "participation": [federation.q] * federation.clients,
        "initial_gap": measured[0][1]["objective"],
    }
    if len(steps) == 1:
        found["tau"] = config.tau or steps.pop()
        found["tau_server"] = config.tau_server or found["tau"]
    return {
        "constants": found,
        "provenance": PROVENANCE,
        "rounds": [t for t, _ in measured],
    }
