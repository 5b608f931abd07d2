"""Values beyond the range of the dtype in `encoding`, which xarray's coders change silently."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.dask_array import block_error
from nczarr.arrays.lazy_numpy import NDArray, np

if TYPE_CHECKING:
    from xarray import Variable

REMEDY = "change `dtype`, `scale_factor` or `add_offset` in the encoding, or give a `_FillValue` for missing values"


class Packing(NamedTuple):
    """Packing of a variable by its encoding."""

    dtype: np.dtype[Any]
    """Dtype of the packed values; the one that `_Unsigned` names."""
    scale: float
    """`scale_factor`."""
    offset: float
    """`add_offset`."""
    has_fill: bool
    """True if a fill value stands for NaN."""


def packing_of(given: Variable, made: Variable) -> Packing | None:
    """Return the packing of an encoded variable; None if it can store every value of the dtype of `given`."""
    dtype, encoding = made.dtype, given.encoding
    scale, offset = (encoding.get(name) for name in ("scale_factor", "add_offset"))
    is_packed = scale is not None or offset is not None
    if (
        given.dtype.kind not in "iuf"
        or dtype.kind not in "iuf"
        or (not is_packed and np.can_cast(given.dtype, dtype, "safe"))
    ):
        return None
    unsigned = str(encoding.get("_Unsigned", "")).lower() if "_Unsigned" in made.attrs else ""
    kind = {"true": "u", "false": "i"}.get(unsigned, dtype.kind)
    stored = dtype if dtype.kind == "f" else np.dtype(f"{kind}{dtype.itemsize}")
    has_fill = any(encoding.get(name) is not None for name in ("_FillValue", "missing_value"))
    return Packing(stored, 1.0 if scale is None else float(scale), 0.0 if offset is None else float(offset), has_fill)


def misfit(values: NDArray[Any], packing: Packing) -> str | None:
    """Return why a value cannot be stored, of the first that cannot; None if all can. `values`: numbers, any shape."""
    dtype, is_packed = packing.dtype, (packing.scale, packing.offset) != (1.0, 0.0)
    with np.errstate(all="ignore"):
        packed = (values - packing.offset) / packing.scale if is_packed else values
        if dtype.kind == "f":
            beyond = np.isfinite(packed) & np.isinf(packed.astype(dtype))
        else:
            low, high = int(np.iinfo(dtype).min), int(np.iinfo(dtype).max)
            if packed.dtype.kind == "f":  # it is rounded
                beyond = (packed < low - 0.5) | (packed >= high + 0.5)
                beyond |= np.isnan(packed) & (not packing.has_fill)
            else:
                beyond = (packed < low) | (packed > high)
    if not beyond.any():
        return None
    packed_as = f", packed as {packed[beyond][0]}," if is_packed else ""
    return f"{values[beyond][0]}{packed_as} does not fit dtype {dtype} of its encoding"


def within(name: str, given: Variable, made: Variable) -> Variable:
    """Return an encoded variable whose values fit; the blocks of a dask array are checked when they are computed.

    `given`: the variable before it was encoded. Raises RefusedError with
    `value-range`.
    """
    packing = packing_of(given, made)
    if packing is None:
        return made
    if hasattr(given.data, "map_blocks"):
        check = partial(_block, name=name, packing=packing)
        return made.copy(
            deep=False, data=made.data.map_blocks(check, given.data, dtype=made.dtype, meta=made.data._meta)
        )
    found = misfit(np.asarray(given.data), packing)
    if found is not None:
        raise UnsuitedValueError("value-range", f"variable {name!r}: {found}", REMEDY)
    return made


def _block(made: NDArray[Any], given: NDArray[Any], *, name: str, packing: Packing) -> NDArray[Any]:
    """Return a block of encoded values after a check of the values it was made of."""
    found = misfit(np.asarray(given), packing)
    if found is not None:
        raise block_error("value-range", f"variable {name!r}: {found}", REMEDY)
    return made
