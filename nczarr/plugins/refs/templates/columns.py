"""Evaluation of expressions over the entries of a generator, as columns, one block at a time.

NumPy computes expressions that are 64-bit integers for all combinations of
values; those of few dimensions use a table; others are evaluated for each
entry. The values are the same. Entries are counted from 0, the last dimension
varying fastest.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.wire import GeneratorDimension
from nczarr.plugins.refs.templates.evaluation import (
    ARITHMETIC,
    COMPARISONS,
    SIGNS,
    NameScope,
    Value,
    apply_format,
    with_values,
)
from nczarr.plugins.refs.templates.expressions import (
    Comparison,
    Expression,
    Hole,
    LiteralExpression,
    Name,
    Operation,
    Pieces,
    RefusedTextError,
    names_of,
)

if TYPE_CHECKING:
    Integers = NDArray[np.int64]

TABLE = 1 << 16
"""Maximum size of a table."""

_WIDEST = 2**62

_UFUNC: dict[str, Callable[..., Any]] = {**COMPARISONS, **SIGNS, **ARITHMETIC, "**": operator.pow}


class IndexAxis:
    """A dimension among others: its value changes every `stride` entries."""

    __slots__ = ("integers", "length", "stride", "values")

    def __init__(self, dimension: GeneratorDimension, stride: int) -> None:
        self.values = dimension.values
        self.length = dimension.length
        self.stride = stride
        self.integers: Integers | None = None
        if isinstance(self.values, tuple) and all(
            type(number) is int and abs(number) < _WIDEST for number in self.values
        ):
            self.integers = np.array(self.values, dtype=np.int64)

    def bounds(self) -> tuple[int, int] | None:
        """Return the smallest and largest value; None unless all are 64-bit integers."""
        if isinstance(self.values, range):
            ends = (self.values.start, self.values.start + (self.length - 1) * self.values.step)
        elif self.integers is not None and self.length:
            ends = (int(self.integers.min()), int(self.integers.max()))
        else:
            return None
        return (min(ends), max(ends)) if max(map(abs, ends)) < _WIDEST else None

    def indices(self, entries: Integers) -> Integers:
        """Return the value index of each entry. Both: int64, shape (entries,)."""
        places: Integers = entries // self.stride % self.length
        return places

    def column(self, entries: Integers) -> Integers:
        """Return the value of each entry, if all are 64-bit integers. Both: int64, shape (entries,)."""
        indices = self.indices(entries)
        if isinstance(self.values, range):
            return indices * self.values.step + self.values.start
        assert self.integers is not None
        taken: Integers = self.integers[indices]
        return taken

    def value(self, entry: int) -> Value:
        """Return the value of one entry."""
        index = entry // self.stride % self.length
        if isinstance(self.values, range):
            return self.values.start + index * self.values.step
        value: Value = self.values[index]
        return value


def axes(dimensions: tuple[GeneratorDimension, ...]) -> dict[str, IndexAxis]:
    """Return the dimensions of a generator by name."""
    indexed, stride = {}, 1
    for dimension in reversed(dimensions):
        indexed[dimension.name] = IndexAxis(dimension, stride)
        stride *= dimension.length
    return dict(reversed(indexed.items()))


class Context(NamedTuple):
    """Dimensions of a generator, and the scope of other names."""

    axes: Mapping[str, IndexAxis]
    """Dimensions of the generator by name."""
    scope: NameScope
    """Meaning of all other names."""

    def at(self, entry: int) -> NameScope:
        """Return the scope of one entry."""
        return self.scope._replace(values={name: axis.value(entry) for name, axis in self.axes.items()})


def hole_at(hole: Hole, context: Context, entry: int) -> Value:
    """Return the value of an expression for one entry. Raises RefusedTextError with the values used."""
    scope = context.at(entry)
    try:
        return with_values(hole, scope)
    except RefusedTextError as error:
        used = sorted(names_of(hole.expression) & scope.values.keys())
        where = ", ".join(f"{name} = {str(scope.values[name])[:40]}" for name in used)
        raise RefusedTextError(error.code, f"{error.message}{f', where {where}' if where else ''}") from None


Column = Callable[["Integers"], "list[Any]"]
"""Function from entries to one value each: integers, or results of `finish`."""


def numbers(hole: Hole, context: Context) -> Callable[[Integers], Integers] | None:
    """Return the expression as a function of entries; None unless all combinations yield 64-bit integers.

    The function takes entries and returns values: int64, shape (entries,).
    """
    return functools.partial(_column, hole.expression, context) if _bounds(hole.expression, context) else None


def values(hole: Hole, context: Context, finish: Callable[[Value], Any]) -> Column:
    """Return the expression as finished values. Raises RefusedTextError, also when called."""
    fast = _formats(hole, context, finish)
    if fast is not None:
        return fast
    mentioned = [context.axes[name] for name in sorted(names_of(hole.expression) & context.axes.keys())]
    if math.prod(axis.length for axis in mentioned) > TABLE:
        return lambda entries: [finish(hole_at(hole, context, entry)) for entry in entries.tolist()]
    computed_values: dict[int, Any] = {}

    def find(entries: Integers) -> list[Any]:
        """Return the finished values of entries, each computed once for the same indices of the axes it mentions."""
        place: Any = entries * 0
        for axis in mentioned:
            place = place * axis.length + axis.indices(entries)
        places = place.tolist()
        for spot, entry in zip(places, entries.tolist(), strict=True):
            if spot not in computed_values:
                computed_values[spot] = finish(hole_at(hole, context, entry))
        return [computed_values[place] for place in places]

    return find


def _formats(hole: Hole, context: Context, finish: Callable[[Value], Any]) -> Column | None:
    """Return a column for `'%03d' | format(i)`, which formats each distinct integer once."""
    match hole.expression:
        case Operation("|format", (LiteralExpression(str(form)), number)) if _bounds(number, context):
            pass
        case _:
            return None

    def find(entries: Integers) -> list[Any]:
        """Return the formatted numbers of entries, each distinct number formatted once."""
        different, places = np.unique(_column(number, context, entries), return_inverse=True)
        try:
            texts = [finish(apply_format(form, (number,), context.scope.limits)) for number in different.tolist()]
        except RefusedTextError:  # told with the entry
            return [finish(hole_at(hole, context, entry)) for entry in entries.tolist()]
        return [texts[place] for place in places.tolist()]

    return find


def constant(hole: Hole, context: Context) -> bool:
    """Return whether the expression has the same value for every entry."""
    return not names_of(hole.expression) & context.axes.keys()


def join(parts: Pieces, context: Context, finish: Callable[[str], str]) -> tuple[str, list[Column]]:
    """Return a text as a `%s` format and its columns. Raises RefusedTextError.

    `finish` converts each part.
    """
    form, columns = [], []
    for part in parts:
        if isinstance(part, str):
            form.append(finish(part).replace("%", "%%"))
        elif constant(part, context):
            form.append(finish(str(hole_at(part, context, 0))).replace("%", "%%"))
        else:
            form.append("%s")
            fast = numbers(part, context)
            columns.append(_list(fast) if fast else values(part, context, lambda value: finish(str(value))))
    return "".join(form), columns


def _list(numbers: Callable[[Integers], Integers]) -> Column:
    return lambda entries: numbers(entries).tolist()


def _bounds(expression: Expression, context: Context) -> tuple[int, int] | None:
    """Return bounds of an expression that is a 64-bit integer everywhere; else None."""
    match expression:
        case LiteralExpression(int(value)):
            return _within(value, value)
        case Name(text) if text in context.axes:
            return context.axes[text].bounds()
        case Operation("if", (Comparison(operands=compared), then, other)):
            if any(_bounds(operand, context) is None for operand in compared):
                return None
            first, second = _bounds(then, context), _bounds(other, context)
            return None if first is None or second is None else (min(first[0], second[0]), max(first[1], second[1]))
        case Operation(sign, operands) if sign in _INTERVALS:
            bounds = [_bounds(operand, context) for operand in operands]
            intervals = [interval for interval in bounds if interval is not None]
            return _INTERVALS[sign](*intervals) if len(intervals) == len(bounds) else None
        case _:
            return None


def _within(least: int, greatest: int) -> tuple[int, int] | None:
    return (least, greatest) if least > -_WIDEST and greatest < _WIDEST else None


Bounds = tuple[int, int]


def _products(left: Bounds, right: Bounds) -> tuple[int, int] | None:
    corners = [one * other for one in left for other in right]
    return _within(min(corners), max(corners))


def _quotients(left: Bounds, right: Bounds) -> tuple[int, int] | None:
    if right[0] <= 0 <= right[1]:
        return None
    corners = [one // other for one in left for other in right]
    return min(corners), max(corners)


def _remainders(_left: Bounds, right: Bounds) -> tuple[int, int] | None:
    if right[0] <= 0 <= right[1]:
        return None
    return (0, right[1] - 1) if right[0] > 0 else (right[0] + 1, 0)


def _powers(left: Bounds, right: Bounds) -> tuple[int, int] | None:
    if right[0] != right[1] or not 0 <= right[0] < 62:
        return None
    greatest: int = max(map(abs, left)) ** right[0]
    return _within(-greatest, greatest)


_INTERVALS: dict[str, Callable[..., tuple[int, int] | None]] = {
    "+": lambda left, right: _within(left[0] + right[0], left[1] + right[1]),
    "-": lambda left, right: _within(left[0] - right[1], left[1] - right[0]),
    "*": _products,
    "//": _quotients,
    "%": _remainders,
    "**": _powers,
    "neg": lambda bounds: (-bounds[1], -bounds[0]),
    "pos": lambda bounds: bounds,
}


def _column(expression: Expression, context: Context, entries: Integers) -> Any:
    """Return the values of an expression with bounds: int64, shape (entries,), or one integer for all.

    `entries`: int64, shape (entries,).
    """
    match expression:
        case LiteralExpression(value):
            return np.full(len(entries), value, dtype=np.int64)
        case Name(text):
            return context.axes[text].column(entries)
        case Operation("if", (Comparison(operators, compared), then, other)):
            parts = [_column(operand, context, entries) for operand in compared]
            holds = np.ones(len(entries), dtype=bool)
            for sign, left, right in zip(operators, parts, parts[1:], strict=False):
                holds &= _UFUNC[sign](left, right)
            return np.where(holds, _column(then, context, entries), _column(other, context, entries))
        case Operation(sign, operands):
            return _UFUNC[sign](*(_column(operand, context, entries) for operand in operands))
        case _:
            raise AssertionError(expression)
