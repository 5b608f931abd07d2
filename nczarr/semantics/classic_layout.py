"""Layout of a classic netCDF file, computed before it is written, and the check of its sizes.

Expects: a dataset of the classic model without anonymous dimensions. A file is
its header, the fixed variables in definition order, then the records. A record
has one part of every record variable in definition order. Every part begins at
a multiple of four bytes, except that the records of a lone record variable have
no gaps. Source: the netCDF file format specifications ("The NetCDF Classic
Format Specification", CDF-2, CDF-5).
"""

import math
from collections.abc import Iterator, Mapping

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Kind
from nczarr.ast.dataset import KIND_NAMES
from nczarr.diagnostics.report import Report, Span
from nczarr.names.records import NamedTuple
from nczarr.semantics.checked import Checked
from nczarr.semantics.infer_shapes import name_dimensions

CLASSIC_KINDS: tuple[Kind, ...] = ("nc3", "nc6", "nc5")
"""Kinds of classic file, from the narrowest to the widest."""


class Widths(NamedTuple):
    """Bytes of the numbers in a header."""

    length: int
    """Bytes of counts, lengths and sizes."""
    offset: int
    """Bytes of file offsets."""


WIDTHS: dict[Kind, Widths] = {"nc3": Widths(4, 4), "nc6": Widths(4, 8), "nc5": Widths(8, 8)}  # CDF-1, CDF-2, CDF-5
TAG = 4
"""Bytes of a list's tag, and of a type."""


class VariablePlace(NamedTuple):
    """Location of a variable in a file."""

    begin: int
    """Start of its values, or of those of the first record, in bytes."""
    size: int
    """Bytes of its values, or of one record of them."""
    padded: int
    """The size rounded up to four, the specification's `vsize`."""
    record: bool
    """True if the variable has records."""


class ClassicLayout(NamedTuple):
    """Layout of a whole file."""

    header: int
    """Size of the header in bytes, with the room after it."""
    places: Mapping[str, VariablePlace]
    """Location of each variable by FQN, in definition order."""
    records: int
    """Number of records."""
    record_begin: int
    """Start of the first record in bytes."""
    record_size: int
    """Distance of two records in bytes."""

    @property
    def end(self) -> int:
        """Size of the file."""
        return self.record_begin + self.records * self.record_size


def lay_out(checked: Checked, kind: Kind, room: int = 0) -> ClassicLayout:
    """Return the layout for one of `CLASSIC_KINDS`; `room`: bytes after the header that later edits may use.

    Raises KeyError for content that such a file cannot hold.
    """
    header = header_size(checked, kind) + pad(room)
    sizes: dict[str, tuple[int, bool]] = {}
    for path, variable in checked.variables.items():
        shape = checked.shapes[path]
        is_record = bool(variable.dimensions) and checked.dimensions[str(variable.dimensions[0])].unlimited
        lengths = shape[1:] if is_record else shape
        sizes[path] = math.prod(lengths) * ATOMIC[variable.type].size, is_record
    begins: dict[str, int] = {}
    at = header
    for of_records in (False, True):  # the specification stores all fixed variables before the records
        record_begin = at
        for path, (size, is_record) in sizes.items():
            if is_record is of_records:
                begins[path] = at
                at += pad(size)
    places = {
        path: VariablePlace(begins[path], size, pad(size), is_record) for path, (size, is_record) in sizes.items()
    }
    growing = [place for place in places.values() if place.record]
    records = next((item.size for item in checked.dimensions.values() if item.unlimited), 0)
    return ClassicLayout(header, places, records, record_begin, record_size([place.size for place in growing]))


def record_size(sizes: list[int]) -> int:
    """Return the bytes between records from those of each record variable; a lone one is not padded."""
    return sizes[0] if len(sizes) == 1 else sum(map(pad, sizes))  # the specification's note on padding


def pad(size: int) -> int:
    """Round up to a multiple of four."""
    return size + -size % 4


def header_size(checked: Checked, kind: Kind) -> int:
    """Return the bytes of the header: magic number, record count, lists of dimensions, attributes and variables."""
    count, offset = WIDTHS[kind]
    lists = 3 * (TAG + count)  # lists of dimensions, of global attributes and of variables
    dimensions = sum(_name_size(item.name, count) + count for item in checked.dataset.dimensions)
    total = 4 + count + lists + dimensions + _attributes_size(checked.dataset.attributes, count)  # 4: magic number
    for variable in checked.variables.values():
        total += _name_size(variable.name, count) + count + count * len(variable.dimensions)
        total += TAG + count + _attributes_size(variable.attributes, count)
        total += TAG + count + offset  # type, vsize and begin
    return total


def encode(name: str) -> bytes:
    """Return a name as stored: UTF-8 in NFC."""
    return names.normal(name).encode()  # the netCDF library stores names in NFC


