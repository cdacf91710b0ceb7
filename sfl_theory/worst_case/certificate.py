r"""A bound of a worst case as data: which inequalities, how much of each, what is left.

Let ``form_k <= bound_k`` be the inequalities that the assumptions give at the points of
a run. A certificate states multipliers $\lambda_k$ and squares with

.. math:: \text{bound}-\text{metric}=\sum_k\lambda_k(\text{bound}_k-\text{form}_k)
          +\sum_jw_j\|v_j\|^2,\qquad\lambda_k\ge0\text{ or an equality},\ w_j\ge0,

an identity in function values and inner products, so ``metric <= bound``. All numbers
are fractions. ``exact.check`` decides the identity; a proof is made of it elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

from sfl_theory.worst_case.setting import Setting


@dataclass(frozen=True, order=True)
class Point:
    """A point of a run: ``x*``, ``x(t)``, the average iterate, or p(n,t,i).

    SFL-V1's p(n,t,0) is x(t), and is written as the former.

    Attributes:
        kind: which of these.
        t: round.
        i: local step.
        past: where chance is enumerated, the rounds' outcomes in the first scenario
            that comes by.
    """

    kind: Literal["star", "round", "average", "local"]
    t: int = 0
    i: int = 0
    past: tuple[int, ...] = ()

    def __str__(self) -> str:
        names = {"star": "x*", "round": f"x({self.t})", "average": "xbar"}
        name = names.get(self.kind, f"p({self.t},{self.i})")
        return name + (f" after {self.past}" if self.past else "")


STAR = Point("star")


@dataclass(frozen=True, order=True)
class Atom:
    """A vector in which points and squares are written.

    Attributes:
        kind: "start" x(0) - x*, "gradient" of F_n at a point, "noise" that step (t, i)
            of client n adds to its gradient.
        client: n from 0; None with all N at once, where the space says what is meant:
            the mean of the clients' vectors or each one's deviation from it.
        point: of the gradient; of a noise the point where it is drawn.
    """

    kind: Literal["start", "gradient", "noise", "lag", "uneven"]
    client: int | None = None
    point: Point | None = None


@dataclass(frozen=True, order=True)
class Space:
    """Coordinates with a Gram matrix of their own; inner products add over spaces.

    Attributes:
        side: coordinates of the client block, of the server block, or "both" where
            periods and steps are equal.
        part: "mean" of the clients' vectors ``<mean u, mean v>``, "deviation"
            ``1/N sum_n <u_n - mean u, v_n - mean v>``, or "each" for N given.
    """

    side: Literal["both", "client", "server"]
    part: Literal["each", "mean", "deviation"] = "each"


Kind = Literal[
    "interpolation",
    "start-distance",
    "start-gap",
    "decrease",
    "heterogeneity",
    "dissimilarity",
    "bounded-gradient",
    "variance",
    "unbiased",
    "across",
    "visited",
    "lag",
    "uneven",
    "lowest",
    "at-least",
]


@dataclass(frozen=True)
class Inequality:
    r"""What an inequality says, to be derived from the assumptions by whoever proves.

    With all N at once each is the mean over the clients.

    - "interpolation" of F_client: with L = S, m = mu (or -S), x = at, y = other,
      u = grad F(x) - grad F(y), v = x - y:
      F(y) + <grad F(y), v> + (|u|^2/L + m |v|^2 - 2 (m/L) <u, v>) / (2 (1 - m/L))
      <= F(x);
    - "start-distance", "start-gap", "decrease": the start;
    - "heterogeneity": sum_n a_n |grad F_n(x*)|^2 <= zeta2;
    - "dissimilarity": |grad F_client(at) - grad f(at)|^2 <= eps2;
    - "bounded-gradient": E |grad F_client(at) + noise|^2 <= G2 at a local point;
    - "variance": E |noise|^2 <= sigma2; with all N at once and a space, sigma2 is that
      space's share of it;
    - "unbiased": <noise, vector> = 0 in a space, an equality;
    - "across", N clients that are alike: a client's noise is orthogonal to another's
      noise of the step and later gradient in the round, (N-1) <noise, vector> of the
      means = that of the deviations, on the side of the space, an equality;
    - "visited", SFL-V2 for all N at once: sum_n a_n <noise_n, vector_n> = 0 on the side
      of the space, as each client's noise is drawn after its vector, an equality;
    - "lag", "uneven": see ``Visits``;
    - "lowest": f* + |grad f(at)|^2 / (2 S) <= f(at);
    - "at-least": the least metric over rounds is at most that at ``at``.

    Attributes:
        kind: see above.
        client: n from 0; None: f, or the mean over clients.
        at: the first point.
        other: the second.
        vector: of "unbiased" and "across".
        space: of these, and of "variance" for N clients that are alike.
    """

    kind: Kind
    client: int | None = None
    at: Point | None = None
    other: Point | None = None
    vector: Atom | None = None
    space: Space | None = None


@dataclass(frozen=True)
class Square:
    """``weight * |sum coefficient * atom|^2`` in a space, weight >= 0."""

    space: Space
    weight: Fraction
    form: tuple[tuple[Atom, Fraction], ...]


@dataclass(frozen=True)
class Certificate:
    r"""Data that bound the metric of every run of a setting by ``bound``.

    Atoms are not independent where $\sum_na_n\nabla F_n(x^*)=0$: for N given, the last
    client's gradient at x* is written by the others'; for all N at once its mean is 0.

    Attributes:
        setting: the run and the class of problems.
        bound: p/q, the value that is claimed.
        uses: inequalities with their multipliers.
        squares: what is left over.
    """

    setting: Setting
    bound: Fraction
    uses: tuple[tuple[Inequality, Fraction], ...]
    squares: tuple[Square, ...]
