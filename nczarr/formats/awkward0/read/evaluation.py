"""A document and its blobs to values: arrays as columns, everything else as it is.

An expression with an id has one value, wherever references lead to it; it is made when it is first needed, so that a
reference may stand before what it leads to. Only a reference to an array that encloses it stays one (`Later`). What a
value would take if nothing were shared is measured as it is made, because walks through it take that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, assert_never

from nczarr.formats.awkward0.columns.nodes import Chunks, Column, Later, Sparse
from nczarr.formats.awkward0.read import array_values
from nczarr.formats.awkward0.read.arguments import Argument, Arguments, Named
from nczarr.formats.awkward0.read.array_values import Measure
from nczarr.formats.awkward0.read.functions import FUNCTIONS, canonical, current
from nczarr.formats.awkward0.read.whitelist import allows
from nczarr.formats.awkward0.wire import dtypes
from nczarr.formats.awkward0.wire.blobs import Blob, Blobs, Packed, Raw
from nczarr.formats.awkward0.wire.documents import (
    AnyExpression,
    Call,
    DictOf,
    Document,
    Dtype,
    Function,
    Json,
    ListOf,
    Pairs,
    Python,
    Read,
    Ref,
    TupleOf,
)
from nczarr.formats.awkward0.wire.limits import At, Limits, RefusedError, shown

MOST_OF_GIVEN = 16
"""Arrays may have so many times the bytes that are given: offsets of counts of one byte have eight."""

_OPEN = object()
"""Stands for a value in the making."""


class Evaluation:
    """One document with its blobs. Methods raise RefusedError, and what the storage raises."""

    def __init__(
        self, document: Document, blobs: Blobs, allowed: tuple[tuple[str, ...], ...] | None, limits: Limits
    ) -> None:
        self._document = document
        self._blobs = blobs
        self._allowed = allowed
        self._limits = limits
        self._values: dict[int, Any] = {}
        self._measures: dict[int, tuple[Any, Measure]] = {}
        self._enclosing: list[tuple[Later, At]] = []
        self._checks: list[tuple[Later, Callable[[int], None]]] = []
        self._charged = 0
        self._made_bytes = 0
        self._counted: dict[int, Any] = {}
        self._once: dict[tuple[Any, ...], tuple[Any, Any]] = {}
        self._lists: dict[int, tuple[Any, Column]] = {}
        self._depth = 0

    def result(self) -> Any:
        """The value of the document."""
        found = self._value(self._document.schema)
        for later, at in self._enclosing:
            made = self._values[later.id]
            if isinstance(made, Later) or not isinstance(made, Column):
                raise RefusedError("bad-awkward-expression", "the reference leads to itself, and to no array", at)
        for later, check in self._checks:
            check(len(later))
        return self.finished(found)

    # values of expressions

    def _value(self, each: AnyExpression) -> Any:
        if each.id in self._values:  # and not open: only a reference leads to what is in the making
            return self._values[each.id]
        self._depth += 1
        if self._depth > self._limits.nesting:
            text = f"expressions nest deeper than the limit, {self._limits.nesting}, where references lead"
            raise RefusedError("oversized-awkward", text, each.at)
        if each.id is not None:
            self._values[each.id] = _OPEN
        try:
            found = self._made(each)
            self._measured(found, each.at)
        except RefusedError as error:
            error.at = error.at or each.at
            raise
        self._depth -= 1
        if each.id is not None:
            self._values[each.id] = found
        return found

    def _made(self, each: AnyExpression) -> Any:
        match each:
            case Call():
                args = [Argument(self._value(item), item.at) for item in each.args]
                kwargs = {name: Argument(self._value(item), item.at) for name, item in each.named.items()}
                return self._called(each.call, args, kwargs, each.at)
            case Read():
                prefix = "" if each.absolute else self._document.prefix
                return self._blobs.read(prefix + each.read, absolute=each.absolute)
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
            case Function():
                if not allows(self._allowed, each.function, current(each.function)):
                    raise _forbidden(each.function, "is not in the whitelist that was given")
                return Named(each.function)
            case Json():
                self._measures[id(each.value)] = (each.value, Measure(0, 1, 1))  # it is as large as the document says
                return each.value
            case Python():
                text = "`python` holds a pickled object, and to unpickle one is to run whatever code it names"
                raise RefusedError("forbidden-function", text)
            case Ref():
                return self._referred(each)
            case _:
                assert_never(each)

    def _referred(self, each: Ref) -> Any:
        if self._values.get(each.ref) is not _OPEN:
            return self._value(self._document.ids[each.ref])
        values = self._values
        later = Later(each.ref, lambda: values[each.ref])
        self._enclosing.append((later, each.at))
        return later

    def _called(self, parts: tuple[str, ...], args: list[Argument], kwargs: dict[str, Argument], at: At | None) -> Any:
        """The value of a function of the table."""
        function = FUNCTIONS.get(canonical(parts))
        if function is None:
            raise _forbidden(parts, "is not among those that are known")
        if not allows(self._allowed, parts, current(parts)):
            raise _forbidden(parts, "is not in the whitelist that was given")
        name = ".".join(canonical(parts)).removeprefix("awkward0.")
        values = dict(zip(function.parameters, args, strict=False))
        fault = None
        if len(args) > len(function.parameters):
            fault = f"it takes {len(function.parameters)} arguments, and there are {len(args)}"
        elif twice := [each for each in kwargs if each in values]:
            fault = f"`{twice[0]}` is given twice"
        elif unknown := [each for each in kwargs if each not in function.parameters]:
            fault = f"it has no parameter {shown(unknown[0])}"
        values |= kwargs
        missing = [each for each in function.parameters[: function.required] if each not in values]
        if fault is None and missing:
            fault = f"`{missing[0]}` is missing"
        if fault is not None:
            raise RefusedError("bad-awkward-expression", f"{name}: {fault}", at)
        return function.make(Arguments(name, values, at, self))

    # what functions ask for

    def bytes_of(self, raw: Raw, wanted: int | None = None) -> memoryview:
        """The bytes of a blob (`Blobs.bytes_of`)."""
        return self._blobs.bytes_of(raw, wanted)

    def when_known(self, column: Column, check: Callable[[int], None], at: At | None) -> None:
        """Give the length of a column to a check: at once, or at the end, if the column is not there yet."""
        if isinstance(column, Later):
            self._checks.append((column, check))
        else:
            check(len(column))

    def once(self, what: str, of: tuple[Any, ...], make: Callable[[], Any]) -> Any:
        """What is made of these objects, made and counted when it is first asked for."""
        key = (what, *map(id, of))
        if key not in self._once:
            made = make()
            self._once[key] = (of, made)
            self._count(*(made if isinstance(made, tuple) else (made,)))
        return self._once[key][1]

    def _count(self, *made: Any) -> None:
        """Count the bytes of arrays, each once. Refuses what is far more than what is given."""
        for each in made:
            if hasattr(each, "nbytes") and id(each) not in self._counted:
                self._counted[id(each)] = each
                self._made_bytes += each.nbytes
        given = self._blobs.given
        if self._made_bytes > MOST_OF_GIVEN * given + self._limits.expanded:
            text = f"all arrays together have {shown(self._made_bytes)} bytes, far more than what is given, {given}"
            raise RefusedError("oversized-awkward", text)

    def charge(self, count: int) -> None:
        """Count bytes that are made of nothing."""
        self._charged += count
        if self._charged > self._limits.expanded:
            text = (
                f"items without bytes are more than the limit of what may be made of nothing, {self._limits.expanded}"
            )
            raise RefusedError("oversized-awkward", text)

    def apply(self, function: Named, args: tuple[Any, ...], kwargs: dict[str, Any], at: At | None) -> Any:
        """The value of a function that is named by a value."""
        named = {name: Argument(each, at) for name, each in kwargs.items()}
        return self._called(function.parts, [Argument(each, at) for each in args], named, at)

    def listed(self, values: list[Any] | tuple[Any, ...], dtype: str) -> Column:
        """A list of numbers or texts as a column, the same for all who have this list."""
        known = self._lists.get(id(values))
        if known is None or not values:
            known = self._lists[id(values)] = (values, array_values.array_of_list(values, dtype))
        return known[1]

    def finished(self, value: Any) -> Any:
        """Blobs that stand for themselves become bytes, or the arrays that the storage has."""
        done: dict[int, Any] = {}

        def finish(value: Any) -> Any:
            if id(value) not in done:
                done[id(value)] = made(value)
            return done[id(value)]

        def made(value: Any) -> Any:
            match value:
                case Blob(array=array) if array is not None:
                    return array_values.elements(array)
                case Blob() | Packed():
                    return bytes(self.bytes_of(value))
                case Named():
                    return value.parts
                case list():
                    return [finish(each) for each in value]
                case tuple():
                    return tuple(map(finish, value))
                case dict():
                    return {name: finish(each) for name, each in value.items()}
                case _:
                    return value

        return finish(value)

    # what values take

    def _measured(self, value: Any, at: At | None) -> Measure:
        """What a value takes. Refuses what is too much, of the value alone or of all that was made so far."""
        known = self._measures.get(id(value))
        if known is not None:
            return known[1]
        below = [self._measured(each, at) for each in array_values.children(value)]
        own = array_values.own(value)
        found = Measure(
            array_values.made_bytes(value) + sum(each.nbytes for each in own) + sum(each.bytes for each in below),
            1 + sum(each.arrays for each in below),
            1 + max((each.depth for each in below), default=0),
        )
        if isinstance(value, Column | list | tuple | dict):
            self._measures[id(value)] = (value, found)
        self._count(*own)
        limits, given = self._limits, self._blobs.given
        text = None
        if found.depth > 2 * limits.nesting:
            text = f"arrays nest deeper than {2 * limits.nesting}"
        elif found.arrays > limits.arrays:
            text = (
                f"there are more arrays and values than the limit, {limits.arrays}, if each counts wherever it is used"
            )
        elif isinstance(value, Chunks | Sparse) and found.bytes > given + limits.expanded:
            text = f"the array has {shown(found.bytes)} bytes, {limits.expanded} more than what is given"
        if text is not None:
            raise RefusedError("oversized-awkward", text, at)
        return found


def _forbidden(parts: tuple[str, ...], why: str) -> RefusedError:
    return RefusedError("forbidden-function", f"the function {shown('.'.join(parts))} {why}")
