r"""Entries of the merged round and its sum in D.3-G.3 of ``han2024``.

(86)-(89), (123)-(125), (153)-(155), (183)-(185), and the conditions they use.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import (
    non_convex_v2,
    partial_v2,
    repairs,
)
from sfl_theory.audits.han2024.equations import (
    non_convex_conditions,
    non_convex_v1_proofs,
)
from sfl_theory.audits.han2024.equations.non_convex_claims_blocks import (
    HALF,
    paper_of,
    repair,
    weights,
)
from sfl_theory.audits.han2024.equations.non_convex_refuted_rounds import (
    lines_of_87,
    server_climbs,
)
from sfl_theory.audits.han2024.equations.non_convex_sections import SECTIONS, Section
from sfl_theory.audits.han2024.lazy_proofs import proof
from sfl_theory.audits.han2024.readings import PAPER
from sfl_theory.audits.han2024.refutations import REFUTATIONS
from sfl_theory.evidence.claim import Claim, Proof, Refutation
from sfl_theory.registry import theorem

UNEQUAL = (Fraction(3, 4), Fraction(1, 4))


def _rounds_of_v1(section: Section) -> tuple[Claim, ...]:
    """Return (86)-(89), (153)-(155): true, though not for the reason given."""
    paper, full = paper_of(section), section.letter == "D"
    c = weights(section, "client")
    noise = f"sum_n {c} (sigma_n^2 + eps^2)"
    round_, rearranged, averaged = (
        f"eq-{section.number(step)}" for step in ("descent", "rearranged", "averaged")
    )
    blocks = _blocks_merged(section)
    name, target = f"{PAPER}/{round_}", f"{PAPER}/{rearranged}"
    if full:
        own = non_convex_v1_proofs.proof_87(
            name,
            "From (86), with tau^2 and tau_max where the lines between print "
            "tau_server^2 and tau (eq-87/lines), on four pieces of the domain.",
        )
        once = non_convex_v1_proofs.proof_88(target, "(87) times 4/tau_min.")
    else:
        own = non_convex_v1_proofs.proof_153(
            name, "One round by the kernel's rules, on four pieces of the domain."
        )
        once = non_convex_v1_proofs.proof_154(target, name, "(153) times 4/tau_min.")
    bound = theorem(section.theorem).case("non_convex").printed
    where = f"App. {section.letter}.3.3"
    return (
        paper.claim(
            round_,
            f"{where}, ({section.number('descent')})",
            "equation",
            "E f(x^t+1) - f(x^t) <= -eta tau_min/4 ||grad f||^2 + 2 N S eta^2 (tau^2 + "
            f"tau_server^2) {noise} (end to end)",
            own,
            f"{'eq-86' if full else blocks} cond-{section.letter}.3",
        ),
        paper.claim(
            rearranged,
            f"{where}, ({section.number('rearranged')})",
            "equation",
            "eta ||grad f||^2 <= 4/tau_min (f(x^t) - E f(x^t+1)) + 8 N S eta^2 "
            f"(tau^2 + tau_server^2)/tau_min {noise} (f(x_s^t+1) is printed for "
            "f(x^t+1))",
            once,
            round_,
        ),
        paper.claim(
            averaged,
            f"{where}, ({section.number('averaged')})",
            "equation",
            f"{bound.metric.words} <= {bound.expr}",
            Proof(
                repairs.non_convex_v1_certificates(
                    f"{PAPER}/{averaged}", bound, section.partial
                ),
                f"The statement of Theorem {section.theorem}: one round, then the sum.",
            ),
            rearranged,
        ),
    )


def _blocks_merged(section: Section) -> str:
    ends = ("inner_end", "square_end", "client_inner_end", "client_square_end")
    return " ".join(["prop-C.4", *(f"eq-{section.number(step)}" for step in ends)])


def _merge_86() -> Claim:
    section = SECTIONS["D"]
    return paper_of(section).claim(
        "eq-86",
        "App. D.3.3, (86)",
        "equation",
        "E f(x^t+1) - f(x^t) <= both blocks' E<grad_b f, x_b^t+1 - x_b^t> + S/2 "
        "E||x_b^t+1 - x_b^t||^2 <= (-eta tau_min/2 + 8 N eta^3 tau_max^3 S^2 sum_n "
        "a_n^2) ||grad f||^2 + 8 N eta^3 S^2 (tau^3 + tau_server^3) sum_n a_n^2 "
        "(sigma_n^2 + eps^2) + S N eta^2 tau_max sum_n a_n^2 (tau_max + 8 tau_max^3 "
        "eta^2 S^2) ||grad f||^2 + S N eta^2/2 sum_n a_n^2 [tau (tau + 8 tau^3 eta^2 "
        "S^2) + tau_server (tau_server + 8 tau_server^3 eta^2 S^2)] (2 eps^2 + "
        "sigma_n^2)",
        non_convex_v1_proofs.proof_86(
            f"{PAPER}/eq-86",
            "Not from (80)-(85), which are false: the rules for the whole vector bound "
            "the sum of both blocks, under Lemma C.6's condition on the learning rate.",
        ),
        _blocks_merged(section),
    )


def _rounds_of_v2(section: Section) -> tuple[Claim, ...]:
    """Return (123)-(125), (183)-(185): the server does not follow f."""
    paper, letter = paper_of(section), section.letter
    c = "(a_n^2+1)/q_n" if section.partial else "(a_n^2+1)"
    noise = f"sum_n {c} (sigma_n^2 + eps^2)"
    where, words = f"App. {letter}.3.3", (
        "SFL-V2's server steps along sum_n grad F_n: with unequal weights it may climb "
        "f by O(eta), the bound admits O(eta^2)."
    )  # fmt: skip
    further = {"weights": UNEQUAL}
    round_, rearranged, averaged = (
        section.number(step) for step in ("descent", "rearranged", "averaged")
    )
    own, build = f"eq-{round_}", (partial_v2 if section.partial else non_convex_v2)
    instances = REFUTATIONS[f"{PAPER}/thm-{section.theorem}/non_convex"]
    bound = theorem(section.theorem).case("non_convex").printed

    def climbs(step: str) -> Refutation:
        first = partial(server_climbs, letter, step)
        more = [partial(first, **further)]
        if section.partial:
            more.append(partial(first, q=HALF))
        return Refutation(first, words, tuple(more))

    return (
        paper.claim(
            own,
            f"{where}, ({round_})",
            "equation",
            "E f(x^t+1) - f(x^t) <= -eta tau/4 ||grad f||^2 + 2 N S eta^2 tau^2 "
            f"{noise}",
            climbs("descent"),
            f"{_blocks_merged(section)} cond-{letter}.3",
            repair(
                own,
                build.one_round,
                "Descent lemma, drift and noise by the kernel's rules.",
                "the server's step carries the weight a_n",
            ),
        ),
        paper.claim(
            f"eq-{rearranged}",
            f"{where}, ({rearranged})",
            "equation",
            "eta ||grad f||^2 <= 4/tau (f(x^t) - E f(x^t+1)) + 8 N S eta^2 tau "
            f"{noise} (f(x_s^t+1) is printed for f(x^t+1)"
            + ("" if section.partial else ", and (a_n^2+1)/tau for a_n^2+1")
            + ")",
            climbs("rearranged"),
            own,
        ),
        paper.claim(
            f"eq-{averaged}",
            f"{where}, ({averaged})",
            "equation",
            f"{bound.metric.words} <= {bound.expr}",
            Refutation(
                instances[0],
                f"The statement of Theorem {section.theorem}; for its repair see "
                f"thm-{section.theorem}/non_convex.",
                instances[1:],
            ),
            f"eq-{rearranged}",
        ),
    )


def _condition(section: Section) -> Claim:
    """Return that the conditions of a section give what its steps use."""
    c = weights(section, "server")
    name = f"cond-{section.letter}.3"
    if section.sequential:
        second = "N^2 tau" if c == "1" else f"N^2 tau sum_n {c}"
        period = "tau"
        factor = f"4 {second.replace('tau', 'S eta tau')}"
    else:
        second = f"N tau_max^2/tau_min sum_n {c}"
        period = "tau_max"
        factor = f"4 N S eta tau_max^2/tau_min sum_n {c}"
    number = section.number("descent")
    return paper_of(section).claim(
        name,
        f"App. {section.letter}.3.3, below ({number})",
        "condition",
        f"eta <= 1/(16 S {period}) and eta <= 1/(8 S {second}) imply the conditions of "
        f"Lemmas C.6 and C.7 at both sides, 8 S eta {period} <= 1/2, "
        f"8 (S eta {period})^2 <= 1/32 and 1/2 <= 1 - {factor}.",
        proof(
            name,
            "Each is a rational inequality on the domain.",
            *non_convex_conditions.builders(section.sequential),
        ),
    )


def _lines_87() -> Claim:
    return paper_of(SECTIONS["D"]).claim(
        "eq-87/lines",
        "App. D.3.3, second and third line of (87)",
        "equation",
        "The noise of line two, 1/2 S N eta^2 [tau (tau + 8 tau^3 eta^2 S^2) + "
        "tau_server (tau_server + 8 tau_server^3 eta^2 S^2)] sum_n a_n^2 sigma_n^2 + "
        "8 N eta^3 S^2 (tau^3 + tau_server^3) sum_n a_n^2 sigma_n^2, is at most that "
        "of line three, which has 1/2 S N eta^2 tau_server^2 sum_n a_n^2 sigma_n^2 in "
        "both groups.",
        Refutation(
            lines_of_87,
            "tau_server^2 is printed for tau^2 in the first group; the next lines have "
            "tau^2 again.",
        ),
        "eq-86",
    )


CLAIMS: tuple[Claim, ...] = (
    _merge_86(),
    _lines_87(),
    *_rounds_of_v1(SECTIONS["D"]),
    *_rounds_of_v2(SECTIONS["E"]),
    *_rounds_of_v1(SECTIONS["F"]),
    *_rounds_of_v2(SECTIONS["G"]),
    *(_condition(section) for section in SECTIONS.values()),
)
