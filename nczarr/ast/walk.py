"""Traversal of the tree by uniform recursion."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from nczarr import names
from nczarr.ast.dataset import Group
from nczarr.ast.node import members_of

G = TypeVar("G", bound=Group)

MAX_DEPTH = 64
"""Maximum nesting of groups and types: JSON, hash and repr of nodes recurse, and overflow well below 900."""


def groups(root: Group, path: str = "/") -> Iterator[tuple[str, Group]]:
    """Yield every group with its FQN, parents before children, in definition order."""
    yield path, root
    for child in root.groups:
        yield from groups(child, names.join(path, child.name))


def rebuilt(group: G, **members: Any) -> G:
    """Return a new validated group or dataset with some members replaced."""
    return type(group)(**{**members_of(group), **members})


def mapped(group: G, change: Callable[[str, Group], dict[str, Any]], path: str = "/") -> G:
    """Return a tree in which some members of every group are replaced by those that `change` returns for its FQN."""
    groups = tuple(mapped(child, change, names.join(path, child.name)) for child in group.groups)
    return group.model_copy(update={**change(path, group), "groups": groups})


@contextmanager
def building(*, lasting: bool = False) -> Iterator[None]:
    """Suspend the cyclic garbage collector while a tree is built; it would scan the tree repeatedly.

    Measured on 90,000 nodes: half of the time of a parse, two thirds of the
    passes'. Nothing dies meanwhile. `lasting`: no cyclic garbage results, so
    the new objects count as old and are first scanned by a full collection.
    """
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            if lasting and gc.get_freeze_count() == 0:  # what the program froze itself stays frozen
                gc.freeze()
                gc.unfreeze()  # puts what was frozen into the oldest generation
            gc.enable()
