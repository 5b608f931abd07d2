"""`/erddap`: what clients of ERDDAP's grids ask for.

    griddap/ID.TYPE?QUERY        values: text formats of `tables.py`, `nc`, and `das`, `dds`, `dods`, `asc` of OPeNDAP
    griddap/ID.ncml  .ncHeader   declarations;  .html  .graph  the form of the dataset
    griddap/ID                   the dataset by OPeNDAP
    info/ID/index.TYPE           dimensions, variables and attributes as a table
    info/index.TYPE  search/index.TYPE  search/advanced.TYPE  griddap/index.TYPE    datasets as a table
    version                      the version of the protocol

ID is the path of a dataset below the root. It means the grid with most dimensions; `ID:lat:lon` is the one that has
these dimensions.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Sequence
from http import HTTPStatus
from urllib.parse import quote

from nczarr import names
from nczarr.pipeline.select.selection import DimensionRange, Subset
from nczarr.plugins.common import ncml_writer
from nczarr.plugins.serve.answers import (
    BUSY,
    RETRY,
    TEXT,
    XML,
    HttpAnswer,
    RefusedRequestError,
    attachment,
    conditional,
)
from nczarr.plugins.serve.context import Answer, DatasetToOpen, HeavyWork, ServerContext, StreamedValues
from nczarr.plugins.serve.dataset_cache import CachedDataset, check_same, refuse_if_replaced
from nczarr.plugins.serve.pages.download import FORMATS, TIMES, WORDS, write_download
from nczarr.plugins.serve.pages.markup import BROWSE, DAP2, ERDDAP
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.protocols import cdmremote, opendap
from nczarr.plugins.serve.protocols.erddap.grid import Grid, list_grids, make_grid, state_ranges
from nczarr.plugins.serve.protocols.erddap.grid_tables import describe_grid, make_value_table
from nczarr.plugins.serve.protocols.erddap.query import NO_RESULTS, parse_query
from nczarr.plugins.serve.protocols.erddap.tables import TABLES, Cell, TableColumn, TextTable, find_table_format
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.search_index import MOST
from nczarr.plugins.serve.value_streams import check_size, longest_chunk, memory_for, size_of

PATIENCE = 5.0
"""Seconds that a list of datasets waits for the first look at them."""

LISTED = ("griddap", "Subset", "tabledap", "Make A Graph", "wms", "files", "Title", "Summary", "FGDC", "ISO 19115",
          "Info", "Background Info", "RSS", "Email", "Institution", "Dataset ID")  # fmt: skip
"""Columns of a table of datasets."""

UNKNOWN_FILTERS = ("mintime", "maxtime", "minlat", "maxlat", "minlon", "maxlon", "institution", "ioos_category",
                   "cdm_data_type", "keywords")  # fmt: skip
"""Parameters of the advanced search that the index of names cannot answer."""


def list_datasets(context: ServerContext, asked: Request, what: str) -> Answer:
    """Answer by a table of datasets: all, or those in which the words of a search occur."""
    query = asked.query
    if what == "html":
        return HttpAnswer(status=303, headers=(("Location", url(BROWSE)),))
    form = find_table_format(what)
    named = {name: query.get(name, "").strip() for name in UNKNOWN_FILTERS}
    ignored = [name for name, text in named.items() if text not in ("", "(ANY)")]
    if ignored:
        text = f"the search knows names, titles, `standard_name` and `long_name`, not `{ignored[0]}`"
        raise RefusedRequestError(400, text)
    words = query.get("searchfor", "").replace('"', " ").split()
    for name in ("standard_name", "variablename", "long_name"):
        if query.get(name, "(ANY)") not in ("", "(ANY)"):
            words.append(query[name])
    wanted = " ".join(word for word in words if not word.startswith("-") and word != "None")
    unwanted = [word[1:].casefold() for word in words if word.startswith("-")]
    is_elsewhere = query.get("protocol", "griddap").lower() not in ("griddap", "(any)", "")

    def work() -> HttpAnswer:
        end = time.monotonic() + PATIENCE
        hits = context.searched.search(wanted, (), MOST)
        while not hits.complete and time.monotonic() < end:
            time.sleep(0.05)
            hits = context.searched.search(wanted, (), MOST)
        if not hits.complete:
            raise RefusedRequestError(BUSY, "the list of datasets is being made: ask again", RETRY)
        chosen = [hit for hit in hits.found if not any(word in hit.text for word in unwanted)] * (not is_elsewhere)
        page, size = (_count(query.get(name), default) for name, default in (("page", 1), ("itemsperpage", 1000)))
        part = chosen[(page - 1) * size : page * size]
        if not part and wanted:
            raise RefusedRequestError(404, f"{NO_RESULTS} (no dataset has all of these words)")
        root = asked.place + url(ERDDAP)
        rows: list[Sequence[Cell]] = []
        for hit in part:
            name = "/".join(hit.segments)
            cells = {
                "griddap": asked.place + url(ERDDAP, "griddap", *hit.segments),
                "Title": hit.title or name,
                "Info": f"{root}/info/{url(*hit.segments).removeprefix(url(''))}/index.{what}",
                "Background Info": asked.place + url(BROWSE, *hit.segments),
                "Dataset ID": name,
            }
            rows.append([cells.get(title, "") for title in LISTED])
        table = TextTable(tuple(TableColumn(title, "String") for title in LISTED), [rows])
        return HttpAnswer(b"".join(form.write(table)), form.kind)

    return HeavyWork(work)


def _count(text: str | None, default: int) -> int:
    """Return a number from 1 on. Raises RefusedRequestError."""
    if not text:
        return default
    if not (text.isascii() and text.isdigit() and len(text) < 10 and int(text)):
        raise RefusedRequestError(400, "`page` and `itemsPerPage` are numbers from 1 on")
    return int(text)


VERSION = "ERDDAP_version=2.25\n"
"""Version of ERDDAP whose URLs are answered."""

OPENDAP_TYPES = ("das", "dds", "dods", "asc")
FORMS = ("html", "graph")
OTHER_TYPES = ("nc", "ncml", "ncHeader")

UNKNOWN_ID = "Currently unknown datasetID="
"""Words of ERDDAP by which its clients know that there is no such dataset."""

_EXTENDED = re.compile(r"\(|%28|&|(?:\[|%5B|:|%3A)last", re.IGNORECASE)
"""Parts of queries that OPeNDAP itself does not have."""

NAMESPACE = ncml_writer.NAMESPACE.replace("http:", "https:")
"""Namespace of NcML as ERDDAP writes it: clients look for its elements."""


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/erddap/SERVICE/…`. Raises RefusedRequestError, CompileError, OSError."""
    service, rest = (asked.segments[1:2] or ("",))[0], asked.segments[2:]
    match service, rest:
        case "version" | "version_string", ():
            return HttpAnswer(VERSION.encode())
        case ("info" | "search" | "griddap", (document,)) if document.startswith(("index.", "advanced.")):
            return list_datasets(context, asked, document.partition(".")[2])
        case "info", (*segments, document) if segments and document.startswith("index."):
            return _describe(context, asked, at_hand, tuple(segments), document.removeprefix("index."))
        case "griddap", (*_, last) if last:
            return _answer_grid(context, asked, at_hand, rest)
        case "", () | ("",):
            return HttpAnswer(status=303, headers=(("Location", url(BROWSE)),))
    raise RefusedRequestError(404, "the server has `griddap`, `info`, `search` and `version` of ERDDAP, for grids")


