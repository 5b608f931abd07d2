"""Evaluation of expressions: tree and scope → integer, float, text or None, with Python's semantics.

Only names of the scope are looked up; results are bounded (operators.py).
Faults are RefusedTextErrors.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple, assert_never

from nczarr.formats.reference.expressions import (
    Beyond,
    Comparison,
    Expression,
    Hole,
    LiteralExpression,
    Name,
    Operation,
    Pieces,
    TemplateCall,
)
from nczarr.formats.reference.limits import Account, Limits, RefusedTextError, check_length, shortened
from nczarr.formats.reference.operators import UNDEFINED, Value, compared, computed


class NameScope(NamedTuple):
    """Meaning of names in expressions."""

    templates: Mapping[str, str | Pieces]
    """Pieces of templates with arguments, text of all others."""
    values: Mapping[str, Value]
    """Values by name."""
    limits: Limits
    """Limits of the reader."""
    missing: dict[str, None]
    """Undefined names."""
    account: Account
    """Used resources."""


def rendered(parts: Pieces, scope: NameScope) -> str:
    """Return a text with its expressions evaluated. Raises RefusedTextError."""
    text = "".join(part if isinstance(part, str) else str(valued(part, scope)) for part in parts)
    check_length(len(text), scope.limits)
    return text


def valued(hole: Hole, scope: NameScope) -> Value:
    """Return an expression's value. Raises RefusedTextError, quoting it."""
    try:
        return evaluate(hole.expression, scope)
    except RefusedTextError as error:
        raise RefusedTextError(error.code, f"`{shortened(hole.written)}`: {error.message}") from None


def evaluate(expression: Expression, scope: NameScope) -> Value:
    """Return the value of a tree. Raises RefusedTextError."""
    match expression:
        case LiteralExpression(value):
            return value
        case Name(text):
            return _named(text, scope)
        case Beyond(render=render):
            return render(scope)
        case TemplateCall(name, arguments):
            return called(name, {argument: evaluate(value, scope) for argument, value in arguments}, scope)
        case Comparison(operators, operands):
            return compared(operators, [evaluate(operand, scope) for operand in operands])
        case Operation("if", (test, then, other)):
            return evaluate(then if evaluate(test, scope) else other, scope)
        case Operation(sign, operands):
            return computed(sign, [evaluate(operand, scope) for operand in operands], scope.limits)
        case _:
            assert_never(expression)


def _named(name: str, scope: NameScope) -> Value:
    if name in scope.values:
        return scope.values[name]
    if name not in scope.templates:
        scope.missing[name] = None
        return UNDEFINED
    template = scope.templates[name]
    if not isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes arguments")
    return template


def called(name: str, arguments: dict[str, Value], scope: NameScope) -> str:
    """Return the text of a template with arguments. Raises RefusedTextError."""
    template = scope.templates.get(name)
    if template is None:
        raise RefusedTextError("bad-expression", f"there is no template `{name}`")
    if isinstance(template, str):
        raise RefusedTextError("bad-expression", f"template `{name}` takes no arguments")
    return rendered(template, NameScope({}, arguments, scope.limits, scope.missing, scope.account))
