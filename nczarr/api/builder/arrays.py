"""Conversion of NumPy arrays and nested lists to the parts of a variable, as array sources in memory.

Along unlimited dimensions the data may be shorter than the variable; the rest is fill. Arrays of the target's
dtype are shared, other numeric arrays are converted after an exactness check, everything else value by value.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from nczarr.api.builder.pieces import RefusedError
from nczarr.api.builder.values import values
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.memory import ArrayInMemory
from nczarr.arrays.parts import Types, descr, escape, is_fixed
from nczarr.arrays.source import Layout, Parts, numpy_dtype
from nczarr.ast import ATOMIC, CompoundType, Constant, EnumType, VlenType

Shape = tuple[int, ...]


def shape_of(data: Any, type_name: str, rank: int, types: Types) -> Shape:
    """Return the shape of data for a variable of this rank. Raises RefusedError for ragged or shallow lists.

    Elements of vlen and compound values, and bytes of a text, are not dimensions. Char data may be texts: the
    longest is the length of the last dimension.
    """
    if rank == 0:
        return ()
    texts = type_name == "char" and _is_texts(data)
    depth = rank - 1 if texts else rank
    shape = data.shape[:depth] if hasattr(data, "shape") else tuple(_lengths(data, depth))
    if len(shape) < depth or (hasattr(data, "shape") and len(data.shape) > depth and is_fixed(type_name, types)):
        raise RefusedError(
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
        raise RefusedError("type-mismatch", f"{text!r} is no text, and char holds nothing else")
    return text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text


def _lengths(data: Any, depth: int) -> list[int]:
    level, lengths = [data], []
    for axis in range(depth):
        if not all(isinstance(item, list | tuple | range) or hasattr(item, "__array__") for item in level):
            raise RefusedError("shape-mismatch", f"the data have {axis} dimensions, not {depth}")
        sizes = {len(item) for item in level}
        if len(sizes) > 1:
            raise RefusedError("shape-mismatch", f"lists of {min(sizes)} and of {max(sizes)} values lie side by side")
        lengths.append(sizes.pop() if sizes else 0)
        level = [inner for item in level for inner in item]
    return lengths


def _leaves(data: Any, depth: int) -> list[Any]:
    """Return the elements of an array or nested list in C order."""
    if hasattr(data, "dtype"):
        return list(data.reshape(-1).tolist()) if data.ndim == depth else [item for row in data for item in row]
    level = [data]
    for _ in range(depth):
        level = [inner for item in level for inner in item]
    return level


def parts_of(data: Any, type_name: str, given: Shape, shape: Shape, fill: Constant | None, types: Types) -> Parts:
    """Return the arrays of a variable of `shape` from data of shape `given` at its origin. Raises RefusedError."""
    if is_fixed(type_name, types) or type_name == "string":
        array = _fixed(data, type_name, given, types)
        return {"": ArrayInMemory(_layout(type_name, shape, fill, types), _padded(array, shape, fill))}
    elements = values(_leaves(data, len(given)), type_name, types)
    return constant_parts("", _spread(elements, given, shape, fill), shape, types)


def _layout(type_name: str, shape: Shape, fill: Constant | None, types: Types) -> Layout:
    return Layout(descr(type_name, types), shape, shape, fill=fill_bytes(fill))


def fill_bytes(fill: Constant | None) -> bytes | None:
    """Return a fill value as the bytes of one element, or None."""
    data = fill.data if fill is not None else None
    if isinstance(data, tuple):
        return data[0] if data and isinstance(data[0], bytes) else None
    return data


def _fixed(data: Any, type_name: str, shape: Shape, types: Types) -> NDArray[Any]:
    dtype = numpy_dtype(descr(type_name, types))
    found = getattr(data, "dtype", None)
    if found is not None and isinstance(data, np.ndarray | np.generic):
        array = np.asarray(data)
        if found == dtype and dtype.kind != "O" and not isinstance(types.get(type_name), EnumType):
            return array
        if found.kind in "iuf" and type_name in ATOMIC and dtype.kind in "iuf":
            return _numbers(array, type_name, dtype)
    if type_name == "char":
        rows = _leaves(data, len(shape) - 1) if shape and _is_texts(data) else None
        if rows is not None:
            joined = b"".join(_bytes(row).ljust(shape[-1], b"\0") for row in rows)
            return np.frombuffer(joined, "S1").reshape(shape)
    made = values(_leaves(data, len(shape)), type_name, types)
    return _array(made, types).reshape(shape)


def _numbers(array: NDArray[Any], type_name: str, dtype: np.dtype[Any]) -> NDArray[Any]:
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
        raise RefusedError("value-range", f"{value!r} at {list(first)} cannot be stored in type {type_name}")
    return out


def _array(made: Constant, types: Types) -> NDArray[Any]:
    """Return the values of a constant of fixed size, or of strings, as a one-dimensional array."""
    if isinstance(made.data, bytes):
        return np.frombuffer(made.data, numpy_dtype(descr(made.type, types)))
    out = np.empty(made.count, dtype=object)
    out[:] = made.data
    return out


def _padded(array: NDArray[Any], shape: Shape, fill: Constant | None) -> NDArray[Any]:
    """Return an array of the given shape with the data at its origin and fill elsewhere."""
    if array.shape == shape:
        return array
    out = np.empty(shape, array.dtype)
    if fill is not None and fill.count:
        out[...] = fill.data[0] if isinstance(fill.data, tuple) else np.frombuffer(fill.data, array.dtype)[0]
    else:
        out[...] = np.zeros((), array.dtype)
    out[tuple(slice(0, length) for length in array.shape)] = array
    return out


def _spread(elements: Constant, given: Shape, shape: Shape, fill: Constant | None) -> Constant:
    """Return the constants of all elements of a larger shape, with fill outside the given ones."""
    if given == shape or not isinstance(elements.data, tuple):
        return elements
    width = len(elements.data) // elements.count if elements.count else 1
    place = np.full(shape, -1, dtype=np.int64)
    place[tuple(slice(0, length) for length in given)] = np.arange(elements.count).reshape(given)
    data: list[Any] = []
    for index in place.reshape(-1).tolist():
        data.extend(_filler(fill, elements.type) if index < 0 else elements.data[index * width : (index + 1) * width])
    return Constant(type=elements.type, count=int(place.size), data=tuple(data))


def _filler(fill: Constant | None, type_name: str) -> Sequence[Any]:
    if fill is None or not isinstance(fill.data, tuple):
        raise RefusedError("shape-mismatch", f"the data are short, and type `{type_name}` has no fill value")
    return fill.data


def constant_parts(path: str, made: Constant, shape: Shape, types: Types) -> Parts:
    """Return the parts below `path` for the values of a constant: counts and content of a vlen, one child per field."""
    declared = types.get(made.type)
    inside = path + "/" if path else ""
    if isinstance(declared, VlenType):
        rows = [row for row in made.data if isinstance(row, Constant)]
        counts = np.array([row.count for row in rows], dtype="<i8").reshape(shape)
        content = _joined(rows, declared.base, types)
        source = ArrayInMemory(Layout("<i8", shape, shape, fill=bytes(8)), counts)
        return {inside + "counts": source, **constant_parts(inside + "content", content, (content.count,), types)}
    if isinstance(declared, CompoundType) and not is_fixed(made.type, types):
        out: Parts = {}
        for position, field in enumerate(declared.fields):
            column = [item for item in made.data[position :: len(declared.fields)] if isinstance(item, Constant)]
            child = inside + escape(field.name)
            out |= constant_parts(child, _joined(column, field.type, types), (*shape, *field.shape), types)
        return out
    return {path: ArrayInMemory(_layout(made.type, shape, None, types), _array(made, types).reshape(shape))}


def _joined(rows: Sequence[Constant], type_name: str, types: Types) -> Constant:
    """Concatenate constants."""
    if rows and isinstance(rows[0].data, bytes):
        data: Any = b"".join(row.data for row in rows if isinstance(row.data, bytes))
    else:
        data = tuple(item for row in rows for item in row.data)
    if not rows and type_name != "string" and is_fixed(type_name, types):
        data = b""
    return Constant(type=type_name, count=sum(row.count for row in rows), data=data)
