"""What an HDF5 file has and the tree that was read from it has not, in words."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

from nczarr.ast import Group
from nczarr.ast.walk import groups
from nczarr.formats.netcdf4.hdf5 import LOCK, closing, hdf5, open_file
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


def unseen(root: Group, found: Survey, known: Datasets) -> Iterator[str]:
    """What is not in the tree, one text a thing. Raises OSError."""
    tree = dict(groups(root))
    shown = {
        path: Shown(
            frozenset(item.name for item in group.dimensions),
            frozenset(item.name for item in group.types),
            frozenset(item.name for item in group.variables),
        )
        for path, group in tree.items()
    }
    for place in found.broken:
        yield f"the link `{place}` leads nowhere"
    hidden = set()
    for place, what in hidden_objects(found, shown):
        hidden.add(place)
        yield f"{what} `{place}` has a type, scale or name that netCDF has not, or its library does not show"
    attributes = {
        (path, variable.name): frozenset(attribute.name for attribute in variable.attributes)
        for path, group in tree.items()
        for variable in group.variables
    }
    for place, (kind, count) in found.objects.items():
        if place in hidden:
            continue
        parent, _, name = place.rpartition("/")
        if kind == GROUP:
            group = tree.get(fqn(place))
            own = frozenset(attribute.name for attribute in group.attributes) if group is not None else frozenset()
        elif kind == DATASET:
            own = attributes.get((fqn(parent), name.removeprefix(NON_COORDINATE)), frozenset())
        else:
            own = frozenset()
        if count > len(own):
            for attribute in hidden_attributes(known.h5, known.file, place, own):
                yield f"attribute `{attribute}` of `{place}` has a type or name that netCDF has not, or keeps to itself"
