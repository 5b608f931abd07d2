"""XML parser for untrusted documents: elements with offsets, without DOCTYPE and entities, within limits.

Chunks are most of a DMR++ document: they are stored as columns of numbers, not
as elements.
"""

from __future__ import annotations

import re
from array import array
from collections.abc import Mapping
from typing import Any
from xml.parsers import expat

from nczarr.diagnostics.report import Report, Source, Span

DEEPEST = 100
"""Maximum nesting of elements; groups nest up to 64 deep."""

MOST_ELEMENTS = 1 << 24
LONGEST = 1 << 30
"""Maximum size of a document, in bytes."""

_PIECE = 1 << 20
_NUMBER = re.compile(r"\s*([0-9]{1,18})\s*", re.ASCII)
_POSITION = re.compile(r"\s*\[\s*([0-9]{1,18}(?:\s*,\s*[0-9]{1,18})*)\s*\]\s*", re.ASCII)
_KNOWN = {"offset", "nBytes", "chunkPositionInArray", "href", "fm", "trust", "dmrpp:trust"}


class ChunkColumns:
    """Chunks of one variable as columns; `positions` has one number for each dimension."""

    __slots__ = ("fault", "hrefs", "lengths", "masks", "offsets", "positions", "rank")

    def __init__(self) -> None:
        self.offsets, self.lengths, self.positions = array("q"), array("q"), array("q")
        self.rank: int | None = None
        """Length of a position; None before the first chunk, 0 without positions."""
        self.hrefs: dict[int, str] = {}
        self.masks: dict[int, int] = {}
        """Bit masks of skipped filters by row."""
        self.fault: str | None = None
        """Fault of the first invalid chunk."""

    def __len__(self) -> int:
        return len(self.offsets)

    def add(self, attributes: dict[str, str]) -> None:
        """Add a chunk, or record its fault."""
        if self.fault is None:
            self.fault = self._add(attributes)

    def _add(self, attributes: dict[str, str]) -> str | None:
        """Append a chunk from the attributes of its element; return the fault of invalid ones, else None."""
        unknown = attributes.keys() - _KNOWN
        if unknown:
            return f"a chunk has the attribute `{min(unknown)}`, which is unknown"
        numbers = []
        for name in ("offset", "nBytes"):
            match = _NUMBER.fullmatch(attributes.get(name, ""))
            if match is None:
                return f"a chunk does not have a number of bytes as `{name}`"
            numbers.append(int(match[1]))
        position: list[int] = []
        if "chunkPositionInArray" in attributes:
            match = _POSITION.fullmatch(attributes["chunkPositionInArray"])
            if match is None:
                return f"`{attributes['chunkPositionInArray'][:40]}` is not the position of a chunk"
            position = [int(word) for word in match[1].split(",")]
        if self.rank not in (None, len(position)):
            return "positions of its chunks have different numbers of indices"
        if "fm" in attributes:
            match = _NUMBER.fullmatch(attributes["fm"])
            if match is None or int(match[1]) >= 1 << 32:
                return f"`{attributes['fm'][:40]}` is not a filter mask"
            if int(match[1]):
                self.masks[len(self)] = int(match[1])
        if attributes.get("href"):
            self.hrefs[len(self)] = attributes["href"]
        self.rank = len(position)
        self.offsets.append(numbers[0])
        self.lengths.append(numbers[1])
        self.positions.extend(position)
        return None


class XmlElement:
    """An element. Known namespaces are prefixes, others are in braces."""

    __slots__ = ("attributes", "children", "chunks", "offset", "tag", "text")

    def __init__(self, tag: str, attributes: dict[str, str], offset: int) -> None:
        self.tag, self.attributes, self.offset = tag, attributes, offset
        self.children: list[XmlElement] = []
        self.text = ""
        self.chunks = ChunkColumns()

    def all(self, tag: str) -> list[XmlElement]:
        """Return the children with this name."""
        return [child for child in self.children if child.tag == tag]

    def first(self, tag: str) -> XmlElement | None:
        """Return the first child with this name, or None."""
        return next((child for child in self.children if child.tag == tag), None)


