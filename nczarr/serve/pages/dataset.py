"""The page of a dataset, and its JSON form."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import urlencode

from nczarr import names
from nczarr.api.brief import brief
from nczarr.api.html import More, tree_html
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.check.checked import Checked
from nczarr.check.outline import bytes_text, stored_bytes
from nczarr.diagnostics.report import CompileError
from nczarr.select.physical import attributes_of, text_of
from nczarr.serve.dataset_cache import CachedDataset
from nczarr.serve.pages.commands import commands
from nczarr.serve.pages.coordinates import Coordinate, coordinates
from nczarr.serve.pages.folder import FolderEntry
from nczarr.serve.pages.markup import (
    CDMREMOTE,
    FILE,
    OPENDAP,
    VIEW,
    attribute,
    counted,
    crumbs,
    link,
    linked,
    page,
    shown,
    table,
    text,
)
from nczarr.serve.pages.plane import variable_of
from nczarr.serve.protocols.dap2 import view
from nczarr.serve.protocols.zarr import VERSIONS
from nczarr.serve.request import url

MOST_VARIABLES = 2000
"""Maximum variables on a dataset's page."""

MOST_CHUNKS = 200_000
"""Maximum chunks whose sizes are looked up for one page."""

FACTS = (
    ("Institution", ("institution",)),
    ("Source", ("source",)),
    ("Creator", ("creator_name", "author", "contact")),
    ("License", ("license", "licence")),
    ("References", ("references",)),
    ("Identifier", ("id", "doi", "tracking_id")),
    ("Created", ("date_created", "creation_date")),
    ("Modified", ("date_modified",)),
    ("From", ("time_coverage_start",)),
    ("To", ("time_coverage_end",)),
    ("Conventions", ("Conventions",)),
)
"""Rows of a dataset's page, and the attributes that they show, the first one that is there."""


class DatasetFacts(NamedTuple):
    """Everything on the page of a dataset."""

    opened: CachedDataset
    """The dataset."""
    losses: dict[str, list[str]]
    """Messages about content that a version of Zarr cannot store, by version."""
    links: dict[str, str]
    """Absolute URLs by kind."""
    services: dict[str, str]
    """Absolute URLs by protocol."""
    coordinates: list[Coordinate]
    """Coordinates in words."""
    stored: dict[str, int]
    """Bytes of the encoded chunks by variable, where they are known."""
    file: int | None
    """Bytes of the file; None for a folder."""
    dap2: bool
    """True if DAP2 holds the dataset."""

    @property
    def title(self) -> str:
        """Title of the dataset, else its name."""
        return text_of(attributes_of(self.opened.checked, "/"), "title") or self.opened.place.segments[-1]

    @property
    def summary(self) -> str:
        """Summary of the dataset; may be empty."""
        return text_of(attributes_of(self.opened.checked, "/"), "summary", "description", "comment")

    @property
    def values(self) -> int:
        """Bytes of all values of fixed size."""
        checked = self.opened.checked
        return sum(_bytes(checked, path) or 0 for path in checked.variables)


def told(opened: CachedDataset, losses: dict[str, list[str]], place: str) -> DatasetFacts:
    """Return what is known of a dataset; reads coordinates. `place`: scheme and host. Raises OSError."""
    checked = opened.checked
    entry = FolderEntry(opened.place, opened.form.name)
    links = {kind: place + way for kind, way in entry.links.items()}
    services = {kind: place + way for kind, way in entry.services.items()}
    file = None if opened.place.store else os.stat(opened.place.path).st_size
    dap2 = view(opened).is_complete
    return DatasetFacts(opened, losses, links, services, list(coordinates(checked)), dict(_stored(checked)), file, dap2)


def _stored(checked: Checked) -> Iterator[tuple[str, int]]:
    """Yield the variables whose encoded sizes are known, with these sizes."""
    left = MOST_CHUNKS
    for path in list(checked.variables)[:MOST_VARIABLES]:
        parts = checked.parts.get(path, {})
        left -= sum(_chunks(part.layout.shape, part.layout.chunks) for part in parts.values())
        if left < 0:
            return
        try:
            found = stored_bytes(parts) if parts else None
        except (CompileError, OSError):  # reading such a variable says why; a page without this size is whole
            found = None
        if found is not None:
            yield path, found


