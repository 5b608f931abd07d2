"""Variables of a Zarr hierarchy: type, dimensions, storage and arrays.

The extension is checked against the plain documents: type against dtype,
dimensions against shape, storage against the model. Dtypes unknown to the model
(records, raw bytes) get an invented type. Axes without a dimension of their
length are anonymous, with a warning.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TypeAlias, cast

from nczarr import names
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.chunks.key_segments import paths
from nczarr.arrays.sources.source import ArraySource, Parts, is_number
from nczarr.arrays.values.parts import Types, descr, is_fixed, parts, size
from nczarr.ast import ATOMIC, Attribute, Codec, Dimension, Storage, UserType, Variable
from nczarr.diagnostics.report import Report
from nczarr.formats.common.documents import Json
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata, Inventor, build_storage, holds, name_anonymous
from nczarr.formats.zarr.core.attributes import NodeAttributes, with_fill
from nczarr.formats.zarr.core.reader import NodeReader
from nczarr.formats.zarr.extension.model import ArrayExtension
from nczarr.names.records import NamedTuple
from nczarr.semantics.check_types import default_fill
from nczarr.semantics.infer_shapes import check_storage
from nczarr.syntax.json.positions import pointer

SILENT = ArrayExtension()
"""Extension of a variable without one."""

_TEXT = frozenset({str})

References = tuple[str | int, ...]


class _Kind(NamedTuple):
    """Properties that all arrays of one description, extension and axes have in common."""

    encoding: Encoding
    """Encoding of the first of them."""
    type: str
    references: References
    axes: tuple[str | None, ...]
    """Names of anonymous ones; empty if none has a name."""
    shape: tuple[int, ...]
    grows: tuple[bool, ...]
    """True for each axis that can grow; empty if none can."""


_NIL = ArrayExtension._fields.index("nil")

Alike: TypeAlias = "tuple[object, ...]"
"""Members of an extension that arrays must have in common to be read in one way."""


def _find_alike(extension: ArrayExtension) -> Alike | None:
    """Return what other arrays must have in common with an extension; None if few arrays have such a one."""
    if extension is SILENT:
        return ()
    if extension.nil or extension.fill is not None:
        return None
    return (*extension[:_NIL], *extension[_NIL + 1 :])


class Variables:
    """Reader of variables, with the declarations that they refer to.

    `has_hidden`: the store has netCDF-C's hidden attributes.
    """

    def __init__(self, reader: NodeReader, *, hidden: bool) -> None:
        self.reader = reader
        self.documents = reader.documents
        self._attributes = NodeAttributes(reader)
        self.has_hidden = hidden
        self.parts: dict[str, Parts] = {}
        """Arrays read so far, by FQN."""
        self.types: dict[str, UserType] = {}
        """Types by FQN."""
        self.dimensions: dict[str, Dimension] = {}
        """Dimensions by FQN."""
        self.anonymous: dict[str, Dimension] = {}
        """Dimensions that stand for sizes, by FQN."""
        self.orphans: list[str] = []
        """FQNs of arrays with hidden attributes, of a store without."""
        self._respelled: dict[str, str] = {}
        """FQNs of renamed dimensions, by their FQN in the store."""
        self._fqns: dict[str, str] = {}
        self._axes: dict[tuple[object, ...], tuple[str | None, ...]] = {}
        """FQNs of the axes of arrays by group and names; cached, because variables share dimensions."""
        self._kinds: dict[tuple[object, ...], _Kind] = {}
        """Kinds of atomic type by `id` of the encoding, shape, axes and extension: most arrays have a common one."""
        self._alike: dict[tuple[object, ...], tuple[Storage, KeyChunkArray]] = {}
        """Storage and values of such variables, by encoding, type, axes, extension and fill value."""

    def read_hidden(self, prefix: str, what: str) -> tuple[Json | None, str]:
        """Return the hidden `superblock`, `group`, `array` or `attr` of a node, and its document key."""
        if self.has_hidden:
            return self.reader.read_hidden(prefix, what)
        return (self.reader.read_declared_types(prefix) if what == "attr" else None), self.reader.key(prefix)

    def dimension_names(self, path: str, written: Sequence[str], keys: Sequence[str]) -> list[str]:
        """Return unique names of a group's dimensions; `keys`: their documents."""
        shown = self.documents.make_names_unique([("dimension", name) for name in written], keys, path)
        for spelled, name in zip(written, shown, strict=True):
            if name != spelled:
                self._respelled[names.join(path, spelled)] = names.join(path, name)
        return shown

    def read(
        self, path: str, name: str, prefix: str, metadata: ArrayMetadata | None, inventor: Inventor
    ) -> Variable | None:
        """Return the variable at a prefix; None (reported) if unreadable. `metadata`: that of its array."""
        if metadata is not None:
            return self._read_array(path, name, metadata, inventor)
        return None if self.reader.is_array(prefix) else self._read_parts(path, name, prefix)

    def _stale(self, message: str, key: str, where: str = "") -> None:
        self.documents.warn("stale-extension", message, key, where)

    # ---- one array -------------------------------------------------------------------------------------------------
    def _read_array(self, path: str, name: str, described: ArrayMetadata, inventor: Inventor) -> Variable | None:
        """Read a variable whose values are one array, and note the array in `parts`; None if it cannot be read."""
        hidden, key = self.read_hidden(described.prefix, "array")
        extension = self._extension(hidden["nczarr"], key) if hidden and "nczarr" in hidden else SILENT
        plain = self._list_axes(hidden or {}, described, key) if self.has_hidden else self._name_axes(path, described)
        if plain == () and described.shape == (1,):  # netCDF-C writes scalars as arrays of one element
            encoding = described.encoding
            encoding = encoding if encoding.permutation is None else encoding._replace(permutation=None)
            described = described._replace(shape=(), chunks=(), shards=None, encoding=encoding)
        alike = _find_alike(extension)
        kind = self._choose_kind(extension, alike, name, described, plain, inventor, key)
        if kind is None:
            return None
        types = self.types
        if inventor.types:
            types = {**types, **{names.join(path, label): declared for label, declared in inventor.types.items()}}
        attributes = self.attributes(described.attributes, described.prefix, kind.type)
        attributes, fill = with_fill(attributes, kind.type, types, described, self.reader, restored=not self.has_hidden)
        storage, source = self._choose_storage_and_source(extension, alike, described, kind, fill, types, key)
        self.parts[names.join(path, name)] = {"": source.move(described.chunk_keys)}
        if not self.has_hidden and "_nczarr_array" in described.attributes:
            self.orphans.append(names.join(path, name))
        return Variable(
            name=name,
            type=kind.type,
            dimensions=kind.references,
            attributes=attributes,
            storage=storage,
            axes=kind.axes,
            span=self.documents.span(described.key),
        )

    def _choose_kind(
        self,
        extension: ArrayExtension,
        alike: Alike | None,
        name: str,
        described: ArrayMetadata,
        plain: tuple[str | None, ...] | None,
        inventor: Inventor,
        key: str,
    ) -> _Kind | None:
        """Return type and axes of an array, those of an earlier one if it is alike; None (reported) without a type."""
        properties = id(described.encoding), described.shape, plain, alike
        kind = None if alike is None else self._kinds.get(properties)
        if kind is not None:
            return kind
        findings = self.documents.findings
        type_name = self._choose_type(extension, name, described, inventor, key)
        if type_name is None:
            return None
        references = self._choose_dimensions(extension, plain, described, key)
        written = extension.axes if self.has_hidden else described.axes
        axes = name_anonymous(references, written)
        kind = _Kind(described.encoding, type_name, references, axes, self._shape(references), self._grows(references))
        if alike is not None and type_name in ATOMIC and self.documents.findings == findings:  # each is reported
            self._kinds[properties] = kind
        return kind

    def _choose_storage_and_source(
        self,
        extension: ArrayExtension,
        alike: Alike | None,
        described: ArrayMetadata,
        kind: _Kind,
        fill: bytes | None,
        types: Types,
        key: str,
    ) -> tuple[Storage, KeyChunkArray]:
        """Return storage and values of an array; those of an earlier one, with its keys, if it is alike."""
        properties = id(kind.encoding), kind.type, kind.shape, kind.grows, alike, fill
        common = None if alike is None else self._alike.get(properties)
        if common is not None:
            return common
        findings = self.documents.findings
        storage = described.storage(texts=not self.has_hidden, fill_mode=self.has_hidden or self.reader.is_exact)
        storage = self._choose_storage(extension, storage, kind.references, kind.type, key)
        nil = extension.nil.get("", ()) if kind.type == "string" else ()
        undeclared = self._find_undeclared_fill(extension, described, kind.type, types, key)
        if undeclared is not None:
            described, fill = described._replace(fill=None), undeclared
        source = described.source(self.documents, descr(kind.type, types), kind.shape, nil, fill)
        if alike is not None and kind.type in ATOMIC and self.documents.findings == findings:
            self._alike[properties] = storage, source
        return storage, source

    def _shape(self, references: References) -> tuple[int, ...]:
        return tuple([ref if isinstance(ref, int) else self.dimensions[ref].size for ref in references])

    def _grows(self, references: References) -> tuple[bool, ...]:
        """Return `_Kind.grows` of some dimensions."""
        grows = tuple([isinstance(reference, str) and self.dimensions[reference].unlimited for reference in references])
        return grows if True in grows else ()

    def _find_undeclared_fill(
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

    def _name_axes(self, path: str, described: ArrayMetadata) -> tuple[str | None, ...] | None:
        """Return the FQNs of an array's axes in its group; None (reported) without a name for each."""
        shape, axes = described.shape, described.axes
        if axes is not None and len(axes) == len(shape):
            fqns = self._axes.get((path, axes))
            if fqns is None:
                fqns = self._axes[path, axes] = tuple(
                    [None if axis is None else self._axis(path, axis) for axis in axes]
                )
            return fqns
        if shape and self.reader.axes_member:
            text = "the dimensions have no names" if axes is None else f"{len(axes)} names for {len(shape)} dimensions"
            self.documents.warn("unnamed-dimension", f"{text}: they are anonymous", self.reader.key(described.prefix))
        return None

    def _axis(self, path: str, axis: str) -> str:
        """Return the FQN of a simple name in a group."""
        return self._respelled.get(names.join(path, axis)) or names.join(path, names.normal(axis))

    def _list_axes(self, hidden: Json, described: ArrayMetadata, key: str) -> tuple[str | None, ...] | None:
        """Return the FQNs in the plain list; `()` for a scalar; None (reported) if missing."""
        references = hidden.get("dimension_references", hidden.get("dimrefs"))  # `dimrefs` until netCDF-C 4.9.2
        if hidden.get("scalar") == 1 or hidden.get("storage") == "scalar":  # netCDF-C 4.9.0: `storage`
            return ()
        if not isinstance(references, list) or not _TEXT.issuperset(map(type, references)):
            if described.shape and self.reader.axes_member:
                self.documents.warn("unnamed-dimension", "the array has no list of dimensions: they are anonymous", key)
            return None
        return tuple(map(self._reference, references))

    def _choose_type(
        self, extension: ArrayExtension, name: str, described: ArrayMetadata, inventor: Inventor, key: str
    ) -> str | None:
        """Return the type that the extension names, if the array can hold it, else the dtype's; None after a loss."""
        type_name, types = extension.type, self.types
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
            text = described.encoding.dtype == "|S1" and self.reader.texts_are_strings  # netCDF-C: `|S1` is a string
            return "string" if text else described.plain_type
        try:
            return inventor.type_of(described.encoding.dtype, name)
        except ValueError as fault:
            self.documents.report_lost("unreadable-array", str(fault), described.key)
            return None

    def _choose_dimensions(
        self, extension: ArrayExtension, plain: tuple[str | None, ...] | None, described: ArrayMetadata, key: str
    ) -> References:
        """Return the extension's dimensions if they fit the shape, else the plain ones, else sizes."""
        shape = described.shape
        if extension.dimensions is not None:
            resolved = self._resolve(extension.dimensions)
            if len(resolved) == len(shape) and all(map(self._fits, resolved, shape)):
                return resolved
            self._stale("the dimensions of the extension do not match the shape", key)
        if plain is None:
            return shape
        if len(plain) == len(shape) and all(map(self._fits, plain, shape)):
            return cast("References", plain)
        references: list[str | int] = []
        for reference, length in zip(plain if len(plain) == len(shape) else [None] * len(shape), shape, strict=True):
            settled = reference if reference is not None and self._fits(reference, length) else length
            references.append(settled)
            stands = self.anonymous.get(reference or "")
            if isinstance(settled, int) and (stands is None or stands.size != length):
                exists = stands or reference in self.dimensions
                why = f"does not have length {length}" if exists else "is undeclared, or has the name of a group"
                text = f"`{reference}` {why}" if reference else "a dimension has no name"
                where = pointer("_nczarr_array" if self.has_hidden else self.reader.axes_member)
                self.documents.warn("unnamed-dimension", f"{text}: it is anonymous", key, where)
        return tuple(references)

    def _resolve(self, references: References) -> References:
        """Return unescaped references as FQNs."""
        return tuple(
            self._reference(reference) if isinstance(reference, str) else reference for reference in references
        )

    def _reference(self, written: str) -> str:
        """Return the FQN of an unescaped path; cached, because variables share dimensions."""
        fqn = self._fqns.get(written)
        if fqn is None:
            *groups, last = written.removeprefix("/").split("/")  # netCDF-C takes one without a slash
            groups = [names.normal(group) for group in groups]
            fqn = self._respelled.get(names.fqn([*groups, last])) or names.fqn([*groups, names.normal(last)])
            self._fqns[written] = fqn
        return fqn

    def _fits(self, reference: str | int | None, length: int) -> bool:
        """Return whether a dimension has this length; an unlimited one may be longer."""
        if isinstance(reference, int):
            return reference == length
        dimension = None if reference is None else self.dimensions.get(reference)
        return dimension is not None and (dimension.size == length or (dimension.unlimited and length < dimension.size))

    # ---- a group of parts ------------------------------------------------------------------------------------------
    def _read_parts(self, path: str, name: str, prefix: str) -> Variable | None:
        """Read a variable of lists or records, whose group has an array for each part; None after a reported loss."""
        hidden, key = self.read_hidden(prefix, "group")
        extension = self._extension(((hidden or {}).get("nczarr") or {}).get("variable"), key)
        type_name = extension.type or ""
        types = self.types
        references = self._resolve(extension.dimensions or ())
        are_known = all(isinstance(reference, int) or reference in self.dimensions for reference in references)
        if type_name not in types or is_fixed(type_name, types) or not are_known:
            text = f"variable `{name}` has an undefined type or dimension"
            self.documents.report_lost("unreadable-array", text, key)
            return None
        sources: dict[str, ArraySource] = {}
        pieces = list(parts(type_name, self._shape(references), types))
        places = paths(piece.path for piece in pieces) if self.reader.is_exact else {}
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
                self.documents.report_lost("unreadable-array", text, key)
                return None
            nil = extension.nil.get(part.path, ()) if part.type == "string" else ()
            sources[part.path] = described.source(self.documents, descr(part.type, types), described.shape, nil)
        self.parts[names.join(path, name)] = sources
        return Variable(
            name=name,
            type=type_name,
            dimensions=references,
            attributes=self.attributes(self.reader.attributes(prefix), prefix, type_name),
            storage=self._choose_storage(extension, Storage(), references, type_name, key),
            span=self.documents.span(key),
        )

    # ---- what the extension says -----------------------------------------------------------------------------------
    def attributes(self, document: Json, prefix: str, owner: str = "") -> tuple[Attribute, ...]:
        """Return the attributes of a group, or of a variable of the type `owner`."""
        hidden, _ = self.read_hidden(prefix, "attr")
        return self._attributes.read(document, self.reader.key(prefix), self.types, hidden, owner)

    def _extension(self, written: Any, key: str) -> ArrayExtension:
        """Return the extension of a variable, without invalid members."""
        if written == {}:
            return SILENT
        if not isinstance(written, dict):
            self._stale("the extension of the array cannot be read", key)
            return ArrayExtension()
        return ArrayExtension.from_json(
            written, lambda member: self._stale(f"`{member}` of the array's extension is invalid", key)
        )

    def _choose_storage(
        self,
        extension: ArrayExtension,
        plain_storage: Storage,
        references: tuple[str | int, ...],
        type_name: str,
        key: str,
    ) -> Storage:
        """Return the plain documents' storage, updated by a valid extension."""
        plainly = plain_storage.normalize(self._shape(references), type_name, self._grows(references))
        if extension is SILENT:
            return plainly
        filters, endian = extension.filters, extension.endian
        storage: Storage | None = None
        with suppress(ValueError):
            storage = build_storage(
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
            dimensions = [
                self.dimensions[reference] if isinstance(reference, str) else Dimension(name="_", size=reference)
                for reference in references
            ]
            check_storage(Variable(name="_", type=type_name, storage=storage), dimensions, self.types, report)
        if storage is None or report.errors:
            self._stale("the storage in the extension does not suit the array", key)
            return plainly
        return storage
