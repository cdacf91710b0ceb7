r"""What a run is: every option with its default, its help and the values it may take.

A `Config` is complete: presets, files and command lines only fill it. Its hash names a
run; options that change no result (where data lie, how often to save) are not in it.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import Field, dataclass, field, fields
from functools import cache, cached_property
from typing import Any

from sfl_train.deep.own_files import digests, own_model

FORMAT = 1
"""Version of the run folders; part of the hash."""


def _option(
    default: Any,
    words: str,
    choices: tuple[str, ...] = (),
    matters: bool = True,
    late: bool = False,
    given: bool = True,
) -> Any:
    """Describe an option.

    Args:
        default: its value where nothing is given.
        words: its help.
        choices: the values that it may take; empty: any of its type.
        matters: whether results depend on it.
        late: it joined the hash after runs were made: at its default it is left out,
            so that theirs stays what it was.
        given: whether users set it.

    Returns:
        The field.
    """
    meta = {"help": words, "choices": choices, "matters": matters, "late": late}
    meta["given"] = given
    return field(default=default, metadata=meta)


MODELS = ("resnet18", "resnet34", "resnet50", "cnn", "mlp")
"""Networks by name."""
ALGORITHMS = (
    "fedavg",
    "fedprox",
    "fedopt",
    "sfl-v1",
    "sfl-v2",
    "minibatch-sfl",
    "sl",
    "centralized",
)
SPLIT = ("sfl-v1", "sfl-v2", "minibatch-sfl", "sl")
"""Algorithms that cut the model."""
LARGEST = 1e30
"""Of rates and coefficients, which multiply float32 numbers; float32 ends at 3e38."""
LIMITS = {
    "rounds": 10_000_000,
    "tau": 1_000_000,
    "tau_server": 1_000_000,
    "epochs": 1_000_000,
    "depth": 200,
    "classes": 1_000_000,
    "clients": 1_000_000,
    "cut": 1_000_000,
    "batch_size": 1_000_000_000,
    "evaluate_every": 1_000_000_000,
    "checkpoint_every": 1_000_000_000,
    "threads": 1024,
    "clients_at_once": 1_000_000,
}
"""Largest values of options that count: far beyond any use, and none runs for ever."""
LEAST_SHARE = 1e-6
"""Of participation: with less hardly anyone would ever train."""


@dataclass(frozen=True, kw_only=True)
class Config:
    """A training run.

    The attributes are the options of ``python -m sfl_train`` with underscores for
    hyphens and are described there.
    """

    algorithm: str = _option("sfl-v1", "what is trained", ALGORITHMS)
    model: str = _option(
        "cnn",
        f"network: {' | '.join(MODELS)} | FILE.py:FUNCTION of your own, which returns "
        "a torch.nn.Sequential; its cuts are numbers of blocks",
    )
    width: float = _option(0.25, "factor on all channels (1: the original)")
    depth: int | None = _option(
        None, "residual blocks per stage, or hidden layers of the mlp"
    )
    norm: str | None = _option(
        None,
        "normalisation; default: batch for ResNets, none else",
        ("batch", "group", "none"),
    )
    classes: int | None = _option(None, "logits; default: the data's classes")
    dataset: str = _option("digits", "data set, see --help-data")
    partition: str = _option(
        "dirichlet:0.5",
        "iid | dirichlet:BETA | blocks:R | natural | file:PATH | iid-groups | "
        "dirichlet-groups:BETA | blocks-groups:R, which keep lesions, writers together",
    )
    clients: int | None = _option(
        10,
        "number of clients N; of natural: its first N groups; natural and file know "
        "theirs if none is given",
    )
    weights: str = _option("size", "a_n: by samples or 1/N", ("size", "uniform"))
    participation: float = _option(1.0, "share q of clients that take part in a round")
    participation_draw: str = _option(
        "independent",
        "every client with probability q, or round(qN) of them",
        ("independent", "fixed"),
    )
    cut: int = _option(1, "cut L_c as the papers number it")
    rounds: int = _option(100, "communication rounds T")
    tau: int | None = _option(None, "local steps per round; excludes --epochs")
    epochs: int | None = _option(1, "passes over a client's data per round")
    tau_server: int | None = _option(
        None, "server-side steps per round of SFL-V1; default: tau"
    )
    batch_size: int = _option(32, "samples of a mini-batch")
    sampling: str = _option(
        "reshuffle",
        "walk through permutations, or draw independently",
        ("reshuffle", "replacement"),
    )
    augmentation: str = _option("none", "of training batches", ("none", "crop-flip"))
    optimizer: str = _option("sgd", "of clients and server", ("sgd", "adam"))
    lr: float = _option(0.05, "learning rate")
    lr_server: float | None = _option(None, "of the server side; default: the same")
    momentum: float = _option(0.0, "of SGD")
    weight_decay: float = _option(0.0, "added to the gradient, times the weights")
    lifetime: str = _option(
        "round", "of a client's optimizer memory", ("step", "round", "run")
    )
    server_optimizer: str | None = _option(
        None, "of the server side; default: the same", ("sgd", "adam")
    )
    server_lifetime: str = _option(
        "round", "of the server's optimizer memory", ("step", "round", "run")
    )
    schedule: str = _option(
        "constant",
        "constant | step:ROUNDS:FACTOR | cosine | theorem:NUMBER/CASE:S=..,mu=..",
    )
    aggregation: str = _option(
        "updates",
        "under partial participation",
        ("updates", "models", "normalised"),
    )
    counters: str = _option(
        "keep", "integer buffers at an aggregation", ("keep", "average")
    )
    order: str = _option(
        "interleaved", "of SFL-V2's visits", ("interleaved", "client-sequential")
    )
    server_weights: str = _option(
        "none", "SFL-V2's server steps times a_n, or not", ("none", "size")
    )
    server_waits: bool = _option(
        False, "SFL-V1's server side waits until every client was seen"
    )
    evaluation: str = _option(
        "aggregated",
        "at the aggregated model, or inside the client loop as the released code",
        ("aggregated", "in-loop"),
    )
    evaluate_every: int = _option(1, "rounds between evaluations")
    proximal: float = _option(0.01, "coefficient of fedprox")
    fedopt: str = _option("adam", "server step of fedopt", ("sgd", "adam", "yogi"))
    fedopt_lr: float = _option(0.01, "its learning rate")
    measure: str = _option(
        "off", "off | every=K | auto: constants of the theory, auto within 10 % of time"
    )
    precision: str = _option("fp32", "of products", ("fp32", "tf32", "bf16"))
    seed: int = _option(0, "of everything drawn")

    digests: str | None = _option(
        None, "of the files that --model and --dataset name", late=True, given=False
    )

    device: str = _option("cpu", "cpu | cuda | cuda:0 ...", matters=False)
    threads: int = _option(1, "of PyTorch on the CPU; they change roundings", late=True)
    channels_last: bool = _option(False, "memory format of images", matters=False)
    compile: bool = _option(
        False, "through torch.compile, which changes roundings", late=True
    )
    clients_at_once: int = _option(
        1,
        "clients trained in one call, faster for small networks; changes roundings",
        late=True,
    )
    deterministic: bool = _option(
        False, "the same bits in every run on a GPU, slower there", matters=False
    )
    data_root: str = _option("data", "folder of the data sets", matters=False)
    checkpoint_every: int | None = _option(
        None,
        "rounds between checkpoints; default: one per 5 s or round",
        matters=False,
    )

    def __post_init__(self) -> None:
        """Check types and ranges that need no data.

        Raises:
            ValueError: if an option is impossible; it is named as on the command line.
        """
        for item in known().values():
            value, choices = getattr(self, item.name), item.metadata["choices"]
            _typed(item.name, str(item.type), value)
            if choices and value is not None and value not in choices:
                raise ValueError(
                    f"--{flag(item.name)}: expected one of {', '.join(choices)}, got "
                    f"{value!r}"
                )
        for name, most in LIMITS.items():
            value = getattr(self, name)
            if value is not None and not 1 <= value <= most:
                raise ValueError(
                    f"--{flag(name)}: expected an integer from 1 to {most}, got "
                    f"{value!s:.40}"
                )
        if self.model not in MODELS and own_model(self.model) is None:
            raise ValueError(
                f"--model: expected one of {', '.join(MODELS)} or FILE.py:FUNCTION, "
                f"got {self.model!r}"
            )
        if self.tau is not None and self.epochs is not None:
            raise ValueError("--tau: excludes --epochs")
        if self.tau is None and self.epochs is None:
            raise ValueError("--tau: expected either tau or epochs")
        if self.tau_server is not None and (
            self.tau is None or self.algorithm != "sfl-v1" or self.server_waits
        ):
            raise ValueError("--tau-server: needs --algorithm sfl-v1 and --tau")
        if self.compile and self.algorithm == "minibatch-sfl":
            raise ValueError(
                "--compile: goes with one network at a time; minibatch-sfl has the "
                "networks of all clients at once"
            )
        if self.compile and self.clients_at_once > 1:
            raise ValueError("--compile: goes with one network, not --clients-at-once")
        if not LEAST_SHARE <= self.participation <= 1:
            raise ValueError(
                f"--participation: expected a rate from {LEAST_SHARE:g} to 1, got "
                f"{self.participation}"
            )
        for name in ("lr", "lr_server", "width", "fedopt_lr"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= LARGEST:
                raise ValueError(
                    f"--{flag(name)}: expected a positive number up to {LARGEST:g}, "
                    f"got {value}"
                )
        for name, most in (
            ("proximal", LARGEST),
            ("weight_decay", LARGEST),
            ("seed", 2**63 - 1),
        ):
            value = getattr(self, name)
            if not 0 <= value <= most:
                raise ValueError(
                    f"--{flag(name)}: expected a number from 0 to {most}, got {value}"
                )
        if self.measure not in {"off", "auto"}:
            cadence(self.measure)

    def as_dict(self) -> dict[str, Any]:
        """Return all options by name."""
        return {name: getattr(self, name) for name in known()}

    def decisive(self) -> dict[str, Any]:
        """Return the options that decide the result."""
        return {
            item.name: getattr(self, item.name)
            for item in known().values()
            if item.metadata["matters"]
        }

    def identity(self) -> dict[str, Any]:
        """Return what the hash is made of: decisive options, the format's version."""
        kept = {
            item.name: getattr(self, item.name)
            for item in known().values()
            if item.metadata["matters"]
            and not (item.metadata["late"] and getattr(self, item.name) == item.default)
        }
        return {"format": FORMAT, **kept}

    @cached_property
    def hash(self) -> str:
        """SHA-256 of the identity, in hexadecimal."""
        return _sha256(self.identity())

    @property
    def lineage(self) -> str:
        """SHA-256 of the identity but for the number of rounds.

        Runs of one lineage pass through the same states, so the longer one goes on from
        the end of the shorter one; but see `bound_to_rounds`.
        """
        return _sha256({k: v for k, v in self.identity().items() if k != "rounds"})

    @property
    def bound_to_rounds(self) -> str | None:
        """The option by which a round depends on how many there are, if one does."""
        if self.schedule == "cosine":
            return "--schedule cosine"
        return "--measure auto" if self.measure == "auto" else None

    @property
    def split(self) -> bool:
        """Whether the algorithm cuts the model."""
        return self.algorithm in SPLIT


