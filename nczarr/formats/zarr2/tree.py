"""The keys of a Zarr v2 hierarchy, whatever stands in its attributes: the frame that `zarr2` and `nczarr` share.

A dialect says what `.zattrs` holds; this module walks the tree. Order: children before parents, the root last, so that
a store whose writing was cut short has no root.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from nczarr import names
from nczarr.ast import Group, Variable
from nczarr.formats.zarr2.wire import GROUP, array_document, consolidated, encode
from nczarr.passes.axes import part_axes
from nczarr.passes.planned import Planned, Target

Entry = tuple[str, bytes]
"""A key and its document."""


class Dialect(Protocol):
    """What one format writes into the frame."""

    @property
    def scalar_shape(self) -> tuple[int, ...]:
        """The shape that is written for a scalar."""

    def group_attributes(self, path: str, group: Group) -> dict[str, Any]:
        """`.zattrs` of a group."""

    def variable_attributes(self, path: str, variable: Variable) -> dict[str, Any]:
        """`.zattrs` of a variable, be it an array or a group of parts."""


class Tree(NamedTuple):
    """One emission."""

    planned: Planned
    dialect: Dialect

    def entries(self) -> Iterator[Entry]:
        """Every key of metadata with its document; `.zmetadata` too if the run asks for it."""
        documents = self._group("", "/", self.planned.checked.dataset)
        if not self.planned.options.consolidated:
            yield from documents
            return
        kept: list[Entry] = []
        for key, document in documents:
            if key == ".zattrs":  # the root is next and last: all others are known
                root = [*kept, (".zattrs", document), (".zgroup", GROUP)]
                yield ".zmetadata", consolidated(sorted(root))
            kept.append((key, document))
            yield key, document

    def _group(self, prefix: str, path: str, group: Group) -> Iterator[Entry]:
        for child in group.groups:
            yield from self._group(f"{prefix}{child.name}/", names.join(path, child.name), child)
        for variable in group.variables:
            yield from self._variable(f"{prefix}{variable.name}/", names.join(path, variable.name), variable)
        yield f"{prefix}.zattrs", encode(self.dialect.group_attributes(path, group))
        yield f"{prefix}.zgroup", GROUP

    def _variable(self, prefix: str, path: str, variable: Variable) -> Iterator[Entry]:
        attributes = encode(self.dialect.variable_attributes(path, variable))
        targets = self.planned.targets[path]
        whole = targets.get("")
        if whole is not None:
            document = array_document(whole.layout, utf8=whole.utf8, scalar_shape=self.dialect.scalar_shape)
            yield f"{prefix}.zarray", document.to_json()
            yield f"{prefix}.zattrs", attributes
            return
        yield from self._parts(prefix, path, targets)
        yield f"{prefix}.zattrs", attributes
        yield f"{prefix}.zgroup", GROUP

    def _parts(self, prefix: str, path: str, targets: Mapping[str, Target]) -> Iterator[Entry]:
        """The arrays of a variable that is a group, and the groups between."""
        inner: dict[str, None] = {}
        for part, target in targets.items():
            yield f"{prefix}{part}/.zarray", array_document(target.layout, utf8=target.utf8).to_json()
            dimensions = part_axes(self.planned.axes[path], part, target.layout.shape, targets)
            yield f"{prefix}{part}/.zattrs", encode({"_ARRAY_DIMENSIONS": dimensions})
            above = part.rpartition("/")[0]
            while above:
                inner.setdefault(above)
                above = above.rpartition("/")[0]
        for name in sorted(inner, key=lambda name: (-name.count("/"), name)):
            yield f"{prefix}{name}/.zattrs", b"{}"
            yield f"{prefix}{name}/.zgroup", GROUP
