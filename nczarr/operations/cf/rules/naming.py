"""2.3 Naming conventions."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.ast.node import Node
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import CFDataset

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

SYSTEM = frozenset(("_FillValue", "_Unsigned", "_Encoding", "_Storage", "_ChunkSizes", "_Coordinate", "_DeflateLevel"))
"""Attributes of netCDF itself, whose names begin with an underscore."""


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find names with other characters, and names that differ only in case."""
    for kind, name, path, node in _names(dataset):
        if not _NAME.fullmatch(name) and not (kind == "attribute" and name.startswith(tuple(SYSTEM))):
            where = f" of `{path}`" if kind == "attribute" else ""
            text = f"{kind} `{name}`{where} has a name with other characters than letters, digits and underscores"
            if name[:1].isdigit() or name.startswith("_"):
                text = f"the name of {kind} `{name}`{where} does not begin with a letter"
            yield Breach("characters", text, node)
    lowered: dict[tuple[str, str], str] = {}
    for variable in dataset.variables.values():
        other = lowered.setdefault((variable.group, variable.name.lower()), variable.name)
        if other != variable.name:
            text = f"the names of variables `{other}` and `{variable.name}` differ only in case"
            yield Breach("case", text, variable.node)


def _names(dataset: CFDataset) -> Iterator[tuple[str, str, str, Node]]:
    """Yield kind, name, path of the owner and node of everything with a name."""
    for path, dimension in dataset.dimensions.items():
        yield "dimension", dimension.name, path, dimension
    for variable in dataset.variables.values():
        yield "variable", variable.name, variable.path, variable.node
    for owner in dataset.owners:
        for name, attribute in owner.attributes.items():
            yield "attribute", name, owner.path, attribute


TOPIC = Topic(load_rules("naming"), find)
