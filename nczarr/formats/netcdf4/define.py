"""Declarations of a dataset → an open netCDF-4 file: groups, types, dimensions, variables, attributes, in this order.

Each kind of object has the order of the tree, but types follow those they use.
"""

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple, assert_never

from nczarr import names
from nczarr.arrays.codecs.chain import level_of
from nczarr.arrays.values.parts import is_fixed, struct
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Dimension,
    EnumType,
    OpaqueType,
    Storage,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import BLOSC
from nczarr.ast.types import dependencies_first
from nczarr.diagnostics.report import Report
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.c_values import constant_values
from nczarr.formats.netcdf4.fill_values import declare_fill as declared_attributes
from nczarr.formats.netcdf4.fill_values import own_fill
from nczarr.formats.netcdf4.header.datatypes import ATOMIC_IDS
from nczarr.formats.netcdf4.library import Library, integers, sizes
from nczarr.plan.c_strings import without_nil
from nczarr.plan.plans import FilePlan
from nczarr.semantics.checked import Checked

CHUNK_BYTES = 16 << 20
"""Target size of a chunk, in bytes."""

LARGEST = (1 << 32) - 1
"""Largest chunk of HDF5, in bytes; lengths of a larger one are halved."""

LONE_BYTES = 4096
"""Chunk size along a single unlimited dimension, in bytes."""


