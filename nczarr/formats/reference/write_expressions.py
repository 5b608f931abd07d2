"""Expressions and texts of generators: sums, digits of packed numbers, holes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.formats.reference.expressions import quoted
from nczarr.formats.reference.fit_affine import WIDEST, Fit

if TYPE_CHECKING:
    Integers = NDArray[np.int64]

PACKED = "x"
"""Dimension that lists packed numbers."""


class PackedColumns(NamedTuple):
    """Columns packed in mixed radix, and the expressions that extract them."""

    numbers: list[int]
    """Packed columns."""
    expressions: list[str]
    """Expressions that extract the columns."""


def pack(columns: Sequence[Integers]) -> PackedColumns:
    """Pack equally long columns; the last has the lowest digits, constant ones none.

    `columns`: int64, shape (entries,) each.
    """
    bounds = [(int(column.min()), int(column.max())) for column in columns]
    small = math.prod(most - least + 1 for least, most in bounds) < WIDEST
    scale, written = 1, []
    total: Any = 0
    for column, (least, most) in zip(reversed(columns), reversed(bounds), strict=True):
        count = most - least + 1
        if count == 1:
            written.append(str(least))
            continue
        digits = (column if small else column.astype(object)) - least
        total = total + digits * scale
        written.append(_digit(scale, count, least))
        scale *= count
    numbers: list[int] = [0] * len(columns[0]) if scale == 1 else total.tolist()
    return PackedColumns(numbers, written[::-1])


def _digit(scale: int, count: int, least: int) -> str:
    """Return the expression of a mixed-radix digit of `x` plus its minimum."""
    shifted = f"x//{scale}%{count}" if scale > 1 else f"x%{count}"
    return shifted if not least else f"({shifted}{least:+d})"


def total(base: int, terms: Iterable[tuple[int, str]]) -> str:
    """Return a sum of factors times terms as an expression."""
    written = ""
    for factor, term in terms:
        if term.lstrip("-").isdigit():
            base += factor * int(term)
        elif factor:
            product = term if abs(factor) == 1 else f"{term}*{abs(factor)}"
            written += f"{'-' if factor < 0 else '+'}{product}"
    if not written:
        return str(base)
    tail = f"{base:+d}" if base else ""
    return (written[1:] if written[0] == "+" else "0" + written) + tail


def fitted(fit: Fit, names: Iterable[str], rest: str = "0") -> str:
    """Return a fitted column as an expression of its indices and its rest."""
    return total(fit.base, [*zip(fit.factors, names, strict=True), (1, rest)])


def chosen(dimension: str, values: Sequence[str]) -> str:
    """Return an expression that selects a value by a dimension, from 0."""
    if len(set(values)) == 1:
        return values[0]
    tests = [f"{value} if {dimension}=={number} else " for number, value in enumerate(values[:-1])]
    return f"({''.join(tests)}{values[-1]})"


def literal(text: str) -> str:
    """Return a text as an expression."""
    escaped = text.encode("unicode-escape").decode("ascii").replace("'", "\\'")
    return f"'{escaped}'"


def hole(expression: str, width: int = 0) -> str:
    """Return an expression in braces; `width`: zero-padded number of digits."""
    if expression.isdigit():
        return expression.zfill(width)
    return f"{{{{'%0{width}d'|format({expression})}}}}" if width else f"{{{{{expression}}}}}"


def joined(literals: tuple[str, ...], holes: list[str]) -> str:
    """Join alternating texts and holes, escaping the texts."""
    text = quoted(literals[0]) if len(literals) == 1 else quoted(literals[0] + "\0").removesuffix("\0")
    for place, (hole, literal) in enumerate(zip(holes, literals[1:], strict=True), 2):
        last = place == len(literals)
        text += hole + (quoted(literal) if last else quoted(literal + "\0").removesuffix("\0"))
    return text
