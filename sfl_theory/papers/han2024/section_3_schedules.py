r"""General convex, read as "for some schedule": what no schedule of SFL-V2 reaches.

Two clients with weights 9/10 and 1/10, :math:`F_n=\frac12(x_c^2+(x_s-b_n)^2)`, b = (1,
-1), one local step, from 0: f has its minimum at :math:`x_s=\frac45`. Client 2 is
visited first, so a round makes :math:`(1-\eta)^2x_s+\eta^2` of :math:`x_s`.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory import written as w
from sfl_theory.claims import Part, proved, says
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio, Sort
from sfl_theory.models.federation import bare, federation, tilt
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import entry
from sfl_theory.papers.han2024.printed import Data, bound
from sfl_theory.papers.han2024.setting import N, eta, n, t
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine
from sfl_theory.written import Number

THIRD, BEST = Fraction(1, 3), Fraction(4, 5)
LEFT = Fraction(49, 450)
"""Half the square of 4/5 - 1/3."""
ROOTS = (Fraction(3, 125), Fraction(19, 100))
"""At least the square and the cube root of (15)."""
DATA = Data(
    S=w.number(1),
    T=w.number(27_000),
    G2=w.number(4),
    I_err=w.as_form(Fraction(16, 25)),
    sigma2=lambda _: w.number(0),
)
TWO = (
    w.at_most(N, 2).called("two clients"),
    w.at_most(w.over_clients(n, s.a() ** 2), Fraction(41, 50)).called("their weights"),
)


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


x = w.nonnegative("here", "x_s")


def apart() -> rules.Theorem:
    """Return that the gap is at least 49/450 where x_s is at most 1/3.

    ``(4/5-x)^2 - (7/15)^2 = (1/3-x)^2 + (14/15) (1/3-x)``.
    """
    away = THIRD - x.value
    known = rules.assume(k.constant(away))
    target = k.constant((BEST - x.value) ** 2 / 2 - LEFT)
    return combine((known, Fraction(7, 15)), (rules.square(away), HALF), target=target)


def under_root(index: int) -> Part:
    """Return that a root of (15) is at most its number."""
    root = bound("3.7", "general_convex", DATA).roots[index]
    statement = says(root.radicand, ROOTS[index] ** root.degree, *TWO)

    def theorem() -> rules.Theorem:
        few, flat = (
            rules.assume(k.constant(rest.value))
            for rest in (2 - N, Fraction(41, 50) - w.over_clients(n, s.a() ** 2))
        )
        target = (statement.right - statement.left).value
        factor = 4 * Fraction(16, 25) / 27_001
        if index:
            return combine((few, 24 * factor), target=target)
        shares = w.over_clients(n, s.a() ** 2).value
        uses = [
            (few, (N.value + 2 + shares) * factor),
            (flat, w.number(2 * factor).value),
        ]
        return combine(*uses, target=target)

    reading = f"what the root of degree {root.degree} in (15) is of, T = 27000, G^2 = 4"
    return proved(statement, theorem, reading=reading, model=weighted)


def weighted() -> ModelData:
    """Return the two clients' weights."""
    return bare(2, {}, weights=(Fraction(9, 10), Fraction(1, 10)))


def whole() -> Part:
    """Return that (15) is less than the gap that stays."""
    square, cube = map(w.number, ROOTS)
    right = printed.general_convex("3.7", DATA, square, cube).right
    statement = says(right, Fraction(107, 1000) + Fraction(1, 10_000))
    target = (statement.right - statement.left).value
    return proved(
        statement,
        partial(combine, target=target),
        r"$0.1071<\frac{49}{450}=0.1088...$",
        "(15) with these numbers for its roots; it falls with T",
    )


NOBODY = entry(
    "rate/general_convex/no-schedule",
    "Theorem 3.7, (15), read as 'for some learning rates'",
    "(entry of the audit) For unequal weights no admitted schedule, constant or not, "
    "takes SFL-V2 below (15) from T = 27 000 on: the gap of an instance stays >= "
    "49/450.",
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
        under_root(0),
        under_root(1),
        whole(),
    ),
    "thm-3.7/general_convex",
    scope="for a = (9/10, 1/10), S = 1, one local step, G^2 = 4 on -1 <= x_s <= 1, "
    "where the run stays; the theorem's entry decides the reading 'for every admitted "
    "rate'",
)

CLAIMS = (NOBODY,)
