"""The page of a folder, its JSON form, its THREDDS catalog, results of searches, and files as they are.

Only the entries on the page are inspected. Source of catalogs: "Dataset Inventory Catalog Specification, version 1.0"
(Unidata); clients are siphon, Panoply and others.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from functools import cache, partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nczarr import names
from nczarr.diagnostics.report import CompileError
from nczarr.plugins.notebook import html
from nczarr.plugins.serve.answers import BYTES, XML, HttpAnswer, RefusedRequestError, attachment, conditional, tag_of
from nczarr.plugins.serve.context import Answer, DatasetToOpen, ServerContext, as_wanted
from nczarr.plugins.serve.dataset_cache import RECENT, CachedDataset, check_same
from nczarr.plugins.serve.pages.markup import (
    BROWSE,
    CATALOG,
    CDMREMOTE,
    CDMRFEATURE,
    DOWNLOAD,
    FILE,
    OPENDAP,
    STATIC_FILES,
    VERSIONS,
    VIEW,
    list_protocols,
    page,
    render_template,
    show,
)
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.search_index import Hits, SearchRecord
from nczarr.stores.local_file import identity_of
from nczarr.stores.ranges import Range

SORTS = ("name", "size", "date")
"""Columns that sort a folder; a minus before the name reverses."""

DOCUMENT = "catalog.xml"
"""Last segment of a catalog's URL."""

SERVICES = (("dap2", "OPENDAP"), ("dap4", "DAP4"), (CDMREMOTE, "CdmRemote"), (CDMRFEATURE, "cdmrFeature"))
"""Protocols with the types of services in catalogs."""

NAMING = frozenset({"reference", "ncml", "dmrpp"})
"""Formats of documents that name other files."""

LOOKING = 1.0
"""Seconds in which small documents of a folder are read to know which ones are served; the first one loads modules."""

SCRIPTS = ("pages.js", "folder.js")


