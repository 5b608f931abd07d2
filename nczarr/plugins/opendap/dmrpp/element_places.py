"""Places of the elements of an XML document, by which a text is changed without writing the rest again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.parsers import expat

_START_TAG = re.compile(rb"<[^>\"']*+(?:\"[^\"]*+\"[^>\"']*+|'[^']*+'[^>\"']*)*>")


class ElementPlace:
    """An element with the bytes that it takes. Names are as the document spells them."""

    __slots__ = ("attributes", "children", "end", "inner_end", "inner_start", "start", "tag")

    def __init__(self, tag: str, attributes: dict[str, str], start: int, inner_start: int) -> None:
        self.tag, self.attributes, self.start, self.inner_start = tag, attributes, start, inner_start
        self.inner_end = self.end = inner_start
        self.children: list[ElementPlace] = []

    def walk(self) -> Iterator[ElementPlace]:
        """Yield the element and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()


def locate_elements(data: bytes) -> ElementPlace | None:
    """Return the root element of a well-formed document; None in an encoding beyond ASCII's relatives."""
    stack: list[ElementPlace] = []
    roots: list[ElementPlace] = []
    encodings: list[str | None] = []
    parser = expat.ParserCreate()

    def start(tag: str, attributes: dict[str, str]) -> None:
        """Append an element, with the place of its start tag, to the children of the open one."""
        at = parser.CurrentByteIndex
        match = _START_TAG.match(data, at)
        assert match is not None
        element = ElementPlace(tag, attributes, at, match.end())
        (stack[-1].children if stack else roots).append(element)
        stack.append(element)

    def end(tag: str) -> None:
        element = stack.pop()
        at = parser.CurrentByteIndex
        if data[at : at + 2] == b"</":  # an empty element ends with its start tag
            element.inner_end, element.end = at, data.index(b">", at) + 1

    parser.StartElementHandler, parser.EndElementHandler = start, end
    parser.XmlDeclHandler = lambda version, encoding, standalone: encodings.append(encoding)
    parser.Parse(data, True)
    is_known = all(encoding is None or encoding.lower() in _ENCODINGS for encoding in encodings)
    return roots[0] if is_known else None


_ENCODINGS = ("utf-8", "us-ascii", "iso-8859-1")
"""Encodings in which ASCII text has its own bytes."""


def encode_text(text: str) -> bytes:
    """Return a part of a document in any of these encodings: other characters are references."""
    return text.encode("ascii", "xmlcharrefreplace")


def rename_in_tag(data: bytes, element: ElementPlace, name: str, value: str) -> tuple[int, int, bytes]:
    """Return the change of an attribute in a start tag: first byte, byte after the last, new bytes."""
    text = data[element.start : element.inner_start]
    match = re.search(rb"(?<=\s)" + re.escape(name.encode()) + rb"\s*=\s*(\"[^\"]*\"|'[^']*')", text)
    assert match is not None
    start, end = match.span(1)
    return element.start + start, element.start + end, encode_text(f'"{value}"')
