"""Check of a dataset against a kind of netCDF file, and removal of what the kind cannot hold.

Expects: resolved names. Reports: format-conflict, once at each construct that
the kind cannot hold. ncgen silently narrows types and drops attributes instead.

A run that accepts the loss drops groups, user types, and variables and
attributes of other types, and too long dimensions with their variables. Excess
unlimited dimensions become fixed, or are dropped as well if they have length 0.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import cached_property
from typing import Any

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, CompoundType, Dataset, Dimension, EnumType, Group, Kind, Variable
from nczarr.ast.dataset import DEFAULT_STORAGE, HDF5_KINDS, KIND_NAMES, RESERVED_ATTRIBUTES, map_owners
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Span
from nczarr.registry import CDF5_ATOMIC, CLASSIC_ATOMIC, NETCDF_KINDS
from nczarr.semantics.checked import Checked, Tables, Unchecked, remaining, tables_of

LONGEST: dict[Kind, int] = {"nc3": 2**31 - 4, "nc6": 2**32 - 4, "nc7": 2**32 - 1, "nc4": 2**62 - 1}
"""Maximum dimension of a kind, as the library has it (NC_EDIMSIZE); HDF5 stores four bytes for each place of one."""
_WIDER: dict[Kind, str] = {
    "nc3": "netCDF-4, CDF-5 or perhaps 64-bit offset", "nc6": "netCDF-4 or CDF-5", "nc7": "netCDF-4", "nc4": "a store",
}  # fmt: skip
"""Targets with longer dimensions."""
SIZES: tuple[Kind, ...] = ("nc3", "nc5", "nc4")
"""Default kinds, from the smallest model to the largest."""
_ARTICLES = {"enum": "an enum", "opaque": "an opaque", "vlen": "a vlen", "compound": "a compound"}

RENAME = "`--rename-illegal` gives it a legal name, and keeps this one in an attribute"
OTHER_TYPE = "use --kind nc4, or another type"
NARROW = "use --kind nc4, another type, or `--narrow`, which writes it in a classic type if that is exact"
MOST_USERS = 3
"""Variables that a message about their coordinate names."""

Use = Callable[[str, int, Span], Span]
"""Function that returns the span of an owner's name use, or the given span: see `Unchecked.use`."""


def check_kind(work: Unchecked, kind: Kind, report: Report, *, accepted: bool = False, asked: bool = True) -> None:
    """Report content that a file of this kind cannot hold; as warnings if accepted.

    `asked`: the kind is that of the target; HDF5 files that are read may hold reserved names.
    """
    _KindChecker(tables_of(work), work.use, kind, report, accepted=accepted).run(reserved=asked)


def check_target_names(known: Tables | Checked, report: Report, helps: Sequence[str] = (RENAME,)) -> None:
    """Report names that the netCDF library refuses. Reports bad-name, slash-in-name, name-too-long."""
    legal = set[str]()

    def check(name: str, what: str, place: Span) -> None:
        if name in legal:
            return
        problem = names.problem(name)
        if problem is None:
            legal.add(name)
        else:
            report.error(problem[0], f"{what}: {problem[1]}", place, helps=helps)

    tables: dict[str, Mapping[str, Any]] = {
        "group": {path: group for path, group in known.groups.items() if path != "/"},
        "type": known.types,
        "dimension": known.dimensions,
        "variable": known.variables,
    }
    for kind, table in tables.items():
        for path, item in table.items():
            check(names.last(path), f"{kind} `{path}`", item.span)
    for path, declared in known.types.items():
        for field in declared.fields if isinstance(declared, CompoundType) else ():
            check(field.name, f"member of type `{path}`", field.span)
        for constant in declared.constants if isinstance(declared, EnumType) else ():
            check(constant.name, f"constant of type `{path}`", constant.span)
    owners: list[tuple[str, Group | Variable]] = [*known.groups.items(), *known.variables.items()]
    for path, owner in owners:
        for attribute in owner.attributes:
            check(attribute.name, f"attribute of `{path}`", attribute.span)


def check_target(checked: Checked, kind: Kind, report: Report, *, accepted: bool = False) -> None:
    """Report as `check_kind`, for a kind chosen later, at whole declarations."""
    check_target_names(checked, report)
    _KindChecker(checked, _declaration, kind, report, accepted=accepted).run()


def choose(checked: Checked, kinds: Collection[Kind], asked: Kind | None, *, stored: bool = False) -> Kind | None:
    """Return the target kind among `kinds`: the requested, else the dataset's own, else the smallest possible.

    The order is nc3 < nc5 < nc4; if none holds the dataset, the largest. None:
    the requested one is not possible. `stored`: the run requests chunks or
    codecs, which classic files lack; then a classic dataset becomes the classic
    model in HDF5, as with nccopy.
    """
    if asked is not None:
        return asked if asked in kinds else None
    own_kind = checked.dataset.kind
    if own_kind is not None and own_kind in kinds and (not stored or NETCDF_KINDS[own_kind].storage):
        return own_kind
    if own_kind in kinds and "nc7" in kinds and holds("nc7", checked, hints=False):
        return "nc7"
    allowed = [kind for kind in SIZES if kind in kinds]
    fitting = [kind for kind in allowed if holds(kind, checked, stored=stored)]
    fitting += [kind for kind in allowed if holds(kind, checked, hints=False)]  # storage is an annotation
    return fitting[0] if fitting else allowed[-1]


