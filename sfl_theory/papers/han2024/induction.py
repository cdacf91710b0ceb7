r"""The inductions (62)-(69) and (99)-(106): :math:`\Delta_t\le v/(\gamma+t)`.

With :math:`\eta^t\tau=\frac{2\beta}{\gamma+t}`, :math:`\beta=\frac2\mu`, the recursion
of a block would give the rate. The lines between are about numbers: u is
:math:`\gamma+t`, v the larger of :math:`\frac{4B_1}{\mu^2}+\frac{8B_2}
{\mu^3(\gamma+1)}` and :math:`(\gamma+1)\Delta_0`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Unpack

from sfl_theory import evidence as entered
from sfl_theory.evidence import (
    Claim,
    Kind,
    Says,
    Severity,
    broken,
    equal,
    repaired,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.kernel.algebra import Number as Exact
from sfl_theory.kernel.hypotheses import Holds
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Kind as V
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number
from sfl_theory.papers.han2024 import defects
from sfl_theory.papers.han2024.one_round import Block, asked, shown
from sfl_theory.papers.han2024.setting import (
    G2,
    N,
    S,
    excess,
    mu,
    steep,
    t,
    tau,
    tau_server,
)
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.notation import combine

BETA = w.called(2 / mu, r"\beta")
LARGE = steep
GAMMA = w.called(8 * LARGE / mu - 1, r"\gamma")
DELTA, FIRST = w.nonnegative("delta", r"\Delta_t"), w.nonnegative("d0", r"\Delta_0")
v = w.nonnegative("v")
u = w.positive("u")
later = w.count("t")
"""t >= 1."""
gamma_s = w.positive("gamma_s", r"\gamma_s")
FEW = w.called(N * mu * (1 + gamma_s) / 8, "S")
"""S = N mu (gamma_s + 1)/8 by the definition of gamma_s, here positive."""
READ_S = "S >= mu: S - mu is a parameter"
READ_U = r"u stands for gamma_s + t and is positive, for else v/u means nothing"


@dataclass(frozen=True)
class Induction:
    """The lines of a section about numbers.

    Attributes:
        block: the block; its rates are the section's.
        section: "D.1.1".
        first: 62 or 99.
        gamma: gamma or gamma_s.
        at: u at round t.
        smoothness: S as the lines have it.
    """

    block: Block
    section: str
    first: int
    gamma: Number
    at: Callable[[Number], Number]
    smoothness: Number

    @property
    def many(self) -> bool:
        """Whether gamma_s = 8 S/(N mu) - 1 has an N."""
        return self.block.visited

    def defined(self, time: Number, *more: Assumed) -> tuple[Assumed, ...]:
        """Return what v and u are."""
        own = w.equals(u, self.gamma + time) if self.many else ()
        return (*w.maximum(v, self.least, (self.gamma + 1) * FIRST), *own, *more)

    @property
    def least(self) -> Number:
        """``4 B_1/mu^2 + 8 B_2/(mu^3 (gamma + 1))``."""
        B1, B2 = self.block.B1, self.block.B2
        return 4 * B1 / mu**2 + 8 * B2 / (mu**3 * (self.gamma + 1))

    @property
    def least_again(self) -> Number:
        """The same in beta."""
        B1, B2, left = self.block.B1, self.block.B2, BETA * mu - 1
        return BETA**2 * B1 / left + BETA**3 * B2 / (left * (self.gamma + 1))

    def largest(self, least: Number) -> Number:
        """Return v as the maximum that it is."""
        tex = rf"\max\left\{{{least.tex}, ({self.gamma.tex} + 1) \Delta_0\right\}}"
        return w.called(v, tex)

    def rated(self, time: Number) -> Block:
        """Return the block with the number eta^t for its rate."""
        own = 2 * BETA / (self.block.steps * self.at(time))
        rate = own / N if self.many else own
        return replace(self.block, rated=w.called(rate, r"\eta^{t}"))

    def noise(self, time: Number) -> Number:
        r"""Return :math:`\frac{(\eta\tau)^2}4B_1+\frac{(\eta\tau)^3}8B_2`."""
        one = self.rated(time)
        e, b = one.eta, one.steps
        return e**2 * b**2 / 4 * one.B1 + e**3 * b**3 / 8 * one.B2

    def line_62(self, time: Number = t) -> Number:
        """Return (62) at a number Delta_t."""
        contracted = self.rated(time).contracted(mu)
        return (1 - contracted / 2) * DELTA + self.noise(time)

    def line_63(self, time: Number = t) -> Number:
        """Return (63)."""
        x = self.at(time)
        return (1 - mu * BETA / x) * (v / x) + self.noise(time)

    def line_64(self, time: Number = t, last: Number = v) -> Number:
        """Return (64), (65), (66): by what stands for v at the end."""
        x, B1, B2 = self.at(time), self.block.B1, self.block.B2
        out = (x - 1) / x**2 * v + BETA**2 * B1 / x**2 + BETA**3 * B2 / x**3
        return out - (BETA * mu - 1) / x**2 * last

    def line_67(self, time: Number = t) -> Number:
        """Return (67)."""
        return (self.at(time) - 1) / self.at(time) ** 2 * v

    def equation(
        self, place: int, title: str, *parts: entered.Part, **told: Unpack[entered.Told]
    ) -> Claim:
        """Return the claim (first + place)."""
        number = self.first + place
        where = f"App. {self.section}, ({number - 1})-({number})"
        name = f"han2024/eq-{number}"
        return Claim(name, where, Kind.EQUATION, title, parts, **told)

    def numbers(
        self, clients: int = 2, time: int = 1, delta: w.Exact = 1
    ) -> dict[str | Number, w.Exact]:
        r"""Return the numbers of equal clients with :math:`S=\mu=1`."""
        noise = Fraction(9, 2) * clients if self.many else Fraction(9, 2)
        squares = noise if self.many else noise / clients
        gamma = Fraction(8, clients) - 1 if self.many else Fraction(7)
        B1, B2 = 4 * clients * squares, 192 * noise
        out: dict[str | Number, w.Exact] = {mu: 1, G2: 4, FIRST: 1, S: 1, excess: 0}
        out |= {t: time, later: time, u: gamma + time, DELTA: delta}
        out[v] = max(4 * B1 + 8 * B2 / (gamma + 1), gamma + 1)
        return out | {tau: 1, tau_server: 1}

    def model(
        self, what: Says, clients: int = 2, time: int = 1, delta: w.Exact = 1
    ) -> Callable[[], ModelData]:
        """Return a model of a line, without what the line does not mention."""
        data = federation(
            [parabola(1, (0, 0))] * clients,
            (1, 0),
            numbers=self.numbers(clients, time, delta),
            families={"sigma2": (Fraction(1, 4),) * clients},
        )
        return lambda: asked(what, data)

    def proved(
        self,
        what: Says,
        words: str,
        uses: Callable[[], list[tuple[Theorem, Exact]]] = list,
        clients: int = 2,
    ) -> entered.Part:
        """Return a line that holds."""
        reading = READ_U if self.many else READ_S
        model = self.model(what, clients)
        return shown(what, uses, words, reading, model=model)

    def claims(self) -> tuple[Claim, ...]:
        """Return (63)-(68) or (100)-(105)."""
        return (
            self.hypothesis(),
            self.sorted_(),
            self.by_definition(),
            self.in_beta(),
            self.step(),
            self.end(),
        )

    def hypothesis(self) -> Claim:
        """Return (63), (100): the induction hypothesis put in."""
        x = self.at(t)
        induction = w.at_most(DELTA, v / x)
        what = says(self.line_62(), self.line_63(), *self.defined(t, induction))
        title = "The induction hypothesis is put in."
        assumed = rules.assume(induction_form(induction))
        keep = 1 - 2 / x.value
        if not self.many:
            words = r"$1-\mu\beta/u=1-2/u\ge0$, for $u=\gamma+t\ge7$."
            one = self.proved(what, words, lambda: [(assumed, keep)])
            return self.equation(1, title, one)
        wide = w.at_most(2, x)
        mended = says(what.left, what.right, *what.assumed, wide)
        wide_sign = rules.assume(induction_form(wide))
        part = shown(
            mended,
            lambda: [(assumed, keep)],
            r"$1-2/u\ge0$.",
            READ_U,
            signs=lambda: [combine((wide_sign, 1 / x.value))],
            model=self.model(mended),
        )
        return self.equation(
            1,
            title,
            broken(
                what,
                self.model(what, clients=5, delta=0),
                r"$N=5$, $S=\mu$, $t=1$: $u=\frac85$, $1-2/u<0$; at "
                r"$\Delta_t=0$ the right side is less.",
                READ_U,
            ),
            severity=Severity.PROOF,
            scope="refuted for u < 2: t = 0 and N > 8S/(3 mu), t = 1 and N > 4S/mu",
            cause="1 - mu beta/u = 1 - 2/u is negative where 0 < u < 2.",
            repair=repaired("gamma_s + t >= 2", part),
        )

    def sorted_(self) -> Claim:
        """Return (64), (101): sorted by powers of u."""
        title = r"Sorted by powers of u: $\eta^t{}=\frac{{2\beta}}{{{}}}$."
        defined = self.defined(t)
        what = equal(self.line_63(), self.line_64(), *defined)
        if not self.many:
            own = title.format(r"\tilde\tau", r"\gamma+t")
            return self.equation(2, own, self.proved(what, "Both are the same."))
        less = says(self.line_63(), self.line_64(), *defined)
        return self.equation(
            2,
            title.format(r"\tau", "Nu"),
            broken(
                what, self.model(what), r"Two clients: $\beta^2B_1/(N^2u^2)$.", READ_U
            ),
            severity=Severity.SLIP,
            scope="refuted for every N >= 2 unless B_1 = B_2 = 0; true for N = 1",
            cause="(eta tau)^2/4 is beta^2/(N u)^2: 1/N^2 and 1/N^3 are lost.",
            repair=repaired("<= in the place of =", self.proved(less, r"$N\ge1$.")),
        )

    def by_definition(self) -> Claim:
        """Return (65), (102): the definition of v."""
        right = self.line_64(last=self.largest(self.least))
        what = equal(self.line_64(), right, *self.defined(t))
        return self.equation(
            3, "The definition of v.", self.proved(what, "v is that maximum.")
        )

    def in_beta(self) -> Claim:
        r"""Return (66), (103): the maximum written with beta."""
        left = self.line_64(last=self.largest(self.least))
        right = self.line_64(last=self.largest(self.least_again))
        defined = self.defined(t)
        return self.equation(
            4,
            r"The maximum written with $\beta$.",
            self.proved(equal(left, right, *defined), "v is both maxima."),
            self.proved(
                equal(self.least, self.least_again, *defined),
                r"$\beta\mu-1=1$, $\beta=\frac2\mu$.",
            ),
        )

    def step(self) -> Claim:
        """Return (67), (104): the step of the induction."""
        what = says(
            self.line_64(last=self.largest(self.least_again)),
            self.line_67(),
            *self.defined(t),
        )
        x = self.at(later)
        mended = says(
            self.line_64(later, self.largest(self.least_again)),
            self.line_67(later),
            *self.defined(later),
        )
        least = rules.assume(k.constant((v - self.least).value))

        def uses() -> list[tuple[Theorem, Exact]]:
            out: list[tuple[Theorem, Exact]] = [(least, 1 / x.value**2)]
            if self.many:
                enough = rules.assume(k.constant((u - self.gamma - later).value))
                drift = (8 * self.block.B2 / mu**3).value
                out.append((enough, drift / (x.value**3 * (self.gamma.value + 1))))
            return out

        return self.equation(
            5,
            "The step of the induction.",
            broken(
                what,
                self.model(what, clients=1, time=0),
                r"One client, $t=0$: $\frac{8B_2}{\mu^3\gamma}$ against "
                r"$\frac{8B_2}{\mu^3(\gamma+1)}$.",
                READ_U if self.many else READ_S,
            ),
            severity=Severity.PROOF,
            scope="refuted at t = 0 wherever v is its first number; true from t = 1 on",
            cause="At t = 0 it needs 8 B_2/(mu^3 (gamma_s+1)) >= 8 B_2/(mu^3 gamma_s)."
            if self.many
            else "At t = 0 it needs 8 B_2/(mu^3 (gamma+1)) >= 8 B_2/(mu^3 gamma).",
            root=defects.FIRST_STEP,
            repair=repaired(
                "t >= 1; t = 0 needs an argument of its own",
                self.proved(
                    mended,
                    r"$u=\gamma+t\ge\gamma+1$, and v is at least its first number.",
                    uses,
                ),
            ),
        )

    def end(self) -> Claim:
        """Return (68), (105)."""
        what = says(self.line_67(), v / (self.at(t) + 1), *self.defined(t))
        return self.equation(
            6, "The end of the induction.", self.proved(what, r"$(u-1)(u+1)\le u^2$.")
        )

    def first_rate(self, key: str) -> Claim:
        """Return that the section's rates are at most 1/(2 S tau)."""
        what, clients = self.admitted(t), 7 if self.many else 1
        words = (
            r"$S=\mu=1$, one step, $t=0$: $\frac47$ against $\frac12$.",
            r"Seven clients, $S=\mu=1$, one step, $t=0$: 4 against $\frac12$.",
        )[self.many]
        return Kind.CONDITION(
            f"han2024/{key}/first-rate",
            f"App. {self.section}, below ({self.first - 1})",
            "The rate chosen is admitted in every round.",
            broken(
                what,
                self.model(what, clients, time=0),
                words,
                READ_U if self.many else READ_S,
            ),
            severity=Severity.PROOF,
            scope="refuted at t = 0; true from t = 1 on",
            cause="False at t = 0: 4/(8S - N mu) > 1/(2S). For large N gamma_s falls "
            "below 0, and the rate is negative."
            if self.many
            else "False at t = 0: 4/(8S - mu) > 1/(2S).",
            root=defects.FIRST_RATE,
            repair=repaired(
                "t >= 1",
                self.proved(
                    self.admitted(later),
                    r"$\mu(\gamma+t)=8S+\mu(t-1)\ge8S$.",
                    self.rate_uses,
                ),
            ),
        )

    def admitted(self, time: Number) -> Says:
        """Return ``eta^t <= 1/(2 S tau)``."""
        one = self.rated(time)
        defined = w.equals(u, self.gamma + time) if self.many else ()
        rate = 2 * BETA / ((N * one.steps if self.many else one.steps) * self.at(time))
        return says(rate, 1 / (2 * self.smoothness * one.steps), *defined)

    def rate_uses(self) -> list[tuple[Theorem, Exact]]:
        """Return what admits the rate."""
        if not self.many:
            return []
        enough = rules.assume(k.constant((u - self.gamma - later).value))
        return [(enough, 1 / (2 * S * self.block.steps * u).value)]


