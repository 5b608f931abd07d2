"""Members of a group of a netCDF-4 file, by the library's numbers."""

from __future__ import annotations

from dataclasses import dataclass

from nczarr.formats.netcdf4.inquiry import Inquiry, TypeInfo, VariableInfo


@dataclass
class Members:
    """Members of a group, by the library's numbers; `shown` and `below`: names of variables and groups in the tree."""

    types: dict[int, TypeInfo]
    dimensions: dict[int, tuple[str, int, bool]]
    variables: dict[int, VariableInfo]
    groups: dict[int, str]
    shown: dict[int, str]
    below: dict[int, str]
    alike: dict[str, list[int]]
    """Variables by name as the file spells it; two have one where one is stored under another."""

    @classmethod
    def of(cls, ask: Inquiry, group: int) -> Members:
        """Ask for the members of a group."""
        below = {child: ask.group_name(child) for child in ask.groups(group)}
        made = cls(ask.types(group), ask.dimensions(group), ask.variables(group), below, {}, {}, {})
        for number, info in made.variables.items():
            made.alike.setdefault(info.name, []).append(number)
        return made

    def items(self) -> list[tuple[str, str]]:
        """Return kind and name of each, as the file spells them."""
        return [
            *(("type", each.name) for each in self.types.values()),
            *(("dimension", name) for name, _, _ in self.dimensions.values()),
            *(("variable", each.name) for each in self.variables.values()),
            *(("group", name) for name in self.groups.values()),
        ]
