"""Variable declarations of headers, as needed for decoding.

Row layout: members in header order, structures last, packed, one byte order; a
string member of any shape is one heap index.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.wire.element_types import NUMPY, UNSIGNED, dtype_of
from nczarr.formats.ncstream.wire.limits import MOST_DIMENSIONS, Limits, bad, oversized

Declared = pb.Variable | pb.Structure


class Definitions:
    """Variables of all headers so far by full name; later headers replace earlier ones."""

    def __init__(self, *headers: pb.Header) -> None:
        self._headers = list(headers)
        self._known: dict[bytes, Declared] = {}

    def add(self, header: pb.Header) -> None:
        """Add a header. Its variables replace those of the same name."""
        self._headers.append(header)

    def find(self, name: bytes) -> Declared | None:
        r"""Return the variable of a full name: `/` between groups, `.` and `\` escaped, optional leading `/`."""
        while self._headers:
            self._known.update(_declared(self._headers.pop(0).root, b""))
        return self._known.get(name.removeprefix(b"/"))


def _declared(group: pb.Group, path: bytes) -> Iterator[tuple[bytes, Declared]]:
    for kind in (group.vars, group.structs):
        for declared in kind:
            yield path + declared.name, declared
            yield path + escaped(declared.name), declared
    for inner in group.groups:
        yield from _declared(inner, path + escaped(inner.name) + b"/")


def escaped(name: bytes) -> bytes:
    """Escape a short name for use in a full name."""
    return name.replace(b"\\", b"\\\\").replace(b".", b"\\.")


def shape_of(declared: Declared) -> tuple[int, ...]:
    """Return the lengths of the dimensions that are not ragged."""
    return tuple(dimension.length for dimension in declared.shape if not dimension.isVlen)


def ragged_place(declared: Declared) -> int | None:
    """Return the position of the first ragged dimension, or None."""
    return next((place for place, dimension in enumerate(declared.shape) if dimension.isVlen), None)


def is_unsigned(declared: Declared | None) -> bool:
    """Return whether first-generation integers are flagged unsigned."""
    return isinstance(declared, pb.Variable) and declared.unsigned and declared.dataType in UNSIGNED


class RowMember(NamedTuple):
    """A member of a row. A string is a 4-byte index."""

    name: str
    """Name of the member."""
    data_type: int
    """Number of its type."""
    shape: tuple[int, ...]
    """Shape of its values."""
    inner: RowLayout | None = None
    """Layout of a structure."""


class RowLayout(NamedTuple):
    """Layout of a row."""

    members: tuple[RowMember, ...]
    """Members in order."""
    dtype: np.dtype[np.void]
    """NumPy type of a row."""


class Layouts:
    """Builder of row layouts within limits."""

    def __init__(self, limits: Limits, offset: int, *, big: bool) -> None:
        self._limits = limits
        self._offset = offset
        self._big = big
        self._left = limits.columns

    def layout(self, structure: pb.Structure, only: Sequence[int] = (), depth: int = 0) -> RowLayout:
        """Return the row layout of a structure; `only`: positions of the members present, if not all.

        Omits lists, opaque values and sequences, as writers do. Raises
        UnreadableStreamError.
        """
        if depth > self._limits.nesting:
            raise oversized(f"structures are nested more than {self._limits.nesting} deep", self._offset)
        members: list[RowMember] = []
        fields = []
        declared: list[Declared] = [*structure.vars, *structure.structs]
        for place in only or range(len(declared)):
            if place >= len(declared):
                raise bad(f"a row has member {place} of {len(declared)}", self._offset)
            member_declared = declared[place]
            self._left -= 1
            if self._left < 0:
                raise oversized(f"a structure has more than {self._limits.columns} members", self._offset)
            if ragged_place(member_declared) is not None or member_declared.dataType in (pb.OPAQUE, pb.SEQUENCE):
                continue
            member, dtype, shape = self._member(member_declared, depth)
            members.append(member)
            fields.append((member.name, dtype, shape))
        names = [member.name for member in members]
        if "" in names or len(set(names)) < len(names):
            raise bad("a structure has members without a name, or two members of the same name", self._offset)
        self._check_size(fields)
        return RowLayout(tuple(members), np.dtype(fields))

    def _member(self, declared: Declared, depth: int) -> tuple[RowMember, np.dtype[np.generic], tuple[int, ...]]:
        name = declared.name.decode("utf-8", "surrogateescape")
        shape = shape_of(declared)
        if len(shape) > MOST_DIMENSIONS - 1:
            raise oversized(f"a member has {len(shape)} dimensions", self._offset)
        if isinstance(declared, pb.Structure):
            inner = self.layout(declared, depth=depth + 1)
            return RowMember(name, pb.STRUCTURE, shape, inner), inner.dtype, shape
        if declared.dataType == pb.STRING:
            return RowMember(name, pb.STRING, shape), dtype_of(pb.INT, big=self._big), ()
        if declared.dataType not in NUMPY:
            raise bad(f"a member has the data type {declared.dataType}", self._offset)
        shown = UNSIGNED[declared.dataType] if is_unsigned(declared) else declared.dataType
        return RowMember(name, declared.dataType, shape), dtype_of(shown, big=self._big), shape

    def _check_size(self, fields: list[tuple[str, np.dtype[np.generic], tuple[int, ...]]]) -> None:
        """Raise UnreadableStreamError for rows too large for NumPy."""
        size = sum(max(1, dtype.itemsize) * math.prod(max(1, length) for length in shape) for _, dtype, shape in fields)
        if size >= 1 << 31:
            raise oversized(f"a row has {size} bytes", self._offset)
