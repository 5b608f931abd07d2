"""Texts of sections, which `pipeline/select/selection_syntax.py` parses to the same names and indices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_RESERVED = re.compile(r"[/\\();,.]")


def write_section(
    path: Iterable[str],
    ranges: Sequence[range | None] | None = None,
    members: Iterable[tuple[str, Sequence[range | None] | None]] = (),
) -> str:
    """Return the section for these indices of a variable, given by its names from the root, or of members.

    None stands for a whole dimension, or for all. Raises ValueError for an
    empty or descending range, and for an empty name: sections cannot express
    them.
    """
    first = "".join("/" + _escape(name) for name in path) + _parenthesize(ranges)
    if not first:
        raise ValueError("a section must begin with a variable name")
    return ".".join([first, *(_escape(name) + _parenthesize(extents) for name, extents in members)])


def _escape(name: str) -> str:
    """Return an escaped name; leading and trailing blanks, which would be trimmed, get a backslash too."""
    if not name:
        raise ValueError("a section cannot have an empty name")
    text = _RESERVED.sub(r"\\\g<0>", name[:-1])
    last = "\\" + name[-1] if name[-1].isspace() or _RESERVED.match(name[-1]) else name[-1]
    return ("\\" if text[:1].isspace() else "") + text + last


def _parenthesize(ranges: Sequence[range | None] | None) -> str:
    return "(" + ",".join(map(_extent_text, ranges)) + ")" if ranges else ""


def _extent_text(indices: range | None) -> str:
    if indices is None:
        return ":"
    if not indices or indices.start < 0 or indices.step < 1:
        raise ValueError(f"a section cannot have the indices {indices!r}")
    return f"{indices.start}:{indices[-1]}" + (f":{indices.step}" if indices.step > 1 else "")
