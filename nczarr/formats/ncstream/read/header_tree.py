"""Dataset tree from a stream header without model.

Structures become compounds and lists vlens, with type names derived from
variable names. Other information becomes attributes: `member.attribute` of the
variable; title and id as global attributes.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.node import TypeName
from nczarr.ast.storage import DEFAULT_STORAGE, Storage
from nczarr.ast.types import CompoundType, EnumConstant, EnumType, Field
from nczarr.ast.walk import MAX_DEPTH
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.attributes import UnreadableAttributeError, constant, fill_value
from nczarr.formats.ncstream.wire.element_types import ATOMS, ENUM_BASES, UNSIGNED_NAMES
from nczarr.formats.ncstream.wire.scopes import (
    LARGEST,
    StreamScope,
    UnreadableVariableError,
    lengths_of,
    reference,
    split,
)
from nczarr.names import from_bytes, name_problem
from nczarr.options import Options
from nczarr.source import Span

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
    """Options of the run."""
    opaque_size: OpaqueSize
    """Returns the size of a variable's opaque values."""

    def lost(self, code: str, message: str, span: Span | None = None) -> None:
        """Report a skipped item as an error, unless the options allow the loss."""
        allowed = self.options.accepts(code)
        helps = () if allowed else (f"read the rest with `--allow-loss {code}`",)
        found = Diagnostic(code, Severity.ERROR, message, Label(self.span if span is None else span), helps=helps)
        self.report.lose(found, allowed=allowed)


def dataset(header: pb.Header, asked: HeaderContext) -> Dataset:
    """Return the dataset of a header. Reports and skips whatever the model cannot represent."""
    reader = _TreeReader(asked)
    top = reader.group(header.root, "root", None, 0)
    extra = [
        Attribute(name=name, value=Constant.text(text), span=asked.span)
        for name, text in (("title", header.title), ("id", header.id))
        if text and all(each.name != name for each in top.attributes)
    ]
    stem = os.path.splitext(os.path.basename(from_bytes(header.location).rstrip("/")))[0]
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
    """FQN of the variable."""
    scope: StreamScope
    """Scope of its group."""
    attributes: list[Attribute]
    """Attributes so far."""


