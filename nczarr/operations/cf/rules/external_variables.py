"""2.6.3 External variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find external variables that are in the dataset."""
    node = dataset.root.attributes.get("external_variables")
    if node is None:
        return
    if dataset.root.kind("external_variables") != "text":
        yield Breach("text", "`external_variables` is not a text", node)
    for name in dataset.root.text("external_variables").split():
        if dataset.resolve(name, "/") is not None:
            text = f"`external_variables` names `{name}`, which is in the dataset"
            yield Breach("absent", text, node, name)


TOPIC = Topic(load_rules("external_variables"), find)
