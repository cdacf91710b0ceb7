"""The ledger: claims of all papers, who rests on whom, what their evidence earns.

A claim is entered in its paper's section (`sfl_theory.evidence`); nothing here decides
it. An `Entry` asks the kernel, now, and puts the answer into the words and JSON keys
that commands, pages and pictures share. `standing` says without asking what a claim is
entered for; a test asks the kernel about every claim and compares.
"""

from __future__ import annotations

import gc
import shlex
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cache, cached_property

from sfl_theory.evidence import (
    REJECTED,
    Claim,
    Decided,
    Model,
    Part,
    decide,
    likely,
    names,
    sections,
    whole,
)
from sfl_theory.models.federated import FederatedRun
from sfl_theory.notation.plain import plain
from sfl_theory.papers import PAPERS, about

STATUSES = ("proved", "refuted", "unproved")
METHODS = {"proved": "certificate", "refuted": "instance", "unproved": "none"}

Json = None | str | list[str] | dict[str, "Json"]


def coverage(papers: Iterable[str] = PAPERS) -> str:
    """Return what the ledger lacks; shown wherever it is.

    Args:
        papers: that are shown.
    """
    own = [paper.lacks for paper in map(about, papers) if paper and paper.lacks]
    return " ".join((
        "Not in the ledger: what the papers read off figures without printed numbers, "
        "and definitions.",
        *own,
        "What is not in the ledger is not claimed.",
    ))


@dataclass(frozen=True)
class Finding:
    """Both sides of a statement in a run that breaks it, for pictures and trainer.

    Attributes:
        setup: the run in words.
        left: left side of ``left <= right``, exact.
        right: right side.
        run: the run.
    """

    setup: str
    left: Fraction
    right: Fraction
    run: FederatedRun


@dataclass(frozen=True)
class Outcome:
    """What the kernel said of the parts of a claim, or of its repair.

    Attributes:
        status: one of ``STATUSES``.
        lines: what proves or refutes each part in words, and what the kernel printed.
        findings: the runs among what refutes.
        decided: every part; left out where an outcome comes from another process.
    """

    status: str
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()
    decided: tuple[Decided, ...] = field(default=(), compare=False, repr=False)

    @property
    def method(self) -> str:
        """What earned the status: "certificate", "instance" or "none"."""
        return METHODS[self.status]


@dataclass(frozen=True)
class Standing:
    """What the ledger says of a claim.

    Attributes:
        claim: its id, to replay it.
        status: one of ``STATUSES``.
        scope: for which hypotheses the status holds, to follow it in a sentence.
        cause: what is wrong, in one line; "" unless refuted.
    """

    claim: str
    status: str
    scope: str
    cause: str

    @property
    def words(self) -> str:
        """Status and scope."""
        return f"{self.status} {self.scope}".rstrip()


