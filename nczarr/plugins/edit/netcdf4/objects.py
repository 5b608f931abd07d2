"""Objects of an HDF5 file that is edited, by the FQNs that they had before, and their attributes.

Attributes are stored as the netCDF library stores them: a char attribute is one text of fixed length in a scalar space,
an empty one has a null space. Strings are of variable length, in UTF-8. Numbers are little-endian
in one dimension. A value of another size takes a new attribute; those behind it
are made again, because the file keeps the order of creation.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any, NamedTuple

from nczarr import names
from nczarr.arrays.lazy_numpy import np
from nczarr.arrays.values.parts import NUMPY
from nczarr.ast import ATOMIC, Attribute, Constant, EnumType, OpaqueType, UserType
from nczarr.ast.renaming import NodeKind
from nczarr.formats.netcdf4.dimension_scales import ALL_INTERNAL
from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE
from nczarr.plugins.edit.header_changes import HeaderEdit, NodeRemoval
from nczarr.semantics.checked import Checked

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


def coordinate_of(checked: Checked, path: str) -> str | None:
    """Return the FQN of the coordinate variable of a dimension, which is the dimension's own, or None."""
    variable = checked.variables.get(path)
    return path if variable is not None and variable.dimensions[:1] == (path,) else None


def list_links(group: Any) -> list[bytes]:
    """Return the links of a group in the order of creation, or of names if the file does not keep the former."""
    from h5py import h5, h5p

    links: list[bytes] = []
    is_tracked = group.get_create_plist().get_link_creation_order() & h5p.CRT_ORDER_TRACKED
    group.links.iterate(links.append, idx_type=h5.INDEX_CRT_ORDER if is_tracked else h5.INDEX_NAME)
    return links


class EditedObjects:
    """Open objects of one file. They stay the same when their links move."""

    def __init__(self, work: HeaderEdit, root: Any) -> None:
        """Set up. `root`: `h5py.h5g.GroupID` of the root."""
        self.work = work
        self.before, self.after = work.before, work.after
        self._old_paths: dict[NodeKind, dict[str, str]] = {
            kind: {new: old for old, new in paths.items()} for kind, paths in work.renamed.items()
        }
        self.groups: dict[str, Any] = {"/": root}
        self.datasets: dict[str, Any] = {}
        self.scales: dict[str, Any] = {}
        """Scale of each dimension, None for one without; they follow the changes."""
        self._removed = {(change.kind, change.path) for change in work.changes if isinstance(change, NodeRemoval)}
        self._removes_groups = any(kind == "group" for kind, _ in self._removed)
        self.gone: dict[NodeKind, set[str]] = {}
        """FQNs that are removed, by kind."""

    def old_path(self, kind: NodeKind, path: str) -> str | None:
        """Return the FQN that a node had before the edit; None for a new one."""
        old = self._old_paths[kind].get(path, path)
        tables: dict[NodeKind, Iterable[str]] = {
            "group": self.before.groups,
            "type": self.before.types,
            "dimension": self.before.dimensions,
            "variable": self.before.variables,
        }
        return old if old in tables[kind] and self.work.new_path(kind, old) == path else None

    def group(self, path: str) -> Any:
        """Return a group."""
        if path not in self.groups:
            self.groups[path] = self._open(self.group(names.parent(path)), names.last(path), path)
        return self.groups[path]

    def type(self, path: str) -> Any:
        """Return a named type."""
        return self._open(self.group(names.parent(path)), names.last(path), path)

    def dataset(self, path: str) -> Any:
        """Return the dataset of a variable."""
        if path not in self.datasets:
            group = self.group(names.parent(path))
            self.datasets[path] = self._open(group, self.variable_link(path).decode(), path)
        return self.datasets[path]

    def check_single_name(self, path: str) -> None:
        """Raise RefusedEditError if a variable or group is reached by other paths too, which share its attributes."""
        others = [other for other in self._paths_by_object[self._identify(path)] if other != path]
        if others:
            shown = ", ".join(f"`{other}`" for other in others)
            raise RefusedEditError(f"the attributes of `{path}` are those of {shown} too: both lead to one object")

    @cached_property
    def _paths_by_object(self) -> dict[tuple[int, int], list[str]]:
        """FQNs of variables and groups by the object that they lead to."""
        paths: dict[tuple[int, int], list[str]] = {}
        for path in (*self.before.groups, *self.before.variables):
            with suppress(RefusedEditError):  # in another file: no object of this one
                paths.setdefault(self._identify(path), []).append(path)
        return paths

    def _identify(self, path: str) -> tuple[int, int]:
        """Return number of the file and address of the object of a variable or group."""
        from h5py import h5o

        info = h5o.get_info(self.dataset(path) if path in self.before.variables else self.group(path))
        return info.fileno, info.addr

    def variable_link(self, path: str) -> bytes:
        """Return the name of the link of a variable. Raises RefusedEditError without one."""
        group, name = self.group(names.parent(path)), names.last(path)
        for link in ((NON_COORDINATE + name).encode(), name.encode()):
            if link in group:
                return link
        raise RefusedEditError(f"`{path}` has another name in the file")

    def scale(self, path: str) -> Any:
        """Return the scale of a dimension; None if it has none."""
        if path not in self.scales:
            from h5py import h5d, h5ds

            group, link = self.group(names.parent(path)), names.last(path).encode()
            found = self._open(group, names.last(path), path) if link in group else None
            is_scale = isinstance(found, h5d.DatasetID) and h5ds.is_scale(found)
            self.scales[path] = found if is_scale else None
        return self.scales[path]

    def _open(self, group: Any, name: str, path: str) -> Any:
        from h5py import h5l, h5o

        key = name.encode()
        if key not in group:
            raise RefusedEditError(f"`{path}` has another name in the file")
        if group.links.get_info(key).type == h5l.TYPE_EXTERNAL:
            raise RefusedEditError(f"`{path}` is in another file")
        return h5o.open(group, key)

    def collect(self) -> None:
        """Open all objects that links lead to by their old names, and plan the links afterwards."""
        tables: tuple[tuple[NodeKind, Iterable[str]], ...] = (
            ("group", self.before.groups),
            ("type", self.before.types),
            ("dimension", self.before.dimensions),
            ("variable", self.before.variables),
        )
        self.gone = {kind: {path for path in table if self._is_gone(kind, path)} for kind, table in tables}
        for path in self.before.dimensions:  # opened now and kept: their paths change in the edit
            self.scale(path)
        for path in self.before.variables:
            self.dataset(path)
        for path in self.before.groups:
            self.group(path)

    def _is_gone(self, kind: NodeKind, path: str) -> bool:
        """Return whether a node is removed, itself or with a group around it; `path`: before the edit."""
        tables = {
            "group": self.after.groups,
            "type": self.after.types,
            "dimension": self.after.dimensions,
            "variable": self.after.variables,
        }
        removed = self._removed
        if (kind, path) in removed or self.work.new_path(kind, path) not in tables[kind]:
            return True
        while path != "/" and self._removes_groups:
            path = names.parent(path)
            if ("group", path) in removed:
                return True
        return False

    def scales_of(self, path: str) -> list[Any]:
        """Return the scales of the dimensions of a variable; None for those without."""
        variable = self.before.variables[path]
        return [None if isinstance(reference, int) else self.scales.get(reference) for reference in variable.dimensions]
