"""Cache of open datasets: trees and array descriptions, for as long as their files are unchanged.

The approximate size is bounded; least recently used datasets are dropped. A
file is identified by size, inode and modification time; a store in a folder by
those of its root documents, and every few seconds of all nodes.
"""

from __future__ import annotations

import gc
import mmap
import os
import tempfile
import time
import weakref
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Any

from nczarr import names
from nczarr.diagnostics.report import HEAD, UNREAD, CompileError, Diagnostic, Report, Source
from nczarr.options import FOLLOWING, Following, Options
from nczarr.plugins.serve.answers import (
    ALLOW,
    BUSY,
    FORBIDDEN,
    RETRY,
    SOON,
    UNKNOWN,
    RefusedRequestError,
    describe_refusal,
    without_home,
)
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.resources import Disk, FullError, Limits
from nczarr.plugins.serve.tree_size import estimate
from nczarr.registry import detect, load
from nczarr.stores import local_paths
from nczarr.stores.base import ROOT_KEYS
from nczarr.stores.local_file import LocalFile, identity_of
from nczarr.stores.ranges import BoundedCache

if TYPE_CHECKING:
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.plan.plans import StorePlan
    from nczarr.plugins.common.store_view import StoreView
    from nczarr.registry import Format
    from nczarr.semantics.checked import Checked
    from nczarr.stores.base import Store

LOOKED = 2.0
"""Seconds between checks of all nodes of a store."""

WATCHED = 0.001
"""Seconds for each file that a document names, if this is more: to look at one takes a tenth of a millisecond."""

MOST = 1024
"""Maximum number of open datasets."""

KNOWN = 1 << 16
"""Maximum number of files and stores whose format is remembered: some twenty MB."""

COPIED = 8 << 20
"""Bytes that are copied at once."""

SWEPT = 32
"""Dropped datasets before a garbage collection, which closes their files."""

SMALL = 1 << 20
"""Maximum bytes of a document that is read to list it."""

OUTSIDE = 403
"""Status of datasets that need places outside the roots."""

RECENT = 2 * 10**9
"""Nanoseconds after a change within which a cut file counts as unfinished."""

CUT = frozenset({"missing-values"})
"""Codes of warnings about files that end too early."""

DOCUMENTS = (".zarray", ".zgroup", ".zattrs", "zarr.json")

Stamp = tuple[Any, ...]


class CachedDataset:
    """An open dataset. `views`: derived forms for each kind of client, by name. `held`: bytes of its source."""

    def __init__(
        self,
        place: ServedPlace,
        checked: Checked,
        stamp: Stamp,
        form: Format,
        found: list[Diagnostic],
        following: Following = FOLLOWING,
        held: int = 0,
    ) -> None:
        self.place = place
        self.checked = checked
        self.stamp = stamp
        self.form = form
        self.found = found
        self.following = following
        self.views: dict[str, Any] = {}
        self.weight = held + estimate(checked)
        """Approximate bytes of memory."""
        self.lock = Lock()
        self.nodes = _nodes(place, checked, form, following)
        self.looked = time.monotonic()
        self.modified: float = max((each[-1] for each in (*stamp, *self.nodes) if each), default=0) / 1e9

    def plan(self, version: str, memory: int, report: Report) -> StorePlan | None:
        """Return the plan of a store in a Zarr version that holds the dataset; None (reported) if none does."""
        from nczarr import registry
        from nczarr.pipeline import phases

        form = registry.find_format(version)
        assert form is not None
        options = Options.of(allow_loss=frozenset({"all"}), consolidated=True, memory=memory)
        plan = phases.plan_store(self.checked, form, report, options)
        return None if report.errors else plan

    def view(self, version: str, memory: int) -> StoreView:
        """Return the dataset in a Zarr version; cached. Raises CompileError if it cannot be represented, OSError."""
        from nczarr.plugins.common import store_view

        with self.lock:
            view: StoreView | None = self.views.get(version)
            if view is None:
                report = Report(limit=100)
                plan = self.plan(version, memory, report)
                view = None if plan is None else store_view.store_view(store_view.without_default_fills(plan), report)
                if view is None or report.errors:
                    raise CompileError(report.list_sorted())
                self.views[version] = view
            return view

    @property
    def alone(self) -> bool:
        """True if the dataset is one file and depends on no other."""
        return not self.place.store and self.form.store.opens is None and self.form.reading.watches is None


