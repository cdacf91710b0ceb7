r"""The runs behind refutations of ``sfl_theory``, repeated by the ordinary trainer.

``RUNS`` says for a claim how each of its instances is trained: the left side per
replica, with probabilities where the replicas are all outcomes of the draws, without
where they are draws at random. The numbers of an instance are written out again in
``by_trainer_*.py``; nothing is read from the modules under test but the papers' own
learning rates.
"""

from __future__ import annotations

from by_trainer_boxes import BOXES
from by_trainer_dachille2024 import DACHILLE2024
from by_trainer_han2024 import HAN2024
from by_trainer_huang2023 import HUANG2023
from trained import Run

RUNS: dict[str, tuple[Run, ...]] = {
    f"{paper}/{name}": runs
    for paper, table in (
        ("han2024", HAN2024 | BOXES),
        ("huang2023", HUANG2023),
        ("dachille2024", DACHILLE2024),
    )
    for name, runs in table.items()
}
"""Claim -> how each of its instances is trained, in the order of the ledger."""
