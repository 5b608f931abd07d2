"""2.7 Groups."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr import names
from nczarr.check.resolve import list_scopes
from nczarr.operations.cf import references
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset, CFVariable

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


TOPIC = Topic(load_rules("groups"), find)
