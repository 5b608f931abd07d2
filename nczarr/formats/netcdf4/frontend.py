"""netCDF-4 files → `Unchecked`, with array sources that locate the values, which are not read."""

import functools
import math
import os
import struct
from typing import Literal, cast

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.sources.source import Parts, numpy_dtype
from nczarr.arrays.sources.strided import FileBytes
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import (
    ATOMIC,
    Attribute,
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
from nczarr.ast.dataset import LayoutName, building
from nczarr.ast.node import members_of
from nczarr.ast.plain_json import nest_json
from nczarr.ast.types import IntegerName
from nczarr.diagnostics.report import Diagnostic, Report, Severity, Source, Span
from nczarr.formats.netcdf4.elements import unpack_values
from nczarr.formats.netcdf4.header.dataset_info import CHUNKED, COMPACT, CONTIGUOUS, HeaderDataset
from nczarr.formats.netcdf4.header.datatypes import (
    ATOMIC_IDS,
    COMPOUND,
    OPAQUE,
    STRING,
    VLEN,
    Datatype,
    Member,
    text_of,
)
from nczarr.formats.netcdf4.header.file_bytes import DAMAGE, find_loaded, reason_of
from nczarr.formats.netcdf4.header.messages import HeaderAttribute, Nested
from nczarr.formats.netcdf4.header_model import HeaderGroup, HeaderModel, HeaderVariable, every_group
from nczarr.formats.netcdf4.stored_variable import StoredVariable, sources
from nczarr.options import Options
from nczarr.semantics.check_names import make_unique, namesakes
from nczarr.semantics.check_types import library_default
from nczarr.semantics.checked import Namesake, Omission, Unchecked
from nczarr.stores import local_paths
from nczarr.stores.places import find_remote_file

LAYOUTS: dict[int, LayoutName] = {CHUNKED: "chunked", CONTIGUOUS: "contiguous", COMPACT: "compact"}
"""Names of HDF5's layouts."""

FILL = "_FillValue"

UNCLOSED_HELP = "if no program writes it, `h5clear -s` marks it as closed"

NAMED = 8
"""Maximum places in a message."""


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a file, or None. Reports unreadable-file."""
    if find_remote_file(source.path) is None and not os.path.isfile(source.path):  # HDF5 needs random access
        text = f"`{source.name}` is not a file; netCDF-4 is read only from files"
        report.error("unreadable-file", text, helps=["save it to a file first"])
        return None
    try:
        if find_loaded() is not None:
            from nczarr.formats.netcdf4.isolation import flush  # the file may be open in the library

            flush(source.path)
        with building():
            return TreeReader(HeaderModel(source.path), source, report).read()
    except DAMAGE as error:
        report.error("unreadable-file", f"`{source.name}`: {reason_of(error)}")
    except OSError as error:
        report.error("unreadable-file", f"`{source.name}`: {error.strerror or error}")
    return None


class TreeReader:
    """Reader of the tree of a model. `source`: the file."""

    def __init__(self, model: HeaderModel, source: Source, report: Report) -> None:
        self._model = model
        self._report = report
        self._name = source.name
        self._source = Source(source.name, b"", binary=True, path=source.path)
        self._bytes = FileBytes.at(source.path, source.name)
        self._type_names = {number: name for name, number in ATOMIC_IDS.items()}
        self._types: dict[str, UserType] = {}
        self._dimensions: dict[int, str] = {}
        self._parts: dict[str, Parts] = {}
        self._namesakes: list[Namesake] = []
        self._attributes: dict[int, Attribute] = {}
        self._storages: dict[tuple[object, ...], Storage] = {}
        """Storages by their members: to make a node takes as long as to read its members."""
        self._shown: dict[HeaderGroup, tuple[list[str], list[str]]] = {}
        self._omitted: list[Omission] = []

    def read(self) -> Unchecked:
        """Return the dataset with what it omits. Reports adapted-form, lost-shape."""
        self._name_members(self._model.root, "/")
        for group in every_group(self._model.root):
            for number in group.types:
                name = self._type_names[number]
                self._types[name] = self._read_type(name, self._model.types[number])
        root = self._read_group(self._model.root, "/", ())
        for text, places in self._model.changes.items():
            self._report.add(Diagnostic("adapted-form", Severity.NOTE, f"{text}: {names.list_first(places, NAMED)}"))
        if self._model.is_unclosed:
            text = f"`{self._name}` is open for writing, or its writer ended without closing it"
            self._report.warning("unclosed-file", text, helps=[f"it is read as it is in storage; {UNCLOSED_HELP}"])
        if self._model.scales.misfits:
            text = f"scales do not fit their axes: {'; '.join(self._model.scales.misfits)}"
            self._report.warning("mismatched-scale", text, helps=["these axes keep their lengths, without the scale"])
        stem = local_paths.stem_of(local_paths.name_of(self._name))
        kind = "nc7" if self._model.is_classic else "nc4"
        dataset = Dataset(**{**members_of(root), "name": stem, "kind": kind, "span": Span(self._source, 0, 0)})
        omitted = [*self._model.omitted, *self._omitted]
        return Unchecked(dataset, forward=True, parts=self._parts, namesakes=self._namesakes, omitted=omitted)

    def _name_members(self, group: HeaderGroup, path: str) -> None:
        """Give unique names to the members of all groups; those of types and dimensions are global."""
        model = self._model
        members = [
            *(("type", name) for name in group.types.values()),
            *(("dimension", model.dimensions[number].name) for number in sorted(group.dimensions)),
            *(("variable", variable.name) for variable in group.variables),
            *(("group", below.name) for below in group.groups),
        ]
        shown = iter(self._unique(members, path))
        for number in group.types:
            self._type_names[number] = names.join(path, next(shown))
        for number in sorted(group.dimensions):
            self._dimensions[number] = names.join(path, next(shown))
        self._shown[group] = [next(shown) for _ in group.variables], list(shown)
        for below, name in zip(group.groups, self._shown[group][1], strict=True):
            self._name_members(below, names.join(path, name))

    def _unique(self, items: list[tuple[str, str]], scope: str) -> list[str]:
        """Return unique names for the members of a group or type, given by kind and name."""
        shown = make_unique(items)
        self._namesakes += namesakes(items, shown, scope)
        return [name for name, _ in shown]

    def _read_type(self, path: str, kind: Datatype) -> UserType:
        name = names.last(path)
        if kind.family == OPAQUE:
            return OpaqueType(name=name, size=kind.size)
        if kind.family == COMPOUND:
            written = [("field", member.name.decode("utf-8", "surrogateescape")) for member in kind.members]
            labels = zip(self._unique(written, path), kind.members, strict=True)
            return CompoundType(name=name, fields=tuple(self._read_field(label, one) for label, one in labels))
        assert kind.base is not None
        base = self._name_of(kind.base)
        if kind.family == VLEN:
            return VlenType(name=name, base=base)
        order, signed = ("big" if kind.base.descr[:1] == ">" else "little"), ATOMIC[base].low < 0  # type: ignore[index]
        written = [("enum constant", label.decode("utf-8", "surrogateescape")) for label, _ in kind.constants]
        labels_of_enum = zip(self._unique(written, path), kind.constants, strict=True)
        constants = [
            EnumConstant(name=label, value=int.from_bytes(data, order, signed=signed))  # type: ignore[arg-type]
            for label, (_, data) in labels_of_enum
        ]
        return EnumType(name=name, base=cast("IntegerName", base), constants=tuple(constants))

    def _read_field(self, name: str, member: Member) -> Field:
        """Return a field of a record; a text of fixed length is an array of chars."""
        kind = member.type
        if kind.family == STRING and kind.size > 1:  # a char of netCDF has one byte
            return Field(name=name, type="char", shape=(*member.shape, kind.size))
        return Field(name=name, type=self._name_of(kind), shape=member.shape)

    def _name_of(self, kind: Datatype) -> str:
        """Return the name of a type that the model has."""
        number = self._model.type_id(kind)
        assert number is not None
        return self._type_names[number]

    def _read_group(self, group: HeaderGroup, path: str, written: tuple[str, ...]) -> Group:
        """Return a group. `written`: its path in the file's spelling."""
        variables, groups = self._shown[group]
        model = self._model
        dimensions = [
            Dimension(
                name=names.last(self._dimensions[number]),
                size=model.lengths[number],
                unlimited=model.dimensions[number].is_unlimited,
            )
            for number in sorted(group.dimensions)
        ]
        variables_of_group = [
            self._read_variable(variable, names.join(path, name), name, written)
            for variable, name in zip(group.variables, variables, strict=True)
        ]
        return Group(
            name=names.last(path) if path != "/" else "_",
            types=tuple(self._types[self._type_names[number]] for number in group.types),
            dimensions=tuple(dimensions),
            variables=tuple(variable for variable in variables_of_group if variable is not None),
            attributes=self._attributes_of(group.attributes, path, group.place or "/"),
            groups=tuple(
                self._read_group(below, names.join(path, name), (*written, below.name))
                for below, name in zip(group.groups, groups, strict=True)
            ),
        )

    def _read_variable(self, stored: HeaderVariable, path: str, name: str, above: tuple[str, ...]) -> Variable | None:
        """Return a variable; None for an invalid name."""
        info = stored.dataset.info
        type_name = self._type_names[stored.type]
        _, problem = _check_name(stored.name)
        if problem is not None:
            text = f"the name of dataset `{'/'.join(('', *above, stored.name))}` is invalid: {problem}"
            self._omitted.append(Omission("omitted-name", path, text))
            return None
        storage = self._read_storage(path, stored, type_name)
        # an element that is an array has further dimensions, and a dataset without a dataspace has no cells
        inner = stored.dataset.type.shape if info.extent is not None else (0,)
        shape = (*[self._model.lengths[number] for number in stored.dimensions], *inner)
        extent = None if info.extent is None else (*info.extent, *inner)
        variable = StoredVariable(
            self._bytes,
            above,
            stored.name,
            type_name,
            self._types,
            shape,
            self._find_fill(type_name, stored.dataset, is_shorter=extent != shape),
            extent if extent != shape else None,
            stored.dataset.type,
            info.filters,
        )
        self._parts[path] = sources(variable, info)
        attributes = self._attributes_of(stored.attributes, path, "/".join(("", *above, stored.name)))
        return Variable(
            name=name,
            type=type_name,
            dimensions=(*[self._dimensions[number] for number in stored.dimensions], *inner),
            attributes=self._fit_fill(attributes, path, type_name),
            storage=storage,
        )

    def _read_storage(self, path: str, stored: HeaderVariable, type_name: str) -> Storage:
        """Return the storage of a variable; chunks are cut to dimensions of fixed length. Equal ones are one node."""
        info, model = stored.dataset.info, self._model
        layout = LAYOUTS.get(info.layout)
        grows = [model.dimensions[number].is_unlimited for number in stored.dimensions]
        if layout not in ("chunked", None) and True in grows:
            # other programs store what is empty in one piece, and netCDF takes length 0 for unlimited
            text = f"`{path}` is {layout}, but the netCDF library treats one of its dimensions as unlimited"
            helps = ("it is read without a layout, and written in chunks",)
            self._report.add(Diagnostic("unused-layout", Severity.NOTE, text, helps=helps))
            layout = None
        # HDF5 has chunks that are longer than a dimension of fixed length, where it might become longer
        chunks = tuple(
            length if free else min(length, max(1, model.lengths[number]))
            for length, free, number in zip(info.chunks, grows, stored.dimensions, strict=False)
        )
        if chunks:
            chunks = (*chunks, *stored.dataset.type.shape)
        wide = type_name in ATOMIC and ATOMIC[type_name].size > 1  # one byte has no order
        is_big = wide and info.dtype is not None and info.dtype[0] == ">"
        endian: Literal["big"] | None = "big" if is_big else None
        element = stored.dataset.type.element
        key = layout, chunks, id(info.filters), endian, info.has_own_fill, element
        storage = self._storages.get(key)
        if storage is None:
            storage = self._storages[key] = Storage(
                layout=layout,
                chunks=chunks or None,
                codecs=info.filters,
                endian=endian,
                no_fill=not info.has_own_fill,
                element=element,
            )
        return storage

    # ---- attributes -----------------------------------------------------------------------------------------------
    def _attributes_of(self, stored: tuple[HeaderAttribute, ...], scope: str, place: str) -> tuple[Attribute, ...]:
        """Return the attributes of an owner. Of several names that are equal in NFC, the normal one counts."""
        attributes = []
        for one in stored:
            attribute = self._attributes.get(id(one))  # the model holds them
            if attribute is None:
                attribute = self._convert_attribute(one, stored, scope, place)
            if attribute is not None:
                attributes.append(attribute)
        return tuple(attributes)

    def _convert_attribute(
        self, one: HeaderAttribute, stored: tuple[HeaderAttribute, ...], scope: str, place: str
    ) -> Attribute | None:
        """Return an attribute of those of an owner; None, and say why, where it is left out."""
        first, problem = _check_name(one.name)
        if first != one.name and any(other.name == first for other in stored):  # netCDF-C stores names in NFC
            self._namesakes.append(Namesake("attribute", one.name, "attribute", first, scope, None))
            return None
        if problem is not None:
            text = f"the name of attribute `{one.name}` of `{place}` is invalid: {problem}"
            self._omitted.append(Omission("omitted-name", scope, text))
            return None
        value = self._convert_value(one)
        attribute = Attribute(name=one.name, value=value, json=nest_json(value, one.shape or ()))
        if len(one.shape or ()) > 1 and attribute.json is None:  # which each owner of it says
            text = f"attribute `{one.name}` of `{place}` has the shape {one.shape}, and is read as a list"
            self._omitted.append(Omission("omitted-shape", scope, text))
        elif first == one.name:
            self._attributes[id(one)] = attribute
        return attribute

    def _fit_fill(self, attributes: tuple[Attribute, ...], path: str, type_name: str) -> tuple[Attribute, ...]:
        """Return attributes with a `_FillValue` of the variable's type. Other programs write others: h5py of any type.

        A number that the type has is converted; all other values are left out.
        """
        wrong = next((one for one in attributes if one.name == FILL and one.value.type != type_name), None)
        if wrong is None:
            return attributes
        text = f"`{FILL}` of `{path}` has type {wrong.value.type}, the variable {type_name}"
        value = _convert_number(wrong.value, type_name)
        if value is None:
            self._omitted.append(Omission("omitted-type", path, f"{text}, which has no such value"))
            return tuple(one for one in attributes if one is not wrong)
        self._report.warning("converted-value", f"{text}: it is converted")
        return tuple(wrong.model_copy(update={"value": value}) if one is wrong else one for one in attributes)

    def _convert_value(self, stored: HeaderAttribute) -> Constant:
        kind, data = stored.type, stored.data
        if kind.family == STRING and not stored.shape:
            return Constant(type="char", count=len(data), data=data)
        if kind.family == STRING:
            return _texts(kind, data)
        number = self._model.type_id(kind, None if stored.declared is None else (self._model.path, stored.declared))
        assert number is not None
        return self._constant(self._type_names[number], kind, stored.nested, len(data) // kind.size)

    def _constant(self, type_name: str, datatype: Datatype, nested: Nested, count: int) -> Constant:
        if isinstance(nested, bytes) and type_name == "string":
            return _texts(datatype, nested)
        if isinstance(nested, bytes):
            return Constant(type=type_name, count=count, data=self._pack(type_name, datatype, nested))
        assert nested is not None
        if datatype.is_text:
            return Constant.strings(text if isinstance(text, bytes) else None for text in nested)
        members = datatype.members
        types = (
            [member.type for member in members] if datatype.family == COMPOUND else [cast("Datatype", datatype.base)]
        )
        sizes = [math.prod(member.shape) for member in members]
        items = []
        for position, values in enumerate(nested):
            base = types[position % len(types)]
            length = sizes[position % len(types)] if sizes else _length(base, values)
            name = self._name_of(base)
            if members and base.family == STRING and base.size > 1:
                name, length = "char", length * base.size
            items.append(self._constant(name, base, values, length))
        return Constant(type=type_name, count=count, data=tuple(items))

    def _pack(self, type_name: str, kind: Datatype, data: bytes) -> bytes:
        """Return values of a fixed size as the tree has them: little-endian, records without gaps."""
        dtype = descr(type_name, self._types)
        if kind.descr == dtype:
            return data
        values = np.frombuffer(data, np.uint8).reshape(-1, kind.size)
        return unpack_values(values, kind, numpy_dtype(dtype)).tobytes()

    def _find_fill(self, type_name: str, dataset: HeaderDataset, *, is_shorter: bool) -> bytes | None:
        """Return the packed element of unwritten cells: HDF5's fill value if defined, never `_FillValue`.

        `is_shorter`: cells lie beyond the extent of the dataset, where the netCDF library shows the
        default of the type. None for empty strings and variable-size types.
        """
        if type_name == "string":
            return dataset.info.text
        if not is_fixed(type_name, self._types):
            return None
        if is_shorter and not dataset.info.has_own_fill:
            return library_default(type_name, self._types)
        kind = dataset.type.cell
        return self._pack(type_name, kind, dataset.info.unwritten[: kind.size])


@functools.lru_cache(maxsize=4096)
def _check_name(name: str) -> tuple[str, str | None]:
    """Return a name in NFC, and the problem of the name as it is. Cached: attributes share few names."""
    return names.normal(name), names.name_problem(name)


def _texts(kind: Datatype, data: bytes) -> Constant:
    """Return texts of fixed length."""
    return Constant.strings(text_of(data[at : at + kind.size], kind.form) for at in range(0, len(data), kind.size))


def _length(kind: Datatype, nested: Nested) -> int:
    """Return the number of values in a list."""
    if isinstance(nested, bytes):
        return len(nested) // kind.size
    return len(nested or ()) // (len(kind.members) if kind.family == COMPOUND else 1)


def _convert_number(constant: Constant, type_name: str) -> Constant | None:
    """Return one number in another type of numbers; None if the type does not have it."""
    source, target = ATOMIC.get(constant.type), ATOMIC.get(type_name)
    if constant.count != 1 or not all(one is not None and (one.is_integer or one.is_float) for one in (source, target)):
        return None
    number = constant.as_numbers()[0]
    try:
        converted = Constant.numbers(type_name, [number if ATOMIC[type_name].is_float else int(number)])
    except (OverflowError, ValueError, struct.error):  # too large, NaN or infinite
        return None
    again = converted.as_numbers()[0]
    return converted if again == number or (again != again and number != number) else None
