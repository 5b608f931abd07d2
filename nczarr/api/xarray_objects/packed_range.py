"""Values beyond the range of the dtype in `encoding`, which xarray's coders change silently."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.api.builder.pieces import UnsuitedValueError
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.dask_array import block_error

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


def packing_of(original: Variable, encoded: Variable) -> Packing | None:
    """Return the packing of an encoded variable; None if it can store every value of the dtype of `original`."""
    dtype, encoding = encoded.dtype, original.encoding
    scale, offset = (encoding.get(name) for name in ("scale_factor", "add_offset"))
    is_packed = scale is not None or offset is not None
    if (
        original.dtype.kind not in "iuf"
        or dtype.kind not in "iuf"
        or (not is_packed and np.can_cast(original.dtype, dtype, "safe"))
    ):
        return None
    unsigned = str(encoding.get("_Unsigned", "")).lower() if "_Unsigned" in encoded.attrs else ""
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


def within(name: str, original: Variable, encoded: Variable) -> Variable:
    """Return an encoded variable whose values fit; the blocks of a dask array are checked when they are computed.

    `original`: the variable before it was encoded. Raises UnsuitedValueError with
    `value-range`.
    """
    packing = packing_of(original, encoded)
    if packing is None:
        return encoded
    if hasattr(original.data, "map_blocks"):
        check = partial(_block, name=name, packing=packing)
        return encoded.copy(
            deep=False, data=encoded.data.map_blocks(check, original.data, dtype=encoded.dtype, meta=encoded.data._meta)
        )
    problem = misfit(np.asarray(original.data), packing)
    if problem is not None:
        raise UnsuitedValueError("value-range", f"variable {name!r}: {problem}", REMEDY)
    return encoded


def _block(encoded: NDArray[Any], original: NDArray[Any], *, name: str, packing: Packing) -> NDArray[Any]:
    """Return a block of encoded values after a check of the values it was made of."""
    problem = misfit(np.asarray(original), packing)
    if problem is not None:
        raise block_error("value-range", f"variable {name!r}: {problem}", REMEDY)
    return encoded
