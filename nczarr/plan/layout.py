"""Target layout of every part of every variable, for stores of chunked arrays."""

from __future__ import annotations

import math

from nczarr.arrays.codecs import table
from nczarr.arrays.codecs.chain import drop_no_ops, expressible, is_fast, nearest, portable
from nczarr.arrays.regions import count_blocks, grid_of
from nczarr.arrays.sources.memory import fill_parts, is_complete, patterns
from nczarr.arrays.sources.source import ArraySource, Descr, Layout, Order, Parts, fill_of, is_number
from nczarr.arrays.sources.source import itemsize as width
from nczarr.arrays.values.elements import (
    choose_kept_dtype,
    convert_to_stored,
    find_element,
    is_element,
    is_nat,
    is_odd_nan,
    is_record,
    is_time,
    is_utf32,
    time_attributes,
)
from nczarr.arrays.values.parts import POINTER, Part, Types, descr, parts, size
from nczarr.ast import Dataset, Storage, Variable
from nczarr.ast.dataset import SHUFFLE, Element
from nczarr.ast.plain_json import is_finite
from nczarr.ast.rectilinear import volume
from nczarr.names.records import NamedTuple
from nczarr.options import LayoutOptions, Options
from nczarr.plan.chunk_lengths import (
    ShardRequest,
    Strings,
    can_shard,
    default_chunks,
    fits,
    inner_chunks,
    problem,
    shard_shape,
    survey,
)
from nczarr.plan.plans import PartTarget
from nczarr.registry import Arrays
from nczarr.semantics.checked import Checked


def find_kept_element(fqn: str, variable: Variable, checked: Checked) -> Element | None:
    """Return the element type in which stores of elements keep a variable; None for a type of the model.

    libnetcdf fills enums with the default of their base, which is no boolean: an
    enum of FALSE and TRUE with such cells stays one.
    """
    element = find_element(variable, checked.types)
    if element != "bool" or variable.storage.element is not None:
        return element
    source = checked.parts.get(fqn, {}).get("")
    declared = [attribute.value.data for attribute in variable.attributes if attribute.name == "_FillValue"]
    fill = None if source is None else fill_of(source)
    if fill is None:
        fill = dict(patterns(checked.fills[fqn], variable.type, checked.types))[""][0]
    is_seen = 0 not in checked.shapes[fqn] and (source is None or not is_complete(source))
    seen = [*declared, fill] if is_seen else declared
    return element if all(isinstance(one, bytes) and is_element(one, "|b1") for one in seen) else None


WHOLE = 16 << 20
"""Maximum size of arrays without fill value that are written whole; else only occupied chunks are."""

USUAL_STRING = 128
"""Bytes of each text in an array of NCZarr without values: netCDF-C's `NCZ_MAXSTR_DEFAULT`."""

FIXED_STRING = 256
"""Maximum length of strings in a fixed-length array."""


