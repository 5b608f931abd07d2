"""Data response of DAP4: its chunks, and the arrays of its values.

A response is a DMR, then values, in chunks with a header of four bytes: flags, and the length. Positions in the joined
values map to positions in the response. Numbers stay in the response, everything else is decoded once. Values are
packed, in one byte order, without padding; lengths of texts, opaques and lists have eight bytes.

Checksums follow the variables, unless the response says otherwise. Old servers send none and do not say so: then the
values end exactly where they end without checksums. Old releases of Hyrax send the variables of groups before those of
their parents (dmrVersion 1.0); the other order is tried if one does not fit.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast import ATOMIC
from nczarr.diagnostics.report import Buffer, Source
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.opendap.common.columns import (
    BrokenValuesError,
    check_size,
    decode_arrays,
    numbers_in_file,
)
from nczarr.plugins.opendap.common.declarations import FaultError
from nczarr.plugins.opendap.common.document_reader import DescribedVariable
from nczarr.plugins.opendap.common.packed import PackedWire
from nczarr.plugins.opendap.common.words import VARIABLES


def crc32(data: bytes | memoryview, before: int = 0) -> int:
    """Return the CRC-32 of bytes that follow others; `before`: CRC-32 of those."""
    from zlib_ng import zlib_ng

    checksum: int = zlib_ng.crc32(data, before)
    return checksum


LAST, ERROR, LITTLE, UNCHECKED = 1, 2, 4, 8
"""Flags: the last chunk; an error document; little-endian values; values without checksums."""

HEADER = 4
"""Bytes of a chunk's header: flags, and a big-endian length of three bytes."""


class Response(NamedTuple):
    """A data response."""

    dmr: bytes
    """The DMR; if `failed`, the error document."""
    dmr_at: int
    """Its offset in the response."""
    values: Buffer
    """The values: the response itself from `at` on if they are in one chunk, else joined."""
    at: int
    """Offset of the first value in `values`."""
    end: int
    """Offset behind the last value in `values`."""
    starts: tuple[int, ...]
    """Ascending offsets in `values` at which chunks begin."""
    places: tuple[int, ...]
    """Offsets of these chunks in the response."""
    little: bool
    """True if values are little-endian."""
    checked: bool
    """True unless the response says that it has no checksums."""
    failed: bool
    """True if the server reports an error."""

    def place(self, at: int) -> int:
        """Return the offset in the response of an offset in `values`."""
        number = bisect_right(self.starts, at) - 1
        return self.places[number] + at - self.starts[number] if number >= 0 else at


def response(data: Buffer) -> Response:
    """Split a response into its DMR and values. Raises BrokenValuesError."""
    pieces: list[tuple[int, int]] = []
    flags, at, document = 0, 0, b""
    while not flags & LAST:
        if len(data) - at < HEADER:
            text = "the header of a chunk is cut" if at < len(data) else "the response ends without a last chunk"
            raise BrokenValuesError(text, at)
        # a byte of type, then 24 bits of size
        chunk_flags, size = data[at], int.from_bytes(data[at + 1 : at + HEADER], "big")
        if chunk_flags & ~(LAST | ERROR | LITTLE | UNCHECKED):
            raise BrokenValuesError(f"0x{chunk_flags:02x} are not the flags of a chunk", at)
        start, stop = at + HEADER, at + HEADER + size
        if stop > len(data):
            raise BrokenValuesError(f"a chunk has {size} bytes, but {len(data) - start} are left", at)
        if chunk_flags & ERROR:  # DAP4: it ends the response
            message = bytes(data[start:stop])
            return Response(message, start, b"", 0, 0, (), (), little=False, checked=False, failed=True)
        flags |= chunk_flags
        if at:
            pieces.append((start, stop))
        else:
            document = bytes(data[start:stop])
        at = stop
    if at < len(data):
        raise BrokenValuesError(f"{len(data) - at} bytes follow the last chunk", at)
    little, checked = bool(flags & LITTLE), not flags & UNCHECKED
    filled = [(start, stop) for start, stop in pieces if stop > start]
    if len(filled) <= 1:
        start, stop = filled[0] if filled else (at, at)
        whole = data if stop == len(data) else bytes(data[:stop])
        return Response(document, HEADER, whole, start, stop, (0,), (0,), little, checked, failed=False)
    starts, total = [], 0
    for start, stop in filled:
        starts.append(total)
        total += stop - start
    joined = b"".join(data[start:stop] for start, stop in filled)
    places = tuple(start for start, _ in filled)
    return Response(document, HEADER, joined, 0, total, tuple(starts), places, little, checked, failed=False)


CHECKSUM = "_DAP4_Checksum_CRC32"
"""Attribute with the checksum of a variable."""

CHECKSUM_SIZE = 4
"""Bytes of a checksum."""

PIECE = 1 << 24
"""Bytes of which a checksum is computed at once."""


