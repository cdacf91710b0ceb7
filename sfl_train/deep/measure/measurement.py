r"""What the theory speaks of, at the aggregated model $x^t$ of a deep run.

All squared norms are kept by blocks, so that one pass yields the client side's and the
server side's share at every cut; BatchNorm is frozen. With $g_n$ a mini-batch gradient
of size B:

- ``objective``: $f(x)=\sum_na_nF_n(x)$, without augmentation and weight decay;
- ``gradient2``: $\|\nabla f(x)\|^2$;
- ``epsilon2``: $\|\nabla F_n-\nabla f\|^2$ of every client, whose maximum is
  $\epsilon^2$ (Assumption 3.4);
- ``sigma2``: $\mathbb E\|g_n-\nabla F_n\|^2$ of every client, from all per-sample
  gradients: their variance over B for draws with replacement, times $(D_n-B)/(D_n-1)$
  without. B is ``--batch-size``, or D_n if that is less; the last mini-batch of a pass,
  of $B'=D_n\bmod B$ samples where B does not divide D_n, has the larger variance with
  B' in the place of B and is not in the number;
- ``G2``: $\max_n\mathbb E\|g_n\|^2=\max_n(\|\nabla F_n\|^2+\sigma_n^2)$;
- ``smoothness``: $\|\nabla^2f(x)\|$ by Lanczos on an eighth of the samples (at least
  64, at most 1024), a lower bound that grows with the steps; by blocks and sides a
  lower bound of the norm of their diagonal block, see `sides`;
- ``secant``: $\|\nabla f(x^t)-\nabla f(x^{t-1})\|/\|x^t-x^{t-1}\|$ along the last
  round, by blocks and sides with both changes restricted to them;
- ``drift``: $\sum_i\|x_n^{t-1,i}-x^{t-1}\|^2$ of the last round's participants, over
  the steps that the side makes (i < tau, i < tau_server).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import ceil, floor
from typing import Any

import numpy as np
import torch
from torch import Tensor

from sfl_train import streams
from sfl_train.deep.algorithms.run import DeepRun
from sfl_train.deep.config import cadence
from sfl_train.deep.flat import State
from sfl_train.deep.measure.cost import LANCZOS_STEPS, cost_of_one, curvature_count
from sfl_train.deep.measure.curvature import lanczos
from sfl_train.deep.measure.drift import Drift
from sfl_train.deep.measure.frozen import Frozen, frozen
from sfl_train.deep.measure.sides import WHOLE, DiagonalBlocks, Secant
from sfl_train.streams import Purpose

SHARE = 0.1
"""Largest share of the training time that the default cadence spends on measuring."""


@dataclass(frozen=True)
class Measured:
    r"""Squared norms by blocks at one model.

    Attributes:
        objective: $f(x)$.
        gradient2: $\|\nabla f\|^2$, shape (blocks,).
        divergence2: $\|\nabla F_n-\nabla f\|^2$, shape (N, blocks).
        client_gradient2: $\|\nabla F_n\|^2$, shape (N, blocks).
        sigma2: variance of a mini-batch gradient, shape (N, blocks).
        smoothness: $\|\nabla^2f\|$.
        residual: of Lanczos.
        diagonal: lower bounds for the Hessian's diagonal blocks.
        secant: along the last round, or None before the first.
        drift: client -> shape (blocks,) of the last round.
    """

    objective: float
    gradient2: np.ndarray
    divergence2: np.ndarray
    client_gradient2: np.ndarray
    sigma2: np.ndarray
    smoothness: float
    residual: float
    diagonal: DiagonalBlocks
    secant: Secant | None
    drift: dict[int, np.ndarray]

    def record(self, weights: np.ndarray, cuts: list[int]) -> dict[str, Any]:
        """Return what the metrics file holds.

        Args:
            weights: $a_n$.
            cuts: numbers of client-side blocks, in the papers' order $L_c=1,2,...$

        Returns:
            Scalars, values by block, and both sides' shares at every cut.
        """
        second = (self.client_gradient2 + self.sigma2).sum(1)
        divergence = self.divergence2.sum(1)
        found: dict[str, Any] = {
            "objective": self.objective,
            "gradient2": float(self.gradient2.sum()),
            "epsilon2": float(divergence.max()),
            "epsilon2_mean": float(weights @ divergence),
            "sigma2": self.sigma2.sum(1).tolist(),
            "G2": float(second.max()),
            "smoothness": self.smoothness,
            "smoothness_residual": self.residual,
            "secant": self._secant(WHOLE),
            "drift": {str(n): float(blocks.sum()) for n, blocks in self.drift.items()},
            "blocks": {
                "gradient2": self.gradient2.tolist(),
                "divergence2": self.divergence2.tolist(),
                "client_gradient2": self.client_gradient2.tolist(),
                "sigma2": self.sigma2.tolist(),
                "smoothness": [self.diagonal.over(one) for one in self._blocks()],
                "secant": [self._secant(one) for one in self._blocks()],
                "drift": {str(n): blocks.tolist() for n, blocks in self.drift.items()},
            },
        }
        found["cuts"] = [
            self._at(number, blocks) for number, blocks in enumerate(cuts, start=1)
        ]
        return found

    def _at(self, number: int, blocks: int) -> dict[str, Any]:
        """Return both sides' shares at a cut, with the metrics of huang2023, Fig. 3."""
        within = float(self.sigma2[:, :blocks].sum(1).mean())
        across = float(self.divergence2[:, :blocks].sum(1).mean())
        return {
            "cut": number,
            "client": self._side(slice(0, blocks)),
            "server": self._side(slice(blocks, None)),
            "variance_at_client": within,
            "variance_across_clients": across,
            "variance_at_client_per_cut": within / number,
            "variance_across_clients_per_cut": across / number,
        }

    def _blocks(self) -> list[slice]:
        return [slice(b, b + 1) for b in range(len(self.gradient2))]

    def _secant(self, blocks: slice) -> float | None:
        return None if self.secant is None else self.secant.over(blocks)

    def _side(self, blocks: slice) -> dict[str, float | None]:
        second = (self.client_gradient2 + self.sigma2)[:, blocks].sum(1)
        return {
            "gradient2": float(self.gradient2[blocks].sum()),
            "epsilon2": float(self.divergence2[:, blocks].sum(1).max()),
            "sigma2": float(self.sigma2[:, blocks].sum(1).max()),
            "G2": float(second.max()),
            "smoothness": self.diagonal.over(blocks),
            "secant": self._secant(blocks),
            "drift": max(
                (float(one[blocks].sum()) for one in self.drift.values()), default=0.0
            ),
        }


