"""The extension as named tuples, one for each hidden attribute, convertible to and from its JSON object.

::

    _nczarr_superblock  {"version": "1", "kind": "nc4", "name": "ocean"}
    _nczarr_group       {"types": [{"name": "obs", "kind": "compound", "fields": [{"name": "t", "type": "int64"}]}],
                         "members": ["obs", "temp", "g1"], "anonymous": ["_Anonymous_Dim_4"],
                         "variable": {"type": "/ragged", "dimensions": ["/time"]}}
    _nczarr_array       {"type": "char", "layout": "contiguous", "filters": [[4, 32, 8]], "nil": [[3, 1]]}
    _nczarr_attr        {"title": {"type": "char", "length": 3, "base64": "YQBi"}}

Types, one object for each, without default members::

    {"name": "colour", "kind": "enum", "base": "byte", "constants": [["red", 0], ["green", 1]]}
    {"name": "key", "kind": "opaque", "size": 16}          {"name": "seq", "kind": "vlen", "base": "int"}
    {"name": "obs", "kind": "compound", "fields": [{"name": "t", "type": "int64"},
                                                   {"name": "v", "type": "float", "shape": [3], "offset": 8}]}

`offset` and `size` are a file's own layout, given only if unusual. Members that
the plain keys imply are omitted. Readers validate external data, not this
module.
"""

from __future__ import annotations

import base64
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any, Literal, NamedTuple

from nczarr.ast import (
    CompoundType,
    Constant,
    EnumConstant,
    EnumType,
    Field,
    Kind,
    OpaqueType,
    Quantize,
    UserType,
    VlenType,
)
from nczarr.ast.rectilinear import Lengths, read_lengths
from nczarr.ast.storage import Element
from nczarr.plan.plans import Runs

Json = dict[str, Any]

VERSION = "1"
"""Version of the extension."""


class Superblock(NamedTuple):
    """Data of the dataset."""

    kind: Kind | None = None
    """Kind of netCDF file."""
    name: str = ""
    """Name of the dataset."""
    model: str | None = None
    """Version of the model, unless 2.0.0."""
    version: str = VERSION
    """Version of the extension."""

    def to_json(self) -> Json:
        """Return the JSON object."""
        return _given({"version": self.version, "kind": self.kind, "name": self.name or None, "model": self.model})

    @classmethod
    def from_json(cls, document: Json) -> Superblock:
        """Invert `to_json`."""
        return cls(document.get("kind"), document.get("name", ""), document.get("model"), document["version"])


class ArrayExtension(NamedTuple):
    """Data of one variable that the plain documents lack."""

    type: str | None = None
    """Atomic type, or FQN of a declared type."""
    dimensions: tuple[str | int, ...] | None = None
    """Dimension references, if some are anonymous or not listed."""
    layout: Literal["contiguous", "compact", "chunked"] | None = None
    """Layout in an HDF5 file."""
    chunks: tuple[int, ...] | None = None
    """Chunk lengths of the model, lists where they differ; None: those of the document, `()`: unchunked."""
    filters: tuple[tuple[int, ...], ...] | None = None
    """HDF5 filter numbers with parameters, in encoding order."""
    endian: Literal["little", "big", "native"] | None = None
    """Byte order."""
    fill_mode: Literal["fill", "nofill"] | None = None
    """Fill mode."""
    quantize: Quantize | None = None
    """Lossy rounding."""
    nil: Mapping[str, Runs] = MappingProxyType({})
    """Run-length coded linear indices of NIL strings, by part."""
    element: Element | None = None
    """Element type in other stores."""
    fill: str | None = None
    """Base64 of one little-endian element: the fill value of a file's dataset that the array does not declare."""

    def to_json(self) -> Json:
        """Return the JSON object, possibly empty."""
        nil = {path: [list(run) for run in runs] for path, runs in self.nil.items() if runs}
        quantize = None if self.quantize is None else [self.quantize.algorithm, self.quantize.digits]
        chunks = self.chunks and [chunk.written if isinstance(chunk, Lengths) else chunk for chunk in self.chunks]
        return _given(
            {
                **self._asdict(),
                "chunks": chunks,
                "quantize": quantize,
                "nil": nil.get("", nil) if len(nil) == 1 else nil or None,
            }
        )

    @classmethod
    def from_json(cls, document: Json) -> ArrayExtension:
        """Invert `to_json`."""
        nil = document.get("nil", {})
        by_path = nil if isinstance(nil, dict) else {"": nil}
        quantize = document.get("quantize")
        filters = document.get("filters")
        return cls(
            document.get("type"),
            _tuple(document.get("dimensions")),
            document.get("layout"),
            None if document.get("chunks") is None else tuple(map(_length, document["chunks"])),
            None if filters is None else tuple(map(tuple, filters)),
            document.get("endian"),
            document.get("fill_mode"),
            Quantize(algorithm=quantize[0], digits=quantize[1]) if quantize else None,
            {path: tuple((first, count) for first, count in runs) for path, runs in by_path.items()},
            document.get("element"),
            document.get("fill"),
        )


