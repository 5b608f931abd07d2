"""Reader of a netCDF-4 file whose header is read here, without the libraries."""

from __future__ import annotations

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import numpy_dtype
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import Attribute, Constant, Variable
from nczarr.ast.dataset import RESERVED_ATTRIBUTES
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.netcdf4 import library as c
from nczarr.formats.netcdf4.header.attributes import HeaderAttribute
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, UnreadableHeaderError, header_file
from nczarr.formats.netcdf4.header_model import HeaderModel
from nczarr.formats.netcdf4.inquiry import TypeInfo
from nczarr.formats.netcdf4.model_reader import ModelReader, Owner
from nczarr.formats.netcdf4.objects import STRING, text_of
from nczarr.formats.netcdf4.survey import ReadNames


def read_header(source: Source, report: Report) -> Unchecked | None:
    """Return the dataset of a local file; None if its header is damaged, or not read here. Raises OSError."""
    noted = Report()
    try:
        with header_file(source.path) as file, building():
            model = HeaderModel(file)
            unchecked = FileHeaderReader(model, source, noted).read()
    except DAMAGE:
        return None
    for diagnostic in noted.sorted():
        report.add(diagnostic)
    return unchecked


class FileHeaderReader(ModelReader):
    """Reader of the tree of a model. Raises UnreadableHeaderError for what the model does not hold."""

    def __init__(self, model: HeaderModel, source: Source, report: Report) -> None:
        super().__init__(model, 0, source, report, model)
        self._model = model

    def _declare(self, group: int, number: int, info: TypeInfo) -> None:
        super()._declare(group, number, info)
        if number not in self.infos:
            raise UnreadableHeaderError("named type")

    def _variable(self, path: str, written: str, group: int, number: int, seen: ReadNames) -> Variable:
        variable = super()._variable(path, written, group, number, seen)
        if variable is None:  # the library says what is left out
            raise UnreadableHeaderError("variable")
        return variable

    def _attributes(
        self, group: int, owner: int, count: int, scope: str, at: Owner | None
    ) -> tuple[tuple[Attribute, ...], frozenset[str]]:
        stored = self._model.attributes(group, None if owner == c.GLOBAL else owner)
        attributes = tuple([self._attribute(attribute) for attribute in stored])
        return attributes, frozenset([attribute.name for attribute in stored])

    def _attribute(self, stored: HeaderAttribute) -> Attribute:
        name, kind = stored.name, stored.type
        key = name, kind.number or kind.key, stored.data, stored.shape
        attribute = self.attributes.get(key)
        if attribute is None or kind.is_text:
            if name in RESERVED_ATTRIBUTES or names.problem(name) is not None or names.normal(name) != name:
                raise UnreadableHeaderError("name of an attribute")
            attribute = self.attributes[key] = Attribute(name=name, value=self._value(stored))
        return attribute

    def _value(self, stored: HeaderAttribute) -> Constant:
        """Return the values of an attribute."""
        kind, data = stored.type, stored.data
        count = 0 if stored.shape is None else stored.shape[0] if stored.shape else 1
        if kind.family == STRING and not stored.shape:
            return Constant(type="char", count=len(data), data=data)
        if kind.is_text or kind.family == STRING:
            return Constant.strings(_texts(stored))
        type_name = self.type_names[self._model.number(kind, stored.declared)]
        if not is_fixed(type_name, self.types) or kind.descr is None:
            raise UnreadableHeaderError("values of an attribute")
        dtype = descr(type_name, self.types)
        if kind.descr != dtype:
            data = np.frombuffer(data, numpy_dtype(kind.descr)).astype(numpy_dtype(dtype)).tobytes()
        return Constant(type=type_name, count=count, data=data)


def _texts(stored: HeaderAttribute) -> tuple[bytes | None, ...]:
    """Return the texts of an attribute. One of variable length ends at its first NUL; None is NIL."""
    if stored.type.is_text:
        return tuple(None if text is None else text.partition(b"\0")[0] for text in stored.lists)
    size, data = stored.type.size, stored.data
    return tuple(text_of(data[at : at + size], terminated=False) for at in range(0, len(data), size))
