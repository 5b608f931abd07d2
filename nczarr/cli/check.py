"""`nczarr check SRC…`: report errors of datasets."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from nczarr.cli import FAULTY
from nczarr.cli.inputs import read_input, standard_input
from nczarr.cli.parser import ARGUMENTS, TARGET, Command, command, following_of, kind, storage_of
from nczarr.cli.shared import Messages
from nczarr.options import Options

if TYPE_CHECKING:
    from nczarr.check.checked import Checked
    from nczarr.diagnostics.report import Report
    from nczarr.operations.readers.rule import Peer
    from nczarr.registry import Format

EXAMPLES = (
    ("show every mistake in a schema", "check ocean.cdl"),
    ("ask whether the netCDF library and xarray can read a store", "check ocean.zarr --for netcdf-c --for xarray"),
)


def parser() -> Command:
    """Return the parser of `check`."""
    subparser = command(
        "check",
        "[OPTION]… SRC…",
        "Print the diagnostics of datasets. The exit status is 1 if a source has an error or if a reader named by "
        "--for would fail.",
        EXAMPLES,
        form=True,
    )
    subparser.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL to check; - is standard input"
    )
    subparser.option(
        TARGET, "-k", "--kind", type=kind, metavar="KIND", help="check the limits of this kind of netCDF file as well"
    )
    subparser.option(
        TARGET,
        "--for",
        dest="readers",
        type=reader,
        action="append",
        default=[],
        metavar="READER",
        help="report what a reader would do wrong (netcdf-c, zarr-python, xarray, or a release such as "
        "zarr-python@3.1), what is missing of a convention (nz), or what a format would lose; repeatable",
    )
    subparser.option(
        TARGET, "--schema", metavar="SRC", help="report deviations from this schema: CDL, notation or any dataset"
    )
    return subparser


def reader(text: str) -> Peer | Format:
    """Return the name of a reader or writable format. Raises ArgumentTypeError for others."""
    from nczarr import registry
    from nczarr.names import closest
    from nczarr.operations import readers as peers

    form = registry.named(text)
    try:
        peer = peers.named(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None
    peer_or_format = peer or (form if form is not None and form.writable else None)
    if peer_or_format is not None:
        return peer_or_format
    names_of_readers = [*peers.ROWS, *(form.name for form in registry.formats() if form.writable)]
    meant = closest(text, names_of_readers)
    hint = f"did you mean {meant!r}?" if meant else f"known names: {', '.join(names_of_readers)}"
    raise argparse.ArgumentTypeError(f"{text!r} is not a reader or a format that can be written; {hint}")


def run(arguments: argparse.Namespace) -> int:
    """Check each source; return the worst status, 1 if a reader is known to fail."""
    messages = Messages(arguments)
    options = Options(kind=arguments.kind, storage=storage_of(arguments), following=following_of(arguments))
    schemas: list[Checked | None] = []
    faults = 0

    def schema() -> Checked | None:
        if not schemas:
            schemas.append(read_input(arguments.schema, messages.report, options._replace(kind=None)))
        return schemas[0]

    def check(path: str) -> None:
        nonlocal faults
        work = _Checks(
            messages.report, options, arguments.form, arguments.readers, schema if arguments.schema else None
        )
        faults += work.check(path)

    status = messages.guard(*(partial(check, path) for path in arguments.sources))
    return max(status, FAULTY) if faults else status


class _Checks(NamedTuple):
    """Checks of one command line."""

    report: Report
    """Collected diagnostics."""
    options: Options
    """Options of the run."""
    name: str | None
    """Format of the sources, named by `--from`."""
    readers: list[Peer | Format]
    """Readers named by `--for`."""
    schema: Callable[[], Checked | None] | None
    """Reads the schema named by `--schema`."""

    def check(self, path: str) -> int:
        """Check one source and return the number of reader faults.

        If only readers are asked for, the rules see the documents alone,
        whatever our own reader says.
        """
        from nczarr.check.chunk_advice import advise
        from nczarr.operations import pipeline, sources
        from nczarr.operations import readers as peers
        from nczarr.operations.readers.rule import Peer

        asked = [peer_or_format for peer_or_format in self.readers if isinstance(peer_or_format, Peer)]
        faults = 0
        text = standard_input() if path == "-" else None
        source = sources.opened(path, self.report, self.options) if asked and text is None else text
        form = None
        if self.name and source is not None:
            form = sources.source_format(source, self.name, self.report)
            if form is None:
                return 0
        undeclared: list[Peer] = []
        if asked and source is not None:
            source = sources.revision(source, self.report, self.options)
        if asked and source is not None:
            for peer in asked:
                if peer.convention and not peers.suits(peer, source):
                    undeclared.append(peer)
                else:
                    faults += peers.check(peer, source, self.report)
        only_asked = bool(asked) and len(asked) == len(self.readers) and not undeclared
        if only_asked and self.options.kind is None and self.schema is None:
            return faults
        before = self.report.errors
        if text is not None:
            checked = pipeline.read(text, self.report, self.options, form)
        else:
            checked = read_input(path, self.report, self.options, self.name)
        if checked is not None:
            faults += sum(self._declaration(checked, peer, path) for peer in undeclared)
        if checked is not None and self.report.errors == before:
            advise(checked, self.report)
            self._rehearse(checked)
        return faults

    def _declaration(self, checked: Checked, peer: Peer, path: str) -> int:
        """Report what keeps a source of another format from declaring a convention; return the number of reports."""
        from nczarr import registry
        from nczarr.diagnostics.report import Report
        from nczarr.operations import pipeline

        name = registry.having("declares")[0]
        form = registry.named(name)
        assert form is not None
        helps = [f"convert it: `--to {name} --declare {peer.convention}`"]
        before = len(self.report.sorted())
        self.report.error("undeclared-convention", f"`{path}` is not a store of {form.title}", helps=helps)
        tried = Report()
        options = self.options._replace(declare=peer.convention, allow_loss=frozenset({"all"}), kind=None)
        pipeline.plan(checked, form, tried, options)
        for diagnostic in tried.sorted():
            if diagnostic.code in ("undeclarable-convention", "disputed-fill-value"):
                self.report.add(diagnostic)
        return len(self.report.sorted()) - before

    def _rehearse(self, checked: Checked) -> None:
        """Report the losses of targets, and deviations from the schema."""
        from nczarr import registry
        from nczarr.operations import pipeline
        from nczarr.operations.readers.rule import Peer

        file = registry.named(registry.FILE) if self.options.kind is not None else None
        for form in (*self.readers, *([file] if file else [])):
            if not isinstance(form, Peer):
                pipeline.plan(checked, form, self.report, self.options)
        schema = self.schema() if self.schema is not None else None
        if schema is not None:
            from nczarr.operations.compare.schema import follow

            follow(checked, schema, self.report)
