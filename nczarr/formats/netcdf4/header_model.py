"""netCDF model of a file whose header is read here: groups, dimensions, types and variables by id.

It answers what `Inquiry` asks the netCDF library. The rules are those of libnetcdf: dimension scales are dimensions,
`_Netcdf4Dimid` numbers them, `_Netcdf4Coordinates` or `DIMENSION_LIST` name the dimensions of a variable.
"""

from __future__ import annotations

from functools import cached_property
from struct import unpack
from typing import NamedTuple

from nczarr.arrays.sources.source import Descr
from nczarr.arrays.values.elements import swapped
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.header.attributes import HeaderAttribute
from nczarr.formats.netcdf4.header.dataset_info import HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import REFERENCE, Datatype
from nczarr.formats.netcdf4.header.file_bytes import UNDEFINED, HeaderFile, UnreadableHeaderError
from nczarr.formats.netcdf4.header.file_objects import read_objects
from nczarr.formats.netcdf4.header.groups import Link
from nczarr.formats.netcdf4.inquiry import COMPOUND, ENUM, OPAQUE, VLEN, FieldInfo, StorageInfo, TypeInfo, VariableInfo
from nczarr.formats.netcdf4.objects import (
    CHUNKED,
    COMPACT,
    CONTIGUOUS,
    NON_COORDINATE,
    STRING,
    DatasetInfo,
    text_of,
)
from nczarr.formats.netcdf4.objects import COMPOUND as RECORD
from nczarr.formats.netcdf4.objects import ENUM as ENUMERATION
from nczarr.formats.netcdf4.objects import OPAQUE as BYTES
from nczarr.formats.netcdf4.objects import VLEN as LIST

COORDINATES, DIMENSION_ID, DIMENSION_LIST = "_Netcdf4Coordinates", "_Netcdf4Dimid", "DIMENSION_LIST"
CLASS, NAME, REFERENCE_LIST = "CLASS", "NAME", "REFERENCE_LIST"
STRICT, PROVENANCE = "_nc3_strict", "_NCProperties"

HIDDEN = frozenset({COORDINATES, DIMENSION_ID, DIMENSION_LIST, CLASS, NAME, REFERENCE_LIST, STRICT, PROVENANCE})
"""Attributes that the netCDF library uses internally, and hides."""

NO_VARIABLE = b"This is a netCDF dimension but not a netCDF variable"
"""Start of the name of a dimension scale without a variable."""

FIRST_TYPE = 32
"""Id of the first user-defined type."""

CLASSES = {RECORD: COMPOUND, ENUMERATION: ENUM, BYTES: OPAQUE, LIST: VLEN}
"""The library's classes of user-defined types by HDF5's."""

LAYOUTS = {CHUNKED: c.CHUNKED, CONTIGUOUS: c.CONTIGUOUS, COMPACT: c.COMPACT}
"""The library's numbers of HDF5's layouts."""

ATOMIC = {
    "|i1": "byte", "|S1": "char", "i2": "short", "i4": "int", "f4": "float", "f8": "double", "|u1": "ubyte",
    "u2": "ushort", "u4": "uint", "i8": "int64", "u8": "uint64",
}  # fmt: skip
"""Atomic types by `Descr`, without its byte order."""


class HeaderVariable(NamedTuple):
    """Variable of a group."""

    name: str
    """Name, without the prefix of the file."""
    stored: str
    """Name of its dataset."""
    dataset: HeaderDataset
    """Its dataset."""
    type: int
    """Id of its type."""
    dimensions: tuple[int, ...]
    """Ids of its dimensions."""
    attributes: tuple[HeaderAttribute, ...]
    """Attributes, without internal ones."""


class _Scale(NamedTuple):
    """Dimension."""

    name: str
    """Name of the dimension."""
    length: int
    """Length of its scale, or of the first dataset."""
    is_unlimited: bool
    """True if its length may grow; the library takes length 0 for that."""

    @classmethod
    def of(cls, name: str, length: int, most: int) -> _Scale:
        """Return the dimension of a scale or dataset. `most`: its maximum length."""
        return cls(name, length, most == UNDEFINED or not length)

    def fits(self, length: int, most: int) -> bool:
        """Return whether the dimension is that of a dataset without scales."""
        return self.length == length and self.is_unlimited == (most == UNDEFINED)


class _Stored(NamedTuple):
    """Dataset that is a variable."""

    name: str
    """Name of the dataset."""
    address: int
    """Address of its header."""
    dataset: HeaderDataset
    """Its metadata."""
    type: int
    """Id of its type."""
    attributes: list[HeaderAttribute]
    """Its attributes."""


