"""`read`: an archive or store of Awkward arrays as a dataset.

With a model (written by `backend.py`), every array is one of its variables.
Otherwise an array becomes a variable with anonymous dimensions, a table a group
whose columns are variables along one dimension, missing numbers an unused fill
value. Losses: unions (`lost-union`), missing items without such a value
(`lost-mask`).
"""

from __future__ import annotations

import base64
import errno
import json
from collections.abc import Iterator, Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import ArraySource, Layout, Parts
from nczarr.arrays.values.elements import element_of
from nczarr.arrays.values.parts import Types as Known
from nczarr.arrays.values.parts import descr, part_tree, parts
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Group, Storage, Variable
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Report, Source
from nczarr.formats.common.documents import DocumentCache
from nczarr.names import name_problem, stem
from nczarr.options import Options, RunOptions
from nczarr.plugins.awkward0.columns.canonical import Deep, NoVariableError, Room, plain
from nczarr.plugins.awkward0.columns.nodes import ArrayPieces, Column, Flat, Indexed, Masked, Objects, TableNode
from nczarr.plugins.awkward0.read import evaluation
from nczarr.plugins.awkward0.read.column_types import ColumnTypes, check_resolved, free_value, list_units, to_arrays
from nczarr.plugins.awkward0.write.backend import MODEL, SCHEMA_SUFFIX, array_name
from nczarr.plugins.common.nodes import text_attribute
from nczarr.plugins.common.part_arrays import UnsuitedError
from nczarr.semantics.checked import Namesake, Unchecked, tables
from nczarr.stores import ranges
from nczarr.stores.base import Store, UnsafeKeyError
from nczarr.stores.open import MAPS_NO_FILES, map_file
from nczarr.stores.ranges import Range
from nczarr.syntax.json import ast_document

MAPPED = 64 << 20
"""Bytes from which a blob is memory-mapped."""

HEAD = 1 << 12
"""Maximum bytes of a document before its signature."""


def holds(store: Store) -> bool:
    """Return whether the root of a store has an Awkward 0.x document or a dataset model."""
    children = store.children("")
    if MODEL in children:
        return True
    return any(child.endswith(SCHEMA_SUFFIX) and _has_document(store, child) for child in children)


def _has_document(store: Store, key: str) -> bool:
    """Return whether a key is a document. A folder of large files of another kind costs their first bytes alone."""
    place = store.locate(key)
    if place is not None and not _begins(ranges.read(place._replace(length=min(place.length, HEAD)))):
        return False
    return _is_document(store.get(key))


def _is_document(data: bytes | None) -> bool:
    return _begins((data or b"")[:HEAD]) and b'"schema"' in (data or b"")


def _begins(head: bytes) -> bool:
    """Return whether the first bytes may be those of a document."""
    head = head.lstrip()
    return head.startswith(b"{") and (b'"awkward0"' in head or b'"awkward"' in head)


