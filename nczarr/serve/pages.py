"""HTML pages and their JSON forms: folders, datasets, the CDM Remote form.

Pages have no scripts. Names and texts of datasets are escaped; invalid UTF-8
becomes the replacement character. Only the entries on the current page of a
folder are inspected.
"""

from __future__ import annotations

import html
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from nczarr import names
from nczarr.select.section_syntax import written
from nczarr.serve.dataset_cache import Opened
from nczarr.serve.places import Place
from nczarr.serve.request import url
from nczarr.serve.stores import VERSIONS

BROWSE, CDMREMOTE = "browse", "cdmremote"
"""First segments of URLs."""

MOST_VARIABLES = 2000
"""Maximum variables on a dataset's page."""

STYLE = (
    "body{font:16px/1.5 system-ui,sans-serif;max-width:70rem;margin:2rem auto;padding:0 1rem}"
    "table{border-collapse:collapse;width:100%}"
    "th,td{text-align:left;padding:.25rem .75rem;border-bottom:1px solid #ccc}"
    "code{font-size:.9em}a:focus{outline:3px solid #06c}"
)


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
        kinds = (BROWSE,) if self.place.folder else (BROWSE, *VERSIONS, CDMREMOTE)
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


def shown(text: str) -> str:
    """Return a name as valid Unicode."""
    return text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _text(text: str) -> str:
    return html.escape(shown(text), quote=True)


def _link(place: str, text: str, label: str = "") -> str:
    more = f' aria-label="{_text(label)}"' if label else ""
    return f'<a href="{html.escape(place)}"{more}>{_text(text)}</a>'


def page(title: str, body: Iterable[str]) -> str:
    """Return a whole HTML page."""
    return "".join((
        f'<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"><title>{_text(title)}</title>',
        f'<meta name="viewport" content="width=device-width"><style>{STYLE}</style></head>\n<body><main>\n',
        f"<h1>{_text(title)}</h1>\n",
        *body,
        "</main></body></html>\n",
    ))  # fmt: skip


def _crumbs(place: Place) -> str:
    """Return the links from the root to a place."""
    found = [_link("/", "root")]
    for number, segment in enumerate(place.segments, 1):
        found.append(_link(url(BROWSE, *place.segments[:number]), segment))
    return f'<nav aria-label="path">{" / ".join(found)}</nav>\n'


def folder(listing: Listing) -> str:
    """Return the page of a folder."""
    return page(listing.folder.name or "Datasets", _folder(listing))


def _folder(listing: Listing) -> Iterator[str]:
    yield _crumbs(listing.folder)
    if not listing.entries:
        yield "<p>There is nothing to serve here.</p>\n"
    else:
        yield _table(("Name", "Format", "Bytes", "Zarr v2", "Zarr v3", "CDM Remote"), map(_row, listing.entries))
    if listing.pages > 1:
        here = url(BROWSE, *listing.folder.segments)
        yield f'<nav aria-label="pages">page {listing.page} of {listing.pages} '
        if listing.page > 1:
            yield _link(f"{here}?page={listing.page - 1}", "previous") + " "
        if listing.page < listing.pages:
            yield _link(f"{here}?page={listing.page + 1}", "next")
        yield "</nav>\n"


def _row(entry: Entry) -> str:
    name, links = entry.place.segments[-1], entry.links
    first = f'<tr><th scope="row">{_link(links[BROWSE], name + ("/" if entry.place.folder else ""))}</th>'
    if entry.place.folder:
        return f'{first}<td colspan="5">folder</td></tr>\n'
    size = "" if entry.size is None else str(entry.size)
    stores = "".join(f"<td>{_link(links[each] + '/', each, f'{name} as {each}')}</td>" for each in VERSIONS)
    remote = _link(f"{links[CDMREMOTE]}?req=form", "form", f"{name}: form")
    return f"{first}<td>{_text(entry.form or 'unknown')}</td><td>{size}</td>{stores}<td>{remote}</td></tr>\n"


