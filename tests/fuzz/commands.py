"""Every command with lines that it understands, and the user's files they speak of."""

from __future__ import annotations

import argparse
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path

import numpy as np

TESTS = Path(__file__).parents[1]
for folder in ("", "bounds", "figures", "sfl_train"):
    sys.path.insert(0, str(TESTS / folder))

TINY = ("--model", "mlp", "--width", "0.05", "--dataset", "synthetic:2x1x8:20",
        "--clients", "2", "--rounds", "1", "--quiet")  # fmt: skip
OWN = ("--model", "user/net.py:net", "--dataset", "npz:user/images.npz",
       "--clients", "2", "--rounds", "1", "--quiet")  # fmt: skip
NET = """
from torch import nn

def net(pixels, classes):
    return nn.Sequential(nn.Flatten(), nn.Linear(pixels**2, classes))
"""
SQUARE = """
from sfl_theory.notation import written as w
from sfl_theory.evidence import Claim, Kind, Part, Proof, says
from sfl_theory.proofs.notation import combine

u = w.point("u")


def square():
    return combine((u.value, 1))


CLAIMS = [
    Claim("mine/square", "p. 1", Kind.LEMMA, "A square.",
          (Part(says(0, w.norm2(u)), Proof(square, "Yes.")),)),
]
"""
CONSTANTS = {
    "S": 10.0, "mu": 0.1, "sigma2": [1.0, 2.0], "G2": 4.0, "eps2": 1.0,
    "weights": [0.5, 0.5], "participation": 0.5, "tau": 5, "tau_server": 5,
    "initial_distance2": 1.0, "initial_gap": 1.0,
}  # fmt: skip


@dataclass(frozen=True)
class Command:
    """A command under attack.

    Attributes:
        module: of its ``main``.
        lines: that it understands.
        hints: option -> values that it understands.
        weight: how often it is drawn.
        ends: exit statuses that it may have; 130 says that it was stopped.
        verb: sub-command whose options are meant.
    """

    module: str
    lines: Sequence[Sequence[str]]
    hints: Mapping[str, Sequence[str]] = field(default_factory=dict)
    weight: int = 1
    ends: frozenset[int] = frozenset({0, 2, 130})
    verb: str = ""

    @property
    def name(self) -> str:
        """What the table of counts calls it."""
        return " ".join(
            filter(None, (self.module.removesuffix(".__main__"), self.verb))
        )

    @property
    def main(self) -> Callable[[Sequence[str]], int]:
        """The command itself."""
        found: Callable[[Sequence[str]], int] = import_module(self.module).main
        return found

    @property
    def options(self) -> list[argparse.Action]:
        """Its options, as its parser knows them."""
        if self.module.endswith("replay"):
            return []
        parser = import_module(self.module)._parser()
        if self.verb:
            (verbs,) = (
                one for one in parser._actions
                if isinstance(one, argparse._SubParsersAction)
            )  # fmt: skip
            parser = verbs.choices[self.verb]
        return [one for one in parser._actions if one.option_strings]


