"""Check of types and constants: finite, consistent, and of valid size.

Expects: resolved names. Ensures, if nothing is reported: no type contains
itself or nests deeper than MAX_DEPTH; enum values fit their base and are
unique; every attribute constant has the shape of its type, and `_FillValue` is
one value of its variable's type. Reports: circular-type, too-deep-nesting,
value-range, duplicate-enum-value, empty-type, bad-constant, fill-value-count,
type-mismatch, oversized-type.

Sizes have limits because short texts can declare values of exabytes, and a
fill value is a whole value. Fill values are the values of unwritten cells; a
marked value is what `_` stands for in lists of values, and what a list lacks,
as ncgen 4.9.0 makes it.
"""

from __future__ import annotations

import functools
import math
import re
from typing import assert_never

from nczarr import names
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Constant,
    EnumType,
    OpaqueType,
    TypeName,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import groups
from nczarr.ast.types import MAX_DEPTH, list_parts, sound_types
from nczarr.diagnostics.report import Label, Report, Span
from nczarr.names.records import NamedTuple
from nczarr.semantics.checked import Tables, Unchecked, tables_of

DEFAULT: dict[str, int | float] = {
    "byte": -127, "ubyte": 255, "short": -32767, "ushort": 65535, "int": -2147483647, "uint": 4294967295,
    "int64": -9223372036854775806, "uint64": 18446744073709551614,
    "float": 9.969209968386869e36, "double": 9.969209968386869e36,
}  # fmt: skip
"""Default fill values of numeric types (NC_FILL_*); char is NUL, string is empty."""


@functools.cache
def _make_number(type_name: TypeName) -> Constant:
    """Return one default fill value of a numeric type, shared by all its variables. Raises KeyError for others."""
    return Constant.numbers(type_name, [DEFAULT[type_name]])


def default_fill(type_name: TypeName, types: Types, count: int = 1) -> Constant:
    """Return `count` values of cells that were never written, as the netCDF library shows them.

    Numbers: netCDF's default fill value; enum: that of its base; string: empty;
    vlen: empty sequences; compound and opaque: zeros, and empty members.
    """
    declared = types.get(type_name)
    if isinstance(declared, EnumType):
        return Constant(type=type_name, count=count, data=_make_number(declared.base).data * count)
    if declared is not None or type_name in ("string", "char"):
        return _zeros(type_name, types, count)
    default = _make_number(type_name)
    return default if count == 1 else Constant(type=type_name, count=count, data=default.data * count)


def _zeros(type_name: TypeName, types: Types, count: int) -> Constant:
    """Return `count` values of zero bytes, without texts and lists."""
    if type_name == "string":
        return Constant.strings([b""] * count)
    declared = types.get(type_name)
    if isinstance(declared, VlenType):
        empty = Constant(type=declared.base, count=0, data=b"" if is_fixed(declared.base, types) else ())
        return Constant(type=type_name, count=count, data=(empty,) * count)
    if isinstance(declared, CompoundType) and not is_fixed(type_name, types):
        fields = tuple(_zeros(field.type, types, math.prod(field.shape)) for field in declared.fields)
        return Constant(type=type_name, count=count, data=fields * count)
    return Constant(type=type_name, count=count, data=bytes(size(type_name, types) * count))


def variable_fill(variable: Variable, tables: Tables) -> Constant:
    """Return the value of a variable's unwritten cells: its `_FillValue`, else the default of its type."""
    return find_fill_value(variable) or default_fill(variable.type, tables.types)


def find_fill_value(variable: Variable) -> Constant | None:
    """Return a variable's `_FillValue`, if it is one value of its type."""
    for attribute in variable.attributes:
        if attribute.name == "_FillValue" and attribute.value.type == variable.type and attribute.value.count == 1:
            return attribute.value
    return None


LARGEST_VALUE = 1 << 27
"""Maximum bytes of one value, without its lists' content."""

MOST_MEMBERS = 1 << 16
"""Maximum members of a type."""


