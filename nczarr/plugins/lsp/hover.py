"""Explanations of the name, the standard name or the fault under the cursor, and the attributes of CF and netCDF."""

from __future__ import annotations

import math
import tomllib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from lsprotocol.types import Hover, HoverParams

from nczarr import names
from nczarr.arrays.execution.counts import bytes_text
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.arrays.values.time_units import CF_CALENDARS
from nczarr.ast import ATOMIC, Attribute, Dataset, EnumType, UserType, Variable
from nczarr.ast.plain_json import plain
from nczarr.ast.types import CompoundType, sound_types
from nczarr.diagnostics.catalog import CODES
from nczarr.plugins.cf.rule import VERSIONS, show_version
from nczarr.plugins.cf.rules import time_coordinates
from nczarr.plugins.cf.rules.cell_methods import METHODS
from nczarr.plugins.cf.rules.coordinate_systems import MAPPINGS
from nczarr.plugins.cf.rules.geometries import LEAST
from nczarr.plugins.cf.rules.sampling import FEATURES, ROLES
from nczarr.plugins.cf.standard_name_table import find_standard_name
from nczarr.plugins.languages.language import Mention
from nczarr.plugins.lsp.documents import View
from nczarr.plugins.lsp.names_index import IndexEntry, Key
from nczarr.semantics.checked import Tables
from nczarr.semantics.outline import type_text


class AttributeDocument(NamedTuple):
    """Meaning of an attribute."""

    text: str
    """One sentence."""
    owners: str = "v"
    """`v` for variables, `g` for groups, `vg` for both."""
    words: tuple[str, ...] = ()
    """Words that the value may have."""
    mentions: bool = False
    """True if the value names variables."""


_CONVENTIONS = tuple(f"CF-{show_version(version)}" for version in reversed(VERSIONS))
UNITS = (
    "1", "K", "degC", "degree", "degrees_north", "degrees_east", "radian", "m", "cm", "mm", "km", "m2", "m3", "s", "h",
    "day", "days since 1970-01-01", "hours since 1900-01-01", "seconds since 1970-01-01 00:00:00", "m s-1", "m s-2",
    "m2 s-2", "Pa", "hPa", "dbar", "kg", "g", "kg m-2", "kg m-3", "kg m-2 s-1", "kg kg-1", "g kg-1", "W m-2", "J m-2",
    "J kg-1", "N m-2", "mol m-3", "mol m-2 s-1", "mol mol-1", "1e-3", "1e-6", "percent", "%", "s-1", "Hz", "V", "dBZ",
)  # fmt: skip
"""Usual units; those of standard names are added."""

_WORDS: dict[str, Iterable[str]] = {
    "Conventions": _CONVENTIONS,
    "featureType": FEATURES,
    "calendar": (*CF_CALENDARS, *time_coordinates.ATOMIC, "none"),
    "cell_methods": METHODS,
    "grid_mapping_name": MAPPINGS,
    "geometry_type": LEAST,
    "cf_role": ROLES,
}
"""Words of the values that the rules of CF list."""

ATTRIBUTES: dict[str, AttributeDocument] = {
    name: AttributeDocument(words=tuple(row.pop("words", _WORDS.get(name, ()))), **row)
    for name, row in tomllib.loads(Path(__file__).with_name("attributes.toml").read_text(encoding="utf-8")).items()
}
"""Attributes by name."""


def hover(view: View, params: HoverParams) -> Hover | None:
    """Return what is known of the place under the cursor; None for nothing."""
    offset = view.offset(params.position)
    entry = view.text.index.at(offset)
    start, end = (entry.mention.start, entry.mention.end) if entry is not None else (offset, offset)
    parts = list(_explain_faults(view, offset))
    if entry is not None:
        parts[:0] = _explain_entry(view, entry)
    elif (described := _describe_standard_name(view, offset)) is not None:
        start, end, text = described
        parts.insert(0, text)
    else:
        parts[:0] = _explain_word(view, offset)
    if not parts:
        return None
    return Hover(view.explain("\n\n---\n\n".join(parts)), view.range(start, end))


