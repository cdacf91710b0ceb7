"""Which instances refute which claim of ``han2024``; of a theorem, mild ones first."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import partial
from types import MappingProxyType

from sfl_theory.audits.han2024.refuted_conditions import (
    condition_of_3_9,
    factor_of_183,
    first_rate,
    sequential_rate,
    swapped_rate,
)
from sfl_theory.audits.han2024.refuted_general_convex import (
    aggregation_of_models,
    noise_floor,
    small_step,
    start_at_minimiser,
)
from sfl_theory.audits.han2024.refuted_lemmas import (
    aggregation_differs,
    eq_78,
    eq_78_last_step,
    induction_at_zero,
    lemma_c7,
    lemma_c7_curved,
    lemma_d1,
    lemma_e1,
    one_gradient_more,
    smooth_without_convexity,
)
from sfl_theory.audits.han2024.refuted_non_convex import (
    biased_stationary_point,
    models_aggregated,
)
from sfl_theory.audits.han2024.refuted_strongly_convex import (
    swapped_step_sizes,
    unweighted_server,
)
from sfl_theory.audits.han2024.refuted_tables import (
    general_convex_row,
    non_convex_row,
)
from sfl_theory.evidence.instance import Finding

Instance = Callable[[], Finding]

HALF = Fraction(1, 2)
NEARLY_ALL = Fraction(15, 16)
NEARLY_ONE = (Fraction(19, 20), Fraction(1, 20))
FOUR_TO_ONE = (Fraction(4, 5), Fraction(1, 5))
THREE_TO_ONE = (Fraction(3, 4), Fraction(1, 4))


def _general_convex(
    number: str, rounds: int, q: Fraction = Fraction(1)
) -> tuple[Instance, ...]:
    """Return the largest admitted rate first, then all of them, then a tiny one."""
    return (
        partial(noise_floor, number, rounds, q),
        partial(start_at_minimiser, number),
        partial(small_step, number),
    )


_THEOREMS: dict[str, tuple[Instance, ...]] = {
    "han2024/thm-3.6/strongly_convex": (
        partial(swapped_step_sizes, "3.6", tau=32, rounds=720),
        partial(swapped_step_sizes, "3.6", tau=20, rounds=2300),
        partial(swapped_step_sizes, "3.6", tau=64, rounds=350),
    ),
    "han2024/thm-3.8/strongly_convex": (
        partial(swapped_step_sizes, "3.8", tau=32, rounds=1000, q=HALF),
        partial(swapped_step_sizes, "3.8", tau=64, rounds=380),
    ),
    "han2024/thm-3.7/strongly_convex": (
        partial(unweighted_server, "3.7", NEARLY_ONE, rounds=3400),
        partial(unweighted_server, "3.7", FOUR_TO_ONE, rounds=7500),
    ),
    "han2024/thm-3.9/strongly_convex": (
        partial(unweighted_server, "3.9", NEARLY_ONE, rounds=4200, q=NEARLY_ALL),
        partial(unweighted_server, "3.9", NEARLY_ONE, rounds=4200, q=Fraction(3, 4)),
    ),
    "han2024/thm-3.6/general_convex": _general_convex("3.6", 4000),
    "han2024/thm-3.7/general_convex": _general_convex("3.7", 4000),
    "han2024/thm-3.8/general_convex": (
        *_general_convex("3.8", 200, HALF),
        partial(small_step, "3.8", rounds=300, q=HALF),
        partial(aggregation_of_models, "3.8"),
    ),
    "han2024/thm-3.9/general_convex": (
        *_general_convex("3.9", 200, HALF),
        partial(small_step, "3.9", rounds=300, q=HALF),
        partial(aggregation_of_models, "3.9"),
    ),
    "han2024/thm-3.7/non_convex": (
        partial(biased_stationary_point, "3.7", THREE_TO_ONE, Fraction(1, 850), 1050),
    ),
    "han2024/thm-3.9/non_convex": (
        partial(
            biased_stationary_point, "3.9", THREE_TO_ONE, Fraction(1, 2000), 2200, HALF
        ),
        partial(biased_stationary_point, "3.9", THREE_TO_ONE, Fraction(1, 850), 1050),
    ),
}

_STEPS: dict[str, tuple[Instance, ...]] = {
    "han2024/thm-3.8/non_convex/eq-3": (models_aggregated,),
    "han2024/lemma-C.7": (lemma_c7, lemma_c7_curved),
    "han2024/lemma-D.1": (lemma_d1, partial(lemma_d1, 10)),
    "han2024/lemma-E.1": (lemma_e1, partial(lemma_e1, 10)),
    "han2024/eq-78": (eq_78, eq_78_last_step),
    "han2024/eq-67": (induction_at_zero,),
    "han2024/app-C.3/smoothness": (smooth_without_convexity,),
    "han2024/eq-3": (aggregation_differs,),
    "han2024/app-C.2/client-sum": (one_gradient_more,),
    "han2024/app-D.1/first-rate": (first_rate,),
    "han2024/app-E.1/first-rate": (sequential_rate,),
    "han2024/step-3.6/client": (partial(swapped_rate, "3.6", "client"),),
    "han2024/step-3.6/server": (partial(swapped_rate, "3.6", "server"),),
    "han2024/step-3.8/client": (partial(swapped_rate, "3.8", "client"),),
    "han2024/step-3.8/server": (partial(swapped_rate, "3.8", "server"),),
    "han2024/step-3.9/non_convex": (condition_of_3_9, factor_of_183),
}

_TABLES: dict[str, tuple[Instance, ...]] = {
    **{
        f"han2024/table-1/{number}/non_convex": (partial(non_convex_row, number),)
        for number in ("3.6", "3.7", "3.8", "3.9")
    },
    **{
        f"han2024/table-1/{number}/general_convex": (
            partial(general_convex_row, number),
        )
        for number in ("3.6", "3.7", "3.8", "3.9")
    },
}

REFUTATIONS: Mapping[str, tuple[Instance, ...]] = MappingProxyType({
    **_THEOREMS,
    **_STEPS,
    **_TABLES,
})