class HeaderGroup:
    """Members of a group."""

    def __init__(self, name: str, path: tuple[str, ...]) -> None:
        self.name = name
        """Name."""
        self.path = path
        """Names that lead to it."""
        self.children: list[int] = []
        """Ids of its groups."""
        self.types: list[int] = []
        """Ids of its types."""
        self.dimensions: list[int] = []
        """Ids of its dimensions."""
        self.stored: list[_Stored] = []
        """Its datasets that are variables."""
        self.variables: list[HeaderVariable] = []
        """Its variables; ids are indices."""
        self.attributes: tuple[HeaderAttribute, ...] = ()
        """Attributes, without internal ones."""


class HeaderModel:
    """Answers of the netCDF library about one file. Raises UnreadableHeaderError, and OSError, when it is made."""

    def __init__(self, file: HeaderFile) -> None:
        root = file.root()
        self._objects = read_objects(file, root)
        self._groups: list[HeaderGroup] = []
        self._scales: dict[int, _Scale] = {}
        self._dimension_ids: dict[int, int] = {}
        self._lengths: dict[int, int] = {}
        self._types: dict[int, tuple[str, Datatype]] = {}
        self._named: dict[int, int] = {}
        self._keys: dict[tuple[object, ...], int] = {}
        self._next_dimension = 0
        self.classic = False
        self._collect("/", (), root)
        self._find_lengths()

    # ---- collection -----------------------------------------------------------------------------------------------
    def _collect(self, name: str, path: tuple[str, ...], address: int) -> int:
        """Record a group and all below it; return its id."""
        group, number = HeaderGroup(name, path), len(self._groups)
        self._groups.append(group)
        attributes, links, _, _ = self._objects[address]
        if not path:
            self.classic = any(attribute.name == STRICT for attribute in attributes)
        group.attributes = tuple(attribute for attribute in attributes if attribute.name not in HIDDEN)
        if any(attribute.name in (CLASS, NAME) for attribute in attributes):
            raise UnreadableHeaderError("attribute of a group")
        below = []
        for link in links or ():
            _, of_group, dataset, kind = self._objects[link.address]
            if of_group is not None:
                below.append(link)
            elif dataset is not None:
                self._dataset(group, link, dataset)
            elif kind is not None:
                self._type(group, link, kind)
        for link in below:
            group.children.append(self._collect(link.name, (*path, link.name), link.address))
        for stored in group.stored:  # dimensions without a scale are made of the deepest groups first
            group.variables.append(self._variable(group, stored))
        self._check_attributes(group)
        return number

    def _type(self, group: HeaderGroup, link: Link, kind: Datatype) -> None:
        """Record a named type."""
        if kind.family not in CLASSES or kind.is_text or self._objects[link.address].attributes:
            raise UnreadableHeaderError("named type")
        number = FIRST_TYPE + len(self._types)
        self._types[number] = link.name, kind
        self._named[link.address] = number
        if kind.key in self._keys:  # which of two equal types a field has is not in the file
            raise UnreadableHeaderError("types that are equal")
        self._keys[kind.key] = number
        group.types.append(number)
        for inner in (kind.base, *(member.type for member in kind.members)):
            if inner is not None:
                self.number(inner, None)

    def number(self, kind: Datatype, declared: int | None) -> int:
        """Return the id of a type. `declared`: address of the named type."""
        if declared is not None:
            if declared in self._named:
                return self._named[declared]
            raise UnreadableHeaderError("type of another group")
        if kind.family in CLASSES and not kind.is_text:
            if kind.key in self._keys:
                return self._keys[kind.key]
        elif kind.is_text or kind.family == STRING:
            return c.ATOMIC_IDS["char" if kind.size == 1 and kind.family == STRING else "string"]
        elif kind.number is not None:
            return c.ATOMIC_IDS[ATOMIC[kind.number.lstrip("<>")]]
        raise UnreadableHeaderError("type without a name")

    def _dataset(self, group: HeaderGroup, link: Link, dataset: HeaderDataset) -> None:
        """Record a dataset: a dimension, a variable, or both."""
        name, address = link
        attributes = self._objects[address].attributes
        internal = {attribute.name: attribute for attribute in attributes if attribute.name in HIDDEN}
        if dataset.info.extent is None:
            raise UnreadableHeaderError("dataset without values")
        if CLASS in internal:
            if _text(internal[CLASS]) != b"DIMENSION_SCALE" or not dataset.info.extent:
                raise UnreadableHeaderError("dimension scale")
            dimension = _integers(internal[DIMENSION_ID])[0] if DIMENSION_ID in internal else None
            scale = _Scale.of(name, dataset.info.extent[0], dataset.most[0])
            self._dimension_ids[address] = self._add_dimension(group, scale, dimension)
            if NAME in internal and _text(internal[NAME]).startswith(NO_VARIABLE):
                return
        elif NAME in internal:
            raise UnreadableHeaderError("attribute of a variable")
        number = self.number(dataset.type, dataset.declared)
        group.stored.append(_Stored(name, address, dataset, number, attributes))

    def _add_dimension(self, group: HeaderGroup, scale: _Scale, declared: int | None) -> int:
        """Record a dimension and return its id. `declared`: its id in the file; None if the file has none."""
        number = self._next_dimension if declared is None else declared
        if number in self._scales or number < 0:
            raise UnreadableHeaderError("dimension")
        self._next_dimension = max(self._next_dimension, number + 1)
        self._scales[number] = scale
        group.dimensions.append(number)
        return number

    def _variable(self, group: HeaderGroup, stored: _Stored) -> HeaderVariable:
        name, address, dataset, number, attributes = stored
        internal = {attribute.name: attribute for attribute in attributes if attribute.name in HIDDEN}
        shape = dataset.info.extent or ()
        if CLASS in internal and len(shape) == 1:
            dimensions: tuple[int, ...] = (self._dimension_ids[address],)
        elif COORDINATES in internal:
            dimensions = _integers(internal[COORDINATES])
        elif DIMENSION_LIST in internal:
            dimensions = self._listed(internal[DIMENSION_LIST])
        elif CLASS in internal:
            raise UnreadableHeaderError("dimension scale")
        else:
            by_length: list[int] = []
            for length, most in zip(shape, dataset.most, strict=True):
                by_length.append(self._of_length(group, by_length, length, most))
            dimensions = tuple(by_length)
        if len(dimensions) != len(shape) or not set(dimensions) <= self._scales.keys():
            raise UnreadableHeaderError("dimensions of a variable")
        shown = tuple(attribute for attribute in attributes if attribute.name not in HIDDEN)
        if any(len(attribute.shape or ()) > 1 for attribute in shown):
            raise UnreadableHeaderError("attribute of several dimensions")
        return HeaderVariable(name.removeprefix(NON_COORDINATE), name, dataset, number, dimensions, shown)

    def _of_length(self, group: HeaderGroup, taken: list[int], length: int, most: int) -> int:
        """Return a dimension of a group by its length, for a dataset without scales, or make one.

        `taken`: dimensions that the dataset has already.
        """
        for number in group.dimensions:
            if number not in taken and self._scales[number].fits(length, most):
                return number
        return self._add_dimension(group, _Scale.of(f"phony_dim_{self._next_dimension}", length, most), None)

    def _listed(self, attribute: HeaderAttribute) -> tuple[int, ...]:
        """Return the dimensions in a `DIMENSION_LIST`: references to one scale for each."""
        base = attribute.type.base
        if base is None or base.family != REFERENCE or base.form or base.size != 8:
            raise UnreadableHeaderError("list of dimensions")
        numbers = []
        for scales in attribute.lists:
            number = self._dimension_ids.get(int.from_bytes(scales or b"", "little"))
            if number is None or len(scales or b"") != base.size:
                raise UnreadableHeaderError("list of dimensions")
            numbers.append(number)
        return tuple(numbers)

    def _find_lengths(self) -> None:
        """Find the length of each dimension: that of the longest variable, if it is unlimited."""
        self._lengths = {number: 0 if s.is_unlimited else s.length for number, s in self._scales.items()}
        for group in self._groups:
            for variable in group.variables:
                for dimension, length in zip(variable.dimensions, variable.dataset.info.extent or (), strict=True):
                    if self._scales[dimension].is_unlimited:
                        self._lengths[dimension] = max(self._lengths[dimension], length)

    def _check_attributes(self, group: HeaderGroup) -> None:
        """Raise UnreadableHeaderError for attributes of types that have no id."""
        for attribute in group.attributes:
            self.number(attribute.type, attribute.declared)
            if len(attribute.shape or ()) > 1:
                raise UnreadableHeaderError("attribute of several dimensions")
        for variable in group.variables:
            for attribute in variable.attributes:
                self.number(attribute.type, attribute.declared)

    # ---- answers, as those of `Inquiry` ---------------------------------------------------------------------------
    def is_classic_model(self, file: int) -> bool:
        """Return whether the file has the classic model (nc7)."""
        return self.classic

    def groups(self, group: int) -> tuple[int, ...]:
        """Return the child groups."""
        return tuple(self._groups[group].children)

    def group_name(self, group: int) -> str:
        """Return the simple name of a group."""
        return self._groups[group].name

    def dimensions(self, group: int) -> dict[int, tuple[str, int, bool]]:
        """Return a group's own dimensions by id: name, length, whether unlimited."""
        own = sorted(self._groups[group].dimensions)
        return {n: (self._scales[n].name, self._lengths[n], self._scales[n].is_unlimited) for n in own}

    def types(self, group: int) -> dict[int, TypeInfo]:
        """Return a group's own types by id."""
        infos = {}
        for number in self._groups[group].types:
            name, kind = self._types[number]
            base = 0 if kind.base is None else self.number(kind.base, None)
            count = len(kind.members) or len(kind.constants)
            infos[number] = TypeInfo(CLASSES[kind.family], name, kind.size, base, count)
        return infos

    def fields(self, group: int, number: int, count: int) -> list[FieldInfo]:
        """Return the fields of a compound type."""
        members = [(m.name.decode("utf-8", "surrogateescape"), m) for m in self._types[number][1].members]
        return [FieldInfo(name, self.number(member.type, None), member.shape) for name, member in members]

    def members(self, group: int, number: int, count: int) -> list[tuple[str, bytes]]:
        """Return an enum's members; values are bytes of the base type."""
        kind = self._types[number][1]
        assert kind.base is not None
        return [
            (name.decode("utf-8", "surrogateescape"), in_native_order(value, kind.base.descr))
            for name, value in kind.constants
        ]

    def variables(self, group: int) -> dict[int, VariableInfo]:
        """Return a group's variables by id."""
        return {
            number: VariableInfo(v.name, v.type, v.dimensions, len(v.attributes))
            for number, v in enumerate(self._groups[group].variables)
        }

    def attribute_count(self, group: int) -> int:
        """Return the number of attributes of a group."""
        return len(self._groups[group].attributes)

    def storage(self, group: int, variable: int, rank: int, *, filters: bool = True) -> StorageInfo:
        """Return the storage of a variable."""
        info = self._groups[group].variables[variable].dataset.info
        chunks = info.chunks if info.layout == CHUNKED else ()
        return StorageInfo(LAYOUTS[info.layout], chunks, (), 0, not info.given)

    def fill(self, group: int, variable: int, size: int) -> bytes:
        """Return the value of an atomic variable's unwritten cells: `size` bytes, native order."""
        info = self._groups[group].variables[variable].dataset.info
        if info.fill is None or info.dtype is None or len(info.fill) != size:
            raise UnreadableHeaderError("fill value")
        return in_native_order(info.fill, info.dtype)

    def attributes(self, group: int, variable: int | None) -> tuple[HeaderAttribute, ...]:
        """Return the attributes of a group or of a variable of it, without internal ones."""
        members = self._groups[group]
        return members.attributes if variable is None else members.variables[variable].attributes

    @cached_property
    def _infos(self) -> dict[tuple[tuple[str, ...], str], DatasetInfo]:
        return {(group.path, v.name): v.dataset.info for group in self._groups for v in group.variables}

    def of(self, group: tuple[str, ...], name: str) -> DatasetInfo | None:
        """Return the metadata of a variable's dataset."""
        return self._infos.get((group, name))


def in_native_order(data: bytes, dtype: Descr | None) -> bytes:
    """Return values of a flat type in the byte order of this machine."""
    if isinstance(dtype, str) and dtype[0] == ("<" if c.BYTE_ORDER == "big" else ">"):
        return swapped(data, dtype)
    return data


def _integers(attribute: HeaderAttribute) -> tuple[int, ...]:
    """Return the values of an internal attribute of integers."""
    if attribute.type.number not in ("<i4", ">i4") or not attribute.data:
        raise UnreadableHeaderError("internal attribute")
    return unpack(f"{attribute.type.number[0]}{len(attribute.data) // 4}i", attribute.data)


def _text(attribute: HeaderAttribute) -> bytes:
    """Return the value of an internal attribute: one fixed-length text."""
    if attribute.type.family != STRING:
        raise UnreadableHeaderError("internal attribute")
    return text_of(attribute.data, terminated=True)
