"""The keys of a Zarr v3 hierarchy, whatever stands in its attributes: the frame that `zarr3` and `nczarr3` share.

A dialect says what `attributes` hold; this module walks the tree. Order: children before parents, the root last, so
that a store whose writing was cut short has no root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from nczarr import names
from nczarr.ast import Group, Variable
from nczarr.formats.zarr3.wire import array_document, consolidated, group_document
from nczarr.passes.axes import part_axes
from nczarr.passes.planned import Planned, Target

Entry = tuple[str, bytes]
"""A key and its document."""

DOCUMENT = "zarr.json"
"""The last segment of every key of metadata."""


class Dialect(Protocol):
    """What one format writes into the frame."""

    def group_attributes(self, path: str, group: Group) -> dict[str, Any]:
        """`attributes` of a group."""

    def variable_attributes(self, path: str, variable: Variable) -> dict[str, Any]:
        """`attributes` of a variable, be it an array or a group of parts."""


class Tree(NamedTuple):
    """One emission."""

    planned: Planned
    dialect: Dialect

    def entries(self) -> Iterator[Entry]:
        """Every key of metadata with its document; all others within the root's if the run asks for it."""
        documents = self._group("", "/", self.planned.checked.dataset)
        if not self.planned.options.consolidated:
            yield from documents
            return
        kept: list[Entry] = []
        for key, document in documents:
            if key == DOCUMENT:
                document = consolidated(document, sorted(kept))
            kept.append((key.removesuffix(DOCUMENT).removesuffix("/"), document))
            yield key, document

    def _group(self, prefix: str, path: str, group: Group) -> Iterator[Entry]:
        for child in group.groups:
            yield from self._group(f"{prefix}{child.name}/", names.join(path, child.name), child)
        for variable in group.variables:
            yield from self._variable(f"{prefix}{variable.name}/", names.join(path, variable.name), variable)
        yield prefix + DOCUMENT, group_document(self.dialect.group_attributes(path, group))

    def _variable(self, prefix: str, path: str, variable: Variable) -> Iterator[Entry]:
        attributes = self.dialect.variable_attributes(path, variable)
        targets = self.planned.targets[path]
        whole = targets.get("")
        if whole is not None:
            document = array_document(whole.layout, self.planned.axes[path], attributes, utf8=whole.utf8)
            yield prefix + DOCUMENT, document.to_json()
            return
        yield from self._parts(prefix, path, targets)
        yield prefix + DOCUMENT, group_document(attributes)

    def _parts(self, prefix: str, path: str, targets: Mapping[str, Target]) -> Iterator[Entry]:
        """The arrays of a variable that is a group, and the groups between."""
        inner: dict[str, None] = {}
        for part, target in targets.items():
            dimensions = part_axes(self.planned.axes[path], part, target.layout.shape, targets)
            document = array_document(target.layout, dimensions, {}, utf8=target.utf8)
            yield f"{prefix}{part}/{DOCUMENT}", document.to_json()
            above = part.rpartition("/")[0]
            while above:
                inner.setdefault(above)
                above = above.rpartition("/")[0]
        for name in sorted(inner, key=lambda name: (-name.count("/"), name)):
            yield f"{prefix}{name}/{DOCUMENT}", group_document({})
