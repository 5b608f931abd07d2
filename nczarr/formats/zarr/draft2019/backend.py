"""`zarr3-2019`: plan → documents of a hierarchy of the draft.

Every group and array has one document. Our optional extension object contains
what the draft cannot express; no node has it if the dataset needs none
(`bare.py`). Unknown extensions of a source follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TypeVar

from nczarr import names
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.values.elements import element_of
from nczarr.ast import Attribute, Dataset, EnumType, Group, Variable
from nczarr.ast.walk import groups
from nczarr.check.checked import Foreign
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.attributes import untyped
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.stored_types import plain_type
from nczarr.formats.zarr.core.writer import Entry, Writer
from nczarr.formats.zarr.draft2019 import dtypes, keys, protocol_extension, wire
from nczarr.formats.zarr.draft2019.frontend import read
from nczarr.formats.zarr.extension import documents
from nczarr.options import Options
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.stores.memory import MemoryStore

GroupNode = TypeVar("GroupNode", bound=Group)


def is_bare(plan: StorePlan) -> bool:
    """Return whether the documents of the draft express everything: they read back as the same dataset."""
    dataset = plan.checked.dataset
    if dataset.name or dataset.kind is not None or any(group.dimensions for _, group in groups(dataset)):
        return False
    dtypes_of_arrays = [target.layout.dtype for targets in plan.targets.values() for target in targets.values()]
    if not all(element_of(dtype) or (isinstance(dtype, str) and dtype[1] in "iuf") for dtype in dtypes_of_arrays):
        return False
    store = MemoryStore(dict(Draft2019Writer(plan, bare=True).entries()))
    reread = read(store, Report(), Options(allow_loss=frozenset({"all"})))
    return reread is not None and reread.dataset == _with_storage(dataset, "/", plan)


def _with_storage(group: GroupNode, path: str, plan: StorePlan) -> GroupNode:
    """Return a group whose variables have the storage of the plan."""
    variables = (
        variable.model_copy(update={"storage": plan.storage[names.join(path, variable.name)]})
        for variable in group.variables
    )
    children = (_with_storage(child, names.join(path, child.name), plan) for child in group.groups)
    return group.model_copy(update={"variables": tuple(variables), "groups": tuple(children)})


def as_it_was(attribute: Attribute, foreign: Foreign) -> bool:
    """Return whether an attribute still equals JSON that the tree represents differently."""
    originals = foreign.attributes
    return attribute.name in originals and untyped(originals[attribute.name]) == attribute.value


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return Draft2019Writer(plan, bare=is_bare(plan)).entries()


class Draft2019Writer(Writer):
    """Documents of the draft. "Attributes" here are members: `attributes`, `extensions`, an enum's `data_type`."""

    def __init__(self, plan: StorePlan, *, bare: bool = False) -> None:
        super().__init__(plan)
        self.known = documents.PlainNames()
        self.bare = bare

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        members = attributes or {"attributes": {}, "extensions": []}
        yield keys.group_key("/" + prefix[:-1]), wire.encode(wire.group_document(**members))

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
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
