"""Declarations of a document: scopes for name lookup; enumerations, and compounds from structures."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar, cast

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.types import IntegerName
from nczarr.formats.opendap.common.type_words import ATOMIC_OF_DAP4, VARIABLES
from nczarr.formats.opendap.common.xml_reader import XmlElement

MOST_DIGITS = 18

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SEGMENT = re.compile(r"((?:[^\\/]|\\.)+)", re.DOTALL)

Declared = TypeVar("Declared", Dimension, UserType)


class FaultError(ValueError):
    """Reason why a part of a document cannot be read, for messages."""


@dataclass(eq=False)
class DmrScope:
    """A group during reading."""

    name: str
    """Name of the group."""
    path: str
    """FQN of the group."""
    parent: DmrScope | None = None
    """Enclosing group."""
    types: list[UserType] = field(default_factory=list)
    """Types so far."""
    dimensions: list[Dimension] = field(default_factory=list)
    """Dimensions so far."""
    variables: list[Variable] = field(default_factory=list)
    """Variables so far."""
    attributes: tuple[Attribute, ...] = ()
    """Attributes of the group."""
    groups: list[DmrScope] = field(default_factory=list)
    """Child groups so far."""
    lists: bool = False
    """In the scope of the document: True if sequences and opaque values are lists; else they are faults."""

    def root(self) -> DmrScope:
        """Return the scope of the document."""
        return self if self.parent is None else self.parent.root()

    def _below(self, segments: list[str]) -> DmrScope | None:
        scope: DmrScope | None = self
        for segment in segments:
            scope = next((group for group in scope.groups if group.name == segment), None) if scope else None
        return scope

    def home_of(self, written: str) -> tuple[DmrScope, str] | None:
        """Return group and simple name of a DAP4 name, or None.

        A leading slash starts at the root, else the path starts at this group.
        """
        segments = [_ESCAPED.sub(r"\1", segment) for segment in _SEGMENT.findall(written)]
        if not segments:
            return None
        start = self.root() if written.startswith("/") else self
        home = start._below(segments[:-1])
        return None if home is None else (home, segments[-1])

    def dimension(self, written: str) -> tuple[str, Dimension] | None:
        """Return FQN and dimension of a DAP4 name, relative to this or an enclosing group."""
        return self._found(written, lambda scope: scope.dimensions)

    def type(self, written: str) -> tuple[str, UserType] | None:
        """Return FQN and type of a DAP4 name, looked up like dimensions."""
        return self._found(written, lambda scope: scope.types)

    def _found(self, written: str, declared: Callable[[DmrScope], list[Declared]]) -> tuple[str, Declared] | None:
        scope: DmrScope | None = self
        while scope is not None:
            home = scope.home_of(written)
            for declaration in declared(home[0]) if home else ():
                if home and declaration.name == home[1]:
                    return names.join(home[0].path, declaration.name), declaration
            scope = None if written.startswith("/") else scope.parent
        return None

    def node(self) -> Group:
        """Return the group as a node of the tree."""
        return Group(
            name=self.name,
            types=tuple(self.types),
            dimensions=tuple(self.dimensions),
            variables=tuple(self.variables),
            attributes=self.attributes,
            groups=tuple(group.node() for group in self.groups),
        )


def size_of(element: XmlElement, scope: DmrScope) -> int | tuple[str, int]:
    """Return a `Dim`'s length, or FQN and length of its dimension. Raises FaultError."""
    name, size = element.attributes.get("name"), element.attributes.get("size")
    length = None if size is None else whole(size, "size of a dimension")
    if name is None:
        if length is None:
            raise FaultError("a dimension has neither a name nor a size")
        return length
    dimension = scope.dimension(name)
    if dimension is None:
        raise FaultError(f"its dimension `{name}` is not declared")
    if length not in (None, dimension[1].size):
        raise FaultError(f"its dimension `{name}` has {dimension[1].size} and {length} as sizes")
    return dimension[0], dimension[1].size


def whole(text: str, what: str) -> int:
    """Parse a nonnegative integer. Raises FaultError."""
    text = text.strip()
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS):
        raise FaultError(f"`{text[:40]}` is not a valid {what}")
    return int(text)


def enum_of(element: XmlElement) -> EnumType:
    """Return the type of an `Enumeration`. Raises FaultError."""
    base = ATOMIC_OF_DAP4.get(element.attributes.get("basetype", ""))
    if base is None or not ATOMIC[base].is_integer:
        raise FaultError(f"`{element.attributes.get('basetype', '')}` is not an integer type")
    constants = []
    for child in element.all("EnumConst"):
        name, text = child.attributes.get("name", ""), child.attributes.get("value", "").strip()
        if names.problem(name) is not None or not text.lstrip("-").isdigit() or len(text) > MOST_DIGITS + 2:
            raise FaultError(f"a constant `{name[:40]}` has the value `{text[:40]}`")
        constants.append(EnumConstant(name=name, value=int(text)))
        if not ATOMIC[base].low <= constants[-1].value <= ATOMIC[base].high:
            raise FaultError(f"`{text}` is out of range for {element.attributes['basetype']}")
    if not constants or len({member.name for member in constants}) < len(constants):
        raise FaultError("names of its constants are not unique" if constants else "it has no constants")
    return EnumType(name=element.attributes["name"], base=cast("IntegerName", base), constants=tuple(constants))


