"""Schemas in layers, and with parameters: `compile BASE LAYER… --define NAME=VALUE`.

Each layer is a whole schema, which every reader of CDL reads. A later one adds declarations, and overrides lengths of
dimensions, attributes, storage and values; each override is reported at both places. A type, or the dimensions of a
variable, cannot be overridden. Definitions come last: lengths of dimensions, and values of attributes that are there.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any, TypeVar

from nczarr import names
from nczarr.arrays.sources.source import Parts
from nczarr.ast import walk
from nczarr.ast.dataset import DEFAULT_STORAGE
from nczarr.diagnostics.catalog import CODES
from nczarr.pipeline.compare.difference import show_pair
from nczarr.plugins.common.nodes import label_of
from nczarr.sdk import (
    Attribute,
    Checked,
    Constant,
    Dataset,
    Diagnostic,
    Dimension,
    Group,
    Node,
    Report,
    Storage,
    Unchecked,
    Variable,
    check,
    hint,
    map_groups,
)
from nczarr.semantics.checked import Foreign

G = TypeVar("G", bound=Group)


def merge_layers(layers: Sequence[Checked], report: Report) -> Checked | None:
    """Return the dataset of all layers; None after an error. Reports overridden-element, conflicting-element."""
    before = report.errors
    tree: Dataset = layers[0].dataset
    parts: dict[str, Parts] = dict(layers[0].parts)
    foreign: dict[str, Foreign] = dict(layers[0].foreign)
    for layer in layers[1:]:
        layering = _Layering(report)
        layering.report_values(tree, [path for path in layer.parts if path in parts], layer)
        tree = layering.merge(tree, layer.dataset, "/")
        if layer.dataset.kind is not None:
            tree = replace(tree, kind=layer.dataset.kind)
        parts |= layer.parts
        foreign |= layer.foreign
    if report.errors > before:
        return None
    return _check_values(tree, parts, foreign, report)


def _check_values(
    tree: Dataset, parts: dict[str, Parts], foreign: dict[str, Foreign], report: Report
) -> Checked | None:
    """Return the checked dataset with its values, which must have the lengths that the tree states."""
    bare = check(Unchecked(tree), Report())
    if bare is None:  # with its faults
        return check(Unchecked(tree), report)
    fits = True
    for path, sources in parts.items():
        lengths, found = bare.shapes[path], next(iter(sources.values())).layout.shape[: len(bare.shapes[path])]
        if tuple(lengths) != tuple(found):
            text = f"`{path}` has the shape {tuple(lengths)} now, but values of the shape {tuple(found)}"
            report.error("conflicting-element", text, bare.variables[path].span)
            fits = False
    return check(Unchecked(tree, parts=parts, foreign=foreign), report) if fits else None


class _Layering:
    """Merge of two trees. `here` is what was there, `there` the later layer."""

    def __init__(self, report: Report) -> None:
        self.report = report

    def report_values(self, here: Dataset, paths: Iterable[str], there: Checked) -> None:
        """Report values that a later layer overrides."""
        nodes = dict(walk(here))
        for path in paths:
            self._override(f"values of `{path}`", nodes[path], there.variables[path])

    def merge(self, here: G, there: Group, path: str) -> G:
        """Return a group with a later one laid over it."""
        inside = partial(names.join, path)
        return replace(
            here,
            types=_merge_nodes(here.types, there.types, lambda one, other: self._keep_type(one, other, inside)),
            dimensions=_merge_nodes(
                here.dimensions, there.dimensions, lambda one, other: self._merge_dimensions(one, other, inside)
            ),
            variables=_merge_nodes(
                here.variables, there.variables, lambda one, other: self._merge_variables(one, other, inside)
            ),
            attributes=self._merge_attributes(path, here.attributes, there.attributes),
            groups=_merge_nodes(here.groups, there.groups, lambda one, other: self.merge(one, other, inside(one.name))),
        )

    def _keep_type(self, here: Any, there: Any, inside: Callable[[str], str]) -> Any:
        if here != there:
            self._conflict(f"type `{inside(here.name)}` has another definition", here, there)
        return here

    def _merge_dimensions(self, here: Dimension, there: Dimension, inside: Callable[[str], str]) -> Dimension:
        if here.unlimited and there.unlimited:
            return replace(here, size=max(here.size, there.size))
        if (here.size, here.unlimited) != (there.size, there.unlimited):
            lengths = ["unlimited" if each.unlimited else str(each.size) for each in (here, there)]
            self._override(f"dimension `{inside(here.name)}`: {' | '.join(lengths)}", here, there)
            return there
        return here

    def _merge_variables(self, here: Variable, there: Variable, inside: Callable[[str], str]) -> Variable:
        path = inside(here.name)
        if here.type != there.type:
            self._conflict(f"`{path}` has the type `{there.type}`, not `{here.type}`", here, there)
        elif here.dimensions != there.dimensions:
            texts = [f"({', '.join(map(str, each.dimensions))})" for each in (here, there)]
            self._conflict(f"`{path}` has the dimensions {texts[1]}, not {texts[0]}", here, there)
        return replace(
            here,
            attributes=self._merge_attributes(path, here.attributes, there.attributes),
            storage=self._merge_storage(path, here, there),
        )

    def _merge_storage(self, path: str, here: Variable, there: Variable) -> Storage:
        """Return the storage of the earlier layer with the members that the later one states."""
        changed: dict[str, Any] = {}
        for field in fields(Storage):
            usual, old, new = (getattr(each, field.name) for each in (DEFAULT_STORAGE, here.storage, there.storage))
            if field.name == "span" or new in (usual, old):
                continue
            changed[field.name] = new
            if old != usual:
                self._override(f"{field.name.replace('_', ' ')} of `{path}`", here, there)
        return replace(here.storage, **changed) if changed else here.storage

    def _merge_attributes(
        self, path: str, here: tuple[Attribute, ...], there: tuple[Attribute, ...]
    ) -> tuple[Attribute, ...]:
        def override(one: Attribute, other: Attribute) -> Attribute:
            if one.value == other.value:
                return one
            shown = " | ".join(show_pair(one.value, other.value))
            self._override(f"attribute `{one.name}` of `{path}`: {shown}", one, other)
            return other

        return _merge_nodes(here, there, override)

    def _override(self, text: str, here: Node, there: Node) -> None:
        self._add("overridden-element", f"{text} (overridden)", here, there)

    def _conflict(self, text: str, here: Node, there: Node) -> None:
        self._add("conflicting-element", f"{text} in the later layer", here, there)

    def _add(self, code: str, text: str, here: Node, there: Node) -> None:
        earlier = (label_of(here, "the earlier layer"),)
        self.report.add(Diagnostic(code, CODES[code].severity, text, label_of(there), earlier))


N = TypeVar("N", bound=Node)


def _merge_nodes(here: tuple[N, ...], there: tuple[N, ...], merge: Callable[[Any, Any], Any]) -> tuple[N, ...]:
    """Return nodes in their order, each merged with the later one of its name, and the new ones behind them."""
    later = {getattr(node, "name", ""): node for node in there}
    known = {getattr(node, "name", "") for node in here}
    merged = (merge(node, later[name]) if (name := getattr(node, "name", "")) in later else node for node in here)
    return (*merged, *(node for node in there if getattr(node, "name", "") not in known))


# ---- definitions -----------------------------------------------------------------------------------------------------
def define(checked: Checked, definitions: Iterable[str], report: Report) -> Checked | None:
    """Return a dataset with other lengths of dimensions and values of attributes; None after an error.

    `definitions`: `lat=720`, `/g/lat=720`, `:title=…`, `temp:units=…` or `/temp@units=…`. Reports bad-definition.
    """
    before = report.errors
    lengths: dict[str, int] = {}
    values: dict[tuple[str, str], str] = {}
    for text in definitions:
        target, sign, value = text.partition("=")
        owner, colon, name = target.rpartition(":" if ":" in target else "@")
        if not sign or not target:
            report.error("bad-definition", f"`{text}` is not NAME=LENGTH, :NAME=VALUE or VARIABLE:NAME=VALUE")
        elif colon:
            found = _find_owner(owner, checked, report)
            if found is not None:
                values[found, name] = value
        else:
            path = _find_path(target, checked.dimensions, "dimension", report)
            length = None if path is None else _parse_length(value, text, report)
            if path is not None and length is not None:
                lengths[path] = length
    if report.errors > before:
        return None
    tree = _apply(checked, lengths, values, report)
    if report.errors > before:
        return None
    return _check_values(tree, dict(checked.parts), dict(checked.foreign), report)


def _find_owner(name: str, checked: Checked, report: Report) -> str | None:
    """Return the FQN of a variable, or of the root for no name."""
    if not name or name == "/":
        return "/"
    if name in checked.groups:
        return name
    return _find_path(name, checked.variables, "variable", report)


def _find_path(name: str, declared: Iterable[str], what: str, report: Report) -> str | None:
    """Return the FQN of a name, which may be simple if only one group has it."""
    every = list(declared)
    found = [path for path in every if path == name or names.last(path) == name]
    if len(found) == 1 or name in found:
        return name if name in found else found[0]
    if found:
        report.error("bad-definition", f"`{name}` names several: {', '.join(f'`{path}`' for path in found)}")
    else:
        simple = [*every, *map(names.last, every)]
        report.error("bad-definition", f"the schema has no {what} `{name}`{hint(name, simple)}")
    return None


def _parse_length(value: str, text: str, report: Report) -> int | None:
    if value.isascii() and value.isdigit():
        return int(value)
    report.error("bad-definition", f"`{text}`: a length is a number such as 720")
    return None


def _apply(checked: Checked, lengths: dict[str, int], values: dict[tuple[str, str], str], report: Report) -> Dataset:
    """Return the tree with the lengths and attribute values given by `--define`; report attributes it lacks."""
    left = dict(values)

    def with_values(path: str, node: Any) -> Any:
        attributes = []
        for attribute in node.attributes:
            text = left.pop((path, attribute.name), None)
            attributes.append(attribute if text is None else _give_value(path, attribute, text, report))
        return replace(node, attributes=tuple(attributes))

    def change(path: str, group: Group) -> dict[str, Any]:
        dimensions = tuple(_resize(each, lengths.get(names.join(path, each.name))) for each in group.dimensions)
        variables = tuple(with_values(names.join(path, each.name), each) for each in group.variables)
        attributes = with_values(path, group).attributes
        return {"dimensions": dimensions, "variables": variables, "attributes": attributes}

    tree: Dataset = map_groups(checked.dataset, change)
    for owner, name in left:
        node: Any = checked.groups.get(owner) or checked.variables[owner]
        known = [attribute.name for attribute in node.attributes]
        report.error("bad-definition", f"`{owner}` has no attribute `{name}`{hint(name, known)}", node.span)
    return tree


def _resize(dimension: Dimension, length: int | None) -> Dimension:
    return dimension if length is None else replace(dimension, size=length, unlimited=False)


def _give_value(path: str, attribute: Attribute, text: str, report: Report) -> Attribute:
    """Return an attribute with the value that a text states, in its type."""
    kind = attribute.value.type
    bare = text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text
    if kind == "char":
        return replace(attribute, value=Constant.text(bare.encode("utf-8", "surrogateescape")), json=None)
    if kind == "string":
        return replace(attribute, value=Constant.strings([bare.encode("utf-8", "surrogateescape")]), json=None)
    try:
        numbers = [float(word) if kind in ("float", "double") else int(word) for word in text.split(",")]
        return replace(attribute, value=Constant.numbers(kind, numbers), json=None)
    except (ValueError, OverflowError, KeyError):
        what = f"attribute `{attribute.name}` of `{path}` is of type `{kind}`, which `{text}` is not"
        report.error("bad-definition", what, attribute.span)
        return attribute
