"""`read`: a data response of DAP4 or a dataset on a server → dataset.

Of a server, a DMR makes the tree, and each request asks for a section of one variable, with its checksum. The answer
has a DMR of its own: one that does not declare exactly what was requested is an error.
"""

from __future__ import annotations

import math
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Region
from nczarr.arrays.sources.source import Parts
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import Attribute, Constant, EnumType, Storage
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.diagnostics.report import Report, Source, Span
from nczarr.names.records import frozen
from nczarr.options import Options, RunOptions
from nczarr.plugins.common.dataset_service import Served, encode, message
from nczarr.plugins.common.remote_variable import RemoteVariable
from nczarr.plugins.common.xml_reader import XmlElement, parse
from nczarr.plugins.opendap.common.columns import BrokenValuesError, all_values, check_size
from nczarr.plugins.opendap.common.declarations import DmrScope, FaultError
from nczarr.plugins.opendap.common.document_reader import DescribedVariable, DocumentReader
from nczarr.plugins.opendap.common.words import PREFIXES, VARIABLES, dap4_name
from nczarr.plugins.opendap.dap4.response import CHECKSUM, response, values_of
from nczarr.semantics.checked import Unchecked

TRANSPORT = frozenset({CHECKSUM, "_DAP4_Little_Endian", "_dap4.ce", "_NCProperties"})
"""Attributes of the response and the library that made it, which are not part of the dataset."""

CHUNKS = "_ChunkSizes"
"""Attribute in which servers store chunk lengths."""

MAPS = "_edu.ucar.maps"
"""Attribute with the maps of a variable, as netCDF's client makes it."""


class DmrReader(DocumentReader):
    """Reader of one DMR. `described`: the variables that were read."""

    lists = True

    def __init__(self, source: Source, report: Report, run: RunOptions) -> None:
        super().__init__(source, report, run)
        self.described: list[DescribedVariable] = []
        self._chunks: tuple[int, ...] | None = None
        """Chunk lengths in the attributes that were read last."""

    def values(self, described: DescribedVariable) -> tuple[Parts, Storage]:
        """Note the variable: its values come later."""
        self.described.append(described)
        return {}, Storage() if self._chunks is None else described.chunk_storage(self._chunks)

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
        maps, dims = ([child.attributes.get("name", "") for child in element.all(tag)] for tag in ("Map", "Dim"))
        if not {path.rpartition("/")[2] for path in maps} <= {path.rpartition("/")[2] for path in dims}:
            value = Constant.strings(path.encode() for path in maps)
            attributes.append(Attribute(name=MAPS, value=value, span=self.span(element)))
        return tuple(attributes)


def _chunks(element: XmlElement, attributes: list[Attribute]) -> tuple[int, ...] | None:
    """Return the chunk lengths in an attribute, if they are positive and as many as the dimensions."""
    chunks = next((attribute.value for attribute in attributes if attribute.name == CHUNKS), None)
    if chunks is None or chunks.type not in ("int", "uint", "int64", "uint64"):
        return None
    lengths = tuple(int(length) for length in chunks.as_numbers())
    fits = 0 < len(lengths) == len(element.all("Dim")) and all(length > 0 for length in lengths)
    return lengths if fits else None


def parse_document(source: Source, report: Report) -> XmlElement | None:
    """Return the root of a DMR; None after an error. Reports `bad-dap4`."""
    root = parse(source, report, "bad-dap4", PREFIXES)
    if root is not None and root.tag != "Dataset":
        message = root.first("Message")
        words = " ".join((message.text if message is not None else root.text).split()) or "no message"
        text = f"the root is a `{root.tag}`, not a `Dataset`" if root.tag != "Error" else _report(words)
        report.error("bad-dap4", f"`{source.name}`: {text}", Span(source, root.offset, root.offset))
        return None
    return root


def _report(words: str) -> str:
    return f"the server reports an error: {words}"


