"""Templates: Jinja2, without blank lines of its statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
        autoescape=False,  # what is made is no HTML, or has its own escapes
    )
    environment.filters["wrapped"] = wrap
    return environment


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
