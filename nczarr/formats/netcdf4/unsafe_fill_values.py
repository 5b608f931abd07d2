"""Datasets whose fill value libnetcdf 4.10.1 mistakes for a text, which corrupts memory on close.

The library reports fixed-length texts, and floats of other widths than 4 and 8
bytes, as strings. It reads user-defined fill values as raw bytes, and frees
them as char pointers. So it gets an image of the file without these; HDF5 reads
fill values from the file.

Source: HDF5 File Format Specification 3.0, IV.A.1 (object headers), IV.A.2.e
and f (fill values).
"""

from __future__ import annotations

from ctypes import byref, c_int

from nczarr.formats.netcdf4.hdf5 import BASIC, DATASET, GROUP, Hdf5, ObjectInfo, closing, links
from nczarr.formats.netcdf4.object_headers import FILL, OLD_FILL, Raw, change_messages
from nczarr.formats.netcdf4.objects import FLOAT, OWN_FILL, STRING

HAS_VALUE = 0x20
"""Flag of a fill value message of version 3: size and value follow."""


def fatal_datasets(h5: Hdf5, file: int) -> list[int]:
    """Return the header addresses of such datasets, relative to HDF5's data. Raises OSError."""
    found: list[int] = []
    seen: set[bytes] = set()
    pending = [b"/"]
    while pending:
        group = pending.pop()
        for name, *_ in links(h5, file, group):
            path = group.rstrip(b"/") + b"/" + name
            info = ObjectInfo()
            if h5.H5Oget_info_by_name3(file, path, byref(info), BASIC, 0) < 0:
                continue
            token = bytes(info.token)
            if token in seen:
                continue
            seen.add(token)
            if info.type == GROUP:
                pending.append(path)
            elif info.type == DATASET and _is_fatal(h5, file, path):
                found.append(int.from_bytes(token[:8], "little"))
    return found


def _is_fatal(h5: Hdf5, file: int, path: bytes) -> bool:
    dataset = h5.H5Dopen2(file, path, 0)
    if dataset < 0:
        return False
    with closing(h5, "H5Dclose", dataset), closing(h5, "H5Tclose", h5.do("H5Dget_type", dataset)) as kind:
        family, size = h5.H5Tget_class(kind), h5.H5Tget_size(kind)
        text = family == STRING and size > 1 and h5.H5Tis_variable_str(kind) == 0
        if not text and not (family == FLOAT and size not in (4, 8)):
            return False
        status = c_int()
        with closing(h5, "H5Pclose", h5.do("H5Dget_create_plist", dataset)) as made:
            h5.H5Pfill_value_defined(made, byref(status))
        return status.value == OWN_FILL


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
