"""Declarations of one group in ncdump's layout: types, dimensions, variables and attributes.

Storage becomes special attributes, in the order of `ncdump -s`.
"""

import struct
from collections.abc import Iterable, Iterator
from typing import TypeVar, assert_never

from nczarr import names
from nczarr.arrays.values.parts import Types, part_tree
from nczarr.arrays.values.value_lists import constant_parts
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Codec,
    CompoundType,
    Constant,
    Dataset,
    Dimension,
    EnumType,
    Group,
    Kind,
    Node,
    OpaqueType,
    Storage,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import DEFLATE, FLETCHER32, SHUFFLE, rebuild
from nczarr.ast.node import members_of
from nczarr.ast.rectilinear import Lengths, varies
from nczarr.ast.types import dependencies_first
from nczarr.diagnostics.report import Span
from nczarr.formats.cdl.spelling import (
    QUANTIZE,
    SECTIONS,
    SPECIAL,
    TYPE_WORDS,
    add_suffix,
    attribute_owner,
    identifier,
    quote,
    reference,
)
from nczarr.formats.cdl.write.value_texts import column, fold
from nczarr.plan.plans import Loss
from nczarr.semantics.checked import Checked, remaining
from nczarr.semantics.infer_shapes import Anonymous

_CLASSIC = frozenset(("nc3", "nc6", "nc5", "nc7"))

FORMATS: dict[Kind, str] = {
    "nc3": "classic",
    "nc6": "64-bit offset",
    "nc5": "cdf5",
    "nc4": "netCDF-4",
    "nc7": "netCDF-4 classic model",
}
"""`_Format` values by file kind."""

_QUANTIZE = {algorithm: name for name, algorithm in QUANTIZE.items()}
_FLAG_ORDER = (FLETCHER32, SHUFFLE, DEFLATE)
_LEVELS = range(1, 10)


class DeclarationPrinter:
    """Printer of a dataset's declarations; `special` adds special attributes for storage."""

    def __init__(self, checked: Checked, anonymous: Anonymous, *, special: bool) -> None:
        self._checked = checked
        self._anonymous = anonymous
        self._special = special
        self._dimensions = checked.dimensions.keys() | anonymous.declared
        # ncdump breaks char attributes at newlines where the file has no strings.
        self._breaks = checked.dataset.kind in _CLASSIC

    def lines(self, path: str, group: Group, indent: str) -> Iterator[str]:
        """Yield the declarations of one group without subgroups and data, in complete lines."""
        if group.types:
            yield f"{indent}types:\n"
            for declared in order_types(group.types, path):
                for line in self._write_type(declared, path, indent):
                    yield f"{indent}  {line}\n"
        dimensions = (*group.dimensions, *self._anonymous.of_group(path))
        if dimensions:
            yield f"{indent}dimensions:\n"
            for dimension in dimensions:
                yield f"{indent}\t{_dimension(dimension)}\n"
        if group.variables:
            yield f"{indent}variables:\n"
            for variable in group.variables:
                yield from self._write_variable(variable, path, indent)
        yield from self._attributes(path, group, indent)

    def _attributes(self, path: str, group: Group, indent: str) -> Iterator[str]:
        """Yield the group's attributes; in the root also the file kind."""
        lines = [self._attribute("", attribute, path) for attribute in group.attributes]
        if self._special and isinstance(group, Dataset) and group.kind is not None:
            lines.append(f':_Format = "{FORMATS[group.kind]}"')
        if lines:
            yield f"\n{indent}// {'global' if path == '/' else 'group'} attributes:\n"  # as ncdump words them
        for line in lines:
            yield f"{indent}\t\t{line} ;\n"

    def _type_name(self, name: str, path: str, *, before_colon: bool = False) -> str:
        """Return a use of a type. Before a group attribute's colon, a variable's name would take precedence."""
        if name in ATOMIC:
            return name
        words = TYPE_WORDS | SECTIONS
        if before_colon:
            words |= {variable.name for variable in self._checked.groups[path].variables}
        return reference(name, path, self._checked.types, words=words)

    def _write_type(self, declared: UserType, path: str, indent: str) -> Iterator[str]:
        name = identifier(declared.name)
        match declared:
            case EnumType():
                constants = [f"{identifier(constant.name)} = {constant.value}" for constant in declared.constants]
                head = f"{declared.base} enum {name} {{"
                yield head + fold(constants, 2 + len(indent) + len(head), len(indent))[0] + "} ;"
            case OpaqueType():
                yield f"opaque({declared.size}) {name} ;"
            case VlenType():
                yield f"{self._type_name(declared.base, path)}(*) {name} ;"
            case CompoundType():
                yield f"compound {name} {{"
                for field in declared.fields:
                    shape = f"({', '.join(map(str, field.shape))})" if field.shape else ""
                    yield f"  {self._type_name(field.type, path)} {identifier(field.name)}{shape} ;"
                yield f"}}; // {name}"  # ncdump repeats the name here
            case _:
                assert_never(declared)

    def _write_variable(self, variable: Variable, path: str, indent: str) -> Iterator[str]:
        named = (self._anonymous.fqn(path, one) if isinstance(one, int) else one for one in variable.dimensions)
        references = [reference(fqn, path, self._dimensions) for fqn in named]
        shape = f"({', '.join(references)})" if references else ""
        yield f"{indent}\t{self._type_name(variable.type, path)} {identifier(variable.name)}{shape} ;\n"
        owner = attribute_owner(variable.name)
        for attribute in variable.attributes:
            yield f"{indent}\t\t{self._attribute(owner, attribute, path)} ;\n"
        if self._special:
            for name, value in special_attributes(variable.storage):
                yield f"{indent}\t\t{owner}:{name} = {value} ;\n"

    def _attribute(self, owner: str, attribute: Attribute, path: str) -> str:
        """Return `TYPE owner:name = values`; the type only if the values do not imply it."""
        value = attribute.value
        typed = f"{self._type_name(value.type, path, before_colon=not owner)} " if needs_type(value) else ""
        return f"{typed}{owner}:{identifier(attribute.name)} = {self._values(value)}".rstrip(" ")

    def _values(self, value: Constant) -> str:
        """Return the values of an attribute as CDL; char values of classic files as one string for each line."""
        texts = attribute_texts(value, self._checked.types)
        if value.type == "char" and self._breaks and isinstance(value.data, bytes) and b"\n" in value.data[:-1]:
            return ",\n\t\t\t".join(quote(line) for line in value.data.splitlines(keepends=True))
        declared = self._checked.types.get(value.type)
        return fold(texts, 0, 0)[0] if isinstance(declared, CompoundType | VlenType) else ", ".join(texts)


