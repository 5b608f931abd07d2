"""Identifiers of a dataset: one for each group, dimension and variable, which no other has.

The names of a path are joined by underscores (`/g/v` is `g_v`), as Hyrax does: clients take a slash for a path, even if
it is escaped. Anonymous dimensions get names too (`dim_4`), because xarray needs them. The attribute `_nczarr_names` of
a variable has the FQNs that identifiers do not tell.
"""

from __future__ import annotations

from urllib.parse import unquote

from nczarr import names
from nczarr.ast import OpaqueType, Variable
from nczarr.check.checked import Checked
from nczarr.formats.opendap.dap2.spelling import decoded_name, wire_name


class Identifiers:
    """Identifiers by FQN. Those of the root come first, so that names in groups never change them."""

    def __init__(self, checked: Checked) -> None:
        self.checked = checked
        self._names: dict[str, str] = {}
        self._anonymous: dict[tuple[int, int], str] = {}
        self._taken: set[str] = set()
        paths = {fqn: names.split(fqn) for fqn in (*checked.variables, *checked.dimensions, *checked.groups)}
        for fqn in sorted(paths, key=lambda fqn: len(paths[fqn])):
            if paths[fqn]:
                self._names[fqn] = self._free(wire_name(paths[fqn]))

    def __getitem__(self, fqn: str) -> str:
        return self._names[fqn]

    def old_spellings(self) -> dict[str, str]:
        """Return the identifiers by the path with slashes, which was their decoded spelling."""
        return {"/".join(names.split(fqn)): name for fqn, name in self._names.items()}

    def axes(self, variable: Variable, shape: tuple[int, ...]) -> tuple[str, ...]:
        """Return the identifiers of the dimensions of a variable, of opaque values with that of their bytes."""
        declared = self.checked.types.get(variable.type)
        identifiers: list[str] = []
        for reference, length in _axes(variable, shape, declared.size if isinstance(declared, OpaqueType) else None):
            identifiers.append(self[reference] if isinstance(reference, str) else self._unnamed(length, identifiers))
        return tuple(identifiers)

    def fqns(self, fqn: str) -> tuple[str, ...]:
        """Return the FQNs of a variable and its dimensions, empty for anonymous ones; none if identifiers tell all."""
        variable = self.checked.variables[fqn]
        dimensions = [dimension if isinstance(dimension, str) else "" for dimension in variable.dimensions]
        declared = self.checked.types.get(variable.type)
        paths = (fqn, *dimensions, *("",) * isinstance(declared, OpaqueType))
        return () if all(path and self.tells(path) for path in paths) else paths

    def tells(self, fqn: str) -> bool:
        """Return whether the identifier of a FQN is decoded to it."""
        return names.join("/", decoded_name(self[fqn])) == fqn

    def _unnamed(self, length: int, others: list[str]) -> str:
        """Return the identifier of an anonymous dimension; variables share it if their lengths are equal."""
        number = 0
        while (name := self._anonymous.get((length, number))) in others:
            number += 1
        if name is None:
            name = self._anonymous[length, number] = self._free(f"dim_{length}")
        return name

    def _free(self, name: str) -> str:
        """Return the name with a number behind it if another one reads alike."""
        free_name = names.free(name, lambda other: unquote(other) in self._taken)
        self._taken.add(unquote(free_name))
        return free_name


def _axes(variable: Variable, shape: tuple[int, ...], size: int | None) -> list[tuple[str | int, int]]:
    axes = list(zip(variable.dimensions, shape, strict=True))
    return axes if size is None else [*axes, (size, size)]
