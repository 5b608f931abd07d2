"""Conversion of element descriptions between JSON and dtypes.

`"<i4"`, `"float64"`; `[base, shape]`; `[[name, D], …]`, where a field may have
a shape as third item. NumPy's rule decides which lists are tuples. Names
without a byte order are little-endian. Objects and other NumPy descriptions are
refused; no description allocates much memory.

The byte order is always written: `<i4`, never `int32`. Structures lose their
padding.
"""

from __future__ import annotations

import math
import re
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.awkward0.wire.limits import UnreadableDocumentError, show

LARGEST_ITEM = 2**31 - 1
"""Maximum bytes of an element in NumPy."""

MOST_DIMENSIONS = 32
"""Maximum dimensions of a sub-array."""

_UNIT = r"\[[1-9][0-9]{0,8}(?:Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as)\]|\[(?:Y|M|W|D|h|m|s|ms|us|μs|ns|ps|fs|as)\]"
_NAME = re.compile(
    r"bool_?|u?int(?:8|16|32|64)|float(?:16|32|64|96|128)|complex(?:64|128|192|256)|int|float|complex"
    rf"|(?:datetime|timedelta)64(?:{_UNIT})?"
)
_CODE = re.compile(
    r"[<>|=]?(?:\?|b1|[iu][1248]|f(?:2|4|8|12|16)|c(?:8|16|24|32)|[bBhHiIqQefdFD]"
    rf"|[SUVa](?P<size>[0-9]{{1,10}})|[mM](?:8(?:{_UNIT})?))"
)
_NATURAL = {"int": "i8", "float": "f8", "complex": "c16", "a": "S"}


def of_json(value: Any) -> np.dtype[Any]:
    """Return the dtype of a JSON description. Raises UnreadableDocumentError."""
    try:
        return _describe(_convert(value))
    except UnreadableDocumentError:
        raise
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise _refuse(f"NumPy does not accept it: {str(error)[:200]}") from None


def _refuse(text: str) -> UnreadableDocumentError:
    return UnreadableDocumentError("bad-awkward-dtype", f"invalid description of elements: {text}")


def _convert(value: Any) -> Any:
    """Convert the lists that represent tuples."""
    if not isinstance(value, list):
        return value
    items = [_convert(item) for item in value]
    # awkward0's rule: an integer last, a text first, or a list of integers last
    return tuple(items) if value and (_whole(value[-1]) or isinstance(value[0], str) or _shape(value[-1])) else items


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shape(value: Any) -> bool:
    return isinstance(value, list) and all(map(_whole, value))


def _describe(value: Any) -> np.dtype[Any]:
    """Return the dtype of a description: a string, a base and a shape, or a list of fields."""
    match value:
        case str():
            return _simple(value)
        case (str() | list() | tuple() as base, int() | list() | tuple() as shape) if isinstance(value, tuple):
            return _make_sub_array(_describe(base), shape)
        case list():
            dtype = np.dtype([_field(field) for field in value])
            if dtype.itemsize > LARGEST_ITEM or dtype.itemsize < 0:
                raise _refuse(f"an element has {dtype.itemsize} bytes")
            return dtype
        case _:
            raise _refuse(f"{show(value)} is not a string, a base and a shape, or a list of fields")


def _simple(text: str) -> np.dtype[Any]:
    """Return the dtype of a string such as "<f8", "int32" or "S5"; little-endian unless it says otherwise."""
    code = _CODE.fullmatch(text)
    if code is None and _NAME.fullmatch(text) is None:
        raise _refuse(f"{show(text)} is unknown")
    size = None if code is None else code["size"]
    if size is not None and not 0 < int(size) <= LARGEST_ITEM // 4:
        raise _refuse(f"{show(text)} has a size of {int(size)}")
    dtype = np.dtype(_NATURAL.get(text, text.replace("a", "S", 1) if size and "a" in text else text))
    return dtype if text[0] in "<>" else np.dtype(dtype.newbyteorder("<").str)


def _make_sub_array(base: np.dtype[Any], shape: Any) -> np.dtype[Any]:
    sizes = (shape,) if _whole(shape) else tuple(shape)
    if not sizes or len(sizes) > MOST_DIMENSIONS or not all(_whole(length) and length >= 0 for length in sizes):
        raise _refuse(f"{show(shape)} is not a shape")
    bytes_ = math.prod(sizes, start=base.itemsize)
    if bytes_ > LARGEST_ITEM or max(sizes) > LARGEST_ITEM:
        raise _refuse(f"an element of the shape {show(list(sizes))} has {show(bytes_)} bytes")
    return np.dtype((base, sizes))


def _field(value: Any) -> tuple[str, np.dtype[Any]]:
    """Return a field. Raises UnreadableDocumentError."""
    match value:
        case (str() as name, base):
            return (name, _describe(base))
        case (str() as name, base, shape) if isinstance(value, tuple):
            return (name, _make_sub_array(_describe(base), shape))
        case _:
            raise _refuse(f"{show(value)} is not a field (a name and a description)")


# ---- writing ---------------------------------------------------------------------------------------------------------

PLAIN = "biufcmMSUV"
"""Kinds of elements that consist only of their bytes."""

EXTENDED = ("g", "G")
"""Types whose bytes depend on the machine and contain arbitrary padding."""


def fault(dtype: np.dtype[Any]) -> str | None:
    """Return why elements of a type cannot be written, or None."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        # awkward0 writes such rows and cannot read them
        return fault(base) or ("rows without elements" if 0 in shape else None)
    if dtype.names is not None:
        faults = (problem for name in dtype.names if (problem := fault(dtype[name])) is not None)
        return next(faults, None if dtype.names else "structures without members")
    if dtype.kind == "O":  # awkward0 writes the addresses of objects, without an error
        return "Python objects, which have no binary form"
    if dtype.char in EXTENDED:
        return f"{dtype}, whose bytes depend on the platform"
    if dtype.kind not in PLAIN:
        return f"{dtype}, which has no fixed size"
    return None if dtype.itemsize else f"{dtype.str}, elements without bytes"


def titles(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Return the structure members with a title, which documents cannot store."""
    if dtype.subdtype is not None:
        return titles(dtype.subdtype[0])
    names: list[str] = []
    for name in dtype.names or ():
        assert dtype.fields is not None
        names += [name] if len(dtype.fields[name]) > 2 else []
        names += titles(dtype[name])
    return tuple(names)


def pack(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the type without padding, at all levels."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((pack(base), shape))
    if dtype.names is not None:
        # awkward0 writes the packed dtype beside bytes with padding, which then read as other values
        return np.dtype([(name, pack(dtype[name])) for name in dtype.names])
    return np.dtype(dtype.str)


def describe(dtype: np.dtype[Any]) -> Any:
    """Return the JSON of a type: `"<i4"`, `["<f4", [3]]`, `[["x", "<i4"], ["y", ["<f8", [2]]]]`."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [describe(base), list(shape)]
    if dtype.names is not None:
        return [[name, describe(dtype[name])] for name in dtype.names]
    return dtype.str


def rows(values: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return the values in C order, in their shape and packed dtype, and the JSON of one element.

    An element is one of the first dimension.
    """
    plain = np.asarray(values)
    kind = pack(plain.dtype)
    if kind != plain.dtype or kind.itemsize != plain.dtype.itemsize:
        plain = plain.astype(kind)
    row = np.dtype((kind, plain.shape[1:])) if plain.ndim > 1 else kind
    return np.ascontiguousarray(plain), describe(row)
