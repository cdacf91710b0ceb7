r"""Witnesses for the weighted mean of the gaps, $\mu=0$, beyond ``runs.averaged_gap``.

- ``_noisy``: $\frac c2u^2$, noise +-s, the least $c_1,c_d$ (or a larger $G^2$);
- ``_turning``: a Huber function crossed to and fro without noise;
- ``_coin``: a Huber function of small slope; every stochastic gradient is +-G, its sign
  such that its mean is the slope, so that iterates stay on a lattice;
- ``_apart``: two clients $\frac c2u^2\mp bu$, each there with probability q.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import runs
from sfl_theory.mutation.assumptions import at_most, equal
from sfl_theory.mutation.convex_rounds import Round
from sfl_theory.mutation.one_function import WIDE
from sfl_theory.mutation.runs import UNEQUAL
from sfl_theory.mutation.vectors import drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE = Fraction(0), Fraction(1)
ROUNDS = 12
SLOW = (Fraction(1, 64), Fraction(1, 8))
RATES = tuple(Fraction(r) for r in ("1/1000", "1/10", "1", "10", "1000"))


@dataclass(frozen=True)
class Run:
    r"""A run with a constant learning rate.

    Attributes:
        words: what is run.
        S: smoothness.
        eta: learning rate.
        steps: local steps.
        start: $x^0-x^*$.
        gaps: mean gap at the start of every round.
        G2: largest mean square of a gradient met.
        second: largest $Q/\tau^2$ of a round.
        drift: largest $D/(\eta^2\tau^3)$.
        rho: excess due to participation.
    """

    words: str
    S: Fraction
    eta: Fraction
    steps: int
    start: Fraction
    gaps: list[Fraction]
    G2: Fraction
    second: Fraction
    drift: Fraction
    rho: Fraction = ZERO

    def witness(self, more: Fraction = ONE, known: bool = True) -> Witness:
        """Return the witness.

        Args:
            more: what the $G^2$ stated exceeds the largest one by.
            known: whether the definition of the initial distance is kept.
        """
        T, G2 = len(self.gaps), self.G2 * more
        c_1, c_d = self.second / G2, self.drift / G2
        stated = self.start**2 / (1 if known else 10**12)
        values = {
            "S": self.S, "tau": Fraction(self.steps), "G2": G2, "c_1": c_1, "c_d": c_d,
            "Delta_0": stated, "sum_t<T eta^t^2": T * self.eta**2,
            "sum_t<T eta^t^3": T * self.eta**3, "T": Fraction(T), "I_err": stated,
            "varrho": ONE, "rho": self.rho, UNEQUAL: ONE,
        }  # fmt: skip
        update = Check(
            "second moments and drifts within c_1, c_d",
            self.second <= c_1 * G2 and self.drift <= c_d * G2,
            f"{T} rounds",
        )
        checks: Mapping[str, Check] = {
            assumed.SMOOTH: assumed.smooth(self.S, self.S),
            assumed.CONVEX: assumed.convex(self.S, ZERO),
            assumed.BOUNDED: assumed.bounded(self.G2, G2),
            assumed.MINIMISER: at_most("f >= f(x*)", ZERO, min(self.gaps)),
            assumed.START: equal("||x^0 - x*||^2", self.start**2, stated),
            assumed.BLOCKS: equal("one block", ZERO, 0),
            assumed.DISTANCE: equal("mean squares followed exactly: error", ZERO, 0),
            assumed.UNBIASED: equal("unbiased: mean of the noise", ZERO, 0),
            **dict.fromkeys(assumed.UPDATES, update),
        }
        atoms = {"sum_t<T eta^t^1 (gap_t)": self.eta * sum(self.gaps, ZERO)}
        words = f"{self.words}, x^0 = {self.start}, eta = {self.eta}, T = {T}"
        return Witness(f"{words}, tau = {self.steps}", values, atoms, checks)


@shared
def of_gaps(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield the runs."""
    yield from runs.averaged_gap(certificate, without)
    known = not without.startswith(("I_err", "Delta_t = "))
    for rng in drawn(46, 40):
        rate, size = rng.choice(RATES), rng.choice(WIDE)
        more = rng.choice((ONE, ONE, Fraction(10**4)))
        yield _turning(size, rate, rng.choice((1, 8))).witness(more, known)
        run = _noisy(rng.choice(SLOW) / rate, size, rng.choice((1, 8)), rate)
        yield run.witness(more, known)
    for rate in RATES:
        yield _apart(Fraction(1, 10) / rate, ONE, 60, rate).witness(ONE, known)
    for rate in (ONE, Fraction(1, 1000)):
        yield _coin(ONE, rate).witness(ONE, known)


