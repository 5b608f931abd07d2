"""Dimension scales of an HDF5 file, the dimensions that they are, and the axes that they fit."""

from __future__ import annotations

from collections.abc import Sequence
from struct import unpack
from typing import Any, NamedTuple, TypeAlias

from nczarr.formats.netcdf4.header.datatypes import REFERENCE
from nczarr.formats.netcdf4.header.file_bytes import UNDEFINED
from nczarr.formats.netcdf4.header.messages import HeaderAttribute

COORDINATES, DIMENSION_ID, DIMENSION_LIST = "_Netcdf4Coordinates", "_Netcdf4Dimid", "DIMENSION_LIST"
CLASS, NAME, REFERENCE_LIST, STRICT, PROVENANCE = "CLASS", "NAME", "REFERENCE_LIST", "_nc3_strict", "_NCProperties"
INTERNAL = frozenset({COORDINATES, DIMENSION_ID, DIMENSION_LIST, REFERENCE_LIST, STRICT, PROVENANCE})
"""Attributes that the netCDF library uses internally, and hides."""

OF_SCALES = frozenset({CLASS, NAME})
"""Those that it hides of dimension scales alone."""

ALL_INTERNAL = INTERNAL | OF_SCALES
"""Both."""

Internal: TypeAlias = dict[str, HeaderAttribute]
"""Internal attributes of a dataset by name."""


class HeaderDimension(NamedTuple):
    """Dimension."""

    name: str
    length: int
    """Length of its scale, or of the first dataset."""
    is_unlimited: bool
    """True if its length may grow; the library takes length 0 for that."""

    @classmethod
    def of(cls, name: str, length: int, most: int) -> HeaderDimension:
        """Return the dimension of a scale or dataset. `most`: its maximum length."""
        return cls(name, length, most == UNDEFINED or not length)

    def fits(self, length: int, most: int) -> bool:
        """Return whether the dimension is that of a dataset without scales."""
        return self.length == length and self.is_unlimited == (most == UNDEFINED)


class ChosenDimension(NamedTuple):
    """Dimension of an axis by its scales."""

    number: int | None
    """Id of the dimension; None if no scale fits."""
    has_scale: bool
    """True if the axis has a scale, also one that does not fit."""


