"""Packed values, as DAP4 sends them and DMR++ documents hold them: their reader and writer.

Values have no padding; lengths of texts, opaque values and lists have eight bytes.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import Selection, all_of
from nczarr.arrays.sources.source import Descr, Parts, little, numpy_dtype
from nczarr.arrays.values.parts import NUMPY, ListTree, PartLeaf, PartTree, Types, descr, inner_types
from nczarr.ast import CompoundType, OpaqueType
from nczarr.ast.node import TypeName
from nczarr.ast.types import EnumType
from nczarr.diagnostics.report import Buffer
from nczarr.plugins.opendap.common.columns import BrokenValuesError, SentValues, Wire

LENGTH = 8
"""Bytes of a length."""


class PackedWire(Wire):
    """Place in packed values."""

    def __init__(self, data: Buffer, at: int, types: Types, *, little: bool = True) -> None:
        super().__init__(data, at, types)
        self._order = "<" if little else ">"

    def number(self, size: int, what: str) -> int:
        """Read an unsigned integer."""
        return int.from_bytes(self.take(size, what), "little" if self._order == "<" else "big")

    def array(self, type_name: TypeName, count: int) -> None:
        """Do nothing: arrays have no length."""

    def text(self) -> bytes:
        size = self.number(LENGTH, "the length of a text")
        return self.take(size, f"a text of {size} bytes")

    def _rows(self) -> int:
        at, count = self.at, self.number(LENGTH, "the number of rows")
        if count > self.end - self.at:
            raise BrokenValuesError(f"a list has {count} rows, but {self.end - self.at} bytes are left", at)
        return count

    def rows(self) -> Iterator[None]:
        for _ in range(self._rows()):
            yield

    def row_values(self, type_name: TypeName) -> NDArray[Any]:
        return self.values(type_name, self._rows())

    def dtype(self, type_name: TypeName) -> str:
        """Return the dtype of a number or char in the byte order of the values."""
        return NUMPY[type_name].replace("<", self._order)

    def atom(self, type_name: TypeName, declared: EnumType | OpaqueType | None) -> SentValues:
        """Return the form of a number, or of an opaque value, which has its size before it."""
        if not isinstance(declared, OpaqueType):
            number = np.dtype(self.dtype(type_name if declared is None else declared.base))
            return SentValues(number, lambda values: values.astype(number.newbyteorder("<")))
        size = declared.size

        def convert(values: NDArray[Any]) -> NDArray[Any]:
            if not (values["size"] == size).all():
                raise ValueError(f"an opaque value does not have {size} bytes, as its declaration has it")
            return values["value"]

        return SentValues(np.dtype([("size", f"{self._order}u8"), ("value", f"|V{size}")]), convert)

    def field(self, type_name: TypeName, shape: tuple[int, ...]) -> SentValues:
        form = self.element(type_name)
        if not shape:
            return form
        repeated = np.dtype((form.dtype, (math.prod(shape),)))
        return SentValues(repeated, lambda values: form.convert(values).reshape(*values.shape[:-1], *shape))


def pack(values: NDArray[Any], type_name: TypeName, types: Types) -> NDArray[Any]:
    """Return fixed-size values in one dimension as they are sent: opaque ones have their length before them."""
    if any(isinstance(types.get(inner), OpaqueType) for inner in inner_types(type_name, types)):
        sized = np.zeros(values.shape, numpy_dtype(_send(type_name, types)))
        _fill(sized, values)
        values = sized
    return np.ascontiguousarray(little(values)).reshape(-1)


def _send(type_name: TypeName, types: Types) -> Descr:
    """Return the dtype of values as they are sent: opaque ones are records of size and value."""
    declared = types.get(type_name)
    if isinstance(declared, OpaqueType):
        return (("size", "<u8", ()), ("value", f"|V{declared.size}", ()))
    if isinstance(declared, CompoundType):
        return tuple((field.name, _send(field.type, types), field.shape) for field in declared.fields)
    return descr(type_name, types)


def _fill(sized: NDArray[Any], values: NDArray[Any]) -> None:
    """Copy values into records of `_send`'s dtype, with the sizes of opaque ones."""
    if values.dtype.names is not None:
        for name in values.dtype.names:
            _fill(sized[name], values[name])
    elif sized.dtype.names is not None:
        sized["size"], sized["value"] = values.dtype.itemsize, values
    else:
        sized[...] = values


class PackedCells:
    """Cells of any type in C order; the content of lists is read on from where the last cell ended."""

    def __init__(self, sources: Parts, types: Types) -> None:
        self.sources, self.types = sources, types
        self._at: dict[str, int] = {}

    def text(self, text: bytes) -> bytes:
        """Return a text as it is sent."""
        return struct.pack("<Q", len(text)) + text

    def rows(self, tree: PartTree, region: Selection | int, inner: tuple[int, ...] = ()) -> list[bytes]:
        """Return the bytes of each cell. `region`: cells, or a number of elements of lists; `inner`: field shape."""
        match tree:
            case PartLeaf(path=path, type=type_name):
                values = self._read(path, region, inner)
                if type_name == "string":
                    return [self.text(text or b"") for text in values.reshape(-1).tolist()]
                flat = pack(values, type_name, self.types)
                data, width = flat.tobytes(), flat.dtype.itemsize
                return [data[at : at + width] for at in range(0, len(data), width)]
            case ListTree():
                counts = self._read(tree.counts.path, region, inner).reshape(-1).tolist()
                items = iter(self.rows(tree.content, sum(counts)))
                return [struct.pack("<Q", count) + b"".join(next(items) for _ in range(count)) for count in counts]
        columns = []
        for field, member in tree.members:
            column, count = self.rows(member, region, (*inner, *field.shape)), math.prod(field.shape)
            if count != 1:
                column = [b"".join(column[at : at + count]) for at in range(0, len(column), count)]
            columns.append(column)
        return [b"".join(parts) for parts in zip(*columns, strict=True)]

    def _read(self, path: str, region: Selection | int, inner: tuple[int, ...]) -> NDArray[Any]:
        if isinstance(region, int):
            start = self._at.get(path, 0)
            self._at[path] = start + region
            region = (slice(start, start + region),)
        return self.sources[path].read((*region, *all_of(inner)))
