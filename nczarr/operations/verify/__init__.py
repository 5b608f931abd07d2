"""Verification of a reference document: its targets, its ranges, and decoding of chunks.

    ReferenceStore ─ look_at ─> targets and ranges          Checked ─ chunks.read ─> chunks

All references are checked in columns; chunks are read by the usual reader. Each
fault is a diagnostic with key and target.
"""

from __future__ import annotations

from itertools import islice
from typing import NamedTuple

from nczarr import registry
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.diagnostics.secrets import shown
from nczarr.diagnostics.source import Source
from nczarr.operations import pipeline
from nczarr.operations.verify import chunks
from nczarr.operations.verify.references import Looked, look_at
from nczarr.options import Options
from nczarr.stores.base import Store
from nczarr.stores.reference import Reference
from nczarr.stores.references import ReferenceStore


class Summary(NamedTuple):
    """Counts of a verification."""

    references: int
    """Number of references."""
    targets: int
    """Number of targets."""
    chunks: int
    """Number of chunks that were read."""

    @property
    def words(self) -> str:
        """Readable counts."""
        counts = [f"{self.references} reference{'s' * (self.references != 1)}"]
        counts.append(f"{self.targets} target{'s' * (self.targets != 1)}")
        counts.append(f"{self.chunks} chunk{'s' * (self.chunks != 1)} read")
        return ", ".join(counts)


def verify(source: Source | Store, sample: int | None, report: Report, options: Options) -> Summary | None:
    """Verify a document or folder of Parquet references, with all targets; return None for other sources.

    `sample`: chunks to read of each array; 0: none, None: all. Faults are
    reported. Raises OSError, CompileError if the document itself is unreadable.
    """
    form = registry.named(registry.REFERENCE)
    assert form is not None
    assert form.opens is not None
    store: ReferenceStore | None = registry.load(form.opens)(source, report, options)
    if store is None:
        return None
    looked = look_at(store.references, store.facts, report, distant=store.distant)
    count = 0
    if sample != 0:
        own_report = Report(strict=report.strict)
        checked = pipeline.read(store, own_report, options, registry.detect_store(store, opened=True))
        for diagnostic in own_report.sorted():
            report.add(diagnostic)
        if checked is not None:
            for key in islice(chunks.strays(checked, store.references), report.limit):
                text = f"`{key}` is not a chunk of any array and is never read"
                report.add(Diagnostic("stray-reference", Severity.WARNING, text, Label(key=key)))
            count = _read_chunks(checked, store, looked, sample, report, options)
    return Summary(looked.references, looked.targets, count)


def _read_chunks(
    checked: Checked, store: ReferenceStore, looked: Looked, sample: int | None, report: Report, options: Options
) -> int:
    """Read chunks, report unreadable ones, and return the number read; skip keys and targets known as useless."""

    def skip(key: str) -> bool:
        if key in looked.useless:
            return True
        entry = store.references.find(key) if looked.closed else None
        return isinstance(entry, Reference) and entry.url in looked.closed

    count = 0
    for read, faults in chunks.read(checked, sample, options.memory, skip):
        count += read
        for fault in faults:
            _tell(fault, store, report)
    return count


def _tell(fault: chunks.ChunkFault, store: ReferenceStore, report: Report) -> None:
    """Report an unreadable chunk with its key and target."""
    entry = None if fault.key is None else store.references.find(fault.key)
    target = f", bytes of `{shown(entry.url)}`," if isinstance(entry, Reference) and entry.url is not None else ""
    what = f"`{fault.key}`" if fault.key is not None else f"chunk {fault.chunk} of `{fault.array.name}`"
    place = Label(key=fault.key or store.path)
    if isinstance(fault.reason, OSError):
        text = f"{what}{target} cannot be read: {fault.reason.strerror or fault.reason}"
        report.add(Diagnostic("unreadable-chunk", Severity.ERROR, text, place))
        return
    for diagnostic in fault.reason:
        text = (
            diagnostic.message
            if fault.key is not None and fault.key in diagnostic.message
            else f"{what}{target}: {diagnostic.message}"
        )
        report.add(diagnostic._replace(message=text, primary=place))
