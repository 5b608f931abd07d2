"""Evaluation of a document and its blobs: arrays as columns, other values unchanged.

An expression with an id is evaluated once, on first use, so references may
precede it. A reference to an enclosing array stays one (`BackReference`). The unshared
size of each value is limited, because traversals do not share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, assert_never

from nczarr.formats.awkward0.columns.nodes import BackReference, Column
from nczarr.formats.awkward0.read import constructors as make
from nczarr.formats.awkward0.read import lists
from nczarr.formats.awkward0.read.arguments import Argument, Arguments
from nczarr.formats.awkward0.read.array_values import ValueCost
from nczarr.formats.awkward0.read.whitelist import allows
from nczarr.formats.awkward0.read.workspace import FunctionOfDocument, Workspace
from nczarr.formats.awkward0.wire import dtypes
from nczarr.formats.awkward0.wire.blobs import DECOMPRESSORS, Blobs, PackedBlob, StoredBlob
from nczarr.formats.awkward0.wire.documents import (
    AnyExpression,
    AwkwardDocument,
    DictOf,
    Dtype,
    FunctionCall,
    FunctionName,
    JsonExpression,
    ListOf,
    Pairs,
    Python,
    Read,
    Ref,
    TupleOf,
)
from nczarr.formats.awkward0.wire.limits import At, Limits, UnreadableDocumentError, shown


class TableFunction(NamedTuple):
    """A function of the table."""

    parameters: tuple[str, ...]
    """Parameters in order."""
    required: int
    """Number of required parameters."""
    make: Callable[[Arguments], Any]
    """Implementation."""


def _decompress(module: str) -> TableFunction:
    def made(arguments: Arguments) -> PackedBlob:
        value = arguments.value("data")
        if not isinstance(value, StoredBlob | PackedBlob):
            raise arguments.wrong("data", "bytes of a blob")
        return PackedBlob(module, value)

    return TableFunction(("data",), 1, made)


def _function(make: Callable[[Arguments], Any], parameters: str, required: int) -> TableFunction:
    return TableFunction(tuple(parameters.split()), required, make)


def _ragged(make: Callable[..., Any], parameters: str, *, texts: bool = False) -> TableFunction:
    """Return a function for lists, or for texts with a final parameter `encoding`."""
    names = tuple(parameters.split())
    return TableFunction((*names, "encoding") if texts else names, len(names), partial(make, texts=texts))


FUNCTIONS: dict[tuple[str, ...], TableFunction] = {
    ("numpy", "frombuffer"): _function(make.from_buffer, "buffer dtype count offset", 1),
    ("awkward0", "JaggedArray"): _ragged(lists.of_spans, "starts stops content"),
    ("awkward0", "JaggedArray", "fromcounts"): _ragged(lists.of_counts, "counts content"),
    ("awkward0", "JaggedArray", "fromoffsets"): _ragged(lists.of_offsets, "offsets content"),
    ("awkward0", "StringArray"): _ragged(lists.of_spans, "starts stops content", texts=True),
    ("awkward0", "StringArray", "fromcounts"): _ragged(lists.of_counts, "counts content", texts=True),
    ("awkward0", "StringArray", "fromoffsets"): _ragged(lists.of_offsets, "offsets content", texts=True),
    ("awkward0", "Table"): _function(make.table, "columns1", 0),
    ("awkward0", "Table", "frompairs"): _function(make.table_of_pairs, "pairs rowstart", 1),
    ("awkward0", "Table", "fromview"): _function(make.table_view, "view base", 2),
    ("awkward0", "MaskedArray"): _function(make.masked, "mask content maskedwhen", 2),
    ("awkward0", "BitMaskedArray"): _function(make.bit_masked, "mask content maskedwhen lsborder", 2),
    ("awkward0", "IndexedMaskedArray"): _function(make.indexed_masked, "mask content maskedwhen", 2),
    ("awkward0", "IndexedArray"): _function(make.indexed, "index content", 2),
    ("awkward0", "SparseArray"): _function(make.sparse, "length index content default", 3),
    ("awkward0", "UnionArray"): _function(make.union, "tags index contents", 3),
    ("awkward0", "UnionArray", "fromtags"): _function(make.union_of_tags, "tags contents", 2),
    ("awkward0", "ChunkedArray"): _function(make.chunked, "chunks chunksizes", 1),
    ("awkward0", "AppendableArray"): _function(make.appendable, "chunkshape dtype chunks", 2),
    ("awkward0", "ObjectArray"): _function(make.objects, "content generator args kwargs", 2),
    ("awkward0", "VirtualArray"): _function(
        make.virtual, "generator args kwargs cache persistentkey type nbytes persistvirtual", 1
    ),
    ("awkward0.persist", "json2type"): _function(make.type_, "obj whitelist", 1),
    **{(module, "decompress"): _decompress(module) for module in DECOMPRESSORS},
}
"""Functions by canonical name."""

_MODULES = {
    "JaggedArray": "jagged",
    "StringArray": "objects",
    "ObjectArray": "objects",
    "Table": "table",
    "MaskedArray": "masked",
    "BitMaskedArray": "masked",
    "IndexedMaskedArray": "masked",
    "IndexedArray": "indexed",
    "SparseArray": "indexed",
    "UnionArray": "union",
    "ChunkedArray": "chunked",
    "AppendableArray": "chunked",
    "VirtualArray": "virtual",
}
"""Module below awkward0.array, by class."""


def current(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Replace the module `awkward` in a name by `awkward0`."""
    module, dot, below = parts[0].partition(".")
    return (f"awkward0{dot}{below}", *parts[1:]) if module == "awkward" else parts


