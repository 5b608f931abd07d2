"""Reader of the groups, dimensions, types, variables and attributes of a DAP4 document.

A format says where the values of a variable are, and which of its attributes
are not those of the dataset.
"""

from __future__ import annotations

from typing import NamedTuple

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Storage, Variable
from nczarr.ast.node import members_of
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Source, Span
from nczarr.options import RunOptions
from nczarr.plugins.common.xml_reader import XmlElement
from nczarr.plugins.opendap.common.declarations import (
    DmrScope,
    FaultError,
    attributes,
    enum_of,
    size_of,
    type_of,
    whole,
)
from nczarr.plugins.opendap.common.words import VARIABLES
from nczarr.semantics.checked import Unchecked
from nczarr.stores import local_paths

DEEPEST = 64
"""Maximum nesting of groups."""

UNLIMITED = "_edu.ucar.isunlimited"
"""XML attribute of netCDF's servers."""

FILL = "_FillValue"

_KINDS = ("nc3", "nc6", "nc5", "nc4", "nc7")


class DescribedVariable(NamedTuple):
    """A variable of a document."""

    element: XmlElement
    path: str
    """FQN of the variable."""
    type: str
    """Type of the values."""
    shape: tuple[int, ...]
    types: Types
    """Declared types by FQN."""
    declared: bytes | None
    """Bytes of its `_FillValue`; None without one."""
    grows: tuple[bool, ...] = ()
    """True for each unlimited dimension."""

    def chunk_storage(self, chunks: tuple[int, ...]) -> Storage:
        """Return the storage in chunks, which are no longer than dimensions of a fixed length."""
        sizes = zip(chunks, self.shape, self.grows, strict=True)
        lengths = tuple(length if grows else min(length, max(1, size)) for length, size, grows in sizes)
        return Storage(layout="chunked", chunks=lengths)


