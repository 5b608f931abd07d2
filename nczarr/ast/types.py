"""Types: the twelve atomic ones, and the four kinds of user-defined ones.

Source: the NCZarr data model (atomic types, opaque, compound) and the netCDF-4
enhanced model (char, float, double, enum, vlen).
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Literal, get_args

from nczarr import names
from nczarr.ast.node import Name, Natural, Node, Positive, Tagged, TypeName, all_are, is_name, is_natural, node
from nczarr.names.records import NamedTuple

MAX_DEPTH = 64
"""Maximum nesting of groups and types: JSON, hash and repr of nodes recurse, and overflow well below 900."""

IntegerName = Literal["byte", "ubyte", "short", "ushort", "int", "uint", "int64", "uint64"]

_INTEGERS = get_args(IntegerName)


class Atomic(NamedTuple):
    """Properties of an atomic type."""

    name: str
    """Name of the type."""
    size: int
    """Size in bytes; 0 for strings."""
    code: str
    """Format character of `struct`."""
    low: int = 0
    """Smallest integer."""
    high: int = 0
    """Largest integer."""

    @property
    def is_integer(self) -> bool:
        """True if the values are integers; char is not a number."""
        return self.high > 0

    @property
    def is_float(self) -> bool:
        """True if the values are IEEE floats."""
        return self.code in ("f", "d")


ATOMIC: dict[str, Atomic] = {
    atomic.name: atomic
    for atomic in (
        Atomic("byte", 1, "b", -(2**7), 2**7 - 1),
        Atomic("ubyte", 1, "B", 0, 2**8 - 1),
        Atomic("char", 1, "c"),
        Atomic("short", 2, "h", -(2**15), 2**15 - 1),
        Atomic("ushort", 2, "H", 0, 2**16 - 1),
        Atomic("int", 4, "i", -(2**31), 2**31 - 1),
        Atomic("uint", 4, "I", 0, 2**32 - 1),
        Atomic("int64", 8, "q", -(2**63), 2**63 - 1),
        Atomic("uint64", 8, "Q", 0, 2**64 - 1),
        Atomic("float", 4, "f"),
        Atomic("double", 8, "d"),
        Atomic("string", 0, ""),
    )
}
"""The twelve atomic types of netCDF-4 by name, with `struct` codes for little-endian packing."""


def is_number(type_name: str) -> bool:
    """Return whether values of a type are atomic integers or floats."""
    atomic = ATOMIC.get(type_name)
    return atomic is not None and (atomic.is_integer or atomic.is_float)


@node
class EnumConstant(Node):
    """A named value of an enum type."""

    name: Name
    """Name of the constant."""
    value: int
    """Its integer."""

    def __post_init__(self) -> None:
        if not (is_name(self.name) and type(self.value) is int):
            self._validate_by_pydantic()


@node
class EnumType(Node):
    """Named integers. Names and values are unique."""

    kind: Literal["enum"] = "enum"
    """Tag of the node."""
    name: Name
    """Name of the type."""
    base: IntegerName
    """Integer type that holds all values."""
    constants: tuple[EnumConstant, ...]
    """Constants in definition order."""

    def __post_init__(self) -> None:
        is_sound = is_name(self.name) and self.kind == "enum" and self.base in _INTEGERS
        if not (is_sound and all_are(self.constants, EnumConstant)):
            self._validate_by_pydantic()


@node
class OpaqueType(Node):
    """Uninterpreted values of fixed size."""

    kind: Literal["opaque"] = "opaque"
    """Tag of the node."""
    name: Name
    """Name of the type."""
    size: Positive
    """Size of a value in bytes."""

    def __post_init__(self) -> None:
        if not (is_name(self.name) and self.kind == "opaque" and is_natural(self.size) and self.size):
            self._validate_by_pydantic()


@node
class VlenType(Node):
    """Sequences of any length."""

    kind: Literal["vlen"] = "vlen"
    """Tag of the node."""
    name: Name
    """Name of the type."""
    base: TypeName
    """Type of the elements."""

    def __post_init__(self) -> None:
        if not (is_name(self.name) and self.kind == "vlen" and is_name(self.base)):
            self._validate_by_pydantic()


@node
class Field(Node):
    """A member of a compound."""

    name: Name
    """Name of the field."""
    type: TypeName
    """Type of the values."""
    shape: tuple[Positive, ...] = ()
    """Lengths of an array field; empty for a single value."""
    offset: Natural | None = None
    """Byte offset in a file's own layout; None: C alignment."""

    def __post_init__(self) -> None:
        """Check the types of the members quickly; pydantic validates only what fails, and explains it."""
        if not (
            is_name(self.name)
            and is_name(self.type)
            and type(self.shape) is tuple
            and all(type(length) is int and length > 0 for length in self.shape)
            and (self.offset is None or is_natural(self.offset))
        ):
            self._validate_by_pydantic()


