"""Elements of fixed size as a document says them: JSON of a dtype and the bytes of an array (awkward0-persistence §4).

The order of bytes is always said, `<i4`, never `int32`; structures are packed, because padding is lost in a document.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

PLAIN = "biufcmMSUV"
"""Kinds of elements that are nothing but their bytes."""

EXTENDED = ("g", "G")
"""Types whose bytes depend on the machine, and hold padding of any content."""


def fault(dtype: np.dtype[Any]) -> str | None:
    """Why elements of a type cannot be written; None if they can."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return fault(base) or ("rows without elements" if 0 in shape else None)
    if dtype.names is not None:
        faults = (found for name in dtype.names if (found := fault(dtype[name])) is not None)
        return next(faults, None if dtype.names else "structures without members")
    if dtype.kind == "O":
        return "Python objects, which have no bytes of their own"
    if dtype.char in EXTENDED:
        return f"{dtype}, whose bytes depend on the machine"
    if dtype.kind not in PLAIN:
        return f"{dtype}, which is not of fixed size"
    return None if dtype.itemsize else f"{dtype.str}, elements without bytes"


def titles(dtype: np.dtype[Any]) -> tuple[str, ...]:
    """Members of a structure that have a second name, which no document can say."""
    if dtype.subdtype is not None:
        return titles(dtype.subdtype[0])
    found: list[str] = []
    for name in dtype.names or ():
        assert dtype.fields is not None
        found += [name] if len(dtype.fields[name]) > 2 else []
        found += titles(dtype[name])
    return tuple(found)


def packed(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type without padding between members, in all depths."""
    import numpy as np

    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return np.dtype((packed(base), shape))
    if dtype.names is not None:
        return np.dtype([(name, packed(dtype[name])) for name in dtype.names])
    return np.dtype(dtype.str)


def described(dtype: np.dtype[Any]) -> Any:
    """The JSON of a type: `"<i4"`, `["<f4", [3]]`, `[["x", "<i4"], ["y", ["<f8", [2]]]]`."""
    if dtype.subdtype is not None:
        base, shape = dtype.subdtype
        return [described(base), list(shape)]
    if dtype.names is not None:
        return [[name, described(dtype[name])] for name in dtype.names]
    return dtype.str


def rows(values: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """The values without padding in C order, and the JSON of one row, which is an element of the first dimension."""
    import numpy as np

    plain = np.asarray(values)
    kind = packed(plain.dtype)
    if kind != plain.dtype or kind.itemsize != plain.dtype.itemsize:
        plain = plain.astype(kind)
    row = np.dtype((kind, plain.shape[1:])) if plain.ndim > 1 else kind
    return np.ascontiguousarray(plain), described(row)
