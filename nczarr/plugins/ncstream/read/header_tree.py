"""Dataset tree from a stream header without model.

Structures become compounds and lists vlens, with type names derived from
variable names. Other information becomes attributes: `member.attribute` of the
variable; title and id as global attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.dataset import DEFAULT_STORAGE, Storage
from nczarr.ast.node import TypeName
from nczarr.ast.types import MAX_DEPTH, CompoundType, EnumConstant, EnumType, Field, OpaqueType
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Span
from nczarr.names import from_bytes, name_problem
from nczarr.options import Options
from nczarr.plugins.ncstream._generated import ncstream_pb2 as pb
from nczarr.plugins.ncstream.read.header_items import (
    LARGEST,
    StreamScope,
    UnreadableAttributeError,
    UnreadableVariableError,
    constant,
    fill_value,
    lengths_of,
    reference,
    split,
)
from nczarr.plugins.ncstream.wire.element_types import ATOMS, ENUM_BASES, UNSIGNED_NAMES
from nczarr.semantics.checked import Omission
from nczarr.stores import local_paths

CHUNKS = "_ChunkSizes"
"""Attribute in which servers store chunk lengths."""

OpaqueSize = Callable[[str, tuple[str, ...]], int | None]
"""Function that returns the common size of the values of an opaque variable or member, or None."""


class HeaderContext(NamedTuple):
    """Context for reading a header."""

    span: Span
    """Position of the header."""
    report: Report
    """Collected diagnostics."""
    options: Options
    opaque_size: OpaqueSize
    """Returns the size of a variable's opaque values."""
    absent_members: Callable[[str, pb.Structure], frozenset[tuple[str, ...]]] = lambda fqn, declared: frozenset()
    """Returns the paths of the members that a message of a structure lacks."""
    omitted: list[Omission] = []  # noqa: RUF012
    """Members that are left out."""

    def report_lost(self, code: str, message: str, span: Span | None = None) -> None:
        """Report a skipped item as an error, unless the options allow the loss."""
        allowed = self.options.run.accepts(code)
        helps = () if allowed else (f"read the rest with `--allow-loss {code}`",)
        diagnostic = Diagnostic(code, Severity.ERROR, message, Label(self.span if span is None else span), helps=helps)
        self.report.lose(diagnostic, allowed=allowed)


def dataset(header: pb.Header, asked: HeaderContext) -> Dataset:
    """Return the dataset of a header. Reports and skips whatever the model cannot represent."""
    reader = _TreeReader(asked)
    top = reader.group(header.root, "root", None, 0)
    extra = [
        Attribute(name=name, value=Constant.text(text), span=asked.span)
        for name, text in (("title", header.title), ("id", header.id))
        if text and all(attribute.name != name for attribute in top.attributes)
    ]
    stem = local_paths.stem_of(local_paths.name_of(from_bytes(header.location).rstrip("/")))
    return Dataset(
        name=stem if name_problem(stem) is None else "",
        types=top.types,
        dimensions=top.dimensions,
        variables=top.variables,
        attributes=(*top.attributes, *extra),
        groups=top.groups,
        span=asked.span,
    )


class _Owner(NamedTuple):
    """Variable whose type is being read."""

    fqn: str
    scope: StreamScope
    attributes: list[Attribute]
    """Attributes so far."""
    absent: frozenset[tuple[str, ...]]
    """Paths of its members that a message lacks."""


