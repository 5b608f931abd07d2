"""Evaluation of a document and its blobs: arrays as columns, other values unchanged.

An expression with an id is evaluated once, on first use, so references may
precede it. A reference to an enclosing array stays one (`BackReference`). The unshared
size of each value is limited, because traversals do not share.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

from nczarr.diagnostics.report import CompileError, Report, Source
from nczarr.plugins.awkward0.columns.nodes import BackReference, Column
from nczarr.plugins.awkward0.read import constructors as make
from nczarr.plugins.awkward0.read.arguments import (
    Argument,
    Arguments,
    FunctionOfDocument,
    Functions,
    Workspace,
    call_function,
    check_functions,
)
from nczarr.plugins.awkward0.read.array_values import ValueCost
from nczarr.plugins.awkward0.wire import documents, dtypes
from nczarr.plugins.awkward0.wire.blobs import DECOMPRESSORS, Blobs, PackedBlob, StoredBlob, lookup
from nczarr.plugins.awkward0.wire.documents import AwkwardDocument, Expression
from nczarr.plugins.awkward0.wire.limits import (
    DEFAULT,
    At,
    Limits,
    UnreadableDocumentError,
    Whitelist,
    allows,
    patterns,
    show,
)
from nczarr.syntax.json.positions import Faults


class TableFunction(NamedTuple):
    """A function of the table."""

    parameters: tuple[str, ...]
    """Parameters in order."""
    required: int
    """Number of required parameters."""
    make: Callable[[Arguments], Any]
    """Implementation."""


def _decompress(module: str) -> TableFunction:
    """Return the constructor of compressed blobs, whose bytes the function of `module` decompresses when needed."""

    def made(arguments: Arguments) -> PackedBlob:
        value = arguments.value("data")
        if not isinstance(value, StoredBlob | PackedBlob):
            raise arguments.wrong("data", "bytes of a blob")
        return PackedBlob(module, value)

    return TableFunction(("data",), 1, made)


def _function(make: Callable[[Arguments], Any], parameters: str, required: int) -> TableFunction:
    return TableFunction(tuple(parameters.split()), required, make)


def _build_lists(make: Callable[..., Any], parameters: str, *, texts: bool = False) -> TableFunction:
    """Return a function for lists, or for texts with a final parameter `encoding`."""
    names = tuple(parameters.split())
    return TableFunction((*names, "encoding") if texts else names, len(names), partial(make, texts=texts))


FUNCTIONS: dict[tuple[str, ...], TableFunction] = {
    ("numpy", "frombuffer"): _function(make.from_buffer, "buffer dtype count offset", 1),
    ("awkward0", "JaggedArray"): _build_lists(make.of_spans, "starts stops content"),
    ("awkward0", "JaggedArray", "fromcounts"): _build_lists(make.of_counts, "counts content"),
    ("awkward0", "JaggedArray", "fromoffsets"): _build_lists(make.of_offsets, "offsets content"),
    ("awkward0", "StringArray"): _build_lists(make.of_spans, "starts stops content", texts=True),
    ("awkward0", "StringArray", "fromcounts"): _build_lists(make.of_counts, "counts content", texts=True),
    ("awkward0", "StringArray", "fromoffsets"): _build_lists(make.of_offsets, "offsets content", texts=True),
    ("awkward0", "Table"): _function(make.table, "columns1", 0),
    ("awkward0", "Table", "frompairs"): _function(make.table_of_pairs, "pairs rowstart", 1),
    ("awkward0", "Table", "fromview"): _function(make.table_view, "view base", 2),
    ("awkward0", "MaskedArray"): _function(make.build_masked, "mask content maskedwhen", 2),
    ("awkward0", "BitMaskedArray"): _function(make.bit_masked, "mask content maskedwhen lsborder", 2),
    ("awkward0", "IndexedMaskedArray"): _function(make.build_indexed_masked, "mask content maskedwhen", 2),
    ("awkward0", "IndexedArray"): _function(make.build_indexed, "index content", 2),
    ("awkward0", "SparseArray"): _function(make.sparse, "length index content default", 3),
    ("awkward0", "UnionArray"): _function(make.union, "tags index contents", 3),
    ("awkward0", "UnionArray", "fromtags"): _function(make.union_of_tags, "tags contents", 2),
    ("awkward0", "ChunkedArray"): _function(make.build_chunked, "chunks chunksizes", 1),
    ("awkward0", "AppendableArray"): _function(make.appendable, "chunkshape dtype chunks", 2),
    ("awkward0", "ObjectArray"): _function(make.objects, "content generator args kwargs", 2),
    ("awkward0", "VirtualArray"): _function(
        make.virtual, "generator args kwargs cache persistentkey type nbytes persistvirtual", 1
    ),
    ("awkward0.persist", "json2type"): _function(lambda arguments: arguments.value("obj"), "obj whitelist", 1),
    **{(module, "decompress"): _decompress(module) for module in DECOMPRESSORS},
}
"""Functions by canonical name."""

_MODULES = {
    "jagged": ("JaggedArray",),
    "objects": ("StringArray", "ObjectArray"),
    "table": ("Table",),
    "masked": ("MaskedArray", "BitMaskedArray", "IndexedMaskedArray"),
    "indexed": ("IndexedArray", "SparseArray"),
    "union": ("UnionArray",),
    "chunked": ("ChunkedArray", "AppendableArray"),
    "virtual": ("VirtualArray",),
}
"""Classes by module below awkward0.array."""

_SPELLINGS: dict[tuple[str, ...], tuple[str, ...]] = {
    ("awkward0", "numpy", "frombuffer"): ("numpy", "frombuffer"),
    ("awkward0.util", "frombuffer"): ("numpy", "frombuffer"),
    ("awkward0.util", "numpy", "frombuffer"): ("numpy", "frombuffer"),
    ("awkward0", "util", "frombuffer"): ("numpy", "frombuffer"),
    ("awkward0", "persist", "json2type"): ("awkward0.persist", "json2type"),
}
"""Names of the table by other names of the same functions."""


def current(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Replace the module `awkward` in a name by `awkward0`."""
    module, dot, below = parts[0].partition(".")
    return (f"awkward0{dot}{below}", *parts[1:]) if module == "awkward" else parts


