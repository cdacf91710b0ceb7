r"""Claims of papers: statements as terms, and what decides each of them.

A section of a paper is a module with a tuple ``CLAIMS``. A `Claim` has parts, each an
inequality or an equality ``assumptions |- left <= right`` that was *written* (term and
LaTeX at once) and what decides it: `Proof` or `Model`. The claim is proved if all its
parts are, and refuted if one of them is. Only the kernel says so, when it is asked: a
theorem has to be the statement, a model has to meet every assumption.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import cache, cached_property, reduce
from importlib import import_module
from pathlib import Path
from typing import TypedDict, Unpack

from sfl_theory.kernel import replay as kernel
from sfl_theory.kernel.hypotheses import Hypothesis, Minimiser
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import MEAN, Rate, Run, Star, Var, runs_of, subterms
from sfl_theory.models.federated import FederatedRun
from sfl_theory.models.federation import as_model
from sfl_theory.notation.plain import plain, text_of
from sfl_theory.notation.written import (
    RATES,
    Assumed,
    Form,
    Side,
    Terms,
    as_form,
    definitions,
    f,
    form,
    minimiser,
)
from sfl_theory.papers import PAPERS
from sfl_theory.proofs.export import ModelData, Statement, model_of
from sfl_theory.proofs.witness import HALF, witness

REJECTED = "evidence rejected"
"""How the line begins that says why evidence decides nothing."""


class Kind(Enum):
    """What an entry is in its paper."""

    ASSUMPTION = "assumption"
    PROPOSITION = "proposition"
    LEMMA = "lemma"
    THEOREM = "theorem"
    EQUATION = "equation"
    CONDITION = "condition"
    ALGORITHM = "algorithm"
    TABLE = "table"
    TEXT = "text"

    def __call__(
        self, name: str, location: str, title: str, *parts: Part, **told: Unpack[Told]
    ) -> Claim:
        """Return a claim of this kind: ``Kind.LEMMA(id, where, title, part, ..)``."""
        return Claim(name, location, self, title, parts, **told)


class Severity(Enum):
    """What a refutation means: for the paper's results, or for their presentation."""

    THEOREM = "theorem"
    """A stated result is false."""
    PROOF = "proof"
    """The result stands, or is decided elsewhere; this step of its proof does not."""
    CONSTANT = "constant"
    """Only a constant is wrong."""
    SLIP = "slip"
    """Notation: "=" for "<=", an index, a missing bracket."""

    @property
    def means(self) -> str:
        """What it says of the paper."""
        return {
            Severity.THEOREM: "a stated result is false",
            Severity.PROOF: "a step of the proof",
            Severity.CONSTANT: "a constant only",
            Severity.SLIP: "a slip of notation",
        }[self]


@dataclass(frozen=True)
class Says:
    """``assumed |- left <= right``, or ``=``; `denied`: the claim is that it is false.

    The only denied statements are `consistent`: assumptions that have a model.
    `minimal`: where f* is written, it is also assumed to minimise f. `terms`: what the
    right side is the sum of, under the names that the library has for them.
    """

    left: Form
    right: Form
    stated: tuple[Assumed, ...] = ()
    equal: bool = False
    denied: bool = False
    minimal: bool = False
    terms: tuple[tuple[str, Form], ...] = ()

    @cached_property
    def assumed(self) -> tuple[Assumed, ...]:
        """What is assumed."""
        return self.stated + (minimiser(f),) * (self.minimal and self._named())

    def _named(self) -> bool:
        """Return whether f* is written, and is not yet said to minimise f."""
        known = {one.value for one in self.stated}
        inside = subterms(self.left.value, self.right.value, *known)
        return Star(MEAN) in inside and Minimiser(MEAN) not in known

    @property
    def hypotheses(self) -> frozenset[Hypothesis]:
        """What is assumed, as the kernel's terms."""
        return frozenset(one.value for one in self.assumed)

    def statement(self, name: str) -> Statement:
        """Return the statement for the kernel."""
        assumed = self.hypotheses
        return Statement(name, assumed, self.left.value, self.right.value, self.equal)

    @property
    def tex(self) -> str:
        """LaTeX of the inequality, in the paper's order."""
        if self.denied:
            return r"\text{there is a federation that meets all of the assumptions}"
        relation = "=" if self.equal else r"\le"
        return f"{self.left.tex} {relation} {self.right.tex}"

    @cached_property
    def definitions(self) -> list[str]:
        r"""LaTeX of what symbols stand for, like ``\kappa = \frac{L}{\mu}``."""
        given = (one for assumed in self.stated for one in assumed.of)
        paces = (one for one in subterms(*self.runs) if isinstance(one, Rate))
        rates = (RATES.get(one) for one in sorted(paces, key=str))
        return definitions(self.left, self.right, *given, *rates)

    @cached_property
    def runs(self) -> set[Run]:
        """The runs of algorithms that are spoken of."""
        return runs_of(self.left.value, self.right.value, *self.hypotheses)


