"""Attributes of stores: JSON values → constants, typed by the extension, the map of types or the value.

Values that the netCDF library damages or rejects are recovered if possible.
Untyped values: a text is char, several texts are strings, integers the first of
int, uint, int64, uint64 that holds all, reals double, booleans ubyte; others
are char with the JSON text. A `_FillValue` may stand in the fill value of the
array alone.
"""

from __future__ import annotations

import functools
import math
import re
import struct
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.elements import element_of, is_record, model_bytes
from nczarr.arrays.values.parts import NUMPY, Types, as_integers, is_fixed
from nczarr.arrays.values.value_lists import find_problem
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType
from nczarr.ast.plain_json import (
    HIDDEN,
    Real,
    encode,
    find_json,
    flatten,
    is_finite,
    is_same_plain,
    narrow,
    plain,
    spell,
)
from nczarr.ast.values import single
from nczarr.formats.common.documents import Json, name_in_model
from nczarr.formats.zarr.core.fill_values import show
from nczarr.formats.zarr.extension.model import AttributeExtension
from nczarr.names import name_problem
from nczarr.semantics.check_types import default_fill
from nczarr.semantics.checked import Namesake
from nczarr.syntax.json.positions import pointer

if TYPE_CHECKING:
    from nczarr.formats.zarr.core.array_metadata import ArrayMetadata
    from nczarr.formats.zarr.core.reader import Masking, NodeReader

SKIPPED = HIDDEN | {"_NCZARR_ATTR", "_NCZARR_ARRAY", "_NCZARR_GROUP", "_NCZARR_SUPERBLOCK"}  # 4.8.1 to 4.9.0
"""Names reserved by stores, in all generations."""

_NUMBER_TYPE = re.compile(r"[<>|]?([iu][1248]|f[48])")
_TEXT_TYPE = re.compile(r"[<>|]?S([0-9]+)")
# netCDF-C writes typed attributes with the suffix of C (`NaNf`), zarr-python the words of JSON (`NaN`)
_FLOAT_WORDS = {"nan": math.nan, "nanf": math.nan, "infinity": math.inf, "-infinity": -math.inf, "infinityf": math.inf,
                "-infinityf": -math.inf, "inf": math.inf, "-inf": -math.inf}  # fmt: skip
_REALS, _FLOATS, _INTEGERS = {float, Real}, {float}, {int}
_PLAIN_NUMBERS = {name: _INTEGERS | _REALS if atomic.is_float else _INTEGERS for name, atomic in ATOMIC.items()}
"""Classes of JSON values that are numbers of a type as they are."""
_INTEGER_TYPES = frozenset(name for name, atomic in ATOMIC.items() if atomic.is_integer)
_SHORT = 64
"""Largest cached attribute value, in bytes; attributes of a store repeat."""
_TYPES = {dtype[1:]: name for name, dtype in NUMPY.items()}


def type_untyped(value: Any) -> tuple[Constant, str | None]:
    """Return the constant of a JSON value without a declared type, and its JSON as `Attribute.json`."""
    if type(value) is str:
        return _read_text(value)
    values = value if type(value) is list else [value]
    kinds = set(map(type, values))
    if kinds and kinds <= _REALS:
        constant = pack("double", values)
    elif kinds == _INTEGERS and min(values) >= -0x80000000 and max(values) <= 0x7FFFFFFF:  # as netCDF-C: int if it fits
        constant = pack("int", values)
    else:
        constant = narrow(value)  # else uint, int64 or uint64, as netCDF-C
        return constant, find_json(constant, value, typed=False)
    return constant, None if _is_kept(constant, value) else find_json(constant, value, typed=False)


def _is_kept(constant: Constant, value: Any) -> bool:
    """Return whether the numbers of a JSON value certainly are the plain form of its constant. Quick."""
    kind, type_name = type(value), constant.type
    if kind is int:
        return type_name in _INTEGER_TYPES
    values = value if kind is list and len(value) > 1 else (value,)  # the plain form of one item is the item
    if type_name in _INTEGER_TYPES:
        return _INTEGERS.issuperset(map(type, values))
    if not (_FLOATS.issuperset(map(type, values)) and all(map(math.isfinite, values))):
        return False
    return type_name == "double" or constant.as_numbers() == tuple(values)


