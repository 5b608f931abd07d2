"""JSON to descriptions of elements (awkward0-persistence §4): texts, sub-arrays, structures.

`"<i4"`, `"float64"`; `[base, shape]`; `[[name, D], …]`, where a pair may have a shape as its third item. Lists are
tuples or lists by the rule of §4, and only then mean something. Names without an order of bytes are little-endian. What
numpy would take besides, and what has objects in it, is refused; no description makes anything that is large.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from nczarr.formats.awkward0.wire.limits import RefusedError, shown

if TYPE_CHECKING:
    import numpy as np

LARGEST_ITEM = 2**31 - 1
"""Bytes of an element, of which numpy has no more."""

MOST_DIMENSIONS = 32
"""Dimensions of a sub-array."""

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
    """The dtype that a JSON value describes. Raises RefusedError."""
    try:
        return _described(_converted(value))
    except RefusedError:
        raise
    except (TypeError, ValueError, OverflowError, MemoryError) as error:
        raise _refused(f"numpy has none such: {str(error)[:200]}") from None


def _refused(text: str) -> RefusedError:
    return RefusedError("bad-awkward-dtype", f"no description of elements: {text}")


def _converted(value: Any) -> Any:
    """Lists that are tuples become tuples."""
    if not isinstance(value, list):
        return value
    items = [_converted(item) for item in value]
    return tuple(items) if value and (_whole(value[-1]) or isinstance(value[0], str) or _shape(value[-1])) else items


def _whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _shape(value: Any) -> bool:
    return isinstance(value, list) and all(map(_whole, value))


def _described(value: Any) -> np.dtype[Any]:
    import numpy as np

    match value:
        case str():
            return _simple(value)
        case (str() | list() | tuple() as base, int() | list() | tuple() as shape) if isinstance(value, tuple):
            return _sub_array(_described(base), shape)
        case list():
            made = np.dtype([_field(each) for each in value])
            if made.itemsize > LARGEST_ITEM or made.itemsize < 0:
                raise _refused(f"an element has {made.itemsize} bytes")
            return made
        case _:
            raise _refused(f"{shown(value)} is neither text, nor a base and a shape, nor a list of fields")


def _simple(text: str) -> np.dtype[Any]:
    import numpy as np

    code = _CODE.fullmatch(text)
    if code is None and _NAME.fullmatch(text) is None:
        raise _refused(f"{shown(text)} is not among the names that are known")
    size = None if code is None else code["size"]
    if size is not None and not 0 < int(size) <= LARGEST_ITEM // 4:
        raise _refused(f"{shown(text)} has a size of {int(size)}")
    made = np.dtype(_NATURAL.get(text, text.replace("a", "S", 1) if size and "a" in text else text))
    return made if text[0] in "<>" else np.dtype(made.newbyteorder("<").str)


def _sub_array(base: np.dtype[Any], shape: Any) -> np.dtype[Any]:
    import numpy as np

    sizes = (shape,) if _whole(shape) else tuple(shape)
    if not sizes or len(sizes) > MOST_DIMENSIONS or not all(_whole(each) and each >= 0 for each in sizes):
        raise _refused(f"{shown(shape)} is no shape")
    bytes_ = base.itemsize
    for each in sizes:
        bytes_ *= each
    if bytes_ > LARGEST_ITEM or max(sizes) > LARGEST_ITEM:
        raise _refused(f"an element of the shape {shown(list(sizes))} has {shown(bytes_)} bytes")
    return np.dtype((base, sizes))


def _field(value: Any) -> tuple[str, np.dtype[Any]]:
    """A field by name. Raises RefusedError."""
    match value:
        case (str() as name, base):
            return (name, _described(base))
        case (str() as name, base, shape) if isinstance(value, tuple):
            return (name, _sub_array(_described(base), shape))
        case _:
            raise _refused(f"{shown(value)} is no field: a name and a description")
