"""Plans of netCDF files: limits of a kind of file, and storage in the netCDF library."""

import math
from collections.abc import Iterator, Mapping
from typing import assert_never

from nczarr.arrays.codecs.chain import of_hdf5
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types, is_fixed, measure_stored, struct
from nczarr.ast import ATOMIC, Codec, CompoundType, EnumType, Group, OpaqueType, Storage, Variable, VlenType
from nczarr.ast.dataset import DEFAULT_STORAGE, DEFLATE, FLETCHER32, KIND_NAMES, SCALE_OFFSET, SHUFFLE, SZIP
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Span
from nczarr.options import AUTO, Options
from nczarr.plan.chunk_sizes import lengths_of_size
from nczarr.plan.file_readers import report_plugin_filters, report_pointer_filters, report_unseen_dimensions
from nczarr.plan.hdf5_losses import hdf5_losses
from nczarr.plan.losses import axis_losses, json_losses, unknown_extensions
from nczarr.plan.lossy_filters import drop_from_file
from nczarr.plan.plans import FilePlan, Loss
from nczarr.plan.requested_storage import StorageRequests, storage_of, storage_requests
from nczarr.registry import NETCDF_KINDS, Format
from nczarr.semantics.checked import Checked
from nczarr.semantics.classic_layout import check_sizes
from nczarr.semantics.infer_shapes import name_dimensions
from nczarr.semantics.kinds import check_target, reduce_to_kind
from nczarr.semantics.restore_json import note_json

COMPACT_BYTES = (1 << 16) - 5
"""Maximum size of a compact variable: its data are in an object header message, after four bytes."""

CHUNK_BYTES = (1 << 32) - 1
"""Maximum chunk size of HDF5."""

_FIRST = (FLETCHER32, SHUFFLE)
"""Filters that the library puts first, in this order (measured: libnetcdf 4.9.0, 4.10.1)."""

_COMPLEX = frozenset({"complex64", "complex128"})
"""Elements that the file has too: as the records that h5py makes of complex numbers."""


def hdf5_storage(request: Storage, shape: tuple[int, ...], itemsize: int, *, atomic: bool) -> tuple[Storage, list[str]]:
    """Return a variable's storage, and its unmet requests as texts of annotation losses.

    `itemsize`: bytes of a value in the file.
    """
    chunks, codecs = request.chunks, of_hdf5(request.codecs)
    doubled = len({codec.id for codec in codecs}) < len(codecs)
    too_large = request.layout == "compact" and math.prod(shape) * itemsize > COMPACT_BYTES
    too_long = chunks is not None and math.prod(chunks) * itemsize > CHUNK_BYTES
    checks = {
        "codecs that HDF5 does not have": codecs != request.codecs,
        "filters of the same number": doubled,
        "the order of filters": not doubled and pipeline(codecs) != codecs,
        f"compact storage of more than {COMPACT_BYTES} bytes": too_large,
        f"chunks of more than {CHUNK_BYTES} bytes": too_long,
        "filters of a scalar": bool(request.codecs) and not shape,
        "the byte order of a declared type": request.endian is not None and not atomic,
        f"the element kind {request.element}": request.element not in (None, *_COMPLEX),
    }
    possible = Storage(
        layout="chunked" if chunks is not None and shape else None if too_large else request.layout,
        chunks=chunks if shape and not too_long else None,
        codecs=pipeline(codecs) if shape else (),
        endian=request.endian if atomic else None,
        no_fill=request.no_fill,
        quantize=request.quantize,
        element=request.element if request.element in _COMPLEX else None,
    )
    return (request if possible == request else possible), [what for what, unmet in checks.items() if unmet]


def pipeline(codecs: tuple[Codec, ...]) -> tuple[Codec, ...]:
    """Return a chain in the library's order. Of several filters with one id, the last replaces the first."""
    codecs = tuple({codec.id: codec for codec in codecs}.values())
    first = [codec for number in _FIRST for codec in codecs if codec.id == number]
    return (*first, *(codec for codec in codecs if codec.id not in _FIRST))


MAX_RANK = 32
"""Maximum rank of a variable, and of an array in a record (H5S_MAX_RANK)."""

MESSAGE_BYTES = 65535
"""Maximum size of an object header message; a type and a fill value are one each."""

FILL_BYTES = MESSAGE_BYTES - 6
"""Maximum size of a fill value. Variables of declared types have one, except
under `_NoFill`; those with strings or lists have one even there until the file
is closed.
"""

