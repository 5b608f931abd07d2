"""Target of a combination: whether it can be made, and whether it may be one more source instead."""

import os
from collections.abc import Collection, Mapping, Sequence

from nczarr import names
from nczarr.diagnostics.report import CompileError, Report
from nczarr.diagnostics.secrets import show
from nczarr.options import Options
from nczarr.pipeline import endpoints, phases
from nczarr.registry import Format
from nczarr.stores import local_paths
from nczarr.stores.url import is_remote

FORGOTTEN = "the last argument is the target: is it missing? `-o` names a target that is no source"


def is_open(
    target: str, form: Format, options: Options, report: Report, sources: Sequence[str], *, unnamed: bool
) -> bool:
    """Return whether a target is to be made and can be. Reports finished-target, target-exists. Raises OSError.

    `unnamed`: no option names the target.
    """
    if options.run.resume and not options.target.overwrite:
        from nczarr.plugins.combine.join.journal import is_finished

        if is_finished(target):
            report.warning("finished-target", f"`{show(target)}` already exists, made by an earlier run")
            return False
    if is_remote(target):
        return True
    is_alike = unnamed and _suffix(target) in map(_suffix, sources)
    if is_alike and not options.target.overwrite and os.path.lexists(target):
        report.error("target-exists", f"`{show(target)}` exists, and may be one more source", helps=[FORGOTTEN])
        return False
    place = endpoints.locate(target, report)
    return place is not None and endpoints.is_free(place, form, report, options, sources)


def _suffix(path: str) -> str:
    return local_paths.name_of(path.rstrip("/")).rpartition(".")[2].lower()


def is_source(
    target: str,
    options: Options,
    variables: Collection[str],
    lengths: Mapping[str, Sequence[int]],
    new: str | None,
    report: Report,
) -> bool:
    """Return whether a target that is to be replaced looks like a source. Reports target-exists.

    It then has all variables, and is no longer than one of the sources: an earlier result is longer.
    `lengths`: of each joined dimension in every source; `new`: the new dimension.
    """
    reading = Options.of(storage=options.run.storage.of("target"), following=options.reading.following)
    try:
        old = phases.read_path(target, Report(), reading)
    except (OSError, CompileError):  # nothing is there, or no dataset
        return False
    if old is None or not old.variables.keys() >= set(variables):
        return False
    longest = {path: max(several) for path, several in lengths.items() if path in old.dimensions}
    if any(old.dimensions[path].size > length for path, length in longest.items()):
        return False
    if new is not None and names.join("/", new) in old.dimensions:
        return False
    text = f"`{show(target)}` has the variables of the sources and is as short as one: it is not replaced"
    report.error("target-exists", text, helps=[FORGOTTEN, f"if it is not: remove `{show(target)}` first"])
    return True
