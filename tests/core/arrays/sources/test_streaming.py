"""Values in C order out of chunks that lie otherwise: all of them, and each chunk decoded once."""

from __future__ import annotations

import errno
import gc
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nczarr
from nczarr.arrays.regions import Selection
from nczarr.arrays.sources import bands
from nczarr.arrays.sources import bands as streaming
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout
from tests.support.chunked import Chunked


def chunked(values: Any, chunks: tuple[int, ...]) -> Chunked:
    return Chunked(ArrayInMemory(Layout("<i4", values.shape, values.shape), values), chunks)


@pytest.mark.parametrize("rows", [1 << 26, 256, 1])
@pytest.mark.parametrize("room", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((7,), (3,)),
        ((), ()),
        ((12, 5), (12, 2)),
        ((12, 5), (1, 5)),
        ((3, 9, 4), (1, 5, 2)),
        ((3, 9, 4), (1, 9, 4)),
        ((3, 1, 9, 4), (1, 1, 1, 3)),
        ((3, 9), (3, 9)),
        ((9, 4, 6), (4, 4, 3)),
        ((9, 4, 6), (9, 1, 1)),
        ((2, 3, 4), (5, 5, 5)),
        ((0, 3), (2, 2)),
    ],
)
def test_slabs(
    shape: tuple[int, ...], chunks: tuple[int, ...], room: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bands, "HELD", rows)
    values = np.arange(int(np.prod(shape)), dtype="<i4").reshape(shape)
    source = chunked(values, chunks)
    found = [slab.copy() for slab in streaming.slabs(source, room)]
    assert np.array_equal(np.concatenate([np.zeros(0, "<i4"), *found]), values.reshape(-1))
    if rows > 1:
        assert set(source.decoded.values()) <= {1}


def test_slabs_of_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bands, "HELD", 64)
    values = np.arange(9 * 8 * 7, dtype="<i4").reshape(9, 8, 7)
    region = (slice(2, 9), slice(1, 8), slice(3, 4))
    found = list(streaming.slabs(chunked(values, (9, 2, 2)), 5, region))
    assert np.array_equal(np.concatenate(found), values[region].reshape(-1))


@st.composite
def regions(draw: st.DrawFn) -> tuple[Chunked, Selection]:
    """A small array in chunks of any shape, and a part of it."""
    shape = tuple(draw(st.lists(st.integers(1, 9), min_size=1, max_size=4)))
    chunks = tuple(draw(st.integers(1, 5)) for length in shape)
    starts = [draw(st.integers(0, length - 1)) for length in shape]
    values = np.arange(math.prod(shape), dtype="<i4").reshape(shape)
    region = [slice(start, draw(st.integers(start + 1, length))) for start, length in zip(starts, shape, strict=True)]
    return chunked(values, chunks), tuple(region)


@pytest.mark.slow
@settings(max_examples=400)
@given(regions(), st.integers(1, 400), st.sampled_from([64, 1 << 20]))
def test_any_region_of_any_chunks(found: tuple[Chunked, Selection], room: int, held: int) -> None:
    source, region = found
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bands, "HELD", held)
        made = list(streaming.slabs(source, room, region))
    whole = source.inner.read(tuple(slice(0, length) for length in source.layout.shape))
    assert np.array_equal(np.concatenate(made), whole[region].reshape(-1))
    assert all(len(slab) <= room for slab in made)
    assert set(source.decoded.values()) == {1}


def test_without_room_for_a_file_values_are_read_as_they_are(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*arguments: object) -> None:
        raise OSError(errno.ENOSPC, "no space left on device")

    values = np.arange(9 * 8 * 7, dtype="<i4").reshape(9, 8, 7)
    monkeypatch.setattr(bands, "HELD", 64)
    for name, new in (("os.posix_fallocate", full), ("tempfile.TemporaryFile", full)):
        with monkeypatch.context() as patched:
            patched.setattr(name, new)
            found = list(streaming.slabs(chunked(values, (9, 2, 2)), 5))
        assert np.array_equal(np.concatenate(found), values.reshape(-1))
    monkeypatch.setattr(bands, "SPOOLED", 100)
    source = chunked(values, (9, 2, 2))
    assert np.array_equal(np.concatenate(list(streaming.slabs(source, 5))), values.reshape(-1))
    assert max(source.decoded.values()) > 1


@pytest.mark.slow
def test_no_file_is_left_open(recwarn: pytest.WarningsRecorder) -> None:
    values = np.arange(9 * 8 * 7, dtype="<i4").reshape(9, 8, 7)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(bands, "HELD", 64)
        begun = streaming.slabs(chunked(values, (4, 2, 2)), 5)
        next(begun)
        del begun
        gc.collect()
    assert not [each for each in recwarn if issubclass(each.category, ResourceWarning)]


@pytest.mark.long
@pytest.mark.parametrize("written", [False, True])
def test_chunks_without_values_take_no_file(
    written: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, peer: Callable[[str], Any]
) -> None:
    """A chunk of 256 MiB that the file declares and does not hold."""
    h5py = peer("h5py")
    with h5py.File(tmp_path / "a.nc", "w") as file:
        variable = file.create_dataset("v", (1 << 25,), "f8", chunks=(1 << 25,), compression="gzip")
        if written:
            variable[5] = 1.0
    sizes: list[int] = []
    room_for = bands._room_for
    monkeypatch.setattr(bands, "_room_for", lambda size: (sizes.append(size), room_for(size))[1])
    with nczarr.open(tmp_path / "a.nc") as dataset:
        first = next(streaming.slabs(dataset.checked.parts["/v"][""], 1000))
    assert first[5] == (1.0 if written else 0.0)
    assert sizes == ([1 << 28] if written else [])
