r"""General convex, read as "for some schedule": what no admitted schedule reaches.

SFL-V2, unequal weights: two clients with weights 9/10 and 1/10, :math:`F_n=h(x_s-b_n)`,
h Huber of kink 2, b = (1, -1), one local step, from 0: f has its minimum at
:math:`x_s=\frac45`. Client 2 is visited first, so a round makes
:math:`(1-\eta)^2x_s+\eta^2` of :math:`x_s`, which stays between -1 and 1.

SFL-V1, unequal periods: one client with :math:`F=h(x_c)+h(x_s)`, h Huber of kink 1,
from (512, 0), :math:`\tau=1` and :math:`\tilde\tau=64`: no admitted rate is above
1/128, and a round moves :math:`x_c` by :math:`\eta` at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import partial

from sfl_theory.evidence import Part, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.models.federation import bare, federation, tilt
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import entry
from sfl_theory.papers.han2024.setting import N, eta, n, t
from sfl_theory.proofs.notation import combine

THIRD, BEST = Fraction(1, 3), Fraction(4, 5)
LEFT = Fraction(49, 450)
"""Half the square of 4/5 - 1/3."""
FAR, PERIOD, ROUNDS = 512, 64, 16_384
"""x_c at first, tau_server and T of SFL-V1's instance."""


def y(at: Number) -> Number:
    """Return x_s before a round."""
    return w.of_round("y", at, "x_s^{{t}}", Sort.NONNEGATIVE)


def after(rate: Number, x: Number) -> Number:
    """Return what a round makes of x_s."""
    return (1 - rate) ** 2 * x + rate**2


HALF = Fraction(1, 2)
EVERY = tuple(
    w.every_natural(t, one)
    for one in (
        w.at_most(y(t + 1), after(eta(), y(t))),
        w.at_most(eta(), HALF).called("the learning rate of Theorem 3.7"),
    )
)
BEGINS = w.at_most(y(w.number(0)), 0)


def stays() -> rules.Theorem:
    """Return that x_s is at most 1/3 before every round.

    ``1/3 - (1-e)^2 x - e^2 = (1-e)^2 (1/3 - x) + (4/3) e (1/2 - e)``.
    """

    def claim(at: Number) -> Ratio:
        return THIRD - y(at).value

    rate, v = eta().value, w.variable(t)
    moved = rules.assume(k.constant(after(eta(), y(t)).value - y(t + 1).value))
    small = rules.assume(k.constant(HALF - rate))
    before = rules.assume(k.constant(claim(t)))
    step = combine(
        moved,
        (before, (1 - rate) ** 2),
        (small, Fraction(4, 3) * rate),
        target=k.constant(claim(t + 1)),
        signs=[rules.square(1 - rate)],
    )
    base = combine(
        rules.assume(k.constant(-y(w.number(0)).value)),
        target=k.constant(claim(w.number(0))),
    )
    every = rules.induct(base, step, v, k.constant(claim(t)))
    return rules.instantiate(every, ((v, s.T.value),), ())


# SFL-V1: x_c comes down by 1/128 a round at most --------------------------------------

SLOWEST = Fraction(1, 2 * PERIOD)


def z(at: Number) -> Number:
    """Return x_c before a round."""
    return w.of_round("z", at, "x_c^{{t}}", Sort.NONNEGATIVE)


DOWN = tuple(
    w.every_natural(t, one)
    for one in (
        w.at_most(z(t) - eta(), z(t + 1)),
        w.at_most(eta(), SLOWEST).called("the learning rate of Theorem 3.6"),
    )
)
STARTS = w.at_most(FAR, z(w.number(0)))


def far_away() -> rules.Theorem:
    """Return that x_c is at least 512 - T/128 after T rounds."""

    def claim(at: Number) -> Ratio:
        return (z(at) + SLOWEST * at - FAR).value

    v = w.variable(t)
    moved = rules.assume(k.constant((z(t + 1) - z(t) + eta()).value))
    small = rules.assume(k.constant(SLOWEST - eta().value))
    before = rules.assume(k.constant(claim(t)))
    step = combine(moved, small, before, target=k.constant(claim(t + 1)))
    base = rules.assume(k.constant(claim(w.number(0))))
    every = rules.induct(base, step, v, k.constant(claim(t)))
    return rules.instantiate(every, ((v, s.T.value),), ())


