"""Whether a reference document is to be trusted: its targets, its ranges, and chunks that decode.

    References ─ look_at ─> targets and ranges          Checked ─ chunks.read ─> chunks

Every reference is looked at, in columns; chunks are read through the reader that any dataset has. What is wrong is a
diagnostic each, with the key and the target.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from nczarr.diagnostics import CompileError, Diagnostic, Label, Report, Severity
from nczarr.passes.checked import Checked
from nczarr.secrets import shown
from nczarr.stores.referring import Reference, References
from nczarr.verification import chunks
from nczarr.verification.references import Looked

Extent = Literal["none", "sample", "all"]
"""Which chunks are read."""

SAMPLE = 4
"""Chunks of each array that are read, unless another number is asked for."""


class Summary(NamedTuple):
    """What was looked at."""

    references: int
    targets: int
    chunks: int


def read_chunks(
    checked: Checked, references: References, looked: Looked, sample: int | None, memory: int, report: Report
) -> int:
    """Read chunks, all or `sample` of each array, and report what cannot be read; how many were read.

    Nothing is tried with keys and targets that are known to be no use. Raises OSError where keys cannot be listed.
    """

    def skip(key: str) -> bool:
        if key in looked.useless:
            return True
        found = references.find(key)
        return isinstance(found, Reference) and found.url in looked.closed

    count = 0
    for read, faults in chunks.read(checked, sample, memory, skip):
        count += read
        for fault in faults:
            _tell(fault, references, report)
    return count


def _tell(fault: chunks.Fault, references: References, report: Report) -> None:
    """A chunk that cannot be read, with its key and target."""
    found = None if fault.key is None else references.find(fault.key)
    target = f", of `{shown(found.url)}`" if isinstance(found, Reference) and found.url is not None else ""
    what = f"chunk {fault.chunk} of `{fault.array.name}`" if fault.key is None else f"`{fault.key}`"
    if isinstance(fault.reason, OSError):
        text = f"{what}{target}, cannot be read: {fault.reason.strerror or fault.reason}"
        report.add(Diagnostic("unreadable-chunk", Severity.ERROR, text, Label(key=fault.key)))
        return
    for each in fault.reason:
        place = each.primary if each.primary.key is not None else Label(key=fault.key)
        report.add(each._replace(primary=place, notes=(*each.notes, f"of {what}{target}")))


def failed(report: Report) -> CompileError | None:
    """Everything that was found as an exception; None if there is no error."""
    return CompileError(report.sorted()) if report.errors else None
