"""Writer of CDL: `Checked` → text in ncdump's layout; every value reads back exactly.

Output is produced in pieces; text and data are never held as a whole. In the
`data:` section, variables of rank 0 or 1 are one list; others have one line per
row of the last dimension, with braces for inner unlimited dimensions. Rows
start with two blanks even inside groups, as in ncdump. Differences from ncdump:
`docs/reference/formats/cdl.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.arrays.regions import first_of, linear_block, region_of
from nczarr.arrays.sources.source import ArraySource, Parts, fill_of, itemsize
from nczarr.arrays.values.parts import Types, is_fixed, part_tree
from nczarr.ast import Constant, Group, Variable
from nczarr.check.checked import Checked
from nczarr.check.infer_shapes import Anonymous
from nczarr.formats.cdl.spelling import identifier, quoted
from nczarr.formats.cdl.write.declarations import DeclarationPrinter, sayable
from nczarr.formats.cdl.write.value_texts import Stream, column, fold, is_word

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.plan.plans import StreamPlan


BATCH = 1 << 16
"""Values formatted at once; a sixteenth for types with nested values."""

LONG = 1 << 20
"""Fill elements after a variable's last value above which they are not printed."""

WHOLE = 1 << 26
"""Maximum elements of a variable printed in full because readers would fill with another value."""

_MARKS_ONLY_IF_ASKED = frozenset(("byte", "ubyte"))


@dataclass(frozen=True, slots=True)
class ValueRows:
    """Rows of a variable's values."""

    count: int
    """Number of rows."""
    width: int
    """Number of values in a row."""
    inner: tuple[int, ...]
    """Number of rows that each inner unlimited dimension spans."""
    last: int
    """Number of values in the last row; less than `width` if the rest of the array is fill."""

    def length(self, row: int) -> int:
        """Return the number of values to print in a row."""
        return self.last if row + 1 == self.count else self.width

    def opening(self, row: int) -> str:
        """Return the braces that open before a row."""
        return "{" * sum(row % span == 0 for span in self.inner)

    def closing(self, row: int) -> str:
        """Return the braces that close after a row."""
        return "}" * sum((row + 1) % span == 0 for span in self.inner)


def rows_of(shape: tuple[int, ...], unlimited: tuple[bool, ...]) -> ValueRows:
    """Return the rows of a variable with these dimensions."""
    if not shape:
        return ValueRows(1, 1, (), 1)
    inner = [math.prod(shape[axis:-1]) for axis in range(1, len(shape)) if unlimited[axis]]
    return ValueRows(math.prod(shape[:-1]), shape[-1], tuple(inner), shape[-1])


