r"""Facts that earlier certificates prove: an instance, a sum over rounds, an induction.

A certificate speaks of every value of its parameters in its domain and of every object
that its atoms may stand for, as long as its facts are true of them. So it may be used
at other parameters and other objects (``Use``). The checker

1. replays the earlier certificate,
2. shows that the parameters lie in its domain: each of its free variables is given as
   an expression, which must be non-negative (or positive) on the user's domain,
3. compares the derived fact with what was proved, coefficient by coefficient,
4. demands that the user assumes whatever the earlier certificate assumes.

What stays with the reader is what stays with him for any fact: that atoms are called
what they are. Renaming is therefore printed, and cannot turn a square into something
else: vectors are replaced linearly, and an inner product is renamed to one atom.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import sympy as sp

from sfl_theory.evidence.certificate import (
    Certificate,
    Fact,
    Link,
    Rejected,
    Vector,
    atom,
    coefficients,
    inner,
    proved_before,
    replay,
)
from sfl_theory.evidence.domain import Domain

INDUCTION = "induction hypothesis"
"""What only a step of an induction may assume."""

Conclusion = dict[str, Any]
"""Name of an atom, or "1" -> coefficient."""


@dataclass(frozen=True)
class Use:
    r"""An earlier certificate at given parameters, its objects renamed.

    Attributes:
        source: the earlier certificate.
        at: name of each of its free variables -> expression in the user's parameters.
        atoms: name of an atom -> linear combination of atoms; other names stay.
        vectors: name of a vector -> linear combination, applied before ``atoms``.
        family: over which objects k (clients, local steps, draws) the conclusion is
            summed with weights $w_k\ge0$, and the expectation taken. From
            $\sum_jc_jA_{j,k}\ge0$ for every k, with the same parameters, follows
            $\sum_jc_j\sum_kw_kE A_{j,k}\ge0$ by adding; ``atoms`` names the sums. A
            conclusion with a term that holds no atom is refused (it would be
            multiplied by the total weight).
    """

    source: Certificate
    at: Mapping[str, Any]
    atoms: Mapping[str, Any] = field(default_factory=dict)
    vectors: Mapping[str, Vector] = field(default_factory=dict)
    family: str = ""


@dataclass(frozen=True)
class Cases:
    """Earlier certificates that cover a domain together, told apart by a sign.

    Attributes:
        sign: an expression in the user's parameters.
        above: what is used where it is at least 0.
        below: what is used where it is at most 0.
    """

    sign: Any
    above: Use | Cases
    below: Use | Cases


@dataclass(frozen=True)
class Instance(Link):
    """The conclusion of an earlier certificate, at parameters in its domain.

    Attributes:
        earlier: the certificate, or several that cover the user's domain.
    """

    earlier: Use | Cases

    def verify(
        self, fact: Fact, user: Certificate, trail: tuple[Certificate, ...]
    ) -> tuple[str, tuple[Certificate, ...]]:
        """Replay the earlier certificates and compare.

        Args:
            fact: what must follow.
            user: the certificate that uses it.
            trail: the certificates being replayed.

        Returns:
            The rule in words, and the earlier certificates.
        """
        claimed = coefficients(fact.expr)
        uses = list(leaves(self.earlier, user.domain))
        for use, domain in uses:
            accept(use.source, user.hypotheses, trail)
            same(claimed, instance(use, domain), domain, fact.name)
        return f"an instance{shown(uses[0][0])}", tuple(use.source for use, _ in uses)


def accept(
    source: Certificate,
    hypotheses: tuple[str, ...],
    trail: tuple[Certificate, ...],
    but: str = "",
) -> None:
    """Replay an earlier certificate and compare its hypotheses.

    Args:
        source: the earlier certificate.
        hypotheses: what its user assumes.
        trail: the certificates being replayed.
        but: a hypothesis that is discharged.

    Raises:
        Rejected: if it fails, or assumes something that its user does not, or is the
            step of an induction that is used as if it were complete.
    """
    for hypothesis in source.hypotheses:
        if hypothesis == but:
            continue
        if hypothesis == INDUCTION:
            raise Rejected(f"'{source.statement}' is proved under an {INDUCTION} only")
        if hypothesis not in hypotheses:
            raise Rejected(
                f"the earlier step '{source.statement or source.claim}' assumes "
                f"'{hypothesis}', which the claim does not"
            )
    if proved_before(source):
        return
    try:
        replay(source, trail)
    except Rejected as reason:
        raise Rejected(
            f"the earlier step '{source.statement or source.claim}' fails: {reason}"
        ) from reason


def leaves(earlier: Use | Cases, domain: Domain) -> Iterator[tuple[Use, Domain]]:
    """Go through the certificates, each with the part of the domain that it serves.

    Args:
        earlier: one certificate or a case distinction.
        domain: of their user.

    Yields:
        The certificate's use and the part of the domain.
    """
    if isinstance(earlier, Use):
        yield earlier, domain
        return
    above = domain.extended(given=(sp.Integer(0) + earlier.sign,))
    below = domain.extended(given=(sp.Integer(0) - earlier.sign,))
    yield from leaves(earlier.above, above)
    yield from leaves(earlier.below, below)


def instance(use: Use, domain: Domain) -> Conclusion:
    """Return what the earlier certificate says at the parameters given.

    Args:
        use: the certificate, parameters and names.
        domain: of the user.

    Returns:
        The coefficients of ``right - left``, in the user's parameters and names.
    """
    at = _inside(use, domain)
    return translated(use, use.source.conclusion, domain, at)


def translated(
    use: Use, expr: Any, domain: Domain, at: Mapping[Any, Any] | None = None
) -> Conclusion:
    """Return an expression of the earlier certificate in the user's terms.

    Args:
        use: the certificate, parameters and names.
        expr: linear in atoms, for instance its conclusion or one of its facts.
        domain: of the user.
        at: what ``_inside`` returned, if it was called.

    Returns:
        Name of the atom -> coefficient.

    Raises:
        Rejected: if a constant would be summed over a family.
    """
    inside = _inside(use, domain) if at is None else at
    own = use.source.domain
    found: Conclusion = {"1": sp.Integer(0)}
    for name, coefficient in coefficients(expr).items():
        value = own.in_free_variables(coefficient).xreplace(inside)
        if name == "1":
            if use.family and not domain.zero(value):
                raise Rejected(f"a constant cannot be summed over {use.family}")
            _add(found, "1", value)
            continue
        for part, factor in coefficients(_renamed(use, name)).items():
            _add(found, part, factor * value)
    _refuse_lost_squares(use, domain)
    return found


def same(claimed: Conclusion, proved: Conclusion, domain: Domain, name: str) -> None:
    """Compare two linear expressions.

    Args:
        claimed: the fact.
        proved: what follows.
        domain: of the user.
        name: of the fact.

    Raises:
        Rejected: if a coefficient differs.
    """
    for key in sorted({*claimed, *proved}):
        one, other = claimed.get(key, sp.S.Zero), proved.get(key, sp.S.Zero)
        if sp.S(one).has(sp.Float) or sp.S(other).has(sp.Float):
            raise Rejected(f"a floating-point number entered '{name}'")
        if not domain.zero(one - other):
            raise Rejected(
                f"'{name}' is not what the earlier step proves: at '{key}' it has "
                f"{sp.factor(domain.substitute(one))}, proved is "
                f"{sp.factor(domain.substitute(other))}"
            )


def shown(use: Use) -> str:
    """Return parameters and names of a use, for the replay's lines."""
    parts = [f"{name} = {value}" for name, value in use.at.items()]
    parts += [f"{name} for {old}" for old, name in use.atoms.items()]
    parts += [
        f"{' + '.join(f'({c}) {n}' for n, c in v.parts.items()) or '0'} for {old}"
        for old, v in use.vectors.items()
    ]
    words = f" summed over {use.family}" if use.family else ""
    return f"{words} with {', '.join(parts)}" if parts else words


