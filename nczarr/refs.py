"""Reference documents as documents, `nczarr.refs.expand` and `nczarr.refs.compact`; and `nczarr.refs.combine`.

A document is a mapping, the text of one (str, bytes), or the path of a file. Raises CompileError with everything that
is wrong with it, and OSError if it cannot be read.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import Any

from nczarr.combinations import combine
from nczarr.diagnostics import CompileError, Report
from nczarr.formats.reference.limits import DEFAULT, Limits
from nczarr.source import Source

__all__ = ["Limits", "combine", "compact", "expand", "lines"]

Described = Mapping[str, Any] | str | bytes | os.PathLike[str]
"""What stands for a document; a str that begins with a brace is its text, any other a path."""


def expand(
    document: Described, *, templates: Mapping[str, str] | None = None, limits: Limits = DEFAULT
) -> dict[str, Any]:
    """The document in version 0, as a dictionary. `templates` replace those of the document, or add to them."""
    found: dict[str, Any] = json.loads(b"".join(lines(document, templates=templates, limits=limits)))
    return found


def lines(
    document: Described, *, templates: Mapping[str, str] | None = None, limits: Limits = DEFAULT
) -> Iterator[bytes]:
    """The JSON text of the document in version 0, piece by piece; what is wrong may be found on the way."""
    yield from expanded(_source(document), Report(), limits, templates or {})


def compact(document: Described, *, limits: Limits = DEFAULT) -> dict[str, Any]:
    """The document in version 1, with templates and generators: its expansion equals the document's."""
    return compacted(_source(document), Report(), limits)


def expanded(source: Source, report: Report, limits: Limits, templates: Mapping[str, str]) -> Iterator[bytes]:
    """As `lines`, of a source; warnings are left in the report."""
    from nczarr.formats.reference import expansion, wire

    read = wire.read(source, report, limits, templates)
    if read is None:
        raise CompileError(report.sorted())
    try:
        yield from expansion.expand(read, source, report, limits)
    except expansion.StoppedError:
        raise CompileError(report.sorted()) from None


def compacted(source: Source, report: Report, limits: Limits) -> dict[str, Any]:
    """As `compact`, of a source; warnings are left in the report."""
    from nczarr.formats.reference import compaction, expansion, wire

    read = wire.read(source, report, limits)
    if read is None:
        raise CompileError(report.sorted())
    try:
        entries = expansion.entries(read, source, report, limits)
    except expansion.StoppedError:
        raise CompileError(report.sorted()) from None
    return compaction.compact(entries)


def _source(document: Described) -> Source:
    if isinstance(document, Mapping):
        return Source("document", json.dumps(document).encode())
    if isinstance(document, str) and document.lstrip().startswith("{"):
        return Source("document", document.encode("utf-8", "surrogatepass"))
    if isinstance(document, bytes):
        return Source("document", document)
    from nczarr.stores.single import open_source

    return open_source(os.fspath(document))
