r"""Witnesses for one block of SFL-V2: the server's, and one coupled with the other.

``blocks`` has the client side with the server at rest. Here gradients change because
the shared server moves between the visits:

- two clients in turn on a server with $F_n=\frac c2v^2-b_nv$, both taking part or not;
- one client with $F=gu+Gv+cuv$, whose block u turns as v moves;
- one client with $F'(u)=g-S|u|$, where noise alone turns the mean gradient.

The start is 0. All moments are exact; geometric sums make many visits cheap.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from itertools import product

from sfl_theory.evidence.certificate import Certificate
from sfl_theory.evidence.instance import Check
from sfl_theory.mutation import assumptions as assumed
from sfl_theory.mutation import blocks
from sfl_theory.mutation.assumptions import equal
from sfl_theory.mutation.blocks import JENSEN
from sfl_theory.mutation.vectors import at_least, drawn
from sfl_theory.mutation.witness import Witness, shared

ZERO, ONE, HALF = Fraction(0), Fraction(1), Fraction(1, 2)
SCALES = (Fraction(1, 1000), ONE, Fraction(1000))


@dataclass(frozen=True)
class InTurn:
    """What a round of clients in turn leaves of the server.

    Attributes:
        mean: E x'.
        square: E x'^2.
        drift: D, None where it was not followed.
    """

    mean: Fraction
    square: Fraction
    drift: Fraction | None


def in_turn(
    a: tuple[Fraction, ...],
    q: tuple[Fraction, ...],
    c: Fraction,
    b: tuple[Fraction, ...],
    s: tuple[Fraction, ...],
    p: int,
    eta: Fraction,
) -> InTurn:
    """Return the moments of a server, visited p times by every client that comes.

    Args:
        a: weights.
        q: probabilities of taking part.
        c: curvature.
        b: minus the slopes at 0.
        s: sizes of the noise.
        p: visits of a client, one after the other.
        eta: learning rate.

    Returns:
        The moments.
    """
    mean = square = drift = ZERO
    follow = p <= 8 or (c == 0 and not any(s))
    for present in product((0, 1), repeat=len(a)):
        chance, x, variance, far = ONE, ZERO, ZERO, ZERO
        for n, comes in enumerate(present):
            chance *= q[n] if comes else 1 - q[n]
            if not comes:
                continue
            w = a[n] / q[n]
            if follow:
                for _ in range(p):
                    far += w * (x**2 + variance)
                    x -= eta * w * (c * x - b[n])
                    variance *= (1 - eta * w * c) ** 2
                    variance += (eta * w * s[n]) ** 2
                continue
            kept = (1 - eta * w * c) ** p
            once = (eta * w * s[n]) ** 2
            if c == 0:
                x, variance = x + p * eta * w * b[n], variance + p * once
            else:
                x = kept * (x - b[n] / c) + b[n] / c
                shrinks = 1 - (1 - eta * w * c) ** 2
                variance = kept**2 * variance + once * (1 - kept**2) / shrinks
        mean += chance * x
        square += chance * (x**2 + variance)
        drift += chance * far
    return InTurn(mean, square, drift if follow else None)


def short(value: Fraction) -> Fraction:
    """Return a number of three digits nearby."""
    return Fraction(f"{float(value):.3g}")


def sums_over_clients(
    a: tuple[Fraction, ...],
    q: tuple[Fraction, ...],
    noise: tuple[Fraction, ...],
    less: int = 1,
) -> dict[str, Fraction]:
    """Return kappa, rho and the means of the noise.

    Args:
        a: weights.
        q: probabilities of taking part.
        noise: variances.
        less: divisor of the means, without the assumption on the variance.

    Returns:
        The sums by name.
    """
    triples = tuple(zip(a, q, noise, strict=True))
    mean = sum((w * v for w, _, v in triples), ZERO) / less
    squares = sum((w**2 * v for w, _, v in triples), ZERO) / less
    inverse = sum((w**2 / r * v for w, r, v in triples), ZERO) / less
    return {
        "kappa": sum((w / r for w, r, _ in triples), ZERO),
        "rho": sum((w**2 * (1 - r) / r for w, r, _ in triples), ZERO),
        "sigma": at_least(mean),
        "sigma_a": at_least(mean),
        "sigma_2": at_least(squares),
        "sigma_q": at_least(inverse),
    }


def checks_in_turn(
    c: Fraction, S: Fraction, q: tuple[Fraction, Fraction], moved: Check
) -> dict[str, Check]:
    """Return the checks of smoothness, participation and update of two clients.

    Args:
        c: curvature.
        S: its bound.
        q: chances to take part.
        moved: the check of the update.

    Returns:
        Topic -> check.
    """
    known = {
        assumed.SMOOTH: assumed.smooth(c, S),
        assumed.PRESENT: assumed.unit_interval(min(q)),
        assumed.V2_PARTIAL: moved,
    }
    return known | {assumed.V2: moved} if q == (ONE, ONE) else known


def _atoms(
    kind: str, p: int, g: Fraction, whole: Fraction, M: Fraction, Z: Fraction
) -> dict[str, Fraction]:
    return {
        "<grad_b,grad_b>": g**2, "<grad_f,grad_f>": whole, "<M,grad_b>": M * g,
        "<B,grad_b>": (M - p * g) * g, "<Z,grad_b>": Z * g,
    }  # fmt: skip


def _visited(kind: str, without: str) -> Iterator[Witness]:
    """Yield two clients in turn."""
    for rng in drawn(111 if kind == "v2" else 112, 300):
        a = rng.choice(((HALF, HALF), (Fraction(1, 10), Fraction(9, 10))))
        q = (ONE, ONE)
        if kind == "v2-partial" and rng.random() < Fraction(2, 3):
            q = rng.choice((
                (Fraction(1, 600), ONE), (Fraction(1, 20), Fraction(1, 20)),
            ))  # fmt: skip
        p, S = rng.choice((1, 2, 8, 300)), rng.choice(SCALES)
        scale = rng.choice(SCALES)
        kappa = sum((w / r for w, r in zip(a, q, strict=True)), ZERO)
        eta = 1 / (4 * S * p * kappa) / rng.choice((1, 1, 10, 1000))
        c = S * rng.choice((1, -1, 0))
        if "Lipschitz" in without:
            p, c = min(p, 8), 400 * S
        s = rng.choice(((ZERO, ZERO), (ZERO, ZERO), (scale, ZERO), (scale, scale)))
        b = (scale / a[0], -scale / a[1])
        alike = rng.random() < HALF / 2
        if alike:
            b, c = (ZERO, ZERO), rng.choice((c, ZERO))
        still = in_turn(a, q, c, b, s, p, eta)
        turning = short(still.mean / (eta * p))
        g = rng.choice((ZERO, turning, turning, turning * 2 / 3))
        g = scale if alike else g
        # gradients are c v - b_n - bias
        biased = "3.2" in without and c == 0
        bias = rng.choice((-1000, 1000)) * (g or scale) if biased else ZERO
        found = in_turn(a, q, c, (b[0] - g - bias, b[1] - g - bias), s, p, eta)
        Z = p * bias
        M = -found.mean / eta - Z
        spread = max(v**2 for v in b)
        kept = spread / (10**6 if without == "Assumption 3.4" else 1)
        planted = 10**6 * scale if "server steps" in without else ZERO
        atoms = _atoms(kind, p, g, g**2, M + planted, Z)
        atoms[JENSEN[kind]] = found.square / eta**2 + planted**2
        if found.drift is not None:
            atoms["D"] = found.drift + planted**2
        noise = tuple(v**2 for v in s)
        values = {
            "p": Fraction(p), "S": S, "eta": eta, "epsilon2": at_least(kept),
            **sums_over_clients(a, q, noise, 10**6 if "3.2" in without else 1),
        }  # fmt: skip
        moved = equal("E x' = -eta E(M + Z)", -eta * (M + planted + Z), found.mean)
        largest = sum((w * v for w, v in zip(a, noise, strict=True)), ZERO)
        known = {
            **checks_in_turn(c, S, q, moved),
            assumed.SPREAD: assumed.spread(spread, values["epsilon2"]),
            **assumed.noise(largest, values["sigma_a"], bias),
        }
        words = f"server {c}/2 v^2 - b_n v, b = {b}, slope {g} at 0, a = {a}, q = {q}, "
        words += f"noise {s}, {p} visits each in turn, eta = {eta}"
        yield Witness(words, values, atoms, known)


def _rotated(
    g: Fraction, G: Fraction, c: Fraction, m: int, p: int, eta: Fraction
) -> Fraction:
    r"""Return $u_p$ of $u'=u-\eta(g+cv)$, $v'=v-\eta m^2(G+cu)$ from 0.

    With $v=my$ the sum and the difference of u and y decouple.
    """
    theta, pushes = eta * c * m, (eta * (g + m * G), eta * (g - m * G))
    ends = []
    for rate, push in zip((theta, -theta), pushes, strict=True):
        shift = ((1 - rate) ** p - 1) / rate if rate else Fraction(-p)
        ends.append(push * shift)
    return (ends[0] + ends[1]) / 2


def _coupled(kind: str) -> Iterator[Witness]:
    """Yield one client whose client side turns as the server moves, q = 1/m^2."""
    for rng in drawn(113, 120):
        m = 1 if kind == "v2" else rng.choice((1, 10))
        p, S, G = rng.choice((2, 8, 100)), rng.choice(SCALES), rng.choice(SCALES)
        kappa = Fraction(m**2)
        eta = 1 / (4 * S * p * kappa) / rng.choice((1, 10, 1000))
        g = short(_rotated(ZERO, G, S, m, p, eta) / (eta * p))
        M = -_rotated(g, G, S, m, p, eta) / eta
        values = {
            "p": Fraction(p), "S": S, "eta": eta, "epsilon2": at_least(ZERO),
            **sums_over_clients((ONE,), (1 / kappa,), (ZERO,)),
        }  # fmt: skip
        moved = equal("mean move of u", m**2 * (M / m**2), M)
        known = {
            assumed.SMOOTH: assumed.smooth(S, S),
            assumed.SPREAD: assumed.spread(ZERO, ZERO),
            assumed.PRESENT: assumed.unit_interval(1 / kappa),
            assumed.V2_PARTIAL: moved,
            **assumed.noise(ZERO, ZERO),
        }
        if m == 1:
            known[assumed.V2] = moved
        words = f"N = 1, F = {g} u + {G} v + {S} u v, q = 1/{m**2}, {p} steps"
        yield Witness(words, values, _atoms(kind, p, g, g**2 + G**2, M, ZERO), known)


def _kinked(kind: str) -> Iterator[Witness]:
    r"""Yield two steps of one client on $F'(u)=g-S|u|$ with noise $\pm s$."""
    for rng in drawn(114, 60):
        S, s = rng.choice(SCALES), rng.choice((*SCALES, Fraction(1, 10**6)))
        eta = 1 / (8 * S) / rng.choice((10, 100, 10**4))
        g = S * eta * s / 2
        points = (-eta * (g - s), -eta * (g + s))
        gradients = [g - S * abs(u) for u in points]
        M = g + sum(gradients, ZERO) / 2
        sums = [
            g + first + later + noise
            for first, later in zip((-s, s), gradients, strict=True)
            for noise in (-s, s)
        ]
        atoms = _atoms(kind, 2, g, g**2, M, ZERO)
        atoms["D"] = sum((u**2 for u in points), ZERO) / 2
        atoms[JENSEN[kind]] = sum((h**2 for h in sums), ZERO) / 4
        values = {
            "p": Fraction(2), "S": S, "eta": eta, "epsilon2": at_least(ZERO),
            **sums_over_clients((ONE,), (ONE,), (s**2,)),
        }  # fmt: skip
        moved = equal("E(h) = M", sum(sums, ZERO) / 4, M)
        known = {
            assumed.SMOOTH: assumed.smooth(S, S),
            assumed.SPREAD: assumed.spread(ZERO, ZERO),
            assumed.PRESENT: assumed.unit_interval(ONE),
            assumed.V2: moved,
            assumed.V2_PARTIAL: moved,
            **assumed.noise(s**2, s**2),
        }
        words = f"N = 1, F' = {g} - {S} |u|, noise +-{s}, 2 steps of {eta} from 0"
        yield Witness(words, values, atoms, known)


def _all(kind: str, without: str) -> Iterator[Witness]:
    yield from _visited(kind, without)
    if not without:
        yield from _coupled(kind)
        yield from _kinked(kind)


@shared
def of_v2(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a block of SFL-V2, every client present."""
    yield from blocks.of_v2(certificate, without)
    yield from _all("v2", without)


@shared
def of_partial_v2(certificate: Certificate, without: str) -> Iterator[Witness]:
    """Yield a block of SFL-V2 with participation."""
    yield from blocks.of_partial_v2(certificate, without)
    yield from _all("v2-partial", without)
