r"""The symbols of the papers, and the one table that maps them to names.

Formulas are written in the symbols of ``han2024``; ``NOTATION`` says what the same
thing is called in the other two papers and under which name a program finds it.
"""

from __future__ import annotations

from typing import NamedTuple

import sympy as sp

S = sp.Symbol("S", positive=True)
mu = sp.Symbol("mu", positive=True)
N = sp.Symbol("N", positive=True, integer=True)
tau = sp.Symbol("tau", positive=True, integer=True)
tau_server = sp.Symbol("tau_server", positive=True, integer=True)
tau_min = sp.Symbol("tau_min", positive=True, integer=True)
tau_max = sp.Symbol("tau_max", positive=True, integer=True)
T = sp.Symbol("T", positive=True, integer=True)
t = sp.Symbol("t", nonnegative=True, integer=True)
n = sp.Symbol("n", positive=True, integer=True)
gamma = sp.Symbol("gamma", positive=True)
z = sp.Symbol("z", positive=True)
G = sp.Symbol("G", positive=True)
epsilon = sp.Symbol("epsilon", positive=True)
I_err = sp.Symbol("I_err", positive=True)
F_err = sp.Symbol("F_err", positive=True)
R = sp.Symbol("R", positive=True)
Gamma = sp.Symbol("Gamma", positive=True)
I_c = sp.Symbol("I_c", positive=True)
I_s = sp.Symbol("I_s", positive=True)
D_c = sp.Symbol("D_c", positive=True)
D_s = sp.Symbol("D_s", positive=True)
sigma_star = sp.Symbol("sigma_star", positive=True)
epsilon_star = sp.Symbol("epsilon_star", positive=True)

a = sp.IndexedBase("a", positive=True)
sigma = sp.IndexedBase("sigma", positive=True)
q = sp.IndexedBase("q", positive=True)


class eta(sp.Function):  # type: ignore[misc]  # noqa: N801
    r"""The learning rate $\eta^t$ as a function of the round."""

    is_positive = True

    def _latex(
        self, printer: sp.printing.printer.Printer, exp: str | None = None
    ) -> str:
        power = rf"\eta^{{{printer._print(self.args[0])}}}"
        return power if exp is None else rf"\left({power}\right)^{{{exp}}}"

    def _pretty(
        self, printer: sp.printing.printer.Printer
    ) -> sp.printing.pretty.stringpict.prettyForm:
        return printer._print(sp.Symbol(f"eta_{self.args[0]}"))


class reciprocals(sp.Function):  # type: ignore[misc]  # noqa: N801
    r"""$\sum_{t=0}^{m-1}\frac1{c+dt}$ of c > 0, d > 0 and m, about a logarithm of m."""

    is_nonnegative = True

    def _latex(
        self, printer: sp.printing.printer.Printer, exp: str | None = None
    ) -> str:
        first, step, upper = self.args
        last, below_ = (printer._print(e) for e in (upper - 1, first + step * t))
        total = rf"\sum_{{t=0}}^{{{last}}} \frac{{1}}{{{below_}}}"
        return total if exp is None else rf"\left({total}\right)^{{{exp}}}"

    def _pretty(
        self, printer: sp.printing.printer.Printer
    ) -> sp.printing.pretty.stringpict.prettyForm:
        first, step, upper = self.args
        return printer._print(sp.Sum(1 / (first + step * t), (t, 0, upper - 1)))


_LATEX = {
    tau_server: r"\tilde{\tau}",
    tau_min: r"\tau_{\min}",
    tau_max: r"\tau_{\max}",
    sigma_star: r"\sigma_*",
    epsilon_star: r"\epsilon_*",
}


def latex(expr: sp.Expr) -> str:
    """Return LaTeX in the papers' spelling of the symbols."""
    return str(sp.latex(expr, symbol_names=_LATEX))


def over_clients(summand: sp.Expr) -> sp.Expr:
    r"""Return $\sum_{n=1}^N$ of the summand."""
    return sp.Sum(summand, (n, 1, N))


def over_rounds(summand: sp.Expr) -> sp.Expr:
    r"""Return $\sum_{t=0}^{T-1}$ of the summand."""
    return sp.Sum(summand, (t, 0, T - 1))


class Notation(NamedTuple):
    """One row of the table of symbols.

    Attributes:
        symbol: as in formulas here (``han2024``).
        huang2023: the same thing there.
        dachille2024: the same thing there.
        name: key in ``Constants`` (or what the program calls it).
        power: the constant is this power of the symbol (sigma2 is sigma squared).
    """

    symbol: sp.Symbol
    huang2023: str
    dachille2024: str
    name: str
    power: int = 1


NOTATION = (
    Notation(S, "S (and L)", "S", "S"),
    Notation(mu, "mu", "-", "mu"),
    Notation(sigma, "sigma_n", "sigma_k", "sigma2", 2),
    Notation(G, "R", "-", "G2", 2),
    Notation(epsilon, "delta", "epsilon", "eps2", 2),
    Notation(a, "p_n", "alpha_k", "weights"),
    Notation(q, "-", "-", "participation"),
    Notation(tau, "E M", "tau", "tau"),
    Notation(tau_server, "-", "-", "tau_server"),
    Notation(I_err, "||w^0 - w^*||^2", "-", "initial_distance2"),
    Notation(F_err, "-", "f(theta(0)) - f(theta^*)", "initial_gap"),
    Notation(Gamma, "Gamma", "-", "Gamma"),
    Notation(R, "R", "-", "R2", 2),
    Notation(I_c, "||w_c^0 - w_c^*||^2", "-", "initial_distance2_client"),
    Notation(I_s, "||w_s^0 - w_s^*||^2", "-", "initial_distance2_server"),
    Notation(D_c, "E||w_c^T - w_c^*||^2", "-", "distance2_client"),
    Notation(D_s, "E||w_s^T - w_s^*||^2", "-", "distance2_server"),
    Notation(sigma_star, "-", "-", "sigma_star2", 2),
    Notation(epsilon_star, "-", "-", "eps_star2", 2),
)
