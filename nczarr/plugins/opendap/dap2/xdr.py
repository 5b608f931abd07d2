"""Values of DODS responses in XDR: big-endian, in units of four bytes.

Arrays of numbers have their length twice, arrays of texts and structures once.
Bytes of an array are packed and padded; single bytes and 16-bit integers take
four bytes. Each row of a sequence has a mark before it, and another mark ends
the rows.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType, OpaqueType
from nczarr.plugins.opendap.common.columns import BrokenValuesError, SentValues, Wire
from nczarr.plugins.opendap.common.words import FULL, NARROW, xdr_padding

ROW, END = 0x5A000000, 0xA5000000
"""Marks before a row of a sequence, and after its last row."""


def narrow(type_name: TypeName) -> Callable[[NDArray[Any]], NDArray[Any]]:
    """Return the conversion of units (`>u4`) to a narrow type; it raises ValueError for values that do not fit.

    Servers extend the sign of unsigned values as well, or do not extend that of
    signed ones.
    """
    bits = NARROW[type_name]
    high = (0xFFFFFFFF << bits) & 0xFFFFFFFF

    def convert(values: NDArray[Any]) -> NDArray[Any]:
        upper = values & np.uint32(high)
        if not ((upper == 0) | (upper == high)).all():
            raise ValueError(f"a value does not fit in {bits} bits")
        unsigned = (values & np.uint32(0xFFFFFFFF >> (32 - bits))).astype(f"<u{bits // 8}")
        return unsigned.view(NUMPY[type_name])

    return convert


class Xdr(Wire):
    """Place in the values of a DODS response."""

    def _number(self, what: str) -> int:
        return int.from_bytes(self.take(4, what), "big")

    def array(self, type_name: TypeName, count: int) -> None:
        """Read and check the length before an array; numbers have it twice."""
        numbers = type_name in FULL or type_name in NARROW
        for _ in range(1 + numbers):
            at, length = self.at, self._number("the length of an array")
            if length != count:
                raise BrokenValuesError(f"an array has {length} elements, but its declaration has {count}", at)

    def array_values(self, type_name: TypeName, count: int) -> NDArray[Any]:
        if type_name != "ubyte":
            return self.values(type_name, count)
        values = np.frombuffer(self.take(count, f"an array of {count} bytes"), np.uint8)
        self.take(xdr_padding(count), "the padding of an array")
        return values

    def text(self) -> bytes:
        size = self._number("the length of a text")
        text = self.take(size, f"a text of {size} bytes")
        self.take(xdr_padding(size), "the padding of a text")
        return text

    def rows(self) -> Iterator[None]:
        while True:
            at, mark = self.at, self._number("the mark of a row")
            if mark == END:
                return
            if mark != ROW:
                raise BrokenValuesError(f"0x{mark:08x} is neither the mark of a row nor of the end of a sequence", at)
            yield

    def row_values(self, type_name: TypeName) -> NDArray[Any]:
        """Return the values of a sequence of fixed-size rows, many rows at a time."""
        form = self.element(type_name)
        dtype = np.dtype([("mark", ">u4"), ("value", form.dtype)])
        pieces: list[NDArray[Any]] = []
        some = 64
        while True:
            room = min(some, (self.end - self.at) // dtype.itemsize)
            rows = np.frombuffer(self.data, dtype, room, self.at) if room else np.empty(0, dtype)
            other = np.flatnonzero(rows["mark"] != ROW)
            count = int(other[0]) if len(other) else room
            if count:
                pieces.append(self.convert(form, rows["value"][:count], count * dtype.itemsize))
            if count < room or not room:
                break
            some *= 2
        for _ in self.rows():
            raise BrokenValuesError("the last row of a sequence is incomplete", self.at)
        return np.concatenate(pieces) if pieces else form.convert(np.empty(0, form.dtype))

    def atom(self, type_name: TypeName, declared: EnumType | OpaqueType | None) -> SentValues:
        if type_name in NARROW:
            return SentValues(np.dtype(">u4"), narrow(type_name))
        full = np.dtype(FULL[type_name])
        return SentValues(full, lambda values: values.astype(full.newbyteorder("<")))

    def field(self, type_name: TypeName, shape: tuple[int, ...]) -> SentValues:
        """Return the form of a field; an array has its length before its values, numbers have it twice."""
        form = self.element(type_name)
        if not shape:
            return form
        count = math.prod(shape)
        plain = type_name in FULL or type_name in NARROW
        if type_name == "ubyte":
            form = SentValues(np.dtype("|u1"), lambda values: values)
        members: list[Any] = [("count", ">u4", (1 + plain,)), ("values", form.dtype, (count,))]
        if type_name == "ubyte" and xdr_padding(count):
            members.append(("pad", f"|V{xdr_padding(count)}"))

        def convert(values: NDArray[Any]) -> NDArray[Any]:
            if not (values["count"] == count).all():
                raise ValueError(f"the length of a member is not {count}, as its declaration has it")
            return form.convert(values["values"]).reshape(*values.shape, *shape)

        return SentValues(np.dtype(members), convert)
