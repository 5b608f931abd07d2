"""Writing of arrays: `serialize` to any storage, `save` to ZIP archives (`.awkd`), `put` to HDF5 groups.

Forms follow awkward0: counts for contiguous lists, else starts and stops; tags
alone if each union content is used in order; no empty pieces. Differences:
contiguous texts always become counts, without unused bytes; columns that
awkward0 could not read back are replaced: an empty union by no items of a union
with one, rows without elements by empty lists.

Archives store blobs before each document, uncompressed by ZIP and with fixed
dates, so equal arrays give equal bytes. Names are checked before writing.
awkward0 forbids a new name that an existing member begins with, and within one
call names that begin with another. Here both directions are refused, in a call
and against the file, so a nameless array is always alone; otherwise `load`
would return something else.

A named file is extended as a copy and replaced in one rename. A file object is
extended in place; on failure its old bytes are restored.
"""

from __future__ import annotations

import errno
import os
import shutil
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping
from contextlib import contextmanager, suppress
from functools import partial
from itertools import pairwise
from tempfile import SpooledTemporaryFile
from typing import IO, TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import nczarr
from nczarr.arrays.lazy_numpy import np
from nczarr.diagnostics.report import Report
from nczarr.formats.common.awkward import expressions
from nczarr.formats.common.awkward.expressions import Expression
from nczarr.plugins.awkward0.wire.containers import DOCUMENT
from nczarr.plugins.awkward0.wire.limits import LostPartsWarning as LostPartsWarning
from nczarr.plugins.awkward0.wire.limits import say
from nczarr.plugins.awkward0.write.compression import DEFAULT, CompressionRule, Policy, rules_of_policy
from nczarr.plugins.awkward0.write.encoder import ExpressionEncoder
from nczarr.stores import finish, local_paths
from nczarr.stores.base import is_safe, safe_key
from nczarr.stores.finish import put_in_place
from nczarr.stores.zip import entry_name, new_entry

if TYPE_CHECKING:
    from zipfile import ZipFile


def count_levels(expression: Expression) -> int:
    """Return the number of expression levels; 1 without inner expressions."""
    levels, here = 0, [expression]
    while here:
        levels += 1
        here = [inner for each in here for inner in _inner(each)]
    return levels


def _inner(expression: Expression) -> list[Expression]:
    """Return the direct subexpressions."""
    found: list[Expression] = [
        *expression.get("args", ()),
        *expression.get("kwargs", {}).values(),
        *expression.get("list", ()),
        *expression.get("tuple", ()),
        *expression.get("dict", {}).values(),
    ]
    return found + [inner for _, inner in expression.get("pairs", ())]


Member: TypeAlias = tuple[str, Callable[[], bytes]]
"""A key, and a function that returns its bytes when called in turn."""


class EncodedArray(NamedTuple):
    """An array ready for storage."""

    key: str
    document: Expression
    blobs: tuple[Member, ...]
    """Blobs in order."""

    def members(self) -> list[Member]:
        """Return the members, blobs first, so that no document exists without them."""
        document = expressions.encode(self.document)
        return [*self.blobs, (self.key, lambda: document)]


class KeyNaming(NamedTuple):
    """Keys of an array."""

    document: str
    prefix: str
    """Prefix of all blob keys."""
    suffix: str
    """Suffix of blob keys."""


def naming(
    name: str | None, delimiter: str | None, suffix: str | None, schemasuffix: str | None, prefix: str | None = None
) -> KeyNaming:
    """Return the keys of an array; None counts as empty. Raises TypeError for other types."""
    for part in (name, delimiter, suffix, schemasuffix, prefix):
        if not isinstance(part, str | None):
            raise TypeError(f"{part!r} is not a string, as names must be")
    if prefix is None:
        prefix = name + (delimiter or "") if name else ""
    return KeyNaming((name or "") + (schemasuffix or ""), prefix, suffix or "")


