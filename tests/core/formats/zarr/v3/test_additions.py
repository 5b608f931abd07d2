"""What plugins add to Zarr v3: codecs, anywhere behind the bytes of a chunk."""

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
