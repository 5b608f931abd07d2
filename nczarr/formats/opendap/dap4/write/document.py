"""Document (DMR) of some variables of a dataset, as libnetcdf's server writes it.

    char        Char            vlen        Sequence with one member, which has its name, and `_edu.ucar.isvlen`
    compound    Structure       opaque      Opaque with `_edu.ucar.opaque.size`
    enum        Enum            unlimited   `_edu.ucar.isunlimited` of a dimension

A dimension is anonymous where a variable has a slice of its own. Attributes of our
namespace have what DAP4 cannot say; other clients ignore them:

    nczarr:type     type of a variable, member or attribute; `string`: one string, not chars
    nczarr:data     bytes of an attribute, in base64
    nczarr:count    number of values that the dataset has; further ones are for other clients

libnetcdf (4.9.0 to 4.10.1) converts a Float32 attribute twice, which replaces its
last three bits. So these attributes are Float64, which has all their values. Only
`_FillValue` must have the type of its variable: `missing_value` repeats it as Float64.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from nczarr import names
from nczarr.arrays.values.parts import Types
from nczarr.ast import ATOMIC, Attribute, CompoundType, Constant, EnumType, Group, OpaqueType, Variable, VlenType
from nczarr.ast.values import shortest
from nczarr.check.checked import Checked
from nczarr.formats.opendap.common.exact_values import numbers_of, texts_of
from nczarr.formats.opendap.common.wire import DAP4, LEFT_OUT, OURS, dap4_name, escaped, is_safe_text, shown, tag
from nczarr.formats.opendap.dap4.write.selection import Projection, SelectedVariable

STEP = "    "
FILL, MISSING = "_FillValue", "missing_value"

WORDS = {
    "ubyte": "UInt8", "byte": "Int8", "char": "Char", "short": "Int16", "ushort": "UInt16", "int": "Int32",
    "uint": "UInt32", "int64": "Int64", "uint64": "UInt64", "float": "Float32", "double": "Float64",
    "string": "String",
}  # fmt: skip
"""Names of the atomic types."""


def dmr(checked: Checked, projection: Projection, name: str) -> str:
    """Return the document of a projection; `name`: name of the dataset."""
    return "".join(line + "\n" for line in _DmrWriter(checked, projection).lines(name))


class _DmrWriter:
    def __init__(self, checked: Checked, projection: Projection) -> None:
        self.checked = checked
        self.types: Types = checked.types
        self.wanted = {selected.fqn: selected for selected in projection.variables}
        self.dimensions = projection.dimensions
        self.left_out: list[str] = []
        self.restored: list[str] = []
        """Messages about losses that our own client does not have."""

    def lines(self, name: str) -> Iterator[str]:
        """Yield the whole document."""
        yield '<?xml version="1.0" encoding="UTF-8"?>'
        xml_attributes = {"xmlns": DAP4, "xmlns__nczarr": OURS, "dapVersion": "4.0", "dmrVersion": "2.0"}
        yield tag("Dataset", **xml_attributes, name=name, closed=False)
        yield from self._group(self.checked.dataset, "/", STEP)
        messages = [*self.left_out, *self.restored]
        if messages:
            hints = {"nczarr__type": "string", "nczarr__count": len(self.left_out)}
            texts = [shown(message.encode("utf-8", "surrogateescape")) for message in messages]
            yield from _lines(LEFT_OUT, "String", hints, texts, STEP)
        yield "</Dataset>"

    def _group(self, group: Group, path: str, step: str) -> Iterator[str]:
        for dimension in group.dimensions:
            hint: dict[str, Any] = {"_edu.ucar.isunlimited": "1"} if dimension.unlimited else {}
            size = len(self.dimensions[names.join(path, dimension.name)])
            yield step + tag("Dimension", name=dimension.name, size=size, **hint)
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

    def _variable(self, variable: Variable, selected: SelectedVariable, step: str) -> Iterator[str]:
        maps = []
        dims = []
        for reference, indices in zip(variable.dimensions, selected.ranges, strict=True):
            if isinstance(reference, str) and indices == self.dimensions[reference]:
                dims.append(tag("Dim", name=dap4_name(reference)))
                if reference != selected.fqn and reference in self.wanted:
                    maps.append(tag("Map", name=dap4_name(reference)))
            else:
                dims.append(tag("Dim", size=len(indices)))
        element, xml_attributes = self._element(variable.type, variable.name)
        yield step + _opened(element, xml_attributes)
        yield from self._members(variable.type, variable.name, step + STEP)
        yield from (step + STEP + line for line in dims)
        fill = _repeated_fill(variable)
        for attribute in variable.attributes:
            yield from self._attribute(attribute, step + STEP, selected.fqn, fill if attribute.name == MISSING else ())
        if fill and all(attribute.name != MISSING for attribute in variable.attributes):
            yield from _lines(MISSING, WORDS["double"], {"nczarr__count": 0}, fill, step + STEP)
        yield from (step + STEP + line for line in maps)
        yield f"{step}</{element}>"

    def _element(self, type_name: str, name: str) -> tuple[str, dict[str, str | int | None]]:
        """Return the element of a variable or member, and its attributes."""
        declared = self.types.get(type_name)
        hint = {} if declared is None else {"nczarr__type": dap4_name(type_name)}
        match declared:
            case EnumType():
                return "Enum", {"name": name, "enum": dap4_name(type_name)}
            case OpaqueType(size=length):
                return "Opaque", {"name": name, "_edu.ucar.opaque.size": length, **hint}
            case VlenType():
                return "Sequence", {"name": name, "_edu.ucar.isvlen": 1, **hint}
            case CompoundType():
                return "Structure", {"name": name, **hint}
        return WORDS[type_name], {"name": name}

    def _members(self, type_name: str, name: str, step: str) -> Iterator[str]:
        declared = self.types.get(type_name)
        if isinstance(declared, VlenType):
            yield from self._member(declared.base, name, (), step)
        elif isinstance(declared, CompoundType):
            for field in declared.fields:
                yield from self._member(field.type, field.name, field.shape, step)

    def _member(self, type_name: str, name: str, shape: tuple[int, ...], step: str) -> Iterator[str]:
        element, xml_attributes = self._element(type_name, name)
        yield step + _opened(element, xml_attributes)
        yield from self._members(type_name, name, step + STEP)
        yield from (step + STEP + tag("Dim", size=length) for length in shape)
        yield f"{step}</{element}>"

    def _attribute(self, attribute: Attribute, step: str, owner: str, further: Sequence[str] = ()) -> Iterator[str]:
        """Yield the lines of an attribute. `further`: texts of values for other clients."""
        value, declared = attribute.value, self.types.get(attribute.value.type)
        place = f"{owner}@{attribute.name}"
        hints: dict[str, str | int | None] = {}
        if isinstance(declared, EnumType | OpaqueType):
            hints["nczarr__type"] = dap4_name(value.type)
            base = declared.base if isinstance(declared, EnumType) else "ubyte"
            if isinstance(declared, OpaqueType):
                hints["_edu.ucar.opaque.size"] = declared.size
            value = value.model_copy(update={"type": base})
        if value.type not in ATOMIC:
            self.left_out.append(f"{place}: attributes are numbers and texts")
            return
        if value.type in ("char", "string"):
            word, texts = "String", self._texts(value, place, hints)
        elif value.type == "float" and attribute.name != FILL:
            word, texts = WORDS["double"], _double_texts(value, hints)
        else:
            word = WORDS[value.type]
            texts, hints["nczarr__data"] = numbers_of(value, value.type)
            texts = ["NaN" if text == "nan" else text for text in texts]
        if not texts:
            self.left_out.append(f"{place}: an attribute has at least one value")
            return
        if further:
            hints["nczarr__count"] = len(texts)
        yield from _lines(attribute.name, word, hints, [*texts, *further], step)

    def _texts(self, value: Constant, place: str, hints: dict[str, str | int | None]) -> list[str]:
        """Return the texts of an attribute, and add what they do not say to its hints."""
        texts, hints["nczarr__type"], hints["nczarr__data"] = texts_of(value)
        items = (value.data,) if isinstance(value.data, bytes) else value.data
        if isinstance(value.data, bytes) and value.data.endswith(b"\0"):
            self.restored.append(f"{place}: NULs at the end")
            items = (value.data.rstrip(b"\0"),)
            texts = [shown(items[0] or b"")]
        if not all(_is_exact(item) for item in items if isinstance(item, bytes)):
            self.restored.append(f"{place}: characters that XML does not hold are replaced")
        return texts


def _repeated_fill(variable: Variable) -> tuple[str, ...]:
    """Return the text of a fill value of floats that `missing_value` must repeat: it lacks it, or is missing."""
    attributes = {attribute.name: attribute.value for attribute in variable.attributes}
    fill, missing = attributes.get(FILL), attributes.get(MISSING)
    if fill is None or fill.type != "float" or fill.count != 1:
        return ()
    (number,) = fill.as_numbers()
    if math.isnan(number) or (missing is not None and missing.type not in ("float", "double")):
        return ()
    is_there = missing is not None and number in missing.as_numbers()
    return () if is_there else (shortest(number, "double"),)


def _double_texts(value: Constant, hints: dict[str, str | int | None]) -> list[str]:
    """Return the texts of floats as doubles, and add their type, and the bits of NaN, to the hints."""
    hints["nczarr__type"], hints["nczarr__data"] = "float", numbers_of(value, "float")[1]
    return ["NaN" if math.isnan(number) else shortest(number, "double") for number in value.as_numbers()]


def _lines(name: str, word: str, hints: dict[str, Any], texts: Sequence[str], step: str) -> Iterator[str]:
    """Yield the lines of an attribute."""
    yield step + tag("Attribute", name=name, type=word, **hints, closed=False)
    yield from (f"{step}{STEP}<Value>{escaped(text)}</Value>" for text in texts)
    yield f"{step}</Attribute>"


def _opened(element: str, xml_attributes: dict[str, Any]) -> str:
    return tag(element, **xml_attributes, closed=False)


def _is_exact(text: bytes) -> bool:
    try:
        return is_safe_text(text.decode())
    except UnicodeDecodeError:
        return False
