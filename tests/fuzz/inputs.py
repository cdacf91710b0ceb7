"""Malformed inputs, drawn: values of options, tokens, and changes of files."""

from __future__ import annotations

import io
import json
import zipfile
from random import Random
from typing import Any

import numpy as np
from numpy.lib import format as npy

EXTRAORDINARY = (
    "/dev/zero", "/dev/null", "/dev/full", "user/pipe", "user/socket", "user/link",
    "user/loop", "user", "user/none", "user/thesis.txt/x", "x" * 300, "", ".", "/",
    "/proc/self/mem", "user/secret", "/none/\udcff",
)  # fmt: skip
"""Paths that are no ordinary file that can be read."""

NUMBERS = (
    "0", "-1", "1", "2", "3", "1e308", "-1e308", "1e-300", "1e17", "1e400", "nan",
    "inf", "-inf", "9223372036854775807", "9223372036854775808", "-9223372036854775808",
    "9" * 20, "1" * 5000, "0x10", "1_0", "1.", ".5", "0.5", "1e", "--1",
    "\u0661\u0662", "1/3", "1/0", "0/1", "-0", "1,2", ",", "1,", "1" + ",1" * 2000,
    "1000000", "4294967296", "2147483648",
)  # fmt: skip

WORDS = (
    "", " ", "-", "--", "---", "=", "a", "A" * 300, "a\nb", "a\tb", "\x1b[31m",
    "\udcff",    "\u202e", "\U0001f600", "%s %d %(x)s", "{0} {x}", "$(id)",
    "`id`", "'", '"', "\\",
    "[", "[" * 5000, "(" * 5000, "{}", "None", "true", "__import__('os')", ";", "|",
    "*",    "../..", ":", "file:", "file:/dev/zero", "file:user/pipe", "file:user/none",
    "dirichlet:", "dirichlet:nan", "dirichlet:1e-300", "dirichlet:1e300", "blocks:2",
    "iid:1", "natural", "quadratic:", "quadratic:user/pipe", "quadratic:/dev/zero",
    "instance:", "instance:x", "softmax:", "synthetic:0x0x0", "synthetic:2x1x8:9999999",
    "synthetic:2x1x99999999:4", "synthetic:1x1x8:1:999999999999", "step:0:0",
    "step:1:nan", "theorem:", "theorem:3.7/non_convex:S=", "theorem:3.7/x:S=1",
    "theorem:3.7/non_convex:S=nan", "every=0", "every=" + "9" * 5000, "cosine:1",
    "1/(0+t)", "1/(-1+t)", "nan/(nan+t)", "1e400/(1+t)", "eta=1:0:3", "eta=0.1:1:999",
    "han2024/", "huang2023/thm-1", "3.7", "3.99", "table-2", "printed", "best",
    "uniform",
)  # fmt: skip

NODES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, -1e308, 10**400, float("nan"), float("inf"),
    "", "x", "high", "\x00", "../../etc/passwd", [], [[]], {}, {"x": 1}, [None],
    "A" * 3000, 2**63,
)  # fmt: skip
"""What may stand at a place of a JSON file."""


def value(draw: Random) -> str:
    """Return a value that no option expects, or hardly one."""
    if draw.random() < 0.15:
        most = draw.choice((128, 0x3000))
        return "".join(chr(draw.randrange(1, most)) for _ in range(draw.randrange(12)))
    return draw.choice(draw.choice((EXTRAORDINARY, NUMBERS, NUMBERS, WORDS, WORDS)))


def changed_bytes(content: bytes, draw: Random) -> bytes:
    """Return a file's content with some bytes lost, added or changed."""
    if draw.random() < 0.1:
        return draw.choice((
            b"", b"\0" * 100, b"\xff\xfe", b"[" * 5000, b"a = " + b"[" * 5000,
            b"{" + b'"a":{' * 5000, draw.randbytes(200), b"\n" * 1000, b"PK\x03\x04",
            b"a." * 5000 + b"b = 1", b'x = """',
        ))  # fmt: skip
    found = bytearray(content)
    for _ in range(draw.choice((1, 1, 1, 2, 5))):
        at = draw.randrange(len(found) + 1)
        length = draw.choice((1, 1, 2, 8, 40))
        kind = draw.randrange(5)
        if kind == 0:
            del found[at : at + length]
        elif kind == 1:
            found[at:at] = draw.randbytes(length)
        elif kind == 2:
            found[at : at + 1] = draw.choice((b"0", b"9", b"-", b"e", b'"', b"[", b","))
        elif kind == 3:
            found[at:at] = found[at : at + 20 * length]
        else:
            del found[at:]
    return bytes(found)