def attribute_of_value(view: View, offset: int) -> Mention | None:
    """Return the attribute whose values contain an offset."""
    attributes = (one.mention for one in view.text.index.entries if one.mention.role == "attribute")
    return next((one for one in attributes if one.value and one.value[0] <= offset < one.value[1]), None)


def _describe_standard_name(view: View, offset: int) -> tuple[int, int, str] | None:
    """Return place and explanation of a standard name in an attribute."""
    attribute = attribute_of_value(view, offset)
    names_standard = attribute is not None and attribute.name in ("standard_name", "computed_standard_name")
    if attribute is None or attribute.value is None or not names_standard:
        return None
    data = view.text.data
    start, end = attribute.value
    while start < end and data[start] in b'" \t\r\n':
        start += 1
    stop = start
    while stop < end and data[stop] not in b'" \t\r\n;':
        stop += 1
    word = data[start:stop].decode("utf-8", "replace")
    entry = find_standard_name(word)
    if entry is None:
        return start, stop, f"`{word}` is not in the table of standard names."
    lines = [f"**{entry.name}**", entry.definition, f"Canonical units: `{entry.units or 'none'}`"]
    if entry.name != word:
        lines.insert(0, f"`{word}` is an old name of:")
    if entry.aliases:
        lines.append("Old names: " + ", ".join(f"`{alias}`" for alias in entry.aliases))
    return start, stop, "\n\n".join(filter(None, lines))


def _explain_word(view: View, offset: int) -> Iterator[str]:
    """Yield the meaning of a word of the language."""
    for lexeme in view.text.lexemes_before(offset + 1)[-1:]:
        word = view.text.data[lexeme.start : lexeme.end].decode("utf-8", "replace")
        document = view.text.language.documents.get(word) or view.text.language.documents.get(word + ":")
        if lexeme.kind in ("keyword", "word") and document is not None and offset <= lexeme.end:
            yield document


def _explain_faults(view: View, offset: int) -> Iterator[str]:
    """Yield the pages of the diagnostics at an offset."""
    for code in dict.fromkeys(
        diagnostic.code
        for diagnostic in view.analysis.diagnostics
        if diagnostic.primary.span.source is not None
        and diagnostic.primary.span.start <= offset <= max(diagnostic.primary.span.end, diagnostic.primary.span.start)
    ):
        page = CODES.get(code)
        if page is not None:
            yield f"**{page.name}** ({page.severity})\n\n{page.meaning}\n\n**What to do.** {page.remedy}"


def _explain_entry(view: View, entry: IndexEntry) -> Iterator[str]:
    """Yield the explanation of a name."""
    mention, key, declared = entry.mention, entry.key, view.analysis.tables()
    if mention.role == "atomic":
        atomic = ATOMIC.get(mention.name)
        if atomic is not None:
            limits = f", {atomic.low} to {atomic.high}" if atomic.is_integer else ""
            width = f"{atomic.size} byte{'s' if atomic.size > 1 else ''}" if atomic.size else "text of any length"
            yield f"type `{atomic.name}`: {width}{limits}"
    elif mention.role == "dataset" and view.analysis.dataset is not None:
        yield _explain_group(view.analysis.dataset.name, view.analysis.dataset)
    elif key is not None and declared is not None:
        text = _explain_key(view, key, declared)
        if text:
            yield text
    if mention.role == "attribute" and mention.name in ATTRIBUTES:
        yield ATTRIBUTES[mention.name].text


def _explain_key(view: View, key: Key, declared: Tables) -> str:
    """Return the explanation of an item; empty for an item that the tree lacks."""
    match key.role:
        case "group" if key.path in declared.groups:
            return _explain_group(key.path, declared.groups[key.path])
        case "dimension" if key.path in declared.dimensions:
            dimension = declared.dimensions[key.path]
            length = f"unlimited, now {dimension.size}" if dimension.unlimited else str(dimension.size)
            users = sum(key.path in variable.dimensions for variable in declared.variables.values())
            return f"dimension `{key.path}` = {length}\n\nused by {users} variable{'' if users == 1 else 's'}"
        case "variable" if key.path in declared.variables:
            return explain_variable(key.path, declared)
        case "type" if key.path in declared.types:
            return _explain_type(declared.types[key.path], key.path, declared)
        case "attribute":
            return _explain_attribute(key, declared)
        case "constant" | "field" if key.path in declared.types:
            return _explain_member(declared.types[key.path], key.member)
    return ""


