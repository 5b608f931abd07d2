"""netCDF-4 files read: HDF5 → `Unchecked`, with array sources that describe where values lie.

The model comes through the netCDF library, which knows what HDF5 objects mean to netCDF: dimension scales, names that
are not coordinates, the classic model. Of values nothing is read.
"""

from __future__ import annotations

import os
from ctypes import create_string_buffer
from typing import Any

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Codec,
    CompoundType,
    Constant,
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
from nczarr.ast.walk import building
from nczarr.data.affine import FileBytes
from nczarr.data.parts import is_fixed
from nczarr.data.source import Parts
from nczarr.diagnostics import Report
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.agreement import agrees
from nczarr.formats.netcdf4.arrays import StoredVariable, opened
from nczarr.formats.netcdf4.hdf5 import LOCK
from nczarr.formats.netcdf4.inquiry import COMPOUND, ENUM, OPAQUE, Inquiry, TypeInfo, VariableInfo
from nczarr.formats.netcdf4.library import MissingLibraryError, library
from nczarr.formats.netcdf4.memory import c_dtype, constant_of
from nczarr.formats.netcdf4.objects import DatasetInfo, Datasets, datasets
from nczarr.formats.netcdf4.sources import sources
from nczarr.formats.netcdf4.survey import Refusal, Survey
from nczarr.formats.netcdf4.unseen import look, strange, unseen
from nczarr.kinds import RESERVED_ATTRIBUTES
from nczarr.options import Options
from nczarr.passes.checked import Unchecked
from nczarr.source import Source

LAYOUTS = {c.CHUNKED: "chunked", c.CONTIGUOUS: "contiguous", c.COMPACT: "compact"}
BIG = c.ENDIAN["big"]


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """The dataset of a netCDF-4 file; None if it cannot be read. Reports missing-library, unreadable-file."""
    if not os.path.isfile(source.path):
        text = f"`{source.name}` is no file: netCDF-4 is read from files alone"
        report.error("unreadable-file", text, helps=["save it to a file first"])
        return None
    try:
        lib = library()
    except MissingLibraryError:
        text = "netCDF-4 files are read by the netCDF library of netCDF4-python, which is not installed"
        report.error("missing-library", text, helps=["`pip install nczarr[netcdf]`"])
        return None
    found: Survey | Refusal | None = None
    try:
        with LOCK, building():
            found = look(lib, source.path)
            if isinstance(found, Refusal):
                helps = ["the netCDF library does not survive, or does not open, such a file"]
                report.error(found.code, f"`{source.name}`: {found.message}", helps=helps)
                return None
            reader = _Reader(Inquiry(lib), source, report)  # the library opens the file first, as it wants it closed
            with datasets(lib, source.path) as known:
                return reader.read(known, found)
    except (c.CallError, OSError) as error:
        why = strange(lib, source.path, found) if isinstance(found, Survey) else None
        helps = [f"{why}; netCDF has no such thing" if why else "the file is damaged, or no netCDF-4 file"]
        report.error("unreadable-file", f"`{source.name}`: {error}", helps=helps)
        return None


