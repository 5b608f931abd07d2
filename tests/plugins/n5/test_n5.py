"""Stores in N5 by tensorstore, and by hand: values, names, and what is damaged or unknown."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.conftest import missing_peer, run_command

AXES = ["x", "y", "z"]
COMPRESSIONS: list[dict[str, Any]] = [
    {"type": "raw"},
    {"type": "gzip"},
    {"type": "gzip", "useZlib": True},
    {"type": "bzip2"},
    {"type": "xz"},
    {"type": "zstd"},
    {"type": "blosc", "cname": "lz4", "clevel": 5, "shuffle": 1},
]
TYPES = ["uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64", "float32", "float64"]


def container(path: Path) -> Path:
    """A container with an attribute and an empty group."""
    (path / "g" / "empty").mkdir(parents=True)
    (path / "attributes.json").write_text(json.dumps({"n5": "2.5.1", "title": "cells"}))
    return path


def array(path: Path, dtype: str = "int16", lengths: tuple[int, ...] = (2,), **more: Any) -> dict[str, Any]:
    """An array in one block; returns its attributes."""
    path.mkdir(parents=True, exist_ok=True)
    block = {"dimensions": list(lengths), "blockSize": list(lengths), "dataType": dtype, "compression": {"type": "raw"}}
    (path / "attributes.json").write_text(json.dumps(block | more))
    return block | more


def block(values: np.ndarray, payload: bytes | None = None) -> bytes:
    """A block of values in the order of N5, the first dimension last."""
    data = values.astype(values.dtype.newbyteorder(">")).tobytes() if payload is None else payload
    return struct.pack(f">HH{values.ndim}I", 0, values.ndim, *values.shape[::-1]) + data


@pytest.mark.sampled(3)
@pytest.mark.parametrize("compression", COMPRESSIONS, ids=lambda each: "-".join(map(str, each.values())))
@pytest.mark.parametrize("dtype", TYPES)
def test_arrays_of_tensorstore(dtype: str, compression: dict[str, Any], tmp_path: Path) -> None:
    try:
        import tensorstore
    except ImportError:
        missing_peer("tensorstore")
    path = container(tmp_path / "cells.n5")
    metadata = {
        "dimensions": [5, 7, 4],
        "blockSize": [2, 3, 4],
        "dataType": dtype,
        "compression": compression,
        "axes": AXES,
    }
    spec = {
        "driver": "n5",
        "kvstore": {"driver": "file", "path": f"{path}/g/a/"},
        "metadata": metadata | {"axes": AXES},
    }
    written = tensorstore.open(spec, create=True).result()
    values = (np.random.default_rng(5).random((5, 7, 4)) * 100).astype(dtype)
    written[:3].write(values[:3]).result()  # the last blocks are missing
    dataset = nczarr.open(path)
    assert dataset["g/a"].dimensions == ("/g/z", "/g/y", "/g/x")
    assert dataset.attributes["title"] == "cells"
    assert np.array_equal(dataset["g/a"][...], written.read().result().transpose())
    for target in ("zarr3", "netcdf4"):
        done = tmp_path / f"copy.{target}"
        nczarr.convert(path, done, target)
        assert np.array_equal(nczarr.open(done)["g/a"][...], written.read().result().transpose())
    assert np.array_equal(nczarr.open(path / "g" / "a")["a"][...], dataset["g/a"][...])


def test_blocks_of_lz4_java(tmp_path: Path) -> None:
    lz4 = pytest.importorskip("numcodecs.lz4")
    values = np.arange(600, dtype=np.int32).reshape(20, 30)
    data, pieces = values.astype(">i4").tobytes(), b""
    for piece in (data[:1600], data[1600:]):
        packed = lz4.LZ4().encode(piece)[4:]
        pieces += struct.pack("<8sBiiI", b"LZ4Block", 0x26, len(packed), len(piece), 0) + packed
    pieces += struct.pack("<8sBiiI", b"LZ4Block", 0x16, 0, 0, 0)
    array(container(tmp_path / "c.n5") / "v", "int32", (30, 20), compression={"type": "lz4"})
    (tmp_path / "c.n5" / "v" / "0").mkdir()
    (tmp_path / "c.n5" / "v" / "0" / "0").write_bytes(block(values, pieces))
    assert np.array_equal(nczarr.open(tmp_path / "c.n5")["v"][...], values)


def test_blocks_of_the_other_mode_and_older_names(tmp_path: Path) -> None:
    array(container(tmp_path / "c.n5") / "v", compression=None, compressionType="raw")
    document = json.loads((tmp_path / "c.n5/v/attributes.json").read_text())
    del document["compression"]
    (tmp_path / "c.n5/v/attributes.json").write_text(json.dumps(document))
    (tmp_path / "c.n5/v/0").write_bytes(struct.pack(">HHIIhh", 1, 1, 2, 2, -5, 6))
    assert nczarr.open(tmp_path / "c.n5")["v"][...].tolist() == [-5, 6]


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (b"x", "too few for its header"),
        (struct.pack(">HHI", 2, 1, 2), "has mode 2"),
        (struct.pack(">HHIhhh", 0, 1, 3, 1, 2, 3), "of shape (3,)"),
        (struct.pack(">HHIh", 0, 1, 2, 1), "2 bytes instead of 4"),
    ],
)
def test_damaged_blocks(data: bytes, words: str, tmp_path: Path) -> None:
    array(container(tmp_path / "c.n5") / "v")
    (tmp_path / "c.n5/v/0").write_bytes(data)
    ran = run_command("check", str(tmp_path / "c.n5"), "--data")
    assert ran.status == 1
    assert "unreadable-chunk" in ran.err
    assert words in ran.err


def test_what_is_unknown_or_damaged_is_named(tmp_path: Path) -> None:
    path = container(tmp_path / "c.n5")
    array(path / "good")
    (path / "good" / "0").write_bytes(block(np.array([1, 2], "i2")))
    array(path / "texts", "string")
    array(path / "images", compression={"type": "jpeg"})
    (path / "images" / "0").write_bytes(block(np.array([1, 2], "i2")))
    (path / "broken").mkdir()
    (path / "broken" / "attributes.json").write_text("{")
    ran = run_command("check", str(path), "--data")
    assert ran.status == 1
    for words in ("the model has no type for `n5 string`", "the document is not JSON", "codec `n5 jpeg` is unknown"):
        assert words in ran.err
    assert "zarr.json" not in ran.err
    assert f"{path / 'good' / 'attributes.json'}" in ran.err
    assert nczarr.open(path)["good"][...].tolist() == [1, 2]


@pytest.mark.parametrize(
    "more",
    [
        {"compression": {"type": [1]}},
        {"compression": [1]},
        {"compression": {"type": None}},
        {"dataType": ["int16"]},
        {"dataType": {}},
        {"axes": [["x"]]},
        {"axes": {}},
        {"blockSize": [0]},
        {"dimensions": [-1]},
    ],
    ids=str,
)
def test_attributes_of_other_types_are_no_internal_errors(more: dict[str, Any], tmp_path: Path) -> None:
    array(container(tmp_path / "c.n5") / "v", **more)
    for command in ("dump", "info", "check"):
        assert "internal-error" not in run_command(command, str(tmp_path / "c.n5")).err


def test_a_folder_with_another_document_of_this_name(tmp_path: Path) -> None:
    (tmp_path / "attributes.json").write_text('{"color": "red"}')
    assert "error[unknown-format]" in run_command("dump", str(tmp_path)).err


def test_containers_are_only_read(tmp_path: Path) -> None:
    path, told = container(tmp_path / "d.n5"), tmp_path / "t.nc"
    array(path / "v")
    text = "netcdf t { dimensions: x = UNLIMITED ; variables: int v(x) ; data: v = 1 ; }"
    nczarr.write(nczarr.from_cdl(text), told)
    for command, text in (
        (["edit", str(path), "--set", '@a="b"'], "`n5`, whose headers cannot be edited"),
        (["append", str(told), str(path)], "is in a format that is only read"),
        (["migrate", str(path), "--to", "zarr3"], "`n5`, which is not migrated"),
    ):
        ran = run_command(*command)
        assert (ran.status > 0, text in ran.err) == (True, True), ran.err
