"""`compile --emit tokens`: the lexemes of a text."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.pipeline.emission import Emission
from nczarr.plugins.languages.language import find_language
from nczarr.plugins.schema.records import make_record, show_span
from nczarr.sdk import Span, detect_format


def list_tokens(emission: Emission) -> Iterator[dict[str, Any]]:
    """Yield a record for each lexeme of a text in a language that people write: kind, text, span."""
    source = emission.open_text()
    if source is None:
        return
    form = detect_format(source)
    language = None if form is None else find_language(form.name)
    if language is None:
        emission.report.error("unknown-target", f"`{source.name}` is not a text in a language with tokens")
        return
    for lexeme in language.split(bytes(source.data)):
        span = Span(source, lexeme.start, lexeme.end)
        yield make_record(kind=lexeme.kind, text=source.text(lexeme.start, lexeme.end), span=show_span(span))
