"""The part of NumPy that a schema needs, in Python alone: the playground's Python has no compiled NumPy.

Arrays of one chunk of memory as a list, types by `struct`, scalars as numbers that know their type. What is not here
raises `AttributeError`; values of the data section are not placed in the playground for that reason. `test_playground`
compares what comes out with what NumPy gives.
"""

from __future__ import annotations

import decimal
import math
import struct
import sys
from collections.abc import Iterable, Iterator
from typing import Any

__version__ = "2.0"
newaxis = None
inf, nan = math.inf, math.nan


class generic:
    """Base of all scalars."""

    dtype: dtype
    shape = ()
    ndim = 0
    size = 1

    def item(self) -> Any:
        """Return the scalar as a number of Python."""
        return self.dtype.plain(self)

    tolist = item

    def tobytes(self) -> bytes:
        """Return the bytes of the scalar, in the order of its type."""
        return self.dtype.pack(self)


class number(generic): ...


class integer(number): ...


class signedinteger(integer): ...


class unsignedinteger(integer): ...


class floating(number): ...


class complexfloating(number): ...


class character(generic): ...


class bytes_(bytes, character): ...


class str_(str, character): ...


class bool_(integer): ...


class void(generic):
    """A scalar of a compound type: values by field."""

    def __init__(self, values: tuple[Any, ...], kind: dtype) -> None:
        self.values, self.dtype = values, kind

    def __getitem__(self, name: str | int) -> Any:
        return self.values[name if isinstance(name, int) else self.dtype.names.index(name)]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.values)

    def __str__(self) -> str:
        plain = [value.tolist() if isinstance(value, ndarray) else value for value in self.values]
        shown = [str(value) if isinstance(value, number | void) else repr(value) for value in plain]
        return f"({', '.join(shown)}{',' * (len(shown) == 1)})"

    def item(self) -> Any:
        return tuple(value.tolist() if isinstance(value, ndarray | generic) else value for value in self.values)

    tolist = item


class _Integer(int, integer):
    _size = 8
    _low = 0
    _high = 0

    def __new__(cls, value: Any = 0) -> Any:
        number = int(value)
        if not cls._low <= number <= cls._high:
            raise OverflowError(f"Python integer {number} out of bounds for {cls.__name__}")
        return super().__new__(cls, number)

    __str__ = int.__repr__


class _Real(float, floating):
    def __repr__(self) -> str:
        return f"np.{type(self).__name__}({self})"


class float64(_Real):
    def __str__(self) -> str:
        return float.__repr__(self)


def _shortest(value: float, code: str, digits: int, plain_below: float) -> str:
    """Return the shortest decimal that reads back to the same number of fewer bits than a double."""
    if not math.isfinite(value) or not value:
        return float.__repr__(value)
    for precision in range(1, digits + 1):
        nearest = decimal.Decimal(
            f"{value:.{precision - 1}e}"
        )  # a tie goes to the even digit: the other one may do, too
        unit = decimal.Decimal(1).scaleb(nearest.adjusted() - precision + 1)
        for candidate in (nearest, decimal.Decimal(value).quantize(unit, decimal.ROUND_HALF_UP)):
            if _reads_back(float(candidate), value, code):
                mantissa, _, exponent = f"{candidate:.{precision - 1}e}".lower().partition("e")
                power = int(exponent)
                if 1e-4 <= abs(value) < plain_below:
                    return f"{candidate:.{max(precision - 1 - power, 1)}f}"
                return f"{mantissa}e{'-' if power < 0 else '+'}{abs(power):02d}"
    raise AssertionError(f"{value!r} needs more than {digits} digits")


def _reads_back(number: float, value: float, code: str) -> bool:
    try:
        return bool(struct.unpack(code, struct.pack(code, number))[0] == value)
    except OverflowError:  # rounded up beyond the largest
        return False


class float32(_Real):
    def __new__(cls, value: Any = 0.0) -> Any:
        try:
            rounded = struct.unpack("<f", struct.pack("<f", value))[0]
        except OverflowError:
            rounded = math.copysign(inf, value)
        return super().__new__(cls, rounded)

    def __str__(self) -> str:
        return _shortest(float(self), "<f", 9, 1e6)


