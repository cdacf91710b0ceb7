r"""What of Sec. 3's results is owed to how they were derived: entries of the audit.

The cube root of the general convex bounds, the factor that SFL-V2 pays, the draws of
Algorithm 1, and which function is strongly convex. Bounds are compared as numbers,
whether or not they hold.
"""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from sfl_theory import evidence
from sfl_theory.evidence import (
    Kind,
    Model,
    Part,
    Says,
    Severity,
    proved,
    repaired,
    says,
)
from sfl_theory.kernel import rules
from sfl_theory.kernel import terms as k
from sfl_theory.models.federation import Numbers, bare, federation, parabola
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Form, Number
from sfl_theory.papers.han2024 import printed
from sfl_theory.papers.han2024 import setting as s
from sfl_theory.papers.han2024.comparing import EQUAL, SIGMA2, broken, compared, entry
from sfl_theory.papers.han2024.printed import NUMBERS, Data, I_err, shared
from sfl_theory.papers.han2024.setting import N, n
from sfl_theory.proofs import numbers
from sfl_theory.proofs.export import ModelData, Statement
from sfl_theory.proofs.notation import Uses, combine

RECURSIONS = dict(zip(NUMBERS, (76, 113, 143, 173), strict=True))
SUMMED = "App. D.2.3, E.2.3, F.2.3, G.2.3"


# The general convex bounds: what the papers' own recursions give ----------------------


def pieces(number: str, d: Data) -> tuple[Number, Number, Number]:
    r"""Return c_1, c_2, c_3 of the recursion (76), (113), (143) or (173), summed.

    It bounds the mean gap of rounds 0, ..., T by
    :math:`\frac{c_1}{\eta(T+1)}+c_2\eta+c_3\eta^2`.
    """
    if shared(number):
        low, square, cube = d.tau, d.tau**2, d.tau**3
    else:
        low = d.tau_min
        square, cube = (d.tau_server**power + d.tau**power for power in (2, 3))
    noise = N * square * printed.noise(number, d) / (4 * low)
    drift = 6 * d.S * cube * printed.drift(number, d) / low
    return I_err / (4 * low), noise, drift


root = w.positive("later_root", r"\sqrt{T+1}")
first = w.positive("alpha", r"\alpha")


def example(number: str) -> ModelData:
    """Return two clients for the recursion of a theorem."""
    values: Numbers = {s.S: 1, s.G2: 1, s.tau: 1, I_err: 1, root: 2, first: 1}
    if not shared(number):
        values |= {s.tau_server: 1, printed.tau_min: 1}
    return bare(2, values, families={"sigma2": (1, 1)})


def tuned(number: str) -> Part:
    r"""Return that the summed recursion is :math:`O(T^{-1/2})` at its best rate."""

    def build(d: Data) -> Says:
        one, two, three = pieces(number, d)
        eta = first / root
        left = one / (eta * root**2) + two * eta + three * eta**2
        right = one / first + two * first + three * first**2
        return says(root * left, right, w.at_most(1, root))

    def uses(d: Data, statement: Statement) -> Uses:
        (known,) = numbers.on(statement, root.value)
        return [(known, (pieces(number, d)[2] * first**2 / root).value)]

    return compared(
        build,
        Data(),
        uses,
        r"At $\eta=\alpha/\sqrt{T+1}$ the start and $c_2\eta$ are their values at "
        r"$T=0$ over $\sqrt{T+1}$, $c_3\eta^2$ is smaller.",
        f"({RECURSIONS[number]}) summed over rounds 0, ..., T at the constant rate "
        "alpha/sqrt(T + 1); T + 1 is written as the square of its root",
        partial(example, number),
    )


middle = w.nonnegative("c", "c")
level, noisy = w.positive("level", "p"), w.positive("noisy", "r")


def between() -> Part:
    """Return that the tuned cube root is at most a mean of the two other terms."""
    statement = says(
        3 * middle, level + 2 * noisy, w.at_most(middle**3, level * noisy**2)
    )

    def theorem() -> rules.Theorem:
        c, p, r = middle.value, level.value, noisy.value
        (known,) = numbers.on(statement.statement("numbers"), c)
        apart = (rules.square(p - r), p + 8 * r)
        large = p + 2 * r
        powers = combine((known, 27), apart, target=k.constant(large**3 - 27 * c**3))
        return numbers.root(powers, 3 * c, large, 3)

    return proved(
        statement,
        theorem,
        r"$(p+2r)^3-27pr^2=(p-r)^2(p+8r)$.",
        "p = S I/(T+1), r = (G^2 I/(T+1))^(1/2): the third term of a tuned rate is "
        "(S G^2)^(1/3) (I/(T+1))^(2/3) = (p r^2)^(1/3), up to constants",
        model=lambda: bare(1, {middle: 1, level: 1, noisy: 1}),
    )


