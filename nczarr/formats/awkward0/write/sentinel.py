"""Fill values for missing items: unused values of the same type."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.elements import is_element
from nczarr.arrays.values.parts import NUMPY
from nczarr.check.check_types import default_fill
from nczarr.formats.awkward0.columns.nodes import Flat

_NAMES = {code[1:]: name for name, code in NUMPY.items() if code[1] in "iuf"}


def free_value(values: NDArray[Any], mask: NDArray[Any]) -> tuple[NDArray[Any], Flat] | None:
    """Return an unused fill value (one little-endian element) and the values, filled where `mask` is true.

    `values`: shape (items,), any dtype; `mask`: bool, shape (items,). Returns
    None for non-numeric types or if all values are used. Tries netCDF's default
    fill first, which readers recognize without an attribute.
    """
    plain = values.astype("<i8") if values.dtype.kind in "mM" else values
    halves = plain.dtype.kind == "f" and plain.dtype.itemsize == 2
    if halves:
        plain = plain.astype("<f4")
    name = _NAMES.get(f"{plain.dtype.kind}{plain.dtype.itemsize}")
    if name is None:
        return None
    there = np.unique(plain[~mask])
    for fill in _candidates(name, plain.dtype, there):
        if halves and not is_element(np.array(fill, "<f4").tobytes(), "<f2"):
            continue
        taken = bool(np.isnan(there).any()) if fill != fill else bool((there == fill).any())
        if not taken:
            filled = np.array(plain, plain.dtype.newbyteorder("<"))
            filled[mask] = fill
            return np.array(fill, filled.dtype), Flat(filled)
    return None


def _candidates(name: str, dtype: Any, there: NDArray[Any]) -> Iterator[Any]:
    default = default_fill(name, {})
    if default is not None:
        yield dtype.type(default.as_numbers()[0])
    if dtype.kind == "f":
        yield from (dtype.type(special) for special in (np.nan, np.inf, -np.inf))
        yield from (dtype.type(number) for number in range(len(there) + 1))
        return
    limits = np.iinfo(dtype)
    yield from (dtype.type(limit) for limit in (limits.min, limits.max))
    yield from (dtype.type(number) for number in range(min(len(there) + 1, int(limits.max) + 1)))
    yield from (dtype.type(-number) for number in range(1, -int(limits.min)) if number <= len(there) + 1)
