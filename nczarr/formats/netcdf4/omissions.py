"""What an HDF5 file has and the tree that was read from it has not, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple

from nczarr.arrays.library_lock import LOCK
from nczarr.formats.netcdf4.hdf5 import closing, hdf5, open_file
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.objects import NON_COORDINATE, Datasets
from nczarr.formats.netcdf4.survey import (
    DATASET,
    GROUP,
    Refusal,
    Shown,
    Survey,
    fqn,
    hidden_attributes,
    hidden_objects,
    strange_objects,
    survey,
)


class Seen(NamedTuple):
    """What was read of a group, in the spelling of the file."""

    dimensions: frozenset[str]
    """Names of its dimensions."""
    types: frozenset[str]
    """Names of its types."""
    variables: dict[str, frozenset[str]]
    """Names of the attributes of each variable that was read."""
    attributes: frozenset[str]
    """Names of its own attributes."""


def look(lib: Library, path: str) -> Survey | Refusal | None:
    """What is in a file that the library has not opened yet; None if HDF5 does not open it either. Raises OSError."""
    h5 = hdf5(lib)
    file = open_file(h5, path)
    if file < 0:
        return None
    with closing(h5, "H5Fclose", file):
        return survey(h5, file)


def strange(lib: Library, path: str, found: Survey) -> str | None:
    """What in a file may be the reason that the library does not open it; None if nothing is known."""
    h5 = hdf5(lib)
    with LOCK, suppress(OSError):  # the library's own failure is the one to tell
        file = open_file(h5, path)
        if file >= 0:
            with closing(h5, "H5Fclose", file):
                return next((why for _, why in strange_objects(h5, file, found)), None)
    return None


def unseen(known_groups: Mapping[str, Seen], found: Survey, known: Datasets) -> Iterator[str]:
    """What was not read, one text a thing. `known_groups`: what was, by FQN as spelled in the file. Raises OSError."""
    shown = {path: Shown(seen.dimensions, seen.types, frozenset(seen.variables)) for path, seen in known_groups.items()}
    for place in found.broken:
        yield f"the link `{place}` leads nowhere"
    hidden = set()
    for place, what in hidden_objects(found, shown):
        hidden.add(place)
        yield f"{what} `{place}` has a type, scale or name that netCDF has not, or its library does not show"
    for place, (kind, count) in found.objects.items():
        if place in hidden:
            continue
        parent, _, name = place.rpartition("/")
        own: frozenset[str] = frozenset()
        if kind == GROUP and fqn(place) in known_groups:
            own = known_groups[fqn(place)].attributes
        elif kind == DATASET and fqn(parent) in known_groups:
            own = known_groups[fqn(parent)].variables.get(name.removeprefix(NON_COORDINATE), own)
        if count > len(own):
            for attribute in hidden_attributes(known.h5, known.file, place, own):
                yield f"attribute `{attribute}` of `{place}` has a type or name that netCDF has not, or keeps to itself"
