"""`frozen`: classes of immutable records with slots, which are quick to define and to make.

A frozen dataclass of the standard library compiles four methods for each class,
and sets members of an object through `object.__setattr__`. Here one method is
compiled, and members are set through their slots, in a third of the time.
"""

from collections.abc import Callable
from dataclasses import MISSING, FrozenInstanceError, dataclass, field, fields
from typing import Any, TypeVar, cast, dataclass_transform

T = TypeVar("T")

_MISSING = object()


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field,))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of frozen records with slots, compared by identity.

    Members are declared as those of a dataclass, and `dataclasses.replace` makes changed records.

    Example::

        @frozen
        class Place:
            path: str
            size: int = 0
    """
    return freeze(cls)


def freeze(cls: type[T], *, keywords: bool = False) -> type[T]:
    """Return the class as one of frozen records. `keywords`: members are given by name alone."""
    record: Any = dataclass(slots=True, kw_only=keywords, init=False, repr=False, eq=False)(cls)
    record.__init__ = _make_constructor(record)
    record.__setattr__ = record.__delattr__ = _refuse
    for method in (_getstate, _setstate, _repr):
        name = f"_{method.__name__}__"
        if not any(name in base.__dict__ for base in cls.__mro__[:-1]):
            setattr(record, name, method)
    return cast("type[T]", record)


def _make_constructor(record: Any) -> Callable[..., None]:
    """Return `__init__`, which sets members through their slots."""
    arguments: dict[bool, list[str]] = {False: [], True: []}
    statements: list[str] = []
    scope: dict[str, Any] = {"missing": _MISSING}
    for member in fields(record):
        name = member.name
        scope[f"set_{name}"], made = getattr(record, name).__set__, name
        if member.default_factory is not MISSING:
            scope[f"make_{name}"], made = member.default_factory, f"make_{name}() if {name} is missing else {name}"
            argument = f"{name}=missing"
        elif member.default is not MISSING:
            scope[f"default_{name}"], argument = member.default, f"{name}=default_{name}"
        else:
            argument = name
        arguments[member.kw_only is True].append(argument)
        statements.append(f" set_{name}(self, {made})")
    if hasattr(record, "__post_init__"):
        statements.append(" self.__post_init__()")
    listed = ["self", *arguments[False], *(["*", *arguments[True]] if arguments[True] else [])]
    exec("\n".join([f"def __init__({', '.join(listed)}):", *(statements or [" pass"])]), scope)
    constructor: Any = scope["__init__"]
    constructor.__qualname__ = f"{record.__qualname__}.__init__"
    return cast("Callable[..., None]", constructor)


def _refuse(record: Any, name: str, *value: Any) -> None:
    """Refuse to change a record. Raises FrozenInstanceError."""
    kind = type(record).__name__
    raise FrozenInstanceError(f"cannot change `{name}` of a {kind}: make another one, as `model_copy` and `replace` do")


def _getstate(record: Any) -> tuple[Any, ...]:
    return tuple(getattr(record, member.name) for member in fields(record))


def _setstate(record: Any, state: tuple[Any, ...]) -> None:
    for member, value in zip(fields(record), state, strict=True):
        object.__setattr__(record, member.name, value)


def _repr(record: Any) -> str:
    shown = (f"{member.name}={getattr(record, member.name)!r}" for member in fields(record) if member.repr)
    return f"{type(record).__qualname__}({', '.join(shown)})"
