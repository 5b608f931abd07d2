"""Operators and filters on integers, floats, texts and None, with Python's semantics.

Integers, texts and widths stay within the limits; no text is used as a program
or unchecked format. Faults are RefusedTextErrors.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from typing import Any, Self

from nczarr.formats.reference.limits import INTEGER_BITS, Limits, RefusedTextError, check_length

Value = int | float | str | None
"""Value of an expression. JSON's null can be a dimension's value."""


class Undefined(str):
    """Empty text of an undefined name; computing with it is an error."""

    name: str | None
    """The name, to be reported where the text is used."""

    def __new__(cls, name: str | None = None) -> Self:
        """Return the text."""
        undefined = super().__new__(cls)
        undefined.name = name
        return undefined


UNDEFINED = Undefined()

_PERCENT = re.compile(r"%(?:%|[-+ #0]*([0-9]*)(?:\.([0-9]*))?([diouxXeEfFgGsr])|(.?))", re.DOTALL)
COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
SIGNS: dict[str, Callable[[Any], Any]] = {"neg": operator.neg, "pos": operator.pos}
ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "//": operator.floordiv,
    "%": operator.mod,
}  # fmt: skip
"""Operators by name; powers are bounded (`_power`)."""


def compared(operators: tuple[str, ...], values: list[Value]) -> bool:
    """Return whether all comparisons of a chain hold. Raises RefusedTextError."""
    for sign, left, right in zip(operators, values, values[1:], strict=False):
        try:
            if not COMPARISONS[sign](left, right):
                return False
        except TypeError:
            raise RefusedTextError("bad-expression", f"{_kind(left)} and {_kind(right)} have no order") from None
    return True


def computed(sign: str, values: list[Value], limits: Limits) -> Value:
    """Return the value of an operator or `|filter`. Raises RefusedTextError."""
    if sign[0] == "|":
        return filtered(sign[1:], values, limits)
    first, second = values[0], values[-1]
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        raise RefusedTextError("bad-expression", "an undefined name is not allowed in a computation")
    if isinstance(first, str):
        return _joined(sign, first, second, limits)
    if isinstance(second, str) and isinstance(first, int) and sign == "*":
        return _joined(sign, second, first, limits)
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        raise RefusedTextError("bad-expression", f"`{sign}` does not suit {_kind(first)} and {_kind(second)}")
    try:
        return _checked(SIGNS[sign](first) if sign in SIGNS else ARITHMETIC.get(sign, _power)(first, second))
    except ZeroDivisionError:
        raise RefusedTextError("bad-expression", "division by zero") from None
    except OverflowError:
        raise RefusedTextError("oversized-expansion", "a number is too large") from None


def _power(first: int | float, second: int | float) -> Value:
    whole = isinstance(first, int) and isinstance(second, int) and abs(first) > 1
    if whole and int(first).bit_length() * second > INTEGER_BITS:
        raise OverflowError
    power: int | float | complex = first**second
    if isinstance(power, complex):
        raise RefusedTextError("bad-expression", "a power is not a real number")
    return power


def _checked(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > INTEGER_BITS:
        raise OverflowError
    return value


def _joined(sign: str, text: str, other: Value, limits: Limits) -> str:
    """Join, repeat or format a text."""
    if sign == "+" and isinstance(other, str):
        check_length(len(text) + len(other), limits)
        return text + other
    if sign == "*" and isinstance(other, int):
        check_length(len(text) * max(other, 0), limits)
        return text * other
    if sign == "%":
        return formatted(text, (other,), limits)
    raise RefusedTextError("bad-expression", f"`{sign}` does not suit {_kind(text)} and {_kind(other)}")


def filtered(name: str, values: list[Value], limits: Limits) -> Value:
    """Return the result of a filter. Raises RefusedTextError."""
    value, *arguments = values
    match name:
        case "format":
            return formatted(str(value), tuple(arguments), limits)
        case "upper":
            return str(value).upper()
        case "lower":
            return str(value).lower()
        case "string":
            return str(value)
        case _:
            return _integer(value, arguments[0] if arguments else 0)


def _integer(value: Value, default: Value) -> Value:
    """Apply the filter `int`: integer part of a number, value of a text, else the default."""
    if value is None:
        return default
    try:
        return _checked(int(value))
    except (ValueError, OverflowError):
        pass
    try:
        return _checked(int(float(value)))
    except (ValueError, OverflowError):
        return default


def formatted(text: str, values: tuple[Value, ...], limits: Limits) -> str:
    """Apply the filter `format`: C conversions without names and `*`, of bounded width.

    Raises RefusedTextError.
    """
    length = len(text) + sum(len(str(value)) + 320 for value in values)
    for conversion in _PERCENT.finditer(text):
        if conversion[4] is not None:
            raise RefusedTextError("bad-expression", f"`{conversion[0]}` is not a conversion of `format`")
        for width in (conversion[1], conversion[2]):
            if width and len(width) > 9:
                raise RefusedTextError("oversized-expansion", f"a width of {len(width)} digits")
            length += int(width or 0)
    if length > limits.text + 2048:
        check_length(length, limits)
    try:
        rendered = text % values
    except (TypeError, ValueError, OverflowError) as error:
        raise RefusedTextError("bad-expression", f"`format` does not suit its arguments: {error}") from None
    check_length(len(rendered), limits)
    return rendered


def _kind(value: Value) -> str:
    if isinstance(value, str):
        return "text"
    return "null" if value is None else "a number"
