"""7.2 Cell measures."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_no_text, name_dimensions
from nczarr.operations.cf.references import parse_pairs
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset, CFVariable

UNITS = {"area": "m2", "volume": "m3"}


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find measures that do not exist or do not suit their variable."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("cell_measures")
        if node is None:
            continue
        pairs = parse_pairs(variable.text("cell_measures"))
        if pairs is None:
            yield from find_no_text(variable, "cell_measures", "form")
            yield Breach("form", f"`cell_measures` of `{variable.path}` has no form `measure: variable`", node)
            continue
        for measure, name in pairs:
            if measure not in UNITS:
                what = f"`cell_measures` of `{variable.path}` has the measure `{measure}`"
                yield Breach("measure", what, node, measure, tuple(suggest(measure, UNITS)))
            other = dataset.resolve(name, variable.group)
            if other is not None:
                yield from _find_measure(dataset, variable, measure, other)
            elif name not in dataset.external:
                what = f"`cell_measures` of `{variable.path}` names `{name}`, which does not exist"
                yield Breach("exists", what, node, name, dataset.suggest(name, variable.group))


def _find_measure(dataset: CFDataset, variable: CFVariable, measure: str, other: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["cell_measures"]
    if not set(other.dimensions) <= dataset.find_spanned(variable) and not dataset.is_domain(variable):
        ours, theirs = (name_dimensions(dataset, one.dimensions) for one in (variable, other))
        what = f"the measure `{other.path}` has the dimensions {theirs}, and `{variable.path}` has {ours}"
        yield Breach("dimensions", what, node, other.name)
    units, expected = other.text("units"), UNITS.get(measure)
    if expected is None:
        return
    if "units" not in other.attributes or (dataset.units and not dataset.units.is_equivalent(units, expected)):
        what = (
            f"the {measure} `{other.path}` of `{variable.path}` has {f'the units `{units}`' if units else 'no units'}"
        )
        yield Breach("units", what, node, other.name, (f"write units that are equivalent to `{expected}`",))


TOPIC = Topic(load_rules("cell_measures"), find)