TUNED = entry(
    "rate/general_convex/tuned",
    f"{SUMMED}, on O(T^(-1/3)) of Sec. 3.3",
    "(entry of the audit) The cube root of T is owed to the tuning: the recursions "
    "(76), (113), (143), (173) summed at a rate alpha/sqrt(T+1) are O(T^(-1/2)), and "
    "a third term with exponent 2/3 lies below the two others.",
    (*map(tuned, NUMBERS), between()),
    "eq-76 eq-113 eq-143 eq-173",
    scope="for what the recursions imply for the mean gap, whether or not they hold, "
    "and alpha such that alpha/sqrt(T+1) is admitted",
)

scale = w.positive("scale", r"\lambda")


def under_cube_root(number: str, power: int, unit: Number) -> Number:
    r"""Return what a bound's cube root is of, in the variable :math:`\lambda x`.

    S, G^2 and sigma_n^2 are divided by the square of the unit, I_err is multiplied.
    """
    d = Data(
        S=s.S / unit**2,
        G2=s.G2 / unit**2,
        sigma2=lambda client: s.sigma2(client) / unit**2,
    )
    own = 24 * d.S * printed.drift(number, d)
    if not shared(number):
        own = own * (d.tau_server**2 + d.tau**2) / d.tau_min**2
    return own * (I_err * unit**2 / (s.T + 1)) ** power


def in_units(number: str, power: int) -> Says:
    """Return that a cube root is the same in every unit of x."""
    left, right = (under_cube_root(number, power, u) for u in (w.number(1), scale))
    return evidence.equal(left, right)


def depends(number: str) -> Part:
    """Return that the printed cube root is the same in every unit of x."""

    def data() -> ModelData:
        values: Numbers = {s.S: 1, s.T: 1, s.G2: 1, I_err: 1, scale: 2}
        if not shared(number):
            values |= {s.tau: 1, s.tau_server: 1, printed.tau_min: 1}
        return bare(2, values, families={"sigma2": (0, 0)})

    return broken(
        in_units(number, 1),
        data,
        r"$\lambda=2$: S and $G^2$ are a quarter, $I_{err}$ is four times as large.",
        f"what the cube root of Theorem {number} is of, and the same in the variable "
        "lambda x; the gap, which the bound bounds, is that of the same f",
    )


def free(number: str) -> Part:
    """Return that with the square of the start it is the same in every unit."""
    statement = in_units(number, 2)
    target = statement.right.value - statement.left.value
    proof = evidence.Proof(partial(combine, target=target), r"$\lambda^{-2-2+4}=1$.")
    return Part(statement, proof, f"Theorem {number}, I_err/(T + 1) squared")


UNITS = Kind.TEXT(
    "han2024/text/rate/general_convex/units",
    "(77), (114), (144), (174), and (12), (15), (18), (21)",
    "(entry of the audit) The cube root of the general convex bounds is a gap: it does "
    "not depend on the unit in which x is measured.",
    *tuple(map(depends, NUMBERS)),
    severity=Severity.PROOF,
    scope="of the cube roots; the two other terms of each bound do not depend on it",
    cause="The tuned drift is (c I^2/(T+1)^2)^(1/3); printed is (c I/(T+1))^(1/3), the "
    "exponent 1/3 for 2/3 of the start: hence the order T^(-1/3).",
    uses="eq-77 eq-114 eq-144 eq-174",
    repair=repaired("(I_err/(T + 1))^(2/3) for the 1/3", *tuple(map(free, NUMBERS))),
)


def from_start(number: str, factor: Number) -> Says:
    """Return that S I_err/(2(T+1)) covers what the start adds at the largest rate."""
    d, late = Data(), s.T + 1
    left = pieces(number, d)[0] / (late / (2 * s.S * d.tau_max))
    return says(left, factor * s.S * I_err / (2 * late))


def without_periods(number: str) -> Part:
    """Return that the printed last term covers the start's, for unequal periods."""

    def data() -> ModelData:
        paces: Numbers = {printed.tau_min: 1, printed.tau_max: 2}
        return bare(1, {s.S: 1, s.T: 1, I_err: 1, **paces})

    return broken(
        from_start(number, w.number(1)),
        data,
        r"$\tau_{max}=2\tau_{min}$: twice as much.",
        f"Theorem {number}; what the start adds to the summed recursion at the largest "
        "admitted rate, where it is least, against S I_err/(2(T + 1))",
    )


def with_periods(number: str) -> Part:
    """Return the same with the missing factor."""
    statement = from_start(number, printed.tau_max / printed.tau_min)
    target = statement.right.value - statement.left.value
    return proved(
        statement, partial(combine, target=target), reading=f"Theorem {number}"
    )


PERIODS = Kind.TEXT(
    "han2024/text/rate/general_convex/periods",
    "(77), (144), and (12), (18)",
    "(entry of the audit) S I_err/(2(T+1)), the last term of the general convex bounds "
    "of SFL-V1, covers what the start adds to the summed recursion at some admitted "
    "rate.",
    *tuple(map(without_periods, ("3.6", "3.8"))),
    severity=Severity.PROOF,
    scope="for tau != tau_server; for equal periods it is exactly that",
    cause="The rate is at most 1/(2 S tau_max), the gap is earned with tau_min: a "
    "factor tau_max/tau_min is lost.",
    uses="eq-76 eq-77 eq-143 eq-144",
    repair=repaired(
        "tau_max/tau_min times the term", *tuple(map(with_periods, ("3.6", "3.8")))
    ),
)

