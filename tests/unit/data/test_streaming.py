"""Values in C order out of chunks that lie otherwise: all of them, and each chunk decoded once."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np
import pytest

from nczarr.ast import Codec
from nczarr.data import streaming
from nczarr.data.blocks import every_block, region_of
from nczarr.data.memory import ArrayInMemory
from nczarr.data.source import Layout, Selection, Stored


class Chunked(ArrayInMemory):
    """An array in memory that counts the chunks that a read meets."""

    def __init__(self, values: Any, chunks: tuple[int, ...]) -> None:
        super().__init__(Layout("<i4", values.shape, chunks), values)
        object.__setattr__(self, "decoded", Counter())

    __slots__ = ("decoded",)
    decoded: Counter[tuple[int, ...]]

    @property
    def stored(self) -> Stored:
        return Stored("<i4", self.layout.chunks, (Codec(id=1, parameters=(5,)),))

    def read(self, selection: Selection) -> Any:
        for index in every_block(self.layout.shape, self.layout.chunks):
            place = region_of(index, self.layout.chunks, self.layout.shape)
            if all(a.start < b.stop and b.start < a.stop for a, b in zip(place, selection, strict=True)):
                self.decoded[index] += 1
        return super().read(selection)


@pytest.mark.parametrize("rows", [1 << 26, 256, 1])
@pytest.mark.parametrize("room", [1, 7, 10_000])
@pytest.mark.parametrize(
    ("shape", "chunks"),
    [
        ((7,), (3,)),
        ((), ()),
        ((12, 5), (12, 2)),
        ((12, 5), (1, 5)),
        ((9, 4, 6), (4, 4, 3)),
        ((9, 4, 6), (9, 1, 1)),
        ((2, 3, 4), (5, 5, 5)),
        ((0, 3), (2, 2)),
    ],
)
def test_slabs(
    shape: tuple[int, ...], chunks: tuple[int, ...], room: int, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streaming, "ROWS", rows)
    values = np.arange(int(np.prod(shape)), dtype="<i4").reshape(shape)
    source = Chunked(values, chunks)
    found = [slab.copy() for slab in streaming.slabs(source, room)]
    assert np.array_equal(np.concatenate([np.zeros(0, "<i4"), *found]), values.reshape(-1))
    whole = all(chunk >= length for chunk, length in zip(chunks, shape, strict=True))
    if rows > 1 and not whole and room >= 7:
        inner_whole = all(chunk >= length for chunk, length in zip(chunks[1:], shape[1:], strict=True))
        assert inner_whole or set(source.decoded.values()) <= {1}


def test_slabs_of_a_region(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(streaming, "ROWS", 64)
    values = np.arange(9 * 8 * 7, dtype="<i4").reshape(9, 8, 7)
    region = (slice(2, 9), slice(1, 8), slice(3, 4))
    found = list(streaming.slabs(Chunked(values, (9, 2, 2)), 5, region))
    assert np.array_equal(np.concatenate(found), values[region].reshape(-1))
