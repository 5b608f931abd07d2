"""Attributes in an HDF5 file that is edited: stored as the netCDF library stores them.

A char attribute is one text of fixed length in a scalar space, an empty one has
a null space. Strings are of variable length, in UTF-8. Numbers are little-endian
in one dimension. A value of another size takes a new attribute; those behind it
are made again, because the file keeps the order of creation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType, OpaqueType, UserType
from nczarr.formats.netcdf4.dimension_scales import ALL_INTERNAL

LONGEST_TEXT = 65535
"""Maximum bytes of values in an object header; longer attributes are stored in a heap, if the object has one."""


class RefusedEditError(Exception):
    """A change that the file cannot have in its place."""


class StoredValue(NamedTuple):
    """An attribute in HDF5's terms."""

    type: Any
    """Type in the file (`h5py.h5t.TypeID`)."""
    space: Any
    """Space in the file (`h5py.h5s.SpaceID`)."""
    values: Any
    """Array to write; None: nothing, in a null space."""
    memory_type: Any
    """Type of the array; None: by its dtype."""


def store_value(constant: Constant, declared: UserType | None, named_type: Any) -> StoredValue:
    """Return an attribute in HDF5's terms. `named_type`: that in the file. Raises RefusedEditError."""
    from h5py import h5s, h5t, string_dtype

    count, data = constant.count, constant.data
    simple = h5s.create_simple((count,)) if count else h5s.create(h5s.NULL)
    if constant.type == "char":
        assert isinstance(data, bytes)
        text = h5t.C_S1.copy()
        text.set_size(max(1, count))
        text.set_strpad(h5t.STR_NULLTERM)
        space = h5s.create(h5s.SCALAR) if count else simple
        return StoredValue(text, space, np.frombuffer(data, f"S{count}")[0:1].reshape(()) if count else None, text)
    if constant.type == "string":
        if None in data:
            raise RefusedEditError("NIL in a string attribute")
        text = h5t.C_S1.copy()
        text.set_size(h5t.VARIABLE)
        text.set_strpad(h5t.STR_NULLTERM)
        text.set_cset(h5t.CSET_UTF8)
        values = np.empty(count, dtype=string_dtype())
        values[:] = data
        return StoredValue(text, simple, values if count else None, None)
    if constant.type in ATOMIC:
        assert isinstance(data, bytes)
        dtype = np.dtype(NUMPY[constant.type])
        return StoredValue(h5t.py_create(dtype), simple, np.frombuffer(data, dtype) if count else None, None)
    if isinstance(declared, EnumType | OpaqueType) and isinstance(data, bytes):
        dtype = np.dtype(NUMPY[declared.base] if isinstance(declared, EnumType) else f"V{declared.size}")
        return StoredValue(named_type, simple, np.frombuffer(data, dtype) if count else None, named_type)
    raise RefusedEditError(f"an attribute of the type `{constant.type}`")


class AttributeEditor:
    """Editor of the attributes of one object."""

    def __init__(self, owner: Any, name: str) -> None:
        """Set up. `owner`: `h5py.h5g.GroupID` or `h5py.h5d.DatasetID`. `name`: its path, for messages."""
        self.owner = owner
        self.name = name

    def set(self, name: str, stored: StoredValue) -> None:
        """Give an attribute a value, in its place if type and size are the same."""
        from h5py import h5a

        key = name.encode()
        if h5a.exists(self.owner, key):
            present = h5a.open(self.owner, key)
            if self._is_same_form(present, stored):
                if stored.values is not None:
                    self._write(present, stored)
                return
            del present
            h5a.delete(self.owner, key)
        attribute = h5a.create(self.owner, key, stored.type, stored.space)
        if stored.values is not None:
            self._write(attribute, stored)

    def remove(self, name: str) -> None:
        """Remove an attribute."""
        from h5py import h5a

        h5a.delete(self.owner, name.encode())

    def _is_same_form(self, present: Any, stored: StoredValue) -> bool:
        kind, space = present.get_type(), present.get_space()
        same_space = space.get_simple_extent_type() == stored.space.get_simple_extent_type()
        return bool(kind.equal(stored.type) and same_space and space.shape == stored.space.shape)

    def _write(self, attribute: Any, stored: StoredValue) -> None:
        if stored.memory_type is None:
            attribute.write(stored.values)
        else:
            attribute.write(stored.values, mtype=stored.memory_type)

    def list_names(self) -> list[str]:
        """Return the names of the visible attributes in the order of creation; [] if the file does not keep it."""
        from h5py import h5, h5a

        names: list[str] = []
        hidden = ALL_INTERNAL
        try:
            for number in range(h5a.get_num_attrs(self.owner)):
                attribute = h5a.open(self.owner, index=number, index_type=h5.INDEX_CRT_ORDER, order=h5.ITER_INC)
                names.append(attribute.name.decode("utf-8", "surrogateescape"))
        except (RuntimeError, KeyError, ValueError):
            return []
        return [name for name in names if name not in hidden]

    def put_in_order(self, attributes: tuple[Attribute, ...]) -> None:
        """Make attributes again, so that they have the order of the list. Those of lists stay where they are."""
        present = self.list_names()
        order = [attribute.name for attribute in attributes if attribute.name in present]
        stays, at = 0, -1
        while stays < len(order) and (place := present.index(order[stays])) > at:
            stays, at = stays + 1, place
        for name in order[stays:]:
            self._make_again(name)

    def _make_again(self, name: str) -> None:
        """Replace an attribute by an equal one, the last in the order of creation."""
        from h5py import h5a, h5t

        key = name.encode("utf-8", "surrogateescape")
        attribute = h5a.open(self.owner, key)
        kind, space = attribute.get_type(), attribute.get_space()
        if kind.get_class() in (h5t.VLEN, h5t.REFERENCE, h5t.COMPOUND):
            return
        is_text = kind.get_class() == h5t.STRING and kind.is_variable_str()
        values = None
        if space.get_simple_extent_npoints() and space.get_simple_extent_type() != 2:
            values = np.empty(space.shape, dtype=kind.dtype if is_text else f"V{kind.get_size()}")
            attribute.read(values, mtype=None if is_text else kind)
        del attribute
        h5a.delete(self.owner, key)
        made_again = h5a.create(self.owner, key, kind, space)
        if values is not None:
            made_again.write(values, mtype=None if is_text else kind)
