"""Diagnostics of the pipeline in the terms of the protocol, and quick fixes: remedies that change some bytes."""

from __future__ import annotations

from collections.abc import Iterator

from lsprotocol.types import (
    CodeAction,
    CodeActionKind,
    CodeActionParams,
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
    TextEdit,
    WorkspaceEdit,
)

from nczarr import names
from nczarr.ast import ATOMIC
from nczarr.diagnostics import report
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Fix, Span
from nczarr.names import readable
from nczarr.plugins.languages.language import Role
from nczarr.plugins.lsp.documents import View

_SEVERITIES = {
    report.Severity.ERROR: DiagnosticSeverity.Error,
    report.Severity.WARNING: DiagnosticSeverity.Warning,
    report.Severity.NOTE: DiagnosticSeverity.Information,
}

_TAGS = {
    "repeated-attribute": DiagnosticTag.Unnecessary,
    "trailing-text": DiagnosticTag.Unnecessary,
    "duplicate-data": DiagnosticTag.Unnecessary,
    "zero-dimension": DiagnosticTag.Deprecated,
}
"""Codes of text that has no effect, and of old spellings."""


def list_diagnostics(view: View) -> list[Diagnostic]:
    """Return all diagnostics of a text."""
    return [describe(view, diagnostic) for diagnostic in view.analysis.diagnostics]


def describe(view: View, diagnostic: report.Diagnostic) -> Diagnostic:
    """Return one diagnostic with related places, tags and a link to the page of its code."""
    lines = [diagnostic.message]
    lines += [f"note: {note}" for note in diagnostic.notes]
    lines += [f"help: {text}" for text in diagnostic.helps]
    span, tag = diagnostic.primary.span, _TAGS.get(diagnostic.code)
    related = [
        DiagnosticRelatedInformation(
            Location(view.text.uri, view.range(other.span.start, other.span.end)), other.text or "related"
        )
        for other in diagnostic.others
        if other.span.source is not None
    ]
    page = CODES.find_file(diagnostic.code)
    return Diagnostic(
        range=view.range(span.start, span.end) if span.source is not None else view.range(0, 0),
        message=readable("\n".join(lines), "\n"),
        severity=_SEVERITIES[diagnostic.severity],
        code=diagnostic.code,
        code_description=None if page is None else CodeDescription(page.as_uri()),
        source="nczarr",
        tags=[tag] if tag is not None else None,
        related_information=related or None,
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


def _list_fixes(view: View, diagnostic: report.Diagnostic) -> Iterator[tuple[str, int, int, str]]:
    """Yield title, bytes and new text of each fix of a diagnostic."""
    span, missing = diagnostic.primary.span, diagnostic.primary.missing
    if missing:
        yield f"insert `{missing}`", span.start, span.start, f" {missing}"
    for fix in diagnostic.helps:
        place = _find_place(view, span, fix) if isinstance(fix, Fix) else None
        if place is not None and isinstance(fix, Fix):
            new = _spell(view, diagnostic, fix.new, place[0])
            yield f"change to `{fix.new}`" if new else fix.replace("this ", ""), *place, new


def _spell(view: View, diagnostic: report.Diagnostic, name: str, start: int) -> str:
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


def _find_place(view: View, span: Span, fix: Fix) -> tuple[int, int] | None:
    """Return the bytes that a fix replaces; None if the wrong word is not found."""
    if fix.wrong is None:
        return fix.extent or (span.start, span.end)
    language, data, wrong = view.text.language, view.text.data, fix.wrong
    entry = view.text.index.at(span.start)
    extent = entry.mention.extent if entry is not None else None
    for start, end in ((span.start, span.end), extent or (0, 0)):
        if data[start:end].decode("utf-8", "replace") == wrong:  # also a section with its colon
            return start, end
        for lexeme in language.split(data[start:end]):
            word = data[start + lexeme.start : start + lexeme.end].decode("utf-8", "replace")
            if lexeme.kind != "comment" and wrong in (word, language.read_name(word)):
                return start + lexeme.start, start + lexeme.end
    return None
