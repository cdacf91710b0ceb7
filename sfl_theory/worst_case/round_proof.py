r"""From a certificate of one round to a theorem of the kernel on any round t of a run.

The certificate is one on functions :math:`\theta F_n`, :math:`\theta=\eta_t/\eta\le1`,
see `round_by_round`. With :math:`\lambda,c` its slope and rise the theorem says for the
last iterate, a decrease of f, and one of the squared distance,

.. math:: E f(x^{t+1})-f^*\le\lambda(E f(x^t)-f^*)+\theta c,\quad
   E\|\nabla f(x^t)\|^2\le\lambda E(f(x^t)-f(x^{t+1}))+c,\quad
   E f(x^t)-f^*\le\lambda E(\|x^t-x^*\|^2-\|x^{t+1}-x^*\|^2)+rE\|x^t-x^*\|^2+c.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction

from sfl_theory.kernel import hypotheses as h
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number, Ratio, ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.proofs import derived, interleaved, unrolled
from sfl_theory.proofs.interleaved import Interleaved
from sfl_theory.proofs.notation import combine, of, per_client, steps
from sfl_theory.proofs.unrolled import block, mean, n, now, t
from sfl_theory.worst_case.assembly import SIDES, Assembly
from sfl_theory.worst_case.certificate import Atom, Inequality, Point
from sfl_theory.worst_case.round_by_round import Round
from sfl_theory.worst_case.setting import ONE, Setting

STAR = k.vec(k.Star(k.MEAN))
SIGMA2 = per_client("sigma2", n)
KINDS = {
    "fedavg": k.Kind.V1,
    "sfl-v1": k.Kind.V1,
    "minibatch-sfl": k.Kind.MINIBATCH,
    "sfl-v2": k.Kind.V2,
}


def gap(x: k.Vec) -> k.Lin:
    """Return ``f(x) - f*``."""
    return k.value_of(k.MEAN, x) - k.value_of(k.MEAN, STAR)


@dataclass(frozen=True)
class Federation:
    """A run and what is assumed of it, in the kernel's terms.

    Attributes:
        setting: of one round, in units of the run.
        rate: of the client side.
    """

    setting: Setting
    rate: k.Rate

    @property
    def run(self) -> k.Split:
        """The run, its server side at a fixed multiple of the client side's rate."""
        one = self.setting
        ratio_ = one.server_steps[0] / one.client_steps[0]
        client = k.Pace(k.natural(one.tau), self.rate)
        server = k.Pace(k.natural(one.late), k.Rate(self.rate.body * ratio_))
        everyone = k.Participants.EVERYONE
        return k.Split(KINDS[one.algorithm], everyone, client, server)

    @property
    def modulus(self) -> Ratio:
        """mu, or -S: a function with S-Lipschitz gradient is (-S)-convex."""
        return ratio(-self.setting.S if self.setting.mu is None else self.setting.mu)

    @property
    def visits(self) -> Interleaved | None:
        """How SFL-V2's happen, for the last iterate in all rounds together."""
        known, together = self.setting.visits, self.setting.reading == "last"
        return Interleaved(self.run, known.count, together) if known else None

    def assumed(self, rounds: int) -> frozenset[h.Hypothesis]:
        """Return what is assumed of functions, samples and visits of some rounds."""
        one, run = self.setting, self.run
        each: list[h.Hypothesis] = [
            h.Smooth(k.Local(n), ratio(one.S)),
            h.Convex(k.Local(n), self.modulus),
        ]
        found: set[h.Hypothesis] = {h.Minimiser(k.MEAN)}
        if one.sigma2:
            each.append(h.Variance(run, n, SIGMA2))
            found.add(h.Unbiased(run))
            mean_, apart = map(ratio, self.noises)
            found.add(h.Holds(unrolled.mean_bound(mean_, SIGMA2)))
            found.add(h.Holds(unrolled.deviation_bound(apart, SIGMA2)))
            if run.kind is not k.Kind.V2:
                found.add(h.Independent(run))
        else:
            each.append(h.Variance(run, n, ratio(0)))
        if one.eps2 is not None:
            found.add(h.Heterogeneity(ratio(one.eps2)))
        if one.G2 is not None:
            found.add(h.BoundedGradients(run, ratio(one.G2)))
        if one.visits:
            away = k.constant(k.weight(n) - Fraction(1, one.visits.count))
            each += [h.Holds(away), h.Holds(-away)]
            found.add(self.order(rounds))
        return frozenset(found | {h.every(k.CLIENTS, n, one) for one in each})

    def order(self, rounds: int) -> h.Hypothesis:
        """Return that visits are interleaved in every round."""
        tau, whole = self.setting.tau, ratio(rounds)
        if self.setting.reading == "last":
            each = interleaved.violations(tau, of(interleaved.s))
            one = h.Holds(interleaved.over_rounds(each, whole))
        else:
            one = h.Holds(-k.constant(interleaved.violations(tau, now)))
        both = h.every(k.CLIENTS, n, h.every(k.CLIENTS, interleaved.m, one))
        return h.every(steps(whole), t, both) if t in both.free else both

    @property
    def noises(self) -> tuple[Fraction, Fraction]:
        """The bounds of the noise's mean and of its deviations."""
        known = self.setting.noises
        return known["mean"], known["deviation"]


