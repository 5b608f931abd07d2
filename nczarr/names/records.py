"""Immutable records: named tuples, and classes with slots, which are quick to define and to make.

A command defines a hundred of these classes. `typing` compiles the hint of every member of a named tuple, which takes
three quarters of the time. `dataclasses` of the standard library imports `inspect`, compiles four methods
for a frozen class, and sets members of an object through `object.__setattr__`.
Here one method of `frozen` and `record` is compiled, and members are set through their slots: an import
takes a tenth less of a small run, and an object a third of the time. Functions
of `dataclasses`, such as `fields`, take these records for its own.
"""

import sys
from collections import namedtuple
from collections.abc import Callable, Mapping
from types import MemberDescriptorType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, dataclass_transform

if TYPE_CHECKING:
    from dataclasses import field
else:
    field = None


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


T = TypeVar("T")

_MISSING: Any = object()


class Fresh(NamedTuple):
    """Default of a member that is made for each record."""

    default_factory: Callable[[], Any]
    """Function that makes the default."""
    repr: bool = True
    """True if the text of a record shows the member."""


def fresh(*, factory: Callable[[], T]) -> T:
    """Return a default of a member that `factory` makes for each record."""
    default: Any = Fresh(factory)
    return cast("T", default)


class RecordMember(NamedTuple):
    """A declared member of a record."""

    hint: Any
    """Its type as it is written."""
    default: Any
    """Its default, `Fresh`, a `field` of `dataclasses`, or nothing."""
    by_name: bool
    """True if it is given by name alone."""


class _Fields:
    """`__dataclass_fields__` of a class, made when a function of `dataclasses` asks for it."""

    def __get__(self, record: Any, owner: Any) -> Any:
        from dataclasses import dataclass
        from dataclasses import field as make

        body: dict[str, Any] = {"__annotations__": {name: member.hint for name, member in owner._record.items()}}
        for name, member in owner._record.items():
            default = member.default
            if default is not _MISSING:
                body[name] = make(default_factory=default.default_factory) if type(default) is Fresh else default
        plain: Any = dataclass(init=False, repr=False, eq=False, kw_only=True)(type(owner.__name__, (), body))
        owner.__dataclass_fields__ = plain.__dataclass_fields__
        return owner.__dataclass_fields__


_FIELDS = _Fields()


@dataclass_transform(frozen_default=True, eq_default=False, field_specifiers=(field, fresh))
def frozen(cls: type[T]) -> type[T]:
    """Make a class of frozen records with slots, compared by identity.

    Members are declared as those of a dataclass, and `replace` makes changed records.

    Example::

        @frozen
        class Place:
            path: str
            size: int = 0
    """
    return freeze(cls)


@dataclass_transform(eq_default=False, field_specifiers=(field, fresh))
def record(cls: type[T]) -> type[T]:
    """Make a class of records with slots whose members may change, compared by identity."""
    return cast("type[T]", _make_class(cls, keywords=False))


def freeze(cls: type[T], *, keywords: bool = False) -> type[T]:
    """Return the class as one of frozen records. `keywords`: members are given by name alone."""
    made = _make_class(cls, keywords=keywords)
    made.__setattr__ = made.__delattr__ = _refuse
    for method in (_getstate, _setstate):
        name = f"_{method.__name__}__"
        if not any(name in base.__dict__ for base in cls.__mro__[:-1]):
            setattr(made, name, method)
    return cast("type[T]", made)


def replace(made: T, **changes: Any) -> T:
    """Return a record with some members changed, as `dataclasses.replace` does."""
    members = {name: getattr(made, name) for name in cast("Any", made)._record}
    return type(made)(**{**members, **changes})


