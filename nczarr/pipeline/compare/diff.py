"""`diff`: differences of two datasets of any formats.

Names of datasets and versions of the data model belong to files and are not
compared.
"""

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr import names
from nczarr.ast import Attribute, CompoundType, Dimension, EnumType, Group, OpaqueType, UserType, Variable
from nczarr.ast.dataset import KIND_NAMES, Storage
from nczarr.ast.plain_json import get_json
from nczarr.diagnostics.report import Report
from nczarr.pipeline.compare.difference import Difference, Tolerance, show_attribute, show_constant, show_pair
from nczarr.pipeline.compare.values import values
from nczarr.pipeline.select.selection import Subset
from nczarr.semantics.checked import Checked


def differences(
    one: Checked, other: Checked, *, data: bool = True, storage: bool = False, tolerance: Tolerance | None = None
) -> Iterator[Difference]:
    """Yield differences lazily: first of models, then of values by variable.

    Values are compared if both have the variable, with the same shape and
    equivalent types. `storage`: also layout, chunks, codecs, order of
    definition, kind of file, and the spelling of numbers in JSON.
    """
    yield from model(one, other, storage=storage)
    if data:
        for path in one.variables:
            if path in other.variables:
                difference = values(one, other, path, tolerance)
                if difference is not None:
                    yield difference


def choose_parts(
    one: Checked, other: Checked, subset: Subset, report: Report, side: str = "both"
) -> tuple[Checked, Checked] | None:
    """Return the wanted parts of both; a name may occur in only one. None after a reported error.

    Group attributes count only if the group was requested. `side`: dataset from which
    the part is taken: `a`, `b` or `both`. Raises OSError, CompileError.
    """
    if not subset:
        return one, other
    from nczarr.pipeline.select.selection import find_named

    before = report.errors
    sides = {"a": (one,), "b": (other,)}.get(side, (one, other))
    every_variable = {fqn: node for each in sides for fqn, node in each.variables.items()}
    every_group = {fqn: node for each in sides for fqn, node in each.groups.items()}
    variables = [fqn for word in subset.variables for fqn in find_named(word, "variable", every_variable, report)]
    groups = [fqn for word in subset.groups for fqn in find_named(word, "group", every_group, report)]
    excluded = [fqn for word in subset.excluded for fqn in find_named(word, "variable", every_variable, report)]
    if report.errors > before:
        return None
    if excluded:
        from nczarr.pipeline.select.subset import exclude

        whole = one
        one = exclude(one, excluded) if side != "b" else one
        other = one if other is whole else exclude(other, excluded) if side != "a" else other
        subset = subset._replace(excluded=())
    named = subset._replace(variables=tuple(variables), groups=tuple(groups))
    first = _choose_part(one, named, report) if side != "b" else one
    second = other if side == "a" else first if other is one else _choose_part(other, named, report)
    return None if first is None or second is None or report.errors > before else (first, second)


def _choose_part(checked: Checked, subset: Subset, report: Report) -> Checked | None:
    """Return the part of one dataset. `subset` has FQNs; those that are absent are ignored."""
    from nczarr.pipeline import omissions
    from nczarr.pipeline.select.selection import place_of
    from nczarr.pipeline.select.subset import restrict
    from nczarr.pipeline.select.subset import subset as cut_subset

    has_names = subset.variables or subset.groups
    homes = {names.parent(fqn) for fqn in subset.variables} & set(checked.groups)
    paths = [fqn for fqn in subset.variables if fqn in checked.variables]
    groups = [fqn for fqn in subset.groups if fqn in checked.groups]
    part: Checked | None = checked
    if (subset.dimensions or subset.labels or subset.sections) and (paths or groups or not has_names):
        part = cut_subset(checked, subset._replace(variables=tuple(paths), groups=tuple(groups)), report)
    if part is None:
        return None
    if has_names:
        places = (place_of(section, checked, report) for section in subset.sections)
        part = restrict(part, [*paths, *(fqn for fqn in places if fqn is not None)], groups, homes & set(part.groups))
    omissions.restrict(checked, part, report)
    return part


_STORED = ("layout", "chunks", "codecs", "endian", "no_fill", "quantize", "element")


def model(one: Checked, other: Checked, *, storage: bool = False) -> Iterator[Difference]:
    """Yield differences of models in the order of the first dataset; content of the second only follows, by subject."""
    if storage and one.dataset.kind != other.dataset.kind:
        kinds = (KIND_NAMES[side.dataset.kind] if side.dataset.kind else "no kind" for side in (one, other))
        yield Difference("kind", "/", f"kind of file: {' | '.join(kinds)}")
    groups = set(one.groups) & set(other.groups)
    yield from _missing("group", one.groups, other.groups, groups)
    yield from _missing("type", one.types, other.types, groups)
    yield from _missing("dimension", one.dimensions, other.dimensions, groups)
    yield from _missing("variable", one.variables, other.variables, groups)
    for path in _common(one.groups, other.groups):
        yield from _compare_attributes(
            path, one.groups[path].attributes, other.groups[path].attributes, storage=storage
        )
        if storage:
            yield from _compare_order(path, one.groups[path], other.groups[path])
    for path in _common(one.types, other.types):
        first, second = (definition(side.types[path], storage=storage) for side in (one, other))
        if first != second:
            yield Difference("type", path, _pair("type", first, second))
    for path in _common(one.dimensions, other.dimensions):
        yield from _compare_dimension(path, one.dimensions[path], other.dimensions[path])
    for path in _common(one.variables, other.variables):
        yield from _compare_variable(path, one.variables[path], other.variables[path], storage=storage)
        shards = [_format_shards(side, path) for side in (one, other)] if storage else []
        if len(set(shards)) > 1:
            yield Difference("layout", path, _pair("shards", *shards))


