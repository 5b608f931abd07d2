"""Two passes over arrays whose chunks change: a scratch array in a folder between source and target.

The scratch array is a store without documents: files of raw chunks with an index
(shards), and a journal. Like an unfinished target it is continued by an equal run
(`--resume`). It exists while the chunks of one array are made, and is removed
before that of the next one.
"""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import NamedTuple

from nczarr import __version__
from nczarr.arrays.chunks.grid import Encoding
from nczarr.arrays.chunks.key_chunk_array import KeyChunkArray
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.thread_pool import DISTANT_WORKERS, processors
from nczarr.arrays.sources.passes import Budget, Passes, plan_passes
from nczarr.arrays.sources.source import ArraySource, Layout, find_unwritten, little_descr
from nczarr.arrays.sources.windows import choose_route, chunk_shape_of
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.link.run import link
from nczarr.link.tasks import WrittenPart, arrays, is_complete
from nczarr.options import Options, RunOptions
from nczarr.plan.plans import FilePlan, PartTarget, Plan, StorePlan
from nczarr.registry import ChunkKeys
from nczarr.stores import local_paths
from nczarr.stores.base import Store, StoreJournal
from nczarr.stores.directory import DirectoryStore, DirectoryTarget
from nczarr.stores.finish import add_end, leftovers, remove_folder, unfinished
from nczarr.stores.url import absolute, is_remote

KEYS = ChunkKeys("", "/", "c")
"""Keys of a scratch array."""

INDEX = ({"id": "bytes", "endian": "little"}, {"id": "crc32c"})
"""Encoding of the index of its files."""


class PartPasses(NamedTuple):
    """Cost of the passes over one part of a variable."""

    path: str
    """FQN of the variable."""
    part: str
    """Path of the part."""
    source: ArraySource
    """Values."""
    chunks: tuple[int, ...]
    """Lengths of a target chunk."""
    passes: Passes
    """Passes and their cost."""

    @property
    def source_chunks(self) -> tuple[int, ...]:
        """Lengths of a source chunk; the shape of values without chunks."""
        return self.source.layout.shape if self.source.viewed else chunk_shape_of(self.source)


def list_passes(plan: Plan, report: Report) -> list[PartPasses]:
    """Return the passes of each part with values, in plan order. Reports oversized-chunk."""
    options, listed = plan.options, list[PartPasses]()
    if isinstance(plan, StorePlan):
        from nczarr.plan.chunk_lengths import check_chunk

        for array in arrays(plan):
            check_chunk(plan, array.path, array.part, array.decoded, report)
            if array.source is not None:
                chunks = array.target.layout.chunks
                listed.append(_passes_of(array.path, array.part, array.source, array.unit, chunks, options.run))
        return listed
    from nczarr.link.files import steps

    for step in steps(plan, report) or ():
        source = plan.checked.parts[step.path][step.part]
        shape = source.layout.shape
        chunks = step.shape if len(step.shape) == len(shape) else shape  # lists are written in one stream
        listed.append(_passes_of(step.path, step.part, source, None, chunks, options.run))
    return listed


def _passes_of(
    path: str, part: str, source: ArraySource, unit: tuple[int, ...] | None, chunks: tuple[int, ...], run: RunOptions
) -> PartPasses:
    """Return the passes of one part. `unit`: lengths of a key; None: chunks in C order."""
    workers = run.workers or (DISTANT_WORKERS if source.distant else min(8, processors()))
    budget = Budget(run.memory, workers, ordered=unit is None)
    return PartPasses(path, part, source, chunks, plan_passes(source, unit or chunks, chunks, budget))


def plan_stages(plan: Plan, path: str) -> Plan:
    """Return the plan of a target at a path or URL with the first passes of arrays that need two."""
    if plan.options.run.scratch is None or not isinstance(plan, StorePlan | FilePlan):
        return plan
    staged = [part for part in list_passes(plan, Report()) if part.passes.scratch is not None]
    if not staged and os.path.isdir(local_paths.parent_of(scratch_path(path, plan.options.run))):
        _remove_others(scratch_path(path, plan.options.run))
    return plan._replace(
        stages={(part.path, part.part): partial(lend_scratch, part, path, plan.options) for part in staged}
    )


