r"""Constants and JSON values: the plain form of a constant in documents, and JSON that constants narrow.

The plain form has exact numbers: a float is the equal double. NaN and infinities are the texts
`NaN`, `Infinity` and `-Infinity`; char and string values are texts. A single
value is a scalar, several make a list. Bytes that JSON or the netCDF library's
parser cannot represent (NUL, control bytes, invalid UTF-8) are omitted, and
`exact` is False.

netCDF has attributes of one type and one dimension. `Attribute.json` holds the
JSON of a store where the plain form of the constant differs, as a text with members in
their order and numbers as they were spelled::

    {"a": 1}   char "{\"a\": 1}"        [7]   int 7        false   ubyte 0        1e3   double 1000

A netCDF file states such JSON in one more attribute `_nczarr_json` of the owner,
a JSON object with the attributes by name. Readers hide it, and ignore members
whose attributes have other values by now.
"""

from __future__ import annotations

import itertools
import json
import math
import re
from collections.abc import Iterator
from typing import Any

from nczarr.ast.dataset import Attribute
from nczarr.ast.types import ATOMIC
from nczarr.ast.values import SPECIAL_FLOATS, Constant, json_number, pack
from nczarr.names.records import NamedTuple

CARRIED = "_nczarr"
"""Attribute with the metadata of a store of Zarr v3, which xarray carries into other files. It means nothing there."""

HIDDEN = frozenset({"_ARRAY_DIMENSIONS", "_NCProperties", CARRIED, "_nczarr_array", "_nczarr_attr", "_nczarr_group",
                    "_nczarr_superblock"})  # fmt: skip
"""Attribute names reserved by Zarr stores."""

_UNSPEAKABLE = re.compile("[\x00-\x07\x0b\x0e-\x1f]")
r"""Control characters without a short JSON escape; the netCDF library does not decode `\uXXXX`."""

MOST_EMPTY = 1 << 16
"""Maximum empty lists in the JSON of an attribute without values: its file states any lengths beside a 0."""

_INTEGERS = ("int", "uint", "int64", "uint64")


class JsonConstant(NamedTuple):
    """A constant as JSON."""

    value: Any
    """The JSON value; None if no readable form exists."""
    exact: bool
    """True if the value is complete together with the type."""


def plain(constant: Constant) -> JsonConstant:
    """Return the plain form of a constant. User-defined types and empty lists have none."""
    data = constant.data
    atomic = ATOMIC.get(constant.type)
    if atomic is None or (constant.count == 0 and constant.type != "char"):
        return JsonConstant(None, False)
    if constant.type == "char":
        assert isinstance(data, bytes)
        text, exact = _readable(data)
        return JsonConstant(text, exact and constant.count > 0)
    if constant.type == "string":
        texts = [_readable(item if isinstance(item, bytes) else None) for item in data]
        return JsonConstant(_unwrap_one([text for text, _ in texts]), all(exact for _, exact in texts))
    if atomic.is_integer:
        return JsonConstant(_unwrap_one(list(constant.as_numbers())), True)
    values = [json_number(item) for item in constant.as_numbers()]
    return JsonConstant(_unwrap_one(values), pack(constant.type, values) == data)


def show_untyped(constant: Constant) -> Any:
    """Return the plain form of a constant without its type: NaN and infinities are numbers; None if it has none."""
    value = plain(constant).value
    if is_finite(constant):
        return value
    return [SPECIAL_FLOATS.get(item, item) for item in value] if isinstance(value, list) else SPECIAL_FLOATS[value]