class float16(_Real):
    def __new__(cls, value: Any = 0.0) -> Any:
        try:
            rounded = struct.unpack("<e", struct.pack("<e", value))[0]
        except OverflowError:
            rounded = math.copysign(inf, value)
        return super().__new__(cls, rounded)

    def __str__(self) -> str:
        return _shortest(float(self), "<e", 5, 1e3)


def _integer(name: str, size: int, signed: bool) -> type:
    bits = size * 8
    low, high = (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) if signed else (0, 2**bits - 1)
    base = signedinteger if signed else unsignedinteger
    return type(
        name, (_Integer, base), {"_low": low, "_high": high, "__repr__": lambda self: f"np.{name}({int(self)})"}
    )


int8, int16, int32, int64 = (_integer(f"int{8 * size}", size, True) for size in (1, 2, 4, 8))
uint8, uint16, uint32, uint64 = (_integer(f"uint{8 * size}", size, False) for size in (1, 2, 4, 8))
intp, double, single, half = int64, float64, float32, float16
longlong, ulonglong = int64, uint64

_SCALARS: dict[str, tuple[type, str]] = {
    "i1": (int8, "b"),
    "i2": (int16, "h"),
    "i4": (int32, "i"),
    "i8": (int64, "q"),
    "u1": (uint8, "B"),
    "u2": (uint16, "H"),
    "u4": (uint32, "I"),
    "u8": (uint64, "Q"),
    "f2": (float16, "e"),
    "f4": (float32, "f"),
    "f8": (float64, "d"),
}
_NAMES = {kind.__name__: code for code, (kind, _) in _SCALARS.items()}
_NAMES |= {"int": "i8", "float": "f8", "bool": "b1", "object": "O", "double": "f8", "str": "U0", "bytes": "S0"}
_NATIVE = "<" if sys.byteorder == "little" else ">"


