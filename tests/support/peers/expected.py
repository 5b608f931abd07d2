"""What readers should see of a checked dataset: its own values, from its own array sources."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from nczarr import names
from nczarr.arrays.sources.memory import all_fill
from nczarr.arrays.sources.source import little
from nczarr.ast import Attribute, EnumType
from nczarr.semantics.checked import Checked

LARGEST = 1 << 20
"""Arrays of more elements are not compared whole."""


@dataclass
class Expected:
    """One variable: `type` is atomic, or `enum`, `opaque`, `vlen`, `compound`; values of every part."""

    path: tuple[str, ...]
    type: str
    base: str
    dimensions: list[str | int]
    shape: tuple[int, ...]
    attributes: tuple[Attribute, ...]
    values: dict[str, Any] = field(default_factory=dict)
    renamed: bool = False


def expected(checked: Checked) -> dict[str, Expected]:
    """Every variable by the key of its array or group."""
    found = {}
    for fqn, variable in checked.variables.items():
        declared = checked.types.get(variable.type)
        path = names.split(fqn)
        dimensions = [ref if isinstance(ref, int) else names.last(ref) for ref in variable.dimensions]
        one = Expected(
            path,
            declared.kind if declared is not None else variable.type,
            declared.base if isinstance(declared, EnumType) else variable.type,
            dimensions,
            checked.shapes[fqn],
            variable.attributes,
        )
        if int(np.prod(one.shape, dtype=object)) <= LARGEST:
            one.values = values(checked, fqn)
        found["/".join(path)] = one
    return found


def values(checked: Checked, fqn: str) -> dict[str, Any]:
    """The values of every part of a variable."""
    type_name, shape, fill = checked.variables[fqn].type, checked.shapes[fqn], checked.fills[fqn]
    sources = checked.parts.get(fqn)
    if sources is None:
        sources = all_fill(fill, type_name, shape, checked.types)
    return {part: little(np.asarray(source.read(whole(source.layout.shape)))) for part, source in sources.items()}


def whole(shape: tuple[int, ...]) -> tuple[slice, ...]:
    """The selection of everything."""
    return tuple(slice(0, length) for length in shape)
