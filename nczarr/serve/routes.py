"""Routes of the server. All of this runs in worker threads.

/ the datasets below the root, in pages; /browse/PATH: one folder or dataset
/zarr2/PATH/KEY a key of the dataset as a Zarr v2 store; /zarr3/PATH/KEY as v3
/cdmremote/PATH?req=… CDM Remote
/dap2/PATH.dds, .das, .dods …?CONSTRAINT DAP2
/dap4/PATH.dmr, .dap?dap4.ce=CONSTRAINT DAP4
/view/PATH?var=… a picture of a variable; /download/PATH?var=…&format=… a section as a file
/file/PATH the file of a dataset, as it is
/catalog/FOLDER/catalog.xml the folder for THREDDS clients
/static/NAME files of the pages
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from nczarr import __version__
from nczarr.arrays.regions import Index
from nczarr.diagnostics.report import CompileError
from nczarr.link.tasks import WrittenPart
from nczarr.serve.answers import (
    BYTES,
    HTML,
    XML,
    HttpAnswer,
    attachment,
    conditional,
    document,
    is_had,
    tag_of,
    unchanged,
)
from nczarr.serve.bodies import resolved
from nczarr.serve.dataset_cache import CachedDataset, RefusedRequestError, Shelf, while_same, without_home
from nczarr.serve.limits import Limits
from nczarr.serve.pages import coordinates, dataset, download, plane, view
from nczarr.serve.pages.folder import (
    DOCUMENT,
    SORTS,
    FolderEntry,
    FolderPage,
    catalog,
    folder,
    results,
    results_members,
)
from nczarr.serve.pages.markup import BROWSE, CATALOG, CDMREMOTE, DOWNLOAD, FILE, STATIC, VIEW
from nczarr.serve.pages.static_files import static_file
from nczarr.serve.pages.subset_form import subset_form
from nczarr.serve.places import Root, ServedPlace
from nczarr.serve.protocols import cdmremote, dap2, dap4, zarr
from nczarr.serve.request import Request, url
from nczarr.serve.search_index import SearchIndex
from nczarr.serve.spool import Disk
from nczarr.stores.local_file import identity_of
from nczarr.stores.ranges import Range

ROUTES = (BROWSE, *zarr.VERSIONS, CDMREMOTE, dap2.DAP2, dap4.DAP4, VIEW, DOWNLOAD, FILE, CATALOG, STATIC)
"""First segments of paths."""


class DeferredWork(NamedTuple):
    """Work that waits for resources: open a dataset and come again, or run `work`."""

    place: ServedPlace | None = None
    """Dataset to open."""
    version: str | None = None
    """Version of Zarr to open it in."""
    work: Callable[[], HttpAnswer] | None = None
    """Function to run."""
    need: int = 0
    """Memory of the work in bytes."""


class Routes(NamedTuple):
    """Answers of the server, independent of threads."""

    root: Root
    """Served folder or dataset."""
    shelf: Shelf
    """Open datasets."""
    limits: Limits
    """Resource limits."""
    disk: Disk
    """Account of temporary files."""
    searched: SearchIndex
    """Search index."""

    def answer(self, asked: Request, at_hand: CachedDataset | None = None) -> HttpAnswer | DeferredWork:
        """Return the answer to a request. `at_hand`: the dataset that was opened for it, cached or not.

        Raises RefusedRequestError, CompileError, OSError.
        """
        first, rest = asked.segments[0], asked.segments[1:]
        if first in zarr.VERSIONS:
            return self._zarr(first, rest, asked, at_hand)
        if first == CDMREMOTE:
            return self._remote(rest, asked, at_hand)
        if first == dap2.DAP2:
            return self._dap2(rest, asked, at_hand)
        if first == dap4.DAP4:
            return self._dap4(rest, asked, at_hand)
        if first == BROWSE or asked.segments == ("",):
            return self._page(rest, asked, at_hand)
        if first == CATALOG:
            return self._catalog(rest, asked)
        if first in (VIEW, DOWNLOAD):
            return self._part(first, rest, asked, at_hand)
        if first == FILE:
            return self._file(rest, asked)
        if first == STATIC:
            return static_file(rest, asked.headers)
        raise RefusedRequestError(404, "there is no such page; `/` lists what there is")

    def _found(self, segments: tuple[str, ...]) -> ServedPlace:
        """Return the place of path segments. Raises RefusedRequestError."""
        place = self.root.find(segments)
        if place is None:
            raise RefusedRequestError(404, "there is no such dataset")
        return place

    def _found_with_suffix(
        self, segments: tuple[str, ...], split: Callable[[str], tuple[str, str]]
    ) -> tuple[ServedPlace, str]:
        """Return the dataset of path segments, and the suffix that `split` takes off the last.

        Raises RefusedRequestError.
        """
        if not segments:
            raise RefusedRequestError(404, "there is no such dataset")
        stem, suffix = split(segments[-1])
        place = self._found((*segments[:-1], stem))
        if place.folder or place.behind:
            raise RefusedRequestError(404, "there is no such dataset")
        return place, suffix

    def _open(self, place: ServedPlace, at_hand: CachedDataset | None) -> CachedDataset | None:
        """Return the dataset at a place if it is open. Raises OSError."""
        return at_hand if at_hand is not None and at_hand.place.path == place.path else self.shelf.known(place)

    def _zarr(
        self, version: str, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        place = self._found(_trimmed(segments))
        if place.folder:
            raise RefusedRequestError(404, "there is no such dataset")
        opened = self._open(place, at_hand)
        if opened is None or version not in opened.views:
            return DeferredWork(place, version)
        with while_same(opened):
            if not place.behind:
                return self._dataset(opened, asked)
            key = "/".join(place.behind) + ("/" if segments[-1] == "" else "")
            view = zarr.view(opened, version, self.limits)
            held = view.documents.get(key)
            if held is not None:
                return conditional(HttpAnswer(held, "application/json"), asked.headers, opened.modified)
            found = view.place(key)
            if found is None:
                raise RefusedRequestError(404, "there is no such key")
            array, index = found
            need = zarr.check(array, self.limits)

            def work() -> HttpAnswer:
                return self._chunk(opened, version, key, asked, array, index)

            return self._now_or_later(opened, work, need)

    def _chunk(
        self, opened: CachedDataset, version: str, key: str, asked: Request, array: WrittenPart, index: Index
    ) -> HttpAnswer:
        """Return the answer for a chunk. Raises RefusedRequestError, CompileError, OSError."""
        tag = tag_of(__version__, opened.stamp, version, key) if opened.alone else None
        if tag is not None and is_had(tag, opened.modified, asked.headers):
            return unchanged(tag, opened.modified)
        made = zarr.chunk(array, index, self.limits)
        if made is None:
            raise RefusedRequestError(404, "the chunk does not exist: all its values are fill values")
        whole = made[0] if len(made) == 1 and isinstance(made[0], bytes) else tuple(made)
        modified = opened.modified if opened.alone else None
        if tag is None and isinstance(whole, tuple):
            tag = tag_of(whole, *(_state(each.path) for each in made if isinstance(each, Range)))
        state = opened.stamp[0] if opened.alone else None
        made_of = {} if state is None else {opened.place.path: state}
        answer = HttpAnswer(whole, "application/octet-stream", states=made_of)
        return resolved(conditional(answer, asked.headers, modified, tag))

    def _remote(
        self, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        place = self._found(_trimmed(segments))
        if place.folder or place.behind:
            raise RefusedRequestError(404, "there is no such dataset")
        what = asked.query.get("req", "").lower()
        if not what and not asked.query:
            return HttpAnswer(b"", headers=cdmremote.NCSTREAM)
        opened = self._open(place, at_hand)
        if opened is None:
            return DeferredWork(place)
        with while_same(opened):
            location = asked.place + url(CDMREMOTE, *place.segments)
            wanted = cdmremote.CdmQuery(what, asked.query, location)
            if what == "data":
                sections = cdmremote.sections_of(opened, wanted, self.limits, self.root.home)
                work = partial(cdmremote.data, opened, sections, self.limits, self.disk)
                return self._now_or_later(opened, work, sections.need)
            found = cdmremote.answer(opened, wanted, self.limits)
            return conditional(found, asked.headers, opened.modified)

    def _dap2(
        self, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        if segments and not dap2.has_suffix(segments[-1]):
            place, suffix = self._found(_trimmed(segments)), ""
            if place.folder or place.behind:
                raise RefusedRequestError(404, "there is no such dataset")
        else:
            place, suffix = self._found_with_suffix(segments, dap2.split_suffix)
        if suffix in dap2.PAGES:
            return HttpAnswer(b"", status=303, headers=(("Location", url(dap2.DAP2, *place.segments)),))
        opened = self._open(place, at_hand)
        if opened is None:
            return DeferredWork(place)
        with while_same(opened):
            if not suffix:
                return HttpAnswer(subset_form(opened, dap2.view(opened), asked.query, asked.place), HTML)
            if suffix in dap2.DOCUMENTS:
                return conditional(dap2.document(opened, suffix, asked.constraint), asked.headers, opened.modified)
            values = dap2.values_of(opened, suffix, asked.constraint, self.limits)
            work = partial(dap2.data, opened, values, self.limits, self.disk)
            return self._now_or_later(opened, work, values.need)

    def _dap4(
        self, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        place, kind = self._found_with_suffix(segments, dap4.split_suffix)
        opened = self._open(place, at_hand)
        if opened is None:
            return DeferredWork(place)
        with while_same(opened):
            if kind == "dmr":
                return conditional(dap4.document(opened, asked.query), asked.headers, opened.modified)
            values = dap4.values_of(opened, asked.query, self.limits)
            work = partial(dap4.data, opened, values, self.limits, self.disk)
            return self._now_or_later(opened, work, values.need)

    def _now_or_later(
        self, opened: CachedDataset, work: Callable[[], HttpAnswer], need: int
    ) -> HttpAnswer | DeferredWork:
        """Return the answer of some work on a dataset, or the work if it needs much memory."""
        steady = partial(_while_same, opened, work)
        return steady() if need <= self.limits.immediate else DeferredWork(work=steady, need=need)

    def _page(
        self, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        place = self._found(_trimmed(segments))
        if not place.folder:
            if place.behind:
                raise RefusedRequestError(404, "there is no such dataset")
            opened = self._open(place, at_hand)
            if opened is None:
                return DeferredWork(place)
            work = partial(self._dataset, opened, asked)
            need = coordinates.BUDGET if coordinates.paths(opened.checked) else 0
            return self._now_or_later(opened, work, need)
        if asked.query.get("q", "").strip():
            words = asked.query["q"].strip()
            hits = self.searched.search(words, place.segments, self.limits.page)
            told = place, words, hits
            return _as_wanted(asked, partial(results_members, *told), partial(results, *told))
        listing = self._listing(place, asked)
        if not asked.wants_json:
            self.searched.refresh()
        return _as_wanted(asked, listing.members, partial(folder, listing))

    def _file(self, segments: tuple[str, ...], asked: Request) -> HttpAnswer:
        """Return the bytes of a file that is a dataset. Raises RefusedRequestError, OSError."""
        place = self._found(segments)
        if place.folder or place.store or place.behind:
            raise RefusedRequestError(404, "there is no such file")
        state = identity_of(os.stat(place.path))
        if self._entry(self._found(segments[:-1]), place.segments[-1]) is None:
            raise RefusedRequestError(404, f"`{place.name}` is not in a format that can be read")
        body = (Range(place.path, 0, state[2]),)
        made = HttpAnswer(body, BYTES, headers=(attachment(place.segments[-1]),), states={place.path: state})
        return conditional(made, asked.headers, state[-1] / 1e9, tag_of(*state))

    def _catalog(self, segments: tuple[str, ...], asked: Request) -> HttpAnswer:
        """Return the THREDDS catalog of a folder."""
        place = self._found(segments[:-1]) if segments[-1:] == (DOCUMENT,) else None
        if place is None or not place.folder:
            raise RefusedRequestError(
                404, "there is no such catalog; that of a folder is `/catalog/FOLDER/catalog.xml`"
            )
        return conditional(HttpAnswer(catalog(self._listing(place, asked)), XML), asked.headers, None)

    def _part(
        self, first: str, segments: tuple[str, ...], asked: Request, at_hand: CachedDataset | None
    ) -> HttpAnswer | DeferredWork:
        """Return the answer to a request for a view or download."""
        place = self._found(_trimmed(segments))
        if place.folder or place.behind:
            raise RefusedRequestError(404, "there is no such dataset")
        opened = self._open(place, at_hand)
        if opened is None:
            return DeferredWork(place)
        with while_same(opened):
            if first == DOWNLOAD:
                wanted = download.wanted(opened, asked.query, self.limits, self.root.home)
                return DeferredWork(
                    work=partial(download.answer, opened, wanted, self.limits, self.disk), need=wanted.need
                )
            seen = plane.view_of(opened.checked, asked.query, self.limits)
            need = seen.need(opened.checked)
            form = "json" if asked.wants_json else asked.query.get("format", "html")
            if form not in ("html", "json", "png"):
                raise RefusedRequestError(400, "`format` must be one of html, json, png")

            def work() -> HttpAnswer:
                found = view.answer(opened, seen, form)
                return conditional(found, asked.headers, None)

            return self._now_or_later(opened, work, need)

    def _listing(self, place: ServedPlace, asked: Request) -> FolderPage:
        """Return one page of a folder. Raises RefusedRequestError for a missing page."""
        sort = asked.query.get("sort", "name")
        if sort.removeprefix("-") not in SORTS:
            raise RefusedRequestError(400, f"`sort` must be one of {', '.join(SORTS)}, perhaps behind a minus")
        found = self.root.names(place) if sort == "name" else self.root.sorted(place, sort)
        size = self.limits.page
        count = max(1, -(-len(found) // size))
        wanted = asked.query.get("page", "1")
        number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 0
        if not 1 <= number <= count:
            raise RefusedRequestError(404, f"pages are 1 to {count}")
        entries = [self._entry(place, name) for name in found[(number - 1) * size : number * size]]
        return FolderPage(place, [each for each in entries if each is not None], number, count, sort)

    def _entry(self, folder: ServedPlace, name: str) -> FolderEntry | None:
        """Return the entry of a name in a folder, None if nothing is served there."""
        try:
            place = self.root.child(folder, name)
            if place is None:
                return None
            status = os.stat(place.path)
            if place.folder:
                return FolderEntry(place, modified=status.st_mtime)
            form = self.shelf.format_at(place)
            size = None if place.store else status.st_size
        except (OSError, CompileError):
            return None  # inaccessible: a request for it gets the reason
        return None if form is None else FolderEntry(place, form, size, status.st_mtime)

    def _dataset(self, opened: CachedDataset, asked: Request) -> HttpAnswer:
        """Return the page of a dataset."""
        losses = {version: self._losses(opened, version) for version in zarr.VERSIONS}
        found = dataset.told(opened, losses, asked.place)
        return _as_wanted(asked, partial(dataset.description, found), partial(dataset.dataset, found))

    def _losses(self, opened: CachedDataset, version: str) -> list[str]:
        """Return messages for everything that a Zarr version cannot store of a dataset."""
        try:
            found = zarr.view(opened, version, self.limits).losses
        except CompileError as error:
            return [without_home(f"everything: {each.message}", self.root.home) for each in error.diagnostics]
        return [each.message for each in found if each.weight == "value"] + [
            f"{each.message} (annotation)" for each in found if each.weight == "annotation"
        ]

    def load(self, place: ServedPlace, version: str | None, at_hand: CachedDataset | None = None) -> CachedDataset:
        """Open a dataset, with its view in a Zarr version if given.

        Raises RefusedRequestError, CompileError, OSError.
        """
        opened = self._open(place, at_hand) or self.shelf.open(place)
        if version is not None:
            zarr.view(opened, version, self.limits)
        return opened


def _as_wanted(asked: Request, members: Callable[[], Any], html: Callable[[], bytes]) -> HttpAnswer:
    """Return a page as JSON or HTML, as the client asks."""
    found = document(members()) if asked.wants_json else HttpAnswer(html(), HTML)
    return conditional(found, asked.headers, None)


def _while_same(opened: CachedDataset, work: Callable[[], HttpAnswer]) -> HttpAnswer:
    """Return the answer of some work. Raises RefusedRequestError if the dataset has changed since it was opened."""
    with while_same(opened):
        return work()


def _trimmed(segments: tuple[str, ...]) -> tuple[str, ...]:
    """Return segments without the empty one of a trailing slash."""
    return segments[:-1] if segments and segments[-1] == "" else segments


def _state(path: str) -> tuple[int, int, int]:
    status = os.stat(path)
    return status.st_ino, status.st_size, status.st_mtime_ns
