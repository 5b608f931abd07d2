"""Datasets on DAP4 servers: a DMR for the tree, then sections on demand.

Each request asks for one variable, with its checksum. The answer has a DMR of
its own: one that does not declare exactly what was requested is an error.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.regions import Region
from nczarr.arrays.sources.decoded_parts import sources
from nczarr.arrays.sources.requested_regions import TEXT, Blocks, Regions
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast.node import TypeName
from nczarr.ast.walk import building
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.opendap.common.columns import BrokenValuesError, check_size
from nczarr.formats.opendap.common.declarations import FaultError
from nczarr.formats.opendap.common.document_reader import DescribedVariable
from nczarr.formats.opendap.common.document_text import dap4_name
from nczarr.formats.opendap.common.type_words import VARIABLES
from nczarr.formats.opendap.common.xml_reader import XmlElement
from nczarr.formats.opendap.dap4.read.document import DmrReader, parsed
from nczarr.formats.opendap.dap4.read.values import values_of
from nczarr.formats.opendap.dap4.wire.chunks import response
from nczarr.options import Options
from nczarr.stores.opendap import Served, Service, encoded
from nczarr.stores.web_service import MOST_BYTES, message

LONGEST_HEAD = 16 << 20
"""Maximum bytes of an answer apart from its numbers: its DMR may declare all dimensions, and all attributes."""


@dataclass(frozen=True, slots=True, eq=False)
class Dap4Variable:
    """Picklable description of a variable on a server."""

    service: Service
    """The server's dataset."""
    path: str
    """FQN of the variable."""
    type: TypeName
    """Type of the values."""
    shape: tuple[int, ...]
    """Shape of the variable."""
    types: Types
    """Declared types by FQN."""
    outline: Any
    """Tags, names and lengths of the variable's declaration, without its own dimensions."""

    def values(self, region: Region, *, keep: bool = False) -> dict[str, NDArray[Any]]:
        """Return the values of a region by part, in the parts' shapes and dtypes. Raises OSError."""
        slices = "".join(f"[{indices[0]}:{indices.step}:{indices[-1]}]" for indices in region)
        expression = dap4_name(self.path) + slices
        count = math.prod(map(len, region))
        most = MOST_BYTES
        if is_fixed(self.type, self.types):
            most = 2 * count * (8 + size(self.type, self.types)) + LONGEST_HEAD
        query = f".dap?dap4.ce={encoded(expression)}&dap4.checksum=true"
        data = self.service.answer(query, most=most, size=count * TEXT, keep=keep)
        try:
            return self._decoded(data, tuple(map(len, region)))
        except (BrokenValuesError, FaultError) as fault:
            text = f"the answer to `{expression}` cannot be used: {fault}"
            raise OSError(None, text, self.service.shown) from None

    def _decoded(self, data: bytes, shape: tuple[int, ...]) -> dict[str, NDArray[Any]]:
        """Return the values of an answer. Raises BrokenValuesError, FaultError."""
        answer = response(data)
        if answer.failed:
            words = message(answer.dmr.decode("utf-8", "replace"))
            raise BrokenValuesError(f"the server reports an error: {words[:300]}", 0)
        report = Report()
        source = Source("answer", answer.dmr)
        root = parsed(source, report)
        document = DmrReader(source, report, Options())
        if root is not None:
            document.read(root)
        if root is None or report.errors:
            raise BrokenValuesError(f"its document is invalid: {report.sorted()[0].message}", 0)
        if [variable.path for variable in document.described] != [self.path]:
            raise BrokenValuesError("it has other variables", 0)
        (described,) = document.described
        if described.shape != shape or outline(described.element) != self.outline:
            raise BrokenValuesError("its variable has another shape or type", 0)
        described = described._replace(type=self.type, types=self.types)
        parts = values_of(answer, root, [described], Source("answer", data, binary=True))[self.path]
        return {part: array.read(tuple(map(slice, array.layout.shape))) for part, array in parts.items()}


def outline(element: XmlElement) -> Any:
    """Return tags, names and lengths of a declaration, without the dimensions of the variable itself."""
    members = []
    for child in element.children:
        if child.tag in VARIABLES:
            lengths = len(child.all("Dim"))
            members.append((lengths, outline(child)))
    return element.tag, element.attributes.get("name"), element.attributes.get("enum"), tuple(members)


def read(source: Source, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a `Served` source. Raises OSError."""
    assert isinstance(source, Served)
    with building():
        root = parsed(source, report)
        if root is None:
            return None
        document = DmrReader(source, report, options)
        unchecked = document.read(root)
        for variable in document.described:
            unchecked.parts[variable.path] = sources(_sections(source.service, variable, document), {})
    return unchecked


def _sections(service: Service, it: DescribedVariable, document: DmrReader) -> Regions | Blocks:
    """Return the sections of a variable."""
    try:
        check_size(it.type, it.types)
    except ValueError as fault:
        document.omitted(it.element, f"variable `{it.path}` cannot be read: {fault}")
    variable = Dap4Variable(service, it.path, it.type, it.shape, it.types, outline(it.element))
    if it.type == "string" or is_fixed(it.type, it.types):
        return Regions(variable, it.type, it.shape, it.types)
    return Blocks(variable)
