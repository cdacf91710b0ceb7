"""The constants that the theorems speak of, with where each of them comes from."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sfl_theory.user_files import FileError, read_text

PROVENANCES = ("analytic", "trajectory", "assumed")
PerClient = float | tuple[float, ...]


@dataclass(frozen=True)
class Constants:
    r"""Constants of the assumptions and of the setting, all optional but checked.

    A bound takes what it uses and names what it lacks. The two mappings at the end say
    where a constant comes from (one of ``PROVENANCES``: *analytic* holds on the stated
    domain, *trajectory* is the largest value met along runs and so a lower estimate,
    *assumed* is everything else) and on which domain it is meant.

    Attributes:
        S: smoothness constant of every $F_n$ (Assumption 3.1).
        mu: strong convexity constant $\mu$, $0\le\mu\le S$ (Assumption C.2).
        sigma2: $\sigma_n^2$, bound of the gradient variance of client n (3.2).
        G2: $G^2$, bound of $\mathbb E\|g_n(x)\|^2$ (3.3).
        eps2: $\epsilon^2$, bound of $\|\nabla F_n(x)-\nabla f(x)\|^2$ (3.4).
        weights: $a_n\ge0$ with sum 1; its length is the number of clients N.
        participation: $q_n\in(0,1]$, probability that client n takes part in a round.
        tau: $\tau$, local iterations between two client-side aggregations.
        tau_server: $\tilde\tau$, the same on the server side (SFL-V1).
        initial_distance2: $I_{err}=\|x^0-x^*\|^2$.
        initial_gap: $f(x^0)-f^*$.
        Gamma: $\Gamma$ of ``huang2023`` and of Table 2: $f^*-\sum_na_nF_n^*$.
        R2: $R^2$ of ``huang2023`` (its Assumption 4, the $G^2$ of ``han2024``).
        initial_distance2_client: $\|x_c^0-x_c^*\|^2$ (``huang2023`` Prop. 2).
        initial_distance2_server: $\|x_s^0-x_s^*\|^2$ (``huang2023`` Prop. 1).
        distance2_client: $\mathbb E\|x_c^T-x_c^*\|^2$ (``han2024`` Prop. 3.5).
        distance2_server: $\mathbb E\|x_s^T-x_s^*\|^2$ (``han2024`` Prop. 3.5).
        sigma_star2: gradient variance at $x^*$ (Table 2).
        eps_star2: mean of $\|\nabla F_n(x^*)\|^2$ over clients (Table 2).
        provenance: constant name -> one of ``PROVENANCES``.
        domain: constant name -> the set on which it is meant, in words.

    Raises:
        ValueError: for values no problem can have; the message names the constant.
    """

    S: float | None = None
    mu: float | None = None
    sigma2: PerClient | None = None
    G2: float | None = None
    eps2: float | None = None
    weights: tuple[float, ...] | None = None
    participation: PerClient | None = None
    tau: int | None = None
    tau_server: int | None = None
    initial_distance2: float | None = None
    initial_gap: float | None = None
    Gamma: float | None = None
    R2: float | None = None
    initial_distance2_client: float | None = None
    initial_distance2_server: float | None = None
    distance2_client: float | None = None
    distance2_server: float | None = None
    sigma_star2: float | None = None
    eps_star2: float | None = None
    provenance: Mapping[str, str] = field(default_factory=dict)
    domain: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name in NUMERIC:
            value = getattr(self, name)
            if value is not None:
                object.__setattr__(self, name, _checked(name, value))
        if self.weights is not None:
            total = math.fsum(self.weights)
            if abs(total - 1) > 1e-9:
                raise ValueError(f"weights must sum to 1, they sum to {total:.12g}")
            for name in PER_CLIENT:
                value = getattr(self, name)
                if isinstance(value, tuple) and len(value) != len(self.weights):
                    raise ValueError(
                        f"{name} has {len(value)} entries, "
                        f"weights has {len(self.weights)}: give one per client"
                    )
        if self.S is not None and self.mu is not None and self.mu > self.S:
            raise ValueError(
                f"mu must not exceed S, got mu = {self.mu:g} and S = {self.S:g}"
            )
        for name, origin in self.provenance.items():
            if name not in NUMERIC:
                raise ValueError(f"provenance names an unknown constant '{name}'")
            if origin not in PROVENANCES:
                raise ValueError(
                    f"provenance of {name} must be one of {', '.join(PROVENANCES)}, "
                    f"got '{origin}'"
                )

    @property
    def clients(self) -> int | None:
        """Number of clients N, known from the weights."""
        return None if self.weights is None else len(self.weights)

    def per_client(self, name: str) -> NDArray[np.float64]:
        """Return a per-client constant as an array of shape (N,).

        Args:
            name: "weights", "sigma2" or "participation".

        Returns:
            The values, a scalar being repeated for every client.

        Raises:
            ValueError: if the constant or the number of clients is not known.
        """
        value = getattr(self, name)
        if value is None:
            raise ValueError(f"the constant '{name}' is needed and not given")
        if self.weights is None:
            raise ValueError(
                "the constant 'weights' is needed and not given "
                "(its length is the number of clients)"
            )
        return np.broadcast_to(
            np.asarray(value, dtype=np.float64), (len(self.weights),)
        ).copy()

    def with_values(self, **values: Any) -> Constants:
        """Return a copy with some constants replaced (and checked again)."""
        return replace(self, **values)

    def as_dict(self) -> dict[str, object]:
        """Return the given constants under their JSON keys, absent ones left out."""
        record: dict[str, object] = {}
        for name in NUMERIC:
            value = getattr(self, name)
            if value is not None:
                record[name] = list(value) if isinstance(value, tuple) else value
        if self.provenance:
            record["provenance"] = dict(self.provenance)
        if self.domain:
            record["domain"] = dict(self.domain)
        return record

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Constants:
        """Build from a mapping with the JSON keys; unknown keys are errors.

        Args:
            record: as ``as_dict`` returns it; lists may stand for per-client values.

        Returns:
            The checked constants.

        Raises:
            ValueError: for unknown keys or impossible values.
        """
        known = (*NUMERIC, "provenance", "domain")
        for name in record:
            if name not in known:
                raise ValueError(
                    f"unknown constant '{name}'; known are {', '.join(known)}"
                )
        for name in ("provenance", "domain"):
            notes = record.get(name, {})
            if not isinstance(notes, Mapping) or not all(
                isinstance(text, str) for text in notes.values()
            ):
                raise ValueError(f"{name} must map constant names to words")
        return cls(**record)

    @classmethod
    def from_json(cls, path: str | os.PathLike[str]) -> Constants:
        """Read constants from a JSON file.

        Args:
            path: a file holding one JSON object with the keys of this class.

        Returns:
            The checked constants.

        Raises:
            FileError: if the file cannot be read; the message starts with the path.
            ValueError: if it is not JSON, or holds impossible values; likewise.
        """
        try:
            record = json.loads(read_text(path))
            if not isinstance(record, dict):
                raise ValueError("expected one JSON object of constants")
            return cls.from_dict(record)
        except FileError:
            raise
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
        except RecursionError:
            raise ValueError(f"{path}: nested too deeply for constants") from None

    def to_json(self) -> str:
        """Return the constants as one JSON object, readable by ``from_json``."""
        return json.dumps(self.as_dict(), indent=2)


PER_CLIENT = ("sigma2", "participation")
INTEGERS = ("tau", "tau_server")
NUMERIC = tuple(
    item.name for item in fields(Constants) if item.name not in {"provenance", "domain"}
)


def _checked(name: str, value: object) -> float | int | tuple[float, ...]:
    """Return the value in its canonical type, or say what is wrong with it.

    Raises:
        ValueError: if no problem can have this value.
    """
    if name == "weights" or isinstance(value, Sequence | np.ndarray):
        if name not in {"weights", *PER_CLIENT}:
            kind = "a text" if isinstance(value, str) else "a list"
            raise ValueError(f"{name} must be one number, got {kind}")
        if isinstance(value, str) or not isinstance(value, Sequence | np.ndarray):
            raise ValueError(f"{name} must be a list with one number per client")
        if len(value) == 0:
            raise ValueError(f"{name} is empty: at least one client is needed")
        return tuple(_number(name, item) for item in value)
    number = _number(name, value)
    if name in INTEGERS:
        if number != int(number) or number < 1:
            raise ValueError(f"{name} must be a positive integer, got {value}")
        return int(number)
    return number


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(
        value, int | float | np.integer | np.floating
    ):
        raise ValueError(f"{name} must be a number, got {value!r}")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not math.isfinite(number):
        raise ValueError(f"{name} must be finite, got {number}")
    if name == "S" and number <= 0:
        raise ValueError(f"S must be positive, got {number:g}")
    if name == "participation" and not 0 < number <= 1:
        raise ValueError(f"participation must lie in (0, 1], got {number:g}")
    if number < 0:
        raise ValueError(f"{name} must not be negative, got {number:g}")
    return number