@cache
def known() -> Mapping[str, Field[Any]]:
    """Return the options by name; a grid makes thousands of configurations."""
    return {item.name: item for item in fields(Config)}


def _sha256(identity: Mapping[str, Any]) -> str:
    text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()


def flag(name: str) -> str:
    """Return the command-line name of an option."""
    return name.replace("_", "-")


def cadence(measure: str) -> int:
    """Return k of "every=k".

    Args:
        measure: the option.

    Returns:
        A positive integer.

    Raises:
        ValueError: if it reads otherwise.
    """
    word, sign, number = measure.partition("=")
    if word != "every" or not sign or not number.isdecimal() or int(number) < 1:
        raise ValueError(f"--measure: expected off, auto or every=K, got {measure!r}")
    return int(number)


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "paper": {},
    "released-code": {
        "server_lifetime": "step",
        "momentum": 0.9,
        "weight_decay": 5e-4,
        "lr": 0.01,
        "tau": None,
        "epochs": 5,
        "batch_size": 128,
        "augmentation": "crop-flip",
        "weights": "uniform",
        "counters": "average",
        "order": "client-sequential",
        "aggregation": "normalised",
        "participation_draw": "fixed",
        "server_waits": True,
        "evaluation": "in-loop",
        "classes": 100,
        "partition": "blocks:1",
    },
}
"""``paper``: the algorithms as written, which are the defaults. ``released-code``:
every departure of the published scripts of han2024, each of which is one option."""


