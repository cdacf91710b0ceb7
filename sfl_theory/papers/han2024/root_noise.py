r"""Theorems 3.6 to 3.9, strongly convex: noise with the root of S/mu in place of S/mu.

By descent alone noise enters the last model's gap as :math:`S\sigma^2/(\mu^2T)`, where
instances reach :math:`\sigma^2/(\mu T)`. Distances have noise of the second order; with
what convexity says of the gradient between both, a root of :math:`S/\mu` is left.
"""

from __future__ import annotations

from fractions import Fraction

from sfl_theory.evidence import Claim, Kind, Says, meeting, proved, says
from sfl_theory.kernel.rules import Theorem
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Number, Run
from sfl_theory.papers.han2024 import printed, unbounded
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.setting import G2, T, a, f, mu, n
from sfl_theory.papers.han2024.strongly_convex_repairs import (
    TAU,
    Algorithm,
    Line,
    after,
    inverse,
    more,
    skew,
    times,
)
from sfl_theory.proofs import noisy_gap
from sfl_theory.proofs.notation import combine

above = w.nonnegative("y", "y")
"""``sqrt(S/mu) - 1``."""
z = w.called(1 + above, "z")
STEEP = printed.Data(S=w.called(mu * z**2, "S"))
S, GAMMA = STEEP.S, STEEP.gamma
RATE = w.rate(lambda at: 4 / (mu * TAU * (GAMMA + at)))


def run(number: str) -> Run:
    """Return the theorem's run at the printed rates."""
    return Algorithm(number).run(lambda _: RATE)


def terms(
    r: Run,
    late: Number,
    gamma: Number,
    far: Number,
    samples: Number = unbounded.s_a2,
    draws: Number | None = None,
) -> w.Terms:
    """Return a right side.

    Args:
        r: the run.
        late: ``gamma + T``.
        gamma: the offset of the rates.
        far: the mean squared way of the local points, over 1/2 of the squared move's.
        samples: what they add to the noise, times tau.
        draws: the same of draws, over G^2.

    Returns:
        Its terms.
    """
    noise = (w.number(Fraction(5, 2)) * z - 1 + 36 * z**3 / late) / (mu * late)
    drift = (z * (17 * z**2 + 5) + 150 * z**5 / late) / (mu * late**2)
    first = w.number(Fraction(3, 2)) * z * (gamma / late) ** 7
    right: dict[str, w.Side] = {
        "initial gap": first * f.gap(r.x(0)),
        "gradient noise": noise * samples / TAU,
    }
    if draws is not None:
        right["participation"] = noise * G2 * draws
    return right | {"client drift": times(drift, far)}


def statement(number: str) -> Says:
    """Return the bound on the last model's gap."""
    r, drawn = run(number), printed.partial(number)
    far, samples, draws = G2, unbounded.s_a2, more if drawn else None
    if number == "3.9":
        far = 2 + 7 * more + 3 * more**2 + 4 * skew
        far = far + w.over_clients(n, a() ** 4 * (inverse - 1) ** 3)
        far = G2 * (far + w.number(Fraction(80, 7)) * more * (2 + more))
        samples, draws = unbounded.drawn, w.number(Fraction(5, 4)) * more
    elif not printed.shared(number):
        far = G2 / 3 * (1 - 1 / TAU) * (2 - 1 / TAU)
    return says(
        f.gap(r.x(T)),
        terms(r, GAMMA + T, GAMMA, far, samples, draws),
        s.assumption_31(S),
        *s.assumption_32(r),
        s.assumption_33(r),
        s.assumption_C2(mu),
        s.minimum(),
        *([w.participation(r)] if drawn else []),
    )


FREE, FREE_GAMMA = Algorithm("3.6"), w.called(32 * S / mu, r"\gamma")
FREE_RUN = FREE.run(lambda _: w.rate(lambda at: 4 / (mu * TAU * (FREE_GAMMA + at))))


def free_statement() -> Says:
    """Return the bound without bounded gradients, at smaller rates."""
    r, far = FREE_RUN, 2 * unbounded.OWN / TAU
    right = terms(r, FREE_GAMMA + T, FREE_GAMMA, far)
    return says(
        f.gap(r.x(T)), right, *unbounded.assumed(FREE, r, S), s.assumption_C2(mu)
    )


