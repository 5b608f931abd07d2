"""Arrays in an HDF5 group: one group per name, with byte datasets and a document.

Reads never leave the file: soft and external links, external and virtual
datasets are refused. Numeric datasets count as their bytes in the file.
Filtered and never written bytes count as inflated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import CompileError, Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.awkward0.wire.limits import Budget, Limits, UnreadableDocumentError, shown
from nczarr.stores.base import is_safe

DAMAGE = (OSError, RuntimeError, ValueError, TypeError, KeyError)
"""Exceptions of h5py for damaged files."""

DOCUMENT = "schema.json"
"""Name of the document dataset."""


class GroupStorage:
    """Storage of a group's datasets by path."""

    def __init__(self, group: Any, limits: Limits, document: str) -> None:
        self._group = group
        self._budget = Budget(limits, document)

    def __getitem__(self, key: str) -> Any:
        """Return a dataset as an array. Raises KeyError, UnreadableDocumentError."""
        dataset = reached(self._group, key)
        try:
            return self._values(dataset, key)
        except DAMAGE as error:
            if isinstance(error, UnreadableDocumentError):
                raise
            raise UnreadableDocumentError("bad-container", f"dataset {shown(key)} cannot be read: {error}") from None

    def _values(self, dataset: Any, key: str) -> Any:
        import h5py

        if not isinstance(dataset, h5py.Dataset):
            raise UnreadableDocumentError("bad-container", f"{shown(key)} is not a dataset")
        if dataset.external or dataset.is_virtual:
            raise UnreadableDocumentError(
                "bad-container", f"dataset {shown(key)} has its bytes in other files or datasets"
            )
        if dataset.shape is None:
            return np.zeros(0, np.uint8)
        if dataset.dtype.kind not in "biufcSV" or dataset.dtype.hasobject or dataset.dtype.names is not None:
            raise UnreadableDocumentError(
                "bad-blob", f"dataset {shown(key)} has no bytes: its items are {dataset.dtype}"
            )
        self._budget.spend(key, dataset.nbytes, dataset.id.get_storage_size())
        return np.asarray(dataset[()], dataset.dtype)


def reached(group: Any, path: str) -> Any:
    """Follow a path of hard links. Raises KeyError if it is missing, UnreadableDocumentError for other links."""
    import h5py

    if not is_safe(path) or not path.isprintable():
        raise KeyError(path)
    here = group
    for part in path.split("/"):
        try:
            link = here.get(part, getlink=True) if isinstance(here, h5py.Group) else None
            here = here[part] if isinstance(link, h5py.HardLink) else None
        except DAMAGE as error:
            raise UnreadableDocumentError("bad-container", f"{shown(path)} is damaged: {error}") from None
        if link is None:
            raise KeyError(path)
        if here is None:
            raise UnreadableDocumentError("bad-container", f"{shown(path)} is a link, which may lead outside the group")
    return here


class Hdf5Group(MutableMapping[str, Any]):
    """Arrays by name in an HDF5 group.

    Get-item raises KeyError and CompileError; set-item and del-item raise
    errors of writing.
    """

    def __init__(
        self,
        group: Any,
        read: Callable[[Any, str], Any],
        write: Callable[[Any, str, Any], None],
        remove: Callable[[Any, str], None],
        limits: Limits,
    ) -> None:
        self._group = group
        self._read = read
        self._write = write
        self._remove = remove
        self._limits = limits

    def __getitem__(self, name: str) -> Any:
        if name not in self:
            raise KeyError(name)
        key = f"{name}/{DOCUMENT}"
        return self._read(GroupStorage(self._group, self._limits, key), key)

    def __setitem__(self, name: str, value: Any) -> None:
        self._write(self._group, name, value)

    def __delitem__(self, name: str) -> None:
        if name not in self:
            raise KeyError(name)
        self._remove(self._group, name)

    def __contains__(self, name: object) -> bool:
        """Return whether the array exists, readable or not."""
        try:
            reached(self._group, f"{name}/{DOCUMENT}")
        except KeyError:
            return False
        except UnreadableDocumentError:
            return True
        return isinstance(name, str)

    def __iter__(self) -> Iterator[str]:
        """Return the names of arrays directly in the group. Raises CompileError if it is damaged."""
        try:
            names = list(self._group)
        except DAMAGE as error:
            report = Report()
            place = Span(Source(str(self._group.file.filename), b"", binary=True), 0, 0)
            report.error("bad-container", f"the group is damaged: {error}", place)
            raise CompileError(report.sorted()) from None
        return iter([name for name in names if name in self])

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __repr__(self) -> str:
        return f"<arrays of the HDF5 group {shown(self._group.name)}: {len(self)}>"
