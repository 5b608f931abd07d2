"""Parts of variables (`nczarr.arrays.values.parts`) as Awkward 0.x expressions, for all storages.

`Arrays.flat` is specific to the storage; lists and records are composed here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.parts import ListTree, PartLeaf, PartTree, RecordTree, Types, descr, part_tree
from nczarr.ast import CompoundType
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression, ExpressionIds


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
    return expressions.table(columns, number)


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
                return expressions.from_counts(counts, content, number)
            case RecordTree():
                if rows:
                    raise NoExpressionError("an array of records in several parts")
                number = self._numbers.next()
                columns = [(field.name, self._column(inner, count, field.shape)) for field, inner in tree.members]
                return expressions.table(columns, number)
            case PartLeaf():
                return self._arrays.flat(tree.path, tree.type, count, rows, self._numbers)

    def _length(self, tree: PartTree) -> int:
        """Return the content length, from its first array."""
        while isinstance(tree, RecordTree):
            tree = tree.members[0][1]
        return self._arrays.length(tree.counts.path if isinstance(tree, ListTree) else tree.path)
