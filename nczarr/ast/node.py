"""`Node`: common base of all tree nodes, and the constraints of their members.

Invariant: a node is a value. It is frozen, strictly validated at construction,
and has no parent reference. Its span is excluded from equality, hash, repr,
JSON and schema, so that `read(write(x)) == x` is the plain `==`.

Nodes are classes of `names/records.py`. `__post_init__` accepts the usual members by a
few comparisons; pydantic decides about all others, and does JSON and schema. It
is imported only then (`validation.py`), because its import takes longer than a
small run.
"""

from collections.abc import Callable, Mapping
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Literal, Self, TypeVar, cast, dataclass_transform

from nczarr.diagnostics.report import NOWHERE, Span
from nczarr.names.records import freeze

T = TypeVar("T")


class Constraint:
    """A constraint of a member: entries of its core schema, such as `ge=0`."""

    def __init__(self, **entries: Any) -> None:
        self.entries = entries

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {**handler(source), **self.entries}


class Tagged:
    """A union of nodes, told apart by a member."""

    def __init__(self, member: str) -> None:
        self.member = member

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        from pydantic import Field

        return handler.generate_schema(Annotated[source, Field(discriminator=self.member)])


class Outside:
    """A member outside of the node's value: not validated, not in JSON or schema."""

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return {"type": "any"}

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        from pydantic_core import PydanticOmit

        raise PydanticOmit


Natural = Annotated[int, Constraint(ge=0)]
"""An integer of at least 0."""

Positive = Annotated[int, Constraint(gt=0)]
"""An integer of at least 1."""

Name = Annotated[str, Constraint(min_length=1)]
"""A simple name without escapes, in NFC; `names.problem` checks netCDF's rules."""

TypeName = Annotated[str, Constraint(min_length=1)]
"""A use of a type: an atomic name, or the FQN (`/g/t`) of a user-defined type.

Front ends may leave a bare name if the language has lexical scopes; `resolve`
converts it to a FQN.
"""


@dataclass_transform(frozen_default=True, kw_only_default=True)
def node(cls: type[T]) -> type[T]:
    """Make a class of nodes: frozen and slotted, with keyword arguments."""
    node_class: Any = freeze(cls, keywords=True)
    node_class._members = tuple(node_class._record)
    node_class._value = staticmethod(attrgetter("__class__", *(name for name in node_class._members if name != "span")))
    return cast("type[T]", node_class)


@node
class Node:
    """Base of all nodes: frozen, strict, no unknown members, with a span outside its value."""

    __pydantic_config__: ClassVar[Mapping[str, Any]] = {"strict": True, "extra": "forbid"}
    _members: ClassVar[tuple[str, ...]]
    """Names of all members, in order."""
    _value: ClassVar[Callable[[Any], tuple[Any, ...]]]
    """Class and members of a node, without its span."""

    span: Annotated[Span, Outside()] = NOWHERE
    """Position in the source; not part of the value."""

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Node) and type(self)._value(self) == type(other)._value(other))

    def __hash__(self) -> int:
        return hash(type(self)._value(self))

    def __repr__(self) -> str:
        shown = (f"{name}={getattr(self, name)!r}" for name in self._members if name != "span")
        return f"{type(self).__name__}({', '.join(shown)})"

    def __getstate__(self) -> tuple[Any, ...]:
        return tuple(members_of(self).values())

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        for name, member in zip(self._members, state, strict=True):
            object.__setattr__(self, name, member)

    def _validate_by_pydantic(self) -> None:
        """Let pydantic decide about the members, and convert them. Raises ValidationError."""
        from nczarr.ast import validation

        validation.decide(self)

    def model_copy(self, *, update: Mapping[str, Any] | None = None) -> Self:
        """Return a copy with some members replaced, without validation. Raises TypeError for an unknown member."""
        copied = object.__new__(type(self))
        changes = update or {}
        for name in self._members:
            object.__setattr__(copied, name, changes[name] if name in changes else getattr(self, name))
        if unknown := changes.keys() - set(self._members):
            raise TypeError(f"{type(self).__name__} has no member {', '.join(sorted(unknown))}")
        return copied

    def model_dump(self, *, mode: Literal["python", "json"] = "python", **options: Any) -> dict[str, Any]:
        """Return the members as a dictionary: of Python objects, or of JSON values.

        `options` are those of pydantic's `to_python`, such as `exclude_defaults=True`.
        """
        from nczarr.ast import validation

        members: dict[str, Any] = validation.schema_of(type(self)).serializer.to_python(self, mode=mode, **options)
        return members

    def model_dump_json(self, **options: Any) -> str:
        """Return the members as a JSON text. `options` are those of pydantic's `to_json`."""
        from nczarr.ast import validation

        return validation.schema_of(type(self)).serializer.to_json(self, **options).decode()

    @classmethod
    def model_validate(cls, members: Any) -> Self:
        """Return the node with these members. Raises ValidationError."""
        from nczarr.ast import validation

        validated: Self = validation.schema_of(cls).validator.validate_python(members)
        return validated

    @classmethod
    def model_validate_json(cls, text: str | bytes) -> Self:
        """Return the node of a JSON text. Raises ValidationError."""
        from nczarr.ast import validation

        validated: Self = validation.schema_of(cls).validator.validate_json(text)
        return validated

    @classmethod
    def model_json_schema(cls) -> dict[str, Any]:
        """Return the JSON Schema of such nodes."""
        from nczarr.ast import validation

        return validation.schema_of(cls).json_schema()


def members_of(element: Node) -> dict[str, Any]:
    """Return all members of a node by name, its span included."""
    return {name: getattr(element, name) for name in element._members}


def all_are(candidate: object, kind: type[object]) -> bool:
    """Return whether this is a tuple of objects of one class."""
    return type(candidate) is tuple and {kind}.issuperset(map(type, candidate))


def is_name(candidate: object) -> bool:
    """Return whether this is a text that is not empty."""
    return type(candidate) is str and candidate != ""


def is_natural(candidate: object) -> bool:
    """Return whether this is an integer of at least 0."""
    return type(candidate) is int and candidate >= 0
