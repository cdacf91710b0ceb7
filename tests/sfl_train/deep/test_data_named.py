"""Protects the names of data sets, their partitions, and what a run keeps of them."""

from __future__ import annotations

import hashlib
import json
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from standard_files import SmallCifar, leaf, write_ham10000, writers

from sfl_train.__main__ import main
from sfl_train.deep.assembly import assemble
from sfl_train.deep.config import resolve
from sfl_train.deep.data import cifar, ham10000
from sfl_train.deep.data.named import ENTRIES, NAMES, load, table
from sfl_train.deep.training import train
from sfl_train.index_lists import LARGEST, digest, read_index_lists
from sfl_train.partition import partition
from sfl_train.runs.files import RunError

SMALL = {"model": "mlp", "width": 0.125, "rounds": 1, "batch_size": 8, "cut": 1}


def test_the_table_names_every_data_set_its_files_and_its_origin(capsys):
    with pytest.raises(SystemExit) as stopped:
        main(["--help-data"])
    shown = capsys.readouterr().out
    assert stopped.value.code == 0
    assert shown == table() + "\n"
    assert max(map(len, shown.splitlines())) <= 88
    flat = " ".join(shown.split())
    for entry in ENTRIES:
        for word in (entry.name, entry.images, entry.shape, entry.origin):
            assert word in flat
    for name in ("cifar-10-batches-py/", "tiny-imagenet-200.zip", "HAM10000_metadata"):
        assert name in flat


@pytest.mark.parametrize("entry", ENTRIES, ids=NAMES)
def test_every_name_reads_or_says_what_is_missing(entry, tmp_path):
    name = entry.name.partition("[")[0]
    if entry.files == "none":
        assert load(name, tmp_path).classes == 10
        return
    with pytest.raises(ValueError, match=r"--data-root|FILE: No such file") as error:
        load(name, tmp_path)
    assert "\n" not in str(error.value)


def test_noise_of_generated_images_is_an_option_with_the_old_default(tmp_path):
    """25 percent changes no bit; more noise hides the templates, labels stay."""
    plain, same, clear, loud = (
        load(f"synthetic:4x1x12:40{noise}", tmp_path)
        for noise in ("", ":25", ":0", ":50")
    )
    assert plain.name == same.name != loud.name
    assert np.array_equal(plain.train_x, same.train_x)
    assert np.array_equal(plain.train_y, loud.train_y)
    away = [
        np.abs(one.train_x.astype(float) - clear.train_x).mean()
        for one in (plain, loud)
    ]
    assert 0 < 1.3 * away[0] < away[1]


@pytest.mark.parametrize(
    "name", ["cifar", "cifar10:3", "ham10000:", "synthetic:4x1x12:40:", ""]
)
def test_other_names_are_refused(name, tmp_path):
    with pytest.raises(ValueError, match="unknown data set") as error:
        load(name, tmp_path)
    assert "tiny-imagenet" in str(error.value)


def test_the_command_trains_on_files_and_names_what_is_missing(
    tmp_path, monkeypatch, capsys
):
    small = SmallCifar(False).write(tmp_path, 0)
    monkeypatch.setattr(cifar, "CIFAR10", small)
    arguments = ["--dataset", "cifar10", "--data-root", str(tmp_path), "--rounds", "1"]
    arguments += ["--model", "mlp", "--width", "0.1", "--clients", "2"]
    arguments += ["--partition", "iid", "--out", str(tmp_path / "run"), "--quiet"]
    assert main(arguments) == 0
    capsys.readouterr()
    (tmp_path / "cifar-10-batches-py/test_batch").unlink()
    with pytest.raises(SystemExit) as stopped:
        main([*arguments[:-2], str(tmp_path / "other")])
    error = capsys.readouterr().err
    assert stopped.value.code == 2 and error.count("\n") == 1
    assert "test_batch: missing" in error and "cifar-10-python.tar.gz" in error


# Partitions in files


def write(path, text) -> str:
    path.write_text(text)
    return f"file:{path}"