THEOREMS = ("3.5", "3.6", "3.7", "3.8", "3.9", "huang2023/thm-1", "dachille2024/prop-1")
FRESH = ("out/a.json", "out/b/c.json", "out")
TRAIN = {
    "--out": ("out/run", "user/run", "user/plain", "user", "user/thesis.txt", "out"),
    "--config": ("user/run.toml",),
    "--partition": ("iid", "file:user/parts.json", "dirichlet:0.5", "blocks:1"),
    "--dataset": (
        "synthetic:2x1x8:20",
        "synthetic:2x3x8:20",
        "digits",
        "cifar10",
        "npz:user/images.npz",
        "npz:user/q.npz",
        "npz:user/pipe",
    ),
    "--model": ("mlp", "cnn", "resnet18", "user/net.py:net", "user/mine.py:CLAIMS"),
    "--log": ("csv",),
    "--measure": ("off", "auto", "every=1"),
    "--schedule": ("constant", "step:1:0.5", "cosine", "theorem:3.7/non_convex:S=10"),
    "--device": ("cpu", "cuda", "cuda:7", "meta", "mps"),
    "--data-root": ("user", "user/pipe"),
}
COMPARE = {
    "--theorem": THEOREMS,
    "--problem": ("quadratic:user/q.npz", "softmax:digits", "instance:han2024/thm-3.7"),
    "--out": ("out/c", "out", "user/thesis.txt", "user/run/x"),
    "--json": FRESH, "--csv": FRESH,
    "--run": ("user/run", "user/plain", "user", "user/none"),
    "--weights": ("uniform", "size", "0.5,0.5"),
    "--learning-rate": ("0.01", "1/(10+t)", "0.1,0.1"),
    "--partition": ("iid", "file:user/parts.json"),
    "--version": ("story", "both", "printed", "best", "repaired"),
    "--batch-size": ("full", "4"), "--participation": ("0.5", "0.5,1"), "--cut": ("1",),
}  # fmt: skip
COMMANDS = (
    Command("sfl_train.__main__", [TINY, (*TINY, "--out", "user/run"),
        (*TINY, "--partition", "file:user/parts.json"), ("--config", "user/run.toml"),
        (*TINY, "--measure", "every=1", "--tau", "1", "--out", "user/run"),
        OWN, (*OWN, "--rounds", "2", "--log", "csv"),
    ], TRAIN, 30, frozenset({0, 1, 2, 130})),
    Command("bounds.compare", [
        ("--theorem", "3.7", "--problem", "quadratic:user/q.npz", "--rounds", "2",
         "--seeds", "1", "--quiet", "--out", "out/c"),
        ("--theorem", "3.7", "--run", "user/run", "--quiet", "--out", "out/c"),
    ], COMPARE, 24),
    Command("bounds.audit", [("--claim", "han2024/eq-2"),
        ("--file", "user/mine.py", "--claim", "mine/square"),
        ("--file", "user/mine.py"),
    ], {"--file": ("user/mine.py",), "--claim": ("mine/square", "han2024/eq-2"),
        "--json": FRESH, "--html": FRESH, "--proofs": FRESH}, 10),
    Command("bounds.worst_case", [("--quiet",),
        ("--algorithm", "sfl-v2", "--tau", "1", "--rounds", "2", "--quiet"),
        ("--theorem", "3.6", "--clients", "2", "--quiet"),
    ], {"--algorithm": ("fedavg", "sfl-v1", "sfl-v2", "minibatch-sfl"),
        "--json": FRESH, "--out": ("out/a.png", "out/a.svg", "out"), "--proof": FRESH,
        "--weights": ("1/4,3/4", "uniform"), "--sweep": ("eta-server=0.1:1:3",),
        "--metric": ("distance", "gap", "gradient"), "--theorem": THEOREMS,
        "--reading": ("last", "average", "mean", "minimum")},
        12, frozenset({0, 1, 2, 130})),
    Command("sfl_theory.__main__", [("show", "3.5"), ("show", "table-2")],
            {"--version": ("printed", "best", "all")}, 5, verb="show"),
    Command("sfl_theory.__main__", [
        ("evaluate", "3.7", "--case", "strongly_convex", "--constants",
         "user/constants.json", "--rounds", "1,10"),
    ], {"--constants": ("user/constants.json",), "--rounds": ("1", "1,2,3"),
        "--version": ("printed", "best", "repaired")}, 12, verb="evaluate"),
    Command("figures.__main__", [("list", "--runs", "user/figs")],
            {"--runs": ("user/figs", "user"), "--seeds": ("0-1",)}, 1, verb="list"),
    Command("figures.__main__", [
        ("make", "han2024/fig-90", "--draw-only", "--runs", "user/figs"),
    ], {"--runs": ("user/figs", "user", "user/thesis.txt"), "--seeds": ("0-1",),
        "--out": ("out", "user/thesis.txt"), "--device": ("cpu", "cuda")},
        5, frozenset({0, 1, 2, 130}), "make"),
    Command("figures.__main__", [("check", "han2024/fig-90", "--runs", "user/figs")],
            {"--runs": ("user/figs", "user"), "--json": FRESH}, 2, verb="check"),
    Command("figures.__main__", [
        ("report", "--html", "out/r.html", "--runs", "user/figs"),
    ], {"--html": FRESH, "--runs": ("user/figs", "user")}, 1, verb="report"),
    Command("sfl_theory.kernel.replay", [("user/proof.json",)], {}, 10,
            frozenset({0, 1, 2})),
)  # fmt: skip

SLOW = {"--trust", "--mutate", "--table", "--refute"}
"""Options that begin minutes of work; they are drawn like the others, and stopped."""


def stock(folder: Path) -> None:
    """Make a user's files.

    Args:
        folder: to be filled.
    """
    from planted_runs import TINY as SIZES
    from planted_runs import accuracies, plant, small
    from small_problems import quadratic_file

    from bounds.audit import main as audit
    from sfl_train.__main__ import main as train

    quadratic_file(folder / "q.npz", clients=2, dimension=3)
    (folder / "parts.json").write_text(json.dumps([[0, 1, 2, 3], [4, 5, 6]]))
    (folder / "constants.json").write_text(json.dumps(CONSTANTS))
    (folder / "mine.py").write_text(SQUARE)
    (folder / "net.py").write_text(NET)
    x, y = np.arange(8 * 36, dtype=np.uint8).reshape(8, 6, 6), np.arange(8) % 2
    np.savez(folder / "images.npz", train_x=x, train_y=y, test_x=x, test_y=y)
    (folder / "thesis.txt").write_text("all of it")
    lines = (f'{a[2:]} = {json.dumps(b)}' for a, b in (
        ("--model", "mlp"), ("--width", 0.05), ("--dataset", "synthetic:2x1x8:20"),
        ("--clients", 2), ("--rounds", 1), ("--quiet", True),
    ))  # fmt: skip
    (folder / "run.toml").write_text("\n".join(lines))
    os.mkfifo(folder / "pipe")
    (folder / "link").symlink_to("/dev/zero")
    (folder / "loop").symlink_to("loop")
    with socket.socket(socket.AF_UNIX) as held:
        here = Path.cwd()
        os.chdir(folder)
        held.bind("socket")
        os.chdir(here)
    own = str(folder / "mine.py")
    proof = str(folder / "proof.json")
    assert audit(["--file", own, "--claim", "mine/square", "--proofs", proof]) == 0
    measured = ("--measure", "every=1", "--tau", "1", "--out", str(folder / "run"))
    assert train([*TINY, *measured]) == 0
    assert train([*TINY, "--out", str(folder / "plain")]) == 0
    figure = small()
    for config in {one.hash: one for one in figure.configs(SIZES)}.values():
        plant(config, folder / "figs", accuracies([0.1, 0.3, 0.5, 0.7]), diverged=False)


def spoken_of(line: Sequence[str]) -> Iterator[str]:
    """Yield the user's files that a line speaks of."""
    for word in line:
        for path in word.split(":"):
            if path.startswith("user/"):
                yield path
