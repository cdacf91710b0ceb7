r"""What a bound assumes, as objects: each knows its words and when numbers break it.

A `Condition` stands in ``Bound.conditions``. Its words are printed; ``unmet`` looks at
the constants and at the algorithm and says what is outside the hypothesis, so that
``Bound.evaluate`` refuses to speak there. Conditions on functions and noise alone
(smooth, unbiased, ...) have no number that could break them. The learning-rate rule is
a hypothesis too: `sfl_theory.step_size.StepSize`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from sfl_theory.constants import Constants


@dataclass(frozen=True)
class Algorithm:
    r"""What a run may choose beyond the paper's algorithm box.

    Attributes:
        weighted_server: SFL-V2's server step at a visit of client n carries $a_n$.
        aggregation: "updates" (App. C.2 of ``han2024``) or "models" (its eq. (3)).
        clock: of SFL-V1 for $\tau\ne\tilde\tau$: "analysis" (App. C.2: per round the
            sides make $\tau$ and $\tilde\tau$ steps) or "algorithm" (Algorithm 1).
    """

    weighted_server: bool = False
    aggregation: str = "updates"
    clock: str = "analysis"


ANALYSED = Algorithm()
"""What the papers' proofs analyse."""


@dataclass(frozen=True)
class Condition:
    """A hypothesis; of this class itself: one that no constant can break.

    Attributes:
        words: as a reader sees it.
    """

    words: str

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return what is outside the hypothesis, or "" where nothing is.

        Args:
            constants: those that are absent break nothing.
            algorithm: what is run.

        Returns:
            Half a sentence.
        """
        del constants, algorithm
        return ""

    def __str__(self) -> str:
        return self.words


@dataclass(frozen=True)
class Smooth(Condition):
    r"""Every $F_n$ has S-Lipschitz gradients."""

    words: str = "3.1 smooth"


@dataclass(frozen=True)
class Unbiased(Condition):
    """Stochastic gradients have the right mean."""

    words: str = "3.2 unbiased"


@dataclass(frozen=True)
class BoundedVariance(Condition):
    r"""Unbiased, variance at most $\sigma_n^2$, samples independent across clients."""

    words: str = "3.2 unbiased, bounded variance"


@dataclass(frozen=True)
class NoNoise(Condition):
    r"""Stochastic gradients are the gradients, $\sigma_n^2=0$."""

    words: str = "no noise, sigma_n^2 = 0"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that there is noise, or that nothing is said of it."""
        del algorithm
        if constants.sigma2 is None:
            return "the constant 'sigma2' is not given"
        largest = float(np.max(constants.sigma2))
        return f"sigma_n^2 is {largest:.4g} somewhere" if largest > 0 else ""


@dataclass(frozen=True)
class BoundedGradients(Condition):
    r"""$\mathbb E\|g_n\|^2\le G^2$ where gradients are evaluated."""

    words: str = "3.3 bounded gradients"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that neither G2 nor R2 (``huang2023``'s name) is given."""
        del algorithm
        absent = constants.G2 is None and constants.R2 is None
        return "the constant 'G2' ('R2' of huang2023) is not given" if absent else ""


@dataclass(frozen=True)
class Heterogeneity(Condition):
    r"""$\|\nabla F_n-\nabla f\|^2\le\epsilon^2$ everywhere."""

    words: str = "3.4 bounded heterogeneity"


@dataclass(frozen=True)
class StronglyConvex(Condition):
    r"""Every $F_n$ is $\mu$-strongly convex with $\mu>0$."""

    words: str = "C.2 with mu > 0"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that mu is 0."""
        del algorithm
        return "the constant 'mu' must be positive, got 0" if constants.mu == 0 else ""


@dataclass(frozen=True)
class Steeper(Condition):
    r"""$S>\mu$; every larger S will do."""

    words: str = "S > mu"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that S is mu."""
        del algorithm
        S, mu = constants.S, constants.mu
        return "S is mu" if S is not None and mu is not None and mu >= S else ""


@dataclass(frozen=True)
class Convex(Condition):
    """Every $F_n$ is convex."""

    words: str = "C.2 with mu = 0"


@dataclass(frozen=True)
class MinimiserExists(Condition):
    """The objective has a minimiser."""

    words: str = "a minimiser exists"


@dataclass(frozen=True)
class EveryoneTakesPart(Condition):
    r"""$q_n=1$."""

    words: str = "everyone takes part"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that some client is drawn."""
        del algorithm
        q = constants.participation
        least = 1.0 if q is None else float(np.min(q))
        return f"participation is {least:.4g} somewhere" if least < 1 else ""


@dataclass(frozen=True)
class UpdatesAggregated(Condition):
    """Under partial participation updates are aggregated, as App. C.2 analyses."""

    words: str = "updates aggregated (App. C.2)"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that models are."""
        del constants
        other = algorithm.aggregation != "updates"
        return f"{algorithm.aggregation} are aggregated" if other else ""


@dataclass(frozen=True)
class EqualPeriods(Condition):
    r"""$\tilde\tau=\tau$."""

    words: str = "tau_server = tau"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return both periods where they are given and differ."""
        del algorithm
        tau, other = constants.tau, constants.tau_server
        if tau is None or other is None or tau == other:
            return ""
        return f"tau = {tau} and tau_server = {other}"


@dataclass(frozen=True)
class Clock(Condition):
    r"""Which clock SFL-V1 has where $\tau\ne\tilde\tau$; for equal ones they agree.

    Attributes:
        clock: "analysis" or "algorithm".
    """

    words: str = ""
    clock: str = "analysis"

    def __post_init__(self) -> None:
        where = {"analysis": "App. C.2's", "algorithm": "Algorithm 1's"}[self.clock]
        object.__setattr__(self, "words", self.words or f"{where} clock")

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that the run has the other clock."""
        same = not EqualPeriods().unmet(constants, algorithm)
        if same or algorithm.clock == self.clock:
            return ""
        return f"tau_server differs from tau and the clock is '{algorithm.clock}'"


@dataclass(frozen=True)
class EqualWeights(Condition):
    r"""$a_n=1/N$."""

    words: str = "equal weights a_n = 1/N"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return the weights' range where they differ."""
        del algorithm
        weights = constants.weights
        if weights is None or np.allclose(weights, 1 / len(weights), rtol=1e-9):
            return ""
        return f"the weights lie between {min(weights):.4g} and {max(weights):.4g}"


@dataclass(frozen=True)
class WeightedServer(Condition):
    r"""SFL-V2's server step at a visit of client n carries $a_n$.

    For equal weights that is the printed server with its rate divided by N.
    """

    words: str = (
        "server steps weighted by a_n (equal weights a_n = 1/N: the server rate "
        "divided by N)"
    )

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that the weights differ and the server's steps carry none."""
        found = EqualWeights().unmet(constants, algorithm)
        if not found or algorithm.weighted_server:
            return ""
        return f"{found} and the server's steps carry no weight"


@dataclass(frozen=True)
class OwnSteps(Condition):
    r"""Each side's rate is divided by its own number of steps, in App. C.2's clock."""

    words: str = "any periods, each side's step size divided by its own number of steps"

    def unmet(self, constants: Constants, algorithm: Algorithm) -> str:
        """Return that the clock is Algorithm 1's."""
        return Clock().unmet(constants, algorithm)
