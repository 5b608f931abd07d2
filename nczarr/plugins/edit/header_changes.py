"""Changes of a dataset's header, and what a format makes of them.

Paths are FQNs before the edit, except of added nodes and of new names, which are
FQNs afterwards. Attributes of added nodes are part of the node.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from nczarr.ast import Constant, Dimension, Group, UserType, Variable
from nczarr.ast.renaming import NodeKind
from nczarr.semantics.checked import Checked

if TYPE_CHECKING:
    from nczarr.diagnostics.report import Source
    from nczarr.options import Options
    from nczarr.registry import Format
    from nczarr.stores.base import Store


class AttributeChange(NamedTuple):
    """An attribute that is added, removed or given another value."""

    owner: str
    """Group or variable."""
    name: str
    before: Constant | None
    """Old value; None: the attribute is added."""
    after: Constant | None
    """New value; None: the attribute is removed."""
    position: int
    """Index among the attributes of the owner afterwards; -1 if it is removed."""
    json: str | None = None
    """JSON of a store that the new value narrows."""


class AttributeOrder(NamedTuple):
    """Another order of the attributes that an owner has before and after."""

    owner: str
    """Group or variable."""
    before: tuple[str, ...]
    """Old order of their names."""
    after: tuple[str, ...]
    """New order of their names."""


class NodeRename(NamedTuple):
    """A new name of a group, type, dimension or variable, in the same group."""

    kind: NodeKind
    path: str
    new_path: str
    """FQN afterwards, in which groups have their new names too."""


class DimensionChange(NamedTuple):
    """A dimension that becomes unlimited or fixed, or an unused one of another length."""

    path: str
    before: Dimension
    after: Dimension


class NodeAddition(NamedTuple):
    """A new group, type, dimension or empty variable, behind the others of its kind."""

    kind: NodeKind
    path: str
    node: Group | UserType | Dimension | Variable
    """A group without its content, which is added by changes of its own."""


class NodeRemoval(NamedTuple):
    """A group, type, dimension or variable that is removed; a group with all its content."""

    kind: NodeKind
    path: str


HeaderChange = AttributeChange | AttributeOrder | NodeRename | DimensionChange | NodeAddition | NodeRemoval
"""One change of a header."""


class HeaderEdit(NamedTuple):
    """Checked changes of a dataset's header, which a format applies to its target."""

    target: str
    """Path or URL."""
    source: Source | Store
    """The target as it was opened."""
    form: Format
    before: Checked
    """The dataset as it is."""
    after: Checked
    """The dataset as it will be read, with the storage and arrays of `before` under their new names."""
    changes: tuple[HeaderChange, ...]
    """Differences: removals, new names, changes of attributes and dimensions, additions."""
    renamed: Mapping[NodeKind, Mapping[str, str]]
    """FQNs afterwards of all nodes whose FQN changes, also by the name of a group above them."""
    options: Options

    def new_path(self, kind: NodeKind, path: str) -> str:
        """Return the FQN afterwards of a node that is not removed."""
        return self.renamed[kind].get(path, path)


class PreparedEdit(Protocol):
    """An edit that a format has prepared; nothing is written yet."""

    def describe(self) -> Iterator[str]:
        """Yield lines for people about what is written where."""

    def undo(self) -> dict[str, Any]:
        """Return members of the undo file that restore the target: `form`, and what that form needs."""

    def commit(self) -> None:
        """Write the target, whole or not at all. Raises OSError."""

    def abandon(self) -> None:
        """Restore the target after `commit`, because it does not read as expected. Raises OSError."""

    def conclude(self) -> None:
        """Remove the journal after a commit that reads as expected. Raises OSError."""
