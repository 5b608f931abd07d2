"""Known faults of other readers: rules for each reader, and a common interface.

Rules inspect the raw documents of a store, or a netCDF file. Diagnostics name
the reader and the observed versions. No reader is run, and no array values are
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nczarr import registry
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label, Report
from nczarr.diagnostics.source import Source, Span
from nczarr.operations.endpoints import detected
from nczarr.operations.readers.rule import FindingPlace, Peer, ReaderFault
from nczarr.stores.base import Store

ROWS: dict[str, str] = {
    "netcdf-c": "nczarr.operations.readers.netcdf_c:PEER",
    "zarr-python": "nczarr.operations.readers.zarr_python:PEER",
    "xarray": "nczarr.operations.readers.xarray:PEER",
    "nz": "nczarr.operations.readers.nz:PEER",
}
"""Readers and conventions by name, in documentation order."""


def named(name: str) -> Peer | None:
    """Return the reader of a name, or None. `zarr-python@3.1` selects a release, the bare name the newest known.

    A patch release (`zarr-python@3.1.6`) is that of its minor release. Raises
    ValueError for an unknown release.
    """
    bare, sign, release = name.partition("@")
    row = ROWS.get(bare)
    if row is None:
        return None
    peer: Peer = registry.load(row)
    if not sign:
        return peer
    patch = re.fullmatch(r"([0-9]+\.[0-9]+)\.[0-9]+", release)
    minor = patch[1] if patch else release
    if minor not in peer.releases:
        known_releases = ", ".join(f"`{bare}@{minor_release}`" for minor_release in peer.releases)
        raise ValueError(f"no rules for release `{release}` of {bare}; known releases: {known_releases or f'`{bare}`'}")
    return peer._replace(release=minor)


def peers() -> Iterator[Peer]:
    """Return all readers."""
    for row in ROWS.values():
        yield registry.load(row)


def suits(peer: Peer, source: Source | Store) -> bool:
    """Return whether a reader's rules are about the documents of a source. Raises OSError."""
    if peer.reads is None:
        return True
    from nczarr.operations.readers.documents import StoreDocuments

    return not isinstance(source, Source) and peer.reads(StoreDocuments(source))


def check(peer: Peer, source: Source | Store, report: Report) -> int:
    """Report a reader's faults with a source, and return their number. Raises OSError."""
    if isinstance(source, Source):
        return _file(peer, source, report)
    from nczarr.operations.readers.documents import StoreDocuments

    documents = StoreDocuments(source)
    if not any(node.document is not None for version in (2, 3) for node in documents.tree(version).walk()):
        return _unread(peer, source.path, report)
    view = peer.view(documents)
    return _found(peer, peer.stores, view, source.path, report)


def _file(peer: Peer, source: Source, report: Report) -> int:
    """Check a netCDF file. Our own reader reads it, and its diagnostics are reported."""
    form = detected(source)
    if peer.files is None or form is None or form.second_reader != "libnetcdf":
        return _unread(peer, source.name, report)
    if not peer.files:
        return 0
    from nczarr.operations import pipeline
    from nczarr.options import Options

    checked = pipeline.read(source, report, Options(), form)
    return 0 if checked is None else _found(peer, peer.files, checked, source.name, report)


def _found(peer: Peer, rules: tuple[ReaderFault, ...], view: Any, path: str, report: Report) -> int:
    count = 0
    for rule in rules:
        for place in rule.find(view):
            if not peer.concerns(place):
                continue
            report.add(_diagnostic(peer, rule, place, path))
            count += 1
    return count


def _diagnostic(peer: Peer, rule: ReaderFault, place: FindingPlace, path: str) -> Diagnostic:
    does = place.does or rule.does
    instead = place.instead or rule.instead
    return Diagnostic(
        rule.code,
        CODES[rule.code].severity,
        f"{place.what}: {peer.title} {does}",
        _label(place, path),
        notes=(_seen(peer, rule, place),) if rule.seen else (),
        helps=(instead,) if instead else (),
    )


def _seen(peer: Peer, rule: ReaderFault, place: FindingPlace) -> str:
    """Return the releases with the observed fault."""
    ends = [f"since zarr-python {place.since}"] if place.since else []
    ends += [f"until zarr-python {place.until}, which reads it"] if place.until else []
    return f"seen with {peer.title} {rule.seen}" + (f": {', '.join(ends)}" if ends else "")


def _label(place: FindingPlace, path: str) -> Label:
    if not place.key:
        return Label(place.span)
    return Label(Span(Source(path, b"", key=place.key), 0, 0), key=place.key, pointer=place.pointer)


def _unread(peer: Peer, path: str, report: Report) -> int:
    """Report a source that a reader cannot read at all."""
    report.error("unread-format", f"{peer.title} does not support the format of `{path}`")
    return 1