def lay(
    path: str,
    variable: Variable,
    checked: Checked,
    arrays: Arrays,
    options: Options,
    storage: Storage,
    shards: ShardRequest = "none",
) -> tuple[dict[str, PartTarget], Parts]:
    """Return the targets of a variable's parts in the order of `parts`, and their sources.

    Lengths in `shards` apply to the whole variable; parts of other shapes then
    have none.
    """
    if variable.storage.element is None and (element := find_kept_element(path, variable, checked)) is not None:
        storage = storage.model_copy(update={"element": element})
    shape = checked.shapes[path]
    fill = checked.fills[path]
    sources = checked.parts.get(path)
    if sources is None:
        sources = fill_parts(fill, variable.type, shape, checked.types)
    # plain JSON attributes cannot hold a `_FillValue` that is NaN or infinite: it stands as the fill value alone
    own_fills = [attribute.value for attribute in variable.attributes if attribute.name == "_FillValue"]
    no_fill = storage.no_fill and all(map(is_finite, own_fills))
    elements = dict(patterns(fill, variable.type, checked.types))
    targets: dict[str, PartTarget] = {}
    cut: dict[str, ArraySource] = {}
    for part in parts(variable.type, shape, checked.types):
        source = sources.get(part.path)
        pad = elements[part.path][0]
        source_fill = fill_of(source) if source is not None else None
        hidden = arrays.by_reference and source is not None and _hides_fill(part, source, checked.types)
        if source_fill is not None and not hidden:
            pad = source_fill
        if storage.element == "bool" and not is_element(pad, "|b1"):
            pad = bytes(1)  # of no cell (`find_kept_element`)
        part_shape = source.layout.shape if source is not None else tuple(length or 0 for length in part.shape)
        known_fill = fill is not None or part.path != "" or (arrays.by_reference and source_fill is not None)
        if hidden and not arrays.fill_needed:  # xarray takes every fill value for `_FillValue`
            known_fill = known_fill and bool(own_fills)
        has_fill = known_fill and not (no_fill and source is not None)
        differs = bool(pad.strip(b"\0")) and pad != elements[part.path][0]  # zeros stand for an undeclared fill value
        is_kept = variable.storage.element is not None and bool((source_fill or b"").strip(b"\0"))
        states_fill = bool(own_fills) or differs or is_kept
        lengths = _find_declared_length(variable), 1 if part.path else find_usual_length(checked)
        is_own = pad == elements[part.path][0]
        # NCZarr keeps the fill value of an HDF5 dataset: xarray masks that one then, as the planner warns
        is_of_hdf5 = source is not None and source.stored is not None and source.keys is None
        masks = bool(own_fills) and not is_own and (arrays.elements or not is_of_hdf5)
        mask = elements[part.path][0] if masks else None
        one = _PartData(part, source, part_shape, pad, has_fill, states_fill, is_own, mask, *lengths)
        target, lying = _plan_part(one, variable, checked, arrays, options, storage, shape, shards)
        targets[part.path] = target._replace(
            separator=_choose_separator(path, checked, arrays, options.layout),
            is_fast=is_fast(options.layout.codecs, path),
        )
        if lying is not None:
            cut[part.path] = lying
    return targets, {**sources, **cut}


class _PartData(NamedTuple):
    """One part with its source."""

    part: Part
    source: ArraySource | None
    """Its values; None: fill values only."""
    shape: tuple[int, ...]
    pad: bytes
    """Element of unwritten cells."""
    has_fill: bool
    """True if `pad` may be declared as a fill value."""
    states_fill: bool
    """True if the variable has a `_FillValue`, or its source a fill value other than netCDF's default."""
    is_own: bool
    """True if unwritten cells have the fill value of the variable: they are missing ones."""
    mask: bytes | None
    """Its `_FillValue`, if unwritten cells of the source have another value."""
    declared_length: int | None
    """`_nczarr_maxstrlen` of the variable."""
    usual_length: int
    """Bytes of each text, if no text is known."""


def _element_dtype(one: _PartData, variable: Variable, storage: Storage, arrays: Arrays, types: Types) -> Descr | None:
    """Return the dtype of the store's own element kind, if the target holds it and reads it back equal; else None.

    Readers add attributes to times, so times without these are integers.
    """
    element = storage.element if one.part.path == "" else None
    stored = None if element is None else choose_kept_dtype(element, one.part.type, types, arrays)
    if element is None or stored is None:
        return None
    if is_time(element):
        named = {attribute.name for attribute in variable.attributes}
        added = time_attributes(stored)  # none without a unit: NumPy makes no such time of an integer
        if not (added and added.keys() <= named) or (is_nat(one.pad) and "_FillValue" not in named):
            return None
    return stored if stored == "|O" or is_element(one.pad, stored) else None