def _name_size(name: str, count: int) -> int:
    return count + pad(len(encode(name)))


def _attributes_size(attributes: tuple[Attribute, ...], count: int) -> int:
    """Return the bytes of one owner's attributes, without the list head."""
    return sum(
        _name_size(item.name, count) + TAG + count + pad(item.value.count * ATOMIC[item.value.type].size)
        for item in attributes
    )


_LARGEST: dict[Kind, int] = {"nc3": 2**31 - 4, "nc6": 2**32 - 4, "nc5": 2**63 - 4}  # 2³¹ - 4: sizes were signed once
"""Maximum bytes of a variable, or of one record of it, unless it is last: the kind's largest multiple of four."""

_FARTHEST: dict[Kind, int] = {"nc3": 2**31 - 1, "nc6": 2**63 - 1, "nc5": 2**63 - 1}  # `begin` is signed in all kinds
"""Maximum start of a variable."""

_LONGEST = 2**63 - 4
"""Maximum dimension of CDF-5; `kinds.py` checks the other kinds."""

_RECORDS: dict[Kind, int] = {"nc3": 2**31 - 1, "nc6": 2**31 - 1, "nc5": 2**63 - 1}  # numrecs is signed in CDF-2 too
"""Maximum record count in a header (NON_NEG of the specification)."""


def check_sizes(checked: Checked, kind: Kind, report: Report, room: int = 0) -> None:
    """Report content too large for a file of this kind; nothing for other than classic kinds. `room`: as `lay_out`."""
    if kind not in CLASSIC_KINDS:
        return
    named = name_dimensions(checked)
    faults = list(find_problems(named, kind, room))
    if not faults:
        return
    wider_kinds = CLASSIC_KINDS[CLASSIC_KINDS.index(kind) + 1 :]
    possible = [wider for wider in wider_kinds if not any(find_problems(named, wider, room))]
    helps = [f"use --kind {' or '.join((*possible, 'nc4'))}"]
    for message, span in faults:
        text = f"{message}; the output format is {KIND_NAMES[kind]}"
        report.error("format-conflict", text, span, helps=helps)


def find_problems(checked: Checked, kind: Kind, room: int = 0) -> Iterator[tuple[str, Span]]:
    """Yield violations of limits in definition order: the message, and the place of the declaration."""
    layout = lay_out(checked, kind, room)  # a header's size depends on its kind
    for dimension in checked.dimensions.values():
        longest = _RECORDS[kind] if dimension.unlimited else _LONGEST
        if not dimension.unlimited and not dimension.size:  # length 0 in a header is the record dimension
            what = f"dimension `{dimension.name}` has length 0 and is not unlimited, which classic files cannot express"
            yield f"{what} (`nczarr edit` removes an unused one)", dimension.span
        elif dimension.size > longest:
            text = f"dimension `{dimension.name}` has length {dimension.size}; the limit is {longest}"
            yield text, dimension.span
    unbounded = _find_unbounded(layout)
    limits = {path: _LARGEST["nc5" if path == unbounded else kind] for path in layout.places}  # no `begin` follows it
    too_large = [path for path, place in layout.places.items() if place.size > limits[path]]
    for path in too_large:
        place = layout.places[path]
        what = f"{'one record of ' if place.record else ''}`{names.last(path)}` takes {place.size} bytes"
        why = "; the limit is" if path == unbounded else " and is not the last one; the limit is then"
        yield f"{what}{why} {limits[path]}", checked.variables[path].span
    if not too_large:  # an offset behind a variable that is too large says nothing new
        yield from _find_too_far(checked, layout, kind)


def _find_too_far(checked: Checked, layout: ClassicLayout, kind: Kind) -> Iterator[tuple[str, Span]]:
    """Yield the first variable beyond the kind's offsets, or else the end of the file."""
    far = [path for path, place in layout.places.items() if place.begin > _FARTHEST[kind]]
    if far:
        path = min(far, key=lambda path: layout.places[path].begin)
        begin, others = layout.places[path].begin, f", and {len(far) - 1} after it" if len(far) > 1 else ""
        text = f"`{names.last(path)}` would begin at byte {begin} of the file{others}; the limit is {_FARTHEST[kind]}"
        yield text, checked.variables[path].span
    elif layout.end > _FARTHEST["nc5"]:
        yield f"the file would have {layout.end} bytes; the limit is {_FARTHEST['nc5']}", checked.dataset.span


def _find_unbounded(layout: ClassicLayout) -> str | None:
    """Return the variable of unlimited size, because no header value depends on it.

    It is the last record variable, or without one the last fixed one.
    """
    growing = [path for path, place in layout.places.items() if place.record]
    return next(reversed(growing or list(layout.places)), None)  # records follow all fixed variables
