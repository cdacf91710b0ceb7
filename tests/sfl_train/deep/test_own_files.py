"""Protects who brings a network or data: one line for what is wrong, bits for what is.

And the hash: another content of a file is another run.
"""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from sfl_train.__main__ import main
from sfl_train.deep.config import Config, resolve
from sfl_train.deep.training import train
from sfl_train.runs.files import RunError

ROOT = Path(__file__).parents[3]
GUIDE = (ROOT / "docs" / "own-model.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```(\w+)\n(.*?)```", GUIDE, flags=re.DOTALL)
START = "import numpy as np\nimport torch\nfrom torch import nn\n\n\n"
OF_MLP = """
def net(channels, classes, pixels):
    inside = channels * pixels**2
    return nn.Sequential(
        nn.Sequential(nn.Flatten(), nn.Linear(inside, 13), nn.ReLU()),
        nn.Sequential(nn.Linear(13, 13), nn.ReLU()),
        nn.Linear(13, classes),
    )
"""
"""What ``--model mlp --width 0.1`` is."""


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(body: str) -> None:
    Path("mine.py").write_text(START + body)


def refused(capsys: pytest.CaptureFixture[str], line: str) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["--rounds", "1", "--quiet", *line.split()])
    said = capsys.readouterr()
    assert stopped.value.code == 2 and not said.out
    assert said.err.count("\n") == 1, said.err
    assert not any(Path("runs").glob("*"))
    return said.err


def data(**changed: object) -> None:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 90)
    y[:3] = range(3)
    x = (rng.integers(0, 60, (90, 6, 6)) + 60 * y[:, None, None]).astype(np.uint8)
    arrays = {"train_x": x[:60], "train_y": y[:60], "test_x": x[60:], "test_y": y[60:]}
    np.savez(
        "mine.npz", **{k: v for k, v in (arrays | changed).items() if v is not None}
    )


def test_ones_own_mlp_is_ours_to_the_last_bit() -> None:
    """Weights, batches and steps: nothing depends on whose file a network is from."""
    write(OF_MLP)
    same = {"cut": 2, "rounds": 2, "clients": 3, "tau": 2, "algorithm": "sfl-v2"}
    train(resolve("paper", {**same, "model": "mlp", "width": 0.1}), Path("ours"))
    train(resolve("paper", {**same, "model": "mine.py:net"}), Path("own"))
    logs = [Path(name, "metrics.jsonl").read_bytes() for name in ("ours", "own")]
    assert logs[0] == logs[1]


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ("def net():\n    return nn.Linear(64, 10)", "expected a torch.nn.Sequential"),
        ("def net():\n    return [nn.Flatten()]", "expected a torch.nn.Seq"),
        ("def net():\n    return nn.Sequential(nn.Flatten())", "has 1 block"),
        ("def net():\n    return nn.Sequential(nn.Flatten(), nn.ReLU())",
         "it has none"),
        ("def net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 9))",
         "has 9 logits, but there are 10 classes"),
        ("def net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(64, 11))",
         "has 11 logits, but there are 10 classes"),
        ("def net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(63, 10))",
         "on images of shape 1x8x8: raises RuntimeError"),
        ("def net():\n    return nn.Sequential(nn.Conv2d(1, 10, 8), nn.ReLU())",
         "expected logits of shape (2, 10) for two images, got (2, 10, 1, 1)"),
        ("def net():\n"
         "    return nn.Sequential(nn.Flatten(), nn.Linear(64, 10)).double()",
         "expected parameters in float32, they are float64"),
        ("def net(hidden):\n    return None", "has a parameter hidden without"),
        ("def net():\n    return 1 / 0", "raises ZeroDivisionError"),
        ("def net():\n    raise SystemExit(0)", "raises SystemExit"),
        ("net = 3", "has no function net"),
        ("def other():\n    pass", "has no function net"),
        ("def net(:", "raises SyntaxError"),
        ("raise OSError('x')", "running it: raises OSError: x"),
        ("def net():\n    linear = nn.Linear(64, 10)\n"
         "    nn.init.constant_(linear.bias, np.random.rand())\n"
         "    return nn.Sequential(nn.Flatten(), linear)",
         "makes another network at each call"),
        ("def net():\n    linear = nn.Linear(64, 10)\n"
         "    linear.bias.requires_grad_(False)\n"
         "    return nn.Sequential(nn.Flatten(), linear)", "requires_grad=False"),
    ],
)  # fmt: skip
def test_what_cannot_be_trained_is_one_line(body, says, capsys) -> None:
    write(body)
    assert says in refused(capsys, "--model mine.py:net")


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("gone.py:net", "gone.py: No such file"),
        ("mine.py", "or FILE.py:FUNCTION, got 'mine.py'"),
        ("mine.py:net.x", "or FILE.py:FUNCTION"),
        ("folder.py:net", "is a folder"),
    ],
)
def test_what_names_no_function_is_one_line(model, says, capsys) -> None:
    Path("folder.py").mkdir()
    assert says in refused(capsys, f"--model {model}")


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"train_x": None}, "has no array train_x"),
        ({"extra": np.zeros(3)}, "has an array 'extra'"),
        ({"train_x": np.zeros((60, 6, 6))}, "train_x must be uint8"),
        ({"train_x": np.zeros((60, 6, 7), np.uint8)}, "train_x must have shape"),
        ({"train_x": np.zeros((0, 6, 6), np.uint8)}, "train_x must have shape"),
        ({"test_x": np.zeros((30, 5, 5), np.uint8)}, "differ in shape"),
        ({"train_y": np.zeros(60)}, "train_y must be integers, got float64"),
        ({"train_y": np.zeros(60, bool)}, "train_y must be integers, got bool"),
        ({"train_y": np.zeros(59, int)}, "train_y must have shape (60,)"),
        ({"train_y": np.full(60, -1)}, "train_y must lie from 0 on"),
        ({"train_y": np.full(60, 2**64 - 1, np.uint64)}, "train_y must lie from 0 on"),
        ({"train_y": np.arange(60) % 2 + 1}, "class 0 has no training image"),
        ({"train_y": np.arange(60) % 2 * 2}, "class 1 has no training image"),
        ({"test_y": np.full(30, 3)}, "expected test labels below 3"),
        ({"groups": np.zeros(3, int)}, "groups must have shape (60,)"),
        ({"train_x": np.array([None])}, "not an .npz of plain numbers"),
    ],
)
def test_wrong_data_are_one_line(changed, says, capsys) -> None:
    data(**changed)
    said = refused(capsys, "--dataset npz:mine.npz --model mlp --clients 2")
    assert "--dataset: mine.npz: " in said and says in said


