"""The page of a folder, and its JSON form. Only the entries on the current page are inspected."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.serve.pages.markup import BROWSE, CDMREMOTE, DOWNLOAD, VIEW, crumbs, link, page, shown, table, text
from nczarr.serve.places import Place
from nczarr.serve.request import url
from nczarr.serve.stores import VERSIONS


class Entry(NamedTuple):
    """One entry of a folder."""

    place: Place
    """The folder or dataset."""
    form: str | None = None
    """Format of a dataset, if known."""
    size: int | None = None
    """Bytes of a dataset, if known."""

    @property
    def links(self) -> dict[str, str]:
        """URLs of the entry by kind."""
        kinds = (BROWSE,) if self.place.folder else (BROWSE, *VERSIONS, CDMREMOTE, VIEW, DOWNLOAD)
        return {kind: url(kind, *self.place.segments) for kind in kinds}

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        found: dict[str, Any] = {
            "name": shown(self.place.segments[-1]),
            "kind": "folder" if self.place.folder else "dataset",
        }
        if not self.place.folder:
            found |= {"format": self.form, "size": self.size}
        return {**found, "links": self.links}


class Listing(NamedTuple):
    """One page of a folder."""

    folder: Place
    """The folder."""
    entries: list[Entry]
    """Entries of the page."""
    page: int
    """Number of the page."""
    pages: int
    """Number of pages."""

    def members(self) -> dict[str, Any]:
        """Return the JSON form."""
        here = url(BROWSE, *self.folder.segments)
        following = f"{here}?format=json&page={self.page + 1}" if self.page < self.pages else None
        return {
            "path": shown(self.folder.name),
            "page": self.page,
            "pages": self.pages,
            "next": following,
            "entries": [each.members() for each in self.entries],
        }


def folder(listing: Listing) -> str:
    """Return the page of a folder."""
    return page(listing.folder.name or "Datasets", _folder(listing))


def _folder(listing: Listing) -> Iterator[str]:
    yield crumbs(listing.folder.segments)
    if not listing.entries:
        yield "<p>There is nothing to serve here.</p>\n"
    else:
        titles = ("Name", "Format", "Bytes", "Zarr v2", "Zarr v3", "CDM Remote")
        yield table(titles, map(_row, listing.entries), label="Datasets")
    if listing.pages > 1:
        here = url(BROWSE, *listing.folder.segments)
        yield f'<nav aria-label="pages">page {listing.page} of {listing.pages} '
        if listing.page > 1:
            yield link(f"{here}?page={listing.page - 1}", "previous") + " "
        if listing.page < listing.pages:
            yield link(f"{here}?page={listing.page + 1}", "next")
        yield "</nav>\n"


def _row(entry: Entry) -> str:
    name, links = entry.place.segments[-1], entry.links
    first = f'<tr><th scope="row">{link(links[BROWSE], name + ("/" if entry.place.folder else ""))}</th>'
    if entry.place.folder:
        return f'{first}<td colspan="5">folder</td></tr>\n'
    size = "" if entry.size is None else str(entry.size)
    stores = "".join(f"<td>{link(links[each] + '/', each, f'{name} as {each}')}</td>" for each in VERSIONS)
    remote = link(f"{links[CDMREMOTE]}?req=form", "form", f"{name}: form")
    return f"{first}<td>{text(entry.form or 'unknown')}</td><td>{size}</td>{stores}<td>{remote}</td></tr>\n"