class DimensionScales:
    """Scales of a file, of which `dimensions` has the dimensions by id."""

    def __init__(self, dimensions: dict[int, HeaderDimension]) -> None:
        """Begin without scales; `dimensions` by id is shared with the model."""
        self._dimensions = dimensions
        self.is_netcdf = False
        """True if libnetcdf, or a library like it, made the file."""
        self.misfits: list[str] = []
        """Texts about axes whose last scale has another length, or no dimension."""
        self.places: dict[int, str] = {}
        """Paths of the scales by dimension."""
        self.without_length: set[int] = set()
        """Dimensions whose scales have no dataspace, until an axis gives them a length."""
        self._chosen: dict[tuple[Any, ...], list[ChosenDimension]] = {}
        """Dimensions of axes by what they follow from: most variables share them."""
        self._own: dict[str, int] = {}
        self._of_objects: dict[tuple[str, int], dict[str, int]] = {}
        """Dimensions of each object by the path of their group: a scale may have several links."""

    def add(self, identity: tuple[str, int], group: str, place: str, number: int) -> None:
        """Record the dimension of a scale. `group`, `place`: paths of its group and of itself."""
        self._of_objects.setdefault(identity, {}).setdefault(group, number)
        self.places[number] = place
        self._own[place] = number

    def choose(
        self, file: str, group: str, place: str, shape: tuple[int, ...], most: tuple[int, ...], internal: Internal
    ) -> list[ChosenDimension]:
        """Return the dimension of each axis of a dataset; an axis keeps its length, whatever its scales have.

        Of several scales of an axis the last one that fits counts, as for libnetcdf 4.10, which does not compare
        lengths. `file`: path of the dataset's file; `group`, `place`: paths of its group and of itself.
        """
        lists, declared = internal.get(DIMENSION_LIST), internal.get(COORDINATES)
        types = id(lists and lists.type), id(declared and declared.type)  # the attributes hold them
        stored = lists and lists.nested, declared and declared.data
        key = file, group, shape, most, types, stored, len(self._dimensions)
        known = None if place in self._own else self._chosen.get(key)
        if known is not None:
            return known
        chosen, misfits = [], len(self.misfits)
        scales = self._list_scales(file, group, place, len(shape), internal)
        if shape and any(scales) and not scales[0]:  # libnetcdf 4.10 looks no further, and compares lengths
            self.misfits.append(f"axis 0 of `{place}` has no scale, and those of its other axes are not used")
            scales = [[]] * len(shape)
        for axis, (of_axis, length, most_of_axis) in enumerate(zip(scales, shape, most, strict=True)):
            fitting = [number for number in of_axis if number is not None and self._fits(number, length, most_of_axis)]
            chosen.append(ChosenDimension(fitting[-1] if fitting else None, bool(of_axis)))
            if of_axis and of_axis[-1] not in fitting:
                self.misfits.append(self._describe_misfit(f"axis {axis} of `{place}`", length, of_axis[-1]))
        is_shared = place not in self._own and not self.without_length  # axes give those a length
        if is_shared and len(self.misfits) == misfits:
            self._chosen[key] = chosen
        return chosen

    def _list_scales(
        self, file: str, group: str, place: str, rank: int, internal: Internal
    ) -> Sequence[Sequence[int | None]]:
        """Return the dimensions of the scales of each axis; None for a scale without a dimension."""
        declared = integers(internal[COORDINATES]) if COORDINATES in internal else ()
        own = self._own.get(place)
        if own is not None and rank == 1:
            return [[own]]  # a scale of one axis is a coordinate variable
        if len(declared) == rank and self._dimensions.keys() >= set(declared):
            return [[number] for number in declared]  # netCDF-C, too, takes these ids before DIMENSION_LIST
        if own is not None:
            return [[own], *[[]] * (rank - 1)]
        attribute = internal.get(DIMENSION_LIST)
        base, lists = (None, ()) if attribute is None else (attribute.type.base, attribute.nested)
        is_list = base is not None and base.family == REFERENCE and not base.form and base.size == 8
        if not is_list or not isinstance(lists, tuple) or len(lists) != rank:
            return [[]] * rank
        references = [one if isinstance(one, bytes) else b"" for one in lists]
        return [
            [self._find(group, (file, int.from_bytes(one[at : at + 8], "little"))) for at in range(0, len(one), 8)]
            for one in references
        ]

    def _find(self, group: str, identity: tuple[str, int]) -> int | None:
        """Return the dimension of a scale, of several that of the nearest group above; None without a dimension."""
        by_group = self._of_objects.get(identity, {})
        while group and group not in by_group:
            group = group.rpartition("/")[0]
        return by_group.get(group, next(iter(by_group.values()), None))

    def _fits(self, number: int, length: int, most: int) -> bool:
        """Return whether an axis can have a dimension. Those that netCDF lets grow are as long as the longest axis."""
        dimension = self._dimensions[number]
        if number in self.without_length:
            self.without_length.remove(number)
            self._dimensions[number] = dimension._replace(length=length)
            return True
        return length == dimension.length or (self.is_netcdf and dimension.is_unlimited and most == UNDEFINED)

    def _describe_misfit(self, axis: str, length: int, number: int | None) -> str:
        """Return the description of an axis whose last scale does not fit. `number`: the scale's dimension."""
        if number is None:
            return f"{axis} has a scale without a dimension"
        return f"{axis} has {length} cells, its scale `{self.places.get(number)}` has {self._dimensions[number].length}"


def integers(attribute: HeaderAttribute) -> tuple[int, ...]:
    """Return the values of an internal attribute of integers; `()` for other types."""
    if attribute.type.number not in ("<i4", ">i4") or not attribute.data:
        return ()
    return unpack(f"{attribute.type.number[0]}{len(attribute.data) // 4}i", attribute.data)