def _plan_part(
    one: _PartData,
    variable: Variable,
    checked: Checked,
    arrays: Arrays,
    options: Options,
    storage: Storage,
    shape: tuple[int, ...],
    request: ShardRequest,
) -> tuple[PartTarget, ArraySource | None]:
    """Return a part's target, and its source if that was recut."""
    type_name = one.part.type
    strings = Strings()
    dtype: Descr
    if type_name == "string":
        wide = _element_dtype(one, variable, storage, arrays, checked.types)
        strings = survey(one.source, one.pad, characters=wide is not None)
        length = _find_fixed_length(strings, one) if arrays.fixed_strings else None
        dtype = "|O" if length is None else f"|S{length}"
        itemsize = length or 16
        if wide == "|O":
            strings = strings._replace(utf8=False)
        elif wide is not None and _fits(strings, wide):
            dtype, itemsize = wide, width(wide)
    else:
        dtype = descr(type_name, checked.types)
        itemsize = size(type_name, checked.types)
        if type_name == "char" and options.target.char_netcdf and arrays.netcdf_char:
            dtype = ">S1"
        dtype = _element_dtype(one, variable, storage, arrays, checked.types) or dtype
        if isinstance(dtype, str) and (storage.endian == "big" or _stays_big(one.source, storage, options.layout)):
            dtype = dtype.replace("<", ">")  # records keep little-endian fields
    whole = one.shape == shape and one.part.shape == shape
    stored_or_reason: tuple[ArraySource, Layout] | str | None = None
    if arrays.by_reference and one.source is not None:
        from nczarr.plan.reference_layout import as_stored  # few targets hold references

        source_storage, asked = variable.storage, storage if whole else variable.storage
        rectilinear = arrays.rectilinear and options.layout.grid == "rectilinear"
        stored_or_reason = as_stored(
            one.source, dtype, itemsize, arrays, asked, source_storage, rectilinear=rectilinear
        )
        if isinstance(stored_or_reason, tuple):
            source, layout = stored_or_reason
            return _as_stored(one, layout, strings, arrays), source
    if not can_shard(dtype) or not (whole or isinstance(request, str)):
        request = "none"
    chunks = storage.chunks if whole else None
    if chunks is None or not (fits(chunks, itemsize) or _has_chunks(one.source, chunks)):
        chunks = inner_chunks(request, default_chunks(one.shape, itemsize), one.shape)
    sound = problem(request, chunks, one.shape, itemsize) is None
    shards = shard_shape(request, chunks, one.shape, itemsize) if sound else None
    supported = table.nameable(arrays.codecs)
    codecs = nearest(storage.codecs, supported)
    codecs = portable(codecs, itemsize) if expressible(codecs, supported) else ()
    codecs = drop_no_ops(codecs, width(dtype))
    if dtype == "|O" or (type_name == "string" and width(dtype) != POINTER):
        codecs = tuple(codec for codec in codecs if codec.id != SHUFFLE)  # texts have no fixed width
    no_mode = arrays.undefined_fill and storage.no_fill and _is_undefined(one, dtype, itemsize)
    masks = not (arrays.fill_needed or arrays.by_reference)  # xarray does, whatever the attribute `_FillValue` says
    mask = one.mask if masks and is_number(dtype) else None
    if no_mode or (masks and _would_mask(one, dtype) and _has_all_chunks(one, dtype, chunks, itemsize)):
        fill, sparse = None, False
    elif mask is not None and _has_all_chunks(one, dtype, chunks, itemsize):
        fill, sparse = convert_to_stored(mask, dtype), False
    else:
        alone = one.has_fill and one.pad.strip(b"\0") and _has_no_attribute(one.pad, storage, dtype, arrays)
        needed = arrays.fill_needed or alone
        fill, sparse = _find_needed_fill(one, dtype, itemsize) if needed else _state_fill(one, dtype, itemsize, strings)
        if storage.no_fill and one.states_fill and one.source is not None and math.prod(one.shape) * itemsize <= WHOLE:
            sparse = False  # cells that equal the fill value were written: without their chunk they would be undefined
        if fill is None and arrays.by_reference and _shows_fill(one, dtype):
            fill, sparse = _find_needed_fill(one, dtype, itemsize)
    if sparse and one.part.path:
        sparse = not _all_there(one, chunks, itemsize)
    layout = Layout(dtype, one.shape, chunks, codecs, fill, shards, _choose_order(one, dtype, arrays, options.layout))
    target = PartTarget(layout, one.pad, sparse, strings.nil, strings.utf8)
    if one.source is None or not isinstance(stored_or_reason, str):
        return target, None
    size_of_values = strings.size if dtype == "|O" else _estimate_decoded(one.source, target) * itemsize
    return target._replace(apart=(size_of_values, stored_or_reason)), None


def _all_there(one: _PartData, chunks: tuple[int, ...], itemsize: int) -> bool:
    """Return whether all chunks of a part of a ragged variable are written, even those of zeros.

    If so, a document can state where its values are (awkward/sidecar.py).
    Content is as long as its lists. Of large counts, which may be mostly
    unwritten cells, only nonzero chunks are written.
    """
    if None in one.part.shape or math.prod(one.shape) * itemsize <= WHOLE:
        return True
    written = 0 if one.source is None else count_blocks(one.source.list_occupied(chunks))
    return written == math.prod(grid_of(one.shape, chunks))


