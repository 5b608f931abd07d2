"""Objects of a MATLAB file: their attributes, and the references to them, which its cells are.

A reference of HDF5 has the address of an object, relative to the user block. MATLAB puts the objects into `/#refs#`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.sources.strided import FileBytes
from nczarr.ast.plain_json import plain
from nczarr.formats.netcdf4.header.datatypes import REFERENCE
from nczarr.formats.netcdf4.header.file_objects import FileObject, LinkedFiles
from nczarr.formats.netcdf4.header_model import DEEPEST, ask_library
from nczarr.formats.netcdf4.stored_variable import StoredVariable, sources
from nczarr.sdk import Attribute, CompileError, Constant, Diagnostic, NDArray, OpaqueType, Severity, np

_REFERENCE = "/reference"
"""Type of references in place of their own, which the tree does not have."""

MOST = 1 << 22
"""Maximum references of a dataset."""


class ReferenceArray(NamedTuple):
    """Array of references."""

    shape: tuple[int, ...]
    """Shape in MATLAB."""
    paths: list[str | None]
    """Object of each element, the first index fastest; None for no object of the file."""


class FileObjects:
    """Objects of a file by path. It raises UnreadableHeaderError and OSError when it is made."""

    def __init__(self, path: str, name: str) -> None:
        self._bytes = FileBytes.at(path, name)
        self._table = LinkedFiles(path, ask_library).table
        self.members: dict[str, list[str]] = {}
        """Names of the members of each group, by its path."""
        self._references: dict[str, tuple[tuple[str, ...], FileObject]] = {}
        self._paths: dict[int, str] = {}
        self._read: dict[str, ReferenceArray] = {}
        """Arrays that were read: several cells may lead to one."""
        self._walk(self._table.root, (), ())

    def _walk(self, address: int, place: tuple[str, ...], above: tuple[int, ...]) -> None:
        """Record an object and all below it. Each object has the first of its paths."""
        if address in self._paths or len(above) > DEEPEST or address not in self._table.objects:
            return
        path, one = names.fqn(place), self._table.objects[address]
        self._paths[address] = path
        if one.dataset is not None and one.dataset.type.family == REFERENCE and one.dataset.type.size == 8:
            self._references[path] = place, one
        if one.links is not None:
            hard = {
                link.name.decode("utf-8", "surrogateescape"): link.address
                for link in one.links.values()
                if link.is_hard
            }
            self.members[path] = list(hard)
            for name, target in hard.items():
                self._walk(target, (*place, name), (*above, address))

    @property
    def reference_arrays(self) -> frozenset[str]:
        """Paths of the datasets with references."""
        return frozenset(self._references)

    def class_of(self, path: str) -> str | None:
        """Return the class of a dataset with references; None for a field of an array of structs."""
        values = (one.data for one in self._references[path][1].attributes if one.name == "MATLAB_class")
        value = next(values, None)
        return None if value is None else value.partition(b"\0")[0].decode("utf-8", "replace")

    def read_references(self, path: str) -> ReferenceArray:
        """Return the references of a dataset. Raises OSError, CompileError."""
        if path not in self._read:
            self._read[path] = self._read_array(path, *self._references[path])
        return self._read[path]

    def _read_array(self, path: str, place: tuple[str, ...], one: FileObject) -> ReferenceArray:
        assert one.dataset is not None
        info = one.dataset.info._replace(dtype="|V8")
        extent = info.extent or ()
        if math.prod(extent) > MOST:
            text = f"`{path}` has {math.prod(extent):,} references; at most {MOST:,} are read"
            raise CompileError([Diagnostic("unreadable-file", Severity.ERROR, text)])
        types: dict[str, Any] = {_REFERENCE: OpaqueType(name="reference", size=8)}
        stored = StoredVariable(
            self._bytes, place[:-1], place[-1], _REFERENCE, types, extent, None, None, one.dataset.type, info.filters
        )
        values = sources(stored, info)[""].read(tuple(slice(0, length) for length in extent))
        addresses: NDArray[Any] = np.ascontiguousarray(values).view("<u8")
        return ReferenceArray(extent[::-1], [self._paths.get(address) for address in addresses.reshape(-1).tolist()])


def text_attribute(name: str, text: str) -> Attribute:
    """Return an attribute with a text."""
    return Attribute(name=name, value=Constant.text(text.encode()))


def find_text(attributes: Iterable[Attribute], name: str) -> str | None:
    """Return the text of an attribute; None without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), None)
    return value if isinstance(value, str) else None


def find_number(attributes: Iterable[Attribute], name: str) -> int:
    """Return the number of an attribute; 0 without one."""
    value = next((plain(one.value).value for one in attributes if one.name == name), 0)
    return value if isinstance(value, int) else 0


def list_fields(attributes: Iterable[Attribute]) -> list[str]:
    """Return the names of the fields of a struct, in MATLAB's order; empty if the file does not have them."""
    constant = next((one.value for one in attributes if one.name == "MATLAB_fields"), None)
    items = constant.data if constant is not None and isinstance(constant.data, tuple) else ()
    return [
        item.data.decode("utf-8", "replace")
        for item in items
        if isinstance(item, Constant) and isinstance(item.data, bytes)
    ]


def fields_attribute(fields: list[str]) -> list[Attribute]:
    """Return the attribute with the names of fields, in their order."""
    return (
        [Attribute(name="MATLAB_fields", value=Constant.strings(field.encode() for field in fields))] if fields else []
    )


def size_attribute(shape: Iterable[int]) -> Attribute:
    """Return the attribute with the size of an array of cells or structs."""
    return Attribute(name="MATLAB_size", value=Constant.numbers("int64", shape))