class FolderEntry(NamedTuple):
    """One entry of a folder."""

    place: ServedPlace
    form: str | None = None
    """Format of a dataset, if known."""
    size: int | None = None
    """Bytes of a dataset, if known."""
    modified: float | None = None
    """Time of the last change in seconds since 1970, if known."""
    refused: bool = False
    """True if the dataset is not served, because it needs places outside the roots; its file is."""

    @property
    def links(self) -> dict[str, str]:
        """URLs of the entry by kind."""
        kinds = (BROWSE,) if self.place.folder else (BROWSE, *VERSIONS, CDMREMOTE, VIEW, DOWNLOAD)
        kinds = () if self.refused else kinds
        kinds += () if self.place.folder or self.place.store else (FILE,)
        return {kind: url(kind, *self.place.segments) for kind in kinds}

    @property
    def services(self) -> dict[str, str]:
        """URLs of a dataset by protocol, for its clients; a browser finds no page there."""
        kinds = () if self.place.folder or self.refused else (*OPENDAP, CDMREMOTE, *list_protocols())
        return {kind: url(kind, *self.place.segments) for kind in kinds}

    @property
    def date(self) -> str:
        """Time of the last change in UTC by ISO 8601; may be empty."""
        if self.modified is None:
            return ""
        return datetime.fromtimestamp(int(self.modified), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        found: dict[str, Any] = {
            "name": show(self.place.segments[-1]),
            "kind": "folder" if self.place.folder else "dataset",
        }
        if not self.place.folder:
            found |= {"format": self.form, "size": self.size, "services": self.services}
        if self.modified is not None:
            found["modified"] = self.date
        return {**found, "links": self.links}


class FolderPage(NamedTuple):
    """One page of a folder."""

    folder: ServedPlace
    entries: list[FolderEntry]
    page: int
    """Number of the page."""
    pages: int
    """Number of pages."""
    sort: str = "name"
    """Order of the entries: one of `SORTS`, perhaps behind a minus."""

    @property
    def catalog(self) -> str:
        """URL of the THREDDS catalog."""
        return f"{url(CATALOG, *self.folder.segments).rstrip('/')}/{DOCUMENT}"

    def address(self, **fields: str | int) -> str:
        """Return the URL of a page of the folder in some order."""
        query = {"sort": self.sort, **fields}
        stated = {name: value for name, value in query.items() if (name, value) not in (("sort", "name"), ("page", 1))}
        page_url = url(BROWSE, *self.folder.segments).rstrip("/") if self.folder.segments else url("")
        return page_url + (f"?{urlencode(stated)}" if stated else "")

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        following = None
        if self.page < self.pages:
            next_url = f"{url(BROWSE, *self.folder.segments)}?format=json&page={self.page + 1}"
            following = next_url + (f"&sort={self.sort}" if self.sort != "name" else "")
        return {
            "path": show(self.folder.name),
            "page": self.page,
            "pages": self.pages,
            "next": following,
            "catalog": self.catalog,
            "entries": [each.members() for each in self.entries],
        }


def answer(context: ServerContext, asked: Request, place: ServedPlace) -> HttpAnswer:
    """Return the page of a folder, or the results of a search in it. Raises RefusedRequestError, OSError."""
    words = asked.query.get("q", "").strip()
    if words:
        hits = context.searched.search(words, place.segments, context.limits.page)
        values: dict[str, Any] = {
            "folder": place,
            "crumb": "Search",
            "query": words,
            "hits": hits,
            "found": list(hits_of(context, hits)),
        }
        html = partial(page, "results.html", f"Search: {words}", scripts=SCRIPTS, **values)
        return as_wanted(asked, partial(_results_members, context, place, words, hits), html)
    listing = _listing(context, place, asked)
    if not asked.wants_json:
        context.searched.refresh()
    title = place.segments[-1] if place.segments else "Datasets"
    values = {"folder": place, "crumb": "", "query": "", "listing": listing}
    return as_wanted(asked, listing.members, partial(page, "folder.html", title, scripts=SCRIPTS, **values))


def catalog_answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> HttpAnswer:
    """Answer `/catalog/FOLDER/catalog.xml` by the THREDDS catalog of a folder."""
    segments = asked.segments[1:]
    place = context.place(segments[:-1]) if segments[-1:] == (DOCUMENT,) else None
    if place is None or not place.folder:
        raise RefusedRequestError(404, "there is no such catalog; that of a folder is `/catalog/FOLDER/catalog.xml`")
    listing = _listing(context, place, asked)
    name = names.readable(place.name) or "Datasets"
    services = (*SERVICES, *((name, row.service) for name, row in list_protocols().items() if row.service))
    catalog = render_template("catalog.xml", listing=listing, name=name, services=services)
    return conditional(HttpAnswer(catalog, XML), asked.headers, None)


def _listing(context: ServerContext, place: ServedPlace, asked: Request) -> FolderPage:
    """Return one page of a folder. Raises RefusedRequestError for a missing page."""
    sort = asked.query.get("sort", "name")
    if sort.removeprefix("-") not in SORTS:
        raise RefusedRequestError(400, f"`sort` must be one of {', '.join(SORTS)}, perhaps behind a minus")
    listed = context.root.names(place) if sort == "name" else context.root.list_sorted(place, sort)
    size = context.limits.page
    count = max(1, -(-len(listed) // size))
    wanted = asked.query.get("page", "1")
    number = int(wanted) if wanted.isascii() and wanted.isdigit() and len(wanted) < 10 else 0
    if not 1 <= number <= count:
        raise RefusedRequestError(404, f"pages are 1 to {count}")
    until = time.monotonic() + LOOKING
    entries = [entry_of(context, place, name, until) for name in listed[(number - 1) * size : number * size]]
    return FolderPage(place, [each for each in entries if each is not None], number, count, sort)


def entry_of(context: ServerContext, folder: ServedPlace, name: str, until: float = 0.0) -> FolderEntry | None:
    """Return the entry of a name in a folder, None if nothing is served there. `until`: see `Shelf.is_refused`."""
    try:
        place = context.root.child(folder, name)
        if place is None:
            return None
        status = os.stat(place.path)
        if place.folder:
            return FolderEntry(place, modified=status.st_mtime)
        form = context.shelf.format_at(place)
        size = None if place.store else status.st_size
        refused = form is not None and context.shelf.is_refused(place, until if form in NAMING else 0.0)
    except (OSError, CompileError):
        return None  # inaccessible: a request for it gets the reason
    return None if form is None else FolderEntry(place, form, size, status.st_mtime, refused)


def _results_members(context: ServerContext, folder: ServedPlace, query: str, hits: Hits) -> dict[str, Any]:
    """Return the JSON form of the results of a search."""
    return {
        "path": show(folder.name),
        "query": show(query),
        "complete": hits.complete,
        "full": hits.full,
        "count": hits.total,
        "entries": [
            {
                "path": show("/".join(each.segments)),
                "title": show(each.title),
                "matches": list(map(show, each.names)),
                "links": {} if entry is None else entry.links,
            }
            for each, entry in hits_of(context, hits)
        ],
    }


def hits_of(context: ServerContext, hits: Hits) -> Iterator[tuple[SearchRecord, FolderEntry | None]]:
    """Yield the results of a search with their entries; None for those that are gone."""
    for each in hits.found:
        folder = context.root.find(each.segments[:-1])
        yield each, None if folder is None else entry_of(context, folder, each.segments[-1])


KINDS = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    ".txt": "text/plain; charset=utf-8",
}
"""Content types by suffix."""

TREE = html.STYLES
"""The style of the tree, which notebooks use too."""


def file(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/file/PATH` by the file of a dataset, as it is. One that was changed a moment ago must be whole."""
    segments = asked.segments[1:]
    place = context.place(segments)
    if place.folder or place.store or place.behind:
        raise RefusedRequestError(404, "there is no such file")
    state = identity_of(os.stat(place.path))
    if time.time_ns() - state[-1] < RECENT:  # a copy that is under way has the size that it has reached
        opened = context.find_open(place, at_hand)
        if opened is None:
            return DatasetToOpen(place)
        check_same(opened)
        state = opened.stamp[0]
    if entry_of(context, context.place(segments[:-1]), place.segments[-1]) is None:
        raise RefusedRequestError(404, f"`{place.name}` is not in a format that can be read")
    body = (Range(place.path, 0, state[2]),)
    answer = HttpAnswer(body, BYTES, headers=(attachment(place.segments[-1]),), states={place.path: state})
    return conditional(answer, asked.headers, state[-1] / 1e9, tag_of(*state))


def static(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> HttpAnswer:
    """Answer `/static/NAME`. Files stay in memory, so that the answer is whole, tagged and compressed."""
    name = asked.segments[1] if len(asked.segments) == 2 else ""
    if name not in _static_files():
        raise RefusedRequestError(404, "there is no such file")
    return conditional(HttpAnswer(*_static_files()[name]), asked.headers, None)


@cache
def _static_files() -> dict[str, tuple[bytes, str]]:
    """Return the bytes and content type of every static file by name."""
    files = {path.name: path for path in sorted(STATIC_FILES.iterdir()) if path.suffix in KINDS} | {"tree.css": TREE}
    return {name: (path.read_bytes(), KINDS[path.suffix]) for name, path in files.items()}
