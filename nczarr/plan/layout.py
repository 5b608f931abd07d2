"""The target layout of every part of every variable, for stores of chunked arrays.

Comes in: a checked dataset, the target's `Arrays`, the run's options. Goes out: each variable's storage with the
options worked in, and one `Target` a part.
"""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING, NamedTuple

from nczarr.arrays.blocks import grid_of
from nczarr.arrays.codecs import POINTER, expressible, nearest, portable, working
from nczarr.arrays.elements import STORED, is_element, stored_bytes
from nczarr.arrays.part_fills import fill_parts, is_complete, patterns
from nczarr.arrays.parts import Part, descr, parts, size
from nczarr.arrays.source import ArraySource, Descr, Layout, Order, Parts, fill_of
from nczarr.arrays.source import itemsize as width
from nczarr.ast import Storage, Variable
from nczarr.ast.plain import is_finite
from nczarr.ast.storage import CODEC_IDS
from nczarr.capabilities import Arrays
from nczarr.check.checked import Checked
from nczarr.options import Options
from nczarr.plan.chunk_lengths import default_chunks, fits
from nczarr.plan.plans import Target
from nczarr.plan.shards import ShardRequest, can_shard, inner_chunks, problem, shard_shape
from nczarr.plan.string_lengths import Strings, survey

if TYPE_CHECKING:
    from nczarr.plan.reference_layout import AsStored

WHOLE = 16 << 20
"""Arrays without a fill value are written whole up to this size; beyond it, only what is occupied."""

FIXED_STRING = 256
"""The longest strings that lie in a fixed-length array."""


def lay(
    path: str,
    variable: Variable,
    checked: Checked,
    arrays: Arrays,
    options: Options,
    storage: Storage,
    shards: ShardRequest = "none",
) -> tuple[dict[str, Target], Parts]:
    """The targets of a variable's parts in the order of `parts`, and their sources.

    Lengths of `shards` are those of the whole variable; parts of other shapes have none then.
    """
    shape = checked.shapes[path]
    fill = checked.fills[path]
    sources = checked.parts.get(path)
    if sources is None:
        sources = fill_parts(fill, variable.type, shape, checked.types)
    # plain JSON attributes cannot hold a `_FillValue` that is NaN or infinite: it stands as the fill value alone
    own_fills = [each.value for each in variable.attributes if each.name == "_FillValue"]
    no_fill = storage.no_fill and all(map(is_finite, own_fills))
    elements = dict(patterns(fill, variable.type, checked.types))
    targets: dict[str, Target] = {}
    cut: dict[str, ArraySource] = {}
    for part in parts(variable.type, shape, checked.types):
        source = sources.get(part.path)
        pad = elements[part.path][0]
        own = fill_of(source) if source is not None else None
        if own is not None:
            pad = own
        known = source.layout.shape if source is not None else tuple(length or 0 for length in part.shape)
        known_fill = fill is not None or part.path != "" or (arrays.by_reference and own is not None)
        has_fill = known_fill and not (no_fill and source is not None)
        one = _One(part, source, known, pad, has_fill, _declared_length(variable))
        made, lying = _target(one, variable, checked, arrays, options, storage, shape, shards)
        targets[part.path] = made._replace(separator=_separator(path, checked, arrays, options))
        if lying is not None:
            cut[part.path] = lying
    return targets, {**sources, **cut}


class _One(NamedTuple):
    """One part with what is known of it: its source, shape, the element that stands in unwritten cells.

    `has_fill`: that element may be declared as a fill value; `declared_length`: `_nczarr_maxstrlen` of the variable.
    """

    part: Part
    source: ArraySource | None
    shape: tuple[int, ...]
    pad: bytes
    has_fill: bool
    declared_length: int | None


