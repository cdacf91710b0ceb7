r"""Learning rates $\eta^t$ as functions of the round, one per side of the cut."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Rate = Callable[[NDArray[np.float64]], Any]
_CHUNK = 1_000_000


@dataclass(frozen=True)
class Schedule:
    r"""A learning rate for the client side and one for the server side.

    Attributes:
        client: $t\mapsto\eta^t$ on the client side, vectorised over t.
        server: the same on the server side.
        words: the rule in words, for records and pictures.
        per_step: t counts local steps since the start of the run instead of rounds
            (``huang2023``).
        value: the client's learning rate if it is one number for all t.
        ratio: the server's rate over the client's where the rule fixes it; sums over
            $\eta^t$ mean the client's.
    """

    client: Rate
    server: Rate
    words: str
    per_step: bool = False
    value: float | None = None
    ratio: float = 1.0

    @property
    def sides(self) -> str:
        """The rule and its first value, on both sides of the cut where they differ."""
        client, server = (float(side[0]) for side in self._both(np.zeros(1)))
        rule = self.words.replace("**", "^").replace("*", " ")
        if client == server and self.value is not None and rule.startswith("constant"):
            return rule
        first = f"{rule} (eta^0 = {client:.3g}"
        return f"{first})" if client == server else f"{first} | {server:.3g} server)"

    def scaled(self, ratio: float) -> Schedule:
        """Return the client's rate with a server side of ``ratio`` times as much.

        Args:
            ratio: positive.

        Returns:
            A schedule whose sums are those of the client's rate.
        """
        client = self.client
        words = self.words if ratio == 1 else f"{self.words} (server x {ratio:.4g})"
        return replace(
            self, server=lambda t: ratio * client(t), words=words, ratio=ratio
        )

    def accumulate(
        self, summand: Callable[[NDArray[np.float64]], Any], rounds: ArrayLike
    ) -> NDArray[np.float64]:
        r"""Return $\sum_{t=0}^{T-1}h(\eta^t)$ for every T in ``rounds``.

        The sum is over the actual values, in extended precision where the platform
        has it; a constant rate uses $T\,h(\eta)$.

        Args:
            summand: h, vectorised.
            rounds: non-negative integers T, any order, shape (m,).

        Returns:
            Sums of shape (m,).

        Raises:
            ValueError: if the server's rate is not ``ratio`` times the client's: the
                theorems that sum over $\eta^t$ have a single one.
        """
        wanted = np.asarray(rounds, dtype=np.int64)
        if self.value is not None:
            return np.asarray(summand(np.asarray(self.value))) * wanted
        result = np.zeros(wanted.shape)
        done, total = 0, np.longdouble(0)
        last = int(wanted.max(initial=0))
        while done < last:
            t = np.arange(done, min(done + _CHUNK, last), dtype=np.float64)
            rate, other = self._both(t)
            if not np.allclose(other, self.ratio * rate, rtol=1e-12, atol=0):
                raise ValueError(
                    "this bound sums over one learning rate; the client side and the "
                    "server side differ (use tau = tau_server or one schedule)"
                )
            values = np.broadcast_to(np.asarray(summand(rate)), t.shape)
            sums = total + np.cumsum(values, dtype=np.longdouble)
            here = (wanted > done) & (wanted <= done + t.size)
            result[here] = sums[wanted[here] - done - 1]
            done, total = done + t.size, sums[-1]
        return result

    def _both(self, t: NDArray[np.float64]) -> tuple[NDArray[np.float64], ...]:
        return tuple(
            np.broadcast_to(np.asarray(side(t), dtype=np.float64), t.shape)
            for side in (self.client, self.server)
        )


def constant(eta: float) -> Schedule:
    r"""Return $\eta^t=\eta$ on both sides.

    Args:
        eta: the learning rate, positive.

    Returns:
        The schedule.

    Raises:
        ValueError: if ``eta`` is not a positive number.
    """
    if not (np.isfinite(eta) and eta > 0):
        raise ValueError(f"a learning rate must be positive and finite, got {eta}")
    return Schedule(
        lambda t: np.full(np.shape(t), eta),
        lambda t: np.full(np.shape(t), eta),
        f"constant {eta:.4g}",
        value=float(eta),
    )


def inverse_time(scale: float, offset: float) -> Schedule:
    r"""Return $\eta^t=\text{scale}/(\text{offset}+t)$ on both sides.

    Args:
        scale: positive numerator.
        offset: positive, added to the round.

    Returns:
        The schedule.

    Raises:
        ValueError: if one of them is not positive.
    """
    if not (scale > 0 and offset > 0 and np.isfinite(scale) and np.isfinite(offset)):
        raise ValueError(f"scale and offset must be positive, got {scale} and {offset}")
    return function(lambda t: scale / (offset + t), f"{scale:.4g}/({offset:.4g} + t)")


def function(rate: Rate, words: str = "given") -> Schedule:
    """Return the user's own learning rate, the same on both sides.

    Args:
        rate: vectorised function of the round.
        words: what it is called in records.

    Returns:
        The schedule.
    """
    return Schedule(rate, rate, words)


def table(values: Sequence[float]) -> Schedule:
    """Return a schedule listed round by round; the last value goes on for ever.

    Args:
        values: learning rates of rounds 0, 1, 2, ...; all positive.

    Returns:
        The schedule.

    Raises:
        ValueError: if the list is empty or a value is not positive.
    """
    rates = np.asarray(values, dtype=np.float64)
    if rates.ndim != 1 or rates.size == 0 or not np.all(np.isfinite(rates)):
        raise ValueError("a schedule needs at least one finite learning rate")
    if np.any(rates <= 0):
        raise ValueError("learning rates must be positive")

    def rate(t: NDArray[np.float64]) -> NDArray[np.float64]:
        return rates[np.minimum(np.asarray(t, np.int64), rates.size - 1)]

    return function(rate, f"list of {rates.size}")
