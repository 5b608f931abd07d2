"""Hints for Python callers: the probably intended attribute or keyword, and notes of errors in Python's terms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from nczarr.diagnostics.python_terms import KEYWORDS, in_python
from nczarr.diagnostics.report import hint

Function = TypeVar("Function", bound=Callable[..., Any])


class Hinting:
    """Object whose error for an unknown attribute names the probably intended one."""

    __slots__ = ()
    if not TYPE_CHECKING:  # for mypy, unknown attributes stay errors

        def __getattr__(self, name: str) -> Any:
            if hasattr(type(self), name):  # its own AttributeError
                return object.__getattribute__(self, name)
            public = [] if name.startswith("_") else [each for each in dir(self) if not each.startswith("_")]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint(name, public)}")


def add_hints(function: Function, keywords: Collection[str] = ()) -> Function:
    """Return a function with hints in its errors. `keywords`: all that it takes; by default those of its code."""
    code = function.__code__
    known = keywords or code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for name in named.keys() - known:
            option = KEYWORDS.get(name.replace("_", "-"))
            meant = hint(option.name if option is not None and option.name in known else name, known)
            raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{meant}")
        try:
            return function(*arguments, **named)
        except Exception as error:
            if hasattr(error, "__notes__"):
                error.__notes__ = list(map(in_python, error.__notes__))
            raise

    return call  # type: ignore[return-value]
