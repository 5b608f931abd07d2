"""Comments of a text, and the declarations that they stand with."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import NamedTuple

from nczarr.ast import walk
from nczarr.plugins.languages.language import Lexeme, find_language
from nczarr.sdk import (
    Checked,
    CompoundType,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    Node,
    OpaqueType,
    Source,
    Span,
    VlenType,
    detect_format,
)


def key_of(path: str, node: Node) -> str:
    """Return the key of the rules of a node: a dimension, a type and a variable may have one path."""
    if isinstance(node, Dimension):
        return f"dimension {path}"
    return f"type {path}" if isinstance(node, EnumType | CompoundType | OpaqueType | VlenType) else path


class Comment(NamedTuple):
    """A comment, and the nodes that it stands with."""

    text: str
    """The comment with its slashes."""
    span: Span
    nodes: tuple[tuple[str, Node], ...]
    """Paths and nodes."""


def list_comments(schema: Checked) -> Iterator[Comment]:
    """Yield the comments `//` of the text of a schema; nothing of other sources."""
    source = schema.dataset.span.source
    if source is None or source.binary or source.key is not None or b"//" not in bytes(source.data):
        return
    places = NodePlaces(schema, source)
    for one in places.comments:
        text = source.text(one.start, one.end)
        if text.startswith("//"):
            yield Comment(text, Span(source, one.start, one.end), tuple(places.find(one)))


class NodePlaces:
    """Nodes of a text by place."""

    def __init__(self, schema: Checked, source: Source) -> None:
        form = detect_format(source)
        language = None if form is None else find_language(form.name)
        lexemes = [] if language is None else language.split(bytes(source.data))
        self._source = source
        self.comments = [lexeme for lexeme in lexemes if lexeme.kind == "comment"]
        """Comments in order."""
        self._lexemes = [lexeme for lexeme in lexemes if lexeme.kind != "comment"]
        self._starts = [lexeme.start for lexeme in self._lexemes]
        inner = EnumConstant | Field
        found = [(path, node) for path, node in walk(schema.dataset) if not isinstance(node, inner)]
        self.nodes = sorted(found, key=lambda each: each[1].span.start)
        """Paths and nodes in the order of the text, without members of types."""
        self._node_starts = [node.span.start for _, node in self.nodes]

    def find(self, comment: Lexeme) -> list[tuple[str, Node]]:
        """Return the nodes that a comment concerns; none if it stands with no declaration."""
        line = self._line(comment.start)
        before = bisect_left(self._starts, comment.start)
        if not before or self._line(self._starts[before - 1]) != line:  # alone on its line
            after = bisect_left(self._node_starts, comment.end)
            if after == len(self.nodes):
                return []
            line = self._line(self._node_starts[after])
            return [each for each in self.nodes[after:] if self._line(each[1].span.start) == line]
        behind = bisect_right(self._node_starts, comment.start)
        begun = [each for each in self.nodes[:behind] if self._line(each[1].span.start) == line]
        if begun or not behind:
            return begun
        last = self.nodes[behind - 1]
        return [last] if self._line(self.find_end(last[1])) == line else []

    def find_end(self, node: Node) -> int:
        """Return the place of the semicolon that ends a declaration; of a group and the root, that of its name."""
        if isinstance(node, Group):
            return node.span.start
        depth = 0
        for lexeme in self._lexemes[bisect_right(self._starts, node.span.start) :]:
            text = self._source.text(lexeme.start, lexeme.end) if lexeme.kind == "punctuation" else ""
            depth += text.count("{") - text.count("}")
            if depth <= 0 and ";" in text:
                return lexeme.start
        return node.span.start

    def _line(self, offset: int) -> int:
        return self._source.position(offset)[0]
