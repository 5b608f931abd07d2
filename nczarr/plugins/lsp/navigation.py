"""Places of a name: its declaration, and all its uses."""

from __future__ import annotations

from lsprotocol.types import (
    DefinitionParams,
    DocumentHighlight,
    DocumentHighlightKind,
    DocumentHighlightParams,
    Location,
    ReferenceParams,
)

from nczarr.plugins.lsp.documents import View
from nczarr.plugins.lsp.names_index import IndexEntry


def define(view: View, params: DefinitionParams) -> Location | None:
    """Return the place of the declaration of the name under the cursor."""
    entry = view.text.index.at(view.offset(params.position))
    mention = view.text.index.declaration(entry.key) if entry is not None and entry.key is not None else None
    return None if mention is None else Location(view.text.uri, view.range(mention.start, mention.end))


def _list_entries(view: View, offset: int) -> list[IndexEntry]:
    entry = view.text.index.at(offset)
    return [] if entry is None or entry.key is None else view.text.index.by_key.get(entry.key, [])


def list_references(view: View, params: ReferenceParams) -> list[Location]:
    """Return all uses of the name under the cursor, with its declaration if the client asks for it."""
    return [
        Location(view.text.uri, view.range(entry.mention.start, entry.mention.end))
        for entry in _list_entries(view, view.offset(params.position))
        if params.context.include_declaration or entry.mention.extent is None
    ]


def highlight(view: View, params: DocumentHighlightParams) -> list[DocumentHighlight]:
    """Return all places of the name under the cursor, declarations as writes."""
    return [
        DocumentHighlight(
            view.range(entry.mention.start, entry.mention.end),
            DocumentHighlightKind.Read if entry.mention.extent is None else DocumentHighlightKind.Write,
        )
        for entry in _list_entries(view, view.offset(params.position))
    ]
