"""Places of words in the values of attributes, for diagnostics."""

from __future__ import annotations

import re

from nczarr.ast import Attribute
from nczarr.ast.node import Node
from nczarr.diagnostics.report import Label, Span
from nczarr.plugins.common.node_label import label_of

_VALUE = re.compile(rb'\s*=\s*((?:"(?:[^"\\]|\\.)*"|/(?!/)|[^";/])*)', re.DOTALL)
"""Value of an attribute in CDL or the notation, behind its name."""


def label_word(node: Node, word: str = "") -> Label:
    """Return the place of a word in the value of an attribute of a text, or of the whole value; else of the node."""
    source = node.span.source
    if not isinstance(node, Attribute) or source is None or source.binary or source.key is not None:
        return label_of(node)
    match = _VALUE.match(source.data, node.span.end)
    if match is None:
        return label_of(node)
    start, end = match.span(1)
    if word:
        pattern = rb"(?<![A-Za-z0-9_])" + re.escape(word.encode("utf-8", "surrogateescape")) + rb"(?![A-Za-z0-9_])"
        place = re.compile(pattern).search(source.data, start, end)
        if place is not None:
            return Label(Span(source, *place.span()))
    return Label(Span(source, start, start + len(match[1].rstrip())))
