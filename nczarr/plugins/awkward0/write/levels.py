"""Levels of a serialized expression."""

from __future__ import annotations

from nczarr.formats.common.awkward.expressions import Expression


def count_levels(expression: Expression) -> int:
    """Return the number of expression levels; 1 without inner expressions."""
    levels, here = 0, [expression]
    while here:
        levels += 1
        here = [inner for each in here for inner in _inner(each)]
    return levels


def _inner(expression: Expression) -> list[Expression]:
    """Return the direct subexpressions."""
    found: list[Expression] = [
        *expression.get("args", ()),
        *expression.get("kwargs", {}).values(),
        *expression.get("list", ()),
        *expression.get("tuple", ()),
        *expression.get("dict", {}).values(),
    ]
    return found + [inner for _, inner in expression.get("pairs", ())]
