"""Values of DAP4: packed, in one byte order, without padding; lengths of texts, opaques and lists in eight bytes."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.values.parts import NUMPY, Types
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType, OpaqueType
from nczarr.diagnostics.source import Buffer
from nczarr.formats.opendap.common.columns import BrokenValuesError, SentValues, Wire

LENGTH = 8
"""Bytes of a length."""

CHECKSUM = 4
"""Bytes of a checksum."""


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