def _chunks(shape: tuple[int, ...], chunks: tuple[Any, ...]) -> int:
    lengths = zip(shape, chunks, strict=False)
    return math.prod(1 if length == chunk else -(-length // max(1, int(chunk))) for length, chunk in lengths)


def _bytes(checked: Checked, path: str) -> int | None:
    """Return the bytes of the values of a variable; None for types of variable size."""
    name = checked.variables[path].type
    fixed = is_fixed(name, checked.types)
    return math.prod(checked.shapes[path]) * size(name, checked.types) if fixed else None


def description(found: DatasetFacts) -> dict[str, Any]:
    """Return the JSON form of a dataset."""
    opened, checked = found.opened, found.opened.checked
    variables = [
        {
            "name": shown(fqn),
            "type": shown(variable.type),
            "dimensions": [shown(str(each)) for each in variable.dimensions],
            "shape": list(checked.shapes[fqn]),
            "bytes": _bytes(checked, fqn),
            "stored_bytes": found.stored.get(fqn),
        }
        for fqn, variable in list(checked.variables.items())[:MOST_VARIABLES]
    ]
    return {
        "path": shown(opened.place.name),
        "name": shown(opened.place.segments[-1]),
        "kind": "dataset",
        "format": opened.form.name,
        "title": shown(found.title),
        "summary": shown(found.summary),
        "size": found.file,
        "links": found.links,
        "services": found.services,
        "variable_count": len(checked.variables),
        "variables": variables,
        "coordinates": [
            {name: shown(value) if isinstance(value, str) else value for name, value in each.members().items()}
            for each in found.coordinates
        ],
        "losses": {version: list(map(shown, each)) for version, each in found.losses.items()},
    }


def dataset(found: DatasetFacts) -> str:
    """Return the page of a dataset."""
    return page(found.title, _dataset(found), scripts=("pages.js",), styles=("tree.css",))


def _dataset(found: DatasetFacts) -> Iterator[str]:
    opened, checked = found.opened, found.opened.checked
    yield crumbs(opened.place.segments)
    yield f'<p class="facts-line">{" · ".join(_facts_line(found))}</p>\n'
    if found.summary:
        yield f'<p class="summary">{text(found.summary)}</p>\n'
    facts = list(_facts(checked))
    if facts:
        rows = "".join(f"<div><dt>{title}</dt><dd>{words}</dd></div>" for title, words in facts)
        yield f'<dl class="facts">{rows}</dl>\n'
    yield _quick_look(found)
    yield from _open(found)
    if found.coordinates:
        yield '<section aria-labelledby="coordinates"><h2 id="coordinates">Coordinates</h2>\n'
        titles = ("Name", *(f'<th scope="col" class="n">{each}</th>' for each in ("Length", "First", "Last", "Step")))
        yield table(
            (*titles, "Units"), map(_coordinate, found.coordinates), kind="coordinates", label="Values of coordinates"
        )
        yield "</section>\n"
    yield '<section aria-labelledby="content"><h2 id="content">Content</h2>\n'
    yield (
        tree_html(checked, More(partial(_note, checked), partial(_more, found)))
        if _is_there(checked)
        else "<p>The dataset is empty.</p>"
    )
    yield "</section>\n"
    yield from _losses(found)


def _quick_look(found: DatasetFacts) -> str:
    """Return the form that leads to the values of a variable."""
    checked = found.opened.checked
    if not checked.variables:
        return ""
    chosen = variable_of(checked, {})
    options = "".join(
        f'<option value="{attribute(path)}"{" selected" * (path == chosen)}>{text(path.removeprefix("/"))}</option>'
        for path in list(checked.variables)[:MOST_VARIABLES]
    )
    return (
        f'<form class="look" action="{url(VIEW, *found.opened.place.segments)}" method="get">'
        f'<label for="var">Quick look</label><select id="var" name="var">{options}</select>'
        '<button class="main" type="submit">Show values</button></form>\n'
    )


def _is_there(checked: Checked) -> bool:
    root = checked.dataset
    return bool(root.groups or root.variables or root.dimensions or root.types or root.attributes)


def _facts_line(found: DatasetFacts) -> Iterator[str]:
    opened, checked = found.opened, found.opened.checked
    yield f"<code>{text(opened.place.segments[-1])}</code>"
    yield f"Format <code>{text(opened.form.name)}</code>"
    if found.file is not None:
        yield link(url(FILE, *opened.place.segments), f"{bytes_text(found.file)} file")
    yield f"{bytes_text(found.values)} of values"
    yield f"{counted(len(checked.variables), 'variable')}"
    if len(checked.groups) > 1:
        yield counted(len(checked.groups) - 1, "group")


def _facts(checked: Checked) -> Iterator[tuple[str, str]]:
    attributes = attributes_of(checked, "/")
    for title, wanted in FACTS:
        found = next((attributes[name] for name in wanted if name in attributes), None)
        if found is not None and found != "":
            yield title, linked(found) if isinstance(found, str) else text(brief(found))


def _coordinate(each: Coordinate) -> str:
    name = text(each.path.removeprefix("/"))
    label = f' <span class="dim">{text(each.label)}</span>' if each.label and each.label != name else ""
    grows = ' <span class="tag">unlimited</span>' if each.unlimited else ""
    cells = "".join(f'<td class="n">{text(words)}</td>' for words in (each.first, each.last, each.step))
    return (
        f'<tr><th scope="row"><code>{name}</code>{label}{grows}</th><td class="n">{each.length:,}</td>{cells}'
        f"<td>{text(each.units)}</td></tr>\n"
    )


def _note(checked: Checked, path: str) -> str:
    """Return the name for people and the units of a variable."""
    attributes = attributes_of(checked, path)
    label, units = text_of(attributes, "long_name", "standard_name"), text_of(attributes, "units")
    return f"{label} ({units})" if label and units else label or units


def _more(found: DatasetFacts, path: str) -> Iterator[str]:
    """Yield what a page adds to a variable: a link to its values, and its encoded size."""
    checked = found.opened.checked
    query = urlencode({"var": names.to_bytes(path)})
    words = [
        link(f"{url(VIEW, *found.opened.place.segments)}?{query}", "Show values", f"Show values of {path}", "button")
    ]
    plain, stored = _bytes(checked, path), found.stored.get(path)
    if stored is not None:
        ratio = f" ({plain / stored:.1f}:1)" if plain and stored and plain != stored else ""
        words.append(f"<span>{bytes_text(stored)} stored{ratio}</span>")
    yield f'<p class="actions">{" ".join(words)}</p>'


def _open(found: DatasetFacts) -> Iterator[str]:
    name = found.opened.place.segments[-1]
    yield '<section aria-labelledby="open"><h2 id="open">Open it</h2>\n<div class="ways">'
    for number, each in enumerate(commands(found.links | found.services, shown(name), dap2=found.dap2)):
        yield f'<details class="way"{" open" * (not number)}><summary>{text(each.title)}</summary>'
        note = f'<p class="dim">{text(each.note)}</p>' if each.note else ""
        yield f'<pre class="copy" tabindex="0"><code>{text(each.text)}</code></pre>{note}</details>\n'
    yield '<details class="way"><summary>Addresses</summary><ul class="links">\n'
    for version in VERSIONS:
        yield f"<li>Zarr v{version.removeprefix('zarr')}: <code>{text(found.links[version])}</code></li>\n"
    for kind in OPENDAP:
        yield f"<li>OPeNDAP ({kind.upper()}): <code>{text(found.services[kind])}</code></li>\n"
    remote = found.links[CDMREMOTE]
    asked = ", ".join(link(f"{remote}?req={what}", what) for what in ("form", "CDL", "NcML"))
    yield f"<li>CDM Remote: <code>{text(remote)}</code>, {asked}</li>\n"
    yield "</ul></details></div></section>\n"


def _losses(found: DatasetFacts) -> Iterator[str]:
    for version, lost in found.losses.items():
        if not lost:
            continue
        title = f"What {text(version)} does not hold"
        yield f'<details class="losses"><summary>{title} <span class="dim">({len(lost)})</span></summary>\n<ul>\n'
        yield from (f"<li>{text(each)}</li>\n" for each in lost)
        yield "</ul></details>\n"
