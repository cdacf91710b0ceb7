"""Long runs of many models at once, in float64: as the kernel's moments follow them.

On parabolas a round is an affine map ``x -> a x + b`` with random a, b that are drawn
anew in every round. One is played with x as a symbol, and all rounds of a run at once:
arrays get an axis of rounds before that of models, here and in sums over rounds. Then
means are ``m' = E[a] m + E[b]`` and, where no coordinates are mixed, variances
``v' = E[a^2] v + Var(a m + b)``, in which nothing cancels.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Poly
from sfl_theory.mutation.crowd import Array, Index, NotEvaluatedError, Span, paired
from sfl_theory.mutation.many import Many

CHUNK = 256
"""Rounds that are evaluated at once."""
MOST = 1e300
"""Of factors of a run that explodes: times 0 it is 0."""
FEW = 16
"""Steps that are summed one by one."""


def spans(size: int) -> Iterator[Span]:
    """Yield the numbers below a size in chunks."""
    for first in range(0, size, CHUNK):
        yield Span(first, min(first + CHUNK, size) - 1)


@dataclass
class Far(Many):
    """Values of terms that speak of one run's iterates, in a crowd of parabolas.

    A vector is its mean and, in the second slot, the standard deviation of each
    coordinate.
    """

    def prepare(self, steps: int, drawn: bool) -> None:
        """Note what is random in a round."""
        own = self.crowd
        self._coins = {
            place: slot
            for slot, place in enumerate(
                (n, i)
                for n, law in enumerate(own.noise)
                if law is not None and law[1]
                for i in range(steps)
            )
        }
        self._drawn = drawn
        noisy = bool(self._coins) or drawn
        self.slots = 2 if noisy and not own.exact else 1

    # sums over rounds

    def whole(self, value: Poly) -> Any:
        """Return the value of an index: all of them, where it is one of many rounds.

        Raises:
            NotEvaluatedError: the rounds are no neighbours.
        """
        over = {v: s for v, s in self.at.items() if isinstance(s, Span)}
        if over.keys().isdisjoint(value.free):
            return super().whole(value)
        outer, ends = self.at, []
        for end in ("first", "last"):
            self.at = {**outer, **{v: getattr(s, end) for v, s in over.items()}}
            ends.append(super().whole(value))
        self.at = outer
        (span,) = over.values()
        if ends[1] - ends[0] != span.last - span.first:
            raise NotEvaluatedError(f"{value} is no round of a chunk")
        return Span(*ends)

    def range(self, closed: k.Closed) -> Iterator[Index]:
        """Yield each value of a bound variable, many rounds in chunks.

        Raises:
            NotEvaluatedError: there are as many as the round says.
        """
        inside = any(isinstance(s, Span) for s in self.at.values())
        if not isinstance(closed.binder, k.Steps):
            yield from super().range(closed)
            return
        size = self.whole(closed.binder.upper)
        if isinstance(size, Span):
            raise NotEvaluatedError("sums over earlier rounds")
        if size <= FEW or inside:
            yield from super().range(closed)
            return
        for span in spans(size):
            self.at[closed.variable] = span
            yield span
        self.at.pop(closed.variable, None)

    def summed(self, over: k.Closed, each: Callable[[], Array], zero: Array) -> Array:
        """Return a sum, over many rounds at once."""
        out = zero
        for value in self.range(over):
            one = each()
            if isinstance(value, Span):
                alike = one.ndim == zero.ndim
                one = one * (value.last - value.first + 1) if alike else one.sum(0)
            out = out + one
        return out

    # runs

    def iterate(self, run: k.Run, t: Index) -> Array:
        """Return x(t), for many t with an axis in front.

        Raises:
            NotEvaluatedError: in fractions, of which a long run has long ones.
        """
        if t == 0:
            return self._still(self.crowd.start[:, None])
        if self.crowd.exact or not isinstance(run, k.Split):
            raise NotEvaluatedError("no long run")
        path = self.path(run)
        found: Array = path[t.first : t.last + 1] if isinstance(t, Span) else path[t]
        return found

    def path(self, run: k.Split) -> Array:
        """Return all iterates, (rounds, models, slots, 2)."""
        if run not in self._rounds:
            self._rounds[run] = self._path(run)
        found: Array = self._rounds[run]
        return found

    def _path(self, run: k.Split) -> Array:
        rounds, size = self.crowd.rounds, len(self.crowd.start)
        out = np.zeros((self.slots, 2, rounds + 1, size)).transpose(2, 3, 0, 1)
        out[0, :, 0] = self.crowd.start
        if not rounds:
            return out
        paces = [self.rate(run.pace(side).rate, Span(0, rounds - 1)) for side in k.Side]
        if all(bool((pace == pace[:1]).all()) for pace in paces):
            moves = [self._round(run, 0)]
        else:
            moves = [self._round(run, span) for span in spans(rounds)]
        shape = (rounds, size, 2)
        straight, cross, shift, *law = (
            np.broadcast_to(np.concatenate(parts), shape)
            if parts[0].ndim == len(shape)
            else np.broadcast_to(parts[0], shape)
            for parts in zip(*moves, strict=True)
        )
        x, mixed = 0 * self.crowd.start, bool(np.any(cross))
        out[0, :, 0] = 0
        if not mixed:
            out[1:, :, 0] = unrolled(straight, shift)
        for t in range(rounds if mixed else 0):
            x = straight[t] * x + shift[t] + cross[t] * x[:, ::-1]
            out[t + 1, :, 0] = x
        if law:
            means, (square, both, rest) = out[:-1, :, 0], law
            more = (square * means + 2 * both) * means + rest
            found = unrolled(straight**2 + square, more)
            out[1:, :, 1] = np.sqrt(np.maximum(found, 0))
        out[:, :, 0] += self.crowd.start
        return out

    def _round(self, run: k.Split, t: Index) -> list[Array]:
        """Return a round as an affine map of x - x(0), each (rounds, models, 2).

        So a start at which nothing moves stays what it is.

        Returns:
            What a coordinate is multiplied by, what the other one is, what is added;
            and, where all is random, the variance of the first, the covariance of it
            with what is added, and the variance of that.
        """
        patterns: list[tuple[Array, list[Array]]] = [
            (self.ones, [self.ones for _ in self.crowd.weights])
        ]
        for n, q in enumerate(self.crowd.participation):
            if q is not None and self._drawn:
                patterns = [
                    (p * chance, [*draws[:n], factor, *draws[n + 1 :]])
                    for p, draws in patterns
                    for chance, factor in ((q, 1 / q), (1 - q, 0 * self.ones))
                ]
        played = [
            (p, Round(self, draws, self._coins).play(run, t)[1])
            for p, draws in patterns
        ]
        mean = sum((p[..., None] * y for p, y in played), 0 * played[0][1])
        other = paired(mean[..., 2, 0], mean[..., 1, 1])
        out = [_own(mean), other, mean[..., 0, :] - self.crowd.start]
        if self.slots == 1:
            return out
        square = both = rest = 0 * other
        for p, y in played:
            a, b = _own(y - mean), (y - mean)[..., 0, :]
            square, both = square + p * a * a, both + p * a * b
            rest = rest + p * (b * b + (y[..., 3:, :] ** 2).sum(-2))
        return [*out, square, both, rest]


def _own(y: Array) -> Array:
    """Return what of each coordinate of an affine map is a multiple of itself."""
    return paired(y[..., 1, 0], y[..., 2, 1])


def unrolled(by: Array, more: Array) -> Array:
    """Return x(1), x(2), ... of ``x(t + 1) = by(t) x(t) + more(t)``, x(0) = 0.

    What some rounds in a row do is found for all stretches of as many rounds at once,
    then one stretch is played after another.

    Args:
        by: with rounds in front.
        more: of the same shape.
    """
    rounds = len(by)
    size = max(1, int(rounds**0.5))
    whole = rounds - rounds % size
    made = (whole // size, size, *by.shape[1:])
    factors, terms = (np.array(a[:whole].reshape(made), order="K") for a in (by, more))
    for i in range(1, size):
        terms[:, i] += factors[:, i] * terms[:, i - 1]
        factors[:, i] *= factors[:, i - 1]
    np.clip(factors, -MOST, MOST, out=factors)
    out, x = np.empty_like(more), 0 * more[0]
    for j in range(len(terms)):
        x = out[j * size : (j + 1) * size] = factors[j] * x + terms[j]
        x = x[-1]
    for t in range(whole, rounds):
        x = out[t] = by[t] * x + more[t]
    return out


class Round(Many):
    """One round from an iterate that is a symbol, with given draws.

    A vector's slots are what it is from the start, what it has of the two coordinates
    of the iterate's distance from there, and of each of the round's coins.
    """

    def __init__(
        self, outer: Far, draws: list[Array], coins: dict[tuple[int, int], int]
    ) -> None:
        super().__init__(outer.crowd)
        self.slots, self._coins = 3 + len(coins), coins
        self._draws, self.rate = draws, outer.rate  # type: ignore[method-assign]

    def iterate(self, run: k.Run, t: Index) -> Array:
        """Return the symbol."""
        out = self._empty()
        out[:, 0] = self.crowd.start
        out[:, 1, 0] = out[:, 2, 1] = 1
        return out

    def noise(self, n: int, t: Index, i: int) -> Array:
        """Return the noise of a step: a coin's, or always the same."""
        out = self._empty()
        law = self.crowd.noise[n]
        if law is not None:
            out[:, 3 + self._coins[n, i] if law[1] else 0] = law[0]
        return out

    def drawn(self, n: int, t: Index) -> Array:
        """Return the draw that is given."""
        return self._draws[n]