class _ForbiddenXmlError(Exception):
    """Forbidden content of a document."""


def parse(source: Source, report: Report, code: str, prefixes: Mapping[str, str]) -> XmlElement | None:
    """Return the root element of a document; None after an error, reported with a code.

    `prefixes`: those of known namespaces, with their colon.
    """
    data = source.data
    if len(data) > LONGEST:
        _bad(source, report, code, 0, f"the document has {len(data)} bytes; the limit is {LONGEST}")
        return None
    builder = _XmlBuilder(prefixes)
    parser = builder.parser
    try:
        for start in range(0, len(data), _PIECE):
            parser.Parse(bytes(data[start : start + _PIECE]), False)
        parser.Parse(b"", True)
    except expat.ExpatError as error:
        text = expat.ErrorString(error.code) if error.code else str(error)
        _bad(source, report, code, max(0, parser.ErrorByteIndex), f"the document is not well-formed XML: {text}")
        return None
    except _ForbiddenXmlError as error:
        _bad(source, report, code, max(0, parser.CurrentByteIndex), str(error))
        return None
    except (LookupError, ValueError) as error:  # encodings that expat asks Python for
        _bad(source, report, code, 0, f"the encoding of the document is unknown: {error}")
        return None
    return builder.root


def _bad(source: Source, report: Report, code: str, offset: int, text: str) -> None:
    at = min(offset, len(source.data))
    report.error(code, f"`{source.name}`: {text}", Span(source, at, at))


class _XmlBuilder:
    """Builder of elements from expat events."""

    def __init__(self, prefixes: Mapping[str, str]) -> None:
        self.root: XmlElement | None = None
        self._prefixes = prefixes
        self._stack: list[XmlElement] = []
        self._texts: list[list[str]] = []
        self._count = 0
        self._in_chunk = 0
        self._names: dict[str, str] = {}
        self.parser = parser = expat.ParserCreate(namespace_separator=" ")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text
        parser.StartDoctypeDeclHandler = self._doctype

    def _doctype(self, *_: Any) -> None:
        raise _ForbiddenXmlError("the document has a document type (DOCTYPE), which is never read")

    def _name(self, name: str) -> str:
        """Return the name of an element or attribute with the known prefix of its namespace, as "dmrpp:chunk"."""
        short_name = self._names.get(name)
        if short_name is None:
            space, blank, local = name.rpartition(" ")
            prefix = self._prefixes.get(space, f"{{{space}}}") if blank else ""
            short_name = prefix + local
            if len(self._names) < 1 << 12:
                self._names[name] = short_name
        return short_name

    def _start(self, name: str, written: dict[str, str]) -> None:
        self._count += 1
        if self._count > MOST_ELEMENTS:
            raise _ForbiddenXmlError(f"the document has more than {MOST_ELEMENTS} elements")
        if len(self._stack) + self._in_chunk >= DEEPEST:
            raise _ForbiddenXmlError(f"elements are nested more than {DEEPEST} deep")
        tag = self._name(name)
        attributes = {self._name(key): value for key, value in written.items()}
        if self._in_chunk or (tag == "dmrpp:chunk" and self._stack and self._stack[-1].tag == "dmrpp:chunks"):
            if self._in_chunk:
                raise _ForbiddenXmlError("a chunk has child elements")
            self._in_chunk = 1
            self._stack[-1].chunks.add(attributes)
            return
        element = XmlElement(tag, attributes, self.parser.CurrentByteIndex)
        if self._stack:
            self._stack[-1].children.append(element)
        else:
            self.root = element
        self._stack.append(element)
        self._texts.append([])

    def _end(self, _: str) -> None:
        if self._in_chunk:
            self._in_chunk = 0
            return
        self._stack.pop().text = "".join(self._texts.pop())

    def _text(self, text: str) -> None:
        if not self._in_chunk:
            self._texts[-1].append(text)
