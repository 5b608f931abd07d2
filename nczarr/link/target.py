"""Unfinished store for a plan: a folder or an archive, local or at a URL; new or resumed."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.diagnostics.report import Report
from nczarr.link.fingerprint import RESUMABLE, data_size, journal
from nczarr.plan.plans import StorePlan
from nczarr.stores.base import Store
from nczarr.stores.url import is_remote


class Begun(NamedTuple):
    """An unfinished store, and the path or URL where it is readable before it is finished."""

    store: Store
    place: str


def begun(path: str, plan: StorePlan) -> Begun:
    """Begin the store for a path or URL. Raises OSError, FileExistsError if the place is taken."""
    if plan.form.begins is not None:
        from nczarr.registry import load

        return Begun(*load(plan.form.begins)(path, plan, lambda: _folder(path, plan).store))
    return _archive(path, plan) if path.lower().endswith(".zip") else _folder(path, plan)


def has_room(path: str, plan: StorePlan, report: Report) -> bool:
    """Return whether local file names have room for the documents of all nodes. Reports unsafe-name."""
    if not plan.places or plan.form.begins is not None or path.lower().endswith(".zip") or is_remote(path):
        return True
    from nczarr.plan.key_paths import LONGEST_IN_FILES, long_segments

    before = report.errors
    for fqn, part, segment in long_segments(plan.places, LONGEST_IN_FILES):
        owner = plan.checked.variables.get(fqn) or plan.checked.groups[fqn]
        what = f"the part `{part}` of `{fqn}`" if part else f"the name of `{fqn}`"
        text = f"{what} takes {len(segment)} characters, and its document, a file, has room for {LONGEST_IN_FILES}"
        report.error("unsafe-name", text, owner.span, helps=["an archive (`.zip`) or a bucket takes it; or rename it"])
    return report.errors == before


def _folder(path: str, plan: StorePlan) -> Begun:
    """Begin a folder, or keys below a URL."""
    options = plan.options
    if is_remote(path):
        from nczarr.stores.remote_target import RemoteTarget

        storage = options.storage.of("target")
        return Begun(
            RemoteTarget(path, storage, journal=journal(plan), overwrite=options.overwrite, resume=options.resume),
            path,
        )
    from nczarr.stores.directory import DirectoryTarget

    kept = journal(plan) if options.resume or data_size(plan) >= RESUMABLE else None
    folder = DirectoryTarget(path, overwrite=options.overwrite, journal=kept, resume=options.resume)
    return Begun(folder, folder.path)


def _archive(path: str, plan: StorePlan) -> Begun:
    """Begin an archive; it cannot be resumed because its directory is at its end."""
    if is_remote(path):
        from nczarr.stores.zip_upload import SentZip

        sent = SentZip(path, plan.options.storage.of("target"))
        return Begun(sent, sent.path)
    from nczarr.stores.zip import ZipTarget

    archive = ZipTarget(path, overwrite=plan.options.overwrite)
    return Begun(archive, archive.path)
