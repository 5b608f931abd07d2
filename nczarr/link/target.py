"""Store of a plan: unfinished, new or resumed, and how it is filled; what a cluster can do."""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterable, Iterator
from functools import partial
from itertools import groupby
from typing import TYPE_CHECKING, Any, Protocol, cast

from nczarr import __version__
from nczarr.arrays.chunks.manifest import ChunkPlace, PlaceColumns, Referred, columns_from, some
from nczarr.arrays.execution.counts import Counts
from nczarr.arrays.execution.thread_pool import Crew, Task
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Index, grid_of, index_of, number_of
from nczarr.arrays.sources.source import itemsize
from nczarr.arrays.sources.windows import choose_route
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.secrets import show
from nczarr.link.run import link
from nczarr.link.tasks import WrittenPart, arrays
from nczarr.names.records import NamedTuple
from nczarr.plan.plans import StorePlan
from nczarr.registry import Format, load
from nczarr.stores.base import Store, StoreJournal
from nczarr.stores.places import find_places, find_remote_file
from nczarr.stores.ranges import Range
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.link.executor import Executor


class ReferringStore(Store, Protocol):
    """An unfinished store that accepts references."""

    def accepts(self, sources: tuple[str, ...]) -> bool:
        """Return whether the store can name all of these paths and URLs; otherwise it gets the chunks."""

    def add(self, referred: Referred) -> None:
        """Add the chunk locations of an array. Raises OSError."""


def refer(
    numbered: Iterable[tuple[int, WrittenPart]], store: ReferringStore, inline: int, counts: Counts
) -> Iterator[tuple[int, WrittenPart]]:
    """Put the references of arrays; yield the arrays, or their keys, that must be made. Raises OSError.

    `inline`: maximum bytes of an embedded chunk; distant chunks are always
    referenced.
    """
    from nczarr.plan.reference_layout import refer_chunks  # few targets hold references

    for number, array in numbered:
        columns = refer_chunks(array.source, array.target.layout) if array.route == "reference" else None
        if columns is None:
            yield number, array
            continue
        columns = _leave_members(columns)
        if not store.accepts(columns.sources):
            assert array.source is not None
            yield number, array._replace(route=choose_route(array.source, array.target.layout))
            continue
        grid = grid_of(array.target.layout.shape, array.unit)
        far = array.source is not None and array.source.distant
        long = (columns.length > (-1 if far else inline)) | (columns.length < 0)
        referred_columns = columns if long.all() else some(columns, long)
        if len(referred_columns.chunk):
            _add_references(array, grid, referred_columns, store, counts)
        rest = _rest(array, grid, referred_columns, columns, ~long)
        if rest:
            assert array.source is not None
            yield number, array._replace(route=choose_route(array.source, array.target.layout), only=rest)


def refer_added(
    numbered: Iterable[tuple[int, WrittenPart]], store: ReferringStore, inline: int, counts: Counts, written: set[str]
) -> Iterator[tuple[int, WrittenPart]]:
    """Put references to those chunks of extended arrays that would be copied; yield the arrays with all others.

    `inline`: as of `refer`. `written`: gets the keys. Raises OSError.
    """
    for number, array in numbered:
        source, rest = array.source, list(array.indices())
        if source is not None and array.route == "copy" and array.unit == array.target.layout.chunks:
            grid = grid_of(array.target.layout.shape, array.unit)
            places = ((number_of(index, grid), source.place(index)) for index in sorted(rest))
            least = 0 if source.distant else inline + 1
            columns = _leave_members(columns_from(pair for pair in places if _is_referable(pair[1], least)))
            if len(columns.chunk) and store.accepts(columns.sources):
                written.update(_add_references(array, grid, columns, store, counts).keys())
                rest = _without(rest, grid, columns)
        if rest:
            yield number, array._replace(only=tuple(rest))


def _add_references(
    array: WrittenPart, grid: tuple[int, ...], columns: PlaceColumns, store: ReferringStore, counts: Counts
) -> Referred:
    """Put the references of chunks of an array, and count them; return them. Raises OSError."""
    referred = Referred(array.chunk_keys, grid, columns, {} if array.source is None else array.source.noted)
    store.add(referred)
    number = len(columns.chunk)
    size = int(columns.length.clip(min=0).sum())
    counts.add("reference", number, size, number * array.chunk_size * array.element)
    return referred


def _leave_members(columns: PlaceColumns) -> PlaceColumns:
    """Return places in members of archives as places in the archives."""
    places = [((file := find_remote_file(path)) and file.inside) or Range(path, 0, 0) for path in columns.sources]
    begins = np.array([place.offset for place in places] or [0], np.int64)[columns.source]
    return columns._replace(sources=tuple(place.path for place in places), offset=columns.offset + begins)


