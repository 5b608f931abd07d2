"""The store in the making for a plan: a folder, an archive, or either at a URL; begun anew or gone on with."""

from __future__ import annotations

from typing import NamedTuple

from nczarr.diagnostics.report import Report
from nczarr.link.fingerprint import RESUMABLE, data_size, journal
from nczarr.plan.planned import Planned
from nczarr.stores.base import Store
from nczarr.stores.url import is_remote


class Begun(NamedTuple):
    """A store in the making, and the path or URL at which it can be read before it is finished."""

    store: Store
    place: str


def begun(path: str, planned: Planned) -> Begun:
    """The store that path or URL tell. Raises OSError, FileExistsError if the place is taken."""
    if planned.form.begins is not None:
        from nczarr.registry import load

        return Begun(*load(planned.form.begins)(path, planned, lambda: _folder(path, planned).store))
    return _archive(path, planned) if path.lower().endswith(".zip") else _folder(path, planned)


def has_room(path: str, planned: Planned, report: Report) -> bool:
    """Whether the documents of all nodes can be files, where they are to be files of this machine. Reports
    unsafe-name.
    """
    if not planned.places or planned.form.begins is not None or path.lower().endswith(".zip") or is_remote(path):
        return True
    from nczarr.plan.key_paths import LONGEST_IN_FILES, long_segments

    before = report.errors
    for fqn, part, segment in long_segments(planned.places, LONGEST_IN_FILES):
        owner = planned.checked.variables.get(fqn) or planned.checked.groups[fqn]
        what = f"the part `{part}` of `{fqn}`" if part else f"the name of `{fqn}`"
        text = f"{what} takes {len(segment)} characters, and its document, a file, has room for {LONGEST_IN_FILES}"
        report.error("unsafe-name", text, owner.span, helps=["an archive (`.zip`) or a bucket takes it; or rename it"])
    return report.errors == before


def _folder(path: str, planned: Planned) -> Begun:
    """A folder, or keys below a URL."""
    options = planned.options
    if is_remote(path):
        from nczarr.stores.remote_target import RemoteTarget

        storage = options.storage.of("target")
        return Begun(
            RemoteTarget(path, storage, journal=journal(planned), overwrite=options.overwrite, resume=options.resume),
            path,
        )
    from nczarr.stores.directory import DirectoryTarget

    kept = journal(planned) if options.resume or data_size(planned) >= RESUMABLE else None
    folder = DirectoryTarget(path, overwrite=options.overwrite, journal=kept, resume=options.resume)
    return Begun(folder, folder.path)


def _archive(path: str, planned: Planned) -> Begun:
    """An archive, which begins again where a folder is gone on with: its directory is its end."""
    if is_remote(path):
        from nczarr.stores.zip_upload import SentZip

        sent = SentZip(path, planned.options.storage.of("target"))
        return Begun(sent, sent.path)
    from nczarr.stores.zip import ZipTarget

    archive = ZipTarget(path, overwrite=planned.options.overwrite)
    return Begun(archive, archive.path)
