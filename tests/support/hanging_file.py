"""An HDF5 file in which the library loops forever."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

h5py = pytest.importorskip("h5py")


FREE = 16
"""Where the offset of the first free block stands behind the signature of a local heap."""


def hanging(path: Path) -> Path:
    """Make a file whose heap of names has a free block that follows itself: HDF5 walks the list forever."""
    with h5py.File(path, "w", libver="earliest") as file:
        file["v"] = [1, 2, 3]
    data = bytearray(path.read_bytes())
    heap = data.index(b"HEAP")
    free, segment = struct.unpack_from("<QQ", data, heap + FREE)
    struct.pack_into("<Q", data, segment + free, free)
    path.write_bytes(data)
    assert len(data) < 3000
    return path
