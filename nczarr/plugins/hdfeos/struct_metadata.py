"""StructMetadata of an HDF-EOS5 file: the text in which the library describes swaths, grids, points and zonal averages.

It is in ODL, the Object Description Language: nested groups and objects with `NAME=VALUE`. Names of dimensions are in
no other place of the file. See the HDF-EOS library's user guide, volume 1, and the metadata of `HE5_SWdefdim`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

FOLDERS = {"Swath": "SWATHS", "Grid": "GRIDS", "Point": "POINTS", "Za": "ZAS"}
"""Group of HDF5 below `/HDFEOS` by kind of structure."""

FIELDS = {"GeoField": "Geolocation Fields", "ProfileField": "Profile Fields", "DataField": "Data Fields"}
"""Group of HDF5 in a structure by group of ODL."""

_STATEMENT = re.compile(
    r"""(?P<key>[A-Za-z_]\w*)[ \t]*=\s*(?P<value>"[^"]*"|\([^)]*\)|[^\s"(]\S*)|^\s*END\s*$""", re.MULTILINE
)
_WORD = re.compile(r'"([^"]*)"')


class FieldDimensions(NamedTuple):
    """Dimensions of a field."""

    path: tuple[str, ...]
    """Names of the groups and of the dataset, from the root."""
    names: tuple[str, ...]
    """Name of each dimension."""


class EosStructure(NamedTuple):
    """A swath, grid, point or zonal average."""

    path: tuple[str, ...]
    """Names of its groups, from the root."""
    lengths: dict[str, int]
    """Length of each dimension; 0 or less for an unlimited one."""
    fields: list[FieldDimensions]
    """Fields with names of dimensions, in the order of the text."""
    levels: list[str]
    """Levels of a point, whose records have no dimension in the text."""


class Statement(NamedTuple):
    """`NAME=VALUE` in its groups and objects."""

    scope: tuple[str, ...]
    """Names of groups and objects, the outermost first."""
    key: str
    value: str
    """Value without quotes; a list as it is written."""


def read_structures(text: str) -> list[EosStructure]:
    """Return the structures that a text describes, in its order. Parts that are no ODL are skipped.

    Examples
    --------
    >>> [grid] = read_structures('''
    ... GROUP=GridStructure
    ...   GROUP=GRID_1
    ...     GridName="Ozone"
    ...     XDim=360
    ...     GROUP=DataField
    ...       OBJECT=DataField_1
    ...         DataFieldName="O3"
    ...         DimList=("XDim")
    ... ''')
    >>> grid.lengths, grid.fields[0].path
    ({'XDim': 360}, ('HDFEOS', 'GRIDS', 'Ozone', 'Data Fields', 'O3'))
    """
    structures: dict[tuple[str, ...], EosStructure] = {}
    names: dict[tuple[str, ...], str] = {}
    for scope, key, value in _read_statements(text):
        kind = scope[0].removesuffix("Structure") if scope else ""
        if kind not in FOLDERS or len(scope) < 2:
            continue
        if len(scope) == 2 and key == f"{kind}Name":
            structures[scope] = EosStructure(("HDFEOS", FOLDERS[kind], value), {}, [], [])
        structure = structures.get(scope[:2])
        if structure is None:
            continue
        if len(scope) == 2 and key in ("XDim", "YDim"):
            _add_length(structure, key, value)
        elif key == "Size" and scope[2] == "Dimension":
            _add_length(structure, names.get(scope, ""), value)
        elif key == "LevelName":
            structure.levels.append(value)
        elif key == "DimensionName" or key.endswith("FieldName"):
            names[scope] = value
        elif key == "DimList" and scope in names:
            path = (*structure.path, FIELDS.get(scope[2], "Data Fields"), names[scope])
            structure.fields.append(FieldDimensions(path, tuple(_WORD.findall(value))))
    return list(structures.values())


def _add_length(structure: EosStructure, name: str, value: str) -> None:
    if name and re.fullmatch(r"-?\d{1,18}", value, re.ASCII):
        structure.lengths.setdefault(name, int(value))


def _read_statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text up to its `END`."""
    scope: list[str] = []
    for found in _STATEMENT.finditer(text):
        key, value = found["key"], (found["value"] or "").strip('"')
        if key is None:
            return
        if key in ("GROUP", "OBJECT"):
            scope.append(value)
        elif key in ("END_GROUP", "END_OBJECT"):
            if scope:
                scope.pop()
        else:
            yield Statement(tuple(scope), key, value)