def read(store: Store, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a store. Reports and skips unreadable parts. Raises OSError."""
    with building():
        reader = _AwkwardReader(store, report, options.run)
        model = store.get(MODEL)
        return reader.invent_dataset() if model is None else reader.read_model(model)


class _Blobs:
    """Store as a mapping for documents; large blobs inside files are memory-mapped."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._files: dict[str, memoryview] = {}

    def __getitem__(self, key: str) -> bytes | memoryview:
        try:
            place = self._store.locate(key)
            if place is not None and place.length >= MAPPED and not MAPS_NO_FILES.is_set():
                return self._map(place)
            data = self._store.get(key)
        except UnsafeKeyError:
            data = None
        if data is None:
            raise KeyError(key)
        return data

    def _map(self, place: Range) -> memoryview:
        """Return a memory-mapped range of a file. Raises OSError if the file is too short."""
        if place.path not in self._files:
            self._files[place.path] = memoryview(map_file(place.path))
        block = self._files[place.path][place.offset : place.offset + place.length]
        if len(block) != place.length:
            raise OSError(errno.EIO, "it ends before one of its members does", place.path)
        return block


def _units(column: Column) -> list[Attribute]:
    """Return the units of an array as attributes."""
    unit_of = dict(list_units(column))
    if "" in unit_of:
        return [text_attribute("units", unit_of[""])]
    text = ", ".join(f"{member}: {unit}" for member, unit in unit_of.items())
    return [text_attribute("awkward0_units", text)] if text else []


def _content(column: Column) -> Column:
    """Return a column without its mask."""
    return column.content if isinstance(column, Masked) else column


class _Group:
    """A group under construction; `taken`: names in use."""

    def __init__(self, path: str, types: ColumnTypes, depth: int = 0) -> None:
        self.path = path
        self.types = types
        self.depth = depth
        self.variables: list[Variable] = []
        self.groups: list[Group] = []
        self.dimensions: list[Dimension] = []
        self.taken: set[str] = set()

    def members(self) -> dict[str, Any]:
        """Return the members as fields of a node."""
        return {
            "types": tuple(self.types.types.values()),
            "dimensions": tuple(self.dimensions),
            "variables": tuple(self.variables),
            "groups": tuple(self.groups),
        }


class _AwkwardReader:
    """State of one read."""

    def __init__(self, store: Store, report: Report, run: RunOptions) -> None:
        self._store = store
        self._report = report
        self._run = run
        self._documents = DocumentCache(store, report, run)
        self._blobs = _Blobs(store)
        self._parts: dict[str, Parts] = {}
        self._deep = Deep(0, Room())
        self._namesakes: list[Namesake] = []
        self._spelled: dict[tuple[str, str], str] = {}

    # ---- with a model ----------------------------------------------------------------------------------------------
    def read_model(self, model: bytes) -> Unchecked | None:
        """Return the dataset of a stored model."""
        dataset = ast_document.read(Source(self._store.path, model, key=MODEL), self._report)
        if dataset is None:
            return None
        declarations = tables(dataset)
        lengths = {path: dimension.size for path, dimension in declarations.dimensions.items()}
        types, keys = declarations.types, set()
        for path, variable in declarations.variables.items():
            key = array_name(path) + SCHEMA_SUFFIX
            keys.add(key)
            shape = tuple(lengths.get(size, 0) if isinstance(size, str) else size for size in variable.dimensions)
            column = self._column(key)
            if column is None:
                continue
            try:
                check_resolved(variable.type, types)
                values = to_arrays(plain(column, None, self._deep), part_tree(variable.type, types), shape, types)
                self._keep(path, values, variable.type, types, self._fills(key))
            except UnsuitedError as fault:
                self._documents.report_lost("unreadable-array", f"the values of `{path}` do not match it: {fault}", key)
        for key in self._store.keys(""):
            if key.endswith(SCHEMA_SUFFIX) and key not in keys:
                text = "the array cannot be a variable of the model and is left out"
                self._documents.warn("stale-extension", text, key)
        return Unchecked(dataset, parts=self._parts)

    # ---- without ---------------------------------------------------------------------------------------------------
    def invent_dataset(self) -> Unchecked:
        """Return a dataset derived from the arrays."""
        documents = [key for key in self._store.keys("") if key.endswith(SCHEMA_SUFFIX)]
        top = _Group("/", ColumnTypes("/", [key.removesuffix(SCHEMA_SUFFIX) for key in documents]))
        for key in documents:
            written = key.removesuffix(SCHEMA_SUFFIX)
            if not _is_document(self._store.get(key)):
                self._documents.report_lost("unreadable-array", "it is not the document of an array", key)
                continue
            column = self._column(key)
            if column is None:
                continue
            bare = self._bare(column)
            if not written and isinstance(bare, TableNode):
                self._columns(bare, top, key)
                continue
            name = self._name(written or "data", key, top)
            if name is not None:
                self._add_array(column, name, top, key)
        dataset = Dataset(name=stem(self._store.path), **top.members())
        return Unchecked(dataset, parts=self._parts, namesakes=self._namesakes)

    def _add_array(self, column: Column, name: str, into: _Group, key: str, deeper: int = 0) -> None:
        """Add an array as a variable, or as a group if it is a table."""
        bare = self._bare(column)
        if not isinstance(bare, TableNode):
            self._add_variable(column, name, None, into, key)
            return
        depth = into.depth + deeper
        if depth >= MAX_DEPTH:
            self._documents.report_lost("unreadable-array", f"tables are nested more than {MAX_DEPTH} deep", key)
            return
        inside = names.join(into.path, name)
        table = _Group(inside, ColumnTypes(inside), depth)
        self._columns(bare, table, key)
        into.groups.append(Group(name=name, **table.members()))

    def _columns(self, table: TableNode, into: _Group, key: str) -> None:
        """Add the columns of a table as variables along one dimension; nested tables as groups."""
        into.types.reserve(table.names)
        row = self._name("row", key, into, avoid=table.names) or "row"
        into.dimensions.append(Dimension(name=row, size=len(table)))
        along = names.join(into.path, row)
        for written, inner in zip(table.names, table.columns, strict=True):
            name = self._name(written, key, into)
            if name is None:
                continue
            bare = self._bare(inner)
            if isinstance(bare, TableNode):
                whole = bare if len(inner) == len(table) else TableNode(bare.names, bare.columns, len(table))
                self._add_array(whole, name, into, key, deeper=1)
                continue
            self._add_variable(inner, name, (along, len(table)), into, key)

    def _add_variable(self, column: Column, name: str, along: tuple[str, int] | None, into: _Group, key: str) -> None:
        """Append a variable of a column to a group, or report why it cannot be one; `along`: name and length."""
        fqn, types = names.join(into.path, name), into.types
        before, masks = dict(types.types), len(types.masks)
        where = None if along is None or len(column) == along[1] else np.arange(along[1])
        try:
            values = plain(column, where, self._deep)
            type_name, shape = self._choose_type(values, name, types)
            attributes = _units(values)
            inner, storage = _content(values), Storage()
            if isinstance(inner, Flat):
                dtype = inner.values.dtype
                big = dtype.kind in "iufc" and dtype.str[0] == ">"
                storage = Storage(element=element_of(dtype.newbyteorder("<").str), endian="big" if big else None)
                if isinstance(values, Masked):
                    filled = free_value(inner.values, values.mask)
                    if filled is not None and type_name not in types.known:
                        fill, values = filled
                        constant = Constant(type=type_name, count=1, data=fill.tobytes())
                        attributes.append(Attribute(name="_FillValue", value=constant))
                    elif type_name != "string":
                        types.masks.append(fqn)
            if len(types.masks) > masks:
                if not self._run.accepts("lost-mask"):
                    text = "some of its items are missing, and no fill value is possible"
                    raise NoVariableError("lost-mask", text)
                self._documents.report_lost("lost-mask", f"missing items of `{fqn}` become zeros or empty lists", key)
            if isinstance(column, Objects):
                attributes.append(text_attribute("awkward0_function", ".".join(column.function)))
            named = any(attribute.name == "_FillValue" for attribute in attributes)
            fills = {"": bytes(4)} if storage.element == "float16" and not named else {}  # netCDF's own is no half
            every = to_arrays(values, part_tree(type_name, types.known), shape, types.known)
            self._keep(fqn, every, type_name, types.known, fills)
        except UnsuitedError as fault:
            types.types.clear()
            types.types.update(before)
            self._documents.report_lost(fault.code, f"`{fqn}` cannot be a variable: {fault}", key)
            return
        into.variables.append(
            Variable(
                name=name,
                type=type_name,
                dimensions=shape if along is None else (along[0], *shape[1:]),
                attributes=tuple(attributes),
                storage=storage,
                span=self._documents.span(key),
            )
        )

    def _choose_type(self, column: Column, name: str, types: ColumnTypes) -> tuple[TypeName, tuple[int, ...]]:
        """Return type and shape of a variable; fixed-size elements retain their dimensions."""
        inner = _content(column)
        if not isinstance(inner, Flat):
            return types.of(column, name), (len(column),)
        values = inner.values
        if values.dtype.kind == "S" and inner is column:
            return "char", (*values.shape, values.dtype.itemsize)
        return types.element(values.dtype, name), values.shape

    def _bare(self, column: Column) -> Column:
        """Return a column without its function; chunked or indexed tables as one table."""
        if isinstance(column, Objects):
            return column.content
        inner: Column = column
        while isinstance(inner, Indexed) or (isinstance(inner, ArrayPieces) and inner.pieces):
            inner = inner.content if isinstance(inner, Indexed) else inner.pieces[0]
        if inner is column or not isinstance(inner, TableNode):
            return column
        try:
            return plain(column, None, self._deep)
        except NoVariableError:
            return column

    # ---- both ------------------------------------------------------------------------------------------------------
    def _column(self, key: str) -> Column | None:
        """Return the array of a document, or report a fault and return None."""
        data = self._store.get(key)
        if data is None:
            self._documents.report_lost("bad-metadata", "the document of the array is missing", key)
            return None
        report = Report()
        document = evaluation.read(Source(self._store.path, data, key=key), self._blobs, report)
        for diagnostic in report.list_sorted():
            self._report.add(diagnostic)
        if document is None:
            return None
        value = document[0]
        if isinstance(value, Column):
            return value
        text = f"the document does not contain an array but {type(value).__name__}"
        self._documents.report_lost("unreadable-array", text, key)
        return None

    def _keep(
        self,
        fqn: str,
        values: Iterator[tuple[str, NDArray[Any]]],
        type_name: TypeName,
        types: Known,
        fills: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Store the arrays of a variable by part path, and their fill values.

        Each array has the shape and dtype of its part. Raises NoVariableError if
        a fill value is not an element of its part.
        """
        kinds = {part.path: part.type for part in parts(type_name, (), types)}
        sources: dict[str, ArraySource] = {}
        for part, array in values:
            layout = Layout(descr(kinds[part], types), array.shape, array.shape, fill=fills.get(part))
            if layout.fill is not None and not array.dtype.hasobject and len(layout.fill) != array.dtype.itemsize:
                raise NoVariableError("unreadable-array", "its fill value is not an element of it")
            sources[part] = ArrayInMemory(layout, array)
        self._parts[fqn] = sources

    def _fills(self, key: str) -> dict[str, bytes]:
        """Return the fill bytes stored in a document; empty if invalid."""
        with suppress(ValueError, TypeError, AttributeError, KeyError):
            document = json.loads(self._store.get(key) or b"")
            encoded = document["metadata"]["fill"]
            return {part: base64.b64decode(text, validate=True) for part, text in encoded.items()}
        return {}

    def _name(self, written: str, key: str, into: _Group, avoid: tuple[str, ...] | None = None) -> str | None:
        """Return an unused name, or report an invalid one and return None.

        `avoid`: further names that a generated name must not equal.
        """
        name = names.normal(written)
        problem = name_problem(name)
        if problem is None and "/" in name:
            problem = "names must not contain a slash"
        if problem is not None:
            self._documents.report_lost("unreadable-array", f"an array or column: {problem}", key)
            return None
        unpadded = name
        while name in into.taken or name in into.types.types or name in (avoid or ()):
            name += "_"
        if avoid is None:
            first = self._spelled.setdefault((into.path, unpadded), written)
            if unpadded in into.taken:
                place = self._documents.place(key, "")
                self._namesakes.append(Namesake("array", written, "array", first, into.path, name, place))
            into.taken.add(name)
        into.types.reserve((name,))
        return name
