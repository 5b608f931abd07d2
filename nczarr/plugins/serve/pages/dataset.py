"""The page of a dataset with its coordinates and lines that open it in other programs, and its JSON form."""

from __future__ import annotations

import json
import math
import os
import shlex
from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple
from urllib.parse import unquote, urlencode

from nczarr import names
from nczarr.api.brief import brief
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.diagnostics.report import CompileError, Report
from nczarr.pipeline.select.coordinate_summary import summarize_coordinate
from nczarr.pipeline.select.physical import attributes_of, text_of
from nczarr.plugins.notebook.html import More, tree_html
from nczarr.plugins.opendap.dap2.declarations import mapping
from nczarr.plugins.serve.answers import HttpAnswer, RefusedRequestError, without_home
from nczarr.plugins.serve.context import Answer, DatasetToOpen, ServerContext, as_wanted, trim
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.pages import folder
from nczarr.plugins.serve.pages.download import list_offered
from nczarr.plugins.serve.pages.markup import VERSIONS, VIEW, fragment, page, show
from nczarr.plugins.serve.pages.plane import variable_of
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.value_streams import cost
from nczarr.semantics.checked import Checked, find_coordinates
from nczarr.semantics.outline import measure_stored

BUDGET = 8 << 20
"""Maximum bytes that are read for the coordinates of one page."""

MOST_COORDINATES = 200
"""Maximum coordinates of one page."""

Coordinate = dict[str, Any]
"""One coordinate variable in words, as JSON has it; `label`: its name for people."""


def coordinates(checked: Checked) -> Iterator[Coordinate]:
    """Yield coordinates in words; those that cost too much have no values. Raises nothing for unreadable ones."""
    budget = BUDGET
    for path in list(find_coordinates(checked))[:MOST_COORDINATES]:
        length = checked.shapes[path][0]
        attributes = attributes_of(checked, path)
        coordinate: Coordinate = {
            "path": path,
            "length": length,
            "first": "",
            "last": "",
            "step": "",
            "units": text_of(attributes, "units"),
            "label": text_of(attributes, "long_name", "standard_name"),
            "unlimited": checked.dimensions[path].unlimited,
            "name": names.readable(path),
        }
        indices = next((choice for choice in _choices(length) if cost(checked, path, (choice,)) <= budget), None)
        if not length:
            yield {**coordinate, "first": "no values"}
        elif indices is None:
            yield {**coordinate, "step": "not read: its chunks are large"}
        else:
            budget -= cost(checked, path, (indices,))
            try:
                summary = summarize_coordinate(checked, path, indices)
            except (CompileError, OSError):  # the page says so, and shows the rest
                yield {**coordinate, "step": "unreadable"}
                continue
            yield {**coordinate, "first": summary.first, "last": summary.last, "step": summary.step}


def _choices(length: int) -> Iterator[range]:
    """Yield what may be read: all values, or the first and the last one."""
    yield range(length)
    if length > 2:
        yield range(0, length, length - 1)


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

BY_DAP2 = "By DAP2: libnetcdf, which this program uses, damages attributes of type float that it reads by DAP4."
BY_DAP4 = (
    "By DAP4: DAP2 lacks groups or types of this dataset. libnetcdf, which this program uses, damages a _FillValue of "
    "type float; missing_value repeats it, other attributes of type float are doubles."
)


