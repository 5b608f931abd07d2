"""Faults of netCDF-C with arrays: members of `.zarray`, types, fill values, codecs, chunks."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.values.parts import POINTER
from nczarr.operations.readers.documents import StoreNode
from nczarr.operations.readers.netcdf_c.view import (
    BOTH,
    DATASET,
    DTYPE,
    NOW,
    RANGES,
    NetcdfView,
    hidden,
    integers,
    short,
)
from nczarr.operations.readers.rule import FindingPlace, Rules

RULES = Rules(NOW)

CODECS = frozenset({"zlib", "shuffle", "zstd", "bz2", "blosc", "szip", "fletcher32"})
"""Codecs of a build with all plugins."""

_SPECIAL = re.compile(r"-?(?:nan|infinity)f?", re.IGNORECASE)


def _described(view: NetcdfView) -> Iterator[StoreNode]:
    """Return the arrays whose document is an object."""
    for _, array in view.arrays:
        if array.document is not None and isinstance(array.document.value, dict):
            yield array


def kind(array: StoreNode) -> str | None:
    """Return the type of an array without byte order, such as `i4`; None if the library does not know it."""
    dtype = array.meta.get("dtype")
    return dtype.lstrip("<>|") if isinstance(dtype, str) and DTYPE.fullmatch(dtype) else None


@RULES.add(
    "missing-member",
    DATASET,
    "write all members: `zarr_format`, `shape`, `dtype`, `chunks`, `fill_value`, `order`",
    seen=BOTH,
)
def missing(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find missing members, which the library does not check."""
    does = {"zarr_format": "crashes", "order": "crashes", "chunks": "reads wrong values"}
    for array in _described(view):
        for name in ("zarr_format", "shape", "dtype", "chunks", "order"):
            if name not in array.meta or (name == "order" and array.meta[name] is None):
                yield FindingPlace(array.key, "", f"array `{array.path}` has no `{name}`", does=does.get(name, ""))


