"""The ledger as one self-contained page: triage first, every claim with its evidence.

Nothing is fetched: style and script stand in the page, and the browser is told to run
no other script. Proofs' steps are packed into it and unfolded when they are asked for.
"""

from __future__ import annotations

import base64
import re
import subprocess
import zlib
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import escape
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from bounds.graph import Node, graph, legend
from bounds.page.drawn import Drawn, drawn
from bounds.page.entry import entry_html
from bounds.page.links import paper_of
from bounds.page.sharper import RESULTS
from bounds.page.sheet import Book, Sheet, packed
from bounds.page.triage import counts, falls, reached, results
from sfl_theory.evidence import Kind
from sfl_theory.kernel.rules import RULES
from sfl_theory.ledger import STATUSES, Entry, coverage
from sfl_theory.papers import about

HERE = Path(__file__).parent
KINDS = {
    Kind.THEOREM: "Theorems",
    Kind.PROPOSITION: "Propositions",
    Kind.LEMMA: "Lemmas",
    Kind.ASSUMPTION: "Assumptions",
    Kind.CONDITION: "Step-size conditions",
    Kind.EQUATION: "Equations inside the proofs",
    Kind.ALGORITHM: "Algorithms",
    Kind.TABLE: "Tables",
    Kind.TEXT: "Sentences of the text",
}
"""Headings by kind of claim."""
TITLE = "Audit of papers on split federated learning"
LARGEST = 3_000_000
"""Bytes that a page may have."""


def page(
    entries: Sequence[Entry],
    title: str = "",
    shown: Mapping[str, Drawn] | None = None,
) -> str:
    """Return the page.

    Args:
        entries: in order; their evidence is replayed here if it was not before.
        title: of the page, if it is no page of the papers' ledger.
        shown: by id the entries that were drawn where they were decided.

    Returns:
        HTML with everything inside.
    """
    shown, sheet, book = shown or {}, Sheet(), Book()
    pictures = {e.claim.id: shown.get(e.claim.id) or drawn(e, sheet) for e in entries}
    for one in pictures.values():
        book.add(one.sheet)
    papers = list(dict.fromkeys(map(paper_of, entries)))
    body = "".join(
        _paper(key, [e for e in entries if paper_of(e) == key], pictures, book)
        for key in papers
    )
    lacks = "" if title else coverage(papers)
    title = title or TITLE
    head = _head(title, lacks, entries)
    whole = f"{_bar(papers, entries)}<main>{head}{body}{_rules()}</main>"
    text, body = book.text(linked(whole))
    style, script = ((HERE / name).read_text() for name in ("style.css", "script.js"))
    digest = base64.b64encode(sha256(script.encode()).digest()).decode()
    policy = (
        "default-src 'none'; style-src 'unsafe-inline'; "
        f"script-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    )
    held = armoured(_deflated(packed(text)))
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        f"<title>{escape(title)}</title><style>{style}</style></head><body>"
        f"{body}"
        f'<script type="application/octet-stream" id="book">{held}</script>'
        f"<script>{script}</script></body></html>\n"
    )


def _head(title: str, lacks: str, entries: Sequence[Entry]) -> str:
    return (
        f"<header><h1>{escape(title)}</h1>{counts(entries)}<p>Every verdict was "
        "earned by a replay when this page was made: <i>proved</i> by a derivation "
        "whose steps the rules of the kernel made, <i>refuted</i> by a model that "
        "meets all assumptions, both in exact arithmetic; <i>unproved</i> is neither. "
        "A <i>slip</i> is notation; a <i>constant</i> or <i>proof</i> step may fail "
        f"while the theorem stands.</p><p><small>{escape(replayed())}</small></p>"
        f"<p><small>{escape(lacks)}</small></p></header>"
    )


def linked(html: str) -> str:
    """Return HTML in which a link to what the page does not hold is its words only."""
    there = set(re.findall(r'\bid="([^"]*)"', html))
    return re.sub(
        r'<a href="#([^"]*)">(.*?)</a>',
        lambda found: found[0] if found[1] in there else found[2],
        html,
    )


def replayed() -> str:
    """Return when, and of which state of the code, the replay is."""
    now = datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")
    return f"Replayed {now}, {_state()}."