@dataclass(frozen=True)
class Entry:
    """A claim, decided when it is asked.

    Attributes:
        claim: the claim.
        file: of the user that holds it; "": it is one of the papers'.
        among: the claims that may rest on it; None: those of the papers.
    """

    claim: Claim
    file: str = ""
    among: Ledger | None = None

    @property
    def used_by(self) -> tuple[str, ...]:
        """Ids of the claims whose printed proofs rest on it."""
        return (self.among or ledger()).users(self.claim.id)

    @cached_property
    def outcome(self) -> Outcome:
        """What its evidence earns now."""
        return _outcome(self.claim, self.claim.parts, self.claim.words)

    @cached_property
    def repair(self) -> Outcome | None:
        """What the evidence of its repair earns now."""
        if self.claim.repair is None:
            return None
        return _outcome(self.claim, self.claim.repair.parts, suffix="--repair")

    @property
    def standing(self) -> Standing:
        """Status, scope and cause as they are earned now."""
        return _standing(self.claim, self.outcome.status)

    @property
    def why(self) -> str:
        """What decides it, in a line."""
        rejected = (one for one in self.outcome.lines if one.startswith(REJECTED))
        words = (part.by.words for part in self.claim.parts if part.by is not None)
        told = (self.standing.cause, *rejected, self.claim.words, *words)
        return next(filter(None, told), self.claim.title)

    @property
    def reading(self) -> str:
        """How printed words became terms, part by part."""
        return _read(self.claim.parts)

    @property
    def repair_reading(self) -> str:
        """How a repair's words became terms, part by part."""
        return _read(self.claim.repair.parts) if self.claim.repair else ""

    @property
    def repaired(self) -> str:
        """The repair's statements as plain text."""
        repair = self.claim.repair
        return "; ".join(plain(p.says.tex) for p in repair.parts) if repair else ""

    @property
    def reproduce(self) -> str:
        """The command that replays it, as a shell reads it."""
        where = ["--file", self.file] if self.file else []
        words = ["python", "-m", "bounds.audit", *where, "--claim", self.claim.id]
        return shlex.join(words)

    def as_dict(self) -> dict[str, Json]:
        """Return the entry under its JSON keys."""
        claim, outcome, now = self.claim, self.outcome, self.standing
        refuted = outcome.status == "refuted"
        severity = claim.severity.value if claim.severity and refuted else None
        repair: Json = None
        if claim.repair is not None and self.repair is not None:
            repair = {
                "statement": self.repaired,
                "latex": [part.says.tex for part in claim.repair.parts],
                "change": claim.repair.change,
                "reading": self.repair_reading,
                "status": self.repair.status,
                "method": self.repair.method,
                "evidence": list(self.repair.lines),
            }
        return {
            "id": claim.id,
            "location": claim.location,
            "kind": claim.kind.value,
            "statement": claim.statement,
            "latex": list(claim.tex),
            "reading": self.reading,
            "status": outcome.status,
            "severity": severity,
            "scope": now.scope,
            "cause": now.cause or None,
            "first_failure": claim.id_of(first)
            if (first := claim.first_failure)
            else None,
            "method": outcome.method,
            "evidence": list(outcome.lines),
            "reproduce": self.reproduce,
            "depends_on": list(claim.depends_on),
            "used_by": list(self.used_by),
            "repair": repair,
        }


def _read(parts: tuple[Part, ...]) -> str:
    return "; ".join(dict.fromkeys(part.reading for part in parts if part.reading))


def _outcome(
    claim: Claim, parts: tuple[Part, ...], words: str = "", suffix: str = ""
) -> Outcome:
    """Return what the kernel says of every part, asked now."""
    lines = [words] if words else []
    found: list[Decided] = []
    findings: list[Finding] = []
    for name, part in zip(names(claim, parts, suffix), parts, strict=True):
        one = decide(part, name)
        found.append(one)
        lines += [part.by.words] if part.by is not None and part.by.words else []
        lines += one.lines
        findings += _findings(part, one)
    decided = tuple(found)
    return Outcome(whole(decided), tuple(lines), tuple(findings), decided)


def _findings(part: Part, found: Decided) -> Iterator[Finding]:
    sides = None if found.claim is None else found.claim.sides
    if isinstance(part.by, Model) and part.by.run is not None and sides is not None:
        run = part.by.run()
        yield Finding(run.words, *sides, run)


def declared(parts: tuple[Part, ...]) -> str:
    """Return the status that parts are entered for, without asking the kernel."""
    if any(isinstance(part.by, Model) and not part.says.denied for part in parts):
        return "refuted"
    return "proved" if parts and all(part.by for part in parts) else "unproved"


def entered(claim: Claim) -> Standing:
    """Return what a claim is entered for, without asking the kernel."""
    return _standing(claim, declared(claim.parts))


def _standing(claim: Claim, status: str) -> Standing:
    """Return scope and cause as far as a status earns them; words say it once."""
    scope = claim.scope.removeprefix(f"{status} ") if status != "unproved" else ""
    cause = claim.cause if status == "refuted" else ""
    return Standing(claim.id, status, scope, cause)


