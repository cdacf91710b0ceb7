r"""A network that can be cut: one sequence of blocks, and where the papers cut it.

Both halves of a split model are slices of one definition, so nothing can differ between
them: ``network.blocks[:k]`` is the client side and ``network.blocks[k:]`` the server
side. The papers number cuts $L_c=1,2,\dots$; ``cuts[L_c-1]`` is the index k.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import nn


@dataclass(frozen=True)
class Network:
    """Blocks in order and the indices at which the papers cut them.

    Attributes:
        blocks: the blocks; any `torch.nn.Sequential` will do.
        cuts: number of client-side blocks at the papers' $L_c=1,2,...$; empty where no
            paper numbers them.
    """

    blocks: nn.Sequential
    cuts: Sequence[int] = ()

    def cut(self, number: int) -> int:
        r"""Return the number of client-side blocks at the cut $L_c$.

        Args:
            number: $L_c\ge1$ as the papers number cuts, or, where no paper does, the
                number of client-side blocks itself.

        Returns:
            An index into ``blocks``.

        Raises:
            ValueError: if there is no such cut.
        """
        known = self.cuts or range(1, len(self.blocks))
        if not 1 <= number <= len(known):
            raise ValueError(
                f"cut: expected a number from 1 to {len(known)} for this model, got "
                f"{number}"
            )
        return int(known[number - 1])
