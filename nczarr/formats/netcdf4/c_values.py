"""Values in the netCDF library's memory layout: C structs with C alignment, pointers to texts and lists.

It mirrors `parts(T)`: a fixed-size type is its bytes, with records aligned as
by a C compiler; a string is a pointer to NUL-terminated text, NIL a null
pointer; a vlen is a length and a pointer. Targets live as long as their
`CValues`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, NamedTuple, assert_never

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.arrays.regions import all_of
from nczarr.arrays.sources.source import ArraySource, Parts, numpy_dtype
from nczarr.arrays.values.parts import (
    NUMPY,
    ListTree,
    PartLeaf,
    PartTree,
    RecordTree,
    Types,
    descr,
    part_tree,
    spread,
    struct,
)
from nczarr.arrays.values.value_lists import constant_parts
from nczarr.ast import CompoundType, Constant, EnumType, OpaqueType, VlenType

POINTER = "=u8"


class CValues(NamedTuple):
    """Values as contiguous C structs."""

    array: NDArray[Any]
    """The structs."""
    kept: tuple[Any, ...] = ()
    """Owners of the memory that they point to."""

    @property
    def address(self) -> int:
        """Address of the first struct."""
        return int(self.array.ctypes.data)


def c_dtype(type_name: str, types: Types) -> np.dtype[Any]:
    """Return the C struct of a type as a NumPy dtype in native byte order."""
    declared = types.get(type_name)
    match declared:
        case None:
            return np.dtype(POINTER) if type_name == "string" else np.dtype(NUMPY[type_name]).newbyteorder("=")
        case EnumType():
            return np.dtype(NUMPY[declared.base]).newbyteorder("=")
        case OpaqueType():
            return np.dtype(f"V{declared.size}")
        case VlenType():
            return np.dtype([("length", POINTER), ("address", POINTER)])
        case CompoundType():
            whole = struct(type_name, types)
            return np.dtype(
                {
                    "names": [f"f{number}" for number in range(len(declared.fields))],
                    "formats": [(c_dtype(field.type, types), field.shape) for field in declared.fields],
                    "offsets": list(whole.offsets),
                    "itemsize": whole.size,
                }
            )
        case _:
            assert_never(declared)


def constant_values(constant: Constant, types: Types) -> CValues:
    """Return the values of a constant for an attribute."""
    parts = constant_parts(constant, (constant.count,), types)
    return StructReader(parts, constant.type, types).take(constant.count)


class StructReader:
    """Sequential reader of a type's parts: each `take` returns the next values as C structs.

    Expects the arrays of `parts(T)`, in memory or sliceable; ragged content is
    read as counts require.
    """

    def __init__(self, parts: Parts, type_name: str, types: Types, tree: PartTree | None = None) -> None:
        """Prepare a reader for each child; a list has its counts as source, an atomic part its values."""
        self._tree = tree = part_tree(type_name, types) if tree is None else tree
        self._dtype = c_dtype(type_name, types)
        self._at = 0
        self._source: ArraySource | None = None
        self._children: list[StructReader] = []
        match tree:
            case ListTree():
                self._source = parts[tree.counts.path]
                self._children = [StructReader(parts, tree.base, types, tree.content)]
            case RecordTree():
                self._children = [StructReader(parts, field.type, types, inner) for field, inner in tree.members]
            case PartLeaf():
                self._source = parts[tree.path]

    def take(self, count: int) -> CValues:
        """Return the next `count` values."""
        match self._tree:
            case ListTree():
                return self._take_lists(self._next(count))
            case RecordTree():
                return self._take_records(self._tree, count)
            case PartLeaf(type="string"):
                return texts(self._next(count))
            case _:
                return CValues(recast(self._next(count), self._dtype))

    def own_sources(self) -> list[ArraySource]:
        """Return the arrays whose leading dimensions are those of the variable."""
        if self._source is not None:
            return [self._source]
        return [source for child in self._children for source in child.own_sources()]

    def go_to(self, place: int) -> None:
        """Skip to linear index `place`. Skipped elements are empty: ragged content does not move."""
        self._at = place
        if isinstance(self._tree, RecordTree):
            for (field, _), child in zip(self._tree.members, self._children, strict=True):
                child.go_to(place * math.prod(field.shape))

    def _next(self, count: int) -> NDArray[Any]:
        """Return the next elements of the part's own array, read by rows: shape (count,), the layout's dtype."""
        assert self._source is not None
        shape = self._source.layout.shape
        first, self._at = self._at, self._at + count
        return read_flat(self._source, shape, first, count)

    def _take_lists(self, counts: NDArray[Any]) -> CValues:
        """Return structs `nc_vlen_t` that point into the content, which is read for all at once."""
        content = self._children[0].take(int(counts.sum()))
        out = np.zeros(len(counts), self._dtype)
        out["length"] = counts
        starts = np.concatenate((np.zeros(1, np.int64), np.cumsum(counts)[:-1])) if len(counts) else counts
        addresses = content.address + starts * content.array.dtype.itemsize
        out["address"] = np.where(counts > 0, addresses, 0)
        return CValues(out, content)

    def _take_records(self, tree: RecordTree, count: int) -> CValues:
        """Return C structs of the next `count` records, field by field."""
        out = np.zeros(count, self._dtype)
        members = []
        for number, ((field, _), child) in enumerate(zip(tree.members, self._children, strict=True)):
            member = child.take(count * math.prod(field.shape))
            out[f"f{number}"] = member.array.reshape((count, *field.shape))
            members.append(member)
        return CValues(out, tuple(members))


def read_flat(source: Any, shape: tuple[int, ...], first: int, count: int) -> NDArray[Any]:
    """Return `count` elements from `first` in C order: shape (count,), the source's dtype.

    Reads whole rows of the first axis.
    """
    if not shape:
        return np.ascontiguousarray(source.read(())).reshape(-1)[:count]
    row = math.prod(shape[1:])
    if not count or not row:
        return np.ascontiguousarray(source.read(tuple(slice(0, 0) for _ in shape))).reshape(-1)
    low, high = first // row, -(-(first + count) // row)
    rows = np.ascontiguousarray(source.read((slice(low, high), *all_of(shape[1:]))))
    return rows.reshape(-1)[first - low * row : first - low * row + count]


def recast(values: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Convert fixed-size values: packed ones to C structs, or the reverse.

    Returns an array of the same shape and the given dtype. Fields go by
    position: names differ.
    """
    if dtype.names is None:
        return np.ascontiguousarray(values, dtype).reshape(values.shape)
    assert values.dtype.names is not None
    out = np.zeros(values.shape, dtype)
    for target, name in zip(dtype.names, values.dtype.names, strict=True):
        field = dtype[target].base
        out[target] = values[name] if field.names is None else recast(values[name], field)
    return out


