"""Programs in Python for netCDF4-python."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.ast.plain_json import is_utf8
from nczarr.plugins.generate.growth import LastRecord, find_unrecorded, list_last_records
from nczarr.plugins.generate.model import Schema, SchemaAttribute, SchemaDimension, SchemaVariable
from nczarr.plugins.generate.render import array_of, literal, render
from nczarr.sdk import ATOMIC, Checked, Report, names, np

RESERVED = frozenset({*keyword.kwlist, *dir(builtins), "np", "sys", "netCDF4", "create", "write", "dataset", "main"})

CODES = {
    "byte": "i1", "ubyte": "u1", "char": "S1", "short": "i2", "ushort": "u2", "int": "i4", "uint": "u4",
    "int64": "i8", "uint64": "u8", "float": "f4", "double": "f8",
}  # fmt: skip
"""Types of NumPy by atomic type."""

FORMATS = {
    None: "NETCDF4", "nc3": "NETCDF3_CLASSIC", "nc6": "NETCDF3_64BIT_OFFSET", "nc5": "NETCDF3_64BIT_DATA",
    "nc4": "NETCDF4", "nc7": "NETCDF4_CLASSIC",
}  # fmt: skip

PLAIN_CODECS = {1: "zlib", 2: "shuffle", 3: "fletcher32"}
QUANTIZATIONS = {"bitgroom": "BitGroom", "granularbitround": "GranularBitRound", "bitround": "BitRound"}
COMPRESSIONS = {"zstd": "zstd", "bzip2": "bzip2"}


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what netCDF4-python cannot express: FQN and reason."""
    yield from schema.find_large()
    yield from schema.find_reserved()
    yield from schema.find_undefined()
    for declared in schema.types.values():
        if declared.kind == "opaque":
            yield declared.path, "netCDF4-python has no opaque types"
        if declared.kind == "vlen" and declared.base not in CODES:
            yield declared.path, "lists of netCDF4-python have numbers"
        if declared.kind == "compound":
            for field in declared.fields:
                kind = None if field.type in ATOMIC else schema.types[field.type].kind
                if field.type == "string" or kind in ("vlen", "enum", "opaque") or (field.shape and kind == "compound"):
                    yield (
                        declared.path,
                        f"its field `{field.name}` is of a type that netCDF4-python has not in compounds",
                    )
    yield from list_attribute_obstacles(schema)
    yield from find_unrecorded(schema, _has_writable_fill)
    for variable in schema.variables:
        if variable.storage.no_fill and any(one.name == "_FillValue" for one in variable.attributes):
            yield variable.path, "netCDF4-python has a fill value or none, not an attribute alone"
        if any(isinstance(one, int) for one in variable.dimensions):
            yield variable.path, "it has an anonymous dimension, and dimensions of netCDF have names"
        yield from list_string_obstacles(variable, "netCDF4-python")
        yield from list_layout_obstacles(variable)
        if variable.has_values and _has_mistaken_shape(variable):
            yield variable.path, "netCDF4-python takes the nearest dimension of a name for that of the variable"
        if variable.storage.no_fill and variable.type not in ATOMIC:
            yield variable.path, "netCDF4-python leaves no cells of user-defined types undefined"
        if variable.has_values and has_unnamed(variable):
            yield variable.path, "netCDF4-python writes only those values of an enum that have names"
        yield from list_compression_obstacles(variable)
        for codec in variable.storage.codecs:
            if codec.id not in PLAIN_CODECS and codec.name not in COMPRESSIONS:
                yield variable.path, f"netCDF4-python has no argument for the filter {codec.id}"


def _has_mistaken_shape(variable: SchemaVariable) -> bool:
    return any(_is_mistaken(one, nearest) for one, nearest in variable.find_hidden())


def _is_mistaken(dimension: SchemaDimension, nearest: SchemaDimension | None) -> bool:
    """Return whether netCDF4-python has another length of a dimension than the file."""
    is_fixed = nearest is not None and not (dimension.unlimited or nearest.unlimited)
    return nearest is None or not is_fixed or dimension.size != nearest.size


