"""The ledger's page: one file, every claim and link, at work in a browser."""

from __future__ import annotations

import json
import re
import zlib
from base64 import b64encode, b85decode
from collections import defaultdict
from hashlib import sha256
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rendered import Balanced, asked, in_browser, laid_out, requests

from bounds.audit import main
from bounds.graph import Node, graph
from bounds.mathml import mathml
from bounds.page import LARGEST
from bounds.page.drawn import Drawn
from bounds.page.sheet import packed
from bounds.page.triage import causes, reached, results
from sfl_theory.evidence import Claim, Severity
from sfl_theory.ledger import Entry, Outcome, entered, ledger
from sfl_theory.papers import PAPERS
from sfl_theory.papers.dachille2024 import appendix_b

WHOLE = pytest.param("", marks=pytest.mark.whole, id="all")  # replays the whole ledger
SOME = pytest.param("dachille2024", id="dachille2024")


@pytest.fixture(scope="module", params=[SOME, WHOLE])
def page(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    path = tmp_path_factory.mktemp("page") / "audit.html"
    paper = ["--paper", request.param] if request.param else []
    assert main([*paper, "--html", str(path)]) == 0
    return path


def test_a_second_page_of_the_process_has_everything(tmp_path: Path) -> None:
    """Formulas of proofs were left out that an earlier page had."""
    pages = [tmp_path / "first.html", tmp_path / "second.html"]
    for one in pages:
        assert main(["--claim", "han2024/eq-2", "--html", str(one)]) == 0
    first, second = (len(one.read_text(encoding="utf-8")) for one in pages)
    assert first == second


@pytest.fixture(scope="module")
def claims(page: Path) -> set[str]:
    """The claims that the page is about."""
    whole = 'id="han2024"' in page.read_text(encoding="utf-8")
    return {claim.id for claim in ledger().claims(None if whole else "dachille2024")}


def test_page_is_one_file_of_bounded_size(page: Path) -> None:
    """Nothing is fetched, no other script runs, every element is closed."""
    text = page.read_text(encoding="utf-8")
    assert len(text.encode()) <= LARGEST
    parser = Balanced()
    parser.feed(text)
    assert parser.open == []
    assert {"math", "svg", "details", "table"} <= parser.seen
    assert not {"link", "img", "iframe", "object"} & parser.seen
    assert "url(" not in text
    assert "@import" not in text
    addresses = re.findall(r'\b(?:src|href)="([^"]*)"', text)
    assert all(address.startswith("#") for address in addresses)
    (policy,) = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    assert policy.startswith("default-src 'none'")
    (script,) = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    digest = b64encode(sha256(script.encode()).digest()).decode()
    assert f"script-src 'sha256-{digest}'" in policy


def test_every_claim_has_an_entry_and_every_link_a_target(
    page: Path, claims: set[str]
) -> None:
    text = re.sub("<script>.*?</script>", "", page.read_text("utf-8"), flags=re.S)
    anchors = re.findall(r'\bid="([^"]*)"', text)
    assert len(anchors) == len(set(anchors))
    entries = re.findall(r'<details class="entry \w+" id="([^"]*)"', text)
    assert sorted(entries) == sorted(claims)
    targets = {a[1:] for a in re.findall(r'\bhref="([^"]*)"', text)}
    assert targets <= set(anchors)


def as_entered(claim: Claim) -> Entry:
    """An entry with the status that it is entered for; the kernel is not asked."""
    entry = Entry(claim)
    vars(entry).update(outcome=Outcome(entered(claim).status, ()))
    vars(entry).update(repair=Outcome("proved", ()) if claim.repair else None)
    return entry


@pytest.mark.parametrize("paper", PAPERS)
def test_the_table_defines_the_letters_of_its_statements(paper: str) -> None:
    """Beside what is printed and beside what is true instead, not only in entries."""
    entries = [as_entered(claim) for claim in ledger().claims(paper)]
    table = results(entries, dict.fromkeys((e.claim.id for e in entries), Drawn()))
    rows = dict(re.findall(r'<tr .*?<a href="#([^"]*)"(.*?)</tr>', table))
    assert rows
    for name, row in rows.items():
        claim = ledger().claim(name)
        printed, _, instead = row.split("</td><td>")
        sides = [(printed, claim.parts)]
        sides += [(instead, claim.repair.parts)] if claim.repair else []
        for side, parts in sides:
            for symbol in parts[0].says.definitions if parts else ():
                assert mathml(symbol, display=False) in side, (name, symbol)
    if paper == "han2024":  # which of the two cases the row shows
        case = mathml(r"\tau=\tilde\tau+d", display=False)
        assert case in rows["han2024/thm-3.6/non_convex"].split("</td><td>")[0]


def test_every_gap_is_in_the_book(page: Path) -> None:
    """What is filled in later is there: formulas, pictures, every proof's steps."""
    text = page.read_text(encoding="utf-8")
    (packed,) = re.findall(r'id="book">(.*?)</script>', text)
    data = b85decode(packed[:-1].replace(",", "<"))
    plain = zlib.decompress(data[: len(data) - int(packed[-1])], -zlib.MAX_WBITS)
    formulas, steps, signs = json.loads(plain.decode("latin-1"))
    assert all(ord(one) < 128 + len(signs) for one in json.dumps(formulas))
    assert max(map(int, re.findall(r'data-f="(\d+)"', text))) < len(formulas)
    for inner in re.findall(r"@(\d+);", json.dumps(formulas)):
        assert int(inner) < len(formulas)
    roots = [int(root) for root in re.findall(r'data-root="(\d+)"', text)]
    assert roots
    seen, left = set(roots), list(roots)
    while left:
        for premise, *_ in steps[left.pop()][4]:
            if premise not in seen:
                seen.add(premise)
                left.append(premise)
    assert seen == set(range(len(steps)))  # and none that no proof has


SEARCHED = """
    const shown = () => [...d.querySelectorAll(".entry:not([hidden])")]
        .map((one) => one.id);
    const set = async (act) => {
        act();
        d.getElementById("tools").dispatchEvent(new Event("input"));
        await wait(500);
        return shown();
    };
    const box = (name, value) =>
        d.querySelector(`input[name=${name}][value=${value}]`);
    const all = shown();
    const found = await set(() => { d.getElementById("search").value = "eq-12"; });
    const none = await set(() => { d.getElementById("search").value = "qqzzqq"; });
    d.getElementById("search").value = "";
    const refuted = await set(() => { box("status", "refuted").checked = true; });
    const slips = await set(() => { box("severity", "slip").checked = true; });
    box("status", "refuted").checked = box("severity", "slip").checked = false;
    const part = await set(() => {
        d.getElementById("section").value = "dachille2024:appendix_b"; });
    const again = await set(() => { d.getElementById("section").value = ""; });
    return { all, found, none, refuted, slips, part, again,
             told: d.getElementById("count").value };
"""

UNFOLDED = """
    await wait(3000);
    const closed = [...d.querySelectorAll(".entry")].filter((one) => one.open);
    const entry = d.getElementById("dachille2024/prop-1");
    const top = (one) => one.getBoundingClientRect().top;
    const tools = d.getElementById("tools").getBoundingClientRect().bottom;
    const covered = [tools > top(entry), tools > top(d.querySelector(".side"))];
    const steps = entry.querySelector("details.steps");
    steps.open = true;
    await wait(3000);
    const refers = [], lines = [...steps.querySelectorAll("li")];
    const told = [...entry.querySelectorAll("div.steps li")];
    for (const [list, of] of [[lines, steps], [told, entry]]) {
        for (const b of of.querySelectorAll("button")) {
            const line = list.indexOf(b.closest("li")) + 1;
            if (line) refers.push([Number(b.dataset.step), line]);
        }
    }
    d.getElementById("fold").click();
    return { open: closed.map((one) => one.id), gaps: entry.querySelectorAll(
        "[data-f]").length, formulas: entry.querySelectorAll("math").length,
        lines: lines.length, told: told.length, refers,
        left: entry.textContent.match(/[@#]\\w+;/),
        errors: entry.querySelectorAll("merror").length, folded: !entry.open,
        scrolled: d.documentElement.scrollTop, covered };
"""

POINTED = """
    const graph = d.querySelector(".graph");
    const ends = (end) =>
        new Set([...graph.querySelectorAll(".edge")].map((one) => one.dataset[end]));
    const first = ends("a"), last = ends("b");
    const node = [...graph.querySelectorAll("a.node")].find((one) =>
        first.has(one.dataset.n) && last.has(one.dataset.n));
    node.dispatchEvent(new PointerEvent("pointerover", { bubbles: true }));
    return { of: node.getAttribute("href").slice(1),
        on: [...graph.querySelectorAll("a.node.on")].map((one) =>
            one.getAttribute("href").slice(1)) };
"""
"""At a box in the middle, which uses some and is used by some."""


@pytest.fixture(scope="module")
def told(page: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """What a browser tells of the page, asked once."""
    asks = {SEARCHED: "", UNFOLDED: "#dachille2024/prop-1", POINTED: ""}
    scripts = [(address, script) for script, address in asks.items()]
    folder = tmp_path_factory.mktemp("asked")
    return dict(zip(asks, asked(page, folder, *scripts), strict=True))


@in_browser
def test_search_and_filters(told: dict[str, object], claims: set[str]) -> None:
    """They leave exactly the entries that fit, and nothing chosen leaves all."""
    found = told[SEARCHED]
    assert isinstance(found, dict), found
    assert set(found["all"]) == set(found["again"]) == claims
    assert found["none"] == []
    assert "dachille2024/eq-12" in found["found"]
    assert len(found["found"]) < len(claims)
    by = {name: ledger().claim(name) for name in claims}
    refuted = {name for name, claim in by.items() if claim.severity is not None}
    assert set(found["refuted"]) == refuted
    slips = {n for n, claim in by.items() if claim.severity is Severity.SLIP}
    assert set(found["slips"]) == slips
    assert set(found["part"]) == {claim.id for claim in appendix_b.CLAIMS}
    assert found["told"] == f"{len(claims)} entries"


@in_browser
def test_a_deep_link_opens_its_entry_and_a_proof_unfolds(
    told: dict[str, object],
) -> None:
    """Formulas are filled in, steps numbered to the end, each reference among them."""
    found = told[UNFOLDED]
    assert isinstance(found, dict), found
    assert found["open"] == ["dachille2024/prop-1"]
    assert found["gaps"] == 0
    assert found["formulas"] > found["lines"] > found["told"] > 20
    assert found["refers"]
    assert all(before < line for before, line in found["refers"])
    assert found["left"] is None
    assert found["errors"] == 0
    assert found["scrolled"] > 0
    assert found["covered"] == [False, False]  # entry and contents, by the tools
    assert found["folded"]


@in_browser
def test_the_graph_shows_what_hangs_on_a_claim(told: dict[str, object]) -> None:
    """Pointing at a box lights up all that it uses and all that uses it."""
    found = told[POINTED]
    assert isinstance(found, dict), found
    paper = found["of"].split("/")[0]
    own = ledger().claims(paper)
    uses = {claim.id: list(claim.depends_on) for claim in own}
    users = {claim.id: list(ledger().entry(claim.id).used_by) for claim in own}
    below, above = reached(found["of"], uses), reached(found["of"], users)
    assert below and above
    assert set(found["on"]) == below | above | {found["of"]}


@in_browser
def test_page_fits_its_width(page: Path, tmp_path: Path) -> None:
    """Laid out in a frame of a phone's or a desktop's width, nothing sticks out."""
    widths = 360, 1200
    for width, found in zip(widths, laid_out(page, tmp_path, *widths), strict=True):
        assert found.width <= found.room <= width


@in_browser
def test_page_makes_no_request(page: Path, tmp_path: Path) -> None:
    assert requests(page, tmp_path) == []


@given(st.lists(st.text(alphabet='<>/mion ab\u03c4\U0001d53c"\\@1;', max_size=40)))
@settings(max_examples=60, deadline=None)
def test_what_is_packed_is_what_was_there(formulas: list[str]) -> None:
    """As the page's script unpacks it: bytes from 128 on stand for tags and signs."""
    text = json.dumps([formulas, [["square", 0]]], ensure_ascii=False)
    found, steps, signs = json.loads(packed(text).decode("latin-1"))
    assert steps == [["square", 0]]
    assert [
        "".join(signs[ord(c) - 128] if "\x80" <= c <= "\xff" else c for c in one)
        for one in found
    ] == formulas


def test_claims_that_use_each_other_are_drawn() -> None:
    """Each once, every use as an arrow; what a circle uses stands behind it."""
    uses = {"a": ["b"], "b": ["c"], "c": ["a", "d"], "d": []}
    drawn = graph({name: Node("proved", name) for name in uses}, uses, "circle")
    assert drawn.count('class="edge"') == 4


def test_claims_with_one_defect_hang_on_one_root_cause() -> None:
    """However their own causes are worded; each defect stands once."""
    entries = [
        SimpleNamespace(
            claim=claim,
            outcome=SimpleNamespace(status="refuted" if claim.severity else "proved"),
        )
        for claim in ledger().claims()
        if claim.id.startswith("han2024/")
    ]
    found = {one.words: {e.claim.id for e in one.claims} for one in causes(entries)}
    assert len(found) == len(causes(entries))
    roots = defaultdict(set)
    for claim in (entry.claim for entry in entries):
        if claim.root and claim.severity is Severity.THEOREM:
            roots[claim.root.words].add(claim.id)
    assert len(roots) >= 3
    assert all(claims <= found[words] for words, claims in roots.items())
    (unweighted,) = (found[one] for one in found if "carry no a_n" in one)
    assert {f"han2024/{x}" for x in ("eq-110", "alg-2/objective")} < unweighted
