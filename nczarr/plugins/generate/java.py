"""Programs in Java for netCDF-Java: a class that creates and writes the dataset."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.ast.plain_json import is_utf8
from nczarr.plugins.generate.growth import LastRecord, find_unrecorded, list_last_records
from nczarr.plugins.generate.model import Schema, SchemaVariable, UniqueIdentifiers, write_camel
from nczarr.plugins.generate.render import render, wrap
from nczarr.sdk import ATOMIC, Checked, Report, Storage, names, np

RESERVED = frozenset(
    "abstract assert boolean break byte case catch char class const continue default do double else enum extends final "
    "finally float for goto if implements import instanceof int interface long native new package private protected "
    "public return short static strictfp super switch synchronized this throw throws transient try void volatile while "
    "true false null var record yield sealed root writer path values create write main arguments Array DataType Group "
    "InvalidRangeException Attribute Dimension NetcdfFileWriter Variable List String System IOException Object".split()
)
TYPES = {
    "byte": "BYTE", "ubyte": "UBYTE", "char": "CHAR", "short": "SHORT", "ushort": "USHORT", "int": "INT",
    "uint": "UINT", "int64": "LONG", "uint64": "ULONG", "float": "FLOAT", "double": "DOUBLE", "string": "STRING",
}  # fmt: skip
JAVA = {
    "byte": "byte", "ubyte": "byte", "char": "char", "short": "short", "ushort": "short", "int": "int", "uint": "int",
    "int64": "long", "uint64": "long", "float": "float", "double": "double", "string": "String",
}  # fmt: skip
"""Types of Java by atomic type: integers without sign have the bits of those with one."""

CLASSIC = ("byte", "char", "short", "int", "float", "double")
BLOCK = 1000
"""Elements that one method sets."""
MOST = 30_000
"""Most numbers of a program: a class has at most 65535 constants."""


def number(value: Any, type_name: str) -> str:
    """Return a number as a constant of Java, exactly."""
    own = JAVA[type_name]
    if own in ("float", "double"):
        ending = "f" if own == "float" else ""
        box = own.capitalize()
        if math.isnan(value):
            return f"{box}.NaN"
        if math.isinf(value):
            return f"{box}.{'POSITIVE' if value > 0 else 'NEGATIVE'}_INFINITY"
        return f"{np.float32(value) if own == 'float' else repr(float(value))}{ending}"
    bits = 8 * ATOMIC[type_name].size
    signed = (int(value) + (1 << bits - 1)) % (1 << bits) - (1 << bits - 1)  # Java has no unsigned types
    return f"{signed}L" if own == "long" else str(signed)


def text(value: str) -> str:
    """Return a text as a literal in ASCII."""
    shown = []
    for unit in np.frombuffer(value.encode("utf-16-le", "surrogatepass"), "<u2").tolist():
        character = chr(unit)
        plain = f"\\{character}" if character in '"\\' else character
        octal = f"\\{unit:03o}" if unit < 256 else f"\\u{unit:04x}"  # `\u000a` would end the line: Java reads it first
        shown.append(plain if 32 <= unit < 127 else octal)
    return f'"{"".join(shown)}"'


def find_obstacles(schema: Schema) -> Iterator[tuple[str, str]]:
    """Yield what netCDF-Java cannot write: FQN and reason."""
    yield from schema.find_large()
    yield from schema.find_types()
    yield from find_unrecorded(schema, lambda variable: variable.type in ATOMIC)
    if schema.kind == "nc5":
        yield "/", "netCDF-Java writes no CDF-5"
    for node in (*schema.groups, *schema.dimensions.values(), *schema.variables):
        if any(" " in name for name in names.split(node.path)):
            yield node.path, "netCDF-Java writes a blank in a name as an underscore"
    total = 0
    for variable in schema.variables:
        storage = variable.storage
        total += math.prod(variable.shape) if variable.has_values and variable.type != "char" else 0
        if variable.type not in ATOMIC:
            yield variable.path, "programs in Java have variables of atomic types"
        if any(isinstance(one, int) for one in variable.dimensions):
            yield variable.path, "it has an anonymous dimension, and dimensions of netCDF have names"
        if storage != Storage():
            yield variable.path, "netCDF-Java chooses chunks, compression and byte order of a whole file"
        if (
            variable.type == "string"
            and variable.has_values
            and None in np.asarray(variable.values, object).reshape(-1)
        ):
            yield variable.path, "netCDF-Java writes no missing string"
        if variable.type == "char" and math.prod(variable.shape) > MOST:
            yield variable.path, "a text of Java has at most 65535 bytes"
        if total > MOST:
            yield variable.path, f"a program in Java has at most {MOST} numbers"
    for place, attribute in schema.attributes:
        if " " in attribute.name:
            yield place, "netCDF-Java writes a blank in a name as an underscore"
        if attribute.type not in ATOMIC or attribute.type == "string" or not attribute.count:
            yield place, "programs in Java have attributes of numbers and chars"
        if attribute.type == "char" and (b"\0" in attribute.text or not is_utf8(attribute.text)):
            yield place, "texts of netCDF-Java are UTF-8 without NUL"


def is_classic(schema: Schema) -> bool:
    """Return whether a file of the classic model holds the schema."""
    growing = [one for one in schema.dimensions.values() if one.unlimited]
    inner = [one for variable in schema.variables for one in variable.dimensions[1:]]
    types = {*(one.type for one in schema.variables), *(one.type for _, one in schema.attributes)}
    is_plain = len(schema.groups) == 1 and types.issubset(CLASSIC)
    return is_plain and len(growing) < 2 and not any(one in growing for one in inner)


def _write_array(values: Any, type_name: str) -> str:
    items = [number(one, type_name) for one in np.asarray(values).reshape(-1).tolist()]
    return f"new {JAVA[type_name]}[] {{{', '.join(items)}}}"


def _list_value_blocks(variable: SchemaVariable) -> list[tuple[int, str]]:
    """Return the values as array literals, each with the number of its first element."""
    if variable.type == "string":
        values = [variable.values] if not variable.rank else np.asarray(variable.values, object).reshape(-1).tolist()
        items = ", ".join(text(str(one)) for one in values)
        return [(0, f"new String[] {{{items}}}")]
    flat = np.asarray(variable.values).reshape(-1)
    return [(at, _write_array(flat[at : at + BLOCK], variable.type)) for at in range(0, len(flat), BLOCK)]


def _write_fill(record: LastRecord) -> str:
    """Return the array of the fill value."""
    variable = record.variable
    if variable.type == "char":
        return f"{text(variable.fill.decode('latin-1'))}.toCharArray()"
    if variable.type == "string":
        return f"new String[] {{{text(variable.fill)}}}"
    return _write_array([variable.fill], variable.type)


def _list_rows(variable: SchemaVariable) -> list[str]:
    data = np.asarray(variable.values, "S1").tobytes().decode("latin-1")
    length = variable.shape[-1] if variable.rank else 1
    return [text(data[at : at + length]) for at in range(0, len(data), length)]


def _continue(expression: str, indent: int) -> str:
    """Return an array of numbers on as many lines as it needs."""
    found = re.fullmatch(r"(new \w+\[\] \{)([^\"]*)(\})", expression)
    if found is None or len(expression) < 90:
        return expression
    margin = " " * indent
    return f"{found[1]}\n{margin}{wrap(found[2].split(', '), indent)}\n{margin[4:]}{found[3]}"


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the file of a program by name."""
    schema = Schema(checked, name, RESERVED)
    if schema.refuse(find_obstacles(schema), "program in Java", report):
        return {}
    schema.name = schema.identifiers.make(write_camel(schema.name))
    methods = UniqueIdentifiers()  # `lon` and `Lon` are one in camel case
    camels = {variable.path: methods.make(write_camel(variable.identifier)) for variable in schema.variables}
    version = "netcdf3" if schema.kind in ("nc3", "nc6") or (schema.kind is None and is_classic(schema)) else "netcdf4"
    context: dict[str, Any] = {
        "schema": schema,
        "version": "netcdf4_classic" if schema.kind == "nc7" else version,
        "uses_attributes": any(True for _ in schema.attributes),
        "types": TYPES,
        "java": JAVA,
        "text": text,
        "decode": lambda data: data.decode("utf-8"),
        "array": _write_array,
        "continued": _continue,
        "camel": lambda variable: camels[variable.path],
        "path_of": lambda variable: names.split(variable.path),
        "blocks": _list_value_blocks,
        "rows": _list_rows,
        "last_records": list_last_records(schema, lambda variable: variable.type in ATOMIC),
        "fill": _write_fill,
        "size": lambda variable: math.prod(variable.shape),
    }
    return {f"{schema.name}.java": render("java/writer.java.j2", context)}
