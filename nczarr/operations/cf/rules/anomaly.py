"""7.5 Anomaly data."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.rules.cell_methods import Method, parse_methods
from nczarr.operations.cf.view import CFDataset, CFVariable


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find anomalies whose norm does not suit them."""
    for variable in dataset.variables.values():
        if "anomaly_wrt" in variable.text("cell_methods"):
            for method in parse_methods(variable.text("cell_methods")) or ():
                if method.method == "anomaly_wrt":
                    yield from _find_norm(dataset, variable, method)


def _find_norm(dataset: CFDataset, variable: CFVariable, method: Method) -> Iterator[Breach]:
    node, norm = variable.attributes["cell_methods"], dataset.resolve(method.norm, variable.group)
    if norm is None or norm.path not in {other.path for other in dataset.list_named(variable, "ancillary_variables")}:
        what = f"the norm `{method.norm}` of `{variable.path}` is not one of its `ancillary_variables`"
        yield Breach("norm", what, node, method.norm)
        return
    coordinates = {other.name: other for other in dataset.coordinates_of(variable)}
    anomalous = [coordinates[name] for name in method.names if name in coordinates]
    yield from _find_names(variable, norm, anomalous)
    mine = {other.path for other in dataset.coordinates_of(norm)}
    axes = {axis for other in anomalous for axis in other.dimensions}
    shared = [other for other in anomalous if other.path in mine]
    if shared or axes & set(norm.dimensions):
        shown = shared[0].path if shared else method.names[0]
        yield Breach("coordinates", f"the norm `{norm.path}` has the coordinate `{shown}` of the anomaly", node)
        return
    others = set(variable.dimensions) - axes
    own_axes = {axis for axis in norm.dimensions if dataset.length(axis) != 1}
    if any("climatology" in other.attributes for other in dataset.coordinates_of(norm)):
        return  # a norm along a climatology, whose coordinate has `select`
    if method.names != ("area",) and own_axes & others and not others <= set(norm.dimensions):
        yield Breach("dimensions", f"the norm `{norm.path}` has not all other dimensions of `{variable.path}`", node)
        return
    if own_axes - others:
        yield Breach("dimensions", f"the norm `{norm.path}` has dimensions that `{variable.path}` has not", node)
        return
    yield from _find_coordinates(dataset, variable, norm, anomalous)


def _find_names(variable: CFVariable, norm: CFVariable, anomalous: list[CFVariable]) -> Iterator[Breach]:
    for other in anomalous:
        if not other.standard_name:
            yield Breach("named", f"`{other.path}` has no standard name", other.node)
    first, second = variable.standard_name, norm.standard_name
    for owner, name in ((variable, first), (norm, second)):
        if name.endswith("_anomaly"):
            what = f"the standard name of `{owner.path}`, `{name}`, is that of an anomaly"
            yield Breach("standard-name", what, owner.attributes["standard_name"])
    if first and second and first != second:
        what = f"`{variable.path}` is `{first}`, and its norm `{norm.path}` is `{second}`"
        yield Breach("standard-name", what, norm.attributes["standard_name"])


def _find_coordinates(
    dataset: CFDataset, variable: CFVariable, norm: CFVariable, anomalous: list[CFVariable]
) -> Iterator[Breach]:
    """Compare the coordinates of one value, and the cell methods, of a norm with those of the anomaly."""
    single = [other for other in dataset.coordinates_of(norm) if set(other.shape) <= {1}]
    methods = parse_methods(norm.text("cell_methods")) or []
    for other in anomalous:
        same = [one for one in single if one.standard_name == other.standard_name]
        if not same or not {"bounds", "climatology"} & same[0].attributes.keys():
            what = f"the norm `{norm.path}` has no coordinate `{other.standard_name}` of one value with bounds"
            yield Breach("norm-coordinates", what, norm.node)
        elif not any({same[0].name, same[0].standard_name} & set(method.names) for method in methods):
            what = f"`cell_methods` of the norm `{norm.path}` does not name `{same[0].name}`"
            yield Breach("norm-methods", what, norm.attributes.get("cell_methods", norm.node))


TOPIC = Topic(load_rules("anomaly"), find)
