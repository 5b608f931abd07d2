"""Name resolution: every use of a type or dimension becomes the FQN of its declaration.

Expects: uses as written, bare names or FQNs. Ensures: every `TypeName` is
atomic or the FQN of a declared type, every dimension reference a size or the
FQN of a declared dimension, or the fault is reported.

CDL has lexical scopes: a bare dimension is looked up in its group and the
ancestors; a bare type also, and then in the whole tree if exactly one matches.
If `forward` is false, as in CDL, declarations must precede uses. Reports:
undefined-dimension, undefined-type, undefined-group, forward-reference,
circular-type.
"""

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from itertools import chain
from operator import is_

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    Constant,
    DimensionRef,
    EnumType,
    Node,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import G, rebuild
from nczarr.diagnostics.report import Fix, Label, Report, Span, did_you_mean
from nczarr.semantics.checked import Tables, Unchecked, tables_of

_ATOMIC = frozenset(ATOMIC)


def resolve(work: Unchecked, report: Report) -> Unchecked:
    """Resolve all uses of names to FQNs."""
    work.dataset = _Resolver(work, report).group(work.dataset, "/")
    return work


@lru_cache(maxsize=1 << 10)
def list_scopes(group: str) -> tuple[str, ...]:
    """Return the FQNs of a group and its ancestors, innermost first."""
    parts = names.split(group)
    return tuple(names.fqn(parts[:count]) for count in range(len(parts), -1, -1))


def find_in_scope(name: str, scopes: Iterable[str], declared: Mapping[str, object]) -> str | None:
    """Return the FQN of a name in the first of the groups that declares it, or of an absolute path; else None."""
    if name.startswith("/"):
        return name if name in declared else None
    for path in scopes:
        candidate = names.join(path, name)
        if candidate in declared:
            return candidate
    return None