def texts(values: NDArray[Any]) -> CValues:
    """Return pointers to texts: uint64, shape (texts,). `values`: objects (`bytes | None`); None is NIL."""
    pieces = [b"" if text is None else text for text in values.tolist()]
    whole = np.frombuffer(b"\0".join(pieces) + b"\0", np.uint8)
    starts = list(accumulate((len(piece) + 1 for piece in pieces), initial=0))[: len(pieces)]
    out = np.array(starts, POINTER) + np.array(whole.ctypes.data, POINTER)
    for place, text in enumerate(values.tolist()):
        if text is None:
            out[place] = 0
    return CValues(out, (whole,))


def unpack(memory: NDArray[Any], type_name: str, types: Types) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield path and array of each of `parts(T)` for C structs, inverting `StructReader`. Frees nothing.

    `memory`: structs of `c_dtype(T)` in any shape. The arrays have the shapes
    and packed dtypes of their parts; strings are objects (`bytes | None`).
    """
    import ctypes

    def array(leaf: PartLeaf, memory: NDArray[Any]) -> NDArray[Any]:
        """Return the values of one part: counts of lists, numbers, or texts behind pointers."""
        if leaf.counts:
            return memory["length"].astype("<i8")
        if leaf.type != "string":
            return recast(memory, numpy_dtype(descr(leaf.type, types)))
        out = np.empty(memory.shape, object)
        for index, address in np.ndenumerate(memory):
            out[index] = ctypes.string_at(int(address)) if address else None
        return out

    def elements(tree: ListTree, memory: NDArray[Any]) -> NDArray[Any]:
        """Return the elements of all lists, one after the other, copied from behind their pointers."""
        base = c_dtype(tree.base, types)
        pieces = [
            np.frombuffer(ctypes.string_at(int(address), int(length) * base.itemsize), base)
            for length, address in zip(memory["length"].reshape(-1), memory["address"].reshape(-1), strict=True)
            if length
        ]
        return np.concatenate(pieces) if pieces else np.empty(0, base)

    return spread(
        part_tree(type_name, types), memory, array, elements, lambda number, field, memory: memory[f"f{number}"]
    )