def canonical(parts: tuple[str, ...]) -> tuple[str, ...]:
    """Return the name that the table would use for a function."""
    parts = current(parts)
    module = parts[0].removeprefix("awkward0.array.")
    if module != parts[0] and len(parts) > 1 and parts[1] in _MODULES.get(module, ()):
        return ("awkward0", *parts[1:])
    return _SPELLINGS.get(parts, parts)


_OPEN = object()
"""Marker of a value under evaluation."""


class Evaluation:
    """Evaluation of one document. Methods raise UnreadableDocumentError, and errors of the storage."""

    def __init__(
        self,
        document: AwkwardDocument,
        blobs: Blobs,
        allowed: tuple[tuple[str, ...], ...] | None,
        limits: Limits,
        functions: Functions,
    ) -> None:
        self._document = document
        self._allowed = allowed
        self._functions = functions
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
        return self._workspace.finish(value)

    # values of expressions

    def _value(self, expression: Expression) -> Any:
        """Return the value of an expression, evaluated once if it has an id."""
        number = expression.id
        if number in self._values:  # and not open: only a reference leads to what is in the making
            return self._values[number]
        self._depth += 1
        if self._depth > self._limits.nesting:
            text = f"expressions and their references are nested deeper than the limit, {self._limits.nesting}"
            raise UnreadableDocumentError("oversized-awkward", text, expression.at)
        if number is not None:
            self._values[number] = _OPEN
        try:
            value = self._evaluate(expression)
            self._workspace.measure(value, expression.at)
        except UnreadableDocumentError as error:
            error.at = error.at or expression.at
            raise
        self._depth -= 1
        if number is not None:
            self._values[number] = value
        return value

    def _evaluate(self, expression: Expression) -> Any:
        value, members = expression.value, expression.members
        match expression.kind:
            case "call":
                args = [Argument(self._value(item), item.at) for item in members.get("args", ())]
                named = members.get("kwargs", {}).items()
                kwargs = {name: Argument(self._value(item), item.at) for name, item in named}
                return self._call(value, args, kwargs, expression.at)
            case "read":
                absolute = members.get("absolute", False)
                key = value if absolute else self._document.prefix + value
                return self._workspace.blobs.read(key, absolute=absolute)
            case "list":
                return [self._value(item) for item in value]
            case "tuple":
                return tuple(self._value(item) for item in value)
            case "dict":
                return {name: self._value(item) for name, item in value.items()}
            case "pairs":
                return [(name, self._value(item)) for name, item in value]
            case "dtype":
                return dtypes.of_json(value)
            case "function":
                if ".".join(value) not in self._functions and not allows(self._allowed, value, current(value)):
                    raise _forbidden(value, "is not in the given whitelist")
                return FunctionOfDocument(value)
            case "json":
                cost = ValueCost(0, 1, 1)  # it is as large as the document says
                self._workspace.measures[id(value)] = (value, cost)
                return value
            case "python":
                text = "`python` contains a pickled object, and unpickling can run any code"
                raise UnreadableDocumentError("forbidden-function", text)
            case _:
                return self._refer(value, expression.at)

    def _refer(self, number: int, at: At) -> Any:
        """Return the value of a referenced expression; inside that expression, a reference to be resolved later."""
        values = self._values
        if values.get(number) is not _OPEN:
            return self._value(self._document.ids[number])
        later = BackReference(number, lambda: values[number])
        self._enclosing.append((later, at))
        return later

    def _call(self, parts: tuple[str, ...], args: list[Argument], kwargs: dict[str, Argument], at: At | None) -> Any:
        """Return the result of a function of the table, or of the caller."""
        function, own = FUNCTIONS.get(canonical(parts)), self._functions.get(".".join(parts))
        if function is None and own is not None:
            return call_function(".".join(parts), own, args, kwargs, self._workspace, at)
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
            fault = f"it has no parameter {show(unknown[0])}"
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
        return self._call(function.parts, [Argument(value, at) for value in args], named, at)