class _Size(NamedTuple):
    """Size of a type."""

    value: int
    """Size of one value in bytes."""
    members: int = 1
    """Number of members."""

    @property
    def is_too_large(self) -> bool:
        return self.value > LARGEST_VALUE or self.members > MOST_MEMBERS


def check_type_sizes(types: Types, report: Report) -> bool:
    """Return whether all types have a valid size; report the innermost oversized ones."""
    sizes: dict[str, _Size] = {}
    large = _find_oversized(types, sizes)
    for path in large:
        declared, size = types[path], sizes[path]
        if not set(large).isdisjoint(list_parts(declared)):
            continue
        what, limit = f"has {size.value} bytes", LARGEST_VALUE
        if size.value <= LARGEST_VALUE:
            what, limit = f"has {size.members} members, nested members included", MOST_MEMBERS
        text = f"a value of type `{declared.name}` {what}; the limit is {limit}"
        report.error("oversized-type", text, declared.span, helps=["give the variable more dimensions instead"])
    return not large


def find_oversized(types: Types) -> set[str]:
    """Return the FQNs of oversized types."""
    return set(_find_oversized(types, {}))


def _find_oversized(types: Types, sizes: dict[str, _Size]) -> list[str]:
    return [path for path in types if _measure(path, types, sizes).is_too_large]


def _measure(name: str, types: Types, sizes: dict[str, _Size]) -> _Size:
    """Return the bytes and members of a type, which limits apply to; `sizes` caches them."""
    if name in sizes:
        return sizes[name]
    match types.get(name):
        case None:
            size_of_type = _Size(max(1, ATOMIC[name].size) if name in ATOMIC else 0)
        case OpaqueType(size=size):
            size_of_type = _Size(size)
        case EnumType(base=base):
            size_of_type = _Size(ATOMIC[base].size)
        case VlenType(base=base):
            size_of_type = _Size(16, 1 + _measure(base, types, sizes).members)
        case CompoundType(fields=fields):
            inner = [(math.prod(field.shape), _measure(field.type, types, sizes)) for field in fields]
            value = sum(count * one.value for count, one in inner)
            size_of_type = _Size(value, sum(one.members for _, one in inner))
    sizes[name] = size_of_type
    return size_of_type


_VALUE = rb"\s*=\s*([^\s,}]+)"


def check_types(work: Unchecked, report: Report) -> Unchecked:
    """Check all types and constants without changes."""
    types = tables_of(work).types
    sound = acyclic(types, report)
    for declared in types.values():
        match declared:
            case EnumType():
                _check_enum(declared, report)
            case CompoundType():
                if not declared.fields:
                    text = f"the compound type `{declared.name}` needs at least one field"
                    report.error("empty-type", text, declared.span)
            case OpaqueType() | VlenType():
                pass
            case _:
                assert_never(declared)
    if not sound or not check_type_sizes(types, report):
        return work
    whole = sound_types(types)  # of the others, `resolve` has reported what is missing
    for path, group in groups(work.dataset):
        _check_attributes(group.attributes, path, None, whole, work, report)
        for variable in group.variables:
            _check_attributes(variable.attributes, names.join(path, variable.name), variable, whole, work, report)
    return work


def _check_enum(declared: EnumType, report: Report) -> None:
    if not declared.constants:
        report.error("empty-type", f"the enum type `{declared.name}` needs at least one constant", declared.span)
    atomic = ATOMIC[declared.base]
    seen: dict[int, str] = {}
    for constant in declared.constants:
        if not atomic.low <= constant.value <= atomic.high:
            message = f"{constant.value} does not fit the base type {declared.base} ({atomic.low} .. {atomic.high})"
            report.error("value-range", message, constant.span)
        first = seen.setdefault(constant.value, constant.name)
        if first != constant.name:
            message = f"value {constant.value} is already used by the constant `{first}`"
            place = next((item.span for item in declared.constants if item.name == first), constant.span)
            value_place = _after_equals(constant.span)
            report.error("duplicate-enum-value", message, value_place, others=[Label(place, "first used here")])