class _TreeReader:
    """State of one read."""

    def __init__(self, asked: HeaderContext) -> None:
        self._asked = asked

    def _name(self, given: bytes, what: str) -> str | None:
        """Return a normalized name, or report an invalid one and return None."""
        name = names.normal(from_bytes(given))
        problem = name_problem(name)
        if problem is not None:
            self._asked.lost("unreadable-array", f"{what} is left out: {problem}")
            return None
        return name

    # ---- groups ------------------------------------------------------------------------------------------------------
    def group(self, given: pb.Group, name: str, around: StreamScope | None, depth: int) -> Group:
        """Return a group with its content."""
        path = "/" if around is None else names.join(around.path, name)
        dimensions = self._dimensions(given, path)
        taken = {names.normal(from_bytes(each.name)) for each in (*_declared(given), *given.groups)}
        known = {each.name: (names.join(path, each.name), each.size) for each in dimensions}
        scope = StreamScope(
            path,
            {**(around.dimensions if around else {}), **known},
            {**(around.enums if around else {}), **self._enums(given, path)},
            taken | set(known),
            {},
        )
        for fqn, made in scope.enums.values():
            if names.parent(fqn) == path:
                scope.types[made.name] = made
                scope.taken.add(made.name)
        variables = list(self._variables(given, scope))
        return Group(
            name=name,
            types=tuple(scope.types.values()),
            dimensions=tuple(dimensions),
            variables=tuple(variables),
            attributes=self._attributes(given.atts, path),
            groups=tuple(self._groups(given, scope, depth)),
            span=self._asked.span,
        )

    def _groups(self, given: pb.Group, scope: StreamScope, depth: int) -> Iterator[Group]:
        if given.groups and depth >= MAX_DEPTH:
            self._asked.lost("unreadable-array", f"groups are nested more than {MAX_DEPTH} deep below `{scope.path}`")
            return
        for each in given.groups:
            called = self._name(each.name, f"a group of `{scope.path}`")
            if called is not None:
                yield self.group(each, called, scope, depth + 1)

    def _dimensions(self, given: pb.Group, path: str) -> list[Dimension]:
        """Return the dimensions that a group declares."""
        made: dict[str, Dimension] = {}
        for each in given.dims:
            called = None if each.isPrivate or each.isVlen else self._name(each.name, f"a dimension of `{path}`")
            if called is None:
                continue
            if each.length > LARGEST or called in made:
                why = "the name is used twice" if called in made else f"{each.length} is not a valid length"
                self._asked.lost("unreadable-array", f"dimension `{called}` of `{path}` is left out: {why}")
                continue
            made[called] = Dimension(name=called, size=each.length, unlimited=each.isUnlimited, span=self._asked.span)
        return list(made.values())

    def _enums(self, given: pb.Group, path: str) -> dict[str, tuple[TypeName, EnumType]]:
        """Return the enums that a group declares. Their width is that of their first variable, else of their codes."""
        found: dict[str, tuple[TypeName, EnumType]] = {}
        bases = _enum_bases(given) if given.enumTypes else {}
        for each in given.enumTypes:
            called = self._name(each.name, f"an enum of `{path}`")
            if called is None or called in found:
                continue
            most = max((constant.code for constant in each.map), default=0)
            base = bases.get(each.name) or ("ubyte" if most < 1 << 8 else "ushort" if most < 1 << 16 else "uint")
            codes: dict[int, str] = {}
            labels: set[str] = set()
            for item in each.map:
                label = names.normal(from_bytes(item.value))
                code = item.code & ((1 << 8 * ATOMIC[base].size) - 1)
                if code in codes or label in labels or name_problem(label) is not None:
                    self._asked.lost(
                        "unreadable-array", f"constant {label!r} of enum `{called}` is invalid or a duplicate"
                    )
                    continue
                codes[code] = label
                labels.add(label)
            constants = tuple(EnumConstant(name=label, value=code) for code, label in codes.items())
            made = EnumType(name=called, base=base, constants=constants, span=self._asked.span)  # type: ignore[arg-type]
            found[called] = names.join(path, called), made
        return found

    def _attributes(self, given: Iterable[pb.Attribute], owner: str, member: str = "") -> tuple[Attribute, ...]:
        """Return the attributes of a group or variable; `member` prefixes those of a member."""
        made = []
        for each in given:
            name = member + names.normal(from_bytes(each.name))
            try:
                if name == member or name_problem(name) is not None:
                    raise UnreadableAttributeError("the name is invalid")
                made.append(Attribute(name=name, value=constant(each), span=self._asked.span))
            except UnreadableAttributeError as fault:
                self._asked.lost("lost-attribute", f"attribute {name!r} of `{owner}` is left out: {fault}")
        return tuple(made)

    # ---- variables ---------------------------------------------------------------------------------------------------
    def _variables(self, given: pb.Group, scope: StreamScope) -> Iterator[Variable]:
        for each in _declared(given):
            called = self._name(each.name, f"a variable of `{scope.path}`")
            if called is None:
                continue
            before = len(scope.types)
            try:
                yield self._variable(each, called, scope)
            except UnreadableVariableError as fault:
                while len(scope.types) > before:
                    scope.types.popitem()
                fqn = names.join(scope.path, called)
                self._asked.lost("unreadable-array", f"`{fqn}` cannot be a variable: {fault}")

    def _variable(self, given: pb.Variable | pb.Structure, name: str, scope: StreamScope) -> Variable:
        fqn = names.join(scope.path, name)
        attributes = list(self._attributes(given.atts, fqn))
        outer, stars, inner = split(given.shape)
        element = self._type(given, name, (), _Owner(fqn, scope, attributes))
        enums: list[EnumType] = []
        if isinstance(given, pb.Variable) and given.enumType and any(each.name == "_FillValue" for each in attributes):
            known = scope.enums.get(names.normal(from_bytes(given.enumType)))
            every = [each for _, each in scope.enums.values()]
            enums = [known[1]] if known is not None and known[0] == element else every
        type_name = scope.listed(element, stars, lengths_of(inner), name)
        storage = _storage(attributes, [each.length for each in outer])
        if storage is not None:
            attributes = [each for each in attributes if each.name != CHUNKS]
        return Variable(
            name=name,
            type=type_name,
            dimensions=tuple(reference(each, scope) for each in outer),
            attributes=self._suited(attributes, type_name, enums, fqn),
            storage=storage or DEFAULT_STORAGE,
            span=self._asked.span,
        )

    def _suited(
        self, attributes: Iterable[Attribute], type_name: TypeName, enums: list[EnumType], fqn: str
    ) -> tuple[Attribute, ...]:
        """Return a variable's attributes, with `_FillValue` converted to its type or dropped."""
        made = []
        for each in attributes:
            if each.name == "_FillValue":
                value = fill_value(each.value, type_name, enums)
                if value is None:
                    text = f"`_FillValue` of `{fqn}` is left out: {each.value.type} is not a value of {type_name}"
                    self._asked.lost("lost-attribute", text)
                    continue
                each = Attribute(name=each.name, value=value, span=each.span)
            made.append(each)
        return tuple(made)

    def _type(self, given: pb.Variable | pb.Structure, name: str, members: tuple[str, ...], owner: _Owner) -> TypeName:
        """Return the element type. Raises UnreadableVariableError."""
        kind, fqn, scope = int(given.dataType), owner.fqn, owner.scope
        if isinstance(given, pb.Structure):
            made = self._compound(given, name, members, owner)
            return scope.listed(made, 1, (), f"{name}_records") if kind == pb.SEQUENCE else made
        if kind == pb.OPAQUE:
            size = self._asked.opaque_size(fqn, members)
            return scope.opaque(size) if size else scope.listed("ubyte", 1, (), f"{name}_bytes")
        found = ENUM_BASES.get(kind) or ATOMS.get(kind)
        if found is None:
            raise UnreadableVariableError(f"unknown data type {kind}")
        if given.enumType:
            enum = scope.enums.get(names.normal(from_bytes(given.enumType)))
            if enum is not None and ATOMIC[enum[1].base].size == ATOMIC[found].size:
                return enum[0]
            why = "is not declared" if enum is None else "has integers of another size"
            text = f"`{fqn}` is of enum {from_bytes(given.enumType)!r}, which {why}: its integers are read"
            self._asked.report.warning("unknown-enum", text, self._asked.span)
        return UNSIGNED_NAMES.get(found, found) if given.unsigned else found

    def _compound(self, given: pb.Structure, name: str, members: tuple[str, ...], owner: _Owner) -> TypeName:
        """Declare the record type. Raises UnreadableVariableError."""
        scope = owner.scope
        if len(members) >= MAX_DEPTH:
            raise UnreadableVariableError(f"structures are nested more than {MAX_DEPTH} deep")
        fields = []
        for each in _declared(given):
            called = names.normal(from_bytes(each.name))
            problem = name_problem(called)
            if problem is not None:
                raise UnreadableVariableError(f"a member: {problem}")
            path = (*members, called)
            owner.attributes.extend(self._attributes(each.atts, owner.fqn, ".".join(path) + "."))
            outer, stars, inner = split(each.shape)
            element = self._type(each, f"{name}_{called}", path, owner)
            type_name = scope.listed(element, stars, lengths_of(inner), f"{name}_{called}")
            fields.append(Field(name=called, type=type_name, shape=lengths_of(outer)))
        if not fields or len({field.name for field in fields}) < len(fields):
            raise UnreadableVariableError("a structure without members, or with two members of the same name")
        return scope.declare(CompoundType(name=scope.free(f"{name}_t"), fields=tuple(fields)))