def _without(indices: Iterable[Index], grid: tuple[int, ...], columns: PlaceColumns) -> list[Index]:
    """Return the chunks that have no row."""
    numbers = set(columns.chunk.tolist())
    return [index for index in indices if number_of(index, grid) not in numbers]


def _is_referable(place: ChunkPlace | None, least: int) -> bool:
    """Return whether a chunk of at least so many bytes lies in a file, with all its filters."""
    return place is not None and not place.mask and (place.length < 0 or place.length >= least)


def _rest(
    array: WrittenPart,
    grid: tuple[int, ...],
    referred_columns: PlaceColumns,
    columns: PlaceColumns,
    short: NDArray[Any],
) -> tuple[Index, ...]:
    """Return the existing chunks without reference, in C order.

    `short`: bool, shape (rows of `columns`,); True for chunks that are too
    short for a reference.
    """
    if len(columns.chunk) == math.prod(grid):
        return tuple(index_of(number, grid) for number in columns.chunk[short].tolist())
    return tuple(_without(array.indices(), grid, referred_columns))


def fill(
    plan: StorePlan, store: Store, report: Report, counts: Counts | None = None, cluster: Executor | None = None
) -> Counts:
    """Write the whole plan, on a cluster if one is given; return counts. Raises OSError if the store fails."""
    counts = Counts() if counts is None else counts
    if store.documents_first:
        put_metadata(plan, store, report)
        if report.errors:
            return counts
    numbered: Iterator[tuple[int, WrittenPart]] = iter(enumerate(arrays(plan)))
    capabilities = plan.form.capabilities
    if capabilities.arrays is not None and capabilities.arrays.by_reference:
        numbered = refer(numbered, cast("ReferringStore", store), plan.options.target.writing.inline, counts)
    if cluster is None and plan.stages:
        from nczarr.link.stages import link_in_stages  # few runs need two passes

        link_in_stages(list(numbered), plan, store, counts)
    elif cluster is None:
        link(numbered, store, plan.options.run, counts)
    else:
        cluster.link(numbered, store, plan.options.run, counts)
    if not store.documents_first:
        put_metadata(plan, store, report)
    return counts


ENTRANCES = ("zarr.json", ".zgroup", "root.group.json")
"""Root documents by which readers recognize a store."""


def emit(plan: StorePlan, report: Report) -> Iterator[tuple[str, bytes]]:
    """Return the format's metadata from its back end."""
    assert plan.form.emit is not None
    entries: Iterator[tuple[str, bytes]] = load(plan.form.emit)(plan, report)
    return entries


def put_metadata(plan: StorePlan, store: Store, report: Report) -> None:
    """Put every document; a distant store gets none after an error. Raises OSError if the store fails."""
    entries = emit(plan, report)
    if not store.distant or store.documents_first:
        for key, document in entries:
            store.put(key, document)
        return
    documents = list(entries)
    if report.errors:
        return
    with Crew(plan.options.run.workers, plan.options.run.memory, distant=True) as crew:
        for _ in crew.results(_works(documents, store)):
            pass


def _works(documents: Iterable[tuple[str, bytes]], store: Store) -> Iterator[Task]:
    for _, level in groupby(sorted(documents, key=_turn), _turn):
        for number, (key, document) in enumerate(level):
            yield Task(partial(store.put, key, document), len(document), after_all=number == 0)


def _turn(entry: tuple[str, bytes]) -> tuple[int, bool]:
    """Return the sort key of a document: by depth, the deepest first; root entrances last."""
    return -entry[0].count("/"), entry[0] in ENTRANCES


def is_divisible(path: str, form: Format, address: str, report: Report) -> bool:
    """Return whether a cluster can make the target. Reports indivisible-run, bad-url, missing-library."""
    from nczarr.link.executor import accepts_address

    if form.store.commits:
        indivisible(f"`{show(path)}`: a commit is made by one process", report)
        return False
    if not form.emit:
        indivisible(f"`{show(path)}`: format `{form.name}` is one file, which only one process can write", report)
        return False
    if path.lower().endswith(".zip"):
        indivisible(f"`{show(path)}` is an archive, which only one process can write", report)
        return False
    return accepts_address(address, report)


def indivisible(reason: str, report: Report) -> None:
    """Report indivisible-run: a cluster cannot do the run."""
    helps = ["without `--dask`, threads of this machine do the work"]
    text = f"a cluster needs a source and target that all its workers can reach; {reason}"
    report.error("indivisible-run", text, helps=helps)


class Begun(NamedTuple):
    """An unfinished store, and the path or URL where it is readable before it is finished."""

    store: Store
    """The unfinished store."""
    place: str
    """Path or URL where it is readable before it is finished."""


