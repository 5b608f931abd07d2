"""Faults of netCDF-C with arrays and dimensions: members of `.zarray`, types, fill values, codecs, chunks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.regions import grid_of
from nczarr.arrays.values.parts import POINTER
from nczarr.plugins.readers.documents import StoreNode, find_shape, integers, step
from nczarr.plugins.readers.netcdf_c.stores import (
    BOTH,
    DATASET,
    NOW,
    RANGES,
    SPECIAL,
    NetcdfView,
    OpenedGroup,
    element,
    quote,
)
from nczarr.plugins.readers.rule import Finding, faults

FAULTS = faults(
    NOW,
    ("missing-member", DATASET, "write all members: `zarr_format`, `shape`, `dtype`, `chunks`, `fill_value`, `order`",
     BOTH),
    ("bad-shape", DATASET, "write a list of lengths"),
    ("bad-chunks", DATASET, "write one length above 0 for each axis"),
    ("column-order", "reads the values in the wrong order", 'write `"order": "C"`, and the values in this order', BOTH),
    ("empty-filters", "crashes", 'write `"filters": null`', BOTH),
    ("nameless-codec", "refuses the whole dataset (-136); 4.9.3 crashes", "write the codec's `id`"),
    ("unread-codec", "lists the variable and cannot read its data (-136)",
     "write zlib, zstd, bz2, blosc, shuffle, fletcher32", BOTH),
    ("shuffled-text",
     "unshuffles with item size 8, regardless of the document, which scrambles strings; 4.9.3 reads none (-136)",
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
    ("bad-dimension", "refuses the whole dataset", 'write `"x": 3` or `"x": {"size": 3, "unlimited": 1}`'),
    ("boolean-unlimited", "treats it as a fixed dimension", 'write `"unlimited": 1`'),
    ("unmarked-scalar", "crashes", 'write `"scalar": 1` next to the references'),
    ("missing-references", "crashes", "write the name of a dimension for each axis", BOTH),
    ("surplus-references", "refuses the whole dataset (-63)", "write the name of a dimension for each axis", BOTH),
    ("unknown-reference", "crashes", "write the path of a dimension: group and name, nothing escaped", BOTH),
    ("sideways-reference", "crashes, or refuses the whole dataset (-125)", "write a dimension of an enclosing group",
     BOTH),
    ("unequal-lengths", "refuses the whole dataset (-63)", "write the same length of a dimension in every shape"),
    ("unnamed-dimension", "creates one dimension for all axes of the same length: `_Anonymous_Dim_3`",
     "write `_ARRAY_DIMENSIONS`"),
    ("missing-names", "crashes", "write one name for each axis in `_ARRAY_DIMENSIONS`", BOTH),
    ("surplus-names", "creates unused dimensions", "write one name for each axis in `_ARRAY_DIMENSIONS`"),
    ("illegal-name:dimension", "refuses the whole dataset (-125, -36)", "write a simple name"),
)  # fmt: skip

CODECS = frozenset({"zlib", "shuffle", "zstd", "bz2", "blosc", "szip", "fletcher32"})
"""Codecs of a build with all plugins."""

_REFUSED = "refuses the whole dataset (-137); 4.9.3 crashes"
_MISSING = {
    **dict.fromkeys(("zarr_format", "order"), "crashes"),
    **dict.fromkeys(("shape", "dtype"), _REFUSED),
    "chunks": "reads wrong values",
}
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
            yield array.at("odd-separator", "/dimension_separator", f"the separator of `{path}` is {quote(separator)}")


def _codecs(array: StoreNode) -> Iterator[tuple[str, Any]]:
    """Yield the pointer and value of each codec in `.zarray`; None for filters that are not a list."""
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
        described, _, _ = array.read_hidden("array")
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
        does = _effect_of_fill(value, kind, is_char=view.nczarr and dtype == ">S1")
        if does:
            text = f"the fill value of `{path}`, of type `{dtype}`, is {quote(fill)}"
            yield array.at("bad-fill", "/fill_value", text, does=does)
        if kind in RANGES and isinstance(fill, float) and math.isfinite(fill) and not fill.is_integer():
            yield array.at("rounded-fill", "/fill_value", f"the fill value of `{path}`, an integer, is {quote(fill)}")
        other = array.attrs.get("_FillValue")
        other = other[0] if isinstance(other, list) and len(other) == 1 else other
        if kind[0] == "S" or isinstance(other, bool | dict | list | None):
            continue
        if not _is_same(other, fill) and _lacks_chunks(view, array):
            text = f"`_FillValue` of `{path}` is {quote(other)}, but `fill_value` of its array is {quote(fill)}"
            does = "reads 0 where chunks are missing" if fill is None else ""
            yield array.at_attribute("unequal-fills", "_FillValue", text, does=does)


def _effect_of_fill(value: Any, kind: str, *, is_char: bool) -> str | None:
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
    """Return whether some chunks of an array are missing; False at URLs, where counting costs requests."""
    shape, lengths = array.shape, integers(array.meta.get("chunks"))
    if view.documents.store.distant or shape is None or lengths is None:
        return False
    if len(lengths) < len(shape) or min(lengths, default=1) <= 0:
        return False
    chunk_count = math.prod(grid_of(tuple(shape), tuple(lengths[: len(shape)])))
    return sum(1 for _ in view.documents.chunks(array)) < chunk_count


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


def _member(group: OpenedGroup) -> str:
    """Return the member name of a group's dimensions, which differs before 4.9.3."""
    return "dims" if "dims" in group.home and "dimensions" not in group.home else "dimensions"


