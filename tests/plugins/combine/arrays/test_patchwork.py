"""Concatenations in a given grid: which chunks are those of one source."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

import nczarr
from nczarr.arrays.sources.source import ArraySource
from nczarr.plugins.combine.arrays.concatenate import join_sources
from nczarr.plugins.combine.arrays.patchwork import Patchwork, as_patchwork, count_copied


def stored(tmp_path_factory: pytest.TempPathFactory, length: int, chunk: int, codecs: str = "zlib:1") -> ArraySource:
    """An array of a store."""
    built = nczarr.DatasetBuilder("t")
    x, y = built.dimension("x", length, unlimited=True), built.dimension("y", 2)
    built.variable("v", "int", [x, y], chunks=(chunk, 2))
    path = tmp_path_factory.mktemp("stored") / "t.zarr"
    nczarr.write(built.finish(data={"/v": np.arange(2 * length).reshape(length, 2)}), path, codecs=codecs)
    return nczarr.open(path).checked.parts["/v"][""]


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ([(8, 4, "zlib:1"), (8, 4, "zlib:1")], [0, 1, 2, 3]),
        ([(6, 4, "zlib:1"), (8, 4, "zlib:1")], [0]),
        ([(6, 4, "zlib:1"), (2, 4, "zlib:1"), (8, 4, "zlib:1")], [0, 2, 3]),
        ([(8, 4, "zlib:1"), (8, 4, "none"), (5, 4, "zlib:1")], [0, 1, 4, 5]),
        ([(8, 4, "zlib:1"), (8, 2, "zlib:1"), (4, 4, "zlib:1")], [0, 1, 4]),
        ([(8, 4, "zlib:1"), (5, 4, "zlib:1"), (3, 4, "zlib:1")], [0, 1, 2]),
    ],
)
def test_chunks_of_one_source(
    sources: Sequence[tuple[int, int, str]], expected: list[int], tmp_path_factory: pytest.TempPathFactory
) -> None:
    arrays = [stored(tmp_path_factory, *source) for source in sources]
    whole = join_sources(arrays, 0)
    first = arrays[0]
    layout = first.layout._replace(shape=whole.layout.shape)
    made = as_patchwork(whole, layout, 1)
    if not isinstance(made, Patchwork):
        assert not [each for each in arrays[1:] if each.stored == first.stored]
        return
    count = -(-whole.layout.shape[0] // 4)
    indices = [(number, 0) for number in range(count)]
    assert [index[0] for index in indices if made.find_only_source(index) is not None] == expected
    assert count_copied(made, indices, layout) == len(expected)
    for index in indices:
        origin = made.find_only_source(index)
        if origin is not None:
            assert made.read_encoded(index) == origin[0].read_encoded(origin[1])
            assert made.place(index) is not None
            rows = slice(4 * index[0], min(4 * index[0] + 4, whole.layout.shape[0]))
            inside = slice(4 * origin[1][0], 4 * origin[1][0] + rows.stop - rows.start)
            assert np.array_equal(made.read((rows, slice(0, 2))), origin[0].read((inside, slice(0, 2))))


def test_without_chunks_to_copy_nothing_changes(tmp_path_factory: pytest.TempPathFactory) -> None:
    one, other = stored(tmp_path_factory, 8, 4), stored(tmp_path_factory, 8, 2)
    whole = join_sources([one, other], 0)
    assert as_patchwork(whole, one.layout, 1) is whole
    assert as_patchwork(one, one.layout, 0) is one
