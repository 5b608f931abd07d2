"""Appearance of a text: outline, folds, colours of names and words, sizes beside declarations, and formatting."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import SequenceMatcher

from lsprotocol.types import (
    DocumentFormattingParams,
    DocumentSymbol,
    DocumentSymbolParams,
    FoldingRange,
    FoldingRangeKind,
    FoldingRangeParams,
    InlayHint,
    InlayHintKind,
    InlayHintParams,
    SemanticTokens,
    SemanticTokensLegend,
    SemanticTokensParams,
    SemanticTokensRangeParams,
    SymbolKind,
    TextEdit,
)
from pygls.exceptions import JsonRpcInternalError

from nczarr import names
from nczarr.diagnostics.report import Report, Source
from nczarr.plugins.fmt.reformat import find_style, reformat
from nczarr.plugins.languages.language import Mention, Role
from nczarr.plugins.lsp.documents import View
from nczarr.plugins.lsp.hover import shape_of, size_text

_TYPES = (
    "namespace", "type", "parameter", "variable", "property", "enumMember", "keyword", "string", "number", "comment",
)  # fmt: skip
_MODIFIERS = ("declaration", "defaultLibrary")
_ROLES = {
    "dataset": "namespace",
    "group": "namespace",
    "type": "type",
    "atomic": "type",
    "dimension": "parameter",
    "variable": "variable",
    "owner": "variable",
    "attribute": "property",
    "field": "property",
    "constant": "enumMember",
}
_LEXEMES = {"keyword": "keyword", "atomic": "type", "string": "string", "number": "number", "comment": "comment"}
_DECLARATION, _LIBRARY = 1, 2

LEGEND = SemanticTokensLegend(list(_TYPES), list(_MODIFIERS))
"""Names of the numbers in the tokens."""


def list_tokens(view: View, params: SemanticTokensParams) -> SemanticTokens:
    """Return the tokens of a text."""
    return SemanticTokens(_encode(view, 0, len(view.text.data)))


def list_tokens_in_range(view: View, params: SemanticTokensRangeParams) -> SemanticTokens:
    """Return the tokens of some lines."""
    return SemanticTokens(_encode(view, view.offset(params.range.start), view.offset(params.range.end)))


def _list_colours(view: View) -> Iterator[tuple[int, int, str, int]]:
    """Yield the bytes, type and modifiers of each token, by place; none overlap."""
    index, at, number = view.text.index, 0, 0
    entries = [entry for entry in index.entries if not entry.quoted]
    for lexeme in view.text.lexemes:
        while number < len(entries) and entries[number].mention.start < lexeme.start:
            number += 1
        while number < len(entries) and entries[number].mention.start < max(lexeme.end, at):
            mention, key = entries[number].mention, entries[number].key
            number += 1
            if mention.start < at:
                continue
            role = key.role if mention.role == "owner" and key is not None else mention.role
            modifiers = _DECLARATION if mention.extent is not None else _LIBRARY if role == "atomic" else 0
            colour = "keyword" if view.text.data[mention.start : mention.end] == b"fill" else _ROLES[role]
            yield mention.start, mention.end, colour, modifiers
            at = mention.end
        if lexeme.start >= at and lexeme.kind in _LEXEMES:
            yield lexeme.start, lexeme.end, _LEXEMES[lexeme.kind], _LIBRARY if lexeme.kind == "atomic" else 0
            at = lexeme.end


def _encode(view: View, first: int, last: int) -> list[int]:
    """Return tokens as numbers: line and column relative to the token before, length, type, modifiers."""
    lines, data = view.text.lines, view.text.data
    numbers: list[int] = []
    line, column = 0, 0
    for start, end, colour, modifiers in _list_colours(view):
        if end <= first or start >= last:
            continue
        at = start
        while at < end:
            place = lines.position(at)
            stop = lines.starts[place.line + 1] if place.line + 1 < len(lines.starts) else len(data)
            length = lines.columns(at, min(end, stop))
            if length > 0:
                relative = place.character - column if place.line == line else place.character
                numbers += [place.line - line, relative, length, _TYPES.index(colour), modifiers]
                line, column = place.line, place.character
            at = stop
    return numbers


def list_hints(view: View, params: InlayHintParams) -> list[InlayHint]:
    """Return shape and bytes of the variables with dimensions in a range."""
    declared = view.analysis.tables()
    if declared is None:
        return []
    first, last = view.offset(params.range.start), view.offset(params.range.end)
    hints, data = [], view.text.data
    ends: dict[str, int] = {}
    for entry in view.text.index.entries:
        mention = entry.mention
        if mention.role == "dimension" and mention.owner and first <= mention.start <= last:
            ends[names.join(mention.scope, mention.owner)] = mention.end
    for path, end in ends.items():
        variable = declared.variables.get(path)
        shape = None if variable is None else shape_of(variable, declared)
        if variable is None or not shape:
            continue
        closing = end + len(data[end : end + 80]) - len(data[end : end + 80].lstrip())
        end = closing + 1 if data[closing : closing + 1] == b")" else end
        text = size_text(variable.type, shape, declared)
        label = " × ".join(map(str, shape)) + (f" · {text}" if text else "")
        position = view.text.lines.position(end)
        hints.append(InlayHint(position, label, kind=InlayHintKind.Type, padding_left=True))
    return hints


MANY_LINES = 2000
"""Number of lines above which they are replaced at once, because a comparison would take long."""


def format_text(view: View, params: DocumentFormattingParams) -> list[TextEdit] | None:
    """Return the edits that format a text; None if it has errors. Raises JsonRpcInternalError after a fault of ours."""
    text, report = view.text, Report()
    if find_style(text.form) is None:
        return None
    result = reformat(Source(text.uri, text.data), report)
    if result is None:
        faults = [finding.message for finding in report.list_sorted() if finding.code == "internal-error"]
        if faults:
            raise JsonRpcInternalError(faults[0])
        return None
    return list_edits(view, result)


def list_edits(view: View, result: bytes) -> list[TextEdit]:
    """Return the edits of whole lines that make a text of another one, so that a cursor elsewhere stays."""
    old, new = view.text.data.splitlines(keepends=True), result.splitlines(keepends=True)
    first, last = 0, 0
    while first < min(len(old), len(new)) and old[first] == new[first]:
        first += 1
    while last < min(len(old), len(new)) - first and old[-1 - last] == new[-1 - last]:
        last += 1
    old_middle, new_middle = old[first : len(old) - last], new[first : len(new) - last]
    blocks = [("replace", 0, len(old_middle), 0, len(new_middle))] if old_middle or new_middle else []
    if max(len(old_middle), len(new_middle)) <= MANY_LINES:
        blocks = list(SequenceMatcher(None, old_middle, new_middle, autojunk=False).get_opcodes())
    starts = [*view.text.lines.starts[: len(old)], len(view.text.data)]
    return [
        TextEdit(
            view.range(starts[first + start], starts[first + end]),
            b"".join(new_middle[begin:stop]).decode("utf-8", "replace"),
        )
        for kind, start, end, begin, stop in blocks
        if kind != "equal"
    ]


_KINDS: dict[Role, SymbolKind] = {
    "dataset": SymbolKind.Module,
    "group": SymbolKind.Namespace,
    "type": SymbolKind.Struct,
    "dimension": SymbolKind.Constant,
    "variable": SymbolKind.Variable,
    "attribute": SymbolKind.Property,
    "field": SymbolKind.Field,
    "constant": SymbolKind.EnumMember,
}


def list_symbols(view: View, params: DocumentSymbolParams) -> list[DocumentSymbol]:
    """Return the outline: the items of the root, each with what it contains."""
    outline: list[DocumentSymbol] = []
    holders: dict[tuple[str, str], DocumentSymbol] = {}
    """Symbols that may contain others, by kind and FQN."""
    index = view.text.index
    for entry in index.entries:
        mention, key = entry.mention, entry.key
        if mention.extent is None or key is None:
            continue
        symbol = _describe(view, mention)
        if mention.role in ("field", "constant"):
            holder = holders.get(("type", key.path))
        elif mention.role == "attribute":
            holder = holders.get(("variable", key.path)) or holders.get(("group", key.path))
        else:
            holder = holders.get(("group", names.parent(key.path)))
            if mention.role in ("group", "type", "variable"):
                holders.setdefault((mention.role, key.path), symbol)
        if holder is None:
            outline.append(symbol)
        else:
            children = holder.children
            if isinstance(children, list):
                children.append(symbol)
            else:
                holder.children = [symbol]
    for symbol in outline:
        _extend(symbol)
    return outline


def _describe(view: View, mention: Mention) -> DocumentSymbol:
    """Make the outline's entry of a declaration, with its type and shape or the beginning of its value."""
    start, end = mention.extent or (mention.start, mention.end)
    detail = mention.type
    if mention.role == "variable":
        axes = view.text.index.axes.get(names.join(mention.scope, mention.name), [])
        detail += f"({', '.join(axes)})" if axes else ""
    elif mention.role in ("dimension", "attribute", "constant") and mention.value is not None:
        value = view.text.data[mention.value[0] : mention.value[1]].decode("utf-8", "replace").split()
        detail = " ".join(value)[:60]
    return DocumentSymbol(
        name=names.readable(mention.name) or "?",
        kind=_KINDS[mention.role],
        range=view.range(min(start, mention.start), max(end, mention.end)),
        selection_range=view.range(mention.start, mention.end),
        detail=names.readable(detail) or None,
    )


