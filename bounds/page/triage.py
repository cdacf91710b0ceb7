"""What a reader wants first: the theorems in a table, and which causes they hang on."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from bounds.audit_table import MEANS, severities
from bounds.mathml import breakable, mathml, with_formulas
from bounds.page.drawn import Drawn
from bounds.page.links import badge, link, links, severity
from bounds.page.sharper import RESULTS, SETTING
from sfl_theory.evidence import OURS, Claim, Defect, Part, Severity
from sfl_theory.ledger import STATUSES, Entry
from sfl_theory.registry import case_of


def counts(entries: Sequence[Entry]) -> str:
    """Return how many entries have which status and severity."""
    status = Counter(entry.outcome.status for entry in entries)
    shown = {one: badge(one, f"{status[one]} {one}") for one in STATUSES}
    shown["refuted"] += "".join(
        f' <span class="chip {one.value}">{number} {MEANS[one][number > 1]}</span>'
        for one, number in severities(entries).items()
    )
    return f'<p class="counts">{" ".join(shown.values())}</p>'


def results(entries: Sequence[Entry], shown: Mapping[str, Drawn]) -> str:
    """Return the table of a paper's theorems and propositions; nothing without any."""
    named = [entry for entry in entries if entry.claim.kind in RESULTS]
    printed = [entry for entry in named if entry.claim.location != OURS]
    if not printed:
        return ""
    rows = "".join(
        _row(one, _added(one, printed, named), shown[one.claim.id].sharper)
        for one in printed
    )
    heads = ("Statement as printed", "Verdict", "Repaired, and what else is proved")
    head = "".join(f'<th scope="col">{name}</th>' for name in heads)
    return (
        f'<table class="results"><thead><tr>{head}</tr></thead>'
        f"<tbody>{rows}</tbody></table><p><small>Printed / best: right side as "
        "printed over the smallest one proved for the same left side, at "
        f"{SETTING}.</small></p>"
    )


def _added(
    entry: Entry, printed: Sequence[Entry], named: Iterable[Entry]
) -> list[Entry]:
    """Return what the audit proves beyond an entry: ids that only it begins."""
    own = entry.claim.id + "/"
    others = {one.claim.id for one in printed}
    return [
        one
        for one in named
        if one.claim.id.startswith(own) and one.claim.id not in others
    ]


def _row(entry: Entry, added: Sequence[Entry], factors: str) -> str:
    claim, now = entry.claim, entry.standing
    parts = claim.parts
    left = len(parts) - 1
    more = f"<p><small>and {left} more part{'s' * (left > 1)}, in the entry</small></p>"
    printed = (
        f'<h4><a href="#{escape(claim.id)}">{escape(claim.location)}</a> '
        f"<code>{escape(claim.id)}</code></h4><p>{with_formulas(claim.title)}</p>"
        f'<p class="formula">{breakable(parts[0].says.tex) if parts else ""}</p>'
        + (more if len(parts) > 1 else "")
        + (_where(parts) if parts else "")
        + _steps(claim)
        + (_under(parts[0]) if parts else "")
    )
    cause = f"<p>{with_formulas(now.cause)}</p>" if now.cause else ""
    failure = claim.first_failure
    first = (
        f"<p>first step that fails: {links([failure], claim)}</p>" if failure else ""
    )
    verdict = (
        f"<p>{badge(entry.outcome.status)} {severity(entry)}</p>{cause}"
        f'<p class="given">{with_formulas(now.scope)}</p>{first}'
    )
    return (
        f'<tr class="{entry.outcome.status}"><td>{printed}</td><td>{verdict}</td>'
        f"<td>{_instead(entry, added, factors)}</td></tr>"
    )


def _steps(claim: Claim) -> str:
    case = case_of(claim.id)
    if case is None or case.printed.step_size is None:
        return ""
    rule = case.printed.step_size.latex()
    return f'<p class="given">step size {mathml(rule, display=False)}</p>'


def _where(parts: Sequence[Part]) -> str:
    """Return what the letters of the first part stand for; of several, its case."""
    symbols = ", ".join(f"${one}$" for one in parts[0].says.definitions)
    if not symbols:
        return ""
    case = f"; {parts[0].reading}" if len(parts) > 1 and parts[0].reading else ""
    return f'<p class="given">where {with_formulas(symbols + case)}</p>'


def _under(part: Part) -> str:
    """Return the assumptions by the paper's names; by formula what has none."""
    names = dict.fromkeys(
        escape(one.source) if one.source else mathml(one.tex, display=False)
        for one in part.says.assumed
    )
    return f'<p class="given">under {"; ".join(names)}</p>' if names else ""


