"""Short texts of attribute values."""

from typing import Any

from nczarr.arrays.lazy_numpy import np

ITEMS = 20
"""Maximum shown elements of an array."""

CHARACTERS = 300
"""Maximum characters of a value."""


def brief(value: Any) -> str:
    """Return a value in a bounded text: the first elements of an array, the beginning of a text."""
    if isinstance(value, list):
        shown = ", ".join(_format_item(element) for element in value[:ITEMS])
        text = f"[{shown}{_more(len(value))}]"
    elif isinstance(value, np.ndarray):
        shown = ", ".join(_format_item(element) for element in value.reshape(-1)[:ITEMS])
        text = f"[{shown}{_more(value.size)}]"
    else:
        text = _format_item(value)
    return text if len(text) <= CHARACTERS else text[:CHARACTERS] + "…"


def _format_item(value: Any) -> str:
    if isinstance(value, str):
        return repr(value[: CHARACTERS + 1])
    if isinstance(value, np.ndarray):
        return brief(value)
    if isinstance(value, np.void):
        if value.dtype.names is None:
            return "0x" + value.tobytes()[:CHARACTERS].hex()
        return "{" + ", ".join(f"{name}: {_format_item(value[name])}" for name in value.dtype.names[:ITEMS]) + "}"
    return str(value)


def _more(count: int) -> str:
    return f", … {count - ITEMS} more" if count > ITEMS else ""
