"""The ledger: claims by id, their dependence, and the status their evidence earns."""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sfl_theory import claims as sections
from sfl_theory.evidence import certificate as certificates
from sfl_theory.evidence import instance as instances
from sfl_theory.evidence.claim import Claim, Evidence, Open, Proof, Refutation, Terms
from sfl_theory.evidence.instance import Finding
from sfl_theory.evidence.interval import Interval

STATUSES = ("proved", "refuted", "unproved")


@dataclass(frozen=True)
class Outcome:
    """What replaying a piece of evidence gave.

    Attributes:
        status: one of ``STATUSES``.
        method: "certificate", "instance" or "none".
        lines: the replay, line by line.
        findings: both sides on every instance, for a refutation.
    """

    status: str
    method: str
    lines: tuple[str, ...]
    findings: tuple[Finding, ...] = ()


def decide(claim_id: str, evidence: Evidence) -> Outcome:
    """Replay the evidence now and return the status that it earns.

    A certificate that is rejected or cannot be read, an instance that does not break
    the claim, or evidence that raises earns *unproved*, with the reason; a status is
    never better than its evidence.

    Args:
        claim_id: the claim that it must decide.
        evidence: what the ledger holds for it.

    Returns:
        Status and the replay.
    """
    if isinstance(evidence, Terms):
        return _by_kernel(evidence)
    try:
        if isinstance(evidence, Proof):
            with certificates.once():
                lines = _replayed(claim_id, evidence)
            return Outcome("proved", "certificate", lines)
        if isinstance(evidence, Refutation):
            found = tuple(run() for run in (evidence.instance, *evidence.further))
            replays = [line for one in found for line in instances.replay(one)]
            return Outcome("refuted", "instance", (evidence.words, *replays), found)
    except ValueError as reason:
        return Outcome("unproved", "none", (f"evidence rejected: {reason}",))
    except Exception as error:  # a user's own evidence may raise anything
        words = f"evidence raises {type(error).__name__}: {error}"
        return Outcome("unproved", "none", (words,))
    return Outcome("unproved", "none", (evidence.words,))


def _by_kernel(evidence: Terms) -> Outcome:
    """Return what the kernel says of statements as terms."""
    found = [sections.decide(part, name) for name, part in evidence.parts]
    status = sections.whole(tuple(found))
    lines = [evidence.words] if evidence.words else []
    for (_, part), one in zip(evidence.parts, found, strict=True):
        lines += [part.by.words] if part.by is not None and part.by.words else []
        lines += one.lines
    method = {"proved": "certificate", "refuted": "instance"}.get(status, "none")
    seen = [
        _finding(part.by, one)
        for (_, part), one in zip(evidence.parts, found, strict=True)
        if isinstance(part.by, sections.Model) and part.by.run is not None
    ]
    shown = tuple(finding for finding in seen if finding is not None)
    return Outcome(status, method, tuple(lines), shown)


def _finding(model: sections.Model, found: sections.Decided) -> Finding | None:
    """Return both sides on a run that refutes, for pictures and the trainer."""
    if model.run is None or found.claim is None or found.claim.sides is None:
        return None
    left, right = map(Interval.of, found.claim.sides)
    run = model.run()
    return Finding(run.words, (), left, right, f"T = {run.rounds}", (), run)


def _replayed(claim_id: str, proof: Proof) -> tuple[str, ...]:
    """Return the replay of a proof, line by line.

    Raises:
        Rejected: if a certificate is rejected, or there is none.
    """
    if not proof.certificates:
        raise certificates.Rejected("a proof without a certificate proves nothing")
    lines = [proof.words]
    steps: list[certificates.Certificate] = []
    for build in proof.certificates:
        step = build()
        lines += certificates.check(step, claim_id, steps).lines
        steps.append(step)
    for build in proof.sharper:
        step = build()
        lines.append(f"more is true, with the right side {step.right}:")
        lines += certificates.check(step, claim_id, steps).lines
    return tuple(lines)