def _find(context: ServerContext, segments: Sequence[str]) -> tuple[ServedPlace, str] | None:
    """Return the place of an ID, and the names of its dimensions behind colons; None without such a dataset."""
    *folders, last = segments
    for colon in [len(last), *(at for at, letter in enumerate(last) if letter == ":")]:
        place = context.root.find((*folders, last[:colon])) if last[:colon] else None
        if place is not None and not place.folder and not place.behind:
            return place, last[colon:]
    return None


def _missing(segments: Sequence[str]) -> RefusedRequestError:
    return RefusedRequestError(404, f"{UNKNOWN_ID}{names.readable('/'.join(segments))}")


def write_refusal(error: RefusedRequestError) -> HttpAnswer:
    """Return the error document of a refusal, in the form that clients of ERDDAP take apart."""
    message = json.dumps(f"{HTTPStatus(error.status).phrase}: {error.text}")
    body = f"Error {{\n    code={error.status};\n    message={message};\n}}\n"
    return HttpAnswer(body.encode(), TEXT, error.status, error.headers)


def _grid_of(opened: CachedDataset, dimensions: str) -> Grid:
    """Return the grid of a dataset whose dimensions are named; cached. Raises RefusedRequestError, OSError."""
    with opened.lock:
        grid: Grid | None = opened.views.get(ERDDAP + dimensions)
        if grid is None:
            axes = _choose(opened, dimensions)
            name = names.stem(opened.place.segments[-1])
            grid = opened.views[ERDDAP + dimensions] = make_grid(opened.checked, axes, name)
        return grid


