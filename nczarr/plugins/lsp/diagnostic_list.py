"""Diagnostics of the pipeline in the terms of the protocol."""

from __future__ import annotations

from lsprotocol.types import (
    CodeDescription,
    Diagnostic,
    DiagnosticRelatedInformation,
    DiagnosticSeverity,
    DiagnosticTag,
    Location,
)

from nczarr.diagnostics import report
from nczarr.diagnostics.catalog import CODES
from nczarr.names import readable
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