def _extend(symbol: DocumentSymbol) -> None:
    """Extend ranges over what symbols contain, as attributes of CDL follow their variable."""
    for child in symbol.children or ():
        _extend(child)
        symbol.range.start = min(symbol.range.start, child.range.start)
        symbol.range.end = max(symbol.range.end, child.range.end)


def list_folds(view: View, params: FoldingRangeParams) -> list[FoldingRange]:
    """Return groups, types, sections, and comments of several lines."""
    text, sections = view.text, view.text.text_map.sections
    places = [(start, end, FoldingRangeKind.Region) for start, end in text.text_map.blocks]
    ends = [section.start for section in sections[1:]] + [len(text.data)]
    for section, end in zip(sections, ends, strict=False):
        if section.section in ("types", "dimensions", "variables", "data"):
            body = text.data[section.start : end].rstrip(b" \t\r\n}")
            places.append((section.start, section.start + len(body), FoldingRangeKind.Region))
    run: tuple[int, int] | None = None
    for lexeme in text.lexemes:
        if lexeme.kind != "comment":
            run = None
        elif run is None:
            run = lexeme.start, lexeme.end
            places.append((*run, FoldingRangeKind.Comment))
        else:
            run = run[0], lexeme.end
            places[-1] = (*run, FoldingRangeKind.Comment)
    folds = []
    for start, end, kind in places:
        first, last = text.lines.position(start).line, text.lines.position(end).line
        if last > first:
            folds.append(FoldingRange(first, last, kind=kind))
    return sorted(folds, key=lambda fold: (fold.start_line, -fold.end_line))
