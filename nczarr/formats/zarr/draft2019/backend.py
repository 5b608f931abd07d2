"""`zarr3-2019`: plan → documents of a hierarchy of the draft.

Every group and array has one document. Our optional extension object contains
what the draft cannot express; no node has it if the dataset needs none
(`bare.py`). Unknown extensions of a source follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from nczarr import names
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.elements import element_of
from nczarr.ast import ATOMIC, Attribute, Dataset, EnumType, Group, Variable
from nczarr.ast.plain import plain
from nczarr.ast.walk import groups
from nczarr.check.checked import Foreign
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.attributes import untyped
from nczarr.formats.zarr.core.fill_attribute import fill_of
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.stored_types import Inventor, plain_type
from nczarr.formats.zarr.core.writer import Entry, Writer
from nczarr.formats.zarr.draft2019 import dtypes, keys, protocol_extension, wire
from nczarr.formats.zarr.draft2019.dtypes import has_odd_bits
from nczarr.formats.zarr.extension import documents
from nczarr.formats.zarr.extension.documents import MODEL, PlainNames, array_extension
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.plan.storage_roundtrip import own_type


def is_bare(plan: StorePlan) -> bool:
    """Return whether the documents of the draft express everything."""
    dataset = plan.checked.dataset
    if dataset.name or dataset.kind is not None or dataset.version != MODEL:
        return False
    return all(_is_bare_group(plan, path, group) for path, group in groups(dataset))


def as_it_was(attribute: Attribute, foreign: Foreign) -> bool:
    """Return whether an attribute still equals JSON that the tree represents differently."""
    originals = foreign.attributes
    return attribute.name in originals and untyped(originals[attribute.name]) == attribute.value


def _is_bare_group(plan: StorePlan, path: str, group: Group) -> bool:
    foreign = plan.checked.foreign.get(path, Foreign())
    if group.dimensions or not all(_is_bare_attribute(attribute, foreign) for attribute in group.attributes):
        return False
    for children in ([child.name for child in group.variables], [child.name for child in group.groups]):
        if children != sorted(children):
            return False
    children = [*(child.name for child in group.variables), *(child.name for child in group.groups)]
    if any(plan.prefix(names.join(path, name)).rpartition("/")[0].rpartition("/")[2] != name for name in children):
        return False
    inventor = Inventor(path, set(children))
    return all(_is_bare_variable(plan, path, variable, inventor) for variable in group.variables) and (
        tuple(inventor.made.values()) == group.types
    )


def _is_bare_variable(plan: StorePlan, path: str, variable: Variable, inventor: Inventor) -> bool:
    fqn = names.join(path, variable.name)
    whole = plan.targets[fqn].get("")
    if whole is None or any(isinstance(dimension, str) for dimension in variable.dimensions):
        return False
    if has_odd_bits(whole.layout.dtype, whole.layout.fill):
        return False
    dtype = whole.layout.dtype
    if element_of(dtype) is not None:
        inferred = inventor.type_of(dtype, variable.name) if element_of(dtype) != "float16" else "float"
    elif isinstance(dtype, str) and dtype[1] in "iuf":
        inferred = variable.type if variable.type in ATOMIC else ""
    else:
        return False
    extension = array_extension(plan, fqn, variable, PlainNames(), inferred)
    if inferred != variable.type or extension._replace(dimensions=None).to_json():
        return False
    fill_type = own_type(variable.type, plan.checked.types)
    foreign = plan.checked.foreign.get(fqn, Foreign())
    return all(_is_bare_attribute(attribute, foreign, fill_type) for attribute in variable.attributes)


def _is_bare_attribute(attribute: Attribute, foreign: Foreign, owner: str = "") -> bool:
    """Return whether an attribute reads back from plain JSON, `_FillValue` in its `owner` type."""
    shown = plain(attribute.value).value
    if shown is None or names.problem(attribute.name) is not None:
        return False
    if attribute.name == "_FillValue" and owner:
        return fill_of(owner, shown) == attribute.value
    return untyped(shown) == attribute.value or as_it_was(attribute, foreign)


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return Draft2019Writer(plan).entries()


class Draft2019Writer(Writer):
    """Documents of the draft. "Attributes" here are members: `attributes`, `extensions`, an enum's `data_type`."""

    def __init__(self, plan: StorePlan) -> None:
        super().__init__(plan)
        self.known = documents.PlainNames()
        self.bare = is_bare(plan)

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        """Yield the document of a group."""
        members = attributes or {"attributes": {}, "extensions": []}
        yield keys.group_key("/" + prefix[:-1]), wire.encode(wire.group_document(**members))

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """Yield the document of an array."""
        layout, members = target.layout, attributes or {"attributes": {}, "extensions": []}
        texts = "vlen-utf8" if target.utf8 else "vlen-bytes"
        separated = {} if target.separator is None else {"separator": target.separator}
        document = {
            "zarr_format": wire.FORMAT,
            "shape": list(layout.shape),
            "data_type": members.get("data_type", dtypes.data_type(layout.dtype, utf8=target.utf8)),
            "chunk_grid": {"type": "regular", "chunk_shape": list(layout.chunks), **separated},
            "chunk_memory_layout": {"extension": protocol_extension.URI, "type": texts}
            if layout.dtype == "|O"
            else layout.order,
            "chunk_codecs": dtypes.written_codecs(layout.codecs, itemsize(layout.dtype)),
            "fill_value": dtypes.fill_value(layout.dtype, layout.fill, utf8=target.utf8),
            "extensions": members["extensions"],
            "attributes": members["attributes"],
        }
        if dtypes.has_odd_bits(layout.dtype, layout.fill):
            document["extensions"] = protocol_extension.with_fill(members["extensions"], layout.fill or b"")
        yield keys.array_key("/" + prefix[:-1]), wire.encode(document)

    def _members(self, path: str, attributes: Json, extension: Json | None) -> Json:
        foreign = self.plan.checked.foreign.get(path, Foreign())
        return {"attributes": attributes, "extensions": [*([extension] if extension else []), *foreign.extensions]}

    def _attributes(self, path: str, declared: tuple[Attribute, ...]) -> tuple[Json, Json]:
        """Return attributes in plain JSON, and the rest. Unchanged ones keep a source's JSON."""
        shown, hidden = documents.attributes(declared, hidden=frozenset())
        foreign = self.plan.checked.foreign.get(path, Foreign())
        for attribute in declared:
            if attribute.name in shown and as_it_was(attribute, foreign):
                shown[attribute.name] = foreign.attributes[attribute.name]
                hidden["types"].pop(attribute.name, None)
                hidden.get("nczarr", {}).pop(attribute.name, None)
        return shown, hidden

    def group_attributes(self, path: str, group: Group) -> Json:
        """Return the document members of a group."""
        shown, hidden = self._attributes(path, group.attributes)
        if self.bare:
            return self._members(path, shown, None)
        children = [*(child.name for child in group.variables), *(child.name for child in group.groups)]
        axes, root = self.plan.axes, isinstance(group, Dataset)
        document = documents.group(group, lambda name: axes[names.join(path, name)], [], [])
        superblock = documents.superblock(group, {}) if isinstance(group, Dataset) else None
        segments = [self.plan.prefix(names.join(path, child))[:-1].rpartition("/")[2] for child in children]
        extension = protocol_extension.of_group("" if root else group.name, document, segments, hidden, superblock)
        return self._members(path, shown, extension)

    def variable_attributes(self, path: str, variable: Variable) -> Json:
        """Return the document members of a variable."""
        shown, hidden = self._attributes(path, variable.attributes)
        whole = self.plan.targets[path].get("")
        if self.bare:
            return self._members(path, shown, None)
        if whole is None:
            document = documents.group_of_parts(self.plan, path, variable, self.known)
            above = len(self.plan.prefix(path))
            inside = [self.plan.prefix(path, part)[above:-1] for part in self.plan.targets[path]]
            return self._members(
                path, shown, protocol_extension.of_group(variable.name, document, inside, hidden, None)
            )
        array = documents.array(self.plan, path, variable, self.known, plain_type(whole.layout.dtype) or "")
        members = self._members(path, shown, protocol_extension.of_array(variable.name, array, hidden))
        declared = self.plan.checked.types.get(variable.type)
        if isinstance(declared, EnumType) and whole.layout.dtype != "|b1":
            enum = {"extension": protocol_extension.URI, "type": "enum", "name": variable.type}
            members["data_type"] = {**enum, "fallback": dtypes.data_type(whole.layout.dtype)}
        return members