def guess_constant(value: Any) -> Constant | None:
    """Return the constant of an untyped plain JSON value; None for other than texts or numbers.

    A text is char, several are strings; integers take the first of int, uint,
    int64, uint64 that fits all; reals, and `NaN` and infinities among numbers,
    are double, unless that rounds an integer among them.
    """
    values = value if isinstance(value, list) else [value]
    if isinstance(value, str):
        return Constant.text(encode(value))
    if values and all(isinstance(element, str) for element in values):
        return Constant.strings([encode(element) for element in values])
    if any(_is_number(element) for element in values):
        values = [SPECIAL_FLOATS.get(element, element) if isinstance(element, str) else element for element in values]
    if not values or not all(map(_is_number, values)):
        return None
    if all(isinstance(element, int) for element in values):
        for name in _INTEGERS:
            if all(ATOMIC[name].low <= element <= ATOMIC[name].high for element in values):
                return Constant.numbers(name, values)
    try:
        reals = [float(element) for element in values]
    except OverflowError:
        return None
    exact = all(real == element for real, element in zip(reals, values, strict=True) if isinstance(element, int))
    return Constant.numbers("double", reals) if exact else None


def encode(text: str) -> bytes:
    """Return the bytes of a document's text; surrogate-escaped bytes are restored."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_finite(constant: Constant) -> bool:
    """Return whether a constant has no NaN or infinity, which plain JSON shows as texts."""
    atomic = ATOMIC.get(constant.type)
    return atomic is None or not atomic.is_float or all(map(math.isfinite, constant.as_numbers()))


def is_utf8(text: bytes) -> bool:
    """Return whether bytes are valid UTF-8."""
    try:
        text.decode("utf-8")
    except UnicodeDecodeError:
        return False
    return True


def _unwrap_one(values: list[Any]) -> Any:
    return values[0] if len(values) == 1 else values


def _readable(data: bytes | None) -> tuple[str, bool]:
    """Return the text that JSON can represent, and whether it is complete. NIL is an empty text."""
    if data is None:
        return "", False
    text = data.decode("utf-8", "ignore")
    spoken = _UNSPEAKABLE.sub("", text) if _UNSPEAKABLE.search(text) else text
    return spoken, spoken.encode("utf-8") == data


NOTE = "_nczarr_json"
"""Attribute of a netCDF file that states the JSON of other attributes."""


class Real(float):
    """A number with point or exponent that is not spelled as Python does, with its spelling."""

    __slots__ = ("spelled",)
    spelled: str

    @classmethod
    def of(cls, spelled: str) -> float:
        """Return the number of a JSON text: a `Real`, or a float if Python spells it so."""
        plain = float(spelled)
        if repr(plain) == spelled:
            return plain
        number = cls(plain)
        number.spelled = spelled
        return number


class JsonText:
    """A JSON value as the text that documents have."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text


def write_json(value: Any, comma: str = ", ") -> str:
    """Return a JSON value as text in one line, numbers as they were spelled. `comma`: stands between items of lists."""
    if isinstance(value, dict):
        members = (f"{json.dumps(name, ensure_ascii=False)}: {write_json(item, comma)}" for name, item in value.items())
        return "{" + ", ".join(members) + "}"
    if isinstance(value, list | tuple):
        return "[" + comma.join(write_json(item, comma) for item in value) + "]"
    if isinstance(value, JsonText):
        return value.text
    return value.spelled if isinstance(value, Real) else json.dumps(value, ensure_ascii=False)


def spell(value: Any) -> str:
    """Return a JSON value as the netCDF library spells it: lists without blanks; a text is unchanged."""
    return value if isinstance(value, str) else write_json(value, comma=",")


def find_json(constant: Constant, value: Any, *, typed: bool = True) -> str | None:
    """Return the text of an attribute's JSON value; None if the plain form of its constant is the same text.

    `typed`: the document states the type, so that words among numbers are NaN and infinities, not texts.
    """
    is_mixed = not typed and constant.type == "double" and isinstance(value, list) and str in set(map(type, value))
    if not is_mixed and _prints(plain(constant).value, value):
        return None
    text = write_json(value)
    try:
        text.encode()
    except UnicodeEncodeError:  # invalid UTF-8, which the bytes of the constant keep
        return None if isinstance(value, str) else text.encode("utf-8", "replace").decode()
    return text


def _prints(shown: Any, value: Any) -> bool:
    """Return whether a plain form and a JSON value have the same text."""
    if isinstance(shown, list):
        return type(value) is list and len(shown) == len(value) and all(map(_prints, shown, value))
    if type(shown) is float and type(value) is float:
        return repr(shown) == repr(value)  # -0.0 equals 0.0
    return type(shown) is type(value) and type(shown) in (str, int) and bool(shown == value)


