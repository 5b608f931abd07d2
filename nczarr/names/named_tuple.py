"""`NamedTuple` of `typing`, which type checkers see, but quicker to define: a command defines a hundred.

`typing` compiles the hint of every member, which takes three quarters of the time.
"""

import sys
from collections import namedtuple
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any


def hints_of(body: Mapping[str, Any]) -> dict[str, Any]:
    """Return the hints of the members that a class body declares; undefined names in them are no fault."""
    hints: dict[str, Any] = body.get("__annotations__", {})
    if not hints and sys.version_info >= (3, 14):
        import annotationlib

        make_hints = annotationlib.get_annotate_from_class_namespace(body)
        if make_hints is not None:
            hints = annotationlib.call_annotate_function(make_hints, annotationlib.Format.FORWARDREF)
    return hints


if TYPE_CHECKING:
    from typing import NamedTuple as NamedTuple
else:

    class _TupleMaker(type):
        """Makes a tuple class of the members that a class body declares."""

        def __new__(cls, name: str, bases: tuple[type, ...], body: dict[str, Any]) -> type:
            if not bases:
                return super().__new__(cls, name, bases, body)
            hints = hints_of(body)
            defaults = [body.pop(member) for member in hints if member in body]
            made = namedtuple(name, hints, defaults=defaults, module=body["__module__"])
            made.__annotations__ = hints
            for member, value in body.items():
                if member not in ("__module__", "__annotations__"):
                    setattr(made, member, value)
            return made

    class NamedTuple(metaclass=_TupleMaker):
        """Base of the classes."""
