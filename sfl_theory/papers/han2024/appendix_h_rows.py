r"""The rows of Tables 1-3 of App. H as printed, as written numbers.

:math:`\sigma_n=\sigma`, :math:`Q=\sum_n1/q_n`. ``decay`` stands for
:math:`e^{-\mu T/S}`. Roots are parameters, as in `printed`.
"""

from __future__ import annotations

from sfl_theory import written as w
from sfl_theory.papers.han2024.printed import Bound, Data, Root, partial, shared
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.written import Form, Number, Written

decay = w.nonnegative("decay", r"e^{-\mu T/S}")
Gamma = w.nonnegative("Gamma", r"\Gamma")
star_noise = w.nonnegative("star_noise", r"\sigma_*^2")
star_apart = w.nonnegative("star_apart", r"\epsilon_*^2")


def Q(d: Data) -> Number:
    r"""Return :math:`Q=\sum_n1/q_n`."""
    return Written(w.over_clients(n, d.inverse_q(n)).value, "Q")


def _power(number: str) -> Number:
    return N**2 if shared(number) else N


def _noise(number: str, d: Data) -> Number:
    gradients = d.G2 * (1 + Q(d)) if partial(number) else d.G2
    return _power(number) * (d.sigma2(n) + gradients)


def strongly_convex(number: str, d: Data) -> Bound:
    """Return the strongly convex row of a theorem."""
    inside = w.as_form(_noise(number, d)) + d.mu * d.S * d.I_err
    return Bound((d.S / (d.mu * (d.S + d.mu * d.T)) * inside,))


def _radicands(number: str, d: Data) -> tuple[Number, Number]:
    drift = _power(number) * (d.sigma2(n) + d.G2)
    return _noise(number, d) / d.T, drift / d.T


def general_convex(number: str, d: Data, square: Number, cube: Number) -> Bound:
    """Return the general convex row of a theorem."""
    second, third = map(w.as_form, _radicands(number, d))
    return Bound(
        (w.as_form(square), w.as_form(cube), d.S / d.T * d.I_err),
        (Root(square, 2, second), Root(cube, 3, third)),
    )


def non_convex(number: str, d: Data) -> Bound:
    """Return the non-convex row of a theorem."""
    top = _power(number) * d.S * (d.sigma2(n) + d.eps2)
    top = top * Q(d) if partial(number) else top
    return Bound((w.as_form(top / d.T), d.F_err / d.T))


def rate(number: str, d: Data) -> Form:
    """Return what the strongly convex row is without the factors N that it gives away.

    For equal weights: no N for SFL-V1, Q/N for Q, N Q for N^2 Q.
    """
    noise, gradients = d.sigma2(n) + d.G2, d.G2 * Q(d)
    noise = N**2 * noise if shared(number) else noise
    if partial(number):
        noise = noise + (N * gradients if shared(number) else gradients / N)
    inside = w.as_form(noise) + d.mu * d.S * d.I_err
    return d.S / (d.mu * (d.S + d.mu * d.T)) * inside


def scaled(number: str, d: Data, square: Number, cube: Number) -> Bound:
    """Return the general convex row with I_err, and S, kept under its roots."""
    second, third = _radicands(number, d)
    return Bound(
        general_convex(number, d, square, cube).terms,
        (
            Root(square, 2, d.I_err * second),
            Root(cube, 3, d.S * d.I_err * third),
        ),
    )


def with_rates(number: str, d: Data) -> Form:
    """Return the non-convex row with the learning rates and tau kept."""
    top = _power(number) * d.S * d.tau * (d.sigma2(n) + d.eps2)
    top = top * Q(d) if partial(number) else top
    return w.as_form(top / d.T * d.squares) + d.F_err / (d.T * d.tau)


def row(number: str, case: str, d: Data) -> Bound:
    """Return the row of a theorem's case; its roots are c2 and c3."""
    if case == "general_convex":
        c2, c3 = (w.positive(f"c{k}", f"c_{k}") for k in (2, 3))
        return general_convex(number, d, c2, c3)
    return (strongly_convex if case == "strongly_convex" else non_convex)(number, d)


def mini_batch_sgd(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "Mini-Batch SGD [33]"."""
    noise = w.as_form(star_noise / (d.mu * N * d.tau * d.T))
    return noise + d.S * d.F_err / d.mu * decay


def federated_16(d: Data, apart: Number = Gamma) -> Form:
    """Return Table 2's row "FL [16]"."""
    top = d.sigma2(n) + d.S * apart * N + N * d.tau**2 * d.G2
    inside = w.as_form(top / (d.mu * N)) + d.S * d.I_err
    return d.S / (d.mu * d.tau + d.T) * inside


def federated_10(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "FL [10]"."""
    sigma2, square = d.sigma2(n), d.mu**2
    noise = (
        sigma2 / (d.mu * N * d.tau * d.T)
        + d.S * sigma2 / (square * d.tau * d.T**2)
        + d.S * d.eps2 / (square * d.T**2)
    )
    return w.as_form(noise) + d.mu * d.I_err * decay


def split_17(d: Data, decay: Number = decay) -> Form:
    """Return Table 2's row "SL [17]"."""
    sigma2, square = d.sigma2(n), d.mu**2
    noise = (
        sigma2 / (d.mu * N * d.tau * d.T)
        + d.S * sigma2 / (square * N * d.tau * d.T**2)
        + d.S * star_apart / (square * N * d.T**2)
    )
    return w.as_form(noise) + d.mu * d.I_err * decay


def sgd(case: str, d: Data) -> Form:
    """Return Table 3's rows "Distributed SGD [12]"."""
    sigma2 = d.sigma2(n)
    if case == "strongly_convex":
        noise = w.as_form(sigma2 / (d.mu * N * d.T))
        return noise + d.S * d.I_err * decay
    late = sigma2 / (N * d.T**2)
    if case == "general_convex":
        return (late + d.S / d.T) * d.I_err
    return (late + 1 / d.T) * (d.S * d.F_err)