def default_chunks(lengths: Sequence[int | None], itemsize: int, room: int = CHUNK_BYTES) -> tuple[int, ...]:
    """Return the chunk lengths of an array; None stands for an unlimited dimension.

    `itemsize`: bytes of an element in memory; `room`: limit of a chunk in
    bytes, if below `CHUNK_BYTES`.
    """
    room = min(room, CHUNK_BYTES)
    fixed = [length for length in lengths if length is not None]
    if not fixed and len(lengths) == 1:
        return (max(1, max(1, min(LONE_BYTES, room // itemsize)) // itemsize),)
    if not fixed:
        edge = int(math.pow(room / itemsize, 1 / len(lengths))) if lengths else 1  # as netCDF-C: the n-th root
        chunks = [max(1, edge)] * len(lengths)
    else:
        total = math.prod(float(length) for length in fixed) * itemsize
        factor = math.pow(room / total, 1 / len(fixed)) if total else math.inf
        chunks = [1 if length is None else _share(length, factor) for length in lengths]
    while math.prod(chunks) * itemsize > LARGEST and max(chunks) > 1:
        chunks = [max(1, chunk // 2) for chunk in chunks]
    return tuple(_trim(chunk, length) for chunk, length in zip(chunks, lengths, strict=True))


def _share(length: int, factor: float) -> int:
    if factor == math.inf:
        return max(1, length)
    return max(1, min(length, int(max(0.0, factor * length - 0.5))))  # 0.5: as netCDF-C


def _trim(chunk: int, length: int | None) -> int:
    """Shorten a chunk to spread the excess of the last chunk."""
    if not length:
        return chunk
    count = -(-length // chunk)
    return chunk - (count * chunk - length) // count


class Ids(NamedTuple):
    """Library ids by FQN."""

    groups: dict[str, int]
    dimensions: dict[str, int]
    types: dict[str, int]
    variables: dict[str, int]
    """Variables, within their group."""

    def of_type(self, name: str) -> int:
        """Return the id of an atomic or declared type."""
        return ATOMIC_IDS.get(name) or self.types[name]


def define(lib: Library, file: int, plan: FilePlan, report: Report) -> Ids:
    """Declare everything in `file`, in define mode. Reports refused-storage."""
    checked = plan.checked
    ids = Ids({"/": file}, {}, {}, {})
    for path, group in checked.groups.items():
        if path != "/":
            ids.groups[path] = lib.make("nc_def_grp", ids.groups[names.parent(path)], group.name.encode())
    for path, declared in dependencies_first(checked.types).items():
        ids.types[path] = _define_type(lib, path, declared, ids, checked)  # NC_UNLIMITED is 0
    for path, dimension in checked.dimensions.items():
        length = 0 if grows(dimension) else dimension.size
        group_id = ids.groups[names.parent(path)]
        ids.dimensions[path] = lib.make("nc_def_dim", group_id, dimension.name.encode(), length)
    for number, stage in enumerate(_stages(checked)):
        if number:
            lib.do("nc_enddef", file)
            lib.do("nc_redef", file)
        for path in stage:
            _define_variable(lib, path, checked.variables[path], ids, plan, report)
    for path, group in checked.groups.items():
        for attribute in group.attributes:
            put_attribute(lib, ids.groups[path], c.GLOBAL, attribute, ids, checked)
    return ids


def _stages(checked: Checked) -> Iterator[list[str]]:
    """Yield the variables in stages that are defined together.

    The library creates objects group by group, parents first, and looks up the
    dimensions of a variable: one of a later group with a coordinate variable
    must exist before. If that is impossible, the last stage has all remaining
    variables.
    """
    order = {path: number for number, path in enumerate(checked.groups)}
    left: dict[str, list[str]] = {}
    for path in checked.variables:
        left.setdefault(names.parent(path), []).append(path)
    done: set[str] = set()
    defined: set[str] | None = None

    def ready(path: str) -> bool:
        """Return whether all dimensions of a variable exist when the library looks them up."""
        later = [
            str(reference)
            for reference in checked.variables[path].dimensions
            if order[names.parent(str(reference))] > order[names.parent(path)]
        ]
        return not later or (
            defined is not None
            and all(reference in defined or reference not in checked.variables for reference in later)
        )

    while any(left.values()):
        stage = []
        for group, paths in left.items():
            count = next((number for number, path in enumerate(paths) if not ready(path)), len(paths))
            stage += paths[:count]
            left[group] = paths[count:]
        if not stage and defined is not None and defined == done:
            stage = [path for paths in left.values() for path in paths]
            left.clear()
        yield stage
        done.update(stage)
        defined = set(done)


def _define_type(lib: Library, path: str, declared: UserType, ids: Ids, checked: Checked) -> int:
    group = ids.groups[names.parent(path)]
    name = declared.name.encode()
    match declared:
        case OpaqueType():
            return lib.make("nc_def_opaque", group, declared.size, name)
        case VlenType():
            return lib.make("nc_def_vlen", group, name, ids.of_type(declared.base))
        case EnumType():
            type_id = lib.make("nc_def_enum", group, ATOMIC_IDS[declared.base], name)
            width, signed = ATOMIC[declared.base].size, ATOMIC[declared.base].low < 0
            for constant in declared.constants:
                value = constant.value.to_bytes(width, c.BYTE_ORDER, signed=signed)  # the library copies memory
                lib.do("nc_insert_enum", group, type_id, constant.name.encode(), value)
            return type_id
        case CompoundType():
            return _define_compound(lib, group, path, declared, ids, checked)
        case _:
            assert_never(declared)


def _define_compound(lib: Library, group: int, fqn: str, declared: CompoundType, ids: Ids, checked: Checked) -> int:
    """Define a record with C alignment, the only memory layout that the library accepts."""
    aligned = struct(fqn, checked.types)
    type_id = lib.make("nc_def_compound", group, aligned.size, declared.name.encode())
    for number, field in enumerate(declared.fields):
        offset = aligned.offsets[number]
        base = ids.of_type(field.type)
        if field.shape:
            shape = integers(field.shape)
            lib.do(
                "nc_insert_array_compound", group, type_id, field.name.encode(), offset, base, len(field.shape), shape
            )
        else:
            lib.do("nc_insert_compound", group, type_id, field.name.encode(), offset, base)
    return type_id


def _define_variable(lib: Library, path: str, variable: Variable, ids: Ids, plan: FilePlan, report: Report) -> None:
    group = ids.groups[names.parent(path)]
    dimensions = integers([ids.dimensions[str(ref)] for ref in variable.dimensions])
    variable_id = lib.make(
        "nc_def_var", group, variable.name.encode(), ids.of_type(variable.type), len(variable.dimensions), dimensions
    )
    ids.variables[path] = variable_id
    try:
        _define_storage(lib, group, variable_id, path, variable, plan)
    except c.CallError as error:
        text = f"the netCDF library does not support the storage of `{path}`: {error}"
        report.error("refused-storage", text, variable.span, helps=["choose other filters, or none with `--codec`"])
    for attribute in declared_attributes(path, plan.checked):
        put_attribute(lib, group, variable_id, attribute, ids, plan.checked)


def _define_storage(lib: Library, group: int, variable_id: int, path: str, variable: Variable, plan: FilePlan) -> None:
    storage = plan.storage[path]
    chunks = chunk_lengths(path, variable, plan) if variable.dimensions else None
    if chunks is not None:
        lib.do("nc_def_var_chunking", group, variable_id, c.CHUNKED, sizes(chunks))
    elif storage.layout == "compact":
        lib.do("nc_def_var_chunking", group, variable_id, c.COMPACT, None)
    elif variable.dimensions:
        lib.do("nc_def_var_chunking", group, variable_id, c.CONTIGUOUS, None)
    _define_filters(lib, group, variable_id, storage, struct(variable.type, plan.checked.types).size)
    if storage.endian is not None:
        lib.do("nc_def_var_endian", group, variable_id, c.ENDIAN[storage.endian])
    filled = own_fill(path, plan.checked) is not None
    if storage.no_fill and not filled and is_fixed(variable.type, plan.checked.types):  # others: `fill_values.py`
        lib.do("nc_def_var_fill", group, variable_id, 1, None)  # 1: NC_NOFILL
    if storage.quantize is not None:
        algorithm = c.QUANTIZE[storage.quantize.algorithm]
        lib.do("nc_def_var_quantize", group, variable_id, algorithm, storage.quantize.digits)


def chunk_lengths(path: str, variable: Variable, plan: FilePlan) -> tuple[int, ...] | None:
    """Return the chunk lengths of a variable; None if it is contiguous or compact."""
    storage = plan.storage[path]
    dimensions = [plan.checked.dimensions[str(ref)] for ref in variable.dimensions]
    if storage.chunks is not None:
        return tuple(
            chunk if grows(dimension) else min(chunk, dimension.size)  # NC_EBADCHUNK for a longer one
            for chunk, dimension in zip(storage.chunks, dimensions, strict=True)
        )
    unlimited = any(grows(dimension) for dimension in dimensions)
    if not dimensions or not (unlimited or storage.codecs or storage.layout == "chunked"):
        return None
    lengths = [None if grows(dimension) else dimension.size for dimension in dimensions]
    return default_chunks(lengths, struct(variable.type, plan.checked.types).size, plan.options.run.memory)


def grows(dimension: Dimension) -> bool:
    """Return whether a dimension becomes unlimited: the library has no fixed length 0."""
    return dimension.unlimited or dimension.size == 0


def _define_filters(lib: Library, group: int, variable_id: int, storage: Storage, itemsize: int) -> None:
    """Define filters in the plan's order, which is the library's own."""
    for codec in storage.codecs:
        match codec.id:
            case 3:
                lib.do("nc_def_var_fletcher32", group, variable_id, 1)
            case 2:
                lib.do("nc_def_var_deflate", group, variable_id, 1, 0, 0)
            case 1 if level_of(codec):  # of level 0 the library makes no filter here
                lib.do("nc_def_var_deflate", group, variable_id, 0, 1, level_of(codec))
            case number:
                parameters = codec.parameters
                if number == BLOSC and not any(parameters[:4]):  # what its plug-in notes there: versions and sizes
                    parameters = (2, 2, itemsize, itemsize * math.prod(storage.chunks or ()), *parameters[4:])
                lib.do("nc_def_var_filter", group, variable_id, number, len(parameters), c.make_unsigned(parameters))


def put_attribute(lib: Library, group: int, owner: int, attribute: Attribute, ids: Ids, checked: Checked) -> None:
    """Write one attribute of a group or variable, of any type."""
    value = attribute.value
    name = attribute.name.encode()
    in_memory = c.BYTE_ORDER == "little" and isinstance(value.data, bytes)
    if value.type == "char" or (in_memory and value.type in ATOMIC_IDS):  # bytes of constants are little-endian
        lib.do("nc_put_att", group, owner, name, ATOMIC_IDS[value.type], value.count, value.data)
    else:
        values = constant_values(without_nil(value, checked.types), checked.types)
        lib.do("nc_put_att", group, owner, name, ids.of_type(value.type), value.count, values.address)
