"""``huang2023``: Theorem 1 as printed, and sharper, from the joint recursion."""

from __future__ import annotations

from typing import Any

import sympy as sp

from sfl_theory import symbols
from sfl_theory.audits.huang2023.joint import (
    ASSUMED,
    START,
    V,
    distance,
    every_step,
    initial,
)
from sfl_theory.audits.huang2023.lemmas import decomposition
from sfl_theory.audits.huang2023.notation import (
    BLOCKS,
    OPTIMUM,
    R2,
    Build,
    delta2,
    eta,
    v,
)
from sfl_theory.evidence.certificate import Certificate, Fact, atom
from sfl_theory.evidence.derivation import Instance, Use
from sfl_theory.evidence.domain import Domain, free, positive
from sfl_theory.papers import huang2023
from sfl_theory.symbols import N, R, S, T, gamma, mu, tau

noise, Gamma = free("W_ Gamma_")


def _domain() -> Domain:
    k, c, g, n, rounds = free("k_ c_ g_ n_ t_")
    one, two, start_c, start_s = free("d_ R_ I_c_ I_s_")
    (three,) = positive("m_")
    return Domain(
        "N, T, tau >= 1, S >= mu > 0, gamma >= 8S/mu - 1, gamma >= tau, Gamma >= 0",
        {
            tau: 1 + k,
            N: 1 + n,
            T: 1 + rounds,
            mu: three,
            S: three * (1 + c),
            gamma: 8 * (1 + c) - 1 + g,
            delta2: one,
            R2: two,
            symbols.Gamma: Gamma,
            initial: start_c + start_s,
            v: 4 * V / (3 * mu**2) + gamma * initial,
            eta: 2 / (mu * gamma),
        },
        (k, c, g, n, rounds, noise, Gamma, start_c, start_s, one, two, three),
        given=(gamma - tau,),
    )


def _end(claim: str, right: Any, statement: str) -> Certificate:
    """Return Step 5 of ``joint``: Lemma 1 at the last distance.

    Args:
        claim: identifier of the claim.
        right: at least S/2 times the bound of the distance.
        statement: what is proved.

    Returns:
        The certificate.
    """
    gap, apart = atom("E F(w^TEM) - F*"), atom("Delta^TEM")
    client, server = atom("E||w_c-w_c*||^2"), atom("E||w_s-w_s*||^2")
    (lemma,) = decomposition("huang2023/lemma-1")
    first = Use(
        lemma(),
        at={"e": eta, "s": S, "m": mu},
        atoms={
            "F(w)": gap,
            "F(w*)": sp.Integer(0),
            "<d_c,d_c>": client,
            "<d_s,d_s>": server,
        },
        family="the draws",
    )
    facts = (
        Fact("Lemma 1", S / 2 * (client + server) - gap, "", derived=Instance(first)),
        Fact(BLOCKS, apart - client - server, BLOCKS, equality=True),
        Fact(
            "joint recursion at TEM",
            v / (gamma + T * tau) - apart,
            "",
            derived=every_step(claim, T * tau),
        ),
    )
    return Certificate(
        claim,
        gap,
        right,
        (*ASSUMED, START, OPTIMUM, BLOCKS),
        _domain(),
        uses=tuple(zip(facts, (1, S / 2, S / 2), strict=True)),
        statement=statement,
    )


def theorem_1(claim: str) -> tuple[Build, ...]:
    """Return the certificates.

    Theorem 1 as printed: the joint recursion, Lemma 1, then the printed formula.
    """
    bound = huang2023.THEOREM_1.case("strongly_convex").bound("printed")
    right: Any = sum(bound.parts.values())
    summed = symbols.over_clients(
        symbols.a[symbols.n] ** 2 * symbols.sigma[symbols.n] ** 2
    )
    right = right.xreplace({
        summed: noise,
        R: sp.sqrt(R2),
        symbols.epsilon: sp.sqrt(delta2),
    })
    words = "E F(w^TEM) - F* <= S (L_s + L_c)/2 as printed, Gamma >= 0"
    return (*distance(claim), lambda: _end(claim, right, words))


def sharper(claim: str) -> tuple[Build, ...]:
    """Return the certificates of S/2 times the bound of the joint distance."""
    right = S * v / (2 * (gamma + T * tau))
    words = "E F(w^TEM) - F* <= S/2 (4V/(3 mu^2) + gamma Delta^0)/(gamma + TEM)"
    return (*distance(claim), lambda: _end(claim, right, words))
