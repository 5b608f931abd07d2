"""A reference document as a mapping of keys to bytes, whatever the keys mean: no array is read, nothing is decoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from nczarr import registry
from nczarr.diagnostics.report import Report, Source
from nczarr.options import Options
from nczarr.stores.base import Reference, Store
from nczarr.stores.references import ReferenceStore


class ReferenceMapping(Mapping[str, bytes]):
    r"""Keys of a reference document with their bytes, which are read from the targets on demand.

    Iteration, `in` and `len` read the document alone. A target that is missing or too short is
    an OSError or CompileError, and never a missing key.

    Examples
    --------
    >>> import nczarr.refs
    >>> refs = nczarr.refs.mapping({"notes/a": "some text", "b": "base64:AAE="})
    >>> list(refs), refs["b"], refs.list("")
    (['b', 'notes/a'], b'\x00\x01', ['b', 'notes/'])
    """

    def __init__(self, store: ReferenceStore) -> None:
        self._store = store

    def __getitem__(self, key: str) -> bytes:
        """Return the bytes of a key. Raises KeyError, OSError, CompileError."""
        data = self._store.get(key)
        if data is None:
            raise KeyError(key)
        return data

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys, sorted; those that no store can have are behind the others."""
        yield from self._store.keys("")
        yield from sorted(self._store.references.odd())

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and not self._store.lacks(key)

    def locate(self, key: str) -> Reference | None:
        """Return the place of the bytes of a key: URL or path, offset and length; None: in the document.

        Raises KeyError.
        """
        if key not in self:
            raise KeyError(key)
        return self._store.refer(key)

    def measure(self, key: str) -> int:
        """Return the number of bytes of a key. Raises KeyError, OSError, CompileError.

        A reference to a whole target, without a length, asks the target.
        """
        place = self.locate(key)
        if place is None:
            return len(self[key])
        if place.length is not None:
            return place.length
        size = self._store.facts(place.url).size
        return len(self[key]) if size is None else size - place.offset

    def list(self, folder: str) -> list[str]:
        """Return the keys below a folder (empty: the root), and the folders in it, with a final slash; sorted."""
        prefix = f"{folder.rstrip('/')}/" if folder else ""
        below = {key[len(prefix) :].partition("/")[:2] for key in self._store.keys(prefix)}
        return sorted(f"{prefix}{name}{slash}" for name, slash in below)


def open_keys(source: Source | Store, report: Report, options: Options) -> ReferenceStore | None:
    """Return the keys of a document, or folder of Parquet references; None for other sources. Raises OSError.

    Faults of the document are in the report.
    """
    form = registry.find_format(registry.REFERENCE)
    assert form is not None
    assert form.store.opens is not None
    store: ReferenceStore | None = registry.load(form.store.opens)(source, report, options)
    return store
