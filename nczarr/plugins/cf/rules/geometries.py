"""7.6 Geometries (7.5 before CF 1.13)."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.arrays.lazy_numpy import NDArray, np
from nczarr.plugins.cf.coordinates import has_values, read_numbers
from nczarr.plugins.cf.rule import Breach, find_missing, find_no_text
from nczarr.plugins.cf.view import CFDataset, CFVariable

LEAST = {"point": 1, "line": 2, "polygon": 3}
"""Least number of nodes of each type."""


def check_geometries(dataset: CFDataset) -> Iterator[Breach]:
    """Find geometries whose variables are missing or do not agree."""
    containers: dict[str, CFVariable] = {}
    for variable in dataset.variables.values():
        if "geometry" in variable.attributes:
            yield from find_no_text(variable, "geometry", "exists")
            name = variable.text("geometry")
            yield from find_missing(dataset, variable, "geometry", [name] if name else [])
            container = dataset.resolve(name, variable.group) if name else None
            if container is not None:
                containers[container.path] = container
                yield from _check_variable_with_geometry(dataset, variable, container)
        elif "geometry_type" in variable.attributes:
            containers[variable.path] = variable
        if "nodes" in variable.attributes:
            node, name = variable.attributes["nodes"], variable.text("nodes")
            other = dataset.resolve(name, variable.group) if name else None
            if other is None or not dataset.is_named_by(other, "node_coordinates"):
                yield Breach("named", f"`nodes` of `{variable.path}` is `{name}`, no node coordinate", node, name)
    for container in containers.values():
        yield from _check_geometry_container(dataset, container)


def _one(dataset: CFDataset, container: CFVariable, attribute: str) -> CFVariable | None:
    return next(iter(dataset.list_named(container, attribute)), None)


def _check_variable_with_geometry(dataset: CFDataset, variable: CFVariable, container: CFVariable) -> Iterator[Breach]:
    """Check that a variable with a geometry has the container's grid mapping, coordinates and dimension."""
    for name in ("grid_mapping", "coordinates"):
        if name in container.attributes and name not in variable.attributes:
            what = f"the container `{container.path}` has `{name}`, and `{variable.path}` has not"
            yield Breach("carried", what, container.attributes[name])
    counts = _one(dataset, container, "node_count") or _one(dataset, container, "node_coordinates")
    if counts is None or not counts.dimensions or "sample_dimension" in counts.attributes:
        return
    words = variable.text("dimensions").split()
    axes = {*variable.dimensions, *(dataset.resolve_dimension(word, variable.group) for word in words)}
    if not set(counts.dimensions) & axes:
        what = f"`{variable.path}` has not the dimension `{dataset.label(counts.dimensions[0])}` of its geometries"
        yield Breach("dimension", what, variable.attributes["geometry"])


def _check_geometry_container(dataset: CFDataset, container: CFVariable) -> Iterator[Breach]:
    path, kind = container.path, container.text("geometry_type").lower()
    for name in ("geometry_type", "node_coordinates"):
        if name not in container.attributes:
            yield Breach("container", f"the container `{path}` has no `{name}`", container.node)
    if kind and kind not in LEAST:
        what = f"`geometry_type` of `{path}` is `{container.text('geometry_type')}`"
        yield Breach("type", what, container.attributes["geometry_type"])
    for name in ("node_coordinates", "node_count", "part_node_count", "interior_ring"):
        if name in container.attributes:
            yield from find_missing(dataset, container, name, container.text(name).split())
    nodes = dataset.list_named(container, "node_coordinates")
    axes = [node.text("axis").upper() for node in nodes]
    if nodes and (len(set(axes)) < len(axes) or "" in axes):
        yield Breach("axis", f"the node coordinates of `{path}` have not one `axis` each",
                     container.attributes["node_coordinates"])  # fmt: skip
    if len({node.dimensions for node in nodes}) > 1 or any(len(node.dimensions) > 1 for node in nodes):
        what = f"the node coordinates of `{path}` have different dimensions"
        yield Breach("nodes", what, container.attributes["node_coordinates"])
        return
    counts, parts = _one(dataset, container, "node_count"), _one(dataset, container, "part_node_count")
    rings = _one(dataset, container, "interior_ring")
    if counts is None and kind in ("line", "polygon") and _has_several(dataset, container):
        yield Breach("counts", f"the container `{path}` of several geometries has no `node_count`", container.node)
    if rings is not None and parts is None:
        yield Breach("ring-parts", f"the container `{path}` has `interior_ring` without `part_node_count`",
                     container.attributes["interior_ring"])  # fmt: skip
    elif rings is not None and parts is not None and rings.dimensions != parts.dimensions:
        what = f"`{rings.path}` has another dimension than `{parts.path}`"
        yield Breach("ring-dimension", what, container.attributes["interior_ring"])
        return
    yield from _check_geometry_values(dataset, container, counts, parts, rings)


