"""The dataset of a tree with the attributes of a DAS, under the names that `_nczarr_names` tells: `g_v` is `g%2fv`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.ast import ATOMIC, Attribute, Constant, Dataset
from nczarr.diagnostics.report import Buffer, Report, Source, Span
from nczarr.plugins.opendap.common.columns import BrokenValuesError
from nczarr.plugins.opendap.common.declarations import DmrScope, FaultError
from nczarr.plugins.opendap.common.words import ATOMIC_OF_DAP2, number_bytes
from nczarr.plugins.opendap.dap2.dialect import NAMES, read_texts
from nczarr.plugins.opendap.dap2.parser import DasEntry, Dds, Declaration, TextFaultError, parse_das, parse_dds
from nczarr.plugins.opendap.dap2.tree import FILL, TEXT_LENGTH, Declared, Tree, TreeVariable, slots_of
from nczarr.stores import local_paths

_DATA = re.compile(rb"\n[ \t]*Data:[ \t]*\r?\n")
_ERROR = re.compile(rb"\s*error\s*\{", re.IGNORECASE)
_MESSAGE = re.compile(rb'message\s*=\s*("(?:\\.|[^"\\])*"|[^;]*)', re.IGNORECASE)


def values_at(data: Buffer) -> tuple[int, int] | None:
    """Return the end of the DDS of a response, and the start of its values; None without values."""
    match = _DATA.search(data)
    return None if match is None else (match.start() + 1, match.end())


def read_declarations(text: Source, start: int, stop: int) -> Declared:
    """Return a DDS with its types, and its variables in the order of their values. Raises TextFaultError."""
    schema, scope = parse_dds(text, start, stop), DmrScope("_", "/")
    try:
        return Declared(schema, scope, slots_of(schema, scope))
    except FaultError as fault:
        raise TextFaultError(str(fault), start, start) from None


def chars_of(texts: NDArray[Any], length: int) -> NDArray[Any]:
    """Return texts as chars with NULs behind: one more dimension of this length, none for 0.

    Raises BrokenValuesError.
    """
    items, size = texts.reshape(-1).tolist(), length or 1
    longest = max(map(len, items), default=0)
    if longest > size:
        raise BrokenValuesError(f"a text has {longest} bytes, but `{TEXT_LENGTH}` is {size}", 0)
    chars = np.array(items, f"S{size}").view("S1")
    return chars.reshape(*texts.shape, length) if length else chars.reshape(texts.shape)


def refuse_error(source: Source, report: Report) -> bool:
    """Report an error document of a server; return whether the source is one."""
    head = bytes(source.data[: 1 << 16])
    if _ERROR.match(head) is None:
        return False
    message = _MESSAGE.search(head)
    words = message[1].strip(b'" \r\n\t').decode("utf-8", "replace") if message else "no message"
    report.error("bad-dap2", f"the server reports an error: {' '.join(words.split())}", Span(source, 0, 0))
    return True


def build_dataset(tree: Tree, das: Source | None, report: Report) -> Dataset | None:
    """Return the dataset of a tree with the attributes of a DAS; None after an error.

    Reports `bad-dap2`; `foreign-member` for an invalid DAS.
    """
    attributes = DasAttributes(tree, report)
    if das is not None:
        if refuse_error(das, report):
            return None
        try:
            attributes.assign(parse_das(das))
        except TextFaultError as fault:  # the values and their declarations are those of other documents
            text = f"the attributes are invalid, and left out: {fault}"
            report.warning("foreign-member", text, Span(das, fault.start, fault.end))
    tree.restore_chars()
    tree.restore_integers()
    unlimited = restore_names(tree, attributes.unlimited)
    dimensions, variables = tree.nodes(unlimited)
    return Dataset(
        name=_dataset_name(tree.declared.schema),
        types=tuple(tree.declared.scope.types),
        dimensions=dimensions,
        variables=variables,
        attributes=tuple(attributes.attributes.values()),
    )


def _dataset_name(schema: Dds) -> str:
    """Return the name of a dataset without folders and the suffix of a netCDF or HDF file."""
    file_name = schema.name.replace("%2f", "/").rpartition("/")[2]
    stem, suffix = local_paths.stem_of(file_name), local_paths.suffix_of(file_name)
    return stem if suffix.lower() in (".nc", ".nc4", ".cdf", ".hdf", ".h5", ".hdf5", ".dat") else stem + suffix


EXTRA, UNLIMITED = "DODS_EXTRA", "Unlimited_Dimension"
"""Container and attribute that name the unlimited dimension."""

_HEX = re.compile(r"(?P<sign>[+-]?)0[xX](?P<digits>[0-9A-Fa-f]{1,16})")
_INTEGER = re.compile(r"(?P<digits>[+-]?[0-9]+)(?:\.0*|[uUlLsSbB]+)")


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
                self._add(self.attributes, (entry,))
            elif entry.name == EXTRA:
                self._extra(entry)
            else:
                owners = list(self._owners(entry.name))
                for variable, prefix in owners:
                    self._container(variable, entry, prefix)
                if not owners:
                    plain = entry.name.lower().endswith("global")  # NC_GLOBAL for netCDF, HDF_GLOBAL for HDF4
                    name, entry = container_name(entry)
                    self._add(self.attributes, entry.entries, "" if plain else f"{name}.")

    def _extra(self, entry: DasEntry) -> None:
        """Read the container with the unlimited dimension; attributes without use stay attributes."""
        for inner in entry.entries:
            if inner.name == UNLIMITED and inner.values and set(inner.values) <= self.tree.dimensions.keys():
                self.unlimited |= set(inner.values)
            else:
                self._add(self.attributes, (inner,), f"{entry.name}.")

    def _owners(self, name: str) -> Iterator[tuple[TreeVariable, str]]:
        """Yield the variables that a container names, and the prefix of members."""
        if name in self.tree.variables:
            yield self.tree.variables[name], ""
            return
        for variable in self.tree.variables.values():
            for path, member in _list_members(variable.slot.declared, "") if variable.slot.grid is None else ():
                if name in (member.name, f"{variable.name}.{path}"):
                    yield variable, f"{path}."

    def _container(self, variable: TreeVariable, entry: DasEntry, prefix: str) -> None:
        """Add a container's attributes to a variable; those of the parts of a grid to their variables."""
        grid = variable.slot.grid if not prefix else None
        for member in entry.entries:
            part = None if grid is None or member.type else self._part(grid, member.name)
            if part is not None:
                self._add(part.attributes, member.entries, "", part, shared=part is not variable)
            else:
                self._add(variable.attributes, (member,), prefix, variable)

    def _part(self, grid: Declaration, name: str) -> TreeVariable | None:
        """Return the variable of a grid's array or map."""
        if name == grid.members[0].name:
            return self.tree.variables[grid.name]
        maps = ((self.tree.declared.slots[number], variable) for number, variable in self.tree.maps.items())
        return next((variable for slot, variable in maps if slot.grid is grid and slot.declared.name == name), None)

    def _add(
        self,
        attributes: dict[str, Attribute],
        entries: tuple[DasEntry, ...],
        prefix: str = "",
        variable: TreeVariable | None = None,
        *,
        shared: bool = False,
    ) -> None:
        """Add attributes, and those of containers with their names before theirs."""
        for entry in entries:
            name = prefix + entry.name
            if not entry.type:
                self._add(attributes, entry.entries, f"{name}.", variable, shared=shared)
                continue
            if not names.is_segment(name):
                self._report_lost(entry, f"attribute `{name[:80]}` is left out: it is not UTF-8, or has a slash")
                continue
            value = self._value(entry, variable.slot.type if variable is not None and name == FILL else None)
            if value is None:
                continue
            first = attributes.setdefault(name, Attribute(name=name, value=value, span=entry.span))
            if first.value != value and not shared:
                self._report_lost(entry, f"attribute `{name}` is left out: another one has the same name")

    def _report_lost(self, entry: DasEntry, text: str) -> None:
        self.report.warning("foreign-member", text, entry.span)

    def _value(self, entry: DasEntry, fill_type: str | None) -> Constant | None:
        """Return the value of an attribute; `fill_type`: the type of a fill value. Reports values that do not fit."""
        texts = [value.encode("utf-8", "surrogateescape") for value in entry.values]
        kind = ATOMIC_OF_DAP2.get(entry.type.lower())
        if fill_type is not None:
            value = self._fill(entry, texts, fill_type)
            if value is None:
                text = f"attribute `{entry.name}` is left out: it is not one value of type {fill_type}"
                self._report_lost(entry, text)
            return value
        if kind is None and entry.type.lower() != "alias":
            text = f"attribute `{entry.name}` is read as text: `{entry.type[:40]}` is not a type of DAP2"
            self._report_lost(entry, text)
        if kind in (None, "string"):
            return Constant.strings(texts) if len(texts) != 1 else Constant.text(texts[0])
        numbers = [parse_number(text, kind) for text in entry.values]
        if None in numbers:
            wrong = entry.values[numbers.index(None)]
            self._report_lost(entry, f"attribute `{entry.name}` is read as text: `{wrong[:40]}` is not a {entry.type}")
            return Constant.strings(texts) if len(texts) != 1 else Constant.text(texts[0])
        return Constant(type=kind, count=len(numbers), data=b"".join(packed or b"" for packed in numbers))

    def _fill(self, entry: DasEntry, texts: list[bytes], fill_type: str) -> Constant | None:
        """Return a fill value in the type of its variable, or None."""
        if fill_type == "string":
            return Constant.strings(texts) if len(texts) == 1 else None
        if fill_type not in ATOMIC or len(texts) != 1:
            return None
        packed = parse_number(entry.values[0], fill_type)
        return None if packed is None else Constant(type=fill_type, count=1, data=packed)