MAX_ATTRIBUTES = 65520
"""Maximum attributes of a group or variable: 65,535 minus some for the library."""

MAX_FILTERS = 31
"""Maximum number of filters; one more overruns a table of HDF5 and ends the process."""

MAX_PARAMETERS = 256
"""Maximum filter parameters; files with more can be written but not read."""

FLOAT_DIGITS = 6
"""Maximum decimal digits for rounding a float (7 in netCDF 4.9, but not in 4.10)."""

_CHECKSUM = 4
"""Bytes that fletcher32 adds to a chunk."""


def _diagnose(code: str, text: str, span: Span, help_: str) -> Diagnostic:
    """Return the diagnostic of content that netCDF-4 cannot represent."""
    return Diagnostic(code, Severity.ERROR, text, Label(span), helps=(help_,))


def check_limits(checked: Checked, storage: Mapping[str, Storage], report: Report) -> None:
    """Report everything that the library would fail on."""
    for fault in (*_check_types(checked), *_check_variables(checked, storage), *_check_attributes(checked)):
        report.add(fault)


def _check_types(checked: Checked) -> Iterator[Diagnostic]:
    for path, declared in checked.types.items():
        fields = declared.fields if isinstance(declared, CompoundType) else ()
        deep = next((field for field in fields if len(field.shape) > MAX_RANK), None)
        size = 0 if deep is not None else datatype_message_size(path, checked.types)
        if deep is not None:
            text = f"field `{deep.name}` of `{path}` has {len(deep.shape)} dimensions"
            yield _diagnose("rank-limit", f"{text}; HDF5 files have at most {MAX_RANK}", deep.span, _STORE)
        elif size > MESSAGE_BYTES:
            text = f"the description of type `{path}` needs {size} bytes; the limit of HDF5 files is {MESSAGE_BYTES}"
            remedy = "use fewer members or shorter names, or write a store"
            yield _diagnose("format-conflict", text, declared.span, remedy)


_STORE = "write a store, which has no such limit"


def _check_variables(checked: Checked, storage: Mapping[str, Storage]) -> Iterator[Diagnostic]:
    for path, variable in checked.variables.items():
        rank = len(variable.dimensions)
        if rank > MAX_RANK:
            text = f"`{path}` has {rank} dimensions; HDF5 files have at most {MAX_RANK}"
            yield _diagnose("rank-limit", text, variable.span, _STORE)
        size = measure_stored(variable.type, checked.types)
        filled = not (storage[path].no_fill and is_fixed(variable.type, checked.types))
        if variable.type in checked.types and filled and size > FILL_BYTES:
            text = f"the fill value of `{path}` has {size} bytes; the limit of HDF5 files is {FILL_BYTES}"
            helps = "use `_NoFill`, a smaller type, or write a store"
            yield _diagnose("format-conflict", text, variable.span, helps)
        quantize = storage[path].quantize
        digits = quantize.digits if quantize is not None and quantize.algorithm != "bitround" else 0
        if variable.type == "float" and digits > FLOAT_DIGITS:
            text = f"`{path}` cannot be rounded to {digits} digits; the netCDF library supports 1 to {FLOAT_DIGITS}"
            yield _diagnose("refused-storage", text, variable.span, "omit the rounding: a float has no more digits")
        if variable.dimensions and storage[path].codecs:
            wrong = _find_refused_filter(variable, checked.shapes[path], storage[path], checked)
            if wrong is not None:
                text = f"`{path}` has unsupported storage: {wrong}"
                yield _diagnose("refused-storage", text, variable.span, "choose other filters, or none with `--codec`")


def _check_attributes(checked: Checked) -> Iterator[Diagnostic]:
    owners: list[tuple[str, Group | Variable]] = [*checked.groups.items(), *checked.variables.items()]
    for path, owner in owners:
        if len(owner.attributes) > MAX_ATTRIBUTES:
            text = f"`{path}` has {len(owner.attributes)} attributes; HDF5 files have at most {MAX_ATTRIBUTES}"
            yield _diagnose("format-conflict", text, owner.span, "use longer lists, or a variable")


