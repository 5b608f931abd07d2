"""Known faults of other readers: tables for each reader, and a common interface.

Functions inspect the raw documents of a store, or a netCDF file. Diagnostics name
the reader and the observed versions. No reader is run, and no array values are
read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from nczarr import registry
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label, Report, Source, Span
from nczarr.operations.endpoints import detect_format
from nczarr.plugins.readers.rule import Find, Finding, Peer, ReaderFault
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.plugins.readers.layouts import StoredDataset

ROWS: dict[str, str] = {
    "netcdf-c": "nczarr.plugins.readers.netcdf_c:PEER",
    "zarr-python": "nczarr.plugins.readers.zarr_python:PEER",
    "xarray": "nczarr.plugins.readers.xarray:PEER",
    "tensorstore": "nczarr.plugins.readers.array_libraries:TENSORSTORE_PEER",
    "zarrs": "nczarr.plugins.readers.array_libraries:ZARRS_PEER",
    "xarray-tensorstore": "nczarr.plugins.readers.array_libraries:XARRAY_TENSORSTORE_PEER",
    "gdal": "nczarr.plugins.readers.array_libraries:GDAL_PEER",
    "nz": "nczarr.plugins.readers.nz:PEER",
    "geo": "nczarr.plugins.readers.geo:PEER",
    "cloud": "nczarr.plugins.readers.layouts:CLOUD",
    "cmip7": "nczarr.plugins.readers.layouts:CMIP7",
}
"""Readers, conventions and layouts by name, in documentation order."""


def find_peer(name: str) -> Peer | None:
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
    """Return whether a reader's faults are about the documents of a source. Raises OSError."""
    if peer.reads is None:
        return True
    from nczarr.plugins.readers.documents import StoreDocuments

    return not isinstance(source, Source) and peer.reads(StoreDocuments(source))


def check(peer: Peer, source: Source | Store, report: Report, opened: StoredDataset | None = None) -> int:
    """Report a reader's faults with a source, and return their number. Raises OSError.

    `opened`: the source, if it was opened before.
    """
    if peer.of_datasets:
        from nczarr.plugins.readers.layouts import StoredDataset

        opened = opened or StoredDataset.of(source, report)
        name = source.name if isinstance(source, Source) else source.path
        return 0 if opened is None else _report(peer, peer.files or (), peer.find_in_files, opened, name, report)
    if isinstance(source, Source):
        return _check_file(peer, source, report)
    from nczarr.plugins.readers.documents import StoreDocuments

    documents = StoreDocuments(source)
    if not any(node.document is not None for version in (2, 3) for node in documents.tree(version).walk()):
        return _report_unread(peer, source.path, report)
    return _report(peer, peer.stores, peer.find, peer.view(documents), source.path, report)


def _check_file(peer: Peer, source: Source, report: Report) -> int:
    """Check a netCDF file. Our own reader reads it, and its diagnostics are reported."""
    form = detect_format(source)
    if peer.files is None or form is None or form.second_reader != "libnetcdf":
        return _report_unread(peer, source.name, report)
    if not peer.files:
        return 0
    from nczarr.operations import pipeline
    from nczarr.options import Options

    checked = pipeline.read(source, report, Options(), form)
    return 0 if checked is None else _report(peer, peer.files, peer.find_in_files, checked, source.name, report)


def _report(
    peer: Peer, faults: tuple[ReaderFault, ...], finds: tuple[Find, ...], view: Any, path: str, report: Report
) -> int:
    """Report what is found in a view, fault by fault; return the number of findings."""
    rows = {fault.name: (number, fault) for number, fault in enumerate(faults)}
    findings = [finding for find in finds for finding in find(view) if peer.concerns(finding)]
    findings.sort(key=lambda finding: rows[finding.fault][0])
    diagnostics = [_diagnostic(peer, rows[finding.fault][1], finding, path) for finding in findings]
    shown = [diagnostic for diagnostic in diagnostics if report.hides is None or not report.hides(diagnostic)]
    for diagnostic in shown:
        report.add(diagnostic)
    return len(shown)


def _diagnostic(peer: Peer, fault: ReaderFault, finding: Finding, path: str) -> Diagnostic:
    library = peer.library or (peer.title if peer.releases else "zarr-python")
    ends = [f"since {library} {finding.since}"] if finding.since else []
    ends += [f"until {library} {finding.until}, which reads it"] if finding.until else []
    seen = f"seen with {peer.title} {fault.seen}" + (f": {', '.join(ends)}" if ends else "")
    source = finding.span.source
    instead = finding.instead or fault.instead
    label = Label(finding.span, key=None if source is None else source.key)
    if finding.key:
        label = Label(Span(Source(path, b"", key=finding.key), 0, 0), key=finding.key, pointer=finding.pointer)
    return Diagnostic(
        fault.code,
        CODES[fault.code].severity,
        f"{finding.what}: {peer.title} {finding.does or fault.does}",
        label,
        notes=(seen,) if fault.seen else (),
        helps=(instead,) if instead else (),
    )


def _report_unread(peer: Peer, path: str, report: Report) -> int:
    """Report a source that a reader cannot read at all."""
    report.error("unread-format", f"{peer.title} does not support the format of `{path}`")
    return 1
