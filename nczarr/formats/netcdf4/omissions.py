"""Detects HDF5 objects that the tree omits, and types unknown to netCDF.

libnetcdf 4.10.1 reports half and extended floats as strings, fixed-length texts
in records as single chars, and records without unsupported members: variable
types are compared with HDF5's.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import assert_never

from nczarr.arrays.execution.library_lock import LOCK
from nczarr.arrays.sources.source import little_descr
from nczarr.arrays.values.parts import Types, descr, is_fixed
from nczarr.ast import ATOMIC, CompoundType, EnumType, OpaqueType, VlenType
from nczarr.formats.netcdf4 import objects
from nczarr.formats.netcdf4.damage import scan
from nczarr.formats.netcdf4.hdf5 import DATASET, GROUP, hdf5, opened_file
from nczarr.formats.netcdf4.isolation import SuspectError, is_apart
from nczarr.formats.netcdf4.library import Library
from nczarr.formats.netcdf4.objects import NON_COORDINATE, DatasetInfo, FileDatasets, Outline
from nczarr.formats.netcdf4.survey import (
    ReadNames,
    Survey,
    hidden_attributes,
    hidden_objects,
    in_other_file,
    strange_objects,
    survey,
)
from nczarr.stores import remote_file


def look(lib: Library, path: str) -> Survey | None:
    """Return the objects of a file not yet opened by the library; None if HDF5 cannot open it.

    Raises OSError, and SuspectError for a damaged file unless this process is
    apart.
    """
    h5 = hdf5(lib)
    with opened_file(h5, path) as file:
        remote = remote_file.at(path)
        surveyed = None if file < 0 else survey(h5, file, remote=remote is not None)
        if surveyed is None or not surveyed.is_damaged:
            return surveyed
        if not is_apart():
            raise SuspectError(path)
        return scan(h5, file, surveyed, os.path.getsize(path) if remote is None else remote.size)


def strange(lib: Library, path: str, surveyed: Survey) -> str | None:
    """Return the likely reason why the library does not open a file; None if unknown."""
    h5 = hdf5(lib)
    with LOCK, suppress(OSError), opened_file(h5, path) as file:  # the library's own failure is the one to tell
        return None if file < 0 else next((why for _, why in strange_objects(h5, file, surveyed)), None)
    return None


def unseen(known_groups: Mapping[str, ReadNames], surveyed: Survey, datasets: FileDatasets) -> Iterator[str]:
    """Yield a text for each unread object. `known_groups`: what was read, by path in the file. Raises OSError."""
    for place in surveyed.broken:
        yield f"the link `{place}` has no target"
    for place in surveyed.elsewhere:
        yield in_other_file(place)
    for _, why in surveyed.hidden:
        yield f"{why}: the netCDF library crashes on such a link, or does not open the file"
    hidden = set(surveyed.damaged)
    for place in surveyed.damaged:
        yield f"`{place}` is damaged: HDF5 cannot read it"
    damaged = {(place, name.decode("utf-8", "surrogateescape")) for place, name in surveyed.unreadable}
    for place, name in sorted(damaged):
        yield f"attribute `{name}` of `{place}` is damaged: HDF5 cannot read its values"
    for place, what in hidden_objects(surveyed, known_groups):
        if place in hidden:
            continue
        hidden.add(place)
        yield f"{what} `{place}` has a type, scale or name that netCDF cannot represent or its library does not show"
    for place, listed in surveyed.objects.items():
        if place in hidden:
            continue
        parent, _, name = place.rpartition("/")
        attributes: frozenset[str] = frozenset()
        if listed.kind == GROUP and place.rstrip("/") in known_groups:
            attributes = known_groups[place.rstrip("/")].attributes
        elif listed.kind == DATASET and parent in known_groups:
            attributes = known_groups[parent].variables.get(name.removeprefix(NON_COORDINATE), attributes)
        if listed.attributes - len(attributes) > listed.reserved:
            for attribute in hidden_attributes(datasets.h5, datasets.file, place, attributes, is_scale=listed.is_scale):
                if (place, attribute) in damaged:
                    continue
                yield f"attribute `{attribute}` of `{place}` has a type or name that netCDF cannot represent"


# ---- types ----------------------------------------------------------------------------------------------------------
def agrees(type_name: str, types: Types, dataset: DatasetInfo) -> bool:
    """Return whether a variable of this type can be read from a dataset."""
    if dataset.dtype is not None:
        return is_fixed(type_name, types) and little_descr(dataset.dtype) == descr(type_name, types)
    return dataset.outline is None or fits(type_name, types, dataset.outline)


def fits(type_name: str, types: Types, stored: Outline) -> bool:
    """Return whether a type matches an outline; the library converts odd integer widths."""
    declared = types.get(type_name)
    match declared:
        case None:
            return _fits_atomic(type_name, stored)
        case EnumType():
            return stored.family == objects.ENUM and stored.base is not None and fits(declared.base, types, stored.base)
        case OpaqueType():
            return (stored.family, stored.size) == (objects.OPAQUE, declared.size)
        case VlenType():
            return stored.family == objects.VLEN and stored.base is not None and fits(declared.base, types, stored.base)
        case CompoundType():
            return (
                stored.family == objects.COMPOUND
                and [name for name, _, _ in stored.members] == [field.name for field in declared.fields]
                and all(
                    shape == field.shape and fits(field.type, types, inner)
                    for field, (_, shape, inner) in zip(declared.fields, stored.members, strict=True)
                )
            )
        case _:
            assert_never(declared)


def _fits_atomic(type_name: str, stored: Outline) -> bool:
    if type_name in ("string", "char"):
        return stored.family == objects.STRING and (type_name == "string" or stored.size == 1)
    if type_name in ("float", "double"):
        return stored.family == objects.FLOAT and stored.size == ATOMIC[type_name].size
    return stored.family == objects.INTEGER and stored.size <= ATOMIC[type_name].size
