r"""Local smoothness by blocks: of the Hessian's diagonal blocks, and along a step.

Both hold numbers per block from which those of any stretch of blocks, so of both sides
of every cut, follow without another pass.

For a stretch P of the parameters (the client's, say) and the Ritz vector z that
Lanczos found for the whole Hessian H, $\|PHPz\|/\|Pz\|$ is at most $\|PHP\|$, the
largest absolute eigenvalue of the diagonal block: a **lower bound**, exact where Pz is
an eigenvector of it. With $y_b=HP_bz$ of every block, one product each, it is known
for all stretches: $PHPz=\sum_{b\in P}Py_b$.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import nan, sqrt

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

WHOLE = slice(None)


@dataclass(frozen=True)
class DiagonalBlocks:
    r"""Lower bounds of the norms of the Hessian's diagonal blocks.

    Attributes:
        products: $\langle P_by_i,P_by_j\rangle$, shape (blocks b, blocks i, blocks j).
        squares: $\|P_bz\|^2$, shape (blocks,).
    """

    products: NDArray[np.float64]
    squares: NDArray[np.float64]

    @classmethod
    def along(
        cls,
        product: Callable[[Tensor], Tensor],
        z: Tensor | None,
        offsets: Sequence[int],
    ) -> DiagonalBlocks:
        """Make the product of every block that has parameters.

        Args:
            product: with the Hessian.
            z: shape (d,); None where Lanczos met something that is not a number.
            offsets: where the blocks begin, and d.

        Returns:
            What the bounds of all stretches follow from.
        """
        bounds = list(pairwise(offsets))
        if z is None:
            unknown = np.full((len(bounds),) * 3, nan)
            return cls(unknown, unknown[:, 0, 0])
        rows = torch.zeros(len(bounds), len(z), dtype=z.dtype, device=z.device)
        for row, (first, last) in zip(rows, bounds, strict=True):
            if last > first:
                row[first:last] = z[first:last]
                row.copy_(product(row.clone()))
        pieces = [rows[:, first:last].double() for first, last in bounds]
        squares = [z[first:last].double().square().sum() for first, last in bounds]
        return cls(
            torch.stack([piece @ piece.T for piece in pieces]).cpu().numpy(),
            torch.stack(squares).cpu().numpy(),
        )

    def over(self, blocks: slice) -> float:
        r"""Return $\|PHPz\|/\|Pz\|$ of a stretch of blocks.

        Args:
            blocks: the stretch.

        Returns:
            The lower bound; 0 for a stretch that z does not touch.
        """
        moved = float(self.squares[blocks].sum())
        seen = float(self.products[blocks, blocks, blocks].sum())
        return sqrt(max(seen, 0.0) / moved) if moved else 0.0


@dataclass(frozen=True)
class Secant:
    r"""Change of the gradient and of the model along a round, by blocks.

    Of all blocks $\|\nabla f(x')-\nabla f(x)\|/\|x'-x\|$ is a lower bound of the
    smoothness. Of a stretch P it is $\|P(\nabla f(x')-\nabla f(x))\|/\|P(x'-x)\|$, the
    smoothness that the stretch itself sees; the other blocks moved too, so it bounds
    no norm of a diagonal block.

    Attributes:
        change2: squared norms of the gradient's change, shape (blocks,).
        moved2: squared norms of the model's, shape (blocks,).
    """

    change2: NDArray[np.float64]
    moved2: NDArray[np.float64]

    def over(self, blocks: slice = WHOLE) -> float | None:
        """Return the quotient of a stretch of blocks, or None where nothing moved."""
        moved = float(self.moved2[blocks].sum())
        return sqrt(float(self.change2[blocks].sum()) / moved) if moved else None
