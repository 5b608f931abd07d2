"""Dimensions of an HDF-EOS5 file with the names of StructMetadata, in place of names that a reader made up.

    StructMetadata.N ─ read_structures ─> fields with names ─ name_dimensions ─> dimensions of swaths, grids, …

StructMetadata is the text in which the library describes swaths, grids, points and zonal averages.
It is in ODL, the Object Description Language: nested groups and objects with `NAME=VALUE`. Names of dimensions are in
no other place of the file. See the HDF-EOS library's user guide, volume 1, and the metadata of `HE5_SWdefdim`.

A dimension belongs to the group of its structure, `/HDFEOS/SWATHS/O3/nTimes`, and all fields of the structure share it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from itertools import zip_longest
from typing import Any, NamedTuple

from nczarr.ast.rectilinear import varies
from nczarr.sdk import (
    Checked,
    CompileError,
    Diagnostic,
    Dimension,
    Group,
    Options,
    Report,
    Severity,
    Source,
    Store,
    Variable,
    map_groups,
    names,
    read_outer,
    tables,
)

FOLDERS = {"Swath": "SWATHS", "Grid": "GRIDS", "Point": "POINTS", "Za": "ZAS"}
"""Group of HDF5 below `/HDFEOS` by kind of structure."""

FIELDS = {"GeoField": "Geolocation Fields", "ProfileField": "Profile Fields", "DataField": "Data Fields"}
"""Group of HDF5 in a structure by group of ODL."""

_STATEMENT = re.compile(
    r"""(?P<key>[A-Za-z_]\w*)[ \t]*=\s*(?P<value>"[^"]*"|\([^)]*\)|[^\s"(]\S*)|^\s*END\s*$""", re.MULTILINE
)
_WORD = re.compile(r'"([^"]*)"')


class FieldDimensions(NamedTuple):
    """Dimensions of a field."""

    path: tuple[str, ...]
    """Names of the groups and of the dataset, from the root."""
    names: tuple[str, ...]
    """Name of each dimension."""


class EosStructure(NamedTuple):
    """A swath, grid, point or zonal average."""

    path: tuple[str, ...]
    """Names of its groups, from the root."""
    lengths: dict[str, int]
    """Length of each dimension; 0 or less for an unlimited one."""
    fields: list[FieldDimensions]
    """Fields with names of dimensions, in the order of the text."""
    levels: list[str]
    """Levels of a point, whose records have no dimension in the text."""


class Statement(NamedTuple):
    """`NAME=VALUE` in its groups and objects."""

    scope: tuple[str, ...]
    """Names of groups and objects, the outermost first."""
    key: str
    value: str
    """Value without quotes; a list as it is written."""


def read_structures(text: str) -> list[EosStructure]:
    """Return the structures that a text describes, in its order. Parts that are no ODL are skipped.

    Examples
    --------
    >>> [grid] = read_structures('''
    ... GROUP=GridStructure
    ...   GROUP=GRID_1
    ...     GridName="Ozone"
    ...     XDim=360
    ...     GROUP=DataField
    ...       OBJECT=DataField_1
    ...         DataFieldName="O3"
    ...         DimList=("XDim")
    ... ''')
    >>> grid.lengths, grid.fields[0].path
    ({'XDim': 360}, ('HDFEOS', 'GRIDS', 'Ozone', 'Data Fields', 'O3'))
    """
    structures: dict[tuple[str, ...], EosStructure] = {}
    names: dict[tuple[str, ...], str] = {}
    for scope, key, value in _read_statements(text):
        kind = scope[0].removesuffix("Structure") if scope else ""
        if kind not in FOLDERS or len(scope) < 2:
            continue
        if len(scope) == 2 and key == f"{kind}Name":
            structures[scope] = EosStructure(("HDFEOS", FOLDERS[kind], value), {}, [], [])
        structure = structures.get(scope[:2])
        if structure is None:
            continue
        if len(scope) == 2 and key in ("XDim", "YDim"):
            _add_length(structure, key, value)
        elif key == "Size" and scope[2] == "Dimension":
            _add_length(structure, names.get(scope, ""), value)
        elif key == "LevelName":
            structure.levels.append(value)
        elif key == "DimensionName" or key.endswith("FieldName"):
            names[scope] = value
        elif key == "DimList" and scope in names:
            path = (*structure.path, FIELDS.get(scope[2], "Data Fields"), names[scope])
            structure.fields.append(FieldDimensions(path, tuple(_WORD.findall(value))))
    return list(structures.values())


def _add_length(structure: EosStructure, name: str, value: str) -> None:
    if name and re.fullmatch(r"-?\d{1,18}", value, re.ASCII):
        structure.lengths.setdefault(name, int(value))


def _read_statements(text: str) -> Iterator[Statement]:
    """Yield the statements of a text up to its `END`."""
    scope: list[str] = []
    for found in _STATEMENT.finditer(text):
        key, value = found["key"], (found["value"] or "").strip('"')
        if key is None:
            return
        if key in ("GROUP", "OBJECT"):
            scope.append(value)
        elif key in ("END_GROUP", "END_OBJECT"):
            if scope:
                scope.pop()
        else:
            yield Statement(tuple(scope), key, value)


OPTION = "hdfeos.dimensions"
"""Storage option: `named` (default), or `phony` for the names of libnetcdf."""

CODE = "mismatched-dimension"

INFORMATION = names.fqn(("HDFEOS INFORMATION",))
"""FQN of the group with the description of the file."""

LISTED = 8
"""Maximum places in a message."""

_PHONY = re.compile(r"phony_dim_\d+", re.ASCII)
_PART = re.compile(r"StructMetadata\.(\d{1,9})", re.ASCII)
_POINTER = re.compile(r"BCKPOINTER:(\d+)->\d+", re.ASCII)
_INDEX_MAP = "_INDEXMAP:"

Reference = str | int
"""Dimension of an axis: its FQN, or the length of one without a name."""


def name_dimensions(checked: Checked, source: Source | Store, report: Report, options: Options) -> Checked | None:
    """Return the dataset with named dimensions; None after an error.

    Reports mismatched-dimension, and adapted-form for dimensions that only some fields can extend. Raises OSError.
    """
    value = options.run.storage.of("source").get(OPTION, "named")
    if value not in ("named", "phony"):
        report.error("bad-url", f"the storage option `{OPTION}` must be `named` or `phony`, not {value!r}")
        return None
    text = None if value == "phony" else _read_text(checked, report)
    if not text:
        return checked
    renaming = _Renaming(checked, report)
    for structure in read_structures(text):
        renaming.add(structure)
    return renaming.apply()


def _read_text(checked: Checked, report: Report) -> str | None:
    """Return the joined parts of StructMetadata; None if a part cannot be read."""
    parts = {path: _PART.fullmatch(names.last(path)) for path in checked.variables if names.parent(path) == INFORMATION}
    numbers = {int(part[1]): path for path, part in parts.items() if part is not None}
    pieces = []
    for _, path in sorted(numbers.items()):
        try:
            values = read_outer(checked, path, [slice(None)] * len(checked.shapes[path]))
        except CompileError as error:
            text = f"`{path}` cannot be read: {error.diagnostics[0].message}"
            report.warning(CODE, text, helps=["the dimensions keep the names of the netCDF library"])
            return None
        pieces.append(b"".join(_to_bytes(one) for one in values.reshape(-1).tolist()).partition(b"\0")[0])
    return names.from_bytes(b"".join(pieces))  # names with other bytes than UTF-8 stay different


def _to_bytes(value: Any) -> bytes:
    """Return a text or char as bytes."""
    return names.to_bytes(value) if isinstance(value, str) else value if isinstance(value, bytes) else b""


class _Renaming:
    """Named dimensions of the fields of a dataset."""

    def __init__(self, checked: Checked, report: Report) -> None:
        self._checked = checked
        self._report = report
        self._names: dict[str, list[Reference]] = {}
        """Dimensions of each changed variable."""
        self._new: dict[str, int] = {}
        """Length of each new dimension by FQN."""

    def add(self, structure: EosStructure) -> None:
        """Name the dimensions of the fields of a structure."""
        scope = names.fqn(structure.path)
        if scope not in self._checked.groups:
            return
        places: list[str] = []
        for field in structure.fields:
            path = names.fqn(field.path)
            if path in self._checked.variables:
                places += self._name_axes(path, scope, field.names, structure.lengths)
        for path, axis_names in self._list_levels(structure):
            places += self._name_axes(path, scope, axis_names, {})
        self._name_others(scope, structure.lengths)
        if places:
            more = f"; and {len(places) - LISTED} more" if len(places) > LISTED else ""
            text = f"dimensions of `{scope}` do not fit StructMetadata: {'; '.join(places[:LISTED])}{more}"
            self._report.warning(CODE, text, helps=["these axes keep the names of the netCDF library"])

    def _list_levels(self, structure: EosStructure) -> Iterator[tuple[str, tuple[str, ...]]]:
        """Yield the tables of a point with a name of their dimension, that of the level; and pointers of records."""
        of_records = [f"{level}_records" for level in structure.levels]
        for level, name in zip(structure.levels, of_records, strict=True):
            path = names.fqn((*structure.path, "Data", level))
            if path in self._checked.variables:
                yield path, (name,)
        for path in self._checked.variables if structure.levels else ():
            found = _POINTER.fullmatch(names.last(path))
            if found and names.parent(path) == names.fqn((*structure.path, "Linkage")):
                number = int(found[1]) if len(found[1]) < 4 else len(of_records)
                yield from ((path, (name,)) for name in of_records[number : number + 1])

    def _name_axes(self, path: str, scope: str, axis_names: tuple[str, ...], lengths: Mapping[str, int]) -> list[str]:
        """Name the axes of a variable; return descriptions of those that do not fit."""
        shape, variable = self._checked.shapes[path], self._checked.variables[path]
        if len(axis_names) > len(shape):
            return [f"`{path}` has {len(shape)} dimensions, not {len(axis_names)}"]
        dimensions, misfits = list(variable.dimensions), []
        for axis, name in enumerate(axis_names):
            if not self._is_phony(dimensions[axis]):
                continue
            fqn, declared = names.join(scope, name), lengths.get(name, 0)
            present = self._checked.dimensions.get(fqn)
            known = present.size if present is not None else self._new.get(fqn, declared if declared > 0 else None)
            problem = names.name_problem(name)
            if problem is not None or fqn in self._checked.groups or fqn in self._checked.types:
                misfits.append(f"`{path}`, axis {axis}: {problem or f'a group or type has the name `{name}`'}")
            elif known not in (None, shape[axis]):
                misfits.append(f"`{path}`, axis {axis}, has {shape[axis]} cells, `{name}` has {known}")
            else:
                dimensions[axis] = fqn
                if present is None:
                    self._new.setdefault(fqn, shape[axis])
        self._names[path] = dimensions
        return misfits

    def _name_others(self, scope: str, lengths: Mapping[str, int]) -> None:
        """Name axes of fields that the text does not list: other names of fields, and index maps.

        An axis without a name of its own shares the phony dimension of other fields of its group; it follows them
        if they have one name.
        """
        of_phony: dict[Reference, set[Reference]] = {}
        below = [path for path in self._checked.variables if path.startswith(f"{scope}/")]
        for path in below:
            for old, new in zip(self._checked.variables[path].dimensions, self._names.get(path, ()), strict=False):
                of_phony.setdefault(old, set()).add(new)
        for path in below:
            if path in self._names:
                continue
            if names.last(path).startswith(_INDEX_MAP):
                name = names.last(path)[len(_INDEX_MAP) :].partition(",")[0]
                self._name_axes(path, scope, (name,), lengths)
                continue
            old_dimensions = self._checked.variables[path].dimensions
            news = [of_phony.get(old, {old}) if isinstance(old, str) else {old} for old in old_dimensions]
            pairs = zip(old_dimensions, news, strict=True)
            self._names[path] = [next(iter(new)) if len(new) == 1 else old for old, new in pairs]

    def _is_phony(self, reference: Reference) -> bool:
        """Return whether the name of a dimension was made up by a reader, or it has none."""
        return isinstance(reference, int) or _PHONY.fullmatch(names.last(reference)) is not None

    def apply(self) -> Checked:
        """Return the dataset with the new dimensions, without those that no variable uses any more."""
        if not self._new:
            return self._checked
        before = {one for node in self._checked.variables.values() for one in node.dimensions}
        references = {path: self._names.get(path, node.dimensions) for path, node in self._checked.variables.items()}
        unused = before - {one for dimensions in references.values() for one in dimensions}
        unlimited = self._find_unlimited(references)

        def change(path: str, group: Group) -> dict[str, Any]:
            """Return the variables and dimensions of a group."""
            kept = tuple(node for node in group.dimensions if names.join(path, node.name) not in unused)
            added = tuple(
                Dimension(name=names.last(fqn), size=length, unlimited=fqn in unlimited)
                for fqn, length in self._new.items()
                if names.parent(fqn) == path
            )
            variables = tuple(self._change(names.join(path, node.name), node, unlimited) for node in group.variables)
            return {"dimensions": (*kept, *added), "variables": variables}

        dataset = map_groups(self._checked.dataset, change)
        return self._checked._replace(dataset=dataset, **tables(dataset)._asdict())

    def _change(self, path: str, node: Variable, unlimited: set[str]) -> Variable:
        """Return a variable with its new dimensions. Chunks of those that became fixed are not longer than they are."""
        if path not in self._names:
            return node
        storage = node.storage
        if storage.chunks is not None and not varies(storage.chunks):
            ends = [self._new[one] if one in self._new and one not in unlimited else None for one in self._names[path]]
            pairs = zip_longest(storage.chunks, ends[: len(storage.chunks)])
            chunks = tuple(chunk if end is None else min(chunk, max(1, end)) for chunk, end in pairs)
            storage = storage if chunks == storage.chunks else storage.model_copy(update={"chunks": chunks})
        return node.model_copy(update={"dimensions": tuple(self._names[path]), "storage": storage})

    def _find_unlimited(self, references: Mapping[str, Any]) -> set[str]:
        """Return the new dimensions along which every variable can grow. Reports those that some can extend."""
        can_grow: dict[str, set[bool]] = {}
        places: dict[str, list[str]] = {}
        for path, dimensions in references.items():
            for old, new in zip(self._checked.variables[path].dimensions, dimensions, strict=True):
                if new in self._new and old != new:
                    grows = isinstance(old, str) and self._checked.dimensions[old].unlimited
                    can_grow.setdefault(new, set()).add(grows)
                    if grows:
                        places.setdefault(new, []).append(path)
        for fqn in places:
            if False in can_grow[fqn]:
                text = f"`{fqn}` is a fixed dimension, although some fields can grow: "
                listed = names.list_first(places[fqn], LISTED)
                self._report.add(Diagnostic("adapted-form", Severity.NOTE, text + listed))
        return {fqn for fqn, each in can_grow.items() if each == {True}}
