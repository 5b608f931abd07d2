"""Codecs that only a plugin of zarr-python has: decoded by it, kept in references of Zarr v3, refused without it."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from nczarr.refs import Writing

import nczarr
from nczarr.sdk import CodecKind
from tests.support.added_rows import add_rows

pytestmark = [pytest.mark.peer, pytest.mark.filterwarnings("ignore")]

NAME = "nczarr_tests.upside_down"


@pytest.fixture
def array(peer: Callable[[str], ModuleType], tmp_path: Path) -> np.ndarray[Any, Any]:
    """Values of an array in `a.zarr`, whose codec reverses the bytes of a chunk."""
    zarr = peer("zarr")
    from zarr.abc.codec import BytesBytesCodec
    from zarr.registry import register_codec

    class UpsideDown(BytesBytesCodec):  # type: ignore[misc]
        is_fixed_size = True

        @classmethod
        def from_dict(cls, data: Any) -> Any:
            return cls()

        def to_dict(self) -> Any:
            return {"name": NAME, "configuration": {}}

        def compute_encoded_size(self, length: int, spec: Any) -> int:
            return length

        async def _decode_single(self, data: Any, spec: Any) -> Any:
            if data.to_bytes()[:3] == b"bad":
                raise LookupError("this is no chunk")
            return spec.prototype.buffer.from_bytes(data.to_bytes()[::-1])

        async def _encode_single(self, data: Any, spec: Any) -> Any:
            return spec.prototype.buffer.from_bytes(data.to_bytes()[::-1])

    register_codec(NAME, UpsideDown)
    values = np.arange(35, dtype="i4").reshape(5, 7)
    group = zarr.open_group(tmp_path / "a.zarr", mode="w", zarr_format=3)
    created = group.create_array(
        "v",
        shape=values.shape,
        chunks=(2, 7),
        dtype="i4",
        compressors=UpsideDown(),
        fill_value=-1,
        dimension_names="yx",
    )
    created[:4] = values[:4]
    values[4] = -1
    return values


def test_values_are_decoded_by_the_plugin(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    with nczarr.open(tmp_path / "a.zarr") as found:
        assert not found.losses
        assert found["v"][...].tolist() == array.tolist()
        assert found["v"][1:4, ::3].tolist() == array[1:4, ::3].tolist()
    nczarr.convert(tmp_path / "a.zarr", tmp_path / "a.nc", allow_loss="all")
    with nczarr.open(tmp_path / "a.nc") as written:
        assert written["v"][...].tolist() == array.tolist()


def test_chunks_stay_where_they_are_in_references(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    linked = Writing(metadata="zarr3", inline=0)
    done = nczarr.convert(
        tmp_path / "a.zarr", tmp_path / "a.json", format="reference", writing=linked, allow_loss="all"
    )
    assert (done.referenced_chunks, done.transcoded_chunks, done.encoded_chunks) == (2, 0, 0)
    document = json.loads((tmp_path / "a.json").read_text())["refs"]
    codecs = json.loads(document["v/zarr.json"])["codecs"]
    assert [codec["name"] for codec in codecs] == ["bytes", NAME]
    with nczarr.open(tmp_path / "a.json") as found:
        assert found["v"][...].tolist() == array.tolist()


def test_two_stores_are_combined_without_decoding(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    (tmp_path / "b.zarr").symlink_to(tmp_path / "a.zarr")
    linked = Writing(metadata="zarr3", inline=0)
    paths = [tmp_path / "a.zarr", tmp_path / "b.zarr"]
    done = nczarr.refs.combine(paths, tmp_path / "c.json", along="x", new_dim=None, writing=linked, allow_loss="all")
    assert done.referenced_chunks == 4
    with nczarr.open(tmp_path / "c.json") as found:
        assert found["v"][...].tolist() == np.concatenate([array, array], 1).tolist()


def test_plain_documents_name_the_way_out(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    with pytest.raises(nczarr.CompileError) as caught:
        nczarr.convert(
            tmp_path / "a.zarr", tmp_path / "a.json", format="reference", writing=Writing(metadata="zarr2", embed=0)
        )
    assert "a plugin of zarr-python decodes its chunks, which only Zarr v3 can name" in str(caught.value)
    assert "zarr3" in str(caught.value)


def test_faults_of_the_plugin_are_reported(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    chunk = tmp_path / "a.zarr" / "v" / "c" / "0" / "0"
    chunk.write_bytes(b"bad" + chunk.read_bytes()[3:])
    with nczarr.open(tmp_path / "a.zarr") as found, pytest.raises(nczarr.CompileError) as caught:
        found["v"][...]
    assert "unreadable-chunk" in str(caught.value)
    assert "LookupError: this is no chunk" in str(caught.value)


def test_other_names_are_unknown(array: np.ndarray[Any, Any], tmp_path: Path) -> None:
    document = tmp_path / "a.zarr" / "v" / "zarr.json"
    document.write_text(document.read_text().replace(NAME, "nczarr_tests.nobody"))
    with nczarr.open(tmp_path / "a.zarr") as found, pytest.raises(nczarr.CompileError) as caught:
        found["v"][...]
    assert "codec `nczarr_tests.nobody` is unknown" in str(caught.value)


class UpsideDownHere(CodecKind):
    """The same codec as a plugin of nczarr has it."""

    config_id = NAME

    def decode(self, data: bytes, step: Any, itemsize: int, limit: int) -> bytes:
        return data[::-1]


UPSIDE_DOWN = UpsideDownHere()


def test_a_plugin_of_nczarr_reads_what_zarr_python_writes(
    array: np.ndarray[Any, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], ModuleType]
) -> None:
    add_rows(monkeypatch, codecs={NAME: f"{__name__}:UPSIDE_DOWN"})
    monkeypatch.setattr("nczarr.arrays.codecs.zarr_plugin.ZarrPlugin.decode", None)  # it is not asked
    with nczarr.open(tmp_path / "a.zarr") as found:
        assert found["v"][...].tolist() == array.tolist()
    assert peer("zarr").open_group(tmp_path / "a.zarr", mode="r")["v"][...].tolist() == array.tolist()
