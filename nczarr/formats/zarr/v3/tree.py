"""The keys of a Zarr v3 hierarchy, whatever stands in its attributes: the frame that `zarr3` and `nczarr3` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from nczarr.formats.zarr.core.writer import Dialect, Entry, Walk
from nczarr.formats.zarr.v3.wire import array_document, consolidated, group_document
from nczarr.plan.plans import StorePlan, Target

__all__ = ["Dialect", "Entry", "Tree"]

DOCUMENT = "zarr.json"
"""The last segment of every key of metadata."""


class Tree(NamedTuple):
    """One emission."""

    plan: StorePlan
    dialect: Dialect

    def entries(self) -> Iterator[Entry]:
        """Every key of metadata with its document; all others within the root's if the run asks for it."""
        documents = Walk(self.plan, self.dialect, _Version3()).entries()
        if not self.plan.options.consolidated:
            yield from documents
            return
        kept: list[Entry] = []
        for key, document in documents:
            if key == DOCUMENT:
                document = consolidated(document, sorted(kept))
            kept.append((key.removesuffix(DOCUMENT).removesuffix("/"), document))
            yield key, document


class _Version3:
    """One `zarr.json` a group or array."""

    def group(self, prefix: str, attributes: dict[str, Any]) -> Iterator[Entry]:
        yield prefix + DOCUMENT, group_document(attributes)

    def array(self, prefix: str, target: Target, axes: Sequence[str], attributes: dict[str, Any]) -> Iterator[Entry]:
        yield prefix + DOCUMENT, array_document(target.layout, axes, attributes, utf8=target.utf8).to_json()

    def part(self, prefix: str, target: Target, axes: Sequence[str]) -> Iterator[Entry]:
        yield from self.array(prefix, target, axes, {})
