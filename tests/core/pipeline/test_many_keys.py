"""Work for each key of a store: it grows by few calls a key, whatever asks for all of them."""

import json
import shutil
import zlib
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import nczarr
from tests.support.work import counted

FEW, MANY = 500, 3_500

MOST = {"diff": 120, "info": 60, "digest": 60}
"""Calls for each key beyond `FEW`: of `diff` there are two keys."""


def make_store(root: Path, count: int) -> Path:
    """Write a Zarr v2 store of `count` deflated chunks of four floats, without a fill value."""
    (root / "v").mkdir(parents=True)
    (root / ".zgroup").write_text('{"zarr_format": 2}')
    document = {"zarr_format": 2, "shape": [4 * count], "chunks": [4], "dtype": "<f4", "fill_value": None, "order": "C"}
    document |= {"compressor": {"id": "zlib", "level": 1}, "filters": None}
    (root / "v" / ".zarray").write_text(json.dumps(document))
    for number in range(count):
        (root / "v" / str(number)).write_bytes(zlib.compress(np.full(4, number, "<f4").tobytes()))
    return root


@pytest.mark.parametrize("name", MOST)
def test_calls_for_each_key(name: str, tmp_path: Path) -> None:
    calls = []
    for count in (10, FEW, MANY):  # the first one imports modules
        one = make_store(tmp_path / f"{count}.zarr", count)
        other = shutil.copytree(one, tmp_path / f"copy-{count}.zarr")
        work: dict[str, Callable[[], object]] = {
            "diff": lambda one=one, other=other: list(nczarr.diff(one, other)),  # type: ignore[misc]
            "info": lambda one=one: nczarr.info(one),  # type: ignore[misc]
            "digest": lambda one=one: nczarr.digest(one),  # type: ignore[misc]
        }
        with counted(10**9) as done:
            work[name]()
        calls.append(done.calls)
    assert (calls[2] - calls[1]) / (MANY - FEW) < MOST[name]


def test_missing_chunk_without_fill_value_is_equal_to_anything(tmp_path: Path) -> None:
    one, other = (make_store(tmp_path / f"{name}.zarr", 50) for name in ("a", "b"))
    (one / "v" / "7").unlink()
    assert not list(nczarr.diff(one, other))
    (other / "v" / "8").write_bytes(zlib.compress(np.full(4, -1, "<f4").tobytes()))
    [difference] = nczarr.diff(one, other)
    assert "32" in str(difference)


def test_link_in_place_of_a_chunk_is_refused(tmp_path: Path) -> None:
    store = make_store(tmp_path / "a.zarr", 40)
    (store / "v" / "3").unlink()
    (store / "v" / "3").symlink_to(store / "v" / "4")
    with pytest.raises((OSError, nczarr.CompileError), match="symbolic link"):
        nczarr.convert(store, tmp_path / "o.zarr", format="zarr3", shards="auto")
    folder = (store / "v").rename(tmp_path / "elsewhere")
    (store / "v").symlink_to(folder)
    with pytest.raises((OSError, nczarr.CompileError)):
        nczarr.convert(store, tmp_path / "o.zarr", format="zarr3")
