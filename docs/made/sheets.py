"""A sheet per theorem: statement, verdict, the repaired and the best bound.

Every verdict on these pages is the kernel's, asked while the page is made.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from fractions import Fraction
from multiprocessing import get_context

import numpy as np
import sympy as sp

from made.words import block, note, prose, sentence
from sfl_theory import Bound, Case, Theorem, symbols, theorem, theorems
from sfl_theory.best import best, proved_versions
from sfl_theory.bound import total
from sfl_theory.evidence import Claim, Part
from sfl_theory.ledger import Entry, entered, ledger
from sfl_theory.lower import USUAL, still_open
from sfl_theory.statement import VERSIONS
from sfl_theory.tuning import orders

NAMES = {
    "fedavg": "FedAvg",
    "sfl-v1": "SFL-V1",
    "sfl-v2": "SFL-V2",
    "minibatch-sfl": "MiniBatch-SFL",
    "any": "any",
}
"""Algorithms as they are written in a text."""
SHOWN_AT = 100
"""T at which the printed bound and the best one are compared."""
LOOKED_AT = (1, 10, 100, 1000)


def pages() -> Iterator[tuple[str, str]]:
    """Yield name and text of the list of theorems and of every sheet."""
    items = theorems()
    yield "index.md", _index(items)
    ledger()
    with ProcessPoolExecutor(mp_context=get_context("fork")) as pool:
        made = pool.map(_sheet, [item.key for item in items])
        for item, text in zip(items, made, strict=True):
            yield f"{page(item.key)}.md", text


def _sheet(key: str) -> str:
    return sheet(theorem(key))


def page(key: str) -> str:
    """Return the name of a theorem's page."""
    return key.replace("/", "-")


def link(claim: str, away: str = "..") -> str:
    """Return a link to a claim's row on its paper's page."""
    paper, _, rest = claim.partition("/")
    return f"<a href='{away}/papers/{paper}.html#{rest}'><code>{claim}</code></a>"


def called(item: Theorem) -> str:
    """Return a theorem's name."""
    kind = "Proposition" if "/prop" in item.key else "Theorem"
    return f"{kind} {item.number}"


def _index(items: tuple[Theorem, ...]) -> str:
    rows = "\n".join(
        f"- [{called(item)}, {item.paper}]({page(item.key)}.md): {prose(item.title)}. "
        + " ".join(_mark(item, case) for case in item.cases.values())
        for item in items
    )
    files = "\n".join(page(item.key) for item in items)
    return (
        "# A sheet per theorem\n\nMade from the code; every verdict was earned by the "
        f"kernel while the page was made.\n\n{rows}\n\n"
        f"```{{toctree}}\n:hidden:\n\n{files}\n```\n"
    )


def _mark(item: Theorem, case: Case) -> str:
    status = entered(_entry(item, case).claim).status
    words = ": ".join(filter(None, (_name(case), status)))
    return f"<span class='status {status}'>{words}</span>"


def _name(case: Case) -> str:
    return "" if case.name == "any" else case.name.replace("_", " ")


def _entry(item: Theorem, case: Case) -> Entry:
    claim = ledger().of_case(item.key, case.name)
    if claim is None:
        raise ValueError(f"{item.key} ({case.name}) is not in the ledger")
    return ledger().entry(claim.id)


def sheet(item: Theorem) -> str:
    """Return the sheet of a theorem as Markdown."""
    who = {"full": "all take part", "partial": "clients are drawn"}
    head = (
        f"# {called(item)} of {item.paper}\n\n{sentence(prose(item.title))}.\n\n"
        f"*Paper:* [{item.paper}](../papers/{item.paper}.md). "
        f"*Algorithm:* {NAMES[item.algorithm]}, "
        f"{who.get(item.participation, item.participation)}.\n\n"
        f"```sh\npython -m sfl_theory show {item.key}\n"
        f"python -m bounds.compare --theorem {item.key}\n```\n"
    )
    return head + "".join(_case(item, case) for case in item.cases.values())


def _case(item: Theorem, case: Case) -> str:
    entry = _entry(item, case)
    if entry.standing != entered(entry.claim):
        raise ValueError(f"{entry.claim.id} earns {entry.standing.words}")
    equation = case.printed.source.equation
    title = ", ".join(filter(None, (sentence(_name(case)), equation)))
    parts = (
        f"\n## {title}\n",
        _verdict(entry),
        _printed(entry.claim, case.printed),
        _evidence(entry),
        _repair(entry),
        _best(case),
        _versions(case),
        _links(entry),
    )
    return "\n".join(filter(None, parts))


def _verdict(entry: Entry) -> str:
    now, claim = entry.standing, entry.claim
    lines = []
    if now.cause:
        lines.append(f"*Cause:* {prose(now.cause)}\n")
    if now.status == "refuted" and claim.severity:
        means = f"{claim.severity.value}, {claim.severity.means}"
        lines.append(f"*Severity:* {means}\n")
    if claim.first_failure:
        first = link(claim.id_of(claim.first_failure))
        lines.append(f"*First step of the printed proof that fails:* {first}\n")
    lines.append(f"*Replay:* `{entry.reproduce}`\n")
    return note(sentence(prose(now.words)), "\n".join(lines), now.status)


