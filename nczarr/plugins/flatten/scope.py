"""Search for the variable or dimension that a word of an attribute names, by the rules of CF 2.7.1."""

from __future__ import annotations

from collections.abc import Mapping

from nczarr import names
from nczarr.ast import Dataset
from nczarr.ast.node import Node
from nczarr.plugins.flatten.references import Kind
from nczarr.semantics.checked import tables
from nczarr.semantics.resolve import find_in_scope, list_scopes


class Scope:
    """Declarations of a tree by FQN."""

    def __init__(self, tree: Dataset) -> None:
        self.tables = tables(tree)
        self.declared: dict[Kind, Mapping[str, Node]] = {
            "dimension": self.tables.dimensions,
            "variable": self.tables.variables,
        }

    def find(self, word: str, group: str, kinds: tuple[Kind, ...], *, are_coordinates: bool = False) -> str | None:
        """Return the FQN of the declaration that a word names in a group; None without one.

        `are_coordinates`: the search stops at the group of a dimension with this name, and goes on below it.
        """
        word = names.normal(word)
        for kind in kinds:
            if "/" in word:
                path = _follow(word, group)
                path = path if path in self.declared[kind] else None
            elif are_coordinates and kind == "variable":
                path = self._find_coordinate(word, group)
            else:
                path = find_in_scope(word, list_scopes(group), self.declared[kind])
            if path is not None:
                return path
        return None

    def spell(self, path: str, group: str, kinds: tuple[Kind, ...], *, are_coordinates: bool = False) -> str:
        """Return the shortest word that names a declaration in a group: its name, or its path from the root."""
        name = names.last(path)
        is_near = self.find(name, group, kinds, are_coordinates=are_coordinates) == path
        return name if is_near else spell_path(path)

    def _find_coordinate(self, name: str, group: str) -> str | None:
        for scope in list_scopes(group):
            path = names.join(scope, name)
            if path in self.tables.variables:
                return path
            if path in self.tables.dimensions:  # the local apex group
                return self._search_below(scope, name)
        return None

    def _search_below(self, apex: str, name: str) -> str | None:
        """Return the coordinate variable of a dimension of a group that is nearest below it, level by level."""
        level, dimension = [apex], names.join(apex, name)
        while level:
            level = [names.join(path, one.name) for path in level for one in self.tables.groups[path].groups]
            for path in level:
                found = self.tables.variables.get(candidate := names.join(path, name))
                if found is not None and found.dimensions == (dimension,):
                    return candidate
        return None


def _follow(word: str, group: str) -> str | None:
    """Return the FQN at an absolute or relative path; None for one beyond the root."""
    parts = [] if word.startswith("/") else list(names.split(group))
    for part in word.removeprefix("/").split("/"):
        if part == "" or (part == ".." and not parts):
            return None
        if part == "..":
            parts.pop()
        elif part != ".":
            parts.append(part)
    return names.fqn(parts)


def spell_path(path: str) -> str:
    """Return an FQN without escapes, as attributes spell paths."""
    return "/" + "/".join(names.split(path))
