"""What the parameters of han2024's statements are called in the library."""

from __future__ import annotations

from sfl_theory import symbols
from sfl_theory import written as w
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.symbolic import named
from sfl_theory.symbols import G, N, S, T, a, eta, gamma, mu, n, q, t, tau

GAMMA = {gamma: 8 * S / mu - 1}
PARAMETERS = named({
    s.S: S,
    s.mu: mu,
    s.N: N,
    s.T: T,
    s.tau: tau,
    s.tau_server: symbols.tau_server,
    s.G2: G**2,
    s.eps2: symbols.epsilon**2,
    s.sigma2(): symbols.sigma[n] ** 2,
    s.a(): a[n],
    w.inverse_chance(s.n): 1 / q[n],
    s.eta(): eta(t),
})
"""Parameters of the statements -> what they are called here."""