def read(source: Source, report: Report, options: Options | None = None) -> Unchecked | None:
    """Return the dataset of a data response; None after an error.

    Reports `bad-dap4` and `foreign-member`. Raises OSError.
    """
    if isinstance(source, Served):
        return _read_served(source, report, (options or Options()).run)
    binary = Source(source.name, source.data, binary=True, path=source.path)
    try:
        answer = response(source.data)
    except BrokenValuesError as fault:
        report.error("bad-dap4", str(fault), Span(binary, fault.at, fault.at))
        return None
    if answer.failed and not answer.dmr.lstrip().startswith(b"<"):
        words = " ".join(answer.dmr.decode("utf-8", "replace").split())
        report.error("bad-dap4", _report(words[:300]), Span(binary, 0, 0))
        return None
    with building():
        root = parse_document(Source(source.name, answer.dmr, path=source.path), report)
        if root is None:
            return None
        document = DmrReader(Source(source.name, answer.dmr), report, (options or Options()).run)
        before = report.errors
        unchecked = document.read(root)
        if report.errors > before:
            return None
        try:
            unchecked.parts = values_of(answer, root, document.described, binary)
        except BrokenValuesError as fault:
            at = answer.place(fault.at)
            report.error("bad-dap4", str(fault), Span(binary, at, at))
            return None
        except FaultError as fault:
            report.error("bad-dap4", str(fault), Span(binary, answer.dmr_at, answer.dmr_at))
            return None
    return unchecked


@frozen
class Dap4Codec:
    """A variable in DAP4."""

    path: str
    """FQN of the variable."""
    type: TypeName
    """Type of the values."""
    shape: tuple[int, ...]
    types: Types
    """Declared types by FQN."""
    outline: Any
    """Tags, names and lengths of the variable's declaration, without its own dimensions."""

    def most(self, region: Region) -> int | None:
        """Return twice the bytes of values of fixed size with their lengths."""
        if not is_fixed(self.type, self.types):
            return None
        return 2 * math.prod(map(len, region)) * (8 + size(self.type, self.types))

    def expression(self, region: Region) -> str:
        slices = (f"[{indices[0]}:{indices.step}:{indices[-1]}]" for indices in region)
        return dap4_name(self.path) + "".join(slices)

    def query(self, expression: str) -> str:
        return f".dap?dap4.ce={encode(expression)}&dap4.checksum=true"

    def decode(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        """Return the values of a region from a response; raise BrokenValuesError if it holds another variable."""
        answer = response(data)
        if answer.failed:
            words = message(answer.dmr.decode("utf-8", "replace"))
            raise BrokenValuesError(_report(words[:300]), 0)
        report = Report()
        source = Source("answer", answer.dmr)
        root = parse_document(source, report)
        document = DmrReader(source, report, RunOptions())
        if root is not None:
            document.read(root)
        if root is None or report.errors:
            raise BrokenValuesError(f"its document is invalid: {report.list_sorted()[0].message}", 0)
        if [variable.path for variable in document.described] != [self.path]:
            raise BrokenValuesError("it has other variables", 0)
        (described,) = document.described
        if described.shape != tuple(map(len, region)) or outline(described.element) != self.outline:
            raise BrokenValuesError("its variable has another shape or type", 0)
        described = described._replace(type=self.type, types=self.types)
        return all_values(values_of(answer, root, [described], Source("answer", data, binary=True))[self.path])


def outline(element: XmlElement) -> Any:
    """Return tags, names and lengths of a declaration, without the dimensions of the variable itself."""
    members = ((len(child.all("Dim")), outline(child)) for child in element.children if child.tag in VARIABLES)
    return element.tag, element.attributes.get("name"), element.attributes.get("enum"), tuple(members)


def _read_served(source: Served, report: Report, run: RunOptions) -> Unchecked | None:
    """Read the dataset of a server. Raises OSError."""
    with building():
        root = parse_document(source, report)
        if root is None:
            return None
        document = DmrReader(source, report, run)
        unchecked = document.read(root)
        for variable in document.described:
            try:
                check_size(variable.type, variable.types)
            except ValueError as fault:
                document.report_omitted(variable.element, f"variable `{variable.path}` cannot be read: {fault}")
            codec = Dap4Codec(variable.path, variable.type, variable.shape, variable.types, outline(variable.element))
            unchecked.parts[variable.path] = RemoteVariable(source.service, codec).parts()
    return unchecked