def _choose(opened: CachedDataset, dimensions: str) -> tuple[str, ...]:
    """Return the dimensions of the grid that an ID means, by FQN."""
    grids = list_grids(opened.checked)
    if not grids:
        raise RefusedRequestError(404, "the dataset has no variables of numbers or texts with dimensions: no grid")
    endings = {_ending(axes): axes for axes in reversed(grids)}
    if not dimensions:
        return grids[0]
    if dimensions not in endings:
        name = opened.place.segments[-1]
        others = ", ".join(f"`{name}{ending}`" for ending in list(endings)[:20])
        raise RefusedRequestError(404, f"there is no grid `{names.readable(name + dimensions)}`; there are {others}")
    return endings[dimensions]


def _ending(axes: Sequence[str]) -> str:
    return "".join(f":{names.last(axis)}" for axis in axes)


def _answer_grid(
    context: ServerContext, asked: Request, at_hand: CachedDataset | None, segments: tuple[str, ...]
) -> Answer:
    """Answer `griddap/ID.TYPE?QUERY`."""
    types = (*TABLES, *OTHER_TYPES, *OPENDAP_TYPES)
    stem, _, what = segments[-1].rpartition(".")
    is_type, before = what in (*types, *FORMS), (*segments[:-1], stem)
    entry = _find(context, before) if is_type and stem else None
    if entry is None:
        entry, what = _find(context, segments), ""
    if entry is None:
        if is_type or not stem or _find(context, before) is None:
            raise _missing(before if is_type else segments)
        unknown = f"`.{names.readable(segments[-1].rpartition('.')[2])}` is no type of file here; there are"
        raise RefusedRequestError(404, f"{unknown} {', '.join(types)}")
    place, dimensions = entry
    if what in ("", *FORMS):
        return HttpAnswer(status=303, headers=(("Location", url(DAP2, *place.segments)),))
    opened = context.find_open(place, at_hand)
    if opened is None:
        return DatasetToOpen(place)
    with refuse_if_replaced(opened):
        grid = _grid_of(opened, dimensions)
        if what in OPENDAP_TYPES:
            return _answer_opendap(context, opened, grid, what, asked)
        if what in TABLES:
            return _answer_table(context, opened, grid, what, asked)
        if what == "nc":
            return _answer_file(context, opened, grid, asked)
        if what == "ncml":
            text, kind = ncml_writer.text(grid.checked, None, NAMESPACE), XML
        else:
            text, kind = cdmremote.write_header(grid.checked, opened.place.segments[-1], context.limits), TEXT
        return conditional(HttpAnswer(text.encode("utf-8", "surrogateescape"), kind), asked.headers, opened.modified)


