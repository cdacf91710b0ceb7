"""Statements as records: LaTeX, terms, label, and the evidence that decides it.

``terms`` are the kernel's tables (`sfl_theory.kernel.reader`): the statement's own
stand under ``statement``, what only its evidence needs is continued in ``evidence``.
Whoever looks for errors leaves ``evidence`` and ``label`` away.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from sfl_theory.evidence import OURS, Claim, Part, evidence, names
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import runs_of
from sfl_theory.ledger import Entry
from sfl_theory.mutation.judged import Judged, Shown
from sfl_theory.notation.spelling import scaled, total
from sfl_theory.notation.writer import ZERO, Writer
from sfl_theory.notation.written import Form
from sfl_theory.proofs.export import Encoder, Json, ModelData, Statement

LABELS = ("proved", "refuted", "open")
Record = dict[str, Json]


@dataclass(frozen=True)
class Source:
    """A statement of the ledger and where it is from.

    Attributes:
        entry: of its claim, decided.
        name: the kernel's.
        part: the statement and what decides it.
        repairs: whether it is what is true instead.
    """

    entry: Entry
    name: str
    part: Part
    repairs: bool


def claim_record(source: Source) -> Record:
    """Return the record of a statement of the ledger, labelled as it is decided.

    A statement that says that assumptions have a model is exported as its contrary,
    ``1 <= 0`` under these assumptions, which that model refutes.

    Args:
        source: the statement.

    Returns:
        What stands in a line of the file.
    """
    claim, part, name = source.entry.claim, source.part, source.name
    says = replace(part.says, denied=False)
    theorem, model = evidence(part, name)
    outcome = source.entry.repair if source.repairs else source.entry.outcome
    fields: Record = {
        "id": name,
        "paper": claim.id.split("/")[0],
        "claim": claim.id,
        "location": claim.location,
        "kind": claim.kind.value,
        "role": "repair" if source.repairs else _role(claim),
        "title": claim.title,
        "claim_status": outcome.status if outcome is not None else "unproved",
        "scope": claim.scope,
        "contrary": part.says.denied,
    }
    latex: Json = {
        "statement": says.tex,
        "assumptions": [one.tex for one in says.assumed],
        "definitions": [*says.definitions],
    }
    decided = _decided(name, latex, says.statement(name), theorem, model)
    falls = decided["label"] == "refuted" and claim.severity is not None
    falls = falls and not source.repairs and not part.says.denied
    return {
        **fields,
        "severity": claim.severity.value if falls and claim.severity else None,
        "cause": claim.cause if falls else "",
        **decided,
        "reproduce": source.entry.reproduce,
    }


def _role(claim: Claim) -> str:
    return "added" if claim.location == OURS else "printed"


def mutant_record(one: Judged, number: int, part: Part, writer: Writer) -> Record:
    """Return the record of a mutant.

    Args:
        one: what became of it.
        number: of the mutant among those of its statement.
        part: the statement of the ledger that it is a neighbour of.
        writer: for what nobody wrote.

    Returns:
        What stands in a line of the file.

    Raises:
        ValueError: the verdict came without what it is on.
    """
    if one.shown is None:
        raise ValueError(f"{one.claim}: a verdict without its statement")
    name = f"{one.claim}--m{number}"
    said = replace(one.shown.neighbour.statement, id=name)
    refuted = one.verdict == "refuted"
    theorem = one.shown.theorem if not refuted else None
    fields: Record = {
        "id": name,
        "paper": one.claim.split("/")[0],
        "of": one.claim,
        "operator": one.operator,
        "change": one.change,
        "about": one.subject,
        "why_open": one.verdict if one.verdict in ("undecided", "no model") else None,
    }
    latex = _mutant_latex(one.shown, part, writer)
    model = one.shown.model if refuted else None
    return {**fields, **_decided(name, latex, said, theorem, model)}


def unstated(entry: Entry) -> Record:
    """Return the record of a claim whose statement is no term: open."""
    claim = entry.claim
    return {
        "id": claim.id,
        "paper": claim.id.split("/")[0],
        "claim": claim.id,
        "location": claim.location,
        "kind": claim.kind.value,
        "role": _role(claim),
        "title": claim.title,
        "claim_status": entry.outcome.status,
        "scope": claim.scope,
        "contrary": False,
        "severity": None,
        "cause": "",
        "latex": None,
        "reads": None,
        "statement": None,
        "label": "open",
        "evidence": None,
        "replay": None,
        "reproduce": entry.reproduce,
    }


def _decided(
    name: str,
    latex: Json,
    statement: Statement,
    theorem: Theorem | None,
    model: ModelData | None,
) -> Record:
    """Return LaTeX, terms, label and evidence of a statement."""
    encoder = Encoder()
    for one in sorted(statement.hypotheses, key=str):
        encoder.place(one)
    encoder.place(statement.left)
    encoder.place(statement.right)
    own = len(encoder.terms)
    proof: Json = None
    label = "open"
    made: dict[str, Json] = {}
    if theorem is not None:
        label, made = "proved", encoder.claim(statement, theorem, model)
    elif model is not None:
        label, made = "refuted", encoder.refutation(statement, model)
    if made:
        kept: Record = {k: made[k] for k in ("theorem", "model") if k in made}
        proof = {"terms": encoder.terms[own:], "steps": encoder.steps, **kept}
    return {
        "latex": latex,
        "reads": reads(statement),
        "statement": {
            "terms": encoder.terms[:own],
            "hypotheses": [encoder.place(h) for h in _assumed(statement)],
            "left": encoder.place(statement.left),
            "right": encoder.place(statement.right),
            "equal": statement.equal,
        },
        "label": label,
        "evidence": proof,
        "replay": f"python -I -S check.py . --id {name}",
    }


def _assumed(statement: Statement) -> list[object]:
    return sorted(statement.hypotheses, key=str)


def reads(statement: Statement) -> Record:
    """Return how the kernel prints a statement; the checker prints and compares."""
    parts = (statement.left, statement.right, *statement.hypotheses)
    free = frozenset[object]().union(*(part.free for part in parts))
    return {
        "left": str(statement.left),
        "relation": "=" if statement.equal else "<=",
        "right": str(statement.right),
        "assuming": [*map(str, _assumed(statement))],
        "where": [*sorted(map(str, runs_of(*parts)))],
        "for_all": [*sorted(f"{v} {v.sort.value}" for v in free if hasattr(v, "sort"))],
    }


def _mutant_latex(shown: Shown, part: Part, writer: Writer) -> Json:
    one, says = shown.neighbour, part.says
    left = says.left if one.left is one.whole.left else writer.form(one.left)
    right = says.right
    if one.summand is not None and one.factor is not None:
        factor = writer.number(one.factor)
        parts = [
            scaled(factor, s) if s.value is one.summand else s
            for s in says.right.summands
            if s.value is not one.summand or one.factor
        ]
        right = total(parts, ZERO)
    elif one.right_side is not None and one.right_side is not one.whole.right:
        right = writer.form(one.right_side)
    _same_or_refuse(left, right, one.statement)
    known = {a.value: a.tex for a in says.assumed}
    assumed: Sequence[Json] = [
        known.get(h) or writer.assumed(h).tex for h in sorted(one.hypotheses, key=str)
    ]
    relation = "=" if says.equal else r"\le"
    return {
        "statement": f"{left.tex} {relation} {right.tex}",
        "assumptions": [*assumed],
        "definitions": [*says.definitions],
    }


def _same_or_refuse(left: Form, right: Form, statement: Statement) -> None:
    """Refuse LaTeX of other sides than the statement's.

    Raises:
        ValueError: they differ.
    """
    if left.value - statement.left or right.value - statement.right:
        raise ValueError(f"{statement.id}: the LaTeX is of another statement")


def sources(entries: Iterable[Entry]) -> list[Source]:
    """Return the statements of claims and of their repairs."""
    out = []
    for entry in entries:
        claim, repair = entry.claim, entry.claim.repair
        for name, part in zip(names(claim, claim.parts), claim.parts, strict=True):
            out.append(Source(entry, name, part, False))
        own = repair.parts if repair is not None else ()
        for name, part in zip(names(claim, own, "--repair"), own, strict=True):
            out.append(Source(entry, name, part, True))
    return out