def resolve(preset: str, *layers: Mapping[str, Any]) -> Config:
    """Return the configuration made of defaults, a preset and what the user gave.

    Args:
        preset: name of a preset.
        *layers: options by name, later ones win; giving tau drops the default epochs.

    Returns:
        The configuration.

    Raises:
        ValueError: if a name is unknown or a value has the wrong type.
    """
    if not isinstance(preset, str) or preset not in PRESETS:
        raise ValueError(
            f"--preset: expected one of {', '.join(PRESETS)}, got {preset!r}"
        )
    options = known()
    chosen: dict[str, Any] = dict(PRESETS[preset])
    for layer in layers:
        given = dict(layer)
        if given.get("tau") is not None and "epochs" not in given:
            given["epochs"] = None
        if given.get("epochs") is not None and "tau" not in given:
            given["tau"] = None
        for name, value in given.items():
            if name not in options or not options[name].metadata["given"]:
                raise ValueError(f"unknown option '{flag(name)}'")
            chosen[name] = _typed(name, str(options[name].type), value)
    spec = chosen.get("partition", Config.partition)
    if "clients" not in chosen and (spec == "natural" or spec.startswith("file:")):
        chosen["clients"] = None
    if chosen.get("server_waits") and chosen.get("algorithm", "sfl-v1") != "sfl-v1":
        chosen["server_waits"] = False
    files = (chosen.get(name, getattr(Config, name)) for name in ("model", "dataset"))
    return Config(**chosen, digests=digests(*files))


@cache
def kind(annotation: str) -> type:
    """Return the type of an option from its annotation, without ``| None``."""
    kinds = {"int": int, "float": float, "str": str, "bool": bool}
    return kinds[annotation.split(" ")[0]]


def _typed(name: str, annotation: str, value: Any) -> Any:
    if value is None and "None" in annotation:
        return None
    wanted = kind(annotation)
    if wanted is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if type(value) is not wanted:
        raise ValueError(f"--{flag(name)}: expected {wanted.__name__}, got {value!r}")
    return value
