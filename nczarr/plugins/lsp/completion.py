"""Completion: words of the language, types, names in scope, attributes of CF, and words of their values."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol.types import (
    CompletionItem,
    CompletionItemKind,
    CompletionList,
    CompletionParams,
    TextEdit,
)

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.plugins.cf.standard_name_table import area_types, find_standard_name, standard_names
from nczarr.plugins.languages.language import Completion, Role
from nczarr.plugins.lsp.documents import View, replace_invalid
from nczarr.plugins.lsp.hover import ATTRIBUTES, UNITS, explain_variable
from nczarr.semantics.checked import Tables

_LISTED = (CompletionItemKind.Constant, CompletionItemKind.EnumMember)
"""Kinds of items that are offered at once behind a comma: dimensions and members of enums."""

LIMIT = 200
"""Maximum number of items; a client asks again when more letters are typed."""

_TYPED = re.compile(rb"(?:[A-Za-z0-9_.@+\-/\x80-\xff]|\\[^\r\n])*\Z")

_ENTIRE = frozenset(
    ("standard_name", "computed_standard_name", "units", "units_metadata", "calendar", "grid_mapping_name", "_Format")
)
"""Attributes whose text is one word of a list, blanks included."""


def complete(view: View, params: CompletionParams) -> CompletionList:
    """Return what can be written at the cursor."""
    offset, text = view.offset(params.position), view.text
    line = text.data[text.lines.starts[text.lines.position(offset).line] : offset]
    match = _TYPED.search(line)
    start = offset - len(match.group()) if match is not None else offset
    before = text.lexemes_before(start)
    if before and before[-1].kind == "comment" and start <= before[-1].end:
        is_behind = start == before[-1].end and text.data[start - 2 : start] == b"*/"
        if not is_behind:
            return CompletionList(False, [])
    context = text.language.complete(text.data, before, start, text.text_map)
    if context.quoted is not None:
        start = context.quoted if context.attribute in _ENTIRE else start
    elif text.data[start : start + 1] != b"/" and "paths" not in context.wants:
        start += max(text.data[start:offset].rfind(b"/") + 1, 0)
    typed = text.data[start:offset].decode("utf-8", "replace")
    if typed.startswith("/"):
        context = context._replace(wants=(*context.wants, "paths"))
    items: dict[str, CompletionItem] = {}
    listed = params.context is not None and params.context.trigger_character == ","
    for item in _list_items(view, context):
        if listed and context.quoted is None and item.kind not in _LISTED:
            continue  # the comma is one between numbers
        if _matches(item.label, typed):
            items.setdefault(item.label, item)
    ordered = sorted(
        items.values(), key=lambda item: (not item.label.lower().startswith(typed.lower()), item.sort_text or "")
    )
    for number, item in enumerate(ordered[:LIMIT]):
        item.text_edit = TextEdit(view.range(start, offset), item.insert_text or item.label)
        if isinstance(item.documentation, str):
            item.documentation = view.explain(item.documentation)
        item.insert_text, item.filter_text, item.sort_text = None, item.label, f"{number:04}"
    return CompletionList(len(ordered) > LIMIT, ordered[:LIMIT])


def _matches(label: str, typed: str) -> bool:
    """Return whether a label contains the letters that are typed, piece by piece."""
    lowered = label.lower()
    return all(piece in lowered for piece in typed.lower().replace("_", " ").split())


def _list_items(view: View, context: Completion) -> Iterator[CompletionItem]:
    """Yield the names, words and types that fit at the cursor; in quotes, only the values of an attribute."""
    if context.owner is not None and context.attribute:
        yield from _list_values(view, context)
        if context.quoted is not None:
            return
    yield from _list_names(view, context)
    for word in context.words:
        document = view.text.language.documents.get(word)
        yield _make_item(word, CompletionItemKind.Keyword, "3", document or "")
    if "types" in context.wants:
        for atomic in ATOMIC.values():
            width = f"{atomic.size} byte{'s' if atomic.size > 1 else ''}" if atomic.size else "text"
            yield _make_item(atomic.name, CompletionItemKind.Keyword, "2", "", width)


_NAMES: dict[str, tuple[Role, Role, CompletionItemKind]] = {
    "types": ("type", "type", CompletionItemKind.Struct),
    "dimensions": ("dimension", "dimension", CompletionItemKind.Constant),
    "variables": ("variable", "variable", CompletionItemKind.Variable),
    "owners": ("variable", "owner", CompletionItemKind.Variable),
}
"""Kinds of names with the role of the items, that of the word, and their symbol."""


def _list_names(view: View, context: Completion) -> Iterator[CompletionItem]:
    """Yield declared names."""
    text, index, declared = view.text, view.text.index, view.analysis.tables()
    for wants, (role, written, kind) in _NAMES.items():
        if wants not in context.wants:
            continue
        is_path = "paths" in context.wants
        around = role != "variable"
        reached = index.visible(role, context.scope, around=around)
        for name, path in ((path, path) for path in index.declared[role]) if is_path else reached.items():
            spelled = text.language.spell_path(path) if is_path else text.language.spell(name, written)
            yield _make_item(name, kind, "1", *_describe(role, path, declared), spelled)
    if "constants" in context.wants and context.quoted is None and context.owner is not None:
        type_name = context.type or context.owner  # the word before the colon may be a type
        if not context.type and context.attribute in ("", "_FillValue", "missing_value", "flag_values"):
            type_name = index.type_of(context.owner, context.scope) or type_name
        for name, path in index.enum_members(type_name, context.scope).items():
            spelled = text.language.spell(name, "constant")
            yield _make_item(name, CompletionItemKind.EnumMember, "1", "", f"of {path}", spelled)
    if "attributes" in context.wants:
        owner = index.find_owner(context.owner, context.scope) if context.owner else context.scope
        taken = {key.member for key in index.by_key if key.role == "attribute" and key.path == owner}
        side = "g" if owner == context.scope else "v"
        for name, row in ATTRIBUTES.items():
            if (
                side in row.owners
                and name not in taken
                and not (name.startswith("_") and text.form.capabilities.data is False)
            ):
                yield _make_item(name, CompletionItemKind.Property, "1", row.text)


def _describe(role: Role, path: str, declared: Tables | None) -> tuple[str, str]:
    """Return explanation and detail of an item."""
    if declared is None:
        return "", ""
    if role == "dimension" and path in declared.dimensions:
        node = declared.dimensions[path]
        return "", f"unlimited ({node.size})" if node.unlimited else str(node.size)
    if role == "variable" and path in declared.variables:
        return explain_variable(path, declared), names.readable(declared.variables[path].type)
    return "", path


def _list_values(view: View, context: Completion) -> Iterator[CompletionItem]:
    """Yield words of an attribute's value, in quotes unless they stand in a string."""

    def make(word: str, kind: CompletionItemKind, sort: str, document: str = "", detail: str = "") -> CompletionItem:
        written = word if context.quoted is not None else f'"{word}"'
        return _make_item(word, kind, sort, document, detail, written)

    name, row = context.attribute, ATTRIBUTES.get(context.attribute)
    if name in ("standard_name", "computed_standard_name"):
        for entry in standard_names():
            yield make(entry.name, CompletionItemKind.Value, entry.name, entry.definition, entry.units)
    elif name == "units":
        declared = view.analysis.tables()
        owner = context.owner or ""
        path = owner if owner.startswith("/") else names.join(context.scope, owner)
        variable = declared.variables.get(path) if declared is not None and owner else None
        for attribute in variable.attributes if variable is not None else ():
            if attribute.name == "standard_name" and isinstance(attribute.value.data, bytes):
                standard = find_standard_name(attribute.value.data.decode("utf-8", "replace"))
                if standard is not None and standard.units:
                    yield make(standard.units, CompletionItemKind.Unit, " ", f"canonical units of `{standard.name}`")
        for number, unit in enumerate(UNITS):
            yield make(unit, CompletionItemKind.Unit, f"{number:03}")
    elif name == "area_type":
        for word in sorted(area_types()):
            yield make(word, CompletionItemKind.Value, word)
    if row is None:
        return
    for number, word in enumerate(row.words):
        yield make(word, CompletionItemKind.EnumMember, f"{number:03}")
    if row.mentions or name == "cell_methods":
        index = view.text.index
        reached = index.visible("variable", context.scope)
        for variable_name in index.declared["variable"] if "paths" in context.wants else reached:
            yield make(variable_name, CompletionItemKind.Variable, variable_name)
    if name in ("cell_methods", "compress", "instance_dimension", "sample_dimension"):
        for dimension in view.text.index.visible("dimension", context.scope):
            word = f"{dimension}:" if name == "cell_methods" else dimension
            yield make(word, CompletionItemKind.Constant, dimension)


def _make_item(
    label: str, kind: CompletionItemKind, sort: str, document: str = "", detail: str = "", written: str = ""
) -> CompletionItem:
    label, detail, written = replace_invalid(label), replace_invalid(detail), replace_invalid(written)
    return CompletionItem(
        label=label,
        kind=kind,
        detail=detail or None,
        documentation=document or None,
        insert_text=written or label,
        sort_text=f"{sort}{label}",
    )
