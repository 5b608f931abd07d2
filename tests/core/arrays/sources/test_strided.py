"""Arrays at regular places of a file: regions, strides, files that are too short, pickles."""

from __future__ import annotations

import itertools
import math
import pickle
from collections import deque
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nczarr.arrays.chunks.manifest import Affine
from nczarr.arrays.sources.source import Layout, little
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.stores.open import open_source
from tests.support.reading_ways import read_every_way

BYTES = bytes(range(256)) * 4


def array(
    shape: tuple[int, ...], base: int, stride: int, dtype: str = ">i2", size: int = len(BYTES), *, sparse: bool = False
) -> AffineArray:
    layout = Layout(dtype, shape, (1, *shape[1:]) if shape else ())
    return AffineArray(layout, FileBytes(None, size, BYTES[:size]), base, stride, b"\1\2" if sparse else b"", sparse)


def expected(source: AffineArray) -> np.ndarray:
    """Element by element: what the file holds of each, else what is missing."""
    shape, file = source.layout.shape, source.file.data
    out = np.empty(shape, source.layout.dtype)
    width = out.itemsize
    for index in np.ndindex(*shape):
        inner = np.ravel_multi_index(index[1:], shape[1:]) if len(shape) > 1 else 0
        at = source.base + (index[0] * source.stride if shape else 0) + int(inner) * width
        data = bytes(file[at : at + width])
        whole = data if len(data) == width else source.missing or data.ljust(width, b"\0")
        out[index] = np.frombuffer(whole, out.dtype)[0]
    return out


@st.composite
def cases(draw: st.DrawFn) -> tuple[AffineArray, tuple[slice, ...]]:
    shape = tuple(draw(st.lists(st.integers(1, 4), max_size=4)))
    row = math.prod(shape[1:]) * 2
    stride = row + draw(st.integers(0, 9))
    size = draw(st.integers(0, 1024))
    source = array(shape, draw(st.integers(0, 40)), stride, size=size, sparse=draw(st.booleans()))
    starts = [draw(st.integers(0, length)) for length in shape]
    stops = [draw(st.integers(start, length)) for start, length in zip(starts, shape, strict=True)]
    return source, tuple(map(slice, starts, stops))


@given(cases())
def test_any_region_of_any_array(case: tuple[AffineArray, tuple[slice, ...]]) -> None:
    source, region = case
    found = source.read(region)
    wanted = np.asarray(expected(source)[region], ">i2")
    assert (found.dtype, found.shape) == (np.dtype(">i2"), wanted.shape)
    assert found.tobytes() == wanted.tobytes()
    assert read_every_way(source, region).tobytes() == wanted.astype("<i2").tobytes()


