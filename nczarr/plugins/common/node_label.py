"""Places of nodes in diagnostics: in texts, in documents of stores, in files."""

from __future__ import annotations

from nczarr.ast import Attribute
from nczarr.ast.node import Node
from nczarr.diagnostics.report import Label


def label_of(node: Node, text: str = "") -> Label:
    """Return the place of a node; for a store's attribute, the member of its document."""
    source = node.span.source
    key = source.key if source is not None else None
    pointer = None
    if key is not None and isinstance(node, Attribute):
        home = "/attributes/" if key.endswith(".json") else "/"
        pointer = home + node.name.replace("~", "~0").replace("/", "~1")
    offset = node.span.start if source is not None and source.binary else None
    return Label(node.span, text, key=key, pointer=pointer, offset=offset)
