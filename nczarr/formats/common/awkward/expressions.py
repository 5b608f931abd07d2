"""Documents of Awkward 0.x persistence: expressions as JSON, from plain arguments.

Independent of arrays: callers provide blob name, element type (JSON) and count
for `frombuffer`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

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


def call(function: Iterable[str], *args: Expression, number: int | None = None) -> Expression:
    """Return a function call, optionally with an id: `{"call": ["awkward0", "Table", "frompairs"], …}`."""
    made: Expression = {"call": list(function)}
    if args:
        made["args"] = list(args)
    if number is not None:
        made["id"] = number
    return made


def awkward(*names: str) -> tuple[str, ...]:
    """Return the name of an awkward0 class or function: `awkward("JaggedArray", "fromcounts")`."""
    return ("awkward0", *names)


def read(name: str, *, absolute: bool = False) -> Expression:
    """Return the bytes of a blob; `absolute`: by whole key, without the document's prefix."""
    return {"read": name, "absolute": True} if absolute else {"read": name}


def inflated(raw: Expression, function: Iterable[str] = ("zlib", "decompress")) -> Expression:
    """Return a decompressor call."""
    return call(function, raw)


def buffer(raw: Expression, described: Any, count: Expression, number: int | None = None) -> Expression:
    """Return `count` elements of a type (the JSON of a dtype) from the start of the bytes."""
    function = awkward("numpy", "frombuffer")
    return call(function, raw, {"dtype": described}, count, number=number)


def constant(value: Any) -> Expression:
    """Return a JSON value."""
    return {"json": value}


def reference(number: int) -> Expression:
    """Return a reference to the expression with this id."""
    return {"ref": number}


def listed(items: Iterable[Expression]) -> Expression:
    """Return a list."""
    return {"list": list(items)}


def tupled(items: Iterable[Expression]) -> Expression:
    """Return a tuple."""
    return {"tuple": list(items)}


def named(items: Iterable[tuple[str, Expression]]) -> Expression:
    """Return a dictionary."""
    return {"dict": dict(items)}


def pairs(items: Iterable[tuple[str, Expression]]) -> Expression:
    """Return ordered names and values, such as table columns."""
    return {"pairs": [[name, value] for name, value in items]}


def function(names: Iterable[str]) -> Expression:
    """Return a function that is not called."""
    return {"function": list(names)}


def from_counts(counts: Expression, content: Expression, number: int | None = None) -> Expression:
    """Return consecutive lists with these item counts."""
    return call(awkward("JaggedArray", "fromcounts"), counts, content, number=number)


def texts_from_counts(
    counts: Expression, content: Expression, encoding: Expression, number: int | None = None
) -> Expression:
    """Return consecutive texts with these byte counts."""
    return call(awkward("StringArray", "fromcounts"), counts, content, encoding, number=number)


def table(columns: Iterable[tuple[str, Expression]], number: int | None = None) -> Expression:
    """Return records, as long as the shortest column."""
    return call(awkward("Table", "frompairs"), pairs(columns), constant(0), number=number)


def chunks(pieces: Iterable[Expression], sizes: Iterable[int], number: int | None = None) -> Expression:
    """Return consecutive pieces of one array, with their lengths."""
    return call(awkward("ChunkedArray"), listed(pieces), constant(list(sizes)), number=number)


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
