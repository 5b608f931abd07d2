"""Check of types and constants: finite, consistent, and of valid size.

Expects: resolved names. Ensures, if nothing is reported: no type contains
itself or nests deeper than MAX_DEPTH; enum values fit their base and are
unique; every attribute constant has the shape of its type, and `_FillValue` is
one value of its variable's type. Reports: circular-type, too-deep-nesting,
value-range, duplicate-enum-value, empty-type, bad-constant, fill-value-count,
type-mismatch, oversized-type.
"""

from __future__ import annotations

import re
from typing import assert_never

from nczarr import names
from nczarr.arrays.values.validate_constant import problem, sound_types
from nczarr.ast import ATOMIC, Attribute, CompoundType, EnumType, OpaqueType, UserType, Variable, VlenType
from nczarr.ast.types import made_of
from nczarr.ast.walk import MAX_DEPTH, groups
from nczarr.check.checked import Unchecked, tables_of
from nczarr.check.type_sizes import check_type_sizes
from nczarr.diagnostics.report import Label, Report
from nczarr.diagnostics.source import Span

Types = dict[str, UserType]
_VALUE = re.compile(rb"\s*=\s*([^\s,}]+)")


def check_types(work: Unchecked, report: Report) -> Unchecked:
    """Check all types and constants without changes."""
    types = tables_of(work).types
    sound = acyclic(types, report)
    for declared in types.values():
        match declared:
            case EnumType():
                _enum(declared, report)
            case CompoundType():
                if not declared.fields:
                    report.error(
                        "empty-type", f"the compound type `{declared.name}` needs at least one field", declared.span
                    )
            case OpaqueType() | VlenType():
                pass
            case _:
                assert_never(declared)
    if not sound or not check_type_sizes(types, report):
        return work
    whole = sound_types(types)  # of the others, `resolve` has reported what is missing
    for path, group in groups(work.dataset):
        _attributes(group.attributes, path, None, whole, work, report)
        for variable in group.variables:
            _attributes(variable.attributes, names.join(path, variable.name), variable, whole, work, report)
    return work


def _enum(declared: EnumType, report: Report) -> None:
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
    match = _VALUE.match(span.source.data, span.end)
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
    return [name for name in made_of(declared) if name in types]


def _attributes(
    attributes: tuple[Attribute, ...],
    owner: str,
    variable: Variable | None,
    types: Types,
    work: Unchecked,
    report: Report,
) -> None:
    for attribute in attributes:
        pending = (owner, attribute.name) in work.attribute_lists
        constant = attribute.value
        wrong = problem(constant, types) if not pending and constant.type in types else None
        if wrong is not None:
            report.error("bad-constant", f"attribute `{attribute.name}`: {wrong}", attribute.span)
        if attribute.name == "_FillValue" and variable is not None and not pending:
            if constant.type != variable.type:
                message = f"`_FillValue` of `{variable.name}` has type {constant.type}, the variable {variable.type}"
                report.error("type-mismatch", message, attribute.span)
            elif constant.count != 1:
                report.error("fill-value-count", "_FillValue is a single value", attribute.span)
