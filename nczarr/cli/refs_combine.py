"""`nczarr refs combine SRC…`: combine datasets into one."""

from __future__ import annotations

import argparse
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli.convert import summary
from nczarr.cli.inputs import read_input
from nczarr.cli.parser import ARGUMENTS, COMBINATION, TARGET, Command, add_verify, command
from nczarr.cli.progress import counting, progress
from nczarr.cli.shared import Messages
from nczarr.cli.streams import misuse, write_product
from nczarr.cli.subsets import add_subset_options, subset_of
from nczarr.cli.targets import add_target_options, options_of
from nczarr.diagnostics.report import Report
from nczarr.registry import REFERENCE
from nczarr.secrets import shown
from nczarr.stores.url import is_remote

if TYPE_CHECKING:
    from nczarr.check.checked import Checked
    from nczarr.options import Options
    from nczarr.plan.plans import Conversion

EXAMPLES = (
    (
        "join files along an existing dimension, by references",
        "refs combine day1.nc day2.nc -o all.json --along time",
    ),
    (
        "stack files along a new dimension, as a Zarr store",
        "refs combine run1.nc run2.nc -o runs.zarr --new-dim run",
    ),
)


def parser() -> Command:
    """Return the parser of `refs combine`."""
    made = command(
        "refs combine",
        "[OPTION]… SRC… [-o DST]",
        "Combine datasets into one: join them along a dimension that they have, or stack them along a new one. Sources "
        "are reference documents, files and stores of any format. The target is a reference document, which points to "
        "the chunks of the sources, or a store or file, which holds them.",
        EXAMPLES,
        form=True,
    )
    made.option(
        ARGUMENTS, "sources", metavar="SRC", nargs="+", help="file, store or URL, in order; - is standard input"
    )
    made.option(
        TARGET, "-o", dest="target", metavar="DST", help="target (default: a reference document on standard output)"
    )
    made.option(
        COMBINATION,
        "--along",
        action="append",
        default=[],
        metavar="NAME",
        help="join along this dimension; with --new-dim, a variable to stack even if it is equal in all sources; "
        "repeatable",
    )
    made.option(
        COMBINATION, "--new-dim", metavar="NAME", help="stack the variables that differ along this new dimension"
    )
    made.option(
        COMBINATION,
        "--decode-times",
        action="store_true",
        help="count the times of all sources in the `units` of the first: exactly, or the run ends",
    )
    made.option(
        COMBINATION,
        "--units",
        metavar="UNITS",
        help="count the times of all sources in these, `hours since 1970-01-01`",
    )
    add_target_options(made, to="format of the target (default: by its suffix, else reference)")
    add_subset_options(made, sections=False)
    add_verify(made)
    return made


def run(arguments: argparse.Namespace) -> int:
    """Combine; return the status."""
    if not arguments.along and arguments.new_dim is None:
        return misuse("refs combine", "name a dimension of the sources with --along, or a new one with --new-dim")
    try:
        options = options_of(arguments)._replace(verify=arguments.verify)
    except ValueError as error:
        return misuse("refs combine", str(error))
    messages = Messages(arguments)
    done: list[Conversion] = []
    status = messages.guard(lambda: _work(arguments, options, messages.report, done))
    if done:
        messages.remark(f"`{shown(done[0].target)}`: {len(arguments.sources)} sources, {summary(done)}")
    return status


def _work(arguments: argparse.Namespace, options: Options, report: Report, done: list[Conversion]) -> None:
    """Read, combine, write. Raises OSError, CompileError."""
    from nczarr import pipeline
    from nczarr.combine import Recoding, Wanted, combine
    from nczarr.combine.sources import home_of, opened
    from nczarr.endpoints import targets

    target = arguments.target
    subset = subset_of(arguments, report)
    form = targets.target_format(target or "", arguments.to or (None if target else REFERENCE), report)
    if subset is None or form is None:
        return
    if target is None and form.binary:
        report.error("unknown-target", f"format `{form.name}` is not a text format", helps=["name a file with `-o`"])
        return
    if target is not None and not is_remote(target) and not targets.is_free(target, form, report, options):
        return

    def read(path: str, own: Report) -> Checked | None:
        return read_input(path, own, options._replace(kind=None, survey=True), arguments.form)

    options = options._replace(writing=options.writing._replace(home=home_of(arguments.sources)))
    recoding = Recoding(arguments.units) if arguments.units is not None or arguments.decode_times else None
    embed = options.writing.embed if form.name == REFERENCE else None
    rectilinear = options.grid == "rectilinear"
    wanted = Wanted(tuple(arguments.along), arguments.new_dim, embed, recoding, rectilinear)
    sources = [(path, partial(read, path)) for path in arguments.sources]
    with counting(arguments, "sources", len(sources)) as step:
        checked = combine(opened(sources, subset, report, step), wanted, report)
    if checked is None or report.errors:
        return
    if target is None:
        write_product(pipeline.blocks(checked, form, report, options) or ())
        return
    with progress(arguments, target, checked) as watch:
        conversion = pipeline.write(checked, target, form, report, options, watch)
    if conversion is not None:
        done.append(conversion)
