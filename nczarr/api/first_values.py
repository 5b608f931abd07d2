"""First values of short variables, for the HTML of handles: bounded reads that need no network and no computation."""

from __future__ import annotations

from nczarr.api.brief import brief
from nczarr.arrays.sources.source import ArraySource, itemsize
from nczarr.ast.rectilinear import volume
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import CompileError

COUNT = 4
"""Maximum shown values of a variable."""

LETTERS = 40
"""Maximum shown characters of a variable of type char."""

VARIABLES = 30
"""Maximum variables of one handle with values."""

BYTES = 1 << 20
"""Maximum bytes that are decoded for the values of one handle."""

TEXT = 64
"""Assumed bytes of a string."""


class FirstValues:
    """First values of the scalars and one-dimensional variables of a dataset, within one bound."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._variables = VARIABLES
        self._bytes = BYTES

    def text(self, path: str) -> str:
        """Return the first values of a variable in words; empty where they are not short, or cost too much."""
        variable, shape = self._checked.variables[path], self._checked.shapes[path]
        if len(shape) > 1 or 0 in shape or self._variables <= 0 or variable.type in self._checked.types:
            return ""
        count = LETTERS if variable.type == "char" else COUNT
        cost = sum(_cost(source, count) for source in self._checked.parts.get(path, {}).values())
        if cost > self._bytes:
            return ""
        self._variables -= 1
        self._bytes -= int(cost)
        try:
            return self._read(path, count)
        except (CompileError, OSError):
            return "not readable"

    def _read(self, path: str, count: int) -> str:
        """Return the first `count` values in words. Raises CompileError, OSError."""
        from nczarr.select.indexing import read

        shape = self._checked.shapes[path]
        values = read(self._checked, path, (slice(0, count),) if shape else ())
        more = ", …" if shape and shape[0] > count else ""
        if self._checked.variables[path].type == "char":
            return repr(values.tobytes().rstrip(b"\0").decode("utf-8", "replace")) + more.removeprefix(",")
        return (brief(values).strip("[]") if shape else brief(values)) + more


def _cost(source: ArraySource, count: int) -> float:
    """Return the bytes that are decoded for the first values; infinite for a network or a graph of tasks."""
    if source.distant or source.deferred is not None:
        return float("inf")
    layout = source.layout
    size = TEXT if layout.dtype == "|O" else itemsize(layout.dtype)
    return size * (count if source.viewed else volume(layout.chunks))
