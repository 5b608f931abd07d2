"""Conversion of expression values to arrays, and size measurement.

As in awkward0, arrays, lists of numbers or texts, and bytes (of their context's
usual type) are accepted; its guesses for other values are not.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.awkward0.columns import nodes
from nczarr.plugins.awkward0.columns.items import items
from nczarr.plugins.awkward0.wire.limits import LARGEST, UnreadableDocumentError, show
from nczarr.syntax.json.positions import kind

LAST_CHARACTER = 0x10FFFF
"""Largest Unicode code point."""


def _bad(text: str, code: str = "bad-awkward-array") -> UnreadableDocumentError:
    return UnreadableDocumentError(code, text)


class ValueCost(NamedTuple):
    """Cost of a value without sharing."""

    bytes: int
    """Size in bytes."""
    arrays: int
    """Number of arrays and lists."""
    depth: int
    """Nesting depth."""


def elements(values: NDArray[Any]) -> nodes.Flat:
    """Return stored elements (any shape and dtype) as a column; booleans become 0 or 1.

    Raises UnreadableDocumentError for invalid characters.
    """
    if values.dtype == np.bool_ and values.size and int(values.view(np.uint8).max()) > 1:
        values = values.view(np.uint8) != 0
    _check_characters(values)
    return nodes.Flat(values)


def _check_characters(values: NDArray[Any]) -> None:
    """Refuse code points above U+10FFFF in an array of texts (dtype `U`), also in fields."""
    for name in values.dtype.names or ():
        _check_characters(values[name])
    if values.dtype.kind == "U" and values.size:
        last = int(np.ascontiguousarray(values).view(f"{values.dtype.str[0]}u4").max())
        if last > LAST_CHARACTER:
            raise _bad(f"{last} is not a Unicode character")


def children(value: Any) -> tuple[Any, ...]:
    """Return the direct children of a value."""
    if isinstance(value, nodes.Objects):
        return (value.content, *value.args, *(argument for _, argument in value.kwargs))
    if isinstance(value, nodes.Column):
        return nodes.contents(value)
    if isinstance(value, list | tuple):
        return tuple(value)
    return tuple(value.values()) if isinstance(value, dict) else ()


_ARRAYS = ("values", "offsets", "starts", "stops", "mask", "index", "tags")
"""Fields of columns that are arrays."""


def own(value: Any) -> tuple[NDArray[Any], ...]:
    """Return the arrays that a column itself contains, in any shapes and dtypes; not those of its contents."""
    if not isinstance(value, nodes.Column):
        return ()
    return tuple(getattr(value, name) for name in _ARRAYS if hasattr(value, name))


def replace(value: Any, change: Callable[[Any], Any]) -> Any:
    """Apply a function to a value and to all in its lists, tuples and dictionaries; to shared values once."""
    done: dict[int, Any] = {}

    def change_in(value: Any) -> Any:
        """Return the changed value, whose members are changed in turn; each object is changed once."""
        if id(value) not in done:
            result = change(value)
            if isinstance(result, list | tuple):
                result = (list if isinstance(result, list) else tuple)(map(change_in, result))
            elif isinstance(result, dict):
                result = {name: change_in(member) for name, member in result.items()}
            done[id(value)] = result
        return done[id(value)]

    return change_in(value)


def measure_bytes(value: Any) -> int:
    """Return the bytes of items without an array: as one array, or as numbers in memory."""
    match value:
        case nodes.Flat():
            return max(0, len(value.values) - value.values.nbytes)
        case nodes.Sparse():
            item = value.content.values if isinstance(value.content, nodes.Flat) else None
            return value.length * max(8, 0 if item is None or not len(item) else item.nbytes // len(item))
        case _:
            return 0


def array_of_list(values: list[Any] | tuple[Any, ...], dtype: str) -> nodes.Column:
    """Return a list of numbers, booleans or texts as a column; `dtype`: if empty. Raises UnreadableDocumentError."""
    if not values:
        return nodes.Flat(np.empty(0, dtype))
    if all(isinstance(value, str) for value in values):
        return _make_text_node(values)
    leaves = _kinds(values)
    if leaves not in ({bool}, {int}, {float}, {int, float}):
        raise _bad("a list used as an array must contain numbers, booleans or strings")
    try:
        array = np.array(values)
    except (ValueError, OverflowError):
        array = None
    if array is None or array.dtype.kind not in "biuf" or (leaves == {int} and array.dtype.kind == "f"):
        raise _bad("a list of numbers is not an array: its shape is irregular, or a number is out of range")
    return nodes.Flat(array)


def _kinds(values: Any) -> set[type]:
    """Return the types of the leaves of nested lists."""
    kinds: set[type] = set()
    level = [values]
    while level:
        kinds |= {type(leaf) for item in level for leaf in item if not isinstance(leaf, list | tuple)}
        level = [inner for item in level for inner in item if isinstance(inner, list | tuple)]
    return kinds


def _make_text_node(values: Any) -> nodes.TextNode:
    try:
        encoded = [text.encode() for text in values]
    except UnicodeEncodeError:
        raise _bad("a string contains a lone surrogate, which UTF-8 cannot encode") from None
    offsets = nodes.offsets_of(list(map(len, encoded)))
    return nodes.TextNode(nodes.ListNode(offsets, nodes.Flat(np.frombuffer(b"".join(encoded), np.uint8))))


def plain(column: nodes.Column, inside: Callable[[nodes.Column], NDArray[Any]]) -> NDArray[Any]:
    """Return an element column as one array: shape (items, …), the elements' dtype.

    `inside` does this for contents. Raises UnreadableDocumentError.
    """
    match column:
        case nodes.Flat():
            return column.values
        case nodes.ArrayPieces() if column.pieces:
            pieces = [inside(piece) for piece in column.pieces]
            if len({(piece.dtype, piece.shape[1:]) for piece in pieces}) == 1:
                return np.concatenate(pieces)
        case nodes.Indexed() if not column.optional:
            return inside(column.content)[column.index]
    raise _bad(f"an array of elements is required, not one of kind {type(column).__name__}")


def integers_of(values: NDArray[Any]) -> NDArray[Any]:
    """Return elements as native integers that fit in int64. Raises UnreadableDocumentError."""
    if values.dtype.kind not in "iu":
        raise _bad(f"integers are required, not {values.dtype}")
    if values.dtype == np.uint64 and values.size and int(values.max()) >= 2**63:
        raise _bad("an integer is 2^63 or more")
    if values.dtype.kind == "u" and values.dtype.itemsize == 8:
        return values.astype(np.int64)
    return values if values.dtype.isnative else values.astype(values.dtype.newbyteorder("="))


def flat(values: NDArray[Any]) -> NDArray[Any]:
    """Return the items in their dtype and the shape (items,), the array itself if possible."""
    return values if values.ndim == 1 else values.reshape(-1)


def fold(column: nodes.Column, shape: tuple[int, ...]) -> nodes.Column:
    """Nest a column of flattened items into lists of the dimensions after the first."""
    for axis in range(len(shape) - 1, 0, -1):
        column = nodes.regular(column, math.prod(shape[:axis]), shape[axis])
    return column


def describe(value: Any) -> str:
    """Describe a value for a diagnostic."""
    if isinstance(value, nodes.Column):
        return "an array"
    return kind(value) if isinstance(value, bool | str | int | float | list | dict | None) else "another value"


def check_element(dtype: Any, shape: tuple[int, ...]) -> None:
    """Raise UnreadableDocumentError for elements too large for NumPy."""
    if len(shape) > 32 or math.prod(shape, start=dtype.itemsize) >= 2**31:
        raise _bad("an element is too large", "bad-awkward-dtype")


def element(value: Any, shape: tuple[int, ...], dtype: Any) -> Any:
    """Return a value as an element among others of a type. Raises UnreadableDocumentError."""
    if not isinstance(value, list | bool | int | float | np.ndarray):
        raise _bad(f"an element of {dtype} is required, not {describe(value)}")
    listed = nodes.Flat(value[np.newaxis]) if isinstance(value, np.ndarray) else array_of_list([value], "<f8")
    elements = listed.values if isinstance(listed, nodes.Flat) else np.empty(0, "S1")
    if elements.shape[1:] != shape or elements.dtype.kind not in "biufc" or dtype.kind not in "biufc":
        raise _bad(f"an element of {dtype} with shape {shape} is required")
    if elements.dtype == np.uint64 and dtype != np.uint64:
        raise _bad(f"{show(value)} does not fit a signed 64-bit integer")
    return elements[0]


def item(value: Any) -> Any:
    """Return a value as a JSON item with 64-bit integers. Raises UnreadableDocumentError."""
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        value = value.tolist()
    level = [value]
    while level:
        for entry in level:
            if not isinstance(entry, bool | int | float | str | list | dict | None):
                raise _bad(f"an item of JSON is required, not {describe(entry)}")
            if isinstance(entry, int) and not -LARGEST <= entry < LARGEST:
                raise _bad(f"{show(entry)} does not fit a signed 64-bit integer")
        level = [inner for outer in level for inner in children(outer)]
    return value


def zero(values: NDArray[Any]) -> Any:
    """Return the zero element of an array of shape (items, …).

    It is a NumPy number or array of the dtype, or a dictionary for a structure.
    """
    zeros = np.zeros(values.shape[1:], values.dtype)
    return items(nodes.Flat(zeros[np.newaxis]))[0] if values.dtype.names is not None else zeros[()]
