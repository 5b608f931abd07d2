"""Documents of Awkward 0.x persistence: expressions as JSON, and those of variables for all storages."""

import json
import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from nczarr.arrays.sources.bands import BlobWrite, elements
from nczarr.arrays.sources.source import ArraySource, Descr, itemsize
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types, descr, part_tree
from nczarr.ast import CompoundType

Expression: TypeAlias = dict[str, Any]

SIGNATURE = "0.15.5"
"""awkward0 release whose document format is written."""

DEEPEST = 100
"""Our reader's default limit for levels of expressions, and of brackets in a JSON value."""

SHARED = range(-5, 257)
"""Integers that CPython caches, so that awkward0's writer shares one object for each."""


class ExpressionIds:
    """Ids of expressions, assigned depth first when an expression begins.

    awkward0 also numbers constants such as lengths, equal small ones once. The
    same numbers are used here, so blobs get awkward0's names; but constants are
    repeated, never referenced.
    """

    def __init__(self) -> None:
        self._next = 0
        self._constants: set[tuple[type, object]] = set()

    def next(self) -> int:
        """Return the id of an expression that begins here."""
        self._next += 1
        return self._next - 1

    def constant(self, value: Any) -> Expression:
        """Return a JSON constant, without an id if awkward0 would refer to an earlier one."""
        if value is None or isinstance(value, str) or (isinstance(value, int) and value in SHARED):
            key = (type(value), value)
            if key in self._constants:
                return constant(value)
            self._constants.add(key)
        return {**constant(value), "id": self.next()}


def call(name: str, *args: Expression | bool | int | None, number: int | None = None) -> Expression:
    """Return a call of a function of awkward0, optionally with an id. Arguments that are no expressions are constants.

    `{"call": ["awkward0", "Table", "frompairs"], …}`
    """
    items = [arg if isinstance(arg, dict) else constant(arg) for arg in args]
    expression: Expression = {"call": ["awkward0", *name.split(".")], "args": items}
    if number is not None:
        expression["id"] = number
    return expression


def inflate(raw: Expression, function: Iterable[str] = ("zlib", "decompress")) -> Expression:
    """Return a decompressor call."""
    return {"call": list(function), "args": [raw]}


def buffer(raw: Expression, described: Any, count: Expression | int, number: int | None = None) -> Expression:
    """Return `count` elements of a type (the JSON of a dtype) from the start of the bytes."""
    return call("numpy.frombuffer", raw, {"dtype": described}, count, number=number)


def constant(value: Any) -> Expression:
    """Return a JSON value."""
    return {"json": value}


def table(columns: Iterable[tuple[str, Expression]], number: int | None = None) -> Expression:
    """Return records, as long as the shortest column."""
    return call("Table.frompairs", {"pairs": [[name, column] for name, column in columns]}, 0, number=number)


def chunks(pieces: Iterable[Expression], sizes: Iterable[int], number: int | None = None) -> Expression:
    """Return consecutive pieces of one array, with their lengths."""
    return call("ChunkedArray", {"list": list(pieces)}, constant(list(sizes)), number=number)


def document(
    schema: Expression, *, prefix: str = "", doc: str | None = None, metadata: Mapping[str, Any] | None = None
) -> Expression:
    """Return the document: `{"awkward0": "0.15.5", "schema": {…}, "prefix": "v-"}`, without an empty prefix."""
    made: Expression = {"awkward0": SIGNATURE}
    if doc is not None:
        made["doc"] = doc
    if metadata is not None:
        made["metadata"] = dict(metadata)
    made["schema"] = schema
    if prefix:
        made["prefix"] = prefix
    return made


def encode(made: Expression) -> bytes:
    """Return a document as ASCII JSON, as awkward0 requires. Raises ValueError for NaN and infinities."""
    return json.dumps(made, ensure_ascii=True, allow_nan=False).encode("ascii")


