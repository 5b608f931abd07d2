"""Writer of a document (DMR) of some variables of a dataset, in the dialect of our server or of DMR++.

    compound    Structure       vlen        Sequence with one member, which has its name, and `_edu.ucar.isvlen`
    enum        Enum            opaque      Opaque with `_edu.ucar.opaque.size`

A dimension is anonymous where a variable has a slice of its own. Attributes of our
namespace have what DAP4 cannot say; other clients ignore them:

    nczarr:type     type of a variable, member or attribute; `string`: one string, not chars
    nczarr:data     bytes of an attribute, in base64
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal, NamedTuple, TypeAlias

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, CompoundType, EnumType, Group, OpaqueType, Variable, VlenType
from nczarr.plugins.opendap.common.words import DAP4, OURS, WORDS, dap4_name, escape, numbers_of, tag, texts_of
from nczarr.semantics.checked import Checked

STEP = "    "

XmlAttributes: TypeAlias = "dict[str, str | int | None]"
"""Attributes of an element; None: absent."""


class Projection(NamedTuple):
    """Variables and slices of a document."""

    variables: Mapping[str, tuple[range, ...]]
    """Indices of each dimension of the variables by FQN, in definition order."""
    dimensions: Mapping[str, range]
    """Indices of all dimensions by FQN."""


class AttributeText(NamedTuple):
    """An attribute as a document has it."""

    word: str
    """Word of the type."""
    hints: XmlAttributes
    """XML attributes with facts that the values do not have."""
    texts: Sequence[str]
    """Texts of the values."""


class DmrWriter:
    """Writer of one document. A dialect defines `dialect` and `unlimited`, and may define the methods below them."""

    dialect: ClassVar[Literal["dap4", "dmrpp"]]
    """Column of the table of type words."""
    unlimited: ClassVar[tuple[str, str]]
    """XML attribute of unlimited dimensions, and its value."""

    def __init__(self, checked: Checked, projection: Projection) -> None:
        self.checked, self.types = checked, checked.types
        self.selected = projection.variables
        self.dimensions = projection.dimensions

    # ---- of a dialect ------------------------------------------------------------------------------------------------
    def hints(self, fqn: str) -> XmlAttributes:
        """Return further XML attributes of a variable."""
        return {}

    def attributes(self, attributes: tuple[Attribute, ...], owner: str, step: str) -> Iterator[str]:
        """Yield the lines of the attributes of a group or variable, `owner`."""
        for attribute in attributes:
            written = self.attribute(attribute, owner)
            if written is not None:
                yield from attribute_lines(attribute.name, written, step)

    def attribute(self, attribute: Attribute, owner: str) -> AttributeText | None:
        """Return the text of an attribute; None if it is left out."""
        value, declared = attribute.value, self.types.get(attribute.value.type)
        hints: XmlAttributes = {}
        if isinstance(declared, EnumType):
            hints["nczarr__type"] = dap4_name(value.type)
            value = value.model_copy(update={"type": declared.base})
        if value.type in ("char", "string"):
            texts, hints["nczarr__type"], hints["nczarr__data"] = texts_of(value)
            return AttributeText(WORDS["string"].dap4, hints, texts)
        if value.type not in ATOMIC:
            return None
        texts, hints["nczarr__data"] = numbers_of(value, value.type)
        return AttributeText(self.word(value.type), hints, texts)

    def values(self, fqn: str, step: str) -> Iterator[str]:
        """Yield the lines of the values of a variable."""
        yield from ()

    def end(self) -> Iterator[str]:
        """Yield the last lines of the root group."""
        yield from ()

    # ---- of both -----------------------------------------------------------------------------------------------------
    def document(self, version: str, name: str, xml_attributes: XmlAttributes, **namespaces: str) -> Iterator[str]:
        """Yield the lines of the document. `version`: that of the DMR; `name`: name of the dataset."""
        spaces: XmlAttributes = {"xmlns": DAP4, **namespaces, "xmlns__nczarr": OURS}
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield _open("Dataset", {**spaces, "dapVersion": "4.0", "dmrVersion": version, "name": name} | xml_attributes)
        yield from self._write_group(self.checked.dataset, "/", STEP)
        yield from self.end()
        yield "</Dataset>"

    def word(self, type_name: str) -> str:
        """Return the word of an atomic type."""
        word: str = getattr(WORDS[type_name], self.dialect)
        return word

    def _write_group(self, group: Group, path: str, step: str) -> Iterator[str]:
        for dimension in group.dimensions:
            size = len(self.dimensions[names.join(path, dimension.name)])
            xml_attributes: XmlAttributes = {"name": dimension.name, "size": size}
            if dimension.unlimited:
                name, value = self.unlimited
                xml_attributes[name] = value
            yield step + tag("Dimension", **xml_attributes, closed=True)
        for declared in group.types:
            if isinstance(declared, EnumType):
                yield step + tag("Enumeration", name=declared.name, basetype=self.word(declared.base), closed=False)
                for constant in declared.constants:
                    yield step + STEP + tag("EnumConst", name=constant.name, value=constant.value)
                yield step + "</Enumeration>"
        for variable in group.variables:
            if (fqn := names.join(path, variable.name)) in self.selected:
                yield from self._write_variable(variable, fqn, step)
        yield from self.attributes(group.attributes, path, step)
        for child in group.groups:
            yield step + tag("Group", name=child.name, closed=False)
            yield from self._write_group(child, names.join(path, child.name), step + STEP)
            yield step + "</Group>"

    def _write_variable(self, variable: Variable, fqn: str, step: str) -> Iterator[str]:
        inner = step + STEP
        element, xml_attributes = self._element(variable.type, variable.name)
        yield step + _open(element, xml_attributes | self.hints(fqn))
        yield from self._write_members(variable.type, variable.name, inner)
        maps = []
        for reference, indices in zip(variable.dimensions, self.selected[fqn], strict=True):
            if isinstance(reference, str) and indices == self.dimensions[reference]:
                yield inner + tag("Dim", name=dap4_name(reference))
                if reference != fqn and reference in self.selected:
                    maps.append(inner + tag("Map", name=dap4_name(reference)))
            else:
                yield inner + tag("Dim", size=len(indices))
        yield from self.attributes(variable.attributes, fqn, inner)
        yield from maps
        yield from self.values(fqn, inner)
        yield f"{step}</{element}>"

    def _element(self, type_name: str, name: str) -> tuple[str, XmlAttributes]:
        """Return the element of a variable or member, and its attributes."""
        declared = self.types.get(type_name)
        hint: XmlAttributes = {} if declared is None else {"nczarr__type": dap4_name(type_name)}
        match declared:
            case EnumType():
                return "Enum", {"name": name, "enum": dap4_name(type_name)}
            case OpaqueType(size=length):
                return "Opaque", {"name": name, "_edu.ucar.opaque.size": length, **hint}
            case VlenType():
                return "Sequence", {"name": name, "_edu.ucar.isvlen": 1, **hint}
            case CompoundType():
                return "Structure", {"name": name, **hint}
        word = self.word(type_name)
        is_hidden = type_name == "char" and word != WORDS["char"].dap4
        return word, {"name": name, "nczarr__type": type_name if is_hidden else None}

    def _write_members(self, type_name: str, name: str, step: str) -> Iterator[str]:
        declared = self.types.get(type_name)
        if isinstance(declared, VlenType):
            yield from self._member(declared.base, name, (), step)
        elif isinstance(declared, CompoundType):
            for field in declared.fields:
                yield from self._member(field.type, field.name, field.shape, step)

    def _member(self, type_name: str, name: str, shape: tuple[int, ...], step: str) -> Iterator[str]:
        element, xml_attributes = self._element(type_name, name)
        yield step + _open(element, xml_attributes)
        yield from self._write_members(type_name, name, step + STEP)
        yield from (step + STEP + tag("Dim", size=length) for length in shape)
        yield f"{step}</{element}>"


def attribute_lines(name: str, written: AttributeText, step: str) -> Iterator[str]:
    """Yield the lines of an attribute."""
    yield step + _open("Attribute", {"name": name, "type": written.word, **written.hints})
    yield from (f"{step}{STEP}<Value>{escape(text)}</Value>" for text in written.texts)
    yield f"{step}</Attribute>"


def _open(element: str, xml_attributes: XmlAttributes) -> str:
    return tag(element, **xml_attributes, closed=False)
