r"""Learning rates by round: constant, step, cosine, or a theorem's own."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, pi

from sfl_theory import Constants, theorem
from sfl_train.deep.algorithms.run import Rates
from sfl_train.deep.config import LARGEST, Config


class LearningRates:
    r"""Learning rates of both sides in every round.

    - ``constant``: $\eta^t=\eta$.
    - ``step:K:F``: $\eta^t=\eta F^{\lfloor t/K\rfloor}$.
    - ``cosine``: $\eta^t=\frac\eta2(1+\cos(\pi t/T))$.
    - ``theorem:3.7/strongly_convex:S=10,mu=0.1``: the rule of a theorem for the given
      constants, for both sides; $\eta$ is not used. a_n, q_n and tau, which the run
      knows, are filled in. The rule of huang2023 counts local steps.
    """

    def __init__(
        self,
        config: Config,
        weights: Sequence[float] | None = None,
        q: float | None = None,
    ) -> None:
        """Read the options.

        Args:
            config: of the run.
            weights: $a_n$ of its clients; None: 1/N.
            q: probability with which a client takes part; None: as in the options.

        Raises:
            ValueError: if the schedule cannot be read; the option is named.
        """
        self._eta = config.lr
        self._eta_server = config.lr if config.lr_server is None else config.lr_server
        self._rounds = config.rounds
        self._steps = max(config.tau or 1, config.tau_server or 1)
        self._kind, _, rest = config.schedule.partition(":")
        try:
            if self._kind == "step":
                every, factor = rest.split(":")
                self._every, self._factor = int(every), float(factor)
                if self._every < 1 or not 0 < self._factor <= 1:
                    raise ValueError("K must be positive and F in (0, 1]")
            elif self._kind == "theorem":
                clients = config.clients or 1
                a = [1.0 / clients] * clients if weights is None else list(weights)
                q = config.participation if q is None else q
                self._rule = _rule(rest, config, a, q)
                first = self._of_theorem(0)
                if not max(first.client, first.server) <= LARGEST:
                    raise ValueError(f"its first learning rate is {first.client:g}")
            elif self._kind not in {"constant", "cosine"} or rest:
                raise ValueError("unknown form")
        except ValueError as error:
            raise ValueError(
                f"--schedule: cannot read {config.schedule!r} ({error}); expected "
                "constant, step:K:F, cosine or theorem:NUMBER/CASE:S=..,mu=.."
            ) from error

    def __call__(self, t: int) -> Rates:
        """Return the learning rates of round t."""
        if self._kind == "theorem":
            return self._of_theorem(t)
        factor = 1.0
        if self._kind == "step":
            factor = self._factor ** (t // self._every)
        elif self._kind == "cosine":
            factor = 0.5 * (1 + cos(pi * t / self._rounds))
        return Rates(self._eta * factor, self._eta_server * factor)

    def _of_theorem(self, t: int) -> Rates:
        if not self._rule.per_step:
            return Rates(float(self._rule.client(t)), float(self._rule.server(t)))
        at = [t * self._steps + i for i in range(self._steps)]
        local = [(float(self._rule.client(i)), float(self._rule.server(i))) for i in at]
        return Rates(*local[0], tuple(local))


def _rule(  # type: ignore[no-untyped-def]
    text: str, config: Config, weights: list[float], q: float
):
    name, _, listed = text.partition(":")
    number, slash, case = name.rpartition("/")
    if not slash:
        raise ValueError("the theorem needs its case, as in 3.7/non_convex")
    values: dict[str, object] = {}
    for pair in filter(None, listed.split(",")):
        key, sign, value = pair.partition("=")
        if not sign:
            raise ValueError(f"{pair!r} is not of the form NAME=NUMBER")
        values[key.strip()] = float(value)
    if config.tau is not None:
        values.setdefault("tau", config.tau)
        values.setdefault("tau_server", config.tau_server or config.tau)
    values.setdefault("weights", weights)
    values.setdefault("participation", [q] * len(weights))
    bound = theorem(number).case(case).printed
    if bound.step_size is None:
        raise ValueError(f"{name} has no learning rate")
    if bound.step_size.per_step and config.tau is None:
        raise ValueError(f"{name} counts local steps: give --tau, not --epochs")
    return bound.step_size.schedule(Constants.from_dict(values))
