"""Python values of attributes that are JSON."""

from typing import Any


def is_json(value: Any) -> bool:
    """Return whether a Python object is a JSON value of many values, or null."""
    if isinstance(value, dict):
        return all(isinstance(name, str) for name in value) and all(map(_is_inner_json, value.values()))
    return value is None or (isinstance(value, list | tuple) and all(map(_is_inner_json, value)))


def _is_inner_json(value: Any) -> bool:
    return type(value) in (str, int, float, bool) or is_json(value)