class dtype:
    """A type of elements: `kind`, `itemsize`, `byteorder`, and fields of a compound type."""

    def __init__(self, spec: Any, align: bool = False, copy: bool = False) -> None:
        self.names: tuple[str, ...] | None = None
        self.fields: dict[str, tuple[dtype, int]] | None = None
        self.subdtype: tuple[dtype, tuple[int, ...]] | None = None
        self.byteorder, self.alignment = "|", 1
        if isinstance(spec, dtype):
            self.__dict__.update(spec.__dict__)
        elif isinstance(spec, dict):
            self._set_fields(zip(spec["names"], map(dtype, spec["formats"]), spec["offsets"], strict=True))
            self.itemsize = spec.get("itemsize", self.itemsize)
        elif isinstance(spec, list):
            self._set_fields(_packed(spec))
        elif isinstance(spec, tuple):
            base, shape = dtype(spec[0]), (spec[1],) if isinstance(spec[1], int) else tuple(spec[1])
            self.__dict__.update(base.__dict__)
            if shape:
                self.subdtype, self.itemsize, self.kind = (base, shape), base.itemsize * math.prod(shape), "V"
                self.byteorder = "|"
        else:
            self._set_code(spec if isinstance(spec, str) else spec.__name__)

    def _set_code(self, text: str) -> None:
        order, code = ("=", text) if text[:1] not in "<>|=" else (text[0], text[1:])
        code = _NAMES.get(code.rstrip("_"), _NAMES.get(code, code))
        if code in "bBhHiIqQefd" and len(code) == 1:
            code = next(name for name, (_, letter) in _SCALARS.items() if letter == code)
        self.kind, size = code[0], code[1:]
        if self.kind == "?":
            self.kind, size = "b", "1"
        self.itemsize = 8 if self.kind == "O" else int(size or 0) * (4 if self.kind == "U" else 1)
        if self.kind not in "iufcbSUOV" or (self.kind in "iufc" and not self.itemsize):
            raise TypeError(f"data type {text!r} not understood")
        if self.kind in "iufcU" and self.itemsize > 1:
            self.byteorder = "=" if order in ("=", "|", _NATIVE) else order
        self.alignment = self.itemsize if self.kind in "iufO" else 1

    def _set_fields(self, fields: Iterable[tuple[str, dtype, int]]) -> None:
        self.kind, self.fields, self.itemsize = "V", {}, 0
        for name, kind, offset in fields:
            self.fields[name] = (kind, offset)
            self.itemsize = max(self.itemsize, offset + kind.itemsize)
        self.names = tuple(self.fields)

    @property
    def code(self) -> str:
        return f"{self.kind}{'' if self.kind == 'O' else self.itemsize // (4 if self.kind == 'U' else 1)}"

    @property
    def order(self) -> str:
        return {"=": _NATIVE}.get(self.byteorder, self.byteorder)

    @property
    def str(self) -> Any:
        return "|O" if self.kind == "O" else self.order + self.code

    @property
    def descr(self) -> list[Any]:
        if not self.fields:
            return [("", self.str)]
        return [
            (name, kind.descr if kind.fields else kind.str) if kind.subdtype is None else
            (name, kind.base.descr if kind.base.fields else kind.base.str, kind.shape)
            for name, (kind, _) in self.fields.items()
        ]  # fmt: skip

    @property
    def name(self) -> Any:
        if self.kind in "SUV":
            return {"S": "bytes", "U": "str", "V": "void"}[self.kind] + f"{8 * self.itemsize or ''}"
        return {"O": "object", "b": "bool"}.get(self.kind) or self.type.__name__

    @property
    def char(self) -> Any:
        return _SCALARS[self.code][1] if self.code in _SCALARS else {"b": "?"}.get(self.kind, self.kind)

    @property
    def type(self) -> Any:
        if self.code in _SCALARS:
            return _SCALARS[self.code][0]
        return {"S": bytes_, "U": str_, "V": void, "b": bool_}.get(self.kind, object)

    @property
    def hasobject(self) -> bool:
        parts = (
            [kind for kind, _ in self.fields.values()] if self.fields else [self.subdtype[0]] if self.subdtype else []
        )
        return self.kind == "O" or any(part.hasobject for part in parts)

    @property
    def base(self) -> dtype:
        return self.subdtype[0] if self.subdtype else self

    @property
    def shape(self) -> tuple[int, ...]:
        return self.subdtype[1] if self.subdtype else ()

    @property
    def isnative(self) -> bool:
        return self.order in ("|", _NATIVE)

    def newbyteorder(self, order: Any = "S") -> dtype:
        """Return the type in another byte order: `<`, `>`, `=`, or `S` for the opposite."""
        made = dtype(self)
        if self.fields:
            fields = [(name, kind.newbyteorder(order), offset) for name, (kind, offset) in self.fields.items()]
            made._set_fields(fields)
            made.itemsize = self.itemsize
        elif self.byteorder != "|":
            new = {"S": "<" if self.order == ">" else ">"}.get(order, order)
            made.byteorder = "=" if new in ("=", _NATIVE) else new
        return made

    def pack(self, value: Any) -> bytes:
        """Return the bytes of a value."""
        if self.code in _SCALARS:
            return struct.pack(self.order.replace("|", "<") + _SCALARS[self.code][1], value)
        if self.kind == "S":
            return bytes(value)[: self.itemsize].ljust(self.itemsize, b"\0")
        if self.kind == "b":
            return b"\1" if value else b"\0"
        raise TypeError(f"the playground packs no values of {self}")

    def unpack(self, data: bytes | memoryview, start: int = 0) -> Any:
        """Return the value whose bytes begin at a place."""
        if self.subdtype:
            base, shape = self.subdtype
            items = [base.unpack(data, start + base.itemsize * place) for place in range(math.prod(shape))]
            return ndarray(items, shape, base)
        if self.fields:
            return void(tuple(kind.unpack(data, start + offset) for kind, offset in self.fields.values()), self)
        if self.code in _SCALARS:
            kind, letter = _SCALARS[self.code]
            return kind(struct.unpack_from(self.order.replace("|", "<") + letter, data, start)[0])
        if self.kind == "S":
            return bytes_(bytes(data[start : start + self.itemsize]).rstrip(b"\0"))
        raise TypeError(f"the playground reads no values of {self}")

    def plain(self, value: Any) -> Any:
        """Return a value as a number or text of Python."""
        if isinstance(value, void):
            return value.item()
        if self.kind in "iu":
            return int(value)
        return float(value) if self.kind == "f" else bool(value) if self.kind == "b" else value

    def __eq__(self, other: object) -> bool:
        try:
            other = dtype(other)
        except (TypeError, AttributeError, ValueError):
            return False
        return (self.str, self.fields, self.subdtype) == (other.str, other.fields, other.subdtype)

    def __hash__(self) -> int:
        return hash((self.str, self.names))

    def __getitem__(self, name: Any) -> dtype:
        assert self.fields is not None
        return self.fields[name][0]

    def __len__(self) -> int:
        return len(self.names or ())

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> Any:
        return f"dtype({self.descr!r})" if self.fields else f"dtype({self.name!r})"

    def __str__(self) -> Any:
        return str(self.descr) if self.fields else self.name if self.isnative else self.str


