"""7.4 Climatological statistics."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.axes import is_time_coordinate, is_time_reference
from nczarr.operations.cf.breaches import find_missing, find_no_text
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-climatology", "7.4")

_T = 'dimensions: time = 2 ; n = 2 ; k = 3 ; variables: double time(time) ; time:units = "days since 2000-01-01" ; '
_C = _T + 'time:climatology = "c" ; double c(time, n) ; '

RULES = (
    R.must("place", "`climatology` stands at a time coordinate.", _T
        + 'double c(time, n) ; float v(time) ; «v|time»:climatology = "c" ;',
        "move the attribute to the time coordinate"),
    R.must("text", "`climatology` is the name of one variable.", _T
        + 'time:climatology = «1|"c"» ; double c(time, n) ;', "write a name"),
    R.must("exists", "The variable that `climatology` names exists.", _T
        + 'time:climatology = "«clim|c»" ; double c(time, n) ;', "correct the name, or remove the attribute"),
    R.must("dimensions", "Climatological bounds have the dimension of time, and one of length 2.",
        _C.replace("c(time, n)", "c(time, «k|n»)"), "give the bounds these dimensions"),
    R.must("numeric", "Climatological bounds are numbers.", _C.replace("double c", "«char|double» c"), "store numbers"),
    R.must("agree", "Attributes of climatological bounds agree with those of time.", _C
        + 'c:units = "days since «1999|2000»-01-01" ;', "remove the attribute from the bounds"),
    R.must("fill", "Climatological bounds have no `_FillValue` and no `missing_value`.", _C + "«c:_FillValue = -9. ;|»",
        "remove the attribute"),
)  # fmt: skip


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find climatological bounds that do not suit their time coordinate."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("climatology")
        if node is None:
            continue
        text = variable.text("climatology")
        if not (is_time_coordinate(dataset, variable) or (variable.is_coordinate and is_time_reference(variable))):
            yield Breach("place", f"`{variable.path}` has `climatology`, and is not a time coordinate", node)
        yield from find_no_text(variable, "climatology")
        yield from find_missing(dataset, variable, "climatology", [text] if text else [])
        bounds = dataset.resolve(text, variable.group) if text else None
        if bounds is not None:
            yield from _find_bounds(variable, bounds)


def _find_bounds(variable: CFVariable, bounds: CFVariable) -> Iterator[Breach]:
    node = variable.attributes["climatology"]
    if not bounds.is_numeric:
        yield Breach("numeric", f"the bounds `{bounds.path}` have the type `{bounds.type}`", node)
    if bounds.dimensions[:-1] != variable.dimensions or bounds.shape[-1:] != (2,):
        what = f"the dimensions of `{bounds.path}` are not those of `{variable.path}` and one of length 2"
        yield Breach("dimensions", what, node)
    for name in ("units", "standard_name", "calendar"):
        if name in bounds.attributes and bounds.value(name) != variable.value(name):
            what = f"`{name}` of `{bounds.path}` is not that of `{variable.path}`"
            yield Breach("agree", what, bounds.attributes[name])
    for name in ("_FillValue", "missing_value"):
        if name in bounds.attributes:
            yield Breach("fill", f"the bounds `{bounds.path}` have `{name}`", bounds.attributes[name])


TOPIC = Topic(RULES, find)
