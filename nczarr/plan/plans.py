"""Plans, the only input of back ends: for stores, netCDF files, and streams.

A plan is a checked dataset, its losses in the target, and the storage of the
rest. Only `planner.plan_target` makes one, after it reports every loss. `Conversion`
is the result of a run.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from nczarr import names
from nczarr.arrays.sources.source import ArraySource, Layout, Parts
from nczarr.ast import Kind, Storage
from nczarr.ast.rectilinear import varies
from nczarr.diagnostics.report import NOWHERE, Diagnostic, Span
from nczarr.names.records import NamedTuple
from nczarr.options import Options
from nczarr.registry import ChunkKeys, Format
from nczarr.semantics.checked import Checked

if TYPE_CHECKING:
    from nczarr.arrays.execution.counts import Counts

Weight = Literal["value", "annotation"]
"""A value loss changes what a reader computes; an annotation loss does not."""

Runs = tuple[tuple[int, int], ...]
"""Run-length coded linear indices in C order: (first, count), ascending."""


class Loss(NamedTuple):
    """One property that the target cannot hold."""

    kind: str
    """Diagnostic code."""
    weight: Weight
    """Importance of the loss."""
    path: str
    """FQN of the node."""
    message: str
    """Message of the diagnostic."""
    span: Span = NOWHERE
    """Position in the source."""


class PartTarget(NamedTuple):
    """Layout of one part of a variable in a store."""

    layout: Layout
    """Its `fill` is None if none is declared; then every chunk is written, unless `sparse`."""
    pad: bytes
    """One element in the source's bytes (of strings the text), for unwritten cells and the rest of edge chunks."""
    sparse: bool = True
    """True if chunks that contain only `pad` may be missing."""
    nil: Runs = ()
    """Positions of NIL strings."""
    utf8: bool = True
    """True if all strings are UTF-8."""
    apart: tuple[int, str] | None = None
    """In targets of references: approximate bytes of embedded values, and the reason; None: chunks are referenced."""
    separator: str | None = None
    """Separator of the indices in a chunk's key; None: the format's default."""
    is_fast: bool = False
    """True if deflate is encoded by ISA-L (`--codec zlib:fast`)."""


Stage: TypeAlias = Callable[[], AbstractContextManager[ArraySource]]
"""Function that lends an array in other chunks, from a scratch folder that exists as long as the context."""


class StorePlan(NamedTuple):
    """Plan of a key-value store. Mappings are by FQN of the variable; those of parts by path within it."""

    checked: Checked
    form: Format
    """Format of the target."""
    options: Options
    losses: tuple[Loss, ...] = ()
    """Everything that the target does not hold, accepted value losses included."""
    storage: Mapping[str, Storage] = MappingProxyType({})
    """Storage of each variable, with the options of the run applied."""
    targets: Mapping[str, Mapping[str, PartTarget]] = MappingProxyType({})
    """Layout of every part."""
    parts: Mapping[str, Parts] = MappingProxyType({})
    """Sources; a part whose cells are all `pad` has none."""
    axes: Mapping[str, tuple[str, ...]] = MappingProxyType({})
    """Simple dimension names in the variable's group, unique where two lengths would share one."""
    places: Mapping[tuple[str, str], str] = MappingProxyType({})
    """Key prefixes by FQN and part, for nodes whose names are not their key segments."""
    stages: Mapping[tuple[str, str], Stage] = MappingProxyType({})
    """First passes by FQN and part, of arrays that need two."""

    @property
    def consolidates(self) -> bool:
        """True if the root also holds the documents of all nodes, which readers then open with one request.

        By default in stores, but not in references and repositories. zarr-python
        parses all of these documents at once, and older releases refuse a store with
        one unknown type or grid; otherwise they refuse that array alone.
        """
        if self.options.target.consolidated is not None:
            return self.options.target.consolidated
        return self.form.store.begins is None and not any(
            varies(target.layout.chunks)
            or (self.options.target.zarr_names == "registered" and not isinstance(target.layout.dtype, str))
            for parts in self.targets.values()
            for target in parts.values()
        )

    def prefix(self, path: str, part: str = "") -> str:
        """Return the key prefix of a node or of one of its parts; empty for the root."""
        prefix = self.places.get((path, part))
        if prefix is not None:
            return prefix
        segments = (*names.split(path), part) if part else names.split(path)
        return "/".join((*segments, "")) if segments else ""

    def chunk_keys(self, path: str, part: str = "") -> ChunkKeys:
        """Return the chunk keys of a part; for a variable that is a group, the prefix of all its data."""
        arrays, target = self.form.capabilities.arrays, self.targets[path].get(part)
        assert arrays is not None
        return arrays.chunk_keys.below(self.prefix(path, part), None if target is None else target.separator)


