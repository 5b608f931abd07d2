"""`read`: DMR++ document → dataset with byte ranges of the target as chunks; no values are read."""

from __future__ import annotations

import os

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset, Dimension, Storage, UserType, Variable
from nczarr.ast.node import members_of
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity
from nczarr.formats.dmrpp.arrays import ArrayReader, Described
from nczarr.formats.dmrpp.references import DocumentReferences
from nczarr.formats.dmrpp.wire import PLACEHOLDER, SUFFIX, foreign_kind
from nczarr.opendap.attributes import attributes
from nczarr.opendap.declarations import FaultError, Scope, enum_of, size_of, type_of, whole
from nczarr.opendap.wire import VARIABLES
from nczarr.opendap.xml_reader import Element, parse
from nczarr.options import Options
from nczarr.source import Source, Span
from nczarr.stores.reference_policy import ForbiddenTargetError, Policy, home_of
from nczarr.stores.references import ReferenceStore
from nczarr.stores.spool import origin

DEEPEST = 64
"""Maximum nesting of groups."""

_KINDS = ("nc3", "nc6", "nc5", "nc4", "nc7")


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Return the dataset of a document, None after an error.

    Reports bad-dmrpp, foreign-target, forbidden-target; unreadable-array and
    foreign-member for omissions.
    """
    policy = Policy(home_of(source), options.following)
    if options.following.target is not None and not _is_hdf5(None, policy, source, report):
        return None
    root = parse(source, report, "bad-dmrpp")
    if root is None:
        return None
    if root.tag != "Dataset":
        text = f"`{source.name}`: the root element is `{root.tag}`, not a `Dataset` of DAP4"
        report.error("bad-dmrpp", text, Span(source, root.offset, root.offset))
        return None
    url = None if options.following.target is not None else _target(root, source)
    if url is not None and not _is_hdf5(url, policy, source, report):
        return None
    references = DocumentReferences()
    store = ReferenceStore(references, policy, source.name, options.storage.of("source"))
    with building():
        old = not root.attributes.get("dmrpp:version")
        reader = _Reader(source, report, options, ArrayReader(store, references, url, old=old))
        unchecked = reader.read(root)
    before = report.errors
    store.check(report)
    return unchecked if report.errors == before else None


def _target(root: Element, source: Source) -> str:
    """Return the URL of the target; empty if the document has none."""
    url = root.attributes.get("dmrpp:href", "")
    if url != PLACEHOLDER:
        return url
    fetched = origin(source.path)
    name = (fetched[0].partition("?")[0] if fetched else source.name).rpartition("/")[2]
    return name.removesuffix(SUFFIX) if name.endswith(SUFFIX) else ""


def _is_hdf5(url: str | None, policy: Policy, source: Source, report: Report) -> bool:
    """Report foreign-target for an existing local file other than HDF5; return False then."""
    try:
        path = policy.follow(url).path
        kind = None if path is None else foreign_kind(path)
    except (ForbiddenTargetError, OSError):
        return True  # reported where a variable refers to it
    if path is None or kind is None:
        return True
    text = f"`{source.name}` describes `{os.path.basename(path)}`, which is {kind}"
    report.error("foreign-target", text, helps=["documents of HDF5 and netCDF-4 files can be read"])
    return False


class _Reader:
    def __init__(self, source: Source, report: Report, options: Options, arrays: ArrayReader) -> None:
        self.source, self.report, self.options, self.arrays = source, report, options, arrays
        self.result = Unchecked(Dataset(name=""))

    def read(self, root: Element) -> Unchecked:
        """Return the dataset."""
        scope = Scope("_", "/")
        self._declare(root, scope, 0)
        self._fill(root, scope)
        name = root.attributes.get("nczarr:name")
        stem = os.path.splitext(root.attributes.get("name", "").rpartition("/")[2])[0]
        kind = root.attributes.get("nczarr:kind")
        group = scope.node()
        own = {"name": stem if name is None else name, "kind": kind if kind in _KINDS else None}
        self.result.dataset = Dataset(**{**members_of(group), **own})
        return self.result

    def _span(self, element: Element) -> Span:
        return Span(self.source, element.offset, element.offset)

    def _lost(self, element: Element, text: str) -> None:
        """Report an omitted part: an error, unless the options accept it."""
        severity = Severity.WARNING if self.options.accepts("unreadable-array") else Severity.ERROR
        helps = () if severity is Severity.WARNING else ("read the rest with `--allow-loss unreadable-array`",)
        self.report.add(Diagnostic("unreadable-array", severity, text, Label(self._span(element)), helps=helps))

    def _foreign(self, element: Element, text: str) -> None:
        self.report.warning("foreign-member", text, self._span(element))

    def _declare(self, element: Element, scope: Scope, depth: int) -> None:
        """Declare dimensions, enumerations and groups recursively, before names are resolved."""
        for child in element.children:
            name = child.attributes.get("name", "")
            what = f"{child.tag.lower()} `{name[:80]}` of `{scope.path}`"
            try:
                if child.tag in ("Dimension", "Enumeration", "Group") and names.problem(name) is not None:
                    raise FaultError("netCDF does not allow this name")
                if child.tag == "Dimension":
                    size = whole(child.attributes.get("size", ""), "size of a dimension")
                    unlimited = child.attributes.get("nczarr:unlimited") == "true"
                    scope.dimensions.append(
                        Dimension(name=name, size=size, unlimited=unlimited, span=self._span(child))
                    )
                elif child.tag == "Enumeration":
                    scope.types.append(enum_of(child))
                elif child.tag == "Group":
                    if depth >= DEEPEST:
                        raise FaultError(f"groups are nested more than {DEEPEST} deep")
                    inner = Scope(name, names.join(scope.path, name), scope)
                    scope.groups.append(inner)
                    self._declare(child, inner, depth + 1)
                elif child.tag not in VARIABLES and child.tag not in ("Attribute", "Map"):
                    self._lost(child, f"the element `{child.tag}` of `{scope.path}` is unknown and left out")
            except FaultError as fault:
                self._lost(child, f"{what} is left out: {fault}")

    def _fill(self, element: Element, scope: Scope) -> None:
        """Read the variables and attributes of a group and its descendants."""
        scope.attributes = self._attributes(element, scope)
        for child in element.children:
            if child.tag in VARIABLES:
                name = child.attributes.get("name", "")
                try:
                    self._variable(child, name, scope)
                except FaultError as fault:
                    where = names.join(scope.path, name[:80])
                    self._lost(child, f"variable `{where}` is left out: {fault}")
        below = iter(scope.groups)
        group = next(below, None)
        for child in element.all("Group"):
            if group is not None and child.attributes.get("name") == group.name:
                self._fill(child, group)
                group = next(below, None)

    def _attributes(self, element: Element, scope: Scope) -> tuple[Attribute, ...]:
        found: dict[str, Attribute] = {}
        for each in attributes(element, scope):
            if isinstance(each, tuple):
                self._foreign(each[0], each[1])
            elif each.name in found:
                self._foreign(element, f"attribute `{each.name}` is left out: another attribute has the same name")
            else:
                found[each.name] = each
        return tuple(found.values())

    def _variable(self, element: Element, name: str, scope: Scope) -> None:
        """Read one variable. Raises FaultError."""
        if names.problem(name) is not None:
            raise FaultError("netCDF does not allow this variable name")
        path = names.join(scope.path, name)
        dimensions: list[str | int] = []
        shape, grows = [], []
        for dim in element.all("Dim"):
            size = size_of(dim, scope)
            dimensions.append(size if isinstance(size, int) else size[0])
            shape.append(size if isinstance(size, int) else size[1])
            known = scope.dimension(dim.attributes.get("name", ""))
            grows.append(known is not None and known[1].unlimited)
        if len(shape) > 1024:
            raise FaultError(f"it has {len(shape)} dimensions")
        declared = [*scope.types]
        try:
            type_name = type_of(element, scope)
            types = self._types(scope.root())
            own = self._own(element, type_name, scope)
            fill = next(
                (each.value for each in own if each.name == "_FillValue" and each.value.type == type_name), None
            )
            data = fill.data if fill is not None and isinstance(fill.data, bytes) else None
            found = self.arrays.read(Described(element, path, type_name, tuple(shape), types, data))
        except FaultError:
            scope.types[:] = declared  # those of a structure that is left out
            raise
        if found.unknown_fill:
            text = (
                f"chunks of `{path}` are missing, and the document has no fill value for them; they are read as zeros"
            )
            self.report.add(Diagnostic("undefined-fill", Severity.NOTE, text, Label(self._span(element))))
        scope.variables.append(
            Variable(
                name=name,
                type=type_name,
                dimensions=tuple(dimensions),
                attributes=own,
                storage=self._storage(element, found.storage, list(zip(shape, grows, strict=True))),
                span=self._span(element),
            )
        )
        self.result.parts[path] = found.parts

    def _own(self, element: Element, type_name: str, scope: Scope) -> tuple[Attribute, ...]:
        """Return a variable's attributes, without a `_FillValue` of another type."""
        found = []
        for each in self._attributes(element, scope):
            value = each.value
            if each.name == "_FillValue" and type_name == "string" and value.type == "char":
                text = value.data if isinstance(value.data, bytes) else b""
                found.append(Attribute(name=each.name, value=Constant.strings([text])))
                continue
            if each.name == "_FillValue" and (value.type != type_name or value.count != 1):
                self._foreign(
                    element,
                    f"attribute `_FillValue` of `{element.attributes['name']}` is left out: "
                    f"it has {value.count} values of type {value.type}",
                )
                continue
            found.append(each)
        return tuple(found)

    def _storage(self, element: Element, plain: Storage, sizes: list[tuple[int, bool]]) -> Storage:
        """Return the storage of a variable, with our notes.

        `sizes`: dimension lengths, and whether unlimited; HDF5 chunks may be
        longer.
        """
        if plain.chunks is not None:
            lengths = zip(plain.chunks, sizes, strict=True)
            chunks = tuple(each if grows else min(each, max(1, size)) for each, (size, grows) in lengths)
            plain = plain.model_copy(update={"chunks": chunks})
        noted = element.attributes.get("nczarr:storage")
        if noted is None:
            return plain
        try:
            made = Storage.model_validate_json(noted)
        except ValueError:
            return plain
        fits = made.chunks is None or (
            len(made.chunks) == len(sizes)
            and all(grows or each <= max(1, size) for each, (size, grows) in zip(made.chunks, sizes, strict=True))
        )
        return made if fits else plain

    def _types(self, root: Scope) -> dict[str, UserType]:
        """Return all types declared so far, by FQN."""
        found = {names.join(root.path, each.name): each for each in root.types}
        for group in root.groups:
            found |= self._types(group)
        return found