def holds(kind: Kind, checked: Checked, *, stored: bool = False, hints: bool = True) -> bool:
    """Return whether this kind holds the whole dataset, with its storage hints (`hints`) and the run's (`stored`)."""
    if kind == "nc4":
        return True
    if stored and not NETCDF_KINDS[kind].storage:
        return False
    trial = Report()
    check_target(checked, kind, trial)
    if not trial.errors:
        from nczarr.semantics.classic_layout import check_sizes

        check_sizes(checked, kind, trial)
    plain = all(variable.storage == DEFAULT_STORAGE for variable in checked.variables.values())
    return not trial.errors and (plain or not hints)


def _declaration(owner: str, index: int, otherwise: Span) -> Span:
    return otherwise


class _KindChecker:
    def __init__(self, tables: Tables | Checked, use: Use, kind: Kind, report: Report, *, accepted: bool) -> None:
        """Prepare; `use` finds the place of a use in the source, `accepted`: conflicts are warnings."""
        self.use = use
        self.kind = kind
        self.report = report
        self.known = tables
        self.accepted = accepted
        self.atomic = CDF5_ATOMIC if kind == "nc5" else CLASSIC_ATOMIC
        self.first: tuple[str, Span] | None = None

    @cached_property
    def coordinates(self) -> dict[str, list[str]]:
        """Variables along the dimension of each coordinate variable, some of them if they are many."""
        variables, users = self.known.variables, dict[str, list[str]]()
        for path, variable in variables.items():
            for reference in variable.dimensions:
                if reference in variables and reference != path and isinstance(reference, str):
                    of_reference = users.setdefault(reference, [])
                    if len(of_reference) < MOST_USERS and path not in of_reference[-1:]:  # one may have it twice
                        of_reference.append(path)
        return users

    def run(self, *, reserved: bool = True) -> None:
        """Report all conflicts. `reserved`: those of names too."""
        if self.kind != "nc4":
            self._check_model()
        else:
            accepted, self.accepted = self.accepted, False  # no dimension is left out of such a file
            self._report_long()
            self.accepted = accepted
        if reserved and self.kind in HDF5_KINDS:
            self._report_reserved()

    def _check_model(self) -> None:
        for path, declared in self.known.types.items():
            place = self.use(path + "=", 0, self.use(path, 0, declared.span))
            self._report_conflict(f"{_ARTICLES[declared.kind]} type needs netCDF-4", place, help_=OTHER_TYPE)
        for path, group in self.known.groups.items():
            if path != "/":
                self._report_conflict(f"group `{path}` needs netCDF-4", group.span)
            for attribute in group.attributes:
                self._check_attribute(path, attribute)
        for path, dimension in self.known.dimensions.items():
            if dimension.unlimited:
                self._check_unlimited(self.use(path + "=", 0, dimension.span), path, dimension)
        self._report_long()
        for path, variable in self.known.variables.items():
            self._check_variable(path, variable)

    def _report_long(self) -> None:
        """Report fixed dimensions that are too long."""
        for path, dimension in self.known.dimensions.items():
            longest = LONGEST.get(self.kind, dimension.size)
            if not dimension.unlimited and dimension.size > longest:
                text = f"dimension `{dimension.name}` is longer than {longest} and needs {_WIDER[self.kind]}"
                help_ = "use --kind nc4" if self.kind != "nc4" else "write a store"
                self._report_conflict(text, self.use(path + "=", 0, dimension.span), help_=help_)

    def _report_reserved(self) -> None:
        """Report attributes with names reserved by HDF5 files."""
        owners: list[tuple[str, Group | Variable]] = [*self.known.groups.items(), *self.known.variables.items()]
        for path, owner in owners:
            for attribute in owner.attributes:
                if attribute.name in RESERVED_ATTRIBUTES:
                    message = f"attribute `{attribute.name}` of `{path}` has a name that netCDF-4 files reserve"
                    self._report_conflict(message, attribute.span, help_="rename it, or use --rename-illegal")

    def _report_conflict(
        self,
        message: str,
        place: Span,
        others: tuple[Label, ...] = (),
        help_: str = "use --kind nc4",
        instead: str = "it is left out",
    ) -> None:
        text = f"{message}; the output format is {KIND_NAMES[self.kind]}"
        if self.accepted:
            text = f"{text}, and {instead}"
        severity = Severity.WARNING if self.accepted else Severity.ERROR
        helps = () if self.accepted else (help_,)
        self.report.add(Diagnostic("format-conflict", severity, text, Label(place), others, helps=helps))

    def _check_type(self, what: str, type_name: str, place: Span) -> None:
        if type_name in self.known.types:
            if self.accepted:  # else it is enough to report where it is defined
                self._report_conflict(f"{what} is of type `{type_name}`, which needs netCDF-4", place)
        elif type_name in ATOMIC and type_name not in self.atomic:
            wider = "netCDF-4" if type_name == "string" or self.kind == "nc7" else "CDF-5 or netCDF-4"
            self._report_conflict(f"{what} is of type {type_name}, which needs {wider}", place, help_=NARROW)

    def _check_attribute(self, owner: str, attribute: Attribute) -> None:
        place = self.use(f"{owner}:{attribute.name}", 0, attribute.span)
        self._check_type(f"attribute `{attribute.name}` of `{owner}`", attribute.value.type, place)

    def _describe(self, path: str) -> str:
        """Return a variable in words; a coordinate variable with the variables that need it."""
        users = self.coordinates.get(path)
        if not users:
            return f"variable `{path}`"
        return f"variable `{path}`, the coordinate of {', '.join(f'`{user}`' for user in users)},"

    def _check_unlimited(self, place: Span, path: str, dimension: Dimension) -> None:
        """Report an unlimited dimension after the first: classic files have one."""
        if self.first is None:
            self.first = (dimension.name, place)
            return
        first, where = self.first
        message = f"the {KIND_NAMES[self.kind]} format has one unlimited dimension (`{first}`)"
        others = (Label(where, "this is the first"),) if where.source is not None else ()
        remedy = "" if dimension.size else f", or `nczarr edit --delete dim:{path}` if no variable has it"
        self._report_conflict(message, place, others, f"use --kind nc4{remedy}", _describe_fixed(dimension))

    def _check_variable(self, path: str, variable: Variable) -> None:
        self._check_type(self._describe(path), variable.type, self.use(path, 0, variable.span))
        for axis, reference in enumerate(variable.dimensions):
            if not isinstance(reference, str) or axis == 0 or self.kind in HDF5_KINDS:  # HDF5 files grow along any axis
                continue
            dimension = self.known.dimensions.get(reference)
            if dimension is not None and dimension.unlimited:
                message = f"the unlimited dimension `{names.last(reference)}` must come first"
                where = self.use(path, axis + 1, variable.span)
                self._report_conflict(message, where, instead=_describe_fixed(dimension))
        for attribute in variable.attributes:
            if attribute.name != "_FillValue":
                self._check_attribute(path, attribute)


