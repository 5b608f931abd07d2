"""Declarations of a document: scopes for name lookup; types of enumerations and structures; attributes."""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TypeVar, cast

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
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
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.opendap.common.words import ATOMIC_OF_DAP4, VARIABLES, number_bytes

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
    groups: list[DmrScope] = field(default_factory=list)
    """Child groups so far."""
    lists: bool = False
    """In the scope of the document: True if sequences and opaque values are lists; else they are faults."""

    def root(self) -> DmrScope:
        """Return the scope of the document."""
        return self if self.parent is None else self.parent.root()

    def all_types(self) -> dict[str, UserType]:
        """Return all types declared so far in this group and below it, by FQN."""
        types = {names.join(self.path, declared.name): declared for declared in self.types}
        for group in self.groups:
            types |= group.all_types()
        return types

    def home_of(self, written: str) -> tuple[DmrScope, str] | None:
        """Return group and simple name of a DAP4 name, or None.

        A leading slash starts at the root, else the path starts at this group.
        """
        *path, name = [_ESCAPED.sub(r"\1", segment) for segment in _SEGMENT.findall(written)] or [""]
        scope: DmrScope | None = self.root() if written.startswith("/") else self
        for segment in path:
            scope = next((group for group in scope.groups if group.name == segment), None) if scope else None
        return (scope, name) if scope is not None and name else None

    def dimension(self, written: str) -> tuple[str, Dimension] | None:
        """Return FQN and dimension of a DAP4 name, relative to this or an enclosing group."""
        return self._find(written, lambda scope: scope.dimensions)

    def type(self, written: str) -> tuple[str, UserType] | None:
        """Return FQN and type of a DAP4 name, looked up like dimensions."""
        return self._find(written, lambda scope: scope.types)

    def _find(self, written: str, declared: Callable[[DmrScope], list[Declared]]) -> tuple[str, Declared] | None:
        """Return the FQN and the declaration that a name or path means, in this group or those around it; else None."""
        scope: DmrScope | None = self
        while scope is not None:
            home = scope.home_of(written)
            for declaration in declared(home[0]) if home else ():
                if home and declaration.name == home[1]:
                    return names.join(home[0].path, declaration.name), declaration
            scope = None if written.startswith("/") else scope.parent  # netCDF-4: groups above are in scope
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
        if not names.is_segment(name) or not text.lstrip("-").isdigit() or len(text) > MOST_DIGITS + 2:
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
        size = element.attributes.get("_edu.ucar.opaque.size")  # netCDF-C tells the size in this attribute
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
        if not names.is_segment(member_name):
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
    # netCDF-C marks a vlen so: a sequence of one field
    if element.attributes.get("_edu.ucar.isvlen", "0") != "0" and len(members) == 1 and not members[0].all("Dim"):
        written = element.attributes.get("nczarr:type") or f"{name}_t"
        home, own_name = scope.home_of(written) or (scope, written)
        return declare(VlenType(name="_", base=type_of(members[0], home)), own_name, home)
    return declare(VlenType(name="_", base=_structure(element, scope)), f"{name}_rows_t", scope)


def declare(declaration: UserType, name: str, home: DmrScope, *, fixed: bool = False) -> str:
    """Declare a type once in a group, under a unique name that begins with `name`, or is it if `fixed`; return its FQN.

    An equal type with that name is used again. Raises FaultError.
    """
    if not names.is_segment(name):
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


MADE_BY = "build_dmrpp_metadata"  # Hyrax's tool notes its own run there
"""Container with Hyrax's build information, which is not part of the dataset."""

COUNT = "nczarr:count"
"""Hint of our server: the number of values that the dataset has. Further ones are for other clients."""

PLAIN = frozenset({"HDF5_GLOBAL", "NC_GLOBAL"})  # containers that Hyrax's handlers make of global attributes
"""Containers whose attributes belong to the group itself."""


def attributes(element: XmlElement, scope: DmrScope, prefix: str = "") -> Iterator[Attribute | tuple[XmlElement, str]]:
    """Yield attributes of a variable or group; for an unreadable one, element and reason.

    Names from a container or member `c` begin with `c.`.
    """
    for member in element.children if element.tag == "Structure" else ():
        if member.tag in VARIABLES:
            yield from attributes(member, scope, f"{prefix}{member.attributes.get('name', '')}.")
    for child in element.all("Attribute"):
        name, kind = child.attributes.get("name", ""), child.attributes.get("type", "")
        if kind == "Container":
            if name != MADE_BY or prefix:
                yield from attributes(child, scope, prefix if name in PLAIN else f"{prefix}{name}.")
            continue
        try:
            if not names.is_segment(prefix + name):
                raise FaultError("netCDF does not allow this attribute name")
            value = _constant(child, kind, scope)
            if value.count or COUNT not in child.attributes:
                yield Attribute(name=prefix + name, value=value)
        except FaultError as fault:
            yield child, f"attribute `{(prefix + name)[:80]}` is left out: {fault}"