def type_of(element: XmlElement, scope: DmrScope) -> str:
    """Return the type of a variable or member, declaring a structure's. Raises FaultError."""
    tag = element.tag
    if tag in ATOMIC_OF_DAP4:
        ours = element.attributes.get("nczarr:type")
        return "char" if ours == "char" else ATOMIC_OF_DAP4[tag]
    if tag == "Enum":
        written = element.attributes.get("enum", "")
        enum = scope.type(written)
        if enum is None or not isinstance(enum[1], EnumType):
            raise FaultError(f"its enumeration is not declared: `{written}`")
        return enum[0]
    if tag == "Structure":
        return _structure(element, scope)
    if tag == "Sequence" and scope.root().lists:
        return _sequence(element, scope)
    if tag == "Opaque" and scope.root().lists:
        size = element.attributes.get("_edu.ucar.opaque.size")
        if size is None:
            return declare(VlenType(name="_", base="ubyte"), "opaque_t", scope.root())
        return opaque_of(element, whole(size, "size of an opaque value"), scope)
    raise FaultError(f"the model has no type for `{tag}`")


def opaque_of(element: XmlElement, length: int, scope: DmrScope) -> str:
    """Return the FQN of the opaque type of a variable, member or attribute. Raises FaultError."""
    if not 0 < length < 1 << 31:
        raise FaultError(f"its opaque values have {length} bytes")
    written = element.attributes.get("nczarr:type") or f"opaque{length}_t"
    home, name = scope.home_of(written) or (scope, written)
    return declare(OpaqueType(name="_", size=length), name, home)


def _structure(element: XmlElement, scope: DmrScope) -> str:
    """Return the FQN of a structure's compound; equal ones of one name are one type."""
    home, name = scope, ""
    written = element.attributes.get("nczarr:type")
    home_and_name = scope.home_of(written) if written else None
    if home_and_name is not None:
        home, name = home_and_name
    fields = []
    for child in element.children:
        if child.tag not in VARIABLES:
            if child.tag not in ("Dim", "Attribute", "Map") and not child.tag.startswith("dmrpp:"):
                raise FaultError(f"it has a member `{child.tag}`, which is unknown")
            continue
        member_name = child.attributes.get("name", "")
        if names.problem(member_name) is not None:
            raise FaultError(f"a member has the name `{member_name[:40]}`, which netCDF does not allow")
        shape = []
        for dim in child.all("Dim"):
            size = size_of(dim, scope)
            shape.append(size if isinstance(size, int) else size[1])
        if 0 in shape or child.first("dmrpp:chunks") is not None or child.first("dmrpp:chunk") is not None:
            raise FaultError(f"its member `{member_name}` has values or chunks")
        fields.append(Field(name=member_name, type=type_of(child, home), shape=tuple(shape)))
    if not fields or len({field.name for field in fields}) < len(fields):
        raise FaultError("names of its members are not unique" if fields else "it has no members")
    compound = CompoundType(name="_", fields=tuple(fields))
    return declare(compound, name or f"{element.attributes.get('name', '')}_t", home, fixed=bool(name))


def _sequence(element: XmlElement, scope: DmrScope) -> str:
    """Return the FQN of a sequence's type: a list of its compound.

    A list of netCDF, which servers mark, is a list of the sequence's only member.
    """
    members = [child for child in element.children if child.tag in VARIABLES]
    name = element.attributes.get("name", "")
    if element.attributes.get("_edu.ucar.isvlen", "0") != "0" and len(members) == 1 and not members[0].all("Dim"):
        written = element.attributes.get("nczarr:type") or f"{name}_t"
        home, own_name = scope.home_of(written) or (scope, written)
        return declare(VlenType(name="_", base=type_of(members[0], home)), own_name, home)
    return declare(VlenType(name="_", base=_structure(element, scope)), f"{name}_rows_t", scope)


def declare(declaration: UserType, name: str, home: DmrScope, *, fixed: bool = False) -> str:
    """Declare a type once in a group, under a unique name that begins with `name`, or is it if `fixed`; return its FQN.

    An equal type with that name is used again. Raises FaultError.
    """
    if names.problem(name) is not None:
        raise FaultError(f"`{name[:40]}` is not a type name")
    free_name, number = name, 1
    while True:
        declaration = declaration.model_copy(update={"name": free_name})
        same = next((other for other in home.types if other.name == free_name), None)
        if same is None:
            home.types.append(declaration)
        if same is None or same == declaration:
            return names.join(home.path, free_name)
        if fixed:
            raise FaultError(f"the type `{name}` has different members elsewhere")
        number += 1
        free_name = f"{name}{number}"
