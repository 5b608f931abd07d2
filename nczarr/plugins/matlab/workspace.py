"""Variables of a MATLAB workspace, as groups and arrays of the tree.

    datasets, `MATLAB_class` ─ read_workspace ─> structs and cells are groups, all else is an array

MATLAB stores an array with its dimensions reversed, a text as code units, a cell as references to objects in `/#refs#`,
and an empty array as its shape. Objects of classes and function handles have content that MATLAB alone knows: they are
left out by name.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from nczarr.arrays.values.elements import declare_type
from nczarr.plugins.common.nodes import text_attribute
from nczarr.plugins.matlab.objects import (
    FileObjects,
    GatheredCells,
    ReversedArray,
    TextRows,
    fields_attribute,
    find_number,
    find_text,
    list_fields,
    size_attribute,
)
from nczarr.sdk import (
    ArraySource,
    Attribute,
    Checked,
    CompileError,
    CompoundType,
    Dataset,
    Diagnostic,
    Dimension,
    Field,
    Group,
    Layout,
    Omission,
    Options,
    Report,
    Severity,
    Source,
    Storage,
    Store,
    Unchecked,
    UserType,
    Variable,
    check,
    descr,
    names,
)

OPTION = "matlab.form"
"""Storage option: `workspace` (default), or `hdf5` for the objects of the file as they are."""

SIGNATURE = b"MATLAB 7.3 MAT-file"
"""Begin of the file."""

INTERNAL = frozenset({"MATLAB_int_decode", "MATLAB_object_decode", "MATLAB_empty", "MATLAB_fields", "H5PATH"})
"""Attributes that describe the form of the file, which the tree does not have."""

OWN_GROUPS = ("#refs#", "#subsystem#")
"""Groups of the root without variables of the workspace."""

EMPTY = "canonical empty"
"""Class of `[]` in a cell."""

NUMBERS = {
    EMPTY: "double", "double": "double", "single": "float", "int8": "byte", "uint8": "ubyte", "int16": "short",
    "uint16": "ushort", "int32": "int", "uint32": "uint", "int64": "int64", "uint64": "uint64", "logical": "ubyte",
}  # fmt: skip
"""Type of the tree by class of MATLAB."""

COMPLEX = {"double": "complex128", "float": "complex64"}
"""Complex numbers of the tree by the type of their parts."""

HANDLE, OPAQUE_OBJECT = 1, 3
"""Values of `MATLAB_object_decode` of function handles, and of objects in `/#subsystem#`."""

MOST = 1 << 18
"""Maximum groups and variables of a workspace: references may lead to one object many times."""

MOST_DIMENSIONS = 64
"""Maximum dimensions of an empty array."""

UNITS = {"ubyte": 1, "ushort": 2, "uint": 4}
"""Bytes of a code unit by the type of characters."""

DEEPEST = 60
"""Maximum nesting of structs and cells."""


def read_workspace(checked: Checked, source: Source | Store, report: Report, options: Options) -> Checked | None:
    """Return the workspace of a MATLAB file; other datasets, and None after an error, as they are. Raises OSError."""
    form = options.run.storage.of("source").get(OPTION, "workspace")
    if form not in ("workspace", "hdf5"):
        report.error("bad-url", f"the storage option `{OPTION}` must be `workspace` or `hdf5`, not {form!r}")
        return None
    is_file = isinstance(source, Source) and bytes(source.data[: len(SIGNATURE)]) == SIGNATURE
    if not is_file or form == "hdf5":
        return checked
    assert isinstance(source, Source)
    try:
        return _WorkspaceReader(checked, FileObjects(source.path, source.name)).read(report)
    except CompileError as error:
        for diagnostic in error.diagnostics:
            report.add(diagnostic)
        return None


class _WorkspaceGroup:
    """Members of a group of the workspace."""

    def __init__(self, path: str) -> None:
        self.path = path
        self.variables: list[Variable] = []
        self.groups: list[Group] = []
        self.dimensions: dict[str, int] = {}

    def find_dimensions(self, shape: Iterable[int]) -> tuple[str, ...]:
        """Return the dimensions of a shape, by length; an array has no dimension twice."""
        found: list[str] = []
        for length in shape:
            name = names.free(f"dim_{length}", found.__contains__)
            self.dimensions[name] = length
            found.append(name)
        return tuple(names.join(self.path, name) for name in found)

    def to_group(self, attributes: Iterable[Attribute]) -> Group:
        """Return the group."""
        dimensions = (Dimension(name=name, size=size, unlimited=not size) for name, size in self.dimensions.items())
        return Group(
            name="_" if self.path == "/" else names.last(self.path),
            attributes=tuple(attributes),
            dimensions=tuple(dimensions),
            variables=tuple(self.variables),
            groups=tuple(self.groups),
        )


class _WorkspaceReader:
    """Reader of the variables of one file."""

    def __init__(self, checked: Checked, objects: FileObjects) -> None:
        self._checked = checked
        self._objects = objects
        self._types: dict[str, UserType] = {}
        self._parts: dict[str, dict[str, ArraySource]] = {}
        self._omitted: list[Omission] = []
        self._count = 0
        self._above: list[str] = []
        """Objects that contain the one that is added."""

    def read(self, report: Report) -> Checked | None:
        """Return the workspace. Raises OSError, CompileError."""
        root = _WorkspaceGroup("/")
        for name in self._objects.members["/"]:
            if name not in OWN_GROUPS:
                self._add(root, name, names.fqn((name,)), 0)
        group = root.to_group(self._keep(self._checked.dataset.attributes))
        content = {name: getattr(group, name) for name in ("attributes", "dimensions", "variables", "groups")}
        dataset: Dataset = self._checked.dataset.model_copy(update={**content, "types": tuple(self._types.values())})
        own = tuple(names.fqn((name,)) for name in OWN_GROUPS)
        known = self._objects.reference_arrays
        kept = [one for one in self._checked.omitted if one.path not in known and not one.path.startswith(own)]
        return check(Unchecked(dataset, parts=self._parts, omitted=[*kept, *self._omitted]), report)

    def _add(self, target: _WorkspaceGroup, name: str, path: str, depth: int) -> None:
        """Add an object of the file to a group, under a name."""
        place = names.join(target.path, name)
        self._count += 1
        if self._count > MOST:
            text = (
                f"the cells and structs of the file have more than {MOST:,} items, or lead to the same ones many times"
            )
            raise CompileError([Diagnostic("unreadable-file", Severity.ERROR, text)])
        if path in self._above or depth > DEEPEST:
            reason = "contains itself" if path in self._above else f"is nested deeper than {DEEPEST}"
            self._omit(place, reason)
            return
        problem = names.name_problem(name)
        if problem is not None:
            self._omit(place, f"has an invalid name: {problem}")
            return
        if path in self._objects.reference_arrays:
            self._add_cells(target, name, path, depth)
            return
        node = self._checked.variables.get(path) or self._checked.groups.get(path)
        if node is None:
            return  # an omission of the reader names it
        class_name, kind = (
            find_text(node.attributes, "MATLAB_class"),
            find_number(node.attributes, "MATLAB_object_decode"),
        )
        if kind == HANDLE or class_name == "function_handle":
            self._omit(place, "is a function handle, which has no values", "omitted-type")
        elif kind == OPAQUE_OBJECT:
            self._omit(
                place, f"is an object of the class `{class_name}`, whose content MATLAB alone knows", "omitted-type"
            )
        elif isinstance(node, Group):
            self._add_group(target, name, path, node, depth)
        elif self._is_empty(path, node):
            self._add_empty(target, name, path, node, class_name)
        else:
            self._add_array(target, name, path, node, class_name)

    def _omit(self, place: str, reason: str, code: str = "omitted-object") -> None:
        self._omitted.append(Omission(code, place, f"`{place}` {reason}"))

    # ---- structs and cells ----------------------------------------------------------------------------------------
    def _add_group(self, target: _WorkspaceGroup, name: str, path: str, node: Group, depth: int) -> None:
        """Add a struct, an array of structs, or a sparse matrix."""
        below = _WorkspaceGroup(names.join(target.path, name))
        members, fields = self._objects.members.get(path, []), list_fields(node.attributes)
        ordered = [field for field in fields if field in members]
        for member in (*ordered, *(member for member in members if member not in fields)):
            self._add(below, member, names.join(path, member), depth + 1)
        attributes = self._keep(node.attributes)
        arrays = [names.join(path, member) for member in members]
        if arrays and all(array in self._objects.reference_arrays for array in arrays) and self._is_array(arrays):
            attributes.append(size_attribute(self._objects.read_references(arrays[0]).shape))
        target.groups.append(below.to_group([*attributes, *fields_attribute(fields)]))

    def _is_array(self, arrays: list[str]) -> bool:
        """Return whether the fields of a group are those of an array of structs: references without a class."""
        return all(self._objects.class_of(array) is None for array in arrays)

    def _add_cells(self, target: _WorkspaceGroup, name: str, path: str, depth: int) -> None:
        """Add a cell, or a field of an array of structs: as an array if all cells fit, else as a group."""
        references = self._objects.read_references(path)
        class_name = self._objects.class_of(path)
        attributes = [] if class_name is None else [text_attribute("MATLAB_class", class_name)]
        if self._gather(target, name, references.shape, references.paths, attributes):
            return
        below = _WorkspaceGroup(names.join(target.path, name))
        self._above.append(path)
        for number, element in enumerate(references.paths, 1):
            if element is None:
                self._omit(names.join(below.path, str(number)), "is a reference without an object")
            else:
                self._add(below, str(number), element, depth + 1)
        self._above.pop()
        target.groups.append(below.to_group([*attributes, size_attribute(references.shape)]))

    def _gather(
        self,
        target: _WorkspaceGroup,
        name: str,
        shape: tuple[int, ...],
        paths: list[str | None],
        attributes: list[Attribute],
    ) -> bool:
        """Add cells as one array, if each is a row of text, or each a single number of one class."""
        classes, cells, element = set[str | None](), list[ArraySource | None](), None
        for path in paths:
            node = self._checked.variables.get(path or "")
            if node is None or find_number(node.attributes, "MATLAB_object_decode"):
                return False
            class_name = find_text(node.attributes, "MATLAB_class")
            classes.add(class_name)
            is_empty, source = self._is_empty(path or "", node), self._checked.parts.get(path or "", {}).get("")
            is_single = not is_empty and math.prod(self._checked.shapes[path or ""]) == 1
            if class_name == "char" and is_empty:
                cells.append(None)
            elif class_name == "char" and source is not None and node.type in UNITS and self._is_row(path or ""):
                cells.append(TextRows(source, scalar=True))
            elif class_name in NUMBERS and is_single and node.type == NUMBERS[class_name]:
                cells.append(source)
            else:
                return False
        if len(classes) != 1:
            return False
        [class_name] = classes
        assert class_name is not None
        if class_name == "char":
            variable, dtype = Variable(name=name, type="string"), "|O"
        else:
            variable, dtype = self._declare_number(name, class_name)
            element = text_attribute("MATLAB_class_of_cells", class_name)
        layout = Layout(dtype, shape, shape)
        cells_attributes = (*attributes, *(() if element is None else (element,)))
        self._append(target, variable, shape, cells_attributes, GatheredCells(layout, tuple(cells)))
        return True

    # ---- arrays ---------------------------------------------------------------------------------------------------
    def _add_empty(self, target: _WorkspaceGroup, name: str, path: str, node: Variable, class_name: str | None) -> None:
        """Add an array without elements, of which the file has the shape."""
        parts = self._checked.parts[path][""]
        shape = tuple(int(length) for length in parts.read((slice(0, parts.layout.shape[0]),)).tolist())
        attributes = self._keep(node.attributes)
        if class_name == "char":
            self._append(target, Variable(name=name, type="string"), shape[:1] if shape[0] > 1 else (), attributes)
        elif class_name in NUMBERS and 0 in shape:
            variable, _ = self._declare_number(name, class_name)
            self._append(target, variable, shape, attributes)
        else:  # a cell or struct; its fields have no values
            fields = fields_attribute(list_fields(node.attributes))
            below = _WorkspaceGroup(names.join(target.path, name))
            target.groups.append(below.to_group([*attributes, size_attribute(shape), *fields]))

    def _add_array(self, target: _WorkspaceGroup, name: str, path: str, node: Variable, class_name: str | None) -> None:
        """Add an array of numbers or characters."""
        source, shape = self._checked.parts.get(path, {}).get(""), self._checked.shapes[path]
        attributes = self._keep(node.attributes)
        if source is None:
            self._omit(names.join(target.path, name), "has values of a type that MATLAB does not have", "omitted-type")
        elif class_name == "char" and len(shape) > 1 and node.type in UNITS:
            texts = TextRows(source, scalar=self._is_row(path))
            self._append(target, Variable(name=name, type="string"), texts.layout.shape, attributes, texts)
        elif class_name == "logical" and node.type == "ubyte":
            variable, dtype = self._declare_number(name, class_name)
            self._append(target, variable, shape[::-1], attributes, ReversedArray(source, dtype))
        elif isinstance(self._checked.types.get(node.type), CompoundType):
            record, dtype = self._declare_complex(name, node)
            if record is None:
                self._omit(names.join(target.path, name), "has records that are not complex numbers", "omitted-type")
            else:
                self._append(target, record, shape[::-1], attributes, ReversedArray(source, dtype))
        elif node.type in self._checked.types or node.type == "string":
            self._omit(
                names.join(target.path, name),
                f"has values of the type `{node.type}`, which MATLAB does not have",
                "omitted-type",
            )
        else:
            self._append(
                target, Variable(name=name, type=node.type), shape[::-1], attributes, ReversedArray(source), node
            )

    def _append(
        self,
        target: _WorkspaceGroup,
        variable: Variable,
        shape: tuple[int, ...],
        attributes: Iterable[Attribute],
        source: ArraySource | None = None,
        stored: Variable | None = None,
    ) -> None:
        """Add a variable with its dimensions and values. `stored`: the variable of the file, with its chunks."""
        changes: dict[str, Any] = {"dimensions": target.find_dimensions(shape), "attributes": tuple(attributes)}
        if stored is not None and stored.storage.chunks and 0 not in shape:
            chunks = tuple(reversed(stored.storage.chunks))
            changes["storage"] = Storage(layout="chunked", chunks=chunks, codecs=stored.storage.codecs)
        target.variables.append(variable.model_copy(update=changes))
        if source is not None:
            self._parts[names.join(target.path, variable.name)] = {"": source}

    def _declare_number(self, name: str, class_name: str) -> tuple[Variable, Any]:
        """Return a variable of a class of numbers, and its dtype; truth values are an enum, as those of h5py."""
        if class_name != "logical":
            return Variable(name=name, type=NUMBERS[class_name]), descr(NUMBERS[class_name], {})
        self._types.setdefault("bool", declare_type("bool", "bool"))
        return Variable(name=name, type="/bool", storage=Storage(element="bool")), "|i1"

    def _declare_complex(self, name: str, node: Variable) -> tuple[Variable | None, Any]:
        """Return a variable of complex numbers, and its dtype; None for other records."""
        stored = self._checked.types[node.type]
        fields = stored.fields if isinstance(stored, CompoundType) else ()
        parts = {field.type for field in fields}
        if [field.name for field in fields] != ["real", "imag"] or len(parts) != 1 or not parts <= {*NUMBERS.values()}:
            return None, None
        [part] = parts
        if part in COMPLEX:
            element = COMPLEX[part]
            declared, storage = (
                self._types.setdefault(element, declare_type(element, element)),
                Storage(element=element),
            )
        else:  # complex integers
            own = CompoundType(name=f"complex_{part}", fields=tuple(Field(name=one.name, type=part) for one in fields))
            declared, storage = self._types.setdefault(own.name, own), Storage()
        path = names.join("/", declared.name)
        return Variable(name=name, type=path, storage=storage), descr(path, {path: declared})

    def _is_empty(self, path: str, node: Variable) -> bool:
        """Return whether a variable of the file is the shape of an array without elements."""
        shape = self._checked.shapes[path]
        is_shape = node.type in ("int64", "uint64") and len(shape) == 1 and 0 < shape[0] <= MOST_DIMENSIONS
        return is_shape and bool(find_number(node.attributes, "MATLAB_empty"))

    def _is_row(self, path: str) -> bool:
        """Return whether characters are one row."""
        shape = self._checked.shapes[path]
        return len(shape) > 1 and math.prod((*shape[:-2], shape[-1])) == 1

    def _keep(self, attributes: Iterable[Attribute]) -> list[Attribute]:
        """Return the attributes that belong to the values; `[]` in a cell is a double."""
        types = self._checked.types
        kept = [one for one in attributes if one.name not in INTERNAL and one.value.type not in types]
        is_empty = find_text(kept, "MATLAB_class") == EMPTY
        return [text_attribute(one.name, "double") if is_empty and one.name == "MATLAB_class" else one for one in kept]
