"""Names for anonymous dimensions, for CDL and netCDF files: one dimension per length and group.

The names are those of netCDF-C for anonymous axes of a Zarr store,
`_Anonymous_Dim_<length>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from nczarr import names
from nczarr.ast import Dimension, Group, Variable
from nczarr.ast.walk import mapped
from nczarr.check.checked import Checked, tables


class Anonymous:
    """Invented dimensions of a dataset."""

    def __init__(self, checked: Checked) -> None:
        self._of: dict[tuple[str, int], Dimension] = {}
        # A name that no dimension has can hide none, in whatever group it is declared.
        taken = {names.last(fqn) for fqn in checked.dimensions}
        for fqn, variable in checked.variables.items():
            group = names.parent(fqn)
            for size in variable.dimensions:
                if isinstance(size, int) and (group, size) not in self._of:
                    name = f"_Anonymous_Dim_{size}"
                    while name in taken:
                        name += "_"
                    self._of[group, size] = Dimension(name=name, size=size)

    @property
    def declared(self) -> Mapping[str, Dimension]:
        """All invented dimensions by FQN."""
        return {names.join(group, dimension.name): dimension for (group, _), dimension in self._of.items()}

    def of_group(self, path: str) -> tuple[Dimension, ...]:
        """Return a group's invented dimensions in the order of first use."""
        return tuple(dimension for (group, _), dimension in self._of.items() if group == path)

    def fqn(self, path: str, size: int) -> str:
        """Return the FQN for an anonymous dimension of this length in a group."""
        return names.join(path, self._of[path, size].name)


def name_dimensions(checked: Checked) -> Checked:
    """Return the dataset with invented dimensions, after each group's own, instead of anonymous ones."""
    if all(isinstance(ref, str) for variable in checked.variables.values() for ref in variable.dimensions):
        return checked
    invented = Anonymous(checked)

    def named(path: str, variable: Variable) -> Variable:
        references = (invented.fqn(path, ref) if isinstance(ref, int) else ref for ref in variable.dimensions)
        return variable.model_copy(update={"dimensions": tuple(references)})

    def changed(path: str, group: Group) -> dict[str, Any]:
        variables = tuple(named(path, variable) for variable in group.variables)
        return {"dimensions": (*group.dimensions, *invented.of_group(path)), "variables": variables}

    dataset = mapped(checked.dataset, changed)
    return checked._replace(dataset=dataset, **tables(dataset)._asdict())