def reduce_to_kind(checked: Checked, kind: Kind) -> Checked:
    """Return the part of a dataset that a file of this kind holds."""
    dataset = checked.dataset if kind == "nc4" else _classic(checked, kind)
    return remaining(checked, _with_attributes(dataset, kind))


def _classic(checked: Checked, kind: Kind) -> Dataset:
    """Return the root group with the dimensions and variables of the classic model."""
    root = checked.dataset
    growing = _growing(checked, kind)
    dimensions = {
        names.join("/", dimension.name): dimension.model_copy(update={"unlimited": dimension.name == growing})
        for dimension in root.dimensions
        if (dimension.unlimited or dimension.size <= LONGEST.get(kind, dimension.size))
        and (dimension.size or dimension.name == growing or not dimension.unlimited)
    }
    variables = tuple(
        variable
        for variable in root.variables
        if variable.type in NETCDF_KINDS[kind].atomic
        and all(isinstance(ref, int) or ref in dimensions for ref in variable.dimensions)
    )
    changes = {"types": (), "groups": (), "dimensions": tuple(dimensions.values()), "variables": variables}
    return root.model_copy(update=changes)


def _describe_fixed(dimension: Dimension) -> str:
    """Return what becomes of an unlimited dimension that a file cannot have as such; a length of 0 means unlimited."""
    left_out = f"`{dimension.name}` has length 0 and is left out, with the variables along it"
    return "the dimension keeps its length" if dimension.size else left_out


def _growing(checked: Checked, kind: Kind) -> str | None:
    """Return the remaining unlimited dimension: the first one, if a classic file can have it wherever it is used."""
    first = next((dimension for dimension in checked.dataset.dimensions if dimension.unlimited), None)
    if first is None:
        return None
    if kind in HDF5_KINDS:
        return first.name
    path = names.join("/", first.name)
    used = (variable.dimensions[1:] for variable in checked.dataset.variables)
    return None if any(path in behind for behind in used) else first.name


def _with_attributes(dataset: Dataset, kind: Kind) -> Dataset:
    """Return a dataset with only the attributes that the kind holds."""
    limits = NETCDF_KINDS[kind]

    def keep_allowed(path: str, owner: Group | Variable) -> dict[str, Any]:
        """Return the attributes of an owner that the kind of file can hold, as its new members."""
        attributes = (
            attribute
            for attribute in owner.attributes
            if (attribute.value.type in limits.atomic or limits.attribute_user_types)
            and not (kind in HDF5_KINDS and attribute.name in RESERVED_ATTRIBUTES)
        )
        return {"attributes": tuple(attributes)}

    return map_owners(dataset, keep_allowed)
