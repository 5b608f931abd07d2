"""6.1 Labels."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find labels with other dimensions than their data variables have."""
    for variable in dataset.variables.values():
        if dataset.is_container(variable) and not dataset.is_domain(variable):
            continue
        for label in dataset.list_named(variable, "coordinates"):
            if label.type not in ("char", "string"):
                continue
            node = variable.attributes["coordinates"]
            if len(label.axes) > 1:
                what = f"the label `{label.path}` has {len(label.dimensions)} dimensions"
                yield Breach("dimensions", what, node, label.name)
            allowed = dataset.find_spanned(variable) | dataset.find_instances(variable)
            if len(label.axes) == 1 and label.axes[0] not in allowed and not dataset.is_domain(variable):
                what = f"the label `{label.path}` has the dimension `{dataset.label(label.axes[0])}`"
                yield Breach("match", f"{what}, which `{variable.path}` does not have", node, label.name)


TOPIC = Topic(load_rules("labels"), find)
