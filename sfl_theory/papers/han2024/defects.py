"""What is wrong in the paper once and breaks several claims, each in its own way."""

from __future__ import annotations

from sfl_theory.evidence import Defect

NO_WEIGHTS = Defect(
    "SFL-V2's server steps carry no a_n: it follows sum_n grad F_n, not grad f."
)
NO_RATE = Defect(
    "The bound has no learning rate in it but is claimed for every admitted one."
)
SWAPPED = Defect("The printed step sizes have tau and tau_server swapped.")
SCALED = Defect(
    "The sum of a_n/q_n over the participants is not 1: (3) scales the model even "
    "where gradients vanish."
)
FIRST_RATE = Defect("The rate chosen is larger than 1/(2S) at t = 0.")
FIRST_STEP = Defect("At t = 0 the step of the induction needs gamma + 1 <= gamma.")
