"""Faults of netCDF-C with arrays: members of `.zarray`, types, fill values, codecs, chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.values.parts import POINTER
from nczarr.operations.readers.documents import StoreNode, find_shape, integers
from nczarr.operations.readers.netcdf_c.view import BOTH, DATASET, NOW, RANGES, SPECIAL, NetcdfView, element, quoted
from nczarr.operations.readers.rule import Finding, faults

FAULTS = faults(
    NOW,
    ("missing-member", DATASET, "write all members: `zarr_format`, `shape`, `dtype`, `chunks`, `fill_value`, `order`",
     BOTH),
    ("bad-shape", DATASET, "write a list of lengths"),
    ("bad-chunks", DATASET, "write one length above 0 for each axis"),
    ("column-order", "reads the values in the wrong order", 'write `"order": "C"`, and the values in this order', BOTH),
    ("empty-filters", "crashes", 'write `"filters": null`', BOTH),
    ("nameless-codec", "refuses the whole dataset (-136)", "write the codec's `id`"),
    ("unread-codec", "lists the variable and cannot read its data (-136)",
     "write zlib, zstd, bz2, blosc, shuffle, fletcher32", BOTH),
    ("shuffled-text", "unshuffles with item size 8, regardless of the document, and scrambles the strings",
     "omit the shuffle, which does not help for strings: `nczarr convert SRC DST --to nczarr`"),
    ("unknown-dtype", DATASET, "write a known type, or do not list the array in `_nczarr_group`", BOTH),
    ("unmarked-dtype", "reads the bytes of each value in reverse", "write `<` or `>` before the type", BOTH),
    ("lettered-char", "reads strings of one letter each", "write `>S1` if only netCDF-C reads it: `--char netcdf`"),
    ("dropped-scalar", "silently drops the variable; 4.10.2 shows it",
     'write the shape `[1]` with `"dimension_references": []` and `"scalar": 1`', BOTH),
    ("bad-fill", "aborts, or refuses the whole dataset (-60, -36)",
     'write a number of the type, `"NaN"`, `"Infinity"`, a string for `S`, or `null`'),
    ("rounded-fill", "truncates it to an integer", "write an integer"),
    ("unequal-fills", "shows the attribute, and reads `fill_value` where chunks are missing",
     "write the same value in both places"),
    ("odd-chunk", "fills the rest with zeros, not with the fill value", "write all bytes of the chunk"),
    ("odd-separator", "searches keys with `.`", "write `.` or `/`"),
)  # fmt: skip

CODECS = frozenset({"zlib", "shuffle", "zstd", "bz2", "blosc", "szip", "fletcher32"})
"""Codecs of a build with all plugins."""

_MISSING = {"zarr_format": "crashes", "order": "crashes", "chunks": "reads wrong values"}
"""Effects of missing members, which the library does not check."""


def find_members(view: NetcdfView) -> Iterator[Finding]:
    """Find members of `.zarray` that are missing, or not of the form that the library expects."""
    for array in view.arrays:
        meta, path = array.meta, array.path
        for name in ("zarr_format", "shape", "dtype", "chunks", "order"):
            if name not in meta or (name == "order" and meta[name] is None):
                yield array.at("missing-member", "", f"array `{path}` has no `{name}`", does=_MISSING.get(name, ""))
        yield from find_shape(array)
        lengths = integers(meta.get("chunks", []))
        if lengths is None or any(length <= 0 for length in lengths):
            yield array.at("bad-chunks", "/chunks", f"the chunks of `{path}` are not a list of lengths above 0")
        elif "chunks" in meta and array.shape is not None and len(lengths) < len(array.shape):
            text = f"`{path}` has {len(lengths)} chunk lengths for {len(array.shape)} axes"
            yield array.at("bad-chunks", "/chunks", text, does="reads wrong values")
        if meta.get("order") == "F" and sum(length > 1 for length in lengths or ()) > 1:
            yield array.at("column-order", "/order", f"the chunks of `{path}` are in column-major order")
        if meta.get("shape") == []:
            yield array.at("dropped-scalar", "/shape", f"the shape of `{path}` is `[]`")
        separator = meta.get("dimension_separator", ".")
        if separator not in (".", "/"):
            yield array.at("odd-separator", "/dimension_separator", f"the separator of `{path}` is {quoted(separator)}")


def _codecs(array: StoreNode) -> Iterator[tuple[str, Any]]:
    compressor, filters = array.meta.get("compressor"), array.meta.get("filters")
    if compressor is not None:
        yield "/compressor", compressor
    if isinstance(filters, list):
        yield from ((f"/filters/{place}", codec) for place, codec in enumerate(filters))
    elif filters is not None:
        yield "/filters", None


def find_codecs(view: NetcdfView) -> Iterator[Finding]:
    """Find codecs that the library does not read, and texts whose shuffle it undoes wrongly."""
    for array in view.arrays:
        kind, lengths = element(array.meta.get("dtype")), integers(array.meta.get("chunks"))
        is_text = kind is not None and kind[0] == "S" and not (view.nczarr and array.meta["dtype"] == ">S1")
        if array.meta.get("filters") == []:
            yield array.at("empty-filters", "/filters", f"`{array.path}` has an empty list of filters")
        for pointer, codec in _codecs(array):
            name = codec.get("id") if isinstance(codec, dict) else None
            if not isinstance(name, str):
                yield array.at("nameless-codec", pointer, f"a codec of `{array.path}` has no `id`")
            elif name not in CODECS and kind is not None:
                yield array.at("unread-codec", f"{pointer}/id", f"`{array.path}` is encoded with `{name}`")
            elif name == "shuffle" and kind is not None and is_text and lengths is not None:
                by, size = codec.get("elementsize"), math.prod(lengths) * int(kind[1:])
                if isinstance(by, int) and by > 0 and not _is_undone(by, size):  # 0 is what the library writes itself
                    text = f"the strings of `{array.path}` are shuffled by {by} byte{'s' * (by != 1)}"
                    yield array.at("shuffled-text", pointer, text)


def _is_undone(by: int, size: int) -> bool:
    """Return whether the library reverts a shuffle of `size` bytes: equal item size, or nothing is moved."""
    return by == POINTER or all(width == 1 or size // width < 2 for width in (by, POINTER))


def find_types(view: NetcdfView) -> Iterator[Finding]:
    """Find types that the library does not know, or takes for others."""
    for array in view.arrays:
        dtype, path = array.meta.get("dtype"), array.path
        kind = element(dtype)
        if "dtype" in array.meta and kind is None:
            shown = f"`{dtype}`" if isinstance(dtype, str) else "a record"
            yield array.at("unknown-dtype", "/dtype", f"the type of `{path}` is {shown}")
        if kind is not None and dtype is not None and kind[0] != "S" and kind[1:] != "1" and dtype[0] not in "<>":
            text = f"the type `{dtype}` of `{path}` has no byte order"
            yield array.at("unmarked-dtype", "/dtype", text, instead=f"`<{kind}` for values in little-endian order")
        described, _, _ = array.hidden("array")
        member = described.get("nczarr") if isinstance(described, dict) else None
        is_char = isinstance(member, dict) and member.get("type", "char") == "char"
        if view.nczarr and dtype == "|S1" and is_char:
            yield array.at("lettered-char", "/dtype", f"`{path}` is char, and its type `|S1`")


def find_fills(view: NetcdfView) -> Iterator[Finding]:
    """Find fill values that the library converts to others, or that two places state differently."""
    for array in view.arrays:
        fill, dtype, path = array.meta.get("fill_value"), array.meta.get("dtype"), array.path
        kind = element(dtype)
        if kind is None:
            continue
        value = fill[0] if isinstance(fill, list) and fill else fill
        does = _effect(value, kind, is_char=view.nczarr and dtype == ">S1")
        if does:
            text = f"the fill value of `{path}`, of type `{dtype}`, is {quoted(fill)}"
            yield array.at("bad-fill", "/fill_value", text, does=does)
        if kind in RANGES and isinstance(fill, float) and math.isfinite(fill) and not fill.is_integer():
            yield array.at("rounded-fill", "/fill_value", f"the fill value of `{path}`, an integer, is {quoted(fill)}")
        other = array.attrs.get("_FillValue")
        other = other[0] if isinstance(other, list) and len(other) == 1 else other
        if kind[0] == "S" or isinstance(other, bool | dict | list | None):
            continue
        if not _is_same(other, fill) and _lacks_chunks(view, array):
            text = f"`_FillValue` of `{path}` is {quoted(other)}, but `fill_value` of its array is {quoted(fill)}"
            does = "reads 0 where chunks are missing" if fill is None else ""
            yield array.at_attribute("unequal-fills", "_FillValue", text, does=does)


def _effect(value: Any, kind: str, *, is_char: bool) -> str | None:
    """Return the effect of an unsuitable fill value, or None."""
    if value is None or (kind[0] == "S" and isinstance(value, str)):
        return None
    if kind[0] == "S":
        if not is_char:
            return "refuses the whole dataset (-36)"
        return None if type(value) is int and 0 <= value <= 9 else "reads only the first letter"
    if isinstance(value, str):
        return None if kind[0] == "f" and SPECIAL.fullmatch(value) else "aborts"
    if isinstance(value, dict | list):
        return "reads wrong values"
    finite = not isinstance(value, float) or math.isfinite(value)
    if kind not in RANGES or not finite or RANGES[kind][0] <= value <= RANGES[kind][1]:
        return None
    return "reads the largest value" if value > 0 and kind == "u8" else "refuses the whole dataset (-60)"


def _lacks_chunks(view: NetcdfView, array: StoreNode) -> bool:
    shape, lengths = array.shape, integers(array.meta.get("chunks"))
    if view.documents.store.distant or shape is None or lengths is None:
        return False
    if len(lengths) < len(shape) or min(lengths, default=1) <= 0:
        return False
    expected = math.prod(-(-length // chunk) for length, chunk in zip(shape, lengths, strict=False))
    return sum(1 for _ in view.documents.chunks(array)) < expected


def _is_same(one: Any, other: Any) -> bool:
    try:
        first, second = float(one), float(other)
    except (TypeError, ValueError, OverflowError):
        return bool(one == other)
    return first == second or (math.isnan(first) and math.isnan(second)) or math.isclose(first, second, rel_tol=1e-5)


def find_short_chunks(view: NetcdfView) -> Iterator[Finding]:
    """Find chunks with too few bytes."""
    for array in view.arrays:
        kind = element(array.meta.get("dtype"))
        if kind is not None:
            yield from view.documents.find_odd_chunk(array, int(kind[1:]), short=True)


FIND = (find_members, find_codecs, find_types, find_fills, find_short_chunks)