def serialize(
    obj: Any,
    storage: MutableMapping[str, Any],
    name: str | None = None,
    delimiter: str | None = "-",  # awkward0's default
    suffix: str | None = None,
    schemasuffix: str | None = None,
    compression: Policy = DEFAULT,
    prefix: str | None = None,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> Expression:
    """Store an array, blobs first, and return its document as a dictionary.

    `obj`: a column, an awkward or NumPy array, or a JSON value. The document is
    stored under `name + schemasuffix`, blob n under `name + delimiter + n +
    suffix` (`n + suffix` without a name); `prefix` replaces `name + delimiter`.
    All stored values are bytes. `compression`: see `compression.py`. `doc` and
    `metadata` go into the document, where readers ignore them; the default
    `doc` names the writer.

    Raises CompileError before anything is stored if the array is unwritable.
    Lost type information causes warnings in `report`, or LostPartsWarning.
    Raises TypeError and ValueError for invalid names and policies.
    """
    messages = report if report is not None else Report()
    names = naming(name, delimiter, suffix, schemasuffix, prefix)
    encoded = encode(obj, names, rules_of_policy(compression), messages, doc=doc, metadata=metadata)
    say(messages, encoded, caller=report)
    assert encoded is not None
    for key, data in encoded.members():
        storage[key] = data()
    return encoded.document


def encode(
    obj: Any,
    names: KeyNaming,
    policy: tuple[CompressionRule, ...],
    report: Report,
    *,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> EncodedArray | None:
    """Return the document and blobs of an array. Returns None and reports errors if it is unwritable.

    Raises ValueError if the document and a blob would have the same key.
    """
    before = report.errors
    encoder = ExpressionEncoder(names.suffix, policy, report)
    try:
        schema = encoder.value(obj)
    except RecursionError:
        report.error("unsuited-array", "the array is nested too deeply, or encloses itself")
        return None
    if schema is None:
        return None
    levels = count_levels(schema)
    if levels > expressions.DEEPEST:
        report.error("unsuited-array", f"the array has {levels} levels; the limit of readers is {expressions.DEEPEST}")
    if report.errors > before:
        return None
    description = f"nczarr {nczarr.__version__}" if doc is None else doc
    document = expressions.document(schema, prefix=names.prefix, doc=description, metadata=metadata)
    blobs = tuple(
        (names.prefix + key, array.tobytes if rule is None else partial(rule.apply, array))
        for key, array, rule in encoder.blobs
    )
    if any(key == names.document for key, _ in blobs):
        raise ValueError(f"{names.document!r} would be the key of both the document and a blob")
    return EncodedArray(names.document, document, blobs)


Check: TypeAlias = Callable[[list[str]], None]
"""Function of the existing member names that raises on a conflict."""

IN_MEMORY = 64 << 20


def extend_file(path: str, mode: str, members: Iterable[Member], check: Check) -> None:
    """Add members to the archive at a path ("a"), or create one ("w", "x"); follows links.

    Extends a copy and replaces the original in one rename. Raises OSError, and
    errors of `check` and the members; the original is then unchanged.
    """
    target = local_paths.real(path)
    if os.path.isdir(target):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if mode == "x" and os.path.lexists(target):
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), path)
    old = mode == "a" and os.path.exists(target) and os.path.getsize(target) > 0
    if old:
        with open(target, "rb") as file, _open(file, "r", path) as archive:
            check(archive.namelist())
    copy = finish.partial(target)
    try:
        if old:
            shutil.copyfile(target, copy)
        with open(copy, "r+b" if old else "x+b") as out, _open(out, "a" if old else "w", path) as archive:
            _add(archive, members)
        if os.path.exists(target):
            shutil.copymode(target, copy)
        put_in_place(copy, target, overwrite=mode != "x")
    except BaseException:
        with suppress(OSError):
            os.unlink(copy)
        finish.unfinished.discard(copy)
        raise