def _packed(fields: list[Any]) -> Iterator[tuple[str, dtype, int]]:
    offset = 0
    for name, *kind in fields:
        made = dtype(kind[0] if len(kind) == 1 else (kind[0], kind[1]))
        yield name, made, offset
        offset += made.itemsize


for _code, (_kind, _) in _SCALARS.items():
    _kind.dtype = dtype(_code)  # type: ignore[attr-defined]
bool_.dtype, object_ = dtype("bool"), object
bytes_.dtype, str_.dtype = dtype("S0"), dtype("U0")


class _Flags:
    writeable = True
    c_contiguous = True


class ndarray:
    """Elements in rows, as a list."""

    def __init__(self, items: list[Any], shape: tuple[int, ...], kind: dtype) -> None:
        self.items, self.shape, self.dtype, self.flags = items, shape, kind, _Flags()

    size = property(lambda self: len(self.items))
    ndim = property(lambda self: len(self.shape))
    nbytes = property(lambda self: len(self.items) * self.dtype.itemsize)
    itemsize = property(lambda self: self.dtype.itemsize)
    flat = property(lambda self: iter(self.items))

    def tolist(self) -> Any:
        """Return nested lists of plain values; of an array without dimensions, the value."""
        plain = [item.tolist() if isinstance(item, ndarray) else self.dtype.plain(item) for item in self.items]
        for length in reversed(self.shape[1:]):
            plain = [plain[start : start + length] for start in range(0, len(plain), length)]
        return plain if self.shape else plain[0]

    def item(self) -> Any:
        (only,) = self.items
        return self.dtype.plain(only)

    def reshape(self, *shape: Any) -> ndarray:
        wanted = tuple(shape[0] if len(shape) == 1 and isinstance(shape[0], tuple | list) else shape)
        if -1 in wanted:
            rest = math.prod(length for length in wanted if length != -1)
            wanted = tuple(len(self.items) // rest if length == -1 else length for length in wanted)
        return ndarray(self.items, wanted, self.dtype)

    def ravel(self) -> ndarray:
        return self.reshape(-1)

    flatten = ravel

    def copy(self) -> ndarray:
        return ndarray(list(self.items), self.shape, self.dtype)

    def astype(self, kind: Any, copy: bool = True) -> ndarray:
        return asarray(self, kind)

    def view(self, kind: Any) -> ndarray:
        return frombuffer(self.tobytes(), kind)

    def tobytes(self) -> bytes:
        return b"".join(map(self.dtype.pack, self.items))

    def any(self) -> bool:
        return any(self.items)

    def all(self) -> bool:
        return all(self.items)

    def max(self) -> Any:
        return max(self.items)

    def min(self) -> Any:
        return min(self.items)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[Any]:
        return (self[place] for place in range(self.shape[0]))

    def __getitem__(self, key: Any) -> Any:
        if key == () and not self.shape:
            return self.items[0]
        if key is Ellipsis:
            return self
        if isinstance(key, str):
            field = self.dtype[key]
            return ndarray([item[key] for item in self.items], self.shape, field)
        row = math.prod(self.shape[1:])
        if isinstance(key, slice):
            places = range(*key.indices(self.shape[0]))
            items = [item for place in places for item in self.items[place * row : (place + 1) * row]]
            return ndarray(items, (len(places), *self.shape[1:]), self.dtype)
        place = range(self.shape[0])[key]
        if len(self.shape) == 1:
            return self.items[place]
        return ndarray(self.items[place * row : (place + 1) * row], self.shape[1:], self.dtype)

    def __setitem__(self, key: Any, value: Any) -> None:
        if len(self.shape) != 1 or not isinstance(key, int):
            raise TypeError("the playground sets single elements alone")
        self.items[key] = value

    def __eq__(self, other: object) -> Any:
        others = other.items if isinstance(other, ndarray) else [other] * len(self.items)
        return ndarray([mine == its for mine, its in zip(self.items, others, strict=True)], self.shape, dtype("bool"))

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self) -> bool:
        (only,) = self.items
        return bool(only)