class FilePlan(NamedTuple):
    """Plan of a netCDF file of one kind."""

    checked: Checked
    form: Format
    """Format of the target."""
    options: Options
    losses: tuple[Loss, ...]
    """Everything that the file does not hold, accepted value losses included."""
    kind: Kind
    """Kind of netCDF file."""
    storage: Mapping[str, Storage]
    """Storage of each variable by FQN, as the netCDF library will create it."""
    stages: Mapping[tuple[str, str], Stage] = MappingProxyType({})
    """First passes by FQN and part, of arrays that need two."""


class StreamPlan(NamedTuple):
    """Plan of a text or stream, which is written sequentially."""

    checked: Checked
    form: Format
    """Format of the target."""
    options: Options
    losses: tuple[Loss, ...]
    """Everything that the target does not hold, accepted value losses included."""
    storage: Mapping[str, Storage] = MappingProxyType({})
    """Requested codecs, by FQN of the variables whose values are encoded with them."""


Plan: TypeAlias = StorePlan | FilePlan | StreamPlan


class Conversion(NamedTuple):
    """A finished conversion, as `nczarr.convert` returns it.

    Each chunk is counted once, in the field of its route.
    """

    target: str
    """Path or URL of the target."""
    format: str
    """Format of the target."""
    variables: int
    """Number of variables in the target."""
    losses: tuple[Loss, ...] = ()
    """Everything that the target does not hold, accepted value losses included."""
    referenced_chunks: int = 0
    """Number of chunks that the target refers to in place."""
    copied_chunks: int = 0
    """Number of chunks copied in their encoded form."""
    gathered_chunks: int = 0
    """Number of chunks joined from uncompressed byte ranges."""
    transcoded_chunks: int = 0
    """Number of chunks decoded and encoded again in the same grid."""
    rechunked_chunks: int = 0
    """Number of chunks made from source chunks of another shape."""
    encoded_chunks: int = 0
    """Number of chunks made from values without chunks."""
    skipped_keys: int = 0
    """Number of keys that an interrupted run had written and `resume` reused."""
    bytes: int = 0
    """Encoded size of all chunks in bytes."""
    diagnostics: tuple[Diagnostic, ...] = ()
    """Warnings, accepted losses included."""
    verified_with: tuple[str, ...] = ()
    """Readers that found the target equal to its source, with `verify`.

    `nczarr`, and `libnetcdf` or `zarr-python` with its version if that library
    is installed and the target is a local path.
    """


def conversion_of(path: str, plan: Plan, counts: "Counts") -> Conversion:
    """Return the counted result of a run."""
    return Conversion(
        path,
        plan.form.name,
        len(plan.checked.variables),
        plan.losses,
        referenced_chunks=counts["reference"].chunks,
        copied_chunks=counts["copy"].chunks,
        gathered_chunks=counts["gather"].chunks,
        transcoded_chunks=counts["transcode"].chunks,
        rechunked_chunks=counts["rechunk"].chunks,
        encoded_chunks=counts["encode"].chunks + counts["fill"].chunks,
        skipped_keys=counts.skipped,
        bytes=counts.total.size,
    )
