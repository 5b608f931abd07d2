"""Tables in the text formats of ERDDAP: CSV and TSV with and without units, JSON, JSON lines, HTML.

Values are texts already: numbers as they are written in all formats, times in ISO 8601. A missing number is `NaN` in
CSV and TSV, `null` in JSON.
"""

from __future__ import annotations

import csv
import html
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from nczarr import names
from nczarr.plugins.serve.answers import HTML, JSON, RefusedRequestError

Cell = str | None
"""A value; None: missing."""

Rows = Iterable[Sequence[Cell]]


class TableColumn(NamedTuple):
    """One column."""

    name: str
    type: str
    """Type in ERDDAP's words."""
    units: str = ""
    """Units; empty without any."""

    @property
    def is_text(self) -> bool:
        """True for texts, and times as texts."""
        return self.type == "String" or self.units == TIME


TIME = "UTC"
"""Units of times that are written as dates."""


class TextTable(NamedTuple):
    """A table."""

    columns: tuple[TableColumn, ...]
    """Columns in order."""
    blocks: Iterable[list[Sequence[Cell]]]
    """Rows, some at once."""
    with_units: bool = False
    """True for values, whose units are always written: clients skip their line."""


def _lines(rows: Rows, separator: str) -> bytes:
    """Return rows as lines; cells with separators, quotes or line ends are quoted."""
    out = io.StringIO()
    writer = csv.writer(out, delimiter=separator, lineterminator="\n")
    # ERDDAP writes missing numbers as NaN in CSV
    writer.writerows(["NaN" if cell is None else cell for cell in row] for row in rows)
    return out.getvalue().encode("utf-8", "replace")


def _make_separated(separator: str, head: str) -> Callable[[TextTable], Iterator[bytes]]:
    """Return a writer of lines. `head`: `both` names and units in two lines, `one` in one line, or `none`."""

    def write(table: TextTable) -> Iterator[bytes]:
        """Yield the lines."""
        columns = table.columns
        if head == "both":
            yield _lines([[column.name for column in columns]], separator)
            if table.with_units:
                yield _lines([[column.units for column in columns]], separator)
        elif head == "one":
            titles = [f"{column.name} ({column.units})" if column.units else column.name for column in columns]
            yield _lines([titles], separator)
        for block in table.blocks:
            yield _lines(block, separator)

    return write


def _json_cells(table: TextTable) -> Iterator[list[list[str]]]:
    """Yield the rows with their cells as JSON."""
    texts = [column.is_text for column in table.columns]
    for block in table.blocks:
        yield [
            [
                # ERDDAP writes missing values as null in JSON
                "null" if cell is None else json.dumps(cell) if is_text else cell
                for cell, is_text in zip(row, texts, strict=True)
            ]
            for row in block
        ]


def _json(table: TextTable) -> Iterator[bytes]:
    """Yield one JSON document."""
    columns = table.columns
    members = {
        "columnNames": [column.name for column in columns],
        "columnTypes": [column.type for column in columns],
    }
    if table.with_units:
        members["columnUnits"] = [column.units or None for column in columns]  # type: ignore[misc]
    head = "".join(f'    "{key}": {json.dumps(value)},\n' for key, value in members.items())
    yield f'{{\n  "table": {{\n{head}    "rows": ['.encode()
    before = "\n"
    for rows in _json_cells(table):
        if rows:
            yield (before + ",\n".join(f"      [{', '.join(row)}]" for row in rows)).encode()
            before = ",\n"
    yield b"\n    ]\n  }\n}\n"


def _json_lines(table: TextTable) -> Iterator[bytes]:
    """Yield an array in each line."""
    for rows in _json_cells(table):
        yield "".join(f"[{', '.join(row)}]\n" for row in rows).encode()


def _json_lines_with_names(table: TextTable) -> Iterator[bytes]:
    """Yield the names of the columns, then an array in each line."""
    yield (json.dumps([column.name for column in table.columns]) + "\n").encode()
    yield from _json_lines(table)


def _json_objects(table: TextTable) -> Iterator[bytes]:
    """Yield an object in each line."""
    keys = [json.dumps(column.name) for column in table.columns]
    for rows in _json_cells(table):
        lines = (", ".join(f"{key}:{cell}" for key, cell in zip(keys, row, strict=True)) for row in rows)
        yield "".join(f"{{{line}}}\n" for line in lines).encode()


def _html_row(tag: str, cells: Iterable[Cell]) -> str:
    shown = ("" if cell is None else html.escape(names.readable(cell)) for cell in cells)
    return "<tr>" + "".join(f"<{tag}>{text}</{tag}>" for text in shown) + "</tr>\n"


def _html(table: TextTable) -> Iterator[bytes]:
    """Yield a page with the table alone."""
    columns = table.columns
    yield b'<!DOCTYPE html>\n<html lang="en">\n<head><meta charset="utf-8"><title>Table</title></head>\n<body><table>\n'
    head = _html_row("th", (column.name for column in columns))
    yield f"<thead>{head}{_html_row('th', (column.units for column in columns))}</thead><tbody>\n".encode()
    for block in table.blocks:
        yield "".join(_html_row("td", row) for row in block).encode("utf-8", "replace")
    yield b"</tbody></table></body>\n</html>\n"


class TableFormat(NamedTuple):
    """One text format."""

    write: Callable[[TextTable], Iterator[bytes]]
    """Writer."""
    kind: str
    """Content type."""


CSV, TSV, LINES = "text/csv; charset=utf-8", "text/tab-separated-values; charset=utf-8", "application/jsonlines"

TABLES = {
    "csv": TableFormat(_make_separated(",", "both"), CSV),
    "csvp": TableFormat(_make_separated(",", "one"), CSV),  # ERDDAP: `name (units)` in one line
    "csv0": TableFormat(_make_separated(",", "none"), CSV),  # ERDDAP: no line of names
    "tsv": TableFormat(_make_separated("\t", "both"), TSV),
    "tsvp": TableFormat(_make_separated("\t", "one"), TSV),
    "tsv0": TableFormat(_make_separated("\t", "none"), TSV),
    "json": TableFormat(_json, JSON),
    "jsonlCSV": TableFormat(_json_lines, LINES),
    "jsonlCSV1": TableFormat(_json_lines_with_names, LINES),
    "jsonlKVP": TableFormat(_json_objects, LINES),
    "htmlTable": TableFormat(_html, HTML),
}
"""Formats by the suffix of URLs."""


def find_table_format(suffix: str) -> TableFormat:
    """Return the format of a suffix. Raises RefusedRequestError."""
    if suffix not in TABLES:
        text = f"`.{names.readable(suffix)}` is no type of table; there are {', '.join(TABLES)}"
        raise RefusedRequestError(404, text)
    return TABLES[suffix]
