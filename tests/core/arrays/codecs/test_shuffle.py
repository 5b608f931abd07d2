"""HDF5's shuffle undone: all item sizes, into any strides, by both ways."""

from __future__ import annotations

import numpy as np
import pytest

from nczarr.arrays.codecs import shuffle
from nczarr.arrays.codecs.chain import encode
from nczarr.arrays.codecs.shuffle import undo_shuffle, unshuffle
from nczarr.ast import Codec


@pytest.mark.parametrize("width", [1, 2, 3, 4, 8, 16])
@pytest.mark.parametrize("count", [0, 1, 2, 1000, shuffle.FEW, shuffle.IN_CACHE + 3])
def test_the_bytes_are_those_that_were_shuffled(width: int, count: int) -> None:
    data = np.random.default_rng(width).bytes(count * width + width - 1)
    assert undo_shuffle(encode((Codec(id=2),), data, width), width) == data


@pytest.mark.parametrize("few", [0, 1 << 40])
@pytest.mark.parametrize("dtype", ["<f4", ">f4", "<i2", ">u2", "<f8", "V3", "<c16"])
def test_a_part_of_another_array_is_written(few: int, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shuffle, "FEW", few)
    for shape in ((), (1,), (7,), (1, 300, 257), (5, 1, 3), (2, 70_000)):
        check_a_part(dtype, shape)


def check_a_part(dtype: str, shape: tuple[int, ...]) -> None:
    width, count = np.dtype(dtype).itemsize, int(np.prod(shape))
    planes = np.random.default_rng(3).integers(0, 256, (width, *shape), np.uint8)
    wanted = np.moveaxis(planes, 0, -1).tobytes()
    room = np.zeros([length + 2 for length in shape], dtype)
    inner = (*(slice(1, -1) for _ in shape), ...)
    unshuffle(planes, room[inner])
    assert room[inner].tobytes() == wanted
    room[inner] = np.zeros(1, dtype)
    assert room.tobytes() == bytes(room.nbytes)
    turned = np.empty(shape[::-1], dtype)
    unshuffle(planes, turned.T)
    assert turned.T.tobytes() == wanted
    assert len(wanted) == count * width
