"""Dispatch of library calls: in this process, or elsewhere by a function that a program provides.

Damaged files can hang or crash the libraries. A server makes these calls in processes that it can kill
(`nczarr/serve/helpers.py`).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

Way = Callable[..., Any]
"""Takes the file's path, a picklable function and its arguments; returns or raises its result."""

_way: Way | None = None


def use(way: Way | None) -> None:
    """Set the function that makes calls; None: this process."""
    global _way
    _way = way


def is_here() -> bool:
    """Return whether calls are made in this process."""
    return _way is None


def call(path: str, function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function that opens the file at `path`. Raises its exceptions, or OSError without an answer."""
    return function(*arguments) if _way is None else _way(path, function, *arguments)
