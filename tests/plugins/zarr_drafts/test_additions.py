"""The draft of 2019 with codecs, data types and chunk grids of plugins, which have URIs."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np
import pytest

from nczarr import zarr3_2019
from nczarr.diagnostics.report import CompileError, DataWarning
from nczarr.plugins.zarr_drafts.api import MemoryKeys
from nczarr.sdk import CodecKind
from tests.support.added_rows import add_rows
from tests.support.draft_2019 import GZIP, array, content

CODEC = "https://example.org/codec/xor"
XOR = {"codec": CODEC, "key": 7}
VALUES = np.arange(1, 7, dtype="<i4").reshape(2, 3)


class Xor(CodecKind):
    config_id = CODEC

    def decode(self, data: bytes, step: Any, itemsize: int, limit: int) -> bytes:
        return xor(data, step["key"])


XOR_CODEC = Xor()


def xor(data: bytes, key: int = 7) -> bytes:
    return bytes(byte ^ key for byte in data)


def opened(data: bytes, key: str = "data/v/0.0", **members: Any) -> Any:
    """The only array of a hierarchy, whose one chunk has all values unless members say otherwise."""
    members = {"chunk_grid": {"type": "regular", "chunk_shape": [2, 3]}, **members}
    stored = MemoryKeys({**content(v=array(**members)), key: data})
    return zarr3_2019.read(stored)["v"]


def test_codecs_are_found_by_their_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    data = VALUES.tobytes()
    with pytest.raises(CompileError, match=f"codec `{CODEC}` is unknown"):
        opened(xor(data), chunk_codecs=[XOR])[...]
    add_rows(monkeypatch, codecs={CODEC: f"{__name__}:XOR_CODEC"})
    assert opened(xor(data), chunk_codecs=[XOR])[...].tolist() == VALUES.tolist()
    assert opened(xor(gzip.compress(data)), chunk_codecs=[GZIP, XOR])[...].tolist() == VALUES.tolist()
    assert opened(gzip.compress(xor(data)), chunk_codecs=[XOR, GZIP])[...].tolist() == VALUES.tolist()


TYPE, GRID = "https://example.org/types", "https://example.org/grids"
OURS = "urn:nczarr:extension:netcdf:1"
FIXED = {"extension": TYPE, "type": "fixed", "parts": 4}


def read_fixed(document: Any) -> dict[str, Any]:
    """A type of a test: integers that stand for so many parts of one."""
    parts = document["data_type"]["parts"]
    fill = document["fill_value"]
    attributes = {**document["attributes"], "scale_factor": 1 / parts}
    return {"data_type": "<i4", "fill_value": None if fill is None else round(fill * parts), "attributes": attributes}


def read_columns(document: Any) -> dict[str, Any]:
    """A grid of a test: chunks of whole columns, whose widths are given."""
    rows, _ = document["shape"]
    chunks = [[rows], document["chunk_grid"]["widths"]]
    return {"chunk_grid": {"extension": OURS, "type": "rectilinear", "chunk_shapes": chunks, "separator": "/"}}


def test_data_types_are_found_by_their_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    data = VALUES.tobytes()
    stored = MemoryKeys({**content(v=array(data_type=FIXED)), "data/v/0.0": data})
    with pytest.warns(DataWarning):
        assert [each.code for each in zarr3_2019.read(stored).losses] == ["unreadable-array"]
    add_rows(monkeypatch, data_types={TYPE: f"{__name__}:read_fixed"})
    variable = opened(data, data_type=FIXED, shape=[3, 3], fill_value=0.75)
    assert variable[...].tolist() == [[1, 2, 3], [4, 5, 6], [3, 3, 3]]
    assert dict(variable.attributes) == {"scale_factor": 0.25}
    dataset = zarr3_2019.read(MemoryKeys(content(v=array(data_type={**FIXED, "fallback": "<i4"}))))
    (note,) = dataset.diagnostics  # and no `fallback-type`
    assert (note.code, note.primary.pointer) == ("adapted-form", "/data_type")
    assert note.message == f'a plugin reads `{TYPE}` as `"<i4"`, which targets get'


def test_chunk_grids_are_found_by_their_uri(monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, chunk_grids={GRID: f"{__name__}:read_columns"}, data_types={TYPE: f"{__name__}:read_fixed"})
    grid = {"extension": GRID, "type": "columns", "widths": [1, 2]}
    keys = {"data/v/0/0": VALUES[:, :1].tobytes(), "data/v/0/1": VALUES[:, 1:].tobytes()}
    for kind in ("<i4", FIXED):
        dataset = zarr3_2019.read(MemoryKeys({**content(v=array(chunk_grid=grid, data_type=kind)), **keys}))
        assert dataset["v"][...].tolist() == VALUES.tolist()
    written = MemoryKeys()
    assert [each.code for each in zarr3_2019.write(dataset, written)] == ["lost-annotations"]  # chunks of other lengths
    monkeypatch.undo()
    assert zarr3_2019.read(written)["v"][...].tolist() == VALUES.tolist()


@pytest.mark.parametrize(
    ("widths", "message"),
    [
        ([1, 1], "the chunks of dimension 1 have 2 elements, and the array has 3"),
        ([1, 0, 2], "dimension 1: a list of chunk lengths must have integers above 0"),
        (None, "dimension 1: a chunk length must be an integer above 0"),
    ],
)
def test_grids_that_do_not_fit_are_faults(widths: Any, message: str, monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, chunk_grids={GRID: f"{__name__}:read_columns"})
    grid = {"extension": GRID, "type": "columns", "widths": widths}
    with pytest.warns(DataWarning):
        (fault,) = zarr3_2019.read(MemoryKeys(content(v=array(chunk_grid=grid)))).losses
    assert message in fault.message
    assert fault.primary.pointer == "/chunk_grid"


def test_failures_of_plugins_lose_the_array(monkeypatch: pytest.MonkeyPatch) -> None:
    add_rows(monkeypatch, data_types={TYPE: f"{__name__}:read_fixed"})
    kind = {"extension": TYPE, "type": "fixed"}
    with pytest.warns(DataWarning):
        (fault,) = zarr3_2019.read(MemoryKeys(content(v=array(data_type=kind)))).losses
    assert fault.message == f"the plugin of `{TYPE}` fails: KeyError: 'parts'"
