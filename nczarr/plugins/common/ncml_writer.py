"""NcML 2.2: declarations of a checked dataset as XML in Common Data Model terms, without data.

The document is well-formed for all names and texts. Differences between the
model and NcML:

    int64 uint64 string opaque     long ulong String opaque
    compound                       Structure with its members as variables; at most `MOST_MEMBERS` in a document
    vlen                           the base type with one more dimension, `*`
    enum                           enum1 enum2 enum4 by width, with a `typedef`; 1- and 2-byte codes are unsigned
    char and string attributes     String; several values are joined by a separator that none contains
    attributes of compounds        one attribute `name.member` per member; lists concatenated; opaque as ubyte
    enum attributes                labels, or integers where there is no label

NcML cannot represent 64-bit enums (written as integers), dimensions whose name
contains blanks, is a number, or is shadowed by a nearer one (written as their
length), NIL strings (empty), and trailing NULs of char attributes. XML 1.0
cannot represent most control characters, nor invalid UTF-8: U+FFFD replaces
them. Source: the NcML 2.2 schema and answers of servers.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence

from nczarr import names
from nczarr.arrays.values.parts import Types, as_integers, size
from nczarr.arrays.values.value_lists import join
from nczarr.ast.dataset import Attribute, Group
from nczarr.ast.types import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.ast.values import Constant
from nczarr.semantics.checked import Checked

NAMESPACE = "http://www.unidata.ucar.edu/namespaces/netcdf/ncml-2.2"
MOST_MEMBERS = 100_000
"""Maximum structure members in one document, because few types can declare any number of them."""

_WORDS = {"int64": "long", "uint64": "ulong", "string": "String"}
_ENUMS = {1: "enum1", 2: "enum2", 4: "enum4"}
_SPECIAL = {"nan": "NaN", "inf": "Infinity", "-inf": "-Infinity"}
_SEPARATORS = "|;^~#"
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_MARKUP = {"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;", "\t": "&#9;", "\n": "&#10;", "\r": "&#13;"}
_NEEDS = re.compile("[" + "".join(_MARKUP) + "]")


def text(checked: Checked, location: str | None, namespace: str = NAMESPACE) -> str:
    """Return the NcML document of a dataset; `location`: its URL in the document."""
    return "".join(line + "\n" for line in _NcmlWriter(checked).lines(location, namespace))


def _quote(value: str) -> str:
    """Return a text as a quoted XML attribute value."""
    clean = _NOT_XML.sub("\ufffd", value)
    return '"' + _NEEDS.sub(lambda match: _MARKUP[match.group()], clean) + '"'


def _element(name: str, ending: str = "/>", /, **attributes: str | None) -> str:
    """Return a start tag without the attributes whose value is None."""
    members = "".join(f" {key}={_quote(value)}" for key, value in attributes.items() if value is not None)
    return f"<{name}{members}{ending}"


def _attribute(name: str, word: str | None, value: str | None, separator: str | None = None) -> str:
    """Return an attribute. `word`: its type, None for String; `value`: text of the values, None without any."""
    return _element("attribute", name=name, type=word, value=value, separator=separator)


class _NcmlWriter:
    """Writer of one document."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self.types: Types = checked.types
        self.members = 0

    def lines(self, location: str | None, namespace: str) -> Iterator[str]:
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield _element("netcdf", ">", xmlns=namespace, location=location)
        yield from self._write_contents(self.checked.dataset, "/", "  ")
        yield "</netcdf>"

    def _write_contents(self, group: Group, path: str, indent: str) -> Iterator[str]:
        for declared in group.types:
            if isinstance(declared, EnumType) and ATOMIC[declared.base].size in _ENUMS:
                yield from _write_enum_type(declared, indent)
        for dimension in group.dimensions:
            unlimited = "true" if dimension.unlimited else None
            yield indent + _element("dimension", name=dimension.name, length=str(dimension.size), isUnlimited=unlimited)
        yield from self._attributes(group.attributes, indent)
        for variable in group.variables:
            shape = [self._dimension(reference, path) for reference in variable.dimensions]
            yield from self._declare(variable.name, variable.type, shape, variable.attributes, path, indent)
        for inner in group.groups:
            yield indent + _element("group", ">", name=inner.name)
            yield from self._write_contents(inner, names.join(path, inner.name), indent + "  ")
            yield indent + "</group>"

    def _declare(
        self, name: str, type_name: str, shape: list[str], attributes: Sequence[Attribute], path: str, indent: str
    ) -> Iterator[str]:
        """Yield a variable or structure member declared in the group at `path`."""
        declared = self.types.get(type_name)
        while isinstance(declared, VlenType):
            shape = [*shape, "*"]
            type_name, declared = declared.base, self.types.get(declared.base)
        word, typedef = self._name_type(type_name, path)
        fields = declared.fields if isinstance(declared, CompoundType) else ()
        ending = ">" if attributes or fields else "/>"
        yield indent + _element("variable", ending, name=name, shape=" ".join(shape), type=word, typedef=typedef)
        if not attributes and not fields:
            return
        yield from self._attributes(attributes, indent + "  ")
        self.members += len(fields)
        if self.members > MOST_MEMBERS:
            yield f"{indent}  <!-- {len(fields)} members: the document has {MOST_MEMBERS} already -->"
            fields = ()
        for field in fields:
            yield from self._declare(field.name, field.type, [*map(str, field.shape)], (), path, indent + "  ")
        yield indent + "</variable>"

    def _dimension(self, reference: str | int, path: str) -> str:
        """Return a dimension's name if it is unambiguous in a shape, else its length."""
        if isinstance(reference, int):
            return str(reference)
        name = names.last(reference)
        nearest = _nearest(name, path, self.checked.dimensions.__contains__)
        if reference == nearest and not re.search(r"\s|^\*$|^[0-9]+$", name):
            return name
        return str(self.checked.dimensions[reference].size)

    def _name_type(self, type_name: str, path: str) -> tuple[str, str | None]:
        """Return the NcML name of a non-list type, and its typedef."""
        declared = self.types.get(type_name)
        match declared:
            case EnumType():
                word = _ENUMS.get(ATOMIC[declared.base].size)
                if word is None or type_name != _nearest(declared.name, path, self._is_typedef):
                    return _WORDS.get(declared.base, declared.base), None
                return word, declared.name
            case OpaqueType():
                return "opaque", None
            case CompoundType():
                return "Structure", None
        return _WORDS.get(type_name, type_name), None

    def _is_typedef(self, fqn: str) -> bool:
        declared = self.types.get(fqn)
        return isinstance(declared, EnumType) and ATOMIC[declared.base].size in _ENUMS

    def _attributes(self, attributes: Sequence[Attribute], indent: str) -> Iterator[str]:
        for attribute in attributes:
            yield from (indent + element for element in self._values(attribute.name, attribute.value))

    def _values(self, name: str, value: Constant) -> Iterator[str]:
        """Yield an attribute as NcML attributes: one, or one per member of a compound."""
        declared = self.types.get(value.type)
        match declared:
            case None:
                yield _atomic(name, value)
            case EnumType():
                codes = as_integers(value, self.types)
                labels = {constant.value: constant.name for constant in declared.constants}
                texts = [labels.get(int(code)) for code in codes.as_numbers()]
                names_of_codes = [label for label in texts if label is not None]
                yield _texts(name, names_of_codes) if len(names_of_codes) == len(texts) else _atomic(name, codes)
            case OpaqueType():
                data = value.data if isinstance(value.data, bytes) else b""
                yield _atomic(name, Constant(type="ubyte", count=len(data), data=data))
            case VlenType():
                elements = [item for item in value.data if isinstance(item, Constant)]
                yield from self._values(name, join(declared.base, elements, self.types))
            case CompoundType():
                if not value.count:
                    yield _attribute(name, None, None)
                    return
                for field, member in self._list_members(declared, value):
                    yield from self._values(f"{name}.{field}", member)

    def _list_members(self, declared: CompoundType, value: Constant) -> Iterator[tuple[str, Constant]]:
        """Yield the values of each member, concatenated over all records."""
        offset = 0
        for number, field in enumerate(declared.fields):
            if isinstance(value.data, bytes):
                width = size(field.type, self.types) * math.prod(field.shape)
                record = len(value.data) // value.count
                starts = range(offset, len(value.data), record)
                data = b"".join(value.data[start : start + width] for start in starts)
                count = value.count * math.prod(field.shape)
                yield field.name, Constant(type=field.type, count=count, data=data)
                offset += width
            else:
                records = [item for item in value.data if isinstance(item, Constant)]
                yield field.name, join(field.type, records[number :: len(declared.fields)], self.types)


