"""Arrays of a data response. Numbers stay in the response, everything else is decoded once.

Values are packed, in one byte order, without padding; lengths of texts, opaques and
lists have eight bytes.

Checksums follow the variables, unless the response says otherwise. Old servers
send none and do not say so: then the values end exactly where they end without
checksums. Old releases of Hyrax send the variables of groups before those of
their parents (dmrVersion 1.0); the other order is tried if one does not fit.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

from nczarr.arrays.codecs.crc32c import crc32
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import NUMPY, Types
from nczarr.ast import ATOMIC
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType, OpaqueType
from nczarr.diagnostics.source import Buffer, Source
from nczarr.formats.opendap.common.columns import (
    BrokenValuesError,
    SentValues,
    Wire,
    check_size,
    decoded_arrays,
    numbers_in_file,
)
from nczarr.formats.opendap.common.document_reader import DescribedVariable
from nczarr.formats.opendap.common.xml_reader import XmlElement
from nczarr.formats.opendap.dap4.chunks import Response
from nczarr.formats.opendap.dap4.read.document import before_version_2, checksum_of, in_order

LENGTH = 8
"""Bytes of a length."""

CHECKSUM = 4
"""Bytes of a checksum."""

PIECE = 1 << 24
"""Bytes of which a checksum is computed at once."""


class DataCursor(Wire):
    """Place in the values of a data response."""

    def __init__(self, data: Buffer, at: int, types: Types, *, little: bool) -> None:
        super().__init__(data, at, types)
        self.little = little
        self._order = "<" if little else ">"

    def number(self, size: int, what: str) -> int:
        """Read an unsigned integer."""
        return int.from_bytes(self.take(size, what), "little" if self.little else "big")

    def array(self, type_name: TypeName, count: int) -> None:
        """Do nothing: arrays have no length."""

    def text(self) -> bytes:
        """Read one text."""
        size = self.number(LENGTH, "the length of a text")
        return self.take(size, f"a text of {size} bytes")

    def _rows(self) -> int:
        at, count = self.at, self.number(LENGTH, "the number of rows")
        if count > self.end - self.at:
            raise BrokenValuesError(f"a list has {count} rows, but {self.end - self.at} bytes are left", at)
        return count

    def rows(self) -> Iterator[None]:
        """Yield once before each row of a list."""
        for _ in range(self._rows()):
            yield

    def row_values(self, type_name: TypeName) -> NDArray[Any]:
        """Read all rows of a list of fixed-size values: shape (rows,), the type's dtype."""
        return self.values(type_name, self._rows())

    def dtype(self, type_name: TypeName) -> str:
        """Return the dtype of a number or char in the byte order of the response."""
        return NUMPY[type_name].replace("<", self._order)

    def atom(self, type_name: TypeName, declared: EnumType | OpaqueType | None) -> SentValues:
        """Return the form of one value; an opaque one has its length."""
        if isinstance(declared, OpaqueType):
            size = declared.size
            form = np.dtype([("size", f"{self._order}u8"), ("value", f"|V{size}")])

            def convert(values: NDArray[Any]) -> NDArray[Any]:
                if not (values["size"] == size).all():
                    raise ValueError(f"an opaque value does not have {size} bytes, as its declaration has it")
                return values["value"]

            return SentValues(form, convert)
        atom_form = np.dtype(self.dtype(type_name if declared is None else declared.base))
        return SentValues(atom_form, lambda values: values.astype(atom_form.newbyteorder("<")))

    def field(self, type_name: TypeName, shape: tuple[int, ...]) -> SentValues:
        """Return the form of a field."""
        form = self.element(type_name)
        if not shape:
            return form
        repeated = np.dtype((form.dtype, (math.prod(shape),)))
        return SentValues(repeated, lambda values: form.convert(values).reshape(*values.shape[:-1], *shape))


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
    types = {fqn: declared for variable in order for fqn, declared in variable.types.items()}
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
