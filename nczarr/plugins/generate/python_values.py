"""Values as expressions of Python with NumPy, exactly."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from nczarr.plugins.generate.render import wrap
from nczarr.sdk import NUMPY, np

WIDTH = 100
"""Maximum columns of the lines of a list."""


def literal(value: Any) -> str:
    """Return a Python value, or one of NumPy, as an expression that makes an equal Python value."""
    if isinstance(value, np.ndarray):
        return literal(value.tolist())
    if isinstance(value, np.generic):
        return literal(value.item())
    if isinstance(value, float):
        return _real(value)
    if isinstance(value, list):
        return "[" + ", ".join(map(literal, value)) + "]"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(literal, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{literal(name)}: {literal(one)}" for name, one in value.items()) + "}"
    shown = repr(value)
    return f'"{shown[1:-1]}"' if shown[0] == "'" and '"' not in shown else shown


def _real(value: float) -> str:
    if math.isnan(value):
        return "np.nan"
    if math.isinf(value):
        return "np.inf" if value > 0 else "-np.inf"
    return repr(value)


def array_of(value: Any, type_name: str, shape: Sequence[int], dtype: str | None = None) -> str:
    """Return an expression that makes an array, or a scalar for no shape.

    `dtype`: expression of the type's dtype, for types that are not atomic.
    """
    kind = dtype or literal(NUMPY[type_name].lstrip("<|"))
    if type_name == "char":
        flat = _chars(value)
        return f'np.frombuffer({flat!r}, "S1").reshape({tuple(shape)!r})' if shape else repr(flat[:1])
    if type_name == "string":
        items = literal(
            value if isinstance(value, list | str | bytes) or value is None else np.asarray(value, object).tolist()
        )
        return f"np.array({items}, dtype=object)" if shape else items
    if not shape:
        return f"np.array({literal(value)}, dtype={kind})[()]"
    shown = [literal(one) for one in np.asarray(value).reshape(-1).tolist()]
    lines = wrap(shown, 8, WIDTH)
    flat_values = f"\n        {lines}\n    " if "\n" in lines else lines
    reshaped = f".reshape({tuple(shape)!r})" if len(shape) > 1 else ""
    return f"np.array([{flat_values}], dtype={kind}){reshaped}"


def _chars(value: Any) -> bytes:
    """Return the bytes of chars; an array's empty ones are NULs."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    return bytes(np.asarray(value, "S1").tobytes())