def canonical(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name that the table would use for a function."""
    parts = current(parts)
    if parts in (("awkward0", "numpy", "frombuffer"), ("awkward0.util", "frombuffer")):
        return ("numpy", "frombuffer")
    if parts in (("awkward0.util", "numpy", "frombuffer"), ("awkward0", "util", "frombuffer")):
        return ("numpy", "frombuffer")
    if parts == ("awkward0", "persist", "json2type"):
        return ("awkward0.persist", "json2type")
    if len(parts) > 1 and parts[1] in _MODULES and parts[0] == f"awkward0.array.{_MODULES[parts[1]]}":
        return ("awkward0", *parts[1:])
    return parts


_OPEN = object()
"""Marker of a value under evaluation."""


class Evaluation:
    """Evaluation of one document. Methods raise UnreadableDocumentError, and errors of the storage."""

    def __init__(
        self, document: AwkwardDocument, blobs: Blobs, allowed: tuple[tuple[str, ...], ...] | None, limits: Limits
    ) -> None:
        self._document = document
        self._allowed = allowed
        self._limits = limits
        self._workspace = Workspace(blobs, limits)
        self._values: dict[int, Any] = {}
        self._enclosing: list[tuple[BackReference, At]] = []
        self._depth = 0

    def result(self) -> Any:
        """Return the value of the document. Raises UnreadableDocumentError."""
        value = self._value(self._document.schema)
        for later, at in self._enclosing:
            target = self._values[later.id]
            if isinstance(target, BackReference) or not isinstance(target, Column):
                raise UnreadableDocumentError(
                    "bad-awkward-expression", "the reference points to itself, not to an array", at
                )
        for later, check in self._workspace.checks:
            check(len(later))
        return self._workspace.finished(value)

    # values of expressions

    def _value(self, expression: AnyExpression) -> Any:
        if expression.id in self._values:  # and not open: only a reference leads to what is in the making
            return self._values[expression.id]
        self._depth += 1
        if self._depth > self._limits.nesting:
            text = f"expressions and their references are nested deeper than the limit, {self._limits.nesting}"
            raise UnreadableDocumentError("oversized-awkward", text, expression.at)
        if expression.id is not None:
            self._values[expression.id] = _OPEN
        try:
            value = self._made(expression)
            self._workspace.measured(value, expression.at)
        except UnreadableDocumentError as error:
            error.at = error.at or expression.at
            raise
        self._depth -= 1
        if expression.id is not None:
            self._values[expression.id] = value
        return value

    def _made(self, expression: AnyExpression) -> Any:
        match expression:
            case FunctionCall():
                args = [Argument(self._value(item), item.at) for item in expression.args]
                kwargs = {name: Argument(self._value(item), item.at) for name, item in expression.named.items()}
                return self._called(expression.call, args, kwargs, expression.at)
            case Read():
                prefix = "" if expression.absolute else self._document.prefix
                return self._workspace.blobs.read(prefix + expression.read, absolute=expression.absolute)
            case ListOf():
                return [self._value(item) for item in expression.items]
            case TupleOf():
                return tuple(self._value(item) for item in expression.items)
            case DictOf():
                return {name: self._value(item) for name, item in expression.items.items()}
            case Pairs():
                return [(name, self._value(item)) for name, item in expression.pairs]
            case Dtype():
                return dtypes.of_json(expression.dtype)
            case FunctionName():
                if not allows(self._allowed, expression.function, current(expression.function)):
                    raise _forbidden(expression.function, "is not in the given whitelist")
                return FunctionOfDocument(expression.function)
            case JsonExpression():
                cost = ValueCost(0, 1, 1)  # it is as large as the document says
                self._workspace.measures[id(expression.value)] = (expression.value, cost)
                return expression.value
            case Python():
                text = "`python` contains a pickled object, and unpickling can run any code"
                raise UnreadableDocumentError("forbidden-function", text)
            case Ref():
                return self._referred(expression)
            case _:
                assert_never(expression)

    def _referred(self, reference: Ref) -> Any:
        if self._values.get(reference.ref) is not _OPEN:
            return self._value(self._document.ids[reference.ref])
        values = self._values
        later = BackReference(reference.ref, lambda: values[reference.ref])
        self._enclosing.append((later, reference.at))
        return later

    def _called(self, parts: tuple[str, ...], args: list[Argument], kwargs: dict[str, Argument], at: At | None) -> Any:
        """Return the result of a table function."""
        function = FUNCTIONS.get(canonical(parts))
        if function is None:
            raise _forbidden(parts, "is unknown")
        if not allows(self._allowed, parts, current(parts)):
            raise _forbidden(parts, "is not in the given whitelist")
        name = ".".join(canonical(parts)).removeprefix("awkward0.")
        values = dict(zip(function.parameters, args, strict=False))
        fault = None
        if len(args) > len(function.parameters):
            fault = f"it takes {len(function.parameters)} arguments, not {len(args)}"
        elif twice := [argument for argument in kwargs if argument in values]:
            fault = f"`{twice[0]}` is given twice"
        elif unknown := [argument for argument in kwargs if argument not in function.parameters]:
            fault = f"it has no parameter {shown(unknown[0])}"
        values |= kwargs
        missing = [parameter for parameter in function.parameters[: function.required] if parameter not in values]
        if fault is None and missing:
            fault = f"`{missing[0]}` is missing"
        if fault is not None:
            raise UnreadableDocumentError("bad-awkward-expression", f"{name}: {fault}", at)
        return function.make(Arguments(name, values, at, self._workspace, self._apply))

    def _apply(self, function: FunctionOfDocument, args: tuple[Any, ...], kwargs: dict[str, Any], at: At | None) -> Any:
        """Call a function that a value names."""
        named = {name: Argument(value, at) for name, value in kwargs.items()}
        return self._called(function.parts, [Argument(value, at) for value in args], named, at)


def _forbidden(parts: tuple[str, ...], why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError("forbidden-function", f"the function {shown('.'.join(parts))} {why}")
