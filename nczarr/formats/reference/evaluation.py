"""What expressions mean: a tree and a scope → an integer, real, text or none of them, as Python has it.

Invariant: nothing is looked up but names of the scope, and no function of Python's takes a text of the document as a
program or format. No integer, text or width grows beyond the limits. Faults are RefusedTextErrors. Source:
specs/references §2 and §10.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, assert_never

from nczarr.formats.reference.expressions import (
    Beyond,
    Call,
    Comparison,
    Expression,
    Hole,
    Literal,
    Name,
    Operation,
    Pieces,
    pieces,
)
from nczarr.formats.reference.limits import INTEGER_BITS, Account, Limits, RefusedTextError, check_length

Value = int | float | str | None
"""What an expression yields. JSON's null is a value of a list of a dimension."""


class Undefined(str):
    """The empty text that a name without a meaning stands for; nothing is computed with it."""

    __slots__ = ()


UNDEFINED = Undefined()

_PERCENT = re.compile(r"%(?:%|[-+ #0]*([0-9]*)(?:\.([0-9]*))?([diouxXeEfFgGsr])|(.?))", re.DOTALL)
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


class Scope(NamedTuple):
    """What names mean. `templates` hold the parts of those that take arguments, and the text of the others; `missing`
    gets every name that means nothing.
    """

    templates: Mapping[str, str | Pieces]
    values: Mapping[str, Value]
    limits: Limits
    missing: dict[str, None]
    account: Account


def templates(texts: Mapping[str, str], limits: Limits, account: Account) -> dict[str, str | Pieces]:
    """The templates of a scope. Raises RefusedTextError."""
    return {name: pieces(text, limits, account) if "{{" in text else text for name, text in texts.items()}


def rendered(parts: Pieces, scope: Scope) -> str:
    """A text with the values of its expressions. Raises RefusedTextError."""
    text = "".join(part if isinstance(part, str) else shown(part, scope) for part in parts)
    check_length(len(text), scope.limits)
    return text


def shown(hole: Hole, scope: Scope) -> str:
    """The value of an expression as text. Raises RefusedTextError, which quotes the expression."""
    return str(valued(hole, scope))


def valued(hole: Hole, scope: Scope) -> Value:
    """The value of an expression. Raises RefusedTextError, which quotes the expression."""
    try:
        return evaluate(hole.expression, scope)
    except RefusedTextError as error:
        written = hole.written if len(hole.written) <= 60 else f"{hole.written[:57]}…"
        raise RefusedTextError(error.code, f"`{written}`: {error.message}") from None


def evaluate(expression: Expression, scope: Scope) -> Value:
    """The value of a tree. Raises RefusedTextError."""
    match expression:
        case Literal(value):
            return value
        case Name(text):
            return _named(text, scope)
        case Beyond(render=render):
            return render(scope)
        case Call(name, arguments):
            return called(name, {each: evaluate(value, scope) for each, value in arguments}, scope)
        case Comparison(operators, operands):
            return _compared(operators, [evaluate(each, scope) for each in operands])
        case Operation("if", (test, then, other)):
            return evaluate(then if evaluate(test, scope) else other, scope)
        case Operation(sign, operands):
            return computed(sign, [evaluate(each, scope) for each in operands], scope.limits)
        case _:
            assert_never(expression)


def _named(name: str, scope: Scope) -> Value:
    if name in scope.values:
        return scope.values[name]
    if name not in scope.templates:
        scope.missing[name] = None
        return UNDEFINED
    template = scope.templates[name]
    if not isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes arguments")
    return template


def called(name: str, arguments: dict[str, Value], scope: Scope) -> str:
    """The text of a template with arguments. Raises RefusedTextError."""
    template = scope.templates.get(name)
    if template is None:
        raise RefusedTextError("bad-expression", f"there is no template `{name}` to be called")
    if isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes no arguments")
    return rendered(template, Scope({}, arguments, scope.limits, scope.missing, scope.account))


def _compared(operators: tuple[str, ...], values: list[Value]) -> bool:
    for sign, left, right in zip(operators, values, values[1:], strict=False):
        try:
            if not _COMPARE[sign](left, right):
                return False
        except TypeError:
            raise RefusedTextError("bad-expression", f"{_kind(left)} and {_kind(right)} have no order") from None
    return True


def computed(sign: str, values: list[Value], limits: Limits) -> Value:
    """The value of an operator or `|filter`. Raises RefusedTextError."""
    if sign[0] == "|":
        return filtered(sign[1:], values, limits)
    first, second = values[0], values[-1]
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        raise RefusedTextError("bad-expression", "nothing is computed with an undefined name")
    if isinstance(first, str):
        return _joined(sign, first, second, limits)
    if isinstance(second, str) and isinstance(first, int) and sign == "*":
        return _joined(sign, second, first, limits)
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        raise RefusedTextError("bad-expression", f"`{sign}` does not suit {_kind(first)} and {_kind(second)}")
    try:
        return _checked(_arithmetic(sign, first, second))
    except ZeroDivisionError:
        raise RefusedTextError("bad-expression", "division by zero") from None
    except OverflowError:
        raise RefusedTextError("oversized-expansion", "a number is too large") from None


def _arithmetic(sign: str, first: int | float, second: int | float) -> Value:
    match sign:
        case "neg":
            return -first
        case "pos":
            return +first
        case "+":
            return first + second
        case "-":
            return first - second
        case "*":
            return first * second
        case "/":
            return first / second
        case "//":
            return first // second
        case "%":
            return first % second
        case _:
            return _power(first, second)


def _power(first: int | float, second: int | float) -> Value:
    whole = isinstance(first, int) and isinstance(second, int) and abs(first) > 1
    if whole and int(first).bit_length() * second > INTEGER_BITS:
        raise OverflowError
    found: int | float | complex = first**second
    if isinstance(found, complex):
        raise RefusedTextError("bad-expression", "a power is no real number")
    return found


def _checked(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > INTEGER_BITS:
        raise OverflowError
    return value


def _joined(sign: str, text: str, other: Value, limits: Limits) -> str:
    """Operators on text: joining, repeating and formatting."""
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
    """What a filter makes of a value and its arguments. Raises RefusedTextError."""
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
    """The filter `int`: whole part of a number, number of a text, else the default."""
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
    """The filter `format`: conversions as of C, without names and `*`, in bounded width."""
    length = len(text) + sum(len(str(each)) + 320 for each in values)
    for found in _PERCENT.finditer(text):
        if found[4] is not None:
            raise RefusedTextError("bad-expression", f"`{found[0]}` is no conversion of `format`")
        for width in (found[1], found[2]):
            if width and len(width) > 9:
                raise RefusedTextError("oversized-expansion", f"a width of {len(width)} digits")
            length += int(width or 0)
    if length > limits.text + 2048:
        check_length(length, limits)
    try:
        made = text % values
    except (TypeError, ValueError, OverflowError) as error:
        raise RefusedTextError("bad-expression", f"`format` does not suit its arguments: {error}") from None
    check_length(len(made), limits)
    return made


def _kind(value: Value) -> str:
    if isinstance(value, str):
        return "text"
    return "null" if value is None else "a number"
