r"""What all sections of han2024 write with: parameters, runs and the assumptions.

Blocks: :math:`x=[x_c;x_s]`. ``t`` is the round, ``i`` the local step, ``T`` the number
of rounds, ``tau`` and ``tau_server`` the numbers of local steps of the two sides
(:math:`\tau,\tilde\tau`), ``n`` a client of weight :math:`a_n`.
"""

from __future__ import annotations

from sfl_theory.kernel.terms import Client, Kind, Participants, Rate, Split
from sfl_theory.notation import written as w
from sfl_theory.notation.written import Assumed, Number, Run, Value, Written

n, m = Client("n"), Client("m")
t, i, j = w.natural("t"), w.natural("i"), w.natural("j")
T = w.count("T")
tau, tau_server = w.count("tau", r"\tau"), w.count("tau_server", r"\tilde{\tau}")
tau_min = w.count("tau_min", r"\tau_{min}")
tau_max = w.count("tau_max", r"\tau_{max}")
S, mu = w.positive("S"), w.positive("mu", r"\mu")
excess = w.nonnegative("s", r"\left(S - \mu\right)")
"""S - mu; kernel name s."""
steep = w.called(mu + excess, "S")
"""S where S >= mu is needed: the kernel reads mu + s, s >= 0."""
eps2, G2 = w.nonnegative("eps2", r"\epsilon^2"), w.nonnegative("G2", "G^2")
N = w.clients()
f, best = w.f, w.f.best


def a(client: Client = n) -> Number:
    """Return the weight of a client."""
    return w.weight(client)


def sigma2(client: Client = n) -> Number:
    r"""Return :math:`\sigma_n^2`."""
    return w.of_client("sigma2", client, r"\sigma_{{n}}^2")


def eta(round_: Number = t) -> Number:
    r"""Return the learning rate :math:`\eta^t`."""
    return w.of_round("eta", round_, r"\eta^{{t}}")


def run(
    kind: Kind,
    server_steps: Number | None = None,
    rates: Rate | None = None,
    who: Participants = Participants.EVERYONE,
    client_steps: Number = tau,
) -> Run:
    """Return a run; by default everyone makes tau steps at rates ``eta(t)``."""
    each = rates if rates is not None else w.rate(eta)
    server = w.pace(server_steps or client_steps, each)
    split = Split(kind, who, w.pace(client_steps, each), server)
    return Run(split, f"SFL-{kind}")


def assumption_31(constant: Number = S) -> Assumed:
    """Return Assumption 3.1 in the form that the proofs use, (24)."""
    one = w.smooth(w.local(n), constant)
    return w.every_client(n, one).called("Assumption 3.1 as (24)")


def assumption_32(r: Run) -> tuple[Assumed, ...]:
    """Return Assumption 3.2: unbiased, bounded variance; samples independent."""
    return (
        w.unbiased(r).called("Assumption 3.2, (5)"),
        w.every_client(n, w.variance(r, n, sigma2())).called("Assumption 3.2, (6)"),
        w.independent(r).called("fresh samples, clients independent"),
    )


def assumption_33(r: Run) -> Assumed:
    """Return Assumption 3.3 along the run."""
    return w.bounded_gradients(r, G2).called("Assumption 3.3")


def assumption_34() -> Assumed:
    """Return Assumption 3.4."""
    return w.heterogeneity(eps2).called("Assumption 3.4")


def assumption_C2(modulus: Number | int = mu) -> Assumed:
    """Return Assumption C.2; modulus 0 is the general convex case."""
    one = w.convex(w.local(n), modulus)
    return w.every_client(n, one).called("Assumption C.2")


def minimum() -> Assumed:
    """Return that a minimiser of f exists."""
    return w.minimiser(f).called("a minimiser exists")


def assumption_C1(r: Run) -> tuple[Assumed, ...]:
    """Return Assumption C.1, (24) and (26)-(29)."""
    return (assumption_31(), *assumption_32(r), assumption_33(r), assumption_34())


def each(form: Written[Value]) -> Written[Value]:
    """Return a sum over clients with arbitrary weights b_n >= 0.

    An inequality (equality) between two such sums for all b says the same as one for
    every client n, in a form that a model can evaluate.
    """
    return w.over_clients(n, w.of_client("b", n, "b_{{n}}") * form)


EACH = r"for every n: a sum with arbitrary $b_n \ge 0$ says the same"
