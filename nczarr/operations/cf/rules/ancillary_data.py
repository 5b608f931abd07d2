"""3.4 Ancillary data."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find names of missing variables."""
    for variable in dataset.variables.values():
        node = variable.attributes.get("ancillary_variables")
        if node is None:
            continue
        if variable.kind("ancillary_variables") != "text":
            yield Breach("text", f"`ancillary_variables` of `{variable.path}` is not a text", node)
        for name in variable.text("ancillary_variables").split():
            if dataset.resolve(name, variable.group) is None and name not in dataset.external:
                what = f"`ancillary_variables` of `{variable.path}` names `{name}`, which does not exist"
                yield Breach("exists", what, node, name, dataset.suggest(name, variable.group))


TOPIC = Topic(load_rules("ancillary_data"), find)
