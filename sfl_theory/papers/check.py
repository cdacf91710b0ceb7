"""Decide the claims of a section: ``python -m sfl_theory.papers.check PAPER.SECTION``.

Prints a line for each part (with ``--all``: what the kernel printed), and how long it
took; exit status 1 if a part that has evidence is not decided by it.
"""

from __future__ import annotations

import sys
from importlib import import_module
from time import perf_counter

from sfl_theory.evidence import decide, parts_of


def main(arguments: list[str]) -> int:
    """Return the exit status."""
    wanted = [one for one in arguments if not one.startswith("--")]
    failed = 0
    for name in wanted:
        section, _, claim_id = name.partition(":")
        for claim in import_module(f"sfl_theory.papers.{section}").CLAIMS:
            if claim_id and not claim.id.endswith(claim_id):
                continue
            for part_name, part in parts_of(claim):
                start = perf_counter()
                found = decide(part, part_name)
                seconds = perf_counter() - start
                failed |= found.status == "unproved" and part.by is not None
                print(f"{found.status:9} {seconds:6.2f} s  {part_name}")
                if found.status == "unproved" or "--all" in arguments:
                    print("\n".join(f"    {line}" for line in found.lines))
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
