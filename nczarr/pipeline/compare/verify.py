"""Verification of a target: it is read again, and its values are compared with the source's."""

from collections.abc import Callable
from typing import TypeAlias

from nczarr.diagnostics.report import UNREAD, Report
from nczarr.names.plugin_index import list_own
from nczarr.options import Options
from nczarr.pipeline.compare.values import alike, values
from nczarr.plan.plans import Conversion, Plan
from nczarr.semantics.checked import Checked

Reader: TypeAlias = Callable[[str, Report, Options, str | None], Checked | None]
"""Function that reads the dataset at a path or URL, in a named format."""


def _reading(options: Options) -> Options:
    """Return the options for reading the target at the place where it was written."""
    storage = options.run.storage.of("target")
    return Options.of(
        allow_loss=UNREAD,
        unfinished=True,
        survey=True,
        storage=storage,
        memory=options.run.memory,
        following=options.reading.following,
        aggregation=options.reading.aggregation,
    )


def verify(
    checked: Checked,
    done: Conversion,
    place: str,
    read: Reader,
    options: Options,
    report: Report,
    *,
    data: bool = True,
    plan: Plan | None = None,
) -> tuple[str, ...]:
    """Report source variables that are missing or unequal in the finished target at `place`: unequal-target.

    Without `data` values are not compared. `read`: reader of datasets. Skipped
    are variables with accepted value losses, and quantized ones. With a `plan` the
    library of the target's format reads it too, if installed. Returns the names of
    the readers. Raises OSError if the target is unreadable.
    """
    from nczarr import registry

    form = registry.find_format(done.format)
    if form is None or not form.readable:
        return ()
    reading = Report()
    again = read(place, reading, _reading(options), done.format)
    if again is None or reading.errors:
        first = next(iter(reading.list_sorted()), None)
        report.error("unequal-target", f"`{done.target}` cannot be read" + (f": {first.message}" if first else ""))
        return ()
    lossy = {loss.path for loss in done.losses if loss.weight == "value"}
    for path, variable in checked.variables.items():
        if path in lossy or lossy.intersection(map(str, variable.dimensions)) or variable.storage.quantize is not None:
            continue
        if path not in again.variables:
            if options.run.accepts("format-conflict"):  # a kind of file that has no such type or group
                continue
            report.error("unequal-target", f"`{done.target}` has no variable `{path}`", variable.span)
        elif checked.shapes[path] != again.shapes[path]:
            shapes = f"{again.shapes[path]}, not {checked.shapes[path]}"
            report.error("unequal-target", f"`{path}` has the shape {shapes} in `{done.target}`", variable.span)
        elif data and alike(checked, again, path):
            difference = values(checked, again, path)
            if difference is not None:
                text = f"`{path}` is not equal in `{done.target}`: {difference.message}"
                report.error("unequal-target", text, variable.span)
    if plan is None or not data or report.errors:
        return ("nczarr",)
    second = list_own("verification").get("verify")
    other = None if second is None else registry.load(second)(plan, frozenset(lossy), place, again, report)
    return ("nczarr",) if other is None else ("nczarr", other)
