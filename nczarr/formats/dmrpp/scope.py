"""Scopes of a document: declarations of groups during reading, and name lookup."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from nczarr import names
from nczarr.ast import Attribute, Dimension, Group, UserType, Variable

_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_SEGMENT = re.compile(r"((?:[^\\/]|\\.)+)", re.DOTALL)


Declared = TypeVar("Declared", Dimension, UserType)


@dataclass(eq=False)
class Scope:
    """A group during reading. `path`: its FQN."""

    name: str
    path: str
    parent: Scope | None = None
    types: list[UserType] = field(default_factory=list)
    dimensions: list[Dimension] = field(default_factory=list)
    variables: list[Variable] = field(default_factory=list)
    attributes: tuple[Attribute, ...] = ()
    groups: list[Scope] = field(default_factory=list)

    def root(self) -> Scope:
        """Return the scope of the document."""
        return self if self.parent is None else self.parent.root()

    def _below(self, segments: list[str]) -> Scope | None:
        scope: Scope | None = self
        for segment in segments:
            scope = next((group for group in scope.groups if group.name == segment), None) if scope else None
        return scope

    def home_of(self, written: str) -> tuple[Scope, str] | None:
        """Return group and simple name of a DAP4 name, or None.

        A leading slash starts at the root, else the path starts at this group.
        """
        segments = [_ESCAPED.sub(r"\1", each) for each in _SEGMENT.findall(written)]
        if not segments:
            return None
        start = self.root() if written.startswith("/") else self
        home = start._below(segments[:-1])
        return None if home is None else (home, segments[-1])

    def dimension(self, written: str) -> tuple[str, Dimension] | None:
        """Return FQN and dimension of a DAP4 name, relative to this or an enclosing group."""
        return self._found(written, lambda scope: scope.dimensions)

    def type(self, written: str) -> tuple[str, UserType] | None:
        """Return FQN and type of a DAP4 name, looked up like dimensions."""
        return self._found(written, lambda scope: scope.types)

    def _found(self, written: str, declared: Callable[[Scope], list[Declared]]) -> tuple[str, Declared] | None:
        scope: Scope | None = self
        while scope is not None:
            home = scope.home_of(written)
            for each in declared(home[0]) if home else ():
                if home and each.name == home[1]:
                    return names.join(home[0].path, each.name), each
            scope = None if written.startswith("/") else scope.parent
        return None

    def node(self) -> Group:
        """Return the group as a node of the tree."""
        return Group(
            name=self.name,
            types=tuple(self.types),
            dimensions=tuple(self.dimensions),
            variables=tuple(self.variables),
            attributes=self.attributes,
            groups=tuple(group.node() for group in self.groups),
        )