def _find_refused_filter(variable: Variable, shape: tuple[int, ...], storage: Storage, checked: Checked) -> str | None:
    """Return why the library refuses a filter chain, or None."""
    if len(storage.codecs) > MAX_FILTERS:
        return f"it has {len(storage.codecs)} filters; the limit is {MAX_FILTERS}"
    fixed = [
        1 if isinstance(ref, str) and checked.dimensions[ref].unlimited else length
        for ref, length in zip(variable.dimensions, shape, strict=True)
    ]
    room = min(math.prod(fixed), math.prod(storage.chunks or fixed))
    ids = {codec.id for codec in storage.codecs}
    for codec in storage.codecs:
        if len(codec.parameters) > MAX_PARAMETERS:
            return f"filter {codec.id} has {len(codec.parameters)} parameters; the limit is {MAX_PARAMETERS}"
        if codec.id == DEFLATE and codec.parameters and codec.parameters[0] > 9:
            return f"deflate has the levels 0 to 9, not {codec.parameters[0]}"
        if codec.id == SCALE_OFFSET and (variable.type not in ATOMIC or variable.type in ("char", "string")):
            return f"the scale-offset filter is for numbers, not for {variable.type}"
        if codec.id == SZIP:
            wrong = _find_szip_fault(codec, variable.type, checked.types, room)
            if wrong is not None or DEFLATE in ids:
                return wrong or "szip and deflate exclude each other"
            if FLETCHER32 in ids and _number_size(variable.type, checked.types) > _CHECKSUM:
                return "fletcher32 comes first and appends 4 bytes, but szip needs whole values of 8 bytes"
    return None


def _number_size(type_name: str, types: Types) -> int:
    """Return the size of a number or enum value; else 0."""
    declared = types.get(type_name)
    base = declared.base if isinstance(declared, EnumType) else type_name
    return ATOMIC[base].size if base in ATOMIC and base != "string" else 0


def _find_szip_fault(codec: Codec, type_name: str, types: Types, room: int) -> str | None:
    """Return why szip fails, or None; `room`: elements of a chunk."""
    if type_name == "char" or isinstance(types.get(type_name), OpaqueType | CompoundType):
        return f"szip is for numbers, not for {type_name}"
    if len(codec.parameters) != 2:
        return f"szip has two parameters, a mask and the pixels per block, not {len(codec.parameters)}"
    pixels = codec.parameters[1]
    if pixels % 2 or not 2 <= pixels <= 32:
        return f"szip needs an even number of 2 to 32 pixels per block, not {pixels}"
    return f"szip has blocks of {pixels} pixels, but a chunk has {room}" if pixels > room else None