class Ledger:
    """Claims by id, and who rests on whom."""

    def __init__(self, claims: Iterable[Claim], file: str = "") -> None:
        """Collect claims.

        Args:
            claims: ids must be distinct, dependences known and without circles.
            file: of the user whose claims they are; "": they are the papers'.

        Raises:
            ValueError: if they are not.
        """
        self._file = file
        self._claims: dict[str, Claim] = {}
        for claim in claims:
            if claim.id in self._claims:
                raise ValueError(f"two claims are called {claim.id}")
            self._claims[claim.id] = claim
        self._users: dict[str, list[str]] = defaultdict(list)
        for claim in self._claims.values():
            for other in dict.fromkeys(claim.depends_on):
                if other not in self._claims:
                    raise ValueError(f"{claim.id} depends on unknown {other}")
                self._users[other].append(claim.id)
        self._refuse_circles()

    def claims(self, paper: str | None = None) -> tuple[Claim, ...]:
        """Return the claims, of one paper or all, in the papers' order."""
        return tuple(
            claim
            for claim in self._claims.values()
            if paper is None or claim.id.split("/")[0] == paper
        )

    def claim(self, identifier: str) -> Claim:
        """Return one claim.

        Args:
            identifier: its id.

        Returns:
            The claim.

        Raises:
            ValueError: if there is none; close ids are named.
        """
        if identifier not in self._claims:
            last = identifier.split("/")[-1]
            tried = (identifier, last, last.split("-")[-1])
            close = [[key for key in self._claims if one in key] for one in tried]
            found = next(filter(None, close), [])[:6]
            hint = f"; close: {', '.join(found)}" if found else ""
            raise ValueError(f"unknown claim '{identifier}'{hint}")
        return self._claims[identifier]

    def entry(self, identifier: str) -> Entry:
        """Return the entry of one claim; ValueError if there is none."""
        return Entry(self.claim(identifier), self._file, self)

    def users(self, identifier: str) -> tuple[str, ...]:
        """Return the ids of the claims whose printed proofs rest on one."""
        return tuple(self._users.get(identifier, ()))

    def of_case(self, theorem_key: str, case: str) -> Claim | None:
        """Return the claim of a case: its own, or that of a statement with one case."""
        own = self._claims.get(f"{theorem_key}/{case}")
        return own or self._claims.get(theorem_key)

    def _refuse_circles(self) -> None:
        done: set[str] = set()
        path: list[str] = []

        def visit(key: str) -> None:
            if key in path:
                circle = " -> ".join([*path[path.index(key) :], key])
                raise ValueError(f"claims depend on each other: {circle}")
            if key in done:
                return
            path.append(key)
            for other in self._claims[key].depends_on:
                visit(other)
            path.pop()
            done.add(key)

        for key in self._claims:
            visit(key)


@cache
def ledger() -> Ledger:
    """Return the ledger of the papers; reading their sections takes a second.

    Meanwhile no circles are searched for among the terms, which form none and stay.
    """
    running = gc.isenabled()
    gc.disable()
    try:
        return Ledger(claim for paper in PAPERS for claim in sections(paper))
    finally:
        if running:
            gc.enable()


def claim(identifier: str) -> Entry:
    """Return the entry of one claim of the papers, reading few sections.

    Args:
        identifier: its id, for instance "han2024/thm-3.7/strongly_convex".

    Returns:
        The entry; its `Entry.outcome` asks the kernel.

    Raises:
        ValueError: if there is none; close ids are named.
    """
    found = next((one for one in likely(identifier) if one.id == identifier), None)
    return ledger().entry(identifier) if found is None else Entry(found)


def claims(paper: str | None = None) -> tuple[Entry, ...]:
    """Return the entries of the papers' claims, in the papers' order.

    Args:
        paper: key of one paper; None: of all.

    Returns:
        The entries; nothing is decided before it is asked.

    Raises:
        ValueError: if there is no such paper; the message lists those that are.
    """
    if paper not in {None, *PAPERS}:
        known = ", ".join(PAPERS)
        raise ValueError(f"unknown paper '{paper}': there are {known}")
    return tuple(Entry(one) for one in ledger().claims(paper))


def standing(theorem_key: str, case: str) -> Standing | None:
    """Return what a case of a theorem is entered for, or None without an entry.

    Args:
        theorem_key: of the theorem, for instance "han2024/thm-3.7".
        case: name of its case.
    """
    claim = ledger().of_case(theorem_key, case)
    return None if claim is None else entered(claim)


def replayed(theorem_key: str, case: str) -> Standing | None:
    """Return what the evidence for a case earns now, or None without an entry.

    Args:
        theorem_key: of the theorem, for instance "han2024/thm-3.7".
        case: name of its case.
    """
    claim = ledger().of_case(theorem_key, case)
    return None if claim is None else ledger().entry(claim.id).standing
