"""Conversion of one dataset to a new target, or to text.

request ─ prepare: read, select ─> ReadyConversion ─ write ─> Conversion
├ steps ─> planned work
└ blocks ─> bytes for standard output
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from nczarr import names, registry
from nczarr.arrays.execution.counts import Step, Watcher
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.operations import endpoints, pipeline
from nczarr.operations.endpoints import target_format
from nczarr.operations.pipeline import Input
from nczarr.options import WHOLE, Options
from nczarr.plan.plans import Conversion
from nczarr.registry import Format
from nczarr.select.selection import Subset, part_in_words


def dump(checked: Checked, form_name: str, report: Report, options: Options) -> Iterator[bytes] | None:
    """Return a dataset as text: in a text format by name, `keys` of its NCZarr store, or `tree`."""
    if not _is_there(checked, options, report):
        return None
    if form_name == "tree":
        from nczarr.check.outline import lines

        return (line.encode("utf-8", "surrogateescape") for line in lines(checked))
    form = target_format("", registry.STORE if form_name == "keys" else form_name, report)
    return None if form is None else pipeline.blocks(checked, form, report, options)


def _is_there(checked: Checked, options: Options, report: Report) -> bool:
    """Return whether every variable and group named in the options exists; reports missing ones."""
    from nczarr.select.selection import unmatched

    before = report.errors
    for what, asked, declared in (
        ("variable", options.variables, checked.variables),
        ("group", options.groups, checked.groups),
    ):
        simple = {names.last(fqn) for fqn in declared if fqn != "/"}
        for name in asked:
            if name not in declared and name not in simple:
                unmatched(what, name, declared, report)
    return report.errors == before


class ConvertRequest(NamedTuple):
    """Request for a conversion."""

    source: Input
    """The source."""
    target: str = ""
    """Path or URL of the target; empty for standard output."""
    form: str | None = None
    """Name of the target's format; None: that of its place."""
    subset: Subset = Subset()
    """Requested part of the source."""
    fixed: bool = False
    """Give every unlimited dimension its current length."""
    options: Options = Options()
    """Options of the run."""


class ReadyConversion(NamedTuple):
    """A conversion whose source was read."""

    checked: Checked
    """The requested part of the source."""
    target: str
    """Path or URL of the target."""
    form: Format
    """Format of the target."""
    options: Options
    """Options of the run."""

    def write(self, report: Report, watch: Watcher | None = None) -> Conversion | None:
        """Write the target, whole or not at all; None after an error. Raises OSError."""
        return pipeline.write(self.checked, self.target, self.form, report, self.options, watch)

    def steps(self, report: Report) -> Iterator[Step] | None:
        """Return the data steps of `write` by part; None after an error. Nothing is written."""
        return pipeline.steps(self.checked, self.target, self.form, report, self.options)

    def blocks(self, report: Report) -> Iterator[bytes] | None:
        """Return the output of `write` for a terminal; None after an error."""
        return pipeline.blocks(self.checked, self.form, report, self.options)


def prepare(request: ConvertRequest, report: Report) -> ReadyConversion | None:
    """Read the source and select the requested part; None after an error. Raises OSError."""
    form = endpoints.target_format(request.target, request.form, report)
    if form is None or report.errors:
        return None
    checked = request.source.read(report)
    if checked is not None and not report.errors:
        checked = pipeline.select(checked, request.subset, report)
    if checked is None or report.errors:
        return None
    if request.fixed:
        from nczarr.select.subset import fixed

        checked = fixed(checked)
    part = part_in_words(request.subset, fixed=request.fixed)
    options = request.options._replace(
        part=part,
        chunks=whole_lengths(request.options.chunks, checked),
        source=request.source.name if request.source.portable else None,
    )
    return ReadyConversion(checked, request.target, form, options)


def convert(request: ConvertRequest, report: Report, watch: Watcher | None = None) -> Conversion | None:
    """Convert a dataset; return what was written, None after an error. Raises OSError."""
    ready = prepare(request, report)
    return None if ready is None else ready.write(report, watch)


def whole_lengths(chunks: Mapping[str, tuple[int, ...]], checked: Checked) -> Mapping[str, tuple[int, ...]]:
    """Return the chunk lengths with `WHOLE` replaced by the longest dimension of that name."""
    lengths_by_name = dict(chunks)
    for name, lengths in chunks.items():
        if lengths == (WHOLE,):
            sizes = [node.size for fqn, node in checked.dimensions.items() if name in (fqn, names.last(fqn))]
            lengths_by_name[name] = (max([1, *sizes]),)
    return lengths_by_name
