"""Walking the tree where the recursion is uniform."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr import names
from nczarr.ast.dataset import Group

MAX_DEPTH = 64
"""Groups and types may nest this deep: JSON, hash and repr of nodes recurse, and overflow well below 900."""


def groups(root: Group, path: str = "/") -> Iterator[tuple[str, Group]]:
    """Every group with its FQN, parents before children, in the order of definition."""
    yield path, root
    for child in root.groups:
        yield from groups(child, names.join(path, child.name))