class DocumentReader:
    """State of one read. A format defines `values`, and may define `attributes` and `lists`."""

    lists = False
    """True if sequences and opaque values are lists."""

    def __init__(self, source: Source, report: Report, run: RunOptions) -> None:
        self.source, self.report, self.run = source, report, run
        self.result = Unchecked(Dataset(name=""))

    def values(self, described: DescribedVariable) -> tuple[Parts, Storage]:
        """Return the arrays and the storage of a variable. Raises FaultError."""
        raise NotImplementedError

    def fill_value(self, value: Constant, type_name: str, types: Types) -> Constant:
        """Return a fill value as the type requires, if it can be converted."""
        if type_name == "string" and value.type == "char":
            return Constant.strings([value.data if isinstance(value.data, bytes) else b""])
        return value

    def report_omitted(self, element: XmlElement, text: str) -> None:
        """Report an omitted part: an error, unless the options accept it."""
        severity = Severity.WARNING if self.run.accepts("unreadable-array") else Severity.ERROR
        helps = () if severity is Severity.WARNING else ("read the rest with `--allow-loss unreadable-array`",)
        self.report.add(Diagnostic("unreadable-array", severity, text, Label(self.span(element)), helps=helps))

    def read(self, root: XmlElement) -> Unchecked:
        """Return the dataset."""
        scope = DmrScope("_", "/", lists=self.lists)
        self._declare(root, scope, 0)
        self._fill(root, scope)
        name = root.attributes.get("nczarr:name")
        stem = local_paths.stem_of(root.attributes.get("name", "").rpartition("/")[2])
        kind = root.attributes.get("nczarr:kind")
        group = scope.node()
        dataset_members = {"name": stem if name is None else name, "kind": kind if kind in _KINDS else None}
        self.result.dataset = Dataset(**{**members_of(group), **dataset_members})
        return self.result

    def span(self, element: XmlElement) -> Span:
        """Return the place of an element."""
        return Span(self.source, element.offset, element.offset)

    def foreign(self, element: XmlElement, text: str) -> None:
        """Warn about an omitted attribute."""
        self.report.warning("foreign-member", text, self.span(element))

    def _declare(self, element: XmlElement, scope: DmrScope, depth: int) -> None:
        """Declare dimensions, enumerations and groups recursively, before names are resolved."""
        for child in element.children:
            name = child.attributes.get("name", "")
            what = f"{child.tag.lower()} `{name[:80]}` of `{scope.path}`"
            try:
                if child.tag in ("Dimension", "Enumeration", "Group") and not names.is_segment(name):
                    raise FaultError("netCDF does not allow this name")
                if child.tag == "Dimension":
                    size = whole(child.attributes.get("size", ""), "size of a dimension")
                    unlimited = (
                        child.attributes.get("nczarr:unlimited") == "true"
                        or child.attributes.get(UNLIMITED, "0") != "0"
                    )
                    scope.dimensions.append(Dimension(name=name, size=size, unlimited=unlimited, span=self.span(child)))
                elif child.tag == "Enumeration":
                    scope.types.append(enum_of(child))
                elif child.tag == "Group":
                    if depth >= DEEPEST:
                        raise FaultError(f"groups are nested more than {DEEPEST} deep")
                    inner = DmrScope(name, names.join(scope.path, name), scope)
                    scope.groups.append(inner)
                    self._declare(child, inner, depth + 1)
                elif child.tag not in VARIABLES and child.tag not in ("Attribute", "Map"):
                    self.report_omitted(child, f"the element `{child.tag}` of `{scope.path}` is unknown and left out")
            except FaultError as fault:
                self.report_omitted(child, f"{what} is left out: {fault}")

    def _fill(self, element: XmlElement, scope: DmrScope) -> None:
        """Read the variables and attributes of a group and its descendants."""
        scope.attributes = self.attributes(element, scope)
        for child in element.children:
            if child.tag in VARIABLES:
                name = child.attributes.get("name", "")
                try:
                    self._read_variable(child, name, scope)
                except FaultError as fault:
                    where = names.join(scope.path, name[:80])
                    self.report_omitted(child, f"variable `{where}` is left out: {fault}")
        below = iter(scope.groups)
        group = next(below, None)
        for child in element.all("Group"):
            if group is not None and child.attributes.get("name") == group.name:
                self._fill(child, group)
                group = next(below, None)

    def attributes(self, element: XmlElement, scope: DmrScope) -> tuple[Attribute, ...]:
        """Return the attributes of a group or variable."""
        attributes_by_name: dict[str, Attribute] = {}
        for attribute in attributes(element, scope):
            if isinstance(attribute, tuple):
                self.foreign(attribute[0], attribute[1])
            elif attribute.name in attributes_by_name:
                self.foreign(element, f"attribute `{attribute.name}` is left out: another attribute has the same name")
            else:
                attributes_by_name[attribute.name] = attribute
        return tuple(attributes_by_name.values())

    def _read_variable(self, element: XmlElement, name: str, scope: DmrScope) -> None:
        """Read one variable. Raises FaultError."""
        if not names.is_segment(name):
            raise FaultError("netCDF does not allow this variable name")
        path = names.join(scope.path, name)
        dimensions: list[str | int] = []
        shape, grows = [], []
        for dim in element.all("Dim"):
            size = size_of(dim, scope)
            dimensions.append(size if isinstance(size, int) else size[0])
            shape.append(size if isinstance(size, int) else size[1])
            dimension = scope.dimension(dim.attributes.get("name", ""))
            grows.append(dimension is not None and dimension[1].unlimited)
        if len(shape) > 1024:
            raise FaultError(f"it has {len(shape)} dimensions")
        declared = [*scope.types]
        try:
            type_name = type_of(element, scope)
            types = scope.root().all_types()
            variable_attributes = self._check_fill(element, type_name, scope, types)
            fills = (each.value.data for each in variable_attributes if each.name == FILL)
            fill = next((data for data in fills if isinstance(data, bytes)), None)
            described = DescribedVariable(element, path, type_name, tuple(shape), types, fill, tuple(grows))
            parts, storage = self.values(described)
        except FaultError:
            scope.types[:] = declared  # those of a structure that is left out
            raise
        scope.variables.append(
            Variable(
                name=name,
                type=type_name,
                dimensions=tuple(dimensions),
                attributes=variable_attributes,
                storage=storage,
                span=self.span(element),
            )
        )
        self.result.parts[path] = parts

    def _check_fill(self, element: XmlElement, type_name: str, scope: DmrScope, types: Types) -> tuple[Attribute, ...]:
        """Return a variable's attributes, without a `_FillValue` of another type."""
        suitable = []
        for attribute in self.attributes(element, scope):
            if attribute.name == FILL:
                value = self.fill_value(attribute.value, type_name, types)
                if value.type != type_name or value.count != 1:
                    subject = f"attribute `_FillValue` of `{element.attributes['name']}`"
                    self.foreign(element, f"{subject} is left out: it has {value.count} values of type {value.type}")
                    continue
                attribute = attribute.model_copy(update={"value": value})
            suitable.append(attribute)
        return tuple(suitable)
