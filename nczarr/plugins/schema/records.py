"""Records of JSON Lines: members that are empty are left out, places are lines and columns from 1."""

from __future__ import annotations

from typing import Any

from nczarr.sdk import Span


def make_record(**members: Any) -> dict[str, Any]:
    """Return the members that have a value, as a record."""
    return {name: value for name, value in members.items() if value is not None and value not in ((), [], {}, "")}


def show_span(span: Span) -> dict[str, Any] | None:
    """Return a place in a source: its name, and where it begins and ends; None without a source."""
    if span.source is None:
        return None
    source = span.source
    shown: dict[str, Any] = {"source": source.name} | ({"key": source.key} if source.key else {})
    if source.has_lines and source.data:
        for name, offset in (("start", span.start), ("end", max(span.start, span.end))):
            line, column = source.position(offset)
            shown[name] = {"line": line, "column": column}
    return shown | {"bytes": [span.start, span.end]}
