"""2.7 Groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr import names
from nczarr.check.resolve import list_scopes
from nczarr.operations.cf import references
from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset, CFVariable

R = Rules("cf-group", "2.7")

RULES = (
    R.must("root-only", "`Conventions` and `external_variables` are attributes of the root group.",
        'group: g { :«Conventions|title» = "CF-1.13" ; }', "move it to the root group", since=(1, 8)),
    R.must("dimension", "A variable of another group with a dimension of the same name has the same dimension.",
        "group: a { dimensions: x = 2 ; variables: float c(x) ; } group: b { dimensions: «x|y» = 2 ; variables: "
        'float v(«x|y») ; v:ancillary_variables = "/a/c" ; }', "use one dimension in a common ancestor group",
        since=(1, 8)),
    R.must("path", "A path consists of words of letters, digits and underscores, separated by slashes.",
        'float v ; v:ancillary_variables = "«/g//w|/w»" ; float w ;',
        "write a path such as `/group/variable` or `../variable`", since=(1, 8)),
    R.should("lateral", "A coordinate variable outside of the group and its ancestors is named by a path.",
        "group: a { dimensions: x = 2 ; variables: float x(x) ; } group: b { dimensions: y = 1 ; "
        'variables: float v(y) ; v:ancillary_variables = "«x|/a/x»" ; }', "write the path of the variable",
        since=(1, 8)),
)  # fmt: skip

_PATH = re.compile(r"(?:\.\.?/|/)?(?:(?:\.\.|\w+)/)*\w+", re.ASCII)


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find attributes and references that are wrong in groups."""
    for path, group in dataset.checked.groups.items():
        for attribute in group.attributes:
            if path != "/" and attribute.name in ("Conventions", "external_variables"):
                yield Breach("root-only", f"group `{path}` has the attribute `{attribute.name}`", attribute)
    for variable in dataset.variables.values():
        for attribute_name in references.EVERY:
            if attribute_name in variable.attributes:
                for name in references.list_names(attribute_name, variable.text(attribute_name)):
                    yield from _find_reference(dataset, variable, attribute_name, name)


def _find_reference(dataset: CFDataset, variable: CFVariable, attribute: str, name: str) -> Iterator[Breach]:
    node, other = variable.attributes[attribute], dataset.resolve(name, variable.group)
    if "/" in name and not _PATH.fullmatch(name):
        yield Breach("path", f"`{attribute}` of `{variable.path}` has the invalid path `{name}`", node, name)
    if other is None or other.group == variable.group:
        return
    if "/" not in name and other.group not in list_scopes(variable.group):
        text = f"`{attribute}` of `{variable.path}` names `{name}`, which is `{other.path}`, in another group"
        yield Breach("lateral", text, node, name)
    ours = {names.last(axis): axis for axis in variable.dimensions if isinstance(axis, str)}
    for axis in other.dimensions:
        if isinstance(axis, str) and ours.get(names.last(axis), axis) != axis:
            text = f"the dimension `{names.last(axis)}` of `{other.path}` is not that of `{variable.path}`"
            yield Breach("dimension", text, node, name)


TOPIC = Topic(RULES, find)