@RULES.add("bad-shape", DATASET, "write a list of lengths")
def shapes(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find invalid shapes."""
    for array in _described(view):
        if "shape" not in array.meta:
            continue
        shape = integers(array.meta["shape"])
        if shape is None or any(length < 0 for length in shape):
            yield FindingPlace(array.key, "/shape", f"the shape of `{array.path}` is not a list of lengths")


@RULES.add("bad-chunks", DATASET, "write one length above 0 for each axis")
def chunks(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find chunks that do not fit the shape."""
    for array in _described(view):
        lengths, shape = integers(array.meta.get("chunks", [])), integers(array.meta.get("shape"))
        if "chunks" not in array.meta:
            continue
        if lengths is None or any(length <= 0 for length in lengths):
            yield FindingPlace(array.key, "/chunks", f"the chunks of `{array.path}` are not a list of lengths above 0")
        elif shape is not None and len(lengths) < len(shape):
            text = f"`{array.path}` has {len(lengths)} chunk lengths for {len(shape)} axes"
            yield FindingPlace(array.key, "/chunks", text, does="reads wrong values")


@RULES.add(
    "column-order",
    "reads the values in the wrong order",
    'write `"order": "C"`, and the values in this order',
    seen=BOTH,
)
def column_order(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find chunks in Fortran order."""
    for array in _described(view):
        lengths = integers(array.meta.get("chunks")) or []
        if array.meta.get("order") == "F" and sum(length > 1 for length in lengths) > 1:
            yield FindingPlace(array.key, "/order", f"the chunks of `{array.path}` are in column-major order")


@RULES.add("empty-filters", "crashes", 'write `"filters": null`', seen=BOTH)
def empty_filters(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find empty filter lists."""
    for array in _described(view):
        if array.meta.get("filters") == []:
            yield FindingPlace(array.key, "/filters", f"`{array.path}` has an empty list of filters")


def _codecs(array: StoreNode) -> Iterator[tuple[str, Any]]:
    compressor, filters = array.meta.get("compressor"), array.meta.get("filters")
    if compressor is not None:
        yield "/compressor", compressor
    if isinstance(filters, list):
        for place, codec in enumerate(filters):
            yield f"/filters/{place}", codec
    elif filters is not None:
        yield "/filters", None


@RULES.add("nameless-codec", "refuses the whole dataset (-136)", "write the codec's `id`")
def nameless_codecs(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find codecs without an `id`."""
    for array in _described(view):
        for pointer, codec in _codecs(array):
            if not (isinstance(codec, dict) and isinstance(codec.get("id"), str)):
                yield FindingPlace(array.key, pointer, f"a codec of `{array.path}` has no `id`")


@RULES.add(
    "unread-codec",
    "lists the variable and cannot read its data (-136)",
    "write zlib, zstd, bz2, blosc, shuffle, fletcher32",
    seen=BOTH,
)
def unknown_codecs(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find codecs without a plugin."""
    for array in _described(view):
        for pointer, codec in _codecs(array):
            name = codec.get("id") if isinstance(codec, dict) else None
            if isinstance(name, str) and name not in CODECS and kind(array) is not None:
                text = f"`{array.path}` is encoded with `{name}`"
                yield FindingPlace(array.key, f"{pointer}/id", text)


@RULES.add(
    "shuffled-text",
    "unshuffles with item size 8, regardless of the document, and scrambles the strings",
    "omit the shuffle, which does not help for strings: `nczarr convert SRC DST --to nczarr`",
)
def shuffled_texts(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find texts shuffled with an item size other than the library's pointer size."""
    for array in _described(view):
        kind_name, lengths = kind(array), integers(array.meta.get("chunks"))
        if (
            kind_name is None
            or kind_name[0] != "S"
            or lengths is None
            or (view.nczarr and array.meta["dtype"] == ">S1")
        ):
            continue
        size = math.prod(lengths) * int(kind_name[1:])
        for pointer, codec in _codecs(array):
            if isinstance(codec, dict) and codec.get("id") == "shuffle":
                by = codec.get("elementsize")
                if isinstance(by, int) and by > 0 and not _undone(by, size):  # 0 is what the library writes itself
                    text = f"the strings of `{array.path}` are shuffled by {by} byte{'s' * (by != 1)}"
                    yield FindingPlace(array.key, pointer, text)


def _undone(by: int, size: int) -> bool:
    """Return whether the library reverts a shuffle of `size` bytes: equal item size, or nothing is moved."""
    return by == POINTER or all(width == 1 or size // width < 2 for width in (by, POINTER))


@RULES.add("unknown-dtype", DATASET, "write a known type, or do not list the array in `_nczarr_group`", seen=BOTH)
def dtypes(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find unknown dtypes."""
    for array in _described(view):
        dtype = array.meta.get("dtype")
        if "dtype" in array.meta and not (isinstance(dtype, str) and DTYPE.fullmatch(dtype)):
            shown = f"`{dtype}`" if isinstance(dtype, str) else "a record"
            yield FindingPlace(array.key, "/dtype", f"the type of `{array.path}` is {shown}")


@RULES.add("unmarked-dtype", "reads the bytes of each value in reverse", "write `<` or `>` before the type", seen=BOTH)
def unmarked(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find wide dtypes without byte order."""
    for array in _described(view):
        kind_name = kind(array)
        if kind_name and kind_name[0] != "S" and kind_name[1:] != "1" and array.meta["dtype"][0] not in "<>":
            text = f"the type `{array.meta['dtype']}` of `{array.path}` has no byte order"
            yield FindingPlace(array.key, "/dtype", text, instead=f"`<{kind_name}` for values in little-endian order")


@RULES.add(
    "lettered-char", "reads strings of one letter each", "write `>S1` if only netCDF-C reads it: `--char netcdf`"
)
def letters(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find chars that the library reads as strings."""
    for array in _described(view):
        described, _, _ = hidden(array, "array")
        member = described.get("nczarr") if isinstance(described, dict) else None
        is_char = isinstance(member, dict) and member.get("type", "char") == "char"
        if view.nczarr and array.meta.get("dtype") == "|S1" and is_char:
            yield FindingPlace(array.key, "/dtype", f"`{array.path}` is char, and its type `|S1`")


@RULES.add(
    "dropped-scalar",
    "silently drops the variable; 4.10.2 shows it",
    'write the shape `[1]` with `"dimension_references": []` and `"scalar": 1`',
    seen=BOTH,
)
def dropped_scalars(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find scalars without an axis."""
    for array in _described(view):
        if array.meta.get("shape") == []:
            yield FindingPlace(array.key, "/shape", f"the shape of `{array.path}` is `[]`")


@RULES.add(
    "bad-fill",
    "aborts, or refuses the whole dataset (-60, -36)",
    'write a number of the type, `"NaN"`, `"Infinity"`, a string for `S`, or `null`',
)
def fills(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find fill values that the library cannot convert."""
    for array in _described(view):
        fill, kind_name = array.meta.get("fill_value"), kind(array)
        value = fill[0] if isinstance(fill, list) and fill else fill
        does = None if kind_name is None else _unconverted(value, kind_name, view, array.meta["dtype"])
        if does:
            text = f"the fill value of `{array.path}`, of type `{array.meta['dtype']}`, is {_json(fill)}"
            yield FindingPlace(array.key, "/fill_value", text, does=does)


def _unconverted(value: Any, kind_name: str, view: NetcdfView, dtype: str) -> str | None:
    """Return the effect of an unsuitable fill value, or None."""
    if value is None:
        return None
    if kind_name[0] == "S":
        if isinstance(value, str):
            return None
        is_char = view.nczarr and dtype == ">S1"
        if not is_char:
            return "refuses the whole dataset (-36)"
        return None if type(value) is int and 0 <= value <= 9 else "reads only the first letter"
    if isinstance(value, str):
        return None if kind_name[0] == "f" and _SPECIAL.fullmatch(value) else "aborts"
    if isinstance(value, dict | list):
        return "reads wrong values"
    finite = not isinstance(value, float) or math.isfinite(value)
    outside = kind_name in RANGES and finite and not RANGES[kind_name][0] <= value <= RANGES[kind_name][1]
    if outside and value > 0 and kind_name == "u8":
        return "reads the largest value"
    return "refuses the whole dataset (-60)" if outside else None


@RULES.add("rounded-fill", "truncates it to an integer", "write an integer")
def cut_fills(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find fill values that the library rounds."""
    for array in _described(view):
        value, kind_name = array.meta.get("fill_value"), kind(array)
        if kind_name in RANGES and isinstance(value, float) and math.isfinite(value) and not value.is_integer():
            yield FindingPlace(
                array.key, "/fill_value", f"the fill value of `{array.path}`, an integer, is {_json(value)}"
            )


@RULES.add(
    "unequal-fills",
    "shows the attribute, and reads `fill_value` where chunks are missing",
    "write the same value in both places",
)
def two_fills(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find a `_FillValue` that differs from the fill of missing chunks."""
    for array in _described(view):
        fill_attribute, fill, kind_name = array.attrs.get("_FillValue"), array.meta.get("fill_value"), kind(array)
        fill_attribute = (
            fill_attribute[0] if isinstance(fill_attribute, list) and len(fill_attribute) == 1 else fill_attribute
        )
        if kind_name is None or kind_name[0] == "S" or isinstance(fill_attribute, bool | dict | list | None):
            continue
        if not _same(fill_attribute, fill) and _misses_chunks(view, array):
            text = f"`_FillValue` of `{array.path}` is {_json(fill_attribute)}"
            text += f", but `fill_value` of its array is {_json(fill)}"
            does = "reads 0 where chunks are missing" if fill is None else ""
            yield FindingPlace(array.attrs_key, "/_FillValue", text, does=does)


def _misses_chunks(view: NetcdfView, array: StoreNode) -> bool:
    """Return whether an array lacks chunks."""
    shape, lengths = integers(array.meta.get("shape")), integers(array.meta.get("chunks"))
    if view.documents.store.distant or shape is None or lengths is None:
        return False
    if len(lengths) < len(shape) or min(lengths, default=1) <= 0:
        return False
    expected = math.prod(-(-length // chunk) for length, chunk in zip(shape, lengths, strict=False))
    return sum(1 for _ in view.documents.chunks(array)) < expected


def _same(one: Any, other: Any) -> bool:
    try:
        first, second = float(one), float(other)
    except (TypeError, ValueError, OverflowError):
        return bool(one == other)
    return first == second or (math.isnan(first) and math.isnan(second)) or math.isclose(first, second, rel_tol=1e-5)


@RULES.add("odd-chunk", "fills the rest with zeros, not with the fill value", "write all bytes of the chunk")
def short_chunks(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find chunks with too few bytes."""
    for array in _described(view):
        kind_name = kind(array)
        if kind_name is not None:
            for key, length, expected in view.documents.odd_lengths(array, int(kind_name[1:])):
                if length < expected:
                    yield FindingPlace(
                        key,
                        "",
                        f"a chunk of `{array.path}` has {length} bytes, but chunks of its array have {expected}",
                    )
                    break


@RULES.add("odd-separator", "searches keys with `.`", "write `.` or `/`")
def separators(view: NetcdfView) -> Iterator[FindingPlace]:
    """Find unknown separators."""
    for array in _described(view):
        separator = array.meta.get("dimension_separator", ".")
        if separator not in (".", "/"):
            yield FindingPlace(
                array.key, "/dimension_separator", f"the separator of `{array.path}` is {_json(separator)}"
            )


def _json(value: Any) -> str:
    import json

    return f"`{short(json.dumps(value, ensure_ascii=False))}`"
