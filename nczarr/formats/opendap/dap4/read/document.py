"""Reader of a DMR: the tree, and its variables in the order of their values."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types
from nczarr.ast import Attribute, Constant, EnumType, Storage
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source, Span
from nczarr.formats.opendap.common.declarations import DmrScope, FaultError
from nczarr.formats.opendap.common.document_reader import DescribedVariable, DocumentReader
from nczarr.formats.opendap.common.type_words import VARIABLES
from nczarr.formats.opendap.common.xml_reader import XmlElement, parse

CHECKSUM = "_DAP4_Checksum_CRC32"
"""Attribute with the checksum of a variable."""

TRANSPORT = frozenset({CHECKSUM, "_DAP4_Little_Endian", "_dap4.ce", "_NCProperties"})
"""Attributes of the response and the library that made it, which are not part of the dataset."""

CHUNKS = "_ChunkSizes"
"""Attribute in which servers store chunk lengths."""

MAPS = "_edu.ucar.maps"
"""Attribute with the maps of a variable, as netCDF's client makes it."""


class DmrReader(DocumentReader):
    """Reader of one DMR. `described`: the variables that were read."""

    described: list[DescribedVariable]
    _chunks: tuple[int, ...] | None
    """Chunk lengths in the attributes that were read last."""

    def values(self, described: DescribedVariable) -> tuple[Parts, Storage]:
        """Note the variable: its values come later."""
        self.described.append(described)
        return {}, Storage() if self._chunks is None else described.chunked(self._chunks)

    def scope(self) -> DmrScope:
        """Return the scope of the root group, in which sequences are lists."""
        self.described = []
        return DmrScope("_", "/", lists=True)

    def fill_value(self, value: Constant, type_name: str, types: Types) -> Constant:
        """Return a fill value as the type requires: names of enums are constants."""
        declared = types.get(type_name)
        if isinstance(declared, EnumType):
            numbers = {constant.value for constant in declared.constants if constant.name.encode() == value.data}
            if value.type == "char" and len(numbers) == 1:
                return Constant(type=type_name, count=1, data=Constant.numbers(declared.base, numbers).data)
            if value.type == declared.base:
                return Constant(type=type_name, count=value.count, data=value.data)
        return super().fill_value(value, type_name, types)

    def attributes(self, element: XmlElement, scope: DmrScope) -> tuple[Attribute, ...]:
        """Return the attributes of a group or variable, without those of the response."""
        attributes = [attribute for attribute in super().attributes(element, scope) if attribute.name not in TRANSPORT]
        self._chunks = _chunks(element, attributes)
        if self._chunks is not None:
            attributes = [attribute for attribute in attributes if attribute.name != CHUNKS]
        maps = [map_element.attributes.get("name", "") for map_element in element.all("Map")]
        if any(path.rpartition("/")[2] not in _dimensions(element) for path in maps):
            value = Constant.strings(path.encode() for path in maps)
            attributes.append(Attribute(name=MAPS, value=value, span=self.span(element)))
        return tuple(attributes)


def _dimensions(element: XmlElement) -> set[str]:
    """Return the simple names of a variable's dimensions."""
    return {dimension.attributes.get("name", "").rpartition("/")[2] for dimension in element.all("Dim")}


def _chunks(element: XmlElement, attributes: list[Attribute]) -> tuple[int, ...] | None:
    """Return the chunk lengths in an attribute, if they are positive and as many as the dimensions."""
    chunks = next((attribute.value for attribute in attributes if attribute.name == CHUNKS), None)
    if chunks is None or chunks.type not in ("int", "uint", "int64", "uint64"):
        return None
    lengths = tuple(int(length) for length in chunks.as_numbers())
    fits = 0 < len(lengths) == len(element.all("Dim")) and all(length > 0 for length in lengths)
    return lengths if fits else None


def parsed(source: Source, report: Report) -> XmlElement | None:
    """Return the root of a DMR; None after an error. Reports `bad-dap4`."""
    root = parse(source, report, "bad-dap4")
    if root is not None and root.tag != "Dataset":
        message = root.first("Message")
        words = " ".join((message.text if message is not None else root.text).split()) or "no message"
        text = (
            f"the server reports an error: {words}"
            if root.tag == "Error"
            else f"the root is a `{root.tag}`, not a `Dataset`"
        )
        report.error("bad-dap4", f"`{source.name}`: {text}", Span(source, root.offset, root.offset))
        return None
    return root


def before_version_2(root: XmlElement) -> bool:
    """Return whether values of groups come before those of their parents.

    Hyrax did so against the specification, and counted the version of its
    documents up when it stopped. The libraries of Unidata, which always follow
    the specification, have version 1.0 and mark their documents.
    """
    marked = any(attribute.attributes.get("name") == "_DAP4_Little_Endian" for attribute in root.all("Attribute"))
    return root.attributes.get("dmrVersion") == "1.0" and not marked


def in_order(element: XmlElement, *, groups_first: bool) -> Iterator[XmlElement]:
    """Yield the elements of variables in the order of their values."""
    groups = element.all("Group")
    if groups_first:
        for group in groups:
            yield from in_order(group, groups_first=True)
    for child in element.children:
        if child.tag in VARIABLES:
            yield child
        elif child.tag == "Group" and not groups_first:
            yield from in_order(child, groups_first=False)


def checksum_of(element: XmlElement) -> int | None:
    """Return the checksum in a variable's attributes; None without one. Raises FaultError."""
    for attribute in element.all("Attribute"):
        if attribute.attributes.get("name") == CHECKSUM:
            value = attribute.first("Value")
            text = "" if value is None else value.attributes.get("value", value.text).strip()
            try:
                return int(text, 0) & 0xFFFFFFFF
            except ValueError:
                raise FaultError(f"`{text[:40]}` is not a checksum") from None
    return None
