"""What headers say of variables, as far as data messages cannot be read without.

Invariant: rows are laid out as the wire has them: members in the order of the header, structures behind all others,
packed, in one byte order; a string is one index into the heap, whatever its dimensions.
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
    """Variables of all headers so far by full name; later headers add to earlier ones."""

    def __init__(self, *headers: pb.Header) -> None:
        self._headers = list(headers)
        self._known: dict[bytes, Declared] = {}

    def add(self, header: pb.Header) -> None:
        """Take one more header, whose variables hide those of the same name."""
        self._headers.append(header)

    def find(self, name: bytes) -> Declared | None:
        """The variable that a data message names: groups by `/`, `.` and `\\` escaped, perhaps a `/` in front."""
        while self._headers:
            self._known.update(_declared(self._headers.pop(0).root, b""))
        return self._known.get(name.removeprefix(b"/"))


def _declared(group: pb.Group, path: bytes) -> Iterator[tuple[bytes, Declared]]:
    for kind in (group.vars, group.structs):
        for each in kind:
            yield path + each.name, each
            yield path + escaped(each.name), each
    for inner in group.groups:
        yield from _declared(inner, path + escaped(inner.name) + b"/")


def escaped(name: bytes) -> bytes:
    """A short name within a full one."""
    return name.replace(b"\\", b"\\\\").replace(b".", b"\\.")


def shape_of(declared: Declared) -> tuple[int, ...]:
    """The lengths of the dimensions, ragged ones left out."""
    return tuple(each.length for each in declared.shape if not each.isVlen)


def is_ragged(declared: Declared) -> bool:
    """Whether a dimension has no length of its own."""
    return any(each.isVlen for each in declared.shape)


def ragged_place(declared: Declared) -> int | None:
    """The place of the first ragged dimension, None if there is none."""
    return next((place for place, each in enumerate(declared.shape) if each.isVlen), None)


def is_unsigned(declared: Declared | None) -> bool:
    """Whether the first generation says that integers have no sign."""
    return isinstance(declared, pb.Variable) and declared.unsigned and declared.dataType in UNSIGNED


class Member(NamedTuple):
    """A member as it lies in a row: `inner` are those of a structure. A string is an index of four bytes."""

    name: str
    data_type: int
    shape: tuple[int, ...]
    inner: Layout | None = None


class Layout(NamedTuple):
    """How a row lies."""

    members: tuple[Member, ...]
    dtype: np.dtype[np.void]


class Layouts:
    """Makes layouts of structures, within limits."""

    def __init__(self, limits: Limits, offset: int, *, big: bool) -> None:
        self._limits = limits
        self._offset = offset
        self._big = big
        self._left = limits.columns

    def layout(self, structure: pb.Structure, only: Sequence[int] = (), depth: int = 0) -> Layout:
        """The layout of rows of a structure; `only`: places of the members that are there, if it is not all of them.

        Members that have no form in rows (lists, opaque values, sequences) are left out, as their writers do.
        """
        if depth > self._limits.nesting:
            raise oversized(f"structures lie in each other more than {self._limits.nesting} deep", self._offset)
        members: list[Member] = []
        fields = []
        declared: list[Declared] = [*structure.vars, *structure.structs]
        for place in only or range(len(declared)):
            if place >= len(declared):
                raise bad(f"a row has member {place}, of {len(declared)}", self._offset)
            each = declared[place]
            self._left -= 1
            if self._left < 0:
                raise oversized(f"a structure has more than {self._limits.columns} members", self._offset)
            if is_ragged(each) or each.dataType in (pb.OPAQUE, pb.SEQUENCE):
                continue
            member, dtype, shape = self._member(each, depth)
            members.append(member)
            fields.append((member.name, dtype, shape))
        names = [each.name for each in members]
        if "" in names or len(set(names)) < len(names):
            raise bad("a structure has members without a name, or two of one name", self._offset)
        self._check_size(fields)
        return Layout(tuple(members), np.dtype(fields))

    def _member(self, each: Declared, depth: int) -> tuple[Member, np.dtype[np.generic], tuple[int, ...]]:
        name = each.name.decode("utf-8", "surrogateescape")
        shape = shape_of(each)
        if len(shape) > MOST_DIMENSIONS - 1:
            raise oversized(f"a member has {len(shape)} dimensions", self._offset)
        if isinstance(each, pb.Structure):
            inner = self.layout(each, depth=depth + 1)
            return Member(name, pb.STRUCTURE, shape, inner), inner.dtype, shape
        if each.dataType == pb.STRING:
            return Member(name, pb.STRING, shape), dtype_of(pb.INT, big=self._big), ()
        if each.dataType not in NUMPY:
            raise bad(f"a member has the data type {each.dataType}", self._offset)
        shown = UNSIGNED[each.dataType] if is_unsigned(each) else each.dataType
        return Member(name, each.dataType, shape), dtype_of(shown, big=self._big), shape

    def _check_size(self, fields: list[tuple[str, np.dtype[np.generic], tuple[int, ...]]]) -> None:
        """Refuse rows that are larger than numpy's, before it is asked to make them."""
        size = sum(max(1, dtype.itemsize) * math.prod(max(1, each) for each in shape) for _, dtype, shape in fields)
        if size >= 1 << 31:
            raise oversized(f"a row takes {size} bytes", self._offset)
