"""Options of `check --data`, and the run in place of that of the command."""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING

from nczarr.cli.progress import progress
from nczarr.sdk import RUN, UNREAD, Messages, Option, RunWrapper, Severity, misuse, options_of, read_input, show

if TYPE_CHECKING:
    from nczarr.plugins.damage.data_check import DataSummary

OPTIONS = (
    Option(
        "sample",
        section=RUN,
        flags="--sample",
        takes="text",
        metavar="N%",
        help="with --data, read this part of the chunks of each array, such as 5%%: the same ones in each run",
    ),
)

SELECTING = ("variables", "excluded", "groups", "dimensions", "labels", "sections")


def run(arguments: argparse.Namespace, call: Callable[[argparse.Namespace], int], words: Sequence[str]) -> int:
    """Check the data of each source, if that is asked for; return the worst status."""
    has_part = any(getattr(arguments, f"subset.{name}") for name in SELECTING) or arguments.sample is not None
    if not arguments.data or getattr(arguments, "schema", None) is not None:
        return (
            misuse("check", "a selection and --sample belong to --data without --schema")
            if has_part
            else call(arguments)
        )
    return _run(arguments)


def _run(arguments: argparse.Namespace) -> int:
    """Run `check --data` instead of the other checks; return the exit status."""
    from nczarr.names.plugin_index import list_own
    from nczarr.pipeline.code_filter import CodeFilter, find_settings

    others = ("readers", "kind", *(name for kind in ("convention", "comparison") for name in list_own(kind)))
    if any(getattr(arguments, name, None) not in (None, [], False) for name in others):
        return misuse("check", "--data reads values: make other checks in a run of their own")
    if not arguments.sources:
        return misuse("check", "the following arguments are required: SRC")
    try:
        share = None if arguments.sample is None else parse_share(arguments.sample)
        settings = find_settings()
    except (ValueError, OSError) as fault:
        return misuse("check", str(fault))
    codes = CodeFilter(tuple(arguments.select or settings.select), (*settings.ignore, *(arguments.ignore or ())))
    messages, done = Messages(arguments), list["DataSummary"]()

    def check(path: str) -> None:
        messages.report.hides = codes.hides
        try:
            _check(path, share, arguments, messages, done)
        finally:
            if len(arguments.sources) > 1:
                messages.report.annotate(f"of `{show(path)}`")

    status = messages.guard(*(partial(check, path) for path in arguments.sources))
    for summary in done:
        messages.result(summary.words, summary)
    return status


def parse_share(text: str) -> float:
    """Return the part that a percentage names. Raises ValueError for other texts."""
    parts = re.fullmatch(r"(\d+(?:\.\d+)?)%?", text, re.ASCII)
    if parts is None or not 0 < float(parts[1]) <= 100:
        raise ValueError(f"--sample: `{text}` is not a percentage above 0, up to 100")
    return float(parts[1]) / 100


def _check(
    path: str, share: float | None, arguments: argparse.Namespace, messages: Messages, done: list[DataSummary]
) -> None:
    """Check one source. Raises OSError, CompileError."""
    from nczarr.cli.options import subset_of
    from nczarr.plugins.damage.data_check import DataRequest, check_data, is_archive

    report = messages.report
    options = options_of(arguments, survey=True, inspect=True, aggregation="expand")
    subset = subset_of(arguments, report)
    checked = read_input(path, report, options.change(allow_loss=UNREAD, verify=True), arguments.form)
    for loss in [loss for loss in report.losses if loss.code in UNREAD]:  # the rest was read: it is checked
        report.retract(loss)
        report.add(loss._replace(severity=Severity.ERROR))
    if checked is None or subset is None:
        return
    with progress(arguments, show(path), checked) as watch:
        request = DataRequest(subset, share, is_archive(path), options.run, watch)
        summary = check_data(checked, request, show(path), report)
    if summary is not None:
        done.append(summary)


WRAPPER = RunWrapper(OPTIONS, run)