def _dimension(dimension: Dimension) -> str:
    if dimension.unlimited:
        return f"{identifier(dimension.name)} = UNLIMITED ; // ({dimension.size} currently)"  # as ncdump notes it
    return f"{identifier(dimension.name)} = {dimension.size} ;"


def order_types(types: tuple[UserType, ...], path: str) -> Iterable[UserType]:
    """Return a group's types with dependencies first, because CDL has no forward references."""
    return dependencies_first({names.join(path, declared.name): declared for declared in types}).values()


def needs_type(value: Constant) -> bool:
    """Return whether an attribute declares its type: user-defined types, strings, and empty constants."""
    return value.type not in ATOMIC or value.type == "string" or value.count == 0  # texts without a type are char


def attribute_texts(value: Constant, types: Types) -> list[str]:
    """Return the values of an attribute with type suffixes; char data are one string."""
    if value.type == "char":
        return [quote(value.data)] if isinstance(value.data, bytes) and value.data else []
    atomic = ATOMIC.get(value.type)
    if atomic is not None and isinstance(value.data, bytes):
        numbers = struct.unpack(f"<{value.count}{atomic.code}", value.data)
        return [add_suffix(number, atomic) for number in numbers]
    parts = constant_parts(value, (value.count,), types)
    return column(parts, part_tree(value.type, types), types)(value.count)


def special_attributes(storage: Storage) -> Iterator[tuple[str, str]]:
    """Yield name and written value of each specified property."""
    if storage.layout is not None:
        yield "_Storage", f'"{storage.layout}"'
    if storage.chunks and varies(storage.chunks):
        lengths = (length.written if isinstance(length, Lengths) else length for length in storage.chunks)
        yield "_ChunkLengths", ", ".join(f'"{length}"' for length in lengths)
    elif storage.chunks:
        yield "_ChunkSizes", ", ".join(map(str, storage.chunks))
    yield from _codecs(storage.codecs)
    if storage.endian is not None:
        yield "_Endianness", f'"{storage.endian}"'
    if storage.no_fill:
        yield "_NoFill", '"true"'
    if storage.quantize is not None:
        yield _QUANTIZE[storage.quantize.algorithm], str(storage.quantize.digits)