def _target(
    one: _One,
    variable: Variable,
    checked: Checked,
    arrays: Arrays,
    options: Options,
    storage: Storage,
    shape: tuple[int, ...],
    request: ShardRequest,
) -> tuple[Target, ArraySource | None]:
    """How a part will lie, and its source if that is cut for it."""
    type_name = one.part.type
    strings = Strings()
    dtype: Descr
    if type_name == "string":
        strings = survey(one.source, one.pad)
        length = _fixed_length(strings, one.declared_length) if arrays.fixed_strings else None
        dtype = "|O" if length is None else f"|S{length}"
        itemsize = length or 16
    else:
        dtype = descr(type_name, checked.types)
        itemsize = size(type_name, checked.types)
        if type_name == "char" and options.char_netcdf and arrays.netcdf_char:
            dtype = ">S1"
        element = storage.element if arrays.elements and one.part.path == "" else None
        if element is not None and is_element(one.pad, STORED[element]):
            dtype = STORED[element]
        if isinstance(dtype, str) and (storage.endian == "big" or _lies_big(one.source, storage)):
            dtype = dtype.replace("<", ">")  # records keep little-endian fields
    whole = one.shape == shape and one.part.shape == shape
    found: AsStored | str | None = None
    if arrays.by_reference and one.source is not None:
        from nczarr.plan.reference_layout import AsStored, as_stored  # few targets hold references

        found = as_stored(one.source, dtype, itemsize, arrays, storage if whole else variable.storage, variable.storage)
        if isinstance(found, AsStored):
            return _as_stored(one, found, strings, arrays), found.source
    if not can_shard(dtype) or not (whole or isinstance(request, str)):
        request = "none"
    chunks = storage.chunks if whole else None
    if chunks is None or not (fits(chunks, itemsize) or _has_chunks(one.source, chunks)):
        chunks = inner_chunks(request, default_chunks(one.shape, itemsize), one.shape)
    sound = problem(request, chunks, one.shape, itemsize) is None
    shards = shard_shape(request, chunks, one.shape, itemsize) if sound else None
    codecs = nearest(storage.codecs, arrays.codecs)
    codecs = portable(codecs, itemsize) if expressible(codecs, arrays.codecs) else ()
    codecs = working(codecs, width(dtype))
    if dtype == "|O" or (type_name == "string" and width(dtype) != POINTER):
        codecs = tuple(codec for codec in codecs if codec.id != CODEC_IDS["shuffle"])
    if arrays.undefined_fill and storage.no_fill and _is_undefined(one, dtype, itemsize):
        fill, sparse = None, False
    else:
        fill, sparse = (
            _needed_fill(one, dtype, itemsize) if arrays.fill_needed else _fill(one, dtype, itemsize, strings)
        )
        if fill is None and arrays.by_reference and _shows_fill(one, dtype):
            fill, sparse = _needed_fill(one, dtype, itemsize)
    if sparse and one.part.path:
        sparse = not _all_there(one, chunks, itemsize)
    layout = Layout(dtype, one.shape, chunks, codecs, fill, shards, _order(one, dtype, arrays, options))
    target = Target(layout, one.pad, sparse, strings.nil, strings.utf8)
    if one.source is None or not isinstance(found, str):
        return target, None
    held = strings.size if dtype == "|O" else _decoded_size(one.source, target) * itemsize
    return target._replace(apart=(held, found)), None


def _all_there(one: _One, chunks: tuple[int, ...], itemsize: int) -> bool:
    """Whether every chunk of a part of a ragged variable is written, be it nothing but zeros: then a document can say
    where its values are (awkward/sidecar.py). Content is as long as its lists; counts may be those of cells that
    nobody ever wrote, so that of many only those are written that hold anything.
    """
    if None in one.part.shape or math.prod(one.shape) * itemsize <= WHOLE:
        return True
    written = 0 if one.source is None else sum(1 for _ in one.source.occupied(chunks))
    return written == math.prod(grid_of(one.shape, chunks))


def _as_stored(one: _One, found: AsStored, strings: Strings, arrays: Arrays) -> Target:
    """The target of a part whose chunks are referred to. What was never written has no chunk, so whatever fill there is
    has to be declared.
    """
    size = width(found.dtype)
    fill = None if arrays.fill_needed else _fill(one, found.dtype, size, strings)[0]
    wanted = arrays.fill_needed or (one.has_fill and one.pad.strip(b"\0"))
    if fill is None and (wanted or _shows_fill(one, found.dtype)):
        fill = _needed_fill(one, found.dtype, size)[0]
    layout = Layout(found.dtype, one.shape, found.chunks, found.codecs, fill)
    return Target(layout, one.pad, True, strings.nil, strings.utf8)


def _shows_fill(one: _One, dtype: Descr) -> bool:
    """Whether readers need the fill value of an array of numbers: chunks that are not there mean that value."""
    number = isinstance(dtype, str) and dtype[1] in "iufbc"
    source = one.source
    return number and one.part.path == "" and source is not None and not source.undefined and not is_complete(source)


def _decoded_size(source: ArraySource, target: Target) -> int:
    """Elements that a target has to hold, about."""
    layout = target.layout
    if not target.sparse:
        return math.prod(layout.shape)
    chunks = sum(1 for _ in source.occupied(layout.chunks))
    return min(math.prod(layout.shape), chunks * math.prod(layout.chunks))


def _lies_big(source: ArraySource | None, storage: Storage) -> bool:
    """Whether a source has plain big-endian elements that nobody wants otherwise, as classic files have: a target
    that keeps them so takes them as they are.
    """
    stored = None if source is None else source.stored
    return (
        stored is not None
        and storage.endian is None
        and not stored.codecs
        and isinstance(stored.dtype, str)
        and stored.dtype[0] == ">"
    )