def _state() -> str:
    """Return the commit where there is one, else the version that is installed."""
    git = ["git", "-C", str(HERE)]
    try:
        asked = ("rev-parse", "--short=12", "HEAD"), ("status", "--porcelain")
        commit, changed = (
            subprocess.run(
                [*git, *words], capture_output=True, text=True, check=True, timeout=10
            ).stdout.strip()
            for words in asked
        )
        return f"commit {commit}" + (", with uncommitted changes" if changed else "")
    except (OSError, subprocess.SubprocessError):
        pass
    try:
        return f"sfl-verify {version('sfl-verify')}"
    except PackageNotFoundError:
        return "of no known version"


def _deflated(plain: bytes) -> bytes:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(plain) + packer.flush()


def armoured(data: bytes) -> str:
    """Return bytes as text, five characters for four bytes, none of them ``<``.

    The last character is the number of bytes that were added to fill the last four.
    """
    text = base64.b85encode(data, pad=True).decode().replace("<", ",")
    return f"{text}{-len(data) % 4}"


def _bar(papers: Sequence[str], entries: Sequence[Entry]) -> str:
    """Return contents, search and filters."""
    options = ""
    contents = ""
    for key in papers:
        own = _sections([e for e in entries if paper_of(e) == key])
        inner = "".join(
            f'<option value="{escape(part)}">{escape(head)}</option>'
            for part, (head, _) in own.items()
        )
        options += (
            f'<optgroup label="{escape(key)}"><option value="{escape(key)}:">all of '
            f"{escape(key)}</option>{inner}</optgroup>"
        )
        items = "".join(
            f'<li><a href="#{escape(part)}">{escape(_brief(head))}</a></li>'
            for part, (head, _) in own.items()
        )
        contents += (
            f'<details><summary><a href="#{escape(key)}">{escape(key)}</a></summary>'
            f"<ul>{items}</ul></details>"
        )
    statuses = "".join(
        f'<label><input type="checkbox" name="status" value="{one}">{one}</label>'
        for one in STATUSES
    )
    severities = "".join(
        f'<label><input type="checkbox" name="severity" value="{one}">{one}</label>'
        for one in ("theorem", "proof", "constant", "slip")
    )
    return (
        '<nav class="side"><details class="menu" open><summary>Contents</summary>'
        f'{contents}<p><a href="#rules">Rules of the kernel</a></p></details></nav>'
        '<form class="tools" role="search" id="tools">'
        '<input type="search" id="search" placeholder="Search the entries" '
        'aria-label="Search the entries">'
        f'<select id="section" aria-label="Section"><option value="">all sections'
        f"</option>{options}</select><fieldset>{statuses}</fieldset>"
        f"<fieldset><span>severity:</span>{severities}</fieldset>"
        '<output id="count"></output><button type="button" id="fold">fold all</button>'
        '<button type="button" id="theme" aria-label="Light or dark">\u25d0</button>'
        "</form>"
    )


def _brief(heading: str) -> str:
    return heading.split(":")[0]


def _sections(entries: Sequence[Entry]) -> dict[str, tuple[str, list[Entry]]]:
    """Return the entries by section, in the paper's order: id -> heading, entries.

    The sections are the modules that hold the claims, the headings what they say they
    are; claims of a user's file go by kind.
    """
    paper = paper_of(entries[0])
    where: dict[str, tuple[str, str]] = {}
    if about(paper) is not None:
        package = f"sfl_theory.papers.{paper}"
        for name in import_module(package).SECTIONS:
            module = import_module(f"{package}.{name}")
            heading = (module.__doc__ or name).strip().splitlines()[0].rstrip(".")
            for claim in module.CLAIMS:
                where[claim.id] = name, heading
    out: dict[str, tuple[str, list[Entry]]] = {}
    for entry in entries:
        kind = entry.claim.kind
        name, heading = where.get(entry.claim.id, (kind.value, KINDS[kind]))
        out.setdefault(f"{paper}:{name}", (heading, []))[1].append(entry)
    return out


def _paper(
    key: str, entries: Sequence[Entry], pictures: Mapping[str, Drawn], book: Book
) -> str:
    paper = about(key)
    head = f'<h2 id="{escape(key)}">{escape(paper.title if paper else key)}</h2>'
    if paper is not None:
        where = escape(paper.version)
        if paper.address:
            where = f"{where} <small>({escape(paper.address)})</small>"
        head += f'<p class="authors">{escape(", ".join(paper.authors))}. {where}.</p>'
    table, fallen = results(entries, pictures), falls(entries)
    listed = "".join(
        f'<section class="entries"><h4 id="{escape(part)}">{escape(heading)}</h4>'
        + "".join(entry_html(e, pictures[e.claim.id], book, part) for e in own)
        + "</section>"
        for part, (heading, own) in _sections(entries).items()
    )
    return (
        f'<section class="paper">{head}{counts(entries)}'
        + (f'<h3 id="{key}:results">Theorems</h3>{table}' if table else "")
        + (
            f'<h3 id="{key}:falls">What stands, what falls</h3>{fallen}'
            if fallen
            else ""
        )
        + _graphs(key, entries, pictures, book)
        + f'<h3 id="{key}:entries">Entries</h3>{listed}</section>'
    )