def _codecs(codecs: tuple[Codec, ...]) -> Iterator[tuple[str, str]]:
    """Yield Fletcher32, shuffle and deflate as separate attributes if they are the whole chain, else `_Filter`.

    Separate attributes imply libnetcdf's order of these codecs.
    """
    ids = [codec.id for codec in codecs]
    usual = all(
        len(codec.parameters) == 1 and codec.parameters[0] in _LEVELS if codec.id == DEFLATE else not codec.parameters
        for codec in codecs
    )
    if usual and ids == [number for number in _FLAG_ORDER if number in ids]:
        if FLETCHER32 in ids:
            yield "_Fletcher32", '"true"'
        if SHUFFLE in ids:
            yield "_Shuffle", '"true"'
        if DEFLATE in ids:
            yield "_DeflateLevel", str(codecs[ids.index(DEFLATE)].parameters[0])
    elif codecs:
        yield "_Filter", '"' + "|".join(",".join(map(str, (codec.id, *codec.parameters))) for codec in codecs) + '"'


G = TypeVar("G", bound=Group)


def drop_unspellable(checked: Checked) -> tuple[Checked, tuple[Loss, ...]]:
    """Return the dataset without unspellable items, and the losses; the dataset itself if unchanged."""
    walk = _TreeWalk(checked)
    dataset = walk.group("/", checked.dataset)
    representable = checked if dataset is checked.dataset else remaining(checked, dataset)
    return representable, tuple(walk.losses)


def has_spelling(name: str) -> bool:
    """Return whether a name can be written.

    Not `_` (the fill mark), nor starting with an invisible space, nor with a slash or control character.
    """
    if not name.isascii():
        return not (names.is_strange(name[0]) or names.is_unspeakable(name))
    return name != "_" and not names.is_unspeakable(name)


