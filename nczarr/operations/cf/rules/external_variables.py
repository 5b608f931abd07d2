"""2.6.3 External variables."""

from __future__ import annotations

from collections.abc import Iterator

from nczarr.operations.cf.rule import Breach, Rules, Topic
from nczarr.operations.cf.view import CFDataset

R = Rules("cf-external-variables", "2.6.3")

RULES = (
    R.must("text", "`external_variables` is a text with names of variables.", ':external_variables = «1|"areacella"» ;',
        "write the names in one text", since=(1, 7)),
    R.must("absent", "A variable that `external_variables` names is not in the dataset.",
        'float area ; :external_variables = "«area|volume»" ;', "remove the name", since=(1, 7)),
)  # fmt: skip


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


TOPIC = Topic(RULES, find)
