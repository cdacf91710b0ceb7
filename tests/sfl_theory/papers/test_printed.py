"""The written right sides of (11)-(22) are the library's, symbol by symbol."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from sfl_theory import symbols
from sfl_theory import written as w
from sfl_theory.kernel.terms import Lin
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.printed import Data, Root
from sfl_theory.registry import theorem
from sfl_theory.written import Number

PLAIN = {
    symbols.S: s.S,
    symbols.mu: s.mu,
    symbols.N: s.N,
    symbols.T: s.T,
    symbols.tau: s.tau,
    symbols.tau_server: s.tau_server,
    symbols.tau_min: printed.tau_min,
    symbols.I_err: printed.I_err,
    symbols.F_err: printed.F_err,
}
SQUARED = {symbols.G: s.G2, symbols.epsilon: s.eps2}
GAMMA = 8 * s.S / s.mu - 1


class Reader:
    """Reads sympy's numbers as the kernel's; a root is the parameter of its degree."""

    def __init__(self, roots: tuple[Root, ...]) -> None:
        self.roots = {root.degree: root for root in roots}
        self.met: list[int] = []

    def read(self, e: Any) -> Number:
        """Return the number."""
        if isinstance(e, sp.Rational):
            return w.number(int(e.p)) / int(e.q)
        if e in PLAIN:
            return PLAIN[e]
        if e == symbols.gamma:
            return GAMMA
        if isinstance(e, sp.Indexed) and e.base == symbols.a:
            return s.a()
        if isinstance(e, sp.Add | sp.Mul):
            first, *others = map(self.read, e.args)
            for other in others:
                first = first + other if isinstance(e, sp.Add) else first * other
            return first
        if isinstance(e, sp.Pow):
            return self.power(e.base, e.exp)
        if isinstance(e, sp.Sum):
            body = self.read(e.function)
            if e.limits[0][0] == symbols.n:
                return w.over_clients(s.n, body)
            assert tuple(e.limits[0]) == (symbols.t, 0, symbols.T - 1)
            return w.below(s.t, s.T, body)
        raise AssertionError(f"{e} is not read")

    def power(self, base: Any, power: Any) -> Number:
        """Return a power; squares of symbols that the kernel has squared only."""
        if power == 2 and base in SQUARED:
            return SQUARED[base]
        if power == 2 and isinstance(base, symbols.eta):
            return s.eta() ** 2
        if isinstance(base, sp.Indexed) and (base.base, power) == (symbols.sigma, 2):
            return s.sigma2()
        if isinstance(base, sp.Indexed) and (base.base, power) == (symbols.q, -1):
            return w.inverse_chance(s.n)
        if power.is_Integer:
            inside = self.read(base)
            return inside ** int(power) if power > 0 else 1 / inside ** -int(power)
        assert power.p == 1
        root = self.roots[power.q]
        self.met.append(root.degree)
        assert not w.as_form(self.read(base)).value - root.radicand.value
        return root.value


@pytest.mark.parametrize("case", printed.CASES)
@pytest.mark.parametrize("number", printed.NUMBERS)
def test_written_bound_is_the_librarys(number: str, case: str) -> None:
    """Every term is the library's, its roots are roots of the same."""
    ours = printed.bound(number, case, Data())
    library = theorem(number).case(case).bound("printed")
    reader = Reader(ours.roots)
    theirs = [w.as_form(reader.read(part)).value for part in library.parts.values()]
    assert len(theirs) == len(ours.terms)
    assert sum(theirs, Lin({})) - ours.right.value == Lin({})
    assert sorted(reader.met) == sorted(reader.roots)


def test_the_reader_tells_bounds_apart() -> None:
    """(14) is not (11): the comparison can fail."""
    library = theorem("3.7").case("strongly_convex").bound("printed")
    reader = Reader(())
    theirs = [w.as_form(reader.read(part)).value for part in library.parts.values()]
    ours = printed.strongly_convex("3.6", Data()).right
    assert sum(theirs, Lin({})) - ours.value
