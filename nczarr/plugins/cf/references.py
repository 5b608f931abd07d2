"""Attributes that name variables or dimensions: their grammar, and the names in them."""

from __future__ import annotations

import re
from typing import NamedTuple

LISTS = ("coordinates", "ancillary_variables", "node_coordinates")
"""Attributes with a list of variables."""

SINGLE = ("bounds", "climatology", "geometry", "nodes", "node_count", "part_node_count", "interior_ring",
          "quantization", "bounds_tie_points")  # fmt: skip
"""Attributes with the name of one variable."""

PAIRS = ("cell_measures", "formula_terms", "interpolation_parameters", "tie_point_indices", "aggregated_data")
"""Attributes with pairs of a word and a variable: `area: cell_area`."""

_PAIR = re.compile(r"\s*(\S+?)\s*:\s+(\S+)(?=\s|$)")


class GridMapping(NamedTuple):
    """A grid mapping variable, and the coordinates to which it applies."""

    name: str
    """Name of the grid mapping variable."""
    coordinates: tuple[str, ...] = ()
    """Names of coordinate variables; empty in the short form."""


def match_all(pattern: re.Pattern[str], text: str) -> list[re.Match[str]] | None:
    """Return the matches that one after another make up a text; None for another form."""
    position, matches, stripped = 0, [], text.strip()
    while position < len(stripped):
        match = pattern.match(stripped, position)
        if match is None:
            return None
        matches.append(match)
        position = match.end()
    return matches or None


def parse_pairs(text: str) -> list[tuple[str, str]] | None:
    """Return the pairs of a text such as `area: cell_area volume: cell_volume`; None for another form.

    Examples
    --------
    >>> parse_pairs("a: x b: y")
    [('a', 'x'), ('b', 'y')]
    >>> parse_pairs("a: x y") is None
    True
    """
    pairs = [(match[1], match[2]) for match in match_all(_PAIR, text) or ()]
    return None if not pairs or any(name.endswith(":") for _, name in pairs) else pairs


def parse_grid_mapping(text: str) -> list[GridMapping] | None:
    """Return the grid mappings of an attribute `grid_mapping`; None for another form.

    Examples
    --------
    >>> parse_grid_mapping("crs")
    [GridMapping(name='crs', coordinates=())]
    >>> parse_grid_mapping("osgb: x y wgs84: lat lon")[1]
    GridMapping(name='wgs84', coordinates=('lat', 'lon'))
    """
    words = text.split()
    if ":" not in text:
        return [GridMapping(words[0])] if len(words) == 1 else None
    mappings: list[GridMapping] = []
    for word in words:
        if word.endswith(":") and len(word) > 1 and ":" not in word[:-1]:
            mappings.append(GridMapping(word[:-1]))
        elif not mappings or ":" in word:
            return None
        else:
            mappings[-1] = mappings[-1]._replace(coordinates=(*mappings[-1].coordinates, word))
    return mappings


def list_names(attribute: str, text: str) -> list[str]:
    """Return the names of variables in a text; nothing if its form is wrong."""
    if attribute in LISTS:
        return text.split()
    if attribute in SINGLE:
        return text.split()[:1]
    if attribute in PAIRS:
        return [name for _, name in parse_pairs(text) or ()]
    if attribute == "grid_mapping":
        return [mapping.name for mapping in parse_grid_mapping(text) or ()]
    return []


EVERY = (*LISTS, *SINGLE, *PAIRS, "grid_mapping")
"""Attributes whose names of variables are resolved."""
