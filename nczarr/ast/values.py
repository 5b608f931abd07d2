"""Constants: attribute values in canonical bytes.

Invariant: `==` is bit equality. NaN equals itself, `-0.0` differs from `0.0`,
`1` from `1.0`. The JSON form has readable numbers or text where these read back
to the same bytes, else base64::

    {"type": "float", "values": [1.5, "NaN"]}       {"type": "char", "text": "K"}
    {"type": "string", "values": ["a", null]}       {"type": "/key", "count": 1, "base64": "AAE="}
    {"type": "/seq", "count": 1, "elements": [{"type": "int", "values": [1, 2]}]}
"""

from __future__ import annotations

import base64
import binascii
import math
import struct
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

from nczarr.ast.node import Natural, Node, TypeName, all_are, is_natural, node
from nczarr.ast.types import ATOMIC

_TEXTS = frozenset({bytes, type(None)})

_SIZES = {name: atomic.size for name, atomic in ATOMIC.items()}

SPECIAL_FLOATS = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}


@node
class Constant(Node):
    """`count` values of one type, with canonical `data`.

    `data` is packed little-endian bytes for fixed-size types (enums: their
    integers; compounds: packed fields, no padding). For strings it is one
    `bytes | None` per value (None = NIL); for a vlen one `Constant` of the base
    type per element, whose count is the element's length; for a compound with
    variable-size members one `Constant` per field, value after value. Raises
    ValidationError if data and count disagree.
    """

    type: TypeName
    """Atomic type, or FQN of a declared type."""
    count: Natural
    """Number of values."""
    data: bytes | tuple[bytes | None, ...] | tuple[Constant, ...]
    """Canonical content, as described above."""

    def __post_init__(self) -> None:
        """Check the common cases quickly; pydantic validates the others, and explains their faults."""
        data, count, size = self.data, self.count, _SIZES.get(self.type) if type(self.type) is str else None
        if type(data) is bytes and size and type(count) is int and len(data) == count * size:
            return  # by far the most
        atomic = ATOMIC.get(self.type) if type(self.type) is str else None
        if not is_natural(self.count):
            right = False
        elif type(data) is bytes:
            size = 1 if atomic is None else atomic.size
            right = bool(self.type and size) and (atomic is None or len(data) == self.count * size)
        elif atomic is not None:
            right = not atomic.size and len(data) == self.count and _TEXTS.issuperset(map(type, data))
        else:
            right = bool(self.type) and all_are(data, Constant)
        if not right:
            self._validate_by_pydantic()

    @classmethod
    def numbers(cls, type_name: str, values: Iterable[int | float]) -> Constant:
        """Return numbers of an atomic type. Raises struct.error or OverflowError if one does not fit."""
        items = list(values)
        data = struct.pack(f"<{len(items)}{ATOMIC[type_name].code}", *items)
        return cls(type=type_name, count=len(items), data=data)

    @classmethod
    def text(cls, data: bytes) -> Constant:
        """Return char data, one byte per value."""
        return cls(type="char", count=len(data), data=data)

    @classmethod
    def strings(cls, values: Iterable[bytes | None]) -> Constant:
        """Return strings in UTF-8; None is NIL."""
        items = tuple(values)
        return cls(type="string", count=len(items), data=items)

    def as_numbers(self) -> tuple[int | float, ...]:
        """Return numeric values as Python numbers. Raises KeyError or TypeError for other types."""
        if not isinstance(self.data, bytes):
            raise TypeError(f"{self.type} is not a numeric type")
        return struct.unpack(f"<{self.count}{ATOMIC[self.type].code}", self.data)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return _write_json(self)

    @classmethod
    def from_json(cls, value: dict[str, Any]) -> Constant:
        """Return the constant of a JSON form. Raises ValueError."""
        if not isinstance(value, dict):
            raise ValueError("a constant is not an object")
        try:
            return cls(**cls._complete(value))
        except TypeError as fault:
            raise ValueError(str(fault)) from None

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(_write_json, when_used="json")
        return core_schema.no_info_before_validator_function(cls._complete, handler(source), serialization=written)

    @classmethod
    def _complete(cls, written: Any) -> Any:
        """Read the JSON form, and check data against count."""
        value = written if isinstance(written, dict) else getattr(written, "kwargs", None)
        if value is None:
            return written
        if "data" not in value:
            value = {**{key: value[key] for key in ("type", "count", "span") if key in value}, **_read_json(value)}
        name = value.get("type")
        atomic = ATOMIC.get(name) if isinstance(name, str) else None
        data, count = value.get("data"), value.get("count")
        if atomic is not None and isinstance(data, bytes | tuple) and isinstance(count, int):
            length = len(data)
            if isinstance(data, bytes) is (atomic.name == "string") or length != count * (atomic.size or 1):
                raise ValueError(f"data of {length} are not {count} values of type {atomic.name}")
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return {
            "type": "object",
            "title": "Constant",
            "description": (cls.__doc__ or "").split("\n", 1)[0],
            "properties": cls._JSON_MEMBERS,
            "required": ["type"],
            "additionalProperties": False,
        }

    _JSON_MEMBERS: ClassVar[dict[str, Any]] = {
        "type": {"type": "string", "minLength": 1, "description": "atomic name or FQN"},
        "count": {"type": "integer", "minimum": 0, "description": "only beside base64 or elements"},
        "values": {"type": "array", "items": {"type": ["number", "string", "null", "object"]}},
        "text": {"type": "string", "description": "char data that is UTF-8"},
        "base64": {"type": "string", "contentEncoding": "base64"},
        "elements": {"type": "array", "items": {"type": "object"}, "description": "nested constants"},
    }


