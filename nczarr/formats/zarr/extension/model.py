"""The extension of the four hidden attributes as JSON objects, and named tuples of two of them.

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
the plain keys imply are omitted.

In Zarr v3, the hidden attributes of a node are one attribute `_nczarr`, a JSON
text. xarray carries the attributes of a store into every file that it writes.
netCDF files hold texts, but no objects, and libnetcdf refuses the names
`_nczarr_attr` and the like. zarr-python refuses unknown members of a group's
`zarr.json`.
"""

from __future__ import annotations

import base64
import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal

from nczarr.arrays.values.elements import is_element_name
from nczarr.ast import CompoundType, Constant, EnumConstant, EnumType, Field, OpaqueType, Quantize, UserType, VlenType
from nczarr.ast.dataset import FILTER_LIMIT, Element
from nczarr.ast.plain_json import CARRIED
from nczarr.ast.rectilinear import Lengths, read_lengths
from nczarr.names.records import NamedTuple

if TYPE_CHECKING:
    from nczarr.plan.plans import Runs

Json = dict[str, Any]

VERSION = "1"
"""Version of the extension."""

LARGEST_LENGTH = 2**63 - 1
"""Largest length of a dimension."""


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
    quantize: Quantize | None = None
    """Lossy rounding."""
    nil: Mapping[str, Runs] = MappingProxyType({})
    """Run-length coded linear indices of NIL strings, by part."""
    element: Element | None = None
    """Element type in other stores."""
    axes: tuple[str | None, ...] | None = None
    """Names of anonymous dimensions in a plain store."""
    fill: str | None = None
    """Base64 of one little-endian element: the fill value of a file's dataset that the array does not declare."""

    def to_json(self) -> Json:
        """Return the JSON object, possibly empty."""
        nil = {path: [list(run) for run in runs] for path, runs in self.nil.items() if runs}
        quantize = None if self.quantize is None else [self.quantize.algorithm, self.quantize.digits]
        chunks = self.chunks and [chunk.written if isinstance(chunk, Lengths) else chunk for chunk in self.chunks]
        runs = nil.get("", nil) if len(nil) == 1 else nil or None
        return omit_missing({**self._asdict(), "chunks": chunks, "quantize": quantize, "nil": runs})

    @classmethod
    def from_json(cls, document: Json, refuse: Callable[[str], None]) -> ArrayExtension:
        """Invert `to_json`; call `refuse` with the name of each invalid member."""
        members = {}
        for name, read in _READERS.items():
            if document.get(name) is not None:
                try:
                    members[name] = read(document[name])
                except (KeyError, TypeError, ValueError, AttributeError, IndexError):
                    refuse(name)
        return cls(**members)


def _valid(written: Any, *, when: bool) -> Any:
    """Return a value. Raises ValueError unless it is valid."""
    if not when:
        raise ValueError("not a valid value")
    return written


def _one_of(*words: str) -> Callable[[Any], Any]:
    return lambda written: _valid(written, when=written in words)


def _check_number(written: Any, most: int = LARGEST_LENGTH, least: int = 0) -> Any:
    return _valid(written, when=type(written) is int and least <= written <= most)


def _dimension(written: Any) -> Any:
    return written if isinstance(written, str) else _check_number(written)


def _axis(written: Any) -> str | None:
    name: str | None = _valid(written, when=written is None or isinstance(written, str))
    return name


def _chunk(written: Any) -> Any:
    return read_lengths(written) if isinstance(written, list) else _check_number(written, least=1)


@functools.lru_cache(maxsize=1024)
def _run(first: Any, count: Any) -> tuple[int, int]:
    """Return a run of indices; cached, because variables share runs."""
    return _check_number(first, LARGEST_LENGTH // 2), _check_number(count, LARGEST_LENGTH // 2)


def _filter(written: Any) -> tuple[int, ...]:
    return tuple(_check_number(number, FILTER_LIMIT - 1) for number in _valid(written, when=bool(written)))


_READERS: dict[str, Callable[[Any], Any]] = {
    "type": lambda written: _valid(written, when=isinstance(written, str)),
    "dimensions": lambda written: tuple(map(_dimension, written)),
    "layout": _one_of("contiguous", "compact", "chunked"),
    "chunks": lambda written: tuple(map(_chunk, written)),
    "filters": lambda written: tuple(map(_filter, written)),
    "endian": _one_of("little", "big", "native"),
    "fill_mode": _one_of("fill", "nofill"),
    "quantize": lambda written: Quantize(algorithm=written[0], digits=written[1]),
    "nil": lambda written: {
        part: tuple(_run(*run) for run in runs)
        for part, runs in (written if isinstance(written, dict) else {"": written}).items()
    },
    "element": lambda written: _valid(written, when=is_element_name(written)),
    "axes": lambda written: tuple(map(_axis, _valid(written, when=isinstance(written, list)))),
    "fill": lambda written: written,
}
"""Readers of the members of the extension of an array."""


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
        return omit_missing({"type": value.type, "length": value.count, **content, "at": self.at})

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


def omit_missing(members: Json) -> Json:
    """Omit members with the value None, and convert tuples to lists."""
    present = {key: value for key, value in members.items() if value is not None}
    return {key: list(value) if isinstance(value, tuple) else value for key, value in present.items()}


HIDDEN_PARTS = ("superblock", "group", "array", "attr")
"""Members of the text of a node; with `_nczarr_` before, names of hidden attributes."""


def unpack_attributes(attributes: Json) -> Json:
    """Return attributes with the hidden ones of the text `_nczarr`; those without a valid text as they are."""
    text = attributes.get(CARRIED)
    hidden = _parse(text) if isinstance(text, str) else None
    if hidden is None:
        return attributes
    shown = {f"_nczarr_{what}": hidden[what] for what in HIDDEN_PARTS if isinstance(hidden.get(what), dict)}
    return {name: value for name, value in attributes.items() if name != CARRIED} | shown


@functools.lru_cache(maxsize=64)
def _parse(text: str) -> Json | None:
    """Return the object in a text; None if it is not one."""
    from nczarr.syntax.json.tolerant import NotJsonError, parse

    try:
        value = parse(text.encode("utf-8", "surrogateescape")).value
    except (NotJsonError, UnicodeEncodeError):
        return None
    return value if isinstance(value, dict) else None
