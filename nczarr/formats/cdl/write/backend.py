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

from nczarr import names
from nczarr.arrays.regions import linear_block, number_of_first, region_of
from nczarr.arrays.sources.source import Parts, fill_of, itemsize
from nczarr.arrays.values.parts import Types, is_fixed, part_tree
from nczarr.ast import CompoundType, Constant, Group, VlenType
from nczarr.diagnostics.report import Report
from nczarr.formats.cdl.spelling import identifier, quote
from nczarr.formats.cdl.write.declarations import DeclarationPrinter, drop_unspellable
from nczarr.formats.cdl.write.value_texts import Stream, column, fold, is_word
from nczarr.options import Options, TextOptions
from nczarr.plan.plans import StreamPlan
from nczarr.semantics.check_types import default_fill, mark_of
from nczarr.semantics.checked import Checked, whole_parts
from nczarr.semantics.infer_shapes import Anonymous

BATCH = 1 << 16
"""Values formatted at once; a sixteenth for types with nested values."""

MOST_FILL_AT_END = 1 << 20
"""Fill elements after a variable's last value above which they are not printed."""

MOST_IN_FULL = 1 << 26
"""Maximum elements of a variable printed in full because readers would fill with another value."""

_MARKS_ONLY_IF_ASKED = frozenset(("byte", "ubyte"))  # ncdump marks bytes only with an explicit `_FillValue`


