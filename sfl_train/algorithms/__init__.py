"""The algorithms of the papers, one module each, batched over clients and replicas."""

from sfl_train.algorithms.algorithm import Algorithm, Rates
from sfl_train.algorithms.fedavg import FedAvg
from sfl_train.algorithms.minibatch_sfl import MiniBatchSFL
from sfl_train.algorithms.sfl_v1 import SFLV1
from sfl_train.algorithms.sfl_v2 import SFLV2

__all__ = ["SFLV1", "SFLV2", "Algorithm", "FedAvg", "MiniBatchSFL", "Rates"]
