"""The part of a dataset that CDL can represent, and a loss for each difference (docs/reference/formats/cdl.md).

Unchanged parts are not copied. The walk follows text order, because CDL has no
forward references: types, dimensions and variables of a group, then its
subgroups.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TypeVar, assert_never

from nczarr import names
from nczarr.ast import (
    ATOMIC,
    Attribute,
    CompoundType,
    Dimension,
    EnumType,
    Group,
    Node,
    OpaqueType,
    UserType,
    Variable,
    VlenType,
)
from nczarr.ast.dataset import rebuilt
from nczarr.ast.node import members_of
from nczarr.check.checked import Checked, remaining
from nczarr.diagnostics.source import Span
from nczarr.formats.cdl.read.special_attributes import SPECIAL
from nczarr.formats.cdl.write.declarations import ordered
from nczarr.plan.plans import Loss

G = TypeVar("G", bound=Group)


def sayable(checked: Checked) -> tuple[Checked, tuple[Loss, ...]]:
    """Return the dataset without unspellable items, and the losses; the dataset itself if unchanged."""
    walk = _TreeWalk(checked)
    dataset = walk.group("/", checked.dataset)
    representable = checked if dataset is checked.dataset else remaining(checked, dataset)
    return representable, tuple(walk.losses)


def has_spelling(name: str) -> bool:
    """Return whether a name can be written: not `_` (the fill mark), nor starting with an invisible space."""
    return name != "_" and (name.isascii() or not names.is_strange(name[0]))


class _TreeWalk:
    """State of one run; `types` and `dimensions`: FQNs declared so far."""

    def __init__(self, checked: Checked) -> None:
        self._checked = checked
        self.types: set[str] = set()
        self.dimensions: set[str] = set()
        self.losses: list[Loss] = []

    def _lose(self, kind: str, path: str, message: str, span: Span) -> None:
        self.losses.append(Loss(kind, "value", path, message, span))

    def group(self, path: str, group: G) -> G:
        """Return the representable part of a group, the group itself if complete."""
        for declared in ordered(group.types, path):
            if self._named(path, declared.name, "type", declared.span) and self._type(path, declared):
                self.types.add(names.join(path, declared.name))
        for dimension in group.dimensions:
            self._dimension(path, dimension)
        types = [item for item in group.types if names.join(path, item.name) in self.types]
        dimensions = [item for item in group.dimensions if names.join(path, item.name) in self.dimensions]
        variables = [variable for item in group.variables if (variable := self._variable(path, item)) is not None]
        attributes = self._attributes(path, group.attributes)
        children = [item for item in group.groups if self._named(path, item.name, "group", item.span)]
        inner = [self.group(names.join(path, item.name), item) for item in children]
        members: dict[str, list[Node]] = {
            "types": [*types],
            "dimensions": [*dimensions],
            "variables": [*variables],
            "attributes": [*attributes],
            "groups": [*inner],
        }
        changed = {name: tuple(nodes) for name, nodes in members.items() if not _same(nodes, getattr(group, name))}
        return rebuilt(group, **changed) if changed else group

    def _named(self, path: str, name: str, what: str, span: Span) -> bool:
        if has_spelling(name):
            return True
        fqn = names.join(path, name)
        self._lose("unsafe-name", fqn, f"the name of {what} `{fqn}` has no spelling in CDL: it would be left out", span)
        return False

    def _dimension(self, path: str, dimension: Dimension) -> None:
        fqn = names.join(path, dimension.name)
        if not has_spelling(dimension.name):
            text = f"the name of dimension `{fqn}` has no spelling in CDL: it would get another name"
            self._lose("unsafe-name", fqn, text, dimension.span)
            return
        self.dimensions.add(fqn)
        if not dimension.size and not dimension.unlimited:
            text = f"dimension `{fqn}`, of length 0"
            self.losses.append(Loss("empty-dimension", "annotation", fqn, text, dimension.span))

    def _type(self, path: str, declared: UserType) -> bool:
        """Return whether a type can be defined: its members are spellable and its base types declared."""
        fqn = names.join(path, declared.name)
        inner: list[Node]
        match declared:
            case OpaqueType():
                return True
            case EnumType():
                inner, used = list(declared.constants), []
            case VlenType():
                inner, used = [], [declared.base]
            case CompoundType():
                inner, used = list(declared.fields), [field.type for field in declared.fields]
                if declared.size is not None or any(field.offset is not None for field in declared.fields):
                    text = f"type `{fqn}`, its size and the offsets of its fields"
                    self.losses.append(Loss("compound-layout", "annotation", fqn, text, declared.span))
            case _:
                assert_never(declared)
        for member in inner:
            name = str(getattr(member, "name"))  # noqa: B009 - a field's or a constant's
            if not has_spelling(name):
                text = f"type `{fqn}` has a member `{name}`, which has no spelling in CDL: it would be left out"
                self._lose("unsafe-name", fqn, text, declared.span)
                return False
        missing = next((name for name in used if not self._known(name)), None)
        if missing is not None:
            text = f"type `{fqn}` is made of `{missing}`, which the text declares later: it would be left out"
            self._lose("lost-type", fqn, text, declared.span)
        return missing is None

    def _known(self, type_name: str) -> bool:
        return type_name in ATOMIC or type_name in self.types

    def _variable(self, path: str, variable: Variable) -> Variable | None:
        fqn = names.join(path, variable.name)
        if not self._named(path, variable.name, "variable", variable.span):
            return None
        if not self._known(variable.type):
            text = f"variable `{fqn}` is of type `{variable.type}`, which the text declares later"
            self._lose("lost-type", fqn, f"{text}: it would be left out", variable.span)
            return None
        dimensions = tuple(self._axis(fqn, reference, variable.span) for reference in variable.dimensions)
        attributes = self._attributes(fqn, variable.attributes)
        if dimensions == variable.dimensions and _same(attributes, variable.attributes):
            return variable
        members = members_of(variable)
        return Variable(**{**members, "dimensions": dimensions, "attributes": tuple(attributes)})

    def _axis(self, fqn: str, reference: str | int, span: Span) -> str | int:
        """Return a usable dimension; one not declared yet becomes anonymous with the same length."""
        if isinstance(reference, int) or reference in self.dimensions:
            return reference
        size = self._checked.dimensions[reference].size
        if not has_spelling(names.last(reference)):
            return size  # told where the dimension is declared
        text = f"variable `{fqn}` uses dimension `{reference}`, which the text declares later"
        self._lose("renamed-dimension", fqn, f"{text}: it would get its own dimension", span)
        return size

    def _attributes(self, path: str, attributes: Iterable[Attribute]) -> list[Attribute]:
        return [attribute for attribute in attributes if self._attribute(path, attribute)]

    def _attribute(self, path: str, attribute: Attribute) -> bool:
        """Return whether an attribute can be written and read back as one."""
        value, what = attribute.value, f"attribute `{attribute.name}` of `{path}`"
        if not has_spelling(attribute.name):
            text = f"the name of {what} has no spelling in CDL: it would be left out"
            self._lose("unsafe-name", path, text, attribute.span)
            return False
        if attribute.name in SPECIAL:
            why = "has a name that CDL uses for storage settings"
        elif not self._known(value.type):
            why = f"is of type `{value.type}`, which the text declares later"
        elif value.count == 0 and value.type not in ("char", "string"):
            why = "has no value, which CDL allows for text only"
        else:
            return True
        self._lose("lost-attribute", path, f"{what} {why}: it would be left out", attribute.span)
        return False


def _same(nodes: Iterable[Node], others: Iterable[Node]) -> bool:
    """Return whether two lists contain identical nodes."""
    one, other = list(nodes), list(others)
    return len(one) == len(other) and all(a is b for a, b in zip(one, other, strict=True))
