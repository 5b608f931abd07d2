"""NumPy's dtypes and their names as types of the model."""

import re
from typing import Any

NAMES = {"int8": "byte", "uint8": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
         "uint64": "uint64", "int64": "int64", "float32": "float", "float64": "double", "str": "string"}  # fmt: skip
"""Types by name of a dtype. Names of the model come first: `int` has 32 bits, and `float` too."""

CODES = {"i1": "byte", "u1": "ubyte", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint", "i8": "int64",
          "u8": "uint64", "f4": "float", "f8": "double", "S1": "char", "U": "string", "O": "string"}  # fmt: skip
"""Types by kind and size of a dtype; texts have no size."""
_CODE = re.compile(r"([<>=|]?)([iuf][1248]|S1|U|O)")


def of_name(name: str) -> tuple[str, str | None] | None:
    """Return the type and the byte order of a dtype's name or code (`float32`, `>f4`); None for any other text."""
    if name in NAMES:
        return NAMES[name], None
    code = _CODE.fullmatch(name)
    return None if code is None or code[2] not in CODES else (CODES[code[2]], _read_byte_order(code[1], code[2]))


def of_object(kind: Any) -> tuple[str, str | None] | str | None:
    """Return the type and the byte order of a dtype or scalar class (`np.int16`, `np.dtype(">f4")`, `float`).

    A text says why a dtype is no type. None: the object is not a dtype.
    """
    from nczarr.arrays.lazy_numpy import np

    if not (isinstance(kind, np.dtype | type) or hasattr(kind, "numpy_dtype")):
        return None
    try:
        dtype = np.dtype(getattr(kind, "numpy_dtype", kind))
    except TypeError:
        return None
    if dtype.kind in "UTO":
        is_text = dtype.kind != "O" or kind is not object
        return ("string", None) if is_text else "a dtype of Python objects is no type; use `str` for texts"
    type_name = CODES.get(f"{dtype.kind}{dtype.itemsize}")
    if type_name is None:
        return f"dtype {dtype} has no netCDF type"
    return type_name, _read_byte_order(dtype.byteorder, f"{dtype.kind}{dtype.itemsize}")


def _read_byte_order(mark: str, code: str) -> str | None:
    """Return the byte order that a dtype names; native order and single bytes have no mark."""
    return {">": "big", "<": "little"}.get(mark) if code[-1] in "248" else None
