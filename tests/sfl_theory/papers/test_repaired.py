"""The repaired bounds of (11), ..., (21) that the kernel proves are the library's."""

from __future__ import annotations

from typing import Any

import pytest
import sympy as sp

from sfl_theory import symbols
from sfl_theory import written as w
from sfl_theory.bound import Bound
from sfl_theory.claims import decide
from sfl_theory.conditions import EqualPeriods
from sfl_theory.kernel.terms import Lin, Side
from sfl_theory.papers.han2024 import last_iterate, unbounded
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024 import theorems_convex_repaired as repaired
from sfl_theory.papers.han2024.printed import NUMBERS
from sfl_theory.papers.han2024.strongly_convex_repairs import S_REPAIRED, Line
from sfl_theory.papers.han2024.theorems import CLAIMS
from sfl_theory.registry import theorem
from sfl_theory.statement import Case
from sfl_theory.written import Form, Number

INVERSE = sp.Symbol("1/q_n", positive=True)
"""The symbol of sums over clients that the kernel has instead of q_n."""


BESIDE = (unbounded, last_iterate)
"""Modules with claims of their own, beside the paper's."""


def offered(number: str, case: str) -> dict[str, Bound]:
    """Return the library's bounds of a case, all but the printed one."""
    found: Case = theorem(number).case(case)
    own = {} if found.repaired is None else {"repaired": found.repaired}
    return own | dict(found.variants)


def lines_of(number: str, case: str, name: str) -> tuple[Line, ...]:
    """Return what proves one of them."""
    found: dict[str, tuple[Line, ...]] = {}
    for bounds in (repaired.BOUNDS, *(one.BOUNDS for one in BESIDE)):
        found |= bounds.get((number, case), {})
    return found.get(name, ())


NAMES = [
    (number, case, name)
    for number in NUMBERS
    for case in ("strongly_convex", "general_convex")
    for name in offered(number, case)
] + [(*key, name) for key, named in unbounded.BOUNDS.items() for name in named]
LEFT = [one for one in dict.fromkeys(NAMES) if not lines_of(*one)]
NAMES = [one for one in dict.fromkeys(NAMES) if lines_of(*one)]


class Reader:
    """Reads sympy's bounds as the kernel's, for numbers of steps in a known order."""

    def __init__(self, line: Line, strong: bool, library: Bound) -> None:
        self.one = one = line.algorithm
        smooth = S_REPAIRED if strong else s.S
        periods = (symbols.tau, symbols.tau_server)
        client, server = (one.steps(side) for side in (Side.CLIENT, Side.SERVER))
        low, high = (client, server)
        if one.longer is Side.CLIENT:
            low, high = high, low
        self.first = {
            symbols.I_err: w.norm2(line.run.x(0) - s.f.best),
            symbols.F_err: s.f.gap(line.run.x(0)),
        }
        self.plain: dict[Any, Number] = {
            symbols.S: smooth,
            symbols.mu: s.mu,
            symbols.N: s.N,
            symbols.T: s.T,
            symbols.t: s.t,
            symbols.tau: client,
            symbols.tau_server: server,
            sp.Min(*periods): low,
            sp.Max(*periods): high,
            symbols.eta(symbols.t): s.eta(),
            symbols.a[symbols.n]: s.a(),
            INVERSE: w.inverse_chance(s.n),
        }
        if library.step_size is not None and library.step_size.constant:
            sums = w.below(s.t, s.T, last_iterate.reciprocal(s.t + 1))
            rate = symbols.over_rounds(symbols.eta(symbols.t))
            self.plain[rate] = s.T * last_iterate.rate
            self.plain[symbols.reciprocals(1, 1, symbols.T)] = sums
        for symbol, meaning in library.definitions.items():
            self.plain.setdefault(symbol, self.read(meaning))

    def term(self, e: Any) -> Form:
        """Return a term of a bound; the first distance or gap is a factor of some."""
        for symbol, form in self.first.items():
            if e.has(symbol):
                factor = e.subs(symbol, 1)
                assert sp.expand(e - factor * symbol) == 0
                return self.read(factor) * form
        return w.as_form(self.read(e))

    def read(self, e: Any) -> Number:
        """Return a number."""
        if isinstance(e, sp.Rational):
            return w.number(int(e.p)) / int(e.q)
        if e in self.plain:
            return self.plain[e]
        if isinstance(e, sp.exp):
            return self.growth(e.exp)
        if isinstance(e, sp.Add | sp.Mul):
            first, *others = map(self.read, e.args)
            for other in others:
                first = first + other if isinstance(e, sp.Add) else first * other
            return first
        if isinstance(e, sp.Pow):
            return self.power(e.base, int(e.exp))
        if isinstance(e, sp.Sum):
            if e.limits[0][0] == symbols.n:
                body = e.function.subs(symbols.q[symbols.n], 1 / INVERSE)
                return w.over_clients(s.n, self.read(sp.expand(body)))
            assert tuple(e.limits[0]) == (symbols.t, 0, symbols.T - 1)
            return w.below(s.t, s.T, self.read(e.function))
        raise AssertionError(f"{e} is not read")

    def power(self, base: Any, power: int) -> Number:
        """Return a power; squares of symbols that the kernel has squared only."""
        squared = {symbols.G: s.G2, symbols.epsilon: s.eps2}
        if base in squared:
            assert power == 2
            return squared[base]
        if isinstance(base, sp.Indexed) and base.base == symbols.sigma:
            assert power == 2
            return s.sigma2()
        inside = self.read(base)
        return inside**power if power > 0 else 1 / inside**-power

    def growth(self, exponent: Any) -> Number:
        """Return the parameter that stands for the exponential."""
        grown = w.below(s.t, s.T, repaired.growth(self.one))
        assert not self.read(exponent).value - grown.value
        return repaired.LIMIT


