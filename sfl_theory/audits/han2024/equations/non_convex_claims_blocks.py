r"""Entries of what D.3-G.3 of ``han2024`` say of one block of the model.

(79)-(85), (115)-(122), (145)-(152), (175)-(182); (78) is entered with the lemmas.
"""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

from sfl_theory.audits.han2024 import appendix_c
from sfl_theory.audits.han2024.equations import (
    non_convex_blocks,
    non_convex_v1_block,
    non_convex_visits,
)
from sfl_theory.audits.han2024.equations.non_convex_refuted_blocks import block_fails
from sfl_theory.audits.han2024.equations.non_convex_sections import (
    BLOCK_STEPS,
    SECTIONS,
    Section,
)
from sfl_theory.audits.han2024.lazy_proofs import proof
from sfl_theory.audits.han2024.readings import LIPSCHITZ, PAPER, UPDATES
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.claim import Claim, Paper, Refutation, Repair

HALF = Fraction(1, 2)
SEQUENTIAL = (
    "x_s,n^t,i is the server's model at which client n's i-th gradient is taken; the "
    "server steps by eta/q_n g; f = sum_n a_n F_n as (23) defines, although (115) and "
    "(175) use grad_s f = sum_n grad_s F_n (for N = 1 the same)"
)
WHY = {
    "inner": (
        "The block's gradient changes when the other block moves; smoothness bounds it "
        "by the move of the whole vector."
    ),
    "drift": (
        "Lemma C.6 for the whole vector applied to a block: with grad_b f = 0 the "
        "block moves as soon as the other one has moved."
    ),
    "inner_end": (
        "The other block's move turns the block's gradient round within the round, "
        "whatever that block's own gradient was."
    ),
    "square": (
        "E||u + v||^2 <= E||u||^2 + E||v||^2 without Young's factor: it fails where "
        "the block's gradient grows during the round."
    ),
    "gradient_drift": (
        "Lemma C.7, false in itself, applied to a block: with grad_b F_n = 0 its "
        "gradient changes when the other block moves, even without noise."
    ),
    "square_end": (
        "With grad_b f = 0, no noise and no heterogeneity the right side is 0, but the "
        "block moves once the other one has moved."
    ),
}
DRIFT = {
    "v1": "D = sum_n b_n sum_i E||x_n^t,i - x^t||^2, b_n = N a_n^2",
    "v2": "D = sum_n a_n sum_i E||p_n^i - x^t||^2, p_n^i where g_n^i is taken",
    "v2-partial": "D = E sum_n a_n I_n/q_n sum_i ||p_n^i - x^t||^2, p_n^i where g_n^i "
    "is taken",
}
SIZE = {
    "v1": "kappa = sum_n b_n, sigma = sum_n b_n sigma_n^2, b_n = N a_n^2",
    "v2": "sigma = sum_n a_n sigma_n^2",
    "v2-partial": "kappa = sum_n a_n/q_n, sigma_a = sum_n a_n sigma_n^2, sigma_q = "
    "sum_n a_n^2/q_n sigma_n^2",
}
BLOCK = "p the number of steps of the block b"
WHOLE = "the move and the gradient of the whole vector on the right"
WEIGHTED = "; SFL-V2: server steps carry a_n"

Builder = Callable[[str], Certificate]
SHARPER: dict[str, tuple[Callable[..., Certificate], ...]] = {
    "drift": (non_convex_visits.drift,),
    "inner_end": (non_convex_visits.inner_product_end,),
    "square_end": (non_convex_visits.square,),
}
"""SFL-V2's, at the learning rate of the repair and at twice that."""


def paper_of(section: Section) -> Paper:
    """Return the maker of a section's entries."""
    words = [LIPSCHITZ]
    if section.partial:
        words.append(f"{UPDATES}; what client n does is meant given that it takes part")
    if section.sequential:
        words.append(SEQUENTIAL)
    return Paper(PAPER, "; ".join(words))


