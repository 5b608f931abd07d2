"""A folder of Parquet references → version 0: documents, then each array's chunks in C order."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.parquet import opened
from nczarr.formats.reference.parts import encode
from nczarr.formats.reference.texts import text_of
from nczarr.stores.base import Store
from nczarr.stores.reference import Reference

PIECE = 1 << 16
"""Characters per output piece."""


def entries(store: Store, report: Report, limits: Limits) -> Iterator[tuple[str, Any]]:
    """Yield keys and values of version 0. Raises CompileError, OSError."""
    references = opened(store, report, limits)
    if references is None:
        raise CompileError(report.sorted())
    for number, (key, found) in enumerate(references.entries(), 1):
        if number > limits.entries:
            text = f"`{key}` brings the entries to more than the limit, {limits.entries}"
            report.error("oversized-expansion", text, helps=["`--max-entries` sets another limit"])
            raise CompileError(report.sorted())
        if isinstance(found, bytes):
            yield key, references.documents.get(key) or text_of(found)
        else:
            yield key, _listed(found)


def _listed(found: Reference) -> list[Any]:
    return [found.url] if found.length is None else [found.url, found.offset, found.length]


def expand(store: Store, report: Report, limits: Limits) -> Iterator[bytes]:
    """Yield the document's JSON text, one entry a line. Raises CompileError, OSError."""
    text, written, begin = "{", 0, "\n"
    for key, value in entries(store, report, limits):
        text += f"{begin}{encode(key)}:{encode(value)}"
        begin = ",\n"
        if len(text) >= PIECE:
            written += len(text)
            if written > limits.output:
                report.error("oversized-expansion", f"the expanded document has more than {limits.output} bytes")
                raise CompileError(report.sorted())
            yield text.encode()
            text = ""
    yield f"{text}\n}}\n".encode()
