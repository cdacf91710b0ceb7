"""The LaTeX document: balanced, nothing undefined, every claim with its number."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bounds.audit import main
from bounds.latex import broken, document, text, width
from sfl_theory.ledger import Entry, ledger

THEOREM = "han2024/thm-3.7/general_convex"
SEPARABLE = "huang2023/prop-1/separable"
KNOWN = frozenset(
    re.findall(
        r"\w+",
        """
    documentclass usepackage setlength textwidth oddsidemargin textheight topmargin
    parindent parskip sloppy allowdisplaybreaks AtBeginDocument
    abovedisplayskip belowdisplayskip abovedisplayshortskip belowdisplayshortskip
    theoremstyle newtheorem title author date maketitle begin end section subsection
    subsubsection tableofcontents textsc textbf emph texttt footnotesize par label
    eqref textbackslash textasciicircum textasciitilde textless textgreater alpha
    beta gamma delta epsilon zeta eta theta kappa lambda mu xi rho sigma tau phi
    Gamma Delta Lambda nabla sum frac sqrt left right langle rangle mathbb mathrm
    text tilde bar hat le ge ne cdot dots mid sim in max min pm mp times top to
    binom surd lceil rceil lfloor rfloor bigl bigr qquad quad exp log Rightarrow subset
    notag allowbreak
    prec
    """,
    )
)
"""What LaTeX, amsmath, amssymb and amsthm define, as far as it is used."""


def entries(*names: str) -> list[Entry]:
    return [ledger().entry(name) for name in names]


def sound(tex: str) -> None:
    """Check brackets, environments, references and macros of a document."""
    plain = re.sub(r"\\[\\{}$%&#_]", "", tex)
    depth = 0
    for c in plain:
        depth += {"{": 1, "}": -1}.get(c, 0)
        assert depth >= 0
    assert depth == 0
    assert plain.count("$") % 2 == 0
    assert tex.isascii()
    open_ = []
    for kind, name in re.findall(r"\\(begin|end)\{([a-z*]+)\}", tex):
        if kind == "begin":
            open_.append(name)
        else:
            assert open_.pop() == name
    assert not open_
    for row in re.split(r"\\\\\n|\n|&", tex):
        sides = Counter(re.findall(r"\\(left|right)(?![a-z])", row))
        assert sides["left"] == sides["right"], row
    used = set(re.findall(r"\\([A-Za-z]+)", re.sub(r"\\\\", " ", tex)))
    assert used <= KNOWN, used - KNOWN
    labels = re.findall(r"\\label\{([^}]*)\}", tex)
    assert len(labels) == len(set(labels))
    assert set(re.findall(r"\\eqref\{([^}]*)\}", tex)) <= set(labels)


def test_what_the_audit_adds_is_not_called_printed() -> None:
    tex = document(entries("li2020/thm-1/linear-speedup"))
    assert r"\begin{added}" in tex
    assert r"\begin{printed}" not in tex


def test_a_claim_with_its_repair_and_proof() -> None:
    tex = document(entries(THEOREM))
    sound(tex)
    claim = ledger().claim(THEOREM)
    assert rf"\begin{{printed}}[{{{claim.location}}}]" in tex
    assert r"\textbf{Refuted}" in tex
    assert "severity: theorem" in tex
    assert text(claim.cause) in tex
    assert tex.index(r"\begin{instead}") < tex.index(r"\begin{proof}")
    assert "Jensen's inequality" in tex
    assert tex.count(r"\begin{equation}") > 20


def test_a_proved_claim_shows_its_own_proof() -> None:
    tex = document(entries("han2024/lemma-C.3"))
    sound(tex)
    assert r"\textbf{Proved}" in tex
    assert r"\begin{proof}" in tex


def test_claims_of_all_papers() -> None:
    """Every 40th claim, and one without terms."""
    claims = ledger().claims()
    bare = next(claim.id for claim in claims if not claim.parts)
    names = dict.fromkeys([*(claim.id for claim in claims[::40]), bare])
    tex = document(entries(*names))
    sound(tex)
    for name in names:
        assert rf"\texttt{{{text(name)}}}" in tex


@pytest.mark.parametrize(
    ("words", "tex"),
    [
        ("5 % of a_b", r"5 \% of a\_b"),
        ("x^T < {1}", r"x\textasciicircum{}T \textless{} \{1\}"),
        ("5 % of a_n", r"5 \% of $a_{n}$"),
        ("sum_n grad F_n", r"$\sum_{n}$ $\nabla F_{n}$"),
        ("2^2000 outcomes", r"2$^{2000}$ outcomes"),
        ("tau_server, sigma_n^2 <= 1$", r"$\tilde{\tau}$, $\sigma_{n}^{2}$ $\le$ 1\$"),
        ("$a_n$ & b", r"$a_n$ \& b"),
        ("costs 5$", r"costs 5\$"),
    ],
)
def test_text_is_escaped(words: str, tex: str) -> None:
    assert text(words) == tex


pieces = st.sampled_from([
    r"\frac{a}{b} \mathbb{E}\left\|x^{t} - x^{*}\right\|^2",
    r"\sum_{n} a_{n} \left(\sigma_{n}^2 + G^2\right)",
    r"\frac{a + b + c + d + e + f + g + h + i + j + k + l + m}{\mu} \left(p + q\right)",
    "S",
])


@given(st.lists(st.tuples(pieces, st.sampled_from(" +-")), min_size=1, max_size=9))
def test_a_broken_formula_is_the_formula(summands: list[tuple[str, str]]) -> None:
    r"""But for alignment, growing brackets, and fractions that were opened."""
    tex = "".join(f" {sign if sign != ' ' else '+'} {one}" for one, sign in summands)
    tex = rf"\mathbb{{E}}f(x) \le S{tex}"
    rows = broken(tex, 40).split("\\\\\n")
    whole = " ".join(row.replace("&", "").replace(r"\qquad", "") for row in rows)
    bare = re.sub(r"\\(left|right|bigl|bigr)(?![a-z])|[{}() ]|\\frac|1", "", whole)
    assert Counter(bare) == Counter(
        re.sub(r"\\(left|right)(?![a-z])|[{}() ]|\\frac", "", tex)
    )
    for row in rows:
        sides = Counter(re.findall(r"\\(left|right)(?![a-z])", row))
        assert sides["left"] == sides["right"]
    assert all(row.count("&") == 1 for row in rows) or len(rows) == 1


def test_width_is_that_of_what_is_seen() -> None:
    assert width(r"\frac{aaaa}{b}") == width("aaaa")
    assert width("a + b") > width("ab")
    assert width(r"\sum_{i=0}^{\tau - 1} a") < 6


def test_the_command_writes_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "deep" / "paper.tex"
    assert main(["--latex", str(out), "--claim", THEOREM]) == 0
    sound(out.read_text())
    assert THEOREM in capsys.readouterr().out
    for bad in (tmp_path, out / "x.tex"):
        with pytest.raises(SystemExit) as stopped:
            main(["--latex", str(bad), "--claim", THEOREM])
        assert stopped.value.code == 2
        assert capsys.readouterr().err.count("\n") == 1
    with pytest.raises(SystemExit) as stopped:
        main(["--latex", str(out), "--mutate"])
    assert stopped.value.code == 2


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no LaTeX at hand")
def test_it_compiles(tmp_path: Path) -> None:
    (tmp_path / "a.tex").write_text(document(entries(THEOREM, SEPARABLE)))
    for _ in range(2):
        subprocess.run(
            ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "a.tex"],
            cwd=tmp_path,
            check=True,
            capture_output=True,
        )
    log = (tmp_path / "a.log").read_text(errors="replace")
    assert "undefined" not in log
    wide = re.findall(r"Overfull \\hbox \((\d+)", log)
    assert all(int(points) < 20 for points in wide)
    assert (tmp_path / "a.pdf").exists()


@pytest.mark.whole
def test_the_whole_ledger_is_sound() -> None:
    sound(document([ledger().entry(claim.id) for claim in ledger().claims()]))
