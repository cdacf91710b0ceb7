"""What a run in which clients are drawn is expected to have, as a mean over outcomes.

Outcomes in which all are present who always take part are all that have a chance. What
a metric has in others is at most 0 on average (`always`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from typing import NamedTuple

from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived
from sfl_theory.proofs.always import STAR, Absent
from sfl_theory.proofs.by_number import Visit, tried
from sfl_theory.proofs.notation import Use, combine, sum_over
from sfl_theory.proofs.outcomes import Outcomes, Path
from sfl_theory.proofs.unrolled import mean, mean_below, n, w

Leaf = tuple[list[Use], k.Lin]
"""What shows ``K (there - now) >= 0`` on a path, and there."""
Models = tuple[tuple[int, Fraction], ...]
"""A combination of models x(t): rounds t and factors."""


class Mean(NamedTuple):
    """A theorem ``sum_pasts K there - now >= 0``, and what is there beside each K."""

    theorem: Theorem
    parts: Mapping[Path, k.Lin]


@dataclass(frozen=True, eq=False)
class Means(Outcomes):
    """A run outcome by outcome, and what is expected of it."""

    missing: dict[Visit, Absent] = field(default_factory=dict)

    def distance(self, t: int) -> Mean:
        """Return ``sum_paths c ||y - x*||^2 - ||x(t) - x*||^2 >= 0``."""
        x = k.iterate(self.run, t)

        def leaf(path: Path) -> Leaf:
            y, near = self.model(path)
            return [tried(near, STAR * 2 - x - y)], k.norm2(y - STAR)

        def gone(one: Absent, A: Ratio) -> Theorem:
            return one.beside(one.model(t), (STAR - x) * A)

        return self._expected(t, k.norm2(x - STAR), leaf, gone)

    def value(self, models: Models) -> Mean:
        """Return ``sum_paths c f(y) - f(x) >= 0`` for a combination x of models."""
        parts = (k.iterate(self.run, t) * c for t, c in models)
        x, rounds = sum(parts, k.Vec({})), max(t for t, _ in models)

        def leaf(path: Path) -> Leaf:
            y, uses = k.Vec({}), list[Use]()
            for t, c in models:
                there, near = self.model(path[:t])
                uses.append((self._raised(near, path, t) if t < rounds else near, c))
                y = y + there * c
            K = self.indicator(path)
            near = combine(*uses, target=k.inner(x - y, w) * K)
            g = k.gradient(k.MEAN, y)
            uses = [self._raised(mean_below(self.S, y, x), path), tried(near, -g)]
            return [*uses, (tried(near, y - x), self.S / 2)], k.value_of(k.MEAN, y)

        def gone(one: Absent, A: Ratio) -> Theorem:
            c, below = A * one.L, mean_below(self.S, STAR, x)
            uses: list[Use] = [(below, c), (rules.stationary(k.MEAN, x - STAR), -c)]
            for t, share in models:
                near = one.beside(one.model(t), (STAR - x) * A)
                uses.append((near, share * self.S / 2))
            uses.append(one.mean(k.value_of(k.MEAN, STAR), A))
            target = k.value_of(k.MEAN, x) * -c
            return combine(*uses, target=target, signs=[one.sign()])

        return self._expected(rounds, k.value_of(k.MEAN, x), leaf, gone)

    def slope2(self, t: int) -> Mean:
        """Return ``sum_paths c ||grad f(y)||^2 - ||grad f(x(t))||^2 >= 0``."""
        x = k.iterate(self.run, t)
        gx = k.gradient(k.MEAN, x)

        def leaf(path: Path) -> Leaf:
            (y, near), K = self.model(path), self.indicator(path)
            gy, (change, flat) = k.gradient(k.MEAN, y), self._changed(x, y)
            still = self._still(path, change, flat, near, x - y)
            v = -gx - gy
            uses = [(rules.mean_gradient(x, v), K), (rules.mean_gradient(y, v), -K)]
            return [tried(still, v), *uses], k.norm2(gy)

        def gone(one: Absent, A: Ratio) -> Theorem:
            c, (change, flat) = A * one.L, self._changed(x, STAR)
            return combine(
                one.beside(one.near(change, flat, one.model(t)), -gx * A),
                (rules.mean_gradient(x, -gx), c),
                (rules.mean_gradient(STAR, -gx), -c),
                (rules.stationary(k.MEAN, -gx), c),
                target=k.norm2(gx) * -c,
            )

        return self._expected(t, k.norm2(gx), leaf, gone)

    def _changed(self, x: k.Vec, y: k.Vec) -> tuple[k.Vec, Theorem]:
        """Return the mean change of gradients, at most S times x - y, and that."""
        own = k.gradient(k.Local(n), x) - k.gradient(k.Local(n), y)
        each = derived.lipschitz(k.Local(n), self.S, x, y)
        return mean(own), combine(
            sum_over(each, k.CLIENTS, n, k.weight(n)),
            rules.jensen(k.CLIENTS, n, k.weight(n), own),
        )

    def _expected(
        self,
        rounds: int,
        now: k.Lin,
        leaf: Callable[[Path], Leaf],
        gone: Callable[[Absent, Ratio], Theorem],
    ) -> Mean:
        """Return ``sum_paths c there - now >= 0``, a leaf ``K (there - now) >= 0``.

        What is no path's is that somebody is absent who never is: ``-A L now >= 0``, of
        the first one, L, A that those before are there.
        """
        uses, total, parts = list[Use](), -now, dict[Path, k.Lin]()
        for path in self.paths(rounds):
            near, there = leaf(path)
            known = path[: self.decided(there)]
            mean, chance = self.averaged(path, there, len(known))
            K = self.indicator(path)
            uses += [combine(*near, target=(there - now) * K), (mean, -1)]
            parts[known] = parts.get(known, k.Lin({})) + there * chance
            total = total + there * (self.indicator(known) * chance)
        A = ratio(1)
        for s, p in product(range(rounds), self.always):
            if (s, p) not in self.missing:
                self.missing[s, p] = Absent(self, p, s)
            uses.append(gone(self.missing[s, p], A))
            A = A * (1 - self.missing[s, p].L)
        return Mean(combine(*uses, target=total), parts)
