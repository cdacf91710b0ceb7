r"""Images per second: split training of one client beside a plain PyTorch loop.

Both train the same network on the same bytes, which lie on the device; both form every
mini-batch there (gather, random crop and flip, normalise) and step with SGD, momentum
and weight decay. The contenders take turns in one process, in alternating order, and a
ratio is the median of the ratios within a turn, with the 95 % interval of order
statistics, so a machine that is busy with other things moves both alike.

- *split*: whole rounds of SFL-V1 with one client and one epoch: draws, copies, local
  steps of both sides, aggregation.
- *plain*: `plain.Loop`, one epoch on the same data; no sides, no rounds.

Goal: split at least 0.95 of plain. Seconds are those of the wall clock; the ratio of
processor seconds, which other processes disturb less, is shown beside it.

    python tests/benchmarks/deep_speed.py [--model cnn --pixels 8 ...] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from plain import Loop, network
from rich.console import Console
from rich.table import Table
from turns import Estimate, Seconds, ratios, take_turns

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from sfl_train.deep.algorithms.parallel import SFLV1
from sfl_train.deep.algorithms.run import Options, Rates
from sfl_train.deep.data.images import Images
from sfl_train.deep.data.store import Store
from sfl_train.deep.federation import DeepFederation, LocalWork
from sfl_train.deep.flat import FlatModel
from sfl_train.deep.models.named import build
from sfl_train.deep.worker import Worker
from sfl_train.optimizer import SGD

CLASSES = 10
GOAL = 0.95


def main() -> None:
    """Time both and print, and write, what came out."""
    options = arguments()
    torch.set_num_threads(options.threads)
    result = compare(options)
    Console().print(table(f"{options.model}, batch {options.batch}", result))
    if options.profile:
        profile(split(options, images(options)), options.device)
    if options.json:
        setting = {k: v for k, v in vars(options).items() if k != "json"}
        options.json.write_text(
            json.dumps({"setting": setting, "result": result}, indent=2)
        )


def compare(options: argparse.Namespace) -> dict[str, object]:
    """Return images/s of both contenders and split's share of plain's."""
    data = images(options)
    contenders = {"split": split(options, data), "plain": plain(options, data)}
    seconds = take_turns(contenders, options.turns, options.device, options.warm_up)
    return {
        "images_per_second": {
            name: speed(mine, options.images) for name, mine in seconds.items()
        },
        "wall": ratios(seconds["plain"], seconds["split"], "wall"),
        "processor": ratios(seconds["plain"], seconds["split"], "processor"),
    }


def speed(seconds: list[Seconds], count: int) -> float:
    """Return the median of images per second of the wall clock."""
    return statistics.median(count / one.wall for one in seconds)


def images(options: argparse.Namespace) -> Images:
    """Return random bytes in the shape wanted: speed does not depend on content."""
    random = np.random.default_rng(0)
    shape = (options.images, options.channels, options.pixels, options.pixels)
    x = random.integers(0, 256, shape, dtype=np.uint8)
    y = random.integers(0, CLASSES, options.images)
    middle = (0.5,) * options.channels
    return Images("random", x, y, x[:10], y[:10], CLASSES, middle, middle)


def split(options: argparse.Namespace, data: Images) -> Callable[[], object]:
    """Return a function that trains a client for one more round."""
    shape = (options.channels, CLASSES, options.pixels)
    built = build(options.model, *shape, width=options.width)
    model = FlatModel(built.blocks, options.device, options.channels_last)
    worker = Worker(model, options.precision, options.compile)
    store = Store(
        data,
        options.device,
        augmentation="crop-flip" if options.augment else "none",
        channels_last=options.channels_last,
    )
    work = LocalWork(epochs=1, batch_size=options.batch)
    federation = DeepFederation(store, [np.arange(options.images)], work)
    rule = Options(SGD(momentum=0.9, weight_decay=5e-4))
    run = SFLV1(worker, federation, built.cut(options.cut), rule)
    rounds = iter(range(10**9))
    return lambda: run.round(next(rounds), Rates(0.01, 0.01)).loss


def plain(options: argparse.Namespace, data: Images) -> Callable[[], object]:
    """Return a function that trains for one more epoch in plain PyTorch."""
    device, shape = options.device, (1, options.channels, 1, 1)
    made = network(
        options.model, options.channels, CLASSES, options.pixels, options.width
    )
    loop = Loop(
        made.to(device),
        torch.from_numpy(data.train_x).to(device),
        torch.from_numpy(data.train_y).to(device),
        torch.tensor(data.mean, device=device).view(shape),
        torch.tensor(data.std, device=device).view(shape),
        batch=options.batch,
        augment=options.augment,
        channels_last=options.channels_last,
        bf16=options.precision == "bf16",
        compiled=options.compile,
    )
    return loop.epoch


def table(title: str, result: dict[str, object]) -> Table:
    """Return the result as a table."""
    made = Table("", "images/s", title=title)
    for name, value in result["images_per_second"].items():
        made.add_row(name, f"{value:.1f}")
    for kind in ("wall", "processor"):
        found: Estimate = result[kind]
        made.add_row(f"split / plain, {kind}", f"{found}")
    made.add_row("goal", f"{GOAL}")
    return made


def profile(once: Callable[[], object], device: str) -> None:
    """Print where the time of a round goes."""
    from torch.profiler import ProfilerActivity

    on_gpu = device.startswith("cuda")
    kinds = [ProfilerActivity.CPU, *([ProfilerActivity.CUDA] if on_gpu else [])]
    once()
    with torch.profiler.profile(activities=kinds) as found:
        once()
    order = "self_cuda_time_total" if on_gpu else "self_cpu_time_total"
    print(found.key_averages().table(sort_by=order, row_limit=25))


def arguments(words: list[str] | None = None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", default="resnet18", choices=("resnet18", "cnn"))
    parser.add_argument("--width", type=float, default=0.25)
    parser.add_argument("--channels", type=int, default=3)
    parser.add_argument("--pixels", type=int, default=32)
    parser.add_argument("--images", type=int, default=256, help="of one epoch")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--cut", type=int, default=2)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--warm-up", type=int, default=1)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", default="fp32", choices=("fp32", "tf32", "bf16"))
    parser.add_argument(
        "--augment", action=argparse.BooleanOptionalAction, default=True
    )
    parser.add_argument("--channels-last", action="store_true")
    parser.add_argument("--compile", action="store_true")
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--json", type=Path)
    return parser.parse_args(words)


if __name__ == "__main__":
    main()
