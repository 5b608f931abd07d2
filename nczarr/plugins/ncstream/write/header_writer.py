"""Stream header of a dataset: `Checked` → `Header`.

It declares groups, dimensions, variables, structures and attributes for every
reader. The lossless model (with type names, char and string, member order,
storage) is an extra field (`nczarr`, AST JSON), which other readers skip.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from nczarr import names
from nczarr.arrays.sources.memory import all_fill
from nczarr.ast import ATOMIC, Attribute, Constant, Group, Variable
from nczarr.ast.json import dump
from nczarr.ast.node import TypeName
from nczarr.ast.plain_json import is_utf8
from nczarr.ast.types import CompoundType, EnumType, VlenType
from nczarr.ast.values import swap
from nczarr.names import to_bytes
from nczarr.plugins.common.part_arrays import own_fills
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.wire.element_types import OLD_ATTRIBUTE, WIRE, in_order, is_sequence, wire_type
from nczarr.semantics.checked import Checked

VERSION = 1
"""Header version; only this one exists."""


def header(checked: Checked, location: str | None = None) -> pb.Header:
    """Return the header of a dataset; `location` is its path or URL."""
    written = pb.Header(version=VERSION, root=_Heading(checked).group("/", checked.dataset))
    if location is not None:
        written.location = to_bytes(location)
    written.nczarr = json.dumps(dump(checked.dataset), ensure_ascii=True, allow_nan=False).encode("ascii")
    written.fills.extend(_fills(checked))
    return written


def encode_attributes(checked: Checked, attributes: Iterable[Attribute]) -> list[pb.Attribute]:
    """Return attributes of a dataset as a header has them, without those of types that the wire lacks."""
    return _Heading(checked).encode(attributes)


def _fills(checked: Checked) -> Iterator[pb.Fill]:
    """Yield array fill values that differ from those of their variable."""
    for path, sources in checked.parts.items():
        variable = checked.variables[path]
        usual = all_fill(checked.fills[path], variable.type, checked.shapes[path], checked.types)
        for part, fill in own_fills(sources, usual).items():
            yield pb.Fill(path=to_bytes(path), part=to_bytes(part), value=fill)


class _Heading:
    """Header builder of one dataset."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self._types = checked.types

    def group(self, path: str, group: Group) -> pb.Group:
        """Return a group with its content."""
        written = pb.Group(name=to_bytes(group.name if path != "/" else ""))
        for dimension in group.dimensions:
            written.dims.add(
                name=to_bytes(dimension.name), length=dimension.size, isUnlimited=dimension.unlimited or None
            )
        for declared in group.types:
            if isinstance(declared, EnumType):
                written.enumTypes.append(_enum(declared))
        for variable in group.variables:
            if is_sequence(variable.type, self._checked.shapes[names.join(path, variable.name)], self._types):
                self._sequence(written, variable)
            else:
                self._declare(written, variable.name, variable.type, self._shape(variable), variable.attributes)
        written.atts.extend(self.encode(group.attributes))
        written.groups.extend(self.group(names.join(path, inner.name), inner) for inner in group.groups)
        return written

    def _shape(self, variable: Variable) -> list[pb.Dimension]:
        """Return the dimensions of a variable."""
        dimensions = []
        for dimension in variable.dimensions:
            if isinstance(dimension, int):
                # anonymous dimensions stand in shapes alone
                dimensions.append(pb.Dimension(length=dimension, isPrivate=True))
                continue
            shared = self._checked.dimensions[dimension]
            dimensions.append(
                pb.Dimension(name=to_bytes(shared.name), length=shared.size, isUnlimited=shared.unlimited or None)
            )
        return dimensions

    def _sequence(self, into: pb.Group, variable: Variable) -> None:
        """Declare a single list of records as a sequence."""
        self._declare(into, variable.name, variable.type, [], variable.attributes)
        structure = into.structs[-1]
        structure.dataType = pb.SEQUENCE
        del structure.shape[:]

    def _declare(
        self,
        into: pb.Group | pb.Structure,
        name: str,
        type_name: TypeName,
        shape: list[pb.Dimension],
        attributes: Sequence[Attribute] = (),
    ) -> None:
        """Declare a variable or member in a group or structure."""
        wire = wire_type(type_name, self._types)
        # `*` and private: the form of TDS 4 and 5 for ragged dimensions
        shape = [*shape, *(pb.Dimension(name=b"*", isVlen=True, isPrivate=True) for _ in range(wire.ragged))]
        declared = self._types.get(wire.declared or "")
        if isinstance(declared, CompoundType):
            structure = into.structs.add(
                name=to_bytes(name), dataType=wire.element, shape=shape, atts=self.encode(attributes)
            )
            for field in in_order(declared.fields, self._types):
                lengths = [pb.Dimension(length=length, isPrivate=True) for length in field.shape]
                self._declare(structure, field.name, field.type, lengths)
            return
        into.vars.add(
            name=to_bytes(name),
            dataType=wire.element,
            shape=shape,
            atts=self.encode(attributes),
            enumType=to_bytes(names.last(wire.declared)) if wire.declared else None,
        )

    def encode(self, attributes: Iterable[Attribute]) -> list[pb.Attribute]:
        """Return attributes without those of types that the wire lacks."""
        written = (self._attribute(attribute) for attribute in attributes)
        return [attribute for attribute in written if attribute is not None]

    def _attribute(self, attribute: Attribute) -> pb.Attribute | None:
        """Convert an attribute. Returns None if the wire has no such type; the model field stores it."""
        value, name = attribute.value, to_bytes(attribute.name)
        declared = self._types.get(value.type)
        if isinstance(declared, EnumType):
            return _texts(name, list(_labels(value, declared)))  # as TDS: the label, not the number
        if declared is not None:
            return self._lists(name, value, declared) if isinstance(declared, VlenType) else None
        if isinstance(value.data, bytes) and value.type == "char":
            if not is_utf8(value.data):
                return pb.Attribute(name=name, type=pb.Attribute.STRING, len=value.count, data=value.data,
                                    dataType=pb.CHAR)  # fmt: skip
            return _texts(name, [value.data])
        if isinstance(value.data, bytes):
            return _numbers(name, value.type, value.count, value.data)
        texts = [text if isinstance(text, bytes) else b"" for text in value.data]  # NIL becomes empty
        return _texts(name, [text.decode("utf-8", "replace").encode() for text in texts])

    def _lists(self, name: bytes, value: Constant, declared: VlenType) -> pb.Attribute | None:
        """Convert one list of numbers to an attribute of numbers."""
        if value.count != 1 or declared.base not in WIRE or not isinstance(value.data, tuple):
            return None
        inner = value.data[0]
        assert isinstance(inner, Constant)
        return self._attribute(Attribute(name=names.normal(name.decode()), value=inner))


