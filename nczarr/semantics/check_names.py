"""Check of names: unique as netCDF-4 requires. Names that netCDF does not allow are checked where a target lacks them.

Expects: any tree. Ensures, if nothing is reported: every name is in NFC and
not empty. Within a group no two types, variables or groups
share a name, no two dimensions do, and no dimension shares one with a type or
group. Attributes of one owner, fields of a compound and constants of an enum
are unique. Names are compared in NFC. A run that accepts `duplicate-name` leaves repeated
declarations out. Reports: duplicate-name, bad-name,
too-deep-nesting, reserved-attribute.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Any

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, CompoundType, EnumType, Group
from nczarr.ast.dataset import HDF5_KINDS, RESERVED_ATTRIBUTES
from nczarr.ast.types import MAX_DEPTH
from nczarr.diagnostics.report import Diagnostic, Label, Report, Severity, Span
from nczarr.semantics.checked import Namesake, Unchecked

CODE = "duplicate-name"
"""Diagnostic code of equal names."""


def clash(kind: str, other: str) -> bool:
    """Return whether two kinds of items in one group cannot share a name."""
    if "dimension" in (kind, other):
        return kind == other or "variable" not in (kind, other)
    return True


def make_unique(items: Sequence[tuple[str, str]]) -> list[tuple[str, int | None]]:
    """Return for each (kind, name) of a scope a unique NFC name, and the earlier item with its name, if any.

    The first of equal names is unchanged. Items of other kinds with the
    second's spelling that may share its name get the same new name: a
    coordinate variable stays with its dimension.
    """
    normal_names = [names.normal(name) for _, name in items]
    if len(set(normal_names)) == len(items):
        return [(name, None) for name in normal_names]
    seen: dict[str, list[int]] = {}
    settled_names: list[tuple[str, int | None]] = []
    taken = set(normal_names)
    for number, ((kind, _), name) in enumerate(zip(items, normal_names, strict=True)):
        first = next((other for other in seen.get(name, ()) if clash(kind, items[other][0])), None)
        shown, count = name, 2
        while first is not None and (
            shown in taken or any(clash(kind, items[other][0]) for other in seen.get(shown, ()))
        ):
            shown, count = f"{name}_{count}", count + 1
        seen.setdefault(shown, []).append(number)
        settled_names.append((shown, first))
    return settled_names


def namesakes(
    items: Sequence[tuple[str, str]], shown: Sequence[tuple[str, int | None]], scope: str, places: Sequence[Label] = ()
) -> list[Namesake]:
    """Return the items that `make_unique` renamed; `places`: place of each item."""
    renamed = []
    for number, (name, first) in enumerate(shown):
        if first is not None:
            at = (places[number], places[first]) if places else (Label(), Label())
            renamed.append(Namesake(*items[number], *items[first], scope, name, *at))
    return renamed


def spell(name: str) -> str:
    """Return the name with non-ASCII characters as code points, to distinguish equal-looking names."""
    return ascii(name)[1:-1] if not name.isascii() else name


def report_namesakes(renamed: Iterable[Namesake], report: Report, *, accepted: bool) -> None:
    """Report equal names: errors, or warnings if the run has `accepted` them."""
    for namesake in renamed:
        where = ""
        source = namesake.first_place.span.source
        if source is not None and namesake.first_place.has_lines:
            words = source.place(namesake.first_place.span.start)
            where = f" at {words}" if namesake.kind == namesake.first_kind else f" ({words})"
        scope = "" if namesake.scope in ("", "/") else f" in `{namesake.scope}`"
        if namesake.kind == namesake.first_kind:
            text = f"{namesake.kind} `{namesake.name}` is already defined{scope}{where}"
        else:
            text = f"{namesake.kind} `{namesake.name}` has the name of a {namesake.first_kind} of the same group"
            text += f"{scope}{where}, which netCDF-4 cannot store"
        notes = []
        if namesake.name != namesake.first:
            notes.append(f"names are compared in NFC: `{spell(namesake.first)}` and `{spell(namesake.name)}` are equal")
        fate = "it is left out" if namesake.shown is None else f"it is read as `{namesake.shown}`"
        rename = "rename one, or put the content of both into one" if namesake.kind == "group" else "rename one"
        helps = () if accepted else (rename, f"with `--allow-loss {CODE}` {fate}")
        text = f"{text}; {fate}" if accepted else text
        others = () if namesake.first_place == Label() else (namesake.first_place._replace(text="first declared here"),)
        found_one = Diagnostic(CODE, Severity.ERROR, text, namesake.place, others, tuple(notes), helps)
        report.lose(found_one, allowed=accepted)


def number_group(above: str, name: str, number: int) -> str:
    """Return the temporary name of a second group of one name: by its position in its parent."""
    return names.join(above, f"{name} {number}")


# ---- trees that hold equal names -----------------------------------------------------------------------------------
def settle(work: Unchecked, report: Report, *, accepted: bool) -> Unchecked:
    """Return the tree with unique NFC names. Equal names are reported; if not accepted, the tree is unchanged."""
    settler = _Settler()
    settler.collect(work.dataset, ("/",), "/")
    report_namesakes(settler.found, report, accepted=accepted)
    if settler.found and not accepted:
        return work
    work.dataset = settler.rename(work.dataset)
    variables, owners = settler.variables, {**settler.groups, **settler.variables}
    work.parts = {variables.get(path, path): parts for path, parts in work.parts.items()}
    work.lists = {variables.get(path, path): values for path, values in work.lists.items()}
    work.attribute_lists = {
        (owners.get(owner, owner), name): values for (owner, name), values in work.attribute_lists.items()
    }
    return work


class _Settler:
    """New names by FQN as written; for two items of one spelling, references mean the first."""

    def __init__(self) -> None:
        self.found: list[Namesake] = []
        self.types: dict[str, str] = {}
        self.dimensions: dict[str, str] = {}
        self.variables: dict[str, str] = {}
        self.groups: dict[str, str] = {}
        self._names: dict[int, str] = {}

    def collect(self, group: Group, written: tuple[str, ...], path: str) -> None:
        """Choose the names of a group's descendants. `written`: the front end's names of the group."""
        nodes: list[tuple[str, Any]] = [
            *(("type", item) for item in group.types),
            *(("dimension", item) for item in group.dimensions),
            *(("variable", item) for item in group.variables),
            *(("group", item) for item in group.groups),
        ]
        if len({id(item.span.source) for _, item in nodes}) == 1:
            nodes.sort(key=lambda kind_and_node: kind_and_node[1].span.start)  # one text: the first is the first there
        self._settle(nodes, path)
        tables = {"type": self.types, "dimension": self.dimensions, "variable": self.variables}
        for above in written:
            self.groups.setdefault(above, path)
            for kind, item in nodes:
                if kind in tables:
                    tables[kind].setdefault(names.join(above, item.name), names.join(path, self._names[id(item)]))
        self._settle([("attribute", item) for item in group.attributes], path)
        for variable in group.variables:
            owner = names.join(path, self._names[id(variable)])
            self._settle([("attribute", item) for item in variable.attributes], owner)
        for declared in group.types:
            owner = names.join(path, self._names[id(declared)])
            if isinstance(declared, CompoundType):
                self._settle([("field", item) for item in declared.fields], owner)
            elif isinstance(declared, EnumType):
                self._settle([("enum constant", item) for item in declared.constants], owner)
        for number, child in enumerate(group.groups):
            inside = tuple(names.join(above, child.name) for above in written)
            if any(sibling.name == child.name for sibling in group.groups[:number]):
                inside = (number_group(written[0], child.name, number), *inside)
            self.collect(child, inside, names.join(path, self._names[id(child)]))

    def _settle(self, nodes: Sequence[tuple[str, Any]], scope: str) -> None:
        """Choose unique names for the nodes of one group, and note those that change."""
        items = [(kind, node.name) for kind, node in nodes]
        shown = make_unique(items)
        for (_, node), (name, _) in zip(nodes, shown, strict=True):
            self._names[id(node)] = name
        if any(first is not None for _, first in shown):
            places = [Label(node.span, key=_key(node)) for _, node in nodes]
            self.found += namesakes(items, shown, scope, places)

    def rename(self, node: Any) -> Any:
        """Return a node whose name, references and members are renamed; the root retains its name."""
        update: dict[str, Any] = {"name": self._names.get(id(node), node.name)}
        for member in ("types", "dimensions", "variables", "attributes", "groups", "fields", "constants"):
            if hasattr(node, member):
                update[member] = tuple(map(self._member, getattr(node, member)))
        for member in ("type", "base"):
            if hasattr(node, member):
                update[member] = self._type_name(getattr(node, member))
        if isinstance(node, Attribute) and node.value.type not in ATOMIC:
            update["value"] = node.value.model_copy(update={"type": self._type_name(node.value.type)})
        return node.model_copy(update=update)

    def _member(self, member: Any) -> Any:
        if isinstance(member, int):
            return member
        return _reference(member, self.dimensions) if isinstance(member, str) else self.rename(member)

    def _type_name(self, name: str) -> str:
        return name if name in ATOMIC else _reference(name, self.types)


def _reference(written: str, new_names: dict[str, str]) -> str:
    """Return the new FQN of a reference: by spelling, else in NFC."""
    return new_names.get(written) or names.normal(written)


def _key(node: Any) -> str | None:
    source = node.span.source
    return None if source is None else source.key


_PLAIN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@+\- ]{0,198}[A-Za-z0-9_.@+\-])?")


def check_names(work: Unchecked, report: Report) -> Unchecked:
    """Check all names of a tree, and settle equal or non-NFC ones."""
    reserved = frozenset() if work.kind in HDF5_KINDS else RESERVED_ATTRIBUTES  # errors there (semantics/kinds.py)
    checking = _Checking(report, reserved)
    checking.group(work.dataset, 1)
    if work.namesakes or checking.unsettled:
        report_namesakes(work.namesakes, report, accepted=work.namesakes_accepted)
        if checking.unsettled and not checking.endless:
            return settle(work, report, accepted=work.namesakes_accepted)
    return work


class _Checking:
    """State of one run. `unsettled`: some names are equal or not in NFC; `endless`: groups nest too deep."""

    def __init__(self, report: Report, reserved: frozenset[str]) -> None:
        self.report = report
        self.kept = reserved
        self.unsettled = False
        self.endless = False
        self.plain = set[str]()
        """Valid names: variables share those of attributes."""

    def group(self, group: Group, depth: int) -> None:
        """Check a group and its descendants."""
        if depth > MAX_DEPTH + 1:
            self.report.error("too-deep-nesting", f"groups nest deeper than {MAX_DEPTH}", group.span)
            self.endless = True
            return
        shared: set[str] = set()
        for kind, items in (("type", group.types), ("variable", group.variables), ("group", group.groups)):
            for item in items:
                self._check_name(item.name, kind, item.span)
                shared.add(item.name)
        dimensions = {dimension.name for dimension in group.dimensions}
        for dimension in group.dimensions:
            self._check_name(dimension.name, "dimension", dimension.span)
        namespace = {item.name for item in (*group.types, *group.groups)}
        count = len(group.types) + len(group.variables) + len(group.groups)
        if len(shared) < count or len(dimensions) < len(group.dimensions) or not namespace.isdisjoint(dimensions):
            self.unsettled = True
        self._check_attributes(group.attributes)
        for variable in group.variables:
            self._check_attributes(variable.attributes)
        for declared in group.types:
            if isinstance(declared, CompoundType):
                self._check_unique(((field.name, field.span) for field in declared.fields), "field")
            elif isinstance(declared, EnumType):
                self._check_unique(
                    ((item.name, item.span) for item in declared.constants), "enum constant", legal=False
                )
        for child in group.groups:
            self.group(child, depth + 1)

    def _check_name(self, name: str, kind: str, place: Span) -> None:
        """Report an empty name; note in `unsettled` one that is not in Unicode's normal form."""
        if name in self.plain:
            return
        if _PLAIN.fullmatch(name):
            self.plain.add(name)
            return
        if not name:
            self.report.error("bad-name", f"the name of a {kind} is empty", place)
        if names.normal(name) != name:
            self.unsettled = True

    def _check_attributes(self, attributes: tuple[Attribute, ...]) -> None:
        spelled = {attribute.name for attribute in attributes}
        if len(attributes) > len(spelled):
            self.unsettled = True
        if spelled <= self.plain and spelled.isdisjoint(self.kept):
            return
        for attribute in attributes:
            self._check_name(attribute.name, "attribute", attribute.span)
            if attribute.name in self.kept:
                message = f"attribute `{attribute.name}` has a name that netCDF-4 files reserve"
                self.report.warning("reserved-attribute", message, attribute.span, helps=["rename it"])

    def _check_unique(self, items: Iterable[tuple[str, Span]], kind: str, *, legal: bool = True) -> None:
        """Check names; note in `unsettled` that two are equal. `legal`: their spelling is checked too."""
        seen: set[str] = set()
        for name, place in items:
            if legal:
                self._check_name(name, kind, place)
            if name in seen or names.normal(name) != name:
                self.unsettled = True
            seen.add(name)
