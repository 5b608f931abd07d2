"""Tree of a file of Neurodata Without Borders: what its forms in HDF5 and in Zarr share.

Both readers make it, both writers take it, and `copy_file.py` compares two. Nodes
have paths, parents before children. Values pass as chunks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

if TYPE_CHECKING:
    from nczarr.arrays.lazy_numpy import NDArray
    from nczarr.ast.dataset import Codec

Index = tuple[int, ...]
Lose = Callable[[str, str], None]
"""Takes the path of what a target has no place for, and the reason."""


class NwbReference(str):
    """Reference to an object of the same file: its path. None in its place refers to nothing."""

    __slots__ = ()


class UnkeptError(Exception):
    """Something for which the other form has no place; its text ends a sentence about it."""


class NwbAttribute(NamedTuple):
    """An attribute."""

    value: Any
    """Nested lists of texts, numbers, booleans and references; compounds are lists."""
    type: Any
    """Type as in `types.py`."""
    shape: tuple[int, ...]


class NwbLink(NamedTuple):
    """A second name of an object."""

    kind: str
    """`soft`, `hard` or `external`."""
    path: str
    """Path of the object, through no link; empty for a soft link to nothing."""
    text: str
    """Path as the link has it."""
    file: str = ""
    """Name of the other HDF5 file."""


class NwbGroup(NamedTuple):
    """A group."""

    attributes: dict[str, NwbAttribute]
    links: dict[str, NwbLink]


class NwbArray(Protocol):
    """A dataset of HDF5, or array of Zarr."""

    attributes: dict[str, NwbAttribute]
    type: Any
    """Type as in `types.py`."""
    shape: tuple[int, ...]
    chunks: tuple[int, ...]
    """Shape of a chunk, empty for a scalar; pieces of a contiguous dataset too."""
    limits: tuple[int | None, ...]
    """Shape to which it may grow; None: without bound."""
    contiguous: bool
    """True if HDF5 has it in one piece."""
    codecs: tuple[Codec, ...]
    """Filters of HDF5, or those that stand for the codecs of Zarr."""
    fill: Any
    """Value of cells that were never written; None for objects."""
    raw: bool
    """True if `read_raw` returns chunks as the codecs have made them."""

    def list_stored(self) -> Iterable[Index]:
        """Return the indices of the chunks that are stored."""

    def read(self, index: Index) -> NDArray[Any]:
        """Return the values of a chunk within the shape. Raises UnkeptError, and errors of its library."""

    def read_raw(self, index: Index) -> bytes | None:
        """Return the encoded bytes of a chunk; None if they do not fit."""


class NwbTree(NamedTuple):
    """A file."""

    nodes: dict[str, NwbGroup | NwbArray]
    """Nodes by path, parents first."""


def join(folder: str, name: str) -> str:
    """Return the path of a name in a group."""
    return f"{folder.rstrip('/')}/{name}"


def resolve(nodes: Any, links: dict[str, dict[str, NwbLink]], group: str, text: str) -> str:
    """Return the path of the node that a path from a group leads to, through links; empty for none."""
    here, parts, steps = ("/" if text.startswith("/") else group), text.split("/")[::-1], 0
    while parts:
        part = parts.pop()
        if part in ("", "."):
            continue
        link, path = links.get(here, {}).get(part), join(here, part)
        steps += 1
        if (link is None and path not in nodes) or steps > 1000:
            return ""
        if link is None:
            here = path
        elif link.kind == "external":
            return ""
        else:
            here = "/" if link.text.startswith("/") else here
            parts += link.text.split("/")[::-1]
    return here


def region_of(index: Index, chunks: tuple[int, ...], shape: tuple[int, ...]) -> tuple[slice, ...]:
    """Return the cells of a chunk within a shape."""
    places = zip(index, chunks, shape, strict=True)
    return tuple(slice(i * chunk, min(length, (i + 1) * chunk)) for i, chunk, length in places)


def is_piece(array: NwbArray) -> bool:
    """Return whether HDF5 gets an array in one piece if nothing else is noted about it."""
    is_one = all(chunk >= length for chunk, length in zip(array.chunks, array.shape, strict=True))
    return is_one and not array.codecs and array.limits == array.shape
