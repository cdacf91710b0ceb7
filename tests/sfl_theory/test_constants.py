"""Constants: what no problem can have is refused, and JSON keeps every bit."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_bound_relations import constants

from sfl_theory import Constants

pytestmark = pytest.mark.fast


@given(constants())
def test_json_round_trip_keeps_every_bit(values: Constants) -> None:
    origin = {"S": "analytic", "sigma2": "trajectory"}
    values = values.with_values(provenance=origin, domain={"S": "everywhere"})
    assert Constants.from_dict(json.loads(values.to_json())) == values


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"weights": [0.5, 0.6]}, "sum to 1"),
        ({"weights": [1.5, -0.5]}, "weights must not be negative"),
        ({"weights": []}, "at least one client"),
        ({"weights": 1.0}, "list"),
        ({"S": 0}, "S must be positive"),
        ({"S": 1, "mu": 2}, "mu must not exceed S"),
        ({"mu": -1}, "mu must not be negative"),
        ({"participation": 0}, r"\(0, 1\]"),
        ({"participation": [0.5, 1.5]}, r"\(0, 1\]"),
        ({"sigma2": math.nan}, "finite"),
        ({"G2": math.inf}, "finite"),
        ({"G2": 10**400}, "finite"),
        ({"eps2": "3"}, "number"),
        ({"eps2": [1, 2]}, "one number"),
        ({"tau": 1.5}, "positive integer"),
        ({"tau": 0}, "positive integer"),
        ({"tau_server": True}, "number"),
        ({"sigma2": [1, 2, 3], "weights": [0.5, 0.5]}, "3 entries"),
        ({"colour": 1}, "unknown constant 'colour'"),
        ({"S": 1, "provenance": {"S": "guessed"}}, "guessed"),
        ({"provenance": {"X": "assumed"}}, "'X'"),
    ],
)
def test_impossible_values_are_refused(values: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        Constants.from_dict(values)


@pytest.mark.parametrize(
    "content",
    ["[]", "{", "\xff", '{"S": NaN}', "3", pytest.param("[" * 100_000, id="deep")],
)
def test_bad_files_are_refused_with_their_path(content: str, tmp_path: Path) -> None:
    path = tmp_path / "constants.json"
    path.write_bytes(content.encode("latin-1"))
    with pytest.raises(ValueError, match=r"constants\.json"):
        Constants.from_json(path)
    with pytest.raises(ValueError, match="No such file"):
        Constants.from_json(tmp_path / "absent.json")


@given(st.integers(1, 5), st.floats(0, 10))
def test_scalars_stand_for_every_client(clients: int, sigma2: float) -> None:
    values = Constants(weights=(1 / clients,) * clients, sigma2=sigma2)
    assert values.per_client("sigma2").tolist() == [sigma2] * clients
