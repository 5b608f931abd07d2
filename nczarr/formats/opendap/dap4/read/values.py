"""Arrays of a data response. Numbers stay in the response, everything else is decoded once.

Checksums follow the variables, unless the response says otherwise. Old servers
send none and do not say so: then the values end exactly where they end without
checksums. Old releases of Hyrax send the variables of groups before those of
their parents (dmrVersion 1.0); the other order is tried if one does not fit.
"""

from __future__ import annotations

from typing import NamedTuple

from nczarr.arrays.codecs.crc32 import crc32
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast import ATOMIC
from nczarr.diagnostics.source import Source
from nczarr.formats.opendap.common.columns import BrokenValuesError, check_size, decoded_arrays, numbers_in_file
from nczarr.formats.opendap.common.document_reader import DescribedVariable
from nczarr.formats.opendap.common.xml_reader import XmlElement
from nczarr.formats.opendap.dap4.chunks import Response
from nczarr.formats.opendap.dap4.read.document import before_version_2, checksum_of, in_order, known_types
from nczarr.formats.opendap.dap4.wire.values import CHECKSUM, DataCursor

PIECE = 1 << 24
"""Bytes of which a checksum is computed at once."""


class Attempt(NamedTuple):
    """Values of a response, read in one order, with or without checksums."""

    parts: dict[str, Parts]
    """Arrays by FQN of the variable."""
    wrong: BrokenValuesError | None
    """The first wrong checksum."""


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
        raise BrokenValuesError(
            "variables of the document are left out, so the places of others are unknown", answer.at
        )
    ways = [(order, True) for order in orders] if answer.checked else []
    ways += [(orders[0], False)]
    faults: list[BrokenValuesError] = []
    wrong: BrokenValuesError | None = None
    for order, checked in ways:
        try:
            attempt = _attempt(answer, order, source, checked=checked)
        except BrokenValuesError as fault:
            faults.append(fault)
            continue
        if attempt.wrong is None:
            return attempt.parts
        wrong = wrong or attempt.wrong
    raise wrong or max(faults, key=lambda fault: fault.at)


def _attempt(answer: Response, order: list[DescribedVariable], source: Source, *, checked: bool) -> Attempt:
    """Read all values in one way. Raises BrokenValuesError."""
    types = known_types(order)
    wire = DataCursor(answer.values, answer.at, types, little=answer.little)
    wire.end = answer.end
    whole = source if answer.values is source.data else Source(source.name, answer.values, binary=True)
    file, arrays = FileBytes.of(whole), {}
    wrong: BrokenValuesError | None = None
    for variable in order:
        start = wire.at
        try:
            arrays[variable.path] = _arrays(wire, variable, file)
            stop = wire.at
            sent = wire.number(CHECKSUM, "a checksum") if checked else None
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
    return Attempt(arrays, wrong)


def _crc(data: object, start: int, stop: int) -> int:
    """Return the checksum of a range of bytes."""
    checksum = 0
    for at in range(start, stop, PIECE):
        checksum = crc32(data[at : min(at + PIECE, stop)], checksum)  # type: ignore[index]
    return checksum


def _arrays(wire: DataCursor, it: DescribedVariable, file: FileBytes) -> Parts:
    """Return the arrays of the next variable, and go on behind it. Raises BrokenValuesError."""
    if it.type in ATOMIC and it.type != "string":
        return {"": numbers_in_file(wire, file, wire.dtype(it.type), it.shape)}
    try:
        check_size(it.type, wire.types)
    except ValueError as fault:
        raise BrokenValuesError(str(fault), wire.at) from None
    return decoded_arrays(wire, it.type, it.shape, array=bool(it.shape))