def _noisy(S: Fraction, s: Fraction, steps: int, eta: Fraction) -> Run:
    one = Round(S, s, steps, eta / steps)
    square, furthest, largest = ZERO, ZERO, ZERO
    gaps, second, drift = [], ZERO, ZERO
    for _ in range(ROUNDS):
        gaps.append(S / 2 * square)
        _, Q, D, square = one.moments(square)
        second = max(second, Q / steps**2)
        drift = max(drift, D / (one.eta**2 * steps**3))
        local, furthest = one.reach(furthest)
        largest = max(largest, local, furthest)
    G2 = (S * largest) ** 2 + s**2
    words = f"F = {S}/2 u^2, noise +-{s}"
    return Run(words, S, one.eta, steps, ZERO, gaps, G2, second, drift)


def _turning(slope: Fraction, eta: Fraction, steps: int) -> Run:
    r"""Return the run from $a<\eta G$ over the minimum, always on the straight parts.

    For $\tau=1$ from $\frac12\eta G$: every round goes to the other side. For even
    $\tau$ every round ends where it starts.
    """
    unit = eta * slope
    width, start = (unit / 20, unit / 2) if steps == 1 else (unit / 4, unit * 3 / 4)
    u, gaps, second, drift = start, [], ZERO, ZERO
    for _ in range(20):
        gaps.append(slope * (abs(u) - width / 2))
        x, H, D = u, ZERO, ZERO
        for _ in range(steps):
            g = slope if u > 0 else -slope
            D += (u - x) ** 2
            H += g
            u -= eta * g
        second = max(second, H**2 / steps**2)
        drift = max(drift, D / (eta**2 * steps**3))
    words = f"Huber function of slope {slope} beyond {width}"
    return Run(
        words, slope / width, eta, steps, start, gaps, slope**2, second, drift
    )  # fmt: skip


def _coin(G: Fraction, eta: Fraction, T: int = 100) -> Run:
    r"""Return the chain on $\eta G\mathbb Z$ with $F'/G=\frac k6$, cut off at +-1/5.

    The probability of a step down from k is $\frac12(1+F'/G)$; in sixtieths.
    """
    cap, y = Fraction(1, 5), Fraction(1, 6)
    slopes = {k: max(-cap, min(cap, k * y)) for k in range(-T, T + 1)}
    weights, total, gaps = {0: 1}, 1, []
    for _ in range(T):
        gap = sum((w * _huber(abs(k), cap, y) for k, w in weights.items()), start=ZERO)
        gaps.append(eta * G**2 * gap / total)
        later: dict[int, int] = {}
        for k, w in weights.items():
            down = int(30 * (1 + slopes[k]))
            later[k - 1] = later.get(k - 1, 0) + w * down
            later[k + 1] = later.get(k + 1, 0) + w * (60 - down)
        weights, total = later, total * 60
    words = f"Huber function of slope {cap * G}, gradients +-{G}"
    return Run(words, y / eta, eta, 1, ZERO, gaps, G**2, G**2, ZERO)


def _huber(k: int, cap: Fraction, y: Fraction) -> Fraction:
    return y * k**2 / 2 if y * k <= cap else cap * k - cap**2 / (2 * y)


def _apart(S: Fraction, b: Fraction, steps: int, eta: Fraction) -> Run:
    r"""Return the run of two clients, $a_n=\frac12$, $q=\frac1{10}$, without noise.

    In a round client n goes from u to $u_n=\pm\frac bS+\lambda(u\mp\frac bS)$,
    $\lambda=(1-\eta S)^\tau$; the square grows by
    $\sum_na_n^2\frac{1-q}q(u-u_n)^2$.

    Raises:
        ValueError: if a round may lead beyond the clients' minimisers.
    """
    q, rate = Fraction(1, 10), eta / steps
    side = b / S
    kept = (1 - rate * S) ** steps
    square, gaps, second = ZERO, [], ZERO
    reach = 1 - kept
    # |u| <= b/S throughout: either pull, or both, leads to a point in between
    if not 0 <= reach <= q:
        raise ValueError(f"reach {reach} must lie in [0, {q}]: lower eta S")
    for _ in range(ROUNDS):
        gaps.append(S / 2 * square)
        # the mean is 0 throughout, so E (u -+ b/S)^2 = square + side^2
        moved = reach**2 * (square + side**2)
        spread = (1 - q) / q / 2 * moved
        second = max(second, (reach**2 * square + spread) / eta**2)
        square = kept**2 * square + spread
    G2 = (2 * b) ** 2
    rho = (1 - q) / q / 2
    words = f"N = 2, q = {q}, F_n = {S}/2 u^2 +- {b} u"
    return Run(words, S, rate, steps, ZERO, gaps, G2, second, G2 / 3, rho)