class _TreeReader:
    """State of one read."""

    def __init__(self, asked: HeaderContext) -> None:
        self._asked = asked

    def _name(self, written: bytes, what: str) -> str | None:
        """Return a normalized name, or report an invalid one and return None."""
        name = names.normal(from_bytes(written))
        problem = name_problem(name)
        if problem is not None:
            self._asked.report_lost("unreadable-array", f"{what} is left out: {problem}")
            return None
        return name

    # ---- groups ------------------------------------------------------------------------------------------------------
    def group(self, source: pb.Group, name: str, around: StreamScope | None, depth: int) -> Group:
        """Return a group with its content."""
        path = "/" if around is None else names.join(around.path, name)
        dimensions = self._read_dimensions(source, path)
        taken = {names.normal(from_bytes(declared.name)) for declared in (*_list_declarations(source), *source.groups)}
        scope = StreamScope(path, around, taken)
        scope.dimensions |= {inner.name: (names.join(path, inner.name), inner.size) for inner in dimensions}
        scope.enums |= self._read_enums(source, path)
        scope.types |= {enum.name: enum for fqn, enum in scope.enums.values() if names.parent(fqn) == path}
        scope.taken |= {*scope.types, *(inner.name for inner in dimensions)}
        variables = list(self._read_variables(source, scope))
        return Group(
            name=name,
            types=tuple(scope.types.values()),
            dimensions=tuple(dimensions),
            variables=tuple(variables),
            attributes=self._attributes(source.atts, path),
            groups=tuple(self._read_groups(source, scope, depth)),
            span=self._asked.span,
        )

    def _read_groups(self, source: pb.Group, scope: StreamScope, depth: int) -> Iterator[Group]:
        if source.groups and depth >= MAX_DEPTH:
            text = f"groups are nested more than {MAX_DEPTH} deep below `{scope.path}`"
            self._asked.report_lost("unreadable-array", text)
            return
        for inner in source.groups:
            called = self._name(inner.name, f"a group of `{scope.path}`")
            if called is not None:
                yield self.group(inner, called, scope, depth + 1)

    def _read_dimensions(self, source: pb.Group, path: str) -> list[Dimension]:
        """Return the dimensions that a group declares."""
        dimensions: dict[str, Dimension] = {}
        for dimension in source.dims:
            called = (
                None
                if dimension.isPrivate or dimension.isVlen  # these stand in shapes alone
                else self._name(dimension.name, f"a dimension of `{path}`")
            )
            if called is None:
                continue
            if dimension.length > LARGEST or called in dimensions:
                why = "the name is used twice" if called in dimensions else f"{dimension.length} is not a valid length"
                self._asked.report_lost("unreadable-array", f"dimension `{called}` of `{path}` is left out: {why}")
                continue
            dimensions[called] = Dimension(
                name=called, size=dimension.length, unlimited=dimension.isUnlimited, span=self._asked.span
            )
        return list(dimensions.values())

    def _read_enums(self, source: pb.Group, path: str) -> dict[str, tuple[TypeName, EnumType]]:
        """Return the enums that a group declares. Their width is that of their first variable, else of their codes."""
        enums: dict[str, tuple[TypeName, EnumType]] = {}
        bases = _enum_bases(source) if source.enumTypes else {}
        for typedef in source.enumTypes:
            called = self._name(typedef.name, f"an enum of `{path}`")
            if called is None or called in enums:
                continue
            most = max((constant.code for constant in typedef.map), default=0)
            base = bases.get(typedef.name) or ("ubyte" if most < 1 << 8 else "ushort" if most < 1 << 16 else "uint")
            codes: dict[int, str] = {}
            labels: set[str] = set()
            for item in typedef.map:
                label = names.normal(from_bytes(item.value))
                code = item.code & ((1 << 8 * ATOMIC[base].size) - 1)  # codes are uint32: 255 for a -1 of one byte
                if code in codes or label in labels or name_problem(label) is not None:
                    text = f"constant {label!r} of enum `{called}` is invalid or a duplicate"
                    self._asked.report_lost("unreadable-array", text)
                    continue
                codes[code] = label
                labels.add(label)
            constants = tuple(EnumConstant(name=label, value=code) for code, label in codes.items())
            enum = EnumType(name=called, base=base, constants=constants, span=self._asked.span)  # type: ignore[arg-type]
            enums[called] = names.join(path, called), enum
        return enums

    def _attributes(self, written: Iterable[pb.Attribute], owner: str, member: str = "") -> tuple[Attribute, ...]:
        """Return the attributes of a group or variable; `member` prefixes those of a member."""
        attributes = []
        for attribute in written:
            name = member + names.normal(from_bytes(attribute.name))
            try:
                if name == member or name_problem(name) is not None:
                    raise UnreadableAttributeError("the name is invalid")
                attributes.append(Attribute(name=name, value=constant(attribute), span=self._asked.span))
            except UnreadableAttributeError as fault:
                self._asked.report_lost("lost-attribute", f"attribute {name!r} of `{owner}` is left out: {fault}")
        return tuple(attributes)

    # ---- variables ---------------------------------------------------------------------------------------------------
    def _read_variables(self, source: pb.Group, scope: StreamScope) -> Iterator[Variable]:
        """Yield the variables of a group; report unreadable ones and drop the types that they declared."""
        for declared in _list_declarations(source):
            called = self._name(declared.name, f"a variable of `{scope.path}`")
            if called is None:
                continue
            before = len(scope.types)
            try:
                yield self._read_variable(declared, called, scope)
            except UnreadableVariableError as fault:
                while len(scope.types) > before:
                    scope.types.popitem()
                fqn = names.join(scope.path, called)
                self._asked.report_lost("unreadable-array", f"`{fqn}` cannot be a variable: {fault}")

    def _read_variable(self, declared: pb.Variable | pb.Structure, name: str, scope: StreamScope) -> Variable:
        """Return a variable of a header; types that it needs are declared in the scope."""
        fqn = names.join(scope.path, name)
        attributes = list(self._attributes(declared.atts, fqn))
        outer, stars, inner = _split(declared)
        absent = frozenset[tuple[str, ...]]()
        if isinstance(declared, pb.Structure):
            absent = self._asked.absent_members(fqn, declared)
        element = self._choose_type(declared, name, (), _Owner(fqn, scope, attributes, absent))
        enums: list[EnumType] = []
        if (
            isinstance(declared, pb.Variable)
            and declared.enumType  # TDS sends the `_FillValue` of an enum as its label
            and any(attribute.name == "_FillValue" for attribute in attributes)
        ):
            enum = scope.enums.get(names.normal(from_bytes(declared.enumType)))
            every = [candidate for _, candidate in scope.enums.values()]
            enums = [enum[1]] if enum is not None and enum[0] == element else every
        type_name = scope.nest_type(element, stars, lengths_of(inner), name)
        storage = _read_storage(attributes, [dimension.length for dimension in outer])
        if storage is not None:
            attributes = [attribute for attribute in attributes if attribute.name != CHUNKS]
        return Variable(
            name=name,
            type=type_name,
            dimensions=tuple(reference(dimension, scope) for dimension in outer),
            attributes=self._convert_fill(attributes, type_name, enums, fqn),
            storage=storage or DEFAULT_STORAGE,
            span=self._asked.span,
        )

    def _convert_fill(
        self, attributes: Iterable[Attribute], type_name: TypeName, enums: list[EnumType], fqn: str
    ) -> tuple[Attribute, ...]:
        """Return a variable's attributes, with `_FillValue` converted to its type or dropped."""
        converted = []
        for attribute in attributes:
            if attribute.name == "_FillValue":
                value = fill_value(attribute.value, type_name, enums)
                if value is None:
                    text = f"`_FillValue` of `{fqn}` is left out: {attribute.value.type} is not a value of {type_name}"
                    self._asked.report_lost("lost-attribute", text)
                    continue
                attribute = Attribute(name=attribute.name, value=value, span=attribute.span)
            converted.append(attribute)
        return tuple(converted)

    def _choose_type(
        self, declared: pb.Variable | pb.Structure, name: str, members: tuple[str, ...], owner: _Owner
    ) -> TypeName:
        """Return the element type. Raises UnreadableVariableError."""
        kind, fqn, scope = int(declared.dataType), owner.fqn, owner.scope
        if isinstance(declared, pb.Structure):
            compound = self._compound(declared, name, members, owner)
            return scope.nest_type(compound, 1, (), f"{name}_records") if kind == pb.SEQUENCE else compound
        if kind == pb.OPAQUE:
            size = self._asked.opaque_size(fqn, members)
            if not size:
                return scope.nest_type("ubyte", 1, (), f"{name}_bytes")
            return scope.share(OpaqueType(name=f"opaque_{size}", size=size))
        atom = ENUM_BASES.get(kind) or ATOMS.get(kind)
        if atom is None:
            raise UnreadableVariableError(f"unknown data type {kind}")
        if declared.enumType:
            enum = scope.enums.get(names.normal(from_bytes(declared.enumType)))
            if enum is not None and ATOMIC[enum[1].base].size == ATOMIC[atom].size:
                return enum[0]
            # headers of TDS may name enums that they do not declare
            why = "is not declared" if enum is None else "has integers of another size"
            text = f"`{fqn}` is of enum {from_bytes(declared.enumType)!r}, which {why}: its integers are read"
            self._asked.report.warning("unknown-enum", text, self._asked.span)
        return UNSIGNED_NAMES.get(atom, atom) if declared.unsigned else atom  # TDS 4 flags a signed type

    def _compound(self, declared: pb.Structure, name: str, members: tuple[str, ...], owner: _Owner) -> TypeName:
        """Declare the record type. Raises UnreadableVariableError."""
        scope = owner.scope
        if len(members) >= MAX_DEPTH:
            raise UnreadableVariableError(f"structures are nested more than {MAX_DEPTH} deep")
        fields = []
        for member in _list_declarations(declared):
            called = names.normal(from_bytes(member.name))
            problem = name_problem(called)
            if problem is not None:
                raise UnreadableVariableError(f"a member: {problem}")
            path = (*members, called)
            if path in owner.absent:
                text = f"member `{'.'.join(path)}` of `{owner.fqn}` is not in all messages of its records"
                self._asked.omitted.append(Omission("omitted-object", owner.fqn, text))
                continue
            owner.attributes.extend(self._attributes(member.atts, owner.fqn, ".".join(path) + "."))
            outer, stars, inner = _split(member)
            element = self._choose_type(member, f"{name}_{called}", path, owner)
            type_name = scope.nest_type(element, stars, lengths_of(inner), f"{name}_{called}")
            fields.append(Field(name=called, type=type_name, shape=lengths_of(outer)))
        if not fields or len({field.name for field in fields}) < len(fields):
            raise UnreadableVariableError("a structure without members, or with two members of the same name")
        return scope.declare(CompoundType(name=scope.free(f"{name}_t"), fields=tuple(fields)))