def _instead(entry: Entry, added: Sequence[Entry], factors: str) -> str:
    out, repair = "", entry.claim.repair
    if repair is not None and entry.repair is not None:
        change = with_formulas(repair.change)
        out += f"<p>{badge(entry.repair.status)} with {change}</p>"
        formula = breakable(repair.parts[0].says.tex)
        out += f'<p class="formula">{formula}</p>{_where(repair.parts)}'
    elif entry.outcome.status == "proved":
        out += "<p>the printed statement</p>"
    for one in added:
        name = one.claim.id.rsplit("/", 1)[-1]
        out += (
            f"<p>{badge(one.outcome.status)} {link(one.claim.id, name)}: "
            f"{with_formulas(one.claim.title)}</p>"
        )
    return out + (f'<p class="sharper">{factors}</p>' if factors else "")


# What stands and what falls ----------------------------------------------------------


@dataclass(frozen=True)
class Cause:
    """What is wrong, where it is said first, and what hangs on it.

    Attributes:
        words: the cause.
        severity: the worst of its claims.
        claims: refuted for this cause.
        results: theorems and propositions whose printed proofs rest on one of them.
        others: the other claims whose printed proofs do.
    """

    words: str
    severity: Severity
    claims: tuple[Entry, ...]
    results: tuple[Entry, ...]
    others: tuple[Entry, ...]


def causes(entries: Sequence[Entry]) -> list[Cause]:
    """Return the root causes: of stated results, and of steps that rest on none.

    Args:
        entries: of one paper.

    Returns:
        The worst first, then by how many results hang on them.
    """
    by = {entry.claim.id: entry for entry in entries}
    broken = {name for name, one in by.items() if one.outcome.status == "refuted"}
    uses = {
        name: [u for u in one.claim.depends_on if u in by] for name, one in by.items()
    }
    users = defaultdict[str, list[str]](list)
    for name, used in uses.items():
        for one in used:
            users[one].append(name)
    groups = defaultdict[Defect, list[Entry]](list)
    for name in by:
        entry = by[name]
        if name in broken and (
            entry.claim.severity is Severity.THEOREM or not reached(name, uses) & broken
        ):
            own = Defect(entry.claim.cause)
            groups[entry.claim.root or own].append(entry)
    order = list(Severity)
    found = []
    for root, breaks in groups.items():
        names = {entry.claim.id for entry in breaks}
        above = set[str]().union(*(reached(name, users) for name in names)) - names
        hanging = [entry for entry in entries if entry.claim.id in above]
        found.append(
            Cause(
                root.words,
                min(
                    (e.claim.severity or Severity.SLIP for e in breaks), key=order.index
                ),
                tuple(breaks),
                tuple(e for e in hanging if e.claim.kind in RESULTS),
                tuple(e for e in hanging if e.claim.kind not in RESULTS),
            )
        )
    return sorted(
        found,
        key=lambda c: (order.index(c.severity), -len(c.results), -len(c.others)),
    )


def reached(name: str, step: Mapping[str, Sequence[str]]) -> set[str]:
    """Return everything that steps lead to, without the start."""
    out, left = set[str](), [name]
    while left:
        for one in step.get(left.pop(), ()):
            if one not in out:
                out.add(one)
                left.append(one)
    return out


def falls(entries: Sequence[Entry]) -> str:
    """Return the root causes and what hangs on each, by severity."""
    found = causes(entries)
    out = ""
    for one in Severity:
        here = [cause for cause in found if cause.severity is one]
        if here:
            rows = "".join(map(_cause, here))
            folded = "" if one is Severity.THEOREM else " folded"
            out += (
                f'<details class="causes{folded}"{"" if folded else " open"}><summary>'
                f'<span class="chip {one.value}">{one.value}</span> {len(here)} root '
                f"cause{'s' * (len(here) > 1)}</summary><ul>{rows}</ul></details>"
            )
    return out


def _cause(cause: Cause) -> str:
    fallen = [e for e in cause.results if e.outcome.status == "refuted"]
    standing = [e for e in cause.results if e.outcome.status == "proved"]
    undecided = [e for e in cause.results if e.outcome.status == "unproved"]
    rows = [
        ("breaks", cause.claims),
        ("false theorems that rest on it", fallen),
        ("theorems that rest on it and stand, by another proof", standing),
        ("theorems that rest on it and are open", undecided),
    ]
    told = "".join(
        f"<div>{words}: {', '.join(_short(e) for e in of)}</div>"
        for words, of in rows
        if of
    )
    if cause.others:
        inner = ", ".join(map(_short, cause.others))
        told += (
            f"<details><summary>steps that rest on it: {len(cause.others)}</summary>"
            f"{inner}</details>"
        )
    return f"<li><p>{with_formulas(cause.words)}</p>{told}</li>"


def _short(entry: Entry) -> str:
    name = entry.claim.id.split("/", 1)[1]
    mark = f'<span class="dot {entry.outcome.status}"></span>'
    return f'<a href="#{escape(entry.claim.id)}">{mark}{escape(name)}</a>'
