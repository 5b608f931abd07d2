"""Documents of a store in another format of Zarr: all nodes, their attributes, and consolidated metadata."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import registry
from nczarr.arrays.sources.source import is_number
from nczarr.ast import Constant
from nczarr.ast.plain_json import write_json
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.formats.common.documents import DocumentCache, Json
from nczarr.formats.zarr.core.array_metadata import ArrayMetadata
from nczarr.formats.zarr.core.attributes import SKIPPED
from nczarr.formats.zarr.core.reader import BadDocumentError, NodeReader
from nczarr.formats.zarr.v2.frontend import HIDDEN_NAMES, HIDDEN_OBJECTS, Zarr2Reader
from nczarr.formats.zarr.v3 import DOCUMENT, dtypes
from nczarr.formats.zarr.v3.frontend import Zarr3Reader
from nczarr.plan.plans import StorePlan
from nczarr.plan.requested_storage import find_fill
from nczarr.plugins.edit.zarr.array_document import CODE, array_members
from nczarr.registry import Format
from nczarr.stores.base import Store, is_metadata
from nczarr.syntax.json.positions import pointer
from nczarr.syntax.json.tolerant import parse

OLD = (".zarray", ".zattrs", ".zgroup")
"""Documents of a node in Zarr v2."""

CONSOLIDATED = ".zmetadata"
"""Document of consolidated metadata in Zarr v2."""

AXES = "_ARRAY_DIMENSIONS"
"""Attribute that names dimensions in Zarr v2."""


def migrate(store: Store, plan: StorePlan, source: Format, report: Report) -> dict[str, bytes | None] | None:
    """Return the documents of a store of the format `source` in the format of the plan; None after an error.

    A removed document is None. Keys and codecs of chunks stay as they are.
    Reports unmigratable-store for what the target cannot state. Raises OSError.
    """
    before = report.errors
    migration = DocumentMigration(store, plan, source, report)
    documents = migration.documents()
    return None if report.errors > before else documents


def emit(plan: StorePlan, report: Report) -> Iterator[tuple[str, Json]]:
    """Yield the documents that the back end writes for a plan, without consolidated metadata."""
    form = plan.form
    arrays, row = form.capabilities.arrays, form.emit
    assert arrays is not None
    assert row is not None
    form = form._replace(capabilities=form.capabilities._replace(arrays=arrays._replace(sidecars=False)))
    plain = plan._replace(form=form, options=plan.options.change(consolidated=False))
    for key, data in registry.load(row)(plain, report):
        if is_metadata(key):
            yield key, parse(data).value


def encode(document: Any) -> bytes:
    """Encode JSON in one line; numbers, NaN and infinities of attributes keep their spelling."""
    return write_json(document).encode("utf-8", "surrogateescape")


class DocumentMigration:
    """Migration of one store."""

    def __init__(self, store: Store, plan: StorePlan, source: Format, report: Report) -> None:
        self.plan = plan
        self.report = report
        self.cache = DocumentCache(store, Report(), plan.options.run)
        self.is_old = store.get(DOCUMENT) is None
        target = plan.form.capabilities
        self.source_has_hidden = source.capabilities.typed_attributes
        self.has_hidden = target.typed_attributes
        self.to_old = target.arrays is None or DOCUMENT not in target.arrays.documents
        self.reader: NodeReader = (
            Zarr2Reader(self.cache, netcdf=self.source_has_hidden) if self.is_old else Zarr3Reader(self.cache)
        )
        self.variables = {
            plan.prefix(path, part): path for path, parts in plan.targets.items() for part in parts if not part
        }
        self.emitted: dict[str, Json] = {}
        self.result: dict[str, bytes | None] = {}
        """Documents that change."""
        self.all: dict[str, Json] = {}
        """Documents of the target, also those that stay as they are."""
        self.unmasked: list[str] = []

    def documents(self) -> dict[str, bytes | None]:
        """Return the documents by key. Reports unmigratable-store."""
        if self.to_old and not self.is_old:
            text = f"the store is of Zarr v3, and format `{self.plan.form.name}` is of Zarr v2"
            self.refuse(text, DOCUMENT, "")
            return {}
        if self.has_hidden or self.source_has_hidden:
            self.emitted = self._emit()
        groups = []
        has_old = self.is_old or any(map(self.cache.has, OLD))  # another program may have left them
        for prefix, is_array in self._nodes(""):
            if is_array:
                self._write_array(prefix)
            else:
                groups.append(prefix)
                self._write_group(prefix)
            if has_old:
                self._remove_old(prefix, is_array=is_array)
        for prefix in reversed(groups):
            self._consolidate(prefix)
        if self.unmasked:
            self._report_unmasked()
        return self.result

    def refuse(self, text: str, key: str, where: str) -> None:
        """Report what cannot be migrated, at its place in a document."""
        helps = ("write a new store: `nczarr convert SRC DST`",)
        self.report.add(Diagnostic(CODE, Severity.ERROR, text, self.cache.place(key, where), helps=helps))

    def _emit(self) -> dict[str, Json]:
        """Return the documents that the back end of the target writes for the dataset."""
        targets = dict(self.plan.targets)
        for prefix, path in self.variables.items() if self.to_old else ():  # `.zarray` keeps its fill value, or none
            target = targets[path][""]
            if (self.cache.get(prefix + ".zarray") or {}).get("fill_value") is None:
                targets[path] = {**targets[path], "": target._replace(layout=target.layout._replace(fill=None))}
        return dict(emit(self.plan._replace(targets=targets), self.report))

    # ---- nodes -----------------------------------------------------------------------------------------------------
    def _nodes(self, prefix: str) -> Iterator[tuple[str, bool]]:
        """Yield the prefix of each node and whether it is an array, children first. Reports keys that are no node."""
        if self.reader.is_array(prefix):
            yield prefix, True
            return
        below = self.cache.children(prefix)
        self.cache.expect((f"{prefix}{child}/" for child in below), self.reader.names)
        for child in below:
            inside = f"{prefix}{child}/"
            if self.reader.is_array(inside) or self.reader.is_group(inside):
                yield from self._nodes(inside)
            elif not set(self.cache.store.children(inside)).isdisjoint((*OLD, DOCUMENT)):
                self.refuse(f"`{inside[:-1]}` has documents, but is neither an array nor a group", inside, "")
        if self.reader.is_group(prefix) or not prefix:
            yield prefix, False

    def _remove_old(self, prefix: str, *, is_array: bool) -> None:
        """Remove the documents of a node that the target does not have."""
        documents = [] if self.to_old else [*OLD, *(() if is_array else (CONSOLIDATED,))]
        if self.source_has_hidden and self.cache.has(".nczarr"):
            documents += [name for objects in HIDDEN_OBJECTS.values() for name in objects]
        for name in documents:
            if self.cache.has(prefix + name):
                self.result[prefix + name] = None

    def _attributes(self, prefix: str) -> Json:
        """Return the attributes of a node as its document has them."""
        if self.is_old:
            return self.cache.get(prefix + ".zattrs") or {}
        attributes = (self.cache.get(prefix + DOCUMENT) or {}).get("attributes")
        return attributes if isinstance(attributes, dict) else {}

    def _shown(self, prefix: str) -> Json:
        """Return the attributes of a node without those of the netCDF library, except names of dimensions."""
        attributes = self._attributes(prefix)
        if not self.source_has_hidden:
            return {**attributes}
        return {name: value for name, value in attributes.items() if name == AXES or name not in SKIPPED}

    def _put(self, key: str, document: Json) -> None:
        """Set a document, whose bytes stay if it is equal."""
        self.all[key] = document
        self.result.pop(key, None)
        if not self.cache.has(key) or self.cache.get(key) != document:
            self.result[key] = encode(document)

    # ---- arrays ----------------------------------------------------------------------------------------------------
    def _write_array(self, prefix: str) -> None:
        """Write the documents of one array in the target's format, or refuse those that are invalid."""
        try:
            metadata = self.reader.describe(prefix)
            assert metadata is not None
            if self.to_old:
                self._write_old_array(prefix, metadata)
            else:
                self._write_new_array(prefix, metadata)
        except BadDocumentError as fault:
            self.refuse(str(fault), self.reader.array_key(prefix), pointer(fault.member))

    def _write_new_array(self, prefix: str, metadata: ArrayMetadata) -> None:
        """Write `zarr.json` of an array."""
        emitted = self.emitted.get(prefix + DOCUMENT)
        if self.is_old:
            document = array_members(
                self._with_fill(prefix, metadata),
                self.cache.get(prefix + ".zarray") or {},
                scalar=self._is_scalar(prefix, metadata),
                registered=self.plan.options.target.zarr_names == "registered",
            )
        else:
            document = {**(self.cache.get(prefix + DOCUMENT) or {})}
        if emitted is not None:
            document["attributes"] = emitted["attributes"]
            document["dimension_names"] = emitted["dimension_names"]
        elif self.is_old:
            attributes = self._plain_attributes(prefix, metadata)
            axes = attributes.get(AXES)
            if isinstance(axes, list) and len(axes) == len(document["shape"]):
                del attributes[AXES]
                document["dimension_names"] = [axis if isinstance(axis, str) else None for axis in axes]
            document["attributes"] = attributes
        self._put(prefix + DOCUMENT, document)

    def _with_fill(self, prefix: str, metadata: ArrayMetadata) -> ArrayMetadata:
        """Return the metadata of an array with the fill value that the netCDF library gives missing chunks."""
        path = self.variables.get(prefix)
        if path is None or metadata.fill is not None or not is_number(metadata.encoding.dtype):
            return metadata
        return metadata._replace(fill=self.plan.targets[path][""].layout.fill)

    def _is_scalar(self, prefix: str, metadata: ArrayMetadata) -> bool:
        """Return whether an array of one element holds a scalar, as the netCDF library writes it."""
        path = self.variables.get(prefix)
        return path is not None and metadata.shape == (1,) and not self.plan.targets[path][""].layout.shape

    def _plain_attributes(self, prefix: str, metadata: ArrayMetadata) -> Json:
        """Return the attributes of an array of Zarr v2 as xarray reads those of v3."""
        attributes = self._shown(prefix)
        path = self.variables.get(prefix)
        variable = None if path is None else self.plan.checked.variables[path]
        fill = None if variable is None else find_fill(variable)
        if fill is not None or "_FillValue" in attributes:
            return state_fill(attributes, fill, metadata)
        if (
            path is not None
            and AXES in attributes
            and metadata.fill is not None
            and str(metadata.encoding.dtype)[1] in "iuf"
        ):
            self.unmasked.append(path)
        return attributes

    def _report_unmasked(self) -> None:
        more = f" and {len(self.unmasked) - 1} more" if len(self.unmasked) > 1 else ""
        text = f"xarray masks the fill value of `{self.unmasked[0]}`{more} in Zarr v2, and not in v3"
        helps = ["state such fill values as `_FillValue` with `--mask-fill`, if they stand for missing values"]
        self.report.warning("unmasked-fill", text, helps=helps)

    def _write_old_array(self, prefix: str, metadata: ArrayMetadata) -> None:
        """Write `.zarray` and `.zattrs`. Raises BadDocumentError for what the netCDF library cannot read."""
        document = without_hidden(self.cache.get(prefix + ".zarray") or {})
        if self.has_hidden and not self.source_has_hidden:
            if metadata.encoding.permutation is not None:
                raise BadDocumentError("the netCDF library reads chunks of order C alone", "order", CODE)
            if len(metadata.codecs or ()) != len(metadata.encoding.steps):
                raise BadDocumentError("the netCDF library has no filter for a codec of the array", "filters", CODE)
        is_scalar = not metadata.shape or self._is_scalar(prefix, metadata)
        if is_scalar and self.has_hidden != self.source_has_hidden:
            lengths = [1] if self.has_hidden else []
            document = {**document, "shape": lengths, "chunks": lengths}
        self._put(prefix + ".zarray", document)
        self._write_old_attributes(prefix)

    # ---- groups ----------------------------------------------------------------------------------------------------
    def _write_group(self, prefix: str) -> None:
        if self.to_old:
            self._put(prefix + ".zgroup", without_hidden(self.cache.get(prefix + ".zgroup") or {"zarr_format": 2}))
            self._write_old_attributes(prefix)
            return
        emitted = self.emitted.get(prefix + DOCUMENT)
        attributes = self._shown(prefix)
        if emitted is not None:
            attributes = emitted["attributes"]
        document: Json = {"zarr_format": 3, "node_type": "group"}
        if not self.is_old:
            document = {**(self.cache.get(prefix + DOCUMENT) or {})}
            document.pop("consolidated_metadata", None)
        self._put(prefix + DOCUMENT, {**document, "attributes": attributes})

    def _write_old_attributes(self, prefix: str) -> None:
        emitted = self.emitted.get(prefix + ".zattrs")
        if emitted is not None:
            self._put(prefix + ".zattrs", emitted)

    # ---- consolidated metadata -------------------------------------------------------------------------------------
    def _consolidate(self, prefix: str) -> None:
        """Add the documents below a group to its own, if it had them."""
        had = self.cache.has(prefix + CONSOLIDATED)
        if not self.is_old:
            had = bool((self.cache.get(prefix + DOCUMENT) or {}).get("consolidated_metadata"))
        asked = None if prefix else self.plan.options.target.consolidated
        if not (had if asked is None else asked):
            if had and self.is_old and self.to_old:
                self.result[prefix + CONSOLIDATED] = None
            return
        own = prefix + DOCUMENT
        below = {key.removeprefix(prefix): key for key in self.all if key.startswith(prefix) and key != own}
        if self.to_old:
            kept = {key.rpartition("/")[0] for key in below.values()}
            for folder in kept:  # attributes that stay as they are
                key = f"{folder}/.zattrs".lstrip("/")
                if key not in self.all and key not in self.result and self.cache.has(key):
                    self.all[key] = self.cache.get(key) or {}
            below = {key.removeprefix(prefix): key for key in self.all if key.startswith(prefix)}
            metadata = {name: self.all[key] for name, key in sorted(below.items()) if name != CONSOLIDATED}
            self._put(prefix + CONSOLIDATED, {"metadata": metadata, "zarr_consolidated_format": 1})
            return
        nodes = sorted((name.removesuffix("/" + DOCUMENT), self.all[key]) for name, key in below.items())
        content = {"kind": "inline", "must_understand": False, "metadata": dict(nodes)}
        group = self.all[own]
        self._put(own, {**group, "consolidated_metadata": content})
        self.all[own] = group


def state_fill(attributes: Json, fill: Constant | None, metadata: ArrayMetadata) -> Json:
    """Return attributes with the `_FillValue` that xarray reads in Zarr v3; without one that it would refuse."""
    kind = str(metadata.encoding.dtype)[1]
    if kind in "OU" and "_FillValue" in attributes:
        return attributes
    stated = dtypes.fill_attribute(fill).value if fill is not None and kind in "biuf" else None
    if stated is None:
        return {name: value for name, value in attributes.items() if name != "_FillValue"}
    return {**attributes, "_FillValue": stated} if "_FillValue" in attributes else {"_FillValue": stated, **attributes}


def without_hidden(document: Json) -> Json:
    """Return a document without the members of the netCDF library's older releases."""
    hidden = {name for spellings in HIDDEN_NAMES.values() for name in spellings}
    return {name: member for name, member in document.items() if name not in hidden}
