"""Reader of classic headers: bytes → `ClassicHeader`, with offsets.

Invariant: allocations never exceed the available bytes: every count is first
compared with the minimum size of its entries. Source: the netCDF file format
specifications.
"""

import math

from nczarr.ast import ATOMIC, Kind
from nczarr.ast.dataset import KIND_NAMES
from nczarr.ast.values import swap
from nczarr.diagnostics.report import Buffer
from nczarr.formats.netcdf3.wire import ABSENT, ATTRIBUTE, DIMENSION, MAGIC, TYPE_NAMES, TYPES, VARIABLE
from nczarr.names.records import NamedTuple
from nczarr.semantics.classic_layout import TAG, WIDTHS, pad
from nczarr.semantics.infer_shapes import MAX_RANK

FIRST_OF_CDF5 = TYPES["ubyte"]
"""First type number that only CDF-5 has."""

_KINDS: dict[bytes, Kind] = {magic: kind for kind, magic in MAGIC.items()}  # the specification's byte: 1, 2 or 5
_LISTS = {DIMENSION: "dimensions", VARIABLE: "variables", ATTRIBUTE: "attributes"}


class BadHeaderError(Exception):
    """An invalid header: code and message of a diagnostic, and the faulty bytes."""

    def __init__(self, code: str, message: str, start: int, end: int) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.start = start
        self.end = end


class FileExtent(NamedTuple):
    """Byte range of the file, for diagnostics."""

    start: int
    """First byte."""
    end: int
    """Byte after the last."""


class DimensionEntry(NamedTuple):
    """A dimension in the header."""

    name: str
    length: int
    """Length; 0 marks the record dimension."""
    extent: FileExtent
    """Its bytes in the header."""


class AttributeEntry(NamedTuple):
    """An attribute in the header."""

    name: str
    type: str
    """Type of the values."""
    length: int
    """Number of values."""
    data: bytes
    """Values, little-endian, without padding."""
    extent: FileExtent
    """Its bytes in the header."""


class VariableEntry(NamedTuple):
    """A variable in the header."""

    name: str
    type: str
    """Type of the values."""
    dimensions: tuple[int, ...]
    """Numbers of its dimensions."""
    attributes: tuple[AttributeEntry, ...]
    vsize: int
    """Declared size in bytes."""
    begin: int
    """Offset of its values in bytes."""
    extent: FileExtent
    """Its bytes in the header."""
    vsize_at: int
    """Position of `vsize` in the file."""
    begin_at: int
    """Position of `begin` in the file."""


class ClassicHeader(NamedTuple):
    """Header of a file."""

    kind: Kind
    """Kind of netCDF file."""
    records: int | None
    """Number of records; None if the file size determines it."""
    records_at: FileExtent
    """Position of the number of records."""
    dimensions: tuple[DimensionEntry, ...]
    """Dimensions in order."""
    attributes: tuple[AttributeEntry, ...]
    """Global attributes in order."""
    variables: tuple[VariableEntry, ...]
    """Variables in order."""
    size: int
    """Size of the header in bytes."""


def read_header(data: Buffer) -> ClassicHeader:
    """Return the header at the start of a file. Raises BadHeaderError."""
    magic = bytes(data[:4])
    kind = _KINDS.get(magic)
    if kind is None:
        if magic[:3] != b"CDF":
            raise BadHeaderError("bad-header", "a classic netCDF file begins with the letters CDF", 0, len(magic))
        if len(magic) < 4:
            raise BadHeaderError("truncated-header", "the file ends within its magic number", 0, len(magic))
        text = f"version {magic[3]} of the classic format is unknown (known: 1, 2 and 5)"
        raise BadHeaderError("bad-header", text, 3, 4)
    return _HeaderReader(data, kind).header()