def refuse(setting: Setting) -> None:
    """Refuse rounds that no derivation is known for.

    Args:
        setting: of one round, in units of the run.

    Raises:
        ValueError: says why.
    """
    visits = setting.visits
    for wrong, words in (
        (setting.clients is not None, "the kernel names no single client"),
        (setting.zeta2 is not None, "heterogeneity at x* is not derived for a chain"),
        (
            setting.sigma2 > 0 and setting.mean_noise is None,
            "the mean of the noise has no bound of its own",
        ),
        (
            visits is not None and setting.order != "interleaved",
            "sfl-v2: visits are derived where they are interleaved",
        ),
        (
            visits is not None and (visits.count == 1 or visits.uneven > 0),
            "sfl-v2: visits are derived as printed and for equal weights",
        ),
        (
            visits is not None
            and visits.lag * visits.count**2 < interleaved.half(visits.count),
            "sfl-v2: a lag that is smaller than what is derived",
        ),
    ):
        if wrong:
            raise ValueError(f"no derivation is known: {words}")


def proved(federation: Federation, one: Round) -> Theorem:
    """Return what a certificate says of round t, for steps of at most its own.

    Args:
        federation: the run, whose round the certificate is of, and its class.
        one: the certificate.

    Returns:
        The theorem, on any round t; see `interleaved` for what it assumes of SFL-V2.

    Raises:
        ValueError: no derivation is known, or the certificate proves no such bound.
    """
    return _OneRound(federation, one).theorem()