# SFL-V2 beside SFL-V1 ---------------------------------------------------------------


def kept(power: int) -> Part:
    """Return that B_1/N^2 and B_2/N^3 of SFL-V2 are at most SFL-V1's, a_n = 1/N."""
    each = 2 * SIGMA2 + s.G2
    ours = {2: 4 * N * w.over_clients(n, each), 3: 192 * s.S * w.over_clients(n, each)}
    total = {2: printed.noise, 3: printed.drift}[power]("3.6", EQUAL)
    theirs = 4 * N * total if power == 2 else 192 * s.S * total
    return compared(
        lambda _: says(ours[power] / N**power, theirs),
        EQUAL,
        reading=f"B_{power - 1} of (98) over N^{power}, as its rates leave it, against "
        f"B_{power - 1} of (61)",
    )


DROPPED = entry(
    "v1-v2/dropped-powers",
    "Sec. 3.3, App. E.1 (98)-(106)",
    "(entry of the audit) The factor of order N^2 between the strongly convex bounds "
    "is owed to the powers 1/N^2 and 1/N^3 that (101) drops: with them SFL-V2's "
    "constants are at most those of SFL-V1, for equal weights.",
    (kept(2), kept(3)),
    "eq-61 eq-98 eq-101",
    scope="for a_n = 1/N, sigma_n = sigma; of the constants of the server's recursion "
    "as printed, whether or not it holds",
)

# Algorithm 1 and the assumptions ------------------------------------------------------

chance = w.positive("chance", "q_{n}")


def drawn(at_one: bool) -> Says:
    """Return that a client makes both steps of a round with probability q_n."""
    one = w.at_most(chance, 1)
    more = (w.at_most(1, chance),) if at_one else ()
    return says(chance, chance**2, one, *more)


def in_all_steps() -> rules.Theorem:
    """Return q_n <= q_n^2 where q_n >= 1."""
    known = rules.assume(k.constant(chance.value - 1))
    return combine((known, chance.value))


DRAWS = Kind.ALGORITHM(
    "han2024/alg-1/draws",
    "App. B, Algorithm 1, lines 2 and 3, against Sec. 2.3 and App. C.2",
    "A client takes part in a round, in all of its steps, with probability q_n.",
    Part(
        drawn(at_one=False),
        Model(
            lambda: bare(1, {chance: Fraction(1, 2)}),
            r"$q_n=\frac12$: it makes both steps with probability $\frac14$.",
        ),
        "the box draws P_t in every iteration: independent draws of probability "
        "q_n, two steps in a round, made both with probability q_n^2",
    ),
    severity=Severity.SLIP,
    scope="for q_n < 1 and more than one local step; the theorems draw once a round",
    cause="P_t is drawn inside the loop over iterations i, and t is never advanced.",
    words="That t is never advanced, so that P_t and eta^t are those of one round for "
    "ever, is read off the box; no term says what a box is.",
    uses="alg-1",
    repair=repaired(
        "everyone takes part, or P_t is drawn where t is advanced, once in a round",
        proved(
            drawn(at_one=True),
            in_all_steps,
            reading="q_n = 1",
            model=lambda: bare(1, {chance: 1}),
        ),
    ),
)

here, there = w.point("x"), w.point("y")


def curved(of: w.Function) -> Form:
    """Return by how much a function's convexity inequality (30) is missed."""
    away = there - here
    tangent = of(here) + w.inner(of.gradient(here), away)
    return tangent + s.mu / 2 * w.norm2(away) - of(there)


WHICH = Kind.ASSUMPTION(
    "han2024/assumption-C.2/which-function",
    "Theorems 3.6-3.9 in Sec. 3, against (30)",
    "'mu-strongly convex' of Sec. 3, which does not say of which function, is "
    "Assumption C.2 if it is said of f.",
    Part(
        says(
            s.each(curved(w.local(n))),
            0,
            s.assumption_31(),
            w.convex(s.f, s.mu).called("f is mu-strongly convex"),
        ),
        Model(
            lambda: federation(
                [parabola(3, (0, 0)), parabola(-1, (0, 0))],
                (0, 0),
                points={here: [(0, 0)], there: [(1, 0)]},
                numbers={s.mu: 1, s.S: 3},
                families={"b": (0, 1)},
            ),
            r"$F_1=\frac32\|x\|^2$, $F_2=-\frac12\|x\|^2$: $f=\frac12\|x\|^2$ is "
            r"1-strongly convex, $F_2$ is concave.",
        ),
        s.EACH,
    ),
    severity=Severity.SLIP,
    scope="for N >= 2; only App. C.3 says that every F_n is meant",
    cause="Sec. 3 names Assumptions 3.1-3.3 and 'mu-strongly convex', no function; the "
    "proofs use C.2 for every client.",
    uses="assumption-C.2/strongly_convex",
)

CLAIMS = (TUNED, UNITS, PERIODS, DROPPED, DRAWS, WHICH)
