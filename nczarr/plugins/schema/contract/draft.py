"""`generate contract`: a draft of a contract from examples.

What all examples have is required, the rest is optional. Lengths and values that differ may be any; texts of a few
different values are listed. The text is CDL with rules as comments, which people then correct.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeVar

from nczarr.ast import walk
from nczarr.diagnostics.report import VALUE_LOSSES
from nczarr.pipeline.compare.diff import definition
from nczarr.plugins.common.nodes import label_of
from nczarr.plugins.schema.contract.reading import NodePlaces, key_of
from nczarr.plugins.schema.contract.values import list_values
from nczarr.sdk import (
    Attribute,
    Checked,
    CompoundType,
    Dataset,
    Diagnostic,
    Dimension,
    EnumType,
    Group,
    Node,
    OpaqueType,
    Options,
    Report,
    Severity,
    Source,
    Unchecked,
    Variable,
    VlenType,
    check,
    phases,
)

N = TypeVar("N", bound=Node)

FEW = 4
"""Most different texts that are listed."""

LONGEST = 40
"""Most characters of a text that is listed."""


def draft(examples: Sequence[Checked], name: str, report: Report) -> str:
    """Return the text of a contract that all examples keep; empty after an error. Reports different-element."""
    trees = [example.dataset for example in examples]
    found = [{key_of(path, node): node for path, node in walk(tree)} for tree in trees]
    _report_contradictions(found, report)
    if report.errors:
        return ""
    tree = _merge(trees)
    merged = check(Unchecked(replace(tree, name=name) if name else tree), report)
    if merged is None:
        return ""
    options = Options.of(header_only=True, allow_loss=VALUE_LOSSES, name=merged.dataset.name or "contract")
    header = b"".join(phases.dump(merged, "cdl", report, options) or ())
    return "".join(
        _write_rules(
            header,
            {key: list(_list_rules(key, found)) for key in (key_of(path, node) for path, node in walk(tree))},
            report,
        )
    )


def _report_contradictions(found: Sequence[Mapping[str, Node]], report: Report) -> None:
    """Report what no contract allows: types that differ, and variables of other dimensions."""
    for path in dict.fromkeys(chain.from_iterable(found)):
        nodes = [nodes[path] for nodes in found if path in nodes]
        first = nodes[0]
        other = next((node for node in nodes[1:] if _shape_of(node) != _shape_of(first)), None)
        if other is not None:
            text = f"`{path}` differs between the examples: {_shape_of(other)}, and {_shape_of(first)}"
            report.add(
                Diagnostic("different-element", Severity.ERROR, text, label_of(other), (label_of(first, "the other"),))
            )


def _shape_of(node: Node) -> str:
    """Return what must be equal in all examples, as text."""
    if isinstance(node, Variable):
        return f"dimensions ({', '.join(map(str, node.dimensions))})"
    if isinstance(node, EnumType | CompoundType | OpaqueType | VlenType):
        return f"type {definition(node, storage=False)}"
    return type(node).__name__


def _merge(trees: Sequence[Dataset]) -> Dataset:
    """Return the union of trees, in the order of the first."""
    merged: Dataset = trees[0]
    for tree in trees[1:]:
        merged = _merge_groups(merged, tree)
    return merged


G = TypeVar("G", bound=Group)


def _merge_groups(one: G, other: Group) -> G:
    """Unite the declarations of two examples; where both have a node, the first one's stays."""
    return replace(
        one,
        types=_unite(one.types, other.types),
        dimensions=_unite(one.dimensions, other.dimensions),
        variables=tuple(_merge_attributes(each, other.variables) for each in _unite(one.variables, other.variables)),
        attributes=_unite(one.attributes, other.attributes),
        groups=tuple(
            _merge_groups(each, same) if (same := _find(each.name, other.groups)) is not None else each
            for each in _unite(one.groups, other.groups)
        ),
    )


def _merge_attributes(variable: Variable, others: Iterable[Variable]) -> Variable:
    same = _find(variable.name, others)
    return variable if same is None else replace(variable, attributes=_unite(variable.attributes, same.attributes))


def _find(name: str, nodes: Iterable[N]) -> N | None:
    return next((node for node in nodes if getattr(node, "name", None) == name), None)


def _unite(one: tuple[N, ...], other: tuple[N, ...]) -> tuple[N, ...]:
    return (*one, *(node for node in other if _find(getattr(node, "name", ""), one) is None))


def _list_rules(key: str, found: Sequence[Mapping[str, Node]]) -> Iterator[str]:
    """Yield the rules of a node."""
    nodes = [nodes[key] for nodes in found if key in nodes]
    home = _parent(key.partition(" ")[2] if key.startswith(("dimension /", "type /")) else key)
    if len(nodes) < sum(1 for each in found if home in each):
        yield "optional"
    first = nodes[0]
    if isinstance(first, Dimension):
        if len({(node.size, node.unlimited) for node in nodes if isinstance(node, Dimension)}) > 1:
            all_unlimited = all(isinstance(node, Dimension) and node.unlimited for node in nodes)
            yield from () if all_unlimited else ("any-length",)
    elif isinstance(first, Variable):
        if len({node.type for node in nodes if isinstance(node, Variable)}) > 1:
            yield "any-type"
    elif isinstance(first, Attribute):
        yield from _list_value_rules([node for node in nodes if isinstance(node, Attribute)])


def _parent(path: str) -> str:
    """Return the path of the node that holds one: of `/g/v@units` that of `/g/v`."""
    head, sign, last = path.rpartition("@")
    if sign and "/" not in last:
        return head
    return path.rpartition("/")[0] or "/"


def _list_value_rules(attributes: Sequence[Attribute]) -> Iterator[str]:
    """Yield the rules, such as `one-of "a", "b"`, that the values of an attribute in all examples suggest."""
    values = [attribute.value for attribute in attributes]
    if all(value == values[0] for value in values):
        return
    if len({value.type for value in values}) > 1:
        yield "any-type"
    texts = list(dict.fromkeys(chain.from_iterable(map(list_values, values))))
    if len(texts) <= FEW and len(attributes) > len(texts) and all(_is_short(text) for text in texts):
        yield "one-of " + ", ".join(json.dumps(text, ensure_ascii=False) for text in texts)
    else:
        yield "any-value"


def _is_short(text: str | float) -> bool:
    return isinstance(text, str) and 0 < len(text) <= LONGEST and text.isprintable()


def _write_rules(header: bytes, rules: Mapping[str, Sequence[str]], report: Report) -> Iterator[str]:
    """Yield a text with a comment behind each declaration that has rules."""
    source = Source("contract.cdl", header)
    written = phases.read(source, report, Options())
    if written is None:
        return
    places = NodePlaces(written, source)
    comments: dict[int, list[str]] = {}
    for path, node in places.nodes:
        if rules.get(key_of(path, node)):
            line, _ = source.position(places.find_end(node))
            comments.setdefault(line, []).extend(rules[key_of(path, node)])
    for number, line_text in enumerate(header.decode("utf-8", "surrogateescape").splitlines(), 1):
        added = "; ".join(dict.fromkeys(comments.get(number, ())))
        yield f"{line_text} // nczarr: {added}\n" if added else f"{line_text}\n"