class _Resolver:
    def __init__(self, work: Unchecked, report: Report) -> None:
        self.work = work
        self.report = report
        self.tables: Tables = tables_of(work)
        self.types_by_name: dict[str, list[str]] = {}
        for path, declared in self.tables.types.items():
            self.types_by_name.setdefault(declared.name, []).append(path)
        self.scopes: dict[str, tuple[str, ...]] = {}
        self.undefined: set[str] = set()  # names of types that were reported
        self.references: dict[tuple[str, tuple[DimensionRef, ...]], tuple[DimensionRef, ...]] = {}
        """Resolved dimensions by scope and dimensions as written, if their place does not matter."""

    # ---- the tree ----------------------------------------------------------------------------------------------
    def group(self, group: G, path: str) -> G:
        """Return the resolved group; the same object if nothing changes."""
        members = {
            "types": tuple([self.type(declared, path) for declared in group.types]),
            "variables": tuple([self.variable(variable, path) for variable in group.variables]),
            "attributes": self.attributes(group.attributes, path, path),
            "groups": tuple([self.group(child, names.join(path, child.name)) for child in group.groups]),
        }
        same = all(map(is_, chain(*members.values()), chain(*(getattr(group, name) for name in members))))
        return group if same else rebuild(group, **members)

    def type(self, declared: UserType, scope: str) -> UserType:
        """Return the type with its bases resolved."""
        if isinstance(declared, EnumType | OpaqueType):
            return declared
        path = names.join(scope, declared.name)
        if isinstance(declared, VlenType):
            base = self.type_name(declared.base, scope, self.work.use(path, 0, declared.span), path)
            return declared.model_copy(update={"base": base})
        fields = []
        for index, field in enumerate(declared.fields):
            resolved = self.type_name(field.type, scope, self.work.use(path, index, field.span), path)
            fields.append(field.model_copy(update={"type": resolved}))
        return declared.model_copy(update={"fields": tuple(fields)})

    def variable(self, variable: Variable, scope: str) -> Variable:
        """Return the resolved variable; the same object if nothing changes."""
        path = names.join(scope, variable.name)
        type_name = variable.type
        if type_name not in ATOMIC:
            type_name = self.type_name(type_name, scope, self.work.use(path, 0, variable.span))
        references = self.references.get((scope, variable.dimensions))
        if references is None:
            references = tuple(
                reference
                if isinstance(reference, int)
                else self.dimension(reference, scope, self.work.use(path, index, variable.span))
                for index, reference in enumerate(variable.dimensions, 1)
            )
            if self.work.forward and all(
                isinstance(reference, int) or reference in self.tables.dimensions for reference in references
            ):
                self.references[scope, variable.dimensions] = references
        attributes = self.attributes(variable.attributes, scope, path)
        if type_name == variable.type and references == variable.dimensions and attributes is variable.attributes:
            return variable
        changes = {"type": type_name, "dimensions": references, "attributes": attributes}
        return variable.model_copy(update=changes)

    def attributes(self, attributes: tuple[Attribute, ...], scope: str, owner: str) -> tuple[Attribute, ...]:
        """Return the resolved attributes; the same tuple if all are atomic."""
        if _ATOMIC.issuperset([attribute.value.type for attribute in attributes]):
            return attributes
        return tuple(self.attribute(attribute, scope, owner) for attribute in attributes)

    def attribute(self, attribute: Attribute, scope: str, owner: str) -> Attribute:
        """Return an attribute with resolved types of its value and nested constants."""
        if attribute.value.type in ATOMIC:
            return attribute
        place = self.work.use(f"{owner}:{attribute.name}", 0, attribute.span)
        return Attribute(name=attribute.name, value=self.constant(attribute.value, scope, place), span=attribute.span)

    def constant(self, constant: Constant, scope: str, place: Span) -> Constant:
        """Return a constant with resolved types, nested ones included."""
        type_name = self.type_name(constant.type, scope, place)
        data = constant.data
        if isinstance(data, tuple) and data and isinstance(data[0], Constant):
            data = tuple(self.constant(item, scope, place) for item in data if isinstance(item, Constant))
        elif type_name == constant.type:
            return constant
        return Constant(type=type_name, count=constant.count, data=data, span=constant.span)

    # ---- names -----------------------------------------------------------------------------------------------------
    def type_name(self, name: str, scope: str, place: Span, owner: str | None = None) -> str:
        """Return the FQN of the used type, else the name itself; `owner`: the type being defined."""
        if name in ATOMIC:
            return name
        fqn = self._find(name, scope, self.tables.types)
        if fqn is None and not name.startswith("/"):
            everywhere = self.types_by_name.get(name, [])
            fqn = everywhere[0] if len(everywhere) == 1 else None
        if fqn is None:
            if not self._is_broken(name):
                self._report_undefined_type(name, place)
            return name
        if fqn == owner:
            self.report.error("circular-type", f"type `{name}` cannot contain itself", place)
        else:
            self._check_order(f"type `{name}`", self.tables.types[fqn], place)
        return fqn

    def dimension(self, name: str, scope: str, place: Span) -> str:
        """Return the FQN of the used dimension, else the name itself."""
        fqn = self._find(name, scope, self.tables.dimensions)
        if fqn is None:
            if not self._is_broken(name):
                self._report_undefined_dimension(name, scope, place)
            return name
        self._check_order(f"dimension `{name}`", self.tables.dimensions[fqn], place)
        return fqn

    def _find(self, name: str, scope: str, declared: Mapping[str, object]) -> str | None:
        return find_in_scope(name, self._ancestors(scope), declared)

    def _ancestors(self, scope: str) -> tuple[str, ...]:
        """Return the FQNs of a group and its ancestors, innermost first."""
        ancestors = self.scopes.get(scope)
        if ancestors is None:
            ancestors = self.scopes[scope] = list_scopes(scope)
        return ancestors

    def _check_order(self, what: str, declaration: Node, place: Span) -> None:
        """Check that a CDL declaration precedes its use."""
        if self.work.forward or declaration.span.source is not place.source or place.source is None:
            return
        if declaration.span.start > place.start:
            here = Label(declaration.span, "defined here")
            message = f"{what} is used before its definition"
            self.report.error("forward-reference", message, place, others=[here], helps=["move the definition up"])

    def _is_broken(self, name: str) -> bool:
        """Return whether a name is undefined only because its declaring statement has a fault."""
        if not self.work.broken:
            return False
        simple = names.last(name) if name.startswith("/") and name != "/" else name
        if simple not in self.work.broken:
            return False
        self.report.consequence()
        return True

    # ---- what to say ---------------------------------------------------------------------------------------------
    def _missing_group(self, name: str, place: Span) -> bool:
        """Report a path with an undefined group."""
        if not name.startswith("/"):
            return False
        holder = names.parent(name)
        if holder in self.tables.groups:
            return False
        meant = names.closest(holder, self.tables.groups)
        helps = [did_you_mean(meant, holder)] if meant is not None and meant != "/" else []
        self.report.error("undefined-group", f"group `{holder}` is not defined", place, helps=helps)
        return True

    def _visible(self, scope: str, declared: Mapping[str, Node]) -> Iterator[tuple[str, Node]]:
        visible = set(self._ancestors(scope))
        for path, node in declared.items():
            if names.parent(path) in visible:
                yield names.last(path), node

    def _report_undefined_dimension(self, name: str, scope: str, place: Span) -> None:
        """Report a dimension that no enclosing group declares; the help names those of other groups."""
        if self._missing_group(name, place):
            return
        elsewhere = [path for path in self.tables.dimensions if names.last(path) == name]
        where = f" in group `{scope}`" if scope != "/" else ""
        if elsewhere:
            message = f"dimension `{name}` is not visible{where or ' here'}"
            helps = [did_you_mean(path, name) for path in elsewhere[:3]]
            others = [Label(self.tables.dimensions[elsewhere[0]].span, "declared here")]
            self.report.error("undefined-dimension", message, place, helps=helps, others=others)
            return
        paths = self.tables.dimensions
        visible = paths if name.startswith("/") else dict(self._visible(scope, paths))
        self._report_undefined("undefined-dimension", f"dimension `{name}` is not defined{where}", name, visible, place)

    def _report_undefined_type(self, name: str, place: Span) -> None:
        """Report an undefined type at its first use; further uses are consequences."""
        if name in self.undefined:
            self.report.consequence()
            return
        self.undefined.add(name)
        if self._missing_group(name, place):
            return
        several = self.types_by_name.get(name, [])
        if len(several) > 1:
            message = f"type `{name}` is ambiguous: it is defined in several groups, none of which encloses this one"
            self.report.error("undefined-type", message, place, helps=["write its path: " + " or ".join(several)])
            return
        visible = {**dict.fromkeys(ATOMIC), **{names.last(path): node for path, node in self.tables.types.items()}}
        helps = _FOREIGN.get(name.lower())
        if helps is not None:
            message = f"type `{name}` is not defined"
            self.report.error("undefined-type", message, place, helps=[Fix(f"netCDF calls it `{helps}`", helps, name)])
            return
        self._report_undefined("undefined-type", f"type `{name}` is not defined", name, visible, place)

    def _report_undefined(
        self, code: str, message: str, name: str, declared: Mapping[str, Node | None], place: Span
    ) -> None:
        meant = names.closest(name, declared)
        helps, others = [], []
        if meant is not None:
            helps.append(did_you_mean(meant, name))
            node = declared[meant]
            if node is not None and node.span.source is not None:
                others.append(Label(node.span, f"`{meant}` is declared here"))
        self.report.error(code, message, place, label="not found", helps=helps, others=others)


_FOREIGN = {
    "int8": "byte", "uint8": "ubyte", "int16": "short", "uint16": "ushort", "int32": "int", "uint32": "uint",
    "float32": "float", "float64": "double", "longlong": "int64", "text": "char", "bool": "ubyte", "boolean": "ubyte",
    "str": "string", "nc_int": "int", "nc_float": "float", "nc_double": "double", "nc_char": "char",
    "nc_byte": "byte", "nc_short": "short", "nc_string": "string",
}  # fmt: skip
"""Names of atomic types in other languages."""