def array(value: Any, dtype: Any = None, copy: bool = True) -> ndarray:
    """Return a new array of a value, nested lists or an array."""
    made = asarray(value, dtype)
    return made.copy() if made is value else made


def asarray(value: Any, kind: Any = None, dtype: Any = None) -> ndarray:
    """Return a value, nested lists or an array as an array of a type."""
    wanted = kind if kind is not None else dtype
    items: list[Any]
    if isinstance(value, ndarray):
        if wanted is None or _dtype(wanted) == value.dtype:
            return value
        items, shape = value.items, value.shape
    elif isinstance(value, list | tuple) and not isinstance(value, void):
        rows = [asarray(one, wanted) for one in value]
        items = [item for row in rows for item in row.items]
        shape = (len(value), *(rows[0].shape if rows else ()))
    else:
        items, shape = [value], ()
    chosen = _dtype(wanted) if wanted is not None else _common(items)
    if chosen.code in _SCALARS:
        items = [_SCALARS[chosen.code][0](item) for item in items]
    elif chosen.kind == "S":
        items = [bytes_(item if isinstance(item, bytes) else str(item).encode("latin-1")) for item in items]
    return ndarray(items, shape, chosen)


def _common(items: list[Any]) -> Any:
    """Return the type of values without a declared one, as NumPy finds it for the few kinds that occur here."""
    kinds = {item.dtype for item in items if isinstance(item, generic)}
    if len(kinds) == 1 and all(isinstance(item, generic) for item in items):
        return kinds.pop()
    for kind, code in ((bool, "bool"), (int, "i8"), (float, "f8")):
        if items and all(isinstance(item, kind) for item in items):
            return _dtype(code)
    if not items or all(isinstance(item, int | float) for item in items):
        return _dtype("f8")
    for kind, letter in ((str, "U"), (bytes, "S")):
        if all(isinstance(item, kind) for item in items):
            return _dtype(f"{letter}{max(map(len, items))}")
    return _dtype("O")


ascontiguousarray = asarray
_dtype = dtype


def frombuffer(data: Any, dtype: Any = float, count: int = -1, offset: int = 0) -> ndarray:
    """Return the values in bytes, in one dimension."""
    kind, view = _dtype(dtype), bytes(data)
    length = (len(view) - offset) // kind.itemsize if count < 0 else count
    return ndarray([kind.unpack(view, offset + kind.itemsize * place) for place in range(length)], (length,), kind)


def empty(shape: Any, dtype: Any = float) -> ndarray:
    """Return an array of zeros, or of None for objects."""
    kind, wanted = _dtype(dtype), (shape,) if isinstance(shape, int) else tuple(shape)
    value = None if kind.kind == "O" else kind.unpack(bytes(kind.itemsize)) if kind.code != "b1" else False
    return ndarray([value] * math.prod(wanted), wanted, kind)


zeros = empty


def prod(values: Any) -> Any:
    """Return the product of numbers."""
    return math.prod(values)


def isfinite(value: Any) -> Any:
    """Return whether numbers are finite."""
    if isinstance(value, ndarray):
        return ndarray([math.isfinite(item) for item in value.items], value.shape, dtype("bool"))
    return math.isfinite(value)


def isnan(value: Any) -> Any:
    """Return whether numbers are not a number."""
    if isinstance(value, ndarray):
        return ndarray([math.isnan(item) for item in value.items], value.shape, dtype("bool"))
    return math.isnan(value)


def signbit(value: Any) -> bool:
    """Return whether a number is negative, -0.0 too."""
    return math.copysign(1, value) < 0


def max(value: Any, *others: Any) -> Any:  # noqa: A001 - NumPy's name
    """Return the largest number."""
    return _greatest(value.items if isinstance(value, ndarray) else [value] if not others else [value, *others])


_greatest = __builtins__["max"] if isinstance(__builtins__, dict) else __builtins__.max


def issubdtype(kind: Any, of: type) -> bool:
    """Return whether a type is of a kind."""
    return issubclass(dtype(kind).type, of)
