"""Decoding of the values of a response, cell by cell, into the arrays of their types.

Both protocols send values in the order of their declarations: records member
after member, lists row after row. A `Wire` knows how one protocol writes
elements, lengths, texts and rows. Values of fixed size are decoded together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of, even_chunks
from nczarr.arrays.sources.decoded_parts import in_one_piece
from nczarr.arrays.sources.memory import ArrayInMemory
from nczarr.arrays.sources.source import Descr, Layout, Parts, itemsize, numpy_dtype
from nczarr.arrays.sources.strided import AffineArray, FileBytes
from nczarr.arrays.values.parts import (
    ListTree,
    Part,
    PartLeaf,
    PartTree,
    RecordTree,
    Types,
    descr,
    is_fixed,
    part_tree,
    parts,
)
from nczarr.ast.node import TypeName
from nczarr.ast.types import CompoundType, EnumType, OpaqueType
from nczarr.diagnostics.report import Buffer

LARGEST = (1 << 31) - 1
"""Maximum bytes of one element of fixed size."""


class BrokenValuesError(ValueError):
    """Values that do not fit their declaration; `at`: byte offset of the fault."""

    def __init__(self, text: str, at: int) -> None:
        super().__init__(text)
        self.at = at


class SentValues(NamedTuple):
    """Values of one type as they are sent."""

    dtype: Any
    """NumPy dtype of a value on the wire."""
    convert: Callable[[NDArray[Any]], NDArray[Any]]
    """Returns values of the model in the same shape. Raises ValueError."""


class Wire:
    """Place in the values of a response. Methods raise BrokenValuesError."""

    def __init__(self, data: Buffer, at: int, types: Types) -> None:
        self.data, self.at, self.end, self.types = data, at, len(data), types
        self._elements: dict[TypeName, SentValues] = {}

    # ---- of a protocol -----------------------------------------------------------------------------------------------
    def array(self, type_name: TypeName, count: int) -> None:
        """Read and check the length before an array."""
        raise NotImplementedError

    def array_values(self, type_name: TypeName, count: int) -> NDArray[Any]:
        """Read the elements of an array of fixed-size values: shape (count,), the type's dtype."""
        return self.values(type_name, count)

    def text(self) -> bytes:
        """Read one text."""
        raise NotImplementedError

    def rows(self) -> Iterator[None]:
        """Yield once before each row of a list."""
        raise NotImplementedError

    def row_values(self, type_name: TypeName) -> NDArray[Any]:
        """Read all rows of a list of fixed-size values: shape (rows,), the type's dtype."""
        raise NotImplementedError

    def atom(self, type_name: TypeName, declared: EnumType | OpaqueType | None) -> SentValues:
        """Return the form of one value of a type without members."""
        raise NotImplementedError

    def field(self, type_name: TypeName, shape: tuple[int, ...]) -> SentValues:
        """Return the form of a field, which converts to the dtype and shape of the field."""
        raise NotImplementedError

    # ---- of both -----------------------------------------------------------------------------------------------------
    def check_left(self, count: int, what: str) -> None:
        """Check that `count` bytes are left."""
        if count > self.end - self.at:
            left = self.end - self.at
            raise BrokenValuesError(f"{what} needs {count} bytes, but {left} are left", self.at)

    def take(self, count: int, what: str) -> bytes:
        """Return the next bytes."""
        self.check_left(count, what)
        piece = bytes(self.data[self.at : self.at + count])
        self.at += count
        return piece

    def element(self, type_name: TypeName) -> SentValues:
        """Return the form of one value of a fixed-size type."""
        form = self._elements.get(type_name)
        if form is None:
            declared = self.types.get(type_name)
            if isinstance(declared, CompoundType):
                form = self._record(declared, type_name)
            else:
                assert declared is None or isinstance(declared, EnumType | OpaqueType)
                form = self.atom(type_name, declared)
            self._elements[type_name] = form
        return form

    def _record(self, declared: CompoundType, type_name: TypeName) -> SentValues:
        """Return the form of a record: how it is sent, and its conversion to the model's dtype."""
        fields = [self.field(member.type, member.shape) for member in declared.fields]
        record_dtype = numpy_dtype(descr(type_name, self.types))

        def convert(values: NDArray[Any]) -> NDArray[Any]:
            out = np.empty(values.shape, record_dtype)
            for number, (member, field) in enumerate(zip(declared.fields, fields, strict=True)):
                out[member.name] = field.convert(values[f"f{number}"])
            return out

        return SentValues(np.dtype([(f"f{number}", field.dtype) for number, field in enumerate(fields)]), convert)

    def values(self, type_name: TypeName, count: int) -> NDArray[Any]:
        """Read values of a fixed-size type: shape (count,), the type's dtype."""
        if not count:
            return np.empty(0, numpy_dtype(descr(type_name, self.types)))
        form = self.element(type_name)
        size = count * form.dtype.itemsize
        self.check_left(size, f"{count} values of type {type_name}")
        return self.convert(form, np.frombuffer(self.data, form.dtype, count, self.at), size)

    def convert(self, form: SentValues, values: NDArray[Any], size: int) -> NDArray[Any]:
        """Convert values that begin here, and go `size` bytes on."""
        try:
            decoded_values = form.convert(values)
        except ValueError as fault:
            raise BrokenValuesError(str(fault), self.at) from None
        self.at += size
        return decoded_values


