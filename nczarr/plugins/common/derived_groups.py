"""Groups whose values are derived from others of their dataset: levels of the convention `multiscales` of Zarr."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from nczarr import names
from nczarr.semantics.checked import Checked, remaining

LAYOUT = "multiscales"
"""Attribute of the group above the levels."""


def without_derived_groups(checked: Checked) -> Checked:
    """Return a dataset without the groups of its root that hold nothing but levels of its own variables."""
    derived = set(list_derived_groups(checked))
    groups = tuple(group for group in checked.dataset.groups if group.name not in derived)
    return remaining(checked, checked.dataset.model_copy(update={"groups": groups})) if derived else checked


def list_derived_groups(checked: Checked) -> Iterator[str]:
    """Yield the names of the groups of the root that levels are in, if the root has the variables of level 0."""
    text = next((one.json for one in checked.dataset.attributes if one.name == LAYOUT), None)
    document: Any = json.loads(text) if text is not None else None
    layout = document.get("layout") if isinstance(document, dict) else None
    for entry in layout if isinstance(layout, list) else ():
        if isinstance(entry, dict) and isinstance(entry.get("asset"), str) and entry.get("derived_from"):
            group, *path = entry["asset"].split("/")
            if names.fqn(path) in checked.variables:
                yield group