def _inside(use: Use, domain: Domain) -> dict[Any, Any]:
    """Return the free variables' values, shown to lie in the source's domain.

    Raises:
        Rejected: if one is missing, too many or not shown to be in range.
    """
    own = use.source.domain
    what = use.source.statement or use.source.claim
    names = [str(variable) for variable in own.free]
    if sorted(names) != sorted(use.at):
        raise Rejected(
            f"'{what}' has the free variables {', '.join(names) or 'none'}; given are "
            f"{', '.join(use.at) or 'none'}"
        )
    at = {variable: sp.Integer(0) + use.at[str(variable)] for variable in own.free}
    for variable, value in at.items():
        within = domain.positive if variable.is_positive else domain.nonnegative
        if not within(value):
            sign = "positive" if variable.is_positive else "non-negative"
            raise Rejected(
                f"outside the domain '{own.words}' of '{what}': {variable} = {value} "
                f"is not shown {sign}"
            )
    for known in own.given:
        value = own.in_free_variables(known).xreplace(at)
        if not domain.nonnegative(value):
            raise Rejected(
                f"outside the domain '{own.words}' of '{what}': {known} is not shown "
                "non-negative"
            )
    return at


def _renamed(use: Use, name: str) -> Any:
    """Return what an atom is in the user's terms; linear, without a constant.

    Raises:
        Rejected: if it is something else.
    """
    pair = _pair(name)
    if pair is None or not use.vectors:
        meaning = use.atoms.get(name, atom(name))
    else:
        u, v = (use.vectors.get(x, Vector({x: sp.Integer(1)})) for x in pair)
        parts = coefficients(inner(u, v))
        constant = parts.pop("1")
        meaning = constant + sum(
            c * use.atoms.get(k, atom(k)) for k, c in parts.items()
        )
    meaning = sp.Integer(0) + meaning
    if coefficients(meaning)["1"] != 0:
        raise Rejected(f"'{name}' is renamed to '{meaning}', which holds no atom alone")
    return meaning


def _refuse_lost_squares(use: Use, domain: Domain) -> None:
    """Refuse names that would make a square of the source something else.

    Raises:
        Rejected: if an inner product is not renamed to a multiple of one atom, or two
            are renamed to the same.
    """
    taken = set()
    for name, meaning in use.atoms.items():
        if _pair(name) is None:
            continue
        parts = coefficients(sp.Integer(0) + meaning)
        parts.pop("1")
        if len(parts) != 1:
            raise Rejected(f"the inner product {name} must be renamed to one atom")
        ((new, factor),) = parts.items()
        first, second = _pair(name) or ("", "")
        if first == second and not domain.nonnegative(factor):
            raise Rejected(f"the square {name} would be renamed to {meaning}")
        if _pair(new) is not None:
            raise Rejected(f"{name} becomes {new} by replacing vectors, not by a name")
        if new in taken:
            raise Rejected(f"two inner products would both be '{new}'")
        taken.add(new)


def _pair(name: str) -> tuple[str, str] | None:
    """Return the two vectors whose inner product an atom is."""
    if not (name.startswith("<") and name.endswith(">") and name.count(",") == 1):
        return None
    first, second = name[1:-1].split(",")
    return first, second


def _add(found: Conclusion, key: str, value: Any) -> None:
    found[key] = found.get(key, sp.Integer(0)) + value