class _ValuePrinter:
    """Values of one variable in rows. `parts`: None for a variable that is all fill.

    `inner`: number of rows that each inner unlimited dimension spans. `last_line_width`:
    number of values in the last row, less than `width` if the rest is fill.
    """

    def __init__(self, checked: Checked, fqn: str, parts: Parts | None) -> None:
        """Prepare lines, one for each row of the last dimension; leave out fill values at the end that readers add."""
        self.variable = checked.variables[fqn]
        self.types = checked.types
        self.parts = parts
        self.shape = checked.shapes[fqn]
        self.fill = fill_bytes(checked.fills.get(fqn))
        self.mark = mark_of(self.variable, checked.types)
        shape = self.shape or (1,)
        self.unlimited = tuple(
            not isinstance(reference, int) and checked.dimensions[reference].unlimited
            for reference in self.variable.dimensions
        )
        self.line_count = math.prod(shape[:-1])
        self.width = self.last_line_width = shape[-1]
        self.inner = [math.prod(shape[axis:-1]) for axis in range(1, len(shape)) if self.unlimited[axis]]
        self._leave_out_fill(math.prod(shape))

    def _leave_out_fill(self, element_count: int) -> None:
        """Leave out excessive fill after the last value.

        Readers fill a short list, so nothing is lost unless the array's fill
        differs from its variable's; then rows are dropped only if too many. Of
        an unlimited first dimension, the last row is needed. Only for single
        arrays without braces.
        """
        if element_count <= MOST_FILL_AT_END or self.inner or self.parts is None or set(self.parts) != {""}:
            return
        if element_count <= MOST_IN_FULL and not self.fills_alike():
            return
        block_shape = linear_block(self.shape, BATCH)
        end = 0
        for index in self.parts[""].list_occupied(block_shape):
            start = number_of_first(region_of(index, block_shape, self.shape), self.shape)
            end = max(end, min(start + math.prod(block_shape), element_count))
        row_length = math.prod(self.shape[1:])
        # The first value of the last row states the length of an unlimited dimension; no list is empty.
        end = max(end, (self.shape[0] - 1) * row_length + 1 if self.unlimited[0] else 1)
        if element_count - end >= MOST_FILL_AT_END:
            self.line_count = -(-end // self.width)
            self.last_line_width = end - (self.line_count - 1) * self.width

    def fills_alike(self) -> bool:
        """Return whether unwritten elements of the array equal the fill that readers add to short lists."""
        assert self.parts is not None
        unwritten, fill, dtype = fill_of(self.parts[""]), self.fill, self.parts[""].layout.dtype
        if unwritten is None:
            unwritten = b"" if dtype == "|O" else bytes(itemsize(dtype))
        return unwritten == (b"\0" if self.variable.type == "char" and fill is None else fill)

    def text(self, indent: int) -> Iterator[str]:
        """Yield the statement of the variable after an empty line, in pieces; nothing if it has no elements."""
        name, lies_flat = self.variable.name, len(self.shape) <= 1
        if 0 in self.shape:  # ncdump leaves such a variable out of `data:`
            return
        yield f"\n{' ' * indent} {identifier(name)} =" + (" " if lies_flat else "\n  ")
        start = len(name.encode("utf-8", "surrogatepass")) + 4 if lies_flat else 2  # as ncdump: the unescaped name + 4
        yield from self._chars() if self.variable.type == "char" else self._others(start + indent, indent)
        yield " ;\n"

    def _opening(self, row: int) -> str:
        return "{" * sum(row % span == 0 for span in self.inner)

    def _closing(self, row: int) -> str:
        return "}" * sum((row + 1) % span == 0 for span in self.inner)

    def _batches(self, size: int) -> Iterator[tuple[range, int, str]]:
        """Yield rows for about `size` values, the number of their values, and the text between them and the next."""
        together = max(1, size // self.width) if self.last_line_width == self.width else 1
        for first in range(0, self.line_count, together):
            end = min(first + together, self.line_count)
            count = (end - first) * self.width - (self.width - self.last_line_width if end == self.line_count else 0)
            yield range(first, end), count, ",\n  " if end < self.line_count else ""

    def _others(self, start: int, indent: int) -> Iterator[str]:
        """Yield all rows of a variable that is not of chars."""
        tree = part_tree(self.variable.type, self.types)
        values = None if self.parts is None else column(self.parts, tree, self.types, self._find_mark())
        words = self.parts is None or is_word(self.variable.type, self.types)
        empty = _fill_text(self.variable.type, self.types)
        batch = BATCH if words else BATCH // 16
        # Whole rows in a batch where they fit; else a row in several pieces, the column carried on.
        for rows, count, between in self._batches(batch):
            if self.width <= batch and self.last_line_width == self.width:
                texts = [empty] * count if values is None else values(count)
                yield self._lines(texts, rows, start, indent, words=words) + between
                continue
            at = start
            pieces = [self._opening(rows[0])]
            for done in range(0, count, batch):
                size = min(batch, count - done)
                texts = [empty] * size if values is None else values(size)
                text, at = fold(texts, at, indent, last=done + size == count, words=words)
                yield "".join(pieces) + text
                pieces = []
            yield self._closing(rows[0]) + between

    def _lines(self, texts: list[str], rows: range, start: int, indent: int, *, words: bool) -> str:
        """Return a batch of whole rows."""
        lines = []
        for at, row in enumerate(rows):
            line = fold(texts[at * self.width : (at + 1) * self.width], start, indent, words=words)[0]
            lines.append(f"{self._opening(row)}{line}{self._closing(row)}" if self.inner else line)
        return ",\n  ".join(lines)

    def _find_mark(self) -> bytes | None:
        """Return the value printed as `_`; a type's default only if readers interpret it so."""
        asked = any(attribute.name == "_FillValue" for attribute in self.variable.attributes)
        plain = self.variable.type not in self.types and self.variable.type not in _MARKS_ONLY_IF_ASKED
        return fill_bytes(self.mark) if asked or plain else None

    def _chars(self) -> Iterator[str]:
        """Yield rows of chars, one string each, without trailing NULs, which readers add.

        NULs remain if the fill is another character, and in the first row along
        an unlimited last dimension, which determines its extent.
        """
        fill, last_grows = self.fill or b"\0", bool(self.unlimited) and self.unlimited[-1]
        stream = None if self.parts is None else Stream(self.parts[""])
        for rows, count, between in self._batches(BATCH):
            data = fill * count if stream is None else stream.take(count).tobytes()
            lines = []
            for at, row in enumerate(rows):
                text = data[at * self.width : (at + 1) * self.width]
                if fill == b"\0" and not (last_grows and row == 0):
                    text = text.rstrip(b"\0")
                lines.append(self._opening(row) + quote(text) + self._closing(row))
            yield ",\n  ".join(lines) + between


def loses_values(checked: Checked, fqn: str, parts: Parts) -> bool:
    """Return whether omitted values would be read back as other values."""
    total = math.prod(checked.shapes[fqn])
    if total <= MOST_IN_FULL or set(parts) != {""}:
        return False
    values = _ValuePrinter(checked, fqn, parts)
    return not values.fills_alike() and (values.line_count - 1) * values.width + values.last_line_width < total


def fill_bytes(value: Constant | None) -> bytes | None:
    """Return one fill value as bytes, as `value_texts` compares them; None if missing or nested."""
    if value is None or value.count != 1:
        return None
    data = value.data
    if isinstance(data, bytes):
        return data
    return data[0] if isinstance(data[0], bytes) else None


def _fill_text(type_name: str, types: Types) -> str:
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
        along = [fqn for fqn in checked.variables if dimension in grown(checked, fqn) and _has_text(checked, fqn)]
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


def _has_text(checked: Checked, fqn: str) -> bool:
    """Return whether CDL has a text for the unwritten cells of a variable; most enums have no such constant."""
    if _is_marked(checked, fqn):
        return True
    variable = checked.variables[fqn]
    is_made = isinstance(checked.types.get(variable.type), CompoundType | VlenType)
    return is_made and mark_of(variable, checked.types) is not None  # then its enums have the constant 0


def _is_marked(checked: Checked, fqn: str) -> bool:
    """Return whether `_`, of a list `{}`, means an unwritten cell of a variable."""
    variable = checked.variables[fqn]
    if isinstance(checked.types.get(variable.type), VlenType):
        return default_fill(variable.type, checked.types) == checked.fills[fqn]
    return mark_of(variable, checked.types) == checked.fills[fqn]


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the CDL of a planned dataset in pieces of UTF-8."""
    for piece in pieces(drop_unspellable(plan.checked)[0], options.text):
        yield piece.encode("utf-8", "surrogateescape")


def pieces(checked: Checked, text: TextOptions) -> Iterator[str]:
    """Yield the CDL of a dataset that CDL can represent (`drop_unspellable`). Uses the options that are ncdump flags.

    With `special`, storage and kind are written as special attributes.
    """
    name = checked.dataset.name if text.name is None else text.name
    yield f"netcdf {dataset_name(name)} {{\n"
    yield from _Printer(checked, text).group("/", checked.dataset, 0)
    yield "}\n"


def dataset_name(name: str) -> str:
    """Return the dataset name for CDL; characters that would end it or be dropped become `_`."""
    return "".join("_" if character <= " " or character in "{}\x7f" else character for character in name)


class _Printer:
    """State of one run over the tree."""

    def __init__(self, checked: Checked, text: TextOptions) -> None:
        self._checked = checked
        self._header = DeclarationPrinter(checked, Anonymous(checked), special=text.special)
        self._with_data = not text.header_only
        self._printed = list_printed(checked, text)

    def group(self, path: str, group: Group, depth: int) -> Iterator[str]:
        """Yield the content of a group: declarations, data, subgroups."""
        indent = "  " * depth
        yield "".join(self._header.lines(path, group, indent))
        if group.variables and self._with_data:
            yield f"{indent}data:\n"
            for variable in group.variables:
                fqn = names.join(path, variable.name)
                if fqn in self._printed:
                    parts = self._checked.parts.get(fqn)
                    if parts is None and not _is_marked(self._checked, fqn):
                        parts = whole_parts(self._checked, fqn)
                    yield from _ValuePrinter(self._checked, fqn, parts).text(len(indent))
        for child in group.groups:
            written = identifier(child.name)
            yield f"\n{indent}group: {written} {{\n"
            yield from self.group(names.join(path, child.name), child, depth + 1)
            yield f"{indent}  }} // group {written}\n"


def list_printed(checked: Checked, text: TextOptions) -> set[str]:
    """Return the variables to print: the requested ones with data, and those that determine a dimension's length."""
    if text.header_only:
        return set()
    chosen = {fqn for fqn in checked.parts if _is_wanted(checked, fqn, text)}
    return chosen | set(extent_carriers(checked, chosen))


def _is_wanted(checked: Checked, fqn: str, text: TextOptions) -> bool:
    """Return whether the options select a variable's data (ncdump's -c, -v, -g)."""
    name, group = names.last(fqn), names.parent(fqn)
    if text.coordinates_only and not _is_coordinate(checked, name, group):
        return False
    if text.variables and name not in text.variables and fqn not in text.variables:
        return False
    if not text.groups:
        return True
    return any(group_name in (group, names.last(group) if group != "/" else "/") for group_name in text.groups)


def _is_coordinate(checked: Checked, name: str, group: str) -> bool:
    """Return whether a variable has the name of a dimension in scope."""
    while (fqn := names.join(group, name)) not in checked.dimensions and group != "/":
        group = names.parent(group)
    return fqn in checked.dimensions
