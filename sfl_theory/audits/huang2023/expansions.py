r"""``huang2023``: certificates of expansions, Young, Jensen, convexity."""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory.audits.huang2023.notation import A1, A2, ANY, Build, eta
from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    atom,
    inner,
    norm2,
    vectors,
)
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.kernel import convex_lower, smooth_upper, value
from sfl_theory.symbols import S, mu


def _both(
    claim: str, one: Any, two: Any, uses: tuple[Fact, ...] = (), statement: str = ""
) -> tuple[Build, Build]:
    """Return certificates of ``one <= two`` and ``two <= one`` from equalities."""
    names = tuple(fact.hypothesis for fact in uses)

    def build(left: Any, right: Any, sign: int) -> Build:
        return lambda: Certificate(
            claim,
            left,
            right,
            names,
            ANY,
            uses=tuple((fact, sign) for fact in uses),
            statement=statement,
        )

    return build(one, two, 1), build(two, one, -1)


def block_convexity(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (12), the inequality, and (31): strong convexity along one block.
    """
    d, g = vectors("d grad")
    back = convex_lower("F", "w", "w with block at optimum", d * -1, g, mu, A2)
    gap = value("F", "w") - value("F", "w with block at optimum")
    return (
        lambda: Certificate(
            claim,
            -2 * eta * inner(g, d),
            -mu * eta * norm2(d) - 2 * eta * gap,
            (A2,),
            ANY,
            uses=((back, 2 * eta),),
            statement="-2 eta <grad, d> <= -mu eta ||d||^2 - 2 eta (F(w) - F(w with "
            "this "
            "block at its optimum)), d within the block",
        ),
    )


def young_two(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (13), first inequality."""
    a, b = vectors("a b")
    return (
        lambda: Certificate(
            claim,
            norm2(a + b),
            2 * norm2(a) + 2 * norm2(b),
            (),
            ANY,
            squares=((a - b, 1),),
            statement="||a + b||^2 <= 2||a||^2 + 2||b||^2",
        ),
    )


def jensen_mean(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (13), second inequality: $\sum_n\frac1N\|v_n-\bar v\|^2\ge0$.
    """
    (mean,) = vectors("vbar")
    squares, cross = atom("1/N sum ||v_n||^2"), atom("1/N sum <v_n, vbar>")
    spread = Fact(
        "1/N sum ||v_n - vbar||^2 >= 0", squares - 2 * cross + norm2(mean), "squares"
    )
    same = Fact("vbar is the mean", cross - norm2(mean), "definition", equality=True)
    return (
        lambda: Certificate(
            claim,
            norm2(mean),
            squares,
            ("squares", "definition"),
            ANY,
            uses=((spread, 1), (same, 2)),
        ),
    )


def step_identities(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    (26): expansion of the squared distance after the step.
    """
    d, mean, noise = vectors("d gbar gbar-g")
    here = d - eta * mean
    expanded = norm2(here) + 2 * eta * inner(here, noise) + eta**2 * norm2(noise)
    return _both(claim, norm2(here + eta * noise), expanded)


def gradient_identity(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (27): expansion of A_1."""
    d, mean = vectors("d gbar")
    expanded = norm2(d) - 2 * eta * inner(d, mean) + eta**2 * norm2(mean)
    return _both(claim, norm2(d - eta * mean), expanded)


def split_identity(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (29), for one client; the sum has weights p_n."""
    u, d, g = vectors("wbar-w_n w_n-w* grad_n")
    return _both(
        claim, -2 * eta * inner(u + d, g), -2 * eta * (inner(u, g) + inner(d, g))
    )


def self_bounding(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (28): Jensen, then $\|\nabla f_n\|^2\le2S(f_n-f_n^*)$ by a step of $1/S$.
    """
    (g,) = vectors("grad")
    smooth = smooth_upper("f", "w", "w - g/S", g * (-1 / S), g, S, A1)
    least = Fact(
        "f* is the minimum", value("f", "w - g/S") - value("f", "*"), "definition of f*"
    )
    gap = value("f", "w") - value("f", "*")
    return (
        *jensen_mean(claim),
        lambda: Certificate(
            claim,
            norm2(g),
            2 * S * gap,
            (A1, "definition of f*"),
            ANY,
            uses=((smooth, 2 * S), (least, 2 * S)),
            statement="||grad f||^2 <= 2S (f(w) - f*)",
        ),
    )


def young_rate(claim: str) -> tuple[Build, ...]:
    """Return the certificates of (30)."""
    u, g = vectors("u g")
    return (
        lambda: Certificate(
            claim,
            -2 * inner(u, g),
            norm2(u) / eta + eta * norm2(g),
            (),
            ANY,
            squares=((u + eta * g, 1 / eta),),
        ),
    )


def sum_of_steps(claim: str) -> tuple[Build, ...]:
    r"""Return the certificates.

    (32) from (28)-(31) and $\sum_np_n\|w_n-w^*\|^2\ge\|\bar w-w^*\|^2$.
    """
    d, mean = vectors("wbar-w* gbar")
    cross, far = atom("sum p <wbar-w_n, g_n>"), atom("sum p <w_n-w*, g_n>")
    apart, away = atom("sum p ||wbar-w_n||^2"), atom("sum p ||w_n-w*||^2")
    size, gap = atom("sum p ||g_n||^2"), atom("sum p (f_n-f_n*)")
    other = atom("sum p (f_n-f_n(w_c*,w_s))")
    clients = "clients, weights p_n"
    averaged = "gbar = sum p_n g_n, wbar = sum p_n w_n"
    at = {"e": eta, "s": S, "m": mu}

    def summed(build: Build, **names: Any) -> Instance:
        return Instance(Use(build(), at, names.pop("atoms"), family=clients))

    jensen, bounding = self_bounding("huang2023/eq-28")
    (young,) = young_rate("huang2023/eq-30")
    (convex,) = block_convexity("huang2023/eq-31")
    at_optimum = "F(w with block at optimum)"
    facts = (
        (
            Fact(
                "(28) Jensen",
                size - norm2(mean),
                "",
                derived=Instance(
                    Use(
                        jensen(),
                        at,
                        {"1/N sum ||v_n||^2": size, "1/N sum <v_n, vbar>": atom("J")},
                        {"vbar": mean},
                    )
                ),
            ),
            eta**2,
        ),
        (
            Fact(
                "(28) self-bounding",
                2 * S * gap - size,
                "",
                derived=summed(
                    bounding,
                    atoms={"f(w)": gap, "f(*)": sp.Integer(0), "<grad,grad>": size},
                ),
            ),
            2 * eta**2,
        ),
        (Fact("(29)", inner(d, mean) - cross - far, averaged, equality=True), 2 * eta),
        (
            Fact(
                "(30)",
                apart / eta + eta * size + 2 * cross,
                "",
                derived=summed(
                    young, atoms={"<u,u>": apart, "<g,g>": size, "<g,u>": cross}
                ),
            ),
            eta,
        ),
        (
            Fact(
                "(31)",
                2 * eta * (far - other - mu / 2 * away),
                "",
                derived=summed(
                    convex,
                    atoms={
                        "<d,grad>": far,
                        "<d,d>": away,
                        "F(w)": other,
                        at_optimum: sp.Integer(0),
                    },
                ),
            ),
            1,
        ),
        (Fact("Jensen", away - norm2(d), "kernel"), mu * eta),
    )
    return (
        lambda: Certificate(
            claim,
            norm2(d - eta * mean),
            (1 - mu * eta) * norm2(d) + apart + 4 * S * eta**2 * gap - 2 * eta * other,
            ("squares", "definition", A1, A2, "definition of f*", averaged, "kernel"),
            ANY,
            uses=facts,
            statement="(32) from (28)-(31)",
        ),
    )
