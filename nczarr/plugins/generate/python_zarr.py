"""Programs in Python for zarr-python, which write NCZarr stores of Zarr v2 and v3."""

from __future__ import annotations

import builtins
import keyword
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.plugins.generate.documents import PlannedDocuments, find_absent, read_documents
from nczarr.plugins.generate.model import Schema, SchemaVariable
from nczarr.plugins.generate.python_netcdf4 import list_string_obstacles
from nczarr.plugins.generate.render import array_of, literal, render
from nczarr.sdk import ATOMIC, NUMPY, Checked, Report, names

WORDS = "base64 json struct np numcodecs sys zarr declare add_array create write main"
RESERVED = frozenset({*keyword.kwlist, *dir(builtins), *WORDS.split()})


def find_obstacles(schema: Schema, documents: Mapping[str, PlannedDocuments]) -> Iterator[tuple[str, str]]:
    """Yield what zarr-python cannot express: FQN and reason."""
    yield from schema.find_large()
    yield from find_absent(schema, dict(documents))
    for node in schema.nodes:
        if any("\\" in name for name in names.split(node.path)):
            yield node.path, "zarr-python takes a backslash in a name for a slash"
    for declared in schema.types.values():
        for field in declared.fields if declared.kind == "compound" else ():
            kind = field.type if field.type in ATOMIC else schema.types[field.type].kind
            if field.shape or kind in ("string", "opaque", "vlen", "compound"):
                yield declared.path, f"its field `{field.name}` is of a type that zarr-python has not in structures"
    for variable in schema.variables:
        yield from list_string_obstacles(variable, "zarr-python")
        if variable.path in documents and chunks_of(documents[variable.path]) is None:
            yield variable.path, "its chunks differ in length"


def chunks_of(documents: PlannedDocuments) -> tuple[int, ...] | None:
    """Return the chunk lengths of an array of Zarr v3; None if they are not regular."""
    grid = documents.metadata["chunk_grid"]
    lengths = grid["configuration"].get("chunk_shape") if grid["name"] == "regular" else None
    return None if lengths is None else tuple(lengths)


class ZarrProgram:
    """Expressions of one program."""

    def __init__(self, schema: Schema, report: Report) -> None:
        self.schema = schema
        self.plain, self.nodes = (read_documents(schema, version, report) for version in (2, 3))
        for documents in self.nodes.values():
            for word in ("version", "format"):  # they depend on the version of Zarr
                documents.nczarr.get("superblock", {}).pop(word, None)

    def dtype_of(self, type_name: str, endian: str | None = None) -> str:
        """Return the expression of a type as NumPy has it."""
        if type_name == "string":
            return "str"
        if type_name in ATOMIC:
            code = NUMPY[type_name].lstrip("<|")
            return literal(f">{code}" if endian == "big" and code[-1] != "1" else code)
        declared = self.schema.types[type_name]
        match declared.kind:
            case "enum":
                return self.dtype_of(declared.base, endian)
            case "opaque":
                return literal(f"V{declared.size}")
            case _:
                return declared.identifier

    def array(self, variable: SchemaVariable) -> str:
        """Return the expression of all values."""
        declared = self.schema.types.get(variable.type)
        base = declared.base if declared is not None and declared.kind == "enum" else variable.type
        dtype = self.dtype_of(base) if base not in ATOMIC else None
        return array_of(variable.values, base, variable.shape, dtype)

    def fill(self, variable: SchemaVariable) -> str | None:
        """Return the expression of the fill value, None for zeros."""
        base = variable.type
        if base not in ATOMIC and self.schema.types[base].kind == "enum":
            base = self.schema.types[base].base
        stated = next((one.value for one in variable.attributes if one.name == "_FillValue"), None)
        if stated is not None:
            return array_of(stated, base, (), None if base in ATOMIC else self.dtype_of(base))
        value = self.nodes[variable.path].metadata["fill_value"]
        if base in ("char", "string") or base not in ATOMIC:
            return None
        return literal(float(value) if ATOMIC[base].is_float else value)

    def codecs(self, variable: SchemaVariable) -> str | None:
        """Return the codecs in order by version of Zarr, None for none."""
        two, three = self.plain[variable.path].metadata, self.nodes[variable.path].metadata["codecs"]
        is_big = variable.storage.endian == "big" and three[0].get("configuration", {}).get("endian") == "big"
        if not variable.storage.codecs and not is_big:
            return None
        chain = [*(two["filters"] or []), *filter(None, [two["compressor"]])]
        return literal({2: chain, 3: three})

    def attributes(self, variable: SchemaVariable) -> dict[str, Any]:
        """Return the attributes, with a `_FillValue` that is a number."""
        plain, own = self.plain[variable.path].attributes, self.nodes[variable.path].attributes
        return {name: plain.get(name, value) for name, value in own.items()}

    def nczarr(self, variable: SchemaVariable) -> dict[str, Any]:
        """Return the attributes of NCZarr, which hold for both versions."""
        parts = dict(self.nodes[variable.path].nczarr)
        if variable.type == "char":
            parts["array"] = parts["array"] | {"nczarr": parts["array"].get("nczarr", {}) | {"type": "char"}}
        return parts


def generate(checked: Checked, name: str, report: Report) -> Mapping[str, str]:
    """Return the files of a program by name."""
    schema = Schema(checked, name, RESERVED)
    program = ZarrProgram(schema, report)
    if report.errors or schema.refuse(find_obstacles(schema, program.nodes), "program for zarr-python", report):
        return {}
    context: dict[str, Any] = {
        "schema": schema,
        "nodes": program.nodes,
        "attributes": program.attributes,
        "literal": literal,
        "chunks": chunks_of,
        "dtype_of": program.dtype_of,
        "array": program.array,
        "fill": program.fill,
        "codecs": program.codecs,
        "nczarr": program.nczarr,
    }
    return {f"{schema.name}.py": render("python/zarr.py.j2", context)}
