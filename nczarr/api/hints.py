"""Hints for Python callers: the probably intended attribute or keyword, and notes of errors in Python's terms."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from types import MappingProxyType
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


FLAGS = {"bool": "True or False", "bool | None": "True, False or None", "bool | str": "True, False or a text"}
"""Values of arguments whose other values would count as true, by their annotation."""


def add_hints(function: Function, options: Mapping[str, Any] = MappingProxyType({})) -> Function:
    """Return a function with hints in its errors. `options`: annotations of what its `**options` takes, by name."""
    known = {name: kind for name, kind in function.__annotations__.items() if name not in ("options", "return")}
    known |= options

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        for name, value in named.items():
            if name not in known:
                option = KEYWORDS.get(name.replace("_", "-"))
                meant = hint(option.name if option is not None and option.name in known else name, known)
                raise TypeError(f"{function.__qualname__}() got an unexpected keyword argument {name!r}{meant}")
            kind = known[name]
            if kind in FLAGS and type(value).__name__.rstrip("_") not in kind.replace("None", "NoneType").split(" | "):
                example = f', such as {name}="{value}"' if "str" in kind and value is not None else ""
                raise TypeError(f"{name}={value!r}: {FLAGS[kind]} is expected{example}")
        try:
            return function(*arguments, **named)
        except Exception as error:
            if hasattr(error, "__notes__"):
                error.__notes__ = list(map(in_python, error.__notes__))
            raise

    return call  # type: ignore[return-value]