def _split(
    declared: pb.Variable | pb.Structure,
) -> tuple[list[pb.Dimension], int, list[pb.Dimension]]:
    """Return the dimensions of a declaration as `split` does, without the ragged one that a sequence is itself."""
    outer, stars, inner = split(declared.shape)
    return outer, max(0, stars - 1) if declared.dataType == pb.SEQUENCE else stars, inner


def _read_storage(attributes: Iterable[Attribute], lengths: list[int]) -> Storage | None:
    """Return the storage from the chunk attribute, None if it is missing or its lengths do not fit."""
    lengths_written = next((attribute.value for attribute in attributes if attribute.name == CHUNKS), None)
    if (
        lengths_written is None
        or lengths_written.type not in ("int", "uint")
        or lengths_written.count != len(lengths)
        or not lengths
    ):
        return None
    chunks = tuple(int(chunk) for chunk in lengths_written.as_numbers())
    if not all(0 < chunk <= max(1, length) for chunk, length in zip(chunks, lengths, strict=True)):
        return None
    return Storage(layout="chunked", chunks=chunks)


def _enum_bases(group: pb.Group) -> dict[bytes, str]:
    """Return the base type of each enum, from its first variable or member in the group or below."""
    bases: dict[bytes, str] = {}
    pending: list[pb.Group | pb.Structure] = [group]
    while pending:
        scope = pending.pop()
        for variable in scope.vars:
            if variable.enumType and int(variable.dataType) in ENUM_BASES:
                bases.setdefault(variable.enumType, ENUM_BASES[int(variable.dataType)])
        pending.extend(scope.structs)
        if isinstance(scope, pb.Group):
            pending.extend(scope.groups)
    return bases


def _list_declarations(scope: pb.Group | pb.Structure) -> Iterator[pb.Variable | pb.Structure]:
    """Yield variables, then structures, the order shared with writers."""
    yield from scope.vars
    yield from scope.structs
