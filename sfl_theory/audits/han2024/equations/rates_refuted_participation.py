r"""Break (171): who takes part moves SFL-V2's server, and with it others' gradients.

K movers and M watchers, $\tau=1$, $x=(c,s)$, no noise, general convex. With the slope
$[u]=\min\{1,\max\{-1,u\}\}$ of a Huber function

$$\nabla F_{mover}=\bigl(0,\;26[\tfrac{s-10000}{26}]\bigr),\qquad
\nabla F_{watcher}=[v]\,(24,5)+\bigl(0,\;5[\tfrac{s+3010}{3010}]\bigr),\qquad
v=\tfrac{24c+5s}{602}-1,$$

and $x^t=0$. Movers are hardly ever present (small q, smaller weight), watchers always.
Without movers a watcher's gradient is (-24, 0), and the server stays at s = 0. When
all take part each mover lifts s by 13 until the watchers' gradient in c has turned to
24. So $\bar x_c-x_c$ is nearly always $\eta\cdot48$ and not small as $q\to1$ for those
who count: the right side, $N\eta^2G^2\sum_na_n^2/q_n\approx2\eta^2\cdot26^2$, knows
only the watchers' $q_n=1$.
"""

from __future__ import annotations

from fractions import Fraction
from math import comb

from sfl_theory.evidence.instance import Check, Finding, at_most, equal
from sfl_theory.evidence.interval import Interval

ETA = Fraction(1, 2)
CLIENT, SERVER, PUSH = 24, 5, 26
WIDTH = 602
"""D: $[v]$ has the slope 1/D along (24, 5); $24^2+5^2=601$."""
FAR = 3010
"""Width of the watchers' second Huber function, $5/3010=1/602$."""
MOVED = 10000
"""Where the movers' function has its minimiser."""


def mean_turn(movers: int, watchers: int) -> Fraction:
    r"""Return a lower bound of $\mathbb E([v]+1)$ at a watcher's visit, all present.

    The order is uniform. With j movers and i watchers before it the server has been
    lifted by $13j$ and lowered by at most $\frac12\cdot5\cdot2$ per watcher, so
    $v\ge-1+\frac{65j-25i}{602}$, and $v\ge-1$ for the pull ends there: $[v]+1\ge
    \min\{2,\max\{0,\frac{65j-25i}{602}\}\}$. (i, j) has the probability
    $\frac1{K+M}\binom Kj\binom{M-1}i/\binom{K+M-1}{i+j}$.

    Args:
        movers: K.
        watchers: M.

    Returns:
        The bound.
    """
    push, pull = SERVER * ETA * PUSH / WIDTH, SERVER * ETA * 2 * SERVER / WIDTH
    total, others = Fraction(0), movers + watchers - 1
    for before in range(others + 1):
        found = Fraction(0)
        for j in range(max(0, before - watchers + 1), min(movers, before) + 1):
            i = before - j
            turn = min(Fraction(2), max(Fraction(0), push * j - pull * i))
            found += comb(movers, j) * comb(watchers - 1, i) * turn
        total += found / comb(others, before)
    return total / (others + 1)


def turned_gradients(movers: int, q: Fraction, weight: Fraction) -> Finding:
    r"""Break (171) with as many watchers as movers.

    The movers' gradients have no client part, so $\bar x_c-x_c=-\eta\,a\sum24([\bar v]
    -[v])$ over watchers. No mover is there with probability $(1-q)^K$; then $[v]=-1$
    and by Jensen $\mathbb E\|\bar x_c-x_c\|^2\ge(\eta\,aM\cdot24\,\mathbb
    E([\bar v]+1))^2$.

    Args:
        movers: K = M.
        q: that a mover takes part.
        weight: of a mover.

    Returns:
        Both sides.
    """
    watchers, clients = movers, 2 * movers
    share = 1 - movers * weight
    absent = (1 - q) ** movers
    G2 = Fraction(CLIENT**2 + (2 * SERVER) ** 2)
    low = absent * (ETA * share * CLIENT * mean_turn(movers, watchers)) ** 2
    high = (ETA * share * CLIENT * 2) ** 2
    squares = movers * weight**2 / q + share**2 / watchers
    highest = movers * ETA * PUSH
    return Finding(
        f"N = {clients}, tau = 1, eta = 1/2, x^t = 0; {movers} movers, a_n = {weight}, "
        f"q_n = {q}, gradient (0, 26 [(s-{MOVED})/26]); {watchers} watchers, a_n = "
        f"{share / watchers}, q_n = 1, gradient [(24c+5s)/602-1] (24, 5) + (0, 5 "
        "[(s+3010)/3010]); [u] = u cut off at -1 and 1; uniform order",
        (
            equal(
                "weights: sum of a_n is 1",
                movers * weight + watchers * (share / watchers),
                1,
            ),
            Check("weights: a_n > 0", weight > 0 and share > 0, f"{weight}, {share}"),
            Check("participation: 0 < q_n <= 1", 0 < q <= 1, f"{q}, 1"),
            at_most(
                "3.1: curvature of a watcher's function, both parts together",
                Fraction(CLIENT**2 + SERVER**2, WIDTH) + Fraction(SERVER, FAR),
                1,
            ),
            equal("3.1: curvature of a mover's function", Fraction(PUSH, PUSH), 1),
            at_most("3.2: noise 0", 0, 0),
            at_most("3.3 everywhere: watchers, 24^2 + (5+5)^2", G2, G2),
            at_most("3.3 everywhere: movers, 26^2", PUSH**2, G2),
            equal("C.2: Huber functions of linear forms are convex, mu", 0, 0),
            Check(
                "a minimiser exists: f grows with |24c+5s| and with |s|",
                CLIENT > 0 and SERVER > 0 and share > 0,
                "watchers have positive weight",
            ),
            at_most("eta <= 1/(2 S tau), S = 1", ETA, Fraction(1, 2)),
            equal("s = 0: second slope of a watcher", Fraction(FAR, FAR), 1),
            at_most(
                f"movers at the slope -26: s <= 13 K against {MOVED} - 26",
                highest,
                MOVED - PUSH,
            ),
        ),
        Interval(low, high),
        Interval.of(clients * ETA**2 * G2 * squares),
        "one round",
    )
