"""From options to a run: data, partition, network, algorithm."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from sfl_train.deep.algorithms.centralised import Centralised
from sfl_train.deep.algorithms.minibatch import MiniBatchSFL
from sfl_train.deep.algorithms.parallel import SFLV1, FedAvg
from sfl_train.deep.algorithms.run import DeepRun, Options
from sfl_train.deep.algorithms.sequential import (
    InterleavedSFLV2,
    SequentialSFLV2,
    SplitLearning,
)
from sfl_train.deep.algorithms.server_optimizer import ServerOptimizer
from sfl_train.deep.algorithms.waiting import WaitingSFLV1
from sfl_train.deep.cluster import Cluster
from sfl_train.deep.config import Config
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.named import load
from sfl_train.deep.data.store import Store
from sfl_train.deep.device import prepare
from sfl_train.deep.federation import DeepFederation, LocalWork, Participation
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.footprint import footprint, outline, refuse_too_large
from sfl_train.deep.models.named import build
from sfl_train.deep.models.network import Network
from sfl_train.deep.models.own import own_network
from sfl_train.deep.own_files import digests, own_model
from sfl_train.deep.schedule import LearningRates
from sfl_train.deep.worker import Worker
from sfl_train.optimizer import SGD, Adam, Lifetime, Optimizer
from sfl_train.partition import partition

NOBODY = 0.99
"""A run in which nobody takes part with at least this probability is refused."""


@dataclass(frozen=True)
class Assembly:
    """Everything a run consists of.

    Attributes:
        config: the options.
        images: the data.
        parts: samples of every client.
        network: the model and its cuts.
        cut: number of client-side blocks; the cut is defined for every algorithm, and
            FedAvg and centralised training measure its two sides too.
        run: the algorithm, at round 0.
        rates: learning rates by round.
    """

    config: Config
    images: Images
    parts: tuple[NDArray[np.int64], ...]
    network: Network
    cut: int
    run: DeepRun
    rates: LearningRates

    @property
    def federation(self) -> DeepFederation:
        """The clients."""
        return self.run.federation


def assemble(config: Config, cluster: Cluster | None = None) -> Assembly:
    """Build a run.

    Args:
        config: the options.
        cluster: processes that share the clients.

    Returns:
        The run at round 0 and what it consists of.

    Raises:
        ValueError: if the options do not fit each other or the data.
    """
    prepare(config.device, config.precision, config.deterministic)
    images = load(config.dataset, Path(config.data_root))
    parts = partition(
        config.partition, images.train_y, config.clients, config.seed, images.groups
    )
    if config.classes is not None and config.classes < images.classes:
        raise ValueError(
            f"--classes: the data have {images.classes} classes, got {config.classes}"
        )
    made = partial(_network, config, images)
    own = own_model(config.model) is not None
    network = made() if own else outline(made)
    need = footprint(
        config,
        network,
        images.train_x.shape[1:],
        (len(images.train_y), len(images.test_y)),
        [len(part) for part in parts],
    )
    refuse_too_large(need, config)
    network = network if own else made()
    if config.digests != digests(config.model, config.dataset):
        raise ValueError("--model: its file or that of --dataset changed just now")
    cut = network.cut(config.cut)
    model = FlatModel(network.blocks, config.device, config.channels_last)
    worker = Worker(model, config.precision, config.compile)  # type: ignore[arg-type]
    store = Store(
        images,
        config.device,
        augmentation=config.augmentation,  # type: ignore[arg-type]
        channels_last=config.channels_last,
    )
    run = _algorithm(config, worker, _federation(config, store, parts), cut, cluster)
    # MiniBatch-SFL's server has the samples of all clients in its batch.
    alone = cut if config.algorithm == "minibatch-sfl" else len(network.blocks)
    _check_single_samples(run, alone)
    rates = LearningRates(config, run.federation.weights.tolist(), run.federation.q)
    return Assembly(config, images, parts, network, cut, run, rates)


def _network(config: Config, images: Images) -> Network:
    classes = config.classes or images.classes
    own = own_model(config.model)
    if own is not None:
        return own_network(*own, images, classes, config.seed)
    return build(
        config.model,
        images.channels,
        classes,
        images.pixels,
        norm=config.norm,  # type: ignore[arg-type]
        width=config.width,
        blocks=config.depth,
        seed=config.seed,
    )


def _check_single_samples(run: DeepRun, blocks: int) -> None:
    """Refuse a mini-batch of one sample where BatchNorm would normalise one value.

    Args:
        run: at round 0; left as it is.
        blocks: number of blocks that see a client's mini-batch alone.

    Raises:
        ValueError: if training would fail at such a mini-batch.
    """
    federation, model = run.federation, run.worker.model
    sizes = [len(part) for part in federation.parts]
    alone = [n for n, size in enumerate(sizes) if federation.work.smallest(size) == 1]
    if not alone:
        return
    kept, x = model.state.clone(), federation.store.test(slice(0, 1))[0]
    try:
        with torch.no_grad():
            model.blocks[:blocks].train()(x)
    except ValueError as error:
        raise ValueError(
            f"--batch-size: client {alone[0]} has {sizes[alone[0]]} samples and so a "
            "mini-batch of one, in which BatchNorm has one value per channel: take "
            "another --batch-size or partition, or --norm group"
        ) from error
    finally:
        model.state.copy_(kept)


def _federation(
    config: Config, store: Store, parts: tuple[NDArray[np.int64], ...]
) -> DeepFederation:
    tau = config.tau
    if tau is not None and config.tau_server is not None:
        tau = max(tau, config.tau_server)
    work = LocalWork(tau, config.epochs, config.batch_size, config.sampling)  # type: ignore[arg-type]
    fixed = config.participation_draw == "fixed"
    nobody = (1 - config.participation) ** (config.rounds * len(parts))
    if not fixed and nobody > NOBODY:
        raise ValueError(
            f"participation: at {config.participation:g} nobody would take part in any "
            f"of {config.rounds} rounds, with probability {nobody:.4f}"
        )
    count = max(1, round(config.participation * len(parts))) if fixed else None
    return DeepFederation(
        store,
        parts,
        work,
        Participation(config.participation, count),
        config.weights,  # type: ignore[arg-type]
        config.seed,
    )


def _algorithm(
    config: Config,
    worker: Worker,
    federation: DeepFederation,
    cut: int,
    cluster: Cluster | None,
) -> DeepRun:
    options = Options(
        _optimizer(config, config.optimizer, config.lifetime),
        _optimizer(
            config, config.server_optimizer or config.optimizer, config.server_lifetime
        ),
        config.aggregation,  # type: ignore[arg-type]
        config.counters,  # type: ignore[arg-type]
        config.clients_at_once,
    )
    name = config.algorithm
    if name in {"fedavg", "fedprox", "fedopt"}:
        return FedAvg(
            worker,
            federation,
            options,
            cluster,
            config.proximal if name == "fedprox" else 0.0,
            ServerOptimizer(config.fedopt, config.fedopt_lr)  # type: ignore[arg-type]
            if name == "fedopt"
            else None,
        )
    if name == "centralized":
        return Centralised(worker, federation, options, cluster)
    if name == "sfl-v1":
        if config.server_waits:
            return WaitingSFLV1(worker, federation, cut, options, cluster)
        tau, server = config.tau, config.tau_server
        return SFLV1(
            worker,
            federation,
            cut,
            options,
            cluster,
            tau if server is not None else None,
            server,
        )
    if name == "sfl-v2":
        kind = SequentialSFLV2 if config.order == "client-sequential" else None
        weighted = config.server_weights == "size"
        return (kind or InterleavedSFLV2)(
            worker, federation, cut, options, cluster, weighted
        )
    if name == "minibatch-sfl":
        return MiniBatchSFL(worker, federation, cut, options, cluster)
    return SplitLearning(worker, federation, cut, options, cluster)


def _optimizer(config: Config, name: str, lifetime: str) -> Optimizer:
    kept: Lifetime = lifetime  # type: ignore[assignment]
    if name == "adam":
        return Adam(weight_decay=config.weight_decay, lifetime=kept)
    return SGD(
        momentum=config.momentum, weight_decay=config.weight_decay, lifetime=kept
    )
