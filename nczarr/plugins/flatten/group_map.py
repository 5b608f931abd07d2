"""Attributes of the root that lead from the names of a flat dataset back to its groups.

Three are those of netcdf-flattener: a list of texts `FLAT NAME: /PATH` for
attributes of groups, dimensions and variables. A fourth one, JSON, has the rest:

    {"groups": ["/g", "/g/empty"], "names": {"type": {"g__t": "/g/t"}},
     "references": {"g__v": {"coordinates": [["x g__y"], ["/x y"]]}}}

`names` has those that the lists cannot tell; `references` the texts after and
before flattening that do not follow from each other.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping
from typing import Any, NamedTuple

from nczarr import names
from nczarr.ast import Attribute, Constant, Dataset
from nczarr.plugins.flatten.references import list_texts, spell_path

LISTS: Mapping[str, tuple[str, ...]] = {
    "attribute": ("__flattener_name_mapping_attributes", "_flattener_attribute_map"),
    "dimension": ("__flattener_name_mapping_dimensions", "_flattener_dimension_map"),
    "variable": ("__flattener_name_mapping_variables", "_flattener_variable_map"),
}
"""Attributes with a list of names by kind: that of netcdf-flattener, which is written, and that of cfdm."""

RECORD = "_nczarr_groups"
"""Attribute with what the lists do not tell."""

OWN = frozenset((RECORD, *(name for spelled in LISTS.values() for name in spelled)))
"""Names of all these attributes."""

KINDS = ("attribute", "type", "dimension", "variable")

References = dict[str, dict[str, tuple[list[str], list[str]]]]
"""Texts after and before flattening, by flat name of the variable and name of the attribute."""


class GroupMap(NamedTuple):
    """Way of a flat dataset back to its groups."""

    groups: list[str]
    """FQNs of all groups but the root, parents first."""
    origins: dict[str, dict[str, str]]
    """FQNs before flattening by kind and flat name; that of an attribute has the group and its name."""
    references: References
    gone: dict[str, str]
    """FQNs before flattening of variables and dimensions that were removed since, by flat name."""

    def add(self, kind: str, new: str, old: str, flat: Collection[str]) -> None:
        """Add where a node was; `flat`: names of the nodes of its kind."""
        place = self.origins[kind] if new in flat else self.gone
        place[new] = old


def write_map(known: GroupMap, *, as_text: bool) -> tuple[Attribute, ...]:
    """Return the attributes that keep a map. `as_text`: lists are lines of one text, for classic files."""
    attributes, special = [], {"type": {new: old for new, old in known.origins["type"].items() if old != "/" + new}}
    for kind, (name, _) in LISTS.items():
        entries = []
        for new, old in known.origins[kind].items():
            if any(map(names.is_unspeakable, (new, *names.split(old)))):
                special.setdefault(kind, {})[new] = old
            else:
                entries.append(names.to_bytes(f"{new}: {spell_path(old)}"))
        if entries or not as_text:  # classic files have no empty texts
            value = Constant.text(b"\n".join(entries)) if as_text else Constant.strings(entries)
            attributes.append(Attribute(name=name, value=value))
    kept = {kind: own for kind, own in special.items() if own}
    record = {"groups": known.groups, "names": kept, "references": known.references}
    text = json.dumps({name: part for name, part in record.items() if part})
    return (*attributes, Attribute(name=RECORD, value=Constant.text(text.encode())))


def read_map(tree: Dataset) -> tuple[GroupMap, list[str]] | None:
    """Return the map of a flat dataset, and sentences about wrong entries; None without a map."""
    found = {attribute.name: attribute for attribute in tree.attributes if attribute.name in OWN}
    if not found:
        return None
    known, faults = GroupMap([], {kind: {} for kind in KINDS}, {}, {}), list[str]()
    flat: dict[str, set[str]] = {kind: {one.name for one in getattr(tree, f"{kind}s")} for kind in KINDS}
    for kind, spelled in LISTS.items():
        for attribute in (found[name] for name in spelled if name in found):
            for text in (line for one in list_texts(attribute.value) or () for line in one.split("\n")):
                entry = _read_entry(text)
                if entry is not None:
                    known.add(kind, *entry, flat[kind])
                elif ": /" not in text:
                    faults.append(f"`{attribute.name}` has the entry `{text}`, not `NAME: /PATH`")
    if RECORD in found:
        _read_record(list_texts(found[RECORD].value) or [""], known, flat, faults)
    return known, faults


def _read_entry(text: str) -> tuple[str, str] | None:
    """Return the flat name and the FQN of an entry; None for another text."""
    name, _, path = text.partition(": /")
    parts = path.split("/")
    return (name, names.fqn(parts)) if name and all(parts) else None


def _read_record(texts: list[str], known: GroupMap, flat: dict[str, set[str]], faults: list[str]) -> None:
    """Add what the JSON tells to a map; it is untrusted."""
    try:
        record = json.loads(texts[0])
    except (ValueError, RecursionError):
        record = None
    if not isinstance(record, dict):
        faults.append(f"`{RECORD}` is no JSON object")
        return
    known.groups.extend(path for path in _list(record.get("groups")) if _is_path(path))
    for kind in KINDS:
        for new, old in _items(_dict(record.get("names")).get(kind)):
            if _is_path(old):
                known.add(kind, new, old, flat[kind])
    for name, attributes in _items(record.get("references")):
        pairs = {attribute: pair for attribute, pair in _items(attributes) if _is_pair(pair)}
        known.references[name] = pairs


def _is_path(path: Any) -> bool:
    """Return whether this is the FQN of a node below the root."""
    try:
        return isinstance(path, str) and path != "/" and all(names.split(path))
    except ValueError:
        return False


def _is_pair(pair: Any) -> bool:
    texts = [text for side in _list(pair) for text in _list(side)]
    is_alike = isinstance(pair, list) and len(pair) == 2 and len(_list(pair[0])) == len(_list(pair[1])) > 0
    return is_alike and all(isinstance(text, str) for text in texts)


def _list(part: Any) -> list[Any]:
    return part if isinstance(part, list) else []


def _dict(part: Any) -> dict[str, Any]:
    return part if isinstance(part, dict) else {}


def _items(part: Any) -> Iterator[tuple[str, Any]]:
    yield from _dict(part).items()
