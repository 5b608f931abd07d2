"""Arrays as persisted by Awkward 0.x: JSON documents over named blobs, in mappings, ZIP archives, HDF5 groups.

    storage = {"": b'{"awkward0": "1", "schema": {"call": …}}', "1": b"…", "3": b"…"}
    nczarr.awkward0.deserialize(storage)    # awkward.Array, where awkward (2.6 or later) is installed
    nczarr.awkward0.columns(storage)        # a column: numpy arrays, without any other library
    nczarr.awkward0.items(column)           # Python lists, dictionaries, texts, numbers and None

Documents execute no code: functions come from a fixed table (docs/awkward0.md),
whatever the whitelist, and pickled objects are refused. Memory is bounded by
the input and by `Limits`. An invalid document raises CompileError, whose
`.diagnostics` have the places; an unknown name KeyError; an unreadable file
OSError.
"""

from __future__ import annotations

import functools
import os
from collections.abc import MutableMapping
from typing import IO, TYPE_CHECKING, Any

from nczarr.formats.awkward0.read.whitelist import Whitelist
from nczarr.formats.awkward0.wire.limits import DEFAULT, Limits
from nczarr.formats.awkward0.write.compression import partner

if TYPE_CHECKING:
    from nczarr.formats.awkward0.columns.nodes import Column

__all__ = ["Limits", "columns", "deserialize", "hdf5", "items", "load", "partner", "save", "serialize"]

_DEFAULT_POLICY: Any = object()
"""Marker of `serialize`'s default compression."""


def deserialize(
    storage: Any, name: str = "", whitelist: Whitelist = None, cache: Any = None, *, limits: Limits = DEFAULT
) -> Any:
    """Return the array whose document a storage has under the key `name`.

    `storage`: bytes, buffers or NumPy arrays by key. `whitelist`: patterns of
    functions that the document may use; they can only restrict the table; None:
    all of the table. `cache` exists for callers of awkward0 and is not used:
    virtual arrays are made at once. Documents without an array return their
    value: JSON, lists, tuples, dictionaries, pairs, NumPy dtypes, bytes.

    Raises KeyError for an unknown name, CompileError for invalid or oversized
    documents or blobs.
    """
    return _arrays(columns(storage, name, whitelist, limits=limits))


def columns(storage: Any, name: str = "", whitelist: Whitelist = None, *, limits: Limits = DEFAULT) -> Any:
    """Return as `deserialize`, with a column (`nczarr.formats.awkward0.columns`) for every array, even cyclic."""
    from nczarr.formats.awkward0.read.reader import opened

    return opened(storage, name, whitelist, limits)


def items(column: Column, most: int = 100_000_000) -> list[Any]:
    """Return a column as Python objects. Raises ValueError for more than `most` items, or endless nesting."""
    from nczarr.formats.awkward0.columns import items

    return items.items(column, most)


def load(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    whitelist: Whitelist = None,
    cache: Any = None,
    schemasuffix: str = ".json",
    limits: Limits = DEFAULT,
) -> Any:
    """Return the array of an archive (`.awkd`) if it is unnamed; else a lazy mapping of all arrays.

    The mapping is a context manager and has `close`. Raises CompileError for an
    invalid or unsafe archive, OSError if it is unreadable.
    """
    from nczarr.formats.awkward0.wire.zip_archive import Archive

    read = functools.partial(deserialize, whitelist=whitelist, cache=cache, limits=limits)
    found = Archive(file, read, schemasuffix, limits)
    if list(found) != [""]:
        return found
    with found:
        return found[""]


def hdf5(
    group: Any, *, whitelist: Whitelist = None, cache: Any = None, limits: Limits = DEFAULT, **options: Any
) -> MutableMapping[str, Any]:
    """Return the arrays of an h5py group or file by name, as a mutable mapping.

    `options` are those of `serialize`, for set-item. Get-item raises KeyError
    and CompileError. Names with a slash are usable but not listed.
    """
    from nczarr.formats.awkward0.wire.hdf5_group import Group
    from nczarr.formats.awkward0.write import save as saving

    read = functools.partial(deserialize, whitelist=whitelist, cache=cache, limits=limits)
    return Group(group, read, functools.partial(saving.put, **options), saving.remove, limits)


def serialize(
    obj: Any,
    storage: Any,
    name: str | None = None,
    delimiter: str | None = "-",
    suffix: str | None = None,
    schemasuffix: str | None = None,
    compression: Any = _DEFAULT_POLICY,
    **options: Any,
) -> dict[str, Any]:
    """Write an array to a storage: its blobs, and its document under `name` and `schemasuffix`.

    Returns the document. `obj`: an awkward or NumPy array, a column, lists,
    texts, numbers. `compression`: None, True, a function with an inverse, or
    one or more rules (docs/awkward0.md). Raises CompileError for content that
    the protocol cannot hold.
    """
    from nczarr.formats.awkward0.write import serialize as writing

    if compression is not _DEFAULT_POLICY:
        options["compression"] = compression
    found: dict[str, Any] = writing.serialize(obj, storage, name, delimiter, suffix, schemasuffix, **options)
    return found


def save(
    file: str | os.PathLike[str] | IO[bytes],
    array: Any,
    name: str | None = None,
    mode: str = "a",
    **options: Any,
) -> None:
    """Write an array, or a dictionary of arrays, to an archive; a path without `.awkd` gets this suffix.

    `mode` is that of a ZIP archive; "a" appends to an existing file. `options`
    are those of `serialize`. Raises KeyError, before anything is written, if
    one name is the prefix of another; OSError.
    """
    from nczarr.formats.awkward0.write import save as saving

    saving.save(file, array, name, mode, **options)


def _arrays(value: Any) -> Any:
    """Replace columns by awkward arrays if awkward is installed."""
    try:
        import awkward  # noqa: F401
    except ImportError:
        return value
    from nczarr.formats.awkward0.columns.awkward2 import to_awkward
    from nczarr.formats.awkward0.columns.nodes import Column
    from nczarr.formats.awkward0.read.array_values import replaced

    return replaced(value, lambda each: to_awkward(each) if isinstance(each, Column) else each)
