"""Conversion of dask arrays to the parts of a variable, block by block, when they are read.

The conversions and their checks are those of arrays in memory. An unsuitable
value raises CompileError when its block is read.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from nczarr.api.builder.arrays import fill_bytes, numbers
from nczarr.api.builder.foreign_arrays import LazyArrays
from nczarr.api.builder.pieces import NO_FILL_VALUE, block_error, in_block
from nczarr.api.builder.values import string
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Parts, numpy_dtype
from nczarr.arrays.values.parts import Types, descr
from nczarr.ast import ATOMIC, Constant, EnumType
from nczarr.plugins.dask.dask_array import Results, lazy

Shape = tuple[int, ...]


def accepts(data: Any) -> bool:
    """Return whether data are a dask array of known shape."""
    if not (hasattr(data, "map_blocks") and hasattr(data, "chunks")):
        return False
    lengths = [length for axis in data.chunks or () for length in axis]
    return data.chunks is not None and hasattr(data, "blocks") and not any(length != length for length in lengths)


def is_masked(array: Any) -> bool:
    """Return whether a dask array has masked blocks."""
    return isinstance(array._meta, np.ma.MaskedArray)


def lazy_parts(
    array: Any, type_name: str, shape: Shape, fill: Constant | None, types: Types, shared: dict[str, Any]
) -> Parts | None:
    """Return the source of a dask array of the type's values; None if it must be computed first.

    `array`: any blocks, not masked; along an unlimited dimension it may be
    shorter than `shape`. `shared`: what the arrays of one dataset share.
    """
    results: Results = shared.setdefault("dask", Results())
    if type_name == "string":
        if array.shape != shape or array.dtype.kind not in "UTOS":
            return None
        texts = array.map_blocks(_texts, dtype=object, meta=np.empty((0,) * array.ndim, object))
        return {"": lazy(texts, "|O", fill_bytes(fill), results)}
    declared = types.get(type_name)
    base = declared.base if isinstance(declared, EnumType) else type_name
    if base not in ATOMIC or (declared is not None and base == type_name):
        return None
    dtype = numpy_dtype(descr(type_name, types))
    if array.dtype.newbyteorder("=") != dtype.newbyteorder("="):
        if array.dtype.kind not in "iuf" or dtype.kind not in "iuf":
            return None
        array = array.map_blocks(partial(_numbers, type_name=base), dtype=dtype)
    if array.shape != shape:
        import dask.array as da

        element = (
            np.zeros((), dtype)[()]
            if fill is None or not fill.count
            else np.frombuffer(fill_bytes(fill) or b"", dtype)[0]
        )
        widths = [(0, whole - length) for whole, length in zip(shape, array.shape, strict=True)]
        array = da.pad(array, widths, mode="constant", constant_values=element)
    return {"": lazy(array, descr(type_name, types), fill_bytes(fill), results)}


def fill_masked(array: Any, type_name: str, fill: Constant, types: Types) -> Any:
    """Return a masked dask array with the fill value in masked cells, as `with_fill` does for arrays in memory."""
    dtype = numpy_dtype(descr(type_name, types))
    return array.map_blocks(
        partial(_fill, type_name=type_name, one=fill_bytes(fill) or b"", dtype=dtype),
        dtype=dtype,
        meta=np.empty((0,) * array.ndim, dtype),
    )


def _numbers(values: NDArray[Any], type_name: str) -> NDArray[Any]:
    with in_block():
        return numbers(np.asarray(values), type_name, numpy_dtype(descr(type_name, {})))


def _fill(values: Any, type_name: str, one: bytes, dtype: Any) -> NDArray[Any]:
    """Return values as they are stored, with the fill value in masked cells."""
    mask = np.ma.getmaskarray(values)
    unmasked = np.array(np.ma.getdata(values))
    unmasked[mask] = 0
    stored = np.array(_numbers(unmasked, type_name) if unmasked.dtype != dtype else unmasked)
    fill = np.frombuffer(one, dtype)[0]
    if mask.any() and (stored[~mask] == fill).any():
        text = f"some values are masked and others equal {fill}, the fill value of type `{type_name}`"
        raise block_error("value-range", text, NO_FILL_VALUE)
    stored[mask] = fill
    return stored


def _texts(values: Any) -> NDArray[Any]:
    """Return texts as `bytes | None`, shape of `values`, dtype object."""
    out = np.empty(values.shape, object)
    with in_block():
        out.reshape(-1)[:] = [string(value) for value in np.asarray(values, object).reshape(-1)]
    return out


LAZY = LazyArrays(accepts, is_masked, lazy_parts, fill_masked)
