"""Readable text of the tree: one node per line, for golden files and for inspection between passes.

    Dataset ocean version=2.0.0
      Dimension time size=3 unlimited=True
      Variable t type=float dimensions=(/time, 4)
        Attribute units {"type": "char", "text": "K"}

Default members are omitted. The text contains everything that `==` compares, so
equal texts are equal trees.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from nczarr.ast.node import Node
from nczarr.ast.values import Constant


def text(node: Node) -> str:
    """Return the text of a node and its descendants, with a final newline."""
    return "".join(line + "\n" for line in lines(node))


def lines(node: Node, indent: str = "") -> Iterator[str]:
    """Yield the text by lines: plain members on the node's line, child nodes below."""
    head, below = [type(node).__name__], []
    for member in fields(node):
        name, value = member.name, getattr(node, member.name)
        if name == "span" or (name != "name" and value == member.default):
            continue
        if isinstance(value, Constant):
            head.append(json.dumps(value.model_dump(mode="json"), ensure_ascii=False))
        elif isinstance(value, Node):
            below.append(value)
        elif isinstance(value, tuple) and value and isinstance(value[0], Node):
            below.extend(value)
        elif name == "name":
            head.append(_plain(value))
        elif name != "kind" or type(node).__name__ == "Dataset":  # of a type, the class tells the kind
            head.append(f"{name}={_plain(value)}")
    yield indent + " ".join(head)
    for child in below:
        yield from lines(child, indent + "  ")


def _plain(value: Any) -> str:
    """Return a member's value; ambiguous text is quoted."""
    if isinstance(value, tuple):
        return f"({', '.join(map(_plain, value))})"
    if isinstance(value, str) and not (value.isprintable() and value.strip("\"'(),= ") == value and value):
        return json.dumps(value, ensure_ascii=False)
    return str(value)
