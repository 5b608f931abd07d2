"""Objects of an HDF5 file that is edited, by the FQNs that they had before."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from functools import cached_property
from typing import Any

from nczarr import names
from nczarr.ast.renaming import NodeKind
from nczarr.formats.netcdf4.header.datatypes import NON_COORDINATE
from nczarr.plugins.edit.header_changes import HeaderEdit, NodeRemoval
from nczarr.plugins.edit.netcdf4.attributes import RefusedEditError
from nczarr.semantics.checked import Checked


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
        for path in self.before.dimensions:
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
