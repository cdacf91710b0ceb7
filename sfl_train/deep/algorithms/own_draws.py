r"""What a network draws itself, as Dropout does, from PyTorch's global generator.

Such draws would depend on all that was drawn before in the process. Before every local
step the generator is seeded from (seed, purpose, round, client, step) instead, so they
depend on neither the cut nor the number of processes nor where a run was resumed.
Networks that draw nothing leave the generator alone.
"""

from __future__ import annotations

import torch
from torch import Tensor

from sfl_train.deep.data.store import Store
from sfl_train.deep.worker import Worker


def draws(worker: Worker, store: Store) -> bool:
    """Return whether a network in training draws from PyTorch's global generator.

    Args:
        worker: whose network, as with Dropout; left as it is.
        store: whose shape of images it takes.

    Returns:
        Whether it does.

    Raises:
        ValueError: if it draws in evaluation too, where no draw has a name.
    """
    blocks, device = worker.model.blocks, store.device
    kept, training = worker.state.clone(), blocks.training
    x = store.samples(torch.zeros(2, dtype=torch.int64, device=device))[0]
    devices = [device] if device.type == "cuda" else []
    with torch.random.fork_rng(devices), torch.no_grad(), worker.autocast():
        states = [_generators(device)]
        try:
            for mode in (False, True):
                blocks.train(mode)(x)
                states.append(_generators(device))
        finally:
            blocks.train(training)
            worker.state.copy_(kept)
    start, tested, trained = states
    if not all(map(torch.equal, start, tested)):
        raise ValueError(
            "the network draws random numbers in evaluation, not only in training"
        )
    return not all(map(torch.equal, tested, trained))


def _generators(device: torch.device) -> list[Tensor]:
    """Return the states of the global generators, the host's and the device's."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    return states
