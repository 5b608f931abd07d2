"""Attributes of a DAS: the containers of variables, and those of the dataset."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr import names
from nczarr.ast import ATOMIC, Attribute, Constant
from nczarr.diagnostics.report import Report
from nczarr.formats.opendap.common.document_text import number_of
from nczarr.formats.opendap.common.type_words import ATOMIC_OF_DAP2
from nczarr.formats.opendap.dap2.read.parse import DasEntry, Declaration
from nczarr.formats.opendap.dap2.read.renaming import container_name
from nczarr.formats.opendap.dap2.read.tree import FILL, Tree, TreeVariable

EXTRA, UNLIMITED = "DODS_EXTRA", "Unlimited_Dimension"
"""Container and attribute that name the unlimited dimension."""

_HEX = re.compile(r"([+-]?)0[xX]([0-9A-Fa-f]{1,16})")
_WHOLE = re.compile(r"([+-]?[0-9]+)\.0*|([+-]?[0-9]+)[uUlLsSbB]+")


class DasAttributes:
    """Attributes of a dataset, assigned to the variables of its tree."""

    def __init__(self, tree: Tree, report: Report) -> None:
        self.tree, self.report = tree, report
        self.attributes: dict[str, Attribute] = {}
        """Attributes of the dataset."""
        self.unlimited: set[str] = set()
        """Names of unlimited dimensions."""

    def assign(self, entries: tuple[DasEntry, ...]) -> None:
        """Assign the entries of a DAS."""
        for entry in entries:
            if entry.type:
                self._item(self.attributes, entry, "", None)
                continue
            if entry.name == EXTRA:
                self._extra(entry)
                continue
            owners = list(self._owners(entry))
            for variable, declared, prefix in owners:
                self._container(variable, declared, entry, prefix)
            if not owners:
                plain = entry.name.lower().endswith("global")
                name, entry = container_name(entry)
                self._all(self.attributes, entry, "" if plain else f"{name}.", None)

    def _extra(self, entry: DasEntry) -> None:
        """Read the container with the unlimited dimension; attributes without use stay attributes."""
        for inner in entry.entries:
            if inner.name == UNLIMITED and inner.values and set(inner.values) <= self.tree.dimensions.keys():
                self.unlimited |= set(inner.values)
            else:
                self._all(self.attributes, entry._replace(entries=(inner,)), f"{entry.name}.", None)

    def _owners(self, entry: DasEntry) -> Iterator[tuple[TreeVariable, Declaration | None, str]]:
        """Yield the variables that a container names, the declaration, and the prefix of members."""
        variable = self.tree.variables.get(entry.name)
        if variable is not None:
            yield variable, variable.slot.grid or variable.slot.declared, ""
            return
        for variable in self.tree.variables.values():
            if variable.slot.grid is None:
                for path, member in _members(variable.slot.declared, ""):
                    if entry.name in (member.name, f"{variable.name}.{path}"):
                        yield variable, member, f"{path}."

    def _container(self, variable: TreeVariable, declared: Declaration | None, entry: DasEntry, prefix: str) -> None:
        """Add a container's attributes to a variable; those of the parts of a grid to their variables."""
        grid = variable.slot.grid if not prefix else None
        for member in entry.entries:
            part = None if grid is None or member.type else self._part(grid, member.name)
            if part is not None:
                for inner in member.entries:
                    self._item(part.attributes, inner, "", part, shared=part is not variable)
            else:
                self._item(variable.attributes, member, prefix, variable)

    def _part(self, grid: Declaration, name: str) -> TreeVariable | None:
        """Return the variable of a grid's array or map."""
        if name == grid.members[0].name:
            return self.tree.variables[grid.name]
        return next(
            (
                variable
                for number, variable in self.tree.maps.items()
                if self.tree.slots[number].grid is grid and self.tree.slots[number].declared.name == name
            ),
            None,
        )

    def _all(
        self, attributes: dict[str, Attribute], entry: DasEntry, prefix: str, variable: TreeVariable | None
    ) -> None:
        for inner in entry.entries:
            self._item(attributes, inner, prefix, variable)

    def _item(
        self,
        attributes: dict[str, Attribute],
        entry: DasEntry,
        prefix: str,
        variable: TreeVariable | None,
        *,
        shared: bool = False,
    ) -> None:
        """Add an attribute, or those of a container with its name before theirs."""
        if not entry.type:
            for inner in entry.entries:
                self._item(attributes, inner, f"{prefix}{entry.name}.", variable, shared=shared)
            return
        name = prefix + entry.name
        if names.problem(name) is not None:
            self._lost(entry, f"attribute `{name[:80]}` is left out: netCDF does not allow its name")
            return
        value = self._value(entry, variable.slot.type if variable is not None and name == FILL else None)
        if value is None:
            return
        first = attributes.setdefault(name, Attribute(name=name, value=value, span=entry.span))
        if first.value != value and not shared:
            self._lost(entry, f"attribute `{name}` is left out: another one has the same name")

    def _lost(self, entry: DasEntry, text: str) -> None:
        self.report.warning("foreign-member", text, entry.span)

    def _value(self, entry: DasEntry, fill_type: str | None) -> Constant | None:
        """Return the value of an attribute; `fill_type`: the type of a fill value. Reports values that do not fit."""
        texts = [value.encode("utf-8", "surrogateescape") for value in entry.values]
        kind = ATOMIC_OF_DAP2.get(entry.type.lower())
        if fill_type is not None:
            value = self._fill(entry, texts, fill_type)
            if value is None:
                self._lost(entry, f"attribute `{entry.name}` is left out: it is not one value of type {fill_type}")
            return value
        if kind is None and entry.type.lower() != "alias":
            self._lost(entry, f"attribute `{entry.name}` is read as text: `{entry.type[:40]}` is not a type of DAP2")
        if kind in (None, "string"):
            return Constant.strings(texts) if len(texts) != 1 else Constant.text(texts[0])
        numbers = [number(text, kind) for text in entry.values]
        if None in numbers:
            wrong = entry.values[numbers.index(None)]
            self._lost(entry, f"attribute `{entry.name}` is read as text: `{wrong[:40]}` is not a {entry.type}")
            return Constant.strings(texts) if len(texts) != 1 else Constant.text(texts[0])
        return Constant(type=kind, count=len(numbers), data=b"".join(packed or b"" for packed in numbers))

    def _fill(self, entry: DasEntry, texts: list[bytes], fill_type: str) -> Constant | None:
        """Return a fill value in the type of its variable, or None."""
        if fill_type == "string":
            return Constant.strings(texts) if len(texts) == 1 else None
        if fill_type not in ATOMIC or len(texts) != 1:
            return None
        packed = number(entry.values[0], fill_type)
        return None if packed is None else Constant(type=fill_type, count=1, data=packed)


def number(text: str, type_name: str) -> bytes | None:
    """Return the bytes of a number, little-endian; None for other text.

    A negative byte has the bits of an unsigned one. Integers may be hexadecimal,
    or have a point or a suffix.
    """
    text = text.strip()
    if ATOMIC[type_name].is_float:
        return number_of(text, type_name) or number_of(text.rstrip("fFdDlL"), type_name)
    hexed, whole = _HEX.fullmatch(text), _WHOLE.fullmatch(text)
    if hexed is not None:
        text = str(int(hexed[1] + hexed[2], 16))
    elif whole is not None:
        text = whole[1] or whole[2]
    if type_name == "ubyte" and number_of(text, "byte") is not None:
        return number_of(text, "byte")
    return number_of(text, type_name)


def _members(declared: Declaration, prefix: str) -> Iterator[tuple[str, Declaration]]:
    """Yield the members of a declaration at any depth, with their paths."""
    for member in declared.members:
        yield prefix + member.name, member
        yield from _members(member, f"{prefix}{member.name}.")