def free_of_33() -> Theorem:
    """Return its proof; the factor of the drift is rounded."""
    what = FREE_STATEMENT.right.value - FREE_STATEMENT.left.value
    return combine(after(noisy_gap.gaps(noisy_gap.Noisy(bounded=False))), target=what)


WORDS = (
    r"With $u=\frac1{\gamma+t}$, $\Delta_t=\mathbb E\|x^t-x^*\|^2$, "
    r"$\phi_t=\mathbb Ef(x^t)-f^*$: smoothness from $x^t$ to $x^{t+1}$ and from the "
    r"local points to $x^t$, convexity to $x^*$ give "
    r"$(1+4u)\Delta_{t+1}\le(1-3u)\Delta_t+O(u^2)$, noise without S, so "
    r"$\Delta_t=O(u)$. As $\|\nabla f(x^t)-c(x^t-x^*)\|^2\ge0$, "
    r"$\|\nabla f(x^t)\|^2\ge2c\phi_t-c(c-\mu)\Delta_t$; with $c=z\mu$ a round lowers "
    r"$\phi$ by $(7z-O(z^3u))u\phi_t-\frac72z(z-1)u\mu\Delta_t$, and its noise "
    r"$\frac S2(\eta\tau)^2\sigma^2$ is divided by 7z, not by 7."
)


DRAWN = (
    r" The draws decide on the local points: a round's move is its mean given $x^t$ "
    r"and three parts that have the mean 0 given $x^t$: what draws make of the "
    r"gradients at $x^t$ (where $\|a\|^2\le\frac54\|b\|^2+5\|a-b\|^2$ leads to a local "
    r"point), noise, and what both make of the way: at most $\frac12\mathbb E(W^2+W^4)"
    r"(S\eta\tau)^2(\eta\tau)^2G^2$, $W=\sum_na_nI_n/q_n$."
)


def line(number: str) -> Line:
    """Return the proved statement of a theorem."""
    one = Algorithm(number)
    analysed = noisy_gap.Noisy(one.weighted.kind, one.weighted.partial)
    what = statement(number)
    return Line(
        one,
        run(number),
        proved(
            what,
            lambda: after(noisy_gap.gaps(analysed)),
            WORDS + (DRAWN if number == "3.9" else ""),
            f"{one.reading}; $z=\\sqrt{{S/\\mu}}$ is written $1+y$, "
            r"$\gamma=8S/\mu-1$"
            + ("; updates aggregated" if printed.partial(number) else ""),
            model=meeting(what, y=1),
        ),
    )


FREE_STATEMENT = free_statement()
FREE_LINE = Line(
    FREE,
    FREE_RUN,
    proved(
        FREE_STATEMENT,
        free_of_33,
        f"{WORDS} Drift has a share of $\\|\\nabla f(x^t)\\|^2$, which a round "
        r"pays for as $8S\eta\tau\le1$.",
        r"equal numbers of steps; $z=\sqrt{S/\mu}$ is written $1+y$, "
        r"$\gamma=32S/\mu$",
        model=meeting(FREE_STATEMENT, y=1),
    ),
)
LINES = {number: line(number) for number in printed.NUMBERS}


def claim(number: str) -> Claim:
    """Return the claim beside the paper's."""
    scope = (
        "for weighted server steps" if printed.shared(number) else "for equal periods"
    )
    drawn = ", updates aggregated" if number == "3.9" else ""
    return Kind.THEOREM(
        f"han2024/thm-{number}/strongly_convex/root-noise",
        "not in the paper",
        "The gap of the last model: noise with the root of S/mu in place of S/mu.",
        LINES[number].part,
        scope=scope + drawn,
    )


CLAIMS = (
    *map(claim, LINES),
    Kind.THEOREM(
        "han2024/thm-3.6/strongly_convex/root-noise-unbounded",
        "not in the paper",
        "The gap of the last model without bounded gradients, at the rates "
        "4/(mu tau (32 S/mu + t)): noise with the root of S/mu.",
        FREE_LINE.part,
        scope="for equal periods",
    ),
)
