"""Evaluation of expressions: tree and scope → integer, float, text or None, with Python's semantics.

Only names of the scope are looked up. Integers, texts and widths stay within
the limits; no text is used as a program or unchecked format. Faults are
RefusedTextErrors.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Self, assert_never

from nczarr.formats.reference.limits import Limits, shorten
from nczarr.plugins.refs.templates.expressions import (
    INTEGER_BITS,
    Account,
    Beyond,
    Comparison,
    Expression,
    Hole,
    LiteralExpression,
    Name,
    Operation,
    Pieces,
    RefusedTextError,
    TemplateCall,
    check_length,
)

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


def compare_chain(operators: tuple[str, ...], values: list[Value]) -> bool:
    """Return whether all comparisons of a chain hold. Raises RefusedTextError."""
    for sign, left, right in zip(operators, values, values[1:], strict=False):
        try:
            if not COMPARISONS[sign](left, right):
                return False
        except TypeError:
            raise RefusedTextError("bad-expression", f"{_kind(left)} and {_kind(right)} have no order") from None
    return True


def compute(sign: str, values: list[Value], limits: Limits) -> Value:
    """Return the value of an operator or `|filter`. Raises RefusedTextError."""
    if sign[0] == "|":
        return apply_filter(sign[1:], values, limits)
    first, second = values[0], values[-1]
    if isinstance(first, Undefined) or isinstance(second, Undefined):
        raise RefusedTextError("bad-expression", "an undefined name is not allowed in a computation")
    if isinstance(first, str):
        return _join(sign, first, second, limits)
    if isinstance(second, str) and isinstance(first, int) and sign == "*":
        return _join(sign, second, first, limits)
    if not isinstance(first, int | float) or not isinstance(second, int | float):
        raise RefusedTextError("bad-expression", f"`{sign}` does not suit {_kind(first)} and {_kind(second)}")
    try:
        return _check(SIGNS[sign](first) if sign in SIGNS else ARITHMETIC.get(sign, _power)(first, second))
    except ZeroDivisionError:
        raise RefusedTextError("bad-expression", "division by zero") from None
    except OverflowError:
        raise RefusedTextError("oversized-expansion", "a number is too large") from None


def _power(first: int | float, second: int | float) -> Value:
    """Return a power. Raises OverflowError beyond the limit of bits, RefusedTextError for complex numbers."""
    whole = isinstance(first, int) and isinstance(second, int) and abs(first) > 1
    if whole and int(first).bit_length() * second > INTEGER_BITS:
        raise OverflowError
    power: int | float | complex = first**second
    if isinstance(power, complex):
        raise RefusedTextError("bad-expression", "a power is not a real number")
    return power


def _check(value: Value) -> Value:
    if isinstance(value, int) and value.bit_length() > INTEGER_BITS:
        raise OverflowError
    return value


def _join(sign: str, text: str, other: Value, limits: Limits) -> str:
    """Join, repeat or format a text."""
    if sign == "+" and isinstance(other, str):
        check_length(len(text) + len(other), limits)
        return text + other
    if sign == "*" and isinstance(other, int):
        check_length(len(text) * max(other, 0), limits)
        return text * other
    if sign == "%":
        return apply_format(text, (other,), limits)
    raise RefusedTextError("bad-expression", f"`{sign}` does not suit {_kind(text)} and {_kind(other)}")


def apply_filter(name: str, values: list[Value], limits: Limits) -> Value:
    """Return the result of a filter. Raises RefusedTextError."""
    value, *arguments = values
    match name:
        case "format":
            return apply_format(str(value), tuple(arguments), limits)
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
        return _check(int(value))
    except (ValueError, OverflowError):
        pass
    try:
        return _check(int(float(value)))
    except (ValueError, OverflowError):
        return default


def apply_format(text: str, values: tuple[Value, ...], limits: Limits) -> str:
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


class NameScope(NamedTuple):
    """Meaning of names in expressions."""

    templates: Mapping[str, str | Pieces]
    """Pieces of templates with arguments, text of all others."""
    values: Mapping[str, Value]
    limits: Limits
    """Limits of the reader."""
    missing: dict[str, None]
    """Undefined names."""
    account: Account
    """Used resources."""


def render_text(parts: Pieces, scope: NameScope) -> str:
    """Return a text with its expressions evaluated. Raises RefusedTextError."""
    text = "".join(part if isinstance(part, str) else str(with_values(part, scope)) for part in parts)
    check_length(len(text), scope.limits)
    return text


def with_values(hole: Hole, scope: NameScope) -> Value:
    """Return an expression's value. Raises RefusedTextError, quoting it."""
    try:
        return evaluate(hole.expression, scope)
    except RefusedTextError as error:
        raise RefusedTextError(error.code, f"`{shorten(hole.written)}`: {error.message}") from None


def evaluate(expression: Expression, scope: NameScope) -> Value:
    """Return the value of a tree. Raises RefusedTextError."""
    match expression:
        case LiteralExpression(value):
            return value
        case Name(text):
            return _look_up(text, scope)
        case Beyond(render=render):
            return render(scope)
        case TemplateCall(name, arguments):
            return call(name, {argument: evaluate(value, scope) for argument, value in arguments}, scope)
        case Comparison(operators, operands):
            return compare_chain(operators, [evaluate(operand, scope) for operand in operands])
        case Operation("if", (test, then, other)):
            return evaluate(then if evaluate(test, scope) else other, scope)
        case Operation(sign, operands):
            return compute(sign, [evaluate(operand, scope) for operand in operands], scope.limits)
        case _:
            assert_never(expression)


def _look_up(name: str, scope: NameScope) -> Value:
    """Return the value of a name, or of a template without arguments; UNDEFINED, and noted, for an unknown name."""
    if name in scope.values:
        return scope.values[name]
    if name not in scope.templates:
        scope.missing[name] = None  # jinja2 makes an empty text of an undefined name
        return UNDEFINED
    template = scope.templates[name]
    if not isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes arguments")
    return template


def call(name: str, arguments: dict[str, Value], scope: NameScope) -> str:
    """Return the text of a template with arguments. Raises RefusedTextError."""
    template = scope.templates.get(name)
    if template is None:
        raise RefusedTextError("bad-expression", f"there is no template `{name}`")
    if isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes no arguments")
    # in fsspec, too, a template does not see the others
    return render_text(template, NameScope({}, arguments, scope.limits, scope.missing, scope.account))