@node
class CompoundType(Node):
    """An ordered record of fields."""

    kind: Literal["compound"] = "compound"
    """Tag of the node."""
    name: Name
    """Name of the type."""
    fields: tuple[Field, ...]
    """Fields in order."""
    size: Positive | None = None
    """Size in a file's own layout in bytes; None: as in C."""

    def __post_init__(self) -> None:
        is_sound = is_name(self.name) and self.kind == "compound" and all_are(self.fields, Field)
        if not (is_sound and (self.size is None or (is_natural(self.size) and self.size))):
            self._validate_by_pydantic()


UserType = Annotated[EnumType | OpaqueType | VlenType | CompoundType, Tagged("kind")]
"""User-defined type of a group."""


def list_parts(declared: UserType) -> list[str]:
    """Return the types of a type's elements or fields; an enum or opaque type has none."""
    if isinstance(declared, VlenType):
        return [declared.base]
    return [field.type for field in declared.fields] if isinstance(declared, CompoundType) else []


def dependencies_first(types: Mapping[str, UserType]) -> dict[str, UserType]:
    """Return acyclic types by FQN, each after the types it uses, else in the given order; unknown ones are ignored."""
    done: dict[str, UserType] = {}

    def visit(fqn: str) -> None:
        """Add a type behind the types that it uses."""
        declared = types.get(fqn)
        if declared is None or fqn in done:
            return
        for name in list_parts(declared):
            visit(name)
        done[fqn] = declared

    for fqn in types:
        visit(fqn)
    return done


def sound_types(types: Mapping[str, UserType]) -> dict[str, UserType]:
    """Return types that use only known types, are not recursive, and nest at most MAX_DEPTH deep."""
    sound: dict[str, UserType] = {}
    for _ in range(MAX_DEPTH):
        ready = {
            path: declared
            for path, declared in types.items()
            if path not in sound and all(name in ATOMIC or name in sound for name in list_parts(declared))
        }
        if not ready:
            break
        sound.update(ready)
    return sound


class DeclaredTypes:
    """Types that are declared in one group, in order, under names that nothing else has there.

    `taken`: names of other items of the group; `longest`: maximum bytes of a
    normalized name without its unique suffix; None: names stay as they are.
    """

    longest: int | None = None

    def __init__(self, path: str, taken: Iterable[str] = ()) -> None:
        self.path = path
        self.taken = set(taken)
        self.types: dict[str, UserType] = {}

    def free(self, preferred: str) -> str:
        """Return an unused type name."""
        name = preferred
        if self.longest is not None:
            name = names.normal(preferred).encode()[: self.longest].decode(errors="ignore")
        while name in self.taken or name in self.types:
            name += "_"
        return name

    def declare(self, user_type: UserType) -> TypeName:
        """Declare a type; return its FQN."""
        self.types[user_type.name] = user_type
        return names.join(self.path, user_type.name)

    def share(self, user_type: UserType) -> TypeName:
        """Return the FQN of a type; its name is only used if the group has no equal type."""
        for name, declared in self.types.items():
            if declared.model_copy(update={"name": user_type.name}) == user_type:
                return names.join(self.path, name)
        return self.declare(user_type.model_copy(update={"name": self.free(user_type.name)}))