def says(left: Side, right: Side | Terms, *assumed: Assumed) -> Says:
    """Return ``left <= right`` under assumptions; `right` may be terms by name."""
    if not isinstance(right, Mapping):
        return Says(as_form(left), as_form(right), assumed, minimal=True)
    named = tuple((name, as_form(term)) for name, term in right.items())
    whole = reduce(operator.add, (term for _, term in named))
    return Says(as_form(left), whole, assumed, minimal=True, terms=named)


def equal(left: Side, right: Side, *assumed: Assumed) -> Says:
    """Return ``left = right`` under assumptions."""
    return Says(as_form(left), as_form(right), assumed, equal=True, minimal=True)


def consistent(*assumed: Assumed) -> Says:
    """Return that assumptions do not exclude each other; a model decides it."""
    return Says(form(1), form(0), assumed, denied=True)


def clash(*assumed: Assumed) -> Says:
    """Return that assumptions exclude each other: 1 <= 0 follows."""
    return Says(form(1), form(0), assumed)


@dataclass(frozen=True)
class Proof:
    """What proves a statement.

    Attributes:
        theorem: makes it by the kernel's rules.
        words: the idea in a few lines, formulas in LaTeX.
        model: a model that meets the assumptions, so that the statement says something;
            None: the standard one is tried.
        vacuous: why no model can meet the assumptions.
    """

    theorem: Callable[[], Theorem]
    words: str = ""
    model: Callable[[], ModelData] | None = None
    vacuous: str = ""


@dataclass(frozen=True)
class Model:
    """A model that decides a statement: it breaks it (or is what `consistent` claims).

    Attributes:
        data: builds it, where it is no `run`.
        words: what happens in it.
        run: builds the run of an algorithm that it is; pictures and the trainer take
            the same one.
        numbers: parameters that are not the run's own.
    """

    data: Callable[[], ModelData] | None = None
    words: str = ""
    run: Callable[[], FederatedRun] | None = None
    numbers: Mapping[Var, Fraction] = field(default_factory=dict)

    def build(self, statement: Statement) -> ModelData:
        """Return the model for a statement.

        Raises:
            ValueError: there is neither data nor a run.
        """
        if self.run is not None:
            return as_model(self.run(), statement, self.numbers)
        if self.data is None:
            raise ValueError("a model is data or a run")
        return self.data()


@dataclass(frozen=True)
class Part:
    """One statement of a claim and what decides it; None: nothing does, yet."""

    says: Says
    by: Proof | Model | None
    reading: str = ""


@dataclass(frozen=True)
class Repair:
    """The nearest true statement; `change`: the smallest change that makes it true."""

    parts: tuple[Part, ...]
    change: str


def proved(
    says: Says,
    theorem: Callable[[], Theorem],
    words: str = "",
    reading: str = "",
    *,
    model: Callable[[], ModelData] | None = None,
    vacuous: str = "",
) -> Part:
    """Return a statement with its `Proof`."""
    return Part(says, Proof(theorem, words, model, vacuous), reading)


