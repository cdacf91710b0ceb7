"""Runs of algorithms in words: what a statement speaks of, from its terms."""

from __future__ import annotations

from sfl_theory.kernel import terms as k
from sfl_theory.notation.writer import Writer
from sfl_theory.notation.written import RATES

KINDS = {
    k.Kind.V1: "SFL-V1",
    k.Kind.V2: "SFL-V2",
    k.Kind.V2_WEIGHTED: "SFL-V2 with server steps weighted by $a_n$",
    k.Kind.MINIBATCH: "MiniBatch-SFL",
    k.Kind.COUNTED: "SFL-V1 on one counter of iterations",
}
TAKE_PART = {
    k.Participants.EVERYONE: "every client takes part",
    k.Participants.UPDATES: "clients are drawn and their updates are aggregated",
    k.Participants.MODELS: "clients are drawn and their models are aggregated",
    k.Participants.MEAN: "clients are drawn, their updates are aggregated, and the "
    "server steps by the mean of those present",
}


def run_in_words(run: k.Run, writer: Writer) -> str:
    """Return which run the iterates are of, formulas between dollars.

    Args:
        run: of a statement.
        writer: of its paper.

    Returns:
        Algorithm, participation, steps and learning rates.
    """
    if isinstance(run, k.Descent):
        rate = _rate(run.rate, writer)
        function = writer.function(run.function).tex
        return f"gradient descent on ${function}$ at rate ${rate}$"
    counted = run.kind is k.Kind.COUNTED
    sides = [_pace(run.pace(side), writer, counted) for side in k.Side]
    client, server = sides
    paces = client if client == server else f"client {client}, server {server}"
    alike = run.kind is k.Kind.V1 and client == server
    kind = KINDS[run.kind] + " with both sides alike (FedAvg)" * alike
    return f"{kind}, {TAKE_PART[run.participants]}, {paces}"


def _pace(pace: k.AnyPace, writer: Writer, on_one_counter: bool) -> str:
    steps, rate = writer.index(pace.steps), _rate(pace.rate, writer)
    if on_one_counter:
        return f"averaged every ${steps}$ iterations, rate ${rate}$ at iteration $t$"
    counted = ", $t$ counting steps" if isinstance(pace, k.Stepwise) else ""
    return f"${steps}$ steps a round at rate ${rate}${counted}"


def _rate(rate: k.Rate, writer: Writer) -> str:
    """Return a learning rate as it was written, or else in the paper's symbols."""
    return (RATES.get(rate) or writer.number(rate.body)).tex
