"""Folders of Parquet references as JSON text."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.diagnostics.report import CompileError, Report
from nczarr.formats.reference.limits import Limits
from nczarr.formats.reference.parquet import entries
from nczarr.formats.reference.wire import encode
from nczarr.stores.base import Store

PIECE = 1 << 16
"""Characters per output piece."""


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
                raise CompileError(report.list_sorted())
            yield text.encode()
            text = ""
    yield f"{text}\n}}\n".encode()
