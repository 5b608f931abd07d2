"""Variables that belong to a variable: coordinates, and others that attributes of the CF conventions name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Set

from nczarr import names
from nczarr.check.checked import Checked

CELLS = frozenset(
    ("coordinates", "bounds", "climatology", "formula_terms", "cell_measures", "ancillary_variables"),
)
"""Attributes that name variables with a value for each cell."""

RELATED = CELLS | {
    *("grid_mapping", "geometry", "node_coordinates", "node_count", "part_node_count", "interior_ring", "nodes"),
    *("mesh", "node_coordinates", "edge_coordinates", "face_coordinates", "volume_coordinates"),
    *("edge_node_connectivity", "face_node_connectivity", "face_edge_connectivity", "face_face_connectivity"),
    *("edge_face_connectivity", "boundary_node_connectivity", "volume_node_connectivity", "quantization"),
}
"""Attributes that name variables without which a variable cannot be interpreted (CF and UGRID conventions)."""

_WITH_KEYS = frozenset(("grid_mapping",))
"""Attributes with a colon behind names of variables; in others it ends words that are no variables."""


def with_related(variables: Iterable[str], checked: Checked) -> list[str]:
    """Return variables, with the coordinate variables of their dimensions and those that they name, and so on."""
    waiting = list(variables)
    related = dict.fromkeys(waiting)
    while waiting:
        path = waiting.pop()
        axes = [axis for axis in checked.variables[path].dimensions if axis in checked.variables]
        for other in (*map(str, axes), *mentioned(checked, path, RELATED)):
            if other not in related:
                related[other] = None
                waiting.append(other)
    return list(related)


def mentioned(checked: Checked, fqn: str, attributes: Set[str]) -> Iterator[str]:
    """Yield the variables that these attributes name: in the group of `fqn`, else the nearest enclosing one."""
    for attribute in checked.variables[fqn].attributes:
        value = attribute.value
        if attribute.name not in attributes or value.type not in ("char", "string"):
            continue
        texts = [value.data] if isinstance(value.data, bytes) else value.data
        for word in b" ".join(text for text in texts if isinstance(text, bytes)).replace(b"\0", b" ").split():
            if attribute.name in _WITH_KEYS:
                word = word.removesuffix(b":")
            name, group = names.normal(word.decode("utf-8", "surrogateescape")), fqn
            while group != "/":
                group = names.parent(group)
                path = names.join(group, name)
                if path in checked.variables:
                    yield path
                    break
