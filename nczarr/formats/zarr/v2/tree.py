"""The keys of a Zarr v2 hierarchy, whatever stands in its attributes: the frame that `zarr2` and `nczarr` share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

from nczarr.formats.zarr.core import writer
from nczarr.formats.zarr.core.writer import Entry, Walk
from nczarr.formats.zarr.v2.wire import GROUP, array_document, consolidated, encode
from nczarr.plan.plans import StorePlan, Target

__all__ = ["Dialect", "Entry", "Tree"]


class Dialect(writer.Dialect, Protocol):
    """What one format writes into the frame."""

    @property
    def scalar_shape(self) -> tuple[int, ...]:
        """The shape that is written for a scalar."""


class Tree(NamedTuple):
    """One emission."""

    plan: StorePlan
    dialect: Dialect

    def entries(self) -> Iterator[Entry]:
        """Every key of metadata with its document; `.zmetadata` too if the run asks for it."""
        documents = Walk(self.plan, self.dialect, _Version2(self.dialect.scalar_shape)).entries()
        if not self.plan.options.consolidated:
            yield from documents
            return
        kept: list[Entry] = []
        for key, document in documents:
            if key == ".zattrs":  # the root is next and last: all others are known
                root = [*kept, (".zattrs", document), (".zgroup", GROUP)]
                yield ".zmetadata", consolidated(sorted(root))
            kept.append((key, document))
            yield key, document


class _Version2(NamedTuple):
    """`.zarray`, `.zgroup` and `.zattrs`."""

    scalar_shape: tuple[int, ...]

    def group(self, prefix: str, attributes: dict[str, Any]) -> Iterator[Entry]:
        yield f"{prefix}.zattrs", encode(attributes)
        yield f"{prefix}.zgroup", GROUP

    def array(
        self, prefix: str, target: Target, axes: Sequence[str], attributes: dict[str, Any]
    ) -> Iterator[Entry]:  # the dialect puts the axes among the attributes
        document = array_document(target.layout, utf8=target.utf8, scalar_shape=self.scalar_shape)
        yield f"{prefix}.zarray", document.to_json()
        yield f"{prefix}.zattrs", encode(attributes)

    def part(self, prefix: str, target: Target, axes: Sequence[str]) -> Iterator[Entry]:
        yield f"{prefix}.zarray", array_document(target.layout, utf8=target.utf8).to_json()
        yield f"{prefix}.zattrs", encode({"_ARRAY_DIMENSIONS": axes})
