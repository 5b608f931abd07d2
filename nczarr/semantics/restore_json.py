"""JSON of attributes in files that lack it: `note_json` states it in an attribute, the pass `restore_json` reads it."""

import json
from typing import Any

from nczarr.ast import Attribute, Constant, Group, Variable
from nczarr.ast.dataset import groups, map_owners
from nczarr.ast.plain_json import NOTE, JsonText, Real, find_json, is_narrowed, write_json
from nczarr.diagnostics.report import Report
from nczarr.semantics.checked import Checked, Unchecked, remaining

Attributes = tuple[Attribute, ...]


def restore_json(work: Unchecked, report: Report) -> Unchecked:
    """Give attributes the JSON that `_nczarr_json` of their owner states.

    Expects: the tree of a front end. Ensures: no owner has a valid note; an attribute
    that has another value by now has no JSON. Reports nothing.
    """
    if any(_has_note(owner) for _, group in groups(work.dataset) for owner in (group, *group.variables)):
        noted = set[str]()

        def change(path: str, owner: Group | Variable) -> dict[str, Any]:
            if not _has_note(owner):
                return {}
            noted.add(path)
            return {"attributes": _restore(owner.attributes)}

        work.dataset = map_owners(work.dataset, change)
        work.noted = frozenset(noted)
    return work


def _has_note(owner: Any) -> bool:
    return NOTE in [attribute.name for attribute in owner.attributes]


def note_json(checked: Checked) -> Checked:
    """Return the dataset with `_nczarr_json` in each group and variable whose attributes have JSON."""
    owners: tuple[Group | Variable, ...] = (*checked.groups.values(), *checked.variables.values())
    if not any(one.json is not None for owner in owners for one in owner.attributes):
        return checked
    return remaining(checked, map_owners(checked.dataset, lambda _, owner: {"attributes": _note(owner.attributes)}))


def _note(attributes: Attributes) -> Attributes:
    noted = {attribute.name: JsonText(attribute.json) for attribute in attributes if attribute.json is not None}
    if not noted:
        return attributes
    return (*attributes, Attribute(name=NOTE, value=Constant.text(write_json(noted).encode())))


def _restore(attributes: Attributes) -> Attributes:
    """Return attributes with their JSON, without the note; those with a note that is no JSON object unchanged."""
    data = next(attribute.value.data for attribute in attributes if attribute.name == NOTE)
    text = data[0] if isinstance(data, tuple) and len(data) == 1 else data
    try:
        members = json.loads(text, parse_float=Real.of) if isinstance(text, bytes) else None
    except (ValueError, RecursionError):
        members = None
    if not isinstance(members, dict):
        return attributes
    return tuple(_with_json(attribute, members) for attribute in attributes if attribute.name != NOTE)


def _with_json(attribute: Attribute, members: dict[str, Any]) -> Attribute:
    name, value = attribute.name, attribute.value
    if name not in members or not is_narrowed(value, members[name]):
        return attribute
    return attribute.model_copy(update={"json": find_json(value, members[name], typed=False)})
