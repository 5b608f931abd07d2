"""Arrays in stores whose keys vanish, or are others where another process looks."""

from __future__ import annotations

import pickle
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import nczarr
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.sources.source import ArraySource
from nczarr.diagnostics.report import Report
from nczarr.options import Options
from nczarr.pipeline import phases

WHOLE = (slice(0, 8), slice(0, 8))


def array_in(path: Path, **options: Any) -> ArraySource:
    builder = nczarr.DatasetBuilder("")
    axes = [builder.dimension(name, 8) for name in "yx"]
    builder.variable("v", "int", axes, fill_value=-1, chunks=(2, 4))
    values = np.arange(64).reshape(8, 8)
    values[:2] = -1
    nczarr.write(builder.finish(data={"/v": values}), path, **options)
    return source_of(path)


def source_of(path: Path) -> ArraySource:
    found = phases.read_path(str(path), Report(), Options())
    assert found is not None
    source = found.parts["/v"][""]
    assert isinstance(source, KeyChunkArray)
    return source


CASES = pytest.mark.parametrize(
    ("options", "key"), [({}, "v/1.1"), ({"format": "nczarr3", "shards": {"/v": (4, 4)}}, "v/c/1/1")]
)


@CASES
def test_a_key_that_was_never_there_is_fill(options: dict[str, Any], key: str, tmp_path: Path) -> None:
    again = pickle.loads(pickle.dumps(array_in(tmp_path / "t.zarr", **options)))
    assert not (tmp_path / "t.zarr" / "v" / "0.0").exists()
    assert again.read(WHOLE)[0].tolist() == [-1] * 8
    assert again.read(WHOLE)[7].tolist() == list(range(56, 64))


@CASES
def test_a_key_that_was_listed_and_is_gone_is_no_fill(options: dict[str, Any], key: str, tmp_path: Path) -> None:
    source = array_in(tmp_path / "t.zarr", **options)
    assert list(source.list_occupied(source.layout.shards or (2, 4)))
    (tmp_path / "t.zarr" / key).unlink()
    with pytest.raises(OSError, match="listed but does not exist") as failed:
        source.read(WHOLE)
    assert failed.value.filename == str(tmp_path / "t.zarr" / key)


@CASES
@pytest.mark.parametrize("change", ["one less", "none at all"])
def test_another_process_sees_the_same_keys(options: dict[str, Any], key: str, change: str, tmp_path: Path) -> None:
    data = pickle.dumps(array_in(tmp_path / "t.zarr", **options))
    file = tmp_path / "t.zarr" / key
    if change == "one less":
        file.unlink()
    else:
        shutil.rmtree(tmp_path / "t.zarr")
    again = pickle.loads(data)
    for _ in range(2):
        with pytest.raises(OSError, match="this process lists other keys"):
            again.read(WHOLE)
    with pytest.raises(OSError, match="this process lists other keys"):
        again.place((1, 1))
