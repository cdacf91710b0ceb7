r"""Bytes up and down and floating-point operations per side, as counted in Table 4.

Every training sample's features cross the cut once upwards and their gradient once
downwards, and a participant downloads its model before the round and uploads it after
it: $2\frac DKv+2r|W|$ per client and epoch (han2024, Table 4), with v the size of the
features of a sample, |W| that of the model and r the client's share of it. Labels and
buffers, which the table leaves out, are counted apart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils.flop_counter import flop_registry

from sfl_train.deep.algorithms.run import Report
from sfl_train.deep.flat import FlatModel

LABEL_BYTES = 8


@dataclass(frozen=True)
class Costs:
    """What a sample and a client cost.

    Attributes:
        features: bytes of a sample's smashed data; 0 if the model is not cut.
        model: bytes of the parameters that a client exchanges with the fed server.
        buffers: bytes of their buffers, counted apart.
        labels: bytes of a sample's label, sent only if the model is cut.
        flops_client: operations of a sample's forward and backward pass there.
        flops_server: the same on the server side.
        exchanges: whether clients exchange models with a server at all.
    """

    features: int
    model: int
    buffers: int
    labels: int
    flops_client: int
    flops_server: int
    exchanges: bool = True

    def round(self, report: Report) -> dict[str, int]:
        """Return the totals of a round over its participants, see `of`."""
        return self.of(report.samples, len(report.contributions))

    def of(self, samples: int, clients: int) -> dict[str, int]:
        """Return the totals of any number of rounds.

        Args:
            samples: processed, each as often as it was.
            clients: participants, each as often as it took part.

        Returns:
            ``bytes_up`` and ``bytes_down`` as Table 4 counts them, ``bytes_labels``,
            ``bytes_buffers`` (up and down together), ``flops_client``,
            ``flops_server``.
        """
        each_way = samples * self.features
        each_way += clients * self.model if self.exchanges else 0
        buffers = 2 * clients * self.buffers if self.exchanges else 0
        return {
            "bytes_up": each_way,
            "bytes_down": each_way,
            "bytes_labels": samples * self.labels,
            "bytes_buffers": buffers,
            "flops_client": samples * self.flops_client,
            "flops_server": samples * self.flops_server,
        }


class _Counting:
    """Counts operations as torch's ``FlopCounterMode`` does, without its modules.

    A method of a `TorchDispatchMode` itself is hidden from torch's compiler, which is
    loaded for that: more than a second of a process that compiles nothing.
    """

    supports_higher_order_operators = True

    def __init__(self) -> None:
        super().__init__()
        self.total = 0

    def __torch_dispatch__(
        self,
        func: Any,
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        if isinstance(func, torch._ops.HigherOrderOperator):
            return NotImplemented
        named, count = kwargs or {}, _formula(func)
        if count is None:
            with self:  # type: ignore[attr-defined]
                parts = func.decompose(*args, **named)
            if parts is not NotImplemented:
                return parts
        out = func(*args, **named)
        if count is not None:
            self.total += count(*args, **named, out_val=out)
        return out


def _formula(func: Any) -> Callable[..., int] | None:
    found: Callable[..., int] | None = flop_registry.get(func._overloadpacket)
    return found


class Counted(_Counting, TorchDispatchMode):
    """Counts the floating-point operations within: its ``total``."""


def costs(
    model: FlatModel,
    cut: int | None,
    shape: tuple[int, int, int],
    exchanges: bool = True,
) -> Costs:
    """Measure a model's costs with two samples of zeros; the model is left as it was.

    Args:
        model: the network.
        cut: number of client-side blocks; None: everything is at the client.
        shape: of an image.
        exchanges: whether clients exchange models with a server.

    Returns:
        Its costs.
    """
    kept, gradient = model.state.clone(), model.gradient.clone()
    training = model.blocks.training
    model.blocks.eval()
    device = model.state.parameters.device
    x = torch.zeros(2, *shape, dtype=model.state.parameters.dtype, device=device)
    head = len(model.blocks) if cut is None else cut
    with Counted() as here:
        z = model.blocks[:head](x)
        if z.requires_grad:  # blocks without parameters have no backward pass
            z.sum().backward()
    there = 0
    if cut is not None:
        features = z.detach().requires_grad_()
        with Counted() as counter:
            model.blocks[cut:](features).sum().backward()
        there = counter.total // 2
    model.blocks.train(training)
    model.state.copy_(kept)
    model.gradient.copy_(gradient)
    part = model.part(0, head)
    item = model.state.parameters.element_size()
    return Costs(
        features=0 if cut is None else z[0].numel() * z.element_size(),
        model=item * model.state.side(part).parameters.numel(),
        buffers=item * model.state.side(part).buffers.numel(),
        labels=0 if cut is None else LABEL_BYTES,
        flops_client=here.total // 2,
        flops_server=there,
        exchanges=exchanges,
    )
