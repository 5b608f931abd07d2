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
