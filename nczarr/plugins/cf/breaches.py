"""Breaches that several sections have in common: attributes that are no texts, and names of missing variables."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from nczarr.plugins.cf.rule import Breach
from nczarr.plugins.cf.view import CFDataset, CFVariable


def find_no_text(variable: CFVariable, attribute: str, rule: str = "text") -> Iterator[Breach]:
    """Find an attribute that is not a single text."""
    node = variable.attributes.get(attribute)
    if node is not None and not isinstance(variable.value(attribute), str):
        yield Breach(rule, f"`{attribute}` of `{variable.path}` is not a text", node)


def find_missing(
    dataset: CFDataset, variable: CFVariable, attribute: str, words: Iterable[str], rule: str = "exists"
) -> Iterator[Breach]:
    """Find names of variables that do not exist."""
    for name in words:
        if dataset.resolve(name, variable.group) is None:
            what = f"`{attribute}` of `{variable.path}` names `{name}`, which does not exist"
            yield Breach(rule, what, variable.attributes[attribute], name, dataset.suggest(name, variable.group))


def find_missing_dimensions(
    dataset: CFDataset, variable: CFVariable, attribute: str, words: Iterable[str], rule: str = "exists"
) -> Iterator[Breach]:
    """Find names of dimensions that do not exist."""
    for name in words:
        if dataset.resolve_dimension(name, variable.group) is None:
            what = f"`{attribute}` of `{variable.path}` names the dimension `{name}`, which does not exist"
            helps = dataset.suggest_dimension(name, variable.group)
            yield Breach(rule, what, variable.attributes[attribute], name, helps)


def name_dimensions(dataset: CFDataset, dimensions: Iterable[object]) -> str:
    """Return dimensions for messages: `(time, lat)`."""
    return f"({', '.join(map(dataset.label, dimensions))})"