def _constant(element: XmlElement, kind: str, scope: DmrScope) -> Constant:
    """Return the value of an attribute. Raises FaultError."""
    type_name = ATOMIC_OF_DAP4.get(kind)
    texts = [value.attributes.get("value", value.text) for value in element.all("Value")]
    if type_name is None:
        return _opaque(element, texts, scope) if kind == "Opaque" else _enum(element, kind, texts, scope)
    count = element.attributes.get(COUNT, "")
    if count.isdecimal():
        texts = texts[: int(count)]
    ours = element.attributes.get("nczarr:type")
    exact = element.attributes.get("nczarr:data")
    if exact is not None or ours is not None:
        return _exact(element, texts, type_name, ours, exact, scope)
    if type_name in ("string", "char"):
        if len(texts) == 1 or (not texts and kind != "URL"):
            return Constant.text("".join(texts).encode())
        return Constant.strings([text.encode() for text in texts])
    return _numbers(texts, type_name)


def _numbers(texts: list[str], type_name: str) -> Constant:
    numbers = [number_bytes(text, type_name) for text in texts]
    if None in numbers:
        raise FaultError(f"`{texts[numbers.index(None)][:40]}` is not a value of type {type_name}")
    return Constant(type=type_name, count=len(texts), data=b"".join(number or b"" for number in numbers))


def _enum(element: XmlElement, kind: str, texts: list[str], scope: DmrScope) -> Constant:
    """Return constants of an enumeration, which are names or numbers. Raises FaultError."""
    enum = scope.type(element.attributes.get("enum", "") if kind == "Enum" else kind)
    if enum is None or not isinstance(enum[1], EnumType):
        raise FaultError(f"the model has no type for `{kind}`")
    values_of_names = {member.name: str(member.value) for member in enum[1].constants}
    value = _numbers([values_of_names.get(text.strip(), text) for text in texts], enum[1].base)
    return value.model_copy(update={"type": enum[0]})


def _opaque(element: XmlElement, texts: list[str], scope: DmrScope) -> Constant:
    """Return opaque values, hexadecimal numbers of one length. Raises FaultError."""
    try:
        # DAP4: opaque values are hexadecimal
        values = [bytes.fromhex(text.strip().removeprefix("0x").removeprefix("0X")) for text in texts]
    except ValueError:
        raise FaultError("its opaque values are not hexadecimal") from None
    size = max(map(len, values), default=0)
    if any(len(value) != size for value in values) or not size:
        raise FaultError("its opaque values are empty or of several lengths")
    return Constant(type=opaque_of(element, size, scope), count=len(values), data=b"".join(values))


def _exact(
    element: XmlElement, texts: list[str], type_name: str, ours: str | None, exact: str | None, scope: DmrScope
) -> Constant:
    """Return a value with details that DAP4 cannot express. Raises FaultError."""
    try:
        data = None if exact is None else [_word(word) for word in exact.split(" ")]
    except (binascii.Error, ValueError):
        raise FaultError("`nczarr:data` is not base64") from None
    if ours == "string" or (ours is None and type_name == "string" and data is not None and len(data) > 1):
        return Constant.strings([text.encode() for text in texts] if data is None else data)
    content = None if data is None else b"".join(word or b"" for word in data)
    if type_name == "string":
        return Constant.text("".join(texts).encode() if content is None else content)
    if (ours, type_name) == ("float", "double"):
        type_name, ours = "float", None
    size = element.attributes.get("_edu.ucar.opaque.size")
    if ours is not None and size is not None and type_name == "ubyte":
        packed = _numbers(texts, type_name).data if content is None else content
        length = whole(size, "size of an opaque value")
        assert isinstance(packed, bytes)
        if not length or len(packed) % length:
            raise FaultError("its opaque values have the wrong length")
        return Constant(type=opaque_of(element, length, scope), count=len(packed) // length, data=packed)
    enum = scope.type(ours) if ours else None
    width = ATOMIC[type_name].size
    if ours is not None and (enum is None or not isinstance(enum[1], EnumType) or enum[1].base != type_name):
        raise FaultError(f"the enumeration `{ours}` is not declared")
    packed = _numbers(texts, type_name).data if content is None else content
    assert isinstance(packed, bytes)
    if len(packed) % width:
        raise FaultError("`nczarr:data` has the wrong length")
    return Constant(type=enum[0] if enum else type_name, count=len(packed) // width, data=packed)


def _word(word: str) -> bytes | None:
    """Return the bytes of a text, None for NIL. Raises ValueError."""
    return None if word == "-" else base64.b64decode(word, validate=True)
