r"""``huang2023``: certificates of its lemmas and conditions, as the paper uses them.

Used of the assumptions: inequalities at iterates, their means and $w^*$ only, so
"for all w" may be read as "on a convex set that contains these".
"""

from __future__ import annotations

from sfl_theory.audits.huang2023.notation import (
    A1,
    A2,
    A3,
    A4,
    ANY,
    BLOCKS,
    OPTIMUM,
    R2,
    Build,
    x,
)
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Vector,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import INDUCTION, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.evidence.induction import Induction
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value
from sfl_theory.symbols import S, gamma, mu


def decomposition(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Lemma 1, (6) and (7): smoothness at w*, where the gradient is 0.
    """
    dc, ds, g = vectors("d_c d_s grad")
    smooth = smooth_upper("F", "w*", "w", dc + ds, g, S, A1)
    still = Fact("grad F(w*) = 0", inner(g, dc + ds), OPTIMUM, equality=True)
    blocks = Fact("<d_c, d_s> = 0", inner(dc, ds), BLOCKS, equality=True)
    return (
        lambda: Certificate(
            claim,
            value("F", "w") - value("F", "w*"),
            S / 2 * (norm2(dc) + norm2(ds)),
            (A1, OPTIMUM, BLOCKS),
            ANY,
            uses=((smooth, 1), (still, -1), (blocks, -S)),
            statement="F(w) - F(w*) <= S/2 (||w_s - w_s*||^2 + ||w_c - w_c*||^2); F is "
            "S-smooth as a mean of the f_n; take expectations",
        ),
    )


def pythagoras(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (8): both directions."""
    dc, ds = vectors("d_c d_s")
    blocks = Fact("<d_c, d_s> = 0", inner(dc, ds), BLOCKS, equality=True)
    whole, parts = norm2(dc + ds), norm2(dc) + norm2(ds)
    return (
        lambda: Certificate(claim, whole, parts, (BLOCKS,), ANY, uses=((blocks, -2),)),
        lambda: Certificate(claim, parts, whole, (BLOCKS,), ANY, uses=((blocks, 2),)),
    )


def exclusion(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    Assumptions 2 and 4 confine w: $\mu^2\|w-w_n^*\|^2\le R^2$.
    """
    d, g, xi = vectors("w-w_n* grad xi")
    to = convex_lower("f", "w*", "w", d, Vector({}), mu, A2)
    back = convex_lower("f", "w", "w*", d * -1, g, mu, A2)
    norm = Fact("bounded square norm", R2 - norm2(g + xi), A4)
    fair = Fact("E<grad, xi> = 0", inner(g, xi), "unbiased", equality=True)
    one, two = positive("m s")
    domain = Domain("mu, R^2 > 0", {mu: one, R2: two}, (one, two))
    return (
        lambda: Certificate(
            claim,
            mu**2 * norm2(d),
            R2,
            (A2, A4, "unbiased"),
            domain,
            uses=((norm, 1), (fair, 2), (to, 2 * mu), (back, 2 * mu)),
            squares=((xi, 1), (g - mu * d, 1)),
            statement="mu^2 ||w - w_n*||^2 <= R^2 wherever Assumption 4 holds",
        ),
    )


def later_rates(claim: str) -> tuple[Build, ...]:
    """Return certificates: the learning-rate condition holds from i = 1 on."""
    m, k, g, i = free("mu_ s_ g_ i_")
    (one,) = positive("one_")
    domain = Domain(
        "S >= mu > 0, gamma >= 8S/mu - 1, i >= 1",
        {mu: one, S: one + k, gamma: 8 * (one + k) / one - 1 + g, x: gamma + 1 + i},
        (m, k, g, i, one),
    )
    return (
        lambda: Certificate(
            claim,
            2 / (mu * x),
            1 / (4 * S),
            (),
            domain,
            statement="2/(mu (gamma + i)) <= 1/(4S)",
        ),
    )


def induction(claim: str, noise: str) -> tuple[Build, ...]:
    r"""(16) and (23).

    $\Delta\le v/x$, $v\ge4B/\mu^2$ give the next one, $x=\gamma+i\ge2$.

    Args:
        claim: identifier.
        noise: the constant of the recursion, B or H.

    Returns:
        Base case, step, and what they give for every i.
    """
    now, after, bound, start = atom("D^i"), atom("D^(i+1)"), atom("v"), atom("D^0")
    constant, there = atom(noise), atom("D^k")
    k, i = free("k_ i_")
    (one,) = positive("one_")
    at_start = Domain("mu > 0, x = gamma >= 2", {mu: one, x: 2 + k}, (k, one))
    domain = Domain(
        "mu > 0, gamma >= 2, x = gamma + i", {mu: one, x: 2 + k + i}, (k, i, one)
    )
    (first,) = positive("gamma_")
    end = Domain(
        "mu > 0, gamma >= 2, x = gamma + k",
        {mu: one, first: 2 + k, x: first + i},
        (k, i, one),
    )
    rate = 2 / (mu * x)
    recursion = Fact(
        "recursion", (1 - mu * rate) * now + rate**2 * constant - after, "recursion"
    )
    large = Fact(
        "v >= 4 constant/mu^2", bound - 4 * constant / mu**2, "definition of v"
    )
    hypothesis = Fact("D^i <= v/x", bound / x - now, INDUCTION)
    initial = Fact("v >= (gamma + 1) D^0", bound - (x + 1) * start, "definition of v")
    # v >= 0: from v >= (gamma+1) D^0 and D^0 >= 0
    sign = Fact("v >= 0", bound, "definition of v")
    left_over = 1 / (x + 1) - (x - 1) / x**2

    def base() -> Certificate:
        return Certificate(
            claim,
            start,
            bound / x,
            ("definition of v",),
            at_start,
            uses=((initial, 1 / (x + 1)), (sign, 1 / x - 1 / (x + 1))),
            statement="base: D^0 <= v/gamma (x = gamma)",
        )

    def step() -> Certificate:
        return Certificate(
            claim,
            after,
            bound / (x + 1),
            ("recursion", "definition of v", INDUCTION),
            domain,
            uses=(
                (recursion, 1),
                (hypothesis, 1 - mu * rate),
                (large, 1 / x**2),
                (sign, left_over),
            ),
            statement="step: D^(i+1) <= v/(x + 1)",
        )

    def all_steps() -> Certificate:
        (index,) = free("i")
        size = first - 2
        chain = Induction(
            claim=bound / (first + index) - now,
            index=index,
            end=i,
            base=Use(base(), {"k_": size, "one_": mu}),
            steps=(Use(step(), {"k_": size, "i_": index, "one_": mu}),),
            moves={"D^i": ("D^0", "D^(i+1)", "D^k")},
        )
        return Certificate(
            claim,
            there,
            bound / x,
            ("recursion", "definition of v"),
            end,
            uses=(
                (Fact("D^k <= v/(gamma + k)", bound / x - there, "", derived=chain), 1),
            ),
            statement="D^k <= v/(gamma + k) for every k",
        )

    return base, step, all_steps


def independent_noise(claim: str) -> tuple[Build, ...]:
    """Return the certificates of Lemma 3, clients independent of each other."""
    whole, parts = atom("E||sum p_n xi_n||^2"), atom("sum p_n^2 E||xi_n||^2")
    bound = atom("sum p_n^2 sigma_n^2")
    apart = Fact(
        "cross terms are 0", parts - whole, "independent clients", equality=True
    )
    return (
        lambda: Certificate(
            claim,
            whole,
            bound,
            ("independent clients", A3),
            ANY,
            uses=((apart, 1), (Fact("variance, times p_n^2", bound - parts, A3), 1)),
        ),
    )