@given(st.data())
@settings(max_examples=60, deadline=None)
def test_lists_read_back_in_every_notation(tmp_path_factory, data):
    samples = data.draw(st.integers(3, 40))
    chosen = data.draw(st.lists(st.integers(0, samples - 1), min_size=2, unique=True))
    cut = data.draw(st.integers(1, len(chosen) - 1))
    lists = [chosen[:cut], chosen[cut:]]
    notation = data.draw(
        st.sampled_from([json.dumps, repr, lambda v: f"{tuple(v)!r}\n"])
    )
    path = tmp_path_factory.mktemp("lists") / "lists.txt"
    parts = partition(write(path, notation(lists)), np.zeros(samples), None, 0)
    assert [part.tolist() for part in parts] == [sorted(given) for given in lists]
    assert all(part.dtype == np.int64 for part in parts)
    text = json.dumps([sorted(given) for given in lists], separators=(",", ":"))
    assert digest(parts) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[[0, 1], [2, 20]]", "client 1: index 20 is out of range for 20 samples"),
        ("[[0, -1]]", "client 0: index -1 is out of range"),
        ("[[0, 1" + "0" * 4000 + "]]", "client 0: index 1000"),
        ("[[0, 1], [2, 1]]", "sample 1 is listed twice, for client 0 and for client 1"),
        ("[[0, 1, 1]]", "sample 1 is listed twice, for client 0 and for client 0"),
        ("[[0], []]", "client 1 has no samples"),
        ("[[0, 1.0]]", "client 0: expected integers, got 1.0"),
        ("[[0, True]]", "client 0: expected integers, got True"),
        ("[[0, true]]", "client 0: expected integers, got True"),
        ("[[0, '1']]", "client 0: expected integers, got '1'"),
        ("[0, 1]", "client 0: expected a list of integers, got 0"),
        ("['01']", "client 0: expected a list"),
        ("[]", "expected a list of lists"),
        ("{0: [1]}", "expected a list of lists"),
        ("7", "expected a list of lists"),
        ("", "neither a Python literal nor JSON"),
        ("[[0, 1], [2", "may be truncated"),
        ("[[0, 1], [array([2])]]", "neither a Python literal"),
        ("__import__('os').system('true')", "neither a Python literal"),
        ("[" * 100000, "neither a Python literal"),
        ("[[0]]\0", "neither a Python literal"),
    ],
)
def test_lists_that_are_no_partition_are_refused(text, words, tmp_path):
    spec = write(tmp_path / "lists.txt", text)
    with pytest.raises(ValueError, match="partition 'file:") as error:
        partition(spec, np.zeros(20), None, 0)
    message = str(error.value)
    assert words in message, message
    assert "\n" not in message and len(message) < 300 + len(spec)


def test_files_of_lists_that_cannot_be_read_are_refused(tmp_path):
    for path, words in (
        (tmp_path / "none", "No such file"),
        (tmp_path, "is a folder"),
    ):
        with pytest.raises(ValueError, match=words):
            read_index_lists(path, 20)
    (tmp_path / "large").write_bytes(b" " * (LARGEST + 1))
    with pytest.raises(ValueError, match="is larger than"):
        read_index_lists(tmp_path / "large", 20)
    (tmp_path / "binary").write_bytes(b"\xff\xfe")
    with pytest.raises(ValueError, match="not a text"):
        read_index_lists(tmp_path / "binary", 20)
    spec = write(tmp_path / "lists", "[[0], [1]]")
    with pytest.raises(ValueError, match="lists 2 clients, but 3 were asked for"):
        partition(spec, np.zeros(20), 3, 0)
    assert len(partition(spec, np.zeros(20), 2, 0)) == 2


def test_a_run_keeps_its_lists_and_refuses_to_go_on_with_others(tmp_path):
    spec = write(tmp_path / "lists", "[[5, 3, 1], [0, 2], [700]]")
    config = resolve("paper", SMALL, {"partition": spec, "rounds": 2})
    assert config.clients is None
    out = tmp_path / "run"
    train(config, out)
    found = json.loads((out / "partition.json").read_text())
    assert found["clients"] == [[1, 3, 5], [0, 2], [700]]
    assert found["sizes"] == [3, 2, 1] and found["unused"] == 1437 - 6
    text = json.dumps(found["clients"], separators=(",", ":"))
    assert found["sha256"] == hashlib.sha256(text.encode()).hexdigest()
    (out / "done").unlink()
    train(config, out)
    (out / "done").unlink()
    before = (out / "partition.json").read_bytes()
    write(tmp_path / "lists", "[[5, 3, 1], [0, 2], [701]]")
    with pytest.raises(RunError, match="began with another partition"):
        train(config, out)
    assert (out / "partition.json").read_bytes() == before


def test_the_theorems_step_size_knows_the_clients_of_a_file(tmp_path):
    spec = write(tmp_path / "lists", "[[5, 3, 1], [0, 2], [7]]")
    schedule = "theorem:3.7/non_convex:S=5"
    rates = [
        assemble(
            resolve("paper", SMALL, {"schedule": schedule, "tau": 2, **more})
        ).rates(0)
        for more in ({"partition": spec}, {"partition": "iid", "clients": 3})
    ]
    assert rates[0] == rates[1]


# Groups


@st.composite
def grouped(draw):
    count = draw(st.integers(4, 12))
    sizes = draw(st.lists(st.integers(1, 5), min_size=count, max_size=count))
    rng = np.random.default_rng(draw(st.integers(0, 99)))
    groups = rng.permutation(np.repeat(rng.permutation(50)[:count], sizes))
    real = draw(st.booleans())
    labels = rng.normal(size=len(groups)) if real else rng.integers(0, 3, len(groups))
    return labels, groups, draw(st.integers(1, 4)), draw(st.integers(0, 9))


