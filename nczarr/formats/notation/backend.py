"""Writer of the notation: any tree → text that reads back to an equal tree.

One declaration a line, contents indented by two blanks; names, texts and
numbers in their shortest exact spelling.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Iterator
from typing import TYPE_CHECKING, assert_never

from nczarr import names
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
    Dataset,
    EnumType,
    Field,
    Group,
    OpaqueType,
    Storage,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import groups
from nczarr.ast.rectilinear import Lengths
from nczarr.ast.values import shortest
from nczarr.formats.notation.tokens import WORDS, write_fqn, write_name, write_text

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.plan.plans import StreamPlan


_WORD = re.compile(r"[A-Za-z_][A-Za-z0-9_.+-]*")
_SPELT_WORDS = frozenset(word.decode("ascii") for word in WORDS)


class ConstantWriter:
    """Writer of constants; `types` are the user types by FQN."""

    def __init__(self, types: Types) -> None:
        self._types = types

    def spelt(self, constant: Constant) -> str:
        """Return the values of a constant, each after a blank."""
        return "".join(" " + word for word in self._words(constant))

    def _words(self, constant: Constant) -> Iterator[str]:
        """Yield the values of a constant as words; records and lists are in braces."""
        declared = self._types.get(constant.type)
        data = constant.data
        if isinstance(data, bytes):
            yield from self._pack(constant.type, data, constant.count)
        elif constant.type == "string":
            for value in data:
                yield "NIL" if not isinstance(value, bytes) else write_text(value)
        elif isinstance(declared, CompoundType):
            width = len(declared.fields)
            for start in range(0, len(data), width or 1):
                yield self._brace(
                    self._member(field.shape, data[start + at]) for at, field in enumerate(declared.fields)
                )
        else:
            for element in data:
                yield self._brace(self._words(element) if isinstance(element, Constant) else ())

    def _member(self, shape: tuple[int, ...], value: object) -> str:
        """Return one field of a variable-size compound."""
        words = self._words(value) if isinstance(value, Constant) else iter(())
        return self._brace(words) if shape else " ".join(words)

    def _pack(self, type_name: str, data: bytes, count: int) -> Iterator[str]:
        """Yield values of a fixed-size type from their packed bytes."""
        declared = self._types.get(type_name)
        if type_name == "char":
            if data:
                yield write_text(data)
        elif declared is None:
            yield from numbers(type_name, data)
        elif isinstance(declared, EnumType):
            labels = {constant.value: constant.name for constant in reversed(declared.constants)}
            code = ATOMIC[declared.base].code
            yield from (_spell_enum(value, labels) for value in struct.unpack(f"<{count}{code}", data))
        elif isinstance(declared, OpaqueType):
            yield from (f"0x{data[at : at + declared.size].hex()}" for at in range(0, len(data), declared.size))
        elif isinstance(declared, CompoundType):
            width = size(type_name, self._types)
            for start in range(0, len(data), width or 1):
                yield self._record(declared, data[start : start + width])
        elif isinstance(declared, VlenType) or not is_fixed(type_name, self._types):
            raise ValueError(f"constant of type {type_name} holds packed bytes")

    def _record(self, declared: CompoundType, data: bytes) -> str:
        """Return one packed compound value in braces."""
        fields, at = [], 0
        for field in declared.fields:
            count = math.prod(field.shape)
            end = at + count * size(field.type, self._types)
            words = self._pack(field.type, data[at:end], count)
            fields.append(self._brace(words) if field.shape else " ".join(words))
            at = end
        return self._brace(fields)

    @staticmethod
    def _brace(words: Iterator[str] | list[str] | tuple[str, ...]) -> str:
        inside = " ".join(words)
        return f"{{ {inside} }}" if inside else "{}"


def numbers(type_name: str, data: bytes) -> Iterator[str]:
    """Yield numbers of an atomic type from packed bytes; an unusual NaN by its bits."""
    atomic = ATOMIC[type_name]
    values = struct.unpack(f"<{len(data) // atomic.size}{atomic.code}", data)
    if not atomic.is_float:
        yield from map(str, values)
        return
    usual = struct.pack(f"<{atomic.code}", math.nan)
    for number, value in enumerate(values):
        if math.isnan(value):
            bits = data[number * atomic.size : (number + 1) * atomic.size]
            yield "NaN" if bits == usual else f"0x{bits[::-1].hex()}"
        elif math.isinf(value):
            yield "Infinity" if value > 0 else "-Infinity"
        else:
            yield shortest(value, type_name)


def _spell_enum(value: int, labels: dict[int, str]) -> str:
    """Return an enum value's name, quoted unless a plain word; the number without name."""
    name = labels.get(value)
    if name is None:
        return str(value)
    return name if _WORD.fullmatch(name) and name not in _SPELT_WORDS else write_text(name.encode("utf-8"))