def induction_form(one: Assumed) -> k.Lin:
    """Return the form that a hypothesis says is not negative.

    Raises:
        TypeError: it says something else.
    """
    if not isinstance(one.value, Holds):
        raise TypeError("no inequality")
    return one.value.form


def plus(gamma: Number) -> Callable[[Number], Number]:
    """Return ``gamma + t`` for each t."""
    return lambda time: gamma + time


GAMMA_S = w.called(8 * S / (N * mu) - 1, r"\gamma_s")
D_SERVER = Induction(
    Block(V.V1, Side.SERVER, tau_server, tau, smoothness=LARGE),
    "D.1.1", 62, GAMMA, plus(GAMMA), LARGE,
)  # fmt: skip
D_CLIENT = replace(
    D_SERVER,
    block=Block(V.V1, Side.CLIENT, tau_server, tau, smoothness=LARGE),
    section="D.1.2",
    first=72,
)
E_SERVER = Induction(Block(V.V2, Side.SERVER), "E.1.1", 99, GAMMA_S, lambda _: u, S)
E_CLIENT = replace(
    D_CLIENT,
    block=Block(V.V2, Side.CLIENT, smoothness=LARGE),
    section="E.1.2",
    first=109,
)
F_SERVER, F_CLIENT = (
    replace(D_SERVER, section="F.1.1", first=130),
    replace(D_CLIENT, section="F.1.2", first=135),
)
G_SERVER, G_CLIENT = (
    replace(E_SERVER, section="G.1.1", first=160),
    replace(E_CLIENT, section="G.1.2", first=165),
)
