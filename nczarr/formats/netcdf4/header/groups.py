"""Links of groups of HDF5 files: names and addresses, in the order in which the netCDF library takes them.

Source: HDF5 File Format Specification 3.0, III.A.1 (version 1 B-trees), III.B, III.C (symbol tables), IV.A.2.c and g
(link messages).
"""

from __future__ import annotations

from collections.abc import Iterator
from struct import unpack_from
from typing import NamedTuple

from nczarr.formats.netcdf4.header.file_bytes import UNDEFINED, HeaderFile, UnreadableHeaderError
from nczarr.formats.netcdf4.header.heaps import DEEPEST, FractalHeap, local_heap, records
from nczarr.formats.netcdf4.header.messages import LINK, LINK_INFO, SYMBOL_TABLE, Messages, only

BY_NAME = 5
"""Type of the B-tree of a group's links by name."""

_TRACKED = 1
"""Flag of a group whose links have a creation order."""

_SYMBOL = 40
"""Bytes of an entry of a symbol table."""

_SOFT_SYMBOL = 2
"""Kind of an entry that is a soft link; kinds of hard links are smaller."""

HARD, SOFT, EXTERNAL = 0, 1, 64
"""Kinds of links (H5L_type_t); programs may define others."""


class Link(NamedTuple):
    """Link of a group."""

    name: bytes
    kind: int
    address: int
    """Address of the object's header, of a hard link."""
    target: bytes = b""
    """Path of a soft link; of an external link flags, file and path, with a NUL after both."""

    @property
    def is_hard(self) -> bool:
        """True if the link has the address of an object."""
        return self.kind == HARD


def links(file: HeaderFile, header: Messages) -> list[Link]:
    """Return the links of a group by creation if that is noted, else by name. Raises UnreadableHeaderError."""
    if SYMBOL_TABLE in header:
        tree, heap = unpack_from("<QQ", only(header, SYMBOL_TABLE).body)
        names = local_heap(file, heap)
        ordered = sorted((link.name, link) for link in _symbols(file, tree, 0, names))
        return _distinct([link for _, link in ordered])
    info = only(header, LINK_INFO).body
    flags = info[1]
    heap, tree = unpack_from("<QQ", info, 10 if flags & _TRACKED else 2)
    bodies = [message.body for message in header.get(LINK, ())]
    if heap != UNDEFINED:
        blocks = FractalHeap(file, heap)
        bodies += [blocks.get(record[4:]) for record in records(file, tree, BY_NAME)]
    parsed = sorted(_parse(body, has_order=bool(flags & _TRACKED)) for body in bodies)
    return _distinct([link for _, link in parsed])


def _distinct(links: list[Link]) -> list[Link]:
    """Return links. Raises UnreadableHeaderError if several have one name."""
    if len({link.name for link in links}) < len(links):
        raise UnreadableHeaderError("several links of a group have one name")
    return links


def _parse(body: bytes, *, has_order: bool) -> tuple[int, Link]:
    """Return creation order (0 if it is not stored) and link of a link message."""
    version, flags = body[0], body[1]
    at, kind, order = 2, HARD, 0
    if flags & 8:
        kind, at = body[at], at + 1
    if flags & 4:
        (order,) = unpack_from("<Q", body, at)
        at += 8
    elif has_order:
        raise UnreadableHeaderError("a link message is damaged")
    at += bool(flags & 16)
    width = 1 << (flags & 3)
    length = int.from_bytes(body[at : at + width], "little")
    at += width + length
    name, address, target = body[at - length : at], UNDEFINED, b""
    if kind == HARD:
        (address,) = unpack_from("<Q", body, at)
    else:
        (size,) = unpack_from("<H", body, at)
        target = body[at + 2 : at + 2 + size]
        if len(target) < size:
            raise UnreadableHeaderError("a link message is damaged")
    if version != 1 or not name or len(name) < length:
        raise UnreadableHeaderError("a link message is damaged")
    return order if has_order else 0, Link(name, kind, address, target)


def _name_at(names: bytes, offset: int) -> bytes:
    end = names.find(b"\0", offset)
    if end < 0:
        raise UnreadableHeaderError("a local heap is damaged")
    return names[offset:end]


def _symbols(file: HeaderFile, address: int, depth: int, names: bytes) -> Iterator[Link]:
    """Yield the links below a node of a group's B-tree. `names`: the group's local heap."""
    if depth > DEEPEST:
        raise UnreadableHeaderError("the B-tree of a group is too deep")
    head = file.read(address, 24)
    (count,) = unpack_from("<H", head, 6)
    if head.startswith(b"TREE\0"):
        node = file.read(address + 24, 16 * count + 8)
        if any(unpack_from("<Q", node, 16 * place)[0] >= len(names) for place in range(count + 1)):
            raise UnreadableHeaderError("the B-tree of a group is damaged")
        for place in range(count):
            yield from _symbols(file, unpack_from("<Q", node, 16 * place + 8)[0], depth + 1, names)
        return
    if not head.startswith(b"SNOD\1"):
        raise UnreadableHeaderError("the symbol table of a group is damaged")
    node = file.read(address + 8, _SYMBOL * count)
    for at in range(0, len(node), _SYMBOL):
        name, target, kind, _, value = unpack_from("<QQIII", node, at)
        if kind > _SOFT_SYMBOL:
            raise UnreadableHeaderError("the symbol table of a group is damaged")
        if kind == _SOFT_SYMBOL:
            yield Link(_name_at(names, name), SOFT, UNDEFINED, _name_at(names, value))
        else:
            yield Link(_name_at(names, name), HARD, target)
