"""A page per paper: its theorems, and every claim of it in the ledger."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from html import escape

from bounds.audit_table import MEANS
from bounds.mathml import with_formulas
from made import sheets
from made.words import prose
from sfl_theory import Theorem, theorems
from sfl_theory.evidence import Claim, Severity
from sfl_theory.ledger import STATUSES, coverage, entered, ledger
from sfl_theory.papers import PAPERS, about

HEAD = "<thead><tr><th>status</th><th>claim</th></tr></thead>"


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the list of papers and of every paper's page."""
    rows = "\n".join(
        f"- [{key}]({key}.md): {cited(key)} {counted(key)}" for key in PAPERS
    )
    files = "\n".join(PAPERS)
    yield (
        "index.md",
        f"# The papers\n\n{rows}\n\n{prose(coverage())}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{files}\n```\n",
    )
    for key in PAPERS:
        yield f"{key}.md", paper_page(key)


def cited(key: str) -> str:
    """Return authors, title and version of a paper, with its address."""
    paper = about(key)
    if paper is None:
        return key
    version = f"[{paper.version}]({paper.address})" if paper.address else paper.version
    return f"{', '.join(paper.authors)}. *{paper.title}*. {version}."


def counted(key: str) -> str:
    """Return how many claims of a paper are proved, refuted and open, by severity."""
    claims = ledger().claims(key)
    found = Counter(entered(claim).status for claim in claims)
    named = [claim.severity for claim in claims if entered(claim).status == "refuted"]
    grave = {one: count for one in Severity if (count := named.count(one))}
    words = ", ".join(f"{found[status]} {status}" for status in STATUSES)
    told = ", ".join(f"{grave[one]} {MEANS[one][grave[one] > 1]}" for one in grave)
    words = words.replace("refuted", f"refuted ({told})") if told else words
    return f"{len(claims)} claims: {words}."


def paper_page(key: str) -> str:
    """Return a paper's page as Markdown."""
    own = "\n".join(
        f"- [{sheets.called(item)}](../theorems/{sheets.page(item.key)}.md): "
        f"{prose(item.title)}. {_cases(item)}"
        for item in theorems()
        if item.paper == key
    )
    rows = "".join(map(_row, ledger().claims(key)))
    return (
        f"# {key}\n\n{cited(key)}\n\n{counted(key)}\n\n## Theorems\n\n{own}\n\n"
        "## Every claim in the ledger\n\nIn the paper's order, with the status that it "
        "is entered for; a test asks the kernel about every one. "
        f"`python -m bounds.audit --claim ID` replays one, `--paper {key} --html FILE` "
        "writes all of them with formulas and evidence as one page.\n\n"
        f"```{{raw}} html\n<table class='claims'>{HEAD}<tbody>{rows}</tbody></table>\n"
        "```\n"
    )


def _cases(item: Theorem) -> str:
    found = []
    for case in item.cases.values():
        claim = ledger().of_case(item.key, case.name)
        words = entered(claim).words if claim else "not in the ledger"
        name = "" if case.name == "any" else f"*{case.name.replace('_', ' ')}* "
        status, _, scope = words.partition(" ")
        found.append(f"\n  - {name}**{status}** {prose(scope)}".rstrip())
    return "".join(found)


def _row(claim: Claim) -> str:
    now = entered(claim)
    rest = claim.id.partition("/")[2]
    grave = f" ({claim.severity.value})" if claim.severity and now.cause else ""
    told = [f"<code>{escape(claim.id)}</code>, {escape(claim.location)}"]
    told.append(with_formulas(claim.title))
    if now.cause:
        told.append(f"<em>{with_formulas(now.cause)}</em>{grave}")
    if now.scope:
        told.append(f"scope: {with_formulas(now.scope)}")
    if claim.repair is not None:
        told.append(f"repaired: {with_formulas(claim.repair.change)}")
    return (
        f"<tr id='{escape(rest)}'><td><span class='status {now.status}'>{now.status}"
        f"</span></td><td>{'<br>'.join(told)}</td></tr>\n"
    )
