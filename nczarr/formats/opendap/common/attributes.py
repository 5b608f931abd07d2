"""Attributes of a document → attributes of the model."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Iterator

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant
from nczarr.ast.types import EnumType
from nczarr.formats.opendap.common.declarations import DmrScope, FaultError, opaque_of, whole
from nczarr.formats.opendap.common.document_text import number_of
from nczarr.formats.opendap.common.type_words import ATOMIC_OF_DAP4, VARIABLES
from nczarr.formats.opendap.common.xml_reader import XmlElement

MADE_BY = "build_dmrpp_metadata"
"""Container with Hyrax's build information, which is not part of the dataset."""

COUNT = "nczarr:count"
"""Hint of our server: the number of values that the dataset has. Further ones are for other clients."""

PLAIN = frozenset({"HDF5_GLOBAL", "NC_GLOBAL"})
"""Containers whose attributes belong to the group itself."""


def attributes(element: XmlElement, scope: DmrScope) -> Iterator[Attribute | tuple[XmlElement, str]]:
    """Yield attributes of a variable or group; for an unreadable one, element and reason.

    Names from a container or member `c` begin with `c.`.
    """
    yield from _of(element, "", scope)


def _of(element: XmlElement, prefix: str, scope: DmrScope) -> Iterator[Attribute | tuple[XmlElement, str]]:
    for member in element.children if element.tag == "Structure" else ():
        if member.tag in VARIABLES:
            yield from _of(member, f"{prefix}{member.attributes.get('name', '')}.", scope)
    for child in element.all("Attribute"):
        name = child.attributes.get("name", "")
        kind = child.attributes.get("type", "")
        if kind == "Container":
            if name != MADE_BY or prefix:
                yield from _of(child, prefix if name in PLAIN else f"{prefix}{name}.", scope)
            continue
        try:
            if names.problem(prefix + name) is not None:
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
    numbers = []
    for text in texts:
        number = number_of(text, type_name)
        if number is None:
            raise FaultError(f"`{text[:40]}` is not a value of type {type_name}")
        numbers.append(number)
    return Constant(type=type_name, count=len(texts), data=b"".join(numbers))


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
