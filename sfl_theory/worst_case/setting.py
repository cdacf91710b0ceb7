r"""What is asked: an algorithm, its steps, a class of problems, a start, a metric."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal, get_args

Algorithm = Literal["fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl"]
Order = Literal["client-sequential", "interleaved"]
ServerSteps = Literal["printed", "weighted"]
Metric = Literal["distance", "gap", "gradient"]
Reading = Literal["last", "average", "mean", "minimum"]
Start = Literal["distance", "gap", "gradients", "decrease"]

ZERO, ONE = Fraction(0), Fraction(1)


@dataclass(frozen=True)
class Visits:
    r"""SFL-V2's visits with any weights and in any order, for all N at once.

    A local step's visits move the server by ``count`` $\eta_s$ times the mean of the
    visits' gradients $h_n$. Client n is met where the server has moved by a part of
    that, its lag $d_n$, and the plain mean is the weighted one up to a vector e:

    .. math:: \sum_na_n\|d_n\|^2\le\text{lag}\sum_na_n\|h_n\|^2,\qquad
              \|e\|^2\le\text{uneven}\sum_na_n\|h_n-\bar h\|^2.

    Attributes:
        count: N for printed server steps, 1 for weighted ones.
        lag: see above; of all visits of a round together if clients follow one another.
        uneven: see above; 0 for equal weights and for weighted steps.
    """

    count: int
    lag: Fraction
    uneven: Fraction = ZERO

    @property
    def weighted(self) -> bool:
        """Whether a visit moves the server by less than its whole step."""
        return self.count == 1 and self.lag > 0

    @classmethod
    def of(cls, weights: tuple[Fraction, ...], moves: ServerSteps) -> Visits:
        r"""Return what holds for every order.

        Weighted: $d_n=\sum_ma_mh_m$ over those before n, so by Cauchy and Schwarz
        $\sum_na_n\|d_n\|^2\le\sum_ma_m\|h_m\|^2\sum_na_nA_n$ over those after m,
        $A_n$ the weight before n, and $\sum_na_nA_n\le\frac12(1-\sum_na_n^2)$.
        Printed: $d_n=\frac1N\sum_mh_m$, a matrix whose squared Frobenius norm, in the
        weighted inner product, is $\frac1{N^2}\sum a_n/a_m$ over pairs m before n;
        $e=\sum_na_n(\frac1{Na_n}-1)(h_n-\bar h)$, so again by Cauchy and Schwarz
        uneven is $\sum_na_n(\frac1{Na_n}-1)^2=\frac1{N^2}\sum_n\frac1{a_n}-1$.

        Args:
            weights: $a_n$.
            moves: of the server.

        Returns:
            The bounds.
        """
        N = len(weights)
        if moves == "weighted":
            return cls(1, (1 - sum((a * a for a in weights), ZERO)) / 2)
        pairs = ((a, b) for k, a in enumerate(weights) for b in weights[:k])
        ratios = sum((max(a / b, b / a) for a, b in pairs), ZERO)
        uneven = sum((1 / a for a in weights), ZERO) / N**2 - 1
        return cls(N, ratios / N**2, uneven)


@dataclass(frozen=True)
class Setting:
    r"""A run of an algorithm over a class of problems, in exact numbers.

    Attributes:
        algorithm: which one; "fedavg" is SFL-V1 with equal periods and steps.
        tau: $\tau$, local steps of the client side in a round.
        client_steps: $\eta_c^t$ of rounds 0..T-1; its length is T.
        server_steps: $\eta_s^t$.
        S: every $F_n$ is $S$-smooth.
        mu: every $F_n$ is $\mu$-strongly convex, 0: convex; None: not convex.
        clients: N; None: all N and all weights at once; bounds are then the clients'
            means with these weights.
        weights: $a_n$; empty: $1/N$.
        tau_server: $\tilde\tau$; None: $\tau$.
        zeta2: $\sum_na_n\|\nabla F_n(x^*)\|^2\le\zeta^2$.
        eps2: $\|\nabla F_n-\nabla f\|^2\le\epsilon^2$ at every $x^t$ and $x^*$.
        G2: $E\|g_n\|^2\le G^2$ at every local step that is made.
        sigma2: $\sigma^2$, variance of unbiased, independent noise at every step; for
            all N at once of its mean over clients, $\sum_na_n\sigma_n^2$.
        start: what is known of $x^0$: $\|x^0-x^*\|^2$ or $f(x^0)-f^*$ at most
            ``initial``, or nothing but what bounded gradients give; or, of a mean over
            rounds, that the run decreases the squared distance (without convexity f)
            by at most ``initial``.
        initial: see ``start``.
        metric: "distance" $\|x^T-x^*\|^2$, "gap" $f(x^T)-f^*$, "gradient"
            $\|\nabla f(x^t)\|^2$.
        reading: "last" iterate; "average": of the iterate $\frac1T\sum_{t<T}x^t$ for a
            gap, the mean over rounds with weights $\propto\eta_c^t$ for gradients;
            "mean" of gaps with these weights; "minimum" over rounds, gradients only.
        order: of SFL-V2's visits.
        server_moves: SFL-V2's server moves by $\eta_s$ a visit ("printed") or by
            $a_n\eta_s$ ("weighted").
        symmetric: write N given clients of equal weight as means and deviations.
        mean_noise: $\sum_na_n^2\sigma_n^2$, for all N at once: the variance of the
            averaged noise; None: as if one client had it all.
        visits: of SFL-V2, for all N at once.
        initial_gap: $f(x^0)-f^*$ is also at most this, for a start by distance.
        initial_distance: $\|x^0-x^*\|^2$ is also at most this, for a decrease.
        participation: $q_n$, with which client n takes part in a round, independently;
            all outcomes are enumerated. Empty: everyone takes part. Updates are
            aggregated: $x^{t+1}=x^t+\sum_nI_n\frac{a_n}{q_n}(x_n-x^t)$.
        two_point: noise takes two values of equal probability, $\pm$ a vector that may
            depend on the past, and all outcomes are enumerated.
        turns: SFL-V2's orders of visits, clients from 0: one for every round, if
            interleaved for every local step of every round; a single one is for all;
            empty: 0, 1, ... .

    Raises:
        ValueError: for what no run or no problem can have, or is not formulated.
    """

    algorithm: Algorithm
    tau: int
    client_steps: tuple[Fraction, ...]
    server_steps: tuple[Fraction, ...]
    S: Fraction
    mu: Fraction | None
    clients: int | None = None
    weights: tuple[Fraction, ...] = ()
    tau_server: int | None = None
    zeta2: Fraction | None = None
    eps2: Fraction | None = None
    G2: Fraction | None = None
    sigma2: Fraction = ZERO
    start: Start = "distance"
    initial: Fraction = ONE
    metric: Metric = "gap"
    reading: Reading = "last"
    order: Order = "client-sequential"
    server_moves: ServerSteps = "printed"
    symmetric: bool = False
    mean_noise: Fraction | None = None
    initial_gap: Fraction | None = None
    initial_distance: Fraction | None = None
    visits: Visits | None = None
    participation: tuple[Fraction, ...] = ()
    two_point: bool = False
    turns: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        for name, known in (
            ("algorithm", get_args(Algorithm)),
            ("start", get_args(Start)),
            ("metric", get_args(Metric)),
            ("reading", get_args(Reading)),
            ("order", get_args(Order)),
            ("server_moves", get_args(ServerSteps)),
        ):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}")
        for wrong, words in (*self._impossible(), *self._unformulated()):
            if wrong:
                raise ValueError(words)

    def _impossible(self) -> tuple[tuple[bool, str], ...]:
        mu, N = self.mu, self.clients
        bounds = (self.zeta2, self.eps2, self.G2)
        return (
            (not self.client_steps, "rounds must be a positive integer"),
            (
                len(self.client_steps) != len(self.server_steps),
                "both sides need a step size for every round",
            ),
            (
                any(eta < 0 for eta in (*self.client_steps, *self.server_steps)),
                "step sizes must not be negative",
            ),
            (
                self.tau < 1 or (self.tau_server or 1) < 1,
                "tau and tau_server must be positive integers",
            ),
            (self.S <= 0, f"S must be positive, got {self.S}"),
            (
                mu is not None and not 0 <= mu < self.S,
                f"mu must be in [0, S), got {mu}: mu = S leaves parabolas only",
            ),
            (
                any(bound is not None and bound < 0 for bound in bounds),
                "bounds of assumptions must not be negative",
            ),
            (
                self.eps2 == 0,
                "dissimilarity that is bounded by 0 leaves one function: use one "
                "client",
            ),
            (self.G2 == 0, "gradients that are bounded by 0 leave no function"),
            (self.sigma2 < 0, "noise must have a variance of at least 0"),
            (self.initial <= 0, "the initial distance or gap must be positive"),
            (N is not None and N < 1, "clients must be a positive integer or 'all'"),
            (
                bool(self.weights)
                and (
                    len(self.weights) != N
                    or sum(self.weights) != 1
                    or min(self.weights) <= 0
                ),
                "weights must be positive, one per client, and sum to 1",
            ),
            (
                bool(self.participation) and N is None,
                "participation is enumerated client by client: a number of clients is "
                "needed, for the variance that it brings depends on it",
            ),
            (
                bool(self.participation)
                and (
                    len(self.participation) != N
                    or not all(0 < q <= 1 for q in self.participation)
                ),
                "participation must be one probability in (0, 1] per client, or one "
                "for all",
            ),
            (
                self.two_point and (N is None or not self.sigma2),
                "two-point noise is enumerated for a number of clients, and needs a "
                "variance",
            ),
            *self._misvisited(),
        )

    def _misvisited(self) -> tuple[tuple[bool, str], ...]:
        N, steps = self.clients, self.rounds * self.visited_at_once
        return (
            (
                bool(self.turns) and (self.algorithm != "sfl-v2" or N is None),
                "an order of visits is of sfl-v2 with a number of clients",
            ),
            (
                any(sorted(one) != [*range(N or 0)] for one in self.turns),
                "an order of visits names every client once",
            ),
            (
                len(self.turns) not in {0, 1, steps},
                f"an order of visits: one, or {steps} of them, got {len(self.turns)}",
            ),
        )

    def _unformulated(self) -> tuple[tuple[bool, str], ...]:
        shared = self.algorithm in {"sfl-v2", "minibatch-sfl"}
        same = self.client_steps == self.server_steps and self.tau == self.late
        N = self.clients
        assumed = (self.zeta2, self.eps2, self.G2)
        return (
            (
                (self.visits is not None) != (self.algorithm == "sfl-v2" and N is None),
                "sfl-v2 needs a number of clients: its visits are one after another",
            ),
            (
                self.visits is not None
                and self.visits.weighted
                and self.order == "client-sequential"
                and self.tau > 1,
                "a client's own weighted steps in a row, for all N at once",
            ),
            (
                self.symmetric
                and (
                    self.algorithm == "sfl-v2"
                    or bool(self.weights)
                    or N in {None, 1}
                    or self.enumerated
                ),
                "clients are interchangeable with equal weights, and not in sfl-v2",
            ),
            (
                self.mean_noise is not None
                and (N is not None or not 0 <= self.mean_noise <= self.sigma2),
                "mean_noise is of all N at once, and at most sigma2",
            ),
            (
                self.initial_gap is not None and self.start != "distance",
                "initial_gap is known beside a start by distance",
            ),
            (
                self.algorithm == "fedavg" and not same,
                "fedavg has one period and one step size; sfl-v1 has two",
            ),
            (
                shared and self.tau != self.late,
                f"{self.algorithm} has one server model: tau_server must be tau",
            ),
            (
                self.start == "gradients" and (self.G2 is None or not self.mu),
                "a start by bounded gradients needs G and mu > 0",
            ),
            (
                self.mu is None
                and (
                    self.metric != "gradient" or self.start not in {"gap", "decrease"}
                ),
                "without convexity: metric gradient and a start by gap",
            ),
            (
                (self.initial_distance is not None)
                != (self.start == "decrease" and self.mu is not None),
                "the initial distance is known beside a decrease of it",
            ),
            (
                self.start == "decrease" and self.reading not in {"average", "mean"},
                "a decrease is known of means over rounds",
            ),
            (
                self.adrift and self.metric == "distance",
                "a start by gap says nothing of distances where f may be flat: the "
                "worst case is infinite",
            ),
            (
                not any(self.client_steps)
                and (self.metric, self.reading)
                in {("gap", "mean"), ("gradient", "average")},
                "a mean over rounds is weighted by the client's step sizes, and all "
                "of them are 0",
            ),
            (
                self.mu is None and self.zeta2 is not None,
                "zeta speaks of x*, which problems without convexity need not have",
            ),
            (
                N != 1
                and all(bound is None for bound in assumed)
                and (
                    max(self.tau, self.late) > 1
                    or self.algorithm == "sfl-v2"
                    or self.partial
                ),
                "several clients need a bound: heterogeneity, dissimilarity or "
                "bounded gradients; without one the worst case is infinite",
            ),
            (
                self.reading == "minimum" and self.metric != "gradient",
                "the minimum over rounds is of the metric gradient",
            ),
            (
                self.metric == "gradient" and self.reading in {"last", "mean"},
                "the metric gradient is read as an average or a minimum",
            ),
            (
                self.metric == "distance" and self.reading != "last",
                "the metric distance is read at the last iterate",
            ),
        )

    @property
    def rounds(self) -> int:
        """T."""
        return len(self.client_steps)

    @property
    def late(self) -> int:
        r"""$\tilde\tau$."""
        return self.tau if self.tau_server is None else self.tau_server

    @property
    def adrift(self) -> bool:
        """Whether nothing bounds how far x(0) is from x*."""
        return self.mu == 0 and self.start == "gap"

    @property
    def partial(self) -> bool:
        """Whether some client may sit a round out."""
        return any(q < 1 for q in self.participation)

    @property
    def enumerated(self) -> bool:
        """Whether outcomes of chance are enumerated."""
        return self.partial or self.two_point

    @property
    def visited_at_once(self) -> int:
        """How many orders of visits a round of SFL-V2 has."""
        return self.tau if self.order == "interleaved" else 1

    def turn(self, t: int, i: int) -> tuple[int, ...]:
        """Return the order of SFL-V2's visits at local step i of round t."""
        if len(self.turns) < 2:
            return self.turns[0] if self.turns else tuple(range(len(self.shares)))
        return self.turns[t * self.visited_at_once + min(i, self.visited_at_once - 1)]

    def chance(self, n: int) -> Fraction:
        """Return $q_n$."""
        return self.participation[n] if self.participation else ONE

    @property
    def interchangeable(self) -> bool:
        """Whether clients are written as means and deviations."""
        return self.clients is None or self.symmetric

    @property
    def stepwise(self) -> bool:
        """Whether steps are all that moves clients, so that proofs are of positions.

        Of clients that are alike and do not differ by any slopes, or of SFL-V2 with
        one order and one step size; not where x(0) may be anywhere.
        """
        rates = {*self.client_steps}, {*self.server_steps}
        alike = self.algorithm in {"fedavg", "sfl-v1"} and self.interchangeable
        visits = self.algorithm == "sfl-v2" and not self.interchangeable
        visits &= not self.partial and len(self.turns) < 2 and max(map(len, rates)) < 2
        bounded = any(bound for bound in (self.zeta2, self.eps2, self.G2))
        alike &= bounded and self.zeta2 != 0
        fits = alike or visits
        return fits and min(map(min, rates)) > 0 and not self.adrift

    @property
    def shares(self) -> tuple[Fraction, ...]:
        """$a_n$ of every client; one share of 1 stands for all that are alike."""
        if self.clients is None or self.symmetric:
            return (ONE,)
        return self.weights or (Fraction(1, self.clients),) * self.clients

    @property
    def noises(self) -> dict[str, Fraction]:
        """Bounds on a step's noise, by the part of the coordinates it lies in."""
        mean = self.mean_noise
        if self.symmetric and self.clients is not None:
            mean = self.sigma2 / self.clients
        if mean is None:
            return {"each": self.sigma2}
        return {"mean": mean, "deviation": self.sigma2 - mean}
