"""Readers with known faults, and their check.

Functions inspect the raw documents of a store, or a netCDF file. Diagnostics name
the reader and the observed versions. No reader is run, and no values are read but
those of coordinates.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

from nczarr import registry
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.report import Diagnostic, Label, Report, Source, Span
from nczarr.pipeline.endpoints import detect_format
from nczarr.pipeline.stored_dataset import StoredDataset
from nczarr.plugins.readers.documents import StoreDocuments
from nczarr.plugins.readers.plugin import PLUGIN
from nczarr.plugins.readers.rule import Find, Finding, ReaderFault, number
from nczarr.stores.base import Store

if TYPE_CHECKING:
    from nczarr.pipeline.check_request import CheckRequest
    from nczarr.semantics.checked import Checked


class Peer(NamedTuple):
    """One reader."""

    name: str
    """Name on the command line."""
    title: str
    """Name in messages."""
    versions: str
    """Versions that the faults describe."""
    stores: tuple[ReaderFault, ...]
    """Faults with stores, in the order of messages."""
    find: tuple[Find, ...]
    """Functions that find them."""
    view: Callable[[Any], Any]
    """Returns the reader's view of `StoreDocuments`."""
    files: tuple[ReaderFault, ...] | None = None
    """Faults with netCDF files; None if the reader cannot read them."""
    find_in_files: tuple[Find, ...] = ()
    """Functions that find them in `Checked`."""
    find_in_values: tuple[Find, ...] = ()
    """Functions that find faults of a store in `Checked`, with our reader; a file has them in `find_in_files`."""
    releases: tuple[str, ...] = ()
    """Releases that the faults distinguish, oldest first; empty if there is only one."""
    library: str = ""
    """Library whose releases these are; empty: the reader itself."""
    release: str = ""
    """Selected release; empty for the newest."""
    convention: str = ""
    """Name of the convention for `--declare`, if the faults are those of a convention instead of a reader."""
    of_datasets: bool = False
    """True if `find_in_files` finds the faults of a source of any format, in `StoredDataset`."""
    reads: Callable[[Any], bool] | None = None
    """Tells whether the faults suit the `StoreDocuments` of a store; None: those of every store."""

    references: bool = False
    """True if it reads stores through fsspec, so also those that reference documents stand for."""

    def select_release(self, release: str) -> Peer:
        """Return the reader in a release. A patch release (`3.1.6`) is that of its minor release.

        Raises ValueError for an unknown one.
        """
        patch = re.fullmatch(r"([0-9]+\.[0-9]+)\.[0-9]+", release)
        minor = patch[1] if patch else release
        if minor not in self.releases:
            name = self.name
            known = ", ".join(f"`{name}@{minor_release}`" for minor_release in self.releases) or f"`{name}`"
            raise ValueError(f"no rules for release `{release}` of {name}; known releases: {known}")
        return self._replace(release=minor)

    def suits(self, source: Source | Store) -> bool:
        """Return whether the faults are about the documents of a source. Raises OSError."""
        return self.reads is None or (not isinstance(source, Source) and self.reads(StoreDocuments(source)))

    def check(self, source: Source | Store, report: Report, opened: StoredDataset | None = None) -> int:
        """Report a reader's faults with a source, and return their number. Raises OSError.

        `opened`: the source, if it was opened before.
        """
        if self.of_datasets:
            opened = opened or StoredDataset.of(source, report)
            name = source.name if isinstance(source, Source) else source.path
            return 0 if opened is None else _report(self, self.files or (), self.find_in_files, opened, name, report)
        source = (_open_references(source, report) or source) if self.references else source
        if isinstance(source, Source):
            return _check_file(self, source, report)
        documents = StoreDocuments(source)
        if not any(node.document is not None for version in (2, 3) for node in documents.tree(version).walk()):
            return _report_unread(self, source.path, report)
        count = _report(self, self.stores, self.find, self.view(documents), source.path, report)
        read = (opened or StoredDataset.of(source, Report())) if self.find_in_values else None
        if read is not None:  # a store that we cannot read has other faults
            count += _report(self, self.stores, self.find_in_values, read.checked, source.path, report)
        return count

    def check_tree(self, checked: Checked, request: CheckRequest, report: Report) -> int:
        """Report what keeps a source of another format from declaring a convention; return the number of reports."""
        from nczarr.pipeline import phases

        name = registry.list_names_with("target.declares")[0]
        form = registry.find_format(name)
        assert form is not None
        helps = [f"convert it: `--to {name} --declare {self.convention}`"]
        before = len(report.list_sorted())
        report.error("undeclared-convention", f"`{request.path}` is not a store of {form.title}", helps=helps)
        tried = Report()
        convention = cast('Literal["nz", "geo"]', self.convention)
        options = request.options.change(declare=convention, allow_loss=frozenset({"all"}), kind=None)
        phases.plan(checked, form, tried, options)
        for diagnostic in tried.list_sorted():
            if diagnostic.code in ("undeclarable-convention", "disputed-fill-value", "undeclared-grid"):
                report.add(diagnostic)
        return len(report.list_sorted()) - before

    def concerns(self, finding: Finding) -> bool:
        """Return whether a finding affects the selected release."""
        if not self.releases:
            return True
        asked = number(self.release or self.releases[-1])
        return number(finding.since) <= asked and not (finding.until and asked >= number(finding.until))


def find_peer(name: str) -> Peer | None:
    """Return the reader of a name, `zarr-python`, or its release, `zarr-python@3.1`; None for an unknown name.

    Raises ValueError for an unknown release.
    """
    bare, sign, release = name.partition("@")
    place = PLUGIN.checks.get(bare)
    peer: Peer | None = None if place is None else registry.load(place)
    return peer if peer is None or not sign else peer.select_release(release)


def peers() -> Iterator[Peer]:
    """Return all readers."""
    for place in PLUGIN.checks.values():
        yield registry.load(place)


def _open_references(source: Source | Store, report: Report) -> Store | None:
    """Return the store that a reference document stands for; None for other sources, and after an error."""
    from nczarr.options import Options

    form = detect_format(source)
    if form is None or not form.store.inner or form.store.opens is None:
        return None
    store: Store | None = registry.load(form.store.opens)(source, report, Options())
    return store


def _check_file(peer: Peer, source: Source, report: Report) -> int:
    """Check a netCDF file. Our own reader reads it, and its diagnostics are reported."""
    form = detect_format(source)
    if peer.files is None or form is None or form.target.second_reader != "libnetcdf":
        return _report_unread(peer, source.name, report)
    if not peer.files:
        return 0
    from nczarr.options import Options
    from nczarr.pipeline import phases

    checked = phases.read(source, report, Options(), form)
    return 0 if checked is None else _report(peer, peer.files, peer.find_in_files, checked, source.name, report)


def _report(
    peer: Peer, faults: tuple[ReaderFault, ...], finds: tuple[Find, ...], view: Any, path: str, report: Report
) -> int:
    """Report what is found in a view, fault by fault; return the number of findings."""
    rows = {fault.name: (number, fault) for number, fault in enumerate(faults)}
    findings = [finding for find in finds for finding in find(view) if peer.concerns(finding)]
    findings.sort(key=lambda finding: rows[finding.fault][0])
    diagnostics = [_make_diagnostic(peer, rows[finding.fault][1], finding, path) for finding in findings]
    shown = [diagnostic for diagnostic in diagnostics if report.hides is None or not report.hides(diagnostic)]
    for diagnostic in shown:
        report.add(diagnostic)
    return len(shown)


def _make_diagnostic(peer: Peer, fault: ReaderFault, finding: Finding, path: str) -> Diagnostic:
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
