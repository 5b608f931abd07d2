"""Simple names of dimensions for Zarr: one per array dimension, scoped to the array's group.

Zarr readers other than netCDF identify dimensions by simple names, and reject a
whole group for two lengths of one name. So anonymous dimensions get invented
names, and where two lengths share a name in a group, the dimension from farther
away is renamed.
"""

from __future__ import annotations

from collections.abc import Container, Mapping

from nczarr import names
from nczarr.ast import Group
from nczarr.ast.walk import groups
from nczarr.check.checked import Checked

ANONYMOUS = "_Anonymous_Dim_"
"""Prefix of anonymous dimensions, as in the netCDF library; the length follows."""

CONTENT, ELEMENTS = "_content", "_elements"
"""Names of the ragged dimension: of a vlen's own content, and of arrays that lie inside such content."""


def axes(checked: Checked) -> tuple[dict[str, tuple[str, ...]], dict[str, str]]:
    """Return each variable's dimension names by FQN, and notes on renamed ones by FQN."""
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
    """Return an invented name: one per length, but never twice in a variable."""
    return names.free(f"{ANONYMOUS}{size}", lambda name: name in taken or lengths.get(name, size) != size)


def _free(name: str, size: int, lengths: dict[str, int]) -> str:
    """Return the name, or if another length has it in the group, the name with a free number."""
    alias = names.free(name, lambda alias: lengths.get(alias, size) != size)
    lengths[alias] = size
    return alias


def part_axes(variable_axes: tuple[str, ...], part: str, shape: tuple[int, ...], parts: Container[str]) -> list[str]:
    """Return a part's dimension names: `variable_axes` or the ragged one, then of array fields; `parts`: all paths."""
    axis_names = [CONTENT if part.rpartition("/")[2] == "content" else ELEMENTS]
    if not _inside_content(part, parts):
        axis_names = list(variable_axes)
    for length in shape[len(axis_names) :]:
        axis_names.append(names.free(f"_{length}", axis_names.__contains__))
    return axis_names


def _inside_content(part: str, parts: Container[str]) -> bool:
    """Return whether a part lies in ragged content, whose `counts` are a part too."""
    segments = part.split("/")
    return any(
        segment == "content" and "/".join([*segments[:depth], "counts"]) in parts
        for depth, segment in enumerate(segments)
    )
