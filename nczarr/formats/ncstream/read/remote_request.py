"""Requests to a CDM Remote server, and decoding of the answers.

Invariant: an answer holds the requested cells, or raises OSError.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from nczarr import names
from nczarr.arrays.lazy_numpy import NDArray
from nczarr.arrays.sources.requested_regions import TEXT
from nczarr.arrays.values.parts import Types
from nczarr.ast.node import TypeName
from nczarr.ast.types import ATOMIC
from nczarr.formats.ncstream._generated import ncstream_pb2 as pb
from nczarr.formats.ncstream.read.lazy_local import MessageCells, VariableMessages
from nczarr.formats.ncstream.read.scan import entries, said
from nczarr.formats.ncstream.wire.decode import column_tree
from nczarr.formats.ncstream.wire.definitions import Definitions
from nczarr.formats.ncstream.wire.element_types import full_bytes
from nczarr.formats.ncstream.wire.framing import Incoming
from nczarr.formats.ncstream.wire.limits import DEFAULT
from nczarr.formats.ncstream.wire.trees import Tree
from nczarr.select.section_syntax import written
from nczarr.stores.cdm_remote import Service
from nczarr.stores.web_service import MOST_BYTES

LONGEST_HEAD = 2 << 20
"""Maximum bytes of an answer apart from its numbers."""

Region = tuple[range, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CdmVariable:
    """Picklable description of a variable on a server, for requests and decoding."""

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
    behind: int
    """Number of dimensions of its section beyond `shape`: ragged ones and later ones."""
    declared: bytes
    """Serialized header that declares only this variable."""

    def values(self, region: Region, *, keep: bool = False) -> dict[str, NDArray[Any]]:
        """Return the values of a region by part, in the parts' shapes and dtypes. Raises OSError.

        `keep`: cache the answer.
        """
        messages = VariableMessages(self.type, self.shape, self.types, None, ())
        try:
            return messages.decoded(MessageCells(region, _Message(self, region, keep)))
        except ValueError as fault:
            text = f"the answer to `{self.section(region)}` cannot be used: {fault}"
            raise OSError(None, text, self.service.shown) from None

    def section(self, region: Region) -> str:
        """Return the section expression of a region in server syntax."""
        path = names.split(self.path)
        return written(path, [*region, *[None] * self.behind] if self.shape else None)

    def tree(self, region: Region, *, keep: bool = False) -> Tree:
        """Return the decoded answer for a region. Raises OSError, ValueError."""
        ask = self.service.recall if keep else self.service.ask
        count = math.prod(map(len, region))
        most = MOST_BYTES
        if self.type in ATOMIC and self.type != "string":  # others may come whole, or are of any length
            most = 2 * count * ATOMIC[self.type].size + LONGEST_HEAD
        data = ask("data", variable=self.section(region), size=count * TEXT, most=most)
        full_name = full_bytes(self.path)
        for entry in entries(Incoming(data, DEFAULT), values=True):
            if entry.kind == "error":
                raise OSError(None, f"the server reports: {said(entry)}", self.service.shown)
            if entry.kind not in ("data", "column"):
                continue
            answer = column_tree(entry, data, Definitions(pb.Header.FromString(self.declared)))
            name = entry.message.name if entry.kind == "column" else entry.message.varName
            if name.removeprefix(b"/") not in (full_name, full_name.rsplit(b"/", 1)[-1]):
                raise ValueError(f"it is of `{name.decode('utf-8', 'replace')}`")
            section = answer.section
            if self.shape and section is not None and section[: len(region)] != region and section != ():
                raise ValueError("its section is different")
            return answer.tree
        raise ValueError("it has no data")


@dataclass(frozen=True, slots=True)
class _Message:
    """The message that answers a request."""

    variable: CdmVariable
    """The requested variable."""
    region: Region
    """The requested region."""
    keep: bool
    """True if the answer is kept."""

    def tree(self) -> Tree:
        """Return the decoded values. Raises OSError, ValueError."""
        return self.variable.tree(self.region, keep=self.keep)
