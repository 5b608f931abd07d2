"""Datasets whose fill value libnetcdf 4.10.1 mistakes for a text, which corrupts memory on close.

The library reports fixed-length texts, and floats of other widths than 4 and 8
bytes, as strings. It reads user-defined fill values as raw bytes, and frees
them as char pointers. So it gets an image of the file without these; HDF5 reads
fill values from the file.

Source: HDF5 File Format Specification 3.0, IV.A.1 (object headers), IV.A.2.e
and f (fill values).
"""

from __future__ import annotations

from nczarr.formats.netcdf4.object_headers import FILL, OLD_FILL, Raw, change_messages
from nczarr.formats.netcdf4.objects import FLOAT, DatasetInfo

HAS_VALUE = 0x20
"""Flag of a fill value message of version 3: size and value follow."""


def is_fatal(dataset: DatasetInfo) -> bool:
    """Return whether a dataset has such a fill value."""
    if not dataset.given or dataset.dtype is not None:  # single chars and floats of 4 and 8 bytes have a dtype
        return False
    if dataset.fixed is not None:
        return dataset.fixed.size > 1
    return dataset.outline is not None and dataset.outline.family == FLOAT and dataset.outline.size not in (4, 8)


def without_fill(raw: Raw, base: int, address: int) -> bool:
    """Remove a dataset's fill value from its header; False for an unsupported header.

    `base`: offset of HDF5's data.
    """
    return change_messages(raw, address, {FILL: _emptied, OLD_FILL: lambda body: bytes(len(body))}, base)


def _emptied(body: bytes) -> bytes | None:
    """Remove a fill value message's value, keeping its size; None for unknown versions."""
    if len(body) >= 4 and body[0] in (1, 2):  # allocation time, fill time, whether it is defined; then size and value
        rest = len(body) - 4
        return body[:3] + bytes([rest >= 4]) + bytes(rest)  # defined, of size 0: HDF5's default
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, body[1] & ~HAS_VALUE]) + bytes(len(body) - 2)
    return None
