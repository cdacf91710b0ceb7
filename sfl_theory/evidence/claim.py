"""A claim of a paper: what it says, how it is read, and what decides it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

from sfl_theory import claims as sections
from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Finding

KINDS = (
    "assumption",
    "proposition",
    "lemma",
    "theorem",
    "equation",
    "condition",
    "algorithm",
    "table",
    "text",
)


@dataclass(frozen=True)
class Proof:
    """Certificates that together prove a claim.

    Attributes:
        certificates: builders, each replayed; all must pass.
        words: how they fit together.
        sharper: builders of certificates of more than is claimed: smaller right sides
            for left sides of ``certificates``, on the same domain. Replayed too; they
            tell which constants of the claim are not the best.
        scope: on which reading or hypotheses it is proved, to follow "proved".
    """

    certificates: tuple[Callable[[], Certificate], ...]
    words: str
    sharper: tuple[Callable[[], Certificate], ...] = ()
    scope: str = ""


@dataclass(frozen=True)
class Refutation:
    """An instance that breaks a claim.

    Attributes:
        instance: runs it and returns both sides; the smallest one.
        words: what goes wrong; the first sentence is the cause in one line.
        further: more instances, for instance in a practical range; all are replayed.
        scope: for which hypotheses it fails, and what is known of the others, to follow
            "refuted".
    """

    instance: Callable[[], Finding]
    words: str
    further: tuple[Callable[[], Finding], ...] = ()
    scope: str = ""

    @property
    def cause(self) -> str:
        """What goes wrong, in one line: the first sentence of ``words``."""
        first, end, _ = self.words.partition(". ")
        return first + end.rstrip()


@dataclass(frozen=True)
class Open:
    """An honest remainder.

    Attributes:
        words: the step that resists and what was tried.
    """

    words: str
    scope: ClassVar[str] = ""


@dataclass(frozen=True)
class Terms:
    """Statements as terms, which the kernel decides (``sfl_theory.claims``).

    Attributes:
        parts: name and statement with what decides it.
        words: how they fit together.
        scope: for which hypotheses the status holds.
        cause: what is wrong, in one line; "" unless refuted.
    """

    parts: tuple[tuple[str, sections.Part], ...]
    words: str = ""
    scope: str = ""
    cause: str = ""

    @property
    def declared(self) -> str:
        """The status that the parts are entered for; deciding them says if earned."""
        kinds = [(part.by, part.says.denied) for _, part in self.parts]
        if any(isinstance(by, sections.Model) and not denied for by, denied in kinds):
            return "refuted"
        return "proved" if kinds and all(by for by, _ in kinds) else "unproved"


Evidence = Proof | Refutation | Open | Terms


@dataclass(frozen=True)
class Repair:
    """The nearest true statement.

    Attributes:
        statement: what is claimed instead.
        evidence: its proof, or why it is open.
        change: the smallest change from the printed statement.
    """

    statement: str
    evidence: Proof | Open | Terms
    change: str


@dataclass(frozen=True)
class Claim:
    """One entry of the ledger.

    Attributes:
        id: "PAPER/thm-3.7/strongly_convex", "PAPER/lemma-C.5", "PAPER/eq-57", ...
        location: where it stands.
        kind: one of ``KINDS``.
        statement: what it says.
        evidence: what decides it.
        depends_on: ids of claims that the *paper's* proof uses.
        reading: how unclear or impossible assumptions are read.
        repair: the nearest true statement where the claim is not proved.
        section: the claim as its paper's section holds it, where it has moved there.
    """

    id: str
    location: str
    kind: str
    statement: str
    evidence: Evidence
    depends_on: tuple[str, ...] = ()
    reading: str = ""
    repair: Repair | None = None
    section: sections.Claim | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise ValueError(f"{self.id}: kind must be one of {', '.join(KINDS)}")


@dataclass(frozen=True)
class Paper:
    """Makes the entries of one paper that share a reading.

    Attributes:
        key: of the paper.
        reading: how unclear or impossible assumptions are read.
    """

    key: str
    reading: str

    def claim(
        self,
        name: str,
        location: str,
        kind: str,
        statement: str,
        evidence: Proof | Refutation | Open,
        depends_on: str = "",
        repair: Repair | None = None,
    ) -> Claim:
        """Return one entry.

        Args:
            name: its id within the paper.
            location: where it stands.
            kind: one of ``KINDS``.
            statement: what it says.
            evidence: what decides it.
            depends_on: names of claims of this paper, separated by spaces.
            repair: the nearest true statement.

        Returns:
            The claim.
        """
        used = tuple(f"{self.key}/{other}" for other in depends_on.split())
        return Claim(
            f"{self.key}/{name}",
            location,
            kind,
            statement,
            evidence,
            used,
            self.reading,
            repair,
        )

    def proof(
        self,
        name: str,
        build: Callable[[str], tuple[Callable[[], Certificate], ...]],
        words: str,
        suffix: str = "",
        sharper: Callable[[str], tuple[Callable[[], Certificate], ...]] | None = None,
        scope: str = "",
    ) -> Proof:
        """Return a proof whose certificates are made for a claim of this paper.

        Args:
            name: id of the claim within the paper.
            build: makes the certificates from the full identifier.
            words: how they fit together.
            suffix: "#repair" where a repair is proved.
            sharper: makes the certificates of ``Proof.sharper``.
            scope: on which reading or hypotheses it is proved.

        Returns:
            The proof.
        """
        claim = f"{self.key}/{name}{suffix}"
        return Proof(build(claim), words, sharper(claim) if sharper else (), scope)


def entered(claim: sections.Claim) -> Claim:
    """Return the entry of a claim that stands in its paper's section."""
    whole = list(sections.parts_of(claim))
    own, repaired = whole[: len(claim.parts)], whole[len(claim.parts) :]
    evidence = (
        Terms(tuple(own), claim.words, claim.scope, claim.cause)
        if own
        else Open(claim.words)
    )
    repair = None
    if claim.repair is not None:
        formulas = "; ".join(sections.plain(part.says.tex) for _, part in repaired)
        repair = Repair(formulas, Terms(tuple(repaired)), claim.repair.change)
    readings = dict.fromkeys(part.reading for part in claim.parts if part.reading)
    return Claim(
        claim.id,
        claim.location,
        claim.kind.value,
        claim.statement,
        evidence,
        claim.depends_on,
        "; ".join(readings),
        repair,
        claim,
    )
