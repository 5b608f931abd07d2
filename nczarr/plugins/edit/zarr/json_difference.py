"""Difference of two JSON documents, applied to a third one that may have more members.

::

    before {"a": 1, "b": {"x": 1}}    after {"b": {"x": 2}, "c": 3}
    document {"z": 0, "a": 1, "b": {"y": 5, "x": 1}} → {"z": 0, "b": {"y": 5, "x": 2}, "c": 3}

Members of objects are compared; all other values are replaced. A text that holds
the metadata of a node in Zarr v3 counts as the object in it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from nczarr.ast.plain_json import CARRIED

_MISSING = object()


def _find_renamed(document: Any, vanishing: Mapping[str, Any], value: Any) -> Any:
    """Return the value of a new member: as the document spells it, if it had the value under a name that vanishes."""
    old = [name for name, other in vanishing.items() if other == value]
    return document[old[0]] if len(old) == 1 else value


def apply_difference(document: Any, before: Any, after: Any) -> Any:
    """Return a document with the changes that lead from `before` to `after`."""
    if before == after and not _is_reordered(before, after):
        return document
    if not all(isinstance(value, dict) for value in (document, before, after)):
        return after
    members: dict[str, Any] = {}
    vanishing = {name: value for name, value in before.items() if name not in after and name in document}
    for name in _order(document, before, after):
        value = document.get(name, _MISSING)
        if value is _MISSING and name in before and before[name] == after.get(name, _MISSING):
            continue  # a member that only the back end writes
        if name not in after:  # a member that the back end does not write
            members[name] = value
        elif value is _MISSING or name not in before:
            members[name] = _find_renamed(document, vanishing, after[name])
        elif name == CARRIED:
            members[name] = _apply_in_text(value, before[name], after[name])
        else:
            members[name] = apply_difference(value, before[name], after[name])
    return members


def _is_reordered(before: Any, after: Any) -> bool:
    """Return whether equal values have members in another order."""
    if not isinstance(before, dict):
        return False
    return list(before) != list(after) or any(_is_reordered(before[name], after[name]) for name in before)


def _order(document: dict[str, Any], before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """Return the names of the members afterwards.

    They stay in the order of the document, with new ones behind their neighbours, unless
    `after` has another order than `before`.
    """
    same_order = [name for name in before if name in after] == [name for name in after if name in before]
    if same_order:
        names, sequence = [name for name in document if name in after or name not in before], list(after)
    else:
        names, sequence = list(after), list(document)
    present, followers = set(names), dict[str | None, list[str]]()
    neighbour = None  # the last name before that is in both
    for name in sequence:
        if name in present:
            neighbour = name
        elif same_order or name not in before:
            followers.setdefault(neighbour, []).append(name)
    return [*followers.get(None, ()), *(each for name in names for each in (name, *followers.get(name, ())))]


def _apply_in_text(text: Any, before: str, after: str) -> str:
    """Return the JSON text with the changes of two others."""
    try:
        document = json.loads(text)
    except (TypeError, ValueError):
        return after
    changed = apply_difference(document, json.loads(before), json.loads(after))
    return json.dumps(changed, ensure_ascii=False)