def _read_text(text: str) -> tuple[Constant, str | None]:
    """Return a text as char, and its JSON as `Attribute.json`."""
    constant = chars(encode(text))
    return constant, None if text.isascii() and text.isprintable() and text else find_json(constant, text)


def chars(data: bytes) -> Constant:
    """Return char data; short values are cached."""
    return Constant.text(data) if len(data) > _SHORT else _constant("char", len(data), data)


def pack(type_name: str, values: list[Any]) -> Constant:
    """Return numbers of a type; short ones are cached. Raises struct.error, OverflowError."""
    data = _struct(type_name, len(values)).pack(*values)
    if len(data) > _SHORT:
        return Constant(type=type_name, count=len(values), data=data)
    return _constant(type_name, len(values), data)


@functools.lru_cache(maxsize=256)
def _struct(type_name: str, count: int) -> struct.Struct:
    """Return the layout of so many numbers of a type."""
    return struct.Struct(f"<{count}{ATOMIC[type_name].code}")


@functools.lru_cache(maxsize=1024)
def _constant(type_name: str, count: int, data: bytes) -> Constant:
    """Return a constant, cached by its bytes, which distinguish -0.0 from 0.0."""
    return Constant(type=type_name, count=count, data=data)


def type_value(dtype: Any, value: Any) -> tuple[Constant | None, str | None]:
    """Return a JSON value with a dtype of the map of types, or None, and its JSON as `Attribute.json`."""
    name = _type_named(dtype) if type(dtype) is str else None
    if name is None:
        return None, None
    if name == "char":
        # a text in the plain form: by far the most frequent attribute
        if type(value) is str and value:
            return _read_text(value)
        # a JSON text cannot be empty in netCDF-C: it writes an attribute without characters as one NUL
        constant = chars(encode(spell(value)) or b"\0")  # as the netCDF library means it
    elif name == "string":
        constant = Constant.strings([encode(spell(text)) for text in flatten(value)])
    else:
        found = numbers(name, value if type(value) is list else [value]) or numbers(name, list(flatten(value)))
        if found is None or _is_kept(found, value):
            return found, None
        constant = found
    return constant, find_json(constant, value)


@functools.lru_cache(maxsize=256)
def _type_named(dtype: str) -> str | None:
    """Return the atomic type that a dtype names; None if it names none."""
    # netCDF-C calls char `<U1` until 4.9.0 and `>S1` since 4.9.1; `|J0` is JSON that it keeps as a text
    if dtype in (">S1", "<U1", "|J0"):  # `<U1`: netCDF-C 4.8.1 to 4.9.0
        return "char"
    match = _NUMBER_TYPE.fullmatch(dtype)
    if match is not None:
        return _TYPES[match[1]]
    return "string" if _TEXT_TYPE.fullmatch(dtype) else None  # of any number, which is no length


def numbers(type_name: str, values: list[Any]) -> Constant | None:
    """Return numbers of a type; None if a value is not a number or does not fit."""
    if not _PLAIN_NUMBERS[type_name].issuperset(map(type, values)):
        items: list[int | float] = []
        for element in values:
            item = _FLOAT_WORDS.get(element.lower(), element) if isinstance(element, str) else element
            if isinstance(item, str) or not isinstance(item, int | float):
                return None
            if ATOMIC[type_name].is_float:
                items.append(float(item))
            elif isinstance(item, float) and not math.isfinite(item):
                return None
            else:
                items.append(int(item))
        values = items
    try:
        return pack(type_name, values)
    except (struct.error, OverflowError):
        return None


