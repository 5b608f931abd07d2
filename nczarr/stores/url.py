"""Where a source or target is: a path, or a netCDF URL, `file:///p/x.zarr#mode=nczarr,file`.

The modes are those of the netCDF library: `nczarr` or `zarr` is the format, `file` or `zip` the kind of store,
`consolidated` asks for all metadata in one key, `noxarray` for no `_ARRAY_DIMENSIONS`. `s3` is no path's.
"""

from __future__ import annotations

import re
from typing import NamedTuple

MODES = ("nczarr", "zarr", "file", "zip", "s3", "consolidated", "noxarray")
"""The modes of a netCDF URL."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")
_EXCLUSIVE = (("file", "zip", "s3"),)


class BadURLError(ValueError):
    """A URL that names no place; the text says why."""


class Location(NamedTuple):
    """A path, and the modes that a URL gave with it."""

    path: str
    modes: frozenset[str] = frozenset()

    @property
    def format(self) -> str | None:
        """The format that the modes name: pure Zarr is said beside `nczarr` too. None: not said."""
        if "zarr" in self.modes:
            return "zarr2"
        return "nczarr" if "nczarr" in self.modes else None


def location(text: str) -> Location:
    """The place that a text names. A path with `#` in it is a path. Raises BadURLError."""
    found = _SCHEME.match(text)
    if found is None:
        return Location(text)
    if found[0].lower() != "file://":
        raise BadURLError(f"`{found[0]}` leads to no file; paths and `file://` do")
    from urllib.parse import unquote

    rest, _, fragment = text[found.end() :].partition("#")
    path = unquote(rest.removeprefix("localhost") if rest.startswith("localhost/") else rest, errors="surrogateescape")
    if not path or "\0" in path:
        raise BadURLError("the URL has no path")
    modes = [mode for item in filter(None, fragment.split("&")) for mode in _modes(item)]
    for group in _EXCLUSIVE:
        given = [mode for mode in group if mode in modes]
        if len(given) > 1:
            raise BadURLError(f"the modes `{given[0]}` and `{given[1]}` exclude each other")
    return Location(path, frozenset(modes))


def _modes(item: str) -> list[str]:
    """The modes of one part of a fragment."""
    key, _, value = item.partition("=")
    if key != "mode":
        raise BadURLError(f"`{key}` stands behind `#`, where `mode=…` is known")
    modes = value.lower().split(",")
    unknown = [mode for mode in modes if mode not in MODES]
    if unknown:
        raise BadURLError(f"there is no mode `{unknown[0]}`; there are: {', '.join(MODES)}")
    return modes