def extend_object(file: IO[bytes], mode: str, members: Iterable[Member], check: Check) -> None:
    """Add members to the archive in a file object ("a"), or write one at its position ("w", "x").

    On failure, an extended archive gets its old end back, and a new one is not
    written. Raises OSError, and errors of `check` and the members.
    """
    if mode == "a" and file.seek(0, os.SEEK_END) > 0:
        _extend_in_place(file, members, check)
        return
    with SpooledTemporaryFile(IN_MEMORY) as spool:
        with _open(spool, "w", "the archive") as archive:
            _add(archive, members)
        spool.seek(0)
        shutil.copyfileobj(spool, file, 1 << 20)
    if file.seekable():
        with suppress(OSError):
            file.truncate()


def _extend_in_place(file: IO[bytes], members: Iterable[Member], check: Check) -> None:
    """Append members to a ZIP archive in a file; after a failure the file is as before."""
    with _open(file, "r", "the object") as archive:
        check(archive.namelist())
        start = archive.start_dir
    file.seek(start)
    end = file.read()
    try:
        with _open(file, "a", "the object") as archive:
            _add(archive, members)
    except BaseException:
        file.seek(start)
        file.write(end)
        file.truncate()
        raise


@contextmanager
def _open(file: IO[bytes], mode: Literal["r", "w", "a"], name: str) -> Iterator[ZipFile]:
    """Open the archive in a file. Raises OSError if it is invalid."""
    from zipfile import ZIP_STORED, BadZipFile, ZipFile

    try:
        archive = ZipFile(file, mode, ZIP_STORED)  # awkward0, too, stores members uncompressed
    except (BadZipFile, ValueError) as error:
        raise OSError(errno.EINVAL, f"invalid ZIP archive: {error}", name) from None
    try:
        yield archive
    finally:
        archive.close()


def _add(archive: ZipFile, members: Iterable[Member]) -> None:
    for key, data in members:
        archive.writestr(new_entry(key), data())


SUFFIX = ".awkd"
MODES = ("a", "w", "x")


class NameTakenError(KeyError, ValueError):
    """A name in use, or with a prefix in use; nothing was written."""

    def __str__(self) -> str:
        return str(self.args[0])