class _OneRound:
    def __init__(self, federation: Federation, one: Round) -> None:
        self.federation, self.one = federation, one
        self.run, self.setting = federation.run, one.certificate.setting
        refuse(federation.setting)
        (largest,) = self.setting.client_steps
        theta = federation.rate.at(now) / largest
        self.theta = theta
        self.parts = Assembly(
            self.run,
            1,
            self.setting.S,
            self.setting.sigma2 > 0,
            self.target(),
            now,
            theta,
            federation.visits,
        )

    def target(self) -> k.Lin:
        """Return what is proved, multiplied by theta."""
        one, theta = self.one, self.theta
        x, after = k.iterate(self.run, now), k.iterate(self.run, now + 1)
        constant = k.constant(theta**2 * one.rise)
        if self.setting.start == "gap":
            return gap(x) * (theta * one.slope) + constant - gap(after) * theta
        if self.setting.mu is None:
            fall = k.value_of(k.MEAN, x) - k.value_of(k.MEAN, after)
            slope2 = k.norm2(k.gradient(k.MEAN, x)) * theta**2
            return fall * (theta * one.slope) + constant - slope2
        here, there = k.norm2(x - STAR), k.norm2(after - STAR)
        closer = here * (one.slope + one.far) - there * one.slope
        return closer + constant - gap(x) * theta

    def theorem(self) -> Theorem:
        """Return the theorem, divided by theta."""
        own: dict[int, k.Vec] = defaultdict(lambda: k.Vec({}))
        shared: dict[int, k.Vec] = defaultdict(lambda: k.Vec({}))
        for says, factor in self.one.certificate.uses:
            if says.kind in {"start-gap", "start-distance", "decrease"}:
                continue
            if says.kind in {"unbiased", "visited"}:
                self.orthogonal(says, factor, own, shared)
            elif says.kind == "lag":
                self.lag(says, factor)
            else:
                self.parts.use(*self.derived(says, factor))
        for i, u in (*own.items(), *shared.items()):
            self.parts.use(derived.unbiased(self.run, n, now, ratio(i), u), ONE)
        found = self.parts.proved(self.one.certificate.squares)
        return combine((found, 1 / self.theta))

    def place(self, says: Inequality) -> Point:
        """Return where an inequality is one.

        Raises:
            ValueError: it is nowhere.
        """
        if says.at is None or says.at.t > (says.at.kind == "round"):
            raise ValueError(f"no derivation of {says}")
        return says.at

    def orthogonal(
        self,
        says: Inequality,
        factor: Fraction,
        own: dict[int, k.Vec],
        shared: dict[int, k.Vec],
    ) -> None:
        """Enter that a noise is orthogonal to what its client, or all, have had.

        Raises:
            ValueError: no derivation is known.
        """
        at, space, atom = self.place(says), says.space, says.vector
        if at.kind != "local" or space is None or atom is None:
            raise ValueError(f"no derivation of {says}")
        u = block(SIDES[space.side], self.parts.drawn(atom)) * self.unit(atom) * -factor
        apart = space.part == "deviation"
        if says.kind == "visited":
            own[at.i] = own[at.i] + u
        elif atom.kind == "start":
            if not apart:
                shared[at.i] = shared[at.i] + u
        elif self.run.kind is not k.Kind.V2 or self.early(atom):
            if apart:
                own[at.i] = own[at.i] + u
            shared[at.i] = shared[at.i] + (-mean(u) if apart else mean(u))
        elif atom.kind == "noise" and atom.point is not None:
            if apart:
                own[at.i] = own[at.i] + u
            sign = factor if apart else -factor
            pair, way = (at.i, atom.point.i), 1 if sign > 0 else -1
            lemma = unrolled.gram(self.run, *pair, SIDES[space.side], way)
            self.parts.use(lemma, self.theta**2 * abs(sign))
        else:
            raise ValueError(f"no derivation of {says}")

    def early(self, atom: Atom) -> bool:
        """Return whether an atom was fixed before the round."""
        return atom.point is not None and atom.point.kind != "local"

    def unit(self, atom: Atom) -> Ratio:
        """Return by what a vector and a noise are multiplied together."""
        return self.theta if atom.kind == "start" else self.theta**2

    def lag(self, says: Inequality, factor: Fraction) -> None:
        """Enter the bound of SFL-V2's lags.

        Raises:
            ValueError: the run has none.
        """
        i, visits, known = self.place(says).i, self.parts.visits, self.setting.visits
        if visits is None or known is None:
            raise ValueError("lags are SFL-V2's")
        most, side, parts = known.lag, k.Side.SERVER, self.parts
        parts.add(
            interleaved.small_lags(visits, i, ratio(most)), self.theta**2 * factor
        )
        name = parts.lag(0, i)
        parts.own.add(name, name, -factor)
        g, xi = parts.sample(0, i, side)
        for a, b, c in ((g, g, 1), (xi, xi, 1), (g, xi, 2)):
            parts.own.add(a, b, factor * most * c)

    def derived(self, says: Inequality, factor: Fraction) -> tuple[Theorem, Number]:
        """Return an inequality as a theorem on client n or averaged, and its factor.

        Raises:
            ValueError: no derivation is known.
        """
        federation, run, at = self.federation, self.run, self.place(says)
        known, squared = federation.setting, self.theta**2 * factor
        parts, i = self.parts, ratio(at.i)
        local = at.kind == "local"
        if says.kind == "interpolation" and says.other is not None:
            mu = self.setting.mu
            least = ratio(-self.setting.S if mu is None else mu)
            x, y = parts.at(at), parts.at(says.other)
            S = ratio(self.setting.S)
            m = federation.modulus
            return unrolled.interpolated(S, m, x, y, self.theta, least), factor
        if says.kind == "dissimilarity" and known.eps2 is not None and not at.i:
            x = parts.at(Point("round", at.t) if local else at)
            return derived.heterogeneity(ratio(known.eps2), n, x), squared
        if says.kind == "bounded-gradient" and known.G2 is not None and local:
            bounded = derived.bounded_gradient(run, ratio(known.G2), n, now, i)
            if known.sigma2:
                g = parts.drawn(Atom("gradient", None, at))
                bounded = combine(bounded, (derived.unbiased(run, n, now, i, g), 2))
            return bounded, squared
        if says.kind == "variance" and local and says.space is not None:
            mean_, apart = map(ratio, federation.noises)
            if says.space.part == "mean":
                return unrolled.small_mean(run, SIGMA2, at.i, mean_), squared
            return unrolled.small_deviation(run, SIGMA2, at.i, apart), squared
        raise ValueError(f"no derivation of {says}")
