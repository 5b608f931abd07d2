"""Writer of CDL: `Checked` → text in ncdump's layout; every value reads back exactly.

Output is produced in pieces; text and data are never held as a whole.
Differences from ncdump: `docs/reference/formats/cdl.md`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from nczarr import names
from nczarr.ast import Group
from nczarr.check.checked import Checked
from nczarr.check.infer_shapes import Anonymous
from nczarr.formats.cdl.spelling import identifier
from nczarr.formats.cdl.write.data_section import extent_carriers, variable_data
from nczarr.formats.cdl.write.declarations import DeclarationPrinter
from nczarr.formats.cdl.write.representable import sayable

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Report
    from nczarr.options import Options
    from nczarr.plan.plans import StreamPlan


def write(plan: StreamPlan, report: Report, options: Options) -> Iterator[bytes]:
    """Yield the CDL of a planned dataset in pieces of UTF-8."""
    for piece in pieces(sayable(plan.checked).checked, options):
        yield piece.encode("utf-8", "surrogateescape")


def pieces(checked: Checked, options: Options) -> Iterator[str]:
    """Yield the CDL of a dataset that CDL can represent (`sayable`). Uses the options that are ncdump flags.

    With `special`, storage and kind are written as special attributes.
    """
    name = checked.dataset.name if options.name is None else options.name
    yield f"netcdf {dataset_name(name)} {{\n"
    yield from _Printer(checked, options).group("/", checked.dataset, 0)
    yield "}\n"


def dataset_name(name: str) -> str:
    """Return the dataset name for CDL; characters that would end it or be dropped become `_`."""
    return "".join("_" if character <= " " or character in "{}\x7f" else character for character in name)


class _Printer:
    """State of one run over the tree."""

    def __init__(self, checked: Checked, options: Options) -> None:
        self._checked = checked
        self._header = DeclarationPrinter(checked, Anonymous(checked), special=options.special)
        self._with_data = not options.header_only
        self._printed = printed(checked, options)

    def group(self, path: str, group: Group, depth: int) -> Iterator[str]:
        """Yield the content of a group: declarations, data, subgroups."""
        indent = "  " * depth
        yield "".join(self._header.lines(path, group, indent))
        if group.variables and self._with_data:
            yield f"{indent}data:\n"
            for variable in group.variables:
                fqn = names.join(path, variable.name)
                if fqn in self._printed:
                    yield from variable_data(self._checked, fqn, self._checked.parts.get(fqn), len(indent))
        for child in group.groups:
            written = identifier(child.name)
            yield f"\n{indent}group: {written} {{\n"
            yield from self.group(names.join(path, child.name), child, depth + 1)
            yield f"{indent}  }} // group {written}\n"


def printed(checked: Checked, options: Options) -> set[str]:
    """Return the variables to print: the requested ones with data, and those that determine a dimension's length."""
    if options.header_only:
        return set()
    chosen = {fqn for fqn in checked.parts if _wanted(checked, fqn, options)}
    return chosen | set(extent_carriers(checked, chosen))


def _wanted(checked: Checked, fqn: str, options: Options) -> bool:
    """Return whether the options select a variable's data (ncdump's -c, -v, -g)."""
    name, group = names.last(fqn), names.parent(fqn)
    if options.coordinates_only and not _is_coordinate(checked, name, group):
        return False
    if options.variables and name not in options.variables and fqn not in options.variables:
        return False
    if not options.groups:
        return True
    return any(group_name in (group, names.last(group) if group != "/" else "/") for group_name in options.groups)


def _is_coordinate(checked: Checked, name: str, group: str) -> bool:
    """Return whether a variable has the name of a dimension in scope."""
    while (fqn := names.join(group, name)) not in checked.dimensions and group != "/":
        group = names.parent(group)
    return fqn in checked.dimensions
