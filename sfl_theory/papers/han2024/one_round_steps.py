"""The lines (54)-(59) and (91)-(96): what decides each of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Unpack

from sfl_theory import evidence as entered
from sfl_theory.evidence import (
    Claim,
    Kind,
    Model,
    Part,
    Says,
    Severity,
    meeting,
    repaired,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel.algebra import Number as Exact
from sfl_theory.kernel.algebra import Ratio
from sfl_theory.kernel.rules import Theorem
from sfl_theory.kernel.terms import Side
from sfl_theory.models.federation import coin, federation, parabola, quadratic
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form
from sfl_theory.papers.han2024 import one_round
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.contraction import CLOCKS, D1, E1, SERVER, Lines
from sfl_theory.papers.han2024.one_round import AWAY, READ_33, Block, mu, ordered, shown
from sfl_theory.papers.han2024.setting import G2, N, S, a, eta, f, n, t, tau
from sfl_theory.proofs import joint_distance as joint
from sfl_theory.proofs import later_steps as lemmas
from sfl_theory.proofs import local_steps
from sfl_theory.proofs.export import ModelData
from sfl_theory.proofs.local_steps import Round
from sfl_theory.proofs.notation import combine, of, steps, sum_over

# The lines (54)-(59) and (91)-(96): what decides each of them ------------------------


def dependent_noise(block: Block) -> Model:
    """Return noise that makes later gradients depend on earlier noise."""

    def data() -> ModelData:
        third = Fraction(1, 3)
        numbers: dict[str | w.Number, w.Exact] = {S: 1, mu: third, G2: 19, t: 0}
        return federation(
            [quadratic([(2 * third, third), (third, 2 * third)], (0, 0))],
            (0, 0),
            noise=[coin(Fraction(-24, 25), Fraction(7, 25))],
            order=ordered(block, made=2),
            rounds=1,
            numbers=numbers | {block.client_steps: 2, block.server_steps: 2},
            families={"sigma2": (1,)},
            rates={"eta": Fraction(1, 8)},
            best={f: (0, 0)},
            box=[(-3, 3), (-3, 3)],
        )

    return Model(
        data,
        r"One client, $F=\frac13(x_c^2+x_cx_s+x_s^2)$, two steps from $x^*$, noise "
        r"$\pm\frac1{25}(-24,7)$. The first noise moves the client block, so the "
        r"server's second gradient depends on it: $\mathbb E\langle M,Z\rangle=\frac7"
        r"{1500}>0$, so $-2\eta\langle x_s-x_s^*-\eta M,Z\rangle$, which the line "
        r"drops, has the mean $2\eta^2\mathbb E\langle M,Z\rangle>0$.",
    )


def visited_often(block: Block, clients: int = 10) -> Model:
    """Return many clients that one after another move the shared server."""

    def data() -> ModelData:
        return federation(
            [parabola(1, (0, 0))] * clients,
            (0, 1),
            order=ordered(block, clients),
            numbers={S: 1, mu: 1, tau: 1, t: 0, G2: 1},
            families={"sigma2": (0,) * clients},
            rates={"eta": Fraction(1, 100)},
            best={f: (0, 0)},
            box=[(0, 0), (0, 1)],
        )

    return Model(
        data,
        r"Ten clients with $F_n=\frac12\|x\|^2$, no noise, one step each at "
        r"$\eta=\frac1{100}$ from $x_s=1$: the n-th visit finds the server n steps "
        r"away, $\eta^2\sum_nn^2=285\,\eta^2$ (nearly) against $12\cdot10\,\eta^2$.",
    )


def two_clients() -> ModelData:
    """Return two equal clients at a point with a gradient of the server's block."""
    return federation(
        [parabola(1, (0, 0))] * 2,
        (0, 0),
        numbers={S: 1, mu: 1},
        points={w.point("x"): [(0, 1)]},
    )


X = w.point("x")
OWN = w.local(n).gradient(X, Side.SERVER)
GAP, MEAN_GAP = (
    f.gradient(X, Side.SERVER) - w.over_clients(n, each) for each in (OWN, a() * OWN)
)


def vanishes(gap: w.Vector) -> Says:
    """Return that a gap between the gradient of f and the clients' is 0."""
    return says(w.norm2(gap), 0, s.assumption_31(), s.assumption_C2(mu))


SUM_OF_GRADIENTS = Kind.EQUATION(
    "han2024/app-E.1/sum-of-gradients",
    "App. E.1.1, below (92)",
    "The gradient of f is the sum of the clients' gradients.",
    entered.broken(
        vanishes(GAP),
        two_clients,
        r"Two clients with $F_n=\frac12\|x\|^2$ at $x_s=1$: $\nabla_sf=1$, the "
        "sum is 2.",
        r"$\nabla_sf(x)=\sum_n\nabla_sF_n(x)$: the squared distance is at most 0; "
        "f is that of (23), at every x",
    ),
    severity=Severity.PROOF,
    scope="refuted for two clients with weights 1/2; f of (23) has the weights a_n",
    cause=(
        "f is the weighted mean in (23) and the sum here; App. E and G subtract the "
        "gap of f where they have that of the sum."
    ),
    repair=repaired(
        "with the weights a_n",
        shown(
            vanishes(MEAN_GAP),
            lambda: [(rules.mean_gradient(X.value, MEAN_GAP.value), -1)],
            "The definition of f.",
            model=two_clients,
        ),
    ),
)