def swap(data: bytes, width: int) -> bytes:
    """Swap the byte order of elements of `width` bytes."""
    if width == 1:
        return data
    out = bytearray(len(data))
    for place in range(width):
        out[place::width] = data[width - 1 - place :: width]
    return bytes(out)


def shortest(value: float, type_name: str) -> str:
    """Return the shortest decimal text that reads back to the same float or double; `nan`, `inf` for specials."""
    if type_name != "float" or not math.isfinite(value):
        return repr(value)
    for digits in range(6, 9):
        text = f"{value:.{digits}g}"
        if single(float(text)) == value:
            return repr(float(text))
    return repr(float(f"{value:.9g}"))


def _write_json(constant: Constant) -> dict[str, Any]:
    data = constant.data
    atomic = ATOMIC.get(constant.type)
    if isinstance(data, tuple):
        if constant.type == "string":
            return {"type": "string", "values": [_text_out(item) for item in data]}  # type: ignore[arg-type]
        elements = [_write_json(item) for item in data if isinstance(item, Constant)]
        return {"type": constant.type, "count": constant.count, "elements": elements}
    if atomic is not None and atomic.name == "char":
        text = _text_out(data)
        if isinstance(text, str):
            return {"type": "char", "text": text}
    elif atomic is not None:
        values = [json_number(item) for item in constant.as_numbers()]
        if pack(atomic.name, values) == data:
            return {"type": constant.type, "values": values}
    return {"type": constant.type, "count": constant.count, "base64": base64.b64encode(data).decode()}


def json_number(value: int | float) -> int | float | str:
    """Return the JSON value of a number: itself, or `NaN`, `Infinity`, `-Infinity`.

    JSON numbers have no width. A float is not shortened to its own width's
    digits, so that readers of doubles get the exact value.
    """
    if isinstance(value, int) or math.isfinite(value):
        return value
    return "NaN" if value != value else ("Infinity" if value > 0 else "-Infinity")


def _text_out(data: bytes | None) -> str | dict[str, str] | None:
    if data is None:
        return None
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def pack(type_name: str, values: Sequence[Any]) -> bytes:
    """Return the bytes of numbers in their JSON form. Raises struct.error or OverflowError if one does not fit."""
    plain = [SPECIAL_FLOATS[item] if isinstance(item, str) else item for item in values]
    return struct.pack(f"<{len(plain)}{ATOMIC[type_name].code}", *plain)


def _read_json(value: dict[str, Any]) -> dict[str, Any]:
    """Return `count` and `data` of the readable JSON form. Raises ValueError, which pydantic reports with its place."""
    forms = [key for key in ("values", "text", "base64", "elements") if key in value]
    extra = set(value) - {"type", "count", "values", "text", "base64", "elements", "span"}
    if len(forms) != 1 or extra:
        raise ValueError("a constant has exactly one of the members values, text, base64 and elements")
    content = value[forms[0]]
    kind = value.get("type")
    if forms[0] == "base64":
        return {"data": _unbase64(content)}
    if forms[0] == "text" and isinstance(content, str) and kind == "char":
        data = content.encode("utf-8", "strict")
        return {"data": data, "count": len(data)}
    if not isinstance(content, list) or not isinstance(kind, str):
        raise ValueError(f"`{forms[0]}` does not suit type {kind!r}")
    if forms[0] == "elements":
        return {"data": tuple(Constant.from_json(item) for item in content)}
    if kind == "string":
        return {"data": tuple(_text_in(item) for item in content), "count": len(content)}
    return {"data": _pack_json_numbers(kind, content), "count": len(content)}


def _pack_json_numbers(kind: str, content: list[Any]) -> bytes:
    """Pack the JSON member `values` of a numeric constant."""
    atomic = ATOMIC.get(kind)
    if atomic is None or not (atomic.is_integer or atomic.is_float):
        raise ValueError(f"`values` does not suit type {kind!r}")
    for item in content:
        if isinstance(item, bool) or not isinstance(item, int if atomic.is_integer else int | float | str):
            raise ValueError(f"{item!r} is not a value of type {kind}")
        if isinstance(item, str) and item not in SPECIAL_FLOATS:
            raise ValueError(f"{item!r} is not NaN, Infinity or -Infinity")
    try:
        return pack(kind, content)
    except (struct.error, OverflowError) as error:
        raise ValueError(f"a value does not fit type {kind}: {error}") from error


def _unbase64(text: Any) -> bytes:
    if not isinstance(text, str):
        raise ValueError("base64 data is not a string")
    try:
        return base64.b64decode(text, validate=True)
    except binascii.Error as error:
        raise ValueError(f"not base64: {error}") from error


def _text_in(item: Any) -> bytes | None:
    if item is None:
        return None
    if isinstance(item, str):
        return item.encode("utf-8")
    if isinstance(item, dict) and set(item) == {"base64"}:
        return _unbase64(item["base64"])
    raise ValueError("a string value is a JSON string, null or base64")


def single(value: float) -> float:
    """Return the nearest 32-bit float; infinity if the value is too large."""
    try:
        rounded: float = struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)
    return rounded
