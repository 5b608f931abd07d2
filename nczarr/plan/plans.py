"""Plans, the only thing that back ends accept: one type for stores, one for netCDF files, one for streams.

A plan is a checked dataset, what the target loses of it, and how the target will hold the rest. Only `planner.plan`
makes one, and it reports every loss first.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from nczarr import names
from nczarr.arrays.source import Layout, Parts
from nczarr.ast import Kind, Storage
from nczarr.capabilities import ChunkKeys, Format
from nczarr.check.checked import Checked
from nczarr.options import Options
from nczarr.source import NOWHERE, Span

Weight = Literal["value", "annotation"]
"""A value loss changes what a reader computes; an annotation loss does not."""

Runs = tuple[tuple[int, int], ...]
"""Run-length coded linear indices, C order: (first, count), ascending."""


class Loss(NamedTuple):
    """One thing that the target cannot hold: `kind` is a diagnostic code, `path` the FQN of what loses it."""

    kind: str
    weight: Weight
    path: str
    message: str
    span: Span = NOWHERE


class Target(NamedTuple):
    """How one part of a variable will lie in a store."""

    layout: Layout
    """Its `fill` is None where the target declares no fill value; then every chunk is written, unless `sparse`."""
    pad: bytes
    """One element in the source's bytes (of strings the text) for every cell that was never written, the rest of edge
    chunks included."""
    sparse: bool = True
    """Whether chunks that hold nothing but `pad` need not exist."""
    nil: Runs = ()
    """Which strings are NIL."""
    utf8: bool = True
    """Whether all strings are UTF-8."""
    apart: tuple[int, str] | None = None
    """For targets that hold references: about how many bytes of values they hold themselves, and why. None: chunks
    are referred to."""
    separator: str | None = None
    """Separator of the indices in a chunk's key; None: the format's own."""


class StorePlan(NamedTuple):
    """A dataset ready for a store of keys. Mappings are by FQN of the variable, those of parts by path within."""

    checked: Checked
    form: Format
    options: Options
    losses: tuple[Loss, ...] = ()
    """Everything that the target does not hold, accepted value losses included."""
    storage: Mapping[str, Storage] = MappingProxyType({})
    """Each variable's storage with the options of the run worked in."""
    targets: Mapping[str, Mapping[str, Target]] = MappingProxyType({})
    """The layout of every part."""
    parts: Mapping[str, Parts] = MappingProxyType({})
    """The sources; a part whose cells are all `pad` has none."""
    axes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Simple names of the dimensions in the variable's group: unique where two of different length would share one."""
    places: Mapping[tuple[str, str], str] = MappingProxyType({})
    """Paths in keys, by FQN and path of the part, of nodes whose names are not segments of keys."""

    def prefix(self, path: str, part: str = "") -> str:
        """Return how the keys of a node, or of one of its parts, begin; empty for the root."""
        known = self.places.get((path, part))
        if known is not None:
            return known
        segments = (*names.split(path), part) if part else names.split(path)
        return "/".join((*segments, "")) if segments else ""

    def chunk_keys(self, path: str, part: str = "") -> ChunkKeys:
        """The keys of the chunks of a variable's part; of a variable that is a group, the prefix of all its data."""
        arrays, target = self.form.capabilities.arrays, self.targets[path].get(part)
        assert arrays is not None
        return arrays.chunk_keys.below(self.prefix(path, part), None if target is None else target.separator)


class FilePlan(NamedTuple):
    """A dataset ready for a netCDF file of one kind."""

    checked: Checked
    form: Format
    options: Options
    losses: tuple[Loss, ...]
    """Everything that the file does not hold, accepted value losses included."""
    kind: Kind
    storage: Mapping[str, Storage]
    """The storage of each variable by FQN, as the netCDF library will make it."""


class StreamPlan(NamedTuple):
    """A dataset ready for a text or stream, which is written from front to back."""

    checked: Checked
    form: Format
    options: Options
    losses: tuple[Loss, ...]
    """Everything that the target does not hold, accepted value losses included."""
    storage: Mapping[str, Storage] = MappingProxyType({})
    """Codecs that the run asks for, by FQN of variables whose values are encoded with them."""


Plan: TypeAlias = StorePlan | FilePlan | StreamPlan
