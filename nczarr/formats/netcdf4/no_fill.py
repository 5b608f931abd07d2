"""No-fill mode in a finished file, where the netCDF library refuses it or leaves values undefined.

To the library a variable has no-fill mode if HDF5's fill value is not
user-defined, as other programs leave it; it always sets one for strings and
lists. HDF5 cannot remove a fill value, so the fill value message in the object
header of the closed file is marked as empty.

For other types the library sets the fill time to "never", and unwritten cells
hold arbitrary memory. It is reset to HDF5's default, which makes them zeros.

Source: HDF5 File Format Specification 3.0, IV.A.2.f (fill value).
"""

from __future__ import annotations

import errno
from collections.abc import Iterator

from nczarr import names
from nczarr.arrays.values.parts import is_fixed
from nczarr.formats.netcdf4.fill_values import own_fill
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.object_headers import FILL, Change, ObjectPath, addresses, change_messages
from nczarr.formats.netcdf4.objects import NON_COORDINATE
from nczarr.formats.netcdf4.unsafe_fill_values import HAS_VALUE
from nczarr.plan.plans import FilePlan

_TIME, _IF_SET = 0x0C, 2
"""Bits of the fill time in such a message; HDF5's default time: on allocation, if the value is user-defined."""

_TIME_SHIFT = 2
"""Position of these bits; in version 2, index of the time's byte."""


def unfilled(plan: FilePlan) -> list[str]:
    """Return the no-fill strings and lists, which the library fills nevertheless."""
    checked = plan.checked
    return [path for path in _without_mode(plan) if not is_fixed(checked.variables[path].type, checked.types)]


def undefined(plan: FilePlan) -> list[str]:
    """Return the other no-fill variables, whose unwritten cells the library leaves undefined."""
    checked = plan.checked
    return [
        path
        for path in _without_mode(plan)
        if is_fixed(checked.variables[path].type, checked.types) and own_fill(path, checked) is None
    ]


def _without_mode(plan: FilePlan) -> Iterator[str]:
    return (path for path in plan.checked.variables if plan.storage[path].no_fill)


def take_fills(lib: Library, path: str, variables: list[str]) -> None:
    """Remove the fill values of variables from a closed file. Raises OSError."""
    _change_fills(lib, path, variables, _without_value)


def define_fills(lib: Library, path: str, variables: list[str]) -> None:
    """Make unwritten cells of variables zeros, in a closed file. Raises OSError."""
    _change_fills(lib, path, variables, _defined)


def _change_fills(lib: Library, path: str, variables: list[str], change: Change) -> None:
    if not variables:
        return
    places = addresses(lib, path, map(_place, variables))
    with open(path, "r+b") as raw:
        for address, variable in zip(places, variables, strict=True):
            if not change_messages(raw, address, {FILL: change}):
                text = f"the header of `{variable}` has an unknown layout; its fill value is kept"
                raise OSError(errno.EIO, text)


def _place(variable: str) -> ObjectPath:
    name = names.last(variable)
    return ObjectPath(names.split(names.parent(variable)), (NON_COORDINATE + name, name))


def _without_value(body: bytes) -> bytes | None:
    """Remove the value from a fill value message, keeping its size; None for unknown versions."""
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, body[1] & ~HAS_VALUE]) + bytes(len(body) - 2)
    if len(body) >= 8 and body[0] == 2:  # allocation time, fill time, whether it is defined, its size
        return body[:4] + bytes(len(body) - 4)
    return None


def _defined(body: bytes) -> bytes | None:
    """Set the default fill time in a fill value message; None for unknown versions."""
    if len(body) >= 2 and body[0] == 3:
        return bytes([3, (body[1] & ~_TIME) | _IF_SET << _TIME_SHIFT]) + body[2:]
    if len(body) > _TIME_SHIFT and body[0] == 2:  # allocation time, fill time, whether it is defined
        return body[:_TIME_SHIFT] + bytes([_IF_SET]) + body[_TIME_SHIFT + 1 :]
    return None
