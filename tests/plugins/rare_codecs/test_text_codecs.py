"""Texts in numcodecs' `json2`, `msgpack2` and `categorize`; pickled objects are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from tests.support.library import library

numcodecs = library("numcodecs")

TEXTS = [["a", "bb"], ["", "é"]]


def store(path: Path, codec: Any, chunk: bytes, dtype: str = "|O") -> str:
    """A Zarr v2 array of two chunks, of which one is stored."""
    metadata = {"zarr_format": 2, "shape": [4, 2], "chunks": [2, 2], "dtype": dtype, "fill_value": None, "order": "C",
                "compressor": {"id": "zlib", "level": 1}, "filters": [codec]}  # fmt: skip
    (path / "v").mkdir(parents=True)
    (path / ".zgroup").write_text('{"zarr_format": 2}')
    (path / "v/.zarray").write_text(json.dumps(metadata))
    (path / "v/0.0").write_bytes(numcodecs.Zlib(1).encode(chunk))
    return str(path)


def codecs() -> dict[str, Any]:
    from numcodecs.json import JSON

    found = {"json2": JSON(), "categorize": numcodecs.Categorize(["a", "bb", "é"], dtype="O", astype="<u2")}
    try:
        from numcodecs.msgpacks import MsgPack

        return found | {"msgpack2": MsgPack()}
    except ImportError:
        return found


@pytest.mark.parametrize("name", ["json2", "msgpack2", "categorize"])
def test_texts_are_those_that_numcodecs_wrote(name: str, tmp_path: Path) -> None:
    codec = codecs().get(name) or pytest.skip(f"numcodecs has no {name} here")
    chunk = bytes(codec.encode(np.array(TEXTS, object)))
    found = nczarr.open(store(tmp_path / "s.zarr", codec.get_config(), chunk))
    assert found.dataset.variables[0].type == "string"
    assert found["/v"][...].tolist() == [*TEXTS, ["", ""], ["", ""]]


@pytest.mark.parametrize(
    ("name", "chunk", "message"),
    [
        ("json2", b'["a",1,"b","c","|O",[4]]', "not texts"),
        ("json2", b'[["a"],["b","c"],"|O",[2]]', "not texts"),
        ("json2", b'["a","b","|O",[2]]', "2"),
        ("json2", b"[" * 100_000, "nested too deeply|cannot be decoded"),
        ("json2", b'{"a": 1}', "not a list"),
        ("json2", b"\xff", "cannot be decoded"),
        ("msgpack2", b"\xc1", "cannot be decoded"),
        ("categorize", b"\1\0\2", "cannot be decoded"),
    ],
)
def test_what_is_no_text_is_refused(name: str, chunk: bytes, message: str, tmp_path: Path) -> None:
    codec = codecs().get(name) or pytest.skip(f"numcodecs has no {name} here")
    found = nczarr.open(store(tmp_path / "s.zarr", codec.get_config(), chunk))
    with pytest.raises(nczarr.CompileError, match=message):
        found["/v"][...]


def test_categories_of_fixed_length(tmp_path: Path) -> None:
    """A number without a label is an empty text, as numcodecs decodes it."""
    codec = numcodecs.Categorize(["a", "bb"], dtype="<U2")
    path = store(tmp_path / "s.zarr", codec.get_config(), bytes([1, 2, 0, 9]), "<U2")
    assert nczarr.open(path)["/v"][:2].tolist() == [["a", "bb"], ["", ""]]


@pytest.mark.sampled(6)
@pytest.mark.parametrize("dtype", ["<U2", ">U2"])
@pytest.mark.parametrize("name", ["vlen-utf8", "json2", "msgpack2", "categorize"])
def test_texts_of_fixed_length_in_codecs_of_objects(name: str, dtype: str, tmp_path: Path) -> None:
    """numcodecs encodes them as it does objects; zarr-python writes such arrays, and does not open them."""
    codec = (codecs() | {"vlen-utf8": numcodecs.VLenUTF8()}).get(name) or pytest.skip(f"numcodecs has no {name} here")
    chunk = bytes(codec.encode(np.array(TEXTS, dtype)))
    path = store(tmp_path / "s.zarr", codec.get_config(), chunk, dtype)
    found = nczarr.open(path)
    assert found["/v"].type == "string"
    assert found["/v"][...].tolist() == [*TEXTS, ["", ""], ["", ""]]
    nczarr.write(found, tmp_path / "t.nc", format="cdl")
    nczarr.convert(path, tmp_path / "t.zarr", format="zarr2")
    assert nczarr.open(tmp_path / "t.zarr")["/v"][...].tolist() == found["/v"][...].tolist()


@pytest.mark.parametrize(
    ("dtype", "name"),
    [("|S3", "vlen-bytes"), ("|S1", "vlen-utf8"), ("<i4", "json2"), ("<U3", "vlen-bytes"), ("<M8[s]", "msgpack2")],
)
def test_other_dtypes_in_codecs_of_objects_are_refused(dtype: str, name: str, tmp_path: Path) -> None:
    path = store(tmp_path / "s.zarr", {"id": name}, b"", dtype)
    with pytest.warns(nczarr.DataWarning, match="left out"):
        (loss,) = nczarr.open(path).losses
    assert loss.code == "unreadable-array"
    assert f"`{dtype}` with filter `{name}`" in loss.message


def test_pickled_objects_are_refused(tmp_path: Path) -> None:
    path = store(tmp_path / "s.zarr", {"id": "pickle", "protocol": 5}, b"")
    with pytest.raises(nczarr.CompileError, match="filter `pickle`, which runs code"):
        nczarr.convert(path, tmp_path / "t.zarr", "zarr2")
