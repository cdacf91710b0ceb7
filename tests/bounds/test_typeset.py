"""Terms as LaTeX: the same notation as where a person wrote them."""

from __future__ import annotations

import pytest

from bounds.mathml import mathml
from bounds.page.typeset import Typeset, letters, shown, taken
from sfl_theory.evidence import parts_of
from sfl_theory.kernel import terms as k
from sfl_theory.ledger import ledger
from sfl_theory.notation import written as w
from sfl_theory.notation.written import PARAMETERS

n, m = k.Client("n"), k.Client("m")
eta, tau = w.positive("eta", r"\eta"), w.count("tau", r"\tau")


def inequality(form: k.Lin, equal: bool = False) -> str:
    """Return ``form >= 0`` (``= 0``) with what is negative on the left."""
    return (" = " if equal else r" \le ").join(tex for tex, _ in shown(form))


def typeset(term: object) -> str:
    """Return the LaTeX of a term."""
    return Typeset(letters(taken(term), term)).tex(term)


@pytest.mark.parametrize("paper", ["han2024", "huang2023", "dachille2024", "li2020"])
def test_every_statement_and_hypothesis_has_a_notation(paper: str) -> None:
    """What the ledger's terms say is typeset, and the page can draw it."""
    for claim in ledger().claims(paper)[::3]:
        for _, part in parts_of(claim):
            says = part.says
            texts = [inequality(says.right.value - says.left.value, says.equal)]
            texts += map(typeset, says.hypotheses)
            for tex in texts:
                assert "<code>" not in mathml(tex)
                assert tex.count("{") == tex.count("}")


def test_a_bound_letter_is_unlike_free_ones_and_those_around_it() -> None:
    """``sum_m a_m F_m`` beside a free n; two sums beside each other may share one."""
    own = k.inner(k.gradient(k.Local(n), k.vec(k.Point("x"))), k.vec(k.Point("y")))
    of_m = w.over_clients(m, w.weight(m) ** 2)
    both = own + k.constant(of_m.value)
    assert r"\sum_{m} a_{m}^{2}" in inequality(both)
    assert r"\nabla F_{n}" in inequality(both)
    alone = k.constant(of_m.value)
    assert inequality(alone) == r"0 \le \sum_{n} a_{n}^{2}"
    nested = w.over_clients(n, w.weight(n) ** 2 * w.over_clients(m, w.weight(m) ** 3))
    assert inequality(k.constant(nested.value)).count(r"\sum") == 2


def test_what_is_negative_stands_on_the_left_with_its_sign_turned() -> None:
    form = k.constant((eta - 2 * tau).value)
    assert inequality(form) == r"2 \tau \le \eta"
    assert inequality(form * -1) == r"\eta \le 2 \tau"
    assert inequality(k.constant((eta / tau).value)) == r"0 \le \frac{\eta}{\tau}"


def test_parameters_are_written_as_their_papers_write_them() -> None:
    ledger()
    assert PARAMETERS[w.variable(tau)] == r"\tau"
    assert typeset(w.variable(w.nonnegative("eps2", r"\epsilon^2"))) == r"\epsilon^2"
    squared = k.constant((w.nonnegative("eps2", r"\epsilon^2") ** 2).value)
    assert inequality(squared) == r"0 \le \left(\epsilon^2\right)^{2}"