@given(cases(), st.integers(1, 3))
def test_chunks_that_are_not_occupied_are_missing(case: tuple[AffineArray, tuple[slice, ...]], length: int) -> None:
    source, _ = case
    shape = source.layout.shape
    chunks = (length,) * len(shape)
    found = list(source.list_occupied(chunks))
    grid = list(itertools.product(*(range(-(-size // length)) for size in shape)))
    assert found == [index for index in grid if index in set(found)]
    if not source.sparse:
        assert found == grid
    values = expected(source)
    for index in set(grid) - set(found):
        chunk = values[tuple(slice(number * length, (number + 1) * length) for number in index)]
        assert set(chunk.reshape(-1).tolist()) == {0x0102}


@given(cases())
def test_bytes_that_the_file_lacks(case: tuple[AffineArray, tuple[slice, ...]]) -> None:
    source, _ = case
    shape, lacking = source.layout.shape, 0
    for row in range(shape[0] if shape else 1):
        begin = source.base + row * source.stride
        size = math.prod(shape[1:]) * 2
        lacking += size - min(size, max(0, source.file.size - begin))
    assert source.lacking == lacking
    assert source.is_complete == (lacking == 0)


@given(cases())
def test_encoded_chunks_are_bytes_of_the_file(case: tuple[AffineArray, tuple[slice, ...]]) -> None:
    source, _ = case
    shape, values = source.layout.shape, expected(source)
    for row in range(shape[0] if shape else 1):
        index = (row, *(0 for _ in shape[1:])) if shape else ()
        found = source.read_encoded(index)
        end = source.base + row * source.stride + math.prod(shape[1:]) * 2
        assert (
            found == (values[row : row + 1] if shape else values).tobytes()
            if end <= source.file.size
            else found is None
        )


def test_nothing_is_copied() -> None:
    found = array((3, 4), 8, 16).read((slice(0, 2), slice(1, 3)))
    assert not found.flags.owndata
    assert not found.flags.writeable


@pytest.mark.parametrize("dtype", [">i2", ">f8", "|S1", "|u1"])
def test_little(dtype: str) -> None:
    values = np.frombuffer(BYTES, dtype)[::3]
    assert little(values).dtype == np.dtype(dtype).newbyteorder("<")
    assert little(values).tolist() == values.tolist() or dtype == ">f8"


def test_a_huge_array_of_a_short_file_costs_nothing() -> None:
    source = array((2**40, 2**40, 2**40), 0, 2**81, size=10, sparse=True)
    assert list(source.list_occupied((1, 1, 8))) == [(0, 0, 0)]
    assert source.read((slice(0, 1), slice(0, 1), slice(0, 6))).tolist()[0][0][4:] == [0x0809, 0x0102]
    assert source.read((slice(9, 10), slice(2**39, 2**39 + 1), slice(0, 2))).tolist() == [[[0x0102, 0x0102]]]


def test_a_pickle_has_the_path_and_no_bytes(tmp_path: Path) -> None:
    path = tmp_path / "t.nc"
    path.write_bytes(BYTES * 100)
    opened = open_source(str(path))
    source = AffineArray(Layout(">i2", (3,), (3,)), FileBytes.of(opened), 2, 2)
    data = pickle.dumps(source)
    assert len(data) < 1000
    again = pickle.loads(data)
    assert again.read((slice(0, 3),)).tolist() == [0x0203, 0x0405, 0x0607]
    assert source.manifest() == Affine(str(path), 2, 6, 6, 1) == again.manifest()
    path.write_bytes(BYTES)
    with pytest.raises(OSError, match="had 102400 bytes"):
        pickle.loads(data).read((slice(0, 1),))


def test_pages_are_given_back_and_views_stay_good(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.arrays.sources.strided.RESIDENT", 100)
    path = tmp_path / "t.nc"
    path.write_bytes(BYTES * 100)
    opened = open_source(str(path))
    source = AffineArray(Layout(">i2", (400, 128), (400, 128)), FileBytes.of(opened), 0, 256)
    views = [source.read((slice(row, row + 1), slice(0, 128))) for row in range(400)]
    assert b"".join(view.tobytes() for view in views) == BYTES * 100


def test_bytes_of_no_file_are_pickled() -> None:
    again = pickle.loads(pickle.dumps(array((2,), 0, 2)))
    assert again.read((slice(0, 2),)).tolist() == [1, 0x0203]
    assert again.manifest() is None


def test_few_files_stay_mapped_however_many_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nczarr.arrays.sources.strided.MAPPED", 2)
    monkeypatch.setattr("nczarr.arrays.sources.strided._mapped", deque())
    files = []
    for number in range(4):
        (tmp_path / str(number)).write_bytes(bytes([number]) * 4)
        files.append(FileBytes.of(open_source(str(tmp_path / str(number)))))
    views = [np.frombuffer(file.data, np.uint8) for file in files]
    assert [file._data is None for file in files] == [True, True, False, False]
    assert [view.tolist() for view in views] == [[number] * 4 for number in range(4)]
    assert bytes(files[0].data) == bytes(4)
    assert [file._data is None for file in files] == [False, True, True, False]
