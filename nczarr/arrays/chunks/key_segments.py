"""Portable names: model names as key segments that are distinct on every storage system.

Source: the draft of 2019, "Node names". A segment has only ASCII letters and
digits, `-`, `_` and `.`, is not only periods, has at most 255 characters, and
differs from siblings by more than case. Every other byte of a name's UTF-8 form
is written `_xHH`, and so is a `_` that would begin such an escape. Beyond the
draft: a name that ends like a document key gets an escape there, so that in a
folder no file of one node is a folder of another, and one that is a document of
other stores gets one at its start.
"""

import re
from collections.abc import Iterable, Mapping

LONGEST = 255
"""Maximum characters of a segment."""

OWN = frozenset({".", "..", ".zgroup", ".zarray", ".zattrs", ".zmetadata", ".nczgroup", ".nczarray", ".nczattr"})
"""Segments that no node can have: those of folders, and documents of Zarr v2 and of the first NCZarr."""

OWN_PREFIXES = (".nczarr", ".awkward0")
"""Starts of segments of our journals and sidecars."""

_PORTABLE = frozenset(b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.")
_LIKE_ESCAPE = re.compile(r"_(?=x[0-9A-F]{2})")
_LIKE_DOCUMENT = re.compile(r"\.(?=json\Z)(?<=\.(?:array|group)\.)", re.IGNORECASE)


def is_own(segment: str) -> bool:
    """Return whether a segment is one of the store's own documents, never a node."""
    return segment[:1] == "." and (segment in OWN or segment.startswith(OWN_PREFIXES))


def escape(name: str) -> str:
    """Return a name as a segment, regardless of siblings; the mapping is injective.

    Raises ValueError for the empty name. Bytes that are not UTF-8 are escaped
    too.
    """
    if not name:
        raise ValueError("a name cannot be empty")
    if not name.strip("."):
        return "_x2E" * len(name)
    if is_own(name):
        return "_x2E" + escape(name[1:])
    text = _LIKE_DOCUMENT.sub("_x2E", _LIKE_ESCAPE.sub("_x5F", name))
    if text.isascii() and _PORTABLE.issuperset(text.encode()):
        return text
    return "".join(
        chr(byte) if byte in _PORTABLE else f"_x{byte:02X}" for byte in text.encode(errors="surrogateescape")
    )


def segments(siblings: Iterable[str]) -> dict[str, str]:
    """Return the segments of siblings by name; colliding later names get `_c<n>` with the first free n."""
    plain = {name: escape(name) for name in siblings}
    natural = {segment.lower() for segment in plain.values()}
    taken: set[str] = set()
    numbers: dict[str, int] = {}
    segments_by_name: dict[str, str] = {}
    for name, segment in plain.items():
        free = segment
        while free.lower() in taken or (free != segment and free.lower() in natural):
            number = numbers[segment.lower()] = numbers.get(segment.lower(), 0) + 1
            free = f"{segment}_c{number}"
        taken.add(free.lower())
        segments_by_name[name] = free
    return segments_by_name


def paths(name_paths: Iterable[str]) -> dict[str, str]:
    """Return segment paths by name path, intermediate nodes included; siblings collide in the given order."""
    tree: dict[str, dict[str, None]] = {}
    for path in name_paths:
        above = ""
        for name in path.split("/"):
            tree.setdefault(above, {}).setdefault(name)
            above = f"{above}/{name}" if above else name
    segment_paths: dict[str, str] = {}
    _place("", "", tree, segment_paths)
    return segment_paths


def _place(above: str, place: str, tree: Mapping[str, dict[str, None]], segment_paths: dict[str, str]) -> None:
    for name, segment in segments(tree.get(above, {})).items():
        path = f"{above}/{name}" if above else name
        segment_paths[path] = f"{place}/{segment}" if place else segment
        _place(path, segment_paths[path], tree, segment_paths)
