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
from nczarr.arrays.elements import is_element_name
from nczarr.arrays.key_segments import paths
from nczarr.arrays.parts import Types, descr, is_fixed, parts, size
from nczarr.arrays.source import ArraySource, Parts, is_number
from nczarr.ast import ATOMIC, Codec, Dimension, Storage, UserType, Variable
from nczarr.ast.rectilinear import Lengths
from nczarr.ast.storage import FILTER_LIMIT
from nczarr.check.fill_values import default_fill
from nczarr.check.infer_shapes import check_storage
from nczarr.diagnostics.report import Report
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
from nczarr.json.documents import Json
from nczarr.json.positions import pointer
from nczarr.plan.storage_roundtrip import normalized

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
            types = {**types, **{names.join(path, each): made for each, made in inventor.made.items()}}
        references = self._references(extension, plain, described, path, key)
        shape = tuple(ref if isinstance(ref, int) else self.frame.dimensions[ref].size for ref in references)
        attributes = self._attributes(described.attributes, described.prefix, type_name)
        variable = Variable(
            name=name,
            type=type_name,
            dimensions=references,
            attributes=with_fill(attributes, type_name, types, described, self.reader)
            if any(each.name == "_FillValue" for each in attributes)
            else attributes,
            storage=self._storage(extension, described.storage(texts=False), references, type_name, key),
            span=self.documents.span(described.key),
        )
        nil = extension.nil.get("", ()) if type_name == "string" else ()
        own = own_fill(type_name, variable.attributes)
        undeclared = self._undeclared_fill(extension, described, type_name, types, key)
        if undeclared is not None:
            described, own = described._replace(fill=None), undeclared
        source = described.source(self.documents, descr(type_name, types), shape, nil, own)
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
            found = default_fill(type_name, types) if described.fill is None else None
            return found.data if found and extension.fill_mode == "fill" and isinstance(found.data, bytes) else None
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
        given = next((hidden[each] for each in ("dimension_references", "dimrefs") if each in hidden), None)
        if hidden.get("scalar") == 1 or hidden.get("storage") == "scalar":
            return ()
        if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
            if described.shape and self.reader.axes_member:
                self.documents.warn("unnamed-dimension", "the array has no list of dimensions: they are anonymous", key)
            return None
        return tuple(self._reference(each) for each in given)

    def _type(
        self, extension: ArrayExtension, name: str, described: ArrayMetadata, inventor: Inventor, key: str
    ) -> str | None:
        said, types = extension.type, self.frame.types
        if said is not None:
            known = said in ATOMIC or said in types
            if known and (said == "string" or is_fixed(said, types)) and holds(described.encoding.dtype, said, types):
                return said
            self._stale(f"the array does not hold values of type `{said}`", key)
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
            said = self._resolved(extension.dimensions)
            if self._fit(said, shape):
                return said
            self._stale("the dimensions of the extension do not match the shape", key)
        if plain is None:
            return shape
        if self._fit(plain, shape):
            return plain
        found: list[str | int] = []
        for number, length in enumerate(shape):
            reference = plain[number] if len(plain) == len(shape) else None
            if reference is not None and self._fit((reference,), (length,)):
                found.append(reference)
                continue
            found.append(length)
            stands = self.frame.anonymous.get(reference or "")
            if stands is None or stands.size != length:
                what = (
                    "a dimension has no name" if reference is None else f"`{reference}` does not have length {length}"
                )
                self.documents.warn("unnamed-dimension", f"{what}: it is anonymous", key, pointer("_nczarr_array"))
        return tuple(found)

    def _resolved(self, given: tuple[str | int, ...]) -> tuple[str | int, ...]:
        """Return unescaped references as FQNs."""
        return tuple(self._reference(each) if isinstance(each, str) else each for each in given)

    def _reference(self, written: str) -> str:
        """Return the FQN of an unescaped path; cached, because variables share dimensions."""
        known = self._fqns.get(written)
        if known is None:
            known = self._fqns[written] = self._fqn(written)
        return known

    def _fqn(self, written: str) -> str:
        *groups, last = written.removeprefix("/").split("/")
        groups = [names.normal(each) for each in groups]
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
        known = all(isinstance(each, int) or each in self.frame.dimensions for each in references)
        if type_name not in types or is_fixed(type_name, types) or not known:
            text = f"variable `{name}` has an undefined type or dimension"
            self.documents.lost("unreadable-array", text, key)
            return None
        shape = tuple(each if isinstance(each, int) else self.frame.dimensions[each].size for each in references)
        found: dict[str, ArraySource] = {}
        wanted = list(parts(type_name, shape, types))
        places = paths(each.path for each in wanted) if self.reader.portable_names else {}
        for part in wanted:
            inside = f"{prefix}{places.get(part.path, part.path)}/"
            described = self.reader.array(inside) if self.reader.is_array(inside) else None
            wrong = None
            if described is None:
                wrong = "is missing"
            elif not holds(described.encoding.dtype, part.type, types):
                wrong = f"does not hold values of type `{part.type}`"
            elif len(described.shape) != len(part.shape) or any(
                length is not None and length != own for length, own in zip(part.shape, described.shape, strict=False)
            ):
                wrong = "does not have the shape of the variable"
            if described is None or wrong is not None:
                text = f"variable `{name}` cannot be read: its part `{part.path}` {wrong}"
                self.documents.lost("unreadable-array", text, key)
                return None
            nil = extension.nil.get(part.path, ()) if part.type == "string" else ()
            found[part.path] = described.source(self.documents, descr(part.type, types), described.shape, nil)
        self.parts[names.join(path, name)] = found
        return Variable(
            name=name,
            type=type_name,
            dimensions=references,
            attributes=self._attributes(self.reader.attributes(prefix), prefix, type_name),
            storage=self._storage(extension, Storage(), references, type_name, key),
            span=self.documents.span(key),
        )

    # ---- what the extension says -----------------------------------------------------------------------------------
    def _attributes(self, given: Json, prefix: str, type_name: str) -> tuple[Any, ...]:
        hidden, _ = self.reader.hidden(prefix, "attr")
        return NodeAttributes(self.documents, self.frame.types).read(
            given,
            self.reader.key(prefix),
            hidden,
            lambda value: self.reader.own_fill(type_name, value),
            self.reader.shown_fill,
        )

    def _extension(self, given: Any, key: str) -> ArrayExtension:
        """Return the extension of a variable, without invalid members."""
        if given == {}:
            return SILENT
        try:
            found = ArrayExtension.from_json(given)
            nil = {part: runs for part, runs in found.nil.items() if all(_is_run(run) for run in runs)}
        except (KeyError, TypeError, ValueError, AttributeError, IndexError):
            self._stale("the extension of the array cannot be read", key)
            return ArrayExtension()
        checks = {
            "type": found.type is None or isinstance(found.type, str),
            "dimensions": found.dimensions is None
            or all(
                isinstance(each, str) or (type(each) is int and 0 <= each <= LARGEST_LENGTH)
                for each in found.dimensions
            ),
            "layout": found.layout in (None, "contiguous", "compact", "chunked"),
            "chunks": found.chunks is None
            or all(isinstance(each, Lengths) or (type(each) is int and each > 0) for each in found.chunks),
            "filters": found.filters is None or all(each and _is_run(each, FILTER_LIMIT - 1) for each in found.filters),
            "endian": found.endian in (None, "little", "big", "native"),
            "fill_mode": found.fill_mode in (None, "fill", "nofill"),
            "nil": len(nil) == len(found.nil),
            "element": found.element is None or is_element_name(found.element),
        }
        wrong = [member for member, right in checks.items() if not right]
        for member in wrong:
            self._stale(f"`{member}` of the array's extension is invalid", key)
        kept: dict[str, Any] = {member: {} if member == "nil" else None for member in wrong}
        return found._replace(**kept)

    def _storage(
        self, extension: ArrayExtension, said: Storage, references: tuple[str | int, ...], type_name: str, key: str
    ) -> Storage:
        """Return the plain documents' storage, updated by a valid extension."""
        dimensions = [
            self.frame.dimensions[each] if isinstance(each, str) else Dimension(name="_", size=each)
            for each in references
        ]
        filters, endian = extension.filters, extension.endian
        plainly = normalized(
            said, tuple(each.size for each in dimensions), type_name, tuple(each.unlimited for each in dimensions)
        )
        if extension is SILENT:
            return plainly
        made: Storage | None = None
        with suppress(ValueError):
            made = made_storage(
                extension.layout,
                plainly.chunks if extension.chunks is None else extension.chunks or None,
                plainly.codecs
                if filters is None
                else tuple(Codec(id=each[0], parameters=each[1:]) for each in filters),
                plainly.endian if endian is None else None if endian == "native" else endian,
                plainly.no_fill if extension.fill_mode is None else extension.fill_mode == "nofill",
                extension.quantize,
                plainly.element or extension.element,
            )
        report = Report()
        if made is not None:
            named = Variable(name="_", type=type_name, storage=made)
            check_storage(named, dimensions, self.frame.types, report)
        if made is None or report.errors:
            self._stale("the storage in the extension does not suit the array", key)
            return plainly
        return made


@functools.lru_cache(maxsize=1024)
def _is_run(run: tuple[Any, ...], most: int = LARGEST_LENGTH // 2) -> bool:
    """Return whether all items are integers within a limit."""
    return all(type(each) is int and 0 <= each <= most for each in run)