def _explain_group(name: str, group: object) -> str:
    counts = (
        f"{len(getattr(group, kind))} {kind if len(getattr(group, kind)) != 1 else kind[:-1]}"
        for kind in ("types", "dimensions", "variables", "attributes", "groups")
        if getattr(group, kind)
    )
    what = "dataset" if isinstance(group, Dataset) else "group"
    return f"{what} `{names.readable(name) or '/'}`: {', '.join(counts) or 'empty'}"


def shape_of(variable: Variable, declared: Tables) -> tuple[int, ...] | None:
    """Return the shape of a variable; None if a dimension is not declared."""
    lengths = [
        axis if isinstance(axis, int) else declared.dimensions[axis].size
        for axis in variable.dimensions
        if isinstance(axis, int) or axis in declared.dimensions
    ]
    return tuple(lengths) if len(lengths) == len(variable.dimensions) else None


def size_text(type_name: str, shape: tuple[int, ...], declared: Tables) -> str:
    """Return the size of the values in words; empty for values of variable length."""
    types = sound_types(declared.types)
    if not (type_name in ATOMIC or type_name in types) or not is_fixed(type_name, types):
        return ""
    return bytes_text(math.prod(shape) * size(type_name, types))


def explain_variable(path: str, declared: Tables) -> str:
    """Return type, dimensions, shape, size and description of a variable."""
    variable, shape = declared.variables[path], shape_of(declared.variables[path], declared)
    axes = ", ".join(
        str(axis)
        if isinstance(axis, int)
        else names.readable(names.last(axis) if axis.startswith("/") and axis != "/" else axis)
        for axis in variable.dimensions
    )
    lines = [
        f"```cdl\n{names.readable(variable.type)} {names.readable(variable.name)}{f'({axes})' if axes else ''}\n```"
    ]
    if shape is not None:
        lengths = f"shape {' × '.join(map(str, shape))}" if shape else "a single value"
        lines.append(", ".join(filter(None, (lengths, size_text(variable.type, shape, declared)))))
    for name in ("long_name", "standard_name", "units"):
        attribute = next((one for one in variable.attributes if one.name == name), None)
        if attribute is not None:
            lines.append(f"{name}: {value_text(attribute)}")
    return "\n\n".join(lines)


def value_text(attribute: Attribute, limit: int = 100) -> str:
    """Return the value of an attribute in short."""
    value = plain(attribute.value).value
    text = names.readable(str(value)) if value is not None else f"{attribute.value.count} values"
    return f"`{text if len(text) <= limit else text[:limit] + '…'}`"


def _explain_attribute(key: Key, declared: Tables) -> str:
    owner = declared.variables.get(key.path) or declared.groups.get(key.path)
    attribute = next((one for one in owner.attributes if one.name == key.member), None) if owner is not None else None
    if attribute is None:
        return ""
    count = attribute.value.count
    number = f" with {count} values" if attribute.value.type != "char" and count != 1 else ""
    return f"attribute `{names.readable(key.member)}`: {attribute.value.type}{number}, {value_text(attribute)}"


def _explain_type(user_type: UserType, path: str, declared: Tables) -> str:
    text = size_text(path, (), declared)
    return f"{type_text(user_type)}{f', {text}' if text else ', of any length'}"


def _explain_member(user_type: UserType, name: str) -> str:
    if isinstance(user_type, EnumType):
        value = next((constant.value for constant in user_type.constants if constant.name == name), None)
        return f"`{name}` = {value}, constant of enum `{user_type.name}` ({user_type.base})"
    if isinstance(user_type, CompoundType):
        for field in user_type.fields:
            if field.name == name:
                shape = "".join(f"[{length}]" for length in field.shape)
                return f"field `{name}` of `{user_type.name}`: {field.type}{shape}"
    return ""
