"""Evaluation of a document and its blobs: arrays as columns, other values unchanged.

An expression with an id is evaluated once, on first use, so references may
precede it. A reference to an enclosing array stays one (`BackReference`). The unshared
size of each value is limited, because traversals do not share.
"""

from __future__ import annotations

from typing import Any, assert_never

from nczarr.formats.awkward0.columns.nodes import BackReference, Column
from nczarr.formats.awkward0.read.arguments import Argument, Arguments
from nczarr.formats.awkward0.read.array_values import ValueCost
from nczarr.formats.awkward0.read.functions import FUNCTIONS, canonical, current
from nczarr.formats.awkward0.read.whitelist import allows
from nczarr.formats.awkward0.read.workspace import FunctionOfDocument, Workspace
from nczarr.formats.awkward0.wire import dtypes
from nczarr.formats.awkward0.wire.blobs import Blobs
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

_OPEN = object()
"""Marker of a value under evaluation."""


class Evaluation:
    """Evaluation of one document. Methods raise RefusedError, and errors of the storage."""

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
        """Return the value of the document. Raises RefusedError."""
        found = self._value(self._document.schema)
        for later, at in self._enclosing:
            made = self._values[later.id]
            if isinstance(made, BackReference) or not isinstance(made, Column):
                raise UnreadableDocumentError(
                    "bad-awkward-expression", "the reference points to itself, not to an array", at
                )
        for later, check in self._workspace.checks:
            check(len(later))
        return self._workspace.finished(found)

    # values of expressions

    def _value(self, each: AnyExpression) -> Any:
        if each.id in self._values:  # and not open: only a reference leads to what is in the making
            return self._values[each.id]
        self._depth += 1
        if self._depth > self._limits.nesting:
            text = f"expressions and their references are nested deeper than the limit, {self._limits.nesting}"
            raise UnreadableDocumentError("oversized-awkward", text, each.at)
        if each.id is not None:
            self._values[each.id] = _OPEN
        try:
            found = self._made(each)
            self._workspace.measured(found, each.at)
        except UnreadableDocumentError as error:
            error.at = error.at or each.at
            raise
        self._depth -= 1
        if each.id is not None:
            self._values[each.id] = found
        return found

    def _made(self, each: AnyExpression) -> Any:
        match each:
            case FunctionCall():
                args = [Argument(self._value(item), item.at) for item in each.args]
                kwargs = {name: Argument(self._value(item), item.at) for name, item in each.named.items()}
                return self._called(each.call, args, kwargs, each.at)
            case Read():
                prefix = "" if each.absolute else self._document.prefix
                return self._workspace.blobs.read(prefix + each.read, absolute=each.absolute)
            case ListOf():
                return [self._value(item) for item in each.items]
            case TupleOf():
                return tuple(self._value(item) for item in each.items)
            case DictOf():
                return {name: self._value(item) for name, item in each.items.items()}
            case Pairs():
                return [(name, self._value(item)) for name, item in each.pairs]
            case Dtype():
                return dtypes.of_json(each.dtype)
            case FunctionName():
                if not allows(self._allowed, each.function, current(each.function)):
                    raise _forbidden(each.function, "is not in the given whitelist")
                return FunctionOfDocument(each.function)
            case JsonExpression():
                own = ValueCost(0, 1, 1)  # it is as large as the document says
                self._workspace.measures[id(each.value)] = (each.value, own)
                return each.value
            case Python():
                text = "`python` contains a pickled object, and unpickling can run any code"
                raise UnreadableDocumentError("forbidden-function", text)
            case Ref():
                return self._referred(each)
            case _:
                assert_never(each)

    def _referred(self, each: Ref) -> Any:
        if self._values.get(each.ref) is not _OPEN:
            return self._value(self._document.ids[each.ref])
        values = self._values
        later = BackReference(each.ref, lambda: values[each.ref])
        self._enclosing.append((later, each.at))
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
        elif twice := [each for each in kwargs if each in values]:
            fault = f"`{twice[0]}` is given twice"
        elif unknown := [each for each in kwargs if each not in function.parameters]:
            fault = f"it has no parameter {shown(unknown[0])}"
        values |= kwargs
        missing = [each for each in function.parameters[: function.required] if each not in values]
        if fault is None and missing:
            fault = f"`{missing[0]}` is missing"
        if fault is not None:
            raise UnreadableDocumentError("bad-awkward-expression", f"{name}: {fault}", at)
        return function.make(Arguments(name, values, at, self._workspace, self._apply))

    def _apply(self, function: FunctionOfDocument, args: tuple[Any, ...], kwargs: dict[str, Any], at: At | None) -> Any:
        """Call a function that a value names."""
        named = {name: Argument(each, at) for name, each in kwargs.items()}
        return self._called(function.parts, [Argument(each, at) for each in args], named, at)


def _forbidden(parts: tuple[str, ...], why: str) -> UnreadableDocumentError:
    return UnreadableDocumentError("forbidden-function", f"the function {shown('.'.join(parts))} {why}")
