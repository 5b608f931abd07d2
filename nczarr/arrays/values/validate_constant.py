"""Validation of constants against their types, for trees from unchecked documents."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

from nczarr.arrays.values.parts import Types, is_fixed, size
from nczarr.ast import ATOMIC, CompoundType, Constant, UserType, VlenType
from nczarr.ast.types import made_of
from nczarr.ast.walk import MAX_DEPTH


def sound_types(types: Mapping[str, UserType]) -> dict[str, UserType]:
    """Return types that use only known types, are not recursive, and nest at most MAX_DEPTH deep."""
    sound: dict[str, UserType] = {}
    for _ in range(MAX_DEPTH):
        ready = {
            path: declared
            for path, declared in types.items()
            if path not in sound and all(name in ATOMIC or name in sound for name in made_of(declared))
        }
        if not ready:
            break
        sound.update(ready)
    return sound


def problem(constant: Constant, types: Types) -> str | None:
    """Return what is wrong with a constant's data, or None; its type is atomic or in the sound `types`.

    `Constant` validates atomic types; this function validates user types
    recursively.
    """
    name, data = constant.type, constant.data
    declared = types.get(name)
    if declared is None:
        return None if name in ATOMIC else f"type `{name}` is not declared"
    if is_fixed(name, types):
        byte_count = constant.count * size(name, types)
        if isinstance(data, bytes) and len(data) == byte_count:
            return None
        return f"{constant.count} values of `{name}` take {byte_count} bytes"
    nested = [] if isinstance(data, bytes) else [item for item in data if isinstance(item, Constant)]
    if isinstance(data, bytes) or len(nested) != len(data):
        return f"values of `{name}` are constants, one an element or field"
    expected: list[tuple[str, int | None]]
    if isinstance(declared, VlenType):
        expected = [(declared.base, None)]
    else:
        assert isinstance(declared, CompoundType)  # enums and opaques are fixed
        expected = [(field.type, math.prod(field.shape)) for field in declared.fields]
    if len(nested) != constant.count * len(expected):
        return f"{constant.count} values of `{name}` take {constant.count * len(expected)} constants, not {len(nested)}"
    for item, (type_name, count) in zip(nested, itertools.cycle(expected), strict=False):
        if item.type != type_name:
            return f"a part of `{name}` has type `{type_name}`, not `{item.type}`"
        if count is not None and item.count != count:
            return f"a field of `{name}` has {count} values, not {item.count}"
        inside = problem(item, types)
        if inside is not None:
            return inside
    return None
