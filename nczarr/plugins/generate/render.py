"""Templates: Jinja2, without blank lines of its statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nczarr.sdk import names

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