class Shelf:
    """Datasets of one server, at most `most` of them open, with a file or two each. Thread-safe."""

    def __init__(
        self,
        limits: Limits,
        following: Following,
        storage: StorageOptions,
        *,
        most: int = MOST,
        disk: Disk | None = None,
    ) -> None:
        self.limits = limits
        self._disk = disk or Disk(limits.spill)
        self._evicted = 0
        self.options = Options.of(
            allow_loss=UNREAD, following=following, storage=storage, memory=limits.memory, max_size=2**63
        ).change(aggregation="expand")
        self._datasets: BoundedCache[tuple[str, str], CachedDataset] = BoundedCache(
            limits.kept, lambda opened: max(opened.weight, -(-limits.kept // most))
        )
        """Each takes a share of the cache, by its bytes and by the number of datasets."""
        self._opening: set[tuple[str, str]] = set()
        self._formats: BoundedCache[tuple[str, Stamp], str | None] = BoundedCache(KNOWN)
        self._refused: BoundedCache[tuple[str, Stamp], bool] = BoundedCache(KNOWN)
        self._lock = Lock()

    def find_unchanged(self, place: ServedPlace) -> CachedDataset | None:
        """Return the open dataset at a place if it is unchanged. Raises OSError."""
        dataset: CachedDataset | None = self._datasets.get(place.key)
        return dataset if dataset is not None and _is_same(dataset, place) else None

    def format_at(self, place: ServedPlace) -> str | None:
        """Return the name of the format at a place, None if it cannot be read. Raises OSError, CompileError.

        It is remembered while the file is unchanged: to find it may take the index of a large archive.
        """
        from nczarr.pipeline import endpoints

        key = place.path, stamp_of(place)
        if key not in self._formats:
            source = endpoints.open_source(place.path, Report(), self.options)
            form = None if source is None else format_of(source)
            self._formats.put(key, None if form is None else form.name)
        name: str | None = self._formats.get(key)
        return name

    def is_refused(self, place: ServedPlace, until: float = 0.0) -> bool:
        """Return whether a dataset is known to need places outside the roots. Raises OSError.

        Small documents that name other places are read to know it, until a time of the monotonic clock.
        """
        key = place.path, stamp_of(place)
        known: bool | None = self._refused.get(key)
        size = None if place.store or key[1][0] is None else key[1][0][2]
        if known is None and size is not None and size <= SMALL and time.monotonic() < until:
            with suppress(RefusedRequestError, CompileError, OSError):
                self.read(place, SMALL)
            known = self._refused.get(key)
        return known or False

    def open(self, place: ServedPlace) -> CachedDataset:
        """Open the dataset at a place. Raises RefusedRequestError, CompileError, OSError."""
        known = self.find_unchanged(place)
        if known is not None:
            return known
        with self._lock:
            if place.key in self._opening:
                raise RefusedRequestError(BUSY, f"`{place.name}` is being opened", SOON)
            self._opening.add(place.key)
        try:
            made = self.read(place, self.limits.kept)
            self._keep(made)
            return made
        finally:
            with self._lock:
                self._opening.discard(place.key)

    def read(self, place: ServedPlace, most: int) -> CachedDataset:
        """Return the dataset at a place without keeping it. Raises RefusedRequestError, CompileError, OSError.

        `most`: maximum bytes of a file that must all be read.
        """
        stamp = stamp_of(place)
        report = Report(limit=100)
        try:
            with _unless_written(place, stamp, report):
                form, checked, held = self._check(place, stamp, report, most)
        except (RefusedRequestError, CompileError) as error:
            status = describe_refusal(error, "/").status
            if status != BUSY:
                self._refused.put((place.path, stamp), status == OUTSIDE)
            raise
        self._refused.put((place.path, stamp), False)
        made = CachedDataset(place, checked, stamp, form, report.list_sorted(), self.options.reading.following, held)
        if made.weight > self.limits.memory:
            text = f"`{place.name}` takes some {made.weight} bytes in memory; the limit is {self.limits.memory}"
            raise RefusedRequestError(413, text)
        return made

    def _check(self, place: ServedPlace, stamp: Stamp, report: Report, most: int) -> tuple[Format, Checked, int]:
        """Return format and content of a dataset, and the bytes of memory of its source.

        Raises RefusedRequestError, CompileError, OSError.
        """
        from nczarr.pipeline import endpoints, phases

        source = endpoints.open_source(place.path, report, self.options)
        form = None if source is None else format_of(source)
        if source is None or form is None:
            raise RefusedRequestError(UNKNOWN, f"`{place.name}` is not in a format that can be read")
        size = stamp[0][2] if stamp[0] else 0
        if form.reading.resident and size > most:
            text = f"`{place.name}` has {size} bytes, which must all be read; the limit is {most}"
            raise RefusedRequestError(413, text)
        name = self._find_forbidden(place, form)
        if name is not None:
            text = f"error[forbidden-target]: `{place.name}` refers to `{name}`, which is outside all allowed roots"
            raise RefusedRequestError(403, without_home(f"{text}; {ALLOW}", local_paths.parent_of(place.path)))
        if isinstance(source, Source) and not form.reading.ranged:
            self._load(source, most)
        checked = phases.read(source, report, self.options, form)  # not detected again: a file may have been cut
        if checked is None or report.errors:
            raise CompileError(report.list_sorted())
        return form, checked, form.reading.resident * size if isinstance(source, Source) else source.held

    def _find_forbidden(self, place: ServedPlace, form: Format) -> str | None:
        """Return a name in a file, or in one that a document names, that the library must not open. Raises OSError."""
        from nczarr.plugins.common.linked_files import LINKING, find_forbidden

        following, files = self.options.reading.following, [(place.path, form)]
        for path in _list_watched(place, form, following):
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    member = detect(path, file.read(HEAD))
                files += [] if member is None else [(path, member)]
        forbidden = (find_forbidden(path, following) for path, one in files if one.name in LINKING)
        return next((name for name in forbidden if name is not None), None)

    def _load(self, source: Source, most: int) -> None:
        """Put the bytes of a source that is not read by ranges into memory; map a copy if they are many.

        A copy in a temporary file outlives changes of the file. Raises OSError,
        RefusedRequestError without room for it.
        """
        file = source.data
        if not isinstance(file, LocalFile):
            return
        if file.size <= most:
            source.data = file[:]
            return
        try:
            self._disk.take(file.size)
        except FullError as error:
            raise RefusedRequestError(BUSY, str(error), RETRY) from None
        try:
            copy = _copy_map(file)
        except BaseException:
            self._disk.give(file.size)
            raise
        weakref.finalize(copy, self._disk.give, file.size)
        source.data = copy

    def _keep(self, opened: CachedDataset) -> None:
        """Cache a dataset; now and then free evicted ones that a reference cycle keeps."""
        before = len(self._datasets)
        self._datasets.put(opened.place.key, opened)
        self._evicted += max(0, before + 1 - len(self._datasets))
        if self._evicted >= SWEPT:
            self._evicted = 0
            gc.collect()  # what is in a circle has its file open until then


def _copy_map(file: LocalFile) -> mmap.mmap:
    """Return the map of a copy without a name. Raises OSError, ReplacedError if the file changes meanwhile."""
    with tempfile.TemporaryFile(buffering=0) as copy:
        for at in range(0, file.size, COPIED):
            piece = memoryview(file[at : at + COPIED])
            while piece:
                piece = piece[copy.write(piece) :]
        return mmap.mmap(copy.fileno(), 0, access=mmap.ACCESS_READ)


@contextmanager
def _unless_written(place: ServedPlace, stamp: Stamp, report: Report) -> Iterator[None]:
    """Open a dataset. Raises RefusedRequestError for a file that another process seems to be writing.

    It changes meanwhile, or it was changed a moment ago and cannot be read or is cut. A refused
    target stands in a document that is whole.
    """
    try:
        yield
    except RefusedRequestError as error:
        _check_written(place, stamp, is_cut=error.status == UNKNOWN)
        raise
    except CompileError as error:
        _check_written(place, stamp, is_cut=all(each.code not in FORBIDDEN for each in error.diagnostics))
        raise
    except OSError:
        _check_written(place, stamp, is_cut=True)
        raise
    _check_written(place, stamp, is_cut=any(each.code in CUT for each in report.list_sorted()))


def _check_written(place: ServedPlace, stamp: Stamp, *, is_cut: bool) -> None:
    is_recent = not place.store and stamp[0] is not None and time.time_ns() - stamp[0][-1] < RECENT
    if stamp_of(place) != stamp or (is_cut and is_recent):
        text = f"`{place.name}` is being written, or was changed a moment ago and is incomplete: try again"
        raise RefusedRequestError(BUSY, text, RETRY)


def format_of(source: Source | Store) -> Format | None:
    """Return the format of a file or store; None if it cannot be read. Raises OSError."""
    from nczarr.pipeline.endpoints import detect_format

    form = detect_format(source)
    return form if form is not None and form.readable else None


def stamp_of(place: ServedPlace) -> Stamp:
    """Return what distinguishes a file or store from a later one at the same place. Raises OSError."""
    if not place.store:
        return (_facts(place.path, missing=False),)
    return tuple(_facts(local_paths.join(place.path, key)) for key in ("", *ROOT_KEYS))


@contextmanager
def refuse_if_replaced(opened: CachedDataset) -> Iterator[None]:
    """Run a block.

    Raises RefusedRequestError, also instead of its errors, if a file has changed since it was opened.
    """
    try:
        yield
    except (CompileError, OSError):
        check_same(opened)
        raise
    check_same(opened)


def check_same(opened: CachedDataset) -> None:
    """Raise RefusedRequestError if a single-file dataset has changed since it was opened, OSError if it is gone."""
    if opened.alone and stamp_of(opened.place) != opened.stamp:
        raise RefusedRequestError(BUSY, "the dataset has changed in the meantime", SOON)


def _is_same(opened: CachedDataset, place: ServedPlace) -> bool:
    """Return whether a dataset is unchanged since it was opened. Raises OSError."""
    if stamp_of(place) != opened.stamp:
        return False
    pause = LOOKED if place.store else max(LOOKED, WATCHED * len(opened.nodes))
    if opened.nodes and time.monotonic() - opened.looked > pause:
        if _nodes(place, opened.checked, opened.form, opened.following) != opened.nodes:
            return False
        opened.looked = time.monotonic()
    return True


def _list_watched(place: ServedPlace, form: Format, following: Following) -> list[str]:
    """Return the files and folders that a document names. Raises OSError."""
    watches = form.reading.watches
    return [] if watches is None or place.store else list(load(watches)(place.path, following))


def _nodes(place: ServedPlace, checked: Checked, form: Format, following: Following) -> Stamp:
    """Return the facts of folders and documents of all nodes of a store, or of the places that a document names."""
    if not place.store:
        return tuple(_facts(path) for path in _list_watched(place, form, following))
    folders = (local_paths.join(place.path, *names.split(fqn)) for fqn in (*checked.groups, *checked.variables))
    return tuple(_facts(local_paths.join(folder, name)) for folder in folders for name in ("", *DOCUMENTS))


def _facts(path: str, *, missing: bool = True) -> tuple[int, ...] | None:
    """Return device, inode, size and modification time; None if the file is missing. Raises OSError."""
    try:
        return identity_of(os.stat(path))
    except (OSError, ValueError):
        if not missing:
            raise
        return None
