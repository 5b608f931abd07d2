"""Document (DMR) of some variables of a dataset, as libnetcdf's server writes it.

    char        Char            vlen        Sequence with one member, which has its name, and `_edu.ucar.isvlen`
    compound    Structure       opaque      Opaque with `_edu.ucar.opaque.size`
    enum        Enum            unlimited   `_edu.ucar.isunlimited` of a dimension

A dimension of which a part is requested is anonymous.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.parts import Types
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, EnumType, Group, OpaqueType, Variable, VlenType
from nczarr.ast.values import shortest
from nczarr.check.checked import Checked
from nczarr.formats.dap4.write.selection import Wanted
from nczarr.opendap.wire import dap4_name, escaped, is_safe_text, shown, tag

NAMESPACE = "http://xml.opendap.org/ns/DAP/4.0#"
STEP = "    "
LEFT_OUT = "_nczarr_left_out"
"""Global attribute with a message for everything that the document lacks."""

WORDS = {
    "ubyte": "UInt8", "byte": "Int8", "char": "Char", "short": "Int16", "ushort": "UInt16", "int": "Int32",
    "uint": "UInt32", "int64": "Int64", "uint64": "UInt64", "float": "Float32", "double": "Float64",
    "string": "String",
}  # fmt: skip
"""Names of the atomic types."""


def dmr(checked: Checked, wanted: tuple[Wanted, ...], name: str) -> str:
    """Return the document of variables; `name`: name of the dataset."""
    return "".join(line + "\n" for line in _Writer(checked, wanted).lines(name))


class _Writer:
    def __init__(self, checked: Checked, wanted: tuple[Wanted, ...]) -> None:
        self.checked = checked
        self.types: Types = checked.types
        self.wanted = {each.fqn: each for each in wanted}
        self.left_out: list[str] = []

    def lines(self, name: str) -> Iterator[str]:
        """Yield the whole document."""
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        yield tag("Dataset", xmlns=NAMESPACE, dapVersion="4.0", dmrVersion="2.0", name=name, closed=False)
        yield from self._group(self.checked.dataset, "/", STEP)
        if self.left_out:
            texts = [each.encode("utf-8", "surrogateescape") for each in self.left_out]
            yield from self._attribute(Attribute(name=LEFT_OUT, value=Constant.strings(texts)), STEP, "/")
        yield "</Dataset>"

    def _group(self, group: Group, path: str, step: str) -> Iterator[str]:
        for dimension in group.dimensions:
            hint: dict[str, Any] = {"_edu.ucar.isunlimited": "1"} if dimension.unlimited else {}
            yield step + tag("Dimension", name=dimension.name, size=dimension.size, **hint)
        for declared in group.types:
            if isinstance(declared, EnumType):
                yield step + tag("Enumeration", name=declared.name, basetype=WORDS[declared.base], closed=False)
                for constant in declared.constants:
                    yield step + STEP + tag("EnumConst", name=constant.name, value=constant.value)
                yield step + "</Enumeration>"
        for variable in group.variables:
            fqn = names.join(path, variable.name)
            if fqn in self.wanted:
                yield from self._variable(variable, self.wanted[fqn], step)
        for attribute in group.attributes:
            yield from self._attribute(attribute, step, path)
        for child in group.groups:
            yield step + tag("Group", name=child.name, closed=False)
            yield from self._group(child, names.join(path, child.name), step + STEP)
            yield step + "</Group>"

    def _variable(self, variable: Variable, wanted: Wanted, step: str) -> Iterator[str]:
        maps = []
        dims = []
        for reference, indices, length in zip(
            variable.dimensions, wanted.ranges, self.checked.shapes[wanted.fqn], strict=True
        ):
            if isinstance(reference, str) and indices == range(length):
                dims.append(tag("Dim", name=dap4_name(reference)))
                if reference != wanted.fqn and reference in self.wanted:
                    maps.append(tag("Map", name=dap4_name(reference)))
            else:
                dims.append(tag("Dim", size=len(indices)))
        element, given = self._element(variable.type, variable.name)
        yield step + _opened(element, given)
        yield from self._members(variable.type, variable.name, step + STEP)
        yield from (step + STEP + line for line in dims)
        for attribute in variable.attributes:
            yield from self._attribute(attribute, step + STEP, wanted.fqn)
        yield from (step + STEP + line for line in maps)
        yield f"{step}</{element}>"

    def _element(self, type_name: str, name: str) -> tuple[str, dict[str, str | int | None]]:
        """Return the element of a variable or member, and its attributes."""
        match self.types.get(type_name):
            case EnumType():
                return "Enum", {"name": name, "enum": dap4_name(type_name)}
            case OpaqueType(size=length):
                return "Opaque", {"name": name, "_edu.ucar.opaque.size": length}
            case VlenType():
                return "Sequence", {"name": name, "_edu.ucar.isvlen": 1}
            case CompoundType():
                return "Structure", {"name": name}
        return WORDS[type_name], {"name": name}

    def _members(self, type_name: str, name: str, step: str) -> Iterator[str]:
        declared = self.types.get(type_name)
        if isinstance(declared, VlenType):
            yield from self._member(declared.base, name, (), step)
        elif isinstance(declared, CompoundType):
            for field in declared.fields:
                yield from self._member(field.type, field.name, field.shape, step)

    def _member(self, type_name: str, name: str, shape: tuple[int, ...], step: str) -> Iterator[str]:
        element, given = self._element(type_name, name)
        yield step + _opened(element, given)
        yield from self._members(type_name, name, step + STEP)
        yield from (step + STEP + tag("Dim", size=length) for length in shape)
        yield f"{step}</{element}>"

    def _attribute(self, attribute: Attribute, step: str, owner: str) -> Iterator[str]:
        value, declared = attribute.value, self.types.get(attribute.value.type)
        if isinstance(declared, EnumType):
            value = Constant(type=declared.base, count=value.count, data=value.data)
        elif isinstance(declared, OpaqueType) and isinstance(value.data, bytes):
            value = Constant(type="ubyte", count=len(value.data), data=value.data)
        place = f"{owner}@{attribute.name}"
        if value.type not in ATOMIC:
            self.left_out.append(f"{place}: attributes are numbers and texts")
            return
        if value.type in ("char", "string"):
            items = (value.data.rstrip(b"\0"),) if isinstance(value.data, bytes) else value.data
            if isinstance(value.data, bytes) and items != (value.data,):
                self.left_out.append(f"{place}: NULs at the end")
            texts = [shown(item) if isinstance(item, bytes) else "" for item in items]
            if not all(_is_exact(item) for item in items if isinstance(item, bytes)):
                self.left_out.append(f"{place}: characters that XML does not hold are replaced")
            word = "String"
        else:
            word, texts = WORDS[value.type], [_number(each, value.type) for each in value.as_numbers()]
        if not texts:
            self.left_out.append(f"{place}: an attribute has at least one value")
            return
        yield step + tag("Attribute", name=attribute.name, type=word, closed=False)
        yield from (f"{step}{STEP}<Value>{escaped(text)}</Value>" for text in texts)
        yield f"{step}</Attribute>"


def _opened(element: str, given: dict[str, Any]) -> str:
    return tag(element, **given, closed=False)


def _is_exact(text: bytes) -> bool:
    try:
        return is_safe_text(text.decode())
    except UnicodeDecodeError:
        return False


def _number(value: int | float, type_name: str) -> str:
    """Return the shortest text that reads back to the same value."""
    if isinstance(value, int):
        return str(value)
    text = shortest(value, type_name)
    return "NaN" if text == "nan" else text
