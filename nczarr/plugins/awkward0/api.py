"""Arrays as persisted by Awkward 0.x: JSON documents over named blobs, in mappings, ZIP archives, HDF5 groups.

    storage = {"": b'{"awkward0": "1", "schema": {"call": …}}', "1": b"…", "3": b"…"}
    nczarr.awkward0.deserialize(storage)    # awkward.Array, where awkward (2.6 or later) is installed
    nczarr.awkward0.columns(storage)        # a column: numpy arrays, without any other library
    nczarr.awkward0.items(column)           # Python lists, dictionaries, texts, numbers and None

Documents execute no code: functions come from a fixed table (docs/reference/formats/awkward0.md),
whatever the whitelist, and those that the caller passes (`functions`). Pickled objects
are refused. Memory is bounded by the input and by `Limits`. An invalid document raises CompileError, whose
`.diagnostics` have the places; an unknown name KeyError; an unreadable file
OSError.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Mapping, MutableMapping
from typing import IO, TYPE_CHECKING, Any

from nczarr.api.hints import add_hints
from nczarr.plugins.awkward0.wire.limits import DEFAULT, Limits, Whitelist
from nczarr.plugins.awkward0.write.compression import partner

if TYPE_CHECKING:
    from nczarr.plugins.awkward0.columns.nodes import Column

__all__ = ["Limits", "columns", "deserialize", "hdf5", "items", "load", "partner", "save", "serialize"]

Functions = Mapping[str, Callable[..., Any]]

_DEFAULT_POLICY: Any = object()
"""Marker of `serialize`'s default compression."""


@add_hints
def deserialize(
    storage: Any,
    name: str = "",
    whitelist: Whitelist = None,
    cache: Any = None,
    *,
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
) -> Any:
    """Return the array whose document a storage has under a name.

    Parameters
    ----------
    storage : Mapping of str to bytes, buffer or numpy.ndarray
        Documents and blobs by key.
    name : str
        Key of the document.
    whitelist : sequence of patterns, optional
        Functions that the document may use. Patterns can only restrict the fixed
        table; by default all of the table is allowed.
    cache : object, optional
        Not used; accepted for callers of awkward0. Virtual arrays are made at once.
    limits : Limits
        Limits of the reader.
    functions : Mapping of str to callable, optional
        Functions of yours that the document may call besides the table, by full name,
        such as `{"blosc.decompress": blosc.decompress}`. A function gets arrays of
        NumPy, columns, bytes and JSON, and returns an array or bytes. It runs with
        arguments that the document chooses.

    Returns
    -------
    awkward.Array or object
        The array; without awkward installed, a column. Documents without an array
        return their value: JSON, lists, tuples, dictionaries, dtypes, bytes.

    Raises
    ------
    KeyError
        If the storage has no such key.
    CompileError
        If a document or a blob is invalid or oversized.

    Examples
    --------
    >>> import awkward, nczarr
    >>> storage = {}
    >>> _ = nczarr.awkward0.serialize(awkward.Array([[1.5], [], [2.5, 3.5]]), storage)
    >>> nczarr.awkward0.deserialize(storage).tolist()
    [[1.5], [], [2.5, 3.5]]
    """
    return _arrays(columns(storage, name, whitelist, limits=limits, functions=functions))


@add_hints
def columns(
    storage: Any,
    name: str = "",
    whitelist: Whitelist = None,
    *,
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
) -> Any:
    """Return as `deserialize`, with a column in place of every array. Needs no other library than NumPy.

    Parameters
    ----------
    storage : Mapping of str to bytes, buffer or numpy.ndarray
        Documents and blobs by key.
    name : str
        Key of the document.
    whitelist : sequence of patterns, optional
        Functions that the document may use, as for `deserialize`.
    limits : Limits
        Limits of the reader.
    functions : Mapping of str to callable, optional
        Functions of yours that documents may call, as for `deserialize`.

    Returns
    -------
    nczarr.plugins.awkward0.columns.nodes.Column or object
        A tree of NumPy arrays, which may be cyclic; other values unchanged.

    Raises
    ------
    KeyError
        If the storage has no such key.
    CompileError
        If a document or a blob is invalid or oversized.
    """
    from nczarr.plugins.awkward0.read.evaluation import open_source

    return open_source(storage, name, whitelist, limits, functions)


def items(column: Column, most: int = 100_000_000) -> list[Any]:
    """Return a column as Python objects.

    Parameters
    ----------
    column : nczarr.plugins.awkward0.columns.nodes.Column
        A column from `columns`.
    most : int
        Maximum number of items.

    Returns
    -------
    list
        Lists, dictionaries, texts, numbers and None.

    Raises
    ------
    ValueError
        If the column has more than `most` items, or contains itself.

    Examples
    --------
    >>> import awkward, nczarr
    >>> storage = {}
    >>> _ = nczarr.awkward0.serialize(awkward.Array([[1], [2, 3]]), storage)
    >>> nczarr.awkward0.items(nczarr.awkward0.columns(storage))
    [[1], [2, 3]]
    """
    from nczarr.plugins.awkward0.columns import items

    return items.items(column, most)