class _TreeWalk:
    """State of one run; `types` and `dimensions`: FQNs declared so far."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self.types: set[str] = set()
        self.dimensions: set[str] = set()
        self.losses: list[Loss] = []

    def _lose(self, kind: str, path: str, message: str, span: Span) -> None:
        self.losses.append(Loss(kind, "value", path, message, span))

    def group(self, path: str, group: G) -> G:
        """Return the representable part of a group, the group itself if complete."""
        for declared in order_types(group.types, path):
            if self._name(path, declared.name, "type", declared.span) and self._is_definable(path, declared):
                self.types.add(names.join(path, declared.name))
        for dimension in group.dimensions:
            self._dimension(path, dimension)
        types = [item for item in group.types if names.join(path, item.name) in self.types]
        dimensions = [item for item in group.dimensions if names.join(path, item.name) in self.dimensions]
        variables = [
            variable for item in group.variables if (variable := self._reduce_variable(path, item)) is not None
        ]
        attributes = self._attributes(path, group.attributes)
        children = [item for item in group.groups if self._name(path, item.name, "group", item.span)]
        inner = [self.group(names.join(path, item.name), item) for item in children]
        members: dict[str, list[Node]] = {
            "types": [*types],
            "dimensions": [*dimensions],
            "variables": [*variables],
            "attributes": [*attributes],
            "groups": [*inner],
        }
        changed = {name: tuple(nodes) for name, nodes in members.items() if not _same(nodes, getattr(group, name))}
        return rebuild(group, **changed) if changed else group

    def _name(self, path: str, name: str, what: str, span: Span) -> bool:
        if has_spelling(name):
            return True
        fqn = names.join(path, name)
        self._lose("unsafe-name", fqn, f"the name of {what} `{fqn}` has no spelling in CDL: it would be left out", span)
        return False

    def _dimension(self, path: str, dimension: Dimension) -> None:
        """Note a dimension that CDL can name; report the loss of another one."""
        fqn = names.join(path, dimension.name)
        if not has_spelling(dimension.name):
            text = f"the name of dimension `{fqn}` has no spelling in CDL: it would get another name"
            self._lose("unsafe-name", fqn, text, dimension.span)
            return
        self.dimensions.add(fqn)
        if not dimension.size and not dimension.unlimited:
            text = f"dimension `{fqn}`, of length 0"
            self.losses.append(Loss("empty-dimension", "annotation", fqn, text, dimension.span))

    def _is_definable(self, path: str, declared: UserType) -> bool:
        """Return whether a type can be defined: its members are spellable and its base types declared."""
        fqn = names.join(path, declared.name)
        inner: list[Node]
        match declared:
            case OpaqueType():
                return True
            case EnumType():
                inner, used = list(declared.constants), []
            case VlenType():
                inner, used = [], [declared.base]
            case CompoundType():
                inner, used = list(declared.fields), [field.type for field in declared.fields]
                if declared.size is not None or any(field.offset is not None for field in declared.fields):
                    text = f"type `{fqn}`, its size and the offsets of its fields"
                    self.losses.append(Loss("compound-layout", "annotation", fqn, text, declared.span))
            case _:
                assert_never(declared)
        for member in inner:
            name = str(getattr(member, "name"))  # noqa: B009 - a field's or a constant's
            if not has_spelling(name):
                text = f"type `{fqn}` has a member `{name}`, which has no spelling in CDL: it would be left out"
                self._lose("unsafe-name", fqn, text, declared.span)
                return False
        missing = next((name for name in used if not self._is_known(name)), None)
        if missing is not None:
            text = f"type `{fqn}` is made of `{missing}`, which the text declares later: it would be left out"
            self._lose("lost-type", fqn, text, declared.span)
        return missing is None

    def _is_known(self, type_name: str) -> bool:
        return type_name in ATOMIC or type_name in self.types

    def _reduce_variable(self, path: str, variable: Variable) -> Variable | None:
        """Return a variable as CDL can declare it; None if it must be left out, which is reported."""
        fqn = names.join(path, variable.name)
        if not self._name(path, variable.name, "variable", variable.span):
            return None
        if not self._is_known(variable.type):
            text = f"variable `{fqn}` is of type `{variable.type}`, which the text declares later"
            self._lose("lost-type", fqn, f"{text}: it would be left out", variable.span)
            return None
        dimensions = tuple(self._axis(fqn, reference, variable.span) for reference in variable.dimensions)
        attributes = self._attributes(fqn, variable.attributes)
        if dimensions == variable.dimensions and _same(attributes, variable.attributes):
            return variable
        return Variable(**{**members_of(variable), "dimensions": dimensions, "attributes": tuple(attributes)})

    def _axis(self, fqn: str, reference: str | int, span: Span) -> str | int:
        """Return a usable dimension; one not declared yet becomes anonymous with the same length."""
        if isinstance(reference, int) or reference in self.dimensions:
            return reference
        size = self._checked.dimensions[reference].size
        if not has_spelling(names.last(reference)):
            return size  # told where the dimension is declared
        text = f"variable `{fqn}` uses dimension `{reference}`, which the text declares later"
        self._lose("renamed-dimension", fqn, f"{text}: it would get its own dimension", span)
        return size

    def _attributes(self, path: str, attributes: Iterable[Attribute]) -> list[Attribute]:
        return [attribute for attribute in attributes if self._attribute(path, attribute)]

    def _attribute(self, path: str, attribute: Attribute) -> bool:
        """Return whether an attribute can be written and read back as one."""
        value, what = attribute.value, f"attribute `{attribute.name}` of `{path}`"
        if not has_spelling(attribute.name):
            text = f"the name of {what} has no spelling in CDL: it would be left out"
            self._lose("unsafe-name", path, text, attribute.span)
            return False
        if attribute.name in SPECIAL:
            why = "has a name that CDL uses for storage settings"
        elif not self._is_known(value.type):
            why = f"is of type `{value.type}`, which the text declares later"
        elif value.count == 0 and value.type not in ("char", "string"):  # ncgen makes char of an empty list
            why = "has no value, which CDL allows for text only"
        else:
            return True
        self._lose("lost-attribute", path, f"{what} {why}: it would be left out", attribute.span)
        return False


def _same(nodes: Iterable[Node], others: Iterable[Node]) -> bool:
    """Return whether two lists contain identical nodes."""
    one, other = list(nodes), list(others)
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