class _HeaderReader:
    """One sequential pass; `_at` is the offset of the next byte."""

    def __init__(self, data: Buffer, kind: Kind) -> None:
        self._data = data
        self._end = len(data)
        self._kind = kind
        self._width, self._offset_width = WIDTHS[kind]
        self._at = len(MAGIC[kind])

    def header(self) -> ClassicHeader:
        """Read the header in the order of the file: records, dimensions, attributes, variables."""
        start = self._at
        records = self._read_record_count()
        records_at = FileExtent(start, self._at)
        dimensions: list[DimensionEntry] = []
        for _ in range(self._read_list_head(DIMENSION, 2 * self._width)):  # an entry has a name and a length at least
            dimensions.append(self._read_dimension(dimensions))
        attributes = self._attributes()
        count = self._read_list_head(
            VARIABLE, 4 * self._width + 2 * TAG + self._offset_width
        )  # all members of `var` at least
        variables = tuple(self._read_variable(dimensions) for _ in range(count))
        return ClassicHeader(self._kind, records, records_at, tuple(dimensions), attributes, variables, self._at)

    # ---- numbers -----------------------------------------------------------------------------------------------
    def _take(self, size: int, what: str) -> bytes:
        """Return the next bytes. Raises BadHeaderError at the end of the file."""
        start, stop = self._at, self._at + size
        if stop > self._end:
            text = f"the file ends at byte {self._end}, within {what}"
            raise BadHeaderError("truncated-header", text, min(start, self._end), self._end)
        self._at = stop
        return bytes(self._data[start:stop])

    def _read_number(self, width: int, what: str, *, signed: bool = True) -> int:
        """Return a nonnegative number of `width` bytes."""
        number = int.from_bytes(self._take(width, what), "big", signed=signed)  # XDR: big-endian throughout
        if number < 0:
            raise BadHeaderError("bad-header", f"{what} is negative ({number})", self._at - width, self._at)
        return number

    def _read_count(self, what: str, least: int) -> int:
        """Return the number of following entries, each of at least `least` bytes."""
        count = self._read_number(self._width, f"the number of {what}")
        remaining = self._end - self._at
        if count * least > remaining:  # before any allocation: a header of 40 bytes may claim 2³¹ entries
            text = f"the header counts {count} {what}, which do not fit into the remaining {remaining} bytes"
            raise BadHeaderError("truncated-header", text, self._at - self._width, self._at)
        return count

    def _read_record_count(self) -> int | None:
        """Return the number of records; None if all bits are set, for use of the file size."""
        unsaid = b"\xff" * self._width  # STREAMING of the specification
        if bytes(self._data[self._at : self._at + self._width]) == unsaid:
            self._at += self._width
            return None
        return self._read_number(self._width, "the number of records")

    # ---- lists -------------------------------------------------------------------------------------------------
    def _read_list_head(self, expected: int, least: int) -> int:
        """Return the length of a list from its head: tag and length. ABSENT has length 0."""
        what = _LISTS[expected]  # each list has the same head, whatever its entries
        start = self._at
        tag = int.from_bytes(self._take(TAG, f"the tag of the list of {what}"), "big")
        if tag not in (ABSENT, expected):  # an empty list has both tag and count zero (ABSENT)
            text = f"the list of {what} begins with the tag {tag}, not with {expected} or {ABSENT}"
            raise BadHeaderError("bad-header", text, start, self._at)
        count = self._read_count(what, least)
        if tag == ABSENT and count:
            text = f"the list of {what} is marked absent but has the count {count}"
            raise BadHeaderError("bad-header", text, start, self._at)
        return count

    def _name(self, what: str) -> str:
        """Read a padded name; `what` is its owner in messages."""
        length = self._read_count(f"bytes of the name of {what}", 1)
        start = self._at
        if not length:
            raise BadHeaderError("bad-name", f"the name of {what} is empty", start - self._width, start)
        data = self._take(pad(length), f"the name of {what}")[:length]  # names are padded to multiples of four
        try:
            return data.decode("utf-8")
        except UnicodeDecodeError as fault:
            at = start + fault.start
            text = f"the name of {what} is not UTF-8: byte 0x{data[fault.start]:02X}"
            raise BadHeaderError("invalid-utf8", text, at, at + 1) from None

    def _read_type(self, owner: str) -> str:
        number = int.from_bytes(self._take(TAG, f"the type of {owner}"), "big")
        name = TYPE_NAMES.get(number)
        if name is None or (number >= FIRST_OF_CDF5 and self._kind != "nc5"):  # the types 7 to 11 came with CDF-5
            what = f"type {number}" + (f" ({name})" if name else "")  # the type that the number has in CDF-5
            text = f"{owner} has {what}, which {KIND_NAMES[self._kind]} files do not have"
            raise BadHeaderError("bad-header", text, self._at - TAG, self._at)
        return name

    def _read_dimension(self, before: list[DimensionEntry]) -> DimensionEntry:
        start = self._at
        name = self._name("a dimension")
        # files with 64-bit offsets have lengths up to 2³² - 4, as the netCDF library writes and reads them
        length = self._read_number(self._width, f"the length of dimension `{name}`", signed=self._kind != "nc6")
        if not length:  # length 0 marks the record dimension
            first = next((other.name for other in before if not other.length), None)
            if first is not None:  # the specification allows one record dimension
                text = f"`{name}` is a second record dimension after `{first}`; a classic file has at most one"
                raise BadHeaderError("bad-header", text, start, self._at)
        return DimensionEntry(name, length, FileExtent(start, self._at))

    def _attributes(self) -> tuple[AttributeEntry, ...]:
        return tuple(self._read_attribute() for _ in range(self._read_list_head(ATTRIBUTE, 2 * self._width + TAG)))

    def _read_attribute(self) -> AttributeEntry:
        start = self._at
        name = self._name("an attribute")
        kind = self._read_type(f"attribute `{name}`")
        width = ATOMIC[kind].size
        count = self._read_count(f"values of attribute `{name}`", width)
        # The padding behind the last value of a file may be all that is missing; it is not needed.
        data = self._take(min(pad(count * width), self._end - self._at), f"the values of attribute `{name}`")
        value = swap(data[: count * width], width)  # values of the model are little-endian
        return AttributeEntry(name, kind, count, value, FileExtent(start, self._at))

    def _read_variable(self, declared: list[DimensionEntry]) -> VariableEntry:
        start = self._at
        name = self._name("a variable")
        rank = self._read_count(f"dimensions of variable `{name}`", self._width)
        if rank > MAX_RANK:  # NC_MAX_VAR_DIMS of the netCDF library
            text = f"`{name}` has {rank} dimensions; the limit is {MAX_RANK}"
            raise BadHeaderError("rank-limit", text, self._at - self._width, self._at)
        dimensions = tuple(self._dimension_of(name, axis, declared) for axis in range(rank))
        attributes = self._attributes()
        kind = self._read_type(f"variable `{name}`")
        vsize_at = self._at
        vsize = int.from_bytes(self._take(self._width, f"the size of variable `{name}`"), "big")  # 2³² - 1: too large
        begin_at = self._at
        begin = self._read_number(self._offset_width, f"the offset of variable `{name}`")
        extent = FileExtent(start, self._at)
        return VariableEntry(name, kind, dimensions, attributes, vsize, begin, extent, vsize_at, begin_at)

    def _dimension_of(self, name: str, axis: int, declared: list[DimensionEntry]) -> int:
        """Return a dimension number; the record dimension must come first."""
        number = self._read_number(self._width, f"the number of a dimension of variable `{name}`")
        place = self._at - self._width, self._at
        if number >= len(declared):
            text = f"variable `{name}` has dimension number {number}; the file has {len(declared)} dimensions"
            raise BadHeaderError("bad-header", text, *place)
        if axis and not declared[number].length:  # the specification: the record dimension is the most significant
            text = f"the record dimension `{declared[number].name}` is not the first one of variable `{name}`"
            raise BadHeaderError("bad-header", text, *place)
        return number


def element_count(variable: VariableEntry, header: ClassicHeader) -> int:
    """Return the number of elements of a variable, or of one record of it."""
    lengths = [header.dimensions[number].length for number in variable.dimensions]
    return math.prod(lengths[is_record(variable, header) :])  # the record dimension counts no elements of a record


def is_record(variable: VariableEntry, header: ClassicHeader) -> bool:
    """Return whether a variable has the record dimension."""
    return bool(variable.dimensions) and not header.dimensions[variable.dimensions[0]].length
