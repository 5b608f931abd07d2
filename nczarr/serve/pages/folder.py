"""The page of a folder, its JSON form, and results of searches. Only the entries on the page are inspected."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nczarr import names
from nczarr.check.outline import bytes_text
from nczarr.serve.pages.markup import (
    BROWSE,
    CATALOG,
    CDMREMOTE,
    DOWNLOAD,
    FILE,
    OPENDAP,
    VIEW,
    attribute,
    counted,
    crumbs,
    link,
    page,
    shown,
    table,
    text,
)
from nczarr.serve.places import ServedPlace
from nczarr.serve.protocols.zarr import VERSIONS
from nczarr.serve.request import url
from nczarr.serve.search_index import Hits

SORTS = ("name", "size", "date")
"""Columns that sort a folder; a minus before the name reverses."""


def date_text(seconds: float) -> str:
    """Return a time in UTC by ISO 8601."""
    return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class FolderEntry(NamedTuple):
    """One entry of a folder."""

    place: ServedPlace
    """The folder or dataset."""
    form: str | None = None
    """Format of a dataset, if known."""
    size: int | None = None
    """Bytes of a dataset, if known."""
    modified: float | None = None
    """Time of the last change in seconds since 1970, if known."""

    @property
    def links(self) -> dict[str, str]:
        """URLs of the entry by kind."""
        kinds = (BROWSE,) if self.place.folder else (BROWSE, *VERSIONS, CDMREMOTE, VIEW, DOWNLOAD)
        kinds += () if self.place.folder or self.place.store else (FILE,)
        return {kind: url(kind, *self.place.segments) for kind in kinds}

    @property
    def services(self) -> dict[str, str]:
        """URLs of a dataset by protocol, for its clients; a browser finds no page there."""
        kinds = () if self.place.folder else (*OPENDAP, CDMREMOTE)
        return {kind: url(kind, *self.place.segments) for kind in kinds}

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        found: dict[str, Any] = {
            "name": shown(self.place.segments[-1]),
            "kind": "folder" if self.place.folder else "dataset",
        }
        if not self.place.folder:
            found |= {"format": self.form, "size": self.size, "services": self.services}
        if self.modified is not None:
            found["modified"] = date_text(self.modified)
        return {**found, "links": self.links}


class FolderPage(NamedTuple):
    """One page of a folder."""

    folder: ServedPlace
    """The folder."""
    entries: list[FolderEntry]
    """Entries of the page."""
    page: int
    """Number of the page."""
    pages: int
    """Number of pages."""
    sort: str = "name"
    """Order of the entries: one of `SORTS`, perhaps behind a minus."""

    def address(self, **fields: str | int) -> str:
        """Return the URL of a page of the folder in some order."""
        given = {"sort": self.sort, **fields}
        wanted = {name: value for name, value in given.items() if (name, value) not in (("sort", "name"), ("page", 1))}
        here = url(BROWSE, *self.folder.segments).rstrip("/") if self.folder.segments else url("")
        return here + (f"?{urlencode(wanted)}" if wanted else "")

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        following = None
        if self.page < self.pages:
            here = f"{url(BROWSE, *self.folder.segments)}?format=json&page={self.page + 1}"
            following = here + (f"&sort={self.sort}" if self.sort != "name" else "")
        return {
            "path": shown(self.folder.name),
            "page": self.page,
            "pages": self.pages,
            "next": following,
            "catalog": url(CATALOG, *self.folder.segments).rstrip("/") + "/catalog.xml",
            "entries": [each.members() for each in self.entries],
        }


def folder(listing: FolderPage) -> str:
    """Return the page of a folder."""
    title = listing.folder.segments[-1] if listing.folder.segments else "Datasets"
    return page(title, _folder(listing), scripts=("pages.js", "folder.js"))


def _folder(listing: FolderPage) -> Iterator[str]:
    yield crumbs(listing.folder.segments)
    yield _search(listing.folder, "")
    yield '<div id="results">'
    if not listing.entries:
        yield "<p>There is nothing to serve here.</p>\n"
    else:
        titles = ["Name", "Size", "Modified"]
        heads = [_head(listing, title, sort) for title, sort in zip(titles, SORTS, strict=True)]
        rows = map(_row, listing.entries)
        yield table((heads[0], "Format", *heads[1:], "Open as"), rows, label="Content of the folder", kind="entries")
    if listing.pages > 1:
        yield f'<nav aria-label="Pages" class="pages"><span>page {listing.page} of {listing.pages}</span> '
        if listing.page > 1:
            yield link(listing.address(page=listing.page - 1), "previous", kind="button") + " "
        if listing.page < listing.pages:
            yield link(listing.address(page=listing.page + 1), "next", kind="button")
        yield "</nav>\n"
    yield "</div>\n"
    catalog = url(CATALOG, *listing.folder.segments).rstrip("/") + "/catalog.xml"
    json_form = f"{url(BROWSE, *listing.folder.segments)}?format=json"
    yield f'<p class="machine">For programs: {link(catalog, "THREDDS catalog")}, {link(json_form, "JSON")}</p>\n'


def _search(folder: ServedPlace, query: str) -> str:
    place = attribute(url(BROWSE, *folder.segments) if folder.segments else url(""))
    return (
        f'<form class="search" role="search" action="{place}" method="get"><label for="q">Search</label>'
        f'<input type="search" id="q" name="q" value="{attribute(query)}" autocomplete="off" '
        'placeholder="names, titles, variables, standard names"><button type="submit">Search</button></form>\n'
    )


def _head(listing: FolderPage, title: str, sort: str) -> str:
    """Return the head of a column that sorts the folder."""
    current, backward = listing.sort.removeprefix("-") == sort, listing.sort.startswith("-")
    state = f' aria-sort="{"descending" if backward else "ascending"}"' if current else ""
    arrow = f' <span aria-hidden="true">{"▼" if backward else "▲"}</span>' if current else ""
    following = f"-{sort}" if current and not backward else sort
    place = attribute(listing.address(sort=following))
    kind = ' class="n"' if sort == "size" else ""
    return f'<th scope="col"{state}{kind}><a href="{place}">{title}{arrow}</a></th>'


def _row(entry: FolderEntry) -> str:
    name, links = entry.place.segments[-1], entry.links
    day = "" if entry.modified is None else date_text(entry.modified)[:16].replace("T", " ")
    when = f'<td class="date">{day}</td>'
    if entry.place.folder:
        first = link(links[BROWSE], name + "/", kind="folder")
        return (
            f'<tr><th scope="row">{first}</th><td>folder</td><td class="n"></td>{when}<td class="ways-of"></td></tr>\n'
        )
    first = link(links[BROWSE], name)
    size = "" if entry.size is None else bytes_text(entry.size)
    titles = {each: f"Zarr v{each.removeprefix('zarr')}" for each in VERSIONS}
    ways = [link(links[each] + "/", title, f"{title} of {name}") for each, title in titles.items()]
    ways.append(link(entry.services["dap2"], "OPeNDAP", f"OPeNDAP form of {name}"))
    ways.append(link(f"{links[CDMREMOTE]}?req=form", "CDM Remote", f"CDM Remote form of {name}"))
    ways += [link(links[FILE], "File", f"File {name}")] if FILE in links else []
    return (
        f'<tr><th scope="row">{first}</th><td>{text(entry.form or "unknown")}</td><td class="n">{size}</td>{when}'
        f'<td class="ways-of">{" ".join(ways)}</td></tr>\n'
    )


def results(folder: ServedPlace, query: str, hits: Hits) -> str:
    """Return the page of the results of a search."""
    return page(f"Search: {query}", _results(folder, query, hits), scripts=("pages.js", "folder.js"))


def _results(folder: ServedPlace, query: str, hits: Hits) -> Iterator[str]:
    yield crumbs(folder.segments, last="Search")
    yield _search(folder, query)
    yield '<div id="results">'
    more = f", the first {len(hits.found)} are shown" if hits.total > len(hits.found) else ""
    state = "" if hits.complete else ". The index is being built: there may be more"
    state += ". The folder has more datasets than the index takes" if hits.full else ""
    yield f'<p role="status" class="dim">{counted(hits.total, "dataset")}{more}{state}.</p>\n'
    if hits.found:
        yield '<ul class="hits">\n'
        for hit in hits.found:
            yield f"<li>{link(url(BROWSE, *hit.segments), names.readable('/'.join(hit.segments)))}"
            if hit.title:
                yield f' <span class="hit-title">{text(hit.title)}</span>'
            if hit.matches:
                yield (
                    '<span class="matches">'
                    + " ".join(f"<code>{text(each)}</code>" for each in hit.matches)
                    + "</span>"
                )
            yield "</li>\n"
        yield "</ul>\n"
    yield "</div>\n"


def results_members(folder: ServedPlace, query: str, hits: Hits) -> dict[str, Any]:
    """Return the JSON form of the results of a search."""
    return {
        "path": shown(folder.name),
        "query": shown(query),
        "complete": hits.complete,
        "full": hits.full,
        "count": hits.total,
        "entries": [
            {
                "path": shown("/".join(each.segments)),
                "title": shown(each.title),
                "matches": list(map(shown, each.matches)),
                "links": FolderEntry(ServedPlace("", each.segments)).links,
            }
            for each in hits.found
        ],
    }