def _forbidden(parts: tuple[str, ...], why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError("forbidden-function", f"the function {show('.'.join(parts))} {why}")


def read(
    source: Source,
    storage: Any,
    report: Report,
    whitelist: Whitelist = None,
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
) -> tuple[Any] | None:
    """Return the value of a document in a tuple, None after a reported error.

    Arrays are columns. Raises TypeError or ValueError for an invalid whitelist or
    function, and errors of the storage except KeyError.
    """
    allowed, added = patterns(whitelist), check_functions(functions, FUNCTIONS, canonical)
    at: At | None = At(None, "schema")
    try:
        document = documents.read(source, report, limits)
        if document is None:
            return None
        return (Evaluation(document, Blobs(storage, limits), allowed, limits, added).result(),)
    except UnreadableDocumentError as error:
        code, message, at, helps = error.code, error.message, error.at or at, error.helps
    except RecursionError:
        code, message, helps = "oversized-awkward", "expressions are nested too deeply", ()
    Faults(source, report).error(code, message, at.path() if at is not None else (), helps)
    return None


def open_source(
    storage: Any,
    name: str,
    whitelist: Whitelist = None,
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
) -> Any:
    """Return the value of the document stored under a name.

    Raises KeyError if the name is missing, CompileError with all errors of the
    document.
    """
    report = Report()
    try:
        stored = lookup(storage, name)
    except UnreadableDocumentError as error:
        Faults(Source(name, b""), report).error(error.code, error.message, helps=error.helps)
        raise CompileError(report.list_sorted()) from None
    if stored is None:
        raise KeyError(name)
    source = Source(name, _document(stored, name, report))
    value = read(source, storage, report, whitelist, limits, functions) if not report.errors else None
    if value is None:
        raise CompileError(report.list_sorted())
    return value[0]


def _document(value: Any, name: str, report: Report) -> bytes:
    """Return the bytes of a document; reports values of other types."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if hasattr(value, "dtype") and hasattr(value, "tobytes") and value.dtype.kind in "uiSV":
        return bytes(value.tobytes())
    text = f"the document must be bytes, not {type(value).__name__}"
    Faults(Source(name, b""), report).error("bad-awkward-document", text)
    return b""
