"""Names: legal, and unique where netCDF-4 wants them unique.

Expects: any tree. Ensures, if nothing is reported: every name is one that the netCDF library takes; within a group
no two types, variables or groups share a name, no two dimensions do, and no dimension has the name of a type or
group; attributes of one owner, fields of a compound and constants of an enum are unique. Names are compared in
NFC. Reports: duplicate-name, bad-name, slash-in-name, name-too-long, too-deep-nesting, reserved-attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nczarr import names
from nczarr.ast import Attribute, CompoundType, EnumType, Group, Node
from nczarr.ast.walk import MAX_DEPTH
from nczarr.diagnostics import Label, Report
from nczarr.kinds import HDF5_KINDS, RESERVED_ATTRIBUTES
from nczarr.passes.checked import Unchecked
from nczarr.source import Span

_PLAIN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@+\- ]{0,198}[A-Za-z0-9_.@+\-])?")


def check_names(work: Unchecked, report: Report) -> Unchecked:
    """Check all names of a tree; the tree is not changed."""
    kept = frozenset() if work.kind in HDF5_KINDS else RESERVED_ATTRIBUTES  # there they are errors (passes/kinds.py)
    _group(work.dataset, report, 1, kept)
    return work


def _group(group: Group, report: Report, depth: int, kept: frozenset[str]) -> None:
    if depth > MAX_DEPTH + 1:
        report.error("too-deep-nesting", f"groups nest deeper than {MAX_DEPTH}", group.span)
        return
    named: list[tuple[Node, str, str]] = [
        *((item, item.name, "type") for item in group.types),
        *((item, item.name, "dimension") for item in group.dimensions),
        *((item, item.name, "variable") for item in group.variables),
        *((item, item.name, "group") for item in group.groups),
    ]
    if _in_one_text(named):
        named.sort(key=lambda item: item[0].span.start)
    seen: dict[str, list[tuple[str, Span]]] = {}
    for item, name, kind in named:
        _legal(name, kind, item.span, report)
        others = seen.setdefault(name, [])
        for other, place in others:
            if _clash(kind, other):
                _duplicate(name, kind, item.span, other, place, report)
                break
        else:
            others.append((kind, item.span))
    _attributes(group.attributes, "", report, kept)
    for variable in group.variables:
        _attributes(variable.attributes, variable.name, report, kept)
    for declared in group.types:
        if isinstance(declared, CompoundType):
            _unique(((field.name, field.span) for field in declared.fields), "field", report)
        elif isinstance(declared, EnumType):
            _unique(((item.name, item.span) for item in declared.constants), "enum constant", report, legal=False)
    for child in group.groups:
        _group(child, report, depth + 1, kept)


def _in_one_text(named: list[tuple[Node, str, str]]) -> bool:
    """Whether all spans are of one source, so that their order is that of the text."""
    sources = {id(item.span.source) for item, _, _ in named}
    return len(sources) == 1


def _clash(kind: str, other: str) -> bool:
    """Whether two kinds of thing in one group may not share a name."""
    if "dimension" in (kind, other):
        return kind == other or "variable" not in (kind, other)
    return True


def _duplicate(name: str, kind: str, place: Span, other: str, first: Span, report: Report) -> None:
    where = ""
    if first.source is not None:
        words = first.source.place(first.start)
        where = f" at {words}" if kind == other else f" ({words})"
    if kind == other:
        message = f"{kind} `{name}` is already defined{where}"
    else:
        message = f"{kind} `{name}` has the name of a {other} of the same group{where}, which netCDF-4 cannot store"
    report.error("duplicate-name", message, place, others=[Label(first, "first declared here")], helps=["rename one"])


def _legal(name: str, kind: str, place: Span, report: Report) -> None:
    if _PLAIN.fullmatch(name):
        return
    problem = names.problem(name)
    if problem is not None:
        report.error(problem[0], f"{kind}: {problem[1]}", place)


def _attributes(attributes: tuple[Attribute, ...], owner: str, report: Report, kept: frozenset[str]) -> None:
    if len(attributes) > len({attribute.name for attribute in attributes}):
        _unique(((f"{owner}:{item.name}", item.span) for item in attributes), "attribute", report, legal=False)
    for attribute in attributes:
        _legal(attribute.name, "attribute", attribute.span, report)
        if attribute.name in kept:
            message = f"netCDF-4 files keep the name of attribute `{attribute.name}` for themselves"
            report.warning("reserved-attribute", message, attribute.span, helps=["rename it"])


def _unique(items: Iterable[tuple[str, Span]], kind: str, report: Report, *, legal: bool = True) -> None:
    seen: dict[str, Span] = {}
    for name, place in items:
        if legal:
            _legal(name, kind, place, report)
        if name in seen:
            _duplicate(name, kind, place, kind, seen[name], report)
        else:
            seen[name] = place