def parse_number(text: str, type_name: str) -> bytes | None:
    """Return the bytes of a number, little-endian; None for other text.

    A negative byte has the bits of an unsigned one. Integers may be hexadecimal,
    or have a point or a suffix.
    """
    text = text.strip()
    if ATOMIC[type_name].is_float:
        return number_bytes(text, type_name) or number_bytes(text.rstrip("fFdDlL"), type_name)
    hexadecimal, integer = _HEX.fullmatch(text), _INTEGER.fullmatch(text)
    if hexadecimal is not None:
        text = str(int(hexadecimal["sign"] + hexadecimal["digits"], 16))
    elif integer is not None:
        text = integer["digits"]
    if type_name == "ubyte" and number_bytes(text, "byte") is not None:
        return number_bytes(text, "byte")
    return number_bytes(text, type_name)


def _list_members(declared: Declaration, prefix: str) -> Iterator[tuple[str, Declaration]]:
    """Yield the members of a declaration at any depth, with their paths."""
    for member in declared.members:
        yield prefix + member.name, member
        yield from _list_members(member, f"{prefix}{member.name}.")


def restore_names(tree: Tree, unlimited: set[str]) -> set[str]:
    """Rename variables and dimensions; return the new names of unlimited dimensions.

    A name that another variable or dimension has changes nothing.
    """
    renamed: dict[str, str | None] = {}
    variables = set(tree.variables)
    for variable in tree.variables.values():
        flat = _flat_names(variable)
        if flat is None:
            continue
        del variable.attributes[NAMES]
        if flat[0] and flat[0] not in variables:
            variable.name = flat[0]
            variables.add(variable.name)
        for dimension, name in zip(variable.dimensions, flat[1:], strict=True):
            if isinstance(dimension, str):
                renamed.setdefault(names.split(dimension)[0], name)
    tree.variables = {variable.name: variable for variable in tree.variables.values()}
    _rename_dimensions(tree, renamed)
    return {renamed.get(name, name) or name for name in unlimited}


