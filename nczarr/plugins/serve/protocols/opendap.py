"""OPeNDAP: documents and values of one dataset, by the suffix of the URL.

    DAP2  .dds  .das  .ver    declarations, attributes, versions
          .dods               declarations and values in XDR
          .ascii  .asc        values as text
          .html  .info        the form of the dataset, which is also at the URL without suffix
    DAP4  .dmr  .dmr.xml      declarations and attributes
          .dap                declarations and values, in chunks

In DAP4, `dap4.ce` selects variables and slices; `dap4.checksum=true` adds checksums, which libnetcdf does not expect by
default. A response that fails after its beginning ends with an error chunk. Refusals are the protocol's error
documents, so that its clients show the text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any
from urllib.parse import quote, unquote, urlencode

from nczarr import __version__, names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.parts import is_fixed
from nczarr.arrays.values.time_units import CALENDARS, date
from nczarr.plugins.common.section_text import write_section
from nczarr.plugins.opendap.common.dmr_writer import Projection
from nczarr.plugins.opendap.common.words import ConstraintError
from nczarr.plugins.opendap.dap2 import declarations as dap2
from nczarr.plugins.opendap.dap2 import values as dap2_values
from nczarr.plugins.opendap.dap2.das_writer import write_das
from nczarr.plugins.opendap.dap2.declarations import DdsNode
from nczarr.plugins.opendap.dap4 import writer as dap4
from nczarr.plugins.serve.answers import BYTES, HTML, TEXT, HttpAnswer, RefusedRequestError, conditional
from nczarr.plugins.serve.context import Answer, DatasetToOpen, ServerContext, StreamedValues
from nczarr.plugins.serve.dataset_cache import CachedDataset, refuse_if_replaced
from nczarr.plugins.serve.pages.download import list_offered
from nczarr.plugins.serve.pages.markup import DAP2, DAP4, DOWNLOAD, OPENDAP, page
from nczarr.plugins.serve.pages.plane import ShownAxis, axis_at
from nczarr.plugins.serve.places import ServedPlace
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.value_streams import end_with_error, memory_for
from nczarr.semantics.checked import Checked

SUFFIXES = {
    DAP2: {".dds": "dds", ".das": "das", ".ver": "ver", ".dods": "dods", ".ascii": "ascii", ".asc": "ascii",
           ".html": "page", ".info": "page"},
    DAP4: {".dmr.xml": "dmr", ".dmr": "dmr", ".dap": "dap"},
}  # fmt: skip
"""Answers by the suffixes of URLs."""

DIGITS = 6
"""Approximate characters of text per byte of a number."""

DMR, DATA, ERROR = (f"application/vnd.opendap.dap4.{kind}" for kind in ("dataset-metadata+xml", "data", "error+xml"))


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/dap2/PATH.dods?CONSTRAINT` or `/dap4/PATH.dap?dap4.ce=CONSTRAINT`; `/dap2/PATH` by a form."""
    place, what = _place(context, asked)
    if what == "page":
        return HttpAnswer(b"", status=303, headers=(("Location", url(DAP2, *place.segments)),))
    opened = context.find_open(place, at_hand)
    if opened is None:
        return DatasetToOpen(place)
    with refuse_if_replaced(opened):
        if not what:
            return HttpAnswer(subset_form(opened, dap2_mapping(opened), asked.query, asked.place), HTML)
        try:
            if what == "dap":
                return context.stream_values(opened, _dap4_values(opened, asked))
            if what == "dmr":
                text = dap4.dmr(opened.checked, _projection(opened, asked), opened.place.segments[-1])
                document = HttpAnswer(text.encode("utf-8", "replace"), DMR, headers=_headers("4.0"))
                return conditional(document, asked.headers, opened.modified)
            return _answer_dap2(context, opened, dap2_mapping(opened), what, asked.constraint, asked)
        except ConstraintError as error:
            raise RefusedRequestError(400, str(error)) from None


def dap2_mapping(opened: CachedDataset) -> dap2.Mapping:
    """Return a dataset in DAP2; cached."""
    with opened.lock:
        mapped: dap2.Mapping | None = opened.views.get(DAP2)
        if mapped is None:
            mapped = opened.views[DAP2] = dap2_values.map_sendable(opened.checked, opened.place.segments[-1])
        return mapped


def _place(context: ServerContext, asked: Request) -> tuple[ServedPlace, str]:
    """Return the dataset of a URL, and what its suffix asks for; empty without one. Raises RefusedRequestError."""
    protocol, segments = asked.segments[0], asked.segments[1:]
    for suffix, what in SUFFIXES[protocol].items() if segments else ():
        if segments[-1].endswith(suffix) and segments[-1] != suffix:
            return context.dataset((*segments[:-1], segments[-1].removesuffix(suffix))), what
    if protocol == DAP4 and segments:
        raise RefusedRequestError(404, f"an URL ends in one of {', '.join(SUFFIXES[DAP4])}")
    return context.dataset(segments), ""