def _block(step: str) -> str:
    return "client" if step.startswith("client_") else "server"


def _kind(section: Section) -> str:
    if not section.sequential:
        return "v1"
    return "v2-partial" if section.partial else "v2"


def weights(section: Section, block: str) -> str:
    """Return the c_n of a block's sums."""
    if section.unweighted(block):
        return "1/q_n" if section.partial else "1"
    return "a_n^2/q_n" if section.partial else "a_n^2"


def _statement(section: Section, step: str) -> str:
    """Return what an equation of one block says."""
    block, plain = _block(step), step.removeprefix("client_")
    b = block[0]
    p = "tau_server" if block == "server" and not section.sequential else "tau"
    c = weights(section, block)
    over = "sum_n" if c == "1" else f"sum_n {c}"
    total = "8 N^2 eta^3" if c == "1" else "8 N eta^3"
    inner = f"E<grad_{b} f, x_{b}^t+1 - x_{b}^t>"
    square = f"S/2 E||x_{b}^t+1 - x_{b}^t||^2"
    return {
        "inner": f"{inner} <= -eta {p}/2 ||grad_{b} f||^2 + N eta S^2/2 {over} "
        f"sum_i E||x_{b},n^t,i - x_{b}^t||^2",
        "drift": f"sum_i<{p} E||x_{b},n^t,i - x_{b}^t||^2 <= 16 {p}^3 eta^2 "
        f"(sigma_n^2 + eps^2 + ||grad_{b} f||^2)",
        "inner_end": f"{inner} <= (-eta {p}/2 + {total} {p}^3 S^2"
        + ("" if c == "1" else f" {over}")
        + f") ||grad_{b} f||^2 + 8 N eta^3 S^2 {p}^3 {over} (sigma_n^2 + eps^2)",
        "square": f"{square} <= S N eta^2 {p}/2 {over} sum_i (E||g_{b},n^t,i - "
        f"g_{b},n^t||^2 + ||grad_{b} F_n||^2 + sigma_n^2)",
        "gradient_drift": f"sum_i<{p} E||g_{b},n^t,i - g_{b},n^t||^2 <= 8 {p}^3 eta^2 "
        f"S^2 (||grad_{b} F_n||^2 + sigma_n^2)",
        "square_end": f"{square} <= S N eta^2 {p}/2 {over} ({p} + 8 {p}^3 eta^2 "
        f"S^2) (2 ||grad_{b} f||^2 + 2 eps^2 + sigma_n^2)",
    }[plain]


def _uses(section: Section, step: str) -> str:
    """Return what the paper derives an equation of one block from."""
    first_version = SECTIONS["F" if section.partial else "D"]
    similar = first_version if section.sequential else section
    steps = {
        "inner": (),
        "drift": (),
        "inner_end": ("inner", "drift"),
        "square": (),
        "gradient_drift": (),
        "square_end": ("square", "gradient_drift"),
        "client_inner_end": ("inner",),
        "client_square_end": ("square",),
    }[step]
    lemmas = {
        "drift": "lemma-C.6",
        "gradient_drift": "lemma-C.7",
        "client_inner_end": "lemma-C.6",
        "client_square_end": "lemma-C.7",
    }
    if step.startswith("client_") and section.sequential:
        return f"eq-{similar.number(step)}"  # "the same as in version 1"
    used = [f"eq-{section.number(other)}" for other in steps]
    if step in lemmas:
        used.append(lemmas[step])
    return " ".join(used)