x = w.nonnegative("here", "x_s")


def apart() -> rules.Theorem:
    """Return that the gap is at least 49/450 where x_s is at most 1/3.

    ``(4/5-x)^2 - (7/15)^2 = (1/3-x)^2 + (14/15) (1/3-x)``.
    """
    away = THIRD - x.value
    known = rules.assume(k.constant(away))
    target = k.constant((BEST - x.value) ** 2 / 2 - LEFT)
    return combine((known, Fraction(7, 15)), (rules.square(away), HALF), target=target)


# The printed bounds in numbers --------------------------------------------------------


@dataclass(frozen=True)
class Instance:
    """A printed bound in an instance's numbers; S = 1, no noise, q = 1.

    Attributes:
        number: the theorem.
        T: of rounds.
        G2: what bounds squared gradients.
        I_err: the squared distance at first.
        weights: of the clients.
        roots: at least the square and the cube root.
        most: at least the bound.
        period: tau_server, for tau = 1.
    """

    number: str
    T: int
    G2: int
    I_err: Fraction
    weights: tuple[Fraction, ...]
    roots: tuple[Fraction, Fraction]
    most: Fraction
    period: int = 1

    @property
    def data(self) -> printed.Data:
        """The numbers of the bound."""
        one, steps = w.number(1), w.number(self.period)
        return printed.Data(
            S=one,
            T=w.number(self.T),
            G2=w.number(self.G2),
            I_err=w.as_form(self.I_err),
            sigma2=lambda _: w.number(0),
            inverse_q=lambda _: one,
            tau=one,
            tau_server=steps,
            tau_min=one,
        )

    def under_root(self, index: int) -> Part:
        """Return that a root of the bound is at most its number."""
        count, least = len(self.weights), sum(a**2 for a in self.weights)
        root = printed.bound(self.number, "general_convex", self.data).roots[index]
        shares = w.over_clients(n, s.a() ** 2)
        rests = count - N, least - shares
        right = w.number(self.roots[index] ** root.degree)
        statement = says(
            root.radicand,
            right,
            w.at_most(N, count).called("the clients"),
            w.at_most(shares, least).called("their weights"),
        )

        def theorem() -> rules.Theorem:
            v1 = not printed.shared(self.number)
            scale = self.I_err * self.G2 / (self.T + 1)
            scale *= (1 + self.period**2) if v1 else 1
            scale *= 24 if index else 1 + printed.partial(self.number)
            factors = ((N + count + shares, w.number(2)), (w.number(1), w.number(0)))
            if v1:
                factors = ((shares, w.number(1)), (w.number(0), w.number(0)))
            few, flat = (
                (rules.assume(k.constant(rest.value)), (scale * one).value)
                for rest, one in zip(rests, factors[index], strict=True)
            )
            return combine(few, flat, target=(right - root.radicand).value)

        reading = f"{self.place}: what the root of degree {root.degree} is of"
        model = partial(bare, count, {}, weights=self.weights)
        return proved(statement, theorem, reading=reading, model=model)

    @property
    def place(self) -> str:
        """The equation and T."""
        return f"Theorem {self.number}, T = {self.T}"

    def parts(self, words: str) -> tuple[Part, ...]:
        """Return that the roots, then the bound, are at most their numbers."""
        right = printed.general_convex(
            self.number, self.data, *map(w.number, self.roots)
        ).right
        statement = says(right, self.most)
        target = (statement.right - statement.left).value
        reading = f"{self.place}: the bound with these numbers for its roots"
        whole = proved(statement, partial(combine, target=target), words, reading)
        return self.under_root(0), self.under_root(1), whole