@add_hints
def load(
    file: str | os.PathLike[str] | IO[bytes],
    *,
    whitelist: Whitelist = None,
    cache: Any = None,
    schemasuffix: str = ".json",
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
) -> Any:
    """Open an archive (`.awkd`).

    Parameters
    ----------
    file : str, os.PathLike or binary file
        The archive.
    whitelist : sequence of patterns, optional
        Functions that documents may use, as for `deserialize`.
    cache : object, optional
        Not used; accepted for callers of awkward0.
    schemasuffix : str
        Suffix of document names in the archive.
    limits : Limits
        Limits of the reader.
    functions : Mapping of str to callable, optional
        Functions of yours that documents may call, as for `deserialize`.

    Returns
    -------
    array or Mapping of str to arrays
        The array if it is unnamed; otherwise a lazy mapping of all arrays, which is
        a context manager and has `close`.

    Raises
    ------
    CompileError
        If the archive is invalid or unsafe.
    OSError
        If the archive is unreadable.

    Examples
    --------
    >>> import awkward, nczarr
    >>> nczarr.awkward0.save("runs.awkd", {"hits": awkward.Array([[1], [2, 3]])})
    >>> with nczarr.awkward0.load("runs.awkd") as archive:
    ...     archive["hits"].tolist()
    [[1], [2, 3]]
    """
    from nczarr.plugins.awkward0.wire.containers import Archive

    read = functools.partial(deserialize, whitelist=whitelist, cache=cache, limits=limits, functions=functions)
    archive = Archive(file, read, schemasuffix, limits)
    if list(archive) != [""]:
        return archive
    with archive:
        return archive[""]


def hdf5(
    group: Any,
    *,
    whitelist: Whitelist = None,
    cache: Any = None,
    limits: Limits = DEFAULT,
    functions: Functions | None = None,
    **options: Any,
) -> MutableMapping[str, Any]:
    """Open the arrays of an HDF5 group.

    Parameters
    ----------
    group : h5py.Group
        A group or file.
    whitelist : sequence of patterns, optional
        Functions that documents may use, as for `deserialize`.
    cache : object, optional
        Not used; accepted for callers of awkward0.
    limits : Limits
        Limits of the reader.
    functions : Mapping of str to callable, optional
        Functions of yours that documents may call, as for `deserialize`.
    **options
        The options of `serialize`, for assignments.

    Returns
    -------
    MutableMapping of str to arrays
        Arrays by name. Reading one raises as `deserialize`. Names with a slash can
        be read and written, but are not listed.
    """
    from nczarr.plugins.awkward0.wire.containers import Hdf5Group
    from nczarr.plugins.awkward0.write import serialize as writing

    read = functools.partial(deserialize, whitelist=whitelist, cache=cache, limits=limits, functions=functions)
    return Hdf5Group(group, read, functools.partial(writing.put, **options), writing.remove, limits)


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
    """Write an array to a storage: its blobs and its document.

    Parameters
    ----------
    obj : awkward.Array, numpy.ndarray, column, list, str or number
        The array.
    storage : MutableMapping of str to bytes
        Receives documents and blobs by key.
    name : str, optional
        Key of the document.
    delimiter : str, optional
        Separator of the name and the numbers of blobs.
    suffix : str, optional
        Suffix of blob keys.
    schemasuffix : str, optional
        Suffix of the document's key.
    compression : optional
        None, True, a function with a known inverse, or one or more rules; by
        default large blobs are compressed. docs/reference/formats/awkward0.md lists the rules.
    **options
        Options of awkward0's `serialize`.

    Returns
    -------
    dict
        The document.

    Raises
    ------
    CompileError
        If the protocol cannot represent the content.
    """
    from nczarr.plugins.awkward0.write import serialize as writing

    if compression is not _DEFAULT_POLICY:
        options["compression"] = compression
    blobs: dict[str, Any] = writing.serialize(obj, storage, name, delimiter, suffix, schemasuffix, **options)
    return blobs


def save(
    file: str | os.PathLike[str] | IO[bytes],
    array: Any,
    name: str | None = None,
    mode: str = "a",
    **options: Any,
) -> None:
    """Write an array, or a dictionary of arrays, to an archive.

    Parameters
    ----------
    file : str, os.PathLike or binary file
        The archive. A path without the suffix `.awkd` gets it.
    array : array, or Mapping of str to arrays
        The content.
    name : str, optional
        Name of the array.
    mode : str
        Mode of the ZIP archive; `a` appends to an existing file.
    **options
        The options of `serialize`.

    Raises
    ------
    KeyError
        If one name is the prefix of another; nothing is written then.
    CompileError
        If the protocol cannot represent the content.
    OSError
        If the archive is not writable.
    """
    from nczarr.plugins.awkward0.write import serialize as writing

    writing.save(file, array, name, mode, **options)


def _arrays(value: Any) -> Any:
    """Replace columns by awkward arrays if awkward is installed."""
    try:
        import awkward  # noqa: F401
    except ImportError:
        return value
    from nczarr.plugins.awkward0.columns.awkward2 import to_awkward
    from nczarr.plugins.awkward0.columns.nodes import Column
    from nczarr.plugins.awkward0.read.array_values import replace

    return replace(value, lambda node: to_awkward(node) if isinstance(node, Column) else node)