def test_what_is_left_to_backing_by_construction() -> None:
    """These have no line of their own: ``test_best.py`` finds what proves them."""
    own = {
        "last_model",
        "last_model_any_periods",
        "equal_weights",
        "without_noise",
    }
    assert {name for _, _, name in LEFT} == own


@pytest.mark.parametrize(("number", "case", "name"), NAMES)
def test_proved_bound_is_the_librarys(number: str, case: str, name: str) -> None:
    """Term by term the same number, for each order of the numbers of steps."""
    library = offered(number, case)[name]
    lines = lines_of(number, case, name)
    for line in lines:
        reader = Reader(line, case == "strongly_convex", library)
        theirs = [reader.term(sp.sympify(e)).value for e in library.parts.values()]
        assert sum(theirs, Lin({})) - line.part.says.right.value == Lin({})
        assert decide(line.part, name).status == "proved"
    covered = {line.algorithm.longer for line in lines}
    equal = library.assumes(EqualPeriods)
    assert covered == ({None} if equal or number in ("3.7", "3.9") else set(Side))


@pytest.mark.parametrize(("number", "name"), [k[::2] for k in NAMES if "s" in k[1][:1]])
def test_proved_rates_are_the_librarys(number: str, name: str) -> None:
    """Each side's, for SFL-V1; for SFL-V2 the client's, its server being weighted."""
    library = offered(number, "strongly_convex")[name]
    for line in lines_of(number, "strongly_convex", name):
        reader = Reader(line, True, library)
        sides = {Side.CLIENT: library.step_size.client}
        if number in ("3.6", "3.8"):
            sides[Side.SERVER] = library.step_size.server
        for side, rate in sides.items():
            ours = line.run.split.pace(side).rate.at(s.t.value)
            assert not ours - reader.read(sp.sympify(rate)).value


@pytest.mark.parametrize(("number", "case"), unbounded.BOUNDS)
def test_largest_rates_are_the_librarys(number: str, case: str) -> None:
    """What a statement assumes of the rates is what the library's rule admits."""
    for name, (line,) in unbounded.BOUNDS[number, case].items():
        library = offered(number, case)[name]
        if name != "bounded_gradients" and library.step_size.relation == "<=":
            most, reader = 1 / library.step_size.client, Reader(line, False, library)
            (largest,) = most.atoms(sp.Max) or {sp.Max(1)}
            for one in largest.args or (largest,):
                limit = reader.read(most.subs(largest, one)) * s.eta()
                rule = w.every_round(s.t, s.T, w.at_most(limit, 1))
                assert rule.value in {each.value for each in line.part.says.assumed}


def test_every_line_is_a_claims_repair() -> None:
    """What the library's bounds rest on is entered."""
    repairs = [claim.repair for claim in CLAIMS if claim.repair is not None]
    entered = {id(part) for one in repairs for part in one.parts}
    for named in repaired.BOUNDS.values():
        assert {id(line.part) for lines in named.values() for line in lines} <= entered
    for beside in BESIDE:
        own = {id(part) for claim in beside.CLAIMS for part in claim.parts}
        for named in beside.BOUNDS.values():
            assert {id(line.part) for lines in named.values() for line in lines} <= own


def test_the_reader_tells_bounds_apart() -> None:
    """(20)'s repair is not (14)'s: the comparison can fail."""
    (line,) = repaired.BOUNDS["3.7", "strongly_convex"]["sharper"]
    library = offered("3.9", "strongly_convex")["sharper"]
    reader = Reader(line, True, library)
    theirs = [reader.term(sp.sympify(e)).value for e in library.parts.values()]
    assert sum(theirs, Lin({})) - line.part.says.right.value
