"""Keys of documents and chunks ↔ node paths.

Source: the draft, "Storage keys". Paths are those of the draft: `/foo/bar`, `/`
for the root.

    /foo/bar   meta/foo/bar.group.json    meta/foo/bar.array.json    data/foo/bar/0.0
    /          root.group.json            root.array.json            data/0.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from nczarr.arrays.chunks.key_segments import LONGEST, escape
from nczarr.registry import ChunkKeys

_ALLOWED = re.compile(r"[A-Za-z0-9_.-]*")
_NUMBERED = r"_c[1-9][0-9]*"


def suits(segment: str, name: str) -> bool:
    """Return whether a node with this segment can have this name, among any siblings."""
    plain = escape(name) if name else ""
    return (
        bool(plain)
        and segment.startswith(plain)
        and (segment == plain or bool(re.fullmatch(_NUMBERED, segment[len(plain) :])))
    )


def problem(segment: str) -> str | None:
    """Return why a segment is no node name, as a predicate, or None."""
    if not segment:
        return "is empty"
    if not _ALLOWED.fullmatch(segment):
        return "has characters other than a-z, A-Z, 0-9, `-`, `_` and `.`"
    if not segment.strip("."):
        return "consists of periods only"
    return f"has {len(segment)} characters; the limit is {LONGEST}" if len(segment) > LONGEST else None


Kind = Literal["array", "group"]

META, DATA = "meta/", "data/"
KINDS: tuple[Kind, ...] = ("array", "group")


class DraftNode(NamedTuple):
    """Node of a document key."""

    path: str
    kind: Kind


def document_key(path: str, kind: Kind) -> str:
    """Return the key of a node's document."""
    # the draft: the root's are outside `meta/`
    return f"root.{kind}.json" if path == "/" else f"meta{path}.{kind}.json"


def array_key(path: str) -> str:
    """Return the key of an array's metadata document (`array_meta_key` of the draft).

    Parameters
    ----------
    path : str
        Path of the array.

    Returns
    -------
    str
        The key.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.zarr3_2019.array_key("/a/b")
    'meta/a/b.array.json'
    """
    return document_key(path, "array")


def group_key(path: str) -> str:
    """Return the key of a group's metadata document (`group_meta_key` of the draft).

    Parameters
    ----------
    path : str
        Path of the group.

    Returns
    -------
    str
        The key.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.zarr3_2019.group_key("/a")
    'meta/a.group.json'
    """
    return document_key(path, "group")


def chunk_prefix(path: str) -> str:
    """Return the key prefix of an array's chunks."""
    return DATA if path == "/" else f"data{path}/"  # the draft leaves the root's chunks open


def data_key(path: str, *index: int, separator: str = ".") -> str:
    """Return the key of a chunk (`data_key` of the draft).

    Parameters
    ----------
    path : str
        Path of the array.
    *index : int
        Index of the chunk in the grid.
    separator : {".", "/"}
        Separator of the indices.

    Returns
    -------
    str
        The key.

    Examples
    --------
    >>> import nczarr
    >>> nczarr.zarr3_2019.data_key("/a/b", 0, 3)
    'data/a/b/0.3'
    """
    return ChunkKeys(chunk_prefix(path), separator).key(index)


def children_prefix(path: str) -> str:
    """Return the key prefix of documents below a group."""
    return META if path == "/" else f"meta{path}/"  # the draft: `meta` + `/` + `/`, read as `meta/`


def node_of(key: str) -> DraftNode | None:
    """Return the node of a document key; None for other keys."""
    for kind in KINDS:
        ending = f".{kind}.json"
        if key == f"root{ending}":
            return DraftNode("/", kind)
        if key.startswith(META) and key.endswith(ending):
            return DraftNode("/" + key[len(META) : -len(ending)], kind)
    return None


def join(parent: str, name: str) -> str:
    """Return the path of a child."""
    return f"/{name}" if parent == "/" else f"{parent}/{name}"


def parent_of(path: str) -> str:
    """Return the path of a node's parent; the root is its own."""
    return path.rpartition("/")[0] or "/"


def name_of(path: str) -> str:
    """Return the name of a node; empty for the root."""
    return path.rpartition("/")[2]


def ancestors(path: str) -> Iterator[str]:
    """Yield the paths of all ancestors, nearest first."""
    while path != "/":
        path = parent_of(path)
        yield path


def path_problem(path: str) -> str | None:
    """Return why a text is no valid path, or None."""
    if path == "/":
        return None
    if not path.startswith("/"):
        return "it does not begin with a slash"
    for name in path[1:].split("/"):
        wrong = problem(name)
        if wrong is not None:
            return f"name `{name}` {wrong}"
    return None