def list_layout_obstacles(variable: SchemaVariable) -> Iterator[tuple[str, str]]:
    """Yield the variable if no argument says how it lies in the file: FQN and reason."""
    if variable.storage.layout == "compact" or variable.has_default_chunks:
        yield variable.path, "netCDF4-python has no compact layout, and no chunks without lengths"


def list_compression_obstacles(variable: SchemaVariable) -> Iterator[tuple[str, str]]:
    """Yield the variable if it is compressed more than once: FQN and reason."""
    if sum(codec.id == 1 or codec.name in COMPRESSIONS for codec in variable.storage.codecs) > 1:
        yield variable.path, "netCDF4-python compresses a variable once"


def has_missing(values: Any) -> bool:
    """Return whether strings, or a single one, have a missing one."""
    return None in np.asarray(values, object).reshape(-1)


def list_string_obstacles(variable: SchemaVariable, library: str) -> Iterator[tuple[str, str]]:
    """Yield the variable if it has strings that libraries for Python cannot write: FQN and reason."""
    if variable.type != "string" or not variable.has_values:
        return
    if has_missing(variable.values):
        yield variable.path, f"{library} writes no missing string"
    elif not all(one.isascii() or is_utf8(one) for one in map(_encode, np.asarray(variable.values, object).flat)):
        yield variable.path, "strings of Python are UTF-8"


def _encode(value: str | bytes) -> bytes:
    return value if isinstance(value, bytes) else value.encode("utf-8", "surrogateescape")


def has_unnamed(variable: SchemaVariable) -> bool:
    """Return whether an enum variable has a value without a name; cells without a value may."""
    declared = variable.schema.types.get(variable.type)
    if declared is None or declared.kind != "enum":
        return False
    values = variable.values if variable.has_values else variable.fill
    return not np.isin(values, [value for _, _, value in declared.constants]).all()


def _has_writable_fill(variable: SchemaVariable) -> bool:
    return not has_unnamed(variable) and not _has_mistaken_shape(variable)