def dimensions(group: OpenedGroup) -> dict[str, Any]:
    """Return the dimensions of a group as stored."""
    stored = group.home.get(_member(group))
    return stored if isinstance(stored, dict) else {}


def length(entry: Any) -> int | None:
    """Return the length of an entry, or None."""
    size = entry.get("size") if isinstance(entry, dict) else entry
    return size if type(size) is int and size >= 0 else None


def find_dimensions(view: NetcdfView) -> Iterator[Finding]:
    """Find dimensions without a length, with a wrong mark, and groups without dimensions."""
    for group in view.groups:
        member = _member(group)
        written = group.home.get(member)
        if group.home and not isinstance(written, dict):
            does = "crashes" if written is None else "refuses the whole dataset (-137)"
            where = "" if written is None else f"/{member}"
            yield group.at("bad-dimension", where, f"group `{group.path}` has no object `dimensions`", does=does)
        for name, entry in dimensions(group).items():
            where = f"/{member}/{step(name)}"
            if length(entry) is None:
                yield group.at("bad-dimension", where, f"dimension `{name}` has no length")
            if isinstance(entry, dict) and entry.get("unlimited") is True:
                text = f"`unlimited` of dimension `{name}` is `true`"
                yield group.at("boolean-unlimited", f"{where}/unlimited", text)


def _count_axes(rank: int) -> str:
    return "1 axis" if rank == 1 else f"{rank} axes"


class _Described(NamedTuple):
    """An array with its hidden attribute."""

    group: OpenedGroup
    array: StoreNode
    references: list[Any] | None
    """Its references to dimensions, if they are a list."""
    is_scalar: bool
    """True if it is marked as a scalar."""
    key: str
    """Key of the document with the references."""
    pointer: str
    """JSON pointer to the references."""

    @property
    def counted(self) -> str:
        """Number of references in words."""
        texts = sum(isinstance(reference, str) for reference in self.references or ())
        return "1 reference to a dimension" if texts == 1 else f"{texts} references to dimensions"

    def at(self, fault: str, what: str, *, axis: int | None = None, does: str = "") -> Finding:
        """Return a finding at the references, or at that of an axis."""
        return Finding(fault, self.key, self.pointer + ("" if axis is None else f"/{axis}"), what, does)


def _list_described(view: NetcdfView) -> Iterator[_Described]:
    """Yield every described array of a store that is NCZarr."""
    for group, array in view.placed if view.nczarr else ():
        members, key, pointer = array.read_hidden("array")
        if isinstance(members, dict):
            is_old = "dimrefs" in members and "dimension_references" not in members
            name = "dimrefs" if is_old else "dimension_references"
            references = members.get(name)
            references = references if isinstance(references, list) else None
            is_scalar = "scalar" in members or (view.older and members.get("storage") == "scalar")
            yield _Described(group, array, references, is_scalar, key, f"{pointer}/{name}")


def find_references(view: NetcdfView) -> Iterator[Finding]:
    """Find arrays with more or fewer references than axes."""
    for one in _list_described(view):
        array, references = one.array, one.references
        path, rank = array.path, None if array.shape is None else len(array.shape)
        are_texts = references is not None and all(isinstance(reference, str) for reference in references)
        if references == [] and array.meta.get("shape") == [1]:
            if not one.is_scalar:
                text = f"scalar `{path}` has the shape `[1]` and no `scalar` member"
                yield one.at("unmarked-scalar", text)
        elif rank and not one.is_scalar:
            if references is None:
                text = f"`{path}` has no `dimension_references`"
                yield Finding("missing-references", one.key, one.pointer.rpartition("/")[0], text)
            elif len(references) < rank or not are_texts:
                yield one.at("missing-references", f"`{path}` has {rank} axes, and {one.counted}")
        if references is not None and rank is not None and len(references) > rank and are_texts:
            yield one.at("surplus-references", f"`{path}` has {_count_axes(rank)}, and {one.counted}")


