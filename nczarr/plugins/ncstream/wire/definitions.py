"""Variable declarations of headers, as needed for decoding."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import UNSIGNED

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
            self._known.update(_declare(self._headers.pop(0).root, b""))
        return self._known.get(name.removeprefix(b"/"))  # answers of servers leave out a leading slash


def _declare(group: pb.Group, path: bytes) -> Iterator[tuple[bytes, Declared]]:
    """Yield the declarations of a group and its groups by full name, both plain and escaped."""
    for kind in (group.vars, group.structs):
        for declared in kind:
            yield path + declared.name, declared
            yield path + escape(declared.name), declared
    for inner in group.groups:
        yield from _declare(inner, path + escape(inner.name) + b"/")


def escape(name: bytes) -> bytes:
    """Escape a short name for use in a full name."""
    return name.replace(b"\\", b"\\\\").replace(b".", b"\\.")


def shape_of(declared: Declared) -> tuple[int, ...]:
    """Return the lengths of the dimensions that are not ragged."""
    # the length of a ragged one is absent or 2⁶⁴ - 1: it is not looked at
    return tuple(dimension.length for dimension in declared.shape if not dimension.isVlen)


def find_ragged_place(declared: Declared) -> int | None:
    """Return the position of the first ragged dimension, or None."""
    return next((place for place, dimension in enumerate(declared.shape) if dimension.isVlen), None)


def is_unsigned(declared: Declared | None) -> bool:
    """Return whether first-generation integers are flagged unsigned."""
    return isinstance(declared, pb.Variable) and declared.unsigned and declared.dataType in UNSIGNED