def list_attribute_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield the attributes that netCDF4-python cannot express: FQN and reason."""
    for place, attribute in schema.attributes:
        if attribute.type not in ATOMIC:
            yield place, "attributes of netCDF4-python have atomic types"
        if attribute.type == "string" and (None in attribute.constant.data or not attribute.count):
            yield place, "netCDF4-python writes no missing string, and no attribute without strings"
        if attribute.type == "string" and not all(
            is_utf8(one) for one in attribute.constant.data if isinstance(one, bytes)
        ):
            yield place, "strings of Python are UTF-8"
        if attribute.type == "char" and not _is_writable_text(attribute.text, schema):
            name = place.rpartition("@")[2]
            text = "netCDF4-python writes texts that are empty, beyond ASCII, or end with NUL as strings"
            yield place, f"{text}; declare it so, as `string :{name}`"


def _is_writable_text(data: bytes, schema: Schema) -> bool:
    is_classic = FORMATS[schema.kind].startswith("NETCDF3")
    return not data.endswith(b"\0") and bool(data) and (data.isascii() or (is_classic and is_utf8(data)))


def list_assignments(variable: SchemaVariable) -> Iterator[str]:
    """Yield the statements that write the values of a variable."""
    own, kind = variable.identifier, variable.type
    declared = None if kind in ATOMIC else variable.schema.types[kind]
    if declared is not None and declared.kind == "vlen":
        cells = np.ndindex(*variable.shape) if variable.rank else [()]
        for index in cells:
            cell = variable.values[index] if variable.rank else variable.values
            place = ", ".join(map(str, index)) or "..."
            yield f"{own}[{place}] = {array_of(cell, declared.base, [len(cell)])}"
        return
    slices = ", ".join(f"0:{length}" for length in variable.shape) or "..."
    base = declared.base if declared is not None and declared.kind == "enum" else kind
    dtype = f"{own}.dtype" if declared is not None and declared.kind == "compound" else None
    yield f"{own}[{slices}] = {array_of(variable.values, base, variable.shape, dtype)}"


def write_last_record(record: LastRecord) -> str:
    """Return the statement that gives an unlimited dimension its length."""
    variable, own = record.variable, record.variable.identifier
    declared = variable.schema.types.get(variable.type)
    if declared is not None and declared.kind == "vlen":
        return f"{own}[{', '.join(map(str, record.start))}] = np.array([], dtype={literal(CODES[declared.base])})"
    place, shape = ", ".join(f"{one}:{one + 1}" for one in record.start), (1,) * variable.rank
    if declared is not None and declared.kind == "compound":
        return f"{own}[{place}] = np.zeros({shape!r}, {own}.dtype)"
    fill = variable.fill
    value = fill if variable.type == "char" else np.full(shape, fill, object if variable.type == "string" else None)
    return f"{own}[{place}] = {array_of(value, variable.type if declared is None else declared.base, shape)}"


def list_arguments(variable: SchemaVariable) -> list[str]:
    """Return the arguments of `createVariable` behind the dimensions."""
    storage, arguments = variable.storage, []
    fill = next((one for one in variable.attributes if one.name == "_FillValue"), None)
    if fill is not None:
        arguments.append(f"fill_value={_fill_of(variable, fill)}")
    elif storage.no_fill:
        arguments.append("fill_value=False")
    codecs = {codec.id: codec for codec in storage.codecs}
    if 1 in codecs:
        arguments += ['compression="zlib"', f"complevel={codecs[1].parameters[0] if codecs[1].parameters else 4}"]
    for codec in codecs.values():
        if (name := COMPRESSIONS.get(codec.name or "")) is not None:
            arguments += [f'compression="{name}"', f"complevel={codec.parameters[0] if codec.parameters else 3}"]
    if 1 in codecs or 2 in codecs:
        arguments.append(f"shuffle={2 in codecs}")
    if 3 in codecs:
        arguments.append("fletcher32=True")
    if storage.chunks and variable.rank:
        arguments.append(f"chunksizes={tuple(map(int, storage.chunks))}")
    elif storage.layout == "contiguous":
        arguments.append("contiguous=True")
    if storage.quantize is not None:
        mode = QUANTIZATIONS[storage.quantize.algorithm]
        arguments += [f"significant_digits={storage.quantize.digits}", f'quantize_mode="{mode}"']
    if storage.endian:
        arguments.append(f'endian="{storage.endian}"')
    return arguments


def _list_dimensions(variable: SchemaVariable, variable_of: Mapping[str, str]) -> str:
    """Return the dimensions of a variable: names, and objects where a nearer group has the name too."""
    shown, hidden = [], [one for one, _ in variable.find_hidden()]
    for dimension in variable.dimensions:
        assert not isinstance(dimension, int)
        home, by_name = names.parent(dimension.path), literal(dimension.name)
        shown.append(f"{variable_of[home]}.dimensions[{by_name}]" if dimension in hidden else by_name)
    return f"({', '.join(shown)}{',' if len(shown) == 1 else ''})"


def _fill_of(variable: SchemaVariable, fill: SchemaAttribute) -> str:
    declared = variable.schema.types.get(variable.type)
    return array_of(fill.value, declared.base if declared is not None else variable.type, ())


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of a program by name."""
    schema = Schema(checked, name, RESERVED)
    if schema.refuse(find_obstacles(schema), "program for netCDF4-python", report):
        return {}

    def type_of(type_name: str) -> str:
        if type_name == "string":
            return "str"
        return literal(CODES[type_name]) if type_name in CODES else schema.types[type_name].identifier

    def dtype_of(type_name: str) -> str:
        if type_name in CODES:
            return literal(CODES[type_name])
        declared = schema.types[type_name]
        return f"{declared.identifier}.dtype"

    variable_of = {group.path: group.identifier for group in schema.groups}
    context: dict[str, Any] = {
        "schema": schema,
        "format": FORMATS[schema.kind],
        "type_of": type_of,
        "dtype_of": dtype_of,
        "arguments": list_arguments,
        "array": array_of,
        "literal": literal,
        "groups_by_path": variable_of,
        "parent": names.parent,
        "text_of": lambda attribute: literal(attribute.text.decode("utf-8", "surrogateescape")),
        "dimensions_of": lambda variable: _list_dimensions(variable, variable_of),
        "assignments": list_assignments,
        "last_records": list_last_records(schema, _has_writable_fill),
        "write_last_record": write_last_record,
    }
    return {f"{schema.name}.py": render("python/netcdf4.py.j2", context)}
