"""CDM Remote: answers to the `req=` queries of one dataset.

Long answers are made while they are sent. A section that does not fit its
variable, or that exceeds the answer limit, is refused before any value is read.
"""

from __future__ import annotations

from itertools import islice
from xml.sax.saxutils import quoteattr

from nczarr import names, ncstream
from nczarr.arrays.values.parts import is_fixed
from nczarr.diagnostics.report import CompileError, Report, suggest
from nczarr.options import Options
from nczarr.plugins.common import ncml_writer
from nczarr.plugins.common.section_text import write_section
from nczarr.plugins.serve.answers import BYTES, HTML, TEXT, XML, HttpAnswer, RefusedRequestError, conditional, words
from nczarr.plugins.serve.context import Answer, ServerContext, StreamedValues, of_dataset
from nczarr.plugins.serve.dataset_cache import CachedDataset
from nczarr.plugins.serve.pages.markup import CDMREMOTE, page
from nczarr.plugins.serve.request import Request, url
from nczarr.plugins.serve.resources import Limits
from nczarr.plugins.serve.value_streams import check_size, memory_for, size_of
from nczarr.semantics.checked import Checked

NCSTREAM = (("Content-Description", "ncstream"),)
"""Header by which clients recognise the protocol."""

MOST_VARIABLES = 2000
"""Maximum variables of the form."""

KNOWN = ("header", "data", "cdl", "ncml", "capabilities", "form")


def answer(context: ServerContext, asked: Request, at_hand: CachedDataset | None) -> Answer:
    """Answer `/cdmremote/PATH?req=…`; without a query, say that the protocol is there."""
    if not asked.query:
        context.dataset(asked.segments[1:])
        return HttpAnswer(b"", headers=NCSTREAM)
    return _query(context, asked, at_hand)


@of_dataset
def _query(context: ServerContext, asked: Request, opened: CachedDataset) -> Answer:
    """Answer a query. Raises RefusedRequestError, CompileError, OSError."""
    checked, location = opened.checked, asked.place + url(CDMREMOTE, *opened.place.segments)
    kind = TEXT
    match asked.query.get("req", "").lower():
        case "data":
            return context.stream_values(opened, _values(opened, asked, context))
        case "header":
            header = ncstream.header_message(checked, location=location)
            return conditional(HttpAnswer(header, BYTES, headers=NCSTREAM), asked.headers, opened.modified)
        case "cdl":
            text = write_header(opened.checked, opened.place.segments[-1], context.limits)
        case "ncml":
            text, kind = ncml_writer.text(checked, location), XML
        case "capabilities":
            text, kind = _capabilities(location), XML
        case "form":
            text, kind = _form(opened, location), HTML
        case _:
            raise RefusedRequestError(400, f"`req` must be one of {', '.join(KNOWN)}")
    return conditional(HttpAnswer(text.encode("utf-8", "surrogateescape"), kind), asked.headers, opened.modified)


def _capabilities(location: str) -> str:
    place = quoteattr(location)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f"<cdmRemoteCapabilities location={place}>\n  <featureDataset url={place} />\n</cdmRemoteCapabilities>\n"
    )


def write_header(checked: Checked, name: str, limits: Limits) -> str:
    """Return the declarations of a dataset as CDL; `name`: name of its file. Raises CompileError, OSError."""
    from nczarr.names import stem
    from nczarr.pipeline.phases import dump

    report = Report(limit=100)
    options = Options.of(
        header_only=True,
        allow_loss=frozenset({"all"}),
        name=checked.dataset.name or stem(name) or None,
        memory=limits.memory,
    )
    pieces = dump(checked, "cdl", report, options)
    if pieces is None or report.errors:
        raise CompileError(report.list_sorted())
    return b"".join(pieces).decode("utf-8", "surrogateescape")


def _values(opened: CachedDataset, asked: Request, context: ServerContext) -> StreamedValues:
    """Return the values of the sections that a query requests. Raises RefusedRequestError, OSError."""
    checked = opened.checked
    requested = parse_wanted(checked, asked.query.get("var", ""), context.root.home)
    sizes = [size_of(checked, fqn, ranges) for fqn, ranges in requested]
    check_size(sum(sizes), context.limits)
    deflate = _deflate(asked.query.get("deflate"))
    fixed = [is_fixed(checked.variables[fqn].type, checked.types) for fqn, _ in requested]
    needs = (
        memory_for(checked, [fqn], size, at_once=not is_numeric or deflate is not None)
        for (fqn, _), size, is_numeric in zip(requested, sizes, fixed, strict=True)
    )
    pieces = ncstream.data_messages(checked, requested, deflate=deflate)
    return StreamedValues(pieces, sum(sizes), max(needs), all(fixed), BYTES, NCSTREAM)


def parse_wanted(checked: Checked, spec: str, home: str) -> list[tuple[str, tuple[range, ...]]]:
    """Return the variables and index ranges of a `var` parameter; a member stands for its whole record.

    Raises RefusedRequestError for missing or invalid sections.
    """
    from nczarr.pipeline.select.sections import ranges_of
    from nczarr.pipeline.select.selection_syntax import sections

    report = Report(limit=20)
    if not spec.strip():
        raise RefusedRequestError(400, "`req=data` needs `var=`: sections of variables, with `;` between them")
    parsed = sections(spec, report, "var", members=True)
    requested: list[tuple[str, tuple[range, ...]]] = []
    for section in parsed:
        fqn = names.fqn(map(names.normal, section.path))
        if fqn not in checked.variables:
            hints = suggest(fqn, checked.variables)
            raise RefusedRequestError(400, "; ".join((f"there is no variable `{fqn}`", *hints)))
        if ncstream.is_sequence(checked, fqn):
            section = section._replace(extents=None)  # sections of sequences mean nothing
        ranges = ranges_of([(fqn, section)], checked, report)
        requested.append((fqn, ranges[fqn]))
    if report.errors or not requested:
        raise RefusedRequestError(400, words(report.list_sorted(), home) or "`var` does not name a variable")
    return requested


def _deflate(text: str | None) -> int | None:
    if text is None or text == "":
        return None
    if not (text.isascii() and text.isdigit() and len(text) == 1):
        raise RefusedRequestError(400, "`deflate` must be a digit, 0 to 9")
    return int(text)


def _form(opened: CachedDataset, location: str) -> str:
    """Return the CDM Remote form of a dataset. `location`: its URL."""
    checked, segments = opened.checked, opened.place.segments
    variables = [
        (write_section(names.split(fqn)), f"{variable.type} ({', '.join(map(str, checked.shapes[fqn]))})")
        for fqn, variable in islice(checked.variables.items(), MOST_VARIABLES)
    ]
    title, here = f"CDM Remote: {segments[-1]}", url(CDMREMOTE, *segments)
    return page("remote.html", title, segments=segments, location=location, here=here, variables=variables).decode()