def _format_shards(checked: Checked, path: str) -> str:
    """Return the shards of an array of values as text."""
    shards = {source.layout.shards for source in checked.parts.get(path, {}).values()} - {None}
    return "×".join(map(str, shards.pop() or ())) if len(shards) == 1 else "several" if shards else "none"


def _common(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[str]:
    return [path for path in one if path in other]


def _missing(what: str, one: Mapping[str, Any], other: Mapping[str, Any], groups: set[str]) -> Iterator[Difference]:
    """Yield content of one side only; a missing group stands for its content. `groups`: the common ones."""
    for here, there, which in ((one, other, "first"), (other, one, "second")):
        for path in here:
            if path not in there and names.parent(path) in groups:
                yield Difference(f"missing-{what}", path, f"{what} only in the {which}")


def _pair(what: str, one: object, other: object) -> str:
    return f"{what}: {one} | {other}"


def _compare_attributes(
    path: str, one: tuple[Attribute, ...], other: tuple[Attribute, ...], *, storage: bool
) -> Iterator[Difference]:
    """Yield the differences of attributes; `storage`: also of the text of their JSON."""
    here, there = ({attribute.name: attribute for attribute in attributes} for attributes in (one, other))
    for mine, yours, which in ((here, there, "first"), (there, here, "second")):
        for name in mine:
            if name not in yours:
                text = f"attribute `{name}` only in the {which}: {show_constant(mine[name].value)}"
                yield Difference("missing-attribute", path, text)
    for name in _common(here, there):
        first, second = here[name], there[name]
        if first == second or (not storage and get_json(first) == get_json(second) is not None):
            continue
        if first.value != second.value:
            yield Difference("attribute", path, _pair(f"attribute `{name}`", *show_pair(first.value, second.value)))
        elif (first.json != second.json) if storage else (get_json(first) != get_json(second)):
            yield Difference("attribute", path, _pair(f"attribute `{name}`", *map(show_attribute, (first, second))))
    if [name for name in here if name in there] != [name for name in there if name in here]:
        yield Difference("attribute-order", path, _pair("order of attributes", ", ".join(here), ", ".join(there)))


def _compare_order(path: str, one: Group, other: Group) -> Iterator[Difference]:
    for what in ("types", "dimensions", "variables", "groups"):
        first, second = ([node.name for node in getattr(group, what)] for group in (one, other))
        if first != second and sorted(first) == sorted(second):
            yield Difference("definition-order", path, _pair(f"order of {what}", ", ".join(first), ", ".join(second)))


def definition(declared: UserType, *, storage: bool) -> str:
    """Return a type in one line; with `storage`, also the offsets of its fields."""
    match declared:
        case EnumType():
            constants = ", ".join(f"{member.name} = {member.value}" for member in declared.constants)
            return f"{declared.base} enum {{{constants}}}"
        case OpaqueType():
            return f"opaque({declared.size})"
        case CompoundType():
            fields = []
            for field in declared.fields:
                lengths = f"({', '.join(map(str, field.shape))})" if field.shape else ""
                place = f" at {field.offset}" if storage and field.offset is not None else ""
                fields.append(f"{field.type} {field.name}{lengths}{place}")
            size = f" of {declared.size} bytes" if storage and declared.size is not None else ""
            return f"compound {{{'; '.join(fields)}}}{size}"
        case _:
            return f"{declared.base}(*)"


def _compare_dimension(path: str, one: Dimension, other: Dimension) -> Iterator[Difference]:
    if one.size != other.size:
        yield Difference("dimension", path, _pair("length", one.size, other.size))
    if one.unlimited != other.unlimited:
        words = ["unlimited" if dimension.unlimited else "fixed" for dimension in (one, other)]
        yield Difference("dimension", path, _pair("dimension", *words))


def _list_axes(variable: Variable) -> Iterator[str]:
    """Yield the dimensions of a variable; anonymous ones as length, with their name if they have one."""
    for reference, name in itertools.zip_longest(variable.dimensions, variable.axes):
        yield str(reference) if name is None else f"{reference} named {name!r}"


def _compare_variable(path: str, one: Variable, other: Variable, *, storage: bool) -> Iterator[Difference]:
    if one.type != other.type:
        yield Difference("variable-type", path, _pair("type", one.type, other.type))
    if (one.dimensions, one.axes) != (other.dimensions, other.axes):
        texts = (f"({', '.join(_list_axes(variable))})" for variable in (one, other))
        yield Difference("variable-dimensions", path, _pair("dimensions", *texts))
    yield from _compare_attributes(path, one.attributes, other.attributes, storage=storage)
    if storage and one.storage != other.storage:
        for member in _STORED:
            first, second = (_format_storage(variable.storage, member) for variable in (one, other))
            if first != second:
                yield Difference("layout", path, _pair(member.replace("_", " "), first, second))


def _format_storage(storage: Storage, member: str) -> str:
    """Return a member of the storage as text: `shuffle+zlib:5`, `10×20` or `bitround:12`."""
    value = getattr(storage, member)
    if member == "codecs":
        steps = (":".join([codec.name or str(codec.id), *map(str, codec.parameters)]) for codec in storage.codecs)
        return "+".join(steps) or "none"
    if member == "chunks" and storage.chunks:
        return "×".join(map(str, storage.chunks))
    if member == "quantize" and storage.quantize:
        return f"{storage.quantize.algorithm}:{storage.quantize.digits}"
    return "default" if value is None else str(value)