class NodeAttributes:
    """Reader of the attributes of arrays and groups."""

    def __init__(self, reader: NodeReader) -> None:
        self.reader = reader
        self.documents = reader.documents

    def read(
        self, document: Json, key: str, types: Types, hidden: Json | None = None, owner: str = ""
    ) -> tuple[Attribute, ...]:
        """Return the attributes of a document.

        `types`: the declared types. `hidden`: its `_nczarr_attr`. `owner`: type of a variable, "" for a group.
        """
        members = hidden or {}
        dtypes = members.get("types", {})
        if not isinstance(dtypes, dict):
            self.documents.warn("bad-metadata", "the types of attributes are not an object", key)
            dtypes = {}
        extensions = self._extension(members["nczarr"], types, key) if "nczarr" in members else {}
        attributes: dict[str, Attribute] = {}
        span = self.documents.span(key)
        skipped = SKIPPED if self.documents.hides_attributes else frozenset()
        for written, value in document.items():
            if written in skipped:
                continue
            name, fault = name_in_model(written)
            if fault is not None:
                self.documents.name(written, key, _pointer(key, written), "an attribute")
                continue
            if name in attributes:
                name = self._namesake(name, written, document, attributes, key)
            is_fill = owner != "" and name == "_FillValue"
            constant: Constant | None = None
            json: str | None = None
            if written in extensions:
                form = self.reader.show_fill if is_fill else plain
                expected = form(as_integers(extensions[written].value, types)).value
                constant = self._value_unless_stale(extensions[written], value, expected, key, written)
            if constant is None and is_fill:
                constant = self.reader.own_fill(owner, value)
            if constant is not None:
                json = find_json(constant, value)
            elif written in dtypes:
                constant, json = type_value(dtypes[written], value)
                if constant is None:
                    text = f"attribute `{name}` is not of type {dtypes[written]!r}; its type is inferred from its value"
                    self.documents.warn("stale-extension", text, key, _pointer(key, written))
            if constant is None:
                constant, json = type_untyped(value)
            attributes[name] = Attribute(name=name, value=constant, json=json, span=span)
        shown = attributes.values()
        return self._insert(list(shown), extensions, document, key) if extensions else tuple(shown)

    def _namesake(self, name: str, written: str, document: Json, taken: Iterable[str], key: str) -> str:
        """Return a free name for an attribute whose name is taken, and record it."""
        first = next(other for other in document if names.normal(other) == name)
        in_use, count = {*taken, *(names.normal(other) for other in document)}, 2
        while f"{name}_{count}" in in_use:
            count += 1
        shown, place = f"{name}_{count}", self.documents.place(key, _pointer(key, written))
        self.documents.namesakes.append(Namesake("attribute", written, "attribute", first, "", shown, place))
        return shown

    def _extension(self, written: Any, types: Types, key: str) -> dict[str, AttributeExtension]:
        """Return the valid entries of the extension by attribute name; report the others."""
        extensions: dict[str, AttributeExtension] = {}
        if not isinstance(written, dict):
            self.documents.warn("stale-extension", "the extension of the attributes is not an object", key)
            return extensions
        for name, item in written.items():
            try:
                extension = AttributeExtension.from_json(item)
                if extension.at is not None and type(extension.at) is not int:
                    raise ValueError("`at` is not an integer")
                wrong = find_problem(extension.value, types)
            except (KeyError, TypeError, ValueError, AttributeError, struct.error) as fault:
                wrong = str(fault).split("\n", 1)[0]
            if wrong is None:
                extensions[name] = extension
            else:
                text = f"the extension of attribute `{name}` cannot be read: {wrong}"
                self.documents.warn("stale-extension", text, key)
        return extensions

    def _value_unless_stale(
        self, extension: AttributeExtension, stored: Any, expected: Any, key: str, name: str
    ) -> Constant | None:
        """Return the extension's constant; None (reported) if the stored JSON is not its plain form, `expected`."""
        has_plain_form = extension.at is None  # else the document would lack the attribute
        # stores of earlier releases have the digits of a double for a float
        readings = (stored, _in_single(stored)) if extension.value.type == "float" else (stored,)
        if has_plain_form and any(is_same_plain(expected, reading) for reading in readings):
            return extension.value
        text = "the attribute was changed by a program that left its type"
        self.documents.warn("stale-extension", text, key, _pointer(key, name))
        return None

    def _insert(
        self, attributes: list[Attribute], extensions: Mapping[str, AttributeExtension], document: Json, key: str
    ) -> tuple[Attribute, ...]:
        """Insert the attributes without a plain form at their positions."""
        others = [(item.at, name, item.value) for name, item in extensions.items() if item.at is not None]
        for at, name, value in sorted(others, key=lambda entry: entry[0]):
            free = (name not in document or name in SKIPPED) and all(attribute.name != name for attribute in attributes)
            if free and name_problem(name) is None:
                attributes.insert(
                    max(0, min(at, len(attributes))), Attribute(name=name, value=value, span=self.documents.span(key))
                )
        for name, item in extensions.items():
            if item.at is None and name not in document:
                text = f"attribute `{name}` was removed by a program that left its type"
                self.documents.warn("stale-extension", text, key)
        return tuple(attributes)


