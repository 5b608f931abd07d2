"""Check of a dataset against a schema, which is also a dataset: CDL, notation or any other.

Declarations of the schema must exist and be equal: groups, types, dimensions,
variables, and attributes with type and value. An unlimited dimension of the
schema accepts any length. Additional content is a warning. Values of variables,
layout, order of definition and dataset names are not compared.
"""

from __future__ import annotations

from collections.abc import Mapping

from nczarr import names
from nczarr.ast import Attribute, Dimension, Group, UserType, Variable
from nczarr.ast.node import Node
from nczarr.check.checked import Checked
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.render import place
from nczarr.diagnostics.report import Diagnostic, Label, Report
from nczarr.operations.compare.diff import definition
from nczarr.operations.compare.difference import shown_pair


def follow(checked: Checked, schema: Checked, report: Report) -> None:
    """Report deviations from a schema, at the places in dataset and schema."""
    _Check(checked, schema, report).all()


class _Check:
    """One comparison. `here` is the dataset, `there` the schema."""

    def __init__(self, here: Checked, there: Checked, report: Report) -> None:
        self.here = here
        self.there = there
        self.report = report

    def all(self) -> None:
        """Check everything, by subject."""
        here, there = self.here, self.there
        self._members("group", here.groups, there.groups)
        self._members("type", here.types, there.types)
        self._members("dimension", here.dimensions, there.dimensions)
        self._members("variable", here.variables, there.variables)
        for path in _common(here.types, there.types):
            self._type(path, here.types[path], there.types[path])
        for path in _common(here.dimensions, there.dimensions):
            self._dimension(path, here.dimensions[path], there.dimensions[path])
        for path in _common(here.variables, there.variables):
            self._variable(path, here.variables[path], there.variables[path])
        for path in _common(here.groups, there.groups):
            self._attributes(f"group `{path}`", here.groups[path], there.groups[path])

    def _members(self, what: str, here: Mapping[str, Node], there: Mapping[str, Node]) -> None:
        """Report content of one side only; a missing or surplus group stands for its content."""
        both = self.here.groups.keys() & self.there.groups.keys()
        surplus = [path for path in here if path not in there and names.parent(path) in both]
        for path, node in there.items():
            if path not in here and names.parent(path) in both:
                home = self.here.groups[names.parent(path)]
                near = _near(path, surplus)
                self._missing(f"{what} `{path}`", home, node, near)
        for path in surplus:
            self._add("extra-element", f"{what} `{path}` is not in the schema", here[path], None)

    def _missing(self, what: str, home: Node, required: Node, near: str | None) -> None:
        helps = [f"did you mean `{near}`, which is in the dataset but not in the schema?"] if near else []
        self._add(
            "missing-element", f"{what} is missing; the schema defines it{_place(required)}", home, required, helps
        )

    def _add(self, code: str, message: str, here: Node, there: Node | None, helps: list[str] | None = None) -> None:
        others = () if there is None else (_label(there, "the schema"),)
        self.report.add(Diagnostic(code, CODES[code].severity, message, _label(here), others, (), tuple(helps or ())))

    def _differs(self, what: str, actual: object, required: object, here: Node, there: Node) -> None:
        text = f"{what} is {actual}; the schema requires {required}{_place(there)}"
        self._add("different-element", text, here, there)

    def _type(self, path: str, here: UserType, there: UserType) -> None:
        actual, required = definition(here, storage=False), definition(there, storage=False)
        if actual != required:
            self._differs(f"type `{path}`", f"`{actual}`", f"`{required}`", here, there)

    def _dimension(self, path: str, here: Dimension, there: Dimension) -> None:
        if there.unlimited:
            if not here.unlimited:
                text = f"dimension `{path}` is fixed; the schema requires it to be unlimited{_place(there)}"
                self._add("fixed-dimension", text, here, there)
        elif here.unlimited:
            self._differs(f"dimension `{path}`", "unlimited", f"the length {there.size}", here, there)
        elif here.size != there.size:
            self._differs(f"the length of dimension `{path}`", here.size, there.size, here, there)

    def _variable(self, path: str, here: Variable, there: Variable) -> None:
        if here.type != there.type:
            self._differs(f"the type of `{path}`", f"`{here.type}`", f"`{there.type}`", here, there)
        if here.dimensions != there.dimensions:
            actual, required = (f"`({', '.join(map(str, variable.dimensions))})`" for variable in (here, there))
            self._differs(f"the shape of `{path}`", actual, required, here, there)
        self._attributes(f"`{path}`", here, there)

    def _attributes(self, owner: str, here: Group | Variable, there: Group | Variable) -> None:
        actual, required = ({attribute.name: attribute for attribute in side.attributes} for side in (here, there))
        surplus = [name for name in actual if name not in required]
        for name, attribute in required.items():
            if name not in actual:
                self._missing(f"attribute `{name}` of {owner}", here, attribute, _near(name, surplus))
            elif actual[name].value != attribute.value:
                is_there, shall_be = shown_pair(actual[name].value, attribute.value, "`")
                self._differs(f"attribute `{name}` of {owner}", is_there, shall_be, actual[name], attribute)
        for name in surplus:
            text = f"attribute `{name}` of {owner} is not in the schema"
            self._add("extra-element", text, actual[name], None)


def _common(here: Mapping[str, object], there: Mapping[str, object]) -> list[str]:
    return [path for path in there if path in here]


def _near(name: str, others: list[str]) -> str | None:
    """Return the probably intended name: the same in another group, or a similar one."""
    same = [other for other in others if names.last(other) == names.last(name)] if name.startswith("/") else []
    return same[0] if same else names.closest(name, others)


def _place(node: Node) -> str:
    where = place(_label(node)) if node.span.source is not None else ""
    return f" at {where}" if where else ""


def _label(node: Node, text: str = "") -> Label:
    """Return the place of a node; for a store's attribute, the member of its document."""
    source = node.span.source
    key = source.key if source is not None else None
    pointer = None
    if key is not None and isinstance(node, Attribute):
        home = "/attributes/" if key.endswith(".json") else "/"
        pointer = home + node.name.replace("~", "~0").replace("/", "~1")
    offset = node.span.start if source is not None and source.binary else None
    return Label(node.span, text, key=key, pointer=pointer, offset=offset)
