"""Documents of a store with other lengths: shapes of arrays, and netCDF-C's dimensions.

Only the numbers change; every other byte of a document stays. Documents of
consolidated metadata change in the same way.
"""

import json
from collections.abc import Iterator, Mapping

from nczarr.stores.base import Store
from nczarr.syntax.json.positions import Path, Places

SHAPES = (".zarray", "zarr.json")
"""Documents of an array."""

GROUPS: tuple[tuple[str, Path], ...] = (
    (".zattrs", ("_nczarr_group",)),
    (".zattrs", ("_NCZARR_GROUP",)),
    (".zgroup", ("_nczarr_group",)),
    (".zgroup", ("_NCZARR_GROUP",)),
    (".nczgroup", ()),
    ("zarr.json", ("attributes", "_nczarr_group")),
    ("zarr.json", ("attributes", "_nczarr", "group")),
)
"""Documents of a group, and netCDF-C's metadata in them, of all generations. `_nczarr` is a text of JSON."""

DIMENSIONS = ("dimensions", "dims")
"""Names of the dimensions in netCDF-C's metadata."""

Edit = tuple[Path, int]
"""Path of a number in a document, and its new value."""


def resize(
    store: Store, shapes: Mapping[str, tuple[int, ...]], lengths: Mapping[tuple[str, str], int]
) -> dict[str, bytes]:
    """Return the documents that change, by key. Raises OSError, ValueError for a document that is not JSON.

    `shapes`: new shapes by key prefix of the array. `lengths`: new lengths by key
    prefix of the group and name of the dimension; a store without netCDF-C's
    metadata has no place for them.
    """
    edits: dict[str, list[Edit]] = {}
    for prefix, shape in shapes.items():
        for name in SHAPES:
            edits.setdefault(prefix + name, []).extend((("shape", axis), length) for axis, length in enumerate(shape))
    for (prefix, dimension), length in lengths.items():
        for name, path in GROUPS:
            every = edits.setdefault(prefix + name, [])
            for member in DIMENSIONS:
                every.append(((*path, member, dimension), length))
                every.append(((*path, member, dimension, "size"), length))
    for key, place, inner in list(_consolidate(edits)):
        edits.setdefault(key, []).extend(((*place, *path), value) for path, value in inner)
    documents: dict[str, bytes] = {}
    for key, every in edits.items():
        data = store.get(key)
        changed = None if data is None else edit_integers(data, every)
        if changed is not None and changed != data:
            documents[key] = changed
    return documents


def _consolidate(edits: Mapping[str, list[Edit]]) -> Iterator[tuple[str, Path, list[Edit]]]:
    """Yield the same edits in the consolidated metadata of a node's group and of all groups above."""
    for key, every in edits.items():
        segments = key.split("/")
        for depth in range(len(segments)):
            above, rest = "".join(f"{segment}/" for segment in segments[:depth]), segments[depth:]
            if rest[-1] != "zarr.json":
                yield f"{above}.zmetadata", ("metadata", "/".join(rest)), every
            elif len(rest) > 1:
                place = ("consolidated_metadata", "metadata", "/".join(rest[:-1]))
                yield f"{above}zarr.json", place, every


def edit_integers(data: bytes, edits: list[Edit]) -> bytes:
    """Return a document in which the integers that exist at some paths have other values. Raises ValueError."""
    text = data.decode("utf-8", "surrogateescape")
    document, places = json.loads(text.removeprefix("\ufeff")), Places(text)
    changes: list[tuple[int, str, str]] = []
    within: dict[Path, list[Edit]] = {}
    for path, value in edits:
        old = document
        for depth, step in enumerate(path):
            if isinstance(old, str):
                within.setdefault(path[:depth], []).append((path[depth:], value))
                break
            if isinstance(old, dict) and isinstance(step, str):
                old = old.get(step)
            elif isinstance(old, list) and isinstance(step, int) and step < len(old):
                old = old[step]
            else:
                old = None
        if type(old) is int and old != value:
            changes.append((places.index(path), str(old), str(value)))
    for path, inner in within.items():
        old = document
        for step in path:
            old = old[step]
        new = edit_integers(old.encode("utf-8", "surrogateescape"), inner).decode("utf-8", "surrogateescape")
        if new != old:
            changes.append(
                (places.index(path), json.dumps(old, ensure_ascii=False), json.dumps(new, ensure_ascii=False))
            )
    return _splice(text, changes).encode("utf-8", "surrogateescape")


def _splice(text: str, changes: list[tuple[int, str, str]]) -> str:
    """Return a text with other words at some indices: (index, old word, new word). Raises ValueError for another word.

    Consolidated metadata have a change for each array, so the text is copied once.
    """
    pieces: list[str] = []
    end = 0
    for index, old, new in sorted(changes):
        if not text.startswith(old, index):
            raise ValueError("a length in a document is not written as expected")
        pieces += (text[end:index], new)
        end = index + len(old)
    return "".join((*pieces, text[end:]))
