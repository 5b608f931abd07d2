"""Targets in their places: whether there is room for one, and single files that appear whole or not at all.

Stores are made by `link`; here are the files of libraries, and texts.
"""

from __future__ import annotations

import errno
import math
import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, TypeAlias

from nczarr import registry
from nczarr.arrays.counts import Counts, Step
from nczarr.arrays.parts import is_fixed, size
from nczarr.capabilities import Format
from nczarr.check.checked import Checked
from nczarr.diagnostics.report import Report
from nczarr.options import Following, Options, Writing
from nczarr.plan.planned import Planned
from nczarr.secrets import shown
from nczarr.stores.url import Location, is_remote, location, untidy

if TYPE_CHECKING:
    from nczarr.stores.probe import Obstacle

Inspect: TypeAlias = Callable[[Planned, str], None]
"""Looks at a finished target, at a place that nobody else knows, and reports what is wrong with it."""


def unmet_mode(place: Location, form: Format) -> str | None:
    """What of a target's URL, its modes above all, cannot be kept, and why; None if all can."""
    if place.service:
        return "a server of CDM Remote gives datasets, and takes none"
    if place.remote and (fault := untidy(place.path)):
        return fault
    if place.modes and not form.emit:
        return f"modes are for stores, and format `{form.name}` is a file"
    if "s3" in place.modes and not place.path.lower().startswith("s3://"):
        return "the mode `s3` is for buckets, and this is a path"
    if "file" in place.modes and place.remote:
        return "the mode `file` is for folders, and this is no path"
    if "noxarray" in place.modes and form.name != "nczarr":
        return (
            f"with the mode `noxarray` format `{form.name}` would have no names of dimensions; `nczarr` has them twice"
        )
    archive = place.path.lower().endswith(".zip")
    if "zip" in place.modes and not archive:
        return "with the mode `zip` the name of an archive ends in `.zip`"
    return (
        "with the mode `file` the name of a folder does not end in `.zip`"
        if "file" in place.modes and archive
        else None
    )


def referring(form: Format, writing: Writing, report: Report) -> Format:
    """The format that writes references, with documents of the format that is asked for."""
    inner = registry.named(writing.metadata)
    assert inner is not None
    capabilities = inner.capabilities
    assert capabilities.arrays is not None
    arrays = capabilities.arrays._replace(by_reference=True, shards=False)
    return inner._replace(name=form.name, capabilities=capabilities._replace(arrays=arrays), begins=form.begins)


def following(path: str, planned: Planned) -> Following:
    """How the references of a finished target are followed at the place where it was made: wherever they lead, since
    only the run itself has named anything.
    """
    from nczarr.stores.reference_policy import PROTOCOLS

    base = path.rpartition("/")[0] if is_remote(path) else os.path.dirname(os.path.abspath(path))
    known = ("file://", *(f"{protocol}://" for protocol in sorted(PROTOCOLS)))
    return Following(base=base, roots=(*known, *planned.options.following.roots))


def _is_store(path: str, form: Format) -> bool:
    """Whether a target is keys below a path or URL, not one file."""
    if form.inner:
        return path.rstrip("/").lower().endswith(form.suffixes[1:])
    return bool(form.emit)


def is_free(path: str, form: Format, report: Report, options: Options) -> bool:
    """Whether a target can be made at a place; what stands in its way is reported. Raises OSError."""
    from nczarr.stores.existing_target import obstacle

    if is_remote(path):
        from nczarr.stores.connection import MissingProtocolError

        try:
            return _is_free_there(path, form, report, options)
        except MissingProtocolError as absent:
            report.error("missing-library", f"`{shown(path)}`: {absent}", helps=[absent.remedy])
            return False
    if os.path.lexists(path):
        problem = obstacle(path, store=_is_store(path, form)) if options.overwrite else "exists"
        helps = ["choose another name, or remove it yourself"] if options.overwrite else ["`--overwrite` replaces it"]
        if problem is not None:
            report.error("target-exists", f"`{path}` {problem}", helps=helps)
        return problem is None
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):  # said here, because below the name would be that of the unfinished target
        error = errno.ENOTDIR if os.path.lexists(folder) else errno.ENOENT
        raise OSError(error, os.strerror(error), folder)
    return True


