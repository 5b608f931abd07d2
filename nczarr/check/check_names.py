"""Check of names: valid, and unique as netCDF-4 requires.

Expects: any tree. Ensures, if nothing is reported: every name is in NFC and
valid for the netCDF library. Within a group no two types, variables or groups
share a name, no two dimensions do, and no dimension shares one with a type or
group. Attributes of one owner, fields of a compound and constants of an enum
are unique. Names are compared in NFC. Reports: duplicate-name, bad-name,
slash-in-name, name-too-long, too-deep-nesting, reserved-attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from nczarr import names
from nczarr.ast import Attribute, CompoundType, EnumType, Group
from nczarr.ast.kinds import HDF5_KINDS, RESERVED_ATTRIBUTES
from nczarr.ast.walk import MAX_DEPTH
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Span

_PLAIN = re.compile(r"[A-Za-z0-9_](?:[A-Za-z0-9_.@+\- ]{0,198}[A-Za-z0-9_.@+\-])?")


def check_names(work: Unchecked, report: Report) -> Unchecked:
    """Check all names of a tree, and settle equal or non-NFC ones (check/duplicate_names.py)."""
    reserved = frozenset() if work.kind in HDF5_KINDS else RESERVED_ATTRIBUTES  # there they are errors (check/kinds.py)
    checking = _Checking(report, reserved)
    checking.group(work.dataset, 1)
    if work.namesakes or checking.unsettled:
        from nczarr.check.duplicate_names import report_namesakes, settled  # few datasets have such names

        report_namesakes(work.namesakes, report, accepted=work.namesakes_accepted)
        if checking.unsettled and not checking.endless:
            return settled(work, report, accepted=work.namesakes_accepted)
    return work


class _Checking:
    """State of one run. `unsettled`: some names are equal or not in NFC; `endless`: groups nest too deep."""

    def __init__(self, report: Report, reserved: frozenset[str]) -> None:
        self.report = report
        self.kept = reserved
        self.unsettled = False
        self.endless = False

    def group(self, group: Group, depth: int) -> None:
        """Check a group and its descendants."""
        if depth > MAX_DEPTH + 1:
            self.report.error("too-deep-nesting", f"groups nest deeper than {MAX_DEPTH}", group.span)
            self.endless = True
            return
        shared: set[str] = set()
        for kind, items in (("type", group.types), ("variable", group.variables), ("group", group.groups)):
            for item in items:
                self._legal(item.name, kind, item.span)
                shared.add(item.name)
        dimensions = {dimension.name for dimension in group.dimensions}
        for dimension in group.dimensions:
            self._legal(dimension.name, "dimension", dimension.span)
        namespace = {item.name for item in (*group.types, *group.groups)}
        count = len(group.types) + len(group.variables) + len(group.groups)
        if len(shared) < count or len(dimensions) < len(group.dimensions) or not namespace.isdisjoint(dimensions):
            self.unsettled = True
        self._attributes(group.attributes)
        for variable in group.variables:
            self._attributes(variable.attributes)
        for declared in group.types:
            if isinstance(declared, CompoundType):
                self._unique(((field.name, field.span) for field in declared.fields), "field")
            elif isinstance(declared, EnumType):
                self._unique(((item.name, item.span) for item in declared.constants), "enum constant", legal=False)
        for child in group.groups:
            self.group(child, depth + 1)

    def _legal(self, name: str, kind: str, place: Span) -> None:
        if _PLAIN.fullmatch(name):
            return
        problem = names.problem(name)
        if problem is not None:
            self.report.error(problem[0], f"{kind}: {problem[1]}", place)
        if names.normal(name) != name:
            self.unsettled = True

    def _attributes(self, attributes: tuple[Attribute, ...]) -> None:
        if len(attributes) > len({attribute.name for attribute in attributes}):
            self.unsettled = True
        for attribute in attributes:
            self._legal(attribute.name, "attribute", attribute.span)
            if attribute.name in self.kept:
                message = f"attribute `{attribute.name}` has a name that netCDF-4 files reserve"
                self.report.warning("reserved-attribute", message, attribute.span, helps=["rename it"])

    def _unique(self, items: Iterable[tuple[str, Span]], kind: str, *, legal: bool = True) -> None:
        seen: set[str] = set()
        for name, place in items:
            if legal:
                self._legal(name, kind, place)
            if name in seen or names.normal(name) != name:
                self.unsettled = True
            seen.add(name)