def _graphs(
    key: str, entries: Sequence[Entry], pictures: Mapping[str, Drawn], book: Book
) -> str:
    """Return who rests on whom in the paper's proofs, and in ours."""
    uses = {entry.claim.id: entry.claim.depends_on for entry in entries}
    main = [entry.claim.id for entry in entries if entry.claim.kind in RESULTS]
    inside = set(main).union(*(reached(name, uses) for name in main)) or set(uses)
    nodes = {
        entry.claim.id: Node(
            entry.outcome.status,
            entry.claim.id.split("/", 1)[-1],
            entry.claim.id,
            entry.claim.kind in RESULTS,
        )
        for entry in entries
        if entry.claim.id in inside
    }
    theirs = graph(nodes, uses, "Which claim the paper's proof of which claim uses")
    ours = graph(*_ours(entries, pictures, book), "What our proofs rest on")
    out = ""
    told = [
        ("the paper's proofs", theirs, STATUSES),
        ("our proofs, of the claims as printed or repaired", ours,
         ("proved", "assumed")),
    ]  # fmt: skip
    for place, (words, drawing, statuses) in enumerate(told):
        if drawing:
            out += (
                f'<details class="graphs"{"" if place else " open"}><summary>{words}'
                f"</summary>{legend(statuses)}{drawing}</details>"
            )
    return f'<h3 id="{key}:graph">What rests on what</h3>{out}' if out else ""


def _ours(
    entries: Sequence[Entry], pictures: Mapping[str, Drawn], book: Book
) -> tuple[dict[str, Node], dict[str, list[str]]]:
    """Return results and lemmas that we prove, what else their proofs contain, and why.

    A proof contains a claim if one of its steps says what a proof of the claim ends
    with; of two that contain each other (one has several parts) the first one does. It
    rests on the assumptions that its last step still has.
    """
    ends: dict[str, str] = {}
    proofs: dict[str, list[str]] = {}
    assumed: dict[str, list[str]] = {}
    for entry in entries:
        shown = pictures[entry.claim.id]
        parts = [one for one in (*shown.parts, *shown.repair) if one.proof]
        proofs[entry.claim.id] = [one.proof for one in parts]
        assumed[entry.claim.id] = [name for one in parts for name in one.used]
        for one in parts:
            ends.setdefault(book.says(one.proof), entry.claim.id)
    uses: dict[str, list[str]] = {}
    for name, own in proofs.items():
        inside = {
            ends.get(book.says(step)) for root in own for step in book.steps(root)
        }
        held = [
            one
            for one in proofs
            if one in inside and one != name and name not in uses.get(one, ())
        ]
        uses[name] = [*held, *dict.fromkeys(assumed[name])]
    kinds = {entry.claim.id: entry.claim.kind for entry in entries}
    main = {Kind.LEMMA, *RESULTS}
    kept = {name for name, own in proofs.items() if own and kinds[name] in main}
    kept |= {used for name in kept for used in uses[name]}
    false = {one.claim.id for one in entries if one.outcome.status == "refuted"}
    labels = {
        name: name.split("/", 1)[-1] + (", repaired" if name in false else "")
        for name in proofs
    }
    nodes = {
        name: Node("proved", labels[name], name, kinds[name] in RESULTS)
        if name in kinds
        else Node("assumed", name)
        for name in [*(n for n in proofs if n in kept), *sorted(kept - set(proofs))]
    }
    return nodes, uses


def _rules() -> str:
    """Return the rules that make the steps, each with its proof."""
    rows = ""
    for rule in RULES.values():
        says, _, proof = rule.proof.partition("Proof:")
        rows += (
            f'<dt id="rule:{rule.name}"><code>{rule.name}</code></dt><dd>'
            f"{escape(' '.join(says.split()))}<br><small>Proof: "
            f"{escape(' '.join(proof.split()))}</small></dd>"
        )
    return (
        '<section><h2 id="rules">Rules of the kernel</h2><p>Every step of a proof is '
        "made by one of these; what they do is all that has to be trusted.</p>"
        f"<details><summary>{len(RULES)} rules, each with its proof</summary>"
        f"<dl>{rows}</dl></details></section>"
    )