def _answer_opendap(context: ServerContext, opened: CachedDataset, grid: Grid, what: str, asked: Request) -> Answer:
    """Answer by a document or values of DAP2; the query may have values of coordinates."""
    expression = asked.constraint
    if _EXTENDED.search(expression):
        query = parse_query(grid, expression)
        slabs = [f"[{part[0]}:{part.step}:{part[-1]}]" if part else "" for part in query.ranges]
        pairs = ((quote(name), slabs[grid.find_axis(name) or 0]) for name in query.coordinates)
        clauses = [quote(name) + "".join(slabs) for name in query.variables]
        clauses = clauses or [name + slab for name, slab in pairs]
        expression = ",".join(clauses)
    return opendap.answer_part(context, opened, grid.checked, "ascii" if what == "asc" else what, expression, asked)


def _answer_file(context: ServerContext, opened: CachedDataset, grid: Grid, asked: Request) -> Answer:
    """Answer by a netCDF file."""
    query = parse_query(grid, asked.constraint)
    paths = [names.join("/", name) for name in (*query.coordinates, *query.variables)]
    cuts = {axis.name: part for axis, part in zip(grid.axes, query.ranges, strict=True)}
    shapes = {names.join("/", name): query.ranges for name in query.variables}
    shapes |= {names.join("/", name): (cuts[name],) for name in query.coordinates}
    size = sum(size_of(grid.checked, path, ranges) for path, ranges in shapes.items())
    check_size(size, context.limits)
    subset = Subset(
        tuple(paths),
        dimensions=tuple(
            DimensionRange(names.join("/", name), slice(part.start, part.stop, part.step))
            for name, part in cuts.items()
            if part and (query.variables or name in query.coordinates)  # an empty dimension is whole
        ),
    )
    need = TIMES * (size + longest_chunk(grid.checked, shapes))

    def work() -> HttpAnswer:
        body = write_download(state_ranges(grid, cuts), opened.place.segments[-1], ".nc", subset, size, context)
        check_same(opened)
        name = names.stem(opened.place.segments[-1])[:100] or "data"
        return HttpAnswer(body, FORMATS[".nc"][1], headers=(attachment(f"{name}.nc"),), need=need)

    return HeavyWork(work, need)


def _answer_table(context: ServerContext, opened: CachedDataset, grid: Grid, what: str, asked: Request) -> Answer:
    """Answer by values as a table."""
    query, form = parse_query(grid, asked.constraint), TABLES[what]
    paths = [names.join("/", name) for name in query.variables]
    size = sum(size_of(grid.checked, path, query.ranges) for path in paths) * (1 + len(grid.axes))
    values = StreamedValues(
        form.write(make_value_table(grid, query)),
        size * WORDS,
        memory_for(grid.checked, paths, size),
        all(grid.checked.variables[path].type != "string" for path in paths),
        form.kind,
        (),
    )
    return context.stream_values(opened, values)


def _describe(
    context: ServerContext, asked: Request, at_hand: CachedDataset | None, segments: tuple[str, ...], what: str
) -> Answer:
    """Answer `info/ID/index.TYPE` by the dimensions, variables and attributes."""
    entry = _find(context, segments)
    if entry is None:
        raise _missing(segments)
    place, dimensions = entry
    if what == "html":
        return HttpAnswer(status=303, headers=(("Location", url(BROWSE, *place.segments)),))
    form = find_table_format(what)
    opened = context.find_open(place, at_hand)
    if opened is None:
        return DatasetToOpen(place)
    with refuse_if_replaced(opened):
        grid = _grid_of(opened, dimensions)
        body = b"".join(form.write(describe_grid(grid)))
        return conditional(HttpAnswer(body, form.kind), asked.headers, opened.modified)