class Snippet(NamedTuple):
    """One way to open a dataset."""

    title: str
    """Name of the program or language."""
    text: str
    """Lines to copy."""
    note: str = ""
    """Reason for the choice of the lines."""


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/` and `/browse/PATH` by the page of a folder or dataset, or its JSON form."""
    place = context.place(trim(asked.segments[1:]))
    return folder.answer(context, asked, place) if place.folder else dataset_page(context, asked, place, at_hand)


def dataset_page(context: ServerContext, asked: Request, place: ServedPlace, at_hand: CachedDataset | None) -> Answer:
    """Return the page of a dataset, or its JSON form. Raises RefusedRequestError, OSError."""
    if place.behind:
        raise RefusedRequestError(404, "there is no such dataset")
    opened = context.find_open(place, at_hand)
    if opened is None:
        return DatasetToOpen(place)

    def work() -> HttpAnswer:
        facts = _facts(opened, context, asked.place)
        return as_wanted(asked, partial(_describe_members, facts), partial(_page, facts))

    return context.now_or_later(opened, work, BUDGET if find_coordinates(opened.checked) else 0)


def _facts(opened: CachedDataset, context: ServerContext, place: str) -> dict[str, Any]:
    """Return what both forms of the page have; reads coordinates. `place`: scheme and host. Raises OSError."""
    checked, attributes = opened.checked, attributes_of(opened.checked, "/")
    entry = folder.FolderEntry(opened.place, opened.form.name)
    return {
        "opened": opened,
        "title": text_of(attributes, "title") or opened.place.segments[-1],
        "summary": text_of(attributes, "summary", "description", "comment"),
        "omitted": [without_home(one.text, context.root.home) for one in checked.omitted],
        "losses": {version: _losses(opened, version, context) for version in VERSIONS},
        "links": {kind: place + way for kind, way in entry.links.items()},
        "services": {kind: place + way for kind, way in entry.services.items()},
        "coordinates": list(coordinates(checked)),
        "stored": dict(_list_stored(checked)),  # bytes of the encoded chunks by variable, where they are known
        "file": None if opened.place.store else os.stat(opened.place.path).st_size,
    }


def _losses(opened: CachedDataset, version: str, context: ServerContext) -> list[str]:
    """Return messages for everything that a Zarr version cannot store of a dataset, as its plan says; cached."""
    key = f"losses of {version}"
    with opened.lock:
        messages: list[str] | None = opened.views.get(key)
        if messages is None:
            report = Report(limit=100)
            planned = opened.plan(version, context.limits.memory, report)
            if planned is None:
                messages = [
                    without_home(f"everything: {each.message}", context.root.home) for each in report.list_sorted()
                ]
            else:
                messages = [
                    each.message + (" (annotation)" if weight == "annotation" else "")
                    for weight in ("value", "annotation")
                    for each in planned.losses
                    if each.weight == weight
                ]
            opened.views[key] = messages
    return messages


def _list_stored(checked: Checked) -> Iterator[tuple[str, int]]:
    """Yield the variables whose encoded sizes are known, with these sizes."""
    chunk_budget = MOST_CHUNKS
    for path in list(checked.variables)[:MOST_VARIABLES]:
        parts = checked.parts.get(path, {})
        chunk_budget -= sum(_chunks(part.layout.shape, part.layout.chunks) for part in parts.values())
        if chunk_budget < 0:
            return
        try:
            found = measure_stored(parts) if parts else None
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


def _describe_members(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the JSON form of a dataset."""
    opened, checked = facts["opened"], facts["opened"].checked
    variables = [
        {
            "name": show(fqn),
            "type": show(variable.type),
            "dimensions": [show(str(each)) for each in variable.dimensions],
            "shape": list(checked.shapes[fqn]),
            "bytes": _bytes(checked, fqn),
            "stored_bytes": facts["stored"].get(fqn),
        }
        for fqn, variable in list(checked.variables.items())[:MOST_VARIABLES]
    ]
    return {
        "path": show(opened.place.name),
        "name": show(opened.place.segments[-1]),
        "kind": "dataset",
        "format": opened.form.name,
        "title": show(facts["title"]),
        "summary": show(facts["summary"]),
        "size": facts["file"],
        "links": facts["links"],
        "services": facts["services"],
        "variable_count": len(checked.variables),
        "variables": variables,
        "coordinates": [
            {name: show(value) if isinstance(value, str) else value for name, value in each.items()}
            for each in facts["coordinates"]
        ],
        "omitted": list(map(show, facts["omitted"])),
        "losses": {version: list(map(show, each)) for version, each in facts["losses"].items()},
    }


def _page(facts: dict[str, Any]) -> bytes:
    """Return the page of a dataset."""
    from markupsafe import Markup

    opened, checked, root = facts["opened"], facts["opened"].checked, facts["opened"].checked.dataset
    attributes, rows = attributes_of(checked, "/"), []
    for title, wanted in FACTS:
        value = next((attributes[name] for name in wanted if name in attributes), None)
        if value is not None and value != "":
            rows.append((title, value if isinstance(value, str) else brief(value)))
    more = More(partial(_note, checked), partial(_more, opened, facts["stored"]))
    has_content = root.groups or root.variables or root.dimensions or root.types or root.attributes
    name, dap2 = show(opened.place.segments[-1]), mapping(checked, opened.place.segments[-1]).is_complete
    facts |= {
        "size": sum(_bytes(checked, path) or 0 for path in checked.variables),
        "attributes": rows,
        "choices": [(path, path.removeprefix("/")) for path in list(checked.variables)[:MOST_VARIABLES]],
        "largest": variable_of(checked, {}) if checked.variables else "",
        "commands": _commands(facts["links"] | facts["services"], name, dap2=dap2),
        "tree": Markup(tree_html(checked, more)) if has_content else "",
    }
    return page("dataset.html", facts["title"], scripts=("pages.js",), styles=("tree.css",), facts=facts)


def _note(checked: Checked, path: str) -> str:
    """Return the name for people and the units of a variable."""
    attributes = attributes_of(checked, path)
    label, units = text_of(attributes, "long_name", "standard_name"), text_of(attributes, "units")
    return f"{label} ({units})" if label and units else label or units


def _more(opened: CachedDataset, stored: dict[str, int], path: str) -> Iterator[str]:
    """Yield what a page adds to a variable: a link to its values, and its encoded size."""
    place = f"{url(VIEW, *opened.place.segments)}?{urlencode({'var': names.to_bytes(path)})}"
    plain = _bytes(opened.checked, path)
    yield fragment("actions.html", place=place, path=path, plain=plain, stored=stored.get(path))


def _commands(links: Mapping[str, str], name: str, *, dap2: bool) -> Iterator[Snippet]:
    """Yield the ways to open a dataset.

    `links`: absolute URLs by kind; `name`: the dataset's file name; `dap2`:
    True if DAP2 holds the dataset.
    """
    zarr, remote = links[VERSIONS[-1]], f"cdmremote:{links['cdmremote']}"
    target = shlex.quote(f"{names.stem(name) or 'data'}.nc")
    yield Snippet("xarray, as Zarr", f"import xarray as xr\nds = xr.open_zarr({json.dumps(zarr)})")
    # libnetcdf 4.10.1 encodes a DAP4 URL once more
    dap, note = (links["dap2"], BY_DAP2) if dap2 else (unquote(links["dap4"]) + "#dap4", BY_DAP4)
    yield Snippet(
        "xarray, by OPeNDAP", f'import xarray as xr\nds = xr.open_dataset({json.dumps(dap)}, engine="netcdf4")', note
    )
    yield Snippet(
        "xarray, by nczarr", f'import xarray as xr\nds = xr.open_dataset({json.dumps(remote)}, engine="nczarr")'
    )
    yield Snippet("ncdump", f"ncdump -h {shlex.quote(dap)}", note)
    yield Snippet("nczarr convert", f"nczarr convert {shlex.quote(remote)} {target}")
    if ".nc" in list_offered():
        yield Snippet("curl", f"curl -f -o {target} {shlex.quote(links['download'] + '?format=nc')}")
    yield Snippet("R", f"library(ncdf4)\nnc <- nc_open({json.dumps(dap)})", note)
    yield Snippet("Julia", f"using NCDatasets\nds = NCDataset({_julia(dap)})", note)
    yield Snippet("Julia, as Zarr", f"using Zarr\ng = zopen({_julia(links[VERSIONS[0]])}, consolidated=true)")


def _julia(text: str) -> str:
    """Return a string of Julia; URLs have no other special characters."""
    return json.dumps(text).replace("$", "\\$")