def _block_repair(section: Section, step: str, name: str) -> Repair:
    """Return the nearest true statement about one block, or about one client in it."""
    plain, kind = step.removeprefix("client_"), _kind(section)
    weighted = WEIGHTED if section.sequential else ""
    size = SIZE[kind].replace("N a_n^2", f"N {weights(section, 'client')}")
    build: Builder
    if plain == "square":
        build = non_convex_blocks.square
        words = "Cauchy-Schwarz over clients and steps, Young with c = 1, variance."
        meaning = f"{BLOCK}; c_n = {weights(section, _block(step))}"
        return repair(name, build, words, "twice the printed right side", meaning)
    if plain == "gradient_drift":
        build = appendix_c.lemma_c7_repaired
        words = "Lemma C.7's repair: a block of a gradient is at most the whole."
        change = "the whole vector's move; the variance without eta^2; other samples"
        return repair(name, build, words, change)
    if plain == "drift" and not section.sequential:
        words = "Lemma C.6; a block's move is at most that of the whole vector."
        meaning = "tau the number of steps of the block"
        return repair(name, appendix_c.lemma_c6, words, WHOLE, meaning)
    make, words = {
        "inner": (non_convex_blocks.inner_product, "Polarisation; Jensen; Lipschitz."),
        "drift": (non_convex_blocks.drift, "Drift, Young, heterogeneity."),
        "inner_end": (non_convex_blocks.inner_product_end, "Both steps before it."),
        "square_end": (non_convex_blocks.square_end, "Jensen, Young, drift."),
    }[plain]
    change = WHOLE + weighted
    if plain == "square_end":
        change += "; four times the printed constants"
    meanings = [BLOCK]
    if plain in {"inner", "drift"}:
        meanings.append(DRIFT[kind])
    if plain != "inner":
        meanings.append(size)
    sharper = tuple(
        partial(more, kind=kind, times=times)
        for more in SHARPER.get(plain, ())
        if section.sequential
        for times in (1, 2)
    )
    if section.letter == "D" and step == plain:  # the same for (84), (85), (147), ...
        sharper = non_convex_v1_block.SHARPER.get(plain, ())
    if section.sequential and plain == "square_end":
        in_parts = non_convex_visits.square_in_parts
        sharper = (*sharper, partial(in_parts, kind=kind))
    meaning = "; ".join(meanings)
    return repair(name, partial(make, kind=kind), words, change, meaning, sharper)


def repair(
    name: str,
    build: Builder,
    words: str,
    change: str,
    meaning: str = "",
    sharper: tuple[Builder, ...] = (),
) -> Repair:
    """Return a repair whose statement is that of its certificate.

    Args:
        name: id of the claim within the paper.
        build: the certificate, from the identifier.
        words: how it is proved.
        change: from the printed statement.
        meaning: of the symbols.
        sharper: certificates of more, from the identifier.

    Returns:
        The repair.
    """
    proved = proof(name, words, build, suffix="#repair", sharper=sharper)
    certificate = build("")
    said = f"{certificate.statement} for {certificate.domain.words}"
    said = f"{said}; {meaning}" if meaning else said
    return Repair(said.replace("**", "^"), proved, change)


def _one_block(section: Section, step: str) -> Claim:
    """Return an equation about one block of the model."""
    block, plain = _block(step), step.removeprefix("client_")
    number = section.number(step)
    fails = partial(block_fails, section.letter, plain, block)
    further = [partial(fails, clients=10, tau=5)]
    if section.partial:
        further.append(partial(fails, q=HALF))
    where = f"{section.letter}.3.{1 if block == 'server' else 2}"
    name = f"eq-{number}"
    return paper_of(section).claim(
        name,
        f"App. {where}, ({number})",
        "equation",
        _statement(section, step),
        Refutation(fails, WHY[plain], tuple(further)),
        _uses(section, step),
        _block_repair(section, step, name),
    )


def block_equations(section: Section) -> tuple[Claim, ...]:
    """Return the entries of a section; (78) is among those of the lemmas."""
    steps = BLOCK_STEPS[1:] if section.letter == "D" else BLOCK_STEPS
    return tuple(_one_block(section, step) for step in steps)


CLAIMS: tuple[Claim, ...] = tuple(
    claim for section in SECTIONS.values() for claim in block_equations(section)
)
