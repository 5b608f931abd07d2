"""One block for all headers and chunk indexes at the beginning of a netCDF-4 file (`--layout cloud` and `cmip7`).

HDF5 puts metadata into blocks of 2 KiB, which lie between the chunks. A block
that is large enough for all of them comes first, so that a reader of ranges
gets them together. Its size is known before values are written: headers are
measured in a file without values, and indexes follow from the numbers of chunks.
"""

import math
import os
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from ctypes import byref, c_size_t

from nczarr.arrays.regions import count_blocks, grid_of
from nczarr.formats.netcdf4.define import chunk_lengths
from nczarr.formats.netcdf4.library import Library
from nczarr.plan.plans import FilePlan
from nczarr.stores import local_paths

SLACK = 4096
"""Bytes for headers that grow when values are written."""

_ENTRIES = 64
"""Most chunks of a node of an index (twice H5Pset_istore_k's default)."""

_FILLED = 57
"""Chunks of a node that chunks in order fill: HDF5 leaves 0.9 of a full node behind."""

_COUNTED = 1 << 20
"""Chunks of a grid up to which all are taken to be stored."""


@contextmanager
def metadata_block(lib: Library, size: int) -> Iterator[None]:
    """Give files that the library makes a metadata block of `size` bytes. Expects its lock. Raises CallError."""
    before = c_size_t()
    lib.call("nc_get_meta_block_size", byref(before))
    lib.call("nc_set_meta_block_size", c_size_t(size))
    try:
        yield
    finally:
        lib.call("nc_set_meta_block_size", before)


def has_metadata_blocks(lib: Library) -> bool:
    """Return whether the library has a size of metadata blocks: since netCDF-C 4.10.1."""
    return hasattr(lib.dll, "nc_set_meta_block_size")


def metadata_bytes(plan: FilePlan, declare: Callable[[str], bool]) -> int | None:
    """Return the bytes of headers and chunk indexes; None if `declare` fails, which makes a file without values."""
    with tempfile.TemporaryDirectory(prefix="nczarr-") as folder:
        path = local_paths.join(folder, "headers.nc")
        if not declare(path):
            return None
        headers = os.path.getsize(path)
    return headers + SLACK + sum(index_bytes(rank, count) for rank, count in _count_chunks(plan))


def _count_chunks(plan: FilePlan) -> Iterator[tuple[int, int]]:
    """Yield the rank of each variable in chunks, and the number of its stored chunks at most."""
    checked = plan.checked
    for path, variable in checked.variables.items():
        lengths = chunk_lengths(path, variable, plan) if variable.dimensions else None
        if lengths is None:
            continue
        shape, source = checked.shapes[path], checked.parts.get(path, {}).get("")
        count = math.prod(grid_of(shape, lengths)) if source is not None else 0
        if source is not None and count > _COUNTED:
            count = count_blocks(source.list_occupied(lengths))
        yield len(lengths), count


def index_bytes(rank: int, count: int) -> int:
    """Return the bytes of the index of `count` chunks, a B-tree of version 1."""
    key = 8 + 8 * (rank + 1)  # size and mask of a chunk, and its corner
    node = 24 + (_ENTRIES + 1) * key + _ENTRIES * 8
    nodes = 0
    while count > 0:
        count = -(-count // _FILLED)
        nodes += count
        if count == 1:
            break
    return (nodes + 1 if nodes > 1 else nodes) * node
