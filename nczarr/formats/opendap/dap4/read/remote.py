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
from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast.dataset import building
from nczarr.ast.node import TypeName
from nczarr.check.checked import Unchecked
from nczarr.diagnostics.report import Report
from nczarr.diagnostics.source import Source
from nczarr.formats.common.remote_variable import RemoteVariable
from nczarr.formats.opendap.common.columns import BrokenValuesError, check_size
from nczarr.formats.opendap.common.document_text import dap4_name
from nczarr.formats.opendap.common.type_words import VARIABLES
from nczarr.formats.opendap.common.xml_reader import XmlElement
from nczarr.formats.opendap.dap4.chunks import response
from nczarr.formats.opendap.dap4.read.document import DmrReader, parsed
from nczarr.formats.opendap.dap4.read.values import values_of
from nczarr.options import Options
from nczarr.stores.dataset_service import Served, encoded, message


@dataclass(frozen=True, slots=True, eq=False)
class Dap4Codec:
    """A variable in DAP4."""

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

    def most(self, region: Region) -> int | None:
        """Return twice the bytes of values of fixed size with their lengths."""
        if not is_fixed(self.type, self.types):
            return None
        return 2 * math.prod(map(len, region)) * (8 + size(self.type, self.types))

    def expression(self, region: Region) -> str:
        """Return the variable with its slices."""
        slices = (f"[{indices[0]}:{indices.step}:{indices[-1]}]" for indices in region)
        return dap4_name(self.path) + "".join(slices)

    def query(self, expression: str) -> str:
        """Return the query for a variable."""
        return f".dap?dap4.ce={encoded(expression)}&dap4.checksum=true"

    def decoded(self, data: bytes, region: Region) -> dict[str, NDArray[Any]]:
        """Return the values of an answer."""
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
        if described.shape != tuple(map(len, region)) or outline(described.element) != self.outline:
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


def read(source: Served, report: Report, options: Options) -> Unchecked | None:
    """Read the dataset of a server. Raises OSError."""
    with building():
        root = parsed(source, report)
        if root is None:
            return None
        document = DmrReader(source, report, options)
        unchecked = document.read(root)
        for it in document.described:
            try:
                check_size(it.type, it.types)
            except ValueError as fault:
                document.omitted(it.element, f"variable `{it.path}` cannot be read: {fault}")
            codec = Dap4Codec(it.path, it.type, it.shape, it.types, outline(it.element))
            unchecked.parts[it.path] = RemoteVariable(source.service, codec).parts()
    return unchecked