def _has_several(dataset: CFDataset, container: CFVariable) -> bool:
    """Return whether data variables have more than one geometry."""
    owners = dataset.referrers["geometry"].get(container.path, [])
    return any(length > 1 for owner in owners for length in owner.shape[:1])


def _read(dataset: CFDataset, variable: CFVariable | None) -> NDArray[np.float64] | None:
    if variable is None or not variable.is_numeric or not has_values(dataset, variable):
        return None
    return read_numbers(dataset, variable)[0].reshape(-1).astype("f8")


def _check_geometry_values(
    dataset: CFDataset,
    container: CFVariable,
    counts: CFVariable | None,
    parts: CFVariable | None,
    rings: CFVariable | None,
) -> Iterator[Breach]:
    kind = container.text("geometry_type").lower()
    each_count, each_part, each_ring = (_read(dataset, variable) for variable in (counts, parts, rings))
    if each_count is not None and kind in LEAST and (each_count < LEAST[kind]).any():
        what = f"a {kind} of `{container.path}` has {each_count.min():g} nodes"
        yield Breach("least", what, container.attributes["node_count"])
        return
    if each_count is not None and each_part is not None and each_count.sum() != each_part.sum():
        what = (
            f"the parts of `{container.path}` have {each_part.sum():g} nodes, and the geometries {each_count.sum():g}"
        )
        yield Breach("sum", what, container.attributes["part_node_count"])
        return
    if each_ring is not None and not np.isin(each_ring, (0, 1)).all():
        yield Breach("ring-values", f"`interior_ring` of `{container.path}` has other values than 0 and 1",
                     container.attributes["interior_ring"])  # fmt: skip
    if kind != "polygon":
        return
    nodes = {node.text("axis").upper(): node for node in dataset.list_named(container, "node_coordinates")}
    x, y = _read(dataset, nodes.get("X")), _read(dataset, nodes.get("Y"))
    if x is None or y is None:
        return
    lengths = each_part if each_part is not None else each_count if each_count is not None else np.array([len(x)])
    if lengths.sum() != len(x):
        return
    ends = np.cumsum(lengths).astype(int)
    for place, (start, stop) in enumerate(zip([0, *ends[:-1]], ends, strict=True)):
        is_interior = each_ring is not None and place < len(each_ring) and each_ring[place] == 1
        area = _compute_area(x[start:stop], y[start:stop])
        if area and (area > 0) == is_interior:
            direction = "clockwise" if area < 0 else "anticlockwise"
            kind_of = "interior" if is_interior else "exterior"
            what = f"the {kind_of} ring {place} of `{container.path}` is {direction}"
            yield Breach("orientation", what, container.node)
            return


def _compute_area(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return twice the area of a ring: positive if it is anticlockwise."""
    return float(np.sum(x * np.roll(y, -1) - np.roll(x, -1) * y))
