"""Documents of Awkward 0.x persistence: expressions as JSON, from plain arguments.

Independent of arrays: callers provide blob name, element type (JSON) and count
for `frombuffer`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Protocol, TypeAlias

from nczarr.arrays.sources.source import Descr
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


def inflated(raw: Expression, function: Iterable[str] = ("zlib", "decompress")) -> Expression:
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
    pairs = [[name, column] for name, column in columns]
    return call("Table.frompairs", {"pairs": pairs}, 0, number=number)


def chunks(pieces: Iterable[Expression], sizes: Iterable[int], number: int | None = None) -> Expression:
    """Return consecutive pieces of one array, with their lengths."""
    return call("ChunkedArray", {"list": list(pieces)}, constant(list(sizes)), number=number)


def nesting(expression: Expression) -> int:
    """Return the number of expression levels; 1 without inner expressions."""
    levels, here = 0, [expression]
    while here:
        levels += 1
        here = [inner for each in here for inner in _inner(each)]
    return levels


def _inner(expression: Expression) -> list[Expression]:
    """Return the direct subexpressions."""
    found: list[Expression] = [
        *expression.get("args", ()),
        *expression.get("kwargs", {}).values(),
        *expression.get("list", ()),
        *expression.get("tuple", ()),
        *expression.get("dict", {}).values(),
    ]
    return found + [inner for _, inner in expression.get("pairs", ())]


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


def encoded(made: Expression) -> bytes:
    """Return a document as ASCII JSON, as awkward0 requires. Raises ValueError for NaN and infinities."""
    return json.dumps(made, ensure_ascii=True, allow_nan=False).encode("ascii")


class NoExpressionError(Exception):
    """An array that no expression can represent."""


class VariableArraysSource(Protocol):
    """Arrays of one variable."""

    def length(self, part: str) -> int:
        """Return the length of a content array."""

    def flat(self, part: str, type_name: str, count: int, rows: tuple[int, ...], numbers: ExpressionIds) -> Expression:
        """Return `count` items of an array in C order, each `rows` fixed-size values or texts.

        Raises NoExpressionError.
        """


def records(
    type_name: str,
    types: Types,
    numbers: ExpressionIds,
    count: int,
    buffer: Callable[[tuple[str, ...], Descr, tuple[int, ...]], Expression],
    inside: tuple[str, ...] = (),
) -> Expression:
    """Return fixed-size records as a table with a column per member; arrays of records remain structured elements.

    `buffer` returns a column from its member path, elements, and shape of one
    value.
    """
    declared = types[type_name]
    assert isinstance(declared, CompoundType)
    number = numbers.next()
    columns: list[tuple[str, Expression]] = []
    for field in declared.fields:
        members = (*inside, field.name)
        if isinstance(types.get(field.type), CompoundType) and not field.shape:
            columns.append((field.name, records(field.type, types, numbers, count, buffer, members)))
        else:
            columns.append((field.name, buffer(members, descr(field.type, types), field.shape)))
    return table(columns, number)


class ExpressionBuilder:
    """Builder of a variable's expression, with depth-first ids."""

    def __init__(self, arrays: VariableArraysSource, types: Types) -> None:
        self._arrays = arrays
        self._types = types
        self._numbers = ExpressionIds()

    def column(self, type_name: str, count: int, rows: tuple[int, ...] = ()) -> Expression:
        """Return `count` items of `rows` values each. Raises NoExpressionError."""
        return self._column(part_tree(type_name, self._types), count, rows)

    def _column(self, tree: PartTree, count: int, rows: tuple[int, ...]) -> Expression:
        match tree:
            case ListTree():
                number = self._numbers.next()
                counts = self._arrays.flat(tree.counts.path, "int64", count, rows, self._numbers)
                content = self._column(tree.content, self._length(tree.content), ())
                return call("JaggedArray.fromcounts", counts, content, number=number)
            case RecordTree():
                if rows:
                    raise NoExpressionError("an array of records in several parts")
                number = self._numbers.next()
                columns = [(field.name, self._column(inner, count, field.shape)) for field, inner in tree.members]
                return table(columns, number)
            case PartLeaf():
                return self._arrays.flat(tree.path, tree.type, count, rows, self._numbers)

    def _length(self, tree: PartTree) -> int:
        """Return the content length, from its first array."""
        while isinstance(tree, RecordTree):
            tree = tree.members[0][1]
        return self._arrays.length(tree.counts.path if isinstance(tree, ListTree) else tree.path)
