"""`nczarr info SRC…`: facts about datasets on one screen or as JSON, forms of plugins, or a checksum of a store."""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from nczarr.cli import write_product
from nczarr.cli.options import options_of, standard_input
from nczarr.cli.parser import Command
from nczarr.cli.shared import Messages
from nczarr.diagnostics.report import UNREAD, Source
from nczarr.diagnostics.secrets import show
from nczarr.names.plugin_index import list_own
from nczarr.options import ARGUMENTS, TEXT
from nczarr.registry import label_format, load

if TYPE_CHECKING:
    from nczarr.pipeline.info import CoordinateFacts, DatasetFacts, VariableFacts

EXAMPLES = (("see sizes, chunks, times with their gaps, and the cost of opening", "info ocean.nc"),)

MOST_GAPS = 3
"""Gaps of a coordinate that are printed."""

SHORTEST = 8
"""Characters of a column that is not cut."""

MOST_WARNINGS = 10
"""Warnings that are printed."""


def parser() -> Command:
    """Return the parser of `info`."""
    forms = list_own("fact_form")
    subparser = Command(
        "info",
        "[OPTION]… SRC…",
        "Print what a person wants to know of a dataset first: sizes, coordinates with ranges and gaps, chunks, "
        "codecs, missing chunks, the cost of opening it by ranges, and warnings of check.",
        (*EXAMPLES, *(form.example for form in forms.values())),
    )
    subparser.option(ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL; - is standard input")
    subparser.option(TEXT, "--json", action="store_true", help="print one JSON object for each source")
    for name, form in forms.items():
        subparser.option(TEXT, f"--{name}", action="store_true", help=form.help)
    subparser.option(
        TEXT,
        "--checksum",
        choices=("zarr",),
        help="print the checksum of a store's files as DANDI computes it: MD5-FILES--BYTES",
    )
    return subparser.complete()


def run(arguments: argparse.Namespace) -> int:
    """Print the facts about each source; return the worst status."""
    messages = Messages(arguments)
    return messages.guard(*(partial(_print_facts, arguments, messages, path) for path in arguments.sources))


def _print_facts(arguments: argparse.Namespace, messages: Messages, path: str) -> None:
    """Print the facts about one source. Raises OSError, CompileError."""
    from nczarr.pipeline.info import InfoRequest, collect_facts

    report, options = messages.report, options_of(arguments, allow_loss=UNREAD)
    if arguments.checksum:
        _print_checksum(path, messages, options)
        return
    content = standard_input() if path == "-" else None
    informed = collect_facts(InfoRequest(path, content, arguments.form, options), report)
    if len(arguments.sources) > 1:
        report.annotate(f"of `{show(path)}`")
    if informed is None:
        return
    facts = informed.facts
    form = next((form for name, form in list_own("fact_form").items() if getattr(arguments, name)), None)
    if form is not None:
        lines = [_json(load(form.function)(facts, informed.checked, informed.is_store))]
    else:
        lines = [_json(facts.record())] if arguments.json else list(_text_lines(facts))
    write_product(f"{line}\n".encode("utf-8", "surrogateescape") for line in lines)


def _print_checksum(path: str, messages: Messages, options: Any) -> None:
    """Print the checksum of a store. Reports unknown-format for files."""
    from nczarr.pipeline import endpoints
    from nczarr.pipeline.zarr_checksum import compute_checksum

    store = endpoints.open_source(path, messages.report, options)
    if isinstance(store, Source):
        messages.report.error("unknown-format", f"`{show(path)}` is a file, and a checksum is that of a store's files")
    elif store is not None:
        write_product([f"{compute_checksum(store)}  {path}\n".encode("utf-8", "surrogateescape")])


def _json(record: Any) -> str:
    return json.dumps(record, ensure_ascii=True, allow_nan=False)


def _text_lines(facts: DatasetFacts) -> Iterator[str]:
    from nczarr.arrays.execution.counts import bytes_text
    from nczarr.diagnostics.render import visible
    from nczarr.names import readable

    sizes = bytes_text(facts.size)
    if facts.stored is not None and facts.stored != facts.size:
        sizes = f"{bytes_text(facts.stored)} for {sizes} of values{_ratio(facts.size, facts.stored)}"
    kind = f", {facts.kind}" if facts.kind else ""
    yield f"{show(facts.path)}: {label_format(facts.format)}{kind}, {sizes}"
    if facts.title:
        yield f"  {visible(facts.title)}"
    axes = (
        f"{visible(readable(path.lstrip('/')))} {length}{' (unlimited)' if grows else ''}"
        for path, (length, grows) in facts.dimensions.items()
    )
    yield from _fold("dimensions", list(axes))
    if facts.groups:
        yield f"groups      {facts.groups}"
    if facts.opening is not None:
        requests, received = facts.opening
        yield f"opening     {requests} request{'s' * (requests != 1)} by ranges, {bytes_text(received)}"
    if facts.coordinates:
        yield "coordinates"
        width = max(len(readable(entry.path.lstrip("/"))) for entry in facts.coordinates)
        for coordinate in facts.coordinates:
            yield from _format_coordinate(coordinate, min(width, 24))
    if facts.variables:
        yield from _variable_table(facts.variables)
    if facts.warnings:
        yield "warnings"
        yield from (f"  {visible(warning)}" for warning in facts.warnings[:MOST_WARNINGS])
        if len(facts.warnings) > MOST_WARNINGS:
            yield f"  and {len(facts.warnings) - MOST_WARNINGS} more: `nczarr check --for cloud`"


def _ratio(size: int, stored: int) -> str:
    return f" ({size / stored:.1f}:1)" if size >= 1.05 * stored > 0 else ""


def _fold(title: str, words: list[str]) -> Iterator[str]:
    """Yield words behind a title, in lines of at most 80 characters."""
    line = f"{title:<12}"
    for number, word in enumerate(words):
        word += "," if number < len(words) - 1 else ""
        if len(line) + len(word) > 80 and line.strip():
            yield line.rstrip()
            line = " " * 12
        line += word + " "
    if words:
        yield line.rstrip()


def _format_coordinate(coordinate: CoordinateFacts, width: int) -> Iterator[str]:
    """Yield the lines of a coordinate, such as `lat  3 values: 10 to 30, step 10 degrees_north`."""
    from nczarr.diagnostics.render import visible
    from nczarr.names import readable

    values, name = coordinate.values, readable(coordinate.path.lstrip("/"))
    words = f"{values.first} to {values.last}" if coordinate.length > 1 else values.first
    if coordinate.problem:
        words = coordinate.problem
    elif not coordinate.length:
        words = "no values"
    if values.step:
        words += f", {'' if values.step.startswith(('not', 'has')) else 'step '}{values.step}"
    units = f" {coordinate.units}" if coordinate.units and " since " not in coordinate.units else ""
    yield visible(f"  {name:<{width}}  {coordinate.length} value{'s' * (coordinate.length != 1)}: {words}{units}")
    for gap in values.gaps[:MOST_GAPS]:
        yield f"  {'':<{width}}  gap: {gap}"
    if len(values.gaps) > MOST_GAPS:
        yield f"  {'':<{width}}  and {len(values.gaps) - MOST_GAPS} more gaps"


def _variable_table(variables: tuple[VariableFacts, ...]) -> Iterator[str]:
    """Yield a line for each variable, in columns; on a terminal, the widest ones are cut so that lines fit it."""
    from nczarr.arrays.execution.counts import bytes_text
    from nczarr.diagnostics.render import visible
    from nczarr.names import readable

    rows = [("variable", "type", "dimensions", "chunks", "codecs", "size")]
    for variable in variables:
        size = "" if variable.size is None else bytes_text(variable.size)
        if variable.stored not in (None, variable.size):
            assert variable.stored is not None
            of_size = f" of {size}{_ratio(variable.size or 0, variable.stored)}" if size else ""
            size = f"{bytes_text(variable.stored)}{of_size}"
        chunks = _times(variable.chunks or ()) + (f" in {_times(variable.shards)}" if variable.shards else "")
        name, type_name = readable(variable.path.lstrip("/")), readable(variable.type)
        axes = ", ".join(map(readable, variable.dimensions))
        rows.append((name, type_name, axes, chunks, " ".join(variable.codecs), size))
    used = [column for column in range(len(rows[0])) if any(row[column] for row in rows[1:])]
    widths = [max(len(row[column]) for row in rows) for column in used]
    room = max(80, min(120, shutil.get_terminal_size((80, 24)).columns)) - 2 if sys.stdout.isatty() else sys.maxsize
    while sum(widths) + 2 * (len(widths) - 1) > room and max(widths) > SHORTEST:
        widths[widths.index(max(widths))] -= 1
    for row in rows:
        cells = (_cut(visible(row[column]), width).ljust(width) for column, width in zip(used, widths, strict=True))
        yield f"  {'  '.join(cells)}".rstrip()
    for variable in variables:
        if variable.missing:
            share = f"{variable.missing:,} of {variable.grid:,}"
            yield _cut(f"  {visible(readable(variable.path.lstrip('/')))}: {share} chunks missing", room)


def _times(lengths: tuple[int, ...]) -> str:
    return "×".join(map(str, lengths))


def _cut(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"
