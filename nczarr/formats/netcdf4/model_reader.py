"""Reader of the model of a netCDF-4 file: answers about groups, dimensions, types and variables → the tree."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from typing import Literal, Protocol, TypeAlias, cast

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Codec,
    CompoundType,
    Dataset,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    OpaqueType,
    Storage,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.node import members_of
from nczarr.ast.storage import LayoutName
from nczarr.ast.types import IntegerName
from nczarr.check.check_names import apart, namesakes
from nczarr.check.checked import Namesake, Unchecked
from nczarr.diagnostics.report import Diagnostic, Report, Severity
from nczarr.diagnostics.source import Source
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4 import objects
from nczarr.formats.netcdf4.choose_source import sources
from nczarr.formats.netcdf4.fill_values import beyond
from nczarr.formats.netcdf4.inquiry import (
    COMPOUND,
    ENUM,
    OPAQUE,
    GroupMembers,
    ModelInquiry,
    StorageInfo,
    TypeInfo,
    VariableInfo,
)
from nczarr.formats.netcdf4.objects import DatasetInfo
from nczarr.formats.netcdf4.omissions import agrees
from nczarr.formats.netcdf4.stored_variable import StoredVariable
from nczarr.formats.netcdf4.survey import ReadNames

LAYOUTS: dict[int, LayoutName] = {c.CHUNKED: "chunked", c.CONTIGUOUS: "contiguous", c.COMPACT: "compact"}
_LAYOUTS = {objects.CHUNKED: c.CHUNKED, objects.CONTIGUOUS: c.CONTIGUOUS, objects.COMPACT: c.COMPACT}
"""The library's numbers of HDF5's layouts."""

BIG = c.ENDIAN["big"]


Owner: TypeAlias = tuple[tuple[str, ...], str | None]
"""Owner of attributes in the file's spelling: a group, and a variable of it or None."""


_StorageKey: TypeAlias = tuple[
    LayoutName | None, tuple[int, ...] | None, tuple[Codec, ...], Literal["big"] | None, bool
]
"""Members of a storage. Equal nodes of a file are one: to make a node takes as long as to read its members."""


class Datasets(Protocol):
    """HDF5 metadata of the datasets of a file."""

    def of(self, group: tuple[str, ...], name: str) -> DatasetInfo | None:
        """Return the metadata of a variable's dataset; None if it does not exist. Raises OSError."""