def description(opened: Opened, losses: dict[str, list[str]], place: str) -> dict[str, Any]:
    """Return the JSON form of a dataset: variables, losses in each Zarr version, links. `place`: scheme and host."""
    checked, segments = opened.checked, opened.place.segments
    entry = Entry(opened.place, opened.form.name)
    variables = [
        {
            "name": shown(fqn),
            "type": shown(variable.type),
            "dimensions": [shown(str(each)) for each in variable.dimensions],
            "shape": list(checked.shapes[fqn]),
        }
        for fqn, variable in list(checked.variables.items())[:MOST_VARIABLES]
    ]
    return {
        "path": shown(opened.place.name),
        "name": shown(segments[-1]),
        "kind": "dataset",
        "format": opened.form.name,
        "links": {kind: place + link for kind, link in entry.links.items()},
        "variable_count": len(checked.variables),
        "variables": variables,
        "losses": {version: list(map(shown, each)) for version, each in losses.items()},
    }


def dataset(opened: Opened, losses: dict[str, list[str]], place: str) -> str:
    """Return the page of a dataset."""
    return page(opened.place.segments[-1], _dataset(opened, description(opened, losses, place)))


def _dataset(opened: Opened, told: dict[str, Any]) -> Iterator[str]:
    links = told["links"]
    yield _crumbs(opened.place)
    yield f"<p>Format <code>{_text(opened.form.name)}</code>, {told['variable_count']} variables.</p>\n<ul>\n"
    for version in VERSIONS:
        yield f"<li>Zarr v{version.removeprefix('zarr')}: <code>{_text(links[version])}</code></li>\n"
    asked = ", ".join(_link(f"{links[CDMREMOTE]}?req={what}", what) for what in ("form", "CDL", "NcML"))
    yield f"<li>CDM Remote: <code>{_text(links[CDMREMOTE])}</code>, {asked}</li>\n</ul>\n"
    yield "<h2>Variables</h2>\n" + _table(("Name", "Type", "Dimensions"), map(_variable, told["variables"]))
    if told["variable_count"] > len(told["variables"]):
        yield f"<p>The first {len(told['variables'])} are shown.</p>\n"
    for version, lost in told["losses"].items():
        if lost:
            yield f"<h2>What {_text(version)} does not hold</h2>\n<ul>\n"
            yield from (f"<li>{_text(each)}</li>\n" for each in lost)
            yield "</ul>\n"


def _variable(told: dict[str, Any]) -> str:
    axes = ", ".join(
        f"{names.last(name) if name.startswith('/') else ''} {length}".strip()
        for name, length in zip(told["dimensions"], told["shape"], strict=True)
    )
    return (
        f'<tr><th scope="row"><code>{_text(told["name"])}</code></th><td>{_text(told["type"])}</td>'
        f"<td>{_text(axes)}</td></tr>\n"
    )


def _table(titles: Iterable[str], rows: Iterable[str]) -> str:
    head = "".join(f'<th scope="col">{title}</th>' for title in titles)
    return f"<table><thead><tr>{head}</tr></thead>\n<tbody>\n{''.join(rows)}</tbody></table>\n"


def form(opened: Opened, location: str) -> str:
    """Return the CDM Remote form of a dataset."""
    return page(f"CDM Remote: {opened.place.segments[-1]}", _form(opened, location))


def _form(opened: Opened, location: str) -> Iterator[str]:
    checked = opened.checked
    yield _crumbs(opened.place)
    here = url(CDMREMOTE, *opened.place.segments)
    yield f"<p>Endpoint: <code>{_text(location)}</code></p>\n<ul>\n"
    for what in ("header", "CDL", "NcML", "capabilities"):
        yield f"<li>{_link(f'{here}?req={what}', what)}</li>\n"
    yield f'</ul>\n<form action="{html.escape(here)}" method="get"><input type="hidden" name="req" value="data">\n'
    yield '<p><label for="var">Sections, with ; between them, as <code>temp(0:9:2, :, 5)</code></label><br>\n'
    yield '<input id="var" name="var" list="variables" size="60" required></p>\n<datalist id="variables">\n'
    variables = list(checked.variables)[:MOST_VARIABLES]
    yield from (f'<option value="{_text(written(names.split(fqn)))}"></option>\n' for fqn in variables)
    yield '</datalist>\n<p><label for="deflate">Deflate</label> <select id="deflate" name="deflate">'
    yield '<option value="">no</option>' + "".join(f"<option>{level}</option>" for level in range(1, 10))
    yield '</select> <button type="submit">Data</button></p></form>\n<h2>Variables</h2>\n<ul>\n'
    for fqn in variables:
        lengths = ", ".join(map(str, checked.shapes[fqn]))
        name, type_name = _text(written(names.split(fqn))), _text(checked.variables[fqn].type)
        yield f"<li><code>{name}</code> {type_name} ({lengths})</li>\n"
    yield "</ul>\n"
