"""Quick fixes: the remedies of diagnostics that replace, insert or remove some bytes."""

from __future__ import annotations

import re
from collections.abc import Iterator

from lsprotocol.types import CodeAction, CodeActionKind, CodeActionParams, TextEdit, WorkspaceEdit

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.diagnostics.report import Diagnostic
from nczarr.formats.common.language import Role
from nczarr.lsp.diagnostic_list import describe
from nczarr.lsp.documents import View

_MEANT = re.compile(r"(?:did you mean|CDL calls it) `(?P<name>.+?)`\??|did you mean (?P<text>\".+\")\?")
_WRITE = re.compile(
    r"write `?(?P<text>(?:types|dimensions|variables|data|group):|UNLIMITED|\\\w+|[0-9]+|[0-9.]+[fd]?)`?(?: |$)"
)
_NAMING: dict[str, Role] = {
    "undefined-variable": "variable",
    "undefined-dimension": "dimension",
    "undefined-type": "type",
    "undefined-group": "group",
    "undefined-enum-constant": "constant",
    "unknown-special": "attribute",
}
"""Codes whose remedies are names; those of others are words of the language."""
_INSERTED = re.compile(r"expected `(?P<text>[;{}])` after ")


def list_actions(view: View, params: CodeActionParams) -> list[CodeAction]:
    """Return the fixes of the diagnostics in a range."""
    first, last = view.offset(params.range.start), view.offset(params.range.end)
    actions = []
    for diagnostic in view.analysis.diagnostics:
        span = diagnostic.primary.span
        if span.source is None or span.start > last or max(span.end, span.start) < first:
            continue
        for title, start, end, text in _list_fixes(view, diagnostic):
            edit = WorkspaceEdit(changes={view.text.uri: [TextEdit(view.range(start, end), text)]})
            shown = describe(view, diagnostic)
            actions.append(CodeAction(title, CodeActionKind.QuickFix, diagnostics=[shown], edit=edit))
    if len(actions) == 1:
        actions[0].is_preferred = True
    return actions


def _list_fixes(view: View, diagnostic: Diagnostic) -> Iterator[tuple[str, int, int, str]]:
    """Yield title, bytes and new text of each fix of a diagnostic."""
    span, data = diagnostic.primary.span, view.text.data
    inserted = _INSERTED.match(diagnostic.message)
    if inserted is not None and span.start == span.end:
        yield f"insert `{inserted['text']}`", span.start, span.start, f" {inserted['text']}"
    for text in diagnostic.helps:
        if text.startswith("remove this") or text in ("remove `()`", "remove the backslash"):
            start, end = _whole_parentheses(data, span.start, span.end) if "()" in text else (span.start, span.end)
            end = start + 1 if "backslash" in text else end
            yield text.replace("this ", ""), start, end, ""
            continue
        for match in _MEANT.finditer(text):
            place = _find_wrong(view, diagnostic)
            if place is not None:
                name = match["name"] or match["text"]
                yield f"change to `{name}`", *place, _spell(view, diagnostic, name, place[0])
        written = _WRITE.match(text) if diagnostic.code != "nul-byte" else None  # it may stand outside of strings
        if written is not None and "_" not in written["text"] and not text.startswith("write `netcdf"):
            yield f"change to `{written['text']}`", span.start, span.end, written["text"]


def _spell(view: View, diagnostic: Diagnostic, name: str, start: int) -> str:
    """Return a name as it is written at a place; words with punctuation stay as they are."""
    if name.startswith("/") and len(name) > 1:
        return view.text.language.spell_path(name)
    role = _NAMING.get(diagnostic.code)
    if name.endswith(":") or role is None or (role == "type" and name in ATOMIC):
        return name
    entry = view.text.index.at(start + 1)
    if view.text.data[start : start + 1] == b"/" and entry is not None:
        path = view.text.index.visible(role, entry.mention.scope).get(name) if role != "group" else None
        return view.text.language.spell_path(path or names.join("/", name))
    return view.text.language.spell(name, role)


def _whole_parentheses(data: bytes, start: int, end: int) -> tuple[int, int]:
    """Return the bytes of empty parentheses, of which a span has the last."""
    opening = data.rfind(b"(", 0, end)
    return (opening, end) if opening >= 0 and not data[opening + 1 : start].strip() else (start, end)


def _find_wrong(view: View, diagnostic: Diagnostic) -> tuple[int, int] | None:
    """Return the bytes of the word that a message quotes: at the place of the diagnostic, else in its declaration."""
    span, language, data = diagnostic.primary.span, view.text.language, view.text.data
    quoted = re.search("`(.+?)`", diagnostic.message)
    if quoted is None:
        return (span.start, span.end) if span.end > span.start else None
    entry = view.text.index.at(span.start)
    extent = entry.mention.extent if entry is not None else None
    for start, end in ((span.start, span.end), extent or (0, 0)):
        if data[start:end].decode("utf-8", "replace") == quoted[1]:  # also a section with its colon
            return start, end
        for lexeme in language.split(data[start:end]):
            word = data[start + lexeme.start : start + lexeme.end].decode("utf-8", "replace")
            if lexeme.kind != "comment" and quoted[1] in (word, language.read_name(word)):
                return start + lexeme.start, start + lexeme.end
    return None