def begin_store(path: str, plan: StorePlan) -> Begun:
    """Begin the store for a path or URL. Raises OSError, FileExistsError if the place is taken."""
    if plan.form.store.begins is not None:
        return Begun(*load(plan.form.store.begins)(path, plan, lambda: _folder(path, plan).store))
    return _archive(path, plan) if path.lower().endswith(".zip") else _folder(path, plan)


def has_room(path: str, plan: StorePlan, report: Report) -> bool:
    """Return whether local file names have room for the documents of all nodes. Reports unsafe-name."""
    if not plan.places or plan.form.store.begins is not None or path.lower().endswith(".zip") or is_remote(path):
        return True
    from nczarr.plan.keys import LONGEST_IN_FILES, long_segments

    before = report.errors
    for subject, length, span in long_segments(plan.checked, plan.places, LONGEST_IN_FILES):
        text = f"{subject} needs {length} characters, but the file name of its document has at most {LONGEST_IN_FILES}"
        report.error("unsafe-name", text, span, helps=["write an archive (`.zip`) or a bucket, or rename it"])
    return report.errors == before


MANY_FILES = 100_000
"""Files in a folder above which the file system needs most of the time."""


def warn_of_files(path: str, plan: StorePlan, report: Report) -> None:
    """Report many-files, before the work, for a folder that would get one file for each of very many chunks."""
    if is_remote(path) or path.lower().endswith(".zip") or plan.form.store.begins is not None:
        return
    count = 0
    for array in arrays(plan):
        number = math.prod(grid_of(array.target.layout.shape, array.unit))
        if array.target.sparse and count + number > MANY_FILES:
            number = sum(1 for _ in itertools.islice(array.indices(), MANY_FILES + 1))
        count += number
    if count <= MANY_FILES:
        return
    capabilities = plan.form.capabilities.arrays
    sharded = "--shards auto" if capabilities is not None and capabilities.shards else "--to zarr3 --shards auto"
    text = f"`{path}` gets more than {MANY_FILES:,} files, one for each chunk"
    report.warning(
        "many-files", text, helps=[f"`{sharded}` stores many chunks in one file", "or give longer `--chunks`"]
    )
    report.announce()


def _folder(path: str, plan: StorePlan) -> Begun:
    """Begin a folder, or keys below a URL."""
    options, overwrite = plan.options, plan.options.target.overwrite
    if is_remote(path):
        places, storage, run_journal = find_places(path), options.run.storage.of("target"), journal(plan)
        store = places.begin_store(path, storage, journal=run_journal, overwrite=overwrite, resume=options.run.resume)
        return Begun(store, path)
    from nczarr.stores.directory import DirectoryTarget

    layouts = (target.layout for targets in plan.targets.values() for target in targets.values())
    size = sum(math.prod(layout.shape) * itemsize(layout.dtype) for layout in layouts)  # texts count as zero
    journal_of_run = journal(plan) if options.run.resume or size >= RESUMABLE else None
    folder = DirectoryTarget(path, overwrite=overwrite, journal=journal_of_run, resume=options.run.resume)
    return Begun(folder, folder.path)


def _archive(path: str, plan: StorePlan) -> Begun:
    """Begin an archive; it cannot be resumed because its directory is at its end."""
    if is_remote(path):
        sent = find_places(path).begin_archive(path, plan.options.run.storage.of("target"))
        return Begun(sent, sent.path)
    from nczarr.stores.zip import ZipTarget

    archive = ZipTarget(path, overwrite=plan.options.target.overwrite)
    return Begun(archive, archive.path)


RESUMABLE = 64 << 20
"""Data size that is worth resuming; smaller local runs start again."""


def journal(plan: StorePlan) -> StoreJournal:
    """Return the journal of a run. Raises OSError if the source is unreachable."""
    from nczarr.stores.stat import identity

    options, run = plan.options, os.urandom(8).hex()
    if options.reading.source is None:
        return StoreJournal(None, run=run)
    source_identity = identity(options.reading.source, options.run.storage.of("source"))
    return StoreJournal(
        None if source_identity is None else fingerprint(plan, source_identity), show(options.reading.source), run=run
    )


def fingerprint(plan: StorePlan, identity: str) -> str:
    """Return the fingerprint of a plan for a source with this identity: equal for the same source and target.

    A resumed run compares it to recognize its own work in the target.
    """
    import hashlib  # loads a library: only where there is a journal

    text_hash = hashlib.sha256()
    for text in (
        __version__,
        plan.form.name,
        identity,
        repr(plan.checked.dataset),
        plan.options.fingerprint,
        *(repr((path, targets)) for path, targets in plan.targets.items()),
    ):
        data = text.encode("utf-8", "surrogateescape")
        text_hash.update(len(data).to_bytes(8, "little") + data)
    return text_hash.hexdigest()