Uses = Callable[[Round], Theorem]


@dataclass(frozen=True)
class Section:
    """The six lines of a section, each of which is a method."""

    letter: str
    first: int
    lines: Lines

    def claim(
        self, place: int, title: str, *parts: Part, **told: Unpack[entered.Told]
    ) -> Claim:
        """Return the claim of a line without what a refutation adds."""
        number = self.first + place
        where = f"App. {self.letter}.1.1, ({number})"
        name = f"han2024/eq-{number}"
        return Claim(name, where, Kind.EQUATION, title, parts, **told)

    @property
    def weight(self) -> Ratio:
        """Return a_n, or 1 for SFL-V2's server."""
        return w.number(1).value if self.lines.free.visited else a().value

    def proved(
        self, make: Callable[[Block], Says], uses: Uses, words: str
    ) -> tuple[Part, ...]:
        """Return the statement proved for each order of the numbers of steps."""
        blocks = self.lines.blocks
        clocks = CLOCKS if len(blocks) > 1 else ("",)

        def part(block: Block, clock: str) -> Part:
            r = Round(block.run.split)
            return shown(make(block), lambda: [(uses(r), 1)], words, clock)

        return tuple(map(part, blocks, clocks))

    def link(
        self, make: Callable[[Block], tuple[Form, Form, Form]], place: int
    ) -> Callable[[Block], Says]:
        """Return one relation of a chain."""
        return lambda one: says(make(one)[place], make(one)[place + 1], *one.assumed())

    def over_steps(self, r: Round, each: Theorem, factor: Ratio) -> Theorem:
        """Return a theorem on a step, summed over steps and clients."""
        return r.summed(each, r.steps(SERVER), factor)

    def sized(self, r: Round, each: Theorem) -> Theorem:
        """Return it summed with the factors of (56)."""
        scale = r.eta**2 * r.steps(SERVER) * N.value
        return combine((self.over_steps(r, each, self.weight**2), scale))

    def claims(self) -> tuple[Claim, ...]:
        """Return all of them in the paper's order."""
        return (
            self.square(),
            self.first_part(),
            *((SUM_OF_GRADIENTS,) if self.lines.free.visited else ()),
            self.second_moments(),
            self.first_equality(),
            self.progress(),
            self.sequential_drift() if self.lines.free.visited else self.drift(),
            self.noise(),
        )

    @property
    def sums(self) -> str:
        """What the printed gradients of f stand for."""
        return (
            r"$\sum_i\nabla_sf(x_c^{t,i},x_s^{t,i})$ is the sum of the clients' local "
            f"gradients, as in eq-{self.first}"
        )

    def square(self) -> Claim:
        """Return (54), (91)."""
        lines = self.lines
        kept = self.proved(
            lines.square_kept,
            lambda r: lemmas.kept_cross_term(r, SERVER, self.weight),
            r"Z has mean 0 given $x^t$, so $\langle x_s^t-x_s^*,Z\rangle$ vanishes; "
            r"$2\langle M,Z\rangle\le\|M\|^2+\|Z\|^2$.",
        )
        return self.claim(
            0,
            "The update's square splits into a part without noise and the noise.",
            Part(lines.square(lines.free), dependent_noise(lines.free)),
            severity=Severity.PROOF,
            scope="refuted for two steps and mu = 1/3"
            + (
                ""
                if lines.free.visited
                else "; for one step M is fixed before the noise"
            ),
            cause="M holds gradients after the first draws of Z, so E<M, Z> is not 0.",
            repair=repaired("the cross term kept", *kept),
            words=r"M, the sum of the clients' local gradients, is what $\sum_i\nabla_s"
            r"f(x_c^{t,i},x_s^{t,i})$ stands for; the noise is the rest of the update. "
            + READ_33,
        )

    def first_part(self) -> Claim:
        """Return (55), (92)."""
        lines = self.lines
        r = Round(lines.free.run.split)
        return self.claim(
            1,
            "The first part multiplied out.",
            shown(
                lines.first(lines.free),
                lambda: [(lemmas.square_of_step(r, SERVER, self.weight), 1)],
                "The square multiplied out; Cauchy-Schwarz over clients and steps.",
            ),
            uses="app-E.1/sum-of-gradients" if lines.free.visited else "",
            words=self.sums,
        )

    def second_moments(self) -> Claim:
        """Return (56), (93)."""
        return self.claim(
            2,
            "Local gradients by noise and second moments.",
            *self.proved(
                self.link(self.lines.moments, 0),
                lambda r: self.sized(r, lemmas.gradient_by_noise(r, SERVER)),
                r"$g=\nabla F+\xi$ with $\mathbb E\langle\nabla F,\xi\rangle=0$: "
                r"$\|\nabla F\|^2=\|g\|^2-\|\xi\|^2\le\|g\|^2+\|\xi\|^2$.",
            ),
            *self.proved(
                self.link(self.lines.moments, 1),
                lambda r: self.sized(r, lemmas.moments(r, SERVER)),
                "Variance and second moment; a block is at most as long as the vector.",
            ),
            words='the first "=" is read as "<=", for the text calls it "the first '
            f'inequality"; for "=" see eq-{self.first + 2}/first-equality',
        )

    def first_equality(self) -> Claim:
        """Return the first relation of (56), (93) as printed."""
        block = self.lines.free
        left, right, _ = self.lines.moments(block)
        what = entered.equal(left, right, *block.assumed())
        claim = self.claim(
            2,
            "Local gradients are noise and second moments.",
            entered.broken(
                what,
                meeting(what, t=0),
                "Two clients with noise, one step: the right side is larger by "
                r"twice the variance, for $\mathbb E\|\nabla F\|^2=\mathbb E\|g\|^2"
                r"-\mathbb E\|\nabla F-g\|^2$.",
            ),
            severity=Severity.SLIP,
            scope="refuted wherever the block has noise",
            words=READ_33,
            cause='"=" for "<=": the printed sign of the variance is +, not -.',
            repair=repaired(
                "minus in the place of plus",
                *self.proved(
                    self.lines.without_noise,
                    lambda r: self.sized(r, lemmas.gradient_less_noise(r, SERVER)),
                    r"$g=\nabla F+\xi$ with $\mathbb E\langle\nabla F,\xi\rangle=0$.",
                ),
            ),
        )
        return replace(claim, id=f"{claim.id}/first-equality")

    def progress(self) -> Claim:
        """Return (57), (94)."""
        block, lines = self.lines.free, self.lines
        r = Round(block.run.split)

        def lemma() -> list[tuple[Theorem, Exact]]:
            one = joint.local_progress(r, mu.value, of(local_steps.i))
            return [(self.over_steps(r, one, self.weight), 2 * r.eta)]

        return self.claim(
            3,
            "Lemma C.3 at the local points, for a block.",
            Part(lines.progress(block), one_round.at_minimiser(block)),
            severity=Severity.PROOF,
            scope=f"refuted for mu = 1. {AWAY}",
            cause="Lemma C.3 for the whole vector applied to a block: where x_s = x_s* "
            "the left side is 0, but the gap of both blocks stands on the right.",
            words=READ_33,
            uses="lemma-C.3",
            repair=repaired(
                "both blocks together",
                shown(
                    lines.progress(block, whole=True),
                    lemma,
                    "Lemma C.3 at every local gradient, summed with the weights.",
                ),
            ),
        )

    def drift(self) -> Claim:
        """Return (58)."""
        return self.claim(
            4,
            "Each client's copy of the block drifts by its own gradients.",
            *self.proved(
                self.lines.moved,
                lambda r: self.over_steps(r, lemmas.own_drift(r, SERVER), self.weight),
                r"$x_{s,n}^{t,i}-x_s^t$ is $-\eta$ times i stochastic gradients: "
                r"Jensen, and $\sum_ii^2\le\tilde\tau^3/3$. No condition on the rate.",
            ),
            uses="lemma-C.5",
            words=r"Lemma C.5, which the paper cites, needs $\eta\le1/(\sqrt6S\tau)$; "
            "the line holds without.",
        )

    def sequential_drift(self) -> Claim:
        """Return (95)."""
        block = self.lines.free
        right = eta() ** 2 * N**3 * tau**3 * G2
        return self.claim(
            4,
            "The shared server drifts as a client's own copy does.",
            Part(self.lines.moved(block), visited_often(block)),
            severity=Severity.PROOF,
            scope="refuted for 10 clients and mu = 1, whatever the order of the visits",
            cause="A lemma for one client's model applied to the shared server, which "
            "also moves at the visits of the others: N tau steps, not tau.",
            words=READ_33,
            uses="lemma-C.5",
            repair=repaired(
                "a factor of at most N^2/12",
                *self.proved(
                    lambda one: says(
                        self.lines.drift(one), right, *one.assumed(small=False)
                    ),
                    lambda r: self.over_steps(r, lemmas.visited_drift(r), self.weight),
                    r"Before a visit the server has moved by at most $N\tau$ "
                    "stochastic gradients, whatever the order: Cauchy-Schwarz.",
                ),
            ),
        )

    def noise(self) -> Claim:
        """Return (59), (96)."""

        def clients(r: Round) -> Theorem:
            one, tau_b = lemmas.noise_of_sum(r, SERVER, self.weight), r.steps(SERVER)
            return combine((sum_over(one, steps(tau_b), local_steps.i), tau_b))

        return self.claim(
            5,
            "The noise of the update.",
            *self.proved(
                self.link(self.lines.spread, 0),
                lambda r: lemmas.noise_steps(r, SERVER, self.weight),
                "Cauchy-Schwarz over steps.",
            ),
            *self.proved(
                self.link(self.lines.spread, 1),
                clients,
                "Cauchy-Schwarz over clients; variance.",
            ),
            words="the double sum of the left side stands in the order of the middle; "
            + self.sums,
        )


D = Section("D", 54, D1)
E = Section("E", 91, E1)
