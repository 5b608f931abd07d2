"""Comparison of a dataset with a contract: what is missing, different or additional."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nczarr import names
from nczarr.diagnostics.catalog import CODES
from nczarr.diagnostics.render import place
from nczarr.pipeline.compare.diff import definition
from nczarr.pipeline.compare.difference import show_pair
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.schema.contract.reading import key_of, read_contract
from nczarr.plugins.schema.contract.rules import Contract, Rules
from nczarr.plugins.schema.contract.values import find_unfit, judge_values, list_values
from nczarr.sdk import (
    Attribute,
    Checked,
    Constant,
    Diagnostic,
    Dimension,
    Group,
    Label,
    Node,
    Report,
    UserType,
    Variable,
)

TEXTS = ("char", "string")


def judge(checked: Checked, schema: Checked, report: Report, *, values: bool = False) -> None:
    """Report deviations of a dataset from a contract, at the places in both. Raises OSError.

    `values`: judge the values of variables by the rules for them, beside those of attributes.
    """
    contract = read_contract(schema, report)
    _ContractComparison(checked, schema, contract, report).compare()
    if values:
        for path in _list_common(checked.variables, schema.variables):
            rules = contract.of(path)
            if rules.has_demands:
                judge_values(checked, path, rules, report)


class _ContractComparison:
    """One comparison. `here` is the dataset, `there` the schema."""

    def __init__(self, here: Checked, there: Checked, contract: Contract, report: Report) -> None:
        self.here = here
        self.there = there
        self.contract = contract
        self.report = report

    def compare(self) -> None:
        """Compare everything, by subject."""
        here, there = self.here, self.there
        self._compare_members("group", here.groups, there.groups)
        self._compare_members("type", here.types, there.types)
        self._compare_members("dimension", here.dimensions, there.dimensions)
        self._compare_members("variable", here.variables, there.variables)
        for path in _list_common(here.types, there.types):
            self._compare_type(path, here.types[path], there.types[path])
        for path in _list_common(here.dimensions, there.dimensions):
            if not self.contract.of(key_of(path, there.dimensions[path])).any_length:
                self._compare_dimension(path, here.dimensions[path], there.dimensions[path])
        for path in _list_common(here.variables, there.variables):
            self._compare_variable(path, here.variables[path], there.variables[path])
        for path in _list_common(here.groups, there.groups):
            self._compare_attributes(path, f"group `{path}`", here.groups[path], there.groups[path])

    def _compare_members(self, what: str, here: Mapping[str, Node], there: Mapping[str, Node]) -> None:
        """Report content of one side only; a missing or surplus group stands for its content."""
        both = self.here.groups.keys() & self.there.groups.keys()
        surplus = [path for path in here if path not in there and names.parent(path) in both]
        for path, node in there.items():
            if path not in here and names.parent(path) in both:
                home = self.here.groups[names.parent(path)]
                self._report_missing(f"{what} `{path}`", path, home, node, _find_near(path, surplus))
        for path in surplus:
            if not self.contract.allows_extra(names.parent(path)):
                self._add("extra-element", f"{what} `{path}` is not in the schema", here[path], None)

    def _report_missing(self, what: str, path: str, home: Node, wanted: Node, near: str | None) -> None:
        """Report a node that the dataset lacks, unless it is optional; `near`: a similar name in the dataset."""
        rules = self.contract.of(key_of(path, wanted))
        if rules.presence == "optional":
            return
        helps = [f"did you mean `{near}`, which is in the dataset but not in the schema?"] if near else []
        if rules.presence == "required":
            self._add(
                "missing-element", f"{what} is missing; the schema defines it{_place(wanted)}", home, wanted, helps
            )
            return
        if rules.condition:
            helps.append(f"the schema says: required {rules.condition}")
        text = f"{what} is missing; the schema recommends it{_place(wanted)}"
        self._add("missing-recommendation", text, home, wanted, helps)

    def _add(self, code: str, message: str, here: Node, there: Node | None, helps: list[str] | None = None) -> None:
        others = () if there is None else (label_of(there, "the schema"),)
        self.report.add(Diagnostic(code, CODES[code].severity, message, label_of(here), others, (), tuple(helps or ())))

    def _report_other(self, what: str, actual: object, required: object, here: Node, there: Node) -> None:
        text = f"{what} is {actual}; the schema requires {required}{_place(there)}"
        self._add("different-element", text, here, there)

    def _compare_type(self, path: str, here: UserType, there: UserType) -> None:
        actual, required = definition(here, storage=False), definition(there, storage=False)
        if actual != required:
            self._report_other(f"type `{path}`", f"`{actual}`", f"`{required}`", here, there)

    def _compare_dimension(self, path: str, here: Dimension, there: Dimension) -> None:
        if there.unlimited:
            if not here.unlimited:
                text = f"dimension `{path}` is fixed; the schema requires it to be unlimited{_place(there)}"
                self._add("fixed-dimension", text, here, there)
        elif here.unlimited:
            self._report_other(f"dimension `{path}`", "unlimited", f"the length {there.size}", here, there)
        elif here.size != there.size:
            self._report_other(f"the length of dimension `{path}`", here.size, there.size, here, there)

    def _compare_variable(self, path: str, here: Variable, there: Variable) -> None:
        if here.type != there.type and not self.contract.of(path).any_type:
            self._report_other(f"the type of `{path}`", f"`{here.type}`", f"`{there.type}`", here, there)
        if here.dimensions != there.dimensions:
            actual, required = (f"`({', '.join(map(str, variable.dimensions))})`" for variable in (here, there))
            self._report_other(f"the shape of `{path}`", actual, required, here, there)
        self._compare_attributes(path, f"`{path}`", here, there)

    def _compare_attributes(self, path: str, owner: str, here: Group | Variable, there: Group | Variable) -> None:
        actual, required = ({attribute.name: attribute for attribute in side.attributes} for side in (here, there))
        surplus = [name for name in actual if name not in required]
        for name, wanted in required.items():
            what, own = f"attribute `{name}` of {owner}", f"{path}@{name}"
            if name in actual:
                self._compare_attribute(what, self.contract.of(own), actual[name], wanted)
            else:
                self._report_missing(what, own, here, wanted, _find_near(name, surplus))
        if not self.contract.allows_extra(path):
            for name in surplus:
                self._add("extra-element", f"attribute `{name}` of {owner} is not in the schema", actual[name], None)

    def _compare_attribute(self, what: str, rules: Rules, here: Attribute, there: Attribute) -> None:
        """Compare the value of an attribute, or, if rules free it, its type and its fitness for the rules."""
        if not rules.frees_value:
            if not _is_same(here.value, there.value, rules):
                self._report_other(what, *show_pair(here.value, there.value, "`"), here, there)
            return
        actual, required = here.value.type, there.value.type
        if not rules.any_type and actual != required and not (actual in TEXTS and required in TEXTS):
            self._report_other(f"the type of {what}", f"`{actual}`", f"`{required}`", here, there)
            return
        unfit = find_unfit(list_values(here.value), rules)
        if unfit is not None:
            text = f"{what} is {unfit.shown}, which {unfit.reason}{_place(there)}"
            rule = () if rules.span is None else (Label(rules.span, "the rule"),)
            self.report.add(
                Diagnostic("unfit-value", CODES["unfit-value"].severity, text, label_of(here), rule, (), ())
            )


def _is_same(here: Constant, there: Constant, rules: Rules) -> bool:
    """Return whether two values are equal; of any type: whether their texts or numbers are."""
    return here == there or (rules.any_type and list_values(here) == list_values(there))


def _list_common(here: Mapping[str, Any], there: Mapping[str, Any]) -> list[str]:
    return [path for path in there if path in here]


def _find_near(name: str, others: list[str]) -> str | None:
    """Return the probably intended name: the same in another group, or a similar one."""
    same = [other for other in others if names.last(other) == names.last(name)] if name.startswith("/") else []
    return same[0] if same else names.closest(name, others)


def _place(node: Node) -> str:
    where = place(label_of(node)) if node.span.source is not None else ""
    return f" at {where}" if where else ""
