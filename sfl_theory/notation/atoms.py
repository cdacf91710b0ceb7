r"""Single terms of the kernel in LaTeX: parameters, clients, functions, points.

What is written here is made with the notation of `sfl_theory.notation.written`.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, singledispatchmethod
from types import MappingProxyType, ModuleType

from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.notation import written as w
from sfl_theory.notation.written import PARAMETERS, Vector, Written

CLIENTS, STEPS, ROUNDS = (
    (*some, *(f"{c}'" for c in some), *(f"{c}''" for c in some))
    for some in ("nmkl", "ijlr", "tsur")
)
"""Letters for bound clients, steps and rounds, the first that is free."""
GREEK = (
    *("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta", "kappa"),
    *("lambda", "mu", "xi", "rho", "sigma", "tau", "phi", "Gamma", "Delta", "Lambda"),
)
SQUARES = ("G", "R", "e", "eps", "sigma", "delta")
SPELLED = {"eps": r"\epsilon", "tau_server": r"\tilde{\tau}", "chance": "q"}


class Names(Mapping[str, str]):
    """The LaTeX of the parameters that modules hold, by name; the first counts.

    Args:
        modules: of a paper, its setting first; one is asked for when none before has
            a name.
    """

    def __init__(self, modules: Iterable[ModuleType]) -> None:
        self._modules = iter(modules)
        self._known: dict[str, str] = {}

    def __getitem__(self, name: str) -> str:
        while name not in self._known:
            module = next(self._modules, None)
            if module is None:
                raise KeyError(name)
            self._read(module)
        return self._known[name]

    def __iter__(self) -> Iterator[str]:
        for module in self._modules:
            self._read(module)
        return iter(self._known)

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def _read(self, module: ModuleType) -> None:
        for one in vars(module).values():
            if isinstance(one, Written) and isinstance(one.value, Ratio):
                symbols = one.value.numerator.parts
                if len(symbols) == 1 and one.value == k.symbol(*symbols):
                    (symbol,) = symbols
                    if isinstance(symbol, k.Var) and one.binding == w.ATOM:
                        self._known.setdefault(symbol.name, one.tex)


@cache
def spelled(name: str) -> str:
    r"""Return the LaTeX of a parameter that no paper spells: ``sigma2`` is \sigma^2."""
    if name in SPELLED:
        return SPELLED[name]
    found = re.fullmatch(r"([A-Za-z]+?)_?([A-Za-z]*)([0-9]*)", name)
    if found is None:
        return rf"\mathrm{{{name.replace('_', ' ')}}}"
    letters, below, digits = found.groups() if "_" in name else (name, "", "")
    if "_" not in name:
        letters, digits = re.fullmatch(r"([A-Za-z]+)([0-9]*)", name).groups()  # type: ignore[union-attr]
    base = SPELLED.get(letters) or (rf"\{letters}" if letters in GREEK else letters)
    if len(letters) > 1 and base == letters:
        base = rf"\mathrm{{{letters}}}"
    if letters in SQUARES and digits == "2" and not below:
        return rf"{base}^{{2}}"
    under = ",".join(filter(None, (rf"\mathrm{{{below}}}" if below else "", digits)))
    return rf"{base}_{{{under}}}" if under else base


def pool(v: k.BoundClient | k.BoundNat, of_round: bool) -> tuple[str, ...]:
    """Return the letters that a bound index may have."""
    if isinstance(v, k.BoundClient):
        return CLIENTS
    return ROUNDS if of_round else STEPS


def counts_rounds(closed: k.Closed) -> bool:
    """Return whether the bound variable of a term is a round somewhere inside."""
    return any(
        closed.variable in one.round.free
        for one in k.subterms(closed.inside())
        if hasattr(one, "round")
    )


class Notation(ABC):
    """How single terms are written; what stands inside them, `tex` writes."""

    _spelling: Mapping[str, str] = MappingProxyType({})
    _model = "x"

    @abstractmethod
    def tex(self, term: object) -> str:
        """Return the LaTeX of a client, a number, a vector or a function."""

    def name(self, name: str) -> str:
        """Return the LaTeX of a parameter."""
        return self._spelling.get(name) or spelled(name)

    def _parameter(self, v: k.Var | k.Family) -> str:
        """Return the LaTeX of a parameter as the paper or else as somebody wrote it."""
        known = self._spelling.get(v.name) if isinstance(v, k.Var) else None
        return known or PARAMETERS.get(v) or spelled(v.name)

    def function(self, value: k.Function) -> w.Function:
        """Return a function."""
        return w.Function(value, self.tex(value))

    @singledispatchmethod
    def atom(self, term: k.Term) -> str:
        """Return a term that is no combination.

        Raises:
            TypeError: there is no notation for it.
        """
        raise TypeError(f"no notation for {type(term).__name__}")

    # Clients, functions and numbers

    @atom.register
    def _(self, term: k.Client) -> str:
        return str(term.name)

    @atom.register
    def _(self, term: k.NamedFunction) -> str:
        return self.name(str(term.name))

    @atom.register
    def _(self, term: k.Local) -> str:
        return f"F_{{{self.tex(term.client)}}}"

    @atom.register
    def _(self, term: k.Mean) -> str:
        return w.f.tex

    @atom.register
    def _(self, term: k.Unit) -> str:
        return "1"

    @atom.register
    def _(self, term: k.Argument) -> str:
        return "t"

    @atom.register
    def _(self, term: k.Var) -> str:
        return self._parameter(term)

    @atom.register
    def _(self, term: k.PerClient) -> str:
        base, who = self._parameter(term.family), self.tex(term.client)
        if "{n}" in base:
            return base.replace("{n}", who if len(who) == 1 else f"{{{who}}}")
        base, _, above = base.partition("^")
        return f"{base}_{{{who}}}" + (f"^{above}" if above else "")

    @atom.register
    def _(self, term: k.PerRound) -> str:
        base, at = self._parameter(term.family), self.tex(term.round)
        if "{t}" in base:
            return base.replace("{t}", at)
        return rf"\left({base}\right)^{{{at}}}" if "^" in base else f"{base}^{{{at}}}"

    @atom.register
    def _(self, term: k.Weight) -> str:
        return f"a_{{{self.tex(term.client)}}}"

    @atom.register
    def _(self, term: k.Odds) -> str:
        return rf"\left(\frac{{1}}{{q_{{{self.tex(term.client)}}}}} - 1\right)"

    @atom.register
    def _(self, term: k.Draw) -> str:
        return f"J_{{{self.tex(term.client)}}}^{{{self.tex(term.round)}}}"

    @atom.register
    def _(self, term: k.Before) -> str:
        early = f"{self.tex(term.earlier)},{self.tex(term.earlier_step)}"
        late = f"{self.tex(term.later)},{self.tex(term.later_step)}"
        return rf"1_{{({early}) < ({late})}}^{{{self.tex(term.round)}}}"

    # Vectors

    @atom.register
    def _(self, term: k.Expected) -> str:
        x, last = self._model, self.tex(term.round)
        given = rf"{x}^{{0}}, \dots, {x}^{{{last}}}"
        return rf"\mathbb{{E}}\left[{self.tex(term.vector)} \mid {given}\right]"

    @atom.register(k.Point)
    @atom.register(k.Star)
    @atom.register(k.Iterate)
    @atom.register(k.LocalPoint)
    @atom.register(k.Noise)
    @atom.register(k.Gradient)
    @atom.register(k.Part)
    def _(self, term: k.VecAtom) -> str:
        return self._atom(term).tex

    def _atom(self, term: k.VecAtom) -> Vector:
        """Return a vector that is no combination."""
        if isinstance(term, k.Part):
            if isinstance(term.vector, k.Gradient):
                return self._gradient(term.vector, term.side)
            return w.part(term.side, self._atom(term.vector))
        if isinstance(term, k.Gradient):
            return self._gradient(term)
        if isinstance(term, k.Star):
            return self.function(term.function).best
        if isinstance(term, k.Iterate):
            name = w.Name(self._model, above=self.tex(term.round))
        elif isinstance(term, k.LocalPoint | k.Noise):
            letter = self._model if isinstance(term, k.LocalPoint) else r"\xi"
            above = f"{self.tex(term.round)},{self.tex(term.step)}"
            name = w.Name(letter, self.tex(term.client), above)
        elif isinstance(term, k.Point):
            name = w.Name(self.name(str(term)))
        else:
            return w.Written(k.vec(term), self.tex(term))
        return w.Written(k.vec(term), str(name), w.ATOM, name)

    def _gradient(self, term: k.Gradient, side: k.Side | None = None) -> Vector:
        at = w.Written(term.at, self.tex(term.at))
        return self.function(term.function).gradient(at, side)
