"""Header changes and values as texts: CDL, printed and compiled, and lines for people."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from nczarr import names, registry
from nczarr.ast import ATOMIC, Constant, Dataset, Dimension, Group, Variable
from nczarr.ast.dataset import map_groups
from nczarr.diagnostics.render import visible
from nczarr.diagnostics.report import NOWHERE, VALUE_LOSSES, Diagnostic, Report, Source, suggest
from nczarr.options import Options
from nczarr.pipeline import phases
from nczarr.pipeline.compare.diff import definition
from nczarr.pipeline.compare.difference import show_constant, show_pair
from nczarr.plugins.edit.header_changes import (
    AttributeChange,
    AttributeOrder,
    DimensionChange,
    HeaderChange,
    NodeAddition,
    NodeRemoval,
    NodeRename,
)
from nczarr.plugins.edit.instructions import AttributeAssignment, report_moved_diagnostics, values_text
from nczarr.plugins.edit.resolve_instructions import find_type
from nczarr.semantics.checked import Checked, tables

_INTEGERS = frozenset(name for name, atomic in ATOMIC.items() if atomic.size and not atomic.is_float and name != "char")
_NUMBERS = _INTEGERS | {"float", "double"}
"""Types of numbers."""


def print_header(checked: Checked, *, special: bool = False) -> bytes | None:
    """Return a header as CDL; None if CDL cannot express it. `special`: with attributes that describe its storage."""
    report, form = Report(), registry.list_names_with("display.dumped")[0]
    options = Options.of(
        header_only=True, special=special, allow_loss=VALUE_LOSSES, name=checked.dataset.name or "dataset"
    )
    pieces = phases.dump(checked, form, report, options)
    text = b"".join(pieces or ())
    return None if report.errors else text


def compile_header(source: Source, report: Report) -> Checked | None:
    """Return the dataset of a CDL text; None after an error."""
    return phases.read(source, report, Options(), registry.find_format(registry.list_names_with("display.dumped")[0]))


def read_value(checked: Checked, assignment: AttributeAssignment, report: Report) -> Constant | None:
    """Return the value of an assignment; None after an error."""
    assignment = assignment._replace(type=find_type(checked, assignment))
    if assignment.value is not None:
        return _give_type(assignment.value, assignment.type)
    if assignment.type is not None and assignment.type not in ATOMIC and not _is_declared(checked, assignment.type):
        helps = [*suggest(assignment.type, [*ATOMIC, *checked.types])]
        helps.append("if the blank belongs to a name, write `\\ `")
        text = f"`{assignment.type}` before the blank is not a type"
        report.error("bad-edit", text, assignment.span or NOWHERE, helps=helps)
        return None
    span = assignment.span
    is_blank = span is not None and span.source is not None and not span.source.text(span.start, span.end).strip()
    if span is not None and is_blank and assignment.type is None:
        report.error("bad-edit", f"`{assignment.name}` has no value", span, helps=['an empty text is `""`'])
        return None
    types = checked.dataset.model_copy(update={"name": "types"})
    bare = _only_types(types) if checked.types else None
    head = "netcdf types {" if bare is None else print_header(bare)
    text = head.decode() if isinstance(head, bytes) else head or ""
    data, offset = values_text(assignment, text.rstrip().removesuffix("}"))
    own_report = Report()
    compiled = compile_header(Source("--set", data), own_report)
    diagnostics = [_quote_as_option(each, assignment) for each in own_report.list_sorted()]
    if any(diagnostic.code == "misplaced-special" for diagnostic in diagnostics):
        assert assignment.span is not None
        report.error("bad-edit", f"`{assignment.name}` describes how values are stored", assignment.span)
        return None
    report_moved_diagnostics(diagnostics, assignment, offset, report)
    if compiled is None or own_report.errors:
        return None
    attributes = compiled.dataset.attributes
    if [attribute.name for attribute in attributes] != [assignment.name]:
        text = (
            f"`{assignment.name}` describes how values are stored"
            if not attributes
            else "one list of values is expected"
        )
        assert assignment.span is not None
        report.error("bad-edit", text, assignment.span)
        return None
    return attributes[0].value


def _quote_as_option(diagnostic: Diagnostic, assignment: AttributeAssignment) -> Diagnostic:
    """Return a diagnostic of the CDL of a value; that of a text without quotes proposes the whole option."""
    span = assignment.span
    if diagnostic.code != "unquoted-text" or span is None or span.source is None:
        return diagnostic
    value = span.source.text(span.start, span.end).strip()
    return diagnostic._replace(helps=(f"write `--set '{span.source.text(0, span.start)}\"{value}\"'`",))


def _is_declared(checked: Checked, name: str) -> bool:
    """Return whether a type is declared, by its FQN or a simple name of any group."""
    return name in checked.types or any(names.last(path) == name for path in checked.types)


def _give_type(constant: Constant, type_name: str | None) -> Constant:
    """Return a number of Python in the type of a fill value, if it has that value there."""
    if type_name is None or type_name == constant.type or not isinstance(constant.data, bytes):
        return constant
    if constant.type not in _NUMBERS or type_name not in _NUMBERS:
        return constant
    numbers = constant.as_numbers()
    try:
        typed = Constant.numbers(type_name, [int(number) if type_name in _INTEGERS else number for number in numbers])
    except (struct.error, OverflowError, ValueError):
        return constant
    exact = type_name not in _INTEGERS or typed.as_numbers() == numbers
    return typed if exact else constant


def _only_types(dataset: Dataset) -> Checked:
    """Return a dataset with its groups and types alone."""
    tree = map_groups(dataset, lambda path, group: {"dimensions": (), "variables": (), "attributes": ()})
    return Checked(tree, **tables(tree)._asdict(), shapes={}, fills={}, parts={})


def patch_lines(changes: Iterable[HeaderChange], detected: Iterable[NodeRename] = ()) -> Iterator[str]:
    """Yield one line a change: `+` something is added, `-` removed, `~` changed."""
    concluded = set(detected)
    for change in changes:
        line = _describe(change)
        if change in concluded:
            line += "   (equal but for its name)"
        yield from map(visible, line.split("\n"))


def _describe(change: HeaderChange) -> str:
    match change:
        case AttributeChange(owner, name, None, Constant() as after):
            return f"+ {_place(owner)}@{name} = {_show(after)}"
        case AttributeChange(owner, name, Constant() as before, None):
            return f"- {_place(owner)}@{name} = {_show(before)}"
        case AttributeChange(owner, name, Constant() as before, Constant() as after):
            one, other = show_pair(before, after)
            return f"~ {_place(owner)}@{name}: {one} → {other}"
        case AttributeOrder(owner, _, after):
            return f"~ {_place(owner)}: order of attributes {', '.join(after)}"
        case NodeRename(kind, path, new_path):
            return f"~ {kind} {path} → {new_path}"
        case DimensionChange(path, before, after):
            return f"~ dimension {path}: {_size(before)} → {_size(after)}"
        case NodeRemoval(kind, path):
            return f"- {kind} {path}"
        case NodeAddition(kind, path, node):
            return f"+ {kind} {path}{_declare(node)}"
        case _:
            raise AssertionError(change)


def _place(owner: str) -> str:
    """Return the owner as instructions write it: the root is left out."""
    return "" if owner == "/" else owner


def _show(constant: Constant) -> str:
    suffix = "" if constant.type in ("char", "int", "double") else f"   ({constant.type})"
    return show_constant(constant) + suffix


def _size(dimension: Dimension) -> str:
    return f"unlimited ({dimension.size})" if dimension.unlimited else str(dimension.size)


def _declare(node: object) -> str:
    """Return a declaration behind its name."""
    match node:
        case Dimension():
            return f" = {_size(node)}"
        case Variable():
            shape = f"({', '.join(map(str, node.dimensions))})" if node.dimensions else ""
            attributes = "".join(f"\n    @{item.name} = {_show(item.value)}" for item in node.attributes)
            return f": {node.type}{shape}{attributes}"
        case Group():
            return "".join(f"\n    @{item.name} = {_show(item.value)}" for item in node.attributes)
        case _:
            return f": {definition(node, storage=False)}"  # type: ignore[arg-type]