def _headers(version: str, description: str = "") -> tuple[tuple[str, str], ...]:
    described = (("Content-Description", description),) if description else ()
    return ("XDODS-Server", f"nczarr/{__version__}"), ("XDAP", version), *described


def answer_part(
    context: ServerContext, opened: CachedDataset, part: Checked, what: str, expression: str, asked: Request
) -> Answer:
    """Answer by a document or values of a dataset made of an open one. Raises RefusedRequestError, OSError."""
    try:
        mapped = dap2_values.map_sendable(part, opened.place.segments[-1])
        return _answer_dap2(context, opened, mapped, what, expression, asked)
    except ConstraintError as error:
        raise RefusedRequestError(400, str(error)) from None


def _answer_dap2(
    context: ServerContext, opened: CachedDataset, mapped: dap2.Mapping, what: str, expression: str, asked: Request
) -> Answer:
    """Answer by a document (`dds`, `das`, `ver`) or values (`dods`, `ascii`) of DAP2. Raises ConstraintError, OSError.

    `mapped`: the dataset, or a part of it, in DAP2; `expression`: the projection.
    """
    match what:
        case "dds":
            text = dap2.dds(mapped, dap2.select(mapped, expression))
        case "das":
            text = write_das(mapped)
        case "ver":
            text = f"Core version: DAP/2.0\nServer version: nczarr/{__version__}\n"
        case _:
            return context.stream_values(opened, _dap2_values(mapped, what, expression))
    headers = _headers("2.0", "" if what == "ver" else f"dods_{what}")
    document = HttpAnswer(text.encode("utf-8", "replace"), TEXT, headers=headers)
    return conditional(document, asked.headers, opened.modified)


def _dap2_values(mapped: dap2.Mapping, what: str, expression: str) -> StreamedValues:
    """Return the values that an expression selects. Raises ConstraintError."""
    as_text = what == "ascii"
    nodes = dap2.select(mapped, expression)
    size = dap2.size_of(nodes) * (DIGITS if as_text else 1)
    leaves = [leaf for node in nodes for leaf, _ in node.leaves()]
    return StreamedValues(
        _refusing((dap2_values.ascii_response if as_text else dap2_values.response)(mapped, nodes)),
        size,
        memory_for(mapped.checked, {leaf.fqn for leaf in leaves}, size),
        all(leaf.type != "string" for leaf in leaves),
        TEXT if as_text else BYTES,
        _headers("2.0", "dods_ascii" if as_text else "dods_data"),
    )