def shortened(checked: Checked, fqn: str, rows: ValueRows, parts: Parts | None, *, grows: bool) -> ValueRows:
    """Return the rows without excessive fill after the last value.

    Readers fill a short list, so nothing is lost unless the array's fill
    differs from its variable's; then rows are dropped only if too many.
    `grows`: the first dimension is unlimited, so its last row is needed. Only
    for single arrays without braces.
    """
    shape = checked.shapes[fqn]
    total = math.prod(shape)
    if total <= LONG or rows.inner or parts is None or set(parts) != {""}:
        return rows
    if total <= WHOLE and not filled_alike(checked, fqn, parts[""]):
        return rows
    block = linear_block(shape, BATCH)
    end = 0
    for index in parts[""].occupied(block):
        start = first_of(region_of(index, block, shape), shape)
        end = max(end, min(start + math.prod(block), total))
    row = math.prod(shape[1:])
    end = max(end, (shape[0] - 1) * row + 1 if grows else 1)
    if total - end < LONG:
        return rows
    count = -(-end // rows.width)
    return ValueRows(count, rows.width, (), end - (count - 1) * rows.width)


def filled_alike(checked: Checked, fqn: str, source: ArraySource) -> bool:
    """Return whether unwritten elements equal the fill that readers add to short lists."""
    unwritten, fill = fill_of(source), fill_bytes(checked.fills.get(fqn))
    if unwritten is None:
        unwritten = b"" if source.layout.dtype == "|O" else bytes(itemsize(source.layout.dtype))
    if checked.variables[fqn].type == "char" and fill is None:
        fill = b"\0"
    return unwritten == fill


def cut(checked: Checked, fqn: str, parts: Parts) -> bool:
    """Return whether omitted values would be read back as other values."""
    shape = checked.shapes[fqn]
    if math.prod(shape) <= WHOLE or set(parts) != {""} or filled_alike(checked, fqn, parts[""]):
        return False
    rows = _rows(checked, fqn, parts)
    return (rows.count - 1) * rows.width + rows.last < math.prod(shape)


def _unlimited(checked: Checked, fqn: str) -> tuple[bool, ...]:
    return tuple(
        not isinstance(reference, int) and checked.dimensions[reference].unlimited
        for reference in checked.variables[fqn].dimensions
    )


def _rows(checked: Checked, fqn: str, parts: Parts | None) -> ValueRows:
    unlimited = _unlimited(checked, fqn)
    whole = rows_of(checked.shapes[fqn], unlimited)
    return shortened(checked, fqn, whole, parts, grows=bool(unlimited) and unlimited[0])


def variable_data(checked: Checked, fqn: str, parts: Parts | None, indent: int) -> Iterator[str]:
    """Yield the statement of one variable after an empty line, in pieces; nothing if it has no elements.

    `parts`: None for a variable that is all fill.
    """
    variable, shape = checked.variables[fqn], checked.shapes[fqn]
    if 0 in shape:
        return
    unlimited = _unlimited(checked, fqn)
    rows = _rows(checked, fqn, parts)
    yield f"\n{' ' * indent} {identifier(variable.name)} =" + ("\n  " if len(shape) > 1 else " ")
    if variable.type == "char":
        texts = _char_rows(checked, fqn, parts, rows, last_grows=bool(unlimited) and unlimited[-1])
    else:
        start = 2 if len(shape) > 1 else len(variable.name.encode("utf-8", "surrogatepass")) + 4
        texts = _value_rows(checked, fqn, parts, rows, start + indent, indent)
    yield from texts
    yield " ;\n"


def fill_bytes(value: Constant | None) -> bytes | None:
    """Return one fill value as bytes, as `value_texts` compares them; None if missing or nested."""
    if value is None or value.count != 1:
        return None
    data = value.data
    if isinstance(data, bytes):
        return data
    return data[0] if isinstance(data[0], bytes) else None


def _marked(variable: Variable, checked: Checked, fqn: str) -> bytes | None:
    """Return the value printed as `_`; a type's default only if readers interpret it so."""
    asked = any(attribute.name == "_FillValue" for attribute in variable.attributes)
    plain = variable.type not in checked.types and variable.type not in _MARKS_ONLY_IF_ASKED
    return fill_bytes(checked.fills.get(fqn)) if asked or plain else None


def _value_rows(
    checked: Checked, fqn: str, parts: Parts | None, rows: ValueRows, start: int, indent: int
) -> Iterator[str]:
    """Yield all rows of a non-char variable in pieces."""
    variable, types = checked.variables[fqn], checked.types
    tree = part_tree(variable.type, types)
    values = None if parts is None else column(parts, tree, types, _marked(variable, checked, fqn))
    words = parts is None or is_word(variable.type, types)
    empty = _fill_text(variable.type, types)
    batch = BATCH if words else BATCH // 16
    # Whole rows in a batch where they fit; else a row in several pieces, the column carried on.
    together = max(1, batch // rows.width) if rows.last == rows.width else 1
    for first in range(0, rows.count, together):
        many = min(together, rows.count - first)
        if rows.width <= batch and rows.last == rows.width:
            texts = [empty] * (many * rows.width) if values is None else values(many * rows.width)
            yield _lines(texts, rows, first, many, start, indent, words=words)
            continue
        at = start
        pieces = [rows.opening(first)]
        width = rows.length(first)
        for done in range(0, width, batch):
            size = min(batch, width - done)
            texts = [empty] * size if values is None else values(size)
            text, at = fold(texts, at, indent, last=done + size == width, words=words)
            yield "".join(pieces) + text
            pieces = []
        yield rows.closing(first) + (",\n  " if first + 1 < rows.count else "")


def _lines(texts: list[str], rows: ValueRows, first: int, many: int, start: int, indent: int, *, words: bool) -> str:
    """Return a batch of whole rows."""
    lines = []
    for number in range(many):
        row = texts[number * rows.width : (number + 1) * rows.width]
        line = fold(row, start, indent, words=words)[0]
        if rows.inner:
            line = f"{rows.opening(first + number)}{line}{rows.closing(first + number)}"
        lines.append(line)
    return ",\n  ".join(lines) + (",\n  " if first + many < rows.count else "")


def _char_rows(checked: Checked, fqn: str, parts: Parts | None, rows: ValueRows, *, last_grows: bool) -> Iterator[str]:
    """Yield rows of chars, one string each, without trailing NULs, which readers add.

    NULs remain if the fill is another character, and in the first row along an
    unlimited last dimension, which determines its extent.
    """
    fill = fill_bytes(checked.fills.get(fqn)) or b"\0"
    stream = None if parts is None else Stream(parts[""])
    together = max(1, BATCH // rows.width) if rows.last == rows.width else 1
    for first in range(0, rows.count, together):
        many = min(together, rows.count - first)
        size = (many - 1) * rows.width + rows.length(first + many - 1)
        data = fill * size if stream is None else stream.take(size).tobytes()
        lines = []
        for number in range(many):
            row = data[number * rows.width : (number + 1) * rows.width]
            if fill == b"\0" and not (last_grows and first + number == 0):
                row = row.rstrip(b"\0")
            lines.append(rows.opening(first + number) + quoted(row) + rows.closing(first + number))
        yield ",\n  ".join(lines) + (",\n  " if first + many < rows.count else "")


def _fill_text(type_name: str, types: Types) -> str:
    """Return the text of one unwritten value."""
    return "{}" if type_name in types and not is_fixed(type_name, types) and hasattr(types[type_name], "base") else "_"


def extent_carriers(checked: Checked, printed: set[str]) -> list[str]:
    """Return all-fill variables that must be printed to determine the length of an unlimited dimension.

    For each such dimension, the smallest variable along it with a printable
    fill value.
    """
    determined = {reference for fqn in printed for reference in grown(checked, fqn)}
    chosen: list[str] = []
    for dimension, declared in checked.dimensions.items():
        if not declared.unlimited or not declared.size or dimension in determined:
            continue
        along = [fqn for fqn in checked.variables if dimension in grown(checked, fqn) and _has_mark(checked, fqn)]
        if not along:
            continue
        smallest = min(along, key=lambda fqn: math.prod(checked.shapes[fqn]))
        chosen.append(smallest)
        determined |= grown(checked, smallest)
    return chosen


def grown(checked: Checked, fqn: str) -> set[str]:
    """Return the unlimited dimensions whose lengths a variable's data determine."""
    if 0 in checked.shapes[fqn]:
        return set()
    references = (reference for reference in checked.variables[fqn].dimensions if isinstance(reference, str))
    return {reference for reference in references if checked.dimensions[reference].unlimited}


def _has_mark(checked: Checked, fqn: str) -> bool:
    variable = checked.variables[fqn]
    return checked.fills.get(fqn) is not None or variable.type not in checked.types


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the CDL of a planned dataset in pieces of UTF-8."""
    for piece in pieces(sayable(plan.checked)[0], options):
        yield piece.encode("utf-8", "surrogateescape")


def pieces(checked: Checked, options: Options) -> Iterator[str]:
    """Yield the CDL of a dataset that CDL can represent (`sayable`). Uses the options that are ncdump flags.

    With `special`, storage and kind are written as special attributes.
    """
    name = checked.dataset.name if options.name is None else options.name
    yield f"netcdf {dataset_name(name)} {{\n"
    yield from _Printer(checked, options).group("/", checked.dataset, 0)
    yield "}\n"


def dataset_name(name: str) -> str:
    """Return the dataset name for CDL; characters that would end it or be dropped become `_`."""
    return "".join("_" if character <= " " or character in "{}\x7f" else character for character in name)


class _Printer:
    """State of one run over the tree."""

    def __init__(self, checked: Checked, options: Options) -> None:
        self._checked = checked
        self._header = DeclarationPrinter(checked, Anonymous(checked), special=options.special)
        self._with_data = not options.header_only
        self._printed = printed(checked, options)

    def group(self, path: str, group: Group, depth: int) -> Iterator[str]:
        """Yield the content of a group: declarations, data, subgroups."""
        indent = "  " * depth
        yield "".join(self._header.lines(path, group, indent))
        if group.variables and self._with_data:
            yield f"{indent}data:\n"
            for variable in group.variables:
                fqn = names.join(path, variable.name)
                if fqn in self._printed:
                    yield from variable_data(self._checked, fqn, self._checked.parts.get(fqn), len(indent))
        for child in group.groups:
            written = identifier(child.name)
            yield f"\n{indent}group: {written} {{\n"
            yield from self.group(names.join(path, child.name), child, depth + 1)
            yield f"{indent}  }} // group {written}\n"


def printed(checked: Checked, options: Options) -> set[str]:
    """Return the variables to print: the requested ones with data, and those that determine a dimension's length."""
    if options.header_only:
        return set()
    chosen = {fqn for fqn in checked.parts if _wanted(checked, fqn, options)}
    return chosen | set(extent_carriers(checked, chosen))


def _wanted(checked: Checked, fqn: str, options: Options) -> bool:
    """Return whether the options select a variable's data (ncdump's -c, -v, -g)."""
    name, group = names.last(fqn), names.parent(fqn)
    if options.coordinates_only and not _is_coordinate(checked, name, group):
        return False
    if options.variables and name not in options.variables and fqn not in options.variables:
        return False
    if not options.groups:
        return True
    return any(group_name in (group, names.last(group) if group != "/" else "/") for group_name in options.groups)


def _is_coordinate(checked: Checked, name: str, group: str) -> bool:
    """Return whether a variable has the name of a dimension in scope."""
    while (fqn := names.join(group, name)) not in checked.dimensions and group != "/":
        group = names.parent(group)
    return fqn in checked.dimensions
