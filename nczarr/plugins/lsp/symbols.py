"""Outline of a text: groups, types, dimensions, variables and attributes as a tree; and what can be folded."""

from __future__ import annotations

from lsprotocol.types import (
    DocumentSymbol,
    DocumentSymbolParams,
    FoldingRange,
    FoldingRangeKind,
    FoldingRangeParams,
    SymbolKind,
)

from nczarr import names
from nczarr.plugins.languages.language import Mention, Role
from nczarr.plugins.lsp.documents import View

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
