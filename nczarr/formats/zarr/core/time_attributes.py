"""Attributes of arrays of times (`datetime64`, `timedelta64`): in the tree as CF has them, in a store none.

An array of times is int64 in the tree. Readers add `units`, `calendar`, and a
`_FillValue` if the fill value is NaT; writers leave them out where the array is
written as times again.
"""

from __future__ import annotations

from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.elements import NAT, is_nat, time_attributes
from nczarr.formats.zarr.core.fill_values import Json


def with_times(attributes: Json, dtype: Descr, fill: bytes | None) -> Json:
    """Return the attributes of an array with those that describe times, unless it has others of these names."""
    times = time_attributes(dtype)
    if not times:
        return attributes
    missing = {"_FillValue": NAT} if fill is not None and is_nat(fill, dtype) else {}
    return {**times, **missing, **attributes}


def without_times(attributes: Json, dtype: Descr, fill: bytes | None) -> Json:
    """Invert `with_times` for a stored dtype."""
    times = with_times({}, dtype, fill)
    return {name: value for name, value in attributes.items() if times.get(name, attributes) != value}