class ModelReader(ABC):
    """Reader of a file; `datasets`: HDF5 metadata of its variables."""

    def __init__(self, ask: ModelInquiry, file: int, source: Source, report: Report, datasets: Datasets) -> None:
        self.ask = ask
        self.file = file
        self.datasets = datasets
        self.report = report
        self.path, self.name = source.path, source.name
        self.bytes = FileBytes.at(source.path, source.name)
        self.type_names = {number: name for name, number in c.ATOMIC_IDS.items()}
        self.infos: dict[int, tuple[int, TypeInfo]] = {}
        self.dimensions: dict[int, tuple[str, int]] = {}
        self.types: dict[str, UserType] = {}
        self.parts: dict[str, Parts] = {}
        self.growing: set[int] = set()
        self.members: dict[int, GroupMembers] = {}
        self.seen: dict[str, ReadNames] = {}
        self.namesakes: list[Namesake] = []
        self.attributes: dict[tuple[object, ...], Attribute] = {}
        self.storages: dict[_StorageKey, Storage] = {}

    def read(self) -> Unchecked:
        """Return the dataset."""
        self._collect("/", "/", self.file)
        for number, (group, info) in list(self.infos.items()):
            self._declare(group, number, info)
        root = self._group("/", "/", self.file)
        stem = os.path.splitext(os.path.basename(self.name))[0]
        kind = "nc7" if self.ask.is_classic_model(self.file) else "nc4"
        dataset = Dataset(**{**members_of(root), "name": stem, "kind": kind})
        return Unchecked(dataset, forward=True, parts=self.parts, namesakes=self.namesakes)

    def _collect(self, path: str, written: str, group: int) -> None:
        """Record the members of all groups under unique names; types and dimensions are global.

        `written`: the path in the file's spelling.
        """
        members = self.members[group] = GroupMembers.of(self.ask, group)
        called = iter(self._unique(members.items(), path))
        for number, info in members.types.items():
            self.type_names[number] = names.join(path, next(called))
            self.infos[number] = group, info
        for number, (_, length, growing) in members.dimensions.items():
            self.dimensions[number] = names.join(path, next(called)), length
            if growing:
                self.growing.add(number)
        members.shown.update(zip(members.variables, called, strict=False))
        members.below.update(zip(members.groups, called, strict=True))
        for child, name in members.groups.items():
            self._collect(names.join(path, members.below[child]), names.join(written, name), child)

    def _declare(self, group: int, number: int, info: TypeInfo) -> None:
        """Record a type; omit types with a component that netCDF does not support."""
        try:
            self.types[self.type_names[number]] = self._type(group, number, info)
        except KeyError:
            del self.infos[number], self.type_names[number]

    def _type(self, group: int, number: int, info: TypeInfo) -> UserType:
        name = names.last(self.type_names[number])
        if info.kind == OPAQUE:
            return OpaqueType(name=name, size=info.size)
        if info.kind == ENUM:
            base = self.type_names[info.base]
            atomic = ATOMIC[base]
            members = self.ask.members(group, number, info.members)
            labels = self._unique([("enum constant", label) for label, _ in members], self.type_names[number])
            constants = tuple(
                EnumConstant(name=label, value=int.from_bytes(data[: atomic.size], c.BYTE_ORDER, signed=atomic.low < 0))
                for label, (_, data) in zip(labels, members, strict=True)
            )
            return EnumType(name=name, base=cast("IntegerName", base), constants=constants)
        if info.kind == COMPOUND:
            if not info.members:  # the library shows so one with a member that it has no type for
                raise KeyError(info.name)
            members_of_record = self.ask.fields(group, number, info.members)
            labels = self._unique([("field", field.name) for field in members_of_record], self.type_names[number])
            fields = tuple(
                Field(name=label, type=self.type_names[field.type], shape=field.shape)
                for label, field in zip(labels, members_of_record, strict=True)
            )
            return CompoundType(name=name, fields=fields)
        return VlenType(name=name, base=self.type_names[info.base])

    def _unique(self, items: list[tuple[str, str]], scope: str) -> list[str]:
        """Return unique names for the members of a group or type, given by kind and name."""
        shown = apart(items)
        self.namesakes += namesakes(items, shown, scope)
        return [name for name, _ in shown]

    def _group(self, path: str, written: str, group: int) -> Group:
        members = self.members[group]
        dimensions = tuple(
            Dimension(name=names.last(self.dimensions[number][0]), size=length, unlimited=growing)
            for number, (_, length, growing) in members.dimensions.items()
        )
        place = names.split(written), None
        attributes, seen_names = self._attributes(group, c.GLOBAL, self.ask.attribute_count(group), path, place)
        seen = self.seen["/".join(("", *place[0]))] = ReadNames(
            frozenset(name for name, _, _ in members.dimensions.values()),
            frozenset(info.name for number, info in members.types.items() if number in self.infos),
            {},
            seen_names,
        )
        variables = []
        for number in members.variables:
            variable = self._variable(path, written, group, number, seen)
            if variable is not None:
                variables.append(variable)
        groups = tuple(
            self._group(names.join(path, members.below[child]), names.join(written, name), child)
            for child, name in members.groups.items()
        )
        return Group(
            name=names.last(path) if path != "/" else "_",
            types=tuple(self.types[self.type_names[number]] for number in members.types if number in self.infos),
            dimensions=dimensions,
            variables=tuple(variables),
            attributes=attributes,
            groups=groups,
        )

    def _variable(self, path: str, written: str, group: int, number: int, seen: ReadNames) -> Variable | None:
        """Return a variable; None for an invalid name, unsupported type or dimension, or other type than HDF5's."""
        members = self.members[group]
        info, name = members.variables[number], members.shown[number]
        alike = members.alike[info.name]
        if info.type not in self.type_names or not all(dimension in self.dimensions for dimension in info.dimensions):
            return None
        if names.problem(info.name) is not None:
            return None
        type_name = self.type_names[info.type]
        above, path = names.split(written), names.join(path, name)
        unique = len(alike) == 1  # of two, HDF5's names do not tell which is which
        dataset = self.datasets.of(above, info.name) if unique else None
        if dataset is not None and not agrees(type_name, self.types, dataset):
            return None
        attributes, seen_names = self._attributes(
            group, number, info.attributes, path, (above, info.name) if unique else None
        )
        seen.variables[info.name] = seen_names | seen.variables.get(info.name, frozenset())
        storage = self._storage(path, group, number, info, type_name, dataset)
        variable = Variable(
            name=name,
            type=type_name,
            dimensions=tuple([self.dimensions[dimension][0] for dimension in info.dimensions]),
            attributes=attributes,
            storage=storage,
        )
        shape = tuple([self.dimensions[dimension][1] for dimension in info.dimensions])
        extent = dataset.extent if dataset is not None else None
        stored = StoredVariable(
            self.bytes,
            above,
            info.name,
            type_name,
            self.types,
            shape,
            beyond(self.ask, (group, number), type_name, self.types, dataset, no_fill=storage.no_fill),
            extent if extent != shape else None,
            None if unique else alike.index(number),
            dataset.fixed if dataset is not None and type_name == "string" else None,
            extent is not None and len(extent) == len(shape),
        )
        self.parts[path] = sources(stored, dataset)
        return variable

    def _storage(
        self, path: str, group: int, number: int, info: VariableInfo, type_name: str, dataset: DatasetInfo | None
    ) -> Storage:
        """Return the storage, with filters in file order, which the library does not report."""
        reported = None if dataset is None else _storage_of(dataset)
        if reported is None:
            reported = self.ask.storage(group, number, len(info.dimensions), filters=dataset is None)
        codecs = tuple(Codec(id=number, parameters=tuple(values)) for number, *values in reported.filters)
        layout = LAYOUTS.get(reported.layout)
        if layout != "chunked" and self.growing.intersection(info.dimensions):
            # other programs store what is empty in one piece, and the library takes length 0 for unlimited
            text = f"`{path}` is {layout}, but the netCDF library treats one of its dimensions as unlimited"
            helps = ("it is read without a layout, and written in chunks",)
            self.report.add(Diagnostic("unused-layout", Severity.NOTE, text, helps=helps))
            layout = None
        wide = type_name in ATOMIC and ATOMIC[type_name].size > 1
        # HDF5 has chunks that are longer than a dimension of fixed length, where it might become longer
        chunks = tuple(
            [
                length if free in self.growing else min(length, max(1, self.dimensions[free][1]))
                for length, free in zip(reported.chunks, info.dimensions, strict=False)
            ]
        )
        endian: Literal["big"] | None = "big" if wide and reported.endian == BIG else None
        key = layout, chunks or None, codecs if dataset is None else dataset.filters, endian, reported.no_fill
        storage = self.storages.get(key)
        if storage is None:
            storage = self.storages[key] = Storage(
                layout=key[0], chunks=key[1], codecs=key[2], endian=endian, no_fill=reported.no_fill
            )
        return storage

    @abstractmethod
    def _attributes(
        self, group: int, owner: int, count: int, scope: str, at: Owner | None
    ) -> tuple[tuple[Attribute, ...], frozenset[str]]:
        """Return attributes, and all names accounted for, in the file's spelling."""


def _storage_of(dataset: DatasetInfo) -> StorageInfo | None:
    """Return the storage of a dataset of fixed-size elements as the library shows it; None for other elements.

    The library may have the others from an image of the file without their fill
    values.
    """
    if dataset.dtype is None:
        return None
    chunks = dataset.chunks if dataset.layout == objects.CHUNKED else ()
    endian = BIG if dataset.dtype[0] == ">" else 0
    return StorageInfo(_LAYOUTS.get(dataset.layout, -1), chunks, (), endian, not dataset.given)
