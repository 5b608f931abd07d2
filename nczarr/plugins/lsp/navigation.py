"""Places of a name: its declaration, all its uses, and its renaming, that of a dimension with its coordinate variable.

A renamed text is read again before the edit is offered: every name must mean
what it meant before. So no name is captured by another declaration, and none
becomes a word of the language.
"""

from __future__ import annotations

from lsprotocol.types import (
    DefinitionParams,
    DocumentHighlight,
    DocumentHighlightKind,
    DocumentHighlightParams,
    Location,
    PrepareRenameParams,
    PrepareRenamePlaceholder,
    ReferenceParams,
    RenameParams,
    TextEdit,
    WorkspaceEdit,
)
from pygls.exceptions import JsonRpcInvalidParams

from nczarr import names
from nczarr.diagnostics.report import Severity, Source
from nczarr.plugins.languages.language import Role
from nczarr.plugins.lsp.documents import Analysis, TextVersion, View, analyze, replace_invalid
from nczarr.plugins.lsp.names_index import IndexEntry, Key, NameIndex


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


_NAMESPACES: dict[Role, tuple[Role, ...]] = {
    "dimension": ("dimension",),
    "variable": ("variable", "group", "type"),
    "group": ("group", "variable", "type"),
    "type": ("type", "variable", "group"),
}
"""Kinds of items in a group that cannot have one name."""


def _refuse(text: str) -> JsonRpcInvalidParams:
    """Return the error that answers a request."""
    return JsonRpcInvalidParams(text)


def _find_item(view: View, offset: int) -> tuple[IndexEntry, Key] | None:
    """Return the index entry and item under the cursor, or None if it cannot be renamed."""
    entry = view.text.index.at(offset)
    if entry is None or entry.key is None or view.text.index.declaration(entry.key) is None:
        return None
    if entry.mention.extent is None and entry.mention.role == "attribute":
        return None  # `fill` of the notation
    return entry, entry.key


def prepare(view: View, params: PrepareRenameParams) -> PrepareRenamePlaceholder | None:
    """Return place and name of the item under the cursor; None if it cannot be renamed."""
    item = _find_item(view, view.offset(params.position))
    if item is None:
        return None
    entry, key = item
    return PrepareRenamePlaceholder(view.range(entry.mention.start, entry.mention.end), replace_invalid(key.name))


def rename(view: View, params: RenameParams) -> WorkspaceEdit:
    """Return the edits that rename the item under the cursor. Raises JsonRpcInvalidParams with the reason."""
    item = _find_item(view, view.offset(params.position))
    if item is None:
        raise _refuse("there is no name here that can be changed")
    text = params.new_name.strip()
    name = names.normal(view.text.language.read_name(text) if "\\" in text else text)
    _, key = item
    _check_name(view, key, name)
    keys = view.text.index.partners(key)
    edits = sorted(_list_edits(view, keys, name))
    _check_meaning(view, keys, name, edits)
    changes = [TextEdit(view.range(start, end), new.decode("utf-8")) for start, end, new in edits]
    return WorkspaceEdit(changes={view.text.uri: changes})


def _check_name(view: View, key: Key, name: str) -> None:
    """Raise JsonRpcInvalidParams for a name that the item cannot have."""
    problem = names.problem(name)
    if problem is not None:
        raise _refuse(problem[1])
    index = view.text.index
    if key in index.unsure:
        raise _refuse(
            f"the uses of `{key.name}` are not known: an enum beside it has the name too, or values are very long"
        )
    if key.member:
        if key._replace(member=name) in index.by_key and name != key.member:
            raise _refuse(f"there is another {key.role} `{name}`")
        return
    for partner in index.partners(key):
        path = names.join(names.parent(partner.path), name)
        for role in _NAMESPACES[partner.role]:
            if path in index.declared[role] and path != partner.path:
                raise _refuse(f"there is a {role} `{path}` already")


