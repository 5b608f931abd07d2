"""8.4 Lossy compression via quantization."""

from __future__ import annotations

import re
from collections.abc import Iterator

from nczarr.names import suggest
from nczarr.operations.cf.breaches import find_missing, find_no_text
from nczarr.operations.cf.rule import Breach, Topic, load_rules
from nczarr.operations.cf.view import INTEGERS, REALS, CFDataset, CFVariable

ALGORITHMS = {"bitround": "quantization_nsb", "bitgroom": "quantization_nsd", "digitround": "quantization_nsd",
              "granular_bitround": "quantization_nsd"}  # fmt: skip
"""Algorithms, with the attribute that counts their bits or digits."""

MOST = {("quantization_nsb", "float"): 23, ("quantization_nsb", "double"): 52,
        ("quantization_nsd", "float"): 7, ("quantization_nsd", "double"): 15}  # fmt: skip


_IMPLEMENTATION = re.compile(r"\S.*? version \S+(?: \(.*\))?")


def find(dataset: CFDataset) -> Iterator[Breach]:
    """Find quantized variables and containers that are incomplete."""
    for variable in dataset.variables.values():
        if dataset.is_named_by(variable, "quantization"):
            yield from _find_container(variable)
        if "quantization" in variable.attributes:
            yield from _find_variable(dataset, variable)


def _find_container(variable: CFVariable) -> Iterator[Breach]:
    for name in ("algorithm", "implementation"):
        if not variable.text(name):
            yield Breach("container", f"`{variable.path}` has no text `{name}`", variable.node)
    algorithm, implementation = variable.text("algorithm"), variable.text("implementation")
    if algorithm and algorithm not in ALGORITHMS:
        helps = tuple(suggest(algorithm, ALGORITHMS))
        yield Breach("algorithm", f"`algorithm` of `{variable.path}` is `{algorithm}`",
                     variable.attributes["algorithm"], "", helps)  # fmt: skip
    if implementation and not _IMPLEMENTATION.fullmatch(implementation):
        what = f"`implementation` of `{variable.path}` names no version"
        yield Breach("implementation", what, variable.attributes["implementation"])


def _find_variable(dataset: CFDataset, variable: CFVariable) -> Iterator[Breach]:
    node, name = variable.attributes["quantization"], variable.text("quantization")
    yield from find_no_text(variable, "quantization", "exists")
    yield from find_missing(dataset, variable, "quantization", [name] if name else [])
    if variable.type not in REALS:
        yield Breach("real", f"`{variable.path}` has `quantization`, and the type `{variable.type}`", node)
    if variable.is_coordinate or dataset.is_named_by(variable, "coordinates", "formula_terms", "cell_measures"):
        yield Breach("coordinates", f"`{variable.path}` is a coordinate, term or measure, and quantized", node)
    container = dataset.resolve(name, variable.group) if name else None
    attribute = ALGORITHMS.get(container.text("algorithm")) if container is not None else None
    if attribute is None or variable.type not in REALS:
        return
    count, most = variable.value(attribute), MOST[attribute, variable.type]
    if variable.kind(attribute) not in INTEGERS or not isinstance(count, int) or not 1 <= count <= most:
        what = f"`{attribute}` of `{variable.path}` is not an integer from 1 to {most}"
        yield Breach("count", what, variable.attributes.get(attribute, variable.node))


TOPIC = Topic(load_rules("quantization"), find)
