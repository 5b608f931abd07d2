"""Conversion of NumPy arrays and nested lists to the parts of a variable, as array sources in memory.

Along unlimited dimensions the data may be shorter than the variable; the rest
is fill. Arrays of the target's dtype are shared, other numeric arrays are
converted after an exactness check, everything else value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nczarr.api.builder.foreign_arrays import ArrayData, compute, find_lazy
from nczarr.api.builder.pieces import NO_FILL_VALUE, UnsuitedValueError
from nczarr.api.builder.values import list_elements, values
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Layout, Parts, numpy_dtype
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.arrays.values.value_lists import constant_parts
from nczarr.ast import ATOMIC, Constant, EnumType

Shape = tuple[int, ...]


def shape_of(data: Any, type_name: str, rank: int, types: Types) -> Shape:
    """Return the shape of data for a variable of this rank. Raises UnsuitedValueError for ragged or shallow lists.

    Elements of vlen and compound values, and bytes of a text, are not
    dimensions. Char data may be texts: the longest is the length of the last
    dimension.
    """
    if rank == 0:
        return ()
    texts = type_name == "char" and _is_texts(data)
    depth = rank - 1 if texts else rank
    shape = data.shape[:depth] if hasattr(data, "shape") else tuple(_measure_nested(data, depth))
    if len(shape) < depth or (hasattr(data, "shape") and len(data.shape) > depth and is_fixed(type_name, types)):
        raise UnsuitedValueError(
            "shape-mismatch", f"the data have {len(getattr(data, 'shape', shape))} dimensions, not {rank}"
        )
    if texts:
        longest = max((len(_bytes(text)) for text in _leaves(data, depth)), default=0)
        return (*shape, longest)
    return tuple(int(length) for length in shape)


def _is_texts(data: Any) -> bool:
    if hasattr(data, "dtype"):
        return bool(data.dtype.kind in "UO" or (data.dtype.kind == "S" and data.dtype.itemsize > 1))
    while isinstance(data, list | tuple) and data:
        data = data[0]
    return isinstance(data, str) or (isinstance(data, bytes) and len(data) != 1)


def _bytes(text: Any) -> bytes:
    if not isinstance(text, str | bytes):
        raise UnsuitedValueError("type-mismatch", f"{text!r} is not text, and the type is char")
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _measure_nested(data: Any, depth: int) -> list[int]:
    """Return the lengths of nested lists along `depth` axes; refuse ragged ones."""
    level, lengths = [data], []
    for axis in range(depth):
        if not all(isinstance(item, list | tuple | range) or getattr(item, "ndim", 0) for item in level):
            raise UnsuitedValueError("shape-mismatch", f"the data have {axis} dimensions, not {depth}")
        sizes = {len(item) for item in level}
        if len(sizes) > 1:
            raise UnsuitedValueError("shape-mismatch", f"lists of {min(sizes)} and of {max(sizes)} values are mixed")
        lengths.append(sizes.pop() if sizes else 0)
        level = [inner for item in level for inner in item]
    return lengths


def _leaves(data: Any, depth: int) -> list[Any]:
    """Return the elements of an array or nested list in C order."""
    if hasattr(data, "dtype"):
        return list_elements(data) if data.ndim == depth else [item for row in data for item in row]
    level = [data]
    for _ in range(depth):
        level = [inner for item in level for inner in item]
    return level


def parts_of(
    data: Any,
    type_name: str,
    data_shape: Shape,
    shape: Shape,
    fill: Constant | None,
    types: Types,
    shared: dict[str, Any] | None = None,
) -> Parts:
    """Return the arrays of a variable of `shape` from data of shape `data_shape` at its origin.

    Raises UnsuitedValueError.

    A lazy array is read block by block later; `shared` keeps what those of a dataset share.
    """
    lazy = None if shared is None else find_lazy(data)
    if lazy is not None and shared is not None:
        parts = lazy.make_parts(data, type_name, shape, fill, types, shared)
        if parts is not None:
            return parts
        data = compute(data).values
    if is_fixed(type_name, types) or type_name == "string":
        array = _read_fixed(data, type_name, data_shape, types)
        return {"": ArrayInMemory(_layout(type_name, shape, fill, types), _pad(array, shape, fill))}
    elements = values(_leaves(data, len(data_shape)), type_name, types)
    return constant_parts(_spread(elements, data_shape, shape, fill), shape, types)


def fill_bytes(fill: Constant | None) -> bytes | None:
    """Return a fill value as the bytes of one element, or None."""
    data = fill.data if fill is not None else None
    if isinstance(data, tuple):
        return data[0] if data and isinstance(data[0], bytes) else None
    return data


def numbers(array: NDArray[Any], type_name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert an array to another numeric dtype without loss, except that doubles may be rounded to float."""
    with np.errstate(all="ignore"):
        out = array.astype(dtype)
        if dtype.kind == "f" and array.dtype.kind == "f":
            wrong = np.isfinite(array) & ~np.isfinite(out)
        else:
            wrong = (out.astype(array.dtype) != array) | ((out < 0) != (array < 0))
            if dtype.kind == "f":  # the way back saturates
                wrong |= np.abs(out) > float(np.iinfo(array.dtype).max)
    if wrong.any():
        first = tuple(int(i) for i in np.argwhere(wrong)[0]) if array.ndim else ()
        value = array[first].item()
        raise UnsuitedValueError("value-range", f"{value!r} at {list(first)} cannot be stored in type {type_name}")
    return out


def has_known_fill(type_name: str) -> bool:
    """Return whether readers know netCDF's default fill value of a type: numbers of more than one byte."""
    return type_name in ATOMIC and ATOMIC[type_name].size >= 2