class _Reader:
    def __init__(self, ask: Inquiry, source: Source, report: Report) -> None:
        self.ask = ask
        self.report = report
        self.path, self.name = source.path, source.name
        status = os.stat(source.path)
        self.bytes = FileBytes(
            os.path.abspath(source.path), status.st_size, modified=status.st_mtime_ns, name=source.name
        )
        self.file = opened(source.path)
        self.type_names = {number: name for name, number in c.ATOMIC_IDS.items()}
        self.infos: dict[int, tuple[int, TypeInfo]] = {}
        self.dimensions: dict[int, tuple[str, int]] = {}
        self.types: dict[str, UserType] = {}
        self.parts: dict[str, Parts] = {}
        self.growing: set[int] = set()
        self.datasets: Datasets | None = None

    def read(self, known: Datasets | None, found: Survey | None) -> Unchecked:
        """The whole file; `known` knows its variables as HDF5 has them, `found` what there is in it at all."""
        self.datasets = known
        self._collect("/", self.file)
        for number, (group, info) in list(self.infos.items()):
            self._declare(group, number, info)
        root = self._group("/", self.file)
        if found is not None and known is not None:
            for text in unseen(root, found, known):
                self.report.warning("unseen-object", text, helps=["what is shown is read without it"])
        members = {name: getattr(root, name) for name in Group.model_fields}
        stem = os.path.splitext(os.path.basename(self.name))[0]
        kind = "nc7" if self.ask.is_classic_model(self.file) else "nc4"
        dataset = Dataset.model_validate({**members, "name": stem, "kind": kind})
        return Unchecked(dataset, forward=True, parts=self.parts)

    def _collect(self, path: str, group: int) -> None:
        """The names of all types and dimensions, which may be used anywhere."""
        for number, info in self.ask.types(group).items():
            self.type_names[number] = names.join(path, info.name)
            self.infos[number] = group, info
        for number, (name, length, growing) in self.ask.dimensions(group).items():
            self.dimensions[number] = names.join(path, name), length
            if growing:
                self.growing.add(number)
        for child in self.ask.groups(group):
            self._collect(names.join(path, self.ask.group_name(child)), child)

    def _declare(self, group: int, number: int, info: TypeInfo) -> None:
        """Note a type; one that is made of something netCDF has no name for is left out, and what is made of it."""
        try:
            self.types[self.type_names[number]] = self._type(group, number, info)
        except KeyError:
            del self.infos[number], self.type_names[number]

    def _type(self, group: int, number: int, info: TypeInfo) -> UserType:
        if info.kind == OPAQUE:
            return OpaqueType(name=info.name, size=info.size)
        if info.kind == ENUM:
            base = self.type_names[info.base]
            atomic = ATOMIC[base]
            constants = tuple(
                EnumConstant(name=name, value=int.from_bytes(data[: atomic.size], c.BYTE_ORDER, signed=atomic.low < 0))
                for name, data in self.ask.members(group, number, info.members)
            )
            return EnumType.model_validate({"name": info.name, "base": base, "constants": constants})
        if info.kind == COMPOUND:
            if not info.members:  # the library shows so one with a member that it has no type for
                raise KeyError(info.name)
            fields = tuple(
                Field(name=field.name, type=self.type_names[field.type], shape=field.shape)
                for field in self.ask.fields(group, number, info.members)
            )
            return CompoundType(name=info.name, fields=fields)
        return VlenType(name=info.name, base=self.type_names[info.base])

    def _group(self, path: str, group: int) -> Group:
        dimensions = tuple(
            Dimension(name=name, size=length, unlimited=growing)
            for name, length, growing in self.ask.dimensions(group).values()
        )
        read = (self._variable(path, group, number, info) for number, info in self.ask.variables(group).items())
        variables = tuple(variable for variable in read if variable is not None)
        attributes = self._attributes(group, c.GLOBAL, self.ask.attribute_count(group))
        groups = tuple(
            self._group(names.join(path, self.ask.group_name(child)), child) for child in self.ask.groups(group)
        )
        return Group(
            name=names.last(path) if path != "/" else "_",
            types=tuple(
                self.types[self.type_names[number]] for number in self.ask.types(group) if number in self.infos
            ),
            dimensions=dimensions,
            variables=variables,
            attributes=attributes,
            groups=groups,
        )

    def _variable(self, path: str, group: int, number: int, info: VariableInfo) -> Variable | None:
        """A variable; None where the library has no type or dimension for it, or another type than HDF5, and where no
        variable can have its name.
        """
        if info.type not in self.type_names or not all(each in self.dimensions for each in info.dimensions):
            return None
        if names.problem(info.name) is not None:
            return None
        type_name = self.type_names[info.type]
        dataset = self.datasets.of(names.split(path), info.name) if self.datasets is not None else None
        if dataset is not None and not agrees(type_name, self.types, dataset):
            return None
        attributes = self._attributes(group, number, info.attributes)
        variable = Variable(
            name=info.name,
            type=type_name,
            dimensions=tuple(self.dimensions[each][0] for each in info.dimensions),
            attributes=attributes,
            storage=self._storage(path, group, number, info, type_name, dataset),
        )
        shape = tuple(self.dimensions[each][1] for each in info.dimensions)
        extent = dataset.extent if dataset is not None else None
        stored = StoredVariable(
            self.bytes,
            names.split(path),
            info.name,
            type_name,
            self.types,
            shape,
            self._fill(group, number, type_name),
            extent if extent != shape else None,
        )
        self.parts[names.join(path, info.name)] = sources(stored, dataset)
        return variable

    def _fill(self, group: int, number: int, type_name: str) -> bytes | None:
        """One fill value in the bytes of the variable's array; None for types whose fill is nothing but zeros."""
        if type_name not in ATOMIC or type_name == "string":
            return None
        size = ATOMIC[type_name].size
        data = self.ask.fill(group, number, size)
        return data if c.BYTE_ORDER == "little" else data[::-1]

    def _storage(
        self, path: str, group: int, number: int, info: VariableInfo, type_name: str, dataset: DatasetInfo | None
    ) -> Storage:
        """Filters in the order of the file, which the library does not tell."""
        found = self.ask.storage(group, number, len(info.dimensions), filters=dataset is None)
        codecs = tuple(Codec(id=number, parameters=tuple(values)) for number, *values in found.filters)
        layout = LAYOUTS.get(found.layout)
        if layout != "chunked" and self.growing.intersection(info.dimensions):
            # other programs store what is empty in one piece, and the library takes length 0 for unlimited
            text = f"`{names.join(path, info.name)}` is {layout}, but to the netCDF library a dimension of it grows"
            self.report.warning("unseen-object", text, helps=["it is read without a layout, and written in chunks"])
            layout = None
        wide = type_name in ATOMIC and ATOMIC[type_name].size > 1
        # HDF5 has chunks that are longer than a dimension of fixed length, where it might become longer
        chunks = tuple(
            each if free in self.growing else min(each, max(1, self.dimensions[free][1]))
            for each, free in zip(found.chunks, info.dimensions, strict=False)
        )
        return Storage.model_validate(
            {
                "layout": layout,
                "chunks": chunks or None,
                "codecs": codecs if dataset is None else dataset.filters,
                "endian": "big" if wide and found.endian == BIG else None,
                "no_fill": found.no_fill,
            }
        )

    def _attributes(self, group: int, owner: int, count: int) -> tuple[Attribute, ...]:
        found = (self._attribute(group, owner, place) for place in range(count))
        return tuple(attribute for attribute in found if attribute is not None)

    def _attribute(self, group: int, owner: int, place: int) -> Attribute | None:
        """One attribute; None where the library has no type for it, or does not take its name back, and where none can
        have its name.
        """
        try:
            name, kind, length = self.ask.attribute(group, owner, place)
        except c.CallError:
            return None
        if kind not in self.type_names or name in RESERVED_ATTRIBUTES or names.problem(name) is not None:
            return None
        type_name = self.type_names[kind]
        if type_name == "char":
            buffer = create_string_buffer(max(1, length))
            if length:
                self.ask.read_attribute(group, owner, name, _address(buffer))
            return Attribute(name=name, value=Constant.text(buffer.raw[:length]))
        import numpy as np

        memory = np.zeros(length, c_dtype(type_name, self.types))
        if length:
            self.ask.read_attribute(group, owner, name, memory.ctypes.data)
        value = constant_of(memory, type_name, self.types)
        if length and (type_name == "string" or not is_fixed(type_name, self.types)):
            self.ask.release(group, kind, memory.ctypes.data, length)
        return Attribute(name=name, value=value)


def _address(buffer: Any) -> int:
    import ctypes

    return ctypes.addressof(buffer)
