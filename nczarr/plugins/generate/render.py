"""Texts of programs: Jinja2 templates without blank lines of their statements, and values as expressions of Python."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nczarr.sdk import NUMPY, names, np

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).with_name("templates")


def render(template: str, context: Mapping[str, Any]) -> str:
    """Return the text of a template with names of the schema. Raises ImportError without Jinja2."""
    return _environment().get_template(template).render(**context).rstrip("\n") + "\n"


@cache
def _environment() -> Environment:
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    environment = Environment(
        loader=FileSystemLoader(TEMPLATES),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        autoescape=lambda name: name is not None and name.endswith(".html.j2"),
    )
    environment.filters["wrapped"] = wrap
    environment.filters["folded"] = fold
    environment.filters["comment"] = write_comment
    return environment


def write_comment(text: str) -> str:
    """Return a text that ends no comment of any language: on one line, and without marks that end or begin one."""
    line = " ".join(names.readable(text.replace("\t", " ").replace("\r", " ").replace("\n", " ")).split(" "))
    for mark in ("*/", "/*", "--", '"""'):
        while mark in line:
            line = line.replace(mark, " ".join(mark))
    return line.replace("\\", "\\\\")


def fold(expression: str, indent: int) -> str:
    """Return an expression of Python; one that is too long for a line has each part on its own."""
    if len(expression) + indent <= 100 or expression[:1] not in "[({":
        return expression
    pieces, depth, quote, start = [], 0, "", 1
    skipped = False
    for at, character in enumerate(expression):
        if skipped:
            skipped = False
        elif quote:
            skipped = character == "\\"
            quote = "" if character == quote else quote
        elif character in "\"'":
            quote = character
        elif character == "," and depth == 1:
            pieces.append(expression[start:at].strip())
            start = at + 1
        else:
            depth += (character in "[({") - (character in "])}")
    pieces.append(expression[start:-1].strip())
    margin = " " * indent
    lines = "".join(f"{margin}{fold(piece, indent)},\n" for piece in pieces if piece)
    return f"{expression[0]}\n{lines}{margin[4:]}{expression[-1]}"


def wrap(items: list[str], indent: int = 4, width: int = 100) -> str:
    """Return items separated by commas, on as many lines as they need."""
    lines, line = [], ""
    for number, item in enumerate(items):
        piece = item + ("," if number < len(items) - 1 else "")
        if line and indent + len(line) + 1 + len(piece) > width:
            lines.append(line)
            line = piece
        else:
            line = f"{line} {piece}" if line else piece
    lines.append(line)
    return ("\n" + " " * indent).join(lines)


WIDTH = 100
"""Maximum columns of the lines of a list."""


def literal(value: Any) -> str:
    """Return a Python value, or one of NumPy, as an expression that makes an equal Python value."""
    if isinstance(value, np.ndarray):
        return literal(value.tolist())
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(name)}: {literal(one)}" for name, one in value.items()) + "}"
    shown = repr(value)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown else shown


def _real(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def array_of(value: Any, type_name: str, shape: Sequence[int], dtype: str | None = None) -> str:
    """Return an expression that makes an array, or a scalar for no shape.

    `dtype`: expression of the type's dtype, for types that are not atomic.
    """
    kind = dtype or literal(NUMPY[type_name].lstrip("<|"))
    if type_name == "char":
        flat = _chars(value)
        return f'np.frombuffer({flat!r}, "S1").reshape({tuple(shape)!r})' if shape else repr(flat[:1])
    if type_name == "string":
        items = literal(
            value if isinstance(value, list | str | bytes) or value is None else np.asarray(value, object).tolist()
        )
        return f"np.array({items}, dtype=object)" if shape else items
    if not shape:
        return f"np.array({literal(value)}, dtype={kind})[()]"
    shown = [literal(one) for one in np.asarray(value).reshape(-1).tolist()]
    lines = wrap(shown, 8, WIDTH)
    flat_values = f"\n        {lines}\n    " if "\n" in lines else lines
    reshaped = f".reshape({tuple(shape)!r})" if len(shape) > 1 else ""
    return f"np.array([{flat_values}], dtype={kind}){reshaped}"


def _chars(value: Any) -> bytes:
    """Return the bytes of chars; an array's empty ones are NULs."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return bytes(np.asarray(value, "S1").tobytes())
