r"""Runs of federated algorithms as data: everything that an instance fixes, exactly.

A ``FederatedRun`` holds client functions, weights, participation, learning rates,
start and rounds as rationals; constants, minimiser and words are derived from it. The
kernel evaluates it exactly (``runs.as_model``), pictures follow its expectation in
float64 (``expected_run``), and the trainer runs it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from itertools import product
from typing import TYPE_CHECKING, Literal

from sfl_theory.models import functions
from sfl_theory.models.functions import ONE, ZERO, Bowl, Piece, Point, Separable, dot

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

    from sfl_theory.constants import Constants
    from sfl_theory.schedules import Schedule

Box = tuple[tuple[Fraction, Fraction], ...]

Order = Literal["interleaved", "client-sequential"]
Aggregation = Literal["updates", "models"]
ALGORITHMS = {"sfl-v1": "SFL-V1", "sfl-v2": "SFL-V2", "minibatch-sfl": "MiniBatch-SFL"}


@dataclass(frozen=True)
class Rate:
    r"""A learning rate $\eta^t=\text{scale}/(\text{offset}+\text{growth}\cdot t)$.

    Attributes:
        scale: numerator, positive.
        offset: positive.
        growth: not negative, so $\eta^0$ is the largest; 0: a constant rate.
    """

    scale: Fraction
    offset: Fraction = ONE
    growth: Fraction = ZERO

    def __post_init__(self) -> None:
        if not (self.scale > 0 and self.offset > 0 and self.growth >= 0):
            raise ValueError(
                "a rate needs scale > 0, offset > 0 and growth >= 0, got "
                f"{self.scale}, {self.offset}, {self.growth}"
            )

    def __call__(self, t: int) -> Fraction:
        """Return the exact rate."""
        return self.scale / (self.offset + self.growth * t)

    @property
    def constant(self) -> bool:
        """Whether it does not depend on t."""
        return self.growth == 0

    def at(self, t: ArrayLike) -> NDArray[np.float64]:
        """Return the rate in float64, in the shape of ``t``."""
        import numpy as np

        steps = np.asarray(t, dtype=np.float64)
        scale, offset, growth = map(float, (self.scale, self.offset, self.growth))
        return np.asarray(scale / (offset + growth * steps))

    def __str__(self) -> str:
        if self.constant:
            return str(self.scale / self.offset)
        scale, offset = self.scale / self.growth, self.offset / self.growth
        below = f"({offset} + t)"
        if scale.denominator > 1:
            below = f"({scale.denominator} {below})"
        return f"{scale.numerator}/{below}"


@dataclass(frozen=True)
class FederatedRun:
    r"""A run of an algorithm, and the case of a theorem that speaks of it.

    Attributes:
        theorem: key, for instance "han2024/thm-3.7".
        case: name of its case.
        algorithm: a key of ``ALGORITHMS``.
        clients: $F_1..F_N$, all of one kind.
        weights: $a_n$.
        start: $x^0$, the client block first.
        rounds: T at which the ledger compares both sides.
        client_rate: learning rate of the client side.
        server_rate: of the server side.
        participation: $q_n$; empty: everyone takes part.
        tau: $\tau$.
        tau_server: $\tilde\tau$.
        cut: length of the client block.
        per_step: learning rates count local steps instead of rounds.
        rule: what the learning rate is, in words.
        order: SFL-V2's visiting order.
        aggregation: "updates" or "models".
        box: a set that contains all iterates and $x^*$, on which $G^2$ is meant;
            empty: the hull of start and of what a client's step pulls towards.

    Raises:
        ValueError: if the parts do not fit together.
    """

    theorem: str
    case: str
    algorithm: str
    clients: tuple[functions.Client, ...]
    weights: tuple[Fraction, ...]
    start: Point
    rounds: int
    client_rate: Rate
    server_rate: Rate
    participation: tuple[Fraction, ...] = ()
    tau: int = 1
    tau_server: int = 1
    cut: int = 1
    per_step: bool = False
    rule: str = "as printed"
    order: Order = "interleaved"
    aggregation: Aggregation = "updates"
    box: Box = ()

    def __post_init__(self) -> None:
        d, N = len(self.start), len(self.clients)
        if self.algorithm not in ALGORITHMS:
            raise ValueError(f"algorithm must be one of {', '.join(ALGORITHMS)}")
        if len({type(client) for client in self.clients}) != 1:
            raise ValueError("clients must be one or more, all of one kind")
        if any(len({piece.kink for piece in column}) > 1 for column in self.columns):
            raise ValueError("the clients' pieces of a coordinate need one kink")
        if any(len(client.zeta) != d for client in self.clients):
            raise ValueError(f"every client needs {d} coordinates, like the start")
        if len(self.weights) != N or len(self.participation) not in {0, N}:
            raise ValueError(f"weights and participation need {N} entries")
        if (self.box and len(self.box) != d) or not 1 <= self.cut < d:
            raise ValueError("box and cut must fit the dimension")

    @property
    def q(self) -> tuple[Fraction, ...]:
        """$q_n$ of every client."""
        return self.participation or (ONE,) * len(self.clients)

    @property
    def S(self) -> Fraction:
        """Smoothness of every client."""
        return max(client.spectrum[1] for client in self.clients)

    @property
    def mu(self) -> Fraction:
        """Strong convexity of every client, 0 if merely convex."""
        return min(client.spectrum[0] for client in self.clients)

    @property
    def sigma2(self) -> tuple[Fraction, ...]:
        r"""$\sigma_n^2=\|\zeta_n\|^2$."""
        return tuple(dot(client.zeta, client.zeta) for client in self.clients)

    @property
    def deterministic(self) -> bool:
        """Whether nothing is drawn."""
        drawn = any(self.sigma2) or any(q != 1 for q in self.q)
        return not drawn and not (self.algorithm == "sfl-v2" and len(self.clients) > 1)

    @cached_property
    def minimiser(self) -> Point:
        r"""$x^*$ of $f=\sum_na_nF_n$.

        Raises:
            ValueError: if it lies where a Huber function is straight.
        """
        if self.separable:
            found = tuple(
                dot(self.weights, tuple(p.curvature * p.centre for p in column))
                / dot(self.weights, tuple(p.curvature for p in column))
                for column in self.columns
            )
        else:
            bowls = [client for client in self.clients if isinstance(client, Bowl)]
            size = range(len(self.start))
            H = tuple(
                tuple(dot(self.weights, tuple(b.H[p][q] for b in bowls)) for q in size)
                for p in size
            )
            b = tuple(dot(self.weights, tuple(one.b[p] for one in bowls)) for p in size)
            found = functions.solved(H, b)
        slopes = zip(*(client.gradient(found) for client in self.clients), strict=True)
        if any(dot(self.weights, column) for column in slopes):
            raise ValueError("x* does not lie where all pieces are curved")
        return found

    def value(self, x: Point) -> Fraction:
        """Return $f(x)$."""
        pairs = zip(self.weights, self.clients, strict=True)
        return sum((a * client.value(x) for a, client in pairs), ZERO)

    @property
    def gap(self) -> Fraction:
        """$f(x^0)-f^*$."""
        return self.value(self.start) - self.value(self.minimiser)

    @property
    def offsets(self) -> Point:
        """$x^0-x^*$."""
        return tuple(x - y for x, y in zip(self.start, self.minimiser, strict=True))

    @property
    def separable(self) -> tuple[Separable, ...]:
        """The clients, if they are separable; else empty."""
        return tuple(c for c in self.clients if isinstance(c, Separable))

    @property
    def columns(self) -> tuple[tuple[Piece, ...], ...]:
        """The pieces of all clients, coordinate by coordinate; empty for bowls."""
        return tuple(zip(*(client.pieces for client in self.separable), strict=True))

    @property
    def everywhere(self) -> bool:
        """Whether gradients are bounded on all of R^d: Huber functions only."""
        pieces = [piece for column in self.columns for piece in column]
        return bool(pieces) and all(piece.kink is not None for piece in pieces)

    @cached_property
    def domain(self) -> Box:
        """The box that holds the iterates and the minimiser.

        Raises:
            ValueError: if it is neither stated nor that of separable clients.
        """
        if self.box:
            return self.box
        if not self.separable:
            raise ValueError("the run of a bowl needs its box")
        reached = [self.start, self.minimiser]
        for client in self.separable:
            for sign in (-1, 1):
                targets = zip(client.pieces, client.zeta, strict=True)
                reached.append(
                    tuple(p.centre + sign * z / p.curvature for p, z in targets)
                )
        return tuple((min(side), max(side)) for side in zip(*reached, strict=True))

    @cached_property
    def G2(self) -> Fraction:
        r"""$G^2$: largest $\|\nabla F_n\|^2+\sigma_n^2$ everywhere, or on the box.

        A slope grows with the distance from the centre, and the squared gradient of a
        bowl is convex: on a box both are largest at a corner.
        """
        pairs = [*zip(self.clients, self.sigma2, strict=True)]
        if self.everywhere:
            steepest = zip(self.separable, self.sigma2, strict=True)
            return max(
                sum(((p.curvature * (p.kink or 0)) ** 2 for p in client.pieces), s2)
                for client, s2 in steepest
            )
        gradients = (
            (client.gradient(corner), s2)
            for client, s2 in pairs
            for corner in product(*self.domain)
        )
        return max(dot(g, g) + s2 for g, s2 in gradients)

    @cached_property
    def eps2(self) -> Fraction | None:
        r"""$\epsilon^2$ of $\|\nabla F_n-\nabla f\|$ everywhere; None: not known.

        Gradients of parabolas of equal curvature differ by a constant.
        """
        if len(self.clients) == 1:
            return ZERO
        kinds = [{(p.curvature, p.kink) for p in column} for column in self.columns]
        if not kinds or any(len(kind) > 1 or {*kind}.pop()[1] for kind in kinds):
            return None
        at = [client.gradient(self.minimiser) for client in self.clients]
        return max(dot(g, g) for g in at)

    @property
    def Gamma(self) -> Fraction:
        r"""$\Gamma=f^*-\sum_na_n\min F_n$; every piece has the minimum 0.

        Raises:
            ValueError: for several bowls.
        """
        if len(self.clients) == 1:
            return ZERO
        if not self.separable:
            raise ValueError("Gamma of several bowls is not implemented")
        return self.value(self.minimiser)

    @cached_property
    def constants(self) -> Constants:
        """The constants of the assumptions on this run, all analytic."""
        from sfl_theory.constants import Constants

        I_c, I_s = (dot(v, v) for v in _split(self.offsets, self.cut))
        limited = self.everywhere or self.case != "non_convex"
        G2 = float(self.G2) if limited else None
        found = Constants(
            S=float(self.S),
            mu=float(self.mu),
            sigma2=tuple(map(float, self.sigma2)),
            eps2=None if self.eps2 is None else float(self.eps2),
            weights=tuple(map(float, self.weights)),
            participation=tuple(map(float, self.q)),
            tau=self.tau,
            tau_server=self.tau_server,
            initial_distance2=float(I_c + I_s),
            initial_distance2_client=float(I_c),
            initial_distance2_server=float(I_s),
            initial_gap=float(self.gap),
            Gamma=float(self.Gamma),
            G2=G2,
            R2=G2,
        )
        known = found.as_dict()
        where = dict.fromkeys(("S", "mu", "sigma2", "eps2"), "all of R^d")
        where |= dict.fromkeys(("G2", "R2"), self.domain_words)
        return replace(
            found,
            provenance=dict.fromkeys(known, "analytic"),
            domain={name: words for name, words in where.items() if name in known},
        )

    @cached_property
    def schedule(self) -> Schedule:
        """The learning rates, as the bounds and the trainer take them."""
        from sfl_theory.schedules import Schedule

        client, server = self.client_rate, self.server_rate
        same = client == server
        words = str(client) if same else f"{client} (client), {server} (server)"
        value = float(client(0)) if same and client.constant else None
        return Schedule(
            client.at, server.at, f"{words}, {self.rule}", self.per_step, value
        )

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of the coordinates: x_c, x_s, numbered where a block has several."""
        sizes = {"x_c": self.cut, "x_s": len(self.start) - self.cut}
        return tuple(
            name if size == 1 else f"{name}{k}"
            for name, size in sizes.items()
            for k in range(1, size + 1)
        )

    @property
    def domain_words(self) -> str:
        """The set on which G^2 is meant, in words."""
        if self.everywhere:
            return "all of R^d"
        return f"{self.box_words}, which holds x* and every iterate"

    @property
    def box_words(self) -> str:
        """The box in words."""
        sides = [
            f"{name} = {low}" if low == high else f"{low} <= {name} <= {high}"
            for name, (low, high) in zip(self.coordinates, self.domain, strict=True)
        ]
        return f"{{{', '.join(sides)}}}"

    @property
    def words(self) -> str:
        """The setup in one line."""
        parts = [f"N = {len(self.clients)}"]
        if len(self.clients) > 1:
            parts.append(f"a{_each(self.weights)}")
        parts += self._functions()
        star = " = x*" if self.start == self.minimiser else ""
        parts.append(f"x^0 = {_tuple(self.start)}{star}")
        if not star:
            parts.append(f"x* = {_tuple(self.minimiser)}")
        parts.append(f"tau = {self.tau}")
        if self.algorithm == "sfl-v1":
            parts.append(f"tau_server = {self.tau_server}")
        if any(self.sigma2):
            points = [f"+-{_tuple(client.zeta)}" for client in self.clients]
            parts.append(f"noise{_each(points)}")
        else:
            parts.append("sigma = 0")
        parts.append(f"q{_each(self.q)}")
        if self.aggregation != "updates":
            parts.append(f"aggregation of {self.aggregation}")
        return ", ".join([*parts, f"eta = {self.schedule.words}"])

    def _functions(self) -> list[str]:
        first = self.clients[0]
        if isinstance(first, Bowl):
            rows = "; ".join(", ".join(map(str, row)) for row in first.H)
            return [f"F = x'Hx/2 - b'x, H = [{rows}], b = {_tuple(first.b)}"]
        terms, given = [], {}
        apart = [len({p.centre for p in column}) > 1 for column in self.columns]
        for name, column in zip(self.coordinates, self.columns, strict=True):
            suffix = name[2:] if sum(apart) > 1 else ""
            centres = tuple(piece.centre for piece in column)
            inner = name
            if len({*centres}) > 1:
                centre = f"b_n{suffix}"
                inner, given[centre] = f"{name} - {centre}", _tuple(centres)
            elif any(centres):
                inner = f"{name} - {centres[0]}"
            curvatures = tuple(piece.curvature for piece in column)
            front = "" if curvatures[0] == 1 else f"{curvatures[0]} "
            if len({*curvatures}) > 1:
                front = f"k_n{suffix} "
                given[front.strip()] = _tuple(curvatures)
            if column[0].kink is None:
                terms.append(f"{front}{f'({inner})' if ' ' in inner else inner}^2/2")
            else:
                terms.append(f"{front}h({inner})")
                given["h"] = f"Huber with its kinks at +-{column[0].kink}"
        label = "F" if len(self.clients) == 1 else "F_n"
        constants = [f"{name} = {words}" for name, words in given.items()]
        return [f"{label} = {' + '.join(terms)}", *constants]


def _split(v: Point, cut: int) -> tuple[Point, Point]:
    return v[:cut], v[cut:]


def _tuple(values: Sequence[object]) -> str:
    return f"({', '.join(map(str, values))})"


def _each(values: Sequence[object]) -> str:
    """Return " = value" if all clients share it, else all of them."""
    if len({*values}) > 1:
        return f" = {_tuple(values)}"
    return f"{'_n' if len(values) > 1 else ''} = {values[0]}"
