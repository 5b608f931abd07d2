"""Arrays as Awkward 0.x persists them: JSON documents over named blobs, in any mapping, ZIP archives and HDF5 groups.

    storage = {"": b'{"awkward0": "1", "schema": {"call": …}}', "1": b"…", "3": b"…"}
    nczarr.awkward0.deserialize(storage)    # awkward.Array, where awkward (2.6 or later) is installed
    nczarr.awkward0.columns(storage)        # a column: numpy arrays, without any other library
    nczarr.awkward0.items(column)           # Python lists, dictionaries, texts, numbers and None

Nothing of a document runs: functions are those of a table (docs/awkward0.md), whatever the whitelist says, and pickled
objects are refused. Memory is bounded by what is given and by `Limits`. A document that is wrong raises CompileError,
whose `.diagnostics` say where; a name that is not there KeyError; a file that cannot be read OSError.
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
"""Stands for the compression that `serialize` has where nobody asks for another."""


def deserialize(
    storage: Any, name: str = "", whitelist: Whitelist = None, cache: Any = None, *, limits: Limits = DEFAULT
) -> Any:
    """The array whose document a storage has under `name`, its whole key.

    `storage`: has bytes, buffers or numpy arrays by key. `whitelist`: patterns of functions that the document may name;
    they narrow the table and never widen it; None: all of the table. `cache` is there for callers of awkward0: virtual
    arrays are made at once, and nothing is kept in it. Documents without an array give their value: JSON as it is,
    lists, tuples, dictionaries, pairs, numpy dtypes, bytes.

    Raises KeyError if there is no such name, CompileError for a document or blobs that are wrong or ask for too much.
    """
    return _arrays(columns(storage, name, whitelist, limits=limits))


def columns(storage: Any, name: str = "", whitelist: Whitelist = None, *, limits: Limits = DEFAULT) -> Any:
    """As `deserialize`, with a column (`nczarr.formats.awkward0.columns`) for every array, cyclic ones as well."""
    from nczarr.formats.awkward0.read.reader import opened

    return opened(storage, name, whitelist, limits)


def items(column: Column, most: int = 100_000_000) -> list[Any]:
    """The items of a column as Python objects. Raises ValueError if they are more than `most`, or nest without end."""
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
    """The array of an archive (`.awkd`) that has one without a name; else a mapping of all, read when asked for.

    The mapping is a context manager and has `close`. Raises CompileError for an archive that is none or not to be
    trusted, OSError if it cannot be read.
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
    """The arrays of a group or file of h5py by name, as a mapping that can be changed.

    `options` are those of `serialize`, for set-item. Get-item raises KeyError and CompileError; names with a slash can
    be used, and are not listed.
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
    """Put an array into a storage: its blobs, and its document under `name` and `schemasuffix`. The document.

    `obj`: an awkward or numpy array, a column, lists, texts, numbers. `compression`: None, True, a function with its
    inverse, a rule or several (docs/awkward0.md). Raises CompileError for what the protocol cannot hold.
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
    """Put an array, or a dictionary of several, into an archive; `.awkd` is added to a text that does not end so.

    `mode`: as that of a ZIP archive; "a" adds to a file that is there. `options` are those of `serialize`. Raises
    KeyError for names of which one is the beginning of another, before anything is written; OSError.
    """
    from nczarr.formats.awkward0.write import save as saving

    saving.save(file, array, name, mode, **options)


def _arrays(value: Any) -> Any:
    """A value with awkward arrays for columns, if there is a library for them."""
    try:
        import awkward  # noqa: F401
    except ImportError:
        return value
    from nczarr.formats.awkward0.columns.awkward2 import to_awkward
    from nczarr.formats.awkward0.columns.nodes import Column
    from nczarr.formats.awkward0.read.array_values import replaced

    return replaced(value, lambda each: to_awkward(each) if isinstance(each, Column) else each)
