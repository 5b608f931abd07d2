"""Simple names of dimensions as Zarr has them: one a dimension of an array, meant within the array's own group.

Zarr readers other than netCDF know a dimension by its simple name, and take two lengths for one name in one group
for an error that costs them the whole group. So an anonymous dimension gets an invented name, and where two
dimensions of different length would share a name in one group, the one from farther away gets another.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from nczarr import names
from nczarr.ast import Group
from nczarr.ast.walk import groups
from nczarr.check.checked import Checked

ANONYMOUS = "_Anonymous_Dim_"
"""The netCDF library's own prefix for a dimension without a name; the length follows."""

CONTENT, ELEMENTS = "_content", "_elements"
"""Names of the ragged dimension: of a vlen's own content, and of arrays that lie inside such content."""


def axes(checked: Checked) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Names of each variable's dimensions by its FQN; and by FQN of those that have a renamed one, what became what."""
    named: dict[str, tuple[str, ...]] = {}
    renamed: dict[str, str] = {}
    for path, group in groups(checked.dataset):
        _name_group(path, group, checked, named, renamed)
    return named, renamed


def _name_group(
    path: str, group: Group, checked: Checked, named: dict[str, tuple[str, ...]], renamed: dict[str, str]
) -> None:
    lengths = {dimension.name: dimension.size for dimension in group.dimensions}
    aliases: dict[str, str] = {names.join(path, dimension.name): dimension.name for dimension in group.dimensions}
    for variable in group.variables:
        axis_names: list[str] = []
        for reference in variable.dimensions:
            if isinstance(reference, int):
                axis_names.append(_anonymous(reference, axis_names, lengths))
                continue
            alias = aliases.get(reference)
            if alias is None:
                simple = names.last(reference)
                alias = _free(simple, checked.dimensions[reference].size, lengths)
                aliases[reference] = alias
            if alias != names.last(reference):
                renamed[names.join(path, variable.name)] = f"`{reference}` is `{alias}` there"
            axis_names.append(alias)
        named[names.join(path, variable.name)] = tuple(axis_names)


def _anonymous(size: int, taken: list[str], lengths: Mapping[str, int]) -> str:
    """An invented name: the same for axes of the same length, but never twice in one variable."""
    name, number = f"{ANONYMOUS}{size}", 1
    while name in taken or lengths.get(name, size) != size:
        number += 1
        name = f"{ANONYMOUS}{size}_{number}"
    return name


def _free(name: str, size: int, lengths: dict[str, int]) -> str:
    """The name itself if no other length has it in this group, else the name and the first number that is free."""
    alias, number = name, 1
    while lengths.get(alias, size) != size:
        number += 1
        alias = f"{name}_{number}"
    lengths[alias] = size
    return alias


def part_axes(own: tuple[str, ...], part: str, shape: tuple[int, ...], parts: Container[str]) -> list[str]:
    """Dimension names of one part of a variable: its `own`, or the ragged one, then those of an array field by length.

    `parts` are the paths of all parts.
    """
    found = [CONTENT if part.rpartition("/")[2] == "content" else ELEMENTS]
    if not _inside_content(part, parts):
        found = list(own)
    for length in shape[len(found) :]:
        name, number = f"_{length}", 1
        while name in found:
            number += 1
            name = f"_{length}_{number}"
        found.append(name)
    return found


def _inside_content(part: str, parts: Container[str]) -> bool:
    """Whether a part lies in ragged content: the content of some `counts` that is a part too."""
    segments = part.split("/")
    return any(
        segment == "content" and "/".join([*segments[:depth], "counts"]) in parts
        for depth, segment in enumerate(segments)
    )
