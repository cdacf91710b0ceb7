"""Runs in which clients are drawn, outcome by outcome of the draws.

A path says who takes part in rounds 0, 1, ... Its indicator is a polynomial in draws:
with ``1/q_n = 1 + v_n`` assumed, the product of ``J_n/(1 + v_n)`` over those present
and ``1 - J_n/(1 + v_n)`` over the others. Where it is 1, a run without noise goes from
x(0) along points that are made of gradients, each at such a point. A lemma says this
of a point p and a combination y as ``K <p - y, w> >= 0`` for every w, K the indicator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import product
from math import prod

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, unrolled
from sfl_theory.proofs.by_number import (
    Numbers,
    Ranges,
    Visit,
    client,
    general,
    of_client,
    single_step,
    specialised,
    tried,
)
from sfl_theory.proofs.notation import Use, combine
from sfl_theory.proofs.unrolled import block, n, nought, tested, w

Path = tuple[tuple[int, ...], ...]
"""Who takes part, round by round."""
Place = tuple[k.Vec, Theorem]
"""Where a point is if a path is taken, and the lemma that it is there."""


@dataclass(frozen=True, eq=False)
class Outcomes:
    """A run of clients with given weights and chances.

    With noise it is SFL-V1, in which nobody's steps in a round depend on its draws: a
    point is then also made of noises. Those of rounds t > 0 depend on the draws before,
    so what they make stays beside the indicator of rounds 0, ..., t - 1.

    Attributes:
        numbers: the run, and the order of its visits.
        S: the clients' gradients are S-Lipschitz.
        odds: v_n = 1/q_n - 1 for every client.
        noise: variance of the noise of a step.
    """

    numbers: Numbers
    S: Ratio
    odds: tuple[Fraction, ...]
    noise: Fraction = Fraction(0)
    models: dict[Path, Place] = field(default_factory=dict)
    points: dict[tuple[Path, Visit], tuple[k.Vec, k.Vec, Theorem]] = field(
        default_factory=dict
    )
    slopes: dict[tuple[Path, Visit], Theorem] = field(default_factory=dict)
    signs: dict[tuple[int, Path], Theorem] = field(default_factory=dict)

    @property
    def run(self) -> k.Split:
        """The run."""
        return self.numbers.run

    @property
    def noisy(self) -> bool:
        """Whether there is noise."""
        return self.noise > 0

    @property
    def always(self) -> list[int]:
        """The clients that always take part."""
        return [p for p in self.numbers.clients if not self.odds[p]]

    @property
    def sides(self) -> tuple[k.Side | None, ...]:
        """The blocks; None where both sides step together."""
        same = self.run.kind is k.Kind.V1 and self.run.client == self.run.server
        return (None,) if same else tuple(k.Side)

    def paths(self, rounds: int) -> list[Path]:
        """Return all paths of so many rounds that some run takes."""
        here = [(True, False) if v else (True,) for v in self.odds]
        each = [
            tuple(p for p, takes in enumerate(some) if takes) for some in product(*here)
        ]
        return [*product(each, repeat=rounds)]

    # Chances ------------------------------------------------------------------------

    @property
    def assumed(self) -> frozenset[h.Hypothesis]:
        """That draws are honest, and their chances."""
        chances = product(self.numbers.clients, (1, -1))
        known = (general(*self._chance(p, way)) for p, way in chances)
        return frozenset({h.Participation(self.run), *known})

    def _chance(self, p: int, way: int) -> tuple[Ranges, h.Hypothesis]:
        """Return that ``way (1/q_p - 1 - v_p) >= 0``; of all clients where alike."""
        alike = len(set(self.odds)) == 1
        away = k.symbol(k.Odds(n if alike else client(p))) - self.odds[p]
        ranges: Ranges = ((k.CLIENTS, n, client(p)),) if alike else ()
        return ranges, h.Holds(k.constant(away * way))

    def chance_is(self, p: int) -> tuple[Theorem, ...]:
        """Return ``1/q_p - 1 - v_p >= 0`` and ``v_p - (1/q_p - 1) >= 0``."""
        away = k.symbol(k.Odds(client(p))) - self.odds[p]
        return tuple(
            specialised(rules.assume(k.constant(away * way)), *self._chance(p, way))
            for way in (1, -1)
        )

    def factors(self, path: Path, first: int = 0) -> dict[Visit, Ratio]:
        """Return what an indicator multiplies, by round (from the first) and client."""
        found = {}
        for s, p in product(range(first, len(path)), self.numbers.clients):
            one = k.draw(self.run, client(p), s) * (1 / (1 + self.odds[p]))
            found[s, p] = one if p in path[s] else 1 - one
        return found

    def indicator(self, path: Path, first: int = 0) -> Ratio:
        """Return whether a path is taken from a round on, in terms of draws."""
        return prod(self.factors(path, first).values(), start=ratio(1))

    def sign(self, path: Path, first: int = 0) -> Theorem:
        """Return ``indicator >= 0``."""
        key = first, path[first:]
        if key not in self.signs:
            found = combine(target=k.constant(1))
            for (s, p), one in self.factors(path, first).items():
                signs = () if p in path[s] else (self.absent(s, p, one),)
                found = combine((found, one), signs=signs)
            self.signs[key] = found
        return self.signs[key]

    def absent(self, s: int, p: int, one: Ratio) -> Theorem:
        """Return ``c >= 0`` for ``c = 1 - J_p/(1 + v_p)``: ``c = c^2``."""
        v = 1 + self.odds[p]
        drawn = rules.drawn(self.run, n, ratio(s), k.constant(1))
        _, most = self.chance_is(p)
        uses: list[Use] = [(of_client(drawn, p), 1 / v**2), (most, (1 - one) / v)]
        return combine(*uses, rules.square(one), target=k.constant(one))

    def settled(self, path: Path, p: int, u: k.Vec) -> Theorem:
        """Return ``K (J_p - c) <u, w> = 0`` for J_p of the last round.

        c is 1/q_p if client p takes part, else 0.
        """
        s, v, factors = len(path) - 1, 1 + self.odds[p], self.factors(path)
        del factors[s, p]
        others, e = prod(factors.values(), start=ratio(1)), k.inner(u, w)
        J, o = k.draw(self.run, client(p), s), k.symbol(k.Odds(client(p)))
        way = 1 if p in path[s] else -1
        drawn = of_client(rules.drawn(self.run, n, ratio(s), e * others), p)
        known = nought(1 + o - v, u, self.chance_is(p))
        return combine(
            (drawn, -way / v),
            (known, others * J * (way / v)),
            target=e * (self.indicator(path) * (J - (v if way > 0 else 0))),
        )

    def shared(self, path: Path, p: int, u: k.Vec) -> tuple[Theorem, Fraction]:
        """Return ``K (P_p - c) <u, w> = 0`` for the last round's P_p (`Share`), and c.

        ``K P_p sum_m a_m J_m = K a_p J_p``, in which all weights and draws are numbers.
        Where nobody takes part ``K P_p (1/q_p - J_p) = 0``, and J_p is 0.
        """
        s, N, K, e = len(path) - 1, self.numbers, self.indicator(path), k.inner(u, w)
        P, q, run = k.share_of(self.run, client(p), s), 1 + self.odds[p], self.run
        own = self.settled(path, p, u)
        rule = rules.shared(run, n, ratio(s), e * K, not path[s])
        known = of_client(rule, p)
        if not path[s]:
            o = k.symbol(k.Odds(client(p)))
            odds = nought(1 + o - q, u, self.chance_is(p))
            uses: list[Use] = [(known, 1 / q), (odds, -K * P / q), (own, P / q)]
            return combine(*uses, target=e * (K * P)), Fraction(0)
        draws = [k.draw(run, client(m), s) for m in N.clients]
        parts = k.constant(k.weight(n) * k.draw(run, n, s))
        whole = rules.numbered(n, parts, len(draws))
        sides = zip(*N.weight_is, strict=True)
        above, below = ([*zip(side, draws, strict=True)] for side in sides)
        signs = combine(whole, *above), combine((whole, -1), *below)
        weight = k.weight(client(p)) - N.weights[p]
        uses = [
            (known, 1),
            (nought(k.number_of(signs[0].form), u, signs), -K * P),
            (nought(weight, u, N.weight_is[p]), K * draws[p]),
            (own, N.weights[p]),
        ]
        uses += [(self.settled(path, m, u), -P * N.weights[m]) for m in N.clients]
        present = {m: N.weights[m] * (1 + self.odds[m]) for m in path[s]}
        size = sum(present.values(), Fraction(0))
        share = present.get(p, Fraction(0)) / size
        found = combine(*uses)
        return combine((found, 1 / size), target=e * (K * (P - share))), share

    def averaged(
        self, path: Path, e: k.Lin, known: int = 0
    ) -> tuple[Theorem, Fraction]:
        """Return ``K e - c K' e = 0`` for e without draws, K' of the rounds known.

        c is the chance of the others, on which e does not depend.
        """
        uses: list[Use] = []
        factors, chance = self.factors(path), Fraction(1)
        for s, p in sorted(factors, key=lambda at: (-at[0], at[1])):
            if s < known:
                break
            del factors[s, p]
            rest = prod(factors.values(), start=ratio(1))
            here, q = p in path[s], 1 / (1 + self.odds[p])
            mean = rules.expect(self.run, client(p), ratio(s), e * rest, ())
            uses.append((mean, chance * q * (1 if here else -1)))
            chance *= q if here else 1 - q
            if not chance:
                break
        rest = self.indicator(path[:known]) * chance
        return combine(*uses, target=e * (self.indicator(path) - rest)), chance

    def ends(self, rounds: int) -> list[tuple[Fraction, k.Vec]]:
        """Return where x(t) is in every outcome, and the outcome's chance."""
        found, v = [], self.odds
        for path in self.paths(rounds):
            each = product(path, self.numbers.clients)
            parts = (v[p] ** (p not in here) / (1 + v[p]) for here, p in each)
            found.append((prod(parts, start=Fraction(1)), self.model(path)[0]))
        return found

    # Where a path leads ---------------------------------------------------------------

    def model(self, path: Path) -> Place:
        """Return where x(t) is after the path's t rounds, and the lemma."""
        if path not in self.models:
            x = k.iterate(self.run, 0)
            found = self._moved(path) if path else (x, combine(target=k.Lin({})))
            self.models[path] = found
        return self.models[path]

    def _moved(self, path: Path) -> Place:
        s, (y, near) = len(path) - 1, self.model(path[:-1])
        each = {}
        for side in self.sides:
            lemma, terms = self.numbers.next_model(s, side)
            known = self._raised(tried(near, block(side, w)), path, s)
            uses, change = self._drawn(path, terms, side)
            each[side] = [self._raised(lemma, path), known, *uses]
            y = y + change
        return y, self._joined(each, path, k.iterate(self.run, s + 1) - y)

    def local(self, path: Path, visit: Visit) -> Place:
        """Return where p(n,t,i) is in the path's last round t, and the lemma.

        Its indicator is that of `known`. What a shared server has moved by is not in
        the client's own course.
        """
        return self._local(path, visit)[1:]

    def _local(self, path: Path, visit: Visit) -> tuple[k.Vec, k.Vec, Theorem]:
        if (path, visit) in self.points:
            return self.points[path, visit]
        (p, i), run, s, where = visit, self.run, len(path) - 1, self.known(path)
        own, near = self.model(path[:-1])
        near, each = self._raised(near, where, s), {}
        before = self._local(path, (p, i - 1)) if i else (own, own, near)
        course, shared = before[0], k.Vec({})
        for side in self.sides:
            if run.kind.shared and side is k.Side.SERVER:
                lemma, terms = self.numbers.point(p, s, i, side)
                uses, shared = self._drawn(path, terms, side)
                known = near
            else:
                move = unrolled.moves(run, i - 1, side) if i else None
                lemma = tested(move or unrolled.begins(run, side), s, w)
                lemma, known, steps = of_client(lemma, p), before[2], {}
                if 0 < i <= unrolled.steps_of(run, side):
                    rate = run.pace(side or k.Side.CLIENT).rate
                    steps = {(p, i - 1): rate.at(ratio(s))}
                uses, change = self._sampled(path, where, steps, side)
                course = course + change
            known = tried(known, block(side, w))
            each[side] = [self._raised(lemma, where), known, *uses]
        y = course + shared
        at = k.local_point(run, client(p), s, i)
        self.points[path, visit] = course, y, self._joined(each, where, at - y)
        return self.points[path, visit]

    def known(self, path: Path) -> Path:
        """Return the rounds that decide on local points of the path's last one."""
        return path[:-1] if self.run.kind is k.Kind.V1 else path

    def decided(self, e: k.Lin | k.LinAtom) -> int:
        """Return of how many rounds the draws decide on the noise of a form."""
        later = self.run.kind is not k.Kind.V1
        noises = (one.round for one in k.subterms(e) if isinstance(one, k.Noise))
        rounds = (int(at.coefficients.get((), 0)) + later for at in noises)
        return max(rounds, default=0)

    def slope(self, path: Path, visit: Visit) -> Theorem:
        """Return ``K <grad F_p(p(p,t,i)) - grad F_p(y), w> = 0``, K as in `local`.

        ``K^2 ||p - y||^2 = 0`` by the lemma, so the gradients' change is 0 there.
        """
        if (path, visit) not in self.slopes:
            (p, i), where, (y, near) = visit, self.known(path), self.local(path, visit)
            F, at = (
                k.Local(client(p)),
                k.local_point(self.run, client(p), len(path) - 1, i),
            )
            change = k.gradient(F, at) - k.gradient(F, y)
            flat = derived.lipschitz(F, self.S, at, y)
            self.slopes[path, visit] = self._still(where, change, flat, near, at - y)
        return self.slopes[path, visit]

    def _still(
        self, path: Path, change: k.Vec, flat: Theorem, near: Theorem, away: k.Vec
    ) -> Theorem:
        """Return ``K <change, w> = 0`` where it is at most S times what is near 0."""
        K = self.indicator(path)
        none = combine(
            (flat, K * K),
            (tried(near, -away), self.S**2 * K),
            target=k.norm2(change) * -(K * K),
            signs=(rules.square(K), self.sign(path)),
        )
        return rules.vanish(none, change * K, w)

    def silent(self, s: int, visit: Visit) -> Theorem:
        """Return ``<xi(p,s,i), w> = 0``: its variance is 0."""
        p, i = visit
        none = derived.variance(self.run, ratio(0), n, ratio(s), ratio(i))
        xi = k.noise(self.run, client(p), s, i)
        return rules.vanish(of_client(none, p), xi, w)

    # Adding up ------------------------------------------------------------------------

    def _raised(self, theorem: Theorem, path: Path, first: int = 0) -> Theorem:
        """Return a lemma times an indicator."""
        K = self.indicator(path, first)
        return combine((theorem, K), signs=[self.sign(path, first)])

    def _joined(
        self, each: Mapping[k.Side | None, list[Use]], path: Path, away: k.Vec
    ) -> Theorem:
        """Return ``K <away, w> >= 0`` from the like of its blocks."""
        K = self.indicator(path)
        uses: list[Use] = [
            combine(*some, target=k.inner(block(side, away), w) * K)
            for side, some in each.items()
        ]
        if len(uses) > 1:
            uses.append((rules.blocks(away, w), K))
        return combine(*uses, target=k.inner(away, w) * K)

    def _drawn(
        self, path: Path, terms: Mapping[Visit, Ratio], side: k.Side | None
    ) -> tuple[list[Use], k.Vec]:
        """Return what makes of ``K sum c J_p <g_b, w>`` minus ``K <change, w>``."""
        s, uses, present = len(path) - 1, list[Use](), dict[Visit, Ratio]()
        for p in self.numbers.clients:
            mine = {visit: c for visit, c in terms.items() if visit[0] == p}
            moves = (
                block(side, single_step(self.run, p, s, i)) * c
                for (_, i), c in mine.items()
            )
            if not mine:
                continue
            u, size = sum(moves, k.Vec({})), 1 + self.odds[p]
            if self.numbers.chance(p, s, side) == k.draw(self.run, client(p), s):
                known = self.settled(path, p, u)
            else:
                known, size = self.shared(path, p, u)
            uses.append((known, -1))
            if p in path[s]:
                present |= {visit: c * size for visit, c in mine.items()}
        more, change = self._sampled(path, path, present, side)
        return uses + more, change

    def _sampled(
        self, path: Path, where: Path, terms: Mapping[Visit, Ratio], side: k.Side | None
    ) -> tuple[list[Use], k.Vec]:
        """Return the like for ``K sum c <g_b, w>``, K that of `where`."""
        s, uses, change = len(path) - 1, list[Use](), k.Vec({})
        v, K = block(side, w), self.indicator(where)
        later = self.indicator(where, len(self.known(path)))
        for visit, c in terms.items():
            F, (p, i) = k.Local(client(visit[0])), visit
            uses.append((tried(self.slope(path, visit), v), -c * later))
            y, _ = self.local(path, visit)
            change = change - block(side, k.gradient(F, y)) * c
            if self.noisy:
                change = change - block(side, k.noise(self.run, client(p), s, i)) * c
            else:
                uses.append((tried(self.silent(s, visit), v), -c * K))
        return uses, change

    # What is expected ---------------------------------------------------------------

    def bounded(self, G2: Ratio, path: Path, visit: Visit) -> Theorem:
        """Return ``G2 - ||grad F_p(y)||^2 >= 0``, y a local point's place.

        With noise ``K (G2 - ||grad F_p(y) + xi||^2) >= 0``, K as in `local`.
        """
        (p, i), s, where = visit, len(path) - 1, self.known(path)
        y, _ = self.local(path, visit)
        g, there = single_step(self.run, p, s, i), k.gradient(k.Local(client(p)), y)
        known = derived.bounded_gradient(self.run, G2, n, ratio(s), ratio(i))
        if self.noisy:
            xi = k.noise(self.run, client(p), s, i)
            change = tried(self.slope(path, visit), g + there + xi)
            form = (k.constant(G2) - k.norm2(there + xi)) * self.indicator(where)
            raised = self._raised(of_client(known, p), where)
            return combine(raised, change, target=form)
        form = k.constant(G2) - k.norm2(there)
        mean, chance = self.averaged(where, form)
        return combine(
            (self._raised(of_client(known, p), where), 1 / chance),
            (tried(self.silent(s, visit), g + there), self.indicator(where) / chance),
            (tried(self.slope(path, visit), g + there), 1 / chance),
            (mean, -1 / chance),
            target=form,
        )
