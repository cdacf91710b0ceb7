r"""The connection to a Ray cluster, refused in one line where it cannot be had."""

from __future__ import annotations

import importlib.util
import logging
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from figures.engines.engine import one_line
from sfl_theory.command import CommandError

CONNECT = 10.0
"""Seconds within which a cluster must answer."""
GREETING = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes([0, 0, 0, 4, 0, 0, 0, 0, 0])
SETTINGS = b"\x04"
"""How two ends of HTTP/2, which carries Ray's calls, begin: the fourth byte of what the
second says is this."""


@contextmanager
def connected(address: str | None) -> Iterator[Any]:
    """Join a cluster, or make one of this machine.

    Args:
        address: see `figures.engines.ray.RayEngine`.

    Yields:
        The module ``ray``.

    Raises:
        CommandError: if Ray is not installed or the cluster does not answer.
    """
    address = check(address)
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")  # Nothing is sent anywhere.
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if address != "local":
        os.environ.setdefault("RAY_NUM_REDIS_GET_RETRIES", "1")  # Of its connecting.
    import ray

    try:
        ray.init(
            address=address,
            include_dashboard=False if address == "local" else None,
            log_to_driver=False,
            logging_level=logging.ERROR,
        )
    except Exception as error:  # of many classes, Ray's and gRPC's
        why = one_line(error)
        if "AuthToken" in str(error.__context__):
            why += "; it asks for a token: set RAY_AUTH_MODE=token as on its nodes"
        raise CommandError(f"--address: {address}: {why}") from error
    try:
        yield ray
    finally:
        ray.shutdown()


def check(address: str | None) -> str:
    """See, before anything is made, that a cluster can be joined.

    Args:
        address: see `figures.engines.ray.RayEngine`.

    Returns:
        What to join: "HOST:PORT", "auto" or "local".

    Raises:
        CommandError: if it is no address, nothing answers, or Ray is not installed.
    """
    address = address or os.environ.get("RAY_ADDRESS") or "local"
    if address not in {"auto", "local"}:
        _check_answer(address)
    if importlib.util.find_spec("ray") is None:
        raise CommandError(
            "--engine ray: Ray is not installed; install the extra: "
            'python -m pip install "sfl-verify[cluster]"'
        )
    return address


def _check_answer(address: str) -> None:
    """See that a cluster answers; Ray itself would try for minutes.

    Args:
        address: "HOST:PORT".

    Raises:
        CommandError: if it is no address, or nothing or something else answers.
    """
    host, _, port = address.rpartition(":")
    if not host or not port.isdecimal() or "/" in address:
        raise CommandError(
            f"--address: expected HOST:PORT of the cluster's head, or auto, got "
            f"{address!r}; the command must run on a node of the cluster"
        )
    try:
        with socket.create_connection((host, int(port)), CONNECT) as connection:
            connection.sendall(GREETING)
            answer = connection.recv(4)
    except (OSError, OverflowError) as error:
        why = getattr(error, "strerror", None) or error
        raise CommandError(
            f"--address: no Ray cluster answers at {address} ({why}); start one with "
            "ray start --head"
        ) from error
    if answer[3:] != SETTINGS and not os.environ.get("RAY_USE_TLS"):
        raise CommandError(
            f"--address: what answers at {address} is no Ray cluster; give the address "
            "that ray start --head printed"
        )
