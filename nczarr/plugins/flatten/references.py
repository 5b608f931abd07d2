"""Attributes whose words name variables or dimensions (CF, UGRID), others in their place, and the search for these."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Literal, NamedTuple, TypeAlias

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.ast.node import Node
from nczarr.semantics.checked import tables
from nczarr.semantics.resolve import find_in_scope, list_scopes

Kind: TypeAlias = Literal["dimension", "variable"]
"""Kind of declaration that a word names."""

VARIABLE: tuple[Kind, ...] = ("variable",)
DIMENSION: tuple[Kind, ...] = ("dimension",)


class Grammar(NamedTuple):
    """Kinds of declaration that the words of an attribute name, by their place, in the order of search."""

    words: tuple[Kind, ...] = ()
    """The first word after a colon, and all words of a list without colons."""
    keys: tuple[Kind, ...] = ()
    """Words before a colon."""
    further: tuple[Kind, ...] | None = None
    """Further words after a colon; None: as the first one."""
    are_coordinates: bool = False
    """True if coordinates are also searched for in groups beside: the lateral search of CF."""


_LISTS = (
    *("bounds", "bounds_tie_points", "climatology", "ancillary_variables", "quantization"),
    *("geometry", "interior_ring", "node_coordinates", "node_count", "nodes", "part_node_count"),
    *("mesh", "location_index_set", "edge_coordinates", "face_coordinates", "volume_coordinates"),
    *("boundary_node_connectivity", "edge_node_connectivity", "edge_face_connectivity", "face_node_connectivity"),
    *("face_edge_connectivity", "face_face_connectivity", "volume_node_connectivity", "volume_edge_connectivity"),
    *("volume_face_connectivity", "volume_volume_connectivity"),
)
_PAIRS = ("cell_measures", "formula_terms", "interpolation_parameters", "aggregated_data")
_DIMENSIONS = (
    *("compress", "sample_dimension", "instance_dimension", "dimensions", "aggregated_dimensions"),
    *("node_dimension", "edge_dimension", "face_dimension", "volume_dimension"),
)

METHODS = "cell_methods"
"""Attribute whose keys are dimensions, scalar coordinates, or standard names, which stay."""

GRAMMARS: Mapping[str, Grammar] = {
    "coordinates": Grammar(VARIABLE, are_coordinates=True),
    **dict.fromkeys((*_LISTS, *_PAIRS), Grammar(VARIABLE)),
    **dict.fromkeys(_DIMENSIONS, Grammar(DIMENSION)),
    "grid_mapping": Grammar(VARIABLE, VARIABLE, are_coordinates=True),
    "coordinate_interpolation": Grammar(VARIABLE, VARIABLE),
    "tie_point_mapping": Grammar(VARIABLE, DIMENSION, DIMENSION),
    METHODS: Grammar((), ("dimension", "variable")),
}
"""Grammars of attributes by name."""

_WORD = re.compile(r"[^\s\0]+")

Replace: TypeAlias = Callable[[str, "tuple[Kind, ...]"], "str | None"]
"""Function of a word and the kinds that it may have: the word in its place, or None."""


def replace_words(text: str, grammar: Grammar, replace: Replace) -> str:
    """Return a text with other names; what stands in parentheses, and between the words, stays.

    Examples
    --------
    >>> replace_words("area:  a (of b)", GRAMMARS["cell_measures"], lambda word, kinds: word.upper())
    'area:  A (of b)'
    """
    depth, place = 0, 0

    def change(match: re.Match[str]) -> str:
        """Return what takes the place of a word."""
        nonlocal depth, place
        word, is_comment = match[0], depth > 0 or match[0].startswith("(")
        depth = max(0, depth + word.count("(") - word.count(")"))
        if is_comment:
            return word
        is_key = word.endswith(":")
        further = grammar.words if grammar.further is None else grammar.further
        kinds = grammar.keys if is_key else grammar.words if place == 0 else further
        place = 0 if is_key else place + 1
        name = word.removesuffix(":")
        new = replace(name, kinds) if kinds and name else None
        return word if new is None else f"{new}:" if is_key else new

    return _WORD.sub(change, text)


def list_texts(constant: Constant) -> list[str] | None:
    """Return the texts of an attribute; None if it has other values."""
    if constant.type == "char" and isinstance(constant.data, bytes):
        return [names.from_bytes(constant.data)]
    every = constant.data if constant.type == "string" and isinstance(constant.data, tuple) else ()
    texts = [names.from_bytes(one) for one in every if isinstance(one, bytes)]
    return texts if texts and len(texts) == len(every) else None


def set_texts(attribute: Attribute, texts: list[str]) -> Attribute:
    """Return the attribute with other texts, in its type."""
    data = [names.to_bytes(text) for text in texts]
    value = Constant.text(data[0]) if attribute.value.type == "char" else Constant.strings(data)
    return attribute.with_value(value)


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