def is_finished(path: str, form: Format, options: Options) -> bool:
    """Whether something stands at the place of a target that is no unfinished store. Raises OSError, BadURLError."""
    place = location(path)
    if not place.remote:
        return os.path.lexists(place.path)
    found = _obstacle(place.path, form, options._replace(storage=options.storage.at("target", place.server)))
    return found is not None and not found.unfinished


def _obstacle(url: str, form: Format, options: Options) -> Obstacle | None:
    """What stands at a URL where a target is to be: a store, or one file. Raises OSError."""
    from nczarr.stores.probe import obstacle

    store = _is_store(url, form) and not url.lower().endswith(".zip")
    return obstacle(url, options.storage.of("target"), store=store)


def _is_free_there(url: str, form: Format, report: Report, options: Options) -> bool:
    """Whether a target can be made at a URL. Raises OSError."""
    found = _obstacle(url, form, options)
    if found is None:
        return True
    allowed = (options.overwrite and found.replaceable) or (options.resume and found.unfinished)
    if not allowed:
        helps = ["choose another place, or remove it yourself"]
        if found.unfinished:
            helps = ["`--resume` goes on with it, `--overwrite` begins anew"]
        elif found.replaceable:
            helps = ["`--overwrite` replaces it"]
        report.error("target-exists", f"`{shown(url)}` {found.words}", helps=helps)
    return allowed


def build(
    checked: Checked,
    path: str,
    form: Format,
    report: Report,
    options: Options,
    counts: Counts,
    inspect: Inspect | None,
) -> Planned | None:
    """Make a file with a library; returns the plan, None if an error stands in the report. Raises OSError."""
    from nczarr.plan.planner import plan
    from nczarr.stores.single import beside

    planned = plan(checked, form, options, report)
    if planned is None or report.errors or form.build is None:
        return None
    with beside(path, options.storage.of("target")) as unfinished:
        place = os.path.abspath(unfinished.path)  # a relative one may look like a URL to a library: `file://t.nc`
        try:
            done: bool = registry.load(form.build)(planned, place, report, counts)
        except OSError as error:
            if error.filename is None:  # libraries say why, not where
                error.filename = path
            raise
        if done and inspect is not None:
            inspect(planned, place)
        if not done or report.errors:
            unfinished.discard()
    return planned if done and not report.errors else None


def write_text(
    checked: Checked, path: str, form: Format, report: Report, options: Options, inspect: Inspect | None
) -> Planned | None:
    """Make a text, or a file from front to back; None if an error stands in the report. Raises OSError."""
    from nczarr.stores.single import beside

    planned = planned_text(checked, form, report, options)
    if planned is None:
        return None
    with beside(path, options.storage.of("target")) as unfinished:
        with open(unfinished.path, "xb") as file:
            file.writelines(pieces(planned, report))
        if inspect is not None:
            inspect(planned, unfinished.path)
        if report.errors:
            unfinished.discard()
    return None if report.errors else planned


def planned_text(checked: Checked, form: Format, report: Report, options: Options) -> Planned | None:
    """The plan for a text or single file, its own losses found; None if an error stands in the report."""
    from nczarr.plan.planner import plan

    found = registry.load(form.losses)(checked, options) if form.losses else ()
    planned = plan(checked, form, options, report, found)
    return planned if not report.errors else None


def pieces(planned: Planned, report: Report) -> Iterator[bytes]:
    """The bytes of a text or single file, piece by piece."""
    assert planned.form.write is not None
    made: Iterator[bytes] = registry.load(planned.form.write)(planned, report, planned.options)
    return made


def encodings(planned: Planned) -> Iterator[Step]:
    """The steps of a target whose values are all written anew."""
    checked = planned.checked
    for path, parts in checked.parts.items():
        shape = checked.shapes[path]
        fixed = is_fixed(checked.variables[path].type, checked.types)
        width = size(checked.variables[path].type, checked.types) if fixed else 0
        if parts and planned.form.capabilities.data:
            yield Step(path, "", "encode", 1, shape, math.prod(shape) * width)