def _enum(declared: EnumType) -> pb.EnumTypedef:
    """Convert an enum; codes are unsigned."""
    mask = (1 << min(32, 8 * ATOMIC[declared.base].size)) - 1
    constants = [
        pb.EnumTypedef.EnumType(code=constant.value & mask, value=to_bytes(constant.name))
        for constant in declared.constants
    ]
    return pb.EnumTypedef(name=to_bytes(declared.name), map=constants)


def _labels(value: Constant, declared: EnumType) -> Iterator[bytes]:
    """Yield the names of enum values, as attributes store them."""
    labels = {constant.value: constant.name for constant in declared.constants}
    assert isinstance(value.data, bytes)
    for number in Constant(type=declared.base, count=value.count, data=value.data).as_numbers():
        yield to_bytes(labels.get(int(number), str(number)))


def _texts(name: bytes, texts: list[bytes]) -> pb.Attribute:
    # `type` is for clients of TDS 4, `dataType` for those of TDS 5
    return pb.Attribute(name=name, type=pb.Attribute.STRING, len=len(texts), sdata=texts, dataType=pb.STRING)


def _numbers(name: bytes, type_name: str, count: int, data: bytes) -> pb.Attribute:
    """Make an attribute of numbers, which are big-endian in the message, from little-endian bytes."""
    return pb.Attribute(
        name=name,
        type=OLD_ATTRIBUTE[type_name],  # TDS 4 knows only signed types
        len=count,
        data=swap(data, ATOMIC[type_name].size),
        dataType=WIRE[type_name],
    )