def before_version_2(root: XmlElement) -> bool:
    """Return whether values of groups come before those of their parents.

    Hyrax did so against the specification, and counted the version of its
    documents up when it stopped. The libraries of Unidata, which always follow
    the specification, have version 1.0 and mark their documents.
    """
    marked = any(attribute.attributes.get("name") == "_DAP4_Little_Endian" for attribute in root.all("Attribute"))
    return root.attributes.get("dmrVersion") == "1.0" and not marked


def in_order(element: XmlElement, *, groups_first: bool) -> Iterator[XmlElement]:
    """Yield the elements of variables in the order of their values."""
    groups = element.all("Group")
    if groups_first:
        for group in groups:
            yield from in_order(group, groups_first=True)
    for child in element.children:
        if child.tag in VARIABLES:
            yield child
        elif child.tag == "Group" and not groups_first:
            yield from in_order(child, groups_first=False)


def checksum_of(element: XmlElement) -> int | None:
    """Return the checksum in a variable's attributes; None without one. Raises FaultError."""
    for attribute in element.all("Attribute"):
        if attribute.attributes.get("name") == CHECKSUM:
            value = attribute.first("Value")
            text = "" if value is None else value.attributes.get("value", value.text).strip()
            try:
                return int(text, 0) & 0xFFFFFFFF
            except ValueError:
                raise FaultError(f"`{text[:40]}` is not a checksum") from None
    return None


def values_of(
    answer: Response, root: XmlElement, described: list[DescribedVariable], source: Source
) -> dict[str, Parts]:
    """Return the arrays of all variables. Raises BrokenValuesError, FaultError."""
    by_element = {id(variable.element): variable for variable in described}
    orders: list[list[DescribedVariable]] = []
    hyrax = before_version_2(root)
    for groups_first in (hyrax, not hyrax):
        order = [
            by_element[id(element)]
            for element in in_order(root, groups_first=groups_first)
            if id(element) in by_element
        ]
        if not orders or [variable.path for variable in order] != [variable.path for variable in orders[0]]:
            orders.append(order)
    if len(orders[0]) < sum(1 for _ in in_order(root, groups_first=False)):
        text = "variables of the document are left out, so the places of others are unknown"
        raise BrokenValuesError(text, answer.at)
    ways = [(order, True) for order in orders] if answer.checked else []
    ways += [(orders[0], False)]
    faults: list[BrokenValuesError] = []
    wrong: BrokenValuesError | None = None
    for order, checked in ways:
        try:
            parts, fault_of_checksum = _attempt(answer, order, source, checked=checked)
        except BrokenValuesError as fault:
            faults.append(fault)
            continue
        if fault_of_checksum is None:
            return parts
        wrong = wrong or fault_of_checksum
    raise wrong or max(faults, key=lambda fault: fault.at)


def _attempt(
    answer: Response, order: list[DescribedVariable], source: Source, *, checked: bool
) -> tuple[dict[str, Parts], BrokenValuesError | None]:
    """Return the arrays, read in one order, with or without checksums; and the first wrong checksum.

    Raises BrokenValuesError.
    """
    types = {fqn: declared for variable in order for fqn, declared in variable.types.items()}
    wire = PackedWire(answer.values, answer.at, types, little=answer.little)
    wire.end = answer.end
    whole = source if answer.values is source.data else Source(source.name, answer.values, binary=True)
    file, arrays = FileBytes.of(whole), {}
    wrong: BrokenValuesError | None = None
    for variable in order:
        start = wire.at
        try:
            arrays[variable.path] = _arrays(wire, variable, file)
            stop = wire.at
            sent = wire.number(CHECKSUM_SIZE, "a checksum") if checked else None
        except BrokenValuesError as fault:
            raise BrokenValuesError(f"variable `{variable.path}`: {fault}", fault.at) from None
        declared = checksum_of(variable.element)
        if sent is None and declared is None:
            continue
        computed = _crc(answer.values, start, stop)
        for value in (sent, declared):
            if value is not None and value != computed and wrong is None:
                text = (
                    f"variable `{variable.path}`: the checksum is {value:08x}, but that of the values is {computed:08x}"
                )
                wrong = BrokenValuesError(text, start)
    if wire.at < wire.end:
        raise BrokenValuesError(f"{wire.end - wire.at} bytes follow the last value", wire.at)
    return arrays, wrong


def _crc(data: object, start: int, stop: int) -> int:
    """Return the checksum of a range of bytes."""
    checksum = 0
    for at in range(start, stop, PIECE):
        checksum = crc32(data[at : min(at + PIECE, stop)], checksum)  # type: ignore[index]
    return checksum


def _arrays(wire: PackedWire, variable: DescribedVariable, file: FileBytes) -> Parts:
    """Return the arrays of the next variable, and go on behind it. Raises BrokenValuesError."""
    if variable.type in ATOMIC and variable.type != "string":
        return {"": numbers_in_file(wire, file, wire.dtype(variable.type), variable.shape)}
    try:
        check_size(variable.type, wire.types)
    except ValueError as fault:
        raise BrokenValuesError(str(fault), wire.at) from None
    return decode_arrays(wire, variable.type, variable.shape, array=bool(variable.shape))