def save(
    file: str | bytes | os.PathLike[Any] | IO[bytes],
    array: Any,
    name: str | None = None,
    mode: str = "a",
    *,
    delimiter: str | None = "-",  # the defaults of awkward0's `save`
    suffix: str | None = ".raw",
    schemasuffix: str | None = ".json",
    compression: Policy = DEFAULT,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> None:
    """Save an array, or a mapping of names to arrays, to an archive.

    `file`: a path, to which `.awkd` is added if missing, or a binary file
    object. `name` prefixes all names of a mapping. `mode`: "a" extends or
    creates an archive, "w" replaces it, "x" creates a new one only. For
    accepted arrays and other options see `serialize`.

    Raises CompileError for unwritable arrays, NameTakenError (a KeyError) for
    conflicting names, ValueError for invalid member names, and OSError; the
    file is then unchanged.
    """
    if mode not in MODES:
        raise ValueError(f"{mode!r}: the mode must be one of {', '.join(MODES)}")
    named = array if isinstance(array, Mapping) else {"": array}
    for label in named:
        if not isinstance(label, str):
            raise TypeError(f"{label!r} is not a string, as names must be")
    arrays = {(name or "") + label: value for label, value in named.items()}
    _distinct(arrays)
    policy, messages = rules_of_policy(compression), report if report is not None else Report()
    documents: list[EncodedArray] = []
    for label, value in arrays.items():
        its = Report(strict=messages.strict)
        encoded = encode(value, naming(label, delimiter, suffix, schemasuffix), policy, its, doc=doc, metadata=metadata)
        for one in its.list_sorted():
            messages.add(one._replace(message=f"{label!r}: {one.message}") if label else one)
        documents += [encoded] if encoded is not None else []
    say(messages, documents if len(documents) == len(arrays) else None, caller=messages)
    members = [member for encoded in documents for member in encoded.members()]
    for key, _ in members:
        safe_key(entry_name(key))
    check = partial(_check_names_free, arrays, schemasuffix or "")
    if isinstance(file, str | bytes | os.PathLike):
        path = os.fsdecode(os.fspath(file))
        # awkward0's `save` adds the suffix, its `load` does not
        extend_file(path if path.endswith(SUFFIX) else path + SUFFIX, mode, members, check)
    else:
        extend_object(file, mode, members, check)
    say(messages, documents, caller=report)


def put(
    group: Any,
    name: str,
    obj: Any,
    *,
    suffix: str | None = None,
    compression: Policy = DEFAULT,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> None:
    """Create an HDF5 group in `group` with an array: byte datasets `1`, `3`, …, and `schema.json`.

    `group`: an h5py group or file. Options: see `serialize`.

    Raises CompileError for unwritable arrays, NameTakenError (a KeyError and
    ValueError) if the name is in use or inside another array, and OSError; the
    file then has no new content.
    """
    _free(group, name)
    messages = report if report is not None else Report()
    names = naming(name, "/", suffix, f"/{DOCUMENT}")  # as awkward0's hdf5(): `NAME/1`, `NAME/schema.json`
    encoded = encode(obj, names, rules_of_policy(compression), messages, doc=doc, metadata=metadata)
    say(messages, encoded, caller=messages)
    assert encoded is not None
    above = next(part for part in _ancestors(name) if part not in group)
    group.create_group(name)
    try:
        for key, data in encoded.members():
            group.create_dataset(key, data=np.frombuffer(data(), "u1"))  # awkward0 writes datasets of uint8
    except BaseException:
        with suppress(KeyError, OSError):
            del group[above]
        raise
    say(messages, encoded, caller=report)


def remove(group: Any, name: str) -> None:
    """Remove an array from an HDF5 group: document, blobs, and its group unless other groups are in it.

    Raises KeyError if the array does not exist.
    """
    is_name = isinstance(name, str) and is_safe(name)
    exists = is_name and all(above in group and _is_group(group, above) for above in _ancestors(name))
    if not exists or DOCUMENT not in group[name]:
        raise KeyError(name)
    array = group[name]
    for key in [key for key in array if not _is_group(array, key)]:
        del array[key]
    if not len(array):
        del group[name]


def _is_group(group: Any, name: str) -> bool:
    """Return whether a name is a hard link to an HDF5 group; other links may lead outside."""
    import h5py

    linked = group.get(name, getlink=True)
    return isinstance(linked, h5py.HardLink) and group.get(name, getclass=True) is h5py.Group


def _distinct(names: Iterable[str]) -> None:
    """Raise NameTakenError if a name begins with another."""
    ordered = sorted(names)
    for one, other in pairwise(ordered):
        if other.startswith(one):
            raise NameTakenError(f"{other!r} begins with {one!r}: their members would be ambiguous")


def _check_names_free(names: Iterable[str], schemasuffix: str, there: list[str]) -> None:
    """Raise NameTakenError if an archive member begins with a new name, or a new name with an array's."""
    ordered = sorted(there)
    arrays = {key.removesuffix(schemasuffix) for key in there if key.endswith(schemasuffix)}
    for name in names:
        at = bisect_left(ordered, name)
        if at < len(ordered) and ordered[at].startswith(name):
            raise NameTakenError(f"{name!r} cannot be added: the archive already has the member {ordered[at]!r}")
        inside = next((name[:end] for end in range(len(name)) if name[:end] in arrays), None)
        if inside is not None:
            raise NameTakenError(f"{name!r} cannot be added: it begins with {inside!r}, which is in the archive")


def _ancestors(name: str) -> list[str]:
    """Return all group paths to a name, itself last."""
    parts = name.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _free(group: Any, name: str) -> None:
    """Raise NameTakenError if a name is in use or its path contains non-groups; UnsafeKeyError if invalid."""
    safe_key(name)
    for ancestor in _ancestors(name):
        if ancestor not in group and group.get(ancestor, getlink=True) is None:
            return
        if ancestor == name or not _is_group(group, ancestor) or DOCUMENT in group[ancestor]:
            raise NameTakenError(f"{name!r} cannot be written: the group has {ancestor!r}")