class Measurement:
    """Measures a run at a cadence, and looks on at the round before."""

    def __init__(
        self,
        run: DeepRun,
        measure: str,
        seed: int,
        cuts: list[int],
        rounds: int | None = None,
    ) -> None:
        """Set up.

        Args:
            run: what is measured.
            measure: "every=K", or "auto": as often as 10 % of the time allows.
            seed: of the sample and the start of Lanczos.
            cuts: numbers of client-side blocks at the papers' cuts.
            rounds: of the whole run; None: endless.
        """
        self._run, self._cuts, self._seed = run, cuts, seed
        self._federation = run.federation
        self.every = automatic(run, rounds) if measure == "auto" else cadence(measure)
        self.drift = Drift(run.periods)
        self._before: State | None = None

    def due(self, round: int) -> bool:
        """Return whether the model after so many rounds is measured."""
        return round % self.every == 0

    def begin(self, round: int) -> None:
        """Prepare for the round that leads to a measured model.

        Args:
            round: rounds made so far.
        """
        self._before = None
        self.drift.end()
        if self.due(round + 1):
            self._before = self._run.state.clone()
            self.drift.begin(self._run.state.parameters)

    def record(self) -> dict[str, Any]:
        """Return what the metrics file holds about the run's present model."""
        weights = np.asarray(self._federation.weights)
        return self.measure().record(weights, self._cuts)

    def measure(self) -> Measured:
        """Return what is measured at the present model; nothing of the run changes."""
        run, federation = self._run, self._federation
        store = federation.store
        drift = run.cluster.merged(self.drift.sums)
        with frozen(run.worker, run.state, store) as model:
            objective, whole = self._objective(model)
            # A client's gradient is computed twice, so that one is held at a time.
            divergence, squares, variance = [], [], []
            for part in self._parts():
                g = model.gradient(part)[1]
                divergence.append(model.by_blocks(g - whole))
                squares.append(model.by_blocks(g))
                factor = self._batch_factor(len(part))
                variance.append(model.variance(part, g) * factor)
            samples = self._curvature_samples()
            product = partial(model.hessian_product, samples)
            start = self._start(model.dimension, whole)
            spectrum = lanczos(product, start, LANCZOS_STEPS)
            diagonal = DiagonalBlocks.along(product, spectrum.vector, model.offsets)
            gradient2 = model.by_blocks(whole)
        return Measured(
            objective=objective,
            gradient2=gradient2.cpu().numpy(),
            divergence2=torch.stack(divergence).cpu().numpy(),
            client_gradient2=torch.stack(squares).cpu().numpy(),
            sigma2=torch.stack(variance).numpy(),
            smoothness=spectrum.norm,
            residual=spectrum.residual,
            diagonal=diagonal,
            secant=self._secant(whole),
            drift={n: b.cpu().numpy() for n, b in sorted(drift.items())},
        )

    def _objective(self, model: Frozen) -> tuple[float, Tensor]:
        """Return f and its gradient, the clients' added one by one."""
        like = self._run.state.parameters
        value, total = 0.0, torch.zeros_like(like, dtype=torch.float64)
        for a, part in zip(self._federation.weights, self._parts(), strict=True):
            loss, g = model.gradient(part)
            value += float(a) * loss
            total.add_(g, alpha=float(a))
        return value, total.to(like.dtype)

    def _parts(self) -> Iterator[Tensor]:
        device = self._federation.store.device
        return (torch.from_numpy(part).to(device) for part in self._federation.parts)

    def _batch_factor(self, size: int) -> float:
        work = self._federation.work
        batch = min(work.batch_size, size)
        if work.sampling == "replacement":
            return 1.0 / batch
        return (size - batch) / (batch * max(1, size - 1))

    def _secant(self, gradient: Tensor) -> Secant | None:
        if self._before is None:
            return None
        moved = self._run.state.parameters - self._before.parameters
        if not bool(moved.any()):
            return None
        mixed = State(
            self._before.parameters, self._run.state.buffers, self._run.state.counters
        )
        with frozen(self._run.worker, mixed, self._federation.store) as model:
            change = gradient - self._objective(model)[1]
            squares = (model.by_blocks(change), model.by_blocks(moved))
        return Secant(*(one.cpu().numpy() for one in squares))

    def _curvature_samples(self) -> Tensor:
        everything = np.sort(np.concatenate(self._federation.parts))
        count = curvature_count(len(everything))
        if len(everything) > count:
            key = streams.keys(self._seed, Purpose.MEASUREMENT)
            order = np.argsort(streams.uniforms(key, len(everything)), kind="stable")
            everything = np.sort(everything[order[:count]])
        return torch.from_numpy(everything).to(self._federation.store.device)

    def _start(self, dimension: int, like: Tensor) -> Tensor:
        key = streams.keys(self._seed, Purpose.MEASUREMENT, 1)
        return torch.from_numpy(streams.normals(key, dimension)).to(like)


def automatic(run: DeepRun, rounds: int | None = None) -> int:
    r"""Return the smallest cadence that keeps measuring within its share of the time.

    Both costs are counted in samples, not in seconds, so that every machine and every
    resumed run measures at the same rounds. The initial model counts: with cadence k
    there are $1+\lfloor T/k\rfloor$ measurements. A run too short for one measurement
    measures the initial model only.

    Args:
        run: what will be measured.
        rounds: T of the whole run; None: endless.

    Returns:
        Rounds between two measurements.
    """
    federation = run.federation
    sizes = [len(part) for part in federation.parts]
    samples, work = sum(sizes), federation.work
    per_round = federation.q * (
        work.epochs * samples
        if work.epochs is not None
        else sum(work.steps(size) * min(work.batch_size, size) for size in sizes)
    )
    blocks = sum(a < b for a, b in pairwise(run.worker.model.offsets))
    cost = cost_of_one(samples, blocks)
    if rounds is None:
        return max(1, ceil(cost / (SHARE * per_round)))
    affordable = floor(SHARE * per_round * rounds / cost)
    return rounds // max(1, affordable) + 1
