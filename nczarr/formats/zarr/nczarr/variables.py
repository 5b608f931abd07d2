"""Variables of a hierarchy with hidden attributes: type, dimensions, storage and arrays.

The extension is checked against the plain documents: type against dtype,
dimensions against shape, storage against the model.
"""

from __future__ import annotations

import base64
import functools
from contextlib import suppress
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.chunks.key_segments import paths
from nczarr.arrays.sources.source import ArraySource, Parts, is_number
from nczarr.arrays.values.elements import is_element_name
from nczarr.arrays.values.parts import Types, descr, is_fixed, parts, size
from nczarr.ast import ATOMIC, Codec, Dimension, Storage, UserType, Variable
from nczarr.ast.rectilinear import Lengths
from nczarr.ast.storage import FILTER_LIMIT
from nczarr.check.fill_values import default_fill
from nczarr.check.infer_shapes import check_storage
from nczarr.diagnostics.report import Report
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.core.array_metadata import (
    LARGEST_LENGTH,
    ArrayMetadata,
    made_storage,
    own_fill,
)
from nczarr.formats.zarr.core.attributes import NodeAttributes
from nczarr.formats.zarr.core.read_zarr import with_fill
from nczarr.formats.zarr.core.reader import NodeReader
from nczarr.formats.zarr.core.stored_types import Inventor, holds
from nczarr.formats.zarr.extension.model import ArrayExtension
from nczarr.plan.storage_roundtrip import normalized
from nczarr.syntax.json.positions import pointer

SILENT = ArrayExtension()
"""Extension of a variable without one."""


class Frame(NamedTuple):
    """Declarations for variables by FQN."""

    types: dict[str, UserType]
    """Types."""
    dimensions: dict[str, Dimension]
    """Dimensions."""
    anonymous: dict[str, Dimension]
    """Dimensions that stand for sizes."""
    respelled: dict[str, str]
    """FQNs of renamed dimensions, by their FQN in the store."""


