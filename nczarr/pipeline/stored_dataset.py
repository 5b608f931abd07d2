"""Cost of the storage of a dataset for a reader: requests for headers and chunk indexes."""

from __future__ import annotations

from functools import cached_property

from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.registry import Format
from nczarr.semantics.checked import Checked
from nczarr.stores.base import Store
from nczarr.stores.places import RemoteFile


class StoredDataset:
    """A dataset with what its storage costs a reader."""

    def __init__(self, checked: Checked, source: Source | Store | None = None, form: Format | None = None) -> None:
        self.checked = checked
        self.form = form
        self.source = source
        """The file or store; None if only the variables are looked at."""

    @classmethod
    def of(cls, source: Source | Store, report: Report) -> StoredDataset | None:
        """Open a source; None after a reported error. Raises OSError."""
        from nczarr.pipeline import phases
        from nczarr.pipeline.endpoints import detect_format

        checked = phases.read(source, report, Options())
        return None if checked is None else cls(checked, source, detect_format(source))

    @cached_property
    def opening(self) -> tuple[int, int] | None:
        """Requests and bytes until a reader by ranges has all headers and chunk indexes; None for other formats."""
        if self.source is None or self.form is None or not self.form.reading.ranged:
            return None
        return count_requests(self.source)


def count_requests(source: Source | Store) -> tuple[int, int] | None:
    """Return the requests and bytes until our reader has all headers and chunk indexes of a file.

    A local file is read as if it were remote. None for folders, and without a plugin for URLs. Raises OSError.
    """
    from nczarr.pipeline import phases
    from nczarr.stores import open as opening
    from nczarr.stores.places import find_remote_file, look_up_places

    is_archive = not isinstance(source, Source)
    if not isinstance(source, Source) and not source.archive:
        return None
    path = str(source.path)
    data = source.data if isinstance(source, Source) else None
    remote = data if isinstance(data, RemoteFile) else find_remote_file(path)
    places = look_up_places("" if remote is None else remote.connection.url)
    if places is None:
        return None
    file = places.reopen(path, remote, tail=is_archive)
    checked = phases.read(opening.open_ranged(file), Report(), Options())
    for parts in checked.parts.values() if checked is not None else ():
        next(iter(parts.values())).place_index()
    return file.requests, file.received
