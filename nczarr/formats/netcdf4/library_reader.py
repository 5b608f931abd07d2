"""Reader of a netCDF-4 file that the netCDF library has open."""

from __future__ import annotations

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.parts import is_fixed
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Constant,
)
from nczarr.ast.dataset import RESERVED_ATTRIBUTES
from nczarr.check.checked import Namesake, Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.c_values import c_dtype, constant_of
from nczarr.formats.netcdf4.inquiry import Inquiry
from nczarr.formats.netcdf4.model_reader import ModelReader, Owner
from nczarr.formats.netcdf4.objects import FileDatasets
from nczarr.formats.netcdf4.omissions import unseen
from nczarr.formats.netcdf4.survey import Survey


class LibraryReader(ModelReader):
    """Reader of an open file; `datasets`: HDF5 metadata of its variables."""

    def __init__(self, ask: Inquiry, file: int, source: Source, report: Report, datasets: FileDatasets) -> None:
        super().__init__(ask, file, source, report, datasets)
        self._library = ask
        self._described = datasets

    def read_surveyed(self, survey: Survey | None) -> Unchecked:
        """Return the dataset, and report what it omits. `survey`: all objects of the file."""
        unchecked = self.read()
        if survey is not None:
            for text in unseen(self.seen, survey, self._described):
                self.report.warning("unseen-object", text, helps=["everything else is read"])
        return unchecked

    def _attributes(
        self, group: int, owner: int, count: int, scope: str, at: Owner | None
    ) -> tuple[tuple[Attribute, ...], frozenset[str]]:
        """Return attributes, and all names accounted for, in the file's spelling.

        The library looks up NFC names: of several equal ones it reads only one.
        """
        written = []
        for place in range(count):
            try:
                written.append(self._library.attribute_name(group, owner, place))
            except c.CallError:
                continue
        plain, attributes, accounted = set(written), [], set()
        for name in written:
            first = names.normal(name)
            if first != name and first in plain:
                accounted.add(name)
                self.namesakes.append(Namesake("attribute", name, "attribute", first, scope, None))
                continue
            attribute = self._attribute(group, owner, name, at)
            if attribute is not None:
                accounted.add(name)
                attributes.append(attribute)
        return tuple(attributes), frozenset(accounted)

    def _attribute(self, group: int, owner: int, name: str, place: Owner | None) -> Attribute | None:
        """Return an attribute; None for unsupported types, and names that are invalid or not found."""
        try:
            kind, length = self._library.attribute(group, owner, name)
        except c.CallError:
            return None
        if kind not in self.type_names or name in RESERVED_ATTRIBUTES or names.problem(name) is not None:
            return None
        type_name = self.type_names[kind]
        atomic = ATOMIC.get(type_name)
        if atomic is not None and atomic.size and (atomic.size == 1 or c.BYTE_ORDER == "little"):
            data = self._library.attribute_bytes(group, owner, name, length * atomic.size)
            key = name, type_name, data
            attribute = self.attributes.get(key)
            if attribute is None:
                value = Constant(type=type_name, count=length, data=data)
                attribute = self.attributes[key] = Attribute(name=name, value=value)
            return attribute
        if type_name == "string" and place is not None:
            texts = self._described.cut_texts(*place, name, length)
            if texts is not None:
                return Attribute(name=name, value=Constant(type="string", count=length, data=texts))
        memory = np.zeros(length, c_dtype(type_name, self.types))
        if length:
            self._library.read_attribute(group, owner, name, memory.ctypes.data)
        value = constant_of(memory, type_name, self.types)
        if length and (type_name == "string" or not is_fixed(type_name, self.types)):
            self._library.release(group, kind, memory.ctypes.data, length)
        return Attribute(name=name, value=value)