def find_targets(view: NetcdfView) -> Iterator[Finding]:
    """Find references to dimensions that are missing, not visible, or of another length."""
    groups = {group.path: group for group in view.groups}
    order = list(groups)
    for one in _list_described(view):
        path, shape = one.array.path, one.array.shape
        for axis, reference in enumerate(one.references or ()):
            if not isinstance(reference, str):
                continue
            home, _, name = reference.rpartition("/")
            place = groups.get("/" + home.strip("/"))
            if place is None:
                text = f"`{path}` refers to `{reference}`, a group that does not exist"
                yield one.at("unknown-reference", text, axis=axis, does="refuses the whole dataset (-125)")
                continue
            if name not in dimensions(place):
                if isinstance(place.home.get(_member(place)), dict):
                    text = f"`{path}` refers to `{reference}`, a dimension that does not exist"
                    yield one.at("unknown-reference", text, axis=axis)
                continue
            inside, around = one.group.path.rstrip("/") + "/", place.path.rstrip("/") + "/"
            if not inside.startswith(around):
                does = "reads it, but netCDF4-python refuses the whole dataset"
                if place.path.startswith(inside):
                    does = "refuses the whole dataset (-125)"
                elif order.index(place.path) > order.index(one.group.path):
                    does = "crashes"
                text = f"`{path}` refers to `{reference}`, which no enclosing group declares"
                yield one.at("sideways-reference", text, axis=axis, does=does)
            size = length(dimensions(place)[name])
            if shape is not None and axis < len(shape) and size is not None and size != shape[axis] >= 0:
                text = f"axis {axis} of `{path}` has the length {shape[axis]}, but its dimension `{reference}` {size}"
                yield one.array.at("unequal-lengths", f"/shape/{axis}", text)


def find_names(view: NetcdfView) -> Iterator[Finding]:
    """Find faulty names of dimensions in a store that is not NCZarr."""
    sizes: dict[tuple[str, str], tuple[int, str]] = {}
    for group, array in () if view.nczarr else view.placed:
        axis_names, shape, path = array.attrs.get("_ARRAY_DIMENSIONS"), array.shape, array.path
        if not shape:
            continue
        if not isinstance(axis_names, list) or not axis_names:
            text = f"`{path}` does not name its dimensions"
            yield Finding("unnamed-dimension", array.attrs_key, "", text)
            continue
        fit = all(isinstance(axis_name, str | int | float) for axis_name in axis_names)
        if len(axis_names) < len(shape) or not fit:
            texts = sum(isinstance(axis_name, str) for axis_name in axis_names)
            verb = "has a name" if texts == 1 else "have names"
            text = f"`{path}` has {_count_axes(len(shape))}, and {texts} of them {verb}"
            yield array.at_attribute("missing-names", "_ARRAY_DIMENSIONS", text)
        if len(axis_names) > len(shape):
            text = f"`{path}` has {_count_axes(len(shape))}, but names {len(axis_names)}"
            yield array.at_attribute("surplus-names", "_ARRAY_DIMENSIONS", text)
        for axis, name in enumerate(axis_names):
            if isinstance(name, str) and (not name or "/" in name):
                does = f"refuses the whole dataset ({-125 if name else -36})"
                where, text = f"_ARRAY_DIMENSIONS/{axis}", f"`{name}` is not a dimension name"
                yield array.at_attribute("illegal-name:dimension", where, text, does=does)
        for axis, (name, size) in enumerate(zip(axis_names, shape, strict=False)):
            before, other = sizes.setdefault((group.path, name), (size, path)) if isinstance(name, str) else (size, "")
            if before != size:
                text = f"dimension `{name}` has the length {size} in `{path}` and {before} in `{other}`"
                yield array.at_attribute("unequal-lengths", f"_ARRAY_DIMENSIONS/{axis}", text)


FIND = (
    find_members, find_codecs, find_types, find_fills, find_short_chunks,
    find_dimensions, find_references, find_targets, find_names,
)  # fmt: skip
