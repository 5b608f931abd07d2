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
    for asset, origin in _read_layout(checked, "/").items():
        group, *path = asset.split("/")
        if origin and names.fqn(path) in checked.variables:
            yield group


def list_levels(checked: Checked, path: str) -> Iterator[str]:
    """Yield the FQNs of the levels of a variable, which are derived from it, in the order in which they are listed."""
    group = path
    while group != "/":
        group = names.parent(group)
        layout = _read_layout(checked, group)
        places = {asset: names.fqn((*names.split(group), *asset.split("/"))) for asset in layout}
        own = next((asset for asset, place in places.items() if f"{path}/".startswith(f"{place}/")), None)
        derived = {own}
        for asset, origin in layout.items() if own is not None else ():
            level = places[asset] + path[len(places[str(own)]) :]
            if origin in derived and level in checked.variables:
                derived.add(asset)
                yield level


def _read_layout(checked: Checked, group: str) -> dict[str, str]:
    """Return the level from which each level of a group is derived, by its asset; an empty text for the first."""
    text = next((one.json for one in checked.groups[group].attributes if one.name == LAYOUT), None)
    document: Any = json.loads(text) if text is not None else None
    layout = document.get("layout") if isinstance(document, dict) else None
    entries = [entry for entry in layout if isinstance(entry, dict)] if isinstance(layout, list) else []
    return {str(entry["asset"]): str(entry.get("derived_from") or "") for entry in entries if entry.get("asset")}
