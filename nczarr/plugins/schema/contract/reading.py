"""Rules of a schema, read from its comments: where these stand, and what they demand, in our words or those of NCEI.

Templates of NCEI are CDL whose comments say REQUIRED, RECOMMENDED or SUGGESTED.
A template describes many datasets, so what it does not mark is optional, and other elements may be there. Lengths are
placeholders, such as `obs = < dim1 >`, and texts are examples, unless the comment says that they must not be changed.

Source: https://www.ncei.noaa.gov/netcdf-templates
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from nczarr.ast import walk
from nczarr.plugins.languages.language import Lexeme, find_language
from nczarr.plugins.schema.contract.rules import STRICT, BadRuleError, Contract, Presence, Rules, parse_rules
from nczarr.sdk import (
    Attribute,
    Checked,
    CompoundType,
    Dimension,
    EnumConstant,
    EnumType,
    Field,
    Group,
    Node,
    OpaqueType,
    Report,
    Source,
    Span,
    Variable,
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


_MARK = re.compile(r"//[./\s]*(HIGHLY RECOMMENDED|REQUIRED|RECOMMENDED|SUGGESTED|OPTIONAL)\b[\s:.-]*(.*)", re.DOTALL)

_PRESENCES: dict[str, Presence] = {
    "REQUIRED": "required",
    "HIGHLY RECOMMENDED": "recommended",
    "RECOMMENDED": "recommended",
    "SUGGESTED": "optional",
    "OPTIONAL": "optional",
}

_CONDITION = re.compile(r"if\b|when\b|for\b", re.IGNORECASE)

_FIXED = re.compile(r"do not (change|modify|alter)|must be exactly", re.IGNORECASE)

_PLACEHOLDER = re.compile(rb"(?<==)(\s*)<[^<>\n;\"]*>(?=\s*[;,])")

LOOSE = Rules(presence="optional", any_type=True, any_value=True, any_length=True, extra_allowed=True)
"""Rules of what a template does not mark."""


class Marks(NamedTuple):
    """Marks of a template."""

    rules: dict[str, Rules]
    """Rules by path."""
    usual: Rules
    """Rules of the other nodes; strict ones if the schema has no marks."""


def find_marks(comments: Iterable[Comment]) -> Marks:
    """Return the rules that comments of a template state; those of a schema without marks are strict."""
    rules: dict[str, Rules] = {}
    for comment in comments:
        found = _MARK.match(comment.text)
        if found is None:
            continue
        word, text = found[1], " ".join(found[2].split())
        presence, condition = _PRESENCES[word], ""
        if presence == "required" and _CONDITION.match(text):
            presence, condition = "recommended", text
        for path, node in comment.nodes:
            fixed = isinstance(node, Attribute) and _FIXED.search(text) is not None
            loose = LOOSE._replace(presence=presence, condition=condition, span=comment.span)
            rules[key_of(path, node)] = loose._replace(any_value=not fixed)
    return Marks(rules, LOOSE if rules else STRICT)


def fill_placeholders(source: Source) -> Source:
    """Return a text with lengths of one for placeholders such as `< dim1 >`; the same text without any.

    Every byte keeps its place, so that diagnostics point at the lines as they were written.
    """
    data = bytes(source.data)
    language = find_language("cdl") if _PLACEHOLDER.search(data) else None
    if language is None:
        return source
    texts = [lexeme for lexeme in language.split(data) if lexeme.kind in ("string", "comment")]

    def fill(found: re.Match[bytes]) -> bytes:
        if any(lexeme.start < found.start() < lexeme.end for lexeme in texts):
            return found[0]
        return found[1] + b"1".ljust(len(found[0]) - len(found[1]))

    return Source(source.name, _PLACEHOLDER.sub(fill, data), key=source.key, path=source.path)


MARK = re.compile(r"//\s*nczarr:(?!\s*ignore\[)\s*(.*)", re.DOTALL)
"""A comment with rules. `nczarr: ignore[CODE]` hides diagnostics."""


def read_contract(schema: Checked, report: Report) -> Contract:
    """Return the rules in the comments of a schema. Reports bad-rule."""
    comments = list(list_comments(schema))
    rules: dict[str, Rules] = {}
    marks = find_marks(comments)
    rules.update(marks.rules)
    for comment in comments:
        found = MARK.match(comment.text)
        if found is None:
            continue
        try:
            for key in _find_suited(comment, parse_rules(found[1])):
                rules[key] = parse_rules(found[1], rules.get(key, marks.usual))._replace(span=comment.span)
        except BadRuleError as error:
            report.error("bad-rule", str(error), comment.span)
    free = frozenset(path for path, each in rules.items() if each.extra_allowed)
    return Contract(rules, marks.usual, free)


def _find_suited(comment: Comment, rules: Rules) -> list[str]:
    """Return the keys of the nodes of a comment with which its rules go. Raises BadRuleError without any."""
    unsuited = [(key_of(path, node), _find_misfit(rules, node)) for path, node in comment.nodes]
    suited = [key for key, misfit in unsuited if not misfit]
    if not suited:
        raise BadRuleError(unsuited[0][1] if unsuited else "the comment stands with no declaration")
    return suited


def _find_misfit(rules: Rules, node: Node) -> str:
    """Return which rule means nothing for a node of this kind; empty if all go with it."""
    kind = type(node).__name__
    has_values = isinstance(node, Attribute | Variable)
    for flag, word, suits in (
        (rules.any_length, "any-length", isinstance(node, Dimension)),
        (rules.any_value, "any-value", isinstance(node, Attribute)),
        (rules.any_type, "any-type", has_values),
        (rules.extra_allowed, "extra-allowed", isinstance(node, Group | Variable)),
        (rules.has_demands, "a rule for values", has_values),
    ):
        if flag and not suits:
            return f"{word if ' ' in word else f'`{word}`'} does not go with a node of the kind {kind}"
    return ""