def _nearest(name: str, path: str, is_there: Callable[[str], bool]) -> str:
    """Return the FQN of the declaration that a name refers to in a group; one in the root may be missing."""
    while path != "/" and not is_there(names.join(path, name)):
        path = names.parent(path)
    return names.join(path, name)


def _write_enum_type(declared: EnumType, indent: str) -> Iterator[str]:
    """Yield the lines of an enum type; keys are non-negative codes, signed ones for 32 bits."""
    width = ATOMIC[declared.base].size
    modulus = 1 << 8 * width
    yield indent + _element("enumTypedef", ">", name=declared.name, type=_ENUMS[width])
    for constant in declared.constants:
        code = constant.value % modulus
        if width == 4 and code >= modulus // 2:  # readers take keys for signed 32-bit integers
            code -= modulus
        content = _quote(constant.name)[1:-1]
        yield f"{indent}  {_element('enum', '>', key=str(code))}{content}</enum>"
    yield indent + "</enumTypedef>"


def _atomic(name: str, value: Constant) -> str:
    """Return an attribute of an atomic type as an NcML element; the numbers are words in its `value`."""
    if isinstance(value.data, tuple):
        return _texts(name, [item.decode("utf-8", "replace") if isinstance(item, bytes) else "" for item in value.data])
    if value.type == "char":
        return _texts(name, [_char_text(value.data)] if value.count else [])
    numbers = value.as_numbers()  # a float in the digits of a double: readers compare it as one
    words = [repr(each) for each in numbers]
    text = " ".join(_SPECIAL.get(word, word) for word in words) if words else None
    return _attribute(name, _WORDS.get(value.type, value.type), text)


def _texts(name: str, texts: Sequence[str]) -> str:
    if len(texts) < 2:
        return _attribute(name, None, texts[0] if texts else None)
    used = set().union(*texts)
    separator = next(mark for mark in (*_SEPARATORS, *map(chr, range(0x2500, 0xD800))) if mark not in used)
    return _attribute(name, None, separator.join(texts), separator)


def _char_text(data: bytes) -> str:
    """Decode char data as UTF-8, else as Latin-1."""
    data = data.rstrip(b"\0")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return data.decode("latin-1")