def _has_chunks(source: ArraySource | None, chunks: tuple[int, ...]) -> bool:
    """Whether a source lies in these chunks itself: however large they are, they may be moved as they are."""
    stored = None if source is None else source.stored
    return stored is not None and stored.chunks == chunks


def _fixed_length(strings: Strings, declared: int | None) -> int | None:
    """The n of `|Sn` that holds all of these strings exactly, None if there is none.

    An attribute `_nczarr_maxstrlen` overrules the dtype in libnetcdf 4.10.1: then n is that, or there is none.
    """
    length = max(1, strings.longest) if declared is None else declared
    exact = strings.utf8 and not strings.nul and not strings.nil
    return length if exact and max(1, strings.longest) <= length <= FIXED_STRING else None


def _declared_length(variable: Variable) -> int | None:
    for attribute in variable.attributes:
        if attribute.name == "_nczarr_maxstrlen" and attribute.value.type == "int" and attribute.value.count:
            return int(attribute.value.as_numbers()[0])
    return None


def _is_undefined(one: _One, dtype: Descr, itemsize: int) -> bool:
    """Whether the document may say that the fill value is undefined: the variable has none, and all its cells are
    written.
    """
    small = math.prod(one.shape) * itemsize <= WHOLE
    number = isinstance(dtype, str) and dtype[1] in "biufc"
    return number and not one.has_fill and one.source is not None and small and not one.pad.strip(b"\0")


def _separator(path: str, checked: Checked, arrays: Arrays, options: Options) -> str | None:
    """What stands between the indices of a chunk's key, if not what the format has for all: as asked for, else as in
    the source.
    """
    if not arrays.separators:
        return None
    foreign = checked.foreign.get(path)
    return options.separator or (None if foreign is None else foreign.separator)


def _order(one: _One, dtype: Descr, arrays: Arrays, options: Options) -> Order:
    """In which order elements lie within chunks: as asked for, else as in the source; texts have no other than C."""
    if not arrays.orders or dtype == "|O":
        return "C"
    return options.order or (one.source.layout.order if one.source is not None else "C")


def _needed_fill(one: _One, dtype: Descr, itemsize: int) -> tuple[bytes | None, bool]:
    """The fill value in the dtype's bytes, where every array has one: cells that were never written need no chunk."""
    if dtype == "|O":
        return one.pad, True
    return stored_bytes(one.pad.ljust(itemsize, b"\0"), dtype), True


def _fill(one: _One, dtype: Descr, itemsize: int, strings: Strings) -> tuple[bytes | None, bool]:
    """The fill value that the target declares, in its dtype's bytes, and whether chunks of fill may be missing.

    A missing chunk of an array without fill value reads as zeros or empty texts everywhere, so a fill value of
    zeros is declared only for numbers of the dataset's own: xarray would mask the zeros of `counts` and empty
    texts, and cannot open a group in which a record has one; and of fixed texts tensorstore wants base64 where the
    netCDF library wants the text. Any other fill of texts, opaques and records is written out, or, where the array is
    too large for that, declared in base64: such a text the library does not get to see.
    """
    small = math.prod(one.shape) * itemsize <= WHOLE
    zero = not one.pad.strip(b"\0")
    if dtype == "|O" and not zero and strings.utf8:
        return one.pad, True
    if dtype == ">S1":  # for the netCDF library alone
        return (one.pad, True) if one.pad.isascii() and one.has_fill else (None, not small)
    number = isinstance(dtype, str) and dtype[1] in "iufbc"
    if zero and not (number and one.part.path == ""):
        # All chunks of char arrays are written. So are those of records, because zarr-python cannot make up
        # a missing chunk if a field is raw bytes, and of texts of any length, on which libraries disagree.
        whole = not isinstance(dtype, str) or (one.source is not None and dtype in ("|S1", "|O"))
        return None, not (whole and small)
    if not number:
        if small or dtype == "|O":
            return None, not small
        return one.pad.ljust(itemsize, b"\0"), True
    if not one.has_fill and small:
        return None, one.source is None and zero
    if str(dtype)[0] == ">":  # libnetcdf 4.10.1 forgets to swap the fill value of a missing chunk
        return stored_bytes(one.pad, dtype), not small
    # of a NaN the documents of Zarr v2 say only that it is one
    fill = stored_bytes(one.pad, dtype)
    return fill, not (small and _is_odd_nan(fill, str(dtype)))


def _is_odd_nan(fill: bytes, dtype: str) -> bool:
    """Whether a little-endian number is a NaN with other bits than the usual one."""
    code = {"f2": "<e", "f4": "<f", "f8": "<d"}.get(dtype[1:])
    if code is None:
        return False
    return math.isnan(struct.unpack(code, fill)[0]) and fill != struct.pack(code, math.nan)
