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

_SOFT = 2
"""Kind of an entry that is a soft link; kinds of hard links are smaller."""

LONGEST = 255
"""Longest name that the netCDF library shows in full, in bytes."""


class Link(NamedTuple):
    """Hard link."""

    name: str
    """Name."""
    address: int
    """Address of the object's header."""


def links(file: HeaderFile, found: Messages) -> list[Link]:
    """Return the links of a group by creation if that is noted, else by name. Raises UnreadableHeaderError.

    Links that are not hard are not read here, nor names that are too long or not UTF-8.
    """
    if SYMBOL_TABLE in found:
        tree, heap = unpack_from("<QQ", only(found, SYMBOL_TABLE).body)
        names = local_heap(file, heap)
        pairs = [(_name_at(names, offset), address) for offset, address in _symbols(file, tree, 0, len(names))]
        return [_link(name, address) for name, address in sorted(pairs)]
    info = only(found, LINK_INFO).body
    flags = info[1]
    heap, tree = unpack_from("<QQ", info, 10 if flags & _TRACKED else 2)
    bodies = [message.body for message in found.get(LINK, ())]
    if heap != UNDEFINED:
        blocks = FractalHeap(file, heap)
        bodies += [blocks.get(record[4:]) for record in records(file, tree, BY_NAME)]
    parsed = sorted(_parsed(body, has_order=bool(flags & _TRACKED)) for body in bodies)
    if len({name for _, name, _ in parsed}) < len(parsed):
        raise UnreadableHeaderError("links of one name")
    return [_link(name, address) for _, name, address in parsed]


def _link(name: bytes, address: int) -> Link:
    try:
        return Link(name.decode() if 0 < len(name) <= LONGEST else _refuse_name(), address)
    except UnicodeDecodeError:
        return Link(_refuse_name(), address)


def _refuse_name() -> str:
    raise UnreadableHeaderError("name of a link")


def _parsed(body: bytes, *, has_order: bool) -> tuple[int, bytes, int]:
    """Return creation order (0 if it is not stored), name and address of a link message."""
    version, flags = body[0], body[1]
    at, kind, order = 2, 0, 0
    if flags & 8:
        kind, at = body[at], at + 1
    if flags & 4:
        (order,) = unpack_from("<Q", body, at)
        at += 8
    elif has_order:
        raise UnreadableHeaderError("link message")
    at += bool(flags & 16)
    width = 1 << (flags & 3)
    length = int.from_bytes(body[at : at + width], "little")
    at += width
    if version != 1 or kind or len(body) < at + length + 8:
        raise UnreadableHeaderError("link message")
    return order if has_order else 0, body[at : at + length], unpack_from("<Q", body, at + length)[0]


def _name_at(names: bytes, offset: int) -> bytes:
    end = names.find(b"\0", offset)
    if end < 0:
        raise UnreadableHeaderError("local heap")
    return names[offset:end]


def _symbols(file: HeaderFile, address: int, depth: int, heap: int) -> Iterator[tuple[int, int]]:
    """Yield the offset of the name, and the address, of each link below a node of a group's B-tree.

    `heap`: bytes of the heap that has the names.
    """
    if depth > DEEPEST:
        raise UnreadableHeaderError("B-tree")
    head = file.read(address, 24)
    if head.startswith(b"TREE\0"):
        (count,) = unpack_from("<H", head, 6)
        node = file.read(address + 24, 16 * count + 8)
        if any(unpack_from("<Q", node, 16 * place)[0] >= heap for place in range(count + 1)):
            raise UnreadableHeaderError("B-tree")
        for place in range(count):
            yield from _symbols(file, unpack_from("<Q", node, 16 * place + 8)[0], depth + 1, heap)
        return
    if not head.startswith(b"SNOD\1"):
        raise UnreadableHeaderError("symbol table")
    (count,) = unpack_from("<H", head, 6)
    node = file.read(address + 8, _SYMBOL * count)
    for at in range(0, len(node), _SYMBOL):
        name, target, kind = unpack_from("<QQI", node, at)
        if kind >= _SOFT:
            raise UnreadableHeaderError("symbol table")
        yield name, target
