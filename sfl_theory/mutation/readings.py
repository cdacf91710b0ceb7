"""Which statement is read as what. Hypotheses in the words of the audits."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.mutation import (
    averaged_rounds,
    between_steps,
    blocks,
    convex_rounds,
    coupled_visits,
    examples,
    inductions,
    joint_round,
    last_iterate,
    local_steps,
    moments,
    numbers,
    one_function,
    runs,
    runs_apart,
    steps_summed,
    stuck_runs,
    taking_part,
    two_sided_rounds,
    values,
    vectors,
    visited_blocks,
    visited_rounds,
    worst_rounds,
)
from sfl_theory.mutation.operators import LAWS
from sfl_theory.mutation.terms import is_product, stated_atoms
from sfl_theory.mutation.witness import Reading, Source, Witness

FUNCTIONS, VECTORS = "points of a function", "vectors"
STEPS, ROUND, RUN = "local steps", "one round", "T rounds"
SCALAR, IMPLICATION = "parameters", "numbers to numbers"
FIGURES, OTHER = "printed figures", "other"
GROUPS = {
    "functions, vectors, rounds and runs": (
        VECTORS, FUNCTIONS, STEPS, ROUND, RUN, OTHER,
    ),
    "parameters only": (SCALAR,),
    "numbers that meet the facts": (IMPLICATION,),
    "printed figures": (FIGURES,),
}  # fmt: skip
"""Kinds that are counted together; the first group is the headline."""

PREMISES = frozenset({
    "the recursion of one round", "induction hypothesis", "definition",
    "x* minimises f", "previous certificate", "recursion", "definition of v",
    "hypothesis of the induction",
})  # fmt: skip
"""Premises of statements "if these numbers obey ..., then ..."."""


def _reading(kind: str, atoms: str, source: Source) -> Reading:
    # a name in braces may hold ";"
    names = re.findall(r"(?:[^;{]|\{[^}]*\})+", atoms)
    return Reading(kind, frozenset(names), source)


_MEAN = "sum_t<T eta^t^1 (<grad_c,grad_c>);sum_t<T eta^t^1 (<grad_s,grad_s>)"
_GRADIENTS = "<grad_c,grad_c>;<grad_s,grad_s>;f(x);f(x')"

READINGS = (
    _reading(VECTORS, "<d_c,d_c>;<d_c,d_s>;<d_s,d_s>", vectors.blocks),
    _reading(VECTORS, "<vbar,vbar>;1/N sum ||v_n||^2", vectors.mean_of_two),
    _reading(VECTORS, "E||sum p_n xi_n||^2;sum p_n^2 sigma_n^2", vectors.noise_of_two),
    _reading(VECTORS, "E||X - E_I X||^2", vectors.participation),
    _reading(FUNCTIONS,
             "<x,x>;<x,z>;<z,z>;<y,y>;<y,z>;h(y);h(z);<grad_h(x),y>;<grad_h(x),z>",
             one_function.three_points),
    _reading(FUNCTIONS, "f(x*);f(x^T);<x_c-x_c*,x_c-x_c*>;<x_s-x_s*,x_s-x_s*>",
             one_function.around_minimiser),
    _reading(FUNCTIONS, "F(w);F(w*);<d_c,d_c>;<d_s,d_s>",
             one_function.around_minimiser),
    _reading(FUNCTIONS,
             "f(x^t);f(x^t+1);<dx_c,dx_c>;<dx_s,dx_s>;<dx_c,grad_c>;<dx_s,grad_s>",
             one_function.two_blocks),
    _reading(FUNCTIONS, "<x-y,x-y>", one_function.bounded_gradients),
    _reading(FUNCTIONS, "<w-w_n*,w-w_n*>", one_function.bounded_gradients),
    _reading(FUNCTIONS, "<d,grad>;<d,d>;F(w);F(w with block at optimum)",
             one_function.along_a_block),
    _reading(FUNCTIONS, "<grad,grad>;f(w);f(*)", one_function.above_its_minimum),
    _reading(STEPS, "sum_i E||x_n^i - x^t||^2", local_steps.bounded_drift),
    _reading(STEPS, "D", local_steps.drift),
    _reading(STEPS, "D;<grad_f,grad_f>", local_steps.drift),
    _reading(STEPS, ";".join(
        vectors.gram(dict.fromkeys(("grad(x^i)-grad(x)", "xi^i", "xi^0"), ()))
    ) + ";<x^i-x,x^i-x>", local_steps.two_gradients),
    _reading(STEPS, ";".join(
        vectors.gram(dict.fromkeys(("a", "xi", "p", "q", "r"), ()))
    ), local_steps.one_step),
    _reading(ROUND, _GRADIENTS, worst_rounds.parallel),
    _reading(ROUND, _GRADIENTS, visited_rounds.one),
    _reading(ROUND, "Delta_t;Delta_t+1;gap_t", convex_rounds.any_constants),
    _reading(ROUND, "Delta_t+1", inductions.of_distances),
    _reading(ROUND, "D_j;D_(j+1)", joint_round.drift_of_two),
    _reading(ROUND, "Delta^i;Delta^(i+1)", joint_round.mean_step),
    _reading(STEPS,
             "<gbar,gbar>;<gbar,wbar-w*>;<wbar-w*,wbar-w*>;sum p (f_n-f_n*);"
             "sum p (f_n-f_n(w_c*,w_s));sum p ||wbar-w_n||^2",
             local_steps.two_clients),
    _reading(ROUND, "<x-x*,x-x*>;Delta_t+1;gap_t", convex_rounds.two_periods),
    _reading(ROUND, "D_(j+1)", joint_round.drift_of_two),
    _reading(ROUND, "D_j'", values.apart),
    _reading(ROUND, "Delta^(i+1)", joint_round.mean_step),
    _reading(ROUND, "e_t;e_t+1", two_sided_rounds.descent),
    _reading(ROUND, "e_t+1", values.descent),
    _reading(RUN, "Delta_0", values.start),
    _reading(RUN, "Delta^0", values.start),
    _reading(RUN, "e_0", values.start),
    _reading(RUN, "e_T", last_iterate.of_one_client),
    _reading(RUN, "Delta^TEM", runs.joint),
    _reading(FUNCTIONS, "f(x);f(x*);<grad_f(x),grad_f(x)>", values.gap_and_gradient),
    _reading(FUNCTIONS, "f(x^T);f(x*);<x^T-x*,x^T-x*>", values.gap_and_gradient),
    _reading(VECTORS, "<x_c^T-x_c*,x_c^T-x_c*>;<x_c^T-x_c*,x_s^T-x_s*>;"
             "<x_s^T-x_s*,x_s^T-x_s*>", values.block_sum),
    *(
        _reading(FUNCTIONS, atoms, examples.square_root)
        for atoms in (
            "<x,x>;<x,y>;<y,y>", "<xi,xi>", "<b_n,b_n>", "<b_n,y>;<x,x>;<x,y>",
            "<b_n,b_n>;<b_n,x>;<b_n,xi>;<x,x>;<x,xi>;<xi,xi>",
        )
    ),
    *(
        _reading(FUNCTIONS, atoms, examples.ball)
        for atoms in (
            "<b_n,b_n>;<b_n,mean b>;<mean b,mean b>",
            "<(b_n-xi)/S,(b_n-xi)/S>;<(b_n-xi)/S,x>;<x,x>",
            "E||sum w v||^2 of {local models; weights a_n}",
        )
    ),
    _reading(VECTORS, "<xi,xi>", examples.implied),
    _reading(VECTORS, "<gradF_n,gradF_n>;<gradF_n,gradf>;<gradf,gradf>",
             examples.implied),
    _reading(FUNCTIONS, "||x-y||^2;E||sum w v||^2 of {gradF_n(x) - gradF_n(y); "
             "weights a_n}", examples.two_functions),
    _reading(FUNCTIONS, ";".join(vectors.gram(
        dict.fromkeys(("grad_F(x)", "grad_F(y)", "x-y"), ())
    )), examples.contraction),
    *(
        _reading(STEPS, ";".join(atoms), between_steps.local_point)
        for atoms in between_steps.STATED
    ),
    *(_reading(STEPS, atoms, moments.over_clients) for atoms in moments.STATED),
    _reading(STEPS, runs_apart.CORRELATED, runs_apart.gradients_and_noise),
    _reading(STEPS, runs_apart.TWO_RUNS, runs_apart.participation),
    *(
        _reading(ROUND, atoms, source)
        for source, stated in (
            (worst_rounds.of_v1, (
                "<M,grad_b>;<Z,grad_b>;<grad_b,grad_b>;D",
                "<M,grad_b>;<Z,grad_b>;<grad_b,grad_b>;<grad_f,grad_f>",
                f"<grad_f,grad_f>;{blocks.JENSEN['v1']}",
            )),
            (visited_blocks.of_v2, (
                "<M,grad_b>;<Z,grad_b>;<grad_b,grad_b>;<grad_f,grad_f>",
                "<grad_f,grad_f>;D",
                f"<grad_f,grad_f>;{blocks.JENSEN['v2']}",
            )),
            (visited_blocks.of_partial_v2, (
                "<B,grad_b>;<Z,grad_b>;<grad_b,grad_b>;D",
                "<B,grad_b>;<Z,grad_b>;<grad_b,grad_b>;<grad_f,grad_f>",
                "<grad_f,grad_f>;D",
                f"<grad_f,grad_f>;{blocks.JENSEN['v2-partial']}",
            )),
        )
        for atoms in stated
    ),
    _reading(ROUND, ";".join(
        f"<{u}_{k},{v}_{k}>" for k in "cs" for u, v in (
            ("M", "M"), ("M", "Z"), ("M", "grad"), ("Z", "Z"), ("Z", "grad"),
            ("grad", "grad"),
        )
    ), worst_rounds.of_86),
    _reading(STEPS, "C^tau;sum of tau A", local_steps.bounded_drift),
    _reading(STEPS, "C^tau;sum of tau A", local_steps.drift),
    _reading(ROUND, "D;Delta_t;P;gap_t", values.paired_points),
    _reading(ROUND, "<grad_f,grad_f>;f(x);f(x')", visited_rounds.one),
    _reading(ROUND, "||grad f(x)||^2;f(x);f(x')", visited_rounds.one),
    _reading(RUN, "sum_t<T eta^t^1 (||grad f(x)||^2)", visited_rounds.many),
    _reading(RUN, "sum_t<T eta^t^1 (gap_t)", averaged_rounds.of_gaps),
    _reading(RUN, "gap_T", last_iterate.of_one_client),
    _reading(RUN, _MEAN, stuck_runs.gradients),
    _reading(RUN, "E F(w^TEM) - F*", runs.joint),
    _reading(ROUND, "D_0", joint_round.averaged_models),
    _reading(ROUND, "D", joint_round.models_apart),
    *(
        _reading(ROUND, atoms, taking_part.one_client)
        for atoms in ("E I_n", "E I_n <x_n,z>;E <x_n,z>")
    ),
    _reading(ROUND, "E||xbar_s-x_s||^2", taking_part.two_runs),
    *(
        _reading(STEPS, atoms, coupled_visits.visits)
        for atoms in ("A_v;A_v+1", "A_2;K_2", "A_v+1;K_v+1")
    ),
    _reading(ROUND, ";".join(
        (steps_summed.MOVED, steps_summed.CHANGE, steps_summed.SLOPES)
    ), steps_summed.of_a_block),
    _reading(STEPS, "sum_n sum_i E||x_s,n^i - x_s||^2", steps_summed.of_the_server),
)  # fmt: skip


def reading(certificate: Certificate) -> Reading | None:
    """Return how a statement is read, None where no reading fits.

    Args:
        certificate: of the original claim.

    Returns:
        The reading.
    """
    atoms = stated_atoms(certificate)
    hypotheses = set(certificate.hypotheses) - LAWS
    if not atoms and not hypotheses:
        named = {s.name for s in _symbols(certificate)}
        if named and named <= {"inv", "inv2", "rho"}:
            return Reading(SCALAR, atoms, vectors.sums_over_clients)
        kind = SCALAR if named or certificate.domain.values else FIGURES
        return Reading(kind, frozenset(), numbers.scalar)
    if not hypotheses and all(is_product(a) for a in atoms):
        return Reading(VECTORS, atoms, vectors.any_vectors)
    fitting = [r for r in READINGS if r.fits(certificate)]
    for found in fitting:
        paper = certificate.claim.split("/")[0]
        if any(
            w.meets(hypotheses, paper) is not None for w in _first(found, certificate)
        ):
            return found
    if hypotheses <= PREMISES:
        return Reading(IMPLICATION, atoms, numbers.meeting_the_facts, valuation=True)
    return None


def _first(found: Reading, certificate: Certificate) -> Iterator[Witness]:
    """Return the first witnesses of a reading."""
    return islice(found.source(certificate, ""), 20)


def _symbols(certificate: Certificate) -> frozenset[Any]:
    gap = sp.Integer(0) + certificate.right - certificate.left
    return frozenset(gap.free_symbols)