def test_the_logits_are_the_datas_classes(capsys) -> None:
    data()
    write("def net():\n    return nn.Sequential(nn.Flatten(), nn.Linear(36, 10))")
    line = "--dataset npz:mine.npz --model mine.py:net --clients 2"
    assert "has 10 logits, but there are 3 classes" in refused(capsys, line)
    assert main(f"--rounds 1 --quiet --classes 10 {line}".split()) == 0


def test_groups_are_clients() -> None:
    data(groups=np.arange(60) // 20)
    line = "--dataset npz:mine.npz --model mlp --rounds 1 --partition natural --quiet"
    main(line.split())
    (out,) = Path("runs").iterdir()
    assert out.name.startswith("sfl-v1-npz-mine-")
    assert len(json.loads((out / "partition.json").read_text())["clients"]) == 3


@pytest.mark.parametrize("name", ["mine.py", "mine.npz"])
def test_another_content_is_another_run(name: str) -> None:
    """And it is noticed in the folder of the first, which keeps its files."""
    write(OF_MLP)
    data()
    given = {"model": "mine.py:net", "dataset": "npz:mine.npz", "clients": 2}
    first = resolve("paper", {**given, "rounds": 1})
    train(first, Path("out"))
    before = {p: p.read_bytes() for p in Path("out").glob("*.*")}
    if name == "mine.py":
        write(OF_MLP + "\n")
    else:
        data(test_y=np.zeros(30, int))
    second = resolve("paper", {**given, "rounds": 1})
    assert first.hash != second.hash
    with pytest.raises(RunError, match="holds another run: the files of --model"):
        train(second, Path("out"))
    with pytest.raises(ValueError, match="changed just now"):
        train(first, Path("new"))
    assert not Path("new").exists()
    assert before == {p: p.read_bytes() for p in Path("out").glob("*.*")}


def test_digests_are_no_option(capsys) -> None:
    with pytest.raises(ValueError, match="unknown option 'digests'"):
        resolve("paper", {"digests": "x"})
    assert Config().hash == resolve("paper").hash


def test_checking_a_network_changes_nothing_of_it() -> None:
    """BatchNorm sees no zeros, and the global generator goes on as it was."""
    from sfl_train.deep.data.digits import digits
    from sfl_train.deep.models.own import own_network

    write(
        "def net():\n    return nn.Sequential(nn.Flatten(), nn.BatchNorm1d(64), "
        "nn.Dropout(), nn.Linear(64, 10))"
    )
    state = torch.get_rng_state()
    found = own_network(Path("mine.py"), "net", digits(), 10, 0).blocks
    assert torch.equal(state, torch.get_rng_state())
    assert all(module.training for module in found.modules())
    norm = found[1]
    assert isinstance(norm, nn.BatchNorm1d)
    assert norm.num_batches_tracked == 0


@pytest.mark.long
def test_the_guide_runs_as_shown(capsys) -> None:
    """Its blocks in order; the first is the file that the others name."""
    code = [text for language, text in BLOCKS if language == "python"]
    Path("mine.py").write_text(code[0])
    assert code[0].count("\n") <= 10
    commands = [text for language, text in BLOCKS if language == "sh"]
    for text in (commands[0], code[1], code[2], commands[1], commands[2]):
        if text in commands:
            words = shlex.split(text)
            assert words[:2] == ["sfl-verify", "train"]
            assert main([*words[2:], "--quiet"]) == 0
        else:
            exec(compile(text, "guide", "exec"), {})
    said = capsys.readouterr().out
    assert len(re.findall(r"round [58]: accuracy", said)) == 3