class Variables:
    """Reader of variables; `parts` are the arrays read so far."""

    def __init__(self, reader: NodeReader, frame: Frame) -> None:
        self.reader = reader
        self.documents = reader.documents
        self.frame = frame
        self.parts: dict[str, Parts] = {}
        self._fqns: dict[str, str] = {}

    def sized(self, path: str, dimension: Dimension) -> Dimension:
        """Return a dimension of the tree."""
        return self.frame.dimensions.get(names.join(path, dimension.name), dimension)

    def read(self, path: str, name: str, prefix: str, inventor: Inventor) -> Variable | None:
        """Return the variable at a prefix; None (reported) if unreadable."""
        if self.reader.is_array(prefix):
            described = self.reader.array(prefix)
            return None if described is None else self._array(path, name, described, inventor)
        return self._parts(path, name, prefix)

    def _stale(self, message: str, key: str, where: str = "") -> None:
        self.documents.warn("stale-extension", message, key, where)

    # ---- one array -------------------------------------------------------------------------------------------------
    def _array(self, path: str, name: str, described: ArrayMetadata, inventor: Inventor) -> Variable | None:
        hidden, key = self.reader.hidden(described.prefix, "array")
        extension = self._extension((hidden or {}).get("nczarr", {}), key)
        plain = self._plain_references(hidden, described, key)
        if plain == () and described.shape in ((), (1,)):
            described = described.scalar()
        type_name = self._type(extension, name, described, inventor, key)
        if type_name is None:
            return None
        types = self.frame.types
        if inventor.made:
            types = {**types, **{names.join(path, label): declared for label, declared in inventor.made.items()}}
        references = self._references(extension, plain, described, path, key)
        shape = tuple(ref if isinstance(ref, int) else self.frame.dimensions[ref].size for ref in references)
        attributes = self._attributes(described.attributes, described.prefix, type_name)
        variable = Variable(
            name=name,
            type=type_name,
            dimensions=references,
            attributes=with_fill(attributes, type_name, types, described, self.reader)
            if any(attribute.name == "_FillValue" for attribute in attributes)
            else attributes,
            storage=self._storage(extension, described.storage(texts=False), references, type_name, key),
            span=self.documents.span(described.key),
        )
        nil = extension.nil.get("", ()) if type_name == "string" else ()
        fill = own_fill(type_name, variable.attributes)
        undeclared = self._undeclared_fill(extension, described, type_name, types, key)
        if undeclared is not None:
            described, fill = described._replace(fill=None), undeclared
        source = described.source(self.documents, descr(type_name, types), shape, nil, fill)
        self.parts[names.join(path, name)] = {"": source}
        return variable

    def _undeclared_fill(
        self, extension: ArrayExtension, described: ArrayMetadata, type_name: str, types: Types, key: str
    ) -> bytes | None:
        """Return the fill value that an array of numbers does not declare, from the extension; else None.

        Without one there, it is the default of the type if the fill mode says
        that there is one.
        """
        if not is_number(described.encoding.dtype):
            return None
        if extension.fill is None:
            default = default_fill(type_name, types) if described.fill is None else None
            return (
                default.data if default and extension.fill_mode == "fill" and isinstance(default.data, bytes) else None
            )
        try:
            data = base64.b64decode(extension.fill, validate=True)
        except (TypeError, ValueError):
            data = b""
        if len(data) != size(type_name, types):
            self._stale("`fill` of the array's extension is invalid", key)
            return None
        return data

    def _plain_references(self, hidden: Json | None, described: ArrayMetadata, key: str) -> tuple[str, ...] | None:
        """Return the FQNs in the plain list; `()` for a scalar; None (reported) if missing."""
        hidden = hidden or {}
        references = next((hidden[member] for member in ("dimension_references", "dimrefs") if member in hidden), None)
        if hidden.get("scalar") == 1 or hidden.get("storage") == "scalar":
            return ()
        if not isinstance(references, list) or not all(isinstance(reference, str) for reference in references):
            if described.shape and self.reader.axes_member:
                self.documents.warn("unnamed-dimension", "the array has no list of dimensions: they are anonymous", key)
            return None
        return tuple(self._reference(reference) for reference in references)

    def _type(
        self, extension: ArrayExtension, name: str, described: ArrayMetadata, inventor: Inventor, key: str
    ) -> str | None:
        type_name, types = extension.type, self.frame.types
        if type_name is not None:
            is_known = type_name in ATOMIC or type_name in types
            if (
                is_known
                and (type_name == "string" or is_fixed(type_name, types))
                and holds(described.encoding.dtype, type_name, types)
            ):
                return type_name
            self._stale(f"the array does not hold values of type `{type_name}`", key)
        if described.plain_type is not None:
            text = described.encoding.dtype == "|S1" and self.reader.texts_are_strings
            return "string" if text else described.plain_type
        try:
            return inventor.type_of(described.encoding.dtype, name)
        except ValueError as fault:
            self.documents.lost("unreadable-array", str(fault), described.key)
            return None

    def _references(
        self,
        extension: ArrayExtension,
        plain: tuple[str, ...] | None,
        described: ArrayMetadata,
        path: str,
        key: str,
    ) -> tuple[str | int, ...]:
        """Return the extension's dimensions if they fit the shape, else the plain ones, else sizes."""
        shape = described.shape
        if extension.dimensions is not None:
            resolved = self._resolved(extension.dimensions)
            if self._fit(resolved, shape):
                return resolved
            self._stale("the dimensions of the extension do not match the shape", key)
        if plain is None:
            return shape
        if self._fit(plain, shape):
            return plain
        references: list[str | int] = []
        for number, length in enumerate(shape):
            reference = plain[number] if len(plain) == len(shape) else None
            if reference is not None and self._fit((reference,), (length,)):
                references.append(reference)
                continue
            references.append(length)
            stands = self.frame.anonymous.get(reference or "")
            if stands is None or stands.size != length:
                what = (
                    "a dimension has no name" if reference is None else f"`{reference}` does not have length {length}"
                )
                self.documents.warn("unnamed-dimension", f"{what}: it is anonymous", key, pointer("_nczarr_array"))
        return tuple(references)

    def _resolved(self, references: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return unescaped references as FQNs."""
        return tuple(
            self._reference(reference) if isinstance(reference, str) else reference for reference in references
        )

    def _reference(self, written: str) -> str:
        """Return the FQN of an unescaped path; cached, because variables share dimensions."""
        fqn = self._fqns.get(written)
        if fqn is None:
            fqn = self._fqns[written] = self._fqn(written)
        return fqn

    def _fqn(self, written: str) -> str:
        *groups, last = written.removeprefix("/").split("/")
        groups = [names.normal(group) for group in groups]
        return self.frame.respelled.get(names.fqn([*groups, last])) or names.fqn([*groups, names.normal(last)])

    def _fit(self, references: tuple[str | int, ...], shape: tuple[int, ...]) -> bool:
        """Return whether dimensions have these lengths; unlimited ones may be longer."""
        if len(references) != len(shape):
            return False
        for reference, length in zip(references, shape, strict=True):
            if isinstance(reference, int):
                if reference != length:
                    return False
                continue
            dimension = self.frame.dimensions.get(reference)
            if dimension is None or not (dimension.size == length or (dimension.unlimited and length < dimension.size)):
                return False
        return True

    # ---- a group of parts ------------------------------------------------------------------------------------------
    def _parts(self, path: str, name: str, prefix: str) -> Variable | None:
        hidden, key = self.reader.hidden(prefix, "group")
        extension = self._extension(((hidden or {}).get("nczarr") or {}).get("variable"), key)
        type_name = extension.type or ""
        types = self.frame.types
        references = self._resolved(extension.dimensions or ())
        are_known = all(isinstance(reference, int) or reference in self.frame.dimensions for reference in references)
        if type_name not in types or is_fixed(type_name, types) or not are_known:
            text = f"variable `{name}` has an undefined type or dimension"
            self.documents.lost("unreadable-array", text, key)
            return None
        shape = tuple(
            reference if isinstance(reference, int) else self.frame.dimensions[reference].size
            for reference in references
        )
        sources: dict[str, ArraySource] = {}
        pieces = list(parts(type_name, shape, types))
        places = paths(piece.path for piece in pieces) if self.reader.portable_names else {}
        for part in pieces:
            inside = f"{prefix}{places.get(part.path, part.path)}/"
            described = self.reader.array(inside) if self.reader.is_array(inside) else None
            wrong = None
            if described is None:
                wrong = "is missing"
            elif not holds(described.encoding.dtype, part.type, types):
                wrong = f"does not hold values of type `{part.type}`"
            elif len(described.shape) != len(part.shape) or any(
                length is not None and length != stored
                for length, stored in zip(part.shape, described.shape, strict=False)
            ):
                wrong = "does not have the shape of the variable"
            if described is None or wrong is not None:
                text = f"variable `{name}` cannot be read: its part `{part.path}` {wrong}"
                self.documents.lost("unreadable-array", text, key)
                return None
            nil = extension.nil.get(part.path, ()) if part.type == "string" else ()
            sources[part.path] = described.source(self.documents, descr(part.type, types), described.shape, nil)
        self.parts[names.join(path, name)] = sources
        return Variable(
            name=name,
            type=type_name,
            dimensions=references,
            attributes=self._attributes(self.reader.attributes(prefix), prefix, type_name),
            storage=self._storage(extension, Storage(), references, type_name, key),
            span=self.documents.span(key),
        )

    # ---- what the extension says -----------------------------------------------------------------------------------
    def _attributes(self, document: Json, prefix: str, type_name: str) -> tuple[Any, ...]:
        hidden, _ = self.reader.hidden(prefix, "attr")
        return NodeAttributes(self.documents, self.frame.types).read(
            document,
            self.reader.key(prefix),
            hidden,
            lambda value: self.reader.own_fill(type_name, value),
            self.reader.shown_fill,
        )

    def _extension(self, written: Any, key: str) -> ArrayExtension:
        """Return the extension of a variable, without invalid members."""
        if written == {}:
            return SILENT
        try:
            extension = ArrayExtension.from_json(written)
            nil = {part: runs for part, runs in extension.nil.items() if all(_is_run(run) for run in runs)}
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self._stale("the extension of the array cannot be read", key)
            return ArrayExtension()
        checks = {
            "type": extension.type is None or isinstance(extension.type, str),
            "dimensions": extension.dimensions is None
            or all(
                isinstance(dimension, str) or (type(dimension) is int and 0 <= dimension <= LARGEST_LENGTH)
                for dimension in extension.dimensions
            ),
            "layout": extension.layout in (None, "contiguous", "compact", "chunked"),
            "chunks": extension.chunks is None
            or all(isinstance(chunk, Lengths) or (type(chunk) is int and chunk > 0) for chunk in extension.chunks),
            "filters": extension.filters is None
            or all(codec and _is_run(codec, FILTER_LIMIT - 1) for codec in extension.filters),
            "endian": extension.endian in (None, "little", "big", "native"),
            "fill_mode": extension.fill_mode in (None, "fill", "nofill"),
            "nil": len(nil) == len(extension.nil),
            "element": extension.element is None or is_element_name(extension.element),
        }
        wrong = [member for member, right in checks.items() if not right]
        for member in wrong:
            self._stale(f"`{member}` of the array's extension is invalid", key)
        defaults: dict[str, Any] = {member: {} if member == "nil" else None for member in wrong}
        return extension._replace(**defaults)

    def _storage(
        self,
        extension: ArrayExtension,
        plain_storage: Storage,
        references: tuple[str | int, ...],
        type_name: str,
        key: str,
    ) -> Storage:
        """Return the plain documents' storage, updated by a valid extension."""
        dimensions = [
            self.frame.dimensions[reference] if isinstance(reference, str) else Dimension(name="_", size=reference)
            for reference in references
        ]
        filters, endian = extension.filters, extension.endian
        plainly = normalized(
            plain_storage,
            tuple(dimension.size for dimension in dimensions),
            type_name,
            tuple(dimension.unlimited for dimension in dimensions),
        )
        if extension is SILENT:
            return plainly
        storage: Storage | None = None
        with suppress(ValueError):
            storage = made_storage(
                extension.layout,
                plainly.chunks if extension.chunks is None else extension.chunks or None,
                plainly.codecs
                if filters is None
                else tuple(Codec(id=codec[0], parameters=codec[1:]) for codec in filters),
                plainly.endian if endian is None else None if endian == "native" else endian,
                plainly.no_fill if extension.fill_mode is None else extension.fill_mode == "nofill",
                extension.quantize,
                plainly.element or extension.element,
            )
        report = Report()
        if storage is not None:
            named = Variable(name="_", type=type_name, storage=storage)
            check_storage(named, dimensions, self.frame.types, report)
        if storage is None or report.errors:
            self._stale("the storage in the extension does not suit the array", key)
            return plainly
        return storage


@functools.lru_cache(maxsize=1024)
def _is_run(run: tuple[Any, ...], most: int = LARGEST_LENGTH // 2) -> bool:
    """Return whether all items are integers within a limit."""
    return all(type(number) is int and 0 <= number <= most for number in run)
