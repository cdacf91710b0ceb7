"""``sfl-verify``, or ``python -m bounds``: every command of the toolkit by one name.

A verb runs its module as ``python -m`` does, so options, output and exit status are
those of the module.
"""

from __future__ import annotations

import sys
from argparse import Namespace
from collections.abc import Sequence
from runpy import run_module

from sfl_theory.command import Parser, run

VERBS = {
    "compare": ("bounds.compare", "train, measure, and put the curve beside bounds"),
    "audit": ("bounds.audit", "what is proved, refuted, unproved in the papers"),
    "worst-case": ("bounds.worst_case", "the exact worst case of a run, certified"),
    "show": ("sfl_theory show", "read a theorem, and what the audit says of it"),
    "evaluate": ("sfl_theory evaluate", "a bound as numbers"),
    "train": ("sfl_train", "train an algorithm, in a folder that survives"),
    "figures": ("figures", "the papers' figures and tables, made and checked"),
}
"""Verb -> what ``python -m`` runs, and what it does."""


def main(arguments: Sequence[str] | None = None) -> int:
    """List the verbs, or run one.

    Args:
        arguments: command line without the program's name; None: the real one.

    Returns:
        0 where the verbs are listed. A verb ends in the exit of its module.
    """
    verb, *rest = (sys.argv[1:] if arguments is None else arguments) or ["--help"]
    if verb in {"-h", "--help"}:
        return run(Parser(prog="sfl-verify"), _listed, [])
    if verb not in VERBS:
        known = ", ".join(VERBS)
        Parser(prog="sfl-verify").error(f"no verb '{verb}': choose from {known}")
    module, *first = VERBS[verb][0].split()
    sys.argv[1:] = [*first, *rest]
    run_module(module, run_name="__main__", alter_sys=True)
    return 0


def _listed(_: Namespace) -> int:
    print("usage: sfl-verify VERB ..., the same as python -m MODULE ...\n")
    for name, (module, words) in VERBS.items():
        print(f"  {name:<11} {module:<20} {words}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