def meeting(
    says: Says,
    noise: Fraction = HALF,
    rates: Mapping[str, Rate] | None = None,
    **changed: int | Fraction,
) -> Callable[[], ModelData]:
    """Return the standard model, with other noise, rates or parameters, by name."""
    return lambda: witness(says.statement("met"), changed, noise, rates)


def broken(
    says: Says,
    data: Callable[[], ModelData] | None = None,
    words: str = "",
    reading: str = "",
    *,
    run: Callable[[], FederatedRun] | None = None,
    numbers: Mapping[Var, Fraction] | None = None,
) -> Part:
    """Return a statement with the `Model` that breaks it."""
    return Part(says, Model(data, words, run, numbers or {}), reading)


def repaired(change: str, *parts: Part) -> Repair:
    """Return the `Repair` that these parts are."""
    return Repair(parts, change)


@dataclass(frozen=True)
class Defect:
    """What is wrong in a paper once and breaks several claims, in a sentence."""

    words: str


OURS = "not in the paper"
"""Location of a claim that the audit adds."""


class Told(TypedDict, total=False):
    """What a claim may tell besides its statements."""

    severity: Severity | None
    scope: str
    cause: str
    root: Defect | None
    words: str
    uses: str
    first_failure: str
    repair: Repair | None


@dataclass(frozen=True)
class Claim:
    """What a paper claims, and what is known of it.

    Attributes:
        id: "PAPER/thm-3.7/strongly_convex", "PAPER/eq-57", ...
        location: where it stands.
        kind: what it is there.
        title: what it says, in a sentence without formulas where formulas follow.
        parts: the statements; empty where the claim has no terms (then nothing decides
            it).
        severity: of a refutation.
        scope: for which hypotheses it is proved or refuted, what is known of others.
        cause: what is wrong, in one line.
        words: the whole in prose; for an open claim, what was tried.
        uses: ids of what the printed proof rests on; those of the same paper without
            its key.
        first_failure: for a theorem, the id of the first step of the printed proof
            that fails.
        repair: the nearest true statement.
        root: of a refutation, the defect that others have, too.
    """

    id: str
    location: str
    kind: Kind
    title: str
    parts: tuple[Part, ...] = ()
    severity: Severity | None = None
    scope: str = ""
    cause: str = ""
    words: str = ""
    uses: str = ""
    first_failure: str = ""
    repair: Repair | None = None
    root: Defect | None = None

    def __post_init__(self) -> None:
        """Refuse a refutation that does not tell what it means.

        Raises:
            ValueError: severity and cause are said of another claim than a refuted one.
        """
        refuted = any(
            isinstance(part.by, Model) and not part.says.denied for part in self.parts
        )
        told = self.severity is not None and self.cause != ""
        untold = self.severity is None and self.cause == "" and self.root is None
        if not (told if refuted else untold):
            raise ValueError(f"{self.id}: severity and cause belong to a refutation")

    @property
    def depends_on(self) -> tuple[str, ...]:
        """Ids of what the printed proof rests on."""
        return tuple(map(self.id_of, self.uses.split()))

    def id_of(self, name: str) -> str:
        """Return the id of a claim of this paper, or of one named with its paper."""
        paper, _, _ = self.id.partition("/")
        return name if name.split("/")[0] in PAPERS else f"{paper}/{name}"

    @property
    def tex(self) -> tuple[str, ...]:
        """LaTeX of every part."""
        return tuple(part.says.tex for part in self.parts)

    @property
    def statement(self) -> str:
        """Title and formulas as plain text."""
        formulas = "; ".join(map(plain, self.tex))
        return f"{self.title} {formulas}".strip()


@dataclass(frozen=True)
class Decided:
    """What the kernel said of one part: a status and the lines that it printed.

    Attributes:
        status: "proved", "refuted" or "unproved".
        lines: as printed.
        claim: what the kernel decided.
        theorem: by which.
        data: or by which model.
    """

    status: str
    lines: tuple[str, ...] = ()
    claim: kernel.Claim | None = field(default=None, compare=False)
    theorem: Theorem | None = field(default=None, compare=False)
    data: ModelData | None = field(default=None, compare=False)