def datatype_message_size(type_name: str, types: Types) -> int:
    """Return the size of a type's description: datatype messages of version 3, without padding.

    Each message begins with 8 bytes: class, version, bits and size. Then come the properties: 4 bytes of an integer,
    12 of a float, rank and lengths of an array, name and offset of each field, name and value of each enum constant.
    """
    sizes: dict[str, int] = {}

    def size_of(name: str) -> int:
        """Return the bytes of a type's description in an HDF5 object header."""
        declared = types.get(name)
        if name in sizes:
            return sizes[name]
        match declared:
            case None:
                length = _ATOMIC_MESSAGES.get(name, 8 + 4 if ATOMIC[name].is_integer else 8 + 12)
            case OpaqueType():
                length = 8
            case VlenType():
                length = 8 + size_of(declared.base)
            case EnumType():
                width = ATOMIC[declared.base].size
                length = 8 + size_of(declared.base) + sum(_name_size(item.name) + width for item in declared.constants)
            case CompoundType():
                offset_width = max(1, (measure_stored(name, types).bit_length() + 7) // 8)
                length = 8
                for field in declared.fields:
                    array = 8 + 1 + 4 * len(field.shape) if field.shape else 0
                    length += _name_size(field.name) + offset_width + array + size_of(field.type)
            case _:
                assert_never(declared)
        sizes[name] = length
        return length

    return size_of(type_name)


_ATOMIC_MESSAGES = {"char": 8, "string": 8 + 12}


def _name_size(name: str) -> int:
    return len(name.encode()) + 1


GROWING = 2**31 - 1
"""Maximum chunk length along an unlimited dimension."""


def _fill_unwritten(checked: Checked, storage: Mapping[str, Storage]) -> dict[str, Parts]:
    """Return fill values of variables without values and fill mode: HDF5 has zeros in unwritten cells."""
    fills = {
        path: fill for path, fill in checked.fills.items() if storage[path].no_fill and not checked.parts.get(path)
    }
    return {
        path: all_fill(fill, fill.type, checked.shapes[path], checked.types)
        for path, fill in fills.items()
        if fill is not None and (not isinstance(fill.data, bytes) or fill.data.strip(b"\0"))
    }


def plan_file(checked: Checked, form: Format, options: Options, report: Report) -> FilePlan | None:
    """Return the plan of a netCDF file; None after an error. Raises ValueError without a kind.

    Expects the kind in the options. Reports format-conflict, variables larger
    than the kind or the run allows, and storage hints that a classic file
    drops.
    """
    kind = options.target.kind
    if kind is None:
        raise ValueError("a plan for a netCDF file needs its kind")
    before = report.errors
    named = name_dimensions(checked)
    accepted = options.run.accepts("format-conflict")
    check_target(named, kind, report, accepted=accepted)
    if accepted:
        named = reduce_to_kind(named, kind)
    if report.errors == before:
        check_sizes(named, kind, report, options.target.header_pad)
        if kind == "nc7":
            _check_empty_dimensions(named, report)
    check_size(named, options.target.max_size, report)
    requests = storage_requests(named, form.name, None, options.layout, report)
    if report.errors > before:
        return None
    storage = {path: _request_storage(path, named, requests) for path in named.variables}
    lost: list[Loss] = [*unknown_extensions(named), *json_losses(named, form), *axis_losses(named, form)]
    if NETCDF_KINDS[kind].storage:
        for path, request in storage.items():
            variable = named.variables[path]
            itemsize = measure_stored(variable.type, named.types)
            atomic = variable.type not in named.types
            chunks = named.variables[path].storage.chunks
            storage[path], unmet = hdf5_storage(request, named.shapes[path], itemsize, atomic=atomic)
            if chunks is not None and varies(chunks):
                unmet.append("the different lengths of its chunks")
            lost += [Loss("storage", "annotation", path, f"variable `{path}`, {what}", variable.span) for what in unmet]
        lost += hdf5_losses(named)
        storage = drop_from_file(named, storage, report)
        check_limits(named, storage, report)
        report_pointer_filters(named, storage, report)
        report_plugin_filters(named, storage, report)
        report_unseen_dimensions(named, report)
        named = named._replace(parts={**named.parts, **_fill_unwritten(named, storage)})
    else:
        lost += [
            Loss("storage", "annotation", path, f"variable `{path}`, storage hints", named.variables[path].span)
            for path, request in storage.items()
            if request != DEFAULT_STORAGE
        ]
    return FilePlan(note_json(named), form, options, tuple(lost), kind, storage) if report.errors == before else None


def _check_empty_dimensions(checked: Checked, report: Report) -> None:
    """Report dimensions of length 0, which are unlimited in HDF5 files, beyond the one of the classic model."""
    growing = [dimension for dimension in checked.dimensions.values() if dimension.unlimited or not dimension.size]
    for dimension in growing[1:]:
        if any(not candidate.unlimited for candidate in (growing[0], dimension)):
            text = f"dimensions `{growing[0].name}` and `{dimension.name}` would both be unlimited"
            text += f"; {KIND_NAMES['nc7']} has one unlimited dimension"
            report.error("format-conflict", text, dimension.span, helps=["use --kind nc4"])


def _request_storage(path: str, checked: Checked, requests: StorageRequests) -> Storage:
    """Return the requested storage of a variable. HDF5 encodes only the references of strings and lists."""
    variable = checked.variables[path]
    limits = tuple(
        GROWING if checked.dimensions[str(ref)].unlimited else length
        for ref, length in zip(variable.dimensions, checked.shapes[path], strict=True)
    )
    itemsize = struct(variable.type, checked.types).size
    storage = storage_of(path, variable, checked.shapes[path], requests, itemsize, limits)
    if storage.codecs and storage.chunks is None and variable.storage.layout != "chunked" and limits:
        # the library would make chunks of one record
        lengths = lengths_of_size(checked.shapes[path], itemsize, AUTO, requests.access)
        storage = storage.model_copy(update={"chunks": lengths, "layout": "chunked"})
    return storage


def check_size(checked: Checked, limit: int, report: Report) -> None:
    """Report a dataset whose file, unwritten cells included, would exceed the limit in bytes."""
    sizes = {
        path: math.prod(checked.shapes[path]) * struct(variable.type, checked.types).size
        for path, variable in checked.variables.items()
    }
    total = sum(sizes.values())
    if total <= limit:
        return
    largest = max(sizes, key=lambda path: sizes[path])
    text = f"the dataset declares {total} bytes, {sizes[largest]} of them in `{largest}`; the limit is {limit}"
    helps = [
        "raise the limit with `--max-size`",
        "write a store, which has no limit: missing values take no space there",
    ]
    report.error("oversized-target", text, checked.variables[largest].span, helps=helps)