class Ledger:
    """Claims by id, with the graph of their dependence."""

    def __init__(self, claims: Iterable[Claim], file: str = "") -> None:
        """Collect claims.

        Args:
            claims: ids must be distinct, dependences known and without circles.
            file: of the user whose claims they are; "": they are the toolkit's.

        Raises:
            ValueError: if they are not.
        """
        self._file = file
        self._claims: dict[str, Claim] = {}
        for claim in claims:
            if claim.id in self._claims:
                raise ValueError(f"two claims are called {claim.id}")
            self._claims[claim.id] = claim
        for claim in self._claims.values():
            for other in claim.depends_on:
                if other not in self._claims:
                    raise ValueError(f"{claim.id} depends on unknown {other}")
        self._check_circles()

    def claims(self, paper: str | None = None) -> tuple[Claim, ...]:
        """Return the claims, of one paper or all, in the order given."""
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
            close = [key for key in self._claims if last in key][:6]
            hint = f"; close: {', '.join(close)}" if close else ""
            raise ValueError(f"unknown claim '{identifier}'{hint}")
        return self._claims[identifier]

    def entry(self, identifier: str) -> Entry:
        """Return the entry of one claim; its evidence is replayed when asked for.

        Args:
            identifier: its id.

        Returns:
            The entry.
        """
        users = tuple(
            other.id
            for other in self._claims.values()
            if identifier in other.depends_on
        )
        return Entry(self.claim(identifier), self._file, users)

    def _check_circles(self) -> None:
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


@dataclass(frozen=True)
class Entry:
    """A claim with its evidence replayed.

    Attributes:
        claim: the claim.
        file: of the user that holds it; "": it is one of the toolkit's.
        used_by: ids of the claims whose printed proofs rest on it.
    """

    claim: Claim
    file: str = ""
    used_by: tuple[str, ...] = ()

    @cached_property
    def outcome(self) -> Outcome:
        """What the evidence earns now."""
        return decide(self.claim.id, self.claim.evidence)

    @property
    def reproduce(self) -> str:
        """The command that replays this entry, as a shell reads it."""
        where = ["--file", self.file] if self.file else []
        words = ["python", "-m", "bounds.audit", *where, "--claim", self.claim.id]
        return shlex.join(words)

    @property
    def scope(self) -> str:
        """For which hypotheses the status holds; "" where nothing is said or earned."""
        decided = self.outcome.status != "unproved"
        return self.claim.evidence.scope if decided else ""

    @property
    def cause(self) -> str:
        """What is wrong, in one line; "" unless refuted."""
        evidence = self.claim.evidence
        if not isinstance(evidence, Proof | Open) and self.outcome.status == "refuted":
            return evidence.cause
        return ""

    @property
    def declared_repair(self) -> str | None:
        """The status that the repair's evidence is entered for."""
        if self.claim.repair is None:
            return None
        evidence = self.claim.repair.evidence
        if isinstance(evidence, Terms):
            return evidence.declared
        return "proved" if isinstance(evidence, Proof) else "unproved"

    @cached_property
    def repair(self) -> Outcome | None:
        """What the repair's evidence earns now."""
        if self.claim.repair is None:
            return None
        return decide(f"{self.claim.id}#repair", self.claim.repair.evidence)

    def as_dict(self) -> dict[str, Any]:
        """Return the entry under its JSON keys."""
        claim, repair, section = self.claim, self.claim.repair, self.claim.section
        severity = None if section is None else section.severity
        return {
            "id": claim.id,
            "location": claim.location,
            "kind": claim.kind,
            "statement": claim.statement,
            "latex": [] if section is None else list(section.tex),
            "reading": claim.reading,
            "status": self.outcome.status,
            "severity": None if severity is None else severity.value,
            "scope": self.scope,
            "cause": self.cause or None,
            "first_failure": (section.first_failure or None) if section else None,
            "method": self.outcome.method,
            "evidence": list(self.outcome.lines),
            "reproduce": self.reproduce,
            "depends_on": list(claim.depends_on),
            "used_by": list(self.used_by),
            "repair": None
            if repair is None or self.repair is None
            else {
                "statement": repair.statement,
                "change": repair.change,
                "status": self.repair.status,
                "method": self.repair.method,
                "evidence": list(self.repair.lines),
            },
        }
