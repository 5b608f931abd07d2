"""Zarr v3 with codecs, data types and chunk grids of plugins."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.sdk import CodecKind
from tests.support.added_rows import add_rows

VALUES = np.arange(1, 5, dtype="<i2")
BYTES = {"name": "bytes", "configuration": {"endian": "little"}}
GZIP = {"name": "gzip", "configuration": {"level": 1}}
XOR = {"name": "example.xor", "configuration": {"key": 7}}


class Xor(CodecKind):
    config_id = "example.xor"

    def decode(self, data: bytes, step: Any, itemsize: int, limit: int) -> bytes:
        if not 0 <= step["key"] < 256:
            raise ValueError(f"{step['key']} is no byte")
        return xor(data, step["key"])


XOR_CODEC = Xor()


def xor(data: bytes, key: int = 7) -> bytes:
    return bytes(byte ^ key for byte in data)


def store(folder: Path, data: bytes = VALUES.tobytes(), **members: Any) -> Path:
    """An array of four small integers in one chunk."""
    document = {
        "zarr_format": 3,
        "node_type": "array",
        "shape": [4],
        "data_type": "int16",
        "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [4]}},
        "chunk_key_encoding": {"name": "default"},
        "fill_value": 0,
        "codecs": [BYTES],
        "attributes": {},
        **members,
    }
    (folder / "a.zarr" / "c").mkdir(parents=True, exist_ok=True)
    (folder / "a.zarr" / "zarr.json").write_text(json.dumps(document))
    (folder / "a.zarr" / "c" / "0").write_bytes(data)
    return folder / "a.zarr"


def values(path: Path) -> list[Any]:
    """All values of the only array."""
    with nczarr.open(path) as opened:
        return next(iter(opened.values()))[...].tolist()


def lost(path: Path) -> str:
    """The message about the only array, which cannot be read."""
    with pytest.warns(nczarr.DataWarning):
        opened = nczarr.open(path)
    assert not opened
    (found,) = opened.losses
    return f"{found.code}: {found.message}"


@pytest.fixture
def _codec(monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, codecs={"example.xor": f"{__name__}:XOR_CODEC"})


@pytest.mark.usefixtures("_codec")
def test_codecs_of_plugins_stand_anywhere_behind_the_bytes(tmp_path: Path) -> None:
    data = VALUES.tobytes()
    assert values(store(tmp_path, xor(data), codecs=[BYTES, XOR])) == [1, 2, 3, 4]
    assert values(store(tmp_path, xor(gzip.compress(data)), codecs=[BYTES, GZIP, XOR])) == [1, 2, 3, 4]
    assert values(store(tmp_path, gzip.compress(xor(data)), codecs=[BYTES, XOR, GZIP])) == [1, 2, 3, 4]
    twice = [BYTES, XOR, {"name": "example.xor", "configuration": {"key": 9}}]
    assert values(store(tmp_path, xor(data, 7 ^ 9), codecs=twice)) == [1, 2, 3, 4]


@pytest.mark.usefixtures("_codec")
def test_their_faults_name_the_chunk(tmp_path: Path) -> None:
    path = store(tmp_path, codecs=[BYTES, {"name": "example.xor", "configuration": {"key": 700}}])
    with pytest.raises(nczarr.CompileError, match=r"unreadable-chunk: .*700 is no byte"):
        values(path)


@pytest.mark.usefixtures("_codec")
def test_targets_get_chunks_that_are_encoded_again(tmp_path: Path) -> None:
    path = store(tmp_path, xor(VALUES.tobytes()), codecs=[BYTES, XOR])
    done = nczarr.convert(path, tmp_path / "b.zarr", format="zarr3")
    assert done.transcoded_chunks == 1
    assert values(tmp_path / "b.zarr") == [1, 2, 3, 4]
    assert "example.xor" not in "".join(each.read_text() for each in (tmp_path / "b.zarr").rglob("zarr.json"))


def test_without_its_plugin_a_codec_is_unknown(tmp_path: Path) -> None:
    path = store(tmp_path, xor(VALUES.tobytes()), codecs=[BYTES, XOR])
    with pytest.raises(nczarr.CompileError, match=r"codec `example\.xor` is unknown"):
        values(path)


def read_fixed(document: Any) -> dict[str, Any]:
    """A type of a test: integers that stand for so many parts of one."""
    parts = document["data_type"]["configuration"]["parts"]
    attributes = {**document["attributes"], "scale_factor": 1 / parts}
    return {"data_type": "int16", "fill_value": round(document["fill_value"] * parts), "attributes": attributes}


def read_unpacked(document: Any) -> dict[str, Any]:
    """The same type as the numbers that the integers stand for, by codecs that nczarr has."""
    offset = {"name": "scale_offset", "configuration": {"scale": document["data_type"]["configuration"]["parts"]}}
    cast = {"name": "cast_value", "configuration": {"data_type": "int16", "rounding": "nearest-even"}}
    return {"data_type": "float64", "codecs": [offset, cast, *document["codecs"]]}


def read_halves(document: Any) -> dict[str, Any]:
    """A grid of a test: two chunks along each dimension, of which the first may be longer."""
    lengths = [[-(-length // 2), length // 2] for length in document["shape"]]
    grid = {"name": "rectilinear", "configuration": {"kind": "inline", "chunk_shapes": lengths}}
    return {"chunk_grid": grid, "chunk_key_encoding": {"name": "v2", "configuration": {"separator": "/"}}}


FIXED = {"name": "example.fixed", "configuration": {"parts": 4}}
HALVES = {"name": "example.halves"}


def test_data_types_of_plugins_are_read_as_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, data_type=FIXED, fill_value=0.75, attributes={"units": "m"}, shape=[6])
    assert lost(path) == "unreadable-array: the model has no type for `example.fixed`"
    add_rows(monkeypatch, data_types={"example.fixed": f"{__name__}:read_fixed"})
    with nczarr.open(path) as opened:
        variable = next(iter(opened.values()))
        assert (variable.dtype, variable[...].tolist()) == (np.dtype("<i2"), [1, 2, 3, 4, 3, 3])
        assert dict(variable.attributes) == {"units": "m", "scale_factor": 0.25}
        (note,) = [each for each in opened.diagnostics if each.code == "adapted-form"]
    assert note.message == 'a plugin reads `example.fixed` as `"int16"`, which targets get'
    assert note.primary.pointer == "/data_type"
    done = nczarr.convert(path, tmp_path / "b.zarr", format="zarr3")
    assert "adapted-form" in [each.code for each in done.diagnostics]
    assert values(tmp_path / "b.zarr") == [1, 2, 3, 4, 3, 3]


@pytest.mark.plugin("rare_codecs")
def test_data_types_of_plugins_are_read_through_codecs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, data_types={"example.fixed": f"{__name__}:read_unpacked"})
    assert values(store(tmp_path, data_type=FIXED, fill_value=0.75, shape=[6])) == [0.25, 0.5, 0.75, 1.0, 0.75, 0.75]


def test_chunk_grids_of_plugins_are_read_as_known_ones(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = store(tmp_path, chunk_grid=HALVES, shape=[7])
    (path / "0").write_bytes(VALUES.tobytes())
    (path / "1").write_bytes(VALUES[:3].tobytes())
    assert lost(path) == "unreadable-array: chunk grid `example.halves` is unknown"
    add_rows(monkeypatch, chunk_grids={"example.halves": f"{__name__}:read_halves"})
    assert values(path) == [1, 2, 3, 4, 1, 2, 3]
    with nczarr.open(path) as opened:
        assert "/chunk_grid" in [each.primary.pointer for each in opened.diagnostics]


def test_a_plugin_may_add_both(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    types, grids = {"example.fixed": f"{__name__}:read_fixed"}, {"example.halves": f"{__name__}:read_halves"}
    add_rows(monkeypatch, data_types=types, chunk_grids=grids)
    path = store(tmp_path, chunk_grid="example.halves", data_type=FIXED, shape=[5])
    (path / "1").write_bytes(VALUES[:2].tobytes())
    assert values(path) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("place", "message"),
    [
        ("no.module:read", "the plugin of `example.fixed` fails: PluginError: no.module:read cannot be loaded"),
        (f"{__name__}:store", "the plugin of `example.fixed` fails: TypeError"),
        (f"{__name__}:read_nothing", "the model has no type for `example.fixed`"),
    ],
)
def test_faults_of_plugins_are_those_of_the_array(
    place: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_rows(monkeypatch, data_types={"example.fixed": place})
    assert f"unreadable-array: {message}" in lost(store(tmp_path, data_type=FIXED))


def read_nothing(document: Any) -> dict[str, Any]:
    return {}


def test_known_names_are_not_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, data_types={"int16": "no.module:read"}, chunk_grids={"regular": "no.module:read"})
    assert values(store(tmp_path)) == [1, 2, 3, 4]


def in_group(folder: Path, *chunks: bytes, **members: Any) -> Path:
    """The array as `/v` of a group."""
    array = store(folder, dimension_names=["x"], **members)
    (folder / "g.zarr").mkdir()
    (folder / "g.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group", "attributes": {}}')
    array.rename(folder / "g.zarr" / "v")
    for number, chunk in enumerate(chunks):
        (folder / "g.zarr" / "v" / str(number)).write_bytes(chunk)
    return folder / "g.zarr"


@pytest.fixture
def grown(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with two stores whose data type only a plugin reads."""
    add_rows(
        monkeypatch,
        data_types={"example.fixed": f"{__name__}:read_fixed"},
        chunk_grids={"example.halves": f"{__name__}:read_halves"},
    )
    for name in ("one", "other"):
        (tmp_path / name).mkdir()
        in_group(tmp_path / name, data_type=FIXED, fill_value=0.75)
    return tmp_path


