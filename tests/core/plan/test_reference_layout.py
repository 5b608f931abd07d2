"""Chunks of arrays that are references: as many bytes as a chunk has, or none."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr

VALUES = np.arange(6, dtype="<i4")


def document(folder: Path, data: bytes, length: int, **members: Any) -> Path:
    """References to one chunk of six integers."""
    (folder / "target").write_bytes(b"head" + data)
    array = {
        "zarr_format": 2, "shape": [6], "chunks": [6], "dtype": "<i4", "fill_value": 0, "order": "C",
        "compressor": None, "filters": None, **members,
    }  # fmt: skip
    refs = {".zgroup": {"zarr_format": 2}, "v/.zarray": array, "v/0": ["target", 4, length]}
    made = folder / "refs.json"
    made.write_text(json.dumps({"version": 1, "refs": refs}))
    return made


def test_a_chunk_of_the_right_length(tmp_path: Path) -> None:
    found = nczarr.open(document(tmp_path, VALUES.tobytes(), 24))
    assert found["v"][...].tolist() == VALUES.tolist()


@pytest.mark.parametrize("length", [8, 20, 28])
def test_a_reference_of_another_length_leads_to_something_else(length: int, tmp_path: Path) -> None:
    made = document(tmp_path, VALUES.tobytes() + bytes(8), length)
    with pytest.raises(nczarr.CompileError, match=f"there are {length} bytes, and a chunk has 24"):
        nczarr.open(made)["v"][...]
    with pytest.raises(nczarr.CompileError, match="v/0"):
        nczarr.convert(made, tmp_path / "s.zarr", format="zarr2")
    assert not (tmp_path / "s.zarr").exists()


def test_a_chunk_that_inflates_to_another_length(tmp_path: Path) -> None:
    data = zlib.compress(VALUES[:5].tobytes())
    made = document(tmp_path, data, len(data), compressor={"id": "zlib", "level": 1})
    with pytest.raises(nczarr.CompileError, match="there are 20 bytes"):
        nczarr.open(made)["v"][...]
