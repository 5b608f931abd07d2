"""Check of a dataset: its own errors, faults of other readers, losses of targets, deviations from a schema."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import NamedTuple

from nczarr import registry
from nczarr.arrays.values.parts import is_fixed, size
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.names import closest
from nczarr.operations import pipeline, readers, sources
from nczarr.operations.readers.rule import Peer
from nczarr.options import Options
from nczarr.registry import Format

MANY = 256
"""Least number of chunks of a variable that is reported."""

TINY = 4096
"""Bytes of a decoded chunk below which reading it costs more than its values."""

GOOD = 1 << 20
"""Bytes of the chunks that the remedy proposes."""


def advise(checked: Checked, report: Report) -> None:
    """Report tiny-chunks for each variable with many chunks of few bytes."""
    for path, number, chunks, proposed in _tiny(checked):
        shape = " × ".join(map(str, chunks))
        lengths = ",".join(map(str, proposed))
        report.warning(
            "tiny-chunks",
            f"`{path}` has {number:,} chunks of {shape}: reading them takes longer than their values need",
            checked.variables[path].span,
            helps=[f"write longer chunks: `nczarr convert SRC DST --chunks {path}={lengths}`"],
        )


def _tiny(checked: Checked) -> Iterator[tuple[str, int, tuple[int, ...], tuple[int, ...]]]:
    """Yield path, number and lengths of chunks of variables that have tiny ones, and better lengths."""
    for path, variable in checked.variables.items():
        chunks, shape = variable.storage.chunks, checked.shapes[path]
        if not chunks or not is_fixed(variable.type, checked.types):
            continue
        item = max(1, size(variable.type, checked.types))
        number = math.prod(-(-length // chunk) for length, chunk in zip(shape, chunks, strict=True))
        if number >= MANY and math.prod(chunks) * item < TINY:
            yield path, number, chunks, _longer(shape, chunks, item)


def _longer(shape: tuple[int, ...], chunks: tuple[int, ...], item: int) -> tuple[int, ...]:
    """Return chunk lengths of about `GOOD` bytes: the last dimensions grow first, as values lie in a chunk."""
    lengths = list(chunks)
    for axis in reversed(range(len(shape))):
        others = math.prod(lengths) // lengths[axis] * item
        lengths[axis] = max(lengths[axis], min(shape[axis], GOOD // others))
    return tuple(lengths)


class CheckRequest(NamedTuple):
    """Request for a check."""

    path: str
    """Path or URL of the dataset."""
    content: Source | None = None
    """Content of the dataset; None: that of the path."""
    form: str | None = None
    """Name of its format; None: found by its content."""
    judges: tuple[Peer | Format, ...] = ()
    """Other readers and conventions, whose faults are reported, and target formats, whose losses are."""
    schema: Callable[[Report], Checked | None] | None = None
    """Reader of the schema from which deviations are reported."""
    options: Options = Options()
    """Options of the run; `kind` is a kind of netCDF file whose limits are checked."""


def judge(name: str) -> Peer | Format:
    """Return the reader, convention or target format with a name. Raises ValueError for an unknown one."""
    form, peer = registry.named(name), readers.named(name)
    if peer is not None:
        return peer
    if form is not None and form.writable:
        return form
    every_name = [*readers.ROWS, *(row.name for row in registry.formats() if row.writable)]
    meant = closest(name, every_name)
    hint = f"did you mean {meant!r}?" if meant else f"known names: {', '.join(every_name)}"
    raise ValueError(f"{name!r} is not a reader or a format that can be written; {hint}")


def check(request: CheckRequest, report: Report) -> int:
    """Report the diagnostics of a dataset; return the number of faults of other readers. Raises OSError.

    If only readers are asked for, the rules see the documents alone, whatever our
    own reader says.
    """
    options = request.options
    peers = [peer for peer in request.judges if isinstance(peer, Peer)]
    source = request.content
    if source is None and peers:
        opened = sources.opened(request.path, report, options)
    else:
        opened = source
    form = None
    if request.form and opened is not None:
        form = sources.source_format(opened, request.form, report)
        if form is None:
            return 0
    revision = sources.revision(opened, report, options) if peers and opened is not None else None
    undeclared = [
        peer for peer in peers if revision is not None and peer.convention and not readers.suits(peer, revision)
    ]
    faults = 0
    for peer in peers:
        if revision is not None and peer not in undeclared:
            faults += readers.check(peer, revision, report)
    if peers and len(peers) == len(request.judges) and not undeclared and options.kind is None and not request.schema:
        return faults
    before = report.errors
    if source is not None:
        checked = pipeline.read(source, report, options, form)
    else:
        checked = pipeline.read_path(request.path, report, options, request.form)
    if checked is None:
        return faults
    faults += sum(_undeclared(checked, peer, request, report) for peer in undeclared)
    if report.errors == before:
        advise(checked, report)
        _rehearse(checked, request, report)
    return faults


def _undeclared(checked: Checked, peer: Peer, request: CheckRequest, report: Report) -> int:
    """Report what keeps a source of another format from declaring a convention; return the number of reports."""
    name = registry.having("declares")[0]
    form = registry.named(name)
    assert form is not None
    helps = [f"convert it: `--to {name} --declare {peer.convention}`"]
    before = len(report.sorted())
    report.error("undeclared-convention", f"`{request.path}` is not a store of {form.title}", helps=helps)
    tried = Report()
    options = request.options._replace(declare=peer.convention, allow_loss=frozenset({"all"}), kind=None)
    pipeline.plan(checked, form, tried, options)
    for diagnostic in tried.sorted():
        if diagnostic.code in ("undeclarable-convention", "disputed-fill-value"):
            report.add(diagnostic)
    return len(report.sorted()) - before


def _rehearse(checked: Checked, request: CheckRequest, report: Report) -> None:
    """Report the losses of targets, and deviations from the schema."""
    formats = [form for form in request.judges if not isinstance(form, Peer)]
    if request.options.kind is not None:
        file = registry.named(registry.FILE)
        assert file is not None
        formats.append(file)
    for form in formats:
        pipeline.plan(checked, form, report, request.options)
    schema = None if request.schema is None else request.schema(report)
    if schema is not None:
        from nczarr.operations.compare.schema import follow

        follow(checked, schema, report)
