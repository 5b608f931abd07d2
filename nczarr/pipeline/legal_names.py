"""Legal names in netCDF files, and the own names of items, which an attribute of the root keeps.

The attribute has a JSON text: own names by kind of item, FQN of the owner in the
file, and legal name, such as `{"group": {"/": {"_#refs#": "#refs#"}}}`.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any
from zlib import crc32

from nczarr import names
from nczarr.arrays.sources.renamed_fields import rename_fields
from nczarr.arrays.values.parts import descr, is_fixed
from nczarr.ast import Attribute, CompoundType, Constant, Dataset, EnumType, Group, Variable
from nczarr.ast.dataset import ORIGINAL_NAMES, RESERVED_ATTRIBUTES, groups, map_owners
from nczarr.ast.plain_json import plain
from nczarr.ast.renaming import NODE_KINDS, NodeKind, complete_renames, rename_tree
from nczarr.diagnostics.report import Report
from nczarr.semantics import check
from nczarr.semantics.checked import Checked, Unchecked, rename_arrays, tables_of

OwnNames = dict[str, dict[str, dict[str, str]]]
"""Names to replace, and new ones, by kind of item and FQN of the owner."""

_REPLACED = re.compile(r"[\x00-\x1f\x7f/]| +$")
_LONGEST = 200
"""Maximum bytes that a long name keeps, before a checksum of the rest."""

ATTRIBUTE, FIELD, CONSTANT = "attribute", "field", "constant"


def legalize(name: str) -> str:
    """Return a name that netCDF allows, as near to the given one as possible."""
    legal = _REPLACED.sub("_", name)
    if names.problem(legal) is not None and not (legal[0].isalnum() or legal[0] == "_"):
        legal = f"_{legal}"
    if len(legal.encode()) > names.MAX_NAME_BYTES:
        legal = f"{legal.encode()[:_LONGEST].decode(errors='ignore')}_{crc32(name.encode()):08x}"
    return legal


def rename_illegal(checked: Checked, report: Report) -> Checked:
    """Return a dataset with legal names, whose root keeps the own ones; itself if all names are legal."""
    new_names = OwnNames()
    for path, group in groups(checked.dataset):
        kinds = {kind: [item.name for item in getattr(group, f"{kind}s")] for kind in NODE_KINDS}
        legal = _legal_names([name for members in kinds.values() for name in members])
        for kind, members in kinds.items():  # a coordinate variable and its dimension get one name
            _note_names(new_names, kind, path, {name: legal[name] for name in members if name in legal})
        owners: list[tuple[str, Group | Variable]] = [(path, group)]
        owners += ((names.join(path, variable.name), variable) for variable in group.variables)
        for owner, item in owners:
            of_owner = [attribute.name for attribute in item.attributes]
            _note_names(new_names, ATTRIBUTE, owner, _legal_names(of_owner, RESERVED_ATTRIBUTES))
        for declared in group.types:
            if isinstance(declared, CompoundType):
                legal = _legal_names(field.name for field in declared.fields)
                _note_names(new_names, FIELD, names.join(path, declared.name), legal)
            if isinstance(declared, EnumType):
                legal = _legal_names(constant.name for constant in declared.constants)
                _note_names(new_names, CONSTANT, names.join(path, declared.name), legal)
    if not new_names:
        return checked
    renamed, own_names = _rename(checked, new_names)
    text = json.dumps(own_names, ensure_ascii=False)
    record = Attribute(name=ORIGINAL_NAMES, value=Constant.text(text.encode()))
    renamed.dataset = renamed.dataset.model_copy(update={"attributes": (*renamed.dataset.attributes, record)})
    count = sum(len(members) for owners in new_names.values() for members in owners.values())
    report.warning("renamed-item", f"{count} names are not legal in netCDF: {_list_some(own_names)}")
    return check(renamed, report) or checked


def restore_names(checked: Checked) -> Checked:
    """Return a dataset with the own names that its root keeps; itself if these are no names, or are taken."""
    [record] = (attribute for attribute in checked.dataset.attributes if attribute.name == ORIGINAL_NAMES)
    own_names = _parse(plain(record.value).value)
    if own_names is None:
        return checked
    rest = tuple(attribute for attribute in checked.dataset.attributes if attribute is not record)
    bare = checked._replace(dataset=checked.dataset.model_copy(update={"attributes": rest}))
    restored, _ = _rename(bare, own_names)
    return check(restored, Report()) or checked  # the attribute is untrusted input


def _legal_names(every: Iterable[str], reserved: frozenset[str] = frozenset()) -> dict[str, str]:
    """Return the legal names of those that are not legal, or reserved, unique among all."""
    taken, legal = set(every), dict[str, str]()
    for name in sorted(taken):
        if names.problem(name) is not None or name in reserved:
            legal[name] = names.free(f"_{name}" if name in reserved else legalize(name), taken.__contains__)
            taken.add(legal[name])
    return legal


def _note_names(new_names: OwnNames, kind: str, owner: str, members: dict[str, str]) -> None:
    if members:
        new_names.setdefault(kind, {})[owner] = members


def _list_some(own_names: OwnNames) -> str:
    """Return some replaced names in words."""
    pairs = [pair for owners in own_names.values() for members in owners.values() for pair in members.items()]
    shown = ", ".join(f"`{own}` becomes `{legal}`" for legal, own in pairs[:5])
    return shown + (f" and {len(pairs) - 5} more" if len(pairs) > 5 else "")


def _rename(checked: Checked, new_names: OwnNames) -> tuple[Unchecked, OwnNames]:
    """Return a dataset with new names, and the mapping that leads back, by the new FQNs of owners."""
    direct: dict[NodeKind, dict[str, str]] = {}
    for kind in NODE_KINDS:
        owners = new_names.get(kind, {})
        direct[kind] = {
            names.join(owner, old): new for owner, members in owners.items() for old, new in members.items()
        }
    complete = complete_renames(checked.dataset, direct)
    moved = {old: new for kind in ("group", "variable", "type") for old, new in complete[kind].items()}
    back = {
        kind: {moved.get(owner, owner): {new: old for old, new in members.items()} for owner, members in owners.items()}
        for kind, owners in new_names.items()
    }
    members_renamed = map_owners(checked.dataset, _member_renamer(new_names))
    tree: Dataset = rename_tree(members_renamed, complete)
    work = rename_arrays(checked, tree, complete["variable"])
    work.omitted = list(checked.omitted)
    if FIELD in new_names:
        _rename_fields(work)
    return work, back


def _rename_fields(work: Unchecked) -> None:
    """Give the records of all variables the field names of their types; those in lists are read by position."""
    types = tables_of(work).types
    for path, variable in tables_of(work).variables.items():
        if isinstance(types.get(variable.type), CompoundType) and is_fixed(variable.type, types) and path in work.parts:
            named = descr(variable.type, types)
            work.parts[path] = {part: rename_fields(source, named) for part, source in work.parts[path].items()}


def _member_renamer(new_names: OwnNames) -> Callable[[str, Group | Variable], dict[str, Any]]:
    """Return what renames attributes, and members of types, of a group or variable."""
    of_attributes, of_fields, of_constants = (new_names.get(kind, {}) for kind in (ATTRIBUTE, FIELD, CONSTANT))

    def change(path: str, owner: Group | Variable) -> dict[str, Any]:
        types = []
        for declared in owner.types if isinstance(owner, Group) else ():
            fqn = names.join(path, declared.name)
            if isinstance(declared, CompoundType):
                declared = declared.model_copy(update={"fields": _rename_items(declared.fields, of_fields.get(fqn))})
            if isinstance(declared, EnumType):
                constants = _rename_items(declared.constants, of_constants.get(fqn))
                declared = declared.model_copy(update={"constants": constants})
            types.append(declared)
        attributes = {"attributes": _rename_items(owner.attributes, of_attributes.get(path))}
        return {**attributes, "types": tuple(types)} if isinstance(owner, Group) else attributes

    return change


def _rename_items(items: tuple[Any, ...], new_names: Mapping[str, str] | None) -> tuple[Any, ...]:
    """Return attributes, fields or constants with new names."""
    if not new_names:
        return items
    return tuple(item.model_copy(update={"name": new_names.get(item.name, item.name)}) for item in items)


def _parse(text: Any) -> OwnNames | None:
    """Return the own names in a text; None for another one."""
    try:
        own_names = json.loads(text)
    except (TypeError, ValueError):
        return None
    is_valid = isinstance(own_names, dict) and all(
        isinstance(owners, dict)
        and all(
            isinstance(members, dict) and all(isinstance(name, str) and name for name in members.values())
            for members in owners.values()
        )
        for owners in own_names.values()
    )
    return own_names if is_valid else None
