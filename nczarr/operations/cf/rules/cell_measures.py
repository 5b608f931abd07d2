"""7.2 Cell measures."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_no_text, name_dimensions
from nczarr.operations.cf.references import parse_pairs
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-cell-measures", "7.2")

UNITS = {"area": "m2", "volume": "m3"}

_V = 'dimensions: x = 2 ; y = 2 ; variables: float v(x) ; float a(x) ; a:units = "m2" ; v:cell_measures = '

RULES = (
    R.must("form", "`cell_measures` is a text of pairs `measure: variable`.", _V + '"area«|:» a" ;',
        "write `area: NAME` or `volume: NAME`"),
    R.must("measure", "The measures are `area` and `volume`.", _V + '"«aera|area»: a" ;', "write one of these words"),
    R.must("exists", "The variables of cell measures exist, or `external_variables` names them.", _V
        + '"area: «areacella|a»" ;', "correct the name, or add it to `external_variables`"),
    R.must("dimensions", "A measure has only dimensions of its variable.",
        'dimensions: x = 2 ; y = 2 ; variables: float v(x) ; float a(«y|x») ; a:units = "m2" ; '
        'v:cell_measures = "area: a" ;', "give the measure the dimensions of the data variable"),
    R.must("units", "Areas are in units of square metres, volumes in cubic metres.",
        'dimensions: x = 2 ; variables: float v(x) ; float a(x) ; a:units = "«m|km2»" ; v:cell_measures = "area: a" ;',
        "correct the units"),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
