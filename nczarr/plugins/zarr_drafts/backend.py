"""`zarr3-2019`: plan → documents of a hierarchy of the draft.

Every group and array has one document. Our optional extension object contains
what the draft cannot express; no node has it if the dataset needs none
(`is_bare`). Unknown extensions of a source follow.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from types import MappingProxyType
from typing import TypeVar

from nczarr import names
from nczarr.arrays.sources.source import Descr, itemsize
from nczarr.arrays.values.elements import element_of, plain_type
from nczarr.ast import EnumType, Group, Variable
from nczarr.ast.dataset import groups
from nczarr.ast.plain_json import is_strict
from nczarr.diagnostics.report import Report
from nczarr.formats.zarr.core.attributes import type_untyped
from nczarr.formats.zarr.core.fill_values import Json
from nczarr.formats.zarr.core.writer import Entry
from nczarr.formats.zarr.extension.documents import HiddenAttributes
from nczarr.options import Options
from nczarr.plan.plans import PartTarget, StorePlan
from nczarr.plugins.zarr_drafts import dtypes, keys, protocol_extension, wire
from nczarr.plugins.zarr_drafts.frontend import read
from nczarr.semantics.checked import Foreign
from nczarr.stores.memory import MemoryStore
from nczarr.syntax.json.tolerant import parse

GroupNode = TypeVar("GroupNode", bound=Group)


def is_bare(plan: StorePlan) -> bool:
    """Return whether the documents of the draft express everything: they read back as the same dataset."""
    dataset = plan.checked.dataset
    if dataset.name or dataset.kind is not None or any(group.dimensions for _, group in groups(dataset)):
        return False
    stored = [target.layout.dtype for targets in plan.targets.values() for target in targets.values()]
    if not all(element_of(dtype) or (isinstance(dtype, str) and dtype[1] in "iuf") for dtype in stored):
        return False
    store = MemoryStore(dict(Draft2019Writer(plan, bare=True).entries()))
    reread = read(store, Report(), Options.of(allow_loss=frozenset({"all"})))
    return reread is not None and reread.dataset == _with_storage(dataset, "/", plan)


def _with_storage(group: GroupNode, path: str, plan: StorePlan) -> GroupNode:
    """Return a group whose variables have the storage of the plan."""
    variables = (
        variable.model_copy(update={"storage": plan.storage[names.join(path, variable.name)]})
        for variable in group.variables
    )
    children = (_with_storage(child, names.join(path, child.name), plan) for child in group.groups)
    return group.model_copy(update={"variables": tuple(variables), "groups": tuple(children)})


def emit(plan: StorePlan, report: Report) -> Iterator[Entry]:
    """Yield every metadata key with its document, children first, the root last."""
    return Draft2019Writer(plan, bare=is_bare(plan)).entries()


class Draft2019Writer(HiddenAttributes):
    """Documents of the draft, with the hidden attributes in our extension object.

    "Attributes" of a document are members: `attributes`, `extensions`, an enum's `data_type`.
    """

    superblock = MappingProxyType({})
    reserved = frozenset()

    def __init__(self, plan: StorePlan, *, bare: bool = False) -> None:
        super().__init__(plan)
        self.bare = bare

    def is_listed(self, path: str, member: Variable | Group) -> bool:
        return False

    def find_said_type(self, dtype: Descr) -> str:
        return plain_type(dtype) or ""

    def group(self, prefix: str, attributes: Json) -> Iterator[Entry]:
        members = attributes or {"attributes": {}, "extensions": []}
        ordered = {name: members[name] for name in ("extensions", "attributes")}
        yield keys.group_key("/" + prefix[:-1]), wire.encode({"zarr_format": wire.FORMAT, **ordered})

    def array(self, prefix: str, target: PartTarget, axes: Sequence[str], attributes: Json) -> Iterator[Entry]:
        """Yield the key and the document of one array; `attributes`: members that `finish` made."""
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
            "chunk_codecs": dtypes.write_codecs(layout.codecs, itemsize(layout.dtype)),
            "fill_value": dtypes.fill_value(layout.dtype, layout.fill, utf8=target.utf8),
            "extensions": members["extensions"],
            "attributes": members["attributes"],
        }
        if dtypes.has_odd_bits(layout.dtype, layout.fill):
            document["extensions"] = protocol_extension.with_fill(members["extensions"], layout.fill or b"")
        yield keys.array_key("/" + prefix[:-1]), wire.encode(document)

    def finish(self, path: str, shown: Json, hidden: Json) -> Json:
        """Return attributes and extensions of a node's document, with hidden attributes in our extension."""
        checked = self.plan.checked
        foreign = checked.foreign.get(path, Foreign())
        node = checked.variables.get(path) or checked.groups[path]
        types = hidden["attr"]
        for attribute in node.attributes:
            if (
                attribute.json is not None
                and is_strict(attribute)
                and type_untyped(parse(attribute.json.encode()).value)[0] == attribute.value
            ):
                types["types"].pop(attribute.name, None)
        if self.bare:
            return {"attributes": shown, "extensions": [*foreign.extensions]}
        name = "" if path == "/" else node.name
        if "array" in hidden:
            extension = protocol_extension.of_array(name, hidden["array"], types)
        else:
            segments = self._segments(path, node)
            extension = protocol_extension.of_group(name, hidden["group"], segments, types, hidden.get("superblock"))
        members: Json = {"attributes": shown, "extensions": [extension, *foreign.extensions]}
        dtype = self.plan.targets[path][""].layout.dtype if "array" in hidden else "|b1"
        if isinstance(node, Variable) and isinstance(checked.types.get(node.type), EnumType) and dtype != "|b1":
            enum = {"extension": protocol_extension.URI, "type": "enum", "name": node.type}
            members["data_type"] = {**enum, "fallback": dtypes.data_type(dtype)}
        return members

    def _segments(self, path: str, node: Variable | Group) -> list[str]:
        """Return the key names of a group's children, or the paths of a variable's arrays."""
        if isinstance(node, Variable):
            above = len(self.plan.prefix(path))
            return [self.plan.prefix(path, part)[above:-1] for part in self.plan.targets[path]]
        children = [names.join(path, child.name) for children in (node.variables, node.groups) for child in children]
        return [self.plan.prefix(child)[:-1].rpartition("/")[2] for child in children]