def _pointer(key: str, name: str) -> str:
    """Return the JSON pointer of an attribute in its document."""
    return ("/attributes" if key.endswith(".json") else "") + pointer(name)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _in_single(value: Any) -> Any:
    """Round numbers to float32: earlier versions wrote the shortest digits of a float32."""
    if isinstance(value, list):
        return [_in_single(element) for element in value]
    return single(value) if isinstance(value, float) else value


# ---- `_FillValue`, which may stand in the fill value of the array alone ---------------------------------------------
def _own_fill(type_name: str, fill: Constant) -> bytes | None:
    """Return a `_FillValue` that Zarr v2 documents cannot hold: of char, or a NaN's bits."""
    if fill.type != type_name or fill.count != 1 or not isinstance(fill.data, bytes):
        return None
    nan = type_name in ("float", "double") and math.isnan(fill.as_numbers()[0])
    return fill.data if type_name == "char" or nan else None


def with_fill(
    attributes: tuple[Attribute, ...],
    type_name: str,
    types: Types,
    described: ArrayMetadata,
    reader: NodeReader,
    *,
    restored: bool,
) -> tuple[tuple[Attribute, ...], bytes | None]:
    """Return attributes with a `_FillValue` of the variable's type, and it as `_own_fill`.

    An invalid one is omitted with a warning. `restored`: without the attribute, the
    array's fill value may stand for it.
    """
    place = None
    for number, attribute in enumerate(attributes):
        if attribute.name == "_FillValue":
            place = number
            break
    if place is None and not restored:
        return attributes, None
    if place is None:
        noted = reader.documents.store.fill_places.get(described.prefix)
        fill = None if noted is None else _find_noted(type_name, noted, described)
        if noted is not None and fill is None:
            text = "the document notes a `_FillValue` that the array's fill value does not state; it is left out"
            reader.documents.warn("stale-extension", text, described.key)
        elif noted is None and not reader.is_exact:
            stored, dtype, masking = described.fill, described.encoding.dtype, reader.find_masking(described)
            if types:
                fill = _restore(type_name, types, stored, dtype, masking=masking)
            else:
                fill = _find_fill(type_name, stored, dtype, masking)
            noted = 0
        if fill is None:
            return attributes, None
        attribute = Attribute(name="_FillValue", value=fill, span=reader.documents.span(described.key))
        return (*attributes[:noted], attribute, *attributes[noted:]), _own_fill(type_name, fill)
    attribute = attributes[place]
    value = described.attributes.get("_FillValue")
    fitting = attribute.value if attribute.value.type == type_name and attribute.value.count == 1 else None
    fitting = fitting or reader.own_fill(type_name, value) or fill_of(type_name, value, types)
    if fitting is None:
        text = f"`_FillValue` is not a value of type {type_name} and is left out"
        reader.documents.warn("stale-extension", text, reader.key(described.prefix), pointer("_FillValue"))
        return attributes[:place] + attributes[place + 1 :], None
    is_masked = type_name in ATOMIC and is_finite(fitting) and reader.find_masking(described)
    if is_masked and _find_fill(type_name, described.fill, described.encoding.dtype, "every") not in (None, fitting):
        text = (
            f"`fill_value` is not the `_FillValue` of the array, {show(value)}: xarray masks it, netCDF the attribute"
        )
        reader.documents.warn("masking-fill", text, described.key, pointer("fill_value"))
    json = find_json(fitting, value) if _is_number(value) else None
    attribute = Attribute(name=attribute.name, value=fitting, json=json, span=attribute.span)
    return (*attributes[:place], attribute, *attributes[place + 1 :]), _own_fill(type_name, fitting)


