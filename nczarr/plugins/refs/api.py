"""Operations on reference documents: `nczarr.refs.expand`, `compact`, `mapping`, `verify`, and those of plugins.

A document is a mapping, its text (str, bytes), or the path of a file or of a
folder of Parquet references. Raises CompileError with all faults of a document,
and OSError if it is unreadable.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Literal

from nczarr.api.hints import add_hints
from nczarr.diagnostics.report import CompileError, Diagnostic, Report, Source
from nczarr.formats.reference.limits import DEFAULT
from nczarr.formats.reference.limits import Limits as Limits
from nczarr.options import FOLLOWING, Options
from nczarr.options import Following as Following
from nczarr.options import Writing as Writing
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.plugins.names_of_refs import *  # noqa: F403
    from nczarr.plugins.refs.mapping import ReferenceMapping

Described = Mapping[str, Any] | str | bytes | os.PathLike[str]
"""A document; a str that begins with a brace is its text, any other a path."""


_OWN = ("Following", "Limits", "Writing", "compact", "expand", "lines", "mapping", "verify")
"""Public names of the compiler; plugins add others."""


def __getattr__(name: str) -> Any:
    """Load a public name that a plugin adds, on first use."""
    from importlib import import_module

    from nczarr.names.plugin_index import find_place

    if name == "__all__":
        return sorted({*_OWN, *_list_added()})
    place = None if name.startswith("_") else find_place("name", f"refs.{name}")
    if place is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module, _, attribute = place.partition(":")
    value = globals()[name] = getattr(import_module(module), attribute)
    return value


def __dir__() -> list[str]:
    """Return public names, loaded or not."""
    return sorted({*globals(), *_list_added()})


def _list_added() -> list[str]:
    """Return the names that plugins add."""
    from nczarr.names.plugin_index import list_own

    return [name.removeprefix("refs.") for name in list_own("name") if name.startswith("refs.")]


@add_hints
def expand(
    document: Described, *, templates: Mapping[str, str] | None = None, limits: Limits = DEFAULT
) -> dict[str, Any]:
    """Return a reference document in version 0: without templates and generators.

    Parameters
    ----------
    document : Mapping, str, bytes or os.PathLike
        A document, its text, or the path of a file or of a folder of Parquet
        references.
    templates : Mapping of str to str, optional
        Templates that replace or extend those of the document.
    limits : Limits
        Limits of the reader.

    Returns
    -------
    dict
        The expanded document.

    Raises
    ------
    CompileError
        If the document has errors; `.diagnostics` has all of them.
    OSError
        If the document is unreadable.

    Examples
    --------
    >>> import nczarr.refs
    >>> nczarr.refs.expand({"version": 1, "templates": {"u": "a.nc"}, "refs": {"v/0": ["{{u}}", 8, 4]}})
    {'v/0': ['a.nc', 8, 4]}
    """
    expanded: dict[str, Any] = json.loads(b"".join(lines(document, templates=templates, limits=limits)))
    return expanded


@add_hints
def lines(
    document: Described, *, templates: Mapping[str, str] | None = None, limits: Limits = DEFAULT
) -> Iterator[bytes]:
    """Yield the JSON text of a reference document in version 0.

    Parameters
    ----------
    document : Mapping, str, bytes or os.PathLike
        A document, as for `expand`.
    templates : Mapping of str to str, optional
        Templates that replace or extend those of the document.
    limits : Limits
        Limits of the reader.

    Yields
    ------
    bytes
        The next piece of the text.

    Raises
    ------
    CompileError
        If the document has errors, which may be found after the first pieces.
    OSError
        If the document is unreadable.
    """
    yield from expand_source(_source(document), Report(), limits, templates or {})


@add_hints
def compact(document: Described, *, limits: Limits = DEFAULT) -> dict[str, Any]:
    """Return a reference document in version 1, with templates and generators. Its expansion is unchanged.

    Parameters
    ----------
    document : Mapping, str, bytes or os.PathLike
        A document, as for `expand`.
    limits : Limits
        Limits of the reader.

    Returns
    -------
    dict
        The compact document.

    Raises
    ------
    CompileError
        If the document has errors; `.diagnostics` has all of them.
    OSError
        If the document is unreadable.
    """
    return compact_source(_source(document), Report(), limits)


@add_hints
def verify(
    document: Described,
    *,
    chunks: Literal["none", "sample", "all"] = "sample",
    sample: int = 4,
    following: Following = FOLLOWING,
    storage_options: Mapping[str, Any] | None = None,
) -> tuple[Diagnostic, ...]:
    """Check a reference document, or a folder of Parquet references, and all its targets.

    Parameters
    ----------
    document : Mapping, str, bytes or os.PathLike
        A document, as for `expand`.
    chunks : {"none", "sample", "all"}
        Chunks of each array that are read and decoded.
    sample : int
        Number of chunks in a sample.
    following : nczarr.refs.Following
        Options for following references.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    tuple of Diagnostic
        The faults that were found; empty if everything is valid.

    Raises
    ------
    OSError
        If the document is unreadable.
    ValueError
        If `chunks` or `sample` has an invalid value.
    """
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.plugins.refs.verify import verify as verified

    if chunks not in ("none", "sample", "all") or sample < 1:
        raise ValueError(f"{chunks!r}, {sample!r}: `chunks` must be none, sample or all, and `sample` at least 1")
    options = Options.of(storage=StorageOptions(storage_options), following=following)
    report = Report()
    source = _open(document, report, options)
    if source is not None:
        try:
            verified(source, {"none": 0, "all": None}.get(chunks, sample), report, options)
        except CompileError as error:
            for diagnostic in error.diagnostics:
                report.add(diagnostic)
    return tuple(report.list_sorted())


@add_hints
def mapping(
    document: Described, *, following: Following = FOLLOWING, storage_options: Mapping[str, Any] | None = None
) -> ReferenceMapping:
    """Return the keys of a reference document with their bytes: the reference file system, whatever its keys mean.

    Parameters
    ----------
    document : Mapping, str, bytes or os.PathLike
        A document, as for `expand`.
    following : nczarr.refs.Following
        Options for following references.
    storage_options : Mapping, optional
        Options of a URL's protocol, as fsspec takes them.

    Returns
    -------
    ReferenceMapping
        Bytes by key, with `list(folder)`, `locate(key)` and `measure(key)`. Bytes are read on use.

    Raises
    ------
    CompileError
        If the document has errors, or leads to forbidden targets.
    OSError
        If the document is unreadable.

    Examples
    --------
    >>> import nczarr.refs
    >>> refs = nczarr.refs.mapping({"a/b": "text", "c": ["data.bin", 8, 4]})
    >>> refs["a/b"], refs.locate("c").offset, refs.measure("c")
    (b'text', 8, 4)
    """
    from nczarr.diagnostics.secrets import StorageOptions
    from nczarr.plugins.refs.mapping import ReferenceMapping, open_keys

    report = Report()
    options = Options.of(storage=StorageOptions(storage_options), following=following)
    source = _open(document, report, options)
    store = None if source is None else open_keys(source, report, options)
    if store is None or report.errors:
        raise CompileError(report.list_sorted())
    return ReferenceMapping(store)


def expand_source(
    source: Source | Store, report: Report, limits: Limits, templates: Mapping[str, str]
) -> Iterator[bytes]:
    """Yield as `lines`, for a source or folder; warnings are in the report. Raises OSError, CompileError."""
    from nczarr.formats.reference import wire
    from nczarr.plugins.refs.templates import expansion

    if not isinstance(source, Source):
        yield from _expand_folder(source, report, limits)
        return
    read = wire.read(source, report, limits, templates)
    if read is None:
        raise CompileError(report.list_sorted())
    yield from expansion.expand(read, source, report, limits)


PIECE = 1 << 16
"""Characters per output piece."""


def _expand_folder(store: Store, report: Report, limits: Limits) -> Iterator[bytes]:
    """Yield a folder of Parquet references as JSON text, one entry a line. Raises CompileError, OSError."""
    from nczarr.formats.reference.parquet import entries
    from nczarr.formats.reference.wire import encode

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


def compact_source(source: Source | Store, report: Report, limits: Limits) -> dict[str, Any]:
    """Return as `compact`, for a source or folder; warnings are in the report. Raises OSError, CompileError.

    Recorded target properties remain.
    """
    from nczarr.formats.reference import parquet, wire
    from nczarr.plugins.refs import compaction
    from nczarr.plugins.refs.templates import expansion

    if not isinstance(source, Source):
        return compaction.compact(dict(parquet.entries(source, report, limits)))
    read = wire.read(source, report, limits)
    if read is None:
        raise CompileError(report.list_sorted())
    compacted_document = compaction.compact(expansion.entries(read, source, report, limits))
    return compacted_document if read.noted is None else {**compacted_document, "nczarr": read.noted}


def write_document(document: Mapping[str, Any]) -> Iterator[bytes]:
    """Yield the JSON text of a document from `compact`."""
    from nczarr.plugins.refs import compaction

    return compaction.write_document(document)


def _source(document: Described) -> Source | Store:
    report = Report()
    source = _open(document, report, Options())
    if source is None:
        raise CompileError(report.list_sorted())
    return source


def _open(document: Described, report: Report, options: Options) -> Source | Store | None:
    """Return the source or folder of a document; None (reported) if it does not exist."""
    if isinstance(document, Mapping):
        return Source("document", json.dumps(document).encode())
    if isinstance(document, str) and document.lstrip().startswith("{"):
        return Source("document", document.encode("utf-8", "surrogatepass"))
    if isinstance(document, bytes):
        return Source("document", document)
    from nczarr.pipeline import endpoints

    return endpoints.open_source(os.fspath(document), report, options)
