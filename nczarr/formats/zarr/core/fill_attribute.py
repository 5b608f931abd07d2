"""The attribute `_FillValue` of a variable, which may stand in the fill value of its array alone."""

from __future__ import annotations

import functools
import math

from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.elements import element_of, is_record, model_bytes
from nczarr.arrays.values.parts import Types, is_fixed
from nczarr.ast import ATOMIC, Attribute, Constant
from nczarr.ast.plain import encode
from nczarr.check.check_types import default_fill
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata
from nczarr.formats.zarr.core.attributes import numbers
from nczarr.formats.zarr.core.reader import NodeReader
from nczarr.syntax.json.positions import pointer


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
            of, masking = (described.fill, described.encoding.dtype), reader.masking_fill
            fill, noted = (
                _restore(type_name, types, *of, masking=masking) if types else _plain(type_name, *of, masking),
                0,
            )
        if fill is None:
            return attributes, None
        attribute = Attribute(name="_FillValue", value=fill, span=reader.documents.span(described.key))
        return (*attributes[:noted], attribute, *attributes[noted:]), _own_fill(type_name, fill)
    attribute = attributes[place]
    value = described.attributes.get("_FillValue")
    fitting = attribute.value if attribute.value.type == type_name and attribute.value.count == 1 else None
    fitting = fitting or reader.own_fill(type_name, value) or fill_of(type_name, value)
    if fitting is None:
        text = f"`_FillValue` is not a value of type {type_name} and is left out"
        reader.documents.warn("stale-extension", text, reader.key(described.prefix), pointer("_FillValue"))
        return attributes[:place] + attributes[place + 1 :], None
    attribute = attribute.model_copy(update={"value": fitting})
    return (*attributes[:place], attribute, *attributes[place + 1 :]), _own_fill(type_name, fitting)


def fill_of(type_name: str, value: object) -> Constant | None:
    """Return one value of a type from the JSON of an attribute; None if it is invalid."""
    if isinstance(value, list):
        if len(value) != 1:
            return None
        value = value[0]
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
    return Constant.text(text or b"\0") if len(text) <= 1 else None


def _find_noted(type_name: str, place: object, described: ArrayMetadata) -> Constant | None:
    """Return the fill value of an array of numbers as a `_FillValue`; None if it has none, or the place is invalid."""
    atomic = ATOMIC.get(type_name)
    number = atomic is not None and (atomic.is_integer or atomic.is_float)
    if not number or type(place) is not int or place < 0 or described.fill is None:
        return None
    return Constant(type=type_name, count=1, data=model_bytes(described.fill, described.encoding.dtype))


@functools.lru_cache(maxsize=1024)
def _plain(type_name: str, fill: bytes | None, dtype: Descr, masking: bool) -> Constant | None:
    """Return `_restore` of an atomic type, cached: the arrays of a store share few fill values."""
    return _restore(type_name, {}, fill, dtype, masking=masking)


def _restore(type_name: str, types: Types, fill: bytes | None, dtype: Descr, *, masking: bool) -> Constant | None:
    """Return the `_FillValue` that plain attributes cannot hold: NaN, infinities, non-numbers; omit record defaults.

    `masking`: return that of any number too, unless it is netCDF's default.
    """
    if masking and fill is not None and is_fixed(type_name, types) and not is_record(element_of(dtype)):
        fill_value = Constant(type=type_name, count=1, data=model_bytes(fill, dtype))
        return fill_value if fill_value != default_fill(type_name, types) else None
    if fill is None or not fill.strip(b"\0"):
        return None
    if type_name == "string":
        return Constant.strings([fill if dtype == "|O" else fill.rstrip(b"\0")])
    element = element_of(dtype)
    if element not in (None, "float16") and not is_record(element):
        return None  # as of integers
    fill = model_bytes(fill, dtype)
    atomic = ATOMIC.get(type_name)
    if atomic is not None and atomic.is_integer:
        return None
    fill_value = Constant(type=type_name, count=1, data=fill)
    if atomic is not None and atomic.is_float and math.isfinite(fill_value.as_numbers()[0]):
        return None
    return fill_value if fill_value != default_fill(type_name, types) else None