TWO = (Fraction(9, 10), Fraction(1, 10))
V2 = (
    Instance(
        "3.7",
        27_000,
        4,
        BEST**2,
        TWO,
        (Fraction(3, 125), Fraction(19, 100)),
        Fraction(1071, 10_000),
    ),
    Instance(
        "3.9",
        40_000,
        4,
        BEST**2,
        TWO,
        (Fraction(7, 250), Fraction(167, 1000)),
        Fraction(976, 10_000),
    ),
)
ONE = (Fraction(1),)
V1 = tuple(
    Instance(
        number, ROUNDS, 2, Fraction(FAR**2), ONE, (root, Fraction(147)), most, PERIOD
    )
    for number, root, most in (
        ("3.6", Fraction(363), Fraction(263)),
        ("3.8", Fraction(513), Fraction(339)),
    )
)

UNWEIGHTED = entry(
    "rate/general_convex/no-schedule",
    "Theorem 3.7, (15), and 3.9, (21), read as 'for some learning rates'",
    "(entry of the audit) For unequal weights no admitted schedule, constant or not, "
    "takes SFL-V2 below (15) from T = 27 000 on, nor below (21) from T = 40 000 on: "
    "the gap of an instance stays >= 49/450.",
    (
        proved(
            says(y(s.T), THIRD, BEGINS, *EVERY),
            stays,
            r"$\frac13-(1-\eta)^2x-\eta^2=(1-\eta)^2(\frac13-x)+\frac43\eta"
            r"(\frac12-\eta)$, by induction.",
            "x_s^t of the instance: client 2, of weight 1/10 and minimiser -1, is "
            "visited before client 1, whose minimiser is 1; 1/(2 S tau) = 1/2. The "
            "recursion is read off Algorithm 2; no run is coupled with it here",
            model=lambda: federation(
                [tilt(0)],
                (0,),
                numbers={s.T: 1},
                rates={"eta": HALF},
                sequences={"y": 0},
            ),
        ),
        proved(
            says(LEFT, (BEST - x) ** 2 / 2, w.at_most(x, THIRD)),
            apart,
            reading="the gap of f, with its minimum at x_s = 9/10 - 1/10",
            model=lambda: bare(1, {x: 0}),
        ),
        *(
            part
            for one in V2
            for part in one.parts(
                r"Less than $\frac{49}{450}=0.1088...$; it falls with T."
            )
        ),
    ),
    "thm-3.7/general_convex thm-3.9/general_convex",
    scope="for a = (9/10, 1/10), S = 1, one local step, Huber functions of kink 2, "
    "G^2 = 4 on the whole space, q = 1; the theorems' entries decide the reading 'for "
    "every admitted rate'",
)

UNEQUAL = entry(
    "rate/general_convex/no-schedule/periods",
    "Theorem 3.6, (12), and 3.8, (18), read as 'for some learning rates'",
    "(entry of the audit) For tau_server = 64 tau no admitted schedule, constant or "
    "not, takes SFL-V1 below (12) or (18) at T = 16 384: x_c cannot come near x_c* at "
    "rates up to 1/(2 S tau_max), and the gap of an instance is 383.5 or more.",
    (
        proved(
            says(FAR - s.T * SLOWEST - HALF, z(s.T) - HALF, STARTS, *DOWN),
            far_away,
            r"$x_c^{t+1}\ge x_c^t-\eta^t$ and $\eta^t\le\frac1{128}$, summed.",
            "x_c^t of the instance, one client step a round with a slope of at most 1; "
            "the gap is x_c - 1/2 where x_c >= 1, 512 - 128 - 1/2 at T = 16384. The "
            "recursion is read off App. C.2; no run is coupled with it here",
            model=lambda: federation(
                [tilt(0)],
                (0,),
                numbers={s.T: 1},
                rates={"eta": SLOWEST},
                sequences={"z": FAR},
            ),
        ),
        *(part for one in V1 for part in one.parts("Less than 383.5.")),
    ),
    "thm-3.6/general_convex thm-3.8/general_convex",
    scope="for tau = 1, tau_server = 64 in App. C.2's clock, S = 1, G^2 = 2 on the "
    "whole space, no noise, q = 1; for equal periods the reading is open",
)

CLAIMS = (UNWEIGHTED, UNEQUAL)
