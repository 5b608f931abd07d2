"""`read`: value of a stored document, with reported errors. `opened`: the same, raising CompileError."""

from __future__ import annotations

from typing import Any

from nczarr.diagnostics.report import CompileError, Report
from nczarr.diagnostics.source import Source
from nczarr.formats.awkward0.read.evaluation import Evaluation
from nczarr.formats.awkward0.read.whitelist import Whitelist, patterns
from nczarr.formats.awkward0.wire import documents
from nczarr.formats.awkward0.wire.blobs import Blobs, lookup
from nczarr.formats.awkward0.wire.limits import DEFAULT, At, Limits, UnreadableDocumentError
from nczarr.syntax.json.positions import Faults


def read(
    source: Source, storage: Any, report: Report, whitelist: Whitelist = None, limits: Limits = DEFAULT
) -> tuple[Any] | None:
    """Return the value of a document in a tuple, None after a reported error.

    Arrays are columns. Raises TypeError for an invalid whitelist, and errors of
    the storage except KeyError.
    """
    allowed = patterns(whitelist)
    at: At | None = At(None, "schema")
    try:
        document = documents.read(source, report, limits)
        if document is None:
            return None
        return (Evaluation(document, Blobs(storage, limits), allowed, limits).result(),)
    except UnreadableDocumentError as error:
        code, message, at, helps = error.code, error.message, error.at or at, error.helps
    except RecursionError:
        code, message, helps = "oversized-awkward", "expressions are nested too deeply", ()
    Faults(source, report).error(code, message, at.path() if at is not None else (), helps)
    return None


def opened(storage: Any, name: str, whitelist: Whitelist = None, limits: Limits = DEFAULT) -> Any:
    """Return the value of the document stored under a name.

    Raises KeyError if the name is missing, CompileError with all errors of the
    document.
    """
    report = Report()
    try:
        stored = lookup(storage, name)
    except UnreadableDocumentError as error:
        Faults(Source(name, b""), report).error(error.code, error.message, helps=error.helps)
        raise CompileError(report.sorted()) from None
    if stored is None:
        raise KeyError(name)
    source = Source(name, _document(stored, name, report))
    value = read(source, storage, report, whitelist, limits) if not report.errors else None
    if value is None:
        raise CompileError(report.sorted())
    return value[0]


def _document(value: Any, name: str, report: Report) -> bytes:
    """Return the bytes of a document; reports values of other types."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if hasattr(value, "dtype") and hasattr(value, "tobytes") and value.dtype.kind in "uiSV":
        return bytes(value.tobytes())
    text = f"the document must be bytes, not {type(value).__name__}"
    Faults(Source(name, b""), report).error("bad-awkward-document", text)
    return b""