@contextmanager
def lend_scratch(part: PartPasses, target: str, options: Options) -> Iterator[ArraySource]:
    """Lend an array in the chunks of scratch. An interrupted run that can be resumed keeps them.

    Raises OSError if the folder cannot be written, or has less room than the values need.
    """
    scratch, layout = part.passes.scratch, part.source.layout
    assert scratch is not None
    layout = layout._replace(chunks=scratch.chunks, codecs=(), shards=scratch.block, order="C")
    store = _begin(part, layout, scratch_path(target, options.run), options)
    try:
        _check_room(part, store)
        written = WrittenPart(
            part.path, part.part, KEYS, PartTarget(layout, find_unwritten(part.source)), part.source,
            choose_route(part.source, layout),
        )  # fmt: skip
        link([(0, written)], store, options.run, Counts())
        dtype = layout.dtype if isinstance(layout.dtype, str) else little_descr(layout.dtype)
        encoding = Encoding(dtype, index_steps=INDEX)
        yield KeyChunkArray(layout, DirectoryStore(store.path), KEYS, encoding, undefined=part.source.undefined)
    except BaseException:
        if not store.suspend():
            _remove(store)
        raise
    _remove(store)


def scratch_path(target: str, run: RunOptions) -> str:
    """Return the path of the scratch array for a target: its name and a digest of its place, in a folder."""
    place = absolute(target)
    folder = run.scratch or (tempfile.gettempdir() if is_remote(target) else local_paths.parent_of(place))
    name = local_paths.name_of(place) if not is_remote(target) else "target"
    digest = hashlib.sha256(os.fsencode(place)).hexdigest()[:8]
    return local_paths.join(folder, add_end(name, f".{digest}.scratch"))


def _begin(part: PartPasses, layout: Layout, path: str, options: Options) -> DirectoryTarget:
    """Begin or continue a scratch array; remove those of dead runs: only this one holds the target's lock."""
    from nczarr.stores.stat import identity

    source = options.reading.source
    source_identity = None if source is None else identity(source, options.run.storage.of("source"))
    content = (__version__, source_identity, options.target.part, part.path, part.part, layout)
    fingerprint = None if source_identity is None else hashlib.sha256(repr(content).encode()).hexdigest()
    journal = StoreJournal(fingerprint, "" if source is None else show(source), run=os.urandom(8).hex())
    store = DirectoryTarget(path, journal=journal, resume=options.run.resume)
    _remove_others(path, store.path)
    return store


def _remove_others(path: str, own: str | None = None) -> None:
    """Remove what dead runs have left of a scratch array, besides the `own` one."""
    for _, place in leftovers(path):
        if own is None or local_paths.real(place) != local_paths.real(own):
            with suppress(OSError):  # the next run removes it
                remove_folder(place)


def _check_room(part: PartPasses, store: DirectoryTarget) -> None:
    """Raise OSError if the file system has less room than the scratch array still needs."""
    folder = local_paths.folder_of(store.path)
    folders = local_paths.walk(local_paths.join(store.path, KEYS.lead))
    present = sum(os.path.getsize(local_paths.join(place, name)) for place, _, names in folders for name in names)
    needed, free = part.passes.scratch_size - present, shutil.disk_usage(folder).free
    if needed > free:
        text = f"the values between the two passes of `{part.path}` need {needed} bytes, and {free} are free"
        raise OSError(errno.ENOSPC, text, folder)


def _remove(store: DirectoryTarget) -> None:
    unfinished.discard(store.path)
    with suppress(OSError):  # the next run removes it
        remove_folder(store.path)


def link_in_stages(numbered: list[tuple[int, WrittenPart]], plan: StorePlan, store: Store, counts: Counts) -> None:
    """Write all data keys of arrays; those with two passes one after the other. Raises OSError."""

    def is_staged(array: WrittenPart) -> bool:
        return (array.path, array.part) in plan.stages and not is_complete(array, store)

    staged = [entry for entry in numbered if is_staged(entry[1])]
    link([entry for entry in numbered if entry not in staged], store, plan.options.run, counts)
    for number, array in staged:
        with plan.stages[array.path, array.part]() as source:
            link([(number, array._replace(source=source))], store, plan.options.run, counts)