def _refusing(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces. Raises RefusedRequestError for values that the protocol lacks."""
    try:
        yield from pieces
    except (dap2_values.InexactError, dap2_values.UnprintableError) as error:
        raise RefusedRequestError(400, str(error)) from None


def _projection(opened: CachedDataset, asked: Request) -> Projection:
    if asked.query.get("dap4.function"):
        raise RefusedRequestError(400, "the server has no functions")
    return dap4.select(opened.checked, asked.query.get("dap4.ce", ""))


def _dap4_values(opened: CachedDataset, asked: Request) -> StreamedValues:
    """Return the values that a query selects. Raises ConstraintError, RefusedRequestError."""
    checked, projection = opened.checked, _projection(opened, asked)
    checksum = asked.query.get("dap4.checksum", "false").lower()
    if checksum not in ("true", "false"):
        raise RefusedRequestError(400, "`dap4.checksum` is `true` or `false`")
    size, name = dap4.size_of(checked, projection), opened.place.segments[-1]
    return StreamedValues(
        dap4.response(checked, projection, name, checksums=checksum == "true"),
        size,
        memory_for(checked, projection.variables, size),
        all(is_fixed(checked.variables[path].type, checked.types) for path in projection.variables),
        DATA,
        _headers("4.0"),
        _end_stream,
    )


def _end_stream(pieces: Iterator[bytes]) -> Iterator[bytes]:
    """Yield the pieces, which are whole chunks; after the first ones, an error ends them with an error chunk."""
    return end_with_error(pieces, lambda refusal: dap4.error_chunk(refusal.status, refusal.text))


def dap2_refusal(error: RefusedRequestError) -> HttpAnswer:
    """Return the error document of a refusal."""
    text, headers = dap2_values.error_document(error.status, error.text), _headers("2.0", "dods_error")
    return HttpAnswer(text.encode("utf-8", "replace"), TEXT, error.status, (*headers, *error.headers))


def dap4_refusal(error: RefusedRequestError) -> HttpAnswer:
    """Return the error document of a refusal."""
    text = dap4.error_document(error.status, error.text)
    return HttpAnswer(text.encode("utf-8", "replace"), ERROR, error.status, (*_headers("4.0"), *error.headers))


MOST_VARIABLES = 1000
"""Maximum variables to choose from."""

MOST_VALUES = 1_000_000
"""Length of a dimension above which ranges are those of indices."""

ROUNDING = 1e-6
"""Share of a step by which a value may be outside of a range, because texts of coordinates are rounded."""

DOWNLOADS = (".nc", ".csv")
"""Formats of files by suffix, if the server can make them."""


def subset_form(opened: CachedDataset, known: dap2.Mapping, query: Mapping[str, str], place: str) -> bytes:
    """Return the form. `known`: the dataset in DAP2; `place`: scheme and host. Raises RefusedRequestError, OSError."""
    name = query.get("var") or next(iter(known.nodes), "")
    name = name if name in known.nodes else known.spellings.get(unquote(name), name)
    if name not in known.nodes and query.get("var"):
        raise RefusedRequestError(400, f"there is no variable `{names.readable(name)}`")
    segments, values = opened.place.segments, dict[str, Any](sides=[], constraint="", downloads=[])
    if name in known.nodes:
        node = known.nodes[name]
        sides = [
            _choose_indices(opened, node.fqn, number, query) for number in range(len(opened.checked.shapes[node.fqn]))
        ]
        values = {"sides": sides, **_addresses(opened, node, sides)}
    return page(
        "subset.html",
        f"OPeNDAP: {segments[-1]}",
        scripts=("pages.js",),
        segments=segments,
        place=place,
        here=url(OPENDAP[0], *segments),
        variables=[(each, each) for each in list(known.nodes)[:MOST_VARIABLES]],
        name=name,
        **values,
    )


def _choose_indices(opened: CachedDataset, path: str, number: int, query: Mapping[str, str]) -> dict[str, Any]:
    """Return a dimension of a variable with the indices that a query chooses. Raises RefusedRequestError, OSError."""
    checked = opened.checked
    length = checked.shapes[path][number]
    is_long = length > MOST_VALUES  # its coordinates would take too long: it is chosen by index
    taken = range(0, length, length - 1) if is_long else range(length)
    axis = axis_at(checked, checked.variables[path].dimensions[number], taken, number)
    low, high = (_coordinate(axis, query.get(f"{word}{number}", "")) for word in ("from", "to"))
    step = query.get(f"step{number}", "").strip() or "1"
    if not step.isascii() or not step.isdigit() or not 0 < len(step) < 19 or not int(step):
        raise RefusedRequestError(400, f"the step along `{axis.title}` must be a number from 1 on")
    if is_long:
        first = 0 if low is None else int(max(0, low))
        last = length - 1 if high is None else int(min(length - 1, high))
        if first > last:
            raise RefusedRequestError(400, f"no index along axis {number} is in this range")
        title, ends, bounds = f"axis {number}, index", ("0", str(length - 1)), (str(first), str(last))
    else:
        first, last = _find_values(axis, low, high)
        title, ends, bounds = axis.title, (axis.text(0), axis.text(length - 1)), (axis.text(first), axis.text(last))
    chosen = range(first, last + 1, int(step))
    return {"title": title, "ends": ends, "bounds": bounds, "length": length, "chosen": chosen}


def _find_values(axis: ShownAxis, low: float | None, high: float | None) -> tuple[int, int]:
    """Return the first and last index of the coordinates between two values. Raises RefusedRequestError."""
    if low is not None and high is not None and low > high:
        low, high = high, low
    steps = np.abs(np.diff(axis.values))
    slack = ROUNDING * float(steps.min()) if len(steps) else 0.0
    least = -np.inf if low is None else low - slack
    most = np.inf if high is None else high + slack
    inside = np.flatnonzero((axis.values >= least) & (axis.values <= most))
    if not len(inside):
        raise RefusedRequestError(400, f"no value of `{axis.title}` is in this range")
    return int(inside[0]), int(inside[-1])


def _coordinate(axis: ShownAxis, words: str) -> float | None:
    """Return a coordinate that a client wrote: a number, or a date of times. Raises RefusedRequestError."""
    words, times = words.strip(), axis.physical.times
    if not words:
        return None
    try:
        with suppress(ValueError):
            if (value := float(words)) == value or times is None:
                return value
        if times is None:
            raise ValueError
        seconds = date(words, CALENDARS[(times.calendar or "").lower()])
        return float((seconds - times.start) / times.unit)
    except ValueError:
        wanted = "a date or number" if times is not None else "a number"
        raise RefusedRequestError(400, f"`{names.readable(words[:40])}` is not {wanted} along `{axis.title}`") from None


def _addresses(opened: CachedDataset, node: DdsNode, sides: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the constraint and the downloads of the chosen section."""
    chosen = [side["chosen"] for side in sides]
    axes = node.members[0].axes if node.kind == "grid" else node.axes
    slabs = "".join(f"[{each[0]}:{each.step}:{each[-1]}]" for each in chosen[: len(axes)])
    section = names.to_bytes(write_section(names.split(node.fqn), tuple(chosen)))
    base = url(DOWNLOAD, *opened.place.segments)
    downloads = [
        (title, f"{base}?{urlencode({'var': section, 'format': suffix[1:]})}")
        for suffix, (title, _) in list_offered().items()
        if suffix in DOWNLOADS
    ]
    return {"constraint": quote(node.name, safe="") + quote(slabs, safe=":"), "downloads": downloads}