def changed_json(content: bytes, draw: Random) -> bytes:
    """Return a JSON file with one or two places changed."""
    tree = json.loads(content)
    for _ in range(draw.choice((1, 1, 1, 2))):
        tree = _changed(tree, draw)
    text = json.dumps(tree)
    if draw.random() < 0.03:
        text = text.replace("null", "[" * 5000, 1)
    return text.encode()


def changed_lines(content: bytes, draw: Random) -> bytes:
    """Return a file of JSON lines with one line changed, lost, doubled or moved."""
    lines = content.splitlines(keepends=True)
    at = draw.randrange(len(lines))
    kind = draw.randrange(4)
    if kind == 0:
        lines[at] = changed_json(lines[at], draw) + b"\n"
    elif kind == 1:
        del lines[at]
    elif kind == 2:
        lines.insert(draw.randrange(len(lines)), lines[at])
    else:
        draw.shuffle(lines)
    return b"".join(lines)


def _changed(tree: Any, draw: Random) -> Any:
    inner = isinstance(tree, dict | list) and len(tree) > 0
    if not inner or draw.random() < 0.08:
        return draw.choice(NODES)
    if isinstance(tree, dict):
        key = draw.choice([*tree])
        kind = draw.random()
        if kind < 0.1:
            return {name: tree[name] for name in tree if name != key}
        if kind < 0.2:
            return {**tree, draw.choice(("x", "", "hash", "a\nb")): draw.choice(NODES)}
        return {**tree, key: _changed(tree[key], draw)}
    at, kind = draw.randrange(len(tree)), draw.random()
    if kind < 0.1:
        return tree[:at] + tree[at + 1 :]
    if kind < 0.2:
        return [*tree, tree[at]]
    return [*tree[:at], _changed(tree[at], draw), *tree[at + 1 :]]


def changed_npz(content: bytes, draw: Random) -> bytes:
    """Return an archive of arrays with an array, a header or a member changed."""
    if draw.random() < 0.3:
        return changed_bytes(content, draw)
    with np.load(io.BytesIO(content)) as archive:
        arrays = dict(archive)
    name = draw.choice([*arrays])
    if draw.random() < 0.4:
        return _members(arrays, name, draw)
    array = arrays.pop(name)
    kind = draw.randrange(9)
    flat = array.astype(float).ravel()
    flat[draw.randrange(flat.size)] = draw.choice((
        np.nan,
        np.inf,
        -np.inf,
        1e300,
        -1e300,
        1e-300,
        0.0,
        -1.0,
        1e51,
    ))
    if kind < 4:
        arrays[name] = flat.reshape(array.shape)
    elif kind == 4:
        arrays[name] = array.astype(
            draw.choice(("c16", "U8", "?", "f2", "i1", "S3", "M8[s]"))
        )
    elif kind == 5:
        arrays[name] = array.reshape(-1) if draw.random() < 0.5 else array[None]
    elif kind == 6:
        arrays[draw.choice(("x", "", "a\nb", "H"))] = array
    elif kind == 7:
        arrays[name] = np.zeros((0,) * max(1, array.ndim))
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def _members(arrays: dict[str, Any], name: str, draw: Random) -> bytes:
    """Return an archive in which one member's header claims something else."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for key, array in arrays.items():
            member = io.BytesIO()
            if key != name:
                npy.write_array(member, np.asarray(array))
            else:
                header = {
                    "descr": draw.choice(("<f8", "|O", "<U99999", "|V0", "<f2", ">f8")),
                    "fortran_order": draw.choice((True, False)),
                    "shape": draw.choice((
                        (10**12,), (2**62, 2**62), (-1, 3), (3,), (10**400,), (),
                        (1,) * 40, (0, 2**40),
                    )),
                }  # fmt: skip
                npy.write_array_header_2_0(member, header)
                member.write(b"\0" * draw.choice((0, 8, 24, 1 << 16)))
            archive.writestr(f"{key}.npy", member.getvalue())
    return stream.getvalue()


def changed_toml(content: bytes, draw: Random) -> bytes:
    """Return options of which one is malformed, unknown, or of another type."""
    if draw.random() < 0.5:
        return changed_bytes(content, draw)
    nasty = draw.choice((
        "[]", "{}", "true", "1e308", "nan", "-inf", "10" + "0" * 30, '""', "'x'",
        "1979-05-27",        "[" * 5000, "[" + "1," * 999 + "]", '"\\u0000"',
        '"' + "x" * 300 + '"',
        "0", "-1",
    ))  # fmt: skip
    key = draw.choice((
        "model", "width", "rounds", "tau", "epochs", "lr", "partition", "dataset",
        "quiet",        "preset", "out", "colour", "seed", "clients",
        "schedule", "measure", "compile",
        '""', "a.b", "'a b'", "data-root", "device", "threads", "participation",
    ))  # fmt: skip
    return content + f"\n{key} = {nasty}\n".encode()