def _as_stored(one: _PartData, stored: Layout, strings: Strings, arrays: Arrays) -> PartTarget:
    """Return the target of a part with referenced chunks.

    Unwritten cells have no chunk, so any fill is declared; if Zarr v2 cannot
    state the bits of a NaN, chunks of it are made.
    """
    size = width(stored.dtype)
    fill = None if arrays.fill_needed else _state_fill(one, stored.dtype, size, strings)[0]
    needs_fill = arrays.fill_needed or (one.has_fill and one.pad.strip(b"\0"))
    if fill is None and (needs_fill or _shows_fill(one, stored.dtype)):
        fill = _find_needed_fill(one, stored.dtype, size)[0]
    small = math.prod(one.shape) * size <= WHOLE
    altered = fill is not None and is_number(stored.dtype) and is_odd_nan(fill, str(stored.dtype))
    sparse = arrays.fill_needed or not (altered and small)
    return PartTarget(stored._replace(fill=fill), one.pad, sparse, strings.nil, strings.utf8)


def _shows_fill(one: _PartData, dtype: Descr) -> bool:
    """Return whether an array of numbers needs its fill value for missing chunks."""
    number = is_number(dtype)
    source = one.source
    return number and one.part.path == "" and source is not None and not source.undefined and not is_complete(source)


def _hides_fill(part: Part, source: ArraySource, types: Types) -> bool:
    """Return whether no cell of an array of numbers is the fill value of missing chunks."""
    number = part.path == "" and part.type != "string" and is_number(descr(part.type, types))
    return number and is_complete(source)


def _would_mask(one: _PartData, dtype: Descr) -> bool:
    """Return whether xarray would mask values of an array of numbers if it declared its fill value."""
    return (is_number(dtype) or dtype == "|b1") and not one.states_fill


def _has_all_chunks(one: _PartData, dtype: Descr, chunks: tuple[int, ...], itemsize: int) -> bool:
    """Return whether all chunks of an array are written: it has no cells yet, or they all exist, or it is small.

    An array without values has no chunks, except one of big-endian numbers (`_state_fill`), and one whose source
    leaves out chunks of a value that is not missing.
    """
    if 0 in one.shape:
        return True
    small, source = math.prod(one.shape) * itemsize <= WHOLE, one.source
    if source is None or next(iter(source.list_occupied(chunks)), None) is None:
        return small and (str(dtype)[0] == ">" or not one.is_own)
    return small or is_complete(source, chunks)


def _estimate_decoded(source: ArraySource, target: PartTarget) -> int:
    layout = target.layout
    if not target.sparse:
        return math.prod(layout.shape)
    chunks = count_blocks(source.list_occupied(layout.chunks))
    return min(math.prod(layout.shape), chunks * volume(layout.chunks))


def _stays_big(source: ArraySource | None, storage: Storage, layout: LayoutOptions) -> bool:
    """Return whether a source has plain big-endian elements, as classic files have, that the run can copy as they are.

    Chunks of a requested codec or size are encoded, in little-endian order.
    """
    stored = None if source is None else source.stored
    return (
        stored is not None
        and storage.endian is None
        and not (stored.codecs or storage.codecs or any(isinstance(size, int) for size in layout.chunks.values()))
        and isinstance(stored.dtype, str)
        and stored.dtype[0] == ">"
    )


def _has_chunks(source: ArraySource | None, chunks: tuple[int, ...]) -> bool:
    """Return whether a source has these chunks, so that they can be copied at any size."""
    stored = None if source is None else source.stored
    return stored is not None and stored.chunks == chunks


def _find_fixed_length(strings: Strings, one: _PartData) -> int | None:
    """Return the n of `|Sn` that holds all strings exactly, or None.

    In libnetcdf 4.10.1 an attribute `_nczarr_maxstrlen` overrules the dtype:
    then only its value counts. Where no text was written, texts of the usual length will fit.
    """
    length = one.declared_length
    if length is None:
        length = max(1 if strings.written else one.usual_length, strings.longest)
    exact = strings.utf8 and not strings.nul and not strings.nil  # netCDF-C ends texts at a NUL, and has no NIL
    return length if exact and max(1, strings.longest) <= length <= FIXED_STRING else None


def _fits(strings: Strings, dtype: Descr) -> bool:
    """Return whether all strings are exact as texts of fixed length: NumPy drops NULs at the end."""
    if strings.nil or strings.trailing:
        return False
    if is_utf32(dtype):
        return strings.utf8 and 4 * strings.characters <= width(dtype)
    return strings.longest <= width(dtype)


def _has_no_attribute(pad: bytes, storage: Storage, dtype: Descr, arrays: Arrays) -> bool:
    """Return whether plain attributes cannot hold a fill value, so that the array's stands for the attribute.

    It is a record of the store, or a text of fixed length with a NUL.
    """
    if not isinstance(dtype, str):
        return is_record(storage.element)
    return arrays.numpy_types and dtype[1] == "S" and b"\0" in pad.rstrip(b"\0")


