"""`nczarr check SRC…`: report errors of datasets."""

from __future__ import annotations

import argparse
import re
from functools import partial
from typing import TYPE_CHECKING, Any

from nczarr.cli import FAULTY, misuse
from nczarr.cli.options import inputs_of, options_of, standard_input
from nczarr.cli.parser import Command
from nczarr.cli.progress import counting
from nczarr.cli.shared import Messages
from nczarr.diagnostics.secrets import show
from nczarr.names.plugin_index import list_own
from nczarr.options import ARGUMENTS, TARGET, Option, Options
from nczarr.registry import load, load_addition

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.pipeline.check_request import Convention, SourceComparison
    from nczarr.semantics.checked import Checked

EXAMPLES = (
    ("show every mistake in a schema", "check ocean.cdl"),
    ("ask whether the netCDF library and xarray can read a store", "check ocean.zarr --for netcdf-c --for xarray"),
)

OPTIONS = (
    Option("kind", section=TARGET, flags="-k --kind", takes="kind", metavar="KIND",
           help="check the limits of this kind of netCDF file as well"),
    Option("data", section=TARGET, flags="--data", common=True,
           help="read and decode every chunk, and report damaged ones and values that attributes exclude; with "
           "--schema, judge values by its rules instead"),
)  # fmt: skip
"""Options of this command."""


def parser() -> Command:
    """Return the parser of `check`."""
    subparser = Command(
        "check",
        "[OPTION]… SRC…",
        "Print the diagnostics of datasets. The exit status is 1 if a source has an error or if a reader named by "
        "--for would fail.",
        EXAMPLES,
    )
    subparser.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="*", help="file, store or URL to check; - is standard input"
    )
    subparser.option(
        TARGET,
        "--for",
        dest="readers",
        type=partial(convert_by, "nczarr.pipeline.check:find_judge"),
        action="append",
        default=[],
        metavar="READER",
        help="report what a reader would do wrong (netcdf-c, zarr-python, xarray, tensorstore, zarrs, "
        "xarray-tensorstore, gdal, or a release such as "
        "zarr-python@3.1), what is missing of a convention (nz, geo), or what a format would lose; repeatable",
    )
    for place in list_own("schema_check").values():
        for row in load(place).options:
            subparser.add(row)
    for comparison in _list_comparisons():
        for row in comparison.options:
            subparser.add(row)
    for name, place in list_own("convention").items():
        convention = load(place)
        action = partial(ConventionVersion, convention)
        subparser.option(TARGET, f"--{name}", nargs="?", action=action, metavar="VERSION", help=convention.help)
    for flag, what in (("--select", "report only these diagnostics"), ("--ignore", "do not report these diagnostics")):
        subparser.option(
            TARGET,
            flag,
            type=partial(convert_by, "nczarr.pipeline.code_filter:check_code"),
            action="append",
            metavar="CODE",
            help=f"{what}: a code, or first words of codes such as `cf`; repeatable",
        )
    return subparser.complete(own=OPTIONS)


class ConventionVersion(argparse.Action):
    """Option with a version of a convention. Another word behind it is the first source."""

    def __init__(self, convention: Convention, **settings: Any) -> None:
        super().__init__(**settings)
        self._convention = convention

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, value: Any, *_: object) -> None:
        """Store the version; empty: the one that each dataset declares."""
        setattr(namespace, self.dest, "")
        if value is None:
            return
        if not re.fullmatch(self._convention.version, value):
            namespace.first_sources = [*getattr(namespace, "first_sources", []), value]
            return
        try:
            setattr(namespace, self.dest, self._convention.parse(value))
        except ValueError as fault:
            raise argparse.ArgumentError(self, str(fault)) from None


def convert_by(place: str, text: str) -> Any:
    """Return what the function at `module:name` makes of an argument. Raises ArgumentTypeError for its ValueError."""
    try:
        return load(place)(text)
    except ValueError as fault:
        raise argparse.ArgumentTypeError(str(fault)) from None


def run(arguments: argparse.Namespace) -> int:
    """Check each source; return the worst status, 1 if a reader is known to fail."""
    from nczarr.pipeline.code_filter import CodeFilter, find_settings

    try:
        comparison = _find_comparison(arguments)
    except ValueError as fault:
        return misuse("check", str(fault))
    asked = {name: getattr(arguments, name) for name in list_own("convention") if getattr(arguments, name) is not None}
    asked_schema, values = getattr(arguments, "schema", None), getattr(arguments, "data", False)
    if values and asked_schema is None:
        return misuse("check", "--data belongs to --schema")
    if comparison is not None and (arguments.readers or asked_schema or asked):
        text = f"{comparison.options[0].flags} compares sources with each other: check each of them in a run of its own"
        return misuse("check", text)
    sources = [*getattr(arguments, "first_sources", []), *arguments.sources]
    if not sources:
        return misuse("check", "the following arguments are required: SRC")
    try:
        settings = find_settings()
    except (ValueError, OSError) as fault:
        return misuse("check", str(fault))
    codes = CodeFilter(tuple(arguments.select or settings.select), (*settings.ignore, *(arguments.ignore or ())))
    conventions = {**settings.conventions, **asked}
    messages = Messages(arguments)
    options = options_of(arguments)
    if comparison is not None:
        messages.report.hides = codes.hides
        return messages.guard(lambda: _compare_sources(comparison, sources, arguments, options, messages))
    schemas: list[Checked | None] = []
    once = [code for name in conventions for code in load(list_own("convention")[name]).once]
    faults = 0

    def schema(report: Report) -> Checked | None:
        if not schemas:
            read = load_addition("schema_check", "schema").read
            schemas.append(read(str(asked_schema), report, options.change(kind=None)))
        return schemas[0]

    def check_one(path: str) -> None:
        """Check one dataset and count its faults; codes of `once` are reported for the first one only."""
        nonlocal faults, codes
        from nczarr.pipeline.check import check
        from nczarr.pipeline.check_request import CheckRequest

        request = CheckRequest(
            path,
            standard_input() if path == "-" else None,
            arguments.form,
            tuple(arguments.readers),
            schema if asked_schema else None,
            values,
            options,
            conventions,
            codes,
        )
        faults += check(request, messages.report)
        if len(sources) > 1:
            messages.report.annotate(f"of `{show(path)}`")
        codes = codes._replace(ignore=(*codes.ignore, *once))

    status = messages.guard(*(partial(check_one, path) for path in sources))
    return max(status, FAULTY) if faults else status


def _list_comparisons() -> list[SourceComparison]:
    """Return what plugins can compare of several sources."""
    return [load(place) for place in list_own("comparison").values()]


def _find_comparison(arguments: argparse.Namespace) -> SourceComparison | None:
    """Return the comparison that is asked for; None without any. Raises ValueError for options of another."""
    asked = None
    for comparison in _list_comparisons():
        flag, *others = comparison.options
        if getattr(arguments, flag.name):
            asked = comparison
            continue
        for row in others:
            if getattr(arguments, row.name):
                raise ValueError(f"{row.flags} belongs to {flag.flags}")
    return asked


def _compare_sources(
    comparison: SourceComparison,
    sources: list[str],
    arguments: argparse.Namespace,
    options: Options,
    messages: Messages,
) -> None:
    """Report what is wrong with the sources together. Raises OSError."""
    inputs = inputs_of(sources, options, arguments.form)
    values = {row.name: getattr(arguments, row.name) for row in comparison.options}
    with counting(arguments, "sources", len(inputs)) as step:
        fine = comparison.compare(inputs, values, messages.report, step)
    if fine is not None and not messages.report.list_sorted():
        messages.remark(fine)
