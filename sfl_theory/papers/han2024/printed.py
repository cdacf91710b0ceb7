r"""What is printed: the formulas of the theorems, and runs that refute them.

One builder per case serves the four theorems: SFL-V2 has :math:`a_n^2+1` and
:math:`a_n+1` where SFL-V1 has :math:`a_n^2` and :math:`a_n`; partial participation adds
:math:`G^2/q_n` (convex) or divides by :math:`q_n` (non-convex). What a bound is made of
is a `Data`, so the same builder gives it for equal clients, at q = 1, for T + 1, ...

Numbers have no roots. A `Root` is a parameter c with a condition: ``above``, for the
larger side of an inequality, is :math:`c^k\ge` the radicand, ``below`` the contrary. A
statement for every such c is the statement for the root, because the bound grows with
c. Larger sides want a positive parameter.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import reduce

from sfl_theory.kernel.terms import Client
from sfl_theory.models.federated import FederatedRun, Rate
from sfl_theory.models.functions import Piece, Separable
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Form, Number
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.papers.han2024.setting import tau_max as tau_max
from sfl_theory.papers.han2024.setting import tau_min as tau_min

OfClient = Callable[[Client], Number]
NUMBERS = ("3.6", "3.7", "3.8", "3.9")
CASES = ("strongly_convex", "general_convex", "non_convex")
I_err = w.nonnegative("I_err", "I_{err}")
F_err = w.nonnegative("F_err", "F_{err}")
DISTANCE, GAP = w.as_form(I_err), w.as_form(F_err)
SQUARES = w.below(s.t, s.T, s.eta() ** 2)


@dataclass(frozen=True)
class Data:
    r"""What a bound is a function of; `squares` is :math:`\sum_{t<T}(\eta^t)^2`."""

    T: Number = s.T
    S: Number = s.S
    mu: Number = s.mu
    sigma2: OfClient = s.sigma2
    G2: Number = s.G2
    eps2: Number = s.eps2
    a: OfClient = s.a
    inverse_q: OfClient = w.inverse_chance
    tau: Number = s.tau
    tau_server: Number = s.tau_server
    tau_min: Number = tau_min
    tau_max: Number = tau_max
    I_err: Form = DISTANCE
    F_err: Form = GAP
    squares: Number = SQUARES

    @property
    def gamma(self) -> Number:
        r"""The number :math:`\gamma=8S/\mu-1`."""
        return w.called(8 * self.S / self.mu - 1, r"\gamma")


@dataclass(frozen=True)
class Root:
    """A parameter that stands for a root of this degree."""

    value: Number
    degree: int
    radicand: Form

    @property
    def above(self) -> Assumed:
        """That it is at least the root."""
        return w.at_most(self.radicand, self.value**self.degree)

    @property
    def below(self) -> Assumed:
        """That it is at most the root."""
        return w.at_most(self.value**self.degree, self.radicand)


@dataclass(frozen=True)
class Bound:
    """A right side: terms in the paper's order, and what its roots are roots of."""

    terms: tuple[Form, ...]
    roots: tuple[Root, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def named(self) -> dict[str, Form]:
        """The terms by name."""
        return dict(zip(self.names, self.terms, strict=True))

    @property
    def right(self) -> Form:
        """The right side."""
        return reduce(operator.add, self.terms)

    @property
    def above(self) -> tuple[Assumed, ...]:
        """What its roots' parameters meet where it is the larger side."""
        return tuple(root.above for root in self.roots)

    @property
    def below(self) -> tuple[Assumed, ...]:
        """What its roots' parameters meet where it is the smaller side."""
        return tuple(root.below for root in self.roots)


def shared(number: str) -> bool:
    """Return whether a theorem is on SFL-V2, which has one server model."""
    return number in ("3.7", "3.9")


def partial(number: str) -> bool:
    """Return whether a theorem is on partial participation."""
    return number in ("3.8", "3.9")


def _squared(number: str, d: Data) -> Number:
    r"""Return :math:`a_n^2` or, for SFL-V2, :math:`a_n^2+1`."""
    own = d.a(n) ** 2
    return own + 1 if shared(number) else own


def noise(number: str, d: Data) -> Number:
    r"""Return :math:`A=\sum_na_n^2(2\sigma_n^2+G^2)` of (11), or its relatives."""
    each = 2 * d.sigma2(n) + d.G2
    if partial(number):
        each = each + d.G2 * d.inverse_q(n)
    return w.over_clients(n, _squared(number, d) * each)


def drift(number: str, d: Data) -> Number:
    r"""Return :math:`B=\sum_na_n(2\sigma_n^2+G^2)` of (11), or of SFL-V2."""
    own = d.a(n) + 1 if shared(number) else d.a(n)
    return w.over_clients(n, own * (2 * d.sigma2(n) + d.G2))


def _bound(terms: dict[str, Form | Number], *roots: Root) -> Bound:
    return Bound(tuple(map(w.as_form, terms.values())), roots, tuple(terms))


def strongly_convex(number: str, d: Data) -> Bound:
    """Return (11), (14), (17) or (20)."""
    S, mu, late = d.S, d.mu, d.gamma + d.T
    far = 768 * S**2 * drift(number, d) / (mu**3 * late * (d.gamma + 1))
    return _bound({
        "gradient noise": 8 * S * N * noise(number, d) / (mu**2 * late),
        "client drift": far,
        "initial distance": S * (d.gamma + 1) * d.I_err / (2 * late),
    })


def general_convex(number: str, d: Data, square: Number, cube: Number) -> Bound:
    """Return (12), (15), (18) or (21); the two roots are called so."""
    paces, late = d.tau_server**2 + d.tau**2, d.T + 1
    if shared(number):
        second, third = N * d.I_err / late, 24 * d.S * d.I_err / late
    else:
        late = d.tau_min**2 * late
        second, third = paces * d.I_err * N / late, 24 * paces * d.S * d.I_err / late
    return _bound(
        {
            "initial distance": d.S * d.I_err / (2 * (d.T + 1)),
            "gradient noise": square / 2,
            "client drift": cube / 2,
        },
        Root(square, 2, second * noise(number, d)),
        Root(cube, 3, third * drift(number, d)),
    )


def non_convex(number: str, d: Data) -> Bound:
    """Return (13), (16), (19) or (22)."""
    each = _squared(number, d)
    if partial(number):
        each = each * d.inverse_q(n)
    apart = w.over_clients(n, each * (d.sigma2(n) + d.eps2))
    if shared(number):
        period, factor = d.tau, 8 * N * d.S * d.tau / d.T
    else:
        period = d.tau_min
        factor = 8 * N * d.S * (d.tau**2 + d.tau_server**2) / (d.T * period)
    return _bound({
        "initial gap": 4 / (d.T * period) * d.F_err,
        "noise and heterogeneity": factor * apart * d.squares,
    })


def bound(number: str, case: str, d: Data, root: str = "c") -> Bound:
    """Return the right side of a theorem's case; its roots are called `root` 2 and 3.

    Raises:
        ValueError: there is no such case.
    """
    if case == "general_convex":
        c2, c3 = (w.positive(f"{root}{k}", f"{root}_{k}") for k in (2, 3))
        return general_convex(number, d, c2, c3)
    if case not in CASES:
        raise ValueError(f"no case {case}")
    return (strongly_convex if case == "strongly_convex" else non_convex)(number, d)


def conditions(
    number: str, case: str, d: Data, rate: Number
) -> tuple[tuple[Number, Number], ...]:
    r"""Return the printed conditions ``left <= right`` on a learning rate.

    They are cleared of denominators, for :math:`\sum_na_n^2` may vanish as far as sorts
    go: :math:`8SN\tau_{max}^2\sum_na_n^2\,\eta\le\tau_{min}` is written for
    :math:`\eta\le\tau_{min}/(8SN\tau_{max}^2\sum_na_n^2)`.

    Raises:
        ValueError: the strongly convex rates are equations.
    """
    period, one = d.tau if shared(number) else d.tau_max, w.number(1)
    if case == "general_convex":
        return ((2 * d.S * period * rate, one),)
    if case != "non_convex":
        raise ValueError("the strongly convex rates are equations")
    each = d.a(n) ** 2 * d.inverse_q(n) if partial(number) else d.a(n) ** 2
    weights = w.over_clients(n, each)
    if number == "3.7":
        second = (8 * d.S * N**2 * period * rate, one)
    elif number == "3.9":
        second = (8 * d.S * N**2 * period * weights * rate, one)
    else:
        second = (8 * d.S * N * period**2 * weights * rate, d.tau_min)
    return (16 * d.S * period * rate, one), second


def admitted(number: str, case: str, d: Data, rate: Number) -> tuple[Assumed, ...]:
    """Return that a learning rate meets the printed conditions."""
    return tuple(w.at_most(*one) for one in conditions(number, case, d, rate))


# Runs that break the theorems: the same data for the kernel, pictures and trainer ----

ZERO, HALF, ONE = Fraction(0), Fraction(1, 2), Fraction(1)
BOWL = Separable((Piece(), Piece()))
APART = (BOWL, Separable((Piece(), Piece(centre=ONE))))
HUBER = Piece(kink=ONE)
NEARLY_ONE = (Fraction(19, 20), Fraction(1, 20))


def swapped(number: str, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return one client whose server makes 1 step a round at :math:`\tau=32`.

    :math:`F=\|x\|^2/2`, :math:`x^0=(0,1)`: the server contracts by
    :math:`1-\frac4{32(7+t)}` a round, :math:`x_s^T` falls like :math:`T^{-1/8}`.
    """
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="strongly_convex",
        algorithm="sfl-v1",
        clients=(BOWL,),
        weights=(ONE,),
        participation=(q,),
        start=(ZERO, ONE),
        rounds=rounds,
        client_rate=Rate(Fraction(4), Fraction(7), ONE),
        server_rate=Rate(Fraction(4), Fraction(7 * 32), Fraction(32)),
        tau=32,
    )


def unweighted(number: str, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return two clients with :math:`F_n=(x_c^2+(x_s-b_n)^2)/2`, b = (0, 1).

    The server's mean tends to 1/2, the minimiser of :math:`F_1+F_2`; f has its own at
    :math:`a_2=1/20`.
    """
    rate = Rate(Fraction(4), Fraction(7), ONE)
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="strongly_convex",
        algorithm="sfl-v2",
        clients=APART,
        weights=NEARLY_ONE,
        participation=(q, q),
        start=(ZERO, HALF),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
    )


def slow(number: str, rounds: int = 250) -> FederatedRun:
    r"""Return one Huber function per block, from :math:`x_s=1` at a tiny rate."""
    rate = Rate(Fraction(1, 10**6))
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="general_convex",
        algorithm="sfl-v2" if shared(number) else "sfl-v1",
        clients=(Separable((HUBER, HUBER)),),
        weights=(ONE,),
        start=(ZERO, ONE),
        rounds=rounds,
        client_rate=rate,
        server_rate=rate,
        rule="constant",
    )


def at_best(number: str) -> FederatedRun:
    """Return the same client with noise, started at the minimiser, for one round."""
    rate = Rate(HALF)
    noisy = Separable((HUBER, HUBER), (ZERO, ONE))
    start = (ZERO, ZERO)
    one = slow(number, 1)
    return replace(
        one, clients=(noisy,), start=start, client_rate=rate, server_rate=rate
    )


def stuck(number: str, rate: Fraction, rounds: int, q: Fraction = ONE) -> FederatedRun:
    r"""Return the two clients with weights (3/4, 1/4), started at the minimiser of f.

    The server leaves it for 1/2, the minimiser of :math:`F_1+F_2`, where
    :math:`\|\nabla f\|^2=1/16`.
    """
    return FederatedRun(
        theorem=f"han2024/thm-{number}",
        case="non_convex",
        algorithm="sfl-v2",
        clients=APART,
        weights=(Fraction(3, 4), Fraction(1, 4)),
        participation=(q, q),
        start=(ZERO, Fraction(1, 4)),
        rounds=rounds,
        client_rate=Rate(rate),
        server_rate=Rate(rate),
        rule="constant",
    )