def decode_arrays(wire: Wire, type_name: TypeName, shape: tuple[int, ...], *, array: bool) -> Parts:
    """Read the values of a variable as arrays in memory by part. Raises BrokenValuesError.

    `array`: the variable is sent as an array, not as one value.
    """
    columns: dict[str, list[Any]] = {}
    _cells(wire, part_tree(type_name, wire.types), type_name, math.prod(shape), array=array, columns=columns)
    return {
        part.path: in_memory(descr(part.type, wire.types), _join(part, columns.get(part.path, []), wire.types))
        for part in parts(type_name, shape, wire.types)
    }


def all_values(arrays: Parts) -> dict[str, NDArray[Any]]:
    """Return the values of arrays by part, in their shapes and dtypes."""
    return {path: array.read(all_of(array.layout.shape)) for path, array in arrays.items()}


def in_memory(dtype: Descr, values: NDArray[Any]) -> ArrayInMemory:
    """Return values in memory as an array in one chunk."""
    return ArrayInMemory(in_one_piece(dtype, values.shape), values)


def numbers_in_file(wire: Wire, file: FileBytes, dtype: Descr, shape: tuple[int, ...]) -> AffineArray:
    """Return an array of numbers that begins here in a file, and go on behind it. Raises BrokenValuesError."""
    width = itemsize(dtype)
    size = math.prod(shape) * width
    wire.check_left(size, f"an array of {math.prod(shape)} elements")
    chunks = next(even_chunks(shape, width), shape)
    layout = Layout(dtype, shape, tuple(max(1, length) for length in chunks))
    numbers = AffineArray(layout, file, wire.at, math.prod(shape[1:]) * width)
    wire.at += size
    return numbers


def _cells(
    wire: Wire, tree: PartTree, type_name: TypeName, count: int, *, array: bool, columns: dict[str, list[Any]]
) -> None:
    """Read cells of one type, and add them to the columns so far."""
    match tree:
        case PartLeaf():
            if array:
                wire.array(type_name, count)
            if tree.type == "string":
                columns.setdefault(tree.path, []).extend(wire.text() for _ in range(count))
                return
            read = wire.array_values if array else wire.values
            columns.setdefault(tree.path, []).append(read(tree.type, count))
        case ListTree():
            counts = columns.setdefault(tree.counts.path, [])
            for _ in range(count):
                if isinstance(tree.content, PartLeaf) and tree.content.type != "string":
                    rows = wire.row_values(tree.base)
                    columns.setdefault(tree.content.path, []).append(rows)
                    counts.append(len(rows))
                    continue
                number = 0
                for _ in wire.rows():
                    _cells(wire, tree.content, tree.base, 1, array=False, columns=columns)
                    number += 1
                counts.append(number)
        case RecordTree():
            if array:
                wire.array(type_name, count)
            for _ in range(count):
                for field, inner in tree.members:
                    length = math.prod(field.shape)
                    _cells(wire, inner, field.type, length, array=bool(field.shape), columns=columns)
        case _:
            assert_never(tree)


def _join(part: Part, pieces: list[Any], types: Types) -> NDArray[Any]:
    """Return one column: an array of the part's shape, with the length of a ragged dimension as it was read."""
    if part.counts:
        values = np.array(pieces, np.int64)
    elif part.type == "string":
        values = np.empty(len(pieces), object)
        values[:] = pieces
    else:
        dtype = numpy_dtype(descr(part.type, types))
        values = np.concatenate(pieces) if pieces else np.empty(0, dtype)
    inner = [length for length in part.shape[1:] if length is not None]
    if part.shape and part.shape[0] is None:
        return values.reshape(len(values) // max(1, math.prod(inner)), *inner)
    return values.reshape([length or 0 for length in part.shape])


def check_size(type_name: TypeName, types: Types) -> None:
    """Check that elements of a fixed-size type are not too large. Raises ValueError."""
    if is_fixed(type_name, types) and _size(type_name, types) > LARGEST:
        raise ValueError(f"its elements have more than {LARGEST} bytes")


def _size(type_name: TypeName, types: Types) -> int:
    declared = types.get(type_name)
    if isinstance(declared, CompoundType):
        return sum(_size(member.type, types) * math.prod(member.shape) for member in declared.fields)
    return declared.size if isinstance(declared, OpaqueType) else 8
