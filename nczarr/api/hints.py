"""Hints for Python callers: the probably intended attribute or keyword, and notes of errors in Python's terms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

Parameters = ParamSpec("Parameters")
Returned = TypeVar("Returned")


class Hinting:
    """Object whose error for an unknown attribute names the probably intended one."""

    __slots__ = ()

    if not TYPE_CHECKING:  # for mypy, unknown attributes stay errors

        def __getattr__(self, name: str) -> Any:
            from nczarr.diagnostics.report import hint

            if hasattr(type(self), name):  # its own AttributeError
                return object.__getattribute__(self, name)
            public = [] if name.startswith("_") else [each for each in dir(self) if not each.startswith("_")]
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}{hint(name, public)}")


def hinted(function: Callable[Parameters, Returned], keywords: Collection[str] = ()) -> Callable[Parameters, Returned]:
    """Return a function whose error for an unknown keyword argument names the probably intended one.

    `keywords`: all that it takes; by default those of its code. An option of the command line is
    answered with its argument. Notes of the errors that it raises name arguments instead of options.
    """
    code: Any = getattr(function, "__wrapped__", function).__code__
    known = keywords or code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]

    @functools.wraps(function)
    def call(*arguments: Parameters.args, **named: Parameters.kwargs) -> Returned:
        for name in named:
            if name not in known:
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {_meant(name, known)}")
        try:
            return function(*arguments, **named)
        except BaseException as error:
            if getattr(error, "__notes__", None):
                from nczarr.diagnostics.python_terms import in_python

                error.__notes__ = list(map(in_python, error.__notes__))
            raise

    return call


def _meant(name: str, known: Collection[str]) -> str:
    """Return an unknown keyword with the probably intended one."""
    from nczarr.diagnostics.python_terms import KEYWORDS
    from nczarr.diagnostics.report import hint

    option = KEYWORDS.get(name.replace("_", "-"))
    return f"{name!r}{hint(name if option is None or option.name not in known else option.name, known)}"
