"""Arrays into files: zip archives with the suffix `.awkd`, and groups of HDF5.

Archives: blobs before the document of each array, stored without compression of the archive's own, dates fixed, so the
same arrays give the same bytes. Conflicts are looked for before anything is written; awkward0 forbids a new name that
an existing member begins with, and within one call any name that begins with another; here names that begin with one
another are refused in both directions, in one call and beside what is in the file. So no nameless array ever lies
beside others, which `load` would give as something else than before.

A file under a name is written whole or not at all: an existing one is copied, the copy is extended, and takes its
place in one rename. A file-like object is extended in place; if that fails it gets back the bytes that it had.
"""

from __future__ import annotations

import os
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from contextlib import suppress
from itertools import pairwise
from typing import IO, Any

from nczarr.arrays.lazy_numpy import np
from nczarr.awkward import expressions
from nczarr.diagnostics.report import Report
from nczarr.formats.awkward0.write.archive import Member, checked_key, extend_file, extend_object
from nczarr.formats.awkward0.write.compression import DEFAULT, Policy, rules
from nczarr.formats.awkward0.write.serialize import Encoded, encode, naming
from nczarr.formats.awkward0.write.warnings import say
from nczarr.stores.base import is_safe, safe_key

SUFFIX = ".awkd"
MODES = ("a", "w", "x")
SCHEMA = "schema.json"
"""The name of a document in its group of an HDF5 file."""


class NameTakenError(KeyError, ValueError):
    """A name that is in use, or that one in use begins with; nothing was written."""

    def __str__(self) -> str:
        return str(self.args[0])


def save(
    file: str | bytes | os.PathLike[Any] | IO[bytes],
    array: Any,
    name: str | None = None,
    mode: str = "a",
    *,
    delimiter: str | None = "-",
    suffix: str | None = ".raw",
    schemasuffix: str | None = ".json",
    compression: Policy = DEFAULT,
    doc: str | None = None,
    metadata: Mapping[str, Any] | None = None,
    report: Report | None = None,
) -> None:
    """Save an array, or a mapping of names to arrays, into an archive.

    `file`: a path, which gets the suffix `.awkd` if it lacks it, or a binary file-like object. `name` comes before all
    names of a mapping. `mode`: "a" adds to an archive or makes one, "w" makes one anew, "x" makes one where none is.
    What an array may be, and all other options: see `serialize`.

    Raises CompileError for arrays that cannot be said, NameTakenError (a KeyError) for names in conflict, ValueError
    for names that no member may have, OSError; the file is as it was then.
    """
    if mode not in MODES:
        raise ValueError(f"{mode!r}: the mode is one of {', '.join(MODES)}")
    given = array if isinstance(array, Mapping) else {"": array}
    arrays = {(name or "") + _text(each): value for each, value in given.items()}
    _distinct(arrays)
    policy, found = rules(compression), report if report is not None else Report()
    made: list[Encoded] = []
    for each, value in arrays.items():
        its = Report(strict=found.strict)
        encoded = encode(value, naming(each, delimiter, suffix, schemasuffix), policy, its, doc=doc, metadata=metadata)
        for one in its.sorted():
            found.add(one._replace(message=f"{each!r}: {one.message}") if each else one)
        made += [encoded] if encoded is not None else []
    say(found, made if len(made) == len(arrays) else None, given=found)
    members = [member for encoded in made for member in _members(encoded)]
    for key, _ in members:
        checked_key(key)

    def check(there: list[str]) -> None:
        _apart(arrays, there, schemasuffix or "")

    if isinstance(file, str | bytes | os.PathLike):
        path = os.fsdecode(os.fspath(file))
        extend_file(path if path.endswith(SUFFIX) else path + SUFFIX, mode, members, check)
    else:
        extend_object(file, mode, members, check)
    say(found, made, given=report)


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
    """Make a group of HDF5 in `group` that holds an array: datasets of bytes `1`, `3`, …, and `schema.json`.

    `group`: an h5py group or file. Options: see `serialize`.

    Raises CompileError for arrays that cannot be said, NameTakenError (a KeyError and ValueError) if the name is in
    use or lies in another array, OSError; the file holds nothing new then.
    """
    _free(group, name)
    found = report if report is not None else Report()
    names = naming(name, "/", suffix, f"/{SCHEMA}")
    made = encode(obj, names, rules(compression), found, doc=doc, metadata=metadata)
    say(found, made, given=found)
    assert made is not None
    above = next(part for part in _ancestors(name) if part not in group)
    group.create_group(name)
    try:
        for key, data in _members(made):
            group.create_dataset(key, data=np.frombuffer(data(), "u1"))
    except BaseException:
        with suppress(KeyError, OSError):
            del group[above]
        raise
    say(found, made, given=report)


def remove(group: Any, name: str) -> None:
    """Take an array out of a group of HDF5: its document and blobs, and its group unless that holds groups of others.

    Raises KeyError if there is no array of the name.
    """
    found = isinstance(name, str) and is_safe(name) and all(each in group for each in _ancestors(name))
    if not found or not all(_is_group(group, each) for each in _ancestors(name)) or SCHEMA not in group[name]:
        raise KeyError(name)
    array = group[name]
    for key in [key for key in array if not _is_group(array, key)]:
        del array[key]
    if not len(array):
        del group[name]


def _is_group(group: Any, name: str) -> bool:
    """Whether this is a group of HDF5 itself, not a link to one, which may lie anywhere."""
    import h5py

    linked = group.get(name, getlink=True)
    return isinstance(linked, h5py.HardLink) and group.get(name, getclass=True) is h5py.Group


def _members(made: Encoded) -> list[Member]:
    """Blobs first: a document never stands without them."""
    document = expressions.encoded(made.document)
    return [*((blob.key, blob.bytes) for blob in made.blobs), (made.key, lambda: document)]


def _text(name: Any) -> str:
    if not isinstance(name, str):
        raise TypeError(f"{name!r} is no text for a name")
    return name


def _distinct(names: Iterable[str]) -> None:
    """Raises NameTakenError if one of these begins with another."""
    ordered = sorted(names)
    for one, other in pairwise(ordered):
        if other.startswith(one):
            raise NameTakenError(f"{other!r} begins with {one!r}: their members could not be told apart")


def _apart(names: Iterable[str], there: list[str], schemasuffix: str) -> None:
    """Raises NameTakenError if members of an archive begin with a new name, or a new name with that of an array."""
    ordered = sorted(there)
    arrays = {each.removesuffix(schemasuffix) for each in there if each.endswith(schemasuffix)}
    for name in names:
        at = bisect_left(ordered, name)
        if at < len(ordered) and ordered[at].startswith(name):
            raise NameTakenError(f"{name!r} cannot be added: the archive has the member {ordered[at]!r}")
        inside = next((name[:end] for end in range(len(name)) if name[:end] in arrays), None)
        if inside is not None:
            raise NameTakenError(f"{name!r} cannot be added: it begins with {inside!r}, which the archive has")


def _ancestors(name: str) -> list[str]:
    """The name of each group on the way to this one, itself the last."""
    parts = name.split("/")
    return ["/".join(parts[: n + 1]) for n in range(len(parts))]


def _free(group: Any, name: str) -> None:
    """Raises NameTakenError if a group has the name, or anything but groups on the way to it; UnsafeKeyError."""
    safe_key(name)
    for each in _ancestors(name):
        if each not in group and group.get(each, getlink=True) is None:
            return
        if each == name or not _is_group(group, each) or SCHEMA in group[each]:
            raise NameTakenError(f"{name!r} cannot be written: the group has {each!r}")
