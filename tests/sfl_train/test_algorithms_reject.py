"""What is refused, in one line, and how divergence is reported."""

import numpy as np
import pytest
import torch
from toys import NoisyBowls, train

from sfl_train.algorithms import SFLV1, SFLV2, FedAvg, MiniBatchSFL
from sfl_train.algorithms.aggregation import aggregate
from sfl_train.engine import ConstantRate, Diverged
from sfl_train.federation import Federation
from sfl_train.optimizer import SGD, Adam

BOWLS = NoisyBowls(3, 4)


class Nobody(NoisyBowls):
    def __init__(self):
        super().__init__(1, 2)
        self.clients = 0


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("weights", [0.5, 0.5]),
        ("weights", [0.5, 0.4, 0.2]),
        ("weights", [1.5, -0.5, 0.0]),
        ("weights", [np.nan, 0.5, 0.5]),
        ("participation", [0.5, 0.5]),
        ("participation", 0.0),
        ("participation", [1.0, 1.1, 1.0]),
        ("participation", [1.0, np.nan, 1.0]),
        ("seeds", ()),
        ("seeds", (-1,)),
        ("seeds", (1, 1)),
        ("client_ids", [0, 1]),
        ("client_ids", [0, 1, 1]),
        ("client_ids", [0.0, 1.0, 2.0]),
    ],
)
def test_impossible_federations_are_refused(field, value):
    with pytest.raises(ValueError, match=f"^{field}: expected .*got [^\n]*$"):
        Federation(BOWLS, **{field: value})


def test_no_clients_are_refused():
    with pytest.raises(ValueError, match="clients: expected at least one"):
        Federation(Nobody())


@pytest.mark.parametrize(
    ("make", "name"),
    [
        (lambda: FedAvg(0), "tau"),
        (lambda: FedAvg(1.5), "tau"),
        (lambda: SFLV1(1, 0, 2), "tau_server"),
        (lambda: SFLV1(1, 1, 2, "wall"), "clock"),
        (lambda: SFLV2(1, 2, "alphabetical"), "order"),
        (lambda: FedAvg(1, aggregation="sum"), "aggregation"),
        (lambda: FedAvg(1, server_optimizer=Adam()), "server_optimizer"),
        (lambda: SGD(momentum=1.0), "momentum"),
        (lambda: SGD(weight_decay=-1.0), "weight_decay"),
        (lambda: SGD(lifetime="forever"), "lifetime"),
        (lambda: Adam(betas=(0.9, 1.0)), "betas"),
        (lambda: Adam(eps=0.0), "eps"),
    ],
)
def test_impossible_options_are_refused(make, name):
    with pytest.raises(ValueError, match=f"^{name}: [^\n]*$"):
        make()


@pytest.mark.parametrize("cut", [0, 4, -1, 1.5])
@pytest.mark.parametrize("kind", [SFLV1, SFLV2, MiniBatchSFL])
def test_a_cut_must_leave_parameters_on_both_sides(kind, cut):
    algorithm = SFLV1(1, 1, cut) if kind is SFLV1 else kind(1, cut)
    with pytest.raises(ValueError, match=r"^cut: expected an integer in 1\.\.3"):
        train(Federation(BOWLS), algorithm)


@pytest.mark.parametrize("rate", [ConstantRate(-0.1), ConstantRate(0.1, np.nan)])
def test_impossible_learning_rates_are_refused(rate):
    with pytest.raises(ValueError, match=r"^learning rate: "):
        train(Federation(BOWLS), SFLV1(1, 1, 2), rate)


def test_fedavg_has_one_learning_rate():
    with pytest.raises(ValueError, match=r"^learning rate: FedAvg"):
        train(Federation(BOWLS), FedAvg(1), ConstantRate(0.1, 0.2))


@pytest.mark.parametrize(
    "algorithm", [FedAvg(2), SFLV1(2, 1, 2), SFLV2(2, 2), MiniBatchSFL(2, 2)]
)
@pytest.mark.parametrize("participation", [1.0, 0.7])
def test_divergence_is_reported_with_round_and_learning_rate(algorithm, participation):
    """Before the model is infinite, and never as NaN."""
    federation = Federation(BOWLS, participation=participation)
    with pytest.raises(Diverged) as caught:
        train(federation, algorithm, ConstantRate(30.0), 500)
    assert caught.value.learning_rate == (30.0, 30.0)
    assert str(caught.value).startswith(
        f"diverged in round {caught.value.round} with learning rate 30 (client side), "
    )


@pytest.mark.parametrize("rule", ["updates", "models"])
def test_an_empty_round_leaves_the_model_as_it_is(rule):
    federation = Federation(BOWLS, participation=0.5, seeds=(0, 1))
    x, present = torch.randn(4, 2).double(), torch.zeros(3, 2, dtype=torch.bool)
    present[:, 1] = True
    new = aggregate(x.repeat(3, 1, 1) + 1, x, federation, present, rule)
    assert torch.equal(new[:, 0], x[:, 0])
    assert not torch.equal(new[:, 1], x[:, 1])


def test_both_rules_are_one_under_full_participation():
    """Bitwise: the remainder 1 - sum of a_n is dropped, even where it is not zero."""
    federation = Federation(BOWLS, weights=[0.1, 0.2, 0.7 + 5e-10])
    x, models = torch.randn(4, 1).double(), torch.randn(3, 4, 1).double()
    both = [aggregate(models, x, federation, None, r) for r in ("updates", "models")]
    assert torch.equal(*both)