class GroupExtension(NamedTuple):
    """Data of one group that the plain documents lack."""

    types: tuple[UserType, ...] = ()
    """Types in definition order."""
    members: tuple[str, ...] | None = None
    """Names of variables, then groups, in definition order; None if the plain lists are complete."""
    anonymous: tuple[str, ...] = ()
    """Names of dimensions that stand for sizes."""
    variable: ArrayExtension | None = None
    """Data of a variable that is stored as a group."""

    def to_json(self) -> Json:
        """Return the JSON object, possibly empty."""
        types = [type_to_json(declared) for declared in self.types]
        variable = None if self.variable is None else self.variable.to_json()
        return _given(
            {"types": types or None, "members": self.members, "anonymous": self.anonymous or None, "variable": variable}
        )

    @classmethod
    def from_json(cls, document: Json) -> GroupExtension:
        """Invert `to_json`."""
        variable = document.get("variable")
        return cls(
            tuple(type_from_json(declared) for declared in document.get("types", ())),
            _tuple(document.get("members")),
            tuple(document.get("anonymous", ())),
            None if variable is None else ArrayExtension.from_json(variable),
        )


class AttributeExtension(NamedTuple):
    """Attribute whose plain form is inexact."""

    value: Constant
    """Type and values."""
    at: int | None = None
    """Index of an attribute without plain form."""

    def to_json(self) -> Json:
        """Return canonical bytes as `base64`; strings and variable-size values as in the AST."""
        value = self.value
        content: Json
        if isinstance(value.data, bytes):
            content = {"base64": base64.b64encode(value.data).decode()}
        else:
            form = value.to_json()
            content = {key: form[key] for key in ("values", "elements") if key in form}
        return _given({"type": value.type, "length": value.count, **content, "at": self.at})

    @classmethod
    def from_json(cls, document: Json) -> AttributeExtension:
        """Invert `to_json`."""
        form: Json = {key: document[key] for key in ("type", "base64", "values", "elements") if key in document}
        if "values" not in form:
            form["count"] = document["length"]
        return cls(Constant.from_json(form), document.get("at"))


def type_to_json(declared: UserType) -> Json:
    """Return a type as a JSON object."""
    document: Json = {"name": declared.name, "kind": declared.kind}
    document |= declared.model_dump(mode="json", exclude_defaults=True, exclude={"name", "kind"})
    if isinstance(declared, EnumType):
        document["constants"] = [[item.name, item.value] for item in declared.constants]
    return document


def type_from_json(document: Json) -> UserType:
    """Invert `type_to_json`. Raises KeyError, ValueError or ValidationError."""
    name = document["name"]
    match document["kind"]:
        case "enum":
            constants = tuple(EnumConstant(name=key, value=value) for key, value in document["constants"])
            return EnumType(name=name, base=document["base"], constants=constants)
        case "opaque":
            return OpaqueType(name=name, size=document["size"])
        case "vlen":
            return VlenType(name=name, base=document["base"])
        case "compound":
            fields = tuple(
                Field(
                    name=item["name"], type=item["type"], shape=tuple(item.get("shape", ())), offset=item.get("offset")
                )
                for item in document["fields"]
            )
            return CompoundType(name=name, fields=fields, size=document.get("size"))
        case other:
            raise ValueError(f"unknown kind of type: {other!r}")


def _given(members: Json) -> Json:
    """Omit members with the value None, and convert tuples to lists."""
    present = {key: value for key, value in members.items() if value is not None}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in present.items()}


def _length(written: Any) -> Any:
    """Return the chunk length of a dimension; an invalid one as it is."""
    if isinstance(written, list):
        with suppress(ValueError):
            return read_lengths(written)
    return written


def _tuple(values: list[Any] | None) -> tuple[Any, ...] | None:
    return None if values is None else tuple(values)
