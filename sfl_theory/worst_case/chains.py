"""Programs in which only points of one past meet: what the kernel's proof can say.

The noise of a round may depend on who took part before it, and where clients meet in a
round on who takes part in it. So what it makes is a term only beside an indicator of
these rounds, its chain, and inequalities between two points can be said if one's chain
begins with the other's. Without the others the value is an upper bound still.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property

from sfl_theory.worst_case.assumptions import formulated
from sfl_theory.worst_case.certificate import Atom, Inequality
from sfl_theory.worst_case.program import Program
from sfl_theory.worst_case.setting import Setting
from sfl_theory.worst_case.vectors import Vector

Chain = tuple[int, ...]
"""The outcomes of the rounds that the last noise of a point may depend on."""


def noise_after_draws(setting: Setting) -> bool:
    """Return whether noise is drawn after it was drawn who takes part."""
    several = setting.rounds > 1 or meeting(setting)
    return setting.partial and setting.sigma2 > 0 and several


def meeting(setting: Setting) -> bool:
    """Return whether clients meet in a round, so that noise depends on its draws."""
    return setting.algorithm not in {"fedavg", "sfl-v1"}


def chain_of(vector: Vector, setting: Setting) -> Chain:
    """Return the chain of a vector in which every noise stands that it is made of."""
    noises = (atom for form in vector.forms.values() for atom in form)
    return max((drawn_after(one, setting) for one in noises), key=len, default=())


def drawn_after(atom: Atom, setting: Setting) -> Chain:
    """Return the outcomes before a noise is drawn; none for another atom."""
    at = atom.point
    return at.past[: at.t + meeting(setting)] if at and atom.kind == "noise" else ()


def together(one: Chain, other: Chain) -> bool:
    """Return whether one chain begins with the other."""
    return all(a == b for a, b in zip(one, other, strict=False))


@dataclass(frozen=True)
class Chained(Program):
    """A program without what two pasts have to be looked at for."""

    @classmethod
    def of(cls, whole: Program) -> Chained:
        """Return the program without inequalities between different pasts."""
        if meeting(whole.setting):
            whole = formulated(whole.setting, apart=True)
        same = {one.name: getattr(whole, one.name) for one in fields(whole)}
        known = chains(whole)
        given = (
            one
            for one in whole.given
            if drawn_later(one.inequality, known, whole.setting)
        )
        return cls(**{**same, "given": tuple(given)})

    @cached_property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """The pairs of nodes of one client that are on one chain."""
        at = [chain_of(self.vectors[node.x], self.setting) for node in self.nodes]
        return tuple((i, j) for i, j in super().pairs if together(at[i], at[j]))


def chains(program: Program) -> dict[Atom, Chain]:
    """Return the chain of every atom: a noise's, or that of where a gradient is."""
    found: dict[Atom, Chain] = {}
    for node in program.nodes:
        for form in program.vectors[node.gradient].forms.values():
            where = chain_of(program.vectors[node.x], program.setting)
            found.update((atom, where) for atom in form)
    for atoms in program.basis.values():
        others = (a for a in atoms if a.kind != "gradient")
        found.update((a, drawn_after(a, program.setting)) for a in others)
    return found


def drawn_later(
    says: Inequality, known: Mapping[Atom, Chain], setting: Setting
) -> bool:
    """Return whether a noise is drawn after what it is said to be orthogonal to."""
    if says.kind != "unbiased" or says.vector is None:
        return True
    there = known[says.vector]
    noise = Atom("noise", says.client, says.at)
    return drawn_after(noise, setting)[: len(there)] == there