def _after_equals(span: Span) -> Span:
    """Return the place of an enum constant's value in a text, from that of its name."""
    if span.source is None:
        return span
    match = re.compile(_VALUE).match(span.source.data, span.end)
    return Span(span.source, match.start(1), match.end(1)) if match else span


def acyclic(types: Types, report: Report) -> bool:
    """Return whether no type contains itself or nests too deep; report faults."""
    depth: dict[str, int] = {}
    sound = True
    for start in types:
        stack: list[tuple[str, list[str]]] = [(start, _uses(types[start], types))] if start not in depth else []
        path = {start} if stack else set()
        while stack:
            current, uses = stack[-1]
            if uses:
                following = uses.pop()
                if following in path:
                    if following != current:  # direct recursion was reported by `resolve`, at the use
                        span = types[following].span
                        report.error("circular-type", f"type `{following}` cannot contain itself", span)
                    sound = False
                elif following not in depth:
                    path.add(following)
                    stack.append((following, _uses(types[following], types)))
                continue
            stack.pop()
            path.discard(current)
            depth[current] = 1 + max((depth.get(use, 0) for use in _uses(types[current], types)), default=0)
            if depth[current] > MAX_DEPTH:
                report.error("too-deep-nesting", f"types nest deeper than {MAX_DEPTH}", types[current].span)
                sound = False
    return sound


def _uses(declared: UserType, types: Types) -> list[str]:
    return [name for name in list_parts(declared) if name in types]


def _check_attributes(
    attributes: tuple[Attribute, ...],
    owner: str,
    variable: Variable | None,
    types: Types,
    work: Unchecked,
    report: Report,
) -> None:
    """Check values of user-defined types, and that `_FillValue` is one value of the variable's type."""
    for attribute in attributes:
        constant = attribute.value
        if constant.type not in types and attribute.name != "_FillValue":
            continue
        pending = (owner, attribute.name) in work.attribute_lists
        if not pending and constant.type in types:
            from nczarr.arrays.values.value_lists import find_problem

            wrong = find_problem(constant, types)
            if wrong is not None:
                report.error("bad-constant", f"attribute `{attribute.name}`: {wrong}", attribute.span)
        if attribute.name == "_FillValue" and variable is not None and not pending:
            if constant.type != variable.type:
                message = f"`_FillValue` of `{variable.name}` has type {constant.type}, the variable {variable.type}"
                report.error("type-mismatch", message, attribute.span)
            elif constant.count != 1:
                report.error("fill-value-count", "_FillValue is a single value", attribute.span)


def library_default(type_name: str, types: Types) -> bytes:
    """Return the default of a type as one packed element; empty for texts and lists."""
    data = default_fill(type_name, types).data
    return data if isinstance(data, bytes) else b""


def find_marked_value(type_name: str, types: Types, count: int = 1) -> Constant | None:
    """Return `count` values of a type; None for an enum without a constant of value 0.

    Enum: the constant 0; compound: by field, unlike cells that were never written; others: the default fill value.
    """
    declared = types.get(type_name)
    if isinstance(declared, EnumType):
        if not any(constant.value == 0 for constant in declared.constants):
            return None
        return Constant(type=type_name, count=count, data=bytes(ATOMIC[declared.base].size * count))
    if not isinstance(declared, CompoundType):
        return default_fill(type_name, types, count)
    fields = [find_marked_value(field.type, types, math.prod(field.shape)) for field in declared.fields]
    known = [field for field in fields if field is not None]
    if len(known) < len(fields):
        return None
    if is_fixed(type_name, types):
        data = b"".join(field.data for field in known if isinstance(field.data, bytes)) * count
        return Constant(type=type_name, count=count, data=data)
    return Constant(type=type_name, count=count, data=tuple(known) * count)


def mark_of(variable: Variable, types: Types) -> Constant | None:
    """Return what `_` stands for in the values of a variable: its `_FillValue`, else that of its type."""
    return find_fill_value(variable) or find_marked_value(variable.type, types)