def decide(part: Part, name: str) -> Decided:
    """Ask the kernel about one part.

    A theorem that is not the statement, or a model that does not decide it, leaves the
    part *unproved*, with the reason; so does whatever else the evidence raises.

    Args:
        part: statement and evidence.
        name: under which the kernel prints it.

    Returns:
        "proved", "refuted" or "unproved", and the kernel's lines.
    """
    if part.by is None:
        return Decided("unproved")
    try:
        theorem, data = evidence(part, name)
        one = part.says.statement(name)
        model = None if data is None else model_of(data)
        found = kernel.decide(
            name, one.hypotheses, one.left, one.right, one.equal, theorem, model
        )
    except (Exception, SystemExit) as error:  # a user's evidence may raise anything
        kind = "" if isinstance(error, ValueError) else f"{type(error).__name__}: "
        return Decided("unproved", (f"{REJECTED}: {kind}{text_of(error)}",))
    status = "proved" if found.proved or part.says.denied else "refuted"
    lines = tuple(str(found).splitlines())
    return Decided(status, lines, found, theorem, data)


def evidence(part: Part, name: str) -> tuple[Theorem | None, ModelData | None]:
    """Return the theorem and the model of a part."""
    if isinstance(part.by, Model):
        return None, part.by.build(part.says.statement(name))
    if part.by is None:
        return None, None
    if part.by.vacuous:
        return part.by.theorem(), None
    build = part.by.model or (lambda: witness(part.says.statement(name)))
    return part.by.theorem(), build()


def names(claim: Claim, parts: tuple[Part, ...], suffix: str = "") -> tuple[str, ...]:
    """Return the kernel's names of parts of a claim."""
    base = claim.id + suffix
    return tuple(
        base if len(parts) == 1 else f"{base}--{place}"
        for place in range(1, len(parts) + 1)
    )


def whole(found: tuple[Decided, ...]) -> str:
    """Return the status that the parts earn together."""
    if any(one.status == "refuted" for one in found):
        return "refuted"
    proved = found and all(one.status == "proved" for one in found)
    return "proved" if proved else "unproved"


@cache
def sections(paper: str) -> tuple[Claim, ...]:
    """Return the claims of a paper's sections, in its order."""
    modules = import_module(f"sfl_theory.papers.{paper}").SECTIONS
    return tuple(claim for name in modules for claim in _section(paper, name))


def likely(identifier: str) -> Iterator[Claim]:
    """Yield a paper's claims, of the sections first whose texts are most like an id.

    A section is read when its first claim is asked for.
    """
    paper, _, rest = identifier.partition("/")
    if paper not in PAPERS:
        return
    starts = [f'"{paper}/{rest[:size]}' for size in range(1, len(rest) + 1)]
    words = [re.compile(rf"\b{re.escape(word)}\b") for word in re.split("[/-]", rest)]

    def like(name: str) -> tuple[int, int]:
        text = (Path(str(package.__file__)).parent / f"{name}.py").read_text("utf-8")
        return sum(start in text for start in starts), sum(
            word.search(text) is not None for word in words
        )

    package = import_module(f"sfl_theory.papers.{paper}")
    for name in sorted(package.SECTIONS, key=like, reverse=True):
        yield from _section(paper, name)


def _section(paper: str, name: str) -> tuple[Claim, ...]:
    claims: tuple[Claim, ...]
    claims = import_module(f"sfl_theory.papers.{paper}.{name}").CLAIMS
    return claims


def parts_of(claim: Claim) -> Iterator[tuple[str, Part]]:
    """Yield every part of a claim and of its repair with its name."""
    yield from zip(names(claim, claim.parts), claim.parts, strict=True)
    if claim.repair is not None:
        own = claim.repair.parts
        yield from zip(names(claim, own, "--repair"), own, strict=True)
