"""Inflate all deflated chunks of a netCDF-4 file by zlib-ng in two threads, and forget them: PATH.

What reading every value takes at least; the shuffle is not undone.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor

import h5py
from zlib_ng import zlib_ng

path = sys.argv[1]
places: list[tuple[int, int, int]] = []


def note(name: str, item: object) -> None:
    """Note the place of each chunk and the size of its values."""
    if isinstance(item, h5py.Dataset) and item.chunks and item.compression == "gzip":
        size = item.id.get_type().get_size()
        for length in item.chunks:
            size *= length
        item.id.chunk_iter(lambda chunk: places.append((chunk.byte_offset, chunk.size, size)))


with h5py.File(path) as file:
    file.visititems(note)
descriptor = os.open(path, os.O_RDONLY)


def inflate(place: tuple[int, int, int]) -> int:
    offset, length, size = place
    return len(zlib_ng.decompress(os.pread(descriptor, length, offset), bufsize=size))


with ThreadPoolExecutor(2) as pool:
    total = sum(pool.map(inflate, places))
assert total == sum(size for _, _, size in places)
print(f"{len(places)} chunks, {total} bytes")
