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
        self.found: dict[str, Attribute] = {}
        """Attributes of the dataset."""
        self.unlimited: set[str] = set()
        """Names of unlimited dimensions."""

    def assign(self, entries: tuple[DasEntry, ...]) -> None:
        """Assign the entries of a DAS."""
        for entry in entries:
            if entry.type:
                self._item(self.found, entry, "", None)
                continue
            if entry.name == EXTRA:
                self._extra(entry)
                continue
            owners = list(self._owners(entry))
            for made, declared, prefix in owners:
                self._container(made, declared, entry, prefix)
            if not owners:
                plain = entry.name.lower().endswith("global")
                name, entry = container_name(entry)
                self._all(self.found, entry, "" if plain else f"{name}.", None)

    def _extra(self, entry: DasEntry) -> None:
        """Read the container with the unlimited dimension; attributes without use stay attributes."""
        for each in entry.entries:
            if each.name == UNLIMITED and each.values and set(each.values) <= self.tree.dimensions.keys():
                self.unlimited |= set(each.values)
            else:
                self._all(self.found, entry._replace(entries=(each,)), f"{entry.name}.", None)

    def _owners(self, entry: DasEntry) -> Iterator[tuple[TreeVariable, Declaration | None, str]]:
        """Yield the variables that a container names, the declaration, and the prefix of members."""
        made = self.tree.variables.get(entry.name)
        if made is not None:
            yield made, made.slot.grid or made.slot.declared, ""
            return
        for each in self.tree.variables.values():
            if each.slot.grid is None:
                for path, member in _members(each.slot.declared, ""):
                    if entry.name in (member.name, f"{each.name}.{path}"):
                        yield each, member, f"{path}."

    def _container(self, made: TreeVariable, declared: Declaration | None, entry: DasEntry, prefix: str) -> None:
        """Add a container's attributes to a variable; those of the parts of a grid to their variables."""
        grid = made.slot.grid if not prefix else None
        for each in entry.entries:
            part = None if grid is None or each.type else self._part(grid, each.name)
            if part is not None:
                for inner in each.entries:
                    self._item(part.attributes, inner, "", part, shared=part is not made)
            else:
                self._item(made.attributes, each, prefix, made)

    def _part(self, grid: Declaration, name: str) -> TreeVariable | None:
        """Return the variable of a grid's array or map."""
        if name == grid.members[0].name:
            return self.tree.variables[grid.name]
        return next(
            (
                made
                for number, made in self.tree.maps.items()
                if self.tree.slots[number].grid is grid and self.tree.slots[number].declared.name == name
            ),
            None,
        )

    def _all(self, found: dict[str, Attribute], entry: DasEntry, prefix: str, made: TreeVariable | None) -> None:
        for each in entry.entries:
            self._item(found, each, prefix, made)

    def _item(
        self,
        found: dict[str, Attribute],
        entry: DasEntry,
        prefix: str,
        made: TreeVariable | None,
        *,
        shared: bool = False,
    ) -> None:
        """Add an attribute, or those of a container with its name before theirs."""
        if not entry.type:
            for each in entry.entries:
                self._item(found, each, f"{prefix}{entry.name}.", made, shared=shared)
            return
        name = prefix + entry.name
        if names.problem(name) is not None:
            self._lost(entry, f"attribute `{name[:80]}` is left out: netCDF does not allow its name")
            return
        value = self._value(entry, made.slot.type if made is not None and name == FILL else None)
        if value is None:
            return
        known = found.setdefault(name, Attribute(name=name, value=value, span=entry.span))
        if known.value != value and not shared:
            self._lost(entry, f"attribute `{name}` is left out: another one has the same name")

    def _lost(self, entry: DasEntry, text: str) -> None:
        self.report.warning("foreign-member", text, entry.span)

    def _value(self, entry: DasEntry, wanted: str | None) -> Constant | None:
        """Return the value of an attribute; `wanted`: the type of a fill value. Reports values that do not fit."""
        texts = [each.encode("utf-8", "surrogateescape") for each in entry.values]
        kind = ATOMIC_OF_DAP2.get(entry.type.lower())
        if wanted is not None:
            value = self._fill(entry, texts, wanted)
            if value is None:
                self._lost(entry, f"attribute `{entry.name}` is left out: it is not one value of type {wanted}")
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
        return Constant(type=kind, count=len(numbers), data=b"".join(each or b"" for each in numbers))

    def _fill(self, entry: DasEntry, texts: list[bytes], wanted: str) -> Constant | None:
        """Return a fill value in the type of its variable, or None."""
        if wanted == "string":
            return Constant.strings(texts) if len(texts) == 1 else None
        if wanted not in ATOMIC or len(texts) != 1:
            return None
        found = number(entry.values[0], wanted)
        return None if found is None else Constant(type=wanted, count=1, data=found)


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
    for each in declared.members:
        yield prefix + each.name, each
        yield from _members(each, f"{prefix}{each.name}.")