def with_fill(
    data: ArrayData,
    type_name: str,
    data_shape: Shape,
    shape: Shape,
    fill: Constant | None,
    types: Types,
    *,
    declared: bool,
    no_fill: bool,
    shared: dict[str, Any] | None = None,
) -> Parts:
    """Return the arrays of a variable with the fill value in masked cells.

    The fill value is the `declared` one, else netCDF's default of the type; the other
    cells must not contain it. Raises UnsuitedValueError.
    """
    if not (is_fixed(type_name, types) or type_name == "string") or fill is None:
        raise UnsuitedValueError(
            "type-mismatch", f"some values are masked, and type `{type_name}` has no fill value", NO_FILL_VALUE
        )
    if not declared and (no_fill or not has_known_fill(type_name)):
        text = f"some values are masked, and no fill value of type `{type_name}` is readable by all readers"
        raise UnsuitedValueError("type-mismatch", text, NO_FILL_VALUE)
    lazy = find_lazy(data.values)
    if lazy is not None:
        if data.values.dtype.kind in "iuf" and type_name in ATOMIC and ATOMIC[type_name].size:
            values = lazy.fill_masked(data.values, type_name, fill, types)
            return parts_of(values, type_name, data_shape, shape, fill, types, shared)
        data = compute(data.values)
        if data.mask is None:
            return parts_of(data.values, type_name, data_shape, shape, fill, types)
    mask = data.mask
    assert mask is not None
    values = np.array(data.values)
    values[mask] = np.zeros((), values.dtype) if values.dtype.kind != "O" else _stand_in(values[~mask])
    (array,) = parts_of(values, type_name, data_shape, shape, fill, types).values()
    stored = np.array(array.read(all_of(array.layout.shape)))
    origin: Any = (*all_of(data_shape), ...)  # the dots make a view of a scalar too
    inside = stored[origin]
    if mask.shape != inside.shape:
        raise UnsuitedValueError(
            "type-mismatch", "some texts are masked, and char has a fill value for single characters", NO_FILL_VALUE
        )
    one = _element(fill, stored.dtype)
    if (inside[~mask] == one).any():
        text = f"some values are masked and others equal {one}, the fill value of type `{type_name}`"
        raise UnsuitedValueError("value-range", text, NO_FILL_VALUE)
    inside[mask] = one
    return {"": ArrayInMemory(array.layout, stored)}


def _stand_in(unmasked_values: Any) -> Any:
    """Return a placeholder for masked cells that fits the type of the others."""
    return unmasked_values[0] if len(unmasked_values) else 0


def _layout(type_name: str, shape: Shape, fill: Constant | None, types: Types) -> Layout:
    return Layout(descr(type_name, types), shape, shape, fill=fill_bytes(fill))


def _read_fixed(data: Any, type_name: str, shape: Shape, types: Types) -> NDArray[Any]:
    """Return data as an array of a fixed-size type's dtype; texts fill the last axis of char data, with NULs."""
    dtype = numpy_dtype(descr(type_name, types))
    data_dtype = getattr(data, "dtype", None)
    if data_dtype is not None and isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        if data_dtype == dtype and dtype.kind != "O" and not isinstance(types.get(type_name), EnumType):
            return array
        if data_dtype.kind in "iuf" and type_name in ATOMIC and dtype.kind in "iuf":
            return numbers(array, type_name, dtype)
    if type_name == "char":
        rows = _leaves(data, len(shape) - 1) if shape and _is_texts(data) else None
        if rows is not None:
            joined = b"".join(_bytes(row).ljust(shape[-1], b"\0") for row in rows)
            return np.frombuffer(joined, "S1").reshape(shape)
    elements = values(_leaves(data, len(shape)), type_name, types)
    return _expand_constant(elements, types).reshape(shape)


def _expand_constant(elements: Constant, types: Types) -> NDArray[Any]:
    """Return the values of a constant of fixed size, or of strings, as a one-dimensional array."""
    if isinstance(elements.data, bytes):
        return np.frombuffer(elements.data, numpy_dtype(descr(elements.type, types)))
    out = np.empty(elements.count, dtype=object)
    out[:] = elements.data
    return out


def _pad(array: NDArray[Any], shape: Shape, fill: Constant | None) -> NDArray[Any]:
    """Return an array of the given shape with the data at its origin and fill elsewhere."""
    if array.shape == shape:
        return array
    out = np.empty(shape, array.dtype)
    if fill is not None and fill.count:
        out[...] = _element(fill, array.dtype)
    else:
        out[...] = np.zeros((), array.dtype)
    out[all_of(array.shape)] = array
    return out


def _element(fill: Constant, dtype: np.dtype[Any]) -> Any:
    return fill.data[0] if isinstance(fill.data, tuple) else np.frombuffer(fill.data, dtype)[0]


def _spread(elements: Constant, data_shape: Shape, shape: Shape, fill: Constant | None) -> Constant:
    """Return the constants of all elements of a larger shape, with fill outside the given ones."""
    if data_shape == shape or not isinstance(elements.data, tuple):
        return elements
    width = len(elements.data) // elements.count if elements.count else 1
    place = np.full(shape, -1, dtype=np.int64)
    place[all_of(data_shape)] = np.arange(elements.count).reshape(data_shape)
    data: list[Any] = []
    for index in place.reshape(-1).tolist():
        data.extend(_filler(fill, elements.type) if index < 0 else elements.data[index * width : (index + 1) * width])
    return Constant(type=elements.type, count=int(place.size), data=tuple(data))


def _filler(fill: Constant | None, type_name: str) -> Sequence[Any]:
    if fill is None or not isinstance(fill.data, tuple):
        raise UnsuitedValueError("shape-mismatch", f"the data are short, and type `{type_name}` has no fill value")
    return fill.data