def _assumed(part: Part) -> str:
    """Return the assumptions as a list, each with the paper's name for it."""
    given = {one.tex: one.source for one in part.says.assumed}
    return "".join(
        f"- ${tex}$" + (f" ({prose(name)})" if name else "") + "\n"
        for tex, name in given.items()
    )


def _printed(claim: Claim, bound: Bound) -> str:
    out, before = f"### As printed\n\n{prose(claim.title)}\n", ""
    for part in claim.parts:
        given = _assumed(part)
        same = (
            f"\n*if*\n\n{given}"
            if given != before
            else "\nunder the same conditions.\n"
        )
        out, before = out + block(part.says.tex) + same, given
    out += _rule(bound)
    readings = dict.fromkeys(p.reading for p in claim.parts if p.reading)
    if readings:
        out += f"\n*Reading:* {prose('; '.join(readings))}.\n"
    for finding in bound.findings:
        out += f"\n*Fails* {prose(finding.relation)}: {prose(finding.words)}\n"
    for one in bound.notes:
        out += f"\n*Note:* {prose(one)}\n"
    return out


def _rule(bound: Bound) -> str:
    """Return the learning rates, and what the symbols stand for."""
    out, where = "", dict(bound.definitions)
    if bound.step_size is not None:
        out += f"\n*Learning rates:*{block(bound.step_size.latex())}"
        where |= bound.step_size.definitions
    means = ", ".join(
        f"${symbols.latex(name)} = {symbols.latex(value)}$"
        for name, value in where.items()
    )
    return out + (f"\nwhere {means}.\n" if means else "")


def _evidence(entry: Entry) -> str:
    out = "\n### What decides it\n"
    words = dict.fromkeys(
        part.by.words for part in entry.claim.parts if part.by and part.by.words
    )
    for one in (entry.claim.words, *words):
        out += f"\n{prose(one)}\n" if one else ""
    for found in entry.outcome.findings:
        sides = f"{_number(found.left)} > right side {_number(found.right)}"
        out += f"\n*Instance:* {prose(found.setup)}. Left side {sides}.\n"
    return out


def _number(value: Fraction) -> str:
    return f"{float(value):.6g}"


def _repair(entry: Entry) -> str:
    repair = entry.claim.repair
    if repair is None or entry.repair is None:
        return ""
    printed = {one.tex for part in entry.claim.parts for one in part.says.assumed}
    out = f"\n### Repaired statement\n\n*{entry.repair.status.capitalize()}*; "
    out += f"what changes: {prose(repair.change)}.\n"
    for part in repair.parts:
        out += block(part.says.tex)
        new = [one.tex for one in part.says.assumed if one.tex not in printed]
        if new:
            also = ", ".join(f"${tex}$" for tex in dict.fromkeys(new))
            out += f"\nif, beside what is assumed above, {also}.\n"
        if part.reading:
            out += f"\n*Reading:* {prose(part.reading)}.\n"
    return out


def _best(case: Case) -> str:
    if not proved_versions(case):
        return ""
    found = best(case, USUAL, [SHOWN_AT])
    version, value = found.versions[0], float(found.values[0])
    bound = case.bound(version)
    out = f"\n### Best proved formula\n\n`{version}`: {VERSIONS[version]}.\n"
    out += block(bound.latex()) + _rule(bound)
    out += f"\n*If* {prose('; '.join(map(str, bound.conditions)))}.\n"
    out += "\nFor two clients with $\\kappa = 10$, $\\tau = 2$ and "
    out += f"$T = {SHOWN_AT}$ it is {value:.3g}"
    if found.metric == case.printed.metric:
        at = np.array([SHOWN_AT])
        printed = float(total(case.printed.formula(USUAL, at, found.schedule))[0])
        out += f", the printed one {printed:.3g}, {_times(printed / value)}"
    left = still_open(case, rounds=LOOKED_AT)
    if np.isfinite(left.factor):
        out += f". Up to $T = {LOOKED_AT[-1]}$ the best formula is {prose(left.words)}"
        out += "; for a run's constants, see [round by round](../round-by-round.md)"
    return out + ".\n"


def _times(ratio: float) -> str:
    return "the same" if abs(ratio - 1) < 1e-9 else f"{ratio:.3g} times as large"


def _versions(case: Case) -> str:
    rows = "\n".join(
        f"| `{name}` | {prose(VERSIONS[name])} | {_proved(case, name)} "
        f"| {_order(case.bound(name))} |"
        for name in case.versions
    )
    return (
        "\n### Versions of the bound\n\n| version | what it is | proved | order |\n"
        f"|---|---|---|---|\n{rows}\n\nOrders are meant at the best learning rate that "
        "is admitted.\n"
    )


def _proved(case: Case, version: str) -> str:
    return "yes" if version in proved_versions(case) else "no"


def _order(bound: Bound) -> str:
    if bound.step_size is None:
        return f"$T^{{{sp.latex(bound.exponent())}}}$"
    return prose(orders(bound).words)


def _links(entry: Entry) -> str:
    claim = entry.claim
    near = [c for c in ledger().claims() if c.id.startswith(f"{claim.id}/")]
    lists = (
        ("The printed proof uses", claim.depends_on),
        ("Used by", entry.used_by),
        ("Claims beside it", tuple(c.id for c in near)),
    )
    out = "".join(
        f"\n*{name}:* {', '.join(map(link, ids))}\n" for name, ids in lists if ids
    )
    return f"\n### Links\n{out}" if out else ""