def _find_declared_length(owner: Variable | Dataset, name: str = "_nczarr_maxstrlen") -> int | None:
    for attribute in owner.attributes:
        if attribute.name == name and attribute.value.type == "int" and attribute.value.count:
            return int(attribute.value.as_numbers()[0])
    return None


def find_usual_length(checked: Checked) -> int:
    """Return the bytes of texts in arrays without any, as netCDF-C has them: the dataset's own number, or 128."""
    declared = _find_declared_length(checked.dataset, "_nczarr_default_maxstrlen")
    return USUAL_STRING if declared is None or declared < 1 else declared


def _is_undefined(one: _PartData, dtype: Descr, itemsize: int) -> bool:
    """Return whether the fill value may be undefined: the variable has none, and all cells are written."""
    small = math.prod(one.shape) * itemsize <= WHOLE
    number = isinstance(dtype, str) and dtype[1] in "biufc"
    return number and not one.has_fill and one.source is not None and small and not one.pad.strip(b"\0")


def _choose_separator(path: str, checked: Checked, arrays: Arrays, layout: LayoutOptions) -> str | None:
    """Return the separator of chunk keys: the requested, the source's, or None for the format's."""
    if not arrays.separators:
        return None
    foreign = checked.foreign.get(path)
    return layout.separator or (None if foreign is None else foreign.separator)


def _choose_order(one: _PartData, dtype: Descr, arrays: Arrays, layout: LayoutOptions) -> Order:
    """Return the requested element order in chunks, else the source's; texts are written in C order alone."""
    if not arrays.orders or one.part.type == "string":
        return "C"
    return layout.order or (one.source.layout.order if one.source is not None else "C")


def _find_needed_fill(one: _PartData, dtype: Descr, itemsize: int) -> tuple[bytes | None, bool]:
    """Return the fill in the dtype's bytes, for formats where every array has one; chunks may be missing."""
    if dtype == "|O" or is_utf32(dtype):
        return one.pad, True
    return convert_to_stored(one.pad.ljust(itemsize, b"\0"), dtype), True


def _state_fill(one: _PartData, dtype: Descr, itemsize: int, strings: Strings) -> tuple[bytes | None, bool]:
    """Return the declared fill value in the dtype's bytes, and whether chunks of fill may be missing.

    A missing chunk of an array without fill value reads as zeros or empty
    texts. So zeros are declared only for the dataset's own numbers: xarray
    would mask zeros of `counts` and empty texts, and cannot open a group in
    which a record has such a fill. For fixed texts tensorstore expects base64,
    the netCDF library the text. Other fills of texts, opaques and records are
    written out or, in too large arrays, declared in base64, which the library
    ignores. xarray takes any fill value for a `_FillValue`, masks what equals
    it, and makes floats of integers (`_would_mask`).
    """
    is_small = math.prod(one.shape) * itemsize <= WHOLE
    is_zero = not one.pad.strip(b"\0")
    if (dtype == "|O" or is_utf32(dtype)) and not is_zero and strings.utf8:
        return one.pad, True
    if dtype == ">S1":  # for the netCDF library alone
        return (one.pad, True) if one.pad.isascii() and one.has_fill else (None, not is_small)
    holds_numbers = is_number(dtype)
    if is_zero and not (holds_numbers and one.part.path == ""):
        # All chunks of char arrays are written. So are those of records, because zarr-python cannot make up
        # a missing chunk if a field is raw bytes, and of texts of any length, on which libraries disagree.
        needs_all_chunks = not isinstance(dtype, str) or (one.source is not None and dtype in ("|S1", "|O"))
        return None, not (needs_all_chunks and is_small)
    if not holds_numbers:
        if is_small or dtype == "|O":
            return None, not is_small
        return one.pad.ljust(itemsize, b"\0"), True
    if not one.has_fill and is_small:
        return None, one.source is None and is_zero
    if str(dtype)[0] == ">":  # libnetcdf 4.10.1 forgets to swap the fill value of a missing chunk
        return convert_to_stored(one.pad, dtype), not is_small
    # of a NaN the documents of Zarr v2 say only that it is one
    fill = convert_to_stored(one.pad, dtype)
    return fill, not (is_small and is_odd_nan(fill, str(dtype)))