@given(grouped(), st.sampled_from(["iid", "dirichlet:20", "blocks:0.5", "blocks:1"]))
@settings(max_examples=100, deadline=None)
def test_groups_are_dealt_whole_and_all_of_them(case, base):
    labels, groups, clients, seed = case
    kind, colon, number = base.partition(":")
    spec = f"{kind}-groups{colon}{number}"
    try:
        parts = partition(spec, labels, clients, seed, groups)
    except ValueError as error:  # a few groups, and a client without any
        assert "left a client empty" in str(error)
        return
    assert len(parts) == clients
    np.testing.assert_array_equal(
        np.sort(np.concatenate(parts)), np.arange(len(labels))
    )
    held = [set(groups[part].tolist()) for part in parts]
    assert sum(map(len, held)) == len(set(groups.tolist()))
    if not base.startswith("dirichlet"):
        assert max(map(len, held)) - min(map(len, held)) <= 1


@given(grouped())
@settings(max_examples=60, deadline=None)
def test_groups_are_sorted_by_their_most_frequent_label(case):
    labels, groups, clients, seed = case
    labels = np.abs(np.round(labels)).astype(int)
    parts = partition("blocks-groups:1", labels, clients, seed, groups)
    typical = {
        code: np.bincount(labels[groups == code]).argmax()
        for code in set(groups.tolist())
    }
    ranges = [[typical[code] for code in groups[part].tolist()] for part in parts]
    for left, right in pairwise(ranges):
        assert max(left) <= min(right)


def test_groups_of_one_are_dealt_as_samples():
    labels = np.arange(30) % 3
    for kind, number in (("iid", ""), ("dirichlet", ":2"), ("blocks", ":0.7")):
        one = partition(f"{kind}-groups{number}", labels, 4, 5, np.arange(30))
        two = partition(f"{kind}{number}", labels, 4, 5)
        assert all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


@pytest.mark.parametrize(
    ("spec", "clients", "groups", "words"),
    [
        ("iid-groups", 2, None, "'iid-groups' needs data with groups"),
        ("iid-groups", 3, [0, 0, 1, 1], "3 cannot share 2 groups"),
        ("iid-groups", None, [0, 0, 1, 1], "at least 1"),
        ("iid-groups", 1, [0, 0, 1], "one group code per sample"),
        ("natural-groups", 1, [0, 0, 1, 1], "unknown partition"),
        ("dirichlet-groups", 1, [0, 0, 1, 1], "needs a number"),
        ("iid-groups:2", 1, [0, 0, 1, 1], "unknown partition"),
        ("file:", 1, None, "unknown partition"),
        ("natural", 3, [0, 0, 1, 1], "makes 2 clients"),
        ("natural", 0, [0, 0, 1, 1], "makes 2 clients"),
    ],
)
def test_group_partitions_that_cannot_be_are_refused(spec, clients, groups, words):
    with pytest.raises(ValueError, match=words) as error:
        partition(spec, np.zeros(4, int), clients, 0, groups)
    assert "\n" not in str(error.value)


def test_natural_takes_the_first_groups():
    groups = np.array([3, 1, 1, 7, 3, 0])
    whole = partition("natural", np.zeros(6), None, 0, groups)
    assert [part.tolist() for part in whole] == [[5], [1, 2], [0, 4], [3]]
    for clients in (1, 2, 3, 4):
        some = partition("natural", np.zeros(6), clients, 0, groups)
        assert [p.tolist() for p in some] == [p.tolist() for p in whole[:clients]]


@pytest.mark.parametrize("clients", [None, 2])
def test_writers_are_the_clients_of_femnist(clients, tmp_path):
    for split, seed in (("train", 1), ("test", 2)):
        (tmp_path / "femnist" / split).mkdir(parents=True)
        content = leaf(writers("bca", seed))
        (tmp_path / "femnist" / split / "all.json").write_text(content)
    given = {} if clients is None else {"clients": clients}
    config = resolve(
        "paper", SMALL, {"dataset": "femnist", "partition": "natural"}, given,
        {"data_root": str(tmp_path)},
    )  # fmt: skip
    made = assemble(config)
    assert len(made.parts) == (clients or 3)
    train_y = [writers("bca", 1)[f"f{name}"][1] for name in "abc"]
    for part, y in zip(made.parts, train_y, strict=False):
        np.testing.assert_array_equal(made.images.train_y[part], y)


@pytest.mark.parametrize(
    "spec", ["iid-groups", "dirichlet-groups:1", "blocks-groups:1"]
)
def test_every_lesion_stays_with_one_client(spec, tmp_path, monkeypatch):
    data, _ = write_ham10000(tmp_path)
    monkeypatch.setattr(ham10000, "HAM10000", data)
    images = load("ham10000:16", tmp_path)
    assert (images.pixels, load("ham10000", tmp_path).pixels) == (16, 64)
    parts = partition(spec, images.train_y, 4, 0, images.groups)
    colours = [set(images.train_x[part, 0, 4, 4].tolist()) for part in parts]
    assert sum(map(len, colours)) == len(set.union(*colours)) == images.groups.max() + 1