def fill_of(type_name: str, value: object, types: Types) -> Constant | None:
    """Return one value of a type from the JSON of an attribute; None if it is invalid."""
    if isinstance(value, list):
        if len(value) != 1:
            return None
        value = value[0]
    declared = types.get(type_name)
    if isinstance(declared, EnumType):  # booleans: xarray writes `true`, others 1
        number = numbers(declared.base, [int(value) if isinstance(value, bool) else value])
        return None if number is None else Constant(type=type_name, count=1, data=number.data)
    atomic = ATOMIC.get(type_name)
    if atomic is None:
        return None
    if atomic.is_integer or atomic.is_float:
        return numbers(type_name, [value])
    if not isinstance(value, str):
        return None
    text = encode(value)
    if type_name == "string":
        return Constant.strings([text])
    return Constant.text(text or b"\0") if len(text) <= 1 else None  # netCDF-C writes NUL as an empty text


def _find_noted(type_name: str, place: object, described: ArrayMetadata) -> Constant | None:
    """Return the fill value of an array of numbers as a `_FillValue`; None if it has none, or the place is invalid."""
    atomic = ATOMIC.get(type_name)
    number = atomic is not None and (atomic.is_integer or atomic.is_float)
    if not number or type(place) is not int or place < 0 or described.fill is None:
        return None
    return Constant(type=type_name, count=1, data=model_bytes(described.fill, described.encoding.dtype))


_ROUNDED_DEFAULT = Constant.numbers("double", [9.96921e36])
"""NetCDF's default, as libnetcdf writes it into pure Zarr: with six digits."""


@functools.lru_cache(maxsize=1024)
def _find_fill(type_name: str, fill: bytes | None, dtype: Descr, masking: Masking) -> Constant | None:
    """Return `_restore` of an atomic type, cached: the arrays of a store share few fill values."""
    return _restore(type_name, {}, fill, dtype, masking=masking)


def _restore(type_name: str, types: Types, fill: bytes | None, dtype: Descr, *, masking: Masking) -> Constant | None:
    """Return the `_FillValue` that plain attributes cannot hold: NaN, infinities, non-numbers; omit record defaults.

    `masking`: return that of any number too, `"stated"`: unless it is netCDF's default.
    """
    if masking and fill is not None and is_fixed(type_name, types) and not is_record(element_of(dtype)):
        fill_value = Constant(type=type_name, count=1, data=model_bytes(fill, dtype))
        is_default = fill_value in (default_fill(type_name, types), _ROUNDED_DEFAULT)
        return fill_value if masking == "every" or not is_default else None
    if fill is None or not fill.strip(b"\0"):
        return None
    if type_name == "string":
        return Constant.strings([fill if dtype == "|O" else fill.rstrip(b"\0")])
    element = element_of(dtype)
    if element not in (None, "float16") and not is_record(element):
        return None  # as of integers
    data = model_bytes(fill, dtype)
    atomic = ATOMIC.get(type_name)
    if atomic is not None and atomic.is_integer:
        return None
    fill_value = Constant(type=type_name, count=1, data=data)
    if atomic is not None and atomic.is_float and math.isfinite(fill_value.as_numbers()[0]):
        return None
    return fill_value if fill_value != default_fill(type_name, types) else None
