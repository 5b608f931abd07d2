"""Pictures of planes: colours, and PNG files of palette indices.

PNG: W3C Recommendation "Portable Network Graphics", second edition. The first
palette is viridis by S. van der Walt and N. Smith, dedicated to the public domain (CC0);
33 of its 256 colours, between which others are interpolated.
"""

from __future__ import annotations

import struct
import zlib
from functools import cache
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np

VIRIDIS = (
    "440154 470d60 48186a 482374 472d7b 453781 424086 3e4989 3b528b 375b8d 33638d "
    "2f6b8e 2c728e 297a8e 26828e 23898e 21918c 1f978b 1f9f88 21a685 27ad81 31b57b "
    "3dbc74 4cc26c 5cc863 6ece58 81d34d 95d840 aadc32 c0df25 d5e21a eae51a fde725"
)
"""Evenly spaced colours of the map."""

PALETTES = {
    "viridis": VIRIDIS,
    "heat": "0c0b1f 3a1059 781f6c b63655 e7652e f8a533 f6e47d",
    "grey": "121212 f4f4f4",
    "blue-red": "1b3b6d 2f6ba8 70a9d2 b9d6e8 f5f5f5 f1c5af df8564 b8443b 6f1424",
    "brown-green": "553309 8d5b1c bf9046 e2c995 f5f4ef a9d9ce 58ac9e 1c7b6d 07423b",
}
"""Evenly spaced colours of each palette, from low to high values."""

DIVERGING = frozenset({"blue-red", "brown-green"})
"""Palettes whose middle colour is for zero."""

COLOURS = 255
"""Number of colours; the palette index 0 is for missing values."""

_SIGNATURE = b"\x89PNG\r\n\x1a\n"


@cache
def palette(name: str) -> bytes:
    """Return the red, green and blue bytes of all colours, from low to high values."""
    known = np.array([list(bytes.fromhex(each)) for each in PALETTES[name].split()], "f8")
    places = np.linspace(0, len(known) - 1, COLOURS)
    columns = [np.interp(places, np.arange(len(known)), known[:, band]) for band in range(3)]
    return np.stack(columns, axis=1).round().astype("u1").tobytes()


def indices(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.uint8]:
    """Return the palette indices of values, uint8 in their shape: 0 for NaN, else 1 to `COLOURS`.

    Values outside of `low` to `high` have the first or last colour.
    """
    width = high - low
    with np.errstate(all="ignore"):
        shares = np.clip((values - low) / width, 0, 1) if width > 0 else np.where(np.isnan(values), np.nan, 0.5)
    found = np.nan_to_num(np.floor(shares * (COLOURS - 1) + 1.5), nan=0)
    return found.astype("u1")


def png(cells: NDArray[np.uint8], name: str) -> bytes:
    """Return the PNG file of palette indices, uint8 of shape (rows, columns); index 0 is transparent."""
    rows, columns = cells.shape
    lines = np.zeros((rows, columns + 1), "u1")  # each line begins with its filter, 0: none
    lines[:, 1:] = cells
    return b"".join((
        _SIGNATURE,
        _chunk(b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        _chunk(b"PLTE", b"\0\0\0" + palette(name)),
        _chunk(b"tRNS", b"\0"),
        _chunk(b"IDAT", zlib.compress(lines.tobytes(), 6)),
        _chunk(b"IEND", b""),
    ))  # fmt: skip


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def colour_bar(name: str) -> bytes:
    """Return the PNG file of all colours, the highest at the top."""
    scale: NDArray[Any] = np.arange(COLOURS, 0, -1)
    return png(scale.astype("u1").reshape(-1, 1), name)
