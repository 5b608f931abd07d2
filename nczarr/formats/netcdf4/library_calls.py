"""Where calls of the libraries are made: in this process, or by whatever a program gives that runs them elsewhere.

A damaged file can hang or crash the libraries. A server makes these calls in processes that it can end
(`nczarr/serve/helpers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Way = Callable[..., Any]
"""Takes the path of the file, a function that pickles, and its arguments; returns or raises what the function does."""

_way: Way | None = None


def use(way: Way | None) -> None:
    """Make calls this way from now on; None: in this process."""
    global _way
    _way = way


def is_here() -> bool:
    """Whether calls are made in this process."""
    return _way is None


def call(path: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that opens the file at `path`. Raises what it raises, OSError if no answer comes."""
    return function(*arguments) if _way is None else _way(path, function, *arguments)