def is_same_plain(shown: Any, value: Any) -> bool:
    """Return whether a JSON value equals a plain form, numbers by value."""
    if isinstance(shown, list) and isinstance(value, list):
        return len(shown) == len(value) and all(map(is_same_plain, shown, value))
    if isinstance(shown, str) and isinstance(value, float) and shown in SPECIAL_FLOATS:
        return is_same_plain(SPECIAL_FLOATS[shown], value)
    if isinstance(shown, float) and isinstance(value, float) and math.isnan(shown):
        return math.isnan(value)
    is_comparable = type(shown) is type(value) or (isinstance(shown, float) and _is_number(value))
    return is_comparable and bool(shown == value)


def narrow(value: Any) -> Constant:
    """Return the constant of an untyped JSON value: numbers and texts, ubyte for booleans, else its text as char."""
    constant = guess_constant(value)
    if constant is not None:
        return constant
    values = value if isinstance(value, list) else [value]
    if values and all(isinstance(item, bool) for item in values):
        return Constant.numbers("ubyte", [int(item) for item in values])
    return Constant.text(encode(spell(value)))


def is_narrowed(constant: Constant, value: Any) -> bool:
    """Return whether a constant is what netCDF holds of a JSON value: its cells, or those of a nested list in order."""
    shown, narrowed = plain(constant).value, narrow(value)
    if is_same_plain(shown, plain(narrowed).value) or constant.data == narrowed.data:
        return True
    cells = [] if constant.count == 0 else shown if isinstance(shown, list) else [shown]
    return isinstance(value, list) and is_same_plain(cells, list(flatten(value)))


def flatten(value: Any) -> Iterator[Any]:
    """Yield the values in nested lists in order; a value that is no list as it is."""
    for item in value if isinstance(value, list) else (value,):
        yield from flatten(item) if isinstance(item, list) else (item,)


def get_json(attribute: Attribute) -> str | None:
    """Return the JSON of an attribute; None without any, or if its numbers or text are those of the value."""
    text, constant = attribute.json, attribute.value
    if text is None:
        return None
    value = json.loads(text)
    same = is_same_plain(plain(constant).value, value)
    return None if same or (isinstance(value, str) and constant.data in (data := encode(value), (data,))) else text


def is_strict(attribute: Attribute) -> bool:
    """Return whether the JSON of an attribute has no NaN and infinities, which RFC 8259 lacks."""
    words: list[str] = []
    json.loads(attribute.json or "0", parse_constant=words.append)
    return not words


def describe_json(attribute: Attribute) -> str | None:
    """Return the JSON of an attribute in words; None as `get_json`."""
    text = get_json(attribute)
    match None if text is None else json.loads(text):
        case None:
            return None if text is None else "null"
        case bool() as flag:
            return str(flag).lower()
        case dict():
            return "an object"
        case int() | float():
            return "a number beyond 64 bits"
        case []:
            return "an empty list"
        case [list(), *_]:
            return "a nested list"
        case [_]:
            return "a list of one value"
        case _:
            return "a list of other values than numbers or texts alone"


def nest_json(value: Constant, shape: tuple[int, ...]) -> str | None:
    """Return the JSON of values of several dimensions, as nested lists; None for others, user types and chars."""
    if len(shape) < 2 or value.type not in ATOMIC or value.type == "char" or value.count != math.prod(shape):
        return None
    if value.type == "string":
        shown = plain(value)
        if not shown.exact:
            return None
        cells = shown.value if isinstance(shown.value, list) else [shown.value]
    else:
        cells = list(value.as_numbers())
    if math.prod(itertools.takewhile(bool, shape)) > max(len(cells), MOST_EMPTY):
        return None
    for axis in range(len(shape) - 1, 0, -1):  # lists of the last dimension first; the outermost list is `cells`
        length = shape[axis]
        cells = [cells[number * length : (number + 1) * length] for number in range(math.prod(shape[:axis]))]
    return write_json(cells)