def _make_class(cls: type, *, keywords: bool) -> Any:
    """Return the class with slots for its members, a constructor, and a text."""
    members: dict[str, RecordMember] = {}
    for base in reversed(cls.__mro__[1:]):
        members |= base.__dict__.get("_record", {})
    body = dict(cls.__dict__)
    own = {name: hint for name, hint in hints_of(body).items() if not _is_of_class(hint)}
    for name, hint in own.items():
        default = getattr(cls, name, _MISSING)
        members[name] = RecordMember(hint, _MISSING if isinstance(default, MemberDescriptorType) else default, keywords)
        body.pop(name, None)
    for name in ("__dict__", "__weakref__"):
        body.pop(name, None)
    taken = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    body["__slots__"] = tuple(name for name in own if name not in taken)
    body["_record"], body["__dataclass_fields__"] = members, _FIELDS
    body["__match_args__"] = tuple(name for name, member in members.items() if not member.by_name)
    made: Any = type(cls)(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    made.__init__ = _make_constructor(made)
    if not any("__repr__" in base.__dict__ for base in cls.__mro__[:-1]):
        made.__repr__ = _repr
    return made


def _is_of_class(hint: Any) -> bool:
    """Return whether a hint is that of a member of the class."""
    if isinstance(hint, str):
        return hint.startswith("ClassVar")
    return hint is ClassVar or getattr(hint, "__origin__", None) is ClassVar


def _make_constructor(made: Any) -> Callable[..., None]:
    """Return `__init__`, which sets members through their slots."""
    arguments: dict[bool, list[str]] = {False: [], True: []}
    statements: list[str] = []
    scope: dict[str, Any] = {"missing": _MISSING}
    for name, member in made._record.items():
        scope[f"set_{name}"], value = getattr(made, name).__set__, name
        factory, default = _split_default(member.default)
        if factory is not None:
            scope[f"make_{name}"], value = factory, f"make_{name}() if {name} is missing else {name}"
            argument = f"{name}=missing"
        elif default is not _MISSING:
            scope[f"default_{name}"], argument = default, f"{name}=default_{name}"
        else:
            argument = name
        arguments[member.by_name].append(argument)
        statements.append(f" set_{name}(self, {value})")
    if hasattr(made, "__post_init__"):
        statements.append(" self.__post_init__()")
    listed = ["self", *arguments[False], *(["*", *arguments[True]] if arguments[True] else [])]
    exec("\n".join([f"def __init__({', '.join(listed)}):", *(statements or [" pass"])]), scope)
    constructor: Any = scope["__init__"]
    constructor.__qualname__ = f"{made.__qualname__}.__init__"
    return cast("Callable[..., None]", constructor)


def _split_default(default: Any) -> tuple[Callable[[], Any] | None, Any]:
    """Return what makes the default of a member, and the default, of a `field` of `dataclasses` as well."""
    if type(default) is Fresh:
        return default.default_factory, _MISSING
    if type(default).__name__ != "Field" or type(default).__module__ != "dataclasses":
        return None, default
    from dataclasses import MISSING

    factory = default.default_factory
    return None if factory is MISSING else factory, _MISSING if default.default is MISSING else default.default


def _refuse(made: Any, name: str, *value: Any) -> None:
    """Refuse to change a record. Raises FrozenInstanceError."""
    from dataclasses import FrozenInstanceError

    kind = type(made).__name__
    raise FrozenInstanceError(f"cannot change `{name}` of a {kind}: make another one, as `model_copy` and `replace` do")


def _getstate(made: Any) -> tuple[Any, ...]:
    return tuple(getattr(made, name) for name in made._record)


def _setstate(made: Any, state: tuple[Any, ...]) -> None:
    for name, value in zip(made._record, state, strict=True):
        object.__setattr__(made, name, value)


def _repr(made: Any) -> str:
    shown = ((name, member.default) for name, member in made._record.items())
    texts = (f"{name}={getattr(made, name)!r}" for name, default in shown if _is_shown(default))
    return f"{type(made).__qualname__}({', '.join(texts)})"


def _is_shown(default: Any) -> bool:
    """Return whether the text of a record shows a member with a default."""
    return type(default).__module__ != "dataclasses" or default.repr