def _storage(attributes: Iterable[Attribute], lengths: list[int]) -> Storage | None:
    """Return the storage from the chunk attribute, None if it is missing or its lengths do not fit."""
    given = next((each.value for each in attributes if each.name == CHUNKS), None)
    if given is None or given.type not in ("int", "uint") or given.count != len(lengths) or not lengths:
        return None
    chunks = tuple(int(each) for each in given.as_numbers())
    if not all(0 < chunk <= max(1, length) for chunk, length in zip(chunks, lengths, strict=True)):
        return None
    return Storage(layout="chunked", chunks=chunks)


def _enum_bases(given: pb.Group) -> dict[bytes, str]:
    """Return the base type of each enum, from its first variable or member in the group or below."""
    found: dict[bytes, str] = {}
    pending: list[pb.Group | pb.Structure] = [given]
    while pending:
        each = pending.pop()
        for variable in each.vars:
            if variable.enumType and int(variable.dataType) in ENUM_BASES:
                found.setdefault(variable.enumType, ENUM_BASES[int(variable.dataType)])
        pending.extend(each.structs)
        if isinstance(each, pb.Group):
            pending.extend(each.groups)
    return found


def _declared(given: pb.Group | pb.Structure) -> Iterator[pb.Variable | pb.Structure]:
    """Yield variables, then structures, the order shared with writers."""
    yield from given.vars
    yield from given.structs