def container_name(entry: DasEntry) -> tuple[str, DasEntry]:
    """Return the name of a container of a group, and the container without the attribute that tells it."""
    text = next((inner.values for inner in entry.entries if inner.name == NAMES), ())
    flat = _flatten_path(text[0]) if len(text) == 1 else None
    if not flat:
        return entry.name, entry
    return flat, entry._replace(entries=tuple(inner for inner in entry.entries if inner.name != NAMES))


def _rename_dimensions(tree: Tree, renamed: dict[str, str | None]) -> None:
    """Rename dimensions; None: anonymous."""
    taken = set(tree.dimensions)
    for old, name in renamed.items():
        if name is not None and name != old:
            renamed[old] = old if name in taken else name
            taken.add(name)
    lengths = tree.dimensions
    for variable in tree.variables.values():
        variable.dimensions = tuple(
            dimension if isinstance(dimension, int) else _dimension(names.split(dimension)[0], renamed, lengths)
            for dimension in variable.dimensions
        )
    pairs = ((renamed.get(old, old), length) for old, length in lengths.items())
    tree.dimensions = {name: length for name, length in pairs if name is not None}


def _dimension(name: str, renamed: dict[str, str | None], lengths: dict[str, int]) -> str | int:
    """Return the FQN of a dimension after renaming, the length of an anonymous one."""
    new = renamed.get(name, name)
    return lengths[name] if new is None else names.join("/", new)


def _flat_names(variable: TreeVariable) -> list[str | None] | None:
    """Return the names of a variable and its dimensions, None for anonymous ones; None without a valid attribute."""
    attribute = variable.attributes.get(NAMES)
    if attribute is None:
        return None
    texts = read_texts(attribute)
    if len(texts) != 1 + len(variable.dimensions):
        return None
    flat_names = [_flatten_path(text) for text in texts]
    return None if None in flat_names else [name or None for name in flat_names]


def _flatten_path(fqn: str) -> str | None:
    """Return the name without groups of a FQN, an empty one for an empty text; None for other texts."""
    if not fqn:
        return ""
    try:
        name = names.normal("%2f".join(names.split(fqn)))
    except ValueError:
        return None
    return name if names.is_segment(name) else None
