"""The data card of an exported folder: what it holds, how labelled, known limits."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Sequence

from sfl_theory.benchmark.records import LABELS, Record
from sfl_theory.ledger import coverage

NO_ERROR = "no error: `contrary`"
FIELDS = {
    "`id`": "name, unique in the folder",
    "`paper`, `claim`, `location`, `kind`, `role`, `title`": (
        "where a claim stands and what it is"
    ),
    "`of`, `operator`, `change`, `about`": (
        "of a mutant: the statement it is a neighbour of, what was changed, "
        "what it speaks of"
    ),
    "`latex`": (
        "`statement`, `assumptions` and `definitions` of letters in them; made by the "
        "operations that make the terms, or typeset from them"
    ),
    "`reads`": (
        "the statement as the kernel prints it, its run (`where`) and the sorts of its "
        "parameters (`for_all`); the checker compares its names with the terms'"
    ),
    "`statement`": (
        "the same as terms: a table, and the places of hypotheses and both sides in it"
    ),
    "`label`": "*proved*, *refuted*, *open*",
    "`evidence`": (
        "of *proved*: `steps` of a derivation (rule and arguments), `theorem` "
        "the last one, and a `model` that meets the hypotheses, where there is "
        "one; of *refuted*: the `model`; *open*: null. `terms` goes on with the "
        "statement's table"
    ),
    "`replay`, `reproduce`": "commands: in this folder, and in the repository",
    "`severity`, `scope`, `cause`, `claim_status`": (
        "what a refutation means (*theorem*: a stated result is false; *proof*: "
        "a step of it; *constant*; *slip*: notation), for which hypotheses, "
        "why, and the status of the whole claim"
    ),
    "`contrary`": (
        "true: the paper says that the assumptions can hold together; the "
        "record says `1 <= 0` under them, so that *refuted* confirms the paper"
    ),
    "`why_open`": (
        "of an open mutant: *undecided*, or *no model*: it drops what every "
        "model of the kernel has"
    ),
}
"""What stands in a record, for the card."""
CARD = """\
---
pretty_name: Machine-checked claims of papers on split federated learning
language: [en]
license: mit
task_categories: [text-classification]
tags: [mathematics, theorem-verification, error-detection, federated-learning]
configs:
- config_name: claims
  data_files: claims.jsonl
{mutants_config}---

# Machine-checked claims of papers on split federated learning

Inequalities of convergence proofs, each labelled *proved*, *refuted* or *open*, with
the evidence for the label in the record itself: a derivation that a small kernel
replays, or a model in which every hypothesis holds and the inequality fails, both in
exact arithmetic. For people and programs that look for errors in proofs.

Exported {date} from {version}.

```
python -I -S check.py                 # replays every label; standard library only
python -I -S check.py . --id NAME     # one record, as the kernel reads it
```

## What it holds

{counts}

**claims.jsonl**: statements of the papers ({papers}), theorems and the links of their
proofs one by one, with their misprints (`role` *printed*), the repaired statement
where one is refuted (*repair*), and sharper ones that no paper prints (*added*).

{coverage}

**mutants.jsonl**:
{mutants}

## Fields

| field | what |
|---|---|
{fields}

For a blind test leave `label`, `evidence`, `severity`, `scope`, `cause`,
`claim_status`, `role`, `why_open`, `operator` and `change` away.

## How it is labelled

No person labels. *proved*: the derivation ends in `right - left >= 0` under the
statement's hypotheses or fewer. *refuted*: the kernel finds every hypothesis true in
the model and left > right, by exact evaluation. *open*: neither is at hand; it says
nothing about truth. A refutation is of the statement for all values of its
parameters; it may hold for some (`scope`). The rules and what has to be trusted are
in the docstrings of `kernel/`; its sources are a copy. To check this folder with a
kernel of your own: `python -I -S sfl_theory/benchmark/check.py FOLDER` in the
repository.

`check.py` rejects: a label that its evidence does not earn, a statement that was
changed, evidence of another statement, a hypothesis taken away (the proof needs it,
or `reads` no longer fits), a file that is not the one exported (`manifest.json` has
the digests). It cannot see a label *open* put in the place of another one, with the
evidence removed and the digests made again.

## Known limits

- LaTeX is not trusted: the terms are what is decided. Of `reads` the names are checked.
- Claims were chosen and encoded by the project's authors; a reading of the printed
  words as terms is a choice. Whoever doubts one compares `latex` with the paper.
- Open is not balanced against the others, and mutants of one statement are alike.
- A label *refuted* of a claim may be about a slip of notation: see `severity`.
- Hypotheses of a *proved* statement may exclude each other where no `model` is named.

## Splits

None. Statements of one paper share lemmas, and mutants share their original: split by
`paper`, or at least keep a statement, its repair and all its mutants (`of`) together.

## Licence and citation

The records, the card and the code are under the MIT licence of the project. The
papers are their authors'; what is quoted of them are short formulas and locations.

```bibtex
@misc{{sfl-verify-labels,
  title  = {{Machine-checked claims of papers on split federated learning}},
  author = {{The sfl-verify authors}},
  year   = {{{year}}},
  note   = {{exported {date} from {version}}}
}}
```
"""


def card(
    claims: Sequence[Record],
    mutants: Sequence[Record],
    told: str,
    date: str,
    version: str,
) -> str:
    """Return the card of a folder.

    Args:
        claims: its records of claims.
        mutants: its records of mutants.
        told: how many statements were mutated, in words.
        date: of the export.
        version: of the project.

    Returns:
        Markdown with a header that data hubs read.
    """
    config = "- config_name: mutants\n  data_files: mutants.jsonl\n"
    counts = [_table("claims.jsonl by paper", claims, "paper")]
    counts.append(_table("claims.jsonl by role", claims, "role"))
    refuted: list[Record] = [
        one | {"severity": NO_ERROR} if one["contrary"] else one
        for one in claims
        if one["label"] == "refuted"
    ]
    counts.append(_table("what is refuted, by severity", refuted, "severity"))
    if mutants:
        counts.append(_table("mutants.jsonl by operator", mutants, "operator"))
        counts.append(_table("mutants.jsonl by what they speak of", mutants, "about"))
    papers = list(dict.fromkeys(str(one["paper"]) for one in claims))
    told, lacks = (textwrap.fill(one, 86) for one in (told, coverage(papers)))
    return CARD.format(
        mutants_config=config if mutants else "",
        date=date,
        year=date[:4],
        version=version,
        counts="\n\n".join(counts),
        papers=", ".join(papers),
        coverage=lacks,
        fields="\n".join(f"| {name} | {what} |" for name, what in FIELDS.items()),
        mutants=told,
    )


def _table(title: str, records: Iterable[Record], by: str) -> str:
    """Return how many records have each label, by a field, as Markdown."""
    found = Counter((str(one[by] or "-"), str(one["label"])) for one in records)
    rows = list(dict.fromkeys(row for row, _ in found))
    lines = [f"| {title} | " + " | ".join((*LABELS, "all")) + " |"]
    lines.append("|---|" + "---|" * (len(LABELS) + 1))
    for row in (*rows, "**all**"):
        own = [
            sum(
                n for (r, x), n in found.items() if x == label and row in (r, "**all**")
            )
            for label in LABELS
        ]
        lines.append(f"| {row} | " + " | ".join(map(str, (*own, sum(own)))) + " |")
    return "\n".join(lines)