def written(path: Path) -> Any:
    return json.loads((path / "v" / "zarr.json").read_text())


@pytest.mark.plugin("edit")
def test_edits_in_place_keep_the_type(grown: Path) -> None:
    path = grown / "one" / "g.zarr"
    nczarr.edit(path, attributes={"/v@units": "km"})
    document = written(path)
    assert (document["data_type"], document["fill_value"], document["attributes"]) == (FIXED, 0.75, {"units": "km"})


@pytest.mark.plugin("combine")
def test_records_are_appended_in_the_type(grown: Path) -> None:
    path = grown / "one" / "g.zarr"
    nczarr.append(grown / "other" / "g.zarr", path, along="x")
    assert (written(path)["data_type"], written(path)["shape"]) == (FIXED, [8])
    assert nczarr.open(path)["v"][...].tolist() == [1, 2, 3, 4, 1, 2, 3, 4]


@pytest.mark.plugin("combine")
def test_a_grid_that_follows_from_the_shape_is_not_extended(grown: Path) -> None:
    (grown / "halves").mkdir()
    path = in_group(grown / "halves", VALUES[:2].tobytes(), VALUES[2:].tobytes(), chunk_grid=HALVES)
    (grown / "plain").mkdir()
    with pytest.raises(nczarr.CompileError, match="`/v` would have other chunks with its new length"):
        nczarr.append(in_group(grown / "plain"), path, along="x")
    assert nczarr.open(path)["v"][...].tolist() == [1, 2, 3, 4]