_PIECE = 1 << 16


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the text of a planned dataset in UTF-8, in pieces of some 64 kB."""
    piece: list[str] = []
    size = 0
    for line in lines(plan.checked.dataset, name=options.text.name):
        piece.append(line)
        size += len(line)
        if size > _PIECE:
            yield ("\n".join(piece) + "\n").encode("utf-8")
            piece, size = [], 0
    yield ("\n".join(piece) + "\n").encode("utf-8")


def text(dataset: Dataset) -> str:
    """Return the text of a dataset, which needs no passes: names must only be declared in it."""
    return "\n".join(lines(dataset)) + "\n"


def lines(dataset: Dataset, *, name: str | None = None) -> Iterator[str]:
    """Yield the lines of the text without line ends; `name` replaces the dataset's own."""
    types = {names.join(path, node.name): node for path, group in groups(dataset) for node in group.types}
    words = ["dataset", write_name(dataset.name if name is None else name), dataset.version]
    if dataset.kind is not None:
        words += ["kind", dataset.kind]
    yield " ".join(word for word in words if word) + " {"
    yield from _write_members(dataset, "  ", ConstantWriter(types))
    yield "}"


def _write_members(group: Group, indent: str, constants: ConstantWriter) -> Iterator[str]:
    for declared in group.types:
        yield from _write_type(declared, indent)
    for dimension in group.dimensions:
        unlimited = " unlimited" if dimension.unlimited else ""
        yield f"{indent}dimension {write_name(dimension.name)}{unlimited} {dimension.size}"
    for variable in group.variables:
        yield from _write_variable(variable, indent, constants)
    for attribute in group.attributes:
        yield indent + _attribute(attribute, constants)
    for child in group.groups:
        yield f"{indent}group {write_name(child.name)} {{"
        yield from _write_members(child, indent + "  ", constants)
        yield indent + "}"


def _write_type(declared: UserType, indent: str) -> Iterator[str]:
    name = write_name(declared.name)
    match declared:
        case OpaqueType():
            yield f"{indent}opaque {name} {declared.size}"
        case VlenType():
            yield f"{indent}vlen {name} {_type_name(declared.base)}"
        case EnumType():
            yield f"{indent}enum {name} {declared.base} {{"
            for constant in declared.constants:
                yield f"{indent}  {write_name(constant.name)} {constant.value}"
            yield indent + "}"
        case CompoundType():
            size = f" @{declared.size}" if declared.size is not None else ""
            yield f"{indent}compound {name}{size} {{"
            for field in declared.fields:
                yield f"{indent}  {_field(field)}"
            yield indent + "}"
        case _:
            assert_never(declared)


def _field(field: Field) -> str:
    words = [write_name(field.name), _type_name(field.type), *map(str, field.shape)]
    if field.offset is not None:
        words.append(f"@{field.offset}")
    return " ".join(words)


def _type_name(name: str) -> str:
    return name if name in ATOMIC else write_fqn(name)


def _attribute(attribute: Attribute, constants: ConstantWriter) -> str:
    value = attribute.value
    return f"attribute {write_name(attribute.name)} {_type_name(value.type)}{constants.spelt(value)}"


def _write_variable(variable: Variable, indent: str, constants: ConstantWriter) -> Iterator[str]:
    refs = "".join(f" {ref}" if isinstance(ref, int) else f" {write_fqn(ref)}" for ref in variable.dimensions)
    head = f"{indent}variable {write_name(variable.name)} {_type_name(variable.type)}{refs}"
    body: list[str] = []
    for attribute in variable.attributes:
        value = attribute.value
        if attribute.name == "_FillValue" and value.type == variable.type and value.count == 1:
            body.append("fill" + constants.spelt(value))
        else:
            body.append(_attribute(attribute, constants))
    body += _write_storage(variable.storage)
    if not body:
        yield head
        return
    yield head + " {"
    for line in body:
        yield f"{indent}  {line}"
    yield indent + "}"


def _lengths(length: int) -> str:
    """Return the chunk length of a dimension, or those of its chunks: `{365 {366 2}}`."""
    if not isinstance(length, Lengths):
        return str(length)
    runs = (str(each) if count == 1 else f"{{{each} {count}}}" for each, count in length.runs)
    return "{" + " ".join(runs) + "}"


def _write_storage(storage: Storage) -> Iterator[str]:
    if storage.layout is not None:
        yield f"layout {storage.layout}"
    if storage.chunks is not None:
        yield " ".join(["chunks", *map(_lengths, storage.chunks)])
    for codec in storage.codecs:
        yield " ".join(["codec", codec.name or str(codec.id), *map(str, codec.parameters)])
    if storage.endian is not None:
        yield f"endian {storage.endian}"
    if storage.quantize is not None:
        yield f"quantize {storage.quantize.algorithm} {storage.quantize.digits}"
    if storage.element is not None:
        yield f"element {write_name(storage.element)}"
    if storage.no_fill:
        yield "fill none"