class NoExpressionError(Exception):
    """An array that no expression can represent."""


class ExpressionBuilder(ABC):
    """Builder of a variable's expression over the blobs of a storage, with depth-first ids.

    `blobs`: those that must be written, in order; their keys are number and
    `suffix`. Methods raise NoExpressionError.
    """

    suffix = ""

    def __init__(self, types: Types) -> None:
        self._types = types
        self._numbers = ExpressionIds()
        self.blobs: list[BlobWrite] = []

    @abstractmethod
    def _length(self, part: str) -> int:
        """Return the length of a content array."""

    @abstractmethod
    def _flat(self, part: str, type_name: str, count: int, rows: tuple[int, ...]) -> Expression:
        """Return `count` items of an array in C order, each `rows` fixed-size values or texts."""

    def _packs(self, element: Descr, size: int) -> bool:
        """Return whether a new blob of elements is compressed."""
        return False

    def column(self, type_name: str, count: int, rows: tuple[int, ...] = ()) -> Expression:
        """Return `count` items of `rows` values each. Raises NoExpressionError."""
        return self._column(part_tree(type_name, self._types), count, rows)

    def _column(self, tree: PartTree, count: int, rows: tuple[int, ...]) -> Expression:
        """Return the expression of `count` items of a type: lists as JaggedArray, records as Table, else flat."""
        match tree:
            case ListTree():
                number = self._numbers.next()
                counts = self._flat(tree.counts.path, "int64", count, rows)
                first: PartTree = tree.content  # whose first array has the length of all
                while isinstance(first, RecordTree):
                    first = first.members[0][1]
                length = self._length(first.counts.path if isinstance(first, ListTree) else first.path)
                return call("JaggedArray.fromcounts", counts, self._column(tree.content, length, ()), number=number)
            case RecordTree():
                if rows:
                    raise NoExpressionError("an array of records in several parts")
                number = self._numbers.next()
                columns = [(field.name, self._column(inner, count, field.shape)) for field, inner in tree.members]
                return table(columns, number)
            case PartLeaf():
                return self._flat(tree.path, tree.type, count, rows)

    def _records(self, source: ArraySource, type_name: str, count: int, inside: tuple[str, ...] = ()) -> Expression:
        """Return fixed-size records as a table with a blob per member; arrays of records remain structured elements."""
        declared = self._types[type_name]
        assert isinstance(declared, CompoundType)
        number = self._numbers.next()
        columns: list[tuple[str, Expression]] = []
        for field in declared.fields:
            members = (*inside, field.name)
            if isinstance(self._types.get(field.type), CompoundType) and not field.shape:
                columns.append((field.name, self._records(source, field.type, count, members)))
            else:
                columns.append((field.name, self._elements(source, field.type, count, field.shape, members)))
        return table(columns, number)

    def _elements(
        self, source: ArraySource, type_name: str, count: int, rows: tuple[int, ...], members: tuple[str, ...] = ()
    ) -> Expression:
        """Return elements in a new blob; `members`: path to them in the source elements."""
        element = descr(type_name, self._types)
        size = count * math.prod(rows) * itemsize(element)
        number = self._numbers.next()
        blob = BlobWrite(number, lambda: elements(source, members), size, self._packs(element, size))
        return self._add(blob, describe_rows(element, rows), count)

    def _add(self, blob: BlobWrite, element: Any, count: int) -> Expression:
        self.blobs.append(blob)
        raw: Expression = {"read": f"{blob.number}{self.suffix}"}
        return buffer(inflate(raw) if blob.packed else raw, element, count, blob.number)


def describe_rows(descr: Descr, rows: tuple[int, ...]) -> Any:
    """Return the JSON of a dtype for rows of elements, of an element if `rows` is empty."""
    element: Any = descr
    if not isinstance(descr, str):
        element = [[name, describe_rows(field, shape)] for name, field, shape in descr]
    return [element, list(rows)] if rows else element