def _list_edits(view: View, keys: tuple[Key, ...], name: str) -> list[tuple[int, int, bytes]]:
    """Return bytes and new text of each mention. Raises JsonRpcInvalidParams if a text cannot have the name."""
    edits = []
    for key in keys:
        for entry in view.text.index.by_key.get(key, ()):
            mention = entry.mention
            if entry.quoted:
                if any(character.isspace() or character in '"\\():' for character in name):
                    place = view.text.lines.position(mention.start).line + 1
                    raise _refuse(f"the text in line {place} lists names between blanks, and cannot hold `{name}`")
                new = name
            elif entry.path:
                new = view.text.language.spell_path(names.join("/", name))[1:]
            else:
                new = view.text.language.spell(name, mention.role)
                follows = view.text.data[mention.end : mention.end + 1]
                new = new.rstrip(" ") if new.endswith(" ") and follows.isspace() else new
            edits.append((mention.start, mention.end, new.encode("utf-8")))
    return edits


def apply_edits(data: bytes, edits: list[tuple[int, int, bytes]]) -> bytes:
    """Return a text after sorted edits."""
    pieces, at = [], 0
    for start, end, new in edits:
        pieces += [data[at:start], new]
        at = end
    return b"".join([*pieces, data[at:]])


def _check_meaning(view: View, keys: tuple[Key, ...], name: str, edits: list[tuple[int, int, bytes]]) -> None:
    """Raise JsonRpcInvalidParams if a name of the changed text would mean something else."""
    text = view.text
    data = apply_edits(text.data, edits)
    after = NameIndex(text.language.read(Source(text.uri, data)), data, text.language)

    def change(key: Key | None) -> Key | None:
        """Return an item's key after the renaming: the item's own, a member's, or one below a renamed group."""
        for renamed in keys if key is not None else ():
            assert key is not None
            if key == renamed and key.member:
                return key._replace(member=name)
            if not renamed.member and (key.path == renamed.path) and (key.role == renamed.role or key.member):
                owners = {"attribute": ("variable", "group"), "field": ("type",), "constant": ("type",)}
                if key.role == renamed.role or renamed.role in owners.get(key.role, ()):
                    return key._replace(path=names.join(names.parent(key.path), name))
            if renamed.role == "group" and key.path.startswith(renamed.path + "/"):
                return key._replace(path=names.join(names.parent(renamed.path), name) + key.path[len(renamed.path) :])
        return key

    keeps_words = keys[0].role != "attribute"  # the text of an attribute with another name may name no variables
    before = [entry for entry in text.index.entries if keeps_words or not entry.quoted]
    later = [entry for entry in after.entries if keeps_words or not entry.quoted]
    if len(before) == len(later):
        pairs = zip(before, later, strict=True)
        wrong = next(
            (old for old, new in pairs if change(old.key) != new.key or old.mention.role != new.mention.role), None
        )
    else:
        wrong = before[-1]
    if wrong is not None:
        line = text.lines.position(wrong.mention.start).line + 1
        raise _refuse(f"with the name `{name}`, `{wrong.mention.name}` in line {line} would mean something else")
    if _list_errors(view.analysis):
        return
    analysis = analyze(TextVersion(text.uri, None, data, text.form, text.encoding))
    errors = _list_errors(analysis)
    if errors:
        raise _refuse(f"with the name `{name}`: {errors[0]}")
    if _count_attributes(view.analysis) != _count_attributes(analysis):
        raise _refuse("special attributes are words of the format, which are no names")


def _count_attributes(analysis: Analysis) -> int:
    """Return the number of attributes in the tree, to which special ones do not belong."""
    declared = analysis.tables()
    if declared is None:
        return 0
    of_groups = sum(len(group.attributes) for group in declared.groups.values())
    return of_groups + sum(len(variable.attributes) for variable in declared.variables.values())


def _list_errors(analysis: Analysis) -> list[str]:
    """Return the messages of all errors."""
    return [finding.message for finding in analysis.diagnostics if finding.severity is Severity.ERROR]
