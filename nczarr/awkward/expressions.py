"""Documents of Awkward 0.x persistence from plain arguments: expressions as JSON.

Pure: nothing here knows an array. Who writes arrays hands in what `frombuffer` needs: the name of a blob, the JSON of
its elements' type, and how many there are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

Expression: TypeAlias = dict[str, Any]

SIGNATURE = "0.15.5"
"""The release of awkward0 whose documents these are."""

DEEPEST = 100
"""Levels of expressions, and of brackets in a JSON value, that our reader takes if it is not told otherwise."""

SHARED = range(-5, 257)
"""Integers of which awkward0's writer, by the nature of its language, has one object each."""


class Numbers:
    """Ids of expressions, depth first: an expression takes the next when its writing begins.

    awkward0 numbers lengths and other constants as well, equal small ones once. Ours take the same numbers, so blobs
    have the names that awkward0 gives them; but a constant is written out each time and never referred to.
    """

    def __init__(self) -> None:
        self._next = 0
        self._constants: set[tuple[type, object]] = set()

    def next(self) -> int:
        """The id of an expression that begins here."""
        self._next += 1
        return self._next - 1

    def constant(self, value: Any) -> Expression:
        """A JSON constant: with an id where awkward0 would give it one, without where it would refer to the first."""
        if value is None or isinstance(value, str) or (isinstance(value, int) and value in SHARED):
            key = (type(value), value)
            if key in self._constants:
                return constant(value)
            self._constants.add(key)
        return {**constant(value), "id": self.next()}


def call(function: Iterable[str], *args: Expression, number: int | None = None) -> Expression:
    """A function of these arguments, with an id or without: `{"call": ["awkward0", "Table", "frompairs"], …}`."""
    made: Expression = {"call": list(function)}
    if args:
        made["args"] = list(args)
    if number is not None:
        made["id"] = number
    return made


def awkward(*names: str) -> tuple[str, ...]:
    """A class or function of awkward0: `awkward("JaggedArray", "fromcounts")`."""
    return ("awkward0", *names)


def read(name: str, *, absolute: bool = False) -> Expression:
    """The bytes of a blob; `absolute`: its whole key, else what follows the document's prefix."""
    return {"read": name, "absolute": True} if absolute else {"read": name}


def inflated(raw: Expression, function: Iterable[str] = ("zlib", "decompress")) -> Expression:
    """What a decompressor makes of bytes."""
    return call(function, raw)


def buffer(raw: Expression, described: Any, count: Expression, number: int | None = None) -> Expression:
    """`count` elements of a type (the JSON of a dtype) from the start of these bytes."""
    function = awkward("numpy", "frombuffer")
    return call(function, raw, {"dtype": described}, count, number=number)


def constant(value: Any) -> Expression:
    """A value that JSON holds as it is."""
    return {"json": value}


def reference(number: int) -> Expression:
    """What the expression with this id is."""
    return {"ref": number}


def listed(items: Iterable[Expression]) -> Expression:
    """A list."""
    return {"list": list(items)}


def tupled(items: Iterable[Expression]) -> Expression:
    """A tuple."""
    return {"tuple": list(items)}


def named(items: Iterable[tuple[str, Expression]]) -> Expression:
    """A dictionary."""
    return {"dict": dict(items)}


def pairs(items: Iterable[tuple[str, Expression]]) -> Expression:
    """Names and values in their order, as the columns of a table."""
    return {"pairs": [[name, value] for name, value in items]}


def function(names: Iterable[str]) -> Expression:
    """A function itself, which the reader does not call."""
    return {"function": list(names)}


def from_counts(counts: Expression, content: Expression, number: int | None = None) -> Expression:
    """Lists of so many items each, one behind the other in `content`."""
    return call(awkward("JaggedArray", "fromcounts"), counts, content, number=number)


def texts_from_counts(
    counts: Expression, content: Expression, encoding: Expression, number: int | None = None
) -> Expression:
    """Texts of so many bytes each, one behind the other in `content`."""
    return call(awkward("StringArray", "fromcounts"), counts, content, encoding, number=number)


def table(columns: Iterable[tuple[str, Expression]], number: int | None = None) -> Expression:
    """Records, as long as the shortest column."""
    return call(awkward("Table", "frompairs"), pairs(columns), constant(0), number=number)


def chunks(pieces: Iterable[Expression], sizes: Iterable[int], number: int | None = None) -> Expression:
    """Pieces of one array, one behind the other, and how long each is."""
    return call(awkward("ChunkedArray"), listed(pieces), constant(list(sizes)), number=number)


def nesting(expression: Expression) -> int:
    """How many levels of expressions one has; an expression without others has one."""
    levels, here = 0, [expression]
    while here:
        levels += 1
        here = [inner for each in here for inner in _inner(each)]
    return levels


def _inner(expression: Expression) -> list[Expression]:
    """The expressions directly in one."""
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
    """The whole document: `{"awkward0": "0.15.5", "schema": {…}, "prefix": "v-"}`; an empty prefix is left out."""
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
    """A document as ASCII JSON, which is all that awkward0 reads. Raises ValueError for NaN and the infinities."""
    return json.dumps(made, ensure_ascii=True, allow_nan=False).encode("ascii")
